/* How a cell lies on a screen: hints, wrapped lines, what is around the cursor. */
#include "tests/unit/editor_driver.h"

TEST(hint)
{
    driver_doc = "first\nsecond\nthird\nfourth";
    TYPE("x\033[Z");
    CHECK_STR(driver_screen(20, 6), ">> x|\nfirst\nsecond\n\xE2\x80\xA6\n");
    TYPE("y");
    CHECK_STR(driver_screen(20, 6), ">> xy|\n");
}

TEST(hints_break_between_words)
{
    driver_doc = "some words here\n\nunbreakable_name";
    TYPE("x\033[Z");
    CHECK_STR(driver_screen(12, 20), ">> x|\nsome words \nhere\n\nunbreakable_\nname\n");
}

TEST(long_lines_wrap)
{
    TYPE("0123456789");
    CHECK_STR(driver_screen(8, 10), ">> 01234\n56789|\n");
    TYPE("abc"); /* the row is full: the cursor goes to the next one */
    CHECK_STR(driver_screen(8, 10), ">> 01234\n56789abc\n|\n");
    TYPE("\x01");
    CHECK_STR(driver_screen(8, 10), ">> |01234\n56789abc\n");
}

TEST(wide_characters_wrap_whole)
{
    TYPE("abcd\xE6\xBC\xA2\xE5\xAD\x97");
    CHECK_STR(driver_screen(8, 10), ">> abcd\n\xE6\xBC\xA2\xE5\xAD\x97|\n");
    TYPE(LEFT);
    CHECK_STR(driver_screen(8, 10), ">> abcd\n\xE6\xBC\xA2|\xE5\xAD\x97\n");
}

TEST(control_characters_are_visible)
{
    sh_text_set(&driver_editor.text, "a\033[31m\x7f\xC2\x9B\xFF", 10);
    driver_editor.cursor = 1;
    CHECK_STR(driver_screen(40, 10), ">> a|^[[31m^?\xEF\xBF\xBD\xEF\xBF\xBD\n");
}

TEST(tall_cells_show_what_is_around_the_cursor)
{
    TYPE("\033[200~1\n2\n3\n4\n5\n6\n7\n8\033[201~");
    CHECK_STR(driver_screen(20, 4), ".. 5\n.. 6\n.. 7\n.. 8|\n");
    TYPE("\033<");
    CHECK_STR(driver_screen(20, 4), ">> |1\n.. 2\n.. 3\n.. 4\n");
    CHECK_STR(driver_screen(20, 0), ">> |1\n.. 2\n.. 3\n.. 4\n.. 5\n.. 6\n.. 7\n.. 8\n");
}

TEST(one_column_is_survived)
{
    driver_offer((const char *[]){"mean", "median", NULL});
    TYPE("a\xE6\xBC\xA2 m\t\t");
    for (int columns = 1; columns < 12; columns++)
        for (int rows = 1; rows < 5; rows++) CHECK(strlen(driver_screen(columns, rows)) > 0);
}

TEST(matching_brackets_are_shown)
{
    TYPE("f(a, {1})");
    CHECK_STR(driver_styled(SH_PAIR), ">> f[(]a, {1}[)]\n");
    TYPE(LEFT LEFT LEFT);
    CHECK_STR(driver_styled(SH_PAIR), ">> f(a, [{]1[}])\n");
    TYPE("\x01");
    CHECK_STR(driver_styled(SH_PAIR), ">> f(a, {1})\n");
    TYPE("\x18\x0b"
         "do\rx\rend");
    CHECK_STR(driver_styled(SH_PAIR), ">> [do]\n..   x\n.. [end]\n");
}

TEST(mistakes_are_shown_after_a_moment)
{
    TYPE("x = ==");
    CHECK(sh_editor_waits(&driver_editor));
    sh_editor_idle(&driver_editor);
    CHECK(!sh_editor_waits(&driver_editor));
    CHECK_STR(driver_styled(SH_WRONG), ">> x = ==\n"); /* it is being written */
    TYPE("\x01");
    CHECK(!sh_editor_waits(&driver_editor));
    CHECK_STR(driver_styled(SH_WRONG), ">> x = [==]\n");
    TYPE("y");
    CHECK_STR(driver_styled(SH_WRONG), ">> yx = ==\n");
    CHECK(sh_editor_waits(&driver_editor));
    driver_hurried = true;
    sh_editor_idle(&driver_editor);
    driver_hurried = false;
    CHECK(sh_editor_waits(&driver_editor));
    CHECK_STR(driver_styled(SH_WRONG), ">> yx = ==\n");
    sh_editor_idle(&driver_editor);
    CHECK_STR(driver_styled(SH_WRONG), ">> yx = [==]\n");
    TYPE("\x05\x7f\x7f");
    sh_editor_idle(&driver_editor);
    CHECK_STR(driver_styled(SH_WRONG), ">> yx = \n");
}
