-- Programs made at random that machine code and the interpreter run, each in a process of its own: returns
-- compare(name, script, run, count, least). run(seed) returns the lines of what one program found and computed, and its
-- source; a line that begins with "computed" says that it has no fault, and so do more of them than a part `least` of
-- all, but not all. In such a process compare prints their lines and returns true: the script ends there.
--
--   build/lunarray SCRIPT "" SEED COUNT     searches on: programs SEED to SEED + COUNT - 1
local t = ...

return function(name, script, run, count, least)
  local first = tonumber(arg[2] or os.getenv "LUNARRAY_SEED") or 1
  count = tonumber(arg[3]) or count

  if os.getenv "LUNARRAY_LISTS" then
    for seed = first, first + count - 1 do print(("== %d\n%s"):format(seed, (run(seed)))) end
    print "== "
    return true
  end

  -- One host thread: whose access to a place comes first, of several that race, is not always the same otherwise.
  local function lists(settings)
    local p = io.popen(("LUNARRAY_LISTS=1 LUNARRAY_THREADS=1 %s %s %s '' %d %d"):format(settings, os.getenv("LUNARRAY") or "build/lunarray", script, first, count))
    local of, seed, lines = {}, nil, {}
    for line in p:lines() do
      if line:find "^== " then
        if seed then of[seed] = table.concat(lines, "\n") end
        seed, lines = tonumber(line:sub(4)), {}
      else
        lines[#lines + 1] = line
      end
    end
    t.eq(p:close(), true, "it ends well")
    return of
  end

  t.test(name, function()
    local want, got, clean = lists("LUNARRAY_JIT=0"), lists(""), 0
    for seed = first, first + count - 1 do
      assert(want[seed], "program " .. seed)
      if got[seed] ~= want[seed] then
        local _, source = run(seed)
        error(("program %d\n%s\ninterpreted:\n%s\nmachine code:\n%s"):format(seed, source, want[seed], got[seed]))
      end
      if want[seed]:find "^computed" then clean = clean + 1 end
    end
    t.eq(clean > count * least and clean < count, true, clean .. " of them have no fault")
  end)
end
