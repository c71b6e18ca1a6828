/* What other languages' habits lead to in a session: the message, and the hint below it. */
#include "tests/unit/session.h"

static const struct {
    const char *cell, *message, *hint;
} table[] = {
    /* operators */
    {"if x != 2 then end", "'then' expected near '!'", "written ~="},
    {"y = 1 <> 2", "near '>'", "written ~="},
    {"if !x then end", "near '!'", "not x"},
    {"if a && b then end", "near '&'", "a and b"},
    {"if a || b then end", "near '|'", "a or b"},
    {"x += 1", "near '+'", "x = x + 1"},
    {"x *= 2", "near '*'", "x = x + 1"},
    {"s ..= 'a'", "near '..'", "x = x + 1"},
    {"i++", "near '+'", "i = i + 1"},
    {"y = 2 ** 3", "near '*'", "x ^ y"},
    {"y = c ? 1 : 2", "near '?'", "c and x or y"},
    {"return 1 if c else 2", "near 'if'", "c and x or y"},
    {"y = a if c else 2", "near 'else'", "c and x or y"},
    {"y := 2", "near '='", "set by ="},
    {"y = z = 2", "near '='", "x, y = 1, 1"},
    {"y = a @ b", "near '@'", "A:matmul(B)"},
    {"%%time\ny = a @ b", "near '@'", "A:matmul(B)"},
    {"%timeit x != 3", "near '!'", "written ~="},
    {"%%capture c\nimport os", "near 'os'", "nothing to import"},
    {"files = !ls", "near '!'", "io.popen"},
    {"x is nil", "near 'is'", "written =="},
    /* characters that come with code from documents and pages */
    {"print(\u201chi\u201d)", "near '<\\226>'", "\u201c is written \""},
    {"print(\u2018hi\u2019)", "near '<\\226>'", "\u2018 is written '"},
    {"s = '\u00d7' y = 3 \u00d7 4", "near '<\\195>'", "\u00d7 is written *"},
    {"y = 3 \u2212 4", "near '<\\226>'", "\u2212 is written -"},
    {"if 1 \u2264 2 then end", "near '<\\226>'", "\u2264 is written <="},
    {"if 1 \u2260 2 then end", "near '<\\226>'", "\u2260 is written ~="},
    {"print\uff081\uff09", "near '<\\239>'", "\uff08 is written ("},
    {"y\u00a0= 1", "near '<\\194>'", "what looks like a space is U+00A0: type it again"},
    {"y =\u200b 1", "near '<\\226>'", "nobody sees, U+200B, stands here: delete it"},
    {"y = 1\x1b[4~", "near '<\\27>'", "nobody sees, U+001B, stands here: delete it"},
    {"local gr\u00f6\u00dfe = 1", "near '<\\195>'", "\u00f6 may stand in strings"},
    {"y = gr\xf6\xdf", "near '<\\246>'", "the byte 0xf6 is no text in UTF-8"},
    {"%time y = 3 \u00d7 4", "near '<\\195>'", "\u00d7 is written *"},
    {"function f(t)\nt[1] == 2\nend", "syntax error near '=='", "gets one by ="},
    {"t = {1} print(t[2].x)", "field 'integer index'", "no element has this index"},
    /* what is an expression to its user, though no statement begins so */
    {"c - a @ b", "near '@'", "A:matmul(B)"},
    {"c = 1\n(c - 2) @ c\nd = 3", "near '@'", "A:matmul(B)"},
    {"2 * x[1:3]", "']' expected near ':'", "x[\"1:3\"]"},
    {"2 * x[1, 2]", "']' expected near ','", "x[{1, 2}]"},
    {"c + 2 ** 3", "near '*'", "x ^ y"},
    {"c + x != 3", "near '!'", "written ~="},
    {"gpu.ones(2) + (3, 4)", "')' expected near ','", "no tuple"},
    {"if x = 1 then end", "'then' expected near '='", "written =="},
    /* brackets */
    {"print(1))", "near ')'", "this bracket ends nothing"},
    {"y = (1 + 2\n  + 3))", "near ')'", "this bracket ends nothing"},
    {"y = {1, 2}]", "near ']'", "this bracket ends nothing"},
    {"for i = 1, 3 do print(i) end}", "near '}'", "this bracket ends nothing"},
    {"print(1, 2, )", "near ')'", "an argument is missing"},
    {"gpu.zeros[3]", "index a function value", "f(3)"},
    /* indices, lists, tuples */
    {"y = x[1:3]", "']' expected near ':'", "x[\"1:3\"]"},
    {"y = x[:, 1]", "near ':'", "x[\"1:3\"]"},
    {"y = x[::2]", "near '::'", "x[\"1:3\"]"},
    {"y = x[1::2]", "']' expected near '::'", "x[\"1:3\"]"},
    {"y = x[{1, ::2}]", "near '::'", "x[\"1:3\"]"},
    {"y = x[1, 2]", "']' expected near ','", "x[{1, 2}]"},
    {"y = x[1, :]", "']' expected near ','", "x[{1, {}}]"},
    {"y = x[1, 2:3]", "']' expected near ','", "x[\"1:3, 2\"]"},
    {"k[1, 32](x)", "']' expected near ','", "k(grid, block)(x)"},
    {"y = [1, 2]", "near '['", "gpu.array{1, 2, 3}"},
    {"y = gpu.array[1, 2]", "']' expected near ','", "gpu.array{1, 2, 3}"},
    {"local a[3]", "near '['", "one name"},
    {"gpu.ones((3, 4))", "')' expected near ','", "no tuple"},
    {"gpu.ones(3, dtype='int32')", "')' expected near '='", "{dtype = "},
    {"y = {'a': 1}", "'}' expected near ':'", "{a = 1}"},
    {"y = {a: 1}", "<name> expected near '1'", "{a = 1}"},
    {"gpu.concatenate((x, y))", "')' expected near ','", "a list {x, y}"},
    {"x:sum(axis=0)", "')' expected near '='", "x:sum{axis = 1"},
    {"x:sort(descending=true)", "')' expected near '='", "x:sort{descending = true}"},
    {"y = x:repeat(2)", "near 'repeat'", "x:tile(n)"},
    {"y = gpu.repeat(x, 2)", "near 'repeat'", "x:tile(n)"},
    {"y = x:and(z)", "near 'and'", "a & b"},
    {"y = x.end", "near 'end'", "x[-1]"},
    {"'abc'.upper()", "unexpected symbol", "in parentheses"},
    {"y = 3.0f", "malformed number", "no suffix"},
    {"y = 'abc", "unfinished string", "[[ ... ]]"},
    /* blocks */
    {"for i in range(10):", "<name> expected near <eof>", "for i = 0, 9 do"},
    {"for i in range(3):\n  print(i)\n", "'do' expected near <eof>", "for i = 0, 9 do"},
    {"for i in range(3):\n  print(i)\ny = 3", "'do' expected near 'y'", "for i = 0, 9 do"},
    {"while n > x:", "<name> expected near <eof>", "while x < 3 do"},
    {"if n > x:", "<name> expected near <eof>", "if x > 1 then"},
    {"for i in range(10): print(i)", "'do' expected near <eof>", "for i = 0, 9 do"},
    {"for (int i = 0; i < 3; i++) { }", "<name> expected near '('", "for i = 0, 9 do"},
    {"for i = 1 to 3 do end", "',' expected near 'to'", "for i = 0, 9 do"},
    {"while (x) { y = 1 }", "'do' expected near <eof>", "while x < 3 do"},
    {"if (x) { y = 1 }", "'then' expected near <eof>", "if x > 1 then"},
    {"if x then y = 1 else if z then y = 2 end", "'end' expected", "elseif is one word"},
    {"if x then y = 1 elif z then y = 2 end", "near 'z'", "elseif"},
    {"if x then y = 1", "'end' expected", "has an end"},
    {"y = 1 end", "near 'end'", "one end more"},
    {"function f(x) { return x }", "near '{'", "braces make tables"},
    {"function f(x): return x", "near ':'", "ends with end"},
    {"function f(x) return x y = 1 end", "'end' expected near 'y'", "last statement"},
    {"def f(x): return x", "near 'f'", "function f(x)"},
    {"f = lambda x: x + 1", "near '+'", "function(x) return"},
    {"f = x -> x + 1", "near '>'", "function(x) return"},
    {"try: x", "near <eof>", "pcall"},
    {"x:mean", "arguments expected", "x:sum()"},
    {"print(x:shape)", "arguments expected", "x.shape"},
    {"y = x in t", "near 'in'", "t[k] ~= nil"},
    {"y = x not in t", "near 'not'", "t[k] ~= nil"},
    {"if k in t then end", "'then' expected near 'in'", "t[k] ~= nil"},
    {"if 'k' in t then end", "'then' expected near 'in'", "t[k] ~= nil"},
    {"if k not in t then end", "'then' expected near 'not'", "t[k] ~= nil"},
    {"for i = 1, 3 do if i in t then end end", "'then' expected near 'in'", "t[k] ~= nil"},
    {"while k in t do end", "'do' expected near 'in'", "t[k] ~= nil"},
    {"while k not in t do end", "'do' expected near 'not'", "t[k] ~= nil"},
    {"print(k in t)", "')' expected near 'in'", "t[k] ~= nil"},
    {"function f(k) return k in t end", "'end' expected near 'in'", "t[k] ~= nil"},
    {"for k, v in do end", "near 'do'", "ipairs(t)"},
    {"for k, in pairs({}) do end", "near 'in'", "ipairs(t)"},
    {"for i = 1, 3 in t do end", "near 'in'", "ipairs(t)"},
    {"local in = 3", "near 'in'", "a word of Lua's"},
    {"with gpu.stream() as s:", "near 'gpu'", "s:with(function()"},
    {"y = {1 2}", "'}' expected near '2'", "commas"},
    {"/* what */", "near '/'", "begins with --"},
    {"try: f()", "global 'try'", "pcall"},
    {"class A: pass", "near 'A'", "setmetatable"},
    /* statements and comments */
    {"int n = 3;", "near 'n'", "local n = 3"},
    {"const n = 3", "near 'n'", "local n = 3"},
    {"import numpy as np", "near 'numpy'", "nothing to import"},
    {"print 3", "near '3'", "print(x)"},
    {"del x", "near 'x'", "x = nil"},
    {"// what", "near '//'", "begins with --"},
    {"n = 1 // what", "global 'what'", "begins with --"},
    {"# what", "global 'what'", "begins with --"},
    {"n = 1 # what", "near '#'", "begins with --"},
    {"#include <stdio.h>", "near '#'", "gpu.kernel [["},
    {"__global__ void f() { }", "near 'void'", "gpu.kernel [["},
    {"k<<<1, 32>>>(x)", "near '<<'", "k(grid, block)(x)"},
    {"dim3 grid(2, 2)", "near 'grid'", "k({gx, gy}"},
    {"k(dim3(2, 2), dim3(8, 8))(x)", "global 'dim3'", "k({gx, gy}"},
    {"float *x;", "global 'float'", "it has no type"},
    {"#include <stdio.h>\nprintf('x')", "global 'include'", "gpu.kernel [["},
    {"ncu(k)", "global 'ncu'", "gpu.profile(k"},
    {"cudaGetLastError()", "global 'cudaGetLastError'", "pcall"},
    {"cudaMemPrefetchAsync(x, 40, 0)", "global 'cudaMemPrefetchAsync'", "nothing to prefetch"},
    {"@cuda.jit", "near '@'", "no decorators"},
    /* names */
    {"len('abc')", "global 'len'", "#x"},
    {"plt.plot({1, 2})", "global 'plt'", "gpu.plot(x, y)"},
    {"time.sleep(1)", "global 'time'", "os.execute(\"sleep 1\")"},
    {"random.random()", "global 'random'", "gpu.random.uniform"},
    {"clear_output()", "global 'clear_output'", "display.clear()"},
    {"display(Math('x^2'))", "global 'Math'", "display.markdown"},
    {"display.latex('x^2')", "field 'latex'", "display.markdown"},
    {"display(HTML('<b>b</b>'))", "global 'HTML'", "display.html"},
    {"y = 'x = ' + gpu.ones(1)", "got string", "joined by .."},
    {"y = gpu.ones(1) + 'x'", "got string", "joined by .."},
    {"y = gpu.ones(1) * qwertz", "got nil", "qwertz has no value"},
    {"local total = 1\ny = totl + gpu.ones(1)", "got nil", "did you mean 'total'?"},
    {"for i in range(3) do end", "global 'range'", "for i = 0, 9 do"},
    {"np.zeros(3)", "global 'np'", "gpu.zeros(3)"},
    {"printf('%d', 3)", "global 'printf'", "string.format"},
    {"print(f'n = {n}')", "global 'f'", "string.format"},
    {"y = null + 1", "global 'null'", "nil"},
    {"cudaDeviceSynchronize()", "global 'cudaDeviceSynchronize'", "gpu.synchronize()"},
    {"sqrt(2)", "global 'sqrt'", "math.sqrt(x), or of arrays gpu.sqrt(x)"},
    {"open('f')", "global 'open'", "io.open"},
    {"zeros(3)", "global 'zeros'", "gpu.zeros"},
    {"prnt(3)", "global 'prnt'", "did you mean 'print'?"},
    {"string.fromat('a')", "field 'fromat'", "did you mean 'format'?"},
    {"local total = 1 totl.x = 1", "global 'totl'", "did you mean 'total'?"},
    {"local lists = 3 print(list.x)", "global 'list'", "did you mean 'lists'?"},
    {"list('abc')", "global 'list'", "a list is a table"},
    {"threadIdx.x = 1", "global 'threadIdx'", "in CUDA C only"},
    {"whos()", "global 'whos'", "%whos"},
    {"y = nvidia - smi", "global 'nvidia'", "!nvidia-smi"},
    {"local t = {1, 2} t:sum()", "method 'sum'", "gpu.array(t):sum()"},
    {"local numbers = {1, 2} numbers:sum()", "method 'sum'", "gpu.array(numbers):sum()"},
    {"local t = {double = 1} t:doubel()", "method 'doubel'", "did you mean 'double'?"},
    {"local t = setmetatable({n = 1}, {__index = {add = print}}) t:addd()", "method 'addd'", "did you mean 'add'?"},
    {"local t = setmetatable({1, 2}, {__index = {sums = print}}) t:sum()", "method 'sum'", "did you mean 'sums'?"},
    {"cout << gpu.ones(2)", "'shl'", "print(x)"},
    /* values */
    {"local y = gpu.ones(2) y:sum().item()", "index a number", "a number already"},
    {"local y = gpu.ones(2) y:sum():item()", "index a number", "a number already"},
    {"math.sin(gpu.ones(2))", "number expected, got array", "gpu.sin(x)"},
    {"string.format('%d', 2.5)", "no integer representation", "%g"},
    {"print('n = ' + 3)", "attempt to add", "joined by .."},
    {"print('%d' % 3)", "attempt to mod", "string.format"},
    {"local t = {1} y = t[0] + 1", "on a nil value", "t[1]"},
    {"for i, v in {1, 2} do end", "call a table value", "ipairs(t)"},
    {"for i in 3 do end", "call a number value", "for i = 0, 9 do"},
    {"local a = gpu.ones(3) a.sum()", "bad argument #1 to 'sum'", "a colon, x:sum(...)"},
    {"local s = 'a' s.upper()", "bad argument #1 to 'upper'", "a colon, x:upper(...)"},
    {"gpu:zeros(3)", "", "called with a dot"},
    {"gpu:linspace(0, 1, 5)", "bad self", "called with a dot"},
    {"gpu.random:normal(0, 1, {3})", "", "called with a dot"},
    {"gpu.zeros 3", "near '3'", "a call has parentheses"},
    {"if x: pass end", "near 'end'", "if x > 1 then"},
    {"quit()", "global 'quit'", "os.exit()"},
    {"try:\n  y = 1\nexcept: y = 2", "", "pcall"},
    {"try { y = 1 } catch { }", "", "pcall"},
    {"cudaMalloc(&x, 40)", "near '&'", "x = gpu.zeros(n)"},
    {"cudaMalloc((void **)&x, 40)", "near '*'", "x = gpu.zeros(n)"},
    {"try { int y = f(x); } catch (e) { }", "'}' expected", "pcall"},
    {"local x\ntry:\n  local y = 1\nexcept: y = 2", "<name> expected", "pcall"},
    {"local function run(k) k(1, 32)(3):sum() end run(function() return function() end end)", "index a nil value",
     "a launch gives nothing"},
    {"local t = {k = function() return function() end end} t.k(1, (3))(3):sum()", "index a nil value",
     "a launch gives nothing"},
    {"if n === 4 then end", "near '='", "written =="},
    {"while n > 0\n  n = n - 1\nend", "'do' expected near 'n'", "while x < 3 do"},
    {"while n do end for i = 1, 3\n  print(i)\nend", "'do' expected near 'print'", "for i = 0, 9 do"},
    {"local function f(a) return a", "'end' expected near <eof>", "has an end"},
    {"function f(a, b = 3) end", "')' expected near '='", "b = b or 3"},
    {"f = function(a, b = 3) end", "')' expected near '='", "b = b or 3"},
    {"print(1, sep = '')", "')' expected near '='", "io.write"},
    {"print(1, end = '')", "near 'end'", "io.write"},
    {"y = [2 * i for i in t]", "near '['", "filled by a loop"},
    {"y = {2 * i for i in t}", "'}' expected near 'for'", "filled by a loop"},
    {"for i = 1, 3 do if i > 1 then continue end end", "near 'end'", "goto continue"},
    {"y = 'abc'[1]", "near '['", ":sub(1, 1)"},
    {"y = ','.join(t)", "near '.'", "table.concat"},
    {"y = 'n = {}'.format(3)", "near '.'", "string.format"},
    {"fn f(x) { }", "near 'f'", "function f(x)"},
    {"print(1)\n{1, 2}", "call a nil value", "a ; in front of it"},
    {"y = (2)\n(print)(3)", "call a number value", "a ; in front of it"},
    {"local y = gpu.ones(3) print(y[qwertz])", "not by nil", "qwertz has no value"},
    {"gpu.linspace(0, qwertz)", "got nil", "qwertz has no value"},
    {"for k, v in pairs(qwertz) do end", "got nil", "qwertz has no value"},
    {"if qwertz > 3 then end", "compare number with nil", "qwertz has no value"},
    {"function f(*args) end", "near '*'", "{...}"},
    {"repeat until x = 3", "near '='", "written =="},
    {"function f(a, b) a + b end", "near '+'", "behind return"},
    {"f = function(a) a * 2 end", "near '*'", "behind return"},
    {"y = x .* 2", "near '*'", "element by element"},
    {"y = A \\ b", "near '\\'", "gpu.linalg.solve"},
    {"y = \"\"\"text\"\"\"", "near", "[[ ... ]]"},
    {"y = \"\\d\"", "invalid escape", "written twice"},
    {"y = 'it's'", "unfinished string", "\\'"},
    {"y = 1 + 'a'", "attempt to add", "joined by .."},
    {"io.read('x.txt')", "invalid format", "io.open(name)"},
    {"os.getcwd()", "field 'getcwd'", "%pwd"},
    {"json.dumps({})", "global 'json'", "gpu.save"},
    {"local t = {1} t:map(print)", "method 'map'", "ipairs(t)"},
    {"local y = gpu.ones(3) y = gpu.max(y, y)", "and not array", "gpu.maximum(x, y)"},
    {"local y = gpu.ones(3) y = y:min(y)", "and not array", "gpu.minimum(x, y)"},
    {"gpu.max(1, 2)", "got number", "math.max(1, 2)"},
    {"1> x = 3", "near '1'", "behind the prompt"},
    {"> x = 3", "near '>'", "behind the prompt"},
    {">> x = 3", "near '>>'", "behind the prompt"},
    {">>> x = 3", "near '>>'", "behind the prompt"},
    {"In [12]: x * 2", "near '*'", "behind the prompt"},
    {"x = 1\nOut[3]: 4", "near '4'", "behind the prompt"},
    {"using namespace std", "near 'namespace'", "nothing to import"},
    {"y = 'ab' * 3", "attempt to mul", "rep(3)"},
    {"y = ~true", "on a boolean value", "not x"},
    {"y = 'b = ' .. true", "concatenate a boolean", "tostring(x)"},
    {"local t = {1} y = 't = ' .. t", "concatenate a table", "table.concat"},
    {"local t = {1} y = t + 1", "arithmetic on a table", "gpu.array(t)"},
    {"y = string.format('%f', gpu.ones(3))", "number expected, got array", "%s"},
    {"require 'numpy'", "module 'numpy' not found", "?numpy"},
    {"io.open('/no such file'):read()", "index a nil value", "assert(io.open(name))"},
    {"load('x +')()", "call a nil value", "assert(load(text))"},
    {"y = tonumber('abc') + 1", "arithmetic on a nil value", "no number"},
    {"assert(gpu.allclose(gpu.ones(3), gpu.range(3)))", "assertion failed!", "(x - y):abs():max()"},
    {"local y = gpu.ones(3) print(y[y == 1])", "not by boolean", "x:eq(y)"},
    {"gpu.hstack{gpu.ones(2), gpu.ones(2)}", "it is written gpu.concatenate({x, y}, 2)", ""},
    {"gpu.kernel(('a'):gsub('a', 'b'))", "table expected, got number", "(s:gsub(a, b))"},
    {"gpu.ones(5, 5):conv2d(gpu.ones(1, 1, 3, 3))", "(N, C, H, W) or (C, H, W)", "newaxis"},
    {"local y = gpu.ones(3) print(y[1][2])", "index a number value", "x[{1, 2}]"},
    {"local y, i = gpu.ones(2, 3), 1 print(y[i][i][i])", "index a number value", "x[{1, 2}]"},
    {"k((4,), (16,), (y, 2))", "')' expected near ','", "k({gx, gy}, {bx, by})"},
    {"k((4, 4), (16, 16), (y, 2))", "')' expected near ','", "k({gx, gy}, {bx, by})"},
    {"k = gpu.kernel [[\nvoid k() { }", "unfinished long string", "ended by ]]"},
    {"k = gpu.kernel ```\nvoid k() { }\n```", "near '`'", "[[ ... ]]"},
    {"local m = gpu.ones(3, 4) return m * m.T", "do not broadcast", "A:matmul(B)"},
    {"local m = gpu.ones(3, 4) return m - m:mean(2)", "do not broadcast", "v:unsqueeze(2)"},
    {"local m = gpu.ones(3, 4) return m:mean(2) / m", "do not broadcast", "v:unsqueeze(2)"},
    {"local v = gpu.ones(3)\nfloat *v;", "'mul'", "it has no type"},
    {"gpu.imshow('x.png')", "got string", "gpu.imshow(gpu.load(\"x.png\"))"},
    {"gpu.imshow(gpu.ones(3, 3), 'gray')", "got string", "{cmap = \"gray\"}"},
    {"gpu.fuse(print)", "it is written f(x, y) itself", ""},
    {"gpu.sparse.random(3, 3, 0.1)", "it is written (gpu.rand(m, n) *", ""},
    {"gpu.random.random(3)", "it is written gpu.rand", ""},
    {"gpu.spatial.distance.cdist(v, v)", "gpu.cdist(x, y)", ""},
    {"gpu.grid(1)", "it is written blockIdx.x * blockDim.x + threadIdx.x", ""},
    /* methods of strings and tables */
    {"local t = {1} t:append(2)", "method 'append'", "t[#t + 1] = x"},
    {"local t = {} t:insert(2)", "method 'insert'", "table.insert(t, ...)"},
    {"local t = {1} t.push(2)", "field 'push'", "t[#t + 1] = x"},
    {"local t = {1} t:len()", "method 'len'", "#t"},
    {"local t = {1} for k, v in t.items() do end", "field 'items'", "pairs(t)"},
    {"local s = 'a b' s:split(' ')", "method 'split'", "gmatch"},
    {"local s = 'a b' s.strip()", "field 'strip'", "s:match"},
    {"math.round(2.5)", "field 'round'", "math.floor(x + 0.5)"},
    {"local t = {1} t.sum()", "field 'sum'", "gpu.array(t):sum()"},
    {"table.getn({1})", "field 'getn'", "its length is #t"},
    {"string.split('a b')", "field 'split'", "gmatch"},
    {"math.clamp(3, 1, 2)", "field 'clamp'", "math.max(low, math.min(x, high))"},
    {"globals()", "global 'globals'", "%whos"},
    /* shapes, which are one value */
    {"local x = gpu.ones(2, 3) local h, w = x.shape return h * w", "on a shape value", "a, b = table.unpack(x.shape)"},
    {"local function f(x) local h, w = x.shape\nreturn 2 * w end f(gpu.ones(2, 3))", "(local 'w')",
     "table.unpack(x.shape)"},
    {"x = gpu.ones(2, 3) h, w = x.shape; y = h[1] .. w", "(global 'w')", "table.unpack(x.shape)"},
    {"return w:sum()", "(global 'w')", "table.unpack(x.shape)"}, /* by an earlier cell */
    {"for i = 1, gpu.ones(2).shape do end", "got shape", "x.shape[1]"},
    {"x.shape:unpack()", "method 'unpack'", "table.unpack(t)"},
    /* an index that ends the string */
    {"k = gpu.kernel [[\n__global__ void k(int *x, int *y) {\n  atomicAdd(&x[y[0]], 1);\n}]]", "near ')'",
     "[=[ ... ]=]"},
    {"k = gpu.kernel [[\n__global__ void k(int *x, int *y) {\n  x[y[0]] += 1;\n}]]", "near '='", "[=[ ... ]=]"},
    {"k = gpu.kernel [[\n__global__ void k(int *x, int *y) {\n  x[0] = y[x[0]];\n}\n]]", "near '}'", "[=[ ... ]=]"},
    {"k = gpu.kernel([[\n__global__ void k(int *x, int *y) {\n  if (x[y[0]] == 3) y[0] = 1;\n}\n]])", "near '}'",
     "[=[ ... ]=]"},
};

/* The line of the hint; empty without one. */
static const char *hint_of(void)
{
    for (size_t i = 0; i < failure->traceback_count; i++)
        if (strncmp(failure->traceback[i], "  hint: ", 8) == 0) return failure->traceback[i];
    return "";
}

TEST(habits_of_other_languages)
{
    start();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *message = fails(table[i].cell);
        if (!strstr(message, table[i].message)) FAIL("%s: %s", table[i].cell, message);
        if (!strstr(hint_of(), table[i].hint))
            FAIL("%s: the hint is '%s', expected '%s'", table[i].cell, hint_of(), table[i].hint);
    }
}

TEST(no_hint_where_nothing_is_known)
{
    static const char *const cells[] = {"error('if x != 2')",
                                        "local t = {} t.x.y = 1",
                                        "local t = {1} print(t[1].x.y)",
                                        "gpu.ones(2) + gpu.ones(3)",
                                        "gpu.ones(3, 4) + gpu.ones(4, 3)",
                                        "gpu.ones(3, 4) * gpu.ones(2, 3)",
                                        "gpu.ones(3, 4) * gpu.ones(5)",
                                        "gpu.matmul(gpu.ones(3, 4), gpu.ones(3))",
                                        "x = = 1",
                                        "math.sin()",
                                        "gpu.sum()",
                                        "qwertz()",
                                        "f(1, 2",
                                        "k = [[ f() { } ]] = 1",
                                        "k = [=[ f() { ]=] = 1",
                                        "y = 1 +",
                                        "x = in",
                                        "y = math.pi z = string.rep('a', gpu.ones(1))",
                                        "local t = setmetatable({n = 1}, {__index = {add = print}}) t:sum()",
                                        "local t = setmetatable({1, 2}, {__index = print}) t:sum()",
                                        "local function f(a) return gpu.ones(1) * a end f()",
                                        "local q\nlocal y = gpu.ones(1) - q",
                                        "local t = {} y = gpu.ones(3) * t.scale * gpu.ones(3, 3):sum{axis = 1}",
                                        "local try = print\ntry { 1 }\ny = = 3",
                                        "local try = {run = print}\ntry:run()\ny = = 3",
                                        "function make() return function() end end y = make(1)(2).value",
                                        "do local function of() return print end y = of(1)((2)).value end",
                                        "y = true & 1",
                                        "function f(a, b) return gpu.sqrt(nil) end f()",
                                        "local t = {n = 1} t:sum()"};
    start();
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        fails(cells[i]);
        if (*hint_of()) FAIL("%s: %s", cells[i], hint_of());
    }
}

TEST(a_name_without_a_value_is_told_of)
{
    start();
    CHECK_STR(run("nothing"), "r|nil");
    CHECK_STR(run("string.nothing -- of it"), "r|nil");
    CHECK_STR(run("help"), "r|nil\n  hint: ?gpu.ones shows help; gpu.help() lists what there is");
    run("x = gpu.ones(2, 3) h, w = x.shape");
    CHECK_HAS(run("w"), "r|nil\n  hint: x.shape is one value");
    CHECK_HAS(run("None"), "r|nil\n  hint: it is written nil");
    CHECK_HAS(run("quit"), "os.exit()");
    CHECK_HAS(run("prnt"), "did you mean 'print'?");
    CHECK_STR(run("local total = 1"), "");
    CHECK_HAS(run("totl"), "did you mean 'total'?");
    CHECK_STR(run("total"), "r|1");
    static const char *const silent[] = {
        "nil", "return nil", "(nothing)", "nothing;", "local function f() return nil end f()", "nothing = nil"};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (*run(silent[i])) FAIL("%s", silent[i]);
    CHECK_STR(run("_"), "r|1"); /* such a cell has no result */
}

TEST(a_cell_that_did_not_come_to_set_a_variable_is_named)
{
    static const char names[] = "but ended before that, or gave it nil";
    start();
    run("before = 1");
    fails("local early = 1 error('no') late = 2\nlocal function last() within = 1 end");
    CHECK_STR(run("early"), "r|1");
    CHECK_HAS(run("late"), "r|nil\n  hint: cell 2 sets late, but ended before that, or gave it nil");
    fails("late + 1");
    CHECK_HAS(hint_of(), "cell 2 sets late");
    fails("last()");
    CHECK_HAS(hint_of(), "cell 2 sets last");
    fails("gpu.sqrt(late)");
    CHECK_HAS(hint_of(), "late has no value: cell 2 sets late");
    fails("shape = gpu.zeros((3, 4))"); /* not even compiled */
    fails("shape[1] = 2");
    CHECK_HAS(hint_of(), "cell 8 sets shape");
    fails("one, two = error('no')");
    fails("two()");
    CHECK_HAS(hint_of(), "cell 10 sets two");
    fails("\n%%cuda\n#if 1\n__device__ int helper(int i) { return i; }\n__global__ void kernel() { none(); }\n");
    fails("kernel(1, 1)()");
    CHECK_HAS(hint_of(), "cell 12 sets kernel");
    fails("helper(1)");
    CHECK_STR(hint_of(), "");
    fails("nowhere()"); /* who types knows */
    CHECK_STR(hint_of(), "");
    static const char *const silent[] = {"within", "nowhere", "t = {key = 1}", "key", "late = nil", "late"};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (strstr(run(silent[i]), names)) FAIL("%s: %s", silent[i], out);
    run("%reset");
    CHECK_STR(run("shape == nil"), "r|true");
    CHECK(!strstr(run("shape"), names));
}

TEST(indices_and_lengths_that_give_nil_are_told_of)
{
    start();
    CHECK_STR(run("local s, t, m = 'abc', {1, 2}, {size = 3}"), "");
    CHECK_HAS(run("s[1]"), "r|nil\n  hint: a string is not indexed: its first character is s:sub(1, 1)");
    CHECK_HAS(run("t[0]"), "r|nil\n  hint: a table's first element is t[1]");
    CHECK_HAS(run("t.length"), "#t");
    CHECK_HAS(run("s.length"), "#s");
    CHECK_HAS(run("m = {size = 3}\n\n  s[1]\n"), "s:sub(1, 1)");
    CHECK_HAS(run("local total = 1\ntotl"), "r|nil\n  hint: did you mean 'total'?");
    CHECK_HAS(run("x = gpu.ones(2, 3)\nh, w = x.shape\nw"), "x.shape is one value");
    CHECK_HAS(run("math.inf"), "r|nil\n  hint: it is written math.huge");
    CHECK_HAS(run("math.PI"), "math.pi");
    CHECK_STR(run("m.size"), "r|3");
    static const char *const plain[] = {"t[3]", "m[0]", "t.color", "m.length", "s.color"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strstr(run(plain[i]), "hint")) FAIL("%s: %s", plain[i], out);
}

TEST(masks_where_a_boolean_is_wanted_are_warned_of)
{
    static const char *const warned[] = {
        "if x:gt(0) then end", "z = x:gt(0) and x:lt(3)", "w = 1\nz = x:le(y:sum(2, true)) or y",
        "if x:eq(1) then end", "z = x:ge((1)) and 1",     "z = x[x and y]",
        "z = x and y"};
    static const char *const plain[] = {"if x:gt(0):any() then end",
                                        "z = x:gt(0) & x:lt(3)",
                                        "if s:eq(1) and u:eq(2) then end",
                                        "if o:gt(1) then end",
                                        "z = x[x:gt(0)] and 1",
                                        "z = x.gt",
                                        "z = x:gt(0)",
                                        "s = 'x:gt(0) and y'",
                                        "z = x or y",
                                        "z = x and y:sum()",
                                        "z = x and s",
                                        "z = x and y or nil",
                                        "z = o.x and y",
                                        "z = x and y[1]"};
    start();
    CHECK_STR(run("x = gpu.ones(2, 3) y = x u = nil s = setmetatable({}, {__index = {eq = print}}) o = {gt = print}"),
              "");
    CHECK_HAS(run(warned[0]), "warning: cell 2:1: a mask counts as true");
    CHECK_HAS(run(warned[2]), "warning: cell 3:2: a mask");
    for (size_t i = 0; i < sizeof warned / sizeof *warned; i++)
        if (!strstr(run(warned[i]), "a mask counts as true")) FAIL("%s: %s", warned[i], out);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strstr(run(plain[i]), "warning")) FAIL("%s: %s", plain[i], out);
}

TEST(tables_are_compared_by_identity)
{
    start();
    CHECK_STR(run("local t, u, m = {1}, {1}, gpu.ones(3):gt(0)"), "");
    CHECK_HAS(run("t == {1}"), "r|false\n  hint: == asks whether both are the same table");
    CHECK_HAS(run("t ~= u"), "r|true\n  hint: == asks whether both are the same table");
    CHECK_HAS(run("not m"),
              "r|false\n  hint: an array counts as true, whatever is in it; the opposite of a mask is ~m");
    CHECK_HAS(run("not m:any()"), "r|false");
    CHECK_STR(run("local s = setmetatable({}, {__eq = function() return false end})"), "");
    static const char *const plain[] = {"t == t", "t == nil", "t == 1", "s == t", "not t", "gpu.ones(1).shape == {1}"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strstr(run(plain[i]), "hint")) FAIL("%s: %s", plain[i], out);
}

TEST(a_dtype_without_quotes_is_refused)
{
    start();
    CHECK_HAS(fails("x = gpu.zeros(3, float64)"), "float64 has no value; a dtype is a string, as \"float64\"");
    CHECK_HAS(fails("x = gpu.zeros({3}, {dtype = int})"), "int has no value");
    CHECK_STR(run("x = gpu.zeros(3, qwertz).dtype"), "");
    CHECK_STR(run("local function f(float64) return gpu.zeros(3, float64).dtype end f()"), "r|\"float32\"");
    CHECK_STR(run("local double = 'float64'"), "");
    CHECK_STR(run("gpu.zeros(3, double).dtype"), "r|\"float64\"");
    CHECK_STR(run("double = nil x = gpu.zeros(3, double).dtype"), "");
}

TEST(a_name_without_a_value_is_told_of_where_a_kernel_used_it)
{
    start();
    run("gpu.device('simt')");
    run("k = gpu.kernel('__global__ void k(float *x, float *y) { y[0] = x[0]; }') local total = gpu.ones(1)");
    CHECK_HAS(fails("k(1, 1)(total, totl)"), "but y is nil");
    CHECK_HAS(hint_of(), "totl has no value: did you mean 'total'?");
    CHECK_HAS(fails("k(1, 1)(qwertz, qwerty)"), "null pointer");
    CHECK_HAS(hint_of(), "qwertz has no value");
    CHECK_HAS(fails("%timeit -n 3 k(1, 1)(qwertz, qwerty)"), "null pointer");
    CHECK_HAS(hint_of(), "qwertz has no value");
    CHECK_HAS(fails("k(1, 1)(qwertz, total)\nprint(qwertz, {qwertz = 1})"), "x is nil");
    CHECK_HAS(hint_of(), "qwertz has no value");
    static const char *const given[] = {"local function f(q) k(1, 1)(total, q) end f()", "q, r = nil k(1, 1)(total, q)",
                                        "local r, q k(1, 1)(total, q)"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        CHECK_HAS(fails(given[i]), "y is nil");
        CHECK_STR(hint_of(), "");
    }
    CHECK_HAS(fails("k:launch(1, 1)"), "launched by k(grid, block)(arguments)");
    CHECK_HAS(fails("k(4, 4, 16, 16)(total, total)"), "got number");
    CHECK_HAS(hint_of(), "k({gx, gy}, {bx, by})(x)");
    CHECK_HAS(fails("k(1, 1, gpu.stream())(total, total)"), "got stream");
    CHECK_HAS(hint_of(), "k(grid, block, 0, s)(x)");
}

TEST(arrays_are_not_compared_by_signs)
{
    start();
    CHECK_STR(run("local x = gpu.ones(3) local y = x:clone() local n = 3"), "");
    CHECK_HAS(run("x == 1"), "r|false\n  hint: == asks whether both are the same array; x:eq(y)");
    CHECK_STR(run("_"), "r|false");
    CHECK_HAS(run("y == x -- copies"), "x:equal(y)");
    CHECK_HAS(run("return 1 ~= x"), "r|true");
    CHECK_HAS(run("1 ~= x"), "r|true\n  hint: == asks whether both are the same array; x:ne(y)");
    static const char *const plain[] = {"x == x", "x == nil", "n == 4", "n == 3", "x.shape == n", "(x == y)"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strstr(run(plain[i]), "hint")) FAIL("%s: %s", plain[i], out);
}

TEST(a_hint_follows_the_caret)
{
    start();
    fails("y = 1\nx += 1");
    CHECK_INT(failure->excerpt_count, 3);
    CHECK_HAS(failure->traceback[1], "    2 | x += 1");
    CHECK_HAS(failure->traceback[2], "      |   ^");
    CHECK_HAS(failure->traceback[3], "  hint: ");
    fails("s = '\u00d7' y = 3 \u00d7 4");
    CHECK_STR(failure->traceback[2], "      |               ^");
    CHECK_HAS(fails("gpu.ones(3).size()"), "an array has it as a field, x.size, and that of an axis in x.shape[1]");
    CHECK_HAS(fails("gpu.ones(3):shape()"), "an array has it as a field, x.shape");
    CHECK_HAS(fails("gpu.device():name()"), "a device has it as a field, x.name");
    CHECK_HAS(fails("gpu.ones(3).shape[0]"), "axes count from 1");
    CHECK_STR(run("gpu.ones(3, 4).shape[-1]"), "r|4");
    fails("local t = {}\nerror('columns\\na | b ^ c')"); /* a message of several lines has one, too */
    CHECK_INT(failure->excerpt_count, 2);
    CHECK_HAS(failure->traceback[2], "    2 | error(");
    fails("error('of its own\\n  12 | x\\n     | ^')");
    CHECK_INT(failure->excerpt_count, 0);
}
