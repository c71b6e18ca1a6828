"""What the kernel answers while a cell runs, waits or is in one call of C; subshells."""
import os
import re
import signal
import subprocess
import time

import pytest

from kernel import BINARY, SPINNING, TIMEOUT, execute_content, kinds, stream, tell


# ---- while a cell runs

BUSY = {
    "a loop": "while not stop do end",
    "a coroutine": "coroutine.wrap(function() while not stop do end end)()",
    "a loop of calls that fail": "while not stop do pcall(error, 'x') end",
    "io.read": "line = io.read()",
}


@pytest.fixture(params=BUSY)
def busy(request, client):
    """A cell that runs until it is let go; it shows what it ends with."""
    client.execute("""comm.target('stop', function() stop = true end)
        comm.target('echo', function(c, data)
          print('x', data.x)
          c:send(data)
          c.on_msg = function() error('in the middle') end
          c.on_close = function() print('closed', io.read()) end
        end)
        stop = false mine = {alpha = 1, alphabet = 2}""")
    code = f"print('begun') {BUSY[request.param]} print('ended') return 'through'"
    sent = client.begin(code, allow_stdin=True)
    if request.param == "io.read":
        assert client.recv("stdin")["type"] == "input_request"
    yield sent
    if request.param == "io.read":
        client.send("stdin", "input_reply", {"value": ""})
    else:
        tell(client, "comm_open", {"comm_id": "s", "target_name": "stop", "data": {}})
    assert client.reply(sent)["content"]["status"] == "ok"
    seen = client.outputs(sent)
    assert stream(seen).endswith("ended\n") and dict(seen)["execute_result"]["data"]["text/plain"] == '"through"'


def test_requests_are_answered_while_a_cell_runs(client, busy):
    client_asks_all(client)


def client_asks_all(client):
    usage = client.ask("usage_request", {}, "control")[0]
    assert usage["pid"] == client.kernel.process.pid and usage["kernel_memory"] > 1 << 20 and usage["array_memory"] >= 0
    assert 0 < usage["host_virtual_memory"]["available"] <= usage["host_virtual_memory"]["total"]
    matches = client.ask("complete_request", {"code": "mine.al", "cursor_pos": 7})[0]["matches"]
    assert matches == ["alpha", "alphabet"]
    assert "format" in client.ask("inspect_request", {"code": "string.format", "cursor_pos": 9})[0]["data"]["text/plain"]
    assert client.ask("is_complete_request", {"code": "f("})[0]["status"] == "incomplete"
    assert client.ask("kernel_info_request")[0]["status"] == "ok"
    assert client.ask("comm_info_request")[0]["status"] == "ok"
    assert "begun" in client.ask("history_request", {"hist_access_type": "tail", "n": 1})[0]["history"][0][2]


def test_the_last_status_while_a_cell_runs_is_busy(client, busy):
    """Front ends show the last one, whatever it belongs to: to a completion, or to a subshell that is let go."""
    subshell = client.ask("create_subshell_request", {}, "control")[0]["subshell_id"]
    for kind, content, channel in (("complete_request", {"code": "mine.al", "cursor_pos": 7}, "shell"),
                                   ("kernel_info_request", {}, "shell"),
                                   ("delete_subshell_request", {"subshell_id": subshell}, "control")):
        client.early = []
        client.ask(kind, content, channel)
        m = client.recv("iopub")
        assert (m["type"], m["content"], m["parent"]["msg_id"]) == ("status", {"execution_state": "busy"}, busy), m


WAITS = {
    "a program's output": "local f = io.popen('cat {path}') print('begun') print(f:read())",
    "a program's end": "local f = io.popen('cat > /dev/null; read line < {path}; echo $line', 'w') print('begun') f:write(('x'):rep(100000)) f:close()",
    "a FIFO": "print('begun') for line in io.lines('{path}') do print(line) end",
    "a FIFO's reader": "print('begun') local f = io.open('{path}', 'w') f:write('from here') f:close()",
    "the default input": "io.input('{path}') print('begun') print(io.read('a')) io.input(io.stdin)",
    "os.execute": "print('begun') os.execute('cat {path}')",
    "a command": "print('begun')\n!cat {path}",
}
CALLS = {"a kernel": SPINNING, "a pattern": "print('begun') return ('a'):rep(40):find(('.-'):rep(20) .. 'b')"}


def wait_for_begun(client):
    while (m := client.recv("iopub"))["type"] != "stream":
        if m["type"] == "error" and "NVRTC" in m["content"]["evalue"]:
            pytest.skip("there is no NVRTC")


@pytest.mark.parametrize("what", WAITS)
def test_everything_is_answered_while_a_cell_waits(client, tmp_path, what):
    """Functions for comms and cells of subshells, too; and the wait goes on behind it."""
    client.execute("mine = {alpha = 1, alphabet = 2} comm.target('now', function(c, data) print('now', data.x) end)")
    subshell = client.ask("create_subshell_request", {}, "control")[0]["subshell_id"]
    os.mkfifo(tmp_path / "end")
    sent = client.begin(WAITS[what].replace("{path}", f"{tmp_path}/end"))
    wait_for_begun(client)
    client_asks_all(client)
    assert stream(tell(client, "comm_open", {"comm_id": "w", "target_name": "now", "data": {"x": 5}})) == "now\t5\n"
    aside = client.send("shell", "execute_request", execute_content("print('aside')"), header={"subshell_id": subshell})
    assert client.reply(aside)["content"]["status"] == "ok" and stream(client.outputs(aside)) == "aside\n"
    if what == "a FIFO's reader":
        assert (tmp_path / "end").read_text() == "from here"
    else:
        (tmp_path / "end").write_text("a line\n")
    assert client.reply(sent)["content"]["status"] == "ok"
    assert ("a line\n" in stream(client.outputs(sent))) == (what != "a FIFO's reader")
    client.ask("delete_subshell_request", {"subshell_id": subshell}, "control")


@pytest.mark.parametrize("what", WAITS)
def test_an_interrupt_ends_a_wait(client, tmp_path, what):
    os.mkfifo(tmp_path / "end")
    sent = client.begin(WAITS[what].replace("{path}", f"{tmp_path}/end"))
    wait_for_begun(client)
    client.ask("interrupt_request", {}, "control")
    assert client.reply(sent)["content"]["ename"] == "Interrupted"
    client.outputs(sent)
    client.execute("io.input(io.stdin)")


def test_what_waits_is_the_stock_librarys_else(client, tmp_path):
    """The same lines as in a script, where nothing is replaced."""
    os.mkfifo(tmp_path / "fifo")
    code = f"""
        local path = '{tmp_path}/fifo'
        print(os.execute('exit 3')) print(os.execute('kill -9 $$')) print(os.execute()) print(os.execute('true'))
        local f = io.popen('echo one; printf "2 0x10 rest"; exit 4')
        print(io.type(f), f:read('l', 'n', 'n', 'a', 'a', 'l')) print(f:close()) print(io.type(f), tostring(f), pcall(f.read, f))
        for a, b in io.popen('printf "1\\n2\\n3"'):lines('n', 'L') do print(a, b) end
        f = io.popen('cat > {tmp_path}/written', 'w') print(f:write('x', 1, '\\n'):seek('cur')) print(f:close())
        for line in io.lines('{tmp_path}/written', 'L') do io.write(line) end
        print(pcall(io.popen, 'true', 'rw')) print(pcall(io.open, path, 'q')) print(pcall(io.popen)) print(io.open(path .. '/none'))
        print(pcall(io.lines, path .. '/none')) print(pcall(io.input, path .. '/none'))
        f = io.popen('sleep 0.05; printf "a\\nb\\n" > ' .. path) for line in io.lines(path) do print(line) end print(f:close())
        f = io.popen('cat ' .. path) local w = io.open(path, 'w') print(w:write('through ', 'it')) print(w:close(), f:read('a'))
        f = io.open(path, 'r+') print(f:setvbuf('no'), f:write('line\\n') == f, f:read()) f:close()
        io.output('{tmp_path}/other') print(io.write('y') == io.output(), io.close()) io.output(io.stdout)
    """.replace("\\\\", "\\")
    script = subprocess.run([BINARY, "-e", code], capture_output=True, text=True, timeout=TIMEOUT)
    assert script.stderr == "" and script.stdout.count("\n") > 25

    def plain(text):
        return re.sub(r"0x[0-9a-f]{6,}", "0x", text.replace("(command line)", "cell"))

    assert plain(stream(client.execute(code)[1])).splitlines() == plain(script.stdout).splitlines()


def test_a_function_for_a_comm_cannot_take_the_file_that_the_cell_reads(client, tmp_path):
    os.mkfifo(tmp_path / "end")
    client.execute("comm.target('take', function() print(select(2, file:read())) print(select(2, file:close())) end)")
    sent = client.begin(f"file = io.open('{tmp_path}/end') print('begun') local line = file:read() file:close() return line")
    wait_for_begun(client)
    shown = stream(tell(client, "comm_open", {"comm_id": "t", "target_name": "take", "data": {}}))
    assert shown.count("busy") == 2, shown
    (tmp_path / "end").write_text("a line\n")
    client.reply(sent)
    assert dict(client.outputs(sent))["execute_result"]["data"]["text/plain"] == '"a line"'


@pytest.mark.parametrize("what", CALLS)
def test_requests_are_answered_during_one_call_in_c(client, tmp_path, what):
    """What only looks is answered at once; a function for a comm waits until the call is over."""
    client.execute("""mine = {alpha = 1, alphabet = 2} array = gpu.ones({3, 4}, 'float64') + 1
        comm.target('later', function() print('later') end)""")
    sent = client.begin(CALLS[what])
    wait_for_begun(client)
    comm, frames = client.frames("comm_open", {"comm_id": "l", "target_name": "later", "data": {}})
    client.raw("shell", frames)
    client_asks_all(client)
    assert "sum" in client.ask("complete_request", {"code": "array:s", "cursor_pos": 7})[0]["matches"]
    text = client.ask("inspect_request", {"code": "array", "cursor_pos": 5, "detail_level": 1})[0]["data"]["text/plain"]
    assert "float64" in text and "96 B" in text and "when the call that runs is over" in text
    text = client.ask("inspect_request", {"code": "array.shape", "cursor_pos": 10})[0]["data"]["text/plain"]
    assert text.startswith("x.shape")
    client.ask("interrupt_request", {}, "control")
    client.reply(sent)
    assert stream(client.outputs(comm)) == "later\n"
    client.outputs(sent)
    client.ask("comm_info_request")


@pytest.mark.parametrize("kept", [True, False], ids=["history", "no file of history"])
def test_requests_are_answered_during_a_call_that_lends_nothing(fresh, tmp_path, kept):
    """From what was known when the cell began; and who interrupts it in vain is told."""
    client = fresh(LUNARRAY_HISTORY=str(tmp_path / "history") if kept else "").client
    client.execute("mine = {alpha = 1} array = gpu.ones({3, 4}, 'float64') comm.target('later', function() print('later') end)")
    tell(client, "comm_open", {"comm_id": "kept", "target_name": "later", "data": {}})
    time.sleep(0.6)  # what the cell before this one noted is not noted again so soon
    sent = client.begin("print('begun') local t = {} table.move(t, 1, 1e11, 2)")
    wait_for_begun(client)
    comm = client.send("shell", "comm_open", {"comm_id": "l", "target_name": "later", "data": {}})
    content = client.ask("complete_request", {"code": "string.f", "cursor_pos": 8})[0]
    assert content["matches"] == ["find", "format"] and content["metadata"]["as_of"] == "the cell's beginning"
    assert client.ask("complete_request", {"code": "arr", "cursor_pos": 3})[0]["matches"] == ["array"]
    content = client.ask("complete_request", {"code": "array:su", "cursor_pos": 8})[0]
    assert "sum" in content["matches"]
    text = client.ask("inspect_request", {"code": "array", "cursor_pos": 5})[0]["data"]["text/plain"]
    assert "float64 (3, 4)" in text and "when the cell began" in text
    (session, line, code), = client.ask("history_request", {"hist_access_type": "tail", "n": 1})[0]["history"]
    assert (session, line) == (0, 2) and "begun" in code
    assert client.ask("history_request", {"hist_access_type": "range", "start": 2})[0]["history"] == [[0, 2, code]]
    assert "kept" in client.ask("comm_info_request")[0]["comms"]
    assert client.ask("usage_request", {}, "control")[0]["kernel_memory"] > 0
    client.ask("interrupt_request", {}, "control")
    told = ""
    while "restart of the kernel" not in told:
        m = client.recv("iopub")
        assert m, "nobody was told"
        told = m["content"].get("text", "")


@pytest.mark.parametrize("cell", [CALLS["a pattern"], "print('begun') table.move({}, 1, 1e11, 2)"], ids=["lent", "not lent"])
def test_controls_are_drawn_anew_during_one_call_in_c(fresh, cell):
    """A page that is opened while a cell runs asks for the state of each model of interact. What a user's function is to
    answer waits for the call's end."""
    client = fresh().client
    _, between = client.execute("interact(function(n, c) end, {n = {1, 9}, c = {'<a>', 'b'}}) other = comm.open('jupyter.widget')")
    models = {c["comm_id"]: c["data"].get("state") for kind, c in between if kind == "comm_open"}
    time.sleep(0.6)  # what the cell before this one noted is not noted again so soon
    client.begin(cell)
    wait_for_begun(client)
    late = [id for id, state in models.items() if not state]
    client.send("shell", "comm_msg", {"comm_id": late[0], "data": {"method": "request_state"}})
    for id, state in models.items():
        if state:
            told = tell(client, "comm_msg", {"comm_id": id, "data": {"method": "request_state"}})
            assert [(kind, c["comm_id"], c["data"]["method"]) for kind, c in told] == [("comm_msg", id, "update")]
            assert told[0][1]["data"] == {"method": "update", "state": told[0][1]["data"]["state"], "buffer_paths": []}
            assert told[0][1]["data"]["state"].items() >= {k: v for k, v in state.items() if k != "msg_id"}.items()
    assert len(models) == 5 and len(late) == 1


@pytest.mark.parametrize("cell", [CALLS["a pattern"], "print('begun') table.move({}, 1, 1e11, 2)", "print('begun') while true do end"],
                         ids=["lent", "not lent", "lua"])
def test_all_states_are_told_while_a_cell_runs(fresh, cell):
    client = fresh().client
    client.execute("interact(function(n, c) end, {n = {1, 9}, c = {'<a>', 'b'}})")
    time.sleep(0.6)  # what the cell before this one noted is not noted again so soon
    client.begin(cell)
    wait_for_begun(client)
    assert tell(client, "comm_open", {"comm_id": "page", "target_name": "jupyter.widget.control", "data": {}}) == []
    (_, told), = tell(client, "comm_msg", {"comm_id": "page", "data": {"method": "request_states"}})
    names = sorted(s["model_name"] for s in told["data"]["states"].values())
    assert names == ["DropdownModel", "IntSliderModel", "OutputModel", "VBoxModel"]
    assert tell(client, "comm_close", {"comm_id": "page", "data": {}}) == []


def test_a_comm_message_while_a_cell_runs(client, busy):
    """What its function shows belongs to the message, and its errors do not reach the cell."""
    client_asks = {"comm_id": "m", "target_name": "middle", "data": {"x": 1}}
    assert kinds(tell(client, "comm_open", client_asks)) == ["comm_close"]
    seen = tell(client, "comm_open", {"comm_id": "m", "target_name": "echo", "data": {"x": 3}})
    assert stream(seen) == "x\t3\n" and seen[-1] == ("comm_msg", {"comm_id": "m", "data": {"x": 3}})
    assert tell(client, "comm_msg", {"comm_id": "m", "data": {}})[0][1]["ename"] == "LuaError"
    seen = tell(client, "comm_close", {"comm_id": "m", "data": {}})
    assert stream(seen) == "closed\tnil\n" and "no input" in stream(seen, "stderr")


def test_an_error_beside_a_cell_keeps_the_cells_own_report(client):
    """The function that closes the variable runs between the cell's error and its report."""
    client.execute("stop = false comm.target('stop', function() stop = true error('beside') end)")
    sent = client.begin("""
        local function deep()
          local guard <close> = setmetatable({}, {__close = function() while not stop do end end})
          error("the cell's own")
        end
        deep()""")
    assert tell(client, "comm_open", {"comm_id": "s", "target_name": "stop", "data": {}})[0][1]["evalue"].endswith("beside")
    content = client.reply(sent)["content"]
    assert content["evalue"].endswith(":4: the cell's own")
    assert [line for line in content["traceback"] if "deep" in line and ":4" in line]
    client.outputs(sent)


def test_an_interrupt_ends_the_cell_and_what_is_beside_it(client):
    client.execute("comm.target('loop', function() while true do end end)")
    sent = client.begin("while true do end")
    beside = client.send("shell", "comm_open", {"comm_id": "l2", "target_name": "loop", "data": {}})
    while client.recv("iopub")["parent"].get("msg_id") != beside:
        pass
    client.ask("interrupt_request", {}, "control")
    assert client.outputs(beside)[-2][1]["ename"] == "Interrupted"
    assert client.reply(sent)["content"]["ename"] == "Interrupted"
    client.outputs(sent)
    assert client.execute("return 1")[0]["status"] == "ok"


def test_many_requests_meanwhile(client):
    client.execute("stop = false comm.target('stop', function() stop = true end)")
    sent = client.begin("while not stop do local t = {} for i = 1, 10 do t[i] = {} end end")
    for i in range(60):
        client_id = client.send("shell", "complete_request", {"code": "string.", "cursor_pos": 7})
        assert len(client.reply(client_id)["content"]["matches"]) > 10
    tell(client, "comm_open", {"comm_id": "s", "target_name": "stop", "data": {}})
    assert client.reply(sent)["content"]["status"] == "ok"
    client.outputs(sent)


# ---- subshells

def subshells(client):
    content = client.ask("list_subshell_request", {}, "control")[0]
    assert content["status"] == "ok"
    return content["subshell_id"]


def test_subshells_are_made_and_deleted(client):
    before = subshells(client)
    made = [client.ask("create_subshell_request", {}, "control")[0]["subshell_id"] for _ in range(2)]
    assert len(set(made)) == 2 and subshells(client) == before + made
    assert client.ask("delete_subshell_request", {"subshell_id": made[0]}, "control")[0] == {"status": "ok"}
    assert subshells(client) == before + made[1:]
    for content in ({"subshell_id": made[0]}, {"subshell_id": 5}, {}):
        assert client.ask("delete_subshell_request", content, "control")[0]["ename"] == "UnknownSubshell"
    header = {"subshell_id": made[0]}
    content, between = client.ask("execute_request", execute_content("gone = true"), header=header)
    assert content["ename"] == "UnknownSubshell" and between == []
    assert client.ask("execute_request", execute_content("return gone"), header={"subshell_id": made[1]})[0]["status"] == "ok"
    client.ask("delete_subshell_request", {"subshell_id": made[1]}, "control")


@pytest.fixture
def subshell(client):
    name = client.ask("create_subshell_request", {}, "control")[0]["subshell_id"]
    yield {"subshell_id": name}
    client.ask("delete_subshell_request", {"subshell_id": name}, "control")


def test_a_subshell_executes_while_a_cell_runs(client, subshell, busy):
    def execute(code, **more):
        return client.ask("execute_request", execute_content(code, **more), header=subshell)

    content, between = execute("local new = mine.alpha + 1 beside = new print('beside', new) return new",
                               user_expressions={"a": "mine.alpha"})
    assert content["status"] == "ok" and content["user_expressions"]["a"]["data"]["text/plain"] == "1"
    assert kinds(between) == ["execute_input", "stream", "execute_result"]
    assert stream(between) == "beside\t2\n" and between[2][1]["data"]["text/plain"] == "2"
    content, between = execute("error('in the subshell')")
    assert content["status"] == "error" and kinds(between) == ["execute_input", "error"]
    assert execute("print('unheard') return 1", silent=True)[1] == []
    content, between = execute("return io.read()", allow_stdin=True)
    assert content["status"] == "ok" and "no input" in stream(between, "stderr")


def test_a_subshell_does_not_end_what_the_main_shell_queued(client, subshell):
    failed = client.send("shell", "execute_request", execute_content("error('x')"), header=subshell)
    queued = client.send("shell", "execute_request", execute_content("return 'ran'"))
    assert client.reply(failed)["content"]["status"] == "error"
    assert client.reply(queued)["content"]["status"] == "ok"
    client.outputs(failed)
    client.outputs(queued)


def test_an_interrupt_ends_a_subshells_cell_too(client, subshell):
    sent = client.begin("while true do end")
    beside = client.send("shell", "execute_request", execute_content("while true do end"), header=subshell)
    while client.recv("iopub")["parent"].get("msg_id") != beside:
        pass
    client.ask("interrupt_request", {}, "control")
    assert client.reply(beside)["content"]["ename"] == "Interrupted"
    assert client.reply(sent)["content"]["ename"] == "Interrupted"
    client.outputs(beside)
    client.outputs(sent)


def test_requests_are_answered_where_the_caller_blocked_signals(fresh):
    """As perf does. The signals are handed down to the kernel."""
    blocked = {signal.SIGWINCH, signal.SIGURG, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        k = fresh()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    c = k.client
    sent = c.begin("wanted = 1 while true do local x = wanted * 2 end")
    opened = tell(c, "comm_open", {"comm_id": "x", "target_name": "nobody", "data": {}})  # only the session's thread answers it
    assert kinds(opened) == ["comm_close"]
    k.process.send_signal(signal.SIGINT)
    assert c.reply(sent)["content"]["ename"] == "Interrupted"
