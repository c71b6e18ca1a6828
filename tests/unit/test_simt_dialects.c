/* NVRTC speaks two dialects of PTX: typed registers up to sm_90, untyped ones, immediate operands and scopes that
 * shadow from sm_100 on. The same kernels, compiled into each, against what C computes. */
#include "runtime/library.h"
#include "runtime/memory.h"
#include "runtime/nvrtc.h"
#include "runtime/simt/simt.h"
#include "tests/unit/test.h"

enum { N = 700 }; /* elements in and out; not a multiple of a block */
static const int architectures[] = {80, 90, 100, 120};

static char *compile_for(int architecture, const char *source)
{
    struct rt_error e = {0};
    struct rt_nvrtc_info info;
    char target[48], include[4096];
    bool known = false;
    if (!rt_library_open(RT_LIB_NVRTC, &e)) SKIP("no NVRTC");
    if (rt_nvrtc_info(&info, &e) != RT_OK) FAIL("%s", e.text);
    for (const int *a = info.architectures; *a; a++) known |= *a == architecture;
    if (!known) return NULL;
    snprintf(target, sizeof target, "--gpu-architecture=compute_%d", architecture);
    snprintf(include, sizeof include, "-I%s", rt_cuda_include() ? rt_cuda_include() : ".");
    const char *options[] = {target, "-lineinfo", "-default-device", include};
    struct rt_nvrtc_job job = {.source = source, .options = options, .option_count = 4};
    struct rt_nvrtc_result r;
    if (rt_nvrtc_compile(&job, &r, &e) != RT_OK) FAIL("%s", e.text);
    if (!r.compiled) FAIL("%s", r.log);
    char *ptx = rt_strdup(r.ptx);
    rt_nvrtc_result_clear(&r);
    return ptx;
}

static uint64_t device(const int *from)
{
    uint64_t a;
    struct rt_error e = {0};
    if (simt_alloc(N * sizeof *from, &a, &e) != RT_OK) FAIL("%s", e.text);
    memcpy(simt_host(a), from, N * sizeof *from);
    return a;
}

static void run(const char *ptx, unsigned grid, unsigned block, const int *in, int *out)
{
    struct rt_error e = {0};
    struct simt_fault fault;
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), &e);
    if (!m) FAIL("%s", e.text);
    struct simt_program *p = simt_program_new(m, &e);
    ptx_free(m);
    if (!p) FAIL("%s", e.text);
    struct {
        uint64_t in, out;
        int n;
    } params = {device(in), device(out), N};
    struct simt_launch l = {.function = simt_program_function(p, "k"),
                            .grid = {grid, 1, 1},
                            .block = {block, 1, 1},
                            .dynamic_shared = 1024,
                            .params = &params};
    CHECK(l.function != NULL);
    if (!simt_run(&l, &fault)) FAIL("%s", fault.text);
    memcpy(out, simt_host(params.out), N * sizeof *out);
    simt_free(params.in), simt_free(params.out);
    simt_program_free(p);
}

/* Runs `extern "C" __global__ void k(const int *in, int *out, int n)` in every dialect. */
static void check(const char *source, unsigned grid, unsigned block, void (*expect)(const int *in, int *out))
{
    int in[N], out[N], want[N] = {0}, tried = 0;
    for (int i = 0; i < N; i++) in[i] = (int)((unsigned)i * 2654435761u >> 8) - (1 << 22);
    expect(in, want);
    for (size_t a = 0; a < sizeof architectures / sizeof *architectures; a++) {
        char *ptx = compile_for(architectures[a], source);
        if (!ptx) continue;
        memset(out, 0, sizeof out);
        run(ptx, grid, block, in, out);
        free(ptx);
        tried++;
        for (int i = 0; i < N; i++)
            if (out[i] != want[i]) FAIL("sm_%d: out[%d] is %d, expected %d", architectures[a], i, out[i], want[i]);
    }
    CHECK(tried > 0);
}

#define K     "extern \"C\" __global__ void k(const int *in, int *out, int n) {\n"
#define INDEX "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"

static void expect_arithmetic(const int *in, int *out)
{
    for (int i = 0; i < N; i++) {
        float f = (float)in[i] * 0.5f + 3.0f;
        double d = sqrt(fabs((double)in[i])) / 7.0;
        long long wide = (long long)in[i] * in[(i + 1) % N] >> 5;
        out[i] = (int)f ^ (int)(d * 1000) ^ (int)wide ^ (in[i] / 17) ^ (in[i] % 23) ^ (int)((unsigned)in[i] >> 3);
    }
}
TEST(arithmetic_of_all_widths)
{
    check(K INDEX
          "  if (i >= n) return;\n"
          "  float f = in[i] * 0.5f + 3.0f;\n"
          "  double d = sqrt(fabs((double)in[i])) / 7.0;\n"
          "  long long wide = (long long)in[i] * in[(i + 1) % n] >> 5;\n"
          "  out[i] = (int)f ^ (int)(d * 1000) ^ (int)wide ^ (in[i] / 17) ^ (in[i] % 23) ^ (int)((unsigned)in[i] "
          ">> 3);\n}",
          6, 128, expect_arithmetic);
}

static void expect_block_sums(const int *in, int *out)
{
    for (int i = 0; i < N; i++) out[i / 128] = (int)((unsigned)out[i / 128] + (unsigned)in[i]);
}
TEST(shuffles_votes_and_shared_memory)
{
    check(K INDEX "  __shared__ int partial[4];\n"
                  "  int v = i < n ? in[i] : 0;\n"
                  "  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);\n"
                  "  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;\n"
                  "  __syncthreads();\n"
                  "  if (threadIdx.x < 4) {\n"
                  "    v = partial[threadIdx.x];\n"
                  "    for (int d = 2; d; d >>= 1) v += __shfl_down_sync(0xfu, v, d);\n"
                  "    if (threadIdx.x == 0) out[blockIdx.x] = v;\n"
                  "  }\n"
                  "  if (__ballot_sync(0xffffffffu, i < n) && !__any_sync(0xffffffffu, 1)) out[0] = -1;\n}",
          6, 128, expect_block_sums);
}

/* sm_100 takes the index off the variable's address in 64 bits: shared addresses are truncated when all is added. */
static void expect_reversed(const int *in, int *out)
{
    for (int i = 0; i < N; i++) out[i] = i / 128 * 128 + 127 - i % 128 < N ? in[i / 128 * 128 + 127 - i % 128] : 0;
}
TEST(shared_memory_from_its_end)
{
    check(K INDEX "  __shared__ int s[128];\n"
                  "  s[threadIdx.x] = i < n ? in[i] : 0;\n"
                  "  __syncthreads();\n"
                  "  if (i < n) out[i] = s[127 - threadIdx.x];\n}",
          6, 128, expect_reversed);
}

static void expect_atomics(const int *in, int *out)
{
    out[1] = INT32_MIN;
    for (int i = 0; i < N; i++) {
        out[in[i] & 63]++;
        out[100 + (in[i] >> 3 & 7)] ^= in[i];
    }
    out[0] = out[1] = 0;
    out[2] = N;
    for (int i = 0; i < N; i++) out[1] = in[i] > out[1] ? in[i] : out[1];
}
TEST(atomics_and_dynamic_shared_memory)
{
    check(K INDEX "  extern __shared__ int bins[];\n"
                  "  for (int j = threadIdx.x; j < 64; j += blockDim.x) bins[j] = 0;\n"
                  "  __syncthreads();\n"
                  "  if (i < n) {\n"
                  "    atomicAdd(&bins[in[i] & 63], 1);\n"
                  "    atomicMax(&out[1], in[i]);\n"
                  "    atomicXor(&out[100 + (in[i] >> 3 & 7)], in[i]);\n"
                  "    for (int old = out[2], seen; (seen = atomicCAS(&out[2], old, old + 1)) != old; old = seen);\n"
                  "  }\n"
                  "  __syncthreads();\n"
                  "  for (int j = threadIdx.x; j < 64; j += blockDim.x)\n"
                  "    if (j > 2) atomicAdd(&out[j], bins[j]);\n}",
          6, 128, expect_atomics);
}

static int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}
static void expect_calls(const int *in, int *out)
{
    for (int i = 0; i < N; i++) {
        int a = abs(in[i]), b = i + 1, x = a & 255, y = b & 255;
        switch (a % 7) {
        case 0: out[i] = gcd(a, b); break;
        case 1: out[i] = x * 2 + y * 3; break;
        case 2: out[i] = x - y; break;
        case 3: out[i] = x * y; break;
        case 4: out[i] = x ^ y; break;
        case 5: out[i] = -x; break;
        default: out[i] = 7;
        }
    }
}
TEST(calls_structures_and_tables_of_branches)
{
    check("struct pair { int x, y; };\n"
          "__noinline__ int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }\n"
          "__noinline__ int weigh(pair p, int a) { return p.x * a + p.y * (a + 1); }\n"
          "__noinline__ pair split(int a, int b) { return {a & 255, b & 255}; }\n" K INDEX "  if (i >= n) return;\n"
          "  int a = abs(in[i]), b = i + 1, r;\n"
          "  pair p = split(a, b);\n"
          "  switch (a % 7) {\n"
          "  case 0: r = gcd(a, b); break;\n"
          "  case 1: r = weigh(p, 2); break;\n"
          "  case 2: r = p.x - p.y; break;\n"
          "  case 3: r = p.x * p.y; break;\n"
          "  case 4: r = p.x ^ p.y; break;\n"
          "  case 5: r = -p.x; break;\n"
          "  default: r = 7;\n"
          "  }\n"
          "  out[i] = r;\n}",
          6, 128, expect_calls);
}

static const int weights[5] = {3, -1, 4, -1, 5};
static void expect_local(const int *in, int *out)
{
    for (int i = 0; i < N; i++) {
        int sorted[5];
        for (int j = 0; j < 5; j++) {
            int v = in[(i + 31 * j) % N], at = j;
            for (; at > 0 && sorted[at - 1] > v; at--) sorted[at] = sorted[at - 1];
            sorted[at] = v;
        }
        out[i] = sorted[i % 5] + weights[i % 5];
    }
}
TEST(local_arrays_and_constants)
{
    check("__constant__ int weights[5] = {3, -1, 4, -1, 5};\n" K INDEX "  if (i >= n) return;\n"
          "  int sorted[5];\n"
          "  #pragma unroll 1\n"
          "  for (int j = 0; j < 5; j++) {\n"
          "    int v = in[(i + 31 * j) % n], at = j;\n"
          "    for (; at > 0 && sorted[at - 1] > v; at--) sorted[at] = sorted[at - 1];\n"
          "    sorted[at] = v;\n"
          "  }\n"
          "  out[i] = sorted[i % 5] + weights[i % 5];\n}",
          6, 128, expect_local);
}

static void expect_vectors(const int *in, int *out)
{
    for (int i = 0; i < N / 4; i++)
        for (int j = 0; j < 4; j++) out[4 * i + j] = (int)((unsigned)in[4 * i + 3 - j] * 2u);
}
TEST(vector_loads_and_stores)
{
    check(K INDEX "  if (i >= n / 4) return;\n"
                  "  int4 v = reinterpret_cast<const int4 *>(in)[i];\n"
                  "  reinterpret_cast<int4 *>(out)[i] = make_int4(v.w * 2, v.z * 2, v.y * 2, v.x * 2);\n}",
          2, 128, expect_vectors);
}

static void expect_halves(const int *in, int *out)
{
    for (int i = 0; i < N; i++) {
        _Float16 h = (_Float16)(in[i] & 15);
        out[i] = (int)(float)(h * h + h);
    }
}
TEST(half_precision_in_every_dialect)
{
    if (!rt_cuda_include()) SKIP("no cuda_fp16.h");
    check("#include <cuda_fp16.h>\n" K INDEX "  if (i >= n) return;\n"
          "  __half h = __int2half_rn(in[i] & 15);\n"
          "  __half2 two = __hfma2(__half2half2(h), __half2half2(h), __half2half2(h));\n"
          "  out[i] = (int)__low2float(two);\n}",
          6, 128, expect_halves);
}

static void expect_product(const int *in, int *out)
{
    for (int r = 0; r < 16; r++)
        for (int c = 0; c < 16; c++)
            for (int k = 0; k < 16; k++) out[r * 16 + c] += (in[r * 16 + k] & 7) * (in[c * 16 + k] & 3);
}
TEST(matrix_products_in_every_dialect)
{
    if (!rt_cuda_include()) SKIP("no mma.h");
    check("#include <mma.h>\nusing namespace nvcuda;\n" K "  __shared__ __align__(32) half a[256], b[256];\n"
          "  __shared__ __align__(32) float c[256];\n"
          "  for (int i = threadIdx.x; i < 256; i += 32) a[i] = in[i] & 7, b[i] = in[i] & 3;\n"
          "  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;\n"
          "  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;\n"
          "  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;\n  wmma::fill_fragment(fc, 0.0f);\n"
          "  __syncwarp();\n  wmma::load_matrix_sync(fa, a, 16);\n  wmma::load_matrix_sync(fb, b, 16);\n"
          "  wmma::mma_sync(fc, fa, fb, fc);\n  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);\n"
          "  __syncwarp();\n  for (int i = threadIdx.x; i < 256; i += 32) out[i] = (int)c[i];\n}",
          1, 32, expect_product);
}

static void expect_copies(const int *in, int *out)
{
    for (int i = 0; i < 256; i++) out[i] = in[i ^ 1] + in[(i ^ 64) % 256];
}
TEST(asynchronous_copies_in_every_dialect)
{
    if (!rt_cuda_include()) SKIP("no cuda_pipeline.h");
    check("#include <cuda_pipeline.h>\n#include <cuda_awbarrier.h>\n" K "  __shared__ __align__(16) int s[256];\n"
          "  __shared__ __mbarrier_t bar;\n  int i = threadIdx.x;\n"
          "  if (i == 0) __mbarrier_init(&bar, blockDim.x);\n  __syncthreads();\n"
          "  __pipeline_memcpy_async(&s[i], &in[i], 4);\n  __pipeline_arrive_on(&bar);\n"
          "  __mbarrier_token_t t = __mbarrier_arrive(&bar);\n  while (!__mbarrier_test_wait(&bar, t)) {\n  }\n"
          "  out[i] = s[i ^ 1] + s[i ^ 64];\n}",
          1, 256, expect_copies);
}

static void expect_bytes(const int *in, int *out)
{
    for (int i = 0; i + 1 < N; i++) {
        unsigned a = (unsigned)in[i], b = (unsigned)in[i + 1], r = 0, sum = 0;
        for (int k = 0; k < 32; k += 8) {
            int x = (int)(a >> k & 255), y = (int)(b >> k & 255), d = x > y ? x - y : y - x;
            sum += (unsigned)d;
            r |= (unsigned)(x + y > 255 ? 255 : x + y) << k;
        }
        out[i] = (int)(r + sum);
    }
}
TEST(packed_bytes_in_every_dialect)
{
    check(K INDEX "  if (i + 1 >= n) return;\n"
                  "  out[i] = __vaddus4(in[i], in[i + 1]) + __vsadu4(in[i], in[i + 1]);\n}",
          6, 128, expect_bytes);
}
