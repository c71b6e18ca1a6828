"""Every ufunc of NumPy under its name here, over all pairs of special values in the dtypes that it takes."""

import numpy as np
import pytest

from against import WAYS, run
from ufuncs import NAMES, PRODUCTS, UFUNCS

FLOATS = [0, -0.0, 1, -1, 0.5, -2.5, 3, 7.25, -7.25, 1e-3, 100, 65504, 6e-8, np.inf, -np.inf, np.nan]
INTS = [0, 1, 2, 3, 5, 7, 12, 100, 127, -1, -2, -3, -7, -100, -127, -128]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint32", "float16", "float32", "float64", "complex64"]


def operands(name, t):
    """All pairs of values; of the products matrices and vectors, which alone are complex here."""
    if name in PRODUCTS:
        x = (np.arange(1, 10) * (1 + 2j if t.kind == "c" else 1)).reshape(3, 3).astype(t)
        return [x[0] if name == "vecmat" else x, x[1] if name in ["matvec", "vecdot"] else x]
    values = FLOATS if t.kind == "f" else [v for v in INTS if v >= 0] if t.kind == "u" else INTS
    x = np.array([0, 1] if t.kind == "b" else [] if t.kind == "c" else values).astype(t)
    return [x] if UFUNCS[name].nin == 1 else [np.repeat(x, x.size), np.tile(x, x.size)]


def is_other(name, t, a, b):
    """Where the results are others on purpose: gpu.help "numpy"."""
    integers = t.kind in "biu"
    if t.kind == "b":
        return not name.startswith(("logical", "bitwise"))
    if integers and name in ["pow", "power", "reciprocal", "nextafter", "spacing", "fabs"]:
        return True  # they are floating here
    if name.endswith("shift"):
        return b < 0
    if name in ["floor_divide", "divmod"] and not integers:
        return b in [0, 1e-3] or abs(b) < 0.01 or not np.isfinite(a) or not np.isfinite(b)
    return name == "spacing" and (t == np.float16 and np.signbit(a) or abs(a) > 65000)  # odd there at the ends


def cases():
    for name in UFUNCS:
        for t in map(np.dtype, DTYPES):
            if t.kind == ("b" if name in PRODUCTS else "c"):
                continue  # test_complex.py has them; bools are added as numbers
            args = operands(name, t)
            try:
                with np.errstate(all="ignore"):
                    want = UFUNCS[name](*args)
            except (TypeError, ValueError):  # negative powers of integers are errors there
                continue
            keep = [name in PRODUCTS or not is_other(name, t, a, b) for a, b in zip(args[0], args[-1])]
            yield name, args, want if isinstance(want, tuple) else (want,), np.array(keep, bool)


def check(name, args, want, got, keep):
    if name not in PRODUCTS:
        want, got, args = want[keep], got[keep], [a[keep] for a in args]
    if got.dtype.kind in "fc":
        eps = max(np.finfo(v.dtype).eps for v in [want, got] if v.dtype.kind in "fc")
        if args[0].dtype.kind in "iu" and want.dtype == np.float16:  # float32 here
            want = np.where(np.isinf(want), got, want)
        same = np.isclose(got, want.astype(got.dtype), rtol=8 * eps, atol=2 * eps, equal_nan=True)
    else:
        same = got == want
    assert same.all(), (name, [a[~same][:5] for a in args], got[~same][:5], want[~same][:5])


@pytest.mark.parametrize("way", WAYS)
def test_every_ufunc(way, tmp_path):
    rows, arrays, lines = list(cases()), {}, []
    if way == "generated":  # tests/unit/test_generated.c has the operations; these are made of several
        rows = [r for r in rows if r[0] in ["nextafter", "frexp"] and r[1][0].dtype in [np.float16, np.float64]]
    for i, (name, args, want, _) in enumerate(rows):
        arrays.update({f"a{i}_{k}": a for k, a in enumerate(args)})
        ours = ", ".join(f"x.a{i}_{k}" for k in range(len(args)))
        lines.append(f"put({i}, gpu.zeros(0).{NAMES.get(name, name)}({ours}))")
    np.savez(tmp_path / "in.npz", **arrays)
    run(tmp_path, way, [f"local x, out = gpu.load('{tmp_path}/in.npz'), {{}}",
                        "local function put(i, ...) for k, v in ipairs { ... } do out['r' .. i .. '_' .. k] = v end end",
                        *lines, f"gpu.save('{tmp_path}/out.npz', out)"])
    out = np.load(tmp_path / "out.npz")
    for i, (name, args, want, keep) in enumerate(rows):
        for k, v in enumerate(want):
            with np.errstate(all="ignore"):
                check(name, args, v, out[f"r{i}_{k + 1}"], keep)
    assert len(rows) > (3 if way == "generated" else 500)
