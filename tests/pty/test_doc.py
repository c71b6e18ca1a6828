"""The reference: pages in the terminal, and as a folder."""

import html
import html.parser
import re

import pytest


def test_page_of_a_name(cli):
    r = cli("doc", "gpu.linspace")
    assert r.returncode == 0 and r.stderr == "" and "gpu.linspace(start, stop" in r.stdout
    assert r.stdout.strip() in cli("-i", stdin="?gpu.linspace\n").stdout


def test_page_in_a_terminal(terminal):
    """Broken at words; what is longer than the screen goes to the pager."""
    t = terminal("doc", "gpu.linspace", columns=40, rows=40)
    t.wait_end()
    assert t.lines()[0].startswith("gpu.linspace(start, stop") and all(len(line) <= 40 for line in t.lines())
    text = " ".join(t.lines())
    assert "Evenly spaced numbers from start to stop" in text and t.child.exitstatus == 0
    t = terminal("doc", "gpu.check", rows=10, PAGER="sed 's/^/paged: /'")
    t.wait_end()
    assert t.lines()[-1].startswith("paged: ")


def test_names_that_are_none(cli):
    r = cli("doc", "gpu.nowhere")
    assert (r.returncode, r.stdout) == (1, "") and "gpu.nowhere" in r.stderr
    r = cli("doc", "gpu.linspce")
    assert (r.returncode, r.stdout) == (1, "") and "did you mean 'gpu.linspace'?" in r.stderr
    assert cli("doc").returncode == 1 and cli("doc", "--html").returncode == 1


def test_modules_and_words(cli):
    r = cli("doc", "fft")
    assert (r.returncode, r.stderr) == (0, "") and "gpu.fft.rfft " in r.stdout and "array." not in r.stdout
    r = cli("doc", "eigenvalue")
    assert (r.returncode, r.stderr) == (0, "") and "gpu.linalg.eigh " in r.stdout
    r = cli("doc", "log", "sum")
    assert (r.returncode, r.stderr) == (0, "") and "array.logcumsumexp" in r.stdout


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.loads, self.examples = [], [], [], {}
        self.code = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "a":
            self.links.append(a["href"])
        if "id" in a:
            self.ids.append(a["id"])
        self.loads += [a[n] for n in ("src",) if n in a]
        if tag == "pre" and a.get("class") == "code":
            self.code = ""

    def handle_data(self, data):
        if self.code is not None:
            self.code += data

    def handle_endtag(self, tag):
        if tag == "pre" and self.code is not None:
            self.examples[self.ids[-1]] = self.code
            self.code = None


@pytest.fixture
def pages(cli, tmp_path):
    r = cli("doc", "--html", str(tmp_path / "reference"))
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    return {p.name: Page(p.read_text()) for p in (tmp_path / "reference").iterdir()}


def test_folder(pages, tmp_path):
    index = pages["index.html"]
    assert {"gpu.html#gpu.linspace", "array.html#array.sum", "gpu.random.html#gpu.random.normal", "string.html#string.format",
            "lua.html#print", "shell.html#shell.prompt", "magic.html#magic.time", "topic.html#indexing"} <= set(index.links)
    for name, page in pages.items():
        assert page.loads == [] and len(page.ids) == len(set(page.ids))
        for link in page.links:
            file, _, place = link.partition("#")
            assert file in pages and (not place or place in pages[file].ids), link
        if name != "index.html":
            assert {f"{name}#{i}" for i in page.ids} <= set(index.links) and name in index.links
    for name in pages:
        text = (tmp_path / "reference" / name).read_text()
        assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text), name
        assert "default-src 'none'" in text
    assert 'href="gpu.html#gpu.dtypes"' in (tmp_path / "reference" / "topic.html").read_text()  # its text names it


def test_all_of_it_answers_in_the_shell(cli, tmp_path):
    cli("doc", "--html", str(tmp_path))
    names = [html.unescape(name) for name in re.findall(r"<li><a [^>]*><code>([^ <]*)", (tmp_path / "index.html").read_text())]
    r = cli("-i", "--no-init", stdin="".join(f"?{name}\n" for name in names))
    assert len(names) > 700 and r.returncode == 0 and r.stderr == ""


def test_functions_of_lua(cli, pages, tmp_path):
    """All that lua5.4 has is in the reference, and its examples hold."""
    names = cli("-e", """for _, t in ipairs {"_G", "coroutine", "debug", "io", "math", "os", "package", "string", "table", "utf8"} do
  for k, v in pairs(_G[t]) do if type(v) == "function" then print(t == "_G" and k or t .. "." .. k) end end
end
for k in pairs(getmetatable(io.stdout).__index) do print("file." .. k) end""").stdout.split()
    parts = [p for n, p in pages.items() if n != "index.html"]
    known = {i for p in parts for i in p.ids}
    assert len(names) > 120 and set(names) <= known, set(names) - known
    examples = {name: text for p in parts for name, text in p.examples.items() if name in names}
    assert {n for n in names if n not in examples} == {"os.exit", "debug.debug"}
    (tmp_path / "all.lua").write_text("".join(f"local function example()\n{text}\nend\nexample()\nprint '{name}'\n" for name, text in examples.items()))
    r = cli("all.lua")
    assert r.returncode == 0 and set(examples) <= set(r.stdout.split()), r.stderr


def test_the_shell_knows_them(cli):
    for name, signature in ("string.format", "string.format(formatstring, ...)"), ("('x'):rep", "string.rep(s, n"), ("io.stdout.read", "file:read(...)"):
        assert signature in cli("-i", stdin=f"?{name}\n").stdout
    assert cli("doc", "file.read").stdout.startswith("file:read(...)") and cli("doc", "shell.prompt").stdout.startswith("shell.prompt = ")
