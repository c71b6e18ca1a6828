/* Programs that take the terminal over for a while: the user's pager, the user's editor and the
 * commands of cells. */
#ifndef SH_PROGRAM_H
#define SH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include "repl/text.h"

/* Shows a text in the pager that the user chose; false when there is none, or it could not be started. */
bool sh_page(const char *text, size_t length);

/* Runs a command of the system's shell. Its exit status; 128 and the signal's number when one ended it; -1 and errno
 * when it could not be started. */
int sh_run_command(const char *command);

/* Opens the text in $VISUAL or $EDITOR; true when the editor ended well, with what it left in *text. Else *why says
 * what went wrong. */
bool sh_run_editor(struct sh_text *text, char *why, size_t size);

#endif
