"""Executing notebooks in place and as pages."""

import html.parser
import json
import os
import re

import nbformat
import pytest
from nbformat import v4

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def store(path, *cells, **metadata):
    book = v4.new_notebook(cells=list(cells), metadata=metadata)
    nbformat.write(book, path)
    return book


def code(source, **more):
    return v4.new_code_cell(source, **more)


def load(path):
    """The notebook, which is valid, and written as nbformat writes it."""
    book = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(book)
    assert path.read_text() == nbformat.writes(book, version=nbformat.NO_CONVERT) + "\n"
    return book


def test_outputs_are_stored(cli, tmp_path):
    path = tmp_path / "a.ipynb"
    before = store(path, v4.new_markdown_cell("# Text\nwith \u2028 lines", metadata={"collapsed": True}, id="text",
                                                       attachments={"i.png": {"image/png": PNG}}),
                   code("print('one') io.write('two\\n') io.stderr:write('error\\n') io.stdout:write('three\\n') print('four')", id="stream"),
                   code("x = gpu.ones(2, 'float64')\nx", execution_count=9, outputs=[v4.new_output("stream", text="old\n")]),
                   code(""), code("h = display('first') display('second')"), code("h:update('changed')"),
                   code("error 'expected'", metadata={"tags": ["raises-exception"]}), code("!echo from a program; echo more >&2"),
                   code("print 'gone' display('gone, too') clear = true"),
                   v4.new_raw_cell("raw\n", metadata={"format": "text/x", "own": [1]}), own={"b": 1.0, "a": [1e16, 0.1, True, None]})
    r = cli("a.ipynb", "--inplace")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    book = load(path)
    outputs = [[{k: v for k, v in o.items() if k != "metadata"} for o in c.outputs] for c in book.cells if c.cell_type == "code"]
    # The two come by pipes of their own, so which is first where they meet is nobody's promise.
    written = {name: "".join(o["text"] for o in outputs[0] if o["name"] == name) for name in ("stdout", "stderr")}
    assert written == {"stdout": "one\ntwo\nthree\nfour\n", "stderr": "error\n"} and len(outputs[0]) <= 4
    result = outputs[1][0]
    assert (result["output_type"], result["execution_count"]) == ("execute_result", 2)
    assert result["data"]["text/plain"].startswith("array float64") and "<table" in result["data"]["text/html"]
    assert outputs[2] == [] and book.cells[3].execution_count is None
    assert ["changed" in o["data"]["text/plain"] for o in outputs[3]] == [True, False] and outputs[4] == []
    failed = outputs[5][0]
    assert (failed["output_type"], failed["ename"], failed["evalue"]) == ("error", "LuaError", "cell 5:1: expected")
    assert "\u001b[38;2;220;68;64mcell 5:1:\u001b[0m\u001b[1m expected\u001b[0m" in failed["traceback"]
    assert "from a program\n" in "".join(o["text"] for o in outputs[6] if o["name"] == "stdout")
    assert [c.get("execution_count") for c in book.cells] == [None, 1, 2, None, 3, 4, 5, 6, 7, None]
    assert book.metadata.language_info.name == "lua" and book.metadata.kernelspec.name == "lunarray"
    assert book.metadata.own == before.metadata.own and book.cells[0] == before.cells[0] and book.cells[-1] == before.cells[-1]
    assert [c.id for c in book.cells] == [c.id for c in before.cells] and [c.source for c in book.cells] == [c.source for c in before.cells]
    assert os.listdir(tmp_path).count("a.ipynb") == 1 and not [f for f in os.listdir(tmp_path) if "part" in f]


@pytest.mark.parametrize("source, kept", [
    ("print 'gone' display('gone, too') display.clear() print 'kept'", ["kept\n"]),
    ("print 'gone' display.clear(true) print 'kept'", ["kept\n"]),
    ("print 'kept' display.clear(true)", ["kept\n"]),
    ("h = display('gone') display.clear() h:update('never') print 'kept'", ["kept\n"])])
def test_what_is_cleared_is_not_stored(cli, tmp_path, source, kept):
    path = tmp_path / "a.ipynb"
    store(path, code(source))
    assert cli("a.ipynb", "--inplace").returncode == 0
    assert [o.get("text") for o in load(path).cells[0].outputs] == kept


def test_a_second_run_changes_nothing(cli, tmp_path):
    path = tmp_path / "a.ipynb"
    store(path, code("print(1)\nio.stdout:write('2\\n')\n3"), code("gpu.range(3)"))
    cli("a.ipynb", "--inplace")
    first = path.read_bytes()
    assert cli("--inplace", "a.ipynb").returncode == 0 and path.read_bytes() == first
    assert [o.get("text") for o in load(path).cells[0].outputs][0] == "1\n2\n"


def test_it_stops_at_an_error(cli, tmp_path):
    path = tmp_path / "a.ipynb"
    old = [v4.new_output("stream", text="old\n")]
    store(path, code("print(1)"), code("local x = nil + 1"), code("print(3)", outputs=old, execution_count=8))
    r = cli("a.ipynb", "--inplace", "--html")
    assert r.returncode == 1 and r.stdout == "" and "nil" in r.stderr and "cell 2" in r.stderr
    book = load(path)
    assert [c.execution_count for c in book.cells] == [1, 2, 8] and book.cells[1].outputs[0].output_type == "error"
    assert "attempt to perform arithmetic on a nil" in (tmp_path / "a.html").read_text()


def test_old_notebooks_stay_old(cli, tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [
        {"cell_type": "code", "metadata": {}, "source": ["1 +\n", "1"], "outputs": [], "execution_count": None}]}))
    assert cli("a.ipynb", "--inplace").returncode == 0
    assert load(path).cells[0].outputs[0].data["text/plain"] == "2"


def test_what_a_notebook_lacks_is_given(cli, tmp_path):
    """Hand-written ones have cells without ids, outputs or metadata, and ids twice."""
    cells = [{"cell_type": "code", "source": "1"}, {"cell_type": "markdown", "id": "a", "source": "x"}, {"cell_type": "raw", "id": "a", "source": "y"},
             {"cell_type": "code", "id": "not one", "source": ""}, {"cell_type": "code", "id": "cell-1", "source": "", "metadata": {}}]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": cells}))
    assert cli("convert", "a.ipynb", "b.ipynb").returncode == 0 and cli("a.ipynb", "--inplace").returncode == 0
    for p in path, tmp_path / "b.ipynb":
        assert [c.id for c in load(p).cells] == ["cell-2", "a", "cell-3", "cell-4", "cell-1"]


class Page(html.parser.HTMLParser):
    """Its tags, which are closed in order, what it loads, and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.loads, self.links, self.words = [], [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "img", "br", "hr", "input"):
            self.open.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            if name == "src":
                self.loads.append(value)
            if name == "href":
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


MARKDOWN = """# A & B <script>alert(1)</script>
*em* **strong** `<code>` [link](https://a.b/?x=1&y="2") [bad](javascript:alert(1)) ![far](http://a.b/c.png) ![own](attachment:i.png)

| a | b |
|--:|---|
| 1 | `x\\|y` |

- [x] done
  1. one

> quote $x_1 < y$ <img src=x onerror=alert(1)> <sub>2</sub>

```lua
local x = "<b>"
```
"""


def test_page(cli, tmp_path):
    store(tmp_path / "a.ipynb", v4.new_markdown_cell(MARKDOWN, attachments={"i.png": {"image/png": PNG}}),
          code("print('<i>not a tag</i>', '\\27[31mred\\27[0m')"), code("x = 1 -- <comment>\n'a string & more'"),
          code("gpu.ones(2, 2)"), code("gpu.imshow(gpu.eye(2))"), code("error '<mistake>'", metadata={"tags": ["raises-exception"]}))
    before = (tmp_path / "a.ipynb").read_bytes()
    r = cli("a.ipynb", "--html")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "") and (tmp_path / "a.ipynb").read_bytes() == before
    text = (tmp_path / "a.html").read_text()
    page = Page(text)
    assert "script" not in page.tags and page.loads and all(l.startswith("data:image/") for l in page.loads)
    assert page.links == ['https://a.b/?x=1&y="2"', "http://a.b/c.png", "x"]
    assert f"data:image/png;base64,{PNG}" in page.loads and "default-src 'none'" in text
    for words in ("A & B alert(1)", "<code>", "x|y", "\u2611 done", "x_1 < y", 'local x = "<b>"', "<i>not a tag</i>", "-- <comment>",
                  "'a string & more'", "<mistake>", "[1]", "[5]"):
        assert words in page.words, words
    for tag in ("em", "strong", "table", "ul", "ol", "blockquote", "sub", "h1"):
        assert tag in page.tags, tag
    assert re.search(r'style="color:rgb\(220,68,64\)">cell 5:1:</span>', text) and "style-src 'unsafe-inline'" in text
    assert '<span class="a1 ">red</span>' in text and '<span class="k">local</span>' in text and "<title>A &amp; B" in text


def test_page_of_a_script(cli, tmp_path):
    (tmp_path / "a.lua").write_text("-- %% [markdown]\n-- # From a script\n\n-- %%\nprint(6 * 7)\n--!echo called\n")
    r = cli("--html=out.html", "a.lua")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    page = Page((tmp_path / "out.html").read_text())
    assert "From a script" in page.words and "42" in page.words and "called" in page.words


def test_misuse(cli, tmp_path):
    (tmp_path / "a.lua").write_text("print(1)\n")
    (tmp_path / "bad.ipynb").write_text("{}")
    for words, why in ((["--inplace", "a.lua"], "convert"), (["bad.ipynb", "--inplace"], "nbformat"), (["no.ipynb", "--html"], "No such file"),
                       (["a.ipynb", "--htm"], "did you mean --html?"), (["-e", "x = 1", "--html", "a.lua"], "-e")):
        r = cli(*words)
        assert r.returncode != 0 and r.stdout == "" and len(r.stderr.splitlines()) == 1 and why in r.stderr, (words, r.stderr)
