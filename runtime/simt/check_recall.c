/* How what check_once.c has in lists comes to the records after all: when somebody else comes to an element, or when
 * the launch ends and two workers touched the same. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_notes.h"

/* A load or store of the list, as it was; its length. */
static size_t recall(struct block *b, const struct once *o, const char *at, char *regs)
{
    struct simt_check *c = b->check;
    struct note n;
    memcpy(&n, at, sizeof n);
    unsigned lanes = lane_count(n.lanes), index = record_thread(n.me) / SIMT_WARP;
    size_t width = width_of(n.insn), count = n.apart == EACH ? lanes : 2;
    const char *values = at + sizeof n + bytes_of_cells((unsigned)count);
    uint32_t cells[SIMT_WARP];
    const uint32_t *slots = slots_of(c, n.insn);
    struct access a = {.check = c,
                       .block = b,
                       .warp = &b->worker->warps[index],
                       .insn = n.insn,
                       .regs = regs,
                       .kind = c->sites[record_site(n.me)].access,
                       .site = &c->sites[record_site(n.me)],
                       .me = n.me,
                       .origin = -1,
                       .bytes = (uint32_t)n.insn->size * n.insn->count};
    cells_of(n.apart, n.lanes, at + sizeof n, cells);
    EACH_LANE(l, n.lanes)
    {
        a.at[l] = o->array->start + ((uint64_t)cells[l] << o->array->log);
        for (unsigned k = 0; n.insn->memory == MEMORY_STORE && k < n.insn->count; k++) {
            char *to = regs + slots[k] + l * width;
            if (c->parallel)
                memcpy(to, values + k * lanes * width, width);
            else
                memcpy(to, (char *)place_in_host(a.at[l]) + (size_t)k * n.insn->size, n.insn->size);
        }
        values += width;
    }
    b->id = n.me & ~(BLOCK_SPAN - 1);
    memcpy(b->worker->block, n.block, sizeof n.block);
    simt_race_touch(&a, n.lanes, false);
    return bytes_of(c, n.insn, lanes, (unsigned)count);
}

static char *new_frame(const struct simt_program *p)
{
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < p->function_count; k++)
        if (p->functions[k].frame_bytes > bytes) bytes = p->functions[k].frame_bytes;
    return rt_calloc(1, bytes + SIMT_WARP * sizeof(uint64_t));
}

static void recall_all(struct block *b, struct once *o)
{
    char *regs = o->first ? new_frame(b->check->program) : NULL;
    if (o->first && !regs) atomic_store(&b->check->no_memory, true);
    record id = b->id;
    uint32_t block[3];
    memcpy(block, b->worker->block, sizeof block);
    for (struct once_chunk *x = o->first; regs && x; x = x->next)
        for (size_t at = 0; at < x->used;) at += recall(b, o, x->notes + at, regs);
    b->id = id;
    memcpy(b->worker->block, block, sizeof block);
    free(regs);
}

/* What another worker has in its list it stores right behind. If that came after a store of ours to the same element,
 * which we are about to record, it would find its own value there when it goes through its list, and take it for ours:
 * two equal values are no race. So we wait until nobody has such a store before it. A worker says that it has one
 * (`noted`) before it looks whether the lists are over, and we say that they are before we look at what it says, all in
 * one order for everybody: so either it finds that they are over and puts nothing in its list, or we find that it has a
 * store. That is in memory when we find that it has none, or another one, which we wait for needlessly.
 *
 * Between its note and its store a worker waits for nobody, so this ends. Nor do two wait for each other here: whoever
 * comes here has no store before it in that sense, since the one that it may have goes into the records here, by which
 * the value is compared and stored first. */
void simt_store_follows(struct block *b)
{
    struct simt_check *c = b->check;
    if (!atomic_load_explicit(&c->stores_follow, memory_order_relaxed)) atomic_store(&c->stores_follow, true);
    atomic_store(&b->worker->quiet.noted, 1);
}

void simt_let_stores_land(struct block *b)
{
    struct simt_check *c = b->check;
    if (!c->parallel || !atomic_load(&c->stores_follow)) return;
    simt_noted_is_done(b->worker);
    pthread_mutex_lock(&c->lock); /* who comes to the list of blocks later finds that the lists are over */
    const struct block *o = c->blocks;
    pthread_mutex_unlock(&c->lock);
    for (; o; o = o->next)
        for (int tries = 0; atomic_load(&o->worker->quiet.noted); tries++) simt_check_pause(tries);
}

void simt_once_leave(struct block *b, struct once *o)
{
    atomic_store(&o->array->over, true);
    for (uint32_t k = 0; k <= b->check->program->cache_count; k++)
        if (b->spans[k].once == o) b->spans[k].once = NULL;
    if (o->left) return;
    o->left = true;
    simt_let_stores_land(b);
    recall_all(b, o);
    simt_once_keep_chunks(o->first);
    o->first = o->last = NULL;
}

struct once *simt_once_of(struct block *b, uint64_t allocation)
{
    struct simt_check *c = b->check;
    for (unsigned k = 0; k < c->once_count; k++) {
        struct once *o = &b->once[k];
        if (c->once[k].start != allocation) continue;
        o->array = &c->once[k];
        if (!b->reach && !o->left && !atomic_load_explicit(&o->array->over, memory_order_relaxed)) return o;
        simt_once_leave(b, o);
    }
    return NULL;
}

/* ---- the end ---- */
/* Have two workers the same bits, and, where elements may be loaded by several, has one of them stored? */
static bool have_met(const struct simt_check *c, unsigned k)
{
    uint64_t *all = NULL, met = 0;
    const struct once_array *x = &c->once[k];
    size_t words = words_of(x), stored = x->shares ? STORED * words : 0;
    for (struct block *b = c->blocks; b; b = b->next) {
        uint64_t *mine = b->once[k].touched;
        if (!mine) continue;
        for (size_t w = 0; all && w < words; w++) {
            met |= (all[w] & mine[w + stored]) | (all[w + stored] & mine[w]);
            mine[w] |= all[w];
            if (stored) mine[w + stored] |= all[w + stored];
        }
        all = mine;
    }
    return met;
}

void simt_once_end(struct simt_check *c)
{
    for (unsigned k = 0; k < c->once_count; k++) {
        bool over = atomic_load(&c->once[k].over) || have_met(c, k);
        for (struct block *b = c->blocks; b; b = b->next) {
            struct once *o = &b->once[k];
            if (over && o->first) simt_once_leave(b, o);
            simt_once_keep_chunks(o->first);
            if (!o->bits) free(o->touched);
            simt_once_keep_chunks(o->bits);
        }
    }
}
