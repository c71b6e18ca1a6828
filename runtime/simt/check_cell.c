/* One cell, or the few of one lane, looked at closely: what is a race, which records stay, what is told. */
#include <string.h>
#include "runtime/simt/check_cell.h"
#include "runtime/simt/check_lines.h"
#include "runtime/simt/heap.h"
#include "runtime/simt/tally.h"

#define MOST_RACED 1024 /* cells that are kept in mind as raced for */

uint64_t simt_cell_stored(const struct access *a, unsigned lane, unsigned element)
{
    const uint32_t *slots = a->insn->count == 1 ? &a->insn->d : a->block->worker->program->extra + a->insn->extra;
    uint64_t v =
        a->insn->flags & F_WIDE ? u64_at(a->regs, slots[element])[lane] : u32_at(a->regs, slots[element])[lane];
    return a->insn->size < 8 ? v & ((UINT64_C(1) << 8 * a->insn->size) - 1) : v;
}

/* Would the store leave memory as it is, or as the other lane's store leaves it? */
static bool same_value_at(const struct actor *x, record r, const char *p)
{
    const struct access *a = x->access;
    if (a->kind != ACCESS_WRITE || is_opaque(a) || a->check->strict) return false;
    bool lanes = is_of_this(x, r);
    simt_tally_settle(a->block->worker);
    for (unsigned k = 0; k < a->insn->count; k++) {
        uint64_t there = 0, v = simt_cell_stored(a, x->lane, k);
        if (lanes)
            there = simt_cell_stored(a, record_thread(r) % SIMT_WARP, k);
        else
            load_of_kernel(&there, p + k * a->insn->size, a->insn->size);
        if (there != v) return false;
    }
    return true;
}

static bool same_value(const struct actor *x, record r)
{
    const struct access *a = x->access;
    return same_value_at(x, r,
                         x->shared ? a->warp->shared + a->at[x->lane] : (const char *)place_in_host(a->at[x->lane]));
}

/* Does it go on behind its instruction? Bulk copies and products do in shared memory, and what a cp.async reads. */
static bool goes_on(const struct site *s, bool shared)
{
    return shared ? s->bulk || s->product : s->fetches;
}

void simt_tell_copy(const struct simt_check *c, struct simt_report *r, record me, record other, bool shared)
{
    const struct site *mine = &c->sites[record_site(me)], *others = &c->sites[record_site(other)];
    if (goes_on(mine, shared) == goes_on(others, shared)) return;
    if (goes_on(others, shared)) {
        struct simt_party t = r->first;
        r->first = r->other;
        r->other = t;
    }
    r->under_way = !shared                            ? UNDER_WAY_FETCH
                   : mine->product || others->product ? UNDER_WAY_PRODUCT
                   : r->first.access == ACCESS_READ   ? UNDER_WAY_SOURCE
                                                      : UNDER_WAY_BULK;
}

/* Several instructions of a line have one site. NULL: no instruction of the program's, but one that stands for it. */
static const struct place *place_of(const struct access *a)
{
    const struct simt_program *p = a->check->program;
    uintptr_t bytes = (uintptr_t)a->insn - (uintptr_t)p->code;
    return bytes < p->code_count * sizeof *p->code ? &p->places[bytes / sizeof *p->code] : NULL;
}

/* The compiler may say which bytes are looked at. Of 8 bytes of which the first was written the others are taken for
 * the room behind a member of a structure, which is copied with it; and so is all that is copied alone, if some of it
 * was written, or what is loaded before it was. */
bool simt_is_lacking(const struct access *a, uint32_t written)
{
    const struct place *p = place_of(a);
    uint32_t all = (uint32_t)((UINT64_C(1) << a->bytes) - 1), used = p ? p->used_bytes : 0;
    uint32_t lacking = ~written & (used && !(used & ~all) ? used : all);
    uint32_t size = p && a->insn->size * a->insn->count == a->bytes ? a->insn->size : a->bytes;
    if (p && p->is_copied && (p->is_room || written & all)) return false;
    for (uint32_t k = 0; k < a->bytes; k += size)
        if (lacking >> k & all >> (a->bytes - size) && !(size == 8 && written >> k & 1)) return true;
    return false;
}

bool simt_looks_ahead(const struct access *a)
{
    const struct place *p = place_of(a), *places = a->check->program->places;
    if (p && p->ahead) return true;
    for (const struct frame *f = a->warp ? a->warp->frame : NULL; places && f && f->parent; f = f->parent)
        if (places[f->return_pc - 1].ahead) return true;
    return false;
}

static const struct place *place_in(const struct simt_check *c, record r)
{
    return &c->program->places[c->sites[record_site(r)].pc];
}

static bool is_of_library(const struct simt_check *c, const struct place *p)
{
    if (p->file <= 0 && p->of_tiles) return true; /* told by the kernel's name */
    const char *name = p->file > 0 && (size_t)p->file < c->program->file_count ? c->program->files[p->file] : NULL;
    return name && (strstr(name, "/cub/") || strstr(name, "/thrust/"));
}

/* Is it what NVIDIA's own code does, whose authors know what their devices do? Who wrote the kernel could not mend it.
 * Cooperative groups take shfl.sync for an order of memory within the warp, which it is not by the PTX manual. CUB's
 * and Thrust's compactions, in place, read a tile before they say how many of its elements stay, by a word without a
 * fence, and later tiles, which wait for that word, write there; and they have one place in shared memory where all
 * threads leave what nobody wants. */
static bool is_excused(const struct simt_check *c, record a, record b, bool shared)
{
    const struct place *p = place_in(c, a), *q = place_in(c, b);
    bool writes = c->sites[record_site(a)].access == ACCESS_WRITE && c->sites[record_site(b)].access == ACCESS_WRITE;
    if (p->of_groups && q->of_groups) return true;
    return (p->of_tiles || q->of_tiles) && writes == shared && is_of_library(c, p) && is_of_library(c, q);
}

void simt_cell_race(struct actor *x, record other)
{
    const struct access *a = x->access;
    struct simt_check *c = a->check;
    other = as_made(c->sites, other);
    if (is_excused(c, x->me, other, x->shared)) return;
    if (!x->shared && a->block->readers.parting) return; /* what it raced with was told when it came */
    x->hits = true;
    for (unsigned k = 0; k < x->races; k++)
        if (record_site(x->raced[k]) == record_site(other)) return;
    if (x->races == MOST_RACES) return;
    x->raced[x->races++] = other;
    struct simt_report r = {.kind = CHECK_RACE,
                            .space = x->shared ? PTX_SHARED : PTX_GLOBAL,
                            .address = a->at[x->lane] + x->offset, /* of wide accesses, what both touched */
                            .size = a->bytes - x->offset,
                            .has_other = true,
                            .first = simt_party_of(c, a->block, as_global(x, x->me)),
                            .other = simt_party_of(c, a->block, as_global(x, other))};
    simt_tell_copy(c, &r, x->me, other, x->shared);
    simt_check_name(c, &r);
    if (a->texture) simt_texels_name(a, &r);
    simt_check_report(c, &r);
}

/* Is it over for all threads that can touch the cell? */
static bool is_past(const struct actor *x, record r)
{
    return absent(x, r) || (x->shared && record_time(r) < x->access->block->met);
}

static bool is_plain_read(const struct actor *x, record r)
{
    const struct site *s = site_of(x, r);
    return !absent(x, r) && s->access == ACCESS_READ && !s->strong && !s->guesses;
}

/* A compare-and-swap that fails, behind a plain read by the same thread: whatever races with it races with that. */
static bool is_covered(const struct actor *x, record r)
{
    const struct access *a = x->access;
    return a->site->fails && is_plain_read(x, r) && ((r ^ x->me) & WHO_MASK) == 0 &&
           record_time(r) >= a->block->warp_seen[a->warp->index];
}

/* A plain read races with more than a compare-and-swap that fails, which may not take its place; nor are three of both
 * kinds to be told apart by two records. */
static bool needs_list(const struct actor *x, record a, record b)
{
    const record both[2] = {a, b};
    unsigned fails = 0, plain = 0, others = 0;
    if (x->access->kind != ACCESS_READ || is_covered(x, a) || is_covered(x, b)) return false;
    for (int k = 0; k < 2; k++) {
        fails += !absent(x, both[k]) && site_of(x, both[k])->fails;
        plain += is_plain_read(x, both[k]) && !is_past(x, both[k]);
        others += !gone(x, both[k]);
    }
    return x->access->site->fails ? plain > 0 : fails > 0 && others == 2 && is_plain_read(x, x->me);
}

/* Strong reads race with less than atomics and kept stores do, plain ones with more than atomics. */
static void note_reader(const struct actor *x, record *a, record *b)
{
    if (is_covered(x, *a) || is_covered(x, *b)) return;
    if (gone(x, *a)) {
        *a = x->me;
        if (gone(x, *b)) *b = 0;
    } else if (gone(x, *b)) {
        *b = x->me;
    } else if (is_atomic(x, *b) || site_of(x, *b)->kept_of
                   ? is_atomic(x, *b) && !x->access->site->strong
                   : record_block(*a) == record_block(*b) && record_block(*a) != record_block(x->me)) {
        *b = x->me;
    }
}

static bool has_stored(const struct actor *x, record r)
{
    return record_atomic(x->access->check->sites, r) && !site_of(x, r)->fails;
}

static void read_cell(struct actor *x, record *w, record *a, record *b)
{
    const record past[RECORDS] = {*w, has_stored(x, *a) ? *a : 0, has_stored(x, *b) ? *b : 0};
    for (int k = 0; k < RECORDS; k++)
        if (!gone(x, past[k]) && !excused(x, past[k])) simt_cell_race(x, past[k]);
    note_reader(x, a, b);
}

/* May r, which the atomic at hand follows, take the place of a record? Of the same thread, or of an atomic before. */
static bool gives_way(const struct actor *x, record past, record r)
{
    return is_past(x, past) || (is_atomic(x, past) && (((past ^ r) & WHO_MASK) == 0 || gone(x, past)));
}

/* An atomic follows the write or atomic r. */
static void keep_past(const struct actor *x, record r, record *a, record *b)
{
    const struct simt_check *c = x->access->check;
    if (is_past(x, r) || (record_special(r) && gone(x, r))) return;
    record kept = c->exact ? 0 : kept_record(c->sites, r, true);
    if (kept) r = kept;
    bool one_block = record_block(*a) == record_block(*b);
    if (gives_way(x, *a, r))
        *a = r;
    else if (gives_way(x, *b, r) || (one_block && gone(x, *b)))
        *b = r;
    else if (is_atomic(x, *b) && (!is_atomic(x, r) || (one_block && record_block(*a) != record_block(r))))
        *b = r;
}

/* Tells of a race with a record that nothing orders, unless there is none: then it is what is to be kept of it, else 0.
 * `last`: it is the cell's last write. */
static record meet_past(struct actor *x, record r, bool last)
{
    const struct site *sites = x->access->check->sites;
    bool stored = site_of(x, r)->access == ACCESS_WRITE, fine = excused(x, r);
    bool same = stored && !is_kept_other(sites, r) && same_value(x, as_made(sites, r));
    if (!fine && (last || stored)) x->access->block->excused = true;
    if (!fine && !same) {
        simt_cell_race(x, r);
        return 0;
    }
    return stored ? kept_record(sites, as_made(sites, r), same) : r;
}

/* Of two records, which that one of must stay that nothing orders before the access? What is ordered behind the access
 * is best not so behind that: in another block, or warp. Then what races with more. 0 is the worst. */
static record better(const struct actor *x, record r, record s, bool most)
{
    const record *of[2] = {&r, &s};
    unsigned rank[2];
    for (int k = 0; k < 2; k++) {
        const struct site *site = site_of(x, *of[k]);
        unsigned far = record_block(*of[k]) != record_block(x->me)                             ? 2
                       : record_thread(*of[k]) / SIMT_WARP != (unsigned)x->access->warp->index ? 1
                                                                                               : 0;
        unsigned kind = !site_writes(site) ? 0 : !site->strong ? 3 : 1 + is_kept_other(x->access->check->sites, *of[k]);
        rank[k] = !*of[k] ? 0 : 1 + (most ? kind * 4 + far : far * 4 + kind);
    }
    return rank[0] >= rank[1] ? r : s;
}

/* What a store stays beside: two, or one where all of them are plain stores. */
static void keep_stores(const struct actor *x, const record *left, record *a, record *b)
{
    bool strong = x->access->site->strong;
    *a = better(x, better(x, left[0], left[1], false), left[2], false);
    *b = 0;
    for (int k = 0; k < RECORDS; k++) {
        strong |= left[k] && site_of(x, left[k])->strong;
        if (left[k] != *a) *b = better(x, *b, left[k], true);
    }
    if (!strong) *b = 0;
}

static void write_cell(struct actor *x, record *w, record *a, record *b)
{
    record left[RECORDS] = {0};
    if (!gone(x, *a)) left[1] = meet_past(x, *a, false);
    if (!gone(x, *b)) left[2] = meet_past(x, *b, false);
    if (!gone(x, *w)) left[0] = meet_past(x, *w, true);
    if (x->access->kind == ACCESS_ATOMIC)
        keep_past(x, *w, a, b);
    else if (left[0] | left[1] | left[2])
        keep_stores(x, left, a, b);
    else
        *a = *b = 0;
    *w = x->me;
}

bool simt_cell_keeps_races(struct actor *x, uint64_t cell)
{
    struct simt_check *c = x->access->check;
    struct simt_heap_block given;
    if (x->shared || simt_heap_look(cell, &given)) return false; /* malloc's is given again */
    return atomic_load_explicit(&c->raced, memory_order_relaxed) < MOST_RACED &&
           atomic_fetch_add(&c->raced, 1) < MOST_RACED;
}

void simt_cell_keep(struct actor *x, record *was)
{
    if (x->access->kind == ACCESS_READ) {
        note_reader(x, &was[1], &was[2]);
        return;
    }
    if (x->access->kind == ACCESS_ATOMIC)
        keep_past(x, was[0], &was[1], &was[2]);
    else
        was[1] = was[2] = 0;
    was[0] = x->me;
}

/* A plain read where what orders is within warps: often two records say all. */
static bool read_by_warps(const struct actor *x, record *was)
{
    const struct access *a = x->access;
    if (x->shared || !a->check->by_warps || a->kind != ACCESS_READ || replaces_none(a) || is_listed(x, was[0]))
        return false;
    struct cells c;
    const struct now now = now_of(a, false);
    c.w[0] = was[0], c.a[0] = was[1], c.b[0] = was[2], c.me[0] = x->me;
    if (judge_read(&c, 0, &now, false) & CELLS_BAD) return false;
    if (a->alike && !cells_apart(c.a[0], c.b[0], &now)) return false; /* the lane stands for others */
    was[1] = c.a[0], was[2] = c.b[0];
    return true;
}

static void touch(struct actor *x, record *w, uint32_t all, unsigned n, unsigned log)
{
    bool exact = x->access->check->exact;
    for (unsigned k = 0; k < n; k++, w++) {
        record was[RECORDS] = {w[0], w[all], w[2 * all]};
        x->offset = k << log;
        x->hits = false;
        if (!exact && !is_listed(x, w[0]) && !needs_list(x, was[1], was[2])) {
            if (x->access->kind == ACCESS_READ)
                read_cell(x, w, w + all, w + 2 * all);
            else
                write_cell(x, w, w + all, w + 2 * all);
            if (!x->hits || x->shared || !simt_cell_keeps_races(x, x->access->at[x->lane] + x->offset)) continue;
        }
        if (!read_by_warps(x, was)) simt_cell_follow(x, was, 1u << log, !exact && x->hits);
        w[0] = was[0], w[all] = was[1], w[2 * all] = was[2];
    }
}

bool simt_race_same_value(const struct access *a, unsigned lane, record me, record other, const char *place)
{
    const struct actor x = {.access = a, .lane = lane, .me = me};
    return same_value_at(&x, other, place);
}

void simt_race_cells(const struct access *a, unsigned lane, bool shared, const struct cell_table *t, uint32_t first,
                     uint32_t all)
{
    struct actor x = {
        .access = a, .lane = lane, .me = record_of(a, shared) + ((uint64_t)lane << THREAD_AT), .shared = shared};
    touch(&x, t->writes + first, all, a->bytes >> t->log, t->log);
    a->block->judged |= 1u << lane;
}

void simt_race_store(const struct access *a, uint64_t address, unsigned bytes, unsigned lane)
{
    const struct insn *i = a->insn;
    char *p = place_in_host(address);
    if (is_opaque(a)) return;
    if (i->count == 1 && i->size == (i->flags & F_WIDE ? 8 : 4)) {
        store_of_kernel(p, a->regs + i->d + (size_t)lane * i->size, bytes);
        return;
    }
    for (const char *end = p + bytes; p < end; lane++)
        for (unsigned k = 0; k < i->count; k++, p += i->size) {
            uint64_t v = simt_cell_stored(a, lane, k);
            store_of_kernel(p, &v, i->size);
        }
}

void simt_race_store_lanes(const struct access *a, uint32_t m)
{
    const struct insn *i = a->insn;
    unsigned one = (unsigned)__builtin_ctz(m);
    bool words = i->size == 4 && i->count == 1 && !(i->flags & F_WIDE) && !is_opaque(a);
    char *to = place_in_host(a->at[one]);
    const uint32_t *from = u32_at(a->regs, i->d);
    EACH_LANE(l, words ? m : 0) store_of_kernel(to + (a->at[l] - a->at[one]), from + l, sizeof *from);
    EACH_LANE(l, words ? 0 : m) simt_race_store(a, a->at[l], a->bytes, l);
}
