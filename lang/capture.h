/* What %%capture does with the output of a session while its cell runs. */
#ifndef LG_CAPTURE_H
#define LG_CAPTURE_H

#include "lang/session_state.h"

/* Each takes what would go to the sink, and returns false when nothing captures. Text never raises; what is lost for
 * want of memory is told when the capture is read. */
bool lg_capture_text(struct lg_session *s, enum lg_stream which, const char *text, size_t length);
bool lg_capture_bundle(lua_State *L, struct lg_session *s, const struct lg_bundle *b, const char *id); /* [raises] */
bool lg_capture_clear(lua_State *L, struct lg_session *s);                                             /* [raises] */

#endif
