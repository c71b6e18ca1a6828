/* Lines of global memory that half a warp touches as a whole, over and over, and meets each other in between, as tiles
 * of 16 threads that hand words to each other do: each lane a word, in any order. Then it is enough to know when they
 * wrote last and when they read, and who had which word, while cells have three records for each word. Whatever else is
 * done to the line makes cells of that. */
#include <string.h>
#include "runtime/simt/check_half.h"
#include "runtime/simt/check_lines.h"

enum { WROTE, READ };

bool simt_half_find(const struct access *a, uint32_t m, unsigned lane, struct half *out)
{
    const uint32_t all = (1u << HALF_LANES) - 1;
    out->first = a->me + ((record)lane << THREAD_AT);
    return m >> lane == all && a->check->vectors->whole(a->at + lane, out->words);
}

/* Are they the same lanes, who have met since then? */
static bool met_since(record was, record first, const struct met_rule *rule)
{
    return !((was ^ first) & WHO_MASK) && (was & WITHIN) < rule->met;
}

/* Do those who read last, and no others have come since, read the same as then? */
static bool reads_again(const struct half_line *h, const struct half *x, const struct met_rule *rule)
{
    bool lately = (h->first[READ] & WITHIN) >= rule->seen;
    return lately && !memcmp(h->words[READ], x->words, sizeof x->words);
}

static void note(struct half_line *h, int what, const struct half *x)
{
    h->first[what] = x->first;
    memcpy(h->words[what], x->words, sizeof x->words);
}

bool simt_half_touch(const struct simt_check *c, struct line *l, const struct half *x, const struct met_rule *rule,
                     bool write)
{
    struct half_line *h = &strips_of(l)->half;
    if (l->launch != c->number || l->kind != LINE_HALF || !met_since(h->first[WROTE], x->first, rule)) return false;
    if (h->first[READ] && !met_since(h->first[READ], x->first, rule)) return !write && reads_again(h, x, rule);
    note(h, write ? WROTE : READ, x);
    if (write) h->first[READ] = 0;
    return true;
}

void simt_half_begin(const struct simt_check *c, struct line *l, const struct half *x)
{
    struct half_line *h = &strips_of(l)->half;
    note(h, WROTE, x);
    h->first[READ] = 0;
    set_line(c, l, LINE_HALF);
}

void simt_half_spread(const struct half_line *h, unsigned log, record *cells)
{
    const unsigned n = LINE >> log, parts = 4u >> log;
    memset(cells, 0, RECORDS * n * sizeof *cells);
    for (int what = WROTE; what <= READ; what++)
        for (unsigned lane = 0; h->first[what] && lane < HALF_LANES; lane++)
            for (unsigned k = 0; k < parts; k++)
                cells[(unsigned)what * n + h->words[what][lane] * parts + k] =
                    h->first[what] + ((record)lane << THREAD_AT);
}
