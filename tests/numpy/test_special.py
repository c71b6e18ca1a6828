"""Special functions over their ranges in every floating dtype: SciPy says what is right."""
import os
import subprocess

import numpy as np
import pytest
import scipy.special

from test_index import LUNARRAY, WAYS

BESSEL = ["j0", "j1", "y0", "y1", "i0", "i0e", "i1", "i1e"]
NORMAL = ["erfcx", "erfcinv", "ndtr", "log_ndtr", "ndtri"]  # the second and the last of numbers from 0 to 2
DTYPES = ["float16", "float32", "float64"]
EDGES = [0, -0.0, 1, 1.1, 12, 3000, 8, -8, 1e-30, 1e30, np.inf, -np.inf, np.nan]


def arguments(g):
    """x for all; a of the incomplete gamma functions, where SciPy's are exact: below 200, or x within 4.5 deviations."""
    x = np.concatenate([EDGES, g.uniform(-60, 60, 300), 10**g.uniform(-6, 2, 300)])
    a, b = np.concatenate([[v, np.full(len(EDGES), w)] for w in EDGES for v in [EDGES]], axis=1)
    size = np.concatenate([10**g.uniform(-6, 2.3, 400), g.uniform(0, 5, 200), 10**g.uniform(3, 6, 200)])
    far = np.where(size < 200, size * np.exp(g.standard_normal(size.size) * np.minimum(2, 4 / np.sqrt(size))),
                   size + g.uniform(-4.4, 4.4, size.size) * np.sqrt(size))
    p = np.concatenate([EDGES, g.uniform(0, 2, 300), 10**g.uniform(-300, 0, 300)])
    return x, np.concatenate([a, size]), np.concatenate([b, far]), p


def kind(f):
    return "p" if f in ["erfcinv", "ndtri"] else "x"


def close(got, want, swing, t):
    eps = np.finfo(t).eps
    with np.errstate(all="ignore"):
        known = 1 - np.log(np.clip(np.abs(want), 1e-300, 1))  # digits of exponents
        off = np.abs(got - want) <= 30 * max(eps, 2e-15) * np.maximum(np.abs(want), swing) * known + np.finfo(t).tiny
        huge = np.isinf(want) & (np.abs(got) > np.finfo(t).max / 8)  # SciPy's i0 and i1 overflow sooner
        return off | (got == want) | (np.isnan(got) & np.isnan(want)) | huge


@pytest.mark.parametrize("way", WAYS)
def test_special_functions(way, tmp_path):
    device, env, _ = WAYS[way]
    dtypes = DTYPES[2:] if way == "generated" else DTYPES
    x, a, b, p = arguments(np.random.default_rng(5))
    with np.errstate(all="ignore"):
        arrays = {f"{k}_{t}": v.astype(t) for t in dtypes for k, v in [("x", x), ("a", a), ("b", b), ("p", p)]}
    np.savez(tmp_path / "in.npz", **arrays)
    lines = [f"out.{f}_{t} = v.x_{t}:{f}()" for f in BESSEL for t in dtypes]
    lines += [f"out.{f}_{t} = v.{kind(f)}_{t}:{f}()" for f in NORMAL for t in dtypes]
    lines += [f"out.{f}_{t} = gpu.{f}(v.a_{t}, v.b_{t})" for f in ["gammainc", "gammaincc"] for t in dtypes]
    script = tmp_path / "special.lua"
    script.write_text(f"gpu.device '{device}'\nlocal v, out = gpu.load('{tmp_path}/in.npz'), {{}}\n" + "\n".join(lines) +
                      f"\ngpu.save('{tmp_path}/out.npz', out)\n")
    subprocess.run([LUNARRAY, str(script)], env={**os.environ, **env}, check=True, timeout=100)
    out = np.load(tmp_path / "out.npz")
    for t in dtypes:
        wide = {k: arrays[f"{k}_{t}"].astype(float) for k in "xabp"}
        for f in BESSEL + NORMAL + ["gammainc", "gammaincc"]:
            args = [wide["x"]] if f in BESSEL else [wide[kind(f)]] if f in NORMAL else [wide["a"], wide["b"]]
            if f in BESSEL:  # SciPy's are NaN at infinity, and not exact far out
                args[0] = np.where(np.abs(args[0]) < 1e5, args[0], 1.0)
            with np.errstate(all="ignore"):
                want = getattr(scipy.special, f)(*args).astype(t)
                swing = 3e4 / np.sqrt(1 + np.abs(args[0])) if f[0] in "jy" and t == "float64" else 0  # CUDA's: 5e-12
            got = np.where(wide["x"] == args[0], out[f"{f}_{t}"], want) if f in BESSEL else out[f"{f}_{t}"]
            assert got.dtype == want.dtype
            wrong = ~close(got.astype(float), want.astype(float), swing, t)
            assert not wrong.any(), (f, t, [v[wrong][:5] for v in args], got[wrong][:5], want[wrong][:5])
