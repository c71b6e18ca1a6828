/* The caching allocator. A released storage goes into its size class with its block and is handed out again as it is,
 * so neither malloc nor the driver is asked on the way that programs take over and over. There are eight classes to a
 * doubling of the size: at most an eighth is wasted. */
#include "runtime/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/simt/simt.h"
#include "runtime/graph.h"
#include "runtime/host.h"
#include "runtime/uses.h"

#define SMALLEST_LOG 8 /* 256 bytes */
#define LARGEST_LOG  47
#define STEPS        8
#define CLASSES      ((LARGEST_LOG - SMALLEST_LOG) * STEPS + 1)
#define LARGEST      ((size_t)1 << LARGEST_LOG)
#define HUGE_PAGE    ((size_t)2 << 20)
#define MAP_FROM     ((size_t)1 << 20)  /* host blocks of this size come from mmap */
#define KEEP         ((size_t)64 << 20) /* bytes of released blocks that are not handed out again */
#define MOST_LOOKED  16                 /* blocks of a class that are looked at for one which no other stream uses */

struct block {
    struct rt_storage storage; /* first: a storage of bytes > 0 is its block */
    struct block *next;
    void *owner; /* of memory that is not the pool's */
    void (*release)(void *owner);
};

struct rt_pool {
    pthread_mutex_t lock;
    struct block *cached[CLASSES];
    bool keeps; /* blocks go to `kept` first, the oldest in front, of so many bytes together */
    struct block *kept, **kept_end;
    size_t kept_bytes;
    struct rt_memory_stats stats; /* but for in_use, */
    atomic_size_t in_use;         /* which is written under the lock, and read without it */
    bool listed;
    struct rt_pool *next;
};

static _Atomic(struct rt_pool *) pools; /* of all devices that memory was asked of */
static atomic_size_t elsewhere;         /* bytes that are held in memory of other kinds */

static pthread_mutex_t collector_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*collector)(void *context, size_t bytes);
static void *collector_context;

struct rt_pool *rt_pool_new(void)
{
    struct rt_pool *p = rt_calloc(1, sizeof *p);
    if (p) pthread_mutex_init(&p->lock, NULL);
    return p;
}

/* With its lock: one that has memory is there for good. */
static void list_pool(struct rt_pool *p)
{
    if (p->listed) return;
    p->listed = true;
    p->next = atomic_load(&pools);
    while (!atomic_compare_exchange_weak(&pools, &p->next, p)) {
    }
}

/* The class of a size and the bytes that blocks of that class have. */
static int class_of(size_t bytes, size_t *capacity)
{
    if (bytes <= (size_t)1 << SMALLEST_LOG) {
        *capacity = (size_t)1 << SMALLEST_LOG;
        return 0;
    }
    int log = 63 - __builtin_clzl(bytes - 1); /* 2^log < bytes <= 2^(log+1) */
    size_t base = (size_t)1 << log, step = base / STEPS;
    size_t steps = (bytes - base + step - 1) / step;
    *capacity = base + steps * step;
    return (log - SMALLEST_LOG) * STEPS + (int)steps;
}

/* ---- The blocks' source: host memory or the driver ---- */

static void *host_alloc(size_t capacity)
{
    if (capacity < MAP_FROM) {
        void *p = NULL;
        return posix_memalign(&p, 64, capacity) == 0 ? p : NULL;
    }
    size_t whole = (capacity + 4095) / 4096 * 4096 + HUGE_PAGE;
    char *p = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    size_t after = HUGE_PAGE - before;
    if (before) munmap(p, before);
    if (after) munmap(p + whole - after, after);
    madvise(p + before, whole - HUGE_PAGE, MADV_HUGEPAGE);
    return p + before;
}

static void host_free(void *p, size_t capacity)
{
    if (capacity < MAP_FROM) {
        free(p);
    } else {
        munmap(p, (capacity + 4095) / 4096 * 4096);
    }
}

static enum rt_status source_alloc(struct rt_device *d, size_t capacity, uint64_t *address, struct rt_error *e)
{
    *address = 0;
    if (d->driver) {
        CUdeviceptr p = 0;
        enum rt_status status = rt_device_enter(d, e);
        if (status == RT_OK) status = driver_check(d->driver, d->driver->MemAlloc(&p, capacity), e, "cuMemAlloc");
        *address = p;
        return status;
    }
    void *p = host_alloc(capacity);
    *address = (uintptr_t)p;
    return p ? RT_OK : rt_fail(e, RT_NOMEM, "the operating system refused %zu bytes", capacity);
}

static void source_free(struct rt_device *d, uint64_t address, size_t capacity)
{
    if (!d->driver) {
        host_free((void *)(uintptr_t)address, capacity);
    } else if (rt_device_enter(d, NULL) == RT_OK) {
        d->driver->MemFree(address);
    }
}

/* ---- The pool ---- */

/* Kernels on the software GPU may touch exactly what was asked for, and nothing of a cached block. */
static void set_visible(const struct rt_device *d, uint64_t address, size_t bytes)
{
    if (d->kind == RT_SIMT) simt_resize(address, bytes);
}

static struct block *take_cached(struct rt_device *d, int class)
{
    struct rt_pool *p = d->pool;
    struct block **link = &p->cached[class], *b = *link;
    for (int looked = 0; b && b->storage.uses && !rt_uses_ordered(&b->storage); b = *link) {
        if (++looked == MOST_LOOKED) return NULL;
        link = &b->next; /* another stream may still work with it */
    }
    if (!b) return NULL;
    *link = b->next;
    p->stats.cached -= b->storage.capacity;
    rt_uses_free(&b->storage);
    return b;
}

static size_t in_use(const struct rt_pool *p)
{
    return atomic_load_explicit(&p->in_use, memory_order_relaxed);
}

/* With the lock: an addition to an atomic variable would take as long as the lock. */
static void set_in_use(struct rt_pool *p, size_t bytes)
{
    atomic_store_explicit(&p->in_use, bytes, memory_order_relaxed);
}

static void count_use(struct rt_pool *p, size_t bytes)
{
    set_in_use(p, in_use(p) + bytes);
    p->stats.allocations++;
    if (in_use(p) > p->stats.peak) p->stats.peak = in_use(p);
}

static void put_cached(struct rt_pool *p, struct block *b)
{
    size_t capacity;
    int class = class_of(b->storage.capacity, &capacity);
    b->next = p->cached[class];
    p->cached[class] = b;
}

/* Those that were released longest ago, until the rest is `most` bytes. */
static void release_kept(struct rt_pool *p, size_t most)
{
    while (p->kept_bytes > most) {
        struct block *b = p->kept;
        p->kept = b->next;
        p->kept_bytes -= b->storage.capacity;
        put_cached(p, b);
    }
}

static void keep(struct rt_pool *p, struct block *b)
{
    if (!p->kept_bytes) p->kept_end = &p->kept;
    b->next = NULL;
    *p->kept_end = b;
    p->kept_end = &b->next;
    p->kept_bytes += b->storage.capacity;
    release_kept(p, KEEP);
}

void rt_memory_keep_released(struct rt_device *d)
{
    pthread_mutex_lock(&d->pool->lock);
    d->pool->keeps = true;
    pthread_mutex_unlock(&d->pool->lock);
}

/* All cached blocks of the pool, as one list; the caller frees them without the lock. */
static struct block *empty_cache(struct rt_pool *p)
{
    struct block *all = NULL;
    release_kept(p, 0);
    for (int i = 0; i < CLASSES; i++) {
        while (p->cached[i]) {
            struct block *b = p->cached[i];
            p->cached[i] = b->next;
            b->next = all;
            all = b;
        }
    }
    p->stats.cached = 0;
    return all;
}

void rt_memory_trim(struct rt_device *d)
{
    pthread_mutex_lock(&d->pool->lock);
    struct block *all = empty_cache(d->pool);
    pthread_mutex_unlock(&d->pool->lock);
    while (all) {
        struct block *next = all->next;
        if (all->storage.uses) rt_uses_settle(&all->storage);
        source_free(d, all->storage.address, all->storage.capacity);
        free(all);
        all = next;
    }
}

void rt_memory_lost(struct rt_device *d)
{
    pthread_mutex_lock(&d->pool->lock);
    struct block *all = empty_cache(d->pool);
    set_in_use(d->pool, 0);
    d->generation++;
    pthread_mutex_unlock(&d->pool->lock);
    while (all) {
        struct block *next = all->next;
        rt_uses_free(&all->storage);
        free(all);
        all = next;
    }
}

void rt_memory_set_collector(void (*collect)(void *context, size_t bytes), void *context)
{
    pthread_mutex_lock(&collector_lock);
    collector = collect;
    collector_context = context;
    pthread_mutex_unlock(&collector_lock);
}

/* The hook runs without locks, since it releases storages; one that allocates does not start another. */
void rt_memory_collect(size_t bytes)
{
    static _Thread_local bool running;
    if (running) return;
    pthread_mutex_lock(&collector_lock);
    void (*collect)(void *, size_t) = collector;
    void *context = collector_context;
    pthread_mutex_unlock(&collector_lock);
    if (!collect) return;
    running = true;
    collect(context, bytes);
    running = false;
}

/* What the cache holds counts too: when it would not all fit into half of the memory, the cache goes first. */
static bool host_is_full(struct rt_device *d, size_t capacity)
{
    if (d->kind != RT_CPU) return false;
    struct rt_memory_stats s;
    rt_memory_stats(d, &s);
    if (s.cached > 0 && s.in_use + s.cached + capacity > d->total_memory / 2) rt_memory_trim(d);
    if (capacity > d->total_memory || s.in_use > d->total_memory - capacity) return true;
    return !rt_host_has_room(capacity);
}

static enum rt_status try_source(struct rt_device *d, size_t capacity, uint64_t *address, struct rt_error *e)
{
    if (host_is_full(d, capacity)) return rt_fail(e, RT_NOMEM, "the host's memory is full");
    return source_alloc(d, capacity, address, e);
}

static enum rt_status report_full(struct rt_device *d, size_t bytes, struct rt_error *e)
{
    struct rt_memory_stats s;
    rt_memory_stats(d, &s);
    size_t free_bytes = 0, total = 0;
    char wanted[32], used[32], all[32], rest[32], free_text[96] = "";
    if (rt_device_memory(d, &free_bytes, &total, NULL) == RT_OK)
        snprintf(free_text, sizeof free_text, ", %s of %s are free", rt_size_text((double)free_bytes, rest),
                 rt_size_text((double)total, all));
    return rt_fail(e, RT_NOMEM,
                   "out of memory on %s: %zu bytes (%s) wanted; arrays use %s%s. Free arrays with x:free(), or work in "
                   "smaller pieces",
                   d->name, bytes, rt_size_text((double)bytes, wanted), rt_size_text((double)s.in_use, used),
                   free_text);
}

/* From the device itself; when it is full: the collector, the cache, once more. */
static enum rt_status fresh_block(struct rt_device *d, size_t bytes, size_t capacity, uint64_t *address,
                                  struct rt_error *e)
{
    if (rt_allocation_fails()) return report_full(d, bytes, e);
    enum rt_status status = try_source(d, capacity, address, e);
    if (status != RT_NOMEM) return status;
    rt_memory_collect(bytes);
    rt_memory_trim(d);
    status = try_source(d, capacity, address, e);
    return status == RT_NOMEM ? report_full(d, bytes, e) : status;
}

static struct rt_storage *empty_storage(struct rt_device *d, struct rt_error *e)
{
    struct block *b = rt_calloc(1, sizeof *b);
    if (!b) {
        rt_fail(e, RT_NOMEM, "out of host memory");
        return NULL;
    }
    b->storage.device = d;
    b->storage.generation = d->generation;
    b->storage.foreign = false;
    atomic_init(&b->storage.references, 1);
    return &b->storage;
}

void rt_memory_held_elsewhere(int64_t bytes)
{
    atomic_fetch_add_explicit(&elsewhere, (size_t)bytes, memory_order_relaxed);
}

size_t rt_memory_held(void)
{
    size_t held = atomic_load_explicit(&elsewhere, memory_order_relaxed);
    for (const struct rt_pool *p = atomic_load_explicit(&pools, memory_order_acquire); p; p = p->next)
        held += in_use(p);
    return held;
}

/* What is made while a graph is recorded is that graph's for as long as it lives. */
static struct rt_storage *keep_for_graph(struct rt_storage *s, struct rt_error *e)
{
    struct rt_array all;
    rt_array_over(rt_storage_retain(s), RT_UINT8, 1, (const int64_t[]){(int64_t)s->bytes}, &all);
    enum rt_status status = rt_graph_keep(s->device->recording, &all, true, e);
    rt_array_release(&all);
    if (status == RT_OK) return s;
    rt_storage_release(s);
    return NULL;
}

struct rt_storage *rt_storage_new(struct rt_device *d, size_t bytes, struct rt_error *e)
{
    if (bytes == 0) return empty_storage(d, e);
    if (bytes > LARGEST) {
        rt_fail(e, RT_INVALID, "an array of %zu bytes is beyond any device", bytes);
        return NULL;
    }
    size_t capacity;
    int class = class_of(bytes, &capacity);
    struct rt_pool *p = d->pool;
    pthread_mutex_lock(&p->lock);
    struct block *b = take_cached(d, class);
    if (b) count_use(p, bytes);
    pthread_mutex_unlock(&p->lock);
    if (!b) {
        struct rt_storage *s = empty_storage(d, e);
        if (!s) return NULL;
        b = (struct block *)s;
        if (fresh_block(d, bytes, capacity, &s->address, e) != RT_OK) {
            free(b);
            return NULL;
        }
        s->capacity = capacity;
        pthread_mutex_lock(&p->lock);
        list_pool(p);
        count_use(p, bytes);
        p->stats.driver_allocations++;
        pthread_mutex_unlock(&p->lock);
    }
    b->storage.bytes = bytes;
    b->storage.generation = d->generation;
    atomic_init(&b->storage.references, 1); /* nobody else knows of it yet */
    set_visible(d, b->storage.address, bytes);
    if (d->recording) return keep_for_graph(&b->storage, e);
    if (d->current) rt_uses_begin(&b->storage);
    return &b->storage;
}

struct rt_storage *rt_storage_over(struct rt_device *d, uint64_t address, size_t bytes, void *owner,
                                   void (*release)(void *owner), struct rt_error *e)
{
    struct rt_storage *s = empty_storage(d, e);
    if (!s) return NULL;
    struct block *b = (struct block *)s;
    s->address = address;
    s->bytes = s->capacity = bytes;
    s->foreign = true;
    b->owner = owner;
    b->release = release;
    return s;
}

struct rt_storage *rt_storage_retain(struct rt_storage *s)
{
    if (s) atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
    return s;
}

void rt_storage_release(struct rt_storage *s)
{
    if (!s) return;
    /* Of the last reference nobody else can make another, and to look for it is quicker than to take it away. */
    if (atomic_load_explicit(&s->references, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1)
        return;
    struct block *b = (struct block *)s;
    struct rt_device *d = s->device;
    struct rt_pool *p = d->pool;
    if (b->release) {
        if (s->uses) rt_uses_settle(s);
        b->release(b->owner);
    }
    if (s->bytes == 0 || b->release) {
        free(b);
        return;
    }
    pthread_mutex_lock(&p->lock);
    bool lost = s->generation != d->generation;
    if (!lost) {
        set_visible(d, s->address, 0);
        set_in_use(p, in_use(p) - s->bytes);
        p->stats.cached += s->capacity;
        if (p->keeps)
            keep(p, b);
        else
            put_cached(p, b);
    }
    pthread_mutex_unlock(&p->lock);
    if (lost) {
        rt_uses_free(s);
        free(b);
    }
}

void *rt_storage_host(const struct rt_storage *s, size_t from, size_t bytes)
{
    if (!s || s->bytes == 0) return NULL;
    switch (s->device->kind) {
    case RT_CPU:
        if (s->recorded) rt_graph_spoil(s->recorded); /* its elements are not there */
        return (void *)(uintptr_t)s->address;
    case RT_SIMT:
        if (s->device->recording) rt_graph_spoil(s->device->recording);
        simt_wrote(s->address + from, bytes);
        return simt_host(s->address);
    case RT_CUDA: break;
    }
    return NULL;
}

void rt_memory_stats(struct rt_device *d, struct rt_memory_stats *out)
{
    pthread_mutex_lock(&d->pool->lock);
    *out = d->pool->stats;
    out->in_use = in_use(d->pool);
    pthread_mutex_unlock(&d->pool->lock);
}
