"""Promotion, and reductions, scans and sorting along random axes of random views in every dtype: NumPy says what is right."""
import random
import subprocess
import warnings

import numpy as np
import pytest

from against import LUNARRAY, WAYS, compare, rounds, view

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def expected(a, b):
    """NumPy's rule but for two rows of gpu.help "numpy": int32 and uint32 with floats, uint64 with signed integers."""
    a, b = sorted([np.dtype(a), np.dtype(b)], key=lambda t: "biufc".index(t.kind))
    if a.kind in "iu" and b.kind in "fc":
        return np.result_type(b, {8: np.float64, 4: np.float32}.get(a.itemsize, a))
    if a.kind == "i" and b == np.uint64:
        return np.dtype(np.int64)
    return np.result_type(a, b)


def test_promotion():
    names = DTYPES + COMPLEX
    code = ("local t = {" + ", ".join(f"'{n}'" for n in names) + "} for _, a in ipairs(t) do for _, b in ipairs(t) do "
            "print((gpu.zeros(2, a):eq(0):where(gpu.zeros(2, a), gpu.zeros(2, b))).dtype) end end")
    p = subprocess.run([LUNARRAY, "-e", code], text=True, capture_output=True, timeout=200, check=True)
    got = iter(p.stdout.split())
    for a in names:
        for b in names:
            assert next(got) == expected(a, b).name, (a, b)


def wide(v):
    """Sums of floats are better here than NumPy's of float16."""
    return v.astype(np.float64) if v.dtype.kind == "f" else v


def some_axes(r, v):
    axes = sorted(r.sample(range(v.ndim), r.randint(1, v.ndim)))
    return tuple(axes), "{" + ", ".join(str(r.choice([a + 1, a - v.ndim])) for a in axes) + "}"


def reductions(r, g, dtype):
    x, lua, v = view(r, g, dtype)
    axes, names = some_axes(r, v)
    keep = r.random() < 0.5
    how = f"{names}, {str(keep).lower()}"
    f = v.astype(np.float64)
    n = dict(axis=axes, keepdims=keep)
    put = lambda name, want: (f"gpu.array({lua}:{name}({how}))", {"x": x}, want)
    yield put("sum", wide(v).sum(**n))
    yield (f"gpu.array({lua}:gt(1):where(2, 1):prod({how}))", {"x": x}, np.where(v > 1, 2, 1).prod(**n))
    yield put("mean", f.mean(**n))
    yield put("var", f.var(**n))
    yield put("std", f.std(**n))
    yield put("max", v.max(**n))
    yield put("min", v.min(**n))
    yield put("any", v.astype(bool).any(**n))
    yield put("all", v.astype(bool).all(**n))
    yield put("count_nonzero", np.count_nonzero(v, **n))
    yield (f"gpu.array({lua}:norm(nil, {how}))", {"x": x}, np.sqrt((f * f).sum(**n)))
    yield put("logsumexp", np.log(np.exp(f).sum(**n)))
    yield put("median", np.median(f, **n))
    yield (f"gpu.array({lua}:quantile(0.3, {how}))", {"x": x}, np.quantile(f, 0.3, **n))
    rest = tuple(a for a in range(v.ndim) if a not in axes)  # NumPy's take one axis: all of them, as the last
    last = v.transpose(rest + axes).reshape([v.shape[a] for a in rest] + [-1])
    shape = [1 if a in axes else n for a, n in enumerate(v.shape) if keep or a not in axes]
    yield f"gpu.array({lua}:argmax({how}), 'int64')", {"x": x}, np.argmax(last, -1).reshape(shape) + 1
    yield f"gpu.array({lua}:argmin({how}), 'int64')", {"x": x}, np.argmin(last, -1).reshape(shape) + 1


def options(r, g, dtype):
    """dtype, where and initial; the mask broadcasts."""
    x, lua, v = view(r, g, dtype)
    axes, names = some_axes(r, v)
    keep = r.random() < 0.5
    n = dict(axis=axes, keepdims=keep)
    mask = g.random([s if r.random() < 0.8 else 1 for s in v.shape][r.randrange(v.ndim):]) < 0.6
    how, both = f"axis = {names}, keepdims = {str(keep).lower()}", {"x": x, "m": mask}
    yield f"{lua}:sum{{{how}, where = m}}", both, wide(v).sum(**n, where=mask)
    yield f"{lua}:sum({names}, {{keepdims = {str(keep).lower()}, where = m, initial = 3}})", both, wide(v).sum(**n, where=mask, initial=3)
    yield f"{lua}:gt(1):where(2, 1):prod{{{how}, where = m, initial = 2}}", both, np.where(v > 1, 2, 1).prod(**n, where=mask, initial=2)
    yield f"{lua}:max{{{how}, where = m, initial = 1}}", both, v.max(**n, where=mask, initial=1)
    yield f"gpu.min({lua}, {{{how}, where = m, initial = 1}})", both, v.min(**n, where=mask, initial=1)
    yield f"gpu.any({lua}, {{{how}, where = m}})", both, v.astype(bool).any(**n, where=mask)
    yield f"{lua}:all{{{how}, where = m}}", both, v.astype(bool).all(**n, where=mask)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows where nothing is taken
        mean = v.astype(np.float64).mean(**n, where=mask)
    yield f"{lua}:to('float64'):mean{{{how}, where = m}}", both, mean
    yield f"gpu.array({lua}:mean{{{how}, where = m}})", both, mean
    yield f"{lua}:sum{{dtype = 'float64', initial = 0.5}}, {lua}:max{{dtype = 'float64', initial = 100.5}}, {lua}:min{{initial = 0}}", both, (
        v.sum(dtype=np.float64, initial=0.5), v.astype(np.float64).max(initial=100.5), v.min(initial=0))


def scans(r, g, dtype):
    x, lua, v = view(r, g, dtype)
    axis = r.randrange(v.ndim)
    name = r.choice([axis + 1, axis - v.ndim])
    w = wide(v)
    yield f"{lua}:cumsum({name})", {"x": x}, w.cumsum(axis)
    yield f"{lua}:cumsum()", {"x": x}, w.cumsum()
    yield f"{lua}:gt(0):where(2, 1):cumprod({name})", {"x": x}, np.where(v > 0, 2, 1).cumprod(axis)
    yield f"{lua}:cummax({name})", {"x": x}, np.maximum.accumulate(v, axis)
    yield f"{lua}:cummin({name})", {"x": x}, np.minimum.accumulate(v, axis)


def orders(r, g, dtype):
    x, lua, v = view(r, g, dtype)
    axis = r.randrange(v.ndim)
    yield f"{lua}:sort({axis + 1})", {"x": x}, np.sort(v, axis)
    yield f"{lua}:argsort({axis + 1})", {"x": x}, np.argsort(v, axis, kind="stable") + 1
    yield f"{lua}:sort({axis + 1}, true)", {"x": x}, np.flip(np.sort(v, axis), axis)
    yield f"gpu.unique({lua}, {{counts = true}})", {"x": x}, np.unique(v, return_counts=True)
    line = np.sort(v.ravel())
    yield f"gpu.searchsorted({lua}:flatten():sort(), {lua})", {"x": x}, np.searchsorted(line, v) + 1
    yield f"gpu.searchsorted({lua}:flatten():sort(), {lua}, 'right')", {"x": x}, np.searchsorted(line, v, "right") + 1
    yield f"{lua}:flatten():nonzero()", {"x": x}, np.flatnonzero(v) + 1
    k = r.randint(1, v.shape[axis])
    yield f"(gpu.topk({lua}, {k}, {axis + 1}))", {"x": x}, np.flip(np.sort(v, axis), axis).take(range(k), axis)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [reductions, options, scans, orders])
def test_against_numpy(tmp_path, way, maker):
    cases = []
    for k, dtype in enumerate(["int8", "uint32", "float16", "float64"] if way == "generated" else DTYPES * (rounds(4) if way == "cpu" else 1)):
        cases += maker(random.Random(k), np.random.default_rng(k), dtype)
    compare(tmp_path, way, cases)


def few_columns(r, g, dtype, columns):
    """Few columns, or one block of memory in another order, of so many elements that the host combines them as more rows."""
    x = (g.standard_normal((80_000 // columns + r.randint(0, 50), columns)) * 3).round()
    x = (np.abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)
    low = (x * 0).astype(dtype)
    low[r.randrange(len(x)), 0] = 1  # one element, somewhere, that decides
    f = x.astype(np.float64)
    for name, want in [("sum", wide(x).sum(0)), ("mean", f.mean(0)), ("max", x.max(0)), ("min", x.min(0)), ("argmax", x.argmax(0) + 1)]:
        yield f"x:{name}(1)", {"x": x}, want
    yield "x:any(1), (x:eq(0)):all(1)", {"x": low}, (low.any(0), (low == 0).all(0))
    yield "x:eq(0):to(x.dtype):all(1), x:eq(1):to(x.dtype):prod(1)", {"x": low}, ((low == 0).all(0), np.zeros(columns))
    yield "x.T:sum(), x.T:max(), x.T:min(), x:flip():sum(), x:flip(2):max()", {"x": x}, (wide(x).sum(), x.max(), x.min(), wide(x).sum(), x.max())
    yield "x:flip():sum(1), x:flip():max(1)", {"x": x}, (wide(x)[:, ::-1].sum(0), x[:, ::-1].max(0))
    for step in [-1, 2, -2]:  # rows backwards, or with others between them
        v, lua = x[:, ::step], f"x['..., ::{step}']"
        yield f"{lua}:sum(1), {lua}:max(1), {lua}:min(1, true)", {"x": x}, (wide(v).sum(0), v.max(0), v.min(0, keepdims=True))
        yield f"{lua}:argmin(1), {lua}.T:argmax(2)", {"x": x}, (v.argmin(0) + 1, v.argmax(0) + 1)
        yield f"{lua}:any(1), ({lua}:eq(0)):all(1)", {"x": low}, (low[:, ::step].any(0), (low[:, ::step] == 0).all(0))
    yield ("(x:to('float64') - x:to('float64'):mean(1)):abs():sum(1)", {"x": x}, np.abs(f - f.mean(0)).sum(0))
    if columns > 4:  # two axes in one of the operands, which broadcasts along the first, that are one in the other
        y = x[: len(x) // 20 * 20].reshape(20, -1, columns)
        yield ("(y:to('float64') + z):sum{1, 2}, y:sum{1, 2}", {"y": y, "z": y[:1].astype(np.float64)},
               ((y.astype(np.float64) + y[:1]).sum((0, 1)), wide(y).sum((0, 1))))


@pytest.mark.parametrize("columns", [2, 3, 10, 100, 700])
def test_few_columns(tmp_path, columns):
    cases = []
    for k, dtype in enumerate(DTYPES):
        cases += few_columns(random.Random(k), np.random.default_rng(k), dtype, columns)
    compare(tmp_path, "cpu", cases)
