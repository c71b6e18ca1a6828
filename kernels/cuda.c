/* Programs as generated CUDA C: one kernel for each structure of operations, dtypes and layouts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/generate.h"

#define UNROLL 4  /* elements that a thread has on their way at once */
#define WIDE   16 /* bytes that it loads at once of arrays that lie as they are gone over */
#define NARROW 16 /* indices of both axes of a tile from which tiles pay */

/* What the text depends on, and nothing else; its bytes are the key. */
enum layout { LINEAR, CONSTANT, STRIDED };
struct shape_key {
    uint8_t what; /* 'p', apart from the keys of other kinds of kernels */
    uint8_t any;  /* layout: the number of axes is an argument, too */
    uint8_t count, leaves, ndim, wide, out, layout[KN_MAX_LEAVES + 1];
    uint8_t vector;  /* elements that are loaded and stored at once; 0: of some array one */
    uint8_t across;  /* with `turned`: the axis that those leaves run along, where the output runs along the last */
    uint16_t turned; /* bit k: leaf k, which goes through a tile */
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

static bool all_linear(const struct generated *g)
{
    return g->key.ndim == 0 && g->program->leaves > 0 && g->program->leaves <= 4;
}

static bool copies(const struct kn_program *p)
{
    return p->count == 1 && p->nodes[0].kind == KN_NODE_ARRAY;
}

/* An array without a storage is one that is new when the kernel runs. */
static bool aligned(const struct rt_array *a, int elements)
{
    return !a->storage || rt_array_address(a) % (rt_dtypes[a->dtype].size * (size_t)elements) == 0;
}

/* Whether some operation computes for so long that loads hide behind it: series, and complex functions made of several
 * real ones. Written several times over their text would only take NVRTC as many times as long. */
static bool computes_long(const struct kn_program *p)
{
    for (int i = 0; i < p->count; i++) {
        const struct kn_node *n = &p->nodes[i];
        if (n->kind != KN_NODE_OP) continue;
        if (n->op >= KN_ERFINV && n->op <= KN_I1E) return true;
        bool function = kn_op_texts[n->op].rule == KN_RULE_FLOAT && n->op != KN_DIV && n->op != KN_RECIPROCAL;
        if (function && rt_is_complex(n->dtype)) return true;
    }
    return false;
}

/* As many elements at once as take WIDE bytes of the widest of the arrays, where they all lie so. */
static uint8_t choose_vector(const struct generated *g, const struct rt_array *out)
{
    const struct kn_program *p = g->program;
    size_t widest = rt_dtypes[out->dtype].size;
    for (int i = 0; i < p->leaves; i++)
        if (g->key.layout[i] == LINEAR && rt_dtypes[p->arrays[i]->dtype].size > widest)
            widest = rt_dtypes[p->arrays[i]->dtype].size;
    int elements = (int)(WIDE / widest);
    bool fits = all_linear(g) && elements > 1 && aligned(out, elements) && !computes_long(p) &&
                !(copies(p) && g->key.layout[0] == CONSTANT);
    for (int i = 0; i < p->leaves && fits; i++) fits = g->key.layout[i] == CONSTANT || aligned(p->arrays[i], elements);
    return fits ? (uint8_t)elements : 0;
}

/* Leaves that run along another axis than the output, two at most: neighbouring threads would read far apart. */
static void choose_turned(const struct kn_program *p, const struct kn_space *s, struct shape_key *k)
{
    int last = s->ndim - 1, count = 0, across = -1;
    for (int i = 0; i < p->count; i++)
        if (p->nodes[i].kind == KN_NODE_INDEX) return;
    if (s->shape[last] < NARROW || s->strides[s->leaves][last] != 1) return;
    for (int i = 0; i < s->leaves && count < 2; i++)
        for (int d = 0; d < last; d++) {
            if (s->strides[i][d] != 1 || s->shape[d] < NARROW || llabs(s->strides[i][last]) < NARROW) continue;
            if (across >= 0 && d != across) continue;
            across = d;
            k->turned |= (uint16_t)(1u << i);
            count++;
        }
    if (count) k->across = (uint8_t)across;
}

static void make_key(const struct kn_program *p, const struct kn_space *s, const struct rt_array *out,
                     enum kn_layouts layouts, struct generated *g)
{
    struct shape_key *k = &g->key;
    memset(k, 0, sizeof *k);
    g->program = p;
    k->what = 'p';
    k->count = (uint8_t)p->count;
    k->leaves = (uint8_t)p->leaves;
    k->any = layouts == KN_LAYOUT_ANY;
    k->wide = k->any || wide_offsets(s);
    k->out = (uint8_t)out->dtype;
    for (int i = 0; i <= p->leaves; i++) {
        k->layout[i] = k->any ? STRIDED : (uint8_t)layout_of(s, i);
        if (k->layout[i] == STRIDED) k->ndim = k->any ? RT_MAX_DIMS : (uint8_t)s->ndim;
    }
    if (!k->any) choose_turned(p, s, k);
    for (int i = 0; i <= p->leaves && k->turned; i++) k->layout[i] = STRIDED;
    if (k->turned) k->ndim = (uint8_t)s->ndim;
    k->vector = choose_vector(g, out);
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

/* WIDE bytes at once of each array, and of the rest that does not fill them element by element. */
static void write_vectors(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    int n = g->key.vector;
    char result[16], pointer[16];
    for (int i = 0; i < p->leaves; i++)
        if (g->key.layout[i] == CONSTANT)
            kn_put(t, "const %s v%d[1] = {p.a%d[0]};\n", kn_memory_type(p->arrays[i]->dtype), i, i);
    kn_put(t, "#pragma unroll 1\n");
    kn_put(t, "for (I at = ((I)blockIdx.x * %d + threadIdx.x) * %d; at < n; at += (I)gridDim.x * (%d * %d)) {\n",
           KN_THREADS, n, KN_THREADS, n);
    for (int i = 0; i < p->leaves; i++)
        if (g->key.layout[i] == LINEAR) kn_put(t, "Vector<%s> v%d;\n", kn_memory_type(p->arrays[i]->dtype), i);
    kn_put(t, "Vector<%s> out;\nconst bool whole = at + %d <= n;\nif (whole) {\n",
           kn_memory_type((enum rt_dtype)g->key.out), n);
    for (int i = 0; i < p->leaves; i++)
        if (g->key.layout[i] == LINEAR)
            kn_put(t, "v%d = *(const Vector<%s> *)(p.a%d + at);\n", i, kn_memory_type(p->arrays[i]->dtype), i);
    kn_put(t, "} else {\n#pragma unroll\nfor (int k = 0; k < %d; k++) {\nconst I i = at + k < n ? at + k : n - 1;\n",
           n);
    for (int i = 0; i < p->leaves; i++)
        if (g->key.layout[i] == LINEAR) kn_put(t, "v%d.v[k] = p.a%d[i];\n", i, i);
    kn_put(t, "}\n}\n#pragma unroll\nfor (int k = 0; k < %d; k++) {\nconst I i = at + k;\n", n);
    for (int i = 0; i < p->count; i++) {
        bool linear = p->nodes[i].kind == KN_NODE_ARRAY && g->key.layout[p->nodes[i].leaf] == LINEAR;
        snprintf(pointer, sizeof pointer, linear ? "v%d.v" : "v%d", p->nodes[i].leaf);
        kn_put_node(t, p, i, pointer, linear ? "k" : "0");
    }
    snprintf(result, sizeof result, "r%d", p->count - 1);
    kn_put_store(t, (enum rt_dtype)g->key.out, "out.v", "k", result);
    kn_put(t, "}\nif (whole) *(Vector<%s> *)(p.out + at) = out;\nelse {\n#pragma unroll\n",
           kn_memory_type((enum rt_dtype)g->key.out));
    kn_put(t, "for (int k = 0; k < %d; k++) if (at + k < n) p.out[at + k] = out.v[k];\n}\n}\n", n);
}

/* Few leaves: several elements of each are loaded before the first is stored, so that memory is kept busy. */
static bool unrolled(const struct generated *g)
{
    return !g->key.any && g->program->leaves > 0 && g->program->leaves <= 4 && !computes_long(g->program);
}

static void write_unrolled(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    char index[1024], result[16], pointer[16];
    bool linear = g->key.layout[p->leaves] == LINEAR;
    kn_put(t,
           "for (I first = (I)blockIdx.x * (%d * %d) + threadIdx.x; first < n; first += (I)gridDim.x * (%d * %d)) {\n",
           KN_THREADS, UNROLL, KN_THREADS, UNROLL);
    for (int i = 0; i < p->leaves; i++) kn_put(t, "%s v%d[%d];\n", kn_memory_type(p->arrays[i]->dtype), i, UNROLL);
    if (!linear) kn_put(t, "I to[%d];\n", UNROLL);
    kn_put(t, "#pragma unroll\nfor (int k = 0; k < %d; k++) {\nI i = first + k * %d; if (i >= n) i = n - 1;\n", UNROLL,
           KN_THREADS);
    write_coordinates(g, t);
    for (int i = 0; i < p->leaves; i++) {
        index_text(g, i, index, sizeof index);
        kn_put(t, "v%d[k] = p.a%d[%s];\n", i, i, index);
    }
    index_text(g, p->leaves, index, sizeof index);
    if (!linear) kn_put(t, "to[k] = %s;\n", index);
    kn_put(t, "}\n#pragma unroll\nfor (int k = 0; k < %d; k++) {\nconst I i = first + k * %d; if (i >= n) break;\n",
           UNROLL, KN_THREADS);
    for (int i = 0; i < p->count && !copies(p); i++) {
        snprintf(pointer, sizeof pointer, "v%d", p->nodes[i].leaf);
        kn_put_node(t, p, i, pointer, "k");
    }
    snprintf(result, sizeof result, "r%d", p->count - 1);
    if (copies(p))
        kn_put(t, "p.out[%s] = v0[k];\n", linear ? "i" : "to[k]");
    else
        kn_put_store(t, (enum rt_dtype)g->key.out, "p.out", linear ? "i" : "to[k]", result);
    kn_put(t, "}\n}\n");
}

/* Elements along each of the two axes of a tile: of wider ones fewer, so that several blocks have room for theirs. */
static int tile_of(const struct generated *g)
{
    size_t widest = 0;
    for (int i = 0; i < g->program->leaves; i++) {
        size_t size = rt_dtypes[g->program->arrays[i]->dtype].size;
        if (g->key.turned >> i & 1 && size > widest) widest = size;
    }
    return widest <= 4 ? 64 : 32;
}

/* What leaves and the output have at coordinates y, x of the two axes, beyond the tiles' base. */
static void tile_index_text(const struct generated *g, int leaf, char *out, size_t size)
{
    snprintf(out, size, "b%d + y * (I)p.s%d[%d] + x * (I)p.s%d[%d]", leaf, leaf, g->key.across, leaf, g->key.ndim - 1);
}

static bool is_turned(const struct generated *g, int leaf)
{
    return g->key.turned >> leaf & 1;
}

/* Where a tile begins along both axes, y0 and x0, and with which element of each leaf and of the output. */
static void write_tile_base(const struct generated *g, struct kn_text *t)
{
    const int leaves = g->program->leaves, tile = tile_of(g), across = g->key.across, last = g->key.ndim - 1;
    kn_put(t, "I rest = tile;\nconst I y0 = rest %% downs * %d; rest /= downs;\n", tile);
    kn_put(t, "const I x0 = rest %% alongs * %d; rest /= alongs;\n", tile);
    for (int i = 0; i <= leaves; i++) kn_put(t, "I b%d = 0;\n", i);
    for (int d = last - 1; d >= 0; d--) {
        if (d == across) continue;
        kn_put(t, "{ const I c = rest %% (I)p.shape[%d]; rest /= (I)p.shape[%d];\n", d, d);
        for (int i = 0; i <= leaves; i++) kn_put(t, "b%d += c * (I)p.s%d[%d];\n", i, i, d);
        kn_put(t, "}\n");
    }
}

/* Turned leaves are read along their own axis, each into its tile. */
static void write_tile_reads(const struct generated *g, struct kn_text *t)
{
    const int tile = tile_of(g);
    char index[128];
    kn_put(t, "#pragma unroll\nfor (int k = 0; k < %d; k += %d) {\nconst I y = y0 + column, x = x0 + row + k;\n", tile,
           KN_THREADS / tile);
    kn_put(t, "if (y < down && x < along) {\n");
    for (int i = 0; i < g->program->leaves; i++) {
        if (!is_turned(g, i)) continue;
        tile_index_text(g, i, index, sizeof index);
        kn_put(t, "t%d[row + k][column] = p.a%d[%s];\n", i, i, index);
    }
    kn_put(t, "}\n}\n__syncthreads();\n");
}

/* The program over a tile, along the output's axis. */
static void write_tile_results(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    const int tile = tile_of(g);
    char index[128], result[16], pointer[32];
    kn_put(t, "#pragma unroll%s\nfor (int k = 0; k < %d; k += %d) {\nconst I y = y0 + row + k, x = x0 + column;\n",
           p->count > 4 ? " 4" : "", tile, KN_THREADS / tile);
    kn_put(t, "if (y < down && x < along) {\n");
    for (int i = 0; i < p->count && !copies(p); i++) {
        bool turned = p->nodes[i].kind == KN_NODE_ARRAY && is_turned(g, p->nodes[i].leaf);
        snprintf(pointer, sizeof pointer, turned ? "t%d[column]" : "p.a%d", p->nodes[i].leaf);
        if (turned)
            snprintf(index, sizeof index, "row + k");
        else
            tile_index_text(g, p->nodes[i].leaf, index, sizeof index);
        kn_put_node(t, p, i, pointer, index);
    }
    tile_index_text(g, p->leaves, index, sizeof index);
    snprintf(result, sizeof result, "r%d", p->count - 1);
    if (copies(p))
        kn_put(t, "p.out[%s] = t0[column][row + k];\n", index);
    else
        kn_put_store(t, (enum rt_dtype)g->key.out, "p.out", index, result);
    kn_put(t, "}\n}\n__syncthreads();\n");
}

/* Leaves that lie turned are read by tiles, so that reading and writing both go along memory. */
static void write_tiles(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    const int tile = tile_of(g);
    for (int i = 0; i < p->leaves; i++) {
        int size = rt_dtypes[p->arrays[i]->dtype].size, odd = size < 4 ? 4 / size : 1;
        if (is_turned(g, i)) /* the odd elements keep a column in different banks */
            kn_put(t, "__shared__ %s t%d[%d][%d];\n", kn_memory_type(p->arrays[i]->dtype), i, tile, tile + odd);
    }
    kn_put(t, "const I down = (I)p.shape[%d], along = (I)p.shape[%d];\n", g->key.across, g->key.ndim - 1);
    kn_put(t, "const I downs = (down + %d) / %d, alongs = (along + %d) / %d;\n", tile - 1, tile, tile - 1, tile);
    kn_put(t, "const int column = threadIdx.x %% %d, row = threadIdx.x / %d;\n", tile, tile);
    kn_put(t, "const I tiles = downs * alongs * (n / down / along);\n");
    kn_put(t, "#pragma unroll 1\nfor (I tile = blockIdx.x; tile < tiles; tile += gridDim.x) {\n");
    write_tile_base(g, t);
    write_tile_reads(g, t);
    write_tile_results(g, t);
    kn_put(t, "}\n");
}

/* A copy moves bits; loading and storing could change a NaN's. */
static void write_copy(const struct generated *g, struct kn_text *t)
{
    char to[1024], from[1024];
    int v = g->key.vector;
    const char *type = kn_memory_type((enum rt_dtype)g->key.out);
    if (v) {
        kn_put(t, "for (I at = ((I)blockIdx.x * %d + threadIdx.x) * %d; at < n; at += (I)gridDim.x * (%d * %d)) {\n",
               KN_THREADS, v, KN_THREADS, v);
        kn_put(t, "if (at + %d <= n) *(Vector<%s> *)(p.out + at) = *(const Vector<%s> *)(p.a0 + at);\n", v, type, type);
        kn_put(t, "else for (I i = at; i < n; i++) p.out[i] = p.a0[i];\n}\n");
        return;
    }
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
    if (g->key.vector)
        kn_put(t, "template <class T> struct __align__(%d * sizeof(T)) Vector { T v[%d]; };\n", g->key.vector,
               g->key.vector);
    kn_put(t, "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\nconst I n = (I)p.n;\n",
           KN_THREADS);
    if (g->key.turned) {
        write_tiles(g, t);
    } else if (g->key.vector && !copies(p)) {
        write_vectors(g, t);
    } else if (unrolled(g) && !g->key.vector) {
        write_unrolled(g, t);
    } else if (copies(p)) {
        write_copy(g, t);
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
    make_key(p, &s, &form, KN_LAYOUT_OWN, &g);
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
    make_key(p, s, out, layouts, g);
    int64_t each = KN_THREADS * (g->key.vector ? g->key.vector : unrolled(g) ? UNROLL : 1);
    if (g->key.turned) each = tile_of(g) * tile_of(g);
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

void kn_programs_follow(const struct kn_program *const *p, const struct rt_array *const *out, int count)
{
    struct kn_space s;
    struct generated g[KN_MOST_TOGETHER];
    struct kn_launch l[KN_MOST_TOGETHER];
    const struct kn_launch *all[KN_MOST_TOGETHER];
    struct rt_device *d = rt_array_device(out[0]);
    if (!kn_runs_generated(d)) return;
    for (int i = 0; i < count; i++) {
        l[i] = launch_of(p[i], out[i], KN_LAYOUT_OWN, &s, &g[i]);
        all[i] = &l[i];
    }
    kn_hurry_together(d, all, count);
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
