"""The notebook kernel on the wire: what each request gets, in which order."""
import os
import re
import subprocess

import pytest

from kernel import BINARY, TIMEOUT, execute_content, kinds


# ---- what each request gets

def test_kernel_info_on_both_channels(client):
    for channel in ("shell", "control"):
        content, between = client.ask("kernel_info_request", {}, channel)
        assert between == []
        assert content["status"] == "ok"
        assert content["protocol_version"] == "5.5"
        assert content["implementation"] == "lunarray"
        assert content["supported_features"] == ["kernel subshells", "debugger"]
        info = content["language_info"]
        assert (info["name"], info["file_extension"], info["mimetype"]) == ("lua", ".lua", "text/x-lua")
        assert info["version"].startswith("5.4")
        assert content["help_links"] and all(set(l) == {"text", "url"} for l in content["help_links"])


def test_headers(client):
    msg_id = client.send("shell", "kernel_info_request")
    reply, seen = client.reply(msg_id), client.outputs(msg_id)
    header = reply["header"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", header["date"])
    assert header["session"] != client.session and header["version"] == "5.5"
    assert set(header) >= {"msg_id", "msg_type", "session", "username", "date", "version"}
    assert len(seen) == 2


def test_message_ids_are_unique(client):
    ids = set()
    for _ in range(3):
        sent = client.send("shell", "execute_request", execute_content("print(1) return 2"))
        ids.add(client.reply(sent)["header"]["msg_id"])
        for _ in range(5):
            ids.add(client.recv("iopub")["header"]["msg_id"])
    assert len(ids) == 18


def test_execute_in_order(client):
    content, between = client.execute("print('hello') return 6 * 7")
    assert kinds(between) == ["execute_input", "stream", "execute_result"]
    assert between[0][1]["code"] == "print('hello') return 6 * 7"
    count = between[0][1]["execution_count"]
    assert between[1][1] == {"name": "stdout", "text": "hello\n"}
    assert between[2][1] == {"execution_count": count, "data": {"text/plain": "42"}, "metadata": {}}
    assert content == {"status": "ok", "execution_count": count, "user_expressions": {}, "payload": []}
    assert client.execute("x = 1")[0]["execution_count"] == count + 1


def test_the_state_stays(client):
    client.execute("kept = {1, 2, 3}")
    assert client.execute("return #kept")[1][-1][1]["data"]["text/plain"] == "3"


def test_the_largest_arrays_have_their_names(client):
    client.execute("local held = gpu.zeros(3000, 'cpu')")
    client.execute("nested = {list = {gpu.zeros(1, 2000, 'float64', 'cpu')}}")
    text = client.execute("gpu.memory().devices.cpu")[1][-1][1]["data"]["text/plain"]
    text = " ".join(text.split())
    assert "11.7 KiB held float32 (3000,)" in text
    assert "15.6 KiB nested.list[1] float64 (1, 2000)" in text
    assert all(f"{field} = " in text for field in ("in_use", "cached", "peak"))
    client.execute("held, nested = nil, nil")


def test_an_error_is_one_output(client):
    content, between = client.execute("error('it broke')")
    assert kinds(between) == ["execute_input", "error"]
    error = between[1][1]
    assert content["status"] == "error"
    for key in ("ename", "evalue", "traceback"):
        assert content[key] == error[key]
    assert "it broke" in error["evalue"]
    assert error["ename"] and any("it broke" in line for line in error["traceback"])


def test_a_syntax_error(client):
    content, between = client.execute("for for")
    assert content["status"] == "error" and kinds(between) == ["execute_input", "error"]
    assert "cell" in content["evalue"] or "near" in content["evalue"]


def test_output_before_the_error_comes_before_it(client):
    _, between = client.execute("print('first') error('second')")
    assert kinds(between) == ["execute_input", "stream", "error"]


def test_silent_says_nothing(client):
    before = client.execute("x = 0")[0]["execution_count"]
    content, between = client.execute("print('unheard') x = 5 return 1", silent=True)
    assert content["status"] == "ok" and between == []
    after = client.execute("return x")
    assert after[0]["execution_count"] == before + 1
    assert after[1][-1][1]["data"]["text/plain"] == "5"


def test_a_failing_silent_request_shows_nothing_either(client):
    content, between = client.execute("error('unheard')", silent=True, stop_on_error=False)
    assert content["status"] == "error" and between == []


def test_a_cell_that_was_not_run_is_thought_of(client):
    """Who opens a notebook may begin in the middle of it."""
    def hint(code):
        return [line for line in client.execute(code)[0].get("traceback", []) if "hint: " in line]

    for code in ("never_set + 1", "never_set()", "gpu.sqrt(never_set)"):
        assert "no cell that was run has set never_set;" in hint(code)[0]
    failed = client.execute("never_set = error('no')")[0]["execution_count"]
    assert f"cell {failed} sets never_set, but ended before that" in hint("never_set + 1")[0]
    client.execute("never_set = nil")
    assert hint("never_set + 1") == []


def test_without_history_the_count_stays(client):
    before = client.execute("x = 0")[0]["execution_count"]
    content, between = client.execute("return 'shown'", store_history=False)
    assert kinds(between) == ["execute_input", "execute_result"]
    assert content["execution_count"] == before


def test_user_expressions(client):
    expressions = {"sum": "1 + 1", "bad": "nothing.at.all", "number": 5}
    content, between = client.execute("a = 1", user_expressions=expressions)
    assert kinds(between) == ["execute_input"]
    results = content["user_expressions"]
    assert results["sum"] == {"status": "ok", "data": {"text/plain": "2"}, "metadata": {}}
    assert results["bad"]["status"] == "error" and "nothing" in results["bad"]["evalue"]
    assert set(results) == {"sum", "bad"}
    failed = client.execute("error('no')", user_expressions={"sum": "1 + 1"})[0]
    assert failed["status"] == "error" and failed["user_expressions"] == {}


def test_complete(client):
    client.execute("completion_test = {alpha = 1, alphabet = 2, beta = 3}")
    content, _ = client.ask("complete_request", {"code": "x = completion_test.al", "cursor_pos": 22})
    assert content["status"] == "ok"
    assert content["cursor_end"] == 22
    completed = {"x = completion_test.al"[:content["cursor_start"]] + m for m in content["matches"]}
    assert completed == {"x = completion_test.alpha", "x = completion_test.alphabet"}
    types = content["metadata"]["_jupyter_types_experimental"]
    assert [t["text"] for t in types] == content["matches"]
    assert all(t["start"] == content["cursor_start"] and t["end"] == 22 and t["type"] for t in types)


def test_cursor_positions_are_code_points(client):
    code = "s = 'h\u00e4\u20ac\U0001f600' string.form .. 'tail'"
    at = code.index("form") + 4
    content, _ = client.ask("complete_request", {"code": code, "cursor_pos": at})
    assert content["matches"], content
    for match in content["matches"]:
        done = code[:content["cursor_start"]] + match + code[content["cursor_end"]:]
        assert done == code.replace("string.form", "string.format")
    content, _ = client.ask("inspect_request", {"code": code.replace("form", "format"), "cursor_pos": at, "detail_level": 0})
    assert content["found"] is True and "format" in content["data"]["text/plain"]


def test_positions_out_of_range_are_clamped(client):
    for position in (10**9, -5, "x", None):
        content, _ = client.ask("complete_request", {"code": "string.f", "cursor_pos": position})
        assert content["status"] == "ok" and content["cursor_end"] == 8


def test_inspect(client):
    content, _ = client.ask("inspect_request", {"code": "string.format", "cursor_pos": 13, "detail_level": 0})
    assert content["status"] == "ok" and content["found"] is True and content["data"]["text/plain"]
    content, _ = client.ask("inspect_request", {"code": "no_such_name_anywhere", "cursor_pos": 5, "detail_level": 0})
    assert content == {"status": "ok", "found": False, "data": {}, "metadata": {}}
    client.execute("inspected = gpu.range(5)")
    for level in 0, 1:
        content, _ = client.ask("inspect_request", {"code": "inspected", "cursor_pos": 9, "detail_level": level})
        assert ("statistics\n  count " in content["data"]["text/plain"]) == bool(level)


@pytest.mark.parametrize("code, status", [
    ("print(1)", "complete"), ("1 + 1", "complete"), ("", "complete"), ("for i = 1, 3 do", "incomplete"),
    ("f(", "incomplete"), ("x = [[", "incomplete"), ("x = = 1", "invalid"), ("end", "invalid")])
def test_is_complete(client, code, status):
    content, _ = client.ask("is_complete_request", {"code": code})
    assert content["status"] == status
    if status == "incomplete":
        assert set(content["indent"]) <= {" "}
    else:
        assert "indent" not in content


def test_indent_after_a_block_opens(client):
    assert client.ask("is_complete_request", {"code": "for i = 1, 3 do"})[0]["indent"]


def test_history(client):
    for i in range(3):
        client.execute(f"history_mark = {i}")
    client.execute("history_mark = 2")

    def history(**more):
        content = client.ask("history_request", {"output": False, "raw": True, **more})[0]
        assert content["status"] == "ok"
        return content["history"]

    tail = history(hist_access_type="tail", n=4)
    assert [h[2] for h in tail] == [f"history_mark = {i}" for i in (0, 1, 2, 2)]
    session, line = tail[0][:2]
    assert [h[1] for h in tail] == [line, line + 1, line + 2, line + 3]
    assert history(hist_access_type="range", session=session, start=line, stop=line + 2) == tail[:2]
    assert history(hist_access_type="range", session=0, start=line, stop=line + 2) == tail[:2]
    assert history(hist_access_type="search", pattern="history_mark = [01]") == tail[:2]
    assert len(history(hist_access_type="search", pattern="*_mark = 2")) == 2
    assert history(hist_access_type="search", pattern="*_mark = 2", unique=True) == tail[3:]
    assert history(hist_access_type="search", pattern="*_mark*", n=3) == tail[1:]
    assert history(hist_access_type="tail", n=1, output=True)[0][2] == ["history_mark = 2", None]
    assert history(hist_access_type="search", pattern="no such cell") == []
    assert history(hist_access_type="tail", n=0) == []


def test_the_history_outlives_the_kernel(fresh, tmp_path):
    where = {"XDG_STATE_HOME": str(tmp_path), "LUNARRAY_HISTORY": str(tmp_path / "history")}
    first = fresh(**where)
    first.client.execute("outlived = 1")
    first.client.execute("outlived = 2")
    first.client.ask("shutdown_request", {"restart": True}, "control")
    first.wait()
    second = fresh(**where)
    second.client.execute("own = 3")

    def history(**more):
        return second.client.ask("history_request", {"output": False, "raw": True, **more})[0]["history"]

    assert [h[2] for h in history(hist_access_type="tail", n=3)] == ["outlived = 1", "outlived = 2", "own = 3"]
    assert [h[1:] for h in history(hist_access_type="range", session=-1, start=1, stop=3)] == [[1, "outlived = 1"], [2, "outlived = 2"]]
    assert [h[2] for h in history(hist_access_type="search", pattern="outlived*", n=1)] == ["outlived = 2"]


def test_a_running_kernel_and_a_shell_share_their_history(fresh, tmp_path):
    where = {"LUNARRAY_HISTORY": str(tmp_path / "history")}
    kernel = fresh(**where)
    kernel.client.execute("of_the_kernel = 1")
    shell = subprocess.run([BINARY, "-i"], input="of_the_shell = 2\n%history -g of_the\n", env={**os.environ, **where}, text=True,
                           capture_output=True, timeout=TIMEOUT)
    assert "of_the_kernel = 1" in shell.stdout
    found = kernel.client.ask("history_request", {"output": False, "raw": True, "hist_access_type": "search", "pattern": "of_the_*"})
    assert [h[2] for h in found[0]["history"]] == ["of_the_kernel = 1", "of_the_shell = 2"]


def test_silent_cells_are_not_in_the_history(client):
    client.execute("history_last = 1")
    client.execute("history_silent = 1", silent=True)
    client.execute("history_unstored = 1", store_history=False)
    tail = client.ask("history_request", {"hist_access_type": "tail", "n": 1, "raw": True, "output": False})[0]["history"]
    assert tail[0][2] == "history_last = 1"


def test_unknown_messages_get_busy_and_idle(client):
    content, between = client.ask("frobnicate_request", {})
    assert content["status"] == "error" and "frobnicate_request" in content["evalue"] and between == []
    content, between = client.ask("frobnicate_request", {}, "control")
    assert content["status"] == "error" and between == []
    for kind in ("comm_msg", "comm_close", "nonsense"):
        assert kinds(client.outputs(client.send("shell", kind, {"comm_id": "c1", "data": {}}))) == ["status"] * 2


def test_contents_of_the_wrong_shape(client):
    for kind in ("execute", "complete", "inspect", "is_complete", "history", "comm_info"):
        content, _ = client.ask(kind + "_request", {})
        assert content["status"] in ("ok", "error", "complete", "incomplete", "invalid", "unknown")
        content, _ = client.ask(kind + "_request", {"code": 1, "cursor_pos": "a", "n": [], "silent": "yes",
                                                    "hist_access_type": None, "user_expressions": 3, "pattern": {}})
        assert content["status"]


def test_the_heartbeat_echoes(client):
    for payload in (b"ping", b"", b"\0" * 1000):
        client.sockets["hb"].send(payload)
        assert client.sockets["hb"].poll(TIMEOUT * 1000)
        assert client.sockets["hb"].recv() == payload
