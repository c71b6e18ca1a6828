/* Numbers that threads take apart by division, as `i / width` and `i % width`, or batch, head and place of `i`: terms
 * (decode_terms.c) of one sum of indices, divided by numbers of which each is a multiple of the next smaller one.
 *
 * A quotient counts as one more index, of which sums have multiples; what is left is the number less a multiple of its
 * quotient. Where the parts are put together again as they were, the quotients cancel out. Where not, as in a
 * transposed copy, the digits help: the number is the lowest digit and multiples of the others, and so are its
 * quotients. Threads that have different numbers differ in a digit. */
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/check_sums.h"

bool simt_radix_parts(const struct sum *s)
{
    int64_t any = 0;
    for (int k = THREAD_INDICES; k < INDICES; k++) any |= s->by[k];
    return any != 0;
}

/* The index of the number divided by this; -1: there is none, or none that fits beside the others. */
static int find_quotient(struct radix *x, int64_t divisor)
{
    for (int k = 0; k < x->count; k++) {
        int64_t other = x->divisors[k];
        if (other == divisor) return THREAD_INDICES + k;
        if (other % divisor && divisor % other) return -1;
    }
    if (x->count == QUOTIENTS) return -1;
    x->divisors[x->count] = divisor;
    return THREAD_INDICES + x->count++;
}

/* Is it the number that is taken apart in this launch? The first one is. */
static bool is_number(struct simt_sums *l, const struct sum *s)
{
    struct radix *x = &l->radix;
    if (simt_radix_parts(s)) return false;
    if (x->count) return s->start == x->number.start && !memcmp(s->by, x->number.by, sizeof s->by);
    x->number = *s;
    x->most = simt_sums_bounds(l, s).high;
    return true;
}

/* The one quotient that the sum is; -1: it is something else. */
static int only_quotient(const struct sum *s)
{
    int only = -1;
    for (int k = 0; k < INDICES; k++) {
        if (!s->by[k]) continue;
        if (only >= 0 || k < THREAD_INDICES || s->by[k] != 1) return -1;
        only = k;
    }
    return s->start ? -1 : only;
}

static bool is_multiple(const struct sum *s, int64_t of)
{
    bool all = s->start % of == 0;
    for (int k = 0; k < INDICES; k++) all &= s->by[k] % of == 0;
    return all;
}

static void divide(struct sum *s, int64_t by)
{
    s->start /= by;
    for (int k = 0; k < INDICES; k++) s->by[k] /= by;
}

struct sum simt_radix_quotient(struct simt_sums *l, const struct sum *a, int64_t by, int64_t most)
{
    const struct sum unknown = {0};
    if (by < 1 || !a->known || a->step || a->grain) return unknown;
    struct bounds r = simt_sums_bounds(l, a);
    if (r.low < 0 || r.high > most) return unknown;
    if (r.high < by) return (struct sum){.known = true};
    struct sum out = {.known = true, .start = a->start}, rest = {.known = true, .start = a->start};
    memcpy(out.by, a->by, sizeof out.by);
    if (is_multiple(a, by)) {
        divide(&out, by);
        return out;
    }
    out.start = 0;
    for (int k = 0; k < INDICES; k++) { /* whole multiples of quotients are divided by themselves */
        bool whole = k >= THREAD_INDICES && a->by[k] % by == 0;
        rest.by[k] = whole ? 0 : a->by[k];
        out.by[k] = whole ? a->by[k] / by : 0;
    }
    int quotient = only_quotient(&rest);
    int64_t divisor = by;
    if (quotient >= 0 && __builtin_mul_overflow(l->radix.divisors[quotient - THREAD_INDICES], by, &divisor))
        return unknown;
    if (quotient < 0 && (simt_sums_bounds(l, &rest).low < 0 || !is_number(l, &rest))) return unknown;
    int index = find_quotient(&l->radix, divisor);
    if (index < 0) return unknown;
    l->extents[index] = l->radix.most / divisor + 1;
    out.by[index] += 1;
    return out;
}

/* What a compiler makes of x / d: x times a number near 2^bits / d, of which the lowest bits are dropped. Exact where
 * e, what d times that number is more than 2^bits, times x is less than 2^bits (Granlund and Montgomery, "Division by
 * Invariant Integers using Multiplication", 1994). */
struct sum simt_radix_shift(struct simt_sums *l, const struct sum *a, int64_t bits)
{
    const struct sum unknown = {0};
    if (bits < 0 || bits > 63 || !a->known || a->step || a->grain) return unknown;
    struct bounds r = simt_sums_bounds(l, a);
    if (r.low < 0) return unknown;
    if (bits > 61) return r.high < INT64_C(1) << 62 ? (struct sum){.known = true} : unknown;
    int64_t factor = a->start, by = INT64_C(1) << bits;
    for (int k = 0; k < INDICES; k++) factor = simt_common(factor, a->by[k]);
    if (factor < 2 || is_multiple(a, by)) return simt_radix_quotient(l, a, by, FARTHEST);
    struct sum x = *a;
    divide(&x, factor);
    int64_t divisor = by / factor + (by % factor != 0), error = divisor * factor - by,
            most = simt_sums_bounds(l, &x).high;
    if (most > INT32_MAX || (error && most >= by / error)) return simt_radix_quotient(l, a, by, FARTHEST);
    return simt_radix_quotient(l, &x, divisor, FARTHEST);
}

/* ---- digits ---- */
static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* How often the sum has the number that is taken apart. False: it has parts of it in other ways. */
static bool times_of(const struct simt_sums *l, const struct sum *s, int64_t *times)
{
    const struct sum *x = &l->radix.number;
    bool found = false;
    *times = 0;
    for (int k = 0; k < THREAD_INDICES; k++) {
        if (!x->by[k] || l->extents[k] == 1) continue;
        if (!found) *times = s->by[k] / x->by[k];
        if (s->by[k] != *times * x->by[k]) return false;
        found = true;
    }
    return true;
}

bool simt_radix_digits(const struct simt_sums *l, const struct sum *s, struct sum *out, int64_t count[INDICES])
{
    const struct radix *x = &l->radix;
    int64_t divisors[QUOTIENTS + 1] = {1}, times, part = 0;
    if (!x->count || !times_of(l, s, &times)) return false;
    memcpy(divisors + 1, x->divisors, (size_t)x->count * sizeof *divisors);
    qsort(divisors, (size_t)x->count + 1, sizeof *divisors, by_size);
    *out = *s;
    memset(out->by + THREAD_INDICES, 0, (INDICES - THREAD_INDICES) * sizeof *out->by);
    bool fits = is_small(x->number.start) && !__builtin_mul_overflow(times, x->number.start, &part);
    if (fits) out->start -= part;
    for (int k = 0; k < THREAD_INDICES; k++) {
        bool apart = x->number.by[k] && l->extents[k] > 1;
        count[k] = apart ? 1 : l->extents[k];
        if (apart) out->by[k] = 0;
    }
    for (int j = 0; j <= QUOTIENTS; j++) {
        int64_t *by = &out->by[THREAD_INDICES + j];
        count[THREAD_INDICES + j] = 1;
        if (j > x->count) continue;
        fits &= !__builtin_mul_overflow(times, divisors[j], by);
        for (int q = 0; q < x->count; q++) { /* a quotient has the digits from its own on */
            if (x->divisors[q] > divisors[j]) continue;
            fits &= !__builtin_mul_overflow(s->by[THREAD_INDICES + q], divisors[j] / x->divisors[q], &part);
            if (fits) *by += part;
        }
        fits &= is_small(*by);
        count[THREAD_INDICES + j] = j < x->count ? divisors[j + 1] / divisors[j] : x->most / divisors[j] + 1;
    }
    return fits;
}

/* Mixed radix: an index reaches no farther than to the next larger multiple. */
bool simt_radix_tells(const struct simt_sums *l)
{
    const struct sum *x = &l->radix.number;
    bool taken[THREAD_INDICES] = {false};
    int64_t reach = 0;
    for (int n = 0; n < THREAD_INDICES; n++) {
        int least = -1;
        for (int k = 0; k < THREAD_INDICES; k++) {
            bool left = !taken[k] && x->by[k] && l->extents[k] > 1;
            if (left && (least < 0 || llabs(x->by[k]) < llabs(x->by[least]))) least = k;
        }
        if (least < 0) break;
        if (llabs(x->by[least]) <= reach) return false;
        taken[least] = true;
        reach += llabs(x->by[least]) * (l->extents[least] - 1);
    }
    return l->radix.count > 0;
}
