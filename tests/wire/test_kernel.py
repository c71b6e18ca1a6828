"""The notebook kernel on the wire: what it answers, in which order, and what it lives through."""
import base64
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest

from kernel import BINARY, DELIMITER, TIMEOUT, execute_content, kinds, stream, tell


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
    assert 'bytes = 12000, dtype = "float32", name = "held", shape = (3000,)' in text
    assert 'bytes = 16000, dtype = "float64", name = "nested.list[1]", shape = (1, 2000)' in text
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


def test_display_update_and_clear(client):
    code = "display('one', 'an-id') print('text') display.clear(true) display.update('an-id', 'two')"
    content, between = client.execute(code)
    assert content["status"] == "ok", content
    assert kinds(between) == ["execute_input", "display_data", "stream", "clear_output", "update_display_data"]
    shown, updated = between[1][1], between[4][1]
    assert shown["transient"] == updated["transient"] == {"display_id": "an-id"}
    assert shown["metadata"] == {} and "one" in shown["data"]["text/plain"] and "two" in updated["data"]["text/plain"]
    assert between[3][1] == {"wait": True}
    code = "display({['text/plain'] = 'p', ['application/json'] = '{\"a\": [1]}', ['text/html'] = '<b>'})"
    data = client.execute(code)[1][-1][1]
    assert data == {"data": {"text/plain": "p", "application/json": {"a": [1]}, "text/html": "<b>"}, "metadata": {}, "transient": data["transient"]}


def test_a_display_is_updated_from_a_later_cell(client):
    first = client.execute("handle = display('one') other = display('more')")[1]
    ids = [content["transient"]["display_id"] for kind, content in first if kind == "display_data"]
    assert len(set(ids)) == 2
    content, between = client.execute("handle:update{['text/html'] = '<i>', ['text/plain'] = 'two'}:clear()")
    assert content["status"] == "ok", content
    assert kinds(between) == ["execute_input", "update_display_data", "update_display_data"]
    assert [c["transient"]["display_id"] for _, c in between[1:]] == [ids[0]] * 2
    assert between[1][1]["data"] == {"text/plain": "two", "text/html": "<i>"}
    assert between[2][1]["data"] == {"text/plain": ""}


def test_progress_updates_one_display(client):
    content, between = client.execute("for i in gpu.progress(20000, '<b>') do if i == 15001 then break end end")
    assert content["status"] == "ok", content
    first, *updates = between[1:]
    assert first[0] == "display_data" and {kind for kind, _ in updates} == {"update_display_data"} and len(updates) < 1000
    assert {c["transient"]["display_id"] for _, c in between[1:]} == {first[1]["transient"]["display_id"]}
    assert "0/20000" in first[1]["data"]["text/plain"]
    last = updates[-1][1]["data"]
    assert "15000/20000" in last["text/plain"] and last["text/plain"].endswith("stopped")
    assert "&lt;b&gt; <progress value=\"0.75\" max=\"1\"" in last["text/html"]


def picture(client, code, path):
    """Runs the cell, and gives the size of the PNG that it shows and its plain text; the pixels are then `shown`."""
    content, between = client.execute(code)
    assert content["status"] == "ok", content
    assert kinds(between) == ["execute_input", "display_data"]
    data = between[1][1]["data"]
    assert set(data) == {"image/png", "text/plain"}
    path.write_bytes(base64.b64decode(data["image/png"], validate=True))
    client.execute(f"shown = gpu.load('{path}', 'cpu')")
    return values(client, "shown.shape"), data["text/plain"]


def values(client, expression):
    content, between = client.execute(f"print(table.concat({expression}, ' '))")
    assert content["status"] == "ok", content
    return [float(word) for word in stream(between).split()]


def test_images(client, tmp_path):
    path = tmp_path / "image.png"
    size, text = picture(client, "gpu.imshow(gpu.array({{0, 1}, {2, 3}}, 'cpu'), {cmap = 'gray'})", path)
    assert size == [320, 320, 3] and text == "image of 2 x 2 values, float32 on cpu, gray from 0 to 3"
    assert values(client, "shown['::80, ::80, 1']:flatten():totable()") == [0, 0, 85, 85] * 2 + [170, 170, 255, 255] * 2
    size, text = picture(client, "gpu.imshow(gpu.array({{0/0, 5}, {-1, 1/0}}), {cmap = 'gray_r', vmin = 0, vmax = 10})", path)
    assert size == [320, 320, 4] and "from 0 to 10" in text
    assert values(client, "shown['::160, ::160, :']:flatten():totable()") == [0, 0, 0, 0, 127, 127, 127, 255, 255, 255, 255, 255, 0, 0, 0, 255]
    # 1025 rows in blocks of two: the last stands for one
    size, _ = picture(client, "gpu.imshow(gpu.range(0, 1024):reshape(1025, 1) // 2 % 2, {cmap = 'gray'})", path)
    assert size == [513, 1, 3]
    assert values(client, "shown[{{}, 1, 1}]:totable()") == [0, 255] * 256 + [0]
    size, text = picture(client, "gpu.imshow(gpu.array({{{255, 0, 7}}}, 'uint8', 'cpu'))", path)
    assert size == [320, 320, 3] and text == "image of 1 x 1 colours, uint8 on cpu"
    assert values(client, "shown['1, 1']:totable()") == [255, 0, 7]
    picture(client, "gpu.imshow(gpu.array({{{2, -1, 0.2, 0.6}}}))", path)
    assert values(client, "shown['1, 1']:totable()") == [255, 0, 51, 153]


def test_an_image_in_the_place_of_another(client):
    code = "local h = gpu.imshow(gpu.zeros(2, 2)) gpu.imshow(gpu.ones(2, 2), {into = h})"
    content, between = client.execute(code)
    assert content["status"] == "ok", content
    assert kinds(between) == ["execute_input", "display_data", "update_display_data"]
    assert between[1][1]["transient"] == between[2][1]["transient"]


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="no gnuplot")
def test_plots(fresh):
    client = fresh(LUNARRAY_GNUPLOT="gnuplot").connect()
    content, between = client.execute("h = gpu.plot({1, 4, 9}, {title = '<i>a & b', label = \"it's\"})")
    assert content["status"] == "ok", content
    assert kinds(between) == ["execute_input", "display_data"]
    data = between[1][1]["data"]
    assert set(data) == {"image/svg+xml", "text/plain"}
    assert data["text/plain"] == "plot \"<i>a & b\": lines \"it's\", 3 elements, y from 1 to 9"
    texts = ["".join(e.itertext()).strip() for e in xml.etree.ElementTree.fromstring(data["image/svg+xml"]).iter("{http://www.w3.org/2000/svg}text")]
    assert "<i>a & b" in texts and "it's" in texts and "9" in texts
    content, between = client.execute("gpu.hist({1, 2, 2}, {bins = 2, format = 'png', into = h})")
    assert content["status"] == "ok", content
    assert kinds(between) == ["execute_input", "update_display_data"]
    assert base64.b64decode(between[1][1]["data"]["image/png"], validate=True).startswith(b"\x89PNG\r\n")
    assert "bars, 2 elements, y from 1 to 2" in between[1][1]["data"]["text/plain"]
    client.close()


def test_plots_as_vega_lite(fresh):
    client = fresh(LUNARRAY_GNUPLOT="/nowhere/gnuplot").client  # which these need not

    def drawn(code):
        content, between = client.execute(code)
        assert content["status"] == "ok", content
        data = dict(between)["display_data"]["data"]
        assert data["text/plain"]
        return data["application/vnd.vegalite.v5+json"]

    spec = drawn("gpu.plot({{{1, 2, 3}, {2, 0/0, 1}, label = 'a'}, {{5, 6, 7}, style = 'points'}}, "
                 "{format = 'vega', title = '<b>\"', logx = true, yrange = {0, 9}})")
    line, circle = spec["layer"]
    assert spec["title"] == '<b>"' and spec["width"] == 640
    assert line["data"]["values"] == [{"x": 1, "y": 2, "i": 0}, {"x": None, "y": None, "i": 1}, {"x": 3, "y": 1, "i": 2}]
    assert line["encoding"]["color"]["datum"] == "a" and circle["mark"]["type"] == "circle"
    assert circle["encoding"]["x"]["scale"]["type"] == "log" and circle["encoding"]["y"]["scale"]["domain"] == [0, 9]
    bars = drawn("gpu.bar({'one', 'two'}, {3, 5}, {format = 'vega'})")["layer"][0]
    assert bars["data"]["values"] == [{"x": "one", "y": 3}, {"x": "two", "y": 5}]
    cells = drawn("gpu.heatmap(gpu.range(200):reshape(1, 200), {format = 'vega'})")["data"]["values"]
    assert len(cells) == 67 and (cells[0]["x"], cells[0]["z"], cells[-1]["z"]) == (0.5, 2, 199.5)


def test_kernels_and_devices_show_as_cards(client):
    code = "k = gpu.kernel [[__global__ void half_of(float *x) { if (x[0] < 2 && 1) x[0] = .5f; // <b>\n}]]"
    client.execute(code)
    client.execute("k(1, 32)(gpu.ones(1))")
    html = dict(client.execute("k")[1])["execute_result"]["data"]["text/html"]
    assert "half_of" in html and "registers" in html and "1; the last one with grid 1 x 1 x 1, block 32 x 1 x 1" in html
    assert "&lt;b&gt;" in html and "<b>\n" not in html and ">__global__</span>" in html and ">if</span>" in html
    html = dict(client.execute("gpu.devices()")[1])["execute_result"]["data"]["text/html"]
    assert html.count('class="lunarray"') >= 2 and "<b>cpu</b>" in html
    inspected, _ = client.ask("inspect_request", {"code": "k", "cursor_pos": 1, "detail_level": 0})
    assert "Launches: 1;" in inspected["data"]["text/plain"] and "half_of" in inspected["data"]["text/html"]


def test_errors_and_findings_show_their_source(client):
    content, _ = client.execute("x = {}\nx.y.z = 2")
    assert content["evalue"].startswith("cell ") and "\033" not in content["evalue"]
    message, source, caret, call = content["traceback"]
    place, said = content["evalue"].split(": ", 1)
    assert message == f"\033[38;2;220;68;64m{place}:\033[0m\033[1m {said}\033[0m" and source == "    2 | x.y.z = 2"
    assert caret == "\033[1m      |   ^\033[0m" and "\033[38;2;0;145;70m  cell" in call
    code = "k = gpu.kernel [[__global__ void out(float *x) { x[threadIdx.x + 1 < 2] = 1; x[9] = 1; }]]"
    data = dict(client.execute(code + " x = gpu.ones(2) return gpu.check(function() k(1, 1)(x) end)")[1])["execute_result"]["data"]
    assert "out of bounds" in data["text/plain"] and "x[9] written, x has 2" in data["text/plain"]
    assert "x[9] written, x has 2" in data["text/html"] and "&lt; " in data["text/html"] and "in kernel out" in data["text/html"]


def test_several_results_and_html_as_text(client):
    data = dict(client.execute("gpu.ones(2), '<b>', 5")[1])["execute_result"]["data"]
    assert data["text/html"].count("<table") == 1 and "<pre>&quot;" not in data["text/html"]
    assert '<pre>"&lt;b&gt;"</pre><pre>5</pre>' in data["text/html"] and "array float32" in data["text/plain"]
    assert "text/html" not in dict(client.execute("1, 'two'")[1])["execute_result"]["data"]
    html = ("<style>p {}</style><p>a &lt; <b>b</b>\n<br>c</p><!-- d --><table><tr><th>1<td>2</td></tr><tr><td>3</td></tr>"
            "</table><ul><li>e</ul><pre>f  g</pre><script>h()</script>")
    data = dict(client.execute(f"display{{['text/html'] = [[{html}]]}}")[1])["display_data"]["data"]
    assert data == {"text/html": html, "text/plain": "a < b\nc\n12\n3\n- e\nf  g"}


def test_load_puts_a_file_into_the_cell(client, tmp_path):
    (tmp_path / "a.lua").write_text("print(1)\n")
    content, _ = client.execute(f"%load {tmp_path}/a.lua")
    assert content["payload"] == [
        {"source": "set_next_input", "text": f"-- %load {tmp_path}/a.lua\nprint(1)\n", "replace": True}]


def test_a_missing_gnuplot_says_how_to_get_it(fresh):
    client = fresh(LUNARRAY_GNUPLOT="/nowhere/gnuplot").connect()
    content, _ = client.execute("gpu.plot({1, 2})")
    assert content["status"] == "error"
    assert "no '/nowhere/gnuplot'" in content["evalue"] and "apt-get install gnuplot-nox" in content["evalue"]
    client.close()


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
                           capture_output=True, timeout=60)
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


def test_prints_are_gathered(client):
    start = time.monotonic()
    _, between = client.execute("for i = 1, 20000 do print('line', i) end")
    waits = (time.monotonic() - start) / 0.08  # a text waits so long for more before it is sent
    text = stream(between)
    assert text == "".join(f"line\t{i}\n" for i in range(1, 20001))
    assert len(between) <= 3 + len(text) / 32000 + waits


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
    _, between = client.execute("print(('\u20ac'):rep(50000))")
    assert stream(between) == "\u20ac" * 50000 + "\n"
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
    assert kinds(client.outputs(sent)) == ["error", "status"]
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
    "the software GPU": "gpu.device('simt') local k = gpu.kernel[[__global__ void spin(int *p) { while (atomicAdd(p, 0) == 0) ; }]] "
                        "local p = gpu.zeros(1, 'int32') print('begun') k(1, 1)(p) gpu.synchronize() print(p:sum())",
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


WAITS = {
    "a program's output": "local f = io.popen('cat {path}') print('begun') print(f:read())",
    "a program's end": "local f = io.popen('cat > /dev/null; read line < {path}; echo $line', 'w') print('begun') f:write(('x'):rep(100000)) f:close()",
    "a FIFO": "print('begun') for line in io.lines('{path}') do print(line) end",
    "a FIFO's reader": "print('begun') local f = io.open('{path}', 'w') f:write('from here') f:close()",
    "the default input": "io.input('{path}') print('begun') print(io.read('a')) io.input(io.stdin)",
    "os.execute": "print('begun') os.execute('cat {path}')",
    "a command": "print('begun')\n!cat {path}",
}
CALLS = {"a kernel": ENDLESS["the software GPU"]}


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
    assert "float64" in text and "96 bytes" in text and "when the call that runs is over" in text
    text = client.ask("inspect_request", {"code": "array.shape", "cursor_pos": 10})[0]["data"]["text/plain"]
    assert text.startswith("x.shape")
    client.ask("interrupt_request", {}, "control")
    client.reply(sent)
    assert stream(client.outputs(comm)) == "later\n"
    client.outputs(sent)
    client.ask("comm_info_request")


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


def test_a_port_that_is_taken(shared):
    p = subprocess.run([BINARY, "jupyter", "start", "-f", shared.file], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 1 and "cannot listen on" in p.stderr and "in use" in p.stderr


@pytest.mark.parametrize("arguments", [[], ["frob"], ["start", "--frob"], ["install", "--user", "--prefix", "x"], ["start", "-f"],
                                       ["install", "--prefix"], ["start", "--device="]])
def test_misuse(arguments):
    p = subprocess.run([BINARY, "jupyter", *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    assert p.returncode == 2 and "usage:" in p.stderr


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
