/* The logo: a crescent over a grid of cells, an array by moonlight. The PNG is drawn from the same numbers as the SVG
 * and stored without compression, which needs no library. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/install.h"
#include "runtime/memory.h"

const char jp_logo_svg[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\">\n"
    "<rect x=\"2\" y=\"2\" width=\"60\" height=\"60\" rx=\"12\" fill=\"#14213d\"/>\n"
    "<g fill=\"#3a5a98\">\n"
    "<path d=\"M10 38h12v8h-12zM26 38h12v8h-12zM42 38h12v8h-12zM10 49h12v8h-12zM26 49h12v8h-12zM42 49h12v8h-12z\"/>\n"
    "</g>\n"
    "<mask id=\"m\"><rect width=\"64\" height=\"64\" fill=\"#fff\"/><circle cx=\"40\" cy=\"17\" r=\"12\"/></mask>\n"
    "<circle cx=\"33\" cy=\"21\" r=\"14\" fill=\"#ffd166\" mask=\"url(#m)\"/>\n"
    "</svg>\n";

struct colour {
    double r, g, b, a;
};

static int in_circle(double x, double y, double cx, double cy, double r)
{
    return hypot(x - cx, y - cy) <= r;
}

/* Coordinates as in the SVG, from 0 to 64. */
static struct colour sample(double x, double y)
{
    double dx = fabs(x - 32) - 18, dy = fabs(y - 32) - 18;
    if (hypot(dx > 0 ? dx : 0, dy > 0 ? dy : 0) > 12) return (struct colour){0, 0, 0, 0};
    if (in_circle(x, y, 33, 21, 14) && !in_circle(x, y, 40, 17, 12)) return (struct colour){255, 209, 102, 255};
    double column = fmod(x - 10, 16), row = fmod(y - 38, 11);
    if (x >= 10 && x < 54 && y >= 38 && y < 57 && column < 12 && row < 8) return (struct colour){58, 90, 152, 255};
    return (struct colour){20, 33, 61, 255};
}

static void draw_pixel(int size, int px, int py, unsigned char out[4])
{
    enum { STEPS = 4 };
    struct colour sum = {0, 0, 0, 0};
    for (int i = 0; i < STEPS * STEPS; i++) {
        int column = i % STEPS, row = i / STEPS;
        struct colour c = sample((px + (column + 0.5) / STEPS) * 64.0 / size, (py + (row + 0.5) / STEPS) * 64.0 / size);
        sum.r += c.r * c.a, sum.g += c.g * c.a, sum.b += c.b * c.a, sum.a += c.a;
    }
    if (sum.a == 0) sum.a = 1;
    out[0] = (unsigned char)lround(sum.r / sum.a);
    out[1] = (unsigned char)lround(sum.g / sum.a);
    out[2] = (unsigned char)lround(sum.b / sum.a);
    out[3] = (unsigned char)lround(sum.a / (STEPS * STEPS));
}

static unsigned char *put32(unsigned char *p, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8) *p++ = (unsigned char)(value >> shift);
    return p;
}

static unsigned char *put_chunk(unsigned char *p, const char type[4], const unsigned char *data, uint32_t length)
{
    p = put32(p, length);
    unsigned char *start = p;
    memcpy(p, type, 4);
    if (length) memcpy(p + 4, data, length);
    p += 4 + length;
    uint32_t crc = 0xffffffff;
    for (unsigned char *q = start; q < p; q++) {
        crc ^= *q;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return put32(p, ~crc);
}

/* A zlib stream of one stored block. */
static uint32_t wrap_stored(unsigned char *out, const unsigned char *data, uint32_t length)
{
    unsigned char *p = out;
    const unsigned char head[] = {0x78, 0x01, 0x01, (unsigned char)length, (unsigned char)(length >> 8)};
    memcpy(p, head, sizeof head);
    p += sizeof head;
    *p++ = (unsigned char)~length;
    *p++ = (unsigned char)(~length >> 8);
    memcpy(p, data, length);
    uint32_t a = 1, b = 0;
    for (uint32_t i = 0; i < length; i++) a = (a + data[i]) % 65521, b = (b + a) % 65521;
    return (uint32_t)(put32(p + length, b << 16 | a) - out);
}

int jp_logo_png(int size, unsigned char **data, size_t *length)
{
    uint32_t row = 1 + 4 * (uint32_t)size, raw_length = row * (uint32_t)size; /* below 65536 for 64 x 64 */
    unsigned char *raw = rt_calloc(1, raw_length), *stream = rt_alloc(raw_length + 16);
    unsigned char *png = *data = rt_alloc(raw_length + 128);
    if (raw && stream && png) {
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++) draw_pixel(size, x, y, raw + row * (uint32_t)y + 1 + 4 * x);
        unsigned char header[13], *p = put32(put32(header, (uint32_t)size), (uint32_t)size);
        memcpy(p, (unsigned char[]){8, 6, 0, 0, 0}, 5); /* 8 bits, RGBA */
        static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
        memcpy(png, signature, sizeof signature);
        p = put_chunk(png + 8, "IHDR", header, sizeof header);
        p = put_chunk(p, "IDAT", stream, wrap_stored(stream, raw, raw_length));
        p = put_chunk(p, "IEND", NULL, 0);
        *length = (size_t)(p - png);
    }
    int ok = raw && stream && png;
    free(raw);
    free(stream);
    if (!ok) {
        free(png);
        *data = NULL;
    }
    return ok;
}
