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

-- t.test for kernels of clusters; check(source) compiles one.
function reports.test_clusters(check)
  return function(name, body)
    t.test(name, function()
      local ok, e = pcall(check, "c.sync();")
      if not ok and tostring(e):find("cannot open source file", 1, true) then t.skip("NVRTC has no cooperative groups here") end
      body()
    end)
  end
end

return reports
