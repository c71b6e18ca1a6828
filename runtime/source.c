/* Finds the kernels of a CUDA C source and what they call their parameters, and its variables. A light reader of
 * tokens: it knows comments, strings, preprocessor lines and brackets, and no grammar; the compiler has the last word
 * on types. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/signature.h"
#include "runtime/spelling.h"

struct word { /* a token: an identifier, a number, or one character */
    const char *text;
    size_t length;
    size_t line;
    bool identifier;
};

struct scan {
    const char *at, *end;
    size_t line;
    bool line_start; /* nothing but white space on this line so far */
};

/* A name may have letters of UTF-8, too. */
static bool is_word(char c)
{
    return rt_in_name(c) || (c & 0x80);
}

static void step(struct scan *s)
{
    if (*s->at++ == '\n') {
        s->line++;
        s->line_start = true;
    }
}

static bool starts(const struct scan *s, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
}

/* To the end of the line, counting lines that a backslash continues; block comments inside may span lines. */
static void skip_directive(struct scan *s)
{
    while (s->at < s->end && *s->at != '\n') {
        if (starts(s, "/*")) {
            s->at += 2;
            while (s->at < s->end && !starts(s, "*/")) step(s);
            if (s->at < s->end) s->at += 2;
            continue;
        }
        if (*s->at == '\\' && s->end - s->at > 1) step(s);
        step(s);
    }
}

/* R"tag( ... )tag" */
static void skip_raw_string(struct scan *s)
{
    const char *tag = s->at + 2, *open = tag;
    while (open < s->end && open - tag < 17 && *open != '(') open++;
    size_t n = (size_t)(open - tag);
    s->at = open;
    while (s->at < s->end) {
        if (*s->at == ')' && (size_t)(s->end - s->at) > n + 1 && memcmp(s->at + 1, tag, n) == 0 &&
            s->at[n + 1] == '"') {
            s->at += n + 2;
            return;
        }
        step(s);
    }
}

static void skip_quoted(struct scan *s)
{
    char quote = *s->at;
    for (step(s); s->at < s->end && *s->at != quote && *s->at != '\n'; step(s)) {
        if (*s->at == '\\' && s->end - s->at > 1) step(s);
    }
    if (s->at < s->end) step(s);
}

/* The next token; false at the end of the text. */
static bool next_word(struct scan *s, struct word *w)
{
    while (s->at < s->end) {
        char c = *s->at;
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            step(s);
        } else if (starts(s, "//")) {
            while (s->at < s->end && *s->at != '\n') {
                if (*s->at == '\\' && s->end - s->at > 1) step(s);
                step(s);
            }
        } else if (starts(s, "/*")) {
            s->at += 2;
            while (s->at < s->end && !starts(s, "*/")) step(s);
            if (s->at < s->end) s->at += 2;
        } else if (c == '#' && s->line_start) {
            skip_directive(s);
        } else if (starts(s, "R\"")) {
            skip_raw_string(s);
        } else if (c == '"' || c == '\'') {
            s->line_start = false;
            skip_quoted(s);
        } else {
            *w = (struct word){.text = s->at, .line = s->line, .identifier = is_word(c) && !(c >= '0' && c <= '9')};
            s->line_start = false;
            bool whole = is_word(c);
            do s->at++;
            while (whole && s->at < s->end && is_word(*s->at));
            w->length = (size_t)(s->at - w->text);
            return true;
        }
    }
    return false;
}

static bool is(const struct word *w, const char *text)
{
    return strlen(text) == w->length && memcmp(w->text, text, w->length) == 0;
}

static bool any_of(const struct word *w, const char *const *list)
{
    for (; *list; list++) {
        if (is(w, *list)) return true;
    }
    return false;
}

/* Words that are part of a type and so are not a parameter's name. */
static bool is_type_word(const struct word *w)
{
    static const char *const words[] = {"const",    "volatile", "restrict", "__restrict__", "__restrict", "unsigned",
                                        "signed",   "char",     "short",    "int",          "long",       "float",
                                        "double",   "bool",     "void",     "struct",       "class",      "enum",
                                        "typename", "auto",     NULL};
    return any_of(w, words);
}

/* ---- one parameter ---- */

struct words {
    struct word *items;
    size_t count, room;
};

static bool push(struct words *l, const struct word *w)
{
    if (l->count == l->room) {
        size_t room = l->room ? l->room * 2 : 32;
        void *more = rt_realloc(l->items, room * sizeof *l->items);
        if (!more) return false;
        l->items = more;
        l->room = room;
    }
    l->items[l->count++] = *w;
    return true;
}

/* Which of the words is the name: the last identifier outside brackets, or the one after (* ; count when none. */
static size_t find_name(const struct word *w, size_t count)
{
    size_t name = count, identifiers = 0;
    int depth = 0;
    for (size_t i = 0; i < count; i++) {
        char c = *w[i].text;
        if (is(&w[i], "=") && depth == 0) break;
        if (c == '(' && i + 2 < count && (*w[i + 1].text == '*' || *w[i + 1].text == '&') && w[i + 2].identifier)
            return i + 2;
        if (c == '(' || c == '[' || c == '<') depth++;
        if (c == ')' || c == ']' || c == '>') depth--;
        if (!w[i].identifier || depth != 0) continue;
        bool qualifier = is(&w[i], "const") || is(&w[i], "volatile") || is(&w[i], "__restrict__") ||
                         is(&w[i], "__restrict") || is(&w[i], "restrict") || is(&w[i], "__grid_constant__");
        bool scoped = i > 0 && *w[i - 1].text == ':';
        if (!qualifier && !scoped) identifiers++;
        name = is_type_word(&w[i]) ? count : i;
        if (scoped) name = count;
    }
    bool follows_type = name > 0 && name < count &&
                        (*w[name - 1].text == '*' || *w[name - 1].text == '&' || *w[name - 1].text == '>' ||
                         is_type_word(&w[name - 1]) || identifiers > 1);
    return follows_type ? name : count;
}

/* The words of the type, joined as CUDA C is usually written; __restrict__ and __grid_constant__ say nothing about it.
 */
static char *type_text(const struct word *w, size_t count, size_t name)
{
    size_t room = 1, n = 0;
    for (size_t i = 0; i < count; i++) room += w[i].length + 1;
    char *out = rt_alloc(room + 2);
    if (!out) return NULL;
    for (size_t i = 0; i < count; i++) {
        if (i == name || is(&w[i], "__restrict__") || is(&w[i], "__restrict") || is(&w[i], "__grid_constant__"))
            continue;
        if (is(&w[i], "=")) break;
        char c = *w[i].text, before = n ? out[n - 1] : 0;
        bool word_after_word = is_word(c) && is_word(before), star = (c == '*' || c == '&') && is_word(before);
        if (n && (word_after_word || star || (is_word(c) && before == '>'))) out[n++] = ' ';
        memcpy(out + n, w[i].text, w[i].length);
        n += w[i].length;
    }
    out[n] = 0;
    return out;
}

static bool add_param(struct rt_source_kernel *k, const struct words *l)
{
    if (l->count == 0 || (l->count == 1 && is(&l->items[0], "void"))) return true;
    struct rt_source_param *more = rt_realloc(k->params, (k->count + 1) * sizeof *more);
    if (!more) return false;
    k->params = more;
    size_t name = find_name(l->items, l->count);
    struct rt_source_param *p = &k->params[k->count++];
    p->name = name < l->count ? rt_copy_bytes(l->items[name].text, l->items[name].length) : NULL;
    p->type = type_text(l->items, l->count, name);
    return p->type && (p->name || name == l->count);
}

/* ---- kernels ---- */

/* Parameters from after the '('; false when memory is lacking. *closed says whether the ')' came. */
static bool read_params(struct scan *s, struct rt_source_kernel *k, bool *closed)
{
    struct words l = {0};
    struct word w;
    int depth = 0;
    bool ok = true;
    *closed = false;
    while (ok && !*closed && next_word(s, &w)) {
        char c = *w.text;
        if (depth == 0 && (c == ',' || c == ')')) {
            ok = add_param(k, &l);
            l.count = 0;
            *closed = c == ')';
            continue;
        }
        if (c == '(' || c == '[' || c == '{' || c == '<') depth++;
        if (c == ')' || c == ']' || c == '}' || c == '>') depth--;
        if (c == ';' && depth <= 0) break;
        ok = push(&l, &w);
    }
    free(l.items);
    return ok;
}

static void skip_parentheses(struct scan *s)
{
    struct word w;
    for (int depth = 1; depth > 0 && next_word(s, &w);) {
        if (*w.text == '(') depth++;
        if (*w.text == ')') depth--;
    }
}

static void clear_kernel(struct rt_source_kernel *k)
{
    for (size_t i = 0; i < k->count; i++) {
        free(k->params[i].name);
        free(k->params[i].type);
    }
    free(k->params);
    free(k->name);
}

void rt_source_kernels_free(struct rt_source_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) clear_kernel(&kernels[i]);
    free(kernels);
}

/* What follows __global__: attributes, a result type, the name, the parameters. */
static bool read_kernel(struct scan *s, struct rt_source_kernel **list, size_t *count)
{
    static const char *const attributes[] = {"__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__",
                                             "__attribute__",     "__declspec",  "__noinline__",     "__forceinline__",
                                             "alignas",           NULL};
    struct rt_source_kernel k = {0};
    struct word w = {.text = ""}, before = w;
    bool closed = false;
    while (next_word(s, &w)) {
        char c = *w.text;
        if (c == ';' || c == '{' || c == '}') return true;
        if (c == '(' && before.identifier && !any_of(&before, attributes)) break;
        if (c == '(') skip_parentheses(s);
        before = w;
        w.text = ""; /* so that the end of the text is not taken for a name */
    }
    if (!*w.text || !before.identifier) return true;
    k.line = before.line;
    k.name = rt_copy_bytes(before.text, before.length);
    bool ok = k.name && read_params(s, &k, &closed);
    struct rt_source_kernel *more = ok && closed ? rt_realloc(*list, (*count + 1) * sizeof *more) : NULL;
    if (more) {
        *list = more;
        more[(*count)++] = k;
        return true;
    }
    clear_kernel(&k);
    return ok && !closed;
}

enum rt_status rt_source_kernels(const char *text, size_t length, struct rt_source_kernel **out, size_t *count,
                                 struct rt_error *e)
{
    struct scan s = {.at = text, .end = text + length, .line = 1, .line_start = true};
    struct word w;
    *out = NULL;
    *count = 0;
    while (next_word(&s, &w)) {
        if (is(&w, "__global__") && !read_kernel(&s, out, count)) {
            rt_source_kernels_free(*out, *count);
            *out = NULL;
            *count = 0;
            return rt_fail(e, RT_NOMEM, "out of memory");
        }
    }
    return RT_OK;
}

/* ---- variables ---- */

void rt_source_variables_free(struct rt_source_variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(variables[i].name);
        free(variables[i].type);
    }
    free(variables);
}

/* "[2][2 * R + 1]": sizes from the first bracket on. */
static void read_axes(const char *text, const struct word *w, size_t count, struct rt_source_variable *v)
{
    for (size_t i = 0; i + 1 < count && *w[i].text == '[' && v->ndim < RT_SOURCE_AXES; i++) {
        const char *from = w[i].text + 1;
        while (i + 1 < count && *w[i].text != ']') i++;
        v->shape[v->ndim++] = rt_source_constant(text, from, (size_t)(w[i].text - from));
    }
}

/* One declarator: the words of the type, of which *type are common to all of a declaration (0: find out), the name, the
 * sizes. */
static bool add_variable(const char *text, const struct words *l, size_t *type, struct rt_source_variable **list,
                         size_t *count)
{
    size_t name = l->count;
    for (size_t i = 0; i < l->count && *l->items[i].text != '['; i++)
        if (l->items[i].identifier && !is_type_word(&l->items[i])) name = i;
    if (name == l->count || name < *type || name == 0) return true;
    for (*type = *type ? *type : name; *type > 0 && *l->items[*type - 1].text == '*';) --*type;
    struct rt_source_variable *more = rt_realloc(*list, (*count + 1) * sizeof *more);
    if (!more) return false;
    *list = more;
    struct rt_source_variable *v = &more[(*count)++];
    *v = (struct rt_source_variable){.name = rt_copy_bytes(l->items[name].text, l->items[name].length),
                                     .type = type_text(l->items, name, name)};
    read_axes(text, l->items + name + 1, l->count - name - 1, v);
    return v->name && v->type;
}

/* From behind an initialiser's = or { to the comma or semicolon behind it. */
static bool skip_initialiser(struct scan *s, struct word *w, int depth)
{
    while (next_word(s, w)) {
        char c = *w->text;
        if (depth == 0 && (c == ',' || c == ';')) return true;
        if (c == '(' || c == '[' || c == '{') depth++;
        if (c == ')' || c == ']' || c == '}') depth--;
    }
    return false;
}

/* What follows __device__ or __shared__: a variable, or several; or a function, which is none of them. */
static bool read_variables(const char *text, struct scan *s, struct rt_source_variable **list, size_t *count)
{
    static const char *const spaces[] = {"__device__", "__constant__", "__managed__", "__shared__",
                                         "__host__",   "static",       "extern",      "inline",
                                         "constexpr",  "const",        "volatile",    NULL};
    static const char *const attributes[] = {"__align__", "__attribute__", "alignas", "__declspec", NULL};
    struct words l = {0};
    struct word w = {.text = ""}, before = w;
    size_t type = 0;
    int angles = 0, brackets = 0; /* of a template's arguments; of sizes */
    bool ok = true, more = true;
    while (ok && more && next_word(s, &w)) {
        char c = *w.text;
        if (c == '(' && before.identifier && any_of(&before, attributes)) {
            skip_parentheses(s);
            if (l.count) l.count--; /* the attribute */
            continue;
        }
        brackets += (c == '[') - (c == ']');
        if ((c == '(' && brackets == 0) || c == '}' || is(&w, "__global__")) break; /* a function */
        if (brackets == 0) angles += (c == '<') - (c == '>');
        if (((angles > 0 || brackets > 0) && c != ';') || (c != ';' && c != ',' && c != '=' && c != '{')) {
            if (!any_of(&w, spaces)) ok = push(&l, &w);
            before = w;
            continue;
        }
        ok = add_variable(text, &l, &type, list, count);
        if (c == '=' || c == '{') more = skip_initialiser(s, &w, c == '{');
        if (*w.text == ';') break;
        l.count = type;
    }
    free(l.items);
    return ok;
}

/* Of the variables behind the words of memory spaces. */
static enum rt_status find_variables(const char *text, size_t length, const char *const *spaces,
                                     struct rt_source_variable **out, size_t *count, struct rt_error *e)
{
    struct scan s = {.at = text, .end = text + length, .line = 1, .line_start = true};
    struct word w;
    *out = NULL;
    *count = 0;
    while (next_word(&s, &w)) {
        if (!any_of(&w, spaces)) continue;
        if (read_variables(text, &s, out, count)) continue;
        rt_source_variables_free(*out, *count);
        *out = NULL;
        *count = 0;
        return rt_fail(e, RT_NOMEM, "out of memory");
    }
    return RT_OK;
}

enum rt_status rt_source_variables(const char *text, size_t length, struct rt_source_variable **out, size_t *count,
                                   struct rt_error *e)
{
    static const char *const spaces[] = {"__device__", "__constant__", "__managed__", NULL};
    return find_variables(text, length, spaces, out, count, e);
}

static bool same_axes(const struct rt_source_variable *v, const struct rt_source_layout *l)
{
    bool same = v->ndim == l->ndim;
    for (int d = 0; d < v->ndim && same; d++) same = v->shape[d] == l->shape[d];
    return same;
}

struct rt_source_layout rt_source_layout(const char *text, size_t length, const char *name)
{
    static const char *const spaces[] = {"__device__", "__constant__", "__managed__", "__shared__", NULL};
    struct rt_source_layout l = {0};
    struct rt_source_variable *list;
    size_t count;
    bool found = false, bytes = true, axes = true;
    if (find_variables(text, length, spaces, &list, &count, NULL) != RT_OK) return l;
    for (size_t i = 0; i < count; i++) {
        int lanes;
        if (strcmp(list[i].name, name) != 0) continue;
        enum rt_dtype t = rt_type_dtype(list[i].type, &lanes);
        unsigned these = t == RT_DTYPE_COUNT ? 0 : (unsigned)rt_dtypes[t].size * (unsigned)lanes;
        bytes = bytes && these && (!found || these == l.bytes);
        axes = axes && (!found || same_axes(&list[i], &l));
        found = true;
        l.bytes = these;
        l.ndim = list[i].ndim;
        memcpy(l.shape, list[i].shape, sizeof l.shape);
    }
    rt_source_variables_free(list, count);
    if (!bytes) l.bytes = 0;
    if (!axes) l.ndim = 0;
    return l;
}
