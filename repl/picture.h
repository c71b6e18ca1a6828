/* Pictures in the terminal, by what it can do: kitty's graphics, iTerm2's inline images, sixels; half blocks are made
 * where the picture is (lang/image.c). */
#ifndef SH_PICTURE_H
#define SH_PICTURE_H

#include "lang/session.h"
#include "repl/text.h"

/* What pictures are shown as: what the user set, else what the terminal can do. The first time that is not told by the
 * environment the terminal itself is asked, which takes a moment. */
enum lg_pictures sh_pictures_shown(void);

/* Appends what draws the PNG (in base64) at the start of a row and puts the cursor to the start of the row below it.
 * *rows is how many rows it takes, 0 when that is not known. False when it cannot be drawn. */
bool sh_picture(const char *base64, size_t length, struct sh_text *out, int *rows);

/* Appends what removes the picture drawn last, where erasing its rows would not. */
void sh_picture_remove(struct sh_text *out);

#endif
