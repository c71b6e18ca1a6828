#include "repl/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/lang.h"
#include "repl/repl.h"
#include "repl/theme.h"

static struct sh_settings settings = {.prompt = "{n}> ", .pager = "auto"};
const struct sh_settings *const sh_settings = &settings;

/* Colours: what the user wrote for each style, kept here because themes are made anew from it. */
static struct {
    enum sh_background background;
    bool automatic; /* it is the terminal's */
    char own[SH_THEME_STYLES][SH_CODE_SIZE];
} look;

static void choose_theme(void)
{
    const char *own[SH_THEME_STYLES];
    for (int i = 0; i < SH_THEME_STYLES; i++) own[i] = look.own[i];
    sh_theme_choose(look.background, sh_colors(), own);
}

/* Each setter checks the value at index 3 and takes it over. [raises] */

static const char *check_text(lua_State *L, const char *name, size_t size)
{
    size_t n;
    if (lua_type(L, 3) != LUA_TSTRING) luaL_error(L, "%s must be a text, not %s", name, luaL_typename(L, 3));
    const char *text = lua_tolstring(L, 3, &n);
    if (n >= size) luaL_error(L, "%s must be shorter than %d bytes", name, (int)size);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ') luaL_error(L, "%s must be one line without control characters", name);
    return text;
}

static bool check_switch(lua_State *L, const char *name)
{
    if (!lua_isboolean(L, 3)) luaL_error(L, "%s must be true or false, not %s", name, luaL_typename(L, 3));
    return lua_toboolean(L, 3);
}

static void set_prompt(lua_State *L)
{
    strcpy(settings.prompt, check_text(L, "shell.prompt", sizeof settings.prompt));
}

static void set_vi(lua_State *L)
{
    settings.vi = check_switch(L, "shell.vi");
}

static void set_status(lua_State *L)
{
    settings.status = check_switch(L, "shell.status");
}

static void set_theme(lua_State *L)
{
    static const char *const names[] = {"auto", "dark", "light", "none", NULL};
    int option = lg_check_option(L, 3, NULL, names);
    look.automatic = option == 0;
    switch (option) {
    case 0: look.background = sh_background(); break;
    case 1: look.background = SH_DARK; break;
    case 2: look.background = SH_LIGHT; break;
    default: look.background = SH_NO_COLORS;
    }
    choose_theme();
}

bool sh_settings_follow_background(void)
{
    return look.automatic;
}

bool sh_settings_background(enum sh_background background)
{
    sh_background_told(background);
    if (!look.automatic || look.background == background) return false;
    look.background = background;
    choose_theme();
    return true;
}

static void set_images(lua_State *L)
{
    static const char *const names[] = {"auto",      "kitty",   "iterm2", "sixel", "blocks",
                                        "blocks256", "blocks8", "none",   NULL};
    settings.images = (enum sh_pictures)lg_check_option(L, 3, NULL, names);
}

static void set_pager(lua_State *L)
{
    if (lua_isboolean(L, 3) && !lua_toboolean(L, 3)) {
        settings.pager[0] = '\0';
        return;
    }
    if (lua_type(L, 3) != LUA_TSTRING)
        luaL_error(L, "shell.pager must be a command, \"auto\" or false, not %s", luaL_typename(L, 3));
    strcpy(settings.pager, check_text(L, "shell.pager", sizeof settings.pager));
}

static void set_colors(lua_State *L);
static void set_keys(lua_State *L);

static const struct setting {
    struct lg_function doc; /* named in full, as ?shell.prompt finds it */
    void (*set)(lua_State *L);
    const char *initial; /* a text; NULL: false */
} rows[] = {
    {{"shell.prompt", NULL, "shell.prompt = \"{n}> \"",
      "What stands before a cell; {n} is the number of the cell.\nLater lines of a cell begin with as many dots. Texts in "
      "the globals _PROMPT and _PROMPT2 come first, as in a stock lua.",
      "shell.prompt = 'lua[{n}]> '\nassert(shell.prompt == 'lua[{n}]> ')"},
     set_prompt,
     "{n}> "},
    {{"shell.theme", NULL, "shell.theme = \"auto\"",
      "Colours for a \"dark\" or a \"light\" background, or \"none\".\n\"auto\" goes by COLORFGBG, which some "
      "terminals set, else by what the terminal answers when it is asked, and is dark where it does not: tmux 3.3, for one, says nothing of a light terminal around it; 'light' in init.lua does. With NO_COLOR in the environment there are no colours.",
      "shell.theme = 'light'\nassert(shell.theme == 'light')"},
     set_theme,
     "auto"},
    {{"shell.colors", NULL, "shell.colors.keyword = \"bold magenta\"",
      "The colours of single things: prompt, keyword, string, number, comment, called, note, match, selected, pair, wrong, ghost, mode, error, "
      "calls, status, heading, strong, emphasis, strike, code, link.\nA colour is a name (black, red, green, yellow, "
      "blue, magenta, cyan, white, each with `bright` before it), a number up to 255 or \"#rrggbb\"; `on` puts one "
      "behind the text; bold, dim, italic, underline, strike and reverse may stand beside it. \"auto\" is the theme's, "
      "\"none\" is plain. Where the terminal has fewer colours the nearest one is taken.",
      "shell.colors.keyword = 'bold #c678dd'\nshell.colors = {string = 'green', number = 'bright blue on 236'}\n"
      "assert(shell.colors.string == 'green')"},
     set_colors,
     NULL},
    {{"shell.keys", NULL, "shell.keys[\"C-o\"] = \"run\"",
      "What keys do in the editor: a key by its name, and a command, or false for nothing; ?? lists both.\n"
      "C- is Ctrl, M- is Alt, S- is Shift: \"C-o\", \"M-Enter\", \"S-Up\", \"C-c C-r\" for one key after the other. \"vi H\" "
      "is the key H in vi's normal mode, which may also stand for other keys of it: shell.keys[\"vi Y\"] = \"vi y$\".",
      "shell.keys = {['C-o'] = 'run', ['M-p'] = false, ['vi Y'] = 'vi y$'}\nassert(shell.keys['C-o'] == 'run')"},
     set_keys,
     NULL},
    {{"shell.images", NULL, "shell.images = \"auto\"",
      "How gpu.imshow, gpu.plot and other pictures are drawn: \"kitty\", \"iterm2\" and \"sixel\" are ways to give a "
      "terminal pixels, \"blocks\" half blocks of 24-bit colour, \"blocks256\" of 256 colours, \"blocks8\" of eight, \"none\" a line of text."
      "\n\"auto\" finds out what the terminal can do when the first picture is drawn.",
      "shell.images = 'blocks'\nassert(shell.images == 'blocks')"},
     set_images,
     "auto"},
    {{"shell.pager", NULL, "shell.pager = \"auto\"",
      "The command that shows texts and values with more lines than the screen, such as \"less -R\"; false: none.\n"
      "\"auto\" is $PAGER, and less where that is not set.",
      "shell.pager = false\nassert(shell.pager == false)"},
     set_pager,
     "auto"},
    {{"shell.status", NULL, "shell.status = false",
      "Whether a line below the cell shows the device, the memory in use on it, and the last cell's time.",
      "shell.status = true\nassert(shell.status)"},
     set_status,
     NULL},
    {{"shell.vi", NULL, "shell.vi = false", "Whether the keys are vi's, in place of Emacs's.",
      "shell.vi = true\nassert(shell.vi)"},
     set_vi,
     NULL},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct lg_function about = {
    "shell", NULL, "shell",
    "The settings of the terminal's shell, e.g. shell.theme = \"light\"; they take effect at once.\n"
    "prompt, theme, colors, keys, images, pager, status, vi; ?shell.prompt and so on tell more, `shell` shows all of them. The "
    "file ~/.config/lunarray/init.lua (or $XDG_CONFIG_HOME/lunarray/init.lua) is run before the first cell and is the place "
    "for them; lunarray --no-init leaves it out.",
    "assert(shell.prompt and shell.colors.prompt)"};

/* Raises that there is no such field of the table of values at `values`. */
static int unknown(lua_State *L, const char *table, int values)
{
    if (lua_type(L, 2) != LUA_TSTRING) return luaL_error(L, "%s has no field %s", table, luaL_tolstring(L, 2, NULL));
    const char *name = lua_tostring(L, 2), *best = lg_closest_key(L, values, name, NULL);
    if (best) return luaL_error(L, "%s has no '%s'; did you mean '%s'?", table, name, best);
    return luaL_error(L, "%s has no '%s'; ?%s lists what there is", table, name, table);
}

static bool is_table(const struct setting *row);

/* shell[name] = value: upvalue 1 holds the values. */
static int set_field(lua_State *L)
{
    lua_settop(L, 3);
    lua_pushvalue(L, lua_upvalueindex(1));
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].doc.name + strlen("shell."), name) != 0) continue;
        rows[i].set(L);
        if (is_table(&rows[i])) return 0;
        lua_pushvalue(L, 3);
        lua_setfield(L, 4, name);
        return 0;
    }
    return unknown(L, "shell", 4);
}

/* shell.colors[name] = value */
static int set_color(lua_State *L)
{
    char code[SH_CODE_SIZE], what[64];
    lua_settop(L, 3);
    lua_pushvalue(L, lua_upvalueindex(1));
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    for (int i = 0; i < SH_THEME_STYLES; i++) {
        if (!sh_style_names[i] || strcmp(sh_style_names[i], name) != 0) continue;
        snprintf(what, sizeof what, "shell.colors.%s", name);
        const char *text = check_text(L, what, sizeof look.own[i]);
        if (strcmp(text, "auto") != 0 && !sh_theme_code(text, 1 << 24, code))
            return luaL_error(L,
                              "%s must be a colour such as \"bold red\" or \"#ff8800\", not \"%s\"; ?shell.colors "
                              "tells more",
                              what, text);
        strcpy(look.own[i], text);
        choose_theme();
        lua_pushvalue(L, 3);
        lua_setfield(L, 4, name);
        return 0;
    }
    return unknown(L, "shell.colors", 4);
}

/* shell.keys[name] = command */
static int set_key(lua_State *L)
{
    lua_settop(L, 3);
    if (lua_type(L, 2) != LUA_TSTRING)
        return luaL_error(L, "shell.keys has keys by their names such as \"C-o\", not %s", luaL_tolstring(L, 2, NULL));
    const char *key = lua_tostring(L, 2), *command = lua_tostring(L, 3);
    if (lua_type(L, 3) != LUA_TSTRING && (!lua_isboolean(L, 3) || lua_toboolean(L, 3)))
        return luaL_error(L, "shell.keys[\"%s\"] must be a command's name or false, not %s", key, luaL_typename(L, 3));
    switch (sh_bind(&settings.keys, key, command)) {
    case SH_BOUND: break;
    case SH_NO_KEY:
        return luaL_error(
            L, "shell.keys: \"%s\" is no key that can be bound; \"C-o\", \"M-f\", \"S-Up\" or \"C-x C-e\" are", key);
    case SH_NO_COMMAND:
        return luaL_error(L, "shell.keys[\"%s\"]: there is no command \"%s\"; ?? lists them", key, command);
    case SH_NO_MEMORY: return luaL_error(L, "not enough memory");
    }
    lua_rawset(L, lua_upvalueindex(1));
    return 0;
}

/* A table for a table of settings sets those that it names. */
static void set_each(lua_State *L, const char *name, const char *example)
{
    if (!lua_istable(L, 3))
        luaL_error(L, "shell.%s must be a table such as %s, not %s", name, example, luaL_typename(L, 3));
    lua_getfield(L, 1, name);
    for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_settable(L, -5);
    }
}

static void set_colors(lua_State *L)
{
    set_each(L, "colors", "{keyword = \"bold\"}");
}

static void set_keys(lua_State *L)
{
    set_each(L, "keys", "{[\"C-o\"] = \"run\"}");
}

static bool is_table(const struct setting *row)
{
    return row->set == set_colors || row->set == set_keys;
}

/* "shell.prompt = "{n}> "" and so on, a line each. */
static int show(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 0; i < ROWS; i++) {
        lua_getfield(L, 2, rows[i].doc.name + strlen("shell."));
        bool text = lua_type(L, -1) == LUA_TSTRING;
        if (lua_istable(L, -1))
            lua_pushfstring(L, "%s%s: ?%s tells of them", i ? "\n" : "", rows[i].doc.name, rows[i].doc.name);
        else
            lua_pushfstring(L, text ? "%s%s = \"%s\"" : "%s%s = %s", i ? "\n" : "", rows[i].doc.name,
                            luaL_tolstring(L, -1, NULL));
        lua_replace(L, 3);
        lua_settop(L, 3);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    return 1;
}

static int next_field(lua_State *L)
{
    lua_settop(L, 2);
    return lua_next(L, 1) ? 2 : (lua_pushnil(L), 1);
}

static int each_field(lua_State *L)
{
    lua_pushcfunction(L, next_field);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushnil(L);
    return 3;
}

/* Replaces the table of values on top by one that reads them and sets them by `set`. */
static void guard(lua_State *L, lua_CFunction set, lua_CFunction text)
{
    int values = lua_gettop(L);
    lua_newtable(L);
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, values);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, values);
    lua_pushcclosure(L, set, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushvalue(L, values);
    lua_pushcclosure(L, each_field, 1);
    lua_setfield(L, -2, "__pairs");
    if (text) {
        lua_pushvalue(L, values);
        lua_pushcclosure(L, text, 1);
        lua_setfield(L, -2, "__tostring");
    }
    lua_setmetatable(L, -2);
    lua_replace(L, values);
}

int sh_open_settings(lua_State *L)
{
    memset(&look, 0, sizeof look);
    sh_keymap_free(&settings.keys);
    lua_newtable(L);
    lua_newtable(L);
    for (int i = 0; i < SH_THEME_STYLES; i++) {
        if (!sh_style_names[i]) continue;
        lua_pushliteral(L, "auto");
        lua_setfield(L, -2, sh_style_names[i]);
    }
    guard(L, set_color, NULL);
    lua_setfield(L, -2, "colors");
    lua_newtable(L);
    guard(L, set_key, NULL);
    lua_setfield(L, -2, "keys");
    guard(L, set_field, show);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "shell");
    for (int i = 0; i < ROWS; i++) {
        lg_document(L, "session", &rows[i].doc);
        if (is_table(&rows[i])) continue;
        if (rows[i].initial)
            lua_pushstring(L, rows[i].initial);
        else
            lua_pushboolean(L, false);
        lua_setfield(L, -2, rows[i].doc.name + strlen("shell."));
    }
    lg_document(L, "session", &about);
    return 0;
}

/* init.lua */

static bool init_path(char *path, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = -1;
    if (config && *config == '/')
        n = snprintf(path, size, "%s/lunarray/init.lua", config);
    else if (home && *home)
        n = snprintf(path, size, "%s/.config/lunarray/init.lua", home);
    return n > 0 && (size_t)n < size;
}

void sh_run_init(struct lg_session *s, struct sh_output *out)
{
    char path[4096];
    size_t length;
    if (!init_path(path, sizeof path)) return;
    char *text = sh_read_file(path, &length);
    if (!text) {
        if (errno != ENOENT && errno != ENOTDIR)
            fprintf(stderr, "lunarray: cannot read %s: %s\n", path, strerror(errno));
        return;
    }
    struct lg_request request = {.code = text, .length = length, .name = "@init.lua", .silent = true};
    const struct lg_error *error = NULL;
    enum lg_status status = lg_session_evaluate(s, &request, &error);
    if (status != LG_DONE) {
        sh_output_error(out, error);
        fprintf(stderr, "(in %s; the session goes on without the rest of it)\n", path);
    }
    sh_output_end(out);
    free(text);
}
