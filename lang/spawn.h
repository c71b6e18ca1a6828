/* Programs that cells and the shell start, with signals as programs expect them: none blocked, Ctrl-C and broken pipes
 * as by default. */
#ifndef LG_SPAWN_H
#define LG_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* What the program gets as its descriptors 0 to 2: a descriptor, or one of these. */
#define LG_AS_HERE (-1) /* the one that this process has */
#define LG_NOTHING (-2) /* /dev/null */

/* Starts a program, found by PATH unless it is a path. own_group: in a process group of its own, so that an interrupt
 * reaches all that it starts. 0 or an errno. */
int lg_spawn(const char *program, char *const argv[], const int ends[3], bool own_group, pid_t *pid);
/* The same for a command of the shell, as system() has it: argument becomes its $1, unless NULL. */
int lg_spawn_shell(const char *command, const char *argument, const int ends[3], pid_t *pid);
/* Output of programs that go on in the background: a thread writes what comes from the pipe, which it takes over, to a
 * descriptor of this process, until the pipe ends. Where `ended` is given it becomes a descriptor that ends, as a pipe
 * does, when all has been passed on; -1 when there is none. */
void lg_pass_on(int from, int to, int *ended);

#endif
