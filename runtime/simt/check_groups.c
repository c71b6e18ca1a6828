/* Shared memory, as check_shared.c, behind a meeting of some of a block's threads: at a barrier by number, of lanes by
 * a mask. From then on, until all meet, an epoch of the tags is a time of the block, and who touches a word looks
 * whether the times of those that touched it before are ones that it has seen. Of several readers their warps are kept,
 * or, where they are of one warp, their lanes.
 *
 * All accesses are noted then, and what threads come to know is noted between them: when it comes to the cells, both
 * are gone through in their order, so that the cells see each access with what its thread knew. */
#include <string.h>
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_shared.h"

/* A note's `count`: what is known then, or that all lanes of a warp meet, each those that it has. */
enum { KNOWN_LANES, KNOWN_WARPS, KNOWN_CLOCK, KNOWN_AGAIN };

/* What a warp's lanes have seen of others, by thread, where that is the same for all of them. */
struct known {
    uint32_t version;                          /* of the block's tags when it was found */
    bool apart;                                /* it is not */
    uint32_t times[32 * SIMT_WARP], least[32]; /* least: by warp */
};

/* What a lane has seen of the others. */
struct seer {
    const struct block *b;
    unsigned warp, thread;
    const uint32_t (*lanes)[SIMT_WARP], *warps; /* of its warp, of others; NULL: nothing */
    const uint32_t *clock;                      /* by thread, likewise */
    const struct known *known;                  /* all that but for `lanes`; NULL: it is not found */
    uint32_t of, time; /* the last warps that were asked for, and when; are all of them seen? */
    const uint32_t *by;
    bool all;
};

uint64_t simt_groups_epoch(const struct block *b, uint32_t time)
{
    return b->tags.now + ((uint64_t)(time - b->met) << TAG_BITS);
}

static uint32_t time_of(const struct block *b, uint32_t tag)
{
    return b->met + ((tag - b->tags.now) >> TAG_BITS);
}

/* Is there room for so many notes of any kind? */
static bool has_room(struct block *b, unsigned notes)
{
    const struct tags *t = &b->tags;
    size_t least = notes * simt_shared_note_bytes(0);
    for (bool thin = t->parted;; thin = false) {
        size_t used = t->log ? (size_t)(b->worker->quiet.note - t->log) : 0;
        if (t->room - used >= least) return true;
        if ((!thin || !simt_groups_thin(b)) && !simt_shared_more(b)) return false;
    }
}

void simt_groups_part(struct block *b, unsigned notes)
{
    struct tags *t = &b->tags;
    if (t->slow || (b->steady && !b->check->launch->function->code->loose)) return;
    bool others = b->learned || b->acquires || b->copies || b->bulks || b->reach || b->worker->cluster->size > 1;
    others |= !t->words; /* there is no shared memory */
    bool begins = !t->parted && b->clocks, knows = begins && simt_clocks_known(b);
    others |= begins && !simt_phases_cover(b); /* the tags until now do not tell */
    if (others || b->now == LAST_TIME || !has_room(b, notes + (knows ? b->worker->warp_count * SIMT_WARP : 0)) ||
        !simt_check_want(b, &t->readers, t->words, sizeof *t->readers)) {
        simt_shared_flush(b);
        return;
    }
    if (t->parted) return;
    if (!t->warp_met) t->last = t->now;
    t->parted = b->flushed = true;
    t->since = (uint32_t)simt_groups_epoch(b, b->now);
    simt_shared_quiet(b);
    uint32_t all[32];
    memset(all, 0xff, sizeof all);
    if (knows) simt_groups_note_clocks(b, all);
}

/* ---- what is known ---- */
static struct shared_note *note_known(struct block *b, unsigned warp, uint32_t kind, uint32_t m)
{
    struct shared_note *n =
        simt_shared_log(b, &b->worker->warps[warp], NULL, 0, 0, m, kind == KNOWN_CLOCK ? ROW_UNIT : 0);
    n->count = kind;
    b->tags.version += kind == KNOWN_WARPS;
    if (kind == KNOWN_CLOCK && b->tags.known[warp]) b->tags.known[warp]->version = 0;
    return n;
}

void simt_groups_note_lanes(struct block *b, unsigned warp, uint32_t m, const uint32_t *known)
{
    if (b->tags.parted) memcpy(note_known(b, warp, KNOWN_LANES, m)->at, known, SIMT_WARP * sizeof *known);
}

void simt_groups_note_again(struct block *b, unsigned warp, const uint32_t *groups)
{
    if (b->tags.parted) memcpy(note_known(b, warp, KNOWN_AGAIN, FULL)->at, groups, SIMT_WARP * sizeof *groups);
}

void simt_groups_note_warps(struct block *b, uint32_t warps, const uint32_t *known)
{
    if (b->tags.parted) memcpy(note_known(b, 0, KNOWN_WARPS, warps)->at, known, 32 * sizeof *known);
}

void simt_groups_note_clocks(struct block *b, const uint32_t *lanes)
{
    for (uint32_t w = 0; b->tags.parted && w < b->worker->warp_count; w++)
        for (uint32_t left = lanes[w], same; left; left &= ~same) {
            unsigned one = (unsigned)__builtin_ctz(left);
            same = left & simt_clocks_alike(b, w, one);
            note_known(b, w, KNOWN_CLOCK, same)->at[0] = simt_clocks_keep(b, w * SIMT_WARP + one);
        }
}

void simt_groups_forget(struct block *b)
{
    if (b->warps) memset(b->warps, 0, 32 * sizeof *b->warps);
    for (int w = 0; w < 32; w++)
        if (b->lanes[w]) {
            memset(b->lanes[w], 0, LANE_ROWS * sizeof *b->lanes[w]);
            b->lanes_parted |= 1u << w;
        }
    if (b->clocks) simt_clocks_forget(b);
}

void simt_groups_replay(struct block *b, const struct shared_note *n)
{
    unsigned warp = (unsigned)n->warp->index;
    EACH_LANE(l, n->mask)
    switch (n->count) {
    case KNOWN_LANES: memcpy(b->lanes[warp][l], n->at, sizeof b->lanes[warp][l]); break;
    case KNOWN_WARPS: memcpy(b->warps[l], n->at, sizeof b->warps[l]); break;
    case KNOWN_AGAIN: EACH_LANE_OF(other, n->at[l]) b->lanes[warp][l][other] = n->time; break;
    default: simt_clocks_know(b, warp * SIMT_WARP + l, n->at[0]);
    }
}

/* ---- who was there ---- */
static void find_known(const struct block *b, unsigned warp, struct known *x)
{
    static const uint32_t none[SIMT_WARP];
    const uint32_t *clock = b->clocks ? simt_clocks_times(b, warp * SIMT_WARP) : NULL;
    x->version = b->tags.version;
    x->apart = b->clocks && simt_clocks_alike(b, warp, 0) != FULL;
    for (unsigned v = 0; v < b->worker->warp_count; v++) {
        uint32_t time = v == warp ? b->warp_met[warp] : b->warps ? b->warps[warp][v] : 0;
        x->least[v] = b->check->vectors->times(x->times + v * SIMT_WARP, clock ? clock + v * SIMT_WARP : none, time);
    }
}

/* NULL: its lanes differ, or there is no memory. */
static const struct known *known_of(struct block *b, unsigned warp)
{
    struct known **x = &b->tags.known[warp];
    if (!simt_check_want(b, x, 1, sizeof **x)) return NULL;
    if ((*x)->version != b->tags.version) find_known(b, warp, *x);
    return (*x)->apart ? NULL : *x;
}

/* All lanes at once, where that is simple. Those for which it was not. */
static uint32_t touch_at_once(const struct access *a, uint32_t m, uint32_t epoch, const struct known *known)
{
    static const uint32_t none[LANE_ROWS][SIMT_WARP];
    struct block *b = a->block;
    struct tags *t = &b->tags;
    unsigned warp = (unsigned)a->warp->index;
    if (!known || a->kind == ACCESS_ATOMIC || a->site->fails) return m;
    const struct group_rule g = {.base = t->base,
                                 .now = t->now,
                                 .met = b->met,
                                 .warp = warp,
                                 .me = epoch | warp * SIMT_WARP,
                                 .known = known->times,
                                 .lanes = b->lanes[warp] ? (const uint32_t(*)[SIMT_WARP])b->lanes[warp] : none};
    uint32_t at[SIMT_WARP], left = 0;
    for (int l = 0; l < SIMT_WARP; l++) at[l] = (uint32_t)a->at[l] / 4;
    for (uint32_t k = 0; k < a->bytes / 4; k++)
        left |= a->check->vectors->groups(t->written + k, t->read + k, at, m, &g, a->kind == ACCESS_WRITE);
    return left;
}

static void see_as(struct seer *x, unsigned lane)
{
    const struct block *b = x->b;
    x->thread = x->warp * SIMT_WARP + lane;
    x->lanes = (const uint32_t(*)[SIMT_WARP])b->lanes[x->warp];
    x->clock = b->clocks && !x->known ? simt_clocks_times(b, x->thread) : NULL;
}

/* Is what another thread did at the time ordered before what the lane does now? */
static inline bool has_seen(const struct seer *x, unsigned other, uint32_t time)
{
    if (x->known && time < x->known->times[other]) return true;
    if (other / SIMT_WARP == x->warp) {
        if (other == x->thread || time < x->b->warp_met[x->warp]) return true;
        if (x->lanes && time < simt_lane_seen(x->lanes, x->thread % SIMT_WARP, other % SIMT_WARP)) return true;
    } else if (x->warps && time < x->warps[other / SIMT_WARP]) {
        return true;
    }
    return x->clock && time < x->clock[other];
}

static bool has_seen_lanes(const struct seer *x, unsigned warp, uint32_t m, uint32_t time)
{
    if (x->known && time < x->known->least[warp]) return true;
    EACH_LANE(l, m & x->b->worker->warps[warp].threads)
    if (!has_seen(x, warp * SIMT_WARP + l, time)) return false;
    return true;
}

/* Likewise of all threads of other warps, by bits, and of the lane's own. */
static bool has_seen_warps(struct seer *x, uint32_t warps, uint32_t time)
{
    uint32_t others = warps & ~(1u << x->warp);
    if (warps >> x->warp & 1 && !has_seen_lanes(x, x->warp, FULL, time)) return false;
    if (x->of == others && x->time == time && x->by == x->clock) return x->all;
    x->of = others, x->time = time, x->by = x->clock;
    x->all = true;
    for (; x->all && others; others &= others - 1) {
        unsigned w = (unsigned)__builtin_ctz(others);
        x->all = w >= x->b->worker->warp_count || (x->warps && time < x->warps[w]) || has_seen_lanes(x, w, FULL, time);
    }
    return x->all;
}

static inline bool has_seen_writer(const struct seer *x, uint32_t tag)
{
    if (tag < x->b->tags.now) return true;
    return !(tag & TAG_MANY) && has_seen(x, tag % TAG_ATOMIC, time_of(x->b, tag));
}

/* Those that the tag of several readers means: of a warp its lanes, or warps. */
static uint32_t several(const struct tags *t, uint32_t word, uint32_t tag)
{
    return tag >= t->since ? t->readers[word] : FULL;
}

static bool has_seen_readers(struct seer *x, uint32_t word, uint32_t tag)
{
    const struct tags *t = &x->b->tags;
    if (tag < t->now) return true;
    if (tag & TAG_MANY) /* which, from before some met, may have read until then */
        return has_seen_warps(x, several(t, word, tag), time_of(x->b, tag < t->since ? t->since - EPOCH : tag));
    unsigned who = tag % TAG_ATOMIC;
    if (!(tag & TAG_WARP)) return has_seen(x, who, time_of(x->b, tag));
    return has_seen_lanes(x, who / SIMT_WARP, several(t, word, tag), time_of(x->b, tag));
}

/* One more reads what others do, too, that it has not seen all of. */
static uint32_t join_reader(const struct seer *x, uint32_t word, uint32_t tag, uint32_t me)
{
    struct tags *t = (struct tags *)&x->b->tags;
    unsigned who = tag % TAG_ATOMIC, warp = who / SIMT_WARP;
    uint32_t epoch = (tag > me ? tag : me) & ~(EPOCH - 1); /* of those, the last to have met */
    uint32_t many = tag & (TAG_MANY | TAG_WARP), was = many ? several(t, word, tag) : 0;
    if (!many && who == x->thread) return me;
    if (!(tag & TAG_MANY) && warp == x->warp) {
        t->readers[word] = (many ? was : 1u << who % SIMT_WARP) | 1u << x->thread % SIMT_WARP;
        return epoch | TAG_WARP | warp * SIMT_WARP;
    }
    t->readers[word] = (tag & TAG_MANY ? was : 1u << warp) | 1u << x->warp;
    return epoch | TAG_MANY;
}

/* One word; false: look closer. */
static bool touch_word(struct seer *x, enum simt_access kind, uint32_t word, uint32_t me)
{
    struct tags *t = (struct tags *)&x->b->tags;
    uint32_t *written = &t->written[word], *read = &t->read[word];
    if (kind != ACCESS_WRITE && *written < t->base) return false;
    if (kind == ACCESS_READ) {
        if (!has_seen_writer(x, *written)) return false;
        *read = has_seen_readers(x, word, *read) ? me : join_reader(x, word, *read, me);
        return true;
    }
    if (!has_seen_readers(x, word, *read)) return false;
    const uint32_t behind =
        *written & TAG_BEHIND; /* others, whose atomics may be beside, are to hear of a plain write */
    if (kind != ACCESS_WRITE && *written >= t->now && (!behind || behind == TAG_BEHIND)) return false;
    if (has_seen_writer(x, *written)) {
        *written = kind == ACCESS_WRITE ? me : me | TAG_ATOMIC;
        return true;
    }
    if (kind == ACCESS_WRITE) return false;
    *written = t->now | TAG_ATOMS;
    return true;
}

static bool touch_by_lanes(const struct access *a, uint32_t m, uint32_t epoch, const struct known *known)
{
    const struct block *b = a->block;
    unsigned warp = (unsigned)a->warp->index;
    struct seer x = {.b = b, .warp = warp, .warps = b->warps ? b->warps[warp] : NULL, .known = known, .all = true};
    EACH_LANE(l, m)
    {
        see_as(&x, l);
        for (uint32_t k = 0; k < a->bytes / 4; k++)
            if (!touch_word(&x, a->site->access, (uint32_t)a->at[l] / 4 + k, epoch | x.thread)) return false;
    }
    return true;
}

bool simt_groups_touch(const struct access *a, uint32_t m)
{
    struct block *b = a->block;
    uint32_t seen = b->warp_seen[a->warp->index]; /* the time of all that the warp does until it meets others again */
    uint64_t epoch = simt_groups_epoch(b, seen > b->met ? seen : b->met);
    if (epoch < b->tags.since) epoch = b->tags.since;
    if (a->bytes < 4 || simt_unit_of(b, a->origin)->log < 2) return false;
    if ((a->site->strong && a->kind != ACCESS_ATOMIC) || a->site->copies || a->site->bulk) return false;
    if (b->copies || b->bulks || b->learned || epoch >= LAST_EPOCH || !has_room(b, 1)) return false;
    if (b->tags.last < epoch) b->tags.last = (uint32_t)epoch;
    bool joins = simt_shared_joins(a, m);
    const struct known *known = joins ? NULL : known_of(b, (unsigned)a->warp->index);
    uint32_t left = joins ? 0 : touch_at_once(a, m, (uint32_t)epoch, known);
    if (left && !touch_by_lanes(a, left, (uint32_t)epoch, known)) return false;
    const uint32_t rows = joins ? SHARED_ROWS_UNIFORM : 0;
    struct shared_note *n = simt_shared_log(b, a->warp, a->insn, record_site(a->me), a->bytes, m, rows);
    if (joins)
        n->at[0] = n->at[1] = (uint32_t)a->at[__builtin_ctz(m)];
    else
        for (int l = 0; l < SIMT_WARP; l++) n->at[l] = (uint32_t)a->at[l];
    return true;
}
