"""Counting, with weights and without, and what rests on the order of elements, of random arrays beside NumPy."""
import random
import warnings

import numpy as np
import pytest

from against import WAYS, rounds, run


def counts(r, g):
    n = r.choice([0, 1, 2, 7, 300, 5000])
    least, bins, reach = r.choice([0, 3, 50]), r.choice([1, 2, 7, 40]), sorted(r.sample(range(-4, 5), 2))
    shape = (n,) if r.random() < 0.7 else (n // 2, 2)
    i = g.integers(0, 30, n).astype(r.choice(["int32", "int64", "uint8"]))
    w = g.standard_normal(n).astype(r.choice(["float32", "float64", "int32"]))
    x, y = (g.standard_normal(shape).astype(r.choice(["float32", "float64"])) for _ in range(2))
    v = g.standard_normal(shape)
    if n > 5:
        x.flat[:3] = [np.nan, reach[0], reach[1]]
    ends = f"{{{reach[0]}, {reach[1]}}}"
    arrays = {"i": i, "w": w, "x": x, "y": y, "v": v}
    yield f"i:bincount({least})", arrays, np.bincount(i, minlength=least)
    yield f"i:bincount({least}, w)", arrays, np.bincount(i, w, least)
    yield f"x:histogram({bins}, {ends})", arrays, np.histogram(x, bins, reach)
    yield f"x:histogram({bins}, {ends}, v)", arrays, np.histogram(x, bins, reach, weights=v)
    yield (f"gpu.histogram2d(x, y, {bins}, {ends}, {ends}, v)", arrays,
           np.histogram2d(x.ravel(), y.ravel(), bins, [reach, reach], weights=v.ravel()))


def points(r, g):
    """Histograms of points of some coordinates, turned views among them."""
    n, d = r.choice([1, 5, 400, 3000]), r.choice([1, 2, 3, 4])
    x = np.round(g.standard_normal((d, n)) * 4).astype(r.choice(["float32", "float64", "int16"])) / 1
    v, bins = g.standard_normal(n), [r.choice([1, 2, 5, [-4, -1, 0, 0.5, 3]]) for _ in range(d)]
    listed = "{" + ", ".join("{" + ", ".join(map(str, b)) + "}" if isinstance(b, list) else str(b) for b in bins) + "}"
    ends = [None if isinstance(b, list) else (-3, k + 2) for k, b in enumerate(bins)]
    ranges = "{" + ", ".join("nil" if e is None else f"{{{e[0]}, {e[1]}}}" for e in ends) + "}"
    for code, more in [("", {}), ("weights = v, ", {"weights": v})]:
        want, edges = np.histogramdd(x.T, bins, **more)
        yield f"gpu.histogramdd(p.T, {{{code}bins = {listed}}})", {"p": x, "v": v}, (want, *edges)
    want, edges = np.histogramdd(x.T, bins, ends)
    yield f"gpu.histogramdd(p.T, {listed}, {ranges})", {"p": x, "v": v}, (want, *edges)
    want, edges = np.histogramdd(x.T, 3, density=True)
    yield "gpu.histogramdd(p.T, 3, nil, nil, true)", {"p": x, "v": v}, (want, *edges)
    if d > 1:
        want = np.histogram2d(x[0], x[1], [3, 4], density=True)
        yield "gpu.histogram2d(p[1], p[2], {3, 4}, nil, nil, nil, true)", {"p": x, "v": v}, want


def different(r, g):
    shape = r.choice([(0,), (1,), (40,), (3, 1), (20, 2), (6, 5), (30, 2, 2), (2, 3, 20), (0, 3), (3, 0)])
    x = g.integers(0, r.choice([2, 3]), shape).astype(r.choice(["float32", "int32", "uint8", "bool", "float64", "int64"]))
    axis, every = r.randrange(len(shape)), dict(return_index=True, return_inverse=True, return_counts=True)
    for a in [None] + [axis] * (x.size > 0 or shape[axis] == 0):  # of rows of no elements NumPy knows nothing
        values, index, inverse, counts = np.unique(x, axis=a, **every)
        options = "index = true, inverse = true, counts = true" + (f", axis = {a + 1}" if a is not None else "")
        yield f"x:unique{{{options}}}", {"x": x}, (values, index + 1, inverse.reshape(-1 if a is not None else shape) + 1, counts)
    yield f"x:unique{{index = true, axis = {axis - len(shape)}}}", {"x": x}, np.unique(x, axis=axis, return_index=True)[:1] + (
        np.unique(x, axis=axis, return_index=True)[1] + 1,) if x.size else (x, np.zeros(0) + 1) if shape[axis] == 0 else (
        x.take([0], axis), np.ones(1))


def selections(r, g):
    shape = r.choice([(1,), (2,), (64,), (65,), (4097,), (300000,), (3, 1000), (40, 17), (5, 2, 300)])
    x = g.standard_normal(shape)
    if r.random() < 0.4:
        x = np.round(x * 3) + 0.0  # many equal ones, and no -0.0
    if r.random() < 0.2:
        x.flat[g.integers(x.size)] = np.nan
    x = x.astype(r.choice(["float32", "float64", "float32", "int32", "int64"]) if not np.isnan(x).any() else "float32")
    axis, q = r.randrange(len(shape)), sorted(r.random() for _ in range(3)) + [0, 1]
    k, down = r.randint(1, min(shape[axis], 200)), r.random() < 0.5
    order = np.argsort(-x.astype(float) if down else x, axis=axis, kind="stable").take(range(k), axis)
    wide = x.astype(float)
    yield f"gpu.median(x, {axis + 1}, true)", {"x": x}, np.median(wide, axis, keepdims=True)
    yield "gpu.median(x)", {"x": x}, np.median(wide)
    yield f"x:quantile({{{', '.join(map(str, q))}}}, {axis + 1})", {"x": x}, np.quantile(wide, q, axis)
    yield f"x:topk({k}, {axis + 1}, {str(not down).lower()})", {"x": x}, (np.take_along_axis(x, order, axis), order + 1)


METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
           "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"]


def quantiles(r, g):
    """Each method, at places between two elements and on them: q * n and q * (n - 1) are whole or halves for some."""
    shape = r.choice([(1,), (2,), (3,), (7,), (10,), (2048,), (2049,), (5, 9), (3, 1, 4), (2, 8, 3)])
    x = np.round(g.standard_normal(shape) * 8).astype(r.choice(["float32", "float64", "int8", "int32", "int64", "bool"]))
    if x.dtype.kind == "f":
        x /= 8
    axis, wide = r.randrange(len(shape)), x.astype(float)
    n = shape[axis]
    q = [0, 1, 0.5, r.random(), r.randint(0, n) / n, (r.randint(0, n - 1) + 0.5) / n, r.randint(0, n - 1) / max(n - 1, 1)]
    holes = np.where(g.random(shape) < 0.3, np.nan, wide).astype(x.dtype if x.dtype.kind == "f" else float)
    listed = "{" + ", ".join(f"{v!r}" for v in q) + "}"
    for method in METHODS:
        how = f"{{axis = {axis + 1}, method = '{method}'}}"
        yield f"gpu.array(x:quantile({listed}, {how}), 'float64')", {"x": x}, np.quantile(wide, q, axis, method=method)
        yield f"x:quantile({q[3]!r}, {{method = '{method}'}})", {"x": x}, np.quantile(wide, q[3], method=method)
        yield f"x:percentile({100 * q[4]!r}, {{method = '{method}'}})", {"x": x}, np.percentile(wide, 100 * q[4], method=method)
        if x.dtype.kind != "f":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows of NaN
            want = np.nanquantile(holes.astype(float), q, axis, method=method)
        yield f"gpu.array(h:nanquantile({listed}, {how}), 'float64')", {"h": holes}, want


def weighted(r, g):
    """Weights of the elements' shape and of one axis, some of them 0, and q where one ends and another begins."""
    shape = r.choice([(1,), (2,), (7,), (2048,), (5, 9), (3, 1, 4), (2, 8, 3)])
    x = np.round(g.standard_normal(shape) * 8).astype(r.choice(["float32", "float64", "int8", "int64"]))
    axis = r.randrange(len(shape))
    line, same = g.integers(0, 4, shape[axis]), g.integers(0, 4, shape)
    line[0] += 1
    same[(slice(None),) * axis + (0,)] += 1
    q = [0, 1, 0.5, r.random(), r.randint(0, int(line.sum())) / int(line.sum())]
    listed = "{" + ", ".join(f"{v!r}" for v in q) + "}"
    for name, w in ("line", line), ("same", same):
        how = f"{{axis = {axis + 1}, keepdims = true, method = 'inverted_cdf', weights = {name}}}"
        want = np.quantile(x, q, axis, method="inverted_cdf", weights=w, keepdims=True).astype(float)
        yield f"gpu.array(x:quantile({listed}, {how}), 'float64')", {"x": x, name: w}, want
        if name == "same":
            want = np.percentile(x, 100 * q[3], method="inverted_cdf", weights=w)
            yield f"x:percentile({100 * q[3]!r}, {{method = 'inverted_cdf', weights = same}})", {"x": x, name: w}, want
            if x.dtype.kind == "f":
                holes = np.where(g.random(shape) < 0.1, np.nan, x).astype(x.dtype)
                want = np.quantile(holes, q, axis, method="inverted_cdf", weights=w, keepdims=True).astype(float)
                yield f"gpu.array(h:quantile({listed}, {how}), 'float64')", {"h": holes, name: w}, want


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [counts, points, different, selections, quantiles, weighted])
def test_against_numpy(tmp_path, way, maker):
    script, wants = ["local function put(name, ...)",
                     "  for i, v in ipairs({...}) do if type(v) == 'number' then v = gpu.array(v, 'float64') end",
                     "    gpu.save(name .. '-' .. i .. '.npy', v) end end"], []
    for seed in range(rounds({"cpu": 40, "simt": 12, "generated": 6}[way])):
        r, g = random.Random(seed), np.random.default_rng(seed)
        for k, (code, arrays, want) in enumerate(maker(r, g)):
            script.append("do")
            for name, a in arrays.items():
                if k == 0 or maker is not counts:
                    np.save(tmp_path / f"{seed}-{name}.npy", a)
                script.append(f"local {name} = gpu.load('{tmp_path}/{seed}-{name}.npy')")
            script.append(f"put('{tmp_path}/out-{seed}-{k}', {code})\nend")
            wants.append((f"out-{seed}-{k}", code, want if isinstance(want, tuple) else (want,)))
    run(tmp_path, way, script)
    for file, code, parts in wants:
        for i, want in enumerate(parts):
            got = np.load(tmp_path / f"{file}-{i + 1}.npy")
            assert got.shape == np.shape(want), (file, code, got.shape, np.shape(want))
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6, err_msg=f"{file}: {code}, result {i + 1}")


def test_rows_of_16_bits_of_all_lengths(tmp_path):
    g, script, wants = np.random.default_rng(3), [], []
    for dtype in ("int16", "uint16", "float16"):
        for n in (2, 10, 33, 1000, 1024, 1025):
            x = g.integers(0, 65536, (7, n)).astype("uint16").view(dtype)
            name = f"{dtype}-{n}"
            np.save(tmp_path / f"{name}.npy", x)
            script.append(f"gpu.save('{tmp_path}/out-{name}.npy', gpu.load('{tmp_path}/{name}.npy'):sort(2))")
            wants.append((name, np.sort(x, 1)))
    run(tmp_path, "cpu", script)
    for name, want in wants:
        np.testing.assert_array_equal(np.load(tmp_path / f"out-{name}.npy"), want, name)
