/* Functions that the expressions of ops.def call, once for both languages: loops.c expands them as C for each type,
 * with a suffix S and _Generic in front; cuda.c makes CUDA C text of them, with an empty S and overloading. KN_FN holds
 * the language's qualifiers. Only what means the same in both may be used: operators, and the names of <tgmath.h>. */
#ifndef KN_FUNCTIONS_H
#define KN_FUNCTIONS_H

/* clang-format off */
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
    }

#define KN_UNSIGNED_FUNCTIONS(T, U, S)                                                                                 \
    KN_FN T abs_##S(T a) { return a; }                                                                                 \
    KN_FN T floordiv_##S(T a, T b) { return b == 0 ? 0 : a / b; }                                                      \
    KN_FN T mod_##S(T a, T b) { return b == 0 ? 0 : a % b; }                                                           \
    KN_FN T left_shift_##S(T a, T b) { return b >= 8 * sizeof(T) ? 0 : a << b; }                                       \
    KN_FN T right_shift_##S(T a, T b) { return b >= 8 * sizeof(T) ? 0 : a >> b; }

#define KN_FLOAT_FUNCTIONS(T, U, S)                                                                                    \
    KN_FN T mod_##S(T a, T b)                                                                                          \
    {                                                                                                                  \
        T m = fmod(a, b);                                                                                              \
        return (m > 0 ? b < 0 : m < 0 && b > 0) ? m + b : m;                                                           \
    }                                                                                                                  \
    KN_FN T pow_##S(T a, T b) { return b == 2 ? a * a : pow(a, b); }
/* clang-format on */

#endif
