/* The elementwise operations of ops.def as methods, functions of the gpu table and metamethods. Their results may wait
 * (lazy.c). */
#include <string.h>
#include "kernels/compose.h"
#include "kernels/ops.h"
#include "lang/array.h"
#include "lang/closest.h"
#include "lang/lazy.h"
#include "lang/out.h"

#define MAX_ARITY 3

/* Raises what computes the operation of numbers alone: Lua's math library where that has it, else an array of one. */
static void refuse_numbers(lua_State *L, enum kn_op op)
{
    static const char *const more[MAX_ARITY + 1] = {"", "", ", y", ", y, z"};
    const char *name = kn_ops[op].name;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, "math") == LUA_TTABLE && lua_getfield(L, -1, name) == LUA_TFUNCTION)
        luaL_error(L, "%s needs an array; of numbers it is math.%s", name, name);
    luaL_error(L, "%s needs an array; of numbers it is gpu.%s(gpu.array{x}%s)[1]", name, name, more[kn_ops[op].arity]);
}

static void check_operands(lua_State *L, enum kn_op op, struct kn_operand *args)
{
    bool any = false;
    for (int i = 0; i < kn_ops[op].arity; i++) {
        lg_check_operand(L, i + 1, &args[i]);
        any = any || args[i].array;
    }
    if (!any) refuse_numbers(L, op);
}

static bool any_waits(enum kn_op op, const struct kn_operand *args)
{
    for (int i = 0; i < kn_ops[op].arity; i++)
        if (args[i].array && lg_waits(args[i].array)) return true;
    return false;
}

/* Nobody knows when foreign memory changes, so what reads it is computed now. */
static bool is_to_wait(lua_State *L, enum kn_op op, const struct kn_operand *args)
{
    const struct rt_array *arrays[MAX_ARITY];
    int count = 0;
    bool foreign = false;
    for (int i = 0; i < kn_ops[op].arity; i++) {
        if (!args[i].array) continue;
        foreign |= args[i].array->storage->foreign;
        arrays[count++] = args[i].array;
    }
    for (int i = 0; foreign && i < count; i++) lg_evaluate(L, (struct rt_array *)(uintptr_t)arrays[i]);
    if (foreign || any_waits(op, args)) return !foreign;
    const bool answered = count == 1 && kn_ops[op].arity == 1 && kn_answer_to_all(op, arrays[0]->dtype) >= 0;
    if (answered && rt_array_size(arrays[0]) <= KN_ANSWERED && !lg_explains(L)) return false;
    return lg_worth_waiting(L, arrays, count);
}

static void find_sources(enum kn_op op, const struct kn_operand *args, struct kn_source *sources)
{
    for (int i = 0; i < kn_ops[op].arity; i++) {
        const struct lg_array *l = (const struct lg_array *)args[i].array;
        sources[i] = (struct kn_source){.expression = l ? l->expression : NULL, .operand = args[i]};
    }
}

/* Where the graph would be too large its greatest part is evaluated first: in the end all operands are. */
static struct kn_expression *new_expression(lua_State *L, enum kn_op op, const struct kn_operand *args)
{
    struct kn_source sources[MAX_ARITY] = {{0}};
    struct kn_expression *x = NULL;
    bool full[MAX_ARITY] = {false};
    for (;;) {
        int greatest = -1;
        find_sources(op, args, sources);
        for (int i = 0; i < kn_ops[op].arity; i++) sources[i].full = full[i];
        enum rt_status status = kn_expression_new(op, sources, &x, lg_error_box(L));
        for (int i = 0; i < kn_ops[op].arity; i++)
            if (sources[i].expression && (greatest < 0 || kn_expression_cost(sources[i].expression) >
                                                              kn_expression_cost(sources[greatest].expression)))
                greatest = i;
        if (status != RT_UNSUPPORTED || greatest < 0) {
            lg_check(L, status);
            return x;
        }
        rt_error_clear(lg_error_box(L));
        lg_evaluate(L, (struct rt_array *)(uintptr_t)args[greatest].array);
        full[greatest] = true;
    }
}

/* Writes the result into an array that there is, borrowed by the caller; `what` is how the user calls that. */
static void write_into(lua_State *L, enum kn_op op, const struct kn_operand *args, struct rt_array *out,
                       const char *what)
{
    enum rt_dtype result;
    struct rt_error *e = lg_error_box(L);
    lg_check(L, kn_result_dtype(op, args, &result, e));
    const bool waits = any_waits(op, args);
    const bool cut = rt_dtypes[result].kind == 'f' && rt_dtypes[out->dtype].kind != 'f';
    for (int i = 0; i < kn_ops[op].arity && (waits || cut); i++) /* shapes come first, as in kn_apply */
        if (args[i].array) lg_check(L, kn_check_fits(args[i].array, out, e));
    if (cut)
        luaL_error(L,
                   "x:%s%s) gives %s, which the %s elements of %s cannot hold; use y = x:%s(), or %s:to(\"%s\") first",
                   kn_ops[op].name, what, rt_dtypes[result].name, rt_dtypes[out->dtype].name,
                   *what == '_' ? "x" : "out", kn_ops[op].name, *what == '_' ? "x" : "out", rt_dtypes[result].name);
    if (!waits) {
        lg_check(L, kn_apply(op, args, out, e));
        return;
    }
    struct kn_expression *x = new_expression(L, op, args);
    enum rt_status status = kn_expression_write(x, out, e);
    kn_expression_release(x);
    lg_check(L, status);
}

static void check_no_more(lua_State *L, enum kn_op op, int idx)
{
    if (lua_isnoneornil(L, idx)) return;
    const char *type = lg_type_name(L, idx);
    luaL_error(L, "%s takes %s, and behind %s there is %s %s%s", kn_ops[op].name,
               idx == 2   ? "one array"
               : idx == 3 ? "two operands"
                          : "three operands",
               idx == 2 ? "it" : "them", strchr("aeiou", *type) ? "an" : "a", type,
               op == KN_SUB ? "; rows 1 to 2 are x[\"1:2\"] or x:narrow(1, 1, 2)" : "");
}

void lg_push_out(lua_State *L, int idx, const char *name)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
        if (strcmp(lg_option_name(L), "out") != 0)
            luaL_error(L, "%s: there is no option '%s'; there is out", name, lua_tostring(L, -2));
    lua_getfield(L, idx, "out");
    if (!lg_test_array(L, -1)) luaL_error(L, "%s: out must be an array, not %s", name, lg_type_name(L, -1));
}

/* The same for the table behind the operands; false without one. Metamethods of one operand get it twice, so what is no
 * table there means nothing. */
static bool push_out(lua_State *L, enum kn_op op)
{
    int idx = kn_ops[op].arity + 1;
    if (!lua_istable(L, idx)) {
        if (!(idx == 2 && lua_rawequal(L, 1, 2))) check_no_more(L, op, idx);
        return false;
    }
    lg_push_out(L, idx, kn_ops[op].name);
    return true;
}

/* clip{min = a, max = b} and round{decimals = n}: the values where the arguments would stand, and out behind them,
 * which the forms that write into x, whose name ends in `end`, "_", have none of. */
static void take_names(lua_State *L, enum kn_op op, const char *end)
{
    const char *const clip[] = {"min", "max"}, *const rounding[] = {"decimals"}, *const *names = rounding;
    int table = lua_gettop(L), count = op == KN_CLIP ? 2 : 1, given = 0;
    if (op == KN_CLIP) names = clip;
    if (table < 2 || table > count + 1 || !lua_istable(L, table) || lua_rawlen(L, table) > 0) return;
    lua_settop(L, table);
    for (int i = table - 2; i < count; i++) given += lua_getfield(L, table, names[i]) != LUA_TNIL;
    if (!given && (op != KN_CLIP || table > 2)) {
        lua_settop(L, table);
        return;
    }
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *name = lg_option_name(L);
        bool known = false;
        for (int i = table - 2; i < count; i++) known |= !strcmp(name, names[i]);
        if (known) continue;
        if (*end)
            luaL_error(L, "%s_: there is no option '%s'; there %s", kn_ops[op].name, name,
                       op == KN_CLIP ? "are min and max" : "is decimals");
        if (strcmp(name, "out") != 0)
            luaL_error(L, "%s: there is no option '%s'; there are %s and out", kn_ops[op].name, name,
                       op == KN_CLIP ? "min, max" : "decimals");
        lua_pushvalue(L, -1);
        lua_setfield(L, -4, "out");
    }
    lua_pushliteral(L, "out");
    bool out = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 1);
    if (!out) lua_pop(L, 1);
    lua_remove(L, table);
}

/* The operation that is meant: clip with one limit is maximum or minimum, and its arguments become theirs. */
static enum kn_op meant(lua_State *L, enum kn_op op)
{
    if (op != KN_CLIP || (!lua_isnoneornil(L, 2) && !lua_isnoneornil(L, 3))) return op;
    bool low = lua_isnoneornil(L, 3);
    luaL_checkany(L, 2);
    if (lua_gettop(L) >= 3) lua_remove(L, low ? 3 : 2);
    return low ? KN_MAXIMUM : KN_MINIMUM;
}

static int round_to(lua_State *L)
{
    if (lg_out(L, "round")) return 1;
    const struct rt_array *a = lg_check_array(L, 1);
    lua_Integer decimals = luaL_checkinteger(L, 2);
    luaL_argcheck(L, decimals >= -300 && decimals <= 300, 2, "decimals are from -300 to 300");
    luaL_argcheck(L, lua_isnoneornil(L, 3), 3, "nothing expected behind the decimals but {out = y}");
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_round_to(a, (int)decimals, out, lg_error_box(L)));
    return 1;
}

/* The second operand of those that may be called without it. */
static void add_operand(lua_State *L, enum kn_op op)
{
    if (lua_gettop(L) == 1 && (op == KN_ZETA || op == KN_LAMBERTW)) lua_pushinteger(L, op == KN_ZETA);
}

static int call_op(lua_State *L)
{
    enum kn_op op = (enum kn_op)lua_tointeger(L, lua_upvalueindex(1));
    struct kn_operand args[MAX_ARITY];
    if (op == KN_CLIP || op == KN_ROUND) take_names(L, op, "");
    op = meant(L, op);
    if (op == KN_WHERE && lua_gettop(L) == 1) return lg_where_true(L);
    add_operand(L, op);
    if (op == KN_ROUND && lua_isnumber(L, 2)) return round_to(L);
    check_operands(L, op, args);
    if (push_out(L, op)) {
        struct rt_array out = *lg_check_target(L, lua_gettop(L)); /* borrowed */
        write_into(L, op, args, &out, "(..., {out = out}");
        return 1;
    }
    struct rt_array *out = lg_new_array(L);
    if (is_to_wait(L, op, args))
        lg_wait(L, out, new_expression(L, op, args));
    else
        lg_check(L, kn_apply(op, args, out, lg_error_box(L)));
    return 1;
}

static int call_in_place(lua_State *L)
{
    enum kn_op op = (enum kn_op)lua_tointeger(L, lua_upvalueindex(1));
    struct kn_operand args[MAX_ARITY];
    if (op == KN_CLIP || op == KN_ROUND) take_names(L, op, "_");
    op = meant(L, op);
    struct rt_array out = *lg_check_target(L, 1); /* borrowed */
    if (op == KN_ROUND && lua_isnumber(L, 2)) {
        check_no_more(L, op, 3);
        round_to(L);
        lg_check(L, kn_copy(&out, lg_check_array(L, -1), lg_error_box(L)));
        lua_settop(L, 1);
        return 1;
    }
    check_no_more(L, op, kn_ops[op].arity + 1);
    add_operand(L, op);
    check_operands(L, op, args);
    write_into(L, op, args, &out, "_(");
    lua_settop(L, 1);
    return 1;
}

/* Documentation. The texts are made from the rows of ops.def when somebody asks for them, and kept in Lua's registry.
 */

static const char *arguments(enum kn_op op)
{
    static const char *const by_arity[] = {"", "", "y", "a, b"};
    return op == KN_CLIP ? "[min [, max]]" : op == KN_ROUND ? "[decimals]" : by_arity[kn_ops[op].arity];
}

static const char *signature(lua_State *L, enum kn_op op)
{
    static const struct {
        const char *event, *text;
    } symbols[] = {{"__add", "x + y"},  {"__sub", "x - y"}, {"__mul", "x * y"},  {"__div", "x / y"},
                   {"__mod", "x % y"},  {"__pow", "x ^ y"}, {"__unm", "-x"},     {"__idiv", "x // y"},
                   {"__band", "x & y"}, {"__bor", "x | y"}, {"__bxor", "x ~ y"}, {"__bnot", "~x"},
                   {"__shl", "x << y"}, {"__shr", "x >> y"}};
    const struct kn_op_info *o = &kn_ops[op];
    const char *args = arguments(op), *symbol = "";
    for (size_t i = 0; o->symbol && i < sizeof symbols / sizeof *symbols; i++)
        if (!strcmp(symbols[i].event, o->symbol)) symbol = symbols[i].text;
    const char *before = *args == '[' ? " [, " : *args ? ", " : "", *rest = *args == '[' ? args + 1 : args;
    lua_pushfstring(L, "%s%sx:%s(%s)   gpu.%s(x%s%s)", symbol, *symbol ? "   " : "", o->name, args, o->name, before,
                    rest);
    return lg_keep(L);
}

static void complete_row(lua_State *L, enum kn_op op, struct lg_function *row)
{
    const struct kn_op_info *o = &kn_ops[op];
    row->signature = signature(L, op);
    if (o->example) {
        lua_pushfstring(L, "assert(%s)", o->example);
        row->example = lg_keep(L);
    }
    lua_pushfstring(
        L, "%s\n%s%s", o->doc, kn_op_texts[op].complex ? "Of complex numbers, too. " : "",
        o->arity == 1
            ? "A new array of the same shape; with {out = y} as the last argument y, written into."
            : "A new array; with {out = z} as the last argument z, written into. Operands are arrays, whose shapes broadcast, or numbers, which do not "
              "change an array's dtype unless a float meets integers, or a complex number real ones.");
    row->doc = lg_keep(L);
}

static bool takes_floats(enum kn_op op)
{
    enum rt_dtype result;
    struct rt_array a = {.dtype = RT_FLOAT32};
    struct kn_operand args[MAX_ARITY] = {{.array = &a}, {.i = 1}, {.i = 1}};
    return kn_result_dtype(op, args, &result, NULL) == RT_OK;
}

static void complete_in_place_row(lua_State *L, enum kn_op op, struct lg_function *row)
{
    static const char *const numbers[] = {"", "", "1", "1, 1"};
    const struct kn_op_info *o = &kn_ops[op];
    const char *args = op == KN_LAMBERTW ? "" : numbers[o->arity]; /* it has no branch 1 */
    lua_pushfstring(L, "x:%s_(%s)", o->name, arguments(op));
    row->signature = lg_keep(L);
    lua_pushfstring(L, "local x = gpu.array({1, 1}%s)\nlocal y = x:%s(%s)\nassert(x:%s_(%s):equal(y))",
                    takes_floats(op) ? "" : ", 'int32'", o->name, args, o->name, args);
    row->example = lg_keep(L);
    lua_pushfstring(L,
                    "x:%s, written into x itself.\nThe other operands broadcast to the shape of x, which keeps its "
                    "dtype; a floating result for integers is an error. Returns x.",
                    o->name);
    row->doc = lg_keep(L);
}

void lg_complete_op_row(lua_State *L, struct lg_function *row)
{
    for (int op = 0; op < KN_OP_COUNT; op++) {
        size_t length = strlen(kn_ops[op].name);
        if (strncmp(row->name, kn_ops[op].name, length) != 0) continue;
        if (row->name[length] == '\0') complete_row(L, op, row);
        if (strcmp(row->name + length, "_") == 0) complete_in_place_row(L, op, row);
    }
}

static void push_op(lua_State *L, lua_CFunction call, enum kn_op op, const struct lg_function *row)
{
    lua_pushinteger(L, op);
    lua_pushcclosure(L, call, 1);
    lg_document_value(L, -1, row);
}

/* Pushes nothing: rows without texts live in the registry. */
static struct lg_function *new_rows(lua_State *L)
{
    struct lg_function *rows = lua_newuserdatauv(L, (KN_OP_COUNT + 1) * sizeof *rows, 0);
    memset(rows, 0, (KN_OP_COUNT + 1) * sizeof *rows);
    luaL_ref(L, LUA_REGISTRYINDEX);
    return rows;
}

void lg_open_ops(lua_State *L)
{
    int gpu = lua_gettop(L) - 2, methods = gpu + 1, meta = gpu + 2;
    struct lg_function *rows = new_rows(L), *in_place = new_rows(L), *next = in_place;
    for (int op = 0; op < KN_OP_COUNT; op++) {
        rows[op].name = kn_ops[op].name;
        push_op(L, call_op, op, &rows[op]);
        lua_pushvalue(L, -1);
        lua_setfield(L, gpu, rows[op].name);
        lua_pushvalue(L, -1);
        lua_setfield(L, methods, rows[op].name);
        if (kn_ops[op].symbol) {
            lua_pushvalue(L, -1);
            lua_setfield(L, meta, kn_ops[op].symbol);
        }
        lua_pop(L, 1);
        if (op == KN_WHERE) continue; /* its result does not belong into the condition */
        lua_pushfstring(L, "%s_", kn_ops[op].name);
        next->name = lg_keep(L);
        push_op(L, call_in_place, op, next);
        lua_setfield(L, methods, next->name);
        next++;
    }
    lg_document_rows(L, "gpu", rows);
    lg_document_rows(L, "array", rows);
    lg_document_rows(L, "array", in_place);
}
