/* Waiting in the middle of a cell for what comes from outside, while the face's other requests are served. */
#ifndef LG_WAITING_H
#define LG_WAITING_H

#include <poll.h>
#include "lang/session_state.h"

/* As poll, but requests that the sink attends to are served meanwhile, and only an interrupt of the session ends it
 * early: -1 with errno EINTR. On the session's thread. */
int lg_wait_for(struct lg_session *s, struct pollfd *fds, nfds_t count, int timeout_ms);

/* Whether what the shell's command starts may go on after its end: there is an `&` that is not quoted and no
 * part of `&&` or `>&`. */
bool lg_goes_on(const char *command);

/* Has the functions of io and os that can wait do it so, where the sink attends to requests. [raises] */
void lg_open_waiting(lua_State *L, struct lg_session *s);

#endif
