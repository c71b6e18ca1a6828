"""The kernel's beginning and end: connection files, encryption, shutdown, signals, its parent's death, installing."""
import glob
import os
import signal
import subprocess
import sys
import time

import pytest

from kernel import BINARY, TIMEOUT, execute_content


# ---- beginning and ending

@pytest.mark.parametrize("channel", ["shell", "control"])
@pytest.mark.parametrize("restart", [True, False])
def test_shutdown(fresh, channel, restart):
    k = fresh()
    content, between = k.client.ask("shutdown_request", {"restart": restart}, channel)
    assert content == {"status": "ok", "restart": restart}
    assert between == [("shutdown_reply", content)]
    assert k.wait() == 0


def test_shutdown_of_a_busy_kernel(fresh):
    k = fresh()
    sent = k.client.begin("while true do end")
    assert k.client.ask("shutdown_request", {"restart": False}, "control")[0]["status"] == "ok"
    assert k.client.reply(sent)["content"]["status"] == "error"
    assert k.wait() == 0


def test_shutdown_while_waiting_for_input(fresh):
    k = fresh()
    k.client.send("shell", "execute_request", execute_content("io.read()", allow_stdin=True))
    assert k.client.recv("stdin")
    k.client.send("control", "shutdown_request", {"restart": False})
    assert k.wait() == 0


def test_a_cell_that_does_not_stop_cannot_keep_the_kernel(fresh):
    k = fresh()
    k.client.begin("setmetatable({}, {__gc = function() while true do end end}) collectgarbage() ")
    k.client.send("control", "shutdown_request", {"restart": False})
    k.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_it(fresh, number):
    k = fresh()
    k.client.begin("while true do end")
    k.process.send_signal(number)
    assert k.wait() == 0


def until(condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("kill", [False, True])
def test_what_makes_kernels_beside_it_ends_with_it(fresh, kill):
    """The software GPU's driver stands in for a GPU's; tests/pty/test_prepare.py has the rest."""
    driver = os.path.join(os.path.dirname(BINARY), "libcuda-simt.so")
    k = fresh(LUNARRAY_CUDA=driver, LUNARRAY_DEVICE="", LUNARRAY_COMPILE="background")
    started = []

    def begun():
        started[:] = [child for path in glob.glob(f"/proc/{k.process.pid}/task/*/children") for child in open(path).read().split()]
        return bool(started)

    k.client.execute("x = 1 + 1")
    assert not begun()
    k.client.execute("gpu.ones(3)")
    until(begun)
    if kill:
        k.process.kill()
        k.process.wait()
    else:
        assert k.client.ask("shutdown_request", {"restart": False}, "control")[0]["status"] == "ok"
        assert k.wait() == 0

    def ended():
        try:
            with open(f"/proc/{started[0]}/stat") as f:
                return f.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    until(ended)


def test_it_ends_with_its_parent(fresh, tmp_path):
    k = fresh()
    k.process.kill()
    k.process.wait()
    program = ("import os, subprocess, sys\n"
               "os.environ['JPY_PARENT_PID'] = str(os.getpid())\n"
               f"p = subprocess.Popen([{BINARY!r}, 'jupyter', 'start', '-f', {k.file!r}], start_new_session=True)\n"
               "print(p.pid, flush=True)\n"
               "sys.stdin.read()\n")
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    client = k.connect()
    client.begin("while true do end")
    parent.kill()
    parent.wait()
    end = time.monotonic() + TIMEOUT
    while alive(pid):
        assert time.monotonic() < end, "the kernel outlived its parent"
        time.sleep(0.05)
    parent.stdin.close()
    parent.stdout.close()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ipc_and_no_key(fresh):
    k = fresh(transport="ipc", key="")
    assert k.client.execute("return 1")[0]["status"] == "ok"
    assert k.client.ask("shutdown_request", {"restart": False}, "control")[0]["status"] == "ok"
    assert k.wait() == 0


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_encrypted(fresh, transport):
    import zmq

    k = fresh(transport=transport, curve=zmq.curve_keypair())
    assert k.client.execute("return 1")[0]["status"] == "ok"
    k.client.sockets["hb"].send(b"ping")
    assert k.client.sockets["hb"].poll(TIMEOUT * 1000) and k.client.sockets["hb"].recv() == b"ping"
    stranger = k.context.socket(zmq.DEALER)  # does not know the kernel's key, so it is not let in
    stranger.linger = 0
    separator = ":" if transport == "tcp" else "-"
    monitor = stranger.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
                                          | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_DISCONNECTED)
    stranger.connect(f"{transport}://{k.connection['ip']}{separator}{k.connection['shell_port']}")
    assert monitor.poll(TIMEOUT * 1000)
    from zmq.utils.monitor import recv_monitor_message
    assert recv_monitor_message(monitor)["event"] != zmq.EVENT_HANDSHAKE_SUCCEEDED
    stranger.disable_monitor()
    monitor.close(0)
    stranger.close(0)
    assert k.client.ask("shutdown_request", {"restart": False}, "control")[0]["status"] == "ok"
    assert k.wait() == 0


def test_without_a_file_it_writes_a_private_one(tmp_path):
    environment = {**os.environ, "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    p = subprocess.Popen([BINARY, "jupyter", "start"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    line = p.stderr.readline()
    path = line.split("--existing ")[1].strip()
    assert os.stat(path).st_mode & 0o777 == 0o600
    p.terminate()
    assert p.wait(TIMEOUT) == 0
    p.stderr.close()
    assert not os.path.exists(path)


@pytest.mark.parametrize("text, why", [
    (None, "cannot read the connection file"), ("", "not a connection file"), ("{}", "there is no integer"),
    ('{"shell_port":1,"iopub_port":1,"stdin_port":1,"control_port":1,"hb_port":1,"transport":"carrier pigeon"}', "tcp or ipc"),
    ('{"shell_port":1,"iopub_port":1,"stdin_port":1,"control_port":1,"hb_port":1,"curve_secretkey":"short"}', "expected 40")])
def test_bad_connection_files(tmp_path, text, why):
    path = tmp_path / "connection.json"
    if text is not None:
        path.write_text(text)
    p = subprocess.run([BINARY, "jupyter", "start", "-f", str(path)], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 1 and why in p.stderr and str(path) in p.stderr


def test_a_port_that_is_taken(shared, client):
    """The client has been welcomed, so the first kernel listens."""
    p = subprocess.run([BINARY, "jupyter", "start", "-f", shared.file], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 1 and "cannot listen on" in p.stderr and "in use" in p.stderr


@pytest.mark.parametrize("arguments", [[], ["frob"], ["start", "--frob"], ["install", "--user", "--prefix", "x"], ["start", "-f"],
                                       ["install", "--prefix"], ["start", "--device="]])
def test_misuse(arguments):
    p = subprocess.run([BINARY, "jupyter", *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 1 and "usage:" in p.stderr


def test_install(tmp_path):
    import json

    for _ in range(2):  # again over itself
        p = subprocess.run([BINARY, "jupyter", "install", "--prefix", str(tmp_path)], capture_output=True, text=True, timeout=TIMEOUT)
        assert p.returncode == 0, p.stderr
    folder = tmp_path / "share/jupyter/kernels/lunarray"
    assert str(folder) in p.stdout
    assert sorted(f.name for f in folder.iterdir()) == ["kernel.json", "logo-32x32.png", "logo-64x64.png", "logo-svg.svg"]
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["argv"] == [os.path.realpath(BINARY), "jupyter", "start", "-f", "{connection_file}"]
    assert (spec["language"], spec["interrupt_mode"]) == ("lua", "message")
    assert spec["metadata"]["supported_encryption"] == ["curve"] and spec["kernel_protocol_version"] == "5.6"
    extension = tmp_path / "share/jupyter/labextensions/lunarray"
    build = json.loads((extension / "package.json").read_text())["jupyterlab"]["_build"]
    script = (extension / build["load"]).read_text()
    words = json.loads(script[script.rindex("({") + 1:script.rindex(")")])
    cuda = words["cuda"]
    assert cuda["__global__"] == "keyword" and cuda["threadIdx"] == "variable" and cuda["__syncthreads"] == "function"
    assert len(words["lua"]) == 22 and {"and", "goto", "while"} <= set(words["lua"])


def test_install_for_the_user(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("JUPYTER_DATA_DIR", "XDG_DATA_HOME")}
    environment["HOME"] = str(tmp_path)
    p = subprocess.run([BINARY, "jupyter", "install", "--user"], capture_output=True, text=True, env=environment, timeout=TIMEOUT)
    assert p.returncode == 0
    assert (tmp_path / ".local/share/jupyter/kernels/lunarray/kernel.json").exists()


def test_install_where_it_cannot_write(tmp_path):
    (tmp_path / "share").write_text("a file")
    p = subprocess.run([BINARY, "jupyter", "install", "--prefix", str(tmp_path)], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 1 and "cannot make the folder" in p.stderr
