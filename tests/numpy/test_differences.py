"""What is otherwise than in NumPy on purpose: each row of gpu.help "numpy", here and there."""
import subprocess
import warnings

import numpy as np

from against import LUNARRAY

X = np.zeros(2)


def raises(f):
    try:
        f()
    except Exception:
        return True
    return False


def warns(f):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f()
    return len(caught) > 0


def in_place():
    x = np.ones(1)
    y = x
    y += 1
    return float(x[0])


# The row: an expression, and its text there. What is here the row itself asserts.
ROWS = {
    'Indices and axes count from 1':
        ('int(np.array([7, 8, 9])[1])', '8'),
    "A range has its last number: gpu.range(0, 5), x['2:3']":
        ('len(np.arange(0, 5))', '5'),
    'New arrays are float32, those of integers in a table too':
        ('np.array([1, 2]).dtype', 'int64'),
    'int32 and uint32 with float16, float32, complex64 or a number with a fraction make float32 or complex64':
        ("(np.ones(1, 'int32') + np.ones(1, 'float32')).dtype, (np.ones(1, 'uint32') + np.ones(1, 'complex64')).dtype",
         "(dtype('float64'), dtype('complex128'))"),
    'Where quotients, means, roots, gpu.linalg or gpu.fft need floats, integers below 64 bits become float32':
        ("(np.ones(1, 'int32') / 2).dtype, np.sqrt(np.ones(1, 'int8')).dtype, np.fft.fft(np.ones(2, 'int8')).dtype",
         "(dtype('float64'), dtype('float16'), dtype('complex128'))"),
    'gpu.linalg takes float16, too':
        ("raises(lambda: np.linalg.inv(np.eye(2, dtype='float16')))", 'True'),
    'x ^ y and x:reciprocal() are floating, also of integers':
        ('raises(lambda: np.array([2]) ** -1)', 'True'),
    'uint64 with a signed type makes int64':
        ("(np.ones(1, 'uint64') + np.ones(1, 'int64')).dtype", 'float64'),
    'Bools are computed with as int32':
        ("(np.ones(1, 'bool') * np.ones(1, 'bool')).dtype, raises(lambda: -np.ones(1, 'bool'))", "(dtype('bool'), True)"),
    'Sums of uint8 to uint32 are int64':
        ("np.ones((2, 2), 'uint8').sum(0).dtype", 'uint64'),
    "Floats beyond an integer type's range become its nearest, NaN 0":
        ("'undefined'", 'undefined'),
    "Comparisons of elements are methods, x:lt(y): Lua's own give one boolean":
        ('(np.ones(2) == np.ones(2)).tolist()', '[True, True]'),
    'gpu.equal(x, y) is one boolean, x:eq(y) compares elements':
        ('np.equal(np.ones(2), np.ones(2)).size, np.array_equal(np.ones(2), np.ones(2))', '(2, True)'),
    'An array is true in a condition, as everything in Lua but nil and false':
        ('raises(lambda: bool(np.zeros(2)))', 'True'),
    'Ranges that reach beyond an axis, or run backwards, are errors':
        ('np.ones(3)[1:5].size, np.ones(3)[2:1].size', '(2, 0)'),
    'x:transpose(1, 2) swaps two axes, x:permute orders all of them':
        ('raises(lambda: np.zeros((2, 3, 4)).transpose(1, 2))', 'True'),
    'New arrays lie in memory row by row, however their operands do':
        ('(np.ones((2, 3)).T + 1).flags.c_contiguous', 'False'),
    'x:flatten() is a view where it can be one':
        ('np.shares_memory(X, X.flatten()), np.shares_memory(X, X.ravel())', '(False, True)'),
    'x:sort(), x:partition(k), x:put(i, y) and x:fill_diagonal(y) are new arrays':
        ('np.array([2, 1]).sort(), X.partition(0), X.put([0], [0]), np.fill_diagonal(X.reshape(2, 1), 0)',
         '(None, None, None, None)'),
    "x:remainder(y) is C's, beside the nearest multiple; x:mod(y) rounds down":
        ('np.remainder(7, 4)', '3'),
    'x:add(1) is new, x:add_(1) works in place':
        ('in_place()', '2.0'),
    'x // y is the quotient rounded down, as in Lua: 1 // 0.1 is 10':
        ('1.0 // np.array([0.1])', '[9.]'),
    'Where x % y is 0 it has the sign of x, as in Lua':
        ('np.signbit(np.array([-4.0, 4.0]) % [2, -2]).tolist()', '[False, True]'),
    'Right shifts by a negative number move left':
        ("'undefined'", 'undefined'),
    'mean, average, var, std, median, cov and corrcoef of no elements are errors':
        ('float(np.mean(np.zeros(0)))', 'nan'),
    'A reduction without axes, or along the only one, is a Lua number':
        ("type(np.ones((2, 2), 'float32').sum()).__name__", 'float32'),
    'x:argmax(), x:argsort(), gpu.searchsorted count from 1':
        ('np.array([3, 9, 4]).argmax()', '1'),
    'Sorting puts -0.0 before 0.0':
        ('float(np.divide(1, np.sort(np.array([0.0, -0.0]))[0]))', 'inf'),
    'gpu.random.integers(a, b) reaches b':
        ('raises(lambda: np.random.default_rng(0).integers(7, 7))', 'True'),
    'x:nonzero(), x:gradient() and gpu.meshgrid give several results':
        ('type(np.ones((2, 2)).nonzero()).__name__', 'tuple'),
    'gpu.piecewise calls its functions with all of x':
        ('np.piecewise(np.arange(1, 4), [np.arange(1, 4) > 2], [lambda x: x.sum()])[2]', '3'),
    'x:repeat_interleave(n), since repeat is a word of Lua':
        ('np.array([1, 2]).repeat(2).tolist()', '[1, 1, 2, 2]'),
    'Arrays of whole floats are indices, too':
        ('raises(lambda: np.array([7, 8, 9])[np.array([2.0])])', 'True'),
    'Of several values assigned to one element the last stays':
        ("'undefined'", 'undefined'),
    'Complex numbers have no order: sort, max and their like are errors':
        ('np.array([1 + 1j, 2]).max()', '(2+0j)'),
    'Division by zero and overflow say nothing':
        ('warns(lambda: np.array([1]) / 0)', 'True'),
    'x:bincount(least, weights)':
        ('np.bincount(np.array([1]), None, 3).size', '3'),
    'x:histogram(bins, range, weights) has no density':
        ('len(np.histogram(np.ones(2), 2, density=True))', '2'),
    'gpu.matmul of two vectors, x:dot(y) and x:vdot(y) are Lua numbers':
        ("type(np.ones(2, 'float32') @ np.ones(2, 'float32')).__name__, type(np.vdot(X, X)).__name__", "('float32', 'float64')"),
    'gpu.linalg.lstsq of one vector gives the residual as a Lua number':
        ('np.linalg.lstsq(np.ones((3, 1)), np.arange(3), rcond=None)[1].shape', '(1,)'),
    'gpu.linalg.eig and eigvals are real where all eigenvalues are':
        ("np.linalg.eigvals(np.eye(2)).dtype.kind == 'cf'[np.lib.NumpyVersion(np.__version__) < '2.5.0']", 'True'),
    'gpu.linalg.svd and qr give thin factors, full ones by {full = true}':
        ('np.linalg.svd(np.ones((3, 2)))[0].shape[1]', '3'),
}


def lua(code):
    p = subprocess.run([LUNARRAY, "-e", code], text=True, capture_output=True, timeout=200)
    assert p.returncode == 0, p.stderr
    return p.stdout.splitlines()


def test_every_row_is_known():
    text = lua("for _, d in ipairs(gpu.docs()) do if d.name == 'topic.numpy' then print(d.doc) end end")
    assert {line[2:].split(" | ")[0] for line in text if line.startswith("- ")} == set(ROWS)


def test_there():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = {name: str(eval(row[0])) for name, row in ROWS.items()}
    assert got == {name: row[1] for name, row in ROWS.items()}
