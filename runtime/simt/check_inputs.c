/* Memory that a launch only reads, or that check_own.c finds to be its threads' own: nobody can race for it, so who
 * touches it need not be recorded. It is known when the address of every instruction that writes global memory is made
 * of a parameter which points to a known array, or of a __device__ variable, since what such an instruction would write
 * elsewhere is left out. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_inside.h"

static bool writes_global(const struct simt_check *c, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    if (i->space != PTX_GLOBAL && i->space != PTX_GENERIC && !simt_is_bulk(i)) return false;
    if (c->watch[pc] == WATCH_PIECES) return i->flags & F_STORE;
    return c->watch[pc] == WATCH_ACCESS && i->memory != MEMORY_LOAD;
}

bool simt_check_meant(const struct simt_check *c, int origin, struct simt_extent *to)
{
    uint64_t pointer;
    if (origin >= GLOBAL_ORIGIN && origin < SHARED_ORIGIN) {
        const struct global *g = &c->program->globals[origin - GLOBAL_ORIGIN];
        *to = (struct simt_extent){g->address, g->bytes};
        return true;
    }
    if (origin < 0 || (size_t)origin + sizeof pointer > c->launch->function->info.param_bytes) return false;
    memcpy(&pointer, (const char *)c->launch->params + origin, sizeof pointer);
    for (size_t k = 0; k < c->extent_count; k++)
        if (c->extents[k].address == pointer) {
            *to = c->extents[k];
            return true;
        }
    return false;
}

static uint64_t allocation_of(const struct simt_check *c, int origin)
{
    struct simt_extent meant;
    struct simt_block b;
    return simt_check_meant(c, origin, &meant) && simt_find(meant.address, &b) ? b.address : 0;
}

uint64_t simt_check_allocation(const struct simt_check *c, uint32_t pc)
{
    return simt_is_bulk(&c->program->code[pc]) ? 0 : allocation_of(c, c->program->places[pc].origin);
}

static bool is_output(const struct simt_check *c, uint64_t allocation)
{
    for (size_t k = 0; k < c->output_count; k++)
        if (c->outputs[k] == allocation) return true;
    return false;
}

static bool find_outputs(struct simt_check *c, const struct function *f)
{
    for (uint32_t pc = f->is_entry ? f->setup : f->start; pc < f->end; pc++) {
        if (!writes_global(c, pc)) continue;
        uint64_t allocation = simt_check_allocation(c, pc);
        if (!allocation) return false;
        if (!is_output(c, allocation)) c->outputs[c->output_count++] = allocation;
    }
    return true;
}

bool simt_inputs_find(struct simt_check *c)
{
    const struct simt_program *p = c->program;
    c->outputs = rt_alloc((c->extent_count + p->global_count + 1) * sizeof *c->outputs);
    if (!c->outputs) return false;
    c->knows_inputs = !c->untracked && c->extent_count + p->global_count;
    for (uint32_t k = 0; k < p->function_count && c->knows_inputs; k++) {
        const struct function *f = &p->functions[k];
        if (c->runs[k]) c->knows_inputs = find_outputs(c, f);
    }
    return !c->knows_inputs || !c->output_count || simt_own_find(c);
}

bool simt_inputs_fixed(const struct simt_check *c)
{
    const struct function *f = c->launch->function->code;
    bool fixed = true;
    for (uint32_t k = 0; k < f->fixed_count && fixed; k++) {
        uint64_t allocation = allocation_of(c, c->program->fixed[f->fixed_first + k]);
        fixed = allocation && simt_is_quiet(c, allocation);
    }
    return fixed;
}

bool simt_is_quiet(const struct simt_check *c, uint64_t allocation)
{
    return c->knows_inputs && !is_output(c, allocation);
}
