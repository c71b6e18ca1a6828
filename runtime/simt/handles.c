/* Objects of the driver API that are alive, by address: whether a handle is one, of which kind, and whose. */
#include <pthread.h>
#include <stdlib.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"

#define BUCKETS 1024

struct handle {
    void *object;
    enum simt_kind kind;
    struct simt_handle about;
    struct handle *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *buckets[BUCKETS];
static uint64_t made;

static struct handle **bucket_of(const void *object)
{
    return &buckets[(uintptr_t)object / 16 * 0x9E3779B97F4A7C15u >> 54];
}

bool simt_handle_add(void *object, enum simt_kind kind)
{
    struct handle *h = rt_calloc(1, sizeof *h);
    if (!h) return false;
    CUcontext owner = simt_current();
    pthread_mutex_lock(&lock);
    struct handle **bucket = bucket_of(object);
    *h = (struct handle){object, kind, {.owner = owner, .id = ++made}, *bucket};
    *bucket = h;
    pthread_mutex_unlock(&lock);
    return true;
}

/* Under the lock. Device addresses and texture handles are numbers, so an object of another kind may be equal. */
static struct handle *find(const void *object, enum simt_kind kind)
{
    struct handle *h = *bucket_of(object);
    while (h && (h->object != object || h->kind != kind)) h = h->next;
    return h;
}

bool simt_handle_is(const void *object, enum simt_kind kind)
{
    pthread_mutex_lock(&lock);
    bool is = find(object, kind) != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

bool simt_handle_get(const void *object, enum simt_kind kind, struct simt_handle *out)
{
    pthread_mutex_lock(&lock);
    const struct handle *h = find(object, kind);
    if (h) *out = h->about;
    pthread_mutex_unlock(&lock);
    return h != NULL;
}

bool simt_handle_set(const void *object, enum simt_kind kind, void *extra)
{
    pthread_mutex_lock(&lock);
    struct handle *h = find(object, kind);
    if (h) h->about.extra = extra;
    pthread_mutex_unlock(&lock);
    return h != NULL;
}

bool simt_handle_disown(const void *object, enum simt_kind kind)
{
    pthread_mutex_lock(&lock);
    struct handle *h = find(object, kind);
    if (h) h->about.owner = NULL;
    pthread_mutex_unlock(&lock);
    return h != NULL;
}

bool simt_handle_remove(void *object, enum simt_kind kind)
{
    pthread_mutex_lock(&lock);
    struct handle **link = bucket_of(object), *found = find(object, kind);
    while (found && *link != found) link = &(*link)->next;
    if (found) *link = found->next;
    pthread_mutex_unlock(&lock);
    free(found);
    return found != NULL;
}

void *simt_handle_any(enum simt_kind kind, CUcontext owner)
{
    void *object = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS && !object; i++) {
        struct handle *h = buckets[i];
        while (h && (h->kind != kind || (owner && h->about.owner != owner))) h = h->next;
        if (h) object = h->object;
    }
    pthread_mutex_unlock(&lock);
    return object;
}
