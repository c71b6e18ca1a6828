/* Programs that take the terminal over for a while: the user's pager and the user's editor. */
#ifndef SH_PROGRAM_H
#define SH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include "repl/text.h"

/* Shows a text in the pager that the user chose; false when there is none, or it could not be started. */
bool sh_page(const char *text, size_t length);

/* Opens the text in $VISUAL or $EDITOR; true when the editor ended well, with what it left in *text. Else *why says
 * what went wrong. */
bool sh_run_editor(struct sh_text *text, char *why, size_t size);

#endif
