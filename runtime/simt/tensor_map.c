/* The requirements are those that the driver API documents for cuTensorMapEncodeTiled; how boxes lie in shared memory
 * and where swizzles put their units is PTX's chapter on tensors. */
#include "runtime/simt/tensor_map.h"
#include <string.h>

#define MOST_BOX     256
#define MOST_SWIZZLE 3 /* 32, 64 and 128 bytes, by units of 16 */

/* By CUtensorMapDataType. The .ftz types flush nothing here: copies leave values as they are. */
static const struct {
    uint8_t bytes, type;
    bool real;
} types[] = {{1, PTX_U8, false},  {2, PTX_U16, false}, {4, PTX_U32, false}, {4, PTX_S32, false}, {8, PTX_U64, false},
             {8, PTX_S64, false}, {2, PTX_F16, true},  {4, PTX_F32, true},  {8, PTX_F64, true},  {2, PTX_BF16, true},
             {4, PTX_F32, true},  {4, PTX_F32, true},  {4, PTX_F32, true}};
#define TYPE_COUNT (sizeof types / sizeof *types)

_Static_assert(sizeof(struct simt_tensor_map) <= TENSOR_MAP_BYTES, "a map has its place");

uint32_t simt_tensor_element(const struct simt_tensor_map *m)
{
    return types[m->type].bytes;
}

/* Elements of a box in shared memory. The step of the first dimension is not looked at. */
static uint32_t extent(const struct simt_tensor_map *m, uint32_t d)
{
    return d && d <= m->rank ? (m->box[d] + m->steps[d] - 1) / m->steps[d] : d ? 1 : m->box[0];
}

static int64_t stride(const struct simt_tensor_map *m, uint32_t d)
{
    return d ? (int64_t)m->strides[d - 1] : types[m->type].bytes;
}

static bool dimension_fits(const struct simt_tensor_spec *s, unsigned d)
{
    bool box = s->dims[d] && s->dims[d] <= UINT64_C(1) << 32 && s->box[d] && s->box[d] <= MOST_BOX;
    if (!d || !box) return box; /* the step of the first dimension is not looked at */
    return s->steps[d] && s->steps[d] <= 8 && s->strides[d - 1] % 16 == 0 && s->strides[d - 1] < UINT64_C(1) << 40;
}

static enum simt_tensor_verdict check(const struct simt_tensor_spec *s)
{
    if (s->type > 15 || s->interleave > 2 || s->swizzle > 6 || s->promotion > 3 || s->fill > 1) return TENSOR_INVALID;
    if (!s->rank || s->rank > TENSOR_RANK) return TENSOR_INVALID;
    if (s->type >= TYPE_COUNT || s->interleave || s->swizzle > MOST_SWIZZLE) return TENSOR_UNSUPPORTED;
    if (s->address % 16) return TENSOR_INVALID;
    for (unsigned d = 0; d < s->rank; d++)
        if (!dimension_fits(s, d)) return TENSOR_INVALID;
    uint32_t inner = s->box[0] * types[s->type].bytes, span = 16u << s->swizzle;
    if (inner % TENSOR_UNIT || (s->swizzle && inner > span)) return TENSOR_INVALID;
    if (s->swizzle && inner < span) return TENSOR_UNSUPPORTED;
    return s->fill && !types[s->type].real ? TENSOR_INVALID : TENSOR_OK;
}

enum simt_tensor_verdict simt_tensor_encode(struct simt_tensor_map *out, const struct simt_tensor_spec *s)
{
    enum simt_tensor_verdict v = check(s);
    if (v != TENSOR_OK) return v;
    *out = (struct simt_tensor_map){.mark = TENSOR_MARK,
                                    .address = s->address,
                                    .type = (uint8_t)s->type,
                                    .rank = (uint8_t)(s->rank - 1),
                                    .swizzle = (uint8_t)s->swizzle,
                                    .fill = (uint8_t)s->fill};
    for (unsigned d = 0; d < s->rank; d++) {
        if (d) out->strides[d - 1] = s->strides[d - 1];
        out->dims[d] = (uint32_t)s->dims[d];
        out->box[d] = s->box[d];
        out->steps[d] = s->steps[d];
    }
    return TENSOR_OK;
}

bool simt_tensor_valid(const struct simt_tensor_map *m)
{
    uint64_t dims[TENSOR_RANK];
    for (unsigned d = 0; d < TENSOR_RANK; d++) dims[d] = m->dims[d] ? m->dims[d] : UINT64_C(1) << 32;
    const struct simt_tensor_spec s = {.type = m->type,
                                       .rank = simt_tensor_rank(m),
                                       .address = m->address,
                                       .dims = dims,
                                       .strides = m->strides,
                                       .box = m->box,
                                       .steps = m->steps,
                                       .interleave = m->interleave,
                                       .swizzle = m->swizzle,
                                       .fill = m->fill};
    return m->mark == TENSOR_MARK && check(&s) == TENSOR_OK;
}

enum ptx_type simt_tensor_type(const struct simt_tensor_map *m)
{
    return (enum ptx_type)types[m->type].type;
}

uint32_t simt_tensor_rows(const struct simt_tensor_map *m)
{
    uint32_t rows = 1;
    for (unsigned d = 1; d <= m->rank; d++) rows *= extent(m, d);
    return rows;
}

uint32_t simt_tensor_row_bytes(const struct simt_tensor_map *m)
{
    return m->box[0] * simt_tensor_element(m);
}

void simt_tensor_outside(const struct simt_tensor_map *m, void *to)
{
    static const uint64_t nans[] = {[PTX_F16] = 0x7ff7, [PTX_BF16] = 0x7ff7};
    uint32_t size = simt_tensor_element(m);
    /* Of f16 and bf16 what fma.oob looks for; of others the manuals say no more than that it is a NaN. */
    uint64_t wide = size == 2 ? nans[simt_tensor_type(m)] : size == 4 ? 0x7fffffff : UINT64_C(0x7fffffffffffffff);
    memset(to, 0, TENSOR_UNIT);
    for (uint32_t at = 0; m->fill && at < TENSOR_UNIT; at += size) memcpy((char *)to + at, &wide, size);
}

struct simt_tensor_row simt_tensor_row(const struct simt_tensor_map *m, const int32_t *coords, uint32_t r)
{
    struct simt_tensor_row row = {.at = m->address + (uint64_t)(coords[0] * stride(m, 0))};
    bool inside = true;
    for (unsigned d = 1; d <= m->rank; r /= extent(m, d++)) {
        int64_t c = coords[d] + (int64_t)(r % extent(m, d)) * m->steps[d];
        inside &= c >= 0 && c <= (int64_t)(m->dims[d] - 1u);
        row.at += (uint64_t)(c * stride(m, d));
    }
    int64_t first = coords[0] < 0 ? -(int64_t)coords[0] : 0, end = (int64_t)(m->dims[0] - 1u) + 1 - coords[0];
    if (end > m->box[0]) end = m->box[0];
    if (!inside || first >= end) return row;
    row.first = (uint32_t)first;
    row.end = (uint32_t)end;
    return row;
}

uint32_t simt_tensor_slabs(const struct simt_tensor_map *m)
{
    return simt_tensor_rows(m) / extent(m, 1);
}

struct simt_tensor_slab simt_tensor_slab(const struct simt_tensor_map *m, const int32_t *coords, uint32_t k)
{
    struct simt_tensor_slab s = {.pitch = m->rank ? m->strides[0] * m->steps[1] : 0};
    for (uint32_t r = 0; r < extent(m, 1); r++) {
        struct simt_tensor_row row = simt_tensor_row(m, coords, k * extent(m, 1) + r);
        if (row.first == row.end) continue; /* those inside follow each other */
        if (!s.rows++) s.at = row.at + row.first * simt_tensor_element(m);
        s.bytes = (row.end - row.first) * simt_tensor_element(m);
    }
    return s;
}
