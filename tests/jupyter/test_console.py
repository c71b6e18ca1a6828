"""`jupyter console`, in a terminal: what is not complete goes on in the next line, results and errors are shown."""
import os
import sys

import pexpect
import pytest

pytest.importorskip("jupyter_console")
TIMEOUT = 240


def test_console():
    # It takes a line for complete when the kernel doesn't say within a second that it is not.
    patience = f"--ZMQTerminalInteractiveShell.kernel_is_complete_timeout={TIMEOUT}"
    console = pexpect.spawn(sys.executable, ["-m", "jupyter_console", "--kernel", "lunarray", patience], encoding="utf-8",
                            timeout=TIMEOUT, dimensions=(40, 120), env={**os.environ, "TERM": "xterm"})
    console.expect(r"In \[.*1.*\]")
    console.send("for i = 20, 21 do\r")
    console.expect(r"\.\.\.:")
    console.send("print('twice', 2 * i) end\r")
    console.expect("twice\t42")
    console.expect(r"In \[.*2.*\]")
    console.send("gpu.linspace(0, 1, 3)\r")
    console.expect("0.5")
    console.expect(r"In \[.*3.*\]")
    console.send("error('as asked')\r")
    console.expect("cell 3:1:")
    console.close(force=True)
