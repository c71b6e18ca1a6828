/* The command line: one table of options and one of commands, from which the parser, --help, the manual page and the
 * hints at what was misspelt come. */
#ifndef SH_OPTIONS_H
#define SH_OPTIONS_H

#include "repl/repl.h"

struct sh_command {
    const char *name, *arguments, *doc, *more;
    /* The words behind its name; returns the exit status. */
    int (*run)(int argc, char **argv);
};

/* Fills *o, whose `steps` have room for argc words; false when the process is done with o->status. */
bool sh_parse_options(int argc, char **argv, struct sh_options *o);
/* The command that the first word is, or NULL. */
const struct sh_command *sh_find_command(const struct sh_options *o);

#endif
