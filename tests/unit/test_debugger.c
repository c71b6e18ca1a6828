/* The debugger, driven through its interface: at every stop a line is noted, expressions are evaluated, and one step of
 * a plan is taken. */
#include "lang/debugger.h"
#include "lang/session.h"
#include "test.h"

static struct lg_session *session;
static char out[1 << 16];        /* "breakpoint f:3 | ..." a line each, and what cells printed */
static const char *plan;         /* a letter a stop: g, i, o(ver), u(p, out), d(etach); then g */
static const char *const *asked; /* expressions for every stop, ended by NULL */
static void (*at_stop)(void);

static void note(const char *text, size_t length)
{
    size_t n = strlen(out);
    snprintf(out + n, sizeof out - n, "%.*s", (int)length, text);
}

static void puts_note(const char *text)
{
    note(text, strlen(text));
}

static void on_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    (void)context, (void)which;
    note(text, length);
}

static void note_frame(void *context, const struct lg_debug_frame *frame)
{
    char text[256];
    int *depth = context;
    snprintf(text, sizeof text, "%s%s:%d", (*depth)++ ? "<" : "", frame->name, frame->line);
    puts_note(text);
}

static void note_value(void *context, const struct lg_debug_variable *v)
{
    (void)context;
    puts_note(v->value);
}

static void note_variable(void *context, const struct lg_debug_variable *v)
{
    int *reference = context;
    note(v->name, v->name_length);
    puts_note("=");
    puts_note(v->value);
    puts_note(" ");
    if (v->reference) *reference = v->reference;
}

static void on_stopped(void *context, enum lg_stop why, const char *message)
{
    (void)context;
    static const char *const words[] = {"breakpoint ", "step ", "pause ", "error "};
    int depth = 0;
    CHECK(lg_debug_is_stopped(session));
    CHECK_INT(message != NULL, why == LG_STOP_ERROR);
    puts_note(words[why]);
    lg_debug_frames(session, note_frame, &depth);
    for (const char *const *e = asked; e && *e; e++) {
        puts_note(" ");
        lg_debug_evaluate(session, 0, *e, strlen(*e), note_value, NULL);
    }
    puts_note("\n");
    if (at_stop) at_stop();
    char step = *plan ? *plan++ : 'g';
    if (step == 'd') lg_debug_detach(session);
    lg_debug_step(session, step == 'i'   ? LG_STEP_IN
                           : step == 'o' ? LG_STEP_OVER
                           : step == 'u' ? LG_STEP_OUT
                                         : LG_GO_ON);
}

static void start(void)
{
    struct lg_options o = {
        .sink = {.stream = on_stream, .stopped = on_stopped}, .device = "cpu", .interactive = true, .history = ""};
    session = lg_session_new(&o);
    CHECK(session && lg_debug_attach(session));
}

/* The line that a breakpoint of a cell's text ends up on. */
static int set(const char *text, int line)
{
    const struct lg_debug_source source = {.text = text, .length = strlen(text)};
    struct lg_debug_breakpoint b = {.line = line};
    CHECK(lg_debug_set_breakpoints(session, &source, &b, 1));
    return b.line;
}

static const struct lg_error *failure;

/* What a cell notes, by steps and expressions. */
static const char *run(const char *code, const char *steps, const char *const *expressions)
{
    struct lg_request r = {.code = code, .length = strlen(code), .store_history = true};
    *out = '\0';
    plan = steps;
    asked = expressions;
    lg_session_evaluate(session, &r, &failure);
    CHECK(!lg_debug_is_stopped(session));
    return out;
}

static const char functions[] = "local function inner(a)\n" /* 1 */
                                "  local b = a + 1\n"       /* 2 */
                                "  return b\n"              /* 3 */
                                "end\n"                     /* 4 */
                                "function outer(x)\n"       /* 5 */
                                "  local y = inner(x)\n"    /* 6 */
                                "  y = y * 2\n"             /* 7 */
                                "\n"                        /* 8 */
                                "  return y\n"              /* 9 */
                                "end\n"                     /* 10 */
                                "local z = outer(1)\n"      /* 11 */
                                "print(z)\n";               /* 12 */

TEST(breakpoints_in_the_first_line)
{
    start();
    CHECK_INT(set("x = 1\ny = 2", 1), 1);
    CHECK_STR(run("x = 1\ny = 2", "g", NULL), "breakpoint cell 1:1\n");
    CHECK_STR(run("x = 1\ny = 2", "g", NULL), "breakpoint cell 2:1\n");
    lg_session_free(session);
}

TEST(breakpoints)
{
    start();
    CHECK_INT(set(functions, 7), 7);
    CHECK_STR(run(functions, "", NULL), "breakpoint outer:7<cell 1:11\n4\n");
    CHECK_STR(run("-- another text\n\n\n\n\n\nprint(outer(2))", "", NULL), "breakpoint outer:7<cell 2:7\n6\n");
    CHECK_STR(run(functions, "", NULL), "breakpoint outer:7<cell 3:11\n4\n");
    CHECK_INT(set(functions, 12), 12);
    CHECK_STR(run(functions, "", NULL), "breakpoint cell 4:12\n4\n");
    const struct lg_debug_source source = {.text = functions, .length = strlen(functions)};
    CHECK(lg_debug_set_breakpoints(session, &source, NULL, 0));
    CHECK_STR(run(functions, "", NULL), "4\n");
}

TEST(lines_without_code_move)
{
    start();
    CHECK_INT(set(functions, 8), 9);
    CHECK_INT(set(functions, 1), 1);
    CHECK_INT(set(functions, 0), 1);
    CHECK_INT(set(functions, -5), 1);
    CHECK_INT(set(functions, 99), 0);
    CHECK_INT(set("this is no Lua", 1), 0);
    CHECK_INT(set("x = {\n  1,\n  2,\n}\n-- only text\n\nx", 5), 7);
    CHECK_INT(set("%%time\n\nlocal q = 1", 1), 3);
    CHECK_INT(set("", 1), 1); /* the return that every chunk has */
    char many[60000] = "local t = {}\n";
    for (int i = 0; i < 2000; i++) strcat(many, "t[1] = 123456 + #t\n");
    CHECK_INT(set(many, 1500), 1500);
    char far[3000] = "x = 1\n";
    for (int i = 0; i < 1000; i++) strcat(far, "\n");
    strcat(far, "y = function(...)\n\n  return 1.5, 'text', nil\nend");
    CHECK_INT(set(far, 3), 1004);
    CHECK_INT(set(far, 1005), 1005);
}

TEST(steps)
{
    start();
    set(functions, 11);
    CHECK_STR(run(functions, "oo", NULL), "breakpoint cell 1:11\nstep cell 1:12\n4\n");
    CHECK_STR(run(functions, "iii", NULL),
              "breakpoint cell 2:11\nstep outer:6<cell 2:11\nstep inner:2<outer:6<cell 2:11\n"
              "step inner:3<outer:6<cell 2:11\n4\n");
    CHECK_STR(run(functions, "iiuug", NULL),
              "breakpoint cell 3:11\nstep outer:6<cell 3:11\nstep inner:2<outer:6<cell 3:11\nstep outer:7<cell 3:11\n"
              "step cell 3:11\n4\n");
    CHECK_STR(
        run(functions, "iouo", NULL),
        "breakpoint cell 4:11\nstep outer:6<cell 4:11\nstep outer:7<cell 4:11\nstep cell 4:11\nstep cell 4:12\n4\n");
    CHECK_STR(run("print('a step ends with its cell')", "", NULL), "a step ends with its cell\n");
}

TEST(a_step_over_ends_at_an_error)
{
    static const char code[] = "local function f()\n  local x = nil\n  x()\nend\npcall(f)\nprint('after')";
    start();
    set(code, 2);
    CHECK_STR(run(code, "ooo", NULL),
              "breakpoint function at line 1:2<cell 1:5\nstep function at line 1:3<cell 1:5\nstep cell 1:6\nafter\n");
}

TEST(recursion)
{
    static const char code[] =
        "function f(n)\n  if n == 0 then return 0 end\n  local r = f(n - 1)\n  return r + 1\nend\nr = f(3)";
    static const char *const n[] = {"n", NULL};
    start();
    set(code, 3);
    CHECK_STR(run(code, "d", n), "breakpoint f:3<cell 1:6 3\n");
    lg_debug_attach(session);
    set(code, 6);
    CHECK_STR(run(code, "iooo", n), "breakpoint cell 2:6 nil\nstep f:2<cell 2:6 3\nstep f:3<cell 2:6 3\n"
                                    "step f:4<cell 2:6 3\n");
    static const char deep[] =
        "local function d(n)\n  if n == 0 then\n    return 0\n  end\n  return 1 + d(n - 1)\nend\nd(50000)";
    set(deep, 3);
    const char *text = run(deep, "o", NULL);
    CHECK(strncmp(text, "breakpoint d:3<", 15) == 0);
    CHECK_HAS(text, "d:5<d:5");
}

TEST(coroutines)
{
    static const char code[] = "local co = coroutine.wrap(function(a)\n" /* 1 */
                               "  local b = a\n"                         /* 2 */
                               "  coroutine.yield(b)\n"                  /* 3 */
                               "  return 'end'\n"                        /* 4 */
                               "end)\n"                                  /* 5 */
                               "local first = co(7)\n"                   /* 6 */
                               "local second = co()\n"                   /* 7 */
                               "print(first, second)";                   /* 8 */
    static const char *const b[] = {"b", NULL};
    start();
    set(code, 3);
    CHECK_STR(run(code, "o", b), "breakpoint function at line 1:3<cell 1:6 7\nstep cell 1:7 nil\n7\tend\n");
    set(code, 6);
    CHECK_STR(run(code, "oo", NULL), "breakpoint cell 2:6\nstep cell 2:7\nstep cell 2:8\n7\tend\n");
    CHECK_STR(run(code, "iu", NULL),
              "breakpoint cell 3:6\nstep function at line 1:2<cell 3:6\nstep cell 3:7\n7\tend\n");
    /* One that existed before its breakpoint. */
    CHECK_STR(
        run("c = coroutine.create(function()\n  coroutine.yield()\n  return 1\nend)\ncoroutine.resume(c)", "", NULL),
        "");
    CHECK_INT(set("c = coroutine.create(function()\n  coroutine.yield()\n  return 1\nend)\ncoroutine.resume(c)", 3), 3);
    CHECK_STR(run("coroutine.resume(c)", "", NULL), "breakpoint function at line 1:3<cell 5:1\n");
}

static void look_around(void)
{
    int reference = 0, first = 0, array = 0;
    lg_debug_scopes(session, 0, note_variable, &reference);
    CHECK_INT(reference, LG_DEBUG_SESSION);
    for (int scope = 1; scope <= 3; scope++) {
        puts_note("\n");
        CHECK(lg_debug_variables(session, scope, 0, 100, note_variable, &reference));
        if (scope == 1) first = reference;
        if (scope == 3) array = reference;
    }
    puts_note("\n");
    CHECK(lg_debug_variables(session, first, 0, 100, note_variable, &reference));
    puts_note("\n");
    CHECK(lg_debug_variables(session, first, 1, 1, note_variable, &reference));
    puts_note("\n");
    CHECK(lg_debug_variables(session, array, 0, 100, note_variable, &reference));
    puts_note("\n");
    CHECK(!lg_debug_variables(session, 0, 0, 100, note_variable, &reference));
    CHECK(!lg_debug_variables(session, 99999, 0, 100, note_variable, &reference));
    CHECK(!lg_debug_variables(session, 4 * 50 + 1, 0, 100, note_variable, &reference));
    CHECK(!lg_debug_variables(session, 4, 0, 100, note_variable, &reference));
    CHECK(!lg_debug_scopes(session, 50, note_variable, &reference));
    CHECK(!lg_debug_scopes(session, -1, note_variable, &reference));
    CHECK(!lg_debug_pause(session));
}

TEST(variables)
{
    static const char code[] = "xs = gpu.array({{1, 2}, {3, 4.5}})\n"
                               "local up = 'kept'\n"
                               "do\n"
                               "  local up = up\n"
                               "  function f(a, ...)\n"
                               "    local t = {10, 20, x = {1}}\n"
                               "    local a = a * 2\n"
                               "    return t, a, up\n"
                               "  end\n"
                               "end\n"
                               "f(4, 'more')";
    start();
    set(code, 8);
    at_stop = look_around;
    CHECK_STR(
        run(code, "", NULL),
        "breakpoint f:8<cell 1:11\n"
        "Locals= Upvalues= Session= \n"
        "t={10, 20, x = {...}} a=8 ...[1]=\"more\" \n"
        "up=\"kept\" \n"
        "f=function (a, ...) up=\"kept\" xs=float32 (2, 2) cpu \n"
        "[1]=10 [2]=20 x={1} \n"
        "[2]=20 \n"
        "dtype=\"float32\" shape=\"(2, 2)\" device=\"cpu\" bytes=16 [1, 1]=1.0 [1, 2]=2.0 [2, 1]=3.0 [2, 2]=4.5 \n");
}

TEST(evaluates_in_frames)
{
    static const char code[] = "local up = 1\n"
                               "do\n"
                               "  local up = 2\n"
                               "  function g(a)\n"
                               "    local a = a + up\n"
                               "    print(a, up, made)\n"
                               "  end\n"
                               "end\n"
                               "g(5)\n";
    static const char *const expressions[] = {"a",
                                              "a + up",
                                              "a = 70",
                                              "up = 20",
                                              "made = 'here'",
                                              "a, 2",
                                              "nothing.at",
                                              "local q = a return q",
                                              "for for",
                                              "(function() return a end)()",
                                              NULL};
    start();
    set(code, 6);
    const char *text = run(code, "", expressions);
    CHECK_HAS(text, "breakpoint g:6<cell 1:9 7 9 nil nil nil 70 expression:1: attempt to index a nil value");
    CHECK_HAS(text, " 70 expression:1: <name> expected");
    CHECK_HAS(text, " 70\n70\t20\there\n");
}

static void ask_outside(void)
{
    int reference;
    CHECK(lg_debug_evaluate(session, 1, "x", 1, note_value, NULL));
    CHECK(lg_debug_evaluate(session, LG_DEBUG_NO_FRAME, " + 1", 4, note_value, NULL) == false);
    CHECK(lg_debug_keep(session, 0, "a", 1, "kept"));
    CHECK(!lg_debug_keep(session, 0, "a.b", 3, "kept"));
    CHECK(lg_debug_evaluate(session, 0, "late = function() return a, made end", 36, note_variable, &reference));
}

TEST(other_frames_and_what_outlives_them)
{
    static const char code[] =
        "function inner(a)\n  return a\nend\nfunction outer(x)\n  inner(x + 1)\n  return x\nend\nouter(3)";
    start();
    set(code, 2);
    at_stop = ask_outside;
    CHECK_HAS(run(code, "", NULL), "breakpoint inner:2<outer:5<cell 1:8\n3");
    at_stop = NULL;
    CHECK_STR(run("print(kept, late())", "", NULL), "4\tnil\tnil\n");
}

TEST(errors_stop_where_asked)
{
    start();
    CHECK_STR(run("error('first')", "", NULL), "");
    lg_debug_stop_at_errors(session, true);
    static const char *const x[] = {"x", NULL};
    CHECK_STR(run("local function f()\n  local x = 5\n  error('second')\nend\nf()", "", x), "error f:3<cell 2:5 5\n");
    CHECK_STR(failure->value, "cell 2:3: second");
    CHECK_STR(run("print(pcall(error, 'caught'))", "", x), "false\tcaught\n");
    CHECK_STR(run("error({})", "", NULL), "error cell 4:1\n");
    CHECK_STR(run("for for", "", NULL), "");
    lg_debug_detach(session);
    CHECK_STR(run("error('third')", "", NULL), "");
}

static void interrupt(void)
{
    lg_session_interrupt(session);
}

TEST(an_interrupt_while_stopped)
{
    static const char code[] = "x = 1\nx = 2\nx = 3";
    start();
    set(code, 2);
    at_stop = interrupt;
    CHECK_STR(run(code, "o", NULL), "breakpoint cell 1:2\n");
    CHECK_STR(failure->name, "Interrupted");
    at_stop = NULL;
    CHECK_STR(run("print(x)", "", NULL), "1\n");
    CHECK_STR(run(code, "", NULL), "breakpoint cell 3:2\n");
}

static void pause_later(void)
{
    set("", 1);
}

TEST(hooks_are_gone_when_nothing_is_wanted)
{
    static const char code[] =
        "print(debug.gethook())\nlocal c = coroutine.wrap(function() print(debug.gethook()) end)\nc()";
    start();
    CHECK(!lg_debug_pause(session));
    CHECK_STR(run(code, "", NULL), "nil\nnil\n");
    set(code, 1);
    CHECK_STR(run(code, "d", NULL), "breakpoint cell 2:1\nnil\nnil\n");
    CHECK_STR(run(code, "", NULL), "nil\nnil\n");
    at_stop = pause_later;
    lg_debug_attach(session);
    set(code, 1);
    CHECK_HAS(run(code, "", NULL), "external hook");
}

TEST(lines_are_looked_at_where_there_are_breakpoints)
{
    static const char here[] = "print((select(2, debug.gethook())))";
    start();
    set(functions, 7);
    CHECK_STR(run(here, "", NULL), "c\n");
    run(functions, "g", NULL);
    CHECK_STR(run(here, "", NULL), "c\n");
    CHECK_STR(run("print((select(2, debug.gethook()))) outer(1) print((select(2, debug.gethook())))", "g", NULL),
              "c\nbreakpoint outer:7<cell 4:1\nl\n");
}

TEST(what_runs_aside_is_not_stopped)
{
    static const char code[] = "function f()\n  return 1\nend\nf()";
    static const char *const call[] = {"f()", NULL};
    start();
    set(code, 2);
    CHECK_STR(run(code, "", call), "breakpoint f:2<cell 1:4 1\n");
}

TEST(sessions_without_a_place_to_stop)
{
    struct lg_options o = {.sink = {.stream = on_stream}, .device = "cpu", .interactive = true, .history = ""};
    session = lg_session_new(&o);
    CHECK(session && !lg_debug_attach(session));
    lg_debug_detach(session);
    CHECK(!lg_debug_pause(session) && !lg_debug_is_stopped(session));
    CHECK_STR(run("print(1)", "", NULL), "1\n");
    lg_session_free(session);
}
