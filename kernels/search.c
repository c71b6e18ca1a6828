/* Binary search of many values in a sorted array, by the keys of keys.h: one loop for all dtypes of a size. On the host
 * values of 4 and 8 bytes are looked for some at a time, in a row of keys. And lines between points, which are what two
 * of them are found for. */
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/keys_cuda.h"
#include "kernels/order.h"
#include "kernels/program.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define PIECE 4096 /* values that are searched for at a time */

struct search {
    const void *sorted, *values;
    int64_t *out;
    size_t n;
    int kind;
    uint64_t inf;
    bool right;
};

#undef KN_FN
#define KN_FN static inline
KN_KEY_FUNCTIONS(uint8_t, 0x80, key_8, same_8)
KN_KEY_FUNCTIONS(uint16_t, 0x8000, key_16, same_16)
KN_KEY_FUNCTIONS(uint32_t, 0x80000000, key_32, same_32)
KN_KEY_FUNCTIONS(uint64_t, 0x8000000000000000, key_64, same_64)

#define SEARCH(U, KEY, SAME)                                                                                           \
    static void find_##KEY(void *context, size_t begin, size_t end, int worker)                                        \
    {                                                                                                                  \
        const struct search *s = context;                                                                              \
        const U *sorted = s->sorted, *values = s->values, inf = (U)s->inf;                                             \
        const int kind = s->kind;                                                                                      \
        (void)worker;                                                                                                  \
        for (size_t i = begin; i < end && !rt_interrupted(); i++) {                                                    \
            const U key = KEY(SAME(values[i], kind, inf), kind, inf, 0);                                               \
            size_t first = 0;                                                                                          \
            for (size_t n = s->n; n > 0;) {                                                                            \
                size_t half = n / 2;                                                                                   \
                const U other = KEY(SAME(sorted[first + half], kind, inf), kind, inf, 0);                              \
                bool behind = s->right ? other <= key : other < key;                                                   \
                first = behind ? first + half + 1 : first;                                                             \
                n = behind ? n - half - 1 : half;                                                                      \
            }                                                                                                          \
            s->out[i] = (int64_t)first + 1;                                                                            \
        }                                                                                                              \
    }
SEARCH(uint8_t, key_8, same_8)
SEARCH(uint16_t, key_16, same_16)
SEARCH(uint32_t, key_32, same_32)
SEARCH(uint64_t, key_64, same_64)

/* ---- values of 4 and 8 bytes, as keys that are compared with signs ---- */

struct row {
    const struct kn_loops *loops;
    enum rt_dtype dtype;
    const void *keys; /* of the sorted array, in `made` or as it is */
    size_t n;
    void *made;
    bool right;
    /* Of what is looked for: */
    const char *values;
    int64_t *out;
    const struct kn_lines *lines; /* NULL: places are what is wanted */
    kn_lines_loop *between;
    char *to;
    size_t element; /* bytes of one there */
};

static void make_keys(const struct row *r, void *keys, const void *values, size_t n)
{
    const uint32_t *from_32 = values;
    const uint64_t *from_64 = values;
    switch (r->dtype) {
    case RT_FLOAT32: r->loops->ordered_32(keys, values, n); break;
    case RT_FLOAT64: r->loops->ordered_64(keys, values, n); break;
    case RT_UINT32:
        for (size_t i = 0; i < n; i++) ((uint32_t *)keys)[i] = from_32[i] ^ 0x80000000;
        break;
    default:
        for (size_t i = 0; i < n; i++) ((uint64_t *)keys)[i] = from_64[i] ^ 0x8000000000000000;
    }
}

static bool has_own_order(enum rt_dtype t)
{
    return t == RT_INT32 || t == RT_INT64;
}

/* False where the row is too long to be gone through for so few values, or there is no memory for it. */
static bool make_row(struct row *r, const struct rt_array *sorted, size_t count, bool right)
{
    size_t n = (size_t)sorted->shape[0], size = rt_dtypes[sorted->dtype].size;
    *r = (struct row){
        .loops = kn_host_loops(), .dtype = sorted->dtype, .keys = rt_array_host(sorted), .n = n, .right = right};
    if (size < 4 || n == 0 || n > INT32_MAX) return false;
    if (has_own_order(r->dtype)) return true;
    if (n / 4 > count || !(r->made = rt_alloc(n * size))) return false;
    make_keys(r, r->made, rt_array_host(sorted), n);
    r->keys = r->made;
    return true;
}

static void row_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct row *r = context;
    const size_t size = rt_dtypes[r->dtype].size;
    _Alignas(64) char keys[KN_BLOCK * 8];
    int64_t places[KN_BLOCK];
    (void)worker;
    for (size_t i = begin, n; i < end && !rt_interrupted(); i += n) {
        n = end - i < KN_BLOCK ? end - i : KN_BLOCK;
        const void *values = r->values + i * size;
        if (!has_own_order(r->dtype)) make_keys(r, keys, values, n);
        (size == 4 ? r->loops->places_32 : r->loops->places_64)(r->lines ? places : r->out + i, r->keys, r->n,
                                                                has_own_order(r->dtype) ? values : keys, r->right, n);
        if (r->lines) r->between(r->to + i * r->element, values, places, r->lines, n);
    }
}

/* ---- values of 1 and 2 bytes ---- */

struct lookup {
    const void *values;
    const int64_t *places; /* of each pattern of bits */
    int64_t *out;
};

#define LOOK_UP(U)                                                                                                     \
    static void look_up_##U(void *context, size_t begin, size_t end, int worker)                                       \
    {                                                                                                                  \
        const struct lookup *l = context;                                                                              \
        const U *values = l->values;                                                                                   \
        (void)worker;                                                                                                  \
        for (size_t i = begin; i < end; i++) l->out[i] = l->places[values[i]];                                         \
    }
LOOK_UP(uint8_t)
LOOK_UP(uint16_t)

/* Of values of 8 or 16 bits, of which there are more than patterns of bits: searches for each pattern once. False where
 * that is not so, or there is no memory for it. */
static bool search_patterns(const struct search *s, size_t size, size_t count)
{
    size_t patterns = (size_t)1 << 8 * (size < 2 ? 1 : 2);
    if (size > 2 || count < 2 * patterns) return false;
    int64_t *places = malloc(patterns * (sizeof *places + size));
    if (!places) return false;
    struct search all = *s;
    all.values = places + patterns;
    all.out = places;
    for (size_t i = 0; i < patterns; i++)
        if (size == 1)
            ((uint8_t *)(places + patterns))[i] = (uint8_t)i;
        else
            ((uint16_t *)(places + patterns))[i] = (uint16_t)i;
    rt_parallel_for(patterns, PIECE, size == 1 ? find_key_8 : find_key_16, &all);
    struct lookup l = {s->values, places, s->out};
    if (!rt_interrupted()) rt_parallel_for(count, PIECE, size == 1 ? look_up_uint8_t : look_up_uint16_t, &l);
    free(places);
    return true;
}

static enum rt_status search_host(const struct rt_array *sorted, const struct rt_array *values, bool right,
                                  const struct rt_array *out, struct rt_error *e)
{
    static void (*const loops[])(void *, size_t, size_t,
                                 int) = {[1] = find_key_8, [2] = find_key_16, [4] = find_key_32, [8] = find_key_64};
    struct search s = {rt_array_host(sorted),
                       rt_array_host(values),
                       rt_array_host(out),
                       (size_t)sorted->shape[0],
                       (int)kn_key_kind(sorted->dtype),
                       kn_key_infinity(sorted->dtype),
                       right};
    size_t size = rt_dtypes[sorted->dtype].size, count = (size_t)rt_array_size(out);
    struct row r;
    if (make_row(&r, sorted, count, right)) {
        r.values = s.values;
        r.out = s.out;
        rt_parallel_for(count, PIECE, row_piece, &r);
    } else if (!search_patterns(&s, size, count)) {
        rt_parallel_for(count, PIECE, loops[size], &s);
    }
    free(r.made);
    return rt_stopped(e);
}

struct search_key {
    uint8_t what; /* 'b' */
    uint8_t dtype, right;
};

static void write_search(const void *context, struct kn_text *t)
{
    const struct search_key *k = context;
    kn_put_keys(t, (enum rt_dtype)k->dtype);
    kn_put(
        t,
        "struct Arguments { long long n, count; const U *sorted, *values; long long *out; };\n"
        "static __device__ inline U key(U u) { return key_of(same_of(u, KIND, INF), KIND, INF, 0); }\n"
        "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n"
        "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.count; i += (long long)gridDim.x * 256) {\n"
        "const U wanted = key(p.values[i]);\nlong long first = 0;\n"
        "for (long long n = p.n; n > 0;) {\nconst long long half = n / 2;\n"
        "if (key(p.sorted[first + half]) %s wanted) { first += half + 1; n -= half + 1; } else n = half;\n}\n"
        "p.out[i] = first + 1;\n}\n}\n",
        k->right ? "<=" : "<");
}

static enum rt_status search_cuda(const struct rt_array *sorted, const struct rt_array *values, bool right,
                                  const struct rt_array *out, struct rt_error *e)
{
    struct search_key k = {'b', (uint8_t)sorted->dtype, right};
    struct kn_words w = {0};
    int64_t count = rt_array_size(out);
    kn_word(&w, (uint64_t)sorted->shape[0]);
    kn_word(&w, (uint64_t)count);
    kn_word(&w, rt_array_address(sorted));
    kn_word(&w, rt_array_address(values));
    kn_word(&w, rt_array_address(out));
    return kn_launch(rt_array_device(out),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_search,
                                         .context = &k,
                                         .words = &w,
                                         .blocks = (count + KN_THREADS - 1) / KN_THREADS},
                     e);
}

/* Contiguous and of the dtype. */
static enum rt_status prepare(const struct rt_array *a, enum rt_dtype t, struct rt_array *out, struct rt_error *e)
{
    return a->dtype == t ? kn_contiguous(a, out, e) : kn_convert(a, t, rt_array_device(a), out, e);
}

enum rt_status kn_search(const struct rt_array *sorted, const struct rt_array *values, bool right, struct rt_array *out,
                         struct rt_error *e)
{
    struct rt_array s = {0}, v = {0};
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *[]){sorted, values}, 2, e);
    if (status == RT_OK) status = kn_check_real(sorted, "searchsorted", e);
    if (status == RT_OK) status = kn_check_real(values, "searchsorted", e);
    if (status != RT_OK) return status;
    if (sorted->ndim != 1)
        return rt_fail(e, RT_INVALID, "searchsorted looks in an array of one axis, this one has %d", sorted->ndim);
    enum rt_dtype common = kn_promote(sorted->dtype, values->dtype);
    status = rt_array_new(rt_array_device(sorted), RT_INT64, values->ndim, values->shape, out, e);
    if (status == RT_OK) status = prepare(sorted, common, &s, e);
    if (status == RT_OK) status = prepare(values, common, &v, e);
    if (status == RT_OK && rt_array_size(out) > 0)
        status = kn_runs_generated(rt_array_device(sorted)) ? search_cuda(&s, &v, right, out, e)
                                                            : search_host(&s, &v, right, out, e);
    rt_array_release(&s);
    rt_array_release(&v);
    if (status != RT_OK) rt_array_release(out);
    return status;
}

static bool is_wide_float(const struct rt_array *a)
{
    return a->dtype == RT_FLOAT32 || a->dtype == RT_FLOAT64;
}

/* Slopes are looked up where there are as many values as points and vectors to compute them; it goes without them. */
static enum rt_status write_lines(struct row *r, struct kn_lines *lines, enum rt_dtype y, const struct rt_array *values,
                                  const struct rt_array *out, struct rt_error *e)
{
    const size_t count = (size_t)rt_array_size(out), element = rt_dtypes[out->dtype].size;
    const bool wide_x = r->dtype == RT_FLOAT64, wide_y = y == RT_FLOAT64;
    const bool known = r->n > 1 && r->n <= count && r->loops != &kn_loops_base;
    void *slopes = known ? rt_alloc(r->n * element) : NULL;
    if (slopes) r->loops->slopes[wide_x][wide_y](slopes, lines);
    lines->slopes = slopes;
    r->lines = lines;
    r->values = rt_array_host(values);
    r->between = r->loops->lines[wide_x][wide_y];
    r->to = rt_array_host(out);
    r->element = element;
    rt_parallel_for(count, PIECE, row_piece, r);
    free(slopes);
    return rt_stopped(e);
}

enum rt_status kn_interp(const struct rt_array *a, const struct rt_array *x, const struct rt_array *y, double left,
                         double right, struct rt_array *out, struct rt_error *e)
{
    struct rt_array points = {0}, heights = {0}, values = {0};
    struct row r = {0};
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *[]){a, x, y}, 3, e);
    if (status != RT_OK) return status;
    const bool together = kn_promote(a->dtype, x->dtype) == x->dtype; /* differences are of that dtype then */
    if (kn_runs_generated(rt_array_device(a)) || !together || !is_wide_float(a) || !is_wide_float(y))
        return rt_fail(e, RT_UNSUPPORTED, "interp: no loop for these arrays");
    const int64_t count = rt_array_size(a), n = x->shape[0];
    if (n > INT32_MAX || n / 4 > (count > KN_BLOCK ? count : KN_BLOCK))
        return rt_fail(e, RT_UNSUPPORTED, "interp: too many points to make a key of each for so few values");
    enum rt_dtype t = kn_promote(x->dtype, y->dtype);
    status = rt_array_new(rt_array_device(a), t, a->ndim, a->shape, out, e);
    if (status == RT_OK)
        status = a->dtype == x->dtype ? kn_contiguous(a, &values, e)
                                      : kn_convert(a, x->dtype, rt_array_device(a), &values, e);
    if (status == RT_OK) status = kn_contiguous(x, &points, e);
    if (status == RT_OK) status = kn_contiguous(y, &heights, e);
    if (status == RT_OK && count > 0 && !make_row(&r, &points, SIZE_MAX, true))
        status = rt_fail(e, RT_NOMEM, "out of memory: interp keeps a key of each point");
    if (status == RT_OK && count > 0)
        status =
            write_lines(&r, &(struct kn_lines){rt_array_host(&points), rt_array_host(&heights), NULL, r.n, left, right},
                        y->dtype, &values, out, e);
    free(r.made);
    rt_array_release(&points);
    rt_array_release(&heights);
    rt_array_release(&values);
    if (status != RT_OK) rt_array_release(out);
    return status;
}
