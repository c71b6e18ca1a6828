/* gpu.kernel: from a string of CUDA C to kernel objects. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <string.h>
#include "lang/check.h"
#include "lang/hint.h"
#include "lang/kernel.h"

#define MAX_LEVELS 20 /* callers that are searched for the text of a kernel */

int lg_raise_kernel(lua_State *L, struct rt_error *e)
{
    bool placed = e->status == RT_COMPILE || e->status == RT_FAULT || e->status == RT_UNSUPPORTED ||
                  (e->status == RT_NOMEM && strchr(e->text, '\n')); /* a stack that is full, with its line */
    if (!placed) return lg_raise(L, e);
    enum rt_status status = e->status;
    if (status != RT_COMPILE || !lg_push_outer_name(L, e->text)) lua_pushstring(L, e->text);
    rt_error_clear(e);
    lg_note_status(L, status);
    return lua_error(L);
}

/* ---- where the source stands ---- */

static int count_lines(const char *from, const char *to)
{
    int n = 0;
    for (; from < to && (from = memchr(from, '\n', (size_t)(to - from))); from++) n++;
    return n;
}

static const char *line_start(const char *text, size_t length, int line)
{
    const char *s = text, *end = text + length;
    while (--line > 0 && (s = memchr(s, '\n', (size_t)(end - s)))) s++;
    return s ? s : end;
}

/* The line of the chunk that the kernel's text begins on: searched from the caller's line on, then in all of it. */
static int find_text(const char *chunk, size_t chunk_length, const char *text, size_t length, int caller_line)
{
    const char *from = line_start(chunk, chunk_length, caller_line);
    const char *at = length ? memmem(from, (size_t)(chunk + chunk_length - from), text, length) : NULL;
    if (!at && length) at = memmem(chunk, chunk_length, text, length);
    return at ? 1 + count_lines(chunk, at) : 0;
}

void lg_find_source(lua_State *L, lua_Debug *ar, struct rt_source *source)
{
    lua_Debug nearest = {.currentline = 0};
    bool known = false;
    source->name = "kernel";
    source->first_line = 1;
    for (int level = 1; level < MAX_LEVELS && lua_getstack(L, level, ar); level++) {
        lua_getinfo(L, "Sl", ar);
        if (ar->currentline <= 0) continue; /* a C function such as pcall */
        size_t length;
        const char *chunk = lg_chunk_source(L, ar->source, &length);
        int line = chunk ? find_text(chunk, length, source->text, source->length, ar->currentline) : 0;
        lua_pop(L, 1);
        if (!nearest.currentline) {
            nearest = *ar;
            known = chunk != NULL;
        }
        if (!line) continue;
        source->name = ar->short_src;
        source->first_line = line;
        return;
    }
    if (!nearest.currentline) return;
    *ar = nearest;
    source->name = ar->short_src;
    source->first_line = ar->currentline + (memchr(source->text, '\n', source->length) != NULL);
    if (!known) return;
    source->name = lua_pushfstring(L, "(kernel at %s:%d)", ar->short_src, ar->currentline);
    source->first_line = 1;
}

/* ---- arguments ---- */

/* The table's list of strings as C strings, which it keeps alive. Leaves one value on the stack. */
static const char *const *string_list(lua_State *L, int table, const char *key, size_t *count)
{
    *count = 0;
    int type = lua_getfield(L, table, key);
    if (type == LUA_TNIL) return NULL;
    if (type == LUA_TSTRING) { /* a single one needs no list */
        const char **one = lua_newuserdatauv(L, sizeof *one, 1);
        *one = lua_tostring(L, -2);
        lua_insert(L, -2);
        lua_setiuservalue(L, -2, 1);
        *count = 1;
        return one;
    }
    if (type != LUA_TTABLE) luaL_error(L, "kernel: '%s' must be a list of strings, got %s", key, lg_type_name(L, -1));
    size_t n = (size_t)lua_rawlen(L, -1);
    const char **list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 1);
    for (size_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, -2, (lua_Integer)i + 1) != LUA_TSTRING)
            luaL_error(L, "kernel: '%s' must be a list of strings, got %s", key, lg_type_name(L, -1));
        list[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
    *count = n;
    return list;
}

static void check_keys(lua_State *L, int table)
{
    static const char *const known[] = {"source", "file",  "name", "options", "instantiate",
                                        "device", "chunk", "line", NULL};
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TNUMBER && lua_tointeger(L, -2) == 1) continue;
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : lg_type_name(L, -2);
        bool found = false;
        for (const char *const *k = known; *k && !found; k++) found = strcmp(*k, key) == 0;
        if (!found)
            luaL_error(L, "kernel: there is no option '%s'; there are source, file, name, options, instantiate, device",
                       key);
    }
}

/* Pushes the text of kernel{file = "saxpy.cu"}, whose path is at the top, and makes it the source. */
static void read_source_file(lua_State *L, struct rt_source *source)
{
    char chunk[4096];
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "kernel: 'file' must be the path of a file, got %s", lg_type_name(L, -1));
    const char *path = lua_tostring(L, -1);
    if (lua_getfield(L, 1, "source") != LUA_TNIL || lua_rawgeti(L, 1, 1) != LUA_TNIL)
        luaL_error(L, "kernel: there are a file and a source, expected one of them");
    if ((size_t)snprintf(chunk, sizeof chunk, "@%s", path) >= sizeof chunk)
        luaL_error(L, "kernel: the path is too long");
    source->text = lg_chunk_source(L, chunk, &source->length);
    if (!source->text) luaL_error(L, "kernel: cannot read the file '%s'", path);
    source->name = path;
    source->first_line = 1;
}

/* Headers beside the file are found, wherever cells work. */
static void include_folder(lua_State *L, struct rt_source *source)
{
    const char *slash = strrchr(source->name, '/');
    if (!slash) return;
    const char **list = lua_newuserdatauv(L, (source->option_count + 1) * sizeof *list, 0);
    lua_pushliteral(L, "-I");
    lua_pushlstring(L, source->name, slash > source->name ? (size_t)(slash - source->name) : 1);
    lua_concat(L, 2);
    list[0] = lua_tostring(L, -1);
    for (size_t i = 0; i < source->option_count; i++) list[i + 1] = source->options[i];
    source->options = list;
    source->option_count++;
}

struct request {
    struct rt_source source;
    bool from_file;
    const char *kernel; /* the one that is wanted, or NULL */
    struct rt_device *device;
    lua_Debug ar;
};

static void read_options(lua_State *L, int table, struct request *r)
{
    check_keys(L, table);
    r->source.options = string_list(L, table, "options", &r->source.option_count);
    if (r->from_file) include_folder(L, &r->source);
    r->source.instantiations = string_list(L, table, "instantiate", &r->source.instantiation_count);
    if (lua_getfield(L, table, "name") != LUA_TNIL) {
        if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "kernel: 'name' must be a string");
        r->kernel = lua_tostring(L, -1);
    }
    if (lua_getfield(L, table, "device") != LUA_TNIL) r->device = lg_check_device(L, -1);
    if (lua_getfield(L, table, "chunk") == LUA_TSTRING) r->source.name = lua_tostring(L, -1);
    if (lua_getfield(L, table, "line") == LUA_TNUMBER) r->source.first_line = (int)lua_tointeger(L, -1);
}

static void read_request(lua_State *L, struct request *r)
{
    *r = (struct request){0};
    bool table_only = lua_istable(L, 1);
    int options = table_only ? 1 : 2;
    lua_settop(L, 2); /* what is pushed below must not look like an argument */
    if (table_only) {
        if (lua_getfield(L, 1, "file") != LUA_TNIL) {
            read_source_file(L, &r->source);
            r->from_file = true;
        } else if (lua_getfield(L, 1, "source") == LUA_TSTRING || lua_rawgeti(L, 1, 1) == LUA_TSTRING) {
            r->source.text = lua_tolstring(L, -1, &r->source.length);
        }
    } else if (lua_type(L, 1) == LUA_TSTRING) {
        r->source.text = lua_tolstring(L, 1, &r->source.length);
    }
    if (!r->source.text)
        luaL_error(L, "kernel: expected a string of CUDA C, or a table with it as source, got %s", lg_type_name(L, 1));
    if (lua_type(L, 1) == LUA_TSTRING && strstr(r->source.text, ".cu") && !strpbrk(r->source.text, "\n{;#"))
        luaL_error(L, "kernel: '%s' is no CUDA C; a file's is gpu.kernel{file = \"saxpy.cu\"}", r->source.text);
    if (!r->source.name) lg_find_source(L, &r->ar, &r->source);
    if (!table_only && lua_type(L, 2) == LUA_TSTRING)
        luaL_error(L, "kernel: options are a table, got a string; one kernel of several is chosen by {name = \"%s\"}",
                   lua_tostring(L, 2));
    if (!table_only && !lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    if (lua_istable(L, options)) read_options(L, options, r);
    if (!r->device) r->device = lg_check_device(L, lua_gettop(L) + 1);
}

/* ---- compiling ---- */

/* A family in a userdata box that releases it should something raise; pushes the box. */
static int release_box(lua_State *L)
{
    struct lg_family **box = lua_touserdata(L, 1);
    lg_family_release(*box);
    *box = NULL;
    return 0;
}

static struct lg_family *push_family(lua_State *L)
{
    struct lg_family **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = NULL;
    lg_set_event(L, "__gc", release_box);
    *box = rt_calloc(1, sizeof **box);
    if (!*box) luaL_error(L, "out of memory");
    (*box)->references = 1;
    return *box;
}

/* Pushes the names of the kernels in the order of the program, which is that of the source but for instances of
 * templates. */
static void push_names(lua_State *L, const struct rt_program *p)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < p->entry_count; i++) {
        if (i) luaL_addstring(&b, ", ");
        luaL_addstring(&b, p->entries[i].name);
    }
    luaL_pushresult(&b);
}

/* k:global(name) of a table of kernels, which share the variables of their source. Upvalue 1: one of them, since what
 * the table has is its user's. */
static int kernels_global(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_replace(L, 1);
    lua_getfield(L, 1, "global");
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

/* __index of such a table, for names that it does not have. Upvalues: their names, one of the kernels. */
static int no_such_kernel(lua_State *L)
{
    const char *name = luaL_tolstring(L, 2, NULL);
    if (strcmp(name, "global") == 0) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_pushcclosure(L, kernels_global, 1);
        return 1;
    }
    return luaL_error(L, "the source has no kernel '%s'; it has %s", name, lua_tostring(L, lua_upvalueindex(1)));
}

/* __call of such a table, likewise. */
static int which_kernel(lua_State *L)
{
    return luaL_error(
        L, "the source has several kernels: %s; launch one by its name, as in k.name(grid, block)(arguments)",
        lua_tostring(L, lua_upvalueindex(1)));
}

static void push_kernels(lua_State *L, struct lg_family *f, const struct rt_program *p)
{
    lua_createtable(L, 0, (int)p->entry_count);
    for (size_t i = 0; i < p->entry_count; i++) {
        lg_push_kernel(L, f, p->entries[i].name);
        lua_setfield(L, -2, p->entries[i].name);
    }
    static const luaL_Reg meta[] = {{"__index", no_such_kernel}, {"__call", which_kernel}, {0}};
    luaL_newlibtable(L, meta);
    push_names(L, p);
    lua_getfield(L, -3, p->entries[0].name);
    luaL_setfuncs(L, meta, 2);
    for (size_t i = 0; i < p->entry_count; i++) { /* a table's own keys have no order */
        lua_pushstring(L, p->entries[i].name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setmetatable(L, -2);
}

/* Whether the first line of a message is a warning about the source itself; other ones are of headers. Variables that
 * are not used are no reason to speak. Sets *name_end to where the position ends, *number to that of the warning. */
static bool is_own_warning(const char *line, const char *name, const char **name_end, const char **number)
{
    static const char *const harmless[] = {"177-D", "550-D"}; /* declared or set, but never used */
    size_t n = strlen(name);
    if (strncmp(line, name, n) != 0 || line[n] != ':') return false;
    *name_end = line + n + 1 + strspn(line + n + 1, "0123456789");
    if (strncmp(*name_end, ": warning #", 11) != 0) return false;
    *number = *name_end + 11;
    for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++)
        if (strncmp(*number, harmless[k], 5) == 0) return false;
    return true;
}

/* Has Lua warn of what the compiler warns of, which scripts leave off and sessions show: once for a text, be it that a
 * loop compiles the same source again and again. */
static void warn_of(lua_State *L, const struct rt_program *p)
{
    static const char last;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    bool kept = false, any = false;
    for (const char *line = p->log, *end; *line; line = end + (*end != 0)) {
        const char *name_end, *number;
        end = line + strcspn(line, "\n");
        if (*line == ' ') {
            if (kept) luaL_addlstring(&b, line - 1, (size_t)(end - line) + 1);
            continue;
        }
        kept = is_own_warning(line, p->name, &name_end, &number);
        if (!kept) continue;
        if (any) luaL_addstring(&b, "\nwarning: ");
        luaL_addlstring(&b, line, (size_t)(name_end - line));
        luaL_addstring(&b, ": #");
        luaL_addlstring(&b, number, (size_t)(end - number));
        any = true;
    }
    luaL_pushresult(&b);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &last);
    if (any && !lua_rawequal(L, -1, -2)) lua_warning(L, lua_tostring(L, -2), 0);
    lua_pop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &last);
}

int lg_make_kernel(lua_State *L)
{
    struct request r;
    struct rt_error *e = lg_error_box(L);
    read_request(L, &r);
    struct lg_family *f = push_family(L);
    struct rt_program *p = rt_compile(r.device, &r.source, e);
    if (!p) return lg_raise_kernel(L, e);
    f->modules[0] = rt_module_load(r.device, p, e);
    if (!f->modules[0]) return lg_raise_kernel(L, e);
    f->devices[0] = r.device;
    f->count = 1;
    warn_of(L, p);
    if (r.kernel || p->entry_count <= 1)
        lg_push_kernel(L, f, r.kernel);
    else
        push_kernels(L, f, p);
    return 1;
}

static const struct lg_function functions[] = {
    {"kernel", lg_make_kernel, "gpu.kernel(source [, options])",
     "Compiles CUDA C and gives back its kernel, which is its own field of its name, too; with several __global__ "
     "functions a table of kernels by name.\n"
     "k(grid, block [, shared [, stream]])(...) launches it as <<<grid, block, shared, stream>>> does: grid and block are numbers or "
     "{x, y, z}, shared is bytes of dynamic shared memory. k:forall(n)(...) chooses the launch size for n threads.\n"
     "A pointer takes an array, a float3 or another vector {x, y, z}, another struct a string with its bytes, as "
     "string.pack makes it.\n"
     "In place of shared may stand {shared = bytes, cooperative = true}: in a cooperative launch all blocks are "
     "resident at once, so that cooperative_groups' grid().sync() works. {cluster = blocks or {x, y, z}} makes clusters, "
     "whose blocks read each other's shared memory (this_cluster(), compute capability 9.0); as __cluster_dims__ do. "
     "{check = true}, false or \"strict\": see gpu.check.\n"
     "Options: name = the kernel wanted of several, options = {\"-DN=4\", ...} for the compiler, instantiate = "
     "{\"scale<float>\"} for templates, device. A table with source, or file, a path, may stand for both "
     "arguments; headers are looked for beside the file, too.\n"
     "Where ]] is in the source, as in x[y[i]], it stands in [=[ ... ]=].\n"
     "Source that does not compile raises the compiler's messages with the lines of the cell or file. Of its warnings, "
     "which k.log has, a session shows those that hint at faults (\"%d\" with a float); warn \"@off\" silences them.",
     "local twice = gpu.kernel [[\n"
     "  __global__ void twice(int n, float *x) {\n"
     "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "    if (i < n) x[i] *= 2;\n"
     "  }\n"
     "]]\n"
     "local x = gpu.ones(5)\n"
     "twice(1, 32)(5, x)\n"
     "assert(x:sum() == 10)"},
    {0}};

void lg_open_kernel(lua_State *L)
{
    lg_open_kernel_objects(L);
    lg_register(L, "gpu", functions);
    lg_open_time(L);
    lg_open_vectorize(L);
    lg_open_combine(L);
    lg_open_check(L);
}
