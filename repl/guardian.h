/* What a process that is killed outright cannot do itself: put the terminal back. A small process beside it waits for
 * its end. It is in a session of its own, so that neither keys nor a shell's jobs reach it, and a child that neither
 * SIGCHLD nor wait() speaks of. */
#ifndef SH_GUARDIAN_H
#define SH_GUARDIAN_H

#include <signal.h>
#include <termios.h>

/* The terminal's state, in memory that both processes see. */
struct sh_guarded {
    volatile sig_atomic_t raw; /* it is as in `wanted`, else a cell or a program runs */
    struct termios original, wanted;
    volatile sig_atomic_t ended; /* all is in order, whatever comes */
};

/* Starts it for standard input and output; NULL where the system refuses. Early: it is a copy of this process, and what
 * that has by then stays in memory. It ends with this process. */
struct sh_guarded *sh_guardian_start(void);
/* To be called when `raw` became 0: from here on it looks at what programs do to the terminal. Async-signal-safe. */
void sh_guardian_look(void);

#endif
