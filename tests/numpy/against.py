"""What the tests beside NumPy and SciPy share: where scripts run, how many random cases, and what is compared."""
import os
import subprocess

import numpy as np

LUNARRAY = os.environ.get("LUNARRAY", "build/lunarray")
WAYS = {"cpu": ("cpu", {}), "simt": ("simt", {"LUNARRAY_THREADS": "2"}), "generated": ("simt", {"LUNARRAY_GENERATED": "1"})}


def rounds(count):
    """`count`, or a third where the same tests have run so before (tests/run.py says so by LUNARRAY_TEST_BRIEF)."""
    return -(-count // 3) if os.getenv("LUNARRAY_TEST_BRIEF") else count


def run(folder, way, lines):
    """Runs a script with this default device, which must end well; returns what it prints."""
    device, env = WAYS[way]
    script = folder / "script.lua"
    script.write_text("\n".join([f"gpu.device '{device}'", *lines]))
    p = subprocess.run([LUNARRAY, str(script)], text=True, capture_output=True, timeout=300, env={**os.environ, **env})
    assert p.returncode == 0, p.stderr + p.stdout
    return p.stdout


def compare(folder, way, cases):
    """Each case: a Lua expression list over the arrays given by name, and NumPy's results for it."""
    lua = ["local la = gpu.linalg", "local function put(name, ...) for i, v in ipairs({...}) do",
           "  if type(v) ~= 'userdata' then v = gpu.array({v}, type(v) == 'number' and 'float64' or nil)",
           "  elseif not pcall(function() return v.dtype end) then v = gpu.array({v}, 'complex128') end",
           "  gpu.save(name .. '-' .. i .. '.npy', v) end end"]
    for k, (code, arrays, _) in enumerate(cases):
        lua.append("do")
        for name, a in arrays.items():
            np.save(folder / f"{k}-{name}.npy", a)
            lua.append(f"local {name} = gpu.load('{folder}/{k}-{name}.npy')")
        lua.append(f"put('{folder}/out-{k}', {code})\nend")
    run(folder, way, lua)
    for k, (code, arrays, wants) in enumerate(cases):
        for i, want in enumerate(wants if isinstance(wants, (tuple, list)) else [wants]):
            if want is None:
                continue
            want = np.asarray(want)
            got = np.load(folder / f"out-{k}-{i + 1}.npy")
            if want.ndim == 0:
                got = got.reshape(())
            assert got.shape == want.shape, (code, {n: a.shape for n, a in arrays.items()}, got.shape, want.shape)
            dtypes = {a.dtype for a in [got, *arrays.values()]}
            off = 2e-3 if np.dtype(np.float16) in dtypes else 2e-4 if dtypes & {np.dtype("f"), np.dtype("F")} else 1e-10
            scale = max(1, np.abs(want[np.isfinite(want)]).max(initial=0))
            np.testing.assert_allclose(got, want, rtol=off, atol=scale * (off if off > 1e-9 else 1e-11),
                                       err_msg=f"{code} result {i + 1}")


def view(r, g, dtype):
    """A Lua expression over x, and the same in NumPy: a view of a random array."""
    shape = [r.choice([1, 2, 3, 5, 8, 33]) for _ in range(r.randint(1, 4))]
    x = g.standard_normal(shape) * 3
    if np.dtype(dtype).kind in "iub":
        x = np.abs(np.round(x)) if np.dtype(dtype).kind == "u" else np.round(x)
    x = x.astype(dtype)
    order = r.sample(range(x.ndim), x.ndim)
    steps = [r.choice([1, 1, 1, 2, -1, -2]) for _ in shape]
    lua = "x:permute{" + ", ".join(str(i + 1) for i in order) + "}['" + ", ".join(f"::{s}" for s in steps) + "']"
    return x, lua, x.transpose(order)[tuple(slice(None, None, s) for s in steps)]
