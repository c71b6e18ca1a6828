/* Sorting as generated CUDA C: a radix sort of keys (keys.h) with their indices, four bits at a time. For each digit a
 * launch counts how many keys of each tile have it, a scan makes places of the counts, and a launch moves the keys
 * there; each thread moves neighbours one after the other, so that equal keys stay in order. */
#include <string.h>
#include "kernels/keys_cuda.h"
#include "kernels/scan.h"
#include "kernels/sort.h"

#define EACH   16 /* keys of a thread */
#define TILE   (KN_THREADS * EACH)
#define DIGITS 16

enum step { MAKE_KEYS, COUNT, MOVE, WRITE };

/* What the text depends on. */
struct sort_key {
    uint8_t what; /* 'o' */
    uint8_t step, dtype, values, indices;
};

struct sort_run {
    struct rt_device *device;
    const struct kn_sorter *s;
    int64_t tiles; /* of a row */
    struct rt_array keys[2], order[2], counts, places;
};

/* Common to all steps; `shift` is the digit's first bit. */
static const char arguments[] = "struct Arguments {\nlong long rows, length, tiles, shift; unsigned long long flip;\n"
                                "const U *a; const U *keys; const unsigned *order; U *to_keys; unsigned *to_order;\n"
                                "const long long *places; long long *counts; U *values; long long *indices;\n};\n";

static const char make_text[] =
    "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.rows * p.length; i += (long long)gridDim.x * 256) {\n"
    "p.to_keys[i] = key_of(p.a[i], KIND, INF, (U)p.flip);\np.to_order[i] = (unsigned)(i % p.length);\n}\n";

static const char write_text[] =
    "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.rows * p.length; i += (long long)gridDim.x * 256) {\n"
    "const unsigned from = p.order[i];\n"
    "if (VALUES) p.values[i] = p.a[i / p.length * p.length + from];\nif (INDICES) p.indices[i] = (long long)from + 1;\n}\n";

static const char count_text[] =
    "__shared__ int counts[16];\nconst int lane = threadIdx.x;\n"
    "for (long long item = blockIdx.x; item < p.rows * p.tiles; item += gridDim.x) {\n"
    "const long long row = item / p.tiles, tile = item % p.tiles;\n"
    "if (lane < 16) counts[lane] = 0;\n__syncthreads();\n"
    "for (int k = 0; k < 16; k++) {\nconst long long at = tile * 4096 + k * 256 + lane;\n"
    "if (at < p.length) atomicAdd(&counts[p.keys[row * p.length + at] >> p.shift & 15], 1);\n}\n__syncthreads();\n"
    "if (lane < 16) p.counts[(row * 16 + lane) * p.tiles + tile] = counts[lane];\n__syncthreads();\n}\n";

static const char move_text[] =
    "__shared__ int counts[16 * 256]; __shared__ int sums[256]; __shared__ long long begins[16];\n"
    "const int lane = threadIdx.x;\n"
    "for (long long item = blockIdx.x; item < p.rows * p.tiles; item += gridDim.x) {\n"
    "const long long row = item / p.tiles, tile = item % p.tiles, first = tile * 4096 + lane * 16;\n"
    "const long long last = first + 16 < p.length ? first + 16 : p.length;\n"
    "for (int d = 0; d < 16; d++) counts[d * 256 + lane] = 0;\n"
    "for (long long i = first; i < last; i++) counts[(int)(p.keys[row * p.length + i] >> p.shift & 15) * 256 + lane]++;\n"
    "if (lane < 16) { const long long at = (row * 16 + lane) * p.tiles + tile;\n"
    "begins[lane] = at % (16 * p.tiles) ? p.places[at - 1] : 0; }\n__syncthreads();\n"
    "int sum = 0;\nfor (int k = 0; k < 16; k++) sum += counts[lane * 16 + k];\n"
    "sums[lane] = sum;\n__syncthreads();\n"
    "for (int d = 1; d < 256; d *= 2) {\nconst int more = lane >= d ? sums[lane - d] : 0;\n"
    "__syncthreads();\nsums[lane] += more;\n__syncthreads();\n}\n"
    "int before = sums[lane] - sum;\n"
    "for (int k = 0; k < 16; k++) { const int n = counts[lane * 16 + k]; counts[lane * 16 + k] = before; before += n; }\n"
    "__syncthreads();\nif (lane < 16) begins[lane] -= counts[lane * 256];\n__syncthreads();\n"
    "for (long long i = first; i < last; i++) {\n"
    "const U key = p.keys[row * p.length + i]; const int d = (int)(key >> p.shift & 15);\n"
    "const long long to = row * p.length + begins[d] + counts[d * 256 + lane]++;\n"
    "p.to_keys[to] = key; p.to_order[to] = p.order[row * p.length + i];\n}\n__syncthreads();\n}\n";

static void write_step(const void *context, struct kn_text *t)
{
    static const char *const texts[] = {make_text, count_text, move_text, write_text};
    const struct sort_key *k = context;
    kn_put_keys(t, (enum rt_dtype)k->dtype);
    kn_put(t, "#define VALUES %d\n#define INDICES %d\n", k->values, k->indices);
    kn_put(t, "%sextern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n%s}\n", arguments,
           KN_THREADS, texts[k->step]);
}

/* Keys are moved by their size alone, so dtypes of one size share those kernels. */
static enum rt_dtype representative(enum rt_dtype t, enum step step)
{
    static const enum rt_dtype by_size[] = {[1] = RT_UINT8, [2] = RT_UINT16, [4] = RT_UINT32, [8] = RT_UINT64};
    return step == MAKE_KEYS ? t : by_size[rt_dtypes[t].size];
}

static struct sort_key key_of(const struct kn_sorter *s, enum step step, bool values, bool indices)
{
    return (struct sort_key){.what = 'o',
                             .step = (uint8_t)step,
                             .dtype = (uint8_t)representative(s->a->dtype, step),
                             .values = values,
                             .indices = indices};
}

static struct kn_launch launch_of(const struct sort_key *k)
{
    return (struct kn_launch){.key = k, .key_bytes = sizeof *k, .write = write_step, .context = k};
}

static enum rt_status launch(const struct sort_run *r, enum step step, int bit, const struct rt_array *values,
                             const struct rt_array *indices, struct rt_error *e)
{
    const struct kn_sorter *s = r->s;
    int from = bit / 4 % 2; /* which of the two copies the keys are in before this step */
    const struct sort_key k = key_of(s, step, values != NULL, indices != NULL);
    struct kn_launch l = launch_of(&k);
    struct kn_words w = {0};
    const uint64_t words[] = {(uint64_t)s->rows,
                              (uint64_t)s->length,
                              (uint64_t)r->tiles,
                              (uint64_t)bit,
                              s->descending ? ~(uint64_t)0 : 0,
                              rt_array_address(s->a),
                              rt_array_address(&r->keys[from]),
                              rt_array_address(&r->order[from]),
                              rt_array_address(&r->keys[step == MAKE_KEYS ? 0 : !from]),
                              rt_array_address(&r->order[step == MAKE_KEYS ? 0 : !from]),
                              rt_array_address(&r->places),
                              rt_array_address(&r->counts),
                              values ? rt_array_address(values) : 0,
                              indices ? rt_array_address(indices) : 0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) kn_word(&w, words[i]);
    bool tiles = step == COUNT || step == MOVE;
    l.words = &w;
    l.blocks = tiles ? s->rows * r->tiles : (s->rows * s->length + KN_THREADS - 1) / KN_THREADS;
    return kn_launch(r->device, &l, e);
}

static enum rt_status run_new(struct sort_run *r, struct rt_error *e)
{
    const struct kn_sorter *s = r->s;
    int64_t n = s->rows * s->length, shape[] = {s->rows, DIGITS * r->tiles};
    enum rt_status status = RT_OK;
    for (int i = 0; i < 2 && status == RT_OK; i++) {
        status = rt_array_new(r->device, s->a->dtype, 1, &n, &r->keys[i], e);
        if (status == RT_OK) status = rt_array_new(r->device, RT_UINT32, 1, &n, &r->order[i], e);
    }
    if (status == RT_OK) status = rt_array_new(r->device, RT_INT64, 2, shape, &r->counts, e);
    if (status == RT_OK) status = rt_array_new(r->device, RT_INT64, 2, shape, &r->places, e);
    return status;
}

static void run_release(struct sort_run *r)
{
    for (int i = 0; i < 2; i++) {
        rt_array_release(&r->keys[i]);
        rt_array_release(&r->order[i]);
    }
    rt_array_release(&r->counts);
    rt_array_release(&r->places);
}

/* All that it launches. */
static void hurry(const struct sort_run *r, const struct kn_scanner *counts, bool values, bool indices)
{
    struct sort_key keys[WRITE + 1];
    struct kn_launch launches[WRITE + 1];
    const struct kn_scan_key scan_key = kn_scan_key(counts, RT_INT64, RT_INT64);
    const struct kn_launch scan = kn_scan_launch(&scan_key);
    const struct kn_launch *all[] = {&launches[MAKE_KEYS], &launches[COUNT], &scan, &launches[MOVE], &launches[WRITE]};
    for (int step = MAKE_KEYS; step <= WRITE; step++) {
        keys[step] = key_of(r->s, step, step == WRITE && values, step == WRITE && indices);
        launches[step] = launch_of(&keys[step]);
    }
    kn_hurry_together(r->device, all, sizeof all / sizeof *all);
}

enum rt_status kn_sort_cuda(const struct kn_sorter *s, const struct rt_array *values, const struct rt_array *indices,
                            struct rt_error *e)
{
    struct sort_run r = {.device = rt_array_device(s->a), .s = s, .tiles = (s->length + TILE - 1) / TILE};
    struct kn_scanner counts = {KN_CUMSUM, KN_ADD, RT_INT64, DIGITS * r.tiles, 1, s->rows};
    int bits = 8 * rt_dtypes[s->a->dtype].size;
    if (s->length > UINT32_MAX) return rt_fail(e, RT_UNSUPPORTED, "a GPU sorts rows of at most 4294967295 elements");
    enum rt_status status = run_new(&r, e);
    hurry(&r, &counts, values != NULL, indices != NULL);
    if (status == RT_OK) status = launch(&r, MAKE_KEYS, 0, NULL, NULL, e);
    for (int bit = 0; bit < bits && status == RT_OK; bit += 4) {
        status = launch(&r, COUNT, bit, NULL, NULL, e);
        if (status == RT_OK) status = kn_scan_cuda(&counts, &r.counts, &r.places, e);
        if (status == RT_OK) status = launch(&r, MOVE, bit, NULL, NULL, e);
    }
    if (status == RT_OK) status = launch(&r, WRITE, bits, values, indices, e);
    run_release(&r);
    return status;
}
