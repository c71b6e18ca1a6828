"""The status line, progress bars in narrow and changing terminals, and what the prompt does not wait for."""

import os

from terminal import BINARY, ready


def test_the_status_line(terminal):
    t = ready(terminal)
    t.send("shell.status = true\r")
    t.wait(lambda t: t.lines()[-2:] == ["2>", "cpu  0 B in use"] and t.cursor == (len(t.lines()) - 2, 3))
    t.send("x = gpu.zeros(1000)\r")
    t.wait(lambda t: t.lines()[-2] == "3>" and t.lines()[-1].startswith("cpu  3.9 KiB in use  ") and t.lines()[-1].endswith(" ms"))
    assert not any("in use" in line for line in t.lines()[:-1])
    t.send("for i = 1, 2 do\r")
    t.wait(lambda t: t.lines()[-3:-1] == ["3> for i = 1, 2 do", ".."] and "in use" in t.lines()[-1])
    t.send("\x03shell.status = false\r")
    t.wait(lambda t: t.lines()[-1] == "4>" and not any("in use" in line for line in t.lines()))


def test_the_status_line_in_a_small_terminal(terminal):
    t = ready(terminal, columns=20, rows=6)
    t.send("shell.status = true gpu.zeros(1000):sum()\r")
    t.wait(lambda t: t.lines()[-2:-1] == ["2>"] and t.lines()[-1].startswith("cpu ") and len(t.lines()[-1]) <= 20)
    t.send("x = '" + "漢" * 30)
    t.wait(lambda t: t.screen.display[t.cursor[0]].strip() and "cpu " in t.lines()[-1] and len(t.lines()) <= 6)


def test_no_device_is_opened_for_it(terminal):
    t = ready(terminal, LUNARRAY_CUDA="/nowhere/libcuda.so", LUNARRAY_DEVICE="")
    assert t.lines()[0] == "lunarray 0.1.0, Lua 5.4; ? for help, Ctrl-D to leave"
    t.send("shell.status = true\r")
    t.wait(lambda t: t.lines()[-2:] == ["2>", "no device was used yet"])


def maps(t):
    with open(f"/proc/{t.child.pid}/maps") as f:
        return f.read()


def test_a_driver_is_loaded_behind_the_prompt(terminal):
    driver = os.path.join(os.path.dirname(BINARY), "libcuda-simt.so")
    t = ready(terminal, LUNARRAY_CUDA=driver, LUNARRAY_DEVICE="")
    assert t.lines()[0] == "lunarray 0.1.0, Lua 5.4; ? for help, Ctrl-D to leave"
    t.send("x = 1 + 1\r")
    t.at_prompt(2)
    assert "libcuda-simt" not in maps(t)
    t.send("gpu.ones(3).device\r")
    t.at_prompt(3)
    assert t.lines()[-2] == '"cuda:0"' and "libcuda-simt" in maps(t)


BAR = "for i in gpu.progress(3, 'LABEL') do io.read() end print('after')\r"


def test_progress_at_twenty_columns_is_one_row(terminal):
    for label in ("a long label of the loop", "漢字漢字漢字漢字漢字", "x"):
        t = ready(terminal, columns=20)
        t.send(BAR.replace("LABEL", label).replace("io.read()", "local s = os.clock() while os.clock() < s + 0.06 do end"))
        t.at_prompt(2)
        assert t.lines()[-2] == "after"
        shown = t.lines()[t.lines().index("after") - 1]
        assert shown.startswith(label[:5]) and "0%" not in " ".join(t.lines()).replace("100%", ""), t.lines()


def test_progress_while_the_terminal_narrows(terminal):
    t = ready(terminal, columns=76)
    t.send("clock = function() local s = os.clock() while os.clock() < s + 0.06 do end end\r")
    t.at_prompt(2)
    t.send("for i in gpu.progress(4, 'steps') do clock() if i == 3 then io.read() end end print('after')\r")
    t.wait(lambda t: any("2/4" in line for line in t.lines()))
    width = len(next(line for line in t.lines() if "2/4" in line))
    t.resize(40, 24)
    t.send("\n")
    t.at_prompt(3)
    assert f"\033[{(width - 1) // 40}A\r\033[J".encode() in t.raw
    assert "4/4" in t.lines()[-3] and t.lines()[-2] == "after"
