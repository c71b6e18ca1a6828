/* Arrays that a launch only stores to, at places that it looks up: what scatters, compacts or sorts leaves behind. Most
 * often each element is stored once. So each worker keeps a bit for each, and a list of what it stored where, and the
 * records have nothing of it: a bit is near, where a record is far away, and nobody else wants the worker's. What an
 * element's second store finds is its bit. Then, or when the launch ends and two workers have the same bits, the lists
 * are gone through as if their stores came only now, and the records tell. Stores of two workers are in no order, since
 * nothing is released in such a launch, and nobody reads what is stored, so when they come is all one. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_cells.h"
#include "runtime/simt/tally.h"

#define CHUNK_BYTES ((size_t)256 << 10)
#define KEPT_CHUNKS 256  /* for the next launch */
#define MOST_CHUNKS 4096 /* of a worker */

struct note { /* lanes of a store; behind it their cells, and what they stored if `values` */
    const struct insn *insn;
    record me; /* lane 0's */
    uint32_t lanes, block[3];
};
struct once_chunk {
    struct once_chunk *next;
    size_t used;
    char notes[CHUNK_BYTES - 2 * sizeof(size_t)];
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct once_chunk *kept;
static size_t kept_count;

/* ---- which arrays ---- */
/* Is it a plain store, if it is one to the array at all? Its bytes; 0: it is none. */
static unsigned stored_by(const struct simt_check *c, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    bool plain = c->watch[pc] == WATCH_ACCESS && i->memory == MEMORY_STORE && i->space == PTX_GLOBAL;
    const struct site *s = &c->sites[c->site_of[pc]];
    unsigned bytes = (unsigned)i->size * i->count;
    return plain && !s->strong && !s->copies && !s->bulk && !(bytes & (bytes - 1)) ? bytes : 0;
}

static bool find_log(const struct simt_check *c, const struct function *f, uint64_t allocation, unsigned *log)
{
    for (uint32_t pc = f->setup; pc < f->end; pc++) {
        if (c->watch[pc] == WATCH_NOT || simt_check_allocation(c, pc) != allocation) continue;
        unsigned bytes = stored_by(c, pc);
        if (!bytes) return false;
        if ((unsigned)__builtin_ctz(bytes) < *log) *log = (unsigned)__builtin_ctz(bytes);
    }
    return true;
}

void simt_once_add(struct simt_check *c, uint64_t allocation)
{
    const struct simt_program *p = c->program;
    unsigned log = 8;
    struct simt_block b;
    if (c->releases_some || c->once_count == MOST_ONCE || !simt_find(allocation, &b)) return;
    for (uint32_t k = 0; k < p->function_count; k++) {
        const struct function *f = &p->functions[k];
        if ((!f->is_entry || f == c->launch->function->code) && !find_log(c, f, allocation, &log)) return;
    }
    if (log == 8 || b.bytes >> log > UINT32_MAX) return;
    struct once_array *x = &c->once[c->once_count++];
    x->start = b.address;
    x->cells = b.bytes >> log;
    x->log = log;
    atomic_store(&x->over, false);
}

/* ---- lists ---- */
static struct once_chunk *take_chunk(void)
{
    pthread_mutex_lock(&kept_lock);
    struct once_chunk *x = kept;
    if (x) kept = x->next, kept_count--;
    pthread_mutex_unlock(&kept_lock);
    if (!x) x = rt_alloc(sizeof *x);
    if (x) x->next = NULL, x->used = 0;
    return x;
}

static void keep_chunks(struct once_chunk *x)
{
    for (struct once_chunk *next; x; x = next) {
        next = x->next;
        pthread_mutex_lock(&kept_lock);
        bool keep = kept_count < KEPT_CHUNKS;
        if (keep) x->next = kept, kept = x, kept_count++;
        pthread_mutex_unlock(&kept_lock);
        if (!keep) free(x);
    }
}

static struct once_chunk *chunk_with(struct once *o, size_t bytes)
{
    if (o->last && sizeof o->last->notes - o->last->used >= bytes) return o->last;
    struct once_chunk *x = o->chunks < MOST_CHUNKS ? take_chunk() : NULL;
    if (!x) return NULL;
    if (o->last)
        o->last->next = x;
    else
        o->first = x;
    o->chunks++;
    return o->last = x;
}

static const uint32_t *slots_of(const struct simt_check *c, const struct insn *i)
{
    return i->count == 1 ? &i->d : c->program->extra + i->extra;
}

static size_t width_of(const struct insn *i)
{
    return i->flags & F_WIDE ? 8 : 4;
}

static size_t bytes_of_cells(unsigned lanes)
{
    return (lanes + 1u) / 2 * 8;
}

/* How much a store takes in the list. One worker alone need not keep what was stored: it is still in memory. */
static size_t bytes_of(const struct simt_check *c, const struct insn *i, unsigned lanes)
{
    size_t values = c->parallel ? (lanes * i->count * width_of(i) + 7) / 8 * 8 : 0;
    return sizeof(struct note) + bytes_of_cells(lanes) + values;
}

static inline void copy_values(char *to, const char *from, size_t width, uint32_t m)
{
    if (m == FULL) {
        memcpy(to, from, SIMT_WARP * width);
    } else if (width == 4) {
        EACH_LANE(l, m) memcpy(to, from + 4 * (size_t)l, 4), to += 4;
    } else {
        EACH_LANE(l, m) memcpy(to, from + 8 * (size_t)l, 8), to += 8;
    }
}

/* ---- stores ---- */
struct stores { /* by lanes of a warp */
    const struct insn *insn;
    const char *regs;
    record me;          /* lane 0's */
    const uint64_t *at; /* by lane, and how much is added: inside of the array, aligned */
    uint64_t more;
    uint32_t lanes;
};

/* Notes which cells they touch. False: some were touched before. */
static inline bool mark(const struct stores *s, const struct once *o, uint32_t *cells)
{
    uint64_t *touched = o->touched, from = s->more - o->array->start, again = 0;
    unsigned log = o->array->log, n = 0, bytes = (unsigned)s->insn->size * s->insn->count;
    uint64_t ones = (UINT64_C(1) << (bytes >> log)) - 1;
    if (s->lanes == FULL)
        for (; n < SIMT_WARP; n++) cells[n] = (uint32_t)((s->at[n] + from) >> log);
    else
        EACH_LANE(l, s->lanes) cells[n++] = (uint32_t)((s->at[l] + from) >> log);
    for (unsigned k = 0; k < n; k++) {
        uint64_t *word = &touched[cells[k] / 64], was = *word, bits = ones << cells[k] % 64;
        again |= was & bits;
        *word = was | bits;
    }
    return !again;
}

/* A chunk will do for most arrays: fresh memory would take longer than the stores. */
static bool has_bits(struct once *o)
{
    size_t words = o->array->cells / 64 + 1;
    if (o->touched) return true;
    if (words * sizeof *o->touched > sizeof o->bits->notes) {
        o->touched = rt_calloc(words, sizeof *o->touched);
    } else if ((o->bits = take_chunk()) != NULL) {
        o->touched = (uint64_t *)(void *)o->bits->notes;
        memset(o->touched, 0, words * sizeof *o->touched);
    }
    return o->touched != NULL;
}

static bool add_note(struct block *b, struct once *o, const struct stores *s)
{
    const struct simt_check *c = b->check;
    const struct insn *i = s->insn;
    unsigned lanes = lane_count(s->lanes);
    size_t bytes = bytes_of(c, i, lanes), width = width_of(i);
    if (atomic_load_explicit(&o->array->over, memory_order_relaxed)) return false;
    struct once_chunk *x = chunk_with(o, bytes);
    if (!x || !has_bits(o)) return false;
    char *at = x->notes + x->used, *values = at + sizeof(struct note) + bytes_of_cells(lanes);
    struct note n = {i, s->me, s->lanes, {0}};
    memcpy(n.block, b->worker->block, sizeof n.block);
    memcpy(at, &n, sizeof n);
    if (!mark(s, o, (uint32_t *)(void *)(at + sizeof n))) return false;
    const uint32_t *slots = slots_of(c, i);
    for (unsigned k = 0; c->parallel && k < i->count; k++)
        copy_values(values + k * lanes * width, s->regs + slots[k], width, s->lanes);
    x->used += bytes;
    return true;
}

bool simt_once_store(const struct warp *w, const struct insn *i, unsigned site, uint32_t m)
{
    struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    uint64_t bytes = (uint64_t)i->size * i->count, room = s->high - s->low, imm = (uint64_t)i->imm;
    const uint64_t *at = u64_at(w->frame->regs, i->a);
    record me = b->id | (record)b->now << TIME_AT | (record)w->index * SIMT_WARP << THREAD_AT | site;
    if (s->written || room < bytes || imm % bytes || i->flags & F_FRAME) return false;
    if (!b->check->vectors->within(at, m, s->low - imm, room - bytes, bytes - 1)) return false;
    if (w->worker->tallied) simt_tally_reach(w->worker, s->low, s->high);
    return add_note(b, s->once, &(struct stores){i, w->frame->regs, me, at, imm, m});
}

bool simt_once_touch(const struct access *a, uint32_t m)
{
    struct once *o = a->block->spans[a->insn->d2].once;
    bool within = true;
    EACH_LANE(l, m) within &= (a->at[l] - o->array->start) >> o->array->log < o->array->cells;
    if (within && add_note(a->block, o, &(struct stores){a->insn, a->regs, a->me, a->at, 0, m})) return true;
    simt_once_leave(a->block, o);
    return false;
}

/* ---- as it is elsewhere ---- */
/* A store of the list, as it was; its length. */
static size_t recall(struct block *b, const struct once *o, const char *at, char *regs)
{
    struct simt_check *c = b->check;
    struct note n;
    memcpy(&n, at, sizeof n);
    unsigned lanes = lane_count(n.lanes), index = record_thread(n.me) / SIMT_WARP;
    size_t width = width_of(n.insn);
    const char *cells = at + sizeof n, *values = cells + bytes_of_cells(lanes);
    const uint32_t *slots = slots_of(c, n.insn);
    struct access a = {.check = c,
                       .block = b,
                       .warp = &b->worker->warps[index],
                       .insn = n.insn,
                       .regs = regs,
                       .kind = ACCESS_WRITE,
                       .site = &c->sites[record_site(n.me)],
                       .me = n.me,
                       .origin = -1,
                       .bytes = (uint32_t)n.insn->size * n.insn->count};
    EACH_LANE(l, n.lanes)
    {
        uint32_t cell;
        memcpy(&cell, cells, sizeof cell);
        cells += sizeof cell;
        a.at[l] = o->array->start + ((uint64_t)cell << o->array->log);
        for (unsigned k = 0; k < n.insn->count; k++) {
            char *to = regs + slots[k] + l * width;
            if (c->parallel)
                memcpy(to, values + k * lanes * width, width);
            else
                memcpy(to, (char *)simt_host(a.at[l]) + (size_t)k * n.insn->size, n.insn->size);
        }
        values += width;
    }
    b->id = n.me & ~(BLOCK_SPAN - 1);
    memcpy(b->worker->block, n.block, sizeof n.block);
    simt_race_touch(&a, n.lanes, false);
    return bytes_of(c, n.insn, lanes);
}

static char *new_frame(const struct simt_program *p)
{
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < p->function_count; k++)
        if (p->functions[k].frame_bytes > bytes) bytes = p->functions[k].frame_bytes;
    return rt_calloc(1, bytes + SIMT_WARP * sizeof(uint64_t));
}

static void recall_all(struct block *b, struct once *o)
{
    char *regs = o->first ? new_frame(b->check->program) : NULL;
    if (o->first && !regs) atomic_store(&b->check->no_memory, true);
    record id = b->id;
    uint32_t block[3];
    memcpy(block, b->worker->block, sizeof block);
    for (struct once_chunk *x = o->first; regs && x; x = x->next)
        for (size_t at = 0; at < x->used;) at += recall(b, o, x->notes + at, regs);
    b->id = id;
    memcpy(b->worker->block, block, sizeof block);
    free(regs);
}

void simt_once_leave(struct block *b, struct once *o)
{
    atomic_store_explicit(&o->array->over, true, memory_order_relaxed);
    for (uint32_t k = 0; k <= b->check->program->cache_count; k++)
        if (b->spans[k].once == o) b->spans[k].once = NULL;
    if (o->left) return;
    o->left = true;
    recall_all(b, o);
    keep_chunks(o->first);
    o->first = o->last = NULL;
}

struct once *simt_once_of(struct block *b, uint64_t allocation)
{
    struct simt_check *c = b->check;
    for (unsigned k = 0; k < c->once_count; k++) {
        struct once *o = &b->once[k];
        if (c->once[k].start != allocation) continue;
        o->array = &c->once[k];
        if (!b->reach && !o->left && !atomic_load_explicit(&o->array->over, memory_order_relaxed)) return o;
        simt_once_leave(b, o);
    }
    return NULL;
}

/* ---- the end ---- */
/* Have two workers the same bits? */
static bool have_met(const struct simt_check *c, unsigned k)
{
    uint64_t *all = NULL, met = 0;
    for (struct block *b = c->blocks; b; b = b->next) {
        uint64_t *mine = b->once[k].touched;
        if (!mine) continue;
        for (uint64_t w = 0; all && w <= c->once[k].cells / 64; w++) {
            met |= all[w] & mine[w];
            mine[w] |= all[w];
        }
        all = mine;
    }
    return met;
}

void simt_once_end(struct simt_check *c)
{
    for (unsigned k = 0; k < c->once_count; k++) {
        bool over = atomic_load(&c->once[k].over) || have_met(c, k);
        for (struct block *b = c->blocks; b; b = b->next) {
            struct once *o = &b->once[k];
            if (over && o->first) simt_once_leave(b, o);
            keep_chunks(o->first);
            if (!o->bits) free(o->touched);
            keep_chunks(o->bits);
        }
    }
}
