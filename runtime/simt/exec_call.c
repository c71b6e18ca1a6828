/* Calls: frames of registers, made once for a function and depth and used again, and the bytes that go in and out. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/signature.h"
#include "runtime/simt/exec.h"

/* ---- calls ---- */
static struct frame *frame_make(struct warp *w, const struct function *f)
{
    struct frame *n = rt_alloc(sizeof *n + f->frame_bytes + 64);
    if (!n) return NULL;
    *n = (struct frame){.function = f, .next = w->all_frames};
    w->all_frames = n;
    n->regs = (char *)(((uintptr_t)(n + 1) + 63) & ~(uintptr_t)63);
    memset(n->regs, 0, f->frame_bytes);
    *u32_at(n->regs, 0) = FULL;
    const struct constant *c = f->const_count ? w->worker->program->constants + f->const_first : NULL;
    for (uint32_t k = 0; k < f->const_count; k++)
        for (int l = 0; l < SIMT_WARP; l++) {
            if (c[k].wide)
                u64_at(n->regs, c[k].slot)[l] = c[k].value;
            else
                u32_at(n->regs, c[k].slot)[l] = (uint32_t)c[k].value;
        }
    return n;
}

struct frame *simt_frame_new(struct warp *w, const struct function *f)
{
    for (struct frame **p = &w->free_frames; *p; p = &(*p)->next_free)
        if ((*p)->function == f) {
            struct frame *n = *p;
            *p = n->next_free;
            return n;
        }
    return frame_make(w, f);
}

/* ---- joined frames ---- */
static bool is_same_call(const struct frame *a, const struct frame *b)
{
    for (; a != b; a = a->parent, b = b->parent)
        if (!a->parent || !b->parent || a->function != b->function || a->site != b->site ||
            a->return_pc != b->return_pc || a->local_base != b->local_base)
            return false;
    return true;
}

static void leave_frame(struct warp *w, struct frame *f, uint32_t m)
{
    f->lanes &= ~m;
    if (f->lanes) return;
    f->next_free = w->free_frames;
    w->free_frames = f;
}

static void move_lanes(struct warp *w, struct frame *from, struct frame *to, uint32_t m)
{
    const struct function *f = from->function;
    for (uint32_t k = 0; k < f->slot_count; k++) {
        uint32_t at = f->slots[k].offset, halves = f->slots[k].class == 'x' ? 2 : 1;
        if (f->slots[k].class == 'p')
            *u32_at(to->regs, at) = (*u32_at(to->regs, at) & ~m) | (*u32_at(from->regs, at) & m);
        else if (f->slots[k].class == 'w')
            EACH_LANE(l, m) u32_at(to->regs, at)[l] = u32_at(from->regs, at)[l];
        else
            for (; halves--; at += 8 * SIMT_WARP) EACH_LANE(l, m) u64_at(to->regs, at)[l] = u64_at(from->regs, at)[l];
    }
    if (f->calls_alloca) EACH_LANE(l, m) to->allocated[l] = from->allocated[l];
    to->lanes |= m;
    leave_frame(w, from, m);
}

bool simt_frames_join(struct warp *w)
{
    bool some = false;
    for (uint32_t k = 1; k < w->split_count; k++) {
        struct split *s = &w->splits[k], *o = w->splits;
        while (o < s && (o->state != SPLIT_SYNC || o->pc != s->pc || !o->mask || !is_same_call(s->frame, o->frame)))
            o++;
        if (o == s || s->state != SPLIT_SYNC) continue;
        struct frame *from = s->frame, *to = o->frame;
        for (struct frame *parent; from != to; from = parent, to = to->parent) {
            parent = from->parent;
            move_lanes(w, from, to, s->mask);
        }
        o->mask |= s->mask;
        o->state = SPLIT_RUN;
        s->mask = 0;
        some = true;
    }
    return some;
}

static char *lane_local(const struct warp *w, uint32_t lane, uint32_t offset)
{
    return w->local + (size_t)lane * w->worker->local_bytes + offset;
}

#define NAME_BYTES 100

static const char *name_of(const struct function *f, char out[NAME_BYTES])
{
    rt_function_name(f->name, true, out, NAME_BYTES);
    return out;
}

static enum event enter_function(struct warp *w, const struct function *f, const struct call_site *c, uint32_t m)
{
    struct worker *k = w->worker;
    struct split *s = &w->splits[w->current];
    uint32_t base = w->local_base + w->frame->function->local_bytes;
    int lane = __builtin_ctz(m);
    char name[NAME_BYTES];
    uint32_t room = k->local_bytes - (k->program->uses_alloca ? ALLOCA_LOCAL : 0);
    if (c->arg_count != f->param_count || c->return_count != f->return_count)
        return simt_fault_set(w, lane, SIMT_FAULT_TRAP, "%s is called through a pointer of another type",
                              name_of(f, name));
    if (w->frame->depth >= MAX_DEPTH || (uint64_t)base + f->local_bytes > room)
        return simt_fault_set(w, lane, SIMT_FAULT_NOMEM, "the stack is full: calls of %s are nested %d deep",
                              name_of(f, name), w->frame->depth + 1);
    struct frame *n = simt_frame_new(w, f);
    if (!n) return simt_fault_set(w, lane, SIMT_FAULT_NOMEM, "out of host memory in a call of %s", name_of(f, name));
    n->parent = w->frame;
    n->return_pc = w->pc + 1;
    n->site = c;
    n->lanes = m;
    n->local_base = base;
    n->depth = w->frame->depth + 1;
    if (f->calls_alloca) memcpy(n->allocated, w->allocated, sizeof n->allocated);
    for (uint32_t a = 0; a < c->arg_count; a++) {
        uint32_t size = c->arg_size[a] < f->param_size[a] ? c->arg_size[a] : f->param_size[a];
        EACH_LANE(l, m)
        memcpy(lane_local(w, l, base + f->param_offset[a]), lane_local(w, l, w->local_base + c->arg_offset[a]), size);
    }
    if (m != s->mask) simt_fork(w, m, w->pc + 1, SPLIT_RUN);
    s->frame = n;
    s->pc = f->start;
    w->budget--;
    return EV_SCHEDULE;
}

enum event simt_op_call(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct simt_program *p = w->worker->program;
    const struct call_site *c = &p->calls[i->extra];
    if (c->function <= -2) return simt_builtin_call(w, c, m);
    if (c->function >= 0) return enter_function(w, &p->functions[c->function], c, m);
    const uint64_t *targets = u64_at(R, c->target);
    int lane = __builtin_ctz(m);
    uint64_t target = targets[lane], index = (target - FUNCTION_BASE) / 16;
    uint32_t here = 0;
    if (target < FUNCTION_BASE || (target & 15) || index >= p->function_count || p->functions[index].is_entry ||
        p->functions[index].end == p->functions[index].start)
        return simt_fault_set(w, lane, SIMT_FAULT_ADDRESS, "a call of 0x%llx, which is no function",
                              (unsigned long long)target);
    EACH_LANE(l, m) here |= (uint32_t)(targets[l] == target) << l;
    if (here != m) { /* the others come here again */
        simt_fork(w, w->mask & ~(m & ~here), w->pc, SPLIT_RUN);
    }
    return enter_function(w, &p->functions[index], c, here);
}

enum event simt_op_ret(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    struct frame *f = w->frame;
    struct split *s = &w->splits[w->current];
    if (!f->parent) return simt_op_exit(R, i, m, w);
    const struct call_site *c = f->site;
    for (uint32_t a = 0; a < c->return_count; a++) {
        const struct function *fn = f->function;
        uint32_t size = c->return_size[a] < fn->return_size[a] ? c->return_size[a] : fn->return_size[a];
        EACH_LANE(l, m)
        memcpy(lane_local(w, l, f->parent->local_base + c->return_offset[a]),
               lane_local(w, l, f->local_base + fn->return_offset[a]), size);
    }
    if (f->function->calls_alloca) EACH_LANE(l, m) w->allocated[l] = f->allocated[l];
    if (m != s->mask) simt_fork(w, m, w->pc + 1, SPLIT_RUN);
    s->frame = f->parent;
    s->pc = f->return_pc;
    leave_frame(w, f, m);
    return EV_SCHEDULE;
}

/* ---- alloca: local memory from its end down, given back when the function returns or restores what it saved ---- */
enum event simt_op_alloca(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    EACH_LANE(l, m)
    {
        uint64_t bytes = i->size == 8 ? u64_at(R, i->a)[l] : u32_at(R, i->a)[l];
        uint32_t end = w->worker->local_bytes, free_bytes = ALLOCA_LOCAL - w->allocated[l];
        uint64_t at = (end - w->allocated[l] - bytes) & ~((uint64_t)i->imm - 1); /* wraps when there are not as many */
        if (bytes > free_bytes || at < end - ALLOCA_LOCAL)
            return simt_fault_set(w, (int)l, SIMT_FAULT_NOMEM, "alloca of %llu bytes: %u of %d are taken",
                                  (unsigned long long)bytes, w->allocated[l], ALLOCA_LOCAL);
        w->allocated[l] = end - (uint32_t)at;
        if (i->size == 8)
            u64_at(R, i->d)[l] = at;
        else
            u32_at(R, i->d)[l] = (uint32_t)at;
    }
    return EV_NEXT;
}

enum event simt_op_stack_save(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    EACH_LANE(l, m)
    if (i->size == 8)
        u64_at(R, i->d)[l] = w->allocated[l];
    else
        u32_at(R, i->d)[l] = w->allocated[l];
    return EV_NEXT;
}

enum event simt_op_stack_restore(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    EACH_LANE(l, m)
    {
        uint64_t before = i->size == 8 ? u64_at(R, i->a)[l] : u32_at(R, i->a)[l];
        if (before > w->allocated[l])
            return simt_fault_set(w, (int)l, SIMT_FAULT_TRAP, "stackrestore of what stacksave did not give here");
        w->allocated[l] = (uint32_t)before;
    }
    return EV_NEXT;
}
