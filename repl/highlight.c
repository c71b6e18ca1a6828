#define _GNU_SOURCE /* memrchr */
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

static size_t line_start(const char *code, size_t at)
{
    const char *end = at ? memrchr(code, '\n', at) : NULL; /* the code of an empty cell may be NULL */
    return end ? (size_t)(end - code) + 1 : 0;
}

size_t sh_fresh_cuda_line(const char *code, size_t from, size_t at, const unsigned char *styles)
{
    for (;; at--) {
        at = line_start(code, at);
        if (at <= from + 1) return from;
        if (styles[at - 1] != SH_COMMENT && code[at - 2] != '\\') return at;
    }
}

/* CUDA C that stands at [from, to): its styles up to `limit`, at least. Those before `right` are right already. Ends of
 * lines keep the style that they have, but in comments: so it is known what they are in. */
static void highlight_cuda(const char *code, size_t from, size_t to, size_t right, size_t limit, unsigned char *styles)
{
    struct lg_cuda_token t;
    for (size_t at = sh_fresh_cuda_line(code, from, right, styles); at < limit && lg_cuda_next(code, to, at, &t);
         at = t.end)
        if (t.end >= right && code[t.start] != '\n') memset(styles + t.start, cuda_style(code, &t), t.end - t.start);
}

void sh_highlight_cuda(const char *code, size_t length, unsigned char *styles)
{
    memset(styles, SH_PLAIN, length);
    highlight_cuda(code, 0, length, 0, length, styles);
}

static bool is_kernel(const char *code, const struct lg_token *name)
{
    return name->kind == LG_TOKEN_NAME && name->end - name->start == 6 && memcmp(code + name->start, "kernel", 6) == 0;
}

bool sh_cuda_inside(const char *code, const struct lg_token *before, const struct lg_token *string, size_t *from,
                    size_t *to)
{
    size_t bracket = 2;
    if (!string->is_long) return false;
    while (code[string->start + bracket - 1] == '=') bracket++;
    *from = string->start + bracket;
    *to = string->unfinished ? string->end : string->end - bracket;
    return is_kernel(code, before) || lg_cuda_is_source(code + *from, *to - *from);
}

size_t sh_fresh_start(const char *code, size_t length, size_t at, const unsigned char *styles)
{
    if (length >= 2 && code[0] == '%' && code[1] == '%') return 0;
    for (;;) {
        at = line_start(code, at);
        size_t first = at;
        while (first < length && code[first] == ' ') first++;
        bool word = first < length && ((code[first] | 32) >= 'a' && (code[first] | 32) <= 'z');
        if (at == 0 || (word && styles[at - 1] == SH_PLAIN)) return at;
        at--;
    }
}

void sh_highlight_part(const char *code, size_t length, size_t from, size_t to, unsigned char *styles)
{
    struct lg_lexer x;
    struct lg_token t, before = {0}; /* the last one that is no comment or parenthesis */
    size_t inside, end;
    memset(styles + from, SH_PLAIN, length - from);
    if (length >= 2 && code[0] == '%' && code[1] == '%') {
        const char *line = memchr(code, '\n', length);
        if (line && memcmp(code, "%%cuda", 6) == 0)
            highlight_cuda(code, (size_t)(line - code), length, from, to, styles);
        return;
    }
    lg_lexer_init(&x, code, length);
    x.at = sh_fresh_start(code, length, from, styles);
    /* The token behind the last one may say that it is a call. */
    for (t = before; t.start < to && lg_lexer_next(&x, &t);) {
        if (t.first && strchr("%?!", code[t.start])) {
            lg_lexer_skip_line(&x);
            continue;
        }
        bool cuda = t.kind == LG_TOKEN_STRING && sh_cuda_inside(code, &before, &t, &inside, &end);
        /* What has been CUDA C before the change still is; a string may have become that by the change. */
        size_t right = cuda && is_kernel(code, &before) && from > inside ? from < end ? from : end : t.start;
        memset(styles + right, style_of(&t), t.end - right);
        mark_call(&x, &before, &t, styles);
        if (cuda) highlight_cuda(code, inside, end, right, to, styles);
        if (t.kind != LG_TOKEN_COMMENT && !lg_token_is(&x, &t, "(")) before = t;
    }
}

void sh_highlight(const char *code, size_t length, unsigned char *styles)
{
    sh_highlight_part(code, length, 0, length, styles);
}
