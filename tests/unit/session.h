/* A session driven through its interface by a sink that writes everything down. */
#ifndef TESTS_SESSION_H
#define TESTS_SESSION_H

#include <lauxlib.h>
#include <lua.h>
#include <stdatomic.h>
#include "lang/session.h"
#include "tests/unit/test.h"

static struct lg_session *session;
static char out[1 << 18];      /* what the last cell sent: "o|..." "e|..." "r|..." "d|..." in order */
static const char *answers[8]; /* what the user types */
static int asked;
static atomic_bool begun; /* a cell has printed "begun" */

static inline void note(const char *kind, const char *text, size_t length)
{
    size_t n = strlen(out);
    snprintf(out + n, sizeof out - n, "%s%.*s", kind, (int)length, text);
}

static inline const char *form(const struct lg_bundle *b, const char *type)
{
    static char text[1 << 17];
    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->items[i].type, type) != 0) continue;
        snprintf(text, sizeof text, "%.*s", (int)b->items[i].length, b->items[i].data);
        return text;
    }
    return NULL;
}

static inline void on_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    (void)context;
    note(which == LG_STDOUT ? "o|" : "e|", text, length);
    if (length >= 5 && memcmp(text, "begun", 5) == 0) atomic_store(&begun, true);
}

static inline void note_bundle(const char *kind, const struct lg_bundle *b)
{
    const char *plain = form(b, "text/plain");
    CHECK(plain);
    note(kind, plain, strlen(plain));
    const char *html = form(b, "text/html");
    if (html) note("h|", html, strlen(html));
}

static inline void on_result(void *context, int count, const struct lg_bundle *b)
{
    (void)context;
    CHECK_INT(count, lg_session_count(session));
    note_bundle("r|", b);
}

static inline void on_display(void *context, const struct lg_bundle *b, const char *id, bool update)
{
    (void)context;
    note(update ? "u|" : "d|", id ? id : "", id ? strlen(id) : 0);
    note_bundle("|", b);
}

static inline void on_page(void *context, const struct lg_bundle *b)
{
    (void)context;
    note_bundle("p|", b);
}

static inline void on_clear(void *context, bool wait)
{
    (void)context;
    note("c|", wait ? "wait" : "now", wait ? 4 : 3);
}

static inline char *on_input(void *context, const char *prompt, bool password)
{
    (void)context, (void)prompt, (void)password;
    return answers[asked] ? strdup(answers[asked++]) : NULL;
}

static inline void start_with(const char *history)
{
    struct lg_options o = {.sink = {.stream = on_stream,
                                    .result = on_result,
                                    .display = on_display,
                                    .page = on_page,
                                    .clear_output = on_clear,
                                    .input = on_input},
                           .device = "cpu",
                           .interactive = true,
                           .history = history};
    session = lg_session_new(&o);
    CHECK(session);
}

static inline void start(void)
{
    start_with("");
}

static const struct lg_error *failure;

static inline enum lg_status evaluate(const char *code)
{
    struct lg_request r = {.code = code, .length = strlen(code), .store_history = true};
    *out = '\0';
    return lg_session_evaluate(session, &r, &failure);
}

/* The output of a cell that must succeed. */
static inline const char *run(const char *code)
{
    if (evaluate(code) != LG_DONE) FAIL("%s failed: %s", code, failure->value);
    return out;
}

/* The message of a cell that must fail. */
static inline const char *fails(const char *code)
{
    if (evaluate(code) != LG_ERROR) FAIL("%s did not fail", code);
    return failure->value;
}

static inline const char *traceback(void)
{
    static char text[4096];
    *text = '\0';
    for (size_t i = 0; i < failure->traceback_count; i++) {
        strncat(text, failure->traceback[i], sizeof text - strlen(text) - 2);
        strcat(text, "\n");
    }
    return text;
}

/* The matches at the text's end, separated by spaces; at most `limit`. */
static inline const char *complete(const char *code, size_t *start_of)
{
    static char text[1 << 14];
    struct lg_completion c;
    lg_session_complete(session, code, strlen(code), strlen(code), &c);
    *text = '\0';
    for (size_t i = 0; i < c.count; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "", c.matches[i].text);
    }
    if (start_of) *start_of = c.start;
    return text;
}

static inline const char *inspect(const char *code, int detail)
{
    struct lg_bundle b;
    if (!lg_session_inspect(session, code, strlen(code), strlen(code), detail, &b)) return "";
    return form(&b, "text/plain");
}

#endif
