/* gpu.vectorize: a function in CUDA C, of numbers, becomes a function of arrays that broadcast. */
#include "lang/head.h"
#include "lang/kernel.h"

/* Pushes the kernel's text: the user's, and on its last line a loop over the elements. A parameter is an array or,
 * where that is a null pointer, a number. */
static void push_text(lua_State *L, const char *text, const struct lg_head *f)
{
    static const char loop[] =
        ") { for (long long at_ = blockIdx.x * (long long)blockDim.x + threadIdx.x; at_ < size_; "
        "at_ += gridDim.x * (long long)blockDim.x) result_[at_] = ";
    const char *name = f->result.name;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, text);
    lua_pushfstring(L, "\n__global__ void vectorized_%s(long long size_, %s *result_", name,
                    rt_dtypes[f->result.dtype].cuda);
    luaL_addvalue(&b);
    for (int i = 0; i < f->count; i++) {
        const char *type = rt_dtypes[f->list[i].dtype].cuda;
        lua_pushfstring(L, ", const %s *array%d_, %s number%d_", type, i, type, i);
        luaL_addvalue(&b);
    }
    luaL_addstring(&b, loop);
    luaL_addstring(&b, name);
    for (int i = 0; i < f->count; i++) {
        lua_pushfstring(L, "%sarray%d_ ? array%d_[at_] : number%d_", i ? ", " : "(", i, i, i);
        luaL_addvalue(&b);
    }
    luaL_addstring(&b, "); }\n");
    luaL_pushresult(&b);
}

/* ---- calling it ---- */

/* Pushes the array at idx with the elements that it has at the shape, one behind the other. */
static void push_operand(lua_State *L, int idx, int ndim, const int64_t *shape)
{
    lua_getfield(L, idx, "broadcast_to");
    lua_pushvalue(L, idx);
    lua_createtable(L, ndim, 0);
    for (int i = 0; i < ndim; i++) {
        lua_pushinteger(L, shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_call(L, 2, 1);
    lua_getfield(L, -1, "contiguous");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
}

/* Checks an argument; true when it is an array. */
static bool check_argument(lua_State *L, const struct lg_head *f, int i)
{
    const struct lg_parameter *p = &f->list[i - 1];
    const char *name = f->result.name, *dtype = rt_dtypes[p->dtype].name, *type = rt_dtypes[p->dtype].cuda;
    const struct rt_array *a = lg_test_array(L, i);
    if (!a && lua_type(L, i) != LUA_TNUMBER && lua_type(L, i) != LUA_TBOOLEAN)
        luaL_error(L, "%s: '%s' (%s) expects an array of %s or a number, got %s", name, p->name, type, dtype,
                   luaL_typename(L, i));
    if (a && a->dtype != p->dtype)
        luaL_error(L, "%s: '%s' (%s) expects an array of %s, got %s; convert it with %s:to(\"%s\")", name, p->name,
                   type, dtype, rt_dtypes[a->dtype].name, p->name, dtype);
    if (a && !rt_device_runs_kernels(rt_array_device(a)))
        luaL_error(L, "%s: '%s' is an array on %s, which runs no kernels; move it with %s:to(\"simt\")", name, p->name,
                   rt_array_device(a)->name, p->name);
    return a != NULL;
}

/* Upvalues: the kernel, and the function as it was written. */
static int call(lua_State *L)
{
    const struct lg_head *f = lua_touserdata(L, lua_upvalueindex(2));
    int count = f->count, arrays = 0, ndim = 0;
    const char *name = f->result.name;
    const struct rt_array *list[LG_HEAD_MOST];
    int64_t shape[RT_MAX_DIMS], size = 1;
    if (lua_gettop(L) != count)
        return luaL_error(L, "%s: takes %d argument%s, got %d", name, count, count == 1 ? "" : "s", lua_gettop(L));
    for (int i = 1; i <= count; i++)
        if (check_argument(L, f, i)) list[arrays++] = lg_check_array(L, i);
    if (!arrays) return luaL_error(L, "%s: none of the arguments is an array", name);
    lg_check(L, rt_broadcast_shape(list, arrays, &ndim, shape, lg_error_box(L)));
    for (int i = 0; i < ndim; i++) size *= shape[i];
    luaL_checkstack(L, 2 * count + 16, NULL);
    const struct lg_placement place = {f->result.dtype, rt_array_device(list[0])};
    lg_push_empty(L, &place, ndim, shape);
    int out = lua_gettop(L);
    lua_getfield(L, lua_upvalueindex(1), "forall");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushinteger(L, size);
    lua_call(L, 2, 1);
    lua_pushinteger(L, size);
    lua_pushvalue(L, out);
    for (int i = 1; i <= count; i++) {
        bool is_array = lg_test_array(L, i) != NULL;
        if (is_array)
            push_operand(L, i, ndim, shape);
        else
            lua_pushnil(L);
        if (is_array)
            lua_pushinteger(L, 0);
        else
            lua_pushvalue(L, i);
    }
    if (size > 0) lua_call(L, 2 + 2 * count, 0);
    lua_settop(L, out);
    return 1;
}

static int vectorize(lua_State *L)
{
    if (lua_isfunction(L, 1))
        return luaL_error(L,
                          "vectorize takes a function of CUDA C as text, [[ __device__ float f(float x) { ... } ]]; a "
                          "function of Lua's is called on whole arrays, or for each row by gpu.apply_along_axis");
    const char *text = luaL_checkstring(L, 1);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    struct lg_head *f = lua_newuserdatauv(L, sizeof *f, 0);
    lg_read_head(L, "vectorize", text, f);
    if (*f->type) return lg_push_generic(L, f, vectorize);
    push_text(L, text, f);
    lg_make_around(L, 2, lua_tostring(L, 4));
    lua_pushvalue(L, 3);
    lua_pushcclosure(L, call, 2);
    return 1;
}

static const struct lg_function functions[] = {
    {"vectorize", vectorize, "gpu.vectorize(source [, options])",
     "Makes a function of arrays out of a __device__ function of numbers in CUDA C.\n"
     "The source may have more functions, of which the last one is taken. f(x, y, ...) calls it for each element and gives "
     "a new array of the type that it returns; arrays broadcast, and numbers may stand for them, but not for all. An array "
     "has the dtype of its parameter: float x takes float32. Options are those of gpu.kernel. What operators and methods "
     "of arrays express needs no such function: (x - y) ^ 2 is computed in one pass, too.\n"
     "Of template <typename T> __device__ T f(T x, int n) one is made for each dtype that T becomes, which is the one that "
     "the arrays given for a T have in common.",
     "local steps = gpu.vectorize [[\n"
     "  __device__ int steps(int n, int most) { // to 1, by Collatz's rule\n"
     "    int k = 0;\n"
     "    for (; n > 1 && k < most; k++) n = n % 2 ? 3 * n + 1 : n / 2;\n"
     "    return k;\n"
     "  }\n"
     "]]\n"
     "local k = steps(gpu.array({1, 6, 27}, 'int32'), 1000)\n"
     "assert(k.dtype == 'int32' and k[2] == 8 and k[3] == 111)\n"
     "local apart = gpu.vectorize [[\n"
     "  template <typename T> __device__ T apart(T x, T y) { return x > y ? x - y : y - x; }\n"
     "]]\n"
     "assert(apart(gpu.array({1, 5}, 'uint8'), 3).dtype == 'uint8' and apart(gpu.ones(2), 3)[1] == 2)"},
    {0}};

void lg_open_vectorize(lua_State *L)
{
    lg_register(L, "gpu", functions);
}
