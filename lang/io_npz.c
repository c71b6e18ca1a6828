/* NumPy's .npz files: archives of arrays. What is loaded is a table by name whose arrays are read, or mapped, when they
 * are first asked for: its own fields are those that were, and those that were assigned. Its metatable has the archive
 * at 1, whose file stays open, and so can be replaced or deleted, until all of it was read. */
#include "lang/io.h"
#include <string.h>
#include "lang/session_state.h"

#define LG_ARCHIVE "lunarray.archive"
#define MOST_SHOWN 100 /* arrays that the table's text lists */

struct archive {
    struct rt_zip zip;
    struct lg_placement place;
    bool map;
    size_t left; /* arrays that are in the file alone */
};
/* Its user values. The names are a list in the file's order and have, by name, the number of the member, from 0, or
 * false when the array is in the file no longer. */
enum { PATH = 1, NAMES };

enum rt_status lg_load_member(const struct rt_zip *z, const struct rt_zip_member *m, const char *name,
                              struct rt_device *d, struct rt_array *out, struct rt_error *e)
{
    struct rt_zip_input in;
    struct rt_npy h;
    enum rt_status status = rt_zip_member_open(z, m, name, &in, e);
    if (status != RT_OK) return status;
    status = rt_npy_header(&in.input, &h, e);
    if (status == RT_OK) status = rt_npy_elements(&in.input, &h, d, out, e);
    enum rt_status closed = rt_zip_member_close(&in, status == RT_OK ? e : NULL);
    if (status == RT_OK && closed != RT_OK) rt_array_release(out);
    return status == RT_OK ? closed : status;
}

/* The array of a member as the archive's options want it. */
static enum rt_status read_or_map(const struct archive *a, const struct rt_zip_member *m, const char *title,
                                  struct rt_array *out, struct rt_error *e)
{
    struct rt_input in;
    if (!a->map) return lg_load_member(&a->zip, m, title, a->place.device, out, e);
    enum rt_status status = rt_zip_member_place(&a->zip, m, title, &in, e);
    if (status == RT_OK) status = rt_npy_map_input(&a->zip.file, &in, a->place.device, out, e);
    if (status != RT_UNSUPPORTED) return status;
    rt_error_clear(e); /* it is packed, or lies where it cannot be used */
    return lg_load_member(&a->zip, m, title, a->place.device, out, e);
}

/* ---- the table ---- */
static int archive_gc(lua_State *L)
{
    struct archive *a = lua_touserdata(L, 1);
    rt_zip_close(&a->zip);
    return 0;
}

/* The archive behind the table at idx, whose names are pushed; NULL, and nothing, where there is none. */
static struct archive *push_archive(lua_State *L, int idx)
{
    struct archive *a = NULL;
    int top = lua_gettop(L);
    luaL_checkstack(L, 8, NULL);
    if (!lua_istable(L, idx) || !lua_getmetatable(L, idx)) return NULL;
    lua_rawgeti(L, -1, 1);
    a = luaL_testudata(L, -1, LG_ARCHIVE);
    if (a) lua_getiuservalue(L, -1, NAMES);
    if (a) lua_replace(L, top + 1);
    lua_settop(L, top + (a != NULL));
    return a;
}

static struct archive *check_archive(lua_State *L)
{
    struct archive *a = push_archive(L, 1);
    luaL_argexpected(L, a, 1, "table of an .npz file");
    return a;
}

bool lg_push_archive_names(lua_State *L, int idx)
{
    return push_archive(L, idx) != NULL;
}

/* The member that has the array named by the value at `name`, as long as that is in the file alone. */
static const struct rt_zip_member *find_member(lua_State *L, const struct archive *a, int names, int name)
{
    lua_pushvalue(L, name);
    bool there = lua_type(L, name) == LUA_TSTRING && lua_rawget(L, names) == LUA_TNUMBER;
    lua_Integer i = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return there ? &a->zip.members[i] : NULL;
}

/* The file is not asked for the array of this name again. */
static void forget_member(lua_State *L, struct archive *a, int names, int name)
{
    lua_pushvalue(L, name);
    lua_pushboolean(L, false);
    lua_rawset(L, names);
    if (--a->left == 0) rt_zip_close(&a->zip);
}

/* Pushes what messages call the array. */
static const char *push_title(lua_State *L, const struct archive *a, int name)
{
    return lua_pushfstring(L, "'%s' of %s", lua_tostring(L, name), a->zip.file.path);
}

/* Pushes what the table at idx `table` has by a name: its own field or the file's array, which becomes one, or nil.
 * What cannot be read stays in the file, and nothing is pushed. */
static enum rt_status push_array(lua_State *L, struct archive *a, int table, int names, int name, struct rt_error *e)
{
    const struct rt_zip_member *m = find_member(L, a, names, name);
    lua_pushvalue(L, name);
    lua_rawget(L, table);
    if (!m) return RT_OK;
    lua_pop(L, 1);
    const int top = lua_gettop(L);
    const char *title = push_title(L, a, name);
    struct rt_array *out = lg_new_array(L);
    enum rt_status status = read_or_map(a, m, title, out, e);
    if (status == RT_OK && a->place.dtype != RT_DTYPE_COUNT && a->place.dtype != out->dtype) {
        struct rt_array *wanted = lg_new_array(L);
        status = kn_convert(out, a->place.dtype, a->place.device, wanted, e);
        if (status != RT_OK) rt_error_prefix(e, "%s: ", title);
    }
    if (status == RT_OK) {
        lua_replace(L, top + 1);
        lua_pushvalue(L, name);
        lua_pushvalue(L, top + 1);
        lua_rawset(L, table);
        forget_member(L, a, names, name);
    }
    lua_settop(L, top + (status == RT_OK));
    return status;
}

static int archive_index(lua_State *L)
{
    lua_settop(L, 2);
    struct archive *a = check_archive(L);
    lg_check(L, push_array(L, a, 1, 3, 2, lg_error_box(L)));
    return 1;
}

static int archive_newindex(lua_State *L)
{
    lua_settop(L, 3);
    struct archive *a = check_archive(L);
    if (find_member(L, a, 4, 2)) forget_member(L, a, 4, 2);
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

/* One after the other in the file's order, and what was assigned under other names behind them. Upvalues: how many of
 * the file's names were passed, one more among the others, and the first error, which comes when all that can be read
 * was visited. */
static int archive_next(lua_State *L)
{
    lua_settop(L, 2);
    struct archive *a = check_archive(L); /* 3 */
    const lua_Integer count = (lua_Integer)lua_rawlen(L, 3);
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(1));
    struct rt_error *e = lg_error_box(L);
    for (; at < count; lua_settop(L, 3)) {
        lua_pushinteger(L, ++at);
        lua_replace(L, lua_upvalueindex(1));
        lua_rawgeti(L, 3, at); /* 4 */
        enum rt_status status = push_array(L, a, 1, 3, 4, e);
        if (status == RT_INTERRUPTED || status == RT_NOMEM) return lg_raise(L, e);
        if (status == RT_OK && !lua_isnil(L, -1)) return 2;
        if (status == RT_OK) continue;
        if (lua_isnil(L, lua_upvalueindex(2))) {
            lua_pushstring(L, e->text);
            lua_replace(L, lua_upvalueindex(2));
        }
        rt_error_clear(e);
    }
    if (at == count)
        lua_pushnil(L); /* what was visited last is the file's */
    else
        lua_pushvalue(L, 2);
    lua_pushinteger(L, count + 1);
    lua_replace(L, lua_upvalueindex(1));
    while (lua_next(L, 1)) {
        lua_pushvalue(L, -2);
        bool others = lua_type(L, -1) != LUA_TSTRING || lua_rawget(L, 3) == LUA_TNIL;
        lua_pop(L, 1);
        if (others) return 2;
        lua_pop(L, 1);
    }
    if (lua_isnil(L, lua_upvalueindex(2))) return 0;
    rt_fail(e, RT_INVALID, "%s", lua_tostring(L, lua_upvalueindex(2)));
    return lg_raise(L, e);
}

static int archive_pairs(lua_State *L)
{
    check_archive(L);
    lua_pushinteger(L, 0);
    lua_pushnil(L);
    lua_pushcclosure(L, archive_next, 2);
    lua_pushvalue(L, 1);
    return 2;
}

/* What pairs gives, counted: the table's own fields, and those that are in the file alone. */
static int archive_len(lua_State *L)
{
    const struct archive *a = check_archive(L);
    lua_Integer n = (lua_Integer)a->left;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) n++;
    lua_pushinteger(L, n);
    return 1;
}

/* ---- its text ---- */
/* What the table's own field on top is: "float64 (5,)". */
static void add_value(lua_State *L, struct lg_buffer *b)
{
    const struct rt_array *x = lg_test_array(L, -1);
    if (!x) {
        lg_buffer_puts(b, lg_type_name(L, -1));
        return;
    }
    lg_push_shape(L, x->ndim, x->shape);
    lg_buffer_printf(b, "%s %s", rt_dtypes[x->dtype].name, luaL_tolstring(L, -1, NULL));
    lua_pop(L, 2);
}

/* What a member is, by its header. */
static void add_member(lua_State *L, struct lg_buffer *b, const struct archive *a, const struct rt_zip_member *m,
                       int name)
{
    struct rt_zip_input in;
    struct rt_npy h;
    struct rt_error *e = lg_error_box(L);
    const char *title = push_title(L, a, name);
    enum rt_status status = rt_zip_member_open(&a->zip, m, title, &in, e);
    if (status == RT_OK) {
        status = rt_npy_header(&in.input, &h, e);
        rt_zip_member_close(&in, NULL);
    }
    if (status == RT_OK) {
        lg_push_shape(L, h.ndim, h.shape);
        lg_buffer_printf(b, "%s %s, in the file", rt_dtypes[h.dtype].name, luaL_tolstring(L, -1, NULL));
        lua_pop(L, 2);
    } else {
        const size_t n = strlen(title);
        const char *why = e->text ? e->text : "";
        lg_buffer_printf(b, "cannot be read: %s", !strncmp(why, title, n) && why[n] == ':' ? why + n + 2 : why);
        rt_error_clear(e);
    }
    lua_pop(L, 1);
}

/* Pushes the names in the file's order, and behind them the other fields' keys. */
static void push_keys(lua_State *L, int table, int names)
{
    lua_Integer n = 0;
    lua_newtable(L);
    const int others = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_settop(L, others + 1)) {
        lua_pushvalue(L, others + 1);
        if (lua_rawget(L, names) != LUA_TNIL) continue;
        lua_pushvalue(L, others + 1);
        lua_rawseti(L, others, ++n);
    }
    lg_sort_keys(L, n);
    lua_newtable(L);
    for (lua_Integer i = 1; lua_rawgeti(L, names, i) != LUA_TNIL; i++) lua_rawseti(L, others + 1, i);
    lua_pop(L, 1);
    for (lua_Integer i = 1, at = (lua_Integer)lua_rawlen(L, others + 1); i <= n; i++) {
        lua_rawgeti(L, others, i);
        lua_rawseti(L, others + 1, at + i);
    }
    lua_remove(L, others);
}

static int archive_tostring(lua_State *L)
{
    lua_settop(L, 1);
    const struct archive *a = check_archive(L); /* 2 */
    struct lg_buffer *b = lg_push_buffer(L);    /* 3 */
    push_keys(L, 1, 2);                         /* 4 */
    lua_getmetatable(L, 1);
    lua_rawgeti(L, -1, 1);
    lua_getiuservalue(L, -1, PATH);
    size_t size = 0;
    lua_Integer shown = 0, more = 0;
    lg_buffer_printf(b, "arrays of %s", lua_tolstring(L, -1, &size));
    for (lua_Integer i = 1; lua_settop(L, 4), lua_rawgeti(L, 4, i) != LUA_TNIL; i++) { /* 5 */
        const struct rt_zip_member *m = find_member(L, a, 2, 5);
        lua_pushvalue(L, 5);
        if (!m && lua_rawget(L, 1) == LUA_TNIL) continue;
        if (shown == MOST_SHOWN) {
            more++;
            continue;
        }
        shown++;
        lg_buffer_printf(b, "\n  %s  ", luaL_tolstring(L, 5, NULL));
        lua_pop(L, 1);
        if (m)
            add_member(L, b, a, m, 5);
        else
            add_value(L, b);
    }
    if (more) lg_buffer_printf(b, "\n  and " LUA_INTEGER_FMT " more", more);
    lg_push_buffer_text(L, b);
    return 1;
}

/* ---- loading and saving ---- */
/* Pushes the archive's list of names. Of members with the same name the last one counts, as for Python. */
static void push_members(lua_State *L, struct archive *a)
{
    lua_newtable(L);
    for (size_t i = 0; i < a->zip.count; i++) {
        const struct rt_zip_member *m = &a->zip.members[i];
        if (m->name_length < 4 || memcmp(m->name + m->name_length - 4, ".npy", 4) != 0) continue;
        lua_pushlstring(L, m->name, m->name_length - 4);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, -3) == LUA_TNIL) {
            a->left++;
            lua_pushvalue(L, -2);
            lua_rawseti(L, -4, (lua_Integer)a->left);
        }
        lua_pop(L, 1);
        lua_pushinteger(L, (lua_Integer)i);
        lua_rawset(L, -3);
    }
}

int lg_load_npz(lua_State *L, const char *path, const struct lg_file_options *o)
{
    static const luaL_Reg events[] = {{"__index", archive_index},       {"__newindex", archive_newindex},
                                      {"__pairs", archive_pairs},       {"__len", archive_len},
                                      {"__tostring", archive_tostring}, {NULL, NULL}};
    lg_check_map(L, o);
    struct archive *a = lua_newuserdatauv(L, sizeof *a, NAMES);
    *a = (struct archive){.place = o->place, .map = o->map};
    if (luaL_newmetatable(L, LG_ARCHIVE)) {
        lua_pushcfunction(L, archive_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, PATH);
    lg_check(L, rt_zip_open(path, &a->zip, lg_error_box(L)));
    push_members(L, a);
    if (a->left == 0) rt_zip_close(&a->zip);
    lua_setiuservalue(L, -2, NAMES);
    lua_newtable(L);
    luaL_newlib(L, events);
    lua_pushvalue(L, -3);
    lua_rawseti(L, -2, 1);
    lua_setmetatable(L, -2);
    return 1;
}

/* A list of the table's keys, sorted, so that the same arrays make the same file. */
static void push_names(lua_State *L, int idx)
{
    lua_Integer n = 0;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "an .npz file holds arrays by names, and a key of the table is a %s", lg_type_name(L, -2));
        if (!lg_test_array(L, -1))
            luaL_error(L, "an .npz file holds arrays, and '%s' is a %s", lua_tostring(L, -2), lg_type_name(L, -1));
        lua_pushvalue(L, -2);
        lua_rawseti(L, -4, ++n);
    }
    lg_sort_keys(L, n);
}

/* Reads what the table at 2 has in a file alone. */
static void read_all(lua_State *L)
{
    struct archive *a = push_archive(L, 2);
    if (!a) return;
    const int names = lua_gettop(L);
    for (lua_Integer i = 1; lua_rawgeti(L, names, i) != LUA_TNIL; lua_settop(L, names), i++)
        lg_check(L, push_array(L, a, 2, names, names + 1, lg_error_box(L)));
    lua_settop(L, names - 1);
}

void lg_save_npz(lua_State *L, const char *path, const struct lg_file_options *o)
{
    struct rt_error *e = lg_error_box(L);
    if (!lua_istable(L, 2)) luaL_error(L, "an .npz file holds a table of arrays by names, such as {x = x, y = y}");
    read_all(L);
    push_names(L, 2);
    int names = lua_gettop(L);
    struct lg_file *f = lg_push_file(L);
    lg_check(L, rt_zip_create(path, o->compress, &f->writer, e));
    for (lua_Integer i = 1; lua_rawgeti(L, names, i) != LUA_TNIL; i++) {
        char header[RT_NPY_HEADER];
        lua_pushvalue(L, -1);
        lua_rawget(L, 2);
        const struct rt_array a = *lg_check_array(L, -1);
        const void *data = lg_push_host_copy(L, &a);
        const char *name = lua_pushfstring(L, "%s.npy", lua_tostring(L, names + 2));
        size_t n = rt_npy_write_header(a.dtype, a.ndim, a.shape, header);
        lg_check(L,
                 rt_zip_add(&f->writer, name, header, n, data, (size_t)rt_array_size(&a) * rt_dtypes[a.dtype].size, e));
        lua_settop(L, names + 1);
    }
    lg_check(L, rt_zip_finish(&f->writer, true, e));
}
