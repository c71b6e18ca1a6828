/* The notes of shared memory behind a meeting of some threads (check_groups.c), where there are many: those of accesses
 * that all threads have seen who may go on do not matter any more, since nobody can race with them, nor does what
 * others knew then. So what threads that hand on buffers without end leave behind does not grow. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_shared.h"

#define LEAST_ROOM (1u << 16) /* bytes of notes that are not looked through */
#define MOST_WAIT  128        /* of what threads know, since an access that is kept */

struct thinning {
    struct block *b;
    uint32_t seen[SIMT_WARP * SIMT_WARP]; /* by thread: before which time all that it did was seen by all others */
    uint32_t least[SIMT_WARP];            /* of those, by warp */
    char *to;                             /* notes that stay */
    const struct shared_note *known[MOST_WAIT]; /* in their order, which stay if an access behind them does */
    unsigned count;
};

/* ---- what all have seen ---- */
/* Lanes that do not wait for one of them at a barrier: who does comes behind that one, and all that it has seen. */
static uint32_t may_go_on(const struct worker *k, const struct warp *w)
{
    uint32_t m = w->alive & w->threads;
    for (uint32_t n = 0; n < w->split_count; n++) {
        const struct split *s = &w->splits[n];
        if (s->state != SPLIT_BARRIER || s->barrier >= MAX_BARRIERS) continue;
        if (!simt_barrier_complete(k, &k->barriers[s->barrier])) m &= ~s->mask;
    }
    return m;
}

/* Each of them has seen at most what the lane has; what it did itself counts as seen, if it is `alone` of its warp. */
static void lower_by(struct thinning *x, unsigned warp, unsigned lane, bool alone)
{
    static const uint32_t none[SIMT_WARP];
    const struct block *b = x->b;
    const uint32_t *clock = b->clocks ? simt_clocks_times(b, warp * SIMT_WARP + lane) : NULL;
    uint32_t lanes[SIMT_WARP] = {0};
    if (b->lanes[warp]) simt_lane_row((const uint32_t(*)[SIMT_WARP])b->lanes[warp], lane, lanes);
    uint32_t own = x->seen[warp * SIMT_WARP + lane];
    for (uint32_t v = 0; v < b->worker->warp_count; v++) {
        uint32_t *seen = x->seen + v * SIMT_WARP, time = b->warps ? b->warps[warp][v] : 0;
        if (v == warp) time = b->warp_met[warp];
        uint32_t times[SIMT_WARP];
        b->check->vectors->times(times, clock ? clock + v * SIMT_WARP : none, time);
        if (v == warp) b->check->vectors->raise(times, lanes, SIMT_WARP);
        for (unsigned l = 0; l < SIMT_WARP; l++) seen[l] = seen[l] < times[l] ? seen[l] : times[l];
    }
    if (alone) x->seen[warp * SIMT_WARP + lane] = own;
}

static void find_seen(struct thinning *x)
{
    const struct worker *k = x->b->worker;
    memset(x->seen, 0xff, sizeof x->seen);
    for (uint32_t w = 0; w < k->warp_count; w++) {
        uint32_t m = may_go_on(k, &k->warps[w]);
        unsigned last = SIMT_WARP;
        EACH_LANE(l, m)
        {
            if (last == SIMT_WARP || simt_check_lanes_differ(x->b, w, l, last)) lower_by(x, w, l, !(m & (m - 1)));
            last = l;
        }
    }
    for (uint32_t w = 0; w < k->warp_count; w++) {
        x->least[w] = UINT32_MAX;
        EACH_LANE(l, k->warps[w].threads)
        if (x->seen[w * SIMT_WARP + l] < x->least[w]) x->least[w] = x->seen[w * SIMT_WARP + l];
    }
}

/* ---- what stays ---- */
static void keep(struct thinning *x, const struct shared_note *n)
{
    struct shared_note *to = (struct shared_note *)(void *)x->to;
    memcpy(x->to, n, simt_shared_note_bytes(n->rows));
    x->to += simt_shared_note_bytes(n->rows);
    if (!n->insn && n->rows) to->at[0] = simt_clocks_move(x->b, to->at[0]);
}

static void keep_known(struct thinning *x)
{
    for (unsigned k = 0; k < x->count; k++) keep(x, x->known[k]);
    x->count = 0;
}

/* It says anew what some of those before it said. */
static void know(struct thinning *x, const struct shared_note *n)
{
    unsigned left = 0;
    for (unsigned k = 0; k < x->count; k++) {
        const struct shared_note *o = x->known[k];
        if (o->count != n->count || o->warp != n->warp || o->mask & ~n->mask) x->known[left++] = o;
    }
    x->count = left;
    if (x->count == MOST_WAIT) keep_known(x);
    x->known[x->count++] = n;
}

static bool is_seen(const struct thinning *x, const struct shared_note *n)
{
    if (n->time < x->least[n->warp->index]) return true;
    EACH_LANE(l, n->mask & n->warp->threads)
    if (n->time >= x->seen[(unsigned)n->warp->index * SIMT_WARP + l]) return false;
    return true;
}

bool simt_groups_thin(struct block *b)
{
    struct tags *t = &b->tags;
    struct worker *k = b->worker;
    char *more = t->room >= LEAST_ROOM ? rt_alloc(t->room) : NULL;
    struct thinning x = {.b = b, .to = more};
    if (!more) return false;
    find_seen(&x);
    if (b->clocks) simt_clocks_keep_again(b, true);
    for (const char *at = t->log; at < k->quiet.note;) {
        const struct shared_note *n = (const struct shared_note *)(const void *)at;
        at += simt_shared_note_bytes(n->rows);
        if (!n->insn) {
            know(&x, n);
        } else if (!is_seen(&x, n)) {
            keep_known(&x);
            keep(&x, n);
        }
    }
    keep_known(&x);
    if (b->clocks) simt_clocks_keep_again(b, false);
    free(t->log);
    t->log = more;
    k->quiet.note = x.to;
    simt_shared_quiet(b);
    return (size_t)(x.to - more) < t->room / 2;
}
