-- %% [markdown]
-- # From an array to a kernel that is right and fast
--
-- Ten minutes, **no GPU needed**: kernels are compiled by NVIDIA's compiler and run on a software GPU, which sees more
-- than a real one tells.

-- %%
gpu.device("simt")
local n = 1 << 20
local x = gpu.linspace(0, 1, n)
print(x)
--> array float32 (1048576,) on simt
--> ...

-- %% [markdown]
-- ## Arrays
--
-- Expressions work on whole arrays, and a chain of them is computed in **one pass**, when somebody looks.

-- %%
local y = (2 * x + 1):sqrt()
print(y.shape, y.dtype, y:min(), y:max())
--> (1048576,)	float32	1.0	1.7320507764816

-- %% [markdown]
-- ## A kernel
--
-- CUDA C in a string. Each *thread* computes one element; a launch says how many *blocks* of how many threads there are:
--
-- | CUDA C++ | here |
-- |---|---|
-- | `turn<<<blocks, threads>>>(x, y)` | `turn(blocks, threads)(x, y)` |
--
-- This one turns each block of 256 elements around, by way of shared memory. Launches are checked here; `check = false`
-- has it run as a GPU would run it.

-- %%
local turn = gpu.kernel [[
  __global__ void turn(const float *x, float *y) {
    __shared__ float s[256];
    int t = threadIdx.x, first = blockIdx.x * blockDim.x;
    s[t] = x[first + t];
    y[first + t] = s[255 - t];
  }
]]
turn(n // 256, 256, {check = false})(x, y)
print(y[1] == x[256], y[256] == x[1])
--> ...

-- %% [markdown]
-- ## Is it right?
--
-- No, or not always: thread 0 reads what thread 255 wrote, and nothing makes it wait. That is a **race**.
-- Launches that are checked are watched, and what is wrong by CUDA's rules is found on *every* run: as an error, or as
-- a list by `gpu.check(f)`.

-- %%
local found = gpu.check(function() turn(4, 256)(x, y) end)
print(found[1].text)
--> cell 3:5: race: s[0] written here and read in line 6 by another thread, with nothing that orders them (1024 times)
-->     5 | s[t] = x[first + t];
-->       | ^
-->     6 | y[first + t] = s[255 - t];
-->       |                ^
-->   in kernel turn, block (0, 0, 0), thread (0, 0, 0) and thread (255, 0, 0)
-->   hint: __syncthreads() is missing between lines 5 and 6

-- %% [markdown]
-- The report names both lines, the threads, and what is missing. So:

-- %%
local turn = gpu.kernel [[
  __global__ void turn(const float *x, float *y) {
    __shared__ float s[256];
    int t = threadIdx.x, first = blockIdx.x * blockDim.x;
    s[t] = x[first + t];
    __syncthreads();
    y[first + t] = s[255 - t];
  }
]]
turn(n // 256, 256)(x, y)
print(y[1] == x[256], y[256] == x[1])
--> true	true

-- %% [markdown]
-- ## What does it cost?
--
-- `gpu.profile` counts, line by line and the same on every run, what a GPU would do.

-- %%
print(gpu.profile(turn, n // 256, 256)(x, y))
--> profile of turn
--> ...
-->   global loads   100% efficient: ...
-->   global stores  100% efficient: ...
--> ...

-- %% [markdown]
-- All that is moved is used. How long it takes on *this* machine is another matter:

-- %% tags=["volatile"]
print(string.format("%.2f ms", gpu.time(function() turn(n // 256, 256)(x, y) end)))
