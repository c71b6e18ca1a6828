#include "kernels/rows.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/reduce.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define SLAB    16384     /* elements that are worked on at a time: with what is read and written they fit the cache */
#define FEW     256       /* rows of a slab, of which lines of the cache that run across them have too little */
#define LONGEST (1 << 17) /* rows of more do not, and are done by all threads, stage by stage */

/* What one worker needs for a stage: its program, whose leaves are the parts that belong to a slab. */
struct place {
    struct kn_program program;
    struct rt_array leaves[KN_MAX_LEAVES], out;
    struct rt_array temporary; /* of a stage that is not kept; room for a slab */
};

struct pass {
    const struct kn_rows *r;
    int axis;         /* that is cut into slabs of `height`; every index of those before has its own */
    int64_t height;   /* slabs are counted from the last axis on */
    int64_t per_axis; /* slabs of one walk along the axis */
    size_t slabs;
    bool many[KN_MAX_STAGES];                 /* as kn_reduces_many says of the whole */
    int source[KN_MAX_STAGES][KN_MAX_LEAVES]; /* the stage whose rows the leaf is; -1: an array */
    struct place *places;                     /* of all stages for each worker */
    atomic_bool failed;
    struct rt_error *e; /* of the first that failed */
};

static int64_t size_from(int axis, int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = axis; i < ndim; i++) n *= shape[i];
    return n;
}

bool kn_rows_fit(const struct rt_array *whole, int outer)
{
    int64_t length = size_from(outer, whole->ndim, whole->shape);
    return length <= LONGEST && (outer > 0 || length <= SLAB) && !kn_runs_generated(rt_array_device(whole));
}

bool kn_rows_are_long(const struct rt_array *whole, int outer)
{
    return outer > 0 && size_from(outer, whole->ndim, whole->shape) >= SLAB / FEW;
}

/* Where to cut: a slab is as many indices of an axis as fit, with all of those behind it. */
static void choose_slabs(struct pass *p)
{
    const struct kn_rows *r = p->r;
    int axis = r->outer;
    p->axis = 0;
    p->height = r->ndim > 0 ? r->shape[0] : 1;
    p->per_axis = 1;
    p->slabs = 1;
    while (axis > 0 && size_from(axis - 1, r->ndim, r->shape) <= SLAB) axis--;
    if (axis == 0 || !r->cut) return;
    int64_t block = size_from(axis, r->ndim, r->shape);
    p->axis = axis - 1;
    p->height = block < SLAB ? SLAB / block : 1;
    p->per_axis = (r->shape[p->axis] + p->height - 1) / p->height;
    p->slabs = (size_t)p->per_axis;
    for (int i = 0; i < p->axis; i++) p->slabs *= (size_t)r->shape[i];
}

/* The part of an array, broadcast to the shape of the whole, that belongs to a slab; nothing of it is owned. */
static void cut(const struct pass *p, const struct rt_array *a, size_t slab, struct rt_array *part)
{
    const struct kn_rows *r = p->r;
    int64_t first = (int64_t)slab % p->per_axis * p->height, index = (int64_t)slab / p->per_axis;
    int64_t count = r->shape[p->axis] - first < p->height ? r->shape[p->axis] - first : p->height;
    int missing = r->ndim - a->ndim, gone = p->axis > missing ? p->axis - missing : 0;
    *part = *a;
    for (int i = p->axis - 1; i >= 0; index /= r->shape[i--])
        if (i >= missing && a->shape[i - missing] > 1) part->offset += index % r->shape[i] * a->strides[i - missing];
    int at = p->axis - missing;
    if (at >= 0 && a->shape[at] > 1) {
        part->offset += first * a->strides[at];
        part->shape[at] = count;
    }
    part->ndim -= gone;
    memmove(part->shape, part->shape + gone, (size_t)part->ndim * sizeof *part->shape);
    memmove(part->strides, part->strides + gone, (size_t)part->ndim * sizeof *part->strides);
}

/* A worker's room for the rows of a stage, with the shape of its part of the slab. */
static void cut_temporary(const struct pass *p, const struct rt_array *form, const struct rt_array *room, size_t slab,
                          struct rt_array *part)
{
    int64_t stride = 1;
    cut(p, form, slab, part);
    part->storage = room->storage;
    part->offset = 0;
    for (int i = part->ndim; i-- > 0; stride *= part->shape[i]) part->strides[i] = stride;
}

static enum rt_status run_stage(struct pass *p, struct place *places, int i, size_t slab, struct rt_error *e)
{
    const struct kn_stage *s = &p->r->stages[i];
    struct place *w = &places[i];
    for (int k = 0; k < w->program.leaves; k++)
        if (p->source[i][k] >= 0)
            w->leaves[k] = places[p->source[i][k]].out;
        else
            cut(p, s->program.arrays[k], slab, &w->leaves[k]);
    if (s->kept)
        cut(p, s->form, slab, &w->out);
    else
        cut_temporary(p, s->form, &w->temporary, slab, &w->out);
    if (!s->reduces) return kn_program_evaluate(&w->program, &w->out, e);
    unsigned axes = 0;
    for (int axis = p->r->outer; axis < p->r->ndim; axis++) axes |= 1u << (axis - p->axis);
    return kn_program_reduce_into(&w->program, s->reduction, axes, p->many[i], &w->out, e);
}

static void run_piece(void *context, size_t begin, size_t end, int worker)
{
    struct pass *p = context;
    struct rt_error error = {0};
    for (size_t slab = begin; slab < end; slab++)
        for (int i = 0; i < p->r->count; i++) {
            if (rt_interrupted() || atomic_load(&p->failed)) return;
            if (run_stage(p, p->places + worker * p->r->count, i, slab, &error) == RT_OK) continue;
            if (!atomic_exchange(&p->failed, true)) rt_fail(p->e, error.status, "%s", error.text);
            rt_error_clear(&error);
            return;
        }
}

/* Elements of the largest part that a slab has of a stage's result. */
static int64_t room_for(const struct pass *p, const struct rt_array *form)
{
    struct rt_array part;
    cut(p, form, 0, &part);
    return rt_array_size(&part);
}

static enum rt_status make_places(const struct pass *p, struct place *places, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    struct rt_device *d = rt_array_device(p->r->stages[0].program.arrays[0]);
    for (int i = 0; i < p->r->count && status == RT_OK; i++) {
        const struct kn_stage *s = &p->r->stages[i];
        struct place *w = &places[i];
        int64_t size = room_for(p, s->form);
        kn_program_assign(&w->program, &s->program);
        for (int k = 0; k < s->program.leaves; k++) w->program.arrays[k] = &w->leaves[k];
        if (!s->kept) status = rt_array_new(d, s->form->dtype, 1, &size, &w->temporary, e);
    }
    return status;
}

static void find_sources(struct pass *p)
{
    for (int i = 0; i < p->r->count; i++) {
        const struct kn_stage *s = &p->r->stages[i];
        for (int k = 0; k < s->program.leaves; k++) {
            p->source[i][k] = -1;
            for (int j = 0; j < i; j++)
                if (s->program.arrays[k] == p->r->stages[j].form) p->source[i][k] = j;
        }
    }
}

enum rt_status kn_rows_run(const struct kn_rows *r, struct rt_error *e)
{
    struct pass p = {.r = r, .e = e};
    enum rt_status status = RT_OK;
    if (kn_runs_generated(rt_array_device(r->stages[0].program.arrays[0])) && kn_rows_cuda(r, &status, e))
        return status;
    choose_slabs(&p);
    find_sources(&p);
    int workers = p.slabs > 1 ? rt_thread_count() : 1, places = workers * r->count;
    p.places = rt_alloc((size_t)places * sizeof *p.places);
    if (!p.places) return rt_fail(e, RT_NOMEM, "out of host memory");
    for (int i = 0; i < places; i++) p.places[i].temporary = (struct rt_array){0};
    for (int i = 0; i < r->count; i++)
        if (r->stages[i].reduces) p.many[i] = kn_reduces_many(&r->stages[i].program, r->stages[i].reduction, r->outer);
    for (int i = 0; i < workers && status == RT_OK; i++) status = make_places(&p, p.places + i * r->count, e);
    if (status == RT_OK && p.slabs == 1)
        run_piece(&p, 0, 1, 0);
    else if (status == RT_OK)
        rt_parallel_for(p.slabs, 1, run_piece, &p);
    if (status == RT_OK && atomic_load(&p.failed)) status = e ? e->status : RT_NOMEM;
    if (status == RT_OK) status = rt_stopped(e);
    for (int i = 0; i < places; i++) rt_array_release(&p.places[i].temporary);
    free(p.places);
    return status;
}
