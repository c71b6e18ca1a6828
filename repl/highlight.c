#include "repl/highlight.h"

#include <string.h>
#include "lang/lexer.h"
#include "repl/frame.h"

static enum sh_style style_of(const struct lg_token *t)
{
    switch (t->kind) {
    case LG_TOKEN_KEYWORD: return SH_KEYWORD;
    case LG_TOKEN_NUMBER: return SH_NUMBER;
    case LG_TOKEN_STRING: return SH_STRING;
    case LG_TOKEN_COMMENT: return SH_COMMENT;
    default: return SH_PLAIN;
    }
}

/* A name that is called: by parentheses, a string or a table. */
static void mark_call(const struct lg_lexer *x, const struct lg_token *name, const struct lg_token *next,
                      unsigned char *styles)
{
    bool called = next->kind == LG_TOKEN_STRING || lg_token_is(x, next, "(") || lg_token_is(x, next, "{");
    if (name->kind == LG_TOKEN_NAME && called) memset(styles + name->start, SH_FUNCTION, name->end - name->start);
}

void sh_highlight(const char *code, size_t length, unsigned char *styles)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    memset(styles, SH_PLAIN, length);
    if (length >= 2 && code[0] == '%' && code[1] == '%') return;
    lg_lexer_init(&x, code, length);
    while (lg_lexer_next(&x, &t)) {
        if (t.first && strchr("%?!", code[t.start])) {
            lg_lexer_skip_line(&x);
            continue;
        }
        memset(styles + t.start, style_of(&t), t.end - t.start);
        mark_call(&x, &before, &t, styles);
        if (t.kind != LG_TOKEN_COMMENT) before = t;
    }
}
