/* Themes: descriptions of colours, for terminals of any number of them and any background. */
#include "repl/theme.h"
#include "tests/unit/test.h"

static const char *code(const char *description, int colors)
{
    static char text[SH_CODE_SIZE];
    return sh_theme_code(description, colors, text) ? text : "none such";
}

TEST(descriptions)
{
    CHECK_STR(code("red", 16), "\033[31m");
    CHECK_STR(code("bold bright blue on white", 16), "\033[1;94;47m");
    CHECK_STR(code("underline reverse", 0), "\033[4;7m");
    CHECK_STR(code("bold red", 0), "\033[1m");
    CHECK_STR(code("underline red", 16), "\033[7;31m"); /* the Linux console draws no lines */
    CHECK_STR(code("none", 256), "");
    CHECK_STR(code("", 256), "");
    CHECK_STR(code("202 on 17", 256), "\033[38;5;202;48;5;17m");
    CHECK_STR(code("9", 256), "\033[91m");
}

TEST(colours_of_24_bits_where_there_are_fewer)
{
    CHECK_STR(code("#ff8800", 1 << 24), "\033[38;2;255;136;0m");
    CHECK_STR(code("#ff8800", 256), "\033[38;5;208m");
    CHECK_STR(code("#ff0000 on #ffffff", 16), "\033[91;47m");
    CHECK_STR(code("#000000 on #606060", 16), "\033[30;100m");
    CHECK_STR(code("46", 16), "\033[92m"); /* pure green of the cube */
}

TEST(what_is_no_description)
{
    static const char *const bad[] = {"redd",
                                      "bright",
                                      "on",
                                      "bright 9",
                                      "#12345",
                                      "#12345g",
                                      "256",
                                      "-1",
                                      "bold!",
                                      "averyveryverylongword",
                                      "#ffffff #ffffff #ffffff #ffffff #ffffff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK_STR(code(bad[i], 1 << 24), "none such");
}

TEST(themes)
{
    const char *own[SH_THEME_STYLES] = {[SH_KEYWORD] = "bold yellow", [SH_STRING] = "auto"};
    sh_theme_choose(SH_DARK, 256, own);
    CHECK_STR(sh_style_code(SH_KEYWORD, true), "\033[1;33m");
    CHECK_STR(sh_style_code(SH_STRING, true), "\033[32m");
    CHECK_STR(sh_style_code(SH_KEYWORD, false), "");
    CHECK_STR(sh_style_code(SH_MATCH, false), "\033[4m");
    sh_theme_choose(SH_LIGHT, 256, NULL);
    CHECK_STR(sh_style_code(SH_STRING, true), "\033[38;5;22m");
    sh_theme_choose(SH_DARK, 0, own);
    CHECK_STR(sh_style_code(SH_KEYWORD, true), "");
    CHECK_STR(sh_style_code(SH_SELECTED, true), "\033[7m");
}

TEST(backgrounds)
{
    static const struct {
        const char *set;
        enum sh_background is;
    } cases[] = {{"15;0", SH_DARK}, {"0;15", SH_LIGHT},     {"0;default;7", SH_LIGHT},
                 {"12;8", SH_DARK}, {"0;default", SH_DARK}, {"", SH_DARK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("COLORFGBG", cases[i].set, 1);
        CHECK_INT(sh_background(), cases[i].is);
    }
    unsetenv("COLORFGBG");
    CHECK_INT(sh_background(), SH_DARK);
}

TEST(colours_of_terminals)
{
    static const struct {
        const char *term, *colorterm, *tmux, *no_color;
        int are;
    } cases[] = {{"xterm-256color", "", "", "", 1 << 24},
                 {"dumb", "truecolor", "", "", 0},
                 {"linux", "", "", "", 16},
                 {"screen-256color", "truecolor", "", "", 256},
                 {"screen-256color", "truecolor", "/tmp/x,1,0", "", 1 << 24},
                 {"xterm", "", "", "", 256},
                 {"xterm", "truecolor", "", "", 1 << 24},
                 {"xterm-kitty", "", "", "1", 0},
                 {"rxvt-unicode-256color", "", "", "", 256}};
    unsetenv("STY");
    unsetenv("TERM_PROGRAM");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("TERM", cases[i].term, 1);
        setenv("COLORTERM", cases[i].colorterm, 1);
        setenv("TMUX", cases[i].tmux, 1);
        setenv("NO_COLOR", cases[i].no_color, 1);
        CHECK_INT(sh_colors(), cases[i].are);
    }
}
