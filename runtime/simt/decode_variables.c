/* The variables of a module: where those in shared and global memory lie, and what these begin with. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

static bool asks_for_reserved(const struct ptx_module *m)
{
    for (size_t f = 0; f < m->func_count; f++)
        for (size_t k = 0; k < m->funcs[f].insn_count; k++) {
            const struct ptx_insn *in = &m->funcs[f].insns[k];
            if (in->operand_count == 2 && in->operands[1].kind == PTX_OP_SPECIAL &&
                !strncmp(in->operands[1].symbol, "reserved_smem", 13))
                return true;
        }
    return false;
}

static bool fail_static(struct decoder *d, const struct ptx_func *f, uint64_t bytes)
{
    d->f = f;
    for (size_t k = 0; k < f->insn_count && !d->in; k++)
        if (f->insns[k].file > 0) d->in = &f->insns[k];
    return simt_decode_fail(d, RT_COMPILE,
                            "%llu bytes of static shared memory, and %d are the most; for more, take extern __shared__ "
                            "and give the bytes at the launch",
                            (unsigned long long)bytes, SIMT_SHARED);
}

/* What dynamic shared memory begins at a multiple of: boxes of tensors may be declared to be at one of 1024. */
static uint32_t dynamic_align(const struct ptx_module *m)
{
    uint32_t align = 128;
    for (size_t k = 0; k < m->var_count; k++)
        if (m->vars[k].space == PTX_SHARED && m->vars[k].is_extern && m->vars[k].align > align)
            align = m->vars[k].align;
    return align;
}

bool simt_place_shared(struct decoder *d)
{
    const struct ptx_module *m = d->module;
    uint64_t end = asks_for_reserved(m) ? RESERVED_SHARED : 0, most;
    for (size_t k = 0; k < m->var_count; k++) {
        const struct ptx_var *v = &m->vars[k];
        if (v->space != PTX_SHARED || v->is_extern) continue;
        end = simt_align_up(end, v->align);
        d->var_address[k] = end;
        end += v->size;
    }
    for (int entries = 0; entries < 2; entries++) {
        most = end;
        for (size_t f = 0; f < m->func_count; f++) {
            if (m->funcs[f].is_entry != (bool)entries) continue;
            uint64_t at = end;
            d->shared_start[f] = (uint32_t)at;
            for (size_t k = 0; k < m->funcs[f].var_count; k++) {
                const struct ptx_var *v = &m->funcs[f].vars[k];
                if (v->space == PTX_SHARED && !v->is_extern) at = simt_align_up(at, v->align) + v->size;
            }
            if (!entries) end = at;
            if (at > most) most = at;
            if (entries && at - end > SIMT_SHARED) return fail_static(d, &m->funcs[f], at - end);
            if (at > 1u << 28)
                return simt_decode_fail(d, RT_UNSUPPORTED, "%s wants too much shared memory", m->funcs[f].name);
        }
    }
    d->program->dynamic_base = (uint32_t)simt_align_up(most, dynamic_align(m));
    for (size_t k = 0; k < m->var_count; k++)
        if (m->vars[k].space == PTX_SHARED && m->vars[k].is_extern) d->var_address[k] = d->program->dynamic_base;
    for (size_t k = 0; k < m->var_count; k++)
        if (m->vars[k].space == PTX_SHARED && !simt_name_shared(d, &m->vars[k], -1, d->var_address[k])) return false;
    return true;
}

/* A variable that another program of the same source has already. */
static bool borrow(struct decoder *d, struct global *g)
{
    size_t bytes;
    g->borrowed = d->base && simt_program_global(d->base, g->name, &g->address, &bytes) && bytes == g->bytes;
    return g->borrowed;
}

static atomic_bool shared_with_host;

void simt_share_managed(void)
{
    atomic_store(&shared_with_host, true);
}

/* Host code and kernels use a managed variable by the same address. */
static bool place_managed(struct decoder *d, struct global *g)
{
    size_t bytes = g->bytes ? g->bytes : 1;
    void *p = NULL;
    if (rt_allocation_fails() || posix_memalign(&p, 256, bytes) != 0) return simt_out_of_memory(d);
    if (!simt_map(&(struct simt_mapped){
            .start = (uintptr_t)p, .bytes = bytes, .kind = SIMT_MANAGED_VARIABLE, .owner = d->program})) {
        free(p);
        return simt_out_of_memory(d);
    }
    g->address = (uintptr_t)p;
    g->managed = true;
    return true;
}

/* Host code's pointer to a variable's bytes. */
static char *bytes_of(uint64_t address)
{
    return address < SIMT_GLOBAL_BASE ? (char *)(uintptr_t)address : simt_host(address);
}

bool simt_place_globals(struct decoder *d)
{
    const struct ptx_module *m = d->module;
    struct simt_program *p = d->program;
    for (size_t k = 0; k < m->var_count; k++) {
        const struct ptx_var *v = &m->vars[k];
        if (v->space != PTX_GLOBAL && v->space != PTX_CONST) continue;
        if (v->is_extern) return simt_decode_fail(d, RT_UNSUPPORTED, "%s is extern and defined nowhere", v->name);
        struct global *g = &p->globals[p->global_count];
        g->bytes = v->size;
        if (!(g->name = rt_strdup(v->name))) return simt_out_of_memory(d);
        p->global_count++;
        if (borrow(d, g)) {
            d->var_address[k] = g->address;
            continue;
        }
        bool managed = v->managed && atomic_load(&shared_with_host);
        if (managed && !place_managed(d, g)) return false;
        if (!managed && simt_alloc(v->size ? v->size : 1, &g->address, d->e) != RT_OK) return false;
        d->var_address[k] = g->address;
        char *host = bytes_of(g->address);
        if (!managed) simt_wrote(g->address, v->size);
        if (v->init)
            memcpy(host, v->init, v->size);
        else
            memset(host, 0, v->size);
    }
    return true;
}

static bool is_borrowed(const struct decoder *d, uint64_t address)
{
    for (uint32_t k = 0; k < d->program->global_count; k++)
        if (d->program->globals[k].address == address) return d->program->globals[k].borrowed;
    return false;
}

/* Addresses inside initialisers, once everything has its place. */
bool simt_relocate(struct decoder *d)
{
    const struct ptx_module *m = d->module;
    d->f = NULL;
    for (size_t k = 0; k < m->var_count; k++)
        for (size_t r = 0; r < m->vars[k].reloc_count; r++) {
            const struct ptx_reloc *q = &m->vars[k].relocs[r];
            struct symbol s;
            if (m->vars[k].space == PTX_SHARED || is_borrowed(d, d->var_address[k])) continue;
            if (!simt_find_symbol(d, q->symbol, &s))
                return simt_decode_fail(d, RT_COMPILE, "%s, in the initialiser of %s, is not defined", q->symbol,
                                        m->vars[k].name);
            if (q->offset > m->vars[k].size || m->vars[k].size - q->offset < q->size)
                return simt_decode_fail(d, RT_COMPILE, "an address does not fit into %s", m->vars[k].name);
            uint64_t value =
                s.value + (uint64_t)q->addend + (s.space == PTX_SHARED && q->generic ? SIMT_SHARED_BASE : 0);
            if (q->mask) value = (value & q->mask) >> __builtin_ctzll(q->mask);
            memcpy(bytes_of(d->var_address[k]) + q->offset, &value, q->size);
        }
    return true;
}
