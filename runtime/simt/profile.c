/* The profiler: an observer with a table of sums, by instruction, for each host thread. */
#include "runtime/simt/profile.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"
#include "runtime/simt/matrix.h"
#include "runtime/simt/ops_texture.h"
#include "runtime/simt/profile_access.h"

/* What to count at an instruction: what it is, and for memory also which. 0: not the one that stands for its PTX
 * instruction. */
enum { KIND_NONE, KIND_PLAIN, KIND_BRANCH, KIND_TABLE, KIND_AGAIN, KIND_SYNC, KIND_LOAD, KIND_STORE, KIND_ATOMIC };
enum { IN_GLOBAL = 0 << 4, IN_SHARED = 1 << 4, IN_LOCAL = 2 << 4, IN_GENERIC = 3 << 4 };
enum { IS_PART = 1 << 6 }; /* an access that is part of a PTX instruction, as the load of cp.async is */
#define KIND_OF(k)  ((k)&15)
#define SPACE_OF(k) ((k)&0x30)

/* Branches by a table, calls by a pointer and barriers by a register come again for the lanes that go elsewhere. */
struct repeats {
    uint32_t lanes; /* that were counted at `pc` and have run nothing else since */
    uint32_t pc[SIMT_WARP];
};
struct profile_part { /* of one host thread */
    struct profile_part *next;
    struct repeats *repeats;     /* by warp of the block */
    struct simt_counts counts[]; /* by pc */
};
struct profiler {
    struct simt_observer observer;
    uint8_t *kinds; /* by pc: what the observer watches */
    uint32_t code_count;
    pthread_mutex_t lock;
    struct profile_part *tallies;
};

/* ---- what to count ---- */
static bool has_word(const char *opcode, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = opcode; (s = strchr(s, '.')); s++)
        if (!strncmp(s + 1, word, n) && (s[1 + n] == '.' || s[1 + n] == ':' || !s[1 + n])) return true;
    return false;
}

static bool is(const char *opcode, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(opcode, name, n) && (opcode[n] == '.' || !opcode[n]);
}

static uint8_t memory_kind(const struct insn *i, const char *opcode)
{
    int kind = i->memory == MEMORY_LOAD ? KIND_LOAD : i->memory == MEMORY_STORE ? KIND_STORE : KIND_ATOMIC;
    switch ((enum ptx_space)i->space) {
    case PTX_GLOBAL: return (uint8_t)(has_word(opcode, "const") ? KIND_PLAIN : kind | IN_GLOBAL);
    case PTX_SHARED: return (uint8_t)(kind | IN_SHARED);
    case PTX_LOCAL: return (uint8_t)(has_word(opcode, "param") ? KIND_PLAIN : kind | IN_LOCAL);
    case PTX_GENERIC: return (uint8_t)(kind | IN_GENERIC);
    default: return KIND_PLAIN;
    }
}

static uint8_t kind_of(const struct insn *i, const char *opcode)
{
    static const char *const waiting[] = {"shfl", "vote",     "match",    "redux",     "mma",
                                          "wmma", "ldmatrix", "stmatrix", "movmatrix", "elect"};
    if (i->memory != MEMORY_NONE && i->memory != MEMORY_FENCE) return memory_kind(i, opcode);
    if (i->run == simt_op_bra) return KIND_BRANCH;
    if (i->run == simt_op_brx) return KIND_TABLE;
    if (i->run == simt_op_barrier || i->run == simt_op_call) return KIND_AGAIN;
    for (size_t k = 0; k < sizeof waiting / sizeof *waiting; k++)
        if (is(opcode, waiting[k])) return KIND_SYNC;
    return (is(opcode, "bar") || is(opcode, "barrier")) && has_word(opcode, "warp") ? KIND_SYNC : KIND_PLAIN;
}

/* The last of the instructions that a PTX instruction became carries its guard and stands for it. What follows a
 * function's end to return from it is none, nor is what was added. */
static void find_kinds(const struct simt_program *p, uint8_t *kinds)
{
    for (uint32_t f = 0; f < p->function_count; f++) {
        uint32_t start = p->functions[f].start, end = p->functions[f].end;
        for (uint32_t pc = start; pc + 1 < end; pc++)
            if (p->places[pc].is_added)
                kinds[pc] = KIND_NONE;
            else if (pc + 2 == end || p->places[pc + 1].index != p->places[pc].index)
                kinds[pc] = kind_of(&p->code[pc], p->places[pc].opcode);
            else if (p->code[pc].memory != MEMORY_NONE)
                kinds[pc] = IS_PART | kind_of(&p->code[pc], p->places[pc].opcode);
    }
}

/* ---- counting ---- */
static void count_traffic(struct simt_traffic *t, const uint64_t *address, uint32_t m, uint32_t size)
{
    struct simt_sectors s = simt_count_sectors(address, m, size);
    t->requests++;
    t->sectors += s.touched;
    t->ideal += s.ideal;
    t->bytes += (uint64_t)lane_count(m) * size;
}

static void count_banks(struct simt_banks *b, const uint64_t *address, uint32_t m, uint32_t size)
{
    struct simt_turns t = simt_count_turns(address, m, size);
    b->requests++;
    b->turns += t.taken;
    b->ideal += t.ideal;
    b->bytes += (uint64_t)lane_count(m) * size;
}

/* One space's part of a request. */
static void count_access(struct simt_counts *c, int kind, int space, const uint64_t *address, uint32_t m, uint32_t size)
{
    if (!m) return;
    if (kind == KIND_ATOMIC) {
        c->atomics++;
        c->atomic_lanes += lane_count(m);
        c->atomic_turns += simt_count_collisions(address, m);
        if (space == IN_GLOBAL) count_traffic(&c->atomic, address, m, size);
        if (space == IN_SHARED) count_banks(&c->shared_atomic, address, m, size);
    } else if (space == IN_GLOBAL) {
        count_traffic(kind == KIND_LOAD ? &c->load : &c->store, address, m, size);
    } else if (space == IN_SHARED) {
        count_banks(kind == KIND_LOAD ? &c->shared_load : &c->shared_store, address, m, size);
    } else {
        c->local_requests++;
        c->local_bytes += (uint64_t)lane_count(m) * size;
    }
}

/* Of generic addresses, each of which tells its space. */
static void count_windows(struct simt_counts *c, int kind, const uint64_t *address, uint32_t m, uint32_t size)
{
    uint32_t parts[4] = {0};
    EACH_LANE(l, m)
    {
        uint64_t window = address[l] >> 48;
        parts[window < 4 ? window : 0] |= 1u << l;
    }
    count_access(c, kind, IN_GLOBAL, address, parts[0], size);
    count_access(c, kind, IN_SHARED, address, parts[SIMT_SHARED_BASE >> 48], size);
    count_access(c, kind, IN_LOCAL, address, parts[SIMT_LOCAL_BASE >> 48], size);
}

/* A fragment or rows of a matrix: as many requests as 32 lanes with 16 bytes each need. */
static void count_matrix(struct simt_counts *c, const struct warp *w, const struct insn *i)
{
    struct simt_pieces p;
    int kind = i->flags & F_STORE ? KIND_STORE : KIND_LOAD;
    simt_matrix_pieces(w, w->frame->regs, i, &p);
    if (p.line) { /* padding is read, too */
        p.count /= p.parts;
        for (uint32_t k = 0; k < p.count; k++) p.at[k] = p.at[k * p.parts];
        p.bytes = p.line;
    }
    for (uint32_t k = 0; k < p.count; k += SIMT_WARP) {
        uint32_t n = p.count - k < SIMT_WARP ? p.count - k : SIMT_WARP, m = n == SIMT_WARP ? FULL : (1u << n) - 1;
        if (p.space == PTX_SHARED)
            count_access(c, kind, IN_SHARED, p.at + k, m, p.bytes);
        else
            count_windows(c, kind, p.at + k, m, p.bytes);
    }
}

static void count_texels(struct simt_counts *c, const struct warp *w, const struct insn *i, uint32_t m)
{
    struct simt_texels x;
    simt_find_texels(w, w->frame->regs, i, m, &x);
    count_access(c, x.store ? KIND_STORE : KIND_LOAD, IN_GLOBAL, x.at, x.mask, x.bytes);
}

static void count_memory(struct simt_counts *c, uint8_t kind, char *R, const struct insn *i, uint32_t m)
{
    uint64_t address[SIMT_WARP];
    uint32_t size = (uint32_t)i->size * i->count;
    int space = SPACE_OF(kind);
    if (space == IN_SHARED || space == IN_LOCAL) {
        EACH_LANE(l, m) address[l] = u32_at(R, i->a)[l] + (uint32_t)i->imm;
    } else {
        EACH_LANE(l, m) address[l] = u64_at(R, i->a)[l] + (uint64_t)i->imm;
    }
    if (space == IN_GENERIC)
        count_windows(c, KIND_OF(kind), address, m, size);
    else
        count_access(c, KIND_OF(kind), space, address, m, size);
}

/* Were all lanes counted here already? Remembers those that were not. */
static bool repeats(struct repeats *r, uint32_t pc, uint32_t m)
{
    bool again = !(m & ~r->lanes);
    EACH_LANE(l, m)
    {
        again = again && r->pc[l] == pc;
        r->pc[l] = pc;
    }
    r->lanes |= m;
    return again;
}

static bool same_entry(char *R, const struct insn *i, uint32_t m)
{
    const uint32_t *index = u32_at(R, i->a);
    uint32_t first = index[__builtin_ctz(m)];
    EACH_LANE(l, m)
    if (index[l] != first) return false;
    return true;
}

static enum event before(struct simt_observer *o, struct warp *w, const struct insn *i, uint32_t *lanes)
{
    const struct profiler *p = (const struct profiler *)o;
    struct profile_part *t = w->worker->observed;
    struct repeats *r = &t->repeats[w->index];
    struct simt_counts *c = &t->counts[w->pc];
    const struct split *s = &w->splits[w->current];
    char *R = s->frame->regs;
    uint32_t m = *lanes;
    uint8_t kind = p->kinds[w->pc];
    if (kind & IS_PART) {
        if (KIND_OF(kind) >= KIND_LOAD) count_memory(c, kind, R, i, m);
        return EV_NEXT;
    }
    switch (KIND_OF(kind)) {
    case KIND_SYNC: return EV_NEXT; /* counted when the lanes meet */
    case KIND_BRANCH:
        if (i->guard == SLOT_TRUE) break;
        c->branches++;
        c->divergent += m != s->mask;
        m = s->mask;
        break;
    case KIND_TABLE:
    case KIND_AGAIN:
        if (repeats(r, w->pc, m)) return EV_NEXT;
        c->instructions++;
        c->lanes += lane_count(m);
        if (KIND_OF(kind) == KIND_TABLE) {
            c->branches++;
            c->divergent += m != s->mask || !same_entry(R, i, m);
        } else if (i->run == simt_op_barrier) {
            c->barriers++;
        }
        return EV_NEXT;
    case KIND_PLAIN:
        if (simt_is_texture_access(i)) count_texels(c, w, i, m);
        break;
    default: count_memory(c, kind, R, i, m);
    }
    r->lanes &= ~m;
    c->instructions++;
    c->lanes += lane_count(m);
    return EV_NEXT;
}

static void skipped(struct simt_observer *o, struct warp *w, const struct insn *i)
{
    const struct profiler *p = (const struct profiler *)o;
    struct profile_part *t = w->worker->observed;
    struct simt_counts *c = &t->counts[w->pc];
    uint32_t mask = w->splits[w->current].mask;
    (void)i;
    if (p->kinds[w->pc] & IS_PART) return;
    t->repeats[w->index].lanes &= ~mask;
    c->instructions++;
    if (KIND_OF(p->kinds[w->pc]) != KIND_BRANCH) return;
    c->branches++;
    c->lanes += lane_count(mask);
}

/* Lanes of a warp have met, and go on behind the instruction at pc. */
static void count_met(struct profile_part *t, const struct warp *w, uint32_t pc, uint32_t m)
{
    const struct insn *i = &w->code[pc];
    struct simt_counts *c = &t->counts[pc];
    c->instructions++;
    c->lanes += lane_count(m);
    if (m == FULL && simt_is_matrix_move(i)) count_matrix(c, w, i);
}

/* Those that waited, at lines of their own, may be let go on while no instruction runs, or quite another one does. */
static void warp_sync(struct simt_observer *o, struct warp *w, const uint32_t *masks, uint32_t m, bool orders)
{
    const struct profiler *p = (const struct profiler *)o;
    struct profile_part *t = w->worker->observed;
    (void)masks, (void)orders;
    t->repeats[w->index].lanes &= ~m;
    for (uint32_t k = 0; k < w->split_count; k++) {
        const struct split *s = &w->splits[k];
        if (s->state != SPLIT_SYNC || !(s->mask & m)) continue;
        count_met(t, w, s->pc, s->mask & m);
        m &= ~s->mask;
    }
    if (m && KIND_OF(p->kinds[w->pc]) == KIND_SYNC) count_met(t, w, w->pc, m);
}

/* The first block of a host thread: it gets its table. */
static bool block_start(struct simt_observer *o, struct worker *k)
{
    struct profiler *p = (struct profiler *)o;
    struct profile_part *t = k->observed;
    if (!t) {
        t = rt_calloc(1, sizeof *t + p->code_count * sizeof *t->counts);
        if (t && !(t->repeats = rt_alloc(k->warp_count * sizeof *t->repeats))) {
            free(t);
            t = NULL;
        }
        if (!t) {
            k->fault = (struct simt_fault){.kind = SIMT_FAULT_NOMEM};
            snprintf(k->fault.kernel, sizeof k->fault.kernel, "%s", k->run->entry->name);
            snprintf(k->fault.text, sizeof k->fault.text, "out of host memory for the counts of a profile");
            return false;
        }
        k->observed = t;
        pthread_mutex_lock(&p->lock);
        t->next = p->tallies;
        p->tallies = t;
        pthread_mutex_unlock(&p->lock);
    }
    for (uint32_t j = 0; j < k->warp_count; j++) t->repeats[j].lanes = 0;
    return true;
}

/* ---- the result ---- */
static void add_counts(struct simt_counts *to, const struct simt_counts *from)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)from;
    for (size_t k = 0; k < sizeof *to / sizeof *a; k++) a[k] += b[k];
}

static bool is_anything(const struct simt_counts *c)
{
    static const struct simt_counts nothing;
    return memcmp(c, &nothing, sizeof *c) != 0;
}

struct order {
    int file, line;
    uint32_t pc;
};
static int by_line(const void *x, const void *y)
{
    const struct order *a = x, *b = y;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

/* Sums by instruction become sums by line. `sums` has an element for each instruction. */
static bool fold(struct simt_profile *out, const struct simt_program *p, const struct simt_counts *sums)
{
    struct order *order = rt_alloc((p->code_count + 1) * sizeof *order);
    uint32_t n = 0;
    for (uint32_t pc = 0; order && pc < p->code_count; pc++)
        if (is_anything(&sums[pc])) order[n++] = (struct order){p->places[pc].file, p->places[pc].line, pc};
    out->lines = order ? rt_calloc(n + 1, sizeof *out->lines) : NULL;
    if (out->lines) qsort(order, n, sizeof *order, by_line);
    for (uint32_t k = 0; out->lines && k < n; k++) {
        bool fresh = k == 0 || order[k].file != order[k - 1].file || order[k].line != order[k - 1].line;
        struct simt_profile_line *line = &out->lines[fresh ? out->count++ : out->count - 1];
        line->line = order[k].line;
        if (order[k].file > 0 && (size_t)order[k].file < out->file_count) line->file = out->files[order[k].file];
        add_counts(&line->counts, &sums[order[k].pc]);
        add_counts(&out->total, &sums[order[k].pc]);
    }
    free(order);
    return out->lines != NULL;
}

/* Operations on floating-point numbers that an instruction of one lane (a matrix product: of one warp) is. Divisions,
 * roots and functions count as one, whatever they cost. */
static uint64_t flops_of(const char *opcode, bool *by_warp)
{
    static const char *const ones[] = {"add",   "sub",  "mul", "div", "sqrt", "rcp",
                                       "rsqrt", "tanh", "sin", "cos", "ex2",  "lg2"};
    static const char *const types[] = {"f32", "f64", "f16", "bf16"}, *const pairs[] = {"f16x2", "bf16x2", "f32x2"};
    uint64_t m, n, k, each = is(opcode, "fma") || is(opcode, "mad") ? 2 : 0, count = 0;
    *by_warp = is(opcode, "mma") || (is(opcode, "wmma") && has_word(opcode, "mma"));
    for (const char *s = *by_warp && !has_word(opcode, "s32") ? opcode : NULL; s && (s = strstr(s, ".m")); s++)
        if (sscanf(s, ".m%" SCNu64 "n%" SCNu64 "k%" SCNu64, &m, &n, &k) == 3) return 2 * m * n * k;
    if (*by_warp) return 0;
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        if (is(opcode, ones[i])) each = 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (has_word(opcode, types[i])) count = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (has_word(opcode, pairs[i])) count = 2;
    return each * count;
}

static void count_arithmetic(struct simt_counts *c, const char *opcode)
{
    bool by_warp;
    uint64_t each = flops_of(opcode, &by_warp);
    if (each) c->flops = each * (by_warp ? c->instructions : c->lanes);
    if (has_word(opcode, "f64")) c->double_flops = c->flops;
    if (!is(opcode, "cvt")) return;
    if (strstr(opcode, ".f64.f32")) c->widened = c->lanes;
    if (strstr(opcode, ".f32.f64")) c->narrowed = c->lanes;
}

static bool merge(struct simt_profile *out, struct profiler *p, struct simt_program *program)
{
    struct simt_counts *sums = rt_calloc(p->code_count + 1, sizeof *sums);
    for (const struct profile_part *t = p->tallies; sums && t; t = t->next)
        for (uint32_t pc = 0; pc < p->code_count; pc++) add_counts(&sums[pc], &t->counts[pc]);
    for (uint32_t pc = 0; sums && pc < p->code_count; pc++)
        if (sums[pc].instructions) count_arithmetic(&sums[pc], program->places[pc].opcode);
    out->files = program->files; /* taken over: the lines point to them */
    out->file_count = program->file_count;
    program->files = NULL;
    bool ok = sums && fold(out, program, sums);
    free(sums);
    return ok;
}

static bool run(struct simt_study *s, const struct simt_launch *l, struct simt_fault *fault)
{
    struct simt_profile *out = (struct simt_profile *)s;
    struct profiler p = {.observer = {.before = before, .skipped = skipped, .block_start = block_start},
                         .lock = PTHREAD_MUTEX_INITIALIZER};
    struct ptx_module *module = NULL;
    struct simt_program *program = NULL;
    struct simt_launch launch = *l;
    p.observer.warp_sync = warp_sync;
    launch.observer = &p.observer;
    bool ok = simt_study_open(out->ptx, l, &module, &program, NULL, &launch.function, fault);
    if (ok) {
        p.code_count = program->code_count;
        p.kinds = rt_calloc(p.code_count + 1, 1);
        if (p.kinds) find_kinds(program, p.kinds);
        p.observer.watch = p.kinds;
        ok = p.kinds && simt_run(&launch, fault);
        if (!p.kinds || (ok && !merge(out, &p, program))) {
            *fault = (struct simt_fault){.kind = SIMT_FAULT_NOMEM};
            snprintf(fault->text, sizeof fault->text, "out of host memory for the counts of a profile");
            ok = false;
        }
    }
    while (p.tallies) {
        struct profile_part *next = p.tallies->next;
        free(p.tallies->repeats);
        free(p.tallies);
        p.tallies = next;
    }
    free(p.kinds);
    simt_program_free(program);
    ptx_free(module);
    return ok;
}

struct simt_profile *simt_profile_new(const char *ptx)
{
    struct simt_profile *p = rt_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->study.run = run;
    p->ptx = ptx;
    return p;
}

void simt_profile_free(struct simt_profile *p)
{
    if (!p) return;
    for (size_t k = 0; k < p->file_count && p->files; k++) free(p->files[k]);
    free(p->files);
    free(p->lines);
    free(p);
}
