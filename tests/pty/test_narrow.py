"""What kernels cost, did and did wrong, and what memory holds, in terminals of 40 and 80 columns: nothing is broken inside a word."""

import re

import pytest

SCRIPT = """
held = gpu.zeros(70000, "simt")
local k = gpu.kernel [[
__global__ void f(const float *x, float *y) {
  int i = threadIdx.x;
  __shared__ float t[64];
  t[i] = x[3 * i];
  y[i] = t[63 - i];
}
]]
local x, y = gpu.ones(256, "simt"), gpu.zeros(64, "simt")
function shown(which)
  if which == 1 then return gpu.profile(k, 1, 64)(x, y) end
  if which == 2 then return gpu.trace(k, 1, 64)(x, y) end
  if which == 3 then return gpu.check(function() k(1, 64)(x, y) end) end
  if which == 4 then k(1, 64, {check = true})(x, y) end
  return gpu.memory "simt"
end
"""
PARTS = {
    1: ("multiprocessor", "t[i] = x[3 * i];", "sectors"),
    2: ("int i = threadIdx.x;", "i = 0..31", "#" * 32),
    3: ("race", "y[i] = t[63 - i];", "__syncthreads()"),
    4: ("race", "y[i] = t[63 - i];", "__syncthreads()"),
    5: ("273 KiB  held  float32 (70000,)",),
}


@pytest.mark.parametrize("columns", [40, 80])
def test_lines_fit(terminal, tmp_path, monkeypatch, columns):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "narrow.lua").write_text(SCRIPT)
    t = terminal(columns=columns, rows=100, LUNARRAY_DEVICE="simt")
    t.at_prompt(1)
    t.send("dofile 'narrow.lua'\r")
    for which, parts in PARTS.items():
        t.at_prompt(which + 1)
        before = len(t.raw)
        t.send(f"shown({which})\r")
        t.at_prompt(which + 2)
        text = re.sub(r"\033\[[?0-9;]*[A-Za-z]", "", t.raw[before:].decode())
        text = text[text.index("\n"):]
        lines = [line.split("\r")[-1] for line in text.replace("\r\n", "\n").split("\n")]
        assert all(len(line) <= columns for line in lines), lines
        for part in parts:
            assert any(part in line for line in lines), (part, lines)


@pytest.mark.parametrize("columns", [60, 80, 130])
def test_carets_stand_below_their_places_in_long_lines(terminal, tmp_path, monkeypatch, columns):
    monkeypatch.chdir(tmp_path)
    statements = " ".join(f"z[{i}] = {i}.0f;" for i in range(8))
    (tmp_path / "long.lua").write_text(
        "k = gpu.kernel [[\n__global__ void f(float *y, float *z) {\n"
        f"  {statements} y[64 + threadIdx.x] = 1; {statements} }}\n]]\n"
        f"function lua() {'local a = 1; ' * 12} return nowhere.at_all end\n")
    t = terminal(columns=columns, rows=60, LUNARRAY_DEVICE="simt")
    t.at_prompt(1)
    t.send("dofile 'long.lua'; y, z = gpu.zeros(64, 'simt'), gpu.zeros(64, 'simt')\r")
    for cell, (call, name) in enumerate([("k(1, 1, {check = true})(y, z)", "y[64 + threadIdx.x]"), ("lua()", "nowhere")], 2):
        t.at_prompt(cell)
        before = len(t.raw)
        t.send(f"{call}\r")
        t.at_prompt(cell + 1)
        text = re.sub(r"\033\[[?0-9;]*[A-Za-z]", "", t.raw[before:].decode()).replace("\r\n", "\n")
        lines = [line.split("\r")[-1] for line in text[text.index("\n"):].split("\n")]
        at = next(k for k, line in enumerate(lines) if line.lstrip().startswith("| ") and "^" in line)
        assert len(lines[at - 1]) <= columns and "..." in lines[at - 1], lines
        assert lines[at - 1].index(name) == lines[at].index("^"), lines[at - 1:at + 1]


def test_hints_beside_values_are_broken_at_words(terminal):
    t = terminal(columns=60, rows=30, LUNARRAY_DEVICE="simt")
    t.at_prompt(1)
    t.send("x = gpu.ones(3)\r")
    t.at_prompt(2)
    t.send("x == 1\r")
    t.at_prompt(3)
    t.shows("2> x == 1", "false",
            "  hint: == asks whether both are the same array; x:eq(y)",
            "  compares element by element, x:equal(y) tells whether all",
            "  are equal", "3>")
