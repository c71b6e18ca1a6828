/* Streams and events as Lua objects. */
#ifndef LG_STREAM_H
#define LG_STREAM_H

#include "lang/lang.h"
#include "runtime/stream.h"

#define LG_STREAM "lunarray.stream"
#define LG_EVENT  "lunarray.event"
#define LG_GRAPH  "lunarray.graph"

/* The stream at idx, to give work to; `what` names the argument in the message for other values. It is in the object
 * and NULL there once somebody has freed it. [raises] */
struct rt_stream *const *lg_check_stream(lua_State *L, int idx, const char *what);
/* The number of the current stream of the device, 0 for the default one. */
static inline unsigned lg_stream_number(const struct rt_device *d)
{
    return d->current ? d->current->number : 0;
}

/* Adds gpu.stream and gpu.event to the gpu table on top of the stack. [raises] */
void lg_open_stream(lua_State *L);
/* lang/graph.c: gpu.graph, likewise. [raises] */
void lg_open_graph(lua_State *L);
void lg_open_nvtx(lua_State *L); /* lang/nvtx.c: gpu.nvtx, likewise. [raises] */

#endif
