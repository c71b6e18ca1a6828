#include "kernels/sparse_lu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/interrupt.h"

#define DIAGONAL 0.1  /* of the greatest element of a column, is enough for the diagonal one to be the pivot */
#define OFTEN    1024 /* columns between two looks at whether to stop */

/* The columns that are factored are the rows of the matrix. Gilbert and Peierls (1988): which elements of a column
 * there will be is found by following those of L, in an order in which each comes behind those that it depends on. */
struct factoring {
    struct kn_lu *lu;
    const struct kn_csr_host *a;
    double *x;        /* the column, all zeros between two of them */
    int32_t *place;   /* of each column of the matrix, the pivot that it has become; -1: none yet */
    int32_t *reached; /* from `top` on: the elements of the column in that order */
    int32_t *stack;   /* of the way there */
    int64_t *at;      /* how far each of these is looked through */
    int32_t *mark;    /* the last column that has reached it */
};

void kn_lu_release(struct kn_lu *lu)
{
    void *const all[] = {lu->rows,         lu->columns,      lu->pivots,        lu->lower.starts, lu->lower.indices,
                         lu->lower.values, lu->upper.starts, lu->upper.indices, lu->upper.values};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    rt_memory_held_elsewhere(-lu->bytes);
    *lu = (struct kn_lu){0};
}

/* Says how much memory the factors take. */
static void count_bytes(struct kn_lu *lu)
{
    const int64_t element = sizeof *lu->lower.indices + sizeof *lu->lower.values;
    const int64_t row = 2 * sizeof *lu->lower.starts + sizeof *lu->rows + sizeof *lu->columns + sizeof *lu->pivots;
    lu->bytes = (lu->lower.room + lu->upper.room) * element + lu->n * row;
    rt_memory_held_elsewhere(lu->bytes);
}

static bool allocate_columns(struct kn_lu_columns *c, int64_t n, int64_t room)
{
    c->room = room;
    c->starts = rt_alloc(((size_t)n + 1) * sizeof *c->starts);
    c->indices = rt_alloc(((size_t)room + 1) * sizeof *c->indices);
    c->values = rt_alloc(((size_t)room + 1) * sizeof *c->values);
    if (c->starts) c->starts[0] = 0;
    return c->starts && c->indices && c->values;
}

/* Room for as many more elements behind the first `used`. */
static bool reserve(struct kn_lu_columns *c, int64_t used, int64_t more)
{
    if (used + more <= c->room) return true;
    int64_t room = 2 * c->room + more;
    int32_t *indices = rt_realloc(c->indices, (size_t)room * sizeof *indices);
    if (indices) c->indices = indices;
    double *values = rt_realloc(c->values, (size_t)room * sizeof *values);
    if (values) c->values = values;
    if (!indices || !values) return false;
    c->room = room;
    return true;
}

static bool allocate(struct factoring *f, int64_t n, int64_t count)
{
    struct kn_lu *lu = f->lu;
    size_t words = ((size_t)n + 1) * sizeof(int32_t);
    lu->n = n;
    lu->rows = rt_alloc(words);
    lu->columns = rt_alloc(words);
    lu->pivots = rt_alloc(((size_t)n + 1) * sizeof *lu->pivots);
    f->x = rt_alloc(((size_t)n + 1) * sizeof *f->x);
    f->place = rt_alloc(words);
    f->reached = rt_alloc(words);
    f->stack = rt_alloc(words);
    f->mark = rt_alloc(words);
    f->at = rt_alloc(((size_t)n + 1) * sizeof *f->at);
    bool columns = allocate_columns(&lu->lower, n, 4 * count + n) & allocate_columns(&lu->upper, n, 4 * count + n);
    if (!columns || !lu->rows || !lu->columns || !lu->pivots || !f->x || !f->place || !f->reached || !f->stack ||
        !f->mark || !f->at)
        return false;
    for (int64_t i = 0; i < n; i++) {
        f->x[i] = 0;
        f->place[i] = f->mark[i] = -1;
    }
    return true;
}

/* Follows the element i of column k to all that it leads to; they come in front of those that were reached before. */
static int32_t follow(struct factoring *f, int32_t i, int32_t k, int32_t top)
{
    const struct kn_lu_columns *l = &f->lu->lower;
    int32_t depth = 0;
    f->stack[0] = i;
    f->mark[i] = k;
    f->at[0] = f->place[i] < 0 ? 0 : l->starts[f->place[i]];
    while (depth >= 0) {
        int32_t node = f->stack[depth], place = f->place[node];
        int64_t at = f->at[depth], end = place < 0 ? at : l->starts[place + 1];
        while (at < end && f->mark[l->indices[at]] == k) at++;
        if (at == end) {
            f->reached[--top] = node;
            depth--;
            continue;
        }
        int32_t next = l->indices[at];
        f->at[depth++] = at + 1;
        f->mark[next] = k;
        f->stack[depth] = next;
        f->at[depth] = f->place[next] < 0 ? 0 : l->starts[f->place[next]];
    }
    return top;
}

/* Takes from column k what the columns before it have of it; its elements that belong to them go to U. False: one of
 * them is no number, or infinite. */
static bool take_off(struct factoring *f, int32_t k, int32_t top)
{
    struct kn_lu *lu = f->lu;
    int64_t used = lu->upper.starts[k];
    for (int32_t m = top; m < lu->n; m++) {
        int32_t i = f->reached[m], j = f->place[i];
        if (j < 0) continue;
        double v = f->x[i];
        f->x[i] = 0;
        if (v == 0) continue;
        if (!isfinite(v)) return false;
        lu->upper.indices[used] = j;
        lu->upper.values[used++] = v;
        for (int64_t p = lu->lower.starts[j]; p < lu->lower.starts[j + 1]; p++)
            f->x[lu->lower.indices[p]] -= lu->lower.values[p] * v;
    }
    lu->upper.starts[k + 1] = used;
    return true;
}

#define NONE     (-1) /* all are 0 */
#define INFINITE (-2) /* there is something that is no number, or infinite */

/* The pivot among what is left: the greatest, or that on the diagonal of the matrix where it is not much less. */
static int32_t choose(const struct factoring *f, int32_t diagonal, int32_t k, int32_t top)
{
    int32_t best = NONE;
    double most = 0;
    for (int32_t m = top; m < f->lu->n; m++) {
        int32_t i = f->reached[m];
        if (f->place[i] >= 0) continue;
        double size = fabs(f->x[i]);
        if (!isfinite(size)) return INFINITE;
        if (size > most) {
            most = size;
            best = i;
        }
    }
    bool good =
        best >= 0 && f->place[diagonal] < 0 && f->mark[diagonal] == k && fabs(f->x[diagonal]) >= DIAGONAL * most;
    return good ? diagonal : best;
}

static void put_lower(struct factoring *f, int32_t k, int32_t top, int32_t pivot)
{
    struct kn_lu *lu = f->lu;
    int64_t used = lu->lower.starts[k];
    lu->pivots[k] = f->x[pivot];
    lu->columns[k] = pivot;
    f->x[pivot] = 0;
    for (int32_t m = top; m < lu->n; m++) {
        int32_t i = f->reached[m];
        double v = f->x[i];
        if (f->place[i] >= 0 || i == pivot) continue;
        f->x[i] = 0;
        if (v == 0) continue;
        lu->lower.indices[used] = i;
        lu->lower.values[used++] = v / lu->pivots[k];
    }
    f->place[pivot] = k;
    lu->lower.starts[k + 1] = used;
}

static enum rt_status factor_column(struct factoring *f, int32_t k, struct rt_error *e)
{
    struct kn_lu *lu = f->lu;
    int32_t row = lu->rows[k], top = (int32_t)lu->n;
    const double *data = f->a->data;
    for (int64_t p = f->a->starts[row]; p < f->a->starts[row + 1]; p++) {
        int32_t i = f->a->indices[p];
        f->x[i] = data[p];
        if (f->mark[i] != k) top = follow(f, i, k, top);
    }
    int64_t more = lu->n - top;
    if (!reserve(&lu->upper, lu->upper.starts[k], more) || !reserve(&lu->lower, lu->lower.starts[k], more))
        return rt_fail(e, RT_NOMEM,
                       "out of memory for the factors of a sparse matrix, of which %d of %lld rows are done", (int)k,
                       (long long)lu->n);
    int32_t pivot = take_off(f, k, top) ? choose(f, row, k, top) : INFINITE;
    if (pivot == INFINITE)
        return rt_fail(e, RT_INVALID, "the matrix has elements that are not finite, or become so, in row %d",
                       (int)row + 1);
    if (pivot == NONE)
        return rt_fail(e, RT_INVALID, "the matrix has no inverse: row %d is a sum of others", (int)row + 1);
    put_lower(f, k, top, pivot);
    return RT_OK;
}

enum rt_status kn_lu_factor(const struct kn_csr *a, struct kn_lu *lu, struct rt_error *e)
{
    struct kn_csr_host h = {0};
    struct factoring f = {.lu = lu, .a = &h};
    *lu = (struct kn_lu){0};
    if (a->rows != a->columns)
        return rt_fail(e, RT_INVALID, "the matrix must be square, and has %lld rows and %lld columns",
                       (long long)a->rows, (long long)a->columns);
    enum rt_status status = kn_csr_read(a, RT_FLOAT64, &h, e);
    if (status == RT_OK && !allocate(&f, a->rows, h.starts[a->rows]))
        status = rt_fail(e, RT_NOMEM, "out of memory for the factors of a sparse matrix");
    if (status == RT_OK) status = kn_elimination_order((int32_t)a->rows, h.starts, h.indices, lu->rows, e);
    for (int32_t k = 0; k < a->rows && status == RT_OK; k++) {
        status = factor_column(&f, k, e);
        if (status == RT_OK && k % OFTEN == 0 && rt_interrupted()) status = rt_fail(e, RT_INTERRUPTED, "interrupted");
    }
    if (status == RT_OK) {
        int64_t used = lu->lower.starts[lu->n];
        for (int64_t p = 0; p < used; p++) lu->lower.indices[p] = f.place[lu->lower.indices[p]];
        count_bytes(lu);
    }
    void *const all[] = {f.x, f.place, f.reached, f.stack, f.mark, f.at};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    kn_csr_release(&h.held);
    return status;
}

void kn_lu_solve(const struct kn_lu *lu, double *x, double *work)
{
    for (int64_t k = 0; k < lu->n; k++) {
        double v = x[lu->rows[k]];
        for (int64_t p = lu->upper.starts[k]; p < lu->upper.starts[k + 1]; p++)
            v -= lu->upper.values[p] * work[lu->upper.indices[p]];
        work[k] = v / lu->pivots[k];
    }
    for (int64_t k = lu->n - 1; k >= 0; k--) {
        double v = work[k];
        for (int64_t p = lu->lower.starts[k]; p < lu->lower.starts[k + 1]; p++)
            v -= lu->lower.values[p] * work[lu->lower.indices[p]];
        work[k] = v;
        x[lu->columns[k]] = v;
    }
}
