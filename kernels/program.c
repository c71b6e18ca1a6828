/* Building programs, their types, shapes and aliasing; the evaluation itself is in host.c and cuda.c. */
#include "kernels/host.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/environment.h"

static int forced_generated = -1; /* -1: ask the environment */

void kn_force_generated(bool on)
{
    forced_generated = on;
}

bool kn_generated(void)
{
    if (forced_generated < 0) forced_generated = rt_variable_word(RT_VAR_GENERATED) == 1;
    return forced_generated;
}

bool kn_runs_generated(const struct rt_device *d)
{
    return d->kind == RT_CUDA || (d->kind == RT_SIMT && (d->recording || kn_generated()));
}

enum rt_status kn_check_devices(const struct rt_array *const *arrays, int count, struct rt_error *e)
{
    for (int i = 0; i < count; i++) {
        enum rt_status status = rt_array_alive(arrays[i], e);
        if (status != RT_OK) return status;
        const struct rt_device *d = rt_array_device(arrays[0]), *o = rt_array_device(arrays[i]);
        if (d != o)
            return rt_fail(e, RT_INVALID,
                           "the arrays are on different devices, %s and %s; move one with :to(\"%s\") or :to(\"%s\")",
                           d->name, o->name, o->name, d->name);
    }
    return RT_OK;
}

void kn_program_start(struct kn_program *p)
{
    p->count = p->leaves = 0;
}

void kn_program_assign(struct kn_program *to, const struct kn_program *from)
{
    to->count = from->count;
    to->leaves = from->leaves;
    memcpy(to->nodes, from->nodes, (size_t)from->count * sizeof *from->nodes);
    memcpy(to->arrays, from->arrays, (size_t)from->leaves * sizeof *from->arrays);
}

static enum rt_status add_node(struct kn_program *p, const struct kn_node *n, int *node, struct rt_error *e)
{
    if (p->count == KN_MAX_NODES)
        return rt_fail(e, RT_UNSUPPORTED, "an expression of more than %d operations cannot be evaluated at once",
                       KN_MAX_NODES);
    *node = p->count;
    p->nodes[p->count++] = *n;
    return RT_OK;
}

/* Both see the same element at each step of a pass, so writing one after reading the other is safe. */
static bool same_elements(const struct rt_array *a, const struct rt_array *b)
{
    if (a->dtype != b->dtype || a->storage != b->storage || a->offset != b->offset || a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i] || (a->shape[i] > 1 && a->strides[i] != b->strides[i])) return false;
    return true;
}

enum rt_status kn_program_array(struct kn_program *p, const struct rt_array *a, int *node, struct rt_error *e)
{
    int leaf = 0;
    while (leaf < p->leaves && p->arrays[leaf] != a && !same_elements(p->arrays[leaf], a)) leaf++;
    if (leaf == KN_MAX_LEAVES)
        return rt_fail(e, RT_UNSUPPORTED, "an expression over more than %d arrays cannot be evaluated at once",
                       KN_MAX_LEAVES);
    for (int i = 0; leaf < p->leaves && i < p->count; i++)
        if (p->nodes[i].kind == KN_NODE_ARRAY && p->nodes[i].leaf == leaf) {
            *node = i;
            return RT_OK;
        }
    enum rt_status status =
        add_node(p, &(struct kn_node){.kind = KN_NODE_ARRAY, .dtype = a->dtype, .leaf = leaf}, node, e);
    if (status == RT_OK && leaf == p->leaves) p->arrays[p->leaves++] = a;
    return status;
}

enum rt_status kn_program_number(struct kn_program *p, const struct kn_operand *number, int *node, struct rt_error *e)
{
    struct kn_node n = {.kind = KN_NODE_WEAK, .dtype = RT_DTYPE_COUNT, .number = *number};
    n.number.array = NULL;
    return add_node(p, &n, node, e);
}

enum rt_status kn_program_index(struct kn_program *p, int *node, struct rt_error *e)
{
    return add_node(p, &(struct kn_node){.kind = KN_NODE_INDEX, .dtype = RT_INT64}, node, e);
}

enum rt_status kn_program_convert(struct kn_program *p, int arg, enum rt_dtype dtype, int *node, struct rt_error *e)
{
    const struct kn_node *from = &p->nodes[arg];
    if (from->dtype == dtype) {
        *node = arg;
        return RT_OK;
    }
    struct kn_node n = {.kind = KN_NODE_CONVERT, .dtype = dtype, .args = {arg}};
    if (from->kind == KN_NODE_WEAK) {
        n = *from;
        n.kind = KN_NODE_NUMBER;
        n.dtype = dtype;
    } else {
        enum rt_status status = kn_check_conversion(from->dtype, dtype, e);
        if (status != RT_OK) return status;
    }
    return add_node(p, &n, node, e);
}

enum rt_status kn_program_reduction(struct kn_program *p, enum kn_reduction r, int arg, enum rt_dtype dtype, int *node,
                                    struct rt_error *e)
{
    return add_node(p, &(struct kn_node){.kind = KN_NODE_REDUCE, .dtype = dtype, .reduction = r, .args = {arg}}, node,
                    e);
}

static struct kn_type number_type(const struct kn_operand *x)
{
    return (struct kn_type){
        .dtype = RT_DTYPE_COUNT, .number = true, .is_float = x->is_float, .is_complex = x->is_complex, .i = x->i};
}

/* Powers that are common and are both faster and more exact by another operation, of one operand; pow_ of functions.h
 * has the same for exponents that are no numbers. */
static bool simple_power(const struct kn_operand *exponent, enum rt_dtype base, enum kn_op *op)
{
    double y = exponent->is_float ? exponent->f : (double)exponent->i;
    if (exponent->is_complex || !(y == 2 || (y == -1 && !rt_is_complex(base)))) return false;
    *op = y == 2 ? KN_SQUARE : KN_RECIPROCAL;
    return true;
}

enum rt_status kn_program_op(struct kn_program *p, enum kn_op op, const int *args, int *node, struct rt_error *e)
{
    int arity = kn_ops[op].arity;
    struct kn_type types[3];
    struct kn_signature s;
    struct kn_node n = {.kind = KN_NODE_OP};
    bool arrays = false;
    for (int i = 0; i < arity; i++) {
        const struct kn_node *a = &p->nodes[args[i]];
        types[i] = a->kind == KN_NODE_WEAK ? number_type(&a->number) : (struct kn_type){.dtype = a->dtype};
        arrays |= a->kind != KN_NODE_WEAK;
    }
    if (!arrays) return rt_fail(e, RT_INVALID, "%s needs an array among its operands", kn_ops[op].name);
    enum rt_status status = kn_infer(op, types, &s, e);
    if (status != RT_OK) return status;
    if (op == KN_POW && types[1].number && simple_power(&p->nodes[args[1]].number, s.first, &s.op)) arity = 1;
    for (int i = 0; i < arity; i++) {
        enum rt_dtype t = i == 0 ? s.first : s.others;
        if (types[i].number && (status = kn_number_fits(t, &p->nodes[args[i]].number, kn_ops[op].name, e)) != RT_OK)
            return status;
        if ((status = kn_program_convert(p, args[i], t, &n.args[i], e)) != RT_OK) return status;
    }
    n.op = s.op;
    n.dtype = s.result;
    return add_node(p, &n, node, e);
}

enum rt_status kn_program_shape(const struct kn_program *p, int *ndim, int64_t *shape, struct rt_error *e)
{
    return rt_broadcast_shape(p->arrays, p->leaves, ndim, shape, e);
}

enum rt_status kn_program_form(const struct kn_program *p, struct rt_array *form, struct rt_error *e)
{
    int64_t stride = 1;
    *form = (struct rt_array){.dtype = p->nodes[p->count - 1].dtype};
    enum rt_status status = kn_program_shape(p, &form->ndim, form->shape, e);
    if (status != RT_OK) return status;
    for (int i = form->ndim; i-- > 0; stride *= form->shape[i]) form->strides[i] = stride;
    return RT_OK;
}

enum rt_status kn_program_evaluate(const struct kn_program *p, const struct rt_array *out, struct rt_error *e)
{
    if (rt_array_size(out) == 0) return RT_OK;
    if (kn_runs_generated(rt_array_device(out))) return kn_cuda_run(p, out, e);
    if (p->count == 1 && p->nodes[0].kind == KN_NODE_ARRAY) return kn_host_copy(out, p->arrays[0], e);
    return kn_host_run(p, out, e);
}

enum rt_status kn_check_fits(const struct rt_array *a, const struct rt_array *out, struct rt_error *e)
{
    struct rt_array fits;
    enum rt_status status = rt_array_broadcast(a, out->ndim, out->shape, &fits, e);
    if (status == RT_OK) rt_array_release(&fits);
    return status;
}

/* Writes into the caller's array, through a temporary where it overlaps what is still to be read. */
static enum rt_status run_into(struct kn_program *p, const struct rt_array *out, struct rt_error *e)
{
    const struct rt_array *pair[2] = {p->arrays[0], out};
    enum rt_status status = kn_check_devices(pair, 2, e);
    if (status == RT_OK) status = rt_array_writable(out, e);
    if (status != RT_OK) return status;
    for (int i = 0; i < p->leaves; i++)
        if ((status = kn_check_fits(p->arrays[i], out, e)) != RT_OK) return status;
    bool clash = false;
    for (int i = 0; i < p->leaves; i++)
        clash |= rt_array_overlap(p->arrays[i], out) && !same_elements(p->arrays[i], out);
    if (!clash) return kn_program_evaluate(p, out, e);
    struct rt_array whole;
    status = rt_array_new(rt_array_device(out), out->dtype, out->ndim, out->shape, &whole, e);
    if (status != RT_OK) return status;
    status = kn_program_evaluate(p, &whole, e);
    if (status == RT_OK) status = kn_copy(out, &whole, e);
    rt_array_release(&whole);
    return status;
}

enum rt_status kn_program_run(struct kn_program *p, struct rt_array *out, struct rt_error *e)
{
    if (p->leaves == 0) return rt_fail(e, RT_INVALID, "an expression needs an array among its operands");
    enum rt_status status = kn_check_devices(p->arrays, p->leaves, e);
    if (status != RT_OK) return status;
    int ndim, count = p->count, last = p->count - 1;
    int64_t shape[RT_MAX_DIMS];
    if (out->storage) {
        /* The conversion to out's dtype is one more node; it goes again so that the program stays the caller's. */
        status = kn_program_convert(p, last, out->dtype, &last, e);
        if (status == RT_OK) status = run_into(p, out, e);
        p->count = count;
        return status;
    }
    status = kn_program_shape(p, &ndim, shape, e);
    if (status != RT_OK) return status;
    status = rt_array_new(rt_array_device(p->arrays[0]), p->nodes[last].dtype, ndim, shape, out, e);
    if (status != RT_OK) return status;
    status = kn_program_evaluate(p, out, e);
    if (status != RT_OK) rt_array_release(out);
    return status;
}

/* Arrays of which one thread computes the result, contiguous: one loop over them, which takes no program, is what is
 * most common. Small ones are converted or repeated before where need be, and some may be numbers. One array at least,
 * the whole, has the result's shape; the others have it, too, or are its rows. */
struct plain {
    struct kn_signature signature;
    const struct rt_array *whole;
    size_t n;
    size_t sizes[3]; /* elements of the operands */
};

static bool is_dense(const struct rt_array *a)
{
    return rt_array_contiguous(a) && rt_array_alive(a, NULL) == RT_OK;
}

/* Whether the last axes of the whole are all that `a` has, but for some of size 1 before them. */
static bool is_row_of(const struct rt_array *a, const struct rt_array *whole)
{
    int from = 0, fewer = whole->ndim - a->ndim;
    if (fewer < 0) return false;
    while (from < a->ndim && a->shape[from] == 1) from++;
    for (int i = from; i < a->ndim; i++)
        if (a->shape[i] != whole->shape[i + fewer]) return false;
    return true;
}

/* Over values as they lie in memory; NULL where that takes those of a class. */
static kn_op_loop *plain_loop(const struct kn_signature *s)
{
    return kn_stored_loop(kn_host_loops(), s->op, kn_ops[s->op].arity > 1 ? s->others : s->first);
}

static bool find_whole(const struct kn_operand *args, int arity, struct plain *p)
{
    p->whole = NULL;
    for (int i = 0; i < arity; i++) {
        const struct rt_array *a = args[i].array;
        p->sizes[i] = a ? (size_t)rt_array_size(a) : 0;
        if (a && (!p->whole || p->sizes[i] > p->n || (p->sizes[i] == p->n && a->ndim > p->whole->ndim))) {
            p->whole = a;
            p->n = p->sizes[i];
        }
    }
    return p->whole && p->whole->ndim > 0 && p->n > 0 && p->n <= KN_GRAIN * 4;
}

/* The loop goes from where the operands lie to where the result does, and takes one thread. */
static bool is_straight(const struct kn_operand *args, int arity, const struct plain *p)
{
    const struct kn_signature *s = &p->signature;
    size_t widest = rt_dtypes[s->result].size;
    for (int i = 0; i < arity; i++) {
        const struct rt_array *a = args[i].array;
        if (!a || p->sizes[i] != p->n || a->dtype != (i == 0 ? s->first : s->others)) return false;
        if (rt_dtypes[a->dtype].size > widest) widest = rt_dtypes[a->dtype].size;
    }
    return p->n <= kn_op_grain(s->op, widest) && plain_loop(s) != NULL;
}

/* It can be written while they are read. */
static bool is_plain_output(const struct kn_operand *args, int arity, const struct plain *p, const struct rt_array *out)
{
    for (int i = 0; i < arity; i++) {
        const struct rt_array *b = args[i].array;
        if (b && rt_array_overlap(b, out) && !same_elements(b, out)) return false;
    }
    return p->signature.result == out->dtype && rt_array_same_shape(p->whole, out) && rt_array_contiguous(out) &&
           rt_array_device(out) == rt_array_device(p->whole) && rt_array_writable(out, NULL) == RT_OK;
}

/* False where it takes a program, which tells mistakes, too. */
static bool is_plain(enum kn_op op, const struct kn_operand *args, const struct rt_array *out, struct plain *p)
{
    const int arity = kn_ops[op].arity;
    struct kn_signature *s = &p->signature;
    struct kn_type types[3];
    if (!find_whole(args, arity, p) || kn_runs_generated(rt_array_device(p->whole))) return false;
    for (int i = 0; i < arity; i++) {
        const struct rt_array *b = args[i].array;
        types[i] = b ? (struct kn_type){.dtype = b->dtype} : number_type(&args[i]);
        if (!b) continue;
        if (rt_array_device(b) != rt_array_device(p->whole) || !is_dense(b)) return false;
        if (!rt_array_same_shape(b, p->whole) && !is_row_of(b, p->whole)) return false;
    }
    if (kn_infer(op, types, s, NULL) != RT_OK) return false;
    if (p->n > KN_BLOCK && !is_straight(args, arity, p)) return false;
    for (int i = 0; i < arity; i++) {
        const enum rt_dtype t = i == 0 ? s->first : s->others, from = types[i].dtype;
        if (types[i].number && kn_number_fits(t, &args[i], kn_ops[op].name, NULL) != RT_OK) return false;
        if (types[i].number || from == t) continue;
        if (kn_check_conversion(from, t, NULL) != RT_OK || !kn_stored_conversion(kn_host_loops(), from, t))
            return false;
    }
    if (op == KN_POW && args[0].array && types[1].number) simple_power(&args[1], s->first, &s->op);
    return !out->storage || is_plain_output(args, arity, p, out);
}

/* The first `size` bytes of a block again and again, until there are as many as `whole`. */
static void repeat_row(char *block, size_t size, size_t whole)
{
    while (size < whole) {
        const size_t more = size < whole - size ? size : whole - size;
        memcpy(block + size, block, more);
        size += more;
    }
}

/* The values of an operand, of dtype t, where it has them or in the block; of its class unless `stored`. */
static const void *plain_values(const struct kn_operand *from, enum rt_dtype t, bool stored, size_t size, size_t n,
                                char *block)
{
    const struct rt_array *a = from->array;
    if (!a) {
        (stored ? kn_fill_stored : kn_fill_block)(block, t, from, n);
        return block;
    }
    const void *values = rt_array_host(a);
    const size_t element = stored ? rt_dtypes[t].size : kn_classes[kn_class_of(t)].size;
    if (stored && a->dtype == t && size == n) return values;
    if (a->dtype != t)
        kn_stored_conversion(kn_host_loops(), a->dtype, t)(block, values, size);
    else if (stored)
        memcpy(block, values, size * element);
    else
        kn_host_loops()->load[t](block, values, 1, size);
    repeat_row(block, size * element, n * element);
    return block;
}

/* By the loop over values as they lie in memory or, where there is none, by that of their class. */
static enum rt_status apply_plain(const struct kn_operand *args, const struct plain *p, struct rt_array *out,
                                  struct rt_error *e)
{
    const struct kn_loops *l = kn_host_loops();
    const struct rt_array *a = p->whole;
    const struct kn_signature *s = &p->signature;
    const int arity = kn_ops[s->op].arity;
    kn_op_loop *loop = plain_loop(s);
    const bool stored = loop != NULL;
    _Alignas(64) char blocks[3][KN_BLOCK * RT_ELEMENT];
    const void *v[3] = {0};
    if (!out->storage) {
        enum rt_status status = rt_array_new(rt_array_device(a), s->result, a->ndim, a->shape, out, e);
        if (status != RT_OK) return status;
    }
    for (int i = 0; i < arity; i++) {
        const enum rt_dtype t = i == 0 ? s->first : s->others;
        v[i] = plain_values(&args[i], t, stored || kn_class_exact(t), p->sizes[i], p->n, blocks[i]);
    }
    if (!stored) loop = l->ops[s->op][kn_class_of(arity > 1 ? s->others : s->first)];
    if (stored || kn_class_exact(s->result)) {
        loop(rt_array_host(out), v[0], v[1], v[2], p->n);
        return RT_OK;
    }
    loop(blocks[0], v[0], v[1], v[2], p->n);
    l->store[s->result](rt_array_host(out), 1, blocks[0], p->n); /* rounded */
    return RT_OK;
}

/* Fills a new array with the answer to all elements of one that the host reaches. False where it takes a program. */
static bool apply_answer(enum kn_op op, const struct kn_operand *args, struct rt_array *out)
{
    const struct rt_array *a = args[0].array;
    if (kn_ops[op].arity != 1 || out->storage || kn_runs_generated(rt_array_device(a))) return false;
    const int answer = kn_answer_to_all(op, a->dtype);
    const int64_t n = rt_array_size(a);
    if (answer < 0 || n == 0 || n > KN_ANSWERED || rt_array_alive(a, NULL) != RT_OK) return false;
    if (rt_array_new(rt_array_device(a), RT_BOOL, a->ndim, a->shape, out, NULL) != RT_OK) return false;
    memset(rt_array_host(out), answer, (size_t)n);
    return true;
}

enum rt_status kn_apply(enum kn_op op, const struct kn_operand *args, struct rt_array *out, struct rt_error *e)
{
    struct kn_program p;
    struct plain plain;
    if (is_plain(op, args, out, &plain)) return apply_plain(args, &plain, out, e);
    if (apply_answer(op, args, out)) return RT_OK;
    int nodes[3] = {0}, result;
    kn_program_start(&p);
    for (int i = 0; i < kn_ops[op].arity; i++) {
        enum rt_status status = args[i].array ? kn_program_array(&p, args[i].array, &nodes[i], e)
                                              : kn_program_number(&p, &args[i], &nodes[i], e);
        if (status != RT_OK) return status;
    }
    enum rt_status status = kn_program_op(&p, op, nodes, &result, e);
    return status == RT_OK ? kn_program_run(&p, out, e) : status;
}

/* Space */

static void swap_axes(struct kn_space *s, int i, int j)
{
    int64_t t = s->shape[i];
    s->shape[i] = s->shape[j], s->shape[j] = t;
    for (int k = 0; k <= s->leaves; k++) {
        t = s->strides[k][i];
        s->strides[k][i] = s->strides[k][j], s->strides[k][j] = t;
    }
}

static bool mergeable(const struct kn_space *s, int axis, const int64_t *size)
{
    for (int k = 0; k <= s->leaves; k++)
        if (s->strides[k][axis] != s->strides[k][axis + 1] * size[axis + 1]) return false;
    return true;
}

/* Merges neighbouring axes, from the last to the first, in place. */
static void merge_axes(struct kn_space *s)
{
    for (int i = s->ndim - 2; i >= 0; i--) {
        if (!mergeable(s, i, s->shape)) continue;
        s->shape[i] *= s->shape[i + 1];
        for (int k = 0; k <= s->leaves; k++) s->strides[k][i] = s->strides[k][i + 1];
        for (int j = i + 1; j < s->ndim - 1; j++) {
            s->shape[j] = s->shape[j + 1];
            for (int k = 0; k <= s->leaves; k++) s->strides[k][j] = s->strides[k][j + 1];
        }
        s->ndim--;
    }
}

void kn_space_make(const struct rt_array *const *arrays, int count, const struct rt_array *out, struct kn_space *s)
{
    s->ndim = 0;
    s->leaves = count;
    s->size = rt_array_size(out);
    for (int i = 0; i < out->ndim; i++) {
        if (out->shape[i] == 1) continue;
        s->shape[s->ndim] = out->shape[i];
        for (int k = 0; k < count; k++) {
            int axis = i - (out->ndim - arrays[k]->ndim);
            s->strides[k][s->ndim] = axis < 0 || arrays[k]->shape[axis] == 1 ? 0 : arrays[k]->strides[axis];
        }
        s->strides[count][s->ndim++] = out->strides[i];
    }
    for (int i = 1; i < s->ndim; i++) /* insertion sort by the output's strides, largest first */
        for (int j = i; j > 0 && llabs(s->strides[count][j]) > llabs(s->strides[count][j - 1]); j--)
            swap_axes(s, j, j - 1);
    merge_axes(s);
    if (s->ndim == 0) {
        s->ndim = 1;
        s->shape[0] = 1;
        for (int k = 0; k <= count; k++) s->strides[k][0] = 0;
    }
}

bool kn_space_linear(const struct kn_space *s, int leaf)
{
    int64_t expected = 1;
    for (int i = s->ndim - 1; i >= 0; i--) {
        if (s->strides[leaf][i] != expected && s->shape[i] != 1) return false;
        expected *= s->shape[i];
    }
    return true;
}

bool kn_space_constant(const struct kn_space *s, int leaf)
{
    for (int i = 0; i < s->ndim; i++)
        if (s->strides[leaf][i] != 0) return false;
    return true;
}
