/* Memory of a launch's own threads: an allocation no two threads of the launch can touch the same byte of, by what its
 * instructions compute addresses from (decode_terms.c). Nobody can race there, so who touches it need not be recorded.
 *
 * An address is a sum: a start, a multiple of each index of thread and block, and in loops any multiple of a step. All
 * instructions that may touch the allocation must have the same multiples; then what two threads touch lies apart when
 * the smallest multiple is no less than the bytes that one thread's instructions span, and each other one no less than
 * what the smaller ones can add up to. Conditions that the instructions stand behind say how far an index goes, and
 * where a loop ends (decode_facts.c). */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_inside.h"

#define INDICES   6 /* of thread and block */
#define FARTHEST  (INT64_C(1) << 46)
#define UNROLLED  16 /* a loop's body stands there so often, at most */
#define MOST_SEEN 64 /* instructions that touch an allocation */

struct sum { /* of 32 bits: its parts are, too, with a sign */
    bool known;
    int64_t start, by[INDICES];
    int64_t step;   /* any multiple of it; 0: nothing */
    int64_t travel; /* the farthest of them, 0: not known */
};

struct launch {
    const struct simt_check *check;
    int64_t extents[INDICES];
    struct sum *sums; /* by term, from the entry's first on */
    uint32_t first;
};

#define AXES     3
#define FAMILIES 2 /* as of `a[i]` and `a[n - 1 - i]` */

struct stretch_of { /* what one instruction of an allocation touches beside the others, from `start` to below `end` */
    int64_t start, end;
};
struct touched {
    uint64_t allocation;
    bool known;
    struct family {     /* instructions whose addresses have the same multiples */
        struct sum sum; /* of the first */
        int64_t step;   /* of all of them */
        int64_t limits[AXES]
                      [AXES]; /* of threads along one axis in blocks along another, as far as conditions allow it */
        struct stretch_of seen[MOST_SEEN];
        size_t count;
    } families[FAMILIES];
    size_t count;
};

static int64_t common(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a, b = b < 0 ? -b : b;
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* ---- sums ---- */
static bool is_small(int64_t n)
{
    return n > -FARTHEST && n < FARTHEST;
}

/* In 32 bits; or as it is, when no part can overflow what is still to be done with it. */
static struct sum settled(struct sum s, bool wide)
{
    if (!wide) {
        s.start = (int32_t)s.start;
        if (s.travel != (int32_t)s.travel || s.step != (int32_t)s.step) s.travel = 0;
        s.step = (int32_t)s.step;
        for (int k = 0; k < INDICES; k++) s.by[k] = (int32_t)s.by[k];
        return s;
    }
    if (!is_small(s.travel)) s.travel = 0;
    s.known &= s.start > -(INT64_C(1) << 62) && s.start < INT64_C(1) << 62 && is_small(s.step);
    for (int k = 0; k < INDICES; k++) s.known &= is_small(s.by[k]);
    return s;
}

static bool is_number(const struct sum *s)
{
    bool any = s->step != 0;
    for (int k = 0; k < INDICES; k++) any |= s->by[k] != 0;
    return s->known && !any;
}

/* The least and the greatest, with what is known of the step. */
static void bounds(const struct launch *l, const struct sum *s, int64_t *low, int64_t *high)
{
    *low = *high = s->start;
    *(s->travel < 0 ? low : high) += s->travel;
    for (int k = 0; k < INDICES; k++) *(s->by[k] < 0 ? low : high) += s->by[k] * (l->extents[k] - 1);
}

static struct sum added(const struct sum *a, const struct sum *b, int sign)
{
    struct sum s = {
        .known = a->known && b->known, .start = a->start + sign * b->start, .step = common(a->step, b->step)};
    for (int k = 0; k < INDICES; k++) s.by[k] = a->by[k] + sign * b->by[k];
    if (!a->step || !b->step) s.travel = a->travel + sign * b->travel;
    return s;
}

static struct sum multiplied(const struct sum *a, const struct sum *b)
{
    struct sum s = {0};
    if (!is_number(b) && !is_number(a)) return s;
    const struct sum *x = is_number(b) ? a : b;
    int64_t by = is_number(b) ? b->start : a->start;
    s = (struct sum){.known = x->known && is_small(x->start) && is_small(by)};
    s.known &= !__builtin_mul_overflow(x->start, by, &s.start) && !__builtin_mul_overflow(x->step, by, &s.step);
    if (__builtin_mul_overflow(x->travel, by, &s.travel)) s.travel = 0;
    for (int k = 0; k < INDICES; k++) s.known &= !__builtin_mul_overflow(x->by[k], by, &s.by[k]);
    return s;
}

/* The bits of a number that all other parts leave free. */
static struct sum combined(const struct sum *a, const struct sum *b)
{
    struct sum s = {0};
    if (!is_number(b)) return s;
    int64_t all = a->start | a->step;
    for (int k = 0; k < INDICES; k++) all |= a->by[k];
    if (b->start < 0 || (all && b->start > ((all & -all) - 1))) return s;
    return added(a, b, 1);
}

/* From 32 bits to 64. What a loop makes of it may go round 2^32 on its way. */
static struct sum extended(const struct launch *l, struct sum s, bool is_signed)
{
    int64_t low, high;
    bounds(l, &s, &low, &high);
    if (s.step && (!s.travel || low < (is_signed ? INT32_MIN : 0) || high > INT32_MAX)) {
        s.step = common(s.step, INT64_C(1) << 32);
        s.travel = 0;
        return s;
    }
    if (!is_signed && low < 0) {
        s.start += INT64_C(1) << 32;
        low += INT64_C(1) << 32, high += INT64_C(1) << 32;
    }
    s.known &= is_signed ? low >= INT32_MIN && high <= INT32_MAX : low >= 0 && high <= UINT32_MAX;
    return s;
}

static struct sum of_parameter(const struct launch *l, const struct term *t)
{
    const struct simt_launch *launch = l->check->launch;
    size_t bytes = t->wide ? 8 : 4;
    struct sum s = {0};
    if (t->value < 0 || (uint64_t)t->value + bytes > launch->function->info.param_bytes) return s;
    s.known = true;
    memcpy(&s.start, (const char *)launch->params + t->value, bytes);
    return s;
}

static struct sum of_special(const struct launch *l, enum special r)
{
    struct sum s = {.known = true};
    if (r <= SR_TID_Z)
        s.by[r - SR_TID_X] = 1;
    else if (r >= SR_CTAID_X && r <= SR_CTAID_Z)
        s.by[3 + r - SR_CTAID_X] = 1;
    else
        s.start = l->extents[r <= SR_NTID_Z ? r - SR_NTID_X : 3 + r - SR_NCTAID_X];
    return s;
}

/* The bound that a fact sets, the first number that is not below it. False: it is none of 31 bits. */
static bool limit_of(const struct launch *l, const struct fact *f, int64_t *limit)
{
    const struct sum *bound = &l->sums[(uint32_t)f->bound - l->first];
    *limit = bound->start + f->inclusive;
    return is_number(bound) && bound->start >= 0 && *limit <= INT32_MAX; /* else it depends on the sign */
}

static const struct fact *fact_at(const struct launch *l, int number)
{
    const struct simt_check *c = l->check;
    return &c->program->facts[c->launch->function->code->fact_first + (uint32_t)number];
}

/* A loop that adds `step` only to what is below a bound. */
static int64_t travel_of(const struct launch *l, const struct term *t, const struct sum *start, int64_t step)
{
    int64_t low, high, limit;
    bounds(l, start, &low, &high);
    if (step <= 0 || start->step || low < 0 || high > INT32_MAX) return 0;
    for (uint64_t rest = t->facts; rest; rest &= rest - 1) {
        const struct fact *f = fact_at(l, __builtin_ctzll(rest));
        if (&l->check->program->terms[f->term] != t || !limit_of(l, f, &limit)) continue;
        int64_t most = limit - 1 + step;
        if (most <= INT32_MAX) return most - low > step ? most - low : step;
    }
    return 0;
}

/* Of numbers alone, as in the conditions i < n / 2 and i < min(n, 20). */
static struct sum of_numbers(const struct sum *a, const struct sum *b, const struct term *t)
{
    struct sum s = {.known = is_number(a) && is_number(b)};
    int64_t x = a->start, y = b->start;
    if (!s.known) return s;
    switch (t->kind) {
    case TERM_AND: s.start = x & y; break;
    case TERM_MIN: s.start = x < y ? x : y; break;
    case TERM_MAX: s.start = x > y ? x : y; break;
    default:
        s.known = y >= 0 && y < (t->wide ? 64 : 32);
        if (s.known) s.start = !t->value ? x >> y : (int64_t)((t->wide ? (uint64_t)x : (uint32_t)x) >> y);
    }
    return s;
}

static struct sum sum_of(const struct launch *l, const struct term *t)
{
    bool leaf = t->kind <= TERM_SPECIAL, unary = t->kind >= TERM_EXTEND_S && t->kind <= TERM_NARROW;
    const struct sum none = {0}, *a = leaf ? &none : &l->sums[(uint32_t)t->a - l->first],
                     *b = leaf || unary ? &none : &l->sums[(uint32_t)t->b - l->first];
    struct sum s = *a;
    switch (t->kind) {
    case TERM_CONST: return (struct sum){.known = true, .start = t->value};
    case TERM_PARAMETER: return of_parameter(l, t);
    case TERM_SPECIAL: return of_special(l, (enum special)t->value);
    case TERM_ADD: return added(a, b, 1);
    case TERM_SUB: return added(a, b, -1);
    case TERM_MUL: return multiplied(a, b);
    case TERM_OR: return combined(a, b);
    case TERM_EXTEND_S: return extended(l, *a, true);
    case TERM_EXTEND_U: return extended(l, *a, false);
    case TERM_NARROW: return *a;
    case TERM_AND:
    case TERM_MIN:
    case TERM_MAX:
    case TERM_SHIFT: return of_numbers(a, b, t);
    case TERM_LOOP:
        s.step = common(a->step, b->start);
        s.travel = travel_of(l, t, a, b->start);
        s.known &= is_number(b);
    }
    return s;
}

/* ---- what instructions touch ---- */
/* Is it the number of the thread along an axis, in all blocks along an axis, and some more? That of the blocks is
 * another one where a kernel transposes. */
static bool is_index(const struct launch *l, const struct sum *s, int axis, int blocks)
{
    int64_t low, high;
    if (!s->known || s->step) return false;
    for (int k = 0; k < INDICES; k++) {
        int64_t want = k == axis ? 1 : k == AXES + blocks ? l->extents[axis] : 0;
        if (l->extents[k] > 1 && s->by[k] != want) return false;
    }
    bounds(l, s, &low, &high);
    return low >= 0 && high <= INT32_MAX;
}

/* How many of these threads come to an instruction where these facts hold, from the first on. */
static int64_t threads_of(const struct launch *l, int axis, int blocks, uint64_t facts)
{
    int64_t threads = l->extents[axis] * l->extents[AXES + blocks], limit;
    for (; facts; facts &= facts - 1) {
        const struct fact *f = fact_at(l, __builtin_ctzll(facts));
        const struct sum *s = &l->sums[(uint32_t)f->term - l->first];
        if (!is_index(l, s, axis, blocks) || !limit_of(l, f, &limit)) continue;
        if (limit - s->start < threads) threads = limit > s->start ? limit - s->start : 0;
    }
    return threads;
}

/* Those of the allocation's instructions whose addresses have the sum's multiples; NULL: there are too many. */
static struct family *family_of(struct touched *t, const struct sum *s)
{
    for (size_t k = 0; k < t->count; k++)
        if (!memcmp(t->families[k].sum.by, s->by, sizeof s->by)) return &t->families[k];
    if (t->count == FAMILIES) return NULL;
    t->families[t->count] = (struct family){.sum = *s};
    return &t->families[t->count++];
}

/* Notes an instruction that touches the allocation; its address less the offset, in all lanes, is the sum. */
static void note(const struct launch *l, struct touched *t, const struct sum *s, uint32_t pc)
{
    const struct insn *i = &l->check->program->code[pc];
    int64_t low = s->start + i->imm;
    struct family *f = t->known && s->known ? family_of(t, s) : NULL;
    t->known = f && i->memory != MEMORY_ATOMIC && f->count < MOST_SEEN && is_small(i->imm);
    if (!t->known) return;
    for (int k = 0; k < AXES * AXES; k++) {
        int64_t threads = threads_of(l, k / AXES, k % AXES, l->check->program->places[pc].facts);
        int64_t *most = &f->limits[k / AXES][k % AXES];
        if (threads > *most) *most = threads;
    }
    f->step = common(f->step, s->step);
    f->seen[f->count++] = (struct stretch_of){low, low + (int64_t)i->size * i->count};
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
static int blocks_of(const struct launch *l, const struct family *t, int axis, unsigned used)
{
    int64_t threads = l->extents[axis];
    for (int k = 0; k < 2 * AXES; k++) {
        int blocks = (axis + k) % AXES;
        bool one = threads == 1 || l->extents[AXES + blocks] == 1;
        bool fits = t->sum.by[AXES + blocks] == t->sum.by[axis] * threads;
        if (!(used >> blocks & 1) && (k < AXES ? !one && fits : one)) return blocks;
    }
    return -1;
}

/* Threads and blocks, as one index where they are one. */
static int dimensions(const struct launch *l, const struct family *t, struct dimension *d)
{
    unsigned used = 0;
    int n = 0;
    for (int k = 0; k < AXES; k++) {
        int blocks = blocks_of(l, t, k, used);
        if (blocks < 0) {
            add_dimension(d, &n, t->sum.by[k], l->extents[k]);
            continue;
        }
        used |= 1u << blocks;
        add_dimension(d, &n, t->sum.by[l->extents[k] > 1 ? k : AXES + blocks], t->limits[k][blocks]);
    }
    for (int k = 0; k < AXES; k++)
        if (~used >> k & 1) add_dimension(d, &n, t->sum.by[AXES + k], l->extents[AXES + k]);
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

/* Of one family: do no two threads touch the same? */
static bool lies_apart(const struct launch *l, const struct family *f, int64_t step)
{
    struct stretch_of s[MOST_SEEN];
    struct dimension left[INDICES];
    size_t count = f->count;
    memcpy(s, f->seen, count * sizeof *s);
    if (step) fold(s, count, step);
    qsort(s, count, sizeof *s, by_start);
    for (int n = dimensions(l, f, left); n;)
        if (!widen(s, &count, least_of(left, &n))) return false;
    return !step || s[count - 1].end - s[0].start <= step;
}

static bool is_own_in(const struct launch *l, const struct family *f)
{
    if (!f->step) return lies_apart(l, f, 0);
    for (int64_t by = 1; by <= UNROLLED && f->step % by == 0; by *= 2)
        if (lies_apart(l, f, f->step / by)) return true;
    return false;
}

/* What all threads of a family touch, where indices with the same multiple in the other one are 0. */
static struct stretch_of reach_of(const struct launch *l, const struct family *f, const struct family *other,
                                  struct dimension *shared, int *n)
{
    struct stretch_of all = f->seen[0];
    struct dimension d[INDICES];
    for (size_t k = 1; k < f->count; k++) {
        if (f->seen[k].start < all.start) all.start = f->seen[k].start;
        if (f->seen[k].end > all.end) all.end = f->seen[k].end;
    }
    struct family own = *f;
    for (int k = 0; k < INDICES; k++) {
        if (f->sum.by[k] != other->sum.by[k]) continue;
        add_dimension(shared, n, f->sum.by[k], l->extents[k]);
        own.sum.by[k] = 0;
    }
    int count = dimensions(l, &own, d);
    for (int k = 0; k < count; k++) *(d[k].by < 0 ? &all.start : &all.end) += d[k].by * (d[k].extent - 1);
    return all;
}

/* Do no two threads touch the same, one by an instruction of each? */
static bool are_apart(const struct launch *l, const struct family *f, const struct family *g)
{
    struct dimension shared[2 * INDICES];
    int n = 0;
    if (f->step || g->step) return false;
    struct stretch_of a = reach_of(l, f, g, shared, &n), b = reach_of(l, g, f, shared, &(int){0});
    if (a.start < b.end && b.start < a.end) return false;
    struct stretch_of all = {a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
    size_t one = 1;
    while (n)
        if (!widen(&all, &one, least_of(shared, &n))) return false;
    return true;
}

static bool is_own(const struct launch *l, const struct touched *t)
{
    if (!t->known || !t->count) return false;
    for (size_t k = 0; k < t->count; k++) {
        if (!is_own_in(l, &t->families[k])) return false;
        for (size_t j = 0; j < k; j++)
            if (!are_apart(l, &t->families[j], &t->families[k])) return false;
    }
    return true;
}

/* False: the instruction may touch anything. */
static bool look_at(const struct launch *l, struct touched *all, uint32_t pc)
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
    struct sum unknown = {0};
    for (size_t k = 0; k < c->output_count; k++)
        if (all[k].allocation == allocation)
            note(l, &all[k], at->term && c->watch[pc] == WATCH_ACCESS ? &l->sums[at->term - 1 - l->first] : &unknown,
                 pc);
    return true;
}

static bool look_at_all(const struct launch *l, struct touched *all)
{
    const struct simt_program *p = l->check->program;
    for (uint32_t k = 0; k < p->function_count; k++) {
        const struct function *f = &p->functions[k];
        if (f->is_entry && f != l->check->launch->function->code) continue;
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

bool simt_own_find(struct simt_check *c)
{
    const struct function *f = c->launch->function->code;
    const struct term *terms = c->program->terms;
    uint32_t count = f->term_end - f->term_first;
    struct launch l = {.check = c, .first = f->term_first, .sums = rt_calloc(count + 1, sizeof *l.sums)};
    struct touched *all = rt_calloc(c->output_count + 1, sizeof *all);
    bool ok = l.sums && all;
    for (int k = 0; k < 3; k++) l.extents[k] = c->launch->block[k], l.extents[3 + k] = c->launch->grid[k];
    for (uint32_t k = 0; ok && k < 2 * count; k++) { /* twice: the bounds of loops may come behind them */
        const struct term *t = &terms[l.first + k % count];
        l.sums[k % count] = settled(sum_of(&l, t), t->wide);
    }
    for (size_t k = 0; ok && k < c->output_count; k++)
        all[k] = (struct touched){c->outputs[k], .known = !read_as_texture(c, c->outputs[k])};
    if (ok && look_at_all(&l, all)) {
        size_t left = 0; /* what is nobody's own counts as output */
        for (size_t k = 0; k < c->output_count; k++)
            if (!is_own(&l, &all[k])) c->outputs[left++] = all[k].allocation;
        c->output_count = left;
    }
    free(l.sums);
    free(all);
    return ok;
}
