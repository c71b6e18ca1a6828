/* The loops of ops.def's rows: what a row becomes for one type. Included by loops.c and loops_narrow.c alone. */
#ifndef KN_LOOPS_EMIT_H
#define KN_LOOPS_EMIT_H

typedef float _Complex c64;
typedef double _Complex c128;

/* Iterations are independent: an output is an operand's block itself or apart from it. */
#if defined __clang__
#define INDEPENDENT    /* its pragma demands vectorising and complains where that cannot be; it checks at run time     \
                          instead */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* A floating v as an integer: truncated and saturated, NaN gives 0. */
#define SATURATED(TYPE, min, max, low, limit)                                                                          \
    (v >= limit ? (TYPE)max : v > low ? (TYPE)v : v != v ? (TYPE)0 : (TYPE)min)

/* A product that is rounded before anything is added to it. */
#if defined __GNUC__ && !defined __clang__ &&                                                                          \
    __GNUC__ >= 12 /* the first that does otherwise, whatever -ffp-contract says */
#define KN_ROUNDED(product) __builtin_assoc_barrier(product)
#else
#define KN_ROUNDED(product) (product)
#endif

/* One loop for each arity. FIRST is the type of operand 0, TYPE of the others, OUT of the result. */
#define BODY(OUT, expression) ((OUT *)out)[i] = (OUT)(expression)
#define LOOP(name, TYPE, COMPANION, operands, assignment)                                                              \
    __attribute__((unused)) static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)      \
    {                                                                                                                  \
        typedef TYPE T __attribute__((unused));                                                                        \
        typedef COMPANION U __attribute__((unused));                                                                   \
        (void)pb, (void)pc;                                                                                            \
        INDEPENDENT for (size_t i = 0; i < n; i++)                                                                     \
        {                                                                                                              \
            operands;                                                                                                  \
            assignment;                                                                                                \
        }                                                                                                              \
    }
#define OPERANDS_1(FIRST, TYPE) const FIRST a __attribute__((unused)) = ((const FIRST *)pa)[i]
#define OPERANDS_2(FIRST, TYPE)                                                                                        \
    OPERANDS_1(FIRST, TYPE);                                                                                           \
    const TYPE b __attribute__((unused)) = ((const TYPE *)pb)[i]
#define OPERANDS_3(FIRST, TYPE)                                                                                        \
    OPERANDS_2(FIRST, TYPE);                                                                                           \
    const TYPE c = ((const TYPE *)pc)[i]

/* Types of operand 0 and of the result by rule. */
#define FIRST_ARITH(TYPE)     TYPE
#define FIRST_MODULUS(TYPE)   TYPE
#define FIRST_FLOAT(TYPE)     TYPE
#define FIRST_COMPARE(TYPE)   TYPE
#define FIRST_PREDICATE(TYPE) TYPE
#define FIRST_LOGICAL(TYPE)   TYPE
#define FIRST_BITWISE(TYPE)   TYPE
#define FIRST_SHIFT(TYPE)     TYPE
#define FIRST_WHERE(TYPE)     uint8_t
#define OUT_ARITH(TYPE)       TYPE
#define OUT_MODULUS(TYPE)     __typeof__(_Generic((TYPE)0, c64 : 0.0f, c128 : 0.0, default : (TYPE)0))
#define OUT_FLOAT(TYPE)       TYPE
#define OUT_COMPARE(TYPE)     uint8_t
#define OUT_PREDICATE(TYPE)   uint8_t
#define OUT_LOGICAL(TYPE)     uint8_t
#define OUT_BITWISE(TYPE)     TYPE
#define OUT_SHIFT(TYPE)       TYPE
#define OUT_WHERE(TYPE)       TYPE

/* A row's loop in one class exists when the rule computes in that kind of class: EMIT_1, else EMIT_0. */
#define EMIT_0(id, class, arity, rule, TYPE, COMPANION, expression)
#define EMIT_1(id, class, arity, rule, TYPE, COMPANION, expression)                                                    \
    LOOP(id##_##class, TYPE, COMPANION, OPERANDS_##arity(FIRST_##rule(TYPE), TYPE), BODY(OUT_##rule(TYPE), expression))
#define EMIT_(exists, ...) EMIT_##exists(__VA_ARGS__)
#define EMIT(exists, ...)  EMIT_(exists, __VA_ARGS__)

/* A row's entry in a table of loops. */
#define ENTRY_0(id, class)        NULL
#define ENTRY_1(id, class)        id##_##class
#define ENTRY_(exists, id, class) ENTRY_##exists(id, class)
#define ENTRY(exists, id, class)  ENTRY_(exists, id, class)

#endif
