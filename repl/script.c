/* Plain Lua from a file, from -e and -l, from standard input: what a stock lua does with them, with the same messages
 * and exit statuses. */
#include <errno.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "repl/output.h"
#include "repl/repl.h"
#include "runtime/memory.h"

char *sh_read_file(const char *path, size_t *length)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) return NULL;
    size_t size = 0, capacity = 16384;
    char *text = rt_alloc(capacity);
    while (text) {
        size_t got = fread(text + size, 1, capacity - size - 1, file);
        size += got;
        if (got == 0) break;
        if (size + 1 < capacity) continue;
        char *more = rt_realloc(text, capacity *= 2);
        if (!more) free(text);
        text = more;
    }
    int error = text ? (ferror(file) ? errno : 0) : ENOMEM;
    if (file != stdin) fclose(file);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    text[size] = '\0';
    *length = size;
    return text;
}

static bool evaluate_request(struct lg_session *s, struct sh_output *out, const struct lg_request *request)
{
    const struct lg_error *error = NULL;
    enum lg_status status = lg_session_evaluate(s, request, &error);
    if (status != LG_DONE) sh_output_error(out, error);
    return status == LG_DONE;
}

static bool evaluate(struct lg_session *s, struct sh_output *out, const char *code, const char *name)
{
    struct lg_request request = {.code = code, .length = strlen(code), .name = name, .silent = true, .script = true};
    return evaluate_request(s, out, &request);
}

/* `alone`: without the script's arguments. */
static bool evaluate_file(struct lg_session *s, struct sh_output *out, const char *path, bool alone)
{
    size_t length;
    char *text = sh_read_file(path, &length);
    if (!text) {
        fflush(stdout);
        fprintf(stderr, "%s: cannot %s %s: %s\n", out->program, errno == EISDIR ? "read" : "open", path,
                strerror(errno));
        return false;
    }
    bool is_stdin = strcmp(path, "-") == 0;
    char name[4096];
    snprintf(name, sizeof name, "@%s", path);
    struct lg_request request = {.code = text,
                                 .length = length,
                                 .name = is_stdin ? "=stdin" : name,
                                 .alone = alone,
                                 .silent = true,
                                 .script = true};
    bool ok = evaluate_request(s, out, &request);
    free(text);
    return ok;
}

/* -l NAME and -l g=NAME */
static bool take_module(struct lg_session *s, struct sh_output *out, const char *text)
{
    const struct lg_error *error = NULL;
    const char *equals = strchr(text, '=');
    char *global = equals ? strndup(text, (size_t)(equals - text)) : strdup(text);
    enum lg_status status = lg_session_require(s, equals ? equals + 1 : text, global ? global : text, &error);
    free(global);
    if (status != LG_DONE) sh_output_error(out, error);
    return status == LG_DONE;
}

static bool take_step(struct lg_session *s, struct sh_output *out, const struct sh_step *step)
{
    switch (step->kind) {
    case SH_STEP_CODE: return evaluate(s, out, step->text, "=(command line)");
    case SH_STEP_MODULE: return take_module(s, out, step->text);
    case SH_STEP_WARNINGS: return evaluate(s, out, "warn '@on'", "=(command line)");
    }
    return true;
}

/* LUA_INIT, with the version's own variable before the general one: code, or @ and a file's name. */
static bool evaluate_init(struct lg_session *s, struct sh_output *out)
{
    const char *name = "=LUA_INIT_5_4", *code = getenv(name + 1);
    if (!code) code = getenv((name = "=LUA_INIT") + 1);
    if (!code) return true;
    return *code == '@' ? evaluate_file(s, out, code + 1, true) : evaluate(s, out, code, name);
}

static bool evaluate_given(struct lg_session *s, const struct sh_options *o)
{
    struct sh_output out = {.color = sh_takes_color(STDERR_FILENO), .program = o->program};
    if (!o->no_environment && !evaluate_init(s, &out)) return false;
    for (int i = 0; i < o->step_count; i++)
        if (!take_step(s, &out, &o->steps[i])) return false;
    return o->argc == 0 || evaluate_file(s, &out, o->argv[0], false);
}

bool sh_wants_input(const struct sh_options *o)
{
    for (int i = 0; i < o->step_count; i++)
        if (o->steps[i].kind == SH_STEP_CODE) return false;
    return o->argc == 0 && !o->version;
}

struct script {
    struct lg_session *session;
    const struct sh_options *options;
    bool input, ok;
};

/* Inside a C function with two arguments, as in a stock lua: tracebacks end in it, and the stack has as much room. */
static int run_given(lua_State *L)
{
    struct script *script = lua_touserdata(L, 1);
    struct sh_output out = {.color = sh_takes_color(STDERR_FILENO), .program = script->options->program};
    script->ok = evaluate_given(script->session, script->options);
    /* A stock lua takes no notice of how this ends. */
    if (script->ok && script->input) evaluate_file(script->session, &out, "-", true);
    return 0;
}

bool sh_run_given(struct lg_session *s, const struct sh_options *o, bool input)
{
    struct script script = {s, o, input, false};
    lua_State *L = lg_session_state(s);
    if (o->version) puts(LUA_COPYRIGHT "\nlunarray " LUNARRAY_VERSION);
    lua_pushcfunction(L, run_given);
    lua_pushlightuserdata(L, &script);
    lua_pushnil(L);
    lua_pcall(L, 2, 0, 0);
    lua_settop(L, 0);
    return script.ok;
}

int sh_run_script(struct sh_options *o)
{
    o->lossy = true;
    struct sh_output out = {.flush = true};
    struct lg_options options = {.sink = sh_output_sink(&out),
                                 .device = o->device,
                                 .no_environment = o->no_environment,
                                 .argc = o->argc,
                                 .argv = o->argv,
                                 .before = o->before};
    if (o->argc == 0) { /* without a script the words count from the program's name on */
        options.argc = o->before;
        options.argv = o->argv - o->before;
        options.before = 0;
    }
    struct lg_session *session = lg_session_new(&options);
    if (!session) {
        fprintf(stderr, "lunarray: out of memory\n");
        return 1;
    }
    sh_interrupts(session, true);
    bool ok = sh_run_given(session, o, sh_wants_input(o));
    sh_interrupts(NULL, false);
    lg_session_free(session);
    return ok ? 0 : 1;
}
