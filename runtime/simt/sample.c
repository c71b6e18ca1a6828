/* What a texture fetch gives, as the CUDA C++ Programming Guide's appendix on texture fetching says: the texel at
 * floor(x), or for linear filtering the mean of the texels around x - 0.5, weighted by its fraction in 8 bits. */
#include <math.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/rounded.h"
#include "runtime/simt/sample.h"

#define FAR   0x1p40 /* coordinates beyond are no other texels than this */
#define STEPS 256    /* of a weight */

static bool gives_floats(const struct simt_texture *t)
{
    return t->format == CU_AD_FORMAT_FLOAT || t->format == CU_AD_FORMAT_HALF || !t->raw;
}

/* ---- texels ---- */
static float linear_of_srgb(float x)
{
    return x <= 0.04045f ? x / 12.92f : powf((x + 0.055f) / 1.055f, 2.4f);
}

/* A channel of the memory as the 32 bits that a register gets. */
static uint32_t read_channel(const struct simt_texture *t, const char *p, unsigned channel)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    bool raw = t->raw;
    switch (t->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        memcpy(&u8, p, 1);
        if (t->srgb && !raw && channel < 3) return simt_float_bits(linear_of_srgb((float)u8 / 255.0f));
        return raw ? u8 : simt_float_bits((float)u8 / 255.0f);
    case CU_AD_FORMAT_SIGNED_INT8:
        memcpy(&u8, p, 1);
        return raw ? (uint32_t)(int8_t)u8 : simt_float_bits(fmaxf((float)(int8_t)u8 / 127.0f, -1.0f));
    case CU_AD_FORMAT_UNSIGNED_INT16: memcpy(&u16, p, 2); return raw ? u16 : simt_float_bits((float)u16 / 65535.0f);
    case CU_AD_FORMAT_SIGNED_INT16:
        memcpy(&u16, p, 2);
        return raw ? (uint32_t)(int16_t)u16 : simt_float_bits(fmaxf((float)(int16_t)u16 / 32767.0f, -1.0f));
    case CU_AD_FORMAT_HALF: memcpy(&u16, p, 2); return simt_float_bits(simt_half_to(u16));
    default: memcpy(&u32, p, 4); return u32; /* 32-bit integers are never normalised */
    }
}

static void read_texel(const struct simt_texture *t, int64_t x, int64_t y, int64_t z, uint32_t out[4],
                       struct simt_fetched *seen)
{
    bool floats = gives_floats(t);
    unsigned size = t->element / t->channels;
    const char *p = t->base + (size_t)z * t->slice + (size_t)y * t->pitch + (size_t)x * t->element;
    if (seen) seen->at[seen->count++] = p;
    for (unsigned c = 0; c < 4; c++) {
        if (c < t->channels)
            out[c] = read_channel(t, p + (size_t)c * size, c);
        else
            out[c] = c < 3 ? 0 : floats ? simt_float_bits(1.0f) : 1;
    }
}

static void read_border(const struct simt_texture *t, uint32_t out[4])
{
    bool floats = gives_floats(t);
    for (int c = 0; c < 4; c++) out[c] = floats ? simt_float_bits(t->border[c]) : (uint32_t)(int32_t)t->border[c];
}

/* ---- coordinates ---- */
static bool periodic(const struct simt_texture *t, int axis)
{
    return t->normalized &&
           (t->address[axis] == CU_TR_ADDRESS_MODE_WRAP || t->address[axis] == CU_TR_ADDRESS_MODE_MIRROR);
}

static int64_t size_of(const struct simt_texture *t, int axis)
{
    return (int64_t)(axis == 0 ? t->width : axis == 1 ? t->height : t->depth);
}

/* The texel of an index on an axis; -1: the border. */
static int64_t resolve(const struct simt_texture *t, int axis, int64_t i)
{
    int64_t n = size_of(t, axis);
    if (i >= 0 && i < n) return i;
    if (t->address[axis] == CU_TR_ADDRESS_MODE_BORDER) return -1;
    if (!periodic(t, axis)) return i < 0 ? 0 : n - 1;
    int64_t period = t->address[axis] == CU_TR_ADDRESS_MODE_WRAP ? n : 2 * n;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - 1 - i;
}

/* A coordinate in texels. */
static double position(const struct simt_texture *t, int axis, float c)
{
    double x = c;
    if (!(x == x)) x = 0;
    if (periodic(t, axis)) {
        double whole = floor(x), part = x - whole;
        if (isinf(x)) part = 0;
        bool flip = t->address[axis] == CU_TR_ADDRESS_MODE_MIRROR && !isinf(x) && fmod(whole, 2) != 0;
        x = flip ? 1 - part : part;
    }
    if (t->normalized) x *= (double)size_of(t, axis);
    return x < -FAR ? -FAR : x > FAR ? FAR : x;
}

struct footprint { /* on one axis: the texels and the weight of the second */
    int64_t first, second;
    float weight;
};

static struct footprint linear_footprint(const struct simt_texture *t, int axis, float c)
{
    int64_t fixed = (int64_t)floor((position(t, axis, c) - 0.5) * STEPS + 0.5);
    int64_t i = fixed >= 0 ? fixed / STEPS : -((-fixed + STEPS - 1) / STEPS);
    return (struct footprint){resolve(t, axis, i), resolve(t, axis, i + 1), (float)(fixed - i * STEPS) / STEPS};
}

static void fetch(const struct simt_texture *t, int64_t x, int64_t y, int64_t z, uint32_t out[4],
                  struct simt_fetched *seen)
{
    if ((x | y | z) < 0)
        read_border(t, out);
    else
        read_texel(t, x, y, z, out, seen);
}

/* ---- fetches ---- */
/* 1 to 3, layers not counted. */
static int count_axes(const struct simt_texture *t)
{
    switch (t->kind) {
    case SIMT_TEXTURE_LINEAR:
    case SIMT_TEXTURE_1D:
    case SIMT_TEXTURE_1D_LAYERED: return 1;
    case SIMT_TEXTURE_3D: return 3;
    default: return 2;
    }
}

static int64_t layer_of(const struct simt_texture *t, uint32_t layer)
{
    return layer < t->depth ? layer : (int64_t)t->depth - 1;
}

void simt_texture_sample(const struct simt_texture *t, const float c[3], uint32_t layer, uint32_t out[4],
                         struct simt_fetched *seen)
{
    int axes = count_axes(t);
    if (t->filter != CU_TR_FILTER_MODE_LINEAR || !gives_floats(t)) {
        int64_t i[3] = {0, 0, axes < 3 ? layer_of(t, layer) : 0};
        for (int a = 0; a < axes; a++) i[a] = resolve(t, a, (int64_t)floor(position(t, a, c[a])));
        fetch(t, i[0], i[1], i[2], out, seen);
        return;
    }
    struct footprint f[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    if (axes < 3) f[2].first = f[2].second = layer_of(t, layer);
    for (int a = 0; a < axes; a++) f[a] = linear_footprint(t, a, c[a]);
    float sum[4] = {0, 0, 0, 0};
    for (int corner = 0; corner < 1 << axes; corner++) {
        bool right = corner & 1, below = corner & 2, behind = corner & 4;
        float weight = (right ? f[0].weight : 1 - f[0].weight) * (below ? f[1].weight : 1 - f[1].weight) *
                       (behind ? f[2].weight : 1 - f[2].weight);
        uint32_t texel[4];
        if (weight == 0) continue; /* so that it does not matter what lies there */
        fetch(t, right ? f[0].second : f[0].first, below ? f[1].second : f[1].first, behind ? f[2].second : f[2].first,
              texel, seen);
        for (int k = 0; k < 4; k++) sum[k] += weight * simt_as_float(texel[k]);
    }
    for (int k = 0; k < 4; k++) out[k] = simt_float_bits(sum[k]);
}

void simt_texture_index(const struct simt_texture *t, const int32_t c[3], uint32_t layer, uint32_t out[4],
                        struct simt_fetched *seen)
{
    int axes = count_axes(t);
    int64_t i[3] = {0, 0, axes < 3 ? layer_of(t, layer) : 0};
    if (t->kind == SIMT_TEXTURE_LINEAR && (c[0] < 0 || (uint32_t)c[0] >= t->width)) {
        memset(out, 0, 4 * sizeof *out);
        return;
    }
    for (int a = 0; a < axes; a++) i[a] = resolve(t, a, c[a]);
    fetch(t, i[0], i[1], i[2], out, seen);
}

void simt_texture_gather(const struct simt_texture *t, const float c[2], uint32_t layer, int channel, uint32_t out[4],
                         struct simt_fetched *seen)
{
    static const uint8_t right[4] = {0, 1, 1, 0}, below[4] = {1, 1, 0, 0};
    struct footprint x = linear_footprint(t, 0, c[0]), y = linear_footprint(t, 1, c[1]);
    for (int k = 0; k < 4; k++) {
        uint32_t texel[4];
        fetch(t, right[k] ? x.second : x.first, below[k] ? y.second : y.first, layer_of(t, layer), texel, seen);
        out[k] = texel[channel];
    }
}
