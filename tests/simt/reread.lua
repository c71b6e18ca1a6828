-- Words of shared memory that some lanes of a warp read time and again, which is passed over once the tags say so: what
-- is wrong with a later read must be told all the same.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local places = gpu.array({ 0, 3, 7, 12, 20, 33, 47, 50 }, "int32")

-- Body of a kernel of a block of 64 threads with t, v, s[128], `flag`, and p[] of 8 places. `want`: what is told, in
-- which of its lines; nil: nothing.
local function case(name, want, line, body)
  t.test(name, function()
    local k = gpu.kernel([[__global__ void k(const int *p, float *out) {
  __shared__ __align__(16) float s[128]; __shared__ int flag;
  int t = threadIdx.x; float v = 0; if (t == 0) flag = 0;
]] .. body .. "\nout[t] = v; }")
    for _ = 1, 2 do
      local found = gpu.check(function() k(1, 64)(places, gpu.zeros(64)) end)
      t.eq(#found, want and 1 or 0, found[1] and found[1].text or "reports")
      if want then
        t.eq(found[1].kind, want)
        assert(found[1].text:find(line, 1, true), found[1].text)
      end
    end
  end)
end

local all = "s[t] = t; s[64 + t] = t; __syncthreads();\n"
local again = "for (int k = 0; k < 40; k++) v += s[p[t] + k] + s[k];"
case("rows and words that are read again", nil, nil, all .. "if (t < 5) " .. again .. "\n if (t < 5) " .. again)
case("words that the others do not share", "uninitialized read", "s[p[t]]",
  "if (t != 7) s[t] = t; __syncthreads();\n" ..
  "if (t < 4) for (int k = 0; k < 9; k++) v += s[0] + k;\n if (t < 4) v += s[p[t]] * 2;")
case("two words, of which one was read", "uninitialized read", "float2",
  "s[2 * t] = t; __syncthreads();\n if (t < 4) v += s[2 * p[t]];\nasm volatile(\"\" ::: \"memory\");\nif (t < 4) { float2 w = *(float2 *)&s[2 * p[t]]; v += w.x + w.y; }")
case("words that another warp read, and wrote", "race", "s[p[t - 32]]",
  all .. "if (t < 4) { v += s[p[t]]; s[p[t]] = 1; }\nif (t >= 32 && t < 36) v += s[p[t - 32]];")
case("a read behind a release as well as before", "race", "v * s[p[t]]", all .. [=[
  if (t < 4) {
    v = s[p[t]];
    if (t == 0) { __threadfence_block(); atomicExch(&flag, 1); }
    v += v * s[p[t]];
  } else if (t == 32) {
    while (atomicAdd(&flag, 0) == 0);
    __threadfence_block();
    s[p[0]] = 1;
  }]=])

t.done()
