/* mma.sync, ldmatrix and their like. The fragments' layouts are written down here as the PTX manual gives them, element
 * by element. */
#include <fenv.h>
#include <math.h>
#include "tests/unit/isa.h"
#include "tests/unit/simt_text.h"

/* ---- mma.sync ---- */
struct mma {
    const char *words;
    int m, k, bits;
    char type; /* h f16, b bf16, t tf32, e e4m3, f e5m2, o e2m3, p e3m2, q e2m1, s signed, u unsigned, x bits of xor, a
                  bits of and, d f64 */
    bool half_in; /* C and D are f16 */
    bool half_out;
};
static const struct mma mmas[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 16, 'h', false, false},
    {"m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 16, 'h', false, false},
    {"m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 16, 'h', true, true},
    {"m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 16, 'h', true, true},
    {"m16n8k16.row.col.f32.f16.f16.f16", 16, 16, 16, 'h', true, false},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 16, 'b', false, false},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 16, 'b', false, false},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 32, 't', false, false},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32, 't', false, false},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, 8, 'e', false, false},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 32, 8, 'f', false, false},
    {"m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", 16, 32, 8, 'e', false, false},
    {"m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m3.f32", 16, 32, 8, 'o', false, false},
    {"m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32", 16, 32, 8, 'p', false, false},
    {"m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", 16, 32, 8, 'q', false, false},
    {"m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e2m1.f16", 16, 32, 8, 'q', true, true},
    {"m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 8, 's', false, false},
    {"m16n8k16.row.col.satfinite.s32.s8.s8.s32", 16, 16, 8, 's', false, false},
    {"m16n8k32.row.col.s32.u8.u8.s32", 16, 32, 8, 'u', false, false},
    {"m8n8k32.row.col.s32.u4.u4.s32", 8, 32, 4, 'u', false, false},
    {"m16n8k32.row.col.s32.s4.s4.s32", 16, 32, 4, 's', false, false},
    {"m16n8k64.row.col.s32.s4.s4.s32", 16, 64, 4, 's', false, false},
    {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 128, 1, 'x', false, false},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 16, 128, 1, 'a', false, false},
    {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 16, 256, 1, 'x', false, false},
    {"m8n8k4.row.col.f64.f64.f64.f64", 8, 4, 64, 'd', false, false},
    {"m16n8k4.row.col.f64.f64.f64.f64", 16, 4, 64, 'd', false, false},
    {"m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 64, 'd', false, false},
    {"m16n8k16.row.col.f64.f64.f64.f64", 16, 16, 64, 'd', false, false},
};

static int a_row(const struct mma *x, int g, int i)
{
    if (x->m == 8) return g;
    switch (x->bits) {
    case 1: return i < 32 || (i >= 64 && i < 96) ? g : g + 8;
    case 4: return i < 8 || (i >= 16 && i < 24) ? g : g + 8;
    case 8: return i < 4 || (i >= 8 && i < 12) ? g : g + 8;
    case 16: return i < 2 || (i >= 4 && i < 6) ? g : g + 8;
    default: return i % 2 == 0 ? g : g + 8;
    }
}
static int a_col(const struct mma *x, int t, int i)
{
    switch (x->bits) {
    case 1: return t * 32 + (i & 31) + (i < 64 ? 0 : 128);
    case 4: return t * 8 + (i & 7) + (i < 16 ? 0 : 32);
    case 8: return t * 4 + (i & 3) + (i < 8 ? 0 : 16);
    case 16: return t * 2 + (i & 1) + (i < 4 ? 0 : 8);
    default: return t + i / 2 * 4;
    }
}
static int b_row(const struct mma *x, int t, int i)
{
    switch (x->bits) {
    case 1: return t * 32 + (i & 31) + (i < 32 ? 0 : 128);
    case 4: return t * 8 + (i & 7) + (i < 8 ? 0 : 32);
    case 8: return t * 4 + (i & 3) + (i < 4 ? 0 : 16);
    case 16: return t * 2 + (i & 1) + (i < 2 ? 0 : 8);
    default: return t + 4 * i;
    }
}

/* The code of a small number in the format, so that all sums are exact. */
static uint64_t encode(char type, int bits, double v)
{
    float f = (float)v;
    uint32_t u;
    uint64_t q;
    _Float16 h = (_Float16)v;
    uint16_t w;
    memcpy(&u, &f, 4);
    memcpy(&q, &v, 8);
    memcpy(&w, &h, 2);
    switch (type) {
    case 'h': return w;
    case 'b': return u >> 16;
    case 't': return u | 0x155; /* bits below the format's are left out */
    case 'e':                   /* of a half, four bits of the exponent with another bias; v is 0 or at least 2^-6 */
        return v == 0 ? 0 : (uint64_t)((w >> 8 & 0x80) | (((w >> 10 & 31) - 8) << 3) | (w >> 7 & 7));
    case 'f': return w >> 8;
    case 'o': return (uint64_t)(fabs(v) * 8) | (v < 0 ? 0x20 : 0); /* below 2 a fixed point */
    case 'p':                                                      /* of a half, three bits of the exponent */
        return v == 0 ? 0 : (uint64_t)(((w >> 10 & 31) - 12) << 2 | (w >> 8 & 3)) | (v < 0 ? 0x20 : 0);
    case 'q': return (uint64_t)(fabs(v) * 2) << 2 | (v < 0 ? 0x20 : 0); /* likewise, two bits up in the byte */
    case 'd': return q;
    default: return (uint64_t)(int64_t)v & ((1u << bits) - 1);
    }
}
static double random_value(char type, int bits, uint64_t *seed)
{
    int64_t r = (int64_t)(next_random(seed) >> 40);
    switch (type) {
    case 'h':
    case 'b':
    case 't': return (double)(r % 33 - 16) / 4;
    case 'e':
    case 'f':
    case 'o':
    case 'p':
    case 'q': return (double)(r % 7 - 3) / 2;
    case 'd': return (double)(r % 2001 - 1000) / 8;
    case 's': return (double)(r % (1 << bits) - (1 << (bits - 1)));
    default: return (double)(r % (1 << bits));
    }
}

static void check_mma(const struct mma *x)
{
    static double a[16][256], b[256][8], c[16][8];
    int a_regs = x->m * x->k * (x->bits < 32 ? x->bits : 32) / 1024,
        b_regs = 8 * x->k * (x->bits < 32 ? x->bits : 32) / 1024;
    int per = x->bits >= 32 ? 1 : 32 / x->bits, sums = x->m / 4, c_regs = x->half_in ? sums / 2 : sums;
    int d_regs = x->half_out ? sums / 2 : sums, wide = x->bits == 64 ? 8 : 4;
    uint64_t in = device(32 * 32 * 8), out = device(16 * 32 * 8), seed = 0x9e3779b97f4a7c15u;
    char *ia = simt_host(in), *ib = ia + a_regs * 32 * wide, *ic = ib + b_regs * 32 * wide;
    const char *type = wide == 8 ? "f64" : "b32";
    for (int r = 0; r < x->m; r++)
        for (int k = 0; k < x->k; k++) a[r][k] = random_value(x->type, x->bits, &seed);
    for (int k = 0; k < x->k; k++)
        for (int n = 0; n < 8; n++) b[k][n] = random_value(x->type, x->bits, &seed);
    for (int r = 0; r < x->m; r++)
        for (int n = 0; n < 8; n++) c[r][n] = (double)((int)(next_random(&seed) >> 50) % 64 - 32);
    if (strstr(x->words, "satfinite")) c[0][0] = INT32_MAX, c[1][1] = INT32_MIN, c[9][3] = INT32_MAX - 5;
    for (int l = 0; l < 32; l++) {
        int g = l >> 2, t = l % 4;
        for (int i = 0; i < a_regs * per; i++) {
            uint64_t v = encode(x->type, x->bits, a[a_row(x, g, i)][a_col(x, t, i)]);
            if (wide == 8)
                ((uint64_t *)ia)[i * 32 + l] = v;
            else
                ((uint32_t *)ia)[i / per * 32 + l] |= (uint32_t)(v << i % per * (per > 1 ? x->bits : 0));
        }
        for (int i = 0; i < b_regs * per; i++) {
            uint64_t v = encode(x->type, x->bits, b[b_row(x, t, i)][g]);
            if (wide == 8)
                ((uint64_t *)ib)[i * 32 + l] = v;
            else
                ((uint32_t *)ib)[i / per * 32 + l] |= (uint32_t)(v << i % per * (per > 1 ? x->bits : 0));
        }
        for (int i = 0; i < sums; i++) {
            double v = c[i < 2 ? g : g + 8][t * 2 + (i & 1)];
            float f = (float)v;
            if (wide == 8)
                ((double *)ic)[i * 32 + l] = v;
            else if (x->half_in)
                ((uint32_t *)ic)[i / 2 * 32 + l] |= (uint32_t)encode('h', 16, v) << (i & 1 ? 16 : 0);
            else if (strchr("hbtefopq", x->type))
                ((float *)ic)[i * 32 + l] = f;
            else
                ((int32_t *)ic)[i * 32 + l] = (int32_t)v;
        }
    }
    char text[8192];
    int n =
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .%s %%x<64>; .reg .b64 %%rd<8>;"
                      ".reg .b32 %%l;\nld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%l, %%laneid;\n"
                      "mul.wide.u32 %%rd3, %%l, %d; add.u64 %%rd1, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n",
                 type, wide);
    for (int r = 0; r < a_regs + b_regs + c_regs; r++)
        n += snprintf(text + n, sizeof text - (size_t)n, "ld.global.%s %%x%d, [%%rd1+%d];\n", type, r, r * 32 * wide);
    n += snprintf(text + n, sizeof text - (size_t)n, "mma.sync.aligned.%s ", x->words);
    const int counts[] = {d_regs, a_regs, b_regs, c_regs};
    for (int o = 0, r = -d_regs; o < 4; o++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "{");
        for (int k = 0; k < counts[o]; k++, r++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%%x%d", k ? ", " : "", r < 0 ? 40 + k : r);
        n += snprintf(text + n, sizeof text - (size_t)n, o < 3 ? "}, " : "};\n");
    }
    for (int r = 0; r < d_regs; r++)
        n += snprintf(text + n, sizeof text - (size_t)n, "st.global.%s [%%rd2+%d], %%x%d;\n", type, r * 32 * wide,
                      40 + r);
    snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");
    must_run(text, 1, 32, (uint64_t[]){in, out});
    const char *d = simt_host(out);
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < sums; i++) {
            int row = i < 2 ? l >> 2 : (l >> 2) + 8, col = l % 4 * 2 + (i & 1);
            double want = c[row][col], got;
            for (int k = 0; k < x->k; k++) want += x->type == 'x' ? a[row][k] != b[k][col] : a[row][k] * b[k][col];
            if (strstr(x->words, "satfinite"))
                want = want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
            if (wide == 8) {
                got = ((const double *)d)[i * 32 + l];
            } else if (x->half_out) {
                _Float16 h;
                memcpy(&h, d + (i / 2 * 32 + l) * 4 + (i & 1) * 2, 2);
                got = (double)h;
                want = (double)(_Float16)want;
            } else if (strchr("hbtefopq", x->type)) {
                got = (double)((const float *)d)[i * 32 + l];
            } else {
                got = ((const int32_t *)d)[i * 32 + l];
            }
            if (got != want) FAIL("mma %s, row %d, column %d: %g, expected %g", x->words, row, col, got, want);
        }
    simt_free(in);
    simt_free(out);
}

TEST(mma_of_every_shape)
{
    static const char *const isas[] = {"base", "v3", "v4"};
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; take_isa(isas[i]) && k < sizeof mmas / sizeof *mmas; k++) check_mma(&mmas[k]);
}

/* Lane l has 1 / (l + 3) of A, 1 / (l + 7) of B and (l + 1) / 10, (l + 1) / 30 of C. */
static void check_rounded_double(const char *words, int mode)
{
    uint64_t out = device(32 * 16);
    char text[2048];
    snprintf(text, sizeof text,
             HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %%l; .reg .b64 %%rd<3>; .reg .f64 %%d<8>;\n"
                  "ld.param.u64 %%rd1, [out]; mov.u32 %%l, %%laneid; mul.wide.u32 %%rd2, %%l, 16;"
                  "add.u64 %%rd1, %%rd1, %%rd2; cvt.rn.f64.u32 %%d0, %%l;\n"
                  "add.f64 %%d1, %%d0, 0d4008000000000000; rcp.rn.f64 %%d1, %%d1;\n"
                  "add.f64 %%d2, %%d0, 0d401C000000000000; rcp.rn.f64 %%d2, %%d2;\n"
                  "add.f64 %%d0, %%d0, 0d3FF0000000000000; div.rn.f64 %%d3, %%d0, 0d4024000000000000;\n"
                  "div.rn.f64 %%d4, %%d0, 0d403E000000000000;\n"
                  "%s.f64.f64.f64.f64 {%%d5, %%d6}, {%%d1}, {%%d2}, {%%d3, %%d4};\n"
                  "st.global.v2.f64 [%%rd1], {%%d5, %%d6}; ret;\n}\n",
             words);
    must_run(text, 1, 32, &out);
    const double *got = simt_host(out);
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            int lane = row * 4 + column / 2;
            volatile double sum = column % 2 ? (lane + 1) / 30.0 : (lane + 1) / 10.0;
            for (int k = 0; k < 4; k++) {
                volatile double a = 1.0 / (row * 4 + k + 3), b = 1.0 / (column * 4 + k + 7);
                fesetround(mode);
                sum = fma(a, b, sum);
                fesetround(FE_TONEAREST);
            }
            if (got[lane * 2 + column % 2] != sum)
                FAIL("%s, row %d, column %d: %.17g, expected %.17g", words, row, column, got[lane * 2 + column % 2],
                     sum);
        }
    simt_free(out);
}

TEST(products_of_doubles_round_as_they_say)
{
    static const int modes[] = {FE_TONEAREST, FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    static const char *const names[] = {"", ".rn", ".rz", ".rm", ".rp"};
    for (int k = 0; k < 5; k++) {
        char words[80];
        snprintf(words, sizeof words, "mma.sync.aligned.m8n8k4.row.col%s", names[k]);
        check_rounded_double(words, modes[k]);
        snprintf(words, sizeof words, "wmma.mma.sync.aligned.row.col.m8n8k4%s", names[k]);
        check_rounded_double(words, modes[k]);
    }
    must_refuse(HEAD ".visible .entry k()\n{\n.reg .b32 %x<8>;\n"
                     "mma.sync.aligned.m16n8k8.row.col.rz.f32.f16.f16.f32 {%x0, %x1, %x2, %x3}, {%x4, %x5}, {%x6},"
                     " {%x0, %x1, %x2, %x3}; ret;\n}\n",
                "mma.sync.aligned.m16n8k8.row.col.rz");
}

/* Infinities, NaN, denormals and the rounding of a half sum: each lane's D is a00 * b00 + c of its own. */
/* ---- mma.m8n8k4 of f16: lanes 4p to 4p + 3 and those 16 above have a product of their own ---- */
static void check_quads(bool a_columns, bool b_columns, bool half_in, bool half_out)
{
    double a[4][8][4], b[4][4][8], c[4][8][8];
    uint64_t in = device(12 * 32 * 4), out = device(8 * 32 * 4), seed = 0x9e3779b97f4a7c15u;
    uint32_t *at = simt_host(in);
    for (int p = 0; p < 4; p++)
        for (int r = 0; r < 8; r++)
            for (int k = 0; k < 8; k++) {
                a[p][r][k % 4] = random_value('h', 16, &seed), b[p][k % 4][r] = random_value('h', 16, &seed);
                c[p][r][k] = random_value('h', 16, &seed);
            }
    for (int l = 0; l < 32; l++) {
        int p = l % 16 / 4, four = l < 16 ? 0 : 4;
        for (int i = 0; i < 4; i++) {
            double va = a_columns ? a[p][i + four][l % 4] : a[p][l % 4 + four][i];
            double vb = b_columns ? b[p][i][l % 4 + four] : b[p][l % 4][i + four];
            at[i / 2 * 32 + l] |= (uint32_t)encode('h', 16, va) << 16 * (i % 2);
            at[(2 + i / 2) * 32 + l] |= (uint32_t)encode('h', 16, vb) << 16 * (i % 2);
        }
        for (int i = 0; i < 8; i++) {
            float f = (float)c[p][(l & 1) + (i & 2) + four][(i & 4) + (l & 2) + (i & 1)];
            if (half_in)
                at[(4 + i / 2) * 32 + l] |= (uint32_t)encode('h', 16, c[p][l % 4 + four][i]) << 16 * (i % 2);
            else
                memcpy(&at[(4 + i) * 32 + l], &f, 4);
        }
    }
    char text[4096];
    snprintf(text, sizeof text,
             HEAD ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %%x<24>; .reg .b64 %%rd<8>;"
                  ".reg .b32 %%l;\nld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%l, %%laneid;\n"
                  "mul.wide.u32 %%rd3, %%l, 4; add.u64 %%rd1, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n");
    for (int r = 0; r < 12; r++) sprintf(text + strlen(text), "ld.global.b32 %%x%d, [%%rd1+%d];\n", r, 128 * r);
    sprintf(text + strlen(text),
            "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s {%s}, {%%x0, %%x1}, {%%x2, %%x3}, {%s};\n",
            a_columns ? "col" : "row", b_columns ? "col" : "row", half_out ? "f16" : "f32", half_in ? "f16" : "f32",
            half_out ? "%x12, %x13, %x14, %x15" : "%x12, %x13, %x14, %x15, %x16, %x17, %x18, %x19",
            half_in ? "%x4, %x5, %x6, %x7" : "%x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11");
    for (int r = 0; r < 8; r++) sprintf(text + strlen(text), "st.global.b32 [%%rd2+%d], %%x%d;\n", 128 * r, 12 + r);
    strcat(text, "ret;\n}\n");
    must_run(text, 1, 32, (uint64_t[]){in, out});
    const uint32_t *d = simt_host(out);
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 8; i++) {
            int p = l % 16 / 4, four = l < 16 ? 0 : 4, row = half_out ? l % 4 : (l & 1) + (i & 2);
            int column = half_out ? i : (i & 4) + (l & 2) + (i & 1);
            double want = c[p][row + four][column];
            for (int k = 0; k < 4; k++) want += a[p][row + four][k] * b[p][k][column];
            float f;
            memcpy(&f, &d[i * 32 + l], 4);
            if (half_out)
                CHECK_INT(d[i / 2 * 32 + l] >> 16 * (i % 2) & 0xffff, encode('h', 16, want));
            else
                CHECK_NEAR(f, want, 0);
        }
    simt_free(in), simt_free(out);
}

TEST(mma_of_quad_pairs)
{
    for (int k = 0; k < 12; k++) check_quads(k & 1, k & 2, k >= 4, k >= 8);
}

TEST(mma_of_edge_values)
{
    uint64_t out = device(32 * 8);
    must_run(HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %a<4>, %b<2>, %c<2>, %d<2>, %l; .reg .b64 %rd<4>;"
                  ".reg .pred %p;\nld.param.u64 %rd1, [out]; mov.u32 %l, %laneid; mul.wide.u32 %rd2, %l, 8;"
                  "add.u64 %rd1, %rd1, %rd2; setp.eq.u32 %p, %l, 0;\n"
                  "mov.u32 %a0, 0; mov.u32 %a1, 0; mov.u32 %a2, 0; mov.u32 %a3, 0; mov.u32 %b0, 0; mov.u32 %b1, 0;"
                  "mov.u32 %c0, 0; mov.u32 %c1, 0x7c017bff; @%p mov.u32 %a0, 1; @%p mov.u32 %b0, 0x3c00;\n"
                  "@%p mov.u32 %a1, 0x7bff; @%p mov.u32 %c0, 0x0000fc00;\n"
                  "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%d0, %d1}, {%a0, %a1, %a2, %a3}, {%b0, %b1},"
                  " {%c0, %c1};\nst.global.v2.b32 [%rd1], {%d0, %d1}; ret;\n}\n",
             1, 32, &out);
    const uint32_t *d = simt_host(out);
    CHECK_INT(d[0], 0x0000fc00);      /* -inf + 2^-24, 0 */
    CHECK_INT(d[1] & 0xffff, 0x7c00); /* 65504 + 65504 is too large */
    CHECK_INT(d[1] >> 16 & 0x7fff, 0x7fff);
    CHECK_INT(d[3] & 0xffff, 0x7bff);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */
static void check_rows(int count, bool transposed)
{
    char text[4096], list[64] = "";
    for (int k = 0; k < count; k++) sprintf(list + strlen(list), "%s%%x%d", k ? ", " : "", k);
    snprintf(
        text, sizeof text,
        HEAD
        ".visible .entry k(.param .u64 out)\n{\n.shared .align 16 .b16 in[256]; .shared .align 16 .b16 back[256];\n"
        ".reg .b32 %%x<4>, %%r<8>, %%l; .reg .b64 %%rd<4>; .reg .b16 %%h; .reg .pred %%p;\n"
        "ld.param.u64 %%rd1, [out]; mov.u32 %%l, %%laneid; mul.wide.u32 %%rd2, %%l, 16;"
        "add.u64 %%rd1, %%rd1, %%rd2; mov.u32 %%r1, in; shl.b32 %%r2, %%l, 4; add.u32 %%r3, %%r1, %%r2;\n"
        "mov.u32 %%r4, 0;\nL: mad.lo.u32 %%r5, %%l, 8, %%r4; cvt.u16.u32 %%h, %%r5; mad.lo.u32 %%r6, %%r4, 2,"
        "%%r3; st.shared.b16 [%%r6], %%h; add.u32 %%r4, %%r4, 1; setp.lt.u32 %%p, %%r4, 8; @%%p bra L;\n"
        "bar.sync 0; mov.u32 %%x0, -1; mov.u32 %%x1, -1; mov.u32 %%x2, -1; mov.u32 %%x3, -1;\n"
        "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%s}, [%%r3];\n"
        "st.global.v4.b32 [%%rd1], {%%x0, %%x1, %%x2, %%x3}; mov.u32 %%r1, back; add.u32 %%r3, %%r1, %%r2;\n"
        "stmatrix.sync.aligned.m8n8.x%d%s.shared::cta.b16 [%%r3], {%s};\n"
        "bar.sync 0; setp.ge.u32 %%p, %%l, %d; @%%p bra E; ld.shared.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%r3];\n"
        "st.global.v4.b32 [%%rd1+512], {%%x0, %%x1, %%x2, %%x3}; E: ret;\n}\n",
        count, transposed ? ".trans" : "", list, count, transposed ? ".trans" : "", list, 8 * count);
    uint64_t memory = device(32 * 16 * 2);
    must_run(text, 1, 32, &memory);
    const uint32_t *got = simt_host(memory);
    for (int l = 0; l < 32; l++)
        for (int k = 0; k < 4; k++) {
            int g = l >> 2, t = l % 4, base = k * 64;
            uint32_t low = (uint32_t)(transposed ? base + 2 * t * 8 + g : base + g * 8 + 2 * t);
            uint32_t high = (uint32_t)(transposed ? base + (2 * t + 1) * 8 + g : base + g * 8 + 2 * t + 1);
            CHECK_INT(got[l * 4 + k], k < count ? low | high << 16 : UINT32_MAX);
        }
    const uint16_t *back = (const uint16_t *)(got + 128); /* storing is the inverse of loading */
    for (int k = 0; k < count * 64; k++) CHECK_INT(back[k], k);
    simt_free(memory);
}

/* Matrices of bytes, and of 6 and 4 bits that become bytes. Lines of memory are 16 bytes; what is random tells which
 * byte went where. `words` is how the instruction goes on; a matrix has so many lines and registers. */
static uint8_t unpacked(const uint8_t *line, int bits, int e)
{
    unsigned v = 0;
    for (int b = 0; b < bits; b++) v |= (unsigned)(line[(e * bits + b) / 8] >> (e * bits + b) % 8 & 1) << b;
    return (uint8_t)v;
}
static void check_bytes(const char *words, int registers, int bits, bool square)
{
    char text[4096], list[64] = "";
    for (int k = 0; k < registers; k++) sprintf(list + strlen(list), "%s%%x%d", k ? ", " : "", k);
    snprintf(text, sizeof text,
             HEAD
             ".visible .entry k(.param .u64 out)\n{\n.shared .align 16 .b8 in[512];\n"
             ".reg .b32 %%x<4>, %%r<4>, %%l; .reg .b64 %%rd<4>;\n"
             "ld.param.u64 %%rd1, [out]; mov.u32 %%l, %%laneid; mul.wide.u32 %%rd2, %%l, 16;"
             "add.u64 %%rd1, %%rd1, %%rd2; mov.u32 %%r1, in; mad.lo.u32 %%r3, %%l, 16, %%r1;\n"
             "ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%rd1]; st.shared.v4.b32 [%%r3], {%%x0, %%x1, %%x2, %%x3};"
             "bar.sync 0; mov.u32 %%x0, -1; mov.u32 %%x1, -1; mov.u32 %%x2, -1; mov.u32 %%x3, -1;\n"
             "ldmatrix.sync.aligned.%s {%s}, [%%r3];\n"
             "st.global.v4.b32 [%%rd1+512], {%%x0, %%x1, %%x2, %%x3}; ret;\n}\n",
             words, list);
    uint64_t memory = device(1024);
    uint8_t *in = simt_host(memory), *got = in + 512;
    for (int k = 0; k < 512; k++) in[k] = (uint8_t)(k * 2654435761u >> 13);
    must_run(text, 1, 32, &memory);
    for (int l = 0; l < 32; l++)
        for (int k = 0; k < 16; k++) {
            int r = k / 4, e = k % 4, g = l / 4, t = l % 4;
            int line = square ? 16 * (r / 2) + 4 * t + 2 * (r % 2) + e % 2 : 8 * r + g;
            int column = square ? g + 8 * (e / 2) : 4 * t + e;
            CHECK_INT(got[l * 16 + k], r < registers ? unpacked(in + 16 * line, bits, column) : 255);
        }
    simt_free(memory);
}
TEST(matrices_of_bytes_and_less)
{
    check_bytes("m16n16.x1.trans.shared.b8", 2, 8, true);
    check_bytes("m16n16.x2.trans.shared::cta.b8", 4, 8, true);
    check_bytes("m16n16.x1.trans.shared.b8x16.b4x16_p64", 2, 4, true);
    check_bytes("m16n16.x2.trans.shared.b8x16.b6x16_p32", 4, 6, true);
    check_bytes("m8n16.x1.shared.b8x16.b6x16_p32", 1, 6, false);
    check_bytes("m8n16.x2.shared.b8x16.b4x16_p64", 2, 4, false);
    check_bytes("m8n16.x4.shared.b8x16.b4x16_p64", 4, 4, false);
    check_bytes("m8n16.x4.shared.b8x16.b6x16_p32", 4, 6, false);
#define ROWS(insn) HEAD ".visible .entry k()\n{\n.shared .b8 in[512]; .reg .b32 %x<4>;\n" insn "\nret;\n}\n"
    must_refuse(ROWS("ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%x0, %x1}, [in];"), "m16n16.x1.shared.b8");
    must_refuse(ROWS("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%x0, %x1, %x2, %x3}, [in];"), "m16n16.x4");
    must_refuse(ROWS("ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%x0}, [in];"), "m8n8.x1.shared.b8");
    must_refuse(ROWS("stmatrix.sync.aligned.m16n8.x1.shared.b8 [in], {%x0};"), "m16n8.x1.shared.b8");
}

TEST(columns_of_bytes_are_stored)
{
    for (int count = 1; count <= 4; count *= 2) {
        char text[2048];
        const char *list[] = {"", "%x0", "%x0, %x1", "", "%x0, %x1, %x2, %x3"};
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 out)\n{\n.shared .align 16 .b8 back[512];\n"
                      ".reg .b32 %%x<4>, %%r<4>, %%l; .reg .b64 %%rd<4>;\n"
                      "ld.param.u64 %%rd1, [out]; mov.u32 %%l, %%laneid; mul.wide.u32 %%rd2, %%l, 16;"
                      "add.u64 %%rd1, %%rd1, %%rd2; mov.u32 %%r1, back; mad.lo.u32 %%r3, %%l, 16, %%r1;\n"
                      "mov.u32 %%x0, 0; st.shared.v4.b32 [%%r3], {%%x0, %%x0, %%x0, %%x0}; bar.sync 0;\n"
                      "ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%rd1];\n"
                      "stmatrix.sync.aligned.m16n8.x%d.trans.shared.b8 [%%r3], {%s}; bar.sync 0;\n"
                      "ld.shared.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%r3];\n"
                      "st.global.v4.b32 [%%rd1+512], {%%x0, %%x1, %%x2, %%x3}; ret;\n}\n",
                 count, list[count]);
        uint64_t memory = device(1024);
        uint8_t *in = simt_host(memory), *got = in + 512;
        for (int k = 0; k < 512; k++) in[k] = (uint8_t)(k * 2654435761u >> 11);
        must_run(text, 1, 32, &memory);
        for (int line = 0; line < 32; line++) /* column line % 8 of a matrix: row r is byte r of the line */
            for (int r = 0; r < 16; r++) {
                int lane = r % 8 * 4 + line % 8 / 2, byte = line % 2 + 2 * (r / 8);
                CHECK_INT(got[line * 16 + r], line < 8 * count ? in[lane * 16 + line / 8 * 4 + byte] : 0);
            }
        simt_free(memory);
    }
}

TEST(rows_of_matrices)
{
    for (int count = 1; count <= 4; count *= 2) {
        check_rows(count, false);
        check_rows(count, true);
    }
    uint64_t out = device(128);
    must_run(HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>, %l; .reg .b64 %rd<4>;\n"
                  "ld.param.u64 %rd1, [out]; mov.u32 %l, %laneid; mul.wide.u32 %rd2, %l, 4; add.u64 %rd1, %rd1, %rd2;\n"
                  "shl.b32 %r1, %l, 17; mad.lo.u32 %r1, %l, 2, %r1; add.u32 %r1, %r1, 0x10000;\n"
                  "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; st.global.b32 [%rd1], %r2; ret;\n}\n",
             1, 32, &out);
    const uint16_t *e = simt_host(out);
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++) CHECK_INT(e[r * 8 + c], c * 8 + r);
}

/* ---- faults ---- */
#define MMA                                                                                                            \
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%x0, %x1, %x2, %x3}, {%x4, %x5}, {%x6}, {%x0, %x1, %x2, %x3};\n"
TEST(matrix_instructions_need_whole_warps)
{
    struct simt_fault fault;
    const char *text = HEAD ".visible .entry k()\n{\n.reg .b32 %x<8>;\n" MMA "ret;\n}\n";
    CHECK(!run_text(text, 1, 16, NULL, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_BARRIER);
    CHECK_HAS(fault.text, "is executed by the lanes 0x0000ffff of a warp, but needs all 32");
    /* Lanes that come one after the other wait for each other. */
    must_run(HEAD ".visible .entry k()\n{\n.reg .b32 %x<8>; .reg .pred %p;\nmov.u32 %x0, %laneid;\n"
                  "setp.lt.u32 %p, %x0, 7; @%p bra A; add.u32 %x1, %x0, 1; bra B; A: add.u32 %x1, %x0, 2;\n"
                  "B: " MMA "ret;\n}\n",
             1, 64, NULL);
}

TEST(fragments_with_wrong_registers_are_refused)
{
    struct rt_error e = {0};
    struct ptx_module *m;
    const char *text =
        HEAD ".visible .entry k()\n{\n.reg .b32 %x<8>;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
             " {%x0, %x1, %x2, %x3}, {%x4, %x5}, {%x6}, {%x0, %x1, %x2, %x3};\nret;\n}\n";
    m = ptx_parse(text, strlen(text), &e);
    CHECK(m != NULL);
    CHECK(simt_program_new(m, &e) == NULL);
    CHECK_HAS(e.text, "mma: expected 4 registers, got 2");
    ptx_free(m);
    rt_error_clear(&e);
    CHECK(!load(HEAD ".visible .entry k()\n{\nwmma.mma.sync.aligned.row.col.m16n16k16.f32.f32;\nret;\n}\n", &e));
    CHECK_HAS(e.text, "wmma has 0 operands, expected 4");
    rt_error_clear(&e);
    must_refuse(HEAD ".visible .entry k()\n{\n.reg .b32 %x<8>;\nmma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32"
                     " {%x0, %x1, %x2, %x3}, {%x4, %x5}, {%x6, %x7}, {%x0, %x1, %x2, %x3};\nret;\n}\n",
                "mma.sync.aligned.m8n8k4");
    must_refuse(HEAD ".visible .entry k()\n{\n.reg .b32 %x<8>;\nmma.sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32"
                     " {%x0, %x1, %x2, %x3}, {%x4, %x5, %x6, %x7}, {%x4, %x5}, {%x0, %x1, %x2, %x3};\nret;\n}\n",
                "f32.e2m1.e2m1.f32");
}
