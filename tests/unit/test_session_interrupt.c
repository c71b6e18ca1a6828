/* Other threads that stop what a session runs, or have a question meanwhile. */
#include <pthread.h>
#include "tests/unit/session.h"

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

TEST(an_interrupt_stops_a_pattern_that_tries_for_ever)
{
    static const char *const table[] = {
        "find(p)",     "match(p)",
        "gsub(p, '')", "gsub('(' .. p .. ')', {})",
        "gmatch(p)()", "find('%f[a]()' .. p .. '%1')",
    };
    start();
    run("kept = 1 p = ('.-'):rep(20) .. 'b'");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char code[256];
        snprintf(code, sizeof code, "print('begun') local s = ('a'):rep(40):%s", table[i]);
        check_interrupted(code);
        snprintf(code, sizeof code, "print('begun') while true do pcall(function() return ('a'):rep(40):%s end) end",
                 table[i]);
        check_interrupted(code);
    }
}

static void on_stream_stop(void *context, enum lg_stream which, const char *text, size_t length)
{
    on_stream(context, which, text, length);
    lg_session_interrupt(session);
}

/* Its first error is swallowed; what is called then raises its own, each after some time. */
TEST(an_interrupt_stops_a_loop_that_swallows_what_its_calls_raise)
{
    static const char *const table[] = {"return ('a'):rep(40):find(p)",
                                        "return gpu.ones(100000, {device = 'cpu'}):sum()"};
    const struct lg_options options = {
        .sink = {.stream = on_stream_stop, .result = on_result}, .history = "", .interactive = true};
    session = lg_session_new(&options);
    CHECK(session);
    run("kept = 1 p = ('.-'):rep(20) .. 'b'");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char code[256];
        snprintf(
            code, sizeof code,
            "told = nil while true do pcall(function() if not told then told = true print('begun') end %s end) end",
            table[i]);
        CHECK_INT(evaluate(code), LG_INTERRUPTED);
        CHECK_STR(run("kept"), "r|1");
    }
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
        "while true do xpcall(error, function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
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

static void start_asked(void)
{
    const struct lg_options options = {
        .sink = {.stream = on_stream, .result = on_result, .attend_beside = on_attend_beside, .beside = on_beside},
        .history = "",
        .interactive = true};
    session = lg_session_new(&options);
    CHECK(session);
}

TEST(questions_are_answered_in_the_middle_of_a_call)
{
    start_asked();
    run("arr = gpu.zeros({2, 3}, {device = 'simt'}) held = {arr} t = {} for i = 1, 70000 do t[i] = i end\n"
        "a = gpu.ones({100, 100}, {device = 'cpu'})");
    static const char *const table[] = {"b = gpu.array(t)", "t = gpu.zeros(70000):totable()",
                                        "b = a:cumsum()",   "b = (a + 1):sum()",
                                        "gpu.sort(a)",      "table.sort(t)"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        looks = 0;
        lg_session_attend(session); /* the next call that takes long finds it waiting */
        run(table[i]);
        if (looks != 1) FAIL("%s: looked %d times", table[i], looks);
    }
    run("collectgarbage('stop')");
    lg_session_attend(session);
    CHECK_STR(run("gpu.sort(a) return collectgarbage('isrunning')"), "r|false");
}

static bool look_up(void *code)
{
    complete(code, NULL);
    return true;
}

static void *look_from_beside(void *code)
{
    return lg_session_look(session, look_up, code) ? code : NULL;
}

/* While the session's own thread rests; what it would have to compute is left to it. */
TEST(names_are_looked_up_on_another_thread)
{
    static const char *const codes[] = {"string.form", "arr:count_n"};
    start_asked();
    run("arr = gpu.zeros({2, 3}, {device = 'simt'})");
    for (size_t i = 0; i < 2; i++) {
        pthread_t thread;
        void *result;
        CHECK_INT(pthread_create(&thread, NULL, look_from_beside, (void *)codes[i]), 0);
        pthread_join(thread, &result);
        CHECK_INT(result != NULL, i == 0);
    }
    CHECK_STR(run("collectgarbage('isrunning')"), "r|true");
    lg_session_free(session);
}

/* Beside the stock one, which short lists and those with a function are left to. */
TEST(sorting_of_tables)
{
    start_asked();
    run("stock = select(2, debug.getupvalue(table.sort, 1))\n"
        "function lists(n, f) local a, b = {}, {} for i = 1, n do a[i] = f(i) b[i] = a[i] end return a, b end\n"
        "function same(a, b) for i = 1, #b do if a[i] ~= b[i] or math.type(a[i]) ~= math.type(b[i]) then return i end end\n"
        "  return #a == #b and a[#b + 1] == nil end\n"
        "math.randomseed(5)");
    static const char *const elements[] = {
        "math.random(0)",
        "math.random(-1000, 1000)",
        "i",
        "-i",
        "math.random() - 0.5",
        "(math.random() - 0.5) * 10.0 ^ math.random(-300, 300)",
        "i % 7 == 0 and math.huge or i % 7 == 1 and -math.huge or i / 3",
        "tostring(math.random(0))",
        "('x'):rep(math.random(0, 60))",
        "string.char(math.random(1, 255), math.random(1, 255), math.random(1, 255))",
        "string.char(math.random(0, 255), math.random(0, 255), math.random(0, 255))", /* not here: zero bytes */
        "i % 2 == 0 and i or i + 0.5",                                                /* nor mixed numbers */
    };
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        for (int n = 16000; n < 70000; n = n * 2 + 1001) {
            char code[300];
            snprintf(code, sizeof code,
                     "local a, b = lists(%d, function(i) return %s end) table.sort(a) stock(b) same(a, b)", n,
                     elements[i]);
            if (strcmp(run(code), "r|true") != 0) FAIL("%d of %s: differs at %s", n, elements[i], out);
        }
    CHECK_HAS(fails("table.sort((lists(20000, function(i) return i == 19999 and 'x' or i end)))"),
              "attempt to compare");
    CHECK_HAS(fails("table.sort((lists(20000, function(i) return {} end)))"), "attempt to compare two table values");
    CHECK_HAS(fails("table.sort(5)"), "bad argument #1 to 'sort' (table expected, got number)");
    CHECK_HAS(fails("table.sort({2, 1}, 5)"), "bad argument #2 to 'sort' (function expected, got number)");
    CHECK_STR(
        run("local a = lists(20000, function(i) return i end) table.sort(a, function(x, y) return x > y end)\n"
            "local seen = setmetatable({}, {__index = a, __newindex = function() end, __len = function() return 3 end})\n"
            "table.sort(seen) a[1], a[20000]"),
        "r|20000\t1");
    lg_session_free(session);
}
