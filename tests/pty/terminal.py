"""The binary under test, and a terminal that is read as a person reads it."""

import os
import re
import signal
import time

import pexpect
import pyte
import pytest

BINARY = os.path.abspath(os.environ.get("LUNARRAY", "build/lunarray"))
PATIENCE = int(os.environ.get("PATIENCE", 240))  # seconds until something that should appear counts as missing

# Strings for the terminal itself, pictures among them: pyte would show them as text.
STRINGS = re.compile(rb"\033[_P].*?\033\\|\033\].*?(?:\a|\033\\)", re.S)
UNFINISHED = re.compile(rb"\033[_P\]](?:(?!\033\\).)*$|\033$", re.S)


class Terminal:
    """A shell in a pseudo-terminal, and the screen that it makes. `answer` is what the terminal says that it is."""

    def __init__(self, args, env, columns=80, rows=24, command=BINARY, answer="\033[?62;22c"):
        self.answer, self.asked, self.rest = answer, 0, b""
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.child = pexpect.spawn(command, args, env=env, dimensions=(rows, columns), timeout=PATIENCE)
        self.child.delaybeforesend = None
        self.raw = b""

    def pump(self, seconds=0.02):
        try:
            data = self.child.read_nonblocking(65536, seconds)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            return None
        self.raw += data
        data = STRINGS.sub(b"", self.rest + data)
        unfinished = UNFINISHED.search(data)
        self.rest = unfinished[0] if unfinished else b""
        self.stream.feed(data[:len(data) - len(self.rest)])
        questions = self.raw.count(b"\033[c")
        if questions > self.asked:
            self.asked = questions
            self.send(self.answer)
        return True

    def wait(self, condition):
        """Reads until condition(self) holds, which may ask for rows that are not there yet; fails with the screen."""
        def holds():
            try:
                return condition(self)
            except IndexError:
                return False

        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if holds():
                return
            if self.pump(0.1) is None and not holds():
                break
        if not holds():
            pytest.fail("the screen never came to be right:\n" + "\n".join(self.lines()) + f"\ncursor {self.cursor}")

    def lines(self):
        """The rows down to the last that is not blank, without blanks at their ends."""
        rows = [row.rstrip() for row in self.screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def cursor(self):
        return (self.screen.cursor.y, self.screen.cursor.x)

    def at_prompt(self, number):
        """The cursor stands behind the empty prompt of that cell."""
        def holds(t):
            y, x = t.cursor
            prompt = f"{number}>"
            return t.screen.display[y].rstrip() == prompt and x == len(prompt) + 1
        self.wait(holds)

    def shows(self, *rows):
        """The last rows of the screen are these."""
        self.wait(lambda t: t.lines()[-len(rows):] == list(rows))

    def send(self, keys):
        self.child.send(keys)

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)

    def ended(self):
        """Waits for the end; the exit status, or minus the signal."""
        self.wait_end()
        return self.child.exitstatus if self.child.signalstatus is None else -self.child.signalstatus

    def wait_end(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.pump(0.1) is not None:
            pass
        self.child.wait() if self.child.isalive() else None

    def close(self):
        if self.child.isalive():
            self.child.kill(signal.SIGKILL)
        self.child.close(force=True)


def shell_of(t):
    """The process id of the only child of the terminal's process."""
    with open(f"/proc/{t.child.pid}/task/{t.child.pid}/children") as f:
        return int(f.read().split()[0])


def ready(terminal, *args, **options):
    """One that has shown its first prompt."""
    t = terminal(*args, **options)
    t.at_prompt(1)
    return t
