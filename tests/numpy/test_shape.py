"""Views and rearrangements of random arrays: NumPy says what is right."""
import numpy as np
import pytest

from against import WAYS, rounds
from printed import Base, run_cases, show, table


def axis_of(r, x):
    """NumPy's number of an axis, and Lua's, which may count from the end."""
    axis = r.randrange(x.ndim)
    return axis, r.choice([axis + 1, axis - x.ndim])


def flip(r, b):
    if r.random() < 0.3:
        return "x:flip()", np.flip(b.x)
    axes = r.sample(range(b.x.ndim), r.randint(1, b.x.ndim))
    return f"x:flip({table(np.array(axes) + 1)})", np.flip(b.x, axes)


def roll(r, b):
    shift = r.randint(-9, 9)
    if r.random() < 0.3:
        return f"x:roll({shift})", np.roll(b.x, shift)
    if r.random() < 0.3:
        axes = [r.randrange(b.x.ndim) for _ in range(2)]
        return f"gpu.roll(x, {{{shift}, 2}}, {table(np.array(axes) + 1)})", np.roll(b.x, (shift, 2), axes)
    axis, lua = axis_of(r, b.x)
    return f"x:roll({shift}, {lua})", np.roll(b.x, shift, axis)


def repeat(r, b):
    axis, lua = axis_of(r, b.x)
    if r.random() < 0.3:
        count = r.randint(0, 3)
        return f"x:repeat_interleave({count})", np.repeat(b.x, count)
    if r.random() < 0.5:
        counts = [r.randint(0, 3) for _ in range(b.x.shape[axis])]
        return f"x:repeat_interleave({table(counts)}, {lua})", np.repeat(b.x, np.array(counts, int), axis)
    count = r.choice([0, 1, 2, 3, 70])
    return f"x:repeat_interleave({count}, {lua})", np.repeat(b.x, count, axis)


def tile(r, b):
    counts = [r.choice([0, 1, 1, 2, 3]) for _ in range(r.randint(1, b.x.ndim + 1))]
    return f"x:tile({table(counts)})", np.tile(b.x, counts)


def pad(r, b):
    modes = ["constant"] if b.x.size == 0 else ["constant", "edge", "reflect", "symmetric", "wrap"]
    mode = r.choice(modes)
    widths = [[r.randint(0, 5), r.randint(0, 5)] for _ in range(b.x.ndim)]
    lua, value = "{" + ", ".join(map(table, widths)) + "}", ""
    if r.random() < 0.2:
        widths = r.randint(0, 3)
        lua = str(widths)
    elif r.random() < 0.2:
        widths = widths[0]
        lua = table(widths)
    keywords = {}
    if mode == "constant":
        keywords, value = {"constant_values": 7}, ", 7"
    return f"x:pad({lua}, '{mode}'{value})", np.pad(b.x, widths, mode, **keywords)


def unfold(r, b):
    axis, lua = axis_of(r, b.x)
    size, step = r.randint(1, max(1, b.x.shape[axis])), r.randint(1, 3)
    if size > b.x.shape[axis]:
        return "x", b.x
    windows = np.lib.stride_tricks.sliding_window_view(b.x, size, axis)
    return f"x:unfold({lua}, {size}, {step})", windows[(slice(None),) * axis + (slice(None, None, step),)]


def parts(r, b):
    axis, lua = axis_of(r, b.x)
    n = b.x.shape[axis]
    kind = r.choice(["cuts", "equal", "chunk"])
    if kind == "cuts":
        cuts = sorted(r.randint(0, n) for _ in range(r.randint(0, 3)))
        text, want = f"x:split({table(cuts)}, {lua})", np.split(b.x, cuts, axis)
    elif kind == "equal":
        count = r.choice([k for k in range(1, 8) if n % k == 0])
        text, want = f"x:split({count}, {lua})", np.split(b.x, count, axis)
    else:
        count = r.randint(1, 4)
        each = max(1, -(-n // count))
        text, want = f"x:chunk({count}, {lua})", np.split(b.x, range(each, n, each), axis)
    i = r.randrange(len(want))
    return f"(function(p) assert(#p == {len(want)}) return p[{i + 1}] end)({text})", want[i]


def axes(r, b):
    (one, lua), (other, lua2) = axis_of(r, b.x), axis_of(r, b.x)
    kind = r.choice(["moveaxis", "swap", "new", "expand", "newaxis"])
    if kind == "moveaxis":
        return f"x:moveaxis({lua}, {lua2})", np.moveaxis(b.x, one, other)
    if kind == "swap":
        return f"x:transpose({lua}, {lua2})", np.swapaxes(b.x, one, other)
    if kind == "new":
        return f"x:unsqueeze({one + 1})", np.expand_dims(b.x, one)
    if kind == "expand":
        return "x[{gpu.newaxis, '...', gpu.newaxis}]:expand(2, " + "-1, " * b.x.ndim + "3)", np.broadcast_to(
            b.x[None, ..., None], (2, *b.x.shape, 3))
    return "x[{'...', gpu.newaxis}]:squeeze()", np.squeeze(b.x)


def diagonals(r, b):
    k = r.randint(-4, 4)
    if b.x.ndim == 1:
        return f"x:diag({k})", np.diag(b.x, k)
    kind = r.choice(["diagonal", "tril", "triu"])
    if kind == "diagonal":
        one, other = r.sample(range(b.x.ndim), 2)
        return f"x:diagonal({k}, {one + 1}, {other - b.x.ndim})", np.diagonal(b.x, k, one, other)
    return f"x:{kind}({k})", getattr(np, kind)(b.x, k)


def grids(r, b):
    n, m, k = r.randint(0, 5), r.randint(0, 5), r.randint(-6, 6)
    kind = r.choice(["tri", "eye", "mesh"])
    if kind == "tri":
        return f"gpu.tri({n}, {m}, {k}, 'int32')", np.tri(n, m, k, np.int32)
    if kind == "eye":
        return f"gpu.eye({n}, {m}, 'int32')", np.eye(n, m, dtype=np.int32)
    order, lines = r.choice(["xy", "ij"]), [np.arange(1, r.randint(0, 4) + 1) for _ in range(r.randint(1, 3))]
    i = r.randrange(len(lines))
    given = ", ".join(f"gpu.range({len(l)})" for l in lines)
    return f"select({i + 1}, gpu.meshgrid({given}, '{order}'))", np.meshgrid(*lines, indexing=order)[i]


def other_bytes(r, b):
    """The same bytes as integers of any size. NumPy goes on where elements do not lie at multiples of their size."""
    dtype = np.dtype(r.choice([f"{kind}int{8 * size}".lstrip("s") for kind in "us" for size in (1, 2, 4, 8)]))
    try:
        want = b.x.view(dtype)
        whole = all(n <= 1 or s % dtype.itemsize == 0 for n, s in zip(want.shape, want.strides))
        text = show(want) if want.size == 0 or want.flags.aligned and whole else "error"
    except ValueError:
        text = "error"
    return f"x:view('{dtype}')", text


KINDS = [flip, roll, repeat, tile, pad, unfold, parts, axes, diagonals, grids, other_bytes]
COUNTS = {"cpu": 100, "simt": 25, "generated": 10}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
def test_random_shapes(kind, way, tmp_path):
    def make(r):
        b = Base(r)
        text, want = kind(r, b)
        return b.lua + "return (" + text + ")", want if isinstance(want, str) else show(want)
    run_cases(make, kind.__name__, way, rounds(COUNTS[way]), tmp_path)
