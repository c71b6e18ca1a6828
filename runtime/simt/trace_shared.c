/* What steps write to shared memory: addresses are noted as the instructions run, values read when the step is over. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"
#include "runtime/simt/trace_watch.h"

#define MOST_WRITES 4096 /* of a step; a loop that is one step may write without end */

bool simt_shared_open(const struct simt_program *p, const struct simt_launch *l, struct simt_trace *out)
{
    int entry = (int)(l->function->code - p->functions);
    out->arrays = rt_calloc(p->shared_count + 1, sizeof *out->arrays);
    for (uint32_t k = 0; out->arrays && k < p->shared_count; k++) {
        const struct shared_variable *v = &p->shared[k];
        uint32_t bytes = v->bytes ? v->bytes : (uint32_t)l->dynamic_shared;
        if (!bytes || (v->function >= 0 && v->function != entry && p->functions[v->function].is_entry)) continue;
        struct simt_trace_array *a = &out->arrays[out->array_count];
        *a = (struct simt_trace_array){.name = rt_strdup(v->name), .offset = v->offset, .bytes = bytes};
        if (!a->name) return false;
        out->array_count++;
    }
    return out->arrays != NULL;
}

/* ---- what is written ---- */
static bool add_write(struct trace_shared *s, const struct trace_write *write)
{
    if (s->count == MOST_WRITES) return true;
    if (s->count == s->room) {
        uint32_t room = s->room ? 2 * s->room : 64;
        void *more = rt_realloc(s->writes, room * sizeof *s->writes);
        if (!more) return false;
        s->writes = more;
        s->room = room;
    }
    s->writes[s->count++] = *write;
    return true;
}

/* Floats are told by the instruction's type. */
static bool moves_floats(const struct ptx_insn *in)
{
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strcmp(in->mods[k], "f32") || !strcmp(in->mods[k], "f64")) return true;
    return false;
}

static struct simt_trace_array *array_at(const struct simt_trace *out, uint32_t address)
{
    for (uint32_t k = 0; k < out->array_count; k++)
        if (address >= out->arrays[k].offset && address - out->arrays[k].offset < out->arrays[k].bytes)
            return &out->arrays[k];
    return NULL;
}

bool simt_shared_note(struct trace_shared *s, const struct trace_watch *t, struct warp *w, const struct insn *i,
                      uint32_t m, const struct simt_trace *out)
{
    bool writes = i->memory == MEMORY_STORE || i->memory == MEMORY_ATOMIC;
    if (!writes && i->memory != MEMORY_LOAD) return true;
    if (i->space != PTX_SHARED && i->space != PTX_GENERIC) return true;
    const struct frame *f = w->splits[w->current].frame;
    const struct ptx_func *ptx = &t->module->funcs[f->function - t->program->functions];
    uint32_t index = t->program->places[w->pc].index, count = i->memory == MEMORY_STORE ? i->count : 1;
    bool floats = index < ptx->insn_count && moves_floats(&ptx->insns[index]);
    EACH_LANE(l, m)
    {
        uint64_t address = i->space == PTX_SHARED ? u32_at(f->regs, i->a)[l] : u64_at(f->regs, i->a)[l];
        address += (uint64_t)i->imm;
        if (i->space == PTX_GENERIC && address >> 48 != SIMT_SHARED_BASE >> 48) continue;
        address &= UINT32_MAX;
        struct simt_trace_array *a = array_at(out, (uint32_t)address);
        if (a) a->floats |= floats;
        if (a) a->integers |= !floats && i->memory != MEMORY_STORE;
        for (uint32_t k = 0; writes && k < count; k++) {
            struct trace_write write = {(uint32_t)address + k * i->size, 1u << l, i->size, floats};
            if (!add_write(s, &write)) return false;
        }
    }
    return true;
}

/* ---- reading ---- */
static int by_address(const void *a, const void *b)
{
    const struct trace_write *x = a, *y = b;
    return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
                                    : (x->size > y->size) - (x->size < y->size);
}

static struct simt_trace_cell *add_cell(struct simt_trace *out)
{
    if (out->cell_count == out->cell_room) {
        uint32_t room = out->cell_room ? 2 * out->cell_room : 256;
        void *more = rt_realloc(out->cells, room * sizeof *out->cells);
        if (!more) return NULL;
        out->cells = more;
        out->cell_room = room;
    }
    return &out->cells[out->cell_count++];
}

static bool read_cell(const struct trace_write *x, const struct warp *w, struct simt_trace *out)
{
    const struct simt_trace_array *a = array_at(out, x->address);
    uint64_t bits = 0;
    if (!a || (uint64_t)x->address + x->size > w->worker->shared_bytes || x->size > sizeof bits) return true;
    memcpy(&bits, w->shared + x->address, x->size);
    struct simt_trace_cell *cell = add_cell(out);
    if (cell)
        *cell = (struct simt_trace_cell){.array = (uint32_t)(a - out->arrays),
                                         .index = (x->address - a->offset) / x->size,
                                         .lanes = x->lanes,
                                         .size = x->size,
                                         .kind = x->floats ? SIMT_VALUE_FLOAT : SIMT_VALUE_SIGNED,
                                         .bits = bits};
    return cell != NULL;
}

bool simt_shared_read(struct trace_shared *s, const struct warp *w, struct simt_trace *out)
{
    if (s->count) qsort(s->writes, s->count, sizeof *s->writes, by_address);
    for (uint32_t k = 0; k < s->count; k++) {
        struct trace_write *x = &s->writes[k];
        for (; k + 1 < s->count && !by_address(x, &s->writes[k + 1]); k++) x->lanes |= s->writes[k + 1].lanes;
        if (!read_cell(x, w, out)) return false;
    }
    return true;
}

void simt_shared_close(struct trace_shared *s, struct simt_trace *out)
{
    free(s->writes);
    for (uint32_t k = 0; k < out->cell_count; k++) {
        struct simt_trace_cell *cell = &out->cells[k];
        const struct simt_trace_array *a = &out->arrays[cell->array];
        if (a->floats && !a->integers && cell->size >= 4) cell->kind = SIMT_VALUE_FLOAT;
    }
}
