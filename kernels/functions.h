/* Functions that the expressions of ops.def call, once for both languages: loops.c expands them as C for each type,
 * with a suffix S and _Generic in front; cuda.c makes CUDA C text of them, with an empty S and overloading. KN_FN holds
 * the language's qualifiers. Only what means the same in both may be used: operators, and the names of <tgmath.h>. */
#ifndef KN_FUNCTIONS_H
#define KN_FUNCTIONS_H

/* clang-format off */
#define KN_BITS_FUNCTION(T, U, S)                                                                                      \
    /* Sums of neighbours: of bits, of pairs, of fours, of bytes and so on. A product that adds the bytes up would be  \
     * taken for the instruction that counts the bits of one number, of which there are no vectors everywhere. */      \
    KN_FN T bits_##S(T a)                                                                                              \
    {                                                                                                                  \
        const U all = ~(U)0;                                                                                           \
        U x = (U)abs_##S(a);                                                                                           \
        x -= x >> 1 & all / 3;                                                                                         \
        x = (x & all / 5) + (x >> 2 & all / 5);                                                                        \
        x = (x + (x >> 4)) & all / 17;                                                                                 \
        x += x >> 8;                                                                                                   \
        x += x >> 16;                                                                                                  \
        if (sizeof(T) > 4) x += x >> 16 >> 16;                                                                         \
        return (T)(x & 127);                                                                                           \
    }

#define KN_SIGNED_FUNCTIONS(T, U, S)                                                                                   \
    KN_FN T abs_##S(T a) { return a < 0 ? (T)(0 - (U)a) : a; }                                                         \
    KN_FN T floordiv_##S(T a, T b)                                                                                     \
    {                                                                                                                  \
        if (b == 0) return 0;                                                                                          \
        if (b == -1) return (T)(0 - (U)a); /* the machine traps on the smallest integer / -1 */                        \
        T q = a / b;                                                                                                   \
        return q - (q * b != a && (a ^ b) < 0);                                                                        \
    }                                                                                                                  \
    KN_FN T mod_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        if (b == 0 || b == -1) return 0;                                                                               \
        T m = a % b;                                                                                                   \
        return m != 0 && (m ^ b) < 0 ? m + b : m;                                                                      \
    }                                                                                                                  \
    KN_FN T gcd_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        U x = a < 0 ? 0 - (U)a : (U)a, y = b < 0 ? 0 - (U)b : (U)b;                                                    \
        while (y != 0) {                                                                                               \
            const U rest = x % y;                                                                                      \
            x = y;                                                                                                     \
            y = rest;                                                                                                  \
        }                                                                                                              \
        return (T)x;                                                                                                   \
    }                                                                                                                  \
    KN_FN T lcm_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        const U x = a < 0 ? 0 - (U)a : (U)a, y = b < 0 ? 0 - (U)b : (U)b;                                              \
        return x == 0 || y == 0 ? 0 : (T)(x / (U)gcd_##S(a, b) * y);                                                   \
    }                                                                                                                  \
    KN_FN T left_shift_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        const T bits = 8 * sizeof(T);                                                                                  \
        if (b >= bits) return 0;                                                                                       \
        if (b >= 0) return (T)((U)a << b);                                                                             \
        return a >> (b <= -bits ? bits - 1 : -b);                                                                      \
    }                                                                                                                  \
    KN_FN T right_shift_##S(T a, T b)                                                                                  \
    {                                                                                                                  \
        const T bits = 8 * sizeof(T);                                                                                  \
        if (b >= 0) return a >> (b >= bits ? bits - 1 : b);                                                            \
        return b <= -bits ? 0 : (T)((U)a << -b);                                                                       \
    }                                                                                                                  \
    KN_BITS_FUNCTION(T, U, S)

#define KN_UNSIGNED_FUNCTIONS(T, U, S)                                                                                 \
    KN_FN T abs_##S(T a) { return a; }                                                                                 \
    KN_FN T floordiv_##S(T a, T b) { return b == 0 ? 0 : a / b; }                                                      \
    KN_FN T mod_##S(T a, T b) { return b == 0 ? 0 : a % b; }                                                           \
    KN_FN T gcd_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        while (b != 0) {                                                                                               \
            const T rest = a % b;                                                                                      \
            a = b;                                                                                                     \
            b = rest;                                                                                                  \
        }                                                                                                              \
        return a;                                                                                                      \
    }                                                                                                                  \
    KN_FN T lcm_##S(T a, T b) { return a == 0 || b == 0 ? 0 : a / gcd_##S(a, b) * b; }                                 \
    KN_FN T left_shift_##S(T a, T b) { return b >= 8 * sizeof(T) ? 0 : a << b; }                                       \
    KN_FN T right_shift_##S(T a, T b) { return b >= 8 * sizeof(T) ? 0 : a >> b; }                                      \
    KN_BITS_FUNCTION(T, U, S)

#define KN_FLOAT_FUNCTIONS(T, U, S)                                                                                    \
    KN_FN T mod_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        T m = fmod(a, b);                                                                                              \
        return (m > 0 ? b < 0 : m < 0 && b > 0) ? m + b : m;                                                           \
    }                                                                                                                  \
    KN_FN T ldexp_##S(T a, T b)                                                                                        \
    {                                                                                                                  \
        return b != b ? b : ldexp(a, b > 5000 ? 5000 : b < -5000 ? -5000 : (int)b);                                    \
    }                                                                                                                  \
    /* Equal ones, infinities among them, and NaN aside. */                                                            \
    KN_FN T logaddexp_##S(T a, T b)                                                                                    \
    {                                                                                                                  \
        const T d = fabs(a - b), v = (a > b ? a : b) + log1p(exp_(-d));                                                \
        const T known = a == b ? a + (T)0.69314718055994530942 : d;                                                    \
        return (a == b) | (d != d) ? known : v;                                                                        \
    }                                                                                                                  \
    KN_FN T logaddexp2_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        const T d = fabs(a - b), v = (a > b ? a : b) + log1p(exp2(-d)) * (T)1.44269504088896340736;                    \
        const T known = a == b ? a + 1 : d;                                                                            \
        return (a == b) | (d != d) ? known : v;                                                                        \
    }                                                                                                                  \
    /* By what does not overflow on either side. */                                                                    \
    KN_FN T sigmoid_##S(T a)                                                                                           \
    {                                                                                                                  \
        const T e = exp_(-fabs(a));                                                                                    \
        return (a < 0 ? e : 1) / (1 + e);                                                                              \
    }                                                                                                                  \
    KN_FN T silu_##S(T a)                                                                                              \
    {                                                                                                                  \
        const T e = exp_(-fabs(a));                                                                                    \
        return (a < 0 ? a * e : a) / (1 + e);                                                                          \
    }                                                                                                                  \
    KN_FN T softplus_##S(T a) { return (a > 0 ? a : 0) + log1p(exp_(-fabs(a))); }                                      \
    /* The sine is that of what is left of x beside the nearest even number, folded into a quarter turn. */            \
    KN_FN T sinc_##S(T a)                                                                                              \
    {                                                                                                                  \
        const double x = a, pi = 3.14159265358979323846;                                                               \
        double r = x - 2 * rint(x / 2);                                                                                \
        if (x == 0) return 1;                                                                                          \
        r = r > 0.5 ? 1 - r : r < -0.5 ? -1 - r : r;                                                                   \
        return (T)(sin(pi * r) / (pi * x));                                                                            \
    }                                                                                                                  \
    /* Halley's method on erf, or on erfc where that is the more accurate, from Winitzki's approximation. */           \
    KN_FN T erfinv_##S(T a)                                                                                            \
    {                                                                                                                  \
        const double x = fabs((double)a), l = log1p(-x * x), t = 4.3307467508 + l / 2;                                 \
        double y = sqrt(sqrt(t * t - l / 0.147) - t);                                                                  \
        if (!(x < 1)) return x == 1 ? (T)(a / (1 - x)) : (a - a) / (a - a);                                            \
        if (x < 1e-9) return (T)(a * 0.88622692545275801365);                                                          \
        for (int i = 0; i < 3; i++) {                                                                                  \
            const double off = x > 0.5 ? 1 - x - erfc(y) : erf(y) - x;                                                 \
            const double u = off / (1.12837916709551257390 * exp(-y * y));                                             \
            y -= u / (1 + y * u);                                                                                      \
        }                                                                                                              \
        return (T)(a < 0 ? -y : y);                                                                                    \
    }                                                                                                                  \
    /* Upwards by psi(x) = psi(x + 1) - 1 / x to where the asymptotic series is exact; below 0 by reflection. */       \
    KN_FN T digamma_##S(T a)                                                                                           \
    {                                                                                                                  \
        const double pi = 3.14159265358979323846;                                                                      \
        double x = a, sum = 0, r, z;                                                                                   \
        if (x == 0) return -1 / a;                                                                                     \
        if (x < 0) {                                                                                                   \
            r = x - rint(x);                                                                                           \
            if (r == 0) return (T)(r / r);                                                                             \
            sum = -pi / tan(pi * r);                                                                                   \
            x = 1 - x;                                                                                                 \
        }                                                                                                              \
        while (x < 10) sum -= 1 / x, x += 1;                                                                           \
        z = 1 / (x * x);                                                                                               \
        r = 1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12));                                                \
        r = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * r)));                                                \
        return (T)(sum + (log(x) - 0.5 / x - r));                                                                      \
    }                                                                                                                  \
    /* Exponents that are common by what is faster and more exact; the root as pow has it of -0 and -infinity. */      \
    KN_FN T root_##S(T a)                                                                                              \
    {                                                                                                                  \
        const T size = fabs(a), root = sqrt(a) + 0;                                                                    \
        return (size == size) & (size - size != 0) ? size : root;                                                      \
    }                                                                                                                  \
    KN_FN T pow_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        const T root = root_##S(a), inverse = 1 / a, power = pow(a, b);                                                \
        const T other = b == (T)0.5 ? root : b == -1 ? inverse : power;                                                \
        return b == 2 ? a * a : other;                                                                                 \
    }                                                                                                                  \
    KN_FN T modulus_##S(T a) { return fabs(a); }                                                                       \
    KN_FN T conj_##S(T a) { return a; }                                                                                \
    KN_FN T sign_##S(T a) { return a != a ? a : (T)((a > 0) - (a < 0)); }                                              \
    KN_FN int isinf_##S(T a) { return (a == a) & (a - a != 0); }

/* T has parts of type R. */
#define KN_COMPLEX_FUNCTIONS(T, R, S)                                                                                  \
    /* By the greater part, so that no square overflows; with an infinite part infinite, whatever the other is. */     \
    KN_FN R modulus_##S(T a)                                                                                           \
    {                                                                                                                  \
        const R x = fabs((R)creal(a)), y = fabs((R)cimag(a)), great = x > y ? x : y, small = x > y ? y : x;            \
        const R part = small / great, size = great == 0 ? great : great * sqrt(1 + part * part);                       \
        return (x == x) & (x - x != 0) ? x : (y == y) & (y - y != 0) ? y : size;                                       \
    }                                                                                                                  \
    KN_FN T conj_##S(T a) { return make_##S(creal(a), -cimag(a)); }                                                    \
    KN_FN T rint_##S(T a) { return make_##S(rint((R)creal(a)), rint((R)cimag(a))); }                                   \
    KN_FN T scaled_##S(T a, R by) { return make_##S(creal(a) * by, cimag(a) * by); }                                   \
    KN_FN T log2_##S(T a) { return scaled_##S(log(a), (R)1.44269504088896340736); }                                    \
    KN_FN T log10_##S(T a) { return scaled_##S(log(a), (R)0.43429448190325182765); }                                   \
    KN_FN T exp2_##S(T a) { return exp(scaled_##S(a, (R)0.69314718055994530942)); }                                    \
    KN_FN T expm1_##S(T a)                                                                                             \
    {                                                                                                                  \
        const R x = creal(a), y = cimag(a), half = sin(y / 2);                                                         \
        return make_##S(expm1(x) * cos(y) - 2 * half * half, exp(x) * sin(y));                                         \
    }                                                                                                                  \
    KN_FN T log1p_##S(T a)                                                                                             \
    {                                                                                                                  \
        const R x = creal(a), y = cimag(a);                                                                            \
        if (!(fabs(x) < (R)0.5 && fabs(y) < (R)0.5)) return log(a + (R)1);                                             \
        return make_##S(log1p(x * (2 + x) + y * y) / 2, atan2(y, 1 + x));                                              \
    }                                                                                                                  \
    KN_FN T sign_##S(T a)                                                                                              \
    {                                                                                                                  \
        const R x = creal(a), y = cimag(a), size = modulus_##S(a);                                                     \
        const R wide = (x - x != 0) & (x == x), high = (y - y != 0) & (y == y); /* infinite parts */                   \
        if (wide != high) return make_##S(wide * (x < 0 ? -1 : 1), high * (y < 0 ? -1 : 1));                           \
        return size == 0 ? a : make_##S(x / size, y / size);                                                           \
    }                                                                                                                  \
    KN_FN int isinf_##S(T a)                                                                                          \
    {                                                                                                                  \
        const R x = creal(a), y = cimag(a);                                                                            \
        return ((x == x) & (x - x != 0)) | ((y == y) & (y - y != 0));                                                  \
    }                                                                                                                  \
    /* Small whole powers are products, as exact as can be. */                                                         \
    KN_FN T pow_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        const R x = creal(b);                                                                                          \
        if (cimag(b) == 0 && fabs(x) <= 64 && x == rint(x)) {                                                          \
            T r = make_##S((R)1, (R)0), f = a;                                                                         \
            for (int n = (int)fabs(x); n > 0; n /= 2, f = f * f)                                                       \
                if (n % 2) r = r * f;                                                                                  \
            return x < 0 ? 1 / r : r;                                                                                  \
        }                                                                                                              \
        if (a == 0) return x > 0 ? a : make_##S((x - x) / (x - x), (x - x) / (x - x));                                 \
        return exp(b * log(a));                                                                                        \
    }
/* clang-format on */

#endif
