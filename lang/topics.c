/* Help on subjects that are no function: gpu.help "indexing". */
#include "lang/array.h"

const struct lg_function lg_topics[] = {
    {"indexing", NULL, "x[i]   x[{i, j}]   x[{{first, last, step}, {}}]   x[\"1:2, ::2\"]   x[mask]   x[{indices, {}}]",
     "Reading and writing parts of an array.\n"
     "Indices count from 1, or from the end with -1. A number takes one index of an axis and drops the axis; when all axes "
     "are gone the result is a Lua number. In a table there is one item per axis: a number, {} for all, {i} for one index "
     "that keeps its axis, {first, last} for a range with both ends, {first, last, step} for one with steps, which may be "
     "negative. Axes that are not named are taken whole. The same as a string: \"2\", \":\", \"1:3\", \"::2\", \"::-1\", "
     "\"...\" for all axes between.\n"
     "gpu.newaxis, in a table, or newaxis, in a string, is a new axis of size 1. A single element is a Lua number; all the "
     "rest so far are views: writing into one writes into x.\n"
     "An array of whole numbers, in a table beside other items or alone, picks those indices of its axis into a new array; "
     "several such arrays broadcast, and their axes take the place of the first or, where ranges stand between them, "
     "come in front, as in NumPy. A mask, a bool array with the sizes of the axes it stands for, picks where it is true. "
     "Numbers, arrays and nested tables can be assigned through all forms; arrays and tables broadcast. Where an element is "
     "meant twice, the last value stays. Indices are checked before anything is written.",
     "local x = gpu.range(12):reshape(3, 4)\n"
     "assert(x[{2, 3}] == 7 and x[2][3] == 7 and x[-1][-1] == 12)\n"
     "assert(x[{{1, 2}, 1}]:sum() == 1 + 5 and x['::2, -1']:sum() == 4 + 12)\n"
     "assert(x[{gpu.array({3, 1}), 1}]:sum() == 9 + 1 and x['newaxis, 2'].ndim == 2)\n"
     "x[x:gt(6)] = 0\n"
     "x[{{}, 1}] = {7, 8, 9}\n"
     "assert(x:sum() == 7 + 2 + 3 + 4 + 8 + 6 + 9)"},
    {"dtypes", NULL, "\"float32\"   \"int64\"   \"bool\"   ...",
     "The types of elements.\n"
     "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, "
     "complex128. New arrays are float32 unless told otherwise. Two arrays meet in the smallest type that holds both: ?gpu.dtypes has the table. Numbers are weak: int32 times 2 "
     "stays int32, float32 times 2.5 stays float32; a float makes float32 of integers (of 64-bit ones float64). / and ^ "
     "give floats, // and % round down, as in Lua. Integers of uint64 above Lua's are read and written as the negative ones "
     "of the same bits, which is what Lua's 0xffffffffffffffff is, too. x:to(\"int32\") converts, cutting off fractions; "
     "complex numbers become no real ones: x.real, x.imag, x:abs() and x:angle() say which is meant.",
     "local i = gpu.array({1, 2}, 'int32')\n"
     "assert((i * 2).dtype == 'int32' and (i * 2.5).dtype == 'float32' and (i / 2).dtype == 'float32')\n"
     "local u = gpu.full(2, 0xffffffffffffffff, 'uint64')\n"
     "assert(u[1] == -1 and u:eq(u[1]):all() and u:gt(1):all())"},
    {"broadcasting", NULL, "x + y",
     "How arrays of different shapes meet.\n"
     "Shapes are compared from the last axis on. Two sizes go together when they are equal or one of them is 1, which is "
     "then repeated; a missing axis counts as 1.",
     "local row, column = gpu.array({1, 2, 3}), gpu.array({{10}, {20}})\n"
     "assert((row + column).shape[1] == 2 and (row + column)[{2, 3}] == 23)"},
    {"devices", NULL, "\"cuda:0\"   \"simt\"   \"cpu\"",
     "Where arrays live and kernels run.\n"
     "cuda:N is a GPU. simt is the software GPU: it runs the same kernels on the CPU. cpu has arrays but runs no kernels. "
     "New arrays are on gpu.device(): cuda:0 where there is a GPU, else simt. Arrays of different devices do not mix; "
     "x:to(\"cpu\") copies.",
     "local x = gpu.ones(3):to('cpu')\nassert(x.device == 'cpu')"},
    {"cuda", NULL, "k<<<grid, block>>>(x)   k(grid, block)(x)",
     "What CUDA C++, Numba, CuPy and PyCUDA have: here | there.\n"
     "Kernels are CUDA C and count from 0; Lua counts from 1, and a range has its last number. A GPU works "
     "while Lua goes on; whatever looks at a result waits for it."
     "\n- gpu.empty(n), gpu.zeros(n) | cudaMalloc; cuda.device_array(n); cp.empty(n); gpuarray.empty(n, t)"
     "\n- gpu.array(t), x:to('cuda:0') | cudaMemcpy; cuda.to_device(a); cp.asarray(a); gpuarray.to_gpu(a)"
     "\n- x:to('cpu'), x:totable() | cudaMemcpy; d.copy_to_host(); cp.asnumpy(x); x.get()"
     "\n- x:free(), local x <close>, gpu.memory(), gpu.memory_trim() | cudaFree; del; the memory pool and its free_all_blocks()"
     "\n- gpu.kernel [[ ... ]], %%cuda (where ]] is in the source, as in x[y[i]]: [=[ ... ]=]) | __global__; @cuda.jit; cp.RawKernel, cp.RawModule; SourceModule"
     "\n- k(grid, block, shared, stream)(x) | k<<<grid, block, shared, stream>>>(x); k[grid, block, stream](x); k((g,), (b,), (x,)); k(x, grid=, block=)"
     "\n- k(grid, block, {cooperative = true})(x) | cudaLaunchCooperativeKernel; cooperative groups"
     "\n- k(grid, block, {cluster = 2})(x) | cudaLaunchKernelEx with cudaLaunchAttributeClusterDimension; __cluster_dims__"
     "\n- k:forall(n)(x) | cudaOccupancyMaxPotentialBlockSize; k.forall(n)(x)"
     "\n- k:occupancy(block) | cudaOccupancyMaxActiveBlocksPerMultiprocessor; OccupancyRecord"
     "\n- gpu.kernel(text, {instantiate = {...}, options = {...}}) | templates; name_expressions, options"
     "\n- k:global('w')[{}] = t | cudaMemcpyToSymbol; cuda.const.array_like; get_global"
     "\n- gpu.texture(x), gpu.surface(x) | cudaCreateTextureObject; cp.cuda.texture"
     "\n- gpu.tensormap(x, box) | cuTensorMapEncodeTiled, for the tensor memory accelerator (TMA)"
     "\n- (x - y) ^ 2, gpu.where(c, x, y), gpu.vectorize [[ ... ]] | ElementwiseKernel, fuse; @vectorize"
     "\n- ((x - y) ^ 2):sum(), gpu.reduction [[ ... ]] | ReductionKernel; @cuda.reduce; thrust::transform_reduce"
     "\n- x:cumsum(), gpu.scan [[ ... ]] | InclusiveScanKernel; thrust::inclusive_scan"
     "\n- x:sort(), x:unique(), x[mask] | thrust, CUB; cp.sort"
     "\n- gpu.matmul, gpu.linalg, gpu.fft, gpu.random, gpu.sparse | cuBLAS, cuSOLVER, cuFFT, cuRAND, cuSPARSE"
     "\n- gpu.ndimage, gpu.conv2d, gpu.max_pool2d | NPP, cuDNN; cupyx.scipy.ndimage"
     "\n- gpu.synchronize() | cudaDeviceSynchronize; cuda.synchronize(); Device().synchronize()"
     "\n- s = gpu.stream(), s:with(f), s:synchronize() | cudaStreamCreate, cudaStreamSynchronize; cuda.stream(); cp.cuda.Stream, with stream:; torch.cuda.Stream"
     "\n- e = s:record(), t:wait(e), e:elapsed(later) | cudaEventRecord, cudaStreamWaitEvent, cudaEventElapsedTime; cuda.event(); cp.cuda.Event; torch.cuda.Event"
     "\n- g = gpu.graph(f), g:launch(s) | cudaStreamBeginCapture, cudaGraphInstantiate, cudaGraphLaunch; Stream.begin_capture; torch.cuda.graph"
     "\n- y = gpu.pinned(n), s:with(function() x:copy_(y) end) | cudaMallocHost, cudaMemcpyAsync; cuda.pinned_array; cp.cuda.alloc_pinned_memory; pin_memory(), non_blocking=True"
     "\n- gpu.nvtx.range('name', f), push, pop, mark | nvtxRangePush; cp.cuda.nvtx; torch.cuda.nvtx"
     "\n- gpu.time(f), gpu.benchmark(f), %timeit | events; cupyx.profiler.benchmark"
     "\n- gpu.profile(k, grid, block)(x) | Nsight Compute's counters, by source line"
     "\n- gpu.check(true), k(grid, block, {check = true})(x) | compute-sanitizer; NUMBA_ENABLE_CUDASIM"
     "\n- gpu.trace(k, grid, block){warp = 0}(x) | cuda-gdb, one warp"
     "\n- LD_LIBRARY_PATH=build/driver ./program | a GPU, for what nvcc -cudart shared built; with LUNARRAY_CHECK=1 compute-sanitizer ./program"
     "\n- gpu.from_dlpack(c), x:dlpack(), gpu.load, gpu.save | __cuda_array_interface__, DLPack; np.load, np.save",
     "local k = gpu.kernel [[__global__ void twice(int n, float *x) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  if (i < n) x[i] *= 2;\n"
     "}]]\n"
     "local x = gpu.ones(1000)\n"
     "k(4, 256)(#x, x)\n"
     "gpu.synchronize()\n"
     "assert(x:sum() == 2000)"},
    {"lua", NULL, "x = 3   local y = 'text'   function f(x) return x + 1 end",
     "Lua for who knows Python or C++: here | there.\n"
     "Statements need no semicolons, blocks end with end, and only nil and false are false: 0 and '' are true."
     "\n- -- a comment, --[[ of several lines ]] | #, //, /* */"
     "\n- local x = 3; without local it is global, in a function too | x = 3, int x = 3"
     "\n- nil, true, false, and, or, not | None, True, NULL, &&, ||, !"
     "\n- x == y, x ~= y | x == y, x != y"
     "\n- x = x + 1 | x += 1, x++"
     "\n- 7 / 2 is 3.5, 7 // 2 is 3, 2 ^ 10 | 7 / 2 in C++ is 3; 2 ** 10, pow"
     "\n- 'n = ' .. n, ('%.3f'):format(x), #text | f'{x:.3f}', +, len(text)"
     "\n- if x > 1 then ... elseif y then ... else ... end | if x > 1: elif; if (x > 1) { }"
     "\n- for i = 1, 10 do ... end, for i = 0, 8, 2 do ... end | range(1, 11), range(0, 9, 2); for (int i = 1; i <= 10; i++)"
     "\n- while x < 3 do ... end, repeat ... until x >= 3; break, goto continue | while; do { } while; continue"
     "\n- function f(x, y) return x, y end, f = function(x) ... end; a, b = f(1, 2) | def, lambda; auto f = [](int x) { }"
     "\n- t = {10, 20, 30}: t[1] is 10, #t is 3, t[#t + 1] = 40, table.remove(t) | a list: t[0], len(t), append, pop"
     "\n- t = {a = 1, ['b c'] = 2}: t.a, t['b c'], t.a = nil | a dictionary, std::map; del"
     "\n- for i, v in ipairs(t) do ... end, for k, v in pairs(t) do ... end | enumerate(t), t.items()"
     "\n- x:sum() calls a method, x.shape is a field | x.sum(), x.shape"
     "\n- local ok, e = pcall(f, x), error('text'), assert(x) | try: except e:, raise, assert"
     "\n- require 'name', dofile 'file.lua' | import, exec",
     "local t = {10, 20, 30}\n"
     "t[#t + 1] = 40\n"
     "local sum = 0\n"
     "for i, v in ipairs(t) do sum = sum + v end\n"
     "local ok, e = pcall(error, 'text')\n"
     "assert(sum == 100 and t[1] == 10 and not ok and ('%.1f'):format(7 / 2) == '3.5' and 7 // 2 == 3)"},
    {"memory", NULL, "x:free()   local x <close> = ...   gpu.memory()",
     "When the memory of arrays is released.\n"
     "When Lua collects the array; when x:free() is called or a <close> variable goes out of scope, at once. Lua's collector "
     "is told how large arrays are, and a full device asks it to run, so dropping the last reference is enough. Views keep "
     "the memory that they show.",
     "local used = gpu.memory().in_use\n"
     "do local x <close> = gpu.zeros(1000) end\n"
     "assert(gpu.memory().in_use <= used)"},
    {"random", NULL, "gpu.rand   gpu.randn   gpu.seed   gpu.random.normal   gpu.random.generator   ...",
     "Random numbers.\n"
     "They come from a generator that counts, Philox 4x32-10: what an element is depends on the seed, on how many arrays "
     "were drawn since it was set, and on the element's place. So for one seed all devices give the same bits, whatever "
     "the number of threads. gpu.rand(shape...) and gpu.randn(shape...) are the short forms; gpu.random has uniform, "
     "normal, integers, bernoulli, exponential, gamma, poisson, binomial, beta and others, permutation, shuffle and choice, whose parameters come first and "
     "then the shape. gpu.random.generator(seed) makes a generator of its own, with all of these as methods.",
     "gpu.seed(1)\nlocal x = gpu.random.normal(5, 2, {3, 4}, 'float64')\n"
     "local g = gpu.random.generator(7)\nassert(x.size == 12 and g:integers(1, 6, 10):max() <= 6)"},
    {"accuracy", NULL, "x:exp()   x:sum()   gpu.matmul(x, y)",
     "How near results are to the exact ones: precision and rounding.\n"
     "+, -, *, /, sqrt and fma are rounded once, as IEEE 754 has it; %, fmod, floor and their like are exact. float16 and "
     "bfloat16 are computed in float32. On the host (cpu and simt) functions of float32 are within so many units of the "
     "last place:"
     "\n- 1.02 | exp, exp2, log, log2, log10"
     "\n- 1.25 | sin, cos, acos, sinh, cosh"
     "\n- 1.5 | expm1, log1p, tanh, atan, atan2, atanh"
     "\n- 2 | asin, asinh, acosh; tan 2.2"
     "\n- 0.52 | the others"
     "\nand of float64 within:"
     "\n- 1 | sin, cos, tan, sinc, cbrt, hypot; gamma of positive numbers, of negative ones 3.6"
     "\n- 1.01 | exp, erf, erfc; powers, near the largest and least results 1.5"
     "\n- 1.5 | exp2, expm1, logarithms, asin, acos, atan, atan2"
     "\n- 2.5 | hyperbolic functions and their inverses, erfinv; softplus and logaddexp 2"
     "\n- 3 | lgamma of positive numbers"
     "\n- 4 | digamma of positive numbers, Bessel functions, erfcx, erfcinv, ndtr, log_ndtr, ndtri"
     "\n- 4 | ellipk, expn, factorial, ellipe 6; betaln, of the largest logarithm that it is the sum of"
     "\n- 8 | gammainc and gammaincc; below e^4, for each power of e"
     "\n- 8 | beta, betainc, and comb where it is no whole number; 2 more for each power of e that they are away from 1"
     "\n- 20 | zeta and polygamma of positive numbers"
     "\nThe bits are the same with any number of threads, and on every processor, but for lgamma of negative numbers, betaln, betainc and Bessel functions, in which the C library has a part. A GPU computes by CUDA's functions, whose errors NVIDIA's programming guide lists."
     "\nA chain that is computed in one pass has the bits that one operation at a time gives. ?sum says how sums are "
     "added; cumsum and cumprod add and multiply in float64. Matrix products and gpu.linalg are BLAS's and LAPACK's, "
     "whose order of additions differs among processors.",
     "local x = gpu.linspace(-3, 3, 1001, {device = 'cpu'})\n"
     "local near, exact = x:exp(), x:to('float64'):exp()\n"
     "assert(((near:to('float64') - exact) / exact):abs():max() < 1.02 * 2 ^ -23)"},
    {"files", NULL, "gpu.load(path)   gpu.save(path, x)",
     "Arrays in files.\n"
     "The path's end says the format: .npy and .npz as in NumPy, .csv, .tsv and .txt for tables of numbers, .json for "
     "nested lists, .png for images, .bin and .raw for bare bytes. A dtype and a device may follow the path, or a table of "
     "options. A file is replaced whole or not at all.",
     "local path = os.tmpname() .. '.csv'\ngpu.save(path, gpu.eye(2), {header = {'a', 'b'}})\n"
     "local x, names = gpu.load(path)\nassert(x:sum() == 2 and names[2] == 'b')\nos.remove(path)"},
    {0}};
