"""Filters of Chebyshev and Cauer, responses, smoothing, peaks and signals at other rates: SciPy says what is right."""
import random

import numpy as np
import pytest
import scipy.signal

from against import WAYS, compare, rounds
from bands import KINDS, edges


def strided(r, g, shape, dtype):
    x = (g.standard_normal([2 * n for n in shape]) * 20).astype(dtype)
    lua = "x['" + ", ".join(["::2"] * len(shape)) + "']"
    v = x[tuple(slice(None, None, 2) for _ in shape)]
    return x, lua, v, v.astype("f8") if v.dtype != np.float32 else v


def responses(r, g):
    """Sections may be put together in other ways: what they let through, and make of a signal, is the same."""
    for kind in KINDS:
        order, fs = r.randint(1, 9), r.choice([1, 2, 100])
        edge, lua = edges(r, kind, fs)
        rp, rs = r.choice([0.1, 1, 3]), r.choice([20, 40, 70])
        for name, losses in [("cheby1", [rp]), ("cheby2", [rs]), ("ellip", [rp, rs]), ("butter", [])]:
            sos = getattr(scipy.signal, name)(order, *losses, edge, kind, output="sos", fs=fs)
            w, h = scipy.signal.sosfreqz(sos, 64, fs=fs)
            last = ", ".join(map(str, [order, *losses])) + f", {lua}, '{kind}', {fs}"
            yield f"gpu.sosfreqz(gpu.{name}({last}), {{n = 64, fs = {fs}}})", {}, (w, h)
        x = g.standard_normal(100)
        sos = scipy.signal.ellip(min(order, 4), rp, rs, edge, kind, output="sos", fs=fs)
        yield f"gpu.sosfilt(gpu.ellip({min(order, 4)}, {rp}, {rs}, {lua}, {{kind = '{kind}', fs = {fs}}}), x)", {"x": x}, scipy.signal.sosfilt(sos, x)
    b, a = g.standard_normal(r.randint(1, 40)), np.concatenate([[2.0], g.standard_normal(r.randint(0, 4)) * 0.2])
    whole = r.random() < 0.5
    n = r.randint(1, 100)
    yield f"gpu.freqz(b, a, {n}, {str(whole).lower()})", {"b": b, "a": a}, scipy.signal.freqz(b, a, n, whole)
    f = g.uniform(0, 50, 7)
    yield "gpu.freqz(b, {n = f, fs = 100})", {"b": b, "f": f}, scipy.signal.freqz(b, 1, f, fs=100)
    yield "gpu.sosfreqz(s, f)", {"s": sos, "f": f}, scipy.signal.sosfreqz(sos, f)


def smoothed(r, g):
    for dtype in ["float64", "float32", "int64"]:
        shape = [r.choice([3, 40, 61]) if i == 0 else r.randint(1, 3) for i in range(r.randint(1, 3))]
        r.shuffle(shape)
        axis = int(np.argmax(shape))
        x, lua, v, f = strided(r, g, shape, dtype)
        window = min(2 * r.randint(0, 9) + 1, shape[axis] - 1 + shape[axis] % 2)
        order = r.randint(0, min(window - 1, 6))
        deriv, delta = r.randint(0, order + 1), r.choice([1, 0.5])
        for mode in ["interp", "mirror", "constant", "nearest", "wrap"]:
            want = scipy.signal.savgol_filter(f, window, order, deriv, delta, axis, mode, 2.5)
            yield (f"gpu.savgol_filter({lua}, {window}, {order}, {{deriv = {deriv}, delta = {delta}, axis = {axis + 1}, "
                   f"mode = '{mode}', cval = 2.5}})"), {"x": x}, want
        pos = r.randint(1, window)
        yield f"gpu.savgol_coeffs({window}, {order}, {{deriv = {deriv}, delta = {delta}, pos = {pos}}})", {}, \
            scipy.signal.savgol_coeffs(window, order, deriv, delta, pos=pos - 1)
        sizes = [2 * r.randint(0, 2) + 1 for _ in shape]
        yield f"gpu.medfilt({lua}, {{{', '.join(map(str, sizes))}}})", {"x": x}, scipy.signal.medfilt(v, sizes)
        n = shape[axis]
        breaks = sorted(r.sample(range(1, n), min(n - 1, 2)))
        for kind in ["linear", "constant"]:
            yield f"gpu.detrend({lua}, {axis + 1}, '{kind}')", {"x": x}, scipy.signal.detrend(f, axis, kind)
            yield (f"gpu.detrend({lua}, {{axis = {axis + 1}, kind = '{kind}', breaks = {{{', '.join(str(k + 1) for k in breaks)}}}}})",
                   {"x": x}, scipy.signal.detrend(f, axis, kind, breaks) if kind == "linear" else
                   np.concatenate([p - p.mean(axis, keepdims=True) for p in np.split(f, breaks, axis)], axis))


def rates(r, g):
    for dtype in ["float64", "float32", "int64"]:
        shape = [r.choice([30, 47, 64]) if i == 0 else r.randint(1, 3) for i in range(r.randint(1, 3))]
        r.shuffle(shape)
        axis = int(np.argmax(shape))
        x, lua, v, f = strided(r, g, shape, dtype)
        for to in r.sample([1, 2, 20, 21, 64, 100, 101], 3):
            yield f"gpu.resample({lua}, {to}, {axis + 1})", {"x": x}, scipy.signal.resample(f, to, axis=axis)
            z = g.standard_normal(shape) + 1j * g.standard_normal(shape)
            yield f"gpu.resample(z, {to}, {axis + 1})", {"z": z}, scipy.signal.resample(z, to, axis=axis)
        for up, down in r.sample([(1, 2), (3, 1), (3, 2), (2, 7), (10, 4), (160, 147), (5, 5), (7, 100)], 3):
            yield f"gpu.resample_poly({lua}, {up}, {down}, {axis + 1})", {"x": x}, scipy.signal.resample_poly(f, up, down, axis)
            h = g.standard_normal(r.choice([1, 2, 9, 50]))
            yield f"gpu.upfirdn(h, {lua}, {up}, {down}, {axis + 1})", {"x": x, "h": h}, \
                scipy.signal.upfirdn(h.astype(f.dtype), f, up, down, axis)
            if up % down:
                yield f"gpu.resample_poly({lua}, {up}, {down}, {{axis = {axis + 1}, window = h}})", {"x": x, "h": h}, \
                    scipy.signal.resample_poly(f, up, down, axis, h.astype(f.dtype))
        long, q = (g.standard_normal((2, 300)) * 9).astype(dtype), r.choice([1, 2, 3, 7])
        wide = long if dtype == "float32" else long.astype("f8")
        for kind in ["iir", "fir"]:
            for still in [True, False]:
                if q == 1 and kind == "iir":
                    continue
                yield f"gpu.decimate(x, {q}, {{ftype = '{kind}', zero_phase = {str(still).lower()}}})", {"x": long}, \
                    scipy.signal.decimate(wide, q, ftype=kind, zero_phase=still) if q > 1 else wide
    t, w = np.sort(g.uniform(0, 30, 50)), g.uniform(0.1, 9, 20)
    y = np.sin(t * 2) + g.standard_normal(50)
    yield "gpu.lombscargle(t, y, w)", {"t": t, "y": y, "w": w}, scipy.signal.lombscargle(t, y, w)


def waves(r, g):
    t = g.uniform(-1, 9, 60)
    f0, t1, f1, phi = r.choice([1.0, 20.0]), r.choice([2.5, 10.0]), r.choice([1.0, 7.0]), r.choice([0, 30.0])
    for method in ["linear", "quadratic", "logarithmic", "hyperbolic"]:
        yield f"gpu.chirp(t, {f0}, {t1}, {f1}, '{method}', {phi})", {"t": t}, scipy.signal.chirp(t, f0, t1, f1, method, phi)
    for part in [0, 0.3, 0.5, 1]:
        yield f"gpu.sawtooth(t, {part})", {"t": t}, scipy.signal.sawtooth(t, part)
        yield f"gpu.square_wave(t, {part})", {"t": t}, scipy.signal.square(t, part)
    yield "gpu.chirp(t, 1, 2, 3), gpu.sawtooth(t), gpu.square_wave(t)", {"t": t.astype("f")}, \
        tuple(v.astype("f") for v in (scipy.signal.chirp(t.astype("f").astype("f8"), 1, 2, 3), scipy.signal.sawtooth(t), scipy.signal.square(t)))


NAMES = ["plateau_sizes", "left_edges", "right_edges", "peak_heights", "left_thresholds", "right_thresholds", "prominences", "left_bases",
         "right_bases", "widths", "width_heights", "left_ips", "right_ips"]


def peaks(r, g):
    for k in range(20):
        n = r.choice([0, 1, 2, 3, 10, 100, 400])
        x = g.standard_normal(2 * n)
        x = np.round(x * 2) if r.random() < 0.5 else x
        v = x[::2]
        if r.random() < 0.2:
            v[g.random(n) < 0.1] = np.nan
        asked, lua = {}, []
        for name, values in [("height", [0, (-1, 1)]), ("threshold", [0.1, (0, 2)]), ("prominence", [0.5, (0, 3)]), ("width", [1, (0, 4.5)]),
                             ("plateau_size", [1, (1, 2)]), ("wlen", [5, 20.5]), ("rel_height", [0.2, 1]), ("distance", [1, 2.5, 7])]:
            if r.random() < 0.4:
                asked[name] = r.choice(values)
                lua.append(f"{name} = " + (f"{{{asked[name][0]}, {asked[name][1]}}}" if isinstance(asked[name], tuple) else str(asked[name])))
        if "distance" in asked and len(np.unique(v)) < v.size:
            lua = [w for w in lua if not w.startswith("distance")]  # which of two that are as high stays is not said
            del asked["distance"]
        with np.errstate(invalid="ignore"), pytest.MonkeyPatch.context():
            at, known = scipy.signal.find_peaks(v, **asked)
        wants = [at + 1] + [known[name] + (name.endswith(("edges", "bases", "ips"))) for name in NAMES if name in known]
        names = ", ".join(f"'{name}'" for name in NAMES)
        yield (f"(function() local at, known = gpu.find_peaks(x['::2'], {{{', '.join(lua)}}}) local all = {{at}} "
               f"for _, name in ipairs{{{names}}} do all[#all + 1] = known[name] end return table.unpack(all) end)()"
               if n else "gpu.find_peaks(x)"), {"x": x}, wants if n else [at]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [responses, smoothed, rates, waves, peaks])
def test_against_scipy(tmp_path, way, maker):
    cases = []
    for k in range(rounds(12 if way == "cpu" else 4 if way == "simt" else 1)):
        cases += maker(random.Random(k), np.random.default_rng(k))
    compare(tmp_path, way, cases)
