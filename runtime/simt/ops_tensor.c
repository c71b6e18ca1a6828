/* cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of a tensor between global and shared memory, which the
 * tensor memory accelerator copies. They are copied at once, as other bulk copies are here. */
#include <inttypes.h>
#include <string.h>
#include "runtime/simt/async.h"
#include "runtime/simt/tally.h"
#include "runtime/simt/tensor_map.h"

const char *const simt_bulk_operations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", NULL};

/* One lane's copy. */
struct box {
    struct simt_tensor_map map;
    int32_t coords[TENSOR_RANK];
    uint32_t row_bytes, lane;
    const struct insn *insn;
    struct insn global; /* for accesses to global memory: a load or a store */
    struct insn atomic; /* a reduction's, of one element; its size is 0 when it is none */
};

/* A map's bytes, where a kernel's parameters, constants or global memory hold them; false: a fault is set. */
static bool read_map(char *R, const struct insn *i, uint32_t l, struct warp *w, struct simt_tensor_map *map)
{
    const struct async_tensor *x = (const void *)(w->worker->program->extra + i->extra);
    struct insn load = *i;
    char bytes[TENSOR_MAP_BYTES];
    load.flags &= ~(uint32_t)F_STORE;
    for (uint32_t at = 0; at < sizeof bytes; at += 64) {
        const void *p = simt_lane_address(w, &load, (int)l, PTX_GENERIC, u64_at(R, x->map)[l] + at, 64, false);
        if (!p) return false;
        memcpy(bytes + at, p, 64);
    }
    memcpy(map, bytes, sizeof *map);
    return true;
}

bool simt_tensor_at(char *R, const struct insn *i, uint32_t l, struct warp *w, struct simt_tensor_map *map,
                    int32_t coords[TENSOR_RANK])
{
    const struct async_tensor *x = (const void *)(w->worker->program->extra + i->extra);
    const char *opcode = w->worker->program->places[w->pc].opcode;
    if (!read_map(R, i, l, w, map)) return false;
    if (!simt_tensor_valid(map) || simt_tensor_rank(map) != x->rank) {
        simt_fault_set(w, (int)l, SIMT_FAULT_ADDRESS,
                       simt_tensor_valid(map)
                           ? "%s is for tensors of %u dimensions, and the tensor map was made for %u"
                           : "%s: there is no tensor map of %u dimensions at its address; make one with "
                             "gpu.tensormap or cuTensorMapEncodeTiled, and pass it as a parameter "
                             "`const __grid_constant__ CUtensorMap`",
                       opcode, x->rank, simt_tensor_rank(map));
        return false;
    }
    for (uint32_t d = 0; d < TENSOR_RANK; d++) coords[d] = d < x->rank ? (int32_t)u32_at(R, x->coords[d])[l] : 0;
    uint32_t at = u32_at(R, i->a)[l];
    if (at % TENSOR_ALIGNMENT) {
        simt_fault_set(w, (int)l, SIMT_FAULT_MISALIGNED,
                       "%s: the box's address in shared memory, %" PRIu32
                       ", is not a multiple of %d; declare the array "
                       "with alignas(%d)",
                       opcode, at, TENSOR_ALIGNMENT, TENSOR_ALIGNMENT);
        return false;
    }
    return true;
}

/* The unit of shared memory that is `at` bytes into the box; NULL is a fault. */
static void *unit_at(char *R, const struct box *b, uint32_t at, uint32_t rank, struct warp *w)
{
    uint32_t base = u32_at(R, b->insn->a)[b->lane], offset = simt_swizzled(base + at, b->map.swizzle) - base;
    return simt_bulk_target(R, b->insn, b->insn->a, PTX_SHARED, b->lane, offset, TENSOR_UNIT, rank, w);
}

/* `bytes` bytes of global memory to or from a unit, by elements where they do not lie like one. */
static bool move_elements(const struct box *b, uint64_t address, char *unit, uint32_t bytes, struct warp *w)
{
    bool store = b->global.flags & F_STORE, whole = bytes == TENSOR_UNIT && address % TENSOR_UNIT == 0;
    uint32_t size = whole && !b->atomic.size ? TENSOR_UNIT : simt_tensor_element(&b->map);
    for (uint32_t at = 0; at < bytes; at += size) {
        void *p = simt_lane_address(w, &b->global, (int)b->lane, PTX_GLOBAL, address + at, size, store);
        if (!p) return false;
        if (b->atomic.size)
            simt_atomic_update(&b->atomic, p, unit + at);
        else
            memcpy(store ? p : unit + at, store ? unit + at : p, size);
    }
    return true;
}

/* One line of the box. */
static bool move_row(char *R, const struct box *b, uint32_t r, uint32_t rank, struct warp *w)
{
    const struct simt_tensor_row row = simt_tensor_row(&b->map, b->coords, r);
    uint32_t size = simt_tensor_element(&b->map), first = row.first * size, end = row.end * size;
    bool store = b->global.flags & F_STORE;
    for (uint32_t at = 0; at < b->row_bytes; at += TENSOR_UNIT) {
        uint32_t from = first > at ? first : at, to = end < at + TENSOR_UNIT ? end : at + TENSOR_UNIT;
        char outside[TENSOR_UNIT], *unit = unit_at(R, b, r * b->row_bytes + at, rank, w);
        if (!unit) return false;
        if (!store && to - from != TENSOR_UNIT) {
            simt_tensor_outside(&b->map, outside);
            memcpy(unit, outside, TENSOR_UNIT);
        }
        if (from < to && !move_elements(b, row.at + from, unit + (from - at), to - from, w)) return false;
    }
    return true;
}

/* What the operation is for the tensor's elements. */
static bool set_reduction(struct box *b, const struct async_tensor *x, struct warp *w)
{
    const char *operation = simt_bulk_operations[x->operation];
    enum ptx_type type = simt_tensor_type(&b->map);
    bool bits = !strcmp(operation, "and") || !strcmp(operation, "or") || !strcmp(operation, "xor");
    if (bits && (type == PTX_U32 || type == PTX_S32)) type = PTX_B32;
    if (bits && (type == PTX_U64 || type == PTX_S64)) type = PTX_B64;
    b->atomic.type = (uint8_t)type;
    b->atomic.size = (uint8_t)simt_tensor_element(&b->map);
    if (simt_op_atomic(operation, type, false, &b->atomic.mode)) return true;
    simt_fault_set(w, (int)b->lane, SIMT_FAULT_ADDRESS, "%s: there is no .%s of the tensor map's type .%s",
                   w->worker->program->places[w->pc].opcode, operation, ptx_type_name(type));
    return false;
}

static enum event copy_box(char *R, const struct async_tensor *x, struct box *b, uint32_t rank, struct warp *w)
{
    uint32_t rows = simt_tensor_rows(&b->map);
    for (uint32_t r = 0; r < rows; r++)
        if (!move_row(R, b, r, rank, w)) return EV_FAULT;
    return simt_bulk_complete(R, b->insn, &x->bulk, b->lane, rows * b->row_bytes, rank, w);
}

static enum event copy_tensor(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct async_tensor *x = (const void *)(w->worker->program->extra + i->extra);
    if (i->size) simt_tally_settle(w->worker);
    EACH_LANE(l, m)
    {
        struct box b = {.lane = l, .insn = i, .global = *i};
        if (!simt_tensor_at(R, i, l, w, &b.map, b.coords)) return EV_FAULT;
        if (x->bulk.destination != PTX_GLOBAL) b.global.flags &= ~(uint32_t)F_STORE;
        b.row_bytes = simt_tensor_row_bytes(&b.map);
        if (i->size && !set_reduction(&b, x, w)) return EV_FAULT;
        uint32_t ranks = x->bulk.ranks ? u32_at(R, x->bulk.ranks)[l] & 0xffff : 0;
        if (!x->bulk.ranks && copy_box(R, x, &b, 0, w) != EV_NEXT) return EV_FAULT;
        for (uint32_t rank = 0; ranks >> rank; rank++)
            if (ranks >> rank & 1 && copy_box(R, x, &b, rank + 1, w) != EV_NEXT) return EV_FAULT;
    }
    return EV_NEXT;
}

bool simt_is_tensor(const struct insn *i)
{
    return i->run == copy_tensor;
}

static const struct op_row rows[] = {{"+copy_tensor", "", copy_tensor, NULL, 0}};
const struct op_table simt_ops_tensor = {rows, sizeof rows / sizeof *rows};
