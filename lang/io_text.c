/* Arrays in text files: CSV and JSON. */
#include <string.h>
#include "lang/io.h"
#include "runtime/csv.h"
#include "runtime/json.h"

/* Pushes what keeps the file's text. */
static struct lg_file *push_text(lua_State *L, const char *path)
{
    struct lg_file *f = lg_push_file(L);
    f->text = rt_file_load(path, &f->size, lg_error_box(L));
    if (!f->text) lg_raise(L, lg_error_box(L));
    return f;
}

static char one_character(lua_State *L, const char *text, const char *what)
{
    if (strlen(text) != 1) luaL_error(L, "option '%s': expected one character, got '%s'", what, text);
    return *text;
}

/* `otherwise` is that of a path whose end says none. */
static char delimiter_of(lua_State *L, const char *path, const struct lg_file_options *o, char otherwise)
{
    if (!o->delimiter) {
        const char *dot = strrchr(path, '.');
        return dot && !strcmp(dot, ".tsv") ? '\t' : dot && !strcmp(dot, ".txt") ? ' ' : otherwise;
    }
    char c = one_character(L, o->delimiter, "delimiter");
    if (strchr("\"\r\n+-.0123456789eE", c)) luaL_error(L, "option 'delimiter': '%s' is part of numbers", o->delimiter);
    return c;
}

static void push_header(lua_State *L, const struct rt_csv *c)
{
    char name[256];
    lua_newtable(L);
    for (const char *at = c->names; rt_csv_name(c, &at, name, sizeof name);) {
        lua_pushstring(L, name);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
}

/* The number, from 0, of the column that the value on top of the stack names or counts; `names` is the stack index of
 * the header's names, 0 without one. */
static int64_t check_column(lua_State *L, const struct rt_csv *c, int names)
{
    int whole;
    lua_Integer n = lua_tointegerx(L, -1, &whole);
    if (lua_type(L, -1) != LUA_TSTRING) {
        if (n < 0) n += c->columns + 1;
        if (!whole || n < 1 || n > c->columns)
            luaL_error(L, "option 'columns': expected names, or integers from 1 to %I or from the end with -1, not %s",
                       (LUAI_UACINT)c->columns, lua_isnumber(L, -1) ? lua_tostring(L, -1) : lg_type_name(L, -1));
        return n - 1;
    }
    if (!names) luaL_error(L, "option 'columns': the file has no header that names '%s'", lua_tostring(L, -1));
    for (lua_Integer i = 0; i < c->columns; i++) {
        lua_rawgeti(L, names, i + 1);
        bool same = lua_rawequal(L, -1, -2);
        lua_pop(L, 1);
        if (same) return i;
    }
    luaL_error(L, "option 'columns': the header of %s has no column '%s'", c->name, lua_tostring(L, -1));
    return 0;
}

/* For each field of a row where it goes, as rt_csv_read takes it; pushes what keeps them. The header's names at
 * `names`, if that is not 0, become those of the chosen columns. */
static const int64_t *push_places(lua_State *L, const struct rt_csv *c, int list, int names)
{
    if (!lua_istable(L, list) || lua_rawlen(L, list) == 0)
        luaL_error(L, "option 'columns': expected a list of names or numbers, got %s",
                   lua_istable(L, list) ? "an empty table" : lg_type_name(L, list));
    int64_t *places = lua_newuserdatauv(L, (size_t)c->columns * sizeof *places, 0);
    for (int64_t i = 0; i < c->columns; i++) places[i] = -1;
    lua_newtable(L);
    for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++, lua_pop(L, 1)) {
        int64_t column = check_column(L, c, names);
        if (places[column] >= 0) luaL_error(L, "option 'columns': column %I is named twice", (LUAI_UACINT)column + 1);
        places[column] = i - 1;
        if (!names) continue;
        lua_rawgeti(L, names, column + 1);
        lua_rawseti(L, -3, i);
    }
    lua_pop(L, 1);
    if (names) lua_copy(L, -1, names);
    lua_pop(L, 1);
    return places;
}

int lg_load_csv(lua_State *L, const char *path, const struct lg_file_options *o)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_csv_form form = {.delimiter = delimiter_of(L, path, o, '\0'), .comment = '#', .skip = o->skip};
    if (o->decimal) form.decimal = one_character(L, o->decimal, "decimal");
    if (o->comment) form.comment = *o->comment ? one_character(L, o->comment, "comment") : '\0';
    if (o->has_header) form.header = o->header_value ? RT_CSV_HEADER_YES : RT_CSV_HEADER_NO;
    const struct lg_file *f = push_text(L, path);
    struct rt_csv c;
    rt_lend();
    lg_check_lent(L, rt_csv_measure(path, f->text, f->size, &form, &c, e));
    if (form.decimal == c.form.delimiter)
        luaL_error(L, "option 'decimal': '%s' parts the fields of %s, unless delimiter says otherwise", o->decimal,
                   path);
    int names = 0;
    if (c.names) {
        push_header(L, &c);
        names = lua_gettop(L);
    }
    const int64_t *places = o->columns && c.columns > 0 ? push_places(L, &c, o->columns, names) : NULL;
    const int64_t shape[] = {c.rows, places ? (int64_t)lua_rawlen(L, o->columns) : c.columns};
    struct rt_array *out = lg_new_array(L);
    enum rt_dtype t = o->place.dtype == RT_DTYPE_COUNT ? RT_FLOAT32 : o->place.dtype;
    lg_check(L, rt_array_new(o->place.device, t, 2, shape, out, e));
    void *to = lg_fill_start(L, out);
    rt_lend();
    lg_check_lent(L, rt_csv_read(&c, places, shape[1], t, to, e));
    lg_fill_done(L, out, to);
    if (!names) return 1;
    lua_pushvalue(L, names);
    return 2;
}

/* Pushes the header's line. */
static const char *push_header_line(lua_State *L, int names, char delimiter, int64_t columns)
{
    luaL_Buffer b;
    lua_Integer count = (lua_Integer)lua_rawlen(L, names);
    if (count != columns)
        luaL_error(L, "the header has %I names, and the array has %I columns", (LUAI_UACINT)count,
                   (LUAI_UACINT)columns);
    luaL_buffinit(L, &b);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, names, i);
        const char *name = luaL_tolstring(L, -1, NULL);
        bool quotes = strchr(name, '"') || strchr(name, delimiter) || strpbrk(name, " \r\n") || !*name;
        const char *doubled = luaL_gsub(L, name, "\"", "\"\"");
        const char first[] = {delimiter, '\0'};
        lua_pushfstring(L, "%s%s%s%s", i > 1 ? first : "", quotes ? "\"" : "", doubled, quotes ? "\"" : "");
        lua_replace(L, -4);
        lua_pop(L, 2);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    return lua_tostring(L, -1);
}

void lg_save_csv(lua_State *L, const char *path, const struct lg_file_options *o)
{
    const struct rt_array a = *lg_check_array(L, 2);
    char delimiter = delimiter_of(L, path, o, ',');
    if (a.ndim > 2) luaL_error(L, "a table of numbers has 1 or 2 axes, and the array has %d; reshape it", a.ndim);
    int64_t rows = a.ndim ? a.shape[0] : 1, columns = a.ndim == 2 ? a.shape[1] : 1;
    if (o->has_header && o->header_value && !o->header)
        luaL_error(L, "option 'header': expected a list of names to write");
    const char *header = o->header ? push_header_line(L, o->header, delimiter, columns) : NULL;
    const struct rt_csv_table table = {delimiter, header, a.dtype, rows, columns, lg_push_host_copy(L, &a)};
    struct rt_error *e = lg_error_box(L);
    rt_lend();
    lg_check_lent(L, rt_csv_save(path, &table, e));
}

int lg_load_json(lua_State *L, const char *path, const struct lg_file_options *o)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_json j;
    const struct lg_file *f = push_text(L, path);
    rt_lend();
    lg_check_lent(L, rt_json_measure(path, f->text, f->size, &j, e));
    enum rt_dtype t = o->place.dtype != RT_DTYPE_COUNT ? o->place.dtype : j.booleans ? RT_BOOL : RT_FLOAT32;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(o->place.device, t, j.ndim, j.shape, out, e));
    void *to = lg_fill_start(L, out);
    rt_lend();
    lg_check_lent(L, rt_json_read(&j, t, to, e));
    lg_fill_done(L, out, to);
    return 1;
}

void lg_save_json(lua_State *L, const char *path, const struct lg_file_options *o)
{
    const struct rt_array a = *lg_check_array(L, 2);
    (void)o;
    const void *data = lg_push_host_copy(L, &a);
    lg_check(L, kn_check_real(&a, "JSON", lg_error_box(L)));
    lg_check(L, rt_json_save(path, a.dtype, a.ndim, a.shape, data, lg_error_box(L)));
}
