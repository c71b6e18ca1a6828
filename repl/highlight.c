#include "repl/highlight.h"

#include <string.h>
#include "lang/cuda.h"
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

static enum sh_style cuda_style(const char *code, const struct lg_cuda_token *t)
{
    const struct lg_cuda_word *word;
    switch (t->kind) {
    case LG_CUDA_NUMBER: return SH_NUMBER;
    case LG_CUDA_STRING: return SH_STRING;
    case LG_CUDA_COMMENT: return SH_COMMENT;
    case LG_CUDA_DIRECTIVE: return SH_KEYWORD;
    case LG_CUDA_WORD:
        word = lg_cuda_find(code + t->start, t->end - t->start);
        if (!word) return SH_PLAIN;
        return *word->kind == 'k' || *word->kind == 't' ? SH_KEYWORD : SH_FUNCTION;
    default: return SH_PLAIN;
    }
}

static void highlight_cuda(const char *code, size_t from, size_t to, unsigned char *styles)
{
    struct lg_cuda_token t;
    for (size_t at = from; lg_cuda_next(code, to, at, &t); at = t.end)
        memset(styles + t.start, cuda_style(code, &t), t.end - t.start);
}

void sh_highlight_cuda(const char *code, size_t length, unsigned char *styles)
{
    memset(styles, SH_PLAIN, length);
    highlight_cuda(code, 0, length, styles);
}

bool sh_cuda_inside(const char *code, const struct lg_token *before, const struct lg_token *string, size_t *from,
                    size_t *to)
{
    size_t bracket = 2;
    if (!string->is_long) return false;
    while (code[string->start + bracket - 1] == '=') bracket++;
    *from = string->start + bracket;
    *to = string->unfinished ? string->end : string->end - bracket;
    bool kernel = before->kind == LG_TOKEN_NAME && before->end - before->start == 6 &&
                  memcmp(code + before->start, "kernel", 6) == 0;
    return kernel || lg_cuda_is_source(code + *from, *to - *from);
}

void sh_highlight(const char *code, size_t length, unsigned char *styles)
{
    struct lg_lexer x;
    struct lg_token t, before = {0}; /* the last one that is no comment or parenthesis */
    size_t from, to;
    memset(styles, SH_PLAIN, length);
    if (length >= 2 && code[0] == '%' && code[1] == '%') {
        const char *line = memchr(code, '\n', length);
        if (line && memcmp(code, "%%cuda", 6) == 0) highlight_cuda(code, (size_t)(line - code), length, styles);
        return;
    }
    lg_lexer_init(&x, code, length);
    while (lg_lexer_next(&x, &t)) {
        if (t.first && strchr("%?!", code[t.start])) {
            lg_lexer_skip_line(&x);
            continue;
        }
        memset(styles + t.start, style_of(&t), t.end - t.start);
        mark_call(&x, &before, &t, styles);
        if (t.kind == LG_TOKEN_STRING && sh_cuda_inside(code, &before, &t, &from, &to))
            highlight_cuda(code, from, to, styles);
        if (t.kind != LG_TOKEN_COMMENT && !lg_token_is(&x, &t, "(")) before = t;
    }
}
