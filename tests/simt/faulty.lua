-- Kernels with one common mistake each, and the report that gpu.check gives of it (shared/marked.lua): races, bounds, memory that
-- was never written. Barriers, lanes and divisions are in faulty_threads.lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks

local faulty = assert(loadfile("tests/simt/shared/marked.lua"))("tests/simt/faulty.lua", t, gpu)

local function at(x, y, z) return { x = x, y = y or 0, z = z or 0 } end

-- ---- races in shared memory ----
local k = gpu.kernel [=[
__global__ void no_barrier(const int *x, int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];                 //1
  out[threadIdx.x] = s[63 - threadIdx.x];          //2
}
__global__ void no_barrier_at_loop_end(const int *x, int *out, int n) {
  __shared__ int tile[64];
  int sum = 0;
  for (int p = 0; p < n; p += 64) {
    tile[threadIdx.x] = x[p + threadIdx.x];        //1
    __syncthreads();
    for (int j = 0; j < 64; j++) sum += tile[j];   //2
  }
  out[threadIdx.x] = sum;
}
__global__ void neighbour_in_place(int *out) {
  __shared__ int s[65];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) s[64] = 0;
  __syncthreads();
  s[threadIdx.x] += s[threadIdx.x + 1];            //1
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
__global__ void tree_without_barrier(const int *x, int *out) {
  __shared__ int s[128];
  int i = threadIdx.x;
  s[i] = x[i];
  __syncthreads();
  for (int d = 64; d > 0; d /= 2)
    if (i < d) s[i] += s[i + d];                   //1
  if (i == 0) *out = s[0];
}
__global__ void last_warp_in_step(const int *x, int *out) {
  __shared__ int s[64];
  int i = threadIdx.x;
  s[i] = x[i];
  __syncthreads();
  if (i < 32) {
    int v = s[i] + s[i + 32];
    s[i] = v;                                      //1
    v += s[(i + 16) & 31];                         //2
    out[i] = v;
  }
}
__global__ void missing_syncwarp(const int *x, int *out) {
  __shared__ int s[32];
  s[threadIdx.x] = x[threadIdx.x];                 //1
  out[threadIdx.x] = s[threadIdx.x ^ 1];           //2
}
__global__ void shuffle_for_syncwarp(const int *x, int *out) {
  __shared__ int s[32];
  s[threadIdx.x] = x[threadIdx.x];                 //1
  int v = __shfl_xor_sync(0xffffffff, (int)threadIdx.x, 1);
  out[threadIdx.x] = s[v];                         //2
}
__global__ void ballot_for_syncwarp(const int *x, int *out) {
  __shared__ int s[32];
  s[threadIdx.x] = x[threadIdx.x];                 //1
  int n = __popc(__ballot_sync(0xffffffff, x[threadIdx.x] < 1000));
  out[threadIdx.x] = s[(threadIdx.x + n / 2) % 32]; //2
}
__global__ void volatile_in_step(const int *x, int *out) {
  __shared__ volatile int s[32];
  s[threadIdx.x] = x[threadIdx.x];                 //1
  out[threadIdx.x] = s[threadIdx.x ^ 16];          //2
}
__global__ void warp_barrier_for_block(const int *x, int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];                 //1
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x ^ 32];          //2
}
__global__ void histogram_without_atomics(const int *x, int *out) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  bins[x[threadIdx.x]]++;                          //1
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void one_buffer_for_two(const int *x, int *out) {
  __shared__ int s[64];
  int i = threadIdx.x;
  s[i] = x[i];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int v = i >= d ? s[i - d] : 0;                 //2
    s[i] += v;                                     //1
    __syncthreads();
  }
  out[i] = s[i];
}
__global__ void wrong_buffer(const int *x, int *out) {
  __shared__ int s[2][64];
  int i = threadIdx.x, now = 0;
  s[0][i] = x[i];
  __syncthreads();
  for (int r = 0; r < 3; r++) {
    s[now][i] =                                    //1
        s[now][(i + 1) & 63] + 1;                  //2
    __syncthreads();
    now = now;
  }
  out[i] = s[now][i];
}
__global__ void barrier_too_early(const int *x, int *out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (threadIdx.x == 63) total = x[5];             //1
  out[threadIdx.x] = total;                        //2
}
__global__ void all_write_one(int *out) {
  __shared__ int last;
  last = threadIdx.x;                              //1
  __syncthreads();
  out[threadIdx.x] = last;
}
__global__ void counter_read_too_early(int *out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);                            //1
  out[threadIdx.x] = count;                        //2
}
__global__ void open_rows(const int *x, int *out) {
  extern __shared__ int rows[][8];
  rows[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x]; //1
  out[threadIdx.x] = rows[0][0];                   //2
}
__global__ void third_reader(int *out) {
  __shared__ int s[2];
  if (threadIdx.x == 0) s[0] = 1;
  __syncthreads();
  int v = s[0];                                    //2
  __syncwarp();
  if (threadIdx.x == 0) s[0] = 2;                  //1
  out[threadIdx.x] = v;
}
__global__ void two_barriers_for_two_halves(const int *x, int *out) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];                 //1
  if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  out[threadIdx.x] = s[127 - threadIdx.x];         //2
}]=]

local x, out = gpu.range(0, 255, 1, "int32"), gpu.zeros(256, "int32")
local eighths = x % 8

local function shared(name, first, second, more)
  local want = { kind = "race", space = "shared", name = name, access = first, other = { access = second } }
  for key, v in pairs(more or {}) do want[key] = v end
  return want
end

faulty("no_barrier", "a read may come before the write", shared("s", "write", "read", { hint = "__syncthreads", length = 64 }),
  function() k.no_barrier(1, 64)(x, out) end)
faulty("no_barrier_at_loop_end", "the next round overwrites what others read", shared("tile", "write", "read", { hint = "__syncthreads" }),
  function() k.no_barrier_at_loop_end(1, 64)(x, out, 256) end)
faulty("neighbour_in_place", "a neighbour is read while it is written", shared("s", "write", "read", { hint = "__syncthreads" }),
  function() k.neighbour_in_place(1, 64)(out) end)
faulty("tree_without_barrier", "a tree without barriers", shared("s", "write", "read", { hint = "__syncthreads" }),
  function() k.tree_without_barrier(1, 128)(x, out) end)
faulty("last_warp_in_step", "the last warp is not in step", shared("s", "write", "read", { hint = "__syncwarp" }),
  function() k.last_warp_in_step(1, 64)(x, out) end)
faulty("missing_syncwarp", "lanes are not in step", shared("s", "write", "read", { hint = "__syncwarp", block = at(0) }),
  function() k.missing_syncwarp(1, 32)(x, out) end)
faulty("shuffle_for_syncwarp", "shuffles don't order memory", shared("s", "write", "read", { hint = "__syncwarp" }),
  function() k.shuffle_for_syncwarp(1, 32)(x, out) end)
faulty("ballot_for_syncwarp", "votes don't, either", shared("s", "write", "read", { hint = "__syncwarp" }),
  function() k.ballot_for_syncwarp(1, 32)(x, out) end)
faulty("volatile_in_step", "volatile does not keep lanes in step", shared("s", "write", "read", { hint = "__syncwarp" }),
  function() k.volatile_in_step(1, 32)(x, out) end)
faulty("warp_barrier_for_block", "__syncwarp does not order warps", shared("s", "write", "read", { hint = "__syncthreads" }),
  function() k.warp_barrier_for_block(1, 64)(x, out) end)
faulty("histogram_without_atomics", "increments get lost", shared("bins", "write", "read", { hint = "atomic" }),
  function() k.histogram_without_atomics(1, 64)(eighths, out) end)
faulty("one_buffer_for_two", "a scan in place", shared("s", "write", "read", { hint = "__syncthreads" }),
  function() k.one_buffer_for_two(1, 64)(x, out) end)
faulty("wrong_buffer", "both buffers are one", shared("s", "write", "read"),
  function() k.wrong_buffer(1, 64)(x, out) end)
faulty("barrier_too_early", "a barrier before the write, none after", shared("total", "write", "read", { hint = "__syncthreads" }),
  function() k.barrier_too_early(1, 64)(x, out) end)
faulty("all_write_one", "which value stays is chance", shared("last", "write", "write"),
  function() k.all_write_one(1, 64)(out) end)
faulty("open_rows", "dynamic memory with rows", { kind = "race", space = "shared", access = "write", name = "rows", index = 0, other = { access = "read" } },
  function() k.open_rows(1, 32, 128)(x, out) end)
faulty("counter_read_too_early", "an atomic and a plain read", shared("count", "atomic", "read", { hint = "__syncthreads" }),
  function() k.counter_read_too_early(1, 64)(out) end)
faulty("third_reader", "the first warp does not wait for the third", shared("s", "write", "read", { hint = "__syncthreads", index = 0 }),
  function() k.third_reader(1, 96)(out) end)
faulty("two_barriers_for_two_halves", "barriers with different numbers", shared("s", "write", "read"),
  function() k.two_barriers_for_two_halves(1, 128)(x, out) end)

-- ---- races in global memory ----
k = gpu.kernel [=[
__device__ int hits;
__global__ void bins_of_blocks(const int *x, int *bins) {
  bins[x[blockIdx.x * blockDim.x + threadIdx.x]]++; //1
}
__global__ void stencil_in_place(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1)
    a[i] = a[i - 1] + a[i + 1];                    //1
}
__global__ void last_writer_wins(int *result) {
  if (threadIdx.x == 0) result[0] = blockIdx.x;    //1
}
__global__ void flag_without_fence(int *data, volatile int *flag, int *seen) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[3] = 42;                                  //1
    *flag = 1;
  } else {
    while (*flag == 0) ;
    *seen = data[3];                               //2
  }
}
__global__ void last_block_without_fence(const int *x, int *partial, int *count, int *total) {
  if (threadIdx.x) return;
  partial[blockIdx.x] = x[blockIdx.x];             //1
  if (atomicAdd(count, 1) == gridDim.x - 1) {
    int sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += partial[b]; //2
    *total = sum;
    atomicExch(count, 0);
  }
}
__global__ void lock_without_fence(int *lock, int *value) {
  if (threadIdx.x) return;
  while (atomicCAS(lock, 0, 1)) ;
  *value += 1;                                     //1
  atomicExch(lock, 0);
}
__global__ void polls_a_plain_flag(int *flag, int *seen) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) *flag = 1;                  //1
  else *seen = *flag;                              //2
}
__global__ void total_read_too_early(int *total, int *seen) {
  atomicAdd(total, 1);                             //1
  if (threadIdx.x == 0) seen[blockIdx.x] = *total; //2
}
__global__ void block_barrier_for_grid(int *a, int *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;                                        //1
  __syncthreads();
  b[i] = a[n - 1 - i];                             //2
}
__global__ void transpose_in_place(int *a, int n) {
  int r = blockIdx.x, c = threadIdx.x;
  int v = a[c * n + r];                            //2
  a[r * n + c] = v;                                //1
}
__global__ void counts_itself() {
  if (threadIdx.x == 0) hits++;                    //1
}
__global__ void chunks_overlap(int *a, int each) {
  int from = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  for (int i = from; i <= from + each; i++)
    if (i < 64) a[i] = from;                       //1
}
__global__ void plain_beside_atomic(int *a) {
  if (blockIdx.x == 0) a[0] = 5;                   //1
  else atomicAdd(&a[0], 1);                        //2
}]=]

local function global(name, first, second, more)
  local want = shared(name, first, second, more)
  want.space = "global"
  return want
end

local function ints(n) return gpu.zeros(n, "int32") end

faulty("bins_of_blocks", "increments get lost", global("bins", "write", "read", { hint = "atomic", length = 8 }),
  function() k.bins_of_blocks(2, 64)(eighths, ints(8)) end)
faulty("stencil_in_place", "neighbours are read while they are written", global("a", "write", "read", { length = 100 }),
  function() k.stencil_in_place(2, 64)(ints(100), 100) end)
faulty("last_writer_wins", "which block stays is chance",
  global("result", "write", "write", { index = 0, block = at(0), other = { access = "write", block = at(1) } }),
  function() k.last_writer_wins(2, 32)(ints(1)) end)
faulty("flag_without_fence", "the flag may come before the data",
  global("data", "write", "read", { hint = "__threadfence", index = 3, block = at(0), other = { access = "read", block = at(1) } }),
  function() k.flag_without_fence(2, 32)(ints(4), ints(1), ints(1)) end)
faulty("last_block_without_fence", "the counter may come before the sum", global("partial", "write", "read", { hint = "__threadfence" }),
  function() k.last_block_without_fence(4, 32)(x, ints(4), ints(1), ints(1)) end)
faulty("lock_without_fence", "the lock may open before the write", global("value", "write", "read", { hint = "__threadfence", index = 0 }),
  function() k.lock_without_fence(3, 32)(ints(1), ints(1)) end)
faulty("polls_a_plain_flag", "a flag that is neither volatile nor atomic", global("flag", "write", "read", { index = 0 }),
  function() k.polls_a_plain_flag(2, 32)(ints(1), ints(1)) end)
faulty("total_read_too_early", "other blocks still add", global("total", "atomic", "read", { index = 0 }),
  function() k.total_read_too_early(3, 64)(ints(1), ints(3)) end)
faulty("block_barrier_for_grid", "__syncthreads does not order blocks", global("a", "write", "read", { length = 128 }),
  function() k.block_barrier_for_grid(2, 64)(ints(128), ints(128), 128) end)
faulty("transpose_in_place", "two blocks exchange elements", global("a", "write", "read"),
  function() k.transpose_in_place(16, 16)(ints(256), 16) end)
faulty("counts_itself", "a device variable", global("hits", "write", "read", { hint = "atomic" }),
  function() k.counts_itself(3, 32)() end)
faulty("chunks_overlap", "each chunk ends one element late", global("a", "write", "write"),
  function() k.chunks_overlap(1, 16)(ints(64), 4) end)
faulty("plain_beside_atomic", "an atomic does not help against a plain write", global("a", "write", "atomic", { index = 0 }),
  function() k.plain_beside_atomic(2, 1)(ints(1)) end)

-- ---- out of bounds, misaligned, freed ----
k = gpu.kernel [=[
__device__ int *kept;
__device__ int table[10];
__global__ void off_by_one(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) a[i] = i;                            //1
}
__global__ void before_the_start(const int *a, int *b, int n) {
  int i = threadIdx.x;
  if (i < n) b[i] = a[i - 1];                      //1
}
__global__ void wrong_pitch(const int *a, int *b, int h, int w) {
  int c = threadIdx.x, r = blockIdx.x;
  b[r * w + c] = a[c * w + r];                     //1
}
__global__ void no_guard(float *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = 2;                                        //1
}
__global__ void bad_index(const int *index, const float *a, float *b) {
  b[threadIdx.x] = a[index[threadIdx.x]];          //1
}
__global__ void bin_too_many(const int *x, int *bins) {
  atomicAdd(&bins[x[threadIdx.x]], 1);             //1
}
__global__ void quads_of_odd_length(const float4 *a, float *sums) {
  float4 v = a[threadIdx.x];                       //1
  sums[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void beyond_the_slice(int *a, int n) {
  for (int i = threadIdx.x; i <= n; i += 32) a[i] = 1; //1
}
__global__ void beyond_the_variable(int i) {
  table[i] = 3;                                    //1
}
__global__ void shared_one_beyond(const int *x, int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x + 1];           //1
}
__global__ void shared_row_beyond(const int *x, int *out, int row) {
  __shared__ int tile[4][9];
  tile[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[row][threadIdx.x % 8];   //1
}
__global__ void too_little_shared(const int *x, int *out) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = x[threadIdx.x];            //1
  __syncthreads();
  if (threadIdx.x == 0) out[0] = buffer[1];
}
__global__ void local_array(const int *x, int *out) {
  int v[4] = {0, 1, 2, 3};
  v[x[threadIdx.x] + 20] = 5;                      //1
  out[threadIdx.x] = v[x[threadIdx.x] & 3];
}
__global__ void cast_to_four(const float *a, float *b) {
  float4 v = *(const float4 *)(a + 1);             //1
  b[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void cast_bytes(const unsigned char *bytes, int *b) {
  b[threadIdx.x] = *(const int *)(bytes + 4 * threadIdx.x + 2); //1
}
__global__ void keep(int *p) { kept = p; }
__global__ void use_kept() {
  kept[threadIdx.x] = 1;                           //1
}]=]

local function bounds(access, name, index, length, more)
  local want = { kind = "out of bounds", space = "global", access = access, name = name, index = index, length = length }
  for key, v in pairs(more or {}) do want[key] = v end
  return want
end

faulty("off_by_one", "a bound that lets one more through", bounds("write", "a", 100, 100, { count = 1, thread = at(36), block = at(1) }),
  function() k.off_by_one(4, 64)(ints(100), 100) end)
faulty("before_the_start", "the first has no predecessor", bounds("read", "a", -1, 50, { count = 1, thread = at(0) }),
  function() k.before_the_start(1, 64)(ints(50), ints(50), 50) end)
faulty("wrong_pitch", "the height for the width", bounds("read", "a", nil, 40, { count = 24 }),
  function() k.wrong_pitch(4, 10)(ints(40), ints(40), 4, 10) end)
faulty("no_guard", "more threads than elements",
  bounds("write", "a", 100, 100, { count = 28, thread = at(36), block = at(1), message = "a[100] written, a has 100" }),
  function() k.no_guard(2, 64)(gpu.ones(100)) end)
faulty("bad_index", "an index out of the data", bounds("read", "a", 9, 8, { count = 1, thread = at(2) }),
  function() k.bad_index(1, 4)(gpu.array({ 0, 7, 9, 3 }, "int32"), gpu.ones(8), gpu.zeros(4)) end)
faulty("bin_too_many", "an atomic beyond the end", bounds("atomic", "bins", 7, 7, { count = 8 }),
  function() k.bin_too_many(1, 64)(eighths, ints(7)) end)
faulty("quads_of_odd_length", "the last four are only two", bounds("read", "a", 4, 4, { count = 1, thread = at(4) }),
  function() k.quads_of_odd_length(1, 5)(gpu.ones(18), gpu.zeros(5)) end)
do
  local base = ints(100)
  faulty("beyond_the_slice", "a part of an array", bounds("write", "a", 40, 40, { count = 1 }),
    function() k.beyond_the_slice(1, 32)(base[{ { 11, 50 } }], 40) end)
end
faulty("beyond_the_variable", "a device variable", bounds("write", "table", 12, 10, { count = 1 }),
  function() k.beyond_the_variable(1, 1)(12) end)
faulty("shared_one_beyond", "the last has no successor", bounds("read", "s", 64, 64, { space = "shared", count = 1, thread = at(63) }),
  function() k.shared_one_beyond(1, 64)(x, out) end)
faulty("shared_row_beyond", "there is no such row", bounds("read", "tile", 36, 36, { space = "shared", count = 32 }),
  function() k.shared_row_beyond(1, 32)(x, out, 4) end)
faulty("too_little_shared", "less dynamic memory than threads", bounds("write", "buffer", nil, nil, { space = "shared", count = 32 }),
  function() k.too_little_shared(1, 64, 128)(x, out) end)
faulty("local_array", "an array of the thread", bounds("write", nil, nil, nil, { space = "local", count = 32 }),
  function() k.local_array(1, 32)(x, out) end)
faulty("cast_to_four", "a float is no float4", { kind = "misaligned", space = "global", access = "read", name = "a", count = 32 },
  function() k.cast_to_four(1, 32)(gpu.ones(40), gpu.zeros(32)) end)
faulty("cast_bytes", "an int at an odd place",
  { kind = "misaligned", space = "global", access = "read", name = "bytes", index = 2, count = 16 },
  function() k.cast_bytes(1, 16)(gpu.zeros(80, "uint8"), ints(16)) end)
faulty("use_kept", "the array is gone", { kind = "use after free", space = "global", access = "write", count = 32 }, function()
  local a = ints(64)
  k.keep(1, 1)(a)
  gpu.synchronize()
  a:free()
  gpu.memory_trim()
  k.use_kept(1, 32)()
end)

-- ---- never written ----
k = gpu.kernel [=[
__global__ void one_word_never_written(int *out) {
  __shared__ int s[64];
  if (threadIdx.x > 99) s[threadIdx.x] = 1;
  out[threadIdx.x] = s[7];                         //1
}
__global__ void shared_never_written(int *out) {
  __shared__ int s[64];
  if (threadIdx.x < 32) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];               //1
}
__global__ void sum_of_too_much(const int *x, int *out, int n) {
  __shared__ int s[64];
  if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x) return;
  int sum = 0;
  for (int i = 0; i < 64; i++) sum += s[i];        //1
  *out = sum;
}
__global__ void counter_not_zeroed(int *out) {
  __shared__ int count;
  atomicAdd(&count, 1);                            //1
  __syncthreads();
  out[threadIdx.x] = count;
}
__global__ void exchanged_for_nothing(int *out) {
  __shared__ int s[32];
  out[threadIdx.x] = atomicExch(&s[threadIdx.x], 5); //1
}
__global__ void copy(const int *a, int *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];                          //1
}
__global__ void accumulate(float *sums, const float *v) {
  sums[threadIdx.x] += v[threadIdx.x];             //1
}
__global__ void gather(const int *a, int *b) {
  b[threadIdx.x] = a[threadIdx.x];                 //1
}]=]

local function unwritten(name, space, more)
  local want = { kind = "uninitialized read", space = space or "global", name = name, access = "read" }
  for key, v in pairs(more or {}) do want[key] = v end
  return want
end

faulty("one_word_never_written", "all read it", unwritten("s", "shared", { index = 7, length = 64, count = 64, thread = at(0) }),
  function() k.one_word_never_written(1, 64)(out) end)
faulty("shared_never_written", "half of the threads write",
  unwritten("s", "shared", { index = 32, length = 64, count = 32, thread = at(32) }),
  function() k.shared_never_written(1, 64)(out) end)
faulty("sum_of_too_much", "the last tile is not full", unwritten("s", "shared", { index = 50, count = 14, thread = at(0) }),
  function() k.sum_of_too_much(1, 64)(x, out, 50) end)
faulty("counter_not_zeroed", "a counter that starts anywhere", unwritten("count", "shared", { access = "atomic" }),
  function() k.counter_not_zeroed(1, 64)(out) end)
faulty("exchanged_for_nothing", "what an exchange takes out", unwritten("s", "shared", { access = "atomic", count = 32 }),
  function() k.exchanged_for_nothing(1, 32)(out) end)
faulty("copy", "an array that was only made", unwritten("a", "global", { index = 0, length = 70, count = 70 }),
  function() k.copy(2, 64)(gpu.empty(70, "int32"), ints(70), 70) end)
faulty("accumulate", "a sum that starts anywhere", unwritten("sums", "global", { index = 0, count = 32 }),
  function() k.accumulate(1, 32)(gpu.empty(32), gpu.ones(32)) end)
faulty("gather", "an array that is written in part", unwritten("a", "global", { index = 40, count = 24, thread = at(40) }), function()
  local a = gpu.empty(64, "int32")
  k.copy(1, 64)(x, a, 40)
  k.gather(1, 64)(a, ints(64))
end)

-- What is found must not depend on how the blocks are spread over threads.
if not os.getenv("LUNARRAY_THREADS") then
  for _, threads in ipairs { 1, 3 } do t.again("tests/simt/faulty.lua", "LUNARRAY_THREADS=" .. threads, 50) end
end

t.done()
