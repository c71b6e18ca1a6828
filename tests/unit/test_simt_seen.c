/* Sets of what threads have seen: whatever is added and joined, in whichever order, they say what tables say in which
 * every time has its place; and one that others share stays as it is. */
#include "runtime/simt/check_links.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { BLOCKS = 3, THREADS = 64, OBJECTS_SEEN = 3, SETS = 8, STEPS = 20000 };

struct table_of_times {
    uint32_t block[BLOCKS], warp[BLOCKS][THREADS / SIMT_WARP], thread[BLOCKS][THREADS][OBJECTS_SEEN];
};

static void raise_to(uint32_t *at, uint32_t time)
{
    if (*at < time) *at = time;
}

/* An item, which the table comes to say, too. */
static uint64_t draw(struct table_of_times *t, uint32_t time)
{
    unsigned b = below(BLOCKS), who = below(THREADS), object = below(OBJECTS_SEEN), kind = below(20);
    if (kind == 0) {
        raise_to(&t->block[b], time);
        return seen_item(b + 1, SEEN_BLOCK, 0, time);
    }
    if (kind == 1) {
        raise_to(&t->warp[b][who / SIMT_WARP], time);
        return seen_item(b + 1, SEEN_WARP + who / SIMT_WARP, 0, time);
    }
    raise_to(&t->thread[b][who][object], time);
    return seen_item(b + 1, SEEN_THREAD + who, object, time);
}

static void join_tables(struct table_of_times *to, const struct table_of_times *from)
{
    uint32_t *a = (uint32_t *)to;
    const uint32_t *b = (const uint32_t *)from;
    for (size_t k = 0; k < sizeof *to / sizeof *a; k++) raise_to(&a[k], b[k]);
}

/* Are they of one opinion? An object's item may have given way to one of the whole thread, which is asked for, too. */
static void compare(struct simt_check *c, struct seen_set *s, const struct table_of_times *t, uint32_t newest)
{
    for (int k = 0; k < 40; k++) {
        unsigned b = below(BLOCKS), who = below(THREADS), object = below(OBJECTS_SEEN);
        uint32_t time = below(below(2) ? 8 : newest + 2);
        record r = (record)(b + 1) << BLOCK_AT | (record)time << TIME_AT | (record)who << THREAD_AT;
        uint32_t known = t->block[b];
        raise_to(&known, t->warp[b][who / SIMT_WARP]);
        raise_to(&known, t->thread[b][who][0]);
        if (object) raise_to(&known, t->thread[b][who][object]);
        CHECK_INT(s && (simt_seen_has(c, s, r, 0, false) || (object && simt_seen_has(c, s, r, object, false))),
                  time < known);
    }
    if (!s) return;
    for (unsigned b = 0; b < BLOCKS; b++) {
        bool others = false;
        for (unsigned o = 0; o < BLOCKS; o++) {
            const struct table_of_times none = {0};
            if (o == b) continue;
            others |= t->block[o] || memcmp(t->warp[o], none.warp[o], sizeof none.warp[o]) ||
                      memcmp(t->thread[o], none.thread[o], sizeof none.thread[o]);
        }
        CHECK_INT(simt_seen_only(s, b + 1), !others);
    }
}

static void change(struct simt_check *c, struct seen_set **sets, struct table_of_times *tables, uint32_t time)
{
    unsigned to = below(SETS), from = below(SETS);
    uint64_t items[20];
    size_t n = 1 + below(below(8) ? 3 : 20);
    switch (below(8)) {
    case 0:
        simt_seen_hold(&sets[to], sets[from]);
        tables[to] = tables[from];
        break;
    case 1:
        simt_seen_join(c, &sets[to], sets[from]);
        join_tables(&tables[to], &tables[from]);
        break;
    case 2: /* what is newer than all is said by none */
        items[0] = draw(&tables[to], time);
        simt_seen_extend(c, &sets[to], items, 1);
        break;
    case 3:
        if (below(50)) break;
        simt_seen_let_go(&sets[to]);
        tables[to] = (struct table_of_times){0};
        break;
    default:
        for (size_t k = 0; k < n; k++) items[k] = draw(&tables[to], 1 + below(below(2) ? 6 : time));
        simt_seen_add(c, &sets[to], items, simt_items_sort(items, n));
    }
    compare(c, sets[to], &tables[to], time);
    compare(c, sets[from], &tables[from], time);
}

TEST(sets_say_what_tables_say)
{
    struct simt_check *c = calloc(1, sizeof *c);
    struct seen_set *sets[SETS] = {0};
    struct table_of_times *tables = calloc(SETS, sizeof *tables);
    for (uint32_t k = 0; k < STEPS; k++) change(c, sets, tables, k % 1000 + 1);
    CHECK(!atomic_load(&c->no_memory));
    for (int k = 0; k < SETS; k++) simt_seen_let_go(&sets[k]);
    free(tables);
    simt_pool_end(c);
    free(c);
}

/* A chain of takers of a lock is copied now and then: so few links that a look at all of them costs little. */
TEST(a_set_knows_which_it_came_from)
{
    struct simt_check *c = calloc(1, sizeof *c);
    struct seen_set *s = NULL, *first = NULL, *before = NULL;
    for (uint32_t k = 0; k < 100; k++) {
        uint64_t item = seen_item(1, SEEN_THREAD + k, 0, 5);
        simt_seen_hold(&before, s);
        simt_seen_extend(c, &s, &item, 1);
        if (k == 40) simt_seen_hold(&first, s);
        struct seen_set *was = s;
        simt_seen_join(c, &s, before); /* which it says */
        CHECK(s == was);
        if (before) simt_seen_join(c, &before, s); /* which says all */
        CHECK(!before || before == s);
    }
    for (uint32_t k = 0; k < 100; k++) {
        record r = (record)1 << BLOCK_AT | (record)4 << TIME_AT | (record)k << THREAD_AT;
        CHECK_INT(simt_seen_has(c, first, r, 0, false), k <= 40);
        CHECK(simt_seen_has(c, s, r, 0, false));
    }
    simt_seen_let_go(&s);
    simt_seen_let_go(&first);
    simt_seen_let_go(&before);
    simt_pool_end(c);
    free(c);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Few or many, in no order, in one, against it, or in runs of one each: the latest of each key is left. */
TEST(items_are_sorted_by_keys)
{
    enum { MOST = 20000 };
    uint64_t *items = malloc(MOST * sizeof *items), *sorted = malloc(MOST * sizeof *sorted);
    static const size_t counts[] = {0, 1, 2, 50, 999, 1000, 1001, 4097, MOST};
    for (unsigned round = 0; round < 6 * sizeof counts / sizeof *counts; round++) {
        size_t n = counts[round / 6], kept = 0, run = round % 6 < 2 ? 1 : 1 + below(3000);
        for (size_t k = 0; k < n; k++) items[k] = seen_item(1 + below(20), SEEN_THREAD + below(60), 0, 1 + below(9));
        for (size_t k = 0; k < n; k += run) qsort(items + k, run < n - k ? run : n - k, sizeof *items, by_number);
        if (round % 6 == 2) qsort(items, n, sizeof *items, by_number);
        for (size_t k = 0; round % 6 == 3 && k < n; k++) items[k] = seen_item(1, SEEN_THREAD + n - k, 0, 1);
        memcpy(sorted, items, n * sizeof *items);
        qsort(sorted, n, sizeof *sorted, by_number);
        for (size_t k = 0; k < n; k++)
            if (k + 1 == n || SEEN_KEY(sorted[k]) != SEEN_KEY(sorted[k + 1])) sorted[kept++] = sorted[k];
        CHECK_INT(simt_items_sort(items, n), kept);
        CHECK(!memcmp(items, sorted, kept * sizeof *items));
    }
    free(items);
    free(sorted);
}

static record done_by(unsigned k)
{
    return (record)(1 + k / 1000) << BLOCK_AT | (record)4 << TIME_AT | (record)(k % 1000) << THREAD_AT;
}

/* Blocks that come to a barrier of the grid by a counter, again and again: what a set is made of does not grow. */
TEST(sets_that_are_joined_again_and_again_stay_small)
{
    enum { MEET = 100, TIMES = 30 };
    struct simt_check *c = calloc(1, sizeof *c);
    struct seen_set *knows[MEET] = {0}, *place = NULL;
    for (uint32_t step = 1; step <= TIMES; step++) {
        for (unsigned b = 0; b < MEET; b++) {
            uint64_t items[2] = {seen_item(b + 1, SEEN_BLOCK, 0, 3 * step),
                                 seen_item(b + 1, SEEN_THREAD, 7, 3 * step + 1)};
            simt_seen_join(c, &knows[b], place); /* that it reads what it adds to */
            simt_seen_add(c, &knows[b], items, 2);
            simt_seen_join(c, &place, knows[b]);
        }
        for (unsigned b = 0; b < MEET; b++) simt_seen_join(c, &knows[b], place);
    }
    for (unsigned b = 0; b < MEET; b++) {
        record r = (record)(b + 1) << BLOCK_AT | (record)(3 * TIMES - 1) << TIME_AT | (record)5 << THREAD_AT;
        CHECK(simt_seen_has(c, knows[MEET - 1 - b], r, 0, false));
        CHECK(link_of(knows[b])->size + count_of(knows[b]) <= 8 * MEET);
    }
    for (unsigned b = 0; b < MEET; b++) simt_seen_let_go(&knows[b]);
    simt_seen_let_go(&place);
    CHECK(!atomic_load(&c->no_memory) && !atomic_load(&c->coarse));
    simt_pool_end(c);
    free(c);
}

/* Threads each of which has awaited some of those before it, and so all that those had seen: what is far away is found,
 * too, where it is to be, and what is near at once. */
TEST(what_others_had_seen_is_found)
{
    enum { ALL = 2000, AWAITED = 3 };
    struct simt_check *c = calloc(1, sizeof *c);
    struct seen_set **sets = calloc(ALL, sizeof *sets);
    bool(*seen)[ALL] = calloc(ALL, sizeof *seen);
    unsigned lost = 0, false_ones = 0, at_once = 0;
    for (unsigned k = 0; k < ALL; k++) {
        for (unsigned n = 0, last; k && n < AWAITED; n++) {
            last = below(below(4) ? k : 1 + k / 8);
            simt_seen_join(c, &sets[k], sets[last]);
            for (unsigned j = 0; j < k; j++) seen[k][j] |= seen[last][j];
            at_once += simt_seen_has(c, sets[k], done_by(last), 0, true);
        }
        uint64_t items[2] = {seen_item(1 + k / 1000, SEEN_THREAD + k % 1000, 0, 5),
                             seen_item(1 + k / 1000, SEEN_THREAD + k % 1000, 1, 6)};
        simt_seen_extend(c, &sets[k], items, 2);
        seen[k][k] = true;
    }
    for (unsigned n = 0; n < 4 * ALL; n++) {
        unsigned k = below(ALL), j = below(ALL);
        record r = done_by(j);
        if (simt_seen_has(c, sets[k], r, 0, true)) false_ones += !seen[k][j];
        bool found = simt_seen_has(c, sets[k], r, 0, false);
        lost += seen[k][j] && !found;
        false_ones += found && !seen[k][j];
    }
    CHECK(at_once > ALL * AWAITED / 2);
    CHECK_INT(lost, 0);
    CHECK_INT(false_ones, 0);
    CHECK(!atomic_load(&c->no_memory));
    for (unsigned k = 0; k < ALL; k++) simt_seen_let_go(&sets[k]);
    free(seen);
    free(sets);
    simt_pool_end(c);
    free(c);
}
