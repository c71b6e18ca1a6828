/* Matrix multiplication of the vector ops: part of vector_ops.h. Fragments are first spread into plain matrices, whose
 * rows of 8, 16 or 32 elements are then multiplied as vectors. Products of the narrow formats fit a float. */

#define MATRIX_MOST (16 * 256) /* elements of an operand: 16 x 256 bits of m16n8k256, 32 x 16 of m32n8k16 */

/* A register of all lanes to 32 * packed numbers in a row. */
static void unpack_floats(enum matrix_type type, const u32 *v, float *out)
{
    switch (type) {
    case MATRIX_F16:
        for (int l = 0; l < SIMT_WARP; l++) {
            out[2 * l] = widen_half(v[l] & 0xffff);
            out[2 * l + 1] = widen_half(v[l] >> 16);
        }
        break;
    case MATRIX_BF16:
        for (int l = 0; l < SIMT_WARP; l++) {
            uint32_t pair[2] = {v[l] << 16, v[l] & 0xffff0000u};
            memcpy(out + 2 * l, pair, 8);
        }
        break;
    case MATRIX_TF32:
        for (int l = 0; l < SIMT_WARP; l++) {
            uint32_t bits = v[l] & ~0x1fffu;
            memcpy(out + l, &bits, 4);
        }
        break;
    default:
        for (int l = 0; l < 4 * SIMT_WARP; l++) {
            uint8_t byte = (uint8_t)(v[l / 4] >> 8 * (l % 4));
            /* Both lists of formats have the same order. */
            out[l] = simt_narrow_to((enum narrow_format)(type - MATRIX_E4M3), type == MATRIX_E2M1 ? byte >> 2 : byte);
        }
    }
}
static void unpack_integers(enum matrix_type type, const u32 *v, int32_t *out)
{
    uint32_t bits = matrix_bits(type), packed = 32 / bits;
    bool is_signed = type == MATRIX_S8 || type == MATRIX_S4;
    for (uint32_t l = 0; l < SIMT_WARP; l++)
        for (uint32_t e = 0; e < packed; e++) {
            uint32_t x = v[l] << (32 - bits * (e + 1));
            *out++ = is_signed ? (int32_t)x >> (32 - bits) : (int32_t)(x >> (32 - bits));
        }
}
#define OPERAND_HEAD(name, T)                                                                                          \
    static void name##_operand(char *R, char which, enum matrix_type type, uint32_t rows, uint32_t k,                  \
                               const uint32_t *slots, T *out)
#define MATRIX_EACH_BLOCK(which, rows, k, packed) for (uint32_t r = 0; r < (rows) / 8 * ((k) / (4 * (packed))); r++)

/* The operands of an mma as plain matrices by rows. Those of B are turned in tiles of 4 x 4. */
#define OPERAND(name, T, unpack)                                                                                       \
    static void name##_turn(const T *in, uint32_t width, T *out, uint32_t stride)                                      \
    {                                                                                                                  \
        typedef T four __attribute__((vector_size(16), aligned(4), may_alias));                                        \
        for (uint32_t g = 0; g < 8; g += 4)                                                                            \
            for (uint32_t e = 0; e < width; e += 4) {                                                                  \
                four x[4], y[4];                                                                                       \
                for (int q = 0; q < 4; q++) x[q] = *(const four *)(const void *)(in + (g + (uint32_t)q) * width + e);  \
                y[0] = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);                                                \
                y[1] = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);                                                \
                y[2] = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);                                                \
                y[3] = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);                                                \
                x[0] = __builtin_shufflevector(y[0], y[1], 0, 1, 4, 5);                                                \
                x[1] = __builtin_shufflevector(y[0], y[1], 2, 3, 6, 7);                                                \
                x[2] = __builtin_shufflevector(y[2], y[3], 0, 1, 4, 5);                                                \
                x[3] = __builtin_shufflevector(y[2], y[3], 2, 3, 6, 7);                                                \
                for (int q = 0; q < 4; q++) *(four *)(void *)(out + (e + (uint32_t)q) * stride + g) = x[q];            \
            }                                                                                                          \
    }                                                                                                                  \
    OPERAND_HEAD(name, T)                                                                                              \
    {                                                                                                                  \
        uint32_t packed = matrix_packed(type), width = 4 * packed;                                                     \
        MATRIX_EACH_BLOCK(which, rows, k, packed)                                                                      \
        {                                                                                                              \
            T block[32 * 32];                                                                                          \
            struct matrix_block at = matrix_input_block(which, rows, k, packed, r);                                    \
            unpack(type, (const u32 *)(R + slots[r]), block);                                                          \
            if (which == 'b')                                                                                          \
                name##_turn(block, width, out + at.column * rows + at.row, rows);                                      \
            else                                                                                                       \
                for (uint32_t g = 0; g < 8; g++)                                                                       \
                    memcpy(out + (at.row + g) * k + at.column, block + g * width, width * sizeof(T));                  \
        }                                                                                                              \
    }
OPERAND(float, float, unpack_floats)
OPERAND(integer, int32_t, unpack_integers)
OPERAND_HEAD(double, double)
{
    MATRIX_EACH_BLOCK(which, rows, k, 1)
    {
        struct matrix_block at = matrix_input_block(which, rows, k, 1, r);
        const f64 *v = (const f64 *)(R + slots[r]);
        for (uint32_t l = 0; l < SIMT_WARP; l++) {
            uint32_t row = at.row + l / 4, column = at.column + l % 4;
            out[which == 'a' ? row * k + column : column * rows + row] = v[l];
        }
    }
    (void)type;
}

/* c += a * b; rows of n elements, `most` of them at once. */
#define MULTIPLY(name, T)                                                                                              \
    static inline __attribute__((always_inline)) void name##_rows(const T *a, const T *b, T *c, uint32_t m,            \
                                                                  const uint32_t n, uint32_t k, const uint32_t most)   \
    {                                                                                                                  \
        typedef T eight __attribute__((vector_size(32), aligned(4), may_alias));                                       \
        for (uint32_t i = 0; i < m; i += most) {                                                                       \
            eight sum[4][4];                                                                                           \
            for (uint32_t r = 0; r < most; r++) memcpy(sum[r], c + (i + r) * n, n * sizeof(T));                        \
            for (uint32_t l = 0; l < k; l++)                                                                           \
                for (uint32_t r = 0; r < most; r++)                                                                    \
                    for (uint32_t j = 0; j < n / 8; j++)                                                               \
                        sum[r][j] += a[(i + r) * k + l] * ((const eight *)(const void *)(b + l * n))[j];               \
            for (uint32_t r = 0; r < most; r++) memcpy(c + (i + r) * n, sum[r], n * sizeof(T));                        \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_multiply(const T *a, const T *b, T *c, const struct matrix_mma *x)                              \
    {                                                                                                                  \
        if (x->n == 8)                                                                                                 \
            name##_rows(a, b, c, x->m, 8, x->k, 4);                                                                    \
        else if (x->n == 16)                                                                                           \
            name##_rows(a, b, c, x->m, 16, x->k, 4);                                                                   \
        else                                                                                                           \
            name##_rows(a, b, c, x->m, 32, x->k, 2);                                                                   \
    }
MULTIPLY(float, float)
MULTIPLY(integer, int32_t)

/* An accumulator of floats as a plain matrix, and back. */
static void read_sums(char *R, enum matrix_type type, const struct matrix_mma *x, const uint32_t *slots, float *c)
{
    for (uint32_t p = 0; p < x->m * x->n / 64; p++) {
        struct matrix_block at = matrix_sum_block(x->m, x->n, p);
        float block[64];
        if (type == MATRIX_F16) {
            unpack_floats(MATRIX_F16, (const u32 *)(R + slots[p]), block);
        } else {
            const f32 *low = (const f32 *)(R + slots[2 * p]), *high = (const f32 *)(R + slots[2 * p + 1]);
            for (uint32_t l = 0; l < SIMT_WARP; l++) block[2 * l] = low[l], block[2 * l + 1] = high[l];
        }
        for (uint32_t g = 0; g < 8; g++) memcpy(c + (at.row + g) * x->n + at.column, block + 8 * g, 8 * sizeof *c);
    }
}
static void write_sums(char *R, enum matrix_type type, const struct matrix_mma *x, const uint32_t *slots,
                       const float *c)
{
    for (uint32_t p = 0; p < x->m * x->n / 64; p++) {
        struct matrix_block at = matrix_sum_block(x->m, x->n, p);
        float block[64];
        for (uint32_t g = 0; g < 8; g++) memcpy(block + 8 * g, c + (at.row + g) * x->n + at.column, 8 * sizeof *c);
        if (type == MATRIX_F16) {
            u32 *d = (u32 *)(R + slots[p]);
            for (uint32_t l = 0; l < SIMT_WARP; l++)
                d[l] = shorten_half(block[2 * l]) | shorten_half(block[2 * l + 1]) << 16;
        } else {
            f32 *low = (f32 *)(R + slots[2 * p]), *high = (f32 *)(R + slots[2 * p + 1]);
            for (uint32_t l = 0; l < SIMT_WARP; l++) low[l] = block[2 * l], high[l] = block[2 * l + 1];
        }
    }
}

static const struct matrix_mma *mma_of(const struct warp *w, const struct insn *i)
{
    return (const struct matrix_mma *)(const void *)(w->worker->program->extra + i->extra);
}

OP(mma_float)
{
    const struct matrix_mma *x = mma_of(w, i);
    const uint32_t *sd = x->slots, *sa = sd + x->d_count, *sb = sa + x->a_count, *sc = sb + x->b_count;
    float a[MATRIX_MOST], b[MATRIX_MOST], c[32 * 16];
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    float_operand(R, 'a', (enum matrix_type)x->a_type, x->m, x->k, sa, a);
    float_operand(R, 'b', (enum matrix_type)x->b_type, x->n, x->k, sb, b);
    read_sums(R, (enum matrix_type)x->c_type, x, sc, c);
    float_multiply(a, b, c, x);
    write_sums(R, (enum matrix_type)x->d_type, x, sd, c);
    return EV_NEXT;
}

/* The number of bits that two rows of bits share, to that of bits in which they differ. */
static void count_differing(const int32_t *a, const int32_t *b, int32_t *c, const struct matrix_mma *x)
{
    for (uint32_t r = 0; r < x->m; r++)
        for (uint32_t j = 0; j < x->n; j++) {
            int32_t ones = 0;
            for (uint32_t l = 0; l < x->k; l++) ones += a[r * x->k + l] + b[l * x->n + j];
            c[r * x->n + j] = ones - 2 * c[r * x->n + j];
        }
}

OP(mma_integer)
{
    const struct matrix_mma *x = mma_of(w, i);
    const uint32_t *sd = x->slots, *sa = sd + x->d_count, *sb = sa + x->a_count, *sc = sb + x->b_count;
    int32_t a[MATRIX_MOST], b[MATRIX_MOST], c[32 * 16] = {0};
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    integer_operand(R, 'a', (enum matrix_type)x->a_type, x->m, x->k, sa, a);
    integer_operand(R, 'b', (enum matrix_type)x->b_type, x->n, x->k, sb, b);
    integer_multiply(a, b, c, x); /* no product of these shapes overflows */
    if (x->flags & MATRIX_XOR) count_differing(a, b, c, x);
    for (uint32_t e = 0; e < x->m * x->n / 32; e++) {
        struct matrix_block at = matrix_sum_block(x->m, x->n, e / 2);
        u32 *d = (u32 *)(R + sd[e]);
        const u32 *s = (const u32 *)(R + sc[e]);
        for (uint32_t l = 0; l < SIMT_WARP; l++) {
            int32_t product = c[(at.row + l / 4) * x->n + at.column + 2 * (l % 4) + (e & 1)];
            d[l] = matrix_sum(s[l], (uint32_t)product, x->flags & MATRIX_SATURATES);
        }
    }
    return EV_NEXT;
}

/* c += a * b of rows of 8, one fused step after the other, as documented; in the rounding mode that is set. */
static __attribute__((noinline)) void double_rows(const double *a, const double *b, double *c, uint32_t m, uint32_t k)
{
    for (uint32_t r = 0; r < m; r++)
        for (uint32_t l = 0; l < k; l++)
            for (uint32_t j = 0; j < 8; j++) c[r * 8 + j] = __builtin_fma(a[r * k + l], b[l * 8 + j], c[r * 8 + j]);
}

OP(mma_double)
{
    const struct matrix_mma *x = mma_of(w, i);
    int old = FE_TONEAREST;
    int mode = i->flags & F_RZ ? FE_TOWARDZERO : i->flags & F_RM ? FE_DOWNWARD : i->flags & F_RP ? FE_UPWARD : old;
    const uint32_t *sd = x->slots, *sa = sd + x->d_count, *sb = sa + x->a_count, *sc = sb + x->b_count;
    double a[16 * 16], b[16 * 8], c[16 * 8];
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    double_operand(R, 'a', MATRIX_F64, x->m, x->k, sa, a);
    double_operand(R, 'b', MATRIX_F64, x->n, x->k, sb, b);
    for (uint32_t e = 0; e < x->m * x->n / 32; e++) {
        struct matrix_block at = matrix_sum_block(x->m, x->n, e / 2);
        const f64 *s = (const f64 *)(R + sc[e]);
        for (uint32_t l = 0; l < SIMT_WARP; l++) c[(at.row + l / 4) * x->n + at.column + 2 * (l % 4) + (e & 1)] = s[l];
    }
    if (mode != old) fesetround(mode);
    double_rows(a, b, c, x->m, x->k);
    if (mode != old) fesetround(old);
    for (uint32_t e = 0; e < x->m * x->n / 32; e++) {
        struct matrix_block at = matrix_sum_block(x->m, x->n, e / 2);
        f64 *d = (f64 *)(R + sd[e]);
        for (uint32_t l = 0; l < SIMT_WARP; l++) d[l] = c[(at.row + l / 4) * x->n + at.column + 2 * (l % 4) + (e & 1)];
    }
    return EV_NEXT;
}

#define MATRIX_ROWS                                                                                                    \
    {"+mma.float", "", mma_float, NULL, 0}, {"+mma.integer", "", mma_integer, NULL, 0},                                \
    {                                                                                                                  \
        "+mma.double", "", mma_double, NULL, 0                                                                         \
    }
