-- What faulty*.lua share: kernels with one mistake each, and the report that gpu.check gives of it. `file` is the one that
-- asks; in its kernels //1 marks the line of the report and //2 the line of the other thread; without //2 both are one line. The whole
-- texts are in faulty.txt. Returns a function faulty(kernel, what, want, f).
local file, t, gpu = ...

local text
do
  local f = assert(io.open(file))
  text = f:read("a")
  f:close()
end

-- The line of this file that has the mark, inside of the kernel.
local function marked(kernel, mark)
  local from = assert(text:find("__global__ void " .. kernel .. "(", 1, true), kernel)
  local to = text:find("__global__", from + 1, true) or #text
  local at = text:find("//" .. mark .. "\n", from, true)
  if not at or at > to then return nil end
  return 1 + select(2, text:sub(1, at):gsub("\n", ""))
end

-- The whole text of each report, by kernel: kind, message and hint, with {1} and {2} for the marked lines, {?} for others.
local texts = {}
for line in io.lines("tests/simt/faulty.txt") do
  local kernel, words = line:match("^([%w_]+): (.*)$")
  if kernel then texts[kernel] = words end
end

-- How often a race is seen is left out, and of races between blocks the element where it was seen first: that depends on what ran
-- beside what.
local function text_of(r, want)
  local function mark(n)
    n = tonumber(n)
    return want.other and n == want.other.line and "{2}" or n == want.line and "{1}" or "{?}"
  end
  local function unmarked(s)
    s = s:gsub("0x4%x%x%x%x%x%x%x%x+", "0x..."):gsub("(lines? )(%d+)", function(word, n) return word .. mark(n) end)
    return (s:gsub("} and (%d+)", function(n) return "} and " .. mark(n) end))
  end
  local count = r.kind ~= "race" and r.count > 1 and (" (%d times)"):format(r.count) or ""
  local message = unmarked(r.message)
  if r.kind == "race" and r.space == "global" and not want.index then message = message:gsub("%[[%d, ]+%]", "[?]", 1) end
  return r.kind .. ": " .. message .. count .. (r.hint and "; hint: " .. unmarked(r.hint) or "")
end

-- Runs f with checks on, more than once: there must be one report and it must say all that `want` says. want.hint is a part of
-- the hint. Lines come from the marks.
local function faulty(kernel, what, want, f)
  t.test(kernel:gsub("_", " ") .. ": " .. what, function()
    want.line = assert(marked(kernel, 1), "no mark")
    if want.other then want.other.line = marked(kernel, 2) or want.line end
    want.kernel = kernel
    for round = 1, 2 do
      local reports = gpu.check(f)
      local all = {}
      for i, r in ipairs(reports) do all[i] = r.message end
      t.eq(#reports, 1, "the number of reports in round " .. round .. " (" .. table.concat(all, "\n") .. ")")
      local r = reports[1]
      local function compare(got, expected, path)
        for key, v in pairs(expected) do
          if key == "hint" then
            t.eq(type(got.hint) == "string" and got.hint:find(v, 1, true) ~= nil, true, ("hint %q has %q"):format(got.hint, v))
          elseif type(v) == "table" and type(got[key]) == "table" then
            compare(got[key], v, path .. key .. ".")
          else
            t.eq(got[key], v, path .. key .. " (" .. r.message .. ")")
          end
        end
      end
      compare(r, want, "")
      t.eq(text_of(r, want), texts[kernel] or "nothing in faulty.txt")
    end
  end)
end

return faulty
