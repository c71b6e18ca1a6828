/* What can be seen of a stopped session: its frames, and their variables by name and by value. The stack that is
 * stopped is only read, and its locals set; everything else happens on the session's own. */
#include "lang/debugger_state.h"

#include <stdio.h>
#include <string.h>
#include "lang/array.h"
#include "lang/cells.h"
#include "lang/lookup.h"

/* References: of scopes 4 * frame + kind, of values FIRST_VALUE and their place in a list. */
enum scope { LOCALS = 1, UPVALUES, SESSION };
#define FIRST_VALUE  10000
#define MOST_PREVIEW 6 /* entries of a table in its one line */

static const char values_key; /* registry: that list */

/* One question, on its way through a protected call. */
struct look {
    struct lg_session *s;
    int frame, reference;
    size_t skip, left; /* values that are not wanted before those that are */
    const char *code;
    size_t length;
    const char *name;
    lg_debug_visit *visit;
    void (*visit_frame)(void *context, const struct lg_debug_frame *frame);
    void (*visit_bundle)(void *context, const struct lg_bundle *bundle);
    void *context;
    bool good;
};

/* Frames. */

static lua_State *get_frame(const struct lg_session *s, int frame, lua_Debug *ar)
{
    const struct lg_debugger *d = s->debugger;
    if (!d || !d->stopped || frame < 0 || frame >= d->frame_count) return NULL;
    return lua_getstack(d->frames[frame].L, d->frames[frame].level, ar) ? d->frames[frame].L : NULL;
}

static int visit_frames(lua_State *L)
{
    const struct look *k = lua_touserdata(L, 1);
    lua_Debug ar;
    for (int i = 0; get_frame(k->s, i, &ar); i++) {
        char name[160];
        lua_getinfo(k->s->debugger->frames[i].L, "Sln", &ar);
        if (*ar.what == 'm')
            snprintf(name, sizeof name, "%s", ar.short_src);
        else if (ar.name && strcmp(ar.name, "?") != 0)
            snprintf(name, sizeof name, "%s", ar.name);
        else
            snprintf(name, sizeof name, "function at line %d", ar.linedefined);
        struct lg_debug_source at = {.chunk = *ar.source == '@' ? ar.source : NULL};
        at.text = lg_chunk_source(L, ar.source, &at.length);
        k->visit_frame(k->context, &(struct lg_debug_frame){name, &at, ar.currentline});
        lua_settop(L, 1);
    }
    return 0;
}

void lg_debug_frames(struct lg_session *s, void (*visit)(void *context, const struct lg_debug_frame *frame),
                     void *context)
{
    struct look k = {.s = s, .visit_frame = visit, .context = context};
    lg_protect(s, visit_frames, &k);
}

/* Moves the value that a function of Lua's put on the stopped stack. */
static void fetch(lua_State *to, lua_State *from)
{
    if (from != to) lua_xmove(from, to, 1);
}

static bool is_hidden(const char *name)
{
    return *name == '(' || strncmp(name, "__lunarray", 10) == 0;
}

/* The number of the local that a name stands for: the last one of that name that is alive. */
static int find_local(lua_State *from, const lua_Debug *ar, const char *name)
{
    int found = 0;
    const char *local;
    for (int i = 1; lua_checkstack(from, 1) && (local = lua_getlocal(from, ar, i)) != NULL; i++) {
        lua_pop(from, 1);
        if (strcmp(local, name) == 0) found = i;
    }
    return found;
}

/* Pushes the function of a frame on the stack it belongs to. */
static bool push_function(lua_State *from, lua_Debug *ar)
{
    return lua_checkstack(from, 3) && lua_getinfo(from, "f", ar);
}

/* Pushes an upvalue of the frame's function on L, or sets it to the value on top of L, which is popped. */
static bool use_upvalue(lua_State *L, lua_State *from, lua_Debug *ar, const char *name, bool set)
{
    if (!push_function(from, ar)) return false;
    const char *upvalue;
    bool found = false;
    for (int i = 1; !found && (upvalue = lua_getupvalue(from, -1, i)) != NULL; i++) {
        found = strcmp(upvalue, name) == 0;
        if (!found || set) lua_pop(from, 1);
        if (!found) continue;
        if (set) {
            lua_xmove(L, from, 1);
            lua_setupvalue(from, -2, i);
        } else {
            fetch(L, from);
        }
    }
    lua_pop(from, 1);
    return found;
}

/* Values. */

/* Keeps the value at idx, and returns its reference. */
static int keep(lua_State *L, int idx)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &values_key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &values_key);
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1) + 1;
    lua_pushvalue(L, idx);
    lua_rawseti(L, -2, n);
    lua_pop(L, 1);
    return FIRST_VALUE + (int)n;
}

void lg_debug_forget(struct lg_session *s)
{
    lua_State *L = s->L;
    if (!s->debugger || !lua_checkstack(L, 2)) return;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &values_key) != LUA_TNIL) {
        lua_pushnil(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &values_key);
    }
    lua_pop(L, 1);
}

/* One line for a value inside a table. */
static void add_short(lua_State *L, struct lg_buffer *b, int idx)
{
    char note[128];
    const char *kind = lg_describe(L, idx, note, sizeof note);
    if (lua_istable(L, idx)) {
        lg_buffer_puts(b, "{...}");
    } else {
        lg_buffer_puts(b, *note ? note : kind);
    }
}

/* Pushes one line for the table on top of the stack. */
static void push_preview(lua_State *L)
{
    int table = lua_gettop(L), shown = 0;
    struct lg_buffer *b = lg_push_buffer(L);
    lua_Integer length = (lua_Integer)lua_rawlen(L, table);
    lg_buffer_puts(b, "{");
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (shown++) lg_buffer_puts(b, ", ");
        if (shown > MOST_PREVIEW) {
            lg_buffer_puts(b, "...");
            break;
        }
        if (lua_type(L, -2) == LUA_TSTRING) {
            lg_buffer_printf(b, "%.40s = ", lua_tostring(L, -2));
        } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > length) {
            lg_buffer_puts(b, "[");
            add_short(L, b, lua_absindex(L, -2));
            lg_buffer_puts(b, "] = ");
        }
        add_short(L, b, lua_gettop(L));
    }
    lua_settop(L, table + 1);
    lg_buffer_puts(b, "}");
    lg_push_buffer_text(L, b);
    lua_remove(L, -2);
}

static bool holds_something(lua_State *L, const char *kind)
{
    if (lua_istable(L, -1)) {
        lua_pushnil(L);
        bool any = lua_next(L, -2);
        if (any) lua_pop(L, 2);
        return any;
    }
    return strcmp(kind, "array") == 0
               ? lg_test_array(L, -1)->storage != NULL
               : strcmp(kind, "kernel") == 0 || strcmp(kind, "device") == 0 || strcmp(kind, "texture") == 0;
}

/* Visits the value on top of the stack, and pops it. */
static void show(lua_State *L, struct look *k, const char *name, size_t length)
{
    int top = lua_gettop(L);
    luaL_checkstack(L, 12, NULL);
    if (k->skip > 0 || k->left == 0) {
        if (k->skip > 0) k->skip--;
    } else {
        char note[256];
        struct lg_debug_variable v = {.name = name, .name_length = length, .value = note};
        k->left--;
        v.type = lg_describe(L, top, note, sizeof note);
        if (holds_something(L, v.type)) v.reference = keep(L, top);
        if (lua_istable(L, top)) {
            push_preview(L);
            v.value = lua_tostring(L, -1);
        } else if (!*note) {
            v.value = v.type;
        }
        k->visit(k->context, &v);
    }
    lua_settop(L, top - 1);
}

static void show_named(lua_State *L, struct look *k, const char *name)
{
    show(L, k, name, strlen(name));
}

static void show_locals(lua_State *L, struct look *k)
{
    lua_Debug ar;
    lua_State *from = get_frame(k->s, k->frame, &ar);
    const char *name;
    for (int i = 1; lua_checkstack(from, 1) && (name = lua_getlocal(from, &ar, i)) != NULL; i++) {
        fetch(L, from);
        if (is_hidden(name) || find_local(from, &ar, name) != i)
            lua_pop(L, 1);
        else
            show_named(L, k, name);
    }
    for (int i = 1; lua_checkstack(from, 1) && lua_getlocal(from, &ar, -i); i++) {
        char text[32];
        snprintf(text, sizeof text, "...[%d]", i);
        fetch(L, from);
        show_named(L, k, text);
    }
}

static void show_upvalues(lua_State *L, struct look *k)
{
    lua_Debug ar;
    lua_State *from = get_frame(k->s, k->frame, &ar);
    if (!push_function(from, &ar)) return;
    fetch(L, from);
    int function = lua_gettop(L);
    const char *name;
    for (int i = 1; (name = lua_getupvalue(L, function, i)) != NULL; i++) {
        if (strcmp(name, "_ENV") == 0 || is_hidden(name))
            lua_pop(L, 1);
        else
            show_named(L, k, name);
    }
}

/* Shows the entry of the table whose key is on top of the stack, which is popped. */
static void show_entry(lua_State *L, struct look *k, int table)
{
    size_t n;
    lua_pushvalue(L, -1);
    lua_rawget(L, table);
    if (lua_type(L, -2) == LUA_TSTRING) {
        const char *name = lua_tolstring(L, -2, &n);
        show(L, k, name, n);
    } else {
        char note[128], name[160];
        const char *kind = lg_describe(L, -2, note, sizeof note);
        snprintf(name, sizeof name, "[%s]", *note ? note : kind);
        show_named(L, k, name);
    }
    lua_pop(L, 1);
}

/* The first entries, the keys of which are sorted. */
static void show_table(lua_State *L, struct look *k)
{
    int table = lua_gettop(L);
    lua_Integer n = 0;
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, table + 1, ++n);
        if (n < LG_DEBUG_MOST) continue;
        lua_pop(L, 1);
        break;
    }
    lg_sort_keys(L, n);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, table + 1, i);
        show_entry(L, k, table);
    }
}

/* The user's variables; what begins with an underscore is not listed, as by %who. */
static void show_session(lua_State *L, struct look *k)
{
    lg_push_variables(L);
    int table = lua_gettop(L);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, table); lua_settop(L, table + 2)) {
        if (lua_type(L, -2) == LUA_TSTRING && *lua_tostring(L, -2) == '_') continue;
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, table + 1);
    }
    show_table(L, k);
}

static void show_elements(lua_State *L, struct look *k, const struct rt_array *a)
{
    struct lg_cells c;
    lg_push_cells(L, a, 0, &c);
    for (int64_t i = 0; i < c.size; i++) {
        char name[RT_MAX_DIMS * 24 + 4], text[LG_CELL_TEXT];
        int64_t at[RT_MAX_DIMS], rest = i;
        size_t n = 0;
        for (int axis = c.ndim - 1; axis >= 0; rest /= c.count[axis], axis--)
            at[axis] = lg_cell_index(&c, axis, rest % c.count[axis]);
        for (int axis = 0; axis < c.ndim; axis++)
            n += (size_t)snprintf(name + n, sizeof name - n, "%s%lld", axis ? ", " : "[", (long long)at[axis]);
        snprintf(name + n, sizeof name - n, c.ndim ? "]" : "[]");
        lg_cell_text(&c, i, text);
        k->visit(k->context, &(struct lg_debug_variable){name, text, rt_dtypes[a->dtype].name, strlen(name), 0});
    }
}

static void show_field(lua_State *L, const char *name, void *context)
{
    if (lua_isfunction(L, -1) || lua_isnil(L, -1) || *name == '_') return;
    lua_pushvalue(L, -1);
    show_named(L, context, name);
}

static void show_array(lua_State *L, struct look *k)
{
    const struct rt_array *a = lg_check_array(L, -1);
    char text[RT_MAX_DIMS * 22];
    lua_pushstring(L, rt_dtypes[a->dtype].name);
    show_named(L, k, "dtype");
    lua_pushstring(L, rt_shape_text(a->ndim, a->shape, text, sizeof text));
    show_named(L, k, "shape");
    lua_pushstring(L, rt_array_device(a)->name);
    show_named(L, k, "device");
    lua_pushinteger(L, rt_array_size(a) * (lua_Integer)rt_dtypes[a->dtype].size);
    show_named(L, k, "bytes");
    if (k->left > 0 && rt_array_size(a) > 0) show_elements(L, k, a);
}

static void show_value(lua_State *L, struct look *k)
{
    k->good = false;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &values_key) != LUA_TTABLE) return;
    lua_rawgeti(L, -1, k->reference - FIRST_VALUE);
    k->good = !lua_isnil(L, -1);
    if (lua_istable(L, -1))
        show_table(L, k);
    else if (lg_test_array(L, -1))
        show_array(L, k);
    else if (k->good)
        lg_each_field(L, lua_gettop(L), NULL, show_field, k);
}

static int visit_variables(lua_State *L)
{
    struct look *k = lua_touserdata(L, 1);
    lua_Debug ar;
    int scope = k->reference % 4;
    k->good = true;
    if (k->reference >= FIRST_VALUE) {
        show_value(L, k);
    } else if (k->reference == LG_DEBUG_SESSION) {
        show_session(L, k);
    } else if (!get_frame(k->s, k->frame = k->reference / 4, &ar) || scope == 0) {
        k->good = false;
    } else if (scope == LOCALS) {
        show_locals(L, k);
    } else if (scope == UPVALUES) {
        show_upvalues(L, k);
    } else {
        show_session(L, k);
    }
    return 0;
}

bool lg_debug_variables(struct lg_session *s, int reference, size_t start, size_t count, lg_debug_visit *visit,
                        void *context)
{
    struct look k = {.s = s, .reference = reference, .skip = start, .left = count, .visit = visit, .context = context};
    return s->debugger && reference > 0 && lg_protect(s, visit_variables, &k) && k.good;
}

int lg_debug_frame_of(int reference)
{
    return reference > 0 && reference < FIRST_VALUE ? reference / 4 : LG_DEBUG_NO_FRAME;
}

static void count_one(void *context, const struct lg_debug_variable *v)
{
    (void)v;
    ++*(int *)context;
}

bool lg_debug_scopes(struct lg_session *s, int frame, lg_debug_visit *visit, void *context)
{
    static const char *const names[] = {[LOCALS] = "Locals", [UPVALUES] = "Upvalues", [SESSION] = "Session"};
    lua_Debug ar;
    if (!get_frame(s, frame, &ar)) return false;
    for (int scope = LOCALS; scope <= SESSION; scope++) {
        struct lg_debug_variable v = {names[scope], "", "scope", strlen(names[scope]), 4 * frame + scope};
        int count = 0;
        if (scope != SESSION) lg_debug_variables(s, v.reference, 0, 1, count_one, &count);
        if (scope == SESSION || count) visit(context, &v);
    }
    return true;
}

/* Evaluating: the environment of the code is a table whose metamethods look into the frame. */

/* Upvalues: the session, the frame, the stop that it is of. What outlives that stop sees the session alone. */
static lua_State *upvalue_frame(lua_State *L, lua_Debug *ar)
{
    const struct lg_session *s = lg_upvalue_session(L);
    if (s->debugger->stops != (unsigned)lua_tointeger(L, lua_upvalueindex(3))) return NULL;
    return get_frame(s, (int)lua_tointeger(L, lua_upvalueindex(2)), ar);
}

/* Pushes what the frame takes globals from. */
static void push_globals(lua_State *L, lua_State *from, lua_Debug *ar)
{
    int local = from ? find_local(from, ar, "_ENV") : 0;
    if (local) {
        lua_getlocal(from, ar, local);
        fetch(L, from);
    } else if (!from || !use_upvalue(L, from, ar, "_ENV", false)) {
        lg_push_env(L);
    }
}

static int index_frame(lua_State *L)
{
    lua_Debug ar;
    lua_State *from = upvalue_frame(L, &ar);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    int local = from && name ? find_local(from, &ar, name) : 0;
    if (local) {
        lua_getlocal(from, &ar, local);
        fetch(L, from);
        return 1;
    }
    if (from && name && use_upvalue(L, from, &ar, name, false)) return 1;
    push_globals(L, from, &ar);
    lua_pushvalue(L, 2);
    lua_gettable(L, -2);
    return 1;
}

static int set_in_frame(lua_State *L)
{
    lua_Debug ar;
    lua_State *from = upvalue_frame(L, &ar);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    int local = from && name ? find_local(from, &ar, name) : 0;
    lua_settop(L, 3);
    if (local && lua_checkstack(from, 1)) {
        lua_xmove(L, from, 1);
        lua_setlocal(from, &ar, local);
    } else if (!from || !name || !use_upvalue(L, from, &ar, name, true)) {
        push_globals(L, from, &ar);
        lua_insert(L, 2);
        lua_settable(L, 2);
    }
    return 0;
}

static void push_frame_env(lua_State *L, const struct look *k)
{
    static const luaL_Reg metamethods[] = {{"__index", index_frame}, {"__newindex", set_in_frame}, {NULL, NULL}};
    lua_newtable(L);
    luaL_newlibtable(L, metamethods);
    lua_pushlightuserdata(L, k->s);
    lua_pushinteger(L, k->frame);
    lua_pushinteger(L, k->s->debugger->stops);
    luaL_setfuncs(L, metamethods, 3);
    lua_setmetatable(L, -2);
}

/* Pushes the first value of the code, as an expression if it is one. */
static void evaluate(lua_State *L, const struct look *k)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "return ");
    luaL_addlstring(&b, k->code, k->length);
    luaL_pushresult(&b);
    size_t n;
    const char *text = lua_tolstring(L, -1, &n);
    if (luaL_loadbufferx(L, text, n, "=expression", "t") != LUA_OK) {
        lua_pop(L, 1);
        if (luaL_loadbufferx(L, text + 7, n - 7, "=expression", "t") != LUA_OK) lua_error(L);
    }
    push_frame_env(L, k);
    lua_setupvalue(L, -2, 1);
    lua_remove(L, -2);
    lua_call(L, 0, 1);
}

static int evaluate_and_show(lua_State *L)
{
    struct look *k = lua_touserdata(L, 1);
    evaluate(L, k);
    struct lg_debug_variable v = {.name = ""};
    char note[256];
    v.type = lg_describe(L, 2, note, sizeof note);
    if (holds_something(L, v.type)) v.reference = keep(L, 2);
    lg_push_value_text(L, 2);
    v.value = lua_tostring(L, -1);
    k->visit(k->context, &v);
    return 0;
}

static int try_evaluate(lua_State *L)
{
    struct look *k = lua_touserdata(L, 1);
    lua_pushcfunction(L, evaluate_and_show);
    lua_pushvalue(L, 1);
    k->good = lua_pcall(L, 1, 0, 0) == LUA_OK;
    if (k->good) return 0;
    const char *message = luaL_tolstring(L, -1, NULL);
    k->visit(k->context, &(struct lg_debug_variable){.name = "", .value = message, .type = "error"});
    return 0;
}

bool lg_debug_evaluate(struct lg_session *s, int frame, const char *code, size_t length, lg_debug_visit *visit,
                       void *context)
{
    struct look k = {.s = s, .frame = frame, .code = code, .length = length, .visit = visit, .context = context};
    return s->debugger && lg_protect(s, try_evaluate, &k) && k.good;
}

static int evaluate_bundle(lua_State *L)
{
    struct look *k = lua_touserdata(L, 1);
    struct lg_bundle bundle;
    evaluate(L, k);
    if (lua_isnil(L, 2)) return 0;
    lg_push_bundle(L, 2, &bundle);
    k->visit_bundle(k->context, &bundle);
    k->good = true;
    return 0;
}

bool lg_debug_display(struct lg_session *s, int frame, const char *code,
                      void (*visit)(void *context, const struct lg_bundle *bundle), void *context)
{
    struct look k = {
        .s = s, .frame = frame, .code = code, .length = strlen(code), .visit_bundle = visit, .context = context};
    return s->debugger && lg_protect(s, evaluate_bundle, &k) && k.good;
}

static int evaluate_and_keep(lua_State *L)
{
    const struct look *k = lua_touserdata(L, 1);
    lg_push_env(L);
    evaluate(L, k);
    lua_setfield(L, 2, k->name);
    return 0;
}

bool lg_debug_keep(struct lg_session *s, int frame, const char *code, size_t length, const char *name)
{
    struct look k = {.s = s, .frame = frame, .code = code, .length = length, .name = name};
    return s->debugger && lg_protect(s, evaluate_and_keep, &k);
}
