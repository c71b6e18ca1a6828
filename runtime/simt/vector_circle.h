/* sin.approx and cos.approx: in doubles, without branches, right to the last place of a float but for rare roundings,
 * and the same bits with every instruction set. Angles of FAR and more are the C library's. Part of vector_ops.h.
 *
 * A quarter of a circle is cut in two, of which a whole number below 2^20 times the first is exact; the polynomials are
 * Taylor's, whose next terms are below 2^-33 in the eighth of a circle to either side that is left. */
#define FAR 0x1p20f

/* The sine of `quarters` quarters of a circle more than x. */
static inline __attribute__((always_inline)) float sine_of(float x, uint64_t quarters)
{
    const double shift = 0x1.8p52; /* to a whole number in the low bits */
    double t = (double)x * 0x1.45f306dc9c883p-1 + shift, n = t - shift;
    double r = (double)x - n * 0x1.921fb544p0 - n * 0x1.0b4611a626331p-34, s = r * r;
    uint64_t q = to_bits(t) + quarters;
    double odd = -1.0 / 6 + s * (1.0 / 120 + s * (-1.0 / 5040 + s * (1.0 / 362880 - s * (1.0 / 39916800))));
    double even = 1 + s * (-1.0 / 2 + s * (1.0 / 24 + s * (-1.0 / 720 + s * (1.0 / 40320 - s * (1.0 / 3628800)))));
    uint64_t bits = q & 1 ? to_bits(even) : to_bits(r * (1 + s * odd)); /* zero keeps its sign */
    return (float)of_bits(bits ^ (q & 2) << 62);
}

static inline __attribute__((always_inline)) bool is_far(float x)
{
    return !(__builtin_fabsf(x) < FAR);
}
static __attribute__((noinline)) float far_sine(float x, bool cosine)
{
    return cosine ? __builtin_cosf(x) : __builtin_sinf(x);
}

#define CIRCLE(name, cosine, before, after)                                                                            \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        f32 *d = (f32 *)(R + i->d);                                                                                    \
        const f32 *a = (const f32 *)(R + i->a);                                                                        \
        uint32_t far = 0;                                                                                              \
        for (int l = 0; l < SIMT_WARP; l++) far |= is_far(a[l]);                                                       \
        if (!far) {                                                                                                    \
            RESULT(f32, float x = before(a[l]), after(sine_of(x, cosine)))                                             \
            return EV_NEXT;                                                                                            \
        }                                                                                                              \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            float x = before(a[l]);                                                                                    \
            d[l] = after(is_far(x) ? far_sine(x, cosine) : sine_of(x, cosine));                                        \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
CIRCLE(sin_f32, 0, , )
CIRCLE(cos_f32, 1, , )
CIRCLE(sin_f32_ftz, 0, flush, flush)
CIRCLE(cos_f32_ftz, 1, flush, flush)
