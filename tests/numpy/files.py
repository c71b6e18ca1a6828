"""What the tests of files share: scripts that find a folder, and values of every dtype."""
import json
import os
import subprocess

import numpy as np

from against import LUNARRAY

DEVICES = ["cpu", "simt"]


def run(code, folder, **env):
    """What a script prints; `d` is the folder in it."""
    path = os.path.join(folder, "script.lua")
    with open(path, "w") as f:
        f.write(f"local d = {json.dumps(str(folder) + '/')}\n{code}")
    p = subprocess.run([LUNARRAY, path], text=True, capture_output=True, timeout=200,
                       env={**os.environ, **env})
    assert p.returncode == 0, p.stderr + p.stdout
    return p.stdout


def values(dtype, shape, seed=0):
    r = np.random.default_rng(seed)
    if dtype == "bool":
        return r.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        a = np.asarray(r.standard_normal(shape) * 100).astype(dtype)
        flat = a.reshape(-1)
        flat[:3] = np.array([np.nan, np.inf, -0.0])[: flat.size]
        return a
    info = np.iinfo(dtype)
    a = np.asarray(r.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))
    a.reshape(-1)[:2] = np.array([info.min, info.max], dtype=dtype)[: a.size]
    return a
