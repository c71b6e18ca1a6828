/* The command line: one table of options and one of commands, from which the parser, --help, the manual page and the
 * hints at what was misspelt come. */
#ifndef SH_OPTIONS_H
#define SH_OPTIONS_H

#include "repl/repl.h"

struct sh_option {
    const char *name, *alias; /* "--device"; "-h", or NULL */
    const char *argument;     /* "NAME"; "[=FILE]" where it may be left out; NULL for none */
    const char *doc;          /* one line for --help, and the first of the manual's paragraph */
    const char *more;         /* the rest of that paragraph, or NULL */
    /* False when this was all there was to do; o->status then says how it went. */
    bool (*take)(struct sh_options *o, const char *value);
};
extern const struct sh_option sh_option_rows[]; /* ended by a NULL name */

struct sh_command {
    const char *name, *arguments, *doc, *more;
    /* The words behind its name; returns the exit status. */
    int (*run)(int argc, char **argv);
};
extern const struct sh_command sh_command_rows[]; /* ended by a NULL name */

/* Fills *o, whose `steps` have room for argc words; false when the process is done with o->status. */
bool sh_parse_options(int argc, char **argv, struct sh_options *o);
/* The command that the first word is, or NULL. */
const struct sh_command *sh_find_command(const struct sh_options *o);

void sh_print_help(FILE *out);
void sh_print_manual(FILE *out); /* as troff, for man(1) */

#endif
