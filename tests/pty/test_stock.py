"""What a stock lua does with a command line, the binary does: the same table of command lines through both."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from terminal import BINARY, PATIENCE

STOCK = shutil.which("lua5.4")
pytestmark = pytest.mark.skipif(not STOCK, reason="there is no lua5.4 to compare with")

FILES = {
    "args.lua": "print(arg[0], #arg, ...) for i = -3, 3 do print(i, i < -1 and '?' or arg[i]) end",
    "mod.lua": "local name, file = ... print('loading', name, file) return {value = 42}",
    "bad.lua": "local function deep(n) if n == 0 then error('a mistake') end return (deep(n - 1)) end\nprint 'before'\ndeep(3)",
    "deep.lua": "local function f(n) local x = f(n + 1) return x end f(1)",
    "syntax.lua": "local x = 1\nlocal y = = 2\n",
    "object.lua": "error(setmetatable({}, {__tostring = function() return 'an object' end}))",
    "tail.lua": "#!/usr/bin/lua\nlocal t = setmetatable({}, {__index = function(t, k) return k.x.y end})\nlocal s <close> = setmetatable({}, {__close = function() print 'closed' end})\nprint(t.a)",
    "mark.lua": "\ufeff#comment\nprint(debug.getinfo(1, 'S').source, debug.getinfo(1, 'l').currentline)",
    "co.lua": "local co = coroutine.wrap(function() error({code = 2}) end) print(type(select(2, pcall(co)))) co = coroutine.wrap(function() local x = nil; x() end) co()",
    "locals.lua": "local a <const> = 1 do local a = 2 print(a) end goto done print 'no' ::done:: print(a, _ENV == _G, select('#', table.unpack({}, 1, 3)))",
    "a_rather_long_name_of_a_file_that_no_longer_fits_into_the_sixty_bytes_of_a_short_source.lua":
        "print(debug.getinfo(1, 'S').source) error 'x'",
    "exit.lua": "io.write('a') local x <close> = setmetatable({}, {__close = function() print 'closed' end}) os.exit(3, true)",
    "stdin.lua": "print(io.read('l'), io.read('n'), io.read('a'))",
    "close.lua": "local c <close> = setmetatable({}, {__close = function(_, e) print('closed', e) end}) error('boom')",
    "closes.lua": "local c <close> = setmetatable({}, {__close = function(_, e) print('closed', e) error('in close') end}) error('boom')",
    "number.lua": "error(setmetatable({}, {__tostring = function() return 42 end}))",
    "inner.lua": "error(setmetatable({}, {__tostring = function() error('inner') end}))",
    "named.lua": "error(setmetatable({}, {__name = 'My.Type'}))",
    "lines.lua": "error('two\\nlines')",
    "level.lua": "local function f() error('blames', 2) end\nf()",
    "gc.lua": "setmetatable({}, {__gc = function() print 'gc' end}) local n = ... if n then os.exit(tonumber(n), true) end",
    "bad_gc.lua": "warn '@on' setmetatable({}, {__gc = function() error 'in gc' end}) print 'end'",
    "bad_exit.lua": "os.exit('x')",
    "far_exit.lua": "os.exit(256 + 7)",
    "values.lua": "return 1, 2, 3",
    "wrap.lua": "local f = coroutine.wrap(function() local a = nil; a() end)\nlocal function g() f() end\ng()",
    "dead.lua": "local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() print 'c' end}) coroutine.yield() end) "
                "coroutine.resume(co) print(coroutine.close(co)) print(coroutine.resume(co))",
    "outside.lua": "coroutine.yield()",
    "nothread.lua": "coroutine.resume(1)",
    "requires.lua": "require 'syntax'",
    "dofile.lua": "dofile('bad.lua')",
    "searched.lua": "print(pcall(require, 'no.such.module'))",
    "program.lua": "local p = io.popen('echo hi; exit 3') print(p:read('a'), p:close()) io.stdout:flush() print(os.execute('echo sub; kill -9 $$'))",
    "lf.lua": "print(1)\r\nerror('x')\r\n",
    "only_comment.lua": "# only a comment",
    "empty.lua": "",
    "attribute.lua": "local x <const> = 1; x = 2",
    "unfinished.lua": "x = [[abc",
    "script.bin.lua": "# comment\n\033Lua",
    "prints.lua": "print('x') io.write('y\\n') for i = 1, 20000 do print(i) end",
    "writes.lua": "local r = {} for i = 1, 20000 do r = table.pack(io.write(i, '\\n')) if not r[1] then break end end io.stderr:write(tostring(r[2]), ' ', tostring(r[3]), '\\n')",
    "flushes.lua": "print('x') io.stderr:write(tostring((select(2, io.stdout:flush()))), '\\n')",
    "asserts.lua": "io.stdout:setvbuf('no') print('x') assert(io.write('y'))",
    "closes_out.lua": "print(io.stdout:close()) print('after') io.stderr:write('end\\n')",
    "over.lua": "local function r() return r() + 1 end r()",
    "format.lua": "print(('%5s|%-5s|%05d|%.3f|%x|%q|%i|%g|%c|%a'):format('a', 'b', 3, 1 / 3, 255, 'x\\ny', 3, 1e20, 65, 1.0), 2^63, -7 // 2, -7 % 3, 3 | 0)",
}
LINES = [
    ["args.lua"], ["args.lua", "a", "-b", "--help"], ["-e", "x = 1", "args.lua", "y"], ["-W", "args.lua", "-"], ["--", "args.lua"],
    [], ["-W"], ["-E"], ["--"], ["-l", "mod"],
    ["-", "a", "b"], ["-e", "print(x)", "-e", "x = 2", "-e", "print(x)"], ["-eprint(1 // 0.0, 2^53, 7 // 2, 1e15, 10 / 2)"],
    ["-e", "print(arg[0] ~= nil, #arg, arg[1], ...)"],
    ["-l", "mod", "-e", "print(mod.value)"], ["-lmod", "-e", "print(mod.value)"], ["-l", "m=mod", "-e", "print(mod, m.value)"],
    ["-l", "nowhere"], ["-e", "print(1)", "-l", "mod", "-e", "print(mod.value)"],
    ["bad.lua"], ["deep.lua"], ["syntax.lua"], ["object.lua"], ["tail.lua"], ["mark.lua"], ["co.lua"], ["locals.lua"],
    ["a_rather_long_name_of_a_file_that_no_longer_fits_into_the_sixty_bytes_of_a_short_source.lua"],
    ["nowhere.lua"], ["exit.lua"], ["stdin.lua"],
    *[[name] for name in ("close.lua", "closes.lua", "number.lua", "inner.lua", "named.lua", "lines.lua", "level.lua", "gc.lua", "bad_gc.lua", "bad_exit.lua",
                          "far_exit.lua", "values.lua", "wrap.lua", "dead.lua", "outside.lua", "nothread.lua", "requires.lua", "dofile.lua", "searched.lua", "program.lua",
                          "lf.lua", "only_comment.lua", "empty.lua", "attribute.lua", "unfinished.lua", "format.lua", ".", "/dev/null")],
    ["gc.lua", "3"], ["-e", ""], ["-l", "bad"], ["args.lua", "x y", "", "-"], ["-e", "x=1", "-W", "args.lua", "1"], ["-l", "m.n=mod", "args.lua"],
    ["-e", "\n\nerror('x')"], ["-e", "print(#arg, ...)", "args.lua", "a"],
    ["-e", "error()"], ["-e", "error({})"], ["-e", "error('no position', 0)"], ["-e", "error(12)"], ["-e", "x = "], ["-e", "nofunction()"],
    ["-e", "local t = {} t.x.y = 1"], ["-e", "string.rep()"], ["-e", "('x'):bad()"], ["-e", "return 1, 2"],
    ["-e", "os.exit(7)"], ["-e", "os.exit(false)"], ["-e", "os.exit(true)"],
    ["-W", "-e", "warn('a ', 'warning')"], ["-e", "warn('not shown')"], ["-e", "warn('@on')", "-e", "warn('shown')"],
    ["-v", "-e", "print(1)"], ["-v"], ["-v", "args.lua"], ["-v", "-"], ["-W", "-v", "-E"], ["-v", "-l", "mod"], ["-v", "-l", "nowhere"], ["over.lua"],
    ["-x"], ["-vv"], ["-Wx"], ["-ix"], ["-?"], ["-e"], ["-l"], ["-e", "x", "-e"], ["-e", "--"], ["-l", "-v"], ["-v", "-x"], ["-e", "print(1)", "-x"],
    ["-l", ""], ["-l", "a=b=mod"], ["-l", "=mod"], ["-lg=nope"], ["script.bin.lua"], ["", "x"], ["-e", "print(1)", "-"], ["-e", "print(arg[-1])", "args.lua", "-x"], ["-E", "-e", "print(package.path)"], ["-E", "-e", "print(os.getenv('LUA_PATH'))"],
]
STDIN = "print('from stdin', #arg, arg[-1], arg[1], ...) local f = function() error('in stdin') end f()\n"


def run(program, words, folder, **more):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LUNARRAY_DEVICE": "cpu", "LUA_PATH": "./?.lua;;", **more}
    env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "")
    given = more.get("INPUT", "12 line\n34 rest" if words == ["stdin.lua"] else STDIN)
    r = subprocess.run([program, *words], cwd=folder, env=env, input=given.encode(),
                       capture_output=True, timeout=PATIENCE)
    error = r.stderr.replace(program.encode(), b"lua")
    error = re.sub(rb"0x[0-9a-f]+", b"0x", error)
    error = re.sub(rb"(?<=Available options are:\n)(  -.*\n)+", b"", error)  # each has its own
    output = r.stdout.replace(program.encode(), b"lua")
    output = re.sub(rb"^(Lua 5.4.*\n)lunarray \d+\.\d+.*\n", rb"\1", output)  # ours behind Lua's
    return r.returncode, output, error


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stock")
    for name, text in FILES.items():
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize("words", LINES, ids=lambda words: " ".join(words)[:40])
def test_command_line(folder, words):
    stock = run(STOCK, words, folder)
    if words == ["--"] and b"not enough memory" in stock[2]:
        pytest.skip("this stock Lua runs out of memory for an empty list of arguments")
    assert run(BINARY, words, folder) == stock


@pytest.mark.parametrize("init", [
    {"LUA_INIT": "print('init', ...)"}, {"LUA_INIT": "@mod.lua"}, {"LUA_INIT": "x ="}, {"LUA_INIT_5_4": "error('in init')"},
    {"LUA_INIT": "print 'general'", "LUA_INIT_5_4": "print 'special'"}, {"LUA_INIT": "@nowhere.lua"},
], ids=str)
def test_init(folder, init):
    for words in (["-e", "print(2)"], ["-E", "-e", "print(2)"]):
        assert run(BINARY, words, folder, **init) == run(STOCK, words, folder, **init)


MISTAKES = r"""
error(nil) | error(false) | error(3.5) | error(print) | error(io.stdout) | error(setmetatable({}, {__tostring = function() return nil end})) | return #nil
local a; a.b.c = 1 | local a = 'x' + 1 | return nil .. 'x' | x.y() | return 1 < 'x' | return 2^53 | 0.5 | for i = 'a', 2 do end | setmetatable({}, {__call = 1})()
coroutine.wrap(function() error('w') end)() | assert(coroutine.resume(coroutine.create(function() error('c') end))) | local t <close> = 42 | goto x | break
local s = '\\q' | x = 'abc | --[[ unfinished | x = 0x | f( | for | return return | if x then | x = } | x = 'a' 'b' = 3 | assert(false) | assert(nil, 'msg')
assert(false, {}) | error('two', 2) | setmetatable(1, {}) | ('x'):rep(1e10) | string.format('%d', 'x') | string.format('%d', 1.5) | table.concat({1, {}, 3})
math.random(0, -1) | select(-5) | tonumber('z', 99) | utf8.char(-1) | os.time({}) | os.date('%Ez') | io.open('x', 'zz') | io.read('x') | string.pack('zz')
debug.getinfo(1, '?') | collectgarbage('foo') | next({}, 1) | rawset(1, 2, 3) | ipairs() | ({})[nil] = 1 | local t = {} t[0/0] = 1 | return 1 // 0 | return 1 % 0
warn(1, 2, {}) | warn('@on') warn('a', 'b') warn('@off') warn('c') | coroutine.close(coroutine.running()) | coroutine.wrap(1) | local c c = coroutine.wrap(function() c() end) c()
table.sort({3, 2, 1}, function(a, b) error('cmp') end) | ('a'):gsub('a', function() error('cb') end) | load('error("in load")')() | dofile('nope.lua') | io.lines('nope')
print(debug.traceback('tb')) | print(xpcall(error, debug.traceback, 'a')) | print(pcall(string.dump, print)) | print(load('x =', '=c')) | print(loadfile('nope'))
os.exit(-1) | os.exit(2.0) | os.exit(2.5) | os.exit(nil) | print(io.type(io.stdin), io.open('nope')) | print(io.popen('exit 3'):close()) | print(os.remove('nope'))
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("code", MISTAKES)
def test_mistakes(folder, code):
    assert run(BINARY, ["-e", code], folder) == run(STOCK, ["-e", code], folder)


@pytest.mark.parametrize("words", [["-i"], ["-i", "bad.lua"], ["-i", "args.lua"], ["-i", "-e", "error()"], ["-i", "-l", "nowhere"], ["-i", "mark.lua"],
                                   ["-i", "tail.lua"], ["-i", "-", "x"], ["-e", "x = 5", "-i"], ["-i", "locals.lua"], ["-i", "lf.lua"], ["-v", "-i"], ["-Wi"]],
                         ids=lambda words: " ".join(words))
def test_interactive(folder, words):
    """The shell is ours; what runs before it, and how it all ends, is as in a stock lua."""
    given = "_PROMPT = 'mine> '\nprint(x, _G.y)\n"
    ours, stock = (run(program, words, folder, INPUT=given) for program in (BINARY, STOCK))

    def lines(output):  # without versions and prompts, and without the lines that readline shows again
        lines = [re.sub(r"^(mine> |>+ )+", "", line) for line in output.decode().splitlines()]
        return [line for line in lines if line and not line.startswith(("Lua 5.4", "lunarray ")) and line not in given]
    assert (ours[0], lines(ours[1]), ours[2]) == (stock[0], lines(stock[1]), stock[2])
    assert ours[0] or b"\nmine> " in ours[1] or b">> mine> " in ours[1]


def broken():
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize("target", ["full", "closed", "broken"])
@pytest.mark.parametrize("words", [["prints.lua"], ["writes.lua"], ["flushes.lua"], ["asserts.lua"], ["bad.lua"], ["closes_out.lua"], ["exit.lua"], ["-e", "print(1)"], ["-v"], []],
                         ids=lambda words: " ".join(words))
def test_output_that_cannot_be_written(folder, words, target):
    def status(program):
        out = broken() if target == "broken" else os.open("/dev/full", os.O_WRONLY)
        r = subprocess.run([program, *words], cwd=folder, env={"PATH": os.environ["PATH"], "LUNARRAY_DEVICE": "cpu", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")},
                           stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=PATIENCE, preexec_fn=(lambda: os.close(1)) if target == "closed" else None)
        os.close(out)
        return r.returncode, r.stderr.replace(program.encode(), b"lua")
    assert status(BINARY) == status(STOCK)


def status_of(p, name):
    with open(f"/proc/{p.pid}/{name}") as f:
        return f.read()


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def begun(p):
    """Whether a program that has said \"on\" waits for a line, or has computed for some ticks of the clock since then."""
    def now():
        fields = status_of(p, "stat").rpartition(")")[2].split()
        return fields[0], int(fields[11]) + int(fields[12])

    _, before = now()
    return lambda: now()[0] == "S" or now()[1] > before + 1


@pytest.mark.parametrize("code", ["local function f() while true do end end print 'on' f()", "print 'on' print(pcall(function() while true do end end))",
                                  "print 'on' print(io.read())"])
def test_interrupt(folder, code):
    def result(program):
        p = subprocess.Popen([program, "-e", "io.stdout:setvbuf 'no' " + code], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "LUNARRAY_DEVICE": "cpu"})
        assert p.stdout.readline() == b"on\n"
        wait_until(begun(p))
        p.send_signal(signal.SIGINT)
        wait_until(lambda: re.search("^ShdPnd:\\s*0*$", status_of(p, "status"), re.M))  # it has come; a stock lua goes on to wait for its line
        output, error = p.communicate(b"a line\n", timeout=PATIENCE)
        return p.returncode, output, error.replace(program.encode(), b"lua")
    assert result(BINARY) == result(STOCK)


def test_compiled_chunks_run(folder):
    code = "local f = io.open('out.luac', 'wb') f:write(string.dump(load('print(1 + 1, ...)'))) f:close()"
    subprocess.run([STOCK, "-e", code], cwd=folder, check=True, timeout=PATIENCE)
    assert run(BINARY, ["out.luac", "a"], folder) == run(STOCK, ["out.luac", "a"], folder) == (0, b"2\ta\n", b"")


def test_first_line_for_the_system(folder):
    """#!/usr/bin/env lunarray"""
    (folder / "bin").mkdir()
    (folder / "bin" / "lunarray").symlink_to(BINARY)
    script = folder / "tool"
    script.write_text("#!/usr/bin/env lunarray\nprint(arg[0], ...)\nos.exit(5)\n")
    script.chmod(0o755)
    r = subprocess.run(["./tool", "a"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
                       env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"})
    assert (r.returncode, r.stdout) == (5, "./tool\ta\n")


# Of many shapes, devices or compilations: they take long, and none of their lines is read in another way than those of the others.
LONG = {"broadcast", "complex", "divisors", "gather", "kernel", "kernel_hints", "large", "lazy", "memory", "narrow", "ops", "order", "profile",
        "random", "rearrange", "reduce", "scan", "signal", "small", "sort", "sums", "test", "turned"}
SCRIPTS = sorted(p.stem for p in pathlib.Path("tests/lua").glob("*.lua") if p.stem not in LONG)


def lines_of_tests(output):
    lines = [re.sub(r"^((>>|\.\.|\d+>) )+", "", line) for line in output.splitlines()]  # without the prompts
    return [line for line in lines if line.startswith(("ok ", "not ok ", "skip ", "# "))]


@pytest.mark.parametrize("name", SCRIPTS if "asan" not in BINARY else ["language", "describe", "dlpack"])
def test_scripts_by_file_stdin_and_shell(env, name):
    """A script does the same as a file, from standard input, and line by line in the shell."""
    path = f"tests/lua/{name}.lua"
    del env["LUNARRAY_DEVICE"]
    env.update(LUNARRAY_TEST_BRIEF="1", LUNARRAY_TEST_DEVICES="cpu", LUNARRAY_COMPILE="wait", LUNARRAY_GNUPLOT="cat", LUNARRAY_HISTORY="",
               LUNARRAY=BINARY)
    if cache := os.environ.get("LUNARRAY_CACHE_DIR"):  # what is compiled does not depend on the way
        env["LUNARRAY_CACHE_DIR"] = cache
    with open(path) as f:
        text = f.read()
    by_file, by_stdin, by_shell = (
        subprocess.run([BINARY, *words], env=env, input=stdin, capture_output=True, text=True, timeout=PATIENCE)
        for words, stdin in (([path], ""), (["-"], text), (["-i", "--no-init", "-e", "gpu.check(false)"], text)))  # a session checks launches
    assert lines_of_tests(by_file.stdout) and by_file.returncode == 0, by_file.stdout
    assert lines_of_tests(by_stdin.stdout) == lines_of_tests(by_file.stdout) and by_stdin.returncode == 0
    of_shell = lines_of_tests(by_shell.stdout)
    if name == "docs":  # a session knows more functions
        known = set(lines_of_tests(by_file.stdout))
        assert len(of_shell) > len(known) and not [line for line in of_shell if line.startswith("not ok")]
        of_shell = [line for line in of_shell if line in known]
    assert of_shell == lines_of_tests(by_file.stdout) and by_shell.returncode == 0


def test_the_language_is_the_stock_one(env):
    r = [subprocess.run([program, "tests/lua/language.lua"], env=env, capture_output=True, text=True, timeout=PATIENCE) for program in (STOCK, BINARY)]
    assert r[0].stdout == r[1].stdout and r[0].returncode == r[1].returncode == 0 and r[0].stderr == r[1].stderr == ""
