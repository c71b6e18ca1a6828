/* Blocks of a launch that do the same to an array of global memory, each in a stretch of its own: when one of them was
 * right there, the others need no look at it but for its ends. As check_steady.c has it for shared memory, where some
 * of a block's threads meet in parts: then a look at global memory takes the longest.
 *
 * They do when each thread goes the same ways in every block (decode_steady.c), and each address is a sum
 * (check_sums.c) of what is the same in all blocks and of multiples of the block's index, the same ones at all
 * instructions that may touch the array. Whether a block stays within its stretch is seen as it runs: until one was
 * right, each is let nowhere else without being asked. */
#include <stdlib.h>
#include "runtime/simt/check_even.h"

/* Is it nothing but a start and multiples of indices, whichever way a thread came? */
static bool is_plain_sum(const struct sum *s)
{
    bool plain = s->known && s->settled;
    for (int k = THREAD_INDICES; k < INDICES; k++) plain = plain && !s->by[k];
    return plain;
}

/* Widens x by an instruction. False: blocks do not go by the same multiples there. */
static bool add_instruction(const struct simt_sums *l, struct even_array *x, uint32_t pc, bool first)
{
    const struct insn *i = &l->check->program->code[pc];
    uint32_t term = l->check->program->places[pc].term;
    const struct sum *s = term ? &l->of[term - 1 - l->first] : NULL;
    if (!s || !is_plain_sum(s) || (i->memory != MEMORY_LOAD && i->memory != MEMORY_STORE)) return false;
    int64_t low = s->start + i->imm;
    for (int k = 0; k < AXES; k++) {
        if (!first && l->extents[AXES + k] > 1 && x->by[k] != s->by[AXES + k]) return false;
        x->by[k] = s->by[AXES + k];
        if (s->by[k] < 0) low += s->by[k] * (l->extents[k] - 1);
    }
    if (i->memory == MEMORY_STORE && low < x->low) x->low = low;
    return true;
}

/* The bytes between blocks which then have nothing in common, whatever their indices; 0: there are none. */
static int64_t bytes_apart(const struct simt_sums *l, const struct even_array *x)
{
    bool used[AXES] = {false};
    int64_t apart = 0, all = 0;
    for (int n = 0; n < AXES; n++) {
        int least = -1;
        for (int k = 0; k < AXES; k++) {
            bool counts = !used[k] && l->extents[AXES + k] > 1;
            if (counts && (least < 0 || llabs(x->by[k]) < llabs(x->by[least]))) least = k;
        }
        if (least < 0) break;
        used[least] = true;
        int64_t by = llabs(x->by[least]);
        if (!by || by < all) return 0;
        if (!apart) apart = by;
        all = by * l->extents[AXES + least];
    }
    return apart;
}

/* Nothing but meetings orders threads then. What generated code lets pass without asking the span is in the stretch of
 * an earlier block that left records of its own there: where these are no race, blocks as far apart have none. */
bool simt_even_add(const struct simt_sums *l, struct simt_check *c, uint64_t allocation, const uint32_t *pcs,
                   size_t count)
{
    struct even_array x = {.allocation = allocation, .low = INT64_MAX};
    bool fits = l->code->even && c->even.count < MOST_EVEN && !c->releases_some && !c->mixes;
    for (size_t k = 0; fits && k < count; k++) fits = add_instruction(l, &x, pcs[k], k == 0);
    x.bytes = fits && x.low < INT64_MAX ? bytes_apart(l, &x) : 0;
    if (x.bytes) c->even.of[c->even.count++] = x;
    return x.bytes != 0;
}

void simt_even_begin(struct simt_check *c)
{
    const struct function *f = c->launch->function->code;
    const struct condition *all = &c->program->conditions[f->even_first];
    for (uint32_t k = 0; c->even.count && k < f->even_count; k++) {
        bool held, wide = c->program->terms[all[k].a].wide;
        struct bounds a = c->steady.ranges[(uint32_t)all[k].a - f->term_first],
                      b = c->steady.ranges[(uint32_t)all[k].b - f->term_first];
        if (!simt_steady_decide(&all[k], a, b, wide, &held)) c->even.count = 0;
    }
}

/* ---- blocks ---- */
void simt_even_start(struct block *b)
{
    b->even = atomic_load_explicit(&b->check->even.right, memory_order_acquire);
}

static const struct even_array *array_of(const struct simt_check *c, uint64_t allocation)
{
    for (unsigned k = 0; k < c->even.count; k++)
        if (c->even.of[k].allocation == allocation) return &c->even.of[k];
    return NULL;
}

bool simt_even_quiet(const struct block *b, uint64_t allocation)
{
    return b->even && array_of(b->check, allocation);
}

void simt_even_narrow(const struct access *a, uint64_t allocation, uint64_t address, struct span *s)
{
    struct evenness *e = &a->check->even;
    const struct even_array *x = array_of(a->check, allocation);
    if (!x || a->block->even) return;
    uint64_t low = (uint64_t)x->low, bytes = (uint64_t)x->bytes;
    for (int k = 0; k < AXES; k++) low += (uint64_t)x->by[k] * a->block->worker->block[k];
    if (address - low >= bytes || bytes - (address - low) < a->bytes) {
        atomic_store(&e->left, true);
        return;
    }
    if (s->low < low) s->low = low;
    if (s->high > low + bytes) s->high = low + bytes;
}

void simt_even_end(struct block *b)
{
    struct simt_check *c = b->check;
    if (!c->even.count || b->even || b->excused || b->worker->fault.kind || atomic_load(&c->even.left) ||
        atomic_load(&b->worker->run->fault_block) != UINT64_MAX || atomic_load(&c->no_memory))
        return;
    pthread_mutex_lock(&c->lock);
    if (!c->report_count && !c->more) atomic_store_explicit(&c->even.right, true, memory_order_release);
    pthread_mutex_unlock(&c->lock);
}
