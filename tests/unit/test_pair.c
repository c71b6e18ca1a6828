/* Brackets and blocks that belong together, in Lua and in CUDA C. */
#include "repl/pair.h"
#include "repl/highlight.h"
#include "tests/unit/test.h"

/* The code with the pair of the place ^ in <>; unchanged when there is none. */
static const char *pair_of(const char *marked)
{
    static char out[256];
    char code[256];
    const char *caret = strchr(marked, '^');
    size_t at = (size_t)(caret - marked), n = 0;
    struct sh_pair p;
    snprintf(code, sizeof code, "%.*s%s", (int)at, marked, caret + 1);
    bool found = sh_find_pair(code, strlen(code), at, NULL, 0, &p);
    for (size_t i = 0; code[i]; i++) {
        if (found && (i == p.start || i == p.other)) out[n++] = '<';
        out[n++] = code[i];
        if (found && (i + 1 == p.end || i + 1 == p.other_end)) out[n++] = '>';
    }
    out[n] = '\0';
    return out;
}

TEST(brackets)
{
    CHECK_STR(pair_of("f^(a[1], {2})"), "f<(>a[1], {2}<)>");
    CHECK_STR(pair_of("f(a[1], {2}^)"), "f<(>a[1], {2}<)>");
    CHECK_STR(pair_of("f(a[1], {2})^"), "f<(>a[1], {2}<)>");
    CHECK_STR(pair_of("f(a^[1], {2})"), "f(a<[>1<]>, {2})");
    CHECK_STR(pair_of("f(a[1], {\n2^})"), "f(a[1], <{>\n2<}>)");
    CHECK_STR(pair_of("f(^g(x))"), "f<(>g(x)<)>"); /* the one before, where none follows */
    CHECK_STR(pair_of("f^(a"), "f(a");
    CHECK_STR(pair_of("f(a]^"), "f(a]");
    CHECK_STR(pair_of("^)"), ")");
    CHECK_STR(pair_of("^"), "");
}

TEST(blocks)
{
    CHECK_STR(pair_of("for i = 1, 2 ^do if x then y() end end"), "for i = 1, 2 <do> if x then y() end <end>");
    CHECK_STR(pair_of("for i = 1, 2 do i^f x then y() end end"), "for i = 1, 2 do <if> x then y() <end> end");
    CHECK_STR(pair_of("f(function() return {} end^)"), "f<(>function() return {} end<)>");
    CHECK_STR(pair_of("f(function() return {} en^d)"), "f(<function>() return {} <end>)");
    CHECK_STR(pair_of("repeat x() until^ y"), "<repeat> x() <until> y");
    CHECK_STR(pair_of("x.doing = en^ding"), "x.doing = ending");
    CHECK_STR(pair_of("do ( end^"), "do ( end");
}

TEST(strings_and_comments_have_none)
{
    CHECK_STR(pair_of("f('^(') )"), "f('(') )");
    CHECK_STR(pair_of("f(')'^)"), "f<(>')'<)>");
    CHECK_STR(pair_of("f( -- ^)\n)"), "f( -- )\n)");
    CHECK_STR(pair_of("x = [[ (a^) ]]"), "x = [[ (a) ]]");
    CHECK_STR(pair_of("!ls ^(a)\nf(b)"), "!ls (a)\nf(b)");
    CHECK_STR(pair_of("!ls (\nf(b^)"), "!ls (\nf<(>b<)>");
}

TEST(cuda)
{
    CHECK_STR(pair_of("gpu.kernel [[ void f() ^{ g('}'); /* } */ } ]] }"),
              "gpu.kernel [[ void f() <{> g('}'); /* } */ <}> ]] }");
    CHECK_STR(pair_of("gpu.kernel([[ f(a[1]^) ]])"), "gpu.kernel([[ f<(>a[1]<)> ]])");
    CHECK_STR(pair_of("%%cuda\nint x[3^];"), "%%cuda\nint x<[>3<]>;");
    CHECK_STR(pair_of("%%time\nf(1^)"), "%%time\nf(1)");
}

/* The same from what is shown on, which begins at the sign |. */
static bool shown_pair(const char *marked, struct sh_pair *p)
{
    static char code[256];
    static unsigned char styles[256];
    const char *caret = strchr(marked, '^'), *bar = strchr(marked, '|');
    size_t at = (size_t)(caret - marked), shown = (size_t)(bar - marked);
    snprintf(code, sizeof code, "%.*s%.*s%s", (int)shown, marked, (int)(at - shown - 1), bar + 1, caret + 1);
    sh_highlight(code, strlen(code), styles);
    return sh_find_pair(code, strlen(code), at - 1, styles, shown, p);
}

TEST(cuda_from_what_is_shown_on)
{
    struct sh_pair p;
    CHECK(shown_pair("kernel [[\nf(\n|g^(1)\n) ]]", &p));
    CHECK_INT(p.other - p.start, 2);
    CHECK(!shown_pair("kernel [[\nf(\n|g(1)\n^) ]]", &p)); /* the partner can't be seen */
    CHECK(!shown_pair("kernel [[\n/* (\n|^) */ g(1)\n ]]", &p));
    CHECK(shown_pair("kernel [[\n/* (\n|) */ g(1^)\n ]]", &p));
}

TEST(what_is_too_deep_has_none)
{
    static char code[1200];
    struct sh_pair p;
    memset(code, '(', 300);
    memset(code + 300, ')', 300);
    CHECK(!sh_find_pair(code, 600, 0, NULL, 0, &p));
    CHECK(sh_find_pair(code + 200, 200, 0, NULL, 0, &p));
    CHECK_INT(p.other, 199);
}
