/* Modules, libraries and the linker: what they hold, how several become one, what is wrong with them. */
#include "tests/driver/program.h"

static const char source[] = "__device__ int counter = 42;\n"
                             "__constant__ float scale[3];\n"
                             "extern \"C\" __global__ void count(int n) { atomicAdd(&counter, n); }\n"
                             "extern \"C\" __global__ void scaled(const float *x, float *y, char tail) {\n"
                             "  y[threadIdx.x] = scale[threadIdx.x] * x[threadIdx.x] + tail;\n"
                             "}\n";

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(text, 1, length, f) == length);
    fclose(f);
}

TEST(globals_and_constants)
{
    start();
    CUmodule m = load(source);
    CUdeviceptr p, x, y;
    size_t bytes;
    int value, n = 3;
    float in[3] = {1, 2, 3}, scale[3] = {10, 20, 30}, out[3];
    char tail = 5;
    OK(cuModuleGetGlobal(&p, &bytes, m, "counter"));
    CHECK_INT(bytes, sizeof value);
    void *one[] = {&n};
    OK(cuLaunchKernel(function_of(m, "count"), 2, 1, 1, 4, 1, 1, 0, NULL, one, NULL));
    OK(cuMemcpyDtoH(&value, p, sizeof value));
    CHECK_INT(value, 42 + 24);
    OK(cuModuleGetGlobal(&p, NULL, m, "scale"));
    OK(cuMemcpyHtoD(p, scale, sizeof scale));
    OK(cuMemAlloc(&x, sizeof in));
    OK(cuMemAlloc(&y, sizeof in));
    OK(cuMemcpyHtoD(x, in, sizeof in));
    void *three[] = {&x, &y, &tail};
    OK(cuLaunchKernel(function_of(m, "scaled"), 1, 1, 1, 3, 1, 1, 0, NULL, three, NULL));
    OK(cuMemcpyDtoH(out, y, sizeof out));
    for (int i = 0; i < 3; i++) CHECK_NEAR(out[i], in[i] * scale[i] + 5, 0);
    CHECK_INT(cuModuleGetGlobal(&p, &bytes, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    CHECK_INT(cuModuleGetGlobal(NULL, NULL, m, "counter"), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuModuleGetGlobal(&p, &bytes, (CUmodule)&n, "counter"), CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleUnload(m));
    CHECK_INT(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    stop();
}

TEST(functions_of_a_module)
{
    start();
    CUmodule m = load(source), of;
    CUfunction f, all[4], late;
    unsigned count;
    const char *name;
    int value;
    size_t offset, size;
    CUfunctionLoadingState state;
    CHECK_INT(cuModuleGetFunction(&f, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    CHECK_INT(cuModuleGetFunction(&f, NULL, "count"), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuModuleGetFunction(NULL, m, "count"), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleGetFunctionCount(&count, m));
    CHECK_INT(count, 2);
    OK(cuModuleEnumerateFunctions(all, count, m));
    f = function_of(m, "scaled");
    CHECK((all[0] == f) + (all[1] == f) == 1);
    OK(cuFuncGetName(&name, f));
    CHECK_STR(name, "scaled");
    OK(cuFuncGetModule(&of, f));
    CHECK(of == m);
    OK(cuFuncGetParamInfo(f, 2, &offset, &size));
    CHECK(offset == 16 && size == 1);
    CHECK_INT(cuFuncGetParamInfo(f, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncIsLoaded(&state, f));
    OK(cuFuncLoad(f));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK_INT(value, 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    CHECK(value > 0 && value < 256);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    CHECK_INT(value, 64 * 1024);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f));
    CHECK_INT(value, 50);
    CHECK_INT(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, f), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_SHARED));
    late = f;
    OK(cuModuleUnload(m));
    CHECK_INT(cuFuncGetName(&name, late), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    stop();
}

TEST(modules_from_files)
{
    start();
    CUmodule m;
    char path[] = "/tmp/module-XXXXXX", *ptx = compile(source, false);
    CUmoduleLoadingMode mode;
    close(mkstemp(path));
    write_file(path, ptx, strlen(ptx));
    OK(cuModuleLoad(&m, path));
    function_of(m, "count");
    CHECK_INT(cuModuleLoad(&m, "/nowhere/at/all"), CUDA_ERROR_FILE_NOT_FOUND);
    CHECK_INT(cuModuleLoad(&m, "/tmp"), CUDA_ERROR_INVALID_IMAGE);
    OK(cuModuleGetLoadingMode(&mode));
    unlink(path);
    free(ptx);
    stop();
}

TEST(what_is_wrong_with_an_image)
{
    start();
    CUmodule m;
    char error[500] = "", info[100] = "x";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME};
    void *values[] = {error, (void *)sizeof error, info, (void *)sizeof info, NULL};
    CHECK_INT(cuModuleLoadDataEx(&m, ".version 7.0\n.target sm_80\nnonsense;\n", 5, options, values),
              CUDA_ERROR_INVALID_PTX);
    CHECK_HAS(error, "line 3");
    CHECK_INT((size_t)values[1], strlen(error));
    CHECK_INT(cuModuleLoadData(&m, "\177ELF and more"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_INT(cuModuleLoadData(&m, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuModuleLoadDataEx(&m, "", 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuModuleLoadData(&m, ""), CUDA_ERROR_INVALID_PTX);
    char *ptx = compile(source, false);
    values[1] = (void *)sizeof error, values[4] = NULL;
    OK(cuModuleLoadDataEx(&m, ptx, 5, options, values));
    float ms;
    memcpy(&ms, &values[4], sizeof ms);
    CHECK(ms > 0);
    CHECK_STR(error, "");
    free(ptx);
    stop();
}

/* A kernel that launches another is refused by its reason; the other kernels of its module run. */
TEST(kernels_that_launch_kernels)
{
    start();
    char info[400] = "";
    CUmodule m;
    CUfunction f;
    CUdeviceptr x;
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {info, (void *)sizeof info};
    char *ptx = compile("extern \"C\" __global__ void child(int *x) { x[threadIdx.x] = threadIdx.x; }\n"
                        "extern \"C\" __global__ void parent(int *x) { child<<<1, 32>>>(x); }\n",
                        true);
    OK(cuModuleLoadDataEx(&m, ptx, 2, options, values));
    CHECK_HAS(info, "no launches from within kernels (dynamic parallelism, ");
    CHECK_HAS(info, "launch the inner kernel from the host");
    CHECK_INT(cuModuleGetFunction(&f, m, "parent"), CUDA_ERROR_NOT_SUPPORTED);
    int out[32];
    OK(cuMemAlloc(&x, sizeof out));
    void *parameters[] = {&x};
    OK(cuLaunchKernel(function_of(m, "child"), 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    for (int i = 0; i < 32; i++) CHECK_INT(out[i], i);
    free(ptx);
    /* Linked with NVIDIA's library of functions for it. */
    options[0] = CU_JIT_ERROR_LOG_BUFFER, options[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    values[0] = info, values[1] = (void *)sizeof info;
    static const char linked[] = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func inner;\n"
                                 ".func __cudaCDP2LaunchDeviceV2() { call inner; ret; }\n"
                                 ".visible .entry parent() { call __cudaCDP2LaunchDeviceV2; ret; }\n";
    CHECK_INT(cuModuleLoadDataEx(&m, linked, 2, options, values), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_HAS(info, "no launches from within kernels (dynamic parallelism, __cudaCDP2LaunchDeviceV2)");
    stop();
}

/* The most registers of a thread: by an option of the compiler's, and by what a kernel says of itself. */
TEST(registers_are_limited)
{
    start();
    static const char text[] =
        "__device__ void many(float *x) {\n"
        "  float v[48];\n"
        "  for (int i = 0; i < 48; i++) v[i] = x[i * 32 + threadIdx.x];\n"
        "  for (int i = 0; i < 48; i++) x[i * 32 + threadIdx.x] = v[47 - i] + v[i];\n"
        "}\n"
        "extern \"C\" __global__ void all(float *x) { many(x); }\n"
        "extern \"C\" __global__ void __maxnreg__(32) some(float *x) { many(x); }\n"
        "extern \"C\" __global__ void __launch_bounds__(1024, 2) shared(float *x) { many(x); }\n";
    const struct {
        const char *name;
        int plain, limited;
    } rows[] = {{"all", 0, 24}, {"some", 32, 24}, {"shared", 32, 24}};
    char *ptx = compile(text, false);
    CUmodule plain, limited;
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *most = (void *)(uintptr_t)24;
    OK(cuModuleLoadData(&plain, ptx));
    OK(cuModuleLoadDataEx(&limited, ptx, 1, &option, &most));
    for (size_t k = 0; k < COUNT(rows); k++) {
        int registers, blocks;
        CUfunction f = function_of(plain, rows[k].name), g = function_of(limited, rows[k].name);
        OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
        CHECK(rows[k].plain ? registers == rows[k].plain : registers >= 48);
        OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 512, 0));
        CHECK_INT(blocks, rows[k].plain ? 4 : 2); /* of 65,536 registers */
        OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, g));
        CHECK_INT(registers, rows[k].limited);
        OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, g, 512, 0));
        CHECK_INT(blocks, 4);
    }
    /* the linker's limit goes on with what it makes, but for a kernel that has its own */
    CUlinkState link;
    CUmodule linked;
    void *cubin;
    int registers;
    OK(cuLinkCreate(1, &option, &most, &link));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, strlen(ptx) + 1, "part", 0, NULL, NULL));
    OK(cuLinkComplete(link, &cubin, NULL));
    OK(cuModuleLoadData(&linked, cubin));
    OK(cuLinkDestroy(link));
    OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function_of(linked, "all")));
    CHECK_INT(registers, 24);
    OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function_of(linked, "some")));
    CHECK_INT(registers, 32);
    free(ptx);
    stop();
}

/* ---- The linker ---- */

static const char caller[] = "extern __device__ float twice(float x);\n"
                             "extern __device__ int shared_count;\n"
                             "static __device__ int own = 1;\n"
                             "extern \"C\" __global__ void run(float *x) {\n"
                             "  *x = twice(*x); shared_count += own;\n"
                             "}\n";
static const char callee[] = "__device__ int shared_count = 100;\n"
                             "static __device__ int own = 2;\n"
                             "__device__ float twice(float x) { return own * x; }\n"
                             "extern \"C\" __global__ void reset() { shared_count = own; }\n";

static CUmodule linked(char **ptx, size_t count, bool by_file)
{
    CUlinkState link;
    CUmodule m;
    void *cubin;
    size_t size;
    OK(cuLinkCreate(0, NULL, NULL, &link));
    for (size_t i = 0; i < count; i++) {
        char path[] = "/tmp/link-XXXXXX";
        if (by_file) {
            close(mkstemp(path));
            write_file(path, ptx[i], strlen(ptx[i]));
            OK(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
            unlink(path);
        } else {
            OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx[i], strlen(ptx[i]) + 1, "part", 0, NULL, NULL));
        }
    }
    OK(cuLinkComplete(link, &cubin, &size));
    CHECK(size > 100);
    OK(cuModuleLoadData(&m, cubin));
    OK(cuLinkDestroy(link));
    CHECK_INT(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
    return m;
}

TEST(several_texts_become_one_module)
{
    start();
    char *ptx[] = {compile(caller, true), compile(callee, true)}, *swapped[] = {ptx[1], ptx[0]};
    for (int i = 0; i < 2; i++) {
        CUmodule m = linked(i ? swapped : ptx, 2, i);
        CUdeviceptr x, count;
        float value = 21;
        int n;
        OK(cuMemAlloc(&x, sizeof value));
        OK(cuMemcpyHtoD(x, &value, sizeof value));
        void *parameters[] = {&x};
        OK(cuLaunchKernel(function_of(m, "run"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
        OK(cuMemcpyDtoH(&value, x, sizeof value));
        CHECK_NEAR(value, 42, 0);
        OK(cuModuleGetGlobal(&count, NULL, m, "shared_count"));
        OK(cuMemcpyDtoH(&n, count, sizeof n));
        CHECK_INT(n, 101);
        OK(cuModuleUnload(m));
    }
    free(ptx[0]);
    free(ptx[1]);
    stop();
}

/* A name of one text only is found in the module by that name; of two texts' own names both are there, and one that
 * others see keeps its name. */
TEST(own_names_stay_as_they_are)
{
    start();
    static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
    static const char *const parts[] = {
        ".const .align 4 .u32 mine = 3;\n.global .u32 ours = 4;\n.global .u32 taken = 5;\n"
        ".global .u32 taken$1 = 6;\n",
        ".global .u32 ours = 7;\n.global .u32 taken$2 = 9;\n", ".visible .global .u32 taken = 8;\n"};
    char ptx[3][1000], *texts[3], names[3][20];
    for (int i = 0; i < 3; i++) {
        static const char *const read[] = {"taken", "ours", "taken"};
        snprintf(ptx[i], sizeof ptx[i],
                 "%s%s.visible .entry read_%d(.param .u64 p) { .reg .b64 %%p; .reg .b32 %%a;\n"
                 "  ld.global.u32 %%a, [%s]; ld.param.u64 %%p, [p]; st.global.u32 [%%p], %%a; ret; }\n",
                 head, parts[i], i, read[i]);
        texts[i] = ptx[i];
        snprintf(names[i], sizeof names[i], "read_%d", i);
    }
    CUmodule m = linked(texts, 3, false);
    static const struct {
        const char *name;
        int value;
    } kept[] = {{"mine", 3}, {"ours", 4}, {"taken", 8}, {"taken$1", 6}, {"taken$2", 9}};
    CUdeviceptr x;
    int out, expected[] = {5, 7, 8};
    for (int i = 0; i < 5; i++) {
        OK(cuModuleGetGlobal(&x, NULL, m, kept[i].name));
        OK(cuMemcpyDtoH(&out, x, sizeof out));
        CHECK_INT(out, kept[i].value);
    }
    OK(cuMemAlloc(&x, sizeof out));
    void *parameters[] = {&x};
    for (int i = 0; i < 3; i++) {
        OK(cuLaunchKernel(function_of(m, names[i]), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
        OK(cuMemcpyDtoH(&out, x, sizeof out));
        CHECK_INT(out, expected[i]);
    }
    OK(cuModuleUnload(m));
    stop();
}

/* What is weak, such as an instance of a template, may come with several texts; what is not weak goes before it. */
TEST(texts_have_the_same_weak_names)
{
    start();
    static const char shared[] =
        "template<class T> __device__ __noinline__ T more(T x) {\n"
        "  static __device__ T step = 2; return x + step;\n"
        "}\n"
        "template<class T> __global__ void both(T *x) { x[threadIdx.x] = more(x[threadIdx.x]); }\n"
        "template __global__ void both<int>(int *);\n"
        "extern \"C\" __global__ void %s(int *x) { *x = more(*x) * %d; }\n";
    static const char strong[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                 ".visible .global .u32 kept = 5;\n"
                                 ".visible .func (.param .b32 r) pick() { .reg .b32 %a;\n"
                                 "  ld.global.u32 %a, [kept]; st.param.b32 [r], %a; ret; }\n";
    static const char weak[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".weak .global .u32 kept = 6;\n.common .global .u32 room;\n"
                               ".weak .func (.param .b32 r) pick() { .reg .b32 %a;\n"
                               "  mov.u32 %a, 9; st.param.b32 [r], %a; ret; }\n"
                               ".visible .entry pick_it(.param .u64 p) { .reg .b64 %p; .reg .b32 %a;\n"
                               "  { .param .b32 v; call (v), pick, (); ld.param.b32 %a, [v]; }\n"
                               "  ld.param.u64 %p, [p]; st.global.u32 [%p], %a; ret; }\n";
    static const char again[] = ".version 8.0\n.target sm_80\n.address_size 64\n.common .global .u32 room;\n";
    char text[2][800];
    snprintf(text[0], sizeof text[0], shared, "first", 10);
    snprintf(text[1], sizeof text[1], shared, "second", 100);
    char *ptx[] = {compile(text[0], true), compile(text[1], true), (char *)strong, (char *)weak, (char *)again},
         *late[] = {(char *)again, (char *)weak, (char *)strong};
    CUmodule m = linked(ptx, 5, false), other = linked(late, 3, false);
    CUdeviceptr x;
    int out = 1;
    OK(cuMemAlloc(&x, sizeof out));
    OK(cuMemcpyHtoD(x, &out, sizeof out));
    void *parameters[] = {&x};
    OK(cuLaunchKernel(function_of(m, "first"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuLaunchKernel(function_of(m, "second"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuLaunchKernel(function_of(m, "_Z4bothIiEvPT_"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(&out, x, sizeof out));
    CHECK_INT(out, (30 + 2) * 100 + 2);
    for (int i = 0; i < 2; i++) {
        OK(cuLaunchKernel(function_of(i ? other : m, "pick_it"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
        OK(cuMemcpyDtoH(&out, x, sizeof out));
        CHECK_INT(out, 5);
    }
    free(ptx[0]);
    free(ptx[1]);
    stop();
}

/* As with NVIDIA's linker, the texts need not agree on whether a function gives something. */
TEST(a_function_of_another_text_gives_nothing)
{
    start();
    const char *texts[][2] = {{"extern \"C\" __device__ int put(int *x);\n"
                               "extern \"C\" __global__ void run(int *x) { int y = put(x); x[1] = y == y; }\n",
                               "extern \"C\" __device__ void put(int *x) { *x = 7; }\n"},
                              {"extern \"C\" __device__ int put(int *x, int y);\n"
                               "extern \"C\" __global__ void run(int *x) { put(x, 1); }\n",
                               "extern \"C\" __device__ void put(int *x) { *x = 7; }\n"}};
    char *ptx[] = {compile(texts[0][0], true), compile(texts[0][1], true), compile(texts[1][0], true)};
    CUmodule m = linked(ptx, 2, false);
    CUdeviceptr x;
    CUlinkState link;
    void *cubin;
    int out[2] = {0};
    OK(cuMemAlloc(&x, sizeof out));
    void *parameters[] = {&x};
    OK(cuLaunchKernel(function_of(m, "run"), 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    CHECK_INT(out[0], 7);
    CHECK_INT(out[1], 1);
    OK(cuLinkCreate(0, NULL, NULL, &link));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx[2], strlen(ptx[2]), "caller", 0, NULL, NULL));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx[1], strlen(ptx[1]), "callee", 0, NULL, NULL));
    CHECK_INT(cuLinkComplete(link, &cubin, NULL), CUDA_ERROR_INVALID_PTX); /* their parameters differ */
    OK(cuLinkDestroy(link));
    for (int i = 0; i < 3; i++) free(ptx[i]);
    stop();
}

TEST(the_device_runtimes_barrier_of_the_grid)
{
    start();
    CUlinkState link;
    CUmodule m;
    CUdeviceptr x;
    void *cubin;
    int in[4] = {10, 11, 12, 13}, out[4];
    char *ptx = compile("extern \"C\" __device__ unsigned long long cudaCGGetIntrinsicHandle(cudaCGScope scope);\n"
                        "extern \"C\" __device__ cudaError_t cudaCGSynchronize(unsigned long long g, unsigned flags);\n"
                        "extern \"C\" __global__ void ring(volatile int *x) {\n"
                        "  for (int i = 0; i < 3; i++) {\n"
                        "    int v = x[(blockIdx.x + 1) % gridDim.x];\n"
                        "    cudaCGSynchronize(cudaCGGetIntrinsicHandle(cudaCGScopeGrid), 0);\n"
                        "    x[blockIdx.x] = v;\n"
                        "    cudaCGSynchronize(cudaCGGetIntrinsicHandle(cudaCGScopeGrid), 0);\n"
                        "  }\n"
                        "}\n",
                        true);
    OK(cuLinkCreate(0, NULL, NULL, &link));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, strlen(ptx), "ring", 0, NULL, NULL));
    for (int i = 0; i < 2; i++)
        OK(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, "!<arch>", 7, "lib/libcudadevrt.a", 0, NULL, NULL));
    CHECK_INT(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, "!<arch>", 7, "lib/libother.a", 0, NULL, NULL),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
    OK(cuLinkComplete(link, &cubin, NULL));
    OK(cuModuleLoadData(&m, cubin));
    OK(cuMemAlloc(&x, sizeof in));
    OK(cuMemcpyHtoD(x, in, sizeof in));
    void *parameters[] = {&x};
    OK(cuLaunchCooperativeKernel(function_of(m, "ring"), 4, 1, 1, 33, 1, 1, 0, NULL, parameters));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    for (int i = 0; i < 4; i++) CHECK_INT(out[i], in[(i + 3) % 4]);
    OK(cuLinkDestroy(link));
    free(ptx);
    stop();
}

TEST(what_the_linker_refuses)
{
    start();
    CUlinkState link;
    char *ptx = compile(caller, true), error[400] = "";
    void *cubin;
    size_t size;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {error, (void *)sizeof error};
    OK(cuLinkCreate(2, options, values, &link));
    CHECK_INT(cuLinkComplete(link, &cubin, &size), CUDA_ERROR_INVALID_VALUE); /* nothing to link */
    CHECK_INT(cuLinkAddData(link, CU_JIT_INPUT_PTX, NULL, 5, "", 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLinkAddData(link, CU_JIT_INPUT_OBJECT, ptx, 5, "some.o", 0, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_HAS(error, "some.o");
    CHECK_INT(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nowhere", 0, NULL, NULL), CUDA_ERROR_FILE_NOT_FOUND);
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, strlen(ptx), NULL, 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &cubin, &size) != CUDA_SUCCESS);
    CHECK_HAS(error, "shared_count");
    OK(cuLinkDestroy(link));
    CHECK_INT(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, 4, NULL, 0, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    free(ptx);
    stop();
}

/* ---- Libraries ---- */

TEST(libraries_need_no_context)
{
    CUlibrary library, of;
    CUkernel kernel, kernels[3];
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    size_t bytes, offset;
    unsigned count;
    const char *name;
    int value, n = 5;
    CHECK_INT(cuLibraryLoadData(&library, source, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    char *ptx = compile(source, false);
    OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "count"));
    CHECK_INT(cuLibraryGetKernel(&kernel, library, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryGetKernelCount(&count, library));
    CHECK_INT(count, 2);
    OK(cuLibraryEnumerateKernels(kernels, 2, library));
    OK(cuKernelGetName(&name, kernel));
    CHECK_STR(name, "count");
    OK(cuKernelGetLibrary(&of, kernel));
    CHECK(of == library);
    OK(cuKernelGetParamInfo(kernel, 0, &offset, &bytes));
    CHECK(offset == 0 && bytes == sizeof n);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000, kernel, 0));
    CHECK_INT(cuKernelGetFunction(&f, kernel), CUDA_ERROR_INVALID_CONTEXT);
    for (int i = 0; i < 2; i++) { /* it outlives a context */
        start();
        OK(cuKernelGetFunction(&f, kernel));
        OK(cuLibraryGetModule(&m, library));
        function_of(m, "scaled");
        OK(cuLibraryGetGlobal(&p, &bytes, library, "counter"));
        CHECK_INT(cuLibraryGetManaged(&p, &bytes, library, "counter"), CUDA_ERROR_NOT_FOUND);
        OK(cuLibraryGetGlobal(&p, &bytes, library, "counter"));
        void *parameters[] = {&n};
        OK(cuLaunchKernel(i ? f : (CUfunction)kernel, 1, 1, 1, 2, 1, 1, 0, NULL, parameters, NULL));
        OK(cuMemcpyDtoH(&value, p, sizeof value));
        CHECK_INT(value, 42 + 10 * (i + 1));
        stop();
    }
    OK(cuLibraryUnload(library));
    CHECK_INT(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuKernelGetName(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuLibraryLoadFromFile(&library, "/nowhere", NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_FILE_NOT_FOUND);
    free(ptx);
}
