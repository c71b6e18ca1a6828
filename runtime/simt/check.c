/* The observer that checks a launch: what it watches, and what it keeps of each block. */
#include "runtime/simt/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/threads.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/check_even.h"
#include "runtime/simt/check_mixed.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/tcgen05.h"
#include "runtime/simt/decode.h"
#include "runtime/simt/heap.h"

static atomic_uint_fast64_t launches;

/* ---- what is watched ---- */
/* Does the instruction write memory in ways that are not followed? */
static bool is_untracked(const char *opcode)
{
    static const char *const known[] = {"st.async", "st.bulk", "red.async", "multimem"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (opcode_begins(opcode, known[k])) return true;
    return false;
}

static enum watched sync_of(const struct insn *i)
{
    for (size_t k = 0; k < simt_ops_warp.count; k++) {
        const struct op_row *row = &simt_ops_warp.rows[k];
        if (row->run != i->run) continue;
        if (!strcmp(row->key, "+activemask")) return WATCH_NOT;
        return strcmp(row->key, "+warp_sync") ? WATCH_SYNC : WATCH_WARP_SYNC;
    }
    return WATCH_NOT;
}

static bool is_division(const struct insn *i, const char *opcode)
{
    return (opcode_begins(opcode, "div.") || opcode_begins(opcode, "rem.")) && i->type >= PTX_U8 && i->type <= PTX_S64;
}

static enum watched watched_of(const struct simt_program *p, const struct insn *i, const char *opcode)
{
    switch ((enum memory_kind)i->memory) {
    case MEMORY_LOAD:
    case MEMORY_STORE:
    case MEMORY_ATOMIC:
        if (i->space == PTX_PARAM || (i->space == PTX_LOCAL && i->flags & F_UNIFORM)) return WATCH_NOT;
        return WATCH_ACCESS;
    case MEMORY_FENCE: return WATCH_FENCE;
    case MEMORY_NONE: break;
    }
    if (simt_check_in_pieces(i)) return WATCH_PIECES;
    if (simt_texels_access(i)) return WATCH_TEXELS;
    if (simt_copy_mode(i)) return WATCH_COPIES;
    if (i->run == simt_op_barrier) return WATCH_BARRIER;
    if (simt_check_is_free(p, i)) return WATCH_FREE;
    if (i->run == simt_op_exit || i->run == simt_op_ret) return WATCH_EXIT;
    return is_division(i, opcode) ? WATCH_DIVISION : sync_of(i);
}

/* Does it load from within a __constant__ variable, which nobody writes, at an address that the code has? */
static bool is_known_constant(const struct simt_program *p, const struct function *f, uint32_t pc)
{
    const struct insn *i = &p->code[pc];
    uint64_t bytes = (uint64_t)i->size * i->count;
    int64_t base;
    if (!opcode_begins(p->places[pc].opcode, "ld.const") || !simt_holds_constant(p, f, i->a, &base)) return false;
    uint64_t at = (uint64_t)base + (uint64_t)i->imm;
    for (uint32_t k = 0; k < p->global_count; k++) {
        const struct global *g = &p->globals[k];
        if (at - g->address < g->bytes && g->bytes - (at - g->address) >= bytes) return at % bytes == 0;
    }
    return false;
}

/* The number of the site, which may be there already. Beyond the last number lines are not told apart. */
static unsigned add_site(struct simt_check *c, const struct site *s)
{
    const struct place *at = &c->program->places[s->pc];
    bool less = access_of(s) == ACCESS_READ && (s->strong || s->guesses);
    unsigned special = s->access == ACCESS_ATOMIC || (c->mixes && less), base = special * MAX_SITES / 2;
    unsigned *count = &c->site_count[special];
    for (unsigned k = *count; k-- > 1;) {
        const struct site *o = &c->sites[base + k];
        const struct place *there = &c->program->places[o->pc];
        if (o->access == s->access && o->strong == s->strong && o->is_volatile == s->is_volatile &&
            o->of_block == s->of_block && o->guesses == s->guesses && o->copies == s->copies &&
            o->fetches == s->fetches && o->fails == s->fails && o->bulk == s->bulk && !o->reading == !s->reading &&
            there->file == at->file && there->line == at->line && there->column == at->column)
            return base + k;
    }
    if (*count == MAX_SITES / 2) return base + MAX_SITES / 2 - 1;
    c->sites[base + *count] = *s;
    return base + (*count)++;
}

/* Sites that stand for a store beside a cell's readers, as far as atomics leave numbers: those come first. */
static void add_kept(struct simt_check *c, unsigned site)
{
    struct site *s = &c->sites[site];
    unsigned *count = &c->site_count[1], most = s->strong ? 2 : 1;
    for (unsigned k = 0; k < most && !s->kept[k] && *count < MAX_SITES / 2 - 1; k++) {
        s->kept[k] = (uint16_t)(MAX_SITES / 2 + *count);
        struct site *kept = &c->sites[MAX_SITES / 2 + (*count)++];
        *kept = *s;
        memset(kept->kept, 0, sizeof kept->kept);
        kept->kept_of = (uint16_t)site;
    }
}

static enum simt_access access_by(const struct insn *i)
{
    if (simt_texels_access(i)) return simt_texels_access(i);
    switch ((enum memory_kind)i->memory) {
    case MEMORY_LOAD: return ACCESS_READ;
    case MEMORY_STORE: return ACCESS_WRITE;
    case MEMORY_NONE: /* in pieces */
        return simt_is_bulk_reduction(i) ? ACCESS_ATOMIC : i->flags & F_STORE ? ACCESS_WRITE : ACCESS_READ;
    default: return simt_is_barrier_init(i) ? ACCESS_WRITE : ACCESS_ATOMIC;
    }
}

/* Loads and stores of cuda::atomic and its like are atomics; those by volatile pointers say less. */
static bool is_relaxed(const char *opcode)
{
    return strstr(opcode, ".relaxed") || strstr(opcode, ".acquire") || strstr(opcode, ".release");
}

/* The number of what an instruction does in its line. */
static unsigned site_at(struct simt_check *c, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    bool frees = simt_check_is_free(c->program, i);
    struct site s = {.pc = pc, .access = frees ? ACCESS_FREE : access_by(i)}, reading;
    s.strong = s.access == ACCESS_ATOMIC || i->flags & F_SPIN;
    s.is_volatile = s.strong && s.access != ACCESS_ATOMIC && !is_relaxed(c->program->places[pc].opcode);
    s.of_block = s.strong && i->space != PTX_SHARED && strstr(c->program->places[pc].opcode, ".cta");
    s.guesses = !s.strong && c->program->places[pc].guesses;
    bool copy = opcode_begins(c->program->places[pc].opcode, "cp.async.");
    s.copies = copy && i->memory == MEMORY_STORE;
    s.fetches = copy && (i->memory == MEMORY_LOAD || simt_is_fill(i));
    s.bulk = simt_is_bulk(i) && !simt_is_store_bulk(c->program, i);
    s.product = simt_is_tensor_product(i);
    reading = s;
    reading.fails = simt_is_swap(i);
    if (simt_is_bulk(i)) reading.access = ACCESS_READ, reading.strong = false;
    if (simt_is_swap(i) || simt_is_bulk(i)) s.reading = (uint16_t)add_site(c, &reading);
    return add_site(c, &s);
}

/* Do some threads of the block meet by it, but not all, nor all of a warp; or several blocks? */
static bool meets_some(const struct simt_check *c, const struct function *f, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    const unsigned *block = c->launch->block, *cluster = c->launch->cluster;
    int64_t value = 0;
    if (i->run == simt_op_cluster_arrive) return cluster[0] * cluster[1] * cluster[2] > 1;
    if (c->watch[pc] == WATCH_WARP_SYNC)
        return !simt_holds_constant(c->program, f, i->a, &value) || (uint32_t)value != FULL;
    if (c->watch[pc] != WATCH_BARRIER || !i->b) return false;
    return i->mode == BARRIER_ARRIVE || !simt_holds_constant(c->program, f, i->b, &value) ||
           (uint64_t)value < (uint64_t)block[0] * block[1] * block[2];
}

static bool no_memory(struct simt_fault *f, const struct simt_launch *l)
{
    memset(f, 0, sizeof *f);
    f->kind = SIMT_FAULT_NOMEM;
    snprintf(f->kernel, sizeof f->kernel, "%s", l->function->info.name);
    snprintf(f->text, sizeof f->text, "out of host memory for the checks of a launch; gpu.check(false) does without");
    return false;
}

static void watch_one(struct simt_check *c, const struct function *f, uint32_t pc)
{
    const struct simt_program *p = c->program;
    const struct insn *i = &p->code[pc];
    const char *opcode = p->places[pc].opcode;
    const unsigned *grid = c->launch->grid;
    bool several = grid[0] > 1 || grid[1] > 1 || grid[2] > 1;
    bool later = i->flags & F_EAGER && i->guard == SLOT_TRUE;
    if (later || is_known_constant(p, f, pc)) return;
    c->watch[pc] = (uint8_t)watched_of(p, i, opcode);
    if (c->watch[pc] == WATCH_TEXELS && !c->follows_texels) c->watch[pc] = WATCH_NOT;
    if (c->watch[pc] == WATCH_ACCESS || c->watch[pc] == WATCH_PIECES || c->watch[pc] == WATCH_FREE ||
        c->watch[pc] == WATCH_TEXELS)
        c->site_of[pc] = (uint16_t)site_at(c, pc);
    c->untracked |= is_untracked(opcode);
    bool of_block = c->sites[c->site_of[pc]].of_block && several;
    c->scoped |= of_block;
    if (c->watch[pc] == WATCH_FENCE && several && strstr(opcode, ".cta")) c->watch[pc] = WATCH_BLOCK_FENCE;
    if (c->watch[pc] == WATCH_BLOCK_FENCE || (of_block && i->flags & F_RELEASE)) c->reaches = 2;
    simt_parts_watch(c, pc);
    bool shared = i->space == PTX_SHARED || i->space == PTX_GENERIC || i->flags & F_GENERIC;
    c->narrow |= i->memory && i->memory != MEMORY_FENCE && i->size < 4 && shared;
    bool strong = i->memory == MEMORY_ATOMIC || (i->memory && i->flags & F_SPIN);
    c->narrow_strong |= strong && i->size < 4;
    if (meets_some(c, f, pc)) {
        c->meets_some = true;
        c->groups_meet |= c->watch[pc] != WATCH_WARP_SYNC;
    }
    c->blocks_meet |= c->watch[pc] == WATCH_BARRIER;
    c->warps_meet |= c->watch[pc] == WATCH_WARP_SYNC;
    c->waits |= i->memory == MEMORY_LOAD && i->flags & F_SPIN;
    c->hands_on |= strong && i->memory != MEMORY_LOAD && !simt_is_mbarrier(i);
    c->releases_some |= i->memory == MEMORY_FENCE || simt_is_bulk(i) || (i->memory && i->flags & F_RELEASE);
}

/* What the function at k calls runs, too: through a pointer, any but kernels. */
static void find_called(struct simt_check *c, uint32_t k)
{
    const struct simt_program *p = c->program;
    const struct function *f = &p->functions[k];
    for (uint32_t pc = f->setup; pc < f->end; pc++) {
        int to = p->code[pc].run == simt_op_call ? p->calls[p->code[pc].extra].function : -2;
        if (to >= 0 && !c->runs[to]) c->runs[to] = RUNS_UNSEEN;
        for (uint32_t any = 0; to == -1 && any < p->function_count; any++)
            if (!p->functions[any].is_entry && !c->runs[any]) c->runs[any] = RUNS_UNSEEN;
    }
}

/* Not by recursion, which a long chain of calls would take the stack for. From the last, since callees mostly stand
 * before their callers. */
static void find_running(struct simt_check *c, uint32_t entry)
{
    c->runs[entry] = RUNS_UNSEEN;
    for (bool found = true; found;) {
        found = false;
        for (uint32_t k = c->program->function_count; k-- > 0;) {
            if (c->runs[k] != RUNS_UNSEEN) continue;
            c->runs[k] = RUNS_SEEN;
            find_called(c, k);
            found = true;
        }
    }
}

/* So many are made of each instruction, at most. */
static bool new_sites(struct simt_check *c)
{
    size_t of_atomics = 4 * (size_t)c->program->code_count + 2, most = MAX_SITES / 2;
    c->sites = rt_alloc((most + (of_atomics < most ? of_atomics : most)) * sizeof *c->sites);
    if (c->sites) c->sites[0] = c->sites[most] = (struct site){0}; /* of what is none */
    return c->sites;
}

static bool launch_start(struct simt_observer *o, const struct simt_launch *l, struct simt_fault *fault)
{
    struct simt_check *c = (struct simt_check *)o;
    const struct simt_program *p = c->program = l->function->program;
    c->launch = l;
    c->unseen = (struct insn){.d2 = p->cache_count};
    while (!(c->number = (uint32_t)atomic_fetch_add(&launches, 1) + 1)) {
    }
    c->parallel = rt_thread_count() > 1;
    c->vectors = simt_check_vectors();
    c->site_count[0] = c->site_count[1] = 1;
    c->watch = rt_calloc(p->code_count + 1, sizeof *c->watch);
    c->site_of = rt_calloc(p->code_count + 1, sizeof *c->site_of);
    c->runs = rt_calloc(p->function_count, sizeof *c->runs);
    if (!c->watch || !c->site_of || !c->runs || !new_sites(c)) return no_memory(fault, l);
    find_running(c, (uint32_t)(l->function->code - p->functions));
    simt_texels_find(c);
    c->mixes = simt_check_mixes(c);
    for (uint32_t k = 0; k < p->function_count; k++) {
        const struct function *f = &p->functions[k];
        for (uint32_t pc = f->setup; c->runs[k] && pc < f->end; pc++) watch_one(c, f, pc);
    }
    for (unsigned k = 1; k < c->site_count[0]; k++)
        if (c->sites[k].access == ACCESS_WRITE) add_kept(c, k);
    bool waits = c->warps_meet && c->waits; /* for another warp, between two touches of a place */
    c->by_warps = c->meets_some && !c->groups_meet && !waits && !c->releases_some && !c->mixes;
    c->by_lanes = c->by_warps && !c->blocks_meet;
    c->meets_some |= waits;
    c->exact = orders_some(c) || c->mixes;
    if (c->releases_some) c->spots = rt_calloc(SEEN_OBJECTS, sizeof *c->spots);
    if (c->releases_some && !(c->spots && simt_releases_new(c))) return no_memory(fault, l);
    bool again = simt_again_find(c);
    if (!(again || simt_inputs_find(c)) || !simt_steady_begin(c)) return no_memory(fault, l);
    if (!again) simt_even_begin(c);
    c->observer.watch = c->watch;
    c->observer.way = c->follows_texels;
    return true;
}

static void free_block(struct block *b)
{
    simt_sync_free(b);
    simt_shadow_free(b);
    simt_shared_free(b);
    simt_copies_free(b);
    simt_bulk_free(b);
    simt_clocks_free(b);
    simt_counters_free(b);
    simt_reach_free(b);
    free(b->spans);
    free(b->own);
    free(b->ranges);
    free(b->exit_pc);
    free(b);
}

static void launch_end(struct simt_observer *o, struct simt_fault *fault)
{
    struct simt_check *c = (struct simt_check *)o;
    for (struct block *b = c->blocks; b; b = b->next)
        if (b->counting) simt_counters_pour(b);
    simt_once_end(c);
    if (atomic_load(&c->no_memory) && !fault->kind) no_memory(fault, c->launch);
    while (c->blocks) {
        struct block *next = c->blocks->next;
        free_block(c->blocks);
        c->blocks = next;
    }
    simt_again_keep(c);
    if (c->untracked) simt_wrote_everything();
    simt_heap_settle();
    simt_written_settle();
    simt_shadow_trim();
}

/* ---- blocks ---- */
/* What generated code is told of the launch. */
static void begin_quiet(const struct block *b, struct worker *k)
{
    const struct simt_check *c = b->check;
    for (int log = 0; log < 3; log++) {
        k->quiet.tags[log].read = b->tags.units[log].read;
        k->quiet.tags[log].written = b->tags.units[log].written;
    }
    k->quiet.line = c->number | (uint64_t)ALL_WORDS << 32 | (uint64_t)LINE_STRIPS << 48;
    for (uint64_t shift = 0; shift < 2; shift++) {
        k->quiet.heads[0][shift] = c->number | (LINE_WHOLE | shift) << 48;
        k->quiet.heads[1][shift] = c->number | (LINE_WHOLE | LINE_WRITTEN | shift) << 48;
    }
    k->quiet.parallel = c->parallel;
}

static struct block *new_block(struct simt_check *c, struct worker *k)
{
    struct block *b = rt_calloc(1, sizeof *b);
    if (!b) return NULL;
    b->check = c;
    b->worker = k;
    b->spans = rt_calloc(c->program->cache_count + 1, sizeof *b->spans);
    b->exit_pc = rt_calloc((size_t)k->warp_count * SIMT_WARP, sizeof *b->exit_pc);
    b->own = rt_calloc(c->program->cache_count + 1, sizeof *b->own);
    if (!b->spans || !b->own || !b->exit_pc || !simt_shared_new(b) || !simt_steady_new(b)) {
        free_block(b);
        return NULL;
    }
    begin_quiet(b, k);
    pthread_mutex_lock(&c->lock);
    b->next = c->blocks;
    c->blocks = b;
    pthread_mutex_unlock(&c->lock);
    return b;
}

static bool block_start(struct simt_observer *o, struct worker *k)
{
    struct simt_check *c = (struct simt_check *)o;
    struct block *b = k->observed;
    if (!b) b = k->observed = new_block(c, k);
    if (!b) return no_memory(&k->fault, c->launch);
    b->id = (record)(1 + k->block_index % BLOCK_IDS) << BLOCK_AT;
    b->flushed = b->excused = false;
    if (!simt_reach_start(b)) return no_memory(&k->fault, c->launch);
    simt_steady_start(b);
    simt_even_start(b);
    k->quiet.steady = b->steady;
    simt_sync_start(b);
    simt_shadow_start(b);
    simt_shared_start(b);
    simt_copies_start(b);
    simt_bulk_start(b);
    simt_clocks_start(b);
    simt_sync_quiet(b);
    return true;
}

static void block_end(struct simt_observer *o, struct worker *k)
{
    struct simt_check *c = (struct simt_check *)o;
    struct block *b = k->observed;
    simt_noted_is_done(k); /* it may have been stopped anywhere */
    if (!b) return;
    simt_steady_end(b);
    simt_even_end(b);
    simt_bulk_end(b);
    if (!k->fault.kind) simt_copies_end(b);
    if (b->reach && !k->fault.kind && atomic_load(&k->run->fault_block) == UINT64_MAX) simt_reach_end(b);
    if (b->counting && orders_some(c)) simt_counters_pour(b);
}

/* ---- instructions ---- */
/* Is one of the 32 divisors 0? */
static bool is_any_zero(const struct warp *w, const struct insn *i, bool wide)
{
    const uint32_t *narrow = u32_at(w->frame->regs, i->b);
    const uint64_t *all = u64_at(w->frame->regs, i->b);
    uint32_t zeros = 0;
    for (int l = 0; !wide && l < SIMT_WARP; l++) zeros |= narrow[l] == 0;
    for (int l = 0; wide && l < SIMT_WARP; l++) zeros |= all[l] == 0;
    return zeros != 0;
}

static void check_division(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t m)
{
    bool wide = ptx_type_size((enum ptx_type)i->type) == 8;
    if (!is_any_zero(w, i, wide) || c->program->places[w->pc].early) return;
    EACH_LANE(l, m)
    {
        if (wide ? u64_at(w->frame->regs, i->b)[l] != 0 : u32_at(w->frame->regs, i->b)[l] != 0) continue;
        if (!(w->exists >> l & 1)) continue;
        struct simt_report r = {.kind = CHECK_DIVISION, .first = simt_party_at(w, w->pc, l, ACCESS_NONE)};
        simt_check_report(c, &r);
    }
}

/* Lanes that are not in the mask that they give are left out. */
static uint32_t check_masks(struct simt_check *c, struct warp *w, const uint32_t *masks, uint32_t m)
{
    uint32_t missing = m & simt_unnamed(masks);
    EACH_LANE(l, missing)
    {
        struct simt_report r = {
            .kind = CHECK_LANE, .lanes = masks[l], .first = simt_party_at(w, w->pc, l, ACCESS_NONE)};
        simt_check_report(c, &r);
    }
    return m & ~missing;
}

static void note_exits(struct block *b, const struct warp *w, uint32_t m)
{
    uint32_t *at = b->exit_pc + (unsigned)w->index * SIMT_WARP, pc = w->pc;
    if (m == FULL)
        for (unsigned l = 0; l < SIMT_WARP; l++) at[l] = pc;
    else
        EACH_LANE(l, m) at[l] = pc;
}

/* Does it touch memory other than mbarriers, or wait for copies, which do so then? */
static bool touches_memory(const struct simt_check *c, uint32_t pc, const struct insn *i)
{
    switch ((enum watched)c->watch[pc]) {
    case WATCH_ACCESS: return !simt_is_mbarrier(i);
    case WATCH_PIECES:
    case WATCH_TEXELS:
    case WATCH_COPIES:
    case WATCH_FREE: return true;
    default: return false;
    }
}

static enum event look_at(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t *m)
{
    struct block *b = w->worker->observed;
    enum event ev = EV_NEXT;
    if (w->closely && touches_memory(c, w->pc, i)) simt_phases_accessed(b, w, *m);
    switch ((enum watched)c->watch[w->pc]) {
    case WATCH_ACCESS: ev = simt_check_access(c, w, i, m); break;
    case WATCH_PIECES: simt_check_pieces(c, w, i, m); break;
    case WATCH_TEXELS: simt_texels_touch(c, w, i, *m); break;
    case WATCH_COPIES:
        if (simt_copy_mode(i) < COPY_BULK_COMMIT)
            simt_copies_wait(b, w, i, *m);
        else
            simt_bulk_wait(b, w, i, *m);
        break;
    case WATCH_FENCE: simt_check_fence(b, w, *m, c->reaches); break;
    case WATCH_BLOCK_FENCE: simt_check_fence(b, w, *m, 1); break;
    case WATCH_BARRIER: simt_check_arrive(b, w, i, *m); break;
    case WATCH_SYNC: *m = check_masks(c, w, u32_at(w->frame->regs, i->extra), *m); break;
    case WATCH_WARP_SYNC: *m = check_masks(c, w, u32_at(w->frame->regs, i->a), *m); break;
    case WATCH_DIVISION: check_division(c, w, i, *m); break;
    case WATCH_EXIT: note_exits(b, w, *m); break;
    case WATCH_FREE:
        simt_check_free_blocks(c, w, i, *m);
        *m = 0;
        break;
    case WATCH_NOT: break;
    }
    if (!atomic_load_explicit(&c->no_memory, memory_order_relaxed)) return ev;
    no_memory(&w->worker->fault, c->launch);
    simt_noted_is_done(w->worker); /* it is not run */
    return EV_FAULT;
}

/* Lanes that repeat others are not looked at: they go on where those do, with what those have got where it was done
 * here. */
static enum event before(struct simt_observer *o, struct warp *w, const struct insn *i, uint32_t *m)
{
    struct simt_check *c = (struct simt_check *)o;
    uint32_t mine = *m & w->threads;
    if (w->exists == w->threads) return look_at(c, w, i, m);
    enum event ev = mine ? look_at(c, w, i, &mine) : EV_NEXT;
    if (simt_runs_once(i)) simt_repeat_result(w->frame->regs, i, *m & ~simt_with_repeats(w, mine), w);
    *m &= simt_with_repeats(w, mine);
    return ev;
}

/* ---- a check ---- */
void simt_check_set_strict(struct simt_check *c)
{
    c->strict = true;
}

struct simt_check *simt_check_new(const struct simt_extent *extents, size_t count, struct rt_error *e)
{
    struct simt_check *c = rt_calloc(1, sizeof *c);
    if (c) {
        pthread_mutex_init(&c->lock, NULL);
        pthread_mutex_init(&c->scoped_lock, NULL);
        for (int k = 0; k < LOG_STRIPES; k++) pthread_mutex_init(&c->listed[k].lock, NULL);
        c->observer = (struct simt_observer){
            .before = before,
            .launch_start = launch_start,
            .launch_end = launch_end,
            .block_start = block_start,
            .block_end = block_end,
            .barrier = simt_check_barrier,
            .warp_sync = simt_check_warp_sync,
            .meets_again = simt_check_meets_again,
            .deadlock = simt_check_deadlock,
            .tracks_writes = true,
            .quick = simt_check_quick,
            .times = {offsetof(struct block, now), offsetof(struct block, readers.since),
                      offsetof(struct block, warp_met), offsetof(struct block, warp_seen), 1 << TIME_AT},
            .gave = simt_check_gave,
            .met = simt_check_met};
        c->reaches = 1;
        c->extents = rt_alloc((count + 1) * sizeof *extents);
    }
    if (!c || !c->extents) {
        simt_check_free(c);
        rt_fail(e, RT_NOMEM, "out of memory for the checks of a launch");
        return NULL;
    }
    if (count) memcpy(c->extents, extents, count * sizeof *extents);
    c->extent_count = count;
    return c;
}

void simt_check_free(struct simt_check *c)
{
    if (!c) return;
    simt_releases_free(c);
    for (int k = 0; k < LOG_STRIPES; k++) {
        simt_histories_clear(&c->listed[k].of);
        pthread_mutex_destroy(&c->listed[k].lock);
    }
    simt_scope_free(c);
    pthread_mutex_destroy(&c->lock);
    free(c->watch);
    free(c->runs);
    free(c->site_of);
    free(c->sites);
    free(c->extents);
    free(c->outputs);
    free(c->key);
    free(c->spots);
    free(c->reports);
    free(c->keys);
    simt_steady_free(c);
    simt_order_end(c);
    free(c);
}

struct simt_observer *simt_check_observer(struct simt_check *c)
{
    return &c->observer;
}
