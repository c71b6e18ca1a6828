/* The text of kernels/quicksort.c for one width of keys: T, LANES in a vector, NAME(x), and from the vectors'
 * operations of that width MIN, MAX, GREATER_BITS(v, pivot) (one bit a lane), LOAD_ORDER(bytes) (a permutation from
 * LANES bytes) and PERMUTE(v, order). */

/* Lane i of v with lane i ^ other: the lanes that have `bit` in their number keep the greater one. */
TARGET static inline __m256i NAME(exchange)(__m256i v, int other, int bit)
{
    T from[LANES], greater[LANES];
    for (int i = 0; i < LANES; i++) {
        from[i] = (T)(i ^ other);
        greater[i] = i & bit ? (T) ~(T)0 : 0;
    }
    __m256i w = PERMUTE(v, WIDE_ORDER(_mm256_loadu_si256((const __m256i *)from)));
    return _mm256_blendv_epi8(MIN(v, w), MAX(v, w), _mm256_loadu_si256((const __m256i *)greater));
}

/* A vector that rises and then falls, or the other way round, in order. */
TARGET static inline __m256i NAME(merge_lanes)(__m256i v)
{
#pragma GCC unroll 8
    for (int d = LANES / 2; d > 0; d /= 2) v = NAME(exchange)(v, d, d);
    return v;
}

TARGET static inline __m256i NAME(sort_lanes)(__m256i v)
{
#pragma GCC unroll 8
    for (int size = 2; size <= LANES; size *= 2) {
        v = NAME(exchange)(v, size - 1, size / 2);
#pragma GCC unroll 8
        for (int d = size / 4; d > 0; d /= 2) v = NAME(exchange)(v, d, d);
    }
    return v;
}

TARGET static inline __m256i NAME(reversed)(__m256i v)
{
    T from[LANES];
    for (int i = 0; i < LANES; i++) from[i] = (T)(LANES - 1 - i);
    return PERMUTE(v, WIDE_ORDER(_mm256_loadu_si256((const __m256i *)from)));
}

/* Neighbouring sorted runs of k vectors to one, for all pairs of them among `count` vectors. */
TARGET ALWAYS void NAME(merge_runs)(__m256i *v, const int count, const int k)
{
#pragma GCC unroll 8
    for (int at = 0; at < count; at += 2 * k) {
#pragma GCC unroll 8
        for (int i = 0; i < k; i++) {
            __m256i a = v[at + i], b = NAME(reversed)(v[at + 2 * k - 1 - i]);
            v[at + i] = MIN(a, b);
            v[at + 2 * k - 1 - i] = MAX(a, b);
        }
#pragma GCC unroll 8
        for (int d = k / 2; d > 0; d /= 2)
#pragma GCC unroll 16
            for (int i = 0; i < 2 * k; i++) {
                if (i & d) continue;
                __m256i a = v[at + i], b = v[at + i + d];
                v[at + i] = MIN(a, b);
                v[at + i + d] = MAX(a, b);
            }
    }
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) v[i] = NAME(merge_lanes)(v[i]);
}

/* n is at most count * LANES; what is missing is the greatest key, which stays last. */
TARGET ALWAYS void NAME(sort_vectors)(T *a, size_t n, const int count)
{
    __m256i v[8];
    size_t full = n / LANES;
    __m256i there = LOAD(edge + 32 - n % LANES * sizeof *a), none = _mm256_set1_epi32(-1);
#pragma GCC unroll 8
    for (size_t i = 0; i < (size_t)count; i++) {
        v[i] = none;
        if (i < full)
            v[i] = LOAD(a + i * LANES);
        else if (i == full)
            v[i] = _mm256_or_si256(_mm256_maskload_epi32((const int *)(a + i * LANES), there),
                                   _mm256_xor_si256(there, none));
        v[i] = NAME(sort_lanes)(v[i]);
    }
    if (count > 1) NAME(merge_runs)(v, count, 1);
    if (count > 2) NAME(merge_runs)(v, count, 2);
    if (count > 4) NAME(merge_runs)(v, count, 4);
#pragma GCC unroll 8
    for (size_t i = 0; i < (size_t)count; i++) {
        if (i < full)
            _mm256_storeu_si256((__m256i *)(a + i * LANES), v[i]);
        else if (i == full)
            _mm256_maskstore_epi32((int *)(a + i * LANES), there, v[i]);
    }
}

TARGET static void NAME(sort_few)(T *a, size_t n)
{
    if (n <= LANES)
        NAME(sort_vectors)(a, n, 1);
    else if (n <= 2 * LANES)
        NAME(sort_vectors)(a, n, 2);
    else if (n <= 4 * LANES)
        NAME(sort_vectors)(a, n, 4);
    else
        NAME(sort_vectors)(a, n, 8);
}

/* One vector, its small keys first and its great ones last, is written whole at both ends; what is wrong there is
 * written over later. */
#define PART(v)                                                                                                        \
    do {                                                                                                               \
        unsigned greater = GREATER_BITS(v, pivot);                                                                     \
        __m256i w = PERMUTE(v, LOAD_ORDER(NAME(orders)[greater]));                                                     \
        int great_count = __builtin_popcount(greater);                                                                 \
        _mm256_storeu_si256((__m256i *)left, w);                                                                       \
        _mm256_storeu_si256((__m256i *)(right - LANES), w);                                                            \
        left += LANES - great_count;                                                                                   \
        right -= great_count;                                                                                          \
    } while (0)
#define SIDE (4 * LANES) /* so many keys are read from one side at a time */

/* What is up to the pivot to the front; returns how many that are. n is 2 * SIDE at least. As many keys are held aside
 * from each end, and always those at the side with less room are read next, so there is room for them at both. */
TARGET static size_t NAME(partition)(T *a, size_t n, T pivot_key)
{
    __m256i pivot = SPREAD(pivot_key);
    T held[3 * SIDE], *from = a + SIDE, *to = a + n - SIDE; /* not read yet: from..to */
    T *left = a, *right = a + n;                            /* not written yet: left..from and to..right */
    memcpy(held, a, SIDE * sizeof *a);
    memcpy(held + SIDE, to, SIDE * sizeof *a);
    while (to - from >= SIDE) {
        const ptrdiff_t front = -(ptrdiff_t)(from - left <= right - to); /* a mask: no jump could foretell it */
        const T *at = to - SIDE + ((from - to + SIDE) & front);
        from += SIDE & front;
        to -= SIDE & ~front;
        __m256i v0 = LOAD(at), v1 = LOAD(at + LANES), v2 = LOAD(at + 2 * LANES), v3 = LOAD(at + 3 * LANES);
        PART(v0);
        PART(v1);
        PART(v2);
        PART(v3);
    }
    size_t count = 2 * SIDE + (size_t)(to - from), i = 0;
    memcpy(held + 2 * SIDE, from, SIDE * sizeof *a); /* more than is needed, and there is as much */
    for (; i + 2 * LANES <= count; i += LANES) {
        __m256i v = LOAD(held + i);
        PART(v);
    }
    for (; i < count; i++) { /* at both ends, one of which moves on */
        bool small = held[i] <= pivot_key;
        *left = right[-1] = held[i];
        left += small;
        right -= !small;
    }
    return (size_t)(left - a);
}
#undef PART
#undef SIDE

/* The middle one of some keys from all over. */
TARGET static T NAME(choose)(const T *a, size_t n)
{
    T some[8 * LANES];
    size_t count = n < 4096 ? LANES : 8 * LANES;
    for (size_t i = 0; i < count; i++) some[i] = a[n / count * i + n / count * (i * 7 % count) / count];
    NAME(sort_few)(some, count);
    return some[count / 2 - 1];
}

TARGET static void NAME(sift)(T *a, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[i] >= a[child]) return;
        T t = a[i];
        a[i] = a[child];
        a[child] = t;
    }
}

/* For rows made to defeat the choice of pivots. */
TARGET static void NAME(heap_sort)(T *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) NAME(sift)(a, n, i);
    for (size_t last = n; last-- > 1;) {
        T t = a[0];
        a[0] = a[last];
        a[last] = t;
        NAME(sift)(a, last, 0);
    }
}

TARGET static void NAME(sort)(T *a, size_t n, int depth)
{
    while (n > 8 * LANES) {
        if (depth-- == 0) {
            NAME(heap_sort)(a, n);
            return;
        }
        T pivot = NAME(choose)(a, n);
        size_t small = NAME(partition)(a, n, pivot);
        if (small == n) { /* the pivot is the greatest key; those that are equal to it go to the end */
            if (pivot == 0) return;
            n = NAME(partition)(a, n, (T)(pivot - 1));
        } else if (small < n - small) {
            NAME(sort)(a, small, depth);
            a += small;
            n -= small;
        } else {
            NAME(sort)(a + small, n - small, depth);
            n = small;
        }
    }
    NAME(sort_few)(a, n);
}

#undef T
#undef LANES
#undef NAME
#undef MIN
#undef MAX
#undef SPREAD
#undef GREATER_BITS
#undef WIDE_ORDER
#undef LOAD_ORDER
#undef PERMUTE
