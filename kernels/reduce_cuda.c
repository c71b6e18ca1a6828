/* Reductions as generated CUDA C: a block reduces one chunk of one row in shared memory, and a second launch of the
 * same text reduces the chunks' partial results; or, where rows are short or far apart, a thread reduces one row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/generate.h"
#include "kernels/reduce.h"

#define CHUNK 16384 /* elements of a row that one block reduces: 64 for each thread */

/* What the text depends on. */
struct reduce_key {
    uint8_t what; /* 'r' */
    uint8_t per_thread, combine, indices, from, accumulate, out, row_ndim, rows_ndim;
    uint8_t with_places; /* the places of partial results are an array of their own */
};

static void write_offset(struct kn_text *t, const char *name, const char *number, int ndim, const char *member)
{
    kn_put(t, "long long %s = 0; { long long rest = %s;\n", name, number);
    for (int d = ndim - 1; d >= 0; d--)
        kn_put(t, "%s += rest %% p.%s_shape[%d] * p.%s_stride[%d]; rest /= p.%s_shape[%d];\n", name, member, d, member,
               d, member, d);
    kn_put(t, "}\n");
}

/* `value` combined with `next`; with indices the better one and its place, the first of equals. */
static void write_combine(const struct reduce_key *k, struct kn_text *t, const char *value, const char *place,
                          const char *next, const char *next_place)
{
    const char *args[3] = {value, next, next};
    const char *order = k->combine == KN_MINIMUM ? "<" : ">";
    if (!k->indices) {
        kn_put_op(t, (enum kn_op)k->combine, kn_class_of((enum rt_dtype)k->accumulate), (enum rt_dtype)k->accumulate,
                  value, args);
        return;
    }
    kn_put(t, "if (%s < 0 || (%s >= 0 && (%s %s %s || (%s != %s && %s == %s) ||\n", place, next_place, next, order,
           value, next, next, value, value);
    kn_put(t, "((%s == %s || (%s != %s && %s != %s)) && %s < %s)))) { %s = %s; %s = %s; }\n", next, value, next, next,
           value, value, next_place, place, value, next, place, next_place);
}

static void write_element(const struct reduce_key *k, struct kn_text *t)
{
    if (k->row_ndim == 1)
        kn_put(t, "const long long at = row_offset + e * p.row_stride[0];\n");
    else {
        write_offset(t, "at_row", "e", k->row_ndim, "row");
        kn_put(t, "const long long at = row_offset + at_row;\n");
    }
    kn_put(t, "const %s raw = ", kn_classes[kn_class_of((enum rt_dtype)k->from)].cuda);
    kn_put_load(t, (enum rt_dtype)k->from, "p.a", "at");
    kn_put(t, ";\nconst V next = ");
    kn_put_convert(t, kn_class_of((enum rt_dtype)k->from), (enum rt_dtype)k->accumulate, "raw");
    kn_put(t, ";\n");
    if (k->indices) kn_put(t, "const long long next_place = %s;\n", k->with_places ? "p.places[at]" : "e");
}

/* Combines elements first, first + step, ... below last into value and place. */
static void write_loop(const struct reduce_key *k, struct kn_text *t, const char *first, const char *step)
{
    kn_put(t, "for (long long e = %s; e < last; e += %s) {\n", first, step);
    write_element(k, t);
    kn_put(t, "if (!filled) { value = next; filled = true; %s}\nelse {\n", k->indices ? "place = next_place; " : "");
    write_combine(k, t, "value", "place", "next", "next_place");
    kn_put(t, "}\n}\n");
}

static void write_result(const struct reduce_key *k, struct kn_text *t)
{
    enum rt_dtype out = (enum rt_dtype)k->out;
    if (k->indices) {
        kn_put(t, "if (p.partial) { p.partial[item] = value; p.places_out[item] = place; }\n");
        kn_put(t, "else p.out[item] = place + 1;\n");
        return;
    }
    kn_put(t, "if (p.partial) p.partial[item] = value;\nelse { const %s result = ", kn_classes[kn_class_of(out)].cuda);
    kn_put_convert(t, kn_class_of((enum rt_dtype)k->accumulate), out, "value");
    kn_put(t, ";\n");
    kn_put_store(t, out, "p.out", "item", "result");
    kn_put(t, "}\n");
}

static void write_per_block(const struct reduce_key *k, struct kn_text *t)
{
    kn_put(t, "__shared__ V values[%d]; __shared__ int holds[%d];\n", KN_THREADS, KN_THREADS);
    if (k->indices) kn_put(t, "__shared__ long long places[%d];\n", KN_THREADS);
    kn_put(t, "const int lane = threadIdx.x;\n");
    kn_put(t, "for (long long item = blockIdx.x; item < p.rows * p.chunks; item += gridDim.x) {\n");
    kn_put(t, "const long long row = item / p.chunks, start = item %% p.chunks * %d;\n", CHUNK);
    kn_put(t, "const long long last = start + %d < p.length ? start + %d : p.length;\n", CHUNK, CHUNK);
    write_offset(t, "row_offset", "row", k->rows_ndim, "rows");
    kn_put(t, "V value = 0; long long place = -1; bool filled = false;\n");
    write_loop(k, t, "start + lane", "256");
    kn_put(t, "values[lane] = value; holds[lane] = filled;\n");
    if (k->indices) kn_put(t, "places[lane] = place;\n");
    kn_put(t, "__syncthreads();\nfor (int half = %d; half > 0; half /= 2) {\n", KN_THREADS / 2);
    kn_put(t,
           "if (lane < half && holds[lane + half]) {\nV value = values[lane]; const V next = values[lane + half];\n");
    if (k->indices) kn_put(t, "long long place = places[lane]; const long long next_place = places[lane + half];\n");
    write_combine(k, t, "value", "place", "next", "next_place");
    kn_put(t, "values[lane] = value;%s\n}\n__syncthreads();\n}\n", k->indices ? " places[lane] = place;" : "");
    kn_put(t, "if (lane == 0) {\nconst V value = values[0];\n");
    if (k->indices) kn_put(t, "const long long place = places[0];\n");
    write_result(k, t);
    kn_put(t, "}\n__syncthreads();\n}\n");
}

static void write_per_thread(const struct reduce_key *k, struct kn_text *t)
{
    kn_put(
        t,
        "for (long long item = (long long)blockIdx.x * %d + threadIdx.x; item < p.rows; item += (long long)gridDim.x * %d) {\n",
        KN_THREADS, KN_THREADS);
    write_offset(t, "row_offset", "item", k->rows_ndim, "rows");
    kn_put(t, "V value = 0; long long place = -1; bool filled = false;\n");
    if (k->indices) {
        kn_put(t, "const long long last = p.length;\n");
        write_loop(k, t, "0", "1");
    } else {
        /* Groups first, so that a long row's sum has fewer roundings one after the other. */
        kn_put(t, "V all = 0;\nfor (long long start = 0; start < p.length; start += 32) {\n");
        kn_put(t, "const long long last = start + 32 < p.length ? start + 32 : p.length;\nfilled = false;\n");
        write_loop(k, t, "start", "1");
        kn_put(t, "if (start == 0) all = value;\nelse {\n");
        write_combine(k, t, "all", "", "value", "");
        kn_put(t, "}\n}\nvalue = all;\n");
    }
    write_result(k, t);
    kn_put(t, "}\n");
}

static void write_reduction(const void *context, struct kn_text *t)
{
    const struct reduce_key *k = context;
    kn_put_prelude(t);
    kn_put(t, "typedef %s V;\nstruct Arguments {\nlong long rows, chunks, length;\n",
           kn_classes[kn_class_of((enum rt_dtype)k->accumulate)].cuda);
    kn_put(t, "const %s *a; const long long *places;\nV *partial; long long *places_out; %s *out;\n",
           kn_memory_type((enum rt_dtype)k->from), kn_memory_type((enum rt_dtype)k->out));
    kn_put(t, "long long row_shape[%d], row_stride[%d];\n", k->row_ndim, k->row_ndim);
    if (k->rows_ndim) kn_put(t, "long long rows_shape[%d], rows_stride[%d];\n", k->rows_ndim, k->rows_ndim);
    kn_put(t, "};\nextern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n", KN_THREADS);
    if (k->per_thread)
        write_per_thread(k, t);
    else
        write_per_block(k, t);
    kn_put(t, "}\n");
}

/* Drops axes of one element and merges neighbours; one axis is left at least. */
static int merged(const struct rt_array *a, int64_t *shape, int64_t *strides)
{
    int n = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] == 1) continue;
        if (n > 0 && strides[n - 1] == a->shape[i] * a->strides[i]) {
            shape[n - 1] *= a->shape[i];
            strides[n - 1] = a->strides[i];
        } else {
            shape[n] = a->shape[i];
            strides[n++] = a->strides[i];
        }
    }
    if (n == 0) {
        shape[0] = 1;
        strides[n++] = 0;
    }
    return n;
}

struct launch {
    struct rt_device *device;
    enum kn_op combine;
    bool indices, per_thread;
    enum rt_dtype from, accumulate, out;
    uint64_t a, places, partial, places_out, to;
    int64_t rows, chunks, length;
    struct rt_array row_axes, rows_axes; /* borrowed */
};

static enum rt_status launch_one(const struct launch *l, struct rt_error *e)
{
    int64_t row_shape[RT_MAX_DIMS], row_stride[RT_MAX_DIMS], rows_shape[RT_MAX_DIMS], rows_stride[RT_MAX_DIMS];
    int row_ndim = merged(&l->row_axes, row_shape, row_stride),
        rows_ndim = merged(&l->rows_axes, rows_shape, rows_stride);
    struct reduce_key k = {.what = 'r',
                           .per_thread = l->per_thread,
                           .combine = (uint8_t)l->combine,
                           .indices = l->indices,
                           .from = (uint8_t)l->from,
                           .accumulate = (uint8_t)l->accumulate,
                           .out = (uint8_t)l->out,
                           .row_ndim = (uint8_t)row_ndim,
                           .rows_ndim = (uint8_t)rows_ndim,
                           .with_places = l->places != 0};
    struct kn_words w = {0};
    const uint64_t head[] = {(uint64_t)l->rows, (uint64_t)l->chunks, (uint64_t)l->length, l->a,
                             l->places,         l->partial,          l->places_out,       l->to};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) kn_word(&w, head[i]);
    for (int i = 0; i < row_ndim; i++) kn_word(&w, (uint64_t)row_shape[i]);
    for (int i = 0; i < row_ndim; i++) kn_word(&w, (uint64_t)row_stride[i]);
    for (int i = 0; i < rows_ndim; i++) kn_word(&w, (uint64_t)rows_shape[i]);
    for (int i = 0; i < rows_ndim; i++) kn_word(&w, (uint64_t)rows_stride[i]);
    int64_t blocks = l->per_thread ? (l->rows + KN_THREADS - 1) / KN_THREADS : l->rows * l->chunks;
    return kn_launch(
        l->device,
        &(struct kn_launch){
            .key = &k, .key_bytes = sizeof k, .write = write_reduction, .context = &k, .words = &w, .blocks = blocks},
        e);
}

static bool per_thread(const struct kn_reducer *r)
{
    if (r->row.ndim != 1 || r->count < KN_THREADS) return false;
    if (r->length < 32) return true;
    int64_t nearest = INT64_MAX;
    for (int i = 0; i < r->rows.ndim; i++)
        if (r->rows.shape[i] > 1 && llabs(r->rows.strides[i]) < nearest) nearest = llabs(r->rows.strides[i]);
    return nearest < llabs(r->row.strides[0]);
}

static int64_t chunks_of(int64_t length)
{
    return (length + CHUNK - 1) / CHUNK;
}

/* Room for the results of all chunks: rows by chunks, and with indices where they were. */
static enum rt_status partial_new(const struct launch *l, struct rt_array *partial, struct rt_array *places,
                                  struct rt_error *e)
{
    int64_t shape[] = {l->rows, l->chunks};
    enum rt_status status = rt_array_new(l->device, kn_classes[kn_class_of(l->accumulate)].dtype, 2, shape, partial, e);
    if (status == RT_OK && l->indices) status = rt_array_new(l->device, RT_INT64, 2, shape, places, e);
    return status;
}

/* Launches until each row is one value: every launch makes its chunks' results the next one's rows. */
static enum rt_status launch_all(struct launch *l, uint64_t to, struct rt_error *e)
{
    struct rt_array from = {0}, from_places = {0}, partial = {0}, places = {0};
    enum rt_status status = RT_OK;
    for (bool last = false; status == RT_OK && !last;) {
        last = l->chunks == 1;
        if (!last) status = partial_new(l, &partial, &places, e);
        l->partial = last ? 0 : status == RT_OK ? rt_array_address(&partial) : 0;
        l->places_out = last || !l->indices || status != RT_OK ? 0 : rt_array_address(&places);
        l->to = to;
        if (status == RT_OK) status = launch_one(l, e);
        rt_array_release(&from);
        rt_array_release(&from_places);
        if (last || status != RT_OK) break;
        from = partial;
        from_places = places;
        memset(&partial, 0, sizeof partial);
        memset(&places, 0, sizeof places);
        l->a = rt_array_address(&from);
        l->places = l->indices ? rt_array_address(&from_places) : 0;
        l->from = l->accumulate = from.dtype;
        l->length = l->chunks;
        l->row_axes = (struct rt_array){.ndim = 1, .shape = {l->length}, .strides = {1}};
        l->rows_axes = (struct rt_array){.ndim = 1, .shape = {l->rows}, .strides = {l->length}};
        l->chunks = chunks_of(l->length);
    }
    rt_array_release(&from);
    rt_array_release(&from_places);
    rt_array_release(&partial);
    rt_array_release(&places);
    return status;
}

enum rt_status kn_reduce_cuda(const struct kn_reducer *r, const struct rt_array *out, struct rt_error *e)
{
    bool threads = per_thread(r);
    struct launch l = {.device = rt_array_device(out),
                       .combine = r->combine,
                       .indices = r->indices,
                       .per_thread = threads,
                       .from = r->row.dtype,
                       .accumulate = r->accumulate,
                       .out = out->dtype,
                       .a = rt_array_address(&r->row),
                       .rows = r->count,
                       .length = r->length,
                       .chunks = threads ? 1 : chunks_of(r->length),
                       .row_axes = r->row,
                       .rows_axes = r->rows};
    return launch_all(&l, rt_array_address(out), e);
}
