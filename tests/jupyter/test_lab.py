"""JupyterLab in a real browser: a notebook is opened, all its cells are run, and the page is looked at."""
import glob
import os
import re
import shutil
import tempfile
import time

import nbformat
import pytest

from browsing import READY, STATE, HERE, comes_to_hold, lab_server, open_and_run, open_notebook, screenshot, wait_for

pytest.importorskip("jupyterlab")
webdriver = pytest.importorskip("selenium.webdriver")
By = pytest.importorskip("selenium.webdriver.common.by").By
Select = pytest.importorskip("selenium.webdriver.support.ui").Select
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

TUTORIALS = sorted(glob.glob(os.path.join(HERE, "..", "..", "tutorials", "*.ipynb")))

CELLS = [
    ("print('hello from a cell')", []),
    ("gpu.linspace(0, 1, 5)", []),
    ("display.html('<b id=\"shown\">shown as HTML</b>')", []),
    ("for i = 1, 3000 do print('line', i) end", []),
    ("error('as the tag says')", ["raises-exception"]),
    ("io.stdout:write('from C\\n') last = true", []),
    # Runs until JupyterLab has sent the last cell, too: what it sends after an error is a new request and is run.
    ("local f repeat f = io.open('all-sent') until f f:close() error('this stops Run All')", []),
    ("print('never')", []),
]

PICTURES = [
    "for i in gpu.progress(100, 'steps') do end",
    "x, y = gpu.meshgrid(gpu.linspace(-2, 2, 200), gpu.linspace(-1, 1, 100))\ngpu.imshow((x * x - y * y):sin())",
    "t = gpu.linspace(0, 10, 100000)\n"
    "gpu.plot({{t, t:sin(), label = 'sin'}, {t, t:cos(), label = 'cos'}}, {title = 'waves', xlabel = 't'})",
    "gpu.bar({'one', 'two', 'three'}, {3, 1, 2})",
    "gpu.heatmap((x * y):cos(), {title = 'drawn by the page', format = 'vega'})",
    "gpu.plot_surface((x * y):cos(), {title = 'a surface'})",
]

RICH = [
    "x = gpu.linspace(0, 1, 40000):reshape(200, 200)\nx",
    "gpu.device()",
    "k = gpu.kernel [[\n  __global__ void shift(int n, float *a) {\n    __shared__ float s[256];\n    int i = threadIdx.x;\n"
    "    s[i] = a[i];\n    a[i] = s[255 - i]; // \"backwards\"\n  }\n]]\nk",
    "a = gpu.ones(256)\ngpu.profile(k, 1, 256)(256, a)",
    "gpu.check(function() k(1, 256)(256, a) end)",
    "k(1, 512)(256, a)",
    "local t = nil\nprint(t.field)",
    "gpu.kernel [[\n  __global__ void f(int n) { undefined(n); }\n]]",
    "gpu.ones(2, 2):latex()",
    "t = gpu.linspace(0, 6, 500)\ngpu.plot(t, t:sin(), {title = 'one'})",
    "display.html('<p>given as HTML</p>') display({1, '<b>not bold</b>', {}})",
    "io.stderr:write('to stderr\\n') warn('a warning')",
]

DEBUGGED = ["function double(n)\n  local twice = 2 * n\n  return twice\nend\nprint(double(21))"]

COLOURED = [
    "local k = gpu.kernel [[\n  // a word: while ]]\nlocal s = [[ while 'this' is text ]] -- end\n",
    "k = gpu.kernel([==[\n#include <cuda_fp16.h>\n__global__ void f(float *x) { /* local\n  function */ x[threadIdx.x] = 'a' + 1.5f; }\n"
    "]==], {options = 'x'})\nfor i = 1, 0x10 do print(nil) end",
    "%%cuda\n__device__ int one() { return ']]'[0] == 1 ? 1 : sqrtf(2); }",
    "%time x = gpu.ones(3)\nx:select(1, 2) print(..., 1 ..type(x))\nreturn x",
    "code = [[\nint before;\n__global__ void g() { if (true) return; }\n]]",
    "%%writefile colours.txt\nlocal end",
]

INTERACT = "interact(function(n, kind) print('n', n, kind) return gpu.range(n) end, {n = {1, 9}, kind = {'a', 'b'}})"


@pytest.fixture(scope="module")
def lab(kernelspec):
    folder = tempfile.mkdtemp(prefix="lunarray-lab-")
    for path in TUTORIALS:
        shutil.copy(path, folder)
    cells = [nbformat.v4.new_code_cell(source, metadata={"tags": tags}) for source, tags in CELLS]
    spec = {"name": "lunarray", "display_name": "Lua (lunarray)", "language": "lua"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": spec}), os.path.join(folder, "cells.ipynb"))
    for name, sources in (("pictures.ipynb", PICTURES), ("debugged.ipynb", DEBUGGED), ("interact.ipynb", [INTERACT]),
                          ("rich.ipynb", RICH), ("coloured.ipynb", COLOURED),
                          ("tools.ipynb", ["here = {alpha = gpu.ones(3), alphabet = function(a, b) end} print('kept')"])):
        tags = {"tags": ["raises-exception"]} if sources is RICH else {}
        cells = [nbformat.v4.new_code_cell(source, metadata=tags) for source in sources]
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": spec}), os.path.join(folder, name))
    with lab_server(folder, os.environ["JUPYTERLAB_SETTINGS_DIR"]) as url:
        yield url, folder
    shutil.rmtree(folder, ignore_errors=True)


def test_cells(lab, browser):
    def check(cells):
        assert [c["prompt"] for c in cells] == [f"[{i}]:" for i in range(1, 8)] + ["[ ]:"]
        assert cells[0]["text"] == "hello from a cell\n"
        assert cells[1]["tables"] == 1 and "0.25" in cells[1]["text"]
        assert "shown as HTML" in cells[2]["text"] and browser.execute_script("return !!document.getElementById('shown')")
        assert cells[3]["text"].endswith("line\t3000\n")
        assert cells[4]["errors"] == 1 and "as the tag says" in cells[4]["text"]
        assert cells[5]["text"] == "from C\n" and cells[5]["errors"] == 0
        assert cells[6]["errors"] == 1 and cells[7]["text"] == ""

    open_and_run(lab, browser, "cells.ipynb", check)


# The sizes of the pictures below each code cell, as drawn: 0 where the browser could not.
SIZES = """
const cells = window.jupyterapp.shell.currentWidget.content.widgets.filter(w => w.model.type === 'code');
return cells.map(cell => Array.from(cell.node.querySelectorAll('.jp-OutputArea-output img')).map(i => i.naturalWidth));
"""


# Whether each picture, all narrower than it is, fits its cell.
ROOM = """
const images = window.jupyterapp.shell.currentWidget.node.querySelectorAll('.jp-OutputArea-output img');
return Array.from(images).map(i => i.clientWidth <= i.parentElement.clientWidth && i.parentElement.scrollWidth <= i.parentElement.clientWidth);
"""


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="no gnuplot")
def test_pictures(lab, browser):
    def check(cells):
        assert [c["errors"] for c in cells] == [0] * 6
        assert "100/100" in cells[0]["text"] and "left" not in cells[0]["text"]
        assert browser.execute_script(SIZES) == [[], [400], [640], [640], [], [640]]
        assert browser.execute_script("return document.querySelectorAll('.vega-embed canvas, .vega-embed svg').length")

    def all_fit():
        assert browser.execute_script(ROOM) == [True] * 4

    open_and_run(lab, browser, "pictures.ipynb", check)
    size = browser.get_window_size()
    browser.set_window_size(600, size["height"])
    try:
        comes_to_hold(browser, all_fit)
    finally:
        browser.set_window_size(size["width"], size["height"])


def test_interact(lab, browser):
    def says(words):
        def check(cells):
            assert words in cells[0]["text"] and cells[0]["tables"] == 1, cells
        return check

    open_and_run(lab, browser, "interact.ipynb", says("n\t5\ta"))
    slider = browser.find_element(By.CSS_SELECTOR, ".widget-slider .noUi-handle")
    browser.execute_script("arguments[0].focus()", slider)
    slider.send_keys(Keys.ARROW_RIGHT)
    wait_for(browser, "the moved slider's output", lambda: "n\t6\ta" in browser.execute_script(STATE)[0]["text"])
    Select(browser.find_element(By.CSS_SELECTOR, ".widget-dropdown select")).select_by_visible_text("b")
    wait_for(browser, "the chosen item's output", lambda: "n\t6\tb" in browser.execute_script(STATE)[0]["text"])
    assert "n\t5\ta" not in browser.execute_script(STATE)[0]["text"]
    screenshot(browser, "interact")
    # The page opened anew has the controls as they stand, and they work. Only its address names the notebook: one of the
    # remembered workspace would be there first, and brought to the front again, by the address, during the next test.
    browser.execute_script("return window.jupyterapp.commands.execute('docmanager:save');")
    wait_for(browser, "the saved notebook", lambda: not browser.execute_script("return window.jupyterapp.shell.currentWidget.context.model.dirty"))
    browser.get(browser.current_url.split("?")[0] + "?reset")
    wait_for(browser, "the notebook", lambda: browser.execute_script(READY, "interact.ipynb"))
    chosen = "return document.querySelector('.widget-dropdown select')?.selectedOptions[0]?.text"
    wait_for(browser, "the controls", lambda: browser.execute_script(chosen) == "b")
    Select(browser.find_element(By.CSS_SELECTOR, ".widget-dropdown select")).select_by_visible_text("a")
    wait_for(browser, "the output", lambda: "n\t6\ta" in browser.execute_script(STATE)[0]["text"])


# Those with errors, tables of profiles and pictures; test_nbclient.py runs the others, too.
@pytest.mark.parametrize("path", [p for p in TUTORIALS if re.search("01-|03-|06-", p)], ids=os.path.basename)
def test_tutorial(lab, browser, path):
    sources = [c for c in nbformat.read(path, 4).cells if c.cell_type == "code"]

    def check(cells):
        assert len(cells) == len(sources)
        for source, cell in zip(sources, cells):
            assert cell["errors"] == ("raises-exception" in source.metadata.get("tags", [])), (source.source, cell)
            assert cell["prompt"].strip("[]: ").isdigit() or not source.source.strip(), (source.source, cell)
        assert any(c["text"].strip() for c in cells)

    open_and_run(lab, browser, os.path.basename(path), check)


# Of each piece of text in the cells' outputs the contrast of its colour with the ground behind it, as WCAG counts it.
CONTRAST = """
const parse = c => { const v = c.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
const ground = e => {
  if (!e) return [255, 255, 255];
  const c = parse(getComputedStyle(e).backgroundColor);
  return c[3] === 1 ? c : over(c, ground(e.parentElement));
};
const found = [];
for (const root of window.jupyterapp.shell.currentWidget.node.querySelectorAll('.jp-OutputArea-output')) {
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement, style = getComputedStyle(e);
    if (!n.data.trim() || e.closest('svg, style, script, .jp-mod-hidden') || style.visibility === 'hidden' || !e.getClientRects().length) continue;
    const below = ground(e), a = light(over(parse(style.color), below)), b = light(below);
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), n.data.trim().slice(0, 40)]);
  }
}
return found;
"""


def test_both_themes(lab, browser):
    """What outputs say can be read on the light and on the dark ground."""
    def check(cells):
        assert [c["errors"] for c in cells] == [int(i in (5, 6, 7)) for i in range(len(RICH))], cells
        assert cells[0]["tables"] == 1 and "not bold" in cells[10]["text"] and "<b>" in cells[10]["text"]

    def readable():
        texts = browser.execute_script(CONTRAST)
        assert len(texts) > 100 and [t for t in texts if t[0] < 3] == []

    open_and_run(lab, browser, "rich.ipynb", check)
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        browser.execute_script("window.jupyterapp.commands.execute('apputils:change-theme', {theme: arguments[0]});", theme)
        wait_for(browser, theme, lambda: browser.execute_script(
            "return document.body.dataset.jpThemeName === arguments[0] && !document.querySelector('#jupyterlab-splash')", theme))
        wait_for(browser, "its style sheets", lambda: browser.execute_script(
            "return getComputedStyle(document.querySelector('.jp-Notebook')).backgroundColor.match(/\\d+/g)[0] < 128") == ("Dark" in theme))
        screenshot(browser, theme.split()[1].lower())
        comes_to_hold(browser, readable)


# Each code cell's words and signs with the colour of each, by the name that JupyterLab's style sheet has for it; what is built
# in has the colour of keywords.
COLOURS = """
const names = ['keyword', 'atom', 'number', 'string', 'comment', 'meta', 'operator', 'variable', 'type'];
const style = getComputedStyle(document.body), probe = document.createElement('span');
document.body.append(probe);
const colours = {};
for (const name of names.reverse()) {
  probe.style.color = style.getPropertyValue(`--jp-mirror-editor-${name}-color`) || style.getPropertyValue('--jp-content-font-color1');
  colours[getComputedStyle(probe).color] = name;
}
probe.remove();
return window.jupyterapp.shell.currentWidget.content.widgets.map(cell => {
  const found = [];
  for (const span of cell.node.querySelectorAll('.cm-line span'))
    if (span.children.length === 0) found.push([span.textContent.trim(), colours[getComputedStyle(span).color] || '?']);
  return found;
});
"""


def test_cuda_in_cells_is_coloured(lab, browser):
    def coloured():
        cells = [dict(cell) for cell in browser.execute_script(COLOURS)]
        expected = [
            {"local": "keyword", "[[": "string", "// a word: while": "comment", "[[ while 'this' is text ]]": "string", "-- end": "comment"},
            {"#include": "meta", "__global__": "keyword", "void": "keyword", "float": "keyword", "local": "comment",
             "function */": "comment", "'a'": "string", "1.5f": "number", "]==]": "string", "'x'": "string", "for": "keyword",
             "0x10": "number", "do": "keyword", "nil": "atom", "end": "keyword"},
            {"%%cuda": "meta", "__device__": "keyword", "']]'": "string", "0": "number", "return": "keyword"},
            {"%time": "meta", "3": "number", "return": "keyword", "print": "keyword", "type": "keyword", "..": "operator"},
            {"int before;": "string", "__global__": "keyword", "if": "keyword", "return": "keyword", "]]": "string"},
            {"%%writefile colours.txt": "meta"},
        ]
        for cell, words in zip(cells, expected):
            assert words.items() <= cell.items()
        assert cells[1]["threadIdx"] == "keyword" and "local end" not in cells[5] and "select" not in cells[3]

    open_notebook(lab, browser, "coloured.ipynb")
    comes_to_hold(browser, coloured)
    screenshot(browser, "coloured")


# What Enter makes of the first cell, then what is typed, with "^" for its steps of indentation.
INDENTED = [
    ("for i = 1, 3 do", "print(i)\nend\nreturn", "for i = 1, 3 do\n^print(i)\nend\nreturn"),
    ("if x then", "f {\n1\n}\nelse\ny = 2", "if x then\n^f {\n^^1\n^}\nelse\n^y = 2"),
    ("k = gpu.kernel [[", "__global__ void f() {\nif (true) {\nreturn;\n}\n}\n]]\nx = 1",
     "k = gpu.kernel [[\n__global__ void f() {\n^if (true) {\n^^return;\n^}\n}\n]]\nx = 1"),
    ("text = [[", "  for\nend ]]", "text = [[\n  for\n  end ]]"),
]


def test_lines_are_indented(lab, browser):
    open_notebook(lab, browser, "coloured.ipynb")
    for first, typed, expected in INDENTED:
        browser.execute_script(TYPE, first)
        for line in typed.split("\n"):
            webdriver.ActionChains(browser).send_keys(Keys.ENTER).send_keys(line).perform()
        text = browser.execute_script("return window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.getSource()")
        assert text.replace("    ", "^") == expected


# The text of the editor of the first cell, with the cursor behind it; and what the page shows over and beside the cells.
TYPE = """
const cell = window.jupyterapp.shell.currentWidget.content.widgets[0];
cell.model.sharedModel.setSource(arguments[0]);
window.jupyterapp.shell.currentWidget.content.mode = 'edit';
cell.editor.setCursorPosition({line: 0, column: arguments[0].length});
cell.editor.focus();
"""
SHOWN = """
const text = selector => Array.from(document.querySelectorAll(selector)).map(e => e.textContent);
return {completer: text('.jp-Completer-item .jp-Completer-match'), types: text('.jp-Completer-item .jp-Completer-typeExtended'),
        inspector: text('.jp-Inspector-content').join(''), dialog: text('.jp-Dialog-header').join('')};
"""
KERNEL = "window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel"


def test_the_notebooks_tools(lab, browser):
    """The completion's popup, the inspector, and the toolbar's buttons that interrupt and restart."""
    find = By.CSS_SELECTOR
    shown = lambda: browser.execute_script(SHOWN)
    run = lambda: browser.execute_script("window.jupyterapp.commands.execute('notebook:run-cell');")
    cell = lambda: browser.execute_script(STATE)[0]
    open_notebook(lab, browser, "tools.ipynb")
    inside = browser.execute_script("return window.jupyterapp.shell.currentWidget.node")
    run()
    wait_for(browser, "the first result", lambda: "kept" in cell()["text"])
    browser.execute_script(TYPE, "here.al")
    asked = -10
    def completed():
        nonlocal asked
        popup = shown()
        # The page asks for nothing until it has seen that the cell's editor has the focus: as with the Tab key, ask again.
        if not popup["completer"] and time.monotonic() > asked + 10:
            browser.execute_script("window.jupyterapp.commands.execute('completer:invoke-notebook');")
            asked = time.monotonic()
        assert popup["completer"] == ["alpha", "alphabet"] and popup["types"] == ["array", "function"], popup

    comes_to_hold(browser, completed)
    screenshot(browser, "completion")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    source = "return window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.getSource()"
    wait_for(browser, "the completed name", lambda: browser.execute_script(source) == "here.alpha")
    browser.execute_script("return window.jupyterapp.commands.execute('inspector:open').then(() => null);")
    browser.execute_script("window.jupyterapp.shell.activateById(arguments[0]);",
                           browser.execute_script("return [...window.jupyterapp.shell.widgets('main')].find(w => w.context && w.context.path === 'tools.ipynb').id"))
    browser.execute_script(TYPE, "gpu.linspace(")
    wait_for(browser, "the inspector", lambda: "gpu.linspace(start, stop" in shown()["inspector"])
    screenshot(browser, "inspector")
    browser.execute_script("[...window.jupyterapp.shell.widgets('main')].filter(w => w.id === 'jp-inspector' || w.node.querySelector('.jp-Inspector')).forEach(w => w.close());")
    browser.execute_script(TYPE, "print('endless') while true do end")
    run()
    wait_for(browser, "the endless cell", lambda: cell()["text"] == "endless\n" and cell()["prompt"] == "[*]:")
    # Completion, among others, is answered while the cell runs, and has the page show the kernel's state anew.
    browser.execute_script(f"return {KERNEL}.requestComplete({{code: 'gpu.lins', cursor_pos: 8}}).then(() => null);")
    wait_for(browser, "the busy kernel", lambda: browser.execute_script(f"return {KERNEL}.status") == "busy")
    inside.find_element(find, "[data-jp-item-name=interrupt] jp-button, [data-jp-item-name=interrupt] button").click()
    wait_for(browser, "the interrupt", lambda: cell()["errors"] == 1 and "nterrupted" in cell()["text"])
    browser.execute_script(TYPE, "print(here and 'kept' or 'gone')")
    run()
    wait_for(browser, "the variable", lambda: cell()["text"] == "kept\n")
    inside.find_element(find, "[data-jp-item-name=restart] jp-button, [data-jp-item-name=restart] button").click()
    wait_for(browser, "the question", lambda: "estart" in shown()["dialog"])
    browser.find_element(find, ".jp-Dialog .jp-mod-accept").click()
    wait_for(browser, "the restarted kernel", lambda: not shown()["dialog"] and browser.execute_script(READY, "tools.ipynb"))
    run()
    wait_for(browser, "the fresh session", lambda: (cell()["text"], cell()["prompt"]) == ("gone\n", "[1]:"))


# Text of the debugger's panels, and the line that is marked in the cell.
DEBUGGER = """
const all = (root, selector) => Array.from(root.querySelectorAll(selector)).map(e => e.textContent);
const text = selector => all(document, selector);
return {
  frames: text('.jp-DebuggerCallstackFrame'),
  variables: text('.jp-DebuggerVariables')[0] || '',
  breakpoints: text('.jp-DebuggerBreakpoint'),
  line: text('.jp-DebuggerEditor-highlight')[0],
  output: all(window.jupyterapp.shell.currentWidget.node, '.jp-OutputArea-output').join(''),
};
"""


def test_debugger(lab, browser):
    """The bug is switched on, a breakpoint set by a click beside a line; run, look, step, continue."""
    find = By.CSS_SELECTOR
    state = lambda: browser.execute_script(DEBUGGER)
    open_notebook(lab, browser, "debugged.ipynb")
    inside = browser.execute_script("return window.jupyterapp.shell.currentWidget.node")
    bug = wait_for(browser, "the debugger's button", lambda: inside.find_elements(find, ".jp-DebuggerBugButton"))[0]
    wait_for(browser, "a kernel that can be debugged", lambda: bug.is_enabled() and bug.get_attribute("aria-disabled") != "true")
    bug.click()
    wait_for(browser, "the debugger's panel", lambda: browser.find_elements(find, ".jp-DebuggerVariables"))
    wait_for(browser, "the gutter", lambda: inside.find_elements(find, ".cm-breakpoint-gutter .cm-gutterElement"))
    second = inside.find_elements(find, ".jp-CodeCell .cm-line")[1].rect
    middle = second["y"] + second["height"] / 2
    gutter = [e.rect["y"] <= middle < e.rect["y"] + e.rect["height"] and e
              for e in inside.find_elements(find, ".cm-breakpoint-gutter .cm-gutterElement")]
    next(filter(None, gutter)).click()
    wait_for(browser, "the breakpoint", lambda: state()["breakpoints"])
    browser.execute_script("window.jupyterapp.commands.execute('notebook:run-cell');")
    def stopped():
        now = state()
        assert "21" in now["variables"] and "local twice" in (now["line"] or "") and now["output"] == "", now
        assert [f.split()[0][:6] for f in now["frames"]] == ["double", "cell"], now

    comes_to_hold(browser, stopped)
    screenshot(browser, "debugger")
    browser.execute_script("window.jupyterapp.commands.execute('debugger:next');")
    wait_for(browser, "the next line", lambda: "return twice" in (state()["line"] or "") and "42" in state()["variables"])
    browser.execute_script("window.jupyterapp.commands.execute('debugger:continue');")
    wait_for(browser, "the cell's output", lambda: state()["output"] == "42\n" and not state()["frames"])
