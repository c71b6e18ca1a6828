/* Loads, stores and atomics of every type and space, and the addresses of the windows. The inputs of a thread lie at
 * [%src]: x, y, z and v, of 8 bytes each. */
#include "tests/unit/simt_insn.h"
#include "tests/unit/soft_float.h"

static const struct {
    const char *type;
    int bits;
    bool is_signed;
    const char *classes; /* of the registers that may take it */
} types[] = {
    {"u8", 8, false, "rhq"},  {"s8", 8, true, "rhq"},   {"b8", 8, false, "rhq"},  {"u16", 16, false, "hrq"},
    {"s16", 16, true, "hrq"}, {"b16", 16, false, "hr"}, {"u32", 32, false, "rq"}, {"s32", 32, true, "rq"},
    {"b32", 32, false, "rf"}, {"f32", 32, false, "f"},  {"u64", 64, false, "q"},  {"s64", 64, true, "q"},
    {"b64", 64, false, "qd"}, {"f64", 64, false, "d"},
};

static int width_of(char class)
{
    return class == 'h' ? 16 : class == 'r' || class == 'f' ? 32 : 64;
}
static uint64_t low(uint64_t v, int bits)
{
    return bits == 64 ? v : v & (((uint64_t)1 << bits) - 1);
}
/* What a register of so many bits gets of a value in memory. */
static uint64_t loaded(uint64_t v, int bits, bool is_signed, int width)
{
    v = low(v, bits);
    if (is_signed && v >> (bits - 1)) v |= ~low(UINT64_MAX, bits);
    return low(v, width);
}

/* A window's memory of a thread, filled with x and y: the text before, and the address after it. */
static const struct {
    const char *before, *at, *name;
} places[] = {
    {"", "%src", ".global"},
    {"", "%src", ""},
    {"", "%src", ".global.nc"},
    {"{ .shared .align 16 .b8 tile[4096]; mov.u32 %r4, %tid.x; shl.b32 %r4, %r4, 4; mov.u32 %r5, tile;"
     " add.u32 %r4, %r4, %r5; st.shared.v2.b64 [%r4], {%qx, %qy}; ",
     "%r4", ".shared"},
    {"{ .shared .align 16 .b8 tile[4096]; mov.u32 %r4, %tid.x; mul.wide.u32 %q4, %r4, 16; mov.u64 %q5, tile;"
     " add.u64 %q4, %q4, %q5; cvta.shared.u64 %q4, %q4; st.v2.b64 [%q4], {%qx, %qy}; ",
     "%q4", ""},
    {"{ .local .align 16 .b8 own[16]; st.local.v2.b64 [own], {%qx, %qy}; mov.u64 %q4, own; ", "%q4", ".local"},
    {"{ .local .align 16 .b8 own[16]; st.local.v2.b64 [own], {%qx, %qy}; mov.u64 %q4, own; cvta.local.u64 %q4, %q4; ",
     "%q4", ""},
    {"{ .local .align 16 .b8 own[16]; st.local.v2.b64 [own], {%qx, %qy}; ", "own", ".local"},
};

INSN_TEST(loads)
{
    for (size_t p = 0; p < COUNT(places); p++)
        for (size_t k = 0; k < COUNT(types); k++)
            for (const char *c = types[k].classes; *c && (p < 4 || c == types[k].classes); c++) {
                int bytes = types[k].bits / 8, offset = 8 - bytes; /* the last of x, */
                if (bytes == 8) offset = 8;                        /* or y */
                INSN(sprint("%sld%s.%s %%%co, [%s+%d];%s", places[p].before, places[p].name, types[k].type, *c,
                            places[p].at, offset, *places[p].before ? " }" : ""),
                     BITS,
                     loaded(bytes == 8 ? in_y[i_] : in_x[i_] >> 8 * offset, types[k].bits, types[k].is_signed,
                            width_of(*c)));
            }
}

/* The upper half of x is filled too. */
INSN_TEST(stores)
{
    for (size_t p = 0; p < COUNT(places); p++)
        for (size_t k = 0; k < COUNT(types); k++)
            for (const char *c = types[k].classes; *c && (p < 4 || c == types[k].classes); c++) {
                int bits = types[k].bits, offset = 8 - bits / 8;
                if (types[k].is_signed || strstr(places[p].name, ".nc")) continue;
                INSN(sprint("%sst%s.b64 [%s], %%qy; st%s.%s [%s+%d], %%%cz; ld%s.b64 %%qo, [%s];%s", places[p].before,
                            places[p].name, places[p].at, places[p].name, types[k].type, places[p].at, offset, *c,
                            places[p].name, places[p].at, *places[p].before ? " }" : ""),
                     BITS, low(y, 8 * offset) | (bits == 64 ? z : low(z, bits) << 8 * offset));
            }
}

/* Vectors: elements in order, folded into one number. */
INSN_TEST(vectors)
{
    for (size_t p = 0; p < 2; p++) {
        const char *space = places[p].name;
        INSN(sprint("ld%s.v2.u32 {%%r4, %%ro}, [%%src]; shl.b32 %%r4, %%r4, 1; add.u32 %%ro, %%ro, %%r4;", space), BITS,
             (uint32_t)((in_x[i_] << 1) + (in_x[i_] >> 32)));
        INSN(sprint("ld%s.v2.s8 {%%r4, %%ro}, [%%src+2]; shl.b32 %%r4, %%r4, 1; add.u32 %%ro, %%ro, %%r4;", space),
             BITS, (uint32_t)((int8_t)(in_x[i_] >> 16) * 2 + (int8_t)(in_x[i_] >> 24)));
        INSN(sprint("ld%s.v4.u8 {%%h0, %%h1, %%h2, %%ho}, [%%src+4]; shl.b16 %%h0, %%h0, 8; xor.b16 %%ho, %%ho, %%h0;"
                    " shl.b16 %%h2, %%h2, 3; xor.b16 %%ho, %%ho, %%h2; sub.u16 %%ho, %%ho, %%h1;",
                    space),
             BITS, ({
                 uint64_t w = in_x[i_] >> 32;
                 (uint16_t)(((w >> 24 & 255) ^ (w & 255) << 8 ^ (w >> 16 & 255) << 3) - (w >> 8 & 255));
             }));
        INSN(sprint("ld%s.v4.f32 {%%f0, %%f1, %%f2, %%fo}, [%%src+16];", space), BITS, in_v[i_] >> 32);
        INSN(sprint("ld%s.v2.u64 {%%q4, %%qo}, [%%src]; sub.u64 %%qo, %%qo, %%q4;", space), BITS, in_y[i_] - in_x[i_]);
        INSN(sprint("ld%s.v2.u64 {%%qo, %%q4}, [%%src]; st%s.v4.u32 [%%src+16], {%%rx, %%ry, %%rz, %%rv};"
                    " ld%s.v2.b64 {%%q4, %%qo}, [%%src+16];",
                    space, space, space),
             BITS, (uint32_t)z | v << 32);
        INSN(
            sprint(
                "st%s.v2.u8 [%%src+24], {%%rx, %%ry}; st%s.v2.u16 [%%src+28], {%%hz, %%hv}; ld%s.b64 %%qo, [%%src+24];",
                space, space, space),
            BITS, (x & 255) | (y & 255) << 8 | (v & 0xffff0000) | (z & 0xffff) << 32 | v << 48);
        INSN(sprint("st%s.v4.u8 [%%src+28], {%%rx, %%ry, %%rz, %%rv}; ld%s.b32 %%ro, [%%src+28];", space, space), BITS,
             (x & 255) | (y & 255) << 8 | (z & 255) << 16 | (v & 255) << 24);
    }
    INSN("ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %ro}, [%src]; xor.b32 %ro, %ro, %r4;", BITS,
         (uint32_t)(in_v[i_] >> 32 ^ in_z[i_]));
    INSN("ld.global.v4.b64 {%q2, %q3, %q4, %qo}, [%src]; xor.b64 %qo, %qo, %q3;", BITS, in_v[i_] ^ in_y[i_]);
    /* A load into its own address, a vector's first element included. */
    INSN("mov.u64 %q4, %src; ld.global.u64 %q4, [%q4+8]; mov.b64 %qo, %q4;", BITS, in_y[i_]);
    INSN("mov.u64 %q4, %src; ld.global.v2.u64 {%q4, %qo}, [%q4]; xor.b64 %qo, %qo, %q4;", BITS, in_x[i_] ^ in_y[i_]);
}

/* The windows: an address is generic, or an offset in one of them. */
INSN_TEST(windows)
{
    static const char *const spaces[] = {"global", "shared", "local", "const"};
    static const char *const addresses[] = {
        "mov.u64 %q4, %src;",
        "{ .shared .align 8 .b8 some[8]; mov.u64 %q4, some; cvta.shared.u64 %q4, %q4; }",
        "{ .local .align 8 .b8 some[8]; mov.u64 %q4, some; cvta.local.u64 %q4, %q4; }",
    };
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) INSN(sprint("%s isspacep.%s %%po, %%q4;", addresses[k], spaces[j]), BITS, k == j);
    for (int k = 1; k < 3; k++)
        INSN(sprint("{ .%s .align 8 .b8 some[8]; mov.u64 %%qo, some; cvta.%s.u64 %%q4, %%qo; cvta.to.%s.u64 %%q4, %%q4;"
                    " sub.u64 %%qo, %%q4, %%qo; }",
                    spaces[k], spaces[k], spaces[k]),
             BITS, 0);
    INSN("cvta.to.global.u64 %q4, %src; cvta.global.u64 %q4, %q4; sub.u64 %qo, %q4, %src;", BITS, 0);
}

/* ---- atomics: each thread on a cell of its own that starts as v; first what is returned, then what is left ---- */
enum { ADD, MIN, MAX, AND, OR, XOR, EXCH, INC, DEC, CAS };
static const struct {
    const char *op, *type;
    int what, bits;
    bool is_signed;
} atomics[] = {
    {"add", "u32", ADD, 32, false},   {"add", "s32", ADD, 32, true},  {"add", "u64", ADD, 64, false},
    {"min", "u32", MIN, 32, false},   {"min", "s32", MIN, 32, true},  {"min", "u64", MIN, 64, false},
    {"min", "s64", MIN, 64, true},    {"max", "u32", MAX, 32, false}, {"max", "s32", MAX, 32, true},
    {"max", "u64", MAX, 64, false},   {"max", "s64", MAX, 64, true},  {"and", "b32", AND, 32, false},
    {"and", "b64", AND, 64, false},   {"or", "b32", OR, 32, false},   {"or", "b64", OR, 64, false},
    {"xor", "b32", XOR, 32, false},   {"xor", "b64", XOR, 64, false}, {"exch", "b32", EXCH, 32, false},
    {"exch", "b64", EXCH, 64, false}, {"inc", "u32", INC, 32, false}, {"dec", "u32", DEC, 32, false},
    {"cas", "b32", CAS, 32, false},   {"cas", "b64", CAS, 64, false}, {"cas", "b16", CAS, 16, false},
};
static uint64_t updated(size_t k, uint64_t old, uint64_t x, uint64_t y)
{
    int bits = atomics[k].bits;
    old = low(old, bits), x = low(x, bits), y = low(y, bits);
    uint64_t flip = atomics[k].is_signed ? (uint64_t)1 << (bits - 1) : 0; /* signed numbers in order as unsigned ones */
    bool less = (old ^ flip) < (x ^ flip);
    switch (atomics[k].what) {
    case ADD: return low(old + x, bits);
    case MIN: return less ? old : x;
    case MAX: return less ? x : old;
    case AND: return old & x;
    case OR: return old | x;
    case XOR: return old ^ x;
    case EXCH: return x;
    case INC: return old >= x ? 0 : old + 1;
    case DEC: return old == 0 || old > x ? x : old - 1;
    default: return old == x ? y : old;
    }
}

static const struct {
    const char *space, *before, *at;
} cells[] = {
    {".global", "add.u64 %q4, %src, 24; ", "%q4"},
    {"", "add.u64 %q4, %src, 24; ", "%q4"},
    {".shared",
     "{ .shared .align 16 .b8 tile[2048]; mov.u32 %r4, %tid.x; shl.b32 %r4, %r4, 3; mov.u32 %r5, tile;"
     " add.u32 %r4, %r4, %r5; ",
     "%r4"},
    {"",
     "{ .shared .align 16 .b8 tile[2048]; mov.u32 %r4, %tid.x; mul.wide.u32 %q4, %r4, 8; mov.u64 %q5, tile;"
     " add.u64 %q4, %q4, %q5; cvta.shared.u64 %q4, %q4; ",
     "%q4"},
};
INSN_TEST(addresses_of_windows_are_truncated)
{
    INSN("{ .shared .align 16 .b8 tile[2048]; mov.u32 %r4, %tid.x; mul.wide.u32 %q4, %r4, 8; mov.u64 %q5, tile;"
         " sub.u64 %q4, %q5, %q4; st.shared.b64 [%q4+2040], %qx; ld.shared.b64 %qo, [%q4+2040]; }",
         BITS, x);
    INSN("{ .local .align 8 .b8 own[32]; and.b64 %q4, %qy, 8; mov.u64 %q5, own; sub.u64 %q4, %q5, %q4;"
         " st.local.b64 [%q4+16], %qx; ld.local.b64 %qo, [%q4+16]; }",
         BITS, x);
}

INSN_TEST(atomics_on_integers)
{
    for (size_t c = 0; c < COUNT(cells); c++)
        for (size_t k = 0; k < COUNT(atomics); k++) {
            char class = atomics[k].bits == 64 ? 'q' : atomics[k].bits == 32 ? 'r' : 'h';
            const char *s = cells[c].space, *a = cells[c].at, *end = cells[c].before[0] == '{' ? " }" : "";
            const char *before = sprint("%sst%s.b%d [%s], %%%cv;", cells[c].before, s, atomics[k].bits, a, class);
            const char *more = atomics[k].what == CAS ? sprint(", %%%cy", class) : "";
            INSN(sprint("%s atom%s.%s.%s %%%co, [%s], %%%cx%s;%s", before, s, atomics[k].op, atomics[k].type, class, a,
                        class, more, end),
                 BITS, low(v, atomics[k].bits));
            before = sprint("%sst%s.b%d [%s], %%%cv;", cells[c].before, s, atomics[k].bits, a, class);
            more = atomics[k].what == CAS ? sprint(", %%%cy", class) : "";
            bool red = c & 1 && atomics[k].what != CAS && atomics[k].what != EXCH;
            INSN(sprint("%s %s%s.%s.%s %s[%s], %%%cx%s; ld%s.b%d %%%co, [%s];%s", before, red ? "red" : "atom", s,
                        atomics[k].op, atomics[k].type,
                        red            ? ""
                        : class == 'q' ? "%q3, "
                        : class == 'r' ? "%r6, "
                                       : "%h3, ",
                        a, class, more, s, atomics[k].bits, class, a, end),
                 BITS, updated(k, v, x, y));
            /* A compare-and-swap that finds what it looks for. */
            if (atomics[k].what == CAS)
                INSN(sprint("%sst%s.b%d [%s], %%%cv; atom%s.cas.%s %%%co, [%s], %%%cv, %%%cx; ld%s.b%d %%%co, [%s];%s",
                            cells[c].before, s, atomics[k].bits, a, class, s, atomics[k].type, class, a, class, class,
                            s, atomics[k].bits, class, a, end),
                     BITS, low(x, atomics[k].bits));
        }
}

static uint64_t sum_of(struct soft_format f, uint64_t a, uint64_t b)
{
    return soft_pack(f, soft_add(soft_unpack(f, low(a, f.width)), soft_unpack(f, low(b, f.width)), SOFT_RN), SOFT_RN);
}
INSN_TEST(atomics_on_floats)
{
    for (size_t c = 0; c < COUNT(cells); c++) {
        const char *s = cells[c].space, *a = cells[c].at, *b = cells[c].before, *end = b[0] == '{' ? " }" : "";
        INSN(sprint("%sst%s.f32 [%s], %%fv; atom%s.add.f32 %%fo, [%s], %%fx;%s", b, s, a, s, a, end), BITS,
             (uint32_t)v);
        INSN(
            sprint("%sst%s.f32 [%s], %%fv; red%s.add.f32 [%s], %%fx; ld%s.f32 %%fo, [%s];%s", b, s, a, s, a, s, a, end),
            FLOATS, sum_of(soft_f32, v, x));
        INSN(sprint("%sst%s.f64 [%s], %%dv; atom%s.add.f64 %%d3, [%s], %%dx; ld%s.f64 %%do, [%s];%s", b, s, a, s, a, s,
                    a, end),
             FLOATS, sum_of(soft_f64, v, x));
        INSN(sprint("%sst%s.b16 [%s], %%hv; atom%s.add.noftz.f16 %%h3, [%s], %%hx; ld%s.b16 %%ho, [%s];%s", b, s, a, s,
                    a, s, a, end),
             F16S, sum_of(soft_f16, v, x));
        INSN(sprint("%sst%s.b16 [%s], %%hv; atom%s.add.noftz.bf16 %%h3, [%s], %%hx; ld%s.b16 %%ho, [%s];%s", b, s, a, s,
                    a, s, a, end),
             BF16S, sum_of(soft_bf16, v, x));
        INSN(sprint("%sst%s.b32 [%s], %%rv; red%s.add.noftz.f16x2 [%s], %%rx; ld%s.b32 %%ro, [%s];%s", b, s, a, s, a, s,
                    a, end),
             F16S, sum_of(soft_f16, v, x) | sum_of(soft_f16, v >> 16, x >> 16) << 16);
        INSN(sprint("%sst%s.b32 [%s], %%rv; red%s.add.noftz.bf16x2 [%s], %%rx; ld%s.b32 %%ro, [%s];%s", b, s, a, s, a,
                    s, a, end),
             BF16S, sum_of(soft_bf16, v, x) | sum_of(soft_bf16, v >> 16, x >> 16) << 16);
    }
}
