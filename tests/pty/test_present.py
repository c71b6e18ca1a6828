"""The presenter: by hand in a real terminal, by itself, recorded, and its check before the talk."""

import json
import os
import signal
import subprocess
import time

import pyte
import pytest
from notebooks import notebook
from terminal import BINARY, PATIENCE

DOWN = "\033[B"


def markdown(source):
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def executed(source, *outputs, tags=()):
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": list(outputs), "execution_count": 1}


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


@pytest.fixture
def talk(tmp_path):
    """A demo of five cells."""
    return notebook(tmp_path / "talk.ipynb", markdown("# The talk\n\nHas **cells**."), "x = 6", "print('x is', x)",
                    markdown("## More"), "x * 7")


@pytest.fixture
def present(terminal):
    """present(file, options...) starts the presenter and waits for its first cell."""
    def start(path, *args, columns=80, rows=24, **changes):
        t = terminal("--present", *args, path, columns=columns, rows=rows, **changes)
        t.wait(lambda t: any(line.startswith("1/") for line in t.lines()))
        return t
    return start


def state(t, text):
    """The last row says this."""
    t.wait(lambda t: t.lines()[-1].startswith(text))


def test_cell_by_cell(present, talk):
    t = present(talk)
    t.shows("The talk", "════════", "", "Has cells.", "1/5  Enter goes on, ? keys")
    t.send("\r")
    t.shows("Has cells.", "", "1> x = 6", "2/5  Enter runs, ? keys")
    assert t.cursor[1] == len("1> x = 6")
    t.send("\r")
    t.shows("1> x = 6", "2/5  Enter goes on, ? keys")
    t.send(" ")
    t.shows("2> print('x is', x)", "3/5  Enter runs, ? keys")
    t.send(" ")
    t.shows("2> print('x is', x)", "x is    6", "3/5  Enter goes on, ? keys")
    t.send("n")
    t.shows("x is    6", "", "More", "────", "4/5  Enter goes on, ? keys")
    t.send("\033[C")
    t.shows("────", "", "3> x * 7", "5/5  Enter runs, ? keys")
    t.send("\033[6~")
    t.shows("3> x * 7", "42", "5/5  Enter goes on, ? keys")
    t.send("\r")
    t.shows("42", "5/5  the end; q leaves, ? keys")
    t.send("q")
    state(t, "5/5  leave?")
    t.send("q")
    assert t.ended() == 0
    assert t.lines()[-1] == "42"  # nothing of the presenter's own stays


def test_back_skip_and_again(present, talk):
    t = present(talk)
    t.send("\r\r")
    state(t, "2/5  Enter goes on")
    t.send("b")
    t.shows("1> x = 6", "", "2> x = 6", "2/5  Enter runs, ? keys")
    t.send("b")
    state(t, "1/5")
    t.send("ss")
    t.shows("2> print('x is', x)", "3/5  Enter runs, ? keys")
    t.send("s")
    state(t, "4/5")
    assert not any("print" in line for line in t.lines())  # what was skipped does not stay


def test_edit_before_it_runs(present, talk):
    t = present(talk)
    t.send("s")
    state(t, "2/5")
    t.send("e")
    t.wait(lambda t: t.lines()[-1] == "1> x = 6" and t.cursor[1] == 8)
    t.send("0\r")
    t.shows("1> x = 60", "2/5  Enter goes on, ? keys")
    t.send("\r\r")
    t.shows("x is    60", "3/5  Enter goes on, ? keys")
    t.send("b")
    state(t, "3/5  Enter runs")
    t.send("e")
    t.wait(lambda t: t.lines()[-1] == "3> print('x is', x)")
    t.send("junk\x03")  # given up
    t.shows("3> print('x is', x)", "3/5  Enter runs, ? keys")


def test_live_prompt(present, talk):
    t = present(talk)
    t.send("s\r")
    state(t, "2/5  Enter goes on")
    t.send("p")
    t.at_prompt(2)
    t.send("x = x + 100\r")
    t.at_prompt(3)
    t.send("\x04")
    state(t, "2/5  Enter goes on")
    t.send(" ")
    state(t, "3/5  Enter runs")
    t.send(" ")
    t.shows("3> print('x is', x)", "x is    106", "3/5  Enter goes on, ? keys")


def test_keys_typed_ahead_are_for_whom_they_are_meant(present, talk):
    t = present(talk)
    t.send("se0\r\rs" + "p" + "x\r\x04" + "\r")
    t.shows("2> x", "60", "3>", "", "More", "────", "", "3> x * 7", "5/5  Enter runs, ? keys")


def test_jump_by_number_and_by_list(present, talk):
    t = present(talk)
    t.send("3")
    t.shows(">  1  The talk", "   2    x = 6", "   3    print('x is', x)", "   4  More", "   5    x * 7",
            "1/5  Enter goes there; r runs all up to it; Escape goes back")
    t.send("\r")
    t.shows("1> print('x is', x)", "3/5  Enter runs, ? keys")
    t.send("g" + DOWN + DOWN + "\r")
    t.shows("1> x * 7", "5/5  Enter runs, ? keys")
    t.send("1\r")
    state(t, "1/5")
    t.send("5r")
    t.shows("2> print('x is', x)", "x is    6", "", "More", "────", "", "3> x * 7", "5/5  Enter runs, ? keys")


def test_restart_is_a_fresh_session(present, talk):
    t = present(talk)
    t.send("s\rs\r")
    state(t, "3/5  Enter goes on")
    t.send("R")
    state(t, "3/5  start again")
    t.send("\r")
    t.wait(lambda t: t.lines()[-1] == "1/5  Enter goes on, ? keys" and "x is    6" not in t.lines())
    t.send("ss\r")
    t.shows("1> print('x is', x)", "x is    nil", "3/5  Enter goes on, ? keys")


def test_clock_help_and_clean_screen(present, talk):
    t = present(talk)
    t.send("c")
    t.wait(lambda t: t.lines()[-1].startswith("1/5  Enter goes on") and t.lines()[-1].split()[-1].count(":") == 1)
    t.send("c")
    t.wait(lambda t: t.lines()[-1] == "1/5  Enter goes on, ? keys")
    t.send("?")
    t.wait(lambda t: "e        edits a cell of code; Enter then runs it, Ctrl-C leaves it as it was" in t.lines())
    t.send("x")
    t.shows("Has cells.", "1/5  Enter goes on, ? keys")
    t.send("s\r\x0c")
    t.wait(lambda t: t.lines() == ["2/5  Enter goes on, ? keys"])


def test_interrupt_and_the_talk_goes_on(present, tmp_path):
    t = present(notebook(tmp_path / "n.ipynb", "print 'running' while true do end", "'alive'"))
    t.send("\r")
    t.wait(lambda t: "running" in t.lines())
    t.send("\x03")
    state(t, "1/2  Enter goes on")
    assert any("interrupted" in line.lower() for line in t.lines())
    t.send("\r\r")
    t.shows("2> 'alive'", '"alive"', "2/2  Enter goes on, ? keys")


def test_errors_do_not_end_it(present, tmp_path):
    t = present(notebook(tmp_path / "n.ipynb", "error 'a mistake'", "1"))
    t.send("\r")
    state(t, "1/2  Enter goes on")
    assert any("a mistake" in line for line in t.lines())
    t.send("\rqq")
    assert t.ended() == 0


def test_typing(present, cli, tmp_path):
    t = present(notebook(tmp_path / "n.ipynb", "-- typed out\nx = 1"), "--typing", "100000")
    t.shows("1> -- typed out", ".. x = 1", "1/1  Enter runs, ? keys")
    t = present(notebook(tmp_path / "1-n.ipynb", "-- typed out\nx = 1"), "--typing=0.001")
    state(t, "1/1  Enter shows all")
    t.send("\r")
    t.shows("1> -- typed out", ".. x = 1", "1/1  Enter runs, ? keys")
    r = cli("--present", "--auto", "0", "--typing", "1-n.ipynb")  # that is no speed
    assert r.returncode == 0 and "x = 1" in r.stdout


def test_narrow_and_resized(present, talk):
    t = present(talk, columns=20, rows=10)
    t.send("\r")
    t.shows("Has cells.", "", "1> x = 6", "2/5  Enter runs, ? …")
    t.resize(60, 20)
    t.shows("1> x = 6", "2/5  Enter runs, ? keys")
    t.send("g")
    state(t, "2/5  Enter goes there; r runs all up to it; Escape goes back")
    t.resize(20, 5)
    t.shows(">  2    x = 6", "   3    print('x is…", "2/5  Enter goes the…")
    t.send("\r\r")
    state(t, "2/5  Enter goes on")


def test_tall_cells_scroll(present, tmp_path):
    t = present(notebook(tmp_path / "n.ipynb", "\n".join(f"print({i})" for i in range(1, 13))), rows=6)
    t.shows("1> print(1)", ".. print(2)", ".. print(3)", ".. print(4)", "1/1  Enter runs, ? keys; Down: 8 more rows")
    t.send(DOWN * 12)
    t.shows(".. print(12)", "1/1  Enter runs, ? keys")
    t.send("\r")
    t.shows("10", "11", "12", "1/1  Enter goes on, ? keys")


def test_pictures_are_shown(present, tmp_path):
    """Half blocks: above in the colour of the text, below in that behind it."""
    t = present(notebook(tmp_path / "n.ipynb", "gpu.imshow(gpu.array({{0, 1}, {2, 3}}), {cmap = 'gray'})"), answer="\033[?1;2c")
    t.send("\r")
    state(t, "1/1  Enter goes on")
    rows = [y for y, row in enumerate(t.screen.display) if "\u2580" in row]
    cells = [[t.screen.buffer[y][x] for x in range(len(t.screen.display[y].rstrip()))] for y in rows]
    pixels = [[getattr(c, side) for c in row] for row in cells for side in ("fg", "bg")]
    n = len(pixels) // 2
    assert n > 1 and pixels == [["000000"] * n + ["555555"] * n] * n + [["aaaaaa"] * n + ["ffffff"] * n] * n


def test_no_color(present, talk):
    t = present(talk, NO_COLOR="1")
    t.send("\r")
    state(t, "2/5")
    sgr = [part.split(b"m")[0] for part in t.raw.split(b"\033[")[1:] if part[:1].isdigit() or part[:1] == b"m"]
    assert not any(code.startswith((b"3", b"9", b"1;3", b"1;9", b"38")) for code in sgr if code.replace(b";", b"").isdigit())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_sane_after_signals(terminal, talk, number):
    t = terminal("-c", f"'{BINARY}' --present '{talk}'; stty -a", command="/bin/sh")
    state(t, "1/5")
    pid = int(subprocess.run(["pgrep", "-P", str(t.child.pid)], capture_output=True, text=True).stdout)
    os.kill(pid, number)
    t.wait(lambda t: any("icanon" in line for line in t.lines()))
    assert not any("-icanon" in line or "-echo " in line for line in t.lines())


def test_the_terminal_is_sane_after_a_cell_that_exits(terminal, tmp_path):
    book = notebook(tmp_path / "n.ipynb", "os.exit(3)")
    t = terminal("-c", f"'{BINARY}' --present '{book}'; echo status $?; stty -a", command="/bin/sh")
    state(t, "1/1")
    t.send("\r")
    t.wait(lambda t: any("icanon" in line for line in t.lines()))
    assert "status 3" in t.lines() and not any("-icanon" in line or "-echo " in line for line in t.lines())


def test_it_plays_by_itself(terminal, cli, talk, tmp_path):
    t = terminal("--present", "--auto", "0", talk)
    assert t.ended() == 0
    t.shows("2> print('x is', x)", "x is    6", "", "More", "────", "", "3> x * 7", "42")
    r = cli("--present", "--auto", "0", talk)
    assert r.returncode == 0 and r.stderr == "" and "\033" not in r.stdout
    assert r.stdout == "\nThe talk\n════════\n\nHas cells.\n\n1> x = 6\n\n2> print('x is', x)\nx is\t6\n\nMore\n────\n\n3> x * 7\n42\n"
    bad = notebook(tmp_path / "bad.ipynb", "error 'a mistake'", ("error 'meant'", ["raises-exception"]), "print 'goes on'")
    r = cli("--present", "--auto", "0", bad)
    assert r.returncode == 1 and "a mistake" in r.stderr and "goes on" in r.stdout
    r = cli("--present", "--auto", "0", notebook(tmp_path / "n.ipynb", ("error 'meant'", ["raises-exception"])))
    assert r.returncode == 0


def test_without_a_terminal_it_says_what_to_do(cli, talk):
    r = cli("--present", talk)
    assert r.returncode == 1 and "--auto SECONDS" in r.stderr and r.stdout == ""


@pytest.mark.parametrize("args, said", [
    (["--present"], "--present needs a file"), (["--check"], "--check needs a file"),
    (["--present", "--auto"], "--auto needs SECONDS"), (["--present", "--auto", "soon"], "--auto needs a number"),
    (["--present", "--typing=fast"], "--typing needs"), (["--present", "--record"], "--record needs FILE"),
    (["--auto", "1", "x.ipynb"], "go with --present"), (["--check", "-e", "1", "x.ipynb"], "do not go with --check"), (["--typing", "5", "x.ipynb"], "go with --present"),
    (["--update", "x.lua"], "goes with --check"),
])
def test_wrong_options(cli, args, said):
    r = cli(*args)
    assert r.returncode == 1 and r.stdout == "" and said in r.stderr and len(r.stderr.splitlines()) == 1


@pytest.mark.parametrize("option", ["--present", "--check"])
def test_files_that_are_none(cli, option, tmp_path):
    (tmp_path / "broken.ipynb").write_text("{")
    for name, said in (("missing.ipynb", "No such file"), ("broken.ipynb", "not a notebook")):
        r = cli(option, "--auto", "0", name) if option == "--present" else cli(option, name)
        assert r.returncode == 1 and r.stdout == "" and name in r.stderr and said in r.stderr


# Recordings

def events(path, columns, rows):
    """The events of a cast, all of whose lines are checked; and the screen that it ends with."""
    header, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert header["version"] == 2 and (header["width"], header["height"]) == (columns, rows) and header["timestamp"] > 0
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    last = 0
    for time, kind, data in lines:
        assert time >= last and kind in "or" and isinstance(data, str) and "\ufffd" not in data
        last = time
        if kind == "r":
            width, height = map(int, data.split("x"))
            screen.resize(height, width)
        else:
            stream.feed(data)
    return lines, [row.rstrip() for row in screen.display]


def test_a_recording_gives_the_screen_again(present, tmp_path):
    book = notebook(tmp_path / "n.ipynb", markdown("# Ümläute und 漢字"), "print('grüße', '漢字')", "os.execute 'echo from a program'")
    cast = tmp_path / "n.cast"
    t = present(book, "--record", str(cast))
    t.send("\r\r\r\r")
    state(t, "3/3  Enter goes on")
    t.resize(60, 20)
    t.send("\r")
    state(t, "3/3  the end")
    t.send("qq")
    assert t.ended() == 0
    lines, screen = events(cast, 80, 24)
    assert [e[2] for e in lines if e[1] == "r"] == ["60x20"]
    assert [line for line in screen if line] == [line for line in t.lines() if line]
    assert "from a program" in screen and "grüße   漢字".replace(" ", "") in "".join(screen).replace(" ", "")


def test_a_recording_is_suspended_and_goes_on(terminal, talk, tmp_path):
    cast = tmp_path / "n.cast"
    t = terminal("--norc", "--noprofile", "-i", command="/bin/bash", PS1="$ ")
    t.send(f"{BINARY} --present --record {cast} {talk}; echo left\n")
    state(t, "1/5  Enter goes on")
    t.send("\r\r\x1a")
    t.wait(lambda t: t.lines()[-1] == "$" and any("Stopped" in line for line in t.lines()))
    t.send("echo between\n")
    t.wait(lambda t: t.lines()[-2:] == ["between", "$"])
    t.send("fg\n")
    state(t, "2/5  Enter goes on")
    t.send("\r\r")
    t.wait(lambda t: t.lines()[-2:] == ["x is    6", "3/5  Enter goes on, ? keys"])
    t.send("qq")
    t.wait(lambda t: t.lines()[-1] == "$")
    t.send("exit\n")
    t.wait_end()
    lines, screen = events(cast, 80, 24)
    assert "x is    6" in screen and not any("between" in e[2] or "Stopped" in e[2] for e in lines)


def test_a_recording_that_was_stopped_is_drawn_again(present, talk, tmp_path):
    t = present(talk, "--record", str(tmp_path / "n.cast"))
    t.send("\r")
    state(t, "2/5  Enter runs")
    t.child.kill(signal.SIGSTOP)
    t.wait(lambda t: open(f"/proc/{t.child.pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T")
    t.stream.feed(b"\033[2J\033[H")
    t.child.kill(signal.SIGCONT)
    state(t, "2/5  Enter runs")
    t.send("qq")
    assert t.ended() == 0


def test_a_recording_without_a_terminal(cli, talk, tmp_path):
    r = cli("--present", "--auto", "0", "--record", "talk.cast", talk)
    assert r.returncode == 0
    lines, screen = events(tmp_path / "talk.cast", 80, 24)
    assert [line for line in screen if line][-2:] == ["3> x * 7", "42"]
    bad = notebook(tmp_path / "bad.ipynb", "os.exit(3)")
    assert cli("--present", "--auto", "0", "--record", "bad.cast", bad).returncode == 3
    r = cli("--present", "--auto", "0", "--record", "no/such/folder.cast", talk)
    assert r.returncode == 1 and "no/such/folder.cast" in r.stderr


# Checks

def test_check_says_what_differs(cli, tmp_path):
    good = [markdown("# T"), executed("print 'one'\nprint 'two'", printed(["one\n", "two\n"])),
            executed("1 + 1", {"output_type": "execute_result", "data": {"text/plain": "2"}, "metadata": {}, "execution_count": 2}),
            executed("print(os.clock())", printed("0.1\n"), tags=["volatile"]), "x = 1"]
    r = cli("--check", notebook(tmp_path / "n.ipynb", *good))
    assert r.returncode == 0 and r.stderr == ""
    assert r.stdout.endswith("n.ipynb: 4 code cells: 2 as expected, 2 not compared, 0 different, 0 failed\n")
    bad = notebook(tmp_path / "n.ipynb", *good, executed("print 'one'\nprint 'three'", printed("one\ntwo\n")),
                   executed("print 'new'"), executed("x = 2", printed("gone")), "error 'a mistake'",
                   executed("error 'a mistake'", tags=["volatile"]))
    r = cli("--check", bad)
    assert r.returncode == 1 and r.stderr == ""
    assert "cell 6 differs: print 'one'\n    one\n  - two\n  + three\n" in r.stdout
    assert "cell 7 differs: print 'new'\n  + new\n" in r.stdout
    assert "cell 8 differs: x = 2\n  - gone\n" in r.stdout
    assert "cell 9 fails: error 'a mistake'\n  cell 8:1: a mistake\n" in r.stdout
    assert "cell 10 fails" in r.stdout
    assert "9 code cells: 2 as expected, 2 not compared, 3 different, 2 failed" in r.stdout


def test_check_of_errors(cli, tmp_path):
    def error(text):
        return {"output_type": "error", "ename": "LuaError", "evalue": text, "traceback": [f"\033[31m{text}\033[0m", "    1 | error 'meant'", "..."]}
    ok = notebook(tmp_path / "n.ipynb", executed("error 'meant'", error("cell 1:1: meant"), tags=["raises-exception"]),
                  ("error 'meant, not stored'", ["raises-exception"]))
    assert cli("--check", ok).returncode == 0
    other = notebook(tmp_path / "n.ipynb", executed("error 'meant'", error("cell 1:1: other"), tags=["raises-exception"]))
    r = cli("--check", other)
    assert r.returncode == 1 and "- cell 1:1: other" in r.stdout and "+ cell 1:1: meant" in r.stdout


def test_check_can_be_interrupted(env, tmp_path):
    started = tmp_path / "started"
    book = notebook(tmp_path / "n.ipynb", f"io.open('{started}', 'w'):close() while true do end")
    p = subprocess.Popen([BINARY, "--check", book], env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not started.exists() and p.poll() is None:
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 130 and out == "" and "interrupted in cell 1" in err


# Demos in Lua

DEMO = """-- %% [markdown]
-- # A talk
--
-- with *cells*

-- %%
local n = 6
print('n is', n)
--> n is 6

-- %% tags=["volatile"]
print(os.clock())
--> 0.1

-- %%
print('took ' .. os.clock() .. ' s')
print 'a'
print 'b'
print 'end'
--> took ... s
--> ...
--> end

-- %% tags=["raises-exception"]
error 'meant'
--> cell 4:1: meant
--> ...

-- %%
x = 1
"""


def test_lua_with_cell_marks(cli, tmp_path):
    (tmp_path / "talk.lua").write_text(DEMO)
    r = cli("--check", "talk.lua")
    assert (r.returncode, r.stderr) == (0, "")
    assert r.stdout == "talk.lua: 5 code cells: 3 as expected, 2 not compared, 0 different, 0 failed\n"
    r = cli("--present", "--auto", "0", "talk.lua")
    assert r.returncode == 0 and "meant" in r.stderr and "-->" not in r.stdout + r.stderr
    assert r.stdout.startswith("\nA talk\n══════\n\nwith cells\n\n1> local n = 6\n.. print('n is', n)\nn is\t6\n\n2> print(os.clock())\n")
    (tmp_path / "talk.lua").write_text(DEMO.replace("n is 6", "n is 7").replace("--> end", "--> the end"))
    r = cli("--check", "talk.lua")
    assert r.returncode == 1 and r.stderr == ""
    assert "cell 2 differs: local n = 6\n  - n is 7\n  + n is\t6\n" in r.stdout
    assert "cell 4 differs: " in r.stdout and "  - the end\n" in r.stdout and "3 as expected" not in r.stdout


def test_lua_without_marks_is_one_cell(cli, tmp_path):
    (tmp_path / "one.lua").write_text("print(1)\nprint(2)\n--> 1\n--> 2\n")
    assert cli("--check", "one.lua").stdout == "one.lua: 1 code cell: 1 as expected, 0 not compared, 0 different, 0 failed\n"
    (tmp_path / "none.lua").write_text("")
    assert "0 code cells" in cli("--check", "none.lua").stdout
    assert cli("--present", "--auto", "0", "none.lua").returncode == 0


def test_cells_of_lua_are_presented(present, tmp_path):
    (tmp_path / "talk.lua").write_text(DEMO)
    t = present(str(tmp_path / "talk.lua"))
    t.send("2\r\r")
    t.shows("1> local n = 6", ".. print('n is', n)", "n is    6", "2/6  Enter goes on, ? keys")
    t.send("6\r")
    t.shows("2> x = 1", "6/6  Enter runs, ? keys")


def test_update_writes_what_came(cli, tmp_path):
    file = tmp_path / "talk.lua"
    file.write_text(DEMO.replace("n is 6", "old").replace("--> end", "--> other"))
    r = cli("--check", "--update", "talk.lua")
    assert (r.returncode, r.stderr) == (0, "") and "3 as expected" in r.stdout
    text = file.read_text()
    assert "print('n is', n)\n--> n is\t6\n" in text and "--> 0.1\n" in text and "--> cell 4:1: meant\n--> ...\n" in text
    assert "print 'end'\n--> took " in text and text.endswith("-- %%\nx = 1\n")
    assert text.count("-- %%") == DEMO.count("-- %%")
    for text in "error 'a mistake'\n", "print(nil .. '')\n--> fine\n":
        file.write_text(text)
        assert cli("--check", "--update", "talk.lua").returncode == 1 and file.read_text() == text
    r = cli("--check", "--update", notebook(tmp_path / "n.ipynb", "1"))
    assert r.returncode == 1 and "--inplace" in r.stderr
