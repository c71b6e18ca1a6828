/* Any bytes are tokens that cover the text in order, and rewriting them keeps every line on its line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "lang/rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition) abort();
}

/* Line breaks as Lua counts them: "\r\n" and "\n\r" are one. */
static int line_count(const char *text, size_t length)
{
    int n = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\n' && text[i] != '\r') continue;
        n++;
        if (i + 1 < length && text[i + 1] != text[i] && (text[i + 1] == '\n' || text[i + 1] == '\r')) i++;
    }
    return n;
}

static void check_tokens(const char *text, size_t length)
{
    struct lg_lexer x;
    struct lg_token t;
    size_t at = 0;
    int line = 1;
    lg_lexer_init(&x, text, length);
    while (lg_lexer_next(&x, &t)) {
        must(t.start >= at && t.end > t.start && t.end <= length);
        must(t.line >= line);
        must(t.kind != LG_TOKEN_END && (t.keyword != LG_NO_KEYWORD) == (t.kind == LG_TOKEN_KEYWORD));
        at = t.end;
        line = t.line;
    }
    must(x.at == length && t.kind == LG_TOKEN_END);
}

static void check_rewriting(const char *text, size_t length)
{
    struct lg_cell c = {0};
    must(lg_rewrite(text, length, &c));
    must(line_count(c.text.data ? c.text.data : "", c.text.length) == line_count(text, length));
    must(c.end <= c.text.length);
    size_t before = 0;
    for (size_t i = 0; i < c.start_count; i++) {
        must(c.starts[i].at >= before && c.starts[i].at <= c.text.length);
        before = c.starts[i].at;
    }
    lg_cell_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* its own block, so that a read past the end is seen */
    if (!text) return 0;
    memcpy(text, data, size);
    check_tokens(text, size);
    check_rewriting(text, size);
    free(text);
    return 0;
}
