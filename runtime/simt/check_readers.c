/* Reads of global memory, where order may go by atomics. Of threads of a block that read a cell since all of them met,
 * two stand for the others, as long as nothing orders one of them before what others do: no fence, no barrier of some
 * of them. Most often none of that comes before all meet again. But if it does, all have to be known: so what they read
 * is noted until then, and the notes are gone through as if what they have came only now, and every reader is kept.
 * What textures and copies read can't be noted: of those every reader is kept at once. So it is of all reads where
 * the notes were gone through before all met last, as in a loop with a fence, but where all that orders some is within
 * warps: there it takes longer. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_lines.h"

#define FIRST_ROOM 4096
#define LAST_ROOM  (1u << 20) /* bytes of notes; then they are gone through */

struct note { /* behind it the addresses: of lanes 0 and 16 when lanes are `step` bytes apart, else of all */
    const struct insn *insn;
    record me;
    int64_t step;
    uint32_t mask, bytes, rows;
};

static size_t bytes_of(const struct note *n)
{
    return sizeof *n + (n->rows ? 2 : SIMT_WARP) * sizeof(uint64_t);
}

static bool make_room(struct block *b, size_t bytes)
{
    struct readers *r = &b->readers;
    if (r->room - r->used >= bytes) return true;
    size_t room = r->room ? 2 * r->room : FIRST_ROOM;
    char *more = room <= LAST_ROOM ? rt_realloc(r->notes, room) : NULL;
    if (!more) return false;
    r->notes = more;
    r->room = room;
    return true;
}

static void add(struct block *b, const struct note *n, const uint64_t *at)
{
    struct readers *r = &b->readers;
    size_t bytes = bytes_of(n);
    if (r->parting || r->at_once) return;
    if (!make_room(b, bytes)) simt_readers_part(b);
    if (!make_room(b, bytes)) {
        atomic_store(&b->check->no_memory, true);
        return;
    }
    memcpy(r->notes + r->used, n, sizeof *n);
    memcpy(r->notes + r->used + sizeof *n, at, bytes - sizeof *n);
    r->used += bytes;
}

void simt_readers_note_rows(struct block *b, const struct insn *i, record me, const uint64_t at[2], int64_t step,
                            uint32_t m)
{
    const struct note n = {i, me, step, m, (uint32_t)i->size * i->count, true};
    add(b, &n, at);
}

void simt_readers_note(const struct access *a, uint32_t m)
{
    const struct note n = {a->insn, a->me, 0, m, a->bytes, false};
    add(a->block, &n, a->at);
}

static void recall(struct block *b, const char *at)
{
    struct note n;
    uint64_t from[SIMT_WARP];
    memcpy(&n, at, sizeof n);
    memcpy(from, at + sizeof n, bytes_of(&n) - sizeof n);
    struct warp *w = &b->worker->warps[record_thread(n.me) / SIMT_WARP];
    struct access a = {.check = b->check,
                       .block = b,
                       .warp = w,
                       .insn = n.insn,
                       .regs = w->entry_frame->regs,
                       .site = &b->check->sites[record_site(n.me)],
                       .kind = ACCESS_READ,
                       .me = n.me,
                       .origin = -1,
                       .bytes = n.bytes};
    EACH_LANE(l, n.mask) a.at[l] = n.rows ? from[l / 16] + (uint64_t)n.step * (l % 16) : from[l];
    simt_race_touch(&a, n.mask, false);
}

void simt_readers_part(struct block *b)
{
    struct readers *r = &b->readers;
    size_t used = r->used;
    if (!b->check->exact || r->parting) return;
    r->parting = r->parted = true;
    r->used = 0;
    for (size_t at = 0; at < used;) {
        struct note n;
        memcpy(&n, r->notes + at, sizeof n);
        recall(b, r->notes + at);
        at += bytes_of(&n);
    }
    r->parting = false;
    r->since = b->now;
}

void simt_readers_meet(struct block *b)
{
    struct readers *r = &b->readers;
    r->at_once = r->parted && !b->check->by_warps;
    r->parted = false;
    r->used = 0;
    r->since = 0;
}

void simt_readers_free(struct block *b)
{
    free(b->readers.notes);
}
