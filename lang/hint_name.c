/* What was probably meant by a name that has no value: another language's word, a function without its table, a slip of
 * the finger. */
#include <stdio.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/hint.h"
#include "lang/lang.h"
#include "lang/lookup.h"
#include "lang/session_state.h"

#define MOST_TABLES 20  /* that are followed by __index */
#define MOST_CELLS  200 /* that are looked through */
#define MOST_OPEN   16  /* parentheses in each other */
#define PLOT        "pictures are drawn by gpu.plot(x, y), gpu.scatter, gpu.bar, gpu.hist and gpu.imshow(x)"
#define FORMULA     "a formula is written display.markdown(\"$x^2$\"); an array has x:latex()"
#define PICTURE     "an array is shown by gpu.imshow(x); a picture in a file by gpu.imshow(gpu.load(\"x.png\"))"
#define PLACED      "arrays are on one device, with nothing to prefetch; x:to(\"cpu\") copies"
#define RAISED      "what goes wrong in a launch is an error of the line that launches; pcall catches it"
#define CUDA        "it is known in CUDA C only, in gpu.kernel [[ ... ]]"

/* Names that other languages have, where Lua's and gpu's tables have no such key. */
static const struct {
    const char *name, *text;
} names[] = {
    {"len", "the length of a string or table is #x; an array has x.size and x.shape"},
    {"range", "from 0 to 9 it is for i = 0, 9 do ... end; gpu.range(0, 9) is an array"},
    {"str", "it is written tostring(x)"},
    {"int", "it is written math.floor(x), or tonumber(text)"},
    {"float", "it is written tonumber(text); a whole number becomes floating by x + 0.0"},
    {"null", "it is written nil"},
    {"NULL", "it is written nil"},
    {"nullptr", "it is written nil"},
    {"None", "it is written nil"},
    {"True", "it is written true"},
    {"False", "it is written false"},
    {"quit", "it is written os.exit(); the shell is left by Ctrl-D, too"},
    {"exit", "it is written os.exit(); the shell is left by Ctrl-D, too"},
    {"printf", "it is written print(string.format(\"%d\", n)); in a kernel printf works"},
    {"cout", "it is written print(x)"},
    {"console", "it is written print(x)"},
    {"help", "?gpu.ones shows help; gpu.help() lists what there is"},
    {"dir", "gpu.help() lists what there is; a table's keys come by pairs(t)"},
    {"enumerate", "it is written for i, v in ipairs(t) do"},
    {"zip", "it is written for i = 1, #a do ... a[i] ... b[i] ... end"},
    {"#", "#x is the length of a string or table, and of an array's first axis; a comment begins with --"},
    {"append", "it is written t[#t + 1] = x, of arrays gpu.concatenate({x, y})"},
    {"isinstance", "it is written type(x) == \"number\""},
    {"input", "it is written io.read()"},
    {"sorted", "it is written table.sort(t), or of an array x:sort()"},
    {"system", "it is written !command, or os.execute(\"command\")"},
    {"try", "what may fail is called by pcall: local ok, e = pcall(f, x)"},
    {"throw", "it is written error(\"text\")"},
    {"pow", "it is written x ^ y"},
    {"power", "it is written x ^ y"},
    {"cudaMalloc", "memory is that of arrays: gpu.zeros(n), gpu.empty(n)"},
    {"cudaMallocManaged", "memory is that of arrays: gpu.zeros(n), gpu.empty(n)"},
    {"cudaFree", "an array's memory is freed with it, or at once by x:free()"},
    {"cudaMemcpy",
     "gpu.array(t) brings a table to the device, x:to(\"cpu\") copies an array, x:totable() makes a table"},
    {"cudaMallocPitch", "memory is that of arrays, whose rows follow each other: gpu.zeros(rows, columns)"},
    {"cudaMemGetInfo", "it is written gpu.memory()"},
    {"cudaMemset", "it is written x:fill(0)"},
    {"cudaMemcpyToSymbol", "it is written k:global(\"w\")[{}] = t"},
    {"cudaMemPrefetchAsync", PLACED},
    {"cudaGetLastError", RAISED},
    {"cudaPeekAtLastError", RAISED},
    {"cudaGetErrorString", RAISED},
    {"cudaGetDeviceProperties", "they are fields of gpu.device()"},
    {"cudaGetDeviceCount", "it is written #gpu.devices()"},
    {"cudaSetDevice", "it is written gpu.device(\"cuda:0\")"},
    {"cudaDeviceSynchronize", "it is written gpu.synchronize()"},
    {"cudaEventCreate", "it is written gpu.event(), or gpu.time(function() ... end) where only the time is wanted"},
    {"cudaEventRecord", "it is written e:record()"},
    {"cudaEventSynchronize", "it is written e:synchronize()"},
    {"cudaEventElapsedTime", "it is written e:elapsed(later), in milliseconds"},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", "it is written k:occupancy(block).blocks"},
    {"cudaOccupancyMaxPotentialBlockSize", "k:forall(n)(x) chooses the block; k:occupancy() is of all of them"},
    {"cudaLaunchCooperativeKernel", "it is written k(grid, block, {cooperative = true})(x)"},
    {"dim3", LG_HINT_GRID},
    {"ncu", "it is written gpu.profile(k, grid, block)(x)"},
    {"nsys", "it is written gpu.time(f), gpu.benchmark(f) or gpu.profile(k, grid, block)(x)"},
    {"cudaStreamCreate", "it is written gpu.stream()"},
    {"cudaMallocHost", "it is written gpu.pinned(n)"},
    {"cudaHostAlloc", "it is written gpu.pinned(n)"},
    {"cudaGraphLaunch", "it is written g:launch(), of g = gpu.graph(f)"},
    {"nvtxRangePush", "it is written gpu.nvtx.push(name)"},
    {"cudaStreamSynchronize", "it is written s:synchronize(), of s = gpu.stream()"},
    {"cudaStreamWaitEvent", "it is written s:wait(event)"},
    {"cudaMemcpyAsync", "it is written s:with(function() y:copy_(x) end), of s = gpu.stream()"},
    {"cuda", "it is written gpu; ?cuda tells what is where"},
    {"threadIdx", CUDA},
    {"blockIdx", CUDA},
    {"blockDim", CUDA},
    {"gridDim", CUDA},
    {"__syncthreads", CUDA},
    {"atomicAdd", CUDA ", of arrays x:scatter_add_ adds so"},
    {"ls", "a command is written !ls"},
    {"cat", "a command is written !cat file"},
    {"nvcc", "a command is written !nvcc; kernels are compiled by gpu.kernel [[ ... ]]"},
    {"nvidia", "a command is written !nvidia-smi; gpu.device() shows the device"},
    {"pip", "a command is written !pip"},
    {"pwd", "it is written %pwd"},
    {"cd", "it is written %cd folder"},
    {"who", "it is written %who"},
    {"whos", "it is written %whos"},
    {"timeit", "it is written %timeit f(x); gpu.benchmark has options"},
    {"clear", "Ctrl-L clears the screen; %reset forgets the variables"},
    {"plt", PLOT},
    {"pyplot", PLOT},
    {"matplotlib", PLOT},
    {"tqdm", "it is written for i in gpu.progress(n) do ... end"},
    {"trange", "it is written for i in gpu.progress(n) do ... end"},
    {"widgets", "sliders and menus are made by interact(f, {n = {1, 100}})"},
    {"ipywidgets", "sliders and menus are made by interact(f, {n = {1, 100}})"},
    {"HTML", "it is written display.html(text)"},
    {"Markdown", "it is written display.markdown(text)"},
    {"SVG", "it is written display.svg(text)"},
    {"Latex", FORMULA},
    {"Math", FORMULA},
    {"latex", FORMULA},
    {"Image", PICTURE},
    {"image", PICTURE},
    {"clear_output", "it is written display.clear()"},
    {"sleep", "it is written os.execute(\"sleep 1\")"},
    {"time", "os.time() and os.clock() tell the time, gpu.time(f) and %time measure it; os.execute(\"sleep 1\") waits"},
    {"random", "a number is math.random(), arrays are gpu.random.uniform(0, 1, n) and gpu.random.normal(0, 1, n)"},
    {"continue", "Lua has no continue: goto continue leaves the round where ::continue:: stands before its end"},
    {"getcwd", "it is written io.popen(\"pwd\"):read(), or %pwd"},
    {"chdir", "it is written %cd folder"},
    {"listdir", "it is written for name in io.popen(\"ls\"):lines() do, or !ls"},
    {"sys", "a script's arguments are in arg, _VERSION is Lua's; os.exit() leaves"},
    {"json", "a file of numbers is read by gpu.load(\"x.json\"), written by gpu.save(\"x.json\", x)"},
    {"re", "patterns are Lua's own, s:match(\"%d+\"), s:gmatch(\"%a+\"), s:gsub(\"a\", \"b\")"},
    {"pass", "an empty block has nothing in it: if x then end"},
    {"vars", "it is written %whos"},
    {"globals", "it is written %whos"},
    {"locals", "it is written %whos"},
    {"del", "a name is let go by x = nil, an array's memory by x:free()"},
    {"map",
     "it is written for i, v in ipairs(t) do t[i] = f(v) end; of arrays x:sqrt() and 2 * x work on all elements"},
    {"filter", "it is written for i, v in ipairs(t) do if f(v) then ... end end; of arrays x[x:gt(0)]"},
    {"any", "of arrays it is x:any()"},
    {"all", "of arrays it is x:all()"},
    {"shape", "it is a field of arrays, x.shape"},
    {"round", "it is written math.floor(x + 0.5), or of arrays gpu.round(x)"},
    {"clamp", "it is written math.max(low, math.min(x, high)), or of arrays x:clip(low, high)"},
    {"sign", "it is written x > 0 and 1 or x < 0 and -1 or 0, or of arrays x:sign()"},
    {"list", "a list is a table, {1, 2, 3}"},
    {"dict", "a table is made by {a = 1, b = 2}"},
};

/* Methods that strings and lists have elsewhere, and fields that are their lengths. */
static const struct {
    const char *name, *of_string, *of_table;
} methods[] = {
    {"split", "it is written for word in s:gmatch(\"[^,]+\") do", NULL},
    {"strip", "it is written s:match(\"^%s*(.-)%s*$\")", NULL},
    {"trim", "it is written s:match(\"^%s*(.-)%s*$\")", NULL},
    {"replace", "it is written s:gsub(\"a\", \"b\"), whose first argument is a pattern", NULL},
    {"startswith", "it is written s:sub(1, #t) == t", NULL},
    {"endswith", "it is written s:sub(-#t) == t", NULL},
    {"contains", "it is written s:find(t, 1, true)", NULL},
    {"index", "it is written s:find(t, 1, true)", NULL},
    {"join", "it is written table.concat(t, s)", "it is written table.concat(t, \", \")"},
    {"append", "strings are joined by .., s = s .. t", "it is written t[#t + 1] = x"},
    {"push", "strings are joined by .., s = s .. t", "it is written t[#t + 1] = x"},
    {"push_back", "strings are joined by .., s = s .. t", "it is written t[#t + 1] = x"},
    {"map", NULL, "it is written for i, v in ipairs(t) do t[i] = f(v) end"},
    {"filter", NULL, "it is written for _, v in ipairs(t) do if f(v) then u[#u + 1] = v end end"},
    {"forEach", NULL, "it is written for _, v in ipairs(t) do f(v) end"},
    {"extend", NULL, "it is written for _, x in ipairs(u) do t[#t + 1] = x end"},
    {"pop", NULL, "it is written table.remove(t)"},
    {"keys", NULL, "its keys come by for k in pairs(t) do"},
    {"values", NULL, "its values come by for _, v in pairs(t) do"},
    {"items", NULL, "keys and values come by for k, v in pairs(t) do"},
    {"get", NULL, "it is written t[k] or 0"},
    {"len", "its length is #s", "its length is #t"},
    {"length", "its length is #s", "its length is #t"},
    {"getn", NULL, "its length is #t"},
    {"size", "its length is #s", "its length is #t"},
};

/* A library's usual name: what it has is in gpu, mostly by the same name. */
static const char *const libraries[] = {"np",  "numpy", "cp",     "cupy", "torch", "numba",
                                        "jnp", "jax",   "pycuda", "tf",   "scipy"};

/* Pushes the table that names are looked up in: that of the session's variables; a script's are globals. */
static void push_scope(lua_State *L)
{
    lg_push_env(L);
    if (lua_istable(L, -1)) return;
    lua_pop(L, 1);
    lua_pushglobaltable(L);
}

/* Pushes what the name before the '.' or ':' that the place follows stands for; or nothing. */
static bool push_owner(lua_State *L, const struct lg_place *p, struct lg_token *owner)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    *owner = before;
    if (!p->at) return false;
    lg_lexer_init(&x, p->text, (size_t)(p->at - p->text));
    while (lg_lexer_code(&x, &t)) {
        *owner = before;
        before = t;
    }
    if (owner->kind != LG_TOKEN_NAME || (!lg_token_is(&x, &before, ".") && !lg_token_is(&x, &before, ":")))
        return false;
    push_scope(L);
    lua_pushlstring(L, p->text + owner->start, owner->end - owner->start);
    if (lg_push_field(L, -2)) {
        lua_remove(L, -2);
        return true;
    }
    lua_settop(L, -2);
    return false;
}

/* Pushes a hint, where a table of functions has the name as its key that stands alone here. */
static bool push_qualified(lua_State *L, const char *name)
{
    static const char *const tables[] = {"math", "gpu", "os", "io", "table", "string"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int top = lua_gettop(L);
        bool found =
            lua_getglobal(L, tables[i]) == LUA_TTABLE && (lua_pushstring(L, name), lua_rawget(L, -2) != LUA_TNIL);
        lua_settop(L, top);
        if (!found) continue;
        bool arrays = i == 0 && lua_getglobal(L, "gpu") == LUA_TTABLE && (lua_pushstring(L, name), lua_rawget(L, -2));
        lua_settop(L, top);
        if (arrays)
            lua_pushfstring(L, "it is written math.%s(x), or of arrays gpu.%s(x)", name, name);
        else
            lua_pushfstring(L, "it is written %s.%s", tables[i], name);
        return true;
    }
    return false;
}

bool lg_is_library(const char *name)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(libraries[i], name) == 0) return true;
    return false;
}

const char *lg_hint_word(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) return names[i].text;
    return lg_is_library(name)
               ? "arrays and their functions are in gpu, as gpu.zeros(3); ?numpy and ?cuda tell what is otherwise"
               : NULL;
}

static bool push_foreign(lua_State *L, const char *name)
{
    const char *text = lg_hint_word(name);
    if (text) lua_pushstring(L, text);
    return text != NULL;
}

/* Pushes the known name that is closest, if one is close; of a table's keys, or of those that it has by __index. */
static bool push_similar(lua_State *L, int table, int other, const char *name)
{
    const char *best = lg_closest_key(L, table, name, NULL);
    if (other) best = lg_closest_key(L, other, name, best);
    lua_pushvalue(L, table);
    for (int i = 0; i < MOST_TABLES && luaL_getmetafield(L, -1, "__index") == LUA_TTABLE; i++) {
        lua_replace(L, -2);
        best = lg_closest_key(L, lua_gettop(L), name, best);
    }
    if (!best) return false;
    lua_pushfstring(L, "did you mean '%s'?", best);
    return true;
}

/* A method, or a field, that values of this type have in other languages. */
static bool push_habit(lua_State *L, int type, const char *name)
{
    if (type != LUA_TSTRING && type != LUA_TTABLE) return false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const char *text = type == LUA_TSTRING ? methods[i].of_string : methods[i].of_table;
        if (!text || strcmp(methods[i].name, name) != 0) continue;
        lua_pushstring(L, text);
        return true;
    }
    lua_getglobal(L, "table");
    if (type != LUA_TTABLE || !lua_istable(L, -1) || lua_getfield(L, -1, name) != LUA_TFUNCTION) return false;
    lua_pushfstring(L, "it is written table.%s(t, ...)", name);
    return true;
}

/* "... (global 'name')": pushes the name. */
static const char *quoted(lua_State *L, const char *message, const char *kind)
{
    const char *at = strstr(message, kind);
    if (!at) return NULL;
    at += strlen(kind);
    return lua_pushlstring(L, at, strcspn(at, "'"));
}

/* Another language's word is called or stands alone (`use`); one that has a field or is reckoned with, as list in
 * list.x, may be a slip in the name of a variable, too. */
static bool push_for_global(lua_State *L, const char *name, bool use)
{
    lg_push_env(L);
    if (lua_istable(L, -1))
        lg_push_variables(L);
    else
        lua_pushglobaltable(L);
    int variables = lua_gettop(L);
    if (!use && push_similar(L, variables, 0, name)) return true;
    if (push_foreign(L, name) || push_qualified(L, name)) return true;
    lua_pushglobaltable(L);
    return push_similar(L, variables, lua_gettop(L), name);
}

/* Whether the statement at t, behind a comma of a list of names, gives the name nothing, as in a, b = x.shape. */
static bool is_left_by_shape(struct lg_lexer x, struct lg_token t, const char *name)
{
    struct lg_token last = {0};
    size_t n = strlen(name);
    if (t.kind != LG_TOKEN_NAME || t.end - t.start != n || memcmp(x.text + t.start, name, n) != 0) return false;
    do
        if (!lg_lexer_code(&x, &t)) return false;
    while (t.kind == LG_TOKEN_NAME || lg_token_is(&x, &t, ","));
    if (!lg_token_is(&x, &t, "=")) return false;
    for (; lg_lexer_code(&x, &t) && (lg_token_is(&x, &t, ".") || (t.kind == LG_TOKEN_NAME && last.kind != t.kind));
         last = t)
        ;
    return last.end - last.start == 5 && memcmp(x.text + last.start, "shape", 5) == 0 &&
           (t.kind == LG_TOKEN_END || t.kind == LG_TOKEN_NAME || t.kind == LG_TOKEN_KEYWORD ||
            lg_token_is(&x, &t, ";"));
}

static bool leaves_nil(const char *text, size_t length, const char *name)
{
    struct lg_lexer x;
    struct lg_token t;
    bool comma = false;
    lg_lexer_init(&x, text, length);
    for (; lg_lexer_code(&x, &t); comma = lg_token_is(&x, &t, ","))
        if (comma && is_left_by_shape(x, t, name)) return true;
    return false;
}

/* A variable without a value that was to have a part of a shape, by this chunk or an earlier cell. */
static bool push_for_shape(lua_State *L, const char *source, size_t source_length, const char *name)
{
    struct lg_session *s = lg_session_of(L);
    bool found = leaves_nil(source, source_length, name);
    for (int n = s ? s->count : 0, least = n - MOST_CELLS; !found && n > 0 && n > least; n--) {
        char chunk[32];
        size_t length;
        snprintf(chunk, sizeof chunk, "=cell %d", n);
        const char *text = lg_chunk_source(L, chunk, &length);
        found = text && leaves_nil(text, length, name);
        lua_pop(L, 1);
    }
    if (found) lua_pushliteral(L, LG_HINT_SHAPE);
    return found;
}

bool lg_push_nil(lua_State *L, const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token name, t;
    bool alone = true;
    const char *cell = code;
    size_t cell_length = length;
    lg_last_line(&code, &length);
    lg_lexer_init(&x, code, length);
    if (!lg_lexer_code(&x, &name) || name.kind != LG_TOKEN_NAME) return false;
    for (; lg_lexer_code(&x, &t); alone = false)
        if (!lg_token_is(&x, &t, ".") || !lg_lexer_code(&x, &t) || t.kind != LG_TOKEN_NAME) return false;
    int top = lua_gettop(L);
    luaL_checkstack(L, 32, NULL);
    lua_pushlstring(L, code + name.start, name.end - name.start);
    const char *text = lua_tostring(L, -1);
    if (alone && (push_for_shape(L, cell, cell_length, text) || push_for_global(L, text, true)))
        lua_pushfstring(L, "nil\n  hint: %s", lua_tostring(L, -1));
    else
        lua_pushliteral(L, "nil");
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return true;
}

/* Whether an array stands before the place and its dot without being a variable: gpu.ones(3).sum(), x[1].sum(),
 * x.T.sum(). */
static bool follows_array(const struct lg_place *p)
{
    static const char *const ends[] = {")", "]", ".T", ".real", ".imag"};
    size_t length = (size_t)(p->at - 1 - p->text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (length > n && memcmp(p->at - 1 - n, ends[i], n) == 0) return true;
    }
    return false;
}

/* x.sum() where x:sum() was meant: what is missing is x itself, and with it the last argument where another one came in
 * its place, as in x.dot(y). */
static bool push_for_colon(lua_State *L, const struct lg_place *p, const char *message)
{
    struct lg_token owner;
    bool first = strstr(message, "bad argument #1 to '");
    const char *name = strstr(message, "bad argument #") ? quoted(L, message, " to '") : NULL;
    if (!name || !strstr(message, first ? " expected, got " : " expected, got no value")) return false;
    if (!p->at || p->at == p->text || p->at[-1] != '.') return false;
    if (!follows_array(p) && (!push_owner(L, p, &owner) || lua_istable(L, -1))) return false;
    lua_pushfstring(L, "a method is called with a colon, x:%s(...)", name);
    return true;
}

/* Whether the name stands once in the source, so that nothing there gives it a value: it is no parameter and no local.
 */
static bool stands_once(const char *source, size_t length, const char *name)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    size_t n = strlen(name);
    int times = 0;
    lg_lexer_init(&x, source, length);
    for (; lg_lexer_code(&x, &t); before = t)
        times += t.kind == LG_TOKEN_NAME && t.end - t.start == n && memcmp(x.text + t.start, name, n) == 0 &&
                 !lg_token_is(&x, &before, ".") && !lg_token_is(&x, &before, ":");
    return times == 1;
}

/* Whether what follows the name at x gives a field of a table that name, {axis = 1}. */
static bool is_key(struct lg_lexer x)
{
    struct lg_token t;
    return lg_lexer_code(&x, &t) && lg_token_is(&x, &t, "=");
}

/* The dtype that the line names without quotes, as in gpu.zeros(3, float64), where that is a variable without a value;
 * pushed, else NULL. */
static const char *push_bare_dtype(lua_State *L, const char *source, size_t length, int line)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    int top = lua_gettop(L);
    lg_lexer_init(&x, source, length);
    for (; lg_lexer_code(&x, &t) && t.line <= line; before = t, lua_settop(L, top)) {
        bool behind = lg_token_is(&x, &before, ",") || lg_token_is(&x, &before, "=");
        if (t.line < line || t.kind != LG_TOKEN_NAME || !behind || is_key(x)) continue;
        const char *name = lua_pushlstring(L, source + t.start, t.end - t.start);
        if (rt_dtype_find(name) == RT_DTYPE_COUNT || !stands_once(source, length, name)) continue;
        push_scope(L);
        lua_pushvalue(L, top + 1);
        if (!lg_push_field(L, -2)) {
            lua_settop(L, top + 1);
            return lua_tostring(L, -1);
        }
    }
    return NULL;
}

void lg_check_bare_dtype(lua_State *L)
{
    lua_Debug ar;
    size_t length;
    int top = lua_gettop(L);
    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "Sl", &ar) || ar.currentline < 1) return;
    luaL_checkstack(L, 32, NULL);
    const char *source = lg_chunk_source(L, ar.source, &length);
    const char *name = source ? push_bare_dtype(L, source, length, ar.currentline) : NULL;
    if (name) luaL_error(L, "%s has no value; a dtype is a string, as \"%s\"", name, name);
    lua_settop(L, top);
}

bool lg_push_unset(lua_State *L, const struct lg_place *p)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    int top = lua_gettop(L);
    lg_lexer_init(&x, p->text, p->length);
    while (lg_lexer_code(&x, &t) && !lg_token_is(&x, &t, "=")) continue;
    if (t.kind == LG_TOKEN_END) lg_lexer_init(&x, p->text, p->length); /* else names in front are given values */
    bool declares = false; /* these are the names of a loop, or of a function's parameters */
    bool magic = p->length && p->text[0] == '%';
    for (; lg_lexer_code(&x, &t); before = t, lua_settop(L, top)) {
        if (t.keyword == LG_FOR || t.keyword == LG_FUNCTION) declares = true;
        if (t.keyword == LG_IN || lg_token_is(&x, &t, "=") || lg_token_is(&x, &t, ")")) declares = false;
        if (t.kind != LG_TOKEN_NAME || declares || lg_token_is(&x, &before, ".") || lg_token_is(&x, &before, ":") ||
            is_key(x))
            continue;
        if (magic && (lg_token_is(&x, &before, "%") || lg_token_is(&x, &before, "-"))) continue; /* %timeit -n 3 */
        push_scope(L);
        const char *name = lua_pushlstring(L, p->text + t.start, t.end - t.start);
        if (lg_push_field(L, -2) || !stands_once(p->source, p->source_length, name)) continue;
        bool known = push_for_global(L, name, false);
        lua_pushfstring(L, "%s has no value%s%s", name, known ? ": " : "", known ? lua_tostring(L, -1) : "");
        return true;
    }
    return false;
}

/* Whether the token is the name of a function: of one that is there, or that the source makes. */
static bool names_function(lua_State *L, const struct lg_place *p, const struct lg_token *name)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    int top = lua_gettop(L);
    size_t n = name->end - name->start;
    push_scope(L);
    lua_pushlstring(L, p->text + name->start, n);
    bool found = lg_push_field(L, -2) && lua_isfunction(L, -1);
    lua_settop(L, top);
    lg_lexer_init(&x, p->source, p->source_length);
    for (; !found && lg_lexer_code(&x, &t); before = t)
        found = before.keyword == LG_FUNCTION && t.end - t.start == n &&
                memcmp(p->source + t.start, p->text + name->start, n) == 0;
    return found;
}

/* What a call gave was asked for something, and is nil: k(grid, block)(x):sum(), which may be a launch. */
static bool push_for_launch(lua_State *L, const struct lg_place *p)
{
    struct lg_lexer x;
    struct lg_token t, before = {0}, called[MOST_OPEN] = {{0}}, last = {0};
    int open = 0;
    lg_lexer_init(&x, p->text, p->length);
    for (; lg_lexer_code(&x, &t); before = t) {
        bool opens = lg_token_is(&x, &t, "(");
        if (opens && lg_token_is(&x, &before, ")") && last.kind == LG_TOKEN_NAME && !names_function(L, p, &last))
            return lua_pushliteral(
                L, "a launch gives nothing: what the kernel computed is in the arrays that it was given");
        if (opens && open++ < MOST_OPEN) called[open - 1] = before;
        if (!lg_token_is(&x, &t, ")") || open == 0) continue;
        open--;
        last = open < MOST_OPEN ? called[open] : (struct lg_token){0};
    }
    return false;
}

/* t:sum() of a table: methods are those of arrays; or one that is spelt otherwise, or another language's. */
static bool push_for_method(lua_State *L, const struct lg_place *p, const char *name)
{
    struct lg_token owner;
    if (!push_owner(L, p, &owner)) return false;
    if (lua_type(L, -1) == LUA_TSTRING) return push_habit(L, LUA_TSTRING, name);
    if (!lua_istable(L, -1)) return false;
    int table = lua_gettop(L);
    bool plain = !lua_getmetatable(L, table), list = plain && lua_rawlen(L, table) > 0;
    if (list && lg_doc_by_name(L, lua_pushfstring(L, "array.%s", name))) {
        lua_pushlstring(L, p->text + owner.start, owner.end - owner.start);
        lua_pushfstring(L, "a table is no array; gpu.array makes one of it, gpu.array(%s):%s()", lua_tostring(L, -1),
                        name);
        return true;
    }
    return (plain && push_habit(L, LUA_TTABLE, name)) || push_similar(L, table, 0, name);
}

/* Whether a table is Lua's library of the name. */
static bool is_library(lua_State *L, int table, const char *name)
{
    lua_getglobal(L, name);
    bool same = lua_rawequal(L, table, -1);
    lua_pop(L, 1);
    return same;
}

/* t.append(x), t.sum(), math.Sqrt(2), s.split(","), table.getn(t), string.trim(s). */
static bool push_for_field(lua_State *L, int owner, const char *name)
{
    if (lua_type(L, owner) == LUA_TSTRING) return push_habit(L, LUA_TSTRING, name);
    if (is_library(L, owner, "string") && push_habit(L, LUA_TSTRING, name)) return true;
    if (!lua_istable(L, owner)) return false;
    bool list = lua_rawlen(L, owner) > 0;
    if (list && lg_doc_by_name(L, lua_pushfstring(L, "array.%s", name)))
        return lua_pushfstring(L, "a table is no array; gpu.array makes one of it, gpu.array(t):%s()", name);
    list = list || is_library(L, owner, "table");
    return (list && push_habit(L, LUA_TTABLE, name)) || push_foreign(L, name) || push_similar(L, owner, 0, name);
}

/* Whether the message's first line ends with the words. */
static bool ends_line(const char *message, const char *words)
{
    size_t n = strlen(words), line = strcspn(message, "\n");
    return line >= n && memcmp(message + line - n, words, n) == 0;
}

/* Whether a function or an operator was given nil. */
static bool met_nil(const char *message)
{
    static const char *const said[] = {"got nil", "not by nil", "with nil", "compare nil with"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strstr(message, said[i])) return true;
    return false;
}

bool lg_push_name_hint(lua_State *L, const struct lg_place *p, const char *message)
{
    int top = lua_gettop(L);
    const char *name;
    bool found = false;
    luaL_checkstack(L, 32, NULL);
    bool nil = strstr(message, "a nil value");
    if (nil && ((name = quoted(L, message, "(global '")) || (name = quoted(L, message, "(local '"))) &&
        push_for_shape(L, p->source, p->source_length, name)) {
        found = true;
    } else if (nil && (name = quoted(L, message, "(global '"))) {
        found = push_for_global(L, name, strstr(message, "call a nil value"));
    } else if (strstr(message, "call a nil value") && (name = quoted(L, message, "(field '"))) {
        struct lg_token owner;
        found = push_owner(L, p, &owner) && push_for_field(L, lua_gettop(L), name);
    } else if (strstr(message, "call a nil value") && (name = quoted(L, message, "(method '"))) {
        found = push_for_method(L, p, name);
    } else if (met_nil(message)) {
        found = lg_push_unset(L, p);
    } else if (ends_line(message, "attempt to index a nil value")) {
        found = push_for_launch(L, p);
    } else {
        found = push_for_colon(L, p, message);
    }
    if (found) lua_copy(L, -1, top + 1);
    lua_settop(L, top + found);
    return found;
}
