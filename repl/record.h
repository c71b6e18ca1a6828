/* Recording a run of the program as an asciinema cast (cast.h). */
#ifndef SH_RECORD_H
#define SH_RECORD_H

#include <stdbool.h>

/* Splits the process. True: this is the one that is recorded, its standard files a pseudo-terminal as large as the
 * terminal, or 80 by 24 without one; it does the work. False: this is the other one, the recording has ended, and the
 * process is to exit with *status, the other one's or that of an error, which has been printed. To be called before
 * there are threads. */
bool sh_record(const char *path, const char *title, int *status);

#endif
