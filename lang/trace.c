/* gpu.trace: one warp's way through a launch, as a Lua list of steps that prints as a listing. */
#include "lang/closest.h"
#include "lang/trace.h"
#include <string.h>
#include "lang/profile.h"
#include "runtime/signature.h"

#define DEFAULT_STEPS 1000
#define MOST_STEPS    100000
#define USAGE         "gpu.trace(kernel, grid, block [, options]){block = ..., warp = ...}(arguments)"

/* What gpu.trace(...) and the table of options make: the user value is the kernel. */
struct tracer {
    struct lg_launch launch;
    struct rt_trace_request request;
    uint32_t shown;
};

/* ---- options ---- */
static uint32_t read_whole(lua_State *L, int idx, const char *what, lua_Integer low, lua_Integer high)
{
    int whole;
    lua_Integer v = lua_tointegerx(L, idx, &whole);
    if (lua_type(L, idx) != LUA_TNUMBER || !whole || v < low || v > high)
        luaL_error(L, "trace: %s: expected a whole number from %I to %I, got %s", what, low, high,
                   luaL_tolstring(L, idx, NULL));
    return (uint32_t)v;
}

static void read_block(lua_State *L, int idx, unsigned out[3])
{
    memset(out, 0, 3 * sizeof *out);
    if (!lua_istable(L, idx)) {
        out[0] = read_whole(L, idx, "block", 0, INT32_MAX);
        return;
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
    if (n < 1 || n > 3) luaL_error(L, "trace: block: expected a number or {x, y, z}, got a table of %I elements", n);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, idx, i + 1);
        out[i] = read_whole(L, lua_gettop(L), "block", 0, INT32_MAX);
        lua_pop(L, 1);
    }
}

static uint32_t read_lanes(lua_State *L, int idx)
{
    uint32_t lanes = 0;
    if (!lua_istable(L, idx)) return 1u << read_whole(L, idx, "lanes", 0, 31);
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, idx); i++) {
        lua_rawgeti(L, idx, i);
        lanes |= 1u << read_whole(L, lua_gettop(L), "lanes", 0, 31);
        lua_pop(L, 1);
    }
    return lanes;
}

static void read_options(lua_State *L, int idx, struct tracer *out)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        int value = lua_gettop(L);
        if (!strcmp(key, "block"))
            read_block(L, value, out->request.block);
        else if (!strcmp(key, "warp"))
            out->request.warp = read_whole(L, value, key, 0, 31);
        else if (!strcmp(key, "steps"))
            out->request.limit = read_whole(L, value, key, 1, MOST_STEPS);
        else if (!strcmp(key, "lanes"))
            out->shown = read_lanes(L, value);
        else
            luaL_error(L, "trace: there is no option '%s'; there are block, warp, steps and lanes", key);
    }
}

/* ---- as a table ---- */
static void push_scalar(lua_State *L, enum simt_value_kind kind, uint32_t size, uint64_t bits)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    int unused = 64 - 8 * (int)size;
    switch (kind) {
    case SIMT_VALUE_BOOL: lua_pushboolean(L, bits != 0); return;
    case SIMT_VALUE_FLOAT:
        memcpy(&f, &low, sizeof f);
        memcpy(&d, &bits, sizeof d);
        lua_pushnumber(L, size == 4 ? (double)f : d);
        return;
    case SIMT_VALUE_SIGNED: lua_pushinteger(L, (int64_t)(bits << unused) >> unused); return;
    default: lua_pushinteger(L, (lua_Integer)bits);
    }
}

/* One value when all lanes have the same, else a table by lane. */
static void push_value(lua_State *L, const struct simt_debug_variable *variable, const struct simt_trace_value *v)
{
    uint64_t first = v->bits[__builtin_ctz(v->lanes)];
    bool same = true;
    for (int l = 0; l < 32; l++) same = same && (!(v->lanes >> l & 1) || v->bits[l] == first);
    if (same) {
        push_scalar(L, variable->kind, variable->size, first);
        return;
    }
    lua_createtable(L, 31, 1);
    for (int l = 0; l < 32; l++) {
        if (!(v->lanes >> l & 1)) continue;
        push_scalar(L, variable->kind, variable->size, v->bits[l]);
        lua_rawseti(L, -2, l);
    }
}

/* Sets `values` and `changed` into the step on top. The values look into those of the function's step before, which the
 * table at `latest` has by the function's symbol, for what this step left as it was. */
static void set_values(lua_State *L, const struct simt_trace *t, const struct simt_trace_step *s, int latest)
{
    lua_createtable(L, 0, (int)s->value_count);
    lua_createtable(L, (int)s->value_count, 0);
    for (uint32_t k = 0; k < s->value_count; k++) {
        const struct simt_trace_value *v = &t->values[s->first_value + k];
        const struct simt_debug_variable *variable = &t->debug->variables[v->variable];
        push_value(L, variable, v);
        lua_setfield(L, -3, variable->name);
        lua_pushstring(L, variable->name);
        lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, -3, "changed");
    if (lua_getfield(L, latest, s->function) == LUA_TTABLE) {
        lua_createtable(L, 0, 1);
        lua_insert(L, -2);
        lua_setfield(L, -2, "__index");
        lua_setmetatable(L, -2);
    } else {
        lua_pop(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, latest, s->function);
    lua_setfield(L, -2, "values");
}

/* Sets `shared` into the step on top: by name the elements of shared memory that it wrote, by index. */
static void set_shared(lua_State *L, const struct simt_trace *t, const struct simt_trace_step *s)
{
    lua_newtable(L);
    for (uint32_t k = 0; k < s->cell_count; k++) {
        const struct simt_trace_cell *c = &t->cells[s->first_cell + k];
        const char *name = t->arrays[c->array].name;
        if (lua_getfield(L, -1, name) != LUA_TTABLE) {
            lua_pop(L, 1);
            lua_newtable(L);
            lua_pushvalue(L, -1);
            lua_setfield(L, -3, name);
        }
        push_scalar(L, c->kind, c->size, c->bits);
        lua_rawseti(L, -2, c->index);
        lua_pop(L, 1);
    }
    lua_setfield(L, -2, "shared");
}

static void set_function(lua_State *L, const struct simt_trace_step *s)
{
    struct rt_signature signature = {0};
    bool read = rt_signature_read(s->function, &signature, NULL) == RT_OK && signature.name;
    lua_pushstring(L, s->function);
    if (read) { /* the name is made before anything may raise, and released at once */
        char name[256];
        size_t n = strlen(signature.name);
        if (n >= sizeof name) n = sizeof name - 1;
        memcpy(name, signature.name, n);
        rt_signature_clear(&signature);
        lua_pop(L, 1);
        lua_pushlstring(L, name, n);
    }
    lua_setfield(L, -2, "func");
}

static void push_steps(lua_State *L, const struct lg_trace *t)
{
    const struct simt_trace *r = t->result;
    lua_createtable(L, (int)r->step_count, 8);
    lua_newtable(L);
    int latest = lua_gettop(L);
    for (uint32_t k = 0; k < r->step_count; k++) {
        const struct simt_trace_step *s = &r->steps[k];
        size_t length = 0;
        const char *source = lg_trace_source(t, s, &length);
        lua_createtable(L, 0, 8);
        lg_set_integer(L, "line", s->line + t->kernel->program->first_line - 1);
        if (source) {
            lua_pushlstring(L, source, length);
            lua_setfield(L, -2, "source");
        }
        lg_set_integer(L, "mask", s->lanes);
        lg_set_integer(L, "active", __builtin_popcount(s->lanes));
        lg_set_integer(L, "depth", s->depth);
        set_function(L, s);
        set_values(L, r, s, latest);
        set_shared(L, r, s);
        lua_rawseti(L, latest - 1, k + 1);
    }
    lua_pop(L, 1);
}

static void set_fields(lua_State *L, const struct lg_trace *t)
{
    lg_set_string(L, "kernel", t->kernel->entry->name);
    lua_createtable(L, 3, 0);
    for (int i = 0; i < 3; i++) {
        lua_pushinteger(L, t->request.block[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "block");
    lg_set_integer(L, "warp", t->request.warp);
    lg_set_integer(L, "total", (lua_Integer)t->result->all_steps);
}

/* ---- the function ---- */
static int clear_result(lua_State *L)
{
    struct lg_trace *t = lua_touserdata(L, 1);
    simt_trace_free(t->result);
    t->result = NULL;
    return 0;
}

static struct lg_trace *push_trace(lua_State *L)
{
    struct lg_trace *t = lua_newuserdatauv(L, sizeof *t, 0);
    *t = (struct lg_trace){0};
    if (luaL_newmetatable(L, "lunarray.trace")) {
        lua_pushcfunction(L, clear_result);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return t;
}

/* Pushes what holds the list of the arguments that are arrays. */
static void find_arrays(lua_State *L, struct lg_trace *t, const struct lg_call *call)
{
    t->arrays = lua_newuserdatauv(L, (call->count + 1) * sizeof *t->arrays, 0);
    for (size_t i = 0; i < call->count && i < call->on->entry->param_count; i++) {
        if (call->args[i].kind != RT_ARG_ARRAY) continue; /* kernels index no tensor maps */
        const struct rt_array *a = call->args[i].as.array;
        uint64_t element = (uint64_t)rt_dtypes[a->dtype].size;
        const char *name = call->on->entry->params[i].name;
        t->arrays[t->array_count++] =
            (struct lg_trace_array){name, rt_array_address(a), (uint64_t)rt_array_size(a) * element, element};
    }
}

static int trace_call(lua_State *L);

static int push_tracer(lua_State *L, const struct tracer *from)
{
    *(struct tracer *)lua_newuserdatauv(L, sizeof *from, 1) = *from;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_pushcclosure(L, trace_call, 1);
    return 1;
}

static int trace_call(lua_State *L)
{
    struct tracer tracer = *(struct tracer *)lua_touserdata(L, lua_upvalueindex(1));
    struct rt_error *e = lg_error_box(L);
    struct lg_call call;
    lua_getiuservalue(L, lua_upvalueindex(1), 1);
    lua_insert(L, 1);
    if (lua_gettop(L) == 2 && lua_istable(L, 2)) {
        read_options(L, 2, &tracer);
        return push_tracer(L, &tracer);
    }
    lg_read_call(L, &tracer.launch, &call);
    struct lg_trace *t = push_trace(L);
    t->kernel = call.on;
    t->launch = call.launch;
    t->request = tracer.request;
    t->shown = tracer.shown;
    find_arrays(L, t, &call);
    t->result = rt_kernel_trace(call.on, &call.launch, call.args, call.count, &tracer.request, e);
    if (!t->result) return lg_raise_kernel(L, e);
    push_steps(L, t);
    set_fields(L, t);
    lg_push_trace_text(L, t);
    lg_push_trace_html(L, t);
    lg_set_forms(L);
    return 1;
}

static int trace(lua_State *L)
{
    struct tracer t = {.request.limit = DEFAULT_STEPS};
    if (lg_test_array(L, 1))
        return luaL_error(L, "gpu.trace follows a kernel; the sum of a matrix's diagonal is gpu.linalg.trace(x)");
    lg_read_launch(L, USAGE, &t.launch);
    return push_tracer(L, &t);
}

static const struct lg_function functions[] = {
    {"trace", trace, "gpu.trace(kernel, grid, block [, options]){block = ..., warp = ...}(...)",
     "Launches a kernel on the software GPU and follows one warp through it, line by line.\n"
     "Options are those of k(grid, block, options). "
     "The table in braces may be left out. It says the block (a number or {x, y, z}) and the warp in it, which count "
     "from 0 and are 0 unless told otherwise; steps, how many to keep (1000); lanes, a lane or a list of those whose "
     "values are listed one by one. Then come the kernel's arguments.\n"
     "A step is a stretch of one source line that the same lanes run, so that one sees lanes part at a branch and meet "
     "behind it. The trace prints as a listing: # is a lane that takes part, and behind the source stand the variables "
     "that the step changed, 0..31 being values that rise from lane to lane, and the elements of shared memory that it wrote. The kernel is "
     "compiled once more for this, without optimisation.\n"
     "The trace is a list of steps with line, source, mask, active (how many lanes), func, depth (of calls), changed (a "
     "list of names) and values: by name a value, or a table by lane (from 0) where lanes differ; a variable that the "
     "step left alone has the value it had. shared has by name a table of the elements of shared memory that the step "
     "wrote, by index; indices count from 0 and one after the other, whatever the dimensions, and without the element's "
     "type, which a kernel does not keep: integers stand with a sign. Fields besides: kernel, block, warp, total (steps, also those not kept).",
     "local k = gpu.kernel [[\n"
     "  __global__ void halve(int *x) {\n"
     "    int i = threadIdx.x;\n"
     "    if (i % 2 == 0)\n"
     "      x[i] = i / 2;\n"
     "  }\n"
     "]]\n"
     "local x = gpu.zeros(32, {dtype = 'int32', device = 'simt'})\n"
     "local steps = gpu.trace(k, 1, 32){warp = 0}(x)\n"
     "print(steps)\n"
     "assert(steps[2].values.i[5] == 5 and steps[2].active == 32)\n"
     "assert(steps[4].active == 16 and steps[4].mask == 0x55555555)"},
    {0}};

void lg_open_trace(lua_State *L)
{
    static const struct lg_function begun = {
        "trace", trace_call, "gpu.trace(kernel, grid, block), to be called with the kernel's arguments",
        "Launches the kernel when it is called with the kernel's arguments; ?gpu.trace tells more.", NULL};
    lg_register(L, "gpu", functions);
    lg_document_call(L, trace_call, &begun);
}
