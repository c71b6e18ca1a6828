/* What a report is about: the array or variable with its index, a block that malloc gave, an element of a texture. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/module.h"
#include "runtime/report_inside.h"

#define NEAR ((uint64_t)1 << 20) /* bytes; an array further away than this was hardly meant */

/* Behind a number in a symbol that is not the length of a name: of an array (A64_), of a type that was there before
 * (S1_, T0_), or a template's value (Li5E). NULL when there is none at p. */
static const char *behind_number(const char *p)
{
    const char *q = p + 1;
    if (*p == 'A' || *p == 'S' || *p == 'T') {
        while (isdigit((unsigned char)*q) || isupper((unsigned char)*q)) q++;
        return *q == '_' ? q + 1 : NULL;
    }
    if (*p != 'L' || !islower((unsigned char)*q++)) return NULL;
    q += *q == 'n';
    while (isdigit((unsigned char)*q)) q++;
    return *q == 'E' ? q + 1 : NULL;
}

/* Compilers make several variables of an array or structure all of whose indices they know: "s_$_0", "s_$_2_$_1". */
#define PIECE "_$_"

void rt_variable_name(const char *symbol, char *out, size_t size)
{
    snprintf(out, size, "%s", symbol);
    if (strncmp(symbol, "_Z", 2) != 0) return;
    const char *end = symbol + strlen(symbol), *next;
    const char *suffix = strstr(symbol, PIECE); /* "s_0" is the second s of its function */
    if (!suffix) suffix = strrchr(symbol, '_');
    for (const char *p = symbol + 2; *p; p = next) {
        if (*p < '1' || *p > '9') {
            next = behind_number(p);
            if (!next) next = p + 1;
            continue;
        }
        char *name;
        long length = strtol(p, &name, 10);
        next = length <= end - name ? name + length : name; /* the digits of names are no lengths */
        if (next == name) continue;
        if (next == end || (next + 1 == end && *next == 'E') || (suffix > symbol + 1 && next == suffix)) {
            snprintf(out, size, "%.*s", (int)length, name);
            return;
        }
    }
}

static void set_index(struct rt_report *out, uint64_t address, uint64_t start, uint64_t bytes, unsigned element)
{
    int64_t offset = (int64_t)(address - start);
    out->has_index = true;
    out->index = offset >= 0 ? offset / element : -((-offset + element - 1) / element);
    out->length = (int64_t)(bytes / element);
}

/* Where what is wrong begins: of an access across an end it is what lies behind that. */
static uint64_t wrong_address(const struct simt_report *r, uint64_t start, uint64_t bytes)
{
    bool across = r->kind == CHECK_BOUNDS && !r->in_view && r->address >= start && r->address - start < bytes &&
                  r->size > bytes - (r->address - start);
    return across ? start + bytes : r->address;
}

/* The axes that the source declares, if they make up the variable; the first may follow from the others, as in
 * extern __shared__ float t[][16]. */
static void set_axes(const struct rt_source_layout *l, struct rt_report *out)
{
    uint64_t inner = 1;
    if (l->ndim < 2 || out->length <= 0) return;
    for (int d = 1; d < l->ndim; d++) {
        if (!l->shape[d] || l->shape[d] > (uint64_t)out->length) return;
        inner *= l->shape[d];
        out->shape[d] = (int64_t)l->shape[d];
    }
    uint64_t first = (uint64_t)out->length / inner;
    if (inner > (uint64_t)out->length || (uint64_t)out->length % inner || (l->shape[0] && l->shape[0] != first)) return;
    out->shape[0] = (int64_t)first;
    out->ndim = l->ndim;
}

/* Elements are what the source declares, or what was accessed. */
static void set_place(const struct rt_scene *x, const struct simt_report *r, uint64_t address, struct rt_report *out)
{
    const char *text = rt_report_text_of(x, &r->first);
    struct rt_source_layout l = {0};
    if (text) l = rt_source_layout(text, strlen(text), out->name);
    set_index(out, address, r->start, r->bytes, l.bytes ? l.bytes : r->size);
    set_axes(&l, out);
}

/* The number of a piece is an index, or a member's: an index where the source, as far as it is known, has one. */
static void set_piece(const char *numbers, struct rt_report *out)
{
    char *end, indexed[sizeof out->name + 1];
    long n = strtol(numbers, &end, 10);
    snprintf(indexed, sizeof indexed, "%s[", out->name);
    if (*end || !strstr(out->first.source, indexed)) return;
    out->has_index = true;
    out->index = n;
}

static void name_argument(const struct rt_entry *entry, size_t i, struct rt_report *out)
{
    if (entry->params[i].name)
        snprintf(out->name, sizeof out->name, "%s", entry->params[i].name);
    else
        snprintf(out->name, sizeof out->name, "argument %zu", i + 1);
}

/* Bytes of what the parameter points to, as the kernel indexes it: 16 for a float4 over an array of float32. */
static unsigned element_bytes(const struct rt_param *p, const struct rt_place *a, unsigned access)
{
    char type[64];
    int lanes;
    size_t n = p->type ? strcspn(p->type, "*") : 0;
    while (n > 0 && p->type[n - 1] == ' ') n--;
    bool known = a->dtype != RT_DTYPE_COUNT;
    unsigned bytes = known                        ? (unsigned)rt_dtypes[a->dtype].size
                     : p->dtype != RT_DTYPE_COUNT ? (unsigned)rt_dtypes[p->dtype].size
                                                  : access;
    if (n == 0 || n >= sizeof type || p->dtype != RT_DTYPE_COUNT) return bytes;
    snprintf(type, sizeof type, "%.*s", (int)n, p->type);
    enum rt_dtype t = rt_type_dtype(type, &lanes);
    if (t == RT_DTYPE_COUNT || (known && t != a->dtype)) return bytes;
    return (unsigned)rt_dtypes[t].size * (unsigned)lanes;
}

/* The array that an address is of, or lies near: the one that was passed for the report's parameter, when that is
 * known; false when there is none. */
static bool name_array(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out)
{
    const struct rt_entry *entry = x->entry;
    uint64_t nearest = NEAR, address = r->address;
    int parameter = r->parameter;
    bool known =
        parameter > 0 && (size_t)parameter <= entry->param_count && x->places[parameter - 1].kind == RT_PLACE_MEMORY;
    for (size_t i = 0; i < entry->param_count; i++) {
        const struct rt_place *a = &x->places[i];
        if (a->kind != RT_PLACE_MEMORY || (known && i + 1 != (size_t)parameter)) continue;
        uint64_t start = a->address, end = start + a->bytes;
        uint64_t distance = address >= end ? address - end : address < start ? start - address : 0;
        if (!start || (distance >= nearest && !known)) continue;
        nearest = known ? 0 : distance;
        name_argument(entry, i, out);
        set_index(out, wrong_address(r, start, a->bytes), start, a->bytes,
                  element_bytes(&entry->params[i], a, r->size));
    }
    return nearest < NEAR;
}

/* nil was passed for the pointer, when there is only one of them. */
static bool name_null(const struct rt_scene *x, uint64_t address, struct rt_report *out)
{
    const struct rt_entry *entry = x->entry;
    size_t found = entry->param_count;
    for (size_t i = 0; i < entry->param_count; i++) {
        if (entry->params[i].kind != RT_PARAM_POINTER || x->places[i].kind != RT_PLACE_NULL) continue;
        if (found < entry->param_count) return false;
        found = i;
    }
    if (found == entry->param_count) return false;
    enum rt_dtype t = entry->params[found].dtype;
    name_argument(entry, found, out);
    set_index(out, address, 0, 0, t == RT_DTYPE_COUNT ? 1 : (unsigned)rt_dtypes[t].size);
    return true;
}

bool rt_is_null(const struct simt_report *r)
{
    return r->space == PTX_GLOBAL && r->address < 65536;
}

void rt_name_place(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out)
{
    if (r->kind == CHECK_FREED || r->in_heap) return;
    if (r->axes) {
        if (r->parameter > 0 && (size_t)r->parameter <= x->entry->param_count)
            name_argument(x->entry, (size_t)r->parameter - 1, out);
        return;
    }
    if (r->symbol) {
        rt_variable_name(r->symbol, out->name, sizeof out->name);
        const char *piece = strstr(r->symbol, PIECE);
        if (piece) {
            set_piece(piece + strlen(PIECE), out);
            return;
        }
        uint64_t address = wrong_address(r, r->start, r->bytes);
        if (r->space == PTX_SHARED && address >> 31 == 1) address -= UINT64_C(1) << 32; /* before the start */
        set_place(x, r, address, out);
    } else if (rt_is_null(r)) {
        name_null(x, r->address, out);
    } else if (r->space == PTX_GLOBAL) {
        name_array(x, r, out);
    }
}

bool rt_frees(const struct rt_party *p)
{
    return p->access && !strcmp(p->access, "free");
}

void rt_describe_block(const struct simt_report *r, const struct rt_report *out, char *text, size_t size)
{
    char line[40] = "";
    if (out->given.line > 0) snprintf(line, sizeof line, " in line %d", out->given.line);
    snprintf(text, size, "a block of %llu bytes that malloc gave%s", (unsigned long long)r->bytes, line);
}

/* "bytes 4 to 7 of a block ...", of which free takes all. */
static void describe_bytes(const struct simt_report *r, const struct rt_report *out, char *text, size_t size)
{
    uint64_t first = r->address - r->start;
    char block[100];
    rt_describe_block(r, out, block, sizeof block);
    if (rt_frees(&out->first) || (r->kind == CHECK_RACE && rt_frees(&out->other)))
        snprintf(text, size, "%s", block);
    else if (r->size == 1)
        snprintf(text, size, "byte %llu of %s", (unsigned long long)first, block);
    else
        snprintf(text, size, "bytes %llu to %llu of %s", (unsigned long long)first,
                 (unsigned long long)(first + r->size - 1), block);
}

/* "element (3, 1) of s" */
static void describe_element(const struct simt_report *r, const struct rt_report *out, char *text, size_t size)
{
    const char *of = *out->name ? out->name : r->surface ? "a surface" : "a texture";
    const unsigned *e = r->element;
    if (r->axes == 1)
        snprintf(text, size, "element %u of %s", e[0], of);
    else if (r->axes == 2)
        snprintf(text, size, "element (%u, %u) of %s", e[0], e[1], of);
    else
        snprintf(text, size, "element (%u, %u, %u) of %s", e[0], e[1], e[2], of);
}

void rt_describe_index(const struct rt_report *out, int64_t index, char *text, size_t size)
{
    int64_t at[RT_SOURCE_AXES] = {index};
    for (int d = out->ndim - 1; d > 0; d--) { /* beyond the ends it is the first axis that is left */
        at[d] = (at[0] % out->shape[d] + out->shape[d]) % out->shape[d];
        at[0] = (at[0] - at[d]) / out->shape[d];
    }
    int n = snprintf(text, size, "%s[%lld]", out->name, (long long)at[0]);
    for (int d = 1; d < out->ndim && n < (int)size; d++)
        n += snprintf(text + n, size - (size_t)n, "[%lld]", (long long)at[d]);
}

void rt_describe_length(const struct rt_report *out, char *text, size_t size)
{
    int n = snprintf(text, size, "%lld", (long long)(out->ndim ? out->shape[0] : out->length));
    for (int d = 1; d < out->ndim && n < (int)size; d++)
        n += snprintf(text + n, size - (size_t)n, " x %lld", (long long)out->shape[d]);
}

void rt_describe_place(const struct simt_report *r, const struct rt_report *out, char *text, size_t size)
{
    if (r->axes)
        describe_element(r, out, text, size);
    else if (out->has_index)
        rt_describe_index(out, out->index, text, size);
    else if (*out->name && r->symbol)
        snprintf(text, size, "a part of %s", out->name);
    else if (r->in_heap && r->bytes && r->address - r->start < r->bytes)
        describe_bytes(r, out, text, size);
    else
        snprintf(text, size, "%u bytes at %s0x%llx", r->size,
                 r->space == PTX_SHARED  ? "shared "
                 : r->space == PTX_LOCAL ? "local "
                                         : "",
                 (unsigned long long)r->address);
}
