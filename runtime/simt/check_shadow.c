/* The shadow: lines of records for global and shared memory, made when they are touched first. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/memory.h"
#include "runtime/simt/check_inside.h"

#define PART_BITS 12 /* chunks that share an array of pointers */
#define PARTS     256
#define CHUNKS    (1u << PART_BITS)
#define LINES     ((1u << SHADOW_CHUNK) / LINE)
#define HUGE_PAGE ((size_t)2 << 20)
#define KEEP      ((size_t)256 << 20) /* shadows of this size are not kept for the next launch */

struct chunk {
    struct line room[LINES + 1]; /* for lines that begin where lines of the processor's cache do */
};
struct part {
    _Atomic(void *) chunks[CHUNKS];
};
static _Atomic(void *) parts[PARTS]; /* by address; launches run one after the other */
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

static struct line *lines_of(struct chunk *c)
{
    return (struct line *)(void *)((char *)c + -(uintptr_t)c % sizeof(struct line));
}

struct line *simt_shadow_lines(uint64_t chunk)
{
    uint64_t part = chunk >> PART_BITS;
    if (part >= PARTS) return NULL;
    struct part *p = get_or_make(&parts[part], sizeof *p);
    struct chunk *c = p ? get_or_make(&p->chunks[chunk % CHUNKS], sizeof *c) : NULL;
    return c ? lines_of(c) : NULL;
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
        for (size_t k = 0; p && k < CHUNKS; k++) {
            struct chunk *c = p->chunks[k];
            for (size_t l = 0; c && l < LINES; l++) free(lines_of(c)[l].writes);
            free(c);
        }
        free(p);
    }
    atomic_store(&shadow_bytes, 0);
}

void simt_shadow_free(struct block *b)
{
    free(b->shared.writes);
}

void simt_shadow_start(struct block *b)
{
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
static bool refine(struct line *l, uint32_t bytes, unsigned log)
{
    uint32_t n = bytes >> log, factor = 1u << (l->log - log);
    record *fine = new_cells(n);
    if (!fine) return false;
    for (uint32_t k = 0; k < RECORDS * n; k++) fine[k] = l->writes[k / factor];
    retire(l->writes);
    l->writes = fine;
    l->log = (uint8_t)log;
    return true;
}

/* Cells that strips stand for get records of their own. */
static bool spread(struct line *l, unsigned log)
{
    unsigned n = LINE >> log;
    if (!l->writes || l->log != log) {
        record *cells = new_cells(n);
        if (!cells) return false;
        retire(l->writes);
        l->writes = cells;
        l->log = (uint8_t)log;
    }
    simt_strips_spread(l, log, l->writes);
    for (int k = 1; k < STRIPS; k++) l->words[0] |= l->words[k];
    l->settled = 0;
    l->strips = false;
    return true;
}

bool simt_shadow_line(struct line *l, unsigned log)
{
    if (l->strips) return spread(l, log);
    return l->log <= log || refine(l, LINE, log);
}

bool simt_shadow_shared(struct line *l, uint32_t bytes, unsigned log)
{
    if (l->writes) return l->log <= log || refine(l, bytes, log);
    l->log = (uint8_t)log;
    l->writes = new_cells(bytes >> log);
    return l->writes != NULL;
}

bool simt_shadow_written(const struct block *b, uint64_t at, uint32_t bytes)
{
    const struct line *l = &b->shared;
    for (uint64_t k = at >> l->log; l->writes && k <= (at + bytes - 1) >> l->log; k++)
        if (l->writes[k] - b->shared_id >= BLOCK_SPAN) return false;
    return l->writes != NULL;
}
