/* Calls that are wrong get the codes that the driver's documentation has for them, and do nothing. */
#include <pthread.h>
#include <unistd.h>
#include "tests/driver/program.h"

#define HEAD       ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BODY(text) HEAD ".visible .entry k() {\n" text "\n  ret;\n}\n"

static CUresult load_text(const char *text, char *why, size_t size)
{
    CUmodule m;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {why, (void *)size};
    CUresult r = cuModuleLoadDataEx(&m, text, 2, options, values);
    if (r == CUDA_SUCCESS) OK(cuModuleUnload(m));
    return r;
}

TEST(texts_that_are_not_ptx)
{
    char why[400];
    const struct {
        const char *text;
        CUresult code;
        const char *why;
    } rows[] = {
        {".version 99.0\n.target sm_80\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "PTX 99.0 is newer"},
        {".version 0.1\n.target sm_80\n", CUDA_ERROR_INVALID_PTX, "a version of PTX"},
        {".target sm_80\n", CUDA_ERROR_INVALID_PTX, "expected '.version'"},
        {".version 8.0\n.target bogus\n", CUDA_ERROR_INVALID_PTX, "a target such as sm_80, got 'bogus'"},
        {".version 8.0\n.target sm_\n", CUDA_ERROR_INVALID_PTX, "a target"},
        {".version 8.0\n.target sm_8x\n", CUDA_ERROR_INVALID_PTX, "a target"},
        {BODY("frobnicate.b32;"), CUDA_ERROR_INVALID_PTX, "PTX has no instruction frobnicate"},
        {BODY(".reg .b32 %r; .reg .pred %p; istypep.texref %p, %r;"), CUDA_ERROR_NOT_SUPPORTED, "istypep.texref"},
        {BODY("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"), CUDA_ERROR_NOT_SUPPORTED, "tcgen05"},
        {HEAD, CUDA_SUCCESS, ""},
        {".version 9.3\n.target sm_120f\n", CUDA_SUCCESS, ""},
        {".version 1.4\n.target sm_13, map_f64_to_f32\n", CUDA_SUCCESS, ""},
        {".version 8.0\n.target sm_90a, debug\n", CUDA_SUCCESS, ""},
    };
    start();
    for (size_t i = 0; i < COUNT(rows); i++) {
        CUresult r = load_text(rows[i].text, why, sizeof why);
        if (r != rows[i].code || !strstr(why, rows[i].why)) FAIL("%d, %s, of %s", r, why, rows[i].text);
    }
    stop();
}

/* "Operand Type Checking" in the PTX ISA. */
TEST(operands_have_the_type_of_the_instruction)
{
    static const char declarations[] = HEAD ".visible .entry k() {\n"
                                            "  .reg .pred %p;\n  .reg .b16 %h<3>;\n  .reg .u16 %uh<3>;\n"
                                            "  .reg .b32 %r<4>;\n  .reg .s32 %s<3>;\n  .reg .u32 %u<3>;\n"
                                            "  .reg .f32 %f<4>;\n  .reg .b64 %b<3>;\n  .reg .s64 %l<3>;\n"
                                            "  .reg .f64 %d<3>;\n  .reg .f16x2 %hh<3>;\n";
    static const char *const good[] = {
        "add.s32 %r1, %s1, %u1",
        "add.f32 %f1, %r1, %f2",
        "and.b32 %f1, %f2, %s1",
        "add.u64 %b1, %l1, 4",
        "fma.rn.f64 %d1, %b1, %d2, %d1",
        "mul.wide.s32 %l1, %s1, %r1",
        "mad.wide.u16 %u1, %uh1, %h1, %r1",
        "cvt.u16.u32 %r1, %s1",
        "shl.b64 %l1, %b1, %r1",
        "setp.lt.s32 %p, %u1, %r1",
        "selp.b32 %f1, %f2, %r1, %p",
        "add.f16x2 %s1, %r1, %hh1",
        "add.f16 %h1, %h2, %h1",
        "mov.b32 %r1, %f1",
        "popc.b64 %r1, %l1",
        "mov.b64 %d1, {%r1, %f1}",
        "ld.const.f32 %f1, [%b1]",
        "mov.u32 %s1, %tid.x",
    };
    static const char *const bad[] = {
        "add.s32 %f1, %f2, %f3",
        "add.s32 %r1, %f2, 1",
        "add.f32 %f1, %s1, %f2",
        "add.s32 %h1, %h2, 1",
        "fma.rn.f64 %d1, %l1, %d2, %d1",
        "setp.lt.u32 %p, %f1, 0",
        "selp.f32 %f1, %s1, %f2, %p",
        "mov.u32 %f1, 0",
        "and.b16 %r1, %r2, %r3",
        "mul.lo.s64 %d1, %b1, %b2",
        "neg.f32 %f1, %u1",
        "add.f16 %uh1, %h1, %h1",
    };
    char text[1000], why[400];
    start();
    for (size_t i = 0; i < COUNT(good); i++) {
        snprintf(text, sizeof text, "%s  %s;\n  ret;\n}\n", declarations, good[i]);
        if (load_text(text, why, sizeof why) != CUDA_SUCCESS) FAIL("%s: %s", good[i], why);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(text, sizeof text, "%s  %s;\n  ret;\n}\n", declarations, bad[i]);
        CUresult r = load_text(text, why, sizeof why);
        if (r != CUDA_ERROR_INVALID_PTX || !strstr(why, "does not agree with")) FAIL("%s: %d, %s", bad[i], r, why);
    }
    stop();
}

static CUresult launch(CUfunction f, unsigned x, unsigned y, CUstream s)
{
    return cuLaunchKernel(f, 1, 1, 1, x, y, 1, 0, s, NULL, NULL);
}

TEST(blocks_of_the_size_that_a_kernel_requires)
{
    static const char text[] = HEAD ".visible .entry one() .reqntid 64 { ret; }\n"
                                    ".visible .entry two() .reqntid 8, 4, 1 { ret; }\n";
    CUmodule m;
    int most;
    start();
    OK(cuModuleLoadData(&m, text));
    CUfunction one = function_of(m, "one"), two = function_of(m, "two");
    CHECK_INT(launch(one, 32, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(launch(one, 128, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(launch(one, 64, 1, NULL));
    CHECK_INT(launch(two, 4, 8, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(launch(two, 8, 4, NULL));
    OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, two));
    CHECK_INT(most, 32);
    stop();
}

TEST(objects_of_another_context)
{
    static const char text[] = HEAD ".visible .entry k() { ret; }\n";
    CUcontext a, b, now;
    CUmodule m;
    CUlibrary library;
    CUkernel kernel;
    CUstream of_a, of_b;
    CUevent event;
    OK(cuInit(0));
    OK(cuCtxCreate(&a, NULL, 0, 0));
    OK(cuModuleLoadData(&m, text));
    OK(cuStreamCreate(&of_a, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "k"));
    CUfunction f = function_of(m, "k");
    OK(launch(f, 1, 1, of_a));
    OK(cuCtxCreate(&b, NULL, 0, 0));
    OK(cuStreamCreate(&of_b, 0));
    CHECK_INT(launch(f, 1, 1, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(launch(f, 1, 1, of_a), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(launch(f, 1, 1, of_b), CUDA_ERROR_INVALID_HANDLE);
    OK(launch((CUfunction)kernel, 1, 1, of_a)); /* one of a library runs in the stream's context */
    OK(launch((CUfunction)kernel, 1, 1, of_b));
    CHECK_INT(cuEventRecord(event, of_b), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(event, of_a));
    OK(cuStreamWaitEvent(of_b, event, 0)); /* these may be of any */
    OK(cuEventSynchronize(event));
    OK(cuStreamSynchronize(of_a));
    OK(cuCtxPopCurrent(&now));
    CHECK_INT(launch(f, 1, 1, of_b), CUDA_ERROR_INVALID_HANDLE);
    OK(launch(f, 1, 1, of_a));
    OK(cuLibraryUnload(library));
    OK(cuCtxDestroy(b));
    OK(cuCtxDestroy(a));
}

/* What a graph would not have of a capture, and where that is said to be no matter. */
struct unsafe {
    CUstream other;
    CUevent event;
    CUdeviceptr memory;
    void *pinned;
};

static void forbidden(const struct unsafe *u)
{
    CUdeviceptr p;
    void *host;
    size_t pitch;
    const CUresult results[] = {cuMemAlloc(&p, 4),
                                cuMemAllocPitch(&p, &pitch, 4, 4, 4),
                                cuMemAllocManaged(&p, 4, CU_MEM_ATTACH_GLOBAL),
                                cuMemAllocHost(&host, 4),
                                cuMemFree(u->memory),
                                cuMemFreeHost(u->pinned),
                                cuStreamSynchronize(u->other),
                                cuStreamQuery(u->other),
                                cuEventQuery(u->event),
                                cuEventSynchronize(u->event)};
    for (size_t i = 0; i < COUNT(results); i++)
        if (results[i] != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) FAIL("call %zu: %d", i, results[i]);
}

static void allowed(const struct unsafe *u)
{
    CUdeviceptr p;
    void *host;
    OK(cuMemAlloc(&p, 4));
    OK(cuMemFree(p));
    OK(cuMemAllocHost(&host, 4));
    OK(cuMemFreeHost(host));
    OK(cuStreamSynchronize(u->other));
    OK(cuStreamQuery(u->other));
    OK(cuEventQuery(u->event));
    OK(cuMemFree(0));
}

static void *in_another_thread(void *unsafe)
{
    CUcontext c;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    allowed(unsafe);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    forbidden(unsafe);
    OK(cuDevicePrimaryCtxRelease(0));
    return NULL;
}

static void *in_a_thread_beside(void *unsafe)
{
    CUcontext c;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    allowed(unsafe);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    allowed(unsafe);
    OK(cuDevicePrimaryCtxRelease(0));
    return NULL;
}

static void run_thread(void *(*run)(void *), struct unsafe *u)
{
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, run, u), 0);
    pthread_join(thread, NULL);
}

static void end_capture(CUstream s, CUresult expected)
{
    CUgraph g;
    CHECK_INT(cuStreamEndCapture(s, &g), expected);
    if (expected == CUDA_SUCCESS) OK(cuGraphDestroy(g));
}

TEST(what_is_unsafe_while_a_stream_is_captured)
{
    struct unsafe u;
    CUstream s;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext c = start(), apart;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&u.other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&u.event, 0));
    OK(cuEventRecord(u.event, u.other));
    OK(cuMemAlloc(&u.memory, 4));
    OK(cuMemAllocHost(&u.pinned, 4));

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    forbidden(&u);
    end_capture(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    run_thread(in_another_thread, &u);
    end_capture(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    run_thread(in_a_thread_beside, &u);
    end_capture(s, CUDA_SUCCESS);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    forbidden(&u);
    end_capture(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    allowed(&u);
    end_capture(s, CUDA_SUCCESS);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    allowed(&u);
    end_capture(s, CUDA_SUCCESS);

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED)); /* what waits for all streams never may */
    CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_capture(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED)); /* but for those of its own context */
    OK(cuCtxCreate(&apart, NULL, 0, 0));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy(apart));
    OK(cuCtxSetCurrent(c));
    end_capture(s, CUDA_SUCCESS);
    OK(cuMemFree(u.memory));
    OK(cuMemFreeHost(u.pinned));
    stop();
}

/* A program that keeps no log of the compiler's hears only a number; its user is told, once. */
TEST(what_is_lacking_is_told_on_the_error_output)
{
    char text[1000] = "";
    CUmodule m;
    CUfunction f;
    CUresult results[3];
    start();
    char *ptx = compile("extern \"C\" __global__ void child(int *x) { *x = 1; }\n"
                        "extern \"C\" __global__ void parent(int *x) { child<<<1, 1>>>(x); }\n",
                        true);
    int saved = dup(2);
    FILE *out = tmpfile();
    CHECK(out && saved >= 0 && dup2(fileno(out), 2) == 2);
    results[0] = cuModuleLoadData(&m, "nonsense"); /* whose fault it is, is known by the number */
    results[1] = cuModuleLoadData(&m, ptx);
    results[2] = CUDA_SUCCESS;
    for (int i = 0; i < 2 && results[1] == CUDA_SUCCESS; i++) results[2] = cuModuleGetFunction(&f, m, "parent");
    dup2(saved, 2);
    rewind(out);
    CHECK(fread(text, 1, sizeof text - 1, out) > 0);
    fclose(out);
    CHECK_INT(results[0], CUDA_ERROR_INVALID_PTX);
    OK(results[1]);
    CHECK_INT(results[2], CUDA_ERROR_NOT_SUPPORTED);
    CHECK_HAS(text, "lunarray: ");
    CHECK_HAS(text, "dynamic parallelism");
    CHECK(strchr(text, '\n') == text + strlen(text) - 1);
    free(ptx);
    stop();
}

TEST(the_linker_reads_what_it_is_given)
{
    CUlinkState link;
    char why[400] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {why, (void *)sizeof why}, *cubin;
    char wrong[] = HEAD "nonsense;\n", newer[] = ".version 77.0\n", good[] = HEAD ".visible .entry k() { ret; }\n";
    start();
    OK(cuLinkCreate(2, options, values, &link));
    CHECK_INT(cuLinkAddData(link, CU_JIT_INPUT_PTX, wrong, sizeof wrong, "a.ptx", 0, NULL, NULL),
              CUDA_ERROR_INVALID_PTX);
    CHECK_HAS(why, "a.ptx: line 4");
    CHECK_INT(cuLinkAddData(link, CU_JIT_INPUT_PTX, newer, sizeof newer, "b.ptx", 0, NULL, NULL),
              CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, good, sizeof good, "c.ptx", 0, NULL, NULL));
    OK(cuLinkComplete(link, &cubin, NULL));
    OK(cuLinkDestroy(link));
    stop();
}

TEST(arguments_that_nothing_takes)
{
    static const char text[] = HEAD ".visible .entry k() { ret; }\n";
    CUcontext c = start();
    CUmodule m;
    CUdeviceptr p, managed, range;
    CUstream s;
    CUevent e;
    CUgraph g;
    CUgraphNode node;
    CUmemGenericAllocationHandle memory;
    size_t piece = 2 << 20, size = 0;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, .flags = 2};
    CUDA_MEMCPY3D copy = {.srcMemoryType = 7, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .Height = 1, .Depth = 1};
    OK(cuModuleLoadData(&m, text));
    OK(cuStreamCreate(&s, 0));
    OK(cuMemAlloc(&p, 64));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    CUfunction f = function_of(m, "k");
    void *none[] = {NULL}, *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CHECK_INT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, none, extra), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, none, NULL));
    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuEventDestroy(e));
    CHECK_INT(cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuEventCreate(&e, 8), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&e, 0));
    CHECK_INT(cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamAttachMemAsync(s, managed, 64, CU_MEM_ATTACH_SINGLE));
    OK(cuGraphCreate(&g, 0));
    CHECK_INT(cuGraphAddMemcpyNode(&node, g, NULL, 0, &copy, c), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(g));
    OK(cuMemCreate(&memory, piece, &properties, 0));
    OK(cuMemAddressReserve(&range, piece, 0, 0, 0));
    OK(cuMemMap(range, piece, 0, memory, 0));
    CHECK_INT(cuMemSetAccess(range, piece, &access, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(range, piece));
    OK(cuMemAddressFree(range, piece));
    OK(cuMemRelease(memory));
    stop();
}
