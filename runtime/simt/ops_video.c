/* The video instructions: vadd ... vmad of parts of registers, and those of two or four elements at once. */
#include "runtime/simt/video.h"

static int64_t part(uint64_t both, uint32_t shift, uint32_t bits, bool is_signed)
{
    uint64_t v = both >> shift << (64 - bits);
    return is_signed ? (int64_t)v >> (64 - bits) : (int64_t)(v >> (64 - bits));
}
static __int128 clamp(__int128 v, uint32_t bits, bool is_signed)
{
    __int128 most = (((__int128)1 << bits) - 1) >> is_signed, least = is_signed ? -most - 1 : 0;
    return v > most ? most : v < least ? least : v;
}
static bool compare(uint32_t op, int64_t x, int64_t y)
{
    switch (op) {
    case VIDEO_EQ: return x == y;
    case VIDEO_NE: return x != y;
    case VIDEO_LT: return x < y;
    case VIDEO_LE: return x <= y;
    case VIDEO_GT: return x > y;
    default: return x >= y;
    }
}

/* Without bounds; what does not fit the result is cut off or saturated. */
static __int128 first_step(const struct video *v, int64_t x, int64_t y)
{
    int64_t n = v->wrap ? y & 31 : (uint32_t)y > 32 ? 32 : y;
    switch (v->kind) {
    case VIDEO_ADD: return (__int128)x + y;
    case VIDEO_SUB: return (__int128)x - y;
    case VIDEO_ABSDIFF: return x > y ? (__int128)x - y : (__int128)y - x;
    case VIDEO_MIN: return x < y ? x : y;
    case VIDEO_MAX: return x > y ? x : y;
    case VIDEO_AVERAGE: return x + y >= 0 ? (x + y + 1) >> 1 : (x + y) >> 1;
    case VIDEO_SHL: return (__int128)x * ((int64_t)1 << n);
    case VIDEO_SHR: return x >> n;
    default: return compare(v->compare, x, y);
    }
}

static uint32_t multiply_add(const struct video *v, int64_t x, int64_t y, uint32_t c)
{
    bool is_signed = v->a_signed || v->b_signed || v->negate_product || v->negate_sum;
    __int128 sum = is_signed ? (__int128)(int32_t)c : (__int128)c, product = (__int128)x * y;
    if (v->negate_product) product = -product;
    if (v->negate_sum) sum = -sum;
    __int128 r = product + sum + v->plus_one;
    r >>= v->scale;
    return (uint32_t)(v->saturate ? clamp(r, 32, is_signed) : r);
}

static uint32_t scalar(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
    int64_t x = part(a, v->a_shift[0], v->bits[0], v->a_signed), y = part(b, v->b_shift[0], v->bits[1], v->b_signed);
    if (v->kind == VIDEO_MAD) return multiply_add(v, x, y, c);
    __int128 t = first_step(v, x, y);
    if (v->saturate) t = clamp(t, v->d_bits, v->d_signed);
    uint32_t r = (uint32_t)t;
    bool less = v->d_signed ? (int32_t)r < (int32_t)c : r < c;
    switch (v->second) {
    case VIDEO_SECOND_ADD: return r + c;
    case VIDEO_SECOND_MIN: return less ? r : c;
    case VIDEO_SECOND_MAX: return less ? c : r;
    default: break;
    }
    if (v->d_bits == 32) return r;
    uint32_t field = ((1u << v->d_bits) - 1) << v->d_shift;
    return (c & ~field) | (r << v->d_shift & field);
}

static uint32_t packed(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t bits = v->bits[0], ones = (1u << bits) - 1, r = v->second ? c : 0;
    for (uint32_t e = 0; e < v->lanes; e++) {
        uint32_t at = e * bits;
        if (!(v->mask >> e & 1)) {
            if (!v->second) r |= c & ones << at;
            continue;
        }
        __int128 t =
            first_step(v, part(both, v->a_shift[e], bits, v->a_signed), part(both, v->b_shift[e], bits, v->b_signed));
        if (v->saturate) t = clamp(t, bits, v->d_signed);
        if (v->second)
            r += (uint32_t)t;
        else
            r |= ((uint32_t)t & ones) << at;
    }
    return r;
}

static enum event video(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct video *v = (const void *)(w->worker->program->extra + i->extra);
    const uint32_t *a = u32_at(R, i->a), *b = u32_at(R, i->b), *c = u32_at(R, i->c);
    EACH_LANE(l, m) u32_at(R, i->d)[l] = v->lanes > 1 ? packed(v, a[l], b[l], c[l]) : scalar(v, a[l], b[l], c[l]);
    return EV_NEXT;
}

static const struct op_row rows[] = {{"+video", "", video, NULL, 0}};
const struct op_table simt_ops_video = {rows, sizeof rows / sizeof *rows};
