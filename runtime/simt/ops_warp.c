/* Ops that look across the lanes of a warp: shuffles, votes, matches, reductions, and the waiting of lanes for each
 * other that all of them begin with. */
#include <string.h>
#include "runtime/simt/exec.h"

/* Lanes of m whose whole group, as their masks name it, is here. Groups are of lanes with threads; those that repeat
 * them go with them. */
static uint32_t complete_groups(const struct warp *w, const uint32_t *masks, uint32_t m)
{
    uint32_t absent = w->alive & w->threads & ~m, ready = m & w->threads;
    EACH_LANE(l, absent ? ready : 0)
    if (masks[l] & absent) ready &= ~(1u << l);
    return m & simt_with_repeats(w, ready);
}

/* Have all of a warp's threads come, and name each other? Not of a warp some of whose lanes have no thread to repeat.
 */
static bool are_all_here(const struct warp *w, const uint32_t *masks, uint32_t m)
{
    uint32_t named = FULL;
    if (m != FULL) return false;
    for (uint32_t l = 0; l < SIMT_WARP; l++) named &= masks[l];
    return !(w->threads & ~named);
}

static void tell_observer(struct warp *w, const uint32_t *masks, uint32_t m, bool orders)
{
    struct simt_observer *o = w->worker->observer;
    if (o && o->warp_sync && m & w->threads) o->warp_sync(o, w, masks, m & w->threads, orders);
}

static enum event sync_lanes(struct warp *w, const uint32_t *masks, uint32_t m, bool orders, uint32_t *ready)
{
    struct split *s = &w->splits[w->current];
    bool all = m == FULL && simt_names_all(masks), here = all || are_all_here(w, masks, m);
    *ready = 0;
    uint32_t lacking = here ? 0 : m & w->threads & simt_unnamed(masks);
    if (lacking) {
        unsigned l = (unsigned)__builtin_ctz(lacking);
        return simt_fault_set(w, (int)l, SIMT_FAULT_BARRIER, "lane %u executes %s with the mask 0x%08x, which lacks it",
                              l, w->worker->program->places[w->pc].opcode, masks[l]);
    }
    *ready = here ? m : complete_groups(w, masks, m);
    if (w->worker->observer) tell_observer(w, all ? NULL : masks, *ready, orders);
    uint32_t wait = m & ~*ready;
    if (!wait) return EV_NEXT;
    if (wait == s->mask) {
        s->pc = w->pc;
        s->state = SPLIT_SYNC;
        return EV_SCHEDULE;
    }
    simt_fork(w, s->mask & ~wait, w->pc, SPLIT_SYNC);
    s->pc = w->pc + 1;
    return EV_SCHEDULE;
}

enum event simt_sync(struct warp *w, const uint32_t *masks, uint32_t m, uint32_t *ready)
{
    return sync_lanes(w, masks, m, false, ready);
}

static enum event op_warp_sync(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    uint32_t ready;
    return sync_lanes(w, u32_at(R, i->a), m, true, &ready);
}

void simt_whole_sync(struct warp *w)
{
    tell_observer(w, NULL, FULL, true);
}

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

/* Of all lanes: which one each reads, itself where that is out of range. Gives those where it is not. */
#define SOURCES(to, ok)                                                                                                \
    for (uint32_t l = 0; l < SIMT_WARP; l++) {                                                                         \
        uint32_t segment = c[l] >> 8 & 31, clamp = c[l] & 31, delta = b[l] & 31, least = l & segment;                  \
        uint32_t most = least | (clamp & ~segment), to_lane = (to);                                                    \
        (void)most;                                                                                                    \
        in[l] = (ok) ? UINT32_MAX : 0;                                                                                 \
        from[l] = (to_lane & in[l]) | (l & ~in[l]);                                                                    \
    }
static uint32_t find_sources(uint8_t mode, const uint32_t *b, const uint32_t *c, uint32_t *from)
{
    uint32_t in[SIMT_WARP], inside = 0;
    switch (mode) {
    case SHFL_UP: SOURCES(l - delta, (int32_t)to_lane >= (int32_t)most) break; /* the clamp is the lowest lane */
    case SHFL_DOWN: SOURCES(l + delta, to_lane <= most) break;
    case SHFL_BFLY: SOURCES(l ^ delta, to_lane <= most) break;
    default: SOURCES(least | (delta & ~segment), to_lane <= most) break;
    }
    for (uint32_t l = 0; l < SIMT_WARP; l++) inside |= in[l] & 1u << l;
    return inside;
}

/* What came out for lanes with threads, also to those of the lanes that repeat them. */
static void give(const struct warp *w, uint32_t *d, const uint32_t *out, uint32_t lanes)
{
    EACH_LANE(l, lanes & w->threads) d[l] = out[l];
    EACH_LANE(l, lanes & ~w->threads) d[l] = out[simt_original(w, l)];
}

static enum event op_shfl(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *a = u32_at(R, i->a), *masks = u32_at(R, i->extra);
    uint32_t *d = u32_at(R, i->d), *pred = u32_at(R, i->d2), ready, from[SIMT_WARP], out[SIMT_WARP];
    enum event ev = simt_sync(w, masks, m, &ready);
    if (ev == EV_FAULT) return ev;
    uint32_t real = ready & w->threads;
    uint32_t inside =
        simt_with_repeats(w, find_sources(i->mode, u32_at(R, i->b), u32_at(R, i->c), from) & real) & ready;
    if (real == FULL && simt_names_all(masks)) {
        for (uint32_t l = 0; l < SIMT_WARP; l++) out[l] = a[from[l]];
        memcpy(d, out, sizeof out);
    } else {
        /* What a lane that takes no part would give is undefined. Of one without a thread it is zero, as on GPUs, whose
         * registers hold that: sums over a last warp are right there. Else the reader gets its own value, as it does
         * out of range. */
        for (uint32_t l = 0; l < SIMT_WARP; l++) {
            uint32_t of = 1u << from[l];
            out[l] = masks[l] & real & of ? a[from[l]] : w->threads & of ? a[l] : 0;
        }
        give(w, d, out, ready);
    }
    *pred = (*pred & ~ready) | inside;
    return ev;
}

enum { VOTE_BALLOT, VOTE_ALL, VOTE_ANY, VOTE_UNI };

static enum event op_vote(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *masks = u32_at(R, i->extra);
    uint32_t *d = u32_at(R, i->d), yes = *u32_at(R, i->a), ready, result = 0;
    enum event ev = simt_sync(w, masks, m, &ready);
    if (ev == EV_FAULT) return ev;
    uint32_t real = ready & w->threads, out[SIMT_WARP];
    EACH_LANE(l, real)
    {
        uint32_t group = masks[l] & real, votes = out[l] = yes & group;
        bool all = votes == group;
        result |= (uint32_t)(i->mode == VOTE_ALL ? all : i->mode == VOTE_ANY ? votes != 0 : all || !votes) << l;
    }
    if (i->mode == VOTE_BALLOT)
        give(w, d, out, ready);
    else
        *d = (*d & ~ready) | (ready & simt_with_repeats(w, result));
    return ev;
}

static enum event match(char *R, const struct insn *i, uint32_t m, struct warp *w, bool wide)
{
    uint32_t ready, inside = 0, out[SIMT_WARP], masks[SIMT_WARP];
    enum event ev = simt_sync(w, u32_at(R, i->extra), m, &ready);
    if (ev == EV_FAULT) return ev;
    uint32_t real = ready & w->threads;
    EACH_LANE(l, real) masks[l] = u32_at(R, i->extra)[l] & real;
    for (uint32_t left = real; left;) { /* lanes of one value at a time */
        unsigned l = (unsigned)__builtin_ctz(left);
        uint32_t same = 0;
        EACH_LANE_OF(j, masks[l])
        {
            bool equal = wide ? u64_at(R, i->a)[j] == u64_at(R, i->a)[l] : u32_at(R, i->a)[j] == u32_at(R, i->a)[l];
            same |= (uint32_t)equal << j;
        }
        bool all = same == masks[l];
        EACH_LANE_OF(j, left & (same | 1u << l))
        {
            if (masks[j] != masks[l]) continue;
            out[j] = i->mode ? (all ? masks[l] : 0) : same;
            inside |= (uint32_t)all << j;
            left &= ~(1u << j);
        }
    }
    give(w, u32_at(R, i->d), out, ready);
    uint32_t *pred = u32_at(R, i->d2);
    *pred = (*pred & ~ready) | (ready & simt_with_repeats(w, inside));
    return ev;
}
static enum event op_match32(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return match(R, i, m, w, false);
}
static enum event op_match64(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return match(R, i, m, w, true);
}

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };

/* The smaller or larger float; one that is not NaN, unless .NaN asks for it. -0 is less than +0. */
static uint32_t combine_floats(const struct insn *i, uint32_t x, uint32_t y)
{
    bool x_nan = (x & 0x7fffffff) > 0x7f800000, y_nan = (y & 0x7fffffff) > 0x7f800000;
    if (x_nan && y_nan) return 0x7fffffff;
    if (x_nan || y_nan) return i->flags & F_NAN ? 0x7fffffff : x_nan ? y : x;
    uint32_t p = x >> 31 ? ~x : x | 1u << 31, q = y >> 31 ? ~y : y | 1u << 31; /* bits in the order of the numbers */
    return (p < q) == (i->mode == REDUX_MIN) ? x : y;
}

static uint32_t combine(const struct insn *i, uint32_t x, uint32_t y)
{
    if (i->type == PTX_F32) return combine_floats(i, x, y);
    bool is_signed = i->type == PTX_S32;
    bool less = is_signed ? (int32_t)x < (int32_t)y : x < y;
    switch (i->mode) {
    case REDUX_ADD: return x + y;
    case REDUX_MIN: return less ? x : y;
    case REDUX_MAX: return less ? y : x;
    case REDUX_AND: return x & y;
    case REDUX_OR: return x | y;
    default: return x ^ y;
    }
}

static enum event op_redux(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *masks = u32_at(R, i->extra), *a = u32_at(R, i->a);
    uint32_t ready, out[SIMT_WARP];
    enum event ev = simt_sync(w, masks, m, &ready);
    if (ev == EV_FAULT) return ev;
    uint32_t real = ready & w->threads, last = 0, value = 0;
    EACH_LANE(l, real)
    {
        uint32_t group = masks[l] & real, bits = i->count > 1 ? 0x7fffffff : FULL; /* .abs */
        if (group != last) {                                                       /* most often all are of one */
            value = a[__builtin_ctz(group)] & bits;
            EACH_LANE_OF(j, group & (group - 1)) value = combine(i, value, a[j] & bits);
            last = group;
        }
        out[l] = value;
    }
    give(w, u32_at(R, i->d), out, ready);
    return ev;
}

static enum event op_elect(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *masks = u32_at(R, i->extra);
    uint32_t ready, leaders = 0, out[SIMT_WARP];
    enum event ev = simt_sync(w, masks, m, &ready);
    if (ev == EV_FAULT) return ev;
    uint32_t real = ready & w->threads;
    EACH_LANE(l, real)
    {
        out[l] = (uint32_t)__builtin_ctz(masks[l] & real);
        leaders |= (uint32_t)(out[l] == l) << l;
    }
    give(w, u32_at(R, i->d), out, ready);
    uint32_t *p = u32_at(R, i->d2);
    *p = (*p & ~ready) | (ready & simt_with_repeats(w, leaders));
    return ev;
}

/* ---- lanes that wait at several places ---- */
/* Lanes of a split go on behind what it waits at. */
static void let_go(struct warp *w, uint32_t k, uint32_t ready)
{
    struct split *s = &w->splits[k];
    if (s->mask & ~ready) {
        w->current = k;
        simt_fork(w, ready, s->pc, SPLIT_SYNC);
    }
    s->state = SPLIT_RUN;
    s->pc++;
}

/* What lanes give to an exchange and get from it, as in a frame. */
struct exchange {
    _Alignas(64) uint64_t a[SIMT_WARP];
    _Alignas(64) uint32_t b[SIMT_WARP], c[SIMT_WARP], masks[SIMT_WARP], d[SIMT_WARP], d2;
};

static void copy_lanes(uint32_t *to, const uint32_t *from, uint32_t lanes, bool bits)
{
    if (bits)
        *to = (*to & ~lanes) | (*from & lanes);
    else
        EACH_LANE(l, lanes) to[l] = from[l];
}

static void bring(struct exchange *x, const struct split *s, const struct insn *i)
{
    char *R = s->frame->regs;
    if (i->run == op_match64)
        EACH_LANE(l, s->mask) x->a[l] = u64_at(R, i->a)[l];
    else
        copy_lanes((uint32_t *)x->a, u32_at(R, i->a), s->mask, i->run == op_vote);
    copy_lanes(x->b, u32_at(R, i->b), s->mask, false);
    copy_lanes(x->c, u32_at(R, i->c), s->mask, false);
    copy_lanes(x->masks, u32_at(R, simt_is_warp_sync(i->run) ? i->a : i->extra), s->mask, false);
}

static void take(const struct exchange *x, const struct split *s, const struct insn *i, uint32_t lanes)
{
    char *R = s->frame->regs;
    if (simt_is_warp_sync(i->run)) return;
    copy_lanes(u32_at(R, i->d), x->d, lanes, i->run == op_vote && i->mode != VOTE_BALLOT);
    if (i->run != op_vote && i->run != op_redux) copy_lanes(u32_at(R, i->d2), &x->d2, lanes, true);
}

/* Do the lanes of both splits wait to exchange the same with each other? */
static bool are_alike(const struct warp *w, const struct split *s, const struct split *o)
{
    const struct insn *i = &w->code[s->pc], *j = &w->code[o->pc];
    return o->state == SPLIT_SYNC && i->run == j->run && i->mode == j->mode && i->type == j->type &&
           i->count == j->count && !((i->flags ^ j->flags) & F_NAN);
}

/* Those that wait where split k does, and at others of its kind. */
static bool exchange_apart(struct warp *w, uint32_t k)
{
    struct exchange x = {.d2 = 0};
    const struct split s = w->splits[k];
    struct insn i = w->code[s.pc];
    uint32_t here = 0, places = 0, count = w->split_count;
    for (uint32_t n = k; n < count; n++) {
        const struct split *o = &w->splits[n];
        if (!are_alike(w, &s, o)) continue;
        bring(&x, o, &w->code[o->pc]);
        here |= o->mask;
        places++;
    }
    uint32_t ready = places > 1 ? complete_groups(w, x.masks, here) : 0;
    if (!ready) return false;
    i.a = offsetof(struct exchange, a);
    i.b = offsetof(struct exchange, b);
    i.c = offsetof(struct exchange, c);
    i.extra = offsetof(struct exchange, masks);
    i.d = offsetof(struct exchange, d);
    i.d2 = offsetof(struct exchange, d2);
    w->pc = s.pc;
    i.run((char *)&x, &i, ready, w);
    for (uint32_t n = k; n < count; n++) {
        const struct split *o = &w->splits[n];
        if (!are_alike(w, &s, o) || !(o->mask & ready)) continue;
        take(&x, o, &w->code[o->pc], o->mask & ready);
        let_go(w, n, ready);
    }
    return true;
}

bool simt_sync_release(struct warp *w)
{
    bool some = false;
    for (uint32_t k = 0; k < w->split_count; k++)
        if (w->splits[k].state == SPLIT_SYNC && simt_is_exchange(w->code[w->splits[k].pc].run))
            some |= exchange_apart(w, k);
    return some;
}

static enum event op_activemask(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    EACH_LANE(l, m) u32_at(R, i->d)[l] = m & w->threads;
    return EV_NEXT;
}

static const struct op_row rows[] = {
    {"+warp_sync", "", op_warp_sync, NULL, 0}, {"+shfl", "", op_shfl, NULL, 0},
    {"+vote", "", op_vote, NULL, 0},           {"+match32", "", op_match32, NULL, 0},
    {"+match64", "", op_match64, NULL, 0},     {"+redux", "", op_redux, NULL, 0},
    {"+elect", "", op_elect, NULL, 0},         {"+activemask", "", op_activemask, NULL, 0},
};
const struct op_table simt_ops_warp = {rows, sizeof rows / sizeof *rows};

bool simt_shuffle_reads(const struct warp *w, const struct insn *i, uint32_t from[SIMT_WARP], uint32_t *inside)
{
    char *R = w->frame->regs;
    if (i->run != op_shfl || i->mode == SHFL_UP || i->mode == SHFL_DOWN) return false;
    *inside = find_sources(i->mode, u32_at(R, i->b), u32_at(R, i->c), from);
    return true;
}

bool simt_is_warp_sync(op_function run)
{
    return run == op_warp_sync;
}

bool simt_is_exchange(op_function run)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].run == run) return true;
    return false;
}
