"""Clients that are slow, vanish, announce too much or ask for too much: nothing blocks, nothing grows, no idle is lost."""
import os
import re
import socket
import struct
import time

import pytest
import zmq

from kernel import BINARY, DELIMITER, TIMEOUT, execute_content, kinds, stream

IDENTITIES = [b"\x00\x01 hops", b"", b"\xff" * 255]


def test_identities_of_several_frames_come_back(shared, client):
    msg_id, frames = client.frames("execute_request", execute_content("return io.read()", allow_stdin=True))
    client.raw("shell", IDENTITIES + frames)
    assert client.recv("stdin")["topic"] == IDENTITIES
    answer = client.frames("input_reply", {"value": "an answer"})[1]
    client.raw("stdin", IDENTITIES + answer)
    reply = client.reply(msg_id)
    assert reply["topic"] == IDENTITIES and reply["content"]["status"] == "ok"
    assert dict(client.outputs(msg_id))["execute_result"]["data"]["text/plain"] == '"an answer"'


# ---- raw connections: ZMTP 3.0 up to where messages begin

MORE, LONG, COMMAND = 1, 2, 4


def connect(kernel, channel):
    s = socket.create_connection((kernel.address, kernel.connection[channel + "_port"]), TIMEOUT)
    kind = b"SUB" if channel == "iopub" else b"DEALER"
    ready = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    s.sendall(b"\xff" + b"\0" * 8 + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" * 32)
    s.sendall(bytes([COMMAND, len(ready)]) + ready)
    return s


@pytest.mark.parametrize("channel", ["shell", "control", "stdin", "iopub", "hb"])
def test_a_frame_of_a_gigabyte_is_refused(shared, client, channel):
    with connect(shared, channel) as s:
        s.sendall(bytes([LONG]) + struct.pack(">Q", 1 << 30))
        while s.recv(1000):  # the connection is closed, or this would wait
            pass
    assert client.execute("return 1")[0]["status"] == "ok"


@pytest.mark.parametrize("begun", [
    bytes([LONG]) + struct.pack(">Q", 100 << 20) + b"some of it", bytes([MORE, 9]) + DELIMITER, bytes([MORE, 9]) + b"<ID",
    b"\x00"])
def test_a_client_that_vanishes_in_the_middle_of_a_message(shared, client, begun):
    for channel in ("shell", "control"):
        with connect(shared, channel) as s:
            s.sendall(begun)
    assert client.execute("return 1")[0]["status"] == "ok"


def test_a_client_that_does_not_wait_for_its_answer(shared, client):
    other = shared.connect()
    sent = other.send("shell", "execute_request", execute_content("print('heard by nobody') vanished = io.read()", allow_stdin=True))
    assert other.recv("stdin")
    other.close()
    client.ask("interrupt_request", {}, "control")
    assert kinds(client.outputs(sent))[-2:] == ["error", "status"]
    assert client.execute("return vanished")[0]["status"] == "ok"


# ---- quantities

def resident(kernel):
    with open(f"/proc/{kernel.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def sanitized():
    """Sanitizers keep what was freed."""
    with open(BINARY, "rb") as f:
        return re.search(b"__[at]san_init", f.read()) is not None


def test_more_requests_than_the_queue_holds(client, tmp_path):
    os.mkfifo(tmp_path / "go")
    first = client.send("shell", "execute_request", execute_content(f"for line in io.lines('{tmp_path}/go') do end sum = 0"))
    asked = [client.send("shell", "execute_request", execute_content(f"sum = 2 * sum % 1000003 + {i}", silent=True)) for i in range(1100)]
    (tmp_path / "go").write_text("now\n")
    client.reply(first)
    client.outputs(first)
    for sent in asked:
        assert client.reply(sent)["content"]["status"] == "ok"
        assert [c for _, c in client.outputs(sent)] == [{"execution_state": "busy"}, {"execution_state": "idle"}]
    total = 0
    for i in range(1100):
        total = (2 * total + i) % 1000003
    assert client.execute("return sum")[1][-1][1]["data"]["text/plain"] == str(total)


def flood(kernel, contents):
    """Execute requests of these contents by one more client, which reads nothing meanwhile; then their replies."""
    with kernel.context.socket(zmq.DEALER) as s:
        s.linger, s.sndhwm = 0, 0
        s.connect(f"tcp://{kernel.address}:{kernel.connection['shell_port']}")
        count = 0
        for content in contents:
            count += 1
            s.send_multipart([DELIMITER, b"", b'{"msg_id":"%d","msg_type":"execute_request","session":"s"}' % count, b"{}", b"{}", content])
        yield
        for i in range(1, count + 1):
            frames = s.recv_multipart() if s.poll(TIMEOUT * 1000) else pytest.fail(f"no reply to {i}")
            assert b'"msg_id":"%d"' % i in frames[3] and b'"ok"' in frames[-1], (i, frames)


def test_a_hundred_thousand_queued_requests(fresh, tmp_path):
    """They wait on the client's side, where what is not read yet belongs; the answers are there when it reads at last."""
    count = 10_000 if sanitized() else 100_000
    os.mkfifo(tmp_path / "go")
    k = fresh(key="")
    c = k.client
    first = c.begin(f"done = 0 for line in io.lines('{tmp_path}/go') do end")
    c.sockets["iopub"].unsubscribe(b"")
    answers = flood(k, [b'{"code":"done = done + 1","silent":true}'] * count)
    next(answers)
    assert c.reply(c.send("control", "usage_request"), "control")["content"]["kernel_memory"] < 40 << 20 or sanitized()
    (tmp_path / "go").write_text("now\n")
    c.reply(first)
    c.reply(c.send("shell", "execute_request", execute_content("")))  # another client is served meanwhile
    assert list(answers) == []
    last = c.reply(c.send("shell", "execute_request", execute_content("", user_expressions={"done": "done"})))
    assert last["content"]["user_expressions"]["done"]["data"]["text/plain"] == str(count)


def test_large_requests_wait_on_the_clients_side(fresh, tmp_path):
    """What waits is bounded by its bytes, too; each is run when it is its turn."""
    count = 10 if sanitized() else 100
    os.mkfifo(tmp_path / "go")
    k = fresh(key="")
    c = k.client
    first = c.begin(f"done = 0 for line in io.lines('{tmp_path}/go') do end")
    before = c.reply(c.send("control", "usage_request"), "control")["content"]["kernel_memory"]
    answers = flood(k, [b'{"code":"done = done + 1","silent":true,"more":"%s"}' % (b"x" * (2 << 20))] * count)
    next(answers)
    most = 0
    for _ in range(20):  # all that would be taken in is on its way
        most = max(most, c.reply(c.send("control", "usage_request"), "control")["content"]["kernel_memory"])
        time.sleep(0.1)
    assert most - before < 150 << 20 or sanitized(), most - before
    (tmp_path / "go").write_text("now\n")
    c.reply(first)
    assert list(answers) == []
    last = c.reply(c.send("shell", "execute_request", execute_content("", user_expressions={"done": "done"})))
    assert last["content"]["user_expressions"]["done"]["data"]["text/plain"] == str(count)


def welcomed(subscriber):
    """Reads up to the welcome; what others asked for may come before it."""
    while True:
        assert subscriber.poll(TIMEOUT * 1000), "no welcome"
        if subscriber.recv_multipart()[0] == b"":
            return


def ends(sent, message):
    return message[0] == b"status" and sent.encode() in message[4] and b'"idle"' in message[6]


def test_a_client_that_reads_late_misses_nothing(shared, client):
    late = shared.context.socket(zmq.SUB)
    late.linger, late.rcvhwm, late.rcvbuf = 0, 10, 4096  # as little as can be waits on its side
    late.subscribe(b"")
    late.connect(f"tcp://{shared.address}:{shared.connection['iopub_port']}")
    welcomed(late)
    sent = client.send("shell", "execute_request", execute_content("for i = 1, 2500 do display(i .. (' '):rep(1000)) end"))
    client.reply(sent)
    messages = {}
    for reader in (client.sockets["iopub"], late):
        seen = messages[reader] = []
        while not seen or not ends(sent, seen[-1]):
            assert reader.poll(TIMEOUT * 1000), len(seen)
            seen.append(reader.recv_multipart())
    late.close()
    for seen in messages.values():
        shown = [m[-1] for m in seen if m[0] == b"display_data"]
        assert len(shown) == 2500 and all(b'"%d ' % i in text for i, text in enumerate(shown, 1))


def test_what_a_client_that_never_reads_costs_is_limited(fresh):
    """It misses what comes after that but that the cell has ended; the others miss nothing, and so does it once it
    reads again."""
    k = fresh(LUNARRAY_UNREAD_LIMIT="50")
    c = k.client
    idle = k.context.socket(zmq.SUB)
    idle.linger, idle.rcvhwm, idle.rcvbuf = 0, 1, 4096
    idle.subscribe(b"")
    idle.connect(f"tcp://{k.address}:{k.connection['iopub_port']}")
    welcomed(idle)
    for _ in range(4):  # never as much as the limit at once for who reads
        sent = c.send("shell", "execute_request", execute_content("local s = ('x'):rep(100000) for i = 1, 25 do display(i .. s) end"))
        c.reply(sent)
        assert kinds(c.outputs(sent)).count("display_data") == 25
    assert "a client does not read iopub" in k.log()
    got = []
    while not got or not ends(sent, got[-1]):
        assert idle.poll(TIMEOUT * 1000), "no idle"
        got.append(idle.recv_multipart())
    assert 50 <= [m[0] for m in got].count(b"display_data") < 100
    assert len({m[2] for m in got}) == len(got)  # no signature comes twice
    c.execute("print('again')")
    while (frames := idle.recv_multipart())[0] != b"stream":
        pass
    assert b"again" in frames[-1] and idle.poll(TIMEOUT * 1000) and b'"idle"' in idle.recv_multipart()[-1]


def test_what_is_not_read_is_weighed(fresh):
    """What is large is left out for all, and the cell says so; the rest comes through, and all of it once there is room."""
    k = fresh(LUNARRAY_UNREAD_BYTES=str(2 << 20))
    c = k.client
    idle = k.context.socket(zmq.SUB)
    idle.linger, idle.rcvhwm, idle.rcvbuf = 0, 1, 4096
    idle.subscribe(b"")
    idle.connect(f"tcp://{k.address}:{k.connection['iopub_port']}")
    welcomed(idle)
    code = "local s = ('x'):rep(1 << 18) for i = 1, 60 do display{['text/plain'] = i .. s} display('small') end return 'through'"
    seen = c.execute(code)[1]
    large = [len(content["data"]["text/plain"]) > 1000 for kind, content in seen if kind == "display_data"]
    assert 8 <= large.count(True) < 40 and large.count(False) == 60 and seen[-1][0] == "execute_result"
    assert 1 <= stream(seen, "stderr").count("is left out") < 20
    assert resident(k) < 40 << 10 or sanitized()
    assert "a client does not read iopub" in k.log()
    idle.close()
    while "display_data" not in kinds(c.execute("display{['text/plain'] = ('x'):rep(1 << 20)}")[1]):
        pass


def test_ten_thousand_cells_leave_nothing_behind(fresh):
    if sanitized():
        pytest.skip("sanitizers keep what was freed")
    k = fresh(key="")
    k.client.sockets["iopub"].unsubscribe(b"")

    def run(first, last):
        for chunk in range(first, last, 500):  # what the client has not read yet is not counted
            for _ in flood(k, (b'{"code":"x = %d -- %s"}' % (i, b"text" * 250) for i in range(chunk, chunk + 500))):
                pass
        return resident(k)

    before = run(0, 5_000)
    assert run(5_000, 15_000) - before < 2500  # kilobytes, of 10,000 cells of 1
    content = {"hist_access_type": "range", "session": 0, "start": 1, "stop": 3}
    history = k.client.reply(k.client.send("shell", "history_request", content))["content"]["history"]
    assert [entry[2] for entry in history] == [f"x = {i} -- {'text' * 250}" for i in range(2)]


def test_cells_leave_nothing_behind(fresh):
    if sanitized():
        pytest.skip("sanitizers keep what was freed")
    k = fresh(key="")

    def run(count):
        for code in ("return {1, 'x'}", "print('text')", "error('no')", "local t = {} for i = 1, 10 do t[i] = {i} end") * count:
            k.client.execute(code, store_history=False)
        return resident(k)

    before = run(20)
    assert run(40) - before < 250  # kilobytes, of 160 cells: none of their messages is still there
