#include "kernels/label.h"
#include <string.h>

/* Until the end labels[p] is the element, from 1, that p belongs to, itself where it is the first of its shape. */
static int32_t first_of(int32_t *labels, int32_t p)
{
    while (labels[p] != p + 1) {
        labels[p] = labels[labels[p] - 1]; /* half the way next time */
        p = labels[p] - 1;
    }
    return p;
}

static void join(int32_t *labels, int32_t p, int32_t q)
{
    if (labels[p] == labels[q]) return;
    p = first_of(labels, p);
    q = first_of(labels, q);
    if (p < q)
        labels[q] = p + 1;
    else
        labels[p] = q + 1;
}

/* A neighbour that comes before an element: steps along the axes, -1 to 1, and how far that is in memory. */
struct before {
    int step[4];
    int64_t away;
};

/* The neighbours, of two opposite ones that which comes before. *left is whether the one beside an element on its row
 * is among them, which then is left out. Returns how many. */
static int find_before(int ndim, const int64_t *shape, int count, const int64_t (*place)[4], struct before *out,
                       bool *left)
{
    int found = 0;
    *left = false;
    for (int k = 0; k < count; k++) {
        int first = 0, sign;
        while (first < ndim - 1 && place[k][first] == 1) first++;
        if (place[k][first] == 1) continue; /* the element itself */
        if (first == ndim - 1) {
            *left = true;
            continue;
        }
        sign = place[k][first] < 1 ? 1 : -1;
        struct before b = {.away = 0};
        for (int i = 0; i < ndim; i++) {
            b.step[i] = sign * (int)(place[k][i] - 1);
            b.away = b.away * shape[i] + b.step[i];
        }
        int same = 0;
        while (same < found && memcmp(out[same].step, b.step, sizeof b.step) != 0) same++;
        out[same] = b;
        found += same == found;
    }
    return found;
}

/* A row of elements, and which neighbours they have before them. */
struct row {
    int64_t begin, length;
    int axis;                    /* that it lies along: the last one */
    bool left;                   /* the one beside an element is a neighbour */
    const struct before *before; /* the others, `count` of them */
    int count;
};

/* Joins the elements of a row with those before them. What is joined already by the elements to the left of both is
 * passed over. */
static void join_row(const bool *mask, int32_t *labels, const struct row *row)
{
    for (int64_t i = 0; i < row->length; i++) {
        const int64_t p = row->begin + i;
        if (!mask[p]) {
            labels[p] = 0;
            continue;
        }
        const bool beside = row->left && i > 0 && mask[p - 1];
        labels[p] = beside ? labels[p - 1] : (int32_t)p + 1;
        for (int k = 0; k < row->count; k++) {
            const int64_t to = i + row->before[k].step[row->axis], q = p + row->before[k].away;
            if (to < 0 || to >= row->length || !mask[q] || (beside && to > 0 && mask[q - 1])) continue;
            join(labels, (int32_t)p, (int32_t)q);
        }
    }
}

int32_t kn_label(const bool *mask, int ndim, const int64_t *shape, int count, const int64_t (*place)[4],
                 int32_t *labels)
{
    struct before all[81], here[81];
    int64_t at[4] = {0}, size = 1, n = shape[ndim - 1];
    int32_t shapes = 0;
    bool left;
    const int found = find_before(ndim, shape, count, place, all, &left);
    for (int i = 0; i < ndim; i++) size *= shape[i];
    for (int64_t begin = 0; begin < size; begin += n) {
        int inside = 0;
        for (int k = 0; k < found; k++) {
            bool there = true;
            for (int i = 0; i < ndim - 1; i++) {
                const int64_t to = at[i] + all[k].step[i];
                there = there && to >= 0 && to < shape[i];
            }
            if (there) here[inside++] = all[k];
        }
        join_row(mask, labels, &(struct row){begin, n, ndim - 1, left, here, inside});
        for (int i = ndim - 2; i >= 0 && ++at[i] == shape[i]; i--) at[i] = 0;
    }
    for (int32_t p = 0; p < size; p++) /* what an element leads to comes before it, and has its number then */
        if (mask[p]) labels[p] = labels[p] == p + 1 ? -++shapes : labels[labels[p] - 1];
    for (int32_t p = 0; p < size; p++) labels[p] = -labels[p];
    return shapes;
}
