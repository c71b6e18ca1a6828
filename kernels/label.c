#include "kernels/label.h"

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
    p = first_of(labels, p);
    q = first_of(labels, q);
    if (p < q)
        labels[q] = p + 1;
    else
        labels[p] = q + 1;
}

int32_t kn_label(const bool *mask, int ndim, const int64_t *shape, int count, const int64_t (*place)[4],
                 int32_t *labels)
{
    int64_t at[4] = {0}, size = 1;
    int32_t shapes = 0;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    for (int32_t p = 0; p < size; p++) labels[p] = mask[p] ? p + 1 : 0;
    for (int32_t p = 0; p < size; p++) {
        for (int k = 0; mask[p] && k < count; k++) {
            int64_t q = 0;
            bool inside = true;
            for (int i = 0; i < ndim; i++) {
                int64_t to = at[i] + place[k][i] - 1;
                inside = inside && to >= 0 && to < shape[i];
                q = q * shape[i] + to;
            }
            if (inside && mask[q]) join(labels, p, (int32_t)q);
        }
        for (int i = ndim - 1; i >= 0 && ++at[i] == shape[i]; i--) at[i] = 0;
    }
    for (int32_t p = 0; p < size; p++) /* what an element leads to comes before it, and has its number then */
        if (mask[p]) labels[p] = labels[p] == p + 1 ? -++shapes : labels[labels[p] - 1];
    for (int32_t p = 0; p < size; p++) labels[p] = -labels[p];
    return shapes;
}
