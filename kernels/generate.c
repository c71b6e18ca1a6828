/* The pieces of generated CUDA C. */
#include "kernels/generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text */

static bool text_reserve(struct kn_text *t, size_t more)
{
    if (t->failed) return false;
    if (t->length + more + 1 <= t->capacity) return true;
    size_t capacity = t->capacity ? t->capacity : 4096;
    while (capacity < t->length + more + 1) capacity *= 2;
    char *data = rt_realloc(t->data, capacity);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void kn_put(struct kn_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && text_reserve(t, (size_t)n)) {
        vsnprintf(t->data + t->length, (size_t)n + 1, format, again);
        t->length += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void kn_text_free(struct kn_text *t)
{
    free(t->data);
    memset(t, 0, sizeof *t);
}

/* Expressions */

const char *kn_memory_type(enum rt_dtype t)
{
    return t == RT_BOOL                          ? "unsigned char"
           : t == RT_FLOAT16 || t == RT_BFLOAT16 ? "unsigned short"
           : rt_is_complex(t)                    ? kn_classes[kn_class_of(t)].cuda
                                                 : rt_dtypes[t].cuda;
}

void kn_put_load(struct kn_text *t, enum rt_dtype dtype, const char *pointer, const char *index)
{
    const char *call = dtype == RT_FLOAT16 ? "half_" : dtype == RT_BFLOAT16 ? "bfloat_" : "";
    kn_put(t, "%s(%s[%s])%s", call, pointer, index, dtype == RT_BOOL ? " != 0" : "");
}

void kn_put_store(struct kn_text *t, enum rt_dtype dtype, const char *pointer, const char *index, const char *value)
{
    const char *call = dtype == RT_FLOAT16 ? "half_bits_" : dtype == RT_BFLOAT16 ? "bfloat_bits_" : "";
    if (!*call)
        kn_put(t, "%s[%s] = (%s)(%s);\n", pointer, index, kn_memory_type(dtype), value);
    else
        kn_put(t, "%s[%s] = %s(%s);\n", pointer, index, call, value);
}

/* Rows of limits for floats that become integers: smallest, largest, what is out of range below and above. */
static const struct {
    const char *min, *max, *low, *limit;
} limits[RT_DTYPE_COUNT] = {
    [RT_INT8] = {"-128", "127", "-0x1p7", "0x1p7"},
    [RT_INT16] = {"-32768", "32767", "-0x1p15", "0x1p15"},
    [RT_INT32] = {"-2147483647 - 1", "2147483647", "-0x1p31", "0x1p31"},
    [RT_INT64] = {"-9223372036854775807ll - 1", "9223372036854775807ll", "-0x1p63", "0x1p63"},
    [RT_UINT8] = {"0", "255", "0", "0x1p8"},
    [RT_UINT16] = {"0", "65535", "0", "0x1p16"},
    [RT_UINT32] = {"0", "4294967295ll", "0", "0x1p32"},
    [RT_UINT64] = {"0", "18446744073709551615ull", "0", "0x1p64"},
};

void kn_put_convert(struct kn_text *t, enum kn_class from, enum rt_dtype to, const char *value)
{
    const char *class = kn_classes[kn_class_of(to)].cuda;
    if (to == RT_BOOL)
        kn_put(t, "(%s != 0)", value);
    else if (to == RT_FLOAT16)
        kn_put(t, "half_(half_bits_((float)%s))", value);
    else if (to == RT_BFLOAT16)
        kn_put(t, "bfloat_(bfloat_bits_((float)%s))", value);
    else if (rt_dtypes[to].kind == 'f' || rt_is_complex(to) || (from != KN_F32 && from != KN_F64))
        kn_put(t, "(%s)(%s)%s", class, kn_memory_type(to), value);
    else
        kn_put(t, "saturated_<%s, %s>(%s, %s, %s, %s, %s)", class, kn_classes[from].cuda, value, limits[to].min,
               limits[to].max, limits[to].low, limits[to].limit);
}

void kn_put_op(struct kn_text *t, enum kn_op op, enum kn_class class, enum rt_dtype dtype, const char *result,
               const char *const *args)
{
    static const char names[] = "abc";
    const struct kn_class_info *c = &kn_classes[class];
    bool where = kn_op_texts[op].rule == KN_RULE_WHERE;
    kn_put(t, "{ typedef %s T; typedef %s U; ", c->cuda, c->cuda_unsigned);
    for (int i = 0; names[i] && i < kn_ops[op].arity; i++)
        kn_put(t, "const %s %c = %s; ", where && i == 0 ? "bool" : "T", names[i], args[i]);
    kn_put(t, "%s = (%s)(%s); }\n", result, kn_classes[kn_class_of(dtype)].cuda,
           class >= KN_F32 ? kn_op_texts[op].floats : kn_op_texts[op].ints);
    if (kn_class_exact(dtype)) return;
    kn_put(t, "%s = ", result);
    kn_put_convert(t, class, dtype, result);
    kn_put(t, ";\n");
}

void kn_word_number(struct kn_words *w, enum rt_dtype t, const struct kn_operand *number)
{
    char element[RT_ELEMENT] = {0};
    uint64_t bits;
    if (rt_is_complex(t)) {
        struct kn_operand im = {.is_float = true, .f = number->im}, re = *number;
        re.is_complex = false;
        kn_word_number(w, rt_real_of(t), &re);
        kn_word_number(w, rt_real_of(t), &im);
        return;
    }
    if (number->is_float)
        rt_store_double(t, element, number->f);
    else
        rt_store_int(t, element, number->i);
    if (rt_dtypes[t].kind == 'f') {
        double v = rt_load_double(t, element);
        memcpy(&bits, &v, sizeof bits);
    } else {
        bits = (uint64_t)rt_load_int(t, element);
    }
    kn_word(w, bits);
}

void kn_put_members(struct kn_text *t, const struct kn_program *p)
{
    for (int i = 0; i < p->leaves; i++) kn_put(t, "const %s *a%d;\n", kn_memory_type(p->arrays[i]->dtype), i);
    for (int i = 0; i < p->count; i++) {
        const struct kn_node *n = &p->nodes[i];
        if (n->kind == KN_NODE_NUMBER)
            kn_put(t, "%s c%d%s;\n", kn_class_of(n->dtype) >= KN_F32 ? "double" : "long long", i,
                   rt_is_complex(n->dtype) ? "[2]" : "");
    }
}

void kn_word_program(struct kn_words *w, const struct kn_program *p)
{
    for (int i = 0; i < p->leaves; i++) kn_word(w, rt_array_address(p->arrays[i]));
    for (int i = 0; i < p->count; i++)
        if (p->nodes[i].kind == KN_NODE_NUMBER) kn_word_number(w, p->nodes[i].dtype, &p->nodes[i].number);
}

void kn_put_node(struct kn_text *t, const struct kn_program *p, int i, const char *pointer, const char *index)
{
    const struct kn_node *n = &p->nodes[i];
    char result[16], names[3][16];
    const char *args[3] = {names[0], names[1], names[2]};
    if (n->kind == KN_NODE_WEAK) return; /* it has no dtype; the operation took a number of its own */
    const char *type = kn_classes[kn_class_of(n->dtype)].cuda;
    snprintf(result, sizeof result, "r%d", i);
    for (int k = 0; k < 3; k++) snprintf(names[k], sizeof names[k], "r%d", n->args[k]);
    switch (n->kind) {
    case KN_NODE_WEAK: return;
    case KN_NODE_ARRAY:
        kn_put(t, "const %s r%d = ", type, i);
        kn_put_load(t, n->dtype, pointer, index);
        kn_put(t, ";\n");
        return;
    case KN_NODE_NUMBER:
        if (rt_is_complex(n->dtype))
            kn_put(t, "const %s r%d(p.c%d[0], p.c%d[1]);\n", type, i, i, i);
        else
            kn_put(t, "const %s r%d = (%s)p.c%d;\n", type, i, type, i);
        return;
    case KN_NODE_INDEX: kn_put(t, "const long long r%d = i;\n", i); return;
    case KN_NODE_REDUCE: return; /* whoever writes the loop over a row has it */
    case KN_NODE_CONVERT:
        kn_put(t, "const %s r%d = ", type, i);
        kn_put_convert(t, kn_class_of(p->nodes[n->args[0]].dtype), n->dtype, args[0]);
        kn_put(t, ";\n");
        return;
    case KN_NODE_OP:
        kn_put(t, "%s %s;\n", type, result);
        kn_put_op(t, n->op, kn_class_of(p->nodes[n->args[kn_ops[n->op].arity - 1]].dtype), n->dtype, result, args);
        return;
    }
}

void kn_node_keys(const struct kn_program *p, struct kn_node_key *keys)
{
    for (int i = 0; i < p->count; i++) {
        const struct kn_node *n = &p->nodes[i];
        struct kn_node_key *to = &keys[i];
        *to = (struct kn_node_key){.kind = (uint8_t)n->kind, .dtype = (uint8_t)n->dtype};
        if (n->kind == KN_NODE_OP) to->op = (uint8_t)n->op;
        if (n->kind == KN_NODE_ARRAY) to->leaf = (uint8_t)n->leaf;
        int arity = n->kind == KN_NODE_OP ? kn_ops[n->op].arity : n->kind == KN_NODE_CONVERT ? 1 : 0;
        for (int j = 0; j < arity; j++) to->args[j] = (uint8_t)n->args[j];
    }
}
