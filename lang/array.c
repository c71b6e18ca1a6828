/* The array userdata: its fields and how values go between Lua and elements. How one comes and goes is in life.c. */
#include <string.h>
#include "lang/array.h"
#include "lang/closest.h"
#include "lang/complex.h"
#include "lang/index.h"
#include "lang/lazy.h"

static void raise_no_array(lua_State *L, int idx, const char *expected)
{
    const char *hint = lua_type(L, idx) == LUA_TTABLE ? "; gpu.array makes an array of it" : "";
    const char *got = lua_isnone(L, idx) ? "no value" : lg_type_name(L, idx);
    luaL_argerror(L, idx, lua_pushfstring(L, "%s expected, got %s%s", expected, got, hint));
}

/* The array that is the argument idx, as long as it was not freed. */
static struct rt_array *check_there(lua_State *L, int idx, struct rt_array *a)
{
    luaL_argcheck(L, a->storage, idx, "the array was freed");
    return a;
}

struct rt_array *lg_check_form(lua_State *L, int idx)
{
    struct rt_array *a = lg_test_array(L, idx);
    if (!a) raise_no_array(L, idx, "array");
    return check_there(L, idx, a);
}

struct rt_array *lg_check_array(lua_State *L, int idx)
{
    struct rt_array *a = lg_check_form(L, idx);
    lg_evaluate(L, a);
    return a;
}

struct rt_array *lg_check_target(lua_State *L, int idx)
{
    struct rt_array *a = lg_check_array(L, idx);
    lg_before_write(L, a);
    return a;
}

bool lg_is_scalar(lua_State *L, int idx)
{
    int t = lua_type(L, idx);
    return t == LUA_TNUMBER || t == LUA_TBOOLEAN || lg_test_complex(L, idx);
}

void lg_check_operand(lua_State *L, int idx, struct kn_operand *out)
{
    const struct rt_complex *z;
    struct rt_array *a;
    *out = (struct kn_operand){0};
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER:
        out->is_float = !lua_isinteger(L, idx);
        if (out->is_float)
            out->f = lua_tonumber(L, idx);
        else
            out->i = lua_tointeger(L, idx);
        break;
    case LUA_TBOOLEAN: out->i = lua_toboolean(L, idx); break;
    default:
        if ((a = lg_test_array(L, idx))) {
            out->array = check_there(L, idx, a);
            lg_bring_over(L, a);
            return;
        }
        if (!(z = lg_test_complex(L, idx))) {
            raise_no_array(L, idx, "array or number");
            return;
        }
        *out = (struct kn_operand){.is_float = true, .is_complex = true, .f = z->re, .im = z->im};
    }
}

void lg_push_scalar(lua_State *L, enum rt_dtype dtype, const void *p)
{
    switch (rt_dtypes[dtype].kind) {
    case 'b': lua_pushboolean(L, rt_load_int(dtype, p) != 0); break;
    case 'f': lua_pushnumber(L, rt_load_double(dtype, p)); break;
    case 'c': lg_push_complex(L, rt_load_complex(dtype, p)); break;
    default: lua_pushinteger(L, rt_load_int(dtype, p));
    }
}

void lg_store_scalar(lua_State *L, int idx, enum rt_dtype dtype, void *p)
{
    if (lua_type(L, idx) == LUA_TUSERDATA)
        rt_store_complex(dtype, p, *lg_test_complex(L, idx));
    else if (lua_type(L, idx) == LUA_TBOOLEAN)
        rt_store_int(dtype, p, lua_toboolean(L, idx));
    else if (lua_isinteger(L, idx))
        rt_store_int(dtype, p, lua_tointeger(L, idx));
    else
        rt_store_double(dtype, p, lua_tonumber(L, idx));
}

bool lg_scalar_fits(lua_State *L, int idx, enum rt_dtype dtype, lua_Integer *low, lua_Integer *high)
{
    const struct rt_dtype_info *d = &rt_dtypes[dtype];
    if (d->size == 8 || (d->kind != 'i' && d->kind != 'u') || !lua_isinteger(L, idx)) return true;
    int bits = 8 * d->size - (d->kind == 'i');
    lua_Integer v = lua_tointeger(L, idx);
    *high = ((lua_Integer)1 << bits) - 1;
    *low = d->kind == 'i' ? -*high - 1 : 0;
    return v >= *low && v <= *high;
}

void lg_push_element(lua_State *L, const struct rt_array *a)
{
    struct rt_error *e = lg_error_box(L);
    char value[RT_ELEMENT];
    lg_check(L, rt_array_alive(a, e));
    const void *p = lg_array_host(a);
    if (!p) {
        struct rt_array one = *a; /* a borrowed view: any strides are contiguous for one element */
        one.ndim = 0;
        lg_check(L, rt_array_read(&one, value, e));
        p = value;
    }
    lg_push_scalar(L, a->dtype, p);
}

static int shape_tostring(lua_State *L)
{
    luaL_Buffer b;
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '(');
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1) luaL_addstring(&b, ", ");
        lua_rawgeti(L, 1, i);
        luaL_tolstring(L, -1, NULL);
        lua_remove(L, -2);
        luaL_addvalue(&b);
    }
    luaL_addstring(&b, n == 1 ? ",)" : ")");
    luaL_pushresult(&b);
    return 1;
}

static int shape_eq(lua_State *L)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    bool same = lua_istable(L, 1) && lua_istable(L, 2) && n == (lua_Integer)lua_rawlen(L, 2);
    for (lua_Integer i = 1; same && i <= n; i++) {
        lua_rawgeti(L, 1, i);
        lua_rawgeti(L, 2, i);
        same = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    lua_pushboolean(L, same);
    return 1;
}

/* shape[-1] is the last axis, as everywhere; what is behind the last one is nil, so that ipairs ends. */
static int shape_index(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, 2);
    if (lua_type(L, 2) == LUA_TNUMBER && i == 0)
        return luaL_error(L, "axis 0 of a shape: axes count from 1, or from the end with -1");
    if (i >= 0) return 0;
    lua_rawgeti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1 + i);
    return 1;
}

static int concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

void lg_push_shape(lua_State *L, int ndim, const int64_t *shape)
{
    static const luaL_Reg meta[] = {
        {"__tostring", shape_tostring}, {"__eq", shape_eq}, {"__concat", concat}, {"__index", shape_index}, {0}};
    lua_createtable(L, ndim, 0);
    for (int i = 0; i < ndim; i++) {
        lua_pushinteger(L, shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    if (luaL_newmetatable(L, "lunarray.shape")) {
        luaL_setfuncs(L, meta, 0);
        lua_pushliteral(L, "shape"); /* in messages */
        lua_setfield(L, -2, "__name");
    }
    lua_setmetatable(L, -2);
}

/* Fields. A new one is one function and one row. */
static void field_shape(lua_State *L, const struct rt_array *a)
{
    lg_push_shape(L, a->ndim, a->shape);
}
static void field_strides(lua_State *L, const struct rt_array *a)
{
    lg_push_shape(L, a->ndim, a->strides);
}
static void field_dtype(lua_State *L, const struct rt_array *a)
{
    lua_pushstring(L, rt_dtypes[a->dtype].name);
}
static void field_device(lua_State *L, const struct rt_array *a)
{
    lua_pushstring(L, rt_array_device(a)->name);
}
static void field_ndim(lua_State *L, const struct rt_array *a)
{
    lua_pushinteger(L, a->ndim);
}
static void field_size(lua_State *L, const struct rt_array *a)
{
    lua_pushinteger(L, rt_array_size(a));
}
static void field_bytes(lua_State *L, const struct rt_array *a)
{
    lua_pushinteger(L, rt_array_size(a) * rt_dtypes[a->dtype].size);
}
static void field_pinned(lua_State *L, const struct rt_array *a)
{
    lua_pushboolean(L, a->storage->pinned);
}
static void field_T(lua_State *L, const struct rt_array *a)
{
    a = lg_check_array(L, 1); /* a view needs elements to share */
    struct rt_array *out = lg_push_shared(L, a);
    for (int i = 0; i < a->ndim; i++) {
        out->shape[i] = a->shape[a->ndim - 1 - i];
        out->strides[i] = a->strides[a->ndim - 1 - i];
    }
}

static void field_real(lua_State *L, const struct rt_array *a)
{
    (void)a;
    lg_push_part(L, 1, false);
}
static void field_imag(lua_State *L, const struct rt_array *a)
{
    (void)a;
    lg_push_part(L, 1, true);
}

static const struct field {
    const char *name;
    void (*push)(lua_State *L, const struct rt_array *a);
    const char *doc, *example;
} fields[] = {
    {"shape", field_shape, "The sizes of the axes, as a table.\nIt prints as (3, 4) and compares by its sizes.",
     "local s = gpu.zeros(3, 4).shape\nassert(s[1] == 3 and #s == 2 and tostring(s) == '(3, 4)')"},
    {"dtype", field_dtype, "The name of the element type.", "assert(gpu.zeros(2, 'int32').dtype == 'int32')"},
    {"device", field_device, "The name of the device that holds the elements; gpu.device describes it.",
     "assert(gpu.zeros(2, 'float32', 'cpu').device == 'cpu')"},
    {"ndim", field_ndim, "The number of axes.", "assert(gpu.zeros(3, 4).ndim == 2)"},
    {"size", field_size, "The number of elements.", "assert(gpu.zeros(3, 4).size == 12)"},
    {"bytes", field_bytes, "The bytes of all elements: size times the bytes of one.",
     "assert(gpu.zeros(3, 4, 'float64').bytes == 96)"},
    {"pinned", field_pinned, "Whether it is host memory that a GPU copies from and to by itself, as of gpu.pinned.",
     "assert(gpu.zeros(3).pinned == false)"},
    {"strides", field_strides, "How many elements lie between neighbours along each axis.",
     "local s = gpu.zeros(3, 4).strides\nassert(s[1] == 4 and s[2] == 1)"},
    {"T", field_T, "The array with its axes in reverse order: a view.",
     "local x = gpu.array({{1, 2}, {3, 4}})\nassert(x.T[{1, 2}] == 3)"},
    {"real", field_real,
     "The real parts of complex elements: a view, which can be written to. A real array is its own.",
     "local x = gpu.zeros(3, 'complex64')\nx.real:fill(2)\nassert(x[1] == gpu.complex(2, 0) and x.real.dtype == "
     "'float32')"},
    {"imag", field_imag,
     "The imaginary parts of complex elements: a view, which can be written to.\n"
     "Of a real array new zeros.",
     "local x = gpu.complex(gpu.ones(3), gpu.range(3))\nassert(x.imag[3] == 3 and gpu.ones(3).imag:sum() == 0)"},
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

bool lg_is_array_field(const char *name, size_t length)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0) return true;
    return false;
}

/* A text that was to be a slice, but has names in it. [raises] */
static void check_slice(lua_State *L, const char *key)
{
    if (strpbrk(key, ":,") && strstr(key, "None"))
        luaL_error(L, "\"%s\" is no slice: a new axis is written newaxis, as in x[\":, newaxis\"]", key);
    if (strpbrk(key, ":,"))
        luaL_error(L,
                   "\"%s\" is no slice: it has numbers only, as x[\"1:3\"]; with variables it is a table, "
                   "x[{{a, b}}] for x[a:b]",
                   key);
}

/* x.name, x:name(...), x[i], x["1:2"]. Upvalues: the methods, and a table from field names to their rows. */
static int array_get(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) return lg_array_index(L);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(2));
    const struct field *field = lua_touserdata(L, -1);
    if (field) {
        field->push(L, lg_check_form(L, 1));
        return 1;
    }
    const char *key = lua_tostring(L, 2);
    if (lg_is_key_text(key)) {
        lua_settop(L, 2);
        return lg_array_index(L);
    }
    check_slice(L, key);
    return lg_raise_unknown(L, "an array has no method or field", key, lua_upvalueindex(1), lua_upvalueindex(2));
}

static int array_set(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TSTRING) {
        const char *key = lua_tostring(L, 2);
        static const char *const made[][2] = {{"shape", "x:reshape(...)"},
                                              {"dtype", "x:to(\"int32\")"},
                                              {"device", "x:to(\"cpu\")"},
                                              {"T", "x.T:copy_(y)"}};
        for (size_t i = 0; i < sizeof made / sizeof *made; i++)
            if (strcmp(key, made[i][0]) == 0)
                return luaL_error(L, "cannot set '%s' of an array; it is written %s", key, made[i][1]);
        if (!lg_is_key_text(key)) {
            check_slice(L, key);
            return luaL_error(L, "cannot set '%s': an array takes indices, such as x[1] or x[\"2:3\"]", key);
        }
    }
    return lg_array_newindex(L);
}

static int array_len(lua_State *L)
{
    struct rt_array *a = lg_check_form(L, 1);
    if (a->ndim == 0) return luaL_error(L, "an array of no axes has no length");
    lua_pushinteger(L, a->shape[0]);
    return 1;
}

static int array_fields(lua_State *L)
{
    lua_newtable(L);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        lua_pushstring(L, fields[i].name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int array_tostring(lua_State *L)
{
    struct rt_array *a = luaL_checkudata(L, 1, LG_ARRAY);
    if (a->storage)
        lg_push_array_text(L, lg_check_array(L, 1));
    else
        lua_pushliteral(L, "array (freed)");
    return 1;
}

static int compare(lua_State *L)
{
    return luaL_error(L,
                      "Lua's < <= > >= give one boolean, so they cannot compare arrays; use x:lt(y), x:le(y), x:gt(y), "
                      "x:ge(y), which compare element by element");
}

static int array_pairs(lua_State *L)
{
    luaL_where(L, 2); /* who called pairs, which called this */
    lua_pushstring(L, "pairs does not go through arrays; ipairs(x) gives x[1], x[2], ..., x:totable() a table");
    lua_concat(L, 2);
    return lua_error(L);
}

static int array_call(lua_State *L)
{
    lua_Debug ar;
    if (lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && strcmp(ar.namewhat, "for iterator") == 0)
        return luaL_error(L, "an array is gone through by for i, v in ipairs(x) do; v is an element, or a row");
    return luaL_error(
        L,
        "an array is not called; its elements are x[1], x[{1, 2}] or x[\"1:2\"], and ipairs(x) goes through them; x.T, "
        "x.real and x.imag are arrays themselves");
}

const struct lg_function lg_array_methods[] = {
    {"free", lg_array_free, "x:free()",
     "Releases the array's memory now and not when Lua collects it.\n"
     "Any later use of x is an error. Memory that views of x still show stays until they are gone, too. Freeing twice "
     "is fine. `local x <close> = ...` does the same at the end of a block.",
     "local x = gpu.zeros(10)\nx:free()\nassert(not pcall(function() return x[1] end))"},
    {0}};

static void document_fields(lua_State *L)
{
    struct lg_function *rows = lua_newuserdatauv(L, FIELD_COUNT * sizeof *rows, 0);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *signature = lua_pushfstring(L, "x.%s", fields[i].name);
        luaL_ref(L, LUA_REGISTRYINDEX);
        rows[i] = (struct lg_function){fields[i].name, NULL, signature, fields[i].doc, fields[i].example};
        lg_document(L, "array", &rows[i]);
    }
    luaL_ref(L, LUA_REGISTRYINDEX);
}

static void push_field_table(lua_State *L)
{
    lua_createtable(L, 0, FIELD_COUNT);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        lua_pushlightuserdata(L, (void *)&fields[i]);
        lua_setfield(L, -2, fields[i].name);
    }
}

void lg_open_array(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__close", lg_array_free},
                                    {"__newindex", array_set},
                                    {"__len", array_len},
                                    {"__lt", compare},
                                    {"__le", compare},
                                    {"__concat", concat},
                                    {"__tostring", array_tostring},
                                    {"__fields", array_fields},
                                    {"__pairs", array_pairs},
                                    {"__call", array_call},
                                    {0}};
    static const struct lg_function *const functions[] = {
        lg_create_functions,     lg_reduce_functions,   lg_memory_functions,       lg_random_functions,
        lg_join_functions,       lg_lazy_functions,     lg_einsum_functions,       lg_io_functions,
        lg_complex_functions,    lg_dlpack_functions,   lg_choose_functions,       lg_assemble_functions,
        lg_polynomial_functions, lg_filter_functions,   lg_normalize_functions,    lg_signal_functions,
        lg_spectrum_functions,   lg_sample_functions,   lg_attention_functions,    lg_peaks_functions,
        lg_smooth_functions,     lg_resample_functions, lg_response_functions,     lg_waves_functions,
        lg_design_functions,     lg_distance_functions, lg_printoptions_functions, lg_elliptic_functions,
        lg_harmonic_functions};
    static const struct lg_function *const methods[] = {
        lg_array_methods,   lg_shape_methods,  lg_reduce_methods, lg_describe_methods, lg_sparse_array_methods,
        lg_complex_methods, lg_dlpack_methods, lg_latex_methods,  lg_compose_methods};
    static const struct lg_function *const both[] = {
        lg_statistics_functions,  lg_contract_functions,   lg_compose_functions,  lg_sort_functions,
        lg_histogram_functions,   lg_conv_functions,       lg_explain_functions,  lg_calculus_functions,
        lg_nan_functions,         lg_covariance_functions, lg_quantile_functions, lg_set_functions,
        lg_softmax_functions,     lg_rotate_functions,     lg_unique_functions,   lg_convolve_functions,
        lg_conv_volume_functions, lg_adaptive_functions,   lg_bits_functions,     lg_overlap_functions};
    lg_memory_enter(L);
    lg_open_lazy(L);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) lg_register(L, "gpu", functions[i]);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) lg_register(L, "gpu", both[i]);
    lg_open_random(L);
    lg_open_linalg(L);
    lg_open_fft(L);
    lg_open_ndimage(L);
    lg_open_dtypes(L);
    lg_open_sparse(L);
    lua_newtable(L); /* the methods */
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) lg_register(L, "array", both[i]);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) lg_register(L, "array", methods[i]);
    lg_open_reductions(L);
    lg_open_scans(L);
    lg_open_indexing(L);
    luaL_newmetatable(L, LG_ARRAY);
    lua_pushliteral(L, "array"); /* as messages call one */
    lua_setfield(L, -2, "__name");
    luaL_setfuncs(L, meta, 0);
    lg_open_lives(L);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "__methods"); /* for completion */
    lg_open_ops(L);
    lua_pushvalue(L, -2);
    push_field_table(L);
    lua_pushcclosure(L, array_get, 2);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
    document_fields(L);
    for (const struct lg_function *topic = lg_topics; topic->name; topic++) lg_document(L, "topic", topic);
    lg_document(L, "topic", lg_numpy_topic);
}
