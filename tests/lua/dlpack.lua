-- Arrays over each other's memory by DLPack. What other modules do with tensors is in tests/unit/test_dlpack.c.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  if device == "simt" then
    test("its memory is its own", function()
      t.raises({ "software GPU", 'x:to("cpu")' }, gpu.ones(2, device).dlpack, gpu.ones(2, device))
    end)
  else
    test("every dtype there and back", function()
      for _, dtype in ipairs(gpu.dtypes()) do
        for _, x in ipairs { gpu.ones(2, 3, dtype, device), gpu.ones(0, 3, dtype, device), gpu.ones({}, dtype, device),
          gpu.ones(4, 5, dtype, device).T[{ { 4, 1, -2 } }] } do
          for _, form in ipairs { "versioned", "unversioned" } do
            local y = gpu.from_dlpack(x:dlpack(form))
            t.eq(y.dtype .. tostring(y.shape) .. y.device, dtype .. tostring(x.shape) .. device)
            assert(y:equal(x))
          end
        end
      end
    end)

    test("memory is shared and outlives the array", function()
      local x = gpu.zeros(5000, device)
      local y = gpu.from_dlpack(x:dlpack())
      local waits = x + 1
      y:fill(3)
      t.eq(waits:sum(), 5000)
      t.eq(x:sum(), 15000)
      x:add_(y)
      t.eq(y[5000], 6)
      x:free()
      x = nil
      collectgarbage()
      t.eq(y:sum(), 30000)
    end)
  end
end

t.done()
