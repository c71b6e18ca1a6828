#include "repl/pair.h"

#include <string.h>
#include "lang/cuda.h"
#include "lang/lexer.h"
#include "repl/highlight.h"
#include "runtime/spelling.h"

enum { DEPTH = 256 }; /* what is nested deeper has no partner here */

struct open {
    size_t start, end;
    char sort; /* '(', '[', '{', or 'b' for a block's word */
};
struct finder {
    size_t at; /* where the token begins whose partner is wanted */
    const unsigned char *styles;
    size_t shown;
    struct open stack[DEPTH];
    int depth;
    int wanted; /* its place in the stack, 0 until it is there; from 1 */
    struct sh_pair *out;
    bool found, failed;
};

static void open_one(struct finder *f, size_t start, size_t end, char sort)
{
    if (f->depth == DEPTH) {
        f->failed = true;
        return;
    }
    f->stack[f->depth++] = (struct open){start, end, sort};
    if (start == f->at) f->wanted = f->depth;
}

static void close_one(struct finder *f, size_t start, size_t end, char sort)
{
    const struct open *o = f->depth ? &f->stack[f->depth - 1] : NULL;
    if (!o || o->sort != sort) {
        f->failed = f->wanted || start == f->at;
        f->depth = f->depth ? f->depth - 1 : 0;
        return;
    }
    if (start == f->at) {
        *f->out = (struct sh_pair){start, end, o->start, o->end};
        f->found = true;
    } else if (f->wanted == f->depth) {
        *f->out = (struct sh_pair){o->start, o->end, start, end};
        f->found = true;
    }
    f->depth--;
}

static char opening(char bracket)
{
    return bracket == ')' || bracket == '(' ? '(' : bracket == ']' || bracket == '[' ? '[' : '{';
}

static bool find_in_cuda(struct finder *f, const char *code, size_t from, size_t to)
{
    struct lg_cuda_token t;
    f->depth = 0;
    if (f->styles && f->shown > from) from = sh_fresh_cuda_line(code, from, f->shown, f->styles);
    for (size_t at = from; !f->found && !f->failed && lg_cuda_next(code, to, at, &t); at = t.end) {
        char c = code[t.start];
        if (t.kind != LG_CUDA_OTHER || !strchr("()[]{}", c)) continue;
        if (strchr("([{", c))
            open_one(f, t.start, t.end, c);
        else
            close_one(f, t.start, t.end, opening(c));
    }
    return f->found;
}

static void take_token(struct finder *f, const struct lg_lexer *x, const struct lg_token *t)
{
    int block = lg_token_block(t), bracket = lg_token_bracket(x, t);
    char sort = block ? 'b' : bracket ? opening(x->text[t->start]) : '\0';
    if (block + bracket > 0) open_one(f, t->start, t->end, sort);
    if (block + bracket < 0) close_one(f, t->start, t->end, sort);
}

static bool find_in_lua(struct finder *f, const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    size_t from, to;
    lg_lexer_init(&x, code, length);
    while (!f->found && !f->failed && lg_lexer_next(&x, &t)) {
        if (t.first && strchr("%?!", code[t.start])) {
            lg_lexer_skip_line(&x);
            continue;
        }
        if (t.kind == LG_TOKEN_STRING && f->at > t.start && f->at < t.end)
            return sh_cuda_inside(code, &before, &t, &from, &to) && find_in_cuda(f, code, from, to);
        if (f->at < t.start && !f->wanted) return false;
        take_token(f, &x, &t);
        if (t.kind != LG_TOKEN_COMMENT && !lg_token_is(&x, &t, "(")) before = t;
    }
    return f->found;
}

/* Where the bracket or the word at the position begins; false when neither is there. */
static bool find_start(const char *code, size_t length, size_t at, size_t *start)
{
    static const char brackets[] = "()[]{}";
    if (at < length && code[at] && strchr(brackets, code[at])) return *start = at, true;
    if (at > 0 && code[at - 1] && strchr(brackets, code[at - 1])) return *start = at - 1, true;
    size_t from = at, to = at;
    while (from > 0 && rt_in_name(code[from - 1])) from--;
    while (to < length && rt_in_name(code[to])) to++;
    struct lg_token word = {.keyword = lg_keyword_find(code + from, to - from)};
    *start = from;
    return to > from && lg_token_block(&word) != 0;
}

bool sh_find_pair(const char *code, size_t length, size_t at, const unsigned char *styles, size_t shown,
                  struct sh_pair *out)
{
    struct finder f = {.styles = styles, .shown = shown, .out = out};
    if (!find_start(code, length, at, &f.at)) return false;
    if (length < 6 || memcmp(code, "%%", 2) != 0) return find_in_lua(&f, code, length);
    const char *line = memchr(code, '\n', length);
    return line && memcmp(code, "%%cuda", 6) == 0 && find_in_cuda(&f, code, (size_t)(line - code), length);
}
