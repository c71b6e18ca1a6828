/* Lua's tokens, and the blocks and brackets that they open. */
#include "lang/lexer.h"
#include "tests/unit/test.h"

/* The tokens of a text, one letter a kind and the text of each, e.g. "n:x o:= 1:1". */
static const char *tokens(const char *text)
{
    static char out[4096];
    static const char letters[] = {
        [LG_TOKEN_NAME] = 'n',    [LG_TOKEN_KEYWORD] = 'k',  [LG_TOKEN_NUMBER] = '1', [LG_TOKEN_STRING] = 's',
        [LG_TOKEN_COMMENT] = 'c', [LG_TOKEN_OPERATOR] = 'o', [LG_TOKEN_ERROR] = 'e'};
    struct lg_lexer x;
    struct lg_token t;
    size_t n = 0;
    *out = '\0';
    lg_lexer_init(&x, text, strlen(text));
    while (lg_lexer_next(&x, &t))
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%c%s:%.*s", n ? " " : "", letters[t.kind],
                              t.unfinished ? "!" : "", (int)(t.end - t.start), text + t.start);
    return out;
}

TEST(words_and_operators)
{
    CHECK_STR(tokens("local x <const> = a.b:c(...)"),
              "k:local n:x o:< n:const o:> o:= n:a o:. n:b o:: n:c o:( o:... o:)");
    CHECK_STR(tokens("a//b~=c>>1..d::e::"), "n:a o:// n:b o:~= n:c o:>> e:1..d o::: n:e o:::");
    CHECK_STR(tokens("endx end_ End end"), "n:endx n:end_ n:End k:end");
    CHECK_STR(tokens("x!y $ @"), "n:x e:! n:y e:$ e:@");
    CHECK_STR(tokens(""), "");
    CHECK_STR(tokens(" \t\n\v\f\r"), "");
}

TEST(numbers)
{
    CHECK_STR(tokens("0 12 3.5 .5 3. 1e10 1E-5 0x1F 0xA.8p3 0x.1p-2"),
              "1:0 1:12 1:3.5 1:.5 1:3. 1:1e10 1:1E-5 1:0x1F 1:0xA.8p3 1:0x.1p-2");
    CHECK_STR(tokens("1e 0x 12abc 1..2 1.2.3 0xg"), "e:1e e:0x e:12abc e:1..2 e:1.2.3 e:0xg");
    CHECK_STR(tokens("1-2"), "1:1 o:- 1:2");
    CHECK_STR(tokens("a.b.c"), "n:a o:. n:b o:. n:c");
}

TEST(strings)
{
    CHECK_STR(tokens("'a' \"b'c\" 'd\\'e'"), "s:'a' s:\"b'c\" s:'d\\'e'");
    CHECK_STR(tokens("[[x]] [==[a]]b]=]c]==]"), "s:[[x]] s:[==[a]]b]=]c]==]");
    CHECK_STR(tokens("'open\nx"), "s!:'open n:x");
    CHECK_STR(tokens("'a\\\nb' c"), "s:'a\\\nb' n:c");
    CHECK_STR(tokens("'a\\z\n   b' c"), "s:'a\\z\n   b' n:c");
    CHECK_STR(tokens("[[open"), "s!:[[open");
    CHECK_STR(tokens("[=x"), "o:[ o:= n:x");
    CHECK_STR(tokens("'\\"), "s!:'\\");
}

TEST(comments)
{
    CHECK_STR(tokens("-- a b\nc"), "c:-- a b n:c");
    CHECK_STR(tokens("--[[ a\nb ]] c"), "c:--[[ a\nb ]] n:c");
    CHECK_STR(tokens("--[==[ ]] ]==]c"), "c:--[==[ ]] ]==] n:c");
    CHECK_STR(tokens("--[[ open"), "c!:--[[ open");
    CHECK_STR(tokens("--[x\ny"), "c:--[x n:y");
    CHECK_STR(tokens("a -- end"), "n:a c:-- end");
}

TEST(lines_and_first_tokens)
{
    struct lg_lexer x;
    struct lg_token t;
    static const char text[] = "a b\r\n c\n\r[[\n\n]] d\n--[[x]] e";
    static const int lines[] = {1, 1, 2, 3, 5, 6};
    static const bool first[] = {true, false, true, true, false, true};
    lg_lexer_init(&x, text, strlen(text));
    for (int i = 0; i < 6; i++) {
        CHECK(lg_lexer_code(&x, &t));
        CHECK_INT(t.line, lines[i]);
        CHECK_INT(t.first, first[i]);
    }
    CHECK(!lg_lexer_code(&x, &t));
    CHECK_INT(t.kind, LG_TOKEN_END);
}

TEST(a_zero_byte_is_an_error_token_and_not_the_end)
{
    struct lg_lexer x;
    struct lg_token t;
    lg_lexer_init(&x, "a\0b", 3);
    CHECK(lg_lexer_next(&x, &t));
    CHECK(lg_lexer_next(&x, &t));
    CHECK_INT(t.kind, LG_TOKEN_ERROR);
    CHECK(lg_lexer_next(&x, &t));
    CHECK_INT(t.kind, LG_TOKEN_NAME);
}

TEST(blocks_and_brackets)
{
    struct lg_lexer x;
    struct lg_token t;
    static const char text[] =
        "for i=1,2 do if a then f({[1]=2}) elseif b then end end repeat until x function f() end";
    int depth = 0, brackets = 0, deepest = 0;
    lg_lexer_init(&x, text, strlen(text));
    while (lg_lexer_next(&x, &t)) {
        depth += lg_token_block(&t);
        brackets += lg_token_bracket(&x, &t);
        if (depth + brackets > deepest) deepest = depth + brackets;
    }
    CHECK_INT(depth, 0);
    CHECK_INT(brackets, 0);
    CHECK_INT(deepest, 5);
}

TEST(keywords_are_those_of_lua)
{
    for (int k = 1; k < LG_KEYWORD_COUNT; k++) {
        const char *name = lg_keyword_name((enum lg_keyword)k);
        CHECK_INT(lg_keyword_find(name, strlen(name)), k);
    }
    CHECK_INT(LG_KEYWORD_COUNT - 1, 22);
    CHECK_INT(lg_keyword_find("en", 2), LG_NO_KEYWORD);
}
