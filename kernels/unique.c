/* The different elements of an array. It is sorted, and where an element differs from the one before it a group begins:
 * the elements at these marks are what is wanted. A scan of the marks numbers the groups for the inverse. */
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/keys_cuda.h"
#include "kernels/nonzero.h"
#include "kernels/order.h"
#include "kernels/program.h"
#include "kernels/reduce.h"
#include "kernels/sort.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define PIECE 32768

enum step { MARK, INVERT, COUNT };

/* All of them contiguous; those not needed by a step, or not wanted, are all zeros. */
struct groups {
    int64_t n, count;                                /* elements, groups */
    struct rt_array sorted, order, marks, numbers;   /* the array, its argsort, where groups begin, 1, 1, 2, ... */
    struct rt_array values, begins, inverse, counts; /* by group, begins from 1; inverse by element */
};

struct host {
    const void *sorted;
    const int64_t *order, *numbers, *begins;
    int64_t *inverse, *counts, n, count;
    uint8_t *marks;
    size_t bytes;
    uint64_t rest, inf;
};

/* What compares equal without a jump: the same bits, two zeros or two NaN. `rest` is what a sign leaves, or all, and
 * nothing of an integer is above `inf`. */
#define SAME(a, b, rest, inf)                                                                                          \
    (((a) == (b)) | ((((a) | (b)) & (rest)) == 0) | ((((a) & (rest)) > (inf)) & (((b) & (rest)) > (inf))))

static uint64_t rest_of(enum rt_dtype t)
{
    return kn_key_kind(t) == KN_KEY_FLOAT ? ((uint64_t)1 << (8 * rt_dtypes[t].size - 1)) - 1 : UINT64_MAX;
}

static uint64_t infinity_of(enum rt_dtype t)
{
    return kn_key_kind(t) == KN_KEY_FLOAT ? kn_key_infinity(t) : UINT64_MAX;
}

#define MARKS(U)                                                                                                       \
    do {                                                                                                               \
        const U *sorted = h->sorted, rest = (U)h->rest, inf = (U)h->inf;                                               \
        uint8_t *marks = h->marks;                                                                                     \
        if (begin == 0) marks[0] = 1;                                                                                  \
        for (size_t i = begin == 0 ? 1 : begin; i < end; i++) marks[i] = !SAME(sorted[i], sorted[i - 1], rest, inf);   \
    } while (0)
static void mark_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct host *h = context;
    (void)worker;
    switch (h->bytes) {
    case 1: MARKS(uint8_t); break;
    case 2: MARKS(uint16_t); break;
    case 4: MARKS(uint32_t); break;
    default: MARKS(uint64_t);
    }
}

static void invert_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct host *h = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) h->inverse[h->order[i] - 1] = h->numbers[i];
}

static void count_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct host *h = context;
    (void)worker;
    for (size_t i = begin; i < end; i++)
        h->counts[i] = ((int64_t)i + 1 < h->count ? h->begins[i + 1] : h->n + 1) - h->begins[i];
}

static void *host_of(const struct rt_array *a)
{
    return a->storage ? rt_array_host(a) : NULL;
}

static enum rt_status run_host(const struct groups *g, enum step step, struct rt_error *e)
{
    static void (*const pieces[])(void *, size_t, size_t, int) = {mark_piece, invert_piece, count_piece};
    struct host h = {.sorted = host_of(&g->sorted),
                     .order = host_of(&g->order),
                     .numbers = host_of(&g->numbers),
                     .begins = host_of(&g->begins),
                     .inverse = host_of(&g->inverse),
                     .counts = host_of(&g->counts),
                     .marks = host_of(&g->marks),
                     .n = g->n,
                     .count = g->count,
                     .bytes = rt_dtypes[g->sorted.dtype].size,
                     .rest = rest_of(g->sorted.dtype),
                     .inf = infinity_of(g->sorted.dtype)};
    rt_parallel_for((size_t)(step == COUNT ? g->count : g->n), PIECE, pieces[step], &h);
    return rt_stopped(e);
}

struct unique_key {
    uint8_t what; /* 'u' */
    uint8_t step, dtype;
};

static void write_step(const void *context, struct kn_text *t)
{
    static const char *const texts[] = {
        "if (i < p.n) p.marks[i] = i == 0 || same_of(p.sorted[i], KIND, INF) != same_of(p.sorted[i - 1], KIND, INF);\n",
        "if (i < p.n) p.inverse[p.order[i] - 1] = p.numbers[i];\n",
        "if (i < p.count) p.counts[i] = (i + 1 < p.count ? p.begins[i + 1] : p.n + 1) - p.begins[i];\n"};
    const struct unique_key *k = context;
    kn_put_keys(t, (enum rt_dtype)k->dtype);
    kn_put(
        t,
        "struct Arguments { long long n, count; const U *sorted; const long long *order; unsigned char *marks;\n"
        "const long long *numbers, *begins; long long *inverse, *counts; };\n"
        "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n"
        "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.n; i += (long long)gridDim.x * 256) {\n%s}\n}\n",
        texts[k->step]);
}

static struct kn_launch launch_of(const struct unique_key *k)
{
    return (struct kn_launch){.key = k, .key_bytes = sizeof *k, .write = write_step, .context = k};
}

/* All steps, of which most calls take most. */
static void hurry(const struct groups *g)
{
    struct unique_key keys[COUNT + 1];
    struct kn_launch launches[COUNT + 1];
    for (int step = MARK; step <= COUNT; step++) {
        keys[step] = (struct unique_key){'u', (uint8_t)step, (uint8_t)g->sorted.dtype};
        launches[step] = launch_of(&keys[step]);
    }
    kn_hurry_together(rt_array_device(&g->sorted),
                      (const struct kn_launch *const[]){&launches[MARK], &launches[INVERT], &launches[COUNT]}, 3);
}

static enum rt_status run_cuda(const struct groups *g, enum step step, struct rt_error *e)
{
    const struct unique_key k = {'u', (uint8_t)step, (uint8_t)g->sorted.dtype};
    struct kn_launch l = launch_of(&k);
    const struct rt_array *arrays[] = {&g->sorted, &g->order,   &g->marks, &g->numbers,
                                       &g->begins, &g->inverse, &g->counts};
    struct kn_words w = {0};
    kn_word(&w, (uint64_t)g->n);
    kn_word(&w, (uint64_t)g->count);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        kn_word(&w, arrays[i]->storage ? rt_array_address(arrays[i]) : 0);
    l.words = &w;
    l.blocks = (g->n + KN_THREADS - 1) / KN_THREADS;
    if (step == MARK) hurry(g);
    return kn_launch(rt_array_device(&g->sorted), &l, e);
}

static enum rt_status run(const struct groups *g, enum step step, struct rt_error *e)
{
    return kn_runs_generated(rt_array_device(&g->sorted)) ? run_cuda(g, step, e) : run_host(g, step, e);
}

static enum rt_status count_groups(struct groups *g, const struct kn_mask *m, struct rt_device *d, struct rt_error *e)
{
    enum rt_status status = rt_array_new(d, RT_INT64, 1, &g->count, &g->begins, e);
    if (status == RT_OK) status = rt_array_new(d, RT_INT64, 1, &g->count, &g->counts, e);
    if (status == RT_OK) status = kn_mask_places(m, &g->begins, e);
    return status == RT_OK ? run(g, COUNT, e) : status;
}

static enum rt_status fill(struct groups *g, bool inverse, bool counts, const struct rt_array *a, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    struct kn_mask m = {0};
    enum rt_status status = rt_array_new(d, RT_BOOL, 1, &g->n, &g->marks, e);
    if (status == RT_OK) status = run(g, MARK, e);
    if (status == RT_OK) status = kn_mask_count(&g->marks, &m, e);
    g->count = m.count;
    if (status == RT_OK) status = rt_array_new(d, a->dtype, 1, &g->count, &g->values, e);
    if (status == RT_OK) status = kn_mask_read(&m, &g->sorted, &g->values, e);
    if (status == RT_OK && counts) status = count_groups(g, &m, d, e);
    kn_mask_release(&m);
    if (status != RT_OK || !inverse) return status;
    status = rt_array_new(d, RT_INT64, a->ndim, a->shape, &g->inverse, e);
    if (status == RT_OK) status = kn_scan(KN_CUMSUM, &g->marks, 0, &g->numbers, e);
    return status == RT_OK ? run(g, INVERT, e) : status;
}

static enum rt_status of_nothing(struct groups *g, const struct rt_array *a, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    int64_t none = 0;
    enum rt_status status = rt_array_new(d, a->dtype, 1, &none, &g->values, e);
    if (status == RT_OK) status = rt_array_new(d, RT_INT64, a->ndim, a->shape, &g->inverse, e);
    return status == RT_OK ? rt_array_new(d, RT_INT64, 1, &none, &g->counts, e) : status;
}

/* ---- bytes on the host: how often each of the 256 comes says all ---- */

#define BYTES  256
#define TABLES 4 /* that take turns, so that equal neighbours do not wait for each other */

struct bytes {
    const uint8_t *from;
    int64_t (*tables)[TABLES][BYTES]; /* of each worker */
    int64_t rank[BYTES], *inverse;
};

static void tally_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct bytes *b = context;
    int64_t(*t)[BYTES] = b->tables[worker];
    size_t i = begin;
    for (; i + TABLES <= end; i += TABLES)
        for (size_t k = 0; k < TABLES; k++) t[k][b->from[i + k]]++;
    for (; i < end; i++) t[0][b->from[i]]++;
}

static void rank_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct bytes *b = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) b->inverse[i] = b->rank[b->from[i]];
}

/* Into the first table; returns how many different bytes there are. */
static int64_t add_tables(const struct bytes *b)
{
    int64_t different = 0, *all = b->tables[0][0];
    for (int v = 0; v < BYTES; v++) {
        int64_t sum = 0;
        for (int w = 0; w < rt_thread_count(); w++)
            for (int k = 0; k < TABLES; k++) sum += b->tables[w][k][v];
        all[v] = sum;
        different += sum > 0;
    }
    return different;
}

/* The i-th byte in the order of the dtype's values. */
static uint8_t byte_in_order(enum rt_dtype t, int i)
{
    return (uint8_t)(t == RT_INT8 ? i ^ 0x80 : i);
}

static enum rt_status of_bytes(struct groups *g, const struct rt_array *flat, const struct rt_array *a, bool inverse,
                               struct rt_error *e)
{
    struct rt_device *d = rt_array_device(a);
    struct bytes b = {.from = rt_array_host(flat)};
    b.tables = rt_calloc((size_t)rt_thread_count(), sizeof *b.tables);
    if (!b.tables) return rt_fail(e, RT_NOMEM, "out of memory: unique counts bytes");
    rt_parallel_for((size_t)g->n, PIECE, tally_piece, &b);
    g->count = add_tables(&b);
    enum rt_status status = rt_array_new(d, a->dtype, 1, &g->count, &g->values, e);
    if (status == RT_OK) status = rt_array_new(d, RT_INT64, 1, &g->count, &g->counts, e);
    if (status == RT_OK && inverse) status = rt_array_new(d, RT_INT64, a->ndim, a->shape, &g->inverse, e);
    int64_t found = 0;
    for (int i = 0; i < BYTES && status == RT_OK; i++) {
        uint8_t v = byte_in_order(a->dtype, i);
        int64_t count = b.tables[0][0][v];
        if (count == 0) continue;
        ((uint8_t *)rt_array_host(&g->values))[found] = v;
        ((int64_t *)rt_array_host(&g->counts))[found] = count;
        b.rank[v] = ++found;
    }
    free(b.tables);
    if (status != RT_OK || !inverse) return status;
    b.inverse = rt_array_host(&g->inverse);
    rt_parallel_for((size_t)g->n, PIECE, rank_piece, &b);
    return rt_stopped(e);
}

/* ---- a small array that vectors sort in place, at once ---- */

static bool of_few(const struct rt_array *a, struct rt_array *values)
{
    _Alignas(64) char sorted[KN_BLOCK * 8];
    const int64_t n = rt_array_size(a);
    const uint64_t rest = rest_of(a->dtype), inf = infinity_of(a->dtype);
    const size_t bytes = rt_dtypes[a->dtype].size;
    if (!kn_is_small(a) || !kn_sort_few(&(struct kn_sorter){.a = a, .rows = 1, .length = n}, sorted)) return false;
    const struct kn_loops *loops = kn_host_loops();
    const int64_t count = (int64_t)(bytes == 4 ? loops->keep_32 : loops->keep_64)(sorted, (size_t)n, rest, inf);
    if (rt_array_new(rt_array_device(a), a->dtype, 1, &count, values, NULL) != RT_OK) return false;
    memcpy(rt_array_host(values), sorted, (size_t)count * bytes);
    return true;
}

/* The array goes to the caller, or is not wanted. */
static void give(struct rt_array *a, struct rt_array *to, enum rt_status status)
{
    if (to && status == RT_OK)
        *to = *a;
    else
        rt_array_release(a);
}

enum rt_status kn_unique(const struct rt_array *a, struct rt_array *values, struct rt_array *inverse,
                         struct rt_array *counts, struct rt_error *e)
{
    struct groups g = {.n = rt_array_size(a)};
    struct rt_array whole = {0}, flat = {0};
    struct rt_array *const outs[] = {values, inverse, counts};
    for (int i = 0; i < 3; i++)
        if (outs[i]) memset(outs[i], 0, sizeof *outs[i]);
    if (!inverse && !counts && of_few(a, values)) return RT_OK;
    enum rt_status status = rt_array_alive(a, e);
    if (status == RT_OK) status = kn_check_real(a, "unique", e);
    if (status == RT_OK) status = kn_contiguous(a, &whole, e);
    if (status == RT_OK) status = rt_array_reshape(&whole, 1, &g.n, &flat, e);
    if (status == RT_OK && g.n == 0) {
        status = of_nothing(&g, a, e);
    } else if (status == RT_OK && rt_dtypes[a->dtype].size == 1 && !kn_runs_generated(rt_array_device(a))) {
        status = of_bytes(&g, &flat, a, inverse != NULL, e);
    } else if (status == RT_OK) {
        status = kn_sort(&flat, 0, false, &g.sorted, inverse ? &g.order : NULL, e);
        if (status == RT_OK) status = fill(&g, inverse != NULL, counts != NULL, a, e);
    }
    struct rt_array *const mine[] = {&whole, &flat, &g.sorted, &g.order, &g.marks, &g.numbers, &g.begins};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) rt_array_release(mine[i]);
    give(&g.values, values, status);
    give(&g.inverse, inverse, status);
    give(&g.counts, counts, status);
    return status;
}
