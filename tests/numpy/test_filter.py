"""Filters with feedback of random orders, shapes and states: SciPy says what is right."""
import random

import numpy as np
import pytest
import scipy.signal

from against import WAYS, rounds, run

TOLERANCE = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-11, "int32": 1e-6}


def coefficients(r, g):
    order, kind = r.choice([1, 2, 4, 6]), r.choice(["butter", "any", "any"])
    if kind == "butter":
        return scipy.signal.butter(order, r.choice([0.05, 0.3]))
    b, a = g.standard_normal(r.choice([1, 2, 5, 20, 40])), np.r_[2, g.standard_normal(r.choice([0, 1, 3, 16, 30])) * 0.03]
    return b, a


@pytest.mark.parametrize("way", WAYS)
def test_lfilter(way, tmp_path):
    lines, wants = [], []
    for k in range(rounds(60 if way == "cpu" else 25)):
        r, g = random.Random(k), np.random.default_rng(k)
        b, a = coefficients(r, g)
        shape = r.choice([[1], [7], [3000], [3, 1500], [70, 5], [2, 9, 130], [0, 3], [1, 20000]])
        axis, dtype = r.randrange(len(shape)), r.choice(list(TOLERANCE))
        x = (g.standard_normal(shape) * 9).astype(dtype)
        order = max(len(a), len(b)) - 1
        zi = g.standard_normal(shape[:axis] + [order] + shape[axis + 1:])
        np.savez(tmp_path / f"{k}.npz", a=a, b=b, x=np.asfortranarray(x) if r.random() < 0.3 else x, zi=zi)
        lines.append(f"do local v = gpu.load('{tmp_path}/{k}.npz') local y = gpu.lfilter(v.b, v.a, v.x, {axis + 1})\n"
                     f"local z, state = gpu.lfilter(v.b, v.a, v.x, {{axis = {axis - len(shape)}, zi = v.zi}})\n"
                     f"gpu.save('{tmp_path}/out-{k}.npz', {{y = y, z = z, state = state}}) end")
        wide = x.astype(float)
        if wide.size:
            z, state = scipy.signal.lfilter(b, a, wide, axis, zi)
            wants.append((k, dtype, {"y": scipy.signal.lfilter(b, a, wide, axis), "z": z, "state": state}))
        else:
            wants.append((k, dtype, {"y": wide, "z": wide}))
    run(tmp_path, way, lines)
    for k, dtype, want in wants:
        out = np.load(tmp_path / f"out-{k}.npz")
        assert out["y"].dtype == ("float32" if dtype == "int32" else dtype) and out["state"].dtype == "float64"
        for name, v in want.items():
            near = 1e-11 if name == "state" else TOLERANCE[dtype]
            np.testing.assert_allclose(out[name], v, rtol=near, atol=near * 50, err_msg=f"{k}: {name}")
