#include "repl/sixel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLORS = 256, BAND = 6, SLOTS = 1024, NOTHING = -1 };

struct palette {
    int count;
    unsigned char colors[MOST_COLORS][3];
    int slots[SLOTS]; /* a hash table of numbers of colours, plus 1 */
    bool fixed;       /* levels of red, green and blue, where there are too many */
};

/* In hundredths, which is what sixels can say. */
static int percent(int v)
{
    return (v * 100 + 127) / 255;
}

/* The number of a colour, which is added; MOST_COLORS when there is no room. */
static int find_color(struct palette *p, const unsigned char *c)
{
    unsigned hash = (c[0] * 31u + c[1]) * 31u + c[2];
    for (unsigned i = hash % SLOTS;; i = (i + 1) % SLOTS) {
        int n = p->slots[i];
        if (n && memcmp(p->colors[n - 1], c, 3) == 0) return n - 1;
        if (n) continue;
        if (p->count == MOST_COLORS) return MOST_COLORS;
        memcpy(p->colors[p->count], c, 3);
        p->slots[i] = ++p->count;
        return p->count - 1;
    }
}

/* Six levels of red and blue, seven of green, where eyes are best. */
static void fix(struct palette *p)
{
    p->fixed = true;
    p->count = 6 * 7 * 6;
    for (int i = 0; i < p->count; i++) {
        p->colors[i][0] = (unsigned char)(i / 42 * 51);
        p->colors[i][1] = (unsigned char)(i / 6 % 7 * 85 / 2);
        p->colors[i][2] = (unsigned char)(i % 6 * 51);
    }
}

static int nearest(const unsigned char *c)
{
    return (c[0] + 25) / 51 * 42 + (c[1] * 2 + 42) / 85 * 6 + (c[2] + 25) / 51;
}

static void choose(struct palette *p, const unsigned char *pixels, size_t count, short *to)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *c = pixels + 4 * i;
        int n = c[3] < 128 ? NOTHING : p->fixed ? nearest(c) : find_color(p, c);
        if (n == MOST_COLORS) {
            fix(p);
            choose(p, pixels, count, to);
            return;
        }
        to[i] = (short)n;
    }
}

static void put_run(struct sh_text *out, char c, int n)
{
    char text[16];
    if (n > 3) {
        sh_text_append(out, text, (size_t)snprintf(text, sizeof text, "!%d%c", n, c));
        return;
    }
    while (n-- > 0) sh_text_append(out, &c, 1);
}

/* One colour's part of a band. */
static void put_color(struct sh_text *out, int color, const unsigned char *masks, int columns)
{
    char text[16];
    int last = columns;
    while (last > 0 && !masks[last - 1]) last--;
    sh_text_append(out, text, (size_t)snprintf(text, sizeof text, "#%d", color));
    for (int x = 0, n; x < last; x += n) {
        for (n = 1; x + n < last && masks[x + n] == masks[x];) n++;
        put_run(out, (char)('?' + masks[x]), n);
    }
}

/* Six rows, or what is left of them. masks: of each colour, all zeros before and after. */
static void put_band(struct sh_text *out, const short *numbers, int rows, int columns, unsigned char *masks)
{
    bool used[MOST_COLORS] = {false}, any = false;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            int n = numbers[(size_t)y * (size_t)columns + (size_t)x];
            if (n == NOTHING) continue;
            used[n] = true;
            masks[(size_t)n * (size_t)columns + (size_t)x] |= (unsigned char)(1 << y);
        }
    for (int n = 0; n < MOST_COLORS; n++) {
        if (!used[n]) continue;
        unsigned char *row = masks + (size_t)n * (size_t)columns;
        if (any) sh_text_append(out, "$", 1);
        put_color(out, n, row, columns);
        memset(row, 0, (size_t)columns);
        any = true;
    }
}

bool sh_sixel(const unsigned char *pixels, int rows, int columns, struct sh_text *out)
{
    char text[64];
    size_t count = (size_t)rows * (size_t)columns;
    struct palette *p = calloc(1, sizeof *p);
    short *numbers = calloc(count, sizeof *numbers);
    unsigned char *masks = calloc(MOST_COLORS, (size_t)columns);
    bool ok = p && numbers && masks;
    if (ok) {
        choose(p, pixels, count, numbers);
        ok = sh_text_append(out, text, (size_t)snprintf(text, sizeof text, "\033P0;1;0q\"1;1;%d;%d", columns, rows));
        for (int i = 0; i < p->count; i++) {
            const unsigned char *c = p->colors[i];
            sh_text_append(
                out, text,
                (size_t)snprintf(text, sizeof text, "#%d;2;%d;%d;%d", i, percent(c[0]), percent(c[1]), percent(c[2])));
        }
        for (int y = 0; y < rows; y += BAND) {
            put_band(out, numbers + (size_t)y * (size_t)columns, rows - y < BAND ? rows - y : BAND, columns, masks);
            if (y + BAND < rows) sh_text_append(out, "-", 1);
        }
        ok = sh_text_append(out, "\033\\", 2) && ok;
    }
    free(p);
    free(numbers);
    free(masks);
    return ok;
}
