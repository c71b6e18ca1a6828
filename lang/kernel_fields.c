/* What kernel objects tell: their fields, as text and as HTML. */
#include <string.h>
#include "lang/card.h"
#include "lang/closest.h"
#include "lang/kernel.h"
#include "runtime/spelling.h"

/* "int n, float a, const float *x" in parentheses, of any length. */
static void push_signature(lua_State *L, const struct rt_entry *entry)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '(');
    for (size_t i = 0; i < entry->param_count; i++) {
        const struct rt_param *p = &entry->params[i];
        size_t n = strlen(p->type);
        char last = n ? p->type[n - 1] : 0;
        if (i) luaL_addstring(&b, ", ");
        luaL_addlstring(&b, p->type, n);
        if (!p->name || last == ')' || last == ']') continue;
        if (last != '*' && last != '&') luaL_addchar(&b, ' ');
        luaL_addstring(&b, p->name);
    }
    luaL_addchar(&b, ')');
    luaL_pushresult(&b);
}

static void push_params(lua_State *L, const struct rt_entry *entry)
{
    static const char *const kinds[] = {
        [RT_PARAM_POINTER] = "pointer", [RT_PARAM_VALUE] = "value",     [RT_PARAM_STRUCT] = "struct",
        [RT_PARAM_TEXTURE] = "texture", [RT_PARAM_SURFACE] = "surface", [RT_PARAM_TENSOR_MAP] = "tensormap"};
    lua_createtable(L, (int)entry->param_count, 0);
    for (size_t i = 0; i < entry->param_count; i++) {
        const struct rt_param *p = &entry->params[i];
        lua_createtable(L, 0, 6);
        lg_set_string(L, "name", p->name);
        lg_set_string(L, "type", p->type);
        lg_set_string(L, "kind", kinds[p->kind]);
        if (p->dtype != RT_DTYPE_COUNT) lua_pushstring(L, rt_dtypes[p->dtype].name);
        if (p->dtype != RT_DTYPE_COUNT) lua_setfield(L, -2, "dtype");
        lg_set_integer(L, "size", (lua_Integer)p->size);
        lg_set_integer(L, "offset", (lua_Integer)p->offset);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* Each field and how it is pushed, of the kernel k loaded as r from the program p. */
#define FIELDS(X)                                                                                                      \
    X(name, lua_pushstring(L, r->entry->name))                                                                         \
    X(signature, push_signature(L, r->entry))                                                                          \
    X(params, push_params(L, r->entry))                                                                                \
    X(source, lua_pushstring(L, p->text))                                                                              \
    X(ptx, lua_pushstring(L, p->ptx))                                                                                  \
    X(log, lua_pushstring(L, p->log))                                                                                  \
    X(registers, lua_pushinteger(L, r->registers))                                                                     \
    X(shared, lua_pushinteger(L, r->shared_bytes))                                                                     \
    X(local_bytes, lua_pushinteger(L, r->local_bytes))                                                                 \
    X(max_threads, lua_pushinteger(L, r->max_threads))                                                                 \
    X(device, lg_push_device(L, k->family->devices[0]))                                                                \
    X(compile_ms, lua_pushnumber(L, p->compile_ms))                                                                    \
    X(load_ms, lua_pushnumber(L, p->load_ms))                                                                          \
    X(cached, lua_pushboolean(L, p->cached))                                                                           \
    X(launches, lua_pushinteger(L, (lua_Integer)k->launches.count))                                                    \
    X(launch_ms, push_launch_ms(L, k))                                                                                 \
    X(forall, lua_pushcfunction(L, lg_kernel_forall))                                                                  \
    X(global, lua_pushcfunction(L, lg_kernel_global))                                                                  \
    X(occupancy, lua_pushcfunction(L, lg_kernel_occupancy))

#define NAME(name, push) #name,
static const char *const fields[] = {FIELDS(NAME) NULL};

static void push_launch_ms(lua_State *L, const struct lg_kernel *k)
{
    if (k->launches.count && k->launches.ms >= 0)
        lua_pushnumber(L, k->launches.ms);
    else
        lua_pushnil(L);
}

static bool push_field(lua_State *L, const struct lg_kernel *k, const char *key)
{
    const struct rt_kernel *r = &k->loaded[0];
    const struct rt_program *p = r->program;
#define PUSH(name, push)                                                                                               \
    if (strcmp(key, #name) == 0) {                                                                                     \
        push;                                                                                                          \
        return true;                                                                                                   \
    }
    FIELDS(PUSH)
    return false;
}

static bool has_global(const struct lg_kernel *k, const char *name)
{
    struct rt_array bytes;
    bool found = rt_kernel_global(&k->loaded[0], name, RT_UINT8, &bytes, NULL) == RT_OK;
    if (found) rt_array_release(&bytes);
    return found;
}

/* The field that is spelt nearly so, or that CuPy, Numba and PyCUDA call so; NULL: none. */
static const char *closest_field(const char *name)
{
    static const char *const others[][2] = {{"num_regs", "registers"},
                                            {"shared_size_bytes", "shared"},
                                            {"local_size_bytes", "local_bytes"},
                                            {"max_threads_per_block", "max_threads"},
                                            {"inspect_asm", "ptx"},
                                            {"code", "source"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i][0])) return others[i][1];
    if (!strcmp(name, "launch")) return NULL; /* not how often it was */
    for (int i = 0; fields[i]; i++)
        if (rt_spelling_distance(name, fields[i]) <= (strlen(name) < 6 ? 1 : 2)) return fields[i];
    return NULL;
}

static int kernel_index(lua_State *L)
{
    const struct lg_kernel *k = lg_check_object(L, 1, LG_KERNEL);
    if (lua_type(L, 2) == LUA_TSTRING && push_field(L, k, lua_tostring(L, 2))) return 1;
    if (lua_type(L, 2) == LUA_TSTRING && !strcmp(k->loaded[0].entry->name, lua_tostring(L, 2))) {
        lua_settop(L, 1); /* as in the table that a source with several kernels gives */
        return 1;
    }
    if (lua_type(L, 2) == LUA_TSTRING && has_global(k, lua_tostring(L, 2)))
        return luaL_error(L, "a kernel has no field '%s'; the variable of its source is k:global(\"%s\")",
                          lua_tostring(L, 2), lua_tostring(L, 2));
    if (lua_type(L, 2) != LUA_TSTRING)
        return luaL_error(L, "a kernel is not indexed by a %s; it is launched by k(grid, block)(arguments)",
                          lg_type_name(L, 2));
    const char *name = lua_tostring(L, 2), *close = closest_field(name);
    if (close) return luaL_error(L, "a kernel has no field '%s'; did you mean '%s'?", name, close);
    return luaL_error(L,
                      "a kernel has no field '%s'; it is launched by k(grid, block)(arguments), and "
                      "gpu.help \"kernel\" lists its fields",
                      name);
}

static int kernel_assign(lua_State *L)
{
    const struct lg_kernel *k = lg_check_object(L, 1, LG_KERNEL);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    if (name && has_global(k, name))
        return luaL_error(L,
                          "the variable '%s' of a kernel's source is set by k:global(\"%s\"):copy_(x), or one "
                          "element by k:global(\"%s\")[1] = x",
                          name, name, name);
    return luaL_error(L, "a kernel's fields are not set");
}

static int kernel_fields(lua_State *L)
{
    return lg_push_names(L, fields);
}

static int kernel_tostring(lua_State *L)
{
    const struct lg_kernel *k = lg_check_object(L, 1, LG_KERNEL);
    const struct rt_kernel *r = &k->loaded[0];
    push_signature(L, r->entry);
    lua_pushfstring(L, "kernel %s%s on %s: %d registers", r->entry->name, lua_tostring(L, -1),
                    k->family->devices[0]->name, r->registers);
    if (r->shared_bytes) {
        lua_pushfstring(L, ", %d bytes shared", r->shared_bytes);
        lua_concat(L, 2);
    }
    return 1;
}

static int kernel_display(lua_State *L)
{
    const struct lg_kernel *k = lg_check_object(L, 1, LG_KERNEL);
    lua_createtable(L, 0, 1);
    push_signature(L, k->loaded[0].entry);
    lg_push_kernel_html(L, k, lua_tostring(L, -1));
    lua_setfield(L, -3, "text/html");
    lua_pop(L, 1);
    return 1;
}

/* Documentation of fields, which are not functions. */
static const struct lg_function documented[] = {
    {"name", NULL, "k.name", "The kernel's name, with template arguments.", NULL},
    {"signature", NULL, "k.signature", "The parameters as CUDA C writes them.", NULL},
    {"params", NULL, "k.params", "A list of the parameters: name, type, kind, dtype, size and offset in bytes.", NULL},
    {"source", NULL, "k.source", "The CUDA C that it was compiled from.", NULL},
    {"ptx", NULL, "k.ptx", "The PTX that the compiler made of the source.", NULL},
    {"log", NULL, "k.log", "The compiler's warnings, empty when there were none.", NULL},
    {"registers", NULL, "k.registers", "32-bit registers that one thread uses (on simt an estimate).", NULL},
    {"shared", NULL, "k.shared", "Bytes of shared memory that a block uses, the dynamic ones not counted.", NULL},
    {"local_bytes", NULL, "k.local_bytes", "Bytes of local memory that one thread uses.", NULL},
    {"max_threads", NULL, "k.max_threads", "The largest block that it can be launched with, in threads.", NULL},
    {"device", NULL, "k.device", "The device that it was compiled for first.", NULL},
    {"compile_ms", NULL, "k.compile_ms", "Milliseconds that NVRTC took, now or when the cached PTX was made.", NULL},
    {"load_ms", NULL, "k.load_ms", "Milliseconds that gpu.kernel took to get the PTX, from the cache or by compiling.",
     NULL},
    {"cached", NULL, "k.cached", "Whether the PTX came from the disk cache.", NULL},
    {"launches", NULL, "k.launches",
     "How many launches there were; those of gpu.profile and gpu.trace are not counted.", NULL},
    {"launch_ms", NULL, "k.launch_ms",
     "Milliseconds that the last launch took on the software GPU; nil after one on a GPU, which gpu.time measures.",
     NULL},
    {0}};

void lg_open_kernel_fields(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__index", kernel_index},       {"__newindex", kernel_assign},
                                    {"__tostring", kernel_tostring}, {"__fields", kernel_fields},
                                    {"__display", kernel_display},   {NULL, NULL}};
    luaL_setfuncs(L, meta, 0);
}

void lg_document_kernel_fields(lua_State *L)
{
    for (const struct lg_function *row = documented; row->name; row++) lg_document(L, "kernel", row);
}
