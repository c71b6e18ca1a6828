-- What plain cp.async reads in global memory: bounds, memory that was never written or was freed, and writes before it was read.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)

-- Line 1 of a case is the first one behind this.
local head = [[
#include <cuda_pipeline.h>
#define COPY(to, from) __pipeline_memcpy_async(to, from, 4); __pipeline_commit()
#define SEND() do { __threadfence(); atomicExch(flag, 1); } while (0)
#define RECEIVE() do { while (!atomicAdd(flag, 0)) {} __threadfence(); } while (0)
__device__ float *kept;
__global__ void keep(float *x) { kept = x; }
__global__ void k(float *x, float *out, int *flag) {
  __shared__ float s[2][64];
  int me = threadIdx.x;
#line 1 "case"
]]

local function check(source, o)
  local k = gpu.kernel { source = head .. source .. "\n}", chunk = "case", line = 1 }
  local x, out, flag = o.x or gpu.range(1, 512):to("float32"), gpu.zeros(512), gpu.zeros(1, "int32")
  if o.freed then
    k.keep(1, 1)(x)
    x:free()
    x = out
  end
  return gpu.check(function() k.k(o.blocks or 1, 64)(x, out, flag) end), out
end

local function faulty(name, source, want, o)
  t.test(name, function()
    local found = check(source, o or {})
    for _, r in ipairs(found) do
      if r.message:find "copy begun" then
        t.eq(r.hint, "cp.async reads its source until its thread waits: who writes there must come behind __pipeline_wait_prior() "
          .. "or cp.async.wait_group, with __syncthreads() between where it is another thread")
      end
    end
    t.eq((reports.text(found):gsub("0x%x+", "0x")), want)
  end)
end

local function clean(name, source, index, value, o)
  t.test(name, function()
    local found, out = check(source, o or {})
    reports.none(found)
    t.eq(out[index], value)
  end)
end

---- faulty
faulty("a source past the end", [[
  COPY(&s[0][me], &x[me + 5]);
  __pipeline_wait_prior(0);
  out[me] = s[0][me];
]], "1: x[64] read, x has 64 (5 times)", { x = gpu.ones(64) })

faulty("a source that was never written", [[
  COPY(&s[0][me], &x[me]);
  __pipeline_wait_prior(0);
  out[me] = s[0][me];
]], "1: x[0] read, but never written (64 times)", { x = gpu.empty(64) })

faulty("a source that was freed", [[
  COPY(&s[0][me], &kept[me]);
  __pipeline_wait_prior(0);
  out[me] = s[0][me];
]], "1: 4 bytes at 0x read in memory that was freed (an allocation of 20000 bytes) (64 times)", { x = gpu.ones(5000), freed = true })

faulty("a source that its thread writes before the wait", [[
  COPY(&s[0][me], &x[me]);
  x[me] = 0;
  __pipeline_wait_prior(0);
  out[me] = s[0][me];
]], "1: x[0] written in line 2 while the copy begun here may still read it (64 times)")

faulty("a source that another thread writes behind a barrier, which does not wait for copies", [[
  COPY(&s[0][me], &x[me]);
  __syncthreads();
  atomicAdd(&x[63 - me], 1);
  __pipeline_wait_prior(0);
  out[me] = s[0][me];
]], "1: x[0] updated by an atomic in line 3 while the copy begun here may still read it (64 times)")

faulty("a source that another thread writes, in no order", [[
  if (me < 32) { COPY(&s[0][me], &x[me]); }
  else x[me - 32] = 0;
  __pipeline_wait_prior(0);
]], "1: x[0] written in line 2 while the copy begun here may still read it (32 times)")

faulty("a pipeline that waits for one group too few before it writes", [[
  for (int i = 0; i < 3; i++) {
    COPY(&s[i % 2][me], &x[64 * i + me]);
      __pipeline_wait_prior(1);
    if (i) x[64 * i + me] = i;
  }
  __pipeline_wait_prior(0);
]], "2: x[64] written in line 4 while the copy begun here may still read it (128 times)")

faulty("another block writes when it was told of a copy that nobody waited for", [[
  if (blockIdx.x == 0) {
    if (me == 0) { COPY(&s[0][0], &x[7]);
      SEND();
      __pipeline_wait_prior(0);
      out[0] = s[0][0]; }
  } else if (me == 0) {
    RECEIVE();
    x[7] = 3;
  }
]], "2: x[7] written in line 8 while the copy begun here may still read it (1 times)", { blocks = 2 })

faulty("a short copy, whose source ends before what is written", [[
  if (me < 16) {
    __pipeline_memcpy_async((float4 *)s[0] + me, (float4 *)x + me, 16, 8);
    __pipeline_commit();
    x[4 * me + 1] = 1;
    x[4 * me + 2] = 1;
  }
  __pipeline_wait_prior(0);
]], "2: x[1] written in line 4 while the copy begun here may still read it (16 times)")

---- clean
clean("a source that its thread writes when the copy was waited for", [[
  COPY(&s[0][me], &x[me]);
  __pipeline_wait_prior(0);
  x[me] = 0;
  __syncthreads();
  out[me] = s[0][63 - me];
]], 1, 64)

clean("all wait and meet, and others write", [[
  for (int i = 0; i < 4; i++) {
    COPY(&s[i % 2][me], &x[me]);
      __pipeline_wait_prior(0);
    __syncthreads();
    x[63 - me] = s[i % 2][me] + 1;
    __syncthreads();
  }
  out[me] = x[me];
]], 1, 5)

clean("two groups ahead, and only what was waited for is written", [[
  COPY(&s[0][me], &x[me]);
  for (int i = 0; i < 4; i++) {
    COPY(&s[(i + 1) % 2][me], &x[64 * (i + 1) + me]);
      __pipeline_wait_prior(1);
    x[64 * i + me] += s[i % 2][me];
  }
  __pipeline_wait_prior(0);
  out[me] = x[me];
]], 2, 4)

clean("the source is read beside, by others too", [[
  COPY(&s[0][me], &x[me]);
  float v = x[63 - me];
  __pipeline_wait_prior(0);
  __syncthreads();
  x[me] = v;
  out[me] = s[0][me];
]], 3, 3)

clean("another block writes when it was told behind the wait", [[
  if (blockIdx.x == 0) {
    if (me == 0) { COPY(&s[0][0], &x[7]);
      __pipeline_wait_prior(0);
      SEND();
      out[0] = s[0][0]; }
  } else if (me == 0) {
    RECEIVE();
    x[7] = 3;
  }
]], 1, 8, { blocks = 2 })

t.done()
