#!/usr/bin/env lunarray
-- ---
-- jupyter: {"kernelspec": {"name": "lunarray"}}
-- nbformat: 4.4
-- ---

local before = "a mark"
-- %% A title [markdown] tags=["a", "b"] slideshow={"slide_type": "slide"}
-- # Text
--
-- more

-- %% id="own" lines=2
--%time print(1)
-- %% no mark


-- %% [raw] {"a": 1}
--[[
raw
]]
--%% [md]
--no blank
-- %%
--%%cuda
-- __global__ void f() {}
--

-- %%% deep
x = [[
%time
? 1 : 2
]]
----!escaped
  --?print
--print?
x
  % 3
