"""The shell in a real pseudo-terminal, its screen read through a terminal emulator."""

import os
import re
import shutil
import time

import pytest
from terminal import ready

UP, DOWN, LEFT = "\033[A", "\033[B", "\033[D"


def test_banner_and_result(terminal):
    t = ready(terminal)
    assert t.lines()[0].startswith("lunarray ") and "cpu" in t.lines()[0]
    t.send("1 + 1\r")
    t.at_prompt(2)
    t.shows("1> 1 + 1", "2", "2>")


def test_print_and_unfinished_line(terminal):
    t = ready(terminal)
    t.send("do io.write('abc') end\r")
    t.at_prompt(2)
    t.shows("abc", "2>")
    t.send("os.execute('printf def')\r")
    t.at_prompt(3)
    assert any(line.startswith("def") for line in t.lines())
    t.send("local held = gpu.zeros(5, 'cpu')\r")
    t.at_prompt(4)
    t.send("gpu.memory('cpu').arrays[1].name\r")
    t.at_prompt(5)
    t.shows('"held"', "5>")


def test_several_lines(terminal):
    t = ready(terminal)
    t.send("for i = 1, 2 do\r")
    t.wait(lambda t: t.lines()[-2:] == ["1> for i = 1, 2 do", ".."] and t.cursor[1] == 5)
    t.send("print('line', i)\rend\r")
    t.at_prompt(2)
    t.shows("1> for i = 1, 2 do", "..   print('line', i)", ".. end", "line\t1".expandtabs(8), "line\t2".expandtabs(8), "2>")


def test_the_block_is_edited_as_a_whole(terminal):
    t = ready(terminal)
    t.send("do\rprint('x')\r" + UP + "\x05" + LEFT + LEFT + "y" + DOWN + "end\r")
    t.at_prompt(2)
    t.shows("..   print('xy')", "..   end", "xy", "2>")


def test_errors(terminal):
    t = ready(terminal)
    t.send("error('a mistake')\r")
    t.at_prompt(2)
    assert any("a mistake" in line for line in t.lines())
    t.send("x = = 1\r")
    t.at_prompt(3)
    assert any("near '='" in line for line in t.lines())
    t.send("'alive'\r")
    t.at_prompt(4)
    assert any("alive" in line for line in t.lines()[-2:])


def test_interrupt_keeps_the_state(terminal):
    t = ready(terminal)
    t.send("x = 42\r")
    t.at_prompt(2)
    t.send("print 'running' while true do end\r")
    t.wait(lambda t: "running" in t.lines())
    t.send("\x03")
    t.at_prompt(3)
    assert any("interrupted" in line.lower() for line in t.lines())
    t.send("x\r")
    t.at_prompt(4)
    t.shows("3> x", "42", "4>")


def test_interrupts_of_a_finalizer_are_explained(terminal, tmp_path):
    t = ready(terminal)
    done = tmp_path / "done"
    t.send(f"setmetatable({{}}, {{__gc = function() print 'running' while not io.open('{done}') do end end}}) collectgarbage()\r")
    t.wait(lambda t: "running" in t.lines())
    for _ in range(2):
        t.send("\x03")
        time.sleep(0.1)  # each a signal of its own
    assert not any("Ctrl-\\" in line for line in t.lines())
    t.send("\x03")
    t.wait(lambda t: any("what runs now does not stop before its end" in line for line in t.lines()))
    done.touch()
    t.at_prompt(2)


def test_a_program_that_is_interrupted_ends_its_cell(terminal):
    t = ready(terminal)
    t.send("for i = 1, 3 do print('run', i) print(os.execute('sleep 1000')) end\r")
    t.wait(lambda t: any(line.split() == ["run", "1"] for line in t.lines()))
    time.sleep(0.3)  # sleep has begun
    t.send("\x03")
    t.at_prompt(2)
    assert any("interrupted" in line for line in t.lines()) and not any(line.split() == ["run", "2"] for line in t.lines())
    t.send("print(os.execute('exit 3'))\r")
    t.at_prompt(3)
    t.shows("nil     exit    3", "3>")


def test_lines_that_are_read_are_interrupted(terminal):
    t = ready(terminal)
    t.send("print 'reads' for line in io.lines() do print('<' .. line .. '>') end\r")
    t.wait(lambda t: "reads" in t.lines())
    t.send("one\r")
    t.wait(lambda t: "<one>" in t.lines())
    time.sleep(0.3)  # the next read has begun
    t.send("\x03")
    t.at_prompt(2)
    assert "interrupted" in t.lines()


def test_a_password_is_not_shown(terminal):
    t = ready(terminal)
    t.send("key = io.password('Key: ')\r")
    t.wait(lambda t: any(line.startswith("Key:") for line in t.lines()))
    t.send("s3cret\r")
    t.at_prompt(2)
    assert not any("s3cret" in line for line in t.lines())
    t.send("key\r")
    t.at_prompt(3)
    t.shows('"s3cret"', "3>")
    t.send("io.password('Again: ')\r")
    t.wait(lambda t: any(line.startswith("Again:") for line in t.lines()))
    t.send("\x03")
    t.at_prompt(4)
    assert any("interrupted" in line for line in t.lines())
    t.send("'echoed'\r")
    t.at_prompt(5)
    t.shows("4> 'echoed'", '"echoed"', "5>")


SPIN = "gpu.kernel [[__global__ void spin(float *x) { while (true) x[0] += 1; }]]"


def test_interrupt_of_a_kernel_keeps_the_arrays(terminal, cli):
    if cli("-e", SPIN, LUNARRAY_DEVICE="simt").returncode != 0:
        pytest.skip("no NVRTC here")
    t = ready(terminal, LUNARRAY_DEVICE="simt")
    t.send(f"x = gpu.ones(3) spin = {SPIN}\r")
    t.at_prompt(2)
    t.send("print 'running' spin(1, 1)(gpu.zeros(1))\r")
    t.wait(lambda t: "running" in t.lines())
    t.send("\x03")
    t.at_prompt(3)
    assert any("interrupted" in line.lower() for line in t.lines())
    t.send("x:sum()\r")
    t.at_prompt(4)
    t.shows("3> x:sum()", "3.0", "4>")


FALL = "gpu.kernel [[__global__ void down(float *x) { for (unsigned i = 2; i >= 0; i--) x[i] += 1; }]]"


@pytest.mark.parametrize("launch", ["down(1, 1)(gpu.ones(3))", "gpu.check(function() down(1, 1)(gpu.ones(3)) end)"],
                         ids=["launched", "within gpu.check"])
def test_interrupted_kernel_tells_what_the_checks_found(terminal, cli, launch):
    if cli("-e", FALL, LUNARRAY_DEVICE="simt").returncode != 0:
        pytest.skip("no NVRTC here")
    t = ready(terminal, LUNARRAY_DEVICE="simt")
    t.send(f"down = {FALL}\r")
    t.at_prompt(2)
    t.send(f"print 'running' {launch}\r")
    t.wait(lambda t: "running" in t.lines())
    time.sleep(0.5)
    t.send("\x03")
    t.at_prompt(3)
    text = "\n".join(t.lines())
    assert "cell 1:1: interrupted" in text and "x[i] += 1" in text
    assert "in kernel down, block (0, 0, 0), thread (0, 0, 0); until then:" in text
    assert "out of bounds: x[42" in text and "x has 3" in text


def test_control_c_clears_the_line(terminal):
    t = ready(terminal)
    t.send("some text\x03")
    t.shows("1> some text", "1>")
    t.at_prompt(1)
    t.send("7\r")
    t.at_prompt(2)
    t.shows("1> 7", "7", "2>")


def test_control_d_leaves(terminal):
    t = ready(terminal)
    t.send("\x04")
    assert t.ended() == 0


def test_exit_word_leaves(terminal):
    t = ready(terminal)
    t.send("exit\r")
    assert t.ended() == 0


def test_os_exit_status(terminal):
    t = ready(terminal)
    t.send("print 'last words' os.exit(3)\r")
    assert t.ended() == 3
    assert any(line == "last words" for line in t.lines())


def test_help(terminal):
    t = ready(terminal)
    t.send("?\r")
    t.wait(lambda t: any("Ctrl-R" in line for line in t.lines()) and t.lines()[-1] == "1>")


def test_tables_of_help_go_on_in_their_column(terminal):
    t = ready(terminal, columns=80, rows=200)
    for ask, words in (("??", ("enter", "object")), ("?linalg", ("gpu.linalg.cond", "singular")), ("%lsmagic", ("%time", "begin"))):
        before = len(t.raw)
        t.send(ask + "\r")
        t.wait(lambda t: t.raw.count(b"\033[?2004h") > t.raw[:before].count(b"\033[?2004h"))
        text = re.sub(r"\033\[[?0-9;]*[A-Za-z]", "", t.raw[before:].decode())
        lines = [line.split("\r")[-1] for line in text[text.index("\n"):].replace("\r\n", "\n").split("\n")]
        assert all(len(line) <= 80 for line in lines), [line for line in lines if len(line) > 80]
        assert all(any(word in line for line in lines) for word in words)
    assert "enter                  Enter                    runs the cell when it is\r\n" + 48 * " " + "complete," in t.raw.decode()


def test_help_with_keys(terminal):
    t = ready(terminal, columns=140, rows=160)
    t.send("??\r")
    t.wait(lambda t: any(re.match(r"search +C-r, C-s +searches earlier cells", line) for line in t.lines()) and t.lines()[-1] == "1>")


def test_paste_inserts_and_runs_nothing(terminal):
    t = ready(terminal)
    assert b"\033[?2004h" in t.raw
    t.send("\033[200~print('one')\rprint('two')\r\033[201~")
    t.shows("1> print('one')", ".. print('two')", "..")
    t.send("\r")
    t.at_prompt(2)
    t.shows("..", "one", "two", "2>")


def test_history_lives_across_starts(terminal):
    t = ready(terminal)
    t.send("first = 'entry'\r")
    t.at_prompt(2)
    t.send("do\rsecond = 2\rend\r")
    t.at_prompt(3)
    t.send("\x04")
    assert t.ended() == 0
    t = ready(terminal)
    t.send(UP)
    t.shows("1> do", "..   second = 2", ".. end")
    t.send(UP)
    t.wait(lambda t: t.lines()[-1] == "1> first = 'entry'")
    t.send(DOWN + DOWN)
    t.at_prompt(1)
    t.send("\x12seco")
    t.shows("1> do", "..   second = 2", ".. end", "search: seco")
    t.send("\r")
    t.at_prompt(2)


def test_history_is_shared_between_shells(terminal):
    a, b = ready(terminal), ready(terminal)
    a.send("first = 1\r")
    a.at_prompt(2)
    b.send(UP)
    b.wait(lambda t: t.lines()[-1] == "1> first = 1")
    b.send("\x15second = 2\r")
    b.at_prompt(2)
    a.send(UP)
    a.wait(lambda t: t.lines()[-1] == "2> second = 2")
    a.send("\x15fir")
    a.wait(lambda t: t.lines()[-1] == "2> first = 1")  # suggested
    a.send("\r")
    a.at_prompt(3)
    assert "2> fir" in a.lines()


def test_completion(terminal):
    t = ready(terminal)
    t.send("string.form\t")
    t.wait(lambda t: t.lines()[-1].startswith("1> string.format"))
    t.send("\x15string.re\t")
    note = "rep      (s, n"  # beside the menu
    t.wait(lambda t: all(any(part in line for line in t.lines()) for part in ("rep", "reverse", note)))
    t.send("\t")
    t.wait(lambda t: any(line == "1> string.rep" for line in t.lines()))
    t.send("\033")
    t.wait(lambda t: t.lines()[-1] == "1> string.re")


def test_suggestions_and_signatures(terminal):
    t = ready(terminal)
    t.send("x = gpu.linspace(0, 1,\r")
    t.wait(lambda t: t.lines()[-1].startswith("gpu.linspace(start, stop [, count"))
    y, x = at(t, "gpu.linspace(start, stop")
    _, count = at(t, "count")
    assert t.screen.buffer[y][count].bold and not t.screen.buffer[y][x + 20].bold
    t.send("3)\r")
    t.at_prompt(2)
    t.send("x = ")
    t.wait(lambda t: t.lines()[-1] == "2> x = gpu.linspace(0, 1,…" and t.cursor[1] == 7)
    t.send("\033[C\r")
    t.at_prompt(3)
    assert [line for line in t.lines() if line.startswith("2>")] == ["2> x = gpu.linspace(0, 1,"]


def test_wide_characters(terminal):
    t = ready(terminal, columns=20)
    t.send("'漢字漢字漢字漢字é'")
    t.wait(lambda t: "'" in t.lines()[-1] and t.cursor[1] > 0 and len(t.lines()) >= 2 and "é" in t.lines()[-1])
    t.send("\r")
    t.at_prompt(2)
    t.wait(lambda t: any("é" in line for line in t.lines()[-3:-1]))


def test_twenty_columns(terminal):
    t = ready(terminal, columns=20, rows=10)
    t.send("x = 1234567890123456789")
    t.wait(lambda t: t.lines()[-2:] == ["1> x = 1234567890123", "456789"] and t.cursor[1] == 6)
    t.send("\x01y")
    t.wait(lambda t: t.lines()[-2:] == ["1> yx = 123456789012", "3456789"] and t.cursor[1] == 4)
    t.send("\x0b")
    t.wait(lambda t: t.lines()[-1] == "1> y")


def test_resize(terminal):
    t = ready(terminal, columns=60)
    t.send("a = '" + "x" * 40)
    t.wait(lambda t: t.lines()[-1] == "1> a = '" + "x" * 40)
    t.resize(30, 24)
    t.wait(lambda t: t.lines()[-2:] == ["1> a = '" + "x" * 22, "x" * 18])
    t.send("'\r")
    t.at_prompt(2)


def test_tall_blocks(terminal):
    t = ready(terminal, rows=8)
    t.send("\033[200~do\n" + "\n".join(f"x{i} = {i}" for i in range(20)) + "\nend\033[201~")
    t.wait(lambda t: t.lines()[-1] == ".. end")
    t.send("\033<")
    t.wait(lambda t: t.screen.display[t.cursor[0]].rstrip() == "1> do")
    t.send("\r")
    t.at_prompt(2)
    t.send("x19\r")
    t.at_prompt(3)
    t.shows("2> x19", "19", "3>")


def test_what_is_shown_below_a_tall_cell_has_its_place(terminal):
    t = ready(terminal, rows=8)
    t.send("\033[200~do\n" + "\n".join(f"x{i} = {i}" for i in range(20)) + "\nend\033[201~")
    t.wait(lambda t: t.lines()[-1] == ".. end")
    t.send("\033<\033[B\033[B\033[B\033[B\033[F + math.si\t")  # in the middle of the screen
    t.wait(lambda t: t.lines()[-1].startswith("sin") and any(line == ".. x3 = 3 + math.sin" for line in t.lines()[:-1]))
    t.send("(")
    t.wait(lambda t: t.lines()[-1].startswith("math.sin(x") and any("math.sin(" in line for line in t.lines()[:-1]))
    t.send("\x12x7")
    t.wait(lambda t: t.lines()[-1] == "not found: x7")
    t.send("\x07\x03")
    t.at_prompt(1)


def test_a_search_that_finds_a_tall_cell_shows_what_is_searched(terminal):
    t = ready(terminal, rows=8)
    t.send("\033[200~do\n" + "\n".join(f"x{i} = {i}" for i in range(20)) + "\nend\033[201~\r")
    t.at_prompt(2)
    t.send("\x12x9")
    t.wait(lambda t: t.lines()[-1] == "search: x9" and len(t.lines()) == 8 and ".. x9 = 9" in t.lines())
    t.send("\r")
    t.at_prompt(3)


def test_clear_screen(terminal):
    t = ready(terminal)
    t.send("1\r")
    t.at_prompt(2)
    t.send("abc\x0c")
    t.wait(lambda t: t.lines() == ["2> abc"])


def test_no_color(terminal):
    t = ready(terminal, NO_COLOR="1")
    t.send("for i = 1, 2 do end error('x')\r")
    t.at_prompt(2)
    assert not re.search(rb"\033\[[0-9;]*m", t.raw)


def test_color(terminal):
    t = ready(terminal)
    t.send("for")
    t.wait(lambda t: t.lines()[-1] == "1> for" and b"\033[35mfor" in t.raw)


def at(t, text):
    """Where a text begins on the screen, the last time."""
    return ([(0, 0)] + [(y, line.index(text)) for y, line in enumerate(t.screen.display) if text in line])[-1]


def test_mistakes_are_underlined(terminal):
    t = ready(terminal)
    t.send("x = = 1 + 2")
    def underlined(t):
        y, x = at(t, "= 1")
        cells = [t.screen.buffer[y][i].underscore for i in range(x - 2, x + 3)]
        return cells == [False, False, True, False, False]
    t.wait(underlined)
    t.send("\x01\x0bprint('abc")
    t.wait(lambda t: "1> print('abc" in t.lines())


def test_brackets_and_kernels_in_colour(terminal):
    t = ready(terminal)
    t.send("k = gpu.kernel [[ int x; ]] f(1)")
    t.wait(lambda t: t.screen.buffer[at(t, "f(1)")[0]][at(t, "f(1)")[1] + 1].bold)
    y, x = at(t, "int x")
    assert t.screen.buffer[y][x].fg == t.screen.buffer[y][x + 2].fg != t.screen.buffer[y][x + 4].fg == "default"
    assert t.screen.buffer[y][at(t, "f(1)")[1] + 3].bold


def test_vi_mode(terminal, tmp_path):
    (tmp_path / ".config" / "lunarray").mkdir(parents=True)
    (tmp_path / ".config" / "lunarray" / "init.lua").write_text("shell.vi = true")
    t = ready(terminal)
    t.send("x = one + two")
    t.wait(lambda t: t.lines()[-1] == "1> x = one + two")
    t.send("\033")
    t.wait(lambda t: t.lines()[-1] == "1: x = one + two" and t.cursor[1] == 15)
    t.send("0wwcw1\033wwC2\033")
    t.wait(lambda t: t.lines()[-1] == "1: x = 1 + 2")
    t.send("\r")
    t.at_prompt(2)
    t.send("x\r")
    t.at_prompt(3)
    t.shows("2> x", "3", "3>")


def test_keys_of_the_init_file(terminal, tmp_path):
    (tmp_path / ".config" / "lunarray").mkdir(parents=True)
    (tmp_path / ".config" / "lunarray" / "init.lua").write_text("shell.keys = {['C-o'] = 'run', ['M-x'] = 'line-start', ['C-a'] = false}")
    t = ready(terminal)
    t.send("+ 2\033x\x0140\x0f")
    t.at_prompt(2)
    t.shows("1> 40+ 2", "42", "2>")
    t.send("shell.keys['M-x'] = 'fly'\r")
    t.at_prompt(3)
    assert any("there is no command \"fly\"" in line for line in t.lines())


def test_dumb_terminal(terminal):
    t = terminal(TERM="dumb")
    t.wait(lambda t: t.lines()[-1].startswith(">>"))
    t.send("for i = 1, 2 do\nprint(i)\nend\n")
    t.wait(lambda t: t.lines()[-1] == ">>" and "2" in t.lines())
    assert b"\033" not in t.raw
    t.send("\x04")
    assert t.ended() == 0


def test_script_then_shell(terminal, tmp_path):
    (tmp_path / "script.lua").write_text("answer = 42 print('from the script', ...)")
    t = terminal("-i", str(tmp_path / "script.lua"), "an argument")
    t.at_prompt(1)
    assert any("from the script" in line for line in t.lines())
    t.send("answer\r")
    t.at_prompt(2)
    t.shows("1> answer", "42", "2>")


def test_what_is_typed_ahead_is_not_lost(terminal, tmp_path):
    t = ready(terminal)
    os.mkfifo(tmp_path / "end")
    t.send(f"print 'busy' os.execute('read line < {tmp_path}/end')\r")
    t.wait(lambda t: "busy" in t.lines())
    t.send("'typed ' .. 'ahead'")
    (tmp_path / "end").write_text("now\n")
    t.wait(lambda t: t.lines()[-1] == "2> 'typed ' .. 'ahead'")
    t.send("\r")
    t.at_prompt(3)
    assert any("typed ahead" in line for line in t.lines())


def test_documentation_is_broken_at_words(terminal):
    t = ready(terminal, columns=50, rows=40)
    t.send("?gpu.linspace\r")
    t.at_prompt(2)
    rows = t.lines()
    first = next(i for i, row in enumerate(rows) if row.startswith("Evenly spaced numbers"))
    words = " ".join(rows[first:]).split()
    assert rows[first + 1].endswith("is false,") and rows[first + 2].startswith("which may")
    assert "unless" in words and "dtype" in words
    assert "    local x = gpu.linspace(0, 1, 5)" in rows


def test_displays_change_in_place_until_something_follows(terminal):
    t = ready(terminal)
    t.send("h = display('one\\ntwo') h:update('three') g = display(1) g:update(2)\r")
    t.at_prompt(2)
    assert '"three"' in t.lines() and "2" in t.lines() and "1" not in t.lines()
    assert not any("one" in line or "two" == line for line in t.lines()[2:])
    t.send("h = display(10) print('between') h:update(20)\r")
    t.at_prompt(3)
    t.shows("10", "between", "20", "3>")
    t.send("h = display(30) h:clear() h:update(('x'):rep(200)) h:update(40)\r")
    t.at_prompt(4)
    assert t.lines()[-2:] == ["40", "4>"] and "30" not in t.lines() and not any("xx" in line for line in t.lines())
    t.send("h:update(50)\r")
    t.at_prompt(5)
    t.shows("40", "4> h:update(50)", "50", "5>")


def test_what_is_cleared_is_taken_back(terminal):
    t = ready(terminal)
    t.send("for i = 1, 3 do display.clear(true) io.write('step ', i) end display.clear(true)\r")
    t.at_prompt(2)
    assert t.lines()[-2:] == ["step 3", "2>"] and "step 1" not in t.lines(), t.lines()
    t.send("for i = 5, 7 do display.clear(true) display(i) end display.clear() print('kept') display.clear() 8\r")
    t.at_prompt(3)
    assert t.lines()[-3:] == ["kept", "8", "3>"] and not {"5", "6", "7"} & set(t.lines()), t.lines()


def test_progress_is_one_line_redrawn(terminal):
    t = ready(terminal)
    t.send("for i in gpu.progress(20000, 'steps') do end print('after')\r")
    t.at_prompt(2)
    bars = [line for line in t.lines() if line.startswith("steps ")]
    assert len(bars) == 1 and "100%" in bars[0] and "20000/20000" in bars[0], t.lines()
    assert b"steps   0%" in t.raw
    t.shows(bars[0], "after", "2>")


def test_images_are_half_blocks(terminal):
    t = ready(terminal)
    t.send("gpu.imshow(gpu.array({{0, 1}, {2, 3}}), {cmap = 'gray'})\r")
    t.at_prompt(2)
    rows = [y for y, line in enumerate(t.lines()) if "\u2580" in line]
    assert len(rows) == 8 and all(t.lines()[y] == "\u2580" * 16 for y in rows)
    corners = [t.screen.buffer[rows[y]][x] for y in (0, 7) for x in (0, 15)]
    assert [(c.fg, c.bg) for c in corners] == [(c, c) for c in ("000000", "555555", "aaaaaa", "ffffff")]
    t.send("gpu.imshow(gpu.zeros(2000, 1000))\r")
    t.at_prompt(3)
    picture = [line for line in t.lines() if line.startswith("\u2580")]
    assert list(map(len, picture[-21:])) == [21] * 21  # all of the screen but three rows


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="no gnuplot")
def test_plots_are_letters(terminal):
    t = ready(terminal)
    t.send("gpu.plot({0, 1, 4, 9}, {title = 'squares', ylabel = 'y'})\r")
    t.at_prompt(2)
    lines = t.lines()
    assert any(line.strip() == "squares" for line in lines) and any(line.lstrip().startswith("9 +--") for line in lines)
    assert sum("-" in line[12:-5] for line in lines) > 5, lines
