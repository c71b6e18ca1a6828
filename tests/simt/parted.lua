-- Warps of a block that come to different barriers, or of which some have ended: told by gpu.check, with the same
-- results as without it.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local function same(body, kind)
  local k = gpu.kernel([[__global__ void k(int *y, int s) {
    __shared__ int u[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    u[t] = 3 * t;
    __syncthreads();
    ]] .. body .. [[ y[i] = i + u[t];
  }]])
  for _, blocks in ipairs { 1, 2, 3, 8 } do
    for _, s in ipairs { 0, 32, 64 } do
      local y = gpu.zeros(blocks * 64, "int32")
      local found = gpu.check(function() k(blocks, 64)(y, s) end)
      for _, r in ipairs(found) do t.eq(r.kind, kind, r.message) end
      t.eq(#found > 0, kind ~= nil and s == 32)
      for i, v in ipairs(y:totable()) do t.eq(v, i - 1 + 3 * ((i - 1) % 64)) end
    end
  end
end

t.test("a warp that waits while another has ended keeps its registers", function()
  same("if (t < s) __syncthreads();", "barrier divergence")
end)

t.test("warps that wait at different barriers keep their registers", function()
  same("if (t < s) { __syncthreads(); }\n else { __syncthreads(); }", "barrier divergence")
  same("if (t < s) { __syncthreads(); } else { __syncthreads(); }") -- of one line they are one
end)
