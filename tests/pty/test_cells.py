"""What the shell does with cells beside running them: pager, editor, saving, loading, history."""

import pytest
from terminal import ready


@pytest.fixture
def program(tmp_path):
    """program(name, text) makes an executable shell script and gives its path."""
    def make(name, text):
        path = tmp_path / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return str(path)
    return make


def test_names_that_have_no_value(terminal):
    t = ready(terminal)
    t.send("help\r")
    t.at_prompt(2)
    t.shows("1> help", "nil", "  hint: ?gpu.ones shows help; gpu.help() lists what there is", "2>")
    t.send("io.stderr:write('said\\n')\r")
    t.at_prompt(3)
    t.shows("said", "3>")
    t.send("_\r")
    t.at_prompt(4)
    t.shows("3> _", "nil", "4>")


def test_a_kernel_that_ends_at_an_index(terminal):
    t = ready(terminal, LUNARRAY_DEVICE="simt")
    t.send("k = gpu.kernel [[\r__global__ void k(int *x, int *y) {\ratomicAdd(&x[y[0]], 1);\r")
    t.at_prompt(2)
    t.shows("      |                      ^",
            "  hint: ]] ends the string, in x[y[i]] too: write gpu.kernel [=[ ... ]=]", "2>")


def test_long_values_go_to_the_pager(terminal):
    t = ready(terminal, PAGER="tr x y | tail -2", rows=10)
    t.send("('x\\n'):rep(8)\r")
    t.at_prompt(2)
    assert "xx" not in t.lines() and t.lines()[-2:-1] != ["y"]
    t.send("shell.pager = 'tail -1 | tr x z' setmetatable({}, {__tostring = function() return ('x\\n'):rep(20) .. 'xxx' end})\r")
    t.at_prompt(3)
    t.shows("zzz", "3>")
    t.send("print(('x\\n'):rep(12))\r")  # what is printed is not
    t.at_prompt(4)
    assert t.lines()[-3] == "x"


@pytest.mark.parametrize("columns, rows, pages", [(1, 1, False), (40, 3, False), (7, 20, False), (8, 4, True)])
def test_a_screen_that_is_too_small_for_a_pager(terminal, tmp_path, columns, rows, pages):
    t = terminal(columns=columns, rows=rows, PAGER=f"touch {tmp_path}/paged; cat")
    t.send(f"('x'):rep(300)\rio.open('{tmp_path}/done', 'w'):close()\r")
    t.wait(lambda t: (tmp_path / "done").exists())
    assert (tmp_path / "paged").exists() == pages


def test_pages_and_a_pager_that_is_not_there(terminal):
    t = ready(terminal, PAGER="tail -1; echo paged", rows=6)
    t.send("%lsmagic\r")
    t.at_prompt(2)
    t.shows("paged", "2>")
    t.send("shell.pager = 'no-such-pager' \r%lsmagic\r")
    t.at_prompt(4)
    assert any(line.startswith("?name, name?") for line in t.lines())
    t.send("shell.pager = false\r")
    t.at_prompt(5)
    t.send("%lsmagic\r")
    t.at_prompt(6)
    assert any(line.startswith("?name, name?") for line in t.lines())


def test_control_c_belongs_to_the_pager(terminal, program):
    pager = program("pager", "trap 'echo caught; exit' INT\necho waiting\nwhile :; do sleep 0.05; done\n")
    t = ready(terminal, PAGER=pager, rows=6)
    t.send("%lsmagic\r")
    t.wait(lambda t: "waiting" in t.lines())
    t.send("\x03")
    t.at_prompt(2)
    assert any("caught" in line for line in t.lines()) and not any("interrupted" in line.lower() for line in t.lines())


def test_edit_opens_the_last_cell_and_runs_what_is_left(terminal, program):
    editor = program("editor", "sed -i s/first/second/ \"$1\"; echo 'print(\"added\")' >> \"$1\"\n")
    t = ready(terminal, EDITOR=editor)
    t.send("print('first')\r")
    t.at_prompt(2)
    t.send("%edit\r")
    t.at_prompt(4)
    t.shows("2> %edit", "3> print('second')", '.. print("added")', "second", "added", "4>")
    t.send("%edit 1\r")
    t.at_prompt(6)
    t.shows("5> print('second')", '.. print("added")', "second", "added", "6>")
    t.send("%edit 77\r")
    t.at_prompt(7)
    assert any("there is no cell 77" in line for line in t.lines())


def test_an_editor_that_fails(terminal, program):
    t = ready(terminal, EDITOR=program("editor", "exit 3"), columns=200)
    t.send("%edit\r")
    t.at_prompt(2)
    assert any("ended with status 3; nothing was run" in line for line in t.lines())
    t = ready(terminal, EDITOR="no-such-editor")
    t.send("%edit\r")
    t.at_prompt(2)
    assert any("there is no editor 'no-such-editor'" in line for line in t.lines())


def test_the_cell_being_typed_in_the_editor(terminal, program):
    t = ready(terminal, VISUAL=program("editor", "sed -i s/one/two/ \"$1\""))
    t.send("print('one')\x18\x05")
    t.wait(lambda t: t.lines()[-1] == "1> print('two')")
    t.send("\r")
    t.at_prompt(2)
    t.shows("two", "2>")


def test_load_puts_a_file_into_the_next_cell(terminal, tmp_path):
    (tmp_path / "some.lua").write_text("x = 20\nprint(x + 1)\n")
    t = ready(terminal, columns=200)
    t.send(f"%load {tmp_path}/some.lua\r")
    t.wait(lambda t: t.lines()[-1] == ".. print(x + 1)")
    assert t.lines()[-3].startswith("2> -- %load")
    t.send("\r")
    t.at_prompt(3)
    t.shows("21", "3>")
    (tmp_path / "one.cu").write_text("__global__ void one(int *x) { *x = 1; }\n")
    t.send(f"%load {tmp_path}/one.cu\r")
    t.wait(lambda t: t.lines()[-1] == ".. __global__ void one(int *x) { *x = 1; }")
    assert t.lines()[-3] == "4> %%cuda" and t.lines()[-2].startswith(".. // %load")


def test_history_save_and_in(cli, tmp_path):
    file = tmp_path / "saved.lua"
    r = cli("-i", stdin=f"x = 1\nfor i = 1, 2 do\nx = x + i\nend\ny = 'needle'\n%history 2-3\n%save {file} 1-2\n%save {file}\n"
            f"%save -a {file} 3\n%history -g needle\nIn[1]\nIn[-1]\n#In\nIn[99]\n%history 2-x\n%save\n%edit\nIn[1] = 2\n%history -z\n")
    out = r.stdout
    assert "   2: for i = 1, 2 do\n      x = x + i\n      end\n   3: y = 'needle'\n" in out and "   1: x = 1" not in out
    assert file.read_text() == "-- %%\nx = 1\n\n-- %%\nfor i = 1, 2 do\nx = x + i\nend\n\n-- %%\ny = 'needle'\n"
    assert "Wrote 2 cells to" in out and "Added 1 cell to" in out
    assert "   3: y = 'needle'\n" in out and '"x = 1"' in out and '"In[1]"' in out and "11\n" in out
    for message in (f"{file} is there already: %save -f replaces it", "not by '2-x'", "%save needs the name", "%edit opens an editor in a terminal",
                    "In holds the texts", "there is no option -z"):
        assert message in r.stderr, message
    r = cli("-i", stdin="%history -g needle\n")
    assert "1/3: y = 'needle'" in r.stdout


def test_a_semicolon_silences(cli):
    r = cli("-i", stdin="6 * 7;\n6 * 9\n_\n")
    assert "42" not in r.stdout and r.stdout.count("54") == 2


def test_a_call_is_listed_once(cli):
    r = cli("-i", stdin="%time nothing(3)\n")
    assert "1 | %time nothing(3)" in r.stderr and r.stderr.count("in the cell") == 1


def test_a_file_that_is_run_gets_its_arguments(terminal, tmp_path):
    (tmp_path / "args.lua").write_text("print(select('#', ...), ..., #arg, arg[2])")
    t = ready(terminal)
    t.send(f"%run {tmp_path}/args.lua 'one word' b\r")
    t.at_prompt(2)
    assert t.lines()[-2].split() == "2 one word 2 b".split()


@pytest.mark.parametrize("columns", [20, 45, 80, 120])
def test_arrays_fit_on_the_terminal(terminal, columns):
    t = ready(terminal, columns=columns)
    t.send("gpu.ones(2, 90) print(gpu.range(40))\r" if columns > 36 else "gpu.ones(2, 90)\rprint(gpu.range(40))\r")
    t.wait(lambda t: any(line.endswith("40") for line in t.lines()))
    rows = [line for line in t.lines() if line.startswith("  ") and line.strip()]
    assert [n for line in rows if "..." not in line for n in line.split()][-40:] == [str(n) for n in range(1, 41)]
    assert all(len(line) <= columns for line in rows) and max(map(len, rows)) > columns - 8


def test_the_caret_is_below_the_argument(terminal):
    t = ready(terminal, columns=100, LUNARRAY_DEVICE="simt")
    t.send("k = gpu.kernel '__global__ void k(int n, float *x) { }' x = gpu.zeros(4)\r")
    t.at_prompt(2)
    for number, (cell, caret) in enumerate({
        "k(1, 32)(x, x)": "         ^",
        "k({1, 2}, 32)(1, x['::2'])": "                 ^~~~~~~~",
        "k:forall(4)(math.sqrt(2), x)": "            ^~~~~~~~~~~~",
        "k(1, 32)(1, x) k(1, 32)(2.5, x)": "^" + 30 * "~",  # which of them is not known
    }.items(), 2):
        t.send(cell + "\r")
        t.at_prompt(number + 1)
        lines = t.lines()
        at = max(i for i, line in enumerate(lines) if line.endswith("| " + cell))
        assert lines[at + 1] == "      | " + caret, lines
