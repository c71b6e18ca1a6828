/* Sorting a table of more rows than there are registers: `blocks` of BLOCK rows each. Included by
 * kernels/quicksort_body.h, whose names it uses, for each width.
 *
 * Sorted columns are joined as in a bitonic network, and every joining passes over the table twice: first over rows i
 * and BLOCK - 1 - i of all blocks, among which everything that crosses blocks or columns is compared, then over each
 * block for itself. */

/* One row of each block: columns of them that are bitonic, so that no row of a block is to come before one of another.
 */
TARGET ALWAYS void NAME(order_blocks)(V *v, const int blocks)
{
    const int thirds = blocks % 3 == 0 ? blocks : 0, halves = blocks == 6 ? 3 : 0, pairs = thirds ? 0 : blocks;
#pragma GCC unroll 3
    for (int i = 0; i < halves; i++) NAME(compare)(v, i, i + 3);
#pragma GCC unroll 2
    for (int i = 0; i < thirds; i += 3) {
        NAME(compare)(v, i, i + 1);
        NAME(compare)(v, i + 1, i + 2);
        NAME(compare)(v, i, i + 1);
    }
#pragma GCC unroll 3
    for (int d = 4; d > 0; d /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < pairs; i++)
            if (i + d < pairs && !(i & d)) NAME(compare)(v, i, i + d);
}

/* The second pass. */
TARGET ALWAYS void NAME(order_within)(V *t, const int blocks)
{
    for (int k = 0; k < blocks; k++) {
        V v[BLOCK];
#pragma GCC unroll 16
        for (int i = 0; i < BLOCK; i++) v[i] = t[k * BLOCK + i];
#pragma GCC unroll 4
        for (int d = BLOCK / 2; d > 0; d /= 2)
#pragma GCC unroll 16
            for (int i = 0; i < BLOCK; i++)
                if (!(i & d)) NAME(compare)(v, i, i + d);
#pragma GCC unroll 16
        for (int i = 0; i < BLOCK; i++) t[k * BLOCK + i] = v[i];
    }
}

/* Rows i and BLOCK - 1 - i of each block, the latter behind the former. */
TARGET ALWAYS void NAME(load_rows)(V *v, const V *t, int i, const int blocks)
{
#pragma GCC unroll 8
    for (int k = 0; k < blocks; k++) {
        v[k] = t[k * BLOCK + i];
        v[blocks + k] = t[k * BLOCK + BLOCK - 1 - i];
    }
}
TARGET ALWAYS void NAME(store_rows)(V *t, const V *v, int i, const int blocks)
{
#pragma GCC unroll 8
    for (int k = 0; k < blocks; k++) {
        t[k * BLOCK + i] = v[k];
        t[k * BLOCK + BLOCK - 1 - i] = v[blocks + k];
    }
}

/* Each column's two sorted halves to one, or of three blocks the sorted first two and the third. */
TARGET ALWAYS void NAME(join_halves)(V *t, const int blocks)
{
    const int low = blocks - blocks / 2;
    for (int i = 0; i < BLOCK / 2; i++) {
        V v[2 * MOST_TALL];
        NAME(load_rows)(v, t, i, blocks);
#pragma GCC unroll 4
        for (int k = low - blocks / 2; k < low; k++) {
            const int other = 2 * low - 1 - k;
            NAME(compare)(v, k, blocks + other);
            NAME(compare)(v, blocks + k, other);
        }
        NAME(order_blocks)(v, low);
        NAME(order_blocks)(v + low, blocks - low);
        NAME(order_blocks)(v + blocks, low);
        NAME(order_blocks)(v + blocks + low, blocks - low);
        NAME(store_rows)(t, v, i, blocks);
    }
    NAME(order_within)(t, blocks);
}

/* Sorted neighbours of `columns` columns each to one. */
TARGET ALWAYS void NAME(join_columns)(V *t, const int blocks, const int columns)
{
    for (int i = 0; i < BLOCK / 2; i++) {
        V v[2 * MOST_TALL];
        NAME(load_rows)(v, t, i, blocks);
#pragma GCC unroll 8
        for (int k = 0; k < blocks; k++) NAME(mirror_rows)(v, k, 2 * blocks - 1 - k, columns);
#pragma GCC unroll 3
        for (int d = columns / 2; d > 0; d /= 2)
#pragma GCC unroll 16
            for (int k = 0; k < 2 * blocks; k++) v[k] = NAME(exchange)(v[k], d, d);
        NAME(order_blocks)(v, blocks);
        NAME(order_blocks)(v + blocks, blocks);
        NAME(store_rows)(t, v, i, blocks);
    }
    NAME(order_within)(t, blocks);
}

/* Up to n keys of a table with the greatest key behind them. */
TARGET ALWAYS void NAME(fill_up)(T *to, const T *from, size_t n)
{
    const size_t full = n / LANES;
    for (size_t i = 0; i < full; i++) STORE(to + i * LANES, LOAD(from + i * LANES));
    for (size_t i = full; i < BLOCK; i++) STORE(to + i * LANES, SPREAD(-1));
    if (n % LANES > 0) STORE(to + full * LANES, LOAD_FIRST(from + full * LANES, n % LANES));
}

/* The columns of each block. */
TARGET ALWAYS void NAME(sort_blocks)(const T *a, size_t n, V *t, const int blocks)
{
    const size_t size = BLOCK * LANES;
    for (size_t k = 0; k < (size_t)blocks; k++) {
        T last[BLOCK * LANES];
        const size_t rest = k * size < n ? n - k * size : 0;
        const T *from = a + (n - rest);
        if (rest < size) {
            NAME(fill_up)(last, from, rest);
            from = last;
        }
        V v[BLOCK];
#pragma GCC unroll 16
        for (int i = 0; i < BLOCK; i++) v[i] = RANK(LOAD(from + i * LANES));
        NAME(sort_each_column)(v, BLOCK);
#pragma GCC unroll 16
        for (int i = 0; i < BLOCK; i++) t[k * BLOCK + i] = v[i];
    }
}

/* n keys of at most blocks * BLOCK * LANES. */
TARGET ALWAYS void NAME(sort_tall)(T *a, size_t n, const int blocks)
{
    V t[MOST_TALL * BLOCK];
    T sorted[MOST_TALL * BLOCK * LANES], *to = n == sizeof sorted / sizeof *a / MOST_TALL * (size_t)blocks ? a : sorted;
    const int thirds = blocks % 3 == 0 ? blocks : 0;
    NAME(sort_blocks)(a, n, t, blocks);
#pragma GCC unroll 2
    for (int k = 0; k < thirds; k += 3) {
        NAME(join_halves)(t + k * BLOCK, 2);
        NAME(join_halves)(t + k * BLOCK, 3);
    }
#pragma GCC unroll 3
    for (int part = thirds ? 6 : 2; part <= blocks; part *= 2)
        for (int k = 0; k < blocks; k += part) NAME(join_halves)(t + k * BLOCK, part);
#pragma GCC unroll 4
    for (int columns = 1; columns < LANES; columns *= 2) NAME(join_columns)(t, blocks, columns);
    for (int r = 0; r < blocks * BLOCK; r += LANES) {
        V v[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) v[i] = t[r + i];
        NAME(transpose)(v);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) STORE(to + i * blocks * BLOCK + r, RANK(v[i]));
    }
    if (to == a) return;
    const size_t full = n / LANES;
    for (size_t i = 0; i < full; i++) STORE(a + i * LANES, LOAD(sorted + i * LANES));
    if (n % LANES > 0) STORE_FIRST(a + full * LANES, n % LANES, LOAD(sorted + full * LANES));
}

/* A function for each height, whose tables are on the stack while it runs only. */
#define SORT_TALL(blocks)                                                                                              \
    TARGET static __attribute__((noinline)) void NAME(sort_tall_##blocks)(T * a, size_t n)                             \
    {                                                                                                                  \
        NAME(sort_tall)(a, n, blocks);                                                                                 \
    }
SORT_TALL(2)
SORT_TALL(3)
SORT_TALL(4)
SORT_TALL(6)
SORT_TALL(8)
#undef SORT_TALL

/* More keys than a table in registers has. */
TARGET static void NAME(sort_more)(T *a, size_t n)
{
    const size_t block = BLOCK * LANES;
    if (n <= 2 * block)
        NAME(sort_tall_2)(a, n);
    else if (n <= 3 * block)
        NAME(sort_tall_3)(a, n);
    else if (n <= 4 * block)
        NAME(sort_tall_4)(a, n);
    else if (n <= 6 * block)
        NAME(sort_tall_6)(a, n);
    else
        NAME(sort_tall_8)(a, n);
}
