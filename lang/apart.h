/* What is known of a session without its interpreter (lang/apart.c). */
#ifndef LG_APART_H
#define LG_APART_H

#include <stdbool.h>

struct lua_State;
struct lg_apart;
struct lg_session;

struct lg_apart *lg_apart_new(void); /* NULL: out of memory */
void lg_apart_free(struct lg_apart *a);
/* A cell begins: notes what there is, unless that was done just before. Never raises. */
void lg_apart_note(struct lg_session *s);

/* In the second session: pushes what was noted of the variable that the value at idx stands for; false, and nothing,
 * when it stands for none. */
bool lg_push_noted(struct lua_State *L, int idx, const char **kind);
/* As lg_session_comms and lg_session_comm_states. */
void lg_noted_comms(const struct lg_apart *a, const char *target,
                    void (*visit)(void *context, const char *id, const char *target), void *context);
void lg_noted_states(const struct lg_apart *a, void (*visit)(void *context, const char *id, const char *answer),
                     void *context);

#endif
