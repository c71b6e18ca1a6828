/* Threads whose places lie among each other's and yet never meet, as on a chessboard whose black fields are computed
 * from the white ones around them: a launch for each colour (red-black Gauss-Seidel, the Ising model).
 *
 * Two threads' indices differ by some d. One stores to what the other touches where the multiples of d that make up
 * addresses come to what lies between the two instructions' places. All such d are tried, the index with the greatest
 * multiple first, so that the smaller ones have few left to choose from. Each must be forbidden by what both threads'
 * instructions stand behind: a number that is the same for both modulo 2 (check_congruence.c), bits of an index that
 * are known, as in `if ((i ^ j) > i)`, or an index that stays below a bound; else the threads may meet. Instructions
 * whose addresses have other multiples may still touch other stretches, as the row that an elimination takes from those
 * below.
 */
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/check_sums.h"

#define DIMENSIONS (INDICES + 1) /* and the lowest bits of a number */
#define MOST_RULES 12
#define MOST_TRIES 5000 /* of a launch's instructions together */
#define MOST_BITS  63   /* as a number, of which each value is tried */

/* What d makes of multiples is no farther than `most` from 0, or (modulus not 0) from a multiple of that power of 2. */
struct rule {
    uint64_t modulus;
    int64_t by[DIMENSIONS], most;
};

struct lattice {
    const struct simt_sums *l;
    struct sum sum;                               /* that all instructions have, but for where it starts */
    int64_t by[DIMENSIONS], farthest[DIMENSIONS]; /* of addresses, and how far two threads' indices can be apart */
    int64_t behind[DIMENSIONS + 1];               /* how far the indices from one on lead together */
    int order[DIMENSIONS];                        /* by multiples, the greatest first */
    int64_t d[DIMENSIONS];
    struct rule rules[MOST_RULES];
    int rule_count;
    uint32_t tries;
};

struct touch {      /* what an instruction does */
    struct sum sum; /* its address */
    uint64_t facts;
    int64_t size;
    bool stores;
    struct bounds all; /* of all threads, its first byte */
};

/* Can no multiple of an index lead so far that sums of them don't fit? */
static bool is_near(const struct simt_sums *l, const struct sum *s)
{
    int64_t far;
    bool near = s->rest.most * llabs(s->rest.by) < FARTHEST;
    for (int k = 0; k < INDICES; k++)
        near &= !__builtin_mul_overflow(llabs(s->by[k]), l->extents[k], &far) && far < FARTHEST;
    return near;
}

static bool is_told(const struct simt_sums *l, const struct sum *s)
{
    return (s->known || s->partly) && !s->step && is_near(l, s);
}

/* ---- bits that are known ---- */
/* Both sides of a fact, in all of the launch's threads, if they go as numbers do. */
static bool compares(const struct simt_sums *l, const struct fact *f, const struct sum *a, const struct sum *b)
{
    if (!is_told(l, a) || !is_told(l, b) || a->grain || b->grain) return false;
    struct bounds x = simt_sums_bounds(l, a), y = simt_sums_bounds(l, b);
    int64_t least = f->without_sign ? 0 : INT32_MIN;
    bool fits = (x.low >= least || (a->partly && a->natural)) && (y.low >= least || (b->partly && b->natural));
    return fits && x.high <= INT32_MAX && y.high <= INT32_MAX;
}

/* The bits that a fact leaves one value. False: it says nothing of the kind. */
static bool find_bits(const struct simt_sums *l, const struct fact *f, struct rest *bits, int64_t *value)
{
    const struct sum *a = &l->of[(uint32_t)f->term - l->first], *b = &l->of[(uint32_t)f->bound - l->first];
    int found = 0;
    if ((!a->partly && !b->partly) || !compares(l, f, a, b)) return false;
    if (a->partly && b->partly && !simt_sums_same_rest(l, &a->rest, &b->rest)) return false;
    for (int k = 0; k < INDICES; k++)
        if (l->extents[k] > 1 && a->by[k] != b->by[k]) return false;
    *bits = a->partly ? a->rest : b->rest;
    for (int64_t v = 0; v <= bits->most && bits->most <= MOST_BITS; v++) {
        int64_t over = b->start - a->start + v * ((b->partly ? b->rest.by : 0) - (a->partly ? a->rest.by : 0));
        if (f->equal ? over != 0 : over < !f->inclusive) continue;
        *value = v;
        found++;
    }
    return found == 1;
}

/* The address of an instruction, with the bits that are known where it stands. False: it isn't known. */
static bool sum_at(const struct simt_sums *l, uint32_t pc, struct sum *s)
{
    const struct place *at = &l->check->program->places[pc];
    struct rest bits;
    int64_t value;
    if (!at->term) return false;
    *s = l->of[at->term - 1 - l->first];
    if (!is_told(l, s)) return false;
    for (uint64_t facts = at->facts; facts && s->partly; facts &= facts - 1) {
        if (!find_bits(l, simt_sums_fact(l, __builtin_ctzll(facts)), &bits, &value)) continue;
        if (!simt_sums_same_rest(l, &s->rest, &bits)) continue;
        s->start += s->rest.by * value;
        s->partly = false;
        s->known = true;
    }
    return true;
}

/* ---- what forbids ---- */
static void add_rule(struct lattice *t, const struct rule *r)
{
    if (t->rule_count < MOST_RULES) t->rules[t->rule_count++] = *r;
}

/* Of numbers that are the same modulo that of the congruence, or no farther apart, and the rest's multiple. */
static void add_congruence(struct lattice *t, const struct congruence *c, int64_t of_rest, int64_t most)
{
    struct rule r = {.modulus = c->modulus, .by[INDICES] = of_rest, .most = most};
    for (int k = 0; k < THREAD_INDICES; k++) r.by[k] = c->by[k];
    if (c->modulus > 1) add_rule(t, &r);
}

/* Where two threads have certain bits, or (varies) bits so far apart as d says, their numbers are less apart than what
 * the lowest of these bits is worth. */
static void add_bits(struct lattice *t, const struct rest *bits, bool varies)
{
    struct congruence c = t->l->of[(uint32_t)bits->of - 1 - t->l->first].mod;
    int64_t worth = INT64_C(1) << bits->from, above = (bits->most + 1) * worth;
    if (c.modulus > above) c.modulus = (uint32_t)above;
    add_congruence(t, &c, varies ? -worth : 0, worth - 1);
}

/* Where an index, or a sum of some, stays below a bound: two of them are no farther apart than that. */
static void add_limit(struct lattice *t, const struct fact *f, const struct sum *s)
{
    int64_t limit;
    bool same = s->known || (t->sum.partly && simt_sums_same_rest(t->l, &s->rest, &t->sum.rest));
    if (!same || !is_told(t->l, s) || s->grain || !simt_sums_limit(t->l, f, &limit)) return;
    struct bounds b = simt_sums_bounds(t->l, s);
    if (b.low < INT32_MIN || b.high > INT32_MAX) return;
    if (f->without_sign && b.low < 0) b.low = 0;
    struct rule r = {.most = limit - 1 > b.low ? limit - 1 - b.low : 0, .by[INDICES] = s->partly ? s->rest.by : 0};
    for (int k = 0; k < INDICES; k++) r.by[k] = s->by[k];
    add_rule(t, &r);
}

/* What holds of the threads that come to both instructions. */
static void find_rules(struct lattice *t, uint64_t facts)
{
    struct rest bits;
    int64_t value;
    t->rule_count = 0;
    if (t->sum.partly) add_bits(t, &t->sum.rest, true);
    for (; facts; facts &= facts - 1) {
        const struct fact *f = simt_sums_fact(t->l, __builtin_ctzll(facts));
        const struct sum *s = &t->l->of[(uint32_t)f->term - t->l->first];
        if (f->equal && simt_sums_number(&t->l->of[(uint32_t)f->bound - t->l->first])) add_congruence(t, &s->mod, 0, 0);
        if (find_bits(t->l, f, &bits, &value)) add_bits(t, &bits, false);
        add_limit(t, f, s);
    }
}

static bool is_forbidden(const struct lattice *t)
{
    for (int n = 0; n < t->rule_count; n++) {
        const struct rule *r = &t->rules[n];
        uint64_t sum = 0, most = (uint64_t)r->most;
        for (int k = 0; k < DIMENSIONS; k++) sum += (uint64_t)r->by[k] * (uint64_t)t->d[k];
        uint64_t above = r->modulus ? sum & (r->modulus - 1) : sum, below = r->modulus ? -sum & (r->modulus - 1) : -sum;
        if (above > most && below > most) return true;
    }
    return false;
}

/* ---- what is tried ---- */
static int64_t rounded_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}
static int64_t rounded_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static bool is_nothing(const struct lattice *t)
{
    for (int k = 0; k < DIMENSIONS; k++)
        if (t->d[k]) return false;
    return true;
}

/* Is all forbidden by which the indices from the n-th on come to something from `low` to `high`? */
static bool forbids(struct lattice *t, int n, int64_t low, int64_t high)
{
    if (++t->tries > MOST_TRIES) return false;
    if (n == DIMENSIONS) return low > 0 || high < 0 || is_nothing(t) || is_forbidden(t);
    int k = t->order[n];
    int64_t by = t->by[k], least = -t->farthest[k], most = t->farthest[k], more = t->behind[n + 1];
    if (by) {
        int64_t first = rounded_up(by > 0 ? low - more : -high - more, llabs(by)),
                last = rounded_down(by > 0 ? high + more : -low + more, llabs(by));
        least = first > least ? first : least;
        most = last < most ? last : most;
    }
    for (t->d[k] = least; t->d[k] <= most; t->d[k]++)
        if (!forbids(t, n + 1, low - by * t->d[k], high - by * t->d[k])) return false;
    t->d[k] = 0;
    return true;
}

/* ---- two instructions ---- */
static bool has_same_multiples(const struct lattice *t, const struct sum *s)
{
    bool same = s->partly == t->sum.partly;
    if (same && s->partly) same = s->rest.by == t->sum.rest.by && simt_sums_same_rest(t->l, &s->rest, &t->sum.rest);
    for (int k = 0; k < INDICES; k++) same &= t->l->extents[k] == 1 || s->by[k] == t->sum.by[k];
    return same;
}

static void set_dimensions(struct lattice *t)
{
    for (int k = 0; k < INDICES; k++) {
        t->farthest[k] = t->l->extents[k] - 1;
        t->by[k] = t->farthest[k] ? t->sum.by[k] : 0;
    }
    t->farthest[INDICES] = t->sum.partly ? t->sum.rest.most : 0;
    t->by[INDICES] = t->sum.partly ? t->sum.rest.by : 0;
    for (int k = 0; k < DIMENSIONS; k++) {
        int n = k;
        for (; n > 0 && llabs(t->by[t->order[n - 1]]) < llabs(t->by[k]); n--) t->order[n] = t->order[n - 1];
        t->order[n] = k;
    }
    for (int n = DIMENSIONS; n-- > 0;)
        t->behind[n] = t->behind[n + 1] + llabs(t->by[t->order[n]]) * t->farthest[t->order[n]];
}

/* How far an index, or a sum of some, goes in threads for which these facts hold; in all, as far as is known. */
static struct bounds limited(const struct simt_sums *l, const struct sum *s, uint64_t facts)
{
    struct bounds r = simt_sums_bounds(l, s);
    for (; facts; facts &= facts - 1) {
        const struct fact *f = simt_sums_fact(l, __builtin_ctzll(facts));
        const struct sum *a = &l->of[(uint32_t)f->term - l->first], *b = &l->of[(uint32_t)f->bound - l->first];
        bool above = simt_sums_number(a), below = simt_sums_number(b);
        const struct sum *other = above ? b : a;
        if (above == below || !other->known || !compares(l, f, a, b)) continue;
        if (memcmp(other->by, s->by, sizeof s->by) != 0) continue;
        int64_t bound = (above ? a : b)->start + s->start - other->start, least = bound + !f->inclusive,
                most = bound - !f->inclusive;
        if ((above || f->equal) && least > r.low) r.low = least;
        if ((below || f->equal) && most < r.high) r.high = most;
    }
    return r;
}

/* So many times the address has what a fact is about, with all multiples of its indices; 0: it is no part of it. */
static int64_t times_in(const struct simt_sums *l, const struct sum *address, const struct sum *s, unsigned used)
{
    int64_t times = 0;
    for (int k = 0; k < INDICES; k++) {
        if (l->extents[k] == 1 || !s->by[k]) continue;
        if (!times && address->by[k] % s->by[k] == 0) times = address->by[k] / s->by[k];
        if (used >> k & 1 || !times || address->by[k] != times * s->by[k]) return 0;
    }
    return times;
}

/* What an instruction touches in threads for which these facts hold. */
static struct bounds stretch_under(const struct simt_sums *l, const struct sum *address, uint64_t facts)
{
    struct sum left = *address;
    int64_t low = 0, high = 0;
    unsigned used = 0;
    for (uint64_t rest = facts; rest; rest &= rest - 1) {
        const struct fact *f = simt_sums_fact(l, __builtin_ctzll(rest));
        const struct sum *a = &l->of[(uint32_t)f->term - l->first], *b = &l->of[(uint32_t)f->bound - l->first];
        const struct sum *s = simt_sums_number(a) ? b : a;
        int64_t times = s->known && is_told(l, s) && !s->grain ? times_in(l, address, s, used) : 0;
        if (!times) continue;
        struct bounds r = limited(l, s, facts);
        if (r.low > r.high || !is_small(r.low) || !is_small(r.high)) continue;
        low += times * ((times > 0 ? r.low : r.high) - s->start);
        high += times * ((times > 0 ? r.high : r.low) - s->start);
        for (int k = 0; k < INDICES; k++) {
            if (l->extents[k] == 1 || !s->by[k]) continue;
            used |= 1u << k;
            left.by[k] = 0;
        }
    }
    struct bounds rest = simt_sums_bounds(l, &left);
    return (struct bounds){rest.low + low, rest.high + high};
}

/* What an instruction touches. False: it isn't known. */
static bool find_touch(const struct simt_sums *l, uint32_t pc, struct touch *x)
{
    const struct insn *i = &l->check->program->code[pc];
    x->facts = l->check->program->places[pc].facts;
    x->stores = i->memory == MEMORY_STORE;
    x->size = (int64_t)i->size * i->count;
    if (i->memory == MEMORY_ATOMIC || !is_small(i->imm) || !sum_at(l, pc, &x->sum)) return false;
    x->sum.start += i->imm;
    x->all = stretch_under(l, &x->sum, x->facts);
    return true;
}

/* Does a thread never touch by one instruction what another one stores to by the other? */
static bool never_meet(struct lattice *t, const struct touch *a, const struct touch *b)
{
    int64_t between = b->sum.start - a->sum.start;
    if (a->all.high + a->size <= b->all.low || b->all.high + b->size <= a->all.low) return true;
    t->sum = a->sum;
    if (!has_same_multiples(t, &b->sum)) return false;
    set_dimensions(t);
    find_rules(t, a->facts & b->facts);
    int64_t low = between + b->sum.down - a->sum.up - a->size + 1,
            high = between + b->sum.up - a->sum.down + b->size - 1;
    return is_small(low) && is_small(high) && forbids(t, 0, low, high);
}

/* ---- a launch ---- */
bool simt_lattice_apart(const struct simt_sums *l, const uint32_t *pcs, size_t count)
{
    struct touch x[MOST_SEEN];
    struct lattice t = {.l = l};
    if (!count || count > MOST_SEEN) return false;
    for (size_t k = 0; k < count; k++)
        if (!find_touch(l, pcs[k], &x[k])) return false;
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < count && x[k].stores; j++)
            if (!never_meet(&t, &x[k], &x[j])) return false;
    return true;
}
