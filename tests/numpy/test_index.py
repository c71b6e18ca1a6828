"""Random indexing, read and written, on cpu, simt and through generated CUDA C: NumPy says what is right."""
import numpy as np
import pytest

from against import WAYS, rounds
from printed import Base, DTYPES, run_cases, show, table


def indices(r, n, shape):
    """Of an axis of n: NumPy's, counting from 0, and Lua's; half of them from the end."""
    ours = [r.choice([i + 1, i - n]) for i in (r.randrange(n) for _ in range(int(np.prod(shape))))]
    theirs = np.array([i - 1 if i > 0 else i for i in ours], np.int64).reshape(shape)
    return theirs, f"I({table(ours)}, {table(shape)})"


def stretch(r, n):
    """A range that is not empty, as NumPy's slice and Lua's {first, last, step}."""
    first, last = r.randrange(n), r.randrange(n)
    step = r.choice([1, 1, 2, 3]) * (1 if first <= last else -1)
    stop = last + (1 if step > 0 else -1)
    lua = [r.choice([first + 1, first - n]), r.choice([last + 1, last - n])] + ([step] if step != 1 else [])
    return slice(first, None if stop < 0 else stop, step), table(lua)


def make_key(r, x, arrays):
    """A key for x, as NumPy's tuple and the items of a Lua table."""
    common = [r.choice([1, 2, 3]) for _ in range(r.randint(0, 2))]  # what index arrays broadcast to
    theirs, ours, axis, dots = [], [], 0, False
    while axis < x.ndim and (dots or r.random() < 0.9):
        n = x.shape[axis]
        kinds = ["whole", "new"] + ([] if dots else ["dots"]) + (["number", "stretch"] if n else [])
        if arrays:
            kinds += ["mask"] + (["indices"] * 3 if n else [])
        kind = r.choice(kinds)
        if kind == "whole":
            item = slice(None), "{}"
        elif kind == "new":
            item = None, "gpu.newaxis"
        elif kind == "dots":
            dots = True  # the axes behind them are all named
            theirs.append(Ellipsis), ours.append("'...'")
            axis = r.randint(axis, x.ndim)
            continue
        elif kind == "number":
            i = r.choice([r.randrange(n) + 1, r.randrange(n) - n])
            item = (i - 1 if i > 0 else i), str(i)
        elif kind == "stretch":
            item = stretch(r, n)
        elif kind == "indices":
            shape = [r.choice([1, s]) for s in common[r.randint(0, len(common)):]]
            item = indices(r, n, shape)
        else:
            axes = r.randint(1, x.ndim - axis)
            bits = np.array([r.random() < 0.5 for _ in range(int(np.prod(x.shape[axis:axis + axes])))], bool)
            shape = x.shape[axis:axis + axes]
            item = bits.reshape(shape), f"B({table(bits)}, {table(shape)})"
            axis += axes - 1
        axis += kind != "new"
        theirs.append(item[0]), ours.append(item[1])
    return tuple(theirs), ours


def read_case(r):
    b = Base(r)
    theirs, ours = make_key(r, b.x, r.random() < 0.8)
    text = b.lua + "return x[{" + ", ".join(ours) + "}]"
    try:
        return text, show(b.x[theirs])
    except IndexError:  # masks and indices that do not broadcast
        return text, "error"


def write_case(r):
    """NumPy's numbering of the elements says which are meant; the last value for one stays."""
    b = Base(r)
    theirs, ours = make_key(r, b.x, r.random() < 0.8)
    add = r.random() < 0.2
    try:
        places = np.arange(b.x.size).reshape(b.x.shape)[theirs]
    except IndexError:
        return b.lua + "x[{" + ", ".join(ours) + "}] = 0\nreturn x", "error"
    shape = [r.choice([1, n, n, n]) for n in places.shape[r.randint(0, places.ndim):]]
    values = np.array([r.randrange(100) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
    flat = b.x.ravel()
    for place, value in zip(np.ravel(places), np.broadcast_to(values, np.shape(places)).ravel()):
        flat[place] = value
    b.x[...] = flat.reshape(b.x.shape)
    value = str(values.ravel()[0]) if values.size == 1 and add else f"I({table(values.ravel())}, {table(shape)})"
    return b.lua + "x[{" + ", ".join(ours) + "}] = " + value + "\nreturn base", show(b.base)


def along_case(r):
    """gather, scatter and scatter_add along an axis."""
    b = Base(r, 3)
    axis = r.randrange(b.x.ndim)
    if b.x.size == 0:
        return read_case(r)
    shape = [r.randint(0, n) if i != axis else r.randint(0, 9) for i, n in enumerate(b.x.shape)]
    index, lua = indices(r, b.x.shape[axis], shape)
    coordinates = list(np.indices(shape))
    coordinates[axis] = index
    kind = r.choice(["gather", "scatter_", "scatter_add_"])
    if kind == "gather":
        return b.lua + f"return x:gather({axis + 1}, {lua})", show(b.x[tuple(coordinates)])
    values = np.array([r.randrange(3) for _ in range(int(np.prod(shape)))], b.dtype).reshape(shape)
    if kind == "scatter_add_":
        np.add.at(b.x, tuple(coordinates), values)
    else:
        for place in np.ndindex(*shape):
            b.x[tuple(int(c[place]) for c in coordinates)] = values[place]
    return b.lua + f"x:{kind}({axis + 1}, {lua}, I({table(values.ravel())}, {table(shape)}))\nreturn base", show(b.base)


def flat_case(r):
    """take and put, along an axis or through all elements."""
    b = Base(r, 3)
    if b.x.size == 0:
        return read_case(r)
    axis = r.choice([None, r.randrange(b.x.ndim)])
    shape = [r.choice([0, 1, 2, 5]) for _ in range(r.randint(0, 2))]
    index, lua = indices(r, b.x.size if axis is None else b.x.shape[axis], shape)
    if axis is not None or r.random() < 0.5:
        last = "" if axis is None else f", {axis + 1}"
        return b.lua + f"return x:take({lua}{last})", show(np.take(b.x, index, axis))
    flat = b.x.ravel()
    values = np.arange(index.size) % 50
    for i, v in zip(index.ravel(), values):
        flat[i] = v
    b.x[...] = flat.reshape(b.x.shape)
    return b.lua + f"x:put_({lua}, I({table(values)}, {table(shape)}))\nreturn base", show(b.base)


CASES = {"read": read_case, "write": write_case, "along": along_case, "flat": flat_case}
COUNTS = {"cpu": 400, "simt": 100, "generated": 60}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", CASES)
def test_random_indexing(kind, way, tmp_path):
    run_cases(CASES[kind], kind, way, rounds(COUNTS[way]), tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_rows_longer_than_a_block_that_lie_apart(way, tmp_path):
    cases = []
    for dtype in DTYPES:
        base = np.arange(1, 15001).reshape(5000, 3) % 100
        x = base.T.astype(dtype)
        lua = f"local base = (gpu.range(15000, 'int32') % 100):to('{dtype}'):reshape(5000, 3)\nlocal x = base.T\n"
        cases.append((lua + "return x[I({3, -3, 3, 1}, {4})]", show(x[[2, 0, 2, 0]])))
        x[[2, 0]] = x[[0, 1]]
        cases.append((lua + "x[I({3, 1}, {2})] = x[I({1, 2}, {2})]\nreturn x", show(x)))
    run_cases(lambda r: cases.pop(0), "long", way, len(cases), tmp_path)
