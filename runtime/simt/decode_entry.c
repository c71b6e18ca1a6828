/* What launches need to know of a program's entries: their memory and parameters, and which cannot run. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

/* Local memory a thread needs from function f down; SIZE_MAX when calls go round in a circle or through pointers. */
static size_t stack_of(const struct simt_program *p, uint32_t f, int depth)
{
    const struct function *fn = &p->functions[f];
    size_t deepest = 0;
    if (depth > 64) return SIZE_MAX;
    for (uint32_t k = fn->start; k < fn->end; k++) {
        if (p->code[k].run != simt_op_call) continue;
        const struct call_site *c = &p->calls[p->code[k].extra];
        size_t n = c->function == -1 ? SIZE_MAX : c->function < 0 ? 0 : stack_of(p, (uint32_t)c->function, depth + 1);
        if (n == SIZE_MAX) return n;
        if (n > deepest) deepest = n;
    }
    return fn->local_bytes + deepest;
}

/* The first refusal that function f can come to. `seen` has one element for each function. */
static const char *refusal_of(const struct simt_program *p, uint32_t f, bool *seen)
{
    const struct function *fn = &p->functions[f];
    if (seen[f] || fn->refused) return fn->refused;
    seen[f] = true;
    for (uint32_t k = fn->start; k < fn->end; k++) {
        if (p->code[k].run != simt_op_call) continue;
        int to = p->calls[p->code[k].extra].function;
        const char *why = to >= 0 ? refusal_of(p, (uint32_t)to, seen) : NULL;
        for (uint32_t g = 0; to == -1 && !why && g < p->function_count; g++) /* through a pointer: to any of them */
            if (!p->functions[g].is_entry) why = refusal_of(p, g, seen);
        if (why) return why;
    }
    return NULL;
}

/* Marks the entries that cannot run. A program all of whose entries cannot is refused at once. */
bool simt_check_refusals(struct decoder *d)
{
    struct simt_program *p = d->program;
    bool *seen = rt_calloc(p->function_count + 1, sizeof *seen);
    const char *why = NULL;
    uint32_t count = 0;
    if (!seen) return simt_out_of_memory(d);
    for (uint32_t k = 0; k < p->function_count; k++) {
        struct function *fn = &p->functions[k];
        if (!fn->is_entry) continue;
        memset(seen, 0, p->function_count * sizeof *seen);
        const char *reason = refusal_of(p, k, seen);
        if (reason && !fn->refused && !(fn->refused = rt_strdup(reason))) {
            free(seen);
            return simt_out_of_memory(d);
        }
        count += reason != NULL;
        if (reason && !why) why = fn->refused;
    }
    free(seen);
    if (!count || count < p->entry_count) return true;
    rt_fail(d->e, RT_UNSUPPORTED, "%s", why);
    return false;
}

/* Of a thread, as far as the kernel's bounds let it have them. */
static int register_estimate(const struct ptx_func *f, const struct function *fn, uint64_t max_threads)
{
    size_t n = fn->registers;
    for (size_t k = 0; !fn->registers && k < f->reg_count; k++) {
        char class = simt_class_of(f->regs[k].type);
        n += class == 'w' ? 1 : class == 'q' ? 2 : 0;
    }
    if (n < 16) n = 16;
    size_t most = f->max_registers ? f->max_registers : 255;
    if (f->min_blocks) { /* so many blocks fit a multiprocessor, in steps in which registers are given out */
        uint64_t share = SIMT_REGISTERS / (f->min_blocks * max_threads) / 8 * 8;
        if (share && share < most) most = (size_t)share;
    }
    if (most > 255) most = 255;
    return (int)(n < most ? n : most);
}

static int most_threads(const struct ptx_func *f)
{
    const uint32_t *bounds = f->required_threads[0] ? f->required_threads : f->max_threads;
    uint64_t n = bounds[0] ? 1 : SIMT_MAX_THREADS;
    for (int d = 0; d < 3 && n < SIMT_MAX_THREADS; d++) n *= bounds[d] ? bounds[d] : 1;
    return n < SIMT_MAX_THREADS ? (int)n : SIMT_MAX_THREADS;
}

static bool has_variable(const struct ptx_module *m, const char *name)
{
    for (size_t k = 0; k < m->var_count; k++)
        if (strcmp(m->vars[k].name, name) == 0) return true;
    return false;
}

bool simt_describe_entry(struct decoder *d, uint32_t index)
{
    struct simt_program *p = d->program;
    const struct ptx_func *f = &d->module->funcs[index];
    struct function *fn = &p->functions[index];
    struct simt_function *out = &p->entries[p->entry_count++];
    struct simt_function_info *info = &out->info;
    out->program = p;
    out->code = fn;
    size_t stack = stack_of(p, index, 0);
    fn->stack_bytes = stack == SIZE_MAX   ? RECURSIVE_LOCAL + fn->local_bytes
                      : stack > MAX_LOCAL ? MAX_LOCAL
                                          : (uint32_t)stack;
    if (p->uses_alloca) fn->stack_bytes = (uint32_t)simt_align_up(fn->stack_bytes, 16) + ALLOCA_LOCAL;
    info->name = fn->name;
    info->shared_bytes = fn->shared_end;
    info->local_bytes = fn->stack_bytes;
    for (size_t k = 0; k < d->module->var_count; k++)
        if (d->module->vars[k].space == PTX_CONST) info->const_bytes += d->module->vars[k].size;
    memcpy(info->required_threads, f->required_threads, sizeof info->required_threads);
    info->max_threads = most_threads(f);
    fn->max_threads = (uint32_t)info->max_threads;
    info->registers = register_estimate(f, fn, fn->max_threads);
    info->is_openmp = has_variable(d->module, "__nvptx_stacks");
    info->target = d->module->target && !strncmp(d->module->target, "sm_", 3) ? atoi(d->module->target + 3) : 0;
    for (int k = 0; k < 3; k++) info->cluster[k] = f->cluster[0] && !f->cluster[k] ? 1 : f->cluster[k];
    info->must_cluster = f->must_cluster;
    info->grid_of_clusters = f->grid_of_clusters;
    info->param_count = fn->param_count;
    info->params = rt_calloc(fn->param_count + 1, sizeof *info->params);
    if (!info->params) return simt_out_of_memory(d);
    for (uint32_t k = 0; k < fn->param_count; k++) {
        info->params[k] = (struct simt_param){fn->param_offset[k], fn->param_size[k]};
        info->param_bytes = fn->param_offset[k] + fn->param_size[k];
    }
    return true;
}
