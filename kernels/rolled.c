#include "kernels/rolled.h"
#include <string.h>

#define MOST_CELLS 64   /* of a program that is evaluated by cells, */
#define LEAST      2048 /* which has as many elements for each */
#define LEAST_LINE 64   /* along the last axis of the greatest cell: shorter lines take longer than a copy */

/* Where some leaf comes round the end of an axis, with its two ends: cells lie between these. */
struct cuts {
    int count;
    int64_t at[KN_MAX_LEAVES + 2];
};

struct cells {
    const struct kn_program *program;
    const struct kn_rolled *leaves;
    const struct rt_array *out;
    struct cuts cuts[RT_MAX_DIMS];
};

static void find_cuts(const struct kn_rolled *leaves, int count, int axis, int64_t size, struct cuts *c)
{
    c->count = 1;
    c->at[0] = 0;
    for (int i = 0; i <= count; i++) { /* in order, the end as the last one */
        const int64_t cut = i == count ? size : leaves[i].array ? leaves[i].shift[axis] : 0;
        int k = c->count;
        while (c->at[k - 1] > cut) k--;
        if (c->at[k - 1] == cut) continue;
        memmove(c->at + k + 1, c->at + k, (size_t)(c->count - k) * sizeof *c->at);
        c->at[k] = cut;
        c->count++;
    }
}

/* The greatest cell's place along an axis. */
static int greatest_of(const struct cuts *c)
{
    int best = 0;
    for (int k = 1; k + 1 < c->count; k++)
        if (c->at[k + 1] - c->at[k] > c->at[best + 1] - c->at[best]) best = k;
    return best;
}

bool kn_rolled_fits(const struct kn_rolled *leaves, int count, const struct rt_array *form)
{
    int64_t cells = 1;
    for (int i = 0; i < count; i++)
        if (leaves[i].array && !rt_array_same_shape(leaves[i].array, form)) return false;
    for (int axis = 0; axis < form->ndim; axis++) {
        struct cuts c;
        find_cuts(leaves, count, axis, form->shape[axis], &c);
        cells *= c.count - 1;
        const int k = greatest_of(&c);
        if (cells > MOST_CELLS || cells * LEAST > rt_array_size(form)) return false;
        if (axis == form->ndim - 1 && c.count > 2 && c.at[k + 1] - c.at[k] < LEAST_LINE) return false;
    }
    return true;
}

/* The part of a leaf that a cell of `out` reads; where the leaf is broadcast it has size 1. */
static struct rt_array part_of(const struct kn_rolled *leaf, const struct rt_array *own, const struct rt_array *out,
                               const int64_t *begin, const int64_t *size)
{
    struct rt_array part = leaf->array ? *leaf->array : *own;
    for (int i = 0; i < part.ndim; i++) {
        const int axis = i + out->ndim - part.ndim;
        if (part.shape[i] == 1 && out->shape[axis] != 1) continue;
        int64_t first = begin[axis] - (leaf->array ? leaf->shift[i] : 0);
        if (first < 0) first += part.shape[i];
        part.shape[i] = size[axis];
        part.offset += first * part.strides[i];
    }
    return part;
}

static enum rt_status run_parts(const struct cells *c, const struct rt_array *parts, const struct rt_array *out,
                                struct rt_error *e)
{
    struct kn_program p;
    kn_program_assign(&p, c->program);
    for (int i = 0; i < p.leaves; i++) p.arrays[i] = &parts[i];
    return kn_program_evaluate(&p, out, e);
}

/* `at`: the cell's place along each axis. */
static enum rt_status run_cell(const struct cells *c, const int *at, struct rt_error *e)
{
    struct rt_array parts[KN_MAX_LEAVES];
    int64_t begin[RT_MAX_DIMS], size[RT_MAX_DIMS];
    for (int i = 0; i < c->out->ndim; i++) {
        begin[i] = c->cuts[i].at[at[i]];
        size[i] = c->cuts[i].at[at[i] + 1] - begin[i];
    }
    for (int i = 0; i < c->program->leaves; i++)
        parts[i] = part_of(&c->leaves[i], c->program->arrays[i], c->out, begin, size);
    const struct rt_array out = part_of(&(struct kn_rolled){0}, c->out, c->out, begin, size);
    return run_parts(c, parts, &out, e);
}

/* Whether a leaf's elements lie as the contiguous result's do, or it is one element. */
static bool lies_alike(const struct rt_array *a, const struct rt_array *out)
{
    return rt_array_size(a) == 1 || (rt_array_same_shape(a, out) && rt_array_contiguous(a));
}

/* The greatest cell as one run of elements from its first to its last, where all leaves lie alike: each of them is then
 * read at one distance. What is between the cell's lines comes out wrong, and right when the other cells are done.
 * False where that is too much. */
static bool run_line(const struct cells *c, const int *at, enum rt_status *status, struct rt_error *e)
{
    struct rt_array parts[KN_MAX_LEAVES], out = *c->out;
    int64_t begin[RT_MAX_DIMS], first = 0, last = 0, cell = 1;
    bool alike = rt_array_contiguous(&out);
    for (int i = 0; i < out.ndim; i++) {
        begin[i] = c->cuts[i].at[at[i]];
        const int64_t end = c->cuts[i].at[at[i] + 1];
        first += begin[i] * out.strides[i];
        last += (end - 1) * out.strides[i];
        cell *= end - begin[i];
    }
    for (int i = 0; i < c->program->leaves; i++)
        alike &= lies_alike(c->leaves[i].array ? c->leaves[i].array : c->program->arrays[i], &out);
    const int64_t n = last + 1 - first;
    if (!alike || cell < n - n / 8) return false;
    for (int i = 0; i < c->program->leaves; i++) {
        const struct kn_rolled *leaf = &c->leaves[i];
        struct rt_array *part = &parts[i];
        *part = leaf->array ? *leaf->array : *c->program->arrays[i];
        const bool one = rt_array_size(part) == 1;
        for (int k = 0; k < out.ndim && !one; k++) {
            const int64_t shift = leaf->array ? leaf->shift[k] : 0;
            part->offset += (begin[k] - shift + (begin[k] < shift ? out.shape[k] : 0)) * out.strides[k];
        }
        part->ndim = 1;
        part->shape[0] = one ? 1 : n;
        part->strides[0] = 1;
    }
    out.ndim = 1;
    out.shape[0] = n;
    out.strides[0] = 1;
    out.offset += first;
    *status = run_parts(c, parts, &out, e);
    return true;
}

enum rt_status kn_rolled_run(const struct kn_program *p, const struct kn_rolled *leaves, const struct rt_array *out,
                             struct rt_error *e)
{
    struct cells c = {.program = p, .leaves = leaves, .out = out};
    int at[RT_MAX_DIMS] = {0}, greatest[RT_MAX_DIMS] = {0};
    enum rt_status status = RT_OK;
    if (rt_array_size(out) == 0) return RT_OK;
    for (int i = 0; i < p->leaves && status == RT_OK; i++)
        if (leaves[i].array) status = rt_array_alive(leaves[i].array, e);
    for (int i = 0; i < out->ndim; i++) {
        find_cuts(leaves, p->leaves, i, out->shape[i], &c.cuts[i]);
        greatest[i] = greatest_of(&c.cuts[i]);
    }
    if (status == RT_OK && !run_line(&c, greatest, &status, e)) status = run_cell(&c, greatest, e);
    while (status == RT_OK) {
        int axis = out->ndim - 1;
        if (memcmp(at, greatest, sizeof at) != 0) status = run_cell(&c, at, e);
        while (axis >= 0 && ++at[axis] == c.cuts[axis].count - 1) at[axis--] = 0;
        if (axis < 0) break;
    }
    return status;
}

enum rt_status kn_roll(const struct kn_rolled *from, const struct rt_array *out, struct rt_error *e)
{
    struct kn_program p;
    int node;
    kn_program_start(&p);
    const enum rt_status status = kn_program_array(&p, from->array, &node, e);
    return status == RT_OK ? kn_rolled_run(&p, from, out, e) : status;
}
