#include "repl/diff.h"
#include "runtime/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 2, MOST_CELLS = 1 << 22 };

struct line {
    const char *s;
    size_t length; /* without blanks at the end */
};

struct lines {
    struct line *at;
    size_t count;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool split(const struct sh_text *t, struct lines *out)
{
    size_t count = 1;
    for (size_t i = 0; i < t->length; i++) count += t->bytes[i] == '\n';
    *out = (struct lines){.at = rt_calloc(count, sizeof *out->at)};
    if (!out->at) return false;
    for (size_t start = 0; start < t->length;) {
        const char *s = t->bytes + start, *stop = memchr(s, '\n', t->length - start);
        size_t length = stop ? (size_t)(stop - s) : t->length - start;
        start += length + 1;
        while (length > 0 && is_blank(s[length - 1])) length--;
        out->at[out->count++] = (struct line){s, length};
    }
    while (out->count > 0 && out->at[out->count - 1].length == 0) out->count--;
    return true;
}

/* Lines */

static const char any[] = "...";
enum { ANY = sizeof any - 1 };

static bool stands_for_any(const struct line *l)
{
    return l->length == ANY && memcmp(l->s, any, ANY) == 0;
}

static bool matches(const struct line *expected, const struct line *got)
{
    /* Where the last `...` was, to come back to with one more byte under it. */
    size_t e = 0, g = 0, back_e = 0, back_g = 0;
    bool back = false;
    while (g < got->length || e < expected->length) {
        if (expected->length - e >= ANY && memcmp(expected->s + e, any, ANY) == 0) {
            back_e = e += ANY;
            back_g = g;
            back = true;
        } else if (g < got->length && e < expected->length && is_blank(expected->s[e]) && is_blank(got->s[g])) {
            while (e < expected->length && is_blank(expected->s[e])) e++;
            while (g < got->length && is_blank(got->s[g])) g++;
        } else if (g < got->length && e < expected->length && expected->s[e] == got->s[g]) {
            e++;
            g++;
        } else if (back && back_g < got->length) {
            e = back_e;
            g = ++back_g;
        } else {
            return false;
        }
    }
    return true;
}

/* The shortest way from one to the other: with the fewest lines that differ, and of those the one with the fewest lines
 * under `...` */

struct way {
    struct lines expected, got;
    uint64_t *cost; /* [i * (got.count + 1) + j]: of all from line i and from line j on; NULL: too many for a table */
};

static uint64_t cost_of(const struct way *w, size_t i, size_t j)
{
    return w->cost[i * (w->got.count + 1) + j];
}

/* What one line that differs costs: more than all that can be under `...` */
static uint64_t difference(const struct way *w)
{
    return w->got.count + 1;
}

enum step { AGREE, LEAVE_DOTS, UNDER_DOTS, MISSING, ADDED, STEPS };

/* The cost from here when the step is taken; UINT64_MAX when it cannot be. */
static uint64_t cost_by(const struct way *w, size_t i, size_t j, enum step step)
{
    bool more_expected = i < w->expected.count, more_got = j < w->got.count;
    bool dots = more_expected && stands_for_any(&w->expected.at[i]);
    switch (step) {
    case AGREE:
        if (!more_expected || !more_got || dots || !matches(&w->expected.at[i], &w->got.at[j])) break;
        return cost_of(w, i + 1, j + 1);
    case LEAVE_DOTS: return dots ? cost_of(w, i + 1, j) : UINT64_MAX;
    case UNDER_DOTS: return dots && more_got ? cost_of(w, i, j + 1) + 1 : UINT64_MAX;
    case MISSING: return more_expected && !dots ? cost_of(w, i + 1, j) + difference(w) : UINT64_MAX;
    case ADDED: return more_got && !dots ? cost_of(w, i, j + 1) + difference(w) : UINT64_MAX;
    case STEPS: break;
    }
    return UINT64_MAX;
}

static enum step best_step(const struct way *w, size_t i, size_t j)
{
    enum step best = AGREE;
    for (enum step s = LEAVE_DOTS; s < STEPS; s++)
        if (cost_by(w, i, j, s) < cost_by(w, i, j, best)) best = s;
    return best;
}

static void find_costs(struct way *w)
{
    size_t rows = w->expected.count + 1, columns = w->got.count + 1;
    if (columns > MOST_CELLS / rows) return;
    w->cost = rt_alloc(rows * columns * sizeof *w->cost);
    for (size_t i = w->cost ? rows : 0; i-- > 0;)
        for (size_t j = columns; j-- > 0;) {
            bool end = i + 1 == rows && j + 1 == columns;
            w->cost[i * columns + j] = end ? 0 : cost_by(w, i, j, best_step(w, i, j));
        }
}

/* What is shown */

struct shower {
    struct sh_text *out;
    size_t same;               /* lines that agreed since the last difference */
    struct line kept[CONTEXT]; /* the last of them */
    bool begun;
};

static void show(struct shower *s, const char *mark, const struct line *l)
{
    sh_text_append(s->out, mark, 2);
    sh_text_append(s->out, l->s, l->length);
    sh_text_append(s->out, "\n", 1);
}

/* Those next to a difference are shown, at both ends of a stretch that agrees. */
static void agree(struct shower *s, const struct line *l)
{
    if (s->begun && s->same < CONTEXT) show(s, "  ", l);
    s->kept[s->same % CONTEXT] = *l;
    s->same++;
}

static void differ(struct shower *s, char mark, const struct line *l)
{
    size_t shown = s->begun ? CONTEXT : 0, hidden = s->same > shown ? s->same - shown : 0;
    size_t again = hidden < CONTEXT ? hidden : CONTEXT;
    if (hidden > again) sh_text_append(s->out, "  \xE2\x80\xA6\n", 6);
    for (size_t i = s->same - again; i < s->same; i++) show(s, "  ", &s->kept[i % CONTEXT]);
    s->same = 0;
    s->begun = true;
    show(s, (char[]){mark, ' ', '\0'}, l);
}

static void walk(const struct way *w, struct shower *s)
{
    for (size_t i = 0, j = 0; i < w->expected.count || j < w->got.count;) {
        enum step step = w->cost ? best_step(w, i, j) : i < w->expected.count ? MISSING : ADDED;
        if (step == AGREE || step == UNDER_DOTS) agree(s, &w->got.at[j]);
        if (step == MISSING) differ(s, '-', &w->expected.at[i]);
        if (step == ADDED) differ(s, '+', &w->got.at[j]);
        i += step == AGREE || step == LEAVE_DOTS || step == MISSING;
        j += step == AGREE || step == UNDER_DOTS || step == ADDED;
    }
}

/* Lines that agree at the start are left out of the table, so that long outputs with few differences fit into it. */
static size_t common_start(const struct way *w)
{
    size_t n = 0;
    while (n < w->expected.count && n < w->got.count && !stands_for_any(&w->expected.at[n]) &&
           matches(&w->expected.at[n], &w->got.at[n]))
        n++;
    return n;
}

static void skip_lines(struct lines *l, size_t n)
{
    l->at += n;
    l->count -= n;
}

bool sh_diff(const struct sh_text *expected, const struct sh_text *got, struct sh_text *out)
{
    struct way w = {0};
    struct shower s = {.out = out};
    bool same = false;
    if (split(expected, &w.expected) && split(got, &w.got)) {
        size_t start = common_start(&w);
        for (size_t i = 0; i < start; i++) agree(&s, &w.got.at[i]);
        skip_lines(&w.expected, start);
        skip_lines(&w.got, start);
        find_costs(&w);
        same = w.cost ? cost_of(&w, 0, 0) < difference(&w) : w.expected.count + w.got.count == 0;
        if (!same) walk(&w, &s);
        w.expected.at -= start;
        w.got.at -= start;
    }
    free(w.cost);
    free(w.expected.at);
    free(w.got.at);
    return same;
}
