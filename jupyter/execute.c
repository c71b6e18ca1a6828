/* What a session says while it runs a cell, as Jupyter's messages: streams, displays, errors in colour, questions; and
 * the request to run one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/kernel.h"
#include "jupyter/text.h"
#include "lang/prepare.h"
#include "runtime/environment.h"
#include "runtime/host.h"
#include "runtime/interrupt.h"
#include "runtime/memory.h"

/* Front ends send all cells of "Run All" at once, so after an error more may be on its way that the user wants
 * stopped: what arrives within this time and was sent before the error is not run either. */
#define ABORT_WINDOW_NS ((int64_t)250000000)

/* Formats whose data is JSON travel as JSON, all others as strings. */
static bool is_json(const char *type)
{
    size_t n = strlen(type);
    return strcmp(type, "application/json") == 0 || (n > 5 && strcmp(type + n - 5, "+json") == 0);
}

json_t *jp_bundle_json(const struct lg_bundle *bundle)
{
    json_t *data = json_object();
    for (size_t i = 0; i < bundle->count; i++) {
        const struct lg_mime *item = &bundle->items[i];
        json_t *value = NULL;
        if (is_json(item->type)) value = json_loadb(item->data, item->length, JSON_DECODE_ANY, NULL);
        if (!value) value = jp_text_json(item->data, item->length);
        json_object_set_new(data, item->type, value);
    }
    return data;
}

/* Of a lightness that has three times that of the dark ground which front ends put behind errors, and a third of that
 * of the light one: their own red and green are too pale there. */
#define RED   "\033[38;2;220;68;64m"
#define GREEN "\033[38;2;0;145;70m"

/* The colour of what stands before the place's end. */
static void paint(FILE *f, const char *color, const char *line, int before, const char *after)
{
    fprintf(f, "%s%.*s\033[0m%s%s\033[0m", color, before, line, after, line + before);
}

static bool is_caret(const char *line)
{
    return line[strspn(line, " |^~")] == '\0' && strchr(line, '^');
}

/* How many bytes of a line say where something is, as "cell 1:2: " does: 0 where nothing does. */
static int place_of(const char *line)
{
    const char *end = strstr(line, ": ");
    return end ? (int)(end - line) : 0;
}

/* Front ends break long lines of errors wherever a line of the page ends, JupyterLab inside words, too. */
#define ERROR_COLUMNS 80

/* How many bytes of a line fit: up to a blank, or to the end of a word that is longer than that; all of what is source,
 * which stands behind a bar or further in than messages and hints do. */
static size_t fitting(const char *line, size_t own, size_t n)
{
    const size_t most = jp_text_bytes(line, n, ERROR_COLUMNS - own);
    if (own > 2 || most == n) return n;
    size_t fit = most;
    while (fit > 0 && line[fit] != ' ') fit--;
    return fit > 0 ? fit : most + strcspn(line + most, " ");
}

/* A copy of a line whose parts go on below its first word. NULL without memory. */
static char *broken_at_words(const char *line)
{
    char *text = NULL;
    size_t n = 0, own = strspn(line, " ");
    const bool source = line[strspn(line, " 0123456789")] == '|';
    FILE *f = open_memstream(&text, &n);
    if (!f) return NULL;
    fprintf(f, "%.*s", (int)own, line);
    for (line += own; *line;) {
        const size_t length = strlen(line), fit = source ? length : fitting(line, own, length);
        fprintf(f, "%.*s", (int)fit, line);
        line += fit + strspn(line + fit, " ");
        if (*line) fprintf(f, "\n%*s", (int)own, "");
    }
    return fclose(f) == 0 ? text : NULL;
}

/* Line i of the traceback: messages bold and their places red, carets below a source bold, the places of calls green.
 * A message of several lines has its source and its hints indented; each that is not has a place of its own. */
static json_t *colored(const struct lg_error *error, size_t i, const char *line)
{
    char *text = NULL;
    size_t n = 0;
    bool message = i < error->message_count && (i == 0 || *line != ' ');
    int before = place_of(line);
    FILE *f = open_memstream(&text, &n);
    if (f && message)
        paint(f, RED, line, before ? before + 1 : 0, "\033[1m");
    else if (f && is_caret(line))
        fprintf(f, "\033[1m%s\033[0m", line);
    else if (f && before && i >= error->message_count + error->excerpt_count)
        paint(f, GREEN, line, before, "");
    else if (f)
        fputs(line, f);
    json_t *value = f && fclose(f) == 0 ? jp_text_json(text, n) : jp_text_json(line, strlen(line));
    free(text);
    return value;
}

json_t *jp_error_json(const struct lg_error *error)
{
    json_t *traceback = json_array();
    for (size_t i = 0; i < error->traceback_count; i++) {
        char *line = broken_at_words(error->traceback[i]);
        json_array_append_new(traceback, colored(error, i, line ? line : error->traceback[i]));
        free(line);
    }
    if (error->traceback_count == 0)
        json_array_append_new(traceback, json_sprintf("%s: %s", error->name, error->value));
    return json_pack("{s:s, s:o, s:o}", "ename", error->name, "evalue",
                     jp_text_json(error->value, strlen(error->value)), "traceback", traceback);
}

/* The session's sink. */

static void sink_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    struct jp_kernel *k = context;
    jp_output_print(&k->output, which == LG_STDERR, text, length);
}

static void sink_display(void *context, const struct lg_bundle *bundle, const char *display_id, bool update)
{
    struct jp_kernel *k = context;
    json_t *transient = display_id ? json_pack("{s:s}", "display_id", display_id) : json_object();
    jp_output_publish(
        &k->output, update ? "update_display_data" : "display_data",
        json_pack("{s:o, s:{}, s:o}", "data", jp_bundle_json(bundle), "metadata", "transient", transient));
}

static void sink_result(void *context, int execution_count, const struct lg_bundle *bundle)
{
    struct jp_kernel *k = context;
    json_t *data = jp_bundle_json(bundle);
    if (k->running.captured) {
        json_decref(*k->running.captured);
        *k->running.captured = data;
        return;
    }
    jp_output_publish(&k->output, "execute_result",
                      json_pack("{s:i, s:o, s:{}}", "execution_count", execution_count, "data", data, "metadata"));
}

static void sink_clear_output(void *context, bool wait)
{
    struct jp_kernel *k = context;
    jp_output_publish(&k->output, "clear_output", json_pack("{s:b}", "wait", wait));
}

/* While io.read waits. */
static void meanwhile(void *context)
{
    struct jp_kernel *k = context;
    lg_session_meanwhile(k->session);
}

static char *sink_input(void *context, const char *prompt, bool password)
{
    struct jp_kernel *k = context;
    if (!k->running.request || !k->running.allow_stdin) {
        static const char text[] =
            "io.read: this front end takes no input for this cell; it reads as the end of input\n";
        jp_output_print(&k->output, 1, text, sizeof text - 1);
        return NULL;
    }
    jp_output_flush(&k->output);
    json_t *content = json_pack("{s:o, s:b}", "prompt", jp_text_json(prompt ? prompt : "", prompt ? strlen(prompt) : 0),
                                "password", password);
    char *text = content ? json_dumps(content, JSON_COMPACT) : NULL;
    json_decref(content);
    if (!text) return NULL;
    const struct jp_outgoing o = {.channel = JP_STDIN,
                                  .type = "input_request",
                                  .addresses = k->running.request->identities,
                                  .address_count = k->running.request->identity_count,
                                  .parent = &k->running.request->header_text,
                                  .content = text,
                                  .content_length = strlen(text)};
    struct jp_packet *packet = jp_wire_build(jp_server_wire(k->server), &o, NULL);
    free(text);
    if (!packet || jp_server_interrupt_wanted(k->server)) {
        jp_packet_release(packet);
        return NULL;
    }
    struct jp_message *reply = jp_server_input(k->server, packet, meanwhile);
    const char *value = reply ? json_string_value(json_object_get(reply->content, "value")) : NULL;
    char *line = value ? rt_strdup(value) : NULL;
    jp_message_free(reply);
    return line;
}

/* A reply has room for one pager text, so several are joined as plain text. */
static void sink_page(void *context, const struct lg_bundle *bundle)
{
    struct jp_kernel *k = context;
    json_t *data = jp_bundle_json(bundle);
    json_t *earlier = NULL, *payload;
    size_t i;
    json_array_foreach(k->running.payload, i, payload) if (!earlier) earlier = json_object_get(payload, "data");
    if (!earlier) {
        json_array_append_new(k->running.payload,
                              json_pack("{s:s, s:o, s:i}", "source", "page", "data", data, "start", 0));
        return;
    }
    const char *before = json_string_value(json_object_get(earlier, "text/plain"));
    const char *after = json_string_value(json_object_get(data, "text/plain"));
    json_t *both = json_sprintf("%s\n%s", before ? before : "", after ? after : "");
    json_object_clear(earlier);
    json_object_set_new(earlier, "text/plain", both);
    json_decref(data);
}

static void sink_next_input(void *context, const char *text, size_t length)
{
    struct jp_kernel *k = context;
    json_array_append_new(k->running.payload, json_pack("{s:s, s:o, s:b}", "source", "set_next_input", "text",
                                                        jp_text_json(text, length), "replace", 1));
}

struct lg_sink jp_execute_sink(struct jp_kernel *k)
{
    return (struct lg_sink){.context = k,
                            .stream = sink_stream,
                            .display = sink_display,
                            .result = sink_result,
                            .clear_output = sink_clear_output,
                            .input = sink_input,
                            .page = sink_page,
                            .next_input = sink_next_input,
                            .comm = jp_comm_send,
                            .request = jp_comm_request,
                            .attend = jp_kernel_attend,
                            .attend_beside = jp_kernel_attend_beside,
                            .beside = jp_kernel_beside,
                            .stopped = jp_debug_stopped};
}

/* execute_request. */

static bool aborted(const struct jp_kernel *k, const struct jp_message *m)
{
    if (m->arrived < k->abort_queued_before) return true;
    if (m->arrived >= k->abort_arrived_before) return false;
    const char *date = json_string_value(json_object_get(m->header, "date"));
    int64_t sent;
    return date && jp_wire_date(date, &sent) && sent < k->abort_sent_before;
}

/* Without an execution count, so that front ends show the cell as not run. */
static void reply_aborted(struct jp_kernel *k, const struct jp_message *m)
{
    jp_server_reply(k->server, m, "execute_reply",
                    json_pack("{s:s, s:s, s:s, s:[]}", "status", "error", "ename", "Aborted", "evalue",
                              "not run, because a cell before it failed", "traceback"));
}

json_t *jp_evaluate_expression(struct jp_kernel *k, const char *code)
{
    const struct lg_request request = {.code = code, .length = strlen(code), .name = "user expression"};
    const struct lg_error *error = NULL;
    json_t *data = NULL, *result;
    k->running.captured = &data;
    enum lg_status status = lg_session_evaluate(k->session, &request, &error);
    k->running.captured = NULL;
    if (status == LG_DONE)
        return json_pack("{s:s, s:o, s:{}}", "status", "ok", "data", data ? data : json_object(), "metadata");
    result = jp_error_json(error);
    json_object_set_new(result, "status", json_string("error"));
    json_decref(data);
    return result;
}

static json_t *user_expressions(struct jp_kernel *k, const struct jp_message *m)
{
    json_t *results = json_object(), *code;
    const char *name;
    json_object_foreach(json_object_get(m->content, "user_expressions"), name, code)
    {
        if (json_is_string(code))
            json_object_set_new(results, name, jp_evaluate_expression(k, json_string_value(code)));
    }
    return results;
}

static json_t *reply_ok(struct jp_kernel *k, const struct jp_message *m, int count)
{
    return json_pack("{s:s, s:i, s:o, s:O}", "status", "ok", "execution_count", count, "user_expressions",
                     user_expressions(k, m), "payload", k->running.payload);
}

static json_t *reply_error(struct jp_kernel *k, const struct lg_error *error, int count)
{
    json_t *content = jp_error_json(error);
    jp_output_publish(&k->output, "error", json_incref(content));
    json_t *reply = json_copy(content);
    json_decref(content);
    json_object_set_new(reply, "status", json_string("error"));
    json_object_set_new(reply, "execution_count", json_integer(count));
    json_object_set_new(reply, "user_expressions", json_object());
    json_object_set(reply, "payload", k->running.payload);
    return reply;
}

/* What the request asks for. In the middle of another cell the count stays that one's. */
static struct lg_request read_request(const struct jp_kernel *k, const struct jp_message *m)
{
    struct lg_request request = {.silent = jp_content_flag(m, "silent", false)};
    request.code = jp_content_string(m, "code", &request.length);
    request.store_history = !request.silent && !k->nested && jp_content_flag(m, "store_history", true);
    if (k->nested) request.name = "subshell";
    return request;
}

static void evaluate(struct jp_kernel *k, const struct jp_message *m)
{
    const struct lg_request request = read_request(k, m);
    k->running = (struct jp_running){
        .request = m, .allow_stdin = !k->nested && jp_content_flag(m, "allow_stdin", true), .payload = json_array()};
    jp_output_publish(&k->output, "execute_input",
                      json_pack("{s:o, s:i}", "code", jp_text_json(request.code, request.length), "execution_count",
                                lg_session_count(k->session) + request.store_history));
    const struct lg_error *error = NULL;
    enum lg_status status = lg_session_evaluate(k->session, &request, &error);
    int count = lg_session_count(k->session);
    json_t *reply = status == LG_DONE ? reply_ok(k, m, count) : reply_error(k, error, count);
    jp_output_end(&k->output);
    lg_prepare_beside();
    if (status != LG_DONE && !m->subshell && jp_content_flag(m, "stop_on_error", true)) {
        k->abort_sent_before = rt_clock_ns(CLOCK_REALTIME) / 1000;
        k->abort_queued_before = rt_now_ns();
        k->abort_arrived_before = k->abort_queued_before + ABORT_WINDOW_NS;
    }
    jp_server_reply(k->server, m, "execute_reply", reply);
    json_decref(k->running.payload);
}

/* On a subshell, while something else runs. */
static void execute_nested(struct jp_kernel *k, const struct jp_message *m)
{
    struct jp_running outer = k->running;
    struct jp_output_place place = jp_output_enter(&k->output, &m->header_text, jp_content_flag(m, "silent", false));
    evaluate(k, m);
    jp_output_leave(&k->output, &place);
    k->running = outer;
}

/* Who sees no log sees it in the first cell. */
static void say_what_is_wrong(struct jp_kernel *k)
{
    char text[RT_VARIABLE_TEXT];
    if (k->output.silent || k->said) return;
    k->said = true;
    for (int v = 0; v < RT_VARIABLES; v++) {
        if (!rt_variable_wrong(v, text, sizeof text - 1)) continue;
        strcat(text, "\n");
        jp_output_print(&k->output, 1, text, strlen(text));
    }
}

void jp_execute(struct jp_kernel *k, const struct jp_message *m)
{
    if (k->nested) {
        execute_nested(k, m);
        return;
    }
    if (!m->subshell && aborted(k, m)) {
        reply_aborted(k, m);
        return;
    }
    jp_output_begin(&k->output, &m->header_text, jp_content_flag(m, "silent", false));
    rt_interrupt_clear();
    say_what_is_wrong(k);
    evaluate(k, m);
    k->running = (struct jp_running){NULL};
    jp_server_interrupt_met(k->server);
}
