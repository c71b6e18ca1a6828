/* Finds the few least of many keys without sorting the others: what is above the k-th of the lanes' least ones is none
 * of them, since each lane has another key. Included by kernels/quicksort.c for 64 bits of each width of vectors, in
 * front of kernels/quicksort_body.h, which says what the names mean. */
TARGET static void NAME(sort)(T *a, size_t n, int depth);

/* Moves what can be among the k least of n keys to the front, in any order, and returns how many that are. n is 8
 * vectors at least, k as many as those have lanes at most. */
TARGET static size_t NAME(keep_least)(T *a, size_t n, size_t k)
{
    enum { ROUND = 8 * LANES };
    V least[8];
    T found[ROUND];
    size_t kept = 0, i;
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) least[j] = RANK(LOAD(a + j * LANES));
    for (i = ROUND; i + ROUND <= n; i += ROUND) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            const V v = RANK(LOAD(a + i + (size_t)j * LANES));
            least[j] = MIN(least[j], v);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) STORE(found + j * LANES, RANK(least[j]));
    NAME(sort)(found, ROUND, 0);
    const T limit = found[k - 1];
    const V pivot = RANK(SPREAD(limit));
    for (i = 0; i + LANES <= n; i += LANES) {
        const V v = LOAD(a + i);
        const unsigned small = SMALL_BITS(RANK(v), pivot);
        if (small == 0) continue;
        STORE(a + kept, NAME(set_first)(v, small));
        kept += (size_t)__builtin_popcount(small);
    }
    for (; i < n; i++) {
        const T key = a[i];
        a[kept] = key;
        kept += key <= limit;
    }
    return kept;
}
