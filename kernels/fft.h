/* Discrete Fourier transforms. Debian has no permissive library for them in both precisions, so they are computed here,
 * by the vector loops of loops_fft.c: Stockham's passes of radix 2, 3, 4, 5 and small primes over many transforms at
 * once, long ones as a matrix of short ones (four steps), lengths with larger primes by Bluestein's convolution. */
#ifndef KN_FFT_H
#define KN_FFT_H

#include "kernels/kernels.h"

enum kn_fft { KN_FFT, KN_IFFT, KN_RFFT, KN_IRFFT };

/* *out = the transform of length n along an axis (from 0), each element times `scale`; a new array. The axis is cut or
 * filled with zeros at its end. KN_RFFT gives the n / 2 + 1 first elements of the transform of real numbers, KN_IRFFT
 * makes n real numbers of those (the imaginary parts of what must be real are not looked at). Computed in float32 for
 * what float32 or complex64 holds (all but float64, complex128 and 64-bit integers), else in float64. */
enum rt_status kn_fft(enum kn_fft kind, const struct rt_array *a, int axis, int64_t n, double scale,
                      struct rt_array *out, struct rt_error *e);

/* ---- for the files of fft ---- */

/* A GPU's transforms are cuFFT's, where there is that library; else the host computes them, too. */
bool kn_fft_has_cuda(void);
/* out = the transforms of length n of rows; both contiguous, not scaled. Rows of KN_IRFFT are written to as well.
 * RT_UNSUPPORTED, without a message, where cuFFT has no plan for them. */
enum rt_status kn_fft_cuda(enum kn_fft kind, const struct rt_array *rows, int64_t n, const struct rt_array *out,
                           struct rt_error *e);

#define KN_FFT_LANES  16 /* transforms at once, of float32; half as many of float64 */
#define KN_FFT_PASSES 64

/* Transforms of one length whose prime factors are small. */
struct kn_fft_plan {
    int64_t n;
    int passes, radix[KN_FFT_PASSES];
    /* float or double: for each pass of radix r the r roots of unity as pairs and then, for each step p of it, the real
     * and the imaginary parts of w^(p k) for k from 0 to r - 1. With `unpacks` there are no passes, but the roots of
     * kn_fft_unpacking for h = n / 2. */
    void *roots;
    /* For fft_plan.c: */
    enum rt_dtype dtype;
    bool unpacks, kept;
    size_t bytes;
    int users;
    uint64_t used;
};
/* The plan of a length, for one of the two, which kn_fft_plan_done (of NULL, too) takes back. */
enum rt_status kn_fft_plan_of(int64_t n, enum rt_dtype t, bool unpacks, const struct kn_fft_plan **out,
                              struct rt_error *e);
void kn_fft_plan_done(const struct kn_fft_plan *plan);

/* Up to KN_FFT_LANES transforms. Offsets and steps count complex numbers. */
struct kn_fft_group {
    const struct kn_fft_plan *plan;
    const void *in;
    void *out;
    int64_t in_at[KN_FFT_LANES], out_at[KN_FFT_LANES]; /* the first elements */
    int64_t in_step, out_step;
    int lanes;
    bool swap_in, swap_out; /* real with imaginary parts: with both this is the inverse transform */
    double scale;
    void *scratch; /* of 4 * n * (lanes at once) numbers of the type */
    /* NULL, or what the results are multiplied by: element i of each lane by coarse[i / fine] * fine[i % fine], which
     * lie as blocks of lanes' real parts and then imaginary parts. */
    const void *turn_fine, *turn_coarse;
    int64_t fine;
};
/* Rows number first to last - 1 of kn_fft_unpack; roots: h / 2 + 1 pairs of the type. */
struct kn_fft_unpacking {
    enum rt_dtype dtype;
    bool forward;
    double scale;
    int64_t h, first, last;
    const void *roots, *from;
    void *to;
};
struct kn_fft_loops {
    void (*f32)(const struct kn_fft_group *g);
    void (*f64)(const struct kn_fft_group *g);
    void (*unpack_f32)(const struct kn_fft_unpacking *u);
    void (*unpack_f64)(const struct kn_fft_unpacking *u);
};
extern const struct kn_fft_loops kn_fft_base;
#if defined __x86_64__
extern const struct kn_fft_loops kn_fft_v3, kn_fft_v4;
#endif

/* A length whose prime factors are all small, so that kn_fft_complex takes it. */
bool kn_fft_smooth(int64_t n);
/* out = the transforms of `a`, both complex of one dtype on the host, along the axis; out's length along it is n. */
enum rt_status kn_fft_complex(const struct rt_array *a, int axis, bool inverse, double scale,
                              const struct rt_array *out, struct rt_error *e);
/* Rows of h + 1 complex numbers, the transforms of rows of 2 h real ones, from (KN_RFFT) those of h complex numbers,
 * which have the even elements as real parts, or (KN_IRFFT) the other way round. Contiguous, of one dtype; the last
 * axis. */
enum rt_status kn_fft_unpack(enum kn_fft kind, const struct rt_array *from, double scale, const struct rt_array *to,
                             struct rt_error *e);
/* chirp[k] = exp(-pi i k^2 / n), n elements, and what a convolution of length m takes of it: its conjugate at k and -k.
 */
enum rt_status kn_fft_chirps(int64_t n, const struct rt_array *chirp, int64_t m, const struct rt_array *mirrored,
                             struct rt_error *e);
/* exp(-2 pi i k / n), to the last bit or two, for k in [0, n), from tables of sqrt(n) entries. */
struct kn_roots {
    int64_t n, step;
    struct rt_complex *coarse, *fine; /* one block, which `coarse` begins */
};
enum rt_status kn_roots_make(int64_t n, struct kn_roots *out, struct rt_error *e);
void kn_roots_free(struct kn_roots *r);
static inline struct rt_complex kn_root(const struct kn_roots *r, int64_t k)
{
    struct rt_complex a = r->coarse[k / r->step], b = r->fine[k % r->step];
    return (struct rt_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Places on a circle of so many steps, from 0 to the circle: exp(-2 pi i (first + k step) / circle) or, `back`, the
 * conjugates, for k from 0 on. */
struct kn_turns {
    int64_t circle, first, step, count;
    bool back;
};
/* These as numbers of a complex dtype, times `by`. */
enum rt_status kn_fft_turns(const struct kn_turns *turns, struct rt_complex by, enum rt_dtype t, void *to,
                            struct rt_error *e);

/* Bytes of the real part of a complex dtype. */
static inline size_t kn_real_size(enum rt_dtype t)
{
    return rt_dtypes[t].size / 2;
}

/* One of the real numbers that those of a complex dtype consist of. */
static inline void kn_put_real(enum rt_dtype t, void *to, int64_t i, double v)
{
    if (t == RT_COMPLEX64)
        ((float *)to)[i] = (float)v;
    else
        ((double *)to)[i] = v;
}

#endif
