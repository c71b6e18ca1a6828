/* Blocks of a launch that do the same to an array of global memory, each in a stretch of its own: when one of them was
 * right there, the others need no look at it but for its ends. As check_steady.c has it for shared memory, where some
 * of a block's threads meet in parts: then a look at global memory takes the longest.
 *
 * They do when each thread goes the same ways in every block (decode_steady.c), and each address is a sum
 * (check_sums.c) of what is the same in all blocks and of multiples of the block's index, the same ones at all
 * instructions that may touch the array. Whether a block stays within its stretch is seen as it runs: until one was
 * right, each is let nowhere else without being asked.
 *
 * Where ways depend on the block, as by `i < n`, blocks of one pattern do the same, as in check_steady.c. But one of
 * another pattern may touch what is not its own: so all that may come to a block's stretch, by what addresses are made
 * of, are to have its pattern. */
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/check_even.h"
#include "runtime/simt/jit.h"

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
    int64_t low = s->start + i->imm, end = low + i->size * i->count;
    for (int k = 0; k < AXES; k++) {
        if (!first && l->extents[AXES + k] > 1 && x->by[k] != s->by[AXES + k]) return false;
        x->by[k] = s->by[AXES + k];
        *(s->by[k] < 0 ? &low : &end) += s->by[k] * (l->extents[k] - 1);
    }
    if (i->memory == MEMORY_STORE && low < x->low) x->low = low;
    if (low < x->least) x->least = low;
    if (end > x->end) x->end = end;
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

/* Nothing but meetings orders threads then, in parts: where all meet alone lists are as quick, and count races as they
 * count them elsewhere (check_once.c). */
bool simt_even_add(const struct simt_sums *l, struct simt_check *c, uint64_t allocation, const uint32_t *pcs,
                   size_t count)
{
    struct even_array x = {.allocation = allocation, .low = INT64_MAX, .least = INT64_MAX, .end = INT64_MIN};
    bool fits = l->code->even && c->even.count < MOST_EVEN && orders_some(c) && !c->releases_some && !c->mixes;
    for (size_t k = 0; fits && k < count; k++) fits = add_instruction(l, &x, pcs[k], k == 0);
    x.bytes = fits && x.low < INT64_MAX ? bytes_apart(l, &x) : 0;
    if (x.bytes) c->even.of[c->even.count++] = x;
    return x.bytes != 0;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How many blocks on either side of one may touch its stretch; -1: it isn't known. */
static int64_t beside(const struct even_array *x, const unsigned *grid)
{
    int64_t beyond = larger(x->low - x->least, x->end - x->low - x->bytes);
    bool one_axis = (grid[0] > 1) + (grid[1] > 1) + (grid[2] > 1) == 1;
    return beyond <= 0 ? 0 : one_axis ? (beyond - 1) / x->bytes + 1 : -1;
}

void simt_even_begin(struct simt_check *c)
{
    const struct function *f = c->launch->function->code;
    struct evenness *e = &c->even;
    struct pattern all;
    if (f->even_count > CONDITIONS) e->count = 0;
    e->alike = e->count && simt_steady_all(c, f->even_first, f->even_count, &all);
    for (unsigned k = 0; !e->alike && k < e->count; k++) {
        int64_t n = beside(&e->of[k], c->launch->grid);
        if (n < 0) e->count = 0;
        e->beside = larger(e->beside, n);
    }
}

/* ---- blocks ---- */
static struct block_range blocks_beside(const struct block *b)
{
    const unsigned *grid = b->check->launch->grid, *at = b->worker->block;
    const int64_t n = b->check->even.beside;
    struct block_range r;
    for (int k = 0; k < AXES; k++) {
        r.low[k] = at[k] > n ? (unsigned)(at[k] - n) : 0;
        r.high[k] = at[k] + n < grid[k] ? (unsigned)(at[k] + n) : grid[k] - 1;
    }
    return r;
}

/* What was found out where blocks are looked at does not hold where they are not, or the other way round; nor is what a
 * block was let touch that is not its own another one's. */
static void forget_spans(struct block *b)
{
    struct worker *k = b->worker;
    memset(b->spans, 0, (b->check->program->cache_count + 1) * sizeof *b->spans);
    memset(k->jit_ranges, 0, simt_jit_ranges(&k->jit) * sizeof *k->jit_ranges);
}

void simt_even_start(struct block *b)
{
    struct simt_check *c = b->check;
    const bool was = b->even, leaving = b->left;
    const struct function *f = c->launch->function->code;
    const struct block_range near = blocks_beside(b);
    b->left = false;
    b->even_pattern = (struct pattern){0};
    b->even_known = c->even.count &&
                    (c->even.alike || simt_steady_pattern(b, f->even_first, f->even_count, &near, &b->even_pattern));
    b->even = b->even_known && simt_steady_knows(&c->even.known, &b->even_pattern);
    if (b->even != was || leaving) forget_spans(b);
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
    const struct even_array *x = array_of(a->check, allocation);
    if (!x || a->block->even) return;
    uint64_t low = (uint64_t)x->low, bytes = (uint64_t)x->bytes;
    for (int k = 0; k < AXES; k++) low += (uint64_t)x->by[k] * a->block->worker->block[k];
    if (address - low >= bytes || bytes - (address - low) < a->bytes) {
        a->block->left = true;
        return;
    }
    if (s->low < low) s->low = low;
    if (s->high > low + bytes) s->high = low + bytes;
}

void simt_even_end(struct block *b)
{
    struct simt_check *c = b->check;
    if (b->even_known && !b->even && !b->left && !atomic_load(&c->no_memory))
        simt_steady_learn(b, &c->even.known, &b->even_pattern);
}
