/* Fetches of a warp's lanes together give the bits that each lane alone gets: of random objects of every shape and
 * format, at random places, at edges and far outside. */
#include "runtime/host.h"
#include "runtime/simt/sample.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define LANES 32
#define DRAWS 6000
#define ROOM  8192

static const struct kind {
    enum simt_texture_kind kind;
    int axes;
    bool layered;
} kinds[] = {{SIMT_TEXTURE_LINEAR, 1, false},    {SIMT_TEXTURE_PITCH, 2, false},
             {SIMT_TEXTURE_1D, 1, false},        {SIMT_TEXTURE_2D, 2, false},
             {SIMT_TEXTURE_3D, 3, false},        {SIMT_TEXTURE_1D_LAYERED, 1, true},
             {SIMT_TEXTURE_2D_LAYERED, 2, true}, {SIMT_TEXTURE_CUBE_LAYERED, 2, true}};

static struct simt_texture draw_texture(const struct kind *k, char *memory)
{
    static const CUarray_format formats[] = {
        CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
        CU_AD_FORMAT_SIGNED_INT32,  CU_AD_FORMAT_FLOAT,       CU_AD_FORMAT_FLOAT,          CU_AD_FORMAT_HALF};
    struct simt_texture t = {.kind = k->kind, .format = formats[below(8)], .channels = 1u << below(3), .base = memory};
    t.element = t.channels * simt_format_bytes(t.format);
    t.width = 1 + below(7);
    t.height = k->axes > 1 ? 1 + below(5) : 1;
    t.depth = k->axes > 2 || k->layered ? 1 + below(4) : 1;
    t.pitch = t.width * t.element + t.element * below(3);
    t.slice = t.pitch * t.height;
    t.filter = below(2) ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    t.normalized = below(2);
    t.raw = t.format == CU_AD_FORMAT_SIGNED_INT32 || below(3) == 0;
    t.srgb = below(8) == 0;
    for (int a = 0; a < 3; a++) t.address[a] = (CUaddress_mode)below(4);
    for (int c = 0; c < 4; c++) t.border[c] = (float)below(1000) / 8 - 40;
    return t;
}

/* In and around the object; between texels and on them; none, and far away. */
static float draw_coordinate(const struct simt_texture *t, size_t n)
{
    float x = (float)((int)below(65 * 64) - 24 * 64) / 256 * (float)n / 8;
    switch (below(12)) {
    case 0: x = (float)below(2 * (uint32_t)n + 2) / 2 - 0.5f; break;
    case 1: x = below(2) ? (float)n : -x * 1e7f; break;
    case 2: x = below(2) ? NAN : below(2) ? INFINITY : -INFINITY; break;
    case 3: x = below(2) ? 3e38f : 1e-40f; break;
    default: break;
    }
    return t->normalized ? x / (float)n : x;
}

static int fetch_one(const struct kind *k, simt_fetch_function lanes, bool *together)
{
    static union {
        char bytes[ROOM];
        float floats[ROOM / 4];
    } memory;
    uint32_t c[3][LANES], layer[LANES], out[4][LANES];
    const uint32_t *const at[3] = {c[0], c[1], c[2]};
    struct simt_texture t = draw_texture(k, memory.bytes);
    bool index = k->kind == SIMT_TEXTURE_LINEAR;
    const size_t size[3] = {t.width, t.height, t.depth};
    for (size_t i = 0; i < sizeof memory.bytes; i++) memory.bytes[i] = (char)below(256);
    for (int i = 0; t.format == CU_AD_FORMAT_FLOAT && i < ROOM / 4; i++)
        memory.floats[i] = below(50) ? (float)below(4096) / 37 - 50 : below(2) ? NAN : INFINITY;
    for (int l = 0; l < LANES; l++) {
        layer[l] = below(8) ? below((uint32_t)t.depth + 1) : UINT32_MAX - below(9);
        for (int a = 0; a < 3; a++) {
            float x = draw_coordinate(&t, size[a]);
            memcpy(&c[a][l], &x, 4);
            if (index) c[a][l] = below(10) ? below((uint32_t)t.width + 2) - 1 : (uint32_t)INT32_MIN + below(3);
        }
    }
    *together = lanes(&t, k->axes, index, at, k->layered ? layer : NULL, out);
    for (int l = 0; *together && l < LANES; l++) {
        uint32_t mine[3] = {c[0][l], c[1][l], c[2][l]}, want[4];
        float x[3];
        int32_t i[3];
        memcpy(x, mine, sizeof x);
        memcpy(i, mine, sizeof i);
        if (index)
            simt_texture_index(&t, i, 0, want, NULL);
        else
            simt_texture_sample(&t, x, k->layered ? layer[l] : 0, want, NULL);
        for (int n = 0; n < 4; n++) {
            float got_float, want_float;
            memcpy(&got_float, &out[n][l], 4);
            memcpy(&want_float, &want[n], 4);
            bool nans = !t.raw && got_float != got_float && want_float != want_float; /* which of two NaNs is open */
            nans |= t.format == CU_AD_FORMAT_FLOAT && got_float != got_float && want_float != want_float;
            if (out[n][l] == want[n] || nans) continue;
            fprintf(stderr, "kind %d format %d channels %u raw %d filter %d normalized %d address %d %d %d: lane %d\n",
                    (int)t.kind, (int)t.format, t.channels, t.raw, (int)t.filter, t.normalized, (int)t.address[0],
                    (int)t.address[1], (int)t.address[2], l);
            return 1;
        }
    }
    return 0;
}

static void check_all(simt_fetch_function lanes)
{
    int wrong = 0, done = 0;
    for (int n = 0; n < DRAWS && wrong < 5; n++) {
        bool together;
        const struct kind *k = &kinds[below(sizeof kinds / sizeof *kinds)];
        wrong += fetch_one(k, lanes, &together);
        CHECK(!together || k->kind != SIMT_TEXTURE_CUBE_LAYERED);
        done += together;
    }
    CHECK_INT(wrong, 0);
    CHECK(done > DRAWS / 2);
}

TEST(lanes_together_fetch_what_each_would_alone)
{
    check_all(simt_fetch_base);
#ifdef __x86_64__
    if (rt_host_level() >= RT_V3) check_all(simt_fetch_avx2);
    if (rt_host_level() >= RT_V4) check_all(simt_fetch_avx512);
#endif
    check_all(simt_fetch_lanes());
}
