/* Instructions on texture and surface objects: tex, tld4, txq, suld, sust, sured, suq. A lane at a time, as the object
 * may differ from lane to lane, but for fetches of many lanes from one; its memory is not checked by address but by
 * coordinate. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/ops_texture.h"
#include "runtime/simt/rounded.h"

/* program->extra of such an instruction: what it writes or stores, then the coordinates. */
static const uint32_t *slots_of(const struct warp *w, const struct insn *i)
{
    return w->worker->program->extra + i->extra;
}

static const char *kind_name(enum simt_texture_kind kind)
{
    static const char *const names[] = {[SIMT_TEXTURE_LINEAR] = "linear memory",
                                        [SIMT_TEXTURE_PITCH] = "pitched memory",
                                        [SIMT_TEXTURE_1D] = "a 1-D array",
                                        [SIMT_TEXTURE_2D] = "a 2-D array",
                                        [SIMT_TEXTURE_3D] = "a 3-D array",
                                        [SIMT_TEXTURE_1D_LAYERED] = "a layered 1-D array",
                                        [SIMT_TEXTURE_2D_LAYERED] = "a layered 2-D array",
                                        [SIMT_TEXTURE_CUBE] = "a cubemap",
                                        [SIMT_TEXTURE_CUBE_LAYERED] = "a layered cubemap"};
    return names[kind];
}

static const char *geometry_name(enum geometry g)
{
    static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
    return names[g];
}

/* An array of one row may be read as a line, as cudaMallocArray(&a, &format, n, 1) makes one. */
static bool is_line(enum geometry g, const struct simt_texture *t)
{
    return g == GEOMETRY_1D && t->kind == SIMT_TEXTURE_2D && t->height == 1;
}

static bool fits(enum geometry g, const struct insn *i, const struct simt_texture *t)
{
    if (is_line(g, t)) return true;
    switch (t->kind) {
    case SIMT_TEXTURE_LINEAR: return g == GEOMETRY_1D && (i->flags & F_INDEX);
    case SIMT_TEXTURE_PITCH: return g == GEOMETRY_2D;
    default: return (enum geometry)(t->kind - SIMT_TEXTURE_1D) == g;
    }
}

/* The lane's object; NULL with the fault filled when there is none or it has another shape. */
static const struct simt_texture *object_of(struct warp *w, const struct insn *i, uint32_t lane, uint64_t handle,
                                            bool surface, bool any_shape)
{
    const struct simt_texture *t = simt_texture_find(handle);
    const char *what = surface ? "surface" : "texture";
    if (!t || t->surface != surface) {
        simt_fault_set(w, (int)lane, SIMT_FAULT_ADDRESS, "0x%llx is no live %s object", (unsigned long long)handle,
                       what);
        return NULL;
    }
    if (any_shape || fits(i->mode & GEOMETRY_MASK, i, t)) return t;
    simt_fault_set(w, (int)lane, SIMT_FAULT_ADDRESS, "a %s.%s instruction%s, but the %s object is over %s",
                   surface ? "surface" : "tex", geometry_name(i->mode & GEOMETRY_MASK),
                   i->flags & F_INDEX || surface ? "" : " with coordinates that are floats", what, kind_name(t->kind));
    return NULL;
}

/* A direction's face of a cube, and where it goes through it, from 0 to 1: as the table of cubemaps in the CUDA C++
 * Programming Guide says, where of two greatest components the earlier one counts. */
static uint32_t face_of(uint32_t c[3])
{
    float v[3], s, t, m;
    memcpy(v, c, sizeof v);
    float x = fabsf(v[0]), y = fabsf(v[1]), z = fabsf(v[2]);
    uint32_t axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2, negative = v[axis] < 0;
    m = axis == 0 ? x : axis == 1 ? y : z;
    s = axis == 0 ? (negative ? v[2] : -v[2]) : axis == 2 && negative ? -v[0] : v[0];
    t = axis != 1 ? -v[1] : negative ? -v[2] : v[2];
    s = (s / m + 1) / 2, t = (t / m + 1) / 2;
    memcpy(&c[0], &s, 4);
    memcpy(&c[1], &t, 4);
    c[2] = 0;
    return 2 * axis + negative;
}

/* Coordinates without the layer, and the layer, which comes first where there is one; of a cube those on a face, which
 * is a layer. */
static uint32_t coordinates(char *R, const struct insn *i, const uint32_t *slots, uint32_t lane, uint32_t c[3])
{
    enum geometry g = i->mode & GEOMETRY_MASK;
    bool cube = g >= GEOMETRY_CUBE, flat = g == GEOMETRY_2D || g == GEOMETRY_A2D;
    uint32_t layered = geometry_is_layered(g), axes = g == GEOMETRY_3D || cube ? 3 : flat ? 2 : 1;
    for (uint32_t a = 0; a < 3; a++) c[a] = a < axes ? u32_at(R, slots[layered + a])[lane] : 0;
    uint32_t layer = layered ? u32_at(R, slots[0])[lane] : 0;
    return cube ? 6 * layer + face_of(c) : layer;
}

/* ---- textures ---- */
/* What was fetched as f16, two in a register when `pairs`. */
static void to_halves(uint32_t out[4], bool pairs)
{
    for (int k = 0; k < 4; k++) {
        float f;
        memcpy(&f, &out[k], 4);
        out[k] = simt_half_from((double)f, 0);
    }
    if (pairs) out[0] |= out[1] << 16, out[1] = out[2] | out[3] << 16;
}

static void fetch(char *R, const struct insn *i, const uint32_t *slots, uint32_t lane, const struct simt_texture *t,
                  uint32_t out[4], struct simt_fetched *seen)
{
    uint32_t c[3], layer = coordinates(R, i, slots + i->count, lane, c);
    float x[3];
    memcpy(x, c, sizeof x);
    if (is_line(i->mode & GEOMETRY_MASK, t)) x[1] = 0.5f; /* the middle of the row */
    if (i->flags & F_INDEX)
        simt_texture_index(t, (const int32_t *)c, layer, out, seen);
    else if (i->flags & F_GATHER)
        simt_texture_gather(t, x, layer, i->mode / GEOMETRY_SHIFT, out, seen);
    else
        simt_texture_sample(t, x, layer, out, seen);
}

#define MANY_LANES 6 /* from here on all 32 together take less time */

/* Asked for once: what the machine can do takes longer to find out than a fetch. */
static simt_fetch_function together(void)
{
    static _Atomic(simt_fetch_function) kept;
    simt_fetch_function f = atomic_load_explicit(&kept, memory_order_relaxed);
    if (!f) atomic_store_explicit(&kept, f = simt_fetch_lanes(), memory_order_relaxed);
    return f;
}

/* Fetches of lanes m from one object, together. False: they go a lane at a time. */
static bool fetch_together(char *R, const struct insn *i, const uint32_t *slots, uint32_t m,
                           const struct simt_texture *t)
{
    enum geometry g = i->mode & GEOMETRY_MASK;
    bool layered = geometry_is_layered(g);
    int axes = g == GEOMETRY_3D ? 3 : g == GEOMETRY_2D || g == GEOMETRY_A2D ? 2 : 1;
    const uint32_t *from = slots + i->count + layered, *c[3] = {NULL, NULL, NULL};
    uint32_t out[4][SIMT_WARP];
    if (g >= GEOMETRY_CUBE || i->flags & F_GATHER || i->size == 2) return false;
    for (int a = 0; a < axes; a++) c[a] = u32_at(R, from[a]);
    if (!together()(t, axes, i->flags & F_INDEX, c, layered ? u32_at(R, slots[i->count]) : NULL, out)) return false;
    for (uint32_t k = 0; k < i->count; k++) {
        uint32_t *d = u32_at(R, slots[k]);
        for (uint32_t l = 0; l < SIMT_WARP; l++) d[l] = m >> l & 1 ? out[k][l] : d[l];
    }
    return true;
}

static bool is_one_object(const uint64_t *handles, uint32_t m)
{
    const uint64_t first = handles[__builtin_ctz(m)];
    EACH_LANE(l, m) if (handles[l] != first) return false;
    return true;
}

enum event simt_op_tex(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *slots = slots_of(w, i);
    const uint64_t *handles = u64_at(R, i->a);
    if (__builtin_popcount(m) >= MANY_LANES && is_one_object(handles, m)) {
        const uint32_t l = (uint32_t)__builtin_ctz(m);
        const struct simt_texture *t = object_of(w, i, l, handles[l], false, false);
        if (!t) return EV_FAULT;
        if (fetch_together(R, i, slots, m, t)) return EV_NEXT;
    }
    EACH_LANE(l, m)
    {
        const struct simt_texture *t = object_of(w, i, l, handles[l], false, false);
        uint32_t out[4];
        if (!t) return EV_FAULT;
        fetch(R, i, slots, l, t, out, NULL);
        if (i->size == 2) to_halves(out, i->count == 2);
        for (uint32_t k = 0; k < i->count; k++) u32_at(R, slots[k])[l] = out[k];
    }
    return EV_NEXT;
}

/* OpenCL's numbers for formats and orders of channels, which txq and suq give. */
static uint32_t channel_type(const struct simt_texture *t)
{
    bool raw = t->surface || t->raw;
    switch (t->format) {
    case CU_AD_FORMAT_SIGNED_INT8: return raw ? 0x10D7 : 0x10D0;
    case CU_AD_FORMAT_SIGNED_INT16: return raw ? 0x10D8 : 0x10D1;
    case CU_AD_FORMAT_SIGNED_INT32: return 0x10D9;
    case CU_AD_FORMAT_UNSIGNED_INT8: return raw ? 0x10DA : 0x10D2;
    case CU_AD_FORMAT_UNSIGNED_INT16: return raw ? 0x10DB : 0x10D3;
    case CU_AD_FORMAT_UNSIGNED_INT32: return 0x10DC;
    case CU_AD_FORMAT_HALF: return 0x10DD;
    default: return 0x10DE;
    }
}

static uint32_t query(const struct simt_texture *t, enum query q)
{
    bool layered = t->kind >= SIMT_TEXTURE_1D_LAYERED, cubes = t->kind == SIMT_TEXTURE_CUBE_LAYERED;
    switch (q) {
    case QUERY_WIDTH: return (uint32_t)t->width;
    case QUERY_HEIGHT: return (uint32_t)t->height;
    case QUERY_DEPTH: return layered ? 1 : (uint32_t)t->depth;
    case QUERY_LAYERS: return !layered || t->kind == SIMT_TEXTURE_CUBE ? 0 : (uint32_t)t->depth / (cubes ? 6 : 1);
    case QUERY_TYPE: return channel_type(t);
    case QUERY_ORDER: return t->channels == 1 ? 0x10B0 : t->channels == 2 ? 0x10B2 : 0x10B5;
    case QUERY_NORMALIZED: return t->normalized;
    case QUERY_FILTER: return t->filter == CU_TR_FILTER_MODE_LINEAR;
    case QUERY_ADDRESS_0:
    case QUERY_ADDRESS_1:
    case QUERY_ADDRESS_2: return t->address[q - QUERY_ADDRESS_0];
    case QUERY_ONE: break;
    }
    return 1;
}

enum event simt_op_texture_query(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint64_t *handles = u64_at(R, i->a);
    EACH_LANE(l, m)
    {
        const struct simt_texture *t = object_of(w, i, l, handles[l], i->flags & F_SURFACE, true);
        if (!t) return EV_FAULT;
        u32_at(R, i->d)[l] = query(t, i->mode);
    }
    return EV_NEXT;
}

/* ---- surfaces ---- */
static bool outside(int64_t x, int64_t limit, bool clamp, int64_t *out)
{
    *out = clamp ? (x < 0 ? 0 : x >= limit ? limit - 1 : x) : x;
    return *out < 0 || *out >= limit;
}

struct surface_place {
    uint32_t c[3], layer;
    int64_t byte; /* of a row */
    bool misaligned;
    char *address; /* NULL: outside */
};

/* Where an access of `bytes` lies. */
static struct surface_place place_on(char *R, const struct insn *i, uint32_t lane, const uint32_t *slots,
                                     const struct simt_texture *t, uint32_t bytes)
{
    struct surface_place p = {.misaligned = false};
    int64_t x, y, z, unit = i->flags & F_FORMATTED ? t->element : 1, row = (int64_t)(t->width * t->element);
    p.layer = coordinates(R, i, slots, lane, p.c);
    p.byte = (int64_t)(int32_t)p.c[0] * unit;
    bool clamp = i->flags & F_CLAMP, layered = geometry_is_layered(i->mode & GEOMETRY_MASK);
    const int shift = __builtin_ctz(bytes); /* a power of two */
    p.misaligned = p.byte & (bytes - 1) && unit == 1;
    bool off = outside(p.byte >> shift, row >> shift, clamp, &x);
    off |= outside((int32_t)p.c[1], (int64_t)t->height, clamp, &y);
    off |= outside(layered ? (int64_t)(int32_t)p.layer : (int32_t)p.c[2], (int64_t)t->depth, clamp, &z);
    if (!off && !p.misaligned) p.address = t->base + (size_t)z * t->slice + (size_t)y * t->pitch + (size_t)x * bytes;
    return p;
}

/* The same, or the fault. *skip: outside, where that gives zeros and stores nothing. */
static char *surface_address(char *R, const struct insn *i, uint32_t lane, const uint32_t *slots, uint32_t bytes,
                             struct warp *w, bool *skip)
{
    const struct simt_texture *t = object_of(w, i, lane, u64_at(R, i->a)[lane], true, false);
    *skip = false;
    if (!t) return NULL;
    struct surface_place p = place_on(R, i, lane, slots, t, bytes);
    bool layered = geometry_is_layered(i->mode & GEOMETRY_MASK);
    if (p.misaligned)
        simt_fault_set(w, (int)lane, SIMT_FAULT_MISALIGNED,
                       "a surface access of %u bytes at byte %lld of a row, which is not a multiple of %u", bytes,
                       (long long)p.byte, bytes);
    if (p.misaligned || p.address) return p.address;
    *skip = i->flags & F_ZERO;
    if (!*skip)
        simt_fault_set(w, (int)lane, SIMT_FAULT_ADDRESS,
                       "a surface access of %u bytes at byte %lld of row %d%s%d, outside of its %zu x %zu x %zu "
                       "elements of %u bytes (x counts in bytes)",
                       bytes, (long long)p.byte, (int)p.c[1], layered ? ", layer " : ", slice ",
                       layered ? (int)p.layer : (int)p.c[2], t->width, t->height, t->depth, t->element);
    return NULL;
}

enum event simt_op_surface_load(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *slots = slots_of(w, i);
    EACH_LANE(l, m)
    {
        bool skip;
        const char *p = surface_address(R, i, l, slots + i->count, (uint32_t)i->count * i->size, w, &skip);
        if (!p && !skip) return EV_FAULT;
        for (uint32_t k = 0; k < i->count; k++) {
            uint64_t v = 0;
            if (p) memcpy(&v, p + (size_t)k * i->size, i->size);
            if (i->size == 8)
                u64_at(R, slots[k])[l] = v;
            else
                u32_at(R, slots[k])[l] = (uint32_t)v;
        }
    }
    return EV_NEXT;
}

enum event simt_op_surface_store(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *slots = slots_of(w, i);
    EACH_LANE(l, m)
    {
        bool skip;
        char *p = surface_address(R, i, l, slots + i->count, (uint32_t)i->count * i->size, w, &skip);
        if (!p && !skip) return EV_FAULT;
        for (uint32_t k = 0; p && k < i->count; k++) {
            uint64_t v = i->size == 8 ? u64_at(R, slots[k])[l] : u32_at(R, slots[k])[l];
            memcpy(p + (size_t)k * i->size, &v, i->size);
        }
    }
    return EV_NEXT;
}

/* One channel of a formatted store: 32 bits, a float where the surface has floats, else an integer, to its format. */
static void store_channel(const struct simt_texture *t, char *p, uint32_t v)
{
    float x;
    int32_t s = (int32_t)v;
    uint16_t half;
    memcpy(&x, &v, 4);
    switch (t->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: *p = (char)(v > 255 ? 255 : v); return;
    case CU_AD_FORMAT_SIGNED_INT8: *p = (char)(s > 127 ? 127 : s < -128 ? -128 : s); return;
    case CU_AD_FORMAT_UNSIGNED_INT16: half = (uint16_t)(v > 65535 ? 65535 : v); break;
    case CU_AD_FORMAT_SIGNED_INT16: half = (uint16_t)(s > 32767 ? 32767 : s < -32768 ? -32768 : s); break;
    case CU_AD_FORMAT_HALF: half = simt_half_from((double)x, 0); break;
    default: memcpy(p, &v, 4); return;
    }
    memcpy(p, &half, 2);
}

enum event simt_op_surface_store_formatted(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *slots = slots_of(w, i);
    EACH_LANE(l, m)
    {
        bool skip;
        const struct simt_texture *t = object_of(w, i, l, u64_at(R, i->a)[l], true, false);
        if (!t) return EV_FAULT;
        char *p = surface_address(R, i, l, slots + i->count, t->element, w, &skip);
        if (!p && !skip) return EV_FAULT;
        for (uint32_t k = 0; p && k < i->count && k < t->channels; k++)
            store_channel(t, p + (size_t)k * (t->element / t->channels), u32_at(R, slots[k])[l]);
    }
    return EV_NEXT;
}

/* ---- reductions on surfaces ---- */
static uint64_t reduce(const struct insn *i, uint64_t a, uint64_t b)
{
    bool is_signed = i->type == PTX_S32 || i->type == PTX_S64, wide = i->size == 8;
    bool less = !is_signed ? a < b : wide ? (int64_t)a < (int64_t)b : (int32_t)a < (int32_t)b;
    switch ((enum surface_reduction)(i->mode / GEOMETRY_SHIFT)) {
    case SURFACE_ADD: return a + b;
    case SURFACE_MIN: return less ? a : b;
    case SURFACE_MAX: return less ? b : a;
    case SURFACE_AND: return a & b;
    case SURFACE_OR: break;
    }
    return a | b;
}

enum event simt_op_surface_reduce(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *slots = slots_of(w, i);
    EACH_LANE(l, m)
    {
        bool skip;
        char *p = surface_address(R, i, l, slots + 1, i->size, w, &skip);
        if (!p && !skip) return EV_FAULT;
        if (p && i->size == 8) {
            uint64_t *cell = (uint64_t *)(void *)p, old = __atomic_load_n(cell, __ATOMIC_RELAXED);
            while (!__atomic_compare_exchange_n(cell, &old, reduce(i, old, u64_at(R, slots[0])[l]), false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            }
        } else if (p) {
            uint32_t *cell = (uint32_t *)(void *)p, old = __atomic_load_n(cell, __ATOMIC_RELAXED);
            while (!__atomic_compare_exchange_n(cell, &old, (uint32_t)reduce(i, old, u32_at(R, slots[0])[l]), false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            }
        }
    }
    return EV_NEXT;
}

/* ---- for observers ---- */
bool simt_is_texture_access(const struct insn *i)
{
    return i->run == simt_op_tex || i->run == simt_op_surface_load || i->run == simt_op_surface_store ||
           i->run == simt_op_surface_store_formatted;
}

/* The element of an axis that a coordinate is in, at the edge when it is outside. */
static size_t element_of(const struct simt_texture *t, const struct insn *i, uint32_t bits, size_t limit, size_t unit)
{
    double x = (double)(int32_t)bits / (double)unit;
    if (!t->surface && !(i->flags & F_INDEX)) {
        float f;
        memcpy(&f, &bits, 4);
        x = t->normalized ? (double)f * (double)limit : (double)f;
    }
    return !(x > 0) ? 0 : x >= (double)limit ? limit - 1 : (size_t)x;
}

void simt_find_texels(const struct warp *w, char *R, const struct insn *i, uint32_t m, struct simt_texels *out)
{
    const uint32_t *slots = slots_of(w, i) + i->count;
    out->store = i->run == simt_op_surface_store || i->run == simt_op_surface_store_formatted;
    out->mask = out->bytes = 0;
    EACH_LANE(l, m)
    {
        const struct simt_texture *t = simt_texture_find(u64_at(R, i->a)[l]);
        if (!t) continue;
        bool layered = (i->mode & GEOMETRY_MASK) >= GEOMETRY_A1D; /* faces are layers */
        uint32_t c[3], layer = coordinates(R, i, slots, l, c);
        size_t unit = t->surface && !(i->flags & F_FORMATTED) ? t->element : 1;
        size_t z = layered ? layer : element_of(t, i, c[2], t->depth, 1);
        out->at[l] = t->memory + (z < t->depth ? z : t->depth - 1) * t->slice +
                     element_of(t, i, c[1], t->height, 1) * t->pitch +
                     element_of(t, i, c[0], t->width, unit) * t->element;
        out->bytes = t->element;
        out->mask |= 1u << l;
    }
}

enum simt_texel_use simt_texel_use(const struct insn *i)
{
    if (i->run == simt_op_surface_reduce) return TEXELS_REDUCED;
    if (i->run == simt_op_surface_store || i->run == simt_op_surface_store_formatted) return TEXELS_STORED;
    return simt_is_texture_access(i) ? TEXELS_READ : TEXELS_NOT;
}

/* Channels that a formatted store writes. */
static uint32_t channels_stored(const struct insn *i, const struct simt_texture *t)
{
    return i->count < t->channels ? i->count : t->channels;
}

void simt_touch_texels(const struct warp *w, char *R, const struct insn *i, uint32_t lane, struct simt_touched *out)
{
    const uint32_t *slots = slots_of(w, i);
    const struct simt_texture *t = simt_texture_find(u64_at(R, i->a)[lane]);
    bool fetches = i->run == simt_op_tex, formats = i->run == simt_op_surface_store_formatted;
    *out = (struct simt_touched){.texture = NULL};
    if (!t || t->surface == fetches || !fits(i->mode & GEOMETRY_MASK, i, t)) return;
    if (fetches) {
        struct simt_fetched seen = {.count = 0};
        uint32_t value[4];
        fetch(R, i, slots, lane, t, value, &seen);
        for (uint32_t k = 0; k < seen.count; k++) out->at[k] = t->memory + (uint64_t)(seen.at[k] - t->base);
        out->bytes = t->element;
        out->count = seen.count;
    } else {
        uint32_t bytes = formats ? t->element : (uint32_t)i->count * i->size;
        struct surface_place p = place_on(R, i, lane, slots + i->count, t, bytes);
        if (!p.address) return;
        out->at[0] = t->memory + (uint64_t)(p.address - t->base);
        out->bytes = formats ? t->element / t->channels * channels_stored(i, t) : bytes;
        out->count = 1;
    }
    if (out->count) out->texture = t;
}

bool simt_formatted_value(const struct warp *w, char *R, const struct insn *i, uint32_t lane,
                          const struct simt_texture *t, uint64_t *out)
{
    const uint32_t *slots = slots_of(w, i);
    uint32_t size = t->element / t->channels;
    if (i->run != simt_op_surface_store_formatted || size == 4) return false;
    *out = 0;
    for (uint32_t k = 0; k < channels_stored(i, t); k++)
        store_channel(t, (char *)out + (size_t)k * size, u32_at(R, slots[k])[lane]);
    return true;
}
