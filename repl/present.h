/* The presenter's state machine: keys, time and the ends of cells come in, what is to be done goes out. It knows no
 * terminal, no clock and no session: the caller (present_run.c) draws the frames, runs the cells and says what time it
 * is, and the tests do so by tables. Times are milliseconds of any clock that only goes forward. */
#ifndef SH_PRESENT_H
#define SH_PRESENT_H

#include "repl/demo.h"
#include "repl/frame.h"
#include "repl/keys.h"

enum sh_present_phase {
    SH_AT_CELL,    /* the cell stands there and waits for a key */
    SH_AT_TYPING,  /* it is being typed */
    SH_AT_RUNNING, /* the caller runs it */
    SH_AT_OUTPUT,  /* it has run, and its output waits for a key */
    SH_AT_END,     /* behind the last cell */
};

/* What lies over the cell. */
enum sh_present_overlay { SH_NO_OVERLAY, SH_OVER_LIST, SH_OVER_KEYS, SH_OVER_LEAVE, SH_OVER_RESTART };

/* What the caller is to do. */
enum sh_present_action {
    SH_PRESENT_WAIT,    /* draw the frame, wait for a key or for sh_present_wait */
    SH_PRESENT_RUN,     /* leave the cell on the screen, run it if it is code; then sh_present_done */
    SH_PRESENT_EDIT,    /* have the cell edited; then sh_present_edited */
    SH_PRESENT_PROMPT,  /* the live prompt; then sh_present_resume */
    SH_PRESENT_RESTART, /* a fresh session; then sh_present_restart */
    SH_PRESENT_SUSPEND,
    SH_PRESENT_CLEAR, /* a clean screen */
    SH_PRESENT_LEAVE,
};

enum { SH_TYPING_SPEED = 20 }; /* characters a second, when nobody says */

struct sh_present_options {
    double typing; /* characters a second; 0: cells appear at once */
    double pause;  /* seconds between steps when it plays by itself */
    bool play;     /* it does so from the start, and leaves at the end */
};

struct sh_presenter {
    const struct sh_demo *demo;
    struct sh_present_options options;
    enum sh_present_phase phase;
    enum sh_present_overlay overlay;
    size_t at;             /* the cell; demo->count at the end */
    size_t until;          /* cells before this one run without waiting */
    size_t typed;          /* bytes of the cell that are there */
    size_t scroll;         /* rows of a tall cell above the screen */
    struct sh_text *edits; /* one a cell: what the presenter made of it; without bytes: as it was */
    bool typing, play, clock;
    const char *note;  /* what the last key did not do, and why; NULL */
    bool failed;       /* a cell failed that was not expected to */
    long started, due; /* due: when something happens by itself; -1: never */
    size_t selected;   /* in the list */
    unsigned digits;   /* typed in the list; 0: none */
    unsigned random;   /* for the rhythm of typing */
};

/* False when memory is lacking. `demo` is not copied. */
bool sh_present_start(struct sh_presenter *p, const struct sh_demo *demo, const struct sh_present_options *o, long now);
void sh_present_free(struct sh_presenter *p);

enum sh_present_action sh_present_key(struct sh_presenter *p, const struct sh_key *key, long now);
/* Milliseconds until sh_present_tick has something to do; -1: it has nothing. */
int sh_present_wait(const struct sh_presenter *p, long now);
enum sh_present_action sh_present_tick(struct sh_presenter *p, long now);

/* Answers to the actions. */
void sh_present_done(struct sh_presenter *p, enum lg_status status, long now);
/* The editor's text, or NULL when the edit was given up. An edited cell runs at once. */
enum sh_present_action sh_present_edited(struct sh_presenter *p, const char *text, size_t length, long now);
void sh_present_resume(struct sh_presenter *p, long now);
void sh_present_restart(struct sh_presenter *p, long now);

/* The text of the cell that is presented, edits included. */
const char *sh_present_text(const struct sh_presenter *p, size_t *length);

/* How things are to be shown (present_frame.c). */
struct sh_present_view {
    int columns, rows; /* rows 0: all of the cell and nothing else, as it stays on the screen */
    int number;        /* of the session's next cell */
    const char *time;  /* of the day, for the clock */
    long now;
};
void sh_present_frame(struct sh_presenter *p, const struct sh_present_view *view, struct sh_frame *out);

#endif
