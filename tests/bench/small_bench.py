#!/usr/bin/env python3
"""What operations on 1000 elements cost, row by row of small_bench.lua, beside NumPy, SciPy where NumPy has none.

    build/venv/bin/python tests/bench/small_bench.py [--binary FILE] [--only TEXT] [--rounds N]

The two take turns row by row, so that whatever else the machine does meets both, and again in each round; the best
round counts. Columns: microseconds beyond the language's own call, here for 1000 elements and for one, there for 1000,
here / there. What takes more than a microsecond is marked, and those slower than NumPy come once more at the end.
"""
import argparse
import os
import subprocess
import sys
import time
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
from ops_bench import rivals  # noqa: E402


def reductions(v, table):
    """Those of the loop over dtypes: v is {dtype: array}."""
    out = {}
    for name in ("sum", "mean", "min", "max", "argmin", "any", "all", "prod", "var", "std", "count_nonzero"):
        f = getattr(np, name)
        for dtype, a in v.items():
            out[f"{dtype} {name}"] = (lambda f, a: lambda: f(a))(f, a) if name == "count_nonzero" else getattr(a, name)
        for axis in (0, 1):
            out[f"{name} of 10 x 100 along {axis + 1}"] = lambda f=f, axis=axis: f(table, axis=axis)
    return out


def elementwise(x, y, c, d):
    """Functions of ops.def by name, on both floating dtypes."""
    out, inside = {}, {"asin", "acos", "atanh", "logit", "erfinv"}
    near, wide = {"float32": x, "float64": c}, {"float32": y, "float64": d}
    for name, f in rivals().items():
        for dtype in ("float32", "float64"):
            a, b = near[dtype], wide[dtype]
            if getattr(f, "nin", 1) == 2 or name in ("pow", "mod", "fdim"):
                out[f"{dtype} {name}"] = lambda f=f, a=a, b=b: f(a, b)
            else:
                out[f"{dtype} {name}"] = lambda f=f, a=a if name in inside else b: f(a)
    return out


def arithmetic(values, d):
    operators = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "//": lambda a, b: a // b, "%": lambda a, b: a % b}
    out = {}
    for sign, f in operators.items():
        for v in values:
            by = d if v.dtype == np.float64 else v
            out[f"{v.dtype} {sign} {v.dtype}"] = lambda f=f, v=v, by=by: f(v, by)
            out[f"{v.dtype} {sign} 3"] = lambda f=f, v=v: f(v, 3)
    return out


def conversions(values):
    kinds = ("float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64")
    return {f"{v.dtype} to {to}": lambda v=v, t=np.dtype(to): v.astype(t) for v in values for to in kinds}


def rows():
    """{name in small_bench.lua: what does the same here}"""
    r = np.random.default_rng(1)
    x, y = r.random(1000, np.float32), np.linspace(0.5, 2, 1000, dtype=np.float32)
    d, i = y.astype(np.float64), (y * 1000).astype(np.int32)
    l, h, z, c = i.astype(np.int64), y.astype(np.float16), x + 1j * y, x.astype(np.float64)
    mask, some, out, out2 = y > 1, x > 0.5, np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    table = y.reshape(10, 100).copy()
    row, column, places, whole = table[0].copy(), table[:, :1].copy(), np.arange(999, -1, -1), i + 1
    f32 = np.float32

    def write(key, value):
        out[key] = value

    def softmax(a, axis=None):
        e = np.exp(a - a.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    def logsumexp(a, axis=None):
        m = a.max(axis=axis, keepdims=True)
        return np.log(np.exp(a - m).sum(axis=axis)) + (m[:, 0] if axis == 1 else m[0])

    def norm(a, axis):
        return np.sqrt((a * a).sum(axis=axis))

    def unary(f):
        return lambda: f(out2, out=out2)

    cases = {
        "x + y": lambda: x + y, "x + 1": lambda: x + 1, "2 * x": lambda: 2 * x, "x / y": lambda: x / y,
        "x // y": lambda: x // y, "x % y": lambda: x % y, "x ^ 2": lambda: x ** 2, "-x": lambda: -x,
        "x * y + 1, two operations": lambda: x * y + 1, "sqrt": lambda: np.sqrt(y), "exp": lambda: np.exp(y),
        "sin": lambda: np.sin(y), "abs": lambda: abs(x), "x:gt(y)": lambda: x > y, "x:eq(1)": lambda: x == 1,
        "where": lambda: np.where(mask, x, y), "clip": lambda: x.clip(0.2, 0.8), "to float64": lambda: x.astype(np.float64),
        "to int32": lambda: y.astype(np.int32), "float64 + float64": lambda: d + d, "int32 + int32": lambda: i + i,
        "sum": lambda: y.sum(), "mean": lambda: y.mean(), "max": lambda: y.max(), "argmax": lambda: y.argmax(),
        "norm": lambda: np.linalg.norm(y), "std": lambda: y.std(), "var": lambda: y.var(), "any": lambda: mask.any(),
        "count_nonzero": lambda: np.count_nonzero(mask), "float64 sum": lambda: d.sum(), "float64 mean": lambda: d.mean(),
        "cumsum": lambda: y.cumsum(), "dot": lambda: x.dot(y), "10 x 100 + row": lambda: table + row,
        "take": lambda: y.take(places), "x[mask]": lambda: y[mask], "x[{{1, 500}}]": lambda: y[0:500],
        "x[{{1, 500}}] = 0": lambda: write(slice(0, 500), 0), "reshape": lambda: y.reshape(10, 100),
        "transposed copy": lambda: table.T.copy(), "clone": lambda: y.copy(), "concatenate": lambda: np.concatenate((y, y)),
        "zeros": lambda: np.zeros(1000, f32), "range": lambda: np.arange(1, 1001, 1, f32),
        "linspace": lambda: np.linspace(0, 1, 1000, dtype=f32), "rand": lambda: r.random(1000, f32),
        "add_": lambda: np.add(out2, y, out=out2), "fill": lambda: out.fill(1), "add with out": lambda: np.add(x, y, out=out),
        "mul_": lambda: np.multiply(out2, y, out=out2), "sub_": lambda: np.subtract(out2, y, out=out2),
        "div_": lambda: np.divide(out2, y, out=out2), "maximum_": lambda: np.maximum(out2, y, out=out2),
        "abs_": unary(np.abs), "sqrt_": unary(np.sqrt), "exp_": unary(np.exp), "sin_": unary(np.sin),
        "clip_": lambda: out2.clip(0, 1, out=out2), "clip in place": lambda: out2.clip(0.2, 0.8, out=out2),
        "mask & mask": lambda: mask & some, "~mask": lambda: ~mask, "int32 & 7": lambda: i & 7, "mask * x": lambda: mask * x,
        "float32 + float64": lambda: x + d, "int32 * 1.5": lambda: i * 1.5, "x ^ 3": lambda: x ** 3,
        "where with a number": lambda: np.where(mask, x, f32(0)), "clip of float64": lambda: d.clip(0.6, 1),
        "10 x 100 + column": lambda: table + column, "sum with keepdims": lambda: table.sum(1, keepdims=True),
        "cumprod": lambda: y.cumprod(), "flip": lambda: np.flip(y).copy(), "roll": lambda: np.roll(y, 3),
        "ones": lambda: np.ones(1000, f32), "full": lambda: np.full(1000, 2, f32), "x[mask] = 0": lambda: write(mask, 0),
        "x[7]": lambda: y[0], "row of 10 x 100": lambda: table[0], "logsumexp": lambda: logsumexp(y),
        "median": lambda: np.median(y), "softmax": lambda: softmax(y), "log_softmax": lambda: y - logsumexp(y),
        "nansum": lambda: np.nansum(y), "nanmean": lambda: np.nanmean(y), "nanmax": lambda: np.nanmax(y),
        "nanstd": lambda: np.nanstd(y), "diff": lambda: np.diff(y), "trapezoid": lambda: np.trapezoid(y),
        "sort": lambda: np.sort(y), "argsort": lambda: np.argsort(y, kind="stable"), "unique": lambda: np.unique(y),
        "ptp": lambda: np.ptp(y), "cummax": lambda: np.maximum.accumulate(y), "gradient": lambda: np.gradient(y),
        "quantile": lambda: np.quantile(y, 0.25), "norm, inf": lambda: np.linalg.norm(y, np.inf),
        "softmax of 10 x 100": lambda: softmax(table, 1), "logsumexp of 10 x 100 along 2": lambda: logsumexp(table, 1),
        "norm of 10 x 100 along 2": lambda: norm(table, 1), "interp": lambda: np.interp(x, y, d),
        "bincount": lambda: np.bincount(i), "histogram": lambda: np.histogram(y, 10),
        "searchsorted": lambda: np.searchsorted(y, x), "equal": lambda: np.array_equal(y, y),
        "allclose": lambda: np.allclose(y, y), "nonzero": lambda: some.nonzero(), "topk 10": lambda: np.sort(y)[-10:],
        "stack": lambda: np.stack((x, y)), "split": lambda: np.split(table, 10), "matrix by vector": lambda: table @ row,
        "outer": lambda: np.outer(row, row), "tile": lambda: np.tile(row, 10), "repeat": lambda: np.repeat(row, 2),
        "pad": lambda: np.pad(y, 1), "gather along 1": lambda: np.take_along_axis(y, places, 0),
    }
    return {**elementwise(x, y, c, d), **arithmetic((c, whole, l, h, z), d), **conversions((y, d, i, h, mask)),
            **reductions({"float32": y, "float64": d, "int32": i, "bool": mask}, table), **cases}


def run(f, times):
    start = time.perf_counter()
    for _ in range(times):
        f()
    return time.perf_counter() - start


def best(f):
    """Microseconds, as small_bench.lua takes them."""
    run(f, 20)
    times = max(20, min(5000, int(0.003 * 20 / run(f, 20))))
    return min(run(f, times) for _ in range(7)) / times * 1e6


def measured(binary, only, theirs):
    """One round: (name, [here, here on one element, there or None]) row by row, and what the two calls take."""
    p = subprocess.Popen([binary, "tests/bench/small_bench.lua", "cpu", only, "turns"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, bufsize=1)
    call = best(lambda: None)
    yield "call", [float(p.stdout.readline().split("\t")[1]), call]
    for _ in iter(lambda: p.stdin.write("\n") if p.poll() is None else 0, 0):
        line = p.stdout.readline()
        if not line:
            break
        name, all_, one = line.rstrip("\n").split("\t")
        f = theirs.get(name)
        yield name, [float(all_), float(one), best(f) - call if f else None]
    p.wait()


def line(name, row):
    here, one, there = row
    beside = f"   NumPy {there:8.3f} us   ratio {here / there:6.3f}" if there else ""
    return f"{name:31} {here:7.3f} us beyond the call, on one element {one:7.3f}{beside}{' *' if here > 1 else ''}"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--binary", default="build/lunarray")
    ap.add_argument("--only", default="")
    ap.add_argument("--rounds", type=int, default=3)
    a = ap.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    found, theirs = {}, rows()
    for _ in range(a.rounds):
        for name, values in measured(a.binary, a.only, theirs):
            before = found.get(name, values)
            found[name] = [min(v, b) if v is not None else None for v, b in zip(values, before)]
    ours, call = found.pop("call")
    print(f"1000 elements: {ours:.3f} us the call itself, Python's {call:.3f}")
    for name, row in found.items():
        print(line(name, row))
    slower = sorted((n for n, r in found.items() if r[2] and r[0] > r[2]), key=lambda n: -found[n][0] / found[n][2])
    print(f"{len(slower)} of {sum(r[2] is not None for r in found.values())} slower than NumPy")
    for name in slower:
        print(line(name, found[name]))


if __name__ == "__main__":
    sys.exit(main())
