/* Masks as generated CUDA C: a block counts a chunk, or finds the places of its true elements, 256 at a time. */
#include "kernels/generate.h"
#include "kernels/nonzero.h"

struct mask_key {
    uint8_t what; /* 'm' */
    uint8_t places;
};

static void write_count(struct kn_text *t)
{
    kn_put(t, "long long sum = 0;\nfor (long long i = first; i < last; i += %d)\n", KN_THREADS);
    kn_put(t, "sum += __syncthreads_count(i + threadIdx.x < last && p.bits[i + threadIdx.x] != 0);\n");
    kn_put(t, "if (threadIdx.x == 0) p.before[chunk] = sum;\n");
}

/* A warp's lanes know their place in it from a ballot, the warps theirs from each other's counts. */
static void write_places(struct kn_text *t)
{
    int warps = KN_THREADS / 32;
    kn_put(t, "long long at = p.before[chunk];\nfor (long long i = first; i < last; i += %d) {\n", KN_THREADS);
    kn_put(t, "const bool set = i + threadIdx.x < last && p.bits[i + threadIdx.x] != 0;\n");
    kn_put(
        t,
        "const unsigned votes = __ballot_sync(0xffffffffu, set), lane = threadIdx.x %% 32, warp = threadIdx.x / 32;\n");
    kn_put(t, "if (lane == 0) counts[warp] = __popc(votes);\n__syncthreads();\nint own = 0, all = 0;\n");
    kn_put(t, "for (int w = 0; w < %d; w++) { if (w < (int)warp) own += counts[w]; all += counts[w]; }\n", warps);
    kn_put(t, "if (set) p.out[at + own + __popc(votes & ((1u << lane) - 1))] = i + threadIdx.x + 1;\n");
    kn_put(t, "at += all;\n__syncthreads();\n}\n");
}

static void write_mask(const void *context, struct kn_text *t)
{
    const struct mask_key *k = context;
    kn_put(t, "struct Arguments { long long n, chunks; const unsigned char *bits; long long *before, *out; };\n");
    kn_put(t, "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n", KN_THREADS);
    if (k->places) kn_put(t, "__shared__ int counts[%d];\n", KN_THREADS / 32);
    kn_put(t, "for (long long chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {\n");
    kn_put(t, "const long long first = chunk * %d, last = first + %d < p.n ? first + %d : p.n;\n", KN_MASK_CHUNK,
           KN_MASK_CHUNK, KN_MASK_CHUNK);
    if (k->places)
        write_places(t);
    else
        write_count(t);
    kn_put(t, "}\n}\n");
}

static struct kn_launch launch_of(const struct mask_key *k)
{
    return (struct kn_launch){.key = k, .key_bytes = sizeof *k, .write = write_mask, .context = k};
}

static enum rt_status launch(const struct kn_mask *m, const struct rt_array *out, struct rt_error *e)
{
    const struct mask_key k = {.what = 'm', .places = out != NULL};
    struct kn_launch l = launch_of(&k);
    struct kn_words w = {.count = 0};
    l.words = &w;
    l.blocks = (m->places + KN_MASK_CHUNK - 1) / KN_MASK_CHUNK;
    kn_word(&w, (uint64_t)m->places);
    kn_word(&w, (uint64_t)l.blocks);
    kn_word(&w, rt_array_address(&m->bits));
    kn_word(&w, rt_array_address(&m->before));
    kn_word(&w, out ? rt_array_address(out) : 0);
    return kn_launch(rt_array_device(&m->bits), &l, e);
}

/* Who counts wants the places next. */
enum rt_status kn_mask_count_cuda(const struct kn_mask *m, struct rt_error *e)
{
    const struct mask_key count = {.what = 'm'}, places = {.what = 'm', .places = true};
    const struct kn_launch first = launch_of(&count), next = launch_of(&places);
    kn_hurry_together(rt_array_device(&m->bits), (const struct kn_launch *const[]){&first, &next}, 2);
    return launch(m, NULL, e);
}

enum rt_status kn_mask_places_cuda(const struct kn_mask *m, const struct rt_array *out, struct rt_error *e)
{
    return launch(m, out, e);
}
