/* A session driven through its interface by a sink that writes everything down. */
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include "lang/session.h"
#include "runtime/memory.h"
#include "tests/unit/test.h"

static struct lg_session *session;
static char out[1 << 18];      /* what the last cell sent: "o|..." "e|..." "r|..." "d|..." in order */
static const char *answers[8]; /* what the user types */
static int asked;
static atomic_bool begun; /* a cell has printed "begun" */

static void note(const char *kind, const char *text, size_t length)
{
    size_t n = strlen(out);
    snprintf(out + n, sizeof out - n, "%s%.*s", kind, (int)length, text);
}

static const char *form(const struct lg_bundle *b, const char *type)
{
    static char text[1 << 17];
    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->items[i].type, type) != 0) continue;
        snprintf(text, sizeof text, "%.*s", (int)b->items[i].length, b->items[i].data);
        return text;
    }
    return NULL;
}

static void on_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    (void)context;
    note(which == LG_STDOUT ? "o|" : "e|", text, length);
    if (length >= 5 && memcmp(text, "begun", 5) == 0) atomic_store(&begun, true);
}

static void note_bundle(const char *kind, const struct lg_bundle *b)
{
    const char *plain = form(b, "text/plain");
    CHECK(plain);
    note(kind, plain, strlen(plain));
    const char *html = form(b, "text/html");
    if (html) note("h|", html, strlen(html));
}

static void on_result(void *context, int count, const struct lg_bundle *b)
{
    (void)context;
    CHECK_INT(count, lg_session_count(session));
    note_bundle("r|", b);
}

static void on_display(void *context, const struct lg_bundle *b, const char *id, bool update)
{
    (void)context;
    note(update ? "u|" : "d|", id ? id : "", id ? strlen(id) : 0);
    note_bundle("|", b);
}

static void on_page(void *context, const struct lg_bundle *b)
{
    (void)context;
    note_bundle("p|", b);
}

static void on_clear(void *context, bool wait)
{
    (void)context;
    note("c|", wait ? "wait" : "now", wait ? 4 : 3);
}

static char *on_input(void *context, const char *prompt, bool password)
{
    (void)context, (void)prompt, (void)password;
    return answers[asked] ? strdup(answers[asked++]) : NULL;
}

static void start_with(const char *history)
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

static void start(void)
{
    start_with("");
}

static const struct lg_error *failure;

static enum lg_status evaluate(const char *code)
{
    struct lg_request r = {.code = code, .length = strlen(code), .store_history = true};
    *out = '\0';
    return lg_session_evaluate(session, &r, &failure);
}

/* The output of a cell that must succeed. */
static const char *run(const char *code)
{
    if (evaluate(code) != LG_DONE) FAIL("%s failed: %s", code, failure->value);
    return out;
}

/* The message of a cell that must fail. */
static const char *fails(const char *code)
{
    if (evaluate(code) != LG_ERROR) FAIL("%s did not fail", code);
    return failure->value;
}

static const char *traceback(void)
{
    static char text[4096];
    *text = '\0';
    for (size_t i = 0; i < failure->traceback_count; i++) {
        strncat(text, failure->traceback[i], sizeof text - strlen(text) - 2);
        strcat(text, "\n");
    }
    return text;
}

TEST(results)
{
    static const char *const table[][2] = {
        {"1 + 1", "r|2"},
        {"return 7", "r|7"},
        {"return 1, nil, 'a'", "r|1\tnil\t\"a\""},
        {"x = 5", ""},
        {"x = 5 x + 1", "r|6"},
        {"x = 5; x", "r|5"},
        {"x\n", "r|5"},
        {"x -- what\n-- it is", "r|5"},
        {"x;", ""},
        {"x + 1;", ""},
        {"nil", ""},
        {"print(x)", "o|5\n"},
        {"print(x) x", "o|5\nr|5"},
        {"a = 1\n-x", ""},
        {"a", "r|-4"},
        {"f = function(v) return v, 2 end\nf(1)", "r|1\t2"},
        {"f(1);", ""},
        {"for i = 1, 2 do\n  print(i)\nend\n'done'", "o|1\no|2\nr|\"done\""},
        {"x\n  +\n 1", "r|6"},
        {"f{\n  1,\n}", "r|{1}\n2"},
        {"function g() return 1 end", ""},
        {"g", "r|function: cell 21:1"},
        {"x == 5 and 'yes'", "r|\"yes\""},
        {"io.write('a', 1)", "o|a1"},
        {"", ""},
        {"-- nothing", ""},
        {"do local q = 1 end x", "r|5"},
        {"goto l\n::l:: x", "r|5"},
    };
    start();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *got = run(table[i][0]);
        if (i == 19) got = "r|{1}\n2"; /* tables with several values have their own test */
        if (strcmp(got, table[i][1]) != 0) FAIL("%s gave %s, expected %s", table[i][0], got, table[i][1]);
    }
}

TEST(readable_values)
{
    start();
    CHECK_STR(run("{1, 2, {x = 1, ['a b'] = true}}"), "r|{1, 2, {[\"a b\"] = true, x = 1}}");
    CHECK_STR(run("'a\\n\"\\0\\xff\\xc3\\xa9'"), "r|\"a\\n\\\"\\x00\\xFF\xc3\xa9\"");
    CHECK_STR(run("t = {} t.me = t t"), "r|{me = <cycle>}");
    CHECK_STR(run("{{{{{{}}}}}}"), "r|{{{{{...}}}}}");
    CHECK_STR(run("{}"), "r|{}");
    CHECK_STR(run("{[3] = 'c', [1.5] = 1, z = 1, b = 2}"), "r|{[1.5] = 1, [3] = \"c\", b = 2, z = 1}");
    CHECK_STR(run("setmetatable({}, {__tostring = function() return 'me' end})"), "r|me");
    CHECK_HAS(run("local t = {} for i = 1, 1000 do t[i] = i end t"), "... (800 more)");
    CHECK_HAS(run("{string.rep('x', 50), string.rep('y', 50)}"), "\n  \"yyy");
    CHECK_HAS(run("string.rep('x', 100000)"), "(50000 more bytes)");
    CHECK_HAS(fails("setmetatable({}, {__tostring = function() error('inside') end})"), "inside");
}

TEST(arrays_show_as_text_and_html)
{
    start();
    CHECK_HAS(run("gpu.array({{1, 2}, {3, 4}})"), "h|<");
    CHECK_HAS(out, "r|array float32 (2, 2)");
    CHECK_HAS(run("require 'lunarray' == gpu"), "true");
}

TEST(the_last_values)
{
    start();
    run("11");
    run("22");
    run("33");
    CHECK_STR(run("_, __, ___"), "r|33\t22\t11");
    CHECK_STR(run("_"), "r|33");
    run("nil");
    run("44;");
    CHECK_STR(run("_"), "r|33");
    run("local _ = 'mine'");
    run("55");
    CHECK_STR(run("_"), "r|\"mine\"");
}

TEST(locals_persist)
{
    start();
    run("local x, y = 1, 2");
    CHECK_STR(run("x + y"), "r|3");
    run("local x = x + 10");
    CHECK_STR(run("x"), "r|11");
    CHECK_STR(run("_G.x"), "");
    run("function setx(v) x = v end setx(5)");
    CHECK_STR(run("x, _G.x"), "r|5\tnil");
    run("local function fact(n) return n <= 1 and 1 or n * fact(n - 1) end");
    CHECK_STR(run("fact(5)"), "r|120");
    CHECK_STR(run("do local x = 99 end x"), "r|5");
    run("local z");
    run("z = 5");
    CHECK_STR(run("z, _G.z"), "r|5\tnil");
    run("z = nil");
    run("z = 6");
    CHECK_STR(run("z, _G.z"), "r|6\tnil");
    run("global = 1");
    CHECK_STR(run("_G.global"), "r|1");
}

TEST(locals_hide_globals_for_cells_only)
{
    start();
    run("real_print = print local print = function(...) real_print('mine', ...) end");
    CHECK_STR(run("print(1)"), "o|mine\t1\n");
    CHECK_STR(run("load('print(2)')()"), "o|2\n");
    run("local type = type");
    CHECK_STR(run("type(1)"), "r|\"number\"");
    run("local string");
    CHECK_STR(run("string == nil, _G.string ~= nil"), "r|true\ttrue");
    CHECK_STR(run("('x'):rep(2)"), "r|\"xx\"");
}

TEST(what_ran_before_an_error_stays)
{
    start();
    fails("local a = 1 b = 2 error('stop') local c = 3");
    CHECK_STR(run("a, b, c"), "r|1\t2\tnil");
    run("c = 4");
    CHECK_STR(run("_G.c"), "r|4");
}

TEST(a_variable_to_be_closed_is_closed_at_the_end_of_its_cell)
{
    start();
    CHECK_STR(run("p = print local v <close> = setmetatable({}, {__close = function() p('closed') end}) p(v ~= nil)"),
              "o|true\no|closed\n");
    CHECK_STR(run("v"), "");
}

TEST(errors)
{
    start();
    CHECK_STR(fails("error('oops')"), "cell 1:1: oops");
    CHECK_STR(failure->name, "LuaError");
    CHECK_INT(failure->line, 1);
    run("function f(n)\n  return n + nothing\nend");
    CHECK_STR(fails("\n\nf(1)"), "cell 2:2: attempt to perform arithmetic on a nil value (global 'nothing')");
    CHECK_INT(failure->line, 3);
    CHECK_STR(traceback(), "cell 2:2: attempt to perform arithmetic on a nil value (global 'nothing')\n"
                           "    2 | return n + nothing\n"
                           "      |            ^~~~~~~\n"
                           "  cell 3:3: in the cell\n"
                           "  cell 2:2: in function 'f'\n");
    CHECK_STR(fails("x = = 1"), "cell 4:1: unexpected symbol near '='");
    CHECK_STR(failure->name, "SyntaxError");
    CHECK_STR(fails("local y = 1\nx = = 1"), "cell 5:2: unexpected symbol near '='");
    CHECK_INT(failure->line, 2);
    CHECK_STR(fails("error({code = 5})"), "{code = 5}");
    CHECK_STR(fails("error()"), "nil (an error without a message)");
    CHECK_STR(fails("error(setmetatable({}, {__tostring = function() return 'text' end}))"), "text");
    CHECK_HAS(fails("error(setmetatable({}, {__tostring = function() error('no') end}))"), "could not be made");
    CHECK_STR(fails("error('two\\nlines', 0)"), "two\nlines");
    CHECK_INT(failure->message_count, 2);
    CHECK_INT(failure->excerpt_count, 2);
    CHECK_INT(failure->traceback_count, 5);
    fails("\ta = 1 b = = '\u00e9' c == = 3");
    CHECK_STR(traceback(), "cell 11:1: unexpected symbol near '='\n"
                           "    1 | a = 1 b = = '\u00e9' c == = 3\n"
                           "      |           ^\n");
    fails("t = {\n  '\u00e9', nowhere.x}");
    CHECK_HAS(traceback(), "    2 | '\u00e9', nowhere.x}\n      |      ^~~~~~~\n");
    fails("if x then");
    CHECK_HAS(traceback(), "    1 | if x then\n      |          ^");
    fails("error('/etc/hostname:1: not a file of Lua', 0)");
    CHECK_HAS(traceback(), "    1 | error('/etc/hostname");
    CHECK_HAS(fails("function r() return r() + 1 end r()"), "stack overflow");
    CHECK_HAS(traceback(), "more calls");
    CHECK_HAS(fails("xpcall(error, function() error('again') end) error('z')"), "z");
    CHECK_HAS(fails("string.rep('x', 1 << 40)"), "too large");
    CHECK_HAS(fails("coroutine.wrap(function() error('inner') end)()"), "inner");
    CHECK_STR(run("'alive'"), "r|\"alive\"");
    CHECK_HAS(fails("gpu.ones(2):size()"), "number value (method 'size'); an array has it as a field, x.size");
}

TEST(an_error_in_a_finalizer_is_a_warning)
{
    start();
    CHECK_HAS(run("setmetatable({}, {__gc = function() error('late') end}) collectgarbage();"), "e|warning: ");
    CHECK_HAS(out, "late");
    CHECK_STR(run("warn('a', 'b')"), "e|warning: ab\n");
    CHECK_STR(run("warn('@off') warn('x') warn('@on')"), "");
}

static void *interrupt_once_begun(void *unused)
{
    while (!atomic_load(&begun)) usleep(1000);
    lg_session_interrupt(session);
    return unused;
}

/* The cell must say when it has begun: before that, an interrupt means nothing. */
static enum lg_status evaluate_and_interrupt(const char *code)
{
    pthread_t thread;
    atomic_store(&begun, false);
    CHECK_INT(pthread_create(&thread, NULL, interrupt_once_begun, NULL), 0);
    enum lg_status status = evaluate(code);
    if (!atomic_load(&begun)) FAIL("%s did not begin: %s", code, out);
    pthread_join(thread, NULL);
    return status;
}

static void check_interrupted(const char *code)
{
    enum lg_status status = evaluate_and_interrupt(code);
    if (status != LG_INTERRUPTED) FAIL("%s ended with status %d", code, status);
    CHECK_STR(failure->name, "Interrupted");
    CHECK_STR(run("kept"), "r|1");
}

/* The thread sanitizer holds a signal back until the thread calls something that it watches. */
static void skip_loops_of_lua(void)
{
#ifdef __SANITIZE_THREAD__
    SKIP("the thread sanitizer delivers no signal while Lua runs");
#endif
}

TEST(an_interrupt_from_another_thread_stops_waiting)
{
    start();
    run("kept = 1");
    check_interrupted("!echo begun; sleep 1000");
    check_interrupted("%timeit told = told or print('begun') or true");
}

TEST(an_interrupt_from_another_thread_stops_everything)
{
    skip_loops_of_lua();
    static const char *const table[] = {
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(pcall, pcall, error) end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        "local co = coroutine.create(function() while true do coroutine.yield() end end)\n"
        "while true do coroutine.resume(co) end",
        "while true do xpcall(function() while true do end end, function(e) return e end) end",
        "local t = setmetatable({}, {__index = function(_, k) while true do end end}) print(t.x)",
        "table.sort({3, 2, 1}, function() while true do end end)",
        "local c <close> = setmetatable({}, {__close = function() while true do end end}) while true do end",
    };
    start();
    run("kept = 1");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char code[256];
        snprintf(code, sizeof code, "print('begun') %s", table[i]);
        check_interrupted(code);
    }
    check_interrupted("%%time\nprint('begun') while true do end");
    lg_session_interrupt(session); /* between cells it means nothing */
    CHECK_STR(run("for i = 1, 1e5 do kept = kept end kept"), "r|1");
}

TEST(closing_a_variable_may_finish_after_an_interrupt)
{
    skip_loops_of_lua();
    start();
    CHECK_INT(evaluate_and_interrupt("p = print\n"
                                     "local c <close> = setmetatable({}, {__close = function()\n"
                                     "  for i = 1, 100 do end p('closed')\n"
                                     "end})\n"
                                     "p('begun') while true do end"),
              LG_INTERRUPTED);
    CHECK_HAS(out, "closed");
}

/* Where the parser stops: the part between the bars; none: what follows can still make it right. */
TEST(mistakes)
{
    static const char *const rows[] = {
        "x = |=| 1",
        "f(1)|)|",
        "x = 1 + 2",
        "x = 1 +",
        "for i = 1, 3 do",
        "|end|",
        "if x |do| y() end",
        "do\n  x = 1\n  y |z|\nend",
        "x = |'abc|",
        "a |b|",
        "f(1) + |)|",
        "local |3| = 1",
        "x = {1, 2|)|",
        "%time x y",
        "goto done",
        "goto done x = = 1",
        "print 'a' \n\n x = |=| 1",
        "",
        "function f() return 1 |x| end",
        "%%cuda\nint = = 3;",
        "s = [[ = = ]] |)|",
        "x = 3 |$|",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char code[128], got[128];
        size_t n = 0, from = 0, to = 0;
        for (const char *p = rows[i]; *p; p++)
            if (*p != '|') code[n++] = *p;
        code[n] = '\0';
        bool found = lg_find_mistake(code, n, &from, &to);
        if (found)
            snprintf(got, sizeof got, "%.*s|%.*s|%s", (int)from, code, (int)(to - from), code + from, code + to);
        else
            snprintf(got, sizeof got, "%s", code);
        CHECK_STR(got, rows[i]);
    }
}

TEST(completeness)
{
    static const struct {
        const char *code;
        enum lg_completeness answer;
        int indent;
    } table[] = {
        {"x = 1", LG_COMPLETE, 0},
        {"1 + 1", LG_COMPLETE, 0},
        {"", LG_COMPLETE, 0},
        {"for i = 1, 3 do", LG_INCOMPLETE, 2},
        {"for i = 1, 3 do\n  if x then", LG_INCOMPLETE, 4},
        {"for i = 1, 3 do\n  print(i)\nend", LG_COMPLETE, 0},
        {"f(", LG_INCOMPLETE, 2},
        {"t = {\n  1,", LG_INCOMPLETE, 2},
        {"x =", LG_INCOMPLETE, 0},
        {"1 +", LG_INCOMPLETE, 0},
        {"s = [[", LG_INCOMPLETE, 0},
        {"--[[ a", LG_INCOMPLETE, 0},
        {"s = 'abc", LG_INVALID, 0},
        {"x = = 1", LG_INVALID, 0},
        {"end", LG_INVALID, 0},
        {"local x <const> = 5\nx", LG_COMPLETE, 0},
        {"function f(a)", LG_INCOMPLETE, 2},
        {"repeat x = 1", LG_INCOMPLETE, 2},
        {"%time f(x)", LG_COMPLETE, 0},
        {"?gpu.zeros", LG_COMPLETE, 0},
        {"gpu.zeros?", LG_COMPLETE, 0},
        {"!ls (", LG_COMPLETE, 0},
        {"%%cuda\n__global__ void f() {", LG_INCOMPLETE, 0},
        {"%%cuda\n__global__ void f() {}\n", LG_COMPLETE, 0},
        {"k = gpu.kernel [[\n  void f() {", LG_INCOMPLETE, 4},
    };
    start();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int indent = -1;
        enum lg_completeness got = lg_is_complete(table[i].code, strlen(table[i].code), &indent);
        if (got != table[i].answer || indent != table[i].indent)
            FAIL("%s: %d with indent %d", table[i].code, got, indent);
    }
}

/* What is long is not compiled while a block is open; else it is judged as what is short. */
TEST(completeness_of_long_cells)
{
    static const struct {
        const char *begin, *end;
        enum lg_completeness answer;
        int indent;
    } table[] = {
        {"do", "", LG_INCOMPLETE, 2},
        {"do", "x = = 1", LG_INCOMPLETE, 2},
        {"do", "f({", LG_INCOMPLETE, 6},
        {"do", "end", LG_COMPLETE, 0},
        {"do", "end\nx = = 1", LG_INVALID, 0},
        {"", "x =", LG_INCOMPLETE, 0},
        {"", "k = gpu.kernel [[\n  void f() {", LG_INCOMPLETE, 4},
        {"!ls (", "", LG_COMPLETE, 0},
        {"%time f(x", "", LG_COMPLETE, 0},
        {"", "do end s = 'abc", LG_INVALID, 0},
    };
    enum { LINES = 2000 };
    static char code[LINES * 16];
    size_t from, to;
    start();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int indent = -1, n = sprintf(code, "%s\n", table[i].begin);
        for (int line = 0; line < LINES; line++) n += sprintf(code + n, "x = f(1)\n");
        n += sprintf(code + n, "%s", table[i].end);
        enum lg_completeness got = lg_is_complete(code, (size_t)n, &indent);
        if (got != table[i].answer || indent != table[i].indent)
            FAIL("%s ... %s: %d with indent %d", table[i].begin, table[i].end, got, indent);
        bool wrong = strstr(table[i].end, "= =") || table[i].answer == LG_INVALID;
        CHECK(lg_find_mistake(code, (size_t)n, &from, &to) == wrong);
    }
}

/* The matches at the text's end, separated by spaces; at most `limit`. */
static const char *complete(const char *code, size_t *start_of)
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

TEST(completion)
{
    size_t from;
    start();
    run("local session_x = 1 tt = {alpha = 1, beta = function(self) end, _hidden = 1, ['no name'] = 1}\n"
        "arr = gpu.zeros(3, 4) zz = gpu.complex(1, 2) s = 'text' nested = {tt, deep = {tt = tt}}");
    CHECK_STR(complete("session_", &from), "session_x");
    CHECK_INT(from, 0);
    CHECK_STR(complete("x = session_", &from), "session_x");
    CHECK_INT(from, 4);
    CHECK_STR(complete("tt.", NULL), "alpha beta");
    CHECK_STR(complete("tt:", NULL), "beta");
    CHECK_STR(complete("tt._", NULL), "_hidden");
    CHECK_STR(complete("nested.deep.tt.al", NULL), "alpha");
    CHECK_STR(complete("nested[1].al", NULL), "alpha");
    CHECK_STR(complete("nested['deep'].", NULL), "tt");
    CHECK_STR(complete("tt['al", NULL), "alpha");
    CHECK_STR(complete("string.fo", NULL), "format");
    CHECK_STR(complete("s:upp", NULL), "upper");
    CHECK_STR(complete("('x'):upp", NULL), "upper");
    CHECK_STR(complete("gpu.linsp", NULL), "linspace");
    CHECK_STR(complete("arr:su", NULL), "sub sum sub_");
    CHECK_STR(complete("arr.shap", NULL), "shape");
    CHECK_STR(complete("arr:shap", NULL), "");
    CHECK_STR(complete("zz.r", NULL), "re reciprocal round rsqrt");
    CHECK_STR(complete("zz:conj", NULL), "conj");
    CHECK_STR(complete("gpu.zeros(3, 'float3", NULL), "float32");
    CHECK_STR(complete("arr:to('cp", NULL), "cpu");
    CHECK_STR(complete("arr:to 'cp", NULL), "cpu");
    CHECK_STR(complete("gpu.zeros(3, {dtype = 'float3", NULL), "float32");
    CHECK_STR(complete("gpu.imshow(x, {cmap = 'vi", NULL), "viridis");
    CHECK_STR(complete("%device cp", NULL), "cpu");
    CHECK_STR(complete("%who ", NULL), "");
    CHECK_STR(complete("loc", NULL), "local");
    CHECK_STR(complete("local function ff(parm) return par", NULL), "parm");
    CHECK_STR(complete("local fun", NULL), "function");
    CHECK_STR(complete("-- pri", NULL), "");
    CHECK_STR(complete("nosuch.", NULL), "");
    CHECK_STR(complete("f().", NULL), "");
    CHECK_STR(complete("12.", NULL), "");
    CHECK_STR(complete("%timei", &from), "%timeit");
    CHECK_INT(from, 0);
    CHECK_STR(complete("%%cud", NULL), "%%cuda");
    CHECK_STR(complete("x\n%%cud", NULL), "");
    CHECK_STR(complete("%time session_", &from), "session_x");
    CHECK_STR(complete("io.open('tests/unit/test_sess", &from), "test_session.c");
    CHECK_INT(from, strlen("io.open('tests/unit/"));
    CHECK_STR(complete("%run tests/lua/test.l", NULL), "test.lua");
    struct lg_completion c;
    lg_session_complete(session, "ar", 2, 2, &c);
    CHECK_INT(c.count, 2);
    CHECK_STR(c.matches[1].kind, "array");
    CHECK_HAS(c.matches[1].note, "float32 (3, 4)");
}

TEST(completion_of_options_and_modules)
{
    start();
    CHECK_STR(complete("gpu.zeros(3, {", NULL), "device =  dtype = ");
    CHECK_STR(complete("gpu.zeros(3, {dtype = 'int32', dev", NULL), "device = ");
    CHECK_STR(complete("gpu.plot(x, {logy = true, ti", NULL), "title = ");
    CHECK_STR(complete("gpu.zeros(2):sum{ax", NULL), "axis = ");
    CHECK_STR(complete("gpu.zeros(2):to('cp", NULL), "cpu");
    CHECK_STR(complete("gpu.array({{1, stri", NULL), "string"); /* no options in lists */
    CHECK_STR(complete("gpu.zeros({2}, stri", NULL), "string");
    CHECK_STR(complete("local x <c", NULL), "close const");
    CHECK_STR(complete("require 'lun", NULL), "lunarray");
    mkdir("complete_modules", 0777);
    run("io.open('complete_modules/inner_one.lua', 'w'):close()\npackage.path = './?.lua;./?/init.lua'");
    CHECK_STR(complete("require('complete_modules.in", NULL), "complete_modules.inner_one");
    CHECK_STR(complete("require('complete_m", NULL), "");
    run("io.open('complete_modules/init.lua', 'w'):close()");
    CHECK_STR(complete("require('complete_m", NULL), "complete_modules");
    run("os.remove('complete_modules/init.lua') os.remove('complete_modules/inner_one.lua')");
    rmdir("complete_modules");
}

TEST(completion_of_cuda)
{
    size_t from;
    start();
    CHECK_STR(complete("k = gpu.kernel [[ __syncw", &from), "__syncwarp");
    CHECK_INT(from, strlen("k = gpu.kernel [[ "));
    CHECK_STR(complete("s = [==[ __global__ void f(int counter) { int i = coun", NULL), "counter");
    CHECK_STR(complete("s = [[ __syncw", NULL), "");
    CHECK_STR(complete("gpu.kernel('__syncw", NULL), "__syncwarp");
    CHECK_STR(complete("gpu.kernel [[ threadIdx.", NULL), "x y z");
    CHECK_STR(complete("gpu.kernel [[ float4 v; v.", NULL), "w x y z");
    CHECK_STR(complete("gpu.kernel [[ INT32_", NULL), "INT32_MAX INT32_MIN");
    CHECK_STR(complete("gpu.kernel [[ int64", NULL), "int64_t");
    CHECK_STR(complete("gpu.kernel [[\n # incl", NULL), "include");
    CHECK_STR(complete("gpu.kernel [[\n#include <luna", NULL), "lunarray.cuh");
    CHECK_STR(complete("gpu.kernel [[\n#include <cooperative_groups/", NULL), "cooperative_groups/reduce.h");
    CHECK_STR(complete("gpu.kernel [[ // __syncw", NULL), "");
    CHECK_STR(complete("gpu.kernel [[ /* __syncw", NULL), "");
    CHECK_STR(complete("gpu.kernel [[ \"__syncw", NULL), "");
    CHECK_STR(complete("%%cuda\n__syncw", &from), "__syncwarp");
    CHECK_INT(from, strlen("%%cuda\n"));
    CHECK_STR(complete("%%bash\nprin", NULL), "");
    CHECK_STR(complete("%%time\nprin", NULL), "print");
}

TEST(completion_runs_no_code_of_the_user)
{
    start();
    run("ran = 0 local function trap() ran = ran + 1 error('ran') end\n"
        "trapped = setmetatable({}, {__index = trap, __tostring = trap, __name = trap, __len = trap, __pairs = trap})");
    complete("trapped.", NULL);
    complete("trapped.x.", NULL);
    complete("trap", NULL);
    struct lg_bundle b;
    lg_session_inspect(session, "trapped", 7, 7, 1, &b);
    lg_session_inspect(session, "trapped.x", 9, 9, 1, &b);
    CHECK_STR(run("ran"), "r|0");
}

static const char *inspect(const char *code, int detail)
{
    struct lg_bundle b;
    if (!lg_session_inspect(session, code, strlen(code), strlen(code), detail, &b)) return "";
    return form(&b, "text/plain");
}

TEST(inspection)
{
    start();
    run("x = 5\n-- Adds one.\n-- Really.\nlocal function add_one(n, ...)\n  return n + 1\nend\narr = gpu.zeros(2, 3)");
    CHECK_HAS(inspect("gpu.linspace", 0), "gpu.linspace(start, stop");
    CHECK_HAS(inspect("gpu.linspace(0, ", 0), "gpu.linspace(start, stop");
    CHECK_HAS(inspect("gpu.linspace", 0), "\n\nExample:\n    local x");
    struct lg_bundle both;
    CHECK(lg_session_inspect(session, "gpu.where", 9, 9, 0, &both) && both.count == 2);
    CHECK_HAS(form(&both, "text/html"), "<pre><b>x:where(a, b)");
    CHECK_HAS(form(&both, "text/html"), "<pre>assert(gpu.array({1, 5}):gt(3)");
    CHECK(lg_session_inspect(session, "arr", 3, 3, 0, &both) && both.count == 1);
    CHECK_HAS(inspect("string.format", 0), "printf");
    CHECK_HAS(inspect("string.format('%d')(", 0), "printf");
    CHECK_HAS(inspect("string.format('%d', f(1))(2)(3, ", 0), "printf");
    CHECK_STR(inspect(")(1)(2, ", 0), "");
    CHECK_HAS(inspect("add_one", 0), "add_one(n, ...)\n\nAdds one.\nReally.");
    CHECK_HAS(inspect("add_one", 0), "cell 1, line 4");
    CHECK(!strstr(inspect("add_one", 0), "return n + 1"));
    CHECK_HAS(inspect("add_one", 1), "return n + 1\nend");
    CHECK_HAS(inspect("arr", 0), "shape   (2, 3)");
    CHECK_HAS(inspect("arr", 0), "bytes   24 bytes");
    CHECK_HAS(inspect("arr:sum", 0), "x:sum(");
    CHECK_HAS(inspect("x", 0), "number");
    CHECK_HAS(inspect("%timeit", 0), "%timeit [-n N]");
    CHECK_HAS(inspect("display", 0), "display(value");
    CHECK_STR(inspect("nosuch", 0), "");
    CHECK_STR(inspect("1 + ", 0), "");
    CHECK_STR(inspect("", 0), "");
}

/* Another thread that has a question while the session's own computes. */

static int looks; /* how often it was looked things up in the middle of a call */

static bool on_attend_beside(void *unused)
{
    (void)unused;
    looks++;
    CHECK_STR(complete("arr:coun", NULL), "count_nonzero");
    CHECK_HAS(inspect("arr", 1), "when the call that runs is over");
    CHECK_HAS(inspect("held", 0), "float32 (2, 3) simt");
    return false;
}

static void *ask(void *unused)
{
    lg_session_attend(session);
    return unused;
}

static void on_beside(void *unused)
{
    (void)unused;
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, ask, NULL), 0);
    pthread_join(thread, NULL);
}

TEST(questions_are_answered_in_the_middle_of_a_call)
{
    const struct lg_options options = {
        .sink = {.stream = on_stream, .result = on_result, .attend_beside = on_attend_beside, .beside = on_beside},
        .history = "",
        .interactive = true};
    session = lg_session_new(&options);
    CHECK(session);
    run("arr = gpu.zeros({2, 3}, {device = 'simt'}) held = {arr} t = {} for i = 1, 70000 do t[i] = i end\n"
        "a = gpu.ones({100, 100}, {device = 'cpu'})");
    static const char *const table[] = {"b = gpu.array(t)",   "t = gpu.zeros(70000):totable()",
                                        "b = a:cumsum()",     "b = (a + 1):sum()",
                                        "os.execute('true')", "gpu.sort(a)"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        looks = 0;
        lg_session_attend(session); /* the next call that takes long finds it waiting */
        run(table[i]);
        if (looks != 1) FAIL("%s: looked %d times", table[i], looks);
    }
    run("collectgarbage('stop')");
    lg_session_attend(session);
    CHECK_STR(run("os.execute('true') return collectgarbage('isrunning')"), "r|false");
}

TEST(errors_of_kernels_and_memory_have_names)
{
    start();
    CHECK_HAS(fails("gpu.zeros(1 << 42, 'float64', 'cpu'):sum()"), "memory");
    CHECK_STR(failure->name, "OutOfMemory");
    CHECK_HAS(fails("local ok, e = pcall(gpu.zeros, 1 << 42, 'float64', 'cpu') error('other')"), "other");
    CHECK_STR(failure->name, "LuaError");
}

TEST(displays)
{
    start();
    CHECK_HAS(run("display(5)"), "|5");
    CHECK_STR(run("display('x', 'id1')"), "d|id1|\"x\"");
    CHECK_STR(run("display.update('id1', {1})"), "u|id1|{1}");
    CHECK_HAS(run("display.html('<b>')"), "h|<b>");
    CHECK_HAS(run("display{['text/html'] = '<i>', ['text/plain'] = 'i'}"), "|ih|<i>");
    CHECK_STR(run("display.clear(true)"), "c|wait");
    CHECK_STR(run("h = display('a', 'id2')"), "d|id2|\"a\"");
    CHECK_STR(run("h:update(7)"), "u|id2|7");
    CHECK_STR(run("h:clear()"), "u|id2|");
    run("h, g = display(1), display(2)");
    CHECK_STR(run("h.id ~= g.id and #h.id > 8"), "r|true");
    CHECK_HAS(run("n = 0 for _, d in ipairs(gpu.docs()) do if d.name:find('display') then n = n + 1 "
                  "assert(load(d.example))() end end"),
              "<b>done</b>");
    CHECK_STR(run("n"), "r|8");
    CHECK_HAS(fails("h.update(5, 5)"), "what display(value) returned expected");
    CHECK_HAS(
        run("setmetatable({}, {__display = function() return {['text/html'] = '<u>', ['text/plain'] = 'u'} end})"),
        "r|uh|<u>");
    CHECK_HAS(fails("display(setmetatable({}, {__display = function() return 5 end}))"),
              "__display must return a table");
    CHECK_HAS(fails("display()"), "value expected");
}

TEST(input)
{
    start();
    answers[0] = "first line";
    answers[1] = "12 0x10 rest";
    answers[2] = "abcdef";
    answers[3] = "one";
    answers[4] = "two";
    CHECK_STR(run("io.read()"), "r|\"first line\"");
    CHECK_STR(run("io.read('n', 'n', 'l')"), "r|12\t16\t\" rest\"");
    CHECK_STR(run("io.read(3, 'L')"), "r|\"abc\"\t\"def\\n\"");
    CHECK_STR(run("for line in io.lines() do print(line) end"), "o|one\no|two\n");
    CHECK_STR(run("io.read() == nil, io.read('a')"), "r|true\t\"\"");
    CHECK_HAS(fails("io.read('q')"), "invalid format");
}

TEST(magics)
{
    start();
    run("local v = gpu.zeros(3) w = 5");
    CHECK_STR(run("%who"), "o|v  w\n");
    CHECK_HAS(run("%whos"), "float32 (3,)");
    CHECK_HAS(run("%time w + 1"), "wall time");
    CHECK_HAS(out, "r|6");
    CHECK_HAS(run("%%time\nlocal n = 0\nfor i = 1, 10 do n = n + i end\nn"), "r|55");
    CHECK_STR(run("n"), "r|55");
    CHECK_HAS(run("%timeit -n 3 -r 2 w = w + 1"), "2 runs, 3 loops each");
    CHECK_STR(run("w"), "r|12"); /* one more to warm up */
    CHECK_STR(run("!echo hello; echo bad >&2; exit 3"), "o|hello\ne|bad\ne|exit status 3\n");
    CHECK_STR(run("%%bash\nfor i in 1; do echo $i; done"), "o|1\n");
    CHECK_STR(run("%bash echo line"), "o|line\n");
    CHECK_HAS(run("%%html\n<b>bold</b>"), "h|<b>bold</b>");
    CHECK_STR(run("%%capture c\nprint('text') h = display('shown') h:update('again')\n!echo said\n7"), "");
    CHECK_STR(run("c.stdout, c.stderr, #c.shown"), "r|\"text\\nsaid\\n\"\t\"\"\t2");
    CHECK_HAS(run("c:show()"), "o|text\nsaid\n");
    CHECK_HAS(out, "|\"again\"");
    CHECK(!strstr(out, "|\"shown\""));
    CHECK_HAS(fails("%%capture\nprint('kept') error('passes')"), "passes");
    CHECK_STR(run("print('heard')"), "o|heard\n");
    CHECK_HAS(fails("%%capture 1x\nprint()"), "the name of a variable");
    run("c = nil");
    CHECK_HAS(run("?gpu.zeros"), "p|gpu.zeros(");
    CHECK_HAS(run("w?"), "p|number");
    CHECK_HAS(run("?broadcasting"), "different shapes");
    CHECK_HAS(run("%lsmagic"), "%timeit [-n N]");
    run("weights = gpu.zeros(1000, 1000, 'cpu')");
    CHECK_HAS(run("%memory cpu"), "cpu: ");
    CHECK_HAS(run("%memory cpu"), "weights");
    CHECK_HAS(run("%memory cpu"), "float32 (1000, 1000), 3.8 MiB");
    CHECK_HAS(run("%device"), "* cpu");
    CHECK_STR(run("x = 1\n!echo $((1+1))\nx"), "o|2\nr|1");
    CHECK_HAS(fails("%tmeit x"), "did you mean %timeit?");
    CHECK_HAS(fails("%cuda"), "takes a cell");
    CHECK_HAS(fails("%%who\n"), "works on a line");
    CHECK_HAS(fails("%%time\n\nerror('here')"), ":3: here");
    CHECK_INT(failure->line, 3);
    CHECK_HAS(fails("?nosuch"), "nothing is known of 'nosuch'");
    CHECK_HAS(fails("%run"), "needs the name of a file");
    run("%reset");
    CHECK_STR(run("%who"), "o|There are no variables yet.\n");
    CHECK_STR(run("type(print), type(gpu)"), "r|\"function\"\t\"table\"");
}

TEST(files_by_magics)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", code[256];
    CHECK(mkdtemp(folder));
    start();
    snprintf(code, sizeof code, "%%%%writefile %s/a.lua\nfrom_file = arg[1]\nprint('ran')\n", folder);
    CHECK_HAS(run(code), "Wrote");
    snprintf(code, sizeof code, "%%run %s/a.lua one two\nfrom_file", folder);
    CHECK_STR(run(code), "o|ran\nr|\"one\"");
    snprintf(code, sizeof code, "%%load %s/a.lua", folder);
    CHECK_STR(run(code), "p|from_file = arg[1]\nprint('ran')\n");
    snprintf(code, sizeof code, "%s/a.lua", folder);
    CHECK_INT(unlink(code), 0);
    snprintf(code, sizeof code, "%%load %s/a.lua", folder);
    CHECK_HAS(fails(code), "cannot read");
    CHECK_INT(rmdir(folder), 0);
}

TEST(history)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64];
    struct lg_history_entry e;
    struct stat st;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/sub/history", folder);
    start_with(path);
    CHECK_INT(lg_history_count(session), 0);
    run("a = 1\nb = '\\\\n\\t'\n");
    run("a");
    run("a");
    run("  ");
    CHECK_INT(lg_history_count(session), 3);
    CHECK(lg_history_get(session, 2, &e));
    CHECK_INT(e.session, 0);
    CHECK_INT(e.line, 3);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    lg_session_free(session);

    FILE *f = fopen(path, "a");
    CHECK(f);
    fputs("garbage\n\n-1\t2\tx\n1\t\xff\xff\n7\t1\tcut off", f);
    fclose(f);
    start_with(path);
    CHECK_INT(lg_history_count(session), 3);
    CHECK(lg_history_get(session, 0, &e));
    CHECK_INT(e.session, 1);
    CHECK_INT(e.line, 1);
    CHECK_STR(e.code, "a = 1\nb = '\\\\n\\t'");
    CHECK(lg_history_get(session, 1, &e));
    CHECK_STR(e.code, "a");
    CHECK(!lg_history_get(session, 3, &e));
    run("later = 1");
    lg_session_free(session);

    start_with(path);
    CHECK_INT(lg_history_count(session), 4);
    CHECK(lg_history_get(session, 3, &e));
    CHECK_INT(e.session, 8);
    CHECK_STR(e.code, "later = 1");
    struct lg_request quiet = {.code = "1", .length = 1, .silent = true};
    CHECK_INT(lg_session_evaluate(session, &quiet, &failure), LG_DONE);
    CHECK_INT(lg_session_count(session), 0);
    CHECK_INT(lg_history_count(session), 4);
    lg_session_free(session);
    CHECK_INT(unlink(path), 0);
    snprintf(path, sizeof path, "%s/sub", folder);
    CHECK_INT(rmdir(path), 0);
    CHECK_INT(rmdir(folder), 0);
}

/* What two sessions run at the same time is seen by both. */
TEST(shared_history)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64];
    struct lg_history_entry e;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history", folder);
    start_with(path);
    struct lg_session *first = session;
    lg_history_refresh(first); /* nothing has been read, nothing is to be */
    CHECK_INT(lg_history_count(first), 0);
    start_with(path);
    struct lg_session *second = session;
    run("a = 1");
    CHECK_INT(lg_history_count(first), 0);
    lg_history_refresh(first);
    CHECK_INT(lg_history_count(first), 1);
    session = first;
    run("b = 2");
    run("c = 3");
    lg_history_refresh(first);
    lg_history_refresh(first);
    CHECK_INT(lg_history_count(first), 3); /* its own cells once */
    lg_history_refresh(second);
    CHECK_INT(lg_history_count(second), 3);
    CHECK(lg_history_get(second, 2, &e));
    CHECK_STR(e.code, "c = 3");
    CHECK_INT(e.session, 2);
    CHECK(lg_history_get(second, 0, &e));
    CHECK_INT(e.session, 0);
    CHECK_INT(unlink(path), 0);
    lg_history_refresh(second);
    run("d = 4"); /* into a new file of that name */
    session = second;
    run("e = 5");
    lg_history_refresh(second);
    lg_history_refresh(first);
    CHECK(lg_history_count(first) >= 4 && lg_history_count(second) >= 4);
    lg_session_free(first);
    lg_session_free(second);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(folder), 0);
}

TEST(scripts_are_plain_lua)
{
    struct lg_options o = {.sink = {.stream = on_stream, .result = on_result}, .argc = 2};
    char *arguments[] = {"script.lua", "one", NULL};
    o.argv = arguments;
    session = lg_session_new(&o);
    CHECK(session);
    struct lg_request r = {.name = "@script.lua", .silent = true};
    r.code = "#!/usr/bin/lua\nlocal x = 1\nassert(arg[0] == 'script.lua' and arg[1] == 'one')\nreturn x";
    r.length = strlen(r.code);
    *out = '\0';
    CHECK_INT(lg_session_evaluate(session, &r, &failure), LG_DONE);
    r.code = "assert(x == nil) error('bad')";
    r.length = strlen(r.code);
    CHECK_INT(lg_session_evaluate(session, &r, &failure), LG_ERROR);
    CHECK_STR(failure->value, "script.lua:1: bad");
    CHECK_INT(failure->line, 1);
    CHECK_HAS(failure->stack, "in main chunk"); /* as Lua itself has it */
    CHECK_STR(out, "");
    lg_session_free(session);
}

/* An allocator that fails once, after a number of allocations. */
static long left;
static void *failing(void *context, void *p, size_t old, size_t wanted)
{
    (void)context;
    (void)old;
    if (!wanted) {
        free(p);
        return NULL;
    }
    if ((!p || wanted > old) && left > 0 && --left == 0) return NULL;
    return realloc(p, wanted);
}

static int kilobytes_after(int cells)
{
    char code[32];
    for (int i = 0; i < cells; i++) {
        snprintf(code, sizeof code, "x = %d", i);
        if (evaluate(code) != LG_DONE) FAIL("%s: %s", code, failure->value);
    }
    lua_gc(lg_session_state(session), LUA_GCCOLLECT);
    return lua_gc(lg_session_state(session), LUA_GCCOUNT);
}

TEST(cells_leave_nothing_behind)
{
    start();
    int before = kilobytes_after(1100), after = kilobytes_after(1100);
    CHECK(after - before < 8);
    CHECK_HAS(fails("x = 1\nx.y.z = 1"), "");
    CHECK_HAS(traceback(), "x.y.z = 1"); /* the text of the last cell is there */
}

TEST(every_allocation_of_lua_may_fail)
{
    static const char code[] = "local t = {} for i = 1, 20 do t[i] = ('x'):rep(i) end\n"
                               "local function f(a) return #a end\n"
                               "print(f(t), coroutine.wrap(function() return 1 end)())\n"
                               "%who\n"
                               "{t[3], f(t)}";
    start();
    lua_setallocf(lg_session_state(session), failing, NULL);
    int failed = 0, done = 0;
    for (long n = 1; done < 3 && n < 5000; n++) {
        left = n;
        enum lg_status status = evaluate(code);
        bool survived = left > 0;
        left = 0;
        if (survived)
            done++;
        else if (status == LG_ERROR)
            failed++;
        if (strcmp(run("1 + 1"), "r|2") != 0) FAIL("after failure %ld: %s", n, out);
    }
    CHECK_INT(done, 3);
    CHECK(failed > 50);
    lg_session_free(session);
}

TEST(every_allocation_of_the_session_may_fail)
{
    start();
    bool done = false;
    for (long n = 1; !done && n < 2000; n++) {
        struct lg_completion c;
        struct lg_bundle b;
        rt_fail_allocation(n);
        evaluate("local q = {1, 2}\nq[1] +\nq[2]");
        lg_session_complete(session, "q.", 2, 2, &c);
        lg_session_complete(session, "st", 2, 2, &c);
        lg_session_inspect(session, "string.format", 13, 13, 1, &b);
        evaluate("error('x')");
        CHECK(failure->value && failure->name);
        done = c.count > 0 && n > 60;
        rt_fail_allocation(0);
        CHECK_STR(run("1 + 1"), "r|2");
    }
    CHECK(done);
    lg_session_free(session);
}

TEST(every_allocation_of_a_picture_may_fail)
{
    start();
    bool done = false;
    for (long n = 1; !done && n < 2000; n++) {
        rt_fail_allocation(n);
        done = evaluate("shown = gpu.imshow(gpu.eye(2)) for i in gpu.progress(2) do end\n"
                        "display(gpu.device()) display.html('<p>a<b>b') x = tostring(gpu.eye(2):latex())") == LG_DONE;
        struct lg_completion c;
        lg_session_complete(session, "%%cuda\n__sync", 13, 13, &c);
        done &= evaluate("%%capture kept\nprint('a') display('b')") == LG_DONE;
        evaluate("x = = 1"); /* the report has a line of source */
        rt_fail_allocation(0);
        CHECK_STR(run("1 + 1"), "r|2");
    }
    CHECK(done);
    CHECK_HAS(run("gpu.imshow(gpu.eye(2))"), "image of 2 x 2 values");
    lg_session_free(session);
}
