/* What a launch makes of terms: check_sums.h. Loops that are counted (decode_flow.c) go round so often as what they
 * count from, to and by says, and branches on numbers of the launch go one way; each helps to know the other, so all is
 * computed several times. Every time what is said is true, if less. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_sums.h"

#define ROUNDS 6
#define BEYOND (INT64_C(1) << 62)

int64_t simt_common(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a, b = b < 0 ? -b : b;
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* As if nothing were known of what counted loops add. */
static void forget_counts(struct sum *s)
{
    if (!s->grain) return;
    s->step = simt_common(s->step, s->grain);
    s->down = s->up = s->grain = s->travel = 0;
}

/* In 32 bits; or as it is, when no part can overflow what is still to be done with it. */
static struct sum settled(struct sum s, bool wide)
{
    if (wide ? !is_small(s.down) || !is_small(s.up) : s.down < INT32_MIN || s.up > INT32_MAX) forget_counts(&s);
    if (s.least < (wide ? -FARTHEST : INT32_MIN) || s.most > (wide ? FARTHEST : INT32_MAX)) s.within = 0;
    if (!wide) {
        s.start = (int32_t)s.start;
        if (s.travel != (int32_t)s.travel || s.step != (int32_t)s.step) s.travel = 0;
        s.step = (int32_t)s.step;
        for (int k = 0; k < INDICES; k++) s.by[k] = (int32_t)s.by[k];
        s.rest.by = (int32_t)s.rest.by;
        return s;
    }
    if (!is_small(s.travel)) s.travel = 0;
    bool fits = s.start > -(INT64_C(1) << 62) && s.start < INT64_C(1) << 62 && is_small(s.step) && is_small(s.rest.by);
    for (int k = 0; k < INDICES; k++) fits &= is_small(s.by[k]);
    s.known &= fits;
    s.partly &= fits;
    return s;
}

bool simt_sums_number(const struct sum *s)
{
    bool any = s->step != 0 || s->grain != 0;
    for (int k = 0; k < INDICES; k++) any |= s->by[k] != 0;
    return s->known && !any;
}

/* Moves an end of what is reached. What is too far is at the limit, and stays there. */
static void reach(struct bounds *r, int64_t by, int64_t times)
{
    int64_t far, *end = by < 0 ? &r->low : &r->high;
    bool fits = !__builtin_mul_overflow(by, times, &far) && !__builtin_add_overflow(*end, far, &far);
    *end = fits && far > -BEYOND && far < BEYOND ? far : by < 0 ? -BEYOND : BEYOND;
}

struct bounds simt_sums_bounds(const struct simt_sums *l, const struct sum *s)
{
    struct sum digits;
    int64_t count[INDICES];
    bool apart = simt_radix_parts(s) && simt_radix_digits(l, s, &digits, count);
    const struct sum *of = apart ? &digits : s;
    struct bounds r = {of->start + s->down, of->start + s->up};
    *(s->travel < 0 ? &r.low : &r.high) += s->travel;
    if (s->partly) *(s->rest.by < 0 ? &r.low : &r.high) += s->rest.by * s->rest.most;
    for (int k = 0; k < INDICES; k++) reach(&r, of->by[k], (apart ? count : l->extents)[k] - 1);
    return r;
}

/* What holds of *from when something else comes to it, and it is taken so often, 1 or -1. */
static void stay_within(struct sum *s, const struct sum *from, const struct sum *other, int64_t by)
{
    bool stays = !other->step && !other->grain;
    for (int k = 0; k < INDICES; k++) stays &= !(from->within >> k & 1) || !other->by[k];
    s->within = stays ? from->within : 0;
    s->least = by < 0 ? -from->most : from->least;
    s->most = by < 0 ? -from->least : from->most;
}

/* What is known but for one rest. */
static void add_rests(struct sum *s, const struct sum *a, const struct sum *b, int sign)
{
    const struct rest *x = &a->rest, *y = &b->rest;
    if ((!a->partly && !b->partly) || (!a->partly && !a->known) || (!b->partly && !b->known)) return;
    s->rest = a->partly ? *x : *y;
    s->partly = !a->partly || !b->partly || (x->of == y->of && x->from == y->from && x->most == y->most);
    s->rest.by = (a->partly ? x->by : 0) + sign * (b->partly ? y->by : 0);
}

static struct sum added(const struct sum *a, const struct sum *b, int sign)
{
    struct sum s = {
        .known = a->known && b->known, .start = a->start + sign * b->start, .step = simt_common(a->step, b->step)};
    for (int k = 0; k < INDICES; k++) s.by[k] = a->by[k] + sign * b->by[k];
    if (!a->step || !b->step) s.travel = a->travel + sign * b->travel;
    s.down = a->down + (sign > 0 ? b->down : -b->up);
    s.up = a->up + (sign > 0 ? b->up : -b->down);
    s.grain = simt_common(a->grain, b->grain);
    if (a->within) stay_within(&s, a, b, 1);
    if (b->within) stay_within(&s, b, a, sign);
    add_rests(&s, a, b, sign);
    if (s.partly) s.within = 0;
    return s;
}

static struct sum multiplied(const struct sum *a, const struct sum *b)
{
    struct sum s = {0};
    if (!simt_sums_number(b) && !simt_sums_number(a)) return s;
    const struct sum *x = simt_sums_number(b) ? a : b;
    int64_t by = simt_sums_number(b) ? b->start : a->start;
    bool all = is_small(x->start) && is_small(by) && is_small(x->rest.by);
    all &= !__builtin_mul_overflow(x->start, by, &s.start) && !__builtin_mul_overflow(x->step, by, &s.step);
    if (__builtin_mul_overflow(x->travel, by, &s.travel)) s.travel = 0;
    all &= !__builtin_mul_overflow(by < 0 ? x->up : x->down, by, &s.down) &&
           !__builtin_mul_overflow(by < 0 ? x->down : x->up, by, &s.up) &&
           !__builtin_mul_overflow(x->grain, by, &s.grain);
    bool fits = !__builtin_mul_overflow(by < 0 ? x->most : x->least, by, &s.least) &&
                !__builtin_mul_overflow(by < 0 ? x->least : x->most, by, &s.most);
    s.within = fits ? x->within : 0;
    for (int k = 0; k < INDICES; k++) all &= !__builtin_mul_overflow(x->by[k], by, &s.by[k]);
    s.rest = x->rest;
    all &= !__builtin_mul_overflow(x->rest.by, by, &s.rest.by);
    s.known = all && x->known;
    s.partly = all && x->partly;
    return s;
}

/* The bits of a number that all other parts leave free. */
static struct sum combined(const struct sum *a, const struct sum *b)
{
    struct sum s = {0};
    if (!simt_sums_number(b)) return s;
    int64_t all = a->start | a->step | a->grain | (a->partly ? a->rest.by : 0);
    for (int k = 0; k < INDICES; k++) all |= a->by[k];
    if (b->start < 0 || (all && b->start > ((all & -all) - 1))) return s;
    return added(a, b, 1);
}

/* From 32 bits to 64. What a loop makes of it may go round 2^32 on its way. */
static struct sum extended(const struct simt_sums *l, struct sum s, bool is_signed)
{
    struct bounds r = simt_sums_bounds(l, &s);
    if (s.partly && s.natural && r.high <= INT32_MAX) return s;
    if (s.grain && (r.low < (is_signed ? INT32_MIN : 0) || r.high > INT32_MAX)) {
        forget_counts(&s);
        r = simt_sums_bounds(l, &s);
    }
    int64_t low = r.low, high = r.high;
    if (s.step && (!s.travel || low < (is_signed ? INT32_MIN : 0) || high > INT32_MAX)) {
        s.step = simt_common(s.step, INT64_C(1) << 32);
        s.travel = 0;
        s.within = 0;
        return s;
    }
    if (!is_signed && low < 0) {
        s.start += INT64_C(1) << 32;
        low += INT64_C(1) << 32, high += INT64_C(1) << 32;
    }
    bool fits = is_signed ? low >= INT32_MIN && high <= INT32_MAX : low >= 0 && high <= UINT32_MAX;
    s.known &= fits;
    s.partly &= fits;
    return s;
}

static struct sum of_parameter(const struct simt_sums *l, const struct term *t)
{
    const struct simt_launch *launch = l->check->launch;
    size_t bytes = t->wide ? 8 : 4;
    struct sum s = {0};
    if (t->value < 0 || (uint64_t)t->value + bytes > launch->function->info.param_bytes) return s;
    s.known = true;
    memcpy(&s.start, (const char *)launch->params + t->value, bytes);
    return s;
}

static struct sum of_special(const struct simt_sums *l, enum special r)
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

bool simt_sums_limit(const struct simt_sums *l, const struct fact *f, int64_t *limit)
{
    const struct sum *bound = &l->of[(uint32_t)f->bound - l->first];
    *limit = bound->start + f->inclusive;
    return simt_sums_number(bound) && bound->start >= 0 && *limit <= INT32_MAX; /* else it depends on the sign */
}

const struct fact *simt_sums_fact(const struct simt_sums *l, int number)
{
    return &l->check->program->facts[l->code->fact_first + (uint32_t)number];
}

/* A loop that adds `step` only to what is below a bound. */
static int64_t travel_of(const struct simt_sums *l, const struct term *t, const struct sum *start, int64_t step)
{
    struct bounds r = simt_sums_bounds(l, start);
    int64_t limit;
    if (step <= 0 || start->step || r.low < 0 || r.high > INT32_MAX) return 0;
    for (uint64_t rest = t->facts; rest; rest &= rest - 1) {
        const struct fact *f = simt_sums_fact(l, __builtin_ctzll(rest));
        if (&l->check->program->terms[f->term] != t || !simt_sums_limit(l, f, &limit)) continue;
        int64_t most = limit - 1 + step;
        if (most <= INT32_MAX) return most - r.low > step ? most - r.low : step;
    }
    return 0;
}

/* Is it 0 or more, and below 2 to so many? */
static bool is_below(const struct simt_sums *l, const struct sum *s, const struct sum *bits)
{
    struct bounds r = simt_sums_bounds(l, s);
    if (!s->known || s->step || s->grain || !simt_sums_number(bits) || bits->start < 0 || bits->start > 31)
        return false;
    return r.low >= 0 && r.high < INT64_C(1) << bits->start;
}

/* Of numbers alone, as in the conditions i < n / 2 and i < min(n, 20). */
static struct sum of_numbers(struct simt_sums *l, const struct sum *a, const struct sum *b, const struct term *t)
{
    struct sum s = {.known = simt_sums_number(a) && simt_sums_number(b)};
    int64_t x = a->start, y = b->start;
    if (!s.known && (t->kind == TERM_AND || t->kind == TERM_XOR)) return simt_sums_bits(l, t);
    bool drops = t->kind == TERM_SHIFT && t->wide && simt_sums_number(b) && b->start >= 32;
    if (!s.known && drops) return simt_radix_shift(l, a, b->start);
    if (!s.known && t->kind == TERM_SHIFT) s.known = is_below(l, a, b); /* then that is 0 */
    if (!simt_sums_number(a) || !simt_sums_number(b)) return s;
    switch (t->kind) {
    case TERM_AND: s.start = x & y; break;
    case TERM_XOR: s.start = x ^ y; break;
    case TERM_MIN: s.start = x < y ? x : y; break;
    case TERM_MAX: s.start = x > y ? x : y; break;
    default:
        s.known = y >= 0 && y < (t->wide ? 64 : 32);
        if (s.known) s.start = !t->value ? x >> y : (int64_t)((t->wide ? (uint64_t)x : (uint32_t)x) >> y);
    }
    return s;
}

static struct sum divided(struct simt_sums *l, const struct sum *a, const struct sum *b, const struct term *t)
{
    struct sum s = {.known = simt_sums_number(a) && a->start >= 0 && simt_sums_number(b) && b->start > 0};
    if (s.known) s.start = a->start / b->start;
    if (s.known || !simt_sums_number(b)) return s;
    return simt_radix_quotient(l, a, b->start, t->wide ? FARTHEST : INT32_MAX);
}

/* What is between the two, by multiples of what they differ by. */
static struct sum either(const struct sum *a, const struct sum *b)
{
    struct sum s = *a;
    int64_t apart = b->start - a->start;
    if (a->absent || b->absent) return a->absent ? *b : *a;
    s.known = a->known && b->known && is_small(apart) && !memcmp(a->by, b->by, sizeof a->by) && !a->step && !b->step;
    if (apart + b->down < s.down) s.down = apart + b->down;
    if (apart + b->up > s.up) s.up = apart + b->up;
    s.grain = simt_common(simt_common(a->grain, b->grain), apart);
    s.within = 0;
    s.partly = false;
    return s;
}

/* ---- counted loops ---- */
/* Is it the same number in all threads, but for what counted loops add? */
static bool is_shared(const struct simt_sums *l, const struct sum *s)
{
    bool same = s->known && !s->step;
    for (int k = 0; k < INDICES; k++) same &= !s->by[k] || l->extents[k] == 1;
    return same;
}

/* The first j, 0 or more, with which j steps lead over the distance. */
static int64_t steps_over(int64_t distance, int64_t step)
{
    return distance <= 0 ? 0 : distance / step + (distance % step != 0);
}

static struct passes until_equal(const struct sum *distance, int64_t step, bool after)
{
    int64_t j = distance->start / step;
    bool meets = simt_sums_number(distance) && distance->start % step == 0 && j >= after;
    return (struct passes){meets, meets, j + !after};
}

/* Do two registers that come towards each other stay within these ends, until they have met? */
static bool meet_within(const struct simt_sums *l, const struct counted_loop *c, int64_t least, int64_t most)
{
    const struct term *terms = l->check->program->terms, *start = &terms[c->start], *step = &terms[c->step];
    const struct sum *a = &l->of[(uint32_t)start->a - l->first], *b = &l->of[(uint32_t)start->b - l->first];
    struct bounds x = simt_sums_bounds(l, a), y = simt_sums_bounds(l, b);
    int64_t by = llabs(terms[step->a].value), other = llabs(terms[step->b].value), more = by > other ? by : other;
    int64_t low = x.low < y.low ? x.low : y.low, high = x.high > y.high ? x.high : y.high;
    if (!a->known || !b->known || a->step || b->step || more > most) return false;
    return low >= least + more && high <= most - more && high - low <= most - 2 * more;
}

static struct passes passes_of(const struct simt_sums *l, const struct counted_loop *c)
{
    const struct passes unknown = {0};
    if (c->bound < 0) return unknown;
    bool wide = l->check->program->terms[c->start].wide;
    const struct sum *start = &l->of[(uint32_t)c->start - l->first], *bound = &l->of[(uint32_t)c->bound - l->first],
                     *step = &l->of[(uint32_t)c->step - l->first];
    struct sum distance = added(bound, start, -1);
    if (!simt_sums_number(step) || !step->start || !distance.known || distance.step) return unknown;
    if (!is_shared(l, &distance) && !is_shared(l, start)) return unknown;
    struct bounds from = simt_sums_bounds(l, start), to = simt_sums_bounds(l, bound);
    int64_t by = step->start, least = wide ? -FARTHEST : INT32_MIN, most = wide ? FARTHEST : INT32_MAX;
    if (from.low < least || from.high > most || to.low < least || to.high > most || !is_small(by)) return unknown;
    if (c->meets && !meet_within(l, c, least, most)) return unknown;
    if (c->until_equal) return until_equal(&distance, by, c->after);
    if (!c->is_signed) least = 0;
    if (c->up != (by > 0) || from.low < least || to.low < least) return unknown;
    int64_t end = c->up ? to.high + c->inclusive : to.low - c->inclusive;
    if (c->up ? end - 1 + by > most || from.high + by > most : end + 1 + by < least || from.low + by < least)
        return unknown;
    struct bounds far = simt_sums_bounds(l, &distance);
    int64_t j = c->up ? steps_over(far.high + c->inclusive, by) : steps_over(c->inclusive - far.low, -by);
    return (struct passes){true, simt_sums_number(&distance), c->after ? (j ? j : 1) : j + 1};
}

static void go_on(const struct simt_sums *l, bool *seen, uint32_t block, size_t *count)
{
    if (block == NO_BLOCK || seen[block]) return;
    seen[block] = true;
    l->stack[(*count)++] = block;
}

static const struct flow_block *block_at(const struct simt_sums *l, uint32_t block)
{
    return &l->check->program->blocks[l->code->block_first + block];
}

/* Goes on from a block to those that may follow in this launch. */
static void go_both(const struct simt_sums *l, bool *seen, uint32_t block, size_t *count)
{
    const struct flow_block *b = block_at(l, block);
    bool held = false, known = false;
    if (b->condition >= 0) {
        const struct condition *c = &l->check->program->ways[b->condition];
        const struct sum *x = &l->of[(uint32_t)c->a - l->first], *y = &l->of[(uint32_t)c->b - l->first];
        bool wide = l->check->program->terms[c->a].wide;
        struct bounds p = simt_sums_bounds(l, x), q = simt_sums_bounds(l, y);
        int64_t least = wide ? -FARTHEST : INT32_MIN, most = wide ? FARTHEST : INT32_MAX;
        bool fits = p.low >= least && p.high <= most && q.low >= least && q.high <= most;
        known = x->known && y->known && !x->step && !y->step && fits && simt_steady_decide(c, p, q, wide, &held);
    }
    bool taken = held != b->opposite;
    if (!known || taken) go_on(l, seen, b->taken, count);
    if (!known || !taken) go_on(l, seen, b->next, count);
}

/* What can be reached, and how often loops go round. True when anything is another than before. */
static bool follow(struct simt_sums *l)
{
    bool changed = false;
    size_t count = 0;
    memset(l->seen, 0, l->code->block_count * sizeof *l->seen);
    if (l->code->block_count) go_on(l, l->seen, 0, &count);
    while (count) go_both(l, l->seen, l->stack[--count], &count);
    for (uint32_t k = 0; k < l->code->block_count; k++) {
        changed |= l->live[k] != l->seen[k];
        l->live[k] = l->seen[k];
    }
    for (uint32_t k = 0; k < l->code->loop_count; k++) {
        struct passes now = passes_of(l, &l->check->program->loops[l->code->loop_first + k]), was = l->passes[k];
        changed |= now.known != was.known || now.exact != was.exact || now.most != was.most;
        l->passes[k] = now;
    }
    return changed;
}

/* Can the launch come to the use from where the register was set without the loop? */
static bool avoids(const struct simt_sums *l, const struct loop_use *u, uint32_t top)
{
    size_t count = 0;
    memset(l->seen, 0, l->code->block_count * sizeof *l->seen);
    l->seen[top] = true;
    for (uint32_t k = 0; k < u->start_count; k++) {
        if (!l->live[u->starts[k]]) continue;
        go_on(l, l->seen, u->starts[k], &count);
        while (count) go_both(l, l->seen, l->stack[--count], &count);
    }
    return l->seen[u->block];
}

/* Can the launch come from where a register is set to the use, and not be where it is set anew? Or to the other block?
 */
static bool arrives(const struct simt_sums *l, const struct loop_use *u)
{
    size_t count = 0;
    memset(l->seen, 0, l->code->block_count * sizeof *l->seen);
    if (!l->live[u->starts[0]] || u->starts[0] == u->block) return l->live[u->starts[0]];
    go_both(l, l->seen, u->starts[0], &count);
    while (count) {
        uint32_t block = l->stack[--count];
        bool lost = false;
        for (uint32_t k = 0; k < u->start_count; k++) lost |= block == u->starts[k];
        if (!lost) go_both(l, l->seen, block, &count);
    }
    return l->seen[u->block] || (u->also != NO_BLOCK && l->seen[u->also]);
}

/* What a loop counts by that each thread begins elsewhere, as in `for (i = threadIdx.x; i < n; i += blockDim.x)`: no
 * more than the bound or where it begins. */
static struct sum counter_of(const struct simt_sums *l, const struct counted_loop *c, const struct sum *start,
                             const struct sum *step, const struct sum *plain)
{
    if (c->bound < 0 || c->until_equal || !c->up || !c->after || !start->known || start->step || start->grain ||
        !simt_sums_number(step))
        return *plain;
    const struct sum *bound = &l->of[(uint32_t)c->bound - l->first];
    struct bounds from = simt_sums_bounds(l, start), to = simt_sums_bounds(l, bound);
    int64_t most = to.high - 1 + c->inclusive;
    bool fits = bound->known && !bound->step && from.low >= 0 && from.high <= INT32_MAX && to.low >= INT32_MIN;
    if (!fits || (!c->is_signed && to.low < 0) || step->start <= 0 || !is_small(step->start) || to.high > INT32_MAX ||
        most > INT32_MAX - step->start)
        return *plain;
    struct sum s = *start;
    if (most < from.high) most = from.high;
    s.step = step->start;
    s.travel = most - from.low > s.step ? most - from.low : s.step;
    for (int k = 0; k < INDICES; k++) s.within |= (unsigned)(s.by[k] && l->extents[k] > 1) << k;
    s.least = from.low - s.start;
    s.most = most - s.start;
    return s;
}

/* A counter that starts elsewhere each time, as that of the inner one of two loops, goes no farther than its bound, or
 * than where it starts. `s` is what it is after so many passes as there may be. */
static void stay_before(const struct simt_sums *l, const struct counted_loop *c, const struct sum *start, int64_t step,
                        bool added, struct sum *s)
{
    const struct sum *bound = &l->of[(uint32_t)c->bound - l->first];
    struct bounds to = {bound->start + bound->down, bound->start + bound->up};
    if (c->until_equal || c->meets) return;
    if (memcmp(bound->by, start->by, sizeof bound->by) != 0) {
        if (!is_shared(l, start)) return;
        to = simt_sums_bounds(l, bound);
    }
    int64_t once_more = c->after ? 0 : step, behind = added ? step : 0;
    int64_t most = to.high - 1 + c->inclusive + once_more, least = to.low + 1 - c->inclusive + once_more;
    if (most < start->start + start->up) most = start->start + start->up;
    if (least > start->start + start->down) least = start->start + start->down;
    if (c->up && most + behind - s->start < s->up) s->up = most + behind - s->start;
    if (!c->up && least + behind - s->start > s->down) s->down = least + behind - s->start;
}

/* What a register holds to which a counted loop adds. */
static struct sum of_pass(const struct simt_sums *l, const struct term *t, const struct sum *a, const struct sum *b)
{
    const struct loop_use *u = &l->check->program->uses[t->value];
    const struct counted_loop *c = &l->check->program->loops[u->loop];
    const struct passes *p = &l->passes[u->loop - l->code->loop_first];
    struct sum s = *a, plain = {0};
    int64_t first = u->place == LOOP_LATE, last = p->most - (u->place == LOOP_WITHIN);
    s.absent = s.partly = false; /* there may be ways around the loop */
    if (u->plain >= 0) plain = l->of[(uint32_t)u->plain - l->first];
    if (u->place == LOOP_BEHIND && !l->live[c->top]) return s;
    bool counts = t->a == c->start && c->step >= 0 && simt_sums_number(b) &&
                  l->of[(uint32_t)c->step - l->first].start == b->start;
    if (!p->known && counts && u->place == LOOP_WITHIN) return counter_of(l, c, a, b, &plain);
    if (!p->known || !simt_sums_number(b)) return plain;
    if (u->place == LOOP_BEHIND && p->exact && c->one_exit && !avoids(l, u, c->top)) first = last;
    int64_t from, to;
    if (__builtin_mul_overflow(first, b->start, &from) || __builtin_mul_overflow(last, b->start, &to)) return plain;
    if (!is_small(from) || !is_small(to)) return plain;
    s.start += from;
    s.down += to < from ? to - from : 0;
    s.up += to > from ? to - from : 0;
    if (to != from) s.grain = simt_common(s.grain, b->start);
    if (to != from && counts) stay_before(l, c, a, b->start, u->place != LOOP_WITHIN, &s);
    s.within = 0;
    return s;
}

static struct sum sum_of(struct simt_sums *l, const struct term *t, const struct sum *a, const struct sum *b)
{
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
    case TERM_XOR:
    case TERM_MIN:
    case TERM_MAX:
    case TERM_SHIFT: return of_numbers(l, a, b, t);
    case TERM_DIVIDE: return divided(l, a, b, t);
    case TERM_EITHER: return either(a, b);
    case TERM_WAY: s.absent = !arrives(l, &l->check->program->uses[t->value]); break;
    case TERM_LOOP:
        s.step = simt_common(a->step, b->start);
        s.travel = travel_of(l, t, a, b->start);
        s.within = 0;
        s.absent = s.partly = false;
        s.known &= simt_sums_number(b);
        break;
    case TERM_PASS: return of_pass(l, t, a, b);
    }
    return s;
}

static struct sum with_congruence(struct simt_sums *l, const struct term *t)
{
    static const struct sum none = {0};
    bool leaf = t->kind <= TERM_SPECIAL, unary = t->kind >= TERM_EXTEND_S && t->kind <= TERM_NARROW;
    const struct sum *a = leaf ? &none : &l->of[(uint32_t)t->a - l->first],
                     *b = leaf || unary ? &none : &l->of[(uint32_t)t->b - l->first];
    bool flows = t->kind == TERM_LOOP || t->kind == TERM_PASS || t->kind == TERM_WAY || t->kind == TERM_EITHER;
    struct sum s = settled(sum_of(l, t, a, b), t->wide);
    s.mod = simt_congruence_of(t, &s, a, b);
    s.settled = leaf || (!flows && a->settled && (unary || b->settled));
    return s;
}

/* ---- a launch ---- */
bool simt_sums_find(struct simt_sums *l, const struct simt_check *c)
{
    const struct function *f = c->launch->function->code;
    uint32_t count = f->term_end - f->term_first;
    *l = (struct simt_sums){.check = c, .code = f, .first = f->term_first};
    l->of = rt_calloc(count + 1, sizeof *l->of);
    l->passes = rt_calloc(f->loop_count + 1, sizeof *l->passes);
    l->live = rt_calloc(f->block_count + 1, sizeof *l->live);
    l->seen = rt_calloc(f->block_count + 1, sizeof *l->seen);
    l->stack = rt_calloc(f->block_count + 1, sizeof *l->stack);
    if (!l->of || !l->passes || !l->live || !l->seen || !l->stack) return false;
    for (int k = 0; k < AXES; k++) l->extents[k] = c->launch->block[k], l->extents[AXES + k] = c->launch->grid[k];
    for (int k = THREAD_INDICES; k < INDICES; k++) l->extents[k] = 1;
    for (uint32_t k = 0; k < f->block_count; k++) l->live[k] = true;
    bool changed = true;
    for (int round = 0; round < ROUNDS && (changed || round < 2); round++) { /* bounds of loops may come behind them */
        for (uint32_t k = 0; k < count; k++) {
            const struct term *t = &c->program->terms[l->first + k];
            if (!l->of[k].settled) l->of[k] = with_congruence(l, t);
        }
        changed = follow(l);
    }
    return true;
}

void simt_sums_free(struct simt_sums *l)
{
    free(l->of);
    free(l->passes);
    free(l->live);
    free(l->seen);
    free(l->stack);
}

bool simt_sums_reach(const struct simt_sums *l, uint32_t pc)
{
    const struct function *f = l->code;
    if (!f->block_count || pc < f->setup || pc >= f->end) return true;
    uint32_t index = l->check->program->places[pc].index, low = 0, high = f->block_count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(block_at(l, middle)->first <= index ? &low : &high) = middle;
    }
    return l->live[low];
}
