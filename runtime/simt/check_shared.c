/* Shared memory: what surely concerns no other thread is found out by tags, and only the rest by the cells of
 * check_race.c.
 *
 * Between two barriers of the whole block, an epoch, a word is nobody's business but one thread's, or only read. Two
 * tags of a word say when it was written and read last, and by whom or that it was several: enough to see that an
 * access is fine, not enough to say what is wrong with it. So accesses are noted in a log, and when one does not look
 * fine the log goes to the cells, and with it all that comes until the threads meet. Then log and cells are of no
 * interest any more, and a new epoch begins.
 *
 * Where all lanes of a warp meet (__syncwarp) an epoch of this warp begins: what its lanes did before is ordered before
 * what they do next, but not what other warps did. A tag of the same warp from before is as one of the past.
 *
 * The log leaves out what changes no tag: a third thread that reads, or the same one again. Not so where some threads
 * may come behind one of them and not behind another, or behind the first time and not the second; but in a long epoch,
 * as of a loop over a table, that is noted of its first part alone. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/check_shared.h"

#define FIRST_ROOM 8192
#define LAST_ROOM  (1u << 20) /* bytes of a log; an epoch with more goes to the cells */
#define ALL_ROOM   (1u << 16) /* bytes of it up to which all accesses are noted, where that is wanted */

_Static_assert(SHARED_ROWS_UNIT == (ROW_UNIT | ROW_UNIT << ROW_BITS) &&
                   SHARED_ROWS_UNIFORM == (ROW_UNIFORM | ROW_UNIFORM << ROW_BITS),
               "generated code notes rows");

/* ---- the log ---- */
bool simt_shared_more(struct block *b)
{
    struct tags *t = &b->tags;
    struct worker *k = b->worker;
    size_t used = t->log ? (size_t)(k->quiet.note - t->log) : 0;
    size_t room = t->room ? 2 * t->room : FIRST_ROOM;
    char *more = room <= LAST_ROOM ? rt_realloc(t->log, room) : NULL;
    if (!more) return false;
    t->log = more;
    t->room = room;
    k->quiet.note = more + used;
    simt_shared_quiet(b);
    return true;
}

bool simt_shared_room(struct block *b)
{
    struct tags *t = &b->tags;
    size_t used = t->log ? (size_t)(b->worker->quiet.note - t->log) : 0;
    if (t->all && used + simt_shared_note_bytes(0) > ALL_ROOM) {
        t->all = false;
        simt_shared_quiet(b);
    }
    return t->room - used >= simt_shared_note_bytes(0) || simt_shared_more(b);
}

struct shared_note *simt_shared_log(struct block *b, struct warp *w, const struct insn *i, unsigned site,
                                    uint32_t bytes, uint32_t m, uint32_t rows)
{
    struct worker *k = b->worker;
    struct shared_note *n = (struct shared_note *)(void *)k->quiet.note;
    k->quiet.note += simt_shared_note_bytes(rows);
    *n = (struct shared_note){.warp = w,
                              .insn = i,
                              .time = b->now,
                              .site = (uint16_t)site,
                              .rows = (uint8_t)rows,
                              .bytes = (uint8_t)bytes,
                              .mask = m,
                              .count = 1,
                              .met = b->warp_met[w->index]};
    return n;
}

/* NULL: there is no room. */
static struct shared_note *note(const struct access *a, uint32_t m, uint32_t rows)
{
    if (!simt_shared_room(a->block)) return NULL;
    return simt_shared_log(a->block, a->warp, a->insn, record_site(a->me), a->bytes, m, rows);
}

static void replay(struct block *b, const struct shared_note *n)
{
    if (!n->insn) {
        simt_groups_replay(b, n);
        return;
    }
    unsigned site = n->site ? n->site : b->check->site_of[n->insn - n->warp->code];
    struct access a;
    a.check = b->check;
    a.block = b;
    a.warp = n->warp;
    a.insn = n->insn;
    a.alike = 0;
    a.texture = NULL;
    a.regs = n->warp->entry_frame->regs;
    a.site = &b->check->sites[site];
    a.kind = access_of(a.site);
    a.me = b->id | (record)n->time << TIME_AT | (record)n->warp->index * SIMT_WARP << THREAD_AT | site;
    a.bytes = n->bytes;
    for (unsigned l = 0; l < SIMT_WARP; l++) {
        unsigned as = n->rows & ROW_FLIP ? l ^ (unsigned)n->step : l;
        unsigned row = (unsigned)n->rows >> (as / 16 * ROW_BITS) & ROW_MASK;
        int32_t step = row == ROW_UNIT ? (int32_t)a.bytes : row == ROW_STEPS ? n->step : 0;
        a.at[l] = !n->rows ? n->at[l] : n->at[as / 16] + (uint64_t)(step * (int32_t)(as % 16));
    }
    b->warp_met[n->warp->index] = n->site ? n->met : 0; /* no lanes of a warp met before the notes without */
    for (uint32_t k = 0; k < n->count; k++) {
        simt_race_touch(&a, n->mask, true);
        for (unsigned l = 0; l < SIMT_WARP && n->count > 1; l++) a.at[l] += (uint64_t)(int64_t)n->stride;
    }
}

void simt_shared_flush(struct block *b)
{
    struct tags *t = &b->tags;
    struct worker *k = b->worker;
    uint32_t met[32];
    memcpy(met, b->warp_met, sizeof met);
    if (t->parted)
        simt_groups_forget(b);
    else
        simt_clocks_aside(b, true);
    for (const char *at = t->log; at < k->quiet.note;) {
        const struct shared_note *n = (const struct shared_note *)(const void *)at;
        replay(b, n);
        at += simt_shared_note_bytes(n->rows);
    }
    memcpy(b->warp_met, met, sizeof met);
    simt_clocks_aside(b, false);
    k->quiet.note = t->log;
    t->slow = b->flushed = true;
    t->parted = false;
    simt_shared_quiet(b);
}

/* ---- epochs ---- */
void simt_shared_quiet(struct block *b)
{
    const struct tags *t = &b->tags;
    struct worker *k = b->worker;
    bool looks = t->slow || t->warp_met || t->parted;
    k->quiet.now = looks || t->all ? UINT32_MAX : t->now | TAG_MANY;
    k->quiet.many = t->now | TAG_MANY;
    k->quiet.first = t->now;
    k->quiet.base = t->base;
    size_t room = t->all && t->room > ALL_ROOM ? ALL_ROOM : t->room;
    k->quiet.end = looks || !t->log ? NULL : t->log + room;
}

bool simt_shared_new(struct block *b)
{
    struct tags *t = &b->tags;
    const struct function *f = b->check->launch->function->code;
    const bool wanted[] = {f->byte_units != 0, f->half_units != 0, true};
    for (uint32_t log = 0; log < 3; log++) {
        uint32_t count = (b->worker->shared_bytes + LINE - 1) / LINE * (LINE >> log);
        if (!wanted[log]) continue;
        void *p = rt_calloc(2 * (size_t)count + 2 * LINE / 4, sizeof *t->written); /* vectors reach past the end */
        uint32_t *first = (uint32_t *)(((uintptr_t)p + LINE - 1) / LINE * LINE);
        if (!p) return false;
        t->memory[log] = p;
        t->units[log] = (struct unit){first, first + count, count, log};
    }
    t->written = t->units[2].written;
    t->read = t->units[2].read;
    t->words = t->units[2].count;
    return true;
}

void simt_shared_free(struct block *b)
{
    for (int log = 0; log < 3; log++) free(b->tags.memory[log]);
    free(b->tags.readers);
    for (int w = 0; w < 32; w++) free(b->tags.known[w]);
    free(b->tags.log);
}

/* Epochs are counted from the beginning again; what was written in this block remains so. */
static void count_again(struct tags *t)
{
    for (const struct unit *u = t->units; u < t->units + 3; u++)
        for (uint32_t k = 0; k < u->count; k++) {
            if (u->written[k] != TAG_MIXED) u->written[k] = u->written[k] >= t->base ? EPOCH : 0;
            u->read[k] = 0;
        }
    t->base = EPOCH;
    t->now = 2 * EPOCH;
}

void simt_shared_meet(struct block *b)
{
    struct tags *t = &b->tags;
    t->version++;
    t->now = t->warp_met || t->parted ? t->last + EPOCH : t->now + EPOCH;
    b->worker->quiet.note = t->log;
    t->slow = t->warp_met = t->parted = false;
    t->all = orders_some(b->check);
    if (t->now >= LAST_EPOCH) count_again(t);
    simt_shared_quiet(b);
}

void simt_shared_warp_met(struct block *b, const struct warp *w)
{
    struct tags *t = &b->tags;
    if (t->slow || (b->steady && !b->check->launch->function->code->loose)) return;
    if (!t->warp_met) {
        for (unsigned k = 0; k < 32; k++) t->warp[k] = t->now;
        if (!t->parted) t->last = t->now;
        t->warp_met = true;
        simt_shared_quiet(b);
    }
    uint64_t next = simt_groups_epoch(b, b->now);
    t->version++;
    if (next >= LAST_EPOCH || b->now == LAST_TIME)
        simt_shared_flush(b);
    else if ((t->warp[w->index] = (uint32_t)next) > t->last)
        t->last = (uint32_t)next;
}

void simt_shared_start(struct block *b)
{
    simt_shared_meet(b);
    b->tags.base = b->worker->quiet.base = b->tags.now;
}

/* ---- accesses ---- */
static const struct unit *unit_of(const struct access *a)
{
    return simt_unit_of(a->block, a->origin);
}

static struct tag_rule rule_of(const struct access *a)
{
    const struct tags *t = &a->block->tags;
    return (struct tag_rule){t->base, t->now, t->warp_met ? t->warp[a->warp->index] : t->now};
}

static uint32_t tag_of(const struct access *a, unsigned lane)
{
    return rule_of(a).warp | ((uint32_t)a->warp->index * SIMT_WARP + lane);
}

/* What an atomic makes of a word's tag; 0 when one must look closer. */
static uint32_t tag_atomic(uint32_t written, uint32_t read, uint32_t me, const struct tag_rule *t)
{
    bool met = t->warp != t->now;
    if (read >= t->now && read != me && !tag_before(read, me, t, met)) return 0;
    if (written < t->base || written == TAG_MIXED) return 0;
    if (written < t->now || written == (me | TAG_ATOMIC)) return me | TAG_ATOMIC;
    const uint32_t kind = written & TAG_BEHIND, behind = (me & ~(uint32_t)(SIMT_WARP - 1)) | TAG_BEHIND;
    if (tag_before(written, me, t, met)) return kind == TAG_ATOMIC ? me | TAG_ATOMIC : behind;
    if (kind == TAG_BEHIND) return written == behind ? behind : 0;
    return kind ? t->now | TAG_ATOMS : 0;
}

/* One word; false: look closer. */
static bool touch_word(const struct unit *u, enum simt_access kind, const struct tag_rule *rule, uint32_t word,
                       uint32_t me, bool *changed)
{
    uint32_t *written = &u->written[word], *read = &u->read[word], tag;
    bool met = rule->warp != rule->now;
    switch (kind) {
    case ACCESS_READ:
        tag = tag_reader(*read, me, rule, met);
        *changed |= tag != *read;
        *read = tag;
        return !tag_read_bad(*written, me, rule, met);
    case ACCESS_WRITE:
        if (tag_write_bad(*written, *read, me, rule, met)) return false;
        *written = me;
        return *changed = true;
    default:
        tag = tag_atomic(*written, *read, me, rule);
        if (!tag) return false;
        *changed |= tag != *written;
        *written = tag;
        return true;
    }
}

static bool is_simple(const struct access *a)
{
    return !a->block->tags.slow && !a->block->tags.parted && a->bytes >= 1u << unit_of(a)->log &&
           (!a->site->strong || a->kind == ACCESS_ATOMIC);
}

/* Lanes m touch one place. */
static bool note_place(const struct access *a, uint32_t m)
{
    struct shared_note *n = note(a, m, SHARED_ROWS_UNIFORM);
    if (n) n->at[0] = n->at[1] = (uint32_t)a->at[__builtin_ctz(m)];
    return n;
}

/* The log leaves readers out, of which one may be no atomic: a compare-and-swap that fails is as one that does not. */
static bool touch_lanes(const struct access *a, uint32_t m)
{
    const struct tags *t = &a->block->tags;
    const struct unit *u = unit_of(a);
    struct tag_rule rule = rule_of(a);
    bool changed = notes_all(t);
    if (!is_simple(a)) return false;
    if (!t->warp_met && simt_shared_joins(a, m)) return !changed || note_place(a, m);
    EACH_LANE(l, m)
    {
        uint32_t word = (uint32_t)a->at[l] >> u->log, me = tag_of(a, l);
        for (uint32_t k = 0; k < a->bytes >> u->log; k++)
            if (!touch_word(u, a->site->access, &rule, word + k, me, &changed)) return false;
    }
    struct shared_note *n = changed ? note(a, m, 0) : NULL;
    for (int l = 0; n && l < SIMT_WARP; l++) n->at[l] = (uint32_t)a->at[l];
    return n || !changed;
}

/* One access of both halves; what several lanes read, and halves that are neighbours, are looked at together. */
static unsigned touch_row(const struct access *a, unsigned rows, uint32_t low, uint32_t high,
                          const struct tag_rule *rule)
{
    const struct check_vectors *v = a->check->vectors;
    const struct unit *u = unit_of(a);
    uint32_t *written = u->written, *read = u->read, words[2] = {low >> u->log, high >> u->log};
    unsigned shift = (unsigned)__builtin_ctz(a->bytes) - u->log, n = 16u << shift, flags = 0;
    bool write = a->kind == ACCESS_WRITE, unit = rows == (ROW_UNIT | ROW_UNIT << ROW_BITS);
    if (unit && high - low == n << u->log)
        return v->tags(written + words[0], read + words[0], 2 * n, shift, rule, tag_of(a, 0), write);
    if (unit && high == low && !write) return v->spots(written + words[0], read + words[0], n, rule, tag_of(a, 0));
    for (unsigned h = 0; h < 2; h++)
        flags |= (rows >> h * ROW_BITS & ROW_MASK) == ROW_UNIT
                     ? v->tags(written + words[h], read + words[h], n, shift, rule, tag_of(a, h * 16), write)
                     : v->spots(written + words[h], read + words[h], 1u << shift, rule, tag_of(a, 0));
    return flags;
}

/* Accesses that follow each other, of words side by side which several lanes read. */
static unsigned touch_stretch(const struct access *a, const uint64_t at[2], uint32_t bytes, const struct tag_rule *rule)
{
    const struct check_vectors *v = a->check->vectors;
    const struct unit *u = unit_of(a);
    uint32_t *written = u->written + (at[0] >> u->log), *read = u->read + (at[0] >> u->log), n = bytes >> u->log;
    unsigned flags = v->spots(written, read, n, rule, tag_of(a, 0));
    int64_t on = ((int64_t)at[1] - (int64_t)at[0]) / (1 << u->log);
    return on ? flags | v->spots(written + on, read + on, n, rule, tag_of(a, 0)) : flags;
}

/* Both halves touch rows, `count` times. False: look closer, at all of them. */
static bool touch_rows(const struct access *a, unsigned rows, const uint64_t at[2], uint32_t count, int32_t stride)
{
    const struct tags *t = &a->block->tags;
    struct tag_rule rule = rule_of(a);
    unsigned flags = notes_all(t) ? CELLS_CHANGED : 0;
    uint32_t one = rows & ROW_UNIT ? 16 * a->bytes : a->bytes;
    bool many = rows == (ROW_UNIFORM | ROW_UNIFORM << ROW_BITS) || at[0] == at[1];
    if (a->kind == ACCESS_READ && many && stride == (int32_t)one)
        flags |= touch_stretch(a, at, one * count, &rule);
    else
        for (uint32_t k = 0; k < count; k++) {
            uint32_t on = k * (uint32_t)stride;
            flags |= touch_row(a, rows, (uint32_t)at[0] + on, (uint32_t)at[1] + on, &rule);
        }
    struct shared_note *n = !(flags & CELLS_BAD) && flags & CELLS_CHANGED ? note(a, FULL, rows) : NULL;
    if (n) n->at[0] = (uint32_t)at[0], n->at[1] = (uint32_t)at[1], n->count = count, n->stride = stride;
    if (n || !flags) return true;
    simt_shared_flush(a->block);
    return false;
}

/* Does no lane of one half touch what one of the other does? */
static bool halves_differ(int32_t step, const uint64_t at[2])
{
    int64_t apart = (int64_t)(at[1] - at[0]);
    return apart % step || apart / step >= 16 || apart / step <= -16;
}

/* Loads that leave nothing out between a lane and the next are judged as one of more bytes. */
static unsigned judge_packed(const struct access *a, int32_t step, const uint64_t at[2], const struct tag_rule *rule)
{
    const struct unit *u = unit_of(a);
    unsigned shift = (unsigned)__builtin_ctz((unsigned)step) - u->log, n = 16u << shift, flags = 0;
    for (unsigned h = 0; h < 2; h++)
        flags |= a->check->vectors->tags(u->written + (at[h] >> u->log), u->read + (at[h] >> u->log), n, shift, rule,
                                         tag_of(a, h * 16), false);
    return flags;
}

static unsigned judge_steps(const struct access *a, int32_t step, const uint64_t at[2], const struct tag_rule *rule)
{
    const struct unit *u = unit_of(a);
    unsigned flags = 0;
    for (uint32_t k = 0; k < a->bytes >> u->log; k++) {
        const uint32_t words[2] = {((uint32_t)at[0] >> u->log) + k, ((uint32_t)at[1] >> u->log) + k};
        flags |= a->check->vectors->words(u->written, u->read, words, (uint32_t)(step / (1 << u->log)), rule,
                                          tag_of(a, 0), a->kind == ACCESS_WRITE);
    }
    return flags;
}

/* Lanes by equal steps, `count` times. False: look closer. */
static bool touch_steps(const struct access *a, int32_t step, const uint64_t at[2], uint32_t count, int32_t stride)
{
    const struct tag_rule rule = rule_of(a);
    uint32_t all = count * a->bytes;
    bool packed = a->kind == ACCESS_READ && count > 1 && stride == (int32_t)a->bytes && step == (int32_t)all &&
                  (all & (all - 1)) == 0;
    if (!halves_differ(step, at)) return false;
    unsigned flags = notes_all(&a->block->tags) ? CELLS_CHANGED : 0;
    if (packed) flags |= judge_packed(a, step, at, &rule);
    for (uint32_t k = 0; k < count && !packed; k++) {
        const uint64_t from[2] = {at[0] + k * (uint64_t)(int64_t)stride, at[1] + k * (uint64_t)(int64_t)stride};
        flags |= judge_steps(a, step, from, &rule);
    }
    struct shared_note *n =
        !(flags & CELLS_BAD) && flags & CELLS_CHANGED ? note(a, FULL, ROW_STEPS | ROW_STEPS << ROW_BITS) : NULL;
    if (n) n->at[0] = (uint32_t)at[0], n->at[1] = (uint32_t)at[1], n->step = step, n->count = count, n->stride = stride;
    if (n || !flags) return true;
    simt_shared_flush(a->block);
    return false;
}

bool simt_shared_rows(const struct access *a, const uint32_t *from)
{
    const struct check_vectors *v = a->check->vectors;
    if (!is_simple(a) || a->kind == ACCESS_ATOMIC) return false;
    struct window window = simt_check_window(a);
    unsigned rows = v->rows32(from, a->bytes);
    uint64_t at[2];
    for (int h = 0; h < 2; h++) {
        unsigned row = rows >> h * ROW_BITS & ROW_MASK;
        at[h] = simt_window_address(from[16 * h], a->insn->imm);
        uint32_t bytes = row == ROW_UNIT ? 16 * a->bytes : a->bytes;
        if (!row || (row == ROW_UNIFORM && a->kind == ACCESS_WRITE)) return false;
        if (at[h] & (a->bytes - 1) || at[h] < window.low || at[h] > window.high) return false;
        if (window.high - at[h] < bytes) return false;
    }
    return touch_rows(a, rows, at, 1, 0);
}

static inline void note_words(uint32_t *restrict to, const uint32_t *restrict words, uint32_t log, uint32_t low)
{
    for (int l = 0; l < SIMT_WARP; l++) to[l] = (words[l] << log) + low;
}

bool simt_shared_lanes(const struct access *a, const uint32_t *from, uint32_t m)
{
    const struct check_vectors *v = a->check->vectors;
    struct tags *t = &a->block->tags;
    struct window window = simt_check_window(a);
    const struct unit *u = unit_of(a);
    uint32_t at[SIMT_WARP], low = window.low >> u->log, bytes = window.high - window.low, first;
    int32_t step = 0;
    if (!is_simple(a) || a->kind == ACCESS_ATOMIC || window.low % a->bytes || bytes < a->bytes) return false;
    if (!v->find(at, from, m, (uint32_t)a->insn->imm - window.low, bytes - a->bytes, a->bytes - 1, u->log))
        return false;
    struct tag_rule rule = rule_of(a);
    unsigned flags = notes_all(t) ? CELLS_CHANGED : 0;
    bool write = a->kind == ACCESS_WRITE, apart = v->rising(from);
    if (!apart && v->steps(from, m, a->bytes, &first, &step))
        apart = step >= (int32_t)a->bytes || step <= -(int32_t)a->bytes;
    for (uint32_t k = 0; k < a->bytes >> u->log; k++) {
        uint32_t *written = u->written + low + k, *read = u->read + low + k;
        flags |= (apart ? v->apart : v->lanes)(written, read, at, m, &rule, tag_of(a, 0), write);
    }
    struct shared_note *n = !(flags & CELLS_BAD) && flags & CELLS_CHANGED ? note(a, m, 0) : NULL;
    if (n) note_words(n->at, at, u->log, window.low);
    if (n || !flags) return true;
    simt_shared_flush(a->block);
    return false;
}

bool simt_shared_again(const struct warp *w, const struct insn *i, const uint32_t *from)
{
    const struct tags *t;
    struct access a;
    a.block = w->worker->observed;
    a.origin = w->worker->program->places[w->pc].origin;
    t = &a.block->tags;
    struct window window = simt_check_window(&a);
    if (t->slow || t->warp_met || t->parted || window.low % 4 || window.high - window.low < 4) return false;
    uint32_t first = window.low / 4;
    return a.block->check->vectors->atoms(t->written + first, t->read + first, from, i->imm - (int64_t)window.low,
                                          window.high - window.low - 4, t->now | TAG_ATOMS, t->now - 1);
}

void simt_shared_series(struct access *a, int64_t step, const uint64_t at[2], uint32_t count, int32_t stride)
{
    unsigned row = !step ? ROW_UNIFORM : step == a->bytes ? ROW_UNIT : 0;
    if (row && is_simple(a) && touch_rows(a, row | row << ROW_BITS, at, count, stride)) return;
    if (!row && is_simple(a) && touch_steps(a, (int32_t)step, at, count, stride)) return;
    for (unsigned l = 0; l < SIMT_WARP; l++) a->at[l] = at[l / 16] + (uint64_t)step * (l % 16);
    for (uint32_t k = 0; k < count; k++) {
        simt_shared_touch(a, FULL);
        for (unsigned l = 0; l < SIMT_WARP; l++) a->at[l] += (uint64_t)(int64_t)stride;
    }
}

bool simt_shared_apart(const struct block *b, const struct shared_variable *v)
{
    const struct unit *u = simt_parts_unit(b, v->offset);
    uint32_t end = v->bytes ? v->offset + v->bytes : b->worker->shared_bytes, several = 0;
    for (uint32_t word = v->offset >> u->log; word << u->log < end; word++)
        several |= -(uint32_t)(u->read[word] >= b->tags.now) & u->read[word];
    return !(several & (TAG_MANY | TAG_WARP));
}

void simt_shared_touch(const struct access *a, uint32_t m)
{
    const struct tags *t = &a->block->tags;
    bool whole = a->bytes >= 1u << unit_of(a)->log;
    if (!t->slow && simt_parts_meet(a, m)) simt_shared_flush(a->block);
    if (t->parted && simt_groups_touch(a, m)) return;
    if (!t->slow && (whole ? touch_lanes(a, m) : simt_parts_read(a, m))) return;
    if (!t->slow) simt_shared_flush(a->block);
    m &= ~simt_copies_meet(a, m);
    m &= ~simt_bulk_meet(a, m, true);
    if (!m) return;
    simt_unwritten_read(a, m);
    simt_race_touch(a, m, true);
    if (a->kind == ACCESS_WRITE) simt_unwritten_write(a, m);
}
