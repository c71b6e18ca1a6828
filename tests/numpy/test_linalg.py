"""gpu.linalg, matmul, einsum and the elementwise functions that NumPy has, on random arrays: NumPy says what is right."""
import random

import numpy as np
import pytest
from scipy.linalg import expm, lu, null_space, orth, toeplitz

from against import WAYS, compare, rounds


def batch(r):
    return tuple(r.choice([1, 2, 3]) for _ in range(r.choice([0, 0, 1, 2])))


def regular(g, shape, dtype):
    """Matrices far from singular, so that no rounding of one LAPACK or another shows."""
    return (0.3 * g.standard_normal(shape) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def dtype_of(x, dtype):
    return np.dtype(dtype).type(x)


def systems(r, g, dtype):
    n, k = r.choice([1, 2, 3, 7, 40]), r.choice([1, 2, 5])
    b = batch(r)
    a, right = regular(g, b + (n, n), dtype), g.standard_normal(b + (n, k)).astype(dtype)
    order = r.choice([1, -1, 2, -2, "fro", np.inf, -np.inf])
    lua_order = {np.inf: "math.huge", -np.inf: "-math.huge", "fro": "'fro'"}.get(order, str(order))
    power = r.randint(-2, 5)
    sign, log = np.linalg.slogdet(a)
    symmetric = a + np.swapaxes(a, -1, -2)
    positive = a @ np.swapaxes(a, -1, -2)
    yield "la.solve(a, b)", {"a": a, "b": right}, np.linalg.solve(a, right)
    yield "la.inv(a)", {"a": a}, np.linalg.inv(a)
    yield "la.det(a / 4)", {"a": a}, np.linalg.det(a / 4) if n < 20 else None
    yield "la.slogdet(a)", {"a": a}, (sign, log)
    yield "la.cholesky(a)", {"a": positive}, np.linalg.cholesky(positive)
    yield "la.eigvalsh(a)", {"a": symmetric}, np.linalg.eigvalsh(symmetric)
    yield f"la.cond(a, {lua_order})", {"a": a}, np.linalg.cond(a, order)
    yield f"la.norm(a, {lua_order}, {{-2, -1}})", {"a": a}, np.linalg.norm(a, order, (-2, -1))
    yield f"la.matrix_power(a / {n}, {power})", {"a": a}, np.linalg.matrix_power(a / n, power)
    yield "la.trace(a)", {"a": a}, np.trace(a, axis1=-2, axis2=-1)
    scale = r.choice([0.01, 1, 30]) / n
    yield f"la.expm(a * {scale})", {"a": a - n * np.eye(n, dtype=dtype)}, expm((a - n * np.eye(n, dtype=dtype)) * dtype_of(scale, dtype))


def rectangles(r, g, dtype):
    b, m, n = batch(r), r.choice([1, 2, 5, 9]), r.choice([1, 2, 5, 9])
    u, _, vt = np.linalg.svd(g.standard_normal(b + (m, n)), full_matrices=False)
    a = ((u * np.arange(1, min(m, n) + 1)) @ vt).astype(dtype)
    yield "la.svdvals(a)", {"a": a}, np.linalg.svd(a, compute_uv=False)
    yield "la.pinv(a)", {"a": a}, np.linalg.pinv(a)
    yield "la.matrix_rank(a)", {"a": a}, np.linalg.matrix_rank(a)
    # signs are the factorisation's own choice, and the same LAPACK makes the same
    q, upper = np.linalg.qr(a)
    yield "(la.qr(a)):abs()", {"a": a}, np.abs(q)
    yield "(select(2, la.qr(a))):abs()", {"a": a}, np.abs(upper)
    one, right = a[(0,) * len(b)], g.standard_normal((m, 2)).astype(dtype)
    x, _, rank, s = np.linalg.lstsq(one, right, rcond=None)
    yield "la.lu(a)", {"a": a}, lu(a)
    short = one.copy()
    short[-1] = short[0] * (m > 1)
    for name, of in (("null_space", null_space), ("orth", orth)):  # the vectors are one of many choices, what they span is not
        z = of(short, 1e-3)
        yield f"(function() local z = la.{name}(a, 1e-3) return z:matmul(z.T:conj()) end)()", {"a": short}, z @ z.conj().T
    column, row = g.standard_normal((2, m)).astype(dtype), g.standard_normal(n).astype(dtype)
    yield "la.toeplitz(c, r), la.toeplitz(c)", {"c": column[0], "r": row}, (toeplitz(column[0], row), toeplitz(column[0]))
    wide = regular(g, (6, 6), dtype).reshape(2, 3, 3, 2)
    yield "la.tensorsolve(a, b)", {"a": wide, "b": wide[..., 0, 0]}, np.linalg.tensorsolve(wide, wide[..., 0, 0])
    yield "la.tensorinv(a), la.tensorinv(a:reshape(6, 1, 6), 1)", {"a": wide}, (
        np.linalg.tensorinv(wide), np.linalg.tensorinv(wide.reshape(6, 1, 6), 1))
    yield "la.lu(a)", {"a": a + 1j * a[..., ::-1]}, lu(a + 1j * a[..., ::-1])
    yield "la.lstsq(a, b)", {"a": one, "b": right}, (x, ((right - one @ x) ** 2).sum(0), rank, s)


def products(r, g, dtype):
    m, k, n = (r.choice([1, 2, 5, 33]) for _ in range(3))
    b = batch(r)
    left, right = g.standard_normal(b + (m, k)).astype(dtype), g.standard_normal(b[1:] + (k, n)).astype(dtype)
    yield "gpu.matmul(a, b)", {"a": left, "b": right}, left @ right
    yield "gpu.dot(a, b)", {"a": left, "b": right}, np.dot(left, right)
    yield "gpu.inner(a, b:transpose(-1, -2))", {"a": left, "b": right}, np.inner(left, np.swapaxes(right, -1, -2))
    yield "gpu.outer(a, b)", {"a": left[..., :1], "b": right[..., :1, :]}, np.outer(left[..., :1], right[..., :1, :])
    u, v = g.standard_normal((2, 3)).astype(dtype), g.standard_normal((3, 1, 2)).astype(dtype)
    yield "gpu.kron(a, b)", {"a": u, "b": v}, np.kron(u, v)
    sizes = [r.choice([1, 2, 5, 9]) for _ in range(r.randint(3, 7))]
    chain = [g.standard_normal(s).astype(dtype) for s in zip(sizes, sizes[1:])]
    if r.random() < 0.5:
        chain[0] = chain[0][0]
    if r.random() < 0.5:
        chain[-1] = chain[-1][:, 0]
    names = {f"m{i}": m for i, m in enumerate(chain)}
    yield f"la.multi_dot{{{', '.join(names)}}}", names, np.linalg.multi_dot(chain)
    yield "gpu.tensordot(a, b, {1, -1})", {"a": u, "b": v}, np.tensordot(u, v, (0, 2))


def einsums(r, g, dtype):
    """Random texts: every array takes some letters, every result some of those."""
    letters = "abcdef"
    sizes = {c: r.choice([1, 2, 3, 4]) for c in letters}
    parts = ["".join(r.choices(letters, k=r.randint(1, 3))) for _ in range(r.randint(1, 4))]
    result = r.sample(sorted(set("".join(parts))), r.randint(0, len(set("".join(parts)))))
    text = ",".join(parts) + r.choice(["", "->" + "".join(result)])
    arrays = {f"x{i}": g.standard_normal([sizes[c] for c in p]).astype(dtype) for i, p in enumerate(parts)}
    yield f"gpu.einsum('{text}', {', '.join(arrays)})", arrays, np.einsum(text, *arrays.values())


def sums(r, g, dtype):
    """Of whole numbers, which wrap as NumPy's do."""
    t = r.choice(["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
    shape = r.choice([(3, 5), (1000, 3), (70, 700), (2, 9000)])
    x = g.integers(np.iinfo(t).min, np.iinfo(t).max, shape, t, True)
    for text in ("ij->i", "ij->j", "ij->", "ji->i"):
        got = f"gpu.einsum('{text}', x)" if text != "ij->" else f"gpu.array({{gpu.einsum('{text}', x)}}, '{t}')"
        yield got, {"x": x}, np.einsum(text, x) if text != "ij->" else np.einsum(text, x)[None]
    yield "gpu.einsum('ij->i', x.T)", {"x": x}, np.einsum("ij->i", x.T)


def elementwise(r, g, dtype):
    x, y = (g.standard_normal((3, 50)).astype(dtype) * 5 for _ in range(2))
    x[0, :4], y[0, :4] = [0.0, np.inf, -np.inf, np.nan], [1.0, 0.0, -np.inf, 2.0]
    i, j = (g.integers(-60, 60, 200) for _ in range(2))
    with np.errstate(all="ignore"):
        for name in ("logaddexp", "logaddexp2", "copysign", "heaviside", "fmin", "fmax"):
            yield f"x:{name}(y)", {"x": x, "y": y}, getattr(np, name)(x, y)
        for name in ("sinc", "deg2rad", "rad2deg"):
            yield f"x:{name}()", {"x": x[1:]}, getattr(np, name)(x[1:])
        for name in ("isposinf", "isneginf", "signbit"):
            yield f"x:{name}():to('int32')", {"x": x}, getattr(np, name)(x).astype(np.int32)
        for name in ("gcd", "lcm"):
            yield f"i:{name}(j)", {"i": i, "j": j}, getattr(np, name)(i, j)
        yield "x:ldexp(y)", {"x": x[1:], "y": np.trunc(y[1:])}, np.ldexp(x[1:], y[1:].astype(int))


MAKERS = [systems, rectangles, products, einsums, sums, elementwise]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", MAKERS)
def test_against_numpy(tmp_path, way, maker):
    cases = []
    for seed in range(rounds((60 if way != "generated" else 12) if maker is einsums else 6)):
        r, g = random.Random(seed), np.random.default_rng(seed)
        cases += maker(r, g, "float32" if seed % 2 else "float64")
    compare(tmp_path, way, [c for c in cases if c[2] is not None])


def laid_out(r, g, shape, dtype):
    """An array of small whole numbers as x lies in a file, Lua's view of it under that name, and NumPy's."""
    how = r.choice(["plain", "turned", "apart", "backwards"])
    big = [*shape[:-2], *shape[:-3:-1]] if how == "turned" else [*shape[:-1], 2 * shape[-1]] if how == "apart" else shape
    x = g.integers(0 if dtype[0] == "u" else -3, 4, big).astype(dtype)
    if x.dtype.kind == "c":
        x = x + x.dtype.type(1j) * g.integers(-3, 4, big).astype(dtype)
    if how == "turned":
        return x, "{}:transpose(-1, -2)", x.swapaxes(-1, -2)
    if how == "apart":
        return x, "{}['..., ::2']", x[..., ::2]
    return (x, "{}:flip(-1)", x[..., ::-1]) if how == "backwards" else (x, "{}", x)


def products_of(r, g, dtype):
    """Products of every layout: small ones in batches, with one row or one column, long sums, and large ones."""
    n = lambda *sizes: r.choice(sizes)
    many = r.random() < 0.4
    rows, inner, columns = (n(1, 2, 3, 4, 8), n(1, 3, 5, 8, 21), n(1, 2, 3, 4, 7, 8)) if many else (n(1, 7, 16, 33, 100), n(1, 9, 64, 700), n(1, 5, 16, 31, 70))
    batch = (n(5, 300),) if many else ()
    x, a, left = laid_out(r, g, (*batch, rows, inner), dtype)
    y, b, right = laid_out(r, g, (*(batch if r.random() < 0.6 else ()), inner, columns), dtype)
    yield f"{a.format('x')}:matmul({b.format('y')})", {"x": x, "y": y}, left @ right
    yield f"{a.format('x')}:matmul({a.format('x')}:transpose(-1, -2))", {"x": x}, left @ left.swapaxes(-1, -2)
    yield f"{a.format('x')}:transpose(-1, -2):matmul({a.format('x')})", {"x": x}, left.swapaxes(-1, -2) @ left
    yield f"gpu.einsum('...i,...i->...', {a.format('x')}, {a.format('x')})", {"x": x}, np.einsum("...i,...i->...", left, left)
    vector = g.integers(0 if dtype[0] == "u" else -3, 4, inner).astype(dtype)
    yield f"{a.format('x')}:matmul(v), v:dot(v), v:flip():dot(v)", {"x": x, "v": vector}, (left @ vector, vector @ vector, vector[::-1] @ vector)
    yield f"v:matmul({b.format('y')})", {"y": y, "v": vector}, vector @ right


def test_products(tmp_path):
    types = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
    compare(tmp_path, "cpu", [c for k, t in enumerate(types * 4) for c in products_of(random.Random(k), np.random.default_rng(k), t)])
