/* What of a term is known modulo a power of 2 (check_sums.h), also where conditions or the lowest bits of a number make
 * it no sum: (i + j) % 2 is i + j modulo 2, and so is i ^ j, whatever else they may be. Numbers of 32 bits that go
 * round are no worse for it. Behind that, the bits of a number that a sum has besides. */
#include "runtime/simt/check_sums.h"

#define MODULUS (1u << 31) /* of what is known altogether */

/* The greatest power of 2, up to the modulus, that a number is a multiple of. */
static uint32_t power_in(int64_t n)
{
    uint64_t all = (uint64_t)n | MODULUS;
    return (uint32_t)(all & -all);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static struct congruence of_sum(const struct sum *s)
{
    struct congruence r = {smaller(power_in(s->step), power_in(s->grain)), {0}};
    for (int k = 0; k < THREAD_INDICES; k++) r.by[k] = (uint32_t)s->by[k];
    for (int k = THREAD_INDICES; k < INDICES; k++) r.modulus = smaller(r.modulus, power_in(s->by[k]));
    return r;
}

static struct congruence combined(const struct congruence *a, const struct congruence *b, uint32_t sign)
{
    struct congruence r = {smaller(a->modulus, b->modulus), {0}};
    for (int k = 0; k < THREAD_INDICES; k++) r.by[k] = a->by[k] + sign * b->by[k];
    return r;
}

static struct congruence multiplied(const struct sum *a, const struct sum *b)
{
    const struct sum *x = simt_sums_number(b) ? a : b;
    struct congruence r = x->mod;
    int64_t by = simt_sums_number(b) ? b->start : a->start;
    if (!simt_sums_number(a) && !simt_sums_number(b)) return (struct congruence){0};
    for (int k = 0; k < THREAD_INDICES; k++) r.by[k] *= (uint32_t)by;
    return r;
}

/* With the bits of a number: its lowest ones are those of the other, or else 0. */
static struct congruence masked(const struct sum *a, const struct sum *b)
{
    if (!simt_sums_number(b)) return (struct congruence){0};
    struct congruence r = {power_in(b->start), {0}}, low = a->mod;
    if (r.modulus > 1) return r;
    low.modulus = smaller(low.modulus, power_in(~b->start));
    return low;
}

struct congruence simt_congruence_of(const struct term *t, const struct sum *s, const struct sum *a,
                                     const struct sum *b)
{
    struct congruence r = {0};
    if (s->known) return of_sum(s);
    switch (t->kind) {
    case TERM_ADD: return combined(&a->mod, &b->mod, 1);
    case TERM_SUB: return combined(&a->mod, &b->mod, UINT32_MAX);
    case TERM_MUL: return multiplied(a, b);
    case TERM_AND: return masked(a, b);
    case TERM_XOR:
        r = combined(&a->mod, &b->mod, 1);
        r.modulus = smaller(r.modulus, 2);
        return r;
    case TERM_EXTEND_S:
    case TERM_EXTEND_U:
    case TERM_NARROW:
    case TERM_WAY: return a->mod;
    default: return r;
    }
}

/* ---- bits of numbers ---- */
/* Has each thread one such number, however often it comes there? */
static bool is_steady(const struct simt_sums *l, int term)
{
    const struct sum *s = &l->of[(uint32_t)term - l->first];
    return (s->known || (s->partly && is_steady(l, s->rest.of - 1))) && !s->step && !s->grain;
}

bool simt_sums_same_rest(const struct simt_sums *l, const struct rest *a, const struct rest *b)
{
    if (!a->of || !b->of || !is_steady(l, a->of - 1)) return false;
    const struct sum *x = &l->of[(uint32_t)a->of - 1 - l->first], *y = &l->of[(uint32_t)b->of - 1 - l->first];
    bool same = a->of == b->of || (x->known && y->known && !y->step && !y->grain);
    return same && a->from == b->from && a->most == b->most && x->start == y->start &&
           !memcmp(x->by, y->by, sizeof x->by);
}

/* Bits of what is no number, by those of one that stand side by side: the others are cleared, or (xor) these turned. */
struct sum simt_sums_bits(const struct simt_sums *l, const struct term *t)
{
    const struct sum *a = &l->of[(uint32_t)t->a - l->first], *b = &l->of[(uint32_t)t->b - l->first];
    bool swap = simt_sums_number(a), turns = t->kind == TERM_XOR;
    const struct sum *of = swap ? b : a, *mask = swap ? a : b;
    struct sum s = {0};
    if (!simt_sums_number(mask) || mask->start < 1 || mask->start > INT32_MAX >> 1 || (turns && !of->known)) return s;
    struct rest r = {(swap ? t->b : t->a) + 1, __builtin_ctzll((uint64_t)mask->start), 0, 0};
    r.most = mask->start >> r.from;
    r.by = turns ? -(INT64_C(2) << r.from) : INT64_C(1) << r.from;
    if (r.most & (r.most + 1)) return s;
    struct bounds b_of = simt_sums_bounds(l, of);
    if (turns) s = *of, s.start += mask->start;
    s.natural = turns && !of->step && b_of.low >= 0 && b_of.high + mask->start <= INT32_MAX;
    s.within = 0;
    s.known = s.absent = false;
    s.partly = true;
    s.rest = r;
    return s;
}
