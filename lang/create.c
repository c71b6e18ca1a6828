/* Making arrays: from Lua values, filled, as sequences. */
#include <math.h>
#include <string.h>
#include "runtime/pinned.h"
#include "lang/array.h"
#include "lang/complex.h"
#include "lang/hint.h"

/* Placement: dtype and device as trailing arguments. */

void lg_check_place(lua_State *L, int idx, struct lg_placement *p)
{
    struct rt_error *e = lg_error_box(L);
    if (lua_type(L, idx) != LUA_TSTRING) {
        if (!luaL_testudata(L, idx, LG_DEVICE))
            lg_raise_expected(L, idx,
                              "expected a dtype such as \"float32\", a device, or a table {dtype = ..., device = ...}");
        p->device = lg_check_device(L, idx);
        return;
    }
    const char *name = lua_tostring(L, idx);
    enum rt_dtype dtype = rt_dtype_find(name);
    if (dtype != RT_DTYPE_COUNT) {
        p->dtype = dtype;
        return;
    }
    p->device = rt_device_open(name, e);
    if (!p->device && e->status == RT_INVALID) {
        rt_error_clear(e);
        const char *meant = lg_dtype_meant(name);
        if (meant) luaL_error(L, "'%s' is neither a dtype nor a device; did you mean \"%s\"?", name, meant);
        luaL_error(L, "'%s' is neither a dtype (such as \"float32\") nor a device (such as \"cpu\")", name);
    }
    if (!p->device) lg_raise(L, e);
}

/* Is the pair at the top, of the table at idx, the field n of table.pack? */
static bool is_length(lua_State *L, int idx)
{
    return lua_type(L, -2) == LUA_TSTRING && !strcmp(lua_tostring(L, -2), "n") && lua_isinteger(L, -1) &&
           lua_tointeger(L, -1) == (lua_Integer)lua_rawlen(L, idx);
}

void lg_placement_fields(lua_State *L, int idx, struct lg_placement *p)
{
    idx = lua_absindex(L, idx);
    lua_pushnil(L);
    if (!lua_next(L, idx)) { /* {dtype = float64} is empty, too */
        lg_check_bare_dtype(L);
        return;
    }
    lua_pop(L, 2);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || is_length(L, idx)) continue;
        const char *key = lua_tostring(L, -2);
        if (!strcmp(key, "dtype"))
            p->dtype = lg_check_dtype(L, -1, p->dtype);
        else if (!strcmp(key, "device"))
            p->device = lg_check_device(L, -1);
        else
            luaL_error(L, "there is no option '%s'; there are dtype and device", key);
    }
}

void lg_check_placement(lua_State *L, int first, struct lg_placement *p)
{
    for (int idx = first; idx <= lua_gettop(L); idx++) {
        if (lua_isnil(L, idx)) {
            lg_check_bare_dtype(L);
            continue;
        }
        if (lua_istable(L, idx) && lua_rawlen(L, idx) == 0)
            lg_placement_fields(L, idx, p);
        else
            lg_check_place(L, idx, p);
    }
    if (!p->device) p->device = lg_check_device(L, lua_gettop(L) + 1);
}

int lg_last_number(lua_State *L, int first, int most)
{
    int last = first - 1;
    for (int i = first; i <= most && (lua_type(L, i) == LUA_TNUMBER || lua_isnil(L, i)); i++)
        if (!lua_isnil(L, i)) last = i;
    return last;
}

/* Shapes. */

static int64_t check_size(lua_State *L, int idx, int axis, bool allow_any)
{
    int is_integer;
    lua_Integer n = lua_tointegerx(L, idx, &is_integer);
    if (!is_integer || lua_type(L, idx) != LUA_TNUMBER)
        luaL_error(L, "the size of axis %d must be an integer, got %s", axis,
                   lua_type(L, idx) == LUA_TNUMBER ? lua_tostring(L, idx) : lg_type_name(L, idx));
    if (n < 0 && !(allow_any && n == -1)) luaL_error(L, "the size of axis %d is negative: %I", axis, (LUAI_UACINT)n);
    return n;
}

int lg_check_shape(lua_State *L, int first, bool allow_any, int64_t *shape, int *next)
{
    int ndim = 0;
    if (lua_istable(L, first)) {
        size_t n = lua_rawlen(L, first);
        if (n > RT_MAX_DIMS) luaL_error(L, "a shape has at most %d axes, got %d", RT_MAX_DIMS, (int)n);
        for (; ndim < (int)n; ndim++) {
            lua_rawgeti(L, first, ndim + 1);
            shape[ndim] = check_size(L, -1, ndim + 1, allow_any);
            lua_pop(L, 1);
        }
        *next = first + 1;
        return ndim;
    }
    int idx = first;
    for (; lua_type(L, idx) == LUA_TNUMBER; idx++, ndim++) {
        if (ndim == RT_MAX_DIMS) luaL_error(L, "a shape has at most %d axes", RT_MAX_DIMS);
        shape[ndim] = check_size(L, idx, ndim + 1, allow_any);
    }
    if (ndim == 0)
        lg_raise_expected(L, first, "expected a shape: sizes as numbers, or one table of them, {} for a scalar");
    *next = idx;
    return ndim;
}

struct rt_array *lg_push_empty(lua_State *L, const struct lg_placement *p, int ndim, const int64_t *shape)
{
    struct rt_array *out = lg_new_array(L);
    enum rt_dtype dtype = p->dtype == RT_DTYPE_COUNT ? RT_FLOAT32 : p->dtype;
    lg_check(L, rt_array_new(p->device, dtype, ndim, shape, out, lg_error_box(L)));
    return out;
}

/* Nested tables. */

#define POLL_EVERY 65536 /* elements between looks at whether the user wants to stop */

struct nest {
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    int64_t at[RT_MAX_DIMS];  /* where the walk is, from 1, for messages */
    bool is_bool, is_complex; /* the first element is a boolean, a complex number */
    enum rt_dtype dtype;
    char *next; /* where the next element goes */
};

static int fail_at(lua_State *L, const struct nest *n, int depth, const char *format, ...)
{
    va_list args;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, depth ? "element " : "the table");
    for (int i = 0; i < depth; i++) {
        lua_pushfstring(L, "[%I]", (LUAI_UACINT)n->at[i]);
        luaL_addvalue(&b);
    }
    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    luaL_addvalue(&b);
    luaL_pushresult(&b);
    return luaL_error(L, "%s", lua_tostring(L, -1));
}

/* The shape, from the first element of each level. */
static void measure(lua_State *L, int idx, struct nest *n)
{
    lua_pushvalue(L, idx);
    while (lua_istable(L, -1)) {
        if (n->ndim == RT_MAX_DIMS) luaL_error(L, "tables are nested more than %d deep", RT_MAX_DIMS);
        n->shape[n->ndim++] = (int64_t)lua_rawlen(L, -1);
        n->at[n->ndim - 1] = 1;
        if (n->shape[n->ndim - 1] == 0) break;
        lua_rawgeti(L, -1, 1);
        lua_remove(L, -2);
    }
    n->is_bool = lua_isboolean(L, -1);
    n->is_complex = lg_test_complex(L, -1);
    lua_pop(L, 1);
}

static void fill_element(lua_State *L, struct nest *n)
{
    int type = lua_type(L, -1);
    if (type == LUA_TTABLE) fail_at(L, n, n->ndim, " is a table, but the elements before it are not");
    bool complex = type == LUA_TUSERDATA && lg_test_complex(L, -1);
    if (complex && !rt_is_complex(n->dtype))
        fail_at(L, n, n->ndim, " is a complex number; name a dtype that holds it, complex64 or complex128");
    if (type == LUA_TUSERDATA && lg_test_array(L, -1))
        fail_at(L, n, n->ndim, " is an array; gpu.stack and gpu.concatenate join arrays");
    if (type != LUA_TNUMBER && type != LUA_TBOOLEAN && !complex)
        fail_at(L, n, n->ndim, " is %s, expected a number or a boolean", lg_type_name(L, -1));
    if ((type == LUA_TBOOLEAN) != n->is_bool)
        fail_at(L, n, n->ndim, " is a %s, but the first element is a %s", lg_type_name(L, -1),
                n->is_bool ? "boolean" : "number");
    lua_Integer low, high;
    if (!lg_scalar_fits(L, -1, n->dtype, &low, &high))
        fail_at(L, n, n->ndim,
                " is %I, and %s holds integers from %I to %I; choose another dtype, or write a float, which is cut to "
                "that range",
                (LUAI_UACINT)lua_tointeger(L, -1), rt_dtypes[n->dtype].name, (LUAI_UACINT)low, (LUAI_UACINT)high);
    lg_store_scalar(L, -1, n->dtype, n->next);
    n->next += rt_dtypes[n->dtype].size;
}

/* Elements of a list up to which all of its keys are looked at; of longer ones those behind the last are. */
#define WALKED 64

/* A key beside 1 to n would be left out: a name is meant to be an option of a function that takes none there. Those of
 * gpu.array stand beside the elements of the whole. */
static void refuse_keys(lua_State *L, int idx, bool whole)
{
    idx = lua_absindex(L, idx);
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
    if (n > WALKED)
        lua_pushinteger(L, n);
    else
        lua_pushnil(L);
    for (; lua_next(L, idx); lua_pop(L, 1)) {
        bool named = lua_type(L, -2) == LUA_TSTRING;
        if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 && lua_tointeger(L, -2) <= n) continue;
        if (is_length(L, idx)) continue;
        if (named && whole && (!strcmp(lua_tostring(L, -2), "dtype") || !strcmp(lua_tostring(L, -2), "device")))
            continue;
        if (named) luaL_error(L, "a list of numbers expected, and this table has the name '%s'", lua_tostring(L, -2));
        luaL_error(L, "a list of %I numbers expected, and this table has the key %s, too; lists begin at 1",
                   (LUAI_UACINT)n, luaL_tolstring(L, -2, NULL));
    }
}

static void fill(lua_State *L, struct nest *n, int depth)
{
    if (depth == n->ndim) {
        fill_element(L, n);
        return;
    }
    if (!lua_istable(L, -1))
        fail_at(L, n, depth, " is %s, expected a table of %I elements like the first one", lg_type_name(L, -1),
                (LUAI_UACINT)n->shape[depth]);
    if ((int64_t)lua_rawlen(L, -1) != n->shape[depth])
        fail_at(L, n, depth, " has %I elements, but the first one has %I", (LUAI_UACINT)lua_rawlen(L, -1),
                (LUAI_UACINT)n->shape[depth]);
    if (depth > 0) refuse_keys(L, -1, false);
    for (int64_t i = 1; i <= n->shape[depth]; i++) {
        if (i % POLL_EVERY == 0 || depth + 1 < n->ndim) lg_poll(L);
        lua_rawgeti(L, -1, i);
        n->at[depth] = i;
        fill(L, n, depth + 1);
        lua_pop(L, 1);
    }
}

struct rt_array *lg_push_from_table(lua_State *L, int idx, enum rt_dtype dtype, struct rt_device *device)
{
    struct nest n = {0};
    idx = lua_absindex(L, idx);
    luaL_checkstack(L, RT_MAX_DIMS + 8, NULL);
    refuse_keys(L, idx, true);
    measure(L, idx, &n);
    n.dtype = dtype != RT_DTYPE_COUNT ? dtype : n.is_bool ? RT_BOOL : n.is_complex ? RT_COMPLEX64 : RT_FLOAT32;
    struct rt_array *out = lg_push_empty(L, &(struct lg_placement){n.dtype, device}, n.ndim, n.shape);
    char *host = lg_array_host(out);
    size_t bytes = (size_t)rt_array_size(out) * rt_dtypes[n.dtype].size;
    char *buffer = host ? host : lua_newuserdatauv(L, bytes + 1, 0);
    n.next = buffer;
    lua_pushvalue(L, idx);
    fill(L, &n, 0);
    lua_pop(L, 1);
    if (host) return out;
    lg_check(L, rt_array_write(out, buffer, lg_error_box(L)));
    lua_pop(L, 1);
    return out;
}

const struct rt_array *lg_check_elements(lua_State *L, int idx)
{
    if (!lua_istable(L, idx)) return lg_check_array(L, idx);
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    lg_check_placement(L, lua_gettop(L) + 1, &p);
    lg_push_from_table(L, idx, RT_DTYPE_COUNT, p.device);
    lua_replace(L, idx);
    return lg_check_array(L, idx);
}

/* The string at idx 1 as elements one behind the other. */
static void push_from_bytes(lua_State *L, const struct lg_placement *p)
{
    size_t length;
    const char *bytes = lua_tolstring(L, 1, &length);
    if (p->dtype == RT_DTYPE_COUNT)
        luaL_error(
            L, "a string of bytes needs the dtype of its elements, as in gpu.array(bytes, \"uint8\"); what stands in "
               "[[ ]] is a string, rows of numbers are {{1, 2}, {3, 4}}");
    const struct rt_dtype_info *d = &rt_dtypes[p->dtype];
    int64_t count = (int64_t)(length / d->size);
    if (length % d->size != 0)
        luaL_error(L, "a string of %I bytes is no whole number of %s elements, which have %d", (LUAI_UACINT)length,
                   d->name, d->size);
    struct rt_array *out = lg_push_empty(L, p, 1, &count);
    if (p->dtype != RT_BOOL) {
        lg_check(L, rt_array_write(out, bytes, lg_error_box(L)));
        return;
    }
    char *bits = lua_newuserdatauv(L, length + 1, 0);
    for (size_t i = 0; i < length; i++) bits[i] = bytes[i] != 0;
    lg_check(L, rt_array_write(out, bits, lg_error_box(L)));
    lua_pop(L, 1);
}

static int make_array(lua_State *L)
{
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    luaL_checkany(L, 1);
    luaL_argcheck(L, lua_type(L, 2) != LUA_TNUMBER, 2, "several elements stand in a table, gpu.array{1, 2, 3}");
    struct rt_array *from = lg_test_array(L, 1);
    if (from)
        p = (struct lg_placement){lg_check_array(L, 1)->dtype, rt_array_device(from)};
    else if (lua_istable(L, 1))
        lg_placement_fields(L, 1, &p);
    lg_check_placement(L, 2, &p);
    if (from) {
        struct rt_array *out = lg_new_array(L);
        lg_check(L, kn_convert(from, p.dtype, p.device, out, lg_error_box(L)));
    } else if (lua_istable(L, 1)) {
        lg_push_from_table(L, 1, p.dtype, p.device);
    } else if (lua_type(L, 1) == LUA_TSTRING) {
        push_from_bytes(L, &p);
    } else {
        struct kn_operand number;
        if (!lg_is_scalar(L, 1)) luaL_typeerror(L, 1, "table, number, boolean, array or string of bytes");
        lg_check_operand(L, 1, &number);
        if (p.dtype == RT_DTYPE_COUNT && lua_isboolean(L, 1)) p.dtype = RT_BOOL;
        if (p.dtype == RT_DTYPE_COUNT && number.is_complex) p.dtype = RT_COMPLEX64;
        struct rt_array *out = lg_push_empty(L, &p, 0, NULL);
        lg_check(L, kn_fill(out, &number, lg_error_box(L)));
    }
    return 1;
}

/* Filled arrays. */

static struct rt_array *push_by_shape(lua_State *L)
{
    int64_t shape[RT_MAX_DIMS];
    int next;
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    int ndim = lg_check_shape(L, 1, false, shape, &next);
    if (lua_istable(L, 1)) lg_placement_fields(L, 1, &p);
    lg_check_placement(L, next, &p);
    return lg_push_empty(L, &p, ndim, shape);
}

static int pinned(lua_State *L)
{
    int64_t shape[RT_MAX_DIMS], size = 1;
    int next;
    struct rt_array form;
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    struct rt_error *e = lg_error_box(L);
    int ndim = lg_check_shape(L, 1, false, shape, &next);
    if (lua_istable(L, 1)) lg_placement_fields(L, 1, &p);
    lg_check_placement(L, next, &p);
    struct rt_array *out = lg_new_array(L);
    enum rt_dtype dtype = p.dtype == RT_DTYPE_COUNT ? RT_FLOAT32 : p.dtype;
    lg_check(L, rt_array_new(rt_device_open("cpu", e), dtype, ndim, shape, &form, e)); /* checks the shape */
    for (int i = 0; i < ndim; i++) size *= shape[i];
    rt_array_release(&form);
    struct rt_storage *s = rt_storage_pinned(p.device, (size_t)size * rt_dtypes[dtype].size, e);
    if (!s) lg_raise(L, e);
    rt_array_over(s, dtype, ndim, shape, out);
    lg_check(L, kn_fill(out, &(struct kn_operand){.i = 0}, e));
    return 1;
}

static struct rt_array *push_like(lua_State *L, int next)
{
    const struct rt_array *a = lg_check_form(L, 1);
    struct lg_placement p = {a->dtype, rt_array_device(a)};
    lg_check_placement(L, next, &p);
    return lg_push_empty(L, &p, a->ndim, a->shape);
}

static int filled(lua_State *L, const struct rt_array *a, int64_t value)
{
    struct kn_operand number = {.i = value};
    lg_check(L, kn_fill(a, &number, lg_error_box(L)));
    return 1;
}

static int zeros(lua_State *L)
{
    return filled(L, push_by_shape(L), 0);
}
static int ones(lua_State *L)
{
    return filled(L, push_by_shape(L), 1);
}
static int empty(lua_State *L)
{
    push_by_shape(L);
    return 1;
}
static int zeros_like(lua_State *L)
{
    return filled(L, push_like(L, 2), 0);
}
static int ones_like(lua_State *L)
{
    return filled(L, push_like(L, 2), 1);
}
static int empty_like(lua_State *L)
{
    push_like(L, 2);
    return 1;
}

static void check_fill_value(lua_State *L, int idx, struct kn_operand *value)
{
    if (!lg_is_scalar(L, idx)) luaL_typeerror(L, idx, "number or boolean");
    lg_check_operand(L, idx, value);
}

static int full(lua_State *L)
{
    int64_t shape[RT_MAX_DIMS];
    int ndim = 1, next;
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    struct kn_operand value;
    if (lua_istable(L, 1))
        ndim = lg_check_shape(L, 1, false, shape, &next);
    else if (lua_type(L, 1) == LUA_TNUMBER)
        shape[0] = check_size(L, 1, 1, false);
    else
        luaL_typeerror(L, 1, "shape (a table of sizes, or one size)");
    check_fill_value(L, 2, &value);
    if (lua_type(L, 3) == LUA_TNUMBER)
        luaL_argerror(L, 3, "the shape is one table, then comes the value: gpu.full({2, 3}, 7)");
    if (lua_isboolean(L, 2)) p.dtype = RT_BOOL;
    if (value.is_complex) p.dtype = RT_COMPLEX64;
    lg_check_placement(L, 3, &p);
    struct rt_array *out = lg_push_empty(L, &p, ndim, shape);
    lg_check(L, kn_fill(out, &value, lg_error_box(L)));
    return 1;
}

static int full_like(lua_State *L)
{
    struct kn_operand value;
    lg_check_form(L, 1);
    check_fill_value(L, 2, &value);
    struct rt_array *out = push_like(L, 3);
    lg_check(L, kn_fill(out, &value, lg_error_box(L)));
    return 1;
}

static int eye(lua_State *L)
{
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    int64_t shape[2] = {check_size(L, 1, 1, false), 0};
    int numbers = lg_last_number(L, 2, 3);
    int64_t offset = numbers > 2 ? luaL_checkinteger(L, 3) : 0;
    shape[1] = numbers > 1 && !lua_isnil(L, 2) ? check_size(L, 2, 2, false) : shape[0];
    lg_check_placement(L, numbers + 1, &p);
    struct rt_array *out = lg_push_empty(L, &p, 2, shape);
    filled(L, out, 0);
    struct rt_array diagonal = *out; /* borrowed */
    lg_diagonal(&diagonal, offset, 0, 1);
    return filled(L, &diagonal, 1);
}

/* Sequences. */

#define LONGEST_RANGE 9000000000000000

/* How many of start, start + step, ... reach stop, stop included; a last one that misses stop by rounding counts. */
static int64_t count_steps(lua_State *L, double start, double stop, double step)
{
    double q = (stop - start) / step;
    if (!isfinite(q)) luaL_error(L, "a range needs finite bounds and a finite step");
    if (q > LONGEST_RANGE) luaL_error(L, "a range of %f elements is too long", q);
    q += 1e-10 * fmax(1, fabs(q));
    if (q < 0) return 0;
    return (int64_t)floor(q) + 1;
}

/* The same of integers, which doubles may not tell apart. */
static int64_t count_whole_steps(lua_State *L, int64_t start, int64_t stop, int64_t step)
{
    if (step > 0 ? start > stop : start < stop) return 0;
    const uint64_t up = (uint64_t)stop - (uint64_t)start, distance = step > 0 ? up : 0 - up;
    const uint64_t count = distance / (step > 0 ? (uint64_t)step : 0 - (uint64_t)step);
    if (count > LONGEST_RANGE) luaL_error(L, "a range of %f elements is too long", (double)count);
    return (int64_t)count + 1;
}

static int range(lua_State *L)
{
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    int numbers = lg_last_number(L, 1, 3);
    const int last = numbers > 1 ? 2 : 1;
    double stop = luaL_checknumber(L, last);
    lg_check_placement(L, numbers + 1, &p);
    struct kn_operand start = {.i = 1}, step = {.i = 1};
    if (numbers > 1 && !lua_isnil(L, 1)) lg_check_operand(L, 1, &start);
    if (numbers > 2) lg_check_operand(L, 3, &step);
    double first = start.is_float ? start.f : (double)start.i, by = step.is_float ? step.f : (double)step.i;
    luaL_argcheck(L, by != 0, 3, "the step of a range cannot be 0");
    const bool whole = !start.is_float && !step.is_float && lua_isinteger(L, last);
    int64_t count =
        whole ? count_whole_steps(L, start.i, lua_tointeger(L, last), step.i) : count_steps(L, first, stop, by);
    struct rt_array *out = lg_push_empty(L, &p, 1, &count);
    lg_check(L, kn_sequence(out, &start, &step, lg_error_box(L)));
    return 1;
}

#define PLACEMENT                                                                                                       \
    "dtype and device may come in any order, or as a table {dtype = ..., device = ...}; without them it is float32 on " \
    "the default device."

const struct lg_function lg_create_functions[] = {
    {"array", make_array, "gpu.array(value [, dtype] [, device])",
     "A new array from nested tables, a number, a boolean, another array, or a string of bytes.\n"
     "Tables give float32, of booleans bool, of complex numbers complex64, unless a dtype is named; an array keeps its dtype and device and is always "
     "copied. Rows of different lengths and mixtures of numbers and booleans are errors that tell the place, "
     "and so are integers that the dtype does not hold; floats are cut to its range. A string has its elements as "
     "they lie in memory and needs a dtype; x:tobytes() is the way back. "
     "Dtype and device may be a table, {dtype = ..., device = ...}, as in all functions that make arrays.",
     "local x = gpu.array({{1, 2, 3}, {4, 5, 6}})\n"
     "assert(x.shape[1] == 2 and x.shape[2] == 3 and x[{2, 3}] == 6 and x.dtype == 'float32')\n"
     "assert(gpu.array({true, false}).dtype == 'bool' and gpu.array(7, 'int64'):item() == 7)\n"
     "assert(gpu.array('\\1\\0\\2\\0', 'int16')[2] == 2)"},
    {"zeros", zeros, "gpu.zeros(shape... [, dtype] [, device])",
     "An array of zeros. The shape is given as numbers or as one table.\n" PLACEMENT,
     "assert(gpu.zeros(3, 4):sum() == 0 and gpu.zeros({2}, 'int32').dtype == 'int32')"},
    {"ones", ones, "gpu.ones(shape... [, dtype] [, device])",
     "An array of ones. The shape is given as numbers or as one table.\n" PLACEMENT,
     "assert(gpu.ones(3, 4):sum() == 12)"},
    {"empty", empty, "gpu.empty(shape... [, dtype] [, device])",
     "An array whose elements are not set: what was in the memory before.\n" PLACEMENT,
     "local x = gpu.empty(3, 4)\nx:fill(2)\nassert(x:sum() == 24)"},
    {"pinned", pinned, "gpu.pinned(shape... [, dtype] [, device])",
     "Zeros on the cpu, in memory that the GPU, or the one named, copies from and to by itself.\n"
     "In a stream such a copy runs beside kernels and Lua: s:with(function() x:copy_(y) end). Of other arrays on the cpu the "
     "driver copies the elements first. Where there is no GPU the memory is like any other; x.pinned tells.",
     "local y = gpu.pinned(1000)\n"
     "y:fill(3)\n"
     "local x = gpu.empty(1000)\n"
     "local s = gpu.stream()\n"
     "s:with(function() x:copy_(y) end)\n"
     "assert(x:sum() == 3000 and y.device == 'cpu' and y.pinned == (x.device:find('cuda') ~= nil))"},
    {"full", full, "gpu.full(shape, value [, dtype] [, device])",
     "An array of one value. The shape is a table or, for one axis, a number.\nA boolean gives bool, a complex number complex64. " PLACEMENT,
     "assert(gpu.full({2, 2}, 7)[{2, 1}] == 7 and gpu.full(3, true).dtype == 'bool')"},
    {"zeros_like", zeros_like, "gpu.zeros_like(x [, dtype] [, device])",
     "Zeros with the shape and, unless told otherwise, the dtype and device of x.",
     "assert(gpu.zeros_like(gpu.ones(2, 3)).shape == gpu.ones(2, 3).shape)"},
    {"ones_like", ones_like, "gpu.ones_like(x [, dtype] [, device])",
     "Ones with the shape and, unless told otherwise, the dtype and device of x.",
     "assert(gpu.ones_like(gpu.zeros(2, 3), 'int32'):sum() == 6)"},
    {"empty_like", empty_like, "gpu.empty_like(x [, dtype] [, device])",
     "An array, not set, with the shape and, unless told otherwise, the dtype and device of x.",
     "assert(#gpu.empty_like(gpu.zeros(5)) == 5)"},
    {"full_like", full_like, "gpu.full_like(x, value [, dtype] [, device])",
     "One value with the shape and, unless told otherwise, the dtype and device of x.",
     "assert(gpu.full_like(gpu.zeros(2, 3), 4):sum() == 24)"},
    {"eye", eye, "gpu.eye(rows [, columns [, offset]] [, dtype] [, device])",
     "A matrix with ones on a diagonal, the main one or so many above or (negative) below it, and zeros elsewhere.\n"
     "It is square unless columns are told. " PLACEMENT,
     "assert(gpu.eye(3, 3, 1)[{2, 3}] == 1)\nlocal x = gpu.eye(3)\nassert(x[{2, 2}] == 1 and x[{2, 3}] == 0 and x:sum() == 3)"},
    {"range", range, "gpu.range([start,] stop [, step] [, dtype] [, device])",
     "The numbers from start (1 unless told otherwise) to stop, stop included, as in Lua's numeric for.\n" PLACEMENT
     " float32 holds whole numbers up to 16777216 exactly; name \"int64\" or \"float64\" for larger ones.",
     "local x = gpu.range(0, 10, 2)\nassert(#x == 6 and x[6] == 10)\nassert(gpu.range(5):sum() == 15 and gpu.range(9, {step = 4})[3] == 9)"},
    {0}};
