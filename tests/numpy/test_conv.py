"""Convolutions and pooling of random shapes on random arrays: NumPy's sliding windows say what is right."""
import random

import numpy as np
import pytest
import scipy.signal
from numpy.lib.stride_tricks import sliding_window_view

from against import WAYS, rounds, run

TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12}


def windows(x, size, stride, padding, dilation, value=0.0):
    """(..., rows, columns, KH, KW) of images (N, C, H, W)."""
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) if np.isscalar(p) else p for p in padding], constant_values=value)
    reach = [d * (k - 1) + 1 for k, d in zip(size, dilation)]
    v = sliding_window_view(x, reach, axis=(2, 3))
    return v[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]


def convolved(x, w, bias, stride, padding, dilation, groups):
    v = windows(x, w.shape[2:], stride, padding, dilation)
    n, c, rows, columns = v.shape[:4]
    v = v.reshape((n, groups, c // groups) + v.shape[2:])
    f = w.reshape((groups, w.shape[0] // groups) + w.shape[1:])
    y = np.einsum("ngcrskl,gockl->ngors", v, f).reshape(n, w.shape[0], rows, columns)
    return y if bias is None else y + bias[:, None, None]


def lua(values):
    return "{" + ", ".join(str(v) for v in values) + "}"


def images(r, g, dtype):
    """A case of conv2d or conv1d: the Lua call, its arrays, the result."""
    dims, batched = r.choice([1, 2, 2]), r.random() < 0.8
    groups, dilation = r.choice([1, 1, 2, 3]), [r.choice([1, 1, 2]) for _ in range(2)]
    size, stride, padding = [r.choice([1, 2, 3, 5]) for _ in range(2)], [r.choice([1, 1, 2, 3]) for _ in range(2)], [
        r.choice([0, 0, 1, 2, 7]) for _ in range(2)]
    if dims == 1:
        dilation[0] = size[0] = stride[0] = 1
        padding[0] = 0
    n, c, o = r.choice([0, 1, 2, 3]) if batched else 1, groups * r.choice([1, 2, 5]), groups * r.choice([1, 3, 5, 17])
    extent = [max(1, d * (k - 1) + 1 - 2 * p) + r.choice([0, 1, 6, 30]) for d, k, p in zip(dilation, size, padding)]
    if dims == 1:
        extent = [1, extent[1] + r.choice([0, 0, 5000])]
    x, w = g.standard_normal([n, c] + extent), g.standard_normal([o, c // groups] + size)
    bias = g.standard_normal(o) if r.random() < 0.5 else None
    options = [f"groups = {groups}", f"stride = {lua(stride[-dims:])}", f"dilation = {lua(dilation[-dims:])}"]
    if r.random() < 0.3 and stride == [1, 1]:
        options.append("padding = 'same'")
        padding = [((d * (k - 1)) // 2, d * (k - 1) - (d * (k - 1)) // 2) for d, k in zip(dilation, size)]
    else:
        options.append(f"padding = {lua(padding[-dims:])}")
    arrays = {"x": x, "w": w} if bias is None else {"x": x, "w": w, "b": bias}
    arrays = {k: v.astype(dtype) for k, v in arrays.items()}
    if bias is not None:
        options.append("bias = b")
    wide = [arrays[k].astype(float) if k in arrays else None for k in "xwb"]
    want = convolved(*wide, stride, padding, dilation, groups)
    if dims == 1:
        arrays["x"], arrays["w"], want = arrays["x"][:, :, 0], arrays["w"][:, :, 0], want[:, :, 0]
    if not batched:
        arrays["x"], want = arrays["x"][0], want[0]
    return f"gpu.conv{dims}d(x, w, {{{', '.join(options)}}})", arrays, want, c * size[0] * size[1]


def pools(r, g, dtype):
    dims, kind = r.choice([1, 2]), r.choice(["max", "avg"])
    size, stride, dilation = ([r.choice(c) for _ in range(2)] for c in ([1, 2, 3, 4], [1, 2, 3], [1, 1, 2]))
    if dims == 1:
        size[0] = stride[0] = dilation[0] = 1
    padding = [r.randint(0, k // 2) for k in size]
    extent = [d * (k - 1) + 1 + r.choice([0, 1, 4, 33]) for d, k in zip(dilation, size)]
    if dims == 1:
        extent[0] = 1
    x = g.standard_normal([r.choice([1, 3]), r.choice([1, 4])] + extent).astype(dtype)
    if kind == "max" and r.random() < 0.3:
        x[..., -1] = np.nan
    v = windows(x.astype(float), size, stride, padding, dilation, -np.inf if kind == "max" else 0)
    want = v.max((-1, -2)) if kind == "max" else v.mean((-1, -2))
    if dims == 1:
        x, want = x[:, :, 0], want[:, :, 0]
    options = ", ".join(f"{k} = {lua(v[-dims:])}" for k, v in
                        {"window": size, "stride": stride, "padding": padding, "dilation": dilation}.items())
    return f"x:{kind}_pool{dims}d{{{options}}}", {"x": x}, want, 4


def vectors(r, g, dtype):
    name, mode = r.choice(["convolve", "correlate"]), r.choice(["full", "same", "valid"])
    if r.random() < 0.3:
        dtype = r.choice(["int32", "int64", "uint8", "complex64", "complex128"])
    x, y = ((g.standard_normal(r.choice([1, 2, 3, 4, 5, 9, 40, 3000])) * 9).astype(dtype) for _ in range(2))
    if dtype.startswith("c"):
        y = (y * 1j + 2).astype(dtype)
    wide = {"f": np.float64, "c": np.complex128}.get(dtype[0], np.int64)
    want = getattr(np, name)(x.astype(wide), y.astype(wide), mode)
    want = want.astype(dtype) if wide is np.int64 else want
    return f"gpu.{name}(x, y, '{mode}')", {"x": x, "y": y}, want, 100 * min(len(x), len(y))


def several_axes(r, g, dtype):
    """Arrays of two or three axes, and long vectors, by products and by transforms: SciPy knows them."""
    name, mode = r.choice(["convolve", "correlate"]), r.choice(["full", "same", "valid"])
    method = r.choice(["direct", "fft", "auto"])
    if r.random() < 0.4:
        dtype = r.choice(["int32", "uint8", "complex64", "complex128"])
        method = "direct" if dtype in ("int32", "uint8") else method
    ndim = r.choice([1, 2, 2, 3])
    x, y = ([r.choice([1, 2, 3, 5, 8]) for _ in range(ndim)] for _ in range(2))
    if mode == "valid":
        x, y = [max(p) for p in zip(x, y)], [min(p) for p in zip(x, y)]
    x, y = ((g.standard_normal(s) * 5 + (0 if dtype[0] != "c" else 2j * g.standard_normal(s))).astype(dtype) for s in (x, y))
    wide = {"f": np.float64, "c": np.complex128}.get(dtype[0], np.int64)
    knows = np if ndim == 1 else scipy.signal
    want = getattr(knows, name)(x.astype(wide), y.astype(wide), mode)
    want = want.astype(dtype) if wide is np.int64 else want
    return f"gpu.{name}(x, y, '{mode}', '{method}')", {"x": x, "y": y}, want, 300 * y.size


def volumes(r, g, dtype):
    """A case of conv3d or of pooling along three axes."""
    kind, batched = r.choice(["conv", "conv", "max", "avg"]), r.random() < 0.8
    groups = r.choice([1, 1, 2, 3])
    size, stride, dilation = ([r.choice(c) for _ in range(3)] for c in ([1, 2, 3], [1, 1, 2, 3], [1, 1, 2]))
    padding = [r.randint(0, k // 2 if kind != "conv" else 2) for k in size]
    extent = [max(1, d * (k - 1) + 1 - 2 * p) + r.choice([0, 1, 4, 9]) for d, k, p in zip(dilation, size, padding)]
    n, c, o = r.choice([0, 1, 2, 3]) if batched else 1, groups * r.choice([1, 2]), groups * r.choice([1, 3, 5])
    x, w = (g.standard_normal(s).astype(dtype) for s in ([n, c] + extent, [o, c // groups] + size))
    bias = g.standard_normal(o).astype(dtype)
    if kind == "conv" and r.random() < 0.3 and stride == [1, 1, 1]:
        ends = [((d * (k - 1)) // 2, d * (k - 1) - (d * (k - 1)) // 2) for d, k in zip(dilation, size)]
        padded = "'same'"
    else:
        ends, padded = [(p, p) for p in padding], lua(padding)
    v = np.pad(x.astype(float), [(0, 0), (0, 0)] + ends, constant_values=-np.inf if kind == "max" else 0)
    v = sliding_window_view(v, [d * (k - 1) + 1 for k, d in zip(size, dilation)], axis=(2, 3, 4))
    v = v[(slice(None), slice(None)) + tuple(slice(None, None, s) for s in stride + dilation)]
    options = f"stride = {lua(stride)}, dilation = {lua(dilation)}, padding = {padded}"
    if kind == "conv":
        f = w.astype(float).reshape([groups, o // groups, c // groups] + size)
        want = np.einsum("ngcdrsjkl,gocjkl->ngodrs", v.reshape((n, groups, c // groups) + v.shape[2:]), f)
        want = want.reshape((n, o) + v.shape[2:5]) + bias.astype(float)[:, None, None, None]
        code = f"gpu.conv3d(x, w, {{groups = {groups}, bias = b, {options}}})"
    else:
        want = v.max((-1, -2, -3)) if kind == "max" else v.mean((-1, -2, -3))
        code = f"x:{kind}_pool3d{{window = {lua(size)}, {options}}}"
    if not batched:
        x, want = x[0], want[0]
    return code, {"x": x, "w": w, "b": bias} if kind == "conv" else {"x": x}, want, c * 27


def transposed(r, g, dtype):
    """A case of conv_transpose1d or 2d: each element adds its filter to a window of the result."""
    dims, batched, groups = r.choice([1, 2, 2]), r.random() < 0.8, r.choice([1, 1, 2, 3])
    size, stride, dilation = ([r.choice(c) for _ in range(2)] for c in ([1, 2, 3, 4], [1, 2, 3], [1, 1, 2]))
    extent, padding, more = ([r.choice(c) for _ in range(2)] for c in ([1, 2, 5, 9], [0, 1, 2, 4], [0, 0, 1]))
    for i in range(2):
        if dims == 1 and i == 0:
            size[i] = stride[i] = dilation[i] = extent[i] = 1
            padding[i] = more[i] = 0
        more[i] = min(more[i], max(stride[i], dilation[i]) - 1)
        whole = (extent[i] - 1) * stride[i] + dilation[i] * (size[i] - 1) + 1 + more[i]
        padding[i] = min(padding[i], (whole - 1) // 2)
    n, c, o = r.choice([0, 1, 2, 3]) if batched else 1, groups * r.choice([1, 2]), r.choice([1, 3])
    x, w = (g.standard_normal(s).astype(dtype) for s in ([n, c] + extent, [c, o] + size))
    bias = g.standard_normal(o * groups).astype(dtype)
    room = [(e - 1) * s + d * (k - 1) + 1 + m for e, s, d, k, m in zip(extent, stride, dilation, size, more)]
    want = np.zeros([n, groups, o] + room)
    parts = np.einsum("ngchw,gcokl->ngohwkl", x.reshape([n, groups, c // groups] + extent).astype(float),
                      w.reshape([groups, c // groups, o] + size).astype(float))
    for h, v, k, l in np.ndindex(*extent, *size):
        want[..., h * stride[0] + k * dilation[0], v * stride[1] + l * dilation[1]] += parts[..., h, v, k, l]
    want = want.reshape([n, groups * o] + room) + bias.astype(float)[:, None, None]
    want = want[:, :, padding[0]:room[0] - padding[0], padding[1]:room[1] - padding[1]]
    options = [f"{k} = {lua(v[-dims:])}" for k, v in {"stride": stride, "padding": padding, "output_padding": more,
                                                      "dilation": dilation}.items()]
    if dims == 1:
        x, w, want = x[:, :, 0], w[:, :, 0], want[:, :, 0]
    if not batched:
        x, want = x[0], want[0]
    arrays = {"x": x, "w": w, "b": bias}
    return f"x:conv_transpose{dims}d(w, {{groups = {groups}, bias = b, {', '.join(options)}}})", arrays, want, c * 16


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("maker", [images, pools, volumes, transposed, vectors, several_axes])
def test_against_numpy(tmp_path, way, maker):
    script, wants = [], []
    for k in range(rounds(150 if way == "cpu" else 40)):
        r, g = random.Random(k), np.random.default_rng(k)
        code, arrays, want, terms = maker(r, g, r.choice(["float16", "float32", "float64"]))
        script.append("do")
        for name, a in arrays.items():
            turned = np.asfortranarray(a) if r.random() < 0.3 else a
            np.save(tmp_path / f"{k}-{name}.npy", turned)
            script.append(f"local {name} = gpu.load('{tmp_path}/{k}-{name}.npy')")
        script.append(f"gpu.save('{tmp_path}/out-{k}.npy', {code})\nend")
        wants.append((code, arrays, want, terms))
    run(tmp_path, way, script)
    for k, (code, arrays, want, terms) in enumerate(wants):
        got, dtype = np.load(tmp_path / f"out-{k}.npy"), arrays["x"].dtype
        assert got.dtype == dtype or dtype == np.uint8, code
        assert got.shape == want.shape, (code, {n: a.shape for n, a in arrays.items()}, got.shape, want.shape)
        near = TOLERANCE.get(str(dtype), 0)
        np.testing.assert_allclose(got, want, rtol=near, atol=near * terms ** 0.5 * 3, err_msg=f"{k}: {code}")
