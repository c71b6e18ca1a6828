/* From a PTX syntax tree to a program: its functions, one after the other. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"
#include "runtime/simt/jit.h"

bool simt_out_of_memory(struct decoder *d)
{
    rt_fail(d->e, RT_NOMEM, "out of memory while loading a program of %zu functions", d->module->func_count);
    return false;
}

bool simt_grow(struct decoder *d, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    void **p = array;
    if (count < *capacity) return true;
    uint32_t n = *capacity ? *capacity * 2 : 64;
    void *q = rt_realloc(*p, n * size);
    if (!q) return simt_out_of_memory(d);
    *p = q;
    *capacity = n;
    return true;
}

bool simt_decode_fail(struct decoder *d, enum rt_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rt_failv(d->e, status, format, args);
    va_end(args);
    const struct ptx_insn *in = d->in;
    if (in && in->file > 0 && (size_t)in->file < d->module->file_count && d->module->files[in->file])
        rt_error_prefix(d->e, "%s:%d: in %s: ", d->module->files[in->file], in->source_line, d->f->name);
    else if (in)
        rt_error_prefix(d->e, "PTX line %d: in %s: ", in->line, d->f->name);
    return false;
}

bool simt_has_mod(const struct ptx_insn *in, const char *mod)
{
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strcmp(in->mods[k], mod)) return true;
    return false;
}

/* What only hardware has, by the beginning of the instruction's name, and what to do instead. */
#define OLDER   "compile the kernel for an older target, or run it on a GPU"
#define USE_MMA "use mma.sync or wmma, or run this kernel on a GPU"
static const struct {
    const char *name, *what, *way_out;
} hardware[] = {
    {"wgmma.mma_async.sp", "sparse matrix products", "use dense ones, or run this kernel on a GPU"},
    {"wgmma.", "this shape and these types of wgmma", USE_MMA},
    {"tcgen05.mma.sp", "sparse matrix products", "use dense ones, or run this kernel on a GPU"},
    {"tcgen05.", "this form of tcgen05 (by two blocks, with scales of blocks, from shared to tensor memory)",
     "use others of one block, or run this kernel on a GPU"},
    {"mma.sp", "sparse matrix products", "use dense ones, or run this kernel on a GPU"},
    {"mma.", "this shape and these types of mma", "use one of PTX's older ones, or run this kernel on a GPU"},
    {"cp.async.bulk.tensor", "this way of copying tensors (im2col, gather, scatter)",
     "use tiles, or run this kernel on a GPU"},
    {"cp.reduce.async.bulk.tensor", "this way of copying tensors (im2col)", "use tiles, or run this kernel on a GPU"},
    {"tensormap.", "this way of changing tensor maps", "make maps on the host, or run this kernel on a GPU"},
    {"multimem.", "memory of several devices (NVLink SHARP)", "run this kernel on such GPUs"},
    {"clusterlaunchcontrol.", "the launching of blocks by blocks (sm_100)", OLDER},
};

bool simt_decode_unsupported(struct decoder *d)
{
    char text[256];
    if (!simt_is_instruction(d->in->opcode))
        return simt_decode_fail(d, RT_COMPILE, "PTX has no instruction %s", d->in->opcode);
    size_t n = (size_t)snprintf(text, sizeof text, "%s", d->in->opcode);
    for (size_t i = 0; i < d->in->mod_count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ".%s", d->in->mods[i]);
    for (size_t i = 0; i < sizeof hardware / sizeof *hardware; i++)
        if (!strncmp(text, hardware[i].name, strlen(hardware[i].name)))
            return simt_decode_fail(d, RT_UNSUPPORTED,
                                    "the software GPU does not have %s, which %s (PTX line %d) belongs to; %s",
                                    hardware[i].what, text, d->in->line, hardware[i].way_out);
    if (!strncmp(text, "vote.", 5) || !strncmp(text, "shfl.", 5))
        return simt_decode_fail(d, RT_UNSUPPORTED,
                                "GPUs from Volta on have no %s (PTX line %d): __ballot(x), __any and __all are written "
                                "__ballot_sync(0xffffffff, x), with the lanes that come there first",
                                text, d->in->line);
    return simt_decode_fail(d, RT_UNSUPPORTED,
                            "the software GPU does not know the instruction %s (PTX line %d); run this kernel on a GPU",
                            text, d->in->line);
}

/* The name of an instruction with its modifiers, which the program keeps; NULL: out of memory. */
static const char *keep_name(struct simt_program *p, const struct ptx_insn *in)
{
    size_t length = strlen(in->opcode);
    for (size_t i = 0; i < in->mod_count; i++) length += 1 + strlen(in->mods[i]);
    struct string_list *s = rt_alloc(sizeof *s + length + 1);
    if (!s) return NULL;
    char *t = stpcpy(s->text, in->opcode);
    for (size_t i = 0; i < in->mod_count; i++) t = stpcpy(stpcpy(t, "."), in->mods[i]);
    s->next = p->strings;
    p->strings = s;
    return s->text;
}

static struct place place_of(struct decoder *d, const struct ptx_insn *in)
{
    uint32_t index = (uint32_t)(in - d->f->insns);
    return (struct place){.file = in->file,
                          .line = in->source_line,
                          .column = in->source_column,
                          .ptx_line = in->line,
                          .index = index,
                          .origin = simt_origin_of_first(d, in),
                          .term = simt_term_of_address(d, in),
                          .value = simt_term_of_value(d, in),
                          .facts = d->facts ? d->facts[index] : 0,
                          .of_groups = in->of_groups,
                          .ahead = in->ahead,
                          .of_tiles = in->of_tiles,
                          .is_added = in->is_added,
                          .is_copied = in->is_copied,
                          .is_room = in->is_room,
                          .used_bytes = in->used_bytes,
                          .early = simt_is_early(d->f, in),
                          .unsteady = d->unsteady && d->unsteady[index],
                          .loose = d->loose && d->loose[index]};
}

/* Makes room for one more op and its place. */
static bool grow_code(struct decoder *d)
{
    struct simt_program *p = d->program;
    uint32_t places = d->code_capacity;
    return simt_grow(d, &p->places, p->code_count, &places, sizeof *p->places) &&
           simt_grow(d, &p->code, p->code_count, &d->code_capacity, sizeof *p->code);
}

struct insn *simt_emit(struct decoder *d, op_function run)
{
    struct simt_program *p = d->program;
    if (!grow_code(d)) return NULL;
    struct place *place = &p->places[p->code_count], *last = p->code_count > 0 ? place - 1 : NULL;
    *place = d->in ? place_of(d, d->in) : (struct place){.opcode = "", .origin = -1};
    bool same = last && last->ptx_line == place->ptx_line && last->index == place->index; /* several of one */
    if (d->in && !(place->opcode = same ? last->opcode : keep_name(p, d->in))) {
        simt_out_of_memory(d);
        return NULL;
    }
    struct insn *i = &p->code[p->code_count++];
    *i = (struct insn){.run = run, .guard = SLOT_TRUE, .count = 1, .d = SLOT_SINK, .d2 = SLOT_SINK};
    return i;
}

bool simt_extra(struct decoder *d, const uint32_t *values, uint32_t count, uint32_t *index)
{
    struct simt_program *p = d->program;
    *index = p->extra_count;
    for (uint32_t k = 0; k < count; k++) {
        if (!simt_grow(d, &p->extra, p->extra_count, &d->extra_capacity, sizeof *p->extra)) return false;
        p->extra[p->extra_count++] = values[k];
    }
    return true;
}

/* ---- functions ---- */
/* Offsets of the parameters: laid out one after the other, each aligned as its type asks. */
static bool place_parameters(struct decoder *d, const struct ptx_var *vars, size_t count, uint64_t *end,
                             uint32_t **offsets, uint32_t **sizes)
{
    *offsets = rt_calloc(count + 1, sizeof **offsets);
    *sizes = rt_calloc(count + 1, sizeof **sizes);
    if (!*offsets || !*sizes) return simt_out_of_memory(d);
    for (size_t k = 0; k < count; k++) {
        /* One in a register comes and goes through memory like the others. */
        if (vars[k].type == PTX_PRED)
            return simt_decode_fail(d, RT_UNSUPPORTED, "%s has a predicate as parameter", d->f->name);
        *end = simt_align_up(*end, vars[k].align ? vars[k].align : ptx_type_size(vars[k].type));
        (*offsets)[k] = (uint32_t)*end;
        (*sizes)[k] = (uint32_t)vars[k].size;
        *end += vars[k].size;
        if (*end > MAX_LOCAL)
            return simt_decode_fail(d, RT_UNSUPPORTED, "the parameters of %s take more than %d bytes", d->f->name,
                                    MAX_LOCAL);
    }
    return true;
}

bool simt_name_shared(struct decoder *d, const struct ptx_var *v, int function, uint64_t offset)
{
    struct simt_program *p = d->program;
    if (!simt_grow(d, &p->shared, p->shared_count, &d->shared_capacity, sizeof *p->shared)) return false;
    char *name = rt_strdup(v->name);
    if (!name) return simt_out_of_memory(d);
    p->shared[p->shared_count++] = (struct shared_variable){name, function, (uint32_t)offset, (uint32_t)v->size};
    return true;
}

/* What calls with registers and numbers as operands need: 16 bytes for each. */
static uint64_t scratch_bytes(const struct ptx_func *f)
{
    uint64_t most = 0;
    for (size_t k = 0; k < f->insn_count; k++) {
        uint64_t n = 0;
        if (strcmp(f->insns[k].opcode, "call")) continue;
        for (size_t o = 0; o < f->insns[k].operand_count; o++)
            for (size_t e = 0; e < f->insns[k].operands[o].item_count; e++)
                n += f->insns[k].operands[o].items[e].kind != PTX_OP_SYMBOL;
        if (n > most) most = n;
    }
    return 16 * most;
}

static bool place_variables(struct decoder *d)
{
    const struct ptx_func *f = d->f;
    uint64_t local = 0, params = 0, shared = d->shared_start[d->index];
    d->var_offset = rt_calloc(f->var_count + 1, sizeof *d->var_offset);
    if (!d->var_offset) return simt_out_of_memory(d);
    for (size_t k = 0; k < f->var_count; k++) {
        const struct ptx_var *v = &f->vars[k];
        uint64_t *end = v->space == PTX_SHARED ? &shared : &local;
        if (v->space != PTX_SHARED && v->space != PTX_LOCAL && v->space != PTX_PARAM)
            return simt_decode_fail(d, RT_UNSUPPORTED, "the variable %s inside %s is neither shared nor local", v->name,
                                    f->name);
        bool dynamic = v->space == PTX_SHARED && v->is_extern;
        if (!dynamic) *end = simt_align_up(*end, v->align);
        d->var_offset[k] = dynamic ? d->program->dynamic_base : *end;
        if (v->space == PTX_SHARED && !simt_name_shared(d, v, (int)d->index, d->var_offset[k])) return false;
        if (dynamic) continue;
        *end += v->size;
        if (local > MAX_LOCAL)
            return simt_decode_fail(d, RT_UNSUPPORTED, "%s wants more than %d bytes of local memory", f->name,
                                    MAX_LOCAL);
    }
    if (!place_parameters(d, f->params, f->param_count, f->is_entry ? &params : &local, &d->fn->param_offset,
                          &d->fn->param_size) ||
        !place_parameters(d, f->returns, f->return_count, &local, &d->fn->return_offset, &d->fn->return_size))
        return false;
    d->fn->param_count = (uint32_t)f->param_count;
    d->fn->return_count = (uint32_t)f->return_count;
    d->scratch = (uint32_t)simt_align_up(local, 16);
    local = d->scratch + scratch_bytes(f);
    d->fn->local_bytes = (uint32_t)simt_align_up(local, 16);
    d->fn->shared_end = (uint32_t)shared;
    return local <= MAX_LOCAL
               ? true
               : simt_decode_fail(d, RT_UNSUPPORTED, "%s wants more than %d bytes of local memory", f->name, MAX_LOCAL);
}

static void patch_targets(struct decoder *d)
{
    struct simt_program *p = d->program;
    for (uint32_t k = d->fn->start; k < p->code_count; k++)
        if (p->code[k].run == simt_op_bra) p->code[k].target = d->pc_of[p->code[k].target];
    for (uint32_t t = 0; t < p->table_count; t++)
        if (p->tables[t].count && p->tables[t].targets[p->tables[t].count] == 0) {
            for (uint32_t k = 0; k < p->tables[t].count; k++)
                p->tables[t].targets[k] = d->pc_of[p->tables[t].targets[k]];
            p->tables[t].targets[p->tables[t].count] = 1; /* patched */
        }
}

static bool decode_one(struct decoder *d, size_t k)
{
    d->in = &d->f->insns[k];
    memset(d->temp_used, 0, sizeof d->temp_used);
    if (!simt_decode_insn(d)) return false;
    simt_forget_written(d);
    return true;
}

static bool decode_body(struct decoder *d)
{
    const struct ptx_func *f = d->f;
    d->pc_of = rt_calloc(f->insn_count + 1, sizeof *d->pc_of);
    if (!d->pc_of) return simt_out_of_memory(d);
    d->tally_count = 0;
    memset(d->temp_count, 0, sizeof d->temp_count);
    memset(d->narrowed, 0, sizeof d->narrowed);
    simt_forget_narrowed(d, -1);
    for (size_t k = 0; k < f->insn_count; k++)
        if (d->hoisted[k] && !decode_one(d, k)) return false;
    d->fn->start = d->program->code_count;
    simt_forget_narrowed(d, -1);
    if (!simt_take_parameters(d)) return false;
    for (size_t k = 0; k < f->label_count; k++)
        if (f->labels[k].insn < f->insn_count) d->pc_of[f->labels[k].insn] = 1; /* marks a label until it is reached */
    for (size_t k = 0; k < f->insn_count; k++) {
        if (d->pc_of[k]) simt_forget_narrowed(d, -1);
        d->pc_of[k] = d->program->code_count;
        if (!d->hoisted[k] && !decode_one(d, k)) return false;
    }
    d->pc_of[f->insn_count] = d->program->code_count;
    d->in = NULL; /* falling off the end returns */
    memset(d->temp_used, 0, sizeof d->temp_used);
    if (!simt_give_results(d) || !simt_emit(d, simt_op_ret)) return false;
    patch_targets(d);
    return true;
}

/* A body with an unknown instruction becomes an empty one that remembers why: no kernel in use may need it. */
static bool decode_or_refuse(struct decoder *d)
{
    struct simt_program *p = d->program;
    uint32_t tables = p->table_count;
    if (decode_body(d)) return true;
    if (d->e->status != RT_UNSUPPORTED || !d->e->text) return false;
    d->fn->refused = rt_strdup(d->e->text);
    if (!d->fn->refused) return simt_out_of_memory(d);
    rt_error_clear(d->e);
    p->code_count = d->fn->start = d->fn->setup;
    for (; tables < p->table_count; tables++) p->tables[tables].count = 0;
    return true;
}

/* The places of registers and, behind them, of variables, for who asked. */
static bool keep_slots(struct decoder *d)
{
    size_t registers = d->f->reg_count, variables = d->f->var_count;
    uint32_t *slots = rt_realloc(d->slots, (registers + variables + 1) * sizeof *slots);
    if (!slots) return simt_out_of_memory(d);
    for (size_t k = 0; k < variables; k++) slots[registers + k] = (uint32_t)d->var_offset[k];
    d->slots_of[d->index] = slots;
    d->slots = NULL;
    return true;
}

static void *freed(void *p)
{
    free(p);
    return NULL;
}

static void forget_function(struct decoder *d)
{
    d->slots = freed(d->slots);
    d->classes = freed(d->classes);
    d->wanted = freed(d->wanted);
    d->hoisted = freed(d->hoisted);
    d->var_offset = freed(d->var_offset);
    d->pc_of = freed(d->pc_of);
    d->origins = freed(d->origins);
    d->unsteady = freed(d->unsteady);
    d->loose = freed(d->loose);
    simt_forget_flow(d);
    simt_forget_terms(d);
    d->in = NULL;
}

static bool decode_function(struct decoder *d, uint32_t index)
{
    struct simt_program *p = d->program;
    d->index = index;
    d->f = &d->module->funcs[index];
    d->fn = &p->functions[index];
    d->slot_capacity = 0;
    d->in = NULL;
    d->fn->is_entry = d->f->is_entry;
    d->fn->setup = d->fn->start = p->code_count;
    d->fn->const_first = p->constant_count;
    if (!(d->fn->name = rt_strdup(d->f->name))) return simt_out_of_memory(d);
    if (!d->f->has_body) return true;
    bool ok = place_variables(d) && simt_find_invariants(d) && simt_place_registers(d) && simt_find_origins(d) &&
              simt_find_terms(d) && simt_find_facts(d) && simt_find_flow(d) && simt_find_steady(d) &&
              decode_or_refuse(d);
    if (d->slots_lost) ok = false;
    d->fn->end = p->code_count;
    if (ok && !d->fn->refused) {
        simt_find_guesses(p, d->fn);
        ok = simt_find_among_atomics(d);
    }
    d->fn->term_end = p->term_count;
    if (d->fn->frame_bytes < 512) d->fn->frame_bytes = 512; /* slot 0 may be read as a vector that nobody uses */
    d->fn->frame_bytes = (uint32_t)simt_align_up(d->fn->frame_bytes, 64);
    if (d->slots_of && ok) ok = keep_slots(d);
    forget_function(d);
    return ok;
}

/* ---- the module ---- */
static bool copy_files(struct decoder *d)
{
    const struct ptx_module *m = d->module;
    struct simt_program *p = d->program;
    p->files = rt_calloc(m->file_count + 1, sizeof *p->files);
    if (!p->files) return simt_out_of_memory(d);
    p->file_count = m->file_count;
    for (size_t k = 0; k < m->file_count; k++)
        if (m->files[k] && !(p->files[k] = rt_strdup(m->files[k]))) return simt_out_of_memory(d);
    return true;
}

static bool decode_module(struct decoder *d)
{
    const struct ptx_module *m = d->module;
    struct simt_program *p = d->program;
    p->functions = rt_calloc(m->func_count + 1, sizeof *p->functions);
    p->entries = rt_calloc(m->func_count + 1, sizeof *p->entries);
    p->globals = rt_calloc(m->var_count + 1, sizeof *p->globals);
    d->var_address = rt_calloc(m->var_count + 1, sizeof *d->var_address);
    d->shared_start = rt_calloc(m->func_count + 1, sizeof *d->shared_start);
    if (!p->functions || !p->entries || !p->globals || !d->var_address || !d->shared_start)
        return simt_out_of_memory(d);
    if (!copy_files(d) || !simt_place_shared(d) || !simt_place_globals(d)) return false;
    for (size_t k = 0; k < m->func_count; k++) {
        p->function_count = (uint32_t)k + 1;
        if (!decode_function(d, (uint32_t)k)) return false;
    }
    for (uint32_t k = 0; k < m->func_count; k++)
        if (m->funcs[k].is_entry && m->funcs[k].has_body && !simt_describe_entry(d, k)) return false;
    simt_find_units(p);
    return simt_check_refusals(d) && simt_relocate(d);
}

static struct simt_program *new_program(struct decoder *d, struct rt_error *e)
{
    static _Atomic uint64_t programs;
    struct rt_error own = {0};
    d->e = e ? e : &own;
    d->vectors = simt_vector_ops();
    d->program = rt_calloc(1, sizeof *d->program);
    if (d->program) d->program->number = atomic_fetch_add(&programs, 1);
    bool ok = d->program ? decode_module(d) : simt_out_of_memory(d);
    free(d->var_address);
    free(d->shared_start);
    rt_error_clear(&own);
    d->e = NULL;
    if (ok) return d->program;
    simt_program_free(d->program);
    return NULL;
}

struct simt_program *simt_program_new(const struct ptx_module *m, struct rt_error *e)
{
    struct decoder d = {.module = m};
    return new_program(&d, e);
}

struct simt_program *simt_program_again(const struct ptx_module *m, const struct simt_program *base, uint32_t **slots,
                                        struct rt_error *e)
{
    struct decoder d = {.module = m, .base = base, .plain = true, .apart = slots != NULL, .slots_of = slots};
    return new_program(&d, e);
}
