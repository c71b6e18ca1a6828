/* Threads whose places lie among each other's and yet never meet, as on a chessboard whose black fields are computed from
 * the white ones around them: a launch for each colour (red-black Gauss-Seidel, the Ising model).
 *
 * Two threads' indices differ by some d. One stores to what the other touches where the multiples of d that make up
 * addresses come to what lies between the two instructions' places. All such d are tried, the index with the greatest
 * multiple first, so that the smaller ones have few left to choose from. Each must be forbidden by what both threads'
 * instructions stand behind: a number that is the same for both modulo 2 (check_congruence.c) or an index that stays
 * below a bound; else the threads may meet. */
#include <stdlib.h>
#include "runtime/simt/check_sums.h"

#define DIMENSIONS (INDICES + 1) /* and the lowest bits of a number */
#define MOST_RULES 12
#define MOST_TRIES 5000 /* of a launch's instructions together */

struct rule { /* of d: it makes this a multiple of the modulus, or (modulus 0) no farther from 0 than `most` */
    uint32_t modulus;
    int64_t by[DIMENSIONS], most;
};

struct lattice {
    const struct simt_sums *l;
    const struct sum *sum;                       /* that all instructions have, but for where it starts */
    int64_t by[DIMENSIONS], farthest[DIMENSIONS]; /* of addresses, and how far two threads' indices can be apart */
    int64_t behind[DIMENSIONS + 1];              /* how far the indices from one on lead together */
    int order[DIMENSIONS];                       /* by multiples, the greatest first */
    int64_t d[DIMENSIONS];
    struct rule rules[MOST_RULES];
    int rule_count;
    uint32_t tries;
};

/* Can no multiple of an index lead so far that sums of them don't fit? */
static bool is_near(const struct simt_sums *l, const struct sum *s)
{
    bool near = s->rest.most * llabs(s->rest.by) < FARTHEST;
    for (int k = 0; k < INDICES; k++) near &= llabs(s->by[k]) < FARTHEST / l->extents[k];
    return near;
}

static const struct sum *sum_at(const struct simt_sums *l, uint32_t pc)
{
    uint32_t term = l->check->program->places[pc].term;
    const struct sum *s = term ? &l->of[term - 1 - l->first] : NULL;
    return s && (s->known || s->partly) && !s->step && is_near(l, s) ? s : NULL;
}

/* ---- what forbids ---- */
static void add_rule(struct lattice *t, const struct rule *r)
{
    if (t->rule_count < MOST_RULES) t->rules[t->rule_count++] = *r;
}

static void add_congruence(struct lattice *t, const struct congruence *c, int64_t of_rest)
{
    struct rule r = {.modulus = c->modulus, .by[INDICES] = of_rest};
    for (int k = 0; k < INDICES; k++) r.by[k] = c->by[k] & (c->modulus - 1);
    if (c->modulus > 1) add_rule(t, &r);
}

/* Where an index, or a sum of some, stays below a bound: two of them are no farther apart than that. */
static void add_limit(struct lattice *t, const struct fact *f, const struct sum *s)
{
    int64_t limit;
    bool same = s->known || simt_sums_same_rest(t->l, &s->rest, &t->sum->rest);
    if ((!s->known && !s->partly) || !same || !is_near(t->l, s) || s->step || s->grain || !simt_sums_limit(t->l, f, &limit)) return;
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
    t->rule_count = 0;
    if (t->sum->partly) {
        const struct sum *of = &t->l->of[(uint32_t)t->sum->rest.of - 1 - t->l->first];
        struct congruence c = of->mod;
        if (c.modulus > t->sum->rest.most) c.modulus = (uint32_t)t->sum->rest.most + 1;
        add_congruence(t, &c, -1);
    }
    for (; facts; facts &= facts - 1) {
        const struct fact *f = simt_sums_fact(t->l, __builtin_ctzll(facts));
        const struct sum *s = &t->l->of[(uint32_t)f->term - t->l->first];
        if (f->equal && simt_sums_number(&t->l->of[(uint32_t)f->bound - t->l->first]))
            add_congruence(t, &s->mod, 0);
        add_limit(t, f, s);
    }
}

static bool is_forbidden(const struct lattice *t)
{
    for (int n = 0; n < t->rule_count; n++) {
        const struct rule *r = &t->rules[n];
        int64_t sum = 0;
        for (int k = 0; k < DIMENSIONS; k++) sum += r->by[k] * t->d[k];
        if (r->modulus ? sum & (r->modulus - 1) : llabs(sum) > r->most) return true;
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

/* Does a thread never touch by one instruction what another one stores to by the other? */
static bool never_meet(struct lattice *t, uint32_t store, uint32_t other)
{
    const struct insn *a = &t->l->check->program->code[store], *b = &t->l->check->program->code[other];
    const struct place *places = t->l->check->program->places;
    const struct sum *s = sum_at(t->l, store), *r = sum_at(t->l, other);
    int64_t between = r->start + b->imm - s->start - a->imm;
    if (!is_small(a->imm) || !is_small(b->imm) || !is_small(between)) return false;
    find_rules(t, places[store].facts & places[other].facts);
    int64_t low = between + r->down - s->up - (int64_t)a->size * a->count + 1,
            high = between + r->up - s->down + (int64_t)b->size * b->count - 1;
    return is_small(low) && is_small(high) && forbids(t, 0, low, high);
}

/* ---- a launch ---- */
static bool has_same_multiples(const struct lattice *t, const struct sum *s)
{
    bool same = s->partly == t->sum->partly;
    if (same && s->partly)
        same = s->rest.by == t->sum->rest.by && simt_sums_same_rest(t->l, &s->rest, &t->sum->rest);
    for (int k = 0; k < INDICES; k++) same &= t->l->extents[k] == 1 || s->by[k] == t->sum->by[k];
    return same;
}

static void set_dimensions(struct lattice *t)
{
    for (int k = 0; k < INDICES; k++) {
        t->farthest[k] = t->l->extents[k] - 1;
        t->by[k] = t->farthest[k] ? t->sum->by[k] : 0;
    }
    t->farthest[INDICES] = t->sum->partly ? t->sum->rest.most : 0;
    t->by[INDICES] = t->sum->partly ? t->sum->rest.by : 0;
    for (int k = 0; k < DIMENSIONS; k++) {
        int n = k;
        for (; n > 0 && llabs(t->by[t->order[n - 1]]) < llabs(t->by[k]); n--) t->order[n] = t->order[n - 1];
        t->order[n] = k;
    }
    for (int n = DIMENSIONS; n-- > 0;)
        t->behind[n] = t->behind[n + 1] + llabs(t->by[t->order[n]]) * t->farthest[t->order[n]];
}

bool simt_lattice_apart(const struct simt_sums *l, const uint32_t *pcs, size_t count)
{
    const struct insn *code = l->check->program->code;
    struct lattice t = {.l = l, .sum = count ? sum_at(l, pcs[0]) : NULL};
    for (size_t k = 0; k < count; k++) {
        const struct sum *s = sum_at(l, pcs[k]);
        if (!s || !t.sum || !has_same_multiples(&t, s) || code[pcs[k]].memory == MEMORY_ATOMIC) return false;
    }
    if (!count) return false;
    set_dimensions(&t);
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < count && code[pcs[k]].memory == MEMORY_STORE; j++)
            if (!never_meet(&t, pcs[k], pcs[j])) return false;
    return true;
}
