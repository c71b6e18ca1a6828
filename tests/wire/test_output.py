"""What cells print, on the wire: from Lua, C and kernels, gathered, cut, and before idle; what stops a cell and its queue."""
import ctypes
import json
import os
import signal
import time

import pytest

from kernel import SPINNING, TIMEOUT, execute_content, kinds, stream, tell


# ---- output

def test_c_level_output_reaches_its_cell(client):
    _, between = client.execute("io.stdout:write('from C') io.stderr:write('and stderr') os.execute('echo a child')")
    assert "from C" in stream(between) and "a child\n" in stream(between)
    assert stream(between, "stderr") == "and stderr"


def test_c_level_output_keeps_its_place(client):
    _, between = client.execute("print('one') io.stdout:write('two\\n') print('three') os.execute('echo four') print('five')")
    assert stream(between) == "one\ntwo\nthree\nfour\nfive\n"


def test_what_a_kernel_prints_reaches_its_cell(client):
    code = 'gpu.device("simt") gpu.kernel[[__global__ void say() { printf("block %d\\n", blockIdx.x); }]](1, 1)() print("then")'
    content, between = client.execute(code)
    if content["status"] == "error" and "NVRTC" in content["evalue"]:
        pytest.skip("there is no NVRTC")
    client.execute("gpu.device('cpu')")
    assert stream(between) == "block 0\nthen\n"


def test_much_c_level_output(client):
    _, between = client.execute("for i = 1, 20000 do io.stdout:write('0123456789') end io.stdout:write('end')")
    assert stream(between) == "0123456789" * 20000 + "end"


def test_output_comes_while_the_cell_runs(client):
    sent = client.begin("print('early') io.stdout:write('c') io.stdout:flush() while true do end")
    text = ""
    while "early" not in text or "c" not in text.replace("early", ""):
        m = client.recv("iopub")
        assert m and m["type"] == "stream", m
        text += m["content"]["text"]
    client.ask("interrupt_request", {}, "control")
    assert client.reply(sent)["content"]["status"] == "error"
    client.outputs(sent)


def test_what_a_cell_shows_first_comes_while_it_runs(client):
    """Though what comes first waits a little for more."""
    msg_id = client.begin("display('first') while true do end")
    while (m := client.recv("iopub"))["type"] != "display_data":
        pass
    assert m["parent"]["msg_id"] == msg_id and m["content"]["data"]["text/plain"] == '"first"'
    client.ask("interrupt_request", channel="control")
    assert client.reply(msg_id)["content"]["status"] == "error"
    client.outputs(msg_id)


def test_prints_are_gathered(client):
    start = time.monotonic()
    _, between = client.execute("for i = 1, 20000 do print('line', i) end")
    waits = (time.monotonic() - start) / 0.08  # a text waits so long for more before it is sent
    text = stream(between)
    assert text == "".join(f"line\t{i}\n" for i in range(1, 20001))
    assert len(between) <= 3 + waits


def test_what_is_printed_at_once_is_one_message(client):
    """JupyterLab draws all that a cell has printed again for each: a megabyte in pieces of 32 KB kept it busy for half a minute."""
    _, between = client.execute("io.write((('0123456789\\n'):rep(80000)))")
    assert [len(c["text"]) for t, c in between if t == "stream"] == [880000]


def test_a_flood_stays_below_the_rate_of_jupyter_servers(fresh):
    """They drop everything, errors and results, once 3 MB were sent within 3 s."""
    k = fresh()
    _, between = k.client.execute("for i = 1, 500000 do print('0123456789', '\\u{e4}') end")
    sent = [c for t, c in between if t == "stream" and c["name"] == "stdout"]
    assert 2000000 < len(stream(between).encode()) < sum(len(json.dumps(c)) for c in sent) < 3000000
    assert "the limit for one cell" in stream(between, "stderr")


def test_a_flood_is_cut_and_says_so(fresh):
    k = fresh(LUNARRAY_OUTPUT_LIMIT="100000")
    content, between = k.client.execute("for i = 1, 50000 do print('0123456789') end return 'still here'")
    assert content["status"] == "ok"
    assert len(stream(between)) == 100000
    note = stream(between, "stderr")
    assert "100000" in note and "%%capture NAME" in note and "LUNARRAY_OUTPUT_LIMIT" in note and "450000 more bytes" in note
    assert "still here" in dict(between)["execute_result"]["data"]["text/plain"]
    assert stream(k.client.execute("print('next')")[1]) == "next\n"


def test_streams_alternate_in_order(client):
    _, between = client.execute("for i = 1, 3 do print(i) io.stderr:write('e' .. i .. '\\n') end")
    assert [c["text"] for t, c in between if t == "stream"] == ["1\n", "e1\n", "2\n", "e2\n", "3\n", "e3\n"]


def test_bytes_that_are_no_text(client):
    _, between = client.execute(r"print('a\xff\xfez') print('h\u{e4}\u{1F600}\0!')")
    assert stream(between) == "a\ufffd\ufffdz\nh\u00e4\U0001f600\0!\n"
    content, between = client.execute(r"error('\xff')")
    assert content["status"] == "error" and "\ufffd" in content["evalue"]


def test_characters_are_not_cut_in_two(client):
    _, between = client.execute("print(('\u20ac'):rep(400000))")
    assert stream(between) == "\u20ac" * 400000 + "\n"
    assert len(between) > 2


def test_output_after_the_cell_belongs_to_it(client, tmp_path):
    os.mkfifo(tmp_path / "end")
    child = f"'read line < {tmp_path}/end; echo late >&2'"
    sent = client.send("shell", "execute_request", execute_content(f"late = io.popen({child})"))
    client.reply(sent)
    client.outputs(sent)
    (tmp_path / "end").write_text("now\n")
    m = client.recv("iopub")
    assert m and m["parent"]["msg_id"] == sent and m["content"]["text"] == "late\n"


# ---- stopping

def test_os_exit_does_not_end_the_kernel(client):
    client.execute("kept = 5")
    content, _ = client.execute("os.exit(3)")
    assert content["status"] == "error" and "os.exit would end the kernel" in content["evalue"]
    assert client.execute("return kept")[1][-1][1]["data"]["text/plain"] == "5"


def test_an_interrupt_message_stops_a_loop(client):
    sent = client.begin("interrupt_state = 1 print 'it loops' while true do interrupt_state = interrupt_state + 1 end")
    assert client.recv("iopub")["content"]["text"] == "it loops\n"
    content, between = client.ask("interrupt_request", {}, "control")
    assert content == {"status": "ok"} and between == []
    assert client.reply(sent)["content"]["ename"] == "Interrupted"
    busy = ("status", {"execution_state": "busy"})  # again, behind the interrupt's idle, if the cell was not done by then
    assert kinds(m for m in client.outputs(sent) if m != busy) == ["error", "status"]
    assert client.execute("return interrupt_state > 1")[1][-1][1]["data"]["text/plain"] == "true"


def test_a_signal_stops_a_loop(shared, client):
    sent = client.begin("while true do end")
    os.kill(shared.process.pid, signal.SIGINT)
    assert client.reply(sent)["content"]["ename"] == "Interrupted"
    client.outputs(sent)


def test_an_interrupt_stops_child_processes(client):
    sent = client.begin("os.execute('echo started; sleep 1000; sleep 1000')")
    m = client.recv("iopub")
    assert m and m["content"] == {"name": "stdout", "text": "started\n"}
    client.ask("interrupt_request", {}, "control")
    client.reply(sent)
    client.outputs(sent)


def test_an_interrupt_between_cells_does_nothing(shared, client):
    client.ask("interrupt_request", {}, "control")
    os.kill(shared.process.pid, signal.SIGINT)
    assert client.execute("return 'fine'")[0]["status"] == "ok"


def test_signals_disturb_no_thread(shared, client):
    """Whatever waits goes on waiting, in the thread of the sockets, too."""
    client.execute("return 1")  # from then on there are handlers for all of them
    libc = ctypes.CDLL(None)
    for task in sorted(os.listdir(f"/proc/{shared.process.pid}/task")):
        for number in (signal.SIGINT, signal.SIGURG, signal.SIGWINCH):
            for i in range(20):
                libc.tgkill(shared.process.pid, int(task), int(number))
            client.sockets["hb"].send(b"alive?")
            assert client.sockets["hb"].poll(TIMEOUT * 1000) and client.sockets["hb"].recv() == b"alive?"
    assert client.execute("return 1")[0]["status"] == "ok"


ENDLESS = {
    "the software GPU": SPINNING,
    "array loops": "gpu.device('cpu') local a = gpu.ones(100, 1000) print('begun') while true do a = (a * 2 + 1):sqrt():abs() a:sum() end",
    "a protected call": "print('begun') while true do pcall(function() while true do end end) end",
    "a coroutine": "print('begun') coroutine.wrap(function() while true do end end)()",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_an_interrupt_message_stops(client, what):
    sent = client.begin(ENDLESS[what])
    while True:
        m = client.recv("iopub")
        assert m, "the cell did not begin"
        if m["type"] == "error" and "NVRTC" in m["content"]["evalue"]:
            pytest.skip("there is no NVRTC")
        if m["type"] == "stream" and "begun" in m["content"]["text"]:
            break
    client.ask("interrupt_request", {}, "control")
    assert client.reply(sent)["content"]["ename"] == "Interrupted"
    client.outputs(sent)
    assert client.execute("return 1")[0]["status"] == "ok"


def test_no_interrupt_is_lost(client):
    """The message may come at any moment of the request's life."""
    for i in range(20):
        sent = client.send("shell", "execute_request", execute_content("while true do end"))
        time.sleep(i * 0.0002)
        while True:
            client.ask("interrupt_request", {}, "control")
            if client.sockets["shell"].poll(1000):
                break
        assert client.reply(sent)["content"]["ename"] == "Interrupted"
    assert client.execute("return 1")[0]["status"] == "ok"


def test_control_and_heartbeat_answer_while_a_cell_runs(client):
    sent = client.begin("while true do end")
    assert client.ask("kernel_info_request", {}, "control")[0]["status"] == "ok"
    client.sockets["hb"].send(b"alive?")
    assert client.sockets["hb"].poll(TIMEOUT * 1000) and client.sockets["hb"].recv() == b"alive?"
    client.ask("interrupt_request", {}, "control")
    client.reply(sent)
    client.outputs(sent)


def test_control_does_not_take_over_the_output_of_the_cell(client):
    client.execute("stop = false comm.target('stop', function() stop = true end)")
    sent = client.begin("while not stop do end print('mine') os.execute('echo and mine')")
    asked = client.send("control", "kernel_info_request")
    client.reply(asked, "control")
    assert kinds(client.outputs(asked)) == ["status", "status"]
    tell(client, "comm_open", {"comm_id": "s", "target_name": "stop", "data": {}})
    client.reply(sent)
    assert stream(client.outputs(sent)) == "mine\nand mine\n"


def test_stop_on_error_aborts_what_is_queued(client, tmp_path):
    os.mkfifo(tmp_path / "end")
    code = f"local f = io.open('{tmp_path}/end') f:read() f:close() error('stop here')"
    first = client.send("shell", "execute_request", execute_content(code))
    queued = [client.send("shell", "execute_request", execute_content(f"aborted_ran = {i}")) for i in range(3)]
    other = client.send("shell", "frobnicate_request")
    (tmp_path / "end").write_text("now\n")
    assert client.reply(first)["content"]["status"] == "error"
    for sent in queued:
        content = client.reply(sent)["content"]
        assert content["status"] == "error" and content["ename"] == "Aborted"
    assert client.reply(other)["content"]["ename"] == "UnknownRequest"
    client.outputs(first)
    for sent in queued + [other]:
        assert kinds(client.outputs(sent)) == ["status", "status"]
    assert client.execute("return aborted_ran == nil")[1][-1][1]["data"]["text/plain"] == "true"


def test_requests_on_their_way_at_an_error_are_aborted(client):
    """Sent before the error, arriving after it: a fast error must stop Run All as a slow one does."""
    msg_id, frames = client.frames("execute_request", execute_content("late_ran = true"))
    assert client.execute("error('quick')")[0]["status"] == "error"
    client.raw("shell", frames)
    assert client.reply(msg_id)["content"]["ename"] == "Aborted"
    client.outputs(msg_id)
    assert client.execute("return late_ran == nil")[1][-1][1]["data"]["text/plain"] == "true"


def test_without_stop_on_error_the_queue_goes_on(client):
    first = client.send("shell", "execute_request", execute_content("error('go on')", stop_on_error=False))
    second = client.send("shell", "execute_request", execute_content("return 'ran'"))
    assert client.reply(first)["content"]["status"] == "error"
    assert client.reply(second)["content"]["status"] == "ok"
    client.outputs(first)
    client.outputs(second)
