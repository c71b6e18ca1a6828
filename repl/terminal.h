/* The terminal: raw mode while a cell is edited, its size, and putting it back whatever happens. One per process. */
#ifndef SH_TERMINAL_H
#define SH_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What takes back the modes that raw mode has switched on, and what is shown may have left. */
#define SH_TERMINAL_OFF "\033[?2004l\033[?25h"

/* From here on the terminal is put back even if this process is killed. Before anything is loaded: guardian.h. */
void sh_terminal_guard(void);
/* Standard input and output are a terminal that understands escape codes. */
bool sh_terminal_usable(void);
/* Raw mode on, with bracketed paste; from here on any exit, and any signal that ends the process, puts the terminal
 * back. False when the terminal refuses. */
bool sh_terminal_raw(void);
/* Back to how the terminal was at the start. Keeps what was typed ahead. */
void sh_terminal_restore(void);
/* In columns and rows; 80 by 24 where the terminal doesn't say. */
void sh_terminal_size(int *columns, int *rows);

enum sh_wait { SH_WAIT_INPUT, SH_WAIT_TIMEOUT, SH_WAIT_RESIZED, SH_WAIT_CONTINUED, SH_WAIT_END, SH_WAIT_WATCHED };
/* The descriptor that leads to the terminal, while standard output does not. */
void sh_terminal_output(int fd);
/* A descriptor that sh_terminal_wait waits for, too: SH_WAIT_WATCHED when there is something to read; -1: none. */
void sh_terminal_watch(int fd);
/* Waits for input for `milliseconds` (-1: for ever). SH_WAIT_RESIZED once after each change of size,
 * SH_WAIT_CONTINUED when others had stopped the process while the terminal was in raw mode: it is so again, but what
 * the screen shows and where the cursor is are not known. */
enum sh_wait sh_terminal_wait(int milliseconds);
/* Whether something was typed that has not been read. */
bool sh_terminal_pending(void);
/* The same, waiting for it that long. */
bool sh_terminal_pending_within(int milliseconds);
/* Bytes read; 0 when the terminal has gone. */
size_t sh_terminal_read(char *bytes, size_t size);
/* Gives back what was read and not used: it is read again first. */
void sh_terminal_unread(const char *bytes, size_t length);
/* Asks the terminal: writes a question that it answers with its attributes last ("\033[c"), and waits a second at most.
 * True: answer has what it sent. What the user typed meanwhile is read later. */
bool sh_terminal_ask(const char *question, char *answer, size_t size);
/* The size of a character in pixels; false when the terminal doesn't say. */
bool sh_terminal_cell(int *width, int *height);
/* Writes all of it, in one write where the system takes it in one. */
void sh_terminal_write(const char *bytes, size_t length);
/* Makes sure that what is written next starts a row, also after programs and C code whose output we did not see: a
 * row's worth of blanks wraps into the next row unless the cursor stood at the start of one. */
void sh_terminal_start_row(void);
/* Stops the process as Ctrl-Z does; returns when it goes on. To be called with the terminal restored. */
void sh_terminal_suspend(void);
/* From here on it stops itself alone: another process waits for that (record.c) and has it go on. */
void sh_terminal_suspend_alone(void);
/* True once after others had stopped the process while the terminal was in raw mode, as SH_WAIT_CONTINUED says it. */
bool sh_terminal_continued(void);

#endif
