"""Sparse matrices: products, sums and structure as SciPy has them, and files that go both ways."""
import random
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

from against import LUNARRAY, WAYS, rounds, run


def matrix(r, g, rows, columns, dtype):
    density = r.choice([0, 0.01, 0.2, 1])
    m = sp.random(rows, columns, density, "csr", dtype, rng=g, data_rvs=lambda n: g.standard_normal(n).astype(dtype))
    if rows > 3:  # rows of very different lengths
        m = sp.vstack([m[:1], sp.csr_matrix(g.standard_normal((1, columns)).astype(dtype)), m[2:]]).tocsr()
    return m


@pytest.mark.parametrize("way", WAYS)
def test_against_scipy(tmp_path, way):
    lines, wants = [], []
    for k in range(rounds(40 if way != "generated" else 15)):
        r, g = random.Random(k), np.random.default_rng(k)
        m, n, p = (r.choice([0, 1, 2, 7, 33, 500]) for _ in range(3))
        dtype, other = r.choice(["float32", "float64"]), r.choice(["float32", "float64"])
        a, b, c = matrix(r, g, m, n, dtype), matrix(r, g, m, n, other), matrix(r, g, n, p, other)
        x, v, left = (g.standard_normal(s).astype(other) for s in ((n, r.choice([1, 3, 40])), n, (2, m)))
        for name, s in {"a": a, "b": b, "c": c}.items():
            sp.save_npz(tmp_path / f"{k}-{name}.npz", s.tocsc() if r.random() < 0.3 else s, compressed=r.random() < 0.5)
        for name, d in {"x": x, "v": v, "left": left}.items():
            np.save(tmp_path / f"{k}-{name}.npy", d)
        dense = {"a:matmul(x)": a @ x, "a:matmul(v)": a @ v, "gpu.matmul(left, a)": left @ a, "a:sum(1)": a.sum(0),
                 "a:sum(2)": a.sum(1), "a:todense()": a.toarray()}
        sparse = {"a": a, "a.T": a.T, "a + b": a + b, "a - b": a - b, "a:matmul(c)": a @ c, "2 * a": 2 * a, "a / 3": (a / 3).astype(dtype),
                  "a:mul(b)": a.multiply(b)}
        for name, stacked in [("vstack", sp.vstack([a, b, a])), ("hstack", sp.hstack([a, b, a]))]:
            sparse[f"gpu.sparse.{name}({{a, b, a}})"] = stacked.astype(np.result_type(dtype, other))
        sparse["gpu.sparse.block_diag{a, c, b}"] = sp.csr_matrix(sp.block_diag([a, c, b])).astype(np.result_type(dtype, other))
        offset = r.choice([0, 1, -2, 40])
        if -m < offset < n:
            dense[f"a:diagonal({offset})"] = a.diagonal(offset)
        if m and n:
            row, column = sorted((r.randrange(m), r.randrange(m))), sorted((r.randrange(n), r.randrange(n)))
            top, left = row[0] + 1, column[0] - n
            sparse[f"a[{{ {{{top}, {row[1] - m}}}, {{{left}, {column[1] + 1}}} }}]"] = a[row[0]:row[1] + 1, column[0]:column[1] + 1]
            sparse[f"a[{top}]"], sparse[f"a[{{ {{}}, {left} }}]"] = a[row[0]], a[:, column[0]:column[0] + 1]
            sparse["a:mul(x[{{}, 1}])"] = a.multiply(x[:, 0]).astype(np.result_type(dtype, other))
            listed = g.integers(0, m, 5)
            sparse[f"a[gpu.array({{{', '.join(map(str, listed + 1))}}}, 'int64')]"] = a[listed]
            sparse["a[{{}, v:gt(0)}]"] = a[:, v > 0]
            sparse["a:abs():sqrt()"], sparse["a:log1p()"] = abs(a).sqrt(), a.log1p()
            dense["a:max(1)"], dense["a:min(2)"] = a.max(0).toarray().ravel(), a.min(1).toarray().ravel()
            dense["a:mean(1)"], dense["a:mean(2)"] = (np.asarray(a.mean(axis)).ravel() for axis in (0, 1))
        if 0 < a.nnz * c.nnz < 20000:
            sparse["gpu.sparse.kron(a, c)"] = sp.kron(a, c, "csr")
        lines += ["do"] + [f"local {s} = gpu.sparse.load('{tmp_path}/{k}-{s}.npz')" for s in "abc"]
        lines += [f"local {s} = gpu.load('{tmp_path}/{k}-{s}.npy')" for s in ("x", "v", "left")]
        for i, (code, want) in enumerate(dense.items()):
            lines.append(f"gpu.save('{tmp_path}/{k}-d{i}.npy', {code})")
            wants.append((f"{k}-d{i}.npy", code, np.asarray(want)))
        for i, (code, want) in enumerate(sparse.items()):
            lines.append(f"gpu.sparse.save('{tmp_path}/{k}-s{i}.npz', {code}, {{compress = {str(i % 2 == 0).lower()}}})")
            wants.append((f"{k}-s{i}.npz", code, want.tocsr()))
        lines.append("end")
    run(tmp_path, way, lines)
    for file, code, want in wants:
        near = 1e-4 if want.dtype == np.float32 else 1e-11
        if sp.issparse(want):
            got = sp.load_npz(tmp_path / file)
            got.check_format()
            assert got.has_canonical_format and got.shape == want.shape and got.dtype == want.dtype, (file, code)
            if code != "a:matmul(c)":  # where sums that cancel are rounded otherwise
                assert got.nnz == want.nnz, (file, code)
            got, want = got.toarray(), want.toarray()
        else:
            got = np.load(tmp_path / file)
            want = want.reshape(got.shape) if code.startswith("a:sum") else want
            assert got.shape == want.shape, (file, code)
        np.testing.assert_allclose(got, want, rtol=near, atol=near * 30, err_msg=f"{file}: {code}")


@pytest.mark.parametrize("way", WAYS)
def test_diagonals_and_solvers(tmp_path, way):
    lines, checks = [], []
    for k, n in enumerate([1, 2, 5, 60, 400] if way != "generated" else [3, 60]):
        g = np.random.default_rng(k)
        low, middle, high = g.standard_normal(n - 1), g.standard_normal(n) + 4, g.standard_normal(n - 1)
        b = g.standard_normal(n)
        np.savez(tmp_path / f"{k}.npz", low=low, middle=middle, high=high, b=b)
        made = "{p.low, p.middle, p.high}, {-1, 0, 1}"
        lines += [f"do local p = gpu.load('{tmp_path}/{k}.npz') local a = gpu.sparse.diags({made})",
                  f"local s = gpu.sparse.diags({{p.low, p.low}}, {{1, -1}}, {{{n}, {n}}}) + 9 * gpu.sparse.eye({n}, 'float64')",
                  f"gpu.save('{tmp_path}/{k}-a.npy', a:todense())",
                  f"gpu.save('{tmp_path}/{k}-d.npy', gpu.sparse.diags({{2.5, 1}}, {{2, {-(n // 2)}}}, {{{n}, {n + 3}}}, 'float64'):todense())",
                  f"local x, steps, off = gpu.sparse.bicgstab(a, p.b) gpu.save('{tmp_path}/{k}-x.npy', x)",
                  "assert(off < 1e-9 and math.type(steps) == 'integer')",
                  f"x, steps, off = gpu.sparse.gmres(a, p.b) gpu.save('{tmp_path}/{k}-g.npy', x)",
                  "assert(off < 1e-9 and math.type(steps) == 'integer')",
                  f"x, steps, off = gpu.sparse.gmres(function(v) return a:matmul(v) end, p.b, {{x = p.b, restart = 4,"
                  f" M = 1 / a:diagonal(), steps = {40 * n}}}) gpu.save('{tmp_path}/{k}-h.npy', x)",
                  f"gpu.save('{tmp_path}/{k}-y.npy', (gpu.sparse.cg(s, p.b)))",
                  f"gpu.save('{tmp_path}/{k}-z.npy', (gpu.sparse.cg(function(v) return s:matmul(v) end, p.b,"
                  f" {{M = 1 / s:diagonal(), x = p.b, steps = {4 * n}}}))) end"]
        a = sp.diags_array([low, middle, high], offsets=[-1, 0, 1], shape=(n, n)).toarray()
        s = sp.diags_array([low, low], offsets=[1, -1], shape=(n, n)).toarray() + 9 * np.eye(n)
        d = 2.5 * np.eye(n, n + 3, 2) + np.eye(n, n + 3, -(n // 2))
        checks += [(f"{k}-a", a), (f"{k}-d", d), (f"{k}-x", np.linalg.solve(a, b)), (f"{k}-g", np.linalg.solve(a, b)),
                   (f"{k}-h", np.linalg.solve(a, b)), (f"{k}-y", np.linalg.solve(s, b)),
                   (f"{k}-z", np.linalg.solve(s, b))]
    run(tmp_path, way, lines)
    for file, want in checks:
        np.testing.assert_allclose(np.load(tmp_path / f"{file}.npy"), want, rtol=1e-7, atol=1e-8, err_msg=file)


def graph(r, g, n, kind):
    """A matrix with an inverse: of a grid, without any order, with a dense row and column, without a diagonal."""
    if kind == "grid":
        m = max(1, int(n ** 0.5))
        line = sp.diags_array([g.standard_normal(m - 1), 4 + g.random(m), g.standard_normal(m - 1)], offsets=[-1, 0, 1], shape=(m, m))
        return sp.csr_array(sp.kron(sp.eye_array(m), line) + sp.kron(line, sp.eye_array(m)))
    a = sp.random_array((n, n), density=min(1, r.choice([1, 3]) / n), rng=g, data_sampler=lambda size: g.standard_normal(size))
    if kind == "arrow":
        a = sp.vstack([np.ones((1, n)), a.tocsr()[1:]]).tocsr() + sp.hstack([np.ones((n, 1)), sp.csr_array((n, n - 1))])
    if kind == "moved":
        return sp.csr_array((a.tocsr() + 5 * sp.eye_array(n))[g.permutation(n)])
    return sp.csr_array(a.tocsr() + 5 * sp.eye_array(n) + sp.csr_array(np.where(np.eye(n, k=-1), 1e-3, 0)))


@pytest.mark.parametrize("way", WAYS)
def test_direct_solutions(tmp_path, way):
    lines, checks = [], []
    for k in range(rounds(60 if way == "cpu" else 8)):
        r, g = random.Random(k), np.random.default_rng(k)
        n = r.choice([1, 2, 9, 40, 150, 700] if way == "cpu" else [1, 20, 100])
        a = graph(r, g, n, r.choice(["grid", "random", "arrow", "moved"]))
        n, dtype = a.shape[0], r.choice(["float64", "float64", "float32"])
        a = a.astype(dtype)
        b, wide = g.standard_normal(n).astype(dtype), g.standard_normal((n, 3)).astype(r.choice(["float64", "float32"]))
        sp.save_npz(tmp_path / f"{k}-a.npz", sp.csr_matrix(a))
        np.savez(tmp_path / f"{k}.npz", b=b, wide=wide)
        lines += [f"do local a, p = gpu.sparse.load('{tmp_path}/{k}-a.npz'), gpu.load('{tmp_path}/{k}.npz')",
                  f"gpu.save('{tmp_path}/{k}-x.npy', gpu.sparse.spsolve(a, p.b))",
                  f"local solve = gpu.sparse.factorized(a) gpu.save('{tmp_path}/{k}-w.npy', solve(p.wide))",
                  f"gpu.save('{tmp_path}/{k}-y.npy', solve(p.b))",
                  f"gpu.save('{tmp_path}/{k}-q.npy', (gpu.sparse.lsqr(a, p.b:to('float64'), {{tol = 1e-13, steps = 5000}}))) end"]
        full = a.toarray().astype(np.float64)
        near = 1e-4 if np.float32 in (a.dtype, b.dtype, wide.dtype) else 1e-9
        checks += [(f"{k}-x", full, b, near), (f"{k}-y", full, b, near), (f"{k}-w", full, wide, near)]
        if np.linalg.cond(full) < 1e4:
            checks += [(f"{k}-q", full, b, max(near, 1e-6))]
    run(tmp_path, way, lines)
    for file, a, b, near in checks:
        got = np.load(tmp_path / f"{file}.npy")
        assert got.dtype == np.result_type(np.float32, b) or got.dtype == np.float64
        want = np.linalg.solve(a, b)
        np.testing.assert_allclose(got, want, rtol=near, atol=near * max(1, np.abs(want).max()), err_msg=file)


@pytest.mark.parametrize("way", WAYS)
def test_indefinite_and_rectangular(tmp_path, way):
    lines, checks = [], []
    for k, n in enumerate([1, 2, 30, 200] if way == "cpu" else [3, 30]):
        g = np.random.default_rng(k)
        low, middle = g.standard_normal(n - 1) * 0.4, np.where(g.random(n) < 0.5, -3, 3) + g.random(n)
        s = sp.csr_array(sp.diags_array([low, middle, low], offsets=[-1, 0, 1], shape=(n, n)))
        tall = sp.csr_array(sp.vstack([s, sp.random_array((n + 2, n), density=0.3, rng=g)]))
        sp.save_npz(tmp_path / f"{k}-s.npz", sp.csr_matrix(s))
        sp.save_npz(tmp_path / f"{k}-t.npz", sp.csr_matrix(tall))
        b, c = g.standard_normal(n), g.standard_normal(2 * n + 2)
        np.savez(tmp_path / f"{k}.npz", b=b, c=c)
        lines += [f"do local s, p = gpu.sparse.load('{tmp_path}/{k}-s.npz'), gpu.load('{tmp_path}/{k}.npz')",
                  f"local t = gpu.sparse.load('{tmp_path}/{k}-t.npz')",
                  f"local x, steps, off = gpu.sparse.minres(s, p.b) gpu.save('{tmp_path}/{k}-m.npy', x) assert(off < 1e-9)",
                  f"gpu.save('{tmp_path}/{k}-n.npy', (gpu.sparse.minres(function(v) return s:matmul(v) end, p.b, {{x = p.b}})))",
                  f"gpu.save('{tmp_path}/{k}-q.npy', (gpu.sparse.lsqr(t, p.c, {{tol = 1e-13}})))",
                  f"gpu.save('{tmp_path}/{k}-d.npy', (gpu.sparse.lsqr(t:todense(), p.c, {{damp = 0.5, tol = 1e-13}}))) end"]
        damped = np.vstack([tall.toarray(), 0.5 * np.eye(n)])
        checks += [(f"{k}-m", np.linalg.solve(s.toarray(), b)), (f"{k}-n", np.linalg.solve(s.toarray(), b)),
                   (f"{k}-q", np.linalg.lstsq(tall.toarray(), c)[0]),
                   (f"{k}-d", np.linalg.lstsq(damped, np.concatenate([c, np.zeros(n)]))[0])]
    run(tmp_path, way, lines)
    for file, want in checks:
        np.testing.assert_allclose(np.load(tmp_path / f"{file}.npy"), want, rtol=1e-6, atol=1e-7, err_msg=file)


@pytest.mark.parametrize("how", ["coo", "bsr", "dia"])
def test_other_formats_are_named(tmp_path, how):
    sp.save_npz(tmp_path / "a.npz", sp.eye(4, format=how))
    (tmp_path / "s.lua").write_text(f"gpu.sparse.load('{tmp_path}/a.npz')")
    p = subprocess.run([LUNARRAY, str(tmp_path / "s.lua")], text=True, capture_output=True, timeout=200)
    assert p.returncode == 1 and f"'{how}'" in p.stderr and "tocsr" in p.stderr


@pytest.mark.parametrize("part, value", [("indices", np.array([0, 9], np.int32)), ("indptr", np.array([0, 3, 2], np.int32)),
                                         ("indptr", np.array([0, 2], np.int32)), ("shape", np.array([2])),
                                         ("indices", np.array([0.0, 1.0])), ("data", np.ones((2, 1))),
                                         ("data", np.array(["a", "b"])), ("format", np.array(b"x" * 600))])
def test_damaged_files(tmp_path, part, value):
    parts = {"format": np.array(b"csr"), "shape": np.array([2, 3]), "data": np.ones(2),
             "indices": np.array([0, 1], np.int32), "indptr": np.array([0, 1, 2], np.int32), part: value}
    np.savez(tmp_path / "a.npz", **parts)
    (tmp_path / "s.lua").write_text(f"gpu.sparse.load('{tmp_path}/a.npz')")
    p = subprocess.run([LUNARRAY, str(tmp_path / "s.lua")], text=True, capture_output=True, timeout=200)
    assert p.returncode == 1 and str(tmp_path) in p.stderr, p.stderr
