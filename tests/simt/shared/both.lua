-- What whole programs of benchmarks and textbooks share: returns case(name, make). make() builds the data and returns launch(),
-- which calls the kernels, and verify(), which compares what they left with a computation on the host. It happens without and
-- with checks, of which gpu.check must have nothing to say.
local t, gpu = ...

return function(name, make)
  t.test(name, function()
    local launch, verify = make(1)
    launch()
    verify()
    launch, verify = make(1)
    local found = gpu.check(launch)
    if found[1] then
      local r = found[1]
      error(("%s in line %s (other %s): %s (%d reports)"):format(r.kind, r.line, r.other and r.other.line, r.message, #found), 2)
    end
    verify()
  end)
end
