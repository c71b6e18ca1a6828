"""The editor inside tmux, which keeps a screen of its own and redraws it: widths, graphemes, pastes, narrowing."""

import shutil
import subprocess
import time

import pytest
from terminal import BINARY, PATIENCE

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")


class Tmux:
    def __init__(self, env, folder, columns, rows):
        self.socket = str(folder / "tmux")
        self.env = env
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), BINARY)

    def run(self, *args, text=None):
        return subprocess.run(["tmux", "-u", "-S", self.socket, *args], env=self.env, input=text, capture_output=True,
                              text=True, timeout=PATIENCE, check=True).stdout

    def type(self, text, *keys):
        self.run("send-keys", "-l", text)
        if keys:
            self.run("send-keys", *keys)

    def shows(self, *rows):
        """The last rows of the screen come to be these."""
        end = time.monotonic() + PATIENCE
        while (lines := self.run("capture-pane", "-p").rstrip("\n").split("\n"))[-len(rows):] != list(rows):
            assert time.monotonic() < end, "\n".join(lines)
            time.sleep(0.02)


@pytest.fixture
def tmux(env, tmp_path):
    started = []

    def start(columns, rows=20):
        started.append(Tmux(env, tmp_path, columns, rows))
        started[-1].shows("1>")
        return started[-1]

    yield start
    for t in started:
        t.run("kill-server")


def test_wide(tmux):
    t = tmux(80)
    t.type("for i = 1, 2 do", "Enter")
    t.type("print(i, '漢字 é 👩‍💻')", "Enter")
    t.type("end")
    t.shows("1> for i = 1, 2 do", "..   print(i, '漢字 é 👩‍💻')", ".. end")
    t.run("send-keys", "Up", "C-e", "Left", "Left", "BSpace")  # the emoji is one character
    t.shows("..   print(i, '漢字 é ')", ".. end", "print(...)")
    t.run("send-keys", "Enter")
    t.shows("1       漢字 é", "2       漢字 é", "2>")
    t.run("load-buffer", "-", text="x = 1\ny = 2\n")
    t.run("paste-buffer", "-p")
    t.shows("2> x = 1", ".. y = 2", "..")
    t.run("send-keys", "Enter")
    t.shows("..", "3>")


def test_narrowed(tmux):
    t = tmux(70, 10)
    t.type("for i = 1, 8 do print(i) end", "Enter")
    t.shows("7", "8", "2>")
    t.type("x = 123456789 + 123456789 + 987654321")  # 40 columns: the cursor is where the second row ends
    t.shows("8", "2> x = 123456789 + 123456789 + 987654321")
    t.run("resize-window", "-x", "20")
    t.shows("7", "8", "2> x = 123456789 + 1", "23456789 + 987654321")
    t.type(" + 1")
    t.shows("7", "8", "2> x = 123456789 + 1", "23456789 + 987654321", " + 1")
