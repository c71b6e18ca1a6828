-- Matrix products with batches, einsum and its relatives, against sums written out in Lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- All assignments of numbers to letters, one after another.
local function each_index(letters, sizes, body)
  local at = {}
  local function go(i)
    local letter = letters[i]
    if not letter then return body(at) end
    for v = 1, sizes[letter] do
      at[letter] = v
      go(i + 1)
    end
  end
  go(1)
end

local function pick(nested, axes, at)
  for letter in axes:gmatch(".") do nested = nested[at[letter]] end
  return nested
end

-- The einsum by its definition, as a flat list in row-major order of the result. Texts without blanks or dots.
local function reference(text, arrays)
  local operands, result = text:match("^(.-)%->(.*)$")
  local axes, sizes, outside, inside, seen = {}, {}, {}, {}, {}
  for part in (operands .. ","):gmatch("(.-),") do axes[#axes + 1] = part end
  for i, part in ipairs(axes) do
    local k = 0
    for letter in part:gmatch(".") do
      k = k + 1
      sizes[letter] = arrays[i].shape[k]
    end
  end
  for letter in result:gmatch(".") do
    outside[#outside + 1] = letter
    seen[letter] = true
  end
  for letter in pairs(sizes) do
    if not seen[letter] then inside[#inside + 1] = letter end
  end
  local tables, list = {}, {}
  for i, a in ipairs(arrays) do tables[i] = a:totable() end
  each_index(outside, sizes, function(at)
    local sum = 0
    each_index(inside, sizes, function(here)
      local product = 1
      for i, part in ipairs(axes) do
        product = product * pick(tables[i], part, setmetatable(here, { __index = at }))
      end
      sum = sum + product
    end)
    list[#list + 1] = sum
  end)
  return list
end

local SIZE = { a = 2, b = 3, c = 4, i = 3, j = 5, k = 2, l = 4, m = 1, n = 3, z = 0 }

local function random_array(axes, dtype, device)
  local shape = {}
  for letter in axes:gmatch(".") do shape[#shape + 1] = SIZE[letter] end
  return (gpu.rand(shape, "float64", device) * 9 - 4):floor():to(dtype)
end

local TEXTS = {
  "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ij,ij->", "ij,ij->ij", "ij,ji->", "ij->ji", "ij->j", "ij->", "i,j->ij", "i,j->ji", "i,i->",
  "bij,bjk->bik", "bij,jk->bik", "ij,bjk->bik", "bij,bkj->kbi", "ij,ij->i", "abij,abj->abi", "ijk,ijk->k", "ijk,jl->ilk",
  "aa->a", "aa->", "aia->i", "aba,ab->b", "aab,bc->ac", "ij,jk,kl->il", "ij,jk,kl->", "i,ij,j->", "bij,bi,bj->b", "ij,k,l->lkji",
  "ij,mj->im", "ijm->ij", "zij,jk->zik", "iz,zk->ik", "a,a,a->a", "abc,cba->", "ij,jk,ki->", "abc,abd->cd", ",ij->ji", "ij,,->i",
}
SIZE.d = 2

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  test("einsum by its definition", function()
    gpu.seed(3)
    for _, text in ipairs(TEXTS) do
      for _, dtype in ipairs({ "float64", "int32" }) do
        local arrays = {}
        for part in (text:match("^(.-)%->") .. ","):gmatch("(.-),") do arrays[#arrays + 1] = random_array(part, dtype, device) end
        local got = gpu.einsum(text, table.unpack(arrays))
        local want = reference(text, arrays)
        if type(got) == "number" then got = { got } else t.eq(got.dtype, dtype, text) end
        t.close(got, want, 1e-12, text)
        if type(got) == "userdata" then assert(got:is_contiguous(), text) end
      end
    end
  end)

  test("einsum of views", function()
    local x, y = random_array("ij", "float64", device), random_array("jk", "float64", device)
    local want = gpu.matmul(x, y)
    assert(gpu.einsum("ji,kj->ik", x.T, y.T):equal(want))
    assert(gpu.einsum("ij,jk->ik", x["::-1, :"], y):equal(want["::-1, :"]))
    assert(gpu.einsum("ij,jk->ik", x[{ { 2 } }]:broadcast_to(4, 5), y):equal(want[{ { 2 } }]:broadcast_to(4, 2)))
    local same = gpu.einsum("ij->ij", x)
    same[1] = 100
    assert(x:max() < 100)
  end)

  test("einsum with an ellipsis", function()
    local x, y = gpu.rand(2, 1, 3, 4, "float64", device), gpu.rand(5, 4, 6, "float64", device)
    local want = gpu.matmul(x, y)
    assert(gpu.einsum("...ij,...jk->...ik", x, y):allclose(want, 1e-12))
    assert(gpu.einsum("...ij, ...jk", x, y):allclose(want, 1e-12))
    assert(gpu.einsum("...ij,...jk->ki...", x, y):allclose(want:permute(4, 3, 1, 2), 1e-12))
    assert(gpu.einsum("i...->...", x):allclose(x:sum(1), 1e-12))
    assert(gpu.einsum("...,...", x, 2 * gpu.ones(1, "float64", device)):allclose(2 * x, 1e-12))
    t.eq(tostring(gpu.einsum("...i,...i->...", gpu.zeros(0, 3, device), gpu.zeros(1, 3, device)).shape), "(0,)")
  end)

  test("einsum without an arrow", function()
    local x, y = random_array("ij", "float64", device), random_array("jk", "float64", device)
    assert(gpu.einsum("ij,jk", x, y):equal(gpu.matmul(x, y)))
    assert(gpu.einsum("ba", x):equal(x.T))
    t.eq(gpu.einsum("ij,ij", x, x), (x * x):sum())
    t.eq(gpu.einsum("ii", gpu.eye(4, "float64", device)), 4.0)
    t.eq(tostring(gpu.einsum("bA", x).shape), "(5, 3)")
  end)

  test("einsum's mistakes", function()
    local x, y = gpu.ones(2, 3, device), gpu.ones(3, 2, device)
    local function wrong(parts, ...) t.raises(parts, gpu.einsum, ...) end
    wrong({ "'q' of the result is in no array", "    ij,jk->iq\n            ^" }, "ij,jk->iq", x, y)
    wrong({ "'i' is in the result twice", "    ij->ii\n         ^" }, "ij->ii", x)
    wrong({ "a letter, '...', ',' or '->' was expected", "    i1\n     ^" }, "i1", x)
    wrong({ "3 letters for array 1, which has 2 axes", "    ijk->i\n      ^" }, "ijk->i", x)
    wrong({ "1 letter for array 2", "    ij,k\n       ^" }, "ij,k", x, y)
    wrong({ "array 1 has only 2 axes", "    ijk...\n      ^" }, "ijk...", x)
    wrong({ "second ellipsis", "    ...i...\n        ^" }, "...i...", x)
    wrong({ "lacks the '...'", "    ...i->i\n           ^" }, "...i->i", x)
    wrong({ "2 arrays were given, but the text names only 1", "    ij->i\n      ^" }, "ij->i", x, y)
    wrong({ "another array is expected; 1 was given", "    ij,jk\n      ^" }, "ij,jk", x)
    wrong({ "nothing may follow", "    ij->i,j\n         ^" }, "ij->i,j", x)
    wrong({ "axis 1 of array 2 has 2 elements", "has 3" }, "ij,jk", x, x)
    wrong({ "axis 2 of array 1 has 3 elements", "has 2" }, "ii", x)
    wrong("array expected", "ij,jk", x, 3)
    wrong("1 to 32 arrays", "ij")
    wrong("string expected", x)
    local other = device == "cpu" and t.kernel_device() or "cpu"
    wrong({ device, other, ":to(" }, "ij,jk", x, gpu.ones(3, 2, other))
  end)

  test("long chains are contracted in a good order", function()
    -- In the order written the products would have 200^4 elements.
    local a = gpu.rand(200, 2, "float64", device)
    local got = gpu.einsum("ai,bj,ci,dj,ab,cd->", a, a, a, a, gpu.ones(200, 200, "float64", device), gpu.ones(200, 200, "float64", device))
    local s = a:sum(1):totable()
    t.near(got / (s[1] ^ 2 + s[2] ^ 2) ^ 2, 1, 1e-10)
  end)

  test("matmul with batches", function()
    gpu.seed(4)
    for _, shapes in ipairs({
      { { 5, 2, 3 }, { 5, 3, 4 } }, { { 5, 2, 3 }, { 3, 4 } }, { { 2, 3 }, { 5, 3, 4 } }, { { 2, 1, 2, 3 }, { 4, 3, 5 } }, { { 6, 3 }, { 2, 3, 1 } },
      { { 3 }, { 5, 3, 4 } }, { { 5, 2, 3 }, { 3 } }, { { 1, 1, 4 }, { 7, 4, 1 } }, { { 0, 2, 3 }, { 3, 4 } }, { { 4, 2, 0 }, { 4, 0, 3 } },
      { { 3, 20, 30 }, { 3, 30, 17 } }, { { 2, 2, 40, 33 }, { 2, 33, 65 } },
    }) do
      for dtype, tolerance in pairs({ float32 = 1e-5, float64 = 1e-13, int64 = 0, float16 = 4e-2 }) do
        local x = (gpu.rand(shapes[1], "float64", device) * 7 - 3):to(dtype)
        local y = (gpu.rand(shapes[2], "float64", device) * 7 - 3):to(dtype)
        local got = gpu.matmul(x, y)
        t.eq(got.dtype, dtype)
        -- x as (..., rows, inner, 1) times y as (..., 1, inner, columns), summed up
        local x2, y2 = x, y
        if x.ndim == 1 then x2 = x2:unsqueeze(1) end
        if y.ndim == 1 then y2 = y2:unsqueeze(2) end
        local want = (x2:to("float64"):unsqueeze(-1) * y2:to("float64"):unsqueeze(-3)):sum(-2)
        if x.ndim == 1 then want = want:squeeze(-2) end
        if y.ndim == 1 then want = want:squeeze(-1) end
        t.eq(tostring(got.shape), tostring(want.shape))
        t.close(got:to("float64"), want, tolerance * 20)
      end
    end
  end)

  test("matmul of strided batches", function()
    local x, y = gpu.rand(4, 6, 5, "float64", device), gpu.rand(6, 7, 4, "float64", device)
    local want = {}
    for i = 1, 4 do want[i] = gpu.matmul(x[i].T, y[{ {}, {}, i }]) end
    assert(gpu.matmul(x:transpose(2, 3), y:permute(3, 1, 2)):allclose(gpu.stack(want), 1e-12))
    local flipped = gpu.matmul(x["::-1"]:transpose(2, 3), y:permute(3, 1, 2)["::-1"])
    assert(flipped["::-1"]:allclose(gpu.stack(want), 1e-12))
    t.raises({ "(2, 3, 4)", "(3, 4, 2)", "before the last two" }, gpu.matmul, gpu.ones(2, 3, 4, device), gpu.ones(3, 4, 2, device))
    t.raises({ "first array has no axes", "x * y" }, gpu.matmul, gpu.ones({}, device), x)
  end)

  test("dot, inner, outer, kron, tensordot", function()
    local x, y = random_array("abc", "float64", device), random_array("icl", "float64", device)
    t.close(x:dot(y), reference("abc,icl->abil", { x, y }), 1e-12)
    t.close(x:dot(y[1][{ {}, 1 }]), reference("abc,c->ab", { x, y[1][{ {}, 1 }] }), 1e-12)
    t.close(x:inner(x[{ {}, { 1, 2 } }]:clone()), reference("abc,dec->abde", { x, x[{ {}, { 1, 2 } }] }), 1e-12)
    t.same(gpu.outer(gpu.array({ 1, 2 }, device), gpu.array({ { 3 }, { 4 }, { 5 } }, device)):totable(), { { 3, 4, 5 }, { 6, 8, 10 } })
    t.same(gpu.kron(gpu.array({ { 1, 2 } }, device), gpu.array({ { 1 }, { 10 } }, device)):totable(), { { 1, 2 }, { 10, 20 } })
    t.same(gpu.kron(gpu.array({ 1, 2 }, device), gpu.array({ { 1, 3 }, { 5, 7 } }, device)):totable(), { { 1, 3, 2, 6 }, { 5, 7, 10, 14 } })
    t.eq(tostring(gpu.kron(gpu.ones(0, 2, device), gpu.ones(3, 3, device)).shape), "(0, 6)")
    for _, sizes in ipairs { { { 5, 7 }, { 3, 4 } }, { { 5, 7 }, { 1, 4 } }, { { 1, 7 }, { 3, 4 } }, { { 2, 1 }, { 3, 4 } }, { { 2, 5 }, { 3, 1 } },
      { { 2, 3, 4 }, { 2, 2, 5 } }, { { 3, 4 }, { 2, 2, 5 } }, { { 2, 2 }, { 2, 130 } }, { { 2, 2 }, { 3, 127 } }, { { 0, 2 }, { 3, 3 } }, { { 4, 2 }, { 3, 0 } } } do
      local function made(shape, from)
        local x = (gpu.range(1, gpu.zeros(shape, "cpu").size, 1, "int32", device) + from):reshape(shape)
        return x, x:flip(), x:transpose(1, 2):clone():transpose(1, 2)
      end
      local a, b, c = made(sizes[1], 0)
      local d, e, f = made(sizes[2], 100)
      local m, n = #sizes[1], #sizes[2]
      for _, pair in ipairs { { a, d }, { b, e }, { c, f } } do
        local x, y, got = pair[1], pair[2], gpu.kron(pair[1], pair[2])
        if got.size > 0 then -- by the places: block and place in it
          local top = math.max(m, n)
          local function places(which)
            local out = {}
            for i = 1, top do
              local q = n - top + i > 0 and y.shape[n - top + i] or 1
              local own = (which == x and m or n) - top + i
              local at = gpu.range(0, got.shape[i] - 1, 1, "int64", device)
              if own > 0 then out[own] = (which == x and at // q or at % q) + 1 end
            end
            return out
          end
          local function taken(which)
            local v = which
            for axis, at in ipairs(places(which)) do v = v:take(at, axis) end
            return v
          end
          t.eq(got:equal(taken(x) * taken(y)), true)
        end
      end
    end
    t.close(gpu.tensordot(x, y, { 3, 2 }), reference("abc,icl->abil", { x, y }), 1e-12)
    t.close(gpu.tensordot(x, x, { { 1, -1 }, { 1, 3 } }), reference("abc,aic->bi", { x, x }), 1e-12)
    t.close(gpu.tensordot(x, x.T, 1), reference("abc,cij->abij", { x, x.T }), 1e-12)
    t.eq(gpu.tensordot(x, x, 3), (x * x):sum())
    t.eq(tostring(gpu.tensordot(x, y, 0).shape), "(2, 3, 4, 3, 4, 4)")
    t.raises("4 axes cannot be summed over", gpu.tensordot, x, y, 4)
    t.raises("2 axes of x cannot go with 1", gpu.tensordot, x, y, { { 1, 2 }, 1 })
    t.raises("named twice", gpu.tensordot, x, y, { { 1, 1 }, { 1, 2 } })
    t.raises({ "tensordot", "axis 1 of array 2" }, gpu.tensordot, x, y, 1)
    t.raises("at most 8 axes", gpu.kron, gpu.ones({ 1, 1, 1, 1, 1, 1, 1, 1, 1 }, device), x)
    t.raises("no axes", gpu.dot, gpu.ones({}, device), x)
    t.raises("the first array has the shape (2,), expected a matrix", gpu.matvec, gpu.ones(2, device), x)
    t.raises("the second array has the shape (), expected a vector", gpu.vecdot, gpu.ones(2, device), gpu.ones({}, device))
  end)
end

-- Long rows are summed up chunk by chunk, wide results panel by panel; operands may lie in memory in any way.
t.test("vectors on the host", function()
  gpu.seed(2)
  for _, shape in ipairs { { 3, 40000 }, { 40000, 3 }, { 37, 5000 }, { 1, 7 }, { 7, 1 } } do
    for _, dtype in ipairs { "float32", "float64" } do
      local rows, columns = shape[1], shape[2]
      local x = gpu.random.integers(-9, 9, shape, "cpu"):to(dtype)
      local y = gpu.random.integers(-9, 9, 2 * columns, "cpu"):to(dtype)
      local z = gpu.random.integers(-9, 9, rows, "cpu"):to(dtype)
      local spread = y["::2"]
      for _, v in ipairs { spread, spread:clone() } do
        assert(x:matmul(v):equal((x * v):sum(2)))
        assert(v:matmul(x.T):equal((x * v):sum(2)))
      end
      assert(z:matmul(x):equal((x * z:reshape(rows, 1)):sum(1)))
      assert(x.T:clone().T:matmul(spread):equal((x * spread):sum(2)))
      assert(x:vecdot(x):equal((x * x):sum(2)))
      t.eq(y:dot(y), (y * y):sum())
    end
  end
end)

-- Few numbers are added for each element of the result: rows times a vector, a vector times columns, rows times rows.
t.test("short rows on the host", function()
  gpu.seed(3)
  for _, inner in ipairs { 1, 2, 3, 4, 5, 8, 11, 16, 31, 64, 65 } do
    for _, dtype in ipairs { "int8", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128" } do
      local x = gpu.random.integers(0, 3, { 2, 701, inner }, "cpu"):to(dtype)
      local y = gpu.random.integers(0, 3, { 2, 701, inner }, "cpu"):to(dtype)
      if dtype:find "complex" then x, y = x * gpu.complex(2, -1), y * gpu.complex(1, 3) end
      local function same(got, a, b)
        t.eq(got.dtype, dtype)
        assert(got:equal((a * b):sum(-1):to(dtype)), dtype .. " " .. inner)
      end
      local v = y[{ 2, 5 }]
      for _, a in ipairs { x[1], x[1]["::3"], x[2]["::-2"], x[{ 1, { 7, 7 } }] } do
        same(a:matmul(v), a, v)
        same(v:matmul(a.T), a, v)
      end
      same(x:matmul(v), x, v)
      same(gpu.einsum("abi,abi->ab", x, y), x, y)
      same(gpu.einsum("abi,bi->ab", x["::-1"], y[1]), x["::-1"], y[1])
      same(gpu.einsum("ai,ai->a", x[1]["::2"], y[2]["::-2"]), x[1]["::2"], y[2]["::-2"])
    end
  end
  t.eq(tostring(gpu.ones(0, 4, "cpu"):matmul(gpu.ones(4, "cpu")).shape), "(0,)")
  t.same(gpu.ones(3, 0, "cpu"):matmul(gpu.ones(0, "cpu")):totable(), { 0, 0, 0 })
end)

t.every("short rows of complex numbers times a vector, for some of which there are registers", function(device)
  for _, dtype in ipairs { "complex64", "complex128" } do
    for _, rows in ipairs { 1, 2, 3, 4, 5, 7, 11 } do
      for _, inner in ipairs { 2, 4, 5, 8, 13, 16, 17 } do
        local k = gpu.range(1, rows * (inner + 3), "float64", device):reshape(rows, inner + 3)
        local a = gpu.complex(k % 7 - 3, k % 5 - 2):to(dtype)[{ {}, { 2, inner + 1 } }]
        local b = gpu.complex(gpu.range(1, inner, "float64", device) % 4, gpu.range(1, inner, "float64", device) % 3 - 1):to(dtype)
        local want = {}
        for i = 1, rows do
          local re, im = 0, 0
          for j = 1, inner do
            local x, y = a[{ i, j }], b[j]
            re, im = re + x.re * y.re - x.im * y.im, im + x.re * y.im + x.im * y.re
          end
          want[i] = gpu.complex(re, im)
        end
        local got = a:matmul(b)
        for i = 1, rows do assert(got[i] == want[i], ("%s %d x %d, row %d"):format(dtype, rows, inner, i)) end
        assert(a:clone():matmul(b):equal(got))
      end
    end
  end
end)

t.every("vdot of complex numbers, the first of them conjugated", function(device)
  for _, dtype in ipairs { "complex64", "complex128" } do
    for _, n in ipairs { 0, 1, 2, 3, 4, 5, 7, 8, 11, 64, 65, 33000 } do
      local k = gpu.range(1, 2 * n, "int64", device)
      local x = gpu.complex((k % 7 - 3):to("float64"), (k % 5 - 2):to("float64")):to(dtype)
      local y = gpu.complex((k % 4):to("float64"), (k % 3 - 1):to("float64")):to(dtype)
      local function check(a, b, what)
        local u, v = a:flatten(), b:flatten()
        local re, im = (u.real * v.real + u.imag * v.imag):sum(), (u.real * v.imag - u.imag * v.real):sum()
        local got = a:vdot(b)
        assert(got.re == re and got.im == im, ("%s of %d, %s: %s"):format(dtype, n, what, tostring(got)))
      end
      local a, b = x[{ { 1, n } }], y[{ { 1, n } }]
      check(a, b, "side by side")
      check(b, a, "the other way round")
      check(a, a, "itself")
      check(x["::2"], b, "apart")
      check(a, y["::-2"], "backwards")
      check(a, b.real:clone(), "times real ones")
      check(a, b:to(dtype == "complex64" and "complex128" or "complex64"), "of two dtypes")
      check(a:reshape(1, n), b:reshape(n, 1), "of two shapes")
    end
  end
end)

t.test("what a complex vector has of itself is real to the last bit", function()
  for _, dtype in ipairs { "complex64", "complex128" } do
    for n = 1, 9 do
      local x = gpu.complex(gpu.rand(n, "float64", "cpu"), gpu.rand(n, "float64", "cpu")):to(dtype)
      t.eq(x:vdot(x).im, 0.0, dtype .. " " .. n)
      t.eq(gpu.conj(x):dot(x).im, 0.0, dtype .. " " .. n)
    end
  end
end)

t.every("products of vectors whose elements lie apart", function(device)
  for _, dtype in ipairs { "float32", "float64" } do
    for _, n in ipairs(t.brief({ 1, 2, 3, 64, 65, 2047, 2048, 2049, 5000, 140000 }, { 3, 65, 2049 })) do
      local k = gpu.range(1, 3 * n, "int64", device)
      local x, y = (k % 7 - 3):to(dtype), (k % 5 - 1):to(dtype)
      local kinds = {
        x[{ { 1, n } }], y[{ { 1, 2 * n, 2 } }], x[{ { 1, 3 * n, 3 } }], y["::-3"], gpu.expand(y[{ { 2 } }], { n }),
      }
      for i, a in ipairs(kinds) do
        for j, b in ipairs(kinds) do
          local want = (a:to("float64") * b:to("float64")):sum()
          local what = ("%s of %d, ways %d and %d"):format(dtype, n, i, j)
          t.eq(a:dot(b), want, what)
          t.eq(gpu.vdot(a, b), want, what)
        end
      end
    end
    local rows = (gpu.range(1, 4 * 3000, "int64", device) % 9 - 4):to(dtype):reshape(4, 3000)
    local a, b = rows[{ { 1, 3 }, { 1, 2999, 2 } }], rows[{ { 2, 4 }, { 2, 3000, 2 } }]
    t.same(gpu.vecdot(a, b):totable(), (a * b):sum(2):totable(), "rows of " .. dtype)
    t.eq(a:vdot(b), (a * b):sum(), "rows as one vector of " .. dtype)
  end
end)

-- Products wrap around as they do in short rows, and those of 16 bits are rounded once.
t.every("long rows times columns, side by side, apart and in batches", function(device)
  local n, all = 5000, { "int8", "int32", "uint32", "uint64", "float16", "bfloat16", "float32", "complex64" }
  for _, dtype in ipairs(t.compiles(device) and { "int8", "uint32", "bfloat16", "complex64" } or all) do
    local function numbers(m, k) return (gpu.range(1, m * n, "int64", device) % k):to(dtype):reshape(m, n) end
    local exact = dtype:find "int" and "int64" or dtype == "complex64" and dtype or "float64"
    local function sums(a, b) return (a:to(exact) * b:to(exact)):sum(-1):to(dtype) end
    local a, b, v = numbers(3, 7), numbers(3, 5), numbers(1, 3)[1]
    -- Each product rounded by itself would give other sums.
    if dtype == "bfloat16" then a, b, v = a * 0 + 139 / 128, b * 0 + 143 / 128, v * 0 + 131 / 128 end
    assert(gpu.matmul(a, v):equal(sums(a, v)), dtype)
    assert(gpu.matmul(v, b.T):equal(sums(b, v)), dtype)
    assert(gpu.matmul(v, b.T:clone()):equal(sums(b, v)), dtype)
    assert(gpu.matmul(a:reshape(3, 1, n), b:reshape(3, n, 1)):equal(sums(a, b):reshape(3, 1, 1)), dtype)
    local apart = numbers(6, 7)[{ { 1, 6, 2 } }]
    assert(gpu.matmul(apart, v):equal(sums(apart, v)), dtype)
    assert(gpu.full({ 1 }, a[2]:dot(v), dtype, device):equal(sums(a[{ { 2 } }], v)), dtype)
  end
end)

t.done()
