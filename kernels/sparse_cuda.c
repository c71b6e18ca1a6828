/* Products of sparse matrices with dense arrays as generated CUDA C. A warp goes through each row where the result has
 * one column; else each element of the result has a thread, whose neighbours read neighbours of x. */
#include "kernels/generate.h"
#include "kernels/sparse.h"

enum task { TIMES_VECTOR, TIMES_MATRIX, TO_DENSE };

struct key {
    uint8_t what; /* 'C' */
    uint8_t dtype, task;
};

static void write_sparse(const void *context, struct kn_text *t)
{
    const struct key *k = context;
    kn_put(
        t,
        "typedef %s V;\n"
        "struct Arguments { long long rows, columns, n; const long long *starts; const int *indices; const V *data, *x;"
        " V *out; };\n"
        "extern \"C\" __global__ void __launch_bounds__(256) kn(const Arguments p) {\n",
        kn_memory_type((enum rt_dtype)k->dtype));
    if (k->task == TIMES_MATRIX) {
        kn_put(
            t, "%s",
            "const long long all = p.rows * p.n;\n"
            "for (long long e = (long long)blockIdx.x * 256 + threadIdx.x; e < all; e += (long long)gridDim.x * 256) {\n"
            "const long long r = e / p.n, c = e % p.n;\n"
            "V sum = 0;\n"
            "for (long long i = p.starts[r]; i < p.starts[r + 1]; i++) sum += p.data[i] * p.x[p.indices[i] * p.n + c];\n"
            "p.out[e] = sum;\n}\n}\n");
        return;
    }
    kn_put(
        t, "%s",
        "const int lane = threadIdx.x % 32;\n"
        "for (long long r = (long long)blockIdx.x * 8 + threadIdx.x / 32; r < p.rows; r += (long long)gridDim.x * 8) {\n"
        "const long long end = p.starts[r + 1];\n");
    if (k->task == TO_DENSE)
        kn_put(
            t, "%s",
            "for (long long i = p.starts[r] + lane; i < end; i += 32) p.out[r * p.columns + p.indices[i]] = p.data[i];\n");
    else
        kn_put(t, "%s",
               "V sum = 0;\n"
               "for (long long i = p.starts[r] + lane; i < end; i += 32) sum += p.data[i] * p.x[p.indices[i]];\n"
               "#pragma unroll\nfor (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);\n"
               "if (lane == 0) p.out[r] = sum;\n");
    kn_put(t, "}\n}\n");
}

static enum rt_status launch(enum task task, const struct kn_csr *a, const struct rt_array *x, int64_t n,
                             const struct rt_array *out, struct rt_error *e)
{
    struct key k = {'C', (uint8_t)a->data.dtype, (uint8_t)task};
    struct kn_words w = {0};
    kn_word(&w, (uint64_t)a->rows);
    kn_word(&w, (uint64_t)a->columns);
    kn_word(&w, (uint64_t)n);
    kn_word(&w, rt_array_address(&a->starts));
    kn_word(&w, rt_array_address(&a->indices));
    kn_word(&w, rt_array_address(&a->data));
    kn_word(&w, x ? rt_array_address(x) : 0);
    kn_word(&w, rt_array_address(out));
    int64_t threads = task == TIMES_MATRIX ? a->rows * n : a->rows * 32;
    return kn_launch(kn_csr_device(a),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_sparse,
                                         .context = &k,
                                         .words = &w,
                                         .contract = true,
                                         .blocks = (threads + KN_THREADS - 1) / KN_THREADS},
                     e);
}

enum rt_status kn_csr_matmul_cuda(const struct kn_csr *a, const struct rt_array *x, int64_t n,
                                  const struct rt_array *out, struct rt_error *e)
{
    return launch(n == 1 ? TIMES_VECTOR : TIMES_MATRIX, a, x, n, out, e);
}

enum rt_status kn_csr_scatter_cuda(const struct kn_csr *a, const struct rt_array *out, struct rt_error *e)
{
    return launch(TO_DENSE, a, NULL, 1, out, e);
}
