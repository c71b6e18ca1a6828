/* The heap of malloc and free in kernels. What malloc gives is as new: nobody has touched it, nothing in it was
 * written, whoever had it before. free counts as a write of all of it, so that it races with who may still use it; and
 * as that write's record stays, who uses it later is told where it was freed. */
#include <string.h>
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_lines.h"
#include "runtime/simt/heap.h"

#define PIECE 16u /* bytes; blocks begin at a multiple of it */

static const struct insn nothing; /* what free writes with: its values are not known */

bool simt_check_is_free(const struct simt_program *p, const struct insn *i)
{
    return i->run == simt_op_call && p->calls[i->extra].function == -2 - BUILTIN_FREE;
}

/* ---- malloc ---- */
static uint64_t mark_of(const struct simt_check *c, uint32_t pc)
{
    return (uint64_t)c->number << 32 | pc;
}

bool simt_check_given_at(const struct simt_check *c, uint64_t mark, uint32_t *pc)
{
    *pc = (uint32_t)mark;
    return mark >> 32 == c->number;
}

/* A cell of so many bytes is as new: nothing is known of it. */
static void forget_cell(struct simt_check *c, record *r, uint64_t cell, unsigned bytes)
{
    struct history *h = *r == LISTED ? simt_history_find(c, NULL, cell, bytes) : NULL;
    if (h) h->live = false;
    *r = 0;
}

/* Nobody has touched these words, by bits, of the line at an address. */
static void forget(struct simt_check *c, struct line *l, uint64_t address, uint32_t words)
{
    lock_line(c, l);
    if (l->launch == c->number) {
        struct strips *d = strips_of(l);
        const struct cell_table *t = &d->cells;
        if (l->kind & LINE_WHOLE) simt_strips_begin(l);
        if (l->kind & LINE_PAIRS) simt_pairs_forget(c, l, words);
        l->settled &= (uint16_t)~words;
        for (uint32_t k = 0; k < STRIPS; k++) d->words[k] &= (uint16_t)~words;
        for (uint32_t k = 0; l->kind == LINE_CELLS && k < RECORDS * ((uint32_t)LINE >> t->log); k++)
            if (words >> (k << t->log) % LINE / 4 & 1)
                forget_cell(c, &t->writes[k], address + (k << t->log) % LINE, 1u << t->log);
    }
    unlock_line(c, l);
}

/* Calls forget for the lines of a block, and clears the bits of what was written. */
static bool make_new(struct simt_check *c, uint64_t heap, uint64_t address, uint64_t bytes)
{
    struct span s = {.start = heap};
    uint64_t end = address + (bytes + PIECE - 1) / PIECE * PIECE;
    if (!simt_written_anew(heap, &s.written)) return false;
    for (uint64_t at = address, next; at < end; at = next) {
        next = at / LINE * LINE + LINE;
        if (next > end) next = end;
        uint64_t first = (at - heap) % LINE, bits = UINT64_MAX >> (LINE - (next - at)) << first;
        struct line *l = line_at(&s, at);
        if (!l) return false;
        forget(c, l, at / LINE * LINE, ((1u << (next - at) / 4) - 1) << first / 4);
        atomic_fetch_and_explicit(&s.written[(at - heap) / LINE], ~bits, memory_order_relaxed);
    }
    return true;
}

void simt_check_gave(struct simt_observer *o, struct warp *w, uint32_t lane, uint64_t address, uint64_t bytes)
{
    struct simt_check *c = (struct simt_check *)o;
    struct simt_heap_block b;
    (void)lane;
    if (!simt_heap_look(address, &b)) return;
    if (!make_new(c, b.heap, address, bytes)) atomic_store(&c->no_memory, true);
    simt_heap_mark(address, mark_of(c, w->pc));
}

/* ---- free ---- */
/* Whose call of free the list has; 0: none. */
static record free_of(const struct simt_check *c, const struct history *h)
{
    for (uint32_t k = 0; h && k < h->count; k++) {
        record r = h->parties[k].who + ((record)__builtin_ctz(h->parties[k].lanes) << THREAD_AT);
        if (c->sites[record_site(r)].access == ACCESS_FREE) return r;
    }
    return 0;
}

/* The record of who freed the memory at the address, in this launch; 0: not known. */
static record freed_by(struct simt_check *c, uint64_t address)
{
    struct span s = {0};
    struct line *l = line_at(&s, address);
    record r = 0;
    if (!l) return 0;
    lock_line(c, l);
    if (l->launch == c->number && simt_shadow_line(c, l, 2)) {
        const struct cell_table *t = &strips_of(l)->cells;
        r = t->writes[address % LINE >> t->log];
        if (r == LISTED) r = free_of(c, simt_history_find(c, NULL, address >> t->log << t->log, 1u << t->log));
    }
    unlock_line(c, l);
    return r && c->sites[record_site(r)].access == ACCESS_FREE ? r : 0;
}

/* A race with the call of free where nothing orders them, as it is when free comes last. */
void simt_check_freed(const struct access *a, unsigned lane)
{
    struct simt_check *c = a->check;
    record by = freed_by(c, a->at[lane]);
    struct simt_report r = {.kind = CHECK_FREED,
                            .space = PTX_GLOBAL,
                            .address = a->at[lane],
                            .size = a->bytes,
                            .first = simt_party_of(c, a->block, a->me + ((record)lane << THREAD_AT))};
    if (by) {
        r.has_other = true;
        r.other = simt_party_of(c, a->block, by);
        if (!simt_check_ordered(a->block, by, (unsigned)a->warp->index, lane, 0)) r.kind = CHECK_RACE;
    }
    simt_check_name(c, &r);
    simt_check_report(c, &r);
}

static void report_wrong(const struct access *a, unsigned lane, uint64_t address, const struct simt_heap_block *b)
{
    struct simt_check *c = a->check;
    record by = b && b->kept ? freed_by(c, address) : 0;
    struct simt_report r = {.kind = CHECK_FREE,
                            .space = PTX_GLOBAL,
                            .address = address,
                            .has_other = by != 0,
                            .first = simt_party_of(c, a->block, a->me + ((record)lane << THREAD_AT))};
    if (by) r.other = simt_party_of(c, a->block, by);
    simt_check_name(c, &r);
    simt_check_report(c, &r);
}

/* Whole lines where there are some. */
static void write_block(struct access *a, unsigned lane, uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address, end = address + bytes; at < end; at += a->bytes) {
        a->bytes = at % LINE || end - at < LINE ? PIECE : LINE;
        a->at[lane] = at;
        simt_race_touch(a, 1u << lane, false);
    }
}

void simt_check_free_blocks(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t m)
{
    const struct call_site *site = &c->program->calls[i->extra];
    struct access a;
    simt_check_begin(&a, c, w, i, c->site_of[w->pc]);
    a.insn = &nothing;
    a.kind = ACCESS_WRITE;
    EACH_LANE(l, m)
    {
        uint64_t address = simt_call_argument(w, site, l, 0);
        struct simt_heap_block b;
        if (!address) continue;
        bool there = simt_heap_look(address, &b) && b.bytes, whole = there && b.address == address;
        if (whole && !b.kept) {
            write_block(&a, l, address, b.bytes);
            if (simt_heap_keep(address)) continue;
            b.kept = true; /* another thread was faster */
        }
        report_wrong(&a, l, address, there ? &b : NULL);
    }
}
