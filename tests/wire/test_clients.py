"""What clients send besides requests: input, bad messages, more than one client."""
import os
import signal
import time

import pytest

from kernel import DELIMITER, TIMEOUT, execute_content, stream


# ---- input

def answer_input(client, sent, value):
    request = client.recv("stdin")
    assert request and request["type"] == "input_request" and request["parent"]["msg_id"] == sent
    client.send("stdin", "input_reply", {"status": "ok", "value": value}, parent=request["header"])
    return request["content"]


def test_input(client):
    sent = client.send("shell", "execute_request", execute_content("print('before') line = io.read() return line", allow_stdin=True))
    content = answer_input(client, sent, "typed h\u00e4")
    assert content["password"] is False and isinstance(content["prompt"], str)
    assert client.reply(sent)["content"]["status"] == "ok"
    seen = client.outputs(sent)
    assert stream(seen) == "before\n"
    assert "typed h\u00e4" in dict(seen)["execute_result"]["data"]["text/plain"]


def test_a_password_is_asked_for(client):
    sent = client.send("shell", "execute_request", execute_content("return io.password('Key: '), io.read()", allow_stdin=True))
    assert answer_input(client, sent, "s3cret \u00e4") == {"prompt": "Key: ", "password": True}
    assert answer_input(client, sent, "seen") == {"prompt": "", "password": False}
    client.reply(sent)
    assert dict(client.outputs(sent))["execute_result"]["data"]["text/plain"] == '"s3cret \u00e4"\t"seen"'
    assert client.execute("return io.password()")[1][-1][0] == "stream"  # nobody to ask


def wait_for_log(kernel, text, count):
    end = time.monotonic() + TIMEOUT
    while kernel.log().count(text) < count:
        assert time.monotonic() < end, kernel.log()
        time.sleep(0.01)


def test_stale_input_is_dropped(shared, client):
    dropped = "dropped a message on stdin"
    before = shared.log().count(dropped)
    client.send("stdin", "input_reply", {"status": "ok", "value": "stale"})
    client.raw("stdin", [b"garbage"])  # once this has come, so has what was sent before it
    wait_for_log(shared, dropped, before + 1)
    sent = client.send("shell", "execute_request", execute_content("return io.read()", allow_stdin=True))
    answer_input(client, sent, "fresh")
    client.reply(sent)
    assert "fresh" in dict(client.outputs(sent))["execute_result"]["data"]["text/plain"]


def test_output_comes_before_the_question(client):
    sent = client.send("shell", "execute_request", execute_content("print('the question') return io.read()", allow_stdin=True))
    request = client.recv("stdin")
    texts = []
    while "the question\n" not in texts:
        m = client.recv("iopub")
        assert m, "the text before the question did not come"
        texts.append(m["content"].get("text"))
    client.send("stdin", "input_reply", {"status": "ok", "value": ""}, parent=request["header"])
    client.reply(sent)
    client.outputs(sent)


@pytest.mark.parametrize("how", ["message", "signal"])
def test_an_interrupt_ends_a_wait_for_input(shared, client, how):
    sent = client.send("shell", "execute_request", execute_content("return io.read()", allow_stdin=True))
    assert client.recv("stdin")["type"] == "input_request"
    if how == "message":
        client.ask("interrupt_request", {}, "control")
    else:
        os.kill(shared.process.pid, signal.SIGINT)
    assert client.reply(sent)["content"]["ename"] == "Interrupted"
    client.outputs(sent)


def test_without_allow_stdin_input_is_at_its_end(client):
    content, between = client.execute("return io.read() == nil")
    assert content["status"] == "ok"
    assert "input" in stream(between, "stderr")
    assert between[-1][1]["data"]["text/plain"] == "true"


# ---- what bad messages get

def garbage(client):
    _, good = client.frames("kernel_info_request")
    wrong = list(good)
    wrong[1] = b"0" * 64
    _, unsigned = client.frames("execute_request", execute_content("garbage_ran = true"))
    unsigned[1] = b""
    _, changed = client.frames("execute_request", execute_content("return 1"))
    changed[5] = changed[5].replace(b"return 1", b"garbage_ran = 1")
    body = [b"not json", b"{}", b"{}", b"{}"]
    header = [b'{"msg_id": 5}', b"{}", b"{}", b"{}"]
    content = [good[2], b"{}", b"{}", b"[]"]
    return [wrong, unsigned, changed, [b""], [b"x"] * 5, [DELIMITER], [DELIMITER, b""], good[:4], [b"x"] * 300,
            [b"i"] * 20 + good, [DELIMITER, client.sign(body), *body], [DELIMITER, client.sign(header), *header],
            [DELIMITER, client.sign(content), *content], [os.urandom(100) for _ in range(8)], [b"\0" * 1_000_000]]


@pytest.mark.parametrize("channel", ["shell", "control", "stdin"])
def test_garbage_is_dropped(shared, client, channel):
    dropped = "dropped a message on " + channel
    before = shared.log().count(dropped)
    messages = garbage(client)
    for frames in messages:
        client.raw(channel, frames)
    assert client.execute("return garbage_ran == nil")[1][-1][1]["data"]["text/plain"] == "true"
    assert client.ask("kernel_info_request", {}, "control")[0]["status"] == "ok"
    wait_for_log(shared, dropped, before + len(messages))
    assert not client.sockets[channel].poll(50)


def test_a_replayed_message_is_dropped(shared, client):
    msg_id, frames = client.frames("execute_request", execute_content("replayed = (replayed or 0) + 1"))
    client.raw("shell", frames)
    client.reply(msg_id)
    client.outputs(msg_id)
    client.raw("shell", frames)
    assert client.execute("return replayed")[1][-1][1]["data"]["text/plain"] == "1"
    assert "was used before" in shared.log()


def test_garbage_on_the_other_sockets(shared, client):
    import socket

    for name in ("shell_port", "iopub_port", "hb_port"):
        with socket.create_connection((shared.address, shared.connection[name])) as s:
            s.sendall(b"GET / HTTP/1.1\r\n\r\n" + os.urandom(1000))
    assert client.execute("return 1")[0]["status"] == "ok"


# ---- more than one client

def test_identities_are_kept_apart(shared, client):
    other = shared.connect(b"\x01\x00with zeros\x00")
    mine, theirs = client.send("shell", "kernel_info_request"), other.send("shell", "kernel_info_request")
    assert client.reply(mine) and other.reply(theirs)
    client.outputs(mine)
    other.outputs(theirs)
    assert client.outputs(theirs) and other.execute("return 1")[0]["status"] == "ok"


def test_a_reconnecting_identity_takes_over(shared, client):
    first = shared.connect(b"the same identity")
    assert first.execute("return 1")[0]["status"] == "ok"
    second = shared.connect(b"the same identity")
    assert second.execute("return 2")[0]["status"] == "ok"
    first.close()
    assert second.execute("return 3")[0]["status"] == "ok"


def test_starting_is_said_once(fresh):
    k = fresh()
    m = k.client.recv("iopub")
    assert (m["type"], m["content"], m["parent"]) == ("status", {"execution_state": "starting"}, {})
    second = k.connect()
    assert second.early[0]["content"] == {"subscription": ""}
    second.execute("return 1")
    assert all(m["content"].get("execution_state") != "starting" for m in second.early)
