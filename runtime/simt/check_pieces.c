/* Accesses that are not one of each lane: fragments of matrices, which a warp moves as a whole, copies of as many bytes
 * as a register says. They are looked at in pieces of 16 bytes or less.
 *
 * Which lane moves which piece of a fragment is left to the hardware. Here the address says it, so that fragments which
 * a warp loads and stores in one place are in order, as they are for all that programs can tell. */
#include <stdlib.h>
#include "runtime/simt/async.h"
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/matrix.h"
#include "runtime/simt/tcgen05.h"
#include "runtime/simt/tensor_map.h"

#define PIECE     16u
#define ALL_BYTES UINT32_MAX

bool simt_check_in_pieces(const struct insn *i)
{
    return simt_is_matrix_move(i) || simt_is_tensor_access(i) || simt_is_tensor_move(i) || simt_is_fill(i) ||
           simt_is_bulk(i);
}

/* ---- matrices ---- */
/* Neighbours go together. */
static bool check_matrix(struct access *a, const struct simt_pieces *p)
{
    bool fine = true;
    a->bytes = p->bytes;
    for (uint32_t k = 0; k < p->count;) {
        uint32_t m = 0, lane = (uint32_t)(p->at[k] / p->bytes) % SIMT_WARP;
        do {
            a->at[lane] = p->at[k];
            m |= 1u << lane++;
            k++;
        } while (k < p->count && lane < SIMT_WARP && p->at[k] == p->at[k - 1] + p->bytes);
        fine &= simt_check_lanes(a, m, p->space) == m;
    }
    return fine;
}

/* All or nothing: a fragment of which a part is wrong is left out. */
static void check_fragment(struct access *a, uint32_t *m)
{
    struct simt_pieces p;
    if (*m != FULL) return; /* it waits, or is a fault */
    simt_matrix_pieces(a->warp, a->regs, a->insn, &p);
    if (check_matrix(a, &p)) return;
    for (uint32_t k = 0; k < p.slot_count && a->kind == ACCESS_READ; k++)
        fill_lanes(a->regs, p.slots[k], p.wide, FULL, 0);
    *m = 0;
}

/* ---- copies ---- */
static uint64_t address_in(const struct access *a, uint32_t slot, enum ptx_space space, uint32_t lane)
{
    return space == PTX_SHARED ? u32_at(a->regs, slot)[lane] : u64_at(a->regs, slot)[lane];
}

/* n bytes by one lane; of each 16 those that `mask` has. */
static bool check_stretch(struct access *a, uint32_t lane, enum ptx_space space, uint64_t address, uint32_t n,
                          uint32_t piece, uint32_t mask)
{
    bool fine = true;
    a->bytes = piece;
    for (uint32_t at = 0; at < n && fine; at += piece) {
        if (!(mask >> at % 16 & 1)) continue;
        a->at[lane] = address + at;
        fine = simt_check_lanes(a, 1u << lane, space) != 0;
    }
    return fine;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Rows of shared memory that an operand's n lines are: all that a swizzle mixes them with, else stretches as long, as
 * far apart. False: they are none such. */
static bool find_rows(uint32_t *at, uint32_t n, uint32_t bytes, bool mixed, struct product_rows *out)
{
    qsort(at, n, sizeof *at, by_number);
    *out = (struct product_rows){.at = at[0], .rows = 1, .bytes = mixed ? at[n - 1] + bytes - at[0] : bytes};
    uint32_t k = 1, length = 0;
    while (!mixed && k < n && at[k] == at[k - 1] + bytes) k++;
    if (!mixed) out->bytes = bytes * k;
    for (; !mixed && k < n; k++) {
        const bool joins = at[k] == at[k - 1] + bytes;
        length = joins ? length + bytes : bytes;
        if (!joins && out->rows++ == 1) out->pitch = at[k] - at[0];
        if (length > out->bytes || (!joins && at[k] != at[0] + (out->rows - 1) * out->pitch)) return false;
    }
    return out->rows == 1 || length == out->bytes;
}

static void begin_product(const struct access *a, uint32_t lane, struct tensor_lines *x)
{
    const uint32_t counts[] = {x->of_b, x->count - x->of_b};
    struct product_rows rows;
    for (int k = 0; k < 2; k++)
        if (counts[k] && find_rows(x->at + (k ? x->of_b : 0), counts[k], x->bytes, x->mixed[k], &rows))
            simt_bulk_begin_product(a, lane, &rows);
    if (x->columns) simt_bulk_begin_sums(a, lane, x->column, x->columns);
}

/* What one lane of tcgen05 reads, or stores for its warp, all or nothing. */
static void check_tensors(struct access *a, uint32_t *m)
{
    struct tensor_lines lines;
    const uint32_t lane = (uint32_t)__builtin_ctz(*m);
    bool fine = true;
    if (simt_is_tensor_product(a->insn) ? *m & (*m - 1) : *m != FULL) return; /* it waits, or is a fault */
    simt_tensor_lines(a->regs, a->insn, lane, a->warp, &lines);
    for (uint32_t k = 0; k < lines.count; k++)
        fine &= check_stretch(a, lane, PTX_SHARED, lines.at[k], lines.bytes, lines.bytes, ALL_BYTES);
    if (!fine) *m = 0;
    if (fine && simt_is_tensor_product(a->insn)) begin_product(a, lane, &lines);
}

/* The source of a cp.async that may be shorter than what is written: the rest are zeros. */
static void check_fill(struct access *a, uint32_t *m)
{
    const struct insn *i = a->insn;
    const uint32_t *slots = a->block->worker->program->extra + i->extra;
    uint32_t wrong = 0;
    EACH_LANE(l, *m)
    {
        uint32_t n = simt_fill_bytes(a->regs, i, l);
        if (n > i->size) continue; /* a fault */
        bool fine = check_stretch(a, l, PTX_GLOBAL, u64_at(a->regs, i->b)[l], n, n == i->size ? n : 1, ALL_BYTES);
        wrong |= (uint32_t)!fine << l;
        a->bytes = n;
        a->at[l] = u64_at(a->regs, i->b)[l];
        if (fine && n) simt_copies_fetch(a, 1u << l);
    }
    for (uint32_t k = 0; k < i->size / 4u; k++) fill_lanes(a->regs, slots[k], false, wrong, 0);
    *m &= ~wrong;
}

/* A lane's address in shared memory as the block of rank `rank` - 1 of the cluster has it; 0: as it is. */
static uint64_t address_at(const struct access *a, uint32_t slot, uint32_t lane, uint32_t rank)
{
    uint64_t at = u32_at(a->regs, slot)[lane];
    if (!rank || a->block->worker->cluster->size == 1) return at;
    return (at & ((1u << CLUSTER_SHIFT) - 1)) | (uint64_t)rank << CLUSTER_SHIFT;
}

/* The blocks that the lane's copy goes to, from bit 1 on; bit 0: as its addresses say. */
static uint32_t targets_of(const struct access *a, const struct async_bulk *x, uint32_t lane)
{
    uint32_t ranks = x->ranks ? u32_at(a->regs, x->ranks)[lane] & 0xffff : 0;
    return ranks && a->block->worker->cluster->size > 1 ? ranks << 1 : 1;
}

/* The bytes of the lane's copy count at the mbarriers, and who waits there sees them. */
static void release_lane(struct access *a, const struct async_bulk *x, uint32_t lane)
{
    EACH_LANE(rank, targets_of(a, x, lane))
    {
        a->at[lane] = address_at(a, x->barrier, lane, rank);
        simt_phases_touch(a, 1u << lane);
    }
}

static bool check_destinations(struct access *to, const struct async_bulk *x, uint32_t lane, uint32_t n, uint32_t unit,
                               uint32_t mask)
{
    bool fine = true;
    if (x->destination != PTX_SHARED) {
        uint64_t at = u64_at(to->regs, to->insn->a)[lane];
        return check_stretch(to, lane, (enum ptx_space)x->destination, at, n, unit, mask);
    }
    EACH_LANE(rank, targets_of(to, x, lane))
    fine = fine && check_stretch(to, lane, PTX_SHARED, address_at(to, to->insn->a, lane, rank), n, unit, mask);
    return fine;
}

/* ---- boxes of tensors ---- */
/* The side of a lane's box that is in global memory. */
static bool check_slabs(struct access *a, uint32_t lane, const struct simt_tensor_map *map, const int32_t *coords)
{
    bool fine = true;
    for (uint32_t k = 0; k < simt_tensor_slabs(map) && fine; k++) {
        struct simt_tensor_slab s = simt_tensor_slab(map, coords, k);
        bool units = s.at % TENSOR_UNIT == 0 && s.pitch % TENSOR_UNIT == 0 && s.bytes % TENSOR_UNIT == 0;
        uint32_t piece = units && a->kind != ACCESS_ATOMIC ? TENSOR_UNIT : simt_tensor_element(map);
        for (uint32_t r = 0; r < s.rows && fine; r++)
            fine = check_stretch(a, lane, PTX_GLOBAL, s.at + r * s.pitch, s.bytes, piece, ALL_BYTES);
    }
    return fine;
}

/* Swizzles change the order within what a box takes of shared memory. */
static bool check_box(struct access *to, struct access *from, uint32_t lane, const struct simt_tensor_map *map,
                      const int32_t *coords)
{
    const struct async_tensor *x = (const void *)(to->block->worker->program->extra + to->insn->extra);
    uint32_t bytes = simt_tensor_rows(map) * simt_tensor_row_bytes(map), at = u32_at(to->regs, to->insn->a)[lane];
    bool fine = x->bulk.destination == PTX_SHARED
                    ? check_slabs(from, lane, map, coords) &&
                          check_destinations(to, &x->bulk, lane, bytes, TENSOR_UNIT, ALL_BYTES)
                    : check_stretch(from, lane, PTX_SHARED, at, bytes, TENSOR_UNIT, ALL_BYTES) &&
                          check_slabs(to, lane, map, coords);
    if (!fine) return false;
    simt_bulk_begin_box(to, x, lane, map, coords);
    if (x->bulk.barrier) release_lane(to, &x->bulk, lane);
    return true;
}

static void check_tensor(struct access *to, struct access *from, uint32_t *m)
{
    struct simt_tensor_map map;
    int32_t coords[TENSOR_RANK];
    to->origin = -1; /* where it goes in global memory the map says, and not who gave the map */
    EACH_LANE(l, *m)
    {
        if (!simt_tensor_at(to->regs, to->insn, l, to->warp, &map, coords)) return; /* the fault that it will be */
        if (!check_box(to, from, l, &map, coords)) *m &= ~(1u << l);
    }
}

static void check_bulk(struct access *to, uint32_t *m)
{
    const struct insn *i = to->insn;
    const struct async_bulk *x = (const void *)(to->block->worker->program->extra + i->extra);
    struct access from;
    uint32_t wrong = 0;
    simt_check_begin(&from, to->check, to->warp, i, to->site->reading);
    from.origin = -1; /* the instruction has the destination's */
    if (simt_is_tensor(i)) {
        check_tensor(to, &from, m);
        return;
    }
    EACH_LANE(l, *m)
    {
        uint32_t n = u32_at(to->regs, i->c)[l];
        enum ptx_space source = (enum ptx_space)x->source;
        uint32_t mask = x->mask ? u32_at(to->regs, x->mask)[l] : ALL_BYTES, unit = x->mask ? 1 : simt_bulk_unit(x);
        bool fine =
            x->source == BULK_ZEROS || check_stretch(&from, l, source, address_in(to, i->b, source, l), n, unit, mask);
        fine = fine && check_destinations(to, x, l, n, i->size ? i->size : unit, mask);
        wrong |= (uint32_t)!fine << l;
    }
    *m &= ~wrong;
    simt_bulk_begin(to, x, *m);
    EACH_LANE(l, x->barrier ? *m : 0) release_lane(to, x, l);
}

void simt_check_pieces(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t *m)
{
    struct access a;
    simt_check_begin(&a, c, w, i, c->site_of[w->pc]);
    uint32_t column, columns;
    if (simt_is_tensor_access(i)) {
        check_tensors(&a, m);
    } else if (simt_is_tensor_move(i)) {
        simt_tensor_columns(a.regs, i, w, &column, &columns);
        if (*m == FULL) simt_bulk_meet_sums(&a, column, columns);
    } else if (simt_is_matrix_move(i))
        check_fragment(&a, m);
    else if (simt_is_fill(i))
        check_fill(&a, m);
    else
        check_bulk(&a, m);
}
