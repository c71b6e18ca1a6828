/* Memory of a launch's own threads: an allocation no two threads of the launch can touch the same byte of, by what its
 * instructions compute addresses from (decode_terms.c). Nobody can race there, so who touches it need not be recorded.
 *
 * An address is a sum: a start, a multiple of each index of thread and block, and in loops any multiple of a step. All
 * instructions that may touch the allocation must have the same multiples; then what two threads touch lies apart when
 * the smallest multiple is no less than the bytes that one thread's instructions span, and each other one no less than
 * what the smaller ones can add up to. Conditions that the instructions stand behind say how far an index goes, as
 * where the edges of a tile are left out, and where a loop ends (decode_facts.c); where only index 0 goes on, as in `if
 * (threadIdx.x == 0)`, any multiple of it is as good as another. A counted loop only moves an instruction as far as it
 * goes round (check_sums.c), so that a thread may have a row, whatever its loops do there. Nor can they race where all
 * that is done to an allocation is to store one value, as in a sieve, or where no thread's places are what another one
 * stores to, though they lie among each other (check_lattice.c). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_even.h"

#define UNROLLED 16 /* a loop's body stands there so often, at most */
#define FAMILIES 2  /* as of `a[i]` and `a[n - 1 - i]` */

struct stretch_of { /* what one instruction of an allocation touches beside the others, from `start` to below `end` */
    int64_t start, end;
};
struct seen {
    struct stretch_of at; /* as if it stood in no loop, */
    int64_t down, up;     /* and how far counted loops move it */
};
struct reach { /* how far indices go in threads that come to some instructions */
    int64_t low[INDICES], count[INDICES];
    int64_t limits[AXES][AXES]; /* of threads along one axis in blocks along another, as far as conditions allow it */
};
struct touched {
    uint64_t allocation;
    bool known;
    bool digits; /* indices are those of the launch's number (check_radix.c) */
    bool apart;  /* instructions for which an index is 0 are no family with others, whose multiple of it may be any */
    bool mixed;  /* some are in one, for that */
    bool read_as_texture;
    bool fetched;            /* by copies, which a thread may run into itself */
    bool looked_up;          /* some address is nothing that can be computed beforehand */
    uint32_t pcs[MOST_SEEN]; /* of the instructions */
    size_t pc_count;
    bool untold;        /* there are more, or such as have no address that all lanes use */
    bool plain;         /* some access is neither strong nor a guess, which don't race with each other, or of a block */
    struct one_value {  /* what all instructions store there */
        unsigned bytes; /* 0: none was looked at yet */
        uint64_t value;
        bool differs; /* they store several, or what is not known, or load */
    } one;
    struct family {            /* instructions whose addresses have the same multiples */
        struct sum sum;        /* of the first, with multiples that are all instructions' */
        unsigned free;         /* indices, by bits, that are 0 wherever its instructions run: any multiple will do */
        unsigned still;        /* those of them beside which none goes by steps */
        int64_t step;          /* of all of them */
        int64_t grain;         /* likewise, of counted loops */
        unsigned within;       /* indices which, with the step, are known to lead no further; 0: none */
        struct stretch_of far; /* then: what they lead to, of all instructions */
        struct reach all;      /* of the launch's threads */
        struct reach some;     /* the same where conditions leave out some, as those at the edges of a tile */
        bool differs;          /* those are not the same at all instructions */
        struct seen seen[MOST_SEEN];
        size_t count;
    } families[FAMILIES];
    size_t count;
};

/* ---- what instructions touch ---- */
/* Is it the number of the thread along an axis, in all blocks along an axis, and some more? That of the blocks is
 * another one where a kernel transposes. *first: of the first of these threads. */
static bool is_index(const struct simt_sums *l, const struct sum *s, const struct reach *r, int axis, int blocks,
                     int64_t *first)
{
    if (!s->known || s->step || s->grain || simt_radix_parts(s)) return false;
    for (int k = 0; k < THREAD_INDICES; k++) {
        int64_t want = k == axis ? 1 : k == AXES + blocks ? r->count[axis] : 0;
        if (l->extents[k] > 1 && s->by[k] != want) return false;
    }
    *first = s->start;
    for (int k = 0; k < THREAD_INDICES; k++) *first += l->extents[k] > 1 ? s->by[k] * r->low[k] : 0;
    return *first >= 0 && *first + r->count[axis] * r->count[AXES + blocks] - 1 <= INT32_MAX;
}

/* How many of these threads come to an instruction where these facts hold, from the first on. */
static int64_t threads_of(const struct simt_sums *l, const struct reach *r, int axis, int blocks, uint64_t facts)
{
    int64_t threads = r->count[axis] * r->count[AXES + blocks], limit, first;
    for (; facts; facts &= facts - 1) {
        const struct fact *f = simt_sums_fact(l, __builtin_ctzll(facts));
        const struct sum *s = &l->of[(uint32_t)f->term - l->first];
        if (!is_index(l, s, r, axis, blocks, &first) || !simt_sums_limit(l, f, &limit)) continue;
        if (limit - first < threads) threads = limit > first ? limit - first : 0;
    }
    return threads;
}

static void find_limits(const struct simt_sums *l, struct reach *r, uint64_t facts)
{
    for (int k = 0; k < AXES * AXES; k++) r->limits[k / AXES][k % AXES] = threads_of(l, r, k / AXES, k % AXES, facts);
}

/* The index that the sum is, and some more; -1: it is none. */
static int index_of(const struct simt_sums *l, const struct sum *s)
{
    int index = -1;
    if (!s->known || s->step || s->grain) return -1;
    for (int k = 0; k < INDICES; k++) {
        if (l->extents[k] == 1 || !s->by[k]) continue;
        if (index >= 0 || s->by[k] != 1) return -1;
        index = k;
    }
    return index;
}

/* Of all threads, whose indices have so many values, and of those that come to an instruction where these facts hold.
 */
static void find_reach(const struct simt_sums *l, const int64_t *count, uint64_t facts, struct reach *all,
                       struct reach *some)
{
    int64_t limit;
    *all = (struct reach){0};
    for (int k = 0; k < INDICES; k++) all->count[k] = count[k];
    *some = *all;
    for (uint64_t rest = facts; rest; rest &= rest - 1) {
        const struct fact *f = simt_sums_fact(l, __builtin_ctzll(rest));
        const struct sum *s = &l->of[(uint32_t)f->term - l->first];
        int k = index_of(l, s);
        if (k < 0 || k >= THREAD_INDICES || count[k] != l->extents[k] || !simt_sums_limit(l, f, &limit)) continue;
        struct bounds r = simt_sums_bounds(l, s);
        if (r.low < INT32_MIN || r.high > INT32_MAX) continue;
        int64_t end = some->low[k] + some->count[k], low = f->without_sign ? -s->start : 0;
        if (limit - s->start < end) end = limit - s->start;
        if (low > some->low[k]) some->low[k] = low;
        some->count[k] = end > some->low[k] ? end - some->low[k] : 1; /* none comes there: whatever is said is true */
    }
    find_limits(l, all, facts);
    find_limits(l, some, facts);
}

static bool same_reach(const struct reach *a, const struct reach *b)
{
    return !memcmp(a->low, b->low, sizeof a->low) && !memcmp(a->count, b->count, sizeof a->count);
}

/* What instructions reach, those seen before and one more. */
static void join_limits(struct reach *a, const struct reach *b)
{
    for (int k = 0; k < AXES * AXES; k++) {
        int64_t *most = &a->limits[k / AXES][k % AXES], more = b->limits[k / AXES][k % AXES];
        if (more > *most) *most = more;
    }
}
static void join_reach(struct family *f, const struct reach *all, const struct reach *some)
{
    if (!f->count) f->all = *all, f->some = *some;
    f->differs |= !same_reach(&f->some, some);
    join_limits(&f->all, all);
    join_limits(&f->some, some);
}

/* Indices, by bits, that are 0 in all threads that come to an instruction where these facts hold. */
static unsigned zeros_of(const struct simt_sums *l, uint64_t facts)
{
    unsigned zeros = 0;
    int64_t limit;
    for (; facts; facts &= facts - 1) {
        const struct fact *f = simt_sums_fact(l, __builtin_ctzll(facts));
        const struct sum *s = &l->of[(uint32_t)f->term - l->first];
        if (!s->known || (s->step && !s->travel) || !simt_sums_limit(l, f, &limit)) continue;
        struct bounds r = simt_sums_bounds(l, s);
        if (r.low != s->start || r.low < 0 || r.high > INT32_MAX) continue; /* an index may be made up for */
        for (int k = 0; k < THREAD_INDICES; k++) zeros |= (unsigned)(s->by[k] > 0 && s->start + s->by[k] >= limit) << k;
    }
    return zeros;
}

/* Those of the allocation's instructions whose addresses have the sum's multiples, or may as well have them, since an
 * index is 0; NULL: there are too many. */
static struct family *family_of(struct touched *t, const struct sum *s, unsigned zeros)
{
    for (size_t n = 0; n < t->count; n++) {
        struct family *f = &t->families[n];
        unsigned differ = 0;
        for (int k = 0; k < INDICES; k++) differ |= (unsigned)(f->sum.by[k] != s->by[k]) << k;
        if (differ & ~(t->apart ? 0 : f->free | zeros)) continue;
        t->mixed |= differ != 0;
        EACH_LANE(k, f->free & ~zeros) f->sum.by[k] = s->by[k];
        f->free &= zeros;
        return f;
    }
    if (t->count == FAMILIES) return NULL;
    t->families[t->count] = (struct family){.sum = *s, .free = zeros, .still = UINT_MAX, .far = {INT64_MAX, INT64_MIN}};
    return &t->families[t->count++];
}

/* What a family's instructions are within when there is one more, for which these indices are 0. */
static void join_within(struct family *f, const struct sum *s, unsigned zeros)
{
    unsigned still = s->step || s->grain || s->within ? 0 : zeros, all = f->within | s->within;
    bool fits = !s->grain && !(all & ~(f->within | f->still)) && !(all & ~(s->within | still));
    f->within = fits ? all : 0;
    f->still &= still;
}

/* Notes an instruction that touches the allocation; its address less the offset, in all lanes, is the sum. */
static void note(const struct simt_sums *l, struct touched *t, const struct sum *s, uint32_t pc)
{
    const struct insn *i = &l->check->program->code[pc];
    struct sum digits;
    int64_t count[INDICES];
    t->looked_up |= !s->known;
    if (t->digits && s->known) {
        if (!simt_radix_digits(l, s, &digits, count)) {
            t->known = false;
            return;
        }
        digits.within = 0;
        s = &digits;
    } else {
        for (int k = 0; k < INDICES; k++) /* a quotient follows from the number */
            count[k] = k < THREAD_INDICES || s->by[k] ? l->extents[k] : 1;
    }
    int64_t low = s->start + i->imm;
    uint64_t facts = l->check->program->places[pc].facts;
    unsigned zeros = s->known ? zeros_of(l, facts) : 0;
    struct family *f = t->known && s->known ? family_of(t, s, zeros) : NULL;
    t->known = f && i->memory != MEMORY_ATOMIC && f->count < MOST_SEEN && is_small(i->imm);
    if (!t->known) return;
    struct reach all, some;
    find_reach(l, count, facts, &all, &some);
    join_reach(f, &all, &some);
    f->step = simt_common(f->step, s->step);
    f->grain = simt_common(f->grain, s->grain);
    join_within(f, s, zeros);
    int64_t least = s->within ? s->least : 0, most = s->within ? s->most : 0;
    if (low + least < f->far.start) f->far.start = low + least;
    if (low + most + i->size * i->count > f->far.end) f->far.end = low + most + i->size * i->count;
    f->seen[f->count++] = (struct seen){{low, low + (int64_t)i->size * i->count}, s->down, s->up};
}

struct dimension {
    int64_t by, extent;
};

static void add_dimension(struct dimension *d, int *n, int64_t by, int64_t extent)
{
    if (extent > 1) d[(*n)++] = (struct dimension){by, extent};
}

/* The axis of blocks that make one index with the threads along an axis: they have all threads' multiple, or else one
 * of the two is all there is. The same axis if it may be, since that is what kernels mean. -1: there is none. */
static int blocks_of(const struct family *t, const struct reach *r, int axis, unsigned used)
{
    int64_t threads = r->count[axis];
    for (int k = 0; k < 2 * AXES; k++) {
        int blocks = (axis + k) % AXES;
        bool one = threads == 1 || r->count[AXES + blocks] == 1;
        bool fits = t->sum.by[AXES + blocks] == t->sum.by[axis] * threads;
        if (!(used >> blocks & 1) && (k < AXES ? !one && fits : one)) return blocks;
    }
    return -1;
}

/* Threads and blocks, as one index where they are one. */
static int dimensions(const struct family *t, const struct reach *r, struct dimension *d)
{
    unsigned used = 0;
    int n = 0;
    for (int k = 0; k < AXES; k++) {
        int blocks = blocks_of(t, r, k, used);
        if (blocks < 0) {
            add_dimension(d, &n, t->sum.by[k], r->count[k]);
            continue;
        }
        used |= 1u << blocks;
        add_dimension(d, &n, t->sum.by[r->count[k] > 1 ? k : AXES + blocks], r->limits[k][blocks]);
    }
    for (int k = 0; k < AXES; k++)
        if (~used >> k & 1) add_dimension(d, &n, t->sum.by[AXES + k], r->count[AXES + k]);
    for (int k = THREAD_INDICES; k < INDICES; k++) add_dimension(d, &n, t->sum.by[k], r->count[k]);
    return n;
}

/* Takes the dimension with the smallest multiple, which is made positive: then the index is counted from its end. */
static struct dimension least_of(struct dimension *d, int *n)
{
    int least = 0;
    for (int k = 1; k < *n; k++)
        if (llabs(d[k].by) < llabs(d[least].by)) least = k;
    struct dimension out = {llabs(d[least].by), d[least].extent};
    d[least] = d[--*n];
    return out;
}

static int by_start(const void *a, const void *b)
{
    const struct stretch_of *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* What all threads along a dimension touch, in place of what one of them does, in order. Stretches that fit between
 * two threads' go together. False: a thread may touch what another does. */
static bool widen(struct stretch_of *s, size_t *count, struct dimension d)
{
    size_t n = 0;
    for (size_t k = 0; k < *count; k++) {
        if (s[k].end - s[k].start > d.by) return false;
        if (n && s[k].end - s[n - 1].start <= d.by)
            s[n - 1].end = s[k].end > s[n - 1].end ? s[k].end : s[n - 1].end;
        else
            s[n++] = s[k];
    }
    int64_t more = d.by * (d.extent - 1);
    for (size_t k = 0; k < n; k++) {
        s[k].end += more;
        if (!is_small(more) || (k && s[k].start < s[k - 1].end)) return false;
    }
    *count = n;
    return true;
}

/* Multiples of a step may lie between any two: the stretches as they are up to those. */
static void fold(struct stretch_of *s, size_t count, int64_t step)
{
    for (size_t k = count; k-- > 0;) {
        int64_t at = (s[k].start - s[0].start) % step, bytes = s[k].end - s[k].start;
        if (at > step / 2) at -= step;
        if (at < -step / 2) at += step;
        s[k] = (struct stretch_of){s[0].start + at, s[0].start + at + bytes};
    }
}

/* All that the instruction touches. */
static struct stretch_of moved(const struct seen *s)
{
    return (struct stretch_of){s->at.start + s->down, s->at.end + s->up};
}

/* Of one family: do no two threads touch the same? Counted loops move instructions so far as they do, or are part of
 * the step. */
static bool lies_apart(const struct family *f, const struct reach *r, int64_t step, bool moves)
{
    struct stretch_of s[MOST_SEEN];
    struct dimension left[INDICES];
    size_t count = f->count;
    for (size_t k = 0; k < count; k++) s[k] = moves ? moved(&f->seen[k]) : f->seen[k].at;
    if (step) fold(s, count, step);
    qsort(s, count, sizeof *s, by_start);
    for (int n = dimensions(f, r, left); n;)
        if (!widen(s, &count, least_of(left, &n))) return false;
    return !step || s[count - 1].end - s[0].start <= step;
}

static bool is_apart_by(const struct family *f, const struct reach *r, int64_t step, bool moves)
{
    if (!step) return lies_apart(f, r, 0, moves);
    for (int64_t by = 1; by <= UNROLLED && step % by == 0; by *= 2)
        if (lies_apart(f, r, step / by, moves)) return true;
    return false;
}

/* Do threads go by a step within what others, of other indices, have not? */
static bool is_apart_within(const struct family *f)
{
    struct stretch_of s[MOST_SEEN], all = f->far;
    struct dimension inner[INDICES], outer[INDICES];
    size_t count = f->count, one = 1;
    int in = 0, out = 0;
    if (!f->within || !f->step) return false;
    for (int k = 0; k < INDICES; k++) {
        bool inside = f->within >> k & 1;
        add_dimension(inside ? inner : outer, inside ? &in : &out, f->sum.by[k], f->all.count[k]);
    }
    while (out)
        if (!widen(&all, &one, least_of(outer, &out))) return false;
    for (size_t k = 0; k < count; k++) s[k] = f->seen[k].at;
    fold(s, count, f->step);
    qsort(s, count, sizeof *s, by_start);
    while (in)
        if (!widen(s, &count, least_of(inner, &in))) return false;
    return s[count - 1].end - s[0].start <= llabs(f->step);
}

static bool is_own_in(const struct family *f)
{
    bool fewer = !f->differs && !same_reach(&f->all, &f->some);
    return is_apart_by(f, &f->all, f->step, true) || is_apart_within(f) ||
           (f->grain && is_apart_by(f, &f->all, simt_common(f->step, f->grain), false)) ||
           (fewer && is_apart_by(f, &f->some, f->step, true));
}

/* What all threads of a family touch, where indices with the same multiple in the other one, if that is there, are 0.
 */
static struct stretch_of reach_of(const struct family *f, const struct family *other, struct dimension *shared, int *n)
{
    struct stretch_of all = moved(&f->seen[0]);
    struct dimension d[INDICES];
    for (size_t k = 1; k < f->count; k++) {
        struct stretch_of s = moved(&f->seen[k]);
        if (s.start < all.start) all.start = s.start;
        if (s.end > all.end) all.end = s.end;
    }
    struct family own = *f;
    for (int k = 0; k < INDICES; k++) {
        if (!other || f->sum.by[k] != other->sum.by[k]) continue;
        add_dimension(shared, n, f->sum.by[k], f->all.count[k]);
        own.sum.by[k] = 0;
    }
    int count = dimensions(&own, &own.all, d);
    for (int k = 0; k < count; k++) *(d[k].by < 0 ? &all.start : &all.end) += d[k].by * (d[k].extent - 1);
    return all;
}

/* Do no two threads touch the same, one by an instruction of each? */
static bool are_apart(const struct family *f, const struct family *g)
{
    struct dimension shared[2 * INDICES];
    int n = 0;
    if (f->step || g->step) return false;
    struct stretch_of a = reach_of(f, NULL, NULL, NULL), b = reach_of(g, NULL, NULL, NULL);
    if (a.end <= b.start || b.end <= a.start) return true;
    a = reach_of(f, g, shared, &n), b = reach_of(g, f, shared, &(int){0});
    if (a.start < b.end && b.start < a.end) return false;
    struct stretch_of all = {a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
    size_t one = 1;
    while (n)
        if (!widen(&all, &one, least_of(shared, &n))) return false;
    return true;
}

/* Where places of threads lie among each other's. */
static bool is_own_anyhow(const struct simt_sums *l, const struct touched *t)
{
    return !t->untold && !t->read_as_texture && !t->digits && simt_lattice_apart(l, t->pcs, t->pc_count);
}

static bool is_alone(const struct simt_launch *l)
{
    bool alone = true;
    for (int d = 0; d < 3; d++) alone = alone && l->grid[d] == 1 && l->block[d] == 1;
    return alone;
}

/* By the multiples of addresses alone. */
static bool is_own_by_sums(const struct touched *t)
{
    bool own = t->known && t->count;
    for (size_t k = 0; own && k < t->count; k++) {
        own = is_own_in(&t->families[k]);
        for (size_t j = 0; own && j < k; j++) own = are_apart(&t->families[j], &t->families[k]);
    }
    return own;
}

static bool is_own(const struct simt_sums *l, const struct touched *t)
{
    if (is_alone(l->check->launch) && !t->fetched && !t->read_as_texture) return true;
    bool one = t->one.bytes && !t->one.differs && !t->read_as_texture;
    if ((one && !l->check->strict) || (!t->plain && !t->read_as_texture)) return true;
    return is_own_by_sums(t) || is_own_anyhow(l, t);
}

/* Do all threads store the same here, and the same as other instructions? */
static void note_value(const struct simt_sums *l, struct one_value *one, uint32_t pc)
{
    const struct insn *i = &l->check->program->code[pc];
    uint32_t value = l->check->program->places[pc].value;
    const struct sum *s = value ? &l->of[value - 1 - l->first] : NULL;
    bool stores = l->check->watch[pc] == WATCH_ACCESS && i->memory == MEMORY_STORE && i->count == 1 && s;
    one->differs |= !stores || !simt_sums_number(s) || (one->bytes && one->bytes != i->size);
    if (one->differs) return;
    uint64_t bits = (uint64_t)s->start & UINT64_MAX >> (64 - 8 * i->size);
    one->differs = one->bytes && one->value != bits;
    one->bytes = i->size;
    one->value = bits;
}

/* Unknown where it is no sum. */
static const struct sum *address_of(const struct simt_sums *l, uint32_t pc)
{
    static const struct sum unknown;
    uint32_t term = l->check->program->places[pc].term;
    return term ? &l->of[term - 1 - l->first] : &unknown;
}

/* False: the instruction may touch anything. */
static bool look_at(const struct simt_sums *l, struct touched *all, uint32_t pc)
{
    const struct simt_check *c = l->check;
    const struct insn *i = &c->program->code[pc];
    const struct place *at = &c->program->places[pc];
    if (c->watch[pc] == WATCH_COPIES || simt_is_bulk(i)) return !simt_is_bulk(i);
    if (c->watch[pc] != WATCH_ACCESS && c->watch[pc] != WATCH_PIECES) return true;
    if (c->watch[pc] == WATCH_ACCESS && i->space != PTX_GLOBAL && i->space != PTX_GENERIC) return true;
    if (at->origin >= SHARED_ORIGIN || !strncmp(at->opcode, "ld.const", 8)) return true;
    uint64_t allocation = simt_check_allocation(c, pc);
    if (!allocation) return false;
    if (!simt_sums_reach(l, pc)) return true;
    struct sum unknown = {0};
    const struct site *site = &c->sites[c->site_of[pc]];
    for (size_t k = 0; k < c->output_count; k++) {
        if (all[k].allocation != allocation) continue;
        all[k].plain |= (!site->strong && !site->guesses) || (c->scoped && site->of_block);
        all[k].fetched |= site->fetches;
        if (c->watch[pc] == WATCH_ACCESS && all[k].pc_count < MOST_SEEN)
            all[k].pcs[all[k].pc_count++] = pc;
        else
            all[k].untold = true;
        note(l, &all[k], c->watch[pc] == WATCH_ACCESS ? address_of(l, pc) : &unknown, pc);
        note_value(l, &all[k].one, pc);
    }
    return true;
}

static bool look_at_all(const struct simt_sums *l, struct touched *all)
{
    const struct simt_program *p = l->check->program;
    for (uint32_t k = 0; k < p->function_count; k++) {
        const struct function *f = &p->functions[k];
        if (!l->check->runs[k]) continue;
        for (uint32_t pc = f->setup; pc < f->end; pc++)
            if (!look_at(l, all, pc)) return false;
    }
    return true;
}

static bool read_as_texture(const struct simt_check *c, uint64_t allocation)
{
    struct simt_block b;
    return c->follows_texels && simt_find(allocation, &b) && simt_texels_over(c, b.address, b.bytes);
}

/* Leaves of the outputs those that are nobody's own, which *all says more of then. False: nothing is known. */
static bool find_others(const struct simt_sums *l, struct simt_check *c, struct touched *all, bool digits, bool apart)
{
    size_t left = 0;
    for (size_t k = 0; k < c->output_count; k++) {
        bool texture = read_as_texture(c, c->outputs[k]);
        all[k] = (struct touched){c->outputs[k], .known = !texture, .digits = digits, .apart = apart,
                                  .read_as_texture = texture};
    }
    if (!look_at_all(l, all)) return false;
    for (size_t k = 0; k < c->output_count; k++) {
        if (is_own(l, &all[k])) continue;
        c->outputs[left] = all[k].allocation;
        all[left++] = all[k];
    }
    c->output_count = left;
    return true;
}

static bool any_mixed(const struct touched *all, size_t count)
{
    bool mixed = false;
    for (size_t k = 0; k < count; k++) mixed |= all[k].mixed;
    return mixed;
}

/* Loads of what nobody but their own thread stores to, beside such as read what others do: as a step of Floyd and
 * Warshall's loads a thread's element, and those of a row and a column. They race with nothing. */
static void find_own_loads(const struct simt_sums *l, struct simt_check *c, const struct touched *t)
{
    const struct insn *code = c->program->code;
    struct touched stores = {.known = true};
    for (size_t k = 0; k < t->pc_count; k++)
        if (code[t->pcs[k]].memory != MEMORY_LOAD) note(l, &stores, address_of(l, t->pcs[k]), t->pcs[k]);
    if (t->untold || !is_own_by_sums(&stores)) return;
    for (size_t k = 0; k < t->pc_count && c->own_loads.count < MOST_OWN_LOADS; k++) {
        if (code[t->pcs[k]].memory != MEMORY_LOAD) continue;
        struct touched with = stores;
        note(l, &with, address_of(l, t->pcs[k]), t->pcs[k]);
        if (is_own_by_sums(&with)) c->own_loads.of[c->own_loads.count++] = code[t->pcs[k]].d2;
    }
}

bool simt_loads_own(const struct simt_check *c, const struct insn *i)
{
    bool own = false;
    for (size_t k = 0; k < c->own_loads.count; k++) own |= c->own_loads.of[k] == i->d2;
    return own;
}

bool simt_own_find(struct simt_check *c)
{
    struct simt_sums l;
    struct touched *all = rt_calloc(c->output_count + 1, sizeof *all);
    bool ok = simt_sums_find(&l, c) && all, found = ok && find_others(&l, c, all, false, false);
    if (found && any_mixed(all, c->output_count)) find_others(&l, c, all, false, true);
    if (found && c->output_count && simt_radix_tells(&l)) find_others(&l, c, all, true, false);
    for (size_t k = 0; found && k < c->output_count; k++) {
        const struct touched *t = &all[k];
        find_own_loads(&l, c, t);
        if (t->read_as_texture || (!t->untold && simt_even_add(&l, c, t->allocation, t->pcs, t->pc_count))) continue;
        simt_once_add(c, t->allocation, t->looked_up);
    }
    simt_sums_free(&l);
    free(all);
    return ok;
}
