"""Output that comes while one types, and what happens to the terminal when the shell ends badly."""

import os
import re
import shutil
import signal
import subprocess
import termios

import pytest
from terminal import BINARY, ready, shell_of

THREAD = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void wait_for(const char *path) { while (access(path, F_OK) != 0) usleep(1000); }
static void *print(void *path)
{
    char text[300];
    for (int i = 0; i < 20; i++) {
        printf("line %d of the thread\n", i);
        fprintf(stderr, "error %d of the thread\n", i);
        usleep(2000);
    }
    printf("unfinished");
    fflush(stdout);
    snprintf(text, sizeof text, "%s/later", (char *)path);
    wait_for(text);
    printf(" and finished\n");
    return NULL;
}
int start(void *L)
{
    extern const char *luaL_checklstring(void *L, int i, size_t *n);
    pthread_t t;
    pthread_create(&t, NULL, print, strdup(luaL_checklstring(L, 1, NULL)));
    return 0;
}
int overflow(void *L) { char big[4096]; memset(big, 1, sizeof big); return overflow(big) + big[7]; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("library")
    (folder / "thread.c").write_text(THREAD)
    subprocess.run(["cc", "-w", "-O0", "-shared", "-fPIC", "-o", folder / "thread.so", folder / "thread.c", "-pthread"], check=True)
    return str(folder / "thread.so")


def test_a_thread_that_prints_does_not_garble_what_is_typed(terminal, library, tmp_path):
    t = ready(terminal, rows=60)
    t.send(f"start = package.loadlib('{library}', 'start')\r")
    t.at_prompt(2)
    t.send(f"start('{tmp_path}')\r")
    t.wait(lambda t: any(line.startswith("3>") for line in t.lines()))
    for key in "print('typed', 6 * 7)":
        t.send(key)
        t.pump(0.004)
    t.wait(lambda t: "unfinished" in t.lines() and t.lines()[-1] == "3> print('typed', 6 * 7)")
    for i in range(20):
        assert t.lines().count(f"line {i} of the thread") == 1 and t.lines().count(f"error {i} of the thread") == 1, t.lines()
    assert sum(line.startswith("3>") for line in t.lines()) == 1, t.lines()
    (tmp_path / "later").write_text("")
    t.wait(lambda t: " and finished" in t.lines() and t.lines()[-1] == "3> print('typed', 6 * 7)")
    t.send("\r")
    t.at_prompt(4)
    t.shows("3> print('typed', 6 * 7)", "typed   42", "4>")


@pytest.mark.parametrize("start", ["!({}) &", "os.execute('({}) &')", "!({}) & true", "os.execute('(({}) &)')", "p = io.popen('({}) >&2')"])
def test_a_program_that_goes_on_does_not_garble_what_is_typed(terminal, tmp_path, start):
    t = ready(terminal)
    program = f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo from behind; echo its error >&2; touch {tmp_path}/gone"
    t.send(start.format(program) + "\r")
    t.wait(lambda t: t.lines()[-1] == "2>" or t.lines()[-2] == "true    exit    0")
    t.send("'typed'")
    t.wait(lambda t: t.lines()[-1] == "2> 'typed'")
    (tmp_path / "go").touch()
    t.wait(lambda t: "from behind" in t.lines() and "its error" in t.lines() and t.lines()[-1] == "2> 'typed'")
    t.wait(lambda t: (tmp_path / "gone").exists())
    t.send("\r")
    t.at_prompt(3)
    t.shows("2> 'typed'", '"typed"', "3>")


def test_errors_of_a_program_that_is_read_come_before_what_follows_it(terminal):
    t = ready(terminal)
    t.send("p = io.popen('echo error >&2; echo read; exit 3') print(p:read 'a', p:close())\r")
    t.at_prompt(2)
    t.shows("error", "read", "        nil     exit    3", "2>")


def cooked(t):
    modes = termios.tcgetattr(t.child.child_fd)[3]
    return modes & termios.ICANON and modes & termios.ECHO and modes & termios.ISIG


@pytest.mark.parametrize("code, number", [
    ("os.execute('kill -SEGV ' .. PID)", signal.SIGSEGV),
    ("os.execute('kill -ABRT ' .. PID)", signal.SIGABRT),
    ("package.loadlib('LIBRARY', 'overflow')()", signal.SIGSEGV),
])
def test_a_cell_that_crashes_leaves_the_terminal_sane_and_the_history_whole(terminal, library, code, number):
    if "overflow" in code and "asan" in BINARY:
        pytest.skip("AddressSanitizer sees to overflows itself")
    t = terminal("-c", 'stty sane; ulimit -c 0; "$0"; echo "status $?"; exec "$0"', BINARY, command="/bin/sh")
    t.at_prompt(1)
    t.send("before = 'the crash'\r")
    t.at_prompt(2)
    t.send(code.replace("PID", str(shell_of(t))).replace("LIBRARY", library) + "\r")
    t.wait(lambda t: any(f"status {128 + number}" in line for line in t.lines()))
    assert t.raw.rfind(b"\033[?2004l") > 0
    t.at_prompt(1)
    t.send("\033[A\033[A")
    t.wait(lambda t: t.lines()[-1] == "1> before = 'the crash'")


def test_after_a_killed_shell_the_next_one_is_fine(terminal):
    t = terminal("-c", 'stty sane; "$0"; "$0"', BINARY, command="/bin/sh")
    t.at_prompt(1)
    t.send("before = 'the kill'\r")
    t.at_prompt(2)
    t.send("half a")
    t.wait(lambda t: t.lines()[-1] == "2> half a")
    os.kill(shell_of(t), signal.SIGKILL)
    t.wait(lambda t: sum("lunarray " in line for line in t.lines()) == 2 and t.lines()[-1].endswith("1>"))
    t.send("\033[A\r")  # what the killed one ran
    t.at_prompt(2)
    t.send("before\r")
    t.at_prompt(3)
    t.shows("2> before", '"the kill"', "3>")
    t.send("print 'busy' while true do end\r")
    t.wait(lambda t: "busy" in t.lines())
    assert cooked(t)  # which the one that was killed has not left behind
    t.send("\x03")
    t.at_prompt(4)


@pytest.mark.parametrize("cell, typed", [("print 'busy' io.read()", "half"), ("!echo busy; exec sleep 100", "")], ids=["a line that is read", "a command"])
def test_control_c_ends(terminal, cell, typed):
    t = ready(terminal)
    t.send(cell + "\r")
    t.wait(lambda t: "busy" in t.lines())
    t.send(typed + "\x03")
    t.at_prompt(2)
    assert any("interrupted" in line.lower() for line in t.lines())


def test_suspended_while_a_cell_is_typed(terminal):
    t = terminal("--norc", "--noprofile", "-i", command="/bin/bash", PS1="$ ")
    t.send(BINARY + "\n")
    t.at_prompt(1)
    t.send("x = 'abc\x1a")
    t.wait(lambda t: t.lines()[-1] == "$" and any("Stopped" in line for line in t.lines()))
    t.send("stty -a\n")
    t.wait(lambda t: re.search(r"[^-]icanon", " ".join(t.lines())) is not None)
    t.send("fg\n")
    t.wait(lambda t: t.lines()[-1] == "1> x = 'abc")
    t.send("'\r")
    t.at_prompt(2)
    t.send("\x04")
    t.wait(lambda t: t.lines()[-1] == "$")
    t.send("exit\n")
    t.wait_end()
