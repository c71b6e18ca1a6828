/* What the lanes of a warp tell each other: shuffles, votes, matches, reductions, with all lanes and with some. */
#include "tests/unit/simt_insn.h"

/* The other lanes' inputs: `i` is a case's index, whose warp begins at a multiple of 32. */
#define OF(array, i, lane) (array)[((i) & ~31) + (int)(lane)]

/* Whether the thread that runs a case is one of the active ones. */
static bool takes_part(int i)
{
    return is_active(i < case_count ? i : (i - case_count) % IMMEDIATE_CASES);
}
static uint32_t active_lanes(int i)
{
    uint32_t m = 0;
    for (int l = 0; l < 32; l++) m |= (uint32_t)takes_part((i & ~31) + l) << l;
    return m;
}

/* As the manual's table has it. */
enum { UP, DOWN, BFLY, IDX };
static const char *const modes[] = {"up", "down", "bfly", "idx"};
static uint32_t source(int mode, uint32_t lane, uint32_t b, uint32_t c, bool *inside)
{
    uint32_t bval = b & 31, cval = c & 31, mask = c >> 8 & 31;
    uint32_t most = (lane & mask) | (cval & ~mask), least = lane & mask;
    int j = 0;
    switch (mode) {
    case UP:
        j = (int)lane - (int)bval;
        *inside = j >= (int)most;
        break;
    case DOWN:
        j = (int)(lane + bval);
        *inside = j <= (int)most;
        break;
    case BFLY:
        j = (int)(lane ^ bval);
        *inside = j <= (int)most;
        break;
    default:
        j = (int)(least | (bval & ~mask));
        *inside = j <= (int)most;
        break;
    }
    return *inside ? (uint32_t)j : lane;
}

INSN_TEST(shuffles_by_the_lanes_own_numbers)
{
    for (int mode = 0; mode < 4; mode++) {
        /* Every lane with b and c of its own. */
        INSN(sprint("shfl.sync.%s.b32 %%ro|%%pq, %%rx, %%ry, %%rz, 0xffffffff;", modes[mode]), BITS, ({
                 bool p;
                 uint32_t from = source(mode, (uint32_t)i_ & 31, (uint32_t)y, (uint32_t)z, &p);
                 (uint32_t) OF(in_x, i_, from) | (uint64_t)p << 32;
             }));
        /* Some lanes: who reads a lane that takes no part keeps the own value. */
        INSN(sprint("vote.sync.ballot.b32 %%r4, %%pm, -1; @%%pm shfl.sync.%s.b32 %%ro|%%pq, %%rx, %%ry, %%rz, %%r4;",
                    modes[mode]),
             BITS, ({
                 bool p;
                 uint32_t from = source(mode, (uint32_t)i_ & 31, (uint32_t)y, (uint32_t)z, &p);
                 if (!(active_lanes(i_) >> from & 1)) from = (uint32_t)i_ & 31;
                 takes_part(i_) ? (uint32_t)OF(in_x, i_, from) | (uint64_t)p << 32 : 0xEEEEEEEE;
             }));
    }
}

/* Segments of each width, as __shfl_sync with a width writes c. */
INSN_TEST(shuffles_within_segments)
{
    static const int widths[] = {1, 2, 4, 8, 16, 32};
    for (int mode = 0; mode < 4; mode++)
        for (size_t k = 0; k < COUNT(widths); k++)
            for (int b = 0; b < 33; b += b < 4 ? 1 : 7) {
                uint32_t c = (uint32_t)(32 - widths[k]) << 8 | (mode == UP ? 0 : 31);
                INSN(sprint("shfl.sync.%s.b32 %%ro|%%pq, %%rx, %d, %u, -1;", modes[mode], b, c), BITS, ({
                         bool p;
                         uint32_t from = source(mode, (uint32_t)i_ & 31, (uint32_t)b, c, &p);
                         (uint32_t) OF(in_x, i_, from) | (uint64_t)p << 32;
                     }));
            }
}

static uint32_t ballot(int i, uint32_t mask)
{
    uint32_t m = 0;
    for (uint32_t l = 0; l < 32; l++) m |= (uint32_t)(OF(in_x, i, l) & 1) << l;
    return m & mask;
}
INSN_TEST(votes)
{
    for (int some = 0; some < 2; some++) {
        const char *mask = some ? "%r4" : "-1", *before = some ? "vote.sync.ballot.b32 %r4, %pm, -1; @%pm " : "";
#define GROUP     (some ? active_lanes(i_) : 0xffffffff)
#define HERE(w)   (!some || takes_part(i_) ? (uint64_t)(w) : 0)
#define HERE32(w) (!some || takes_part(i_) ? (uint32_t)(w) : 0xEEEEEEEE)
        INSN(sprint("%svote.sync.ballot.b32 %%ro, %%px, %s; setp.eq.u32 %%pq, 1, 0;", before, mask), BITS,
             HERE32(ballot(i_, GROUP)));
        INSN(sprint("%svote.sync.all.pred %%po, %%px, %s;", before, mask), BITS, HERE(ballot(i_, GROUP) == GROUP));
        INSN(sprint("%svote.sync.any.pred %%po, %%px, %s;", before, mask), BITS, HERE(ballot(i_, GROUP) != 0));
        INSN(sprint("%svote.sync.uni.pred %%po, %%px, %s;", before, mask), BITS,
             HERE(ballot(i_, GROUP) == GROUP || !ballot(i_, GROUP)));
        INSN(sprint("%svote.sync.all.pred %%po, !%%px, %s;", before, mask), BITS, HERE(!ballot(i_, GROUP)));
        INSN(sprint("%svote.sync.any.pred %%po, 1, %s;", before, mask), BITS, HERE(1));
        /* Values that agree in few bits, so that some match. */
        INSN(
            sprint("and.b32 %%r5, %%rx, 3; %smatch.any.sync.b32 %%ro, %%r5, %s; setp.eq.u32 %%pq, 1, 0;", before, mask),
            BITS, HERE32(({
                uint32_t m = 0;
                for (uint32_t l = 0; l < 32; l++)
                    m |= (uint32_t)(((OF(in_x, i_, l) ^ x) & 3) == 0 && GROUP >> l & 1) << l;
                m;
            })));
        INSN(sprint("and.b64 %%q5, %%qx, 1; shl.b64 %%q5, %%q5, 63; %smatch.any.sync.b64 %%ro, %%q5, %s;"
                    " setp.eq.u32 %%pq, 1, 0;",
                    before, mask),
             BITS, HERE32(({
                 uint32_t m = 0;
                 for (uint32_t l = 0; l < 32; l++)
                     m |= (uint32_t)(((OF(in_x, i_, l) ^ x) & 1) == 0 && GROUP >> l & 1) << l;
                 m;
             })));
        INSN(sprint("shr.u32 %%r5, %%rx, 31; shr.u32 %%r6, %%ry, 31; and.b32 %%r5, %%r5, %%r6;"
                    " %smatch.all.sync.b32 %%ro|%%pq, %%r5, %s;",
                    before, mask),
             BITS, ({
                 uint32_t own = (uint32_t)(x & y) >> 31, same = 0;
                 for (uint32_t l = 0; l < 32; l++)
                     same |= (uint32_t)((uint32_t)(OF(in_x, i_, l) & OF(in_y, i_, l)) >> 31 == own) << l;
                 bool all = !(GROUP & ~same);
                 some && !takes_part(i_) ? 0xEEEEEEEE : all ? GROUP | (uint64_t)1 << 32 : 0;
             }));
    }
}

enum { ADD, MIN, MAX, AND, OR, XOR };
static const struct {
    const char *name;
    int what;
    bool is_signed;
} reductions[] = {{"add.u32", ADD, false}, {"add.s32", ADD, true},  {"min.u32", MIN, false},
                  {"min.s32", MIN, true},  {"max.u32", MAX, false}, {"max.s32", MAX, true},
                  {"and.b32", AND, false}, {"or.b32", OR, false},   {"xor.b32", XOR, false}};
static uint32_t reduced(size_t k, int i, uint32_t mask)
{
    uint32_t r = reductions[k].what == AND ? 0xffffffff : 0, flip = reductions[k].is_signed ? 0x80000000 : 0;
    bool first = true;
    for (uint32_t l = 0; l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t v = (uint32_t)OF(in_x, i, l);
        switch (reductions[k].what) {
        case ADD: r += v; break;
        case MIN: r = first || (v ^ flip) < (r ^ flip) ? v : r; break;
        case MAX: r = first || (v ^ flip) > (r ^ flip) ? v : r; break;
        case AND: r &= v; break;
        case OR: r |= v; break;
        default: r ^= v; break;
        }
        first = false;
    }
    return r;
}
INSN_TEST(reductions_of_a_warp)
{
    for (size_t k = 0; k < COUNT(reductions); k++) {
        INSN(sprint("redux.sync.%s %%ro, %%rx, -1;", reductions[k].name), BITS, reduced(k, i_, 0xffffffff));
        INSN(
            sprint("vote.sync.ballot.b32 %%r4, %%pm, -1; @%%pm redux.sync.%s %%ro, %%rx, %%r4; setp.eq.u32 %%pq, 1, 0;",
                   reductions[k].name),
            BITS, takes_part(i_) ? reduced(k, i_, active_lanes(i_)) : 0xEEEEEEEE);
    }
}

INSN_TEST(who_is_here)
{
    INSN("activemask.b32 %ro; and.b32 %ro, %ro, 0xffffffff; xor.b32 %r4, %rx, %rx; bar.warp.sync -1;", BITS,
         0xffffffff);
    INSN("mov.u32 %ro, %laneid; xor.b32 %r4, %rx, %rx;", BITS, (uint32_t)i_ & 31);
    INSN("{ .reg .b32 %a<4>; mov.v4.u32 {%a0, %a1, %a2, %a3}, %tid; or.b32 %a1, %a1, %a2; or.b32 %a1, %a1, %a3;"
         " mov.u32 %a2, %tid.x; sub.u32 %a0, %a0, %a2; or.b32 %a0, %a0, %a1; add.u32 %ro, %rx, %a0; }",
         BITS, (uint32_t)x);
    INSN("mov.pred %po, %is_explicit_cluster; xor.b32 %r4, %rx, %rx;", BITS, 0);
    INSN("mov.u32 %ro, %lanemask_lt; xor.b32 %r4, %rx, %rx;", BITS, ((uint64_t)1 << (i_ & 31)) - 1);
    INSN("mov.u32 %ro, %lanemask_le; xor.b32 %r4, %rx, %rx;", BITS, ((uint64_t)2 << (i_ & 31)) - 1);
    INSN("mov.u32 %ro, %lanemask_gt; xor.b32 %r4, %rx, %rx;", BITS, (uint32_t) ~(((uint64_t)2 << (i_ & 31)) - 1));
    INSN("mov.u32 %ro, %lanemask_ge; xor.b32 %r4, %rx, %rx;", BITS, (uint32_t) ~(((uint64_t)1 << (i_ & 31)) - 1));
    INSN("mov.u32 %ro, %lanemask_eq; xor.b32 %r4, %rx, %rx;", BITS, (uint32_t)1 << (i_ & 31));
    INSN("@%pm activemask.b32 %ro; setp.ne.u32 %pq, %rx, %rx; bar.warp.sync 0xffffffff;", BITS,
         takes_part(i_) ? active_lanes(i_) : 0xEEEEEEEE);
}
