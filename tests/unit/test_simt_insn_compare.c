/* setp and set: every comparison of every type, unordered ones too, alone and combined with a predicate. */
#include "tests/unit/simt_insn.h"
#include "tests/unit/simt_reference.h"

/* Orders for which a comparison holds, as bits: less 1, equal 2, greater 4, unordered 8. */
static const struct {
    const char *name;
    int holds;
    const char *kinds; /* of types: u s b integers, f floats */
} compares[] = {
    {"eq", 2, "usbf"}, {"ne", 5, "usbf"}, {"lt", 1, "usf"}, {"le", 3, "usf"}, {"gt", 4, "usf"}, {"ge", 6, "usf"},
    {"lo", 1, "u"},    {"ls", 3, "u"},    {"hi", 4, "u"},   {"hs", 6, "u"},   {"equ", 10, "f"}, {"neu", 13, "f"},
    {"ltu", 9, "f"},   {"leu", 11, "f"},  {"gtu", 12, "f"}, {"geu", 14, "f"}, {"num", 7, "f"},  {"nan", 8, "f"},
};
static const enum ptx_type types[] = {PTX_B16, PTX_U16, PTX_S16, PTX_B32,  PTX_U32, PTX_S32, PTX_B64,
                                      PTX_U64, PTX_S64, PTX_F16, PTX_BF16, PTX_F32, PTX_F64};

static char kind_of_type(enum ptx_type t)
{
    return ref_float(t) ? 'f' : ptx_type_name(t)[0];
}
/* A bit as in `holds`. */
static int order(enum ptx_type t, bool ftz, uint64_t x, uint64_t y)
{
    if (!ref_float(t)) {
        ref_int a = ref_extend(x, t), b = ref_extend(y, t);
        return a < b ? 1 : a == b ? 2 : 4;
    }
    struct soft_format f = ref_format(t);
    x = ref_low(x, f.width), y = ref_low(y, f.width);
    if (ftz) x = soft_flush(f, x), y = soft_flush(f, y);
    int c = soft_compare(soft_unpack(f, x), soft_unpack(f, y));
    return c < 0 ? 1 : c == 0 ? 2 : c == 1 ? 4 : 8;
}
static bool can_flush(enum ptx_type t)
{
    return t == PTX_F32 || t == PTX_F16;
}

INSN_TEST(setp_of_every_type)
{
    for (size_t k = 0; k < COUNT(compares); k++)
        for (size_t j = 0; j < COUNT(types); j++) {
            if (!strchr(compares[k].kinds, kind_of_type(types[j]))) continue;
            for (int ftz = 0; ftz <= can_flush(types[j]); ftz++)
                INSN(sprint("setp.%s%s.%s %%po, %%%cx, %%%cy;", compares[k].name, ftz ? ".ftz" : "",
                            ptx_type_name(types[j]), ref_class(types[j]), ref_class(types[j])),
                     BITS, (compares[k].holds & order(types[j], ftz, x, y)) != 0);
        }
}

/* p is the comparison combined with the third operand, q its opposite combined. */
INSN_TEST(setp_combined)
{
    static const char *const combines[] = {"and", "or", "xor"};
    static const enum ptx_type some[] = {PTX_U16, PTX_S32, PTX_U64, PTX_F16, PTX_BF16, PTX_F32, PTX_F64};
    static const size_t which[] = {0, 1, 2, 5};
    for (size_t j = 0; j < COUNT(some); j++)
        for (size_t n = 0; n < COUNT(which); n++) {
            size_t k = which[n];
            char c = ref_class(some[j]);
            INSN(sprint("setp.%s.%s %%po|%%pq, %%%cx, %%%cy;", compares[k].name, ptx_type_name(some[j]), c, c), BITS,
                 (compares[k].holds & order(some[j], false, x, y)) ? 1 : (uint64_t)1 << 32);
            for (int m = 0; m < 6; m++)
                INSN(sprint("setp.%s.%s.%s %%po|%%pq, %%%cx, %%%cy, %s%%pz;", compares[k].name, combines[m % 3],
                            ptx_type_name(some[j]), c, c, m < 3 ? "" : "!"),
                     BITS, ({
                         uint64_t p = (compares[k].holds & order(some[j], false, x, y)) != 0, q = !p;
                         uint64_t other = (z & 1) ^ (m >= 3);
                         m % 3 == 0   ? (p & other) | (q & other) << 32
                         : m % 3 == 1 ? (p | other) | (q | other) << 32
                                      : (p ^ other) | (q ^ other) << 32;
                     }));
        }
}

/* Of two halves: p is the low ones' result, q the high ones'. */
INSN_TEST(setp_of_pairs)
{
    for (size_t k = 0; k < COUNT(compares); k++)
        for (int brain = 0; brain < 2; brain++) {
            if (!strchr(compares[k].kinds, 'f')) continue;
            enum ptx_type t = brain ? PTX_BF16 : PTX_F16;
            INSN(sprint("setp.%s.%sx2 %%po|%%pq, %%rx, %%ry;", compares[k].name, ptx_type_name(t)), BITS,
                 (uint64_t)((compares[k].holds & order(t, false, x, y)) != 0) |
                     (uint64_t)((compares[k].holds & order(t, false, x >> 16, y >> 16)) != 0) << 32);
        }
}

INSN_TEST(set_of_every_type)
{
    static const struct {
        const char *to;
        char class;
        uint64_t yes;
    } results[] = {{"u32", 'r', 0xffffffff}, {"s32", 'r', 0xffffffff}, {"f32", 'f', 0x3f800000}};
    for (size_t k = 0; k < COUNT(compares); k++)
        for (size_t j = 0; j < COUNT(types); j++) {
            if (!strchr(compares[k].kinds, kind_of_type(types[j]))) continue;
            const char *type = ptx_type_name(types[j]);
            char c = ref_class(types[j]);
            size_t n = (k + j) % COUNT(results); /* one of them each is enough */
            if (types[j] == PTX_F16 || types[j] == PTX_BF16) n = 0;
            INSN(sprint("set.%s.%s.%s %%%co, %%%cx, %%%cy;", compares[k].name, results[n].to, type, results[n].class, c,
                        c),
                 BITS, compares[k].holds & order(types[j], false, x, y) ? results[n].yes : 0);
            if (k > 5 || ref_bits(types[j]) == 16) continue;
            INSN(sprint("set.%s.and.%s.%s %%%co, %%%cx, %%%cy, !%%pz;", compares[k].name, results[n].to, type,
                        results[n].class, c, c),
                 BITS, compares[k].holds & order(types[j], false, x, y) && !(z & 1) ? results[n].yes : 0);
        }
    for (size_t k = 0; k < COUNT(compares); k++)
        for (int brain = 0; brain < 2; brain++) {
            if (!strchr(compares[k].kinds, 'f')) continue;
            enum ptx_type t = brain ? PTX_BF16 : PTX_F16;
            INSN(sprint("set.%s.%s.%s %%ho, %%hx, %%hy;", compares[k].name, ptx_type_name(t), ptx_type_name(t)), BITS,
                 compares[k].holds & order(t, false, x, y) ? brain ? 0x3f80 : 0x3c00 : 0);
            const uint64_t yes[] = {brain ? 0x3f80 : 0x3c00, 0xffff, 0xffff};
            const char *const to[] = {brain ? "bf16x2" : "f16x2", "u32", "s32"};
            for (size_t n = 0; n < COUNT(to); n++) {
                INSN(sprint("set.%s.%s.%sx2 %%ro, %%rx, %%ry;", compares[k].name, to[n], ptx_type_name(t)), BITS,
                     (compares[k].holds & order(t, false, x, y) ? yes[n] : 0) |
                         (compares[k].holds & order(t, false, x >> 16, y >> 16) ? yes[n] << 16 : 0));
                INSN(sprint("set.%s.and.%s.%sx2 %%ro, %%rx, %%ry, !%%pz;", compares[k].name, to[n], ptx_type_name(t)),
                     BITS,
                     (compares[k].holds & order(t, false, x, y) && !(z & 1) ? yes[n] : 0) |
                         (compares[k].holds & order(t, false, x >> 16, y >> 16) && !(z & 1) ? yes[n] << 16 : 0));
            }
        }
}

INSN_TEST(predicates)
{
    INSN("and.pred %po, %px, %py;", BITS, x & y & 1);
    INSN("or.pred %po, %px, !%py;", BITS, (x | ~y) & 1);
    INSN("xor.pred %po, %px, %py;", BITS, (x ^ y) & 1);
    INSN("not.pred %po, %px;", BITS, ~x & 1);
    INSN("mov.pred %po, %px;", BITS, x & 1);
    INSN("and.pred %po, %px, 1; or.pred %po, %po, 0;", BITS, x & 1);
}
