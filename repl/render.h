/* Frames to escape codes. A screen remembers what it shows, so that a refresh writes only what changed, and all of it
 * in one piece. Pure: bytes go into a text, the caller writes them. */
#ifndef SH_RENDER_H
#define SH_RENDER_H

#include "repl/frame.h"

struct sh_screen { /* starts as all zeros: nothing is shown, the cursor is at the start of a row */
    bool color;
    bool few_glyphs;       /* sh_few_glyphs */
    struct sh_frame shown; /* what the terminal has now */
    bool drawn;
};

/* Appends what turns the shown frame into `f`. */
void sh_render(struct sh_screen *s, const struct sh_frame *f, struct sh_text *out);
/* The terminal has now `columns` columns: appends what wipes the shown frame, counting the rows that terminals break
 * long lines into when they narrow. The next sh_render draws it all. */
void sh_render_resize(struct sh_screen *s, int columns, struct sh_text *out);
/* The frame stays on the terminal as it is; appends what puts the cursor to the start of the row below it. */
void sh_render_leave(struct sh_screen *s, struct sh_text *out);
void sh_screen_free(struct sh_screen *s);

#endif
