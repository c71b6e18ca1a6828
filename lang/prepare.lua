-- What people do first with arrays, most common first. It is run by lang/prepare.c for the kernels that it takes.
local gpu, ops, say, only = ... -- a dtype, or nil: all

local function try(f, ...)
  local ok, result = pcall(f, ...) -- not every function is one of every dtype
  if ok and type(result) == "userdata" then pcall(gpu.evaluate, result) end
end

local function each(names, f)
  for name in names:gmatch("%S+") do f(name) end
end

-- Of two arrays, and with a number on either side.
local function binary(name, v, w)
  try(v[name], v, w)
  try(v[name], v, 2)
  try(gpu[name], 2, v)
end

local function make(t)
  each("zeros ones rand randn", function(name) try(gpu[name], 8, t) end)
  try(gpu.linspace, 0, 1, 8, t)
  try(gpu.eye, 3, t)
  try(gpu.random.integers, 1, 6, 8, t)
end

local function show(v, m)
  each("4 4096", function(n) try(tostring, v[{ { 1, tonumber(n) } }]) end)
  try(tostring, m)
  try(tostring, m[{ { 1, 3 }, { 1, 3 } }])
end

local function arithmetic(t, v)
  local w = v:copy()
  each("add mul sub div", function(name)
    binary(name, v, w)
    try(v[name], v, v)
    try(v[name .. "_"], v:copy(), w)
    try(v[name .. "_"], v:copy(), 2)
  end)
  each("pow floordiv mod gt lt ge le eq ne", function(name) binary(name, v, w) end)
  try(v.clip, v, 0, 1)
  each("neg abs sqrt exp log sin cos", function(name) try(v[name], v) end)
end

local function reduce(v, m)
  each("sum mean max min std var norm argmax argmin prod any all", function(name)
    try(v[name], v)
    try(m[name], m, 1)
    try(m[name], m, 2)
  end)
  try(function() return (v * v):sum() end)
  try(function() return m[{ { 1, 9 }, { 2, 5 } }]:sum() end)
end

local function pick(v, m)
  local places = gpu.array({ 1, 2, 3 }, "int64")
  local mask = v:ne(2)
  try(function() return v[mask] end)
  try(function() v:copy()[mask] = 0 end)
  try(function() v:copy()["2:5"] = 0 end)
  try(function() m:copy()[1] = 0 end)
  try(function() return v:take(places) end)
  try(function() return gpu.where(mask, v, 0) end)
  try(function() return m.T:copy() end)
  try(function() return gpu.concatenate { v, v } end)
  try(function() return gpu.stack { v, v } end)
end

local function work(v, m)
  each("cumsum sort argsort unique histogram describe", function(name) try(v[name], v) end)
  try(m.matmul, m, m)
  try(m.matmul, m, v[{ { 1, 64 } }])
  try(v.dot, v, v)
  try(m.softmax, m)
  try(m.softmax, m, 2)
end

local function convert(t, v)
  each("float32 float64 int32 int64 bool", function(to)
    if to ~= t then try(v.to, v, to) end
  end)
end

each(only or "float32 int64 float64 int32 bool complex64", function(t)
  local v = gpu.range(1, 4096):to(t)
  local m = v:reshape(64, 64)
  make(t)
  show(v, m)
  arithmetic(t, v)
  reduce(v, m)
  pick(v, m)
  work(v, m)
  convert(t, v)
  say(t)
end)

if only then return end
local v = gpu.range(1, 4096, "float32")
for _, op in ipairs(ops) do
  if op.arity == 1 then try(v[op.name], v) end
  if op.arity == 2 then
    try(v[op.name], v, v:copy())
    try(v[op.name], v, 2)
  end
end
say("all functions of float32")
