/* Fetches of a whole warp from one texture object, with the bits that sample.c gives a lane at a time. vector_base.c,
 * vector_avx2.c and vector_avx512.c include this file and name the function by FETCH_LANES. All 32 lanes are computed,
 * whatever is in the registers of those that take no part: every coordinate leads into the texture or to its border. */
#include "runtime/simt/sample.h"

struct axis_lanes { /* of one axis: the texels on it and the weights of the second ones */
    s32 first[SIMT_WARP], second[SIMT_WARP];
    u32 first_in[SIMT_WARP], second_in[SIMT_WARP]; /* 0: at the border; else all bits */
    f32 weight[SIMT_WARP];
};

static bool repeats(const struct simt_texture *t, int a)
{
    return t->normalized && (t->address[a] == CU_TR_ADDRESS_MODE_WRAP || t->address[a] == CU_TR_ADDRESS_MODE_MIRROR);
}

/* Coordinates in texels. */
static void place_lanes(const struct simt_texture *t, int a, double n, const f32 *c, double *x)
{
    const double far = 0x1p40, odd = t->address[a] == CU_TR_ADDRESS_MODE_MIRROR ? 0.5 : 0;
    IVDEP for (int l = 0; l < SIMT_WARP; l++) x[l] = c[l] == c[l] ? (double)c[l] : 0;
    if (repeats(t, a)) IVDEP for (int l = 0; l < SIMT_WARP; l++)
        {
            double whole = __builtin_floor(x[l]), part = x[l] - whole, half = whole * odd;
            part = part == part ? part : 0; /* of an infinity */
            x[l] = half < __builtin_floor(half) || half > __builtin_floor(half) ? 1 - part : part;
        }
    if (t->normalized) IVDEP for (int l = 0; l < SIMT_WARP; l++) x[l] *= n;
    IVDEP for (int l = 0; l < SIMT_WARP; l++) x[l] = x[l] < -far ? -far : x[l] > far ? far : x[l];
}

/* The texels of indices from -2 to n + 1, of repeating ones from -1 to n. */
static void settle_lanes(const struct simt_texture *t, int a, s32 n, s32 *i, u32 *in)
{
    bool border = t->address[a] == CU_TR_ADDRESS_MODE_BORDER, wrap = t->address[a] == CU_TR_ADDRESS_MODE_WRAP;
    if (border)
        IVDEP for (int l = 0; l < SIMT_WARP; l++) in[l] = i[l] >= 0 && i[l] < n ? UINT32_MAX : 0;
    else
        IVDEP for (int l = 0; l < SIMT_WARP; l++) in[l] = UINT32_MAX;
    if (repeats(t, a) && wrap) IVDEP for (int l = 0; l < SIMT_WARP; l++) i[l] += i[l] < 0 ? n : i[l] >= n ? -n : 0;
    IVDEP for (int l = 0; l < SIMT_WARP; l++) i[l] = i[l] < 0 ? 0 : i[l] >= n ? n - 1 : i[l]; /* a mirror's edge, too */
}

static void point_lanes(const struct simt_texture *t, int a, s32 n, const f32 *c, struct axis_lanes *out)
{
    double x[SIMT_WARP];
    place_lanes(t, a, n, c, x);
    IVDEP for (int l = 0; l < SIMT_WARP; l++)
    {
        double i = __builtin_floor(x[l]);
        out->first[l] = (s32)(i < -2 ? -2 : i > n + 1.0 ? n + 1.0 : i);
    }
    settle_lanes(t, a, n, out->first, out->first_in);
}

static void linear_lanes(const struct simt_texture *t, int a, s32 n, const f32 *c, struct axis_lanes *out)
{
    double x[SIMT_WARP];
    place_lanes(t, a, n, c, x);
    IVDEP for (int l = 0; l < SIMT_WARP; l++)
    {
        double fixed = __builtin_floor((x[l] - 0.5) * 256 + 0.5), i = __builtin_floor(fixed / 256);
        out->weight[l] = (float)(fixed - i * 256) / 256;
        out->first[l] = (s32)(i < -2 ? -2 : i > n ? n : i);
        out->second[l] = out->first[l] + 1;
    }
    settle_lanes(t, a, n, out->first, out->first_in);
    settle_lanes(t, a, n, out->second, out->second_in);
}

/* Channel k of the texels at these bytes of the memory, as the 32 bits that registers get. */
static void read_lanes(const struct simt_texture *t, const s32 *at, uint32_t k, u32 *restrict v)
{
    const char *p = t->base + k * (t->element / t->channels);
    switch (t->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        for (int l = 0; l < SIMT_WARP; l++) v[l] = *(const uint8_t *)(p + at[l]);
        break;
    case CU_AD_FORMAT_SIGNED_INT8:
        for (int l = 0; l < SIMT_WARP; l++) v[l] = (u32) * (const int8_t *)(p + at[l]);
        break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
        for (int l = 0; l < SIMT_WARP; l++) v[l] = *(const u16 *)(const void *)(p + at[l]);
        break;
    case CU_AD_FORMAT_SIGNED_INT16:
        for (int l = 0; l < SIMT_WARP; l++) v[l] = (u32) * (const s16 *)(const void *)(p + at[l]);
        break;
    default: IVDEP for (int l = 0; l < SIMT_WARP; l++) v[l] = *(const u32 *)(const void *)(p + at[l]); return;
    }
    f32 *f = (f32 *)(void *)v;
    const s32 *s = (const s32 *)(const void *)v;
    if (t->raw) return;
    switch (t->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: IVDEP for (int l = 0; l < SIMT_WARP; l++) f[l] = (float)s[l] / 255.0f; break;
    case CU_AD_FORMAT_UNSIGNED_INT16: IVDEP for (int l = 0; l < SIMT_WARP; l++) f[l] = (float)s[l] / 65535.0f; break;
    case CU_AD_FORMAT_SIGNED_INT8:
        IVDEP for (int l = 0; l < SIMT_WARP; l++) f[l] = s[l] < -127 ? -1.0f : (float)s[l] / 127.0f;
        break;
    default: IVDEP for (int l = 0; l < SIMT_WARP; l++) f[l] = s[l] < -32767 ? -1.0f : (float)s[l] / 32767.0f; break;
    }
}

/* Which object lanes can be computed together. Halves and sRGB take functions of their own, faces of cubes are found a
 * lane at a time, and places are numbers of 31 bits. */
static bool suits_lanes(const struct simt_texture *t)
{
    return t->kind < SIMT_TEXTURE_CUBE && t->format != CU_AD_FORMAT_HALF && !(t->srgb && !t->raw) &&
           t->width < 1 << 30 && t->slice * t->depth < 1u << 31 && t->width * t->element < 1u << 31;
}

/* Where the texels are that lie at the first (corner bit 0) or second ones (1) of the axes, and whether they are. */
static void corner_lanes(const struct simt_texture *t, const struct axis_lanes *x, int axes, int corner, s32 *at,
                         u32 *in)
{
    const s32 step[3] = {(s32)t->element, (s32)t->pitch, (s32)t->slice};
    const s32 *i = corner & 1 ? x[0].second : x[0].first;
    const u32 *inside = corner & 1 ? x[0].second_in : x[0].first_in;
    IVDEP for (int l = 0; l < SIMT_WARP; l++) at[l] = i[l] * step[0], in[l] = inside[l];
    for (int a = 1; a < axes; a++) {
        i = corner >> a & 1 ? x[a].second : x[a].first;
        inside = corner >> a & 1 ? x[a].second_in : x[a].first_in;
        IVDEP for (int l = 0; l < SIMT_WARP; l++) at[l] += i[l] * step[a], in[l] &= inside[l];
    }
}

/* False: of none, as where coordinates are the middles of texels. */
static bool weigh_lanes(const struct axis_lanes *x, int axes, int corner, f32 *restrict w)
{
    u32 some = 0;
    for (int a = 0; a < axes; a++) {
        bool second = corner >> a & 1;
        IVDEP for (int l = 0; l < SIMT_WARP; l++)
        {
            float one = second ? x[a].weight[l] : 1 - x[a].weight[l];
            w[l] = a ? w[l] * one : one;
        }
    }
    IVDEP for (int l = 0; l < SIMT_WARP; l++) some |= w[l] != 0;
    return some;
}

static u32 border_bits(const struct simt_texture *t, uint32_t k)
{
    bool floats = t->format == CU_AD_FORMAT_FLOAT || !t->raw;
    u32 bits;
    memcpy(&bits, &t->border[k], sizeof bits);
    return floats ? bits : (u32)(s32)t->border[k];
}

/* One channel at a corner. */
static void channel_lanes(const struct simt_texture *t, const s32 *at, const u32 *in, bool border, uint32_t k, u32 *v)
{
    read_lanes(t, at, k, v);
    if (!border) return;
    const u32 other = border_bits(t, k);
    IVDEP for (int l = 0; l < SIMT_WARP; l++) v[l] = (v[l] & in[l]) | (other & ~in[l]);
}

/* Channel k of the texels at a corner, or what stands for one that the texture lacks. */
static void value_lanes(const struct simt_texture *t, const s32 *at, const u32 *in, bool border, uint32_t k, u32 *v)
{
    const float one = k == 3;
    u32 rest = k == 3, other = border_bits(t, k);
    if (t->format == CU_AD_FORMAT_FLOAT || !t->raw) memcpy(&rest, &one, sizeof rest);
    if (k < t->channels)
        channel_lanes(t, at, in, border, k, v);
    else
        IVDEP for (int l = 0; l < SIMT_WARP; l++) v[l] = in[l] || !border ? rest : other;
}

/* By number in linear memory, outside of which there are zeros. */
static void index_lanes(const struct simt_texture *t, const u32 *c, u32 out[4][SIMT_WARP])
{
    s32 at[SIMT_WARP];
    u32 in[SIMT_WARP], size = (u32)t->width;
    IVDEP for (int l = 0; l < SIMT_WARP; l++)
    {
        in[l] = c[l] < size ? UINT32_MAX : 0;
        at[l] = (s32)((c[l] & in[l]) * t->element);
    }
    for (uint32_t k = 0; k < 4; k++) {
        value_lanes(t, at, in, false, k, out[k]);
        IVDEP for (int l = 0; l < SIMT_WARP; l++) out[k][l] &= in[l];
    }
}

bool FETCH_LANES(const struct simt_texture *t, int axes, bool index, const u32 *const c[3], const u32 *layer,
                 u32 out[4][SIMT_WARP])
{
    const s32 size[3] = {(s32)t->width, (s32)t->height, (s32)t->depth}, last = (s32)t->depth - 1;
    bool border = false, linear = t->filter == CU_TR_FILTER_MODE_LINEAR && (t->format == CU_AD_FORMAT_FLOAT || !t->raw);
    struct axis_lanes x[3];
    s32 at[SIMT_WARP];
    u32 in[SIMT_WARP], v[SIMT_WARP];
    f32 w[SIMT_WARP];
    if (!suits_lanes(t) || (index && t->kind != SIMT_TEXTURE_LINEAR)) return false;
    if (index) return index_lanes(t, c[0], out), true;
    for (int a = 0; a < axes; a++) {
        border |= t->address[a] == CU_TR_ADDRESS_MODE_BORDER;
        (linear ? linear_lanes : point_lanes)(t, a, size[a], (const f32 *)c[a], &x[a]);
    }
    if (linear) memset(out, 0, 4 * sizeof *out);
    for (int corner = 0; corner < (linear ? 1 << axes : 1); corner++) {
        if (linear && !weigh_lanes(x, axes, corner, w)) continue;
        corner_lanes(t, x, axes, corner, at, in);
        if (layer)
            IVDEP for (int l = 0; l < SIMT_WARP; l++) at[l] +=
                (s32)t->slice * (layer[l] > (u32)last ? last : (s32)layer[l]);
        for (uint32_t k = 0; k < 4; k++) {
            if (k >= t->channels && k < 3 && linear && !border) continue; /* zeros are there already */
            value_lanes(t, at, in, border, k, linear ? v : out[k]);
            f32 *sum = (f32 *)out[k];
            const f32 *f = (const f32 *)v;
            if (linear) IVDEP for (int l = 0; l < SIMT_WARP; l++) sum[l] = w[l] == 0 ? sum[l] : sum[l] + w[l] * f[l];
        }
    }
    return true;
}
