-- gpu.imshow where output is text: what it says of an array, and what it refuses.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local BINARY = os.getenv("LUNARRAY") or "build/lunarray"

-- What a cell prints to a pipe.
local function output(code)
  local pipe <close> = assert(io.popen(("%s --device cpu -e \"%s\" 2>&1"):format(BINARY, code)))
  return pipe:read("a")
end

t.test("a line of text for a pipe", function()
  t.eq(output("gpu.imshow(gpu.array({{0, 1}, {5, 3}}))"), "image of 2 x 2 values, float32 on cpu, viridis from 0 to 5\n")
  t.eq(output("gpu.imshow(gpu.array({{0, 1}, {5, 3}}), {vmax = 2, cmap = 'hot'})"),
    "image of 2 x 2 values, float32 on cpu, hot from 0 to 2\n")
  t.eq(output("gpu.imshow(gpu.ones({2, 3, 3}, 'uint8'))"), "image of 2 x 3 colours, uint8 on cpu\n")
  t.eq(output("gpu.imshow(gpu.zeros(1, 1) / 0)"), "image of 1 x 1 values, float32 on cpu, viridis from 0 to 0\n")
end)

t.test("views, all real dtypes, and arrays that are averaged first", function()
  t.eq(output("gpu.imshow(gpu.range(6):reshape(2, 3).T['::-1'])"), "image of 3 x 2 values, float32 on cpu, viridis from 1 to 6\n")
  t.eq(output("for _, d in ipairs {'bool', 'int8', 'uint64', 'float16', 'float64'} do gpu.imshow(gpu.ones({2000, 3}, d), {vmin = 0}) end"),
    output("for _, d in ipairs {'bool', 'int8', 'uint64', 'float16', 'float64'} do print('image of 2000 x 3 values, ' .. d .. ' on cpu, viridis from 0 to 1') end"))
  t.eq(output("gpu.imshow(gpu.range(0, 4099):reshape(2, 2050))"), "image of 2 x 2050 values, float32 on cpu, viridis from 1026 to 3074\n")
end)

t.test("misuse", function()
  local x = gpu.zeros(2, 2)
  t.raises("not (2,)", gpu.imshow, gpu.zeros(2))
  t.raises("not (2, 2, 2)", gpu.imshow, gpu.zeros(2, 2, 2))
  t.raises("not (0, 2)", gpu.imshow, gpu.zeros(0, 2))
  t.raises("x:abs()", gpu.imshow, gpu.zeros({ 2, 2 }, "complex64"))
  t.raises("colours are uint8", gpu.imshow, gpu.zeros({ 2, 2, 3 }, "int32"))
  t.raises({ "no colour map 'jett'", "viridis, gray" }, gpu.imshow, x, { cmap = "jett" })
  t.raises("cmap must be a name", gpu.imshow, x, { cmap = 5 })
  t.raises("vmin must be a finite number", gpu.imshow, x, { vmin = 1 / 0 })
  t.raises("vmin is greater than vmax", gpu.imshow, x, { vmin = 2, vmax = 1 })
  t.raises("no option 'camp'", gpu.imshow, x, { camp = "gray" })
  t.raises("into must be", gpu.imshow, x, { into = 3 })
  t.raises("expected", gpu.imshow, { 1, 2 })
end)

t.done()
