/* Contractions, see contract.h. Each term keeps an array, owned, and the labels of its axes, each of them once. */
#include "kernels/contract.h"
#include <string.h>
#include "kernels/program.h"

struct term {
    struct rt_array array;
    struct kn_labels labels;
};

struct contraction {
    const char *what;
    struct term terms[KN_MAX_OPERANDS];
    int count;
    const struct kn_labels *result;
    int64_t size[KN_MAX_LABELS]; /* of a label; -1: none has it */
};

static int axis_of(const struct kn_labels *l, int label)
{
    for (int i = 0; i < l->ndim; i++)
        if (l->label[i] == label) return i;
    return -1;
}

static void remove_axis(struct term *t, int axis)
{
    struct rt_array *a = &t->array;
    int after = --a->ndim - axis;
    t->labels.ndim--;
    memmove(a->shape + axis, a->shape + axis + 1, (size_t)after * sizeof *a->shape);
    memmove(a->strides + axis, a->strides + axis + 1, (size_t)after * sizeof *a->strides);
    memmove(t->labels.label + axis, t->labels.label + axis + 1, (size_t)after);
}

/* The term's array becomes another one, which it takes over. */
static void replace(struct term *t, struct rt_array *a)
{
    rt_array_release(&t->array);
    t->array = *a;
    memset(a, 0, sizeof *a);
}

static enum rt_status find_sizes(struct contraction *c, const struct rt_array *const *arrays,
                                 const struct kn_labels *labels, struct rt_error *e)
{
    for (int l = 0; l < KN_MAX_LABELS; l++) c->size[l] = -1;
    for (int i = 0; i < c->count; i++)
        for (int axis = 0; axis < arrays[i]->ndim; axis++) {
            int label = labels[i].label[axis];
            int64_t *known = &c->size[label], size = arrays[i]->shape[axis];
            bool repeats = label >= 52 && (size == 1 || *known == 1);
            if (*known < 0 || (repeats && size != 1))
                *known = size;
            else if (*known != size && !repeats)
                return rt_fail(e, RT_INVALID,
                               "%s: axis %d of array %d has %lld elements, but what it goes with has %lld", c->what,
                               axis + 1, i + 1, (long long)size, (long long)*known);
        }
    return RT_OK;
}

/* The operand in the common dtype, as a view of its diagonal where a label repeats and without axes to be repeated. */
static enum rt_status make_term(struct contraction *c, int i, const struct rt_array *from, const struct kn_labels *l,
                                enum rt_dtype dtype, struct rt_error *e)
{
    struct term *t = &c->terms[i];
    if (from->dtype == dtype) {
        rt_array_share(from, &t->array);
    } else {
        enum rt_status status = kn_convert(from, dtype, rt_array_device(from), &t->array, e);
        if (status != RT_OK) return status;
    }
    t->labels = *l;
    for (int axis = l->ndim - 1; axis >= 0; axis--) {
        int first = axis_of(&t->labels, t->labels.label[axis]);
        bool repeated = t->array.shape[axis] != c->size[t->labels.label[axis]];
        if (first < axis) t->array.strides[first] += t->array.strides[axis];
        if (first < axis || repeated) remove_axis(t, axis);
    }
    return RT_OK;
}

static bool needed_beside(const struct contraction *c, int label, int a, int b)
{
    if (axis_of(c->result, label) >= 0) return true;
    for (int i = 0; i < c->count; i++)
        if (i != a && i != b && axis_of(&c->terms[i].labels, label) >= 0) return true;
    return false;
}

/* Sums over the labels that nothing else has. */
static enum rt_status sum_alone(struct contraction *c, int i, struct rt_error *e)
{
    struct term *t = &c->terms[i];
    struct rt_array sum = {0}, same = {0};
    unsigned axes = 0;
    for (int axis = 0; axis < t->labels.ndim; axis++)
        if (!needed_beside(c, t->labels.label[axis], i, i)) axes |= 1u << axis;
    if (axes == 0) return RT_OK;
    enum rt_status status = kn_sum_wrapped(&t->array, axes, true, &sum, e);
    if (status == RT_OK && sum.dtype != t->array.dtype) {
        status = kn_convert(&sum, t->array.dtype, rt_array_device(&sum), &same, e);
        rt_array_release(&sum);
        sum = same;
    }
    if (status != RT_OK) return status;
    replace(t, &sum);
    for (int axis = t->labels.ndim - 1; axis >= 0; axis--)
        if (axes & 1u << axis) remove_axis(t, axis);
    return RT_OK;
}

/* Two terms. Their labels by what happens to them. */
struct pair {
    struct kn_labels batch, inner, left, right;
};

static void add_label(struct kn_labels *l, uint8_t label)
{
    l->label[l->ndim++] = label;
}

static void classify(const struct contraction *c, int i, int j, struct pair *p)
{
    const struct kn_labels *a = &c->terms[i].labels, *b = &c->terms[j].labels;
    memset(p, 0, sizeof *p);
    for (int k = 0; k < a->ndim; k++) {
        bool both = axis_of(b, a->label[k]) >= 0;
        add_label(!both ? &p->left : needed_beside(c, a->label[k], i, j) ? &p->batch : &p->inner, a->label[k]);
    }
    for (int k = 0; k < b->ndim; k++)
        if (axis_of(a, b->label[k]) < 0) add_label(&p->right, b->label[k]);
}

/* Elements over these labels; labels of one term, so it is as large as an array can be. */
static int64_t size_of(const struct contraction *c, const struct kn_labels *l)
{
    int64_t n = 1;
    for (int i = 0; i < l->ndim; i++)
        if (__builtin_mul_overflow(n, c->size[l->label[i]], &n)) return 0; /* only beside an axis of no elements */
    return n;
}

static double volume(const struct contraction *c, const struct kn_labels *l)
{
    double n = 1;
    for (int i = 0; i < l->ndim; i++) n *= (double)c->size[l->label[i]];
    return n;
}

/* The term's array with its axes in the order of the groups, each of the last `joined` groups as one axis. */
static enum rt_status arrange(const struct contraction *c, const struct term *t, const struct kn_labels *const *groups,
                              int count, int joined, struct rt_array *out, struct rt_error *e)
{
    int order[RT_MAX_DIMS], n = 0, ndim = 0;
    int64_t shape[RT_MAX_DIMS + 2];
    for (int g = 0; g < count; g++) {
        for (int i = 0; i < groups[g]->ndim; i++) {
            order[n++] = axis_of(&t->labels, groups[g]->label[i]);
            if (g < count - joined) shape[ndim++] = c->size[groups[g]->label[i]];
        }
        if (g >= count - joined) shape[ndim++] = size_of(c, groups[g]);
    }
    struct rt_array turned = {0}, whole = {0};
    enum rt_status status = rt_array_permute(&t->array, order, &turned, e);
    if (status != RT_OK) return status;
    status = rt_array_reshape(&turned, ndim, shape, out, NULL);
    if (status == RT_UNSUPPORTED) {
        status = kn_contiguous(&turned, &whole, e);
        if (status == RT_OK) status = rt_array_reshape(&whole, ndim, shape, out, e);
    } else if (status != RT_OK) {
        status = rt_fail(e, status, "%s: the pieces of a product have too many axes", c->what);
    }
    rt_array_release(&whole);
    rt_array_release(&turned);
    return status;
}

/* The product of two terms that share all of their summed labels, with the axes batch, left, right. */
static enum rt_status multiply_matrices(const struct contraction *c, int i, int j, const struct pair *p,
                                        struct rt_array *out, struct rt_error *e)
{
    const struct kn_labels *const left[] = {&p->batch, &p->left, &p->inner}, *const right[] = {&p->batch, &p->inner,
                                                                                               &p->right};
    struct rt_array a = {0}, b = {0}, product = {0};
    int64_t shape[RT_MAX_DIMS * 2];
    int ndim = 0;
    const struct kn_labels *const groups[] = {&p->batch, &p->left, &p->right};
    for (int g = 0; g < 3; g++)
        for (int k = 0; k < groups[g]->ndim; k++) shape[ndim++] = c->size[groups[g]->label[k]];
    enum rt_status status = arrange(c, &c->terms[i], left, 3, 2, &a, e);
    if (status == RT_OK) status = arrange(c, &c->terms[j], right, 3, 2, &b, e);
    if (status == RT_OK) status = kn_matmul(&a, &b, &product, e);
    if (status == RT_OK) status = rt_array_reshape(&product, ndim, shape, out, e);
    rt_array_release(&product);
    rt_array_release(&b);
    rt_array_release(&a);
    return status;
}

/* The same by multiplying element by element, for what needs no sum, or sums of one number each. */
static enum rt_status multiply_elements(const struct contraction *c, int i, int j, const struct pair *p,
                                        struct rt_array *out, struct rt_error *e)
{
    static const struct kn_labels none = {0};
    const struct kn_labels *const left[] = {&p->batch, &p->left, &none}, *const right[] = {&p->batch, &none, &p->right};
    struct rt_array a = {0}, b = {0};
    enum rt_status status = arrange(c, &c->terms[i], left, 3, 0, &a, e);
    if (status == RT_OK) status = arrange(c, &c->terms[j], right, 3, 0, &b, e);
    if (status == RT_OK && a.ndim + p->right.ndim > RT_MAX_DIMS)
        status = rt_fail(e, RT_INVALID, "%s: the product has more than %d axes", c->what, RT_MAX_DIMS);
    for (int k = 0; status == RT_OK && k < p->right.ndim; k++) {
        a.shape[a.ndim] = 1;
        a.strides[a.ndim++] = 1;
    }
    /* Between b's batch and right axes go those of the left ones. */
    if (status == RT_OK && p->left.ndim > 0) {
        int batch = p->batch.ndim, more = p->left.ndim;
        memmove(b.shape + batch + more, b.shape + batch, (size_t)p->right.ndim * sizeof *b.shape);
        memmove(b.strides + batch + more, b.strides + batch, (size_t)p->right.ndim * sizeof *b.strides);
        for (int k = batch; k < batch + more; k++) b.shape[k] = b.strides[k] = 1;
        b.ndim += more;
    }
    if (status == RT_OK) status = kn_apply(KN_MUL, (struct kn_operand[]){{.array = &a}, {.array = &b}}, out, e);
    rt_array_release(&b);
    rt_array_release(&a);
    return status;
}

/* What is summed over are rows that lie in memory one element after the other, of numbers for which products have loops
 * of their own. */
static bool is_rows(const struct term *t, const struct pair *p)
{
    const struct rt_array *a = &t->array;
    bool floats = a->dtype == RT_FLOAT32 || a->dtype == RT_FLOAT64;
    bool numbers = floats || (a->dtype != RT_BOOL && !kn_runs_generated(rt_array_device(a)));
    return numbers && p->inner.ndim == 1 && a->strides[axis_of(&t->labels, p->inner.label[0])] == 1;
}

/* Rows against rows: elements are multiplied, and what is to be summed is left for sum_alone. */
static bool by_rows(const struct contraction *c, int i, int j, const struct pair *p)
{
    const struct term *x = &c->terms[i], *y = &c->terms[j];
    if (is_rows(x, p) && is_rows(y, p) && x->array.dtype == y->array.dtype) return false;
    return p->batch.ndim > 0 && size_of(c, &p->left) == 1 && size_of(c, &p->right) == 1;
}

/* Puts the product of terms i and j in the place of i, and the last term in the place of j. */
static enum rt_status contract_pair(struct contraction *c, int i, int j, struct rt_error *e)
{
    struct pair p;
    struct rt_array out = {0};
    enum rt_status status;
    classify(c, i, j, &p);
    if (p.inner.ndim == 0 || by_rows(c, i, j, &p)) {
        for (int k = 0; k < p.inner.ndim; k++) add_label(&p.batch, p.inner.label[k]);
        status = multiply_elements(c, i, j, &p, &out, e);
    } else {
        status = multiply_matrices(c, i, j, &p, &out, e);
    }
    if (status != RT_OK) return status;
    struct kn_labels labels = {0};
    const struct kn_labels *const groups[] = {&p.batch, &p.left, &p.right};
    for (int g = 0; g < 3; g++)
        for (int k = 0; k < groups[g]->ndim; k++) add_label(&labels, groups[g]->label[k]);
    replace(&c->terms[i], &out);
    c->terms[i].labels = labels;
    rt_array_release(&c->terms[j].array);
    c->terms[j] = c->terms[--c->count];
    memset(&c->terms[c->count], 0, sizeof *c->terms);
    return sum_alone(c, i == c->count ? j : i, e);
}

/* The pair whose product grows least over what its terms take. */
static void choose_pair(const struct contraction *c, int *i, int *j)
{
    double least = 0;
    *i = -1;
    for (int a = 0; a < c->count; a++)
        for (int b = a + 1; b < c->count; b++) {
            struct pair p;
            classify(c, a, b, &p);
            double grown = volume(c, &p.batch) * volume(c, &p.left) * volume(c, &p.right) -
                           volume(c, &c->terms[a].labels) - volume(c, &c->terms[b].labels);
            if (*i >= 0 && grown >= least) continue;
            least = grown;
            *i = a;
            *j = b;
        }
    if (c->count != 2) return;
    /* Of the last two the one with the result's first label of its own goes left, so that nothing is to be turned. */
    struct pair p;
    classify(c, 0, 1, &p);
    for (int k = 0; k < c->result->ndim; k++) {
        if (axis_of(&p.left, c->result->label[k]) >= 0) return;
        if (axis_of(&p.right, c->result->label[k]) < 0) continue;
        *i = 1;
        *j = 0;
        return;
    }
}

/* The only term that is left, its axes in the result's order, apart from all operands. */
static enum rt_status finish(const struct contraction *c, const struct rt_array *const *arrays, int count,
                             struct rt_array *out, struct rt_error *e)
{
    const struct kn_labels *const groups[] = {c->result};
    struct rt_array turned = {0};
    bool shared = false;
    enum rt_status status = arrange(c, &c->terms[0], groups, 1, 0, &turned, e);
    if (status != RT_OK) return status;
    for (int i = 0; i < count; i++) shared |= turned.storage == arrays[i]->storage;
    if (shared)
        status = kn_convert(&turned, turned.dtype, rt_array_device(&turned), out, e);
    else
        status = kn_contiguous(&turned, out, e);
    rt_array_release(&turned);
    return status;
}

static enum rt_status common_dtype(const struct rt_array *const *arrays, int count, enum rt_dtype *out,
                                   struct rt_error *e)
{
    struct rt_array so_far = *arrays[0]; /* borrowed, for its dtype */
    enum rt_status status = RT_OK;
    for (int i = 0; i < count && status == RT_OK; i++) {
        struct kn_operand both[2] = {{.array = &so_far}, {.array = arrays[i]}};
        status = kn_result_dtype(KN_MUL, both, out, e);
        so_far.dtype = *out;
    }
    return status;
}

enum rt_status kn_contract(const char *what, const struct rt_array *const *arrays, const struct kn_labels *labels,
                           int count, const struct kn_labels *result, struct rt_array *out, struct rt_error *e)
{
    struct contraction c = {.what = what, .count = count, .result = result};
    enum rt_dtype dtype = RT_FLOAT32;
    memset(out, 0, sizeof *out);
    enum rt_status status = RT_OK;
    for (int i = 0; i < count && status == RT_OK; i++)
        status = kn_check_devices((const struct rt_array *const[]){arrays[0], arrays[i]}, 2, e);
    if (status == RT_OK) status = find_sizes(&c, arrays, labels, e);
    if (status == RT_OK) status = common_dtype(arrays, count, &dtype, e);
    for (int i = 0; i < count && status == RT_OK; i++) status = make_term(&c, i, arrays[i], &labels[i], dtype, e);
    for (int i = 0; i < count && status == RT_OK; i++) status = sum_alone(&c, i, e);
    while (c.count > 1 && status == RT_OK) {
        int i = 0, j = 1;
        choose_pair(&c, &i, &j);
        status = contract_pair(&c, i, j, e);
    }
    if (status == RT_OK) status = finish(&c, arrays, count, out, e);
    for (int i = 0; i < KN_MAX_OPERANDS; i++) rt_array_release(&c.terms[i].array);
    return status;
}
