/* Matrix products as generated CUDA C: tiles of 64 x 64 in shared memory, 4 x 4 elements of the product in each thread;
 * a long row times a column, of which one element of a tile is made, as a sum of products. */
#include "kernels/generate.h"
#include "kernels/matmul.h"

static void write_matmul(const void *context, struct kn_text *t)
{
    const struct kn_product *p = context;
    enum rt_dtype dtype = p->dtype;
    enum kn_class class = kn_class_of(dtype);
    const char *memory = kn_memory_type(dtype);
    kn_put(t, "typedef %s V;\n", kn_classes[class].cuda);
    kn_put(t, "struct Arguments { long long m, k, n, tiles, tiles_each, tiles_across, a0, a1, b0, b1;\n");
    if (p->batch_ndim) kn_put(t, "long long shape[%d], sa[%d], sb[%d];\n", p->batch_ndim, p->batch_ndim, p->batch_ndim);
    kn_put(t, "const %s *a, *b; %s *c; };\n", memory, memory);
    kn_put(t, "static __device__ inline V load(const %s *from, long long at) { return ", memory);
    kn_put_load(t, dtype, "from", "at");
    kn_put(t, "; }\nstatic __device__ inline V add(V x, V y) { V r; ");
    kn_put_op(t, KN_ADD, class, kn_classes[class].dtype, "r", (const char *const[]){"x", "y"});
    kn_put(t, "return r; }\nstatic __device__ inline V mul(V x, V y) { V r; ");
    kn_put_op(t, KN_MUL, class, kn_classes[class].dtype, "r", (const char *const[]){"x", "y"});
    kn_put(t, "return r; }\n");
    kn_put(t, "#define BATCH_AXES %d\n", p->batch_ndim);
    kn_put(
        t, "%s",
        "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n"
        "__shared__ V as[16][65], bs[16][65];\n"
        "const int x = threadIdx.x % 16, y = threadIdx.x / 16;\n"
        "for (long long tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {\n"
        "const long long place = tile % p.tiles_each, row = place / p.tiles_across * 64, column = place % p.tiles_across * 64;\n"
        "long long matrix = tile / p.tiles_each, a_at = 0, b_at = 0, c_at = matrix * p.m * p.n;\n"
        "#if BATCH_AXES\n#pragma unroll\nfor (int d = BATCH_AXES - 1; d >= 0; d--) {\n"
        "const long long i = matrix % p.shape[d]; matrix /= p.shape[d]; a_at += i * p.sa[d]; b_at += i * p.sb[d];\n"
        "}\n#endif\n"
        "V sum[4][4];\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++)\n#pragma unroll\nfor (int j = 0; j < 4; j++) sum[i][j] = 0;\n"
        "for (long long k = 0; k < p.k; k += 16) {\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++) {\n"
        /* Neighbouring threads read along whichever axis lies close together in memory. */
        "const int f = threadIdx.x + i * 256;\n"
        "const int ar = p.a1 == 1 ? f / 16 : f % 64, ak = p.a1 == 1 ? f % 16 : f / 64;\n"
        "const int bc = p.b0 == 1 ? f / 16 : f % 64, bk = p.b0 == 1 ? f % 16 : f / 64;\n"
        "as[ak][ar] = row + ar < p.m && k + ak < p.k ? load(p.a, a_at + (row + ar) * p.a0 + (k + ak) * p.a1) : (V)0;\n"
        "bs[bk][bc] = column + bc < p.n && k + bk < p.k ? load(p.b, b_at + (k + bk) * p.b0 + (column + bc) * p.b1) : (V)0;\n"
        "}\n__syncthreads();\n"
        "#pragma unroll\nfor (int q = 0; q < 16; q++) {\n"
        "V av[4], bv[4];\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++) { av[i] = as[q][y + i * 16]; bv[i] = bs[q][x + i * 16]; }\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++)\n"
        "#pragma unroll\nfor (int j = 0; j < 4; j++) sum[i][j] = add(sum[i][j], mul(av[i], bv[j]));\n"
        "}\n__syncthreads();\n}\n"
        "#pragma unroll\nfor (int i = 0; i < 4; i++)\n"
        "#pragma unroll\nfor (int j = 0; j < 4; j++) {\n"
        "const long long r = row + y + i * 16, s = column + x + j * 16;\n"
        "if (r < p.m && s < p.n) { ");
    kn_put_store(t, dtype, "p.c", "c_at + r * p.n + s", "sum[i][j]");
    kn_put(t, "}\n}\n}\n}\n");
}

/* Elements of a row for which one block alone would take longer than another kernel does to compile. */
#define LONG 4096

/* An operand with an axis for each of the batches, one for the rows or columns that there are several of, and the one
 * that is summed up (borrowed). */
static struct rt_array lines_of(const struct kn_product *p, const struct rt_array *a, const int64_t *batch,
                                int64_t line, int64_t step)
{
    struct rt_array out = *a;
    out.ndim = p->batch_ndim + 2;
    for (int d = 0; d < p->batch_ndim; d++) {
        out.shape[d] = p->batch_shape[d];
        out.strides[d] = batch[d];
    }
    out.shape[out.ndim - 2] = p->rows * p->columns;
    out.strides[out.ndim - 2] = line;
    out.shape[out.ndim - 1] = p->inner;
    out.strides[out.ndim - 1] = step;
    return out;
}

/* Products are not rounded to 16 bits before they are added, as they are not in tiles. */
static enum rt_status sum_products(const struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                                   const struct rt_array *out, struct rt_error *e)
{
    struct rt_array x = lines_of(p, a, p->a_batch, p->columns == 1 ? p->a_stride[0] : 0, p->a_stride[1]);
    struct rt_array y = lines_of(p, b, p->b_batch, p->columns == 1 ? 0 : p->b_stride[1], p->b_stride[0]);
    const struct rt_array *operands[] = {&x, &y};
    struct rt_array sums = {0}, flat = {0};
    struct kn_program product;
    enum rt_status status = RT_OK;
    int args[2], node;
    kn_program_start(&product);
    for (int i = 0; i < 2 && status == RT_OK; i++) {
        status = kn_program_array(&product, operands[i], &args[i], e);
        if (status == RT_OK)
            status = kn_program_convert(&product, args[i], kn_classes[kn_class_of(p->dtype)].dtype, &args[i], e);
    }
    if (status == RT_OK) status = kn_program_op(&product, KN_MUL, args, &node, e);
    if (status == RT_OK) status = kn_program_reduce(&product, KN_SUM, 1u << (x.ndim - 1), false, &sums, e);
    if (status == RT_OK) status = rt_array_reshape(&sums, out->ndim, out->shape, &flat, e);
    if (status == RT_OK) status = kn_copy(out, &flat, e);
    rt_array_release(&flat);
    rt_array_release(&sums);
    return status;
}

enum rt_status kn_matmul_cuda(const struct kn_product *p, const struct rt_array *a, const struct rt_array *b,
                              const struct rt_array *out, struct rt_error *e)
{
    if (p->inner >= LONG && (p->rows == 1 || p->columns == 1)) return sum_products(p, a, b, out, e);
    const uint8_t key[] = {'m', (uint8_t)p->dtype, (uint8_t)p->batch_ndim};
    const int64_t *const batch[] = {p->batch_shape, p->a_batch, p->b_batch};
    int64_t across = (p->columns + 63) / 64, each = (p->rows + 63) / 64 * across, tiles = each * p->batches;
    const int64_t sizes[] = {p->rows, p->inner,       p->columns,     tiles,          each,
                             across,  p->a_stride[0], p->a_stride[1], p->b_stride[0], p->b_stride[1]};
    struct kn_words w = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) kn_word(&w, (uint64_t)sizes[i]);
    for (int list = 0; list < 3; list++)
        for (int d = 0; d < p->batch_ndim; d++) kn_word(&w, (uint64_t)batch[list][d]);
    kn_word(&w, rt_array_address(a));
    kn_word(&w, rt_array_address(b));
    kn_word(&w, rt_array_address(out));
    return kn_launch(rt_array_device(out),
                     &(struct kn_launch){.key = key,
                                         .key_bytes = sizeof key,
                                         .write = write_matmul,
                                         .context = p,
                                         .words = &w,
                                         .contract = true,
                                         .blocks = tiles},
                     e);
}
