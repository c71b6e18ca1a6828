"""Parts of the order, triangles, bits, sums up to each element and masked statistics of random views: NumPy and SciPy say
what is right."""
import random

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.spatial import distance

from against import WAYS, compare, rounds, view

DTYPES = ["float32", "float64", "int32", "uint8", "int64", "float16", "bool", "uint16"]


def part(v, axis, first, last):
    return v[(slice(None),) * axis + (slice(first, last),)]


def orders(r, g, dtype):
    n = r.choice([1, 2, 40, 300, 5000, 70000])
    shape = r.choice([(n,), (n // 3 + 1, 3), (2, n // 5 + 1, 3)])
    x = (g.standard_normal(shape) * r.choice([2, 100])).astype(dtype)
    if x.dtype.kind == "f" and r.random() < 0.3:
        x.flat[g.integers(x.size)] = np.nan
    step = r.choice([1, 2, -1])
    v, lua = x[::step], f"x['::{step}']"
    axis = r.randrange(v.ndim)
    size = v.shape[axis]
    k = r.randint(1, size)
    sort = np.sort(v, axis)
    for p in (f"{lua}:partition({k}, {axis + 1})", f"{lua}:gather({axis + 1}, {lua}:argpartition({k - size - 1}, {axis + 1}))"):
        yield f"{p}:narrow({axis + 1}, 1, {k}):sort({axis + 1})", {"x": x}, part(sort, axis, 0, k)
        yield f"{p}:narrow({axis + 1}, {k}, {size - k + 1}):sort({axis + 1})", {"x": x}, part(sort, axis, k - 1, size)
        yield f"{p}:select({axis + 1}, {k})", {"x": x}, sort.take(k - 1, axis)
    places = sorted(r.choice([1, size, (size + 1) // 2]) for _ in range(3))
    for p in (f"{lua}:partition({{{places[2]}, {places[0]}, {places[1]}}}, {axis + 1})",
              f"{lua}:gather({axis + 1}, {lua}:argpartition({{{places[1]}, {places[0]}, {places[2]}}}, {axis + 1}))"):
        for first, last in zip([1, *places], places):
            yield (f"{p}:narrow({axis + 1}, {first}, {last - first + 1}):sort({axis + 1})", {"x": x},
                   part(sort, axis, first - 1, last))
    place = np.argsort(v, axis, kind="stable").take(k - 1, axis) + 1
    if v.ndim > 1:
        yield f"{lua}:kthvalue({k}, {axis + 1})", {"x": x}, (sort.take(k - 1, axis), place)
        yield f"{lua}:kthvalue({k - size - 1}, {axis + 1}, true)", {"x": x}, (
            np.expand_dims(sort.take(k - 1, axis), axis), np.expand_dims(place, axis))
    else:
        yield f"{lua}:kthvalue({k})", {"x": x}, (sort[k - 1], place)
    few = g.integers(0, r.choice([2, 5, 1000]), shape).astype(dtype)
    known = few[::step].astype("uint8") if dtype == "bool" else few[::step]
    most = stats.mode(known, axis, keepdims=r.random() < 0.5)
    keep = most.mode.ndim == few.ndim
    if most.mode.ndim:
        yield f"{lua}:mode({axis + 1}, {str(keep).lower()})", {"x": few}, (most.mode, most.count)
    most = stats.mode(known, None)
    if dtype != "bool":
        yield f"{lua}:mode()", {"x": few}, (most.mode, most.count)


def places(r, g, dtype):
    rows, columns, k = r.randint(0, 7), r.randint(0, 7), r.randint(-8, 8)
    for name in ("triu", "tril"):
        want = getattr(np, name + "_indices")(rows, k, columns)
        yield f"gpu.{name}_indices({rows}, {k}, {columns})", {}, [i + 1 for i in want]
        yield f"gpu.{name}_indices({rows})", {}, [i + 1 for i in getattr(np, name + "_indices")(rows)]
        yield f"gpu.{name}_indices(gpu.zeros(2, {rows}, {columns}), {k})", {}, [i + 1 for i in want]
    x, lua, v = view(r, g, dtype)
    if v.ndim == 2:
        for wrap in (False, True):
            y = v.copy()
            np.fill_diagonal(y, 1, wrap)
            yield f"{lua}:fill_diagonal(1, {str(wrap).lower()})", {"x": x}, y
        y = v.copy()
        values = np.arange(min(v.shape)) % 2
        np.fill_diagonal(y, values)
        yield f"{lua}:fill_diagonal(w)", {"x": x, "w": values}, y
        yield f"(function() local y = x:clone() y.T:fill_diagonal_(1) return y end)()", {"x": x}, diagonal(x)
    cube = np.zeros((4, 4, 4), dtype)
    np.fill_diagonal(cube, 1)
    yield f"gpu.zeros(4, 4, 4, '{dtype}'):fill_diagonal(1)", {}, cube
    few = g.integers(0, 2, (r.choice([0, 1, 5, 30]),)).astype(dtype)
    for sides in ("fb", "f", "b"):
        yield f"x:trim_zeros('{sides}')", {"x": few}, np.trim_zeros(few, sides)
    ends = np.pad(g.standard_normal((2, 3)) + 9, [(r.randint(0, 2), r.randint(0, 2)) for _ in range(2)]).astype(dtype)
    yield "x:trim_zeros()", {"x": ends}, np.trim_zeros(ends)
    axis = r.randrange(v.ndim)
    if v.ndim > 1:
        yield f"table.unpack({lua}:unstack({axis + 1}), 1, 3)", {"x": x}, list(np.moveaxis(v, axis, 0))[:3]
    if v.dtype.kind in "biu":
        for order in ("big", "little"):
            yield f"{lua}:packbits({axis + 1}, '{order}')", {"x": x}, np.packbits(v, axis, order)
            yield f"{lua}:packbits(nil, '{order}')", {"x": x}, np.packbits(v, None, order)
    if v.dtype == np.uint8:
        n = v.shape[axis] * 8
        for count in (None, r.randint(0, n), n + 3, -r.randint(0, n)):
            word = "nil" if count is None else count
            yield f"{lua}:unpackbits({axis + 1}, {word}, 'little')", {"x": x}, np.unpackbits(v, axis, count, "little")
            yield f"{lua}:unpackbits({{bitorder = 'big', count = {word}}})", {"x": x}, np.unpackbits(v, None, count)


def diagonal(x):
    y = x.copy().T
    np.fill_diagonal(y, 1)
    return y.T


def sums(r, g, dtype):
    x, lua, v = view(r, g, dtype)
    f, axis = v.astype(np.float64), r.randrange(v.ndim)
    spacing = np.cumsum(g.random(v.shape[axis]) + 0.5)
    wide = f"{lua}:to('float64')"
    yield f"{lua}:cumulative_trapezoid(0.5, {axis + 1})", {"x": x}, integrate.cumulative_trapezoid(f, dx=0.5, axis=axis)
    yield (f"gpu.cumulative_trapezoid({wide}, d, {axis - v.ndim}, 0)", {"x": x, "d": spacing},
           integrate.cumulative_trapezoid(f, spacing, axis=axis, initial=0))
    yield f"{wide}:cumulative_trapezoid(d)", {"x": x, "d": f * 0.5}, integrate.cumulative_trapezoid(f, f * 0.5)
    logs = np.logaddexp.accumulate(f, axis)
    yield f"{lua}:logcumsumexp({axis + 1})", {"x": x}, logs
    yield f"{wide}:logcumsumexp()", {"x": x}, np.logaddexp.accumulate(f.ravel())
    n = r.choice([1, 63, 64, 65, 1000, 100000])
    steep = g.standard_normal(n) * r.choice([1, 30, 1000]) + np.linspace(0, r.choice([-5000, 0, 5000]), n)
    steep[g.random(n) < 0.1] = -np.inf
    if r.random() < 0.3:
        steep[g.integers(n)] = r.choice([np.inf, np.nan])
    with np.errstate(all="ignore"):
        yield "s:logcumsumexp()", {"s": steep}, np.logaddexp.accumulate(steep)
    if v.dtype.kind in "fu" or v.dtype == np.int32:
        z = v.astype(np.complex128) * (1 + 2j)
        yield f"gpu.array(gpu.vdot(z, y))", {"z": z, "y": z.T * 1j}, np.vdot(z, z.T * 1j)
    mask = g.random(v.shape) < r.choice([0.3, 0.8])
    ddof, keep = r.choice([0, 1]), r.random() < 0.5
    how = f"keepdims = {str(keep).lower()}, where = m"
    with np.errstate(all="ignore"):
        for name in ("var", "std"):
            want = getattr(np, name)(f, axis, keepdims=keep, ddof=ddof, where=mask)
            full = getattr(np, name)(f, ddof=ddof, where=mask)
            yield f"gpu.array({lua}:{name}({axis + 1}, {{ddof = {ddof}, {how}}}))", {"x": x, "m": mask}, want
            yield f"gpu.array({lua}:{name}{{ddof = {ddof}, dtype = 'float64', where = m}}, 'float64')", {"x": x, "m": mask}, full
        row = mask.reshape(-1, v.shape[-1])[0] if v.size else np.zeros(v.shape[-1], bool)
        yield f"gpu.array({lua}:var{{axis = {axis + 1}, where = m}})", {"x": x, "m": row}, np.var(f, axis, where=row)
    yield (f"gpu.array({lua}:count_nonzero({axis + 1}, {{{how}}}))", {"x": x, "m": mask},
           np.sum(v != 0, axis, keepdims=keep, where=mask))


def combined(r, g, dtype):
    """Of few values for each element, so that products and the 16-bit floats' sums stay what they are in float64."""
    x = np.round(g.standard_normal(r.choice([(7,), (5, 4), (3, 4, 2)])) * 2).astype(dtype)
    axis, steps = r.randrange(x.ndim), [r.choice([1, 2, -1]) for _ in x.shape]
    lua = "x['" + ", ".join(f"::{s}" for s in steps) + "']"
    v = x[tuple(slice(None, None, s) for s in steps)]
    shape = [r.randint(1, n) for n in v.shape]
    shape[axis] = r.choice([0, 1, 5, 9])
    index = g.integers(0, v.shape[axis], shape)
    values = np.round(g.standard_normal(shape) * 2).astype(dtype)
    if x.dtype.kind == "f" and values.size and r.random() < 0.3:
        values.flat[g.integers(values.size)] = np.nan
    at = list(np.indices(shape))
    at[axis] = index
    arrays = {"x": x, "i": index + 1, "w": values}
    ways = {"sum": (np.add, 0), "prod": (np.multiply, 1), "amax": (np.maximum, None), "amin": (np.minimum, None)}
    for name, (ufunc, nothing) in ways.items():
        for itself in (True, False):
            want = v.copy()
            if not itself:
                want[tuple(at)] = values if nothing is None else nothing
            ufunc.at(want, tuple(at), values)
            yield f"{lua}:scatter_reduce({axis + 1}, i, w, '{name}', {str(itself).lower()})", arrays, want
    yield (f"(function() local y = x:clone() y.T:scatter_reduce_({x.ndim - axis}, {{{'{' * (x.ndim - 1)}1{'}' * (x.ndim - 1)}}}, 1, 'amax') "
           "return y end)()", {"x": x}, first_is_most(x))
    if x.dtype.kind == "f":
        for itself in (True, False):
            sums, counts = v.astype(np.float64) if itself else np.zeros(v.shape), np.full(v.shape, int(itself))
            np.add.at(sums, tuple(at), values.astype(np.float64))
            np.add.at(counts, tuple(at), 1)
            want = np.where(counts > 0, sums / np.maximum(counts, 1), v)
            yield f"{lua}:scatter_reduce({axis + 1}, i, w, {{reduce = 'mean', include_self = {str(itself).lower()}}})", arrays, want
    rows = g.integers(0, v.shape[axis], r.choice([0, 1, 3, 9]))
    shape = [*v.shape]
    shape[axis] = rows.size
    more = np.round(g.standard_normal(shape) * 2).astype(dtype)
    want = v.copy()
    np.add.at(want, (slice(None),) * axis + (rows,), more)
    yield f"{lua}:index_add({axis + 1}, i, w)", {"x": x, "i": rows + 1, "w": more}, want


def first_is_most(x):
    y = x.copy()
    y.flat[0] = np.maximum(y.flat[0], np.ones(1, x.dtype)[0])
    return y


def distances(r, g, dtype):
    n, m, d = r.choice([0, 1, 3, 129, 300]), r.choice([0, 1, 5, 128, 257]), r.choice([1, 2, 3, 17])
    x, y = ((g.standard_normal((k, d)) * 3).astype(dtype) for k in (n, m))
    step = r.choice([1, 2, -1])
    arrays, a, b = {"x": x, "y": y}, x[::step].astype(np.float64), y.astype(np.float64)
    lua = f"x['::{step}']"
    for p, metric in ((2, "euclidean"), (1, "cityblock"), ("math.huge", "chebyshev"), (3, "minkowski"), (0.5, "minkowski")):
        more = {"p": p} if metric == "minkowski" else {}
        yield f"gpu.cdist({lua}, y, {p})", arrays, distance.cdist(a, b, metric, **more) if n and m else np.zeros((len(a), m))
        yield f"gpu.pdist({lua}, {p})", arrays, distance.pdist(a, metric, **more) if n > 1 else np.zeros(0)
    yield f"gpu.cdist({lua}, y)", arrays, distance.cdist(a, b) if n and m else np.zeros((len(a), m))
    yield f"gpu.cdist({lua}, y, 'sqeuclidean')", arrays, distance.cdist(a, b, "sqeuclidean") if n and m else np.zeros((len(a), m))
    if n > 1 and x.dtype.kind == "f":
        x = x.copy()
        x[0, 0] = np.nan
        yield "gpu.cdist(x, x, math.huge)", {"x": x}, np.where(
            (np.arange(n)[:, None] == 0) | (np.arange(n) == 0), np.nan, distance.cdist(x.astype(float), x.astype(float), "chebyshev"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [orders, places, sums, combined, distances])
def test_against_numpy(tmp_path, way, maker):
    cases = []
    for seed in range(rounds(len(DTYPES) * 3 if way == "cpu" else 5 if way == "simt" else 2)):  # kernels take their time to compile
        cases += maker(random.Random(seed), np.random.default_rng(seed), DTYPES[seed % len(DTYPES)])
    compare(tmp_path, way, cases)
