/* Colours of Lua, of CUDA C in its strings, and of what is unfinished. */
#include "tests/unit/test.h"

#include "repl/frame.h"
#include "repl/highlight.h"

/* One letter for the style of each byte. */
static const char *styles(const char *code)
{
    static const char letters[SH_STYLE_COUNT + 1] = ".PDSMksncf";
    static unsigned char style[256];
    static char out[256];
    size_t n = strlen(code);
    memset(style, 0xFF, sizeof style);
    sh_highlight_part(code, n, 0, n, style);
    for (size_t i = 0; i < n; i++) {
        CHECK(style[i] < SH_STYLE_COUNT);
        out[i] = letters[style[i]];
    }
    CHECK_INT(style[n], 0xFF); /* nothing beyond the end */
    out[n] = '\0';
    return out;
}

TEST(lua)
{
    CHECK_STR(styles("local x = 1.5 -- why"), "kkkkk.....nnn.cccccc");
    CHECK_STR(styles("print(\"a\")"), "fffff.sss.");
    CHECK_STR(styles("f{} g'x' h (1)"), "f...fsss.f..n.");
    CHECK_STR(styles("a:sum()"), "..fff..");
}

TEST(unfinished_input)
{
    CHECK_STR(styles("x = \"abc"), "....ssss");
    CHECK_STR(styles("x = [[a\nb"), "....sssss");
    CHECK_STR(styles("--[[ a\nb"), "cccccccc");
    CHECK_STR(styles("\xFF $ 1"), "....n");
    CHECK_STR(styles(""), "");
}

TEST(magics_stay_plain)
{
    CHECK_STR(styles("%time 1"), ".......");
    CHECK_STR(styles("?gpu.x\nreturn 1"), ".......kkkkkk.n");
    CHECK_STR(styles("!ls 1\nx = 1"), "..........n");
    CHECK_STR(styles("%%cuda\nif (x) return 1;"), ".......kk.....kkkkkk.n.");
    CHECK_STR(styles("%%time\nif x"), "...........");
}

TEST(cuda_in_kernel_strings)
{
    CHECK_STR(styles("k = gpu.kernel [[ int x; ]]"), "........ffffff.ss.kkk....ss");
    CHECK_STR(styles("gpu.kernel([=[ // c\n\"s\" 1.f sinf(x)]=] )"), "....ffffff.sss.ccccssss.nnn.ffff...sss..");
    CHECK_STR(styles("s = [[__global__ v]]"), "....sskkkkkkkkkk..ss"); /* by what it says */
    CHECK_STR(styles("s = [[ int x ]]"), "....sssssssssss");
    CHECK_STR(styles("s = '__global__'"), "....ssssssssssss");
    CHECK_STR(styles("kernel [[ for"), "ffffff.ss.kkk"); /* the end is not written yet */
    CHECK_STR(styles("kernel [["), "ffffff.ss");
    CHECK_STR(styles("kernel [[\n#define A"), "ffffff.ssskkkkkkk..");
}

/* Highlighting that begins anew gives what it gives from the start, wherever it begins. */
TEST(anew)
{
    static const char code[] =
        "local x = [[ a\nend\n]]\nk = gpu.kernel [[\nint i;\nfor\n/* if\nint\n*/ int\n\"a\\\nif\" for // if\n#if 1\n]]\nf\n(1)\n--[[\nand\n]] x = 'a\\\nb'\n"
        "%time x = 1\nif x then\n  y()\nend";
    size_t n = sizeof code - 1;
    unsigned char whole[256], part[256];
    sh_highlight_part(code, n, 0, n, whole);
    size_t places = 0;
    for (size_t at = 0; at <= n; at++) {
        memcpy(part, whole, n);
        size_t from = sh_fresh_start(code, n, at, part);
        CHECK(from <= at);
        places += from != 0;
        memset(part + at, 0xFF, n - at);
        sh_highlight_part(code, n, at, n, part);
        CHECK(memcmp(whole, part, n) == 0);
        sh_highlight_part(code, n, at / 2, at, part);
        CHECK(memcmp(whole, part, at) == 0);
    }
    CHECK(places > n / 2);
    static const char became[] = "s = [[ int x; __global__ ]]";
    n = sizeof became - 1;
    sh_highlight(became, n, whole);
    memset(part, SH_STRING, 23);
    memset(part, SH_PLAIN, 4);
    sh_highlight_part(became, n, 23, n, part);
    CHECK(memcmp(whole, part, n) == 0);
}
