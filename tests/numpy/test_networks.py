"""What neural networks are made of: computed here from what PyTorch's documentation says, element by element."""
import itertools
import random

import numpy as np
import pytest

from against import WAYS, compare, rounds


def strided(r, g, shape, dtype):
    """An array, Lua for a view of it with gaps, and that view."""
    x = (g.standard_normal(tuple(2 * n for n in shape)) * 5).astype(dtype)
    lua = "x['" + ", ".join(["::2"] * len(shape)) + "']"
    return x, lua, x[tuple(slice(None, None, 2) for _ in shape)]


def wide(v):
    return v if v.dtype.kind == "f" and v.dtype.itemsize > 2 else v.astype("f8" if v.dtype == np.int64 else "f4")


def floats_of(dtype):
    dtype = np.dtype(dtype)
    return dtype if dtype.kind == "f" else np.dtype("f8" if dtype == np.int64 else "f4")


def cubic(d, a=-0.75):
    """Keys's kernel by the distance."""
    d = abs(d)
    return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0.0


def line(n, to, mode, aligned, factor):
    """The matrix of one axis: a row for each new element."""
    m = np.zeros((to, n))
    scale = (n - 1) / (to - 1) if aligned and to > 1 else 0 if aligned else 1 / factor if factor else n / to
    for k in range(to):
        if mode.startswith("nearest"):
            m[k, min(int(np.floor((k + (0.5 if mode == "nearest-exact" else 0)) * scale)), n - 1)] = 1
            continue
        x = k * scale if aligned else (k + 0.5) * scale - 0.5
        if mode == "bicubic":
            for j in range(int(np.floor(x)) - 1, int(np.floor(x)) + 3):
                m[k, min(max(j, 0), n - 1)] += cubic(x - j)
        else:
            x = min(max(x, 0), n - 1)
            for j in range(n):
                m[k, j] = max(0, 1 - abs(x - j))
    return m


def area(n, to):
    m = np.zeros((to, n))
    for k in range(to):
        a, b = k * n // to, -(-(k + 1) * n // to)
        m[k, a:b] = 1 / (b - a)
    return m


def sizes(r, g, dtype):
    for axes in (1, 2, 3):
        shape = [r.choice([1, 2]), r.choice([1, 3])] + [r.choice([1, 2, 5, 8]) for _ in range(axes)]
        x, lua, v = strided(r, g, shape, dtype)
        linear = ["linear", "bilinear", "trilinear"][axes - 1]
        for mode in ["nearest", "nearest-exact", linear, "area"] + (["bicubic"] if axes == 2 else []):
            aligned = mode in (linear, "bicubic") and r.random() < 0.5
            factor = [r.choice([1, 2, 0.6, 1.7, 2.5]) if r.random() < 0.5 else None] * axes
            to = [max(1, int(np.floor(n * f))) if f else r.choice([1, 2, 3, 7]) for n, f in zip(shape[2:], factor)]
            if factor[0] and any(np.floor(n * f) < 1 for n, f in zip(shape[2:], factor)):
                continue
            want = v.astype("f8")
            for i in range(axes):
                m = area(shape[i + 2], to[i]) if mode == "area" else line(shape[i + 2], to[i], mode, aligned, factor[i])
                want = np.moveaxis(np.tensordot(m, want, (1, i + 2)), 0, i + 2)
            how = f"scale_factor = {factor[0]}" if factor[0] else "size = {" + ", ".join(map(str, to)) + "}"
            result = v.dtype if mode.startswith("nearest") else floats_of(dtype)
            yield (f"gpu.interpolate({lua}, {{{how}, mode = '{mode}', align_corners = {str(aligned).lower()}}})", {"x": x},
                   want.astype(result))


def turned(x, n, aligned):
    low, high = (0, n - 1) if aligned else (-0.5, n - 0.5)
    if high == low:
        return 0.0
    while x < low or x > high:
        x = 2 * low - x if x < low else 2 * high - x
    return min(max(x, 0), n - 1)


def weights(x, n, mode, padding, aligned):
    """One place along one axis: pairs of an index and a weight."""
    if mode != "bicubic":
        x = min(max(x, 0), n - 1) if padding == "border" else turned(x, n, aligned) if padding == "reflection" else x
    if mode == "nearest":
        near = int(np.rint(x))
        return [(near, 1.0)] if 0 <= near < n else []
    first = int(np.floor(x))
    taps = [(j, 1 - abs(x - j)) for j in (first, first + 1)]
    if mode == "bicubic":
        taps = [(j, cubic(x - j)) for j in range(first - 1, first + 3)]
    if padding == "zeros":
        return [(j, w) for j, w in taps if 0 <= j < n]
    if padding == "reflection" and mode == "bicubic":
        return [(int(turned(j, n, aligned)), w) for j, w in taps]
    return [(min(max(j, 0), n - 1), w) for j, w in taps]


def sampled(v, grid, mode, padding, aligned):
    axes = v.ndim - 2
    out = np.zeros(v.shape[:2] + grid.shape[1:-1])
    for at in np.ndindex(*grid.shape[:-1]):
        taps = []
        for i in range(axes):
            n, c = v.shape[i + 2], grid[at][axes - 1 - i]
            x = (c + 1) / 2 * (n - 1) if aligned else ((c + 1) * n - 1) / 2
            taps.append(weights(x, n, mode, padding, aligned))
        for combination in itertools.product(*taps):
            place = tuple(j for j, _ in combination)
            out[(at[0], slice(None)) + at[1:]] += np.prod([w for _, w in combination]) * v[(at[0], slice(None)) + place]
    return out


def places(r, g, dtype):
    for axes in (2, 3):
        shape = [2, r.choice([1, 3])] + [r.choice([1, 2, 4, 5]) for _ in range(axes)]
        x, lua, v = strided(r, g, shape, dtype)
        t = floats_of(dtype)
        grid = g.uniform(-2, 2, [2] + [r.choice([1, 3]) for _ in range(axes)] + [axes]).astype("f8")
        modes = [("bilinear", p) for p in ("zeros", "border", "reflection")] + [("nearest", p) for p in ("zeros", "border", "reflection")]
        if axes == 2:
            modes += [("bicubic", p) for p in ("zeros", "border", "reflection")]
        for mode, padding in modes:
            aligned = r.random() < 0.5
            want = sampled(v.astype("f8"), grid, mode, padding, aligned).astype(v.dtype if mode == "nearest" else t)
            yield (f"gpu.grid_sample({lua}, g, {{mode = '{mode}', padding_mode = '{padding}', align_corners = {str(aligned).lower()}}})",
                   {"x": x, "g": grid}, want)
        theta = g.standard_normal((2, axes, axes + 1)).astype(t)
        aligned = r.random() < 0.5
        size = (2, 3) + tuple(r.choice([1, 2, 5]) for _ in range(axes))
        ends = [np.linspace(-1, 1, n) if aligned and n > 1 else np.zeros(1) if aligned else (2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
        base = np.stack(tuple(np.meshgrid(*ends, indexing="ij"))[::-1] + (np.ones(size[2:]),), -1)
        want = np.einsum("...k,njk->n...j", base, theta.astype("f8")).astype(t)
        yield (f"gpu.affine_grid(m, {{{', '.join(map(str, size))}}}, {str(aligned).lower()})", {"m": theta}, want)


def softmax(v):
    e = np.exp(v - np.where(np.isinf(v.max(-1, keepdims=True)), 0, v.max(-1, keepdims=True)))
    s = e.sum(-1, keepdims=True)
    return e / np.where(s == 0, 1, s)


def attentions(r, g, dtype):
    for _ in range(4):
        batch = tuple(r.choice([1, 2, 3]) for _ in range(r.randint(0, 2)))
        length, keys, e, n = r.choice([1, 3, 17]), r.choice([1, 4, 9]), r.choice([1, 8]), r.choice([1, 5])
        q, lua, qv = strided(r, g, batch + (length, e), dtype)
        k, v = (g.standard_normal(batch + (keys, m)).astype(dtype) for m in (e, n))
        scores = qv.astype("f8") @ np.swapaxes(k.astype("f8"), -1, -2)
        t = floats_of(dtype)
        scale = r.choice([None, 0.3])
        option = f"scale = {scale}, " if scale else ""
        scores = scores * (scale or 1 / np.sqrt(e))
        ways = [("", scores)]
        mask = g.random((length, keys)) < 0.6
        added = g.standard_normal(batch + (1, keys))
        causal = np.tril(np.ones((length, keys), bool))
        ways += [("mask = m, ", np.where(mask, scores, -np.inf)), ("mask = a, ", scores + added),
                 ("causal = true, ", np.where(causal, scores, -np.inf)),
                 ("mask = m, causal = true, ", np.where(causal & mask, scores, -np.inf))]
        for how, s in ways:
            with np.errstate(invalid="ignore"):
                want = (softmax(s) @ v.astype("f8")).astype(t)
            yield (f"gpu.scaled_dot_product_attention({lua}, k, v, {{{option}{how}}})" if option + how else
                   f"gpu.scaled_dot_product_attention({lua}, k, v)", {"x": q, "k": k, "v": v, "m": mask, "a": added}, want)


def losses(r, g, dtype):
    shape = [r.choice([1, 4]), r.choice([2, 5])] + [r.choice([1, 3]) for _ in range(r.randint(0, 2))]
    x, lua, v = strided(r, g, shape, dtype)
    t = floats_of(dtype)
    f, n = v.astype("f8"), shape[1]
    log = f - f.max(1, keepdims=True)
    log = log - np.log(np.exp(log).sum(1, keepdims=True))
    classes = g.integers(1, n + 1, [shape[0]] + shape[2:])
    w, smooth = g.random(n) + 0.1, r.choice([0, 0.1])
    beside = w.reshape([-1] + [1] * (len(shape) - 2))
    hot = np.moveaxis(np.eye(n)[classes - 1], -1, 1)
    for weighed, ignored in itertools.product([False, True], [None, 1, -100]):
        c = np.where(g.random(classes.shape) < 0.3, -100, classes) if ignored == -100 else classes
        h = hot * (c == classes)[:, None]
        each = -(log * h * (beside if weighed else 1)).sum(1) * (1 - smooth) - smooth / n * (log * (beside if weighed else 1)).sum(1)
        each = np.where(c == (ignored or 10**6), 0, each)
        part = np.where(c == (ignored or 10**6), 0, (h * (beside if weighed else 1)).sum(1))
        if part.sum() == 0:
            continue
        how = (f"weight = w, " if weighed else "") + (f"ignore_index = {ignored}, " if ignored else "") + f"label_smoothing = {smooth}"
        a = {"x": x, "c": c, "w": w}
        yield f"gpu.cross_entropy({lua}, c, {{{how}, reduction = 'none'}})", a, each.astype(t)
        yield f"gpu.cross_entropy({lua}, c, {{{how}, reduction = 'sum'}})", a, each.sum()
        yield f"gpu.cross_entropy({lua}, c, {{{how}}})", a, each.sum() / part.sum()
    p = g.random(shape)
    p /= p.sum(1, keepdims=True)
    each = -(log * beside * (p * (1 - smooth) + smooth / n)).sum(1)
    yield f"gpu.cross_entropy({lua}, p, {{weight = w, label_smoothing = {smooth}, reduction = 'none'}})", {"x": x, "p": p, "w": w}, each.astype(t)
    yield f"gpu.cross_entropy({lua}, p, {{weight = w, label_smoothing = {smooth}}})", {"x": x, "p": p, "w": w}, each.mean()


def parts(r, g, dtype):
    shape = [r.choice([1, 2, 5]) for _ in range(r.randint(1, 3))]
    x, lua, v = strided(r, g, shape, dtype)
    t, axes = floats_of(dtype), r.randint(1, len(shape))
    w = g.standard_normal(shape[-axes:]).astype(t)
    f = v.astype("f8")
    size = np.sqrt((f**2).mean(tuple(range(-axes, 0)), keepdims=True) + np.finfo(t).eps)
    yield f"gpu.rms_norm({lua}, {axes})", {"x": x}, (f / size).astype(t)
    yield f"gpu.rms_norm({lua}, {{axes = {axes}, weight = w, eps = 0.5}})", {"x": x, "w": w}, \
        (f / np.sqrt(size**2 - np.finfo(t).eps + 0.5) * w).astype(t)
    i = g.integers(1, 6, (2, 3))
    table = g.standard_normal((5, 4)).astype(t)
    yield "gpu.embedding(i, w)", {"i": i, "w": table}, table[i - 1]
    axis, n, step = r.randrange(len(shape)), r.randint(1, shape[0]), r.randint(1, 3)
    n = min(n, shape[axis])
    windows = np.moveaxis(np.lib.stride_tricks.sliding_window_view(v, n, axis), axis, 0)[::step]
    want = np.zeros((len(windows) - 1) * step + n and ((len(windows) - 1) * step + n,) + tuple(np.delete(shape, axis)), v.dtype)
    for k, window in enumerate(windows):
        want[k * step : k * step + n] += np.moveaxis(window, -1, 0)
    yield f"gpu.fold({lua}:unfold({axis + 1}, {n}, {step}), {axis + 1}, {step})", {"x": x}, np.moveaxis(want, 0, axis)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [sizes, places, attentions, losses, parts])
def test_against_definitions(tmp_path, way, maker):
    cases = []
    for seed in range(rounds(20 if way == "cpu" else 6 if way == "simt" else 1)):  # kernels take their time to compile
        dtype = ["float32", "float64", "float16", "int32", "int64", "uint8"][seed % 6]
        if np.dtype(dtype).kind in "iu" and dtype != "int64" and maker is not sizes:
            dtype = "float64"  # what integers below 64 bits become is less exact than these comparisons
        cases += maker(random.Random(seed), np.random.default_rng(seed), dtype)
    compare(tmp_path, way, cases)
