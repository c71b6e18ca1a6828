"""gpu.ndimage on random arrays of one to three axes: SciPy says what is right."""
import random

import numpy as np
import pytest
import scipy.ndimage as nd

from test_linalg import WAYS, compare

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
@pytest.mark.parametrize("maker", [filters, places, shapes])
def test_against_scipy(tmp_path, way, maker):
    cases = []
    for seed in range(30 if way == "cpu" else 8 if way == "simt" else 2):  # kernels take their time to compile
        cases += maker(random.Random(seed), np.random.default_rng(seed), ["float64", "float32", "uint8", "int32"][seed % 4])
    compare(tmp_path, way, cases)
