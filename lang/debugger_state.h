/* What the files of the debugger (lang/debugger.c, lang/frames.c, lang/lines.c) share, and what the session's other
 * files ask of it. */
#ifndef LG_DEBUGGER_STATE_H
#define LG_DEBUGGER_STATE_H

#include "lang/debugger.h"
#include "lang/session_state.h"

#define LG_DEBUG_FRAMES 100 /* innermost ones that can be looked at */

struct lg_breakpoints { /* of one source; chunk, text and conditions follow in the same block */
    struct lg_breakpoints *next;
    struct lg_debug_source source;
    size_t count;
    struct lg_debug_breakpoint at[];
};

struct lg_debugger {
    bool attached, at_errors, pause;
    struct lg_breakpoints *breakpoints;
    bool armed;              /* this cell has come to code with breakpoints: its lines are looked at */
    char passed[64];         /* a chunk without any that it came to last */
    enum lg_debug_step step; /* under way, or chosen while stopped */
    bool returned;           /* stepping out: the function has returned, the next instruction stops */
    lua_State *step_from;    /* kept alive in the registry */
    int step_depth;          /* how many calls its stack had */
    lua_State *stopped;      /* NULL while running */
    unsigned stops;          /* tells frames of one stop from those of another */
    struct {
        lua_State *L;
        int level;
    } frames[LG_DEBUG_FRAMES];
    int frame_count;
};

/* The mask to hook running code with; 0: none. */
int lg_debug_mask(const struct lg_session *s);
/* What co is in the middle of goes on: L resumes it, or it is L, whose calls were not hooked. [raises] */
void lg_debug_resumes(struct lg_session *s, lua_State *L, lua_State *co);
/* Of that hook. [raises] */
void lg_debug_event(struct lg_session *s, lua_State *L, lua_Debug *ar);
/* Of the message handler of cells, whose error value is at index 1. */
void lg_debug_failed(struct lg_session *s, lua_State *L);
/* A cell has ended: so has what stepped in it. */
void lg_debug_ended(struct lg_session *s);
/* For sessions with cells and a sink that can be stopped in. False when out of memory. */
bool lg_debug_new(struct lg_session *s);
void lg_debug_free(struct lg_session *s);

/* lang/lines.c: which lines hold code: malloc'd, [1..*count] can be asked; NULL when the text does not compile. */
bool *lg_active_lines(struct lg_session *s, const struct lg_debug_source *source, size_t *count);

#endif
