/* gpu.printoptions: how arrays look, where the automatic form is not what is wanted. */
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include "lang/array.h"
#include "lang/cells.h"
#include "lang/steps.h"

#define NUMBERS 4 /* of the options; then comes the choice */
static const char *const names[] = {"precision", "threshold", "edgeitems", "linewidth", "scientific", NULL};
static const struct {
    size_t field;
    lua_Integer least, most;
} numbers[NUMBERS] = {{offsetof(struct lg_print_options, precision), 0, 17},
                      {offsetof(struct lg_print_options, threshold), 0, LUA_MAXINTEGER},
                      {offsetof(struct lg_print_options, edgeitems), 1, 1000},
                      {offsetof(struct lg_print_options, linewidth), 10, INT_MAX}};

static const char options_key;

static struct lg_print_options *find_options(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &options_key);
    struct lg_print_options *o = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (o) return o;
    o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (struct lg_print_options){-1, -1, -1, -1, LG_AUTOMATIC};
    lua_rawsetp(L, LUA_REGISTRYINDEX, &options_key);
    return o;
}

const struct lg_print_options *lg_print_options(lua_State *L)
{
    return find_options(L);
}

static int64_t *number_of(struct lg_print_options *o, int which)
{
    return (int64_t *)((char *)o + numbers[which].field);
}

static void push_options(lua_State *L, struct lg_print_options *o)
{
    lua_createtable(L, 0, NUMBERS + 1);
    for (int i = 0; i < NUMBERS; i++) {
        const int64_t v = *number_of(o, i);
        if (v < 0)
            lua_pushboolean(L, false);
        else
            lua_pushinteger(L, v);
        lua_setfield(L, -2, names[i]);
    }
    if (o->scientific == LG_AUTOMATIC)
        lua_pushliteral(L, "auto");
    else
        lua_pushboolean(L, o->scientific == LG_ALWAYS);
    lua_setfield(L, -2, names[NUMBERS]);
}

/* The number at idx: nil leaves what it was, false is what nobody asked for. */
static int64_t check_number(lua_State *L, int idx, int which, int64_t before)
{
    if (lua_isboolean(L, idx) && !lua_toboolean(L, idx)) return -1;
    lua_Integer v = lg_integer_option(L, idx, "printoptions", names[which], before);
    if (lua_isnoneornil(L, idx)) return before;
    if (v < numbers[which].least)
        luaL_error(L, "printoptions: %s is %I, expected %I at least", names[which], v, numbers[which].least);
    if (v > numbers[which].most)
        luaL_error(L, "printoptions: %s is %I, expected %I at most", names[which], v, numbers[which].most);
    return v;
}

static enum lg_print_choice check_choice(lua_State *L, int idx, enum lg_print_choice before)
{
    if (lua_isnoneornil(L, idx)) return before;
    if (lua_isboolean(L, idx)) return lua_toboolean(L, idx) ? LG_ALWAYS : LG_NEVER;
    const char *text = lua_tostring(L, idx);
    if (!text || strcmp(text, "auto") != 0)
        luaL_error(L, "printoptions: scientific is %s, expected true, false or \"auto\"", luaL_tolstring(L, idx, NULL));
    return LG_AUTOMATIC;
}

static int printoptions(lua_State *L)
{
    struct lg_print_options *o = find_options(L), new = *o;
    if (!lua_isnoneornil(L, 1) && (!lua_istable(L, 1) || lua_rawlen(L, 1)))
        return luaL_error(L, "printoptions: expected a table of options, as in gpu.printoptions{precision = 3}, got %s",
                          lg_type_name(L, 1));
    lg_spread(L, 1, "printoptions", names);
    for (int i = 0; i < NUMBERS; i++) *number_of(&new, i) = check_number(L, i + 1, i, *number_of(o, i));
    new.scientific = check_choice(L, NUMBERS + 1, o->scientific);
    push_options(L, o);
    *o = new;
    return 1;
}

const struct lg_function lg_printoptions_functions[] = {
    {"printoptions", printoptions, "gpu.printoptions([options])",
     "How arrays look when they are printed, as text, in notebooks and by x:latex(); it returns the options as they were, "
     "a table that puts them back.\n"
     "Options: precision, threshold, edgeitems, linewidth and scientific. precision = how many digits stand behind the "
     "point at most, 0 to 17; threshold = up to how many elements an array is shown whole; edgeitems = how many are shown at "
     "either end of an axis of a larger one; linewidth = columns of a line. For these four, false is what they are unless told otherwise: "
     "as many digits as the numbers need, six at most; 300 elements, in a notebook of tables of 20 columns; 3, and 1 of axes in "
     "front of the last two; and the terminal's width. scientific = true writes all floats as 1.5e-03, false none below "
     "1e16 (NumPy's suppress), \"auto\" those arrays whose numbers would need too many digits.",
     "local x = gpu.array({1 / 3, 2e-5})\n"
     "local before = gpu.printoptions{precision = 3, scientific = false}\n"
     "assert(tostring(x):find('0.333  0.000', 1, true))\ngpu.printoptions(before)"},
    {0}};
