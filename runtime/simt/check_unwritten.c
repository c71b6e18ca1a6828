/* Shared memory that nobody has written: by the tags of its words, which say when each was written last, and where a
 * word is so in part alone, by the shadow of its bytes. */
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/check_shared.h"

static bool was_written(const struct block *b, uint64_t at, uint32_t bytes)
{
    const struct unit *u = simt_parts_unit(b, at);
    for (uint32_t word = (uint32_t)at >> u->log; word <= (at + bytes - 1) >> u->log; word++) {
        if (u->written[word] < b->tags.base) return false;
        if (u->written[word] != TAG_MIXED || simt_bulk_covers(b, at, bytes)) continue;
        if (!simt_shadow_written(b, at, bytes)) return false;
    }
    return true;
}

bool simt_words_written(const struct block *b, struct window w, const uint32_t *words, uint32_t m, uint32_t bytes)
{
    const uint32_t *written = b->tags.written + w.low / 4;
    uint32_t least = UINT32_MAX, most = 0;
    EACH_LANE(l, m)
    for (uint32_t k = 0; k < (bytes + 3) / 4; k++) {
        uint32_t tag = written[words[l] + k];
        if (tag < least) least = tag;
        if (tag > most) most = tag;
    }
    return w.low % 4 == 0 && least >= b->tags.base && most != TAG_MIXED;
}

bool simt_shared_whole(const struct block *b, const struct shared_variable *v)
{
    for (uint32_t at = v->offset, end = at + v->bytes, next; at < end; at = next) {
        next = at / 4 * 4 + 4 < end ? at / 4 * 4 + 4 : end;
        if (!was_written(b, at, next - at)) return false;
    }
    return true;
}

/* That is all the tags are to say then: by whom is in the cells. */
static void set_written(struct block *b, uint64_t at, uint32_t bytes)
{
    const struct tags *t = &b->tags;
    const struct unit *u = simt_parts_unit(b, at);
    for (uint32_t word = (uint32_t)at >> u->log; word <= (at + bytes - 1) >> u->log; word++) {
        uint32_t *tag = &u->written[word];
        bool whole = bytes >= 1u << u->log || (*tag >= t->base && *tag != TAG_MIXED);
        *tag = whole ? t->now | TAG_MANY : TAG_MIXED;
    }
}

static bool is_lacking(const struct access *a, uint64_t at)
{
    uint32_t written = 0;
    if (was_written(a->block, at, a->bytes)) return false;
    for (uint32_t k = 0; k < a->bytes; k++) written |= (uint32_t)was_written(a->block, at + k, 1) << k;
    return simt_is_lacking(a, written);
}

static void report_unwritten(const struct access *a, unsigned lane)
{
    if (simt_looks_ahead(a)) return;
    struct simt_report r = {.kind = CHECK_UNWRITTEN,
                            .space = PTX_SHARED,
                            .address = a->at[lane],
                            .size = a->bytes,
                            .first = simt_party_of(a->check, a->block, a->me + ((record)lane << THREAD_AT))};
    simt_check_name(a->check, &r);
    if (!r.symbol && r.address < RESERVED_SHARED) return; /* cooperative groups' own, which begins as zeros */
    simt_check_report(a->check, &r);
}

/* Those that stand for others that read the same place, and these. */
static void report_lanes(const struct access *a, uint32_t m, uint32_t lacking)
{
    EACH_LANE(l, m)
    {
        bool same = lacking >> l & 1;
        EACH_LANE_OF(k, a->kind == ACCESS_READ ? lacking : 0) same |= a->at[k] == a->at[l];
        if (same) report_unwritten(a, l);
    }
}

void simt_unwritten_read(const struct access *a, uint32_t m)
{
    uint32_t reading = a->kind == ACCESS_READ ? simt_race_distinct(a, m) : a->kind == ACCESS_ATOMIC ? m : 0;
    uint32_t lacking = 0;
    EACH_LANE(l, reading)
    {
        bool unwritten = is_lacking(a, a->at[l]) && !a->check->untracked && !simt_overwrites(a->insn);
        if (unwritten && !simt_reach_written(a->block, a->at[l], a->bytes)) lacking |= 1u << l;
        if (a->kind == ACCESS_ATOMIC) set_written(a->block, a->at[l], a->bytes);
    }
    if (lacking) report_lanes(a, m, lacking);
}

void simt_unwritten_write(const struct access *a, uint32_t m)
{
    EACH_LANE(l, m) set_written(a->block, a->at[l], a->bytes);
}
