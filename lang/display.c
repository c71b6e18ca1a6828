/* Bundles: a value in every form that a face may show it in. The result of a cell, and the display functions. */
#include "lang/session_state.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "lang/capture.h"
#include "lang/display.h"
#include "lang/hint.h"

#define MAX_FORMS 16
#define HANDLE    "lunarray.display"

/* A bundle under construction. Its strings are kept alive by the table at `anchors`. */
struct bundle {
    lua_State *L;
    struct lg_mime *items;
    size_t count;
    int anchors;
};

/* Pushes the items and the anchors. */
static struct bundle new_bundle(lua_State *L)
{
    struct bundle b = {.L = L};
    b.items = lua_newuserdatauv(L, MAX_FORMS * sizeof *b.items, 0);
    lua_newtable(L);
    b.anchors = lua_gettop(L);
    return b;
}

/* Adds the string on top of the stack, and pops it. A type comes once, the first one counts. */
static void add_form(struct bundle *b, const char *type)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->items[i].type, type) == 0) {
            lua_pop(b->L, 1);
            return;
        }
    luaL_argcheck(b->L, b->count < MAX_FORMS, 1, "too many forms to display");
    struct lg_mime *m = &b->items[b->count++];
    m->type = type;
    m->data = lua_tolstring(b->L, -1, &m->length);
    lua_rawseti(b->L, b->anchors, (lua_Integer)lua_rawlen(b->L, b->anchors) + 1);
}

/* Adds the fields of the table at idx, type -> text. */
static void add_table(struct bundle *b, int idx)
{
    lua_State *L = b->L;
    for (lua_pushnil(L); lua_next(L, idx);) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "a table of forms to display maps types such as \"text/html\" to strings, not %s to %s",
                       lg_type_name(L, -2), lg_type_name(L, -1));
        lua_pushvalue(L, -2); /* keeps the type's name alive too */
        lua_rawseti(L, b->anchors, (lua_Integer)lua_rawlen(L, b->anchors) + 1);
        add_form(b, lua_tostring(L, -2));
    }
}

/* Whether every key of the table at idx is a type such as "text/html". */
static bool is_forms(lua_State *L, int idx)
{
    bool any = false;
    if (!lua_istable(L, idx)) return false;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        any = lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING && strchr(lua_tostring(L, -2), '/');
        if (any) continue;
        lua_pop(L, 2);
        return false;
    }
    return any;
}

/* The forms that the metamethod __display returns. */
static void add_own_forms(struct bundle *b, int idx)
{
    lua_State *L = b->L;
    if (luaL_getmetafield(L, idx, "__display") == LUA_TNIL) return;
    lua_pushvalue(L, idx);
    lua_call(L, 1, 1);
    if (!lua_istable(L, -1))
        luaL_error(L, "__display must return a table from types to texts, not %s", lg_type_name(L, -1));
    add_table(b, lua_gettop(L));
    lua_pop(L, 1);
}

static const struct lg_mime *find_form(const struct bundle *b, const char *type)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->items[i].type, type) == 0) return &b->items[i];
    return NULL;
}

/* The text of a value whose forms do not include it: that of a form that can be read, where the value is nothing but
 * its forms and does not print by itself. */
static void push_plain_text(const struct bundle *b, int idx)
{
    lua_State *L = b->L;
    bool prints = luaL_getmetafield(L, idx, "__tostring") != LUA_TNIL;
    if (prints) lua_pop(L, 1);
    const struct lg_mime *html = prints ? NULL : find_form(b, "text/html");
    const struct lg_mime *source = prints ? NULL : find_form(b, "text/markdown");
    if (!source && !prints) source = find_form(b, "text/latex");
    if (source)
        lua_pushlstring(L, source->data, source->length);
    else if (html)
        lg_push_html_text(L, html->data, html->length);
    else
        lg_push_value_text(L, idx);
}

void lg_push_bundle(lua_State *L, int idx, struct lg_bundle *out)
{
    idx = lua_absindex(L, idx);
    luaL_checkstack(L, 12, NULL);
    struct bundle b = new_bundle(L);
    if (is_forms(L, idx)) {
        add_table(&b, idx);
    } else {
        add_own_forms(&b, idx);
        const struct rt_array *a = lg_test_array(L, idx);
        if (a && a->storage) {
            lg_push_array_html(L, lg_check_array(L, idx));
            add_form(&b, "text/html");
        }
    }
    if (!find_form(&b, "text/plain")) {
        push_plain_text(&b, idx);
        add_form(&b, "text/plain");
    }
    *out = (struct lg_bundle){b.items, b.count};
}

/* Pushes values first..last as HTML, each in its best form, below each other; false and nothing when none has HTML. */
static bool push_values_html(lua_State *L, int first, int last)
{
    bool rich = false;
    struct lg_buffer *html = lg_push_buffer(L);
    int top = lua_gettop(L);
    for (int i = first; i <= last; i++, lua_settop(L, top)) {
        struct lg_bundle one;
        const struct lg_mime *form = NULL;
        lg_push_bundle(L, i, &one);
        for (size_t k = 0; k < one.count && (!form || strcmp(form->type, "text/html") != 0); k++)
            if (!strcmp(one.items[k].type, "text/html") || !strcmp(one.items[k].type, "text/plain"))
                form = &one.items[k];
        bool is_html = form && strcmp(form->type, "text/html") == 0;
        rich |= is_html;
        lg_buffer_puts(html, is_html ? "<div>" : "<pre style=\"margin:0;padding:0\">");
        if (form && is_html) lg_buffer_add(html, form->data, form->length);
        if (form && !is_html) lg_buffer_escape(html, form->data, form->length);
        lg_buffer_puts(html, is_html ? "</div>" : "</pre>");
    }
    if (rich) lg_push_buffer_text(L, html);
    lua_remove(L, top);
    return rich;
}

/* Several values: side by side, or below each other when one of them has several lines. */
static void push_values_bundle(lua_State *L, int first, int last, struct lg_bundle *out)
{
    bool lines = false;
    luaL_checkstack(L, last - first + 12, "too many results to show");
    struct bundle b = new_bundle(L);
    for (int i = first; i <= last; i++) {
        lg_push_value_text(L, i);
        lines |= strchr(lua_tostring(L, -1), '\n') != NULL;
    }
    struct lg_buffer *text = lg_push_buffer(L);
    for (int i = first; i <= last; i++) {
        size_t n;
        const char *one = lua_tolstring(L, b.anchors + 1 + i - first, &n);
        if (i > first) lg_buffer_puts(text, lines ? "\n" : "\t");
        lg_buffer_add(text, one, n);
    }
    lg_push_buffer_text(L, text);
    lua_replace(L, b.anchors + 1);
    lua_settop(L, b.anchors + 1);
    add_form(&b, "text/plain");
    if (push_values_html(L, first, last)) add_form(&b, "text/html");
    *out = (struct lg_bundle){b.items, b.count};
}

/* io.write and its like return the file for chaining; nobody wants to see it. */
static bool is_standard(lua_State *L, int idx)
{
    const luaL_Stream *file = luaL_testudata(L, idx, LUA_FILEHANDLE);
    lua_getfield(L, LUA_REGISTRYINDEX, "_IO_output");
    bool same = lua_rawequal(L, -1, idx);
    lua_pop(L, 1);
    return same || (file && file->f == stderr);
}

/* What display returns, for changing what it has shown; as a cell's value it would only be shown below that. */
bool lg_is_handle(lua_State *L, int idx)
{
    if (!lua_istable(L, idx) || !lua_getmetatable(L, idx)) return false;
    luaL_getmetatable(L, HANDLE);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

/* The cell that is shown; NULL for what a front end evaluates beside cells. */
static const char *cell_code(lua_State *L, const struct lg_session *s, size_t *length)
{
    return strncmp(s->chunk, "=cell ", 6) == 0 && s->sink.result ? lg_chunk_source(L, s->chunk, length) : NULL;
}

/* Shows the text at the top. */
static void show_text(lua_State *L, const struct lg_session *s)
{
    struct bundle b = new_bundle(L);
    lua_pushvalue(L, b.anchors - 2);
    add_form(&b, "text/plain");
    const struct lg_bundle bundle = {b.items, b.count};
    fflush(stdout);
    s->sink.result(s->sink.context, s->count, &bundle);
}

/* A cell that asks for a name, or a string's character by its number, is told that it has no value; a call that returns
 * nil is not. */
static void show_nil(lua_State *L, const struct lg_session *s)
{
    size_t length;
    const char *code = cell_code(L, s, &length);
    if (code && (lg_push_missing(L, code, length) || lg_push_nil(L, code, length))) show_text(L, s);
}

/* One that compares an array by == is told of its elements; false for other values. */
static bool show_compared(lua_State *L, const struct lg_session *s, int idx)
{
    size_t length;
    const char *code = lua_isboolean(L, idx) ? cell_code(L, s, &length) : NULL;
    if (!code || !lg_push_compared(L, code, length, lua_toboolean(L, idx))) return false;
    show_text(L, s);
    lg_remember_result(L, s->count, idx);
    return true;
}

void lg_show_result(lua_State *L, struct lg_session *s, int first, int last)
{
    if (last < first) return;
    if (first == last && (is_standard(L, first) || lg_is_handle(L, first))) return;
    if (first == last && lua_isnil(L, first)) {
        show_nil(L, s);
        return;
    }
    if (first == last && show_compared(L, s, first)) return;
    struct lg_bundle bundle;
    if (first == last) {
        lg_push_bundle(L, first, &bundle);
    } else {
        push_values_bundle(L, first, last, &bundle);
    }
    lg_remember_result(L, s->count, first);
    fflush(stdout);
    if (s->sink.result) s->sink.result(s->sink.context, s->count, &bundle);
}

bool lg_shows_pictures(lua_State *L, struct lg_terminal *out)
{
    const struct lg_session *s = lg_session_of(L);
    *out = (struct lg_terminal){0};
    if (s && s->sink.terminal) s->sink.terminal(s->sink.context, out);
    return s && s->sink.display && !s->sink.terminal;
}

enum lg_pictures lg_pictures_as(lua_State *L, const struct lg_terminal *t)
{
    const struct lg_session *s = lg_session_of(L);
    if (s && s->sink.pictures) return s->sink.pictures(s->sink.context);
    return t->color ? LG_PICTURES_BLOCKS : LG_PICTURES_NONE;
}

void lg_show_text(lua_State *L, const char *text, size_t length)
{
    struct lg_session *s = lg_session_of(L);
    if (s) {
        lg_output(s, LG_STDOUT, text, length);
    } else {
        fwrite(text, 1, length, stdout);
        fflush(stdout);
    }
}

void lg_show(lua_State *L, const struct lg_bundle *b, const char *id, bool update)
{
    struct lg_session *s = lg_session_of(L);
    if (lg_capture_bundle(L, s, b, id)) return;
    if (s && s->sink.display) {
        fflush(stdout);
        s->sink.display(s->sink.context, b, id, update);
        return;
    }
    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->items[i].type, "text/plain") != 0) continue;
        lg_show_text(L, b->items[i].data, b->items[i].length);
        lg_show_text(L, "\n", 1);
    }
}

/* Front ends keep ids beyond the end of a kernel, so the time is part of them. */
const char *lg_push_display_id(lua_State *L)
{
    struct lg_session *s = lg_session_of(L);
    char id[64];
    if (!s) return lua_pushliteral(L, "display");
    if (!s->displays++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        s->displays_since = (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    }
    snprintf(id, sizeof id, "lunarray-%llx-%u", s->displays_since, s->displays);
    return lua_pushstring(L, id);
}

/* Shows a bundle as new, and pushes the handle to it; the id is the user's at idx, if there is one. */
static int show_with_handle(lua_State *L, const struct lg_bundle *b, int idx)
{
    luaL_checkstack(L, 8, NULL);
    lua_newtable(L);
    if (lua_isnoneornil(L, idx))
        lg_push_display_id(L);
    else
        lua_pushstring(L, luaL_checkstring(L, idx));
    lg_show(L, b, lua_tostring(L, -1), false);
    lua_setfield(L, -2, "id");
    luaL_setmetatable(L, HANDLE);
    return 1;
}

void lg_show_with_handle(lua_State *L, const struct lg_bundle *b, int into)
{
    if (!into) {
        lua_pushnil(L);
        show_with_handle(L, b, lua_gettop(L));
        lua_remove(L, -2);
        return;
    }
    lua_getfield(L, into, "id");
    lg_show(L, b, luaL_checkstring(L, -1), true);
    lua_pop(L, 1);
    lua_pushvalue(L, into);
}

static int display(lua_State *L)
{
    struct lg_bundle bundle;
    lua_remove(L, 1); /* the display table itself */
    luaL_checkany(L, 1);
    lua_settop(L, 2);
    lg_push_bundle(L, 1, &bundle);
    return show_with_handle(L, &bundle, 2);
}

static int display_update(lua_State *L)
{
    struct lg_bundle bundle;
    const char *id = luaL_checkstring(L, 1);
    luaL_checkany(L, 2);
    lg_push_bundle(L, 2, &bundle);
    lg_show(L, &bundle, id, true);
    return 0;
}

static const char *check_handle(lua_State *L)
{
    luaL_argexpected(L, lg_is_handle(L, 1), 1, "what display(value) returned");
    lua_getfield(L, 1, "id");
    return luaL_checkstring(L, -1);
}

static int handle_update(lua_State *L)
{
    struct lg_bundle bundle;
    luaL_checkany(L, 2);
    const char *id = check_handle(L);
    lg_push_bundle(L, 2, &bundle);
    lg_show(L, &bundle, id, true);
    lua_settop(L, 1);
    return 1;
}

static int handle_clear(lua_State *L)
{
    static const struct lg_mime nothing = {"text/plain", "", 0};
    lg_show(L, &(struct lg_bundle){&nothing, 1}, check_handle(L), true);
    lua_settop(L, 1);
    return 1;
}

static int display_as(lua_State *L, const char *type)
{
    size_t n;
    lua_settop(L, 2);
    const char *text = luaL_checklstring(L, 1, &n);
    struct lg_mime items[] = {{type, text, n}, {"text/plain", text, n}};
    if (strcmp(type, "text/html") == 0) {
        lg_push_html_text(L, text, n);
        items[1].data = lua_tolstring(L, -1, &items[1].length);
    } else if (strcmp(type, "image/svg+xml") == 0) {
        items[1] = (struct lg_mime){"text/plain", "an SVG picture", strlen("an SVG picture")};
    }
    return show_with_handle(L, &(struct lg_bundle){items, 2}, 2);
}

static int display_html(lua_State *L)
{
    return display_as(L, "text/html");
}

static int display_markdown(lua_State *L)
{
    return display_as(L, "text/markdown");
}

static int display_svg(lua_State *L)
{
    return display_as(L, "image/svg+xml");
}

static int display_clear(lua_State *L)
{
    struct lg_session *s = lg_session_of(L);
    fflush(stdout);
    if (!lg_capture_clear(L, s) && s->sink.clear_output) s->sink.clear_output(s->sink.context, lua_toboolean(L, 1));
    return 0;
}

static const struct lg_function functions[] = {
    {"update", display_update, "display.update(id, value)",
     "Replaces what display(value, id) showed, in this cell or an earlier one.\nA terminal does so as long as nothing "
     "was printed below, else it prints the new value.",
     "display.update('progress', 50)"},
    {"html", display_html, "display.html(text [, id])",
     "Shows a piece of HTML.\nA terminal shows its text, without the tags.", "display.html('<b>done</b>')"},
    {"markdown", display_markdown, "display.markdown(text [, id])",
     "Shows a piece of Markdown.\nA terminal shows the text as it is.", "display.markdown('**done**')"},
    {"svg", display_svg, "display.svg(text [, id])", "Shows an SVG picture.\nA terminal only says that there is one.",
     "display.svg('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>')"},
    {"clear", display_clear, "display.clear([wait])",
     "Removes the cell's output so far.\nWith `wait`, only when the next output comes, so that nothing flickers, and not by an error. A terminal "
     "takes back the line that is not ended yet, or what display showed when nothing was printed below.",
     "display.clear(true)"},
    {0}};

static const struct lg_function handle_methods[] = {
    {"update", handle_update, "h:update(value)",
     "Shows the value in place of what h = display(...) or h = gpu.imshow(...) showed. Returns h.",
     "local h = gpu.imshow(gpu.eye(3))\nh:update('done')"},
    {"clear", handle_clear, "h:clear()", "Removes what h showed. Returns h; h:update shows again.",
     "gpu.imshow(gpu.eye(3)):clear()"},
    {0}};

static const struct lg_function display_row = {
    "display", display, "display(value [, id])",
    "Shows a value as a cell's result is shown, at any time; returns a handle h with h:update(value) and h:clear().\n"
    "Arrays show as a table. A table whose keys are types, {[\"text/html\"] = \"<b>x</b>\"}, shows as that; so does an "
    "object whose metamethod __display returns such a table. With an id of yours, display.update(id, value) can replace it, too.",
    "local h = display(gpu.zeros(3))\nh:update(gpu.ones(3))"};

void lg_open_display(lua_State *L, struct lg_session *s)
{
    (void)s;
    lua_newtable(L);
    lg_register(L, "display", functions);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, display);
    lua_setfield(L, -2, "__call");
    lua_setmetatable(L, -2);
    lua_setglobal(L, "display");
    lg_document(L, "session", &display_row);
}

void lg_open_handles(lua_State *L)
{
    luaL_newmetatable(L, HANDLE);
    lua_newtable(L);
    lg_register(L, "displayed", handle_methods);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
