/* The software GPU's memory: one reserved range of host addresses, cut into segments that cover it without holes. The
 * segments stand in one array sorted by address, so finding the allocation of an address is a binary search that takes
 * no lock; a segment is at least 256 bytes longer than what was asked for, which is the guard. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/host.h"
#include "runtime/memory.h"
#include "runtime/simt/heap.h"

#define ALIGN     256u
#define GUARD     256u
#define OVERRUNS  16u                /* so much likelier than underruns are they, for reports */
#define COMMIT    ((size_t)64 << 20) /* the range is made usable in steps of this size */
#define GIVE_BACK ((size_t)1 << 20)  /* freed segments of this size return their pages */
#define PAGE      4096u /* where allocations of that size begin: programs that cut one up by pages count on it */
#define FREED     256   /* so many freed allocations are remembered, for reports */

struct segment {
    uint64_t start; /* offset in the arena */
    uint64_t size;  /* whole segment, guard included */
    uint64_t bytes; /* visible to kernels; 0 while its owner keeps it cached */
    bool used;
    bool heap;                 /* of kernels: it knows better what is allocated */
    bool unwritten;            /* some of it was never written, as far as is known */
    uint64_t from, to;         /* the bytes of it that were, while they are one stretch */
    _Atomic uint64_t *written; /* a bit for each byte of it that was; NULL: that stretch, or all */
};

static struct {
    pthread_mutex_t lock;
    char *base;
    size_t size, committed, used;
    struct segment *segments;
    size_t count, room;
    size_t first[64];        /* by the logarithm of a size: no free segment before this one is as large */
    atomic_size_t unwritten; /* segments that are */
    struct simt_block freed[FREED];
    size_t freed_count; /* ever */
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what was never written, what was freed ---- */
static void set_written(struct segment *s)
{
    if (!s->unwritten) return;
    free(s->written);
    s->written = NULL;
    s->unwritten = false;
    arena.unwritten--;
}

static void set_unwritten(struct segment *s)
{
    free(s->written);
    s->written = NULL;
    arena.unwritten += !s->unwritten;
    s->unwritten = true;
    s->from = s->to = 0;
}

static void set_bits(struct segment *s, uint64_t from, uint64_t to)
{
    for (uint64_t n; from < to; from += n) {
        n = 64 - from % 64 < to - from ? 64 - from % 64 : to - from;
        atomic_fetch_or_explicit(&s->written[from / 64], UINT64_MAX >> (64 - n) << from % 64, memory_order_relaxed);
    }
}

/* The bits of a segment, made when they are wanted first; NULL: no memory. */
static _Atomic uint64_t *bits_of(struct segment *s)
{
    if (s->written) return s->written;
    s->written = rt_calloc((s->size + 63) / 64, sizeof *s->written);
    if (s->written) set_bits(s, s->from, s->to);
    return s->written;
}

/* Adds bytes to the one stretch. False: they lie apart from it. */
static bool lengthen(struct segment *s, uint64_t from, uint64_t to)
{
    bool none = s->from == s->to;
    if (s->written || (!none && (from > s->to || to < s->from))) return false;
    if (none || from < s->from) s->from = from;
    if (none || to > s->to) s->to = to;
    return true;
}

static void add_written(struct segment *s, uint64_t from, uint64_t to)
{
    if (lengthen(s, from, to)) {
        if (s->from == 0 && s->to >= s->bytes) set_written(s);
    } else if ((from == 0 && to >= s->bytes) || !bits_of(s)) {
        set_written(s);
    } else {
        set_bits(s, from, to);
    }
}

static void remember_freed(const struct segment *s)
{
    if (s->bytes) arena.freed[arena.freed_count++ % FREED] = (struct simt_block){SIMT_GLOBAL_BASE + s->start, s->bytes};
}

/* Half of the machine's memory, less where that much address space is refused. */
static bool reserve(void)
{
    if (arena.base) return true;
    if (!arena.segments) {
        arena.segments = rt_alloc(64 * sizeof *arena.segments);
        if (!arena.segments) return false;
        arena.room = 64;
    }
    size_t want = (rt_host_memory() / 2 + COMMIT - 1) / COMMIT * COMMIT;
    for (; want >= COMMIT; want = want / 2 / COMMIT * COMMIT) {
        void *p = mmap(NULL, want, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        arena.base = p;
        arena.size = want;
        arena.segments[0] = (struct segment){.size = want};
        arena.count = 1;
        return true;
    }
    return false;
}

/* The range up to `end` becomes readable and writable. */
static bool commit(size_t end)
{
    if (end <= arena.committed) return true;
    size_t to = (end + COMMIT - 1) / COMMIT * COMMIT;
    if (to > arena.size) to = arena.size;
    char *from = arena.base + arena.committed;
    if (mprotect(from, to - arena.committed, PROT_READ | PROT_WRITE) != 0) return false;
    madvise(from, to - arena.committed, MADV_HUGEPAGE); /* fewer page faults; no harm where it is refused */
    arena.committed = to;
    return true;
}

/* The last segment that starts at or below the offset. */
static size_t index_of(uint64_t offset)
{
    size_t low = 0, high = arena.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (arena.segments[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static enum rt_status refuse(size_t bytes, struct rt_error *e)
{
    return rt_fail(e, RT_NOMEM, "the software GPU has no room for %zu bytes (%zu of %zu bytes are in use)", bytes,
                   arena.used, arena.size);
}

static unsigned class_of(uint64_t size)
{
    return 63u - (unsigned)__builtin_clzll(size);
}

/* The first free segment of such a size behind an alignment. */
static struct segment *first_fit(uint64_t size, uint64_t align)
{
    size_t *first = &arena.first[class_of(size)], large = SIZE_MAX;
    for (size_t i = *first; i < arena.count; i++) {
        struct segment *s = &arena.segments[i];
        if (s->used || s->size >> class_of(size) == 0) continue;
        if (large == SIZE_MAX) *first = large = i;
        if (s->size >= (align - s->start % align) % align + size) return s;
    }
    return NULL;
}

/* Cuts a free segment in two, where the table has room for one more. Returns the second. */
static struct segment *cut(struct segment *s, uint64_t size)
{
    size_t behind = arena.count++ - (size_t)(s + 1 - arena.segments);
    memmove(s + 2, s + 1, behind * sizeof *s);
    s[1] = (struct segment){.start = s->start + size, .size = s->size - size};
    s->size = size;
    return s + 1;
}

static enum rt_status allocate(size_t bytes, uint64_t *address, struct rt_error *e)
{
    if (!reserve()) return rt_fail(e, RT_NOMEM, "no address space for the software GPU's memory");
    if (bytes > arena.size) return refuse(bytes, e);
    uint64_t size = (bytes + GUARD + ALIGN - 1) / ALIGN * ALIGN, align = bytes < GIVE_BACK ? ALIGN : PAGE;
    if (arena.count + 1 >= arena.room) {
        struct segment *more = rt_realloc(arena.segments, 2 * arena.room * sizeof *more);
        if (!more) return rt_fail(e, RT_NOMEM, "no memory for the software GPU's table of allocations");
        arena.segments = more;
        arena.room *= 2;
    }
    struct segment *s = first_fit(size, align);
    uint64_t before = s ? (align - s->start % align) % align : 0;
    if (!s || !rt_host_has_room(size) || !commit(s->start + before + size)) return refuse(bytes, e);
    if (before) s = cut(s, before);
    if (s->size > size) cut(s, size);
    s->bytes = bytes;
    s->used = true;
    set_unwritten(s);
    arena.used += size;
    *address = SIMT_GLOBAL_BASE + s->start;
    return RT_OK;
}

enum rt_status simt_alloc(size_t bytes, uint64_t *address, struct rt_error *e)
{
    pthread_mutex_lock(&arena.lock);
    enum rt_status status = allocate(bytes, address, e);
    pthread_mutex_unlock(&arena.lock);
    return status;
}

/* The segment that begins exactly at the address, or NULL. */
static struct segment *segment_at(uint64_t address)
{
    if (address < SIMT_GLOBAL_BASE || address - SIMT_GLOBAL_BASE >= arena.size) return NULL;
    struct segment *s = &arena.segments[index_of(address - SIMT_GLOBAL_BASE)];
    return s->used && s->start == address - SIMT_GLOBAL_BASE ? s : NULL;
}

static void release(struct segment *s)
{
    size_t i = (size_t)(s - arena.segments);
    arena.used -= s->size;
    set_written(s);
    s->used = s->heap = false;
    s->bytes = 0;
    if (s->size >= GIVE_BACK) {
        uint64_t from = (s->start + PAGE - 1) / PAGE * PAGE, to = (s->start + s->size) / PAGE * PAGE;
        madvise(arena.base + from, to - from, MADV_DONTNEED);
    }
    if (i + 1 < arena.count && !s[1].used) {
        s->size += s[1].size;
        memmove(s + 1, s + 2, (arena.count - i - 2) * sizeof *s);
        arena.count--;
    }
    if (i > 0 && !s[-1].used) {
        s[-1].size += s->size;
        memmove(s, s + 1, (arena.count - i - 1) * sizeof *s);
        arena.count--;
        i--;
    }
    const unsigned class = class_of(arena.segments[i].size);
    for (unsigned k = 0; k < 64; k++) /* those behind it have moved by two at most */
        if (arena.first[k] > i) arena.first[k] = k > class && arena.first[k] > i + 2 ? arena.first[k] - 2 : i;
}

bool simt_free(uint64_t address)
{
    pthread_mutex_lock(&arena.lock);
    struct segment *s = segment_at(address);
    if (s) remember_freed(s);
    if (s) release(s);
    pthread_mutex_unlock(&arena.lock);
    return s != NULL;
}

void simt_memory_reset(void)
{
    simt_heap_reset();
    pthread_mutex_lock(&arena.lock);
    if (arena.base) {
        madvise(arena.base, arena.committed, MADV_DONTNEED);
        for (size_t i = 0; i < arena.count; i++) set_written(&arena.segments[i]);
        arena.segments[0] = (struct segment){.size = arena.size};
        arena.count = 1;
        arena.used = 0;
        memset(arena.first, 0, sizeof arena.first);
    }
    pthread_mutex_unlock(&arena.lock);
}

bool simt_resize(uint64_t address, size_t bytes)
{
    pthread_mutex_lock(&arena.lock);
    struct segment *s = segment_at(address);
    bool fits = s && bytes <= s->size - GUARD;
    if (fits && !bytes) remember_freed(s);
    if (fits && bytes && !s->bytes) set_unwritten(s);
    if (fits) s->bytes = bytes;
    pthread_mutex_unlock(&arena.lock);
    return fits;
}

void simt_mark_heap(uint64_t address)
{
    pthread_mutex_lock(&arena.lock);
    struct segment *s = segment_at(address);
    if (s) s->heap = true;
    pthread_mutex_unlock(&arena.lock);
}

/* The segment whose visible bytes the address is one of, or NULL. */
static const struct segment *segment_of(uint64_t address)
{
    uint64_t offset = address - SIMT_GLOBAL_BASE;
    if (offset >= arena.size) return NULL;
    const struct segment *s = &arena.segments[index_of(offset)];
    return offset - s->start < s->bytes ? s : NULL;
}

bool simt_find(uint64_t address, struct simt_block *out)
{
    const struct segment *s = segment_of(address);
    bool live;
    if (!s) return false;
    if (s->heap) return simt_heap_find(address, out, &live) && live;
    *out = (struct simt_block){SIMT_GLOBAL_BASE + s->start, s->bytes};
    return true;
}

bool simt_look(uint64_t address, struct simt_block *out)
{
    pthread_mutex_lock(&arena.lock);
    const struct segment *s = segment_of(address);
    bool found = s != NULL, heap = s && s->heap, live;
    if (found) *out = (struct simt_block){SIMT_GLOBAL_BASE + s->start, s->bytes};
    pthread_mutex_unlock(&arena.lock); /* the heap has its own, and allocates under that */
    return heap ? simt_heap_find(address, out, &live) && live : found;
}

void simt_wrote(uint64_t address, size_t bytes)
{
    uint64_t offset = address - SIMT_GLOBAL_BASE;
    if (!atomic_load_explicit(&arena.unwritten, memory_order_relaxed)) return;
    pthread_mutex_lock(&arena.lock);
    if (arena.unwritten && offset < arena.size) {
        struct segment *s = &arena.segments[index_of(offset)];
        if (s->unwritten) add_written(s, offset - s->start, offset - s->start + bytes);
    }
    pthread_mutex_unlock(&arena.lock);
}

void simt_wrote_everything(void)
{
    if (!atomic_load_explicit(&arena.unwritten, memory_order_relaxed)) return;
    pthread_mutex_lock(&arena.lock);
    for (size_t i = 0; i < arena.count && arena.unwritten; i++) set_written(&arena.segments[i]);
    pthread_mutex_unlock(&arena.lock);
}

bool simt_written_bits(uint64_t address, _Atomic uint64_t **bits)
{
    *bits = NULL;
    pthread_mutex_lock(&arena.lock);
    struct segment *s = segment_at(address);
    bool known = !s || !s->unwritten || (*bits = bits_of(s));
    pthread_mutex_unlock(&arena.lock);
    return known;
}

bool simt_written_anew(uint64_t address, _Atomic uint64_t **bits)
{
    *bits = NULL;
    pthread_mutex_lock(&arena.lock);
    struct segment *s = segment_at(address);
    bool all = s && !s->unwritten;
    if (s) *bits = bits_of(s);
    if (all && *bits) {
        memset(*bits, 0xff, (s->size + 63) / 64 * sizeof **bits);
        s->unwritten = true;
        arena.unwritten++;
    }
    pthread_mutex_unlock(&arena.lock);
    return *bits != NULL;
}

static bool all_set(const struct segment *s)
{
    for (uint64_t at = 0; at < s->bytes; at += 64) {
        uint64_t want = s->bytes - at >= 64 ? UINT64_MAX : (UINT64_C(1) << (s->bytes - at)) - 1;
        if (~s->written[at / 64] & want) return false;
    }
    return true;
}

void simt_written_settle(void)
{
    pthread_mutex_lock(&arena.lock);
    for (size_t i = 0; i < arena.count && arena.unwritten; i++)
        if (arena.segments[i].written && all_set(&arena.segments[i])) set_written(&arena.segments[i]);
    pthread_mutex_unlock(&arena.lock);
}

bool simt_find_freed(uint64_t address, struct simt_block *out)
{
    for (size_t k = arena.freed_count; k > 0 && arena.freed_count - k < FREED; k--) {
        const struct simt_block *b = &arena.freed[(k - 1) % FREED];
        if (address - b->address >= b->bytes) continue;
        *out = *b;
        return true;
    }
    return false;
}

bool simt_nearest(uint64_t address, struct simt_block *out)
{
    if (arena.count == 0) return false;
    uint64_t offset = address < SIMT_GLOBAL_BASE                ? 0
                      : address - SIMT_GLOBAL_BASE < arena.size ? address - SIMT_GLOBAL_BASE
                                                                : arena.size - 1;
    size_t below = index_of(offset), above = below + 1;
    while (below < arena.count && arena.segments[below].bytes == 0) below--; /* wraps past 0 and so ends the loop */
    while (above < arena.count && arena.segments[above].bytes == 0) above++;
    if (below >= arena.count && above >= arena.count) return false;
    const struct segment *s = &arena.segments[below < arena.count ? below : above];
    if (below < arena.count && above < arena.count) {
        const struct segment *next = &arena.segments[above];
        uint64_t end = s->start + s->bytes;
        if (offset >= end && (next->start - offset) * OVERRUNS < offset - end) s = next;
    }
    bool live;
    if (s->heap && simt_heap_find(address, out, &live) && out->bytes) return true;
    *out = (struct simt_block){SIMT_GLOBAL_BASE + s->start, s->bytes};
    return true;
}

void *simt_host(uint64_t address)
{
    uint64_t offset = address - SIMT_GLOBAL_BASE;
    return offset < arena.size ? arena.base + offset : NULL;
}

ptrdiff_t simt_bias(void)
{
    pthread_mutex_lock(&arena.lock);
    bool there = reserve();
    pthread_mutex_unlock(&arena.lock);
    return there ? (ptrdiff_t)((uintptr_t)arena.base - SIMT_GLOBAL_BASE) : 0;
}

void simt_memory_info(size_t *free_bytes, size_t *total_bytes)
{
    pthread_mutex_lock(&arena.lock);
    bool there = reserve();
    *total_bytes = there ? arena.size : 0;
    *free_bytes = there ? arena.size - arena.used : 0;
    pthread_mutex_unlock(&arena.lock);
    const size_t host = rt_host_free_memory();
    if (*free_bytes > host) *free_bytes = host;
}
