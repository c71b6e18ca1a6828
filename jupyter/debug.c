#include "jupyter/debug.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/kernel.h"
#include "jupyter/text.h"
#include "lang/debugger.h"
#include "runtime/memory.h"

#define THREAD 1 /* the one that there is */

void jp_debug_close(struct jp_debug *d)
{
    json_decref(d->sources);
    json_decref(d->breakpoints);
    json_decref(d->message);
    d->sources = d->breakpoints = d->message = NULL;
}

/* Arguments. */

static const char *argument_string(const json_t *arguments, const char *name)
{
    return json_string_value(json_object_get(arguments, name));
}

/* An integer of the arguments in the range of an int. */
static int argument_integer(const json_t *arguments, const char *name, int fallback)
{
    const json_t *value = json_object_get(arguments, name);
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : fallback;
    return n > INT_MAX ? INT_MAX : n < INT_MIN ? INT_MIN : (int)n;
}

/* Frames are numbered from 1 for clients; LG_DEBUG_NO_FRAME where none is named. */
static int argument_frame(const json_t *arguments, const char *name)
{
    int id = argument_integer(arguments, name, 0);
    return id > 0 ? id - 1 : LG_DEBUG_NO_FRAME;
}

/* Commands: each returns the body of its response, or NULL and why it failed. */

static const char no_memory[] = "not enough memory";

static json_t *answer_nothing(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)k, (void)arguments, (void)failure;
    return json_object();
}

static json_t *answer_info(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments, (void)failure;
    json_t *breakpoints = json_array(), *list;
    const char *path;
    json_object_foreach(k->debug.breakpoints, path, list)
    {
        json_array_append_new(breakpoints, json_pack("{s:s, s:O}", "source", path, "breakpoints", list));
    }
    json_t *stopped = lg_debug_is_stopped(k->session) ? json_pack("[i]", THREAD) : json_array();
    return json_pack("{s:b, s:s, s:I, s:o, s:s, s:o, s:o, s:b, s:[], s:b}", "isStarted", k->debug.started, "hashMethod",
                     "Murmur2", "hashSeed", (json_int_t)JP_DEBUG_SEED, "tmpFilePrefix", jp_debug_prefix(),
                     "tmpFileSuffix", JP_DEBUG_SUFFIX, "breakpoints", breakpoints, "stoppedThreads", stopped,
                     "richRendering", 1, "exceptionPaths", "copyToGlobals", 1);
}

static json_t *answer_initialize(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments;
    if (!lg_debug_attach(k->session)) {
        *failure = "this session cannot be stopped";
        return NULL;
    }
    k->debug.started = true;
    return json_pack("{s:b, s:b, s:b, s:b, s:b, s:[{s:s, s:s, s:b}]}", "supportsConfigurationDoneRequest", 1,
                     "supportsConditionalBreakpoints", 1, "supportsSetVariable", 1, "supportsTerminateRequest", 1,
                     "supportsModulesRequest", 1, "exceptionBreakpointFilters", "filter", "uncaught", "label",
                     "Uncaught errors", "default", 0);
}

static json_t *answer_dump_cell(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    const json_t *code = json_object_get(arguments, "code");
    if (!json_is_string(code)) {
        *failure = "dumpCell needs the string `code`";
        return NULL;
    }
    json_t *path = jp_debug_cell(&k->debug, json_string_value(code), json_string_length(code));
    return path ? json_pack("{s:o}", "sourcePath", path) : NULL;
}

/* Breakpoints. */

static json_t *breakpoint_json(const char *path, int line, int asked)
{
    if (line) return json_pack("{s:b, s:i, s:{s:s}}", "verified", 1, "line", line, "source", "path", path);
    return json_pack("{s:b, s:i, s:{s:s}, s:s}", "verified", 0, "line", asked, "source", "path", path, "message",
                     "no code is there or below");
}

/* The breakpoints wanted, malloc'd; NULL when they are not a list of objects with a line. */
static struct lg_debug_breakpoint *read_breakpoints(const json_t *list, size_t *count)
{
    *count = json_array_size(list);
    struct lg_debug_breakpoint *wanted = json_is_array(list) ? rt_alloc((*count + 1) * sizeof *wanted) : NULL;
    for (size_t i = 0; wanted && i < *count; i++) {
        const json_t *one = json_array_get(list, i);
        if (json_is_integer(json_object_get(one, "line"))) {
            const char *condition = argument_string(one, "condition");
            wanted[i].line = argument_integer(one, "line", 0);
            wanted[i].condition = condition && *condition ? condition : NULL;
        } else {
            free(wanted);
            wanted = NULL;
        }
    }
    return wanted;
}

/* What clients are told, now and by debugInfo later. */
static json_t *note_breakpoints(struct jp_debug *d, const char *path, const json_t *list,
                                const struct lg_debug_breakpoint *wanted, size_t count)
{
    json_t *told = json_array(), *kept = json_array();
    for (size_t i = 0; i < count; i++) {
        int asked = argument_integer(json_array_get(list, i), "line", 0);
        json_array_append_new(told, breakpoint_json(path, wanted[i].line, asked));
        if (wanted[i].line)
            json_array_append_new(kept,
                                  json_pack("{s:i, s:s*}", "line", wanted[i].line, "condition", wanted[i].condition));
    }
    if (!d->breakpoints) d->breakpoints = json_object();
    if (json_array_size(kept))
        json_object_set(d->breakpoints, path, kept);
    else
        json_object_del(d->breakpoints, path);
    json_decref(kept);
    return json_pack("{s:o}", "breakpoints", told);
}

static json_t *answer_set_breakpoints(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    const char *path = argument_string(json_object_get(arguments, "source"), "path");
    const json_t *list = json_object_get(arguments, "breakpoints");
    size_t count;
    struct lg_debug_breakpoint *wanted = path ? read_breakpoints(list, &count) : NULL;
    if (!wanted) {
        *failure = "setBreakpoints needs `source`: {path} and `breakpoints`: a list of {line}";
        return NULL;
    }
    const json_t *text = json_object_get(k->debug.sources, path);
    json_t *chunk = json_sprintf("@%s", path), *body = NULL;
    struct lg_debug_source source = {.chunk = jp_debug_is_cell(path) ? NULL : json_string_value(chunk),
                                     .text = text ? json_string_value(text) : "",
                                     .length = json_string_length(text)};
    for (size_t i = 0; !text && i < count; i++) wanted[i].line = 0;
    if (!text || lg_debug_set_breakpoints(k->session, &source, wanted, count))
        body = note_breakpoints(&k->debug, path, list, wanted, count);
    json_decref(chunk);
    free(wanted);
    return body;
}

static json_t *answer_set_exceptions(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)failure;
    bool wanted = false;
    const json_t *filters = json_object_get(arguments, "filters");
    for (size_t i = 0; i < json_array_size(filters); i++) {
        const char *name = json_string_value(json_array_get(filters, i));
        wanted |= name && strcmp(name, "uncaught") == 0;
    }
    lg_debug_stop_at_errors(k->session, wanted);
    return json_object();
}

/* What is stopped. */

static json_t *answer_threads(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)k, (void)arguments, (void)failure;
    return json_pack("{s:[{s:i, s:s}]}", "threads", "id", THREAD, "name", "main");
}

struct frames {
    struct jp_kernel *kernel;
    json_t *list;
    int count, first, most; /* which of them are wanted */
};

static void add_frame(void *context, const struct lg_debug_frame *frame)
{
    struct frames *f = context;
    int id = ++f->count;
    if (id <= f->first || id - f->first > f->most) return;
    struct jp_debug *d = &f->kernel->debug;
    const struct lg_debug_source *at = frame->at;
    json_t *path = NULL;
    if (at->chunk)
        path = jp_debug_file(d, at->chunk + 1, at->text ? at->text : "", at->length);
    else if (at->text)
        path = jp_debug_cell(d, at->text, at->length);
    json_t *source = json_object(), *name = jp_text_json(frame->name, strlen(frame->name));
    json_object_set(source, "name", path ? path : name);
    if (path) json_object_set_new(source, "path", path);
    json_array_append_new(f->list, json_pack("{s:i, s:o, s:i, s:i, s:o}", "id", id, "name", name, "line", frame->line,
                                             "column", 1, "source", source));
}

static json_t *answer_stack(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)failure;
    int levels = argument_integer(arguments, "levels", 0);
    struct frames f = {.kernel = k,
                       .list = json_array(),
                       .first = argument_integer(arguments, "startFrame", 0),
                       .most = levels > 0 ? levels : INT_MAX};
    if (f.first < 0) f.first = 0;
    lg_debug_frames(k->session, add_frame, &f);
    return json_pack("{s:o, s:i}", "stackFrames", f.list, "totalFrames", f.count);
}

static void add_scope(void *list, const struct lg_debug_variable *v)
{
    json_array_append_new(
        list, json_pack("{s:s, s:i, s:b}", "name", v->name, "variablesReference", v->reference, "expensive", 0));
}

static json_t *answer_scopes(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    json_t *list = json_array();
    if (lg_debug_scopes(k->session, argument_frame(arguments, "frameId"), add_scope, list))
        return json_pack("{s:o}", "scopes", list);
    json_decref(list);
    *failure = "there is no frame of that `frameId`";
    return NULL;
}

/* JupyterLab shows the values of a few types, by Python's names for them, and for all others the type in place of the
 * value; none at all has the value shown. NULL where its numbers would not be ours. */
static const char *type_of(const struct lg_debug_variable *v)
{
    if (strcmp(v->type, "string") == 0) return "str";
    if (strcmp(v->type, "boolean") == 0) return "bool";
    if (strcmp(v->type, "number") != 0 || strlen(v->value) > 15) return NULL;
    return v->value[strspn(v->value, "-0123456789")] == '\0' ? "int" : strpbrk(v->value, "in") ? NULL : "float";
}

static json_t *value_json(const struct lg_debug_variable *v)
{
    return jp_text_json(v->value, strlen(v->value));
}

static void add_variable(void *list, const struct lg_debug_variable *v)
{
    json_array_append_new(list,
                          json_pack("{s:o, s:o, s:s*, s:i}", "name", jp_text_json(v->name, v->name_length), "value",
                                    value_json(v), "type", type_of(v), "variablesReference", v->reference));
}

static json_t *variables(struct jp_kernel *k, int reference, int start, int count, const char **failure)
{
    json_t *list = json_array();
    size_t most = count > 0 ? (size_t)count : LG_DEBUG_MOST;
    if (lg_debug_variables(k->session, reference, start > 0 ? (size_t)start : 0, most, add_variable, list))
        return json_pack("{s:o}", "variables", list);
    json_decref(list);
    *failure = "that `variablesReference` is not, or no longer, good";
    return NULL;
}

static json_t *answer_variables(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    return variables(k, argument_integer(arguments, "variablesReference", 0), argument_integer(arguments, "start", 0),
                     argument_integer(arguments, "count", 0), failure);
}

static json_t *answer_inspect(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments;
    if (!lg_debug_is_stopped(k->session)) lg_debug_forget(k->session);
    return variables(k, LG_DEBUG_SESSION, 0, 0, failure);
}

static void take_bundle(void *data, const struct lg_bundle *bundle)
{
    *(json_t **)data = jp_bundle_json(bundle);
}

static json_t *answer_rich_inspect(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    const char *name = argument_string(arguments, "variableName");
    if (!name || !*name) {
        *failure = "richInspectVariables needs the string `variableName`";
        return NULL;
    }
    json_t *data = NULL;
    if (lg_debug_is_stopped(k->session)) {
        lg_debug_display(k->session, argument_frame(arguments, "frameId"), name, take_bundle, &data);
    } else {
        json_t *result = jp_evaluate_expression(k, name);
        data = json_incref(json_object_get(result, "data"));
        json_decref(result);
    }
    return json_pack("{s:o, s:{}}", "data", data ? data : json_object(), "metadata");
}

static json_t *answer_source(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    const char *path = argument_string(json_object_get(arguments, "source"), "path");
    json_t *text = path ? json_object_get(k->debug.sources, path) : NULL;
    if (text) return json_pack("{s:O, s:s}", "content", text, "mimeType", "text/x-lua");
    *failure = "the source is not known";
    return NULL;
}

/* Values that code gives. */

struct result {
    json_t *value;
    const char *type;
    int reference;
};

static void take_value(void *result, const struct lg_debug_variable *v)
{
    *(struct result *)result = (struct result){value_json(v), type_of(v), v->reference};
}

/* The body, whose text has this name; or the message as the reason for failing. */
static json_t *evaluate(struct jp_kernel *k, int frame, const char *code, size_t length, const char *name,
                        const char **failure)
{
    struct result r = {NULL, NULL, 0};
    if (lg_debug_evaluate(k->session, frame, code, length, take_value, &r))
        return json_pack("{s:o, s:s*, s:i}", name, r.value, "type", r.type, "variablesReference", r.reference);
    json_decref(k->debug.message);
    k->debug.message = r.value;
    *failure = r.value ? json_string_value(r.value) : "the error has no text";
    return NULL;
}

static json_t *answer_evaluate(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    const json_t *code = json_object_get(arguments, "expression");
    if (!json_is_string(code)) {
        *failure = "evaluate needs the string `expression`";
        return NULL;
    }
    return evaluate(k, argument_frame(arguments, "frameId"), json_string_value(code), json_string_length(code),
                    "result", failure);
}

static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return text && *text && (*text < '0' || *text > '9') && text[strspn(text, letters)] == '\0';
}

/* Variables of scopes are set as an assignment in their frame does. */
static json_t *answer_set_variable(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    const char *name = argument_string(arguments, "name"), *value = argument_string(arguments, "value");
    int reference = argument_integer(arguments, "variablesReference", 0), frame = lg_debug_frame_of(reference);
    if (!is_name(name) || !value || frame == LG_DEBUG_NO_FRAME) {
        *failure = "setVariable needs the strings `name` and `value`, and the `variablesReference` of a scope";
        return NULL;
    }
    json_t *code = json_sprintf("%s = %s", name, value);
    json_t *done =
        code ? evaluate(k, frame, json_string_value(code), json_string_length(code), "value", failure) : NULL;
    json_decref(code);
    if (!done) return NULL;
    json_decref(done);
    return evaluate(k, frame, name, strlen(name), "value", failure);
}

static json_t *answer_copy(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    const char *from = argument_string(arguments, "srcVariableName"),
               *to = argument_string(arguments, "dstVariableName");
    if (is_name(from) && is_name(to) &&
        lg_debug_keep(k->session, argument_frame(arguments, "srcFrameId"), from, strlen(from), to))
        return json_object();
    *failure = "copyToGlobals needs the names `srcVariableName` and `dstVariableName`";
    return NULL;
}

static json_t *answer_modules(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)k, (void)arguments, (void)failure;
    return json_pack("{s:[], s:i}", "modules", "totalModules", 0);
}

/* Going on. */

static json_t *go_on(struct jp_kernel *k, enum lg_debug_step step)
{
    lg_debug_step(k->session, step);
    k->debug.resumed = true;
    return json_pack("{s:b}", "allThreadsContinued", 1);
}

static json_t *answer_continue(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments, (void)failure;
    return go_on(k, LG_GO_ON);
}

static json_t *answer_next(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments, (void)failure;
    return go_on(k, LG_STEP_OVER);
}

static json_t *answer_step_in(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments, (void)failure;
    return go_on(k, LG_STEP_IN);
}

static json_t *answer_step_out(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments, (void)failure;
    return go_on(k, LG_STEP_OUT);
}

static json_t *answer_pause(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments;
    if (lg_debug_pause(k->session)) return json_object();
    *failure = "nothing runs";
    return NULL;
}

static json_t *answer_disconnect(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    (void)arguments, (void)failure;
    lg_debug_detach(k->session);
    if (k->debug.breakpoints) json_object_clear(k->debug.breakpoints);
    k->debug.started = false;
    k->debug.resumed = true;
    return json_object();
}

/* What is debugged is the cell that runs. */
static json_t *answer_terminate(struct jp_kernel *k, const json_t *arguments, const char **failure)
{
    lg_session_interrupt(k->session);
    return answer_disconnect(k, arguments, failure);
}

enum needs { ANYTIME, STARTED, STOPPED };

static const struct command {
    const char *name;
    enum needs needs;
    json_t *(*answer)(struct jp_kernel *k, const json_t *arguments, const char **failure);
} commands[] = {
    {"debugInfo", ANYTIME, answer_info},
    {"initialize", ANYTIME, answer_initialize},
    {"attach", STARTED, answer_nothing},
    {"dumpCell", STARTED, answer_dump_cell},
    {"setBreakpoints", STARTED, answer_set_breakpoints},
    {"setExceptionBreakpoints", STARTED, answer_set_exceptions},
    {"configurationDone", STARTED, answer_nothing},
    {"threads", STARTED, answer_threads},
    {"stackTrace", STOPPED, answer_stack},
    {"scopes", STOPPED, answer_scopes},
    {"variables", ANYTIME, answer_variables},
    {"inspectVariables", ANYTIME, answer_inspect},
    {"richInspectVariables", ANYTIME, answer_rich_inspect},
    {"source", ANYTIME, answer_source},
    {"evaluate", STOPPED, answer_evaluate},
    {"setVariable", STOPPED, answer_set_variable},
    {"copyToGlobals", STOPPED, answer_copy},
    {"modules", ANYTIME, answer_modules},
    {"continue", STOPPED, answer_continue},
    {"next", STOPPED, answer_next},
    {"stepIn", STOPPED, answer_step_in},
    {"stepOut", STOPPED, answer_step_out},
    {"pause", STARTED, answer_pause},
    {"disconnect", ANYTIME, answer_disconnect},
    {"terminate", ANYTIME, answer_terminate},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; name && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static json_t *run(struct jp_kernel *k, const struct command *c, const json_t *arguments, const char **failure)
{
    *failure = no_memory;
    if (!c)
        *failure = "this debugger does not know that command";
    else if (c->needs == STARTED && !k->debug.started)
        *failure = "the debugger is not started: initialize comes first";
    else if (c->needs == STOPPED && (!lg_debug_is_stopped(k->session) || k->debug.resumed))
        *failure = "notStopped";
    else
        return c->answer(k, arguments, failure);
    return NULL;
}

static void send_event(struct jp_kernel *k, const char *event, json_t *body)
{
    struct jp_outgoing o = {.type = "debug_event"};
    jp_output_send(
        &k->output, &o,
        json_pack("{s:s, s:I, s:s, s:o}", "type", "event", "seq", ++k->debug.sent, "event", event, "body", body));
}

void jp_debug_request(struct jp_kernel *k, const struct jp_message *m)
{
    const char *name = argument_string(m->content, "command"), *failure;
    const struct command *c = find_command(name);
    json_int_t sequence = json_integer_value(json_object_get(m->content, "seq"));
    json_t *body = run(k, c, json_object_get(m->content, "arguments"), &failure);
    bool good = body != NULL;
    json_t *reply =
        json_pack("{s:s, s:I, s:I, s:b, s:s, s:o}", "type", "response", "seq", ++k->debug.sent, "request_seq", sequence,
                  "success", good, "command", name ? name : "", "body", good ? body : json_object());
    if (!good) json_object_set_new(reply, "message", json_string(failure));
    /* JupyterLab takes the list whether it succeeded or not. */
    if (!good && c && c->answer == answer_stack)
        json_object_set_new(json_object_get(reply, "body"), "stackFrames", json_array());
    jp_server_reply(k->server, m, "debug_reply", reply);
    if (good && c->answer == answer_initialize) send_event(k, "initialized", json_object());
}

void jp_debug_stopped(void *kernel, enum lg_stop why, const char *message)
{
    static const char *const reasons[] = {[LG_STOP_BREAKPOINT] = "breakpoint",
                                          [LG_STOP_STEP] = "step",
                                          [LG_STOP_PAUSE] = "pause",
                                          [LG_STOP_ERROR] = "exception"};
    struct jp_kernel *k = kernel;
    json_t *body = json_pack("{s:s, s:i, s:b}", "reason", reasons[why], "threadId", THREAD, "allThreadsStopped", 1);
    if (message) json_object_set_new(body, "text", jp_text_json(message, strlen(message)));
    k->debug.resumed = false;
    jp_server_listen(k->server);
    send_event(k, "stopped", body);
    do jp_kernel_attend(k);
    while (!k->debug.resumed && jp_server_wait(k->server));
    send_event(k, "continued", json_pack("{s:i, s:b}", "threadId", THREAD, "allThreadsContinued", 1));
}
