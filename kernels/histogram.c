/* Counting elements by what they are (bincount) or by the bin they lie in (histogram). Each host thread counts in a
 * table of its own where those are small beside the elements, so results do not depend on the number of threads. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/gather.h"
#include "kernels/generate.h"
#include "kernels/host.h"
#include "kernels/order.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define PIECE       65536
#define BLOCK_BYTES ((size_t)KN_BLOCK * 8 + 64)
#define SHARED_BINS 4096 /* that a block of the GPU counts in its shared memory */

/* edges NULL: an integer is its bin's number. */
struct counter {
    const struct rt_array *a; /* contiguous */
    const struct rt_array *edges;
    double low, high; /* the first and the last edge */
    int64_t bins;
};

struct pass {
    const struct counter *c;
    const struct kn_loops *loops;
    const char *in;
    const double *edges;
    int64_t *counts; /* a table for each worker */
    char *scratch;
};

/* Where there are few bins, tables take turns, so that neighbours in one bin do not wait for each other. */
#define TABLES   4
#define FEW_BINS 64

/* The bin of a value by arithmetic, which may be wrong next to an edge: a loop of its own, for vectors. The range may
 * be so narrow that scale is infinite, and then a place can be NaN. */
static void find_bins(const struct counter *c, const double *values, size_t n, int32_t *bins)
{
    const double low = c->low, scale = (double)c->bins / (c->high - c->low), last = (double)(c->bins - 1);
    for (size_t i = 0; i < n; i++) {
        double place = (values[i] - low) * scale;
        place = place > 0 ? place : 0;
        bins[i] = (int32_t)(place < last ? place : last);
    }
}

/* What is not between the edges of its bin: next to one, or on the last one. */
static void count_aside(const struct pass *p, double x, int64_t bin, int64_t *counts)
{
    while (bin > 0 && x < p->edges[bin]) bin--;
    while (bin + 1 < p->c->bins && x >= p->edges[bin + 1]) bin++;
    counts[bin]++;
}

static bool is_inside(const struct counter *c, double x)
{
    return (x >= c->low) & (x <= c->high); /* one jump at most */
}

/* Moves values that are neither outside nor NaN to the front, without a jump: none could be foretold. Returns how many.
 */
static size_t keep_inside(const struct counter *c, double *values, size_t n)
{
    const struct counter at = {.low = c->low, .high = c->high}; /* which no store can change */
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = values[i];
        values[kept] = x;
        kept += is_inside(&at, x);
    }
    return kept;
}

/* Of very few bins, by vectors: what is at or above a bin's lower edge and not the next one's. What is on the last edge
 * counts. */
#define VERY_FEW_BINS 16
static void count_very_few(const struct pass *p, const double *values, size_t n, int64_t *counts)
{
    const size_t bins = (size_t)p->c->bins;
    double edges[VERY_FEW_BINS + 1];
    int64_t above[VERY_FEW_BINS + 1];
    memcpy(edges, p->edges, bins * sizeof *edges);
    edges[bins] = nextafter(p->edges[bins], INFINITY);
    p->loops->at_least(above, edges, bins + 1, values, n);
    for (size_t i = 0; i < bins; i++) counts[i] += above[i] - above[i + 1];
}

/* A block of values, which it uses up. The edges decide where they are. */
static void count_floats(const struct pass *p, double *values, size_t n, int64_t *counts)
{
    const int64_t all = p->c->bins, apart = all <= FEW_BINS ? all : 0;
    int64_t tables[TABLES * FEW_BINS], *to = apart ? tables : counts;
    int32_t bins[KN_BLOCK];
    const double *edges = p->edges;
    find_bins(p->c, values, n, bins);
    memset(tables, 0, (size_t)(TABLES * apart) * sizeof *tables);
    for (size_t i = 0; i < n;) {
        const double x = values[i];
        const int32_t bin = bins[i];
        if (x >= edges[bin] && x < edges[bin + 1]) {
            to[(int64_t)(i % TABLES) * apart + bin]++;
        } else if (is_inside(p->c, x)) {
            count_aside(p, x, bin, counts);
        } else { /* once: none of those that stay is outside */
            n = i + keep_inside(p->c, values + i, n - i);
            find_bins(p->c, values + i, n - i, bins + i);
            continue;
        }
        i++;
    }
    for (int64_t i = 0; i < TABLES * apart; i++) counts[i % apart] += tables[i];
}

static void count_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct pass *p = context;
    enum rt_dtype t = p->c->a->dtype, to = p->edges ? RT_FLOAT64 : RT_INT64;
    char *block = p->scratch + (size_t)worker * 2 * BLOCK_BYTES, *converted = block + BLOCK_BYTES;
    int64_t *counts = p->counts + (int64_t)worker * p->c->bins;
    for (size_t i = begin; i < end && !rt_interrupted(); i += KN_BLOCK) {
        size_t n = end - i < KN_BLOCK ? end - i : KN_BLOCK;
        p->loops->load[t](block, p->in + i * rt_dtypes[t].size, 1, n);
        p->loops->convert[kn_class_of(t)][to](converted, block, n);
        if (p->edges && p->c->bins <= VERY_FEW_BINS && p->loops != &kn_loops_base)
            count_very_few(p, (const double *)(const void *)converted, n, counts);
        else if (p->edges)
            count_floats(p, (double *)(void *)converted, n, counts);
        else
            for (size_t k = 0; k < n; k++) counts[((const int64_t *)(void *)converted)[k]]++;
    }
}

static enum rt_status count_host(const struct counter *c, const struct rt_array *out, struct rt_error *e)
{
    int64_t n = rt_array_size(c->a), workers = n > PIECE ? rt_thread_count() : 1;
    if (workers * c->bins > (n > PIECE ? n : PIECE)) workers = 1;
    int64_t *const to = rt_array_host(out);
    const size_t bytes = (size_t)c->bins * sizeof *to;
    _Alignas(64) char alone[2 * BLOCK_BYTES];
    struct pass p = {.c = c,
                     .loops = kn_host_loops(),
                     .in = rt_array_host(c->a),
                     .edges = c->edges ? rt_array_host(c->edges) : NULL,
                     .counts = workers > 1 ? rt_calloc((size_t)workers, bytes) : memset(to, 0, bytes),
                     .scratch = workers > 1 ? rt_alloc(2 * BLOCK_BYTES * (size_t)workers) : alone};
    enum rt_status status = RT_OK;
    if (!p.counts || !p.scratch) {
        status = rt_fail(e, RT_NOMEM, "out of memory for counting in %" PRId64 " bins", c->bins);
    } else {
        rt_parallel_for((size_t)n, workers > 1 ? PIECE : (size_t)n, count_piece, &p);
        if (workers > 1) memcpy(to, p.counts, bytes);
        for (int64_t w = 1; w < workers; w++)
            for (int64_t i = 0; i < c->bins; i++) to[i] += p.counts[w * c->bins + i];
        if (rt_interrupted()) status = rt_fail(e, RT_INTERRUPTED, "interrupted");
    }
    if (workers == 1) return status;
    free(p.counts);
    free(p.scratch);
    return status;
}

struct count_key {
    uint8_t what; /* 'h' */
    uint8_t dtype, edges, shared;
};

static void write_count(const void *context, struct kn_text *t)
{
    const struct count_key *k = context;
    enum rt_dtype from = (enum rt_dtype)k->dtype;
    kn_put(t,
           "struct Arguments { long long n, bins; double low, high; const %s *a; const double *edges;\n"
           "unsigned long long *counts; };\n"
           "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n",
           kn_memory_type(from));
    if (k->shared)
        kn_put(t,
               "__shared__ unsigned mine[%d];\n"
               "for (int b = threadIdx.x; b < p.bins; b += 256) mine[b] = 0;\n__syncthreads();\n",
               SHARED_BINS);
    kn_put(t,
           "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.n; i += (long long)gridDim.x * 256) {\n"
           "const %s raw = ",
           kn_classes[kn_class_of(from)].cuda);
    kn_put_load(t, from, "p.a", "i");
    if (k->edges)
        kn_put(
            t,
            ";\nconst double x = (double)raw;\nif (!(x >= p.low && x <= p.high)) continue;\n"
            "const double place = (x - p.low) * ((double)p.bins / (p.high - p.low));\n"
            "long long bin = place >= (double)p.bins ? p.bins - 1 : place > 0 ? (long long)place : 0;\n"
            "while (bin > 0 && x < p.edges[bin]) bin--;\nwhile (bin + 1 < p.bins && x >= p.edges[bin + 1]) bin++;\n");
    else
        kn_put(t, ";\nconst long long bin = (long long)raw;\n");
    kn_put(t, "%s;\n}\n", k->shared ? "atomicAdd(&mine[bin], 1u)" : "atomicAdd(&p.counts[bin], 1ull)");
    if (k->shared)
        kn_put(
            t,
            "__syncthreads();\n"
            "for (int b = threadIdx.x; b < p.bins; b += 256) if (mine[b]) atomicAdd(&p.counts[b], (unsigned long long)mine[b]);\n");
    kn_put(t, "}\n");
}

static enum rt_status count_cuda(const struct counter *c, const struct rt_array *out, struct rt_error *e)
{
    int64_t n = rt_array_size(c->a);
    struct count_key k = {'h', (uint8_t)c->a->dtype, c->edges != NULL, c->bins <= SHARED_BINS};
    struct kn_words w = {0};
    kn_word(&w, (uint64_t)n);
    kn_word(&w, (uint64_t)c->bins);
    kn_word_number(&w, RT_FLOAT64, &(struct kn_operand){.is_float = true, .f = c->low});
    kn_word_number(&w, RT_FLOAT64, &(struct kn_operand){.is_float = true, .f = c->high});
    kn_word(&w, rt_array_address(c->a));
    kn_word(&w, c->edges ? rt_array_address(c->edges) : 0);
    kn_word(&w, rt_array_address(out));
    enum rt_status status = kn_fill(out, &(struct kn_operand){.i = 0}, e);
    if (status != RT_OK) return status;
    return kn_launch(rt_array_device(out),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_count,
                                         .context = &k,
                                         .words = &w,
                                         .blocks = (n + PIECE / 16 - 1) / (PIECE / 16)},
                     e);
}

static enum rt_status count(struct counter c, const struct rt_array *a, struct rt_array *out, struct rt_error *e)
{
    struct rt_array whole = {0};
    enum rt_status status = rt_array_new(rt_array_device(a), RT_INT64, 1, &c.bins, out, e);
    if (status == RT_OK) status = kn_contiguous(a, &whole, e);
    c.a = &whole;
    if (status != RT_OK || c.bins == 0)
        ;
    else if (rt_array_size(a) == 0)
        status = kn_fill(out, &(struct kn_operand){.i = 0}, e);
    else
        status = kn_runs_generated(rt_array_device(a)) ? count_cuda(&c, out, e) : count_host(&c, out, e);
    rt_array_release(&whole);
    if (status != RT_OK) rt_array_release(out);
    return status;
}

/* The only element of a reduction over all axes, as an integer. */
static enum rt_status reduce_to_integer(enum kn_reduction k, const struct rt_array *a, int64_t *value,
                                        struct rt_error *e)
{
    struct rt_array one = {0};
    enum rt_dtype t;
    uint64_t element = 0;
    if (kn_small_reduction(k, a, &t, &element)) {
        *value = rt_load_int(t, &element);
        return RT_OK;
    }
    enum rt_status status = kn_reduce(k, a, KN_ALL_AXES, false, &one, e);
    if (status == RT_OK) status = rt_array_read(&one, &element, e);
    *value = rt_load_int(a->dtype, &element);
    rt_array_release(&one);
    return status;
}

enum rt_status kn_bincount(const struct rt_array *a, int64_t least, struct rt_array *out, struct rt_error *e)
{
    struct counter c = {.bins = least};
    int64_t low = 0, high = -1;
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(a, e);
    if (status != RT_OK) return status;
    if (rt_dtypes[a->dtype].kind == 'f' || rt_is_complex(a->dtype))
        return rt_fail(e, RT_INVALID, "bincount counts integers, not %s; convert with :to(\"int64\")",
                       rt_dtypes[a->dtype].name);
    if (rt_array_size(a) > 0) {
        status = reduce_to_integer(KN_MIN, a, &low, e);
        if (status == RT_OK) status = reduce_to_integer(KN_MAX, a, &high, e);
        if (status != RT_OK) return status;
    }
    if (low < 0 || high < -1)
        return rt_fail(e, RT_INVALID, "bincount counts integers from 0 on, and there is %" PRId64,
                       low < 0 ? low : high);
    if (high >= INT64_MAX / 16) return rt_fail(e, RT_INVALID, "bincount would need %" PRId64 " bins", high);
    if (high >= c.bins) c.bins = high + 1;
    return count(c, a, out, e);
}

enum rt_status kn_histogram(const struct rt_array *a, const struct rt_array *edges, struct rt_array *out,
                            struct rt_error *e)
{
    struct rt_array whole = {0};
    struct counter c = {.edges = &whole, .bins = edges->shape[0] - 1};
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *[]){a, edges}, 2, e);
    if (status == RT_OK) status = kn_check_real(a, "histogram", e);
    if (status == RT_OK) status = kn_contiguous(edges, &whole, e);
    struct rt_array first = whole, last = whole; /* borrowed */
    first.ndim = last.ndim = 0;
    last.offset += c.bins;
    if (status == RT_OK) status = rt_array_read(&first, &c.low, e);
    if (status == RT_OK) status = rt_array_read(&last, &c.high, e);
    if (status == RT_OK) status = count(c, a, out, e);
    rt_array_release(&whole);
    return status;
}

/* A block of elements, one after the other in memory, as another class's numbers; in `block`, of two blocks, or where
 * they lie. */
static const void *block_as(const struct kn_loops *l, enum rt_dtype from, enum rt_dtype to, const void *in, void *block,
                            size_t n)
{
    char *other = (char *)block + BLOCK_BYTES;
    if (from == to) return in;
    l->load[from](other, in, 1, n);
    l->convert[kn_class_of(from)][to](block, other, n);
    return block;
}

/* Adds n weights to where they belong; a sum is at hand as long as its place does not change. False where a place is
 * not there. */
static bool add_weights(double *sums, int64_t count, const int64_t *places, const double *weights, size_t n)
{
    int64_t at = 0;
    double sum = sums[0];
    for (size_t i = 0; i < n; i++) {
        if (places[i] != at) {
            sums[at] = sum;
            at = places[i];
            if ((uint64_t)at >= (uint64_t)count) return false;
            sum = sums[at];
        }
        sum += weights[i];
    }
    sums[at] = sum;
    return true;
}

/* Of contiguous arrays on the host. */
static enum rt_status weigh_blocks(const struct rt_array *places, const struct rt_array *weights,
                                   const struct rt_array *out, struct rt_error *e)
{
    const struct kn_loops *l = kn_host_loops();
    const size_t n = (size_t)rt_array_size(places), place = rt_dtypes[places->dtype].size,
                 weight = rt_dtypes[weights->dtype].size;
    char *blocks = rt_alloc(4 * BLOCK_BYTES);
    if (!blocks) return rt_fail(e, RT_NOMEM, "out of memory for weights");
    bool there = true;
    for (size_t at = 0, some; at < n && there && !rt_interrupted(); at += some) {
        some = n - at < KN_BLOCK ? n - at : KN_BLOCK;
        const int64_t *to =
            block_as(l, places->dtype, RT_INT64, (const char *)rt_array_host(places) + at * place, blocks, some);
        const double *w = block_as(l, weights->dtype, RT_FLOAT64, (const char *)rt_array_host(weights) + at * weight,
                                   blocks + 2 * BLOCK_BYTES, some);
        there = add_weights(rt_array_host(out), out->shape[0], to, w, some);
    }
    free(blocks);
    if (rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    return there ? RT_OK : rt_fail(e, RT_INVALID, "a place is not among the %lld", (long long)out->shape[0]);
}

static enum rt_status weigh_on_host(const struct rt_array *places, const struct rt_array *weights,
                                    const struct rt_array *out, struct rt_error *e)
{
    struct rt_array index = {0}, values = {0};
    enum rt_status status = kn_contiguous(places, &index, e);
    if (status == RT_OK) status = kn_contiguous(weights, &values, e);
    if (status == RT_OK) status = weigh_blocks(&index, &values, out, e);
    rt_array_release(&index);
    rt_array_release(&values);
    return status;
}

enum rt_status kn_weigh(const struct rt_array *places, const struct rt_array *weights, int64_t count,
                        struct rt_array *out, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(places);
    struct rt_array index = {0}, values = {0};
    int64_t n = rt_array_size(places);
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *[]){places, weights}, 2, e);
    if (status == RT_OK) status = kn_check_real(weights, "bincount", e);
    if (status == RT_OK) status = rt_array_new(d, RT_FLOAT64, 1, &count, out, e);
    if (status == RT_OK) status = kn_fill(out, &(struct kn_operand){.i = 0}, e);
    if (status == RT_OK && n > 0 && count > 0 && !kn_runs_generated(d) && places->dtype != RT_UINT64) {
        status = weigh_on_host(places, weights, out, e);
        if (status != RT_OK) rt_array_release(out);
        return status;
    }
    if (status == RT_OK) status = kn_convert(places, RT_INT64, d, &index, e);
    if (status == RT_OK) status = kn_convert(weights, RT_FLOAT64, d, &values, e);
    if (status == RT_OK) status = kn_apply(KN_ADD, (struct kn_operand[]){{.array = &index}, {.i = 1}}, &index, e);
    if (status == RT_OK && n > 0) {
        struct kn_indexing x = {.data = out, .ndim = 1, .shape = {n}, .runs = {-1}, .count = 1};
        x.picks[0] = (struct kn_pick){.index = &index};
        index.ndim = values.ndim = 1; /* both are contiguous */
        index.shape[0] = values.shape[0] = n;
        index.strides[0] = values.strides[0] = 1;
        status = kn_scatter_by(KN_ADD, &x, &values, e);
    }
    rt_array_release(&index);
    rt_array_release(&values);
    if (status != RT_OK) rt_array_release(out);
    return status;
}
