#include "runtime/excerpt.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static const char cut[] = "...";
enum { NUMBER = 8, CUT = sizeof cut - 1, LEAST = 40, MOST = 160, USUAL = 100 };
static atomic_int characters = USUAL; /* of a line that are shown, at most */

void rt_excerpt_fit(int columns)
{
    const int fit = columns - NUMBER;
    atomic_store(&characters, columns <= 0 ? USUAL : fit < LEAST ? LEAST : fit > MOST ? MOST : fit);
}

struct text {
    char *out;
    size_t used, size;
};

static void add(struct text *t, char c)
{
    if (t->used + 1 < t->size) t->out[t->used++] = c;
}

static void add_text(struct text *t, const char *s)
{
    while (*s) add(t, *s++);
}

/* Is it a byte of a character that began before it? */
static bool goes_on(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static size_t count_characters(const char *from, const char *to)
{
    size_t n = 0;
    for (; from < to; from++) n += !goes_on(*from);
    return n;
}

static const char *skip_characters(const char *from, const char *to, size_t n)
{
    while (n-- && from < to) {
        from++;
        while (from < to && goes_on(*from)) from++;
    }
    return from;
}

/* Cuts a line down to the part around the mark; returns whether something in front of it goes. */
static bool cut_line(const char **from, const char **to, const char *mark)
{
    const size_t all = count_characters(*from, *to), place = count_characters(*from, mark);
    size_t shown = (size_t)atomic_load(&characters), first = 0;
    if (all <= shown) return false;
    shown -= CUT;
    const size_t before = shown / 2;
    if (place + before > shown) first = place - before < all - shown ? place - before : all - shown;
    if (first && first + shown < all) shown -= CUT;
    *from = skip_characters(*from, *to, first);
    *to = skip_characters(*from, *to, shown);
    return first > 0;
}

static void add_part(struct text *t, const char *from, const char *to)
{
    for (; from < to; from++) add(t, *from);
}

/* As wide as what is above it. */
static void add_padding(struct text *t, const char *from, const char *to)
{
    for (; from < to; from++)
        if (!goes_on(*from)) add(t, *from == '\t' ? '\t' : ' ');
}

static void add_mark(struct text *t, const char *from, const char *to)
{
    add(t, '^');
    for (from++; from < to; from++)
        if (!goes_on(*from)) add(t, '~');
}

size_t rt_write_excerpt(int number, const char *line, size_t length, int column, size_t width, char *out, size_t size)
{
    struct text t = {out, 0, size};
    char lead[16];
    const char *from = line, *end = line + length, *to = end, *mark = line + (column > 0 ? column - 1 : 0);
    while (mark > line && mark < end && goes_on(*mark)) mark--;
    const bool begun = cut_line(&from, &to, mark);
    const int digits = snprintf(lead, sizeof lead, "%5d", number);
    add_text(&t, lead);
    add_text(&t, " | ");
    if (begun) add_text(&t, cut);
    add_part(&t, from, to);
    if (to < end) add_text(&t, cut);
    if (column > 0) {
        snprintf(lead, sizeof lead, "\n%*s | ", digits, "");
        add_text(&t, lead);
        if (begun) add_padding(&t, cut, cut + CUT);
        add_padding(&t, from, mark);
        add_mark(&t, mark, width < (size_t)(to - mark) ? mark + width : to);
    }
    if (size) out[t.used] = 0;
    return t.used;
}
