/* Scans on the host threads.
 *
 * A long row is cut into chunks that fit the cache. Chunks are taken in order; whoever has one adds it up, waits for
 * what is before it, says what is before the next, and then scans it: memory is read once. Rows that lie side by side
 * are instead scanned many at a time, element by element, by the same loops as everything else. Chunks depend on the
 * shape alone, so results do not depend on the number of threads. */
#include "kernels/scan.h"
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define CHUNK  32768 /* elements: with their values in float64 they fit the second-level cache */
#define BLOCKS 4     /* that a worker has */
#define STACK  69632 /* bytes of blocks that a small scan has without an allocation */
#define SIDE   16    /* rows that lie side by side from this number on are scanned together */

/* One value of any class. */
union value {
    int32_t i32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
    double _Complex c128;
};

/* to[i] = carry and in[0..i] combined; the last becomes the carry. Within groups of eight only one step waits for the
 * carry, so the processor works on several groups at once. */
typedef void scan_loop(void *to, const void *in, union value *carry, size_t n);
/* The carry combined with all of n values. */
typedef void total_loop(const void *in, union value *carry, size_t n);

#define SCAN(name, T, member, OP)                                                                                      \
    static void scan_##name(void *to, const void *in, union value *carry, size_t n)                                    \
    {                                                                                                                  \
        const T *v = in;                                                                                               \
        T *out = to, c = carry->member;                                                                                \
        size_t i = 0;                                                                                                  \
        for (; i + 8 <= n; i += 8) {                                                                                   \
            const T a = v[i], b = OP(a, v[i + 1]), d = OP(b, v[i + 2]), f = OP(d, v[i + 3]);                           \
            const T g = v[i + 4], h = OP(g, v[i + 5]), k = OP(h, v[i + 6]), l = OP(k, v[i + 7]), m = OP(c, f);         \
            out[i] = OP(c, a), out[i + 1] = OP(c, b), out[i + 2] = OP(c, d), out[i + 3] = m;                           \
            out[i + 4] = OP(m, g), out[i + 5] = OP(m, h), out[i + 6] = OP(m, k);                                       \
            c = out[i + 7] = OP(m, l);                                                                                 \
        }                                                                                                              \
        for (; i < n; i++) c = out[i] = OP(c, v[i]);                                                                   \
        carry->member = c;                                                                                             \
    }                                                                                                                  \
    static void total_##name(const void *in, union value *carry, size_t n)                                             \
    {                                                                                                                  \
        const T *v = in;                                                                                               \
        T c = carry->member;                                                                                           \
        size_t i = 0;                                                                                                  \
        if (n >= 8) {                                                                                                  \
            T s[8];                                                                                                    \
            memcpy(s, v, sizeof s);                                                                                    \
            for (i = 8; i + 8 <= n; i += 8)                                                                            \
                for (int k = 0; k < 8; k++) s[k] = OP(s[k], v[i + (size_t)k]);                                         \
            for (int k = 0; k < 4; k++) s[k] = OP(s[k], s[k + 4]);                                                     \
            c = OP(c, OP(OP(s[0], s[1]), OP(s[2], s[3])));                                                             \
        }                                                                                                              \
        for (; i < n; i++) c = OP(c, v[i]);                                                                            \
        carry->member = c;                                                                                             \
    }
#define PLUS(a, b)    ((a) + (b))
#define TIMES(a, b)   ((a) * (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define LESSER(a, b)  ((a) < (b) ? (a) : (b))
SCAN(sum_i64, uint64_t, u64, PLUS)
SCAN(sum_f64, double, f64, PLUS)
SCAN(prod_i64, uint64_t, u64, TIMES)
SCAN(prod_f64, double, f64, TIMES)
SCAN(sum_c128, double _Complex, c128, PLUS)
SCAN(prod_c128, double _Complex, c128, TIMES)
SCAN(max_i32, int32_t, i32, GREATER)
SCAN(max_i64, int64_t, i64, GREATER)
SCAN(max_u64, uint64_t, u64, GREATER)
SCAN(numbers_max_f32, float, f32, GREATER)
SCAN(numbers_max_f64, double, f64, GREATER)
SCAN(min_i32, int32_t, i32, LESSER)
SCAN(min_i64, int64_t, i64, LESSER)
SCAN(min_u64, uint64_t, u64, LESSER)
SCAN(numbers_min_f32, float, f32, LESSER)
SCAN(numbers_min_f64, double, f64, LESSER)

/* The same of floats, of which the first NaN stays: what is before it has none. Mostly there is no NaN at all, which
 * the greatest of all says sooner than a search for the first one. */
#define SCAN_FLOATS(name, T, member, CLASS)                                                                            \
    static size_t numbers_of_##name(const T *v, T carry, size_t n)                                                     \
    {                                                                                                                  \
        const struct kn_loops *l = kn_host_loops();                                                                    \
        const T nan = (T)NAN;                                                                                          \
        T greatest = 0;                                                                                                \
        if (isnan(carry)) return 0;                                                                                    \
        if (n > 0) l->greatest[CLASS](&greatest, v, n);                                                                \
        return isnan(greatest) ? l->first[CLASS](v, &nan, n) : n;                                                      \
    }                                                                                                                  \
    static void scan_##name(void *to, const void *in, union value *carry, size_t n)                                    \
    {                                                                                                                  \
        const T *v = in;                                                                                               \
        T *out = to;                                                                                                   \
        size_t i = numbers_of_##name(v, carry->member, n);                                                             \
        scan_numbers_##name(to, in, carry, i);                                                                         \
        if (i < n && !isnan(carry->member)) carry->member = v[i];                                                      \
        for (; i < n; i++) out[i] = carry->member;                                                                     \
    }                                                                                                                  \
    static void total_##name(const void *in, union value *carry, size_t n)                                             \
    {                                                                                                                  \
        const T *v = in;                                                                                               \
        const size_t i = numbers_of_##name(v, carry->member, n);                                                       \
        total_numbers_##name(in, carry, i);                                                                            \
        if (i < n && !isnan(carry->member)) carry->member = v[i];                                                      \
    }
SCAN_FLOATS(max_f32, float, f32, KN_F32)
SCAN_FLOATS(max_f64, double, f64, KN_F64)
SCAN_FLOATS(min_f32, float, f32, KN_F32)
SCAN_FLOATS(min_f64, double, f64, KN_F64)

/* Logarithms of sums of exponentials. Blocks that begin near enough to their greatest element take exponentials less
 * that one, and sums of these, so that a sum is never small beside what it is added to; others add one at a time. */
#define LOG_BLOCK 64
#define LOG_REACH 32

/* Writes the sums of exponentials less *top, which is the greatest of the carry and n elements. False where sums would
 * lose digits, or there is no such number. */
static bool sum_powers(double carry, const double *in, size_t n, double *sums, double *top)
{
    double most = carry, sum, first = carry > in[0] ? carry : in[0], less[LOG_BLOCK + 1];
    for (size_t i = 0; i < n; i++) most = in[i] > most ? in[i] : most;
    *top = most;
    if (!isfinite(most) || !(first >= most - LOG_REACH)) return false;
    for (size_t i = 0; i < n; i++) less[i] = in[i] - most;
    less[n] = carry - most;
    kn_host_loops()->ops[KN_EXP][KN_F64](less, less, NULL, NULL, n + 1);
    sum = less[n];
    for (size_t i = 0; i < n; i++) sums[i] = sum += less[i];
    return true;
}

static void scan_powers(void *to, const void *in, union value *carry, size_t n)
{
    const double *v = in;
    double *out = to, sums[LOG_BLOCK], top, c = carry->f64;
    for (size_t i = 0; i < n; i += LOG_BLOCK) {
        const size_t many = n - i < LOG_BLOCK ? n - i : LOG_BLOCK;
        if (sum_powers(c, v + i, many, sums, &top)) {
            kn_host_loops()->ops[KN_LOG][KN_F64](sums, sums, NULL, NULL, many);
            for (size_t k = 0; k < many; k++) out[i + k] = sums[k] + top;
        } else {
            for (size_t k = 0; k < many; k++, c = out[i + k - 1])
                kn_host_loops()->ops[KN_LOGADDEXP][KN_F64](out + i + k, &c, v + i + k, NULL, 1);
        }
        c = out[i + many - 1];
    }
    carry->f64 = c;
}

static void total_powers(const void *in, union value *carry, size_t n)
{
    const double *v = in;
    double sums[LOG_BLOCK], top, c = carry->f64;
    for (size_t i = 0; i < n; i += LOG_BLOCK) {
        const size_t many = n - i < LOG_BLOCK ? n - i : LOG_BLOCK;
        if (sum_powers(c, v + i, many, sums, &top))
            c = log(sums[many - 1]) + top;
        else
            for (size_t k = 0; k < many; k++) kn_host_loops()->ops[KN_LOGADDEXP][KN_F64](&c, &c, v + i + k, NULL, 1);
    }
    carry->f64 = c;
}

/* By scan and class: the loops, and what changes nothing when it is combined with. */
static const struct loops {
    scan_loop *scan;
    total_loop *total;
    union value nothing;
} loops[KN_SCAN_COUNT][KN_CLASS_COUNT] = {
    [KN_CUMSUM] = {[KN_I64] = {scan_sum_i64, total_sum_i64, {.i64 = 0}},
                   [KN_U64] = {scan_sum_i64, total_sum_i64, {.u64 = 0}},
                   [KN_F64] = {scan_sum_f64, total_sum_f64, {.f64 = -0.0}},
                   [KN_C128] = {scan_sum_c128, total_sum_c128, {.c128 = 0}}},
    [KN_CUMPROD] = {[KN_I64] = {scan_prod_i64, total_prod_i64, {.i64 = 1}},
                    [KN_U64] = {scan_prod_i64, total_prod_i64, {.u64 = 1}},
                    [KN_F64] = {scan_prod_f64, total_prod_f64, {.f64 = 1}},
                    [KN_C128] = {scan_prod_c128, total_prod_c128, {.c128 = 1}}},
    [KN_CUMMAX] = {[KN_I32] = {scan_max_i32, total_max_i32, {.i32 = INT32_MIN}},
                   [KN_I64] = {scan_max_i64, total_max_i64, {.i64 = INT64_MIN}},
                   [KN_U64] = {scan_max_u64, total_max_u64, {.u64 = 0}},
                   [KN_F32] = {scan_max_f32, total_max_f32, {.f32 = -INFINITY}},
                   [KN_F64] = {scan_max_f64, total_max_f64, {.f64 = -INFINITY}}},
    [KN_CUMMIN] = {[KN_I32] = {scan_min_i32, total_min_i32, {.i32 = INT32_MAX}},
                   [KN_I64] = {scan_min_i64, total_min_i64, {.i64 = INT64_MAX}},
                   [KN_U64] = {scan_min_u64, total_min_u64, {.u64 = UINT64_MAX}},
                   [KN_F32] = {scan_min_f32, total_min_f32, {.f32 = INFINITY}},
                   [KN_F64] = {scan_min_f64, total_min_f64, {.f64 = INFINITY}}},
    [KN_LOGCUMSUMEXP] = {[KN_F64] = {scan_powers, total_powers, {.f64 = -INFINITY}}},
};

/* What is before a chunk of a row; said once, by whoever has the chunk before it. */
struct before {
    union value value;
    atomic_bool said;
};

struct pass {
    const struct kn_scanner *s;
    const struct kn_loops *host;
    const struct loops *loops;
    enum rt_dtype from, to;
    enum kn_class class;
    const char *in;
    char *out;
    int64_t chunks, width; /* of a row; rows that are scanned together */
    struct before *before; /* by chunk of all rows; NULL where rows are one chunk */
    size_t block_bytes;
    char *scratch; /* BLOCKS blocks for each worker */
};

static char *worker_blocks(const struct pass *p, int worker)
{
    return p->scratch + (size_t)worker * BLOCKS * p->block_bytes;
}

/* n elements from `at` on, `step` apart, as values of the accumulating class; in one of the two blocks that `block`
 * begins, or where they lie. */
static const void *fetch(const struct pass *p, const char *at, int64_t step, size_t n, char *block)
{
    enum rt_dtype t = p->s->accumulate;
    const void *values = at;
    if (step != 1 || !kn_class_exact(p->from)) {
        p->host->load[p->from](block, at, step, n);
        values = block;
    }
    if (kn_class_of(p->from) == p->class) return values;
    p->host->convert[kn_class_of(p->from)][t](block + p->block_bytes, values, n);
    return block + p->block_bytes;
}

static void put(const struct pass *p, char *at, int64_t step, size_t n, const void *values, char *block)
{
    bool direct = step == 1 && kn_class_exact(p->to);
    if (kn_class_of(p->to) != p->class || !kn_class_exact(p->to)) {
        void *to = direct ? (void *)at : block;
        p->host->convert[p->class][p->to](to, values, n);
        values = to;
    }
    if (values != at) p->host->store[p->to](at, step, values, n);
}

/* Where the results of a block go first: their place in the output, if they need no conversion. */
static void *place(const struct pass *p, char *at, int64_t step, char *block)
{
    return step == 1 && kn_class_exact(p->to) && kn_class_of(p->to) == p->class ? (void *)at : block;
}

/* ---- rows one by one ---- */
static int64_t row_begin(const struct kn_scanner *s, int64_t row)
{
    return row / s->inner * s->length * s->inner + row % s->inner;
}

static union value wait_for(struct before *b)
{
    while (!atomic_load_explicit(&b->said, memory_order_acquire)) sched_yield();
    return b->value;
}

static void say(struct before *b, union value value)
{
    b->value = value;
    atomic_store_explicit(&b->said, true, memory_order_release);
}

/* What a chunk begins with. Its own sum is taken first, so that the next need not wait for more than that. */
static union value begin_chunk(const struct pass *p, size_t item, const char *in, size_t n, char *block)
{
    const struct kn_scanner *s = p->s;
    size_t element = rt_dtypes[p->from].size;
    int64_t chunk = (int64_t)item % p->chunks;
    union value total = p->loops->nothing, before;
    if (!p->before) return total;
    for (size_t i = 0; chunk + 1 < p->chunks && i < n; i += KN_BLOCK) {
        size_t part = n - i < KN_BLOCK ? n - i : KN_BLOCK;
        p->loops->total(fetch(p, in + i * (size_t)s->inner * element, s->inner, part, block), &total, part);
    }
    before = chunk > 0 ? wait_for(&p->before[item]) : p->loops->nothing;
    if (chunk + 1 < p->chunks) {
        union value next = before;
        p->host->ops[s->combine][p->class](&next, &next, &total, NULL, 1);
        say(&p->before[item + 1], next);
    }
    return before;
}

/* Chunks are done to the end even when the user interrupts: others wait for them. */
static void chunk_piece(void *context, size_t begin, size_t end, int worker)
{
    struct pass *p = context;
    const struct kn_scanner *s = p->s;
    char *block = worker_blocks(p, worker), *results = block + 2 * p->block_bytes,
         *converted = results + p->block_bytes;
    size_t from = rt_dtypes[p->from].size, to = rt_dtypes[p->to].size;
    for (size_t item = begin; item < end; item++) {
        int64_t first = (int64_t)item % p->chunks * CHUNK;
        size_t n = (size_t)(s->length - first < CHUNK ? s->length - first : CHUNK);
        size_t at = (size_t)(row_begin(s, (int64_t)item / p->chunks) + first * s->inner);
        union value carry = begin_chunk(p, item, p->in + at * from, n, block);
        if (rt_interrupted()) continue;
        for (size_t i = 0; i < n; i += KN_BLOCK) {
            size_t part = n - i < KN_BLOCK ? n - i : KN_BLOCK, here = at + i * (size_t)s->inner;
            const void *values = fetch(p, p->in + here * from, s->inner, part, block);
            void *result = place(p, p->out + here * to, s->inner, results);
            p->loops->scan(result, values, &carry, part);
            put(p, p->out + here * to, s->inner, part, result, converted);
        }
    }
}

static enum rt_status scan_chunks(struct pass *p, struct rt_error *e)
{
    const struct kn_scanner *s = p->s;
    p->chunks = (s->length + CHUNK - 1) / CHUNK;
    size_t items = (size_t)(s->rows * p->chunks);
    if (p->chunks > 1) {
        p->before = rt_calloc(items, sizeof *p->before);
        if (!p->before) return rt_fail(e, RT_NOMEM, "out of memory: %zu partial results of a scan", items);
    }
    rt_parallel_for(items, s->length >= CHUNK ? 1 : (size_t)(CHUNK / s->length), chunk_piece, p);
    free(p->before);
    return RT_OK;
}

/* ---- rows side by side ---- */
static void side_piece(void *context, size_t begin, size_t end, int worker)
{
    struct pass *p = context;
    const struct kn_scanner *s = p->s;
    char *all = worker_blocks(p, worker), *block = all + p->block_bytes, *converted = block + 2 * p->block_bytes;
    size_t value = kn_classes[p->class].size;
    int64_t pieces = (s->inner + p->width - 1) / p->width;
    for (size_t item = begin; item < end; item++) {
        int64_t column = (int64_t)item % pieces * p->width;
        size_t n = (size_t)(s->inner - column < p->width ? s->inner - column : p->width);
        size_t at = (size_t)((int64_t)item / pieces * s->length * s->inner + column);
        for (int64_t i = 0; i < s->length && !rt_interrupted(); i++, at += (size_t)s->inner) {
            const void *values = fetch(p, p->in + at * rt_dtypes[p->from].size, 1, n, block);
            if (i == 0)
                memcpy(all, values, n * value);
            else
                p->host->ops[s->combine][p->class](all, all, values, NULL, n);
            put(p, p->out + at * rt_dtypes[p->to].size, 1, n, all, converted);
        }
    }
}

static void scan_side_by_side(struct pass *p)
{
    const struct kn_scanner *s = p->s;
    int64_t outer = s->rows / s->inner, width = s->inner / (2 * rt_thread_count()) + 1;
    p->width = outer >= 4 * rt_thread_count() || width > KN_BLOCK ? KN_BLOCK : width < 256 ? 256 : width;
    rt_parallel_for((size_t)(outer * ((s->inner + p->width - 1) / p->width)), 1, side_piece, p);
}

enum rt_status kn_scan_host(const struct kn_scanner *s, const struct rt_array *a, const struct rt_array *out,
                            struct rt_error *e)
{
    struct pass p = {.s = s,
                     .host = kn_host_loops(),
                     .from = a->dtype,
                     .to = out->dtype,
                     .class = kn_class_of(s->accumulate),
                     .in = rt_array_host(a),
                     .out = rt_array_host(out)};
    p.loops = &loops[s->scan][p.class];
    _Alignas(64) char stack[STACK];
    bool side = s->inner >= SIDE && s->length > 1, alone = !side && s->rows * s->length <= KN_BLOCK;
    int64_t longest = s->length > s->inner ? s->length : s->inner;
    p.block_bytes = ((size_t)(longest < KN_BLOCK ? longest : KN_BLOCK) * RT_ELEMENT + 63) / 64 * 64 + 64;
    size_t bytes = BLOCKS * p.block_bytes * (size_t)(alone ? 1 : rt_thread_count());
    char *heap = bytes > STACK ? rt_alloc_lines(bytes) : NULL;
    if (bytes > STACK && !heap) return rt_fail(e, RT_NOMEM, "out of memory for the blocks of a scan");
    p.scratch = heap ? heap : stack;
    enum rt_status status = RT_OK;
    if (side)
        scan_side_by_side(&p);
    else
        status = scan_chunks(&p, e);
    free(heap);
    return status == RT_OK ? rt_stopped(e) : status;
}
