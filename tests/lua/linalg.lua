-- gpu.linalg: every result is checked by what it is for (A x = b, Q R = A, U S V = A, ...), batches by their matrices.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local la = gpu.linalg

local TOLERANCE = { float32 = 2e-4, float64 = 1e-11 }
local inf = math.huge

local function each_dtype(body)
  for dtype, tolerance in pairs(TOLERANCE) do body(dtype, tolerance) end
end

local function close(got, want, tolerance, what)
  t.eq(tostring(got.shape), tostring(want.shape), what)
  local far = got.size == 0 and 0 or (got:to("float64") - want:to("float64")):abs():max()
  if not (far <= tolerance * (1 + (want.size == 0 and 0 or want:abs():max()))) then
    error(("%s is off by %g\n%s\nexpected\n%s"):format(what or "the result", far, tostring(got), tostring(want)), 2)
  end
end

local function turned(x) return x:transpose(-2, -1) end

for _, device in ipairs(t.devices()) do
  local function test(name, body)
    t.test(name .. " on " .. device, function()
      gpu.seed(8)
      body()
    end)
  end
  local function eye(n, dtype) return gpu.eye(n, dtype, device) end
  local function random(shape, dtype) return gpu.randn(shape, dtype, device) end
  -- far from singular
  local function regular(shape, dtype)
    local n = shape[#shape]
    return 0.3 * random(shape, dtype) + n * eye(n, dtype)
  end
  local function symmetric(shape, dtype)
    local a = random(shape, dtype)
    return a + turned(a)
  end
  local function array(x, dtype) return gpu.array(x, dtype or "float64", device) end

  test("solve", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({
        { { 1, 1 }, { 1 } }, { { 5, 5 }, { 5 } }, { { 5, 5 }, { 5, 3 } }, { { 40, 40 }, { 40, 7 } }, { { 2, 3, 4, 4 }, { 4 } },
        { { 6, 4, 4 }, { 6, 4, 2 } }, { { 2, 1, 4, 4 }, { 3, 4, 2 } }, { { 4, 4 }, { 5, 4, 2 } }, { { 0, 0 }, { 0 } }, { { 3, 0, 0 }, { 3, 0, 2 } },
        { { 0, 4, 4 }, { 4, 2 } }, { { 230, 230 }, { 230, 2 } },
      }) do
        local a, b = regular(s[1], dtype), random(s[2], dtype)
        local x = la.solve(a, b)
        t.eq(x.dtype, dtype)
        t.eq(x.device, device)
        assert(x:is_contiguous())
        local back = b.ndim == 1 and gpu.matmul(a, x:unsqueeze(-1)):squeeze(-1) or gpu.matmul(a, x)
        close(back, b:broadcast_to(back.shape), tolerance * 5, "a x for " .. tostring(a.shape))
      end
    end)
    t.same(la.solve(array({ { 2, 0 }, { 0, 4 } }, "int32"), array({ 2, 2 }, "int32")):totable(), { 1, 0.5 })
    t.eq(la.solve(array({ { 2 } }, "int32"), array({ 1 }, "int32")).dtype, "float32")
    t.eq(la.solve(array({ { 2 } }, "int64"), array({ 1 }, "float32")).dtype, "float64")
    t.eq(la.solve(array({ { 2 } }, "float16"), array({ 1 }, "float16")).dtype, "float16")
    local a, b = regular({ 4, 4 }, "float64"), random({ 4, 3 }, "float64")
    local a_before, b_before = a:clone(), b:clone()
    close(gpu.matmul(a.T, la.solve(a.T, b["::-1"])), b["::-1"], 1e-11)
    assert(a:equal(a_before) and b:equal(b_before))
  end)

  test("solve batches of tiny matrices, which need pivots", function()
    each_dtype(function(dtype, tolerance)
      for n = 1, 10 do
        local a, b = random({ 200, n, n }, dtype), random({ 200, n, 3 }, dtype)
        local x = la.solve(a, b)
        local scale = a:abs():sum(3, true):max(2, true) * x:abs():max(2, true) + 1 -- of the backward error
        local off = ((a:matmul(x) - b):abs() / scale):max()
        assert(off <= tolerance, ("%d x %d %s: off by %g"):format(n, n, dtype, off))
        local rolled = eye(n, dtype):roll(1, 1) -- the diagonal is 0
        close(la.solve(rolled, rolled:matmul(b[1])), b[1], 0, dtype)
        local singular = gpu.ones({ n, n }, dtype, device)
        if n > 1 then t.raises({ "pivot 2 of " .. n .. " is 0" }, la.solve, singular, b[1]) end
      end
    end)
  end)

  test("errors", function()
    local a, flat = eye(3, "float64"), array({ 1, 2, 3 })
    t.raises({ "solve: the matrix is singular (pivot 2 of 2 is 0)", "lstsq" }, la.solve, array({ { 1, 2 }, { 2, 4 } }), array({ 1, 2 }))
    t.raises({ "inv: matrix 3 of the batch is singular", "pinv" }, la.inv, gpu.stack({ a, a, a * 0, a * 0 }))
    t.raises("singular (element 2 of its diagonal is 0)", la.solve_triangular, array({ { 1, 0 }, { 1, 0 } }), array({ 1, 2 }))
    t.raises("not positive definite (its first 2 rows and columns are not)", la.cholesky, array({ { 1, 2, 0 }, { 2, 1, 0 }, { 0, 0, 1 } }))
    t.raises({ "inv: the matrix must be square", "(2, 3)" }, la.inv, gpu.ones(2, 3, device))
    t.raises({ "(3, 3)", "(2,)", "same number of rows" }, la.solve, a, array({ 1, 2 }))
    t.raises({ "det: a matrix or a batch of them was expected, not the shape (3,)" }, la.det, flat)
    t.raises({ "before the last two", "(2, 3, 3)" }, la.solve, gpu.stack({ a, a }), gpu.ones(3, 3, 1, "float64", device))
    for _, name in ipairs({ "svd", "svdvals", "eigh", "eig", "pinv", "matrix_rank" }) do
      t.raises("the matrix holds NaN or infinity", la[name], array({ { 1, 0 }, { 0 / 0, 1 } }))
    end
    t.raises("or its right side does", la.lstsq, a, array({ 1, inf, 0 }))
    t.raises("array expected", la.inv, 3)
    t.raises("array expected", la.solve, a)
    t.raises("there is no option 'ful'; there is full", la.qr, a, { ful = true })
    t.raises({ "gpu.linalg has no function 'invert'", "gpu.help" }, function() return la.invert end)
    t.raises("did you mean 'cholesky'?", function() return la.cholesky_ end)
    local other = device == "cpu" and t.kernel_device() or "cpu"
    t.raises({ device, other, ":to(" }, la.solve, a, gpu.ones(3, "float64", other))
  end)

  test("NaN goes through", function()
    local a = array({ { 0 / 0, 1 }, { 1, 1 } })
    local d = la.det(a)
    assert(d ~= d)
    local x = la.solve(a, array({ 1, 2 }))
    assert(x[1] ~= x[1])
  end)

  test("solve_triangular", function()
    each_dtype(function(dtype, tolerance)
      local a, b = regular({ 2, 5, 5 }, dtype), random({ 2, 5, 3 }, dtype)
      local row, column = gpu.range(1, 5, 1, dtype, device):reshape(5, 1), gpu.range(1, 5, 1, dtype, device)
      local lower = gpu.where(row:ge(column), a, 0)
      close(gpu.matmul(lower, la.solve_triangular(a, b)), b, tolerance)
      close(gpu.matmul(gpu.where(row:le(column), a, 0), la.solve_triangular(a, b, { upper = true })), b, tolerance)
    end)
  end)

  test("inv, det and slogdet", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({ { 1, 1 }, { 4, 4 }, { 12, 12 }, { 2, 3, 5, 5 }, { 0, 0 } }) do
        local a = regular(s, dtype)
        local x = la.inv(a)
        close(gpu.matmul(a, x), eye(s[#s], dtype):broadcast_to(s), tolerance)
        -- det(a) det(a^-1) = 1, and the determinant of a product
        if #s == 2 then
          t.near(la.det(a) * la.det(x), 1, tolerance * 10)
          local sign, log = la.slogdet(gpu.matmul(a, a))
          t.near(sign, 1, 0)
          t.near(log, 2 * math.log(math.abs(la.det(a))), tolerance * (1 + math.abs(log)))
        else
          close(la.det(a) * la.det(x), gpu.ones(2, 3, dtype, device), tolerance * 10)
        end
      end
    end)
    local large = regular({ 2, 70, 70 }, "float64")
    close(gpu.matmul(large, la.inv(large)), eye(70, "float64"):broadcast_to(2, 70, 70), 1e-12)
    t.raises("matrix 2 of the batch is singular (pivot 70 of 70", la.inv, gpu.stack({ eye(70, "float64"), gpu.where(gpu.range(70, device):lt(70), eye(70, "float64"), 0) }))
    t.near(la.det(array({ { 1, 2 }, { 3, 4 } })), -2, 1e-14)
    t.near(la.det(array({ { 0, 1, 0 }, { 0, 0, 1 }, { 1, 0, 0 } })), 1, 0)
    t.eq(la.det(array({ { 1, 2 }, { 2, 4 } })), 0.0)
    for _, of in ipairs { "float32", "float64", "complex64", "complex128" } do -- NaN behind a pivot of 0 stays
      for _, rows in ipairs { { { 0, 0 / 0 }, { 1, 1 } }, { { 0, 1 }, { 0 / 0, 1 } }, { { 1, 0, 0 / 0 }, { 0, 0, 0 }, { 0, 1, 1 } } } do
        local m = gpu.array(rows, of, device)
        local sign, log = la.slogdet(gpu.stack { m, m })
        assert(la.det(gpu.stack { m, m }):isnan():all() and sign:isnan():all() and log:isnan():all(), of)
      end
    end
    local sign, log = la.slogdet(array({ { 0, 1 }, { 1, 0 } }))
    t.eq(sign, -1.0)
    t.eq(log, 0.0)
    sign, log = la.slogdet(array({ { 1, 2 }, { 2, 4 } }))
    t.eq(sign, 0.0)
    t.eq(log, -inf)
    t.near(la.det(array({ { 1e200, 0, 0 }, { 0, 1e200, 0 }, { 0, 0, 1e-300 } })) / 1e100, 1, 1e-12)
    t.eq(la.det(1e200 * eye(3, "float64")), inf)
    t.eq(la.det(gpu.zeros(0, 0, device)), 1.0)
  end)

  test("cholesky", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({ { 1, 1 }, { 6, 6 }, { 3, 4, 4 }, { 50, 50 }, { 0, 0 } }) do
        local b = random(s, dtype)
        local a = gpu.matmul(b, turned(b)) + s[#s] * eye(s[#s], dtype)
        local l = la.cholesky(a)
        close(gpu.matmul(l, turned(l)), a, tolerance)
        if #s == 2 and s[1] > 1 then t.eq(l[{ 1, -1 }], 0.0) end
      end
    end)
    local a = array({ { 4, 99 }, { 2, 5 } }) -- the upper triangle is not read
    t.same(la.cholesky(a):totable(), { { 2, 0 }, { 1, 2 } })
  end)

  test("small matrices in batches, as parts of larger ones", function()
    each_dtype(function(dtype, tolerance)
      for _, n in ipairs({ 1, 2, 3, 5, 8 }) do
        local function within(a) -- 12 x 12, with ones on the diagonal behind a
          local whole = eye(12, dtype):broadcast_to(a.shape[1], 12, 12):clone()
          whole[{ {}, { 1, n }, { 1, n } }] = a
          return whole
        end
        local a = gpu.evaluate(regular({ 7, n, n }, dtype))
        a[{ 3, n }] = 0 -- singular
        for _, x in ipairs({ a, turned(a), a:flip(2), turned(a):flip(1, 2) }) do -- rows are exchanged in the last two
          local d, sign, log = la.det(x), la.slogdet(x)
          local whole_sign, whole_log = la.slogdet(within(x))
          close(d, la.det(within(x)), tolerance)
          close(sign, whole_sign, tolerance)
          assert(log:maximum(-50):allclose(whole_log:maximum(-50), 10 * tolerance, 10 * tolerance))
        end
        local p = gpu.matmul(a, turned(a)) + n * eye(n, dtype)
        for _, x in ipairs({ p, p:flip(1) }) do
          close(la.cholesky(x), la.cholesky(within(x))[{ {}, { 1, n }, { 1, n } }], tolerance)
          close(la.inv(x), la.inv(within(x))[{ {}, { 1, n }, { 1, n } }], tolerance)
        end
        p[{ 4, n, n }] = -1
        t.raises("matrix 4 of the batch is not positive definite (its first " .. n .. " rows", la.cholesky, p)
        t.raises("matrix 3 of the batch is singular", la.inv, a)
      end
    end)
    local sizes = array({ { 1e300, 0, 0, 0 }, { 0, 1e250, 0, 0 }, { 0, 0, -1e-300, 0 }, { 0, 0, 0, 1e-240 } })
    t.near(la.det(sizes), -1e10, 1e-3)
    local sign, log = la.slogdet(sizes * 1e5)
    t.same({ sign, log > 69.07 and log < 69.08 }, { -1.0, true })
    t.eq(la.det(eye(3, "float64") * 1e-200), 0.0)
    t.near(select(2, la.slogdet(eye(300, "float64") * 1e-200)), -60000 * math.log(10), 1e-6)
    t.near(select(2, la.slogdet(eye(8, "complex128") * gpu.complex(3e200, 4e200))), 8 * math.log(5e200), 1e-9)
  end)

  test("qr", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({ { 5, 3 }, { 3, 5 }, { 4, 4 }, { 1, 1 }, { 2, 3, 6, 4 }, { 70, 20 }, { 4, 0 }, { 0, 4 } }) do
        for _, full in ipairs({ false, true }) do
          local a = random(s, dtype)
          local q, r = la.qr(a, { full = full })
          local m, n = s[#s - 1], s[#s]
          local k = full and m or math.min(m, n)
          t.eq(q.shape[#s], k)
          t.eq(r.shape[#s - 1], k)
          if k > 0 then
            close(gpu.matmul(q, r), a, tolerance, "q r")
            close(gpu.matmul(turned(q), q), eye(k, dtype):broadcast_to(gpu.matmul(turned(q), q).shape), tolerance, "q' q")
          end
          for i = 2, #s == 2 and k or 0 do
            for j = 1, math.min(i - 1, n) do t.eq(r[{ i, j }], 0.0) end
          end
        end
      end
    end)
  end)

  test("svd", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({ { 5, 3 }, { 3, 5 }, { 4, 4 }, { 1, 1 }, { 2, 3, 6, 4 }, { 60, 20 } }) do
        for _, full in ipairs({ false, true }) do
          local a = random(s, dtype)
          local u, values, vt = la.svd(a, { full = full })
          local m, n = s[#s - 1], s[#s]
          local k = math.min(m, n)
          t.eq(u.shape[#s], full and m or k)
          t.eq(vt.shape[#s - 1], full and n or k)
          local first = u:narrow(-1, 1, k)
          close(gpu.matmul(first * values:unsqueeze(-2), vt:narrow(-2, 1, k)), a, tolerance, "u s vt")
          local uu, vv = gpu.matmul(turned(u), u), gpu.matmul(vt, turned(vt))
          close(uu, eye(u.shape[#s], dtype):broadcast_to(uu.shape), tolerance, "u' u")
          close(vv, eye(vt.shape[#s - 1], dtype):broadcast_to(vv.shape), tolerance, "v' v")
          close(la.svdvals(a), values, tolerance)
          local list = values:flatten():totable()
          for i = 2, #s == 2 and k or 0 do assert(list[i] <= list[i - 1] and list[i] >= 0) end
        end
      end
    end)
    local u, s, vt = la.svd(gpu.zeros(3, 0, device), { full = true })
    assert(u:equal(gpu.eye(3, device)) and s.size == 0 and vt.size == 0)
  end)

  test("eigh and eig", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({ { 1, 1 }, { 5, 5 }, { 2, 3, 4, 4 }, { 40, 40 }, { 0, 0 } }) do
        local a = symmetric(s, dtype)
        local w, v = la.eigh(a)
        close(gpu.matmul(a, v), v * w:unsqueeze(-2), tolerance, "a v")
        close(gpu.matmul(turned(v), v), eye(s[#s], dtype):broadcast_to(s), tolerance, "v' v")
        close(la.eigvalsh(a), w, tolerance)
        -- a matrix with known real eigenvalues: those of its diagonal
        local n = s[#s]
        local basis = regular(s, dtype)
        local d = gpu.range(1, n, 1, dtype, device)
        local b = gpu.matmul(basis * d, la.inv(basis))
        local w2, v2 = la.eig(b)
        close(gpu.matmul(b, v2), v2 * w2:unsqueeze(-2), tolerance * 20, "b v")
        if #s == 2 then
          local sorted = w2:totable()
          table.sort(sorted)
          t.close(sorted, d:totable(), tolerance * 20)
          sorted = la.eigvals(b):totable()
          table.sort(sorted)
          t.close(sorted, d:totable(), tolerance * 20)
        end
      end
    end)
    local w = la.eigvalsh(array({ { 2, 0 / 0 }, { 1, 2 } })) -- the upper triangle is not read
    t.close(w, { 1, 3 }, 1e-14)
  end)

  test("eig of real matrices with complex eigenvalues", function()
    local turn = array({ { 0, -1 }, { 1, 0 } })
    local w, v = la.eig(turn)
    t.eq(w.dtype .. v.dtype, "complex128complex128")
    t.same({ w[1] * w[2], (w[1] + w[2]):abs() }, { gpu.complex(1), 0.0 })
    close((gpu.matmul(turn:to("complex128"), v) - v * w):abs(), gpu.zeros(2, 2, "float64", device), 1e-14)
    t.eq(la.eig(turn:to("float32")).dtype .. la.eigvals(turn:to("float16")).dtype, "complex64complex64")
    -- one of a batch makes all of it complex
    local both = gpu.stack({ eye(2, "float64"), turn })
    t.eq(la.eigvals(both).dtype .. la.eigvals(both["1:1"]).dtype, "complex128float64")
    assert(la.eigvals(both)[1]:equal(gpu.ones(2, "complex128", device)))
    t.eq(la.eig(both["1:1"]:to("float16")).dtype, "float16")
    t.raises("the matrix holds NaN or infinity", la.eig, gpu.complex(turn / 0, turn))
    t.raises("the matrix holds NaN or infinity", la.svd, gpu.complex(turn, turn / 0))
  end)

  test("lstsq", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({ { { 8, 3 }, { 8 } }, { { 8, 3 }, { 8, 2 } }, { { 3, 8 }, { 3, 2 } }, { { 2, 8, 3 }, { 2, 8, 2 } }, { { 2, 8, 3 }, { 8 } } }) do
        local a, b = random(s[1], dtype), random(s[2], dtype)
        local x, residuals, rank, values = la.lstsq(a, b)
        local column = b.ndim == 1 and b:unsqueeze(-1) or b
        local xs = b.ndim == 1 and x:unsqueeze(-1) or x
        -- the residual is orthogonal to all columns of a, and x lies in the rows of a
        local rest = column - gpu.matmul(a, xs)
        close(gpu.matmul(turned(a), rest), gpu.zeros(xs.shape, dtype, device), tolerance * 10, "a' (b - a x)")
        local pinv = la.pinv(a)
        close(xs, gpu.matmul(pinv, column), tolerance * 10, "x")
        local sums = (rest * rest):sum(-2)
        if type(residuals) == "number" then t.near(residuals, sums:item(), tolerance * 10) else close(residuals, b.ndim == 1 and sums:squeeze(-1) or sums, tolerance * 10) end
        close(values, la.svdvals(a), tolerance)
        if type(rank) == "number" then t.eq(rank, 3) else t.same(rank:totable(), { 3, 3 }) end
      end
    end)
    local x, residual, rank = la.lstsq(array({ { 1, 1 }, { 1, 1 } }), array({ 2, 4 }))
    t.close(x, { 1.5, 1.5 }, 1e-13)
    t.near(residual, 2, 1e-12)
    t.eq(rank, 1)
    _, _, rank = la.lstsq(array({ { 1, 0 }, { 0, 1e-3 } }), array({ 2, 4 }), 0.01)
    t.eq(rank, 1)
    x = la.lstsq(gpu.zeros(0, 2, device), gpu.zeros(0, device))
    t.same(x:totable(), { 0, 0 })
  end)

  test("norm", function()
    local v = array({ 3, -4, 0 })
    t.eq(la.norm(v), 5.0)
    t.eq(la.norm(v, 1), 7.0)
    t.eq(la.norm(v, 0), 2.0)
    t.eq(la.norm(v, inf), 4.0)
    t.eq(la.norm(v, -inf), 0.0)
    t.near(la.norm(v, 3), (27 + 64) ^ (1 / 3), 1e-12)
    local m = array({ { 1, -2 }, { 3, 4 } })
    t.near(la.norm(m), 30 ^ 0.5, 1e-14)
    t.near(la.norm(m, "fro"), 30 ^ 0.5, 1e-14)
    t.eq(la.norm(m, 1), 6.0)
    t.eq(la.norm(m, -1), 4.0)
    t.eq(la.norm(m, inf), 7.0)
    t.eq(la.norm(m, -inf), 3.0)
    local s = la.svdvals(m):totable()
    t.near(la.norm(m, 2), s[1], 1e-14)
    t.near(la.norm(m, -2), s[2], 1e-14)
    t.near(la.norm(m, "nuc"), s[1] + s[2], 1e-14)
    t.close(la.norm(m, nil, 1), { 10 ^ 0.5, 20 ^ 0.5 }, 1e-14)
    t.close(la.norm(m, 1, 2, true), { 3, 7 }, 1e-14)
    t.eq(tostring(la.norm(m, 1, 2, true).shape), "(2, 1)")
    local x = random({ 2, 3, 4, 5 }, "float64")
    for _, order in ipairs({ "fro", "nuc", 1, -1, 2, -2, inf, -inf }) do
      local all = la.norm(x, order, { 4, 2 })
      t.eq(tostring(all.shape), "(2, 4)")
      local kept = la.norm(x, { ord = order, axis = { 4, 2 }, keepdims = true })
      t.eq(tostring(kept.shape), "(2, 1, 4, 1)")
      assert(kept:flatten():equal(all:flatten()))
      for i = 1, 2 do
        for j = 1, 4 do t.near(all[{ i, j }], la.norm(x[{ i, {}, j }].T, order), 1e-12, tostring(order)) end
      end
    end
    t.near(la.norm(x, nil, { 1, 2 })[{ 3, 2 }], la.norm(x[{ {}, {}, 3, 2 }]), 1e-12)
    t.raises("has the orders 'fro'", la.norm, m, 3)
    t.raises("1 or 2 axes, it has 4", la.norm, x, 1)
    t.raises("norms of matrices", la.norm, v, "fro")
    t.raises("named twice", la.norm, x, 1, { 1, 1 })
    t.raises("one axis or two", la.norm, x, 1, { 1, 2, 3 })
    t.raises("no option 'order'", la.norm, x, { order = 1 })
  end)

  test("cond, pinv, matrix_rank", function()
    each_dtype(function(dtype, tolerance)
      for _, s in ipairs({ { 5, 3 }, { 3, 5 }, { 4, 4 }, { 2, 3, 6, 4 } }) do
        local a = random(s, dtype)
        local p = la.pinv(a)
        close(gpu.matmul(gpu.matmul(a, p), a), a, tolerance * 5, "a p a")
        close(gpu.matmul(gpu.matmul(p, a), p), p, tolerance * 5, "p a p")
        local ap = gpu.matmul(a, p)
        close(ap, turned(ap), tolerance * 5, "a p turned")
        local rank = la.matrix_rank(a)
        if #s == 2 then t.eq(rank, math.min(s[1], s[2])) else assert(rank:eq(4):all()) end
      end
    end)
    local a = gpu.matmul(random({ 6, 2 }, "float64"), random({ 2, 5 }, "float64"))
    t.eq(la.matrix_rank(a), 2)
    t.eq(la.matrix_rank(gpu.zeros(3, 3, device)), 0)
    t.eq(la.matrix_rank(gpu.zeros(3, 0, device)), 0)
    t.eq(la.matrix_rank(array({ { 1, 0 }, { 0, 0.1 } }), 0.5), 1)
    close(gpu.matmul(gpu.matmul(a, la.pinv(a)), a), a, 1e-10)
    t.eq(tostring(la.pinv(gpu.zeros(3, 0, device)).shape), "(0, 3)")
    local d = array({ { 4, 0 }, { 0, 1 } })
    t.near(la.cond(d), 4, 1e-14)
    t.near(la.cond(d, -2), 0.25, 1e-14)
    for _, order in ipairs({ 1, -1, inf, -inf, "fro" }) do
      local m = regular({ 4, 4 }, "float64")
      t.near(la.cond(m, order), la.norm(m, order) * la.norm(la.inv(m), order), 1e-10)
      t.eq(la.cond(array({ { 1, 2 }, { 2, 4 } }), order), inf)
      t.eq(la.cond(gpu.zeros(2, 2, device), order), inf)
    end
    t.eq(la.cond(gpu.zeros(2, 2, device)), inf)
    t.eq(la.cond(gpu.stack({ d, d })).size, 2)
    t.eq(la.matrix_rank(gpu.zeros(3, device)), 0) -- of vectors and numbers as NumPy has it
    t.eq(la.matrix_rank(array({ 0, 1e-9 })), 1)
    t.eq(la.matrix_rank(gpu.ones({}, device)), 1)
    for _, order in ipairs({ 2, 1, inf, "fro", "nuc" }) do
      for _, shape in ipairs({ { 0, 3 }, { 3, 0 }, { 0, 0 } }) do t.eq(la.norm(gpu.zeros(shape, device), order), 0.0) end
    end
    t.eq(la.norm(gpu.zeros(0, device), inf), 0.0)
    t.eq(la.norm(gpu.zeros(2, 0, device), inf, 2):sum(), 0.0)
    t.raises("no elements", la.norm, gpu.zeros(0, device), -inf)
    local x, residual, rank, s = la.lstsq(gpu.ones(3, 2, device), gpu.zeros(3, 0, device)) -- no right side
    assert(x.shape[1] == 2 and x.shape[2] == 0 and residual.size == 0 and rank == 1 and s.size == 2)
    t.raises("the orders are", la.cond, d, "nuc")
    t.raises("without elements", la.cond, gpu.zeros(0, 0, device))
    t.raises("without elements", la.cond, gpu.zeros(3, 0, 2, device), 1)
    t.eq(la.cond(gpu.zeros(0, 2, 2, device)).shape[1], 0)
    local unknown = la.cond(gpu.stack({ array({ { 1, 0 / 0 }, { 2, 3 } }), d, gpu.zeros(2, 2, "float64", device) }), 1)
    assert(unknown[1] ~= unknown[1] and unknown[3] == inf)
    t.near(unknown[2], 4, 1e-14)
    t.raises("NaN", la.cond, array({ { 1, 0 / 0 }, { 2, 3 } }))
  end)

  test("matrix_power and trace", function()
    local a = regular({ 2, 3, 3 }, "float64")
    local want = eye(3, "float64"):broadcast_to(2, 3, 3)
    for n = 0, 9 do
      close(la.matrix_power(a, n), want, 1e-12, "power " .. n)
      want = gpu.matmul(want, a)
    end
    close(la.matrix_power(a, -3), la.inv(la.matrix_power(a, 3)), 1e-10)
    local i = array({ { 1, 1 }, { 1, 0 } }, "int64")
    t.same(la.matrix_power(i, 50):totable(), { { 20365011074, 12586269025 }, { 12586269025, 7778742049 } })
    local one = la.matrix_power(i, 1)
    one[1] = 0
    t.eq(i:sum(), 3)
    t.raises({ "must be square", "(2, 3)" }, la.matrix_power, gpu.ones(2, 3, device), 2)
    t.raises("singular", la.matrix_power, array({ { 1, 2 }, { 2, 4 } }), -1)
    t.eq(la.trace(array({ { 1, 2, 3 }, { 4, 5, 6 } })), 6.0)
    t.eq(la.trace(i), 1)
    t.close(la.trace(a), { la.trace(a[1]), la.trace(a[2]) }, 1e-14)
    t.eq(la.trace(gpu.zeros(0, 3, device)), 0.0)
  end)

  test("many small matrices are worked on beside each other", function()
    local a, b = regular({ 500, 4, 4 }, "float64"), random({ 500, 4, 1 }, "float64")
    close(gpu.matmul(a, la.solve(a, b)), b, 1e-11)
    local s = symmetric({ 300, 5, 5 }, "float32")
    local w, v = la.eigh(s)
    close(gpu.matmul(v * w:unsqueeze(-2), turned(v)), s, 2e-4)
    local broken = a:clone()
    broken[{ { 77 }, {}, {} }] = 0
    broken[{ { 402 }, {}, {} }] = 0
    t.raises("matrix 77 of the batch is singular", la.solve, broken, b)
  end)
end

t.done()
