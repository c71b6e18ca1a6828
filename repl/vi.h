/* vi's keys, on request: modes, and commands made of counts, operators, motions and objects. What the tables of vi.c
 * and vi_motion.c do not have is as in Emacs's mode. */
#ifndef SH_VI_H
#define SH_VI_H

#include "repl/editing.h"

/* A motion: from where the cursor is to another place. */
enum sh_vi_reach {
    SH_VI_BEFORE, /* an operator takes what is before the place */
    SH_VI_AT,     /* and the character at the place, too */
    SH_VI_WHOLE,  /* whole lines */
};
struct sh_vi_motion {
    int32_t key, second; /* second: of two letters, "gg", or 0 */
    bool takes;          /* another character follows, as after f */
    enum sh_vi_reach reach;
    const char *doc;
    /* `count` is 0 where none was given; SH_NOWHERE where it leads nowhere. */
    size_t (*find)(struct sh_editor *e, int count, int32_t character);
};
#define SH_NOWHERE ((size_t)-1)
extern const struct sh_vi_motion sh_vi_motions[]; /* ended by a key of 0 */

/* A text object: what i or a and this letter mean at the cursor; false where there is none. */
bool sh_vi_object(const struct sh_editor *e, bool around, int32_t letter, size_t *from, size_t *to);

/* The first character of the line that is no blank. */
size_t sh_vi_first(const struct sh_editor *e, size_t at);

/* A command as it was read. */
struct sh_vi_command {
    int count;   /* 0: none was given */
    int32_t op;  /* d c y < >, or 0 */
    bool lines;  /* the operator twice: whole lines */
    char object; /* i or a, or 0 */
    const struct sh_vi_motion *motion;
    int32_t key, character; /* the letter, and the one that it takes */
};

/* vi_operator.c: an operator on a part of the text, or on the lines that it is in; what a command with one means. */
void sh_vi_operate(struct sh_editor *e, int32_t op, size_t from, size_t to, bool lines);
void sh_vi_run_operator(struct sh_editor *e, const struct sh_vi_command *c);

/* Does what the key means and returns true; false: it is a key as in Emacs's mode. */
bool sh_vi_key(struct sh_editor *e, const struct sh_key *key, enum sh_action *action);
/* What is selected in visual mode. */
bool sh_vi_selection(const struct sh_editor *e, size_t *from, size_t *to);
void sh_vi_start(struct sh_editor *e); /* a new cell: insert mode */
void sh_vi_free(struct sh_editor *e);
/* Appends the manual's list of vi's keys. */
void sh_vi_keys_text(struct sh_text *out);

#endif
