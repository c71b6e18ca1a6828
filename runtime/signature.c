/* Joins what the PTX, the mangled names and the source tell about kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/signature.h"

#define MAX_PARAM_BYTES 65536 /* more than any driver takes */

struct ptx_entry { /* as its .entry line has it */
    const char *name;
    size_t name_length;
    struct ptx_param {
        size_t size, align, offset;
        bool is_array;
        char letter; /* of the type: u, s, f, b */
    } * params;
    size_t count;
};

static const char *skip_space(const char *s)
{
    while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r') s++;
    return s;
}

static size_t word_length(const char *s)
{
    return strcspn(s, " \t\r\n(),[]{};");
}

/* One .param up to its ',' or ')'. NULL when it reads like nothing known. */
static const char *read_ptx_param(const char *s, struct ptx_param *p)
{
    bool pointer = false;
    *p = (struct ptx_param){0};
    for (s = skip_space(s); *s == '.'; s = skip_space(s)) {
        size_t n = word_length(s);
        if (n == 6 && strncmp(s, ".align", n) == 0) {
            char *end;
            unsigned long align = strtoul(s + n, &end, 10);
            if (!pointer) p->align = align;
            s = end;
            continue;
        }
        if (n == 4 && strncmp(s, ".ptr", n) == 0) pointer = true;
        if (s[1] && strchr("usfb", s[1]) && s[2] >= '0' && s[2] <= '9') {
            p->letter = s[1];
            p->size = strtoul(s + 2, NULL, 10) / 8;
        }
        s += n;
    }
    s += word_length(s); /* its name */
    s = skip_space(s);
    if (!p->align) p->align = p->size;
    while (*s == '[') {
        char *end;
        unsigned long n = strtoul(s + 1, &end, 10);
        if (*end != ']' || n > MAX_PARAM_BYTES || p->size > MAX_PARAM_BYTES) return NULL;
        p->is_array = true;
        p->size *= n;
        s = skip_space(end + 1);
    }
    if (p->size == 0 || p->size > MAX_PARAM_BYTES || p->align == 0 || p->align > MAX_PARAM_BYTES) return NULL;
    return (p->align & (p->align - 1)) == 0 ? s : NULL;
}

/* The entry whose name starts at s. */
static enum rt_status read_ptx_entry(const char *s, struct ptx_entry *out, struct rt_error *e)
{
    size_t offset = 0;
    *out = (struct ptx_entry){.name = s, .name_length = word_length(s)};
    s = skip_space(s + out->name_length);
    if (*s != '(') return RT_OK;
    for (s = skip_space(s + 1); *s && *s != ')'; s = skip_space(s + (*s == ','))) {
        struct ptx_param p, *more;
        s = read_ptx_param(s, &p);
        if (!s || (*s != ',' && *s != ')')) break;
        more = rt_realloc(out->params, (out->count + 1) * sizeof *more);
        if (!more) {
            free(out->params);
            out->params = NULL;
            return rt_fail(e, RT_NOMEM, "out of memory");
        }
        out->params = more;
        p.offset = (offset + p.align - 1) & ~(p.align - 1);
        offset = p.offset + p.size;
        out->params[out->count++] = p;
    }
    return RT_OK;
}

/* ---- names for messages ---- */

/* The name alone of a symbol that can't be read to its end: "ns::f" of "_ZN2ns1fIN". Nothing where there is none. */
static void plain_name(const char *symbol, char *out, size_t size)
{
    const char *s = symbol + 2;
    if (strncmp(symbol, "_Z", 2) != 0) return;
    bool nested = *s == 'N';
    s += nested;
    for (size_t n = 0; *s >= '1' && *s <= '9' && n < size;) {
        char *name;
        size_t length = strtoul(s, &name, 10), left = strlen(name);
        bool anonymous = !strncmp(name, "_GLOBAL__N_", 11), last = !nested || length >= left;
        int shown = (int)(last && length > left ? left : length);
        n += (size_t)snprintf(out + n, size - n, "%s%.*s", n ? "::" : "", anonymous ? 11 : shown,
                              anonymous ? "(anonymous)" : name);
        if (last) return;
        s = name + length;
    }
}

void rt_function_name(const char *symbol, bool parameters, char *out, size_t size)
{
    struct rt_signature s;
    snprintf(out, size, "%s", symbol);
    enum rt_status status = rt_signature_read(symbol, &s, NULL);
    if (status == RT_INVALID) plain_name(symbol, out, size);
    if (status != RT_OK) return;
    size_t n = (size_t)snprintf(out, size, "%s%s", s.name, parameters && s.typed ? "(" : "");
    for (size_t i = 0; parameters && i < s.count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i > 0 ? ", " : "", s.params[i].type);
    if (parameters && s.typed && n < size) snprintf(out + n, size - n, ")");
    rt_signature_clear(&s);
}

/* ---- types from the source's words, for kernels whose names are not mangled ---- */

static const struct {
    const char *name;
    enum rt_dtype dtype;
} type_names[] = {
    {"int8_t", RT_INT8},   {"int16_t", RT_INT16},        {"int32_t", RT_INT32},   {"int64_t", RT_INT64},
    {"uint8_t", RT_UINT8}, {"uint16_t", RT_UINT16},      {"uint32_t", RT_UINT32}, {"uint64_t", RT_UINT64},
    {"size_t", RT_UINT64}, {"ptrdiff_t", RT_INT64},      {"intptr_t", RT_INT64},  {"uintptr_t", RT_UINT64},
    {"float", RT_FLOAT32}, {"double", RT_FLOAT64},       {"bool", RT_BOOL},       {"__half", RT_FLOAT16},
    {"half", RT_FLOAT16},  {"nv_bfloat16", RT_BFLOAT16}, {"short", RT_INT16},     {"__nv_bfloat16", RT_BFLOAT16}};

struct base_words { /* what stands before the first star */
    bool is_unsigned, is_char, is_short, is_int, is_long, is_void;
    enum rt_dtype named;
};

static void add_base_word(struct base_words *b, const char *s, size_t n)
{
#define WORD(text) (n == strlen(text) && memcmp(s, text, n) == 0)
    b->is_unsigned |= WORD("unsigned");
    b->is_char |= WORD("char");
    b->is_short |= WORD("short");
    b->is_int |= WORD("int") || WORD("signed") || WORD("unsigned");
    b->is_long |= WORD("long");
    b->is_void |= WORD("void");
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
        if (WORD(type_names[i].name)) b->named = type_names[i].dtype;
    }
#undef WORD
}

static enum rt_dtype base_dtype(const struct base_words *b)
{
    if (b->is_char) return b->is_unsigned ? RT_UINT8 : RT_INT8;
    if (b->is_short) return b->is_unsigned ? RT_UINT16 : RT_INT16;
    if (b->is_long && b->named != RT_FLOAT64) return b->is_unsigned ? RT_UINT64 : RT_INT64;
    if (b->named != RT_DTYPE_COUNT) return b->named;
    if (b->is_int) return b->is_unsigned ? RT_UINT32 : RT_INT32;
    return RT_DTYPE_COUNT;
}

static void type_from_words(const char *text, struct rt_param *p)
{
    struct base_words base = {.named = RT_DTYPE_COUNT};
    int stars = 0;
    for (const char *s = text; *s;) {
        if (*s == '*') stars++;
        size_t n = strcspn(s, " *&");
        if (n && stars == 0) {
            add_base_word(&base, s, n);
            if (n == 5 && memcmp(s, "const", 5) == 0) p->is_const = true;
        }
        s += n ? n : 1;
    }
    p->kind = stars ? RT_PARAM_POINTER : RT_PARAM_VALUE;
    p->dtype = stars < 2 ? base_dtype(&base) : RT_DTYPE_COUNT;
    if (!stars) p->is_const = false;
}

enum rt_dtype rt_type_dtype(const char *type, int *lanes)
{
    static const char *const vectors[] = {"char", "short", "int", "long", "longlong", "float", "double"};
    static const enum rt_dtype dtypes[] = {RT_INT8, RT_INT16, RT_INT32, RT_INT64, RT_INT64, RT_FLOAT32, RT_FLOAT64};
    struct rt_param p = {.dtype = RT_DTYPE_COUNT};
    type_from_words(type, &p);
    *lanes = 1;
    if (p.kind == RT_PARAM_POINTER) return RT_DTYPE_COUNT;
    if (p.dtype != RT_DTYPE_COUNT) return p.dtype;
    size_t n = strlen(type);
    for (const char *s = type + n; s > type && s[-1] != ' ' && s[-1] != ':'; s--) n = (size_t)(s - 1 - type);
    const char *word = type + n;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        bool is_unsigned = *word == 'u' && i < 5;
        size_t length = strlen(vectors[i]);
        const char *digit = word + is_unsigned + length;
        if (strncmp(word + is_unsigned, vectors[i], length) != 0 || *digit < '1' || *digit > '4' || digit[1]) continue;
        *lanes = *digit - '0';
        return is_unsigned ? dtypes[i] - RT_INT8 + RT_UINT8 : dtypes[i];
    }
    return RT_DTYPE_COUNT;
}

/* What the PTX says has the last word: sizes, and whether a value is a scalar. */
static void type_from_ptx(const struct ptx_param *ptx, struct rt_param *p)
{
    static const enum rt_dtype integers[] = {[1] = RT_INT8, [2] = RT_INT16, [4] = RT_INT32, [8] = RT_INT64};
    p->size = ptx->size;
    p->offset = ptx->offset;
    if (p->kind == RT_PARAM_POINTER && ptx->size == 8 && !ptx->is_array) return;
    if (p->kind == RT_PARAM_VALUE && p->dtype != RT_DTYPE_COUNT && rt_dtypes[p->dtype].size == ptx->size) return;
    p->kind = RT_PARAM_STRUCT;
    p->dtype = RT_DTYPE_COUNT;
    if (ptx->is_array || ptx->size > 8 || !integers[ptx->size]) return;
    p->kind = RT_PARAM_VALUE; /* an enum or a typedef of the user's */
    p->dtype = integers[ptx->size];
    if (ptx->letter == 'f') p->dtype = ptx->size == 4 ? RT_FLOAT32 : RT_FLOAT64;
}

/* ---- joining ---- */

/* "scale" of "ns::scale<float>". */
static const char *base_name(const char *name, size_t *length)
{
    size_t end = strcspn(name, "<"), start = end;
    while (start > 0 && name[start - 1] != ':') start--;
    *length = end - start;
    return name + start;
}

static bool same_type(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == ' ') a++;
        while (*b == ' ') b++;
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

/* The kernel of the source that an entry came from: same name and number of parameters, and of several overloads the
 * one with the most types alike. */
static const struct rt_source_kernel *match(const struct rt_signature *s, size_t params,
                                            const struct rt_source_kernel *kernels, size_t count)
{
    const struct rt_source_kernel *best = NULL;
    size_t length, best_score = 0;
    const char *name = base_name(s->name, &length);
    for (size_t i = 0; i < count; i++) {
        const struct rt_source_kernel *k = &kernels[i];
        if (strlen(k->name) != length || memcmp(k->name, name, length) != 0 || k->count != params) continue;
        size_t score = 1;
        for (size_t p = 0; s->typed && p < params; p++) score += same_type(k->params[p].type, s->params[p].type);
        if (score > best_score) {
            best_score = score;
            best = k;
        }
    }
    return best;
}

/* A texture's or surface's handle, which is an integer but for its name in the source. */
static bool is_handle(const struct rt_source_param *source, const char *name, const char *other)
{
    return source && (strstr(source->type, name) || strstr(source->type, other)) && !strpbrk(source->type, "*&");
}

static bool join_param(const struct ptx_param *ptx, const struct rt_param *typed, const struct rt_source_param *source,
                       struct rt_param *out)
{
    *out = (struct rt_param){.kind = RT_PARAM_STRUCT, .dtype = RT_DTYPE_COUNT};
    const char *type = typed ? typed->type : source ? source->type : ptx->size == 8 ? "void *" : "unknown";
    if (typed) {
        out->kind = typed->kind;
        out->dtype = typed->dtype;
        out->is_const = typed->is_const;
    } else {
        type_from_words(type, out);
    }
    type_from_ptx(ptx, out);
    if (out->kind == RT_PARAM_VALUE && ptx->size == 8) {
        bool texture = is_handle(source, "cudaTextureObject_t", "CUtexObject");
        if (texture || is_handle(source, "cudaSurfaceObject_t", "CUsurfObject")) {
            out->kind = texture ? RT_PARAM_TEXTURE : RT_PARAM_SURFACE;
            out->dtype = RT_DTYPE_COUNT;
            type = source->type;
        }
    }
    if (out->kind == RT_PARAM_STRUCT && ptx->size == RT_TENSOR_BYTES && strstr(type, "CUtensorMap")) {
        out->kind = RT_PARAM_TENSOR_MAP;
        type = "CUtensorMap"; /* which is a typedef */
    }
    out->type = rt_strdup(type);
    if (source && source->name) out->name = rt_strdup(source->name);
    return out->type && (!source || !source->name || out->name);
}

static void clear_entry(struct rt_entry *entry)
{
    for (size_t i = 0; i < entry->param_count; i++) {
        free(entry->params[i].name);
        free(entry->params[i].type);
    }
    free(entry->params);
    free(entry->mangled);
    free(entry->name);
}

void rt_entries_free(struct rt_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) clear_entry(&entries[i]);
    free(entries);
}

struct sources {
    struct rt_source_kernel *kernels;
    size_t count;
    const struct rt_lowered *lowered;
    size_t lowered_count;
};

static enum rt_status join_entry(const struct ptx_entry *ptx, const struct sources *from, struct rt_entry *out,
                                 struct rt_error *e)
{
    struct rt_signature s = {0};
    *out = (struct rt_entry){0};
    out->mangled = rt_copy_bytes(ptx->name, ptx->name_length);
    if (!out->mangled) return rt_fail(e, RT_NOMEM, "out of memory");
    enum rt_status status = rt_signature_read(out->mangled, &s, NULL);
    if (status == RT_INVALID) { /* a name beyond the reader: the kernel can still be launched */
        s.name = rt_strdup(out->mangled);
        status = s.name ? RT_OK : RT_NOMEM;
    }
    if (status != RT_OK) return rt_fail(e, RT_NOMEM, "out of memory");
    if (s.count != ptx->count) s.typed = false;
    const struct rt_source_kernel *k = match(&s, ptx->count, from->kernels, from->count);
    const char *name = s.name;
    for (size_t i = 0; i < from->lowered_count; i++) {
        if (strcmp(from->lowered[i].mangled, out->mangled) == 0) name = from->lowered[i].expression;
    }
    out->name = rt_strdup(name);
    out->params = rt_calloc(ptx->count ? ptx->count : 1, sizeof *out->params);
    bool ok = out->name && out->params;
    for (size_t i = 0; ok && i < ptx->count; i++) {
        ok = join_param(&ptx->params[i], s.typed ? &s.params[i] : NULL, k ? &k->params[i] : NULL, &out->params[i]);
        out->param_count = i + 1;
    }
    rt_signature_clear(&s);
    return ok ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory");
}

static enum rt_status add_entry(struct rt_program *program, const char *at, const struct sources *from,
                                struct rt_error *e)
{
    struct ptx_entry ptx;
    struct rt_entry *more = rt_realloc(program->entries, (program->entry_count + 1) * sizeof *more);
    if (!more) return rt_fail(e, RT_NOMEM, "out of memory");
    program->entries = more;
    enum rt_status status = read_ptx_entry(at, &ptx, e);
    if (status != RT_OK) return status;
    status = join_entry(&ptx, from, &program->entries[program->entry_count], e);
    program->entry_count++; /* also when half made: the caller frees it with the rest */
    free(ptx.params);
    return status;
}

enum rt_status rt_signatures(struct rt_program *program, const struct rt_lowered *lowered, size_t lowered_count,
                             struct rt_error *e)
{
    struct sources from = {.lowered = lowered, .lowered_count = lowered_count};
    enum rt_status status = rt_source_kernels(program->text, strlen(program->text), &from.kernels, &from.count, e);
    for (const char *s = program->ptx; status == RT_OK && (s = strstr(s, ".entry "));) {
        s = skip_space(s + 7);
        status = add_entry(program, s, &from, e);
    }
    rt_source_kernels_free(from.kernels, from.count);
    if (status != RT_OK) {
        rt_entries_free(program->entries, program->entry_count);
        program->entries = NULL;
        program->entry_count = 0;
    }
    return status;
}
