/* Cells: their results, errors, variables, input, magics and displays; and plain Lua. */
#include <unistd.h>
#include "lang/buffer.h"
#include "runtime/library.h"
#include "tests/unit/session.h"

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

TEST(a_cell_does_not_assign_to_its_own_constants)
{
    start();
    CHECK_HAS(fails("local c <const> = 1\nc = 2"), ":2: attempt to assign to const variable 'c'");
    CHECK_HAS(run("c"), "r|nil");
    CHECK_HAS(fails("local c <const> = 1; function f() c = 2 end\nc"), "attempt to assign to const variable 'c'");
    CHECK_STR(run("local c <const>, d = 1, 2 d = 3\nc + d"), "r|4");
    CHECK_STR(run("c = 5\nc"), "r|5"); /* later cells may change it */
    CHECK_STR(run("local c <const> = 1 local c = 2 c = 3\nc"), "r|3");
}

TEST(readable_values)
{
    start();
    CHECK_STR(run("{1, 2, {x = 1, ['a b'] = true}}"), "r|{1, 2, {[\"a b\"] = true, x = 1}}");
    CHECK_STR(run("'a\\n\"\\0\\xff\\xc3\\xa9'"), "r|\"a\\n\\\"\\x00\\xFF\xc3\xa9\"");
    CHECK_STR(run("'a\\n\tb\\nc\\n'"), "r|[[\na\n\tb\nc\n]]"); /* text of some lines as it stands */
    CHECK_STR(run("'a\\nb\\nc\\nd]]'"), "r|[=[\na\nb\nc\nd]]]=]");
    CHECK_STR(run("'a\\nb\\nc\\n]='"), "r|[==[\na\nb\nc\n]=]==]");
    CHECK_STR(run("'a\\nb\\n\\0\\n'"), "r|\"a\\nb\\n\\x00\\n\"");
    CHECK_STR(run("{'a\\nb\\nc\\n'}"), "r|{\"a\\nb\\nc\\n\"}");
    CHECK_HAS(run("string.rep('x\\n', 100000)"), "x\n... (150000 more bytes)]]");
    CHECK_STR(run("t = {} t.me = t t"), "r|{me = <cycle>}");
    CHECK_STR(run("{{{{{{}}}}}}"), "r|{{{{{...}}}}}");
    CHECK_STR(run("{}"), "r|{}");
    CHECK_STR(run("{[3] = 'c', [1.5] = 1, z = 1, b = 2}"), "r|{[1.5] = 1, [3] = \"c\", b = 2, z = 1}");
    CHECK_STR(run("setmetatable({}, {__tostring = function() return 'me' end})"), "r|me");
    CHECK_HAS(run("local t = {} for i = 1, 1000 do t[i] = i end t"), "... (800 more)");
    run("rows = {} for i = 1, 100 do rows[i] = {} for j = 1, 100 do rows[i][j] = i * 1000 + j end end");
    CHECK_HAS(run("rows"), "... (72 more)"); /* of items of items all that comes to 20,000 bytes */
    CHECK(strlen(out) < 21000 && strstr(out, "1001, 1002,"));
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

TEST(the_last_values_by_the_numbers_of_their_cells)
{
    start();
    CHECK_STR(run("Out[1], Out[-1], Out[7], Out.x"), "r|nil\tnil\tnil\tnil");
    run("11");
    run("x = 1");
    CHECK_STR(run("Out[2], Out[-1], Out[3]"), "r|11\t11\tnil");
    CHECK_STR(run("for n, value in pairs(Out) do sum = (sum or 0) + n end sum"), "r|6"); /* cells 2 and 4 */
    run("kept = setmetatable({{}}, {__mode = 'v'}) kept[1]");
    CHECK_STR(run("kept[1] == Out[6], collectgarbage() == 0, kept[1] == Out[6]"), "r|true\ttrue\ttrue");
    CHECK_HAS(fails("Out[2]"), "Out holds the last 3 values that cells have shown, the first of them that of cell 5");
    CHECK_HAS(fails("Out[1] = 2"), "give a name to what is to be kept");
    run("%reset");
    CHECK_STR(run("Out[6], Out[-1]"), "r|nil\tnil");
}

TEST(locals_persist)
{
    start();
    run("local x, y = 1, 2");
    CHECK_STR(run("x + y"), "r|3");
    run("local x = x + 10");
    CHECK_STR(run("x"), "r|11");
    CHECK_STR(run("_G.x"), "r|nil");
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
    run("local w = 7 w = nil w = 8");
    CHECK_STR(run("w, _G.w"), "r|8\tnil");
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

/* Variables that are still to be declared neither show as nil nor lose their global; declared as nil they hide it. */
TEST(locals_among_many_of_one_cell)
{
    start();
    enum { COUNT = 20000 };
    struct lg_buffer cell = {0};
    char line[64];
    lg_buffer_puts(&cell, "seen = {} local type = nil seen[1], seen[2] = type == nil, select ~= nil local select\n");
    for (int i = 0; i < COUNT; i++) {
        snprintf(line, sizeof line, "local v%d = %d\n", i, i);
        lg_buffer_puts(&cell, line);
    }
    lg_buffer_puts(&cell, "seen[3] = select == nil type = 5 free = 7");
    lg_buffer_add(&cell, "", 1);
    run(cell.data);
    lg_buffer_release(&cell);
    CHECK_STR(run("seen[1], seen[2], seen[3], select"), "r|true\ttrue\ttrue\tnil");
    CHECK_STR(run("v0, v19999, type, _G.v0, _G.free"), "r|0\t19999\t5\tnil\t7");
    run("select = 1");
    CHECK_STR(run("_G.type(_G.select)"), "r|\"function\"");
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
    CHECK_STR(run("v"), "r|nil");
}

TEST(what_stands_behind_the_last_value)
{
    start();
    CHECK_HAS(fails("print'a' print'b'\n--[[ open"), "unfinished long comment");
    CHECK_STR(run("print'a' 5; --[[ closed ]] -- and more"), "o|a\n");
    CHECK_STR(run("print'a' 5 --[[ closed ]] -- and more"), "o|a\nr|5");
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
    CHECK_HAS(traceback(), "in function 'r' (11 times)\n  ... (");
    CHECK_HAS(traceback(), " more calls)\n  cell");
    CHECK_HAS(traceback(), "in function 'r' (12 times)\n");
    fails("local function d(n) if n == 0 then error('deep') end d(n - 1) return 1 end local function e() d(2) end e()");
    CHECK_HAS(traceback(), "in the cell\n  cell 16:1: in function 'e'\n  cell 16:1: in function 'd' (3 times)\n");
    CHECK_HAS(fails("xpcall(error, function() error('again') end) error('z')"), "z");
    CHECK_HAS(fails("string.rep('x', 1 << 40)"), "too large");
    CHECK_HAS(fails("coroutine.wrap(function() error('inner') end)()"), "inner");
    CHECK_STR(run("'alive'"), "r|\"alive\"");
    CHECK_HAS(fails("gpu.ones(2):size()"), "number value (method 'size'); an array has it as a field, x.size");
    fails("x = 1\nx:mean\n \n");
    CHECK_HAS(traceback(), ":2: function arguments expected near <eof>\n    2 | x:mean\n      |       ^");
}

TEST(an_error_in_a_finalizer_is_a_warning)
{
    start();
    CHECK_HAS(run("setmetatable({}, {__gc = function() error('late') end}) collectgarbage();"), "e|warning: ");
    CHECK_HAS(out, "late");
    CHECK_STR(run("warn('a', 'b')"), "e|warning: ab\n");
    CHECK_STR(run("warn('@off') warn('x') warn('@on')"), "");
}

TEST(errors_of_kernels_and_memory_have_names)
{
    start();
    CHECK_HAS(fails("gpu.zeros(1 << 42, 'float64', 'cpu'):sum()"), "memory");
    CHECK_STR(failure->name, "OutOfMemory");
    CHECK_HAS(fails("local ok, e = pcall(gpu.zeros, 1 << 42, 'float64', 'cpu') error('other')"), "other");
    CHECK_STR(failure->name, "LuaError");
}

TEST(what_the_compiler_warns_of_is_a_warning)
{
    struct rt_error e = {0};
    if (!rt_library_open(RT_LIB_NVRTC, &e)) SKIP("no NVRTC");
    start();
    CHECK_HAS(run("k = gpu.kernel([[\n__global__ void k(float x) {\nprintf(\"%d\", x); }]], {device = 'simt'});"),
              "e|warning: cell 1:3: #181-D: argument is incompatible");
    CHECK_STR(run("k = gpu.kernel([[\n__global__ void k(float x) { int y; }]], {device = 'simt'});"), "");
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
    /* The text that goes with forms that have none. */
    CHECK_HAS(run("display{['text/latex'] = '$x$'}"), "|$x$");
    CHECK_HAS(run("display{['text/markdown'] = '*x*', ['text/html'] = '<i>x</i>'}"), "|*x*h|<i>x</i>");
    CHECK_STR(run("own = {__display = function() return {['text/html'] = '<p>a<b>b'} end} setmetatable({}, own)"),
              "r|abh|<p>a<b>b");
    CHECK_STR(run("own.__tostring = function() return 'mine' end setmetatable({}, own)"), "r|mineh|<p>a<b>b");
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
    run("la = gpu.linalg");
    CHECK_HAS(run("%whos"), "la                   module");
    run("la = nil");
    CHECK_HAS(run("%time w + 1"), "wall time");
    CHECK_HAS(out, "r|6");
    CHECK_HAS(run("%%time\nlocal n = 0\nfor i = 1, 10 do n = n + i end\nn"), "r|55");
    CHECK_STR(run("n"), "r|55");
    CHECK_HAS(run("%timeit -n 3 -r 2 w = w + 1"), "2 runs, 3 loops each");
    /* a first call that takes long says nothing of the others */
    run("c = 0 function slow() c = c + 1 local t = os.clock() while c == 1 and os.clock() - t < 0.06 do end end");
    run("%timeit -r 1 slow()");
    CHECK_STR(run("c > 2"), "r|true"); /* or its run would be one call, however long the others take */
    CHECK_STR(run("w"), "r|12");       /* one more to warm up */
    CHECK_STR(run("!echo hello; echo bad >&2; exit 3"), "o|hello\ne|bad\ne|exit status 3\n");
    CHECK_STR(run("%%bash\nfor i in 1; do echo $i; done"), "o|1\n");
    CHECK_STR(run("%bash echo line"), "o|line\n");
    CHECK_HAS(run("%%html\n<b>bold</b>"), "h|<b>bold</b>");
    CHECK_STR(run("%%capture c\nprint('text') h = display('shown') h:update('again')\n!echo said\n7"), "");
    CHECK_STR(run("c.stdout, c.stderr, #c.shown"), "r|\"text\\nsaid\\n\"\t\"\"\t2");
    CHECK_HAS(run("c:show()"), "o|text\nsaid\n");
    CHECK_HAS(out, "|\"again\"");
    CHECK(!strstr(out, "|\"shown\""));
    CHECK_HAS(run("tostring(c)"), "captured: 10 bytes of stdout, 0 of stderr, 2 displays; its method show shows them");
    CHECK_HAS(run("%%capture d\nprint('gone') display('gone') display.clear() print('kept')"), "");
    CHECK_HAS(run("tostring(d)"), "captured: 5 bytes of stdout, 0 of stderr, 0 displays");
    CHECK_HAS(fails("%%capture\nprint('kept') error('passes')"), "passes");
    CHECK_STR(run("print('heard')"), "o|heard\n");
    CHECK_HAS(fails("%%capture 1x\nprint()"), "the name of a variable");
    run("c = nil");
    CHECK_HAS(run("?gpu.zeros"), "p|gpu.zeros(");
    CHECK_HAS(run("w?"), "p|number");
    CHECK_HAS(run("?broadcasting"), "different shapes");
    CHECK_HAS(run("%lsmagic"), "%timeit [-n N]");
    CHECK_HAS(out, "\n%history [cells] or %history -g text\n                                   Shows the cells");
    run("weights = gpu.zeros(1000, 1000, 'cpu')");
    CHECK_HAS(run("local hidden = gpu.zeros(10, 'cpu')\ngpu.memory('cpu').arrays[1]"), "name = \"weights\"");
    CHECK_HAS(run("gpu.memory().devices.cpu.arrays[2]"), "name = \"hidden\"");
    CHECK_HAS(run("print(gpu.memory('cpu'))"), "o|cpu\n  in_use = ");
    CHECK_HAS(fails("('x'):rep(gpu.memory())"), "got table");
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
    CHECK_HAS(run("?linear memory"), "nothing is called 'linear memory'; it occurs in");
    CHECK_HAS(run("?linear memory"), "\ngpu.texture ");
    CHECK_HAS(fails("?nosuch qwertz"), "nothing is known of 'nosuch qwertz'");
    CHECK_HAS(fails("%time"), "%time needs code");
    CHECK_HAS(fails("%timeit -n 3"), "%timeit needs code");
    CHECK_HAS(fails("%hist"), "did you mean %history?");
    CHECK_HAS(fails("%ls"), "it is written !ls");
    CHECK_HAS(fails("%%file a.txt\nx"), "it is written %%writefile");
    CHECK_HAS(fails("\n \n %%time\nerror('here')"), ":4: here");
    fails("x = 1\n%%time\nx = 2");
    CHECK_HAS(traceback(), "hint: a magic with two % begins its cell");
    CHECK_HAS(fails("%%nvcc\nint main() {}"), "it is written %%cuda");
    CHECK_HAS(fails("%matplotlib inline"), "gpu.plot");
    CHECK_HAS(fails("%foo"), "%lsmagic lists them");
    CHECK_HAS(run("?gpu.linalg"), "functions of gpu.linalg:\ngpu.linalg.cholesky  ");
    CHECK_HAS(run("?np.arange"), "p|arange is written gpu.range(0, n - 1), with both ends\ngpu.range  ");
    CHECK_HAS(run("?vstack"), "gpu.concatenate  ");
    CHECK_HAS(run("?vstack"), "gpu.sparse.vstack  ");
    CHECK_HAS(run("?atomicAdd"),
              "p|atomicAdd is a function of CUDA C: T atomicAdd(T *address, T value): adds in one step");
    CHECK_HAS(run("?__shared__"), "p|__shared__ is a word of CUDA C: memory of a block");
    CHECK_HAS(run("?cudaMalloc"), "gpu.zeros(n)");
    CHECK_HAS(run("?while"), "?lua");
    CHECK_HAS(run("?lua"), "repeat ... until");
    CHECK_HAS(run("?standard deviation"), "array.std  ");
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
    snprintf(code, sizeof code, "%%%%writefile %s/a b.lua\nspaced = arg[1]\n", folder);
    run(code);
    snprintf(code, sizeof code, "%%run '%s/a b.lua' \"one \\\"two\"\nspaced", folder);
    CHECK_STR(run(code), "r|\"one \\\"two\"");
    snprintf(code, sizeof code, "%%run %s/a\\ b.lua x\nspaced", folder);
    CHECK_STR(run(code), "r|\"x\"");
    struct lg_completion c;
    snprintf(code, sizeof code, "%%run %s/a\\ b", folder);
    lg_session_complete(session, code, strlen(code), strlen(code), &c);
    CHECK_INT(c.count, 1);
    CHECK_STR(c.matches[0].text, "a\\ b.lua");
    CHECK_INT(c.start, strlen(code) - strlen("a\\ b"));
    snprintf(code, sizeof code, "!cat %s/a", folder);
    lg_session_complete(session, code, strlen(code), strlen(code), &c);
    CHECK_INT(c.count, 2);
    CHECK_STR(c.matches[1].text, "a\\ b.lua");
    snprintf(code, sizeof code, "%s/a b.lua", folder);
    CHECK_INT(unlink(code), 0);
    snprintf(code, sizeof code, "%%load %s/a.lua", folder);
    CHECK_STR(run(code), "p|from_file = arg[1]\nprint('ran')\n");
    snprintf(code, sizeof code, "%s/a.lua", folder);
    CHECK_INT(unlink(code), 0);
    snprintf(code, sizeof code, "%%load %s/a.lua", folder);
    CHECK_HAS(fails(code), "cannot read");
    snprintf(code, sizeof code, "%%load %s", folder);
    CHECK_HAS(fails(code), "Is a directory");
    CHECK_INT(rmdir(folder), 0);
}

TEST(the_folder_and_the_environment_by_magics)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", before[4096], after[4096], code[4200];
    CHECK(mkdtemp(folder) && getcwd(before, sizeof before));
    start();
    CHECK_HAS(fails("%cd -"), "no %cd before");
    snprintf(code, sizeof code, "%%cd %s", folder);
    CHECK_HAS(run(code), folder);
    CHECK_HAS(run("%pwd"), folder);
    run("%%writefile file\n\n");
    run("!mkdir 'a folder' below");
    CHECK_STR(complete("%cd ", NULL), "a\\ folder/ below/");
    CHECK_HAS(run("%cd 'a folder'"), "/a folder\n");
    CHECK_HAS(run("!pwd"), "/a folder\n");
    CHECK_HAS(run("%cd ../a folder/"), "/a folder\n");
    CHECK_HAS(run("%cd -"), "/a folder\n");
    run("%env HOME = ..");
    CHECK_HAS(run("%cd ~/below"), "/below\n");
    CHECK_STR(run("%cd"), snprintf(code, sizeof code, "o|%s\n", folder) > 0 ? code : "");
    CHECK_HAS(fails("%cd file"), "cannot go to file: Not a directory");
    CHECK_STR(run("%env MY_WORDS one 'two'=2"), "o|env: MY_WORDS=one 'two'=2\n");
    CHECK_STR(run("%env MY_WORDS"), "r|\"one 'two'=2\"");
    CHECK_STR(run("os.getenv 'MY_WORDS'"), "r|\"one 'two'=2\"");
    CHECK_STR(run("!echo $MY_WORDS"), "o|one 'two'=2\n");
    run("%env MY_TOKEN=abc");
    CHECK_HAS(run("%env"), "MY_TOKEN=<hidden>\nMY_WORDS=one 'two'=2\n");
    CHECK_STR(complete("%env MY_W", NULL), "MY_WORDS");
    CHECK_HAS(fails("%env NO_SUCH"), "the environment has no NO_SUCH");
    CHECK_HAS(fails("%env = 1"), "a name before the =");
    run("!rm -r file below 'a folder'");
    lg_session_free(session); /* paths of the command line go on counting from where it began */
    CHECK_STR(getcwd(after, sizeof after), before);
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
    CHECK(failure->plain); /* as Lua itself has it */
    CHECK_HAS(failure->value, "script.lua:1: bad\nstack traceback:\n");
    CHECK_HAS(failure->value, "in main chunk");
    CHECK_INT(failure->line, 1);
    CHECK_STR(out, "");
    lg_session_free(session);
}
