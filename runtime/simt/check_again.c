/* Launches that come again, as the steps of a simulation do: with the same kernel, size and parameters. What
 * check_inputs.c and check_own.c found out about the memory of one holds for the next, which need not look for it; and
 * blocks that do what those did that were right, in shared memory or in arrays of global memory, are right there, too
 * (check_steady.c, check_even.c): that does not depend on what the memory holds, but for tables (decode_fixed.c). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_inside.h"
#include "runtime/simt/texture.h"

#define KEPT       16   /* launches */
#define MOST_BYTES 2048 /* of what tells one from another */

/* What all depends on: a launch whose bytes are the same is the same. */
struct key {
    uint64_t program, entry, dynamic_shared;
    unsigned grid[3], block[3], cluster[3];
    bool cooperative, strict;
    size_t extent_count, param_bytes; /* those follow: */
};
struct place_of { /* an argument's memory */
    struct simt_extent extent;
    uint64_t allocation, bytes;
};

struct known {
    char *key;
    size_t bytes;
    uint64_t *outputs;
    size_t output_count;
    struct own_loads own_loads;
    struct once_array once[MOST_ONCE];
    unsigned once_count;
    bool knows_inputs;
    struct evenness even;
    struct patterns steady;
};
static struct known kept[KEPT];
static unsigned next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL: it is too large, there is no memory, or it depends on more. */
static char *key_of_launch(const struct simt_check *c, size_t *bytes)
{
    const struct simt_launch *l = c->launch;
    const struct simt_program *p = c->program;
    const size_t params = l->function->info.param_bytes;
    *bytes = sizeof(struct key) + c->extent_count * sizeof(struct place_of) + params;
    if (c->follows_texels || simt_texture_over(0, UINT64_MAX) || *bytes > MOST_BYTES) return NULL;
    char *key = rt_calloc(1, *bytes), *at = key;
    if (!key) return NULL;
    struct key *k = (struct key *)(void *)key;
    k->program = p->number;
    k->entry = (uint64_t)(l->function->code - p->functions);
    k->dynamic_shared = l->dynamic_shared;
    memcpy(k->grid, l->grid, sizeof k->grid);
    memcpy(k->block, l->block, sizeof k->block);
    memcpy(k->cluster, l->cluster, sizeof k->cluster);
    k->cooperative = l->cooperative;
    k->strict = c->strict;
    k->extent_count = c->extent_count;
    k->param_bytes = params;
    at += sizeof *k;
    for (size_t n = 0; n < c->extent_count; n++, at += sizeof(struct place_of)) {
        struct place_of x = {.extent = c->extents[n]};
        struct simt_block b;
        if (simt_find(x.extent.address, &b)) x.allocation = b.address, x.bytes = b.bytes;
        memcpy(at, &x, sizeof x);
    }
    if (params) memcpy(at, l->params, params);
    return key;
}

static struct known *find(const char *key, size_t bytes)
{
    for (unsigned k = 0; k < KEPT; k++)
        if (kept[k].key && kept[k].bytes == bytes && !memcmp(kept[k].key, key, bytes)) return &kept[k];
    return NULL;
}

static void copy_patterns(struct patterns *to, const struct patterns *from)
{
    uint32_t count = atomic_load(&from->count);
    memcpy(to->of, from->of, count * sizeof *to->of);
    atomic_store(&to->count, count);
}

static void copy_even(struct evenness *to, const struct evenness *from)
{
    memcpy(to->of, from->of, from->count * sizeof *to->of);
    to->count = from->count;
    to->alike = from->alike;
    to->beside = from->beside;
    copy_patterns(&to->known, &from->known);
}

static void copy_once(struct once_array *to, const struct once_array *from, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        const struct once_array *x = &from[k];
        to[k] = (struct once_array){x->start, x->cells, x->log, x->loads, x->shares, false};
    }
}

bool simt_again_find(struct simt_check *c)
{
    c->key = key_of_launch(c, &c->key_bytes);
    if (!c->key) return false;
    pthread_mutex_lock(&lock);
    const struct known *k = find(c->key, c->key_bytes);
    c->outputs = k ? rt_alloc((k->output_count + 1) * sizeof *c->outputs) : NULL;
    if (c->outputs) {
        memcpy(c->outputs, k->outputs, k->output_count * sizeof *c->outputs);
        c->output_count = k->output_count;
        c->own_loads = k->own_loads;
        c->knows_inputs = k->knows_inputs;
        copy_once(c->once, k->once, k->once_count);
        c->once_count = k->once_count;
        copy_even(&c->even, &k->even);
        if (!c->launch->function->code->fixed_count) copy_patterns(&c->steady.known, &k->steady);
    }
    pthread_mutex_unlock(&lock);
    return c->outputs;
}

static void forget(struct known *k)
{
    free(k->key);
    free(k->outputs);
    k->key = NULL;
    k->outputs = NULL;
}

/* The outputs are not the check's any longer. */
static void keep_new(struct simt_check *c)
{
    struct known *k = &kept[next++ % KEPT];
    forget(k);
    k->key = c->key;
    k->bytes = c->key_bytes;
    k->outputs = c->outputs;
    k->output_count = c->output_count;
    k->own_loads = c->own_loads;
    k->knows_inputs = c->knows_inputs;
    copy_once(k->once, c->once, c->once_count);
    k->once_count = c->once_count;
    copy_even(&k->even, &c->even);
    copy_patterns(&k->steady, &c->steady.known);
    c->key = NULL;
    c->outputs = NULL;
}

void simt_again_keep(struct simt_check *c)
{
    if (!c->key || !c->outputs || atomic_load(&c->no_memory)) return;
    pthread_mutex_lock(&lock);
    struct known *k = find(c->key, c->key_bytes);
    if (!k) {
        keep_new(c);
    } else { /* what more blocks are known to be right */
        if (atomic_load(&c->even.known.count) > atomic_load(&k->even.known.count))
            copy_patterns(&k->even.known, &c->even.known);
        if (atomic_load(&c->steady.known.count) > atomic_load(&k->steady.count))
            copy_patterns(&k->steady, &c->steady.known);
    }
    pthread_mutex_unlock(&lock);
}
