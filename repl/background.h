/* Output that comes while the user types: of C threads, of GPU drivers, of whatever else writes to the process's
 * standard output and error. Meanwhile these lead into a pipe, and the shell shows what comes out of it above the cell.
 */
#ifndef SH_BACKGROUND_H
#define SH_BACKGROUND_H

#include "repl/text.h"

/* From here on such output can be read. */
void sh_background_begin(void);
/* Appends what there is. */
void sh_background_read(struct sh_text *out);
/* It goes to the terminal again; appends what was left. */
void sh_background_end(struct sh_text *out);

#endif
