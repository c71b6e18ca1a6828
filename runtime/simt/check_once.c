/* Arrays that a launch touches at places that it looks up: what scatters, compacts or sorts leaves behind, what is
 * updated by lists; or at places between those of others, which only read them, as in a step of red-black relaxation.
 * Most often each element is one thread's, who stores it, or loads it and then stores it. So each worker keeps a bit
 * for each, and a list of what its lanes touched where, and the records have nothing of it: a bit is near, where a
 * record is far away, and nobody else wants the worker's. Whoever comes to an element later finds its bit, unless the
 * lanes are those that touched it shortly before. Then, or when the launch ends and two workers have the same bits, the
 * lists are gone through as if what they have came only now, and the records tell. What two workers do is in no order,
 * since nothing is released in such a launch, and each element in a list is one thread's, or nobody has stored to it,
 * so when it comes is all one.
 *
 * Where most instructions load, an element may be in the lists of several threads as long as all of them only load it:
 * such an array has bits for each that say whether it was touched, stored to, and loaded by several. Two that loaded it
 * stand for all, as in the records: who comes later to what several have loaded is in no list, as most threads in a
 * step of Floyd and Warshall's, which load what a row and a column have. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_notes.h"
#include "runtime/simt/jit.h"
#include "runtime/simt/tally.h"

#define KEPT_CHUNKS 64   /* for the next launch */
#define MOST_CHUNKS 1024 /* of a worker */
#define NOTES_AHEAD                                                                                                    \
    512 /* bytes of the list that are fetched before they are wanted: the processor finds no streams                   \
           between accesses that go anywhere */

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct once_chunk *kept;
static size_t kept_count;

/* ---- which arrays ---- */
/* Is it a plain load or store? Its bytes; 0: it is none. */
static unsigned touched_by(const struct simt_check *c, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    bool moves = i->memory == MEMORY_LOAD || i->memory == MEMORY_STORE;
    bool plain = c->watch[pc] == WATCH_ACCESS && moves && i->space == PTX_GLOBAL;
    const struct site *s = &c->sites[c->site_of[pc]];
    unsigned bytes = (unsigned)i->size * i->count;
    bool special = s->strong || s->guesses || s->copies || s->fetches || s->bulk;
    return plain && !special && !(bytes & (bytes - 1)) ? bytes : 0;
}

struct uses { /* of an array, by a launch's instructions */
    unsigned log, loads, stores;
    bool meets; /* there are barriers: what they order would come to one element */
};

static bool find_uses(const struct simt_check *c, const struct function *f, uint64_t allocation, struct uses *u)
{
    for (uint32_t pc = f->setup; pc < f->end; pc++) {
        enum watched watched = (enum watched)c->watch[pc];
        u->meets |= watched == WATCH_BARRIER || watched == WATCH_SYNC || watched == WATCH_WARP_SYNC;
        if (watched == WATCH_NOT || simt_check_allocation(c, pc) != allocation) continue;
        unsigned bytes = touched_by(c, pc);
        if (!bytes) return false;
        *(c->program->code[pc].memory == MEMORY_LOAD ? &u->loads : &u->stores) += 1;
        if ((unsigned)__builtin_ctz(bytes) < u->log) u->log = (unsigned)__builtin_ctz(bytes);
    }
    return true;
}

void simt_once_add(struct simt_check *c, uint64_t allocation, bool looked_up)
{
    const struct simt_program *p = c->program;
    struct uses u = {.log = 8};
    struct simt_block b;
    if (c->releases_some || c->once_count == MOST_ONCE || !simt_find(allocation, &b)) return;
    for (uint32_t k = 0; k < p->function_count; k++) {
        const struct function *f = &p->functions[k];
        if (c->runs[k] && !find_uses(c, f, allocation, &u)) return;
    }
    bool shares = u.loads > u.stores && !u.meets;
    if (u.log == 8 || b.bytes >> u.log > UINT32_MAX || (!looked_up && !shares)) return;
    struct once_array *x = &c->once[c->once_count++];
    x->start = b.address;
    x->cells = b.bytes >> u.log;
    x->log = u.log;
    x->loads = u.loads;
    x->shares = shares;
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

void simt_once_keep_chunks(struct once_chunk *x)
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

static inline void copy_values(char *to, const char *from, size_t width, uint32_t m)
{
    if (m == FULL && width == 4) { /* by a number that is known: what finds out how many takes as long as all else */
        memcpy(to, from, SIMT_WARP * 4);
    } else if (m == FULL) {
        memcpy(to, from, SIMT_WARP * 8);
    } else if (width == 4) {
        EACH_LANE(l, m) memcpy(to, from + 4 * (size_t)l, 4), to += 4;
    } else {
        EACH_LANE(l, m) memcpy(to, from + 8 * (size_t)l, 8), to += 8;
    }
}

static inline void copy_cells(uint32_t *to, const uint32_t *from, unsigned count)
{
    if (count == SIMT_WARP)
        memcpy(to, from, SIMT_WARP * sizeof *to);
    else if (count == 2)
        memcpy(to, from, 2 * sizeof *to);
    else
        memcpy(to, from, count * sizeof *to);
}

/* ---- loads and stores ---- */
struct touches { /* by lanes of a warp */
    const struct insn *insn;
    const char *regs;
    record me;             /* lane 0's */
    const uint32_t *cells; /* of the array, where lanes begin, as in a note */
    uint32_t lanes;
    unsigned apart; /* likewise */
};

static unsigned bytes_touched(const struct insn *i)
{
    return (unsigned)i->size * i->count;
}

static unsigned cells_touched(const struct insn *i, const struct once *o)
{
    return bytes_touched(i) >> o->array->log;
}

/* The same as is_noted where lanes or steps are others. */
static __attribute__((noinline)) bool is_among(const struct note *was, const char *at, const struct touches *s)
{
    uint32_t theirs[SIMT_WARP], mine[SIMT_WARP], differ = 0;
    cells_of(was->apart, was->lanes, at, theirs);
    cells_of(s->apart, s->lanes, (const char *)s->cells, mine);
    EACH_LANE(l, s->lanes) differ |= theirs[l] ^ mine[l];
    return !differ;
}

/* Of lanes that are equally far apart in each half, `x` in one list and `y` in the other: are they where the others
 * are?
 */
static inline bool is_same_row(uint32_t lanes, const uint32_t a[2], unsigned x, const uint32_t b[2], unsigned y)
{
    uint32_t differ = 0;
    for (unsigned h = 0; h < 2; h++) {
        uint32_t m = lanes >> 16 * h & 0xffff;
        if (!m) continue;
        unsigned first = (unsigned)__builtin_ctz(m), last = 31 - (unsigned)__builtin_clz(m);
        differ |= (a[h] + first * x) ^ (b[h] + first * y);
        differ |= (a[h] + last * x) ^ (b[h] + last * y);
    }
    return !differ;
}

/* Is all that the lanes touch in the note, as theirs? */
static inline bool is_noted(const char *at, const struct touches *s, unsigned n)
{
    struct note was;
    uint32_t first[2]; /* most often that says it */
    memcpy(&was, at, sizeof was);
    if ((was.me ^ s->me) & WHO_MASK || s->lanes & ~was.lanes || bytes_touched(was.insn) < bytes_touched(s->insn))
        return false;
    memcpy(first, at + sizeof was, sizeof first);
    if (s->apart != EACH && was.apart != EACH) return is_same_row(s->lanes, first, was.apart, s->cells, s->apart);
    if (s->lanes != was.lanes || s->apart != was.apart) return is_among(&was, at + sizeof was, s);
    return *first == *s->cells && !memcmp(at + sizeof was, s->cells, n * sizeof *s->cells);
}

/* Have the same lanes touched all of them shortly before? */
static inline bool touch_again(const struct once *o, const struct touches *s, unsigned n)
{
    for (unsigned k = 0; k < ONCE_LATEST; k++)
        if (o->latest[k] && is_noted(o->latest[k], s, n)) return true;
    return false;
}

/* ---- bits ---- */
/* Notes that `count` cells side by side are touched. Those of them that were before. */
static inline uint64_t mark_row(uint64_t *touched, uint32_t cell, unsigned count)
{
    uint64_t again = 0;
    for (unsigned n; count; cell += n, count -= n) {
        n = 64 - cell % 64 < count ? 64 - cell % 64 : count;
        uint64_t *word = &touched[cell / 64], bits = UINT64_MAX >> (64 - n) << cell % 64;
        again |= *word & bits;
        *word |= bits;
    }
    return again;
}

#define MOST_APART 4

/* The bits of 16 lanes, so many apart: each step moves the upper half of what is left of a group. */
static inline uint64_t spread(uint64_t x, unsigned apart)
{
    switch (apart) {
    case 0: return x & 1;
    case 1: return x;
    case 2:
        x = (x | x << 8) & 0x00ff00ff;
        x = (x | x << 4) & 0x0f0f0f0f;
        x = (x | x << 2) & 0x33333333;
        return (x | x << 1) & 0x55555555;
    case 3:
        x = (x | x << 16) & 0xff0000ff;
        x = (x | x << 8) & 0x00f00f00f00f;
        x = (x | x << 4) & 0x0c30c30c30c3;
        return (x | x << 2) & 0x249249249249;
    default:
        x = (x | x << 24) & 0x000000ff000000ff;
        x = (x | x << 12) & 0x000f000f000f000f;
        x = (x | x << 6) & 0x0303030303030303;
        return (x | x << 3) & 0x1111111111111111;
    }
}

/* Cells of lanes of a half that are equally far apart, as bits of a word and the next one. */
struct row {
    uint64_t at, low, high;
    uint64_t again; /* those in `low` that several lanes have */
};

/* No branch asks whether they go on in the next word, which nobody could foresee. */
static inline __attribute__((always_inline)) struct row row_of(const struct touches *s, unsigned half)
{
    uint32_t lanes = s->lanes >> 16 * half & 0xffff;
    if (!lanes) return (struct row){0};
    uint32_t one = (uint32_t)__builtin_ctz(lanes), cell = s->cells[half] + one * s->apart;
    uint64_t bits = spread(lanes >> one, s->apart), low = bits << cell % 64;
    return (struct row){cell / 64, low, bits >> 1 >> (63 - cell % 64), !s->apart && lanes & (lanes - 1) ? low : 0};
}

/* Sets them. Which of them were set before, or are several lanes'. */
static inline __attribute__((always_inline)) struct row set(struct row r, uint64_t *bits)
{
    uint64_t low = bits[r.at], high = bits[r.at + 1];
    bits[r.at] = low | r.low;
    bits[r.at + 1] = high | r.high;
    return (struct row){r.at, (low & r.low) | r.again, high & r.high, r.again};
}

static inline __attribute__((always_inline)) bool is_any(struct row r)
{
    return r.low | r.high;
}

/* Are some of them set? Or not? */
static inline bool some_are(struct row r, const uint64_t *bits)
{
    return (bits[r.at] & r.low) | (bits[r.at + 1] & r.high);
}

static inline bool some_are_not(struct row r, const uint64_t *bits)
{
    return (~bits[r.at] & r.low) | (~bits[r.at + 1] & r.high);
}

/* Notes that cells are touched. False: some were before. */
static inline bool mark(const struct simt_check *c, const struct touches *s, const struct once *o, unsigned n)
{
    unsigned each = cells_touched(s->insn, o);
    if (s->apart == EACH) return !c->vectors->mark(o->touched, s->cells, n, (UINT64_C(1) << each) - 1);
    if (s->apart == each && s->lanes == FULL)
        return !(mark_row(o->touched, s->cells[0], 16 * each) | mark_row(o->touched, s->cells[1], 16 * each));
    struct row a = set(row_of(s, 0), o->touched), b = set(row_of(s, 1), o->touched);
    return !(is_any(a) | is_any(b));
}

/* ---- cells that threads may share ---- */
/* The list can't say it; it is to say it; and from now on several have loaded it; or it says enough. */
enum marked { MARK_LEFT, MARK_NEW, MARK_SHARED, MARK_KNOWN };

/* Lanes come to cells again, some of which were stored to, or loaded by several. Can the list have it, and what is it
 * to say? */
static enum marked mark_again(const struct touches *s, struct once *o, bool stored, bool loaded, unsigned n)
{
    bool store = s->insn->memory == MEMORY_STORE;
    if (++o->repeated > o->array->cells / 2) return MARK_LEFT;
    if (touch_again(o, s, n)) return store && loaded ? MARK_LEFT : MARK_NEW;
    return store || stored ? MARK_LEFT : MARK_SHARED;
}

/* Of lanes in rows, where `again` says what was touched. */
static __attribute__((noinline)) enum marked mark_rows_again(const struct touches *s, struct once *o, struct row a,
                                                             struct row b, const struct row again[2])
{
    uint64_t *stored = plane_of(o, STORED), *loaded = plane_of(o, LOADED);
    bool store = s->insn->memory == MEMORY_STORE;
    if (!store && !some_are_not(a, loaded) && !some_are_not(b, loaded)) return MARK_KNOWN;
    bool was_stored = some_are(a, stored) || some_are(b, stored),
         was_loaded = some_are(a, loaded) || some_are(b, loaded);
    if (store) set(a, stored), set(b, stored);
    enum marked marked = mark_again(s, o, was_stored, was_loaded, 2);
    if (marked == MARK_SHARED) set(again[0], loaded), set(again[1], loaded);
    return marked;
}

static inline __attribute__((always_inline)) enum marked mark_rows(const struct touches *s, struct once *o)
{
    uint64_t *touched = plane_of(o, TOUCHED), *stored = plane_of(o, STORED);
    const struct row a = row_of(s, 0), b = row_of(s, 1), a_again = set(a, touched), b_again = set(b, touched);
    if (is_any(a_again) | is_any(b_again)) return mark_rows_again(s, o, a, b, (const struct row[]){a_again, b_again});
    if (s->insn->memory == MEMORY_STORE) set(a, stored), set(b, stored);
    return MARK_NEW;
}

/* Of lanes that are anywhere. */
static enum marked mark_each(const struct touches *s, struct once *o, unsigned n)
{
    uint64_t *touched = plane_of(o, TOUCHED), *stored = plane_of(o, STORED), *loaded = plane_of(o, LOADED);
    uint64_t ones = (UINT64_C(1) << cells_touched(s->insn, o)) - 1, again[SIMT_WARP], other = 0;
    uint64_t was_touched = 0, was_stored = 0, was_loaded = 0;
    bool store = s->insn->memory == MEMORY_STORE;
    for (unsigned k = 0; k < n; k++) other |= ones << s->cells[k] % 64 & ~loaded[s->cells[k] / 64];
    if (!store && !other) return MARK_KNOWN;
    for (unsigned k = 0; k < n; k++) {
        uint32_t at = s->cells[k] / 64;
        uint64_t bits = ones << s->cells[k] % 64;
        was_touched |= again[k] = touched[at] & bits;
        was_stored |= stored[at] & bits;
        was_loaded |= loaded[at] & bits;
        touched[at] |= bits;
        if (store) stored[at] |= bits;
    }
    if (!was_touched) return MARK_NEW;
    enum marked marked = mark_again(s, o, was_stored, was_loaded, n);
    for (unsigned k = 0; marked == MARK_SHARED && k < n; k++) loaded[s->cells[k] / 64] |= again[k];
    return marked;
}

/* Notes that the lanes touch cells. */
static inline __attribute__((always_inline)) enum marked mark_lanes(const struct simt_check *c, const struct touches *s,
                                                                    struct once *o, unsigned n)
{
    if (o->array->shares) return s->apart == EACH ? mark_each(s, o, n) : mark_rows(s, o);
    bool ok = !o->array->loads || !touch_again(o, s, n) ? mark(c, s, o, n) : ++o->repeated <= o->array->cells;
    return ok ? MARK_NEW : MARK_LEFT;
}

/* A chunk will do for most arrays: fresh memory would take longer than the stores. */
static bool has_bits(struct once *o)
{
    size_t words = words_of(o->array) * planes_of(o->array);
    if (o->touched) return true;
    if (words * sizeof *o->touched > sizeof o->bits->notes) {
        o->touched = rt_calloc(words, sizeof *o->touched);
    } else if ((o->bits = take_chunk()) != NULL) {
        o->touched = (uint64_t *)(void *)o->bits->notes;
        memset(o->touched, 0, words * sizeof *o->touched);
    }
    return o->touched != NULL;
}

static inline __attribute__((always_inline)) bool try_note(struct block *b, struct once *o, const struct touches *s)
{
    const struct simt_check *c = b->check;
    const struct insn *i = s->insn;
    bool keeps = keeps_values(c, i);
    bool listed = s->apart == EACH;
    unsigned lanes = keeps || listed ? lane_count(s->lanes) : 0, count = listed ? lanes : 2;
    size_t bytes = bytes_of(c, i, lanes, count), width = width_of(i);
    if (atomic_load(&o->array->over)) return false;
    struct once_chunk *x = chunk_with(o, bytes);
    if (!x || !has_bits(o)) return false;
    char *at = x->notes + x->used, *values = at + sizeof(struct note) + bytes_of_cells(count);
    struct note *n = (struct note *)(void *)at;
    for (size_t k = 0; k < bytes; k += LINE) __builtin_prefetch(at + NOTES_AHEAD + k, 1);
    enum marked marked = mark_lanes(c, s, o, count);
    if (marked == MARK_LEFT || marked == MARK_KNOWN) return marked == MARK_KNOWN;
    *n = (struct note){i, s->me, s->lanes, {0}, s->apart};
    memcpy(n->block, b->worker->block, sizeof n->block);
    copy_cells((uint32_t *)(void *)(n + 1), s->cells, count);
    o->latest[o->turn++ % ONCE_LATEST] = at;
    const uint32_t *slots = slots_of(c, i);
    for (unsigned k = 0; keeps && k < i->count; k++)
        copy_values(values + k * lanes * width, s->regs + slots[k], width, s->lanes);
    x->used += bytes;
    return true;
}

/* A store is announced first: simt_let_stores_land. */
static bool add_note(struct block *b, struct once *o, const struct touches *s)
{
    bool stores = keeps_values(b->check, s->insn);
    if (stores) simt_store_follows(b);
    bool ok = try_note(b, o, s);
    if (stores && !ok) simt_noted_is_done(b->worker);
    return ok;
}

/* Of lanes whose elements are so many bytes apart in each half, -1 if these differ: by how many cells, EACH if a note
 * can't say it. */
static inline __attribute__((always_inline)) unsigned apart_of(const struct insn *i, const struct once *o, int64_t step)
{
    unsigned each = cells_touched(i, o), log = o->array->log;
    if (each > 1) return !o->array->shares && step == (int64_t)each << log ? each : EACH;
    bool near = step >= 0 && step <= MOST_APART << log && !(step & ((1 << log) - 1));
    return near ? (unsigned)(step >> log) : EACH;
}

/* As within of struct check_vectors, of lanes m by such steps. */
static inline bool rows_within(const uint64_t at[2], int64_t step, uint32_t m, uint64_t low, uint64_t room,
                               uint64_t odd)
{
    bool within = true;
    for (unsigned h = 0; h < 2; h++) {
        uint32_t half = m >> 16 * h & 0xffff;
        if (!half) continue;
        uint64_t from = at[h] - low, first = from + (uint64_t)step * (unsigned)__builtin_ctz(half),
                 last = from + (uint64_t)step * (31u - (unsigned)__builtin_clz(half));
        within &= first <= room && last <= room && !(at[h] & odd);
    }
    return within;
}

bool simt_once_rows(const struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                    uint32_t m)
{
    struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    uint64_t bytes = bytes_touched(i), room = s->high - s->low;
    unsigned apart = apart_of(i, s->once, step);
    if (s->written || apart == EACH || room < bytes || (m != FULL && cells_touched(i, s->once) > 1)) return false;
    if (!rows_within(at, step, m, s->low, room - bytes, bytes - 1)) return false;
    if (w->worker->tallied) simt_tally_reach(w->worker, s->low, s->high);
    const uint64_t start = s->once->array->start;
    const unsigned log = s->once->array->log;
    const uint32_t cells[2] = {(uint32_t)((at[0] - start) >> log), (uint32_t)((at[1] - start) >> log)};
    return add_note(b, s->once, &(struct touches){i, w->frame->regs, lane_0_of(b, w, site), cells, m, apart});
}

void simt_once_window(const struct warp *w, const struct insn *i, uint32_t range)
{
    const struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    struct jit_range *r = &w->worker->jit_ranges[range];
    const struct once_array *x = s->once->array;
    if (r->known || !x->shares || x->log != 2 || x->start % 32 || s->high - s->low < LISTED_BYTES) return;
    r->listed = s->low;
    r->listed_room = s->high - s->low - LISTED_BYTES + 1;
    r->known = (uint64_t)(uintptr_t)plane_of(s->once, LOADED) - x->start / 32;
}

/* Can a note say it by steps, as far as the first two lanes tell, where all are there? */
static inline bool may_be_rows(const struct once *o, unsigned each, const uint64_t *at, uint32_t m)
{
    uint64_t most = (uint64_t)(each > MOST_APART ? each : MOST_APART) << o->array->log;
    return m == FULL ? at[1] - at[0] <= most : each == 1;
}

bool simt_once_lanes(const struct warp *w, const struct insn *i, unsigned site, uint32_t m)
{
    struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    uint64_t bytes = bytes_touched(i), room = s->high - s->low, imm = (uint64_t)i->imm, from[2];
    const uint64_t *at = u64_at(w->frame->regs, i->a);
    if (s->written || room < bytes || imm & (bytes - 1) || i->flags & F_FRAME) return false;
    int64_t step = may_be_rows(s->once, cells_touched(i, s->once), at, m)
                       ? b->check->vectors->halves(at, m, (uint32_t)bytes, from)
                       : -1;
    if (step >= 0 && apart_of(i, s->once, step) != EACH)
        return simt_once_rows(w, i, site, step, (const uint64_t[]){from[0] + imm, from[1] + imm}, m);
    const struct once_array *x = s->once->array;
    const struct elements e = {x->start - imm, s->low - imm, room - bytes, bytes - 1, x->log};
    uint32_t cells[SIMT_WARP + MORE_CELLS];
    if (!b->check->vectors->cells(at, m, &e, cells)) return false;
    if (w->worker->tallied) simt_tally_reach(w->worker, s->low, s->high);
    return add_note(b, s->once, &(struct touches){i, w->frame->regs, lane_0_of(b, w, site), cells, m, EACH});
}

bool simt_once_touch(const struct access *a, uint32_t m)
{
    struct once *o = a->block->spans[a->insn->d2].once;
    uint64_t bytes = o->array->cells << o->array->log;
    const struct elements e = {o->array->start, o->array->start, bytes - 1, 0, o->array->log};
    uint32_t cells[SIMT_WARP + MORE_CELLS];
    if (a->check->vectors->cells(a->at, m, &e, cells) &&
        add_note(a->block, o, &(struct touches){a->insn, a->regs, a->me, cells, m, EACH}))
        return true;
    simt_once_leave(a->block, o);
    return false;
}
