/* The terminal face: what main.c hands to the parts of repl/. Each part runs one way of use from start to end and
 * returns the process's exit status. */
#ifndef SH_REPL_H
#define SH_REPL_H

#include <stdbool.h>
#include <stdio.h>
#include "lang/session.h"

/* What is done before the script, in the order of the command line. */
enum sh_step_kind { SH_STEP_CODE, SH_STEP_MODULE, SH_STEP_WARNINGS };
struct sh_step {
    enum sh_step_kind kind;
    const char *text; /* of -e and -l */
};

/* The command line, parsed. All strings belong to argv. */
struct sh_options {
    const char *program; /* as it was called: what messages begin with */
    const char *device;  /* --device, or NULL */
    struct sh_step *steps;
    int step_count;
    bool interactive;      /* -i: the shell follows the script */
    bool no_environment;   /* -E: LUA_INIT and the like are not looked at */
    bool version;          /* -v: it is shown first */
    bool lossy;            /* what could not be printed is nobody's failure, as in a stock lua */
    bool inplace, html;    /* --inplace, --html: the notebook is executed, and kept with its outputs, as a page */
    const char *html_file; /* of --html=FILE, or NULL */
    int status;            /* the exit status, where the options were all there was to do */
    bool no_init;          /* --no-init: the shell leaves out the user's init.lua */
    const char *record;    /* --record, or NULL */
    double typing;         /* --typing: characters a second; 0: not asked for */
    double pause;          /* --auto: seconds between steps, where `play` */
    bool present, check, update, play;
    int argc; /* the script and its arguments; 0 when none is named */
    char **argv;
    int before; /* words before argv[0]: the program and its options */
};

/* main.c's parts */
int sh_run_script(struct sh_options *o);         /* -e, FILE.lua, or standard input */
int sh_run_notebook(const struct sh_options *o); /* FILE.ipynb */
int sh_run_stored(const struct sh_options *o);   /* FILE.ipynb with --inplace or --html */
int sh_run_shell(struct sh_options *o);          /* -e, FILE.lua where given, then the loop unless they failed */
int sh_print_info(FILE *out);                    /* --info */
int sh_doc(int argc, char **argv);               /* doc NAME, doc --html DIR */
int sh_convert(int argc, char **argv);           /* convert FROM TO */
int sh_prepare(int argc, char **argv);           /* prepare [CAPABILITY [DTYPE]] */
int sh_run_present(const struct sh_options *o);  /* --present */
int sh_run_check(const struct sh_options *o);    /* --check */

/* shell.c, for those who have a session and a terminal (sh_terminal_usable). */
struct sh_output;
struct sh_text;
void sh_shell_prompt(struct lg_session *s, struct sh_output *out); /* the shell's loop, until the user leaves it */
/* A cell in the shell's editor, which leaves nothing on the screen: true when it is to be run as it is now in *cell,
 * false when it was given up. */
bool sh_shell_edit(struct lg_session *s, struct sh_text *cell);

/* script.c: tells the version where -v asks for it, then evaluates each -e and -l and the script in the session; false
 * after an error, which has been printed. `input`: standard input comes last, however that ends. */
bool sh_run_given(struct lg_session *s, const struct sh_options *o, bool input);
/* notebook.c: a session that runs a file's cells, of which the history hears nothing; NULL after a message. */
struct lg_session *sh_cells_session(const struct sh_options *o, struct lg_sink sink);
/* Whether neither a script nor -e nor -v is given: then the code comes from standard input. */
bool sh_wants_input(const struct sh_options *o);
/* The bytes of a file or of standard input ("-"), malloc'd and NUL-terminated; NULL with errno set. */
char *sh_read_file(const char *path, size_t *length);

/* signals.c: Ctrl-C stops what `s` runs from here on; NULL puts the default back. `again` is what a second Ctrl-C does
 * before the first was answered: true ends the process, as in lua. */
void sh_interrupts(struct lg_session *s, bool again);
/* True once when SIGINT came since the last call. */
bool sh_interrupted(void);
/* A program that a cell talks to may end early; that is an error of the write, not the end of the session. A handler,
 * unlike SIG_IGN, is not inherited by the programs that cells start. */
void sh_survive_broken_pipes(void);

#endif
