#include "runtime/uses.h"
#include "runtime/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct use {
    int slot;
    uint32_t count;
    bool writes;
    uint64_t from, to; /* addresses: what is touched lies in [from, to) */
    unsigned stream;   /* its number */
    char what[96];     /* "kernel scale at cell 3:7" */
    char name[40];     /* what the kernel calls the array; "" */
};

struct rt_uses {
    size_t count, room;
    struct use list[];
};

static struct rt_watch watch;

void rt_watch_races(const struct rt_watch *w)
{
    watch = w ? *w : (struct rt_watch){0};
}

/* ---- the list of a storage; all under the lock of the streams ---- */

static void remove_use(struct rt_uses *u, size_t i)
{
    u->list[i] = u->list[--u->count];
}

static void prune(struct rt_uses *u)
{
    for (size_t i = 0; u && i < u->count;) {
        if (rt_streams_ordered(u->list[i].slot, u->list[i].count, NULL))
            remove_use(u, i);
        else
            i++;
    }
}

static bool add_use(struct rt_storage *s, const struct use *x)
{
    struct rt_uses *u = s->uses;
    if (!u || u->count == u->room) {
        size_t room = u ? 2 * u->room : 2;
        struct rt_uses *larger = rt_realloc(u, sizeof *u + room * sizeof *u->list);
        if (!larger) return false;
        if (!u) larger->count = 0;
        larger->room = room;
        s->uses = u = larger;
    }
    u->list[u->count++] = *x;
    return true;
}

/* Notes the access by s, in the place of those that whoever is ordered behind it is ordered behind, too. */
static bool note(struct rt_storage *storage, struct use *x, const struct rt_stream *s)
{
    struct rt_uses *u = storage->uses;
    for (size_t i = 0; u && i < u->count;) {
        struct use *old = &u->list[i];
        bool covered = x->from <= old->from && x->to >= old->to && (x->writes || !old->writes);
        bool same = old->slot == x->slot && old->count == x->count && old->writes == x->writes;
        if (same && x->from >= old->from && x->to <= old->to) return true;
        if (same && (x->from == old->to || x->to == old->from) && strcmp(x->what, old->what) == 0) {
            x->from = x->from < old->from ? x->from : old->from; /* the pieces of a loop become one */
            x->to = x->to > old->to ? x->to : old->to;
            covered = true;
        }
        if (covered && rt_streams_ordered(old->slot, old->count, s))
            remove_use(u, i);
        else
            i++;
    }
    return add_use(storage, x);
}

static const struct use *find_race(const struct rt_uses *u, const struct use *x, const struct rt_stream *s)
{
    for (size_t i = 0; u && i < u->count; i++) {
        const struct use *old = &u->list[i];
        if (old->from < x->to && x->from < old->to && (old->writes || x->writes) &&
            !rt_streams_ordered(old->slot, old->count, s))
            return old;
    }
    return NULL;
}

/* ---- races ---- */

static void describe(char *out, size_t size, const char *kernel)
{
    size_t n = 0;
    *out = 0;
    if (kernel) n = (size_t)snprintf(out, size, "kernel %s", kernel);
    if (n < size) watch.place(watch.context, !kernel, out + n, size - n);
    if (!kernel && (*out == ' ' || !*out)) snprintf(out, size, "an operation");
}

static bool are_wanted(void)
{
    return watch.wanted && watch.wanted(watch.context);
}

static enum rt_status tell_race(const struct rt_array *a, const struct use *first, const struct use *second,
                                struct rt_error *e)
{
    char text[700], array[64], shape[128];
    const char *name = second->name[0] ? second->name : first->name;
    if (!name[0])
        snprintf(array, sizeof array, "an array %.40s", rt_shape_text(a->ndim, a->shape, shape, sizeof shape));
    else
        snprintf(array, sizeof array, "%s", name);
    bool kernel = name[0] && (first->writes ? first : second)->name[0];
    snprintf(
        text, sizeof text,
        "race between streams: %s is %s by %s in stream %u and %s by %s in stream %u, and nothing puts one before "
        "the other.\n"
        "  On a GPU the two may overlap. Let stream %u wait before, by s:wait(other) or s:wait(event), or the host, by "
        "s:synchronize()%s",
        array, first->writes ? "written" : "read", *first->what ? first->what : "an operation", first->stream,
        second->writes ? "written" : "read", second->what, second->stream, second->stream,
        kernel ? ". An array that a kernel only reads is to be a pointer to const" : "");
    return watch.race(watch.context, text) ? rt_fail(e, RT_FAULT, "%s", text) : RT_OK;
}

/* ---- waiting ---- */

/* Asks the streams that still have to do with the storage. */
static CUresult look(void *context)
{
    struct rt_storage *s = context;
    CUresult r = CUDA_SUCCESS;
    rt_streams_lock();
    prune(s->uses);
    for (size_t i = 0; s->uses && i < s->uses->count && r == CUDA_SUCCESS; i++) {
        const struct rt_stream *stream = rt_streams_at(s->uses->list[i].slot);
        struct rt_device *d = stream ? stream->device : NULL;
        if (d && stream->handle && stream->generation == d->generation && rt_device_enter(d, NULL) == RT_OK)
            r = d->driver->StreamQuery(stream->handle);
    }
    rt_streams_unlock();
    return r;
}

static enum rt_status host_waits(struct rt_storage *s, struct rt_error *e)
{
    CUresult r = rt_poll(look, s);
    if (r == CUDA_ERROR_NOT_READY) return rt_fail(e, RT_INTERRUPTED, "interrupted while a copy is under way");
    rt_uses_free(s); /* done, or lost with a fault that the next use of the device tells */
    return RT_OK;
}

/* ---- touching ---- */

static struct use use_of(const struct rt_array *a, bool writes)
{
    int64_t low = 0, high = 1, element = rt_dtypes[a->dtype].size;
    for (int i = 0; i < a->ndim; i++) {
        int64_t reach = (a->shape[i] - 1) * a->strides[i];
        if (a->shape[i] == 0) return (struct use){0};
        *(reach < 0 ? &low : &high) += reach;
    }
    uint64_t first = rt_array_address(a);
    return (struct use){
        .from = first + (uint64_t)(low * element), .to = first + (uint64_t)(high * element), .writes = writes};
}

/* Uses by streams of another device: copies. */
static bool has_others(const struct rt_uses *u, const struct rt_device *d)
{
    for (size_t i = 0; u && i < u->count; i++) {
        const struct rt_stream *s = rt_streams_at(u->list[i].slot);
        if (s && s->device != d) return true;
    }
    return false;
}

static enum rt_status touch(const struct rt_array *a, bool writes, struct rt_device *d, struct rt_stream *s,
                            const char *kernel, const char *name, struct rt_error *e)
{
    struct rt_storage *storage = a->storage;
    struct use x = use_of(a, writes);
    if (x.from == x.to || storage->bytes == 0) return RT_OK;
    if (d->instantiates) return RT_OK;
    if (d->recording) return rt_graph_keep(d->recording, a, writes, e);
    bool wanted = s && are_wanted();
    rt_streams_lock();
    x.count = rt_streams_stamp(d);
    prune(storage->uses);
    bool waits = (!s || d->kind == RT_CPU) && has_others(storage->uses, d);
    const struct use *former = NULL;
    struct use first = {0};
    if (s) {
        x.slot = s->slot;
        x.stream = s->number;
        if (wanted) describe(x.what, sizeof x.what, kernel);
        if (wanted && name) snprintf(x.name, sizeof x.name, "%s", name);
        former = wanted && !waits ? find_race(storage->uses, &x, s) : NULL;
        if (former) first = *former;
    }
    rt_streams_unlock();
    enum rt_status status = waits ? host_waits(storage, e) : RT_OK;
    if (status != RT_OK || !s) return status;
    if (former) status = tell_race(a, &first, &x, e);
    if (status != RT_OK) return status;
    rt_streams_lock();
    if (former) rt_streams_assume(s, first.slot, first.count); /* told once is enough */
    bool noted = note(storage, &x, s);
    rt_streams_unlock();
    return noted ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory for the order of streams");
}

enum rt_status rt_touch_as(const struct rt_array *a, bool writes, const char *kernel, const char *name,
                           struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    return touch(a, writes, d, d->current, kernel, name, e);
}

enum rt_status rt_touch_by(const struct rt_array *a, bool writes, struct rt_stream *s, struct rt_error *e)
{
    return touch(a, writes, s->device, s, NULL, NULL, e);
}

/* ---- storages ---- */

void rt_uses_begin(struct rt_storage *s)
{
    struct rt_stream *stream = s->device->current;
    if (!stream) return;
    struct use x = {.slot = stream->slot,
                    .stream = stream->number,
                    .writes = true,
                    .from = s->address,
                    .to = s->address + s->bytes};
    if (are_wanted()) describe(x.what, sizeof x.what, NULL);
    rt_streams_lock();
    x.count = rt_streams_stamp(s->device);
    bool noted = note(s, &x, stream);
    rt_streams_unlock();
    if (!noted) rt_stream_synchronize(s->device, stream, NULL);
}

bool rt_uses_ordered(const struct rt_storage *s)
{
    bool ordered = true;
    rt_streams_lock();
    prune(s->uses);
    for (size_t i = 0; s->uses && i < s->uses->count; i++) {
        const struct use *x = &s->uses->list[i];
        const struct rt_stream *by = rt_streams_at(x->slot);
        bool here = by && by->device == s->device;
        /* The default stream waits for all, but only when it gets work, which nobody promises here. */
        ordered &= here && s->device->current && rt_streams_ordered(x->slot, x->count, s->device->current);
    }
    rt_streams_unlock();
    return ordered;
}

void rt_uses_settle(struct rt_storage *s)
{
    CUresult r;
    do r = rt_poll(look, s);
    while (r == CUDA_ERROR_NOT_READY);
    rt_uses_free(s);
}

void rt_uses_free(struct rt_storage *s)
{
    free(s->uses);
    s->uses = NULL;
}
