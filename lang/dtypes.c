/* gpu.dtypes, whose documentation has the table of promotions, made from the rule itself. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "kernels/ops.h"
#include "lang/array.h"

/* A dtype named or that of an array. */
static enum rt_dtype check_side(lua_State *L, int idx)
{
    return lg_test_array(L, idx) ? lg_check_form(L, idx)->dtype : lg_check_dtype(L, idx, RT_DTYPE_COUNT);
}

static int dtypes(lua_State *L)
{
    if (lua_gettop(L) > 0) {
        enum rt_dtype a = check_side(L, 1), b = check_side(L, 2);
        luaL_argcheck(L, a != RT_DTYPE_COUNT, 1, "a dtype or an array expected");
        luaL_argcheck(L, b != RT_DTYPE_COUNT, 2, "a dtype or an array expected");
        lua_pushstring(L, rt_dtypes[kn_promote(a, b)].name);
        return 1;
    }
    lua_createtable(L, RT_DTYPE_COUNT, 0);
    for (int t = 0; t < RT_DTYPE_COUNT; t++) {
        lua_pushstring(L, rt_dtypes[t].name);
        lua_rawseti(L, -2, t + 1);
    }
    return 1;
}

static struct lg_function rows[] = {{"dtypes", dtypes, "gpu.dtypes([a, b])", NULL,
                                     "assert(#gpu.dtypes() == 15 and gpu.dtypes('int32', 'float16') == 'float32')\n"
                                     "local x, y = gpu.ones(2, 'int8'), gpu.ones(2, 'uint8')\n"
                                     "assert(gpu.dtypes(x, y) == 'int16' and (x + y).dtype == 'int16')"},
                                    {0}};

/* "f32" for float32: short enough for a table of all pairs. */
static const char *short_name(int t, char out[8])
{
    const struct rt_dtype_info *d = &rt_dtypes[t];
    if (d->kind == 'b')
        snprintf(out, 8, "b");
    else
        snprintf(out, 8, "%s%c%d", t == RT_BFLOAT16 ? "b" : "", d->kind, 8 * d->size);
    return out;
}

static void write_doc(void)
{
    static char text[3072];
    char name[8];
    size_t used =
        (size_t)snprintf(text, sizeof text, "%s",
                         "The names of the dtypes or, of two dtypes or arrays, that of the dtype in which they meet.\n"
                         "b is bool, i8 int8, u8 uint8, f16 float16, bf16 bfloat16, c64 complex64 and so on:\n+   ");
    for (int b = 0; b < RT_DTYPE_COUNT; b++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%5s", short_name(b, name));
    for (int a = 0; a < RT_DTYPE_COUNT; a++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "\n%-4s", short_name(a, name));
        for (int b = 0; b < RT_DTYPE_COUNT; b++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%5s", short_name(kn_promote(a, b), name));
    }
    snprintf(
        text + used, sizeof text - used, "%s",
        "\nArithmetic on bools is that of int32. / and ^ and functions such as sqrt make float32 of integers, of 64-bit "
        "ones float64. Lua numbers are weak: an integer changes no dtype, a float makes floats of integers likewise and a complex number "
        "complex numbers; of uint64, those from 2^63 on are negative integers in Lua, and a negative one is such a number. "
        "The 16-bit floats are computed in float32, and every operation rounds its result once.");
    rows[0].doc = text;
}

void lg_complete_dtypes_row(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, write_doc);
}

void lg_open_dtypes(lua_State *L)
{
    lg_register(L, "gpu", rows);
}
