-- What faulty_corners.lua and its like share: returns faulty(name, source, launch, want, count), `want` being what the
-- reports must say. `count` is their number unless there is one for each of `want`; "some": more lines touch the element, and
-- which pairs of them are told depends on which block comes first.
local t, gpu = ...

-- The report of a kind, whose fields must be those given. `line` counts from the first line of the source.
local function expect(found, want, first)
  local seen = {}
  for _, r in ipairs(found) do
    local same = true
    for key, value in pairs(want) do
      local got = r[key]
      if key == "line" then got = r.line and r.line - first end
      if key == "other" then got = r.other and r.other.line - first end
      if key == "other_access" then got = r.other and r.other.access end
      if got ~= value then same = false end
    end
    if same then return r end
    seen[#seen + 1] = ("%s in line %s (other %s): %s"):format(r.kind, r.line and r.line - first, r.other and r.other.line and r.other.line - first, r.message)
  end
  local wanted = {}
  for key, value in pairs(want) do wanted[#wanted + 1] = key .. "=" .. tostring(value) end
  error("no report with " .. table.concat(wanted, ", ") .. " among:\n  " .. table.concat(seen, "\n  "), 3)
end

-- source's first line is an empty one behind [[, so line 1 is the kernel's head.
local function faulty(name, source, launch, want, count)
  t.test(name, function()
    local first = debug.getinfo(2, "l") and 0
    local k = gpu.kernel { source = source, chunk = "case", line = 1 }
    local found = gpu.check(function() launch(k) end)
    for _, w in ipairs(want.kind and { want } or want) do expect(found, w, first) end
    if count ~= "some" then t.eq(#found, count or (want.kind and 1 or #want), "the number of reports") end
    for _, r in ipairs(found) do
      assert(r.message and r.kernel and r.count >= 1)
      t.eq(r.file, "case")
    end
  end)
end

return faulty
