/* Addresses: inside of what, aligned, written before? Then check_race.c looks who else was there. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/check_even.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/heap.h"

#define NEAR 256 /* bytes beside an array */

/* What an address may belong to, at its first sight. GIVEN is by malloc, or host memory that kernels may use; TAKEN
 * what free took back; ELSEWHERE none of these. */
enum place_kind { PLACE_NOWHERE, PLACE_FREED, PLACE_TAKEN, PLACE_ELSEWHERE, PLACE_VIEW, PLACE_GIVEN, PLACE_INSIDE };

/* ---- reports ---- */
/* The parameter that the instruction's address is made of, from 1; 0 when it is not known. */
static int parameter_of(const struct access *a)
{
    const struct worker *k = a->block->worker;
    const struct function *f = k->run->entry;
    int origin = a->origin;
    for (uint32_t n = 0; origin >= 0 && n < f->param_count; n++)
        if (f->param_offset[n] == (uint32_t)origin) return (int)n + 1;
    return 0;
}

static void report(const struct access *a, unsigned lane, enum simt_check_kind kind, enum ptx_space space, bool in_view)
{
    struct simt_report r = {.kind = kind,
                            .space = space,
                            .parameter = space == PTX_GLOBAL ? parameter_of(a) : 0,
                            .address = a->at[lane],
                            .size = a->bytes,
                            .in_view = in_view,
                            .first = simt_party_at(a->warp, a->warp->pc, lane, a->kind)};
    struct simt_extent meant;
    int variable = a->origin - SHARED_ORIGIN;
    if (kind == CHECK_BOUNDS && space == PTX_GLOBAL && simt_check_meant(a->check, a->origin, &meant)) {
        r.symbol = a->origin >= GLOBAL_ORIGIN ? a->check->program->globals[a->origin - GLOBAL_ORIGIN].name : NULL;
        r.start = meant.address;
        r.bytes = meant.bytes;
    } else if (space == PTX_SHARED && variable >= 0) {
        simt_check_name_variable(a->check, &r, &a->check->program->shared[variable]);
    } else {
        simt_check_name(a->check, &r);
    }
    simt_check_report(a->check, &r);
}

/* A lane that does not run a load gets 0, and so do those that repeat it. */
static void give_zero(const struct access *a, unsigned lane)
{
    const struct insn *i = a->insn;
    if (a->kind == ACCESS_WRITE || is_opaque(a) || (a->kind == ACCESS_ATOMIC && i->extra)) return;
    bool several = i->count > 1 && a->kind == ACCESS_READ;
    const uint32_t *slots = several ? a->block->worker->program->extra + i->extra : &i->d;
    for (unsigned k = 0; k < (several ? i->count : 1u); k++)
        fill_lanes(a->regs, slots[k], i->flags & F_WIDE, simt_with_repeats(a->warp, 1u << lane), 0);
}

/* ---- who else was there ---- */
/* Lanes of a compare-and-swap that find another value than they expect. */
static uint32_t failing_lanes(const struct access *a, uint32_t m, bool shared)
{
    uint32_t failing = 0;
    EACH_LANE(l, m)
    {
        const char *p = shared ? a->warp->shared + a->at[l] : (const char *)place_in_host(a->at[l]);
        failing |= (uint32_t)simt_swap_fails(a->insn, a->regs, l, p) << l;
    }
    return failing;
}

static void touch_lanes(const struct access *a, uint32_t m, bool shared)
{
    if (!shared && may_meet_copies(a->block, a->kind)) m &= ~simt_bulk_meet(a, m, false);
    if (m && !shared && a->block->fetching.high && a->kind != ACCESS_READ) m &= ~simt_copies_meet_source(a, m);
    if (!m) return;
    if (shared)
        simt_shared_touch(a, m);
    else
        simt_race_touch(a, m, false);
}

static void touch(const struct access *a, uint32_t m, bool shared)
{
    bool swaps = a->kind == ACCESS_ATOMIC && a->site->reading && simt_is_swap(a->insn);
    uint32_t failing = swaps ? failing_lanes(a, m, shared) : 0;
    touch_lanes(a, m & ~failing, shared);
    if (!failing) return;
    struct access r = *a;
    r.site = &a->check->sites[a->site->reading];
    r.kind = access_of(r.site);
    r.me = (a->me & ~(record)(MAX_SITES - 1)) | a->site->reading;
    touch_lanes(&r, failing, shared);
}

/* ---- global memory ---- */
/* Where the arguments point to in an allocation, when they do. */
static bool within_extents(const struct simt_check *c, const struct simt_block *b, uint64_t address, struct span *out,
                           bool *any)
{
    *any = false;
    for (size_t k = 0; k < c->extent_count; k++) {
        const struct simt_extent *e = &c->extents[k];
        if (e->address < b->address || e->address - b->address >= b->bytes) continue;
        *any = true;
        if (address < e->address || address - e->address >= e->bytes) continue;
        out->low = e->address;
        out->high = e->address + e->bytes;
        return true;
    }
    return false;
}

/* So near to an array that was passed that its index is wrong, rather than that freed memory is meant. */
static bool is_near_extent(const struct simt_check *c, uint64_t address)
{
    for (size_t k = 0; k < c->extent_count; k++) {
        const struct simt_extent *e = &c->extents[k];
        if (address < e->address ? e->address - address <= NEAR : address - e->address <= e->bytes + NEAR) return true;
    }
    return false;
}

/* In the heap. What was given out remains so until something is freed. */
static enum place_kind find_given(const struct access *a, uint64_t address, struct span *out)
{
    struct block *b = a->block;
    struct simt_heap_block h;
    uint64_t turn = simt_heap_turn();
    if (b->given_turn == turn && inside(&b->given, address, 1)) {
        *out = b->given;
        return PLACE_GIVEN;
    }
    if (!simt_heap_look(address, &h)) return PLACE_ELSEWHERE;
    if (!h.bytes) return PLACE_TAKEN;
    if (address - h.address >= h.bytes) return PLACE_NOWHERE; /* beside it */
    if (h.kept) return PLACE_TAKEN;
    *out = (struct span){.low = h.address, .high = h.address + h.bytes, .start = h.heap};
    if (!simt_written_bits(h.heap, &out->written)) atomic_store(&a->check->no_memory, true);
    b->given = *out;
    b->given_turn = turn;
    return PLACE_GIVEN;
}

/* The array that the address is made of, and its allocation. */
static bool find_meant(const struct access *a, struct simt_extent *meant, struct simt_block *own)
{
    return simt_check_meant(a->check, a->origin, meant) && simt_find(meant->address, own);
}

static enum place_kind find_place(const struct access *a, uint64_t address, struct span *out)
{
    struct simt_check *c = a->check;
    struct simt_extent meant;
    struct simt_block b, own;
    bool any;
    *out = (struct span){0};
    if (find_meant(a, &meant, &own)) { /* wherever else it may lead */
        if (address < own.address || address - own.address >= own.bytes) return PLACE_NOWHERE;
        *out = (struct span){.low = meant.address, .high = meant.address + meant.bytes, .start = own.address};
        if (!simt_written_bits(own.address, &out->written)) atomic_store(&c->no_memory, true);
        out->quiet =
            simt_is_quiet(c, own.address) || simt_even_quiet(a->block, own.address) || simt_loads_own(c, a->insn);
        out->once = out->quiet ? NULL : simt_once_of(a->block, own.address);
        if (address - meant.address < meant.bytes) {
            simt_even_narrow(a, own.address, address, out);
            return PLACE_INSIDE;
        }
        *out = (struct span){.low = own.address, .high = own.address + own.bytes, .start = own.address};
        return PLACE_VIEW;
    }
    enum place_kind given = find_given(a, address, out);
    if (given != PLACE_ELSEWHERE) return given;
    struct simt_mapped m;
    if (address < SIMT_GLOBAL_BASE &&
        simt_mapped_find(address, &m)) { /* host memory: the program may have written it */
        a->block->given = *out = (struct span){.low = m.start, .high = m.start + m.bytes, .start = m.start};
        a->block->given_turn = simt_heap_turn();
        return PLACE_GIVEN;
    }
    if (!simt_find(address, &b))
        return simt_find_freed(address, &b) && !is_near_extent(c, address) ? PLACE_FREED : PLACE_NOWHERE;
    *out = (struct span){.low = b.address, .high = b.address + b.bytes, .start = b.address};
    if (!simt_written_bits(b.address, &out->written)) atomic_store(&c->no_memory, true);
    out->quiet = simt_is_quiet(c, b.address);
    if (within_extents(c, &b, address, out, &any) || !any) return PLACE_INSIDE;
    return PLACE_VIEW;
}

bool simt_touch_bits(const struct access *a, const struct span *s, uint64_t address)
{
    if (!s->written) return false;
    uint64_t at = address - s->start, bits = ((UINT64_C(1) << a->bytes) - 1) << at % 64;
    _Atomic uint64_t *word = &s->written[at / 64];
    uint64_t there = atomic_load_explicit(word, memory_order_relaxed);
    if ((there & bits) == bits) return false;
    if (a->kind == ACCESS_READ) return simt_is_lacking(a, (uint32_t)(there >> at % 64));
    atomic_fetch_or_explicit(word, bits, memory_order_relaxed);
    return a->kind != ACCESS_WRITE && !simt_overwrites(a->insn);
}

/* Does the lane go again to what was given out last? */
static bool goes_to_given(const struct access *a, uint64_t address)
{
    struct simt_extent meant;
    struct simt_block own;
    const struct block *b = a->block;
    return b->given_turn == simt_heap_turn() && inside(&b->given, address, a->bytes) && !find_meant(a, &meant, &own);
}

/* May the lane go there, most likely into s? *race: and can it be seen who else did? */
static bool allow_lane(const struct access *a, unsigned lane, const struct span *s, bool *race)
{
    uint64_t address = a->at[lane];
    struct span found;
    *race = false;
    if (address & (a->bytes - 1)) {
        report(a, lane, CHECK_ALIGNMENT, PTX_GLOBAL, false);
        return false;
    }
    if (!inside(s, address, a->bytes)) {
        enum place_kind place = find_place(a, address, &found);
        bool fits = place >= PLACE_ELSEWHERE && inside(&found, address, a->bytes);
        if (place == PLACE_TAKEN)
            simt_check_freed(a, lane);
        else if (!fits || place == PLACE_VIEW)
            report(a, lane, place == PLACE_FREED ? CHECK_FREED : CHECK_BOUNDS, PTX_GLOBAL, fits);
        *race = place >= PLACE_GIVEN && !found.quiet;
        if (place == PLACE_INSIDE && fits) a->block->spans[a->insn->d2] = found;
        if (place < PLACE_GIVEN || !fits) return fits;
        s = &found;
    } else {
        *race = !s->quiet;
    }
    if (simt_touch_bits(a, s, address) && !a->check->untracked) report(a, lane, CHECK_UNWRITTEN, PTX_GLOBAL, false);
    return true;
}

/* The lanes that may go on. */
static uint32_t check_global(const struct access *a, uint32_t m)
{
    const struct span *s = &a->block->spans[a->insn->d2];
    uint64_t first = a->at[__builtin_ctz(m)];
    if (!inside(s, first, a->bytes) && goes_to_given(a, first)) s = &a->block->given;
    uint64_t bad = s->written ? 1 : 0;
    if (s->high - s->low < a->bytes) {
        bad = 1;
    } else if (m == FULL) {
        bad |= !a->check->vectors->within(a->at, FULL, s->low, s->high - s->low - a->bytes, a->bytes - 1);
    } else {
        EACH_LANE(l, m)
        bad |= (uint64_t)(a->at[l] - s->low > s->high - s->low - a->bytes) | (a->at[l] & (a->bytes - 1));
    }
    if (!bad) {
        if (!s->quiet) touch(a, m, false);
        return m;
    }
    uint32_t allowed = 0, racing = 0;
    EACH_LANE(l, m)
    {
        bool race;
        if (allow_lane(a, l, s, &race))
            allowed |= 1u << l, racing |= (uint32_t)race << l;
        else
            give_zero(a, l);
    }
    touch(a, racing, false);
    return allowed;
}

/* ---- shared and local memory ---- */
/* Are the words written that lanes m touch, of a variable? */
static bool are_written(const struct access *a, uint32_t m, struct window w)
{
    uint32_t words[SIMT_WARP];
    EACH_LANE(l, m) words[l] = (uint32_t)(a->at[l] - w.low) / 4;
    return simt_words_written(a->block, w, words, m, a->bytes);
}

static uint32_t check_window(struct access *a, uint32_t m, enum ptx_space space)
{
    struct window w = space == PTX_SHARED ? simt_check_window(a) : (struct window){0, a->block->worker->local_bytes};
    struct worker *owners[SIMT_WARP];
    bool reached = space == PTX_SHARED && simt_reach_kept(a->block);
    uint32_t far = reached ? simt_reach_owners(a, m, owners) : 0;
    uint32_t allowed = inside_window(a, m, w) ? m : 0;
    EACH_LANE(l, m & ~allowed)
    {
        bool aligned = !(a->at[l] & (a->bytes - 1));
        bool fits = a->at[l] >= w.low && a->at[l] < w.high && w.high - a->at[l] >= a->bytes;
        allowed |= (uint32_t)(aligned && fits) << l;
        if (aligned && fits) continue;
        report(a, l, aligned ? CHECK_BOUNDS : CHECK_ALIGNMENT, space, false);
        give_zero(a, l);
    }
    if (reached) simt_reach_touch(a, allowed, owners);
    if (space == PTX_SHARED && is_steady(a->block, a->warp->pc)) return allowed;
    if (space == PTX_SHARED && simt_is_among_atomics(a->check, a->warp->pc) && are_written(a, allowed, w))
        return allowed;
    if (space == PTX_SHARED && allowed & ~far) touch(a, allowed & ~far, true);
    return allowed;
}

/* ---- instructions ---- */
static enum ptx_space window_of(uint64_t address)
{
    uint64_t window = address >> 48;
    return window == 1 ? PTX_SHARED : window == 2 ? PTX_LOCAL : window == 3 ? PTX_PARAM : PTX_GLOBAL;
}

/* Lanes by the windows that their addresses lie in. */
static uint32_t check_generic(struct access *a, uint32_t m)
{
    uint32_t shared = 0, local = 0, global = 0, allowed = 0;
    EACH_LANE(l, m)
    {
        enum ptx_space space = window_of(a->at[l]);
        shared |= (uint32_t)(space == PTX_SHARED) << l;
        local |= (uint32_t)(space == PTX_LOCAL) << l;
        global |= (uint32_t)(space == PTX_GLOBAL) << l;
    }
    allowed = m & ~(shared | local | global);
    if (global) allowed |= check_global(a, global);
    EACH_LANE(l, shared | local) a->at[l] &= (UINT64_C(1) << 48) - 1;
    if (shared) allowed |= check_window(a, shared, PTX_SHARED);
    if (local) allowed |= check_window(a, local, PTX_LOCAL);
    return allowed;
}

uint32_t simt_check_lanes(struct access *a, uint32_t m, enum ptx_space space)
{
    switch (space) {
    case PTX_GLOBAL: return check_global(a, m);
    case PTX_SHARED: return check_window(a, m, PTX_SHARED);
    case PTX_LOCAL: return check_window(a, m, PTX_LOCAL);
    default: return check_generic(a, m);
    }
}

void simt_check_begin(struct access *a, struct simt_check *c, struct warp *w, const struct insn *i, unsigned site)
{
    struct block *b = w->worker->observed;
    a->check = c;
    a->block = b;
    a->warp = w;
    a->insn = i;
    a->regs = w->frame->regs;
    a->site = &c->sites[site];
    a->kind = access_of(a->site);
    a->me = b->id | (record)b->now << TIME_AT | (record)w->index * SIMT_WARP << THREAD_AT | site;
    a->origin = c->program->places[w->pc].origin;
    a->alike = 0;
    a->texture = NULL;
}
