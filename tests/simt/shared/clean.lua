-- What clean_corners.lua and its like share: returns clean(name, source, launch), of which gpu.check must have nothing to say;
-- launch may return a function that looks at the results.
local t, gpu = ...

local function clean(name, source, launch)
  t.test(name, function()
    local k = gpu.kernel { source = source, chunk = "case", line = 1 }
    local verify
    local found = gpu.check(function() verify = launch(k) end)
    if found[1] then
      local r = found[1]
      error(("%s in line %s (other %s): %s (%d reports)"):format(r.kind, r.line, r.other and r.other.line, r.message, #found), 2)
    end
    if verify then verify() end
  end)
end

return clean
