/* The line editor's state machine: key events in, a frame out. It edits one cell of any number of lines. It knows no
 * terminal and no session; what it needs of them comes through struct sh_host, so the tests drive it with keys and read
 * frames. */
#ifndef SH_EDITOR_H
#define SH_EDITOR_H

#include "lang/session.h"
#include "repl/frame.h"
#include "repl/keys.h"
#include "repl/text.h"

/* What the editor asks for. Every member may be NULL. */
struct sh_host {
    void *context;
    /* Cells entered before, oldest first. */
    size_t (*history_count)(void *context);
    void (*refresh)(void *context); /* takes in what others have entered; asked before they are looked through */
    const char *(*history)(void *context, size_t i); /* valid until the next call; NULL when it can't be read */
    enum lg_completeness (*completeness)(void *context, const char *code, size_t length, int *indent);
    void (*complete)(void *context, const char *code, size_t length, size_t cursor, struct lg_completion *out);
    /* What is known of the name at the cursor, malloc'd, or NULL. */
    char *(*inspect)(void *context, const char *code, size_t length, size_t cursor);
    /* Fills an enum sh_style for each byte from one on and up to another, at least; those before are right. */
    void (*highlight)(void *context, const char *code, size_t length, size_t from, size_t to, unsigned char *styles);
    /* The token at which no cell can begin so any more. It may be given up when the next key is there. */
    enum lg_mistake (*mistake)(void *context, const char *code, size_t length, size_t *from, size_t *to);
};

enum sh_action {
    SH_CONTINUE,
    SH_ACCEPT,  /* the cell is ready in `text` */
    SH_CANCEL,  /* Ctrl-C: the cell is given up */
    SH_LEAVE,   /* Ctrl-D on an empty cell */
    SH_SUSPEND, /* Ctrl-Z */
    SH_CLEAR,   /* Ctrl-L: a clean screen */
    SH_EDIT,    /* Ctrl-X Ctrl-E: the cell is to be edited by $EDITOR; sh_editor_set takes the result */
};

struct sh_match {            /* one completion */
    char *text;              /* owned, with what follows it */
    const char *kind, *note; /* behind it */
    char *doc;               /* the first line of its documentation; NULL until it was asked for */
};

/* The list below the line after Tab. */
struct sh_menu {
    struct sh_match *matches;
    size_t count;
    size_t start, end; /* what the selected one replaces in the cell */
    long selected;     /* -1: the list is only shown */
    char *typed;       /* what stood there before */
    bool more;         /* there are others, which begin with as many bytes of the first as `common` says */
    size_t common;
};

/* One replacement in the text. Those of one step are undone together. */
struct sh_change {
    size_t at;
    struct sh_text removed, inserted;
    size_t before, after; /* the cursor; `after` is set when the change is undone */
    unsigned long step;
};
struct sh_undo {
    struct sh_change *changes;
    size_t done, count, capacity; /* changes[done..count) have been undone and can be done again */
    unsigned long step;           /* that the next change belongs to */
};

enum { SH_KILLS = 16 };
struct sh_kills {
    struct sh_text ring[SH_KILLS];
    int newest, count;
    int yanked;        /* how far behind the newest the one last put in is */
    size_t start, end; /* where it was put */
};

/* What the last key did, where the next one cares. */
enum sh_last {
    SH_DID_OTHER,
    SH_DID_TYPE,
    SH_DID_KILL,
    SH_DID_YANK,
    SH_DID_YANK_ARGUMENT,
    SH_DID_RECALL,
    SH_DID_VERTICAL
};

struct sh_keymap; /* keymap.h */

enum sh_vi_mode { SH_VI_INSERT, SH_VI_REPLACE, SH_VI_NORMAL, SH_VI_VISUAL, SH_VI_LINES };
enum { SH_VI_REGISTERS = 27, SH_VI_MARKS = 27 }; /* a to z, and 0 or the place before a jump */

/* vi's keys (vi.h). */
struct sh_vi {
    enum sh_vi_mode mode;
    int32_t typed[16]; /* the command so far */
    int count;
    size_t anchor; /* the other end of what is selected */
    int32_t found; /* the last character looked for, and by which letter; 0 for none */
    char found_how;
    struct sh_text registers[SH_VI_REGISTERS];
    size_t marks[SH_VI_MARKS];  /* plus 1; 0 for none */
    int32_t reg;                /* the register that the command names, or 0 */
    size_t inserted_at;         /* where the insertion or replacement began */
    int32_t inserted_by;        /* the letter that began it, or 0 */
    int insertions;             /* how often its text is to be put in */
    struct sh_text over;        /* what the line had from there on, for R's Backspace */
    size_t over_typed, over_at; /* characters that R has replaced, and where the cursor was then */
    struct {                    /* what was selected last */
        enum sh_vi_mode mode;
        size_t anchor, cursor;
    } selected;
    struct sh_key *keys; /* of the command that is being given; with its insertion */
    size_t key_count, key_capacity;
    struct sh_key *again; /* of the last one that changed something: what . repeats */
    size_t again_count;
    unsigned long begun; /* the version of the text before the command */
    bool repeating;      /* . is giving the keys */
    int repeat_count;    /* the count that is before ., in place of the command's; 0: none */
    bool mapped;         /* the keys are given by a binding */
    bool no_repeat;      /* the command is no change to repeat, such as undo */
};

struct sh_editor {
    const struct sh_host *host;
    const char *prompt, *more;      /* before the first and the other lines; not owned */
    const struct sh_keymap *keymap; /* the user's keys, not owned; NULL: none */
    bool use_vi;                    /* the keys are vi's */
    struct sh_vi vi;
    struct sh_text text;       /* the cell */
    size_t cursor;             /* byte offset, at the start of a grapheme or at the end */
    unsigned long version;     /* grows with every change of the text */
    int goal;                  /* the column that Up and Down keep to */
    enum sh_last last, before; /* what this key did, and the one before it */
    struct sh_undo undo;
    struct sh_kills kills;
    size_t mark; /* the other end of the region */
    bool marked;
    bool quoting;         /* the next key is inserted as it is */
    int finding;          /* the next key is looked for: to the right 1, to the left -1; else 0 */
    int finding_times;    /* its place of that number is meant */
    struct sh_key prefix; /* the first key of two, e.g. Ctrl-X; SH_KEY_NONE when there is none */
    int times;            /* that the next command is to run; 0: nothing was said */
    bool opposite;        /* M--: and its opposite */
    size_t indented;      /* offset of the line whose indent was put in by Enter, plus 1; 0 for none */
    bool dedented;        /* and that moved back since it reads "end" or the like */
    size_t entry;         /* the history entry shown, or the number of entries: the draft */
    struct sh_text draft; /* what was typed before history was entered */
    bool in_history;
    size_t beginning;       /* how much of the text the entries that are walked through share */
    unsigned long recalled; /* the version of the text when an entry was put in */
    size_t argument;        /* the entry that Alt-. took its word from */
    bool searching;         /* Ctrl-R */
    struct sh_text query;
    size_t found, match_start, match_end;
    bool found_any;
    size_t draft_cursor;
    struct sh_menu menu;
    bool no_ghost;                   /* history is not to suggest anything */
    struct sh_text ghost, signature; /* for suggest.c: of the versions `ghosted` and `signed_for` */
    unsigned long ghosted, signed_for;
    size_t signed_at;      /* the parenthesis that the signature belongs to */
    char *hint;            /* what is known of a name, shown below the line */
    struct sh_text styles; /* one of enum sh_style for each byte, right for the first `styled` ones */
    size_t styled;
    unsigned long judged;          /* the version of the text that was looked at for a mistake */
    size_t wrong_start, wrong_end; /* the mistake of version `judged`; equal when there is none */
};

/* Starts as all zeros but for host and prompts. */
void sh_editor_start(struct sh_editor *e); /* a new empty cell; what was killed stays */
void sh_editor_free(struct sh_editor *e);
enum sh_action sh_editor_key(struct sh_editor *e, const struct sh_key *key);
/* Puts a text in place of the cell, the cursor behind it, as one step to undo. False when memory is lacking. */
bool sh_editor_set(struct sh_editor *e, const char *bytes, size_t length);
/* Does what would cost too much at each key: to be called when no key has come for a moment and sh_editor_waits says
 * that there is something to do. */
bool sh_editor_waits(const struct sh_editor *e);
void sh_editor_idle(struct sh_editor *e);
/* The frame for a terminal of that size; rows 0 is the whole cell without lists, as it stays on the screen after the
 * cell was taken. */
void sh_editor_frame(struct sh_editor *e, int columns, int rows, struct sh_frame *out);

#endif
