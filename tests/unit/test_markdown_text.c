/* Markdown as rows for a terminal. Styles are checked as letters below the rows. */
#include "repl/markdown_text.h"
#include "tests/unit/test.h"

static struct sh_frame f;

static void render(const char *text, int columns)
{
    struct sh_markdown m = {0};
    CHECK(sh_markdown_parse(text, strlen(text), &m));
    sh_frame_begin(&f, columns);
    sh_markdown_frame(&m, &f);
    CHECK(!f.failed);
    for (size_t i = 0; i < f.count; i++) CHECK(f.rows[i].width <= columns);
    sh_markdown_free(&m);
}

static const char *rows(const char *text, int columns)
{
    static char out[16384];
    size_t n = 0;
    render(text, columns);
    for (size_t i = 0; i < f.count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%.*s\n", (int)(f.rows[i].end - f.rows[i].start),
                              f.text.bytes + f.rows[i].start);
    return out;
}

/* The style of the first byte of a part of the text. */
static enum sh_style style_at(const char *part)
{
    const char *at = strstr(f.text.bytes, part);
    CHECK(at);
    return (enum sh_style)f.styles.bytes[at - f.text.bytes];
}

TEST(paragraphs_are_broken_at_words)
{
    CHECK_STR(rows("one two three four", 9), "one two\nthree\nfour\n");
    CHECK_STR(rows("one two\nthree", 80), "one two three\n");
    CHECK_STR(rows("a\n\nb", 80), "a\n\nb\n");
    CHECK_STR(rows("a  \nb", 80), "a\nb\n");
    CHECK_STR(rows("12345678901234", 5), "12345\n67890\n1234\n");
    CHECK_STR(rows("ab 1234567", 5), "ab\n12345\n67\n");
    CHECK_STR(rows("12345 67890", 5), "12345\n67890\n");
    CHECK_STR(rows("", 10), "\n");
}

TEST(widths_are_those_on_the_screen)
{
    CHECK_STR(rows("\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2", 5), "\xE6\xBC\xA2\xE5\xAD\x97\n\xE6\xBC\xA2\n");
    CHECK_STR(rows("caf\xC3\xA9 au", 7), "caf\xC3\xA9 au\n");
    CHECK_STR(rows("e\xCC\x81 e\xCC\x81 e\xCC\x81", 3), "e\xCC\x81 e\xCC\x81\ne\xCC\x81\n");
}

TEST(inlines)
{
    CHECK_STR(rows("a *b* **c** `d e` ~~f~~ [g](h.md) $x$ <b>i</b>", 80), "a b c d e f g x i\n");
    CHECK_INT(style_at("b"), SH_EMPHASIS);
    CHECK_INT(style_at("c"), SH_STRONG);
    CHECK_INT(style_at("d e"), SH_CODE);
    CHECK_INT(style_at("f"), SH_STRIKE);
    CHECK_INT(style_at("g"), SH_LINK);
    CHECK_INT(style_at(" b"), SH_PLAIN);
    CHECK_INT(style_at(" g"), SH_PLAIN);
    CHECK_STR(rows("**bold *both* `code`**", 80), "bold both code\n");
    CHECK_INT(style_at("both"), SH_STRONG);
    CHECK_INT(style_at(" both"), SH_STRONG);
    CHECK_STR(rows("x**y**z", 80), "xyz\n"); /* one word of two styles */
    CHECK_STR(rows("aaa x**yyy**z", 7), "aaa\nxyyyz\n");
}

TEST(links_that_lead_out_show_their_address)
{
    CHECK_STR(rows("[Lua](https://lua.org) and <https://a.b>", 80), "Lua (https://lua.org) and https://a.b\n");
    CHECK_STR(rows("![a plot](x.png)", 80), "[image: a plot]\n");
}

TEST(headings)
{
    CHECK_STR(rows("# One\ntext", 80), "One\n\xE2\x95\x90\xE2\x95\x90\xE2\x95\x90\n\ntext\n");
    CHECK_INT(style_at("One"), SH_HEADING);
    CHECK_STR(rows("## Two `x`\n\n### Three", 80),
              "Two x\n\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\n\nThree\n");
    CHECK_INT(style_at("x"), SH_CODE);
    CHECK_STR(rows("## ab cd", 3), "ab\ncd\n\xE2\x94\x80\xE2\x94\x80\n");
}

TEST(code)
{
    CHECK_STR(rows("```lua\nlocal x = 1\n\nreturn\tx\n```", 80), "  local x = 1\n  \n  return  x\n");
    CHECK_INT(style_at("local"), SH_KEYWORD);
    CHECK_INT(style_at("1"), SH_NUMBER);
    CHECK_STR(rows("```\nlocal x\n```", 80), "  local x\n");
    CHECK_INT(style_at("local"), SH_PLAIN);
    rows("```cuda\nfloat x = 1; // c\n```", 80);
    CHECK_INT(style_at("float"), SH_KEYWORD);
    CHECK_INT(style_at("//"), SH_COMMENT);
    CHECK_INT(style_at("x"), SH_PLAIN);
    CHECK_STR(rows("    123456789012", 10), "  12345678\n  9012\n");
}

TEST(lists)
{
    CHECK_STR(rows("- a\n- b\n  - c\n\n1. one\n2. two three", 8),
              "\xE2\x80\xA2 a\n\xE2\x80\xA2 b\n  \xE2\x80\xA2 c\n\n1. one\n2. two\n   three\n");
    CHECK_STR(rows("- a\n\n- b", 8), "\xE2\x80\xA2 a\n\n\xE2\x80\xA2 b\n");
    CHECK_STR(rows("9. a\n10. b", 80), "9. a\n10. b\n");
    CHECK_STR(rows("- [ ] open\n- [x] done", 80), "\xE2\x98\x90 open\n\xE2\x98\x91 done\n");
    CHECK_STR(rows("-\n- a", 80), "\xE2\x80\xA2 \n\xE2\x80\xA2 a\n");
    CHECK_STR(rows("- a\n\n  ```\n  x\n  ```", 80), "\xE2\x80\xA2 a\n\n    x\n");
}

TEST(quotes)
{
    CHECK_STR(rows("> one two\n>\n> three\n> > four", 8),
              "\xE2\x94\x82 one\n\xE2\x94\x82 two\n\xE2\x94\x82\n\xE2\x94\x82 "
              "three\n\xE2\x94\x82\n\xE2\x94\x82 \xE2\x94\x82 four\n");
    CHECK_STR(rows("- > a\n  > b", 80), "\xE2\x80\xA2 \xE2\x94\x82 a b\n");
}

TEST(rules)
{
    CHECK_STR(rows("a\n\n***\n\nb", 4), "a\n\n\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\n\nb\n");
}

#define BAR   " \xE2\x94\x82 "
#define CROSS "\xE2\x94\x80\xE2\x94\xBC\xE2\x94\x80"
#define LINE  "\xE2\x94\x80"

TEST(tables)
{
    const char *text = "| a | right | mid |\n|---|------:|:---:|\n| **long** | 1 | x |\n| \xE6\xBC\xA2 | 22 | |";
    CHECK_STR(rows(text, 80),
              "a   " BAR "right" BAR "mid\n" LINE LINE LINE LINE CROSS LINE LINE LINE LINE LINE CROSS LINE LINE LINE
              "\nlong" BAR "    1" BAR " x\n\xE6\xBC\xA2  " BAR "   22" BAR " \n");
    CHECK_INT(style_at("right"), SH_STRONG);
    CHECK_INT(style_at("long"), SH_STRONG);
    CHECK_INT(style_at("22"), SH_PLAIN);
}

TEST(narrow_tables_break_their_cells)
{
    CHECK_STR(rows("| ab | words that wrap |\n|---|---|\n| c | d |", 14),
              "ab" BAR "words\n  " BAR "that wrap\n" LINE LINE CROSS LINE LINE LINE LINE LINE LINE LINE LINE LINE
              "\nc " BAR "d\n");
    CHECK_STR(rows("| aaaa | bbbb | cccc |\n|---|---|---|\n| 1 | 2 | 3 |", 10),
              "aaaa \xE2\x94\x82\nbbbb \xE2\x94\x82\ncccc\n1" BAR "2" BAR "3\n");
}

TEST(no_width_is_too_small)
{
    const char *text =
        "# A heading\n\n> quote\n> - list\n>   1. more\n>      > deep\n>      > ```c\n>      > int x;\n\n| a | b "
        "|\n|---|---|\n| wide cell | \xE6\xBC\xA2 |\n\n***";
    for (int columns = 2; columns < 60; columns++) render(text, columns);
}
