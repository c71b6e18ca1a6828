/* Cells as they are rewritten before Lua compiles them: top-level locals, magics, returns; lines stay where they are.
 * */
#include "lang/rewrite.h"
#include "runtime/memory.h"
#include "tests/unit/test.h"

static struct lg_cell cell;

static const char *rewritten(const char *text)
{
    lg_cell_release(&cell);
    CHECK(lg_rewrite(text, strlen(text), &cell));
    return cell.text.data ? cell.text.data : "";
}

/* The declared names, separated by commas. */
static const char *declared(const char *text)
{
    static char out[512];
    rewritten(text);
    *out = '\0';
    for (size_t i = 0; i < cell.names.length; i += strlen(cell.names.data + i) + 1) {
        if (i) strcat(out, ",");
        strcat(out, cell.names.data + i);
    }
    return out;
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

TEST(top_level_locals_become_variables)
{
    static const char *const table[][3] = {
        {"local x = 1", "      x = 1", "x"},
        {"local x, y = 1, 2", "      x, y = 1, 2", "x,y"},
        {"local x", "      x=nil", "x"},
        {"local x, y", "      x, y=nil", "x,y"},
        {"local x\nlocal y", "      x=nil\n      y=nil", "x,y"},
        {"local x = x", "      x = x", "x"},
        {"local x <const> = 5", "      x         = 5", "x"},
        {"local x <const>, y = 5, 6", "      x        , y = 5, 6", "x,y"},
        {"local x <const>", "      x        =nil", "x"},
        {"local\nx\n=\n1", "     \nx\n=\n1", "x"},
        {"local --c\n x = 1", "      --c\n x = 1", "x"},
        {"local function f() end", "      function f() end", "f"},
        {"x = 1 local y = 2", "x = 1       y = 2", "y"},
        {"local a = 1; local b = 2", "      a = 1;       b = 2", "a,b"},
        {"f(x)local y = 2", "f(x)      y = 2", "y"},
        {"local x = 1 local x = 2", "      x = 1       x = 2", "x,x"},
        {"local t = {} local n = #t", "      t = {}       n = #t", "t,n"},
        {"goto l local x = 1 ::l:: local y", "goto l       x = 1 ::l::       y=nil", "x,y"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        CHECK_STR(rewritten(table[i][0]), table[i][1]);
        CHECK_STR(declared(table[i][0]), table[i][2]);
    }
}

TEST(what_is_no_top_level_local_stays)
{
    static const char *const table[] = {
        "do local x = 1 end",
        "for i = 1, 3 do local x = i end",
        "if a then local x = 1 else local y = 2 end",
        "while a do local x = 1 end",
        "repeat local x = f() until x",
        "function f() local x = 1 return x end",
        "t = { function() local x = 1 end }",
        "f(function() local x = 1 end)",
        "x = 'local y = 1'",
        "x = [[\nlocal y = 1\n]]",
        "-- local y = 1",
        "--[[\nlocal y = 1\n]]",
        "t.localx = 1",
        "x = localy",
        "function t.a:b() end",
        "local x <close> = f()",
        "local a, b <close> = 1, f()",
        "local _ENV = {}",
        "local",
        "local 5",
        "local x <foo> = 1",
        "local x <",
        "local function",
        "local function f",
        "local function 5() end",
        "a, local x = 1",
        "x = local y",
        "",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        CHECK_STR(rewritten(table[i]), table[i]);
        CHECK_INT(cell.names.length, 0);
    }
}

TEST(a_variable_to_be_closed_is_assigned_as_a_local_afterwards)
{
    CHECK_STR(rewritten("local x <close> = f() local x = 2 local y = x"),
              "local x <close> = f() local x = 2       y = x");
    CHECK_STR(rewritten("local f <close> = g() local function f() end"),
              "local f <close> = g() local function f() end");
}

TEST(a_return_is_guarded_from_tail_calls)
{
    CHECK_STR(rewritten("return f(x)"), LG_RETURN_GUARD "return f(x)");
    CHECK_STR(rewritten("do return f(x) end"), "do return f(x) end");
    CHECK_STR(rewritten("f = function() return g() end"), "f = function() return g() end");
}

TEST(magic_lines_become_calls)
{
    CHECK_STR(rewritten("%time f(x)"), LG_MAGIC_FUNCTION "(\"%time f(x)\",1)");
    CHECK_STR(rewritten("x = 1\n  !ls \"a\\b\" \ny"), "x = 1\n  " LG_MAGIC_FUNCTION "(\"!ls \\034a\\092b\\034\",2)\ny");
    CHECK_STR(rewritten("?gpu.zeros"), LG_MAGIC_FUNCTION "(\"?gpu.zeros\",1)");
    CHECK_STR(rewritten("gpu.zeros??"), LG_MAGIC_FUNCTION "(\"gpu.zeros??\",1)");
    CHECK_STR(rewritten("!echo it's -- [["), LG_MAGIC_FUNCTION "(\"!echo it's -- [[\",1)");
    CHECK_STR(rewritten("%nosuch"), LG_MAGIC_FUNCTION "(\"%nosuch\",1)");
    CHECK(cell.magic);
    /* A modulo at a line's start is one, and lines inside of something are no magics. */
    CHECK_STR(rewritten("x = a\n% b"), "x = a\n% b");
    CHECK_STR(rewritten("x = a\n%b"), "x = a\n%b");
    CHECK_STR(rewritten("x = [[\n%time\n!ls\n]]"), "x = [[\n%time\n!ls\n]]");
    CHECK_STR(rewritten("f(\n%time\n)"), "f(\n%time\n)");
    CHECK(!cell.magic);
}

TEST(the_end_leaves_out_semicolons_and_comments)
{
    rewritten("x = 1\nf(x) -- note");
    CHECK_INT(cell.end, strlen("x = 1\nf(x)"));
    CHECK(!cell.silenced);
    rewritten("f(x);  -- note");
    CHECK_INT(cell.end, 4);
    CHECK(cell.silenced);
    rewritten("f(x); g()");
    CHECK(!cell.silenced);
    CHECK_INT(cell.start_count, 2);
}

TEST(starts_are_where_statements_may_begin)
{
    rewritten("a = 1\n-b\n(c)\nif x then\n y()\nend\nlocal z = 1 z; w");
    static const enum lg_start_kind kinds[] = {LG_START_CERTAIN,   LG_START_POSSIBLE,  LG_START_POSSIBLE,
                                               LG_START_STATEMENT, LG_START_STATEMENT, LG_START_CERTAIN,
                                               LG_START_CERTAIN};
    CHECK_INT(cell.start_count, sizeof kinds / sizeof *kinds);
    for (size_t i = 0; i < cell.start_count; i++) CHECK_INT(cell.starts[i].kind, kinds[i]);
}

TEST(lines_are_kept)
{
    static const char *const table[] = {
        "local a\nlocal b <const>\n=1\n\n!x\r\n%time y\nreturn z",
        "local a <\nconst\n>\n, b\n",
        "local\nfunction\nf\n(\n)\nend\n",
        "'\\\n' local x",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) CHECK_INT(lines(rewritten(table[i])), lines(table[i]));
}

TEST(running_out_of_memory_is_reported)
{
    static const char text[] = "local a, b = 1, 2\nlocal c <close> = f()\n!ls\nreturn a";
    bool done = false;
    for (long n = 1; !done && n < 100; n++) {
        struct lg_cell c = {0};
        rt_fail_allocation(n);
        done = lg_rewrite(text, strlen(text), &c);
        rt_fail_allocation(0);
        lg_cell_release(&c);
    }
    CHECK(done);
}
