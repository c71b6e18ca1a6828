/* What a key costs in the shell's editor, from the key to the bytes for the terminal, in a cell of 1,000 lines: typing
 * at its end and its beginning, moving, Enter, completion with its list, and the look for a mistake when no key comes.
 * Prints one line each, the median and the worst of many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "repl/editor.h"
#include "repl/highlight.h"
#include "repl/render.h"

enum { LINES = 1000, COLUMNS = 100, ROWS = 40, MOST = 2000 };

static struct lg_session *session;
static struct sh_editor editor = {.prompt = "1> ", .more = ".. "};
static struct sh_screen screen = {.color = true};

static size_t history_count(void *context)
{
    (void)context;
    return lg_history_count(session);
}

static const char *history(void *context, size_t i)
{
    struct lg_history_entry e;
    (void)context;
    return lg_history_get(session, i, &e) ? e.code : NULL;
}

static enum lg_completeness completeness(void *context, const char *code, size_t length, int *indent)
{
    (void)context;
    return lg_is_complete(code, length, indent);
}

static void complete(void *context, const char *code, size_t length, size_t cursor, struct lg_completion *out)
{
    (void)context;
    lg_session_complete(session, code, length, cursor, out);
}

static char *inspect(void *context, const char *code, size_t length, size_t cursor)
{
    struct lg_bundle b;
    (void)context;
    if (!lg_session_inspect(session, code, length, cursor, 0, &b)) return NULL;
    return strndup(b.items[0].data, b.items[0].length);
}

static void highlight(void *context, const char *code, size_t length, size_t from, size_t to, unsigned char *styles)
{
    (void)context;
    sh_highlight_part(code, length, from, to, styles);
}

static enum lg_mistake mistake(void *context, const char *code, size_t length, size_t *from, size_t *to)
{
    return lg_find_mistake(code, length, NULL, context, from, to);
}

/* The longest that a key waits for the look for a mistake that it has given up: the time between two questions. */
static double asked, slowest;

static double now_ms(void);

static bool ask(void *context)
{
    double now = now_ms();
    (void)context;
    if (now - asked > slowest) slowest = now - asked;
    asked = now;
    return false;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double press(const struct sh_key *key)
{
    static struct sh_frame frame;
    static struct sh_text bytes;
    bytes.length = 0;
    double begin = now_ms();
    sh_editor_key(&editor, key);
    sh_editor_frame(&editor, COLUMNS, ROWS, &frame);
    sh_render(&screen, &frame, &bytes);
    return now_ms() - begin;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    printf("%-34s median %6.3f ms   99%% %6.3f ms   worst %6.3f ms\n", what, ms[n / 2], ms[n * 99 / 100], ms[n - 1]);
}

/* The keys of a text, again and again. */
static void type(const char *what, const char *keys, int n)
{
    static double ms[MOST];
    size_t length = strlen(keys);
    for (int i = 0; i < n; i++) {
        struct sh_key key = {.kind = SH_KEY_TEXT, .c = (unsigned char)keys[(size_t)i % length]};
        if (key.c < 32) key = (struct sh_key){.kind = SH_KEY_TEXT, .c = key.c + 96, .ctrl = true};
        ms[i] = press(&key);
    }
    report(what, ms, n);
}

static void repeat(const char *what, const struct sh_key *key, const char *after, int n)
{
    static double ms[MOST];
    for (int i = 0; i < n; i++) {
        ms[i] = press(key);
        for (const char *p = after; *p; p++)
            press(&(struct sh_key){.kind = SH_KEY_TEXT, .c = *p < 32 ? *p + 96 : *p, .ctrl = *p < 32});
    }
    report(what, ms, n);
}

/* A cell of that beginning and of 1,000 times that line, the cursor at its end. */
static void fill(const char *begin, const char *line)
{
    struct sh_text text = {0};
    sh_text_append(&text, begin, strlen(begin));
    for (int i = 0; i < LINES; i++) sh_text_append(&text, line, strlen(line));
    sh_editor_start(&editor);
    sh_editor_set(&editor, text.bytes, text.length);
    sh_text_free(&text);
}

int main(void)
{
    static const char line[] = "  y = gpu.sin(x * 2.5):sum() + f(\"a text\", i) -- a comment\n";
    static const char kernel[] = "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = sinf(x[i]);\n";
    static struct sh_host host = {.history_count = history_count,
                                  .history = history,
                                  .completeness = completeness,
                                  .complete = complete,
                                  .inspect = inspect,
                                  .highlight = highlight,
                                  .mistake = mistake};
    struct lg_options o = {.interactive = true, .device = "cpu", .history = ""};
    session = lg_session_new(&o);
    if (!session) return 1;
    editor.host = &host;
    fill("do\n", line);
    type("typing at the end", "x = gpu.linspace(0, 1, 50) ", 500);
    repeat("a line up and down", &(struct sh_key){.kind = SH_KEY_UP}, "\x0e", 200);
    repeat("completion of gpu.lin", &(struct sh_key){.kind = SH_KEY_TAB}, "\x15 y = gpu.lin", 50);
    repeat("completion of gpu.", &(struct sh_key){.kind = SH_KEY_TAB}, "\x15 y = gpu.", 50);
    repeat("Enter", &(struct sh_key){.kind = SH_KEY_ENTER}, "x()", 50);
    press(&(struct sh_key){.kind = SH_KEY_TEXT, .c = '<', .alt = true});
    type("typing at the beginning", "x = gpu.linspace(0, 1, 50) ", 500);
    double begin = now_ms();
    sh_editor_idle(&editor);
    printf("%-34s %6.3f ms\n", "the look for a mistake", now_ms() - begin);
    size_t from, to;
    fill("do\n", line);
    press(&(struct sh_key){.kind = SH_KEY_TEXT, .c = ')'});
    begin = asked = now_ms();
    lg_find_mistake(editor.text.bytes, editor.text.length, ask, NULL, &from, &to);
    ask(NULL);
    printf("%-34s %6.3f ms, a key waits %.3f ms\n", "the same in a wrong cell", now_ms() - begin, slowest);
    fill("k = gpu.kernel [[\n", kernel);
    type("typing in a kernel's source", "float a = x[i]; ", 500);
    sh_editor_free(&editor);
    lg_session_free(session);
    return 0;
}
