"""What cells show, on the wire: displays and their updates, pictures, plots, cards, errors."""
import base64
import re
import shutil
import xml.etree.ElementTree

import pytest

from kernel import kinds, stream


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


def test_help_is_broken_at_words(client):
    """What is printed is broken anywhere in a narrow notebook."""
    content, between = client.execute("gpu.help 'gpu.where'")
    assert content["status"] == "ok" and kinds(between) == ["execute_input", "display_data"], (content, between)
    data = between[1][1]["data"]
    assert data["text/plain"].startswith("x:where(") and "Example:" in data["text/plain"]
    pre = xml.etree.ElementTree.fromstring(data["text/html"])
    assert pre.tag == "pre" and pre.text == data["text/plain"]
    assert {"white-space:pre-wrap", "word-break:normal"} <= set(pre.get("style").split(";"))


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


PICTURES = {
    "cleared, then shown": ("display.clear(true) display(i)", ["clear_output", "display_data"]),
    "shown, then cleared": ("display(i) display.clear(true)", ["display_data", "clear_output"]),
    "cleared, then printed": ("display.clear() print(i) io.stderr:write('e')", ["clear_output", "stream", "stream"]),
    "updated": ("h:update(i)", ["update_display_data"]),
}


@pytest.mark.parametrize("how", PICTURES)
def test_a_loop_shows_as_many_pictures_as_can_be_seen(client, how):
    """Of those that others take the place of before anybody sees them some are left out, but never the last; nor is an
    update of what another cell showed."""
    code, last = PICTURES[how]
    client.execute("h = display(0, 'of a cell before') other = display(0, 'another')")
    content, between = client.execute(f"for i = 1, 20000 do {code} if i == 5 then other:update('once') end end return 'end'")
    assert content["status"] == "ok", content
    shown = between[1:]
    assert len(shown) < 10000, len(shown)
    assert [k for k, _ in shown[-len(last) - 1:]] == last + ["execute_result"], shown[-4:]
    texts = [c["data"]["text/plain"] if "data" in c else c.get("text", "").strip() for _, c in shown]
    assert "20000" in texts and texts.count('"once"') == 1, texts[-4:]
    seen = [int(text) for text in texts if text.isdigit()]
    assert seen == sorted(seen)


def test_what_is_shown_and_updated_in_each_round_ends_as_updated(client):
    code = "for i = 1, 5000 do display.clear(true) display('shown', 'mine') display.update('mine', i) end"
    between = client.execute(code)[1]
    page, clears = [], False
    for kind, content in between:
        clears |= kind == "clear_output"
        if kind == "display_data":
            page, clears = ([] if clears else page) + [content], False
        elif kind == "update_display_data":
            same = [shown for shown in page if shown["transient"] == content["transient"]]
            for shown in same:
                shown["data"] = content["data"]
    assert [shown["data"]["text/plain"] for shown in page] == ["5000"]
    assert len(between) < 5000, len(between)


def test_an_error_leaves_the_last_picture(client):
    """With `wait` what was shown is cleared when more is shown, of which an error is none."""
    between = client.execute("display('kept') display.clear(true) error('stop')")[1]
    assert kinds(between) == ["execute_input", "display_data", "error"]
    between = client.execute("display('gone') display.clear(true) return 'more'")[1]
    assert kinds(between) == ["execute_input", "display_data", "clear_output", "execute_result"]


def test_a_picture_comes_while_the_cell_works_on(client):
    sent = client.begin("for i = 1, 3 do display.clear(true) display(i) end repeat until stop_now")
    while (m := client.recv("iopub"))["content"].get("data", {}).get("text/plain") != "3":
        assert m
    client.ask("interrupt_request", {}, "control")
    assert client.reply(sent)["content"]["ename"] == "Interrupted"


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
    code = "k = gpu.kernel [[__global__ void half_of(float *x) { if (x[threadIdx.x] < 2 && 1) x[0] = .5f; // <b>\n}]]"
    client.execute(code)
    client.execute("k(1, 32, {check = false})(gpu.ones(32))")
    html = dict(client.execute("k")[1])["execute_result"]["data"]["text/html"]
    assert "half_of" in html and "registers" in html and "1; the last one with grid 1 x 1 x 1, block 32 x 1 x 1" in html
    assert "&lt;b&gt;" in html and "<b>\n" not in html and ">__global__</span>" in html and ">if</span>" in html
    html = dict(client.execute("gpu.devices()")[1])["execute_result"]["data"]["text/html"]
    assert html.count('class="lunarray"') >= 2 and "<b>cpu</b>" in html
    inspected, _ = client.ask("inspect_request", {"code": "k", "cursor_pos": 1, "detail_level": 0})
    assert "Launches: 1;" in inspected["data"]["text/plain"] and "half_of" in inspected["data"]["text/html"]


def test_launches_are_checked_except_while_time_is_taken(client):
    racy = "k = gpu.kernel [[__global__ void k(int *x) { x[0] = threadIdx.x; }]] x = gpu.zeros(1, 'int32')"
    assert client.execute(racy)[0]["status"] == "ok"
    content, _ = client.execute("k(1, 64)(x)")
    assert content["status"] == "error" and "race" in content["evalue"]
    assert "gpu.check(false) launches without" in "".join(content["traceback"])
    for code in ("gpu.time(function() k(1, 64)(x) end);", "%time k(1, 64)(x)", "%timeit -n 1 -r 2 k(1, 64)(x)",
                 "k(1, 64, {check = false})(x)"):
        assert client.execute(code)[0]["status"] == "ok", code
    for code in ("gpu.time(function() k(1, 64, {check = true})(x) end)", "%time error 'wrong'", "k(1, 64)(x)"):
        assert client.execute(code)[0]["status"] == "error", code
    assert client.execute("assert(gpu.check(false)) k(1, 64)(x)")[0]["status"] == "ok"
    assert client.execute("assert(not gpu.check(true)) gpu.time(function() k(1, 64)(x) end)")[0]["status"] == "ok"
    assert client.execute("k(1, 64)(x)")[0]["status"] == "error"
    code = "assert(#gpu.check(function() gpu.time(function() k(1, 64)(x) end) end) == 1)"
    assert client.execute(code)[0]["status"] == "ok"


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
    assert "x[9] written, x has 2" in data["text/html"] and "&lt; " in data["text/html"] and "in kernel out, block (0, 0, 0), thread (0, 0, 0), 1 time<" in data["text/html"]


def test_long_lines_of_errors_are_broken_at_words(client):
    words = "ein langer Satz über Wörter, "
    code = f"error('{words * 5}' .. ('x'):rep(100) .. ' end.', 0) -- {'a long comment ' * 10}"
    shown = client.execute(code)[0]["traceback"][0]
    lines = re.sub("\033.*?m", "", shown).split("\n")
    assert " ".join(lines) == f"{words * 5}{'x' * 100} end."
    assert all(len(line) <= 80 or line == "x" * 100 for line in lines) and len(lines[0]) > 70
    # Hints go on below their first word; what is source stays on its line.
    client.execute("k = gpu.kernel [[\n__global__ void k(int *x) { if (blockIdx.x == 0) x[0] = 1; else if (x[0] > 0) x[1] = 2; /* a long line of source */ }\n]]")
    lines = "\n".join(client.execute("k(2, 1)(gpu.zeros(2, 'int32'))")[0]["traceback"]).split("\n")
    hint = next(i for i, line in enumerate(lines) if "  hint: blocks are not ordered" in line)
    assert len(lines[hint]) <= 80 and lines[hint + 1].startswith("  ") and lines[hint + 1].strip()[0] != "c"
    assert any("| __global__ void k(int *x)" in line and len(line) > 85 for line in lines), lines


def test_a_race_between_streams_is_a_card_with_its_way_out(client):
    code = ("a = gpu.zeros(4) s, t = gpu.stream(), gpu.stream() return gpu.check(function() "
            "s:with(function() a:fill(1) end) t:with(function() a:fill(2) end) end)")
    data = dict(client.execute(code)[1])["execute_result"]["data"]
    html = data["text/html"]
    assert html.count("race between streams") == 1 and "written by fill()" in html and "in kernel" not in html
    assert "hint: On a GPU the two may overlap" in html and "s:wait(" in html
    assert data["text/plain"].startswith("race between streams: ") and data["text/plain"].count("may overlap") == 1


def test_each_message_of_a_compiler_is_coloured_and_its_source_is_not(client):
    source = "k = gpu.kernel [[\n  __global__ void f(int n) {\n    a = n;\n    b = n;\n  }\n]]"
    lines = client.execute(source)[0]["traceback"]
    messages = [i for i, l in enumerate(lines) if "is undefined" in l]
    assert len(messages) == 2
    for i, name in zip(messages, "ab"):
        assert lines[i].startswith("\033[38;2;220;68;64mcell ") and f'\033[1m error: identifier "{name}" is undefined' in lines[i]
        assert lines[i + 1] == f"      {name} = n;" and lines[i + 2] == "\033[1m      ^\033[0m"


def test_several_results_and_html_as_text(client):
    data = dict(client.execute("gpu.ones(2), '<b>', 5")[1])["execute_result"]["data"]
    assert data["text/html"].count("<table") == 1 and "<pre>&quot;" not in data["text/html"]
    assert '>"&lt;b&gt;"</pre><pre style="margin:0;padding:0">5</pre>' in data["text/html"] and "array float32" in data["text/plain"]
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
