-- gpu.plot and its like: what gnuplot is told, which `cat` in its place shows, and what is refused.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local BINARY = os.getenv("LUNARRAY") or "build/lunarray"

-- What a cell prints to a pipe, with another program in gnuplot's place.
local function output(code, program)
  local pipe <close> = assert(io.popen(("LUNARRAY_GNUPLOT=%s %s -e \"%s\" 2>&1"):format(program or "cat", BINARY, code)))
  return pipe:read("a")
end

-- The points of series i, as lists of x and y.
local function points(script, i)
  local x, y = {}, {}
  local block = assert(script:match("%$s" .. i .. " << EOD\n(.-)EOD\n"), script)
  for a, b in block:gmatch("(%S+) (%S+)\n") do x[#x + 1], y[#y + 1] = tonumber(a) or 0 / 0, tonumber(b) or 0 / 0 end
  return x, y
end

for _, device in ipairs(t.devices()) do
  local function told(code) return output(("gpu.device '%s' "):format(device) .. code) end

  t.test("points and settings on " .. device, function()
    local script = told("gpu.plot(gpu.array({1, 2, 4}), {5, 6, 7}, {title = 'it\\'s', xlabel = 'a\\nb', label = 'l', logx = true, yrange = {0, 9}})")
    local x, y = points(script, 0)
    t.same(x, { 1, 2, 4 })
    t.same(y, { 5, 6, 7 })
    for _, part in ipairs { "set title 'it''s'\n", "set xlabel 'a b'\n", "set logscale x\n", "set yrange [0:9]\n",
      "$s0 using 1:2 with lines", "title 'l'\n" } do
      assert(script:find(part, 1, true), part .. " is missing in\n" .. script)
    end
    assert(not script:find("logscale y", 1, true))
  end)

  t.test("series, styles, names and bins on " .. device, function()
    assert(told("gpu.plot({1, 2}, {label = 'l'})"):find("\nset key bmargin", 1, true), "the key hides what it is about")
    local script = told("gpu.plot{gpu.range(3), {3, 2}, {{7, 8}, gpu.ones(2), style = 'points', label = 'p'}}")
    t.same({ points(script, 0) }, { { 1, 2, 3 }, { 1, 2, 3 } })
    t.same({ points(script, 1) }, { { 1, 2 }, { 3, 2 } })
    t.same({ points(script, 2) }, { { 7, 8 }, { 1, 1 } })
    assert(script:find("$s1 using 1:2 with lines lw 1.5 notitle, $s2 using 1:2 with points pt 'o' title 'p'", 1, true), script)
    script = told("gpu.bar({'a', 'b'}, {3, 4})")
    t.same({ points(script, 0) }, { { 1, 2 }, { 3, 4 } })
    assert(script:find("set xtics ('a' 1, 'b' 2)\n", 1, true) and script:find("with boxes", 1, true), script)
    t.same({ points(told("gpu.hist(gpu.array({0, 1, 1, 4}), 2)"), 0) }, { { 1, 3 }, { 3, 1 } })
    t.same({ points(told("gpu.hist({0, 1, 1, 4}, {bins = 4})"), 0) }, { { 0.5, 1.5, 2.5, 3.5 }, { 1, 2, 0, 1 } })
  end)

  t.test("what is not finite is a gap on " .. device, function()
    local x, y = points(told("gpu.plot({1, 0/0, 1/0, 4})"), 0)
    t.same(x, { 1, 0 / 0, 0 / 0, 4 })
    t.same(y, { 1, 0 / 0, 0 / 0, 4 })
  end)

  t.test("long lines are least and greatest of stretches on " .. device, function()
    -- 4001 elements: 1000 stretches of 4, and one of 1; a peak of one element stays
    local x, y = points(told("local y = gpu.range(4001) % 4 y[2002] = 99 gpu.plot(y)"), 0)
    t.eq(#x, 2002)
    t.same({ x[1], x[2], x[3], x[2001], x[2002] }, { 1, 1, 5, 4001, 4001 })
    t.same({ y[1], y[2], y[3], y[4], y[2001], y[2002] }, { 0, 3, 3, 0, 1, 1 })
    t.eq(math.max(table.unpack(y)), 99)
    x, y = points(told("local x = gpu.range(5000) gpu.plot(x * 2, -x)"), 0)
    t.same({ #x, x[1], y[1], y[2], x[3], x[2000], y[2000] }, { 2000, 2, -1, -5, 12, 9992, -5000 })
    for i = 2, #y do assert(y[i] < y[i - 1], "a line that falls does not go back up") end
    x = points(told("local x = gpu.range(5000) gpu.plot(-x, x)"), 0) -- not in order: every element
    t.eq(#x, 5000)
  end)

  t.test("many points are some of them on " .. device, function()
    local x, y = points(told("local x = gpu.range(50001) gpu.scatter(x, x['::-1'])"), 0)
    t.same({ #x, x[1], x[2], y[1], x[#x], y[#y] }, { 16667, 1, 4, 50001, 49999, 3 })
  end)
end

t.test("without gnuplot, and with one that fails", function()
  local text = output("gpu.plot({1, 2})", "/nowhere/gnuplot")
  assert(text:find("no '/nowhere/gnuplot'", 1, true) and text:find("apt-get install gnuplot-nox", 1, true), text)
  assert(output("gpu.plot({1, 2})", "false"):find("false could not draw the plot", 1, true))
end)

for _, device in ipairs(t.devices()) do
  local function told(code) return output(("gpu.device '%s' "):format(device) .. code) end

  t.test("grids of values on " .. device, function()
    -- without colours a heat map is nine characters: the least value is '.', the greatest '@'
    local script = told("gpu.heatmap(gpu.array{{1, 2}, {3, 9}}, {title = 'four', xrange = {0, 10}})")
    assert(script:find("set title 'four'\n", 1, true) and script:find("set xrange [-5:15]\nset yrange [0.5:2.5]\n", 1, true), script)
    local x, y = points(script:gsub("%$c0", "$s0"), 0)
    assert(#x == 144 / 2 * 48 / 2 and math.max(table.unpack(x)) < 5 and math.max(table.unpack(y)) < 1.5)
    assert(script:find("$c8 using 1:2 with points pt '@'", 1, true) and not script:find("$c5 using", 1, true))
    -- of many rows and columns the means of blocks
    script = told("gpu.plot_surface(gpu.ones(40, 1):mul(gpu.range(60)), {zlabel = 'up'})")
    local row = assert(script:match("$z << EOD\n([^\n]*)\n"))
    local values = {}
    for v in row:gmatch("%S+") do values[#values + 1] = tonumber(v) end
    t.eq(#values, 20)
    t.same({ values[1], values[2], values[20] }, { 2, 5, 59 })
    assert(script:find("set zlabel 'up'\n", 1, true) and script:find("using (2+$1*3):(1.5+$2*2):3 with lines", 1, true), script)
    assert(told("gpu.heatmap({{1, 0/0}, {2, 3}})"):find("$c0 using", 1, true))
  end)
end

t.test("misuse", function()
  t.raises("z must have two axes, rows and columns, with elements, not the shape (3,)", gpu.heatmap, gpu.zeros(3))
  t.raises("not the shape (0, 3)", gpu.heatmap, gpu.zeros(0, 3))
  t.raises("two rows and two columns", gpu.plot_surface, gpu.zeros(1, 3))
  t.raises({ "no option 'logx'", "zlabel" }, gpu.heatmap, gpu.zeros(2, 2), { logx = true })
  t.raises("there is no colour map 'x'", gpu.plot_surface, gpu.zeros(2, 2), { cmap = "x" })
  t.raises("Vega-Lite draws no surfaces", gpu.plot_surface, gpu.zeros(2, 2), { format = "vega" })
  t.raises("no element is a finite number", gpu.heatmap, gpu.full({ 2, 2 }, 0 / 0))
  t.raises("x has 2 elements and y has 3", gpu.plot, { 1, 2 }, { 1, 2, 3 })
  local _, e = pcall(function() gpu.hist({ 1, 2 }, -3) end)
  assert(e:find("^[^:]*:%d+: bins: their number is from 1 to 2147483646, got %-3$"), e)
  t.raises("bins: each edge must be at or above the one before it", gpu.hist, { 1, 2 }, { bins = { 2, 1 } })
  t.raises("y must have one axis, not the shape (2, 2)", gpu.plot, gpu.zeros(2, 2))
  t.raises("y must be real", gpu.plot, gpu.zeros({ 2 }, "complex64"))
  t.raises("y must be an array or a list of numbers, not number", gpu.plot, 5)
  t.raises({ "no option 'titel'", "title" }, gpu.plot, { 1 }, { titel = "x" })
  t.raises("title must be a string", gpu.plot, { 1 }, { title = {} })
  t.raises("xrange must be a table of two finite numbers", gpu.plot, { 1 }, { xrange = { 1 } })
  t.raises("size is {width, height}", gpu.plot, { 1 }, { size = { 1, 1 } })
  t.raises('format must be "svg", "png" or "vega"', gpu.plot, { 1 }, { format = "gif" })
  t.raises("into must be", gpu.plot, { 1 }, { into = {} })
  t.raises('style must be "lines", "points" or "bars"', gpu.plot, { { { 1 }, style = "dots" } })
  t.raises("gpu.bar takes names", gpu.plot, { "a" }, { 1 })
  t.raises("name 2 of the bars is no string", gpu.bar, { "a", 5 }, { 1, 2 })
  t.raises("no element is a finite number", gpu.plot, gpu.zeros(0))
  t.raises("no element is a finite number", gpu.plot, { 0 / 0 })
  t.raises("a list of series expected", gpu.plot, {})
  t.raises("value expected", gpu.plot)
  t.raises("32 series at most", gpu.plot, t.list(33, function() return { 1, 2 } end))
end)

t.done()
