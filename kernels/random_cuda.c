/* Random arrays as generated CUDA C: random.def as text, one kernel for each kind of block and dtype. A thread makes a
 * block at a time. */
#include <stdio.h>
#include <string.h>
#include "kernels/generate.h"
#include "kernels/random_draw.h"

static const char shared[] = "typedef unsigned int u32_;\ntypedef long long i64_;\ntypedef unsigned long long u64_;\n"
                             "#define KN_FN static __device__ inline\n"
                             "#define float_bits_ __float_as_int\n#define bits_float_ __int_as_float\n"
                             "#define double_bits_ __double_as_longlong\n#define bits_double_ __longlong_as_double\n"
                             "#define root_f_ __fsqrt_rn\n#define root_d_ __dsqrt_rn\n#define mulhi_ __umul64hi\n"
#define KN_SHARED(...) #__VA_ARGS__
#include "kernels/random.def"
                             "\n";

struct draw_key {
    uint8_t what; /* 'd', apart from the keys of other kinds of kernels */
    uint8_t kind, dtype;
};

static void write_draw(const void *context, struct kn_text *t)
{
    const struct draw_key *k = context;
    const struct kn_draw_info *info = &kn_draw_kinds[k->kind];
    enum rt_dtype dtype = (enum rt_dtype)k->dtype;
    kn_put(t, "%s", shared);
    kn_put(t, "struct Arguments { long long n; %s *out; draw_ draw; };\n", kn_memory_type(dtype));
    kn_put(t,
           "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n"
           "for (long long b = (long long)blockIdx.x * %d + threadIdx.x; b * %d < p.n; b += (long long)gridDim.x * %d) "
           "{\n",
           KN_THREADS, KN_THREADS, info->per, KN_THREADS);
    kn_put(t, "%s v[%d];\n%s(&p.draw, %s, v);\n", info->class == KN_B ? "unsigned char" : kn_classes[info->class].cuda,
           info->per, info->function, info->takes_number ? "b" : "draw_words_(&p.draw, b, 0)");
    kn_put(t, "#pragma unroll\nfor (int k = 0; k < %d; k++) if (b * %d + k < p.n) {\nconst %s r = ", info->per,
           info->per, kn_classes[kn_class_of(dtype)].cuda);
    kn_put_convert(t, info->class, dtype, "v[k]");
    kn_put(t, ";\n");
    char index[32];
    snprintf(index, sizeof index, "b * %d + k", info->per);
    kn_put_store(t, dtype, "p.out", index, "r");
    kn_put(t, "}\n}\n}\n");
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

enum rt_status kn_random_cuda(const struct kn_draw_values *v, const struct rt_array *to, struct rt_error *e)
{
    struct draw_key k = {.what = 'd', .kind = (uint8_t)v->kind, .dtype = (uint8_t)to->dtype};
    int64_t per = kn_draw_kinds[v->kind].per, blocks = (rt_array_size(to) + per - 1) / per;
    struct kn_words w = {.count = 0};
    const uint64_t words[] = {(uint64_t)rt_array_size(to),
                              rt_array_address(to),
                              v->seed,
                              v->stream,
                              bits_of(v->x),
                              bits_of(v->y),
                              bits_of(v->limit),
                              (uint64_t)v->low,
                              v->range,
                              (uint64_t)(uintptr_t)v->tries,
                              (uint64_t)v->bits};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) kn_word(&w, words[i]);
    return kn_launch(rt_array_device(to),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_draw,
                                         .context = &k,
                                         .words = &w,
                                         .blocks = (blocks + KN_THREADS - 1) / KN_THREADS},
                     e);
}
