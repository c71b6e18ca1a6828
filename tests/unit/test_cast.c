/* Recordings: lines of JSON, with characters whole. */
#include "repl/cast.h"
#include "tests/unit/test.h"

static struct sh_cast cast;
static struct sh_text out;

static const char *output_bytes(long long time, const char *bytes, size_t length)
{
    sh_text_set(&out, "", 0);
    CHECK(sh_cast_output(&cast, time, bytes, length, &out));
    return out.bytes;
}
#define OUTPUT(time, s) output_bytes(time, s, sizeof(s) - 1)

TEST(header)
{
    CHECK(sh_cast_header(80, 24, 1500000000, "a \"demo\"", "xterm", &out));
    CHECK_STR(out.bytes,
              "{\"version\":2,\"width\":80,\"height\":24,\"timestamp\":1500000000,\"title\":\"a \\\"demo\\\"\","
              "\"env\":{\"TERM\":\"xterm\"}}\n");
    sh_text_set(&out, "", 0);
    CHECK(sh_cast_header(20, 5, 0, NULL, NULL, &out));
    CHECK_STR(out.bytes, "{\"version\":2,\"width\":20,\"height\":5,\"timestamp\":0,\"env\":{}}\n");
}

TEST(events)
{
    CHECK_STR(OUTPUT(0, "hello"), "[0.000000, \"o\", \"hello\"]\n");
    CHECK_STR(OUTPUT(1234567, "a\r\n\033[1m\"\\"), "[1.234567, \"o\", \"a\\r\\n\\u001B[1m\\\"\\\\\"]\n");
    CHECK_STR(OUTPUT(2000001, ""), "");
    CHECK_STR(OUTPUT(2000001, "a\0b"), "[2.000001, \"o\", \"a\\u0000b\"]\n");
    sh_text_set(&out, "", 0);
    CHECK(sh_cast_resize(3500000, 100, 30, &out));
    CHECK_STR(out.bytes, "[3.500000, \"r\", \"100x30\"]\n");
}

TEST(characters_are_never_split)
{
    static const char text[] = "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80z";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct sh_text both = {0};
        CHECK(sh_cast_output(&cast, 0, text, cut, &both));
        CHECK(sh_cast_output(&cast, 0, text + cut, sizeof text - 1 - cut, &both));
        CHECK_INT(cast.tail_length, 0);
        CHECK(!strstr(both.bytes, "\xEF\xBF\xBD"));
        /* what stands between the quotes is the text */
        char joined[64] = "";
        for (const char *line = both.bytes; *line; line = strchr(line, '\n') + 1) {
            const char *from = strstr(line, "\"o\", \"") + 6;
            strncat(joined, from, (size_t)(strstr(from, "\"]") - from));
        }
        CHECK_STR(joined, text);
        sh_text_free(&both);
    }
}

TEST(byte_by_byte)
{
    CHECK_STR(OUTPUT(0, "\xF0"), "");
    CHECK_STR(OUTPUT(0, "\x9F"), "");
    CHECK_STR(OUTPUT(0, "\x98"), "");
    CHECK_STR(OUTPUT(9, "\x80"), "[0.000009, \"o\", \"\xF0\x9F\x98\x80\"]\n");
}

TEST(broken_bytes)
{
    CHECK_STR(OUTPUT(0, "a\xFF"
                        "b"),
              "[0.000000, \"o\", \"a\xEF\xBF\xBD"
              "b\"]\n");
    CHECK_STR(OUTPUT(0, "\x80\xC3"), "[0.000000, \"o\", \"\xEF\xBF\xBD\"]\n"); /* the second may go on */
    CHECK_STR(OUTPUT(0, "x"), "[0.000000, \"o\", \"\xEF\xBF\xBDx\"]\n");
    CHECK_STR(OUTPUT(0, "\xEF\xBF\xBD"), "[0.000000, \"o\", \"\xEF\xBF\xBD\"]\n"); /* itself */
    CHECK_STR(OUTPUT(0, "\xED\xA0\x80"), "[0.000000, \"o\", \"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"]\n");
    CHECK_STR(OUTPUT(0, "\xF0\x9F"), "");
    sh_text_set(&out, "", 0);
    CHECK(sh_cast_end(&cast, 5, &out));
    CHECK_STR(out.bytes, "[0.000005, \"o\", \"\xEF\xBF\xBD\xEF\xBF\xBD\"]\n");
    sh_text_set(&out, "", 0);
    CHECK(sh_cast_end(&cast, 6, &out));
    CHECK_STR(out.bytes, "");
}
