/* The order in which unknowns are eliminated: by the least degree, which is the number of others that an elimination
 * ties together, as Amestoy, Davis and Duff bound it (1996). What has been eliminated stays as one list of those that
 * it tied, an element; so the graph never takes more room than it had, but for these lists. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/sparse_lu.h"
#include "runtime/interrupt.h"

#define NARROW 8 /* matrices of a band this wide are eliminated as they are */

enum kind { UNKNOWN, ELEMENT, GONE };

struct graph {
    int32_t n;
    int64_t room, used;
    int32_t *pool;  /* of node i from start[i] on: its elements, then the unknowns beside it; of an element, its list */
    int64_t *start; /* of each node, as all that follow */
    int32_t *elements, *length, *degree;
    int32_t *weight;               /* unknowns that a node stands for, as they have the same neighbours; 0: it is out */
    int32_t *next, *before, *head; /* lists by degree */
    int32_t *member, *last;        /* those that a node stands for, behind it */
    int32_t *seen, *met,
        *beyond; /* by the step: is in the new element; is adjacent to one that is; how much else it has */
    int32_t *bucket, *hash, *left; /* nodes by their neighbours; those of a list that is being written */
    uint8_t *kind;
};

static bool allocate(struct graph *g)
{
    int32_t **const arrays[] = {&g->elements, &g->length, &g->degree, &g->weight, &g->next,
                                &g->before,   &g->head,   &g->member, &g->last,   &g->seen,
                                &g->met,      &g->beyond, &g->bucket, &g->hash,   &g->left};
    bool all = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        all &= (*arrays[i] = rt_alloc(((size_t)g->n + 1) * sizeof **arrays[i])) != NULL;
    g->start = rt_alloc(((size_t)g->n + 1) * sizeof *g->start);
    g->kind = rt_alloc((size_t)g->n + 1);
    g->pool = rt_alloc(((size_t)g->room + 1) * sizeof *g->pool);
    return all && g->start && g->kind && g->pool;
}

static void release(struct graph *g)
{
    void *const arrays[] = {g->elements, g->length, g->degree, g->weight, g->next, g->before,
                            g->head,     g->member, g->last,   g->seen,   g->met,  g->beyond,
                            g->bucket,   g->hash,   g->left,   g->start,  g->kind, g->pool};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
}

/* The neighbours of each node by the elements of the matrix and of its transpose. */
static void fill(struct graph *g, const int64_t *starts, const int32_t *indices)
{
    memset(g->length, 0, (size_t)g->n * sizeof *g->length);
    for (int32_t i = 0; i < g->n; i++)
        for (int64_t k = starts[i]; k < starts[i + 1]; k++)
            if (indices[k] != i) g->length[i]++, g->length[indices[k]]++;
    for (int32_t i = 0; i < g->n; i++) {
        g->start[i] = g->used;
        g->used += g->length[i];
        g->length[i] = 0;
        g->seen[i] = g->met[i] = -1;
    }
    for (int32_t i = 0; i < g->n; i++)
        for (int64_t k = starts[i]; k < starts[i + 1]; k++) {
            int32_t j = indices[k];
            if (j == i) continue;
            g->pool[g->start[i] + g->length[i]++] = j;
            g->pool[g->start[j] + g->length[j]++] = i;
        }
    for (int32_t i = 0; i < g->n; i++) { /* each of them once */
        int32_t *list = g->pool + g->start[i], kept = 0;
        for (int32_t k = 0; k < g->length[i]; k++) {
            if (g->seen[list[k]] == i) continue;
            g->seen[list[k]] = i;
            list[kept++] = list[k];
        }
        g->length[i] = g->degree[i] = kept;
    }
}

static void list_in(struct graph *g, int32_t i)
{
    int32_t d = g->degree[i], first = g->head[d];
    g->before[i] = -1;
    g->next[i] = first;
    if (first >= 0) g->before[first] = i;
    g->head[d] = i;
}

static void list_out(struct graph *g, int32_t i)
{
    if (g->next[i] >= 0) g->before[g->next[i]] = g->before[i];
    if (g->before[i] >= 0)
        g->next[g->before[i]] = g->next[i];
    else
        g->head[g->degree[i]] = g->next[i];
}

/* All unknowns are in lists by their degrees, but for those that most others are beside: these come last. */
static int32_t begin(struct graph *g, int32_t *order)
{
    int32_t dense = (int32_t)fmin(g->n, fmax(16, 10 * sqrt(g->n))), last = g->n;
    for (int32_t i = 0; i < g->n; i++) {
        g->head[i] = g->bucket[i] = g->member[i] = g->seen[i] = -1;
        g->elements[i] = 0;
        g->last[i] = i;
        g->weight[i] = 1;
        g->kind[i] = UNKNOWN;
    }
    for (int32_t i = 0; i < g->n; i++) {
        if (g->degree[i] <= dense) {
            list_in(g, i);
            continue;
        }
        g->weight[i] = 0;
        g->kind[i] = GONE;
        order[--last] = i;
    }
    return last;
}

/* Adds the unknowns of a list to that of the new element. */
static void gather(struct graph *g, int32_t p, int32_t step, int64_t from, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        int32_t i = g->pool[from + k];
        if (g->weight[i] == 0 || g->seen[i] == step) continue;
        g->seen[i] = step;
        list_out(g, i);
        g->degree[p] += g->weight[i];
        g->pool[g->used++] = i;
    }
}

/* Makes p an element, which takes the place of those that it is beside. False: there is no memory. */
static bool eliminate(struct graph *g, int32_t p, int32_t step)
{
    int64_t from = g->start[p], most = g->length[p];
    for (int32_t k = 0; k < g->elements[p]; k++) most += g->length[g->pool[from + k]];
    if (g->used + most > g->room) {
        int64_t room = 2 * g->room + most;
        int32_t *pool = rt_realloc(g->pool, (size_t)room * sizeof *pool);
        if (!pool) return false;
        g->pool = pool;
        g->room = room;
    }
    int64_t first = g->used;
    g->degree[p] = 0;
    for (int32_t k = 0; k < g->elements[p]; k++) {
        int32_t e = g->pool[from + k];
        if (g->kind[e] != ELEMENT) continue;
        gather(g, p, step, g->start[e], g->length[e]);
        g->kind[e] = GONE;
    }
    gather(g, p, step, from + g->elements[p], g->length[p] - g->elements[p]);
    g->kind[p] = ELEMENT;
    g->start[p] = first;
    g->length[p] = (int32_t)(g->used - first);
    return true;
}

/* What each element beside the new one has that is not in that: beyond[e]. */
static void measure(struct graph *g, int32_t p, int32_t step)
{
    for (int32_t k = 0; k < g->length[p]; k++) {
        int32_t i = g->pool[g->start[p] + k];
        for (int32_t m = 0; m < g->elements[i]; m++) {
            int32_t e = g->pool[g->start[i] + m];
            if (g->kind[e] != ELEMENT) continue;
            if (g->met[e] != step) g->beyond[e] = g->degree[e];
            g->met[e] = step;
            g->beyond[e] -= g->weight[i];
        }
    }
}

/* Writes the neighbours of i anew, in which the element p stands for what it covers. Returns how many others there are
 * at most beyond it; -1: none of any kind. */
static int32_t renew(struct graph *g, int32_t i, int32_t p, int32_t step)
{
    int32_t *list = g->pool + g->start[i], count = 0, kept = 0, others = 0;
    uint32_t hash = (uint32_t)p;
    for (int32_t k = g->elements[i]; k < g->length[i]; k++) {
        int32_t j = list[k];
        if (g->weight[j] == 0 || g->seen[j] == step) continue;
        g->left[kept++] = j;
        others += g->weight[j];
        hash += (uint32_t)j;
    }
    for (int32_t k = 0; k < g->elements[i]; k++) {
        int32_t e = list[k];
        if (g->kind[e] != ELEMENT) continue;
        if (g->beyond[e] == 0) { /* the new one has all of it */
            g->kind[e] = GONE;
            continue;
        }
        list[count++] = e;
        others += g->beyond[e];
        hash += (uint32_t)e;
    }
    bool alone = count == 0 && kept == 0;
    list[count++] = p;
    memcpy(list + count, g->left, (size_t)kept * sizeof *list);
    g->elements[i] = count;
    g->length[i] = count + kept;
    g->hash[i] = (int32_t)(hash % (uint32_t)g->n);
    return alone ? -1 : others;
}

/* Has node j the same neighbours as i, whose own are marked with `mark` in `met`? */
static bool is_twin(const struct graph *g, int32_t i, int32_t j, int32_t mark)
{
    const int32_t *list = g->pool + g->start[j];
    if (g->length[i] != g->length[j] || g->elements[i] != g->elements[j]) return false;
    for (int32_t k = 0; k < g->length[j]; k++)
        if (g->met[list[k]] != mark) return false;
    return true;
}

static void join(struct graph *g, int32_t i, int32_t j)
{
    g->member[g->last[i]] = j;
    g->last[i] = g->last[j];
    g->weight[i] += g->weight[j];
    g->weight[j] = 0;
    g->kind[j] = GONE;
}

/* Nodes of the element p that have the same neighbours become one. `mark` is a number that no step has. */
static void find_twins(struct graph *g, int32_t p, int32_t *mark)
{
    for (int32_t k = 0; k < g->length[p]; k++) {
        int32_t first = g->pool[g->start[p] + k];
        if (g->weight[first] == 0) continue;
        int32_t at = g->bucket[g->hash[first]];
        g->bucket[g->hash[first]] = -1;
        for (int32_t i = at; i >= 0; i = g->next[i]) {
            if (g->weight[i] == 0 || g->next[i] < 0) continue;
            --*mark;
            for (int32_t m = 0; m < g->length[i]; m++) g->met[g->pool[g->start[i] + m]] = *mark;
            for (int32_t j = g->next[i]; j >= 0; j = g->next[j])
                if (g->weight[j] > 0 && is_twin(g, i, j, *mark)) join(g, i, j);
        }
    }
}

/* Brings all that is beside the new element up to date. Returns how many unknowns p stands for now. */
static void update(struct graph *g, int32_t p, int32_t step, int32_t rest, int32_t *least, int32_t *mark)
{
    int32_t *list = g->pool + g->start[p], kept = 0, size = 0, own = g->weight[p];
    for (int32_t k = 0; k < g->length[p]; k++) {
        int32_t i = list[k], others = renew(g, i, p, step);
        if (others < 0) { /* it ties nothing more together: eliminated at once */
            own += g->weight[i];
            join(g, p, i);
            continue;
        }
        g->degree[i] = g->degree[i] < others ? g->degree[i] : others;
        g->next[i] = g->bucket[g->hash[i]];
        g->bucket[g->hash[i]] = i;
    }
    find_twins(g, p, mark);
    for (int32_t k = 0; k < g->length[p]; k++)
        if (g->weight[list[k]] > 0) {
            size += g->weight[list[k]];
            list[kept++] = list[k];
        }
    g->weight[p] = own;
    for (int32_t k = 0; k < kept; k++) {
        int32_t i = list[k];
        int64_t degree = (int64_t)g->degree[i] + size - g->weight[i], most = rest - own - g->weight[i];
        if (degree > most) degree = most;
        g->degree[i] = degree > 0 ? (int32_t)degree : 0;
        list_in(g, i);
        if (g->degree[i] < *least) *least = g->degree[i];
    }
    g->length[p] = kept;
    g->degree[p] = size;
    g->used = g->start[p] + kept;
    if (kept == 0) g->kind[p] = GONE;
}

static bool is_narrow(int32_t n, const int64_t *starts, const int32_t *indices)
{
    for (int32_t i = 0; i < n; i++)
        if (starts[i + 1] > starts[i] && (i - indices[starts[i]] > NARROW || indices[starts[i + 1] - 1] - i > NARROW))
            return false;
    return true;
}

enum rt_status kn_elimination_order(int32_t n, const int64_t *starts, const int32_t *indices, int32_t *order,
                                    struct rt_error *e)
{
    struct graph g = {.n = n, .room = 3 * starts[n]};
    if (is_narrow(n, starts, indices)) {
        for (int32_t i = 0; i < n; i++) order[i] = i;
        return RT_OK;
    }
    bool fits = allocate(&g);
    int32_t done = 0, least = 0, mark = -1, all = n;
    if (fits) {
        fill(&g, starts, indices);
        all = begin(&g, order);
        for (int32_t i = 0; i < n; i++) g.met[i] = -1;
    }
    for (int32_t step = 0; fits && done < all && !rt_interrupted(); step++) {
        while (g.head[least] < 0) least++;
        int32_t p = g.head[least];
        list_out(&g, p);
        int32_t own = g.weight[p];
        g.weight[p] = 0;
        fits = eliminate(&g, p, step);
        if (!fits) break;
        measure(&g, p, step);
        g.weight[p] = own;
        g.seen[p] = step; /* beside nothing any more */
        update(&g, p, step, all - done, &least, &mark);
        for (int32_t i = p; i >= 0; i = g.member[i]) order[done++] = i;
        g.weight[p] = 0;
    }
    release(&g);
    if (!fits) return rt_fail(e, RT_NOMEM, "out of memory for the order of %d unknowns", (int)n);
    return rt_stopped(e);
}
