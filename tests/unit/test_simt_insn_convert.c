/* cvt of every pair of types, with every rounding mode, .ftz and .sat that PTX allows, against arithmetic by integers.
 */
#include "tests/unit/simt_insn.h"
#include "tests/unit/simt_reference.h"

static const enum ptx_type integers[] = {PTX_U8, PTX_S8, PTX_U16, PTX_S16, PTX_U32, PTX_S32, PTX_U64, PTX_S64};
static const enum ptx_type floats[] = {PTX_F16, PTX_BF16, PTX_F32, PTX_F64};
static const char *const modes[] = {".rn", ".rz", ".rm", ".rp"}; /* by enum soft_mode */

/* mode and integral as soft_convert has them; -1 for what is not written. */
static void check_convert(enum ptx_type to, enum ptx_type from, int mode, int integral, bool ftz, bool sat)
{
    const char *text =
        sprint("cvt%s%s%s%s%s.%s.%s %%%co, %%%cx;", mode >= 0 ? modes[mode] : "", integral >= 0 ? modes[integral] : "",
               integral >= 0 ? "i" : "", ftz ? ".ftz" : "", sat ? ".sat" : "", ptx_type_name(to), ptx_type_name(from),
               ref_class(to), ref_class(from));
    enum match match = to == PTX_F16 ? F16S : to == PTX_BF16 ? BF16S : ref_float(to) ? FLOATS : BITS;
    INSN(text, match, ({
             uint64_t r = soft_convert(to, from, x, mode < 0 ? SOFT_RN : (enum soft_mode)mode, integral, ftz, sat);
             /* Narrow results fill a register of 32 bits. */
             ref_bits(to) == 8 ? (uint32_t)ref_extend(r, to) : r;
         }));
}

INSN_TEST(integers_to_integers)
{
    for (size_t k = 0; k < COUNT(integers); k++)
        for (size_t j = 0; j < COUNT(integers); j++)
            for (int sat = 0; sat < 2; sat++) check_convert(integers[k], integers[j], -1, -1, false, sat);
}
INSN_TEST(floats_to_integers)
{
    for (size_t k = 0; k < COUNT(integers); k++)
        for (size_t j = 0; j < COUNT(floats); j++)
            for (int mode = 0; mode < 4; mode++) {
                check_convert(integers[k], floats[j], -1, mode, false, false);
                if (floats[j] == PTX_F32) check_convert(integers[k], floats[j], -1, mode, true, mode & 1);
            }
}
INSN_TEST(integers_to_floats)
{
    for (size_t k = 0; k < COUNT(floats); k++)
        for (size_t j = 0; j < COUNT(integers); j++)
            for (int mode = 0; mode < 4; mode++) {
                check_convert(floats[k], integers[j], mode, -1, false, false);
                if (floats[k] != PTX_BF16 && mode < 2) check_convert(floats[k], integers[j], mode, -1, false, true);
            }
}
INSN_TEST(floats_to_floats)
{
    for (size_t k = 0; k < COUNT(floats); k++)
        for (size_t j = 0; j < COUNT(floats); j++) {
            enum ptx_type to = floats[k], from = floats[j];
            bool narrows = ref_bits(to) < ref_bits(from) || (ref_bits(to) == 16 && from != to);
            bool single = to == PTX_F32 || from == PTX_F32;
            for (int mode = 0; mode < 4 && narrows; mode++)
                for (int flags = 0; flags < 4; flags++)
                    if (single || !(flags & 1))
                        check_convert(to, from, mode, -1, flags & 1, flags & 2 && to != PTX_BF16);
            for (int flags = 0; flags < 4 && !narrows; flags++)
                if (single || !(flags & 1)) check_convert(to, from, -1, -1, flags & 1, flags & 2 && to != PTX_BF16);
            for (int mode = 0; mode < 4 && to == from; mode++)
                for (int flags = 0; flags < 4 && to != PTX_BF16; flags++)
                    if (single || !(flags & 1)) check_convert(to, from, -1, mode, flags & 1, flags & 2);
        }
}

/* One element of a packed conversion, or of one to tf32: rounded, with negative numbers as zero, or without infinity.
 */
static uint64_t narrow(struct soft_format f, uint64_t x, enum soft_mode mode, bool relu, bool finite)
{
    struct soft s = soft_unpack(soft_f32, (uint32_t)x);
    uint64_t sign = (uint64_t)1 << (f.width - 1), infinity = (sign - 1) & ~(((uint64_t)1 << f.mantissa) - 1);
    if (s.kind == SOFT_NAN) return sign - 1;
    if (relu && s.negative) return 0;
    uint64_t r = soft_pack(f, s, mode);
    return finite && (r & (sign - 1)) == infinity ? r - 1 : r;
}
INSN_TEST(packed_and_rectified)
{
    static const struct {
        const char *flags;
        bool relu, finite;
    } ends[] = {
        {"", false, false}, {".relu", true, false}, {".satfinite", false, true}, {".relu.satfinite", true, true}};
    for (size_t k = 0; k < COUNT(ends); k++)
        for (int j = 0; j < 4; j++) {
            enum soft_mode mode = j & 1 ? SOFT_RZ : SOFT_RN;
            bool brain = j & 2, relu = ends[k].relu, finite = ends[k].finite;
            struct soft_format f = brain ? soft_bf16 : soft_f16;
            const char *type = brain ? "bf16" : "f16", *flags = ends[k].flags;
            INSN(sprint("cvt%s%s.%sx2.f32 %%ro, %%fx, %%fy;", modes[mode], flags, type), brain ? BF16S : F16S,
                 narrow(f, x, mode, relu, finite) << 16 | narrow(f, y, mode, relu, finite));
            INSN(sprint("cvt%s%s.%s.f32 %%ho, %%fx;", modes[mode], flags, type), brain ? BF16S : F16S,
                 narrow(f, x, mode, relu, finite));
            /* tf32 is the upper part of an f32. */
            if (j < 2)
                INSN(sprint("cvt%s%s.tf32.f32 %%ro, %%fx;", modes[mode], flags), BITS, ({
                         uint64_t r = narrow(soft_tf32, x, mode, relu, finite) << 13;
                         (x & INT32_MAX) > 0x7f800000 ? 0x7fffffff : r;
                     }));
        }
    INSN("cvt.rna.tf32.f32 %ro, %fx;", BITS, ({
             uint64_t r = narrow(soft_tf32, x, SOFT_RNA, false, false) << 13;
             (x & INT32_MAX) > 0x7f800000 ? 0x7fffffff : r;
         }));
}
