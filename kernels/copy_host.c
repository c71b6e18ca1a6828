/* Copying on the host between any two layouts of one dtype: bytes only, nothing is computed. Where one side runs along
 * another axis than the other (a transposed matrix), it goes by tiles that fit the cache both ways: a cache line of
 * each of a tile's rows is turned within a buffer and written as whole lines. */
#include "kernels/host.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define TILE       64  /* elements along each of the two axes of a tile */
#define WIDE       256 /* bytes along the output's last axis of a tile that is turned, but TILE elements at least; */
#define LONG       256 /* elements of one whose lines are written past the cache, but LONG_BYTES at least: few lines then */
#define LONG_BYTES 512 /* are written in part */
#define THIN       1024 /* elements along the last axis of a tile of few rows, or down the columns of one of few columns */
#define SHORT      16    /* columns that are few */
#define LONG_ROW   8192  /* elements of a row that is a tile of its own */
#define FEW        16384 /* bytes that the first-level cache keeps: they are turned without a buffer for lines */
#define LEAST      1024  /* bytes that are turned */
#define AHEAD      2     /* lines from the one that is turned to the one that is asked for: the next may come with it */

struct copy {
    struct kn_space s;
    int across;            /* the axis that the source runs along; ndim - 1 when it is the output's too */
    int64_t rows, columns; /* of a tile: along `across`, along the last axis */
    int64_t row_tiles, column_tiles;
    size_t size; /* bytes of an element */
    bool turned; /* each side runs along one of the two axes, in steps of 1 */
    bool few;    /* FEW at most: turned where they go */
    bool past;   /* lines are written past the cache */
    char *to;
    const char *from;
};

/* to[i * to_row + j * to_column] = from[...] for a tile; strides in elements. Four are read before one is written. Not
 * inlined: within the function that has all of them, the few registers that are left make the loop a fifth slower. */
#define COPY_TILE(name, TYPE)                                                                                          \
    __attribute__((noinline)) static void name(void *to, const int64_t *to_stride, const void *from,                   \
                                               const int64_t *from_stride, int64_t rows, int64_t columns)              \
    {                                                                                                                  \
        const int64_t to_step = to_stride[1], from_step = from_stride[1];                                              \
        for (int64_t i = 0; i < rows; i++) {                                                                           \
            TYPE *out = (TYPE *)to + i * to_stride[0];                                                                 \
            const TYPE *in = (const TYPE *)from + i * from_stride[0];                                                  \
            int64_t j = 0;                                                                                             \
            for (; j + 4 <= columns; j += 4, out += 4 * to_step, in += 4 * from_step) {                                \
                const TYPE a = in[0], b = in[from_step], c = in[2 * from_step], d = in[3 * from_step];                 \
                out[0] = a, out[to_step] = b, out[2 * to_step] = c, out[3 * to_step] = d;                              \
            }                                                                                                          \
            for (; j < columns; j++, out += to_step, in += from_step) *out = *in;                                      \
        }                                                                                                              \
    }
COPY_TILE(copy_1, uint8_t)
COPY_TILE(copy_2, uint16_t)
COPY_TILE(copy_4, uint32_t)
COPY_TILE(copy_8, uint64_t)
COPY_TILE(copy_16, double _Complex)

/* Bytes that lie side by side; `past` the cache where whole lines are written. Processors compare the last bits of
 * addresses alone when they look whether a read must wait for a write: one that goes on closely behind what was
 * written, but for whole pages, waits for nothing. Backwards, in pieces that are read before they are written, none
 * does. */
#define PAGE  4096
#define PIECE 256
static void write_bytes(char *to, const char *from, size_t bytes, bool past)
{
    size_t ahead = ((uintptr_t)to - (uintptr_t)from) % PAGE;
    if (past) {
        kn_write_past(to, from, bytes, NULL, 0);
        return;
    }
    if (ahead > 0 && ahead < PIECE)
        for (; bytes >= 2 * PIECE; bytes -= PIECE) memcpy(to + bytes - PIECE, from + bytes - PIECE, PIECE);
    memcpy(to, from, bytes);
}

/* Squares of small elements are turned within vectors: rounds that lay rows of the first half and of the second side by
 * side, element by element, exchange rows and columns after as many as halve the square to one. */
typedef uint8_t bytes_16 __attribute__((vector_size(16)));
typedef uint16_t halves_8 __attribute__((vector_size(16)));
typedef uint32_t words_4 __attribute__((vector_size(16)));
typedef uint64_t longs_2 __attribute__((vector_size(16)));
#define LOW_16  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_8   0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8  4, 12, 5, 13, 6, 14, 7, 15
#define LOW_4   0, 4, 1, 5
#define HIGH_4  2, 6, 3, 7
#define LOW_2   0, 2
#define HIGH_2  1, 3
#define TURN_SQUARE(N, VECTOR)                                                                                         \
    static inline void turn_square_##N(char *to, size_t to_row, const char *from, int64_t from_row)                    \
    {                                                                                                                  \
        VECTOR x[N], y[N];                                                                                             \
        for (int i = 0; i < N; i++) memcpy(&x[i], from + i * from_row, sizeof x[i]);                                   \
        _Pragma("GCC unroll 4") for (int round = 1; round < N; round *= 2)                                             \
        {                                                                                                              \
            _Pragma("GCC unroll 8") for (int i = 0; i < N / 2; i++)                                                    \
            {                                                                                                          \
                y[2 * i] = __builtin_shufflevector(x[i], x[i + N / 2], LOW_##N);                                       \
                y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + N / 2], HIGH_##N);                                  \
            }                                                                                                          \
            memcpy(x, y, sizeof x);                                                                                    \
        }                                                                                                              \
        for (int i = 0; i < N; i++) memcpy(to + (size_t)i * to_row, &x[i], sizeof x[i]);                               \
    }
TURN_SQUARE(16, bytes_16)
TURN_SQUARE(8, halves_8)
TURN_SQUARE(4, words_4)
TURN_SQUARE(2, longs_2)

static inline void turn_square(size_t size, char *to, size_t to_row, const char *from, int64_t from_row)
{
    if (size == 1) turn_square_16(to, to_row, from, from_row);
    if (size == 2) turn_square_8(to, to_row, from, from_row);
    if (size == 4) turn_square_4(to, to_row, from, from_row);
    if (size == 8) turn_square_2(to, to_row, from, from_row);
}

/* What is transposed to rows that are to_row bytes apart, or to a buffer whose rows are then written. Squares may have
 * more rows than that: what they read beyond a column's is a later column's, where there is one. */
#define TURN_LINE(name, TYPE)                                                                                          \
    static inline void name##_into(const struct kn_turn *t, char *to, size_t to_row)                                   \
    {                                                                                                                  \
        enum { SIZE = sizeof(TYPE), IN_LINE = KN_LINE / SIZE, SIDE = 16 / SIZE };                                      \
        const int64_t rows = t->rows, columns = t->columns, from_stride = t->from_stride;                              \
        const TYPE *from = (const TYPE *)(const void *)t->from;                                                        \
        const int64_t squares = (rows + SIDE - 1) / SIDE * SIDE, more = squares - rows,                                \
                      within = more == 0         ? columns                                                             \
                               : from_stride > 0 ? columns - (more - 1) / from_stride - 1                              \
                                                 : 0;                                                                  \
        int64_t j = 0;                                                                                                 \
        for (; SIDE > 1 && j + SIDE <= within; j += SIDE) {                                                            \
            const TYPE *in = from + j * from_stride;                                                                   \
            for (int k = 0; k < SIDE; k++) __builtin_prefetch(in + k * from_stride + AHEAD * IN_LINE);                 \
            for (int64_t i = 0; i < squares; i += SIDE)                                                                \
                turn_square(SIZE, to + (size_t)i * to_row + j * SIZE, to_row, (const char *)(in + i),                  \
                            from_stride * SIZE);                                                                       \
        }                                                                                                              \
        for (; j < columns; j++) {                                                                                     \
            const TYPE *in = from + j * from_stride;                                                                   \
            __builtin_prefetch(in + AHEAD * IN_LINE);                                                                  \
            for (int64_t i = 0; i < rows; i++) *(TYPE *)(to + (size_t)i * to_row + j * SIZE) = in[i];                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(const struct kn_turn *t, bool past)                                                               \
    {                                                                                                                  \
        enum { SIZE = sizeof(TYPE), IN_LINE = KN_LINE / SIZE };                                                        \
        _Alignas(KN_LINE) TYPE turned[IN_LINE][(SIZE * LONG < LONG_BYTES ? LONG_BYTES / SIZE : LONG) + IN_LINE];       \
        name##_into(t, (char *)turned, sizeof turned[0]);                                                              \
        for (int64_t i = 0; i < t->rows; i++)                                                                          \
            write_bytes(t->to + i * t->to_stride * (int64_t)sizeof(TYPE), (const char *)turned[i],                     \
                        (size_t)t->columns * sizeof(TYPE), past);                                                      \
    }
TURN_LINE(turn_1, uint8_t)
TURN_LINE(turn_2, uint16_t)
TURN_LINE(turn_4, uint32_t)
TURN_LINE(turn_8, uint64_t)
TURN_LINE(turn_16, double _Complex)

static void turn(const struct kn_turn *t, bool past)
{
    switch (t->size) {
    case 1: turn_1(t, past); break;
    case 2: turn_2(t, past); break;
    case 4: turn_4(t, past); break;
    case 8: turn_8(t, past); break;
    default: turn_16(t, past); break;
    }
}

void kn_turn_line(const struct kn_turn *t)
{
    const size_t row = (size_t)t->to_stride * t->size;
    switch (t->size) {
    case 1: turn_1_into(t, t->to, row); break;
    case 2: turn_2_into(t, t->to, row); break;
    case 4: turn_4_into(t, t->to, row); break;
    case 8: turn_8_into(t, t->to, row); break;
    default: turn_16_into(t, t->to, row); break;
    }
}

/* The rows of a turned tile, line by line of the source. Those of few bytes go straight to where they belong. */
static void turn_tile(const struct copy *c, char *to, const char *from, int64_t rows, int64_t columns)
{
    const struct kn_space *s = &c->s;
    const int64_t to_stride = s->strides[1][c->across], from_stride = s->strides[0][s->ndim - 1],
                  in_line = KN_LINE / (int64_t)c->size;
    for (; rows > 0; rows -= in_line, to += in_line * to_stride * (int64_t)c->size, from += KN_LINE) {
        const struct kn_turn t = {c->size, to, to_stride, from, from_stride, rows < in_line ? rows : in_line, columns};
        if (c->few && rows >= in_line)
            kn_turn_line(&t);
        else
            turn(&t, c->past);
    }
}

static void copy_elements(size_t size, char *to, const int64_t *to_stride, const char *from, const int64_t *from_stride,
                          int64_t rows, int64_t columns)
{
    switch (size) {
    case 1: copy_1(to, to_stride, from, from_stride, rows, columns); break;
    case 2: copy_2(to, to_stride, from, from_stride, rows, columns); break;
    case 4: copy_4(to, to_stride, from, from_stride, rows, columns); break;
    case 8: copy_8(to, to_stride, from, from_stride, rows, columns); break;
    default: copy_16(to, to_stride, from, from_stride, rows, columns); break;
    }
}

/* Of rows that are short it goes down the columns. */
static void copy_tile(const struct copy *c, char *to, const char *from, int64_t rows, int64_t columns)
{
    const struct kn_space *s = &c->s;
    int last = s->ndim - 1;
    bool one_axis = c->across == last;
    int64_t to_stride[2] = {one_axis ? 0 : s->strides[1][c->across], s->strides[1][last]};
    int64_t from_stride[2] = {one_axis ? 0 : s->strides[0][c->across], s->strides[0][last]};
    if (to_stride[1] == 1 && from_stride[1] == 1 && columns >= TILE / 4) {
        bool past = c->past && columns * (int64_t)c->size % KN_LINE == 0;
        for (int64_t i = 0; i < rows; i++)
            write_bytes(to + i * to_stride[0] * (int64_t)c->size, from + i * from_stride[0] * (int64_t)c->size,
                        (size_t)columns * c->size, past);
        return;
    }
    if (to_stride[1] == 1 && columns >= TILE / 4 && !c->turned) {
        kn_load_loop *gather = kn_host_loops()->narrow->gather[__builtin_ctz((unsigned)c->size)];
        for (int64_t i = 0; i < rows; i++)
            gather(to + i * to_stride[0] * (int64_t)c->size, from + i * from_stride[0] * (int64_t)c->size,
                   from_stride[1], (size_t)columns);
        return;
    }
    if (c->turned) {
        turn_tile(c, to, from, rows, columns);
        return;
    }
    if (columns >= SHORT || rows <= columns) {
        copy_elements(c->size, to, to_stride, from, from_stride, rows, columns);
        return;
    }
    const int64_t to_down[2] = {to_stride[1], to_stride[0]}, from_down[2] = {from_stride[1], from_stride[0]};
    for (int64_t i = 0; i < rows; i += THIN)
        copy_elements(c->size, to + i * to_stride[0] * (int64_t)c->size, to_down,
                      from + i * from_stride[0] * (int64_t)c->size, from_down, columns,
                      rows - i < THIN ? rows - i : THIN);
}

/* Items are tiles, in the order of the axes with the tiled ones last: first along the last axis, but of a turned copy
 * along the source's, which reads lines in the order in which they lie in memory. */
static void copy_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct copy *c = context;
    const struct kn_space *s = &c->s;
    int last = s->ndim - 1;
    (void)worker;
    if (rt_interrupted()) return;
    for (int64_t item = (int64_t)begin; item < (int64_t)end; item++) {
        int64_t across = c->turned ? c->row_tiles : 1, rest = item / across / c->column_tiles;
        int64_t column = item / across % c->column_tiles * c->columns, row = item % across * c->rows;
        int64_t rows = 1, columns = s->shape[last] - column < c->columns ? s->shape[last] - column : c->columns;
        int64_t to = column * s->strides[1][last], from = column * s->strides[0][last];
        if (c->across != last) {
            if (!c->turned) {
                row = rest % c->row_tiles * c->rows;
                rest /= c->row_tiles;
            }
            rows = s->shape[c->across] - row < c->rows ? s->shape[c->across] - row : c->rows;
            to += row * s->strides[1][c->across];
            from += row * s->strides[0][c->across];
        }
        for (int i = last - 1; i >= 0; i--) {
            if (i == c->across) continue;
            to += rest % s->shape[i] * s->strides[1][i];
            from += rest % s->shape[i] * s->strides[0][i];
            rest /= s->shape[i];
        }
        copy_tile(c, c->to + to * (int64_t)c->size, c->from + from * (int64_t)c->size, rows, columns);
    }
    if (c->past) kn_past_fence();
}

/* Rows of turned tiles are long enough to be written so wherever their lines begin, others where those do. */
static bool goes_past(const struct copy *c)
{
    const struct kn_space *s = &c->s;
    const size_t bytes = (size_t)s->size * c->size;
    if (c->turned) return bytes >= KN_PAST;
    bool past = kn_goes_past(c->to, bytes);
    for (int i = 0; i < s->ndim - 1; i++) past &= s->strides[1][i] * (int64_t)c->size % KN_LINE == 0;
    return past;
}

static int64_t turned_columns(const struct copy *c)
{
    const int64_t size = (int64_t)c->size, least = c->past ? LONG : TILE, bytes = c->past ? LONG_BYTES : WIDE;
    return size * least < bytes ? bytes / size : least;
}

/* Where both sides run backwards along an axis they might as well run forwards. */
static void go_forwards(struct copy *c)
{
    struct kn_space *s = &c->s;
    for (int i = 0; i < s->ndim; i++) {
        if (s->strides[0][i] >= 0 || s->strides[1][i] >= 0) continue;
        c->from += (s->shape[i] - 1) * s->strides[0][i] * (int64_t)c->size;
        c->to += (s->shape[i] - 1) * s->strides[1][i] * (int64_t)c->size;
        s->strides[0][i] = -s->strides[0][i];
        s->strides[1][i] = -s->strides[1][i];
    }
}

enum rt_status kn_host_copy(const struct rt_array *to, const struct rt_array *from, struct rt_error *e)
{
    struct copy c; /* large, and mostly unused */
    struct kn_space *s = &c.s;
    c.size = rt_dtypes[to->dtype].size;
    c.to = rt_array_host(to);
    c.from = rt_array_host(from);
    kn_space_make(&from, 1, to, s);
    go_forwards(&c);
    int last = s->ndim - 1;
    c.across = last;
    for (int i = 0; i < last; i++) /* the last axis wins a draw, and strides of 0 cost nothing anywhere */
        if (s->strides[0][i] != 0 && s->strides[0][last] != 0 &&
            llabs(s->strides[0][i]) < llabs(s->strides[0][c.across]))
            c.across = i;
    bool tiled = c.across != last, flat = !tiled && last > 0 && s->shape[last] < LONG_ROW;
    if (flat) c.across = last - 1; /* rows so short that finding each by itself would cost much of the time */
    c.rows = c.row_tiles = 1;
    c.few = (size_t)s->size * c.size <= FEW;
    c.turned = tiled && (size_t)s->size * c.size >= LEAST && s->strides[0][c.across] == 1 && s->strides[1][last] == 1;
    bool thin = tiled && s->shape[c.across] * (int64_t)c.size < KN_LINE; /* no line of the source is left */
    c.turned &= !thin;
    c.past = goes_past(&c);
    c.columns = !tiled ? KN_GRAIN : thin ? THIN : c.turned ? turned_columns(&c) : TILE;
    c.column_tiles = (s->shape[last] + c.columns - 1) / c.columns;
    if (tiled || flat) {
        c.rows = flat ? KN_GRAIN / s->shape[last] : TILE;
        c.row_tiles = (s->shape[c.across] + c.rows - 1) / c.rows;
    }
    int64_t items = c.column_tiles * c.row_tiles,
            each = c.rows * (s->shape[last] < c.columns ? s->shape[last] : c.columns);
    for (int i = 0; i < last; i++)
        if (i != c.across) items *= s->shape[i];
    rt_parallel_for((size_t)items, each >= KN_GRAIN ? 1 : (size_t)(KN_GRAIN / each), copy_piece, &c);
    return rt_stopped(e);
}
