/* Comparing outputs with what is expected. */
#include "repl/diff.h"
#include "tests/unit/test.h"

/* NULL when they agree, else the difference. */
static const char *difference(const char *expected, const char *got)
{
    static struct sh_text a, b, out;
    sh_text_set(&a, expected, strlen(expected));
    sh_text_set(&b, got, strlen(got));
    sh_text_set(&out, "", 0);
    bool same = sh_diff(&a, &b, &out);
    CHECK_INT(same, out.length == 0);
    return same ? NULL : out.bytes;
}

#define SAME(a, b) CHECK(difference(a, b) == NULL)

TEST(what_agrees)
{
    SAME("", "");
    SAME("a\nb\n", "a\nb\n");
    SAME("a\nb", "a\nb\n");
    SAME("a  \nb\t\r\n", "a\nb");
    SAME("a\n\n\n", "a");
    SAME("a  b\t c\n  d", "a b c\n\td");
    CHECK_STR(difference("ab", "a b"), "- ab\n+ a b\n");
    CHECK_STR(difference(" a", "a"), "-  a\n+ a\n");
    SAME("x... y", "x 1  y");
    SAME("", "\n");
}

TEST(dots_in_a_line)
{
    SAME("a ... c", "a b c");
    SAME("a...c", "a  c");
    SAME("a...", "a");
    SAME("...c", "abc");
    SAME("took ... ms, ... GB/s", "took 12.5 ms, 3 GB/s");
    SAME("a...b...c", "axbybzc");
    SAME("1  1  ...  3", "1  1  ...  3");
    SAME("......", "x");
    CHECK_STR(difference("a ... c", "a b d"), "- a ... c\n+ a b d\n");
    CHECK_STR(difference("a...b", "xab"), "- a...b\n+ xab\n");
    CHECK_STR(difference("a...bb", "abab"), "- a...bb\n+ abab\n");
    CHECK_STR(difference("..", "x"), "- ..\n+ x\n");
}

TEST(dots_for_lines)
{
    SAME("...", "");
    SAME("...", "a\nb");
    SAME("a\n...\nd", "a\nb\nc\nd");
    SAME("a\n...\nd", "a\nd");
    SAME("a\n...", "a\nb");
    SAME("...\nx\n...\ny", "1\nx\n2\nx\ny");
    CHECK_STR(difference("a\n...\nd", "a\nb\nc"), "  \xE2\x80\xA6\n  b\n  c\n- d\n");
    CHECK_STR(difference("...\nx", "y"), "  y\n- x\n");
}

TEST(what_differs)
{
    CHECK_STR(difference("a\n", ""), "- a\n");
    CHECK_STR(difference("", "a\n"), "+ a\n");
    CHECK_STR(difference("a\nb\nc\n", "a\nx\nc\n"), "  a\n- b\n+ x\n  c\n");
    CHECK_STR(difference("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
              "  \xE2\x80\xA6\n  3\n  4\n- 5\n+ x\n  6\n  7\n");
    CHECK_STR(difference("a\n1\n2\n3\n4\n5\nb\n", "1\n2\n3\n4\n5\n"), "- a\n  1\n  2\n  \xE2\x80\xA6\n  4\n  5\n- b\n");
    CHECK_STR(difference("a\n1\n2\n3\n4\nb\n", "1\n2\n3\n4\n"), "- a\n  1\n  2\n  3\n  4\n- b\n");
    CHECK_STR(difference("a\n\nb", "a\nb"), "  a\n- \n  b\n");
}

/* Too many lines for a table of costs: still a difference, and equal starts don't count. */
TEST(long_outputs)
{
    static struct sh_text a, b, out;
    for (int i = 0; i < 20000; i++) sh_text_append(&a, "same\n", 5);
    sh_text_set(&b, a.bytes, a.length);
    CHECK(sh_diff(&a, &b, &out));
    sh_text_append(&b, "more\n", 5);
    CHECK(!sh_diff(&a, &b, &out));
    CHECK_STR(out.bytes, "  \xE2\x80\xA6\n  same\n  same\n+ more\n");
    out.length = 0;
    sh_text_insert(&b, 0, "first\n", 6);
    CHECK(!sh_diff(&a, &b, &out));
    CHECK_HAS(out.bytes, "+ first\n");
}
