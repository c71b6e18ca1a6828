/* The text form of HTML that users show: what a terminal prints in its place. */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "lang/buffer.h"
#include "lang/display.h"
#include "lang/session_state.h"

struct text {
    struct lg_buffer *out;
    bool space, verbatim; /* a space is due before the next word; inside <pre> */
};

static bool is_any(const char *name, size_t n, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == n && memcmp(*names, name, n) == 0) return true;
    return false;
}

static void new_line(struct text *t)
{
    while (t->out->length && t->out->data[t->out->length - 1] == ' ') t->out->length--;
    if (t->out->length && t->out->data[t->out->length - 1] != '\n') lg_buffer_puts(t->out, "\n");
    t->space = false;
}

/* A tag by its name, in lower case. */
static void put_tag(struct text *t, const char *name, size_t n, bool closes)
{
    static const char *const blocks[] = {"address", "blockquote", "dd",      "div", "dl", "dt", "h1", "h2",
                                         "h3",      "h4",         "h5",      "h6",  "hr", "li", "ol", "p",
                                         "pre",     "table",      "caption", "tr",  "ul", NULL};
    static const char *const cells[] = {"td", "th", NULL};
    if (n == 2 && memcmp(name, "br", 2) == 0) {
        lg_buffer_puts(t->out, "\n");
        t->space = false;
    } else if (is_any(name, n, blocks)) {
        new_line(t);
        if (!closes && n == 2 && memcmp(name, "li", 2) == 0) lg_buffer_puts(t->out, "- ");
        if (n == 3 && memcmp(name, "pre", 3) == 0) t->verbatim = !closes;
    } else if (closes && is_any(name, n, cells)) {
        lg_buffer_puts(t->out, "  ");
        t->space = false;
    }
}

/* The character that the entity at p stands for; the number of bytes that it takes, 1 for what is none. */
static size_t put_entity(struct text *t, const char *p, const char *end)
{
    static const char *const names[][2] = {{"&lt;", "<"},   {"&gt;", ">"},  {"&amp;", "&"},  {"&quot;", "\""},
                                           {"&nbsp;", " "}, {"&#39;", "'"}, {"&apos;", "'"}, {"&hellip;", "..."}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i][0]);
        if ((size_t)(end - p) < n || memcmp(p, names[i][0], n) != 0) continue;
        lg_buffer_puts(t->out, names[i][1]);
        return n;
    }
    lg_buffer_add(t->out, p, 1);
    return 1;
}

/* Behind the tag at p; its name is put, and the contents of styles, scripts and comments are skipped. */
static const char *skip_tag(struct text *t, const char *p, const char *end)
{
    static const char *const hidden[] = {"style", "script", "head", "title", NULL};
    char name[16];
    size_t n = 0;
    bool closes = p + 1 < end && p[1] == '/';
    if (end - p >= 4 && memcmp(p, "<!--", 4) == 0) {
        const char *stop = memmem(p, (size_t)(end - p), "-->", 3);
        return stop ? stop + 3 : end;
    }
    for (const char *c = p + 1 + closes; c < end && isalnum((unsigned char)*c) && n < sizeof name - 1; c++)
        name[n++] = (char)tolower((unsigned char)*c);
    name[n] = '\0';
    const char *stop = memchr(p, '>', (size_t)(end - p));
    if (!stop) return end;
    if (!closes && is_any(name, n, hidden)) {
        char close[24] = "</";
        memcpy(close + 2, name, n + 1);
        const char *last = memmem(stop, (size_t)(end - stop), close, n + 2);
        return last ? last : end;
    }
    put_tag(t, name, n, closes);
    return stop + 1;
}

void lg_push_html_text(lua_State *L, const char *html, size_t length)
{
    struct text t = {.out = lg_push_buffer(L)};
    for (const char *p = html, *end = html + length; p < end;) {
        bool tag = *p == '<' && p + 1 < end && (isalpha((unsigned char)p[1]) || p[1] == '/' || p[1] == '!');
        if (tag) {
            p = skip_tag(&t, p, end);
        } else if (isspace((unsigned char)*p) && !t.verbatim) {
            t.space = true;
            p++;
        } else {
            bool begins = !t.out->length || strchr(" \n", t.out->data[t.out->length - 1]);
            if (t.space && !begins) lg_buffer_puts(t.out, " ");
            t.space = false;
            p += put_entity(&t, p, end);
        }
    }
    while (t.out->length && strchr(" \n", t.out->data[t.out->length - 1])) t.out->length--;
    lg_push_buffer_text(L, t.out);
    lua_remove(L, -2);
}
