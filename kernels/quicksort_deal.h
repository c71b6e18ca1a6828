/* Deals keys into KN_QUICK_PARTS parts about as many bounds less one, elsewhere: so a long row is parted by all threads
 * at a time, in as few passes over memory as that takes. Included by kernels/quicksort.c for each width, in front of
 * kernels/quicksort_body.h, which says what the names mean. */

/* Adds how many of n keys belong to each part: part i has what is above i bounds, which ascend. */
TARGET static void NAME(count_parts)(const T *a, size_t n, const T *bounds, size_t *counts)
{
    enum { LAST = KN_QUICK_PARTS - 1 };
    V pivots[LAST];
    size_t small[LAST] = {0}, i = 0;
#pragma GCC unroll 8
    for (int k = 0; k < LAST; k++) pivots[k] = RANK(SPREAD(bounds[k]));
    for (; i + LANES <= n; i += LANES) {
        const V v = RANK(LOAD(a + i));
#pragma GCC unroll 8
        for (int k = 0; k < LAST; k++) small[k] += (size_t)__builtin_popcount(SMALL_BITS(v, pivots[k]));
    }
    for (; i < n; i++)
        for (int k = 0; k < LAST; k++) small[k] += a[i] <= bounds[k];
    for (int k = 0; k < LAST; k++) {
        counts[k] += small[k] - (k > 0 ? small[k - 1] : 0);
        counts[LAST] -= k == LAST - 1 ? small[k] : 0;
    }
    counts[LAST] += n;
}

/* Moves n keys to where to[part] says, one behind the other, and that on. Whole vectors are stored as long as they do
 * not reach over the part's end: what is too much of them is written over later, and storing some lanes alone takes
 * some processors that have no masks several times as long. */
TARGET static void NAME(deal)(const T *a, size_t n, const T *bounds, T **to, T *const *ends)
{
    enum { LAST = KN_QUICK_PARTS - 1 };
    V pivots[LAST];
    T *at[KN_QUICK_PARTS];
    size_t i = 0;
    memcpy(at, to, sizeof at);
#pragma GCC unroll 8
    for (int k = 0; k < LAST; k++) pivots[k] = RANK(SPREAD(bounds[k]));
    for (; i + LANES <= n; i += LANES) {
        const V v = LOAD(a + i), rank = RANK(v);
        unsigned below = 0;
#pragma GCC unroll 8
        for (int k = 0; k < KN_QUICK_PARTS; k++) {
            const unsigned up_to = k < LAST ? SMALL_BITS(rank, pivots[k]) : (unsigned)((UINT64_C(1) << LANES) - 1);
            const unsigned set = up_to & ~below;
            const size_t many = (size_t)__builtin_popcount(set);
            const V w = NAME(set_first)(v, set);
            if (ends[k] - at[k] >= LANES)
                STORE(at[k], w);
            else
                STORE_FIRST(at[k], many, w);
            at[k] += many;
            below = up_to;
        }
    }
    for (; i < n; i++) {
        int part = 0;
        for (int k = 0; k < LAST; k++) part += a[i] > bounds[k];
        *at[part]++ = a[i];
    }
    memcpy(to, at, sizeof at);
}
