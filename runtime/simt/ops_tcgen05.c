/* Tensor memory and the products of matrices that add up there (tcgen05). The layouts of operands in shared memory and
 * of registers are those of the PTX ISA's chapter on tcgen05; where its words leave them to figures, as CUTLASS has
 * them. What is allocated and was not written yet is all ones, which is no number in any format. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/rounded.h"
#include "runtime/simt/tcgen05.h"

#define OP(name) static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)
#define LINE     16u /* bytes, of which a row of A and a column of B have two */
#define ALL      UINT32_C(0xffff)

static const void *extra_of(const struct warp *w, const struct insn *i)
{
    return w->worker->program->extra + i->extra;
}

/* ---- allocation ---- */
void simt_tensor_start(struct worker *k)
{
    if (k->tensors) k->tensors->allocated = 0, k->tensors->relinquished = false;
}

bool simt_tensor_end(struct worker *k)
{
    if (!k->tensors || !k->tensors->allocated) return true;
    simt_fault_set(&k->warps[0], 0, SIMT_FAULT_ADDRESS,
                   "the block ended with %d columns of tensor memory that it allocated; free them by tcgen05.dealloc, "
                   "else no other block gets them",
                   TENSOR_PART * __builtin_popcount(k->tensors->allocated));
    return false;
}

/* Whole parts of a number of columns; 0: a fault is set. */
static uint32_t parts_of(struct warp *w, uint32_t lane, uint32_t columns)
{
    if (columns >= TENSOR_PART && columns <= TENSOR_COLUMNS && !(columns & (columns - 1))) return columns / TENSOR_PART;
    simt_fault_set(w, (int)lane, SIMT_FAULT_ADDRESS,
                   "%s: expected a power of 2 from 32 to 512 columns of tensor memory, got %u",
                   w->worker->program->places[w->pc].opcode, columns);
    return 0;
}

static struct tensor_memory *want_memory(struct warp *w, uint32_t lane)
{
    struct worker *k = w->worker;
    if (!k->tensors) k->tensors = rt_calloc(1, sizeof *k->tensors);
    if (!k->tensors) simt_fault_set(w, (int)lane, SIMT_FAULT_NOMEM, "out of memory for the tensor memory of a block");
    return k->tensors;
}

static void fill_columns(struct tensor_memory *t, uint32_t column, uint32_t columns)
{
    for (uint32_t l = 0; l < TENSOR_LANES; l++) memset(&t->cells[l][column], 0xff, columns * sizeof **t->cells);
}

/* Where the address of what is allocated goes. */
static uint64_t result_at(char *R, const struct insn *i, uint32_t lane)
{
    return i->flags & F_GENERIC ? u64_at(R, i->a)[lane] + (uint64_t)i->imm
                                : simt_window_address(u32_at(R, i->a)[lane], i->imm);
}

OP(allocate)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(m), columns = u32_at(R, i->b)[lane];
    const bool generic = i->flags & F_GENERIC;
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    struct tensor_memory *t = want_memory(w, lane);
    uint32_t parts = t ? parts_of(w, lane, columns) : 0, first = 0, wanted;
    if (!parts) return EV_FAULT;
    if (t->relinquished)
        return simt_fault_set(
            w, (int)lane, SIMT_FAULT_ADDRESS,
            "tcgen05.alloc behind tcgen05.relinquish_alloc_permit, by which the block has said that it "
            "allocates no more");
    wanted = ALL >> (16 - parts);
    while (first + parts <= 16 && t->allocated & wanted << first) first += parts;
    if (first + parts > 16)
        return simt_fault_set(w, (int)lane, SIMT_FAULT_DEADLOCK,
                              "tcgen05.alloc waits for ever for %u columns: of the 512 of tensor memory the block has "
                              "allocated %d",
                              columns, TENSOR_PART * __builtin_popcount(t->allocated));
    uint32_t *to =
        simt_lane_address(w, i, (int)lane, generic ? PTX_GENERIC : PTX_SHARED, result_at(R, i, lane), 4, true);
    if (!to) return EV_FAULT;
    t->allocated |= wanted << first;
    fill_columns(t, first * TENSOR_PART, columns);
    *to = first * TENSOR_PART;
    return EV_NEXT;
}

OP(release)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(m), address = u32_at(R, i->a)[lane];
    const uint32_t first = address / TENSOR_PART;
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    struct tensor_memory *t = w->worker->tensors;
    uint32_t parts = parts_of(w, lane, u32_at(R, i->b)[lane]), gone = ALL >> (16 - parts) << first % 16;
    if (!parts) return EV_FAULT;
    if (!t || address % (parts * TENSOR_PART) || first + parts > 16 || (t->allocated & gone) != gone)
        return simt_fault_set(w, (int)lane, SIMT_FAULT_ADDRESS,
                              "tcgen05.dealloc: at the address 0x%x of tensor memory no %u columns were allocated",
                              address, parts * TENSOR_PART);
    t->allocated &= ~gone;
    return EV_NEXT;
}

OP(relinquish)
{
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    struct tensor_memory *t = want_memory(w, (uint32_t)__builtin_ctz(m));
    if (!t) return EV_FAULT;
    t->relinquished = true;
    return EV_NEXT;
}

/* Are all these columns allocated? False: a fault is set. */
static bool has_columns(struct warp *w, uint32_t lane, uint32_t column, uint32_t count)
{
    const struct tensor_memory *t = w->worker->tensors;
    const char *opcode = w->worker->program->places[w->pc].opcode;
    for (uint32_t c = column; c < column + count; c++) {
        if (t && c < TENSOR_COLUMNS && t->allocated >> c / TENSOR_PART & 1) continue;
        simt_fault_set(w, (int)lane, SIMT_FAULT_ADDRESS,
                       c < TENSOR_COLUMNS
                           ? "%s touches columns %u to %u of tensor memory, of which %u was not allocated"
                           : "%s touches columns %u to %u of tensor memory, which has 512 (from 0 on), not %u",
                       opcode, column, column + count - 1, c);
        return false;
    }
    return true;
}

/* ---- between registers and tensor memory ---- */
struct cell {
    uint32_t lane, column; /* from the instruction's address on */
};
/* What register r of lane l is, where each column is one register. Two neighbours of .16x256b are a lane's, as of the
 * sums of mma.sync. */
static struct cell cell_of(const struct tensor_move *x, uint32_t l, uint32_t r)
{
    switch ((enum tensor_shape)x->shape) {
    case TENSOR_16X32X2: return (struct cell){l % 16, r};
    case TENSOR_16X64: return (struct cell){l / 4 + 8 * (l & 1), 2 * r + (l >> 1 & 1)};
    case TENSOR_16X128: return (struct cell){l / 4 + 8 * (r & 1), r / 2 * 4 + l % 4};
    case TENSOR_16X256: return (struct cell){l / 4 + 8 * (r >> 1 & 1), r / 4 * 8 + l % 4 * 2 + (r & 1)};
    default: return (struct cell){l, r};
    }
}

/* Columns that it touches from its address on, without the second half of .16x32bx2. */
static uint32_t columns_of(const struct tensor_move *x)
{
    static const uint8_t lanes[] = {
        [TENSOR_32X32] = 1, [TENSOR_16X32X2] = 1, [TENSOR_16X64] = 2, [TENSOR_16X128] = 2, [TENSOR_16X256] = 2};
    return x->count * lanes[x->shape] << x->halves;
}

static bool may_move(struct warp *w, const struct tensor_move *x, uint32_t address)
{
    const uint32_t lane = address >> 16, column = address & 0xffff, first = (uint32_t)w->index % WARP_GROUP * SIMT_WARP;
    const bool half = x->shape != TENSOR_32X32 && lane == first + 16;
    if (lane != first && !half) {
        simt_fault_set(
            w, 0, SIMT_FAULT_ADDRESS,
            "%s: warp %d of the block reaches lanes %u to %u of tensor memory, by addresses of lane %u%s, and "
            "this one is of lane %u",
            w->worker->program->places[w->pc].opcode, w->index, first, first + SIMT_WARP - 1, first,
            x->shape == TENSOR_32X32 ? "" : " or the 16th behind it", lane);
        return false;
    }
    return has_columns(w, 0, column, columns_of(x)) &&
           (x->shape != TENSOR_16X32X2 || has_columns(w, 0, column + x->offset, columns_of(x)));
}

/* One register of all lanes; n: its number. */
static void move_register(struct tensor_memory *t, const struct tensor_move *x, uint32_t address, uint32_t *v,
                          uint32_t n, bool store)
{
    for (uint32_t l = 0; l < SIMT_WARP; l++) {
        struct cell c = cell_of(x, l, n);
        uint32_t second = x->shape == TENSOR_16X32X2 && l >= 16 ? x->offset : 0;
        uint32_t *at = &t->cells[(address >> 16) + c.lane][(address & 0xffff) + second + (c.column << x->halves)];
        if (!x->halves)
            *(store ? at : &v[l]) = store ? v[l] : *at;
        else if (store)
            at[0] = v[l] & 0xffff, at[1] = v[l] >> 16;
        else
            v[l] = (at[0] & 0xffff) | at[1] << 16;
    }
}

static enum event move(char *R, const struct insn *i, uint32_t m, struct warp *w, bool store)
{
    const struct tensor_move *x = extra_of(w, i);
    enum event ev = simt_matrix_sync(R, i, m, w);
    if (ev != EV_NEXT) return ev;
    uint32_t address = u32_at(R, i->a)[0] + (uint32_t)i->imm;
    if (!may_move(w, x, address)) return EV_FAULT;
    for (uint32_t k = 0; k < x->count; k++)
        move_register(w->worker->tensors, x, address, u32_at(R, x->slots[k]), k, store);
    return EV_NEXT;
}
OP(load)
{
    return move(R, i, m, w, false);
}
OP(store)
{
    return move(R, i, m, w, true);
}

/* ---- products ---- */
#define FIELD(v, at, bits) ((v) >> (at) & ((1u << (bits)) - 1))

/* The formats of A and B by their numbers, and how many bits of shared memory an element has. */
static bool read_format(uint32_t kind, uint32_t number, enum matrix_type *out)
{
    static const struct {
        uint8_t kind, number, type;
    } formats[] = {{PRODUCT_F16, 0, MATRIX_F16},     {PRODUCT_F16, 1, MATRIX_BF16},    {PRODUCT_TF32, 2, MATRIX_TF32},
                   {PRODUCT_F8F6F4, 0, MATRIX_E4M3}, {PRODUCT_F8F6F4, 1, MATRIX_E5M2}, {PRODUCT_F8F6F4, 3, MATRIX_E2M3},
                   {PRODUCT_F8F6F4, 4, MATRIX_E3M2}, {PRODUCT_F8F6F4, 5, MATRIX_E2M1}, {PRODUCT_I8, 0, MATRIX_U8},
                   {PRODUCT_I8, 1, MATRIX_S8}};
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].kind == kind && formats[k].number == number) {
            *out = (enum matrix_type)formats[k].type;
            return true;
        }
    return false;
}

static uint32_t packed_bits(enum matrix_type t)
{
    return t == MATRIX_E2M3 || t == MATRIX_E3M2 ? 6 : t == MATRIX_E2M1 ? 4 : matrix_bits(t);
}

/* The fields of an instruction descriptor that all kinds have. False: these mean nothing, or nothing here. */
static bool read_description(uint32_t v, struct tensor_task *t)
{
    static const uint8_t sums[] = {MATRIX_F16, MATRIX_F32, MATRIX_S32};
    const uint32_t kind = t->x->kind, sum = FIELD(v, 4, 2);
    if (!read_format(kind, FIELD(v, 7, 3), &t->a_type) || !read_format(kind, FIELD(v, 10, 3), &t->b_type)) return false;
    t->n = FIELD(v, 17, 6) * 8;
    t->m = FIELD(v, 24, 5) * 16;
    t->k = PRODUCT_BYTES * 8 / matrix_bits(t->a_type);
    t->saturates = v >> 3 & 1;
    if (sum > 2 || (sum == 2) != (kind == PRODUCT_I8) ||
        (sum == 0 && (kind == PRODUCT_TF32 || t->a_type == MATRIX_BF16)))
        return false;
    t->d_type = (enum matrix_type)sums[sum];
    bool whole = kind == PRODUCT_I8, alike = matrix_bits(t->a_type) == matrix_bits(t->b_type);
    bool turned = (v >> 15 & 1 && packed_bits(t->a_type) < 8) || (v >> 16 & 1 && packed_bits(t->b_type) < 8);
    if ((t->saturates && !whole) || (FIELD(v, 13, 2) && whole) || turned || !alike || FIELD(v, 0, 3)) return false;
    return (t->m == 64 || t->m == 128) && t->n >= 8 && t->n <= PRODUCT_MOST_N && t->n % (t->m == 128 ? 16 : 8) == 0;
}

/* What the swizzle of a descriptor is to a shared_matrix; below 0: none that is known here. */
static int swizzle_of(uint64_t descriptor)
{
    static const int8_t bits[] = {0, -1, 3, -1, 2, -1, 1, -1};
    return bits[descriptor >> 61];
}

/* An operand in shared memory by its descriptor. False: a fault is set. */
static bool read_layout(struct warp *w, uint32_t lane, char which, uint64_t descriptor, struct shared_matrix *out)
{
    const int bits = swizzle_of(descriptor);
    *out = simt_shared_matrix(descriptor, (uint32_t)bits);
    if ((descriptor >> 46 & 7) != 1)
        simt_fault_set(
            w, (int)lane, SIMT_FAULT_ADDRESS,
            "tcgen05.mma: the descriptor of %c has %u in bits 46 to 48, where those of tcgen05 have 1 (is it one "
            "of wgmma, or another operand?)",
            which, (unsigned)(descriptor >> 46 & 7));
    else if (bits < 0 || descriptor >> 49 & 15)
        simt_fault_set(
            w, (int)lane, SIMT_FAULT_ADDRESS,
            "tcgen05.mma: the software GPU does not know the swizzle, the base offset or the absolute leading "
            "offset in the descriptor of %c (0x%llx); use swizzles of 32, 64 or 128 bytes or none, and let the "
            "matrix begin at a multiple of 1024 bytes",
            which, (unsigned long long)descriptor);
    else
        return true;
    return false;
}

/* The numbers that a line has, `step` apart in `out`. */
static void unpack_line(enum matrix_type type, const void *from, void *out, uint32_t step)
{
    uint8_t line[LINE];
    float *f = out;
    int32_t *n = out;
    memcpy(line, from, LINE);
    if (packed_bits(type) < 8) simt_unpack_line(line, packed_bits(type));
    for (uint32_t e = 0; e < LINE * 8 / matrix_bits(type); e++) {
        uint16_t half = (uint16_t)(line[2 * e % LINE] | line[2 * e % LINE + 1] << 8);
        uint32_t word;
        switch (type) {
        case MATRIX_F16: f[e * step] = simt_half_to(half); break;
        case MATRIX_BF16: f[e * step] = simt_bfloat_to(half); break;
        case MATRIX_TF32:
            memcpy(&word, line + 4 * e, sizeof word);
            word &= ~UINT32_C(0x1fff);
            memcpy(&f[e * step], &word, sizeof word);
            break;
        case MATRIX_U8: n[e * step] = line[e]; break;
        case MATRIX_S8: n[e * step] = (int8_t)line[e]; break;
        default: f[e * step] = simt_narrow_to((enum narrow_format)(type - MATRIX_E4M3), line[e]);
        }
    }
}

/* How the lines of an operand in shared memory lie. */
struct operand {
    struct shared_matrix at;
    bool turned;            /* lines go along M or N */
    uint32_t rows, k, each; /* of M or N; numbers in a line */
};

static uint32_t line_count(const struct operand *o)
{
    return o->rows * o->k / o->each;
}

/* Where line n is, and the row and the place along K of its first number. */
static uint32_t line_at(const struct operand *o, uint32_t n, uint32_t *row, uint32_t *k)
{
    if (o->turned) {
        *row = n / o->k * o->each;
        *k = n % o->k;
        return simt_shared_line(&o->at, true, n / o->k, *k / 8, *k % 8);
    }
    *row = n / 2;
    *k = n % 2 * o->each;
    return simt_shared_line(&o->at, false, *row / 8, n % 2, *row % 8);
}

/* To `out`, row by row. False: a fault is set. */
static bool read_operand(struct warp *w, const struct insn *i, uint32_t lane, const struct operand *o,
                         enum matrix_type type, float *out)
{
    for (uint32_t n = 0; n < line_count(o); n++) {
        uint32_t row, k, at = line_at(o, n, &row, &k);
        const void *line = simt_lane_address(w, i, (int)lane, PTX_SHARED, at, LINE, false);
        if (!line) return false;
        unpack_line(type, line, out + row * o->k + k, o->turned ? o->k : 1);
    }
    return true;
}

/* Where row r of D, or of A in tensor memory, is: 64 rows are 16 of each warp's lanes. */
static uint32_t lane_of(const struct tensor_task *t, uint32_t r)
{
    return t->m == 64 ? r / 16 * SIMT_WARP + r % 16 : r;
}

static bool read_a_here(char *R, uint32_t l, struct warp *w, const struct tensor_task *t)
{
    const uint32_t address = u32_at(R, t->x->a)[l], column = address & 0xffff, lane = address >> 16;
    if (packed_bits(t->a_type) < 8 || lane)
        return simt_fault_set(
                   w, (int)l, SIMT_FAULT_ADDRESS,
                   "tcgen05.mma: A in tensor memory begins at lane 0 and has elements of 8 bits or more here; it "
                   "begins at lane %u and has %u",
                   lane, packed_bits(t->a_type)),
               false;
    if (!has_columns(w, l, column, PRODUCT_BYTES / 4)) return false;
    for (uint32_t r = 0; r < t->m; r++)
        for (uint32_t h = 0; h < 2; h++)
            unpack_line(t->a_type, &t->memory->cells[lane_of(t, r)][column + 4 * h],
                        t->memory->operands.f + r * t->k + h * t->k / 2, 1);
    return true;
}

static struct operand operand_of(uint32_t rows, uint32_t k, enum matrix_type type, bool turned)
{
    return (struct operand){.rows = rows, .k = k, .each = LINE * 8 / matrix_bits(type), .turned = turned};
}

/* The descriptor of what lane l asks for, and where D is. False: a fault is set. */
static bool read_task(char *R, uint32_t l, struct warp *w, struct tensor_task *t)
{
    const uint32_t described = u32_at(R, t->x->described)[l], d = u32_at(R, t->x->d)[l];
    if (!read_description(described, t))
        return simt_fault_set(
                   w, (int)l, SIMT_FAULT_ADDRESS,
                   "tcgen05.mma: the instruction descriptor 0x%08x asks for what this kind does not have, or the "
                   "software GPU does not (M = %u, N = %u, formats %u and %u, of sums %u)",
                   described, FIELD(described, 24, 5) * 16, FIELD(described, 17, 6) * 8, FIELD(described, 7, 3),
                   FIELD(described, 10, 3), FIELD(described, 4, 2)),
               false;
    t->lane = d >> 16;
    t->column = d & 0xffff;
    if (t->lane && (t->m != 64 || t->lane != 16))
        return simt_fault_set(
                   w, (int)l, SIMT_FAULT_ADDRESS,
                   "tcgen05.mma: D of %u rows begins at lane 0%s of tensor memory, and its address is of lane %u", t->m,
                   t->m == 64 ? " or 16" : "", t->lane),
               false;
    for (uint32_t k = 0; k < 4; k++) t->masks[k] = t->x->masked ? u32_at(R, t->x->masks[k])[l] : 0;
    t->adds = *u32_at(R, t->x->adds) >> l & 1;
    return has_columns(w, l, t->column, t->n);
}

bool simt_tensor_begin(char *R, const struct insn *i, uint32_t m, struct warp *w, struct tensor_task *t)
{
    const uint32_t l = (uint32_t)__builtin_ctz(m);
    t->x = extra_of(w, i);
    if (m & (m - 1))
        return simt_fault_set(
                   w, (int)l, SIMT_FAULT_BARRIER,
                   "tcgen05.mma begins a product for each thread that executes it, and %d threads of a warp do; "
                   "let one of them, as elect.sync chooses it",
                   __builtin_popcount(m)),
               false;
    t->memory = w->worker->tensors;
    if (!read_task(R, l, w, t)) return false;
    const uint32_t described = u32_at(R, t->x->described)[l];
    float *a = t->memory->operands.f, *b = a + t->m * t->k;
    struct operand o = operand_of(t->n, t->k, t->b_type, described >> 16 & 1);
    if (!read_layout(w, l, 'B', u64_at(R, t->x->b)[l], &o.at) || !read_operand(w, i, l, &o, t->b_type, b)) return false;
    o = operand_of(t->m, t->k, t->a_type, described >> 15 & 1);
    if (t->x->a_here
            ? !read_a_here(R, l, w, t)
            : !read_layout(w, l, 'A', u64_at(R, t->x->a)[l], &o.at) || !read_operand(w, i, l, &o, t->a_type, a))
        return false;
    bool negates = (described >> 13 ^ described >> 14) & 1;
    for (uint32_t k = 0; negates && k < t->m * t->k; k++) a[k] = -a[k];
    return true;
}

void simt_tensor_read(const struct tensor_task *t, uint32_t first, uint32_t width, void *out)
{
    const float scale = 1.0f / (float)(1u << t->x->scale);
    memset(out, 0, (size_t)t->m * width * sizeof(float));
    for (uint32_t r = 0; r < t->m && t->adds && t->d_type != MATRIX_S32; r++) {
        const uint32_t *cells = &t->memory->cells[t->lane + lane_of(t, r)][t->column + first];
        float *to = (float *)out + r * width;
        memcpy(to, cells, width * sizeof *to);
        for (uint32_t c = 0; c < width; c++)
            to[c] = scale * (t->d_type == MATRIX_F16 ? simt_half_to((uint16_t)cells[c]) : to[c]);
    }
}

void simt_tensor_write(const struct tensor_task *t, uint32_t first, uint32_t width, const void *from)
{
    for (uint32_t r = 0; r < t->m; r++) {
        const uint32_t lane = t->lane + lane_of(t, r), *words = (const uint32_t *)from + r * width;
        const float *numbers = (const float *)from + r * width;
        uint32_t *cells = &t->memory->cells[lane][t->column + first];
        if (t->masks[lane / 32] >> lane % 32 & 1) continue;
        for (uint32_t c = 0; c < width; c++)
            cells[c] = t->d_type == MATRIX_F32   ? words[c]
                       : t->d_type == MATRIX_F16 ? simt_half_from((double)numbers[c], 0)
                                                 : matrix_sum(t->adds ? cells[c] : 0, words[c], t->saturates);
    }
}

/* ---- for observers ---- */
bool simt_is_tensor_access(const struct insn *i)
{
    return i->run == allocate || simt_is_tensor_product(i);
}

bool simt_is_tensor_move(const struct insn *i)
{
    return i->run == load || i->run == store;
}

void simt_tensor_columns(char *R, const struct insn *i, const struct warp *w, uint32_t *column, uint32_t *count)
{
    const struct tensor_move *x = extra_of(w, i);
    *column = (u32_at(R, i->a)[0] + (uint32_t)i->imm) & 0xffff;
    *count = columns_of(x) + (x->shape == TENSOR_16X32X2 ? x->offset : 0);
}

static void add_lines(struct operand o, uint64_t descriptor, bool *mixed, struct tensor_lines *out)
{
    if (swizzle_of(descriptor) < 0) return; /* a fault */
    o.at = simt_shared_matrix(descriptor, (uint32_t)swizzle_of(descriptor));
    *mixed = o.at.bits;
    for (uint32_t n = 0, row, k; n < line_count(&o); n++) out->at[out->count++] = line_at(&o, n, &row, &k);
}

void simt_tensor_lines(char *R, const struct insn *i, uint32_t l, const struct warp *w, struct tensor_lines *out)
{
    struct tensor_task t = {.x = extra_of(w, i)};
    *out = (struct tensor_lines){.bytes = LINE};
    if (i->run == allocate) {
        out->bytes = 4;
        out->count = 1;
        out->at[0] = (uint32_t)result_at(R, i, l);
        return;
    }
    const uint32_t described = u32_at(R, t.x->described)[l];
    if (!read_description(described, &t)) return; /* a fault */
    out->column = u32_at(R, t.x->d)[l] & 0xffff;
    out->columns = t.m == TENSOR_LANES ? t.n : 0;
    add_lines(operand_of(t.n, t.k, t.b_type, described >> 16 & 1), u64_at(R, t.x->b)[l], &out->mixed[0], out);
    out->of_b = out->count;
    if (!t.x->a_here)
        add_lines(operand_of(t.m, t.k, t.a_type, described >> 15 & 1), u64_at(R, t.x->a)[l], &out->mixed[1], out);
}

static const struct op_row rows[] = {
    {"+tcgen05_alloc", "", allocate, NULL, 0},        {"+tcgen05_dealloc", "", release, NULL, 0},
    {"+tcgen05_relinquish", "", relinquish, NULL, 0}, {"+tcgen05_load", "", load, NULL, 0},
    {"+tcgen05_store", "", store, NULL, 0},
};
const struct op_table simt_ops_tcgen05 = {rows, sizeof rows / sizeof *rows};
