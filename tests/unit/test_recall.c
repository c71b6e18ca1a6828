/* History in the line editor: up and down, beginnings, search. */
#include "tests/unit/editor_driver.h"

TEST(history_walks)
{
    driver_remember("one", "two\nlines", "three");
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
    driver_remember("print(1)", "x = 2", "print(3)\nend");
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
    driver_remember("one", "two\nlines", "three");
    TYPE(UP UP LEFT UP "X");
    CHECK_STR(driver_cell(), "twoX|\nlines");
    CHECK_INT(TYPE("\r"), SH_ACCEPT);
    CHECK_STR(driver_editor.text.bytes, "twoX\nlines");
}

TEST(repeated_entries_are_passed_once)
{
    driver_remember("two", "one", "two");
    TYPE(UP UP);
    CHECK_STR(driver_cell(), "one|");
    TYPE(UP);
    CHECK_STR(driver_cell(), "one|");
    TYPE("\x15\x12w\x12");
    CHECK_STR(driver_cell(), "t|wo");
}

TEST(page_up_finds_the_same_beginning)
{
    driver_remember("print(1)", "x = 2", "print(3)");
    TYPE("pr\033[5~");
    CHECK_STR(driver_cell(), "pr|int(3)");
    TYPE("\033[5~");
    CHECK_STR(driver_cell(), "pr|int(1)");
    TYPE("\033[6~\033[6~");
    CHECK_STR(driver_cell(), "pr|");
}

TEST(search)
{
    driver_remember("alpha = 1", "beta = 2", "alphabet = 3");
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
    driver_remember("alpha", "beta", "gamma");
    CHECK_INT(TYPE("\x12"
                   "be\r"),
              SH_ACCEPT);
    CHECK_STR(driver_editor.text.bytes, "beta");
}

TEST(cancelled_search_keeps_the_cell)
{
    driver_remember("alpha", "beta", "gamma");
    CHECK_INT(TYPE("mine\x12"
                   "be\x03"),
              SH_CONTINUE);
    CHECK_STR(driver_cell(), "mine|");
}
