/* Convolutions as generated CUDA C. With many filters in a group, a product of matrices in tiles of 64 x 64, whose
 * second factor, the unfolded windows, is never made: each element is read from the image where it lies. With few, one
 * thread for each element of the result. */
#include "kernels/conv.h"
#include "kernels/generate.h"

/* The arguments and where a product lies: of the places (row, column), the k-th of a sum; false in the padding. */
static void write_head(enum rt_dtype dtype, struct kn_text *t)
{
    const char *type = kn_memory_type(dtype);
    kn_put(
        t,
        "typedef %s V;\n"
        "struct Arguments { long long work, batch, channels, filters, groups, height, width, kh, kw, sh, sw, ph, pw, dh,"
        " dw, oh, ow, depth, pixels; const V *x, *w, *bias; V *out; };\n",
        type);
    kn_put(
        t, "%s",
        "static __device__ inline V element(const Arguments &p, const V *x, int k, long long h0, long long w0) {\n"
        "const int kw = (int)p.kw, kh = (int)p.kh, across = k % kw, down = k / kw % kh, channel = k / kw / kh;\n"
        "const long long h = h0 + down * p.dh, w = w0 + across * p.dw;\n"
        "return h >= 0 && h < p.height && w >= 0 && w < p.width ? x[(channel * p.height + h) * p.width + w] : (V)0;\n"
        "}\n"
        "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n");
}

static void write_each(const void *context, struct kn_text *t)
{
    write_head(*(const enum rt_dtype *)context, t);
    kn_put(
        t, "%s",
        "for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.work; i += (long long)gridDim.x * 256) {\n"
        "const long long pixel = i % p.pixels, plane = i / p.pixels, filter = plane % (p.groups * p.filters);\n"
        "const long long image = plane / (p.groups * p.filters), group = filter / p.filters;\n"
        "const V *x = p.x + (image * p.groups + group) * p.channels * p.height * p.width, *w = p.w + filter * p.depth;\n"
        "const long long h0 = pixel / p.ow * p.sh - p.ph, w0 = pixel % p.ow * p.sw - p.pw;\n"
        "V sum = p.bias ? p.bias[filter] : (V)0;\n"
        "for (int k = 0; k < p.depth; k++) sum += w[k] * element(p, x, k, h0, w0);\n"
        "p.out[i] = sum;\n}\n}\n");
}

static void write_tiles(const void *context, struct kn_text *t)
{
    write_head(*(const enum rt_dtype *)context, t);
    kn_put(
        t, "%s",
        "__shared__ V as[16][65], bs[16][65];\n"
        "const int x = threadIdx.x % 16, y = threadIdx.x / 16, mine = threadIdx.x % 64;\n"
        "const long long down = (p.filters + 63) / 64, columns = p.batch * p.pixels, across = (columns + 63) / 64;\n"
        "for (long long tile = blockIdx.x; tile < p.work; tile += gridDim.x) {\n"
        "const long long group = tile / (down * across), row = tile / across % down * 64, column = tile % across * 64;\n"
        /* The pixel whose products this thread reads, in every step of the sum. */
        "const bool real = column + mine < columns;\n"
        "const long long image = real ? (column + mine) / p.pixels : 0, pixel = real ? (column + mine) % p.pixels : 0;\n"
        "const V *from = p.x + (image * p.groups + group) * p.channels * p.height * p.width;\n"
        "const V *w = p.w + group * p.filters * p.depth;\n"
        "const long long h0 = pixel / p.ow * p.sh - p.ph, w0 = pixel % p.ow * p.sw - p.pw;\n"
        "V sum[4][4];\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++)\n#pragma unroll\nfor (int j = 0; j < 4; j++) sum[i][j] = 0;\n"
        "for (int k = 0; k < p.depth; k += 16) {\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++) {\n"
        "const int f = threadIdx.x + i * 256, ar = f / 16, ak = f % 16, bk = f / 64;\n"
        "as[ak][ar] = row + ar < p.filters && k + ak < p.depth ? w[(row + ar) * p.depth + k + ak] : (V)0;\n"
        "bs[bk][mine] = real && k + bk < p.depth ? element(p, from, k + bk, h0, w0) : (V)0;\n"
        "}\n__syncthreads();\n"
        "#pragma unroll\nfor (int q = 0; q < 16; q++) {\n"
        "V av[4], bv[4];\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++) { av[i] = as[q][y + i * 16]; bv[i] = bs[q][x + i * 16]; }\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++)\n"
        "#pragma unroll\nfor (int j = 0; j < 4; j++) sum[i][j] += av[i] * bv[j];\n"
        "}\n__syncthreads();\n}\n"
        "#pragma unroll\nfor (int j = 0; j < 4; j++) {\n"
        "const long long c = column + x + j * 16;\n"
        "if (c >= columns) continue;\n"
        "const long long to = c / p.pixels * p.groups * p.filters + group * p.filters, at = c % p.pixels;\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++) {\n"
        "const long long r = row + y + i * 16;\n"
        "if (r < p.filters) p.out[(to + r) * p.pixels + at] = sum[i][j] + (p.bias ? p.bias[group * p.filters + r] : (V)0);\n"
        "}\n}\n}\n}\n");
}

enum rt_status kn_conv_cuda(const struct kn_conv *c, const struct rt_array *x, const struct rt_array *w,
                            const struct rt_array *bias, const struct rt_array *out, struct rt_error *e)
{
    bool few = c->filters <= KN_FEW_FILTERS;
    const uint8_t key[] = {'v', (uint8_t)c->dtype, few};
    const struct kn_window *v = &c->window;
    int64_t tiles = (c->filters + 63) / 64 * ((c->batch * c->pixels + 63) / 64) * c->groups, all = rt_array_size(out);
    const int64_t sizes[] = {few ? all : tiles, c->batch,     c->channels,  c->filters,     c->groups,
                             c->in[0],          c->in[1],     v->size[0],   v->size[1],     v->stride[0],
                             v->stride[1],      v->before[0], v->before[1], v->dilation[0], v->dilation[1],
                             v->places[0],      v->places[1], c->depth,     c->pixels};
    struct kn_words words = {0};
    if (c->depth > INT32_MAX)
        return rt_fail(e, RT_UNSUPPORTED,
                       "a convolution of %lld products for each element is more than a GPU's kernel takes",
                       (long long)c->depth);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) kn_word(&words, (uint64_t)sizes[i]);
    kn_word(&words, rt_array_address(x));
    kn_word(&words, rt_array_address(w));
    kn_word(&words, bias ? rt_array_address(bias) : 0);
    kn_word(&words, rt_array_address(out));
    return kn_launch(rt_array_device(out),
                     &(struct kn_launch){.key = key,
                                         .key_bytes = sizeof key,
                                         .write = few ? write_each : write_tiles,
                                         .context = &c->dtype,
                                         .words = &words,
                                         .contract = true,
                                         .blocks = few ? (all + KN_THREADS - 1) / KN_THREADS : tiles},
                     e);
}
