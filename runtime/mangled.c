/* Reads the Itanium C++ ABI's mangled names, as far as the names and parameter types of kernels need: builtin types,
 * pointers, qualifiers, nested and template names with literal arguments, substitutions, vendor types, arrays, function
 * pointers. Expressions in template arguments (X..E, decltype) are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/mangled_reader.h"
#include "runtime/memory.h"

static struct type read_type(struct reader *r);
static const char *read_args(struct reader *r, bool keep);

/* ---- names ---- */

static const char *read_source_name(struct reader *r)
{
    size_t n;
    if (!rt_take_number(r, &n) || n == 0 || n > (size_t)(r->end - r->at)) return refuse(r), "";
    const char *s = r->at;
    r->at += n;
    if (n >= 11 && memcmp(s, "_GLOBAL__N_", 11) == 0) return "(anonymous)";
    char *out = rt_text_new(r, n);
    if (!out) return "";
    memcpy(out, s, n);
    out[n] = 0;
    while (accept(r, 'B')) { /* ABI tags */
        size_t skip;
        if (!rt_take_number(r, &skip) || skip > (size_t)(r->end - r->at)) return refuse(r), "";
        r->at += skip;
    }
    return out;
}

/* One part of a name without its template arguments. */
static const char *read_unqualified(struct reader *r)
{
    accept(r, 'L'); /* internal linkage */
    char c = peek(r), d = peek_next(r);
    if (c >= '0' && c <= '9') return read_source_name(r);
    if (c == 'U' && (d == 'l' || d == 't')) { /* a lambda or unnamed type */
        size_t n;
        r->at += 2;
        if (d == 'l') {
            while (peek(r) && peek(r) != 'E') (void)read_type(r);
            expect(r, 'E');
        }
        rt_take_index(r, 10, &n);
        return d == 'l' ? "(lambda)" : "(unnamed)";
    }
    if ((c == 'C' || c == 'D') && d >= '0' && d <= '9') {
        r->at += 2;
        return "(constructor)";
    }
    if (c == 'c' && d == 'v') {
        r->at += 2;
        return rt_glue(r, "operator ", read_type(r).left, "");
    }
    if (c >= 'a' && c <= 'z' && d >= 'a' && d <= 'z') {
        r->at += 2;
        return "(operator)";
    }
    return refuse(r), "";
}

static struct type standard_name(struct reader *r)
{
    static const struct {
        const char *code, *name;
    } known[] = {{"Sa", "std::allocator"}, {"Sb", "std::basic_string"}, {"Ss", "std::string"},
                 {"Si", "std::istream"},   {"So", "std::ostream"},      {"Sd", "std::iostream"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (accept2(r, known[i].code)) return rt_named_type(known[i].name);
    }
    size_t n;
    if (!expect(r, 'S') || !rt_take_index(r, 36, &n) || n >= (size_t)r->sub_count) return refuse(r), no_type;
    return r->subs[n];
}

/* N [qualifiers] prefix... E */
static struct type read_nested(struct reader *r, bool keep)
{
    struct type t = no_type;
    bool any = false;
    expect(r, 'N');
    while (peek(r) == 'r' || peek(r) == 'V' || peek(r) == 'K') r->at++;
    if (peek(r) == 'R' || peek(r) == 'O') r->at++;
    while (peek(r) && peek(r) != 'E') {
        bool is_std = false, from_table = false;
        if (any && peek(r) == 'I') {
            t = rt_named_type(rt_glue(r, t.left, read_args(r, keep), ""));
            r->has_args = true;
        } else if (!any && accept2(r, "St")) {
            t = rt_named_type("std");
            is_std = true;
        } else if (!any && peek(r) == 'S') {
            t = standard_name(r);
            from_table = true;
        } else if (!any && peek(r) == 'T') {
            t = read_type(r);
            from_table = true;
        } else {
            const char *part = read_unqualified(r);
            t = rt_named_type(any ? rt_glue(r, t.left, "::", part) : part);
            r->has_args = false;
        }
        any = true;
        if (r->failed) return no_type;
        if (!is_std && !from_table && peek(r) != 'E') rt_substitute(r, &t);
    }
    if (!any) refuse(r);
    expect(r, 'E');
    return t;
}

/* A name where a type or function stands; *complete is false when it must be added to the substitutions. */
static struct type read_name(struct reader *r, bool keep, bool *from_table)
{
    struct type t;
    *from_table = false;
    r->has_args = false;
    if (peek(r) == 'N') return read_nested(r, keep);
    if (accept(r, 'Z')) { /* local to a function */
        struct type outer = read_name(r, false, from_table);
        while (peek(r) && peek(r) != 'E') (void)read_type(r);
        expect(r, 'E');
        accept(r, 's');
        struct type inner = read_name(r, keep, from_table);
        return rt_named_type(rt_glue(r, outer.left, "::", inner.left));
    }
    if (accept2(r, "St")) {
        t = rt_named_type(rt_glue(r, "std::", read_unqualified(r), ""));
    } else if (peek(r) == 'S') {
        t = standard_name(r);
        *from_table = true;
    } else {
        t = rt_named_type(read_unqualified(r));
    }
    if (peek(r) == 'I') {
        if (!*from_table) rt_substitute(r, &t);
        t = rt_named_type(rt_glue(r, t.left, read_args(r, keep), ""));
        r->has_args = true;
        *from_table = false;
    }
    return t;
}

/* ---- template arguments ---- */

static const char *read_literal(struct reader *r)
{
    if (peek(r) == '_' && peek_next(r) == 'Z') { /* the address of something */
        bool from_table;
        r->at += 2;
        const char *name = rt_glue(r, "&", read_name(r, false, &from_table).left, "");
        while (peek(r) && peek(r) != 'E') (void)read_type(r);
        return expect(r, 'E'), name;
    }
    char code = peek(r);
    struct type t = read_type(r);
    const char *s = r->at;
    while (peek(r) && peek(r) != 'E') r->at++;
    size_t n = (size_t)(r->at - s);
    char *digits = rt_text_new(r, n);
    if (!digits || !expect(r, 'E')) return "";
    memcpy(digits, s, n);
    digits[n] = 0;
    if (*digits == 'n') *digits = '-';
    if (code == 'b') return strcmp(digits, "0") == 0 ? "false" : "true";
    if (code == 'i') return digits;
    if (code == 'j') return rt_glue(r, digits, "u", "");
    if (code == 'l' || code == 'x') return rt_glue(r, digits, "l", code == 'x' ? "l" : "");
    if (code == 'm' || code == 'y') return rt_glue(r, digits, "ul", code == 'y' ? "l" : "");
    return rt_glue(r, rt_glue(r, "(", t.left, t.right), ")", digits);
}

static struct type read_arg(struct reader *r);

static struct type read_pack(struct reader *r)
{
    struct type pack = no_type, items[64];
    int count = 0;
    const char *text = "";
    while (peek(r) && peek(r) != 'E') {
        if (count == 64) return refuse(r), no_type;
        items[count] = read_arg(r);
        text = rt_glue(r, text, count ? ", " : "", rt_glue(r, items[count].left, items[count].right, ""));
        count++;
    }
    expect(r, 'E');
    if (r->pack_item_count + count > MAX_TYPES) return refuse(r), no_type;
    pack.left = text;
    pack.pack = r->pack_item_count + 1;
    pack.pack_count = count;
    for (int i = 0; i < count; i++) r->pack_items[r->pack_item_count++] = items[i];
    return pack;
}

static struct type read_arg(struct reader *r)
{
    if (++r->depth > MAX_DEPTH) return refuse(r), no_type;
    struct type t = no_type;
    if (accept(r, 'L'))
        t.left = read_literal(r);
    else if (accept(r, 'J'))
        t = read_pack(r);
    else if (peek(r) == 'X')
        refuse(r);
    else
        t = read_type(r);
    r->depth--;
    return t;
}

/* I args E as "<a, b>"; keep makes them what T_ means. */
static const char *read_args(struct reader *r, bool keep)
{
    const char *text = "<";
    struct type list[64];
    int count = 0;
    expect(r, 'I');
    if (++r->depth > MAX_DEPTH) return refuse(r), "";
    while (peek(r) && peek(r) != 'E') {
        if (count == 64) return refuse(r), "";
        list[count] = read_arg(r);
        bool empty = list[count].pack && !list[count].pack_count;
        text = rt_glue(r, text, count && !empty ? ", " : "", rt_glue(r, list[count].left, list[count].right, ""));
        count++;
    }
    r->depth--;
    expect(r, 'E');
    if (keep && !r->failed) {
        memcpy(r->args, list, (size_t)count * sizeof *list);
        r->arg_count = count;
    }
    return rt_glue(r, text, ">", "");
}

/* ---- types ---- */

static bool builtin_type(struct reader *r, struct type *t)
{
    static const struct {
        char code;
        const char *name;
        enum rt_dtype dtype;
    } rows[] = {
        {'v', "void", RT_DTYPE_COUNT},
        {'w', "wchar_t", RT_DTYPE_COUNT},
        {'b', "bool", RT_BOOL},
        {'c', "char", RT_INT8},
        {'a', "signed char", RT_INT8},
        {'h', "unsigned char", RT_UINT8},
        {'s', "short", RT_INT16},
        {'t', "unsigned short", RT_UINT16},
        {'i', "int", RT_INT32},
        {'j', "unsigned int", RT_UINT32},
        {'l', "long", RT_INT64},
        {'m', "unsigned long", RT_UINT64},
        {'x', "long long", RT_INT64},
        {'y', "unsigned long long", RT_UINT64},
        {'n', "__int128", RT_DTYPE_COUNT},
        {'o', "unsigned __int128", RT_DTYPE_COUNT},
        {'f', "float", RT_FLOAT32},
        {'d', "double", RT_FLOAT64},
        {'e', "long double", RT_DTYPE_COUNT},
        {'g', "__float128", RT_DTYPE_COUNT},
        {'z', "...", RT_DTYPE_COUNT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (peek(r) != rows[i].code) continue;
        r->at++;
        *t = rt_named_type(rows[i].name);
        t->dtype = rows[i].dtype;
        t->is_void = rows[i].code == 'v';
        if (t->dtype != RT_DTYPE_COUNT) t->kind = RT_PARAM_VALUE;
        return true;
    }
    return false;
}

/* D.: the less common builtin types; true when it was one. Vectors and pack expansions go to their own. */
static bool d_type(struct reader *r, struct type *t)
{
    static const struct {
        const char *code, *name;
    } rows[] = {
        {"Dn", "decltype(nullptr)"}, {"Di", "char32_t"}, {"Ds", "char16_t"}, {"Du", "char8_t"}, {"Dh", "__fp16"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (accept2(r, rows[i].code)) return *t = rt_named_type(rows[i].name), true;
    }
    if (!accept2(r, "DF")) return false;
    size_t bits;
    if (!rt_take_number(r, &bits)) return true;
    bool brain = accept(r, 'b');
    if (!brain) expect(r, '_');
    *t = rt_named_type(brain ? "__bf16" : "_Float16");
    return true;
}

/* Puts something between a type and its name, with parentheses around it for functions and arrays. */
static struct type declarator(struct reader *r, const struct type *base, const char *mark)
{
    struct type t = *base;
    size_t n = strlen(t.left);
    bool tight = n && (t.left[n - 1] == '*' || t.left[n - 1] == '(' || t.left[n - 1] == '&');
    t.left = base->wraps ? rt_glue(r, t.left, " (", mark) : rt_glue(r, t.left, tight ? "" : " ", mark);
    t.right = base->wraps ? rt_glue(r, ")", t.right, "") : t.right;
    t.kind = RT_PARAM_POINTER;
    t.target_const = base->is_const;
    /* what a pointer to a pointer points to is no element type */
    bool element = base->kind == RT_PARAM_VALUE || (base->kind == RT_PARAM_STRUCT && rt_is_complex(base->dtype));
    t.dtype = element && !base->wraps ? base->dtype : RT_DTYPE_COUNT;
    t.is_const = t.wraps = t.is_void = false;
    return t;
}

static struct type qualified_type(struct reader *r)
{
    bool restricted = accept(r, 'r'), is_volatile = accept(r, 'V'), constant = accept(r, 'K');
    struct type t = read_type(r);
    const char *words =
        rt_glue(r, constant ? "const " : "", is_volatile ? "volatile " : "", restricted ? "__restrict__ " : "");
    if (t.wraps || !*words) return t;
    if (t.kind == RT_PARAM_POINTER) {
        char *tail = (char *)rt_glue(r, words, "", "");
        if (*tail) tail[strlen(tail) - 1] = 0;
        t.left = rt_glue(r, t.left, tail, "");
    } else {
        t.left = rt_glue(r, words, t.left, "");
    }
    t.is_const |= constant;
    return t;
}

static struct type function_type(struct reader *r)
{
    expect(r, 'F');
    accept(r, 'Y');
    struct type result = read_type(r), t = no_type;
    const char *params = "(";
    for (int i = 0; peek(r) && peek(r) != 'E'; i++) {
        struct type p = read_type(r);
        if (p.is_void) continue;
        params = rt_glue(r, params, i ? ", " : "", rt_glue(r, p.left, p.right, ""));
    }
    expect(r, 'E');
    t.left = rt_glue(r, result.left, result.right, "");
    t.right = rt_glue(r, params, ")", "");
    t.wraps = true;
    return t;
}

static struct type array_type(struct reader *r)
{
    char size[16] = "[";
    size_t n = 1;
    expect(r, 'A');
    while (peek(r) >= '0' && peek(r) <= '9' && n < 12) size[n++] = *r->at++;
    size[n++] = ']';
    size[n] = 0;
    expect(r, '_');
    struct type element = read_type(r), t = no_type;
    t.left = element.left;
    t.right = rt_glue(r, size, element.right, "");
    t.is_const = element.is_const;
    t.wraps = true;
    return t;
}

static struct type template_param(struct reader *r)
{
    size_t n;
    expect(r, 'T');
    if (!rt_take_index(r, 10, &n) || n >= (size_t)r->arg_count) return refuse(r), no_type;
    return r->args[n];
}

static struct type pointer_to_member(struct reader *r)
{
    expect(r, 'M');
    struct type owner = read_type(r), member = read_type(r), t = no_type;
    t.left = rt_glue(r, rt_glue(r, member.left, member.wraps ? " (" : " ", owner.left), "::*", "");
    t.right = member.wraps ? rt_glue(r, ")", member.right, "") : "";
    return t;
}

static struct type vector_type(struct reader *r)
{
    size_t n;
    char text[40];
    if (!rt_take_number(r, &n) || !expect(r, '_')) return no_type;
    struct type element = read_type(r);
    snprintf(text, sizeof text, " __vector(%zu)", n);
    return rt_named_type(rt_glue(r, element.left, text, ""));
}

/* All that makes a type out of something else, or names one; each is a substitution of its own. */
static struct type composed_type(struct reader *r, bool *from_table)
{
    struct type base;
    *from_table = false;
    switch (peek(r)) {
    case 'r':
    case 'V':
    case 'K': return qualified_type(r);
    case 'P':
    case 'R':
    case 'O': {
        const char *mark = *r->at == 'P' ? "*" : *r->at == 'R' ? "&" : "&&";
        r->at++;
        base = read_type(r);
        return declarator(r, &base, mark);
    }
    case 'F': return function_type(r);
    case 'A': return array_type(r);
    case 'M': return pointer_to_member(r);
    case 'T': {
        struct type t = template_param(r);
        if (peek(r) != 'I') return t;
        rt_substitute(r, &t);
        return rt_named_type(rt_glue(r, t.left, read_args(r, false), ""));
    }
    case 'u': return r->at++, rt_named_type(read_source_name(r));
    case 'D':
        if (accept2(r, "Dv")) return vector_type(r);
        if (accept2(r, "Dp")) return read_type(r);
        return refuse(r), no_type;
    default: return read_name(r, false, from_table);
    }
}

static struct type read_type(struct reader *r)
{
    struct type t = no_type;
    bool from_table;
    if (++r->depth > MAX_DEPTH) {
        refuse(r);
    } else if (!builtin_type(r, &t) && !d_type(r, &t)) {
        t = composed_type(r, &from_table);
        if (!from_table) rt_substitute(r, &t);
    }
    r->depth--;
    return t;
}

/* ---- the whole name ---- */

static bool add_param(struct rt_signature *s, const struct type *t)
{
    struct rt_param *more = rt_realloc(s->params, (s->count + 1) * sizeof *more);
    if (!more) return false;
    s->params = more;
    size_t nl = strlen(t->left), nr = strlen(t->right);
    char *text = rt_alloc(nl + nr + 1);
    if (!text) return false;
    memcpy(text, t->left, nl);
    memcpy(text + nl, t->right, nr + 1);
    s->params[s->count++] =
        (struct rt_param){.kind = t->kind, .type = text, .dtype = t->dtype, .is_const = t->target_const};
    return true;
}

static bool read_params(struct reader *r, struct rt_signature *s)
{
    while (peek(r) && peek(r) != '.') { /* .suffix: a clone */
        struct type t = read_type(r);
        if (r->failed) return false;
        if (t.is_void) continue;
        if (!t.pack) {
            if (!add_param(s, &t)) return r->no_memory = true, refuse(r);
            continue;
        }
        for (int i = 0; i < t.pack_count; i++) {
            if (!add_param(s, &r->pack_items[t.pack - 1 + i])) return r->no_memory = true, refuse(r);
        }
    }
    return true;
}

void rt_signature_clear(struct rt_signature *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->params[i].type);
        free(s->params[i].name);
    }
    free(s->params);
    free(s->name);
    *s = (struct rt_signature){0};
}

enum rt_status rt_signature_read(const char *mangled, struct rt_signature *out, struct rt_error *e)
{
    *out = (struct rt_signature){0};
    if (strncmp(mangled, "_Z", 2) != 0) {
        out->name = rt_strdup(mangled);
        return out->name ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory");
    }
    struct reader *r = rt_calloc(1, sizeof *r);
    if (!r) return rt_fail(e, RT_NOMEM, "out of memory");
    r->at = mangled + 2;
    r->end = mangled + strlen(mangled);
    bool from_table;
    struct type name = read_name(r, true, &from_table);
    if (r->has_args && !r->failed) (void)read_type(r); /* templates say what they return */
    if (!r->failed && read_params(r, out)) {
        out->typed = true;
        out->name = rt_strdup(name.left);
        if (!out->name) r->no_memory = true;
    }
    bool no_memory = r->no_memory, ok = out->name != NULL;
    for (struct block *b = r->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(r);
    if (ok) return RT_OK;
    rt_signature_clear(out);
    if (no_memory) return rt_fail(e, RT_NOMEM, "out of memory");
    return rt_fail(e, RT_INVALID, "cannot read the mangled name '%.200s'", mangled);
}
