/* Complex numbers: the Lua value, gpu.complex, and the parts of complex arrays. */
#include "lang/complex.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "kernels/loops.h"
#include "kernels/program.h"
#include "lang/array.h"

/* ---- the value ---- */
const struct rt_complex *lg_test_complex(lua_State *L, int idx)
{
    return lua_type(L, idx) == LUA_TUSERDATA ? luaL_testudata(L, idx, LG_COMPLEX) : NULL;
}

/* A complex number, or a number as one. */
static bool read_value(lua_State *L, int idx, struct rt_complex *out)
{
    const struct rt_complex *z = lg_test_complex(L, idx);
    if (z) *out = *z;
    if (!z && lua_type(L, idx) == LUA_TNUMBER) *out = (struct rt_complex){lua_tonumber(L, idx), 0};
    return z || lua_type(L, idx) == LUA_TNUMBER;
}

/* The operation on complex numbers alone, by the loops that arrays have. */
static int compute(lua_State *L, enum kn_op op)
{
    struct rt_complex args[3] = {{0}}, out = {0};
    struct kn_type types[3] = {{.dtype = RT_COMPLEX128}, {.dtype = RT_COMPLEX128}, {.dtype = RT_COMPLEX128}};
    struct kn_signature s = {0};
    for (int i = 0; i < kn_ops[op].arity; i++)
        if (!read_value(L, i + 1, &args[i]))
            luaL_error(L, "%s of a complex number and %s; expected a number, a complex number or an array",
                       kn_ops[op].name, lg_type_name(L, i + 1));
    lg_check(L, kn_infer(op, types, &s, lg_error_box(L)));
    kn_host_loops()->ops[op][KN_C128](&out, &args[0], &args[1], &args[2], 1);
    if (s.result == RT_COMPLEX128)
        lg_push_complex(L, out);
    else
        lg_push_scalar(L, s.result, &out);
    return 1;
}

/* An operator; beside an array it is the array's. */
static int operate(lua_State *L)
{
    enum kn_op op = (enum kn_op)lua_tointeger(L, lua_upvalueindex(1));
    if (!lg_test_array(L, 1) && !lg_test_array(L, 2)) return compute(L, op);
    luaL_getmetatable(L, LG_ARRAY);
    lua_getfield(L, -1, kn_ops[op].symbol);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    return 1;
}

static int method(lua_State *L)
{
    lg_check_object(L, 1, LG_COMPLEX);
    return compute(L, (enum kn_op)lua_tointeger(L, lua_upvalueindex(1)));
}

static int angle_of_value(lua_State *L)
{
    const struct rt_complex *z = lg_check_object(L, 1, LG_COMPLEX);
    lua_pushnumber(L, atan2(z->im, z->re));
    return 1;
}

static int value_tostring(lua_State *L)
{
    char text[64];
    const struct rt_complex *z = lg_check_object(L, 1, LG_COMPLEX);
    snprintf(text, sizeof text, "%.14g%s%.14gi", z->re, signbit(z->im) && !isnan(z->im) ? "-" : "+", fabs(z->im));
    lua_pushstring(L, text);
    return 1;
}

static int value_eq(lua_State *L)
{
    struct rt_complex a = {0}, b = {0};
    lua_pushboolean(L, read_value(L, 1, &a) && read_value(L, 2, &b) && a.re == b.re && a.im == b.im);
    return 1;
}

static int value_concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

static int value_order(lua_State *L)
{
    return luaL_error(L, "complex numbers have no order; compare z.re, z.im or z:abs()");
}

/* z.re, z.im, and the operations of one argument as methods (the upvalue). */
static int value_index(lua_State *L)
{
    const struct rt_complex *z = lg_check_object(L, 1, LG_COMPLEX);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (strcmp(key, "re") == 0 || strcmp(key, "im") == 0) {
        lua_pushnumber(L, *key == 'r' ? z->re : z->im);
        return 1;
    }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    return luaL_error(L, "a complex number has no '%s'; it has re, im, and methods such as abs, angle, conj, exp, sqrt",
                      luaL_tolstring(L, 2, NULL));
}

static int value_fields(lua_State *L)
{
    static const char *const names[] = {"re", "im"};
    lua_createtable(L, 2, 0);
    for (int i = 0; i < 2; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static void push_op(lua_State *L, lua_CFunction call, int op)
{
    lua_pushinteger(L, op);
    lua_pushcclosure(L, call, 1);
}

static void push_metatable(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__tostring", value_tostring},
                                    {"__eq", value_eq},
                                    {"__concat", value_concat},
                                    {"__lt", value_order},
                                    {"__le", value_order},
                                    {"__fields", value_fields},
                                    {0}};
    if (!luaL_newmetatable(L, LG_COMPLEX)) return;
    luaL_setfuncs(L, meta, 0);
    lua_newtable(L);
    for (int op = 0; op < KN_OP_COUNT; op++) {
        if (!kn_op_texts[op].complex) continue;
        if (kn_ops[op].symbol) {
            push_op(L, operate, op);
            lua_setfield(L, -3, kn_ops[op].symbol);
        }
        if (kn_ops[op].arity > 1) continue;
        push_op(L, method, op);
        lua_setfield(L, -2, kn_ops[op].name);
    }
    lua_pushcfunction(L, angle_of_value);
    lua_setfield(L, -2, "angle");
    lua_pushcclosure(L, value_index, 1);
    lua_setfield(L, -2, "__index");
}

void lg_push_complex(lua_State *L, struct rt_complex v)
{
    struct rt_complex *z = lua_newuserdatauv(L, sizeof *z, 0);
    *z = v;
    push_metatable(L);
    lua_setmetatable(L, -2);
}

void lg_put_complex(lua_State *L, enum rt_dtype dtype, const char *p, int64_t first, int64_t last)
{
    push_metatable(L); /* looked for once */
    for (int64_t i = first; i < last; i++) {
        struct rt_complex *z = lua_newuserdatauv(L, sizeof *z, 0);
        if (dtype == RT_COMPLEX128)
            memcpy(z, p + i * (int64_t)sizeof *z, sizeof *z);
        else
            *z = rt_load_complex(dtype, p + i * rt_dtypes[dtype].size);
        lua_pushvalue(L, -2);
        lua_setmetatable(L, -2);
        lua_rawseti(L, -3, i + 1);
    }
    lua_pop(L, 1);
}

/* ---- arrays ---- */
void lg_push_part(lua_State *L, int idx, bool imaginary)
{
    const struct rt_array *a = lg_check_array(L, idx);
    struct rt_array *out = lg_new_array(L);
    struct rt_error *e = lg_error_box(L);
    if (rt_is_complex(a->dtype) || !imaginary) {
        rt_array_part(a, imaginary, out);
        return;
    }
    lg_check(L, rt_array_new(rt_array_device(a), a->dtype, a->ndim, a->shape, out, e));
    lg_check(L, kn_fill(out, &(struct kn_operand){.i = 0}, e));
}

/* One part of the new array from the operand: an array, or a number. */
static void write_part(lua_State *L, const struct rt_array *out, bool imaginary, const struct kn_operand *from)
{
    struct rt_array part;
    struct rt_error *e = lg_error_box(L);
    rt_array_part(out, imaginary, &part);
    enum rt_status status = from->array ? kn_copy(&part, from->array, e) : kn_fill(&part, from, e);
    rt_array_release(&part);
    lg_check(L, status);
}

static int make_complex(lua_State *L)
{
    struct kn_operand args[2];
    const struct rt_array *arrays[2];
    struct rt_error *e = lg_error_box(L);
    enum rt_dtype dtype;
    int count = 0, ndim;
    int64_t shape[RT_MAX_DIMS];
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_pushinteger(L, 0);
        lua_replace(L, 2);
    }
    if (!lg_test_array(L, 1) && !lg_test_array(L, 2)) {
        lg_push_complex(L, (struct rt_complex){luaL_checknumber(L, 1), luaL_checknumber(L, 2)});
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        lg_check_operand(L, i + 1, &args[i]);
        if (args[i].is_complex) luaL_argerror(L, i + 1, "the parts of complex numbers are real numbers");
        if (args[i].array) arrays[count++] = lg_check_array(L, i + 1);
    }
    for (int i = 0; i < count; i++) lg_check(L, kn_check_real(arrays[i], "gpu.complex", e));
    lg_check(L, kn_check_devices(arrays, count, e));
    lg_check(L, kn_result_dtype(KN_HYPOT, args, &dtype, e));
    lg_check(L, rt_broadcast_shape(arrays, count, &ndim, shape, e));
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(arrays[0]), rt_complex_of(dtype), ndim, shape, out, e));
    for (int i = 0; i < 2; i++) write_part(L, out, i == 1, &args[i]);
    return 1;
}

static int angle(lua_State *L)
{
    struct kn_operand args[2] = {{.is_float = true}, {.array = lg_check_array(L, 1)}};
    if (rt_is_complex(args[1].array->dtype)) {
        lg_push_part(L, 1, true);
        lg_push_part(L, 1, false);
        args[0].array = lua_touserdata(L, -2);
        args[1].array = lua_touserdata(L, -1);
    }
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_apply(KN_ATAN2, args, out, lg_error_box(L)));
    return 1;
}

const struct lg_function lg_complex_functions[] = {
    {"complex", make_complex, "gpu.complex(re [, im])",
     "A complex number or, of arrays, a new array of complex64 or complex128.\n"
     "The parts broadcast; im is 0 unless given. Elements of complex arrays are such numbers: z.re and z.im are its "
     "parts, + - * / ^ and methods such as z:abs(), z:angle(), z:conj(), z:exp() and z:sqrt() compute with it, and beside "
     "an array it is a weak number that makes the result complex. It equals complex numbers alone (Lua's == tells it "
     "from 1). Arrays have their parts as the views x.real and x.imag.",
     "local z = gpu.complex(1, 2)\nassert(tostring(z * z) == '-3+4i' and (z * z:conj()).re == 5)\n"
     "local x = gpu.complex(gpu.array({1, 2}), gpu.array({0, -1}))\n"
     "assert(x.dtype == 'complex64' and x[2] == gpu.complex(2, -1) and (x * z)[1] == z)"},
    {0}};

const struct lg_function lg_complex_methods[] = {
    {"angle", angle, "x:angle()",
     "The angles of complex numbers, in radians from -pi to pi; of real numbers 0, or pi where they are negative.",
     "assert(gpu.array({gpu.complex(0, 2)}):angle():allclose(math.pi / 2))"},
    {0}};
