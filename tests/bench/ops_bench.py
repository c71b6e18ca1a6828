#!/usr/bin/env python3
"""Every elementwise operation in every dtype beside NumPy, SciPy where NumPy has none, and the worst ratios at the end.

    build/venv/bin/python tests/bench/ops_bench.py [--size N ...] [--only TEXT] [--dtype NAME ...] [--binary FILE ...]

The cases come from the rows of kernels/ops.def and from NumPy's list of ufuncs. Both sides take turns, each result is
made anew, and the best of the rounds counts, of which there are more until neither side gains by them. LUNARRAY_THREADS=1
compares single threads, as NumPy's are. Columns: milliseconds here, there, here / there. More binaries: each is
measured, the ratio is that of the first one.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

sys.path.insert(0, "tests/numpy")
os.environ.setdefault("LUNARRAY", "build/lunarray")
from ufuncs import NAMES, PRODUCTS, UFUNCS  # noqa: E402

FLOATS, COMPLEX = ["float16", "float32", "float64"], ["complex64", "complex128"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTS, *FLOATS, *COMPLEX]
# What the operands are drawn from, where it is not what DEFAULT says: many functions are not defined everywhere.
DEFAULT = {"b": (0, 1.99), "i": (-100, 100), "u": (1, 100), "f": (-10, 10), "c": (-2, 2)}
UNIT, POSITIVE, SMALL = (-0.999, 0.999), (0.01, 20), (-3, 3)
RANGES = {"asin": [UNIT], "acos": [UNIT], "atanh": [UNIT], "erfinv": [UNIT], "logit": [(0.001, 0.999)],
          "acosh": [(1, 20)], "log1p": [(-0.99, 20)], "pow": [POSITIVE, SMALL], "xlogy": [POSITIVE, POSITIVE],
          "ldexp": [SMALL, (-10, 10)], "left_shift": [None, (0, 7)], "right_shift": [None, (0, 7)], "gamma": [POSITIVE],
          "mod": [None, (1, 9)], "floordiv": [None, (1, 9)], "divmod": [None, (1, 9)], "fmod": [None, (1, 9)],
          **dict.fromkeys(["log", "log2", "log10", "sqrt", "rsqrt", "lgamma", "digamma"], [POSITIVE])}
CODE = """
local held = {}
local function x(path)
  held[path] = held[path] or gpu.load(path):clone()
  return held[path]
end
local function run(line)
  if line == "forget" then held = {} collectgarbage() return "ok" end
  local rounds, times, rest = line:match("(%d+) (%d+) (.*)")
  local f = assert(load(rest))(x)
  local function once(...)
    gpu.evaluate(...)
    for i = 1, select("#", ...) do select(i, ...):free() end
  end
  once(f())
  local least = math.huge
  for i = 1, rounds do
    local t = gpu.time(function() for _ = 1, times do once(f()) end end, "cpu")
    least = math.min(least, t / times)
  end
  return ("%.6f"):format(least)
end
gpu.device "cpu"
for line in io.lines() do
  local ok, what = pcall(run, line)
  print(ok and what or "error " .. tostring(what):gsub("\\n.*", ""))
  io.stdout:flush()
end
"""


def floating(*args):
    """Integers and bools as the floats that functions of them here give, so that both sides make the same."""
    as_float = {t: "float64" if t.endswith("64") else "float32" for t in ["bool", *INTS]}
    return [v.astype(as_float[v.dtype.name]) if v.dtype.name in as_float else v for v in args]


def rivals():
    """{name here: what does the same there}"""
    from scipy import special
    out = {}
    for name, f in UFUNCS.items():
        if name not in PRODUCTS and NAMES.get(name, name) not in out:
            out[NAMES.get(name, name)] = f
    f32 = np.float32
    out.update(
        pow=np.power, mod=np.remainder, abs=np.absolute, round=np.rint, clip=lambda a, b, c: np.clip(a, np.minimum(b, c), c),
        where=lambda a, b, c: np.where(a, b, c), fma=lambda a, b, c: a * b + c,
        lerp=lambda a, b, c: (lambda a, b, c: a + c * (b - a))(*floating(a, b, c)),
        rsqrt=lambda a: 1 / np.sqrt(a), sinc=np.sinc, relu=lambda a: np.maximum(a, 0), sigmoid=special.expit,
        silu=lambda a: a * special.expit(a), gelu=lambda a: a * special.ndtr(a), softplus=lambda a: np.logaddexp(a, 0),
        logit=special.logit, xlogy=special.xlogy, erf=special.erf, erfc=special.erfc, erfinv=special.erfinv,
        lgamma=special.gammaln, digamma=special.digamma, gamma=special.gamma,
        fdim=lambda a, b: (lambda a, b: np.maximum(a - b, 0))(*floating(a, b)),
        isposinf=np.isposinf, isneginf=np.isneginf, logb=lambda a: np.floor(np.log2(np.abs(a))),
        leaky_relu=lambda a, b: np.where(a < 0, a * b, a), elu=lambda a, b: np.where(a < 0, b * np.expm1(a), a),
        angle=np.angle, round_away=lambda a: np.trunc(a + np.copysign(a.dtype.type(0.5), a)),
        isunordered=lambda a, b: np.isnan(a) | np.isnan(b), remainder=None)
    for t in DTYPES:
        out["to " + t] = lambda a, t=t: a.astype(t)
    return {name: f for name, f in out.items() if f}


def rows():
    """{name: number of operands} of ops.def, and of what is composed of its operations."""
    text = open("kernels/ops.def").read()
    found = {n: int(a) for n, a in re.findall(r'^KN_(?:COMPLEX_)?OP\(\w+, "(\w+)", (\d)', text, re.M)}
    for name, f in UFUNCS.items():
        if name not in PRODUCTS:
            found.setdefault(NAMES.get(name, name), f.nin)
    return {**found, "angle": 1, **{"to " + t: 1 for t in DTYPES}}


def operands(name, count, t, n, r):
    out = []
    for i in range(count):
        given = RANGES.get(name, [])[i:i + 1]
        kind = np.dtype(t).kind
        low, high = DEFAULT[kind] if not given or not given[0] or kind in "bc" else given[0]
        if kind in "iu" and (low, high) != DEFAULT[kind]:
            low, high = max(low, 0 if kind == "u" else low), max(high, 2)
        whole = (name == "ldexp" and i == 1)
        v = r.uniform(low, high, n)
        if kind == "c":
            v = v + 1j * r.uniform(low, high, n)
        out.append((np.rint(v) if whole else v).astype("int32" if whole and kind == "f" else t))
    if name == "where":
        out[0] = r.random(n) < 0.5
    return out


class Ours:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "-e", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def expression(name, paths):
    """Code that makes a function of the operands in `paths`."""
    names = [f"a{i}" for i in range(len(paths))]
    call = f'to("{name[3:]}")' if name.startswith("to ") else f"{name}({', '.join(names[1:])})"
    given = ", ".join(f"x'{path}'" for path in paths)
    return f"local x = ... local {', '.join(names)} = {given} return function() return a0:{call} end"


def theirs(f, args, rounds, times=1):
    """Milliseconds of one call, the best of some rounds of several."""
    least = 1e9
    for _ in range(rounds):
        t = time.perf_counter()
        for _ in range(times):
            v = f(*args)
            del v
        least = min(least, (time.perf_counter() - t) * 1e3 / times)
    return least


def measure(name, f, args, paths, sides):
    """Milliseconds of each side and of the rival, or None where one of them refuses."""
    try:
        theirs(f, args, 1)
        once = theirs(f, args, 1)
    except (TypeError, ValueError):
        return None
    text, best = expression(name, paths), [1e9] * (len(sides) + 1)
    rounds, times = 1 if once > 10 else 3, max(1, min(100, int(0.2 / max(once, 1e-3))))  # of short ones several at once
    turns = calm = 0
    while turns < 3 or (calm < 2 and turns < 12):  # what else the machine does falls on some turns alone
        before = list(best)
        for i, side in enumerate(sides):
            answer = side.ask(f"{rounds} {times} {text}")
            if answer.startswith("error"):
                return None
            best[i] = min(best[i], float(answer))
        best[-1] = min(best[-1], theirs(f, args, rounds, times))
        turns, calm = turns + 1, 0 if any(b < 0.95 * was for b, was in zip(best, before)) else calm + 1
    return best


class Operands:
    """The arrays of one dtype and size, in files that both sides read; those drawn from the same range are made once."""

    def __init__(self, folder, t, n):
        self.folder, self.t, self.n, self.made, self.r = folder, t, n, {}, np.random.default_rng(1)

    def of(self, name, count):
        """([array], [path of its file])"""
        given = [str(RANGES.get(name, [])[i:i + 1]) + name * (name in ("where", "ldexp")) for i in range(count)]
        missing = [i for i in range(count) if (given[i], i) not in self.made]
        if missing:
            values = operands(name, count, self.t, self.n, self.r)
            for i in missing:
                path = f"{self.folder}/{self.t}-{self.n}-{len(self.made)}.npy"
                np.save(path, values[i])
                self.made[given[i], i] = values[i], path
        pairs = [self.made[given[i], i] for i in range(count)]
        return [p[0] for p in pairs], [p[1] for p in pairs]


def line(ratio, name, t, n, best):
    return f"{ratio:8.2f}  {name:14} {t:10} {n:9}" + "".join(f" {b:10.4f}" for b in best)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--size", type=int, nargs="*", default=[100000, 1000000])
    ap.add_argument("--only", action="append", metavar="TEXT", help="operations with TEXT in their names; =NAME: that one")
    ap.add_argument("--dtype", nargs="*", default=DTYPES)
    ap.add_argument("--binary", nargs="*", default=["build/lunarray"])
    ap.add_argument("--above", type=float, default=1, help="ratios that the list at the end is of")
    a = ap.parse_args()
    np.seterr(all="ignore")
    warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
    sides, table = [Ours(b) for b in a.binary], []
    there = rivals()
    wanted = lambda name: not a.only or any(o == "=" + name or o[0] != "=" and o in name for o in a.only)  # noqa: E731
    names = {name: count for name, count in rows().items() if name in there and wanted(name)}
    for n in a.size:
        for t in a.dtype:
            with tempfile.TemporaryDirectory() as folder:
                made = Operands(folder, t, n)
                for name, count in names.items():
                    best = measure(name, there[name], *made.of(name, count), sides)
                    if best:
                        table.append((best[0] / best[-1], name, t, n, best))
                        print(line(*table[-1]), flush=True)
                for side in sides:
                    side.ask("forget")
    worst = sorted((row for row in table if row[0] > a.above), reverse=True)
    print(f"{len(table)} cases, {len(worst)} above {a.above:g}:")
    for row in worst:
        print(line(*row))


if __name__ == "__main__":
    main()
