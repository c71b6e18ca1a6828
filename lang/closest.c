/* Which known name was meant by a misspelt one. */
#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/hint.h"
#include "lang/lang.h"
#include "runtime/spelling.h"

const char *lg_closest_key(lua_State *L, int table, const char *name, const char *best)
{
    size_t length = strlen(name);
    int limit = length < 3 ? 0 : length < 6 ? 1 : 2;
    int least = best ? rt_spelling_distance(name, best) : limit + 1;
    table = lua_absindex(L, table);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) continue;
        const char *key = lua_tostring(L, -2);
        int distance = rt_spelling_distance(name, key);
        /* Of equally close ones the first in the alphabet, so that the order of a table does not show. */
        if (distance > least || (distance == least && (!best || strcmp(key, best) >= 0))) continue;
        least = distance;
        best = key;
    }
    return best;
}

static bool has(lua_State *L, int table, const char *key)
{
    if (!table) return false;
    lua_pushstring(L, key);
    bool found = lua_rawget(L, table) != LUA_TNIL;
    lua_pop(L, 1);
    return found;
}

/* Whether it is more than a name. */
static bool is_written(const char *synonym)
{
    return strpbrk(synonym, " .:[/#") != NULL;
}

/* What users of NumPy, PyTorch, CuPy, Numba and PyCUDA look for, and its name here, which counts where a table has it;
 * or, for what is elsewhere or put together, how it is written. Those with gpu in front are of that module alone. */
#define BY_HAND     "out: nothing takes gradients by itself, but dw = x.T:matmul(dy) for y = x:matmul(w)"
#define ELEMENTWISE "gpu.vectorize [[ template <typename T> __device__ T f(T x, T y) { return x + y; } ]]"
#define FROM_PYTHON                                                                                                    \
    "gpu.kernel [[ ... ]], or gpu.vectorize [[ ... ]] of numbers, in CUDA C: functions of Lua's do not run on the GPU"
/* clang-format off */
static const char *const synonyms[][2] = {
    {"arange", "gpu.range(0, n - 1), with both ends"}, {"tolist", "totable"}, {"numpy", "totable"}, {"random", "rand"},
    {"cat", "concatenate"}, {"concat", "concatenate"}, {"tensor", "array"}, {"Tensor", "array"},
    {"resize", "reshape"}, {"normal", "randn"}, {"power", "pow"}, {"multiply", "mul"}, {"subtract", "sub"},
    {"divide", "div"}, {"negative", "neg"}, {"copy", "clone"}, {"cuda", "x:to(\"cuda\")"}, {"cpu", "x:to(\"cpu\")"},
    {"nbytes", "bytes"}, {"numel", "size"}, {"expand", "broadcast_to"}, {"absolute", "abs"}, {"fabs", "abs"},
    {"floor_divide", "floordiv"}, {"true_divide", "div"}, {"float_power", "pow"}, {"invert", "bitwise_not"},
    {"conjugate", "conj"}, {"rint", "round"}, {"nearbyint", "round"}, {"greater", "gt"}, {"greater_equal", "ge"},
    {"less", "lt"}, {"less_equal", "le"}, {"equal", "eq"}, {"not_equal", "ne"}, {"arcsin", "asin"},
    {"arccos", "acos"}, {"arctan", "atan"}, {"arctan2", "atan2"}, {"arcsinh", "asinh"}, {"arccosh", "acosh"},
    {"arctanh", "atanh"}, {"degrees", "rad2deg"}, {"radians", "deg2rad"}, {"tgamma", "gamma"}, {"scalbn", "ldexp"},
    {"ilogb", "logb"}, {"clamp", "clip"}, {"ravel", "flatten"},
    {"swapaxes", "transpose"}, {"sliding_window_view", "unfold"}, {"positive", "clone"}, {"fix", "trunc"},
    {"around", "round"}, {"lround", "round_away"}, {"llround", "round_away"}, {"lrint", "round"}, {"llrint", "round"},
    {"scalbln", "ldexp"}, {"isgreaterequal", "ge"}, {"islessequal", "le"}, {"islessgreater", "x:lt(y) | x:gt(y)"},
    {"fpclassify", "isfinite"}, {"bitwise_invert", "bitwise_not"}, {"bitwise_left_shift", "left_shift"},
    {"bitwise_right_shift", "right_shift"}, {"nexttoward", "nextafter"}, {"isgreater", "gt"}, {"isless", "lt"},
    {"gammaln", "lgamma"}, {"psi", "digamma"}, {"igamma", "gammainc"}, {"igammac", "gammaincc"}, {"bessel_j0", "j0"},
    {"bessel_j1", "j1"}, {"bessel_y0", "y0"}, {"bessel_y1", "y1"}, {"cyl_bessel_i0", "i0"}, {"cyl_bessel_i1", "i1"}, {"modified_bessel_k0", "k0"}, {"modified_bessel_k1", "k1"},
    {"scaled_modified_bessel_k0", "k0e"}, {"scaled_modified_bessel_k1", "k1e"},
    {"modified_bessel_i0", "i0"}, {"modified_bessel_i1", "i1"}, {"expit", "sigmoid"}, {"amax", "max"}, {"amin", "min"},
    {"mm", "matmul"}, {"bmm", "matmul"}, {"mv", "matvec"}, {"ger", "outer"}, {"t", "T"}, {"zero", "fill"},
    {"stride", "strides"}, {"dim", "ndim"}, {"nDimension", "ndim"}, {"nElement", "size"}, {"nelement", "size"},
    {"type", "to"}, {"double", "x:to(\"float64\")"}, {"float", "x:to(\"float32\")"}, {"long", "x:to(\"int64\")"},
    {"cmul", "mul"}, {"cdiv", "div"}, {"cpow", "pow"}, {"index", "take"}, {"index_select", "take"},
    {"indexSelect", "take"}, {"masked_fill", "gpu.where(mask, value, x)"}, {"maskedSelect", "masked_select"},
    {"scatterAdd", "scatter_add"}, {"fliplr", "flip"}, {"flipud", "flip"}, {"expand_dims", "unsqueeze"},
    {"identity", "eye"}, {"vstack", "gpu.concatenate({x, y}), of vectors gpu.stack({x, y})"},
    {"hstack", "gpu.concatenate({x, y}, 2), of vectors gpu.concatenate({x, y})"},
    {"column_stack", "gpu.stack({x, y}, 2), of matrices gpu.concatenate({x, y}, 2)"}, {"array_split", "chunk"}, {"cumulative_sum", "cumsum"},
    {"rand", "gpu.rand"}, {"randn", "gpu.randn"}, {"randint", "integers"},
    {"default_rng", "generator"}, {"manualSeed", "seed"}, {"manual_seed", "seed"},
    {"array_equal", "equal"}, {"asarray", "array"}, {"asnumpy", "totable"}, {"get", "x:to(\"cpu\")"},
    {"copy_to_host", "x:to(\"cpu\")"}, {"to_device", "x:to(\"simt\") or gpu.array(t)"}, {"device_array", "empty"},
    {"sync", "synchronize"}, {"elapsed_time", "elapsed"}, {"Event", "event"}, {"Stream", "stream"}, {"Graph", "graph"}, {"CUDAGraph", "graph"},
    {"pin_memory", "gpu.pinned"}, {"pinned_array", "pinned"}, {"alloc_pinned_memory", "pinned"}, {"range_push", "push"},
    {"range_pop", "pop"}, {"record_event", "record"}, {"wait_event", "wait"}, {"wait_stream", "wait"}, {"query", "done"}, {"copyto", "copy"},
    {"repeatTensor", "tile"}, {"RawKernel", "kernel"}, {"to_gpu", "array"}, {"to_dlpack", "dlpack"},
    {"toDlpack", "dlpack"}, {"sliding_windows", "unfold"}, {"RawModule", "kernel"}, {"SourceModule", "kernel"},
    {"ElementwiseKernel", ELEMENTWISE}, {"elementwise", ELEMENTWISE},
    {"ReductionKernel", "gpu.reduction [[ template <typename T> __device__ T f(T a, T b) { return a + b; } ]], called as f(x * x)"}, {"InclusiveScanKernel", "scan"},
    {"fuse", "f(x, y) itself: a chain of operations is one pass over memory, see gpu.explain"},
    {"gpu.compile", "f(x, y) itself: a chain of operations is one pass over memory, see gpu.explain"}, {"jit", FROM_PYTHON},
    {"rawkernel", FROM_PYTHON}, {"guvectorize", FROM_PYTHON}, {"raw_kernel", "kernel"}, {"csr", "sparse"},
    {"vmap", "gpu.apply_along_axis(f, axis, x), or with an axis more: functions take the axis that they work along"},
    {"gpu.grid", "blockIdx.x * blockDim.x + threadIdx.x, in kernels"}, {"gridsize", "gridDim.x * blockDim.x, in kernels"},
    {"syncthreads", "__syncthreads(), in kernels"}, {"syncwarp", "__syncwarp(), in kernels"},
    {"gpu.shared", "__shared__ float s[256], in kernels"},
    {"gpu.atomic", "atomicAdd(&x[i], v), in kernels; of arrays x:index_add_(1, i, v) adds so"},
    {"get_array_module", "gpu: its functions work where their arrays are, and x.device tells where that is"},
    {"set_default_dtype", "behind the sizes, gpu.zeros(3, \"float64\")"}, {"set_default_device", "gpu.device(\"cpu\")"},
    {"current_stream", "s:with(f): work goes into s while f runs, else into the device's own stream"},
    {"use", "s:with(f): work goes into s while f runs"}, {"get_elapsed_time", "e:elapsed(later)"},
    {"device_properties", "gpu.device()"}, {"getDeviceProperties", "gpu.device()"},
    {"memory_summary", "gpu.memory()"}, {"memory_stats", "gpu.memory()"}, {"memory_reserved", "gpu.memory().cached"},
    {"max_memory_allocated", "gpu.memory().peak"},
    {"gpu.sparse.random", "(gpu.rand(m, n) * gpu.rand(m, n):lt(0.1)):to_sparse()"},
    {"gpu.sparse.rand", "(gpu.rand(m, n) * gpu.rand(m, n):lt(0.1)):to_sparse()"},
    {"csr_matrix", "sparse"}, {"randint", "gpu.random.integers"},
    {"loadtxt", "gpu.load"},
    {"genfromtxt", "gpu.load"}, {"fromfile", "gpu.load"}, {"savetxt", "gpu.save"}, {"savez", "gpu.save"},
    {"tofile", "gpu.save"}, {"dump", "gpu.save"}, {"frombuffer", "gpu.array"}, {"ravel", "x:flatten"},
    {"astype", "x:to(\"int32\")"}, {"swapaxes", "x:transpose"}, {"expand_dims", "x:unsqueeze"},
    {"repeat", "x:repeat_interleave"},
    {"expand_as", "x:broadcast_to"}, {"view_as", "x:reshape"},
    {"reshape_as", "x:reshape"}, {"resizeAs", "x:reshape"}, {"type_as", "x:to"}, {"int", "x:to(\"int32\")"},
    {"new_zeros", "gpu.zeros_like"}, {"ndimension", "x.ndim"}, {"zero_", "x:fill(0)"},
    {"masked_fill_", "x[mask] = value"}, {"maskedFill", "x[mask] = value"}, {"indexFill", "x[indices] = value"},
    {"indexCopy", "x[indices] = y"}, {"add_at", "x:index_add_(1, indices, values)"},
    {"dstack", "gpu.concatenate({x, y}, 3)"}, {"row_stack", "gpu.concatenate({x, y}), of vectors gpu.stack({x, y})"}, {"append", "concatenate"}, {"mgrid", "meshgrid"},
    {"ogrid", "meshgrid"}, {"rollaxis", "moveaxis"}, {"histc", "histogram"}, {"fill_", "fill"}, {"eval", "evaluate"},
    {"nan", "0/0"}, {"inf", "math.huge"},
    {"pi", "math.pi"},
    {"in1d", "isin"},
    {"trapz", "trapezoid"}, {"addmm", "x:matmul(y) + z"}, {"len", "#x"},
    {"itemsize", "x.bytes / x.size"}, {"read_csv", "gpu.load"}, {"imread", "gpu.load"}, {"imwrite", "gpu.save"},
    {"imsave", "gpu.save"}, {"from_numpy", "gpu.load"}, {"randperm", "gpu.random.permutation"},
    {"atleast_2d", "x:unsqueeze(1)"},
    {"apply", "gpu.vectorize"}, {"map", "gpu.vectorize"}, {"delete", "x[mask]"},
    {"detach", "x:clone()"}, {"half", "x:to(\"float16\")"}, {"byte", "x:to(\"uint8\")"}, {"short", "x:to(\"int16\")"},
    {"bool", "x:to(\"bool\")"}, {"csub", "sub"}, {"inverse", "gpu.linalg.inv"},
    {"symeig", "gpu.linalg.eigh"}, {"dist", "(x - y):norm()"}, {"isSameSizeAs", "x.shape == y.shape"},
    {"frac", "x - x:trunc()"}, {"cinv", "x:reciprocal()"},
    {"tolist", "x:totable()"}, {"table", "totable"}, {"asnumpy", "x:totable()"}, {"ascontiguousarray", "x:contiguous()"}, {"flat", "x:flatten()"},
    {"take_along_axis", "x:gather"}, {"put_along_axis", "x:scatter_"}, {"extract", "x:masked_select"},
    {"place", "x[mask] = values"}, {"putmask", "x[mask] = values"}, {"index_put_", "x[indices] = values"},
    {"H", "x.T:conj()"}, {"mT", "x:transpose(-1, -2)"},
    {"matrix_transpose", "x:transpose(-1, -2)"},
    {"mse_loss", "((x - y) ^ 2):mean()"}, {"zscore", "(x - x:mean()) / x:std()"},
    {"pairwise_distance", "(x - y):norm(2, -1)"}, {"addcmul", "x + y * z"}, {"baddbmm", "x:matmul(y) + z"},
    {"r_", "concatenate"},
    {"poly1d", "polyval"}, {"polymul", "convolve"}, {"fftconvolve", "gpu.convolve(x, y, mode, \"fft\")"}, {"oaconvolve", "convolve"}, {"convolve2d", "convolve"}, {"correlate2d", "correlate"},
    {"medfilt2d", "medfilt"}, {"block_diag", "block"}, {"movedim", "moveaxis"},
    {"unbind", "unstack"}, {"diagflat", "diag"}, {"result_type", "dtypes"}, {"promote_types", "dtypes"}, {"ediff1d", "diff"},
    {"msort", "sort"}, {"broadcast_arrays", "x:broadcast_to"}, {"atleast_1d", "x:reshape(-1)"}, {"e", "math.exp(1)"},
    {"Stream", "gpu.synchronize()"},
    {"to_host", "x:to(\"cpu\"), or x:totable()"}, {"to_cpu", "x:to(\"cpu\")"}, {"mem_info", "gpu.memory()"}, {"memGetInfo", "gpu.memory()"},
    {"elapsed", "from:elapsed(to), of two events, or gpu.time(function() ... end)"}, {"record", "e:record(), of an event"},
    {"malloc", "gpu.empty(n)"}, {"alloc", "gpu.empty(n)"}, {"memcpy", "y:copy_(x), or x:to(device)"}, {"memset", "x:fill(0)"},
    {"occupancy", "k:occupancy(block), of a kernel"}, {"mempool", "gpu.memory(), gpu.memory_trim()"},
    {"indices", "meshgrid"},
    {"ix_", "x[{i:unsqueeze(2), j}]"},
    {"circulant", "c[gpu.fromfunction(function(i, j) return (i - j) % n + 1 end, n, n)]"},
    {"argrelmax", "find_peaks"}, {"freqz_sos", "sosfreqz"},
    {"filtfilt", "gpu.lfilter(b, a, gpu.lfilter(b, a, x):flip(-1)):flip(-1), of sections gpu.sosfiltfilt(sos, x)"}, {"get_window", "hanning"},
    {"normcdf", "ndtr"}, {"normcdfinv", "ndtri"}, {"binom", "comb"}, {"btdtr", "betainc"},
    {"entr", "-x:xlogy(x)"}, {"rel_entr", "x:xlogy(x / y)"}, {"diag_indices", "x:diagonal()"},
    {"c_", "gpu.stack({x, y}, 2)"}, {"nditer", "x:totable()"}, {"ndenumerate", "x:totable()"},
    {"vsplit", "x:split(n, 1)"}, {"hsplit", "x:split(n, 2)"}, {"dsplit", "x:split(n, 3)"},
    {"asfortranarray", "x.T:contiguous().T"}, {"array_equiv", "equal"}, {"array2string", "print(x) or tostring(x)"},
    {"array_repr", "print(x) or tostring(x)"}, {"finfo", "gpu.ones(1, dtype):spacing()[1]"}, {"cumulative_prod", "cumprod"},
    {"fromstring", "gpu.array(text, dtype)"}, {"fromiter", "array"}, {"permute_dims", "x:permute"},
    {"unflatten", "x:reshape"}, {"resize", "x:reshape"}, {"unique_counts", "x:unique{counts = true}"},
    {"unique_inverse", "x:unique{inverse = true}"}, {"unique_values", "unique"},
    {"histogram_bin_edges", "select(2, x:histogram(n))"}, {"copyto", "x:copy_(y)"}, {"lu_factor", "gpu.linalg.lu"},
    {"lu_solve", "gpu.linalg.solve"}, {"cho_factor", "gpu.linalg.cholesky"}, {"cho_solve", "gpu.linalg.solve"},
    {"eigsh", "gpu.linalg.eigh"}, {"svds", "gpu.linalg.svd"}, {"splu", "gpu.sparse.factorized"},
    {"csc_matrix", "gpu.sparse.csr(data, indices, indptr, {columns, rows}).T"},
    {"csc_array", "gpu.sparse.csr(data, indices, indptr, {columns, rows}).T"},
    {"csc", "gpu.sparse.csr(data, indices, indptr, {columns, rows}).T"}, {"tocsc", "A.T, whose rows are the columns of A"},
    {"coo_matrix", "sparse"}, {"csr_array", "sparse"},
    {"spdiags", "gpu.sparse.diags"}, {"toarray", "todense"}, {"tocoo", "coo"}, {"getrow", "A[i]"},
    {"getcol", "A[{{}, i}]"}, {"bucketize", "digitize"},
    {"cosine_similarity", "(x * y):sum(-1) / (x:norm(2, -1) * y:norm(2, -1))"},
    {"normalize", "x / x:norm(2, -1, true)"},
    {"upsample", "interpolate"}, {"l1_loss", "(x - y):abs():mean()"},
    {"nll_loss", "-x:gather(2, classes:unsqueeze(2)):mean()"}, {"CrossEntropyLoss", "cross_entropy"},
    {"Embedding", "embedding"}, {"Upsample", "interpolate"}, {"Dropout", "dropout"}, {"MultiheadAttention", "scaled_dot_product_attention"}, {"attention", "scaled_dot_product_attention"},
    {"hardtanh", "x:clip(-1, 1)"}, {"relu6", "x:clip(0, 6)"}, {"mish", "x * x:softplus():tanh()"},
    {"softsign", "x / (1 + x:abs())"}, {"logsigmoid", "-(-x):softplus()"}, {"softmin", "(-x):softmax()"},
    {"swish", "silu"}, {"clamp_min", "x:maximum(y)"}, {"clamp_max", "x:minimum(y)"}, {"cartesian_prod", "meshgrid"},
    {"masked_scatter", "x[mask] = values"}, {"standard_normal", "randn"},
    {"random_sample", "rand"}, {"ranf", "rand"},
    {"gaussian_filter1d", "gpu.ndimage.gaussian_filter(x, {0, sigma})"},
    {"convolve1d", "gpu.ndimage.convolve"}, {"correlate1d", "gpu.ndimage.correlate"},
    {"length", "#x, or x.size"}, {"forEach", "for i, v in ipairs(x) do"}, {"is_available", "gpu.device().kind == \"cuda\""}, {"device_count", "#gpu.devices()"},
    {"set_device", "gpu.device(\"cuda:0\")"}, {"current_device", "gpu.device()"}, {"get_device_name", "gpu.device().model"},
    {"get_device_properties", "gpu.device()"}, {"mem_get_info", "gpu.memory()"}, {"memory_allocated", "gpu.memory().in_use"},
    {"empty_cache", "gpu.memory_trim()"}, {"module", "gpu.kernel{file = \"saxpy.cu\"}"}, {"Module", "gpu.kernel{file = \"saxpy.cu\"}"},
    {"load_inline", "gpu.kernel(text)"}, {"show", "gpu.plot(x, y), which shows at once"},
    {"figure", "gpu.plot(x, y, {size = {800, 600}})"}, {"title", "gpu.plot(x, y, {title = \"...\"})"},
    {"legend", "gpu.plot{{x, y, label = \"...\"}}"}, {"subplots", "gpu.plot{{x, y}, {x, z}}, several series in one picture"},
    {"subplot", "gpu.plot{{x, y}, {x, z}}, several series in one picture"},
    {"sqrtm", "(v * w:sqrt()):matmul(v.T), of a symmetric x and w, v = gpu.linalg.eigh(x)"},
    {"hankel", "gpu.linalg.toeplitz(c:flip(), r):flip(1)"}, {"squareform", "x[{gpu.triu_indices(n, 1)}] = d"},
    {"einsum_path", "einsum, which finds the order of its products itself"},
    {"apply_over_axes", "x:sum({1, 2}, true)"}, {"addcdiv", "x + y / z"}, {"aminmax", "x:min(), x:max()"},
    {"var_mean", "x:var(), x:mean()"}, {"std_mean", "x:std(), x:mean()"}, {"addmv", "x:matmul(y) + z"},
    {"addr", "x:outer(y) + z"}, {"chain_matmul", "gpu.linalg.multi_dot"}, {"index_fill", "x[{indices, {}}] = value"},
    {"index_copy", "x[{indices, {}}] = y"}, {"swapdims", "x:transpose"}, {"take_along_dim", "x:gather"},
    {"cholesky_solve", "gpu.linalg.solve"},
    {"real", "x.real"}, {"imag", "x.imag"}, {"iscomplex", "x.imag:ne(0)"}, {"isreal", "x.imag:eq(0)"},
    {"shape", "x.shape"}, {"size", "x.size"}, {"ndim", "x.ndim"}, {"trace", "x:diagonal():sum()"},
    {"set_printoptions", "printoptions"}, {"get_printoptions", "printoptions"}, {"atleast_3d", "x:reshape(1, -1, 1)"},
    {"asanyarray", "array"}, {"savez_compressed", "gpu.save(path, {x = x}, {compress = true})"},
    {"broadcast_shapes", "(gpu.zeros(2, 1) + gpu.zeros(3)).shape"}, {"vector_norm", "gpu.linalg.norm"},
    {"matrix_norm", "gpu.linalg.norm"}, {"random", "gpu.rand"}, {"random_integers", "integers"},
    {"standard_exponential", "exponential"}, {"standard_gamma", "gamma"}, {"polyadd", "x + y"}, {"polysub", "x - y"},
    {"polyder", "x[{{1, #x - 1}}] * gpu.range(#x - 1, 1, -1)"}, {"frompyfunc", "gpu.vectorize"},
    {"backward", BY_HAND}, {"grad", BY_HAND}, {"requires_grad", BY_HAND}, {"requires_grad_", BY_HAND}, {"no_grad", BY_HAND},
    {"zero_grad", BY_HAND}, {"normal_", "x:copy_(gpu.random.normal(0, 1, x.shape))"},
    {"uniform_", "x:copy_(gpu.random.uniform(0, 1, x.shape))"}, {"apply_", "gpu.vectorize"}, {"print", "print(x)"},
    {"get_default_memory_pool", "gpu.memory(), which tells, and gpu.memory_trim(), which gives back"},
    {"standard_normal", "gpu.randn"}, {"random_sample", "gpu.rand"}, {"ranf", "gpu.rand"}, {"is_cuda", "x.device"},
    {"binary_cross_entropy", "-(y * x:log() + (1 - y) * (1 - x):log()):mean()"},
    {"binary_cross_entropy_with_logits", "(x:softplus() - x * y):mean()"},
    {"smooth_l1_loss", "gpu.where(d:lt(1), d ^ 2 / 2, d - 0.5):mean(), with d = (x - y):abs()"},
    {"huber_loss", "gpu.where(d:lt(1), d ^ 2 / 2, d - 0.5):mean(), with d = (x - y):abs()"},
    {"__version__", "gpu.version"}, {"assert_allclose", "assert(gpu.allclose(x, y))"},
    {"isscalar", "type(x) == \"number\""}, {"iscomplexobj", "x.dtype:find(\"complex\") ~= nil"}, {"flags", "x:is_contiguous()"},
    {"typename", "x.dtype"}, {"kl_div", "(y * (y:log() - x)):mean()"}, {"head", "x[\"1:5\"]"}, {"tail", "x[\"-5:\"]"},
    {"groupby", "x[g:eq(k)] for one group, g:bincount(0, x) / g:bincount() for the means of all"},
    {"managed", "gpu.zeros(n): arrays are on one device, and x:to(\"cpu\") copies"},
    {"managed_array", "gpu.zeros(n): arrays are on one device, and x:to(\"cpu\") copies"},
    {"csr_matrix", "x:to_sparse(), or gpu.sparse.csr of its parts"},
    {"csr_array", "x:to_sparse(), or gpu.sparse.csr of its parts"},
    {"errorbar", "gpu.plot{{x, y}, {x, y - e, style = \"points\"}, {x, y + e, style = \"points\"}}"},
    {"rankdata", "x:argsort():argsort(), the ranks of different elements"},
    {"skew", "(d ^ 3):mean() / (d ^ 2):mean() ^ 1.5, with d = x - x:mean()"},
    {"kurtosis", "(d ^ 4):mean() / (d ^ 2):mean() ^ 2 - 3, with d = x - x:mean()"},
    {"CubicSpline", "gpu.ndimage.map_coordinates(x, coordinates, 3)"},
    {"Inf", "math.huge"}, {"Infinity", "math.huge"}, {"infty", "math.huge"}, {"PINF", "math.huge"},
    {"NINF", "-math.huge"}, {"NaN", "0/0"}, {"NAN", "0/0"}, {"euler_gamma", "0.5772156649015329"}, {"alltrue", "all"},
    {"sometrue", "any"}, {"product", "prod"}, {"cumproduct", "cumprod"}, {"array_str", "print(x) or tostring(x)"},
    {"disp", "print(x)"}, {"format_float_positional", "string.format(\"%.17g\", x[1])"},
    {"format_float_scientific", "string.format(\"%.16e\", x[1])"}, {"asfarray", "x:to(\"float64\")"},
    {"asarray_chkfinite", "array"}, {"asmatrix", "array"}, {"matrix", "array"}, {"bmat", "block"},
    {"can_cast", "gpu.dtypes(a, b), the dtype that both become"}, {"common_type", "dtypes"},
    {"find_common_type", "dtypes"}, {"min_scalar_type", "dtypes"}, {"issubdtype", "x.dtype:find(\"float\") ~= nil"},
    {"isdtype", "x.dtype:find(\"float\") ~= nil"}, {"isrealobj", "not x.dtype:find(\"complex\")"},
    {"real_if_close", "x.real"}, {"bool_", "x:to(\"bool\")"}, {"float_", "x:to(\"float64\")"},
    {"single", "x:to(\"float32\")"}, {"int_", "x:to(\"int64\")"}, {"intp", "x:to(\"int64\")"},
    {"longlong", "x:to(\"int64\")"}, {"intc", "x:to(\"int32\")"}, {"ubyte", "x:to(\"uint8\")"},
    {"ushort", "x:to(\"uint16\")"}, {"uintc", "x:to(\"uint32\")"}, {"uint", "x:to(\"uint64\")"},
    {"csingle", "x:to(\"complex64\")"}, {"cdouble", "x:to(\"complex128\")"},
    {"iinfo", "gpu.array({math.huge}):to(\"int32\")[1], the greatest, and of -math.huge the least"},
    {"diag_indices_from", "x:diagonal()"}, {"tril_indices_from", "gpu.tril_indices(#x)"},
    {"triu_indices_from", "gpu.triu_indices(#x)"}, {"mask_indices", "gpu.triu_indices(n)"},
    {"s_", "x[\"2:5\"] or x[{{2, 5}}]"}, {"index_exp", "x[\"2:5\"] or x[{{2, 5}}]"},
    {"ndindex", "for i = 1, m do for j = 1, n do ... end end"}, {"flatiter", "x:flatten()"},
    {"nested_iters", "x:totable()"}, {"unique_all", "x:unique{index = true, inverse = true, counts = true}"},
    {"memmap", "gpu.load"}, {"fromregex", "gpu.load"}, {"DataSource", "gpu.load"},
    {"ma", "x[mask], or NaN in its place, as nanmean leaves it out"}, {"errstate", "x / 0 itself: nothing warns"},
    {"seterr", "x / 0 itself: nothing warns"}, {"emath", "gpu.complex(x, 0 * x):sqrt()"},
    {"require", "x:contiguous()"}, {"LinAlgError", "pcall(gpu.linalg.inv, x), false and a message where it fails"},
    {"RandomState", "generator"}, {"BitGenerator", "generator"}, {"get_random_state", "generator"},
    {"set_random_state", "seed"}, {"reset_states", "seed"}, {"sample", "gpu.rand"},
    {"polyint", "gpu.concatenate({x / gpu.range(#x, 1, -1), gpu.zeros(1)})"}, {"polynomial", "polyval"},
    {"jn", "gpu.jv(n, x)"}, {"yn", "gpu.yv(n, x)"}, {"kn", "gpu.kv(n, x)"},
    {"spherical_jn", "(math.pi / 2 / x):sqrt() * gpu.jv(n + 0.5, x)"},
    {"spherical_yn", "(math.pi / 2 / x):sqrt() * gpu.yv(n + 0.5, x)"},
    {"spherical_in", "(math.pi / 2 / x):sqrt() * gpu.iv(n + 0.5, x)"},
    {"spherical_kn", "(math.pi / 2 / x):sqrt() * gpu.kv(n + 0.5, x)"},
    {"hankel1", "gpu.complex(gpu.jv(v, x), gpu.yv(v, x))"}, {"hankel2", "gpu.complex(gpu.jv(v, x), -gpu.yv(v, x))"},
    {"bdtr", "gpu.betainc(n - k, k + 1, 1 - p)"}, {"bdtrc", "gpu.betainc(k + 1, n - k, p)"},
    {"nbdtr", "gpu.betainc(n, k + 1, p)"}, {"nbdtrc", "gpu.betainc(k + 1, n, 1 - p)"}, {"btdtri", "betaincinv"},
    {"chdtr", "gpu.gammainc(v / 2, x / 2)"}, {"chdtrc", "gpu.gammaincc(v / 2, x / 2)"},
    {"chdtri", "2 * gpu.gammainccinv(v / 2, p)"}, {"gdtr", "gpu.gammainc(b, a * x)"},
    {"gdtrc", "gpu.gammaincc(b, a * x)"}, {"pdtr", "gpu.gammaincc(k + 1, m)"}, {"pdtrc", "gpu.gammainc(k + 1, m)"},
    {"pdtri", "gpu.gammainccinv(k + 1, y)"}, {"fdtr", "gpu.betainc(m / 2, n / 2, m * x / (m * x + n))"},
    {"fdtrc", "gpu.betainc(n / 2, m / 2, n / (n + m * x))"}, {"boxcox", "(x ^ l - 1) / l, and x:log() where l is 0"},
    {"boxcox1p", "((1 + x) ^ l - 1) / l, and x:log1p() where l is 0"},
    {"inv_boxcox", "(x * l + 1) ^ (1 / l), and x:exp() where l is 0"}, {"exprel", "x:expm1() / x"},
    {"cosm1", "-2 * (x / 2):sin() ^ 2"}, {"cosdg", "x:deg2rad():cos()"}, {"sindg", "x:deg2rad():sin()"},
    {"tandg", "x:deg2rad():tan()"}, {"cotdg", "1 / x:deg2rad():tan()"}, {"exp10", "10 ^ x"},
    {"log_expit", "-(-x):softplus()"}, {"rgamma", "1 / x:gamma()"}, {"poch", "(x + m):gamma() / x:gamma()"},
    {"gammasgn", "x:gamma():sign()"}, {"loggamma", "lgamma"}, {"zetac", "x:zeta() - 1"},
    {"ellipkm1", "(1 - p):ellipk()"}, {"pseudo_huber", "l ^ 2 * ((1 + (x / l) ^ 2):sqrt() - 1)"},
    {"huber", "gpu.where(x:abs():le(l), x ^ 2 / 2, l * (x:abs() - l / 2))"},
    {"maximum_filter1d", "gpu.ndimage.maximum_filter(x, {1, size})"},
    {"minimum_filter1d", "gpu.ndimage.minimum_filter(x, {1, size})"},
    {"uniform_filter1d", "gpu.ndimage.uniform_filter(x, {1, size})"}, {"spline_filter1d", "spline_filter"},
    {"extrema", "gpu.ndimage.minimum and gpu.ndimage.maximum"},
    {"generate_binary_structure", "gpu.array({{0, 1, 0}, {1, 1, 1}, {0, 1, 0}}, \"bool\"), or gpu.ones(3, 3, \"bool\")"},
    {"morphological_laplace", "gpu.ndimage.grey_dilation(x, 3) + gpu.ndimage.grey_erosion(x, 3) - 2 * x"},
    {"binary_hit_or_miss", "gpu.ndimage.binary_erosion(x, a) & gpu.ndimage.binary_erosion(x:logical_not(), b)"},
    {"generic_filter", "gpu.kernel [[ ... ]], or x:unfold and what is to be done with each window"},
    {"argrelmin", "gpu.find_peaks(-x)"}, {"argrelextrema", "find_peaks"},
    {"unit_impulse", "gpu.range(n):eq(1):to(\"float32\")"}, {"correlation_lags", "gpu.range(1 - n, m - 1)"},
    {"windows", "gpu.hanning(n), gpu.hamming(n), gpu.blackman(n), gpu.bartlett(n), gpu.kaiser(n, beta)"},
    {"order_filter", "gpu.ndimage.rank_filter"}, {"iirfilter", "butter"}, {"iirdesign", "ellip"},
    {"firwin2", "firwin"}, {"freqz_zpk", "freqz"}, {"hilbert2", "hilbert"},
    {"periodogram", "gpu.welch(x, {n = #x, window = \"boxcar\"})"},    {"sici", "x:sinint() and x:cosint()"},
    {"fresnel", "x:fresnels() and x:fresnelc()"}, {"sph_harm", "gpu.sph_harm_y(n, m, polar, azimuth)"},
    {"assoc_legendre_p", "gpu.lpmv(m, n, x)"}, {"legendre_p", "gpu.lpmv(0, n, x)"},
    {"shichi", "(x:expi() + x:exp1()) / 2 and (x:expi() - x:exp1()) / 2, of x > 0"},
    {"polydiv", "deconvolve"}, {"tf2zpk", "gpu.roots(b), gpu.roots(a), b[1] / a[1]"},
    {"zpk2tf", "k * gpu.poly(z), gpu.poly(p)"},
    {"tf2sos", "gpu.lfilter(b, a, x), which takes b and a themselves"},
    {"zpk2sos", "gpu.lfilter(k * gpu.poly(z), gpu.poly(p), x)"},
    {"sos2tf", "sos[1][\"1:3\"], sos[1][\"4:6\"], convolved with those of the other sections"},
    {"sos2zpk", "gpu.roots(sos[i][\"1:3\"]), gpu.roots(sos[i][\"4:6\"]) of each section i"},
    {"lfilter_zi", "(b - a * (b:sum() / a:sum())):flip(1):cumsum():flip(1)[\"2:\"], of b and a as long and a[1] = 1"},
    {"zoom_fft", "gpu.complex(p:cos():matmul(x), p:sin():matmul(x)), with p = f:outer(gpu.range(0, n - 1)) * (-2 * math.pi / fs)"},
    {"ZoomFFT", "gpu.complex(p:cos():matmul(x), p:sin():matmul(x)), with p = f:outer(gpu.range(0, n - 1)) * (-2 * math.pi / fs)"},
    {"czt", "gpu.complex(p:cos():matmul(x), p:sin():matmul(x)), with p = w:outer(gpu.range(0, n - 1)) * -1, w in radians"},
    {"agm", "math.pi / 4 * (a + b) / (((a - b) / (a + b)) ^ 2):ellipk()"}, {"betaincc", "gpu.betainc(b, a, 1 - x)"},
    {"betainccinv", "gpu.betaincinv(a, b, 1 - y)"}, {"bdtri", "1 - gpu.betaincinv(n - k, k + 1, y)"},
    {"nbdtri", "gpu.betaincinv(n, k + 1, y)"},
    {"fdtri", "n * w / (m * (1 - w)), with w = gpu.betaincinv(m / 2, n / 2, y)"},
    {"stdtr", "0.5 + t:sign() / 2 * (1 - gpu.betainc(v / 2, 0.5, v / (v + t * t)))"},
    {"stdtrit", "(p - 0.5):sign() * (v * (1 / w - 1)):sqrt(), with w = gpu.betaincinv(v / 2, 0.5, 2 * p:minimum(1 - p))"},
    {"gdtrix", "gpu.gammaincinv(b, p) / a"}, {"eval_chebyt", "(n * x:acos()):cos(), of |x| up to 1"},
    {"eval_chebyu", "((n + 1) * x:acos()):sin() / x:acos():sin(), of |x| below 1"},
    {"eval_chebyc", "2 * (n * (x / 2):acos()):cos(), of |x| up to 2"},
    {"eval_chebys", "((n + 1) * (x / 2):acos()):sin() / (x / 2):acos():sin(), of |x| below 2"},
    {"eval_sh_chebyt", "(n * (2 * x - 1):acos()):cos(), of x from 0 to 1"},
    {"roots_legendre", "gpu.linalg.eigh(gpu.diag(b, 1) + gpu.diag(b, -1)), the nodes and vectors v, with k = gpu.range(1, n - 1), b = k / (4 * k * k - 1):sqrt(); 2 * v[1] ^ 2 are the weights"},
    {"p_roots", "gpu.linalg.eigh(gpu.diag(b, 1) + gpu.diag(b, -1)), the nodes and vectors v, with k = gpu.range(1, n - 1), b = k / (4 * k * k - 1):sqrt(); 2 * v[1] ^ 2 are the weights"},
    {"roots_hermite", "gpu.linalg.eigh(gpu.diag(b, 1) + gpu.diag(b, -1)), the nodes and vectors v, with b = (gpu.range(1, n - 1) / 2):sqrt(); math.sqrt(math.pi) * v[1] ^ 2 are the weights"},
    {"h_roots", "gpu.linalg.eigh(gpu.diag(b, 1) + gpu.diag(b, -1)), the nodes and vectors v, with b = (gpu.range(1, n - 1) / 2):sqrt(); math.sqrt(math.pi) * v[1] ^ 2 are the weights"},
    {"roots_chebyt", "((2 * gpu.range(n, 1, -1) - 1) * (math.pi / (2 * n))):cos(), each of the weight math.pi / n"},
    {"t_roots", "((2 * gpu.range(n, 1, -1) - 1) * (math.pi / (2 * n))):cos(), each of the weight math.pi / n"},
    {"hyp0f1", "v:gamma() * z ^ ((1 - v) / 2) * gpu.iv(v - 1, 2 * z:sqrt()), of z > 0"},
    {"inv_boxcox1p", "(x * l + 1) ^ (1 / l) - 1, and x:expm1() where l is 0"}, {"ndtri_exp", "y:exp():ndtri()"},
    {"nrdtrimn", "x - std * p:ndtri()"}, {"nrdtrisd", "(x - mn) / p:ndtri()"}, {"powm1", "(y * x:log()):expm1()"},
    {"wrightomega", "z:exp():lambertw(), of z below 700"},
    {"airy", "(x / 3):sqrt() / math.pi * gpu.kv(1 / 3, 2 / 3 * x ^ 1.5), which is Ai of x > 0"},
    {"airye", "(x / 3):sqrt() / math.pi * gpu.kve(1 / 3, 2 / 3 * x ^ 1.5), which is that of Ai of x > 0"},
    {"jve", "gpu.jv(v, x)"}, {"yve", "gpu.yv(v, x)"}, {"jvp", "(gpu.jv(v - 1, x) - gpu.jv(v + 1, x)) / 2"},
    {"yvp", "(gpu.yv(v - 1, x) - gpu.yv(v + 1, x)) / 2"}, {"ivp", "(gpu.iv(v - 1, x) + gpu.iv(v + 1, x)) / 2"},
    {"kvp", "-(gpu.kv(v - 1, x) + gpu.kv(v + 1, x)) / 2"}, {"radian", "(d + m / 60 + s / 3600):deg2rad()"},
    {"diric", "(n * x / 2):sin() / (n * (x / 2):sin())"},
    {"factorial2", "2 ^ (n / 2) * (n / 2):factorial(), of odd n times math.sqrt(2 / math.pi)"},
    {"perm", "n:comb(k) * k:factorial()"},
    {"multigammaln", "(a - gpu.range(0, d - 1) / 2):lgamma():sum() + d * (d - 1) / 4 * math.log(math.pi)"},
    {"legendre_p", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_legendre", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_sh_legendre", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_hermite", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_hermitenorm", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_laguerre", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_genlaguerre", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_jacobi", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_sh_jacobi", "gpu.polyval(p, x), of the coefficients p"},
    {"eval_gegenbauer", "gpu.polyval(p, x), of the coefficients p"},
    {"bode", "20 * h:abs():log10() and h:angle(), with w, h = gpu.freqz(b, a)"},
    {"freqs", "gpu.polyval(b, s) / gpu.polyval(a, s), with s = gpu.complex(0 * w, w)"},
    {"freqresp", "gpu.freqz(b, a), of what is sampled"}, {"dfreqresp", "gpu.freqz(b, a), of what is sampled"},
    {"group_delay", "-h:angle():unwrap():diff() / w:diff(), with w, h = gpu.freqz(b, a)"},
    {"impulse", "gpu.lfilter(b, a, gpu.range(n):eq(1):to(\"float64\"))"},
    {"dimpulse", "gpu.lfilter(b, a, gpu.range(n):eq(1):to(\"float64\"))"}, {"dstep", "gpu.lfilter(b, a, gpu.ones(n))"},
    {"step", "gpu.lfilter(b, a, gpu.ones(n))"}, {"dlsim", "gpu.lfilter(b, a, x), of what is sampled"},
    {"lsim", "gpu.lfilter(b, a, x), of what is sampled"},
    {"lti", "b and a themselves, as in gpu.lfilter(b, a, x) and gpu.freqz(b, a)"},
    {"dlti", "b and a themselves, as in gpu.lfilter(b, a, x) and gpu.freqz(b, a)"},
    {"TransferFunction", "b and a themselves, as in gpu.lfilter(b, a, x) and gpu.freqz(b, a)"},
    {"StateSpace", "b and a themselves, as in gpu.lfilter(b, a, x) and gpu.freqz(b, a)"},
    {"ZerosPolesGain", "b and a themselves, as in gpu.lfilter(b, a, x) and gpu.freqz(b, a)"},
    {"envelope", "gpu.hilbert(x):abs()"}, {"gausspulse", "(-c * t * t):exp() * (2 * math.pi * f * t):cos()"},
    {"kaiser_beta", "0.1102 * (a - 8.7), of an attenuation a above 50"},
    {"peak_prominences", "select(2, gpu.find_peaks(x, {prominence = 0})).prominences"},
    {"peak_widths", "select(2, gpu.find_peaks(x, {width = 0})).widths"},
    {"vectorstrength", "(p:cos():mean() ^ 2 + p:sin():mean() ^ 2) ^ 0.5, with p = t * (2 * math.pi / period)"},
    {"sweep_poly", "(2 * math.pi * gpu.polyval(p, t)):cos(), with p the coefficients of the frequency's integral"},
    {"wiener", "m + (x - m) * (1 - v:mean() / v):clip(0, 1), with m = gpu.ndimage.uniform_filter(x, 3, {mode = \"constant\"}), v = gpu.ndimage.uniform_filter(x * x, 3, {mode = \"constant\"}) - m * m"},
    {"firls", "firwin"}, {"remez", "firwin"},
    {"buttord", "gpu.sosfreqz(gpu.butter(order, edge)), tried for some orders"},
    {"cheb1ord", "gpu.sosfreqz(gpu.butter(order, edge)), tried for some orders"},
    {"cheb2ord", "gpu.sosfreqz(gpu.butter(order, edge)), tried for some orders"},
    {"ellipord", "gpu.sosfreqz(gpu.butter(order, edge)), tried for some orders"}, {"buttap", "butter"},
    {"cheb1ap", "butter"}, {"cheb2ap", "butter"}, {"ellipap", "butter"}, {"bessel", "butter"}, {"besselap", "butter"},
    {"cspline1d", "gpu.ndimage.spline_filter"}, {"qspline1d", "gpu.ndimage.spline_filter"},
    {"cspline2d", "gpu.ndimage.spline_filter"}, {"qspline2d", "gpu.ndimage.spline_filter"},
    {"cspline1d_eval", "gpu.ndimage.map_coordinates"}, {"qspline1d_eval", "gpu.ndimage.map_coordinates"},
    {"ShortTimeFFT", "stft"},
    {"binary_propagation", "gpu.ndimage.binary_fill_holes, or binary_dilation and & mask, until nothing changes"},
    {"generic_filter1d", "gpu.kernel [[ ... ]], or x:unfold and what is to be done with each window"},
    {"vectorized_filter", "gpu.kernel [[ ... ]], or x:unfold and what is to be done with each window"},
    {"generic_laplace", "gpu.kernel [[ ... ]], or x:unfold and what is to be done with each window"},
    {"generic_gradient_magnitude", "gpu.kernel [[ ... ]], or x:unfold and what is to be done with each window"},
    {"geometric_transform", "gpu.ndimage.map_coordinates"}, {"distance_transform_bf", "distance_transform_edt"},
    {"distance_transform_cdt", "distance_transform_edt"}, {"value_indices", "labels:eq(k):nonzero() for each label k"},
    {"labeled_comprehension", "gpu.ndimage.mean and its like, or f(x[labels:eq(k)]) for each label k"},
    {"fourier_gaussian", "gaussian_filter"}, {"fourier_uniform", "uniform_filter"},
    {"fourier_shift", "gpu.ndimage.shift"}, {"ndarray", "array"},
    {"binary_repr", "string.format(\"%x\", x[1])"}, {"base_repr", "string.format(\"%x\", x[1])"},
    {"isfortran", "x.T:is_contiguous()"}, {"info", "gpu.help(name), or ?name"}, {"True_", "true, as Lua has it"},
    {"False_", "false, as Lua has it"}, {"broadcast", "x:broadcast_to"},
    {"show_config", "gpu.version, and gpu.device() for what computes"},
    {"show_runtime", "gpu.version, and gpu.device() for what computes"}, {"geterr", "x / 0 itself: nothing warns"},
    {"seterrcall", "x / 0 itself: nothing warns"}, {"geterrcall", "x / 0 itself: nothing warns"},
    {"recarray", "a table of arrays, {x = x, y = y}"}, {"void", "a table of arrays, {x = x, y = y}"},
    {"datetime64", "os.time() and os.date(), whose numbers arrays hold"},
    {"timedelta64", "os.time() and os.date(), whose numbers arrays hold"},
    {"datetime_as_string", "os.time() and os.date(), whose numbers arrays hold"},
    {"datetime_data", "os.time() and os.date(), whose numbers arrays hold"},
    {"busday_count", "os.date(\"*t\", time).wday, a day of the week from 1, Sunday"},
    {"busday_offset", "os.date(\"*t\", time).wday, a day of the week from 1, Sunday"},
    {"is_busday", "os.date(\"*t\", time).wday, a day of the week from 1, Sunday"},
    {"busdaycalendar", "os.date(\"*t\", time).wday, a day of the week from 1, Sunday"},
    {"str_", "Lua's strings and tables: arrays hold numbers"},
    {"bytes_", "Lua's strings and tables: arrays hold numbers"},
    {"character", "Lua's strings and tables: arrays hold numbers"}, {"Generator", "generator"},
    {"SeedSequence", "generator"}, {"MT19937", "generator"}, {"Philox", "generator"}, {"PCG64", "generator"},
    {"PCG64DXSM", "generator"}, {"SFC64", "generator"}, {"get_state", "generator"}, {"set_state", "generator"},
    {"uintp", "x:to(\"uint64\")"}, {"ulong", "x:to(\"uint64\")"}, {"ulonglong", "x:to(\"uint64\")"},
    {"longdouble", "x:to(\"float64\"), the widest"}, {"float128", "x:to(\"float64\"), the widest"},
    {"clongdouble", "x:to(\"complex128\"), the widest"}, {"complex256", "x:to(\"complex128\"), the widest"},
    {"floating", "x.dtype:find(\"float\") ~= nil"}, {"inexact", "x.dtype:find(\"float\") ~= nil"},
    {"integer", "x.dtype:find(\"int\") ~= nil"}, {"signedinteger", "x.dtype:find(\"int\") ~= nil"},
    {"unsignedinteger", "x.dtype:find(\"int\") ~= nil"}, {"complexfloating", "x.dtype:find(\"complex\") ~= nil"},
    {"roots_hermitenorm", "gpu.linalg.eigh(gpu.diag(b, 1) + gpu.diag(b, -1)), the nodes and vectors v, with b = gpu.range(1, n - 1):sqrt(); math.sqrt(2 * math.pi) * v[1] ^ 2 are the weights"},
    {"he_roots", "gpu.linalg.eigh(gpu.diag(b, 1) + gpu.diag(b, -1)), the nodes and vectors v, with b = gpu.range(1, n - 1):sqrt(); math.sqrt(2 * math.pi) * v[1] ^ 2 are the weights"},
    {"roots_laguerre", "gpu.linalg.eigh(gpu.diag(2 * gpu.range(1, n) - 1) + gpu.diag(k, 1) + gpu.diag(k, -1)), the nodes and vectors v, with k = gpu.range(1, n - 1); v[1] ^ 2 are the weights"},
    {"la_roots", "gpu.linalg.eigh(gpu.diag(2 * gpu.range(1, n) - 1) + gpu.diag(k, 1) + gpu.diag(k, -1)), the nodes and vectors v, with k = gpu.range(1, n - 1); v[1] ^ 2 are the weights"},
    {"l_roots", "gpu.linalg.eigh(gpu.diag(2 * gpu.range(1, n) - 1) + gpu.diag(k, 1) + gpu.diag(k, -1)), the nodes and vectors v, with k = gpu.range(1, n - 1); v[1] ^ 2 are the weights"},
    {"roots_chebyu", "a:cos(), with a = gpu.range(n, 1, -1) * (math.pi / (n + 1)); math.pi / (n + 1) * a:sin() ^ 2 are the weights"},
    {"u_roots", "a:cos(), with a = gpu.range(n, 1, -1) * (math.pi / (n + 1)); math.pi / (n + 1) * a:sin() ^ 2 are the weights"},
    {"kolmogorov", "2 * ((-2 * k * k * y * y):exp() * (-1) ^ (k + 1)):sum(), with k = gpu.range(1, 100)"},
    {"kaiser_atten", "2.285 * (n - 1) * math.pi * width + 7.95"},
    {"chebyt", "(n * x:acos()):cos(), of |x| up to 1"},
    {"chebyu", "((n + 1) * x:acos()):sin() / x:acos():sin(), of |x| below 1"},
    {"gpu.positive", "x:clone()"},
};
/* clang-format on */

/* How the name is called here, where one of the two tables (0: none) has that. */
static const char *synonym(lua_State *L, const char *name, int table, int other)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        const char *here = synonyms[i][1];
        if (strcmp(name, synonyms[i][0]) != 0) continue;
        if (is_written(here) || has(L, table, here) || has(L, other, here)) return here;
    }
    return NULL;
}

const char *lg_push_synonym(lua_State *L, const char *name)
{
    static const char *const scopes[][2] = {
        {"gpu", "gpu."}, {"array", "x:"}, {"event", "event:"}, {"stream", "stream:"}, {"graph", "graph:"}};
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        const char *here = synonyms[i][1];
        if (strcmp(name, synonyms[i][0]) != 0) continue;
        if (is_written(here)) return lua_pushstring(L, here);
        for (size_t k = 0; k < sizeof scopes / sizeof *scopes; k++) {
            const bool there = lg_doc_by_name(L, lua_pushfstring(L, "%s.%s", scopes[k][0], here)) != NULL;
            lua_pop(L, 1);
            if (there) return lua_pushfstring(L, "%s%s", scopes[k][1], here);
        }
    }
    return NULL;
}

/* Where gpu or one of its modules has a function of the name, as "gpu.linalg.svd", pushed; else NULL. */
static const char *elsewhere(lua_State *L, const char *name)
{
    static const char *const modules[] = {"linalg", "random", "fft", "ndimage", "sparse"};
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushliteral(L, "lunarray");
    if (lua_rawget(L, -2) != LUA_TTABLE) return NULL;
    int gpu = lua_gettop(L);
    lua_pushstring(L, name);
    if (lua_rawget(L, gpu) == LUA_TFUNCTION) return lua_pushfstring(L, "gpu.%s", name);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        lua_pushstring(L, modules[i]);
        if (lua_rawget(L, gpu) != LUA_TTABLE) continue;
        lua_pushstring(L, name);
        if (lua_rawget(L, -2) == LUA_TFUNCTION) return lua_pushfstring(L, "gpu.%s.%s", modules[i], name);
    }
    return NULL;
}

/* The name with that of its owner in front, as gpu.sparse.random where "gpu.sparse has no function" it; pushed. */
static const char *push_qualified(lua_State *L, const char *what, const char *name)
{
    lua_pushlstring(L, what, strcspn(what, " "));
    return lua_pushfstring(L, "%s.%s", lua_tostring(L, -1), name);
}

int lg_raise_unknown(lua_State *L, const char *what, const char *name, int idx, int other)
{
    idx = lua_absindex(L, idx);
    const char *best = synonym(L, push_qualified(L, what, name), idx, other);
    if (!best) best = synonym(L, name, idx, other);
    if (!best) best = elsewhere(L, name);
    if (best && is_written(best)) return luaL_error(L, "%s '%s'; it is written %s", what, name, best);
    if (!best) {
        best = lg_closest_key(L, idx, name, NULL);
        if (other) best = lg_closest_key(L, other, name, best);
    }
    if (best) return luaL_error(L, "%s '%s'; did you mean '%s'?", what, name, best);
    const char *word = lg_hint_word(name);
    if (word) return luaL_error(L, "%s '%s'; %s", what, name, word);
    return luaL_error(L, "%s '%s'; gpu.help() lists what there is", what, name);
}

const char *lg_option_synonym(const char *name)
{
    /* clang-format off */
    static const char *const options[][2] = {
        {"dim", "axis"}, {"dims", "axis"}, {"axes", "axis"}, {"keepdim", "keepdims"}, {"keep_dims", "keepdims"},
        {"type", "dtype"}, {"correction", "ddof"}, {"size", "shape"}, {"num", "count"}, {"fill_value", "value"},
        {"constant_values", "value"}, {"a_min", "min"}, {"a_max", "max"}, {"minlength", "least"}, {"dx", "spacing"},
        {"interpolation", "method"}, {"loc", "mean"}, {"deg", "degree"}, {"repeats", "count"}, {"nperseg", "n"}};
    /* clang-format on */
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(name, options[i][0]) == 0) return options[i][1];
    return NULL;
}

const char *lg_option_name(lua_State *L)
{
    if (lua_type(L, -2) == LUA_TSTRING) return lua_tostring(L, -2);
    const char *key = lua_type(L, -2) == LUA_TNUMBER ? luaL_tolstring(L, -2, NULL) : lg_type_name(L, -2);
    luaL_error(L, "options have names, as in {name = value}; this table has the key %s", key);
    return "";
}

static int module_missing(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    const char *what = lua_pushfstring(L, "%s has no function", lua_tostring(L, lua_upvalueindex(1)));
    return lg_raise_unknown(L, what, lua_tostring(L, 2), 1, 0);
}

static int module_called(lua_State *L)
{
    return luaL_error(L, "%s is a module, not a function: %s", lua_tostring(L, lua_upvalueindex(1)),
                      lua_tostring(L, lua_upvalueindex(2)));
}

void lg_seal_module(lua_State *L, const char *name, const char *instead)
{
    lua_createtable(L, 0, 2);
    lua_pushstring(L, name);
    lua_pushcclosure(L, module_missing, 1);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, name);
    lua_pushstring(L, instead);
    lua_pushcclosure(L, module_called, 2);
    lua_setfield(L, -2, "__call");
    lua_setmetatable(L, -2);
}

bool lg_is_sealed(lua_State *L, int idx)
{
    bool sealed = lua_istable(L, idx) && luaL_getmetafield(L, idx, "__index") != LUA_TNIL;
    if (!sealed) return false;
    sealed = lua_tocfunction(L, -1) == module_missing;
    lua_pop(L, 1);
    return sealed;
}

int lg_check_option(lua_State *L, int idx, const char *fallback, const char *const names[])
{
    const char *given = fallback ? luaL_optstring(L, idx, fallback) : luaL_checkstring(L, idx);
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], given) == 0) return i;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 0; names[i]; i++) {
        if (i > 0) luaL_addstring(&b, names[i + 1] ? ", " : " or ");
        luaL_addchar(&b, '"');
        luaL_addstring(&b, names[i]);
        luaL_addchar(&b, '"');
    }
    luaL_pushresult(&b);
    return luaL_argerror(L, idx, lua_pushfstring(L, "%s expected, got \"%s\"", lua_tostring(L, -1), given));
}
