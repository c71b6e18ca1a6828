/* Tags of shared memory: what an access of a warp makes of them, by the vectors of this machine and by those of any, is
 * what its lanes make of them one after the other by the rules of check_cells.h. */
#include "runtime/simt/check_cells.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define WORDS 512
#define NOW   (9u << TAG_BITS)
#define BASE  (3u << TAG_BITS)
#define ME    (5 * SIMT_WARP) /* the warp's first thread */
#define DRAWS 20000

struct memory { /* written and read lie as in check_shared.c: side by side, from the beginning of a line on */
    _Alignas(LINE) uint32_t written[WORDS], read[WORDS], past_end[2 * LINE / 4];
};

/* Tags of before, which most are, of this block or not; of the warp; of other threads. */
static uint32_t draw_tag(bool written)
{
    uint32_t epoch = below(24) ? 3 + below(6) : below(3), who = below(1024), kind = below(60);
    if (kind == 0) return NOW | (ME + below(SIMT_WARP));
    if (kind == 1) return NOW | who;
    if (kind == 2) return NOW | (written ? TAG_ATOMS : TAG_MANY);
    return kind == 3 && written ? TAG_MIXED : epoch << TAG_BITS | who;
}

static void draw_memory(struct memory *m, bool fair)
{
    memset(m, 0, sizeof *m);
    for (int k = 0; k < WORDS; k++) {
        m->written[k] = fair ? BASE | 7 : draw_tag(true);
        m->read[k] = fair ? (below(3) ? 0 : NOW | TAG_MANY) : draw_tag(false);
    }
}

/* What lanes m make of their words, one after the other. */
static unsigned expected(struct memory *x, const uint32_t *word, uint32_t m, bool write)
{
    const struct tag_rule t = {BASE, NOW, NOW};
    unsigned flags = write ? CELLS_CHANGED : 0;
    EACH_LANE(l, m)
    {
        uint32_t *w = &x->written[word[l]], *r = &x->read[word[l]], me = NOW | (ME + l), was = *r;
        if (write ? tag_write_bad(*w, *r, me, &t, false) : tag_read_bad(*w, me, &t, false)) flags |= CELLS_BAD;
        if (write)
            *w = me;
        else
            *r = tag_reader(was, me, &t, false);
        if (*r != was) flags |= CELLS_CHANGED;
    }
    return flags;
}

static void check_same(const struct memory *got, const struct memory *want, unsigned flags, unsigned should)
{
    CHECK_INT(flags, should);
    if (flags & CELLS_BAD) return; /* they are of no use then */
    if (!memcmp(got, want, sizeof *got)) return;
    for (int k = 0; k < WORDS; k++) {
        CHECK_INT(got->written[k], want->written[k]);
        CHECK_INT(got->read[k], want->read[k]);
    }
    for (unsigned k = 0; k < sizeof got->past_end / sizeof *got->past_end; k++) CHECK_INT(got->past_end[k], 0);
}

static uint32_t draw_lanes(void)
{
    uint32_t m = below(3) ? below(1u << 16) << 16 | below(1u << 16) : below(2) ? FULL : 1u << below(32);
    return m ? m : 1;
}

/* Words of 32 lanes that rise in each half, by at most `apart`; of the others anything. */
static void draw_rising(uint32_t *word, uint32_t m, uint32_t apart, bool write)
{
    for (uint32_t h = 0; h < SIMT_WARP; h += 16) {
        uint32_t at = below(WORDS - 16 * apart);
        for (uint32_t l = h; l < h + 16; l++) word[l] = at += (write ? 1 : below(2)) + below(apart);
    }
    for (uint32_t l = 0; l < SIMT_WARP; l++)
        if (!(m >> l & 1)) word[l] = below(1u << 30);
}

/* One that all lanes m mean. */
static void draw_one(uint32_t *word, uint32_t m)
{
    uint32_t one = below(WORDS);
    for (uint32_t l = 0; l < SIMT_WARP; l++) word[l] = m >> l & 1 ? one : below(1u << 30);
}

static void check_near(const struct check_vectors *v, uint32_t apart, bool always)
{
    const struct tag_rule t = {BASE, NOW, NOW};
    uint32_t done = 0;
    for (int turn = 0; turn < DRAWS; turn++) {
        struct memory got, want;
        uint32_t word[SIMT_WARP], from[SIMT_WARP], m = draw_lanes();
        bool write = below(2);
        draw_memory(&got, below(2));
        want = got;
        const bool one = !write && below(4) == 0;
        if (one)
            draw_one(word, m);
        else
            draw_rising(word, m, apart, write);
        for (int l = 0; l < SIMT_WARP; l++) from[l] = 4 * word[l] - 40;
        const struct offsets o = {from, 40, 0, 4 * WORDS - 4, 3, 2};
        unsigned flags = v->near(got.written, got.read, &o, m, &t, NOW | ME, write);
        if (flags == CELLS_FAR) {
            CHECK(!memcmp(&got, &want, sizeof got));
            continue;
        }
        done++;
        if (one) CHECK_INT(flags & CELLS_ONE, m & (m - 1) ? CELLS_ONE : 0);
        check_same(&got, &want, flags & ~(unsigned)CELLS_ONE, expected(&want, word, m, write));
    }
    if (always && v == simt_check_vectors() && v != &simt_check_base && done) CHECK_INT(done, DRAWS);
}

TEST(words_near_each_other)
{
    const struct check_vectors *tables[] = {&simt_check_base, simt_check_vectors()};
    for (int k = 0; k < 2; k++) {
        check_near(tables[k], 2, true);
        check_near(tables[k], 12, false); /* some are too far */
    }
}

/* Offsets that are not those of words within the window are not looked at. */
TEST(words_that_are_not)
{
    const struct check_vectors *v = simt_check_vectors();
    const struct tag_rule t = {BASE, NOW, NOW};
    static struct memory x, was;
    uint32_t from[SIMT_WARP];
    for (uint32_t l = 0; l < SIMT_WARP; l++) from[l] = 64 + 8 * l;
    for (unsigned l = 0; l < SIMT_WARP; l++)
        for (int k = 0; k < 4; k++) {
            const uint32_t wrong[] = {60, 64 + 8 * l + 2, 400, 0xfffffff0}; /* the window is from 64 to 320 */
            const struct offsets o = {from, 0, 64, 256 - 4, 3, 2};
            uint32_t right = from[l];
            from[l] = wrong[k];
            draw_memory(&x, true);
            was = x;
            CHECK_INT(v->near(x.written, x.read, &o, FULL, &t, NOW | ME, true), CELLS_FAR);
            CHECK(!memcmp(&x, &was, sizeof x));
            from[l] = right;
        }
    for (int k = 0; k < 4; k++) { /* all of them mean one that is none */
        const uint32_t wrong[] = {60, 66, 400, 0xfffffff0};
        for (uint32_t l = 0; l < SIMT_WARP; l++) from[l] = wrong[k];
        const struct offsets o = {from, 0, 64, 256 - 4, 3, 2};
        CHECK_INT(v->near(x.written, x.read, &o, FULL, &t, NOW | ME, false), CELLS_FAR);
    }
}

TEST(words_in_rows)
{
    const struct check_vectors *tables[] = {&simt_check_base, simt_check_vectors()};
    const struct tag_rule t = {BASE, NOW, NOW};
    for (int turn = 0; turn < 2 * DRAWS; turn++) {
        struct memory got, want;
        uint32_t word[SIMT_WARP], m = draw_lanes();
        unsigned shift = below(2), last = 31 - (unsigned)__builtin_clz(m); /* behind it may be the end */
        unsigned start = below(WORDS - (last << shift));
        bool write = below(2);
        draw_memory(&got, below(2));
        want = got;
        for (uint32_t l = 0; l < SIMT_WARP; l++) word[l] = start + (l << shift);
        unsigned flags = tables[turn % 2]->row(got.written + start, got.read + start, m, shift, &t, NOW | ME, write);
        check_same(&got, &want, flags, expected(&want, word, m, write));
    }
}

/* Were all lanes' words read last by themselves or by several? Some mean none, or one that a third of them do. */
TEST(words_read_again)
{
    const struct check_vectors *tables[] = {&simt_check_base, simt_check_vectors()};
    for (int turn = 0; turn < DRAWS; turn++) {
        struct memory x;
        uint32_t from[SIMT_WARP], m = draw_lanes(), few = below(4), one = below(WORDS);
        bool again = true;
        draw_memory(&x, true);
        for (uint32_t l = 0; l < SIMT_WARP; l++) {
            const uint32_t word = few ? below(WORDS) : one, wrong[] = {60, 4 * word + 2, 64 + 1024, 0xfffffff0};
            from[l] = below(300) ? 64 + 4 * (word % 256) : wrong[below(4)];
            x.read[(from[l] / 4) % WORDS] = NOW | (below(2) && few ? ME + l : TAG_MANY);
        }
        if (!below(3)) x.read[below(WORDS)] = NOW | 7;
        EACH_LANE(l, m)
        {
            bool right = from[l] >= 64 && from[l] < 64 + 1024 && from[l] % 4 == 0;
            again =
                again && right && (x.read[from[l] / 4] == (NOW | TAG_MANY) || x.read[from[l] / 4] == (NOW | (ME + l)));
        }
        for (uint32_t l = 0; l < SIMT_WARP; l++) from[l] -= 40;
        const struct offsets o = {from, 40, 64, 1024 - 4, 3, 2};
        CHECK(tables[turn % 2]->again(x.read, &o, m, NOW | TAG_MANY, NOW | ME) == again);
    }
}

/* Do lanes mean places by equal steps? */
TEST(places_by_steps)
{
    const struct check_vectors *tables[] = {&simt_check_base, simt_check_vectors()};
    for (int turn = 0; turn < DRAWS; turn++) {
        uint32_t from[SIMT_WARP], m = draw_lanes() | 1u << below(32), first, start = below(1u << 20);
        int32_t by = (int32_t)below(64) - 32, step;
        for (uint32_t l = 0; l < SIMT_WARP; l++) from[l] = m >> l & 1 ? start + (uint32_t)by * l : below(1u << 30);
        if (!(m & (m - 1))) by = 4; /* of one lane: the size */
        const uint32_t lane = 31 - (uint32_t)__builtin_clz(m), rest = m & (m - 1);
        const struct check_vectors *v = tables[turn % 2];
        CHECK(v->steps(from, m, 4, &first, &step));
        CHECK_INT(step, by);
        CHECK_INT(first + (uint32_t)step * lane, from[lane]);
        from[lane] += 1;
        if (rest & (rest - 1)) CHECK(!v->steps(from, m, 4, &first, &step)); /* the first two say what it should be */
    }
}

/* Which lanes are in another piece of memory than the one before them? */
TEST(lanes_in_parts)
{
    const struct check_vectors *tables[] = {&simt_check_base, simt_check_vectors()};
    for (int turn = 0; turn < DRAWS; turn++) {
        uint64_t at[SIMT_WARP];
        uint32_t others = 0;
        for (uint32_t l = 0; l < SIMT_WARP; l++)
            at[l] = !l || !below(9) ? UINT64_C(0x700000000000) + below(1u << 20) : at[l - 1] + 4;
        for (uint32_t l = 1; l < SIMT_WARP; l++) others |= (uint32_t)(at[l] / 64 != at[l - 1] / 64) << l;
        CHECK_INT(tables[turn % 2]->parts(at, 6), others);
    }
}

/* Are lanes' addresses within bounds, and aligned? */
TEST(addresses_within)
{
    const struct check_vectors *tables[] = {&simt_check_base, simt_check_vectors()};
    for (int turn = 0; turn < DRAWS; turn++) {
        uint64_t at[SIMT_WARP], low = UINT64_C(0x700000000000) + 64 * below(1000), room = below(600),
                                odd = below(2) ? 7 : 0;
        uint32_t m = draw_lanes(), wide = 100 << below(3);
        bool within = true;
        for (uint32_t l = 0; l < SIMT_WARP; l++)
            at[l] = low + 8 * (uint64_t)below(wide / 8) + (below(99) ? 0 : 3) - (below(200) ? 0 : wide);
        EACH_LANE(l, m) within &= at[l] - low <= room && !(at[l] & odd);
        CHECK(tables[turn % 2]->within(at, m, low, room, odd) == within);
    }
}
