"""Filters by design, spectra and normalizations: SciPy and NumPy say what is right."""
import random

import numpy as np
import pytest
import scipy.signal

from against import WAYS, compare, view
from bands import KINDS, edges

DTYPES = ["float64", "float32", "int32", "uint8", "float16", "int64"]


def designs(r, g):
    for kind in KINDS:
        order, fs = r.randint(1, 6), r.choice([1, 2, 100])
        edge, lua = edges(r, kind, fs)
        x = g.standard_normal((3, 200))
        sos = scipy.signal.butter(order, edge, kind, output="sos", fs=fs)
        yield f"gpu.sosfilt(gpu.butter({order}, {lua}, '{kind}', {fs}), x)", {"x": x}, scipy.signal.sosfilt(sos, x)
        yield f"gpu.sosfilt(s, x:to('float32').T, {{axis = 1}})", {"x": x, "s": sos}, scipy.signal.sosfilt(sos, x.astype("f").T, 0)
        taps = 2 * r.randint(1, 20) + 1
        window = r.choice(["hann", "hamming", "blackman", "boxcar"])
        want = scipy.signal.firwin(taps, edge, window=window, pass_zero=kind, fs=fs)
        yield f"gpu.firwin({taps}, {lua}, {{kind = '{kind}', fs = {fs}, window = '{window}'}})", {}, want
    for f in ["iirnotch", "iirpeak"]:
        at, quality, fs = r.uniform(0.01, 0.49), r.uniform(1, 60), r.choice([1, 2, 1000])
        want = np.concatenate(getattr(scipy.signal, f)(at * fs, quality, fs))[None]
        yield f"gpu.{f}({at * fs!r}, {quality!r}, {fs}), gpu.{f}({at * 2!r}, {quality!r})", {}, (want, want)
    for n, k in [(9, 4), (4, 4), (3, 4), (200, 1)]:
        y, h = g.standard_normal(n), g.standard_normal(k)
        h[0] = 4
        yield "gpu.deconvolve(y, h)", {"y": y, "h": h}, scipy.signal.deconvolve(y, h) if n >= k else (np.zeros(0), y)
    z = g.standard_normal(5) + 1j * g.standard_normal(5)
    yield "gpu.poly(z), gpu.poly(z.real), gpu.poly(p)", {"z": z, "p": np.concatenate([z, z.conj(), [2]])}, (
        np.poly(z), np.poly(z.real), np.poly(np.concatenate([z, z.conj(), [2]])))
    yield "gpu.firwin(6, 0.3), gpu.butter(1, 0.5)", {}, (scipy.signal.firwin(6, 0.3), scipy.signal.butter(1, 0.5, output="sos"))


def sections(r, g):
    for dtype in ["float64", "float32", "int32"]:
        order, shape = r.randint(1, 6), [r.randint(1, 3), 80, r.randint(1, 2)]
        kind = r.choice(["lowpass", "highpass", "bandpass", "bandstop"])
        s = scipy.signal.butter(order, [0.2, 0.6] if kind.startswith("band") else 0.3, kind, output="sos")
        axis = r.randrange(3)
        x = (g.standard_normal([shape[(i - axis + 1) % 3] for i in range(3)]) * 9).astype(dtype)
        f = x.astype("f4" if dtype == "float32" else "f8")
        wide = "x" if dtype == "float32" else "x:to('float64')"
        state = g.standard_normal((len(s), *[2 if i == axis else n for i, n in enumerate(x.shape)]))
        yield f"gpu.sosfilt(s, {wide}, {{axis = {axis + 1}, zi = z}})", {"s": s, "x": x, "z": state}, \
            scipy.signal.sosfilt(s, f.astype("f8"), axis, state)
        yield f"gpu.sosfiltfilt(s, {wide}, {axis + 1})", {"s": s, "x": x}, scipy.signal.sosfiltfilt(s, f, axis)
        n = r.randint(0, 70)
        yield f"gpu.sosfiltfilt(s, {wide}, {{axis = {axis - 3}, padlen = {n}}})", {"s": s, "x": x}, \
            scipy.signal.sosfiltfilt(s, f, axis, padlen=n) if n else scipy.signal.sosfiltfilt(s, f, axis, padtype=None)


def frames(v, n, step, window, center):
    """As torch.stft has it."""
    if center:
        v = np.pad(v, [(0, 0)] * (v.ndim - 1) + [(n // 2, n // 2)], "reflect")
    parts = np.lib.stride_tricks.sliding_window_view(v, n, -1)[..., ::step, :]
    return np.swapaxes(np.fft.rfft(parts * window), -1, -2)


def there_and_back(r, g):
    for dtype in ["float64", "float32", "int16"]:
        batch = tuple(r.choice([1, 2, 3]) for _ in range(r.randint(0, 2)))
        length, n, center = r.randint(60, 200), r.randint(1, 50), r.random() < 0.7
        step, name = r.randint(1, n), r.choice(["hann", "hamming", "blackman", "boxcar"])
        x = (g.standard_normal(batch + (2 * length,)) * 50).astype(dtype)
        v = x[..., ::2].astype("f4" if dtype == "float32" else "f8")
        lua = "x[{" + "{}, " * len(batch) + "{1, -1, 2}}]"
        lua = lua if dtype == "float32" else lua + ":to('float64')"
        window = scipy.signal.get_window(name, n) if n > 1 else np.ones(1)
        how = f"n = {n}, step = {step}, center = {str(center).lower()}, window = "
        want = frames(v.astype("f8"), n, step, window, center)
        yield f"gpu.stft({lua}, {{{how}'{name}'}})", {"x": x}, want
        yield f"gpu.stft({lua}, {{{how}w}})", {"x": x, "w": window}, want
        w = window + 0.5
        spectra = frames(v.astype("f8"), n, step, w, center)
        reach = (spectra.shape[-1] - 1) * step + n - (n // 2 if center else 0)
        known = min(length, reach)
        yield f"gpu.istft(s, {{{how}w, length = {known}}})", {"s": spectra, "w": w}, v[..., :known]
        # What nearest means: of spectra that no signal has, by least squares over all frames.
        n, step, count = r.choice([4, 6, 7]), r.randint(1, 3), r.randint(1, 4)
        s = (g.standard_normal((n // 2 + 1, count)) + 1j * g.standard_normal((n // 2 + 1, count)))
        total, w = (count - 1) * step + n, g.random(n) + 0.1
        rows = np.concatenate([np.diag(w) @ np.eye(total)[k * step : k * step + n] for k in range(count)])
        right = np.fft.irfft(s.T, n).ravel()
        yield f"gpu.istft(s, {n}, {step}, w, false)", {"s": s, "w": w}, np.linalg.lstsq(rows, right)[0]
    t = g.standard_normal((2, 400)) * 20
    n, fs = r.randint(2, 90), r.choice([1, 44.1])
    step = r.randint(1, n)
    want = scipy.signal.spectrogram(t, fs, "hann", n, n - step, detrend="constant")
    yield f"gpu.spectrogram(t, {fs}, {n}, {step})", {"t": t}, want
    want = scipy.signal.welch(t, fs, np.arange(1, n + 1), n, n - step)
    yield f"gpu.welch(t, {fs}, {n}, {step}, gpu.range({n}))", {"t": t}, want
    u = (np.roll(t, 3, -1) + g.standard_normal(t.shape)).astype(t.dtype)
    for f in ["csd", "coherence"]:
        want = getattr(scipy.signal, f)(t.astype(float), u.astype(float), fs, "hann", n, n - step)
        yield f"gpu.{f}(t:to('float64'), u:to('float64'), {fs}, {n}, {step})", {"t": t, "u": u}, want


def spectra(r, g):
    for dtype in ["float64", "float32", "int32", "uint8"]:
        x, lua, v = view(r, g, dtype)
        axis = r.randrange(v.ndim)
        f = v.astype(np.float32 if dtype == "float32" else np.float64)
        x = x.astype(np.float64) if dtype == "int32" else x  # 32 bits of integers become floats of 32
        want = scipy.signal.hilbert(f, axis=axis)
        wide = lua if dtype == "float32" else f"{lua}:to('float64')"
        yield f"gpu.hilbert({wide}, {axis + 1})", {"x": x}, want
        t = (g.standard_normal((2, 300)) * 20).astype(dtype if dtype != "uint8" else "int16")
        n, overlap, fs = r.randint(2, 90), r.random() * 0.9, r.choice([1, 44.1])
        step, window = max(1, int(n * (1 - overlap))), r.choice(["hann", "hamming", "blackman", "boxcar"])
        want = scipy.signal.welch(t.astype(np.float64), fs, window, n, n - step)
        yield f"gpu.welch(t:to('float64'), {fs}, {n}, {step}, '{window}')", {"t": t}, want
    t = g.standard_normal(700)
    yield "gpu.welch(t)", {"t": t}, scipy.signal.welch(t)
    yield "gpu.welch(t, {fs = 10})", {"t": t[:100]}, scipy.signal.welch(t[:100], 10, nperseg=100)


def norm(v, axes, eps=1e-5):
    return (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + eps)


def normalizations(r, g):
    for dtype in DTYPES:
        x, lua, v = view(r, g, dtype)
        f, n = v.astype(np.float64), r.randint(1, v.ndim)
        axes = tuple(range(v.ndim - n, v.ndim))
        wide = np.float64 if dtype == "float64" else np.float32
        w, b = (g.standard_normal(v.shape[v.ndim - n:]).astype(wide) for _ in range(2))
        yield f"gpu.layer_norm({lua}, {n}, w, b)", {"x": x, "w": w, "b": b}, norm(f, axes) * w + b
        yield f"gpu.layer_norm({lua}, {{eps = 0.5}})", {"x": x}, norm(f, -1, 0.5)
        groups, each = r.choice([1, 2, 3]), r.choice([1, 2])
        shape = (r.randint(1, 3), groups * each, *[r.randint(1, 4) for _ in range(r.randint(0, 2))])
        y = g.integers(0, 9, shape).astype(dtype)
        w, b = (g.standard_normal(groups * each).astype(wide) for _ in range(2))
        beside = (-1,) + (1,) * (y.ndim - 2)
        ww, bb = w.reshape(beside), b.reshape(beside)
        parts = norm(y.astype(np.float64).reshape(shape[0], groups, -1), -1).reshape(shape)
        yield f"gpu.group_norm(y, {groups}, w, b)", {"y": y, "w": w, "b": b}, parts * ww + bb
        others = tuple(a for a in range(y.ndim) if a != 1)
        yield "gpu.batch_norm(y, {weight = w})", {"y": y, "w": w}, norm(y.astype(np.float64), others) * ww
        want = (y - ww) / np.sqrt(np.abs(bb) + 1e-5) + bb
        yield "gpu.batch_norm(y, w, b:abs(), nil, b)", {"y": y, "w": w, "b": b}, want


def pixels(r, g):
    for dtype in DTYPES:
        f, c, h, w = r.randint(1, 3), r.randint(1, 3), r.randint(1, 4), r.randint(1, 4)
        batch = tuple(r.randint(0, 2) for _ in range(r.randint(0, 2)))
        x = g.integers(0, 100, batch + (c * f * f, h, w)).astype(dtype)
        n = len(batch)
        order = tuple(range(n)) + tuple(n + k for k in (0, 3, 1, 4, 2))
        y = x.reshape(batch + (c, f, f, h, w)).transpose(order).reshape(batch + (c, h * f, w * f))
        yield f"gpu.pixel_shuffle(x, {f}), gpu.pixel_unshuffle(y, {f})", {"x": x, "y": y}, (y, x)


def pooled(v, sizes, f):
    for axis, m in enumerate(sizes, v.ndim - len(sizes)):
        n = v.shape[axis]
        parts = [v.take(range(i * n // m, -(-(i + 1) * n // m)), axis) for i in range(m)]
        v = np.stack([f(p, axis) for p in parts], axis)
    return v


def pools(r, g):
    for dtype in DTYPES:
        dims = r.choice([1, 2, 2, 3])
        batch = tuple(r.randint(0, 3) for _ in range(r.randint(1, 2)))
        extent, sizes = [r.randint(1, 9) for _ in range(dims)], [r.randint(1, 11) for _ in range(dims)]
        if r.random() < 0.3:
            extent = [n * r.randint(1, 3) for n in sizes]
        x = g.integers(0, 100, batch + tuple(extent[::-1])).astype(dtype)
        x[g.random(x.shape) < 0.05] = np.inf if x.dtype.kind == "f" else 0
        turned = tuple(range(len(batch))) + tuple(range(x.ndim - 1, len(batch) - 1, -1))
        lua = "x:permute(" + ", ".join(str(a + 1) for a in turned) + ")"
        v, list_ = x.transpose(turned), "{" + ", ".join(map(str, sizes)) + "}"
        if batch[-1] or r.random() < 0.1:
            f = v.astype("f4" if dtype == "float16" else "f8")
            yield f"{lua}:adaptive_avg_pool{dims}d({list_})", {"x": x}, pooled(f, sizes, np.mean)
            yield f"gpu.adaptive_max_pool{dims}d({lua}, {list_})", {"x": x}, pooled(v, sizes, np.max)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [designs, sections, spectra, there_and_back, normalizations, pixels, pools])
def test_against_scipy(tmp_path, way, maker):
    cases = []
    for k in range(4 if way == "cpu" else 1):
        cases += maker(random.Random(k), np.random.default_rng(k))
    compare(tmp_path, way, cases)
