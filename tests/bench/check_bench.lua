-- What checks cost kernels with shared memory, those whose threads walk rows, and those that touch places which are
-- looked up or stand between those of others, or update such places by compare-and-swap, or meet in groups, by locks or
-- across the grid, and those of few threads a block: by kernel the ratio of checked to unchecked launches, and both
-- times, the worst first. A word after the script's name chooses those with it in their names; LUNARRAY_THREADS says
-- how many threads run.
local gpu = gpu or require "lunarray"
local pattern = ...
local file <close> = assert(io.open("tests/bench/shared_kernels.cu"))
local q = gpu.kernel(file:read "a")
local sort_file <close> = assert(io.open("tests/bench/sort_kernels.cu"))
local sorts = gpu.kernel(sort_file:read "a")
local row_file <close> = assert(io.open("tests/bench/row_kernels.cu"))
local r = gpu.kernel(row_file:read "a")

local n = 1 << 20
local m = n - 77
local fi, fo, fb = gpu.rand { n }, gpu.zeros(n), gpu.rand { n }
local ii, oi = (gpu.rand { n } * 1000000):to("int32"), gpu.zeros(n, "int32")
local tot = gpu.zeros(n, "int32")
local ui, uo, tku = ii:to("uint32"), gpu.zeros(n, "uint32"), gpu.zeros(1, "uint32")
local b256, b512 = n // 256, n // 512
local w, h = 1000, 1021
local function g2(s) return { (w + s - 1) // s, (h + s - 1) // s } end
local B16 = { 16, 16 }
local cases = {}
local function case(name, f) cases[#cases + 1] = { name, f } end
case("bitonic j=1", function() sorts.bitonic_step(b256, 256)(ii, 1, 2, m) end)
case("bitonic j=4", function() sorts.bitonic_step(b256, 256)(ii, 4, 8, m) end)
case("bitonic j=16", function() sorts.bitonic_step(b256, 256)(ii, 16, 32, m) end)
case("bitonic j=64", function() sorts.bitonic_step(b256, 256)(ii, 64, 128, m) end)
case("bitonic j=4096", function() sorts.bitonic_step(b256, 256)(ii, 4096, 8192, m) end)
case("bitonic_block", function() sorts.bitonic_block(b512 // 4, 256)(ii, oi) end)
case("bitonic_xor", function() sorts.bitonic_xor(b256 // 4, 256)(ii, oi, m) end)
case("oddeven", function() sorts.oddeven(b512 // 4, 256)(ii, oi) end)
case("scan_guard", function() sorts.scan_guard(b256, 256)(ii, oi, tot, n) end)
case("scan_guard2", function() sorts.scan_guard2(b256, 256)(fi, fo, n) end)
case("blelloch", function() sorts.blelloch(b512, 256)(ii, oi, m) end)
case("transpose_guard", function() q.transpose_guard(g2(32), { 32, 8 })(fi, fo, w, h) end)
case("transpose_guard16", function() q.transpose_guard16(g2(16), B16)(fi, fo, w, h) end)
case("matmul_guard", function() q.matmul_guard({ 19, 20 }, B16)(fi, fb, fo, 310, 299, 333) end)
case("matmul_if", function() q.matmul_if({ 20, 20 }, B16)(fi, fb, fo, 304) end)
case("matmul_ifs", function() q.matmul_ifs({ 19, 19 }, B16)(fi, fb, fo, 300) end)
case("reduce_guard", function() q.reduce_guard(b512, 256)(fi, fo, m) end)
case("reduce_return", function() q.reduce_return(b256, 256)(fi, fo, n) end)
case("reduce_interleaved", function() q.reduce_interleaved(b256, 256)(fi, fo, m) end)
case("reduce_tail", function() q.reduce_tail(b256, 256)(fi, fo, m) end)
case("reduce_atomic", function() q.reduce_atomic(b256, 256)(fi, fo, m) end)
case("last_block", function() q.last_block(512, 256)(fi, fo, tku, fb, m) end)
case("stencil1d", function() q.stencil1d(b256, 256)(fi, fo, m) end)
case("stencil1d_ret", function() q.stencil1d_ret(b256, 256)(fi, fo, n) end)
case("stencil2d", function() q.stencil2d(g2(16), B16)(fi, fo, w, h) end)
case("stencil2d_halo", function() q.stencil2d_halo(g2(14), B16)(fi, fo, w, h) end)
case("stencil2d_inner", function() q.stencil2d_inner(g2(16), B16)(fi, fo, w, h) end)
case("conv2d", function() q.conv2d(g2(16), { 20, 20 })(fi, fo, w, h) end)
case("conv2d_cached", function() q.conv2d_cached(g2(16), B16)(fi, fo, w, h) end)
case("conv1d", function() q.conv1d(b256, 256)(fi, fo, m) end)
case("shuffle_mix", function() q.shuffle_mix(b256, 256)(fi, fo, m) end)
case("softmax", function() q.softmax(1024, 256)(fi, fo, 1000) end)
case("softmax_rows", function() q.softmax_rows(1024, 256, 4096)(fi, fo, 1000) end)
case("layernorm", function() q.layernorm(1024, 256)(fi, fb, fb, fo, 1000) end)
case("attention", function() q.attention(128, 256)(fi, fb, fb, fo, 256) end)
case("radix_block", function() sorts.radix_block(b256 // 4, 256)(ui, uo, m) end)
case("histogram", function() q.histogram(64, 256)(ii, tot, m) end)
case("histogram_guard", function() q.histogram_guard(b256, 256)(ii, tot, m) end)
local bins = gpu.zeros(256, "int32")
case("histogram_bins", function() q.histogram_guard(b256, 256)(ii, bins, m) end)
case("nbody", function() q.nbody(6, 256)(fi, fo, 1500) end)
case("merge_block", function() sorts.merge_block(b256 // 4, 256)(ii, oi) end)
case("compact", function() sorts.compact(b256, 256)(ii, oi, tot, m) end)
case("least_path", function() q.least_path(b256, 256)(ii, oi, m, 20) end)
case("jacobi_block", function() q.jacobi_block(b256, 256)(fi, fo, 20) end)
case("fft_block", function() q.fft_block(b512 // 2, 256)(fi, fo) end)
case("median_block", function() q.median_block(g2(16), B16)(ii, oi, w, h) end)
case("block_reverse", function() sorts.block_reverse(b256, 256, 1024)(ii, oi, n) end)
case("dot", function() q.dot_volatile(512, 256)(fi, fb, fo, m) end)
case("syncwarp_reduce", function() q.syncwarp_reduce(b256, 256)(fi, fo, m) end)
local text = (gpu.rand { n } * 4):to "uint8"
case("match_bytes", function() q.match_bytes(b256, 256)(text, text, oi, m) end)
local bytes = gpu.zeros(n, "uint8")
case("split_bytes", function() sorts.split_bytes(b256 // 4, 256)(text, bytes, m // 4) end)
local short_in, short_out, table256 = ii:to "int16", gpu.zeros(n, "int16"), (gpu.argsort(gpu.rand { 256 }) - 1):to "int32"
case("place_halves", function() sorts.place_halves(b256 // 4, 256)(short_in, table256, short_out, m // 4, 10) end)
case("heat_pyramid", function() q.heat_pyramid({ 83, 85 }, B16)(fi, fb, fo, w, h, 2) end)
local boxes, masks = gpu.rand { 1000, 4 } * 100, gpu.zeros(1000 * 16, "uint64")
case("overlaps", function() q.overlaps({ 16, 16 }, 64)(boxes, masks, 1000) end)
case("path_pyramid", function() q.path_pyramid(424, 256)(ii, oi, tot, 100000, 10) end)
local fc, ft, fx, ip = gpu.rand { n }, gpu.zeros(n), gpu.zeros(n), gpu.rand { n }
local fd = gpu.rand { n } + 4
case("prefix_rows", function() r.prefix_rows(32, 128)(fi, fo, 4091, 256) end)
case("prefix_rows odd", function() r.prefix_rows(32, 128)(fi, fo, 4091, 253) end)
case("prefix_rows_inplace", function() r.prefix_rows_inplace(32, 128)(ip, 4096, 256) end)
case("prefix_rows_pointers", function() r.prefix_rows_pointers(32, 128)(fi, fo, 4091, 253) end)
case("tridiagonal", function() r.tridiagonal(32, 128)(fi, fd, fb, fc, ft, fx, 4096, 256, 1, 256) end)
case("tridiagonal columns", function() r.tridiagonal(32, 128)(fi, fd, fb, fc, ft, fx, 4096, 256, 4096, 1) end)
case("tridiagonal_rows", function() r.tridiagonal_rows(32, 128)(fi, fd, fb, fc, ft, fx, 4091, 255) end)
case("softmax_thread", function() r.softmax_thread(32, 128)(ip, 4096, 256) end)
case("reverse_rows", function() r.reverse_rows(32, 128)(ip, 4096, 256) end)
case("scale_block", function() r.scale_block(1024, 256)(ip, 1000) end)
local place_file <close> = assert(io.open("tests/bench/place_kernels.cu"))
local p = gpu.kernel(place_file:read "a")
local px, pd, pa = gpu.zeros(n), gpu.zeros(n, "float64"), fi:to "float64"
local each = (gpu.argsort(fi) - 1):to "int32"
local half1, half2 = each[{ { 1, n // 2 } }], each[{ { n // 2 + 1, n } }]
local grid, ex, up = gpu.rand { 1021, 1000 }, (gpu.rand { n } * 1000000):to("int32"), 0
local marks, prime = gpu.zeros(n + 1, "uint8"), gpu.ones(n + 1, "int32")
local function odd_even(phase) -- exchanges half of the pairs in the first launch and all in the next ones
  up = 1 - up
  p.odd_even(b512, 256)(ex, n, phase, up)
end
case("add_at", function() p.add_at(b256, 256)(fi, each, px, n) end)
case("add_at_double", function() p.add_at_double(b256, 256)(pa, each, pd, n) end)
case("rotate_at", function() p.rotate_at(b512, 256)(half1, half2, px, n // 2) end)
case("red_black", function() p.red_black(g2(16), B16)(grid, w, h, 0) end)
case("gauss_step", function() p.gauss_step(g2(16), B16)(grid, fi, w, 5) end)
case("permute", function() p.permute(b256, 256)(fi, px, 8, 64, 64, n) end)
case("head_sums", function() p.head_sums(8, 256)(px, fi, 64, 8, 512, 2048) end)
local ways, by = gpu.rand { 500, 500 }, 0
case("floyd_step", function()
  by = (by + 1) % 500
  p.floyd_step({ 32, 32 }, B16)(ways, 500, by)
end)
case("adjust_weights", function() p.adjust_weights({ 1, 2048 }, B16)(fb, fi, ip, px, 16) end)
case("lu_rows", function() p.lu_rows(4, 256)(grid, 1000, 5) end)
case("red_black_half", function() p.red_black_half({ 32, 64 }, B16)(grid, w, h, 1) end)
case("odd_even phase=0", function() odd_even(0) end)
case("odd_even phase=1", function() odd_even(1) end)
case("sieve_all", function() p.sieve_all(4, 256)(marks, n, 1024) end)
case("sieve_words", function() p.sieve_words(1000, 256)(prime, n, 3) end)
case("insertion_rows", function()
  gpu.add(fi, 0, { out = ip }) -- in no order again
  p.insertion_rows(8, 128)(ip, 1024, 64)
end)
local lengths = (gpu.rand { 65536 } * 16):to("int32")
local starts, stretches = gpu.cat({ gpu.zeros(1, "int32"), lengths:cumsum():to("int32") }), gpu.rand { lengths:sum() }
local sorted = gpu.empty(#stretches)
case("insertion_stretches", function()
  sorted:copy_(stretches)
  p.insertion_stretches(256, 256)(starts, sorted, 65536)
end)

local swap_file <close> = assert(io.open("tests/bench/swap_kernels.cu"))
local s = gpu.kernel(swap_file:read "a")
local s64, s32, less = gpu.zeros(n, "float64"), gpu.zeros(n), n // 8
for _, count in ipairs { 1, 1000, n } do -- one cell takes the longest: its lanes take turns
  local of = count == 1 and less or n
  case("sum_cells " .. count, function() s.sum_cells(of // 256, 256)(pa, each, s64, count, of) end)
  case("max_cells " .. count, function()
    s32:fill(0)
    s.max_cells(of // 256, 256)(fi, each, s32, count, of)
  end)
end
case("sum_variable", function() s.sum_variable(n // 256, 256)(pa, each, n) end)
case("keep_variable", function() s.keep_variable(n // 256, 256)(pa, s64, n) end)
for _, count in ipairs { 1, 256 } do
  local of = count == 1 and less // 8 or n
  case("sum_shared " .. count, function() s.sum_shared(64, 256)(pa, each, s64, count, of) end)
  case("max_shared " .. count, function() s.max_shared(64, 256)(fi, each, s32, count, of) end)
end

local meet_file <close> = assert(io.open("tests/bench/meet_kernels.cu"))
local g = gpu.kernel(meet_file:read "a")
local function places(of) return (gpu.argsort(fi:reshape(n // of, of), 2) - 1):to("int32"):reshape(n) end
local p128, p16 = places(128), places(16)
case("matmul_phases", function() g.matmul_phases({ 6, 6 }, B16)(fi, fb, fo, 96) end)
case("producer_phases", function() g.producer_phases(8, 256)(fi, fo, 32) end)
case("producer_consumer", function() g.producer_consumer(64, 256)(fi, fo, 32) end)
case("producer_lookup", function() g.producer_lookup(64, 256)(fi, each, fo, 32) end)
case("pair_reduce", function() g.pair_reduce(1024, 256)(fi, fo, n) end)
case("half_scatter", function() g.half_scatter(64, 256)(p128, oi, tot, 16) end)
case("half_scatter_shared", function() g.half_scatter_shared(256, 256)(p128, tot, 16) end)
case("tile_sort", function() g.tile_sort(1024, 256)(each, oi, n) end)
case("half_warp_reduce", function() g.half_warp_reduce(1024, 256)(fi, fo, n) end)
case("tile_scatter", function() g.tile_scatter(64, 256)(p16, oi, tot, 16) end)
case("producer_global", function() g.producer_global(64, 256)(fi, ft, fo, 32) end)
case("tile_reduce", function() g.tile_reduce(1024, 256)(fi, ft, fo) end)
local locks, turns = gpu.zeros(1000, "int32"), gpu.zeros(1, "uint32")
case("lock_cells 1000", function() g.lock_cells(256, 256)(each, locks, ft, 1000) end)
case("lock_cells 16", function() g.lock_cells(16, 256)(each, locks, ft, 16) end)
case("lock_one", function() g.lock_one(8, 256)(locks, ft) end)
case("grid_steps", function()
  turns:fill(0)
  g.grid_steps(8, 256)(ft, fx, turns, 40)
end)
local given = gpu.zeros(1024, "int32")
case("hand_on", function()
  given:fill(0)
  g.hand_on(1024, 256)(ft, given)
end)
local solved, solution = gpu.zeros(16384, "int32"), gpu.zeros(16384, "float64")
case("solve_rows", function()
  solved:fill(0)
  g.solve_rows(64, 256)(each, pa, solution, solved, 16384, 4)
end)

local few_file <close> = assert(io.open("tests/bench/few_kernels.cu"))
local few = gpu.kernel(few_file:read "a")
local counts, descending = gpu.zeros(1, "int64"), gpu.range(300, 1, -1):to("float32")
case("count_alone", function() few.count_alone(1, 1)(counts, 300000) end)
case("count_first", function() few.count_first(1, 32)(counts, 300000) end)
case("scan_first", function() few.scan_first(1024, 256)(fi, fo, fx) end)
case("peaks_first", function() few.peaks_first(64, 32)(fi, tot, n // 64) end)
case("sort_alone", function()
  ft[{ { 1, 300 } }] = descending
  few.sort_alone(1, 1)(ft, 300)
end)
case("matmul_few 4x4", function() few.matmul_few({ 40, 40 }, { 4, 4 })(fi, fb, fo, 160) end)
case("matmul_few 10x10", function() few.matmul_few({ 16, 16 }, { 10, 10 })(fi, fb, fo, 160) end)
case("add_few 10", function() few.add_few(10000, 10)(fi, fb, fo, 99990) end)
case("add_few 48", function() few.add_few(n // 48, 48)(fi, fb, fo, n) end)
case("count_few 10", function() few.count_few(1, 10)(ii, tot, 100000) end)
case("half_sum 16", function() few.half_sum(n // 64, 16)(fi, fo) end)
case("sum_few 48", function() few.sum_few(16, 48)(fi, fo, n) end)
case("sum_few 100", function() few.sum_few(16, 100)(fi, fo, n) end)
case("bins_few 48", function() few.bins_few(16, 48)(ii, tot, n // 4) end)
case("align_few", function() few.align_few(1024, 16)(ii, ii, oi, 10) end)

local rows = {}
for _, c in ipairs(cases) do
  if not pattern or c[1]:find(pattern) then
    local plain, checked = math.huge, math.huge
    local reports = gpu.check(c[2])
    assert(#reports == 0, reports[1] and reports[1].text)
    for _ = 1, 4 do
      plain = math.min(plain, gpu.time(c[2]))
      gpu.check(function() checked = math.min(checked, gpu.time(c[2])) end) -- else what is timed is not checked
    end
    rows[#rows + 1] = { c[1], plain, checked }
  end
end
table.sort(rows, function(x, y) return x[3] / x[2] > y[3] / y[2] end)
for _, r in ipairs(rows) do print(("%-20s %6.2f %10.2f ms %10.2f ms"):format(r[1], r[3] / r[2], r[2], r[3])) end
