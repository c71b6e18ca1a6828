"""gpu.ndimage on random arrays of one to three axes: SciPy says what is right."""
import random

import numpy as np
import pytest
import scipy.ndimage as nd

from against import WAYS, compare, rounds

BORDERS = ["reflect", "mirror", "nearest", "wrap", "constant"]


def listed(v):
    return "{" + ", ".join(str(float(x)) if isinstance(x, float) else str(x) for x in v) + "}"


def image(r, g, dtype, least=1):
    shape = tuple(r.choice([s for s in (1, 2, 3, 7, 20) if s >= least]) for _ in range(r.choice([1, 2, 2, 2, 3])))
    x = g.standard_normal(shape) * 20
    x = (np.abs(x) if dtype == "uint8" else x).astype(dtype)
    return x, x.astype(np.float64) if x.dtype.kind != "f" else x


def filters(r, g, dtype):
    x, f = image(r, g, dtype, 2)
    mode, value = r.choice(BORDERS), r.choice([0, 2.5])
    b, n = f"'{mode}', {value}", dict(mode=mode, cval=value)
    sigma = [r.choice([0.0, 0.4, 0.7, 1.0]) for _ in x.shape]
    yield f"gpu.ndimage.gaussian_filter(x, {listed(sigma)}, {b})", {"x": x}, nd.gaussian_filter(f, sigma, **n)
    yield (f"gpu.ndimage.gaussian_filter(x, {{sigma = 0.8, truncate = 2, mode = '{mode}'}})", {"x": x},
           nd.gaussian_filter(f, 0.8, truncate=2, mode=mode))
    size = [r.choice([1, 2, 3, 5]) for _ in x.shape]
    if mode != "mirror" or min(x.shape) > 2:
        yield f"gpu.ndimage.uniform_filter(x, {listed(size)}, {b})", {"x": x}, nd.uniform_filter(f, size, **n)
        if dtype != "uint8" or value == 0:
            yield f"gpu.ndimage.maximum_filter(x, {listed(size)}, {b})", {"x": x}, nd.maximum_filter(x, size, **n)
            yield f"gpu.ndimage.minimum_filter(x, {listed(size)}, {b})", {"x": x}, nd.minimum_filter(x, size, **n)
            yield f"gpu.ndimage.median_filter(x, {listed(size)}, {b})", {"x": x}, nd.median_filter(x, size, **n)
        w = g.standard_normal(size)
        yield f"gpu.ndimage.correlate(x, w, {b})", {"x": x, "w": w}, nd.correlate(f, w, **n)
        yield f"gpu.ndimage.convolve(x, w, {b})", {"x": x, "w": w}, nd.convolve(f, w, **n)
    axis = r.randrange(x.ndim)
    yield f"gpu.ndimage.sobel(x, {axis + 1}, {b})", {"x": x}, nd.sobel(f, axis, **n)
    yield f"gpu.ndimage.prewitt(x, {axis + 1}, {b})", {"x": x}, nd.prewitt(f, axis, **n)
    yield f"gpu.ndimage.laplace(x, {b})", {"x": x}, nd.laplace(f, **n)


def ranks(r, g, dtype):
    x, f = image(r, g, dtype, 2)
    mode, value = r.choice(BORDERS), r.choice([0, 2.5] if dtype != "uint8" else [0])
    b, n = f"'{mode}', {value}", dict(mode=mode, cval=value)
    size = [r.choice([1, 2, 3, 4, 5]) for _ in x.shape]
    if mode == "mirror" and min(x.shape) < 3:
        return
    count = int(np.prod(size))
    rank, percentile = r.randint(1, count), r.choice([0, 20, 50, 77.5, 100, -30])
    yield f"gpu.ndimage.rank_filter(x, {rank}, {listed(size)}, {b})", {"x": x}, nd.rank_filter(x, rank - 1, size, **n)
    yield f"gpu.ndimage.rank_filter(x, {-rank}, {listed(size)}, {b})", {"x": x}, nd.rank_filter(x, -rank, size, **n)
    yield f"gpu.ndimage.percentile_filter(x, {percentile}, {listed(size)}, {b})", {"x": x}, nd.percentile_filter(x, percentile, size, **n)
    for name in ("grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "white_tophat", "black_tophat", "morphological_gradient"):
        yield f"gpu.ndimage.{name}(x, {listed(size)}, {b})", {"x": x}, getattr(nd, name)(x, size, **n)
    sigma, order = [r.choice([0.5, 0.9, 1.0]) for _ in x.shape], [r.choice([0, 1, 2, 3]) for _ in x.shape]
    yield (f"gpu.ndimage.gaussian_filter(x, {{sigma = {listed(sigma)}, order = {listed(order)}, mode = '{mode}', cval = {value}}})", {"x": x},
           nd.gaussian_filter(f, sigma, order, **n))
    yield f"gpu.ndimage.gaussian_gradient_magnitude(x, {listed(sigma)}, {b})", {"x": x}, nd.gaussian_gradient_magnitude(f, sigma, **n)
    yield f"gpu.ndimage.gaussian_laplace(x, {listed(sigma)}, {b})", {"x": x}, nd.gaussian_laplace(f, sigma, **n)


def measures(r, g, dtype):
    x, f = image(r, g, dtype, 2)
    f = x.astype(np.float64)
    labels = g.integers(-2, 4, x.shape).astype(r.choice(["int32", "int64", "int8"]))
    a = {"x": x.T if r.random() < 0.5 else x, "l": labels}
    lua = "x" if a["x"] is x else "x:permute{" + ", ".join(str(x.ndim - i) for i in range(x.ndim)) + "}"
    there = [int(k) for k in np.unique(labels)]
    index = r.sample(there, r.randint(1, len(there)))
    at = np.array(index).reshape(r.choice([(-1,), (1, -1), (-1, 1)]))
    a["i"] = at
    for name in ("sum_labels", "mean", "variance", "standard_deviation", "maximum", "minimum", "median"):
        function = getattr(nd, name)
        yield f"gpu.ndimage.{name}({lua}, l, i)", a, np.asarray(function(f, labels, at)).reshape(at.shape)
        yield f"gpu.ndimage.{name}({lua}, l, {index[0]})", a, float(function(f, labels, index[0]))
        if (labels > 0).any():
            yield f"gpu.ndimage.{name}({lua}, l)", a, float(function(f, labels))
    yield f"gpu.ndimage.sum_labels({lua}, l, {{99, -99}})", a, np.zeros(2)
    yield f"gpu.ndimage.mean({lua}, l, {{99, -99}})", a, np.full(2, np.nan)
    distinct = np.argsort(np.argsort(f, axis=None)).reshape(f.shape).astype(np.float64)  # of which one is the greatest
    b = {"x": distinct, "l": labels, "i": at}
    for name in ("maximum_position", "minimum_position", "center_of_mass"):
        want = np.array(getattr(nd, name)(distinct + 1.0, labels, at.ravel())).reshape(at.shape + (x.ndim,)) + 1
        yield f"gpu.ndimage.{name}(x + 1, l, i)", b, want
        yield f"gpu.ndimage.{name}(x + 1, l, {index[0]})", b, np.array(getattr(nd, name)(distinct + 1.0, labels, index[0])) + 1
    boxes = nd.find_objects(labels, 3)
    want = np.array([[[s.start + 1, s.stop] for s in box] if box else np.zeros((x.ndim, 2)) for box in boxes])
    yield ("(function() local t = {} for k, box in ipairs(gpu.ndimage.find_objects(l, 3)) do "
           "for i = 1, x.ndim do for j = 1, 2 do t[#t + 1] = box and box[i][j] or 0 end end end "
           "return gpu.array(t):reshape(3, x.ndim, 2) end)()"), {"x": x, "l": labels}, want


def distances(r, g, dtype):
    shape = tuple(r.choice([1, 2, 3, 7, 20]) for _ in range(r.choice([1, 2, 2, 2, 3])))
    mask = g.random(shape) < r.choice([0.5, 0.9, 0.98])
    mask.flat[r.randrange(mask.size)] = False
    m = {"m": mask if dtype == "float64" else mask.astype(dtype)}
    yield "gpu.ndimage.distance_transform_edt(m)", m, nd.distance_transform_edt(mask).astype("f")
    step = [r.choice([0.5, 1.0, 2.5]) for _ in shape]
    yield f"gpu.ndimage.distance_transform_edt(m, {listed(step)})", m, nd.distance_transform_edt(mask, step).astype("f")
    # Of several that are as near any is right: the distance to it says so.
    reach = "{" + ", ".join(str(v) for v in step) + "}"
    yield (f"(function() local d, at = gpu.ndimage.distance_transform_edt(m, {{sampling = {reach}, return_indices = true}}) "
           "local sum, key = 0, {} for i = 1, m.ndim do key[i] = at[i] "
           "local shape = {} for k = 1, m.ndim do shape[k] = k == i and m.shape[i] or 1 end "
           f"sum = sum + ((at[i] - gpu.range(m.shape[i]):reshape(shape)) * ({reach})[i]) ^ 2 end "
           "return sum:sqrt(), m[key]:to('float32') end)()"), m, (nd.distance_transform_edt(mask, step), np.zeros(shape))
    # Many that are as near, at distances that float64 does not hold exactly.
    deep = g.random((12, 20, 20)) < 0.97
    yield "gpu.ndimage.distance_transform_edt(m, 0.3)", {"m": deep}, nd.distance_transform_edt(deep, 0.3).astype("f")
    full = np.ones((3,) * len(shape))
    holes = g.random(shape) < 0.6
    yield "gpu.ndimage.binary_fill_holes(m)", {"m": holes}, nd.binary_fill_holes(holes)
    yield "gpu.ndimage.binary_fill_holes(m, s)", {"m": holes, "s": full}, nd.binary_fill_holes(holes, full)


def places(r, g, dtype):
    x, f = image(r, g, dtype)
    at = g.random((x.ndim, 4, 5)) * (np.array(x.shape).reshape(-1, 1, 1) + 1) - 1
    for order in (0, 1):
        for mode in ("constant", "nearest"):
            # SciPy takes a coordinate that is off by a hair for the element's own
            yield (f"gpu.ndimage.map_coordinates(x, c, {order}, '{mode}', 7)", {"x": x, "c": at + 1},
                   nd.map_coordinates(f, at, order=order, mode=mode, cval=7))
        factor = [r.choice([0.5, 1.0, 1.7, 3.0]) for _ in x.shape]
        if all(round(s * k) > 0 for s, k in zip(x.shape, factor)):
            yield (f"gpu.ndimage.zoom(x, {listed(factor)}, {order})", {"x": x},
                   nd.zoom(f, factor, order=order, mode="nearest"))


OURS = {"wrap": "grid-wrap"}  # as SciPy calls what is periodic by as many elements as there are


def splines(r, g, dtype):
    order, mode = r.choice([0, 1, 2, 3, 4, 5]), r.choice(["constant", "nearest", "reflect", "mirror", "wrap"])
    short = mode != "reflect" or order < 2  # of which SciPy's splines do not go through the elements of short axes
    x, f = image(r, g, dtype, 1 if short else 20)
    n = dict(order=order, mode=OURS.get(mode, mode), cval=2.5)
    last = f"{order}, '{mode}', 2.5"
    size = np.array(x.shape).reshape(-1, 1, 1)
    at = g.random((x.ndim, 4, 5)) * (size * 3) - size
    yield f"gpu.ndimage.map_coordinates(x, c, {last})", {"x": x, "c": at + 1}, nd.map_coordinates(f, at, **n)
    by = [r.choice([0.0, 1.0, -2.0, 0.3, 1.7, -30.25]) for _ in x.shape]
    if order or all(b == int(b) for b in by):  # of ties SciPy takes the other one
        yield f"gpu.ndimage.shift(x, {listed(by)}, {last})", {"x": x}, nd.shift(f, by, **n)
    matrix, offset = g.standard_normal((x.ndim, x.ndim)) * 0.7 + np.eye(x.ndim), g.standard_normal(x.ndim) * 3
    shape = tuple(r.choice([1, 4, 9]) for _ in x.shape)
    from_one = offset + 1 - matrix.sum(1)
    yield (f"gpu.ndimage.affine_transform(x, m, {{offset = o, shape = {listed(shape)}, order = {order}, mode = '{mode}', cval = 2.5}})",
           {"x": x, "m": matrix, "o": from_one}, nd.affine_transform(f, matrix, offset, shape, **n))
    if x.ndim > 1:
        angle, axes, fit = r.choice([30, -77.5, 200, 361]), r.sample(range(x.ndim), 2), r.random() < 0.5
        yield (f"gpu.ndimage.rotate(x, {angle}, {{axes = {{{axes[0] + 1}, {axes[1] + 1}}}, reshape = {str(fit).lower()}, "
               f"order = {order}, mode = '{mode}', cval = 2.5}})", {"x": x}, nd.rotate(f, angle, axes[::-1], fit, **n))
    if order > 1:
        mode = mode if mode in ("mirror", "reflect", "wrap") else "mirror"
        yield (f"gpu.ndimage.spline_filter(x, {order}, '{mode}')", {"x": x},
               nd.spline_filter(f, order, mode=OURS.get(mode, mode)))
        factor = [r.choice([0.5, 1.0, 1.7, 3.0]) for _ in x.shape]
        if all(round(s * k) > 0 for s, k in zip(x.shape, factor)):
            yield (f"gpu.ndimage.zoom(x, {listed(factor)}, {order}, 'mirror')", {"x": x}, nd.zoom(f, factor, order=order, mode="mirror"))


def shapes(r, g, dtype):
    x, _ = image(r, g, dtype)
    mask = g.random(x.shape) < r.choice([0.3, 0.6, 0.9])
    full = np.ones((3,) * x.ndim)
    odd = (g.random((3,) * x.ndim) < 0.6) | (g.random((3,) * x.ndim) < 0.1)
    odd.flat[odd.size // 2] = True
    yield "gpu.ndimage.label(m)", {"m": mask}, nd.label(mask)
    yield "gpu.ndimage.label(m, s)", {"m": mask.astype(dtype), "s": full}, nd.label(mask, full)
    for name in ("binary_erosion", "binary_dilation", "binary_opening", "binary_closing"):
        f = getattr(nd, name)
        times = r.choice([1, 1, 3])
        yield f"gpu.ndimage.{name}(m, nil, {times})", {"m": mask}, f(mask, iterations=times)
        yield f"gpu.ndimage.{name}(m, s, {times})", {"m": mask, "s": odd}, f(mask, odd, iterations=times)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [filters, places, splines, shapes, ranks, measures, distances])
def test_against_scipy(tmp_path, way, maker):
    cases = []
    for seed in range(rounds(60 if maker is splines and way == "cpu" else 30 if way == "cpu" else 8 if way == "simt" else 2)):  # kernels take their time to compile
        cases += maker(random.Random(seed), np.random.default_rng(seed), ["float64", "float32", "uint8", "int32"][seed % 4])
    compare(tmp_path, way, cases)
