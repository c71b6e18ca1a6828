/* What each instruction of a function is to the code generator: what writes it, and which slots it reads and writes. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/jit_build.h"

/* The slot's number; 0xffff when the frame has no such slot, or it is used as two kinds. */
static uint16_t slot_at(struct jit *j, uint32_t offset, char class)
{
    if (offset >= j->function->frame_bytes || offset % 4) return 0xffff;
    uint16_t *k = &j->slot_of[offset / 4];
    if (*k == 0xffff) {
        if (j->slot_count == j->slot_capacity) return 0xffff;
        *k = (uint16_t)j->slot_count++;
        j->slots[*k] = (struct jit_slot){.offset = offset, .class = class};
    }
    struct jit_slot *s = &j->slots[*k];
    bool constant = class == 'p' && s->class == 'w' && s->fixed; /* all lanes, or none */
    if (class && s->class && s->class != class && !constant) return 0xffff;
    if (class && !constant) s->class = class;
    return *k;
}

static bool add_read(struct jit *j, struct jit_insn *n, uint32_t offset, char class)
{
    uint16_t k = slot_at(j, offset, class);
    if (k == 0xffff || n->read_count == JIT_READS) return false;
    n->reads[n->read_count++] = k;
    return true;
}
static bool add_write(struct jit *j, struct jit_insn *n, uint32_t offset, char class)
{
    if (offset == SLOT_SINK) return true;
    uint16_t k = slot_at(j, offset, class);
    if (k == 0xffff || n->write_count == JIT_WRITES) return false;
    n->writes[n->write_count++] = k;
    return true;
}

/* By the letters of a row: first the destination, then a, b, c and extra. '-' is none. */
static bool add_operands(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    const uint32_t from[] = {i->a, i->b, i->c, i->extra};
    size_t count = strlen(letters);
    if (count > 5) return false;
    for (size_t k = 1; k < count; k++)
        if (letters[k] != '-' && !add_read(j, n, from[k - 1], letters[k])) return false;
    return letters[0] == '-' || add_write(j, n, i->d, letters[0]);
}

static bool add_memory(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    const uint32_t *data = i->count == 1 ? &i->d : j->program->extra + i->extra;
    n->wide = letters[0] == 'q';
    if (n->op == 2) n->detail = i->type >= PTX_S8 && i->type <= PTX_S64;
    n->kind = i->flags & F_STORE ? JK_STORE : JK_LOAD; /* local memory's rows are of both */
    if (!add_read(j, n, i->a, n->op ? 'w' : 'q')) return false;
    for (int k = 0; k < i->count; k++)
        if (!(n->kind == JK_LOAD ? add_write(j, n, data[k], letters[0]) : add_read(j, n, data[k], letters[0])))
            return false;
    if ((i->flags & F_SPIN) || (n->op == 2 && !simt_jit_is_local(j, n))) n->kind = JK_CALL;
    if (j->last && j->once && !n->op && (n->kind == JK_STORE || n->wide)) n->kind = JK_CALL;
    return true;
}

static bool add_atomic(struct jit *j, struct jit_insn *n, bool shared)
{
    const struct insn *i = n->i;
    char class = simt_class_of((enum ptx_type)i->type);
    return class != 'x' && add_read(j, n, i->a, shared ? 'w' : 'q') && add_read(j, n, i->b, class) &&
           (!i->c || add_read(j, n, i->c, class)) && (i->extra || add_write(j, n, i->d, class));
}

/* Conversions and atomics are not in the tables: the words of the instruction tell. */
static bool add_by_name(struct jit *j, struct jit_insn *n, const char *opcode)
{
    char words[96], *save = NULL;
    enum ptx_type types[2] = {PTX_NONE, PTX_NONE};
    int type_count = 0;
    bool shared = false;
    strncpy(words, opcode, sizeof words - 1);
    words[sizeof words - 1] = 0;
    for (char *w = strtok_r(words, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
        enum ptx_type t = ptx_type_find(w);
        if (t != PTX_NONE && type_count < 2) types[type_count++] = t;
        shared |= !strncmp(w, "shared", 6);
    }
    n->kind = JK_CALL;
    if (!strcmp(words, "atom") || !strcmp(words, "red")) return add_atomic(j, n, shared);
    if (strcmp(words, "cvt") || type_count != 2 || n->i->b || n->i->c) return false; /* or of more than one source */
    char to = simt_class_of(types[0]), from = simt_class_of(types[1]);
    n->plain = true;
    return (to == 'w' || to == 'q') && (from == 'w' || from == 'q') && add_read(j, n, n->i->a, from) &&
           add_write(j, n, n->i->d, to);
}

static bool describe_compare(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    n->wide = letters[1] == 'q';
    n->is_short = n->op & JT_SHORT;
    n->op &= JT_SHORT - 1;
    if (n->flushes && simt_jit_is_avx2(j)) n->kind = JK_CALL;
    return add_read(j, n, i->a, letters[1]) && add_read(j, n, i->b, letters[2]) &&
           (i->mode == 0 || i->mode == 4 || add_read(j, n, i->c, 'p')) && add_write(j, n, i->d, 'p') &&
           (i->mode == 0 || add_write(j, n, i->d2, 'p'));
}

static bool describe_control(struct jit *j, struct jit_insn *n)
{
    const struct insn *i = n->i;
    bool plain = i->guard == SLOT_TRUE && !i->guard_flip;
    n->kind = JK_LEAVE;
    if (i->run == simt_op_bra) {
        n->kind = JK_BRANCH;
        return add_read(j, n, i->guard, 'p');
    }
    if (i->run == simt_op_exit || i->run == simt_op_ret) {
        if (plain) n->kind = JK_EXIT;
    } else if (i->run == simt_op_nop) {
        n->kind = simt_jit_is_watched(j, i) ? JK_CALL : JK_NOP;
    } else if (i->run == simt_op_barrier) {
        if (plain && (i->flags & F_UNIFORM) && !i->mode && !i->b) n->kind = JK_BARRIER;
        return n->kind == JK_BARRIER && add_read(j, n, i->a, 'w');
    } else if (i->run == simt_op_special) {
        n->kind = i->mode < SR_CLOCK || i->mode > SR_GLOBALTIMER_HI ? JK_SPECIAL : JK_CALL;
        n->wide = i->size == 8;
        return add_write(j, n, i->d, n->wide ? 'q' : 'w');
    } else if (i->run == simt_op_yield) {
        n->kind = JK_CALL;
    } else if (i->run == simt_op_local_address) {
        n->kind = JK_CALL;
        return add_write(j, n, i->d, i->size == 8 ? 'q' : 'w');
    } else {
        return false;
    }
    return plain || n->kind == JK_NOP;
}

static bool is_control(op_function run)
{
    return run == simt_op_bra || run == simt_op_exit || run == simt_op_ret || run == simt_op_brx ||
           run == simt_op_call || run == simt_op_barrier || run == simt_op_trap || run == simt_op_nop ||
           run == simt_op_yield || run == simt_op_special || run == simt_op_local_address;
}

static bool is_memory_row(const struct jit_op *op)
{
    return op->native && (op->native->kind == JK_LOAD || op->native->kind == JK_STORE);
}

static bool is_constant(struct jit *j, uint32_t offset)
{
    uint16_t s = slot_at(j, offset, 0);
    return s != 0xffff && j->slots[s].fixed && j->slots[s].form.kind == FORM_CONST;
}

/* An exchange among all lanes that is known by now needs no call: for a full warp nobody has to wait, and an observer
 * is told of barriers alone. */
static bool describe_exchange(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    uint32_t members = n->kind == JK_NOP ? i->a : i->extra;
    bool full = is_constant(j, members) && (uint32_t)j->slots[slot_at(j, members, 0)].form.step == FULL && !j->last, ok;
    if (n->kind == JK_VOTE) {
        ok = add_read(j, n, i->a, 'p') && add_read(j, n, i->extra, 'w') && add_write(j, n, i->d, i->mode ? 'p' : 'w');
    } else {
        ok = add_operands(j, n, letters);
        if (n->kind == JK_SHUFFLE) ok = ok && add_write(j, n, i->d2, 'p');
        full &= n->kind == JK_NOP || (is_constant(j, i->b) && is_constant(j, i->c));
    }
    n->whole = n->kind == JK_NOP && full && i->guard == SLOT_TRUE;
    if (!full || i->guard != SLOT_TRUE)
        n->kind = JK_CALL;
    else if (n->kind == JK_NOP && simt_jit_is_watched(j, i))
        n->kind = JK_MEET;
    return ok;
}

static bool describe_op(struct jit *j, struct jit_insn *n, const struct jit_op *op)
{
    const struct jit_native *native = simt_jit_native(op, n->i);
    n->kind = JK_CALL;
    if (native) {
        n->kind = native->kind;
        n->op = native->op;
        n->detail = native->detail;
        n->flushes = (native->flags & F_FTZ) && (n->kind == JK_FLOAT || n->kind == JK_COMPARE);
    }
    if (is_memory_row(op)) return add_memory(j, n, op->operands);
    if (n->kind == JK_SHUFFLE || n->kind == JK_VOTE || n->kind == JK_NOP) return describe_exchange(j, n, op->operands);
    if (n->kind == JK_COMPARE || !strncmp(op->operands, "pww", 3) || !strncmp(op->operands, "pqq", 3))
        return describe_compare(j, n, op->operands);
    n->wide = op->operands[0] == 'q';
    if (!add_operands(j, n, op->operands)) return false;
    if (n->kind == JK_INTEGER && n->op == JI_UNPACK) return n->i->d2 == n->i->d || add_write(j, n, n->i->d2, 'w');
    bool asks = simt_jit_is_watched(j, n->i) && !simt_jit_is_division(n);
    if (asks || !simt_jit_can_compute(j, n)) n->kind = JK_CALL;
    if (n->i->d2 == SLOT_SINK || n->kind != JK_CALL) return true;
    return add_read(j, n, n->i->d2, 0) && add_write(j, n, n->i->d2, 0); /* perhaps some lanes only */
}

/* May its op be called where the warp has no splits, and for any of its lanes? */
static bool is_plain(const struct jit_insn *n, const struct jit_op *op)
{
    if (n->i->memory == MEMORY_ATOMIC || n->i->flags & F_SPIN || n->whole) return false;
    if (n->i->run == simt_op_special || n->i->run == simt_op_nop || n->i->run == simt_op_local_address) return true;
    return n->plain || (op && op->plain);
}

static void describe_one(struct jit *j, struct jit_insn *n, const struct insn *i, const struct place *at)
{
    *n = (struct jit_insn){.i = i};
    /* The words of an atomic tell more than a row of vector_atomic.h, if it has one. */
    const struct jit_op *op = is_control(i->run) || i->memory == MEMORY_ATOMIC ? NULL : simt_jit_op(i->run);
    bool known = is_control(i->run)   ? describe_control(j, n)
                 : op && op->operands ? describe_op(j, n, op)
                 : op                 ? false
                                      : add_by_name(j, n, at->opcode);
    if (!known) {
        n->read_count = n->write_count = 0;
        if (n->kind != JK_LEAVE) n->kind = JK_UNKNOWN;
        if (is_control(i->run)) n->kind = JK_LEAVE;
    }
    n->plain = known && is_plain(n, op);
    if (n->kind == JK_BRANCH || n->kind == JK_UNKNOWN || n->kind == JK_LEAVE) return;
    /* What it writes keeps its other lanes: those are read. Where nobody looks, who wants a load does not matter. */
    n->guarded = i->guard != SLOT_TRUE && (!(i->flags & F_EAGER) || simt_jit_is_watched(j, i));
    bool partial = n->guarded || (n->kind == JK_CALL && !i->memory && simt_jit_is_watched(j, i));
    if (!partial) return;
    if (n->guarded) n->kind = n->kind == JK_NOP ? JK_NOP : JK_CALL;
    bool ok = !n->guarded || add_read(j, n, i->guard, 'p');
    for (int k = 0; k < n->write_count; k++) ok &= add_read(j, n, j->slots[n->writes[k]].offset, 0);
    if (!ok) {
        n->kind = JK_UNKNOWN;
        n->plain = false;
        n->read_count = n->write_count = 0;
    }
}

static void describe_from(struct jit *j, uint32_t first)
{
    for (uint32_t k = first; k < j->count; k++)
        describe_one(j, &j->code[k], &j->program->code[j->first + k], &j->program->places[j->first + k]);
}

/* Registers that only the setup writes, and with an immediate, are as good as immediates. */
static bool find_constants(struct jit *j)
{
    bool found = false;
    for (uint32_t k = j->start; k < j->count; k++)
        for (int w = 0; w < j->code[k].write_count; w++) j->slots[j->code[k].writes[w]].rewritten = true;
    for (uint32_t k = j->start; k-- > 0;)
        for (int w = 0; w < j->code[k].write_count; w++) {
            struct jit_slot *s = &j->slots[j->code[k].writes[w]];
            s->rewritten |= s->written;
            s->written = true;
        }
    for (uint32_t k = 0; k < j->start; k++) {
        const struct jit_insn *n = &j->code[k];
        if (n->kind != JK_INTEGER || n->op != JI_MOV || n->write_count != 1) continue;
        struct jit_slot *from = &j->slots[n->reads[0]], *to = &j->slots[n->writes[0]];
        if (to->rewritten || !from->fixed || from->form.kind != FORM_CONST) continue;
        to->fixed = found = true;
        to->form = from->form;
    }
    return found;
}

/* Does the function what lanes without a thread must not do again, or look at what does? */
static bool does_once(const struct jit *j)
{
    for (uint32_t k = j->function->setup; k < j->function->end; k++) {
        const struct insn *i = &j->program->code[k];
        if (i->memory == MEMORY_ATOMIC || (i->memory && i->flags & F_SPIN) || simt_is_exchange(i->run)) return true;
    }
    return false;
}

bool simt_jit_describe(struct jit *j)
{
    const struct function *f = j->function;
    j->once = does_once(j);
    j->first = f->setup;
    j->count = f->end - f->setup;
    j->start = f->start - f->setup;
    j->code = rt_calloc(j->count + 1, sizeof *j->code);
    j->slot_capacity = f->frame_bytes / 4 < 4000 ? f->frame_bytes / 4 : 4000;
    if (j->slot_capacity > 2 + f->const_count + 8 * j->count) j->slot_capacity = 2 + f->const_count + 8 * j->count;
    j->slots = rt_calloc(j->slot_capacity + 1, sizeof *j->slots);
    j->slot_of = rt_alloc((f->frame_bytes / 4 + 1) * sizeof *j->slot_of);
    if (!j->code || !j->slots || !j->slot_of) return false;
    memset(j->slot_of, 0xff, (f->frame_bytes / 4 + 1) * sizeof *j->slot_of);
    if (slot_at(j, SLOT_TRUE, 'p')) return false;
    j->slots[0].fixed = true;
    j->slots[0].form = (struct jit_form){FORM_CONST, -1, 0, 0};
    for (uint32_t k = 0; k < f->const_count; k++) {
        const struct constant *c = &j->program->constants[f->const_first + k];
        uint16_t s = slot_at(j, c->slot, c->wide ? 'q' : 'w');
        if (s == 0xffff) continue;
        j->slots[s].fixed = true;
        j->slots[s].form = (struct jit_form){FORM_CONST, c->wide ? (int64_t)c->value : (int32_t)c->value, 0, 0};
    }
    describe_from(j, 0);
    if (find_constants(j)) describe_from(j, j->start);
    return true;
}
