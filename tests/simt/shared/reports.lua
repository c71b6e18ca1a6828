-- What tests share that compare all reports of a kernel as text: functions of what gpu.check has found.
local t = ...
local reports = {}

-- The reports in order, a line each: "LINE: MESSAGE (COUNT times)".
function reports.text(found)
  local lines = {}
  for i, r in ipairs(found) do lines[i] = ("%d: %s (%d times)"):format(r.line, r.message, r.count) end
  return table.concat(lines, "\n")
end

function reports.none(found) t.eq(found[1] and found[1].line .. ": " .. found[1].message, nil) end

-- Kernels of clusters are compiled as one module, since cooperative groups' header takes the compiler many times as long as
-- they do: `head` stands before all of them, and `opening` begins each. Gives test(name, source, body), whose body is handed
-- the kernel (its line 1 is the first of the source), and run(), which runs all tests.
function reports.clusters(head, opening)
  local cases, text = {}, { head }
  local function test(name, source, body)
    cases[#cases + 1] = { name = name, body = body }
    text[#text + 1] = ("__global__ void k%d%s\n#line 1 \"case\"\n%s\n}"):format(#cases, opening, source)
  end
  local function run()
    local ok, kernels = pcall(gpu.kernel, { source = table.concat(text, "\n"), chunk = "case", line = 1 })
    for i, case in ipairs(cases) do
      t.test(case.name, function()
        if not ok and tostring(kernels):find("cannot open source file", 1, true) then t.skip("NVRTC has no cooperative groups here") end
        assert(ok, kernels)
        case.body(kernels["k" .. i])
      end)
    end
  end
  return test, run
end

return reports
