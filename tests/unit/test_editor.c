#include "tests/unit/editor_driver.h"

#define UP    "\033[A"
#define DOWN  "\033[B"
#define RIGHT "\033[C"
#define LEFT  "\033[D"

static void history(const char *a, const char *b, const char *c)
{
    driver_history[0] = a;
    driver_history[1] = b;
    driver_history[2] = c;
    driver_history_used = 3;
}

static void completions(const char *const *names)
{
    for (; *names; names++) driver_matches[driver_match_count++] = (struct lg_match){*names, "function", "a note"};
}

TEST(typing_and_moving)
{
    TYPE("hello");
    CHECK_STR(driver_cell(), "hello|");
    TYPE("\x02\x02X");
    CHECK_STR(driver_cell(), "helX|lo");
    TYPE("\x01>\x05<");
    CHECK_STR(driver_cell(), ">helXlo<|");
    TYPE("\033[H" RIGHT RIGHT "\033[3~");
    CHECK_STR(driver_cell(), ">h|lXlo<");
    TYPE("\x04\x06\x08");
    CHECK_STR(driver_cell(), ">h|lo<");
}

TEST(words)
{
    TYPE("one two_3 four.five");
    TYPE("\033b");
    CHECK_STR(driver_cell(), "one two_3 four.|five");
    TYPE("\033[1;5D\033[1;5D");
    CHECK_STR(driver_cell(), "one |two_3 four.five");
    TYPE("\033f");
    CHECK_STR(driver_cell(), "one two_3| four.five");
    TYPE("\033d");
    CHECK_STR(driver_cell(), "one two_3|.five");
    TYPE("\033\x7f");
    CHECK_STR(driver_cell(), "one |.five");
    TYPE("\x19");
    CHECK_STR(driver_cell(), "one two_3 four|.five");
    TYPE("\x05\x17");
    CHECK_STR(driver_cell(), "one two_3 |");
}

TEST(kills_in_a_row_are_one)
{
    TYPE("a b c\x17\x17");
    CHECK_STR(driver_cell(), "a |");
    TYPE("\x19\x19");
    CHECK_STR(driver_cell(), "a b cb c|");
    TYPE("\x15");
    CHECK_STR(driver_cell(), "|");
    TYPE("x\x19");
    CHECK_STR(driver_cell(), "xa b cb c|");
}

TEST(transposing)
{
    TYPE("abc\x14");
    CHECK_STR(driver_cell(), "acb|");
    TYPE("\x01\x14");
    CHECK_STR(driver_cell(), "|acb");
    TYPE(RIGHT "\x14");
    CHECK_STR(driver_cell(), "ca|b");
    TYPE("\x15\x0b"
         "\xC3\xA9x\x14");
    CHECK_STR(driver_cell(), "x\xC3\xA9|");
}

TEST(graphemes_are_moved_over_and_erased_whole)
{
    TYPE("ae\xCC\x81"
         "b"); /* e with a combining accent */
    TYPE(LEFT LEFT);
    CHECK_STR(driver_cell(), "a|e\xCC\x81"
                             "b");
    TYPE(RIGHT "\x7f");
    CHECK_STR(driver_cell(), "a|b");
    TYPE("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB" LEFT "<"); /* a woman at a computer: one grapheme */
    CHECK_STR(driver_cell(), "a<|\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB"
                             "b");
}

TEST(enter_accepts_what_is_complete)
{
    CHECK_INT(TYPE("x = 1\r"), SH_ACCEPT);
    CHECK_STR(driver_cell(), "x = 1|");
    sh_editor_start(&driver_editor);
    CHECK_STR(driver_cell(), "|");
    CHECK_INT(TYPE("\r"), SH_ACCEPT);
    CHECK_INT(TYPE("end\r"), SH_ACCEPT); /* invalid: the session says why */
}

TEST(enter_continues_what_is_not)
{
    CHECK_INT(TYPE("do\r"), SH_CONTINUE);
    CHECK_STR(driver_cell(), "do\n  |");
    CHECK_INT(TYPE("do\rx\r"), SH_CONTINUE);
    CHECK_STR(driver_cell(), "do\n  do\n    x\n    |");
    TYPE("en");
    CHECK_STR(driver_cell(), "do\n  do\n    x\n    en|");
    TYPE("d");
    CHECK_STR(driver_cell(), "do\n  do\n    x\n  end|");
    CHECK_INT(TYPE("\rend"), SH_CONTINUE);
    CHECK_STR(driver_cell(), "do\n  do\n    x\n  end\nend|");
    CHECK_INT(TYPE("\r"), SH_ACCEPT);
}

TEST(what_only_began_as_a_closer_moves_forth_again)
{
    TYPE("do\runtil");
    CHECK_STR(driver_cell(), "do\nuntil|");
    TYPE("ed");
    CHECK_STR(driver_cell(), "do\n  untiled|");
    TYPE("\relse");
    CHECK_STR(driver_cell(), "do\n  untiled\nelse|");
    TYPE("i");
    CHECK_STR(driver_cell(), "do\n  untiled\n  elsei|");
    TYPE("f");
    CHECK_STR(driver_cell(), "do\n  untiled\nelseif|");
    TYPE(" x");
    CHECK_STR(driver_cell(), "do\n  untiled\nelseif x|");
}

TEST(enter_in_the_middle_keeps_the_indent)
{
    TYPE("do\r");
    TYPE("x\ry" UP "\x05");
    CHECK_STR(driver_cell(), "do\n  x|\n  y");
    TYPE("\r");
    CHECK_STR(driver_cell(), "do\n  x\n  |\n  y");
}

TEST(alt_enter_opens_a_line)
{
    CHECK_INT(TYPE("x\033\ry"), SH_CONTINUE);
    CHECK_STR(driver_cell(), "x\ny|");
    CHECK_INT(TYPE("\r"), SH_ACCEPT);
}

TEST(indent_is_erased_by_steps)
{
    TYPE("do\r  x\x7f\x7f");
    CHECK_STR(driver_cell(), "do\n  |");
    TYPE("\x7f");
    CHECK_STR(driver_cell(), "do\n|");
    TYPE("\t\t");
    CHECK_STR(driver_cell(), "do\n    |");
    TYPE("\x7f\x7f\x7f");
    CHECK_STR(driver_cell(), "do|");
}

TEST(up_and_down_in_the_block)
{
    TYPE("do\rlong line\rx");
    TYPE(UP);
    CHECK_STR(driver_cell(), "do\n  l|ong line\n  x");
    TYPE("\x05" DOWN);
    CHECK_STR(driver_cell(), "do\n  long line\n  x|");
    TYPE(UP); /* the column is kept over the short line */
    CHECK_STR(driver_cell(), "do\n  long line|\n  x");
    TYPE("\x10\x10");
    CHECK_STR(driver_cell(), "do|\n  long line\n  x");
}

TEST(a_number_before_a_command)
{
    TYPE("one two three four\x01\0332\033f");
    CHECK_STR(driver_cell(), "one two| three four");
    TYPE("\0332\033d\x01\0331\0332>");
    CHECK_STR(driver_cell(), ">>>>>>>>>>>>|one two");
    TYPE("\03312\x7f\x19"); /* the second digit without Alt */
    CHECK_STR(driver_cell(), " three four|one two");
    TYPE("\0332\x1f");
    CHECK_STR(driver_cell(), ">>>>>>>>>>>>|one two");
    TYPE("\0339999\x7f\0332");
    CHECK_STR(driver_cell(), "|one two");
    CHECK_STR(driver_screen(20, 5), ">> |one two\n2 times\n");
    TYPE("\x01\0333\x04x");
    CHECK_STR(driver_cell(), "x| two");
    CHECK_INT(TYPE("\0339\x02\0339\x04"), SH_CONTINUE); /* the empty cell is not left */
    CHECK_STR(driver_cell(), "|");
    CHECK_INT(TYPE("\0332\r"), SH_ACCEPT);
}

TEST(a_sign_before_a_command_has_the_opposite_done)
{
    TYPE("one two three\033-\033f");
    CHECK_STR(driver_cell(), "one two |three");
    TYPE("\033-2\033d");
    CHECK_STR(driver_cell(), "|three");
    TYPE("\0332\033-\x02");
    CHECK_STR(driver_cell(), "th|ree");
    TYPE("\033-x"); /* a letter has none */
    CHECK_STR(driver_cell(), "thx|ree");
    TYPE("\x19");
    CHECK_STR(driver_cell(), "thxone two |ree");
}

TEST(characters_are_found)
{
    TYPE("f(a, (b), c)\x01\x1d(");
    CHECK_STR(driver_cell(), "f|(a, (b), c)");
    TYPE("\0332\x1d)");
    CHECK_STR(driver_cell(), "f(a, (b), c|)");
    TYPE("\033\x1d(");
    CHECK_STR(driver_cell(), "f(a, |(b), c)");
    TYPE("\x1dz");
    CHECK_STR(driver_cell(), "f(a, |(b), c)");
    TYPE("\x1d\x01y"); /* no character: the key is lost, as in readline */
    CHECK_STR(driver_cell(), "f(a, y|(b), c)");
}

TEST(comments_come_and_go)
{
    TYPE("\033[200~do\n  x\n\n    y\nend\033[201~\033;");
    CHECK_STR(driver_cell(), "do\n  x\n\n    y\n-- end|");
    TYPE("\033<\x0e");
    driver_type_bytes("\0", 1);
    TYPE("\x0e\x0e\x05\033#");
    CHECK_STR(driver_cell(), "do\n  -- x\n\n  --   y|\n-- end");
    driver_type_bytes("\0", 1);
    TYPE("\033<\x0e\033;");
    CHECK_STR(driver_cell(), "do\n|  x\n\n    y\n-- end");
    TYPE("\x1f");
    CHECK_STR(driver_cell(), "do\n|  -- x\n\n  --   y\n-- end");
}

TEST(blanks_lines_and_everything_undone)
{
    TYPE("a  \t  b\x02\x02\033\\");
    CHECK_STR(driver_cell(), "a|b");
    TYPE("\x0f");
    CHECK_STR(driver_cell(), "a|\nb");
    TYPE("\x18\x7f");
    CHECK_STR(driver_cell(), "|\nb");
    TYPE("\033r");
    CHECK_STR(driver_cell(), "|");
}

TEST(killing_lines)
{
    TYPE("do\rx\ry" UP "\x01\x0b");
    CHECK_STR(driver_cell(), "do\n|\n  y");
    TYPE("\x0b");
    CHECK_STR(driver_cell(), "do\n|  y");
    TYPE("\x19");
    CHECK_STR(driver_cell(), "do\n  x\n|  y");
}

TEST(history_walks)
{
    history("one", "two\nlines", "three");
    TYPE("draft\x01" UP);
    CHECK_STR(driver_cell(), "three|");
    TYPE(UP UP);
    CHECK_STR(driver_cell(), "one|");
    TYPE(UP);
    CHECK_STR(driver_cell(), "one|");
    TYPE(DOWN);
    CHECK_STR(driver_cell(), "two\nlines|");
    TYPE(DOWN DOWN);
    CHECK_STR(driver_cell(), "|draft");
    TYPE(DOWN);
    CHECK_STR(driver_cell(), "|draft");
}

TEST(up_keeps_to_what_was_typed)
{
    history("print(1)", "x = 2", "print(3)\nend");
    TYPE("pr" UP);
    CHECK_STR(driver_cell(), "print(3)\nend|");
    TYPE(UP);
    CHECK_STR(driver_cell(), "print(1)|");
    TYPE("\x01" UP); /* nothing was typed since: still those */
    CHECK_STR(driver_cell(), "|print(1)");
    TYPE(DOWN DOWN);
    CHECK_STR(driver_cell(), "pr|");
    TYPE("z" UP);
    CHECK_STR(driver_cell(), "prz|");
}

TEST(a_recalled_block_can_be_edited)
{
    history("one", "two\nlines", "three");
    TYPE(UP UP LEFT UP "X");
    CHECK_STR(driver_cell(), "twoX|\nlines");
    CHECK_INT(TYPE("\r"), SH_ACCEPT);
    CHECK_STR(driver_editor.text.bytes, "twoX\nlines");
}

TEST(repeated_entries_are_passed_once)
{
    history("two", "one", "two");
    TYPE(UP UP);
    CHECK_STR(driver_cell(), "one|");
    TYPE(UP);
    CHECK_STR(driver_cell(), "one|");
    TYPE("\x15\x12w\x12");
    CHECK_STR(driver_cell(), "t|wo");
}

TEST(page_up_finds_the_same_beginning)
{
    history("print(1)", "x = 2", "print(3)");
    TYPE("pr\033[5~");
    CHECK_STR(driver_cell(), "pr|int(3)");
    TYPE("\033[5~");
    CHECK_STR(driver_cell(), "pr|int(1)");
    TYPE("\033[6~\033[6~");
    CHECK_STR(driver_cell(), "pr|");
}

TEST(search)
{
    history("alpha = 1", "beta = 2", "alphabet = 3");
    TYPE("draft\x12"
         "alp");
    CHECK_STR(driver_cell(), "|alphabet = 3");
    CHECK_STR(driver_screen(40, 10), ">> |alphabet = 3\nsearch: alp\n");
    TYPE("\x12");
    CHECK_STR(driver_cell(), "|alpha = 1");
    TYPE("\x12"); /* no older one */
    CHECK_STR(driver_cell(), "|alpha = 1");
    TYPE("\x13");
    CHECK_STR(driver_cell(), "|alphabet = 3");
    TYPE("zzz");
    CHECK_HAS(driver_screen(40, 10), "not found: alpzzz");
    TYPE("\x07");
    CHECK_STR(driver_cell(), "draft|");
    TYPE("\x12"
         "bet\x05");
    CHECK_STR(driver_cell(), "alphabet = 3|");
    TYPE(UP); /* goes on from what was found */
    CHECK_STR(driver_cell(), "beta = 2|");
}

TEST(search_and_run)
{
    history("alpha", "beta", "gamma");
    CHECK_INT(TYPE("\x12"
                   "be\r"),
              SH_ACCEPT);
    CHECK_STR(driver_editor.text.bytes, "beta");
}

TEST(cancelled_search_keeps_the_cell)
{
    history("alpha", "beta", "gamma");
    CHECK_INT(TYPE("mine\x12"
                   "be\x03"),
              SH_CONTINUE);
    CHECK_STR(driver_cell(), "mine|");
}

TEST(undo)
{
    TYPE("abc\x17\x1f");
    CHECK_STR(driver_cell(), "abc|");
    TYPE("\x1f");
    CHECK_STR(driver_cell(), "|");
    TYPE("\x1f");
    CHECK_STR(driver_cell(), "|");
}

TEST(control_c_d_z_l)
{
    CHECK_INT(TYPE("\x04"), SH_LEAVE);
    CHECK_INT(TYPE("x\x01\x04\x04"), SH_LEAVE); /* the first one erases */
    CHECK_INT(TYPE("abc\x03"), SH_CANCEL);
    CHECK_INT(TYPE("\x1a"), SH_SUSPEND);
    CHECK_INT(TYPE("\x0c"), SH_CLEAR);
}

TEST(pasting_inserts_and_runs_nothing)
{
    CHECK_INT(TYPE("\033[200~x = 1\r\n\ty = 2\nend\n\033[201~"), SH_CONTINUE);
    CHECK_STR(driver_cell(), "x = 1\n\ty = 2\nend\n|");
    CHECK_STR(driver_screen(40, 10), ">> x = 1\n..  y = 2\n.. end\n.. |\n");
    TYPE("\x1f");
    CHECK_STR(driver_cell(), "|");
}

TEST(one_match_is_put_in)
{
    completions((const char *[]){"linspace", "zeros", NULL});
    TYPE("x = lin\t");
    CHECK_STR(driver_cell(), "x = linspace|");
    CHECK_STR(driver_screen(40, 10), ">> x = linspace|\n");
}

TEST(common_beginning_then_list_then_choice)
{
    completions((const char *[]){"mean", "median", "max", NULL});
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
    completions((const char *[]){"mean", "median", "max", NULL});
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
    completions((const char *[]){"mean", "median", NULL});
    TYPE("m\t\t\033");
    CHECK_STR(driver_cell(), "me|");
    CHECK_STR(driver_screen(40, 10), ">> me|\n");
}

TEST(typing_on_takes_the_choice)
{
    completions((const char *[]){"mean", "median", NULL});
    TYPE("m\t\t(");
    CHECK_STR(driver_cell(), "mean(|");
}

TEST(enter_with_only_a_list_runs)
{
    completions((const char *[]){"mean", "median", NULL});
    CHECK_INT(TYPE("m\t\r"), SH_ACCEPT);
    CHECK_STR(driver_cell(), "me|");
}

TEST(completion_does_not_split_characters)
{
    completions((const char *[]){"\xC3\xA9t\xC3\xA9", "\xC3\xA8re", NULL});
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

TEST(history_suggests_the_rest)
{
    history("print(1)", "for i = 1, 3 do\n  print(i)\nend", "print(x + y)");
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
    completions((const char *[]){"mean", "median", NULL});
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
