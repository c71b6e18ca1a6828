/* Lines of source in errors: whole when they are short, else the part around the mark, which stays below its place. */
#include "runtime/excerpt.h"
#include "tests/unit/test.h"

static void check_excerpt(int number, const char *line, int column, size_t width, const char *expected)
{
    char text[RT_EXCERPT_TEXT];
    CHECK_INT(rt_write_excerpt(number, line, strlen(line), column, width, text, sizeof text), strlen(expected));
    CHECK_STR(text, expected);
}

TEST(short_lines_are_shown_whole)
{
    check_excerpt(3, "x = y[1]", 5, 1, "    3 | x = y[1]\n      |     ^");
    check_excerpt(3, "x = y[1]", 5, 4, "    3 | x = y[1]\n      |     ^~~~");
    check_excerpt(3, "x = y[1]", 5, 99, "    3 | x = y[1]\n      |     ^~~~");
    check_excerpt(3, "x = (", 6, 1, "    3 | x = (\n      |      ^");
    check_excerpt(3, "x = y[1]", 0, 1, "    3 | x = y[1]");
    check_excerpt(1234567, "x", 1, 1, "1234567 | x\n        | ^");
    check_excerpt(3, "a\tb\tc", 5, 1, "    3 | a\tb\tc\n      |  \t \t^");
    check_excerpt(3, "é = ü + ñ", 6, 2, "    3 | é = ü + ñ\n      |     ^");
    check_excerpt(3, "é = ü + ñ", 7, 1, "    3 | é = ü + ñ\n      |     ^");
}

/* A line of `count` characters of `bytes` bytes each, the one at `place`, from 0, a '*'; returns the byte column of
 * that one. */
static int make_line(char *line, int count, int bytes, int place)
{
    char *p = line;
    int column = 0;
    for (int i = 0; i < count; i++) {
        if (i == place) {
            column = (int)(p - line) + 1;
            *p++ = '*';
        } else if (bytes == 1) {
            *p++ = (char)('a' + i % 26);
        } else {
            memcpy(p, "é", 2);
            p += 2;
        }
    }
    *p = 0;
    return column;
}

static int characters(const char *from, const char *to)
{
    int n = 0;
    for (; from < to; from++) n += ((unsigned char)*from & 0xC0) != 0x80;
    return n;
}

static void check_place(int count, int bytes, int place, int most)
{
    char line[2 * 301 + 1], text[RT_EXCERPT_TEXT];
    const int column = make_line(line, count, bytes, place);
    rt_write_excerpt(7, line, strlen(line), column, 1, text, sizeof text);
    const char *end = strchr(text, '\n'), *star = strchr(text, '*'), *mark = strchr(text, '^');
    if (!end || !star || !mark || star > end) FAIL("%d of %d: %s", place, count, text);
    CHECK_INT(characters(text, star), characters(end + 1, mark));
    CHECK_INT(characters(text, end), 8 + (count < most ? count : most));
    const bool begins = !strncmp(text + 8, line, 4), ends = !strncmp(end - 4, line + strlen(line) - 4, 4);
    CHECK(begins || !strncmp(text + 8, "...", 3));
    CHECK(ends || !strncmp(end - 3, "...", 3));
    CHECK((begins && ends) == (count <= most));
}

TEST(the_mark_stays_below_its_place_however_long_the_line)
{
    static const struct {
        int columns, characters;
    } fits[] = {{0, 100}, {80, 72}, {1, 40}, {48, 40}, {49, 41}, {168, 160}, {999, 160}, {0, 100}};
    for (size_t k = 0; k < sizeof fits / sizeof *fits; k++) {
        rt_excerpt_fit(fits[k].columns);
        for (int bytes = 1; bytes <= 2; bytes++)
            for (int count = 35; count <= 300; count += count < 110 ? 1 : 37)
                for (int place = 0; place < count; place++) check_place(count, bytes, place, fits[k].characters);
    }
}

TEST(a_text_that_is_too_small_is_cut)
{
    char text[RT_EXCERPT_TEXT], cut[RT_EXCERPT_TEXT];
    const size_t n = rt_write_excerpt(7, "x = y + z", 9, 5, 1, text, sizeof text);
    for (size_t size = 1; size <= n; size++) {
        CHECK_INT(rt_write_excerpt(7, "x = y + z", 9, 5, 1, cut, size), size - 1);
        CHECK(!memcmp(cut, text, size - 1) && !cut[size - 1]);
    }
}
