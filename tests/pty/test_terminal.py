"""Who has the terminal: the shell, a command, a cell or another process, and how it is left when the shell stops or dies."""

import os
import pathlib
import re
import signal
import termios
import time

import pytest
from terminal import BINARY, PATIENCE, ready, shell_of


def modes(t):
    return termios.tcgetattr(t.child.child_fd)


def test_signals_leave_the_terminal_sane(terminal):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV):
        t = terminal("-c", "stty sane; \"$0\"; echo \"status $?\"; read x", BINARY,
                     command="/bin/sh")
        t.at_prompt(1)
        raw = modes(t)
        assert not raw[3] & termios.ICANON and not raw[3] & termios.ECHO
        os.kill(shell_of(t), number)
        t.wait(lambda t: f"status {128 + number}" in t.lines())
        cooked = modes(t)
        assert cooked[3] & termios.ICANON and cooked[3] & termios.ECHO and cooked[3] & termios.ISIG
        assert t.raw.rfind(b"\033[?2004l") > t.raw.rfind(b"\033[?2004h")


def sane(t):
    mode = modes(t)
    needed = termios.ICANON | termios.ECHO | termios.ISIG
    return mode[3] & needed == needed and mode[0] & termios.ICRNL


def watcher_of(pid):
    """The process that puts the terminal back if that one is killed, once it has come so far as to have its name."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            for child in f.read().split():
                if name_of(child) == "lunarray-tty":
                    return child
        time.sleep(0.01)
    pytest.fail("nobody watches")


def look_again(watcher):
    """Waits until it has looked at the terminal once more, as it does now and then while a program has that: then it sleeps."""
    def sleeps():
        with open(f"/proc/{watcher}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches"))

    end, before = time.monotonic() + PATIENCE, sleeps()
    while sleeps() < before + 2:  # the first may follow a look before this one
        assert time.monotonic() < end, "it does not look"
        time.sleep(0.01)


def name_of(pid):
    """None when there is no such process."""
    try:
        return (pathlib.Path("/proc") / pid / "comm").read_text().strip()
    except (OSError, ProcessLookupError):
        return None


@pytest.mark.parametrize("where", ["prompt", "presenter", "recording", "pager", "program", "cell"])
def test_a_killed_shell_leaves_the_terminal_sane(terminal, tmp_path, where):
    """Under a shell that puts nothing back itself: by a process that watches, of which nothing is left."""
    (tmp_path / "talk.lua").write_text("-- %%\nprint(1)\n")
    talk = ["--present", str(tmp_path / "talk.lua")]
    words = {"presenter": talk, "recording": [*talk, "--record", str(tmp_path / "talk.cast")]}.get(where, [])
    t = terminal("-i", command="/bin/dash", PS1="$ ", PAGER="less -X", LESS="", rows=8 if where == "pager" else 24, answer="")
    t.wait(lambda t: t.lines() == ["$"])
    t.send(" ".join([BINARY, *words]) + "\r")
    t.wait(lambda t: "Enter" in t.lines()[-1] if words else t.lines()[-1] == "1>")
    if where == "pager":
        t.send("?gpu.linspace\r")
        t.wait(lambda t: t.lines()[-1] == ":")
    elif where == "program":
        t.send("os.execute(\"stty -echo -icanon; echo on; head -c 1\")\r")
        t.wait(lambda t: t.lines()[-1] == "on" and not sane(t))
    elif where == "cell":
        t.send("print 'on' while true do end\r")
        t.wait(lambda t: t.lines()[-1] == "on")
    assert bool(sane(t)) == (where == "cell")
    shell = shell_of(t)
    watcher = watcher_of(shell)
    if where in ("pager", "program"):
        look_again(watcher)
    os.kill(shell, signal.SIGKILL)
    t.wait(lambda t: any("Killed" in line for line in t.lines()) and sane(t))
    t.wait(lambda t: name_of(watcher) is None)
    t.send("echo $((40 + 2))\r")
    t.wait(lambda t: "42" in t.lines())
    assert t.raw.rfind(b"\033[?2004l") > t.raw.rfind(b"\033[?2004h")
    assert sane(t)


@pytest.mark.parametrize("way", ["\x04", "os.exit(0)\r", "os.exit(true, true)\r"])
def test_who_watches_the_terminal_is_not_seen(terminal, way):
    t = ready(terminal)
    watcher = watcher_of(t.child.pid)
    t.send("!ps\r")
    t.at_prompt(2)
    assert not any("tty" in line.split()[-1] for line in t.lines()[2:-1] if "CMD" not in line)
    t.send("!kill -INT 0; echo alive\r")
    t.wait(lambda t: t.lines()[-1] == "3>")
    t.send(way)
    t.wait_end()
    assert name_of(watcher) is None


def test_a_command_has_the_terminal(terminal):
    t = ready(terminal)
    t.send("!test -t 0 && test -t 1 && test -t 2 && stty size && read line && echo \"read <$line>\"\r")
    t.wait(lambda t: "24 80" in t.lines())
    t.send("of keys\r")
    t.at_prompt(2)
    t.shows("read <of keys>", "2>")
    t.send("!printf unfinished; exit 3\r")
    t.at_prompt(3)
    t.shows("unfinished", "exit status 3", "3>")
    raw = 'import sys, tty; tty.setraw(0); print("raw", end="\\r\\n", flush=True); print(ord(sys.stdin.read(1)))'
    t.send(f"!python3 -c '{raw}'\r")  # and leaves it so
    t.wait(lambda t: "raw" in t.lines())
    t.send("\x03")
    t.wait(lambda t: t.lines()[-1] == "4>")
    assert "3" in t.lines()
    t.send("print 'reads' io.read()\r")
    t.wait(lambda t: "reads" in t.lines())
    t.send("sane\r")
    t.at_prompt(5)
    t.shows('"sane"', "5>")


@pytest.mark.parametrize("command", ["echo 'a & b'", 'echo "it\'s & b"', "echo a \\& b", "true && echo b >&1"])
def test_an_ampersand_that_starts_nothing_leaves_the_terminal(terminal, command):
    t = ready(terminal)
    t.send(f"!test -t 1 && {command} && echo at the terminal\r")
    t.at_prompt(2)
    t.shows("at the terminal", "2>")
    t.send(f"os.execute [[test -t 1 && {command} && echo there, too]];\r")
    t.at_prompt(3)
    t.shows("there, too", "3>")


def test_control_c_is_the_commands_alone(terminal):
    t = ready(terminal)
    t.send("!trap 'echo caught; exit 0' INT; echo on; while true; do sleep 0.05; done\r")
    t.wait(lambda t: "on" in t.lines())
    t.send("\x03")
    t.at_prompt(2)
    assert any(line.endswith("caught") for line in t.lines())
    assert not any("nterrupted" in line for line in t.lines())


def test_a_command_that_is_captured_passes_the_session(terminal):
    t = ready(terminal)
    t.send("%%capture c\r!echo to a variable\r\r")
    t.at_prompt(2)
    t.send("c.stdout\r")
    t.at_prompt(3)
    t.shows('"to a variable\\n"', "3>")


def test_suspend_and_continue(terminal):
    t = terminal("--norc", "--noprofile", "-i", command="/bin/bash", PS1="$ ")
    t.send(BINARY + "\n")
    t.at_prompt(1)
    t.send("abc\x1a")
    t.wait(lambda t: t.lines()[-1] == "$" and any("Stopped" in line for line in t.lines()))
    t.send("fg\n")
    t.wait(lambda t: t.lines()[-1] == "1> abc")
    t.send("\x03\x04")
    t.wait(lambda t: t.lines()[-1] == "$")
    t.send("exit\n")
    t.wait_end()


def state_of(t):
    with open(f"/proc/{t.child.pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def test_stopped_from_outside(terminal):
    t = ready(terminal)
    before = termios.tcgetattr(t.child.child_fd)
    t.send("abc")
    t.wait(lambda t: t.lines()[-1] == "1> abc")
    while t.pump(0.3) or state_of(t) != "S":  # until it waits for keys, and has nothing more to draw
        pass
    t.child.kill(signal.SIGSTOP)
    t.wait(lambda t: state_of(t) == "T")
    cooked = termios.tcgetattr(t.child.child_fd)
    cooked[3] |= termios.ICANON | termios.ECHO | termios.ISIG
    termios.tcsetattr(t.child.child_fd, termios.TCSANOW, cooked)
    t.stream.feed(b"\r\nsomebody's row")
    t.child.kill(signal.SIGCONT)
    t.wait(lambda t: t.lines()[-3:] == ["1> abc", "somebody's row", "1> abc"])
    assert termios.tcgetattr(t.child.child_fd) == before
    t.send("\x03print 'on'\r")
    t.at_prompt(2)
    assert t.lines()[-2] == "on"


def test_the_terminal_is_cooked_while_a_cell_runs(terminal):
    t = ready(terminal)
    t.send("os.execute('stty -a')\r")
    t.at_prompt(2)
    text = " ".join(t.lines())
    assert " icanon" in text and " echo " in text and " isig" in text


def test_reading_a_line_in_a_cell(terminal):
    t = ready(terminal)
    t.send("print 'who?' name = io.read()\r")
    t.wait(lambda t: "who?" in t.lines())
    t.send("someone\n")
    t.at_prompt(2)
    t.send("'hello ' .. name\r")
    t.at_prompt(3)
    assert any("hello someone" in line for line in t.lines())


def test_scripts_errors_have_a_hint_on_a_terminal(terminal, cli, tmp_path):
    """A stock lua's message, and below it, where somebody reads it, what was probably meant."""
    kernel = "k = gpu.kernel [[\n__global__ void f(int *a, int *x) {\n  a[x[0]] = 5;\n  x[a[1]] = 6;\n}\n]]\n"
    cases = {
        "brackets.lua": (kernel, ":3: unexpected symbol near '='", "write gpu.kernel [=[ ... ]=]"),
        "library.lua": ("-- comment\nprint(np.zeros(3))", ":2: attempt to index a nil value (global 'np')", "?numpy and ?cuda"),
        "a_name_of_a_file_that_does_not_fit_into_sixty_bytes_of_a_message.lua": ("x != 2", ":1: ", "written ~="),
        "cells.lua": ("-- %%\nx = 3\n-- %%\nx\n", ": syntax error near", "lunarray --check FILE runs a file of cells"),
        "none.lua": ("-- no -- %%\nx\ny = 4", ":3: syntax error near", None),
        "right.lua": ("error('as meant')", ":1: as meant", None),
    }
    for name, (text, message, hint) in cases.items():
        path = tmp_path / name
        path.write_text(text)
        t = terminal(str(path), columns=60)
        assert t.ended() == 1
        shown = t.raw.decode().replace("\r\n", "\n")
        assert message in shown
        if hint:
            assert hint in re.sub(r"\n +", " ", shown[shown.index("\n  hint: "):])
            assert all(len(line) <= 60 for line in shown[shown.index("\n  hint: "):].split("\n"))
        else:
            assert "hint" not in shown
        r = cli(str(path))
        assert r.returncode == 1 and message in r.stderr and "hint" not in r.stderr
    for code, hint in ("x = 1 x += 1", "Lua has no +="), ("x.y()", None), ("prnt(3)", "did you mean 'print'?"), ("x = gpu.zeros(3) x.sum()", "a method is called with a colon"), \
            ("gpu.ones(3).reshape(3, 1)", "a method is called with a colon"), ("x = gpu.ones(3):sum().dtype", "a reduction of all elements gives"), \
            ("x = 2j", "a number has no suffix and no _: 3, 0.5, 1e-3, 0xff; a complex one is gpu.complex(0, 1)"):
        t = terminal("-e", code, columns=200)
        assert t.ended() == 1 and (b"  hint: " + (hint or "").encode() in t.raw) == bool(hint)


def test_hints_are_broken_at_words(terminal):
    t = ready(terminal, columns=50)
    t.send("gpu.ones((3, 4))\r")
    t.at_prompt(2)
    lines = t.lines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  hint: "))
    assert lines[at:at + 4] == ["  hint: parentheses make no tuple: a shape is", "  gpu.ones(3, 4) or gpu.ones{3, 4}, a list {x,",
                                "  y}, several values are local a, b = 1, 2", "2>"]
