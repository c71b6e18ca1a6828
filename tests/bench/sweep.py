#!/usr/bin/env python3
"""Times array expressions of lunarray and NumPy beside each other, over dtypes, shapes and layouts, the worst ratio first.

Each case is one expression in both languages over the arrays of its group; the two run in turn, and the best time of
each is taken. Ratios are our time over NumPy's.

    build/venv/bin/python tests/bench/sweep.py [TEXT]... [--subject reduce,scan] [--rounds 3] [--worse 1.0]

`make bench T=sweep` runs all. With TEXT only the cases whose names have one of its words, "a|b", and so on for each
TEXT. Expressions that either side refuses come at the end.
"""
import argparse
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

SERVER = r"""
local gpu = require "lunarray"
local env = setmetatable({gpu = gpu, e = gpu.evaluate}, {__index = _G})
local function release(...)
  for i = 1, select("#", ...) do
    local r = select(i, ...)
    if pcall(gpu.evaluate, r) and type(r) == "userdata" then r:free() end
  end
end
local array = debug.getmetatable(gpu.zeros(1, "cpu"))
local function finish(r)
  if debug.getmetatable(r) == array then gpu.evaluate(r) end
end
function env.keep() end
local codes = {}
for line in io.lines() do
  local kind, count, code = line:match("^(%w+) (%d+) (.*)$")
  count = tonumber(count)
  local f, why = codes[code]
  if not f then
    f, why = load(kind == "time" and "return " .. code or code, "=case", "t", env)
    codes[code] = f
  end
  local ok, result = f ~= nil, why
  if f and kind == "time" then
    result = math.huge
    for _ = 1, 3 do
      local time
      ok, time = pcall(gpu.time, function()
        for _ = 2, count do finish(f()) end
        release(f())
      end, "cpu")
      result = ok and math.min(result, time / count) or time
      if not ok then break end
    end
  elseif f then
    codes = {}
    ok, result = pcall(f)
  end
  print(ok and kind == "time" and result or ok and "done" or "error: " .. tostring(result):gsub("\n", " "))
  io.stdout:flush()
  if kind == "set" then collectgarbage() collectgarbage() end
end
"""

# NumPy's names for dtypes, in both.
ALL = ["bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64"]
REAL, FEW = ALL[:-1], ["int32", "float32", "float64"]


class Ours:
    def __init__(self, binary):
        path = os.path.dirname(os.path.abspath(binary))
        self.process = subprocess.Popen([binary, "-e", f'package.cpath = "{path}/?.so;" .. package.cpath', "-e", SERVER],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, kind, code, count=1):
        self.process.stdin.write(f"{kind} {count} {code}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


class Group:
    """Arrays in both languages, and the cases over them: (name, ours, NumPy's)."""

    def __init__(self, name, lua, python, cases):
        self.name, self.lua, self.python, self.cases = name, lua, python, cases


def made(name, dtype, *shape, most=100):
    """Code that makes an array of random values below `most`, in both languages."""
    sizes = ", ".join(map(str, shape))
    factor = 2 if dtype == "bool" else most
    real = "float32" if dtype != "float64" else "float64"
    lua = f'{name} = e((gpu.rand({sizes}, "{real}", "cpu") * {factor}):to("{"int8" if dtype == "bool" else dtype}"):to("{dtype}"))'
    python = f'{name} = (r.random(({sizes},), np.{real}) * {factor}).astype("{"int8" if dtype == "bool" else dtype}").astype("{dtype}")'
    return lua, python


def both(*pairs):
    return "; ".join(p[0] for p in pairs), "\n".join(p[1] for p in pairs)


# name, our view of the array a, NumPy's, and the axes that are reduced, ours and NumPy's
LAYOUTS = [
    ("flat", (10_000_000,), "a", "a", [("", "None", "all")]),
    ("long rows", (10, 1_000_000), "a", "a", [("2", "1", "rows"), ("1", "0", "columns")]),
    ("square", (3162, 3162), "a", "a", [("2", "1", "rows"), ("1", "0", "columns")]),
    ("short rows", (1_000_000, 10), "a", "a", [("2", "1", "rows"), ("1", "0", "columns")]),
    ("3 columns", (3_333_333, 3), "a", "a", [("2", "1", "rows"), ("1", "0", "columns")]),
    ("100 columns", (100_000, 100), "a", "a", [("2", "1", "rows"), ("1", "0", "columns")]),
    ("transposed", (3162, 3162), "a.T", "a.T", [("2", "1", "rows"), ("", "None", "all")]),
    ("every 2nd", (3162, 3162), 'a[":, ::2"]', "a[:, ::2]", [("2", "1", "rows"), ("1", "0", "columns"), ("", "None", "all")]),
    ("reversed", (3162, 3162), "a:flip()", "a[::-1, ::-1]", [("2", "1", "rows"), ("1", "0", "columns"), ("", "None", "all")]),
    ("cube", (215, 215, 215), "a", "a", [("1", "0", "1"), ("2", "1", "2"), ("3", "2", "3"), ("{1, 2}", "(0, 1)", "12"),
                                         ("{1, 3}", "(0, 2)", "13"), ("{2, 3}", "(1, 2)", "23")]),
]


def reductions():
    for name, shape, lua, python, axes in LAYOUTS:
        for t in ALL:
            if t == "complex64" and name not in ("flat", "square", "cube"):
                continue
            ops = ["sum", "prod", "max", "min", "argmax", "any", "all"]
            if t == "complex64":
                ops = ["sum", "prod"]
            cases = []
            for ours, theirs, label in axes:
                for op in ops:
                    if op == "argmax" and "," in ours:
                        continue
                    v = {"any": "z", "all": "o"}.get(op, "a")
                    cases.append((f"{op} {t} {name} {label}", f"{v}v:{op}({ours})", f"{v}v.{op}({theirs})"))
            first = made("a", t, *shape)
            size = ", ".join(map(str, shape))
            more = (f'z = gpu.zeros({{{size}}}, "{t}", "cpu"); o = gpu.ones({{{size}}}, "{t}", "cpu")',
                    f'z, o = np.full(({size},), 0, "{t}"), np.ones(({size},), "{t}")')
            views = ("; ".join(f"{v}v = {v}{lua[1:]}" for v in "azo"), "\n".join(f"{v}v = {v}{python[1:]}" for v in "azo"))
            yield Group(f"{t} {name}", *both(first, more, views), cases)


def scans():
    for t in ["int8", "int32", "int64", "float32", "float64", "float16", "complex64"]:
        for name, shape, lua, python, axes in LAYOUTS:
            if name in ("cube", "3 columns", "100 columns", "every 2nd"):
                continue
            cases = []
            for ours, theirs, label in axes:
                for op in ("cumsum", "cumprod"):
                    cases.append((f"{op} {t} {name} {label}", f"av:{op}({ours})", f"np.{op}(av, {theirs})"))
                if t != "complex64":
                    cases.append((f"cummax {t} {name} {label}", f"av:cummax({ours or 1})" if ours or name == "flat" else "nil",
                                  f"np.maximum.accumulate(av, {theirs if ours else 0})"))
                if ours or name == "flat":
                    cases.append((f"diff {t} {name} {label}", f"av:diff(1, {ours or 1})", f"np.diff(av, 1, {theirs if ours else 0})"))
            yield Group(f"scan {t} {name}", *both(made("a", t, *shape), (f"av = {lua}", f"av = {python}")), cases)


def orders():
    for t in REAL:
        for name, shape in [("flat", (1_000_000,)), ("long rows", (10, 100_000)), ("square", (1000, 1000)), ("short rows", (100_000, 10))]:
            flat = name == "flat"
            axes = [("1", "0", "")] if flat else [("2", "1", "rows"), ("1", "0", "columns")]
            cases = []
            for ours, theirs, label in axes:
                tail = f"{t} {name} {label}"
                cases += [
                    ("sort " + tail, f"a:sort({ours})", f"np.sort(a, {theirs})"),
                    ("argsort " + tail, f"a:argsort({ours})", f"np.argsort(a, {theirs})"),
                    ("median " + tail, f"a:median({ours})", f"np.median(a, {theirs})"),
                    ("topk " + tail, f"a:topk(5, {ours})", f"topk(a, 5, {theirs})"),
                ]
                if t in FEW:
                    cases.append(("quantile " + tail, f"a:quantile(0.3, {ours})", f"np.quantile(a, 0.3, axis={theirs})"))
                    cases.append(("sort back " + tail, f"a:flip():sort({ours})", f"np.sort(np.flip(a), {theirs})"))
            if flat:
                cases += [
                    (f"unique {t}", "a:unique()", "np.unique(a)"),
                    (f"unique counts {t}", "a:unique{counts = true}", "np.unique(a, return_counts=True)"),
                    (f"unique inverse {t}", "a:unique{inverse = true}", "np.unique(a, return_inverse=True)"),
                    (f"searchsorted random {t}", "s:searchsorted(a)", "np.searchsorted(s, a)"),
                    (f"searchsorted sorted {t}", "s:searchsorted(s)", "np.searchsorted(s, s)"),
                    (f"isin {t}", "a:isin(few)", "np.isin(a, few)"),
                ]
                if t not in ("bool", "float16"):
                    cases.append((f"digitize {t}", "a:digitize(few)", "np.digitize(a, few)"))
                if t not in ("bool", "float16"):
                    cases.append((f"histogram {t}", "(a:histogram(100))", "np.histogram(a, 100)"))
                if t in ("uint8", "int16", "int32", "int64"):
                    cases.append((f"bincount {t}", "a:bincount()", "np.bincount(a)"))
            most = 100 if t in ("bool", "int8", "uint8") else 30000
            yield Group(f"order {t} {name}", *both(made("a", t, *shape, most=most),
                        (f"s = e(a:reshape({np.prod(shape)}):sort()); few = s['::{np.prod(shape) // 100}']:clone()",
                         f"s = np.sort(a.ravel()); few = s[::{np.prod(shape) // 100}].copy()")), cases)
    for t in ("int32", "int64", "float32", "float64"):
        yield Group(f"order sorted {t}", *both(made("a", t, 1_000_000, most=1e9), ("s = e(a:sort()); b = s:flip():clone()", "s = np.sort(a); b = s[::-1].copy()")), [
            (f"sort sorted {t}", "s:sort()", "np.sort(s)"), (f"sort descending {t}", "b:sort()", "np.sort(b)"),
            (f"sort wide {t}", "a:sort()", "np.sort(a)"), (f"argsort wide {t}", "a:argsort()", "np.argsort(a)"),
            (f"unique wide {t}", "a:unique()", "np.unique(a)"), (f"searchsorted wide {t}", "s:searchsorted(a)", "np.searchsorted(s, a)"),
            (f"argsort sorted {t}", "s:argsort()", "np.argsort(s)")])


def indices():
    for t in ALL:
        for n, label in [(10_000_000, ""), (100_000, " 100k")]:
            k = n // 4
            cases = [
                (f"take {t}{label}", "a:take(i)", "a[j]"),
                (f"take int32 places {t}{label}", "a[i32]", "a[j32]"),
                (f"put {t}{label}", "write(b, i, v)", "b.__setitem__(j, v)"),
                (f"put number {t}{label}", "write(b, i, 1)", "b.__setitem__(j, 1)"),
                (f"mask select {t}{label}", "a[m]", "a[m]"),
                (f"mask write number {t}{label}", "write(b, m, 1)", "b.__setitem__(m, 1)"),
                (f"mask write few {t}{label}", "write(b, rare, 1)", "b.__setitem__(rare, 1)"),
                (f"mask select few {t}{label}", "a[rare]", "a[rare]"),
                (f"mask write values {t}{label}", "write(b, m, vm)", "b.__setitem__(m, vm)"),
                (f"nonzero {t}{label}", "a:nonzero()", "a.nonzero()"),
                (f"count_nonzero {t}{label}", "a:count_nonzero()", "np.count_nonzero(a)"),
                (f"flatnonzero rare {t}{label}", "q:flatnonzero()", "np.flatnonzero(q)"),
                (f"where number {t}{label}", "gpu.where(m, a, 1)", f"np.where(m, a, np.{t}(1))" if t != "bool" else "np.where(m, a, True)"),
                (f"where arrays {t}{label}", "gpu.where(m, a, b)", "np.where(m, a, b)"),
                (f"where other {t}{label}", "gpu.where(a, a, b)", "np.where(a, a, b)"),
            ]
            more = (f'i = e(gpu.random.integers(1, {n}, {k}, "cpu"):to("int64")); i32 = e(i:to("int32")); m = e(gpu.rand({n}, "float32", "cpu"):gt(0.5)); '
                    f'rare = e(gpu.rand({n}, "float32", "cpu"):gt(0.99)); b = a:clone(); v = e(a[{{{{1, {k}}}}}]:clone()); vm = a[m]; q = e(gpu.where(rare, 1, 0):to("{t}")); '
                    'write = function(t, k, v) t[k] = v end',
                    f'j = r.integers(0, {n}, {k}); j32 = j.astype(np.int32); m = r.random({n}, np.float32) > 0.5; rare = r.random({n}, np.float32) > 0.99; b = a.copy(); v = a[:{k}].copy(); vm = a[m]; q = rare.astype("{t}")')
            yield Group(f"index {t}{label}", *both(made("a", t, n), more), cases)
    for t in ("uint8", "float32", "float64"):
        yield Group(f"index rows {t}", *both(made("a", t, 3000, 3000), made("c", t, 1_000_000, 8), (
            'i = gpu.random.integers(1, 3000, 3000, "cpu"):to("int64"); w = e(a:argsort(2)); u = e(a:argsort(1)); l = gpu.random.integers(1, 1000000, 500000, "cpu"):to("int64"); e(i, l); h = e(a[1]:gt(50)); hr = e(a[{{}, 1}]:gt(50)); big = e(a:gt(50)); row = a[1]:clone(); col = a[{{}, {1}}]:clone()',
            'i = r.integers(0, 3000, 3000); w = np.argsort(a, 1); u = np.argsort(a, 0); l = r.integers(0, 1000000, 500000); h = a[0] > 50; hr = a[:, 0] > 50; big = a > 50; row = a[0].copy(); col = a[:, :1].copy()')), [
            (f"take rows {t}", "a[i]", "a[i]"), (f"take columns {t}", "a[{{}, i}]", "a[:, i]"),
            (f"take short rows {t}", "c[l]", "c[l]"),
            (f"gather rows {t}", "a:gather(2, w)", "np.take_along_axis(a, w, 1)"), (f"gather columns {t}", "a:gather(1, u)", "np.take_along_axis(a, u, 0)"),
            (f"mask columns {t}", "a[{{}, h}]", "a[:, h]"), (f"mask rows {t}", "a[{hr}]", "a[hr]"),
            (f"where row broadcast {t}", "gpu.where(big, a, row)", "np.where(big, a, row)"),
            (f"where column broadcast {t}", "gpu.where(big, a, col)", "np.where(big, a, col)"),
            (f"where mask row {t}", "gpu.where(h, a, row)", "np.where(h, a, row)"),
            (f"where mask transposed {t}", "gpu.where(big.T, a, a)", "np.where(big.T, a, a)"),
            (f"nonzero 2-D {t}", "big:nonzero()", "big.nonzero()"),
            (f"argwhere {t}", "big:argwhere()", "np.argwhere(big)"),
        ])


def shapes():
    for t in ["uint8", "int16", "float32", "float64", "complex128"]:
        cases = [
            ("roll", "x:roll(1000)", "np.roll(x, 1000)"), ("roll axis 2", "a:roll(7, 2)", "np.roll(a, 7, 1)"), ("roll axis 1", "a:roll(7, 1)", "np.roll(a, 7, 0)"),
            ("flip copy", "x:flip():clone()", "x[::-1].copy()"), ("flip rows copy", "a:flip(1):clone()", "a[::-1].copy()"),
            ("flip columns copy", "a:flip(2):clone()", "a[:, ::-1].copy()"),
            ("every 2nd copy", 'x["::2"]:clone()', "x[::2].copy()"), ("every 2nd column copy", 'a[":, ::2"]:clone()', "a[:, ::2].copy()"),
            ("every 3rd copy", 'x["::3"]:clone()', "x[::3].copy()"), ("every 2nd back copy", 'x["::-2"]:clone()', "x[::-2].copy()"),
            ("part copy", 'a["2:2999, 2:2999"]:clone()', "a[1:2999, 1:2999].copy()"),
            ("transpose copy", "a.T:clone()", "np.ascontiguousarray(a.T)"), ("cube transpose copy", "k:permute(3, 2, 1):clone()", "np.ascontiguousarray(k.transpose(2, 1, 0))"),
            ("cube 213 copy", "k:permute(2, 1, 3):clone()", "np.ascontiguousarray(k.transpose(1, 0, 2))"), ("cube 132 copy", "k:permute(1, 3, 2):clone()", "np.ascontiguousarray(k.transpose(0, 2, 1))"),
            ("cube 231 copy", "k:permute(2, 3, 1):clone()", "np.ascontiguousarray(k.transpose(1, 2, 0))"),
            ("thin transpose copy", "s.T:clone()", "np.ascontiguousarray(s.T)"), ("thin transpose copy back", "st.T:clone()", "np.ascontiguousarray(st.T)"),
            ("repeat 2", "x:repeat_interleave(2)", "np.repeat(x, 2)"), ("repeat 2 rows", "a:repeat_interleave(2, 1)", "np.repeat(a, 2, 0)"),
            ("repeat 3 columns", "a:repeat_interleave(3, 2)", "np.repeat(a, 3, 1)"), ("repeat counts", "x:repeat_interleave(n)", "np.repeat(x, n)"),
            ("repeat 100", "p:repeat_interleave(100)", "np.repeat(p, 100)"),
            ("tile 2 2", "a:tile(2, 2)", "np.tile(a, (2, 2))"), ("tile 3", "x:tile(3)", "np.tile(x, 3)"), ("tile small", "q:tile(1000000)", "np.tile(q, 1000000)"),
            ("tile columns", "a:tile(1, 3)", "np.tile(a, (1, 3))"),
            ("pad constant", "a:pad(3)", "np.pad(a, 3)"), ("pad edge", 'a:pad(3, "edge")', 'np.pad(a, 3, "edge")'), ("pad reflect", 'a:pad(3, "reflect")', 'np.pad(a, 3, "reflect")'),
            ("pad wrap 1-D", 'x:pad(100, "wrap")', 'np.pad(x, 100, "wrap")'), ("pad short rows", "s:pad(1)", "np.pad(s, 1)"),
            ("concatenate", "gpu.concatenate({x, x})", "np.concatenate([x, x])"), ("concatenate rows", "gpu.concatenate({a, a}, 1)", "np.concatenate([a, a], 0)"),
            ("concatenate columns", "gpu.concatenate({a, a}, 2)", "np.concatenate([a, a], 1)"), ("concatenate short rows", "gpu.concatenate({s, s}, 2)", "np.concatenate([s, s], 1)"),
            ("stack", "gpu.stack({x, x})", "np.stack([x, x])"), ("stack last", "gpu.stack({x, x}, -1)", "np.stack([x, x], -1)"), ("stack last 3", "gpu.stack({x, x, x}, -1)", "np.stack([x, x, x], -1)"),
            ("stack middle", "gpu.stack({a, a}, 2)", "np.stack([a, a], 1)"),
            ("concatenate transposed", "gpu.concatenate({a.T, a.T}, 1)", "np.concatenate([a.T, a.T], 0)"),
            ("kron 100x100", "g:kron(h)", "np.kron(g, h)"), ("kron 1000x3", "big:kron(w)", "np.kron(big, w)"), ("kron 3x1000", "w:kron(big)", "np.kron(w, big)"), ("kron vectors", "l:kron(l)", "np.kron(l, l)"),
            ("windows copy", "p:unfold(1, 16):clone()", "np.lib.stride_tricks.sliding_window_view(p, 16).copy()"), ("windows sum", "p:unfold(1, 16):sum(2)", "np.lib.stride_tricks.sliding_window_view(p, 16).sum(1)"),
            ("windows max", "p:unfold(1, 16):max(2)", "np.lib.stride_tricks.sliding_window_view(p, 16).max(1)") if t != "complex128" else None,
            ("tril", "a:tril()", "np.tril(a)"), ("triu", "a:triu()", "np.triu(a)"), ("full", f'gpu.full({{3000, 3000}}, 1, "{t}", "cpu")', f'np.full((3000, 3000), 1, "{t}")'),
            ("rot90", "gpu.rot90(a):clone()", "np.rot90(a).copy()"), ("broadcast copy row", "gpu.expand(a[1], 3000, 3000):clone()", "np.broadcast_to(a[0], (3000, 3000)).copy()"),
            ("broadcast copy column", "gpu.expand(a[{{}, {1}}], 3000, 3000):clone()", "np.broadcast_to(a[:, :1], (3000, 3000)).copy()"),
            ("meshgrid", "gpu.meshgrid(l, l)", "np.meshgrid(l, l)"), ("eye", f'gpu.eye(3000, "{t}", "cpu")', f'np.eye(3000, dtype="{t}")'),
            ("diag", "gpu.diag(l)", "np.diag(l)"), ("outer", "l:outer(l)", "np.outer(l, l)"), ("split sum", "a[{{}, {1, 1500}}] + a[{{}, {1501, 3000}}]", "a[:, :1500] + a[:, 1500:]"),
            ("add transposed", "a + a.T", "a + a.T"), ("add row", "a + a[1]", "a + a[0]"), ("add column", "a + a[{{}, {1}}]", "a + a[:, :1]"), ("add reversed", "a + a:flip()", "a + a[::-1, ::-1]"),
            ("add every 2nd", 'x["::2"] + x["2::2"]', "x[::2] + x[1::2]"), ("write every 2nd", "write(x, \"::2\", 1)", "x.__setitem__(slice(None, None, 2), 1)"), ("write columns", "write(a, {{}, {1, 1500}}, 1)", "a.__setitem__((slice(None), slice(0, 1500)), 1)"),
            ("write transposed", "write(a.T, {}, b)", "a.T.__setitem__(slice(None), b)"), ("add in place every 2nd", 'keep(e(x["::2"]:add_(1)))', "x.__setitem__(slice(None, None, 2), x[::2] + 1)"),
        ]
        yield Group(f"shape {t}", *both(made("x", t, 9_000_000), made("a", t, 3000, 3000), made("b", t, 3000, 3000), made("k", t, 208, 208, 208), made("s", t, 3_000_000, 3), made("st", t, 3, 3_000_000),
                    made("p", t, 1_000_000), made("q", t, 9), made("g", t, 50, 50), made("h", t, 60, 60), made("big", t, 1000, 1000), made("w", t, 3, 3), made("l", t, 3000),
                    ('n = gpu.random.integers(0, 3, 9000000, "cpu"):to("int64"); e(n); write = function(t, k, v) t[k] = v end', "n = r.integers(0, 4, 9000000)")),
                    [(f"{c[0]} {t}", c[1], c[2]) for c in cases if c])


def views():
    """Views of arrays that the cache keeps: every k-th element, transposed matrices, parts of them, channels of images."""
    for t in ("uint8", "int32", "float32", "float64"):
        cases = []
        for step in (-1, 2, -2, 3, 4, 5):
            v, w = f'x["::{step}"]', f"x[::{step}]"
            cases += [(f"add to every {step}th", f"{v} + 1", f"{w} + 1"), (f"square every {step}th", f"{v} * {v}", f"{w} * {w}"), (f"copy every {step}th", f"{v}:clone()", f"{w}.copy()"),
                      (f"sum every {step}th", f"{v}:sum()", f"{w}.sum()"), (f"max every {step}th", f"{v}:max()", f"{w}.max()"), (f"convert every {step}th", f'{v}:to("float16")', f'{w}.astype("float16")'),
                      (f"write to every {step}th", f'write(x, "::{step}", 1)', f"x.__setitem__(slice(None, None, {step}), 1)"), (f"write every {step}th", f'write(x, "::{step}", y["::{step}"])', f"x.__setitem__(slice(None, None, {step}), y[::{step}])")]
        for m, size in (("a", 32), ("b", 128), ("c", 512)):
            cases += [(f"add to transposed {size}", f"{m}.T + 1", f"np.add({m}.T, 1, order='C')"), (f"add to transposed {size}, any order", f"{m}.T + 1", f"{m}.T + 1"), (f"add transposed {size}", f"{m}.T + {m}", f"{m}.T + {m}"), (f"copy transposed {size}", f"{m}.T:clone()", f"{m}.T.copy()"),
                      (f"sum rows of every 2nd column {size}", f'{m}[":, ::2"]:sum(2)', f"{m}[:, ::2].sum(1)"), (f"max rows of every 2nd column {size}", f'{m}[":, ::2"]:max(2)', f"{m}[:, ::2].max(1)"), (f"one column {size}", f"{m}[{{{{}}, 2}}] + 1", f"{m}[:, 1] + 1"),
                      (f"inner part {size}", f'{m}["2:-2, 2:-2"]:clone()', f"{m}[1:-1, 1:-1].copy()"), (f"write half the columns {size}", f"write({m}, {{{{}}, {{1, {size // 2}}}}}, {m}[{{{{}}, {{{size // 2 + 1}, {size}}}}}])", f"{m}.__setitem__((slice(None), slice(0, {size // 2})), {m}[:, {size // 2}:])"),
                      (f"stack transposed {size}", f"gpu.stack({{{m}.T, {m}.T}})", f"np.stack([{m}.T, {m}.T], out=np.empty((2, {size}, {size}), {m}.dtype))"), (f"neighbours {size}", f'{m}["2:-2, 1:-3"] + {m}["2:-2, 3:"]', f"{m}[1:-1, :-2] + {m}[1:-1, 2:]")]
        for m, size in (("i", 100), ("j", 500)):
            v, w = f"{m}[{{{{}}, {{}}, 2}}]", f"{m}[:, :, 1]"
            cases += [(f"channel add {size}", f"{v} + 1", f"{w} + 1"), (f"channel copy {size}", f"{v}:clone()", f"{w}.copy()"), (f"channel sum {size}", f"{v}:sum()", f"{w}.sum()"), (f"channel max {size}", f"{v}:max()", f"{w}.max()"), (f"channel write {size}", f"write({m}, {{{{}}, {{}}, 2}}, 0)", f"{m}.__setitem__((slice(None), slice(None), 1), 0)"),
                      (f"channels to planes {size}", f"{m}:permute(3, 1, 2):clone()", f"{m}.transpose(2, 0, 1).copy()"), (f"channels reversed {size}", f"{m}:flip(3):clone()", f"{m}[:, :, ::-1].copy()"), (f"channels reversed add {size}", f"{m}:flip(3) + 1", f"{m}[:, :, ::-1] + 1")]
        yield Group(f"view {t}", *both(made("x", t, 100_000), made("y", t, 100_000), made("a", t, 32, 32), made("b", t, 128, 128), made("c", t, 512, 512), made("i", t, 100, 100, 3), made("j", t, 500, 500, 3),
                    ("write = function(t, k, v) t[k] = v end", "")), [(f"{c[0]} {t}", c[1], c[2]) for c in cases])


def converts():
    types = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
    for f in types:
        yield Group(f"convert {f}", *both(made("a", f, 4_000_000), ("b = a:reshape(2000, 2000); c = a['::2']", "b = a.reshape(2000, 2000); c = a[::2]")),
                    [(f"astype {f} to {t}", f'a:to("{t}")', f'a.astype("{t}")') for t in types if t != f and not (f.startswith("complex") and not t.startswith("complex"))] +
                    [(f"astype {f} to {t} transposed", f'b.T:to("{t}")', f'b.T.astype("{t}", order="C")') for t in ("float32", "uint8") if t != f and not f.startswith("complex")] +
                    [(f"astype {f} to {t} every 2nd", f'c:to("{t}")', f'c.astype("{t}")') for t in ("float64", "int32", "uint8") if t != f and not f.startswith("complex")])


def products():
    for t in ["int8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]:
        m = f"{t}"
        cases = []
        slow = t[:3] == "int" or t == "float16"
        for s in ["2", "3", "4", "7", "16", "33", "64", "100", "200"] + ([] if slow else ["500", "1000"]):
            cases.append((f"matmul {s} {m}", f"g{s}:matmul(g{s})", f"g{s} @ g{s}"))
        arrays = [made(f"g{s}", t, int(s), int(s), most=10) for s in ("2", "3", "4", "7", "16", "33", "64", "100", "200", "500", "1000")]
        arrays += [made("v", t, 1000, most=10), made("thin", t, 100_000, 8, most=10), made("b3", t, 30_000, 3, 3, most=10), made("b8", t, 10_000, 8, 8, most=10), made("b32", t, 500, 32, 32, most=10),
                   made("b3v", t, 30_000, 3, 1, most=10), made("c", t, 20, 30, 40, most=10), made("d", t, 40, 30, 25, most=10), made("x", t, 1_000_000, most=10), made("bl", t, 10_000, 3, most=10)]
        cases += [
            (f"matvec 1000 {m}", "g1000:matmul(v)", "g1000 @ v"), (f"vecmat 1000 {m}", "v:matmul(g1000)", "v @ g1000"), (f"matvec transposed 1000 {m}", "g1000.T:matmul(v)", "g1000.T @ v"),
            (f"thin matvec {m}", "thin:matmul(thin[1])", "thin @ thin[0]"), (f"thin gram {m}", "thin.T:matmul(thin)", "thin.T @ thin"), (f"thin times small {m}", "thin:matmul(b8[1])", "thin @ b8[0]"),
            (f"batch 3x3 {m}", "b3:matmul(b3)", "b3 @ b3"), (f"batch 8x8 {m}", "b8:matmul(b8)", "b8 @ b8"), (f"batch 32x32 {m}", "b32:matmul(b32)", "b32 @ b32"), (f"batch 3x3 vectors {m}", "b3:matmul(b3v)", "b3 @ b3v"),
            (f"batch broadcast {m}", "b8:matmul(g4:new and g64[{{1, 8}, {1, 8}}] or g64[{{1, 8}, {1, 8}}])" if False else "b8:matmul(g64[{{1, 8}, {1, 8}}])", "b8 @ g64[:8, :8]"),
            (f"batch transposed {m}", "b32:transpose(2, 3):matmul(b32)", "b32.transpose(0, 2, 1) @ b32"),
            (f"strided matmul {m}", 'g200["::2, ::2"]:matmul(g200["::2, ::2"])', "g200[::2, ::2] @ g200[::2, ::2]"), (f"transposed matmul {m}", "g200.T:matmul(g200)", "g200.T @ g200"),
            (f"dot 1M {m}", "x:dot(x)", "x @ x"), (f"inner {m}", "g100:inner(g100)", "np.inner(g100, g100)"), (f"outer {m}", "v:outer(v)", "np.outer(v, v)"),
            (f"tensordot {m}", "c:tensordot(d, {{2, 3}, {2, 1}})", "np.tensordot(c, d, ((1, 2), (1, 0)))"), (f"tensordot 1 {m}", "c:tensordot(d, 1)", "np.tensordot(c, d, 1)"),
            (f"einsum ij,ij-> {m}", 'gpu.einsum("ij,ij->", g1000, g1000)', 'np.einsum("ij,ij->", g1000, g1000)'), (f"einsum ij->i {m}", 'gpu.einsum("ij->i", g1000)', 'np.einsum("ij->i", g1000)'),
            (f"einsum ij->j {m}", 'gpu.einsum("ij->j", g1000)', 'np.einsum("ij->j", g1000)'), (f"einsum ii-> {m}", 'gpu.einsum("ii->", g1000)', 'np.einsum("ii->", g1000)'), (f"einsum ij,ij->i {m}", 'gpu.einsum("ij,ij->i", g1000, g1000)', 'np.einsum("ij,ij->i", g1000, g1000)'),
            (f"einsum ij,j->i {m}", 'gpu.einsum("ij,j->i", g1000, v)', 'np.einsum("ij,j->i", g1000, v)'), (f"einsum i,j->ij {m}", 'gpu.einsum("i,j->ij", v, v)', 'np.einsum("i,j->ij", v, v)'), (f"einsum ij->ji {m}", 'gpu.einsum("ij->ji", g1000):clone()', 'np.einsum("ij->ji", g1000).copy()'),
            (f"einsum bij,bj->bi {m}", 'gpu.einsum("bij,bj->bi", b8, b8[{{}, 1}])', 'np.einsum("bij,bj->bi", b8, b8[:, 0])'), (f"einsum bi,bi->b {m}", 'gpu.einsum("bi,bi->b", thin, thin)', 'np.einsum("bi,bi->b", thin, thin)'), (f"einsum ijk,jk->i {m}", 'gpu.einsum("ijk,kjl->il", c, d)', 'np.einsum("ijk,kjl->il", c, d)'),
            (f"vdot rows {m}", "gpu.vecdot(thin, thin)", "np.vecdot(thin, thin)"), (f"trace {m}", "gpu.linalg.trace(g1000)", "np.trace(g1000)"),
        ]
        if not slow and t[:3] != "com":
            cases += [(f"convolve 1M 31 {m}", "x:convolve(w)", "np.convolve(x, w)"), (f"convolve 10k 10k {m}", "y:convolve(y)", "np.convolve(y, y)"), (f"convolve 1000 1000 {m}", "v:convolve(v)", "np.convolve(v, v)"), (f"correlate valid {m}", 'x:correlate(w, "valid")', 'np.correlate(x, w, "valid")'), (f"cross {m}", "bl:cross(bl)", "np.cross(bl, bl)"), (f"cov {m}", "thin:cov({rowvar = false})", "np.cov(thin, rowvar=False)"), (f"corrcoef {m}", "g200:corrcoef()", "np.corrcoef(g200)")]
        if t in ("int32", "int64"):
            cases += [(f"convolve 1M 31 {m}", "x:convolve(w)", "np.convolve(x, w)")]
        arrays += [("w = x[{{1, 31}}]:clone(); y = x[{{1, 10000}}]:clone()", "w, y = x[:31].copy(), x[:10000].copy()")]
        yield Group(f"product {m}", *both(*arrays), cases)


def statistics():
    for t in ["uint8", "int32", "float16", "float32", "float64"]:
        cases = [
            ("std", "a:std()", "a.std()"), ("var rows", "a:var(2)", "a.var(1)"), ("var columns", "a:var(1)", "a.var(0)"), ("norm", "gpu.norm(a)", "np.linalg.norm(a)"), ("norm rows", "gpu.norm(a, 2, 2)", "np.linalg.norm(a, 2, 1)"),
            ("ptp", "a:ptp()", "np.ptp(a)"), ("ptp rows", "a:ptp(2)", "np.ptp(a, 1)"), ("average", "gpu.average(a, 2, a[1])" if False else "gpu.average(a)", "np.average(a)"),
            ("count_nonzero rows", "a:count_nonzero(2)", "np.count_nonzero(a, 1)"), ("count_nonzero columns", "a:count_nonzero(1)", "np.count_nonzero(a, 0)"),
            ("any of comparison", "a:gt(1000):any()", "(a > 1000).any()"), ("sum of comparison", "a:gt(50):sum()", "(a > 50).sum()"), ("sum of comparison rows", "a:gt(50):sum(2)", "(a > 50).sum(1)"), ("sum of comparison columns", "a:gt(50):sum(1)", "(a > 50).sum(0)"),
            ("sum of products", "(a * a):sum()", "(a * a).sum()"), ("max of abs", "a:abs():max()", "np.abs(a).max()"), ("max of difference columns", "(a - b):max(1)", "(a - b).max(0)"),
            ("allclose", "gpu.allclose(a, a)", "np.allclose(a, a)"), ("equal", "gpu.equal(a, a)", "np.array_equal(a, a)"),
            ("gradient", "gpu.gradient(x)", "np.gradient(x)"), ("trapezoid", "gpu.trapezoid(x)", "np.trapezoid(x)"), ("interp", "x:interp(xp, fp)", "np.interp(x, xp, fp)"),
            ("histogram2d", "gpu.histogram2d(x, y, 50)", "np.histogram2d(x, y, 50)"), ("bincount weights", "i:bincount(x)", "np.bincount(i, x)"), ("scatter add", "keep(e(sums:scatter_add_(1, i1, x)))", "np.add.at(sums, i, x)"),
            ("nansum", "gpu.nansum(a)", "np.nansum(a)"), ("nanmax", "gpu.nanmax(a)", "np.nanmax(a)"), ("nanmean columns", "gpu.nanmean(a, 1)", "np.nanmean(a, 0)"), ("clip", "a:clip(20, 80)", "np.clip(a, 20, 80)"), ("round", "a:round()", "np.round(a)"),
            ("minimum", "gpu.minimum(a, b)", "np.minimum(a, b)"), ("divmod", "gpu.divmod(a, 7)", "np.divmod(a, 7)"), ("sum", "a:sum()", "a.sum()"), ("max 100 arrays", "gpu.maximum(a, 50)", "np.maximum(a, 50)"),
            ("lexsort", "gpu.lexsort({y, x})", "np.lexsort((y, x))"), ("intersect1d", "gpu.intersect1d(x, y)", "np.intersect1d(x, y)"), ("union1d", "gpu.union1d(x, y)", "np.union1d(x, y)"), ("unique", "x:unique()", "np.unique(x)"), ("vander", "gpu.vander(xp, 8)", "np.vander(xp, 8)"),
            ("polyval", "gpu.polyval({1, 2, 3, 4}, x)", "np.polyval([1, 2, 3, 4], x)"), ("select", "gpu.select({a:gt(70), a:gt(30)}, {a, b}, 0)", "np.select([a > 70, a > 30], [a, b], 0)"), ("nan_to_num", "gpu.nan_to_num(a)", "np.nan_to_num(a)"),
            ("percentile list", "x:percentile({10, 50, 90})", "np.percentile(x, [10, 50, 90])"), ("median columns", "a:median(1)", "np.median(a, 0)"), ("equal elements", "a:eq(b)", "a == b"), ("astype bool", 'a:to("bool")', "a.astype(bool)"),
        ]
        yield Group(f"stat {t}", *both(made("a", t, 2000, 2000), made("b", t, 2000, 2000), made("x", t, 1_000_000), made("y", t, 1_000_000), ('xp = gpu.linspace(0, 100, 1000, "float64", "cpu"); fp = e(xp * 2); i = e(gpu.random.integers(0, 999, 1000000, "cpu"):to("int64")); i1 = e(i + 1); sums = gpu.zeros(1000, x.dtype, "cpu")',
                    f"xp = np.linspace(0, 100, 1000); fp = xp * 2; i = r.integers(0, 1000, 1000000); sums = np.zeros(1000, '{t}')")), [(f"{n} {t}", a, b) for n, a, b in cases])


def transforms():
    for t in ("float32", "float64"):
        c = "complex64" if t == "float32" else "complex128"
        cases = []
        for n in (8, 60, 128, 1000, 1009, 1024, 4099, 10_000, 65536, 100_000, 131071, 1_000_000, 1 << 20):
            cases += [(f"fft {n} {c}", f'gpu.fft.fft(z["1:{n}"])', f"np.fft.fft(z[:{n}])"), (f"ifft {n} {c}", f'gpu.fft.ifft(z["1:{n}"])', f"np.fft.ifft(z[:{n}])"),
                      (f"rfft {n} {t}", f'gpu.fft.rfft(x["1:{n}"])', f"np.fft.rfft(x[:{n}])"), (f"irfft {n} {t}", f'gpu.fft.irfft(z["1:{n // 2 + 1}"], {n})', f"np.fft.irfft(z[:{n // 2 + 1}], {n})")]
        for rows, n in ((100_000, 8), (10_000, 100), (1000, 1000), (1000, 1009), (4, 250_000)):
            cases += [(f"fft {rows}x{n} {c}", f'gpu.fft.fft(z["1:{rows * n}"]:reshape({rows}, {n}))', f"np.fft.fft(z[:{rows * n}].reshape({rows}, {n}))"),
                      (f"fft {rows}x{n} down {c}", f'gpu.fft.fft(z["1:{rows * n}"]:reshape({n}, {rows}), nil, 1)', f"np.fft.fft(z[:{rows * n}].reshape({n}, {rows}), axis=0)"),
                      (f"rfft {rows}x{n} {t}", f'gpu.fft.rfft(x["1:{rows * n}"]:reshape({rows}, {n}))', f"np.fft.rfft(x[:{rows * n}].reshape({rows}, {n}))"),
                      (f"irfft {rows}x{n} {t}", f'gpu.fft.irfft(z["1:{rows * n}"]:reshape({rows}, {n}))', f"np.fft.irfft(z[:{rows * n}].reshape({rows}, {n}))")]
        cases += [(f"fft2 1000 {c}", 'gpu.fft.fft2(z["1:1000000"]:reshape(1000, 1000))', "np.fft.fft2(z[:1000000].reshape(1000, 1000))"), (f"rfft2 1000 {t}", 'gpu.fft.rfft2(x["1:1000000"]:reshape(1000, 1000))', "np.fft.rfft2(x[:1000000].reshape(1000, 1000))"),
                  (f"fftn 100 {c}", 'gpu.fft.fftn(z["1:1000000"]:reshape(100, 100, 100))', "np.fft.fftn(z[:1000000].reshape(100, 100, 100))"), (f"fftshift {c}", "gpu.fft.fftshift(z)", "np.fft.fftshift(z)"),
                  (f"fft strided {c}", 'gpu.fft.fft(z["::2"])', "np.fft.fft(z[::2])"), (f"fft of real {t}", "gpu.fft.fft(x)", "np.fft.fft(x)"), (f"ifft2 1000 {c}", 'gpu.fft.ifft2(z["1:1000000"]:reshape(1000, 1000))', "np.fft.ifft2(z[:1000000].reshape(1000, 1000))")]
        yield Group(f"fft {t}", f'x = gpu.rand(1 << 20, "{t}", "cpu"); z = e(gpu.complex(x, x:flip()))', f'x = r.random(1 << 20, np.{t}); z = x + 1j * x[::-1]', cases)


def linear():
    for t in ("float32", "float64", "complex128"):
        cases = []
        for n in (3, 10, 50, 200, 500):
            cases += [(f"solve {n} {t}", f"L.solve(s{n}, v{n})", f"L.solve(s{n}, v{n})"), (f"inv {n} {t}", f"L.inv(s{n})", f"L.inv(s{n})"), (f"det {n} {t}", f"L.det(s{n})", f"L.det(s{n})"), (f"cholesky {n} {t}", f"L.cholesky(p{n})", f"L.cholesky(p{n})"),
                      (f"qr {n} {t}", f"L.qr(s{n})", f"L.qr(s{n})"), (f"eigh {n} {t}", f"L.eigh(p{n})", f"L.eigh(p{n})"), (f"eigvalsh {n} {t}", f"L.eigvalsh(p{n})", f"L.eigvalsh(p{n})"), (f"svd {n} {t}", f"L.svd(s{n})", f"L.svd(s{n}, full_matrices=False)"),
                      (f"svdvals {n} {t}", f"L.svdvals(s{n})", f"L.svdvals(s{n})"), (f"lstsq {n} {t}", f"L.lstsq(t{n}, w{n})", f"L.lstsq(t{n}, w{n})"), (f"matrix_power {n} {t}", f"L.matrix_power(s{n}, 5)", f"L.matrix_power(s{n}, 5)"), (f"pinv {n} {t}", f"L.pinv(s{n})", f"L.pinv(s{n})"),
                      (f"slogdet {n} {t}", f"L.slogdet(s{n})", f"L.slogdet(s{n})"), (f"cond {n} {t}", f"L.cond(s{n})", f"L.cond(s{n})"), (f"matrix_rank {n} {t}", f"L.matrix_rank(s{n})", f"L.matrix_rank(s{n})")]
            if n <= 200:
                cases += [(f"eig {n} {t}", f"L.eig(s{n})", f"L.eig(s{n})"), (f"eigvals {n} {t}", f"L.eigvals(s{n})", f"L.eigvals(s{n})")]
        for n in (2, 3, 4, 8):
            cases += [(f"{f} 10000x{n}x{n} {t}", f"L.{f}({a}{n})", f"L.{f}({a}{n})") for f, a in (("inv", "b"), ("det", "b"), ("cholesky", "q"), ("eigh", "q"), ("eigvalsh", "q"), ("svdvals", "b"), ("qr", "b"), ("slogdet", "b"), ("pinv", "b"), ("matrix_rank", "b"))]
            cases += [(f"svd 10000x{n}x{n} {t}", f"L.svd(b{n})", f"L.svd(b{n})"), (f"solve 10000x{n}x{n} {t}", f"L.solve(b{n}, b{n})", f"L.solve(b{n}, b{n})")]
        cases += [(f"svd tall 2000x20 {t}", "L.svd(tall)", "L.svd(tall, full_matrices=False)"), (f"svd wide 20x2000 {t}", "L.svd(tall.T)", "L.svd(tall.T, full_matrices=False)"), (f"qr tall {t}", "L.qr(tall)", "L.qr(tall)"), (f"lstsq tall {t}", "L.lstsq(tall, tall)", "L.lstsq(tall, tall)")]
        lua, python = ["L = gpu.linalg"], ["L = np.linalg"]
        for n in (3, 10, 50, 200, 500):
            lua.append(f's{n} = e(gpu.rand({n}, {n}, "float64", "cpu"):to("{t}") + {n} * gpu.eye({n}, "{t}", "cpu")); p{n} = e(s{n}:matmul(s{n}.T)); v{n} = s{n}[1]:clone(); t{n} = gpu.rand({2 * n}, {n}, "float64", "cpu"):to("{t}"); w{n} = t{n}[{{{{}}, 1}}]:clone(); e(t{n})')
            python.append(f's{n} = r.random(({n}, {n})).astype("{t}") + {n} * np.eye({n}, dtype="{t}"); p{n} = s{n} @ s{n}.T; v{n} = s{n}[0].copy(); t{n} = r.random(({2 * n}, {n})).astype("{t}"); w{n} = t{n}[:, 0].copy()')
        for n in (2, 3, 4, 8):
            lua.append(f'b{n} = e(gpu.rand(10000, {n}, {n}, "float64", "cpu"):to("{t}") + {n} * gpu.eye({n}, "{t}", "cpu")); q{n} = e(b{n}:matmul(b{n}:transpose(2, 3)))')
            python.append(f'b{n} = r.random((10000, {n}, {n})).astype("{t}") + {n} * np.eye({n}, dtype="{t}"); q{n} = b{n} @ b{n}.transpose(0, 2, 1)')
        lua.append(f'tall = gpu.rand(2000, 20, "float64", "cpu"):to("{t}"); e(tall)')
        python.append(f'tall = r.random((2000, 20)).astype("{t}")')
        yield Group(f"linalg {t}", "; ".join(lua), "\n".join(python), cases)


def files():
    folder = tempfile.mkdtemp(prefix="lunarray-sweep-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for t in ("int32", "float32", "float64"):
        form = "%d" if t == "int32" else "%.9g" if t == "float32" else "%.17g"
        cases = []
        for name, v in (("large", "a"), ("small", "b")):
            npy, text = f"{folder}/{t}-{name}.npy", f"{folder}/{t}-{name}.csv"
            cases += [(f"save npy {name} {t}", f"gpu.save('{npy}', {v})", f"np.save('{npy}', {v})"),
                      (f"load npy {name} {t}", f"gpu.load('{npy}', 'cpu')", f"np.load('{npy}')"),
                      (f"print {name} {t}", f"tostring({v})", f"str({v})")]
            if name == "small":
                cases += [(f"save csv {t}", f"gpu.save('{text}', {v})", f"np.savetxt('{text}', {v}, '{form}', ',')"),
                          (f"load csv {t}", f"gpu.load('{text}', '{t}', 'cpu')", f"np.loadtxt('{text}', '{t}', delimiter=',')")]
        yield Group(f"file {t}", *both(made("a", t, 3000, 1000), made("b", t, 1000, 50)), cases)


SUBJECTS = {"reduce": reductions, "scan": scans, "order": orders, "index": indices, "shape": shapes, "view": views, "convert": converts,
            "product": products, "statistic": statistics, "fft": transforms, "linalg": linear, "file": files}


def topk(a, k, axis):
    part = np.argpartition(a, -k, axis)
    i = np.take(part, range(a.shape[axis] - k, a.shape[axis]), axis)
    v = np.take_along_axis(a, i, axis)
    order = np.flip(np.argsort(v, axis), axis)
    return np.take_along_axis(v, order, axis), np.take_along_axis(i, order, axis)


def seconds_of(code, env, count=1):
    """The best of three, as the server does."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(count):
            eval(code, env)
        best = min(best, (time.perf_counter() - start) / count)
    return best


def measure(ours, case, env, rounds):
    """The best time of each, in milliseconds; or what one of them said."""
    name, lua, python = case
    python = compile(python, "<case>", "eval")
    reply = ours.ask("time", lua)
    if reply.startswith("error"):
        return reply
    try:
        once = seconds_of(python, env)
    except Exception as error:
        return f"NumPy: {error}"
    best, theirs, start, count = float("inf"), float("inf"), time.perf_counter(), 0
    times = max(1, min(200, int(2e-4 / max(once, 1e-7))))  # of small ones several in turn, as in a program
    while count < rounds or (time.perf_counter() - start < 0.02 and count < 100):
        best = min(best, float(ours.ask("time", lua, times)))
        theirs = min(theirs, seconds_of(python, env, times) * 1e3)
        count += 1
    return best, theirs


def sweep(options):
    ours, found, refused, end = Ours(options.binary), [], [], time.perf_counter() + options.seconds
    for subject, groups in SUBJECTS.items():
        if options.subject and subject not in options.subject:
            continue
        for group in groups():
            cases = [c for c in group.cases if all(any(w in c[0] for w in text.split("|")) for text in options.text)]
            if not cases:
                continue
            if time.perf_counter() > end:
                print("out of time before", group.name)
                return found, refused
            env = {"np": np, "r": np.random.default_rng(1), "topk": topk}
            np.seterr(all="ignore")
            reply = ours.ask("set", "for k in pairs(_ENV) do if k ~= 'gpu' and k ~= 'e' and k ~= 'keep' then _ENV[k] = nil end end " + group.lua)
            if reply != "done":
                refused.append((group.name, reply))
                continue
            exec(group.python, env)
            for case in cases:
                result = measure(ours, case, env, options.rounds)
                if isinstance(result, str):
                    refused.append((case[0], result))
                else:
                    found.append((result[0] / result[1], case[0], *result))
    return found, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", nargs="*")
    parser.add_argument("--binary", default="build/lunarray")
    parser.add_argument("--subject", type=lambda text: text.split(","), help="some of " + ", ".join(SUBJECTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--worse", type=float, default=0.0, help="only ratios above this")
    options = parser.parse_args()
    found, refused = sweep(options)
    for ratio, name, ours, theirs in sorted(found, reverse=True):
        if ratio > options.worse:
            print(f"{ratio:7.2f}  {name:44} {ours:10.4f} ms   NumPy {theirs:10.4f} ms")
    print(f"{len(found)} cases, {sum(f[0] > 1 for f in found)} slower than NumPy")
    for name, why in refused:
        print("refused:", name, "--", why)


if __name__ == "__main__":
    sys.exit(main())
