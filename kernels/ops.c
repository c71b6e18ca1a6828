/* The operations' tables and type rules. */
#include "kernels/ops.h"
#include <inttypes.h>
#include <stdio.h>

const struct kn_op_info kn_ops[KN_OP_COUNT] = {
#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example) {name, arity, doc, example, symbol},
#include "kernels/ops.def"
};

const struct kn_op_text kn_op_texts[KN_OP_COUNT] = {
#define KN_OP(id, name, arity, rule, ints, floats, symbol, doc, example)         {KN_RULE_##rule, false, #ints, #floats},
#define KN_COMPLEX_OP(id, name, arity, rule, ints, floats, symbol, doc, example) {KN_RULE_##rule, true, #ints, #floats},
#include "kernels/ops.def"
};

const struct kn_class_info kn_classes[KN_CLASS_COUNT] = {
#define X(id, type, companion, cuda, cuda_companion, dtype) {cuda, cuda_companion, RT_##dtype, sizeof(type)},
    KN_CLASSES(X)
#undef X
};

#define CLASS(kind, size)                                                                                              \
    ((kind) == 'b'                  ? KN_B                                                                             \
     : (kind) == 'f'                ? (size) == 8 ? KN_F64 : KN_F32                                                    \
     : (kind) == 'c'                ? (size) == 16 ? KN_C128 : KN_C64                                                  \
     : (size) == 8                  ? (kind) == 'u' ? KN_U64 : KN_I64                                                  \
     : (kind) == 'u' && (size) == 4 ? KN_I64                                                                           \
                                    : KN_I32)
const uint8_t kn_dtype_classes[RT_DTYPE_COUNT] = {
#define X(id, name, ctype, cuda, kind, mangled) [RT_##id] = CLASS(kind, sizeof(ctype)),
    RT_DTYPES(X)
#undef X
};

static bool is_floating(enum rt_dtype t)
{
    return rt_dtypes[t].kind == 'f' || rt_is_complex(t);
}

/* The floating dtype that takes the integers of t: what FLOAT operations compute in. Complex ones count as floating. */
static enum rt_dtype floating(enum rt_dtype t)
{
    if (is_floating(t)) return t;
    return rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
}

static enum rt_dtype signed_of_size(int size)
{
    return size <= 1 ? RT_INT8 : size == 2 ? RT_INT16 : size == 4 ? RT_INT32 : RT_INT64;
}

enum rt_dtype kn_promote(enum rt_dtype a, enum rt_dtype b)
{
    const struct rt_dtype_info *x = &rt_dtypes[a], *y = &rt_dtypes[b];
    if (a == b || y->kind == 'b') return a;
    if (x->kind == 'b') return b;
    if (x->kind == 'c' || y->kind == 'c') return rt_complex_of(kn_promote(rt_real_of(a), rt_real_of(b)));
    if (x->kind == 'f' && y->kind == 'f') {
        if (x->size == y->size) return RT_FLOAT32; /* float16 with bfloat16 */
        return x->size > y->size ? a : b;
    }
    if (y->kind == 'f') return kn_promote(b, a);
    if (x->kind == 'f') { /* y is an integer */
        if (y->size == 8) return RT_FLOAT64;
        return y->size >= 2 && x->size < 4 ? RT_FLOAT32 : a;
    }
    if (x->kind == y->kind) return x->size > y->size ? a : b;
    int s = x->kind == 'i' ? x->size : y->size, u = x->kind == 'u' ? x->size : y->size;
    return signed_of_size(u >= s ? 2 * u : s);
}

/* Is i one of the numbers of t, integers of fewer than 64 bits, which are from *low to *high? */
static bool is_within(enum rt_dtype t, int64_t i, int64_t *low, int64_t *high)
{
    const struct rt_dtype_info *d = &rt_dtypes[t];
    int bits = 8 * d->size;
    *low = d->kind == 'u' ? 0 : -((int64_t)1 << (bits - 1));
    *high = ((int64_t)1 << (d->kind == 'u' ? bits : bits - 1)) - 1;
    return i >= *low && i <= *high;
}

/* Does t hold any integer of Lua, or what becomes of it? */
static bool takes_any(enum rt_dtype t)
{
    return is_floating(t) || t == RT_BOOL || rt_dtypes[t].size == 8;
}

/* The dtype that numbers take beside operands of no arrays, as in where(mask, 1, 0). */
static enum rt_dtype number_dtype(const struct kn_type *t)
{
    if (t->is_complex) return RT_COMPLEX64;
    if (t->is_float) return RT_FLOAT32;
    return t->i >= INT32_MIN && t->i <= INT32_MAX ? RT_INT32 : RT_INT64;
}

/* The common dtype of the operands from `first` on, numbers being weak. */
static enum rt_dtype common(const struct kn_type *args, int first, int count, bool bools_are_ints, bool *weak_float)
{
    enum rt_dtype t = RT_DTYPE_COUNT;
    for (int i = first; i < count; i++)
        if (!args[i].number) t = t == RT_DTYPE_COUNT ? args[i].dtype : kn_promote(t, args[i].dtype);
    bool complex = false;
    *weak_float = false;
    for (int i = first; i < count; i++) complex |= args[i].number && args[i].is_complex;
    for (int i = first; i < count; i++)
        if (args[i].number && args[i].is_float && t != RT_DTYPE_COUNT && !is_floating(t)) *weak_float = true;
    if (t == RT_DTYPE_COUNT) {
        for (int i = first; i < count; i++) {
            enum rt_dtype n = number_dtype(&args[i]);
            t = t == RT_DTYPE_COUNT ? n : is_floating(t) || is_floating(n) ? RT_FLOAT32 : kn_promote(t, n);
        }
        return complex ? rt_complex_of(t) : t;
    }
    if (t == RT_BOOL) {
        bool numbers = false;
        for (int i = first; i < count; i++) numbers |= args[i].number;
        if (bools_are_ints || numbers) t = RT_INT32;
    }
    if (*weak_float) t = floating(t);
    return complex ? rt_complex_of(t) : t;
}

static enum rt_status no_meaning(enum kn_op op, const struct kn_type *args, struct rt_error *e)
{
    char list[128] = "";
    size_t used = 0;
    for (int i = 0; i < kn_ops[op].arity; i++) {
        const char *name =
            args[i].number ? args[i].is_float ? "a float number" : "an integer number" : rt_dtypes[args[i].dtype].name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? " and " : "", name);
    }
    return rt_fail(e, RT_INVALID, "%s works on integers%s, not on %s; convert with :to(\"int32\")", kn_ops[op].name,
                   kn_op_texts[op].rule == KN_RULE_BITWISE ? " and bools" : "", list);
}

/* The dtype of operands that are arrays of integers, all alike; else bool. */
static enum rt_dtype one_integer_dtype(const struct kn_type *args, int arity)
{
    enum rt_dtype t = RT_BOOL;
    for (int i = 0; i < arity; i++) {
        const char kind = args[i].number ? 'f' : rt_dtypes[args[i].dtype].kind;
        if ((kind != 'i' && kind != 'u') || (i > 0 && args[i].dtype != t)) return RT_BOOL;
        t = args[i].dtype;
    }
    return t;
}

enum rt_status kn_infer(enum kn_op op, const struct kn_type *args, struct kn_signature *out, struct rt_error *e)
{
    int arity = kn_ops[op].arity;
    enum kn_rule rule = kn_op_texts[op].rule;
    bool weak_float;
    out->op = op;
    if (rule == KN_RULE_LOGICAL) {
        out->first = out->others = one_integer_dtype(args, arity);
        out->result = RT_BOOL;
        return RT_OK;
    }
    bool gives_bool = rule == KN_RULE_COMPARE || rule == KN_RULE_PREDICATE;
    bool ints = rule != KN_RULE_BITWISE && rule != KN_RULE_WHERE && !gives_bool;
    enum rt_dtype t = common(args, rule == KN_RULE_WHERE ? 1 : 0, arity, ints, &weak_float);
    if (rule == KN_RULE_FLOAT) t = floating(t);
    if (rule == KN_RULE_BITWISE || rule == KN_RULE_SHIFT) {
        if (is_floating(t) && !rt_is_complex(t)) return no_meaning(op, args, e);
        if (op == KN_BITWISE_NOT && t == RT_BOOL) out->op = KN_LOGICAL_NOT;
    }
    if (!kn_op_texts[op].complex) {
        enum rt_status status = kn_check_real(&(struct rt_array){.dtype = t}, kn_ops[op].name, e);
        if (status != RT_OK) return status;
    }
    if (rule == KN_RULE_COMPARE && is_floating(t)) {
        bool integers = weak_float;
        for (int i = 0; i < arity; i++) integers |= !args[i].number && !is_floating(args[i].dtype);
        if (integers) t = rt_is_complex(t) ? RT_COMPLEX128 : RT_FLOAT64;
    }
    int64_t low, high;
    for (int i = 0; i < arity && rule == KN_RULE_COMPARE; i++)
        if (args[i].number && !takes_any(t) && !is_within(t, args[i].i, &low, &high)) t = RT_INT64;
    out->first = rule == KN_RULE_WHERE ? RT_BOOL : t;
    out->others = t;
    out->result = gives_bool ? RT_BOOL : rule == KN_RULE_MODULUS ? rt_real_of(t) : t;
    return RT_OK;
}

enum rt_status kn_check_conversion(enum rt_dtype from, enum rt_dtype to, struct rt_error *e)
{
    if (!rt_is_complex(from) || rt_is_complex(to) || to == RT_BOOL) return RT_OK;
    return rt_fail(e, RT_INVALID, "%s elements do not become %s; take x.real, x.imag, x:abs() or x:angle() of them",
                   rt_dtypes[from].name, rt_dtypes[to].name);
}

enum rt_status kn_check_real(const struct rt_array *a, const char *what, struct rt_error *e)
{
    if (!rt_is_complex(a->dtype)) return RT_OK;
    return rt_fail(e, RT_INVALID,
                   "%s has no meaning for complex numbers (%s); use x.real, x.imag, x:abs() or x:angle()", what,
                   rt_dtypes[a->dtype].name);
}

enum rt_status kn_result_dtype(enum kn_op op, const struct kn_operand *args, enum rt_dtype *out, struct rt_error *e)
{
    struct kn_type types[3];
    struct kn_signature s = {0};
    for (int i = 0; i < kn_ops[op].arity; i++) {
        types[i] = (struct kn_type){
            .number = !args[i].array, .is_float = args[i].is_float, .is_complex = args[i].is_complex, .i = args[i].i};
        if (args[i].array) types[i].dtype = args[i].array->dtype;
    }
    enum rt_status status = kn_infer(op, types, &s, e);
    if (status == RT_OK) *out = s.result;
    return status;
}

enum rt_status kn_number_fits(enum rt_dtype t, const struct kn_operand *number, const char *what, struct rt_error *e)
{
    if (number->is_complex && !rt_is_complex(t))
        return rt_fail(e, RT_INVALID, "%s: %s holds no complex numbers; convert the array first, with :to(\"%s\")",
                       what, rt_dtypes[t].name, rt_dtypes[rt_complex_of(t)].name);
    int64_t low, high;
    /* An element of uint64 is negative in Lua where it is above Lua's integers, and comes back as it was read. */
    if (number->is_float || takes_any(t) || is_within(t, number->i, &low, &high)) return RT_OK;
    return rt_fail(e, RT_INVALID,
                   "%s: the integer %" PRId64 " does not fit %s (%" PRId64 " to %" PRId64
                   "); convert the array first, e.g. with :to(\"int64\"), or write the number as a float",
                   what, number->i, rt_dtypes[t].name, low, high);
}

int kn_answer_to_all(enum kn_op op, enum rt_dtype t)
{
    const char *ints = kn_op_texts[op].ints;
    const bool said = kn_op_texts[op].rule == KN_RULE_PREDICATE && rt_dtypes[t].kind != 'f' && !rt_is_complex(t);
    return said && !ints[1] ? *ints - '0' : -1; /* a text of one character, "0" or "1" */
}
