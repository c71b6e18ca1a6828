"""Functions that are put together from others, of random views in many dtypes: NumPy says what is right."""
import random
import warnings

import numpy as np
import pytest

from against import WAYS, compare, rounds, view

DTYPES = ["float64", "float32", "int32", "uint8", "float16", "bool", "int64"]


def line(v):
    """What Lua makes of an array of numbers: bools and narrow integers are computed with as int32 and themselves."""
    return v.astype(np.int32) if v.dtype == bool else v


def number(x):
    return repr(float(x))


def table(v):
    return "{" + ", ".join(map(number, v)) + "}"


def calculus(r, g, dtype):
    x, lua, v = view(r, g, dtype)
    v, n = line(v), r.randint(0, 3)
    axis = r.randrange(v.ndim)
    yield f"{lua}:diff({n}, {axis + 1})", {"x": x}, np.diff(v, n, axis)
    w = np.diff(v.astype(np.float64), prepend=0.5, append=2)
    yield f"{lua}:diff({{prepend = 0.5, append = 2}})", {"x": x}, w
    f = v.astype(np.float64)
    spacing = np.cumsum(g.random(v.shape[axis]) + 0.5)
    yield f"gpu.array({lua}:trapezoid(0.5, {axis - v.ndim}))", {"x": x}, np.trapezoid(f, dx=0.5, axis=axis)
    yield (f"gpu.array({lua}:trapezoid({table(spacing)}, {axis + 1}))", {"x": x},
           np.trapezoid(f, spacing, axis=axis))
    yield f"gpu.array({lua}:trapezoid(d))", {"x": x, "d": f * 0.5}, np.trapezoid(f, f * 0.5)
    if f.shape[axis] > 1:
        yield f"{lua}:gradient(0.25, {axis + 1})", {"x": x}, np.gradient(f, 0.25, axis=axis)
        yield f"{lua}:gradient({table(spacing)}, {axis + 1})", {"x": x}, np.gradient(f, spacing, axis=axis)
    if min(f.shape) > 1:
        yield f"{lua}:gradient()", {"x": x}, np.gradient(f)
    yield f"({lua} * 2):unwrap({{axis = {axis + 1}}})", {"x": x}, np.unwrap(f * 2, axis=axis)
    yield f"({lua} * 20):unwrap(200, {axis + 1}, 360)", {"x": x}, np.unwrap(f * 20, 200, axis, period=360)
    xp = np.unique(g.standard_normal(r.choice([1, 2, 9])))
    fp = g.standard_normal(xp.size)
    yield f"gpu.interp({lua}, p, q)", {"x": x, "p": xp, "q": fp}, np.interp(f, xp, fp)
    yield f"{lua}:interp({table(xp)}, {table(fp)}, -1, 7)", {"x": x}, np.interp(f, xp, fp, -1, 7)
    yield f"gpu.interp({number(xp[0])}, {table(xp)}, {table(fp)}, -1, 7)", {"x": x}, np.interp(xp[0], xp, fp, -1, 7)
    a, b = g.standard_normal((4, 1, 3)).astype(np.float32), g.standard_normal((5, 3))
    yield "gpu.cross(a, b)", {"a": a, "b": b}, np.cross(a, b)
    yield "a:transpose(1, 3):cross(a:transpose(1, 3) + 1, 1)", {"a": a}, np.cross(a.T, a.T + 1, axis=0)


def some_axes(r, v):
    axes = tuple(sorted(r.sample(range(v.ndim), r.randint(1, v.ndim))))
    return axes, "{" + ", ".join(str(a + 1) for a in axes) + "}"


def with_nan(r, g, dtype):
    """A view, some of whose elements are NaN where the dtype has one."""
    x, lua, _ = view(r, g, dtype)
    if x.dtype.kind == "f":
        x[g.random(x.shape) < r.choice([0.1, 0.6])] = np.nan
    shape = x.shape
    steps = [r.choice([1, 2, -1]) for _ in shape]
    return x, "x['" + ", ".join(f"::{s}" for s in steps) + "']", x[tuple(slice(None, None, s) for s in steps)]


def nans(r, g, dtype):
    x, lua, v = with_nan(r, g, dtype)
    axes, names = some_axes(r, v)
    keep = r.random() < 0.5
    n = dict(axis=axes, keepdims=keep)
    how = f"{names}, {str(keep).lower()}"
    f = v.astype(np.float64)
    put = lambda name, want, more="": (f"gpu.array({lua}:{name}({how}{more}))", {"x": x}, want)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield put("nansum", np.nansum(f, **n))
        yield f"gpu.array(({lua} / {lua}:abs()):nanprod({how}))", {"x": x}, np.nanprod(np.sign(np.where(f == 0, np.nan, f)), **n)
        yield put("nanmin", np.nanmin(f, **n))
        yield put("nanmax", np.nanmax(f, **n))
        yield put("nanmean", np.nanmean(f, **n))
        yield put("nanvar", np.nanvar(f, **n))
        yield put("nanstd", np.nanstd(f, ddof=1, **n), ", 1")
        yield put("nanmedian", np.nanmedian(f, **n))
        yield f"gpu.array({lua}:nanquantile({{0, 0.3, 1}}, {how}))", {"x": x}, np.nanquantile(f, [0, 0.3, 1], **n)
        yield f"gpu.array({lua}:nanpercentile(35), 'float32')", {"x": x}, np.nanpercentile(f, 35)
        yield f"{lua}:nancumsum({axes[0] + 1})", {"x": x}, np.nancumsum(f, axes[0])
        yield f"({lua} * 0.5):nancumprod()", {"x": x}, np.nancumprod(f * 0.5)
        whole = f.copy()
        if v.dtype.kind == "f":
            whole[..., 0] = 3
        set = f"local y = {lua}:clone() " + ("y['..., 1'] = 3" if v.dtype.kind == "f" else "")
        yield (f"(function() {set} return gpu.array(y:nanargmax(-1, true)), y:nanargmin() end)()", {"x": x},
               (np.nanargmax(whole, -1, keepdims=True) + 1, np.nanargmin(whole) + 1))


def statistics(r, g, dtype):
    x, lua, v = view(r, g, dtype)
    f, axis = v.astype(np.float64), r.randrange(v.ndim)
    w, every = g.random(v.shape[axis]) + 0.1, g.random(v.shape) + 0.1
    yield f"gpu.array({lua}:average({axis + 1}, {table(w)}))", {"x": x}, np.average(f, axis, w)
    yield f"gpu.array({lua}:average({axis + 1}, w))", {"x": x, "w": every}, np.average(f, axis, every)
    yield f"gpu.array({lua}:average(nil, w), 'float32')", {"x": x, "w": every}, np.average(f, None, every)
    yield f"gpu.array({lua}:average{{axis = {axis + 1}, keepdims = true}})", {"x": x}, np.average(f, axis, keepdims=True)
    yield f"gpu.array(({lua}:ptp({axis + 1})))", {"x": x}, np.ptp(line(v), axis)
    yield f"gpu.array({lua}:percentile({{0, 12.5, 100}}, {axis + 1}))", {"x": x}, np.percentile(f, [0, 12.5, 100], axis)
    yield f"gpu.array({lua}:percentile(70), 'float32')", {"x": x}, np.percentile(f, 70)
    method = r.choice(["lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "weibull"])
    m = {"x": x}
    yield f"{lua}:quantile({{0.2, 0.5}}, {axis + 1}, true, '{method}')", m, np.quantile(f, [0.2, 0.5], axis, keepdims=True, method=method)
    yield f"{lua}:percentile({{q = {{30}}, method = '{method}'}})", m, np.percentile(f, [30], method=method)
    yield f"{lua}:nanquantile({{0.3}}, {{axis = {axis + 1}, method = '{method}'}})", m, np.nanquantile(f, [0.3], axis, method=method)
    m = f.reshape(f.shape[0], -1)
    if m.shape[1] > 1 and dtype != "float16":
        flat = f"{lua}:reshape({m.shape[0]}, -1)"
        yield f"gpu.array({flat}:cov())", {"x": x}, np.cov(m)
        yield f"gpu.array({flat}:cov{{rowvar = false, ddof = 0}})", {"x": x}, np.cov(m, rowvar=False, ddof=0)
        noise = g.standard_normal(m.shape)
        yield f"gpu.array(gpu.corrcoef(z))", {"z": noise}, np.corrcoef(noise)
        yield f"gpu.array(gpu.cov(z[1], z * 2))", {"z": noise}, np.cov(noise[0], noise * 2)
        yield f"gpu.array(gpu.corrcoef(z, z[1]))", {"z": noise}, np.corrcoef(noise, noise[0])


def sets(r, g, dtype):
    x, y = (np.round(g.standard_normal(r.choice([0, 1, 5, 40, 900])) * 9) for _ in range(2))
    x, y = (np.abs(a) if dtype == "uint8" else a for a in (x, y))
    x, y = x.astype(dtype), y.astype(r.choice([dtype, "float64", dtype]))
    both = {"x": x, "y": y}
    yield "gpu.isin(x, y)", both, np.isin(x, y)
    t = r.choice(["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
    ends = np.array([0, 1] if t == "bool" else [np.iinfo(t).min, np.iinfo(t).max, np.iinfo(t).max // 3], t)
    near = [g.integers(0, r.choice([2, 90, 1000000]), r.choice([1, 40, 3000])).astype("uint8" if k and r.random() < 0.3 else t)
            for k in range(2)]
    some = np.concatenate([near[0], ends, near[0] - near[0].dtype.type(1) if t != "bool" else ends])
    yield "gpu.isin(x, y)", {"x": some, "y": near[1]}, np.isin(some, near[1])
    yield "gpu.isin(x, y)", {"x": some, "y": ends}, np.isin(some, ends)
    for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
        want = getattr(np, name)(x, y)
        yield f"gpu.{name}(x, y)", both, want if name != "setdiff1d" else np.unique(x)[~np.isin(np.unique(x), y)]
    edges = np.unique(g.standard_normal(r.choice([1, 3, 20])) * 5)[:: r.choice([1, -1])]
    right = r.random() < 0.5
    yield f"x:digitize(e, {str(right).lower()})", {"x": x, "e": edges}, np.digitize(x, edges, right)
    keys = np.round(g.standard_normal((3, r.choice([1, 7, 300])))) + 0.0  # no -0.0
    for dtypes in (("int8", "uint8"), ("bool", "int16", "uint8"), ("uint16", "int32"), ("int32", "uint16", "int8"), ("int8", "int64"),
                   ("float32", "int8"), ("int32", "int32"), ("uint32", "uint32"), ("int16",)):
        few = {f"k{i}": (g.integers(-3, 3, 500) * (1 if i else 43)).astype(t) for i, t in enumerate(dtypes)}
        yield f"gpu.lexsort{{{', '.join(few)}}}", few, (np.lexsort(list(few.values())) + 1,)
    yield "gpu.lexsort(k), gpu.lexsort{k[1], k[3]}", {"k": keys}, (np.lexsort(keys) + 1, np.lexsort(keys[[0, 2]]) + 1)


def choices(r, g, dtype):
    x, lua, v = view(r, g, dtype)
    v = line(v)
    f = v.astype(np.float64)
    yield (f"gpu.select({{{lua}:lt(0), {lua}:gt(1)}}, {{{lua} * 2, 7}}, {lua})", {"x": x},
           np.select([v < 0, v > 1], [v * 2, v * 0 + 7], v))
    index = g.integers(1, 4, v.shape)
    yield f"gpu.choose(i, {{{lua}, 5, {lua} * 2}})", {"x": x, "i": index}, np.choose(index - 1, [v, v * 0 + 5, v * 2])
    yield (f"gpu.piecewise({lua}, {{{lua}:lt(0), {lua}:gt(0)}}, {{function(a) return a * a end, 4, 9}})", {"x": x},
           np.where(v > 0, 4, np.where(v < 0, v * v, 9)))
    places = g.integers(0, v.size, (2, 4))
    along = np.unravel_index(places, v.shape)
    shape = "{" + ", ".join(map(str, v.shape)) + "}"
    yield f"gpu.unravel_index(i, {shape})", {"i": places + 1}, [a + 1 for a in along]
    yield f"gpu.unravel_index({places[0, 0] + 1}, {shape})", {}, [a[0, 0] + 1 for a in along]
    yield (f"gpu.ravel_multi_index({{{', '.join(f'i{k}' for k in range(v.ndim))}}}, {shape})",
           {f"i{k}": (a + 1).astype("uint8" if v.ndim > 1 else "int64") for k, a in enumerate(along)}, places + 1)
    k = r.randint(-5, 5)
    if v.ndim > 1:
        axes = r.sample(range(v.ndim), 2)
        yield f"{lua}:rot90({k}, {{{axes[0] + 1}, {axes[1] + 1}}})", {"x": x}, np.rot90(v, k, axes)
    axis = r.randrange(v.ndim)
    yield (f"gpu.array(gpu.apply_along_axis(function(a) return a:max() end, {axis + 1}, {lua}))", {"x": x},
           np.apply_along_axis(np.max, axis, v))
    yield (f"gpu.apply_along_axis(function(a) return gpu.stack{{a:cumsum(), a * 2}} end, {axis + 1}, {lua})", {"x": x},
           np.apply_along_axis(lambda a: np.stack([a.astype(float).cumsum().astype(a.dtype) if a.dtype.kind == "f" else a.cumsum(), a * 2]), axis, v))
    a, b = g.standard_normal((2, 3)), g.standard_normal((2, 1))
    yield ("gpu.block{{a, b}, {b, a}}, gpu.block{a, a, 5 * b}, gpu.block{{{a}, {a}}}", {"a": a, "b": b},
           (np.block([[a, b], [b, a]]), np.block([a, a, 5 * b]), np.block([[[a], [a]]])))
    shift = f - f.max(axis, keepdims=True)
    soft = np.exp(shift) / np.exp(shift).sum(axis, keepdims=True)
    yield f"{lua}:softmax({axis + 1})", {"x": x}, soft
    yield f"gpu.log_softmax({lua}, {axis + 1})", {"x": x}, shift - np.log(np.exp(shift).sum(axis, keepdims=True))
    yield "i:one_hot(4, 'int32')", {"i": index}, np.eye(4, dtype=int)[index - 1]


def polynomials(r, g, dtype):
    p = np.round(g.standard_normal(r.randint(1, 6)) * 4)
    x, lua, v = view(r, g, dtype)
    v = line(v)
    yield f"gpu.polyval({table(p)}, {lua}:to('float64'))", {"x": x}, np.polyval(p, v.astype(np.float64))
    places, values = g.standard_normal(30), g.standard_normal((30, 2))
    degree = r.randint(0, 5)
    yield f"gpu.polyfit(x, y, {degree})", {"x": places, "y": values}, np.polyfit(places, values, degree)
    yield f"gpu.polyfit(x, y['::, 1'], {degree})", {"x": places, "y": values}, np.polyfit(places, values[:, 0], degree)
    own = np.sort(g.standard_normal(r.randint(0, 4)) * 3)
    yield (f"gpu.roots(p).real:sort()", {"p": np.concatenate([[0], np.atleast_1d(np.poly(own)) * 2, [0, 0]])},
           np.sort(np.concatenate([own, [0, 0]])))
    n = r.choice([0, 1, 2, 5])
    yield f"gpu.vander(x, {n}), gpu.vander(x, {n}, true)", {"x": places}, (np.vander(places, n), np.vander(places, n, True))
    n = r.choice([0, 1, 2, 3, 8, 101])
    beta = r.choice([0, 0.5, 5, 14, -3, 600])
    for n in (0, 1, 2, 7, 64):
        yield f"gpu.kaiser({n}, {beta}, 'float64'), gpu.kaiser({n}, {beta})", {}, (np.kaiser(n, beta), np.kaiser(n, beta))
    for name in ("hanning", "hamming", "blackman", "bartlett"):
        yield f"gpu.{name}({n}, 'float64')", {}, getattr(np, name)(n)


MAKERS = [calculus, nans, statistics, sets, choices, polynomials]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", MAKERS)
def test_against_numpy(tmp_path, way, maker):
    cases = []
    for seed in range(rounds(len(DTYPES) * 4 if way == "cpu" else 5 if way == "simt" else 2)):  # kernels take their time to compile
        cases += maker(random.Random(seed), np.random.default_rng(seed), DTYPES[seed % len(DTYPES)])
    compare(tmp_path, way, cases)
