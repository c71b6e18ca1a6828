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
    sh_highlight(code, n, style);
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
    CHECK_STR(styles("gpu.kernel([=[ // c\n\"s\" 1.f sinf(x)]=] )"), "....ffffff.sss.cccc.sss.nnn.ffff...sss..");
    CHECK_STR(styles("s = [[__global__ v]]"), "....sskkkkkkkkkk..ss"); /* by what it says */
    CHECK_STR(styles("s = [[ int x ]]"), "....sssssssssss");
    CHECK_STR(styles("s = '__global__'"), "....ssssssssssss");
    CHECK_STR(styles("kernel [[ for"), "ffffff.ss.kkk"); /* the end is not written yet */
    CHECK_STR(styles("kernel [["), "ffffff.ss");
    CHECK_STR(styles("kernel [[\n#define A"), "ffffff.ss.kkkkkkk..");
}
