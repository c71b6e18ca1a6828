/* The line editor as a state machine: keys in, text and cursor out. */
#include "tests/unit/editor_driver.h"

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
