/* Text as a terminal shows it: characters of several code points, widths, escape sequences. */
#include "tests/unit/test.h"

#include "repl/text.h"

TEST(inserting_and_deleting)
{
    struct sh_text t = {0};
    CHECK(sh_text_append(&t, "hello", 5));
    CHECK(sh_text_insert(&t, 0, ">", 1));
    CHECK(sh_text_insert(&t, 3, "--", 2));
    CHECK_STR(t.bytes, ">he--llo");
    sh_text_delete(&t, 3, 5);
    CHECK_STR(t.bytes, ">hello");
    sh_text_delete(&t, 2, 2);
    CHECK_INT(t.length, 6);
    CHECK(sh_text_set(&t, "", 0));
    CHECK_STR(t.bytes, "");
    for (int i = 0; i < 1000; i++) CHECK(sh_text_append(&t, "0123456789", 10));
    CHECK_INT(t.length, 10000);
    CHECK_INT(strlen(t.bytes), 10000);
    sh_text_free(&t);
    CHECK(t.bytes == NULL);
}

/* Steps over the text both ways and gives the sizes of the graphemes. */
static const char *graphemes(const char *s, size_t n)
{
    static char out[256];
    size_t ends[64], count = 0, used = 0;
    for (size_t at = 0; at < n;) {
        size_t next = sh_next_grapheme(s, n, at);
        CHECK(next > at && next <= n);
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%zu", at ? " " : "", next - at);
        ends[count++] = at = next;
    }
    size_t back = n;
    while (count-- > 0) {
        CHECK_INT(back, ends[count]);
        back = sh_previous_grapheme(s, n, back);
    }
    CHECK_INT(back, 0);
    return out;
}
#define GRAPHEMES(s) graphemes(s, sizeof(s) - 1)

TEST(grapheme_ends)
{
    CHECK_STR(GRAPHEMES("ab"), "1 1");
    CHECK_STR(GRAPHEMES("e\xCC\x81x"), "3 1");
    CHECK_STR(GRAPHEMES("\xE6\xBC\xA2\n\xE5\xAD\x97"), "3 1 3");
    CHECK_STR(GRAPHEMES("\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7"), "8 8"); /* two flags */
    CHECK_STR(GRAPHEMES("a\xFF\xFE"
                        "b\xC3"),
              "1 1 1 1 1");
    CHECK_STR(GRAPHEMES("\xE2\x82"), "1 1");
    CHECK_INT(sh_next_grapheme("x", 1, 1), 1);
    CHECK_INT(sh_previous_grapheme("x", 1, 0), 0);
}

TEST(widths)
{
    CHECK_INT(sh_width("abc", 3), 3);
    CHECK_INT(sh_width("\xE6\xBC\xA2", 3), 2);
    CHECK_INT(sh_width("e\xCC\x81", 3), 1);
    CHECK_INT(sh_width("\xCC\x81", 2), 0);
    CHECK_INT(sh_width("\033\x7F", 2), 4);
    CHECK_INT(sh_width("\xC2\x9B\xFF", 3), 2);
    CHECK_INT(sh_width("", 0), 0);
}

static const char *stripped(const char *s)
{
    static struct sh_text t;
    sh_text_set(&t, s, strlen(s));
    sh_strip_escapes(&t);
    return t.bytes;
}

TEST(escapes_are_taken_out)
{
    CHECK_STR(stripped("plain"), "plain");
    CHECK_STR(stripped("\033[31mred\033[0m and \033[1;4mmore\033[m"), "red and more");
    CHECK_STR(stripped("\033]0;title\ax\033]8;;address\033\\y\033]8;;\033\\z"), "xyz");
    CHECK_STR(stripped("a\033(Bb\033[?25l\033"), "aBb");
    CHECK_STR(stripped("\033[12"), "");
    CHECK_STR(stripped("\033]never ended"), "");
}

TEST(blocks_have_rows_of_their_own)
{
    struct sh_text t = {0};
    sh_text_append_block(&t, "one", 3);
    sh_text_append_block(&t, "two\n", 4);
    sh_text_append(&t, "open", 4);
    sh_text_append_block(&t, "", 0);
    sh_text_append_block(&t, "three", 5);
    CHECK_STR(t.bytes, "one\ntwo\nopen\nthree\n");
    sh_text_free(&t);
}
