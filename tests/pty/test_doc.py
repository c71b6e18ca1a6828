"""The reference: pages in the terminal, and as a folder."""

import html.parser
import re


def test_page_of_a_name(cli):
    r = cli("doc", "gpu.linspace")
    assert r.returncode == 0 and r.stderr == "" and "gpu.linspace(start, stop" in r.stdout
    assert r.stdout.strip() in cli("-i", stdin="?gpu.linspace\n").stdout


def test_names_that_are_none(cli):
    r = cli("doc", "gpu.nowhere")
    assert (r.returncode, r.stdout) == (1, "") and "gpu.nowhere" in r.stderr
    assert cli("doc").returncode == 2 and cli("doc", "--html").returncode == 2


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.loads = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "a":
            self.links.append(a["href"])
        self.ids.add(a.get("id"))
        self.loads += [a[n] for n in ("src",) if n in a]


def test_folder(cli, tmp_path):
    r = cli("doc", "--html", str(tmp_path / "reference"))
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    pages = {p.name: Links(p.read_text()) for p in (tmp_path / "reference").iterdir()}
    index = pages["index.html"]
    assert {"gpu.html#gpu.linspace", "array.html#array.sum", "gpu.random.html#gpu.random.normal"} <= set(index.links)
    for page in pages.values():
        assert page.loads == []
        for link in page.links:
            name, _, place = link.partition("#")
            assert name in pages and (not place or place in pages[name].ids), link
    for name in pages:
        text = (tmp_path / "reference" / name).read_text()
        assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text), name
        assert "default-src 'none'" in text
