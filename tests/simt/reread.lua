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

-- A word that lanes look up, which is the same for all of them.
local one = "s[p[t / 64]]"
case("one word that several read, and others too", nil, nil,
  all .. "v += s[p[t / 64]] + s[p[1 + t / 64]]; if (t % 3) v += s[p[2 + t / 64]];")
case("one word, of which a lane alone makes something", nil, nil, all .. "if (t == 37) { v = s[p[t / 64]]; s[p[t / 64]] = v + 1; }")
case("one word that several read, of which one writes it", "race", one,
  all .. "if (t < 4) v = s[p[t / 64]];\nif (t == 2) s[p[t - 2]] = 1;")
case("one word that another warp writes behind who read it", "race", one,
  all .. "if (t < 32) v = s[p[t / 64]];\nif (t == 40) s[p[t - 40]] = 1;")
case("one word that another warp wrote", "race", one, all .. "if (t == 3) s[p[0]] = 1;\nif (t >= 32) v = s[p[t / 64]];")
case("one word that nobody wrote", "uninitialized read", one, "if (t) s[t] = t; __syncthreads();\n v = s[p[t / 64]];")
for _, on in ipairs { "200", "128", "-4" } do -- the last two: one of them is where `flag` is
  local there = ("s[p[t / 64] + %s]"):format(on)
  case("one word outside " .. on, "out of bounds", there, all .. "v = " .. there .. ";")
end
case("one word at an odd place", "misaligned", "p[t / 64] + 1", all .. "v = *(float *)((char *)s + p[t / 64] + 1);")

t.done()
