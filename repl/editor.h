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
    const char *(*history)(void *context, size_t i); /* valid until the next call; NULL when it can't be read */
    enum lg_completeness (*completeness)(void *context, const char *code, size_t length, int *indent);
    void (*complete)(void *context, const char *code, size_t length, size_t cursor, struct lg_completion *out);
    /* What is known of the name at the cursor, malloc'd, or NULL. */
    char *(*inspect)(void *context, const char *code, size_t length, size_t cursor);
    /* Fills an enum sh_style for each byte. */
    void (*highlight)(void *context, const char *code, size_t length, unsigned char *styles);
};

enum sh_action {
    SH_CONTINUE,
    SH_ACCEPT,  /* the cell is ready in `text` */
    SH_CANCEL,  /* Ctrl-C: the cell is given up */
    SH_LEAVE,   /* Ctrl-D on an empty cell */
    SH_SUSPEND, /* Ctrl-Z */
    SH_CLEAR,   /* Ctrl-L: a clean screen */
};

struct sh_match { /* one completion; strings owned */
    char *text, *kind, *note;
};

/* The list below the line after Tab. */
struct sh_menu {
    struct sh_match *matches;
    size_t count;
    size_t start, end; /* what the selected one replaces in the cell */
    long selected;     /* -1: the list is only shown */
    char *typed;       /* what stood there before */
};

struct sh_snapshot {
    struct sh_text text;
    size_t cursor;
};
enum { SH_UNDO_LEVELS = 100 };

/* What the last key did, where the next one cares. */
enum sh_last { SH_DID_OTHER, SH_DID_TYPE, SH_DID_KILL, SH_DID_RECALL, SH_DID_VERTICAL };

struct sh_editor {
    const struct sh_host *host;
    const char *prompt, *more; /* before the first and the other lines; not owned */
    struct sh_text text;       /* the cell */
    size_t cursor;             /* byte offset, at the start of a grapheme or at the end */
    int goal;                  /* the column that Up and Down keep to */
    enum sh_last last;
    struct sh_text killed; /* what Ctrl-Y puts back */
    struct sh_snapshot undo[SH_UNDO_LEVELS];
    int undo_count;
    size_t indented;      /* offset of the line whose indent was put in by Enter, plus 1; 0 for none */
    size_t entry;         /* the history entry shown, or the number of entries: the draft */
    struct sh_text draft; /* what was typed before history was entered */
    bool in_history;
    bool searching; /* Ctrl-R */
    struct sh_text query;
    size_t found, match_start, match_end;
    bool found_any;
    size_t draft_cursor;
    struct sh_menu menu;
    char *hint; /* what is known of a name, shown below the line */
};

/* Starts as all zeros but for host and prompts. */
void sh_editor_start(struct sh_editor *e); /* a new empty cell; what was killed stays */
void sh_editor_free(struct sh_editor *e);
enum sh_action sh_editor_key(struct sh_editor *e, const struct sh_key *key);
/* The frame for a terminal of that size; rows 0 is the whole cell without lists, as it stays on the screen after the
 * cell was taken. */
void sh_editor_frame(const struct sh_editor *e, int columns, int rows, struct sh_frame *out);

/* Shared by the editor's files. */
bool sh_editor_insert(struct sh_editor *e, const char *bytes, size_t length); /* at the cursor */
void sh_editor_replace(struct sh_editor *e, const char *bytes, size_t length, size_t cursor);
void sh_editor_remember(struct sh_editor *e); /* a state that undo comes back to */
size_t sh_line_start(const struct sh_editor *e, size_t at);
size_t sh_line_end(const struct sh_editor *e, size_t at);
int sh_line_column(const struct sh_editor *e, size_t at);
size_t sh_at_column(const struct sh_editor *e, size_t start, int column);

/* recall.c: history and its search */
void sh_recall(struct sh_editor *e, int direction, bool same_beginning); /* -1 older, 1 newer */
void sh_search_start(struct sh_editor *e);
bool sh_search_key(struct sh_editor *e,
                   const struct sh_key *key); /* false: the key is the editor's, the search ended */

/* menu.c: completion */
void sh_complete(struct sh_editor *e);
void sh_menu_narrow(struct sh_editor *e); /* the list again, after something was typed or erased */
bool sh_menu_key(struct sh_editor *e, const struct sh_key *key); /* false: the key is the editor's, the menu closed */
void sh_menu_close(struct sh_editor *e);
void sh_menu_frame(const struct sh_editor *e, int rows, struct sh_frame *out);

#endif
