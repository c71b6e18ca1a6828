/* Variables by their places: labels become positions, registers and memory become addresses. */
#include "runtime/simt/trace_watch.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

struct label {
    const char *name;
    uint32_t function, position;
};
struct labels {
    struct label *list;
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

static bool collect_labels(const struct ptx_module *m, struct labels *out)
{
    size_t n = 0;
    for (size_t f = 0; f < m->func_count; f++) n += m->funcs[f].label_count;
    out->list = rt_alloc((n + 1) * sizeof *out->list);
    if (!out->list) return false;
    for (size_t f = 0; f < m->func_count; f++)
        for (size_t k = 0; k < m->funcs[f].label_count; k++)
            out->list[out->count++] =
                (struct label){m->funcs[f].labels[k].name, (uint32_t)f, (uint32_t)m->funcs[f].labels[k].insn};
    qsort(out->list, out->count, sizeof *out->list, by_name);
    return true;
}

static const struct label *find_label(const struct labels *l, const char *name)
{
    struct label wanted = {.name = name};
    return bsearch(&wanted, l->list, l->count, sizeof *l->list, by_name);
}

static uint32_t find_register(const struct ptx_func *f, const char *name)
{
    for (size_t k = 0; k < f->reg_count; k++)
        if (!strcmp(f->regs[k].name, name)) return (uint32_t)k;
    return UINT32_MAX;
}

static bool find_place(const struct trace_watch *t, const struct labels *labels, const struct trace_variable *v,
                       const struct simt_debug_place *p, struct trace_place *out)
{
    const struct ptx_func *f = &t->module->funcs[v->function];
    *out = (struct trace_place){0, UINT32_MAX, UINT32_MAX, 0};
    if (p->from) {
        const struct label *from = find_label(labels, p->from), *to = find_label(labels, p->to);
        if (!from || !to || from->function != v->function || to->function != v->function) return false;
        out->from = from->position;
        out->to = to->position;
    }
    if (!p->symbol) {
        out->reg = find_register(f, p->name);
        return out->reg != UINT32_MAX;
    }
    for (size_t k = 0; k < f->var_count; k++)
        if (f->vars[k].space == PTX_LOCAL && !strcmp(f->vars[k].name, p->symbol) && p->offset < f->vars[k].size) {
            out->offset = t->slots[v->function][f->reg_count + k] + (uint32_t)p->offset;
            return true;
        }
    return false;
}

static bool add_variable(struct trace_watch *t, const struct labels *labels, const struct simt_debug *debug, uint32_t n)
{
    const struct simt_debug_variable *from = &debug->variables[n];
    const struct label *start = find_label(labels, from->from), *end = find_label(labels, from->to);
    if (!start || !end || start->function != end->function || !t->slots[start->function]) return true;
    struct trace_variable *v = &t->variables[t->count];
    *v = (struct trace_variable){
        .function = start->function, .from = start->position, .to = end->position, .variable = n};
    v->places = rt_alloc((from->place_count + 1) * sizeof *v->places);
    if (!v->places) return false;
    for (uint32_t k = 0; k < from->place_count; k++)
        if (find_place(t, labels, v, &from->places[k], &v->places[v->place_count])) v->place_count++;
    t->count++;
    return true;
}

bool simt_watch_open(struct trace_watch *t, const struct simt_debug *debug, uint32_t local_bytes)
{
    const struct ptx_module *m = t->module;
    struct labels labels = {0};
    uint32_t registers = 0;
    t->first_register = rt_calloc(m->func_count + 1, sizeof *t->first_register);
    for (size_t f = 0; t->first_register && f < m->func_count; f++) {
        t->first_register[f] = registers;
        registers += (uint32_t)m->funcs[f].reg_count;
    }
    t->local_bytes = local_bytes;
    t->registers = rt_calloc(registers + 1, sizeof *t->registers);
    t->local = rt_calloc((size_t)local_bytes + 1, sizeof *t->local);
    t->variables = rt_alloc((debug->count + 1) * sizeof *t->variables);
    bool ok = t->first_register && t->registers && t->local && t->variables && collect_labels(m, &labels);
    for (uint32_t k = 0; ok && k < debug->count; k++) ok = add_variable(t, &labels, debug, k);
    free(labels.list);
    return ok;
}

void simt_watch_close(struct trace_watch *t)
{
    for (uint32_t k = 0; k < t->count; k++) free(t->variables[k].places);
    free(t->variables);
    free(t->first_register);
    free(t->registers);
    free(t->local);
}

/* ---- what is written ---- */
static void mark_operand(struct trace_watch *t, uint32_t function, const struct ptx_operand *o, uint32_t m,
                         uint32_t step)
{
    if (o->kind == PTX_OP_REG && o->reg >= 0 && (size_t)o->reg < t->module->funcs[function].reg_count) {
        struct trace_written *r = &t->registers[t->first_register[function] + (uint32_t)o->reg];
        if (r->step != step) *r = (struct trace_written){.step = step};
        r->lanes |= m;
    }
    for (size_t k = 0; k < o->item_count; k++) mark_operand(t, function, &o->items[k], m, step);
}

/* Stores to local memory, also by generic addresses. */
static void mark_local(struct trace_watch *t, struct warp *w, const struct insn *i, uint32_t m)
{
    char *R = w->splits[w->current].frame->regs;
    uint32_t size = (uint32_t)i->size * i->count;
    EACH_LANE(l, m)
    {
        uint64_t address;
        if (i->space == PTX_LOCAL) {
            address = simt_window_address(u32_at(R, i->a)[l], i->imm + (i->flags & F_FRAME ? w->local_base : 0));
        } else {
            address = u64_at(R, i->a)[l] + (uint64_t)i->imm;
            if (address >> 48 != SIMT_LOCAL_BASE >> 48) continue;
            address &= 0xffffffffffffu;
        }
        if (address > t->local_bytes || t->local_bytes - address < size) continue;
        for (uint32_t k = 0; k < size; k++) t->local[address + k] |= 1u << l;
    }
}

void simt_watch_enter(struct trace_watch *t, const struct frame *f, uint32_t m)
{
    uint32_t function = (uint32_t)(f->function - t->program->functions);
    for (uint32_t k = 0; k < f->function->local_bytes && f->local_base + k < t->local_bytes; k++)
        t->local[f->local_base + k] &= ~m;
    for (uint32_t k = 0; k < t->count; k++)
        if (t->variables[k].function == function) t->variables[k].known &= ~m;
}

void simt_watch_note(struct trace_watch *t, struct warp *w, const struct insn *i, uint32_t m, uint32_t step)
{
    const struct frame *f = w->splits[w->current].frame;
    uint32_t function = (uint32_t)(f->function - t->program->functions);
    const struct ptx_func *ptx = &t->module->funcs[function];
    uint32_t index = t->program->places[w->pc].index;
    if (i->memory == MEMORY_STORE || i->memory == MEMORY_ATOMIC) {
        if (i->space == PTX_LOCAL || i->space == PTX_GENERIC) mark_local(t, w, i, m);
        if (i->memory == MEMORY_STORE) return;
    }
    if (index >= ptx->insn_count) return;
    const struct ptx_insn *in = &ptx->insns[index]; /* what comes first in a branch, a barrier or a reduction is read */
    if (in->operand_count > 0 && strcmp(in->opcode, "red") && strcmp(in->opcode, "bar"))
        mark_operand(t, function, &in->operands[0], m, step);
}

/* ---- reading ---- */
static uint64_t read_register(const struct trace_watch *t, const struct frame *f, uint32_t function, uint32_t reg,
                              uint32_t lane)
{
    uint32_t slot = t->slots[function][reg];
    enum ptx_type type = t->module->funcs[function].regs[reg].type;
    if (type == PTX_PRED) return *u32_at(f->regs, slot) >> lane & 1;
    return ptx_type_size(type) == 8 ? u64_at(f->regs, slot)[lane] : u32_at(f->regs, slot)[lane];
}

/* The lanes that may have changed the variable in the step: others than the warp's running function reach memory, too.
 */
static uint32_t written_by(const struct trace_watch *t, const struct trace_place *p, const struct frame *f,
                           uint32_t function, uint32_t size, uint32_t step)
{
    if (p->reg != UINT32_MAX) {
        const struct trace_written *r = &t->registers[t->first_register[function] + p->reg];
        return r->step == step ? r->lanes : 0;
    }
    uint64_t at = (uint64_t)f->local_base + p->offset;
    return at + size <= t->local_bytes ? t->local[at] : 0;
}

static uint64_t read_value(const struct trace_watch *t, const struct warp *w, const struct trace_place *p,
                           const struct frame *f, uint32_t function, uint32_t size, uint32_t lane)
{
    uint64_t v = 0, at = (uint64_t)f->local_base + p->offset;
    if (p->reg != UINT32_MAX)
        v = read_register(t, f, function, p->reg, lane);
    else if (at + size <= t->local_bytes)
        memcpy(&v, w->local + (size_t)lane * t->local_bytes + at, size);
    return size == 8 ? v : v & (((uint64_t)1 << 8 * size) - 1);
}

static const struct trace_place *place_at(const struct trace_variable *v, uint32_t position)
{
    for (uint32_t k = 0; k < v->place_count; k++)
        if (v->places[k].from <= position && position < v->places[k].to) return &v->places[k];
    return NULL;
}

static struct simt_trace_value *add_value(struct simt_trace *out)
{
    if (out->value_count == out->value_room) {
        uint32_t room = out->value_room ? 2 * out->value_room : 256;
        void *more = rt_realloc(out->values, room * sizeof *out->values);
        if (!more) return NULL;
        out->values = more;
        out->value_room = room;
    }
    return &out->values[out->value_count++];
}

bool simt_watch_read(struct trace_watch *t, const struct warp *w, const struct frame *f, uint32_t last,
                     uint32_t position, uint32_t m, uint32_t step, struct simt_trace *out)
{
    uint32_t function = (uint32_t)(f->function - t->program->functions);
    for (uint32_t k = 0; k < t->count; k++) {
        struct trace_variable *v = &t->variables[k];
        if (v->function != function || last < v->from || last >= v->to) continue;
        const struct trace_place *p = place_at(v, position);
        uint32_t size = out->debug->variables[v->variable].size;
        uint32_t lanes = p ? written_by(t, p, f, function, size, step) & m : 0, changed = 0;
        EACH_LANE(l, lanes)
        {
            uint64_t bits = read_value(t, w, p, f, function, size, l);
            if (!(v->known >> l & 1) || bits != v->last[l]) changed |= 1u << l;
            v->last[l] = bits;
        }
        v->known |= lanes;
        if (!changed) continue;
        struct simt_trace_value *value = add_value(out);
        if (!value) return false;
        value->variable = v->variable;
        value->lanes = lanes;
        memcpy(value->bits, v->last, sizeof value->bits);
    }
    return true;
}
