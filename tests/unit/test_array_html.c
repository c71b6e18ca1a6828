/* The HTML form of arrays: balanced, escaped, and no larger than its edges. */
#include "test.h"
#include "lang/lang.h"

static lua_State *L; /* of the test's process */

/* The HTML of the array that a Lua expression gives; it stays on the stack, and so alive. */
static const char *html_of(const char *expression)
{
    if (!L) {
        L = luaL_newstate();
        luaL_openlibs(L);
        luaL_requiref(L, "gpu", luaopen_lunarray, 1);
    }
    lua_pushfstring(L, "return %s", expression);
    if (luaL_dostring(L, lua_tostring(L, -1)) != LUA_OK) FAIL("%s: %s", expression, lua_tostring(L, -1));
    int top = lua_gettop(L);
    lg_push_array_html(L, lg_check_array(L, -1));
    CHECK_INT(lua_gettop(L), top + 1);
    return lua_tostring(L, -1);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

static const char *balanced(const char *html)
{
    static const char *const tags[] = {"table", "caption", "tbody", "tr", "td", "th"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        char open[16], attributes[16], close[16];
        snprintf(open, sizeof open, "<%s>", tags[i]);
        snprintf(attributes, sizeof attributes, "<%s ", tags[i]);
        snprintf(close, sizeof close, "</%s>", tags[i]);
        CHECK_INT(count(html, open) + count(html, attributes), count(html, close));
    }
    return html;
}

TEST(tables)
{
    const char *html = balanced(html_of("gpu.array({{1, 2.5}, {-3, 4}}, 'cpu')"));
    CHECK_HAS(html, "array float32 (2, 2) on cpu, 16 B");
    CHECK_HAS(html, "<td>1.0</td><td>2.5</td>");
    CHECK_HAS(html, "<td>-3.0</td><td>4.0</td>");
    CHECK_INT(count(html, "<tr>"), 3);
}

TEST(rows_scalars_and_nothing)
{
    CHECK_HAS(balanced(html_of("gpu.array({true, false})")), "<td>true</td><td>false</td>");
    CHECK_HAS(balanced(html_of("gpu.array(7)")), "<td>7</td>");
    CHECK_HAS(balanced(html_of("gpu.zeros(0, 3)")), "no elements");
}

TEST(edges)
{
    const char *html = balanced(html_of("gpu.range(1000000, 'int32', 'cpu'):reshape(1000, 1000)"));
    CHECK_HAS(html, "3.8 MiB");
    CHECK_HAS(html, "<td>999</td><td>1000</td>");
    CHECK_HAS(html, "<td>1000000</td></tr></tbody>");
    CHECK_INT(count(html, "&#8942;"), 1);
    CHECK(strlen(html) < 6000);
    html = balanced(html_of("gpu.range(301)"));
    CHECK_INT(count(html, "&hellip;"), 1);
    CHECK_INT(count(html, "<td>"), 7);
    html = balanced(html_of("gpu.range(18)"));
    CHECK_INT(count(html, "&hellip;"), 0);
}

TEST(vectors_of_several_rows)
{
#define FIRST(n) "<tr><th style=\"font-weight:normal;opacity:.55\">" n "</th>"
    const char *html = balanced(html_of("gpu.range(20)"));
    CHECK_INT(count(html, "<tr>"), 2); /* one, and its indices */
    html = balanced(html_of("gpu.range(33)"));
    CHECK_INT(count(html, "<tr>"), 3);
    CHECK_HAS(html, FIRST("1") "<td>1</td><td>2</td>");
    CHECK_HAS(html, "<td>16</td></tr>" FIRST("17") "<td>17</td>");
    CHECK_HAS(html, FIRST("33") "<td>33</td></tr></tbody>");
    html = balanced(html_of("gpu.range(300) / 7")); /* 42.857143 */
    CHECK_HAS(html, FIRST("9") "<td>1.28571</td>");
    CHECK_INT(count(html, "<td>"), 300);
    html = balanced(html_of("gpu.range(32):gt(5)"));
    CHECK_INT(count(html, "<tr>"), 4);
    html = balanced(html_of("gpu.complex(gpu.range(30) / 7, gpu.range(30) / 7)"));
    CHECK_HAS(html, FIRST("5") "<td>0.714286");
    html = balanced(html_of("gpu.range(40):reshape(1, 40)")); /* a table, which has columns */
    CHECK_INT(count(html, "&hellip;"), 1);
}

TEST(many_axes)
{
    const char *html = balanced(html_of("gpu.range(2 * 3 * 4):reshape(2, 3, 4)"));
    CHECK_HAS(html, "(1, :, :)");
    CHECK_HAS(html, "(2, :, :)");
    CHECK_INT(count(html, "more slices"), 0);
    html = balanced(html_of("gpu.zeros(50, 40, 30)"));
    CHECK_HAS(html, "(50, :, :)");
    CHECK_HAS(html, "and 48 more slices");
    balanced(html_of("gpu.zeros({2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 'int8')"));
}
