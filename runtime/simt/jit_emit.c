/* The code of a kernel: its blocks one after the other, calls of ops, branches, and the ways in and out. */
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/simt/jit_build.h"
#include "runtime/simt/tally.h"

#define MAX_BYTES ((size_t)8 << 20) /* a kernel of more is interpreted */

/* ---- ways in and out ---- */
static const int saved[] = {RBX, RBP, R12, R13, R14, R15};
#define SAVED_COUNT ((int)(sizeof saved / sizeof *saved))

static void save_registers(struct x86 *x)
{
    for (int k = 0; k < SAVED_COUNT; k++) x86_push(x, saved[k]);
    x86_imm(x, ALU_SUB, true, RSP, 8); /* at rsp: how many warps are to follow; behind: do they begin the kernel? */
}

static void begin_warp(struct jit *j)
{
    x86_rm(&j->x, ALU_MOV, true, REG_FRAME, OF_WARP(entry_regs));
    x86_mem_imm(&j->x, ALU_MOV, false, OF_WARP(budget), SLICE);
}

/* All warps have had their turn. If they have come to their ends, all in the first round, the block behind in the
 * grid's row may follow at once, as long as nobody wants the launch to stop: blocks may live for less time than it
 * takes to leave and to come again. rax says why the last warp left. */
static void write_next_block(struct jit *j)
{
    struct x86 *x = &j->x;
    const struct x86_mem in_first_round = x86_at(RSP, 4);
    x86_mem_imm(x, ALU_CMP, false, in_first_round, 0);
    x86_jump_if(x, CC_E, j->leave_label);
    x86_mem_imm(x, ALU_CMP, false, OF_WORKER(quick_left), 0);
    x86_jump_if(x, CC_NE, j->leave_label);
    x86_mem_imm(x, ALU_CMP, false, OF_WORKER(row), 0);
    x86_jump_if(x, CC_E, j->leave_label);
    x86_load_imm(x, RCX, (uint64_t)(uintptr_t)&rt_interrupt_flag);
    x86_load_part(x, RCX, x86_at(RCX, 0), 1, false, false);
    x86_test(x, false, RCX, RCX);
    x86_jump_if(x, CC_NE, j->leave_label);
    x86_rm(x, ALU_MOV, true, RCX, OF_WORKER(run));
    x86_mem_imm(x, ALU_CMP, true, x86_at(RCX, (int32_t)offsetof(struct run, fault_block)), -1);
    x86_jump_if(x, CC_NE, j->leave_label);
    x86_mem_imm(x, ALU_SUB, false, OF_WORKER(row), 1);
    x86_mem_imm(x, ALU_ADD, false, OF_WORKER(block[0]), 1);
    x86_mem_imm(x, ALU_ADD, true, OF_WORKER(block_index), 1);
    x86_mem_imm(x, ALU_ADD, true, OF_WORKER(turn_index), 1);
    x86_rm(x, ALU_MOV, true, REG_WARP, OF_WORKER(warps));
    x86_imm(x, ALU_SUB, true, REG_WARP, sizeof(struct warp));
    x86_rm(x, ALU_MOV, false, RCX, OF_WORKER(warp_count));
    x86_store(x, false, OF_WORKER(quick_left), RCX);
    x86_store(x, false, x86_at(RSP, 0), RCX);
    x86_jump(x, j->next_label);
}

/* enum jit_exit enter(char *R, struct warp *w, const void *at), and, at all_label, enter(struct worker *k,
 * struct warp *first, uint32_t count): code that comes to its end or to a barrier goes on with the next warp. In the
 * first round nobody has yet said where: warps begin at the kernel's first block, which is to be written right behind.
 */
static void write_entrance(struct jit *j)
{
    struct x86 *x = &j->x;
    int again = x86_label(x), over = x86_label(x);
    save_registers(x);
    x86_mem_imm(x, ALU_MOV, true, x86_at(RSP, 0), 0);
    x86_rr(x, ALU_MOV, true, REG_FRAME, RDI);
    x86_rr(x, ALU_MOV, true, REG_WARP, RSI);
    x86_rm(x, ALU_MOV, true, REG_WORKER, OF_WARP(worker));
    x86_rm(x, ALU_MOV, true, REG_SHARED, OF_WORKER(shared));
    x86_rm(x, ALU_MOV, true, REG_BIAS, OF_WORKER(jit_bias));
    x86_jump_to(x, RDX);

    x86_bind(x, j->all_label);
    save_registers(x);
    x86_rr(x, ALU_MOV, true, REG_WORKER, RDI);
    x86_rm(x, ALU_MOV, true, REG_SHARED, OF_WORKER(shared));
    x86_rm(x, ALU_MOV, true, REG_BIAS, OF_WORKER(jit_bias));
    x86_rr(x, ALU_MOV, true, REG_WARP, RSI);
    x86_imm(x, ALU_SUB, true, REG_WARP, sizeof(struct warp));
    x86_store(x, false, x86_at(RSP, 0), RDX);
    x86_load_part(x, RAX, OF_WORKER(first_round), 1, false, false);
    x86_store(x, false, x86_at(RSP, 4), RAX);
    x86_jump(x, j->next_label);

    x86_bind(x, again);
    x86_rm(x, ALU_MOV, true, RCX, OF_WARP(resume));
    x86_test(x, true, RCX, RCX);
    x86_jump_if(x, CC_E, j->next_label);
    begin_warp(j);
    x86_jump_to(x, RCX);

    x86_bind(x, over);
    write_next_block(j);
    x86_bind(x, j->leave_label);
    x86_store(x, true, OF_WORKER(left), REG_WARP);
    x86_vzeroupper(x);
    x86_imm(x, ALU_ADD, true, RSP, 8);
    for (int k = SAVED_COUNT; k-- > 0;) x86_pop(x, saved[k]);
    x86_return(x);

    x86_bind(x, j->exit_label);
    x86_mem_imm(x, ALU_MOV, true, OF_WARP(resume), 0);
    x86_mem_imm(x, ALU_SUB, false, OF_WORKER(quick_left), 1);
    x86_load_imm(x, RAX, JIT_EXIT);
    x86_bind(x, j->next_label);
    x86_mem_imm(x, ALU_SUB, false, x86_at(RSP, 0), 1);
    x86_jump_if(x, CC_S, over);
    x86_imm(x, ALU_ADD, true, REG_WARP, sizeof(struct warp));
    x86_mem_imm(x, ALU_CMP, false, x86_at(RSP, 4), 0);
    x86_jump_if(x, CC_E, again);
    begin_warp(j);
}

static bool fill_range(struct worker *k, uint32_t index, uint64_t address, uint64_t span)
{
    struct simt_block b;
    struct simt_mapped m;
    bool mapped = k->jit_bias != k->bias; /* what is elsewhere is the interpreter's */
    if (mapped && simt_mapped_find(address, &m))
        b = (struct simt_block){m.start, m.bytes};
    else if (mapped || !simt_find(address, &b))
        return false;
    if (b.bytes < span || address - b.address > b.bytes - span) return false;
    if (!mapped) simt_tally_found(k, &b);
    k->jit_ranges[index] = (struct jit_range){.low = b.address, .room = b.bytes - span + 1};
    return true;
}

/* Calls fill_range for index rax, address rcx and span rdx, and keeps all other registers. */
static void write_filler(struct jit *j)
{
    static const int kept[] = {RSI, RDI, R8, R9, R10, R11};
    struct x86 *x = &j->x;
    int vectors = simt_jit_scratch(j) + 1, bytes = j->bits / 8;
    int32_t room = vectors * bytes + 8;
    x->now = X86_COLD;
    x86_bind(x, j->fill_label);
    for (int k = 0; k < 6; k++) x86_push(x, kept[k]);
    x86_imm(x, ALU_SUB, true, RSP, room);
    for (int v = 0; v < vectors; v++) simt_jit_store(j, x86_at(RSP, bytes * v), v);
    x86_rr(x, ALU_MOV, true, RDI, REG_WORKER);
    x86_rr(x, ALU_MOV, true, RSI, RAX);
    x86_rr(x, ALU_MOV, true, R8, RDX);
    x86_rr(x, ALU_MOV, true, RDX, RCX);
    x86_rr(x, ALU_MOV, true, RCX, R8);
    x86_vzeroupper(x);
    x86_load_imm(x, RAX, (uint64_t)(uintptr_t)fill_range);
    x86_call(x, RAX);
    x86_movzx_byte(x, RAX, RAX);
    for (int v = 0; v < vectors; v++) simt_jit_load(j, v, x86_at(RSP, bytes * v));
    x86_imm(x, ALU_ADD, true, RSP, room);
    for (int k = 6; k-- > 0;) x86_pop(x, kept[k]);
    x86_return(x);
    x->now = X86_HOT;
}

int simt_jit_leaving(struct jit *j, enum jit_exit why, bool after)
{
    enum x86_section was = j->x.now;
    j->x.now = X86_COLD;
    int label = x86_label(&j->x);
    x86_bind(&j->x, label);
    simt_jit_write_live(j);
    if (j->zone) {
        simt_jit_leave_parted(j);
        why = JIT_PARTED;
    }
    if (!after) x86_mem_imm(&j->x, ALU_MOV, false, OF_WARP(pc), (int32_t)j->pc);
    x86_load_imm(&j->x, RAX, (uint64_t)why);
    x86_jump(&j->x, j->leave_label);
    j->x.now = was;
    return label;
}

static void leave_with(struct jit *j, enum jit_exit why)
{
    x86_load_imm(&j->x, RAX, (uint64_t)why);
    x86_jump(&j->x, j->leave_label);
}

/* Goes back to come again at a block of the code. */
static void suspend(struct jit *j, enum jit_exit why, uint32_t pc, const struct jit_block *to)
{
    x86_mem_imm(&j->x, ALU_MOV, false, OF_WARP(pc), (int32_t)pc);
    x86_lea_label(&j->x, RAX, to->label);
    x86_store(&j->x, true, OF_WARP(resume), RAX);
    x86_load_imm(&j->x, RAX, (uint64_t)why);
    x86_jump(&j->x, why == JIT_BARRIER ? j->next_label : j->leave_label);
}

/* ---- calls ---- */
/* An op that an observer watches: it may take lanes out. */
static enum event run_watched(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    struct simt_observer *o = w->worker->observer;
    enum event ev = o->before(o, w, i, &m);
    bool once = w->exists != w->threads && simt_runs_once(i);
    if (ev == EV_NEXT && m) ev = once ? simt_run_once(R, i, m, w) : i->run(R, i, m, w);
    simt_noted_is_done(w->worker);
    return ev;
}

/* A barrier of lanes that an observer watches. */
static enum event run_meeting(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct simt_observer *o = w->worker->observer;
    if (m == FULL && o->meets_again && o->meets_again(w, u32_at(R, i->a))) return EV_NEXT;
    return run_watched(R, i, m, w);
}

/* For the lanes in rdx. */
static void run_op(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    const bool watched = simt_jit_is_watched(j, n->i);
    op_function run = j->last && simt_runs_once(n->i) ? simt_run_once : n->i->run;
    if (watched) run = simt_is_warp_sync(n->i->run) ? run_meeting : run_watched;
    x86_mem_imm(x, ALU_MOV, false, OF_WARP(pc), (int32_t)j->pc);
    x86_rr(x, ALU_MOV, true, RDI, REG_FRAME);
    x86_load_imm(x, RSI, (uint64_t)(uintptr_t)n->i);
    x86_rr(x, ALU_MOV, true, RCX, REG_WARP);
    x86_load_imm(x, RAX, (uint64_t)(uintptr_t)run);
    x86_vzeroupper(x);
    x86_call(x, RAX);
    simt_jit_load_masks(j);
    x86_test(x, false, RAX, RAX);
}

int simt_jit_otherwise(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    if (!j->zone || !simt_jit_is_watched(j, n->i)) return simt_jit_leaving(j, JIT_LEFT, false);
    enum x86_section was = x->now;
    int label = x86_label(x), fine = x86_label(x);
    j->behind_label = x86_label(x);
    x->now = X86_COLD;
    x86_bind(x, label);
    simt_jit_write_live(j);
    x86_rr(x, ALU_MOV, false, RDX, REG_MASK);
    run_op(j, n);
    x86_jump_if(x, CC_E, fine);
    leave_with(j, JIT_FAULT);
    x86_bind(x, fine);
    x86_jump(x, j->behind_label);
    x->now = was;
    return label;
}

void simt_jit_end_otherwise(struct jit *j)
{
    struct x86 *x = &j->x;
    int over = x86_label(x);
    if (j->behind_label < 0) return;
    x->now = X86_COLD;
    x86_bind(x, j->behind_label);
    simt_jit_reload(j);
    x86_jump(x, over);
    x->now = X86_HOT;
    x86_bind(x, over);
    j->behind_label = -1;
}

static void call_op(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    const struct insn *i = n->i;
    int skip = -1;
    if (!n->plain) j->impure = true;
    simt_jit_spill_live(j, n);
    /* Behind an atomic a tally may have begun, of which checks of addresses are told. */
    for (uint32_t s = 0; i->memory == MEMORY_ATOMIC && s < j->slot_count; s++) j->places[s].checked = false;
    if (n->guarded || (n->kind == JK_UNKNOWN && i->guard != SLOT_TRUE)) {
        skip = x86_label(x);
        x86_rm(x, ALU_MOV, false, RDX, x86_at(REG_FRAME, (int32_t)i->guard));
        if (i->guard_flip) x86_unary(x, UNARY_NOT, false, RDX);
        if (j->zone) x86_rr(x, ALU_AND, false, RDX, REG_MASK);
        x86_test(x, false, RDX, RDX);
        x86_jump_if(x, CC_E, skip);
    } else if (j->zone) {
        x86_rr(x, ALU_MOV, false, RDX, REG_MASK);
    } else {
        x86_load_imm(x, RDX, FULL);
    }
    run_op(j, n);
    for (int k = 0; k < n->write_count; k++) simt_jit_define_in_frame(j, n->writes[k]);
    for (uint32_t s = 0; n->kind == JK_UNKNOWN && s < j->slot_count; s++)
        if (!j->slots[s].fixed) simt_jit_define_in_frame(j, (uint16_t)s);
    int odd = x86_label(x);
    x86_jump_if(x, CC_NE, odd);
    int scheduled = j->zone ? -1 : simt_jit_leaving(j, JIT_SCHEDULE, true);
    x->now = X86_COLD;
    x86_bind(x, odd);
    x86_imm(x, ALU_CMP, false, RAX, EV_FAULT);
    if (scheduled >= 0) x86_jump_if(x, CC_NE, scheduled);
    leave_with(j, JIT_FAULT);
    x->now = X86_HOT;
    if (skip >= 0) x86_bind(x, skip);
}

static void special(struct jit *j, const struct jit_insn *n)
{
    uint32_t r = n->i->mode;
    struct jit_form f = simt_jit_form_of(j, n, NULL);
    if (!n->write_count) return;
    if (r < SR_CTAID_X || r > SR_CTAID_Z || n->wide || simt_jit_merges(j, n)) {
        call_op(j, n);
        return;
    }
    int regs[2] = {simt_jit_new_gpr(j), 0};
    x86_rm(&j->x, ALU_MOV, false, regs[0], OF_WORKER(block[r - SR_CTAID_X]));
    simt_jit_define_scalar(j, n->writes[0], f, regs);
}

/* ---- the ends of blocks ---- */
/* Goes to a block, unless it lies right behind; back only while the budget lasts. */
static void go_to(struct jit *j, const struct jit_block *to)
{
    struct x86 *x = &j->x;
    if (to->start == j->block->end) return;
    if (to->start < j->block->end) {
        int spent = x86_label(x);
        x86_mem_imm(x, ALU_SUB, false, OF_WARP(budget), 1);
        x86_jump_if(x, CC_LE, spent);
        x->now = X86_COLD;
        x86_bind(x, spent);
        suspend(j, JIT_SLICE, to->start + j->first, to);
        x->now = X86_HOT;
    }
    x86_jump(x, to->start == j->block->start && j->again_label >= 0 ? j->again_label : to->label);
}

/* Asks whether all lanes take the branch: the condition on which they don't. */
static enum x86_condition ask_branch(struct jit *j, const struct jit_insn *n)
{
    bool flip = n->i->guard_flip;
    if (j->test) {
        simt_jit_test(j, j->test);
        return (enum x86_condition)(simt_jit_condition(j->test) ^ !flip);
    }
    int p = simt_jit_predicate(j, n->reads[0]);
    if (flip)
        x86_test(&j->x, false, p, p);
    else
        x86_imm(&j->x, ALU_CMP, false, p, -1);
    return CC_NE;
}

/* All lanes go through the block at hand again, with what registers hold; else what is behind goes on. */
static void next_round(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    int other = x86_label(x), spent = x86_label(x);
    enum x86_condition not_taken = ask_branch(j, n);
    if (!simt_jit_keep(j, 0)) return;
    x86_jump_if(x, not_taken, other);
    x->now = X86_COLD;
    x86_bind(x, spent);
    simt_jit_flush(j, j->block, NULL);
    suspend(j, JIT_SLICE, j->block->start + j->first, j->block);
    x->now = X86_HOT;
    simt_jit_restore(j, 0);
    simt_jit_next_round(j, spent);
    x86_bind(x, other);
}

static void branch(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    const struct jit_block *b = j->block, *to = b->next[0] < 0 ? NULL : &j->blocks[b->next[0]];
    const struct jit_block *behind = b->next[1] < 0 ? NULL : &j->blocks[b->next[1]];
    if (!to) {
        x86_jump(x, simt_jit_leaving(j, JIT_LEFT, false));
        return;
    }
    if (n->i->guard == SLOT_TRUE) {
        simt_jit_flush(j, to, NULL);
        if (n->i->guard_flip) {
            x86_jump(x, simt_jit_leaving(j, JIT_LEFT, false));
            return;
        }
        go_to(j, to);
        return;
    }
    bool rounds = j->round_label >= 0;
    if (rounds) next_round(j, n);
    simt_jit_flush(j, to, behind);
    if (to == behind) return; /* an `if` of nothing: no lanes part, and nobody is to wait */
    int p = j->test ? -1 : simt_jit_predicate(j, n->reads[0]);
    bool uniform = j->test || form_is_uniform(form_of_read(j, n, 0)), flip = n->i->guard_flip;
    int not_taken = x86_label(x), leave = -1;
    if (!uniform) leave = simt_jit_enter_zone(j, n, p);
    if (!uniform && leave < 0) leave = simt_jit_leaving(j, JIT_LEFT, false);
    if (!rounds) {
        x86_jump_if(x, ask_branch(j, n), not_taken);
        go_to(j, to);
        x86_bind(x, not_taken);
    }
    if (!uniform) {
        if (flip)
            x86_imm(x, ALU_CMP, false, p, -1);
        else
            x86_test(x, false, p, p);
        x86_jump_if(x, CC_NE, leave);
    }
    if (!behind) x86_jump(x, simt_jit_leaving(j, JIT_LEFT, false));
}

static void end_block(struct jit *j, const struct jit_insn *n)
{
    const struct jit_block *b = j->block, *behind = b->next[1] < 0 ? NULL : &j->blocks[b->next[1]];
    switch ((enum jit_kind)n->kind) {
    case JK_BRANCH: branch(j, n); break;
    case JK_EXIT:
        if (j->watch) x86_mem_imm(&j->x, ALU_MOV, false, OF_WARP(pc), (int32_t)j->pc);
        x86_jump(&j->x, j->exit_label);
        break;
    case JK_LEAVE: x86_jump(&j->x, simt_jit_leaving(j, JIT_LEFT, false)); break;
    case JK_BARRIER:
        if (!behind) {
            x86_jump(&j->x, simt_jit_leaving(j, JIT_LEFT, false));
            break;
        }
        if (j->slots[n->reads[0]].form.step != 0) j->impure = true;
        simt_jit_flush(j, behind, NULL);
        suspend(j, JIT_BARRIER, j->pc, behind);
        break;
    default: /* the next block begins here */
        if (simt_jit_carries(j, behind))
            simt_jit_carry(j, behind);
        else if (behind)
            simt_jit_flush(j, behind, NULL);
        break;
    }
}

/* ---- one instruction, one block ---- */
/* What is loaded of a byte or two, without sign, is known to be small. */
static void access(struct jit *j, const struct jit_insn *n)
{
    bool native = true;
    if (n->ahead)
        simt_jit_load_ahead(j, n);
    else
        native = j->alone ? simt_jit_alone_access(j, n) : simt_jit_memory(j, n) || simt_jit_gather(j, n);
    if (!native) call_op(j, n);
    if (native && j->last && j->once && n->kind == JK_LOAD && !n->op && !j->alone) simt_jit_repeat_loaded(j, n);
    bool noted = native && n->kind == JK_STORE && n->i->space == PTX_GLOBAL && simt_jit_is_watched(j, n->i);
    if (noted) x86_mem_imm(&j->x, ALU_MOV, false, OF_WORKER(quiet.noted), 0);
    if (!native || n->kind != JK_LOAD || n->detail || n->i->size > 2) return;
    for (int w = 0; w < n->write_count; w++) j->places[n->writes[w]].bits = (uint8_t)(8 * n->i->size);
}

static void write_insn(struct jit *j, const struct jit_insn *n)
{
    struct jit_form f[JIT_READS];
    for (int k = 0; k < n->read_count; k++) f[k] = form_of_read(j, n, k);
    switch ((enum jit_kind)n->kind) {
    case JK_UNKNOWN:
    case JK_CALL: call_op(j, n); break;
    case JK_MEET: simt_jit_meet(j); break;
    case JK_SPECIAL: special(j, n); break;
    case JK_INTEGER:
        if (simt_jit_is_watched(j, n->i)) simt_jit_watch_division(j, n);
        simt_jit_integer(j, n, simt_jit_form_of(j, n, f));
        break;
    case JK_FLOAT:
    case JK_CONVERT:
        if (n->write_count) simt_jit_vector(j, n);
        break;
    case JK_COMPARE: simt_jit_compare(j, n); break;
    case JK_SELECT:
        if (n->write_count) simt_jit_select(j, n);
        break;
    case JK_PREDICATE: simt_jit_predicates(j, n); break;
    case JK_LOAD:
    case JK_STORE: access(j, n); break;
    case JK_SHUFFLE: simt_jit_shuffle(j, n); break;
    case JK_VOTE: simt_jit_vote(j, n); break;
    default: break;
    }
}

/* What is alive behind an instruction. */
static void pass_lives(struct jit *j, const struct jit_insn *n)
{
    for (int k = 0; k < n->read_count; k++) {
        uint16_t s = n->reads[k];
        if (!(n->dies >> k & 1)) continue;
        j->live[s >> 6] &= ~((uint64_t)1 << (s & 63));
        bool written = false;
        for (int w = 0; w < n->write_count; w++) written |= n->writes[w] == s;
        if (!written && !j->slots[s].fixed) simt_jit_drop(j, s);
    }
    for (int w = 0; w < n->write_count; w++) {
        uint16_t s = n->writes[w];
        if (n->dead >> w & 1) {
            j->live[s >> 6] &= ~((uint64_t)1 << (s & 63));
            simt_jit_drop(j, s);
        } else {
            j->live[s >> 6] |= (uint64_t)1 << (s & 63);
        }
    }
}

/* The last of the instructions from n on that become one; n itself when it stands alone. */
static const struct jit_insn *write_joined(struct jit *j, const struct jit_insn *n)
{
    int regs[JIT_PARTS];
    if (j->alone || (j->last && j->once) || !simt_jit_load_indexed(j, n, regs)) {
        write_insn(j, n);
        return n;
    }
    pass_lives(j, n);
    pass_lives(j, n + 1);
    simt_jit_define_vector(j, n[2].writes[0], regs);
    return n + 2;
}

void simt_jit_write_body(struct jit *j, struct jit_block *b, void (*end)(struct jit *j, const struct jit_insn *n))
{
    bool guard = false;
    j->test = NULL;
    if (j->carried == b)
        simt_jit_begin_carried(j, b);
    else
        simt_jit_begin_block(j, b);
    simt_jit_begin_rounds(j);
    for (uint32_t k = b->start; k < b->end; k++) j->code[k].ahead = 0;
    memset(j->ahead_end, 0, sizeof j->ahead_end);
    for (uint32_t k = b->start; k < b->end && !j->x.failed && !j->failed; k++) {
        const struct jit_insn *n = &j->code[k];
        j->pc = j->first + k;
        j->gpr_pins = j->vector_pins = 0;
        guard = guard || (!j->test && simt_jit_begin_guard(j, k));
        j->gpr_pins = 0;
        if (!guard && simt_jit_is_test(j, n)) {
            j->test = n;
            continue;
        }
        n = write_joined(j, n);
        k = (uint32_t)(n - j->code);
        j->pc = j->first + k;
        j->gpr_pins = j->vector_pins = 0;
        if (k + 1 == b->end) end(j, n);
        if (j->test) pass_lives(j, j->test);
        pass_lives(j, n);
    }
    if (guard) simt_jit_end_guard(j);
}

bool simt_jit_write(struct jit *j)
{
    if (j->watch) simt_jit_find_outputs(j);
    j->leave_label = x86_label(&j->x);
    j->all_label = x86_label(&j->x);
    j->exit_label = x86_label(&j->x);
    j->next_label = x86_label(&j->x);
    j->fill_label = x86_label(&j->x);
    j->behind_label = -1;
    write_entrance(j);
    write_filler(j);
    for (uint32_t b = 0; b < j->block_count; b++) {
        if (j->carried != &j->blocks[b]) x86_bind(&j->x, j->blocks[b].label);
        /* Else only ways that nothing takes lead here. */
        if (j->blocks[b].reached) {
            simt_jit_begin_walks(j, &j->blocks[b]);
            simt_jit_write_body(j, &j->blocks[b], end_block);
        }
        j->failed |= x86_size(&j->x) > MAX_BYTES;
    }
    simt_jit_write_zones(j);
    j->failed |= x86_size(&j->x) > MAX_BYTES;
    simt_jit_write_rows(j);
    return !j->failed && !j->x.failed;
}
