#!/usr/bin/env python3
"""Every elementwise operation in every dtype beside NumPy, SciPy where NumPy has none, the worst ratio first.

    build/venv/bin/python tests/bench/ops_bench.py [--size N ...] [--only TEXT] [--dtype NAME ...] [--binary FILE ...]

The cases come from the rows of kernels/ops.def and from NumPy's list of ufuncs. Both sides take turns, each result is
made anew, and the best of the rounds counts. Columns: milliseconds here, there, here / there. More binaries: each is
measured, the ratio is that of the first one.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, "tests/numpy")
os.environ.setdefault("LUNARRAY", "build/lunarray")
from test_ufuncs import NAMES, PRODUCTS, UFUNCS  # noqa: E402

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
local x, out
local function run(line)
  local command, rest = line:match("(%S+) (.*)")
  if command == "load" then x, out = gpu.load(rest), nil return "ok" end
  local f = assert(load("local x = ... return function() return " .. rest .. " end"))(x)
  local least = math.huge
  for i = 1, command do
    local results
    local t = gpu.time(function() results = table.pack(f()) gpu.evaluate(table.unpack(results)) end, "cpu")
    for _, r in ipairs(results) do r:free() end
    least = math.min(least, t)
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
        where=lambda a, b, c: np.where(a, b, c), fma=lambda a, b, c: a * b + c, lerp=lambda a, b, c: a + c * (b - a),
        rsqrt=lambda a: 1 / np.sqrt(a), sinc=np.sinc, relu=lambda a: np.maximum(a, 0), sigmoid=special.expit,
        silu=lambda a: a * special.expit(a), gelu=lambda a: a * special.ndtr(a), softplus=lambda a: np.logaddexp(a, 0),
        logit=special.logit, xlogy=special.xlogy, erf=special.erf, erfc=special.erfc, erfinv=special.erfinv,
        lgamma=special.gammaln, digamma=special.digamma, gamma=special.gamma, fdim=lambda a, b: np.maximum(a - b, 0),
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


def expression(name, args):
    args = [f"x.a{i}" for i in range(len(args))]
    if name.startswith("to "):
        return f'{args[0]}:to("{name[3:]}")'
    return f"{args[0]}:{name}({', '.join(args[1:])})"


def theirs(f, args, rounds):
    least = 1e9
    for _ in range(rounds):
        t = time.perf_counter()
        v = f(*args)
        least = min(least, (time.perf_counter() - t) * 1e3)
        del v
    return least


def measure(name, f, args, sides, folder):
    """Milliseconds of each side and of the rival, or None where one of them refuses."""
    np.savez(folder + "/in.npz", **{f"a{i}": a for i, a in enumerate(args)})
    for side in sides:
        side.ask(f"load {folder}/in.npz")
    try:
        once = theirs(f, args, 1)
    except (TypeError, ValueError):
        return None
    text, rounds, best = expression(name, args), 3 if once > 20 else 20 if once < 1 else 6, [1e9] * (len(sides) + 1)
    for _ in range(3):
        for i, side in enumerate(sides):
            answer = side.ask(f"{rounds} {text}")
            if answer.startswith("error"):
                return None
            best[i] = min(best[i], float(answer))
        best[-1] = min(best[-1], theirs(f, args, rounds))
    return best


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--size", type=int, nargs="*", default=[100000, 10000000])
    ap.add_argument("--only", action="append", metavar="TEXT", help="operations with TEXT in their names; =NAME: that one")
    ap.add_argument("--dtype", nargs="*", default=DTYPES)
    ap.add_argument("--binary", nargs="*", default=["build/lunarray"])
    ap.add_argument("--above", type=float, default=0, help="ratios that are worth a line")
    a = ap.parse_args()
    np.seterr(all="ignore")
    sides, table, r = [Ours(b) for b in a.binary], [], np.random.default_rng(1)
    there = rivals()
    wanted = lambda name: not a.only or any(o == "=" + name or o[0] != "=" and o in name for o in a.only)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        for n in a.size:
            for name, count in rows().items():
                for t in a.dtype if name in there and wanted(name) else []:
                    best = measure(name, there[name], operands(name, count, t, n, r), sides, folder)
                    if best:
                        table.append((best[0] / best[-1], name, t, n, best))
    for ratio, name, t, n, best in sorted(table, reverse=True):
        if ratio >= a.above:
            print(f"{ratio:8.2f}  {name:14} {t:10} {n:9}" + "".join(f" {b:10.4f}" for b in best))


if __name__ == "__main__":
    main()
