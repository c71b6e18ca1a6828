/* What tcgen05.mma reads of shared memory, and its sums in tensor memory: it goes on behind its instruction, until a
 * thread has waited for the phase of an mbarrier at which a tcgen05.commit behind it arrives. A commit is of all
 * products that its thread has begun before, so a later one does as well; commits are items of no bytes, for which
 * threads wait as for copies (check_bulk.c). */
#include "runtime/simt/async.h"
#include "runtime/simt/check_bulks.h"
#include "runtime/simt/check_shared.h"

static bool covers(const struct bulk *commit, const struct bulk *product)
{
    return commit->commit && commit->group >= product->group && record_thread(commit->me) == record_thread(product->me);
}

bool simt_bulks_knows(const struct block *b, const struct bulk *x, const struct block *by, unsigned warp, unsigned lane)
{
    const struct bulks *c = b->bulks;
    if (!x->product) return simt_bulks_waited(b, x, by, warp, lane);
    for (size_t k = 0; k < c->count; k++)
        if (covers(&c->items[k], x) && simt_bulks_waited(b, &c->items[k], by, warp, lane)) return true;
    return false;
}

/* Has anyone waited for it? */
static bool is_done(const struct block *b, const struct bulk *x)
{
    const struct bulks *c = b->bulks;
    bool done = !x->product && anyone_waited(b, x);
    for (size_t k = 0; x->product && !done && k < c->count; k++)
        done = covers(&c->items[k], x) && anyone_waited(b, &c->items[k]);
    return done;
}

/* Is it done, or one of a commit's products or that itself? */
static bool goes(const struct block *b, const struct bulk *x, const struct bulk *commit)
{
    if (!commit) return is_done(b, x);
    return x->commit ? x->group == commit->group : x->product && covers(commit, x);
}

static void forget(struct block *b, const struct bulk *commit, bool commits)
{
    struct bulks *c = b->bulks;
    size_t kept = 0;
    for (size_t k = 0; k < c->count; k++) {
        struct bulk *x = &c->items[k];
        if (x->commit == commits && goes(b, x, commit))
            simt_bulks_mark(b, x, TAG_MIXED, b->tags.base);
        else
            c->items[kept++] = *x;
    }
    simt_bulks_set_count(b, c, kept);
}

size_t simt_bulks_forget_done(struct block *b, const struct bulk *commit)
{
    forget(b, commit, false); /* products first: the commits say of them */
    forget(b, commit, true);
    return b->bulks->count;
}

/* A commit of the thread's: the last one there, if anyone has waited for it, has no more to tell. */
void simt_products_commit(const struct access *a, unsigned lane, uint64_t at)
{
    struct block *b = a->block;
    struct bulks *c = simt_bulks_want(b);
    if (!c) return;
    struct bulk n = {
        .me = a->me + ((record)lane << THREAD_AT), .commit = true, .counted = true, .barrier = (uint32_t)at};
    for (size_t k = 0; k < c->count; k++) {
        const struct bulk was = c->items[k];
        bool same = was.commit && was.barrier == at && record_thread(was.me) == record_thread(n.me);
        if (!same || !anyone_waited(b, &was)) continue;
        simt_bulks_forget_done(b, &was);
        break;
    }
    n.group = ++c->commits;
    n.seen = simt_phase_of(b->worker->shared + at);
    simt_bulks_add(b, &n, b);
}

static void add_product(const struct access *a, struct bulk n)
{
    if (!simt_bulks_want(a->block)) return;
    const struct bulks *c = a->block->bulks;
    n.product = true;
    n.group = c->commits + 1;
    for (size_t k = 0; k < c->count; k++) { /* most touch a place several times before they commit */
        const struct bulk *x = &c->items[k];
        bool alike =
            x->product && x->sums == n.sums && x->group == n.group && record_thread(x->me) == record_thread(n.me);
        if (alike && is_within(&n, x)) return;
    }
    simt_bulks_add(a->block, &n, a->block);
}

void simt_bulk_begin_product(const struct access *a, unsigned lane, const struct product_rows *r)
{
    add_product(a, (struct bulk){.me = a->me + ((record)lane << THREAD_AT),
                                 .at = r->at,
                                 .pitch = r->pitch,
                                 .rows = r->rows,
                                 .bytes = r->bytes,
                                 .source = true});
}

void simt_bulk_begin_sums(const struct access *a, unsigned lane, uint32_t column, uint32_t columns)
{
    add_product(
        a,
        (struct bulk){.me = a->me + ((record)lane << THREAD_AT), .at = 4 * column, .bytes = 4 * columns, .sums = true});
}

void simt_bulk_meet_sums(struct access *a, uint32_t column, uint32_t columns)
{
    const struct bulks *c = a->block->bulks;
    a->at[0] = 4 * (uint64_t)column;
    a->bytes = 4;
    for (size_t k = 0; c && k < c->count; k++) {
        const struct bulk *x = &c->items[k];
        if (!x->sums || !overlaps(x, a->at[0], 4 * columns)) continue;
        if (simt_bulks_knows(a->block, x, a->block, (unsigned)a->warp->index, 0)) continue;
        a->at[0] = x->at > a->at[0] ? x->at : a->at[0];
        simt_bulks_report(a, 0, x);
        return;
    }
}
