"""The command line without a terminal: options, scripts, notebooks, output and exit statuses."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest
from notebooks import notebook
from terminal import BINARY, PATIENCE


def test_version(cli):
    r = cli("--version")
    assert r.returncode == 0 and r.stdout.startswith("lunarray ") and r.stderr == ""


def test_help(cli):
    r = cli("--help")
    assert r.returncode == 0 and r.stderr == ""
    for option in ("-e", "-i", "--device", "--info", "--version", "jupyter"):
        assert option in r.stdout


@pytest.mark.parametrize("option, meant", [("--versoin", "--version"), ("--inf", "--info"), ("--devcie=cpu", "--device"), ("-help", "--help")])
def test_misspelt_option(cli, option, meant):
    r = cli(option)
    assert r.returncode == 1 and r.stdout == ""
    assert len(r.stderr.splitlines()) == 1 and option in r.stderr and f"did you mean {meant}?" in r.stderr


@pytest.mark.parametrize("option", ["--frobnicate", "--foo"])
def test_unknown_option(cli, option):
    r = cli(option)
    assert r.returncode == 1 and option in r.stderr and "--help" in r.stderr and "did you mean" not in r.stderr


@pytest.mark.parametrize("option", ["-e", "--device"])
def test_option_without_value(cli, option):
    r = cli(option)
    assert r.returncode == 1 and option in r.stderr and "needs" in r.stderr


def test_wrong_device(cli):
    r = cli("--device", "gpu9", "-e", "print(1)")
    assert r.returncode == 1 and r.stdout == ""
    assert "gpu9" in r.stderr and "cpu" in r.stderr and "simt" in r.stderr


def test_device(cli):
    r = cli("--device", "cpu", "-e", "print(gpu.device().name)")
    assert (r.returncode, r.stdout, r.stderr) == (0, "cpu\n", "")


def test_info(cli):
    r = cli("--info")
    assert r.returncode == 0 and r.stderr == ""
    for word in ("Devices", "cpu", "simt", "default", "NVRTC", "OpenBLAS", "ZeroMQ", "cache", "CUDA headers"):
        assert word in r.stdout, word


@pytest.mark.parametrize("folders, cache", [
    ({"LUNARRAY_CACHE_DIR": "/own"}, "/own"), ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/lunarray"), ({"HOME": "/home"}, "/home/.cache/lunarray"),
    ({}, "none: HOME is not set (LUNARRAY_CACHE_DIR names a folder)")])
def test_info_says_where_the_cache_is(cli, folders, cache):
    r = cli("--info", **{"LUNARRAY_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "", **folders})
    assert f"  kernel cache  {cache}\n" in r.stdout


def test_info_says_how_to_get_what_is_missing(cli, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    r = cli("--info", LUNARRAY_NVRTC=str(empty))
    assert r.returncode == 0 and "NVRTC" in r.stdout


def test_code_is_silent_unless_it_prints(cli):
    r = cli("-e", "return 1")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    r = cli("-e", "print(6 * 7)")
    assert (r.returncode, r.stdout) == (0, "42\n")


def test_codes_share_globals_and_precede_the_file(cli, tmp_path):
    (tmp_path / "a.lua").write_text("print(x, ...)")
    r = cli("-e", "x = 1", "-e", "x = x + 1", "a.lua", "argument")
    assert (r.returncode, r.stdout) == (0, "2\targument\n")


def test_script_arguments(cli, tmp_path):
    (tmp_path / "a.lua").write_text("#!/usr/bin/env lunarray\nprint(arg[0], #arg, arg[1], arg[2], select('#', ...), ...)")
    r = cli("a.lua", "-e", "--help")
    assert (r.returncode, r.stdout, r.stderr) == (0, "a.lua\t2\t-e\t--help\t2\t-e\t--help\n", "")


def test_arguments_before_the_script(cli, tmp_path):
    (tmp_path / "a.lua").write_text("print(arg[-1], arg[-2], arg[-3]:match('[^/]*$'), arg[-4])")
    r = cli("--device", "cpu", "a.lua")
    assert (r.returncode, r.stdout) == (0, "cpu\t--device\tlunarray\tnil\n")


def test_file_with_a_dash(cli, tmp_path):
    (tmp_path / "-x.lua").write_text("print 'ran'")
    r = cli("--", "-x.lua")
    assert (r.returncode, r.stdout) == (0, "ran\n")


def test_standard_input(cli):
    r = cli(stdin="print('from', 'stdin')")
    assert (r.returncode, r.stdout) == (0, "from\tstdin\n")
    r = cli("-", "a", stdin="print(...)")
    assert (r.returncode, r.stdout) == (0, "a\n")


def test_error_of_a_script(cli, tmp_path):
    (tmp_path / "bad.lua").write_text("local function deep()\n  error('a mistake')\nend\nprint 'before'\ndeep()\n")
    r = cli("bad.lua")
    assert r.returncode == 1 and r.stdout == "before\n"
    first, *rest = r.stderr.splitlines()
    assert first == f"{BINARY}: bad.lua:2: a mistake"
    assert any("bad.lua:5" in line for line in rest) and any("deep" in line for line in rest)


def test_syntax_error(cli):
    r = cli("-e", "x = = 1")
    assert r.returncode == 1 and r.stdout == "" and r.stderr.startswith(f"{BINARY}: (command line):1: ")


@pytest.mark.parametrize("code", ["error()", "error({})", "error(setmetatable({}, {__tostring = function() return 'text' end}))", "error(nil)"])
def test_odd_error_values(cli, code):
    r = cli("-e", code)
    assert r.returncode == 1 and r.stderr.startswith(f"{BINARY}: ")


def test_missing_file(cli):
    r = cli("nowhere.lua")
    assert r.returncode == 1 and "nowhere.lua" in r.stderr and "No such file" in r.stderr and len(r.stderr.splitlines()) == 1


def test_a_folder(cli, tmp_path):
    r = cli(str(tmp_path))
    assert r.returncode == 1 and str(tmp_path) in r.stderr


@pytest.mark.parametrize("code, status", [("os.exit(7)", 7), ("os.exit(true)", 0), ("os.exit(false)", 1), ("os.exit(3, true)", 3)])
def test_exit_flushes(cli, code, status):
    r = cli("-e", "print 'printed' io.write('written') " + code)
    assert (r.returncode, r.stdout) == (status, "printed\nwritten")


def test_order_of_streams(env):
    r = subprocess.run([BINARY, "-e", "print(1) io.stderr:write('2\\n') print(3) io.write('4\\n') io.stdout:write('5\\n')"],
                       env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    assert sorted(r.stdout.split()) == ["1", "2", "3", "4", "5"]
    assert [n for n in r.stdout.split() if n != "2"] == ["1", "3", "4", "5"]


def test_closed_pipe_ends_quietly(env):
    r = subprocess.run(["sh", "-c", '"$0" -e "for i = 1, 1e6 do print(i) end" | head -1; echo done', BINARY], env=env,
                       capture_output=True, text=True, timeout=PATIENCE)
    assert r.stdout == "1\ndone\n" and r.stderr == ""


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["--info"], ["doc", "gpu.ones"], ["cells.ipynb"], ["--check", "checked.lua"]], ids=lambda words: words[0])
def test_full_disk_is_no_success(env, tmp_path, words):
    """But for scripts, which are to find out themselves: test_stock.py."""
    notebook(tmp_path / "cells.ipynb", "print(1)")
    (tmp_path / "checked.lua").write_text("-- %%\nprint(1)\n--> 1\n")
    with open("/dev/full", "w") as full:
        r = subprocess.run([BINARY, *words], env=env, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert r.returncode == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors(env, closed, tmp_path):
    """A file that a script opens must not take the place of standard output."""
    code = "local f = io.open('file', 'w') print('output') f:write('content') f:close()"
    subprocess.run(["sh", "-c", f'"$0" -e "{code}" {closed}', BINARY], env=env, cwd=tmp_path, timeout=PATIENCE,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert (tmp_path / "file").read_text() == "content"


def test_interrupt_of_a_script(env):
    p = subprocess.Popen([BINARY, "-e", "print 'running' io.stdout:flush() while true do end"], env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "running\n"
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 1 and "interrupted" in err.lower() and "(command line):1" in err


@pytest.mark.parametrize("array, call", [
    ("local x = gpu.range(0, 4e6, 1, 'float64') x = (x % 2 * x):clone() x[1] = -1", "gpu.find_peaks(x, {width = 0, rel_height = 3})"),
    ("local x = gpu.rand(64, 6000)", "gpu.ndimage.rank_filter(x, 3, 1501)"),
], ids=["widths of peaks", "ranks of large windows"])
def test_interrupt_of_a_function(env, array, call):
    """Of what would take many minutes."""
    p = subprocess.Popen([BINARY, "-e", f"{array} print(x:sum() > 0) io.stdout:flush() {call}"], env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    try:
        assert p.stdout.readline() == "true\n"
        time.sleep(1)  # it is at it
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=PATIENCE)
        assert p.returncode == 1 and "interrupted" in err.lower()
    finally:
        p.kill()


STOCK = shutil.which("lua5.4")


@pytest.mark.parametrize("program", [
    pytest.param([BINARY], id="lunarray"),
    pytest.param([STOCK, "-l", "lunarray"], id="a stock lua",
                 marks=pytest.mark.skipif(not STOCK or "asan" in BINARY, reason="no lua5.4 that loads this module")),
])
def test_interrupt_of_a_compilation(env, program, tmp_path, cli):
    """NVRTC's front end, which takes some seconds for this source, ends a process by it in the first one."""
    if cli("-e", "gpu.kernel '__global__ void k() { }'", LUNARRAY_DEVICE="simt").returncode != 0:
        pytest.skip("no NVRTC here")
    code = """
        local gpu, t = gpu or lunarray, {}
        for i = 1, 30000 do t[i] = ("template<int n> struct s%d { int x[n]; s%d<n - n %% 2> *y; };"):format(i, math.max(i - 1, 1)) end
        io.stdout:write('on\\n'):flush()
        gpu.kernel(table.concat(t, '\\n') .. ' __global__ void k() { }')
    """
    env = {**env, "LUNARRAY_DEVICE": "simt", "LUNARRAY_CACHE_DIR": str(tmp_path), "LUA_CPATH": os.path.dirname(BINARY) + "/?.so"}
    p = subprocess.Popen([*program, "-e", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "on\n"
    time.sleep(1)  # it is at it
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 1 and "interrupted" in err


WAITS = r"""
local k = gpu.kernel [[
__global__ void waits(volatile int *flag) {
  while (!*flag) {}
}]]
io.stdout:write("on\n"):flush()
k(2, 64)(gpu.zeros(1, "int32"))
"""


def test_a_script_that_is_stopped_in_a_kernel_says_where(cli, env, tmp_path):
    if cli("-e", "gpu.kernel '__global__ void k() { }'", LUNARRAY_DEVICE="simt").returncode != 0:
        pytest.skip("no NVRTC here")
    script = tmp_path / "wait.lua"
    script.write_text(WAITS)
    p = subprocess.Popen([BINARY, script], env={**env, "LUNARRAY_DEVICE": "simt"}, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "on\n"
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 1 and "wait.lua:4: interrupted" in err and "while (!*flag) {}" in err
    assert "in kernel waits, block (" in err


def test_shell_on_a_pipe(cli):
    r = cli("-i", stdin="x = 20\nfor i = 1, 2 do\n  x = x + 1\nend\nx\nerror('bad')\nx + 1\n")
    assert r.returncode == 0
    assert "22" in r.stdout and "23" in r.stdout and "bad" in r.stderr


@pytest.mark.skipif("asan" in BINARY, reason="AddressSanitizer's shadow takes more addresses than that")
@pytest.mark.parametrize("value", ["{}", "i .. ''"])
def test_a_session_goes_on_without_memory(cli, value):
    """What fills the memory stays there, and prompts, cells and reports come from what is left."""
    fill = f"t = {{}} for i = 1, 1e9 do t[i] = {value} end\n"
    r = cli("-i", stdin=f"{fill}1 + 1\nprint(pcall(string.rep, 'x', 1e9))\nt = nil\n{fill}t = nil\n2 + 2\n#string.rep('x', 1e6)\n", addresses=150)
    said = re.findall("not enough memory: what variables hold takes [0-9.]+ MiB; x = nil frees what x holds", r.stderr)
    assert r.returncode == 0 and len(said) == 2
    assert r.stdout.replace(">> ", "").split("\n")[1:] == ["2", "false\tnot enough memory", "4", "1000000", "", ""]


@pytest.mark.parametrize("look", ["m:sum()", "m", "(m + 1):sum()", "m:to('simt'):sum()", "m[{500000, 2}]", "m:sort()"])
def test_a_mapped_file_that_is_cut_shorter_is_an_error(cli, look):
    code = "gpu.save('m.npy', gpu.ones(500000, 2)) m = gpu.load('m.npy', {map = true, device = 'cpu'}) io.open('m.npy', 'w'):close()"
    said = "m.npy was cut shorter while its elements were mapped"
    r = cli("-i", stdin=f"{code}\n{look}\n6 * 7\n")
    assert r.returncode == 0 and r.stderr.count(said) == 1 and r.stdout.endswith(">> 42\n>> \n")
    r = cli("-e", f"{code} print(tostring({look}))")
    assert r.returncode == 1 and r.stderr.count(said) == 1


def test_notebook(cli, tmp_path):
    path = notebook(tmp_path / "n.ipynb", {"cell_type": "markdown", "source": "# Not printed", "metadata": {}},
                    ["local x = 20\n", "print('in a cell')"], "", "x + 1")
    r = cli(path)
    assert (r.returncode, r.stdout, r.stderr) == (0, "in a cell\n21\n", "")


def test_notebook_stops_at_an_error(cli, tmp_path):
    path = notebook(tmp_path / "n.ipynb", "print(1)", "error('a mistake')", "print(3)")
    r = cli(path)
    assert r.returncode == 1 and r.stdout == "1\n"
    assert "a mistake" in r.stderr and "cell 2" in r.stderr


def test_notebook_goes_on_where_an_error_is_expected(cli, tmp_path):
    path = notebook(tmp_path / "n.ipynb", "print(1)", ("error('a mistake')", ["raises-exception"]), "print(3)")
    r = cli(path)
    assert r.returncode == 0 and r.stderr == ""
    first, *middle, last = r.stdout.splitlines()
    assert (first, last) == ("1", "3") and "a mistake" in middle[0]


@pytest.mark.parametrize("text, why", [
    ("this is not JSON", "not JSON"),
    ("", "not JSON"),
    ("[1, 2]", "not a notebook"),
    ('{"cells": []}', "nbformat"),
    ('{"nbformat": 3, "worksheets": []}', "format 3"),
    ('{"nbformat": 5, "cells": []}', "format 5"),
    ('{"nbformat": 4}', "cells"),
    ('{"nbformat": 4, "cells": [3]}', "cell 1"),
    ('{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "cell 1"),
    ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}', "cell 1"),
])
def test_no_notebook(cli, tmp_path, text, why):
    (tmp_path / "n.ipynb").write_text(text)
    r = cli("n.ipynb")
    assert r.returncode == 1 and r.stdout == ""
    assert len(r.stderr.splitlines()) == 1 and r.stderr.startswith("lunarray: n.ipynb: ") and why in r.stderr


def test_missing_notebook(cli):
    r = cli("nowhere.ipynb")
    assert r.returncode == 1 and "nowhere.ipynb" in r.stderr and "No such file" in r.stderr


def test_jupyter_is_handed_over(cli):
    r = cli("jupyter")
    assert r.returncode == 1 and "install" in r.stdout + r.stderr


def test_notebook_starts_jupyterlab(env, tmp_path):
    """Another program stands in for JupyterLab: it shows its arguments and where it looks for kernels."""
    folder = tmp_path / "data" / "lunarray" / "jupyter"
    run = lambda: subprocess.run([BINARY, "notebook", "a folder", "--no-browser"], capture_output=True, text=True, timeout=PATIENCE,
                                 env={**env, "PATH": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "JUPYTER_PATH": "/before"})
    r = run()
    assert r.returncode == 1 and f"python3 -m venv {folder} && {folder}/bin/pip install jupyterlab" in r.stderr
    spec = json.loads((folder / "share" / "jupyter" / "kernels" / "lunarray" / "kernel.json").read_text())
    assert spec["argv"][0] == os.path.realpath(BINARY)
    for place in folder / "bin", tmp_path:  # the one that the command installs; the one on the PATH
        place.mkdir(exist_ok=True)
        (place / "jupyter-lab").write_text(f'#!/bin/sh\necho {place} "$JUPYTER_PATH" "$@"\n')
        (place / "jupyter-lab").chmod(0o755)
        r = run()
        assert r.returncode == 0 and r.stderr == ""
        assert r.stdout == (f"{place} {folder}/share/jupyter:/before "
                            "--MultiKernelManager.default_kernel_name=lunarray a folder --no-browser\n")


def test_device_before_jupyter(cli):
    r = cli("--device", "cpu", "jupyter", "--help")
    assert r.returncode == 0 and "install" in r.stdout


def test_options_that_do_not_go_with_notebooks(cli, tmp_path):
    path = notebook(tmp_path / "n.ipynb", "print(1)")
    r = cli("-e", "x = 1", path)
    assert r.returncode == 1 and r.stdout == "" and "notebook" in r.stderr


def test_manual(cli):
    """It has all that --help lists, and troff finds nothing wrong with it."""
    page, help = cli("--man").stdout, cli("--help").stdout
    for line in help.splitlines():
        if line.startswith("  ") and "  " in line.strip():
            assert line.strip().split("  ")[-1].strip().replace("-", "\\-") in page, line
    if not shutil.which("groff"):
        pytest.skip("there is no groff")
    r = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-c"], input=page, capture_output=True, text=True, timeout=PATIENCE)
    assert r.returncode == 0 and r.stderr == "" and "--device NAME" in re.sub(".\b", "", r.stdout)


def test_compiler_warnings(cli):
    """What the compiler warns of is warned of once, with its line, but for variables without use."""
    code = ('for _ = 1, 3 do gpu.kernel [[\n  __global__ void k(float x) {\n    int unused;\n    printf("%d\\n", x);\n    if (x) x == 2;\n  }\n]] end')
    r = cli("--device", "simt", "-W", "-e", code)
    assert r.returncode == 0 and r.stderr.count("#181-D") == 1 == r.stderr.count("#174-D") and "unused" not in r.stderr
    assert r.stderr.startswith("Lua warning: (command line):4: #181-D: argument is incompatible") and "\nwarning: (command line):5: " in r.stderr
    assert '      printf("%d\\n", x);\n                     ^\n' in r.stderr
    assert cli("--device", "simt", "-e", code).stderr == ""


@pytest.mark.parametrize("name, value, expected", [
    ("THREADS", "foo", "a whole number from 1 on"), ("THREADS", "0", "a whole number from 1 on"),
    ("THREADS", "99999999999999999999", "a whole number from 1 on"), ("ISA", "nonsense", "base, v3, avx2, v4 or avx512"),
    ("JIT", "off", "0 or 1"), ("COMPILE", "now", "wait, background or hurry"), ("LAZY", "1", "never, large or always"),
    ("CHECK", "Strict", "0, 1 or strict"), ("OUTPUT_LIMIT", "-5", "a whole number from 1 on")])
def test_a_variable_that_nobody_understands(cli, name, value, expected):
    said = f"lunarray: LUNARRAY_{name} is {value}, expected {expected}\n"
    r = cli("-e", "print(gpu.zeros(3):sum())", **{"LUNARRAY_" + name: value})
    assert (r.stdout, r.stderr, r.returncode) == ("0.0\n", said, 0)


def test_variables_that_are_understood(cli):
    right = dict(THREADS="3", ISA="base", JIT="0", COMPILE="wait", LAZY="never", CHECK="", OUTPUT_LIMIT="100", LOG_LEVEL="debug")
    r = cli("-e", "print(gpu.lazy())", **{"LUNARRAY_" + name: value for name, value in right.items()})
    assert (r.stdout, r.stderr, r.returncode) == ("never\n", "", 0)


def test_the_shell_says_which_variable_nobody_understands(terminal):
    t = terminal(LUNARRAY_THREADS="four")
    t.at_prompt(1)
    assert t.lines()[0] == "lunarray: LUNARRAY_THREADS is four, expected a whole number from 1 on"


def test_where_files_may_not_grow(env, tmp_path):
    """What ulimit -f refuses is an error of who writes the file; the cache of kernels and the history do without."""
    code = """local k = gpu.kernel[[__global__ void f(float *x) { x[0] = 1; }]]
        local x = gpu.zeros(1, 'float32', 'simt') k(1, 1)(x) print(x:sum())
        local f = io.open('full', 'w') f:setvbuf('no') print(f:write('x'))"""
    r = subprocess.run([BINARY, "-i"], input=" ".join(code.split()) + "\n", capture_output=True, text=True, env={**env, "LUNARRAY_DEVICE": "simt"},
                       cwd=tmp_path, timeout=PATIENCE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert r.returncode == 0 and "1.0" in r.stdout and "nil\tFile too large\t27" in r.stdout, r
