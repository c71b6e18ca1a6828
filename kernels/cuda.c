/* Programs as generated CUDA C: one kernel for each structure of operations, dtypes and layouts. */
#include <stdio.h>
#include <string.h>
#include "kernels/generate.h"

#define UNROLL 4 /* elements that a thread has on their way at once */

/* What the text depends on, and nothing else; its bytes are the key. */
enum layout { LINEAR, CONSTANT, STRIDED };
struct shape_key {
    uint8_t what; /* 'p', apart from the keys of other kinds of kernels */
    uint8_t any;  /* layout: the number of axes is an argument, too */
    uint8_t count, leaves, ndim, wide, out, layout[KN_MAX_LEAVES + 1];
    struct kn_node_key nodes[KN_MAX_NODES];
};

struct generated {
    const struct kn_program *program;
    struct shape_key key;
    size_t key_bytes;
};

static enum layout layout_of(const struct kn_space *s, int leaf)
{
    if (leaf < s->leaves && kn_space_constant(s, leaf)) return CONSTANT;
    return kn_space_linear(s, leaf) ? LINEAR : STRIDED;
}

/* Whether offsets may need 64 bits. */
static bool wide_offsets(const struct kn_space *s)
{
    int64_t limit = INT32_MAX / 2;
    if (s->size >= limit) return true;
    for (int k = 0; k <= s->leaves; k++) {
        int64_t reach = 0;
        for (int i = 0; i < s->ndim; i++) {
            int64_t stride = s->strides[k][i] < 0 ? -s->strides[k][i] : s->strides[k][i];
            if (stride >= limit) return true;
            reach += stride * (s->shape[i] - 1);
        }
        if (reach >= limit) return true;
    }
    return false;
}

static void make_key(const struct kn_program *p, const struct kn_space *s, enum rt_dtype out, enum kn_layouts layouts,
                     struct generated *g)
{
    struct shape_key *k = &g->key;
    memset(k, 0, sizeof *k);
    g->program = p;
    k->what = 'p';
    k->count = (uint8_t)p->count;
    k->leaves = (uint8_t)p->leaves;
    k->any = layouts == KN_LAYOUT_ANY;
    k->wide = k->any || wide_offsets(s);
    k->out = (uint8_t)out;
    for (int i = 0; i <= p->leaves; i++) {
        k->layout[i] = k->any ? STRIDED : (uint8_t)layout_of(s, i);
        if (k->layout[i] == STRIDED) k->ndim = k->any ? RT_MAX_DIMS : (uint8_t)s->ndim;
    }
    kn_node_keys(p, k->nodes);
    g->key_bytes = offsetof(struct shape_key, nodes) + (size_t)p->count * sizeof *k->nodes;
}

/* The struct's members, in the order in which fill_words fills them. */
static void write_struct(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    kn_put(t, "struct Arguments {\nlong long n;\n");
    kn_put_members(t, p);
    kn_put(t, "%s *out;\n", kn_memory_type((enum rt_dtype)g->key.out));
    if (g->key.any) kn_put(t, "long long ndim;\n");
    if (g->key.ndim) kn_put(t, "long long shape[%d];\n", g->key.ndim);
    for (int i = 0; i <= p->leaves; i++)
        if (g->key.layout[i] == STRIDED) kn_put(t, "long long s%d[%d];\n", i, g->key.ndim);
    kn_put(t, "};\n");
}

/* Where a leaf's (or the output's) element is, as an expression over i and the coordinates x0, x1, ... */
static void index_text(const struct generated *g, int leaf, char *out, size_t size)
{
    size_t used = 0;
    if (g->key.layout[leaf] != STRIDED) {
        snprintf(out, size, g->key.layout[leaf] == LINEAR ? "i" : "0");
        return;
    }
    if (g->key.any) snprintf(out, size, "at%d", leaf);
    for (int d = 0; !g->key.any && d < g->key.ndim && used < size; d++)
        used += (size_t)snprintf(out + used, size - used, "%sx%d * (I)p.s%d[%d]", d ? " + " : "", d, leaf, d);
}

static void write_coordinates(const struct generated *g, struct kn_text *t)
{
    if (!g->key.ndim) return;
    kn_put(t, "I rest = i;\n");
    if (g->key.any) {
        for (int i = 0; i <= g->program->leaves; i++) kn_put(t, "I at%d = 0;\n", i);
        kn_put(t,
               "for (int d = (int)p.ndim - 1; d >= 0; d--) {\nconst I x = rest %% p.shape[d]; rest /= p.shape[d];\n");
        for (int i = 0; i <= g->program->leaves; i++) kn_put(t, "at%d += x * p.s%d[d];\n", i, i);
        kn_put(t, "}\n");
        return;
    }
    for (int d = g->key.ndim - 1; d > 0; d--)
        kn_put(t, "const I x%d = rest %% (I)p.shape[%d]; rest /= (I)p.shape[%d];\n", d, d, d);
    kn_put(t, "const I x0 = rest;\n");
}

static bool all_linear(const struct generated *g)
{
    return g->key.ndim == 0 && g->program->leaves > 0 && g->program->leaves <= 4;
}

/* Linear programs load several elements before they store the first, so that memory is kept busy. */
static void write_unrolled(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    char result[16];
    kn_put(t,
           "for (I first = (I)blockIdx.x * (%d * %d) + threadIdx.x; first < n; first += (I)gridDim.x * (%d * %d)) {\n",
           KN_THREADS, UNROLL, KN_THREADS, UNROLL);
    for (int i = 0; i < p->leaves; i++) kn_put(t, "%s v%d[%d];\n", kn_memory_type(p->arrays[i]->dtype), i, UNROLL);
    kn_put(t, "#pragma unroll\nfor (int k = 0; k < %d; k++) {\nI i = first + k * %d; if (i >= n) i = n - 1;\n", UNROLL,
           KN_THREADS);
    for (int i = 0; i < p->leaves; i++)
        kn_put(t, "v%d[k] = p.a%d[%s];\n", i, i, g->key.layout[i] == LINEAR ? "i" : "0");
    kn_put(t, "}\n#pragma unroll\nfor (int k = 0; k < %d; k++) {\nconst I i = first + k * %d; if (i >= n) break;\n",
           UNROLL, KN_THREADS);
    for (int i = 0; i < p->count; i++) {
        const struct kn_node *n = &p->nodes[i];
        if (n->kind != KN_NODE_ARRAY) {
            kn_put_node(t, p, i, NULL, NULL);
            continue;
        }
        char pointer[16];
        snprintf(pointer, sizeof pointer, "v%d", n->leaf);
        kn_put_node(t, p, i, pointer, "k");
    }
    snprintf(result, sizeof result, "r%d", p->count - 1);
    kn_put_store(t, (enum rt_dtype)g->key.out, "p.out", "i", result);
    kn_put(t, "}\n}\n");
}

/* A copy moves bits; loading and storing could change a NaN's. */
static void write_copy(const struct generated *g, struct kn_text *t)
{
    char to[1024], from[1024];
    index_text(g, 0, from, sizeof from);
    index_text(g, 1, to, sizeof to);
    kn_put(t, "for (I i = (I)blockIdx.x * %d + threadIdx.x; i < n; i += (I)gridDim.x * %d) {\n", KN_THREADS,
           KN_THREADS);
    write_coordinates(g, t);
    kn_put(t, "p.out[%s] = p.a0[%s];\n}\n", to, from);
}

static void write_kernel(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    char index[1024], result[16], pointer[16];
    kn_put(t, "typedef %s I;\n", g->key.wide ? "long long" : "int");
    write_struct(g, t);
    kn_put(t, "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\nconst I n = (I)p.n;\n",
           KN_THREADS);
    if (p->count == 1 && p->nodes[0].kind == KN_NODE_ARRAY) {
        write_copy(g, t);
    } else if (all_linear(g)) {
        write_unrolled(g, t);
    } else {
        kn_put(t, "for (I i = (I)blockIdx.x * %d + threadIdx.x; i < n; i += (I)gridDim.x * %d) {\n", KN_THREADS,
               KN_THREADS);
        write_coordinates(g, t);
        for (int i = 0; i < p->count; i++) {
            snprintf(pointer, sizeof pointer, "p.a%d", p->nodes[i].leaf);
            index_text(g, p->nodes[i].kind == KN_NODE_ARRAY ? p->nodes[i].leaf : 0, index, sizeof index);
            kn_put_node(t, p, i, pointer, index);
        }
        index_text(g, p->leaves, index, sizeof index);
        snprintf(result, sizeof result, "r%d", p->count - 1);
        kn_put_store(t, (enum rt_dtype)g->key.out, "p.out", index, result);
        kn_put(t, "}\n");
    }
    kn_put(t, "}\n");
}

static void write_program(const void *context, struct kn_text *t)
{
    write_kernel(context, t);
}

enum rt_status kn_program_source(const struct kn_program *p, struct kn_text *t, struct rt_error *e)
{
    struct rt_array form;
    struct kn_space s;
    struct generated g;
    enum rt_status status = kn_program_form(p, &form, e);
    if (status != RT_OK) return status;
    kn_space_make(p->arrays, p->leaves, &form, &s);
    make_key(p, &s, form.dtype, KN_LAYOUT_OWN, &g);
    write_kernel(&g, t);
    return t->failed ? rt_fail(e, RT_NOMEM, "out of memory for the text of a generated kernel") : RT_OK;
}

static void fill_words(const struct generated *g, const struct kn_space *s, const struct rt_array *out,
                       struct kn_words *w)
{
    w->count = 0;
    kn_word(w, (uint64_t)s->size);
    kn_word_program(w, g->program);
    kn_word(w, rt_array_address(out));
    if (g->key.any) kn_word(w, (uint64_t)s->ndim);
    for (int d = 0; d < g->key.ndim; d++) kn_word(w, d < s->ndim ? (uint64_t)s->shape[d] : 1);
    for (int i = 0; i <= s->leaves; i++)
        for (int d = 0; g->key.layout[i] == STRIDED && d < g->key.ndim; d++)
            kn_word(w, d < s->ndim ? (uint64_t)s->strides[i][d] : 0);
}

/* All but the words. */
static struct kn_launch launch_of(const struct kn_program *p, const struct rt_array *out, enum kn_layouts layouts,
                                  struct kn_space *s, struct generated *g)
{
    kn_space_make(p->arrays, p->leaves, out, s);
    make_key(p, s, out->dtype, layouts, g);
    int64_t each = all_linear(g) ? KN_THREADS * UNROLL : KN_THREADS;
    return (struct kn_launch){.key = &g->key,
                              .key_bytes = g->key_bytes,
                              .write = write_program,
                              .context = g,
                              .blocks = (s->size + each - 1) / each};
}

bool kn_cuda_is_ready(const struct kn_program *p, const struct rt_array *out, enum kn_layouts layouts)
{
    struct kn_space s;
    struct generated g;
    struct kn_launch l = launch_of(p, out, layouts, &s, &g);
    return kn_is_ready(rt_array_device(out), &l);
}

bool kn_cuda_make_ready(const struct kn_program *p, const struct rt_array *out, enum kn_layouts layouts)
{
    struct kn_space s;
    struct generated g;
    struct kn_launch l = launch_of(p, out, layouts, &s, &g);
    return kn_make_ready(rt_array_device(out), &l);
}

enum rt_status kn_cuda_launch(const struct kn_program *p, const struct rt_array *out, enum kn_layouts layouts,
                              struct rt_error *e)
{
    struct kn_space s;
    struct generated g;
    struct kn_words w;
    struct kn_launch l = launch_of(p, out, layouts, &s, &g);
    fill_words(&g, &s, out, &w);
    l.words = &w;
    return kn_launch(rt_array_device(out), &l, e);
}

/* A kernel that is new is waited for only where those that serve meanwhile are new, too. */
enum rt_status kn_cuda_run(const struct kn_program *p, const struct rt_array *out, struct rt_error *e)
{
    bool waits = kn_in_background(rt_array_device(out)) && !kn_cuda_is_ready(p, out, KN_LAYOUT_OWN);
    bool apart = waits && kn_apart_is_ready(p, out) && kn_cuda_make_ready(p, out, KN_LAYOUT_OWN);
    enum rt_status status = apart ? kn_apart_run(p, out, e) : RT_NOMEM;
    if (status != RT_NOMEM) return status;
    rt_error_clear(e); /* there was no room for what the whole need not store */
    status = kn_cuda_launch(p, out, KN_LAYOUT_OWN, e);
    if (waits && !apart && status == RT_OK) kn_apart_make_ready(p, out);
    return status;
}
