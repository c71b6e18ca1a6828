#include "lang/magic.h"
#include "lang/largest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/lookup.h"
#include "lang/waiting.h"
#include "runtime/spelling.h"

static void show_page(struct lg_session *s, const struct lg_mime *forms, size_t count)
{
    if (s->sink.page) {
        s->sink.page(s->sink.context, &(struct lg_bundle){forms, count});
        return;
    }
    const char *text = forms[0].data;
    size_t length = forms[0].length;
    lg_output(s, LG_STDOUT, text, length);
    if (length && text[length - 1] != '\n') lg_output(s, LG_STDOUT, "\n", 1);
}

void lg_page(lua_State *L, struct lg_session *s, const char *text, size_t length)
{
    (void)L;
    show_page(s, &(struct lg_mime){"text/plain", text, length}, 1);
}

static void page_buffer(struct lg_magic_call *call, const struct lg_buffer *b, const struct lg_buffer *html)
{
    struct lg_mime forms[2] = {{.type = "text/plain"}, {.type = "text/html"}};
    bool both = html && html->length;
    lg_push_buffer_text(call->L, b);
    forms[0].data = lua_tolstring(call->L, -1, &forms[0].length);
    if (both) {
        lg_push_buffer_text(call->L, html);
        forms[1].data = lua_tolstring(call->L, -1, &forms[1].length);
    }
    show_page(call->session, forms, both ? 2 : 1);
}

void lg_push_code(struct lg_magic_call *call, const char *code, int line)
{
    lua_State *L = call->L;
    bool show;
    struct lg_source source = {code, strlen(code), call->session->chunk, line};
    int status = lg_load_cell(L, &source, &show);
    if (status == LUA_ERRMEM) luaL_error(L, "not enough memory");
    call->session->bad_code = status == LUA_ERRSYNTAX;
    if (status != LUA_OK) lua_error(L);
}

static void need(struct lg_magic_call *call, const char *what, const char *name)
{
    if (!*call->rest) luaL_error(call->L, "%s needs %s; ?%s tells more", name, what, name);
}

/* The variables of the user: the session's, and globals that were not there at the start. */

struct listing {
    struct lg_buffer *out;
    bool details;
    int count;
};

static void list_variable(lua_State *L, const char *name, void *context)
{
    struct listing *l = context;
    char note[256];
    if (*name == '_') return;
    l->count++;
    if (!l->details) {
        lg_buffer_printf(l->out, "%s%s", l->count > 1 ? "  " : "", name);
        return;
    }
    const char *kind = lg_describe(L, -1, note, sizeof note);
    lg_buffer_printf(l->out, "%-20s %-10s %s\n", name, kind, note);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_variables(struct lg_magic_call *call, bool details)
{
    lua_State *L = call->L;
    struct listing l = {.out = lg_push_buffer(L), .details = details};
    lg_push_variables(L);
    int variables = lua_gettop(L);
    size_t count = 0, i = 0;
    for (lua_pushnil(L); lua_next(L, variables); lua_pop(L, 1)) count++;
    const char **names = lua_newuserdatauv(L, (count + 1) * sizeof *names, 0);
    for (lua_pushnil(L); lua_next(L, variables) && i < count; lua_pop(L, 1)) names[i++] = lua_tostring(L, -2);
    qsort(names, count, sizeof *names, compare_names);
    for (i = 0; i < count; i++) {
        lua_getfield(L, variables, names[i]);
        list_variable(L, names[i], &l);
        lua_pop(L, 1);
    }
    if (!l.count) lg_buffer_puts(l.out, "There are no variables yet.");
    if (!details || !l.count) lg_buffer_puts(l.out, "\n");
    lg_push_buffer_text(L, l.out);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), l.out->length);
    return 0;
}

static int magic_who(struct lg_magic_call *call)
{
    return list_variables(call, false);
}

static int magic_whos(struct lg_magic_call *call)
{
    return list_variables(call, true);
}

static int magic_reset(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    lg_push_variables(L);
    int variables = lua_gettop(L);
    lg_push_env(L);
    for (lua_pushnil(L); lua_next(L, variables); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        if (lua_rawget(L, variables + 1) == LUA_TNIL) {
            lua_pushglobaltable(L);
            lua_pushvalue(L, -4);
            lua_pushnil(L);
            lua_rawset(L, -3);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_settop(L, 0);
    lg_clear_locals(L);
    lg_forget_results(L);
    lua_gc(L, LUA_GCCOLLECT);
    return 0;
}

/* Devices */

static void put_size(struct lg_buffer *b, double bytes)
{
    char text[32];
    lg_buffer_puts(b, rt_size_text(bytes, text));
}

static void put_memory(lua_State *L, struct rt_device *d, struct lg_buffer *b)
{
    struct rt_memory_stats m;
    size_t free_bytes = 0, total = 0;
    rt_memory_stats(d, &m);
    lg_check(L, rt_device_memory(d, &free_bytes, &total, lg_error_box(L)));
    lg_buffer_printf(b, "%s: ", d->name);
    put_size(b, (double)m.in_use);
    lg_buffer_puts(b, " in use, ");
    put_size(b, (double)m.cached);
    lg_buffer_puts(b, " cached, at most ");
    put_size(b, (double)m.peak);
    lg_buffer_puts(b, " so far; ");
    put_size(b, (double)free_bytes);
    lg_buffer_puts(b, " free of ");
    put_size(b, (double)total);
    lg_buffer_puts(b, "\n");
}

static void put_largest(lua_State *L, struct rt_device *d, struct lg_buffer *b)
{
    char shape[256];
    struct lg_largest largest;
    lg_find_largest(L, d, &largest);
    for (int i = 0; i < largest.count; i++) {
        const struct lg_large *a = &largest.items[i];
        lg_buffer_printf(b, "  %-20s %s %s, ", a->name, rt_dtypes[a->dtype].name,
                         rt_shape_text(a->ndim, a->shape, shape, sizeof shape));
        put_size(b, (double)a->storage->bytes);
        lg_buffer_puts(b, "\n");
    }
}

static int magic_memory(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    lua_pushstring(L, *call->rest ? call->rest : NULL);
    struct rt_device *d = lg_check_device(L, lua_gettop(L));
    struct lg_buffer *b = lg_push_buffer(L);
    put_memory(L, d, b);
    lg_buffer_puts(b, "Lua: ");
    put_size(b, (double)lua_gc(L, LUA_GCCOUNT) * 1024 + lua_gc(L, LUA_GCCOUNTB));
    lg_buffer_puts(b, " in use\n");
    put_largest(L, d, b);
    lg_push_buffer_text(L, b);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), b->length);
    return 0;
}

static int magic_device(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    struct lg_buffer *b = lg_push_buffer(L);
    if (*call->rest) {
        lua_pushstring(L, call->rest);
        rt_device_set_default(lg_check_device(L, lua_gettop(L)));
    }
    struct rt_device *chosen = rt_device_default(lg_error_box(L));
    if (!chosen) lg_raise(L, lg_error_box(L));
    for (int i = 0; i < rt_device_count(); i++) {
        struct rt_device *d = rt_device_at(i, NULL);
        if (d) lg_buffer_printf(b, "%c %-8s %s\n", d == chosen ? '*' : ' ', d->name, d->model);
    }
    lg_push_buffer_text(L, b);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), b->length);
    return 0;
}

/* Files and programs */

/* What is told of a command that has ended with that status. [raises] */
static int report_command(struct lg_magic_call *call, const char *shell, int status)
{
    struct lg_session *s = call->session;
    if (status < 0) return luaL_error(call->L, "%s could not be started: %s", shell, strerror(errno));
    if (atomic_load(&s->interrupted)) return luaL_error(call->L, "interrupted");
    if (status) {
        char said[64];
        int n = snprintf(said, sizeof said, "exit status %d\n", status);
        lg_output(s, LG_STDERR, said, (size_t)n);
    }
    return 0;
}

static int run_shell(struct lg_magic_call *call, const char *shell, const char *text)
{
    char *argv[] = {(char *)shell, "-c", (char *)text, NULL};
    return report_command(call, shell, lg_run_command(call->session, argv));
}

/* At the terminal, where there is one and nothing is to be kept of what is said: editors, pagers and programs that ask
 * for passwords find it there. What goes on in the background is not to write over what is being typed. */
static int run_line(struct lg_magic_call *call, const char *text)
{
    struct lg_session *s = call->session;
    if (!s->sink.command || s->capture || lg_goes_on(text)) return run_shell(call, "/bin/sh", text);
    int status = s->sink.command(s->sink.context, text);
    if (status == 128 + SIGINT) lg_session_interrupt(s); /* Ctrl-C was the command's alone */
    return report_command(call, "/bin/sh", status);
}

static int magic_bash(struct lg_magic_call *call)
{
    return run_shell(call, "bash", call->body ? call->body : call->rest);
}

static int magic_html(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    lua_getglobal(L, "display");
    lua_getfield(L, -1, "html");
    lua_pushstring(L, call->body ? call->body : call->rest);
    lua_call(L, 1, 0);
    return 0;
}

static int magic_writefile(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    const char *path = call->rest;
    bool append = strncmp(path, "-a ", 3) == 0;
    if (append) path += 3 + strspn(path + 3, " \t");
    need(call, "the name of a file", "%%writefile");
    FILE *f = fopen(path, append ? "a" : "w");
    bool good = f && fwrite(call->body, 1, strlen(call->body), f) == strlen(call->body);
    if (f && fclose(f) != 0) good = false;
    if (!good) return luaL_error(L, "cannot write %s: %s", path, strerror(errno));
    lua_pushfstring(L, "%s %s\n", append ? "Appended to" : "Wrote", path);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), lua_rawlen(L, -1));
    return 0;
}

static bool is_cuda_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".cu") == 0 || strcmp(dot, ".cuh") == 0);
}

static int magic_load(struct lg_magic_call *call)
{
    size_t n = 0;
    need(call, "the name of a file", "%load");
    lua_pushfstring(call->L, "@%s", call->rest);
    const char *text = lg_chunk_source(call->L, lua_tostring(call->L, -1), &n);
    if (!text) return luaL_error(call->L, "cannot read %s: %s", call->rest, strerror(errno));
    const struct lg_sink *sink = &call->session->sink;
    if (!sink->next_input) {
        lg_page(call->L, call->session, text, n);
        return 0;
    }
    bool cuda = is_cuda_file(call->rest);
    lua_pushfstring(call->L, cuda ? "%%%%cuda\n// %%load %s\n" : "-- %%load %s\n", call->rest);
    lua_pushlstring(call->L, text, n);
    lua_concat(call->L, 2);
    text = lua_tolstring(call->L, -1, &n);
    sink->next_input(sink->context, text, n);
    return 0;
}

const char *lg_push_word(lua_State *L, const char *p)
{
    luaL_Buffer b;
    char quote = '\0';
    luaL_buffinit(L, &b);
    for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
        if (quote ? *p == quote : *p == '"' || *p == '\'') {
            quote = quote ? '\0' : *p;
        } else {
            if (*p == '\\' && p[1] && quote != '\'') p++;
            luaL_addchar(&b, *p);
        }
    }
    luaL_pushresult(&b);
    return p;
}

/* Splits the arguments into the global table arg, as for a script; pushes the file's name. */
static void set_arguments(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    lua_newtable(L);
    int n = 0;
    for (const char *p = call->rest; *p; n++) {
        p = lg_push_word(L, p);
        lua_rawseti(L, -2, n);
        p += strspn(p, " \t");
    }
    lua_rawgeti(L, -1, 0);
    lua_insert(L, -2);
    lua_setglobal(L, "arg");
}

static int magic_run(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    need(call, "the name of a file", "%run");
    set_arguments(call);
    if (luaL_loadfile(L, lua_tostring(L, -1)) != LUA_OK) return lua_error(L);
    lua_getglobal(L, "arg");
    int n = (int)lua_rawlen(L, -1);
    luaL_checkstack(L, n, "too many arguments");
    for (int i = 1; i <= n; i++) lua_rawgeti(L, -i, i);
    lua_remove(L, -n - 1);
    lua_call(L, n, 0);
    return 0;
}

void lg_set_variable(lua_State *L, const char *name)
{
    lg_declare(L, name, strlen(name) + 1);
    lg_push_env(L);
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* Makes the kernel on top of the stack a variable of the session, says what it is, and pops it. */
static void define_kernel(struct lg_magic_call *call, const char *name)
{
    lua_State *L = call->L;
    luaL_tolstring(L, -1, NULL);
    lua_pushliteral(L, "\n");
    lua_concat(L, 2);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), lua_rawlen(L, -1));
    lua_pop(L, 1);
    lg_set_variable(L, name);
}

/* %%cuda: the kernels of the text become variables of the session. gpu.kernel gives one, or a table of them. */
static int magic_cuda(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    static const char code[] = "local compile, text = ... ; local k = compile(text) ; return k";
    lua_getglobal(L, "gpu");
    if (!lua_istable(L, -1)) return luaL_error(L, "%%%%cuda needs the gpu module, which did not open");
    lua_getfield(L, -1, "kernel");
    struct lg_buffer *b = lg_push_buffer(L);
    for (int i = 1; i < call->line; i++) lg_buffer_puts(b, "\n");
    lg_buffer_puts(b, code);
    if (b->failed) return luaL_error(L, "not enough memory");
    /* The caller is a chunk of this cell, so that messages name the lines of the cell. */
    if (luaL_loadbufferx(L, b->data, b->length, call->session->chunk, "t") != LUA_OK) return lua_error(L);
    lua_pushvalue(L, -3);
    lua_pushstring(L, call->body);
    lua_call(L, 2, 1);
    int made = lua_gettop(L);
    if (!lua_istable(L, made)) {
        lua_getfield(L, made, "name");
        lua_pushvalue(L, made);
        define_kernel(call, luaL_checkstring(L, made + 1));
        return 0;
    }
    lua_getmetatable(L, made);
    for (lua_Integer i = 1; lua_rawgeti(L, made + 1, i) == LUA_TSTRING; i++, lua_settop(L, made + 1)) {
        const char *name = lua_tostring(L, -1);
        lua_getfield(L, made, name);
        define_kernel(call, name);
    }
    return 0;
}

/* Help */

static int magic_lsmagic(struct lg_magic_call *call)
{
    struct lg_buffer *b = lg_push_buffer(call->L);
    for (const struct lg_magic *m = lg_magics; m->name; m++) {
        bool fits = strlen(m->usage) <= 34; /* else what it does stands below */
        if (!fits) lg_buffer_printf(b, "%s\n", m->usage);
        lg_buffer_printf(b, "%-34s %.*s\n", fits ? m->usage : "", (int)strcspn(m->doc, "\n"), m->doc);
    }
    lg_buffer_puts(b,
                   "!command                           Runs a shell command, which has the terminal if there is one.\n"
                   "?name, name?                       Shows what is known of a name; ??name adds its source.\n");
    page_buffer(call, b, NULL);
    return 0;
}

const struct lg_magic lg_magics[] = {
    {"cuda", "%%cuda", "Compiles the cell as CUDA C; its kernels become variables by their names.", false, true,
     LG_TAKES_NOTHING, magic_cuda},
    {"time", "%time code",
     "Runs Lua code once and says how long it took.\nLaunches are checked only where gpu.check(true) asked for it. As %%time it takes the rest of the cell.",
     true, true, LG_TAKES_CODE, lg_magic_time},
    {"timeit", "%timeit [-n N] [-r R] code",
     "Runs Lua code many times and says how long it takes.\n"
     "R runs (7) of N loops each, as many as give a measurable time. Work on the default device is waited for at the "
     "end of each run, and launches are checked only where gpu.check(true) asked for it. As %%timeit it takes the rest of the cell.",
     true, true, LG_TAKES_CODE, lg_magic_timeit},
    {"who", "%who", "Lists the names of the variables that you have made.", true, false, LG_TAKES_NOTHING, magic_who},
    {"whos", "%whos", "Lists your variables with what they are.", true, false, LG_TAKES_NOTHING, magic_whos},
    {"reset", "%reset", "Forgets all your variables and collects what they held.", true, false, LG_TAKES_NOTHING,
     magic_reset},
    {"memory", "%memory [device]", "Shows the memory in use on a device and by Lua.", true, false, LG_TAKES_DEVICE,
     magic_memory},
    {"device", "%device [name]", "Lists the devices, or chooses the default one.", true, false, LG_TAKES_DEVICE,
     magic_device},
    {"capture", "%%capture [name]",
     "Runs the rest of the cell as Lua, and keeps what it prints and shows to itself.\n"
     "With a name, that variable gets it: stdout and stderr are texts, shown is a list of what display can show, and "
     "name:show() shows everything. What programs in C print to stdout by themselves is not captured.",
     false, true, LG_TAKES_CODE, lg_magic_capture},
    {"run", "%run file [arguments]", "Runs a Lua file in this session.", true, false, LG_TAKES_FILE, magic_run},
    {"load", "%load file",
     "Puts the text of a file into a cell, to be changed and run, that of a .cu file behind %%cuda.", true, false,
     LG_TAKES_FILE, magic_load},
    {"writefile", "%%writefile [-a] file", "Writes the rest of the cell to a file; -a appends.", false, true,
     LG_TAKES_FILE, magic_writefile},
    {"html", "%%html", "Shows the rest of the cell as HTML.\nAs %html it takes the rest of the line.", true, true,
     LG_TAKES_NOTHING, magic_html},
    {"bash", "%%bash", "Runs the rest of the cell by bash.\nAs %bash it takes the rest of the line.", true, true,
     LG_TAKES_NOTHING, magic_bash},
    {"cd", "%cd [folder]",
     "Goes to a folder, from which relative paths count then.\nHome without a name, and back with `%cd -`. A name may "
     "begin with ~, or stand in quotes. What is started by !cd is another process, whose folder goes with it.",
     true, false, LG_TAKES_FOLDER, lg_magic_cd},
    {"pwd", "%pwd", "The path of the folder that relative paths count from.", true, false, LG_TAKES_NOTHING,
     lg_magic_pwd},
    {"env", "%env [name[=value]]",
     "Gives a variable of the environment, or sets it: for !commands, libraries and os.getenv.\nAlone it lists them, without values "
     "of those whose name says key, token, secret or password. The value is the rest of the line as it is, without "
     "quotes. Most variables LUNARRAY_... are read when lunarray starts, or once.",
     true, false, LG_TAKES_ENVIRONMENT, lg_magic_env},
    {"history", "%history [cells] or %history -g text",
     "Shows the cells of this session: all, or those with the numbers, as in 3 or 2-5 or 7-.\nWith -g, all cells of all "
     "sessions that have the text in them.",
     true, false, LG_TAKES_NOTHING, lg_magic_history},
    {"save", "%save [-f] [-a] file [cells]",
     "Writes cells of this session to a file, a script whose cells begin with `-- %%`.\nAll, or those with the numbers, "
     "as in 3 or 2-5 or 7-. A file that is there is replaced with -f, and added to with -a.",
     true, false, LG_TAKES_FILE, lg_magic_save},
    {"edit", "%edit [cell]",
     "Opens a cell in your editor, and runs what you leave there.\nThe last one unless another's number is given. The "
     "editor is $VISUAL or $EDITOR. In a terminal only.",
     true, false, LG_TAKES_NOTHING, lg_magic_edit},
    {"lsmagic", "%lsmagic", "Lists the magics.", true, false, LG_TAKES_NOTHING, magic_lsmagic},
    {NULL, NULL, NULL, false, false, LG_TAKES_NOTHING, NULL},
};

const struct lg_magic *lg_magic_find(const char *name, size_t length)
{
    for (const struct lg_magic *m = lg_magics; m->name; m++)
        if (strlen(m->name) == length && memcmp(m->name, name, length) == 0) return m;
    return NULL;
}

/* Whether the text is several words, as shared memory, of which the last alone means something else. */
static bool is_phrase(const char *text, size_t length)
{
    bool blank = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ')
            blank = true;
        else if (!rt_in_name(text[i]))
            return false;
    }
    return blank;
}

/* ?name, ??name, name?, name?? */
static int ask(struct lg_magic_call *call, const char *text, size_t length)
{
    lua_State *L = call->L;
    int marks = 0;
    while (length && *text == '?') text++, length--, marks++;
    while (length && (*text == ' ' || *text == '\t')) text++, length--;
    while (length && text[length - 1] == '?') length--, marks++;
    struct lg_buffer *b = lg_push_buffer(L), *html = lg_push_buffer(L);
    if (!length) {
        lg_buffer_puts(b, "?name shows what is known of a name, ??name adds its source. %lsmagic lists the commands of "
                          "cells, gpu.help() the functions of the gpu module.\n");
    } else if (is_phrase(text, length) && lg_push_found(L, lua_pushlstring(L, text, length))) {
        lg_buffer_puts(b, lua_tostring(L, -1));
    } else if (!lg_inspect_text(L, text, length, length, &(struct lg_known){b, html, marks > 1})) {
        const char *name = lua_pushlstring(L, text, length);
        if (!lg_push_found(L, name))
            return luaL_error(L, "nothing is known of '%s'; %s", name, lg_push_way_out(L, name));
        lg_buffer_puts(b, lua_tostring(L, -1));
    }
    page_buffer(call, b, html);
    return 0;
}

/* Pushes the text between the spaces around it. */
static const char *push_trimmed(lua_State *L, const char *from, const char *to)
{
    while (from < to && strchr(" \t", *from)) from++;
    while (to > from && strchr(" \t\r", to[-1])) to--;
    return lua_pushlstring(L, from, (size_t)(to - from));
}

int lg_run_line_magic(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct lg_magic_call call = {.L = L, .session = lg_session_of(L), .line = (int)luaL_optinteger(L, 2, 1)};
    if (*text == '!') return run_line(&call, text + 1);
    if (*text != '%') return ask(&call, text, n);
    const char *name = text + 1;
    size_t length = strcspn(name, " \t");
    const struct lg_magic *m = lg_magic_find(name, length);
    call.rest = push_trimmed(L, name + length, text + n);
    if (!m || !m->line) return lg_raise_magic(L, lua_pushlstring(L, name, length), false);
    return m->run(&call);
}

int lg_run_cell_magic(lua_State *L)
{
    size_t n;
    lua_pushvalue(L, lua_upvalueindex(1));
    const char *text = lua_tolstring(L, -1, &n), *end = text + n;
    struct lg_magic_call call = {
        .L = L, .session = lg_session_of(L), .line = (int)lua_tointeger(L, lua_upvalueindex(2))};
    const char *line_end = memchr(text, '\n', n);
    if (!line_end) line_end = end;
    const char *name = text + 2;
    size_t length = strcspn(name, " \t\r\n");
    const struct lg_magic *m = lg_magic_find(name, length);
    call.rest = push_trimmed(L, name + length, line_end);
    call.body = line_end < end ? line_end + 1 : "";
    if (!m || !m->cell) return lg_raise_magic(L, lua_pushlstring(L, name, length), true);
    return m->run(&call);
}
