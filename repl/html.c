#include "repl/html.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include "repl/frame.h"
#include "repl/highlight.h"
#include "runtime/memory.h"

static const char style_sheet[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1f2328;--dim:#656d76;--line:#d0d7de;--box:#f6f8fa;--link:#0b57d0;"
    "--keyword:#a626a4;--string:#2f7d32;--number:#9a5b00;--comment:#6e7781;--call:#2257c5;--c1:#c62828;--c2:#2e7d32;"
    "--c3:#8a6100;--c4:#1d4ed8;--c5:#8e24aa;--c6:#00707a}"
    "@media(prefers-color-scheme:dark){:root{--back:#14171c;--text:#e2e6eb;--dim:#939ca7;--line:#353b45;--box:#1d222a;"
    "--link:#8ab4f8;--keyword:#d19be8;--string:#98c379;--number:#e0b070;--comment:#848e9b;--call:#7fb2f5;--c1:#ff7b72;"
    "--c2:#7ee787;--c3:#e3b341;--c4:#79b8ff;--c5:#d2a8ff;--c6:#56d4dd}}"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:56rem;background:var(--back);"
    "color:var(--text);font:16px/1.55 system-ui,sans-serif;overflow-wrap:break-word}"
    "pre,code,kbd{font:14px/1.45 ui-monospace,'DejaVu Sans Mono',monospace}pre{margin:0;overflow-x:auto;white-space:pre}"
    "p code,li code,td code,h1 code,h2 code,h3 code{background:var(--box);padding:.1em .3em;border-radius:4px}"
    "pre.code{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;margin:.6rem 0}"
    "a{color:var(--link)}img{max-width:100%}h1,h2,h3{line-height:1.25;margin:1.4em 0 .5em}hr{border:0;border-top:1px solid "
    "var(--line)}blockquote{margin:.8rem 0;padding:0 1rem;border-left:4px solid var(--line);color:var(--dim)}"
    "table{border-collapse:collapse;margin:.6rem 0}th,td{border:1px solid var(--line);padding:.25rem .6rem}"
    ".k{color:var(--keyword)}.s{color:var(--string)}.n{color:var(--number)}.c{color:var(--comment);font-style:italic}"
    ".f{color:var(--call)}.math{font-family:ui-monospace,monospace;color:var(--number)}"
    ".a1{color:var(--c1)}.a2{color:var(--c2)}.a3{color:var(--c3)}.a4{color:var(--c4)}.a5{color:var(--c5)}"
    ".a6{color:var(--c6)}.ab{font-weight:bold}.ad{color:var(--dim)}";

void sh_html_head(struct lg_buffer *b, const char *title, bool scripts)
{
    lg_buffer_puts(b,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\""
                   "Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'");
    lg_buffer_puts(b, scripts ? "; script-src 'unsafe-inline'" : "");
    lg_buffer_puts(b, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    lg_buffer_escape(b, title, strlen(title));
    lg_buffer_printf(b, "</title>\n<style>%s</style>\n</head>\n<body>\n", style_sheet);
}

void sh_html_attribute(struct lg_buffer *b, const char *text, size_t length)
{
    for (size_t i = 0, start = 0; i <= length; i++) {
        if (i < length && text[i] != '"') continue;
        lg_buffer_escape(b, text + start, i - start);
        if (i < length) lg_buffer_puts(b, "&quot;");
        start = i + 1;
    }
}

static void put_base64(struct lg_buffer *b, const char *bytes, size_t length)
{
    size_t room = sodium_base64_ENCODED_LEN(length, sodium_base64_VARIANT_ORIGINAL);
    char *text = rt_alloc(room);
    if (!text) {
        b->failed = true;
        return;
    }
    sodium_bin2base64(text, room, (const unsigned char *)bytes, length, sodium_base64_VARIANT_ORIGINAL);
    lg_buffer_puts(b, text);
    free(text);
}

void sh_html_data_address(struct lg_buffer *b, const char *mime, const char *data, size_t length)
{
    const char *end = data + length;
    lg_buffer_printf(b, "data:%s;base64,", mime);
    if (strcmp(mime, "image/svg+xml") == 0) {
        put_base64(b, data, length);
        return;
    }
    for (; data < end; data++) /* broken into lines, it may be */
        if (*data != '\n' && *data != '\r') sh_html_attribute(b, data, 1);
}

/* ---- code */

static const char *class_of(unsigned char style)
{
    switch (style) {
    case SH_KEYWORD: return "k";
    case SH_STRING: return "s";
    case SH_NUMBER: return "n";
    case SH_COMMENT: return "c";
    case SH_FUNCTION: return "f";
    default: return NULL;
    }
}

static void put_styled(struct lg_buffer *b, const char *code, size_t length, const unsigned char *styles)
{
    for (size_t i = 0, end; i < length; i = end) {
        const char *class = class_of(styles[i]);
        for (end = i + 1; end < length && styles[end] == styles[i];) end++;
        if (class) lg_buffer_printf(b, "<span class=\"%s\">", class);
        lg_buffer_escape(b, code + i, end - i);
        if (class) lg_buffer_puts(b, "</span>");
    }
}

static bool is_any(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

void sh_html_code(struct lg_buffer *b, const char *language, const char *code, size_t length)
{
    static const char *const cuda[] = {"cuda", "c", "cpp", "c++", "cu", NULL};
    unsigned char *styles = rt_calloc(length + 1, 1);
    size_t line = 0;
    if (!styles) {
        b->failed = true;
        return;
    }
    if (length && code[length - 1] == '\n') length--;
    if (strcmp(language, "lua") == 0 && length > 6 && strncmp(code, "%%cuda", 6) == 0) {
        while (line < length && code[line] != '\n') line++;
        sh_highlight_cuda(code + line, length - line, styles + line);
    } else if (strcmp(language, "lua") == 0) {
        sh_highlight(code, length, styles);
    } else if (is_any(language, cuda)) {
        sh_highlight_cuda(code, length, styles);
    }
    lg_buffer_puts(b, "<pre class=\"code\">");
    put_styled(b, code, length, styles);
    lg_buffer_puts(b, "</pre>\n");
    free(styles);
}

/* ---- escape codes */

struct look {
    int color; /* 0: none, 1 to 6; 7: that of rgb */
    int rgb[3];
    bool bold, dim;
};

/* Takes the code at the front of n numbers; how many it and what belongs to it are. */
static int set_look(struct look *l, const int *codes, int n)
{
    int code = *codes;
    if (code == 0) *l = (struct look){0};
    if (code == 1) l->bold = true;
    if (code == 2) l->dim = true;
    if (code == 22) l->bold = l->dim = false;
    if (code == 39) l->color = 0;
    if (code >= 31 && code <= 36) l->color = code - 30;
    if (code >= 91 && code <= 96) l->color = code - 90;
    if ((code != 38 && code != 48) || n < 2) return 1;
    if (code == 38 && codes[1] == 2 && n >= 5) {
        l->color = 7;
        for (int i = 0; i < 3; i++) l->rgb[i] = codes[2 + i] & 255;
    }
    return codes[1] == 2 ? 5 : 3;
}

/* The escape code at s; returns its bytes. */
static size_t read_escape(const char *s, size_t length, struct look *l)
{
    enum { MOST = 32 };
    int codes[MOST], count = 0;
    size_t i = 2, start = 2;
    if (length < 2 || s[1] != '[') return 1;
    while (i < length && (s[i] < '@' || s[i] > '~')) i++;
    if (i < length && s[i] == 'm') {
        for (size_t at = start; at <= i && count < MOST; at++) {
            if (at < i && s[at] != ';') continue;
            codes[count++] = atoi(s + start);
            start = at + 1;
        }
        for (int at = 0; at < count;) at += set_look(l, codes + at, count - at);
    }
    return i < length ? i + 1 : length;
}

static void put_look(struct lg_buffer *b, const struct look *l, const char *text, size_t length)
{
    bool any = l->color || l->bold || l->dim;
    if (!length) return;
    if (any) {
        lg_buffer_puts(b, "<span class=\"");
        if (l->color && l->color < 7) lg_buffer_printf(b, "a%d ", l->color);
        lg_buffer_printf(b, "%s%s\"", l->bold ? "ab " : "", l->dim ? "ad" : "");
        if (l->color == 7) lg_buffer_printf(b, " style=\"color:rgb(%d,%d,%d)\"", l->rgb[0], l->rgb[1], l->rgb[2]);
        lg_buffer_puts(b, ">");
    }
    lg_buffer_escape(b, text, length);
    if (any) lg_buffer_puts(b, "</span>");
}

void sh_html_ansi(struct lg_buffer *b, const char *text, size_t length)
{
    struct look look = {0};
    size_t start = 0;
    for (size_t i = 0; i < length;) {
        if (text[i] != '\033') {
            i++;
            continue;
        }
        put_look(b, &look, text + start, i - start);
        i += read_escape(text + i, length - i, &look);
        start = i;
    }
    put_look(b, &look, text + start, length - start);
}
