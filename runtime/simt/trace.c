/* The tracer: an observer that cuts what one warp runs into steps. */
#include "runtime/simt/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"
#include "runtime/simt/trace_watch.h"

struct tracer {
    struct simt_observer observer;
    struct simt_trace *out;
    struct trace_watch watch;
    struct trace_shared shared;
    uint64_t block;  /* the one that is traced */
    bool *in_source; /* by pc: an instruction of the source's own file */
    bool *jumps;     /* by pc: where control does not go straight on */
    bool *joins;     /* by pc: what the compiler adds where ways meet, of no line of its own */
    uint32_t *seen;  /* by pc: the step that ran it last */
    bool failed;     /* out of memory */

    /* the step at hand; number 0: there is none yet */
    uint32_t number;
    int line;
    uint32_t lanes, last_pc;
    const struct frame *frame;
    bool works; /* it did more than jump, and copy where ways meet */
};

/* ---- steps ---- */
static struct simt_trace_step *add_step(struct simt_trace *out)
{
    if (out->step_count == out->step_room) {
        uint32_t room = out->step_room ? 2 * out->step_room : 256;
        void *more = rt_realloc(out->steps, room * sizeof *out->steps);
        if (!more) return NULL;
        out->steps = more;
        out->step_room = room;
    }
    return &out->steps[out->step_count++];
}

static bool read_changes(struct tracer *t, const struct warp *w)
{
    uint32_t last = t->watch.program->places[t->last_pc].index, position = t->jumps[t->last_pc] ? last : last + 1;
    return simt_watch_read(&t->watch, w, t->frame, last, position, t->lanes, t->number, t->out) &&
           simt_shared_read(&t->shared, w, t->out);
}

/* The step at hand is over: keeps it with what it changed. One that only copies is a step if that shows. */
static void end_step(struct tracer *t, const struct warp *w)
{
    struct simt_trace *out = t->out;
    if (!t->number || t->failed || t->line <= 0) return;
    bool keep = out->step_count < out->limit;
    struct simt_trace_step step = {.line = t->line,
                                   .lanes = t->lanes,
                                   .function = out->functions[t->frame->function - t->watch.program->functions],
                                   .depth = (uint32_t)t->frame->depth,
                                   .first_value = out->value_count,
                                   .first_cell = out->cell_count};
    if ((keep || !t->works) && !read_changes(t, w)) {
        t->failed = true;
        return;
    }
    step.value_count = out->value_count - step.first_value;
    step.cell_count = out->cell_count - step.first_cell;
    if (!t->works && !step.value_count) return;
    out->all_steps++;
    if (!keep) {
        out->value_count = step.first_value;
        return;
    }
    struct simt_trace_step *kept = add_step(out);
    t->failed = !kept;
    if (kept) *kept = step;
}

static bool is_traced(const struct tracer *t, const struct worker *k)
{
    return k->block_index == t->block;
}

static enum event before(struct simt_observer *o, struct warp *w, const struct insn *i, uint32_t *m)
{
    struct tracer *t = (struct tracer *)o;
    if (w->index != (int)t->out->warp || !is_traced(t, w->worker)) return EV_NEXT;
    const struct split *s = &w->splits[w->current];
    if (t->in_source[w->pc]) {
        int line = t->watch.program->places[w->pc].line;
        if (t->joins[w->pc] && line != t->line) line = 0;
        bool same = t->number && t->frame == s->frame && t->lanes == s->mask &&
                    (line == t->line || !line || !t->line) && t->seen[w->pc] != t->number;
        if (!same) {
            end_step(t, w);
            t->shared.count = 0;
            t->number++;
            t->line = line;
            t->lanes = s->mask;
            t->frame = s->frame;
            t->works = false;
        } else if (line) {
            t->line = line;
        }
        t->works |= !t->joins[w->pc] && (i->run != simt_op_bra || i->guard != SLOT_TRUE);
        t->seen[w->pc] = t->number;
        t->last_pc = w->pc;
    }
    if (s->frame->depth > 0 && w->pc == s->frame->function->start) simt_watch_enter(&t->watch, s->frame, *m);
    simt_watch_note(&t->watch, w, i, *m, t->number);
    if (!t->failed) t->failed = !simt_shared_note(&t->shared, &t->watch, w, i, *m, t->out);
    return EV_NEXT;
}

static bool block_start(struct simt_observer *o, struct worker *k)
{
    const struct tracer *t = (const struct tracer *)o;
    if (is_traced(t, k)) t->out->exists = k->warps[t->out->warp].exists;
    return true;
}

static void block_end(struct simt_observer *o, struct worker *k)
{
    struct tracer *t = (struct tracer *)o;
    if (is_traced(t, k)) end_step(t, &k->warps[t->out->warp]);
}

/* ---- the launch ---- */
static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* A copy between registers, a jump, or the end of a function with a result. */
static bool is_join(const struct ptx_func *f, const struct ptx_insn *in)
{
    bool copy = !strcmp(in->opcode, "mov") && in->operand_count == 2 && in->operands[1].kind == PTX_OP_REG;
    bool result = !strcmp(in->opcode, "st") && in->mod_count > 0 && !strcmp(in->mods[0], "param");
    bool end = f->return_count > 0 && (result || !strcmp(in->opcode, "ret"));
    return in->guard < 0 && (copy || end || !strcmp(in->opcode, "bra"));
}

/* Where ways meet, the compiler copies registers and returns, without a .loc: the line that these seem to have is the
 * one that happens to stand before them in the text. They belong to where one comes from, which is the step at hand. */
static bool find_joins(struct tracer *t, const struct function *f, const struct ptx_func *ptx)
{
    bool *joins = rt_calloc(ptx->insn_count + 1, sizeof *joins);
    if (!joins) return false;
    for (size_t k = 0; k < ptx->label_count; k++) joins[ptx->labels[k].insn] = true;
    joins[0] = false;
    for (size_t n = 1; n < ptx->insn_count; n++) {
        const struct ptx_insn *in = &ptx->insns[n];
        joins[n] = (joins[n] || joins[n - 1]) && is_join(ptx, in) && in->source_line == in[-1].source_line;
    }
    for (uint32_t pc = f->start; pc < f->end; pc++) {
        uint32_t index = t->watch.program->places[pc].index;
        t->joins[pc] = index < ptx->insn_count && joins[index];
    }
    free(joins);
    return true;
}

static bool prepare(struct tracer *t, const struct simt_program *p)
{
    struct simt_trace *out = t->out;
    t->in_source = rt_calloc(p->code_count + 1, sizeof *t->in_source);
    t->jumps = rt_calloc(p->code_count + 1, sizeof *t->jumps);
    t->joins = rt_calloc(p->code_count + 1, sizeof *t->joins);
    t->seen = rt_calloc(p->code_count + 1, sizeof *t->seen);
    out->functions = rt_calloc(p->function_count + 1, sizeof *out->functions);
    if (!t->in_source || !t->jumps || !t->joins || !t->seen || !out->functions) return false;
    for (uint32_t pc = 0; pc < p->code_count; pc++) {
        const struct place *at = &p->places[pc];
        op_function run = p->code[pc].run;
        const char *file = at->file > 0 && (size_t)at->file < p->file_count ? p->files[at->file] : NULL;
        t->in_source[pc] = file && ends_with(file, out->file);
        t->jumps[pc] = run == simt_op_bra || run == simt_op_brx || run == simt_op_ret || run == simt_op_exit;
    }
    for (uint32_t f = 0; f < p->function_count; f++)
        if (!find_joins(t, &p->functions[f], &t->watch.module->funcs[f])) return false;
    for (; out->function_count < p->function_count; out->function_count++) {
        out->functions[out->function_count] = rt_strdup(p->functions[out->function_count].name);
        if (!out->functions[out->function_count]) return false;
    }
    return true;
}

static bool no_memory(struct simt_fault *fault, const struct simt_launch *l)
{
    *fault = (struct simt_fault){.kind = SIMT_FAULT_NOMEM};
    snprintf(fault->kernel, sizeof fault->kernel, "%s", simt_function_info(l->function)->name);
    snprintf(fault->text, sizeof fault->text, "out of host memory for a trace");
    return false;
}

static bool trace_launch(struct tracer *t, struct simt_launch *l, uint32_t local_bytes, struct simt_fault *fault)
{
    struct simt_trace *out = t->out;
    struct rt_error e = {0};
    out->debug = simt_debug_read(out->ptx, strlen(out->ptx), &e);
    rt_error_clear(&e);
    if (!out->debug || !prepare(t, t->watch.program) || !simt_shared_open(t->watch.program, l, out) ||
        !simt_watch_open(&t->watch, out->debug, local_bytes))
        return no_memory(fault, l);
    t->observer = (struct simt_observer){.before = before, .block_start = block_start, .block_end = block_end};
    t->block = (uint64_t)out->block[0] + (uint64_t)l->grid[0] * (out->block[1] + (uint64_t)l->grid[1] * out->block[2]);
    l->observer = &t->observer;
    if (!simt_run(l, fault)) return false;
    return t->failed ? no_memory(fault, l) : true;
}

static bool run(struct simt_study *s, const struct simt_launch *l, struct simt_fault *fault)
{
    struct simt_trace *out = (struct simt_trace *)s;
    struct tracer t = {.out = out};
    struct ptx_module *module = NULL;
    struct simt_program *program = NULL;
    struct simt_launch launch = *l;
    bool ok = simt_study_open(out->ptx, l, &module, &program, &t.watch.slots, &launch.function, fault);
    if (ok) {
        t.watch.module = module;
        t.watch.program = program;
        ok = trace_launch(&t, &launch, (launch.function->code->stack_bytes + 15u) & ~15u, fault);
    }
    simt_watch_close(&t.watch);
    for (size_t f = 0; t.watch.slots && f < module->func_count; f++) free(t.watch.slots[f]);
    free(t.watch.slots);
    simt_shared_close(&t.shared, out);
    free(t.in_source);
    free(t.jumps);
    free(t.joins);
    free(t.seen);
    simt_program_free(program);
    ptx_free(module);
    return ok;
}

struct simt_trace *simt_trace_new(void)
{
    struct simt_trace *t = rt_calloc(1, sizeof *t);
    if (t) t->study.run = run;
    return t;
}

void simt_trace_free(struct simt_trace *t)
{
    if (!t) return;
    for (uint32_t f = 0; t->functions && f < t->function_count; f++) free(t->functions[f]);
    for (uint32_t k = 0; k < t->array_count; k++) free(t->arrays[k].name);
    simt_debug_free(t->debug);
    free(t->functions);
    free(t->steps);
    free(t->values);
    free(t->arrays);
    free(t->cells);
    free(t);
}
