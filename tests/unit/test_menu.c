/* Completion in the line editor: the common beginning, the list, the choice. */
#include "tests/unit/editor_driver.h"

TEST(one_match_is_put_in)
{
    driver_offer((const char *[]){"linspace", "zeros", NULL});
    TYPE("x = lin\t");
    CHECK_STR(driver_cell(), "x = linspace|");
    CHECK_STR(driver_screen(40, 10), ">> x = linspace|\n");
}

TEST(common_beginning_then_list_then_choice)
{
    driver_offer((const char *[]){"mean", "median", "max", NULL});
    TYPE("me\t");
    CHECK_STR(driver_cell(), "me|");
    CHECK_STR(driver_screen(40, 10), ">> me|\nmean    a note\nmedian  a note\n");
    TYPE("\t");
    CHECK_STR(driver_cell(), "mean|");
    TYPE("\t");
    CHECK_STR(driver_cell(), "median|");
    TYPE("\t");
    CHECK_STR(driver_cell(), "mean|");
    TYPE("\033[Z");
    CHECK_STR(driver_cell(), "median|");
    CHECK_INT(TYPE("\r"), SH_CONTINUE); /* takes the choice, runs nothing */
    CHECK_STR(driver_screen(40, 10), ">> median|\n");
}

TEST(the_list_follows_what_is_typed)
{
    driver_offer((const char *[]){"mean", "median", "max", NULL});
    TYPE("m\t");
    CHECK_HAS(driver_screen(40, 10), "max");
    TYPE("e");
    CHECK_STR(driver_screen(40, 10), ">> me|\nmean    a note\nmedian  a note\n");
    TYPE("d");
    CHECK_STR(driver_screen(40, 10), ">> med|\nmedian  a note\n");
    TYPE("ian");
    CHECK_STR(driver_screen(40, 10), ">> median|\n");
    TYPE("\x7f");
    CHECK_STR(driver_screen(40, 10), ">> media|\n");
}

TEST(escape_gives_the_typed_text_back)
{
    driver_offer((const char *[]){"mean", "median", NULL});
    TYPE("m\t\t\033");
    CHECK_STR(driver_cell(), "me|");
    CHECK_STR(driver_screen(40, 10), ">> me|\n");
}

TEST(typing_on_takes_the_choice)
{
    driver_offer((const char *[]){"mean", "median", NULL});
    TYPE("m\t\t(");
    CHECK_STR(driver_cell(), "mean(|");
}

TEST(enter_with_only_a_list_runs)
{
    driver_offer((const char *[]){"mean", "median", NULL});
    CHECK_INT(TYPE("m\t\r"), SH_ACCEPT);
    CHECK_STR(driver_cell(), "me|");
}

TEST(completion_does_not_split_characters)
{
    driver_offer((const char *[]){"\xC3\xA9t\xC3\xA9", "\xC3\xA8re", NULL});
    TYPE("x = \t");
    CHECK_STR(driver_cell(), "x = |");
}

TEST(long_lists_scroll)
{
    static char names[30][8];
    for (int i = 0; i < 30; i++) {
        snprintf(names[i], sizeof names[i], "name%c%c", 'a' + i / 26, 'a' + i % 26);
        driver_matches[driver_match_count++] = (struct lg_match){names[i], "function", i % 2 ? "" : "odd"};
    }
    TYPE("n\t");
    CHECK_STR(
        driver_screen(24, 10),
        ">> name|\nnameaa  odd\nnameab  function\nnameac  odd\nnamead  function\n30; Tab goes through th\xE2\x80\xA6\n");
    for (int i = 0; i < 13; i++) TYPE("\t");
    CHECK_STR(driver_screen(24, 10),
              ">> nameam|\nnameak  odd\nnameal  function\nnameam  odd\nnamean  function\n13 of 30\n");
    TYPE("\033[Z\033[B\033[B"); /* back, and down twice */
    CHECK_HAS(driver_screen(24, 10), ">> namean|\n");
    for (int i = 0; i < 16; i++) TYPE("\t");
    CHECK_HAS(driver_screen(24, 10), "namebc  odd\nnamebd  function\n30 of 30\n");
    TYPE("\t");
    CHECK_HAS(driver_screen(24, 10), ">> nameaa|\nnameaa  odd\n");
}

TEST(signatures_and_documentation_stand_beside_the_names)
{
    driver_matches[0] = (struct lg_match){"linspace", "function", "gpu.linspace(start, stop, count)"};
    driver_matches[1] = (struct lg_match){"lines", "array", "float32 3x4"};
    driver_matches[2] = (struct lg_match){"list", "local", ""};
    driver_match_count = 3;
    driver_doc = "gpu.linspace(start, stop, count)\n\nEvenly spaced numbers.\nMore of it.";
    TYPE("li\t");
    CHECK_STR(driver_screen(60, 10), ">> li|\n"
                                     "linspace  (start, stop, count)  Evenly spaced numbers.\n"
                                     "lines     float32 3x4\n"
                                     "list      local\n");
    CHECK_STR(driver_screen(48, 10), ">> li|\n"
                                     "linspace  (start, stop, cou\xE2\x80\xA6  Evenly spaced num\xE2\x80\xA6\n"
                                     "lines     float32 3x4\n"
                                     "list      local\n");
    CHECK_STR(driver_screen(20, 10), ">> li|\n"
                                     "linspace  (start, s\xE2\x80\xA6\n"
                                     "lines     float32 3\xE2\x80\xA6\n"
                                     "list      local\n");
}

TEST(of_two_forms_that_of_the_call_is_shown)
{
    driver_matches[driver_match_count++] = (struct lg_match){"mean", "method", "#a   a:mean(axis)   gpu.mean(a, axis)"};
    driver_matches[driver_match_count++] = (struct lg_match){"median", "method", "a:median()"};
    driver_doc = "a:mean(axis)   gpu.mean(a, axis)\n\nMean.";
    TYPE("x:m\t");
    CHECK_STR(driver_screen(60, 10), ">> x:me|\nmean    (axis)  Mean.\nmedian  ()      Mean.\n");
    TYPE("\x15"
         "gpu.m\t");
    CHECK_HAS(driver_screen(60, 10), "\nmean    (a, axis)  Mean.\n");
    TYPE("an(1, ");
    CHECK_STR(driver_styled(SH_STRONG), ">> gpu.mean(1, \ngpu.mean(a, [axis])\n");
    TYPE("\x15x:mean(");
    CHECK_STR(driver_styled(SH_STRONG), ">> x:mean(\na:mean([axis])\n");
}
