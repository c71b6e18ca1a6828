-- Sparse matrices against the arrays that they stand for.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

for _, device in ipairs(t.devices()) do
  local function test(name, body)
    t.test(name .. " on " .. device, function()
      gpu.seed(11)
      body()
    end)
  end
  -- An array with about one element in `every`, small whole numbers.
  local function thin(rows, columns, every, dtype)
    local x = gpu.random.integers(-9, 9, { rows, columns }, "int32", device)
    local keep = gpu.rand({ rows, columns }, device):lt(1 / every)
    return gpu.where(keep, x, 0):to(dtype or "float32")
  end
  local function same(a, x, what)
    t.eq(tostring(a.shape), tostring(x.shape), what)
    local dense = a:todense()
    t.eq(dense.device, device, what)
    assert(dense:equal(x), (what or "the matrix") .. " is\n" .. tostring(dense) .. "\nexpected\n" .. tostring(x))
  end
  local shapes = { { 0, 0 }, { 0, 5 }, { 5, 0 }, { 1, 1 }, { 7, 11 }, { 40, 3 }, { 3, 4097 }, { 70, 70 } }

  test("from arrays and back, transposed, to triples", function()
    for _, shape in ipairs(shapes) do
      for _, every in ipairs { 1, 4, 1e9 } do
        local x = thin(shape[1], shape[2], every)
        local a = x:to_sparse()
        t.eq(a.nnz, x:count_nonzero())
        t.eq(a.dtype, "float32")
        same(a, x)
        same(a.T, x.T)
        same(x.T:to_sparse(), x.T)
        local data, rows, columns = a:coo()
        same(gpu.sparse.coo(data, rows, columns, a.shape), x)
        same(gpu.sparse.coo(data:flip(1), rows:flip(1), columns:flip(1), a.shape), x)
        same(gpu.sparse.csr(a.data, a.indices, a.indptr, a.shape), x)
      end
    end
  end)

  test("compressed columns", function()
    local data, indices, indptr, rows, columns = gpu.array({ 7, 5, 8 }, device), { 2, 1, 2 }, { 1, 2, 3, 4 }, 2, 3
    for _, name in ipairs { "csc", "csc_matrix" } do
      local written = t.raises("it is written", function() return gpu.sparse[name] end):match("written (.*)$")
      same(assert(load("local data, indices, indptr, rows, columns = ...\nreturn " .. written))(data, indices, indptr, rows, columns),
        gpu.array({ { 0, 5, 0 }, { 7, 0, 8 } }, device))
    end
    local a = thin(30, 20, 4):to_sparse()
    t.close(gpu.sparse.csr(a.T.data, a.T.indices, a.T.indptr, { 20, 30 }).T:todense(), a:todense(), 0)
  end)

  test("gmres, where it begins anew, and where there is no solution", function()
    local n = 60
    for _, dtype in ipairs { "float64", "float32" } do
      local a = gpu.random.normal(0, 1, { n, n }, dtype, device) + gpu.eye(n, dtype, device) * 25
      local b, limit = gpu.random.normal(0, 1, n, dtype, device), dtype == "float64" and 1e-10 or 1e-5
      for _, o in ipairs { {}, { restart = 3 }, { restart = 1000 }, { M = gpu.linalg.inv(a), steps = 2 }, { x = b } } do
        local x, steps, off = gpu.sparse.gmres(a, b, o)
        assert(off <= limit and steps > 0 and steps <= 10 * n, off)
        t.near(off, (a:matmul(x) - b):norm() / b:norm(), limit / 10)
        t.eq(x.dtype, dtype)
      end
    end
    local function solve(a, b, o) return gpu.sparse.gmres(gpu.array(a, device):to_sparse(), gpu.array(b, device), o) end
    t.close(solve({ { 0, 1 }, { 1, 0 } }, { 1, 2 }), { 2, 1 }, 1e-6)
    t.same({ select(2, solve({ { 2, 0 }, { 0, 2 } }, { 0, 0 })) }, { 0, 0.0 })
    t.same({ select(2, solve({ { 2, 0 }, { 0, 2 } }, { 3, 4 }, { steps = 0 })) }, { 0, 1.0 })
    local x, _, off = solve({ { 1, 0 }, { 0, 0 } }, { 1, 1 })
    assert(off <= 1 and x:abs():max() < 10)
    t.raises("gmres: restart is 0, expected 1 to 1000", solve, { { 1 } }, { 1 }, { restart = 0 })
    t.raises("there are x, tol, steps, M and restart", solve, { { 1 } }, { 1 }, { start = 0 })
    t.raises("gmres: A must be square", gpu.sparse.gmres, gpu.zeros(2, 3, device), gpu.ones(2, device))
  end)

  test("solvers where a square leaves the range of the dtype", function()
    local n = 40
    local sized = { float32 = { 0x1p-138, 0x1p-100, 0x1p-66, 0x1p60, 0x1p126 }, float64 = { 0x1p-1030, 0x1p-700, 0x1p700, 0x1p1020 } }
    for dtype, sizes in pairs(sized) do
      local a = gpu.sparse.diags({ -1, 4, -1 }, { -1, 0, 1 }, { n, n }, dtype, device)
      local b = gpu.linspace(0.25, 1, n, dtype, device)
      for _, name in ipairs { "cg", "bicgstab", "gmres" } do
        local solve = gpu.sparse[name]
        local x, steps, off = solve(a, b)
        local begun, fewer = solve(a, b, { x = x * 0.5 })
        assert(steps > 2 and fewer > 2 and begun:allclose(x, 1e-4, 0))
        for _, size in ipairs(sizes) do
          local rounded = size == sizes[1] -- numbers below the normal ones; else all is the same but the exponents
          local near = rounded and 1e-2 or 1e-4
          local y, s, o = solve(a, b * size)
          assert(rounded or s == steps and o == off, size)
          assert(s > 2 and o < 1e-4 and (y / size):allclose(x, near, 0), size)
          y, s, o = solve(a, b * size, { x = y * 0.5 })
          assert(s > 2 and o < 1e-4 and (y / size):allclose(x, near, 0), size)
        end
      end
    end
    for _, name in ipairs { "cg", "bicgstab", "gmres" } do -- small in the matrix
      local a, b = gpu.eye(3, device) * gpu.array({ 1e-30, 2e-30, 3e-30 }, device), gpu.array({ 1e-30, 1e-30, 6e-30 }, device)
      local x, steps, off = gpu.sparse[name](a, b)
      assert(off < 1e-5 and steps <= 4 and x:allclose(gpu.array({ 1, 0.5, 2 }, device), 1e-4, 0), name)
      t.same({ select(2, gpu.sparse[name](a, b * 0)) }, { 0, 0.0 })
    end
  end)

  test("options of solvers, by their names", function()
    local a, b = gpu.eye(2, device), gpu.ones(2, device)
    for _, name in ipairs { "cg", "bicgstab", "gmres" } do
      local solve = gpu.sparse[name]
      t.raises(name .. ": tol is table, expected a number", solve, a, b, { tol = {} })
      t.raises(name .. ": tol is -1", solve, a, b, { tol = -1 })
      t.raises(name .. ": steps is 1.5, expected an integer", solve, a, b, { steps = 1.5 })
      t.raises(name .. ": steps is -1, expected 0 or more", solve, a, b, nil, nil, -1)
      t.raises(name .. ": tol is boolean, expected a number", solve, a, b, nil, true)
    end
    t.raises("gmres: restart is boolean, expected an integer", gpu.sparse.gmres, a, b, { restart = true })
  end)

  test("freed matrices", function()
    local a, kept = thin(5, 7, 2):to_sparse(), nil
    local data = a.data
    a:free()
    a:free()
    t.eq(tostring(a), "sparse (freed)")
    assert(data.size == 0 or data:sum())
    t.raises("the sparse matrix was freed", function() return a.nnz end)
    t.raises("the sparse matrix was freed", gpu.matmul, a, gpu.ones(7, device))
    t.raises("the sparse matrix was freed", function() return thin(5, 7, 2):to_sparse() + a end)
    t.raises("x:to_sparse()", gpu.sparse, gpu.ones(7, device))
    do
      local b <close> = thin(5, 7, 2):to_sparse()
      kept = b
    end
    t.eq(tostring(kept), "sparse (freed)")
  end)

  test("shown in a notebook", function()
    local a = gpu.array({ { 0, 5, 0 }, { 7, 0, 8.5 } }, device):to_sparse()
    local html = getmetatable(a).__display(a)["text/html"]
    assert(html:find("sparse float32 (2, 3) on " .. device .. ", 3 elements", 1, true))
    assert(html:find("<tr><th>1</th><th>2</th><td>5.0</td></tr><tr><th>2</th><th>1</th><td>7.0</td></tr>", 1, true), html)
    html = getmetatable(a).__display(gpu.eye(1000, device):to_sparse())["text/html"]
    assert(#html < 3000 and html:find("&#8942;", 1, true) and html:find("<th>1000</th><th>1000</th>", 1, true))
    assert(getmetatable(a).__display(gpu.zeros(2, 0, device):to_sparse())["text/html"])
  end)

  test("products with arrays", function()
    for _, shape in ipairs(shapes) do
      local m, n = shape[1], shape[2]
      for _, dtype in ipairs { "float32", "float64" } do
        local x = thin(m, n, 3, dtype)
        local a = x:to_sparse()
        for _, right in ipairs { thin(n, 1, 1), thin(n, 5, 1, "float64"), thin(5, n, 1).T, thin(n, 0, 1), thin(n, 33, 1, "int32") } do
          local y = a:matmul(right)
          t.eq(y.dtype, (dtype == "float64" or right.dtype == "float64") and "float64" or "float32")
          assert(y:equal(gpu.matmul(x, right:to(dtype))))
        end
        local vector = thin(n, 1, 1, dtype)[{ {}, 1 }]
        t.eq(tostring(gpu.matmul(a, vector).shape), "(" .. m .. ",)")
        if m > 0 and n > 0 then assert(gpu.matmul(a, vector):equal(x:matmul(vector))) end
        local left, line = thin(4, m, 1, dtype), thin(1, m, 1, dtype)[1]
        assert(gpu.matmul(left, a):equal(left:matmul(x)))
        if m > 0 and n > 0 then assert(line:matmul(a):equal(line:matmul(x))) end
        assert(a:sum(2):equal(x:sum(2)) and a:sum(1):equal(x:sum(1)) and a:sum() == x:sum())
        assert(a:sum(-1):equal(x:sum(-1)))
      end
    end
  end)

  test("of two sparse matrices", function()
    for _, shape in ipairs(shapes) do
      local x, y, z = thin(shape[1], shape[2], 3), thin(shape[1], shape[2], 2, "float64"), thin(shape[2], 20, 5)
      local a, b, c = x:to_sparse(), y:to_sparse(), z:to_sparse()
      same(a + b, x + y, "the sum")
      t.eq((a + b).dtype, "float64")
      same(a - b, x - y, "the difference")
      t.eq((a - a).nnz, 0)
      same(a:matmul(c), x:matmul(z), "the product")
      same(-a, -x)
      same(3 * a, 3 * x)
      same(a * 0.5, x / 2)
      same(a / 4, x / 4)
    end
  end)

  test("rows and columns by ranges, places and masks", function()
    for _, shape in ipairs(shapes) do
      local m, n = shape[1], shape[2]
      for _, every in ipairs { 1, 3, 1e9 } do
        local x = thin(m, n, every, "float64")
        local a = x:to_sparse()
        same(a[{}], x)
        same(a[{ {}, {} }], x)
        local rows, columns = gpu.rand({ m }, device):lt(0.5), gpu.rand({ n }, device):lt(0.5)
        local function check(key) same(a[key], x[key], "the part") end
        check(rows)
        check { rows, {} }
        check { {}, columns }
        check(gpu.zeros({ 0 }, "int64", device))
        for _, key in ipairs { ":", "...", "::2", "::-1, :", ":, ::3", "..., ::-2", ":, ..." } do check(key) end
        if m > 0 and n > 0 then
          local i, k = gpu.random.integers(-m, -1, { 9 }, "int64", device), gpu.random.integers(1, n, { 5 }, "int32", device)
          check(i)
          check { {}, k }
          same(a[{ i, k }], x[i][{ {}, k }])
          same(a[{ i, { -1 } }], x[i][{ {}, { -1 } }])
          same(a[{ m, columns }], x[{ { m }, columns }])
          check { { 1, m, 2 }, { n, 1, -1 } }
          check { "-1:", k }
          check { { m + 1, m }, { 1, 0 } }
          same(a["1, ::2"], x["1:1, ::2"])
          t.eq(a["-1, 1"], x[{ m, 1 }])
          same(a[(m + 1) // 2], x[{ { (m + 1) // 2 }, {} }])
          same(a[{ { (m + 1) // 2, m }, { (n + 2) // 3, (n + 1) // 2 } }], x[{ { (m + 1) // 2, m }, { (n + 2) // 3, (n + 1) // 2 } }])
        end
      end
    end
    local x = gpu.array({ { 1, 0 }, { 0, -0.0 } }, "float64", device) -- what is stored stays as it is
    local a = gpu.sparse.csr({ 1, 0, -0.0 }, { 1, 1, 2 }, { 1, 2, 4 }, x.shape, "float64", device)
    t.eq(a[gpu.array({ 2, 2 }, "int64", device)].nnz, 4)
    t.eq(1 / a[{ { 2 }, { 2 } }].data[1], -math.huge)
    local part = a[1]
    part.data:mul_(5)
    t.eq(a[{ 1, 1 }], 1, "a part is a copy")
    a[{}].data:mul_(5)
    t.eq(a[{ 1, 1 }], 1)
    t.raises({ "a mask of shape (3,)", "(2, 2)" }, function() return a[gpu.ones(3, "bool", device)] end)
    t.raises("rows and columns of a sparse matrix are listed by an array of one axis", function() return a[x] end)
    t.raises({ "a mask of shape (3,)", "from axis 2" }, function() return a[{ {}, gpu.ones(3, "bool", device) }] end)
    t.raises("index 3", function() return a[gpu.array({ 3 }, "int64", device)] end)
  end)

  test("extremes, means and functions of elements", function()
    local nan = 0 / 0
    for _, shape in ipairs(shapes) do
      for _, every in ipairs { 1, 1.2, 4, 1e9 } do
        local x = thin(shape[1], shape[2], every, "float64")
        for _, y in ipairs { x, x:abs() + x:ne(0), -x:abs() - x:ne(0) } do -- some without a 0, of one sign
          local a = y:to_sparse()
          same(a:transpose(), y.T)
          for axis = 1, 2 do
            if shape[axis] > 0 then
              assert(a:max(axis):equal(y:max(axis)) and a:min(axis):equal(y:min(axis)), axis)
              assert(a:mean(axis):allclose(y:mean(axis), 1e-14, 0))
            else
              t.raises("max of no elements", a.max, a, axis)
              t.raises("mean of no elements", a.mean, a, axis)
            end
          end
          if y.size > 0 then
            t.same({ a:max(), a:min() }, { y:max(), y:min() })
            t.near(a:mean(), y:mean(), 1e-14)
          else
            t.raises("min of no elements", a.min, a)
          end
          for _, name in ipairs { "abs", "sign", "square", "sinh", "round", "clone" } do same(a[name](a), y[name](y), name) end
          local copy = a:clone()
          copy.data:fill(7)
          same(a, y, "what was copied")
          same(a:pow(3), y ^ 3)
          same(a ^ 2, y ^ 2)
        end
      end
    end
    local a = gpu.array({ { nan, 0 }, { 0, 0 } }, device):to_sparse()
    assert(a:max() ~= a:max() and a:min(1)[1] ~= a:min(1)[1] and a:max(1)[2] == 0)
    t.raises({ "raised to a number above 0", "got 0", "A:matmul(A)" }, a.pow, a, 0)
    t.raises({ "raised to a number above 0", "got nil" }, a.pow, a)
    t.raises({ "raised to a number above 0", "sparse float32 (2, 2)" }, function() return a ^ a end)
    t.raises("A:todense()", function() return 2 ^ a end)
  end)

  test("elements, fields and text", function()
    local a = gpu.sparse.csr({ 5, 7, 8.5 }, { 2, 1, 3 }, { 1, 2, 4, 4 }, { 3, 4 }, device)
    t.eq(tostring(a), "sparse float32 (3, 4) on " .. device .. ", 3 elements\n  (1, 2)  5.0\n  (2, 1)  7.0\n  (2, 3)  8.5")
    t.eq(a[{ 2, 3 }], 8.5)
    t.eq(a[{ -2, -2 }], 8.5)
    t.eq(a[{ 3, 4 }], 0)
    t.eq(#a, 3)
    t.same(a.indptr:totable(), { 1, 2, 4, 4 })
    t.same(a.indices:totable(), { 2, 1, 3 })
    a.data:mul_(2)
    t.eq(a[{ 1, 2 }], 10)
    local long = gpu.eye(100, device):to_sparse()
    assert(tostring(long):find("(3, 3)      1\n  ...\n  (98, 98)    1", 1, true), tostring(long))
    t.eq(a:to("float64", "cpu").dtype .. a:to("float64", "cpu").device, "float64cpu")
    t.eq(a:to("float16").dtype, "float32")
  end)

  test("what is unsorted or double is put in order", function()
    local a = gpu.sparse.csr({ 1, 2, 3, 4 }, { 3, 1, 3, 2 }, { 1, 4, 5 }, { 2, 3 }, "float64", device)
    t.same(a:todense():totable(), { { 2, 0, 4 }, { 0, 4, 0 } })
    t.eq(a.nnz, 3)
    local nan = gpu.array({ { 0 / 0, 0 }, { 0, 1 } }, device):to_sparse()
    t.eq(nan.nnz, 2)
  end)

  test("what does not fit", function()
    local csr, coo = gpu.sparse.csr, gpu.sparse.coo
    t.raises({ "indices[2] is 4", "3 columns" }, csr, { 1, 2 }, { 1, 4 }, { 1, 3 }, { 1, 3 }, device)
    t.raises({ "indices[1] is 0", "counted from 1" }, csr, { 1 }, { 0 }, { 1, 2 }, { 1, 3 }, device)
    t.raises("indptr[1] is 0: it starts with 1", csr, { 1 }, { 1 }, { 0, 1 }, { 1, 3 }, device)
    t.raises("indptr[3] is 1", csr, { 1 }, { 1 }, { 1, 2, 1 }, { 2, 3 }, device)
    t.raises({ "indptr has the shape (2,)", "expected (4,)" }, csr, { 1 }, { 1 }, { 1, 2 }, { 3, 3 }, device)
    t.raises({ "indices has the shape (1,)", "(2,)" }, csr, { 1, 2 }, { 1 }, { 1, 3 }, { 1, 3 }, device)
    t.raises("rows[1] is 3, and there are 2 rows", coo, { 1 }, { 3 }, { 1 }, { 2, 2 }, device)
    t.raises("the numbers are not whole", coo, { 1 }, gpu.array({ 1.5 }, device), { 1 }, { 2, 2 }, device)
    t.raises("{rows, columns}", coo, { 1 }, { 1 }, { 1 }, { 2 }, device)
    t.raises("less than 2147483647 rows", csr, {}, {}, { 1 }, { 0, 1 << 31 }, device)
    t.raises("not of the shape (3,)", gpu.ones(3, device).to_sparse, gpu.ones(3, device))
    local a = gpu.eye(3, device):to_sparse()
    t.raises({ "(3, 3)", "not the shape (4,)" }, gpu.matmul, a, gpu.ones(4, device))
    t.raises({ "(2, 4)", "3 rows" }, gpu.matmul, gpu.ones(2, 4, device), a)
    t.raises({ "(3, 3) and (2, 2)", "added" }, function() return a + gpu.eye(2, device):to_sparse() end)
    t.raises({ "(3, 3) and (2, 2)", "multiplied" }, a.matmul, a, gpu.eye(2, device):to_sparse())
    t.raises("A:matmul(x)", function() return a * gpu.ones(3, device) end)
    t.raises("A:todense()", function() return a + 1 end)
    t.raises("an index must be an integer, got 1.5", function() return a[1.5] end)
    t.raises("listed by an array of one axis, not of 2", function() return a[gpu.ones(3, 3, "bool", device)] end)
    t.raises("listed by an array of one axis, not of 2", function() return a[{ gpu.ones(3, 3, "int32", device) }] end)
    t.raises("no new axes", function() return a["newaxis"] end)
    t.raises({ "bad argument #2", "got an array; x:to_sparse()" }, gpu.sparse.kron, a, gpu.ones(2, 2, device))
    t.raises({ "bad argument #1", "expected a sparse matrix, got number" }, gpu.sparse.kron, 3, a)
    t.raises("vstack: the list is empty", gpu.sparse.vstack, {})
    t.raises("hstack: value 2 of the list is number, expected a sparse matrix", gpu.sparse.hstack, { a, 3 })
    t.raises("table expected", gpu.sparse.block_diag, 3)
    t.raises("vstack: matrix 2 of the list has 5 columns, expected", gpu.sparse.vstack, { gpu.sparse.eye(4), gpu.sparse.eye(5) })
    t.raises("hstack: matrix 2 of the list has 5 rows, expected 4 as the first", gpu.sparse.hstack, { gpu.sparse.eye(4), gpu.sparse.eye(5) })
    t.raises("offset 1 is string, expected an integer", gpu.sparse.diags, { 1 }, { "a" })
    t.raises({ "numbers alone tell no size", "{rows, columns}" }, gpu.sparse.diags, { 1 }, { 0 })
    t.raises("there are 1 diagonals and 2 offsets", gpu.sparse.diags, { { 1, 2 } }, { 0, 1 })
    t.raises("diagonal 1 has 3 elements, and there is room for 2 at offset 0", gpu.sparse.diags, { { 1, 2, 3 } }, { 0 }, { 2, 2 })
    t.raises("a sparse matrix has two sizes", gpu.sparse.diags, { { 1, 2, 3 } }, { 0 }, { 2 })
    for _, diagonal in ipairs { { 1, 2, 3 }, gpu.array({ 1, 2, 3 }, device) } do
      local super = gpu.sparse.diags(diagonal, 1, nil, device)
      t.eq(super:todense():equal(gpu.diag(gpu.array({ 1, 2, 3 }, device), 1)), true)
    end
    local one = gpu.sparse.eye(3, device)
    t.raises("mul: the shapes (3, 3) and (2, 2) differ", one.mul, one, gpu.sparse.eye(2, device))
    t.eq(one:mul(2):sum(), 6)
    local b = gpu.ones(3, device)
    t.raises({ "cg: the matrix is not positive definite", "bicgstab" }, gpu.sparse.cg, -one, b)
    t.raises({ "the function gave an array of shape (4,)", "3 elements" }, gpu.sparse.cg, function() return gpu.ones(4, device) end, b)
    t.raises("the function gave number, expected an array", gpu.sparse.cg, function() return 4 end, b)
    t.raises("cg: x must have the 3 elements of b", gpu.sparse.cg, one, b, { x = gpu.ones(4, device) })
    t.raises("the range 3 to 1 on axis 1 runs backwards", function() return a[{ { 3, 1 }, {} }] end)
    t.raises("3 indices for an array of 2 axes", function() return a[{ 1, 2, 3 }] end)
    t.raises("index 4 is out of range for axis 1", function() return a[{ 4, 1 }] end)
    t.raises("index 4 is out of range for axis 2", function() return a["1, 4"] end)
    t.raises("takes no new elements", function() a[{ 1, 1 }] = 2 end)
    t.raises({ "no method or field 'colums'" }, function() return a.colums end)
    t.raises({ "different devices", device }, gpu.matmul, a, gpu.ones(3, device == "cpu" and "simt" or "cpu"))
    t.raises("gpu.sparse has no function 'bsr'", function() return gpu.sparse.bsr end)
  end)

  test("files", function()
    local path = os.tmpname()
    local a = thin(30, 20, 4, "float64"):to_sparse()
    for _, compress in ipairs { false, true } do
      gpu.sparse.save(path, a, { compress = compress })
      local b = gpu.sparse.load(path, device)
      t.eq(b.device .. b.dtype, device .. "float64")
      t.eq((a - b).nnz, 0)
      t.eq(gpu.sparse.load(path, "float32", device).dtype, "float32")
    end
    t.raises("there is no option 'compres'; there is compress", gpu.sparse.save, path, a, { compres = true })
    gpu.save(path, { x = gpu.ones(2) }, { format = "npz" })
    t.raises({ path, "it holds no sparse matrix" }, gpu.sparse.load, path)
    os.remove(path)
  end)
end

t.done()
