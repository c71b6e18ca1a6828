/* Types and rules of the operations: which class an element type is computed in, and what an operation's operands and
 * result are. Shared by the files of kernels/.
 *
 * Promotion of two array dtypes. The same kind: the larger one (float16 with bfloat16: float32). bool gives way to
 * everything. A complex type with another: the complex type whose parts are what the real types of both meet in. Signed
 * with unsigned integers: the smallest signed type that holds both (uint64: int64). An integer with a floating type:
 * the floating one, but at least float32 for 32-bit integers and float64 for 64-bit ones. */
#ifndef KN_OPS_H
#define KN_OPS_H

#include "kernels/kernels.h"

/* What values are computed in: id, C type, its unsigned companion, CUDA C type and companion, the dtype that is exactly
 * it. Smaller integers are computed in I32 (uint32 in I64) and wrapped; the 16-bit floats in F32 and rounded. */
#define KN_CLASSES(X)                                                                                                  \
    X(B, uint8_t, uint8_t, "bool", "bool", BOOL)                                                                       \
    X(I32, int32_t, uint32_t, "int", "unsigned int", INT32)                                                            \
    X(I64, int64_t, uint64_t, "long long", "unsigned long long", INT64)                                                \
    X(U64, uint64_t, uint64_t, "unsigned long long", "unsigned long long", UINT64)                                     \
    X(F32, float, uint32_t, "float", "unsigned int", FLOAT32)                                                          \
    X(F64, double, uint64_t, "double", "unsigned long long", FLOAT64)                                                  \
    X(C64, float _Complex, uint32_t, "complex_<float>", "unsigned int", COMPLEX64)                                     \
    X(C128, double _Complex, uint64_t, "complex_<double>", "unsigned long long", COMPLEX128)

enum kn_class {
#define X(id, type, companion, cuda, cuda_companion, dtype) KN_##id,
    KN_CLASSES(X)
#undef X
        KN_CLASS_COUNT
};

struct kn_class_info {
    const char *cuda, *cuda_unsigned;
    enum rt_dtype dtype;
    uint8_t size; /* bytes on the host */
};
extern const struct kn_class_info kn_classes[KN_CLASS_COUNT];

extern const uint8_t kn_dtype_classes[RT_DTYPE_COUNT];
static inline enum kn_class kn_class_of(enum rt_dtype t)
{
    return (enum kn_class)kn_dtype_classes[t];
}
/* The dtype's values are exactly its class's, so nothing need be rounded or wrapped. */
static inline bool kn_class_exact(enum rt_dtype t)
{
    return kn_classes[kn_class_of(t)].dtype == t;
}

/* Operand and result rules, a column of ops.def: id and what it says. Bools count as int32 (0 and 1) where computed on.
 *   ARITH      operands and result in the common dtype
 *   MODULUS    like ARITH, but the result of complex numbers is real
 *   FLOAT      like ARITH, but integers become float32 (64-bit ones float64) first
 *   COMPARE    the common dtype, bools among themselves too, integers against floats in float64; the result is bool
 *   PREDICATE  the common dtype, that of bools too; the result is bool
 *   LOGICAL    operands are integers of one dtype, or become bool; the result is bool
 *   BITWISE    integers or bools, floats have no meaning
 *   SHIFT      integers, bools as int32
 *   WHERE      the first operand is bool, the others and the result are in their common dtype */
#define KN_RULES(X) X(ARITH) X(MODULUS) X(FLOAT) X(COMPARE) X(PREDICATE) X(LOGICAL) X(BITWISE) X(SHIFT) X(WHERE)
enum kn_rule {
#define X(id) KN_RULE_##id,
    KN_RULES(X)
#undef X
};
/* For expanding rows: 1 where the rule computes in that kind of class. */
#define KN_INTS_ARITH       1
#define KN_INTS_MODULUS     1
#define KN_INTS_FLOAT       0
#define KN_INTS_COMPARE     1
#define KN_INTS_PREDICATE   1
#define KN_INTS_LOGICAL     1
#define KN_INTS_BITWISE     1
#define KN_INTS_SHIFT       1
#define KN_INTS_WHERE       1
#define KN_FLOATS_ARITH     1
#define KN_FLOATS_MODULUS   1
#define KN_FLOATS_FLOAT     1
#define KN_FLOATS_COMPARE   1
#define KN_FLOATS_PREDICATE 1
#define KN_FLOATS_LOGICAL   0
#define KN_FLOATS_BITWISE   0
#define KN_FLOATS_SHIFT     0
#define KN_FLOATS_WHERE     1
#define KN_BOOLS_ARITH      0
#define KN_BOOLS_MODULUS    0
#define KN_BOOLS_FLOAT      0
#define KN_BOOLS_COMPARE    1
#define KN_BOOLS_PREDICATE  1
#define KN_BOOLS_LOGICAL    1
#define KN_BOOLS_BITWISE    1
#define KN_BOOLS_SHIFT      0
#define KN_BOOLS_WHERE      1

struct kn_op_text {
    enum kn_rule rule;
    bool complex;              /* `floats` has a meaning for complex numbers, too */
    const char *ints, *floats; /* CUDA C */
};
extern const struct kn_op_text kn_op_texts[KN_OP_COUNT];

enum rt_dtype kn_promote(enum rt_dtype a, enum rt_dtype b); /* to which values of both are converted */

/* An operand as the rules see it. */
struct kn_type {
    enum rt_dtype dtype; /* of an array or intermediate value; ignored for a number */
    bool number, is_float, is_complex;
    int64_t i; /* a number's value when it is an integer */
};
/* What an operation does with its operands. */
struct kn_signature {
    enum kn_op op;        /* what is really computed: ~ of bools is logical_not */
    enum rt_dtype first;  /* what operand 0 is converted to */
    enum rt_dtype others; /* what the others are converted to, and what is computed in */
    enum rt_dtype result;
};
enum rt_status kn_infer(enum kn_op op, const struct kn_type *args, struct kn_signature *out, struct rt_error *e);

/* What an operation says of all elements of a dtype, 0 or 1, as isnan does of integers, whose values need no look; -1
 * where they do. */
int kn_answer_to_all(enum kn_op op, enum rt_dtype t);
/* Elements of arrays that are answered at once, rather than wait, at most: fewer than threads are worth waking for. */
#define KN_ANSWERED (1 << 20)

/* RT_INVALID for complex numbers that are to become real ones; as bools they say where they are not 0. */
enum rt_status kn_check_conversion(enum rt_dtype from, enum rt_dtype to, struct rt_error *e);

/* The number converted to dtype t, for an operand called `what` of a message. RT_INVALID when an integer does not fit,
 * or the number is complex and the dtype is not. All integers fit uint64, a negative one for that of the same bits. */
enum rt_status kn_number_fits(enum rt_dtype t, const struct kn_operand *number, const char *what, struct rt_error *e);

#endif
