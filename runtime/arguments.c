/* The arguments of a launch, each against what the compiled signature says of its parameter. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/module.h"
#include "runtime/signature.h"
#include "runtime/uses.h"

/* ---- messages ---- */

/* "saxpy: parameter 3 'x' (const float *) " in front of what is wrong. */
static enum rt_status refuse(const struct rt_kernel *k, size_t i, struct rt_error *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum rt_status refuse(const struct rt_kernel *k, size_t i, struct rt_error *e, const char *format, ...)
{
    const struct rt_param *p = &k->entry->params[i];
    va_list args;
    va_start(args, format);
    rt_failv(e, RT_INVALID, format, args);
    va_end(args);
    if (p->name)
        rt_error_prefix(e, "%s: parameter %zu '%s' (%s) ", k->entry->name, i + 1, p->name, p->type);
    else
        rt_error_prefix(e, "%s: parameter %zu (%s) ", k->entry->name, i + 1, p->type);
    return RT_INVALID;
}

static const char *name_or(const struct rt_param *p, const char *other)
{
    return p->name ? p->name : other;
}

/* "a float32", "an int32". */
static const char *article(enum rt_dtype t)
{
    return *rt_dtypes[t].name == 'i' ? "an" : "a";
}

/* "a float64 array", "2.5", "nil": what came. */
static const char *what_came(const struct rt_arg *a, char *buffer, size_t size)
{
    switch (a->kind) {
    case RT_ARG_ARRAY:
        snprintf(buffer, size, "%s %s array", article(a->as.array->dtype), rt_dtypes[a->as.array->dtype].name);
        break;
    case RT_ARG_INT: snprintf(buffer, size, "%lld", (long long)a->as.i); break;
    case RT_ARG_FLOAT: snprintf(buffer, size, "%.14g", a->as.f); break;
    case RT_ARG_BOOL: snprintf(buffer, size, "%s", a->as.b ? "true" : "false"); break;
    case RT_ARG_NULL: snprintf(buffer, size, "%s", a->what ? a->what : "nil"); break;
    case RT_ARG_COMPLEX: snprintf(buffer, size, "%.14g%+.14gi", a->as.z.re, a->as.z.im); break;
    case RT_ARG_LANES: snprintf(buffer, size, "a table"); break;
    case RT_ARG_TEXTURE: snprintf(buffer, size, a->as.texture->surface ? "a surface" : "a texture"); break;
    case RT_ARG_TENSOR: snprintf(buffer, size, "a tensor map"); break;
    case RT_ARG_BYTES:
        if (a->what)
            snprintf(buffer, size, "%s", a->what);
        else
            snprintf(buffer, size, "a string of %zu byte%s", a->as.bytes.size, a->as.bytes.size == 1 ? "" : "s");
        break;
    }
    return buffer;
}

/* ---- arrays ---- */

/* char is a type of its own in C; it takes bytes of both signs. */
static bool is_plain_char(const struct rt_param *p)
{
    const char *s = p->type;
    if (strncmp(s, "const ", 6) == 0) s += 6;
    if (strncmp(s, "volatile ", 9) == 0) s += 9;
    return strncmp(s, "char", 4) == 0 && (s[4] == ' ' || s[4] == 0);
}

static bool dtype_fits(const struct rt_param *p, enum rt_dtype t)
{
    if (p->dtype == RT_DTYPE_COUNT || p->dtype == t) return true;
    if (rt_is_complex(p->dtype)) return t == rt_real_of(p->dtype); /* float2 is a pair of any floats */
    return t == RT_UINT8 && p->dtype == RT_INT8 && is_plain_char(p);
}

/* What float4 and the like are made of, where a parameter points to such vectors and the array has no such elements;
 * vectors of integers are views of any. */
static enum rt_dtype wanted_lanes(const struct rt_param *p, enum rt_dtype t)
{
    char type[64];
    int lanes;
    size_t n = strcspn(p->type, "*");
    if (p->dtype != RT_DTYPE_COUNT || n >= sizeof type || p->type[n] == '\0' || p->type[n + 1] == '*') return t;
    while (n > 0 && p->type[n - 1] == ' ') n--;
    memcpy(type, p->type, n);
    type[n] = '\0';
    enum rt_dtype want = rt_type_dtype(type, &lanes);
    return want != RT_DTYPE_COUNT && lanes > 1 && rt_dtypes[want].kind == 'f' ? want : t;
}

/* "const float *" or "float const *": what the pointer leads to is not written. */
static bool is_read_only(const struct rt_param *p)
{
    const char *star = strrchr(p->type, '*'), *constant = strstr(p->type, "const");
    return star && constant && constant < star && strchr(p->type, '*') == star;
}

/* "float **", for which an array has addresses. */
static bool leads_to_pointers(const struct rt_param *p)
{
    const char *star = strchr(p->type, '*');
    return star && strchr(star + 1, '*');
}

static enum rt_status touch(const struct rt_kernel *k, const struct rt_param *p, const struct rt_array *a,
                            struct rt_error *e)
{
    return rt_touch_as(a, !is_read_only(p), k->entry->name, p->name, e);
}

static enum rt_status check_array(const struct rt_kernel *k, size_t i, const struct rt_array *a, struct rt_error *e)
{
    const struct rt_param *p = &k->entry->params[i];
    const struct rt_device *here = k->module->device, *there = rt_array_device(a);
    const char *x = name_or(p, "x");
    enum rt_dtype lanes = wanted_lanes(p, a->dtype);
    if (leads_to_pointers(p) && a->dtype != RT_INT64 && a->dtype != RT_UINT64)
        return refuse(
            k, i, e,
            "expects addresses, as an int64 array, got %s; an array of any shape is one pointer, T *%s, and its "
            "element in row r and column c %s[r * columns + c]",
            rt_dtypes[a->dtype].name, x, x);
    if (!dtype_fits(p, a->dtype) || lanes != a->dtype) {
        enum rt_dtype wanted = p->dtype == RT_DTYPE_COUNT ? lanes : p->dtype;
        const char *want = rt_dtypes[wanted].name;
        return refuse(k, i, e, "expects %s %s array, got %s; convert it with %s:to(\"%s\")", article(wanted), want,
                      rt_dtypes[a->dtype].name, x, want);
    }
    if (there != here)
        return refuse(k, i, e, "got an array on %s, but the kernel runs on %s; move it with %s:to(\"%s\")", there->name,
                      here->name, x, here->name);
    if (!rt_array_contiguous(a))
        return refuse(k, i, e,
                      "got a strided or broadcast view, whose elements do not follow each other; pass %s:contiguous()",
                      x);
    enum rt_status status = rt_array_there(a, e);
    return status == RT_OK && rt_has_streams() ? touch(k, p, a, e) : status;
}

static enum rt_status set_pointer(const struct rt_kernel *k, size_t i, const struct rt_arg *a, unsigned char *to,
                                  struct rt_error *e)
{
    char came[64];
    uint64_t address = 0;
    if (a->kind == RT_ARG_ARRAY) {
        enum rt_status status = check_array(k, i, a->as.array, e);
        if (status != RT_OK) return status;
        address = rt_array_address(a->as.array);
    } else if (a->kind != RT_ARG_NULL || a->what) {
        const struct rt_param *p = &k->entry->params[i];
        if (p->dtype == RT_DTYPE_COUNT)
            return refuse(k, i, e, "expects an array, got %s", what_came(a, came, sizeof came));
        return refuse(k, i, e, "expects %s %s array, got %s", article(p->dtype), rt_dtypes[p->dtype].name,
                      what_came(a, came, sizeof came));
    }
    memcpy(to, &address, sizeof address);
    return RT_OK;
}

/* ---- numbers ---- */

/* The smallest and largest value of an integer type; unsigned 64-bit ones take negative Lua integers as their bits. */
static void integer_range(enum rt_dtype t, int64_t *low, int64_t *high)
{
    int bits = rt_dtypes[t].size * 8;
    if (rt_dtypes[t].kind == 'u') {
        *low = bits == 64 ? INT64_MIN : 0;
        *high = bits == 64 ? INT64_MAX : (int64_t)((UINT64_C(1) << bits) - 1);
    } else {
        *high = (int64_t)(UINT64_MAX >> (65 - bits));
        *low = -*high - 1;
    }
}

static enum rt_status set_integer(const struct rt_kernel *k, size_t i, enum rt_dtype t, const struct rt_arg *a,
                                  unsigned char *to, struct rt_error *e)
{
    int64_t value = a->as.i, low, high;
    integer_range(t, &low, &high);
    if (a->kind == RT_ARG_FLOAT) {
        double f = a->as.f;
        if (f != floor(f))
            return refuse(k, i, e, "expects an integer, got %.14g; round it, as in math.floor(%.14g)", f, f);
        if (!(f >= -0x1p63 && f < 0x1p63)) return refuse(k, i, e, "expects an integer, got %.14g", f);
        value = (int64_t)f;
    }
    if (value < low || value > high)
        return refuse(k, i, e, "takes %lld to %lld, got %lld", (long long)low, (long long)high, (long long)value);
    rt_store_int(t, to, value);
    return RT_OK;
}

static enum rt_status set_float(const struct rt_kernel *k, size_t i, enum rt_dtype t, const struct rt_arg *a,
                                unsigned char *to, struct rt_error *e)
{
    double value = a->kind == RT_ARG_INT ? (double)a->as.i : a->as.f;
    rt_store_double(t, to, value);
    if (isfinite(value) && !isfinite(rt_load_double(t, to)))
        return refuse(k, i, e, "got %.14g, which is over the largest %s", value, rt_dtypes[t].name);
    return RT_OK;
}

static enum rt_status set_value(const struct rt_kernel *k, size_t i, const struct rt_arg *a, unsigned char *to,
                                struct rt_error *e)
{
    char came[64];
    enum rt_dtype t = k->entry->params[i].dtype;
    bool number = a->kind == RT_ARG_INT || a->kind == RT_ARG_FLOAT;
    char kind = rt_dtypes[t].kind;
    if (kind == 'b' && (a->kind == RT_ARG_BOOL || (a->kind == RT_ARG_INT && (a->as.i == 0 || a->as.i == 1)))) {
        *to = a->kind == RT_ARG_BOOL ? a->as.b : a->as.i != 0;
        return RT_OK;
    }
    if (number && kind == 'f') return set_float(k, i, t, a, to, e);
    if (number && kind != 'b') return set_integer(k, i, t, a, to, e);
    what_came(a, came, sizeof came);
    if (a->kind == RT_ARG_ARRAY)
        return refuse(k, i, e, "expects a number, got %s; an element is a number, as in %s[1] or %s:item()", came,
                      name_or(&k->entry->params[i], "x"), name_or(&k->entry->params[i], "x"));
    return refuse(k, i, e, "expects %s, got %s",
                  kind == 'b'   ? "true or false"
                  : kind == 'f' ? "a number"
                                : "an integer",
                  came);
}

/* float3 and the like: `count` elements of the type t. */
static enum rt_status set_lanes(const struct rt_kernel *k, size_t i, enum rt_dtype t, int count, const struct rt_arg *a,
                                unsigned char *to, struct rt_error *e)
{
    static const char *const forms[] = {"{x}", "{x, y}", "{x, y, z}", "{x, y, z, w}"};
    char came[64];
    if (a->kind != RT_ARG_LANES)
        return refuse(k, i, e, "expects %s, got %.*s", forms[count - 1],
                      (int)strcspn(what_came(a, came, sizeof came), ";"), came);
    if (a->as.lanes.count != count)
        return refuse(k, i, e, "expects %s, got a table of %d number%s", forms[count - 1], a->as.lanes.count,
                      a->as.lanes.count == 1 ? "" : "s");
    for (int lane = 0; lane < count; lane++, to += rt_dtypes[t].size) {
        struct rt_arg one = {.kind = a->as.lanes.whole ? RT_ARG_INT : RT_ARG_FLOAT};
        if (a->as.lanes.whole)
            one.as.i = a->as.lanes.of.i[lane];
        else
            one.as.f = a->as.lanes.of.f[lane];
        enum rt_status s =
            rt_dtypes[t].kind == 'f' ? set_float(k, i, t, &one, to, e) : set_integer(k, i, t, &one, to, e);
        if (s != RT_OK) return s;
    }
    return RT_OK;
}

static enum rt_status set_struct(const struct rt_kernel *k, size_t i, const struct rt_arg *a, unsigned char *to,
                                 struct rt_error *e)
{
    char came[64];
    size_t size = k->entry->params[i].size;
    if (a->kind == RT_ARG_COMPLEX && (size == 8 || size == 16)) { /* float2, double2, or a struct of two parts */
        rt_store_complex(size == 8 ? RT_COMPLEX64 : RT_COMPLEX128, to, a->as.z);
        return RT_OK;
    }
    int lanes;
    enum rt_dtype t = rt_type_dtype(k->entry->params[i].type, &lanes);
    if (a->kind != RT_ARG_BYTES && t != RT_DTYPE_COUNT && (size_t)lanes * rt_dtypes[t].size == size)
        return set_lanes(k, i, t, lanes, a, to, e);
    if (a->kind != RT_ARG_BYTES)
        return refuse(
            k, i, e,
            "expects a string with the %zu bytes of the value, as string.pack(\"if\", 1, 2.5) makes them of an "
            "int and a float; got %.*s",
            size, (int)strcspn(what_came(a, came, sizeof came), ";"), came);
    if (a->as.bytes.size != size)
        return refuse(k, i, e, "is %zu bytes long, got a string of %zu; see string.pack", size, a->as.bytes.size);
    memcpy(to, a->as.bytes.data, size);
    return RT_OK;
}

/* ---- textures and surfaces ---- */

static enum rt_status set_texture(const struct rt_kernel *k, size_t i, const struct rt_arg *a, unsigned char *to,
                                  struct rt_error *e)
{
    char came[64];
    bool surface = k->entry->params[i].kind == RT_PARAM_SURFACE;
    const struct rt_device *here = k->module->device;
    if (a->kind != RT_ARG_TEXTURE || a->as.texture->surface != surface)
        return refuse(k, i, e, "expects a %s, as gpu.%s makes them, got %s", surface ? "surface" : "texture",
                      surface ? "surface" : "texture", what_came(a, came, sizeof came));
    if (a->as.texture->device != here)
        return refuse(k, i, e, "got a %s on %s, but the kernel runs on %s", surface ? "surface" : "texture",
                      a->as.texture->device->name, here->name);
    memcpy(to, &a->as.texture->handle, sizeof a->as.texture->handle);
    return rt_texture_alive(a->as.texture, e);
}

static enum rt_status set_tensor_map(const struct rt_kernel *k, size_t i, const struct rt_arg *a, unsigned char *to,
                                     struct rt_error *e)
{
    char came[64];
    const struct rt_device *here = k->module->device;
    if (a->kind == RT_ARG_BYTES && a->as.bytes.size == RT_TENSOR_BYTES) { /* of a graph, or the user's own */
        memcpy(to, a->as.bytes.data, RT_TENSOR_BYTES);
        return RT_OK;
    }
    if (a->kind != RT_ARG_TENSOR)
        return refuse(k, i, e, "expects a tensor map, as gpu.tensormap makes them, got %.*s",
                      (int)strcspn(what_came(a, came, sizeof came), ";"), came);
    const struct rt_array *x = &a->as.tensor->array;
    if (rt_array_device(x) != here)
        return refuse(k, i, e, "got a tensor map of an array on %s, but the kernel runs on %s",
                      rt_array_device(x)->name, here->name);
    memcpy(to, a->as.tensor->bytes, RT_TENSOR_BYTES);
    enum rt_status status = rt_array_there(x, e);
    if (status != RT_OK || !rt_has_streams()) return status;
    return rt_touch_as(x, false, k->entry->name, k->entry->params[i].name, e); /* whether it writes is not known */
}

enum rt_status rt_set_arguments(const struct rt_kernel *k, const struct rt_arg *args, unsigned char *block,
                                void **pointers, struct rt_error *e)
{
    const struct rt_entry *entry = k->entry;
    for (size_t i = 0; i < entry->param_count; i++) {
        const struct rt_param *p = &entry->params[i];
        unsigned char *to = block + p->offset;
        enum rt_status status = p->kind == RT_PARAM_POINTER      ? set_pointer(k, i, &args[i], to, e)
                                : p->kind == RT_PARAM_VALUE      ? set_value(k, i, &args[i], to, e)
                                : p->kind == RT_PARAM_STRUCT     ? set_struct(k, i, &args[i], to, e)
                                : p->kind == RT_PARAM_TENSOR_MAP ? set_tensor_map(k, i, &args[i], to, e)
                                                                 : set_texture(k, i, &args[i], to, e);
        if (status != RT_OK) return status;
        pointers[i] = to;
    }
    return RT_OK;
}
