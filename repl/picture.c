#define _GNU_SOURCE /* memfd_create */
#include "repl/picture.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "repl/output.h"
#include "repl/settings.h"
#include "repl/sixel.h"
#include "repl/terminal.h"
#include "repl/theme.h"
#include "runtime/png.h"

enum { KITTY_PIECE = 4096, CELL_WIDTH = 8, CELL_HEIGHT = 16 };

/* What the terminal can do */

static bool is(const char *variable, const char *value)
{
    const char *set = getenv(variable);
    return set && strcmp(set, value) == 0;
}

static bool begins(const char *variable, const char *value)
{
    const char *set = getenv(variable);
    return set && strncmp(set, value, strlen(value)) == 0;
}

static enum sh_pictures half_blocks(void)
{
    int colors = sh_colors();
    if (colors < 256) return colors ? SH_PICTURES_BLOCKS_8 : SH_PICTURES_NONE;
    return colors > 256 ? SH_PICTURES_BLOCKS : SH_PICTURES_BLOCKS_256;
}

/* The terminal tells what it is: sixels are number 4 of its attributes, and whoever knows kitty's graphics answers a
 * question about them before that. */
static enum sh_pictures ask(bool multiplexed)
{
    static const char attributes[] = "\033[c", kitty[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c";
    char answer[256];
    if (!sh_terminal_ask(multiplexed ? attributes : kitty, answer, sizeof answer)) return half_blocks();
    if (strstr(answer, "\033_Gi=31;OK")) return SH_PICTURES_KITTY;
    const char *list = strstr(answer, "\033[?");
    for (const char *p = list ? strchr(list, ';') : NULL; p; p = strchr(p + 1, ';'))
        if (p[1] == '4' && (p[2] == ';' || p[2] == 'c')) return SH_PICTURES_SIXEL;
    return half_blocks();
}

static enum sh_pictures find_way(void)
{
    bool multiplexed = getenv("TMUX") || getenv("STY") || begins("TERM", "screen") || begins("TERM", "tmux");
    if (!sh_takes_color(STDOUT_FILENO)) return SH_PICTURES_NONE;
    if (is("TERM", "linux") || begins("TERM", "vt")) return half_blocks();
    /* Within tmux and screen these speak of the terminal outside, which they do not let through to. */
    if (!multiplexed && (getenv("KITTY_WINDOW_ID") || is("TERM", "xterm-kitty") || is("TERM_PROGRAM", "ghostty")))
        return SH_PICTURES_KITTY;
    if (!multiplexed && (is("TERM_PROGRAM", "iTerm.app") || is("TERM_PROGRAM", "WezTerm"))) return SH_PICTURES_ITERM2;
    return ask(multiplexed);
}

static enum sh_pictures way(void)
{
    static enum sh_pictures found;
    if (sh_settings->images != SH_PICTURES_AUTO) return sh_settings->images;
    if (found == SH_PICTURES_AUTO) found = find_way();
    return found;
}

enum lg_pictures sh_pictures_shown(void)
{
    if (!isatty(STDOUT_FILENO)) return LG_PICTURES_NONE;
    switch (way()) {
    case SH_PICTURES_KITTY:
    case SH_PICTURES_ITERM2:
    case SH_PICTURES_SIXEL: return LG_PICTURES_PNG;
    case SH_PICTURES_BLOCKS: return LG_PICTURES_BLOCKS;
    case SH_PICTURES_BLOCKS_8: return LG_PICTURES_BLOCKS_8;
    case SH_PICTURES_BLOCKS_256: return LG_PICTURES_BLOCKS_256;
    default: return LG_PICTURES_NONE;
    }
}

/* Sizes */

struct place {
    int width, height;           /* of the picture, in pixels */
    int cell_width, cell_height; /* of a character */
    bool known;                  /* the terminal has told that */
    int columns, rows;           /* what the picture takes */
    bool shrunk;
};

/* PNG says its size in bytes 16 to 23. */
static bool place_picture(const unsigned char *png, size_t length, struct place *p)
{
    int columns, rows;
    if (length < 24 || memcmp(png + 1, "PNG", 3) != 0) return false;
    p->width = png[16] << 24 | png[17] << 16 | png[18] << 8 | png[19];
    p->height = png[20] << 24 | png[21] << 16 | png[22] << 8 | png[23];
    if (p->width < 1 || p->height < 1 || p->width > 1 << 15 || p->height > 1 << 15) return false;
    sh_terminal_size(&columns, &rows);
    p->known = sh_terminal_cell(&p->cell_width, &p->cell_height);
    if (!p->known) {
        p->cell_width = CELL_WIDTH;
        p->cell_height = CELL_HEIGHT;
    }
    int widest = (columns > 1 ? columns - 1 : 1) * p->cell_width, highest = (rows > 4 ? rows - 2 : 2) * p->cell_height;
    double scale = 1;
    if (p->width > widest) scale = (double)widest / p->width;
    if (p->height * scale > highest) scale = (double)highest / p->height;
    p->shrunk = scale < 1;
    if (p->shrunk) {
        p->width = (int)(p->width * scale) > 0 ? (int)(p->width * scale) : 1;
        p->height = (int)(p->height * scale) > 0 ? (int)(p->height * scale) : 1;
    }
    p->columns = (p->width + p->cell_width - 1) / p->cell_width;
    p->rows = (p->height + p->cell_height - 1) / p->cell_height;
    return true;
}

/* Ways to draw */

static void put(struct sh_text *out, const char *text)
{
    sh_text_append(out, text, strlen(text));
}

static unsigned kitty_number; /* of the picture drawn last */

/* In pieces, as the protocol wants it. The picture has a number, so that it can be removed. */
static void put_kitty(const char *base64, size_t length, const struct place *p, struct sh_text *out)
{
    char head[96], size[32] = "";
    kitty_number = kitty_number ? kitty_number + 1 : (unsigned)getpid() << 12 | 1;
    if (p->shrunk || !p->known) snprintf(size, sizeof size, ",c=%d,r=%d", p->columns, p->rows);
    for (size_t at = 0; at < length; at += KITTY_PIECE) {
        size_t n = length - at < KITTY_PIECE ? length - at : KITTY_PIECE;
        int more = at + n < length;
        if (at == 0)
            snprintf(head, sizeof head, "\033_Ga=T,i=%u,f=100,q=2%s,m=%d;", kitty_number, size, more);
        else
            snprintf(head, sizeof head, "\033_Gm=%d;", more);
        put(out, head);
        sh_text_append(out, base64 + at, n);
        put(out, "\033\\");
    }
}

static void put_iterm2(const char *base64, size_t length, size_t bytes, const struct place *p, struct sh_text *out)
{
    char head[128], size[48] = "";
    if (p->shrunk || !p->known)
        snprintf(size, sizeof size, ";width=%d;height=%d;preserveAspectRatio=1", p->columns, p->rows);
    snprintf(head, sizeof head, "\033]1337;File=inline=1;size=%zu%s:", bytes, size);
    put(out, head);
    sh_text_append(out, base64, length);
    put(out, "\a");
}

/* The picture's pixels in the size of its place, malloc'd: each the mean of those that it stands for. */
static unsigned char *shrink(const struct rt_array *a, const struct place *p)
{
    const unsigned char *from = rt_array_host(a);
    int64_t rows = a->shape[0], columns = a->shape[1], channels = a->ndim == 3 ? a->shape[2] : 1;
    unsigned char *pixels = malloc((size_t)p->width * (size_t)p->height * 4), *to = pixels;
    for (int64_t y = 0; pixels && y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++, to += 4) {
            int64_t y0 = y * rows / p->height, y1 = (y + 1) * rows / p->height, x0 = x * columns / p->width,
                    x1 = (x + 1) * columns / p->width, sum[4] = {0}, n = 0;
            for (int64_t i = y0; i < y1 || i == y0; i++)
                for (int64_t j = x0; j < x1 || j == x0; j++, n++) {
                    const unsigned char *c = from + (i * columns + j) * channels;
                    int opacity = channels % 2 ? 255 : c[channels - 1];
                    for (int k = 0; k < 3; k++) sum[k] += c[channels > 2 ? k : 0] * opacity;
                    sum[3] += opacity;
                }
            for (int k = 0; k < 3; k++) to[k] = (unsigned char)(sum[3] ? sum[k] / sum[3] : 0);
            to[3] = (unsigned char)(sum[3] / n);
        }
    return pixels;
}

/* libpng reads from a file, which may be one in memory. */
static bool load_png(const unsigned char *png, size_t length, struct rt_array *out)
{
    char path[64];
    struct rt_error e = {0};
    int fd = memfd_create("picture", MFD_CLOEXEC);
    if (fd < 0) return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool ok = write(fd, png, length) == (ssize_t)length;
    struct rt_device *host = ok ? rt_device_open("cpu", &e) : NULL;
    ok = host && rt_png_load(path, host, out, &e) == RT_OK;
    if (ok && out->dtype != RT_UINT8) {
        rt_array_release(out);
        ok = false;
    }
    rt_error_clear(&e);
    close(fd);
    return ok;
}

static bool put_sixel(const unsigned char *png, size_t length, const struct place *p, struct sh_text *out)
{
    struct rt_array a = {0};
    if (!load_png(png, length, &a)) return false;
    unsigned char *pixels = shrink(&a, p);
    rt_array_release(&a);
    bool ok = pixels && sh_sixel(pixels, p->height, p->width, out);
    free(pixels);
    return ok;
}

bool sh_picture(const char *base64, size_t length, struct sh_text *out, int *rows)
{
    struct place p = {0};
    size_t bytes = 0;
    unsigned char *png = malloc(length / 4 * 3 + 3);
    bool ok = png && sodium_base642bin(png, length / 4 * 3 + 3, base64, length, "\n", &bytes, NULL,
                                       sodium_base64_VARIANT_ORIGINAL) == 0;
    ok = ok && place_picture(png, bytes, &p);
    enum sh_pictures how = way();
    if (ok && how == SH_PICTURES_KITTY) put_kitty(base64, length, &p, out);
    if (ok && how == SH_PICTURES_ITERM2) put_iterm2(base64, length, bytes, &p, out);
    if (ok && how == SH_PICTURES_SIXEL) ok = put_sixel(png, bytes, &p, out);
    free(png);
    if (!ok) return false;
    put(out, "\r\n");
    *rows = p.known || how != SH_PICTURES_SIXEL ? p.rows : 0;
    return true;
}

void sh_picture_remove(struct sh_text *out)
{
    char text[64];
    if (way() != SH_PICTURES_KITTY) return;
    snprintf(text, sizeof text, "\033_Ga=d,d=I,i=%u,q=2\033\\", kitty_number);
    put(out, text);
}
