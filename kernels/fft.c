/* Fourier transforms of any kind, by those of complex numbers with lengths of small primes. */
#include "kernels/fft.h"
#include <string.h>
#include "kernels/program.h"

static const char *const names[] = {"fft", "ifft", "rfft", "irfft"};

/* The array of a dtype whose axis has n elements: cut, or filled with zeros. */
static enum rt_status fit(const struct rt_array *a, int axis, int64_t n, enum rt_dtype t, struct rt_array *out,
                          struct rt_error *e)
{
    struct rt_array part = {0}, to = {0};
    int64_t shape[RT_MAX_DIMS], common = a->shape[axis] < n ? a->shape[axis] : n;
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] = n;
    enum rt_status status = rt_array_slice(a, axis, 0, common, 1, &part, e);
    if (status == RT_OK && common == n && a->dtype == t) {
        *out = part;
        return RT_OK;
    }
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), t, a->ndim, shape, out, e);
    if (status == RT_OK && common < n) status = kn_fill(out, &(struct kn_operand){.i = 0}, e);
    if (status == RT_OK) status = rt_array_slice(out, axis, 0, common, 1, &to, e);
    if (status == RT_OK) status = kn_copy(&to, &part, e);
    rt_array_release(&part);
    rt_array_release(&to);
    if (status != RT_OK) rt_array_release(out);
    return status;
}

static enum rt_status new_like(const struct rt_array *a, int axis, int64_t n, enum rt_dtype t, struct rt_array *out,
                               struct rt_error *e)
{
    int64_t shape[RT_MAX_DIMS];
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] = n;
    return rt_array_new(rt_array_device(a), t, a->ndim, shape, out, e);
}

static enum rt_status apply(enum kn_op op, const struct rt_array *a, const struct rt_array *b, struct rt_array *out,
                            struct rt_error *e)
{
    return kn_apply(op, (struct kn_operand[]){{.array = a}, {.array = b}}, out, e);
}

/* ---- lengths with large primes ---- */

/* The least length from n on that 2, 3 and 5 make, whose passes are the fastest. */
static int64_t smooth_from(int64_t n)
{
    for (;; n++) {
        int64_t rest = n;
        for (int p = 2; p <= 5; p++)
            while (rest % p == 0) rest /= p;
        if (rest == 1) return n;
    }
}

/* The chirps of kn_fft_chirps along an axis of arrays that broadcast to a's axes. */
static enum rt_status make_chirps(const struct rt_array *a, int axis, int64_t m, struct rt_array *chirp,
                                  struct rt_array *mirrored, struct rt_error *e)
{
    struct rt_array form = *a; /* borrowed, for its shape */
    for (int i = 0; i < a->ndim; i++) form.shape[i] = 1;
    enum rt_status status = new_like(&form, axis, a->shape[axis], a->dtype, chirp, e);
    if (status == RT_OK) status = new_like(&form, axis, m, a->dtype, mirrored, e);
    return status == RT_OK ? kn_fft_chirps(a->shape[axis], chirp, m, mirrored, e) : status;
}

/* Bluestein's: k j = (k^2 + j^2 - (k - j)^2) / 2 makes a transform a convolution, which shorter primes can do. */
static enum rt_status by_convolution(const struct rt_array *a, int axis, double scale, const struct rt_array *out,
                                     struct rt_error *e)
{
    int64_t n = a->shape[axis], m = smooth_from(2 * n - 1);
    struct rt_array chirp = {0}, mirrored = {0}, x = {0}, padded = {0}, y = {0}, part = {0};
    struct rt_array target = *out; /* borrowed */
    enum rt_status status = make_chirps(a, axis, m, &chirp, &mirrored, e);
    if (status == RT_OK) status = apply(KN_MUL, a, &chirp, &x, e);
    if (status == RT_OK) status = fit(&x, axis, m, a->dtype, &padded, e);
    rt_array_release(&x);
    if (status == RT_OK) status = new_like(a, axis, m, a->dtype, &y, e);
    if (status == RT_OK) status = kn_fft_complex(&padded, axis, false, 1, &y, e);
    if (status == RT_OK) status = new_like(&mirrored, axis, m, a->dtype, &x, e);
    if (status == RT_OK) status = kn_fft_complex(&mirrored, axis, false, 1, &x, e);
    if (status == RT_OK) status = apply(KN_MUL, &y, &x, &padded, e);
    if (status == RT_OK) status = kn_fft_complex(&padded, axis, true, scale / (double)m, &y, e);
    if (status == RT_OK) status = rt_array_slice(&y, axis, 0, n, 1, &part, e);
    if (status == RT_OK) status = apply(KN_MUL, &part, &chirp, &target, e);
    struct rt_array *const mine[] = {&chirp, &mirrored, &x, &padded, &y, &part};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) rt_array_release(mine[i]);
    return status;
}

/* The inverse of any is the conjugate of what the conjugate has. */
static enum rt_status inverse_by_convolution(const struct rt_array *a, int axis, double scale,
                                             const struct rt_array *out, struct rt_error *e)
{
    struct rt_array x = {0}, target = *out;
    enum rt_status status = apply(KN_CONJ, a, NULL, &x, e);
    if (status == RT_OK) status = by_convolution(&x, axis, scale, out, e);
    if (status == RT_OK) status = apply(KN_CONJ, out, NULL, &target, e);
    rt_array_release(&x);
    return status;
}

static enum rt_status transform(const struct rt_array *a, int axis, bool inverse, double scale,
                                const struct rt_array *out, struct rt_error *e)
{
    if (rt_array_size(out) == 0) return RT_OK;
    if (kn_fft_smooth(a->shape[axis])) return kn_fft_complex(a, axis, inverse, scale, out, e);
    return inverse ? inverse_by_convolution(a, axis, scale, out, e) : by_convolution(a, axis, scale, out, e);
}

static enum rt_status complex_to_complex(enum kn_fft kind, const struct rt_array *a, int axis, int64_t n, double scale,
                                         struct rt_array *out, struct rt_error *e)
{
    struct rt_array x = {0};
    enum rt_dtype t = rt_complex_of(a->dtype);
    enum rt_status status = fit(a, axis, n, t, &x, e);
    if (status == RT_OK) status = new_like(&x, axis, n, t, out, e);
    if (status == RT_OK) status = transform(&x, axis, kind == KN_IFFT, scale, out, e);
    rt_array_release(&x);
    return status;
}

/* ---- real numbers ---- */

/* The axis last, contiguous, of n elements. */
static enum rt_status prepare_rows(const struct rt_array *a, int axis, int64_t n, enum rt_dtype t, struct rt_array *out,
                                   struct rt_error *e)
{
    struct rt_array fitting = {0}, turned = {0};
    int axes[RT_MAX_DIMS], count = 0;
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) axes[count++] = i;
    axes[count] = axis;
    enum rt_status status = fit(a, axis, n, t, &fitting, e);
    if (status == RT_OK) status = rt_array_permute(&fitting, axes, &turned, e);
    if (status == RT_OK) status = kn_contiguous(&turned, out, e);
    rt_array_release(&fitting);
    rt_array_release(&turned);
    return status;
}

/* Puts the last axis back in its place, in a new contiguous array. */
static enum rt_status put_back(const struct rt_array *rows, int axis, struct rt_array *out, struct rt_error *e)
{
    struct rt_array turned = {0};
    int axes[RT_MAX_DIMS], next = 0;
    for (int i = 0; i < rows->ndim; i++) axes[i] = i == axis ? rows->ndim - 1 : next++;
    enum rt_status status = rt_array_permute(rows, axes, &turned, e);
    if (status == RT_OK) status = kn_contiguous(&turned, out, e);
    rt_array_release(&turned);
    return status;
}

/* Contiguous rows of real numbers as complex ones of half the length, or the other way round: a view. */
static void regard(const struct rt_array *rows, bool as_complex, struct rt_array *out)
{
    rt_array_share(rows, out);
    int last = rows->ndim - 1;
    out->dtype = as_complex ? rt_complex_of(rows->dtype) : rt_real_of(rows->dtype);
    out->offset = as_complex ? rows->offset / 2 : rows->offset * 2;
    out->shape[last] = as_complex ? rows->shape[last] / 2 : rows->shape[last] * 2;
    for (int i = 0; i < last; i++) out->strides[i] = as_complex ? rows->strides[i] / 2 : rows->strides[i] * 2;
}

static enum rt_status real_to_complex(const struct rt_array *a, int axis, int64_t n, double scale, struct rt_array *out,
                                      struct rt_error *e)
{
    struct rt_array rows = {0}, halves = {0}, mixed = {0}, result = {0};
    int last = a->ndim - 1;
    enum rt_dtype t = rt_real_of(rt_complex_of(a->dtype));
    if (n % 2) { /* the whole transform, of which the first half is kept */
        enum rt_status status = complex_to_complex(KN_FFT, a, axis, n, scale, &result, e);
        if (status == RT_OK) status = fit(&result, axis, n / 2 + 1, result.dtype, &rows, e);
        if (status == RT_OK) status = kn_contiguous(&rows, out, e);
        rt_array_release(&rows);
        rt_array_release(&result);
        return status;
    }
    enum rt_status status = prepare_rows(a, axis, n, t, &rows, e);
    if (status == RT_OK && rows.offset % 2) { /* complex numbers are at even places */
        struct rt_array copy;
        status = kn_convert(&rows, t, rt_array_device(&rows), &copy, e);
        rt_array_release(&rows);
        if (status == RT_OK) rows = copy;
    }
    if (status == RT_OK) regard(&rows, true, &halves);
    if (status == RT_OK) status = new_like(&halves, last, n / 2, halves.dtype, &mixed, e);
    if (status == RT_OK) status = transform(&halves, last, false, 1, &mixed, e);
    if (status == RT_OK) status = new_like(&halves, last, n / 2 + 1, halves.dtype, &result, e);
    if (status == RT_OK && rt_array_size(&result) > 0) status = kn_fft_unpack(KN_RFFT, &mixed, scale, &result, e);
    if (status == RT_OK) status = put_back(&result, axis, out, e);
    struct rt_array *const mine[] = {&rows, &halves, &mixed, &result};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) rt_array_release(mine[i]);
    return status;
}

/* Of an odd length: the second half is the first one's conjugate, backwards. */
static enum rt_status odd_to_real(const struct rt_array *a, int axis, int64_t n, double scale, struct rt_array *out,
                                  struct rt_error *e)
{
    struct rt_array given = {0}, whole = {0}, half = {0}, first = {0}, to = {0}, result = {0}, part = {0};
    enum rt_dtype t = rt_complex_of(a->dtype);
    int64_t h = n / 2;
    enum rt_status status = fit(a, axis, h + 1, t, &given, e);
    if (status == RT_OK) status = new_like(a, axis, n, t, &whole, e);
    if (status == RT_OK) status = rt_array_slice(&whole, axis, 0, h + 1, 1, &first, e);
    if (status == RT_OK) status = kn_copy(&first, &given, e);
    rt_array_release(&first);
    if (status == RT_OK) status = rt_array_slice(&whole, axis, 0, 1, 1, &first, e);
    if (status == RT_OK) { /* what must be real */
        rt_array_part(&first, true, &to);
        status = kn_fill(&to, &(struct kn_operand){.i = 0}, e);
        rt_array_release(&to);
    }
    if (status == RT_OK && h > 0) {
        status = rt_array_slice(&given, axis, h, h, -1, &half, e);
        if (status == RT_OK) status = rt_array_slice(&whole, axis, h + 1, h, 1, &to, e);
        if (status == RT_OK) status = apply(KN_CONJ, &half, NULL, &to, e);
    }
    if (status == RT_OK) status = complex_to_complex(KN_IFFT, &whole, axis, n, scale, &result, e);
    if (status == RT_OK) rt_array_part(&result, false, &part);
    if (status == RT_OK) status = kn_contiguous(&part, out, e);
    struct rt_array *const mine[] = {&given, &whole, &half, &first, &to, &result, &part};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) rt_array_release(mine[i]);
    return status;
}

static enum rt_status complex_to_real(const struct rt_array *a, int axis, int64_t n, double scale, struct rt_array *out,
                                      struct rt_error *e)
{
    struct rt_array rows = {0}, mixed = {0}, halves = {0}, result = {0};
    int last = a->ndim - 1;
    if (n % 2) return odd_to_real(a, axis, n, scale, out, e);
    enum rt_status status = prepare_rows(a, axis, n / 2 + 1, rt_complex_of(a->dtype), &rows, e);
    if (status == RT_OK) status = new_like(&rows, last, n / 2, rows.dtype, &mixed, e);
    if (status == RT_OK && rt_array_size(&mixed) > 0) status = kn_fft_unpack(KN_IRFFT, &rows, scale, &mixed, e);
    if (status == RT_OK) status = new_like(&rows, last, n / 2, rows.dtype, &halves, e);
    if (status == RT_OK) status = transform(&mixed, last, true, 1, &halves, e);
    if (status == RT_OK) regard(&halves, false, &result);
    if (status == RT_OK) status = put_back(&result, axis, out, e);
    struct rt_array *const mine[] = {&rows, &mixed, &halves, &result};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) rt_array_release(mine[i]);
    return status;
}

/* ---- devices ---- */
static enum rt_status on_cuda(enum kn_fft kind, const struct rt_array *a, int axis, int64_t n, double scale,
                              struct rt_array *out, struct rt_error *e)
{
    struct rt_array rows = {0}, mine = {0}, result = {0};
    enum rt_dtype t = rt_complex_of(a->dtype);
    int64_t half = n / 2 + 1;
    struct kn_operand factors[2] = {{.array = &result}, {.is_float = true, .f = scale}};
    enum rt_status status =
        prepare_rows(a, axis, kind == KN_IRFFT ? half : n, kind == KN_RFFT ? rt_real_of(t) : t, &rows, e);
    if (status == RT_OK && kind == KN_IRFFT) /* which writes to its input */
        status = kn_convert(&rows, rows.dtype, rt_array_device(a), &mine, e);
    else if (status == RT_OK)
        rt_array_share(&rows, &mine);
    if (status == RT_OK)
        status = new_like(&rows, rows.ndim - 1, kind == KN_RFFT ? half : n, kind == KN_IRFFT ? rt_real_of(t) : t,
                          &result, e);
    if (status == RT_OK && rt_array_size(&result) > 0) status = kn_fft_cuda(kind, &mine, n, &result, e);
    if (status == RT_OK && scale != 1) status = kn_apply(KN_MUL, factors, &result, e);
    if (status == RT_OK) status = put_back(&result, axis, out, e);
    rt_array_release(&rows);
    rt_array_release(&mine);
    rt_array_release(&result);
    return status;
}

static enum rt_status on_host(enum kn_fft kind, const struct rt_array *a, int axis, int64_t n, double scale,
                              struct rt_array *out, struct rt_error *e)
{
    switch (kind) {
    case KN_RFFT: return real_to_complex(a, axis, n, scale, out, e);
    case KN_IRFFT: return complex_to_real(a, axis, n, scale, out, e);
    default: return complex_to_complex(kind, a, axis, n, scale, out, e);
    }
}

/* Also for arrays that the host can't reach, by copies. */
static enum rt_status by_host(enum kn_fft kind, const struct rt_array *a, int axis, int64_t n, double scale,
                              struct rt_array *out, struct rt_error *e)
{
    struct rt_array here = {0}, result = {0};
    struct rt_device *d = rt_array_device(a);
    if (!kn_runs_generated(d)) return on_host(kind, a, axis, n, scale, out, e);
    struct rt_device *cpu = rt_device_open("cpu", e);
    if (!cpu) return RT_DEVICE;
    enum rt_status status = kn_convert(a, a->dtype, cpu, &here, e);
    if (status == RT_OK) status = on_host(kind, &here, axis, n, scale, &result, e);
    if (status == RT_OK) status = kn_convert(&result, result.dtype, d, out, e);
    rt_array_release(&here);
    rt_array_release(&result);
    return status;
}

enum rt_status kn_fft(enum kn_fft kind, const struct rt_array *a, int axis, int64_t n, double scale,
                      struct rt_array *out, struct rt_error *e)
{
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(a, e);
    if (status != RT_OK) return status;
    if (axis < 0 || axis >= a->ndim)
        return rt_fail(e, RT_INVALID, "%s: there is no axis %d, the array has %d", names[kind], axis + 1, a->ndim);
    if (n < 1 || n > INT64_MAX / 64)
        return rt_fail(e, RT_INVALID, "%s: a transform has 1 element or more, not %lld", names[kind], (long long)n);
    if (kind == KN_RFFT && rt_is_complex(a->dtype))
        return rt_fail(e, RT_INVALID, "rfft transforms real numbers, not %s; fft takes them, or x.real",
                       rt_dtypes[a->dtype].name);
    struct rt_device *d = rt_array_device(a);
    status = d->kind == RT_CUDA && kn_fft_has_cuda() ? on_cuda(kind, a, axis, n, scale, out, e) : RT_UNSUPPORTED;
    if (status == RT_UNSUPPORTED) {
        rt_error_clear(e);
        status = by_host(kind, a, axis, n, scale, out, e);
    }
    if (status != RT_OK) rt_array_release(out);
    return status;
}
