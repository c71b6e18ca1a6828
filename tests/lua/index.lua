-- Reading and writing elements, views and masks.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- The elements of a nested table that a list of index lists picks; a number drops its axis.
local function pick(value, picks, axis)
  axis = axis or 1
  if axis > #picks then return value end
  local p = picks[axis]
  if type(p) == "number" then return pick(value[p], picks, axis + 1) end
  local out = {}
  for i, index in ipairs(p) do out[i] = pick(value[index], picks, axis + 1) end
  return out
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function cube()
    return gpu.range(24, "int32", device):reshape(2, 3, 4)
  end

  test("elements", function()
    local x = gpu.array({ 10, 20, 30 }, "int32", device)
    t.eq(x[1], 10)
    t.eq(x[-1], 30)
    t.eq(x[2.0], 20)
    t.eq(math.type(x[1]), "integer")
    t.eq(math.type(gpu.array({ 1 }, device)[1]), "float")
    t.eq(gpu.array({ true, false }, device)[2], false)
    local y = cube()
    t.eq(y[{ 2, 3, 4 }], 24)
    t.eq(y[{ -1, 1, -4 }], 13)
    t.eq(y["2, 3, 4"], 24)
    t.eq(y[2][3][4], 24)
  end)

  test("views", function()
    local y, all = cube(), cube():totable()
    local cases = {
      { { 1 }, { 1 } },
      { { -1, 2 }, { 2, 2 } },
      { { {}, 2 }, { { 1, 2 }, 2 } },
      { { {}, { 2 } }, { { 1, 2 }, { 2 } } },
      { { {}, { 2, 3 }, { 1, -1, 2 } }, { { 1, 2 }, { 2, 3 }, { 1, 3 } } },
      { { 1, { -2, -1 } }, { 1, { 2, 3 } } },
      { { {}, {}, { -1, 1, -1 } }, { { 1, 2 }, { 1, 2, 3 }, { 4, 3, 2, 1 } } },
      { { {}, {}, { 4, 2, -2 } }, { { 1, 2 }, { 1, 2, 3 }, { 4, 2 } } },
      { { {}, {}, { 3, 2 } }, { { 1, 2 }, { 1, 2, 3 }, {} } },
      { { { 3, 2 } }, { {} } },
      { "1", { 1 } },
      { ":, 2", { { 1, 2 }, 2 } },
      { "::, 2:3, ::2", { { 1, 2 }, { 2, 3 }, { 1, 3 } } },
      { " 1 , -2: ", { 1, { 2, 3 } } },
      { "...,2", { { 1, 2 }, { 1, 2, 3 }, 2 } },
      { "1,...", { 1 } },
      { "1,...,2", { 1, { 1, 2, 3 }, 2 } },
      { "...", {} },
      { ":,:,::-1", { { 1, 2 }, { 1, 2, 3 }, { 4, 3, 2, 1 } } },
      { ":,:,3:1:-2", { { 1, 2 }, { 1, 2, 3 }, { 3, 1 } } },
      { { {}, "2:3" }, { { 1, 2 }, { 2, 3 } } },
    }
    for _, case in ipairs(cases) do
      local key = case[1]
      t.same(y[key]:totable(), pick(all, case[2]), type(key) == "string" and key or "key")
    end
  end)

  test("views share elements", function()
    local x = gpu.zeros(3, 4, device)
    x[2][3] = 5
    t.eq(x[{ 2, 3 }], 5.0)
    local column = x[{ {}, 1 }]
    column[3] = 7
    t.eq(x[{ 3, 1 }], 7.0)
    x[{ {}, { 2 } }]:fill(1)
    t.eq(x:sum(), 15.0)
  end)

  test("writing", function()
    local x = gpu.zeros(2, 3, device)
    x[{ 1, 2 }] = 5
    x[2] = 1
    t.same(x:totable(), { { 0, 5, 0 }, { 1, 1, 1 } })
    x[{ {}, { 2, 3 } }] = { { 7, 8 }, { 9, 10 } }
    t.same(x:totable(), { { 0, 7, 8 }, { 1, 9, 10 } })
    x[{ {}, 1 }] = gpu.array({ 3, 4 }, device)
    t.same(x:totable(), { { 3, 7, 8 }, { 4, 9, 10 } })
    x["..., 2"] = gpu.array({ -1, -2 }, "int64", device)
    t.same(x:totable(), { { 3, -1, 8 }, { 4, -2, 10 } })
    x[{}] = { 1, 2, 3 }
    t.same(x:totable(), { { 1, 2, 3 }, { 1, 2, 3 } })
    x[{ 1, { 3, 1, -1 } }] = x[{ 1 }]
    t.same(x:totable()[1], { 3, 2, 1 })
    x[{ 1, 1 }] = true
    t.eq(x[{ 1, 1 }], 1.0)
    local b = gpu.zeros(2, "bool", device)
    b[1] = 0.5
    t.eq(b[1], true)
    local z = gpu.zeros({}, device)
    z[{}] = 4
    t.eq(z:item(), 4.0)
  end)

  test("overlapping assignment reads first", function()
    local x = gpu.range(10, device)
    x["2:10"] = x["1:9"]
    t.same(x:totable(), { 1, 1, 2, 3, 4, 5, 6, 7, 8, 9 })
    x["1:9"] = x["2:10"]
    t.same(x:totable(), { 1, 2, 3, 4, 5, 6, 7, 8, 9, 9 })
  end)

  test("masks", function()
    local x = gpu.array({ { 1, 5, 2 }, { 7, 0, 9 } }, device)
    t.same(x[x:gt(2)]:totable(), { 5, 7, 9 })
    t.same(x.T[x.T:gt(2)]:totable(), { 7, 5, 9 })
    t.same(x[x:gt(100)]:totable(), {})
    t.same(x[gpu.array({ false, true }, device)]:totable(), { { 7, 0, 9 } })
    x[x:gt(2)] = 0
    t.same(x:totable(), { { 1, 0, 2 }, { 0, 0, 0 } })
    x[x:eq(0)] = { 10, 20, 30, 40 }
    t.same(x:totable(), { { 1, 10, 2 }, { 20, 30, 40 } })
    x[gpu.array({ true, false }, device)] = -1
    t.same(x:totable(), { { -1, -1, -1 }, { 20, 30, 40 } })
    x[gpu.array({ true, true }, device)] = { 1, 2, 3 }
    t.same(x:totable(), { { 1, 2, 3 }, { 1, 2, 3 } })
    local y = gpu.range(6, "int64", device):reshape(2, 3)
    y.T[y.T:gt(2)] = 2.7
    t.same(y:totable(), { { 1, 2, 2 }, { 2, 2, 2 } })
    local big = gpu.full(2, (1 << 60) + 1, "int64", device)
    big[gpu.array({ true, false }, device)] = 1.5
    t.same(big:totable(), { 1, (1 << 60) + 1 })
    y[y:gt(100)] = gpu.zeros(0, device)
    for _, places in ipairs { { 1, 40, 41, 4095, 4097, 9001 }, { 32, 64, 9000 }, { 5000 } } do -- few true ones among many
      local few, z = gpu.zeros(9001, "bool", device), gpu.range(9001, "int32", device)
      for _, i in ipairs(places) do few[i] = true end
      t.same(z[few]:totable(), places)
      t.same(few:flatnonzero():totable(), places)
      t.eq(few:count_nonzero(), #places)
      t.eq(few["2::2"]:count_nonzero() + few["::2"]:count_nonzero(), #places)
      z[few] = -1
      t.same(z:lt(0):flatnonzero():totable(), places)
    end
  end)

  test("what an array is not", function()
    local x = gpu.zeros(3, device)
    t.raises("ipairs(x)", pairs, x)
    t.raises("not called", function() return x(1) end)
    local n = 0
    for i, v in ipairs(x) do n = n + i + v end
    t.eq(n, 6.0)
  end)

  test("integers that an element cannot hold", function()
    local x = gpu.zeros(3, "uint8", device)
    t.raises({ "cannot assign 300", "uint8", "from 0 to 255", ":to(" }, function() x[1] = 300 end)
    t.raises("cannot assign -1", function() x[{ { 1, 2 } }] = -1 end)
    t.raises("cannot assign 256", function() x[x:eq(0)] = 256 end)
    t.raises("element [1] is 256", function() x[{ { 1, 2 } }] = { 256, 1 } end)
    x[1], x[2] = 255, 1e9
    t.same(x:totable(), { 255, 255, 0 })
  end)

  test("out of range", function()
    local x = cube()
    t.raises({ "index 3 is out of range for axis 1", "2 elements" }, function() return x[3][1] end)
    t.raises({ "index -4 is out of range for axis 2", "3 elements" }, function() return x[{ 1, -4 }] end)
    t.raises("indices count from 1", function() return x[0] end)
    t.raises("indices count from 1", function() x[{ 1, 0 }] = 1 end)
    t.raises("m & n, not m * n", function() return x[x:gt(3) * x:lt(8)] end)
    local other = t.raises("from the end with -1", function() return x[gpu.array({ 0, 2 }, "int32", device)] end)
    t.eq(other:find("mask"), nil)
    t.raises("4 indices for an array of 3 axes", function() return x[{ 1, 2, 3, 4 }] end)
    t.raises("4 indices for an array of 3 axes", function() return x["1,1,1,1"] end)
    t.raises("x[{{1, 2}}]", function() return gpu.zeros(5, device)[{ 1, 2 }] end)
    t.raises({ "index 9", "axis 3", "4 elements" }, function() return x["...,2:9"] end)
    t.raises({ "runs backwards" }, function() return x[{ {}, {}, { 4, 1 } }] end)
    t.raises({ "step", "is 0" }, function() return x["::0"] end)
    t.raises("cannot read the index", function() return x["1:2:3:4"] end)
    t.raises("no method or field '1;2'", function() return x["1;2"] end)
    t.raises("cannot read the index", function() return x[","] end)
    t.raises("must be an integer, got 1.5", function() return x[1.5] end)
    t.raises("must be an integer", function() return x[{ 1, 1.5 }] end)
    t.raises("must be an integer", function() return x[{ { 1, "a" } }] end)
    t.raises("4 items", function() return x[{ { 1, 2, 3, 4 } }] end)
    t.raises("not by nil", function() return x[nil] end)
    t.raises("not by boolean", function() return x[true] end)
    t.raises({ "mask", "(3,)", "(2, 3, 4)" }, function() return x[gpu.zeros(3, "bool", device)] end)
    t.raises({ "(2, 3, 4)", "mask" }, function() return x[gpu.zeros(3, "bool", device)] end)
    t.raises("expected a number, a boolean, a table or an array", function() x[1] = "a" end)
    t.raises("expected a number, a boolean, a table or an array", function() x[1] = nil end)
    t.raises({ "(2,", "(2, 3, 4)" }, function() x[{}] = gpu.zeros(2, 2, 2, device) end)
    t.raises({ "elements that the mask picks" }, function() x[x:gt(0)] = { 1, 2, 3 } end)
    t.raises("cannot set 'name'", function() x.name = 1 end)
    t.raises("no method or field 'nmae'", function() return x.nmae end)
  end)

  test("integers and ranges beside other items of a key", function()
    local x = cube()
    local places = gpu.array({ 3, 1 }, "int64", device)
    local same = function(key, text) t.same(x[key]:totable(), x[text]:totable(), text) end
    same({ 2, { 2, 3 }, "::2" }, "2, 2:3, ::2")
    same({ { 2 }, { 3, 1, -1 }, { 1, 4, 2 } }, "2:2, 3:1:-1, 1:4:2")
    same({ { 1, 2 }, gpu.newaxis, 3 }, "1:2, newaxis, 3")
    same({ -1, {}, { 2, -1 } }, "-1, :, 2:-1")
    same({ 2.0, { 2.0, 3.0 } }, "2, 2:3")
    t.same(x[{ 2, { 1, 2 }, places }]:totable(), { { 15, 19 }, { 13, 17 } }) -- as in NumPy
    t.same(x[{ { 2 }, 1, places }]:totable(), { { 15, 13 } })
    t.eq(x[{ 2, 3, 4 }], 24)
    t.eq(x[{ 2, 3, { 4 } }].shape[1], 1)
    t.eq(x[{ { 1, 0 } }].size, 0)
    local y = x[{ { 2 }, { 2, 3 } }]
    y[{ 1, 1, { 1, 2 } }] = 0
    t.same(x[{ 2, 2 }]:totable(), { 0, 0, 19, 20 })
    t.raises("must be an integer, got string", function() return x[{ 1, { 1, "b" } }] end)
    t.raises("it has 4 items", function() return x[{ 1, { 1, 2, 1, 1 } }] end)
    t.raises("the step of the range on axis 2 is 0", function() return x[{ 1, { 1, 2, 0 } }] end)
    t.raises("axis 3 must be an integer", function() return x[{ 1, 1, 1.5 }] end)
    t.raises("4", function() return x[{ 1, 1, 1, 1 }] end)
    t.raises("item 2 of the index is nil", function() return x[{ 1, nil, { 9, 10 } }] end)
    t.raises("has the key first", function() return x[{ first = 1 }] end)
    t.raises("out of range for axis 2", function() return x[{ 1, { 2, 9 } }] end)
  end)

  test("walking", function()
    local seen = {}
    for i, v in ipairs(gpu.array({ 4, 5, 6 }, device)) do seen[i] = v end
    t.same(seen, { 4.0, 5.0, 6.0 })
    local rows = 0
    for _, row in ipairs(gpu.zeros(3, 2, device)) do rows = rows + #row end
    t.eq(rows, 6)
    t.same({ table.unpack(gpu.array({ 4, 5 }, device), 1, 2) }, { 4.0, 5.0 })
    t.eq(#gpu.zeros(3, 4, device), 3)
    t.raises("no axes has no length", function() return #gpu.array(1, device) end)
  end)
end

t.done()
