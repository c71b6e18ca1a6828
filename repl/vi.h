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
bool sh_vi_object(const struct sh_editor *e, bool around, int32_t letter, int count, size_t *from, size_t *to);
/* Whether that object is whole lines. */
bool sh_vi_object_is_lines(int32_t letter);

/* vi_sentence.c: where the next sentence starts, or the text ends; where the one that leads up to the place does; the
 * object, blanks between sentences counting each for itself, with those around a sentence only this. */
size_t sh_vi_next_sentence(const struct sh_editor *e, size_t at, bool big);
/* Whether the text's end is that of a sentence, from which ) counts once more. */
bool sh_vi_ends_sentence(const struct sh_editor *e);
size_t sh_vi_previous_sentence(const struct sh_editor *e, size_t at, bool big);
bool sh_vi_sentence(const struct sh_editor *e, bool around, int count, size_t *from, size_t *to);

/* The first character of the line that is no blank. */
size_t sh_vi_first(const struct sh_editor *e, size_t at);

/* A command as it was read. */
struct sh_vi_command {
    int count;   /* 0: none was given */
    int32_t op;  /* d c y < > ~ u U, or 0 */
    bool lines;  /* the operator twice: whole lines */
    char object; /* i or a, or 0 */
    const struct sh_vi_motion *motion;
    int32_t key, second; /* the letter, and the one that follows g */
    int32_t character;   /* the one that it takes */
};

/* vi_operator.c: an operator on a part of the text, or on the lines that it is in; what a command with one means. */
void sh_vi_operate(struct sh_editor *e, int32_t op, size_t from, size_t to, bool lines);
void sh_vi_run_operator(struct sh_editor *e, const struct sh_vi_command *c);

/* vi_register.c: a name of a register, "" and "_ (which keeps nothing) among them. */
bool sh_vi_is_register(int32_t name);
/* Keeps a part of the text for p, in the register that the command names; whole lines end in a newline there. */
void sh_vi_keep(struct sh_editor *e, size_t from, size_t to, bool lines, bool copied);
void sh_vi_put(struct sh_editor *e, int count, bool behind);
void sh_vi_put_selected(struct sh_editor *e, size_t from, size_t to, bool lines); /* in its place, which is kept */

/* vi_insert.c: an insertion that a letter begins, to be put in `count` times; R's typing; what Escape ends. */
void sh_vi_insert(struct sh_editor *e, int32_t letter, int count);
bool sh_vi_replace_key(struct sh_editor *e, const struct sh_key *key); /* false: it is as in insert mode */
void sh_vi_insert_end(struct sh_editor *e);

/* vi_visual.c: what is selected in visual mode, a command that is given there, its end, and its beginning with what was
 * selected last; the lines joined from the cursor's on, or those that are selected, with a blank between or without. */
bool sh_vi_selection(const struct sh_editor *e, size_t *from, size_t *to);
void sh_vi_run_visual(struct sh_editor *e, const struct sh_vi_command *c);
void sh_vi_leave_visual(struct sh_editor *e);
void sh_vi_select_again(struct sh_editor *e);
void sh_vi_join(struct sh_editor *e, int lines, bool plain);

/* Normal or visual mode, and no command has been begun. *count: what was typed before; 0 for nothing. */
bool sh_vi_waits(const struct sh_editor *e, int *count);
void sh_vi_give(struct sh_editor *e, const char *keys); /* ASCII, as if they were typed */

/* Does what the key means and returns true; false: it is a key as in Emacs's mode. */
bool sh_vi_key(struct sh_editor *e, const struct sh_key *key, enum sh_action *action);
void sh_vi_start(struct sh_editor *e); /* a new cell: insert mode */
void sh_vi_free(struct sh_editor *e);
/* Appends the manual's list of vi's keys. */
void sh_vi_keys_text(struct sh_text *out);

#endif
