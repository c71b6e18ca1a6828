/* The shadow: lines of records for global and shared memory, made when they are touched first. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/memory.h"
#include "runtime/simt/check_half.h"

#define PART_BITS 12 /* chunks that share an array of pointers */
#define PARTS     256
#define CHUNKS    (1u << PART_BITS)
#define HUGE_PAGE ((size_t)2 << 20)
#define KEEP      ((size_t)384 << 20) /* shadows of this size are not kept for the next launch */

struct chunk_room { /* for a chunk where its lines begin as they must */
    struct line room[CHUNK_LINES];
    struct chunk chunk;
};
struct part {
    _Atomic(void *) chunks[CHUNKS];
};
static _Atomic(void *) parts[PARTS]; /* by address; launches run one after the other */
/* Chunks of host memory that kernels may use, found by their numbers, which lie anywhere: a table without removal. */
#define HOST_CHUNKS 1024
static struct host_chunk {
    _Atomic uint64_t number; /* 0: free */
    _Atomic(void *) room;
} host_chunks[HOST_CHUNKS];
static _Atomic size_t shadow_bytes;
static _Atomic(record *) retired; /* cells that are no longer in use; each begins with the next one's address */

/* ---- lines ---- */
/* A warp that goes down a column touches a page with every row. No harm where they are refused. */
static void want_huge_pages(void *p, size_t bytes)
{
    size_t skip = -(uintptr_t)p % HUGE_PAGE;
    if (bytes >= skip + HUGE_PAGE) madvise((char *)p + skip, (bytes - skip) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
}

static void *get_or_make(_Atomic(void *) *slot, size_t bytes)
{
    void *p = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
    if (p) return p;
    p = rt_calloc(1, bytes);
    if (!p) return NULL;
    want_huge_pages(p, bytes);
    if (atomic_compare_exchange_strong(slot, &other, p)) {
        atomic_fetch_add(&shadow_bytes, bytes);
        return p;
    }
    free(p);
    return other;
}

static struct chunk *chunk_in(struct chunk_room *r)
{
    return (struct chunk *)(void *)((char *)r + -(uintptr_t)r % sizeof r->room);
}

pair *simt_shadow_pairs(const struct line *l, unsigned log)
{
    size_t cells = CHUNK_LINES * (LINE >> log);
    pair *all = get_or_make(&chunk_of(l)->pairs[log], cells * sizeof *all);
    return all ? all + (line_index(l) * LINE >> log) : NULL;
}

static struct line *host_lines(uint64_t chunk)
{
    for (uint64_t k = mixed(chunk) >> 32, tries = 0; tries < HOST_CHUNKS; k++, tries++) {
        struct host_chunk *h = &host_chunks[k % HOST_CHUNKS];
        uint64_t none = 0;
        atomic_compare_exchange_strong(&h->number, &none, chunk);
        if (atomic_load(&h->number) != chunk) continue;
        struct chunk_room *r = get_or_make(&h->room, sizeof *r);
        return r ? chunk_in(r)->lines : NULL;
    }
    return NULL;
}

struct line *simt_shadow_lines(uint64_t chunk)
{
    uint64_t part = chunk >> PART_BITS;
    if (part >= PARTS) return host_lines(chunk);
    struct part *p = get_or_make(&parts[part], sizeof *p);
    struct chunk_room *r = p ? get_or_make(&p->chunks[chunk % CHUNKS], sizeof *r) : NULL;
    return r ? chunk_in(r)->lines : NULL;
}

static void free_room(struct chunk_room *r)
{
    for (size_t l = 0; r && l < CHUNK_LINES; l++) free(chunk_in(r)->strips[l].cells.writes);
    for (int log = 0; r && log < PAIR_SIZES; log++) free(chunk_in(r)->pairs[log]);
    free(r);
}

void simt_shadow_trim(void)
{
    for (record *r = atomic_exchange(&retired, NULL), *next; r; r = next) {
        memcpy(&next, r, sizeof next);
        free(r);
    }
    if (atomic_load(&shadow_bytes) <= KEEP) return;
    for (size_t i = 0; i < PARTS; i++) {
        struct part *p = atomic_exchange(&parts[i], NULL);
        for (size_t k = 0; p && k < CHUNKS; k++) free_room(p->chunks[k]);
        free(p);
    }
    for (size_t i = 0; i < HOST_CHUNKS; i++) {
        free_room(atomic_exchange(&host_chunks[i].room, NULL));
        atomic_store(&host_chunks[i].number, 0);
    }
    atomic_store(&shadow_bytes, 0);
}

void simt_shadow_free(struct block *b)
{
    free(b->shared.writes);
    simt_histories_clear(&b->histories);
}

void simt_shadow_start(struct block *b)
{
    simt_histories_clear(&b->histories);
    if (++b->shared_turn > BLOCK_IDS) { /* numbers are used again: their records must go */
        free(b->shared.writes);
        b->shared.writes = NULL;
        b->shared_turn = 1;
    }
    b->shared_id = (record)b->shared_turn << BLOCK_AT;
}

/* ---- cells ---- */
static record *new_cells(uint32_t cells)
{
    size_t bytes = RECORDS * sizeof(record) * cells;
    record *all = rt_calloc(1, bytes);
    if (all) atomic_fetch_add_explicit(&shadow_bytes, bytes, memory_order_relaxed);
    return all;
}

/* Memory that other threads may still be looking at, until the launch is over. */
static void retire(record *cells)
{
    if (!cells) return;
    record *first = atomic_load(&retired);
    do memcpy(cells, &first, sizeof first);
    while (!atomic_compare_exchange_weak(&retired, &first, cells));
}

/* Cells of a smaller size, each with the records of the one it was part of. */
static bool refine(struct cell_table *t, uint32_t bytes, unsigned log)
{
    uint32_t n = bytes >> log, factor = 1u << (t->log - log);
    record *fine = new_cells(n);
    if (!fine) return false;
    for (uint32_t k = 0; k < RECORDS * n; k++) fine[k] = t->writes[k / factor];
    retire(t->writes);
    t->writes = fine;
    t->log = (uint8_t)log;
    return true;
}

/* Cells that strips stand for get records of their own. */
static bool spread(const struct simt_check *c, struct line *l, unsigned log)
{
    struct strips *d = strips_of(l);
    struct cell_table *t = &d->cells;
    bool pairs = l->kind & LINE_PAIRS;
    if (l->kind == LINE_STRIPS) log = simt_strips_log(d, log);
    if (pairs && (l->kind & 3u) < log) log = l->kind & 3u;
    if (!t->writes || t->log != log) {
        record *cells = new_cells(LINE >> log);
        if (!cells) return false;
        retire(t->writes);
        t->writes = cells;
        t->log = (uint8_t)log;
    }
    if (l->kind & LINE_WHOLE) simt_strips_begin(l);
    if (pairs)
        simt_pairs_spread(c, l, log, t->writes);
    else if (l->kind == LINE_HALF)
        simt_half_spread(&d->half, log, t->writes);
    else
        simt_strips_spread(d, log, t->writes);
    l->settled = 0;
    l->kind = LINE_CELLS;
    return true;
}

bool simt_shadow_line(const struct simt_check *c, struct line *l, unsigned log)
{
    struct cell_table *t = &strips_of(l)->cells;
    if (l->kind != LINE_CELLS) return spread(c, l, log);
    return t->log <= log || refine(t, LINE, log);
}

bool simt_shadow_shared(struct cell_table *t, uint32_t bytes, unsigned log)
{
    if (t->writes) return t->log <= log || refine(t, bytes, log);
    t->log = (uint8_t)log;
    t->writes = new_cells(bytes >> log);
    return t->writes != NULL;
}

bool simt_shadow_written(const struct block *b, uint64_t at, uint32_t bytes)
{
    const struct cell_table *t = &b->shared;
    for (uint64_t k = at >> t->log; t->writes && k <= (at + bytes - 1) >> t->log; k++)
        if (t->writes[k] - b->shared_id >= BLOCK_SPAN || t->writes[k] - b->shared_id == SHARED_ONLY) return false;
    return t->writes != NULL;
}
