/* Who uses a storage: the work of streams that touches its memory and that nothing orders yet. From it follow when a
 * released block may be handed out again, which copies the host must wait for, and races between streams: two accesses
 * to the same elements, one of them a write, that no event, no wait and no synchronization puts in order. On the cpu
 * and the software GPU, where work has run when it was issued, a race does no harm and is found all the same. */
#ifndef RT_USES_H
#define RT_USES_H

#include "runtime/array.h"
#include "runtime/stream.h"

/* An access to the elements of `a`, by the work that its device's current stream is given next. Waits when that is the
 * host or the default stream and another device's stream still copies to or from it. RT_FAULT for a race that the watch
 * wants to be an error; RT_NOMEM. `kernel` and `name`, what it calls the array, are NULL for other operations. */
enum rt_status rt_touch_as(const struct rt_array *a, bool writes, const char *kernel, const char *name,
                           struct rt_error *e);
/* The same by a stream of any device: for copies. */
enum rt_status rt_touch_by(const struct rt_array *a, bool writes, struct rt_stream *s, struct rt_error *e);
static inline enum rt_status rt_touch(const struct rt_array *a, bool writes, struct rt_error *e)
{
    return rt_has_streams() ? rt_touch_as(a, writes, NULL, NULL, e) : RT_OK;
}

/* A storage was made for the current stream: that will write to it. Out of memory for the note, the stream is waited
 * for. */
void rt_uses_begin(struct rt_storage *s);
/* All uses are done, or ordered before what its device's current stream, not the default one, is given next: the memory
 * may be that one's. */
bool rt_uses_ordered(const struct rt_storage *s);
/* Waits for all uses, whoever interrupts. */
void rt_uses_settle(struct rt_storage *s);
void rt_uses_free(struct rt_storage *s); /* forgets them */

/* Who is asked about races. The thread that touches calls; nothing of runtime/ may be called back. */
struct rt_watch {
    void *context;
    /* Are races asked for now? */
    bool (*wanted)(void *context);
    /* Writes where the access stands, "fill_() at cell 3:5", without the function " at cell 3:5"; or nothing. */
    void (*place)(void *context, bool function, char *out, size_t size);
    /* A race was found; true makes it an error. */
    bool (*race)(void *context, const char *text);
};
void rt_watch_races(const struct rt_watch *w); /* copied; NULL: nobody */

#endif
