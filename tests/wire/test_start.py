"""How a kernel comes to its ports, and what it logs."""
import json
import subprocess

import pytest
import zmq

from kernel import BINARY, CHANNELS, DELIMITER, TIMEOUT, stream


@pytest.fixture
def registrar():
    context = zmq.Context()
    socket = context.socket(zmq.ROUTER)
    socket.linger = 0
    yield socket
    socket.close()
    context.term()


@pytest.mark.parametrize("key", ["a test key", ""])
def test_a_kernel_registers_its_ports(fresh, registrar, tmp_path, key):
    k = fresh(key=key, registrar=registrar.bind_to_random_port("tcp://0.0.0.0"), JUPYTER_RUNTIME_DIR=str(tmp_path))
    assert registrar.poll(TIMEOUT * 1000), k.log()
    identity, delimiter, signature, content = registrar.recv_multipart()
    sign = k.signature
    assert (delimiter, signature) == (DELIMITER, sign([content]))
    said = json.loads(content)
    assert said.pop("kernel_id") == "the kernel's name"
    assert sorted(said) == sorted(c + "_port" for c in CHANNELS)
    assert all(isinstance(port, str) for port in said.values())
    receipt = [DELIMITER, sign([b"{}"]), b"{}"]
    for wrong in ([b""], [DELIMITER, b"0" * 64, b"{}"], receipt[1:], receipt + [b"more"], [b"x"] * 200):
        registrar.send_multipart([identity, *wrong])
    registrar.send_multipart([identity, *receipt])
    k.connection.update({name: int(port) for name, port in said.items()})
    assert k.client.execute("return 1")[0]["status"] == "ok"
    (file,) = tmp_path.iterdir()  # for other clients
    written = json.loads(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600 and written["key"] == key and written["ip"] == k.address
    assert all(written[name] == int(port) for name, port in said.items())
    assert k.client.ask("shutdown_request", {"restart": False}, "control")[0]["status"] == "ok"
    assert k.wait() == 0 and not file.exists()


@pytest.mark.parametrize("change, why", [
    ({"registration_port": "5"}, "there is no integer registration_port"), ({"registration_port": 0}, "expected 1 to 65535"),
    ({"transport": "ipc"}, "registration goes over tcp"), ({"kernel_id": 5}, "kernel_id is not a string"),
    ({"registration_ip": "no such address"}, "cannot listen on")])
def test_bad_registration_files(tmp_path, change, why):
    path = tmp_path / "registration.json"
    path.write_text(json.dumps({"transport": "tcp", "registration_ip": "127.0.0.1", "registration_port": 1, "key": "", **change}))
    p = subprocess.run([BINARY, "jupyter", "start", "-f", str(path)], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 1 and why in p.stderr


def log_of(k):
    assert k.client.ask("frobnicate_request")[0]["status"] == "error"
    assert k.client.ask("shutdown_request", {"restart": False}, "control")[0]["status"] == "ok"
    assert k.wait() == 0
    return [line for line in k.log().splitlines() if line.startswith("[lunarray] ")]


def test_a_quiet_log(fresh):
    assert log_of(fresh(options=["--log-level", "error"], LUNARRAY_LOG_LEVEL="debug")) == []


def test_the_usual_log(fresh):
    (line,) = log_of(fresh())
    assert line.startswith("[lunarray] warning: ") and "frobnicate_request" in line


def test_every_message_in_the_log(fresh):
    lines = log_of(fresh(LUNARRAY_LOG_LEVEL="debug"))
    asked = next(i for i, line in enumerate(lines) if "shell: received frobnicate_request, " in line)
    assert "[lunarray] debug: shell: sending frobnicate_reply" in lines[asked:]
    assert "[lunarray] debug: iopub: sending status" in lines[asked:]


def test_a_level_that_is_none(fresh):
    assert "LUNARRAY_LOG_LEVEL is loud, expected error, warning, info or debug" in log_of(fresh(LUNARRAY_LOG_LEVEL="loud"))[0]
    p = subprocess.run([BINARY, "jupyter", "start", "--log-level", "loud"], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 1 and "not loud" in p.stderr


def test_a_variable_that_nobody_understands(fresh):
    """The log has it, and so has the first cell that shows anything; no other has."""
    k = fresh(LUNARRAY_THREADS="four", LUNARRAY_LAZY="no")
    k.client.execute("x = 1", silent=True)
    said = ["LUNARRAY_THREADS is four, expected a whole number from 1 on", "LUNARRAY_LAZY is no, expected never, large or always"]
    assert stream(k.client.execute("print(x)")[1], "stderr").splitlines() == said
    assert stream(k.client.execute("print(x)")[1], "stderr") == ""
    assert [line for line in k.log().splitlines() if "LUNARRAY" in line] == ["[lunarray] warning: " + line for line in said]
