/* Fourier transforms by cuFFT, to its documented interface (the numbers are those of cufft.h). */
#include "kernels/fft.h"
#include "runtime/library.h"

enum { R2C = 0x2a, C2R = 0x2c, C2C = 0x29, D2Z = 0x6a, Z2D = 0x6c, Z2Z = 0x69, FORWARD = -1, INVERSE = 1 };
typedef int plan_many(int *plan, int rank, int *n, int *in_embed, int in_stride, int in_distance, int *out_embed,
                      int out_stride, int out_distance, int type, int batch);
typedef int set_stream(int plan, CUstream stream);
typedef int exec_complex(int plan, void *in, void *out, int direction);
typedef int exec_real(int plan, void *in, void *out);
typedef int destroy_plan(int plan);

/* What a kind of transform is called in each precision. */
static const struct call {
    int type[2];
    const char *exec[2];
} calls[] = {
    [KN_FFT] = {{C2C, Z2Z}, {"cufftExecC2C", "cufftExecZ2Z"}},
    [KN_IFFT] = {{C2C, Z2Z}, {"cufftExecC2C", "cufftExecZ2Z"}},
    [KN_RFFT] = {{R2C, D2Z}, {"cufftExecR2C", "cufftExecD2Z"}},
    [KN_IRFFT] = {{C2R, Z2D}, {"cufftExecC2R", "cufftExecZ2D"}},
};

bool kn_fft_has_cuda(void)
{
    return rt_library_find(RT_LIB_CUFFT)->path != NULL;
}

static enum rt_status check(int result, const char *what, struct rt_error *e)
{
    return result == 0 ? RT_OK : rt_fail(e, RT_DEVICE, "cuFFT: %s failed with its error %d", what, result);
}

static void *device_pointer(const struct rt_array *a)
{
    return (void *)(uintptr_t)rt_array_address(a); /* an address on the device, which the host only passes on */
}

enum rt_status kn_fft_cuda(enum kn_fft kind, const struct rt_array *rows, int64_t n, const struct rt_array *out,
                           struct rt_error *e)
{
    struct rt_device *d = rt_array_device(rows);
    bool wide = rt_real_of(rows->dtype) == RT_FLOAT64;
    int64_t length = rows->shape[rows->ndim - 1], out_length = out->shape[out->ndim - 1];
    int64_t batch = rt_array_size(rows) / length;
    int plan, size = (int)n;
    if (d->recording) return RT_UNSUPPORTED; /* what cuFFT launches would run, and be no part of the graph */
    if (n > INT32_MAX || batch > INT32_MAX) return RT_UNSUPPORTED;
    const struct rt_library *l = rt_library_open(RT_LIB_CUFFT, e);
    if (!l) return RT_MISSING;
    plan_many *make = (plan_many *)rt_library_symbol(l, "cufftPlanMany", e);
    set_stream *stream = (set_stream *)rt_library_symbol(l, "cufftSetStream", e);
    destroy_plan *destroy = (destroy_plan *)rt_library_symbol(l, "cufftDestroy", e);
    void *exec = rt_library_symbol(l, calls[kind].exec[wide], e);
    if (!make || !stream || !destroy || !exec) return RT_MISSING;
    enum rt_status status = rt_device_enter(d, e);
    if (status != RT_OK) return status;
    /* Without embedding the rows follow each other. */
    int type = calls[kind].type[wide];
    if (make(&plan, 1, &size, NULL, 1, (int)length, NULL, 1, (int)out_length, type, (int)batch) != 0)
        return RT_UNSUPPORTED;
    status = check(stream(plan, d->stream), "cufftSetStream", e);
    if (status == RT_OK && (kind == KN_FFT || kind == KN_IFFT))
        status = check(
            ((exec_complex *)exec)(plan, device_pointer(rows), device_pointer(out), kind == KN_FFT ? FORWARD : INVERSE),
            calls[kind].exec[wide], e);
    else if (status == RT_OK)
        status = check(((exec_real *)exec)(plan, device_pointer(rows), device_pointer(out)), calls[kind].exec[wide], e);
    enum rt_status destroyed = check(destroy(plan), "cufftDestroy", status == RT_OK ? e : NULL);
    return status == RT_OK ? destroyed : status;
}
