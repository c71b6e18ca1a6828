#include "runtime/json.h"
#include <math.h>
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/number.h"

#define POLL_EVERY 65536 /* elements between looks at whether the user wants to stop */

struct walk {
    const struct rt_json *j;
    struct rt_json *out; /* being measured */
    const char *at;
    int64_t counts[RT_MAX_DIMS]; /* elements seen in the lists that are open */
    int depth, ndim;             /* open lists; ndim is -1 before the first element */
    int64_t elements;
    bool numbers;
    struct rt_error *e;
};

static enum rt_status wrong(const struct walk *w, const char *expected)
{
    return rt_fail(w->e, RT_INVALID, "%s, byte %lld: expected %s", w->j->name, (long long)(w->at - w->j->text),
                   expected);
}

static void skip_blanks(struct walk *w)
{
    while (w->at < w->j->end && strchr(" \t\r\n", *w->at) && *w->at) w->at++;
}

/* The text of a number or of a word. */
static size_t scalar_length(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && ((at[n] >= '0' && at[n] <= '9') || ((at[n] | 32) >= 'a' && (at[n] | 32) <= 'z') ||
                            at[n] == '+' || at[n] == '-' || at[n] == '.'))
        n++;
    return n;
}

/* The words of JSON, and those that Python's json writes beside them. */
static bool is_json_word(const char *text, size_t n)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], text, n) == 0) return true;
    return false;
}

static enum rt_status take_scalar(struct walk *w)
{
    double v;
    size_t n = scalar_length(w->at, w->j->end);
    const char first = w->at[n > 1 && *w->at == '-'];
    const bool word = n && (first | 32) >= 'a', boolean = word && (first == 't' || first == 'f');
    if (!n || rt_number_parse(w->at, n, RT_FLOAT64, &v) != RT_NUMBER_OK || (word && !is_json_word(w->at, n)))
        return wrong(w, "a number, true, false, null or a list of them");
    if (w->ndim < 0) w->ndim = w->depth;
    if (w->ndim != w->depth) return wrong(w, "a list, as before it");
    w->numbers |= !boolean;
    w->at += n;
    if (++w->elements % POLL_EVERY == 0 && rt_interrupted()) return rt_fail(w->e, RT_INTERRUPTED, "interrupted");
    return RT_OK;
}

/* A list ends: its length is that of its neighbours. */
static enum rt_status close_list(struct walk *w)
{
    int64_t *size = &w->out->shape[--w->depth], count = w->counts[w->depth];
    if (count == 0 && w->ndim < 0) w->ndim = w->depth + 1;
    if (count == 0 && w->ndim != w->depth + 1) return wrong(w, "no empty list among others");
    if (*size >= 0 && *size != count) return wrong(w, "a list as long as the one before it");
    *size = count;
    w->at++;
    return RT_OK;
}

static enum rt_status open_list(struct walk *w)
{
    if (w->depth == RT_MAX_DIMS) return wrong(w, "no more than 16 lists in each other");
    if (w->ndim >= 0 && w->depth >= w->ndim) return wrong(w, "a number, as before it");
    w->counts[w->depth++] = 0;
    w->at++;
    return RT_OK;
}

/* One value and, behind it, what ends the lists it is the last of. */
static enum rt_status measure(struct walk *w)
{
    enum rt_status status = RT_OK;
    do {
        skip_blanks(w);
        if (w->at < w->j->end && *w->at == '[') {
            if ((status = open_list(w)) != RT_OK) return status;
            skip_blanks(w);
            if (w->at == w->j->end || *w->at != ']') continue;
        } else {
            if ((status = take_scalar(w)) != RT_OK) return status;
            if (w->depth) w->counts[w->depth - 1]++;
        }
        for (skip_blanks(w); w->depth && w->at < w->j->end && *w->at == ']'; skip_blanks(w)) {
            if ((status = close_list(w)) != RT_OK) return status;
            if (w->depth) w->counts[w->depth - 1]++;
        }
        if (w->depth == 0) return RT_OK;
        if (w->at == w->j->end || *w->at != ',') return wrong(w, "a comma or the list's end");
        w->at++;
    } while (w->depth);
    return RT_OK;
}

enum rt_status rt_json_measure(const char *name, const char *text, size_t size, struct rt_json *out, struct rt_error *e)
{
    *out = (struct rt_json){.name = name, .text = text, .end = text + size};
    struct walk w = {.j = out, .out = out, .at = text, .ndim = -1, .e = e};
    for (int i = 0; i < RT_MAX_DIMS; i++) out->shape[i] = -1;
    enum rt_status status;
    do status = measure(&w);
    while (status == RT_OK && w.depth);
    if (status != RT_OK) return status;
    skip_blanks(&w);
    if (w.at != out->end) return wrong(&w, "the end of the file");
    out->ndim = w.ndim;
    out->booleans = !w.numbers && w.elements > 0;
    return RT_OK;
}

enum rt_status rt_json_read(const struct rt_json *j, enum rt_dtype t, void *elements, struct rt_error *e)
{
    char *to = elements;
    for (const char *at = j->text; at < j->end;) {
        size_t n = scalar_length(at, j->end);
        if (n == 0) {
            at++;
            continue;
        }
        enum rt_number result = rt_number_parse(at, n, t, to);
        if (result != RT_NUMBER_OK)
            return rt_fail(e, RT_INVALID, "%s, byte %lld: %s does not hold %.*s", j->name, (long long)(at - j->text),
                           rt_dtypes[t].name, n < 40 ? (int)n : 40, at);
        at += n;
        to += rt_dtypes[t].size;
    }
    return RT_OK;
}

static void put_element(struct rt_writer *w, enum rt_dtype t, const char *p)
{
    char text[RT_NUMBER_TEXT];
    if (t == RT_BOOL) {
        rt_writer_print(w, "%s", *p ? "true" : "false");
    } else if (rt_dtypes[t].kind == 'f' && !isfinite(rt_load_double(t, p))) {
        const double v = rt_load_double(t, p);
        rt_writer_print(w, "%s", isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
    } else {
        rt_writer_put(w, text, (size_t)rt_number_text(t, p, text));
    }
}

static const char *put_list(struct rt_writer *w, enum rt_dtype t, int ndim, const int64_t *shape, const char *p)
{
    if (ndim == 0) {
        put_element(w, t, p);
        return p + rt_dtypes[t].size;
    }
    rt_writer_put(w, "[", 1);
    for (int64_t i = 0; i < shape[0] && !w->failure; i++) {
        if (i) rt_writer_put(w, ndim > 1 ? ",\n" : ", ", 2);
        p = put_list(w, t, ndim - 1, shape + 1, p);
    }
    rt_writer_put(w, "]", 1);
    return p;
}

enum rt_status rt_json_save(const char *path, enum rt_dtype t, int ndim, const int64_t *shape, const void *elements,
                            struct rt_error *e)
{
    struct rt_writer w;
    enum rt_status status = rt_writer_open(path, &w, e);
    if (status != RT_OK) return status;
    put_list(&w, t, ndim, shape, elements);
    rt_writer_put(&w, "\n", 1);
    return rt_writer_finish(&w, true, e);
}
