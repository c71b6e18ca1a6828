"""gpu.fft on random arrays: lengths of all kinds, any axis and layout, cut, filled up and scaled. numpy.fft says what is
right."""
import random

import numpy as np
import pytest
import scipy.fft

from against import WAYS, compare, view

# One, primes with and without a pass of their own, powers, products, more than the caches hold, and Bluestein's.
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 27, 29, 31, 32, 36, 37, 62, 64, 74, 97, 100, 101, 120, 128, 211, 243, 341,
           500, 625, 961, 1000, 1009, 1024, 2310, 4096, 5000, 8192, 10007, 65536, 30030, 177147]
NORMS = ["backward", "ortho", "forward"]
LAYOUTS = [("x", lambda a: a), ("x.T", lambda a: a.T), ("x:flip()", lambda a: np.flip(a)),
           ("x['..., ::2']", lambda a: a[..., ::2]), ("x['1:2']:expand(2, 2, -1):reshape(-1, x.shape[2])",
                                                     lambda a: np.broadcast_to(a[:2], (2,) + a[:2].shape).reshape(-1, a.shape[1]))]


def numbers(g, shape, dtype):
    a = g.standard_normal(shape)
    return (a + 1j * g.standard_normal(shape) if np.dtype(dtype).kind == "c" else 10 * a).astype(dtype)


def one_axis(r, g, n):
    a = numbers(g, (r.choice([2, 3, 9, 20]) if n < 3000 else 2, n), r.choice([np.complex64, np.complex128, np.float32, np.int16]))
    code, view = r.choice(LAYOUTS[:4] if n < 3000 else LAYOUTS[:1])
    v, norm, axis = view(a), r.choice(NORMS), r.choice([-1, 0])
    length = v.shape[axis]
    wanted = r.choice([None, length, length + 3, max(1, length // 2)])
    options = f"{{n = {wanted or 'nil'}, axis = {axis if axis < 0 else axis + 1}, norm = '{norm}'}}"
    real = v.real if v.dtype.kind == "c" else v
    yield f"gpu.fft.fft({code}, {options}), gpu.fft.ifft({code}, {options}), gpu.fft.rfft(({code}).real, {options})", {"x": a}, [
        np.fft.fft(v, wanted, axis, norm), np.fft.ifft(v, wanted, axis, norm), np.fft.rfft(real, wanted, axis, norm)]
    if (wanted or 2 * (length - 1)) > 0:
        yield f"gpu.fft.irfft({code}, {options})", {"x": a}, np.fft.irfft(v, wanted, axis, norm)


def many_axes(r, g, n):
    shape = [r.choice([1, 2, 3, 5, 8, 16, 33]) for _ in range(r.choice([2, 3, 4]))]
    a, b = numbers(g, shape, r.choice([np.complex64, np.complex128])), numbers(g, shape, r.choice([np.float32, np.float64]))
    norm = r.choice(NORMS)
    yield f"gpu.fft.fft2(x), gpu.fft.ifft2(x, nil, nil, '{norm}'), gpu.fft.rfft2(y, {{5, 8}})", {"x": a, "y": b}, [
        np.fft.fft2(a), np.fft.ifft2(a, norm=norm), np.fft.rfft2(b, (5, 8))]
    axes = r.sample(range(len(shape)), r.randint(1, len(shape)))
    lua = "{" + ", ".join(str(i + 1) for i in axes) + "}"
    yield f"gpu.fft.fftn(x, {{axes = {lua}, norm = '{norm}'}}), gpu.fft.ifftn(x), gpu.fft.rfftn(y, nil, {lua})", {"x": a, "y": b}, [
        np.fft.fftn(a, axes=axes, norm=norm), np.fft.ifftn(a), np.fft.rfftn(b, axes=axes)]
    half = np.fft.rfftn(b)
    yield "gpu.fft.irfftn(x, {" + ", ".join(map(str, shape)) + "}), gpu.fft.irfft2(x, {6, 7})", {"x": half}, [
        np.fft.irfftn(half, shape), np.fft.irfft2(half, (6, 7))]
    yield f"gpu.fft.fftshift(x), gpu.fft.ifftshift(x, {lua}), gpu.fft.fftfreq({n}, 0.1, 'float64'), gpu.fft.rfftfreq({n}, 0.1, 'float64')", {
        "x": a}, [np.fft.fftshift(a), np.fft.ifftshift(a, axes), np.fft.fftfreq(n, 0.1), np.fft.rfftfreq(n, 0.1)]


def cosines(r, g, n):
    """Cosine and sine transforms, which SciPy has."""
    a = numbers(g, (r.choice([1, 3]), n, 2) if n < 3000 else (n,), r.choice([np.float32, np.float64, np.int16]))
    f = a.astype(np.float64)
    for kind in (1, 2, 3, 4):
        norm, axis = r.choice(NORMS), r.randrange(a.ndim)
        n = r.choice([None, a.shape[axis], a.shape[axis] + 3, max(1, a.shape[axis] // 2)])
        for name in ("dct", "idct", "dst", "idst"):
            if name.endswith("ct") and kind == 1 and (n or a.shape[axis]) < 2:
                continue
            yield (f"gpu.fft.{name}(x, {kind}, {n or 'nil'}, {axis + 1}, '{norm}')", {"x": a},
                   getattr(scipy.fft, name)(f, kind, n, axis, norm))
        axes = r.sample(range(a.ndim), r.randint(1, a.ndim))
        if kind > 1:
            lua = "{" + ", ".join(str(i + 1) for i in axes) + "}"
            for name in ("dctn", "idctn", "dstn", "idstn"):
                yield (f"gpu.fft.{name}(x, {{type = {kind}, axes = {lua}, norm = '{norm}'}})", {"x": a},
                       getattr(scipy.fft, name)(f, kind, axes=axes, norm=norm))


def conjugates(r, g, n):
    a, norm = numbers(g, (2, n), r.choice([np.complex64, np.complex128, np.float32])), r.choice(NORMS)
    if n > 1:
        yield f"gpu.fft.hfft(x, nil, 2, '{norm}')", {"x": a}, np.fft.hfft(a, norm=norm)
    yield f"gpu.fft.hfft(x, 5, 1), gpu.fft.ihfft(x.real, {{norm = '{norm}'}})", {"x": a}, [
        np.fft.hfft(a, 5, 0), np.fft.ihfft(a.real, norm=norm)]


def far_apart(r, g, n):
    """Rows whose elements are far apart in memory, of lengths around which they are done in other ways."""
    for length in (2048, 4096, 30000):
        a = numbers(g, (length, 19), np.complex64)
        yield "gpu.fft.fft(x, nil, 1), gpu.fft.ifft(x, nil, 1)", {"x": a}, [np.fft.fft(a, axis=0), np.fft.ifft(a, axis=0)]


@pytest.mark.parametrize("maker", [one_axis, many_axes, cosines, conjugates, far_apart])
@pytest.mark.parametrize("way", WAYS)
def test_against_numpy(tmp_path, way, maker):
    cases = []
    lengths = LENGTHS[:1] if maker is far_apart else LENGTHS if way == "cpu" else LENGTHS[::4]
    if maker is cosines:
        lengths = lengths[::3] if way == "cpu" else LENGTHS[2:30:9]
    for seed, n in enumerate(lengths):
        r, g = random.Random(seed), np.random.default_rng(seed)
        cases += maker(r, g, n)
    compare(tmp_path, way, cases)
