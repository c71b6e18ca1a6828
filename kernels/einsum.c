/* The text of an einsum: "ij,jk->ik". */
#include <stdio.h>
#include <string.h>
#include "kernels/contract.h"

struct parser {
    const char *text, *at;
    struct rt_error *e;
    int seen[52];      /* how often a letter stands among the operands */
    int ellipsis_axes; /* the most that an ellipsis stands for */
};

/* A mistake at a place of the text, which is shown with a caret below. */
static enum rt_status wrong(struct parser *p, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum rt_status wrong(struct parser *p, const char *place, const char *format, ...)
{
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return rt_fail(p->e, RT_INVALID, "einsum: %s\n    %s\n    %*s^", what, p->text, (int)(place - p->text), "");
}

static int letter_label(char c)
{
    if (c >= 'a' && c <= 'z') return c - 'a';
    return c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1;
}

static char label_letter(int label)
{
    return (char)(label < 26 ? 'a' + label : 'A' + label - 26);
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t') p->at++;
}

static bool at_arrow(const struct parser *p)
{
    return p->at[0] == '-' && p->at[1] == '>';
}

/* The letters up to a comma, an arrow or the end. Where the ellipsis stands among them goes to *ellipsis, -1 for none;
 * the place of each letter to places. */
struct group {
    int count, ellipsis;
    uint8_t label[RT_MAX_DIMS];
    const char *place[RT_MAX_DIMS], *dots;
};

static enum rt_status read_group(struct parser *p, struct group *g)
{
    *g = (struct group){.ellipsis = -1};
    for (skip_blanks(p); *p->at && *p->at != ',' && !at_arrow(p); skip_blanks(p)) {
        int label = letter_label(*p->at);
        if (label >= 0 && g->count == RT_MAX_DIMS) return wrong(p, p->at, "an array has at most %d axes", RT_MAX_DIMS);
        if (label >= 0) {
            g->place[g->count] = p->at++;
            g->label[g->count++] = (uint8_t)label;
        } else if (!strncmp(p->at, "...", 3)) {
            if (g->ellipsis >= 0) return wrong(p, p->at, "there is a second ellipsis");
            g->ellipsis = g->count;
            g->dots = p->at;
            p->at += 3;
        } else {
            return wrong(p, p->at, "a letter, '...', ',' or '->' was expected");
        }
    }
    return RT_OK;
}

/* The labels of a group whose ellipsis stands for so many axes: these count from the last one. */
static void expand(const struct group *g, int axes, struct kn_labels *out)
{
    out->ndim = 0;
    for (int i = 0; i <= g->count; i++) {
        for (int k = axes; i == g->ellipsis && k > 0; k--) out->label[out->ndim++] = (uint8_t)(52 + k - 1);
        if (i < g->count) out->label[out->ndim++] = g->label[i];
    }
}

static enum rt_status read_operand(struct parser *p, const struct rt_array *a, int number, struct kn_labels *out)
{
    struct group g;
    skip_blanks(p);
    const char *begin = p->at;
    enum rt_status status = read_group(p, &g);
    if (status != RT_OK) return status;
    int rest = a->ndim - g.count;
    if (g.ellipsis < 0 && rest != 0)
        return wrong(p, rest < 0 ? g.place[a->ndim] : begin, "%d letter%s for array %d, which has %d ax%s", g.count,
                     g.count == 1 ? "" : "s", number, a->ndim, a->ndim == 1 ? "is" : "es");
    if (rest < 0)
        return wrong(p, g.place[a->ndim], "array %d has only %d ax%s", number, a->ndim, a->ndim == 1 ? "is" : "es");
    if (g.ellipsis >= 0 && rest > p->ellipsis_axes) p->ellipsis_axes = rest;
    for (int i = 0; i < g.count; i++) p->seen[g.label[i]]++;
    expand(&g, g.ellipsis >= 0 ? rest : 0, out);
    return RT_OK;
}

static enum rt_status read_result(struct parser *p, struct kn_labels *out)
{
    struct group g;
    enum rt_status status = read_group(p, &g);
    if (status != RT_OK) return status;
    if (*p->at) return wrong(p, p->at, "nothing may follow the result");
    for (int i = 0; i < g.count; i++) {
        if (!p->seen[g.label[i]])
            return wrong(p, g.place[i], "the letter '%c' of the result is in no array", label_letter(g.label[i]));
        if (memchr(g.label, g.label[i], (size_t)i))
            return wrong(p, g.place[i], "the letter '%c' is in the result twice", label_letter(g.label[i]));
    }
    if (g.ellipsis < 0 && p->ellipsis_axes > 0)
        return wrong(p, p->at, "the result lacks the '...' that the arrays have");
    if (g.count + p->ellipsis_axes > RT_MAX_DIMS)
        return wrong(p, g.dots, "the result has more than %d axes", RT_MAX_DIMS);
    expand(&g, p->ellipsis_axes, out);
    return RT_OK;
}

/* Without an arrow: the axes of the ellipsis, then the letters that stand once. */
static enum rt_status implied_result(struct parser *p, struct kn_labels *out)
{
    struct group g = {.ellipsis = 0};
    for (int upper = 1; upper >= 0; upper--) /* capitals come first, as in ASCII */
        for (int i = 0; i < 26; i++) {
            int label = upper * 26 + i;
            if (p->seen[label] != 1) continue;
            if (g.count + p->ellipsis_axes == RT_MAX_DIMS)
                return wrong(p, p->at, "the result has more than %d axes", RT_MAX_DIMS);
            g.label[g.count++] = (uint8_t)label;
        }
    expand(&g, p->ellipsis_axes, out);
    return RT_OK;
}

enum rt_status kn_einsum_parse(const char *text, const struct rt_array *const *arrays, int count,
                               struct kn_labels *labels, struct kn_labels *result, struct rt_error *e)
{
    struct parser p = {.text = text, .at = text, .e = e};
    for (int i = 0; i < count; i++) {
        enum rt_status status = read_operand(&p, arrays[i], i + 1, &labels[i]);
        if (status != RT_OK) return status;
        bool more = *p.at == ',';
        if (more && i + 1 == count)
            return wrong(&p, p.at, "another array is expected; %d %s given", count, count == 1 ? "was" : "were");
        if (!more && i + 1 < count)
            return wrong(&p, p.at, "%d arrays were given, but the text names only %d", count, i + 1);
        if (more) p.at++;
    }
    if (!at_arrow(&p)) return implied_result(&p, result);
    p.at += 2;
    return read_result(&p, result);
}
