/* Programs operation by operation, for as long as the kernel of the whole is being compiled. */
#include <stdatomic.h>
#include <string.h>
#include "kernels/generate.h"

static atomic_size_t runs;

size_t kn_apart_count(void)
{
    return runs;
}

/* The values of a program's nodes. */
struct values {
    const struct kn_program *program;
    const struct rt_array *of[KN_MAX_NODES]; /* NULL: a number, or nothing yet */
    struct rt_array made[KN_MAX_NODES];      /* those that were computed; no storage: not, or no longer */
    int last_use[KN_MAX_NODES];
};

/* Operation i of the program as a program of its own, over the values that there are. */
static void single(const struct values *v, int i, struct kn_program *p)
{
    const struct kn_node *n = &v->program->nodes[i];
    struct kn_node op = *n;
    kn_program_start(p);
    for (int k = 0; k < kn_node_arity(n); k++) {
        const struct kn_node *arg = &v->program->nodes[n->args[k]];
        struct kn_node *to = &p->nodes[p->count];
        *to = *arg;
        if (arg->kind != KN_NODE_NUMBER) {
            *to = (struct kn_node){.kind = KN_NODE_ARRAY, .dtype = arg->dtype, .leaf = p->leaves};
            p->arrays[p->leaves++] = v->of[n->args[k]];
        }
        op.args[k] = p->count++;
    }
    p->nodes[p->count++] = op;
}

static void start(const struct kn_program *p, struct values *v)
{
    v->program = p;
    for (int i = 0; i < p->count; i++) {
        const struct kn_node *n = &p->nodes[i];
        v->of[i] = n->kind == KN_NODE_ARRAY ? p->arrays[n->leaf] : NULL;
        v->made[i].storage = NULL;
        v->last_use[i] = i;
        for (int k = 0; k < kn_node_arity(n); k++) v->last_use[n->args[k]] = i;
    }
}

/* Calls what is to be done with the kernel of each operation, until it says false. Where values would be there are
 * scalars of their dtype: the kernel is the same. */
static bool each_kernel(const struct kn_program *p, const struct rt_array *out,
                        bool (*what)(const struct kn_program *, const struct rt_array *, enum kn_layouts))
{
    struct values v;
    struct kn_program one;
    if (kn_node_arity(&p->nodes[p->count - 1]) == 0) return what(p, out, KN_LAYOUT_ANY);
    start(p, &v);
    for (int i = 0; i < p->count; i++) {
        if (p->nodes[i].kind == KN_NODE_INDEX) return false;
        if (kn_node_arity(&p->nodes[i]) == 0) continue;
        v.made[i] = (struct rt_array){.storage = out->storage, .dtype = p->nodes[i].dtype};
        single(&v, i, &one);
        if (one.leaves == 0 || !what(&one, &v.made[i], KN_LAYOUT_ANY)) return false;
        v.of[i] = &v.made[i];
    }
    return true;
}

bool kn_apart_is_ready(const struct kn_program *p, const struct rt_array *out)
{
    return each_kernel(p, out, kn_cuda_is_ready);
}

void kn_apart_make_ready(const struct kn_program *p, const struct rt_array *out)
{
    each_kernel(p, out, kn_cuda_make_ready);
}

static enum rt_status compute(struct values *v, int i, const struct rt_array *out, struct rt_error *e)
{
    struct kn_program one;
    int64_t shape[RT_MAX_DIMS];
    int ndim;
    single(v, i, &one);
    if (i == v->program->count - 1) return kn_cuda_launch(&one, out, KN_LAYOUT_ANY, e);
    enum rt_status status = kn_program_shape(&one, &ndim, shape, e);
    if (status == RT_OK)
        status = rt_array_new(rt_array_device(out), v->program->nodes[i].dtype, ndim, shape, &v->made[i], e);
    if (status == RT_OK) status = kn_cuda_launch(&one, &v->made[i], KN_LAYOUT_ANY, e);
    v->of[i] = &v->made[i];
    return status;
}

enum rt_status kn_apart_run(const struct kn_program *p, const struct rt_array *out, struct rt_error *e)
{
    struct values v;
    enum rt_status status = RT_OK;
    atomic_fetch_add(&runs, 1);
    if (kn_node_arity(&p->nodes[p->count - 1]) == 0) return kn_cuda_launch(p, out, KN_LAYOUT_ANY, e);
    start(p, &v);
    for (int i = 0; i < p->count && status == RT_OK; i++) {
        if (kn_node_arity(&p->nodes[i]) > 0) status = compute(&v, i, out, e);
        for (int k = 0; k < i; k++)
            if (v.last_use[k] == i) rt_array_release(&v.made[k]);
    }
    for (int i = 0; i < p->count; i++) rt_array_release(&v.made[i]);
    return status;
}
