/* What is otherwise than in NumPy: the topic gpu.help "numpy". Each row says how it is here and there, and has an
 * assertion; tests/numpy/test_differences.py has what NumPy says beside it. */
#include "lang/array.h"

/* here, there, a Lua expression that is true */
#define ROWS(X)                                                                                                        \
    X("Indices and axes count from 1", "from 0", "gpu.array({7, 8, 9})[1] == 7")                                       \
    X("A range has its last number: gpu.range(0, 5), x['2:3']", "it ends before it", "#gpu.range(0, 5) == 6")          \
    X("New arrays are float32, those of integers in a table too", "float64 and int64",                                 \
      "gpu.array({1, 2}).dtype == 'float32'")                                                                          \
    X("int32 and uint32 with float16, float32, complex64 or a number with a fraction make float32 or complex64",       \
      "float64, complex128",                                                                                           \
      "(gpu.ones(1, 'int32') + gpu.ones(1)).dtype == 'float32' and gpu.dtypes('uint32', 'complex64') == 'complex64'")  \
    X("Where quotients, means, roots, gpu.linalg or gpu.fft need floats, integers below 64 bits become float32",       \
      "float64, or float16 for roots of 8 bits", "(gpu.ones(1, 'int32') / 2).dtype == 'float32'")                      \
    X("gpu.linalg takes float16, too", "an error", "gpu.linalg.inv(gpu.eye(2, 'float16')).dtype == 'float16'")         \
    X("x ^ y and x:reciprocal() are floating, also of integers", "integers, and negative powers are errors",           \
      "(gpu.array({2}, 'int32') ^ -1)[1] == 0.5 and gpu.array({2}, 'int32'):reciprocal()[1] == 0.5")                   \
    X("uint64 with a signed type makes int64", "float64",                                                              \
      "(gpu.ones(1, 'uint64') + gpu.ones(1, 'int64')).dtype == 'int64'")                                               \
    X("Bools are computed with as int32", "bool, int8 or an error",                                                    \
      "(-gpu.ones(1, 'bool')).dtype == 'int32' and (gpu.ones(1, 'bool') * gpu.ones(1, 'bool')).dtype == 'int32'")      \
    X("Sums of uint8 to uint32 are int64", "uint64", "gpu.ones(2, 2, 'uint8'):sum(1).dtype == 'int64'")                \
    X("Floats beyond an integer type's range become its nearest, NaN 0", "anything",                                   \
      "gpu.array({300, -5, 0 / 0}):to('uint8'):sum() == 255")                                                          \
    X("Comparisons of elements are methods, x:lt(y): Lua's own give one boolean", "operators",                         \
      "gpu.ones(2) == gpu.ones(2) == false")                                                                           \
    X("gpu.equal(x, y) is one boolean, x:eq(y) compares elements", "array_equal is the one, equal the other",          \
      "gpu.equal(gpu.ones(2), gpu.ones(2)) == true and gpu.ones(2):eq(1).size == 2")                                   \
    X("An array is true in a condition, as everything in Lua but nil and false", "an error", "gpu.zeros(2) and true")  \
    X("Ranges that reach beyond an axis, or run backwards, are errors", "they are cut, or empty",                      \
      "not pcall(function() return gpu.ones(3)['2:5'] end) and not pcall(function() return gpu.ones(3)['3:1'] end)")   \
    X("x:transpose(1, 2) swaps two axes, x:permute orders all of them", "transpose orders all",                        \
      "gpu.zeros(2, 3, 4):transpose(1, 2).shape[3] == 4")                                                              \
    X("New arrays lie in memory row by row, however their operands do", "as the operands do",                          \
      "(gpu.ones(2, 3).T + 1):is_contiguous()")                                                                        \
    X("x:flatten() is a view where it can be one", "a copy; ravel is a view",                                          \
      "(function() local x = gpu.zeros(2) x:flatten():fill(1) return x[1] end)() == 1")                                \
    X("x:sort(), x:partition(k), x:put(i, y) and x:fill_diagonal(y) are new arrays", "they work in place",             \
      "(function() local x = gpu.array({2, 1}) x:sort() x:partition(1) x:put({1}, {9}) "                               \
      "x:reshape(2, 1):fill_diagonal(9) return x[1] end)() == 2")                                                      \
    X("x:remainder(y) is C's, beside the nearest multiple; x:mod(y) rounds down", "remainder rounds down",             \
      "gpu.array({7}):remainder(4)[1] == -1 and gpu.array({7}):mod(4)[1] == 3")                                        \
    X("x:add(1) is new, x:add_(1) works in place", "x += 1 works in place",                                            \
      "(function() local x = gpu.ones(1) x:add(1) x:add_(2) return x[1] end)() == 3")                                  \
    X("x // y is the quotient rounded down, as in Lua: 1 // 0.1 is 10", "9",                                           \
      "(gpu.array({1}, 'float64') // 0.1)[1] == 10 and 1 // 0.1 == 10")                                                \
    X("Where x % y is 0 it has the sign of x, as in Lua", "that of y", "1 / (gpu.array({-4.0}) % 2)[1] == -math.huge") \
    X("Right shifts by a negative number move left", "undefined", "(gpu.array({3}, 'int32') >> -1)[1] == 6")           \
    X("A reduction without axes, or along the only one, is a Lua number", "an array scalar",                           \
      "math.type(gpu.ones(2, 2):sum()) == 'float' and math.type(gpu.ones(2):sum(1)) == 'float'")                       \
    X("mean, average, var, std, median, cov and corrcoef of no elements are errors", "NaN, and they warn",             \
      "not pcall(gpu.mean, gpu.zeros(0))")                                                                             \
    X("x:argmax(), x:argsort(), gpu.searchsorted count from 1", "from 0", "gpu.array({3, 9, 4}):argmax() == 2")        \
    X("Sorting puts -0.0 before 0.0", "they are equal", "1 / gpu.array({0.0, -0.0}):sort()[1] == -math.huge")          \
    X("gpu.random.integers(a, b) reaches b", "it ends before b", "gpu.random.integers(7, 7, 3):max() == 7")            \
    X("x:nonzero(), x:gradient() and gpu.meshgrid give several results", "a tuple, a list",                            \
      "select('#', gpu.ones(2, 2):nonzero()) == 2")                                                                    \
    X("gpu.piecewise calls its functions with all of x", "with the elements of their conditions",                      \
      "gpu.piecewise(gpu.range(3), {gpu.range(3):gt(2)}, {function(x) return x:sum() end})[3] == 6")                   \
    X("x:repeat_interleave(n), since repeat is a word of Lua", "repeat",                                               \
      "gpu.array({1, 2}):repeat_interleave(2).size == 4 and not load('return x:repeat(2)')")                           \
    X("Arrays of whole floats are indices, too", "an error", "gpu.array({7, 8, 9})[gpu.array({3.0})][1] == 9")         \
    X("Of several values assigned to one element the last stays", "one of them does",                                  \
      "(function() local x = gpu.zeros(2) x[gpu.array({2, 2})] = {7, 8} return x[2] end)() == 8")                      \
    X("Complex numbers have no order: sort, max and their like are errors", "by real parts first",                     \
      "pcall(function() return gpu.complex(gpu.ones(2), gpu.ones(2)):max() end) == false")                             \
    X("Division by zero and overflow say nothing", "they warn", "(gpu.array({1}, 'int32') / 0)[1] == math.huge")       \
    X("x:bincount(least, weights)", "bincount(x, weights, least)",                                                     \
      "gpu.array({1}, 'int32'):bincount(3, gpu.array({5}))[2] == 5")                                                   \
    X("x:histogram(bins, range, weights) has no density", "density before weights",                                    \
      "select('#', gpu.ones(2):histogram(2)) == 2")                                                                    \
    X("gpu.matmul of two vectors, x:dot(y) and x:vdot(y) are Lua numbers", "array scalars",                            \
      "math.type(gpu.matmul(gpu.ones(2), gpu.ones(2))) .. math.type(gpu.ones(2):vdot(gpu.ones(2))) == 'floatfloat'")   \
    X("gpu.linalg.lstsq of one vector gives the residual as a Lua number", "an array of one element",                  \
      "math.type(select(2, gpu.linalg.lstsq(gpu.ones(3, 1), gpu.range(3)))) == 'float'")                               \
    X("gpu.linalg.eig and eigvals are real where all eigenvalues are", "complex always, from NumPy 2.5 on",            \
      "gpu.linalg.eigvals(gpu.eye(2)).dtype == 'float32'")                                                             \
    X("gpu.linalg.svd and qr give thin factors, full ones by {full = true}", "svd gives full ones",                    \
      "gpu.linalg.svd(gpu.ones(3, 2)).shape[2] == 2")

#define TEXT(here, there, check)      "\n- " here " | " there
#define ASSERTION(here, there, check) "assert(" check ")\n"

/* clang-format off */
const struct lg_function lg_numpy_topic[] = {
    {"numpy", NULL, "gpu.help(\"numpy\")",
     "What is otherwise than in NumPy, on purpose: here | there." ROWS(TEXT),
     ROWS(ASSERTION)},
    {0}};
/* clang-format on */
