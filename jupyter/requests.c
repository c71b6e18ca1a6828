/* Requests that run no code: completion, documentation, is a cell complete, history, what kernel this is. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/kernel.h"
#include "jupyter/text.h"

const char *jp_content_string(const struct jp_message *m, const char *name, size_t *length)
{
    const json_t *value = json_object_get(m->content, name);
    *length = json_is_string(value) ? json_string_length(value) : 0;
    return json_is_string(value) ? json_string_value(value) : "";
}

bool jp_content_flag(const struct jp_message *m, const char *name, bool fallback)
{
    const json_t *value = json_object_get(m->content, name);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static json_int_t content_integer(const struct jp_message *m, const char *name, json_int_t fallback)
{
    const json_t *value = json_object_get(m->content, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* cursor_pos in bytes; the end of the code when it is missing or out of range. */
static size_t content_cursor(const struct jp_message *m, const char *code, size_t length)
{
    json_int_t points = content_integer(m, "cursor_pos", -1);
    return points < 0 ? length : jp_text_bytes(code, length, (size_t)points);
}

json_t *jp_kernel_info(void)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:[s, s], s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:[{s:s, s:s}, {s:s, s:s}]}",
        "status", "ok", "protocol_version", JP_PROTOCOL_VERSION, "implementation", "lunarray", "implementation_version",
        LUNARRAY_VERSION, "banner",
        "lunarray " LUNARRAY_VERSION ": Lua 5.4 with arrays and kernels for the GPU\n"
        "?name shows help, gpu.devices() what there is to compute on.",
        "debugger", 1, "supported_features", "kernel subshells", "debugger", "language_info", "name", "lua", "version",
        "5.4", "mimetype", "text/x-lua", "file_extension", ".lua", "pygments_lexer", "lua", "codemirror_mode", "lua",
        "help_links", "text", "Lua 5.4 reference", "url", "https://www.lua.org/manual/5.4/", "text",
        "CUDA C++ programming guide", "url", "https://docs.nvidia.com/cuda/cuda-c-programming-guide/");
}

json_t *jp_complete(struct jp_kernel *k, const struct jp_message *m)
{
    size_t length;
    const char *code = jp_content_string(m, "code", &length);
    struct lg_completion c;
    memset(&c, 0, sizeof c);
    lg_session_complete(k->session, code, length, content_cursor(m, code, length), &c);
    json_int_t start = (json_int_t)jp_text_points(code, length, c.start);
    json_int_t end = (json_int_t)jp_text_points(code, length, c.end);
    json_t *matches = json_array(), *types = json_array();
    for (size_t i = 0; i < c.count; i++) {
        const struct lg_match *match = &c.matches[i];
        json_t *text = jp_text_json(match->text, strlen(match->text));
        json_array_append(matches, text);
        json_array_append_new(types,
                              json_pack("{s:I, s:I, s:o, s:s, s:s}", "start", start, "end", end, "text", text, "type",
                                        match->kind ? match->kind : "", "signature", match->note ? match->note : ""));
    }
    json_t *content = json_pack("{s:s, s:o, s:I, s:I, s:{s:o}}", "status", "ok", "matches", matches, "cursor_start",
                                start, "cursor_end", end, "metadata", "_jupyter_types_experimental", types);
    if (lg_session_is_apart(k->session))
        json_object_set_new(json_object_get(content, "metadata"), "as_of", json_string("the cell's beginning"));
    return content;
}

void jp_request_complete(struct jp_kernel *k, const struct jp_message *m)
{
    jp_server_reply(k->server, m, "complete_reply", jp_complete(k, m));
}

void jp_request_inspect(struct jp_kernel *k, const struct jp_message *m)
{
    size_t length;
    const char *code = jp_content_string(m, "code", &length);
    struct lg_bundle bundle = {0};
    bool found = lg_session_inspect(k->session, code, length, content_cursor(m, code, length),
                                    (int)content_integer(m, "detail_level", 0), &bundle);
    jp_server_reply(k->server, m, "inspect_reply",
                    json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", found, "data",
                              found ? jp_bundle_json(&bundle) : json_object(), "metadata"));
}

json_t *jp_is_complete(const struct jp_message *m)
{
    static const char *const words[] = {
        [LG_COMPLETE] = "complete", [LG_INCOMPLETE] = "incomplete", [LG_INVALID] = "invalid", [LG_UNKNOWN] = "unknown"};
    size_t length;
    const char *code = jp_content_string(m, "code", &length);
    int indent = 0;
    enum lg_completeness c = lg_is_complete(code, length, &indent);
    json_t *content = json_pack("{s:s}", "status", words[c]);
    if (c == LG_INCOMPLETE) json_object_set_new(content, "indent", json_sprintf("%*s", indent > 0 ? indent : 0, ""));
    return content;
}

/* History. */

static json_t *entry_json(const struct lg_history_entry *entry, bool output)
{
    json_t *code = jp_text_json(entry->code, strlen(entry->code));
    if (output) code = json_pack("[o, n]", code);
    return json_pack("[I, i, o]", (json_int_t)entry->session, entry->line, code);
}

/* Sessions before this one are named by their number or counted back from here: -1 is the one before. */
static long resolve_session(struct lg_session *s, json_int_t wanted)
{
    if (wanted >= 0) return (long)wanted;
    long last = 0;
    struct lg_history_entry entry;
    for (size_t i = lg_history_count(s); i-- > 0;) {
        if (!lg_history_get(s, i, &entry) || entry.session == 0 || entry.session == last) continue;
        last = entry.session;
        if (++wanted == 0) return last;
    }
    return -1;
}

static json_t *history_range(struct jp_kernel *k, const struct jp_message *m, bool output)
{
    long session = resolve_session(k->session, content_integer(m, "session", 0));
    json_int_t start = content_integer(m, "start", 0), stop = content_integer(m, "stop", -1);
    json_t *list = json_array();
    struct lg_history_entry entry;
    size_t count = lg_history_count(k->session);
    for (size_t i = 0; i < count; i++)
        if (lg_history_get(k->session, i, &entry) && entry.session == session && entry.line >= start &&
            (stop < 0 || entry.line < stop))
            json_array_append_new(list, entry_json(&entry, output));
    return list;
}

/* The last n entries that match, oldest first; of equal ones only the last when `unique`. */
static json_t *history_search(struct jp_kernel *k, json_int_t n, const char *pattern, bool unique, bool output)
{
    json_t *list = json_array(), *seen = json_object();
    struct lg_history_entry entry;
    for (size_t i = lg_history_count(k->session); i-- > 0 && (json_int_t)json_array_size(list) < n;) {
        if (!lg_history_get(k->session, i, &entry)) continue;
        if (pattern && fnmatch(pattern, entry.code, FNM_NOESCAPE) != 0) continue;
        if (unique) {
            if (json_object_get(seen, entry.code)) continue;
            json_object_set_new_nocheck(seen, entry.code, json_true());
        }
        json_array_insert_new(list, 0, entry_json(&entry, output));
    }
    json_decref(seen);
    return list;
}

void jp_request_history(struct jp_kernel *k, const struct jp_message *m)
{
    size_t length;
    const char *access = jp_content_string(m, "hist_access_type", &length);
    bool output = jp_content_flag(m, "output", false), unique = jp_content_flag(m, "unique", false);
    json_int_t n = content_integer(m, "n", strcmp(access, "search") == 0 ? 1000 : 10);
    json_t *list;
    lg_history_refresh(k->session);
    if (strcmp(access, "range") == 0) {
        list = history_range(k, m, output);
    } else if (strcmp(access, "search") == 0) {
        const char *pattern = jp_content_string(m, "pattern", &length);
        list = history_search(k, n, length ? pattern : "*", unique, output);
    } else {
        list = history_search(k, n, NULL, false, output);
    }
    jp_server_reply(k->server, m, "history_reply", json_pack("{s:s, s:o}", "status", "ok", "history", list));
}
