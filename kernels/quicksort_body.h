/* The text of kernels/quicksort.c for one width of keys and of vectors: T, LANES in a vector of type V, NAME(x),
 * TARGET, LOAD, STORE, OR, LOAD_FIRST of n keys with ones behind them, STORE_FIRST, and from the vectors' operations of
 * that width MIN, GREATER(MIN(a, b), a, b), REST(m, a, b) (what of a and b is not in m, which has one of them in each
 * lane), REST_AT(bit, MIN(a, b), a, b) (in lanes whose number has the bit, else the minimum), RANK(v) (what these
 * compare, from keys and back), SPREAD(key), SMALL_BITS(v, pivot) of ranks (one bit a lane), swap_lanes, choose_lanes,
 * transpose, set_first (those whose bit is set, behind them anything), store_sides (those whose bit is set to `left`,
 * the others so that they end a vector behind left + room, and anything between them), SORT_FEWER of 8 * LANES at most.
 *
 * Few keys are sorted as a table of `rows` vectors: every column for itself, then neighbouring columns together, as
 * bitonic networks do it. So most steps are between whole vectors. */

/* Lane i of v with lane i ^ other: the lanes that have `bit` in their number keep the greater one. */
TARGET ALWAYS V NAME(exchange)(V v, const int other, const int bit)
{
    const V w = NAME(swap_lanes)(v, other);
    return REST_AT(bit, MIN(v, w), v, w);
}

TARGET ALWAYS void NAME(compare)(V *v, int i, int j)
{
    const V a = v[i], b = v[j], least = MIN(a, b);
    v[i] = least;
    v[j] = GREATER(least, a, b);
}

/* Rows i and j, which are as far from the ends: what is first in sorted neighbours of `columns` columns each with what
 * is last. */
TARGET ALWAYS void NAME(mirror_rows)(V *v, int i, int j, const int columns)
{
    const int mirror = 2 * columns - 1;
    const V a = v[i], b = NAME(swap_lanes)(v[j], mirror), least = MIN(a, b),
            least_first = REST_AT(columns, least, a, b);
    v[i] = least_first;
    v[j] = NAME(swap_lanes)(REST(least_first, a, b), mirror);
}

/* Sorted neighbours of `columns` columns each to one. */
TARGET ALWAYS void NAME(merge_columns)(V *v, const int rows, const int columns)
{
    if (rows == 1) v[0] = NAME(exchange)(v[0], 2 * columns - 1, columns);
#pragma GCC unroll 8
    for (int i = 0; i < rows / 2; i++) NAME(mirror_rows)(v, i, rows - 1 - i, columns);
#pragma GCC unroll 3
    for (int d = columns / 2; d > 0; d /= 2)
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) v[i] = NAME(exchange)(v[i], d, d);
#pragma GCC unroll 4
    for (int d = rows / 2; d > 0; d /= 2)
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
            if (!(i & d)) NAME(compare)(v, i, i + d);
}

TARGET ALWAYS void NAME(sort_each_column)(V *v, const int rows)
{
    const int count = rows == 16 ? 63 : rows == 8 ? 19 : 0;
#pragma GCC unroll 64
    for (int i = 0; i < count; i++) NAME(compare)(v, network[i][0], network[i][1]);
}

TARGET ALWAYS void NAME(sort_rows)(V *v, const int rows)
{
    if (rows > 1) NAME(sort_each_column)(v, rows);
#pragma GCC unroll 4
    for (int columns = 1; columns < LANES; columns *= 2) NAME(merge_columns)(v, rows, columns);
}

/* LANES keys at most. What is missing is the greatest key, which stays last. */
TARGET static void NAME(sort_vector)(T *a, size_t n)
{
    V v = RANK(LOAD_FIRST(a, n));
    NAME(sort_rows)(&v, 1);
    STORE_FIRST(a, n, RANK(v));
}

/* From least * LANES to rows * LANES keys. The vectors that may be behind the end are the last one in its stead, less
 * what is in the vector before: this takes no jumps. */
TARGET ALWAYS void NAME(sort_table)(T *a, size_t n, const int least, const int rows)
{
    V v[MOST_ROWS];
    T sorted[MOST_ROWS * LANES];
    const int end = (int)n - LANES;
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        int at = i * LANES < end ? i * LANES : end;
        int twice = i * LANES - at < LANES ? i * LANES - at : LANES;
        v[i] = LOAD(a + at);
        if (i >= least) v[i] = OR(v[i], LOAD(edge + sizeof edge / 2 - (size_t)twice * sizeof *a));
        v[i] = RANK(v[i]);
    }
    NAME(sort_rows)(v, rows);
#pragma GCC unroll 4
    for (int i = 0; i < rows; i += LANES) NAME(transpose)(v + i);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) { /* every transposed table has a part of each column */
        V w = RANK(v[i % (rows / LANES) * LANES + i / (rows / LANES)]);
        if (i < least) STORE(a + i * LANES, w);
        if (i + 1 >= least) STORE(sorted + i * LANES, w);
    }
#pragma GCC unroll 16
    for (int i = least; i < rows; i++) {
        int at = i * LANES < end ? i * LANES : end;
        STORE(a + at, LOAD(sorted + at));
    }
}

#include "kernels/quicksort_tall.h"

TARGET static void NAME(sort_few)(T *a, size_t n)
{
    if (n <= LANES)
        NAME(sort_vector)(a, n);
    else if (n <= 8 * LANES)
        SORT_FEWER(a, n);
    else if (n <= MOST_ROWS * LANES)
        NAME(sort_table)(a, n, 8, MOST_ROWS);
    else
        NAME(sort_more)(a, n);
}

/* The small keys of a vector to one end, the great ones to the other; what is written beside them is written over
 * later. */
#define PART(v)                                                                                                        \
    do {                                                                                                               \
        unsigned small = SMALL_BITS(RANK(v), pivot);                                                                   \
        room -= LANES;                                                                                                 \
        NAME(store_sides)(left, room, v, small);                                                                       \
        left += __builtin_popcount(small);                                                                             \
    } while (0)
#define SIDE  (8 * LANES) /* so many keys are read from one side at a time */
#define AHEAD 2048        /* bytes, so far before they are read they are fetched */

/* What is up to the pivot to the front; returns how many that are. n is 2 * SIDE at least. As many keys are held aside
 * from each end, and always those at the side with less room are read next, so there is room for them at both. */
TARGET static size_t NAME(partition)(T *a, size_t n, T pivot_key)
{
    V pivot = RANK(SPREAD(pivot_key));
    T held[3 * SIDE], *from = a + SIDE, *to = a + n - SIDE; /* not read yet: from..to */
    T *left = a;                                            /* not written yet: left..from and to..left + room */
    size_t room = n;
    memcpy(held, a, SIDE * sizeof *a);
    memcpy(held + SIDE, to, SIDE * sizeof *a);
    while (to - from >= SIDE) {
        const ptrdiff_t front = -(ptrdiff_t)(from - left <= SIDE); /* a mask: no jump could foretell it */
        const T *at = to - SIDE + ((from - to + SIDE) & front);
        from += SIDE & front;
        to -= SIDE & ~front;
        V v[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) { /* processors do not foresee what is read at two places by turns */
            __builtin_prefetch((const char *)(from + i * LANES) + AHEAD);
            __builtin_prefetch((const char *)(to - (i + 1) * LANES) - AHEAD);
            v[i] = LOAD(at + i * LANES);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) PART(v[i]);
    }
    memcpy(held + 2 * SIDE, from, SIDE * sizeof *a); /* more than is needed, and there is as much */
    size_t i = 0;
    for (; room >= 2 * LANES; i += LANES) {
        V v = LOAD(held + i);
        PART(v);
    }
    for (; room > 0; i++) { /* at both ends, one of which moves on */
        bool small = held[i] <= pivot_key;
        room--;
        *left = left[room] = held[i];
        left += small;
    }
    return (size_t)(left - a);
}
#undef PART
#undef SIDE
#undef AHEAD

/* About the middle one: of the lanes' middle ones among 8 vectors from all over. */
TARGET static T NAME(choose)(const T *a, size_t n)
{
    V v[8];
    const size_t step = (n - LANES) / 7;
    T middle[LANES];
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) v[i] = RANK(LOAD(a + i * step));
    NAME(sort_each_column)(v, 8);
    NAME(sort_rows)(v + 3, 1);
    STORE(middle, RANK(v[3]));
    return middle[LANES / 2 - 1];
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
    while (n > MOST_TALL * BLOCK * LANES) {
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
#undef V
#undef LOAD
#undef STORE
#undef OR
#undef LOAD_FIRST
#undef STORE_FIRST
#undef TARGET
#undef SORT_FEWER
#undef LANES
#undef NAME
#undef MIN
#undef MAX
#undef GREATER
#undef REST
#undef REST_AT
#undef RANK
#undef SPREAD
#undef SMALL_BITS
