#include "kernels/handles.h"
#include "runtime/memory.h"

typedef int create_function(void **handle);
typedef int destroy_function(void *handle);
typedef int set_stream_function(void *handle, CUstream stream);

struct kn_handle {
    struct kn_handle *next;
    const struct rt_device *device;
    unsigned generation;
    void *handle;    /* NULL: the library does not work there */
    CUstream stream; /* that it computes in */
};

/* The device's current one may be another by now. */
static bool in_stream(const struct kn_handles *all, struct kn_handle *h, const struct rt_device *d)
{
    if (h->stream == d->stream) return true;
    set_stream_function *set_stream = (set_stream_function *)rt_library_symbol(all->library, all->set_stream, NULL);
    if (!set_stream || set_stream(h->handle, d->stream) != 0) return false;
    h->stream = d->stream;
    return true;
}

void *kn_handle(struct kn_handles *all, const struct rt_device *d)
{
    if (d->recording) return NULL; /* what a library launches would run, and be no part of the graph */
    struct kn_handle *h = all->first;
    while (h && (h->device != d || h->generation != d->generation)) h = h->next;
    if (h) return h->handle && in_stream(all, h, d) ? h->handle : NULL;
    h = rt_alloc(sizeof *h);
    if (!h) return NULL;
    *h = (struct kn_handle){.next = all->first, .device = d, .generation = d->generation};
    all->first = h;
    if (!all->library) all->library = rt_library_open(all->id, NULL);
    if (!all->library) return NULL;
    create_function *create = (create_function *)rt_library_symbol(all->library, all->create, NULL);
    destroy_function *destroy = (destroy_function *)rt_library_symbol(all->library, all->destroy, NULL);
    set_stream_function *set_stream = (set_stream_function *)rt_library_symbol(all->library, all->set_stream, NULL);
    if (!create || !destroy || !set_stream || create(&h->handle) != 0) return h->handle = NULL;
    h->stream = d->stream;
    if (set_stream(h->handle, d->stream) != 0) {
        destroy(h->handle);
        h->handle = NULL;
    }
    return h->handle;
}
