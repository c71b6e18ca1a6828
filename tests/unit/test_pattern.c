/* Patterns as sessions match them, beside the stock functions. */
#include <lauxlib.h>
#include <lualib.h>
#include "lang/pattern.h"
#include "tests/unit/test.h"

/* `same(name, ...)`: both functions give the same values, or raise the same error. */
static const char prelude[] =
    "local stock, ours = {}, {}\n"
    "for name, f in pairs(string) do stock[name] = f end\n"
    "open()\n"
    "for name, f in pairs(string) do ours[name] = f end\n"
    "assert(stock.find ~= ours.find and stock.rep == ours.rep)\n"
    "local function unnamed(good, e, ...)\n" /* errors name a function as package.loaded has it */
    "  if not good and type(e) == 'string' then e = e:gsub(\"to '.-'\", '') end\n"
    "  return good, e, ...\n"
    "end\n"
    "local function all(name, f, ...)\n"
    "  if name ~= 'gmatch' then return table.pack(unnamed(pcall(f, ...))) end\n"
    "  local seen = {n = 0}\n"
    "  local good, e = unnamed(pcall(function(...)\n"
    "    for a, b, c in f(...) do\n"
    "      table.move({tostring(a), tostring(b), tostring(c)}, 1, 3, seen.n + 1, seen)\n"
    "      seen.n = seen.n + 3\n"
    "    end\n"
    "  end, ...))\n"
    "  seen.n = seen.n + 1\n"
    "  seen[seen.n] = e or good\n"
    "  return seen\n"
    "end\n"
    "failures, matches = 0, 0\n"
    "function same(name, ...)\n"
    "  local a, b = all(name, stock[name], ...), all(name, ours[name], ...)\n"
    "  local equal = a.n == b.n\n"
    "  for i = 1, a.n do equal = equal and rawequal(a[i], b[i]) and math.type(a[i]) == math.type(b[i]) end\n"
    "  if a[1] and a[2] then matches = matches + 1 end\n"
    "  if not equal then error(('%s(%q, %q): %s, %s; stock %s, %s'):format(name, ..., select(2, ...),\n"
    "    tostring(b[1]), tostring(b[2]), tostring(a[1]), tostring(a[2])), 0) end\n"
    "end\n";

static int open_patterns(lua_State *L)
{
    lg_open_patterns(L, 0);
    return 0;
}

static void check(const char *code)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "open", open_patterns);
    if (luaL_dostring(L, prelude) || luaL_dostring(L, code)) FAIL("%s", lua_tostring(L, -1));
    lua_close(L);
}

TEST(random_patterns_give_what_the_stock_functions_give)
{
    check(
        "local pieces = {'a', 'b', 'c', '.', '%a', '%A', '%s', '%w', '%d', '%%', '%.', '%b()', '%bab', '%f[%w]', '%f[^a]', '%f[%z]',\n"
        "  '[abc]', '[^a]', '[a-c]', '[]a]', '[^]a]', '[a-]', '[%a_]', '[%', '[', ']', '^', '$', '(', ')', '()', '(a)', '(.-)',\n"
        "  '*', '+', '-', '?', '%1', '%2', '%0', '%', '%g', '%x', '%p', '%c', '%l', '%u', '%z', '\\0', '[%]]', '[a-%%]', '[%a-z]', '-', ' '}\n"
        "local letters = {'a', 'b', 'c', 'A', ' ', '(', ')', '1', '-', ']', '%', '\\0', '\\xe9', '\\n', '.'}\n"
        "local function draw(list, most)\n"
        "  local t = {}\n"
        "  for i = 1, math.random(0, most) do t[i] = list[math.random(#list)] end\n"
        "  return table.concat(t)\n"
        "end\n"
        "local texts = {'', 'x', '<%0>', '%1%1', '%2', '%', '%q', '[%%]', 7}\n"
        "math.randomseed(5)\n"
        "for i = 1, 20000 do\n"
        "  local s, p, at = draw(letters, 12), draw(pieces, 5), math.random(-14, 14)\n"
        "  same('find', s, p) same('find', s, p, at) same('match', s, p, at) same('gmatch', s, p) same('gmatch', s, p, at)\n"
        "  same('gsub', s, p, texts[math.random(#texts)]) same('gsub', s, p, {a = 'A', b = false, [1] = 2}, math.random(0, 3))\n"
        "  same('gsub', s, p, function(a, b) return b or a == 'a' and a end) same('find', s, p, at, true)\n"
        "end\n"
        "assert(matches > 30000, matches)");
}

TEST(limits_and_errors_are_the_stock_functions_ones)
{
    check(
        "same('find', ('a'):rep(300), ('a?'):rep(198)) same('find', ('a'):rep(300), ('a?'):rep(200)) same('find', ('a'):rep(300), ('a?'):rep(201))\n"
        "same('match', ('a'):rep(40), ('(a)'):rep(32)) same('match', ('a'):rep(40), ('(a)'):rep(33)) same('match', 'a', ('()'):rep(32))\n"
        "for _, name in ipairs {'find', 'match', 'gmatch', 'gsub'} do\n"
        "  same(name) same(name, 'a') same(name, {}, 'a') same(name, 'a', {}) same(name, 12, 1) same(name, 'a', 'a', {}) same(name, 'a', 'a', 'x')\n"
        "end\n"
        "same('gsub', 'abc', '%w', function() return {} end) same('gsub', 'abc', '%w', {a = print}) same('gsub', 'abc', '%w', error)\n"
        "same('gsub', 'abc', '%w', '%9') same('gsub', 'abc', 'b', '', -1) same('gsub', 'abc', '(b', '') same('gsub', 'hello world', 'o', '0', 1)\n"
        "same('gsub', 'abc', '', '-') same('gsub', 'abc', '^a*', '-') same('find', '', '') same('find', 'a', '', 10) same('find', 'a', '', 2)\n"
        "same('find', 'a\\0b', '\\0b') same('find', 'a\\0b.', '\\0b.', 1, true) same('find', 'aXb', 'X', math.mininteger) same('find', 'a', 'a', math.maxinteger)\n"
        "same('find', ('a'):rep(1000), ('a'):rep(500) .. 'b', 1, true)\n"
        "same('gsub', ('x'):rep(1e5), 'x', '%0%0') same('gsub', ('x '):rep(1e4), '(%w)%s', function(a) return a .. a end)");
}
