/* Bits and the bytes that hold eight of them: on the host by loops, elsewhere by operations on words of eight bytes. */
#include <string.h>
#include "kernels/bits.h"
#include "lang/closest.h"
#include "lang/steps.h"

enum order { BIG, LITTLE };
static const char *const orders[] = {"big", "little", NULL};

/* Eight bytes that are 0 or 1, times this, have their bits in the highest byte. */
static const uint64_t gathers[] = {[BIG] = 0x8040201008040201, [LITTLE] = 0x0102040810204080};
/* The bit that each of the eight bytes has. */
static const uint64_t bits[] = {[BIG] = 0x0102040810204080, [LITTLE] = 0x8040201008040201};

/* Pushes the array at idx, which has elements and lies in one piece, as one of elements of another size in the same
 * memory. */
static int push_as(lua_State *L, int idx, enum rt_dtype dtype)
{
    const struct rt_array *a = lg_check_array(L, idx);
    int64_t shape[RT_MAX_DIMS];
    struct rt_array *out = lg_new_array(L);
    for (int i = 0; i < a->ndim; i++) shape[i] = a->shape[i];
    shape[a->ndim - 1] = shape[a->ndim - 1] * rt_dtypes[a->dtype].size / rt_dtypes[dtype].size;
    rt_storage_retain(a->storage);
    rt_array_over(a->storage, dtype, a->ndim, shape, out);
    return lua_gettop(L);
}

/* Pushes the array at 1 with the axis at 2, which is the last then, or with all elements along one. *axis is where it
 * was. */
static int push_last(lua_State *L, const char *what, int *axis)
{
    const struct rt_array *a = lg_check_array(L, 1);
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes, expected one or more", what);
    *axis = lua_isnoneornil(L, 2) ? -1 : lg_check_axis(L, 2, a->ndim);
    if (*axis < 0) return lg_step(L, "flatten", "v", 1);
    return lg_step(L, "moveaxis", "vii", 1, (int64_t)*axis + 1, (int64_t)-1);
}

/* The last axis of the array at idx goes back to where it was. */
static int end(lua_State *L, int idx, int axis)
{
    if (axis < 0) {
        lua_pushvalue(L, idx);
        return 1;
    }
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", idx, (int64_t)-1, (int64_t)axis + 1));
    return 1;
}

static int64_t last_size(lua_State *L, int idx)
{
    const struct rt_array *a = lg_form(L, idx);
    return a->shape[a->ndim - 1];
}

/* Pushes the array at idx with zeros behind its last axis, up to so many elements; in memory of its own. */
static int push_longer(lua_State *L, int idx, int64_t count)
{
    const struct rt_array *a = lg_form(L, idx);
    int64_t shape[RT_MAX_DIMS];
    for (int i = 0; i < a->ndim; i++) shape[i] = i == a->ndim - 1 ? count : a->shape[i];
    lg_push_shape(L, a->ndim, shape);
    const char *dtype = rt_dtypes[a->dtype].name, *device = rt_array_device(a)->name;
    int out = lg_step(L, "gpu.zeros", "vss", lua_gettop(L), dtype, device);
    lg_step(L, "copy_", "vv", lg_push_narrowed(L, out, a->ndim - 1, 0, a->shape[a->ndim - 1]), idx);
    lua_settop(L, out);
    return out;
}

/* Pushes the array at x, which is on the host, with as many elements on its last axis as are told, each made of eight
 * or an eighth of one. */
static int push_on_host(lua_State *L, int x, int64_t count, enum order order, bool packs)
{
    const struct rt_array *a = lg_check_array(L, lg_step(L, "contiguous", "v", x));
    const int last = a->ndim - 1;
    const int64_t n = a->shape[last], rows = n ? rt_array_size(a) / n : 0;
    int64_t shape[RT_MAX_DIMS];
    memcpy(shape, a->shape, sizeof shape);
    shape[last] = count;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), RT_UINT8, a->ndim, shape, out, lg_error_box(L)));
    const uint8_t *from = rt_array_host(a);
    uint8_t *to = rt_array_host(out);
    for (int64_t i = 0; i < rows; i++) {
        if (i % 4096 == 4095) lg_poll(L);
        if (packs)
            kn_pack_bits(from + i * n, (size_t)n, order == LITTLE, to + i * count);
        else
            kn_unpack_bits(from + i * n, (size_t)count, order == LITTLE, to + i * count);
    }
    return lua_gettop(L);
}

static bool is_on_host(lua_State *L, int idx)
{
    return !kn_runs_generated(rt_array_device(lg_form(L, idx)));
}

/* x:packbits([axis [, bitorder]]) */
static int packbits(lua_State *L)
{
    int axis;
    const struct rt_array *a = lg_check_form(L, 1);
    if (!strchr("biu", rt_dtypes[a->dtype].kind))
        return luaL_error(L, "packbits: the elements are %s, expected bools or integers; x:ne(0) makes bools of them",
                          rt_dtypes[a->dtype].name);
    enum order order = (enum order)lg_check_option(L, 3, "big", orders);
    lua_settop(L, 2);
    int x = push_last(L, "packbits", &axis);
    int64_t n = last_size(L, x), bytes = n / 8 + (n % 8 > 0);
    if (rt_dtypes[a->dtype].size > 1 || !is_on_host(L, x)) x = lg_step(L, "to", "vs", x, "bool");
    if (is_on_host(L, x)) return end(L, push_on_host(L, x, bytes, order, true), axis);
    if (n % 8 > 0 || !rt_array_contiguous(lg_form(L, x)) || lg_check_array(L, x)->offset > 0)
        x = push_longer(L, x, 8 * bytes);
    int words = push_as(L, x, RT_UINT64);
    words = lg_step(L, "right_shift", "vi", lg_step(L, "mul", "vi", words, (int64_t)gathers[order]), (int64_t)56);
    return end(L, lg_step(L, "to", "vs", words, "uint8"), axis);
}

/* x:unpackbits([axis [, count [, bitorder]]]) */
static int unpackbits(lua_State *L)
{
    int axis;
    const struct rt_array *a = lg_check_form(L, 1);
    if (a->dtype != RT_UINT8)
        return luaL_error(L, "unpackbits: the elements are %s, expected uint8; x:to(\"uint8\") makes them that",
                          rt_dtypes[a->dtype].name);
    enum order order = (enum order)lg_check_option(L, 4, "big", orders);
    lua_settop(L, 3);
    int x = push_last(L, "unpackbits", &axis);
    int64_t n = 8 * last_size(L, x), count = lg_integer_option(L, 3, "unpackbits", "count", n);
    if (count < -n)
        return luaL_error(L, "unpackbits: count is %I, and there are %I bits that can be left out", (LUAI_UACINT)count,
                          (LUAI_UACINT)n);
    if (count < 0) count += n;
    if (is_on_host(L, x) && count <= n) return end(L, push_on_host(L, x, count, order, false), axis);
    int words = lg_step(L, "mul", "vi", lg_step(L, "to", "vs", x, "uint64"), (int64_t)0x0101010101010101);
    words = lg_step(L, "bitwise_and", "vi", words, (int64_t)bits[order]);
    words = lg_step(L, "right_shift", "vi", lg_step(L, "add", "vi", words, (int64_t)0x7f7f7f7f7f7f7f7f), (int64_t)7);
    words = lg_step(L, "bitwise_and", "vi", words, (int64_t)0x0101010101010101); /* 128 more has the highest bit */
    int out = push_as(L, words, RT_UINT8), last = lg_form(L, out)->ndim - 1;
    if (count > n) out = push_longer(L, out, count);
    if (count < n) out = lg_step(L, "clone", "v", lg_push_narrowed(L, out, last, 0, count));
    return end(L, out, axis);
}

#define ORDER_DOC                                                                                                      \
    "The first is the highest bit of a byte, with the order \"little\" the lowest. Along an axis or, without one, of " \
    "all elements in row-major order."

const struct lg_function lg_bits_functions[] = {
    {"packbits", packbits, "x:packbits([axis [, bitorder]])   gpu.packbits(x [, axis [, bitorder]])",
     "Whether elements, bools or integers, are not 0, as bits: eight of them are one uint8, where need be with zeros "
     "behind them.\n" ORDER_DOC,
     "assert(gpu.array({1, 0, 0, 0, 0, 0, 1, 1, 1}, 'bool'):packbits():equal(gpu.array({131, 128})))"},
    {"unpackbits", unpackbits,
     "x:unpackbits([axis [, count [, bitorder]]])   gpu.unpackbits(x [, axis [, count [, bitorder]]])",
     "The bits of uint8 elements, eight for each, as uint8 0 and 1.\n" ORDER_DOC
     " count is how many of them there are to be: fewer are cut off, more are zeros, and a negative one leaves so many "
     "out.",
     "assert(gpu.array({131}, 'uint8'):unpackbits():equal(gpu.array({1, 0, 0, 0, 0, 0, 1, 1})))"},
    {0}};
