"""Scripts with cell marks as notebooks, and back: nothing is lost on either way."""

import copy
import json
import pathlib
import shutil
import subprocess

import nbformat
import pytest

TUTORIALS = sorted(pathlib.Path("tutorials").glob("*.ipynb"))

SCRIPT = """#!/usr/bin/env lunarray
-- what stands before the first mark is a cell, too
local greeting = "hello"

-- %% A title [markdown] tags=["intro"] slideshow={"slide_type": "slide"}
-- # Heading
--
-- with *text*

-- %%
print(greeting)


--%% [md]
--[[
a long comment
]]
-- %%
--%time local x = 1
--!echo from a command
--?print
s = [[
%not a magic
? : no magic
]]
print(#s)

-- %% id="own" editable=false
--%%bash
-- echo "a cell of another language"
--
-- %% no mark in a string?

-- %% [raw]
-- raw
"""


def convert(cli, source, target):
    r = cli("convert", str(source), str(target))
    assert r.returncode == 0, r.stderr
    return r


@pytest.mark.parametrize("text", [
    SCRIPT, "", "\n", "print(1)", "print(1)\n", "\n\nprint(1)\n\n", "-- %%", "-- %%\n", "-- %%\n\n\nx = 1\n-- %%\n", SCRIPT.replace("\n", "\r\n"),
    "-- %% lines=3\n-- %%\n\n\n-- %%", "-- %% lines=9\nx = 1\n", "-- %% a=1 b={ title\n", "--\t%%\ttabs\t\n", "#!x\n-- ---\n-- title: yaml\n-- ---\n-- %%\nx = 1",
    "-- %% [markdown]\nno comment\n--none\n", "--%%cuda\nint x;\n", "-- %%\n--%%cuda\nprint(1)\n", "-- %% é [markdown] x=\"ü\"\n-- ✓\n",
    "-- ---\n-- jupyter: {\"a\": 1.5}\n-- nbformat: 4.4\n-- ---\n\n-- %%\n", "-- %%\n  --!x\nif a then\n  --!y\nend\n----?z\n",
    "-- %% id=\"a\"\n-- %% id=\"a\"\n-- %% id=\"cell-3\"\n-- %% id=3 lines_to_next_cell=7 lunarray={\"mark\": \"x\"}\n",
    "#!/usr/bin/env lunarray\n#!two\n", "x = [==[\n-- %%\n]==]\n", "-- %% attachments={\"a\": {\"image/png\": \"aGk=\"}}\nx = 1\n",
])
def test_scripts_return_byte_by_byte(cli, tmp_path, text):
    (tmp_path / "a.lua").write_bytes(text.encode())
    convert(cli, "a.lua", "a.ipynb")
    book = nbformat.read(tmp_path / "a.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(book)
    assert (tmp_path / "a.ipynb").read_text() == nbformat.writes(book, version=nbformat.NO_CONVERT) + "\n"
    convert(cli, "a.ipynb", "b.lua")
    assert (tmp_path / "b.lua").read_bytes() == text.encode()


def test_what_cells_a_script_has(cli, tmp_path):
    (tmp_path / "a.lua").write_text(SCRIPT)
    convert(cli, "a.lua", "a.ipynb")
    book = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    cells = [(c.cell_type, c.source) for c in book.cells]
    assert cells == [
        ("code", '-- what stands before the first mark is a cell, too\nlocal greeting = "hello"'),
        ("markdown", "# Heading\n\nwith *text*"), ("code", "print(greeting)"), ("markdown", "a long comment"),
        ("code", "%time local x = 1\n!echo from a command\n?print\ns = [[\n%not a magic\n? : no magic\n]]\nprint(#s)"),
        ("code", '%%bash\necho "a cell of another language"\n'), ("code", ""), ("raw", "raw")]
    assert book.cells[1].metadata.tags == ["intro"] and book.cells[1].metadata.title == "A title"
    assert book.cells[5].id == "own" and book.cells[5].metadata.editable is False
    assert book.metadata.kernelspec.name == "lunarray" and book.metadata.language_info.name == "lua"


def test_a_script_with_marks_runs_as_it_is(cli, tmp_path):
    (tmp_path / "a.lua").write_text(SCRIPT)
    r = cli("a.lua")
    assert (r.returncode, r.stdout, r.stderr) == (0, "hello\n26\n", "")
    if shutil.which("lua5.4"):
        assert subprocess.run(["lua5.4", "a.lua"], cwd=tmp_path, capture_output=True, text=True).stdout == r.stdout


def strip(book):
    book = copy.deepcopy(book)
    for cell in book["cells"]:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
    return book


ODD = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"authors": [{"name": "A"}], "x y": [1, 2.5, None, 1e300, -0.0]}, "cells": [
    {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "![i](attachment:i.png)", "attachments": {"i.png": {"image/png": "aGk="}}},
    {"cell_type": "code", "id": "b", "metadata": {"id": "not the id", "lines": 3, "a b": 1, "tags": ["x"]}, "source": "-- %% a mark in code\nx = 1\n\n",
     "outputs": [], "execution_count": 3},
    {"cell_type": "code", "id": "c", "metadata": {"title": "a [raw] title = 1"}, "source": "x = [[\n-- %%\n]]", "outputs": [], "execution_count": None},
    {"cell_type": "code", "id": "d", "metadata": {}, "source": "--%time is a comment\n----!this, too\n%time x = 1\n", "outputs": [], "execution_count": None},
    {"cell_type": "code", "id": "e", "metadata": {}, "source": "%%cuda\n__global__ void f() {}\n\n-- %%", "outputs": [], "execution_count": None},
    {"cell_type": "code", "id": "f", "metadata": {}, "source": "\n\n", "outputs": [], "execution_count": None},
    {"cell_type": "raw", "id": "g", "metadata": {"format": "text/x"}, "source": "\ttab\n  \n-- %% x\n"},
    {"cell_type": "markdown", "id": "cell-8", "metadata": {"title": "plain title"}, "source": ""},
    {"cell_type": "code", "id": "h", "metadata": {}, "source": "x = [[ not finished", "outputs": [], "execution_count": None},
    {"cell_type": "markdown", "id": "i", "metadata": {}, "source": "end\u2028\r\u00e9 \u0001 \U0001f600\\"}]}


def test_outputs_return_to_the_notebook(cli, tmp_path):
    """By way of a script, and into the notebook that is still there: the same bytes."""
    book = nbformat.read("tutorials/01-first-kernel.ipynb", as_version=4)
    for i, cell in enumerate(book.cells):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [nbformat.v4.new_output("stream", text=f"{i}\nmore\n")], i
    nbformat.write(book, tmp_path / "a.ipynb")
    before = (tmp_path / "a.ipynb").read_bytes()
    convert(cli, "a.ipynb", "a.lua")
    convert(cli, "a.lua", "a.ipynb")
    assert (tmp_path / "a.ipynb").read_bytes() == before


@pytest.mark.parametrize("name", [*[p.name for p in TUTORIALS], "odd"])
def test_notebooks_return(cli, tmp_path, name):
    book = ODD if name == "odd" else nbformat.read(f"tutorials/{name}", as_version=4)
    nbformat.write(nbformat.from_dict(book), tmp_path / "a.ipynb")
    convert(cli, "a.ipynb", "a.lua")
    convert(cli, "a.lua", "b.ipynb")
    a, b = (nbformat.read(tmp_path / f, as_version=4) for f in ("a.ipynb", "b.ipynb"))
    for cell in b.cells:  # where blank lines between cells are noted
        cell.metadata.pop("lines_to_next_cell", None)
    assert strip(a) == strip(b)


def test_outputs(cli, tmp_path):
    """A script has none, and says so; a notebook that is there keeps those of the cells that stay."""
    code = lambda source, text: nbformat.v4.new_code_cell(source, execution_count=7, outputs=[nbformat.v4.new_output("stream", text=text)])
    book = nbformat.v4.new_notebook(cells=[code("print(1)", "1\n"), code("print(2)", "2\n"), code("print(1)", "1 again\n")])
    nbformat.write(book, tmp_path / "a.ipynb")
    r = convert(cli, "a.ipynb", "a.lua")
    assert "outputs" in r.stderr and "3 cells" in r.stderr
    text = (tmp_path / "a.lua").read_text()
    (tmp_path / "a.lua").write_text(text.replace("print(2)", "print(3)"))
    assert convert(cli, "a.lua", "a.ipynb").stderr == ""
    book = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    assert [(c.source, c.execution_count, "".join(o.text for o in c.outputs)) for c in book.cells] == [
        ("print(1)", 7, "1\n"), ("print(3)", None, ""), ("print(1)", 7, "1 again\n")]


def write_book(path):
    output = nbformat.v4.new_output
    png = {"image/png": "aGk=\n", "text/plain": "a [small] \"picture\""}
    cells = [nbformat.v4.new_markdown_cell("# Title\n![i](attachment:i.png) ![](x.png)", attachments={"i.png": {"image/png": "aGk="}}),
             nbformat.v4.new_code_cell("x = [[```]]", execution_count=3, outputs=[output("stream", text="\033[31mred\033[0m <b>\n"), output("display_data", png)]),
             nbformat.v4.new_code_cell("%%cuda\n__global__ void f() {}"), nbformat.v4.new_code_cell(" "),
             nbformat.v4.new_code_cell("error()", outputs=[output("error", ename="E", evalue="v", traceback=["one", "two"])]),
             nbformat.v4.new_code_cell("y", outputs=[output("execute_result", {"text/html": "<i>y</i>", "text/plain": "y"}, execution_count=1)])]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path.read_bytes()


def test_to_markdown(cli, tmp_path):
    before = write_book(tmp_path / "a.ipynb")
    assert convert(cli, "a.ipynb", "a.md").stderr == ""
    assert (tmp_path / "a.md").read_text() == """# Title
![i](data:image/png;base64,aGk=) ![](x.png)

````lua
x = [[```]]
````

```
red <b>
```

![a \\[small\\] "picture"](data:image/png;base64,aGk=)

```cuda
%%cuda
__global__ void f() {}
```

```lua
error()
```

```
one
two
```

```lua
y
```

```
y
```
"""
    assert (tmp_path / "a.ipynb").read_bytes() == before


def test_to_a_page(cli, tmp_path):
    """What is stored, without running anything; --html runs it."""
    before = write_book(tmp_path / "a.ipynb")
    assert convert(cli, "a.ipynb", "a.html").stderr == ""
    text = (tmp_path / "a.html").read_text()
    assert "<title>Title" in text and '<span class="a1 ">red</span> &lt;b&gt;' in text and "<i>y</i>" in text and "one\ntwo" in text
    assert text.count("data:image/png;base64,aGk=") == 2 and "[3]" in text and 'alt="a [small] &quot;picture&quot;"' in text
    assert (tmp_path / "a.ipynb").read_bytes() == before
    (tmp_path / "b.lua").write_text("-- %%\nio.open('ran', 'w')\n")
    convert(cli, "b.lua", "b.html")
    convert(cli, "b.lua", "b.md")
    assert "ran" in (tmp_path / "b.html").read_text() and (tmp_path / "b.md").read_text() == "```lua\nio.open('ran', 'w')\n```\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("good, bad, why", [
    ("collapsed=true", "collapsed=1", "true or false"),
    ("scrolled=\"auto\"", "scrolled=\"always\"", "true, false or"), ("scrolled=false", "scrolled=0", "true, false or"),
    ("jupyter={\"source_hidden\": true}", "jupyter=true", "an object, as in"),
    ("execution={\"iopub.status.busy\": \"now\"}", "execution={\"iopub.status.busy\": 1}", "an object of texts"),
    ("name=\"first\"", "name=\"\"", "a text that is not empty"), ("[raw] format=\"text/html\"", "[raw] format=3", "a text, as in"),
    ("tags=[\"a\", \"b\"]", "tags=[\"a\", \"a\"]", "different texts"), ("tags=[]", "tags=[\"a,b\"]", "without commas")])
def test_metadata_that_jupyter_finds_wrong(cli, tmp_path, good, bad, why):
    (tmp_path / "good.lua").write_text(f"-- %% {good}\nx = 1\n")
    convert(cli, "good.lua", "good.ipynb")
    nbformat.validate(nbformat.read(tmp_path / "good.ipynb", as_version=4))
    (tmp_path / "bad.lua").write_text(f"-- %% {bad}\nx = 1\n")
    r = cli("convert", "bad.lua", "bad.ipynb")
    assert r.returncode != 0 and f"bad.lua: line 1: {bad.split('] ')[-1].split('=')[0]} must be " in r.stderr and why in r.stderr
    assert not (tmp_path / "bad.ipynb").exists()


def test_markdown_of_a_page(cli, tmp_path):
    (tmp_path / "a.md").write_text("~~out~~ one\ntwo\\\nthree\n\n---\n\n&copy; &amp; a <!-- not shown --> end\n")
    convert(cli, "a.md", "a.html")
    text = (tmp_path / "a.html").read_text()
    assert "<del>out</del> one\ntwo<br>\nthree" in text and "<hr>" in text and "\u00a9 &amp; a " in text and "not shown" not in text.split("<body")[1]


@pytest.mark.parametrize("words, why", [
    (["a.lua"], "usage"), (["good.lua", "b.txt"], "b.txt: nothing is converted to such a file; FILE.lua, FILE.ipynb or FILE.md becomes"),
    (["a.txt", "b.lua"], "a.txt: nothing is converted from such a file"), ([".lua", "b.lua"], "from such"), (["nowhere.lua", "b.ipynb"], "No such file"), (["bad.ipynb", "b.lua"], "not JSON"),
    (["latin.lua", "b.ipynb"], "line 2 is not UTF-8"), (["tags.lua", "b.ipynb"], "tags.lua: line 3: tags must be a list of different texts"),
    (["id.lua", "b.ipynb"], "line 1: id must be 1 to 64 letters, digits, - and _"), (["header.lua", "b.ipynb"], "the header: kernelspec must be an object"), (["good.lua", "nowhere/b.ipynb"], "No such file")])
def test_misuse(cli, tmp_path, words, why):
    (tmp_path / "bad.ipynb").write_text("{")
    (tmp_path / "latin.lua").write_bytes(b"print(1)\n-- \xe9\n")
    (tmp_path / "good.lua").write_text("print(1)\n")
    (tmp_path / "tags.lua").write_text("-- %%\nx = 1\n-- %% tags=\"intro\"\n")
    (tmp_path / "id.lua").write_text("-- %% id=\"not one\"\n")
    (tmp_path / "header.lua").write_text("-- ---\n-- jupyter: {\"kernelspec\": 3}\n-- ---\n")
    r = cli("convert", *words)
    assert r.returncode != 0 and r.stdout == "" and len(r.stderr.splitlines()) == 1 and why in r.stderr
    assert not list(tmp_path.glob("b.*"))


MARKDOWN = """# A talk

- a list

```lua
x = 3
print(x)
```

```
3
```

```python
print(1)
```

````lua
s = [[
```
]]
print(#s)
````

```
4
```

~~~cuda
int not_a_cell;
~~~

The end.
"""


def test_markdown_is_a_notebook(cli, tmp_path):
    (tmp_path / "talk.md").write_text(MARKDOWN)
    assert cli("convert", "talk.md", "talk.ipynb").returncode == 0
    book = nbformat.read(tmp_path / "talk.ipynb", 4)
    nbformat.validate(book)
    assert [(c.cell_type, c.source) for c in book.cells] == [
        ("markdown", "# A talk\n\n- a list"), ("code", "x = 3\nprint(x)"), ("markdown", "```python\nprint(1)\n```"),
        ("code", "s = [[\n```\n]]\nprint(#s)"), ("markdown", "~~~cuda\nint not_a_cell;\n~~~\n\nThe end.")]
    assert [c.outputs[0].text for c in book.cells if c.cell_type == "code"] == ["3\n", "4\n"]
    assert cli("convert", "talk.ipynb", "again.md").returncode == 0
    assert (tmp_path / "again.md").read_text() == MARKDOWN
    assert cli("convert", "talk.md", "talk.lua").returncode == 0
    assert cli("talk.lua").stdout == "3\n4\n"


def test_markdown_is_checked_and_presented(cli, tmp_path):
    (tmp_path / "talk.md").write_text(MARKDOWN)
    r = cli("--check", "talk.md")
    assert r.returncode == 0 and "2 as expected" in r.stdout
    r = cli("--present", "--auto", "0", "talk.md")
    assert r.returncode == 0 and "print(x)" in r.stdout and "The end." in r.stdout
    (tmp_path / "talk.md").write_text(MARKDOWN.replace("```\n3\n", "```\n5\n"))
    assert cli("--check", "talk.md").returncode == 1
    assert cli("--html=page.html", "talk.md").returncode == 0 and "A talk" in (tmp_path / "page.html").read_text()


def test_markdown_runs_as_a_notebook_does(cli, tmp_path):
    (tmp_path / "talk.md").write_text(MARKDOWN + "\n```lua\nx + 4\n```\n\n```lua\nerror 'stop'\n```\n\n```lua\nprint 'never'\n```\n")
    r = cli("talk.md")
    assert r.returncode == 1 and r.stdout == "3\n4\n7\n" and "stop" in r.stderr
    assert cli("none.md").stderr == "lunarray: none.md: cannot open it: No such file or directory\n"
    (tmp_path / "talk.md").write_text(MARKDOWN)
    assert cli("talk.md", "--html", "behind.html").returncode == 0 and "A talk" in (tmp_path / "behind.html").read_text()
    assert cli("--html", "before.html", "talk.md").returncode == 0 and "A talk" in (tmp_path / "before.html").read_text()
    assert not (tmp_path / "talk.html").exists()
    assert cli("talk.md", "--html").returncode == 0 and "A talk" in (tmp_path / "talk.html").read_text()
    r = cli("talk.md", "--inplace")
    assert r.returncode == 1 and "--check --update" in r.stderr and (tmp_path / "talk.md").read_text() == MARKDOWN


@pytest.mark.parametrize("text, updated", [
    (MARKDOWN, MARKDOWN),
    (MARKDOWN.replace("```\n3\n", "```\n5\n").replace("```\n4\n", "```\nfour\n"), MARKDOWN),
    ("~~~ lua {.x}\nprint(1)\n~~~", "~~~ lua {.x}\nprint(1)\n~~~\n\n```\n1\n```\n"),
    ("a\n\n\n```lua\nprint '```'\n```\n\n\n\nb  \n", "a\n\n\n```lua\nprint '```'\n```\n\n````\n```\n````\n\n\n\nb  \n"),
    ("```lua\nx = 1\n```\n```\nold\n```\n\n```\nolder\n```\nb", "```lua\nx = 1\n```\nb"),
    ("```lua\nprint(1)\n```\n\n```\nold\n```\n\n```\nolder\n```", "```lua\nprint(1)\n```\n\n```\n1\n```\n"),
    ("```lua\nprint(1)\n--> 2\n```\n\n```lua\n--> 2\nprint(3)\n```\n", "```lua\nprint(1)\n--> 1\n```\n\n```lua\n--> 2\nprint(3)\n```\n\n```\n3\n```\n"),
    ("```lua\nprint(math.pi)\n```\n\n```\n3.14...\n```\n",) * 2, ("no cells", "no cells"),
    ("```lua\nx = nil + 1\n```\n\n```\nfine\n```\n",) * 2], ids=repr)
def test_markdown_is_updated_and_nothing_else_of_it(cli, tmp_path, text, updated):
    (tmp_path / "talk.md").write_text(text)
    r = cli("--check", "--update", "talk.md")
    assert (tmp_path / "talk.md").read_text() == updated and r.returncode == ("nil" in text), r.stdout + r.stderr
    if "nil" not in text:
        again = cli("--check", "talk.md")
        assert again.returncode == 0 and ("0 not compared" in again.stdout or "x = 1" in text), again.stdout


@pytest.mark.parametrize("name, form", [("talk.md", "```lua\n%s\n```\n"), ("talk.lua", "-- %%%%\n%s\n")])
def test_a_file_that_is_edited_while_it_is_checked_is_left_alone(cli, tmp_path, name, form):
    (tmp_path / name).write_text(form % f"io.open('{name}', 'w'):write('new'):close() print(1)")
    r = cli("--check", "--update", name)
    assert r.returncode == 1 and "changed while" in r.stderr and (tmp_path / name).read_text() == "new"


@pytest.mark.parametrize("text, cells", [
    ("", []), ("\n\n", []), ("```lua\nx = 1", ["markdown"]), ("```lua\n```\n", ["code"]), ("```lua\r\nx = 1\r\n```\r\n", ["code"]),
    ("```lua {.numbers}\nx = 1\n```\n", ["code"]), ("  ```lua\n  x\n  ```", ["markdown"]), ("~~~lua\n```\n~~~\n```\nout\n```\n", ["code"]),
    ("```\nout\n```\n", ["markdown"]), ("```lua\nx\n```\ntext\n```\nnot its output\n```", ["code", "markdown"])], ids=repr)
def test_odd_markdown(cli, tmp_path, text, cells):
    (tmp_path / "odd.md").write_bytes(text.encode())
    assert cli("convert", "odd.md", "odd.ipynb").returncode == 0
    assert [c.cell_type for c in nbformat.read(tmp_path / "odd.ipynb", 4).cells] == cells


def test_markdown_that_is_no_text(cli, tmp_path):
    (tmp_path / "bad.md").write_bytes(b"one\n```lua\nx = '\xff'\n```\n")
    r = cli("convert", "bad.md", "bad.ipynb")
    assert r.returncode == 1 and "UTF-8" in r.stderr and not (tmp_path / "bad.ipynb").exists()
