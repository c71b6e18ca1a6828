"""Complex arrays: creation, elementwise operations, reductions, scans, products and indexing, on random arrays of odd
shapes and layouts. NumPy says what is right."""
import random
import subprocess

import numpy as np
import pytest

from against import LUNARRAY, WAYS, compare, view

SHAPES = [(), (0,), (1,), (7,), (4097,), (3, 0), (5, 13), (2, 3, 11)]
DTYPES = [np.complex64, np.complex128]
UNARY = ["conj", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
         "atanh", "square", "reciprocal", "abs", "angle", "sign", "round", "exp2", "expm1", "log2", "log10", "log1p"]
NUMPY = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
         "atanh": np.arctanh}
BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def numbers(g, shape, dtype):
    return (g.standard_normal(shape) + 1j * g.standard_normal(shape)).astype(dtype)


# The same elements in other orders of memory: Lua's expression for them, and NumPy's.
LAYOUTS = [("{}", lambda a: a), ("{}.T", lambda a: a.T), ("{}:flip()", lambda a: np.flip(a)),
           ("gpu.cat({{{0}, {0}}}, -1)[\"..., ::2\"]", lambda a: np.concatenate([a, a], -1)[..., ::2])]


def laid_out(r, name, a):
    code, view = r.choice(LAYOUTS[:3] if a.ndim == 0 else LAYOUTS)
    return code.format(name), view(a)


def elementwise(r, g, dtype):
    for op in UNARY:
        a = numbers(g, r.choice(SHAPES), dtype)
        code, v = laid_out(r, "a", a)
        yield f"({code}):{op}()", {"a": a}, NUMPY.get(op, getattr(np, op, None))(v)
    shape = r.choice(SHAPES[1:])
    a, b = numbers(g, shape, dtype), numbers(g, shape[-1:], r.choice(DTYPES))
    real = g.standard_normal(shape).astype(r.choice([np.float32, np.int32, np.float64]))
    z = complex(2, -0.5)
    for symbol, f in BINARY.items():
        yield f"a {symbol} b, b {symbol} a, a {symbol} x", {"a": a, "b": b, "x": np.abs(real) + 1}, [
            f(a, b), f(b, a), f(a, np.abs(real) + 1)]
        yield f"a {symbol} gpu.complex(2, -0.5), gpu.complex(2, -0.5) {symbol} a, x {symbol} gpu.complex(2, -0.5)", {
            "a": a, "x": real}, [f(a, z), f(z, a), f(real, z)]
    yield "a ^ 3, a ^ -2, a ^ 0.5, a ^ gpu.complex(2, -0.5)", {"a": a}, [a ** 3, a ** -2.0, a ** 0.5, a ** z]
    c = a.copy()
    c.flat[::2] += 1
    yield "a:eq(c), a:ne(c), a:isnan(), a:isfinite()", {"a": a, "c": c}, [a == c, a != c, np.isnan(a), np.isfinite(a)]
    yield "a.real, a.imag, gpu.complex(a.imag, a.real)", {"a": a}, [a.real, a.imag, a.imag + 1j * a.real]
    yield "gpu.where(x:gt(0), a, b), a:lerp(b, 0.25)", {"a": a, "b": b, "x": real}, [
        np.where(real > 0, a, b), a + 0.25 * (b - a)]


def reductions(r, g, dtype):
    a = numbers(g, r.choice(SHAPES[1:]), dtype)
    code, v = laid_out(r, "a", a)
    axis = r.randrange(a.ndim)
    yield f"({code}):sum(), ({code}):sum({axis + 1}), ({code}):sum({{keepdims = true}})", {"a": a}, [
        v.sum(), v.sum(axis), v.sum(keepdims=True)]
    yield f"({code}):cumsum({axis + 1}), ({code}):any(), ({code}):all(), ({code}):count_nonzero()", {"a": a}, [
        v.cumsum(axis), v.any(), v.all(), np.count_nonzero(v)]
    b = numbers(g, (5, 13, 3), dtype)
    yield "b:prod(2), b:cumprod(1), b:mean(3), b:mean(), b:var(1), b:std()", {"b": b}, [
        b.prod(1), b.cumprod(0), b.mean(2), b.mean(), b.var(0), b.std()]
    yield "b[1][1]:norm(), b:mean({1, 3})", {"b": b}, [
        np.linalg.norm(b[0, 0]), b.mean((0, 2))]
    long = numbers(g, (200_003,), dtype)
    yield "b:sum(), b:cumsum()", {"b": long}, [long.sum(dtype=np.complex128), long.cumsum(dtype=np.complex128)]


def products(r, g, dtype):
    m, k, n = (r.choice([1, 2, 7, 33, 70]) for _ in range(3))
    a, b = numbers(g, (3, m, k), dtype), numbers(g, (k, n), dtype)
    yield "a:matmul(b), a[1]:dot(b), b.T:matmul(a[2].T)", {"a": a, "b": b}, [a @ b, a[0] @ b, b.T @ a[1].T]
    x, real = numbers(g, (k,), dtype), g.standard_normal((k,))
    yield "x:dot(x), b.T:matmul(x), x:outer(x), x:dot(y)", {"x": x, "b": b, "y": real}, [
        x @ x, b.T @ x, np.outer(x, x), x @ real]
    yield "gpu.einsum('bij,jk->ki', a, b), gpu.einsum('bij->b', a)", {"a": a, "b": b}, [
        np.einsum("bij,jk->ki", a, b), a.sum((1, 2))]


def systems(r, g, dtype):
    n, k = r.choice([1, 2, 5, 40, 70]), r.choice([1, 3])
    b = r.choice([(), (3,), (2, 2)])
    a, right = numbers(g, b + (n, n), dtype) * 0.3 + n * (1 - 0.5j) * np.eye(n).astype(dtype), numbers(g, b + (n, k), dtype)
    a = a.astype(dtype)
    sign, log = np.linalg.slogdet(a)
    positive = (a @ np.conj(np.swapaxes(a, -1, -2))).astype(dtype)
    yield "gpu.linalg.solve(a, b), gpu.linalg.inv(a), gpu.linalg.slogdet(a)", {"a": a, "b": right}, [
        np.linalg.solve(a, right), np.linalg.inv(a), sign]
    yield "select(2, gpu.linalg.slogdet(a))", {"a": a}, log
    yield "gpu.linalg.det(a / 50), gpu.linalg.matrix_power(a / 50, -2)", {"a": a}, [
        np.linalg.det(a / 50), np.linalg.matrix_power(a / 50, -2)] if n <= 5 else [None, None]
    yield "gpu.linalg.cholesky(p)", {"p": positive}, np.linalg.cholesky(positive)
    yield "(function() local q, r = gpu.linalg.qr(a) return q:matmul(r), q.T:conj():matmul(q) end)()", {
        "a": a.reshape(-1, n, n)[0]}, [a.reshape(-1, n, n)[0], np.eye(n)]
    yield "gpu.linalg.solve_triangular(a:tril(), b)", {"a": a, "b": right}, np.linalg.solve(np.tril(a), right)


def eigen(r, g, dtype):
    """Vectors are known up to a factor, so products of them with what belongs to them are compared; eigenvalues of no
    order by sums of their powers."""
    n = r.choice([1, 2, 5, 40])
    b = r.choice([(), (3,), (2, 2)])
    a = numbers(g, b + (n, n), dtype)
    hermitian = (a + np.conj(np.swapaxes(a, -1, -2))).astype(dtype)
    yield "gpu.linalg.eigvalsh(h), gpu.linalg.eigh(h)", {"h": hermitian}, [np.linalg.eigvalsh(hermitian)] * 2
    yield "(function() local w, v = gpu.linalg.eigh(h) return h:matmul(v) - v * w:unsqueeze(-2), " \
          "v:transpose(-1, -2):conj():matmul(v) end)()", {"h": hermitian}, [
        np.zeros_like(a), np.broadcast_to(np.eye(n, dtype=dtype), a.shape)]
    for x in (a, a.real.copy(), np.tril(a.real)):
        w = np.linalg.eigvals(x)
        code = "(function() local w, v = gpu.linalg.eig(x) assert(w.dtype == v.dtype) " \
               "return x:to(w.dtype):matmul(v) - v * w:unsqueeze(-2), w:sum(-1), (gpu.linalg.eigvals(x) ^ 2):sum(-1), w end)()"
        yield code, {"x": x}, [np.zeros(x.shape), w.sum(-1), (w ** 2).sum(-1), None]
        real = not np.iscomplexobj(x) and not w.imag.any()  # NumPy's are complex always, from 2.5 on
        yield "gpu.array({gpu.linalg.eigvals(x).dtype == '%s'})" % (x.dtype if real else np.result_type(x, np.complex64)), {
            "x": x}, [np.array([True])]


def rectangles(r, g, dtype):
    b, m, n = r.choice([(), (3,), (2, 2)]), r.choice([1, 2, 5, 9, 40]), r.choice([1, 2, 5, 9])
    u, _, vt = np.linalg.svd(numbers(g, b + (m, n), dtype), full_matrices=False)
    a = ((u * np.arange(1, min(m, n) + 1)) @ vt).astype(dtype)
    s = np.linalg.svd(a, compute_uv=False)
    yield "gpu.linalg.svdvals(a), select(2, gpu.linalg.svd(a))", {"a": a}, [s, s]
    for full, k in (("false", min(m, n)), ("true", m)):
        yield "(function() local u, s, vt = gpu.linalg.svd(a, {full = %s}) local k = s.shape[#s.shape] " \
              "return (u['..., 1:' .. k] * s:unsqueeze(-2)):matmul(vt:narrow(-2, 1, k)), " \
              "u:transpose(-1, -2):conj():matmul(u) end)()" % full, {"a": a}, [
            a, np.broadcast_to(np.eye(k, dtype=dtype), b + (k, k))]
    yield "gpu.linalg.pinv(a), gpu.linalg.matrix_rank(a), gpu.linalg.cond(a)", {"a": a}, [
        np.linalg.pinv(a), np.linalg.matrix_rank(a), np.linalg.cond(a)]
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        text = {np.inf: "math.huge", -np.inf: "-math.huge"}.get(order, repr(order))
        yield f"gpu.linalg.norm(a, {text}, {{-2, -1}})", {"a": a}, np.linalg.norm(a, order, (-2, -1))
    one, right = a[(0,) * len(b)], numbers(g, (m, 2), dtype)
    x, _, rank, s = np.linalg.lstsq(one, right, rcond=None)
    yield "gpu.linalg.lstsq(a, b)", {"a": one, "b": right}, [x, (np.abs(right - one @ x) ** 2).sum(0), rank, s]


def indexing(r, g, dtype):
    a, b = numbers(g, (9, 13), dtype), numbers(g, (4, 13), dtype)
    rows = np.array([3, 0, 8, 3])
    mask = g.random((9, 13)) < 0.4
    yield "a[i], a:take(i, 1), a[m], a:compress(m[{{}, 1}], 1)", {"a": a, "i": rows + 1, "m": mask}, [
        a[rows], a[rows], a[mask], a[mask[:, 0]]]
    c, d, e = a.copy(), a.copy(), a.copy()
    c[rows[1:]], d[mask] = b[1:], 2 - 3j
    np.add.at(e, rows, b)
    write = "(function() local c, d, e = a:clone(), a:clone(), a:clone() c[i['2:']] = b['2:'] d[m] = gpu.complex(2, -3) " \
            "e:scatter_add_(1, i:reshape(4, 1):expand(4, 13), b) return c, d, e end)()"
    yield write, {"a": a, "b": b, "i": rows + 1, "m": mask}, [c, d, e]
    yield "gpu.cat({a, b}), gpu.stack({a, a}), a:flip(1), a:roll(2, 2), a:tile(2), a:reshape(13, 9).T", {"a": a, "b": b}, [
        np.concatenate([a, b]), np.stack([a, a]), np.flip(a, 0), np.roll(a, 2, 1), np.tile(a, 2), a.reshape(13, 9).T]


# Operations by generated code are compared with the host's in test_generated, and systems are LAPACK's everywhere.
HOST = [elementwise, systems, eigen, rectangles]


@pytest.mark.parametrize("way,kind", [(w, k) for w in WAYS for k in [reductions, products, indexing] + HOST * (w != "generated")])
def test_complex(tmp_path, way, kind):
    cases = []
    for seed in range(2 if way == "generated" else 4):
        r, g = random.Random(seed), np.random.default_rng(seed)
        cases += kind(r, g, DTYPES[seed % 2])
    compare(tmp_path, way, cases)


@pytest.mark.parametrize("dtype", ["<c8", "<c16", ">c8", ">c16"])
def test_files(tmp_path, dtype):
    a = numbers(np.random.default_rng(1), (3, 1, 5), np.complex128).astype(dtype)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "f.npy", np.asfortranarray(a))
    np.savez(tmp_path / "a.npz", a=a, b=a[:0])
    lua = tmp_path / "script.lua"
    lua.write_text(f"""local d = '{tmp_path}/'
        local a, f, z = gpu.load(d .. 'a.npy'), gpu.load(d .. 'f.npy'), gpu.load(d .. 'a.npz')
        assert(a:equal(f) and a:equal(z.a) and z.b.size == 0 and a.dtype == 'complex{8 * a.dtype.itemsize}')
        if ('{dtype}'):find('<') then assert(gpu.load(d .. 'a.npy', {{map = true, device = 'cpu'}}):to(a.device):equal(a)) end
        gpu.save(d .. 'b.npy', a.T) gpu.save(d .. 'b.npz', {{a = a}})
        assert(not pcall(gpu.save, d .. 'b.json', a))""")
    subprocess.run([LUNARRAY, str(lua)], check=True, timeout=200)
    b = np.load(tmp_path / "b.npy")
    assert b.dtype == a.dtype.newbyteorder("=") and np.array_equal(b, a.T)
    assert np.array_equal(np.load(tmp_path / "b.npz")["a"], a)
