/* Indexed access on the host threads. Offsets into data are worked out for a block of places at a time, then elements
 * are moved; rows that run along with the last axis are copied whole. Writers share the elements of data between them,
 * not the places: each goes through all places and writes those that lead into its part, so that the order of writes to
 * one element is that of the places, however many threads there are. */
#include "kernels/gather.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define BLOCK     1024    /* places whose offsets are worked out at once */
#define NEAR      1048576 /* bytes that one core's cache keeps */
#define SHORT_ROW 4096    /* bytes of a row up to which offsets are worked out for many at once */
#define TABLE     8       /* rows from which on those of the first one are kept for all */

struct pass {
    const struct kn_trip *trip;
    enum kn_access access;
    size_t size; /* bytes of an element */
    const struct kn_loops *loops;
    char *data, *dense;
    const char *index[KN_MAX_PICKS];
    bool rows;   /* no index changes along the last axis */
    bool far;    /* data is more than a core's cache keeps */
    int parts;   /* of data, for writers; 1: whoever comes to a place writes */
    int64_t bad; /* the first bad place, INT64_MAX: none */
};

/* A worker's stretch of places, and the offsets in data that it may write to. */
struct stretch {
    int64_t position, end, low, high;
    int64_t coordinates[RT_MAX_DIMS];
};

static void note_bad(struct pass *p, int64_t place)
{
    int64_t seen = __atomic_load_n(&p->bad, __ATOMIC_RELAXED);
    while (place < seen &&
           !__atomic_compare_exchange_n(&p->bad, &seen, place, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* How many of n indices come before the first bad one. */
static size_t good_indices(const struct rt_array *index, const char *at, int64_t stride, int64_t length, size_t n)
{
    int64_t size = rt_dtypes[index->dtype].size;
    for (size_t i = 0; i < n; i++) {
        int64_t v = rt_load_int(index->dtype, at + (int64_t)i * stride * size);
        if (v == 0 || v > length || v < -length) return i;
    }
    return n;
}

/* Offsets of the n places from s->position on along an axis, or NULL where they are only checked; returns how many come
 * before a bad index. */
static size_t find_offsets(const struct pass *p, const struct stretch *s, int axis, int64_t *offsets, size_t n)
{
    const struct kn_trip *t = p->trip;
    const struct kn_space *space = &t->space;
    int last = space->ndim - 1;
    size_t good = n;
    int64_t first = 0, run = space->strides[KN_TRIP_DATA][axis];
    for (int i = 0; i <= last; i++) first += s->coordinates[i] * space->strides[KN_TRIP_DATA][i];
    for (int k = 0; k < t->x->count; k++) {
        const struct rt_array *index = t->x->picks[k].index;
        const int64_t *strides = space->strides[KN_TRIP_INDEX + k];
        kn_indices_loop *loop = index->dtype == RT_INT32 ? p->loops->indices_32 : p->loops->indices_64;
        const char *at = p->index[k];
        for (int i = 0; i <= last; i++) at += s->coordinates[i] * strides[i] * (int64_t)rt_dtypes[index->dtype].size;
        if (loop(offsets, at, strides[axis], t->step[k], t->length[k], k > 0, first, run, n)) continue;
        size_t until = good_indices(index, at, strides[axis], t->length[k], n);
        if (until < good) good = until;
    }
    return good;
}

/* Moves between data[offsets[i]] and the dense elements, i * stride from the first of the block or, where only some of
 * it are moved, which[i] * stride. */
#define MOVERS(bits)                                                                                                   \
    static void read_##bits(const char *data, const int64_t *offsets, char *dense, int64_t stride, size_t n)           \
    {                                                                                                                  \
        const uint##bits##_t *from = (const uint##bits##_t *)data;                                                     \
        uint##bits##_t *to = (uint##bits##_t *)dense;                                                                  \
        if (stride == 1)                                                                                               \
            _Pragma("GCC unroll 8") for (size_t i = 0; i < n; i++) to[i] = from[offsets[i]];                           \
        else                                                                                                           \
            for (size_t i = 0; i < n; i++) to[(int64_t)i * stride] = from[offsets[i]];                                 \
    }                                                                                                                  \
    static void write_##bits(char *data, const int64_t *offsets, const char *dense, const uint16_t *which,             \
                             int64_t stride, size_t n)                                                                 \
    {                                                                                                                  \
        uint##bits##_t *to = (uint##bits##_t *)data;                                                                   \
        const uint##bits##_t *from = (const uint##bits##_t *)dense;                                                    \
        if (which)                                                                                                     \
            for (size_t i = 0; i < n; i++) to[offsets[i]] = from[which[i] * stride];                                   \
        else                                                                                                           \
            for (size_t i = 0; i < n; i++) to[offsets[i]] = from[(int64_t)i * stride];                                 \
    }
MOVERS(8)
MOVERS(16)
MOVERS(32)
MOVERS(64)

/* dense[i] = data[index[i] - 1]. */
#define PICKERS(bits)                                                                                                  \
    static void pick_##bits(const char *data, const void *index, bool wide, char *dense, size_t n)                     \
    {                                                                                                                  \
        const uint##bits##_t *from = (const uint##bits##_t *)data;                                                     \
        uint##bits##_t *to = (uint##bits##_t *)dense;                                                                  \
        const int64_t *by64 = index;                                                                                   \
        const int32_t *by32 = index;                                                                                   \
        if (wide)                                                                                                      \
            _Pragma("GCC unroll 8") for (size_t i = 0; i < n; i++) to[i] = from[by64[i] - 1];                          \
        else                                                                                                           \
            _Pragma("GCC unroll 8") for (size_t i = 0; i < n; i++) to[i] = from[by32[i] - 1];                          \
    }
PICKERS(8)
PICKERS(16)
PICKERS(32)
PICKERS(64)
typedef double _Complex uint128_t; /* 16 bytes that are moved as they are */
MOVERS(128)

/* Each way to combine for each kind of element, as the operations have it: integers wrap, the 16-bit floats are rounded
 * each time, bools meet in "or" and "and", NaN wins. */
#define HALF(OP, a, b)         rt_half_from_float(OP(rt_half_to_float(a), rt_half_to_float(b)))
#define BRAIN(OP, a, b)        rt_bfloat_from_float(OP(rt_bfloat_to_float(a), rt_bfloat_to_float(b)))

#define ADD_BOOL(a, b)         ((a) | (b))
#define ADD_INT(a, b)          ((uint64_t)(a) + (uint64_t)(b))
#define ADD_FLOAT(a, b)        ((a) + (b))
#define ADD_FLOAT16(a, b)      HALF(ADD_FLOAT, a, b)
#define ADD_BFLOAT16(a, b)     BRAIN(ADD_FLOAT, a, b)
#define MUL_BOOL(a, b)         ((a) & (b))
#define MUL_INT(a, b)          ((uint64_t)(a) * (uint64_t)(b))
#define MUL_FLOAT(a, b)        ((a) * (b))
#define MUL_FLOAT16(a, b)      HALF(MUL_FLOAT, a, b)
#define MUL_BFLOAT16(a, b)     BRAIN(MUL_FLOAT, a, b)
#define MINIMUM_BOOL(a, b)     ((a) & (b))
#define MINIMUM_INT(a, b)      ((a) < (b) ? (a) : (b))
#define MINIMUM_FLOAT(a, b)    ((a) < (b) || (a) != (a) ? (a) : (b))
#define MINIMUM_FLOAT16(a, b)  HALF(MINIMUM_FLOAT, a, b)
#define MINIMUM_BFLOAT16(a, b) BRAIN(MINIMUM_FLOAT, a, b)
#define MAXIMUM_BOOL(a, b)     ((a) | (b))
#define MAXIMUM_INT(a, b)      ((a) > (b) ? (a) : (b))
#define MAXIMUM_FLOAT(a, b)    ((a) > (b) || (a) != (a) ? (a) : (b))
#define MAXIMUM_FLOAT16(a, b)  HALF(MAXIMUM_FLOAT, a, b)
#define MAXIMUM_BFLOAT16(a, b) BRAIN(MAXIMUM_FLOAT, a, b)

#define REAL_COMBINERS(X, OP)                                                                                          \
    X(OP, BOOL, uint8_t, OP##_BOOL)                                                                                    \
    X(OP, INT8, int8_t, OP##_INT)                                                                                      \
    X(OP, INT16, int16_t, OP##_INT)                                                                                    \
    X(OP, INT32, int32_t, OP##_INT)                                                                                    \
    X(OP, INT64, int64_t, OP##_INT)                                                                                    \
    X(OP, UINT8, uint8_t, OP##_INT)                                                                                    \
    X(OP, UINT16, uint16_t, OP##_INT)                                                                                  \
    X(OP, UINT32, uint32_t, OP##_INT)                                                                                  \
    X(OP, UINT64, uint64_t, OP##_INT)                                                                                  \
    X(OP, FLOAT16, uint16_t, OP##_FLOAT16)                                                                             \
    X(OP, BFLOAT16, uint16_t, OP##_BFLOAT16)                                                                           \
    X(OP, FLOAT32, float, OP##_FLOAT)                                                                                  \
    X(OP, FLOAT64, double, OP##_FLOAT)
#define COMBINERS(X, OP)                                                                                               \
    REAL_COMBINERS(X, OP)                                                                                              \
    X(OP, COMPLEX64, float _Complex, OP##_FLOAT)                                                                       \
    X(OP, COMPLEX128, double _Complex, OP##_FLOAT)

#define COMBINER(OP, id, TYPE, BY)                                                                                     \
    static void OP##_to_##id(char *data, const int64_t *offsets, const char *dense, const uint16_t *which,             \
                             int64_t stride, size_t n)                                                                 \
    {                                                                                                                  \
        TYPE *to = (TYPE *)data;                                                                                       \
        const TYPE *from = (const TYPE *)dense;                                                                        \
        if (which)                                                                                                     \
            for (size_t i = 0; i < n; i++) to[offsets[i]] = (TYPE)BY(to[offsets[i]], from[which[i] * stride]);         \
        else                                                                                                           \
            for (size_t i = 0; i < n; i++) to[offsets[i]] = (TYPE)BY(to[offsets[i]], from[(int64_t)i * stride]);       \
    }
COMBINERS(COMBINER, ADD)
COMBINERS(COMBINER, MUL)
REAL_COMBINERS(COMBINER, MINIMUM)
REAL_COMBINERS(COMBINER, MAXIMUM)

typedef void write_loop(char *data, const int64_t *offsets, const char *dense, const uint16_t *which, int64_t stride,
                        size_t n);
static write_loop *const combiners[KN_OP_COUNT][RT_DTYPE_COUNT] = {
#define ROW(OP, id, TYPE, BY) [KN_##OP][RT_##id] = OP##_to_##id,
    COMBINERS(ROW, ADD) COMBINERS(ROW, MUL) REAL_COMBINERS(ROW, MINIMUM) REAL_COMBINERS(ROW, MAXIMUM)
#undef ROW
};

/* Asks for the elements of a block: more of them are on their way at once than loads alone would have. */
static void ask_for(const struct pass *p, const int64_t *offsets, size_t n)
{
    if (!p->far) return;
    for (size_t i = 0; i < n; i++) __builtin_prefetch(p->data + offsets[i] * (int64_t)p->size, 0, 2);
}

static void read_block(const struct pass *p, const int64_t *offsets, char *dense, int64_t stride, size_t n)
{
    ask_for(p, offsets, n);
    switch (p->size) {
    case 1: read_8(p->data, offsets, dense, stride, n); break;
    case 2: read_16(p->data, offsets, dense, stride, n); break;
    case 4: read_32(p->data, offsets, dense, stride, n); break;
    case 8: read_64(p->data, offsets, dense, stride, n); break;
    default: read_128(p->data, offsets, dense, stride, n); break;
    }
}

/* Keeps those of n offsets that are in [low, high), and which they were. */
static size_t keep_own(const struct stretch *s, int64_t *offsets, uint16_t *which, size_t n)
{
    size_t kept = 0;
    uint64_t low = (uint64_t)s->low, size = (uint64_t)s->high - low; /* one comparison, and no branch on it */
    for (size_t i = 0; i < n; i++) {
        int64_t offset = offsets[i];
        which[kept] = (uint16_t)i;
        offsets[kept] = offset;
        kept += (uint64_t)offset - low < size;
    }
    return kept;
}

static write_loop *writer(const struct pass *p)
{
    if (p->access == KN_ACCUMULATE) return combiners[p->trip->combine][p->trip->x->data->dtype];
    switch (p->size) {
    case 1: return write_8;
    case 2: return write_16;
    case 4: return write_32;
    case 8: return write_64;
    default: return write_128;
    }
}

static void write_block(const struct pass *p, const struct stretch *s, int64_t *offsets, const char *dense,
                        int64_t stride, size_t n)
{
    uint16_t which[BLOCK] = {0};
    bool all = s->low == INT64_MIN;
    if (!all) n = keep_own(s, offsets, which, n);
    ask_for(p, offsets, n);
    writer(p)(p->data, offsets, dense, all ? NULL : which, stride, n);
}

/* The dense element at the position. */
static char *dense_at(const struct pass *p, const struct stretch *s)
{
    const struct kn_space *space = &p->trip->space;
    int64_t at = 0;
    for (int i = 0; i < space->ndim; i++) at += s->coordinates[i] * space->strides[KN_TRIP_DENSE][i];
    return p->dense + at * (int64_t)p->size;
}

/* Copies n elements of a row whose indices are all the same when both sides lie in memory one behind the other. */
static bool copy_row(const struct pass *p, const struct stretch *s, int64_t offset, size_t n)
{
    const struct kn_space *space = &p->trip->space;
    int last = space->ndim - 1;
    if (p->access == KN_ACCUMULATE || space->strides[KN_TRIP_DATA][last] != 1 ||
        space->strides[KN_TRIP_DENSE][last] != 1)
        return false;
    char *data = p->data + offset * (int64_t)p->size, *dense = dense_at(p, s);
    if (p->access == KN_READ)
        memcpy(dense, data, n * p->size);
    else
        memcpy(data, dense, n * p->size);
    return true;
}

/* Moves n elements of a row that lie apart in memory, from `offset` on. */
static void move_row(const struct pass *p, const struct stretch *s, int64_t offset, size_t n)
{
    const struct kn_space *space = &p->trip->space;
    const struct stretch whole = {.low = INT64_MIN, .high = INT64_MAX};
    int last = space->ndim - 1;
    int64_t offsets[BLOCK], run = space->strides[KN_TRIP_DATA][last], stride = space->strides[KN_TRIP_DENSE][last];
    char *dense = dense_at(p, s);
    if (p->access == KN_READ && stride == 1) {
        p->loops->narrow->gather[__builtin_ctz((unsigned)p->size)](dense, p->data + offset * (int64_t)p->size, run, n);
        return;
    }
    for (size_t done = 0; done < n;) {
        size_t part = n - done < BLOCK ? n - done : BLOCK;
        for (size_t i = 0; i < part; i++) offsets[i] = offset + (int64_t)(done + i) * run;
        if (p->access == KN_READ)
            read_block(p, offsets, dense, stride, part);
        else
            write_block(p, &whole, offsets, dense, stride, part);
        dense += (int64_t)part * stride * (int64_t)p->size;
        done += part;
    }
}

/* A row, or what the stretch has of it. Writers own rows whole, by the offset of their first element. */
static bool do_row(struct pass *p, const struct stretch *s, size_t n)
{
    const struct kn_space *space = &p->trip->space;
    int last = space->ndim - 1;
    int64_t offset = 0;
    if (find_offsets(p, s, last, &offset, 1) == 0) {
        note_bad(p, s->position);
        return false;
    }
    if (p->access == KN_CHECK) return true;
    int64_t first = offset - s->coordinates[last] * space->strides[KN_TRIP_DATA][last];
    if (p->access != KN_READ && (first < s->low || first >= s->high)) return true;
    if (!copy_row(p, s, offset, n)) move_row(p, s, offset, n);
    return true;
}

/* How many whole rows do_rows may have from the position on: short ones, side by side in memory on both sides. */
static int64_t rows_at_once(const struct pass *p, const struct stretch *s)
{
    const struct kn_space *space = &p->trip->space;
    const int last = space->ndim - 1;
    const int64_t length = space->shape[last];
    if (last == 0 || s->coordinates[last] != 0 || length * (int64_t)p->size > SHORT_ROW || s->low != INT64_MIN ||
        (p->access != KN_READ && p->access != KN_WRITE) || space->strides[KN_TRIP_DATA][last] != 1 ||
        space->strides[KN_TRIP_DENSE][last] != 1)
        return 0;
    int64_t rows = (s->end - s->position) / length, rest = space->shape[last - 1] - s->coordinates[last - 1];
    if (rows > rest) rows = rest;
    return rows < BLOCK ? rows : BLOCK;
}

/* Rows along the last axis but one, whose offsets are worked out at once. */
static bool do_rows(struct pass *p, const struct stretch *s, size_t n)
{
    const struct kn_space *space = &p->trip->space;
    const int last = space->ndim - 1;
    const int64_t size = (int64_t)p->size, step = space->strides[KN_TRIP_DENSE][last - 1] * size;
    const size_t bytes = (size_t)(space->shape[last] * size);
    int64_t offsets[BLOCK];
    memset(offsets, 0, n * sizeof *offsets); /* the rest of the block is not used */
    const size_t good = find_offsets(p, s, last - 1, offsets, n);
    if (good < n) {
        note_bad(p, s->position + (int64_t)good * space->shape[last]);
        return false;
    }
    char *dense = dense_at(p, s);
    if (p->access == KN_READ)
        for (size_t i = 0; i < n; i++, dense += step) kn_copy_short(dense, p->data + offsets[i] * size, bytes);
    else
        for (size_t i = 0; i < n; i++, dense += step) kn_copy_short(p->data + offsets[i] * size, dense, bytes);
    return true;
}

/* The commonest access: elements along one axis, by indices that lie side by side and count from its start. Offsets,
 * which would take more memory than anything else, are not worked out. Such indices of n places, else NULL. */
static const char *counted_indices(const struct pass *p, const struct stretch *s, size_t n)
{
    const struct kn_trip *t = p->trip;
    if (t->space.ndim != 1 || t->x->count != 1 || t->step[0] != 1 || t->space.strides[KN_TRIP_DATA][0] != 0 ||
        t->space.strides[KN_TRIP_INDEX][0] != 1)
        return NULL;
    bool wide = t->x->picks[0].index->dtype == RT_INT64;
    const char *at = p->index[0] + s->position * (wide ? 8 : 4);
    return (wide ? p->loops->counted_64 : p->loops->counted_32)(at, t->length[0], n) ? at : NULL;
}

static bool pick_block(const struct pass *p, const struct stretch *s, size_t n)
{
    if (p->access != KN_READ || p->far || p->size > 8 || p->trip->space.strides[KN_TRIP_DENSE][0] != 1) return false;
    bool wide = p->trip->x->picks[0].index->dtype == RT_INT64;
    const char *at = counted_indices(p, s, n);
    if (!at) return false;
    char *to = p->dense + s->position * (int64_t)p->size;
    switch (p->size) {
    case 1: pick_8(p->data, at, wide, to, n); break;
    case 2: pick_16(p->data, at, wide, to, n); break;
    case 4: pick_32(p->data, at, wide, to, n); break;
    default: pick_64(p->data, at, wide, to, n); break;
    }
    return true;
}

/* Whoever writes all of a block to what is near needs no offsets either: indices are offsets from the element before
 * the first one. The next block's are asked for, as the sums of this one wait for each other. */
static bool put_block(const struct pass *p, const struct stretch *s, size_t n)
{
    if ((p->access != KN_WRITE && p->access != KN_ACCUMULATE) || p->far || s->low != INT64_MIN ||
        p->trip->x->picks[0].index->dtype != RT_INT64)
        return false;
    const char *at = counted_indices(p, s, n);
    if (!at) return false;
    int64_t stride = p->trip->space.strides[KN_TRIP_DENSE][0];
    const char *dense = p->dense + s->position * stride * (int64_t)p->size;
    for (size_t k = n * 8; k < n * 16; k += KN_LINE) __builtin_prefetch(at + k);
    writer(p)(p->data - p->size, (const int64_t *)(const void *)at, dense, NULL, stride, n);
    return true;
}

static bool do_block(struct pass *p, const struct stretch *s, size_t n)
{
    if (pick_block(p, s, n) || put_block(p, s, n)) return true;
    const struct kn_space *space = &p->trip->space;
    int64_t offsets[BLOCK], stride = space->strides[KN_TRIP_DENSE][space->ndim - 1];
    memset(offsets, 0, n * sizeof *offsets); /* the rest of the block is not used */
    size_t good = find_offsets(p, s, space->ndim - 1, p->access == KN_CHECK ? NULL : offsets, n);
    if (good < n) {
        note_bad(p, s->position + (int64_t)good);
        return false;
    }
    if (p->access == KN_READ)
        read_block(p, offsets, dense_at(p, s), stride, n);
    else if (p->access != KN_CHECK)
        write_block(p, s, offsets, dense_at(p, s), stride, n);
    return true;
}

static void walk(struct pass *p, struct stretch *s)
{
    const struct kn_space *space = &p->trip->space;
    int last = space->ndim - 1;
    int64_t rest = s->position;
    for (int i = last; i >= 0; i--) {
        s->coordinates[i] = rest % space->shape[i];
        rest /= space->shape[i];
    }
    while (s->position < s->end) {
        int64_t n = space->shape[last] - s->coordinates[last];
        if (n > s->end - s->position) n = s->end - s->position;
        if (!p->rows && n > BLOCK) n = BLOCK;
        const int64_t rows = p->rows ? rows_at_once(p, s) : 0;
        if (rows > 1) {
            if (!do_rows(p, s, (size_t)rows)) return;
            s->position += (rows - 1) * n;
            s->coordinates[last - 1] += rows - 1;
        } else if (!(p->rows ? do_row(p, s, (size_t)n) : do_block(p, s, (size_t)n))) {
            return;
        }
        s->position += n;
        s->coordinates[last] += n;
        for (int i = last; i > 0 && s->coordinates[i] == space->shape[i]; i--) {
            s->coordinates[i] = 0;
            s->coordinates[i - 1]++;
        }
        if (s->coordinates[last] == 0 && rt_interrupted()) return;
    }
}

static void places_piece(void *context, size_t begin, size_t end, int worker)
{
    struct stretch s = {.position = (int64_t)begin, .end = (int64_t)end, .low = INT64_MIN, .high = INT64_MAX};
    (void)worker;
    if (!rt_interrupted()) walk(context, &s);
}

static void parts_piece(void *context, size_t begin, size_t end, int worker)
{
    struct pass *p = context;
    const struct kn_trip *t = p->trip;
    (void)worker;
    for (size_t part = begin; part < end && !rt_interrupted(); part++) {
        int64_t each = t->span / p->parts, first = t->low + (int64_t)part * each;
        bool final = part + 1 == (size_t)p->parts;
        struct stretch s = {.end = t->space.size, .low = first, .high = final ? t->low + t->span : first + each};
        if (p->parts == 1) s.low = INT64_MIN, s.high = INT64_MAX;
        walk(p, &s);
    }
}

/* Whether indices change along the last axis alone, of several rows: what they mean for the first row they mean for
 * all. No two rows are written to the same elements. */
static bool is_table(const struct pass *p, bool writes)
{
    const struct kn_space *space = &p->trip->space;
    const int last = space->ndim - 1;
    if (p->rows || space->size < TABLE * space->shape[last] || (writes && !p->trip->apart)) return false;
    for (int i = 0; i < last; i++) {
        if (writes && space->strides[KN_TRIP_DATA][i] == 0) return false;
        for (int k = 0; k < p->trip->x->count; k++)
            if (space->strides[KN_TRIP_INDEX + k][i] != 0) return false;
    }
    return true;
}

/* Moves the rows begin to end, with the first row's offsets of n columns from `column` on. */
static void move_table(const struct pass *p, int64_t *offsets, int64_t column, size_t n, int64_t begin, int64_t end)
{
    const struct kn_space *space = &p->trip->space;
    const struct stretch whole = {.low = INT64_MIN, .high = INT64_MAX};
    const int last = space->ndim - 1;
    const int64_t *of_data = space->strides[KN_TRIP_DATA], *of_dense = space->strides[KN_TRIP_DENSE];
    struct pass at = *p;
    for (int64_t row = begin, rows; row < end; row += rows) {
        int64_t rest = row, data = 0, dense = column * of_dense[last];
        for (int i = last - 1; i >= 0; rest /= space->shape[i--]) {
            data += rest % space->shape[i] * of_data[i];
            dense += rest % space->shape[i] * of_dense[i];
        }
        rows = space->shape[last - 1] - row % space->shape[last - 1]; /* that are neighbours along that axis */
        if (rows > end - row) rows = end - row;
        for (int64_t i = 0; i < rows; i++, data += of_data[last - 1], dense += of_dense[last - 1]) {
            at.data = p->data + data * (int64_t)p->size;
            char *to = p->dense + dense * (int64_t)p->size;
            if (p->access == KN_READ)
                read_block(&at, offsets, to, of_dense[last], n);
            else
                write_block(&at, &whole, offsets, to, of_dense[last], n);
        }
    }
}

/* Items are rows. */
static void table_piece(void *context, size_t begin, size_t end, int worker)
{
    struct pass *p = context;
    const int last = p->trip->space.ndim - 1;
    const int64_t columns = p->trip->space.shape[last];
    struct stretch s = {.low = INT64_MIN, .high = INT64_MAX};
    int64_t offsets[BLOCK];
    (void)worker;
    for (int64_t i = 0; i < columns && !rt_interrupted(); i += BLOCK) {
        const size_t n = (size_t)(columns - i < BLOCK ? columns - i : BLOCK);
        s.coordinates[last] = i;
        memset(offsets, 0, n * sizeof *offsets); /* the rest of the block is not used */
        const size_t good = find_offsets(p, &s, last, p->access == KN_CHECK ? NULL : offsets, n);
        if (good < n) {
            note_bad(p, i + (int64_t)good); /* of the first row, as of each */
            return;
        }
        if (p->access != KN_CHECK) move_table(p, offsets, i, n, (int64_t)begin, (int64_t)end);
    }
}

static void run_table(struct pass *p)
{
    const struct kn_space *space = &p->trip->space;
    const int64_t columns = space->shape[space->ndim - 1], rows = space->size / columns;
    p->far = false; /* but for rows that are */
    for (int k = 0; k < p->trip->x->count; k++)
        p->far |= llabs(p->trip->step[k] * p->trip->length[k]) * (int64_t)p->size > NEAR;
    if (p->access == KN_CHECK)
        table_piece(p, 0, 1, 0);
    else
        rt_parallel_for((size_t)rows, columns < KN_GRAIN ? (size_t)(KN_GRAIN / columns) : 1, table_piece, p);
}

enum rt_status kn_gather_host(const struct kn_trip *t, enum kn_access access, int64_t *bad, struct rt_error *e)
{
    struct pass p = {.trip = t, .access = access, .size = rt_dtypes[t->x->data->dtype].size, .rows = true};
    p.loops = kn_host_loops();
    bool writes = access == KN_WRITE || access == KN_ACCUMULATE;
    p.bad = INT64_MAX;
    p.data = rt_array_host(t->x->data);
    p.dense = t->dense ? rt_array_host(t->dense) : NULL;
    for (int i = 0; i < t->x->count; i++) {
        p.index[i] = rt_array_host(t->x->picks[i].index);
        p.rows &= t->space.strides[KN_TRIP_INDEX + i][t->space.ndim - 1] == 0;
    }
    p.far = !p.rows && (size_t)t->span * p.size > NEAR;
    if (is_table(&p, writes)) {
        run_table(&p);
    } else if (writes && !(t->x->once && t->apart)) {
        bool worth = t->space.size > KN_GRAIN && (size_t)t->span * p.size > NEAR; /* else the finding costs most */
        p.parts = t->apart && worth ? rt_thread_count() : 1;
        if (p.parts > t->span) p.parts = (int)t->span;
        rt_parallel_for((size_t)p.parts, 1, parts_piece, &p);
    } else {
        rt_parallel_for((size_t)t->space.size, KN_GRAIN, places_piece, &p);
    }
    *bad = p.bad == INT64_MAX ? -1 : p.bad;
    return rt_stopped(e);
}
