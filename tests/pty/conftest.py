"""A private home for each test, and what runs the binary there: in a terminal, or without one."""

import os
import resource
import subprocess

import pytest

from terminal import BINARY, PATIENCE, Terminal

# What a terminal around the tests says of itself.
OUTSIDE = ("NO_COLOR", "COLORTERM", "COLORFGBG", "TERM_PROGRAM", "TMUX", "STY", "KITTY_WINDOW_ID", "PAGER", "LESS", "EDITOR", "VISUAL")


@pytest.fixture
def env(tmp_path):
    e = dict(os.environ, HOME=str(tmp_path), TERM="xterm-256color", LC_ALL="C.UTF-8")
    for name in list(e):
        if name.startswith(("LUNARRAY", "XDG_", "LUA")) or name in OUTSIDE:
            del e[name]
    e["LUNARRAY_CACHE_DIR"] = str(tmp_path / "cache")
    e["LUNARRAY_DEVICE"] = "cpu"
    # A build with AddressSanitizer would keep SIGSEGV from the handler that is under test.
    e["ASAN_OPTIONS"] = ":".join(filter(None, [e.get("ASAN_OPTIONS"), "handle_segv=0"]))
    return e


@pytest.fixture
def terminal(env):
    """terminal(...) starts a shell; all of them are ended after the test."""
    started = []

    def start(*args, columns=80, rows=24, command=BINARY, answer="\033[?62;22c", **changes):
        t = Terminal(list(args), {**env, **changes}, columns, rows, command, answer)
        started.append(t)
        return t

    yield start
    for t in started:
        t.close()


@pytest.fixture
def cli(env, tmp_path):
    """cli(*arguments) runs the binary without a terminal and gives its result; `addresses` limits its memory, in MB."""

    def run(*args, stdin="", addresses=None, **changes):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (addresses << 20, addresses << 20))

        return subprocess.run([BINARY, *args], input=stdin, capture_output=True, text=True, env={**env, **changes},
                              cwd=tmp_path, timeout=PATIENCE, preexec_fn=limit if addresses else None)

    return run
