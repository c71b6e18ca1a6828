"""Random cases over arrays of whole numbers, whose results a script prints: what tests of indexing and of shapes share."""
import random

import numpy as np

from against import run

SIZES = [0, 1, 1, 2, 3, 4, 5, 7]
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"]

PRELUDE = """
local function show(v)
  if type(v) ~= "userdata" then return "() " .. string.format("%d", v // 1) end
  local text, flat = {}, v:flatten():totable()
  for i, e in ipairs(flat) do text[i] = string.format("%d", e // 1) end
  return tostring(v.shape) .. " " .. table.concat(text, " ")
end
local function case(f)
  local ok, v = pcall(f)
  print(ok and show(v) or "error " .. tostring(v))
end
local I = function(t, shape) return gpu.array(t, "int64"):reshape(shape) end
local B = function(t, shape) return gpu.array(t, "int32"):reshape(shape):ne(0) end
"""


def show(v):
    v = np.asarray(v)
    shape = "(" + ", ".join(map(str, v.shape)) + (",)" if v.ndim == 1 else ")")
    return shape + " " + " ".join(str(int(e)) for e in v.ravel())


def table(values):
    return "{" + ", ".join(str(int(v)) for v in values) + "}"


class Base:
    """A Lua array and NumPy's, alike: a range in a random shape, then a few views of it."""

    def __init__(self, r, most=4):
        shape = [r.choice(SIZES) for _ in range(r.randint(1, most))]
        self.dtype = r.choice(DTYPES)
        n = int(np.prod(shape))
        self.lua = f"local base = gpu.range({n}, '{self.dtype}'):reshape({table(shape)})\nlocal x = base\n"
        self.base = self.x = np.arange(1, n + 1).astype(self.dtype).reshape(shape)
        for _ in range(r.randint(0, 2)):
            self.view(r)

    def view(self, r):
        kind = r.choice(["turn", "flip", "step"])
        axis = r.randrange(self.x.ndim)
        if kind == "turn":
            order = r.sample(range(self.x.ndim), self.x.ndim)
            self.lua += f"x = x:permute({table(np.array(order) + 1)})\n"
            self.x = self.x.transpose(order)
        else:
            step = -1 if kind == "flip" else 2
            self.lua += "x = x[{" + "{}, " * axis + f"'::{step}'" + "}]\n"
            self.x = self.x[(slice(None),) * axis + (slice(None, None, step),)]


def run_cases(make, name, way, count, folder):
    """Runs random cases, all in one script, and compares what each prints."""
    r = random.Random(f"{name} {way}")
    cases = [make(r) for _ in range(count)]
    lines = run(folder, way, [PRELUDE, *(f"case(function()\n{text}\nend)" for text, _ in cases)]).splitlines()
    assert len(lines) == count, lines[-20:]
    errors = 0
    for (text, want), line in zip(cases, lines):
        errors += want == "error"
        if want == "error":
            assert line.startswith("error "), f"{text}\ngave {line}"
        else:
            assert line.rstrip() == want.rstrip(), text
    assert errors < count / 2
