/* The heap of malloc, free, new and delete in kernels: one allocation of the arena, cut into chunks of whole units.
 * What is known of a chunk stands beside the heap, at the indices of its first and its last unit, where no kernel can
 * write.
 *
 * A used chunk begins with a unit that nobody may touch, and ends with a gap, so that overruns are noticed. Gaps cost a
 * program nothing: the arena has room for them beside the heap's size, and a chunk has none when it has not. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/heap.h"

#define UNIT    16u /* bytes, and the alignment of what malloc returns */
#define ROOM    4   /* times the heap's size; at least what gaps of the least blocks need */
#define GAP     64u /* bytes; larger blocks have a gap of their own size, up to the most */
#define GAP_MAX 1024u
#define BINS    32
#define NOTHING UINT32_MAX

struct chunk {
    uint32_t units;  /* at the first and at the last unit; 0 elsewhere */
    bool used, kept; /* kept: a used one that was freed, and waits for its end */
    uint64_t bytes;  /* that were asked for, of a used chunk; at the first unit as all below */
    uint64_t mark;
    uint32_t next, last; /* of a free chunk in its bin; next of those that are kept */
};

static struct {
    pthread_mutex_t lock;
    size_t size;          /* bytes, for when it is made */
    uint64_t base;        /* device address, 0 while there is none */
    uint32_t units;       /* of all room */
    uint32_t most, taken; /* that may be taken by what malloc gave, without gaps, and that are */
    struct chunk *chunks;
    uint64_t *starts; /* bits: a chunk starts at the unit */
    uint32_t bins[BINS];
    uint32_t first_kept, last_kept; /* those that are, the oldest first */
    _Atomic uint64_t turn;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER, .size = SIMT_HEAP_SIZE, .first_kept = NOTHING, .last_kept = NOTHING};

/* ---- chunks ---- */
/* Units that a block takes without its gap. */
static uint64_t cost_of(uint64_t bytes)
{
    return bytes / UNIT + (bytes % UNIT != 0) + 1;
}

static uint32_t gap_of(uint64_t bytes)
{
    return (uint32_t)(bytes < GAP ? GAP : bytes < GAP_MAX ? bytes : GAP_MAX) / UNIT;
}

static uint32_t bin_of(uint32_t units)
{
    return 31 - (uint32_t)__builtin_clz(units);
}

static void set_chunk(uint32_t at, uint32_t units, bool used)
{
    struct chunk *first = &heap.chunks[at], *last = &heap.chunks[at + units - 1];
    first->units = last->units = units;
    first->used = last->used = used;
    heap.starts[at / 64] |= UINT64_C(1) << at % 64;
}

static void insert(uint32_t at, uint32_t units)
{
    set_chunk(at, units, false);
    uint32_t *bin = &heap.bins[bin_of(units)];
    heap.chunks[at].next = *bin;
    heap.chunks[at].last = NOTHING;
    if (*bin != NOTHING) heap.chunks[*bin].last = at;
    *bin = at;
}

static void take_out(uint32_t at)
{
    struct chunk *c = &heap.chunks[at];
    if (c->last == NOTHING)
        heap.bins[bin_of(c->units)] = c->next;
    else
        heap.chunks[c->last].next = c->next;
    if (c->next != NOTHING) heap.chunks[c->next].last = c->last;
    heap.starts[at / 64] &= ~(UINT64_C(1) << at % 64);
}

/* A free chunk of at least so many units: in the bin of that size the first that is large enough, then any. */
static uint32_t find_free(uint32_t units)
{
    for (uint32_t b = bin_of(units); b < BINS; b++)
        for (uint32_t at = heap.bins[b]; at != NOTHING; at = heap.chunks[at].next)
            if (heap.chunks[at].units >= units) return at;
    return NOTHING;
}

/* A used chunk becomes free, together with free neighbours. */
static void release(uint32_t at)
{
    uint32_t units = heap.chunks[at].units, after = at + units;
    if (after < heap.units && !heap.chunks[after].used) {
        units += heap.chunks[after].units;
        take_out(after);
    }
    if (at > 0 && !heap.chunks[at - 1].used) {
        heap.starts[at / 64] &= ~(UINT64_C(1) << at % 64);
        at -= heap.chunks[at - 1].units;
        units += heap.chunks[at].units;
        take_out(at);
    }
    insert(at, units);
}

static void release_oldest(void)
{
    uint32_t at = heap.first_kept;
    heap.first_kept = heap.chunks[at].next;
    if (heap.first_kept == NOTHING) heap.last_kept = NOTHING;
    release(at);
}

/* The chunk of what malloc returned and nobody freed; NOTHING for other addresses. */
static uint32_t chunk_at(uint64_t address)
{
    uint64_t unit = (address - heap.base) / UNIT;
    if (!heap.base || address % UNIT || unit < 1 || unit >= heap.units) return NOTHING;
    uint32_t at = (uint32_t)unit - 1;
    bool found = heap.chunks[at].used && !heap.chunks[at].kept && heap.starts[at / 64] >> at % 64 & 1;
    return found ? at : NOTHING;
}

/* The chunk that holds a unit. */
static uint32_t chunk_of(uint32_t unit)
{
    uint32_t word = unit / 64;
    uint64_t bits = heap.starts[word] & (UINT64_MAX >> (63 - unit % 64));
    while (!bits) bits = heap.starts[--word]; /* one starts at 0 */
    return word * 64 + 63 - (uint32_t)__builtin_clzll(bits);
}

/* ---- the heap ---- */
static void drop(void)
{
    free(heap.chunks);
    free(heap.starts);
    heap.chunks = NULL;
    heap.starts = NULL;
    heap.base = 0;
    heap.units = heap.most = heap.taken = 0;
    heap.first_kept = heap.last_kept = NOTHING;
}

static bool make_room(uint64_t units)
{
    uint64_t base;
    heap.chunks = rt_calloc(units, sizeof *heap.chunks);
    heap.starts = rt_calloc(units / 64 + 1, sizeof *heap.starts);
    if (!heap.chunks || !heap.starts || simt_alloc((size_t)units * UNIT, &base, NULL) != RT_OK) {
        drop();
        return false;
    }
    simt_mark_heap(base);
    heap.base = base;
    heap.units = (uint32_t)units;
    for (int b = 0; b < BINS; b++) heap.bins[b] = NOTHING;
    insert(0, heap.units);
    return true;
}

static bool make(void)
{
    uint32_t most = (uint32_t)(heap.size / UNIT);
    bool roomy = most <= UINT32_MAX / 2 / ROOM && make_room((uint64_t)most * ROOM);
    if (!roomy && !make_room(most)) return false;
    heap.most = most;
    return true;
}

bool simt_heap_ready(void)
{
    pthread_mutex_lock(&heap.lock);
    bool ready = heap.base || make();
    pthread_mutex_unlock(&heap.lock);
    return ready;
}

void simt_heap_reset(void)
{
    pthread_mutex_lock(&heap.lock);
    drop();
    heap.size = SIMT_HEAP_SIZE;
    pthread_mutex_unlock(&heap.lock);
}

size_t simt_heap_size(void)
{
    pthread_mutex_lock(&heap.lock);
    size_t size = heap.size;
    pthread_mutex_unlock(&heap.lock);
    return size;
}

bool simt_heap_set_size(size_t bytes)
{
    pthread_mutex_lock(&heap.lock);
    bool free_to_change = !heap.base;
    if (free_to_change) {
        size_t most = (size_t)(UINT32_MAX / 2) * UNIT, size = (bytes + 4095) / 4096 * 4096;
        heap.size = bytes > most ? most : size ? size : 4096;
    }
    pthread_mutex_unlock(&heap.lock);
    return free_to_change;
}

uint64_t simt_heap_malloc(uint64_t bytes)
{
    uint64_t address = 0;
    pthread_mutex_lock(&heap.lock);
    uint64_t cost = cost_of(bytes);
    bool fits = bytes && cost <= heap.most - heap.taken;
    uint32_t units = fits ? (uint32_t)cost + gap_of(bytes) : 0, at = fits ? find_free(units) : NOTHING;
    while (fits && at == NOTHING && heap.first_kept != NOTHING) {
        release_oldest();
        at = find_free(units);
    }
    if (fits && at == NOTHING) at = find_free(units = (uint32_t)cost);
    if (at != NOTHING) {
        uint32_t all = heap.chunks[at].units;
        take_out(at);
        set_chunk(at, units, true);
        heap.taken += (uint32_t)cost;
        heap.chunks[at].bytes = bytes;
        heap.chunks[at].mark = 0;
        heap.chunks[at].kept = false;
        if (all > units) insert(at + units, all - units);
        address = heap.base + (uint64_t)(at + 1) * UNIT;
    }
    pthread_mutex_unlock(&heap.lock);
    return address;
}

bool simt_heap_free(uint64_t address)
{
    pthread_mutex_lock(&heap.lock);
    uint32_t at = chunk_at(address);
    if (at != NOTHING) {
        heap.taken -= (uint32_t)cost_of(heap.chunks[at].bytes);
        release(at);
    }
    pthread_mutex_unlock(&heap.lock);
    return at != NOTHING;
}

/* Is what comes before the chunk a used one whose overruns come to its first unit? */
static bool ends_without_gap(uint32_t at)
{
    if (!at || !heap.chunks[at - 1].used) return false;
    uint32_t units = heap.chunks[at - 1].units;
    return cost_of(heap.chunks[at - units].bytes) == units;
}

bool simt_heap_look(uint64_t address, struct simt_heap_block *out)
{
    pthread_mutex_lock(&heap.lock);
    bool inside = heap.base && address - heap.base < (uint64_t)heap.units * UNIT;
    if (inside) {
        uint32_t unit = (uint32_t)((address - heap.base) / UNIT), at = chunk_of(unit);
        if (unit == at && ends_without_gap(at)) at -= heap.chunks[at - 1].units;
        const struct chunk *c = &heap.chunks[at];
        *out = (struct simt_heap_block){.heap = heap.base, .address = heap.base + (uint64_t)at * UNIT};
        if (c->used) {
            out->address += UNIT;
            out->bytes = c->bytes;
            out->mark = c->mark;
            out->kept = c->kept;
        }
    }
    pthread_mutex_unlock(&heap.lock);
    return inside;
}

bool simt_heap_find(uint64_t address, struct simt_block *out, bool *live)
{
    struct simt_heap_block b;
    if (!simt_heap_look(address, &b)) return false;
    *out = (struct simt_block){b.address, b.bytes};
    *live = address - b.address < b.bytes;
    return true;
}

void simt_heap_mark(uint64_t address, uint64_t mark)
{
    pthread_mutex_lock(&heap.lock);
    uint32_t at = chunk_at(address);
    if (at != NOTHING) heap.chunks[at].mark = mark;
    pthread_mutex_unlock(&heap.lock);
}

bool simt_heap_keep(uint64_t address)
{
    pthread_mutex_lock(&heap.lock);
    uint32_t at = chunk_at(address);
    if (at != NOTHING) {
        heap.chunks[at].kept = true;
        heap.taken -= (uint32_t)cost_of(heap.chunks[at].bytes);
        heap.chunks[at].next = NOTHING;
        if (heap.last_kept == NOTHING)
            heap.first_kept = at;
        else
            heap.chunks[heap.last_kept].next = at;
        heap.last_kept = at;
        heap.turn++;
    }
    pthread_mutex_unlock(&heap.lock);
    return at != NOTHING;
}

void simt_heap_settle(void)
{
    pthread_mutex_lock(&heap.lock);
    while (heap.first_kept != NOTHING) release_oldest();
    pthread_mutex_unlock(&heap.lock);
}

uint64_t simt_heap_turn(void)
{
    return heap.turn;
}
