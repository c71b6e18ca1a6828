/* Scans as generated CUDA C. A block scans one chunk of a row, eight elements a thread and then the threads' sums in
 * shared memory. Where a row has several chunks, a first launch leaves their sums alone, these are scanned in turn, and
 * the second launch begins each chunk with what is before it. Rows that lie side by side are scanned by a thread each.
 */
#include <string.h>
#include "kernels/generate.h"
#include "kernels/scan.h"

#define EACH  8 /* elements of a thread */
#define CHUNK (KN_THREADS * EACH)

static const char *nothing_text(enum kn_scan scan, enum rt_dtype t)
{
    bool floating = rt_dtypes[t].kind == 'f';
    enum kn_class class = kn_class_of(t);
    if (scan == KN_CUMSUM) return floating ? "-0.0" : "0";
    if (scan == KN_CUMPROD) return "1";
    bool low = scan == KN_CUMMAX || scan == KN_LOGCUMSUMEXP;
    if (floating) return low ? "__int_as_float(0xff800000)" : "__int_as_float(0x7f800000)";
    if (class == KN_I32) return low ? "-2147483647 - 1" : "2147483647";
    if (class == KN_I64) return low ? "-9223372036854775807ll - 1" : "9223372036854775807ll";
    return low ? "0" : "18446744073709551615ull";
}

static void write_functions(const struct kn_scan_key *k, struct kn_text *t)
{
    static const enum kn_op ops[] = {KN_ADD, KN_MUL, KN_MAXIMUM, KN_MINIMUM, KN_LOGADDEXP};
    static const char *const args[] = {"x", "y", "y"};
    enum rt_dtype from = (enum rt_dtype)k->from, all = (enum rt_dtype)k->accumulate, out = (enum rt_dtype)k->out;
    kn_put(t, "typedef %s V;\nstatic __device__ inline V combine(V x, V y) { V r;\n",
           kn_classes[kn_class_of(all)].cuda);
    kn_put_op(t, ops[k->scan], kn_class_of(all), all, "r", args);
    kn_put(t, "return r; }\nstatic __device__ inline V fetch(const %s *a, long long at) { const %s raw = ",
           kn_memory_type(from), kn_classes[kn_class_of(from)].cuda);
    kn_put_load(t, from, "a", "at");
    kn_put(t, "; return ");
    kn_put_convert(t, kn_class_of(from), all, "raw");
    kn_put(t, "; }\nstatic __device__ inline void put(%s *out, long long at, V value) { const %s result = ",
           kn_memory_type(out), kn_classes[kn_class_of(out)].cuda);
    kn_put_convert(t, kn_class_of(all), out, "value");
    kn_put(t, ";\n");
    kn_put_store(t, out, "out", "at", "result");
    kn_put(t, "}\n");
}

/* Neighbouring threads load and store neighbouring elements, and find eight that follow each other in shared memory,
 * where each eighth place stays empty: so they meet in no bank. */
static const char per_block[] =
    "__shared__ V sums[256], staged[2048 + 2048 / 8];\n"
    "const int lane = threadIdx.x;\n"
    "for (long long item = blockIdx.x; item < p.rows * p.chunks; item += gridDim.x) {\n"
    "const long long row = item / p.chunks, chunk = item % p.chunks, start = chunk * 2048 + lane * 8;\n"
    "const long long base = row / p.inner * p.length * p.inner + row % p.inner;\n"
    "const long long first = chunk * 2048 + lane;\n"
    "#pragma unroll\n"
    "for (int k = 0; k < 8; k++)\n"
    "if (first + k * 256 < p.length)\n"
    "staged[PLACE(k * 256 + lane)] = fetch(p.a, base + (first + k * 256) * p.inner);\n"
    "__syncthreads();\n"
    "V v[8], run = NOTHING;\n"
    "#pragma unroll\n"
    "for (int k = 0; k < 8; k++) {\n"
    "if (start + k < p.length) run = combine(run, staged[PLACE(lane * 8 + k)]);\n"
    "v[k] = run; }\n"
    "sums[lane] = run;\n__syncthreads();\n"
    "for (int d = 1; d < 256; d *= 2) {\n"
    "const V sum = lane >= d ? combine(sums[lane - d], sums[lane]) : sums[lane];\n"
    "__syncthreads();\nsums[lane] = sum;\n__syncthreads(); }\n"
    "if (p.totals) { if (lane == 255) p.totals[item] = sums[255]; }\n"
    "else {\n"
    "V before = lane > 0 ? sums[lane - 1] : NOTHING;\n"
    "if (chunk > 0) before = combine(p.before[item - 1], before);\n"
    "#pragma unroll\n"
    "for (int k = 0; k < 8; k++) staged[PLACE(lane * 8 + k)] = combine(before, v[k]);\n"
    "__syncthreads();\n"
    "#pragma unroll\n"
    "for (int k = 0; k < 8; k++)\n"
    "if (first + k * 256 < p.length)\n"
    "put(p.out, base + (first + k * 256) * p.inner, staged[PLACE(k * 256 + lane)]);\n"
    "}\n__syncthreads();\n}\n";

static const char per_thread[] =
    "for (long long row = (long long)blockIdx.x * 256 + threadIdx.x; row < p.rows; row += (long long)gridDim.x * 256) {\n"
    "long long at = row / p.inner * p.length * p.inner + row % p.inner;\n"
    "V run = NOTHING;\n"
    "for (long long i = 0; i < p.length; i++, at += p.inner) { run = combine(run, fetch(p.a, at)); put(p.out, at, run); }\n"
    "}\n";

static void write_scan(const void *context, struct kn_text *t)
{
    const struct kn_scan_key *k = context;
    write_functions(k, t);
    kn_put(t, "#define PLACE(i) ((i) + (i) / 8)\n#define NOTHING ((V)(%s))\n",
           nothing_text((enum kn_scan)k->scan, (enum rt_dtype)k->accumulate));
    kn_put(
        t,
        "struct Arguments {\nlong long rows, chunks, length, inner;\nconst %s *a; %s *out; const V *before; V *totals;\n};\n",
        kn_memory_type((enum rt_dtype)k->from), kn_memory_type((enum rt_dtype)k->out));
    kn_put(t, "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n%s}\n", KN_THREADS,
           k->per_thread ? per_thread : per_block);
}

static int64_t chunks_of(const struct kn_scanner *s)
{
    return (s->length + CHUNK - 1) / CHUNK;
}

/* A row by each thread. */
static bool by_threads(const struct kn_scanner *s)
{
    return (s->inner >= 32 || s->length < 64) && s->rows >= KN_THREADS;
}

struct kn_scan_key kn_scan_key(const struct kn_scanner *s, enum rt_dtype from, enum rt_dtype out)
{
    return (struct kn_scan_key){.what = 's',
                                .per_thread = by_threads(s),
                                .scan = (uint8_t)s->scan,
                                .from = (uint8_t)from,
                                .accumulate = (uint8_t)s->accumulate,
                                .out = (uint8_t)out};
}

struct kn_launch kn_scan_launch(const struct kn_scan_key *k)
{
    return (struct kn_launch){.key = k, .key_bytes = sizeof *k, .write = write_scan, .context = k};
}

static enum rt_status launch(const struct kn_scanner *s, const struct rt_array *a, const struct rt_array *out,
                             const struct rt_array *before, const struct rt_array *totals, struct rt_error *e)
{
    int64_t chunks = chunks_of(s);
    const struct kn_scan_key k = kn_scan_key(s, a->dtype, out->dtype);
    struct kn_launch l = kn_scan_launch(&k);
    struct kn_words w = {0};
    const uint64_t words[] = {(uint64_t)s->rows,
                              (uint64_t)chunks,
                              (uint64_t)s->length,
                              (uint64_t)s->inner,
                              rt_array_address(a),
                              rt_array_address(out),
                              before ? rt_array_address(before) : 0,
                              totals ? rt_array_address(totals) : 0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) kn_word(&w, words[i]);
    l.words = &w;
    l.blocks = k.per_thread ? (s->rows + KN_THREADS - 1) / KN_THREADS : s->rows * chunks;
    return kn_launch(rt_array_device(a), &l, e);
}

enum rt_status kn_scan_cuda(const struct kn_scanner *s, const struct rt_array *a, const struct rt_array *out,
                            struct rt_error *e)
{
    int64_t shape[] = {s->rows, chunks_of(s)};
    struct rt_array totals = {0}, before = {0};
    if (shape[1] == 1 || by_threads(s)) return launch(s, a, out, NULL, NULL, e);
    enum rt_dtype all = kn_classes[kn_class_of(s->accumulate)].dtype;
    struct kn_scanner of_totals = {s->scan, s->combine, s->accumulate, shape[1], 1, s->rows};
    enum rt_status status = rt_array_new(rt_array_device(a), all, 2, shape, &totals, e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), all, 2, shape, &before, e);
    if (status == RT_OK) status = launch(s, a, out, NULL, &totals, e);
    if (status == RT_OK) status = kn_scan_cuda(&of_totals, &totals, &before, e);
    if (status == RT_OK) status = launch(s, a, out, &before, NULL, e);
    rt_array_release(&totals);
    rt_array_release(&before);
    return status;
}
