/* What the line editor suggests behind the cursor: the rest of a former cell, the signature of a call. */
#include "tests/unit/editor_driver.h"

TEST(history_suggests_the_rest)
{
    driver_remember("print(1)", "for i = 1, 3 do\n  print(i)\nend", "print(x + y)");
    TYPE("pri");
    CHECK_STR(driver_screen(40, 10), ">> pri|nt(x + y)\n");
    CHECK_STR(driver_styled(SH_GHOST), ">> pri[nt(x + y)]\n");
    CHECK_STR(driver_screen(10, 10), ">> pri|nt(\xE2\x80\xA6\n");
    CHECK_STR(driver_screen(40, 0), ">> pri|\n"); /* it is no part of the cell */
    TYPE(LEFT);
    CHECK_STR(driver_screen(40, 10), ">> pr|i\n");
    TYPE(RIGHT "nt(1");
    CHECK_STR(driver_screen(40, 10), ">> print(1|)\n");
    TYPE("\x7f\033f");
    CHECK_STR(driver_cell(), "print(x|");
    TYPE("\033[1;5C");
    CHECK_STR(driver_cell(), "print(x + y|");
    TYPE(RIGHT);
    CHECK_STR(driver_cell(), "print(x + y)|");
    CHECK_STR(driver_screen(40, 10), ">> print(x + y)|\n");
    TYPE("\x1f\x1f");
    CHECK_STR(driver_cell(), "print(x|");
    TYPE("\x15"
         "for");
    CHECK_STR(driver_screen(40, 10), ">> for| i = 1, 3 do\xE2\x80\xA6\n");
    TYPE("\x05");
    CHECK_STR(driver_cell(), "for i = 1, 3 do\n  print(i)\nend|");
    TYPE("\x18\x0b" UP); /* what was recalled is not made longer */
    CHECK_STR(driver_screen(40, 10), ">> print(x + y)|\n");
    driver_editor.no_ghost = true;
    TYPE("\x15pri" RIGHT);
    CHECK_STR(driver_screen(40, 10), ">> pri|\n");
}

/* What is below the line for a cell whose cursor is at the bar: the parameter there is in brackets. */
static const struct {
    const char *cell, *below;
} calls[] = {
    {"f(|", "g([a], b, ...)\n"},
    {"f(1, |2)", "g(a, [b], ...)\n"},
    {"f(1, 2, {3, 4}, |", "g(a, b, [...])\n"},
    {"f(h(1, 2), |", "g(a, [b], ...)\n"},
    {"f(h(1,| 2), 3)", "g(a, [b], ...)\n"},
    {"f({1, |", ""},
    {"f(1)|", ""},
    {"f('a, b|', c)", "g([a], b, ...)\n"},
    {"f([[ a, |", ""},
    {"f( -- a, |", ""},
    {"f(function() g|", ""},
    {"f(function() g() end, |", ""}, /* what is before a block is not looked at */
    {"|f(1)", ""},
    {"!ls (a, |", ""},
};

TEST(the_signature_of_the_call)
{
    driver_doc = "g(a, b, ...)\n\nDocumentation.";
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[64];
        size_t at = strcspn(calls[i].cell, "|");
        snprintf(text, sizeof text, "%.*s%s", (int)at, calls[i].cell, calls[i].cell + at + 1);
        sh_editor_start(&driver_editor);
        sh_editor_set(&driver_editor, text, strlen(text));
        driver_editor.cursor = at;
        const char *shown = driver_styled(SH_STRONG);
        if (strcmp(strchr(shown, '\n') + 1, calls[i].below) != 0)
            FAIL("row %zu: %s has \"%s\"", i, calls[i].cell, strchr(shown, '\n') + 1);
    }
    sh_editor_start(&driver_editor);
    TYPE("f(1, 2");
    CHECK_STR(driver_screen(40, 10), ">> f(1, 2|\ng(a, b, ...)\n");
    CHECK_STR(driver_screen(6, 10), ">> f(1\n, 2|\n\xE2\x80\xA6"
                                    "b, .\xE2\x80\xA6\n");
    driver_doc = "g(a [, b] [, ...])";
    TYPE(" ");
    CHECK_STR(driver_styled(SH_STRONG), ">> f(1, 2 \ng(a [, [b]] [, ...])\n");
    driver_doc = "no function";
    TYPE("\x7f"
         "3");
    CHECK_STR(driver_screen(40, 10), ">> f(1, 23|\n");
}
