/* What a session says of code that has not run: whether it is complete, where it is wrong, how it can go on, what a
 * name in it is. */
#include <sys/stat.h>
#include "tests/unit/session.h"

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
        enum lg_mistake m = lg_find_mistake(code, n, NULL, NULL, &from, &to);
        if (m == LG_MISTAKE)
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
        {"for i in range(3):", LG_INVALID, 0},
        {"while x < 3: ", LG_INVALID, 0},
        {"while True: f(x)", LG_INVALID, 0},
        {"for i in range(3): f(i)", LG_INVALID, 0},
        {"try: f(x)", LG_INVALID, 0},
        {"for i in f:g()", LG_INCOMPLETE, 0},
        {"if (n > 1) { print(n) }", LG_INVALID, 0},
        {"while (f(n)) {\n  y = {1}\n}", LG_INVALID, 0},
        {"if (n > 1) {", LG_INCOMPLETE, 4},
        {"if (n > 1) {1} ==", LG_INCOMPLETE, 2},
        {"if n {1}", LG_INCOMPLETE, 2},
        {"if (n)", LG_INCOMPLETE, 2},
        {"if", LG_INCOMPLETE, 2},
        {"x:mean", LG_INVALID, 0},
        {"print(x:mean", LG_INVALID, 0},
        {"x:mean(", LG_INCOMPLETE, 2},
        {"if x then y:", LG_INCOMPLETE, 2},
        {"for i in f:\n  g()", LG_INCOMPLETE, 0},
        {"local x <const> = 5\nx", LG_COMPLETE, 0},
        {"function f(a)", LG_INCOMPLETE, 2},
        {"repeat x = 1", LG_INCOMPLETE, 2},
        {"%time f(x)", LG_COMPLETE, 0},
        {"?gpu.zeros", LG_COMPLETE, 0},
        {"gpu.zeros?", LG_COMPLETE, 0},
        {"!ls (", LG_COMPLETE, 0},
        {"%%cuda\n__global__ void f() {", LG_INCOMPLETE, 0},
        {"%%cuda\n__global__ void f() {}\n", LG_COMPLETE, 0},
        {"\n %%cuda\n__global__ void f() {", LG_INCOMPLETE, 0},
        {"\n %%cuda\n__global__ void f() {}\n", LG_COMPLETE, 0},
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
        enum lg_mistake m = lg_find_mistake(code, (size_t)n, NULL, NULL, &from, &to);
        CHECK_INT(m, wrong ? LG_MISTAKE : LG_NO_MISTAKE);
    }
}

static bool stop_at(void *context)
{
    return --*(int *)context == 0;
}

TEST(the_look_for_a_mistake_can_be_given_up)
{
    enum { LINES = 400 };
    static char code[LINES * 16];
    size_t from = 7, to = 7;
    int n = 0, never = -1;
    for (int line = 0; line < LINES; line++) n += sprintf(code + n, "x = f(1)\n");
    n += sprintf(code + n, "x = )");
    CHECK_INT(lg_find_mistake(code, (size_t)n, stop_at, &never, &from, &to), LG_MISTAKE);
    CHECK_INT(from, n - 1);
    int questions = -1 - never;
    CHECK(questions > 2 * n / 4096); /* more than once for each piece of a compilation */
    /* At the first questions, the last one, and others between. */
    for (int i = 1; i <= questions; i = i < questions && i + i / 8 + 1 > questions ? questions : i + i / 8 + 1) {
        int left = i;
        CHECK_INT(lg_find_mistake(code, (size_t)n, stop_at, &left, &from, &to), LG_GIVEN_UP);
        CHECK_INT(left, 0); /* it was not asked again */
    }
}

TEST(completion)
{
    size_t from;
    start();
    run("local session_x = 1 tt = {alpha = 1, beta = function(self) end, _hidden = 1, ['no name'] = 1, ['a \" quote'] = 2}\n"
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
    CHECK_STR(complete("tt['n", NULL), "no name");
    CHECK_STR(complete("nested[1][\"", NULL), "alpha beta no name");
    run("path = os.tmpname() gpu.save(path, {left = gpu.ones(2), right = gpu.ones(3)}, {format = 'npz'}) "
        "file = gpu.load(path, {format = 'npz'}) os.remove(path) _ = file.left");
    CHECK_STR(complete("file.", NULL), "left right"); /* which is not read for it */
    CHECK_STR(complete("file['ri", NULL), "right");
    CHECK_STR(complete("file.left:cumpr", NULL), "cumprod");
    CHECK_STR(complete("string.fo", NULL), "format");
    CHECK_STR(complete("s:upp", NULL), "upper");
    CHECK_STR(complete("('x'):upp", NULL), "upper");
    CHECK_STR(complete("gpu.linsp", NULL), "linspace");
    CHECK_STR(complete("arr:su", NULL), "sub sum sub_");
    CHECK_STR(complete("arr.shap", NULL), "shape");
    CHECK_STR(complete("gpu.range(100):resh", NULL), "reshape");
    CHECK_STR(complete("gpu.ones((2 + 1), 4):to('cpu'):resh", NULL), "reshape");
    CHECK_STR(complete("gpu.ones(3):totable():resh", NULL), "");
    CHECK_STR(complete("gpu.stream():resh", NULL), "");
    CHECK_STR(complete("made = gpu.zeros(3, 4)\nmade:resh", NULL), "reshape"); /* has not run */
    CHECK_STR(complete("local m = gpu.ones(3, (4)):to('cpu')\nprint(m)\nm:resh", NULL), "reshape");
    CHECK_STR(complete("made = 2 * gpu.zeros(3)\nmade = 'text'\nmade:resh", NULL), "");
    CHECK_STR(complete("t.made = gpu.zeros(3)\nmade:resh", NULL), "");
    CHECK_STR(complete("made = gpu.zeros(3, made:resh", NULL), "");
    CHECK_STR(complete("arr:shap", NULL), "");
    CHECK_STR(complete("zz.r", NULL), "re reciprocal round rsqrt");
    CHECK_STR(complete("zz:conj", NULL), "conj");
    run("st, ev, gr = gpu.stream('cpu'), gpu.event('cpu'), gpu.graph(function() end, 'simt')");
    CHECK_STR(complete("st:w", NULL), "wait with");
    CHECK_STR(complete("st.nu", NULL), "number");
    CHECK_STR(complete("ev:el", NULL), "elapsed");
    CHECK_STR(complete("gr:la", NULL), "launch");
    CHECK_STR(complete("gpu.nvtx.ra", NULL), "range");
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
    CHECK_STR(complete("io.open('tests/unit/soft_fl", &from), "soft_float.h");
    CHECK_INT(from, strlen("io.open('tests/unit/"));
    CHECK_STR(complete("%run tests/lua/test.l", NULL), "test.lua");
    struct lg_completion c;
    lg_session_complete(session, "ar", 2, 2, &c);
    CHECK_INT(c.count, 2);
    CHECK_STR(c.matches[1].kind, "array");
    CHECK_HAS(c.matches[1].note, "float32 (3, 4)");
}

/* What the list has no room for counts for what all begin with, and is found when more of it is typed. */
/* Also when the names of a large table have been noted, which holds until something runs. */
TEST(completion_among_many_globals)
{
    struct lg_completion c;
    start();
    run("for i = 1, 100000 do _G['name' .. i] = i end only_one = 1");
    for (int way = 0; way < 3; way++) {
        if (way) lg_session_prepare(session);
        lg_session_complete(session, "gp", 2, 2, &c);
        CHECK_INT(c.count, 1);
        CHECK_STR(c.matches[0].text, "gpu");
        lg_session_complete(session, "only_o", 6, 6, &c);
        CHECK_INT(c.count, 1);
        lg_session_complete(session, "name99", 6, 6, &c);
        CHECK_INT(c.count, 1000);
        CHECK(c.more && c.common == 6);
        lg_session_complete(session, "name9999", 8, 8, &c);
        CHECK_INT(c.count, 11);
    }
    run("gpx = 1 only_one = nil name9999 = nil");
    for (int way = 0; way < 2; way++) {
        CHECK_STR(complete("gp", NULL), "gpu gpx");
        CHECK_STR(complete("only_o", NULL), "");
        lg_session_complete(session, "name9999", 8, 8, &c);
        CHECK_INT(c.count, 10);
    }
    run("many = {} for i = 1, 5000 do many['name' .. i] = i end many[1] = 2 many['no name'] = 3 many.no = 4");
    for (int way = 0; way < 2; way++) {
        CHECK_STR(complete("many.no", NULL), "no");
        CHECK_STR(complete("many.name4999", NULL), "name4999");
        CHECK_STR(complete("gp", NULL), "gpu gpx");
    }
}

/* How many bytes all matches begin with, those in the list and those that it has no room for. */
static size_t common_bytes(const struct lg_completion *c)
{
    size_t most = c->common;
    for (size_t i = 1, n; i < c->count; i++) {
        for (n = 0; n < most && c->matches[i].text[n] == c->matches[0].text[n]; n++) continue;
        most = n;
    }
    return most;
}

TEST(completion_of_many)
{
    struct lg_completion c;
    size_t from;
    start();
    run("many = {} for i = 1, 12000 do many['name' .. i] = i end many.narrow = 1");
    lg_session_complete(session, "many.na", 7, 7, &c);
    CHECK_INT(c.count, 1000);
    CHECK(c.more);
    CHECK_INT(common_bytes(&c), strlen("na")); /* whether the list has room for narrow or not */
    lg_session_complete(session, "many.name", 9, 9, &c);
    CHECK(c.more);
    CHECK_INT(common_bytes(&c), strlen("name"));
    CHECK_STR(complete("many.name11999", NULL), "name11999");
    run("for i = 1, 1500 do _G['number' .. i] = i end number_of_all = 1");
    lg_session_complete(session, "numb", 4, 4, &c);
    CHECK_INT(common_bytes(&c), strlen("number"));
    CHECK_STR(complete("number_", NULL), "number_of_all");
    mkdir("complete_many", 0777);
    mkdir("complete_many/folder", 0777);
    CHECK_INT(symlink("folder", "complete_many/forward"), 0);
    run("io.open('complete_many/found', 'w'):close()");
    CHECK_STR(complete("io.open('complete_many/fo", &from), "folder/ forward/ found");
    run("os.remove('complete_many/found') os.remove('complete_many/forward')");
    rmdir("complete_many/folder");
    rmdir("complete_many");
}

TEST(completion_of_options_and_modules)
{
    start();
    CHECK_STR(complete("gpu.zeros(3, {", NULL), "device =  dtype = ");
    CHECK_STR(complete("gpu.zeros(3, {dtype = 'int32', dev", NULL), "device = ");
    CHECK_STR(complete("gpu.plot(x, {logy = true, ti", NULL), "title = ");
    CHECK_STR(complete("gpu.zeros(2):sum{ax", NULL), "axis = ");
    CHECK_STR(complete("gpu.conv2d(x, w, {dil", NULL), "dilation = ");
    CHECK_STR(complete("gpu.load('a.csv', {colu", NULL), "columns = ");
    CHECK_STR(complete("gpu.zeros(2):to('cp", NULL), "cpu");
    /* a first argument that is a path, and no dtype beside it */
    CHECK_STR(complete("gpu.load('tests/unit/test_session_comp", NULL), "test_session_complete.c");
    CHECK_STR(complete("gpu.load('cp", NULL), "");
    CHECK_STR(complete("gpu.load('a.raw', 'float3", NULL), "float32");
    CHECK_STR(complete("gpu.kernel{file = 'tests/unit/test_session_comp", NULL), "test_session_complete.c");
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
    CHECK_STR(complete("\n%%cuda\n__syncw", &from), "__syncwarp");
    CHECK_INT(from, strlen("\n%%cuda\n"));
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

TEST(inspection)
{
    start();
    run("x = 5\n-- Adds one.\n-- Really.\nlocal function add_one(n, ...)\n  return n + 1\nend\narr = gpu.zeros(2, 3)");
    CHECK_HAS(inspect("gpu.linspace", 0), "gpu.linspace(start, stop");
    CHECK_HAS(inspect("gpu.linspace(0, ", 0), "gpu.linspace(start, stop");
    CHECK_HAS(inspect("\n%%cuda\n__syncthreads", 0), "of CUDA C");
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
    CHECK_HAS(inspect("arr", 0), "bytes   24 B");
    CHECK_HAS(inspect("arr:sum", 0), "x:sum(");
    CHECK_HAS(inspect("x", 0), "number");
    CHECK_HAS(inspect("%timeit", 0), "%timeit [-n N]");
    CHECK_HAS(inspect("display", 0), "display(value");
    CHECK_STR(inspect("nosuch", 0), "");
    CHECK_STR(inspect("1 + ", 0), "");
    CHECK_STR(inspect("", 0), "");
}
