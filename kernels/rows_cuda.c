/* Stages over rows as one kernel of generated CUDA C: a block goes through all stages of a row, whose reductions it
 * keeps in registers, in the order in which kernels/reduce_cuda.c reduces a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/generate.h"
#include "kernels/reduce.h"
#include "kernels/rows.h"

#define LONGEST    16384 /* elements of a row that reductions have one block for */
#define SHORTEST   32    /* from which they have no thread for */
#define MOST       8     /* stages */
#define MAX_KEY    (8 + MOST * (16 + KN_MAX_NODES * (int)sizeof(struct kn_node_key) + KN_MAX_LEAVES))
#define MOST_WORDS 400

struct part {
    struct kn_program program;   /* whose last node has the dtype that is combined, or stored */
    struct kn_space rows;        /* of the leaves' strides from row to row */
    int64_t step[KN_MAX_LEAVES]; /* and within a row */
    int from[KN_MAX_LEAVES];     /* the stage that computes the leaf; -1: it is an array */
    bool reduces;
    enum kn_op combine;
    const struct rt_array *out;
};

struct kernel {
    int count;
    struct part parts[MOST];
    struct kn_words words;
    size_t key_bytes;
    unsigned char key[MAX_KEY];
};

static void write_struct(const struct part *s, int i, struct kn_text *t)
{
    kn_put(t, "struct S%d {\n", i);
    kn_put_members(t, &s->program);
    kn_put(t, "%s *out;\nlong long shape[%d];\n", kn_memory_type(s->out->dtype), s->rows.ndim);
    for (int k = 0; k < s->program.leaves; k++) kn_put(t, "long long s%d[%d], step%d;\n", k, s->rows.ndim, k);
    kn_put(t, "};\n");
}

/* The offsets of a row's first elements, as first0, first1, ... */
static void write_first(const struct part *s, struct kn_text *t)
{
    kn_put(t, "long long rest = row;\n");
    for (int k = 0; k < s->program.leaves; k++) kn_put(t, "long long first%d = 0;\n", k);
    for (int d = s->rows.ndim - 1; d >= 0; d--) {
        kn_put(t, "{ const long long x = rest %% p.shape[%d]; rest /= p.shape[%d];\n", d, d);
        for (int k = 0; k < s->program.leaves; k++) kn_put(t, "first%d += x * p.s%d[%d];\n", k, k, d);
        kn_put(t, "}\n");
    }
}

static void write_nodes(const struct part *s, struct kn_text *t)
{
    char pointer[16], index[48];
    for (int i = 0; i < s->program.count; i++) {
        const struct kn_node *n = &s->program.nodes[i];
        if (n->kind == KN_NODE_ARRAY && s->from[n->leaf] >= 0) {
            kn_put(t, "const %s r%d = result%d;\n", kn_classes[kn_class_of(n->dtype)].cuda, i, s->from[n->leaf]);
            continue;
        }
        snprintf(pointer, sizeof pointer, "p.a%d", n->leaf);
        snprintf(index, sizeof index, "first%d + e * p.step%d", n->leaf, n->leaf);
        kn_put_node(t, &s->program, i, pointer, index);
    }
}

static void write_combine(const struct part *s, struct kn_text *t, const char *other)
{
    enum rt_dtype accumulate = s->program.nodes[s->program.count - 1].dtype;
    kn_put_op(t, s->combine, kn_class_of(accumulate), accumulate, "value", (const char *[]){"value", other, other});
}

static void write_reduction(const struct part *s, int i, struct kn_text *t)
{
    int last = s->program.count - 1;
    enum rt_dtype accumulate = s->program.nodes[last].dtype, out = s->out->dtype;
    const char *v = kn_classes[kn_class_of(accumulate)].cuda, *result = kn_classes[kn_class_of(out)].cuda;
    kn_put(t, "%s result%d;\n{\nconst S%d &p = all.s%d;\n__shared__ %s values[%d];\n", result, i, i, i, v, KN_THREADS);
    write_first(s, t);
    kn_put(t, "%s value = 0; bool filled = false;\nfor (long long e = lane; e < length; e += %d) {\n", v, KN_THREADS);
    write_nodes(s, t);
    kn_put(t, "const %s next = r%d;\nif (!filled) { value = next; filled = true; }\nelse {\n", v, last);
    write_combine(s, t, "next");
    kn_put(t, "}\n}\nvalues[lane] = value;\n__syncthreads();\nfor (int half = %d; half > 0; half /= 2) {\n",
           KN_THREADS / 2);
    kn_put(t, "if (lane < half && lane + half < length) {\nconst %s next = values[lane + half];\n", v);
    write_combine(s, t, "next");
    kn_put(t, "values[lane] = value;\n}\n__syncthreads();\n}\nvalue = values[0];\nresult%d = ", i);
    kn_put_convert(t, kn_class_of(accumulate), out, "value");
    kn_put(t, ";\nif (lane == 0) {\n");
    char name[24];
    snprintf(name, sizeof name, "result%d", i);
    kn_put_store(t, out, "p.out", "row", name);
    kn_put(t, "}\n__syncthreads();\n}\n");
}

static void write_elements(const struct part *s, int i, bool of_rows, struct kn_text *t)
{
    char result[16];
    snprintf(result, sizeof result, "r%d", s->program.count - 1);
    kn_put(t, "{\nconst S%d &p = all.s%d;\n", i, i);
    write_first(s, t);
    kn_put(t, "for (long long e = lane; e < %s; e += %d) {\n", of_rows ? "1" : "length", KN_THREADS);
    write_nodes(s, t);
    kn_put_store(t, s->out->dtype, "p.out", of_rows ? "row" : "row * length + e", result);
    kn_put(t, "}\n}\n");
}

/* The last stage's result has one element of each row. */
static bool is_of_rows(const struct part *s)
{
    return s->out->shape[s->out->ndim - 1] == 1;
}

static void write_kernel(const void *context, struct kn_text *t)
{
    const struct kernel *k = context;
    for (int i = 0; i < k->count; i++) write_struct(&k->parts[i], i, t);
    kn_put(t, "struct Arguments {\nlong long rows, length;\n");
    for (int i = 0; i < k->count; i++) kn_put(t, "S%d s%d;\n", i, i);
    kn_put(t, "};\nextern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments all) {\n", KN_THREADS);
    kn_put(t, "const int lane = threadIdx.x; const long long length = all.length;\n");
    kn_put(t, "for (long long row = blockIdx.x; row < all.rows; row += gridDim.x) {\n");
    for (int i = 0; i < k->count; i++)
        if (k->parts[i].reduces)
            write_reduction(&k->parts[i], i, t);
        else
            write_elements(&k->parts[i], i, is_of_rows(&k->parts[i]), t);
    kn_put(t, "}\n}\n");
}

/* The leaves' strides over the axes of rows, and along the last one. */
static void make_strides(const struct kn_rows *r, struct part *s)
{
    struct rt_array leaves[KN_MAX_LEAVES], order = {.dtype = RT_FLOAT32, .ndim = r->outer};
    const struct rt_array *pointers[KN_MAX_LEAVES];
    int64_t stride = 1;
    for (int i = r->outer; i-- > 0; stride *= order.shape[i]) {
        order.shape[i] = r->shape[i];
        order.strides[i] = stride;
    }
    for (int k = 0; k < s->program.leaves; k++) {
        const struct rt_array *a = s->program.arrays[k];
        int last = a->ndim - 1, missing = r->ndim - a->ndim;
        s->step[k] = last >= 0 && a->shape[last] > 1 ? a->strides[last] : 0;
        leaves[k] = *a;
        pointers[k] = &leaves[k];
        leaves[k].ndim = r->outer > missing ? r->outer - missing : 0;
    }
    kn_space_make(pointers, s->program.leaves, &order, &s->rows);
}

static bool add_part(struct kernel *k, const struct kn_rows *r, int i)
{
    const struct kn_stage *s = &r->stages[i];
    struct part *to = &k->parts[i];
    if (!s->kept) return false;
    to->reduces = s->reduces;
    to->out = s->form;
    kn_program_assign(&to->program, &s->program);
    if (s->reduces && !kn_reduces_by_blocks(&s->program, s->reduction, r->outer, &to->program, &to->combine))
        return false;
    for (int leaf = 0; leaf < to->program.leaves; leaf++) {
        to->from[leaf] = -1;
        for (int j = 0; j < i; j++)
            if (to->program.arrays[leaf] == r->stages[j].form) to->from[leaf] = j;
    }
    make_strides(r, to);
    return true;
}

static void add_key(struct kernel *k, const void *bytes, size_t n)
{
    memcpy(k->key + k->key_bytes, bytes, n);
    k->key_bytes += n;
}

static void make_key(struct kernel *k)
{
    struct kn_node_key nodes[KN_MAX_NODES];
    k->key_bytes = 0;
    add_key(k, (uint8_t[]){'w', (uint8_t)k->count}, 2);
    for (int i = 0; i < k->count; i++) {
        const struct part *s = &k->parts[i];
        uint8_t from[KN_MAX_LEAVES];
        add_key(k,
                (uint8_t[]){s->reduces, (uint8_t)s->combine, (uint8_t)s->out->dtype, is_of_rows(s),
                            (uint8_t)s->rows.ndim, (uint8_t)s->program.leaves, (uint8_t)s->program.count},
                7);
        for (int leaf = 0; leaf < s->program.leaves; leaf++) from[leaf] = (uint8_t)(s->from[leaf] + 1);
        add_key(k, from, (size_t)s->program.leaves);
        kn_node_keys(&s->program, nodes);
        add_key(k, nodes, (size_t)s->program.count * sizeof *nodes);
    }
}

/* The members in the order in which they are written. */
static void fill_words(struct kernel *k, const struct kn_rows *r)
{
    struct kn_words *w = &k->words;
    int64_t rows = 1;
    for (int i = 0; i < r->outer; i++) rows *= r->shape[i];
    w->count = 0;
    kn_word(w, (uint64_t)rows);
    kn_word(w, (uint64_t)r->shape[r->outer]);
    for (int i = 0; i < k->count; i++) {
        const struct part *s = &k->parts[i];
        kn_word_program(w, &s->program);
        kn_word(w, rt_array_address(s->out));
        for (int d = 0; d < s->rows.ndim; d++) kn_word(w, (uint64_t)s->rows.shape[d]);
        for (int leaf = 0; leaf < s->program.leaves; leaf++) {
            for (int d = 0; d < s->rows.ndim; d++) kn_word(w, (uint64_t)s->rows.strides[leaf][d]);
            kn_word(w, (uint64_t)s->step[leaf]);
        }
    }
}

static bool make_kernel(struct kernel *k, const struct kn_rows *r)
{
    int64_t length = r->shape[r->ndim - 1];
    if (r->outer != r->ndim - 1 || r->count < 2 || r->count > MOST || length < SHORTEST || length > LONGEST)
        return false;
    k->count = r->count;
    for (int i = 0; i < r->count; i++)
        if (!add_part(k, r, i)) return false;
    make_key(k);
    return true;
}

/* Whether the elementwise stages, one after the other, would wait for no compiler. */
static bool stages_are_ready(const struct kn_rows *r)
{
    for (int i = 0; i < r->count; i++) {
        const struct kn_stage *s = &r->stages[i];
        if (!s->reduces && !kn_apart_is_ready(&s->program, s->form)) return false;
    }
    return true;
}

static void make_stages_ready(const struct kn_rows *r)
{
    for (int i = 0; i < r->count; i++) {
        const struct kn_stage *s = &r->stages[i];
        if (!s->reduces) kn_apart_make_ready(&s->program, s->form);
    }
}

bool kn_rows_cuda(const struct kn_rows *r, enum rt_status *status, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(r->stages[0].program.arrays[0]);
    struct kernel *k = rt_calloc(1, sizeof *k); /* keys are compared byte by byte */
    bool can = k && make_kernel(k, r);
    if (can) {
        fill_words(k, r);
        struct kn_launch l = {.key = k->key,
                              .key_bytes = k->key_bytes,
                              .write = write_kernel,
                              .context = k,
                              .words = &k->words,
                              .blocks = (int64_t)k->words.word[0]};
        can = k->words.count < MOST_WORDS;
        const bool is_new = can && kn_in_background(d) && !kn_is_ready(d, &l);
        if (is_new && stages_are_ready(r) && kn_make_ready(d, &l)) can = false;
        if (can) *status = kn_launch(d, &l, e); /* one kernel is sooner there than those of all stages */
        if (can && is_new && *status == RT_OK) make_stages_ready(r);
    }
    free(k);
    return can;
}

bool kn_rows_source(const struct kn_rows *r, struct kn_text *t)
{
    struct kernel *k = rt_calloc(1, sizeof *k); /* keys are compared byte by byte */
    bool can = k && make_kernel(k, r);
    if (can && t) write_kernel(k, t);
    free(k);
    return can;
}
