/* What a session keeps, and what it does when memory runs out at any point. */
#include <limits.h>
#include "runtime/memory.h"
#include "tests/unit/session.h"

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
    /* Lua's table of strings may happen to grow in one of the rounds; a leak is in all of them. */
    int least = INT_MAX;
    for (int round = 0, before = kilobytes_after(1100); round < 2; round++) {
        int after = kilobytes_after(1100);
        if (after - before < least) least = after - before;
        before = after;
    }
    CHECK(least < 8);
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
