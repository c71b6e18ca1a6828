/* tcgen05.mma: part of vector_ops.h. What its operands are and where they lie is found in ops_tcgen05.c. */

/* `width` columns of B as rows of them, so that the product's inner loop goes along N. */
static void turn_columns(const uint32_t *b, uint32_t k, uint32_t width, uint32_t *out)
{
    for (uint32_t c = 0; c < width; c++)
        for (uint32_t l = 0; l < k; l++) out[l * width + c] = b[c * k + l];
}

static void tensor_columns(const struct tensor_task *t, uint32_t first, uint32_t width)
{
    union {
        float f[TENSOR_LANES * 32];
        int32_t i[TENSOR_LANES * 32];
    } sums;
    uint32_t b[PRODUCT_MOST_K * 32];
    const struct matrix_mma shape = {.m = t->m, .n = width, .k = t->k};
    const float *a = t->memory->operands.f;
    turn_columns((const uint32_t *)a + (t->m + first) * t->k, t->k, width, b);
    simt_tensor_read(t, first, width, &sums);
    if (t->d_type == MATRIX_S32)
        integer_multiply(t->memory->operands.i, (const int32_t *)b, sums.i, &shape);
    else
        float_multiply(a, (const float *)(const void *)b, sums.f, &shape);
    simt_tensor_write(t, first, width, &sums);
}

OP(tensor_multiply)
{
    struct tensor_task t;
    if (!simt_tensor_begin(R, i, m, w, &t)) return EV_FAULT;
    for (uint32_t first = 0, width; first < t.n; first += width) {
        width = t.n - first >= 32 ? 32 : t.n - first >= 16 ? 16 : 8;
        tensor_columns(&t, first, width);
    }
    return EV_NEXT;
}

#define TENSOR_ROWS                                                                                                    \
    {                                                                                                                  \
        "+tcgen05_mma", "", tensor_multiply, NULL, 0                                                                   \
    }
