/* Matrix fragments between registers and memory: wmma.load and wmma.store, ldmatrix, stmatrix, movmatrix. Memory is
 * touched in pieces of 16 bytes, whose alignment all of them ask for. */
#include <string.h>
#include "runtime/simt/matrix.h"
#include "runtime/simt/rounded.h"
#include "runtime/simt/tensor_map.h"

#define OP(name)  static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)
#define PIECE     16u
#define MOST_LINE 256 /* bytes */

enum event simt_matrix_sync(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    uint32_t ready;
    enum event ev = simt_sync(w, u32_at(R, i->c), m, &ready);
    if (ev != EV_NEXT || m == FULL) return ev;
    return simt_fault_set(w, __builtin_ctz(m), SIMT_FAULT_BARRIER,
                          "%s is executed by the lanes 0x%08x of a warp, but needs all 32; use whole warps",
                          w->worker->program->places[w->pc].opcode, m);
}

/* `bytes` bytes at an address as lane `lane` sees it, to or from `text`. */
static bool move_line(struct warp *w, const struct insn *i, int lane, enum ptx_space space, uint64_t address,
                      uint8_t *text, uint32_t bytes)
{
    bool store = i->flags & F_STORE;
    uint32_t piece = bytes < PIECE ? bytes : PIECE;
    for (uint32_t at = 0; at < bytes; at += piece) {
        char *p = simt_lane_address(w, i, lane, space, address + at, piece, store);
        if (!p) return false;
        if (store)
            memcpy(p, text + at, piece);
        else
            memcpy(text + at, p, piece);
    }
    return true;
}

static uint64_t address_of(char *R, const struct insn *i, enum ptx_space space, uint32_t lane)
{
    if (space == PTX_SHARED) return simt_window_address(u32_at(R, i->a)[lane], i->imm);
    return u64_at(R, i->a)[lane] + (uint64_t)i->imm;
}

/* ---- wmma: lines of memory to and from registers ---- */
#define INLINE static inline __attribute__((always_inline))

/* A register of A or B holds 16 bytes of each of 8 rows, of f64 32. */
static void copy_rows(char *R, uint32_t slot, uint8_t lines[][MOST_LINE], uint32_t row, size_t at, size_t bytes)
{
    for (uint32_t g = 0; g < 8; g++) memcpy(R + slot + g * bytes, lines[row + g] + at, bytes);
}
/* The same when lines are columns. */
INLINE void turn_rows(char *R, uint32_t slot, uint8_t lines[][MOST_LINE], uint32_t row, uint32_t column, uint32_t bytes)
{
    uint32_t width = bytes == 8 ? 4 : 16 / bytes;
    for (uint32_t g = 0; g < 8; g++)
        for (uint32_t e = 0; e < width; e++)
            memcpy(R + slot + (size_t)(g * width + e) * bytes, lines[column + e] + (size_t)(row + g) * bytes, bytes);
}

static void fill_input(char *R, const struct matrix_move *x, uint8_t lines[][MOST_LINE])
{
    enum matrix_type type = (enum matrix_type)x->type;
    uint32_t bits = matrix_bits(type), packed = matrix_packed(type), rows = x->which == 'a' ? x->m : x->n;
    uint32_t own = rows / 8 * (x->k / (4 * packed)); /* f16 has more registers than it needs: copies */
    for (uint32_t r = 0; r < x->count; r++) {
        struct matrix_block b = matrix_input_block((char)x->which, rows, x->k, packed, r % own);
        if (r >= own)
            memcpy(R + x->slots[r], R + x->slots[r % own], 4 * SIMT_WARP);
        else if (x->along)
            copy_rows(R, x->slots[r], lines, b.row, (size_t)b.column * bits / 8, bits == 64 ? 32 : 16);
        else if (bits == 8)
            turn_rows(R, x->slots[r], lines, b.row, b.column, 1);
        else if (bits == 16)
            turn_rows(R, x->slots[r], lines, b.row, b.column, 2);
        else if (bits == 32)
            turn_rows(R, x->slots[r], lines, b.row, b.column, 4);
        else
            turn_rows(R, x->slots[r], lines, b.row, b.column, 8);
    }
}

/* Where in memory's lines element h (0 or 1) of a lane is, in a block of an accumulator. */
INLINE uint8_t *sum_at(const struct matrix_move *x, uint8_t lines[][MOST_LINE], struct matrix_block b, uint32_t lane,
                       uint32_t h, uint32_t bytes)
{
    uint32_t row = b.row + lane / 4, column = b.column + 2 * (lane % 4) + h;
    return x->along ? lines[row] + (size_t)column * bytes : lines[column] + (size_t)row * bytes;
}
/* Between an accumulator's registers and lines. Two halves are the two halves of a register. */
INLINE void move_sums(char *R, const struct matrix_move *x, uint8_t lines[][MOST_LINE], uint32_t bytes, bool store)
{
    for (uint32_t p = 0; p < x->m * x->n / 64; p++) {
        struct matrix_block b = matrix_sum_block(x->m, x->n, p);
        for (uint32_t h = 0; h < 2; h++) {
            char *slot = bytes == 2 ? R + x->slots[p] + 2 * h : R + x->slots[2 * p + h];
            size_t step = bytes == 2 ? 4 : bytes;
            for (uint32_t l = 0; l < SIMT_WARP; l++) {
                uint8_t *at = sum_at(x, lines, b, l, h, bytes);
                if (store)
                    memcpy(at, slot + l * step, bytes);
                else
                    memcpy(slot + l * step, at, bytes);
            }
        }
    }
}
static void move_accumulator(char *R, const struct matrix_move *x, uint8_t lines[][MOST_LINE], bool store)
{
    uint32_t bits = matrix_bits((enum matrix_type)x->type);
    if (bits == 16)
        move_sums(R, x, lines, 2, store);
    else if (bits == 32)
        move_sums(R, x, lines, 4, store);
    else
        move_sums(R, x, lines, 8, store);
}

OP(wmma_move)
{
    const struct matrix_move *x = (const void *)(w->worker->program->extra + i->extra);
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    uint8_t lines[32][MOST_LINE];
    uint32_t bits = matrix_bits((enum matrix_type)x->type);
    uint64_t address = address_of(R, i, (enum ptx_space)x->space, 0);
    uint64_t stride = x->stride ? u32_at(R, x->stride)[0] : x->length;
    if (i->flags & F_STORE) move_accumulator(R, x, lines, true);
    for (uint32_t k = 0; k < x->lines; k++, address += stride * bits / 8)
        if (!move_line(w, i, 0, (enum ptx_space)x->space, address, lines[k], x->length * bits / 8)) return EV_FAULT;
    if (i->flags & F_STORE) return EV_NEXT;
    if (x->which == 'c')
        move_accumulator(R, x, lines, false);
    else
        fill_input(R, x, lines);
    return EV_NEXT;
}

/* ---- rows of 16 bytes, of which lane l has the l-th's address: of 8 x 8 matrices of 16-bit elements, lane 8j + r that
 * of row r of the j-th ---- */
static void transpose(const uint32_t *in, uint32_t *out)
{
    uint16_t from[8][8], to[8][8];
    memcpy(from, in, sizeof from);
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++) to[c][r] = from[r][c];
    memcpy(out, to, sizeof to);
}

/* ---- matrices of 16 rows of 8-bit elements, transposed ----
 * A lane's registers hold of rows g and g + 8, where g is its number / 4, some columns, which are lines in memory: two
 * neighbours in a register, the lower two bytes of row g, the upper two of row g + 8. Of a matrix of 16 columns two
 * registers of a lane hold four neighbours; of matrices of 8 columns, of which a register holds two, lines follow each
 * other. PTX's manual does not say in words which byte holds what; this is how CUTLASS uses it. */
static void move_tall(uint32_t *slot, uint8_t lines[][PIECE], uint32_t first, uint32_t step, bool store)
{
    for (uint32_t l = 0; l < SIMT_WARP; l++)
        for (uint32_t e = 0; e < 4; e++) {
            uint8_t *at = &lines[first + step * (l % 4) + e % 2][l / 4 + 8 * (e / 2)], *byte = (uint8_t *)&slot[l] + e;
            if (store)
                *at = *byte;
            else
                *byte = *at;
        }
}

void simt_unpack_line(uint8_t line[PIECE], uint32_t bits)
{
    uint8_t packed[PIECE];
    memcpy(packed, line, PIECE);
    for (uint32_t e = 0; e < PIECE; e++) {
        uint32_t at = e * bits, two = packed[at / 8] | (uint32_t)packed[at / 8 + 1] << 8;
        line[e] = (uint8_t)(two >> at % 8 & ((1u << bits) - 1));
    }
}

/* Register k of ldmatrix or stmatrix to or from the lines that it is part of. */
static void move_rows(uint32_t *slot, const struct insn *i, uint32_t k, uint8_t lines[][PIECE])
{
    uint32_t *rows = (uint32_t *)(void *)lines[8 * k];
    bool store = i->flags & F_STORE;
    switch ((enum matrix_rows)i->mode) {
    case ROWS_AS_THEY_ARE: memcpy(store ? rows : slot, store ? slot : rows, 4 * SIMT_WARP); break;
    case ROWS_TRANSPOSED: transpose(store ? slot : rows, store ? rows : slot); break;
    case ROWS_TALL: move_tall(slot, lines, 8 * k, 2, store); break;
    case ROWS_SQUARE: move_tall(slot, lines, 16 * (k / 2) + 2 * (k % 2), 4, store); break;
    }
}

/* ldmatrix and stmatrix: i->count registers a lane; i->mode is how lines become them, i->size has how many bits of
 * memory an element of 8 bits comes from when not from so many. */
OP(matrix_rows)
{
    const uint32_t *slots = w->worker->program->extra + i->extra;
    enum ptx_space space = i->flags & F_GENERIC ? PTX_GENERIC : PTX_SHARED;
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    _Alignas(4) uint8_t lines[SIMT_WARP][PIECE] = {{0}};
    for (uint32_t k = 0; k < i->count && i->flags & F_STORE; k++) move_rows(u32_at(R, slots[k]), i, k, lines);
    for (uint32_t l = 0; l < 8 * (uint32_t)i->count; l++) {
        if (!move_line(w, i, (int)l, space, address_of(R, i, space, l), lines[l], PIECE)) return EV_FAULT;
        if (i->size) simt_unpack_line(lines[l], i->size);
    }
    for (uint32_t k = 0; k < i->count && !(i->flags & F_STORE); k++) move_rows(u32_at(R, slots[k]), i, k, lines);
    return EV_NEXT;
}

OP(matrix_transpose)
{
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    uint32_t in[SIMT_WARP];
    memcpy(in, R + i->a, sizeof in);
    transpose(in, u32_at(R, i->d));
    return EV_NEXT;
}

/* ---- operands in shared memory ---- */
/* The layouts are those of PTX's chapters on wgmma and tcgen05. */
struct shared_matrix simt_shared_matrix(uint64_t descriptor, uint32_t bits)
{
    return (struct shared_matrix){.start = (uint32_t)(descriptor & 0x3fff) << 4,
                                  .leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
                                  .stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4,
                                  .bits = bits,
                                  .width = 16u << bits};
}

uint32_t simt_shared_line(const struct shared_matrix *x, bool turned, uint32_t block, uint32_t deep, uint32_t r)
{
    uint32_t at = x->start + r * x->width, across = x->width / PIECE;
    if (!turned)
        at += block * x->stride + deep * (x->bits ? PIECE : x->leading);
    else if (x->bits)
        at += block % across * PIECE + block / across * x->leading + deep * x->stride;
    else
        at += block * x->stride + deep * x->leading;
    return simt_swizzled(at, x->bits);
}

/* Lane 8j + r gets the address of line r of the j-th matrix that the ldmatrix behind it loads: of A for rows 0 to 7,
 * and 8 to 15, and the same further along K; of B both along K, and the same for the next eight columns. */
OP(wgmma_rows)
{
    static const uint8_t swizzles[] = {0, 3, 2, 1};
    uint64_t descriptor = u64_at(R, i->a)[__builtin_ctz(m)];
    const struct shared_matrix x = simt_shared_matrix(descriptor, swizzles[descriptor >> 62]);
    uint32_t rank = (uint32_t)w->index % WARP_GROUP, *d = u32_at(R, i->d);
    bool b = i->mode & WGMMA_OF_B, turned = i->mode & WGMMA_TURNED;
    if ((uint32_t)w->index - rank + WARP_GROUP > w->worker->warp_count)
        return simt_fault_set(w, __builtin_ctz(m), SIMT_FAULT_BARRIER,
                              "wgmma is executed by a warp group, four warps that follow each other, and the block "
                              "has %u warps; use blocks of a multiple of 128 threads",
                              w->worker->warp_count);
    if (descriptor >> 49 & 7)
        return simt_fault_set(w, __builtin_ctz(m), SIMT_FAULT_ADDRESS,
                              "wgmma: the software GPU does not know base offsets in matrix descriptors; let the "
                              "matrix begin at a multiple of 1024 bytes");
    EACH_LANE(l, m)
    {
        uint32_t j = l / 8, block = b ? (uint32_t)i->imm + (j >> 1) : 2 * rank + (j & 1);
        d[l] = simt_shared_line(&x, turned, block, b ? j & 1 : j >> 1, l % 8);
    }
    return EV_NEXT;
}

/* b registers of sums become 0 where the predicate a does not hold. */
OP(wgmma_scale)
{
    const uint32_t *slots = w->worker->program->extra + i->extra;
    uint32_t scale = *u32_at(R, i->a);
    for (uint32_t k = 0; k < i->b; k++) EACH_LANE(l, m & ~scale) u32_at(R, slots[k])[l] = 0;
    return EV_NEXT;
}

/* ---- mma.m8n8k4 of f16: four products, each by the eight lanes of a quad pair, 4p to 4p + 3 and 16 above ---- */
struct quads {
    float a[8][4], b[4][8], c[8][8];
};

/* Element e of a lane's accumulator. */
static float *quad_sum(struct quads *q, enum matrix_type type, uint32_t lane, uint32_t e)
{
    uint32_t high = lane / 16 * 4;
    if (type == MATRIX_F16) return &q->c[lane % 4 + high][e];
    return &q->c[(lane & 1) + (e & 2) + high][(e & 4) + (lane & 2) + (e & 1)];
}

static float half_of(char *R, uint32_t slot, uint32_t lane, uint32_t which)
{
    return simt_half_to((uint16_t)(u32_at(R, slot)[lane] >> 16 * which));
}

static void read_quads(char *R, const struct matrix_mma *x, uint32_t lane, struct quads *q)
{
    const uint32_t *sa = x->slots + x->d_count, *sb = sa + x->a_count, *sc = sb + x->b_count;
    uint32_t at = lane % 4, high = lane / 16 * 4;
    for (uint32_t e = 0; e < 4; e++) {
        float a = half_of(R, sa[e / 2], lane, e % 2), b = half_of(R, sb[e / 2], lane, e % 2);
        *(x->flags & MATRIX_A_COLUMNS ? &q->a[e + high][at] : &q->a[at + high][e]) = a;
        *(x->flags & MATRIX_B_COLUMNS ? &q->b[e][at + high] : &q->b[at][e + high]) = b;
    }
    for (uint32_t e = 0; e < 8; e++) {
        float *c = quad_sum(q, (enum matrix_type)x->c_type, lane, e);
        if (x->c_type == MATRIX_F16)
            *c = half_of(R, sc[e / 2], lane, e % 2);
        else
            memcpy(c, &u32_at(R, sc[e])[lane], sizeof *c);
    }
}

static void write_quads(char *R, const struct matrix_mma *x, uint32_t lane, struct quads *q)
{
    for (uint32_t e = 0; e < 8; e++) {
        const float *d = quad_sum(q, (enum matrix_type)x->d_type, lane, e);
        if (x->d_type == MATRIX_F16) {
            uint32_t *to = &u32_at(R, x->slots[e / 2])[lane], half = simt_half_from((double)*d, 0);
            *to = e % 2 ? (*to & 0xffff) | half << 16 : half;
        } else {
            memcpy(&u32_at(R, x->slots[e])[lane], d, sizeof *d);
        }
    }
}

OP(mma_quads)
{
    const struct matrix_mma *x = (const void *)(w->worker->program->extra + i->extra);
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    for (uint32_t p = 0; p < 4; p++) {
        struct quads q;
        for (uint32_t l = 4 * p; l < 4 * p + 4; l++) read_quads(R, x, l, &q), read_quads(R, x, l + 16, &q);
        for (int r = 0; r < 8; r++)
            for (int c = 0; c < 8; c++)
                for (int k = 0; k < 4; k++) q.c[r][c] += q.a[r][k] * q.b[k][c];
        for (uint32_t l = 4 * p; l < 4 * p + 4; l++) write_quads(R, x, l, &q), write_quads(R, x, l + 16, &q);
    }
    return EV_NEXT;
}

/* ---- for observers ---- */
static void add_line(struct simt_pieces *p, uint64_t address, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += p->bytes) p->at[p->count++] = address + at;
}

bool simt_is_matrix_move(const struct insn *i)
{
    return i->run == wmma_move || i->run == matrix_rows;
}

void simt_matrix_pieces(const struct warp *w, char *R, const struct insn *i, struct simt_pieces *out)
{
    const uint32_t *extra = w->worker->program->extra + i->extra;
    out->count = 0;
    if (i->run == matrix_rows) {
        out->space = i->flags & F_GENERIC ? PTX_GENERIC : PTX_SHARED;
        uint32_t line = i->size ? PIECE * i->size / 8u : PIECE; /* without padding */
        out->bytes = line == PIECE / 2 || line == PIECE ? line : 4;
        out->line = i->size ? PIECE : 0;
        out->parts = line / out->bytes;
        out->slots = extra;
        out->slot_count = i->count;
        out->wide = false;
        for (uint32_t l = 0; l < 8 * (uint32_t)i->count; l++) add_line(out, address_of(R, i, out->space, l), line);
        return;
    }
    const struct matrix_move *x = (const void *)extra;
    uint32_t bits = matrix_bits((enum matrix_type)x->type), line = x->length * bits / 8;
    uint64_t stride = (x->stride ? u32_at(R, x->stride)[0] : x->length) * (uint64_t)bits / 8;
    out->space = (enum ptx_space)x->space;
    out->bytes = line < PIECE ? line : PIECE;
    out->slots = x->slots;
    out->slot_count = x->count;
    out->wide = x->type == MATRIX_F64;
    out->line = out->parts = 0;
    uint64_t address = address_of(R, i, out->space, 0);
    for (uint32_t k = 0; k < x->lines; k++, address += stride) add_line(out, address, line);
}

static const struct op_row rows[] = {
    {"+wmma", "", wmma_move, NULL, 0},        {"+matrix_rows", "", matrix_rows, NULL, 0},
    {"+mma.quads", "", mma_quads, NULL, 0},   {"+matrix_transpose", "", matrix_transpose, NULL, 0},
    {"+wgmma_rows", "", wgmma_rows, NULL, 0}, {"+wgmma_scale", "", wgmma_scale, NULL, 0},
};
const struct op_table simt_ops_matrix = {rows, sizeof rows / sizeof *rows};
