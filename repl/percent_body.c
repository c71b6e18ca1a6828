/* The texts of cells in scripts. Markdown stands in comments. Code stands as it is, but for magics, which are comments
 * that begin with two dashes and then the magic's sign, without a blank: `--%time f()`, `--!ls`, `--?gpu.sum`; of a
 * cell that is a magic as a whole (%%cuda) the lines below are comments, too. A comment of that form in a cell gets two
 * more dashes, so that what is read is always what was written. */
#include <ctype.h>
#include <string.h>
#include "lang/rewrite.h"
#include "repl/percent_parts.h"

static void put_comment(struct sh_line l, struct lg_buffer *out)
{
    lg_buffer_puts(out, l.n ? "-- " : "--");
    lg_buffer_add(out, l.s, l.n);
    lg_buffer_puts(out, "\n");
}

/* The line without its comment's sign, if it has one. */
static struct sh_line uncommented(struct sh_line l)
{
    if (l.n < 2 || memcmp(l.s, "--", 2) != 0) return l;
    size_t n = l.n > 2 && l.s[2] == ' ' ? 3 : 2;
    return (struct sh_line){l.s + n, l.n - n};
}

/* How many pairs of dashes stand before `%%name`; -1 when that does not follow. */
static int dashes_before_cell_magic(const char *s, size_t n)
{
    size_t at = 0;
    while (at + 1 < n && s[at] == '-' && s[at + 1] == '-') at += 2;
    bool magic = at + 2 < n && s[at] == '%' && s[at + 1] == '%' && isalpha((unsigned char)s[at + 2]);
    return magic ? (int)(at / 2) : -1;
}

/* Whether a comment token is a magic line behind pairs of dashes. */
static bool hides_magic(const char *text, size_t length, const struct lg_token *t)
{
    size_t at = t->start;
    if (t->kind != LG_TOKEN_COMMENT || t->is_long || !t->first) return false;
    while (at + 1 < t->end && text[at] == '-' && text[at + 1] == '-') at += 2;
    return at < t->end && !isspace((unsigned char)text[at]) && lg_magic_line(text, length, at, true);
}

/* ---- reading */

static void read_comments(const char *text, size_t length, struct lg_buffer *source)
{
    struct sh_line line;
    size_t at = 0;
    for (bool first = true; sh_next_line(text, length, &at, &line); first = false) {
        if (!first) lg_buffer_puts(source, "\n");
        line = uncommented(line);
        lg_buffer_add(source, line.s, line.n);
    }
}

/* --[[ and ]] on lines of their own around the text. */
static bool read_long_comment(const char *text, size_t length, struct lg_buffer *source)
{
    struct lg_lexer x;
    struct lg_token t, next;
    lg_lexer_init(&x, text, length);
    if (!lg_lexer_next(&x, &t) || t.kind != LG_TOKEN_COMMENT || !t.is_long || t.unfinished) return false;
    if (lg_lexer_next(&x, &next) || t.start != 0) return false;
    const char *open = memchr(text + 3, '[', t.end - 3);
    size_t from = open ? (size_t)(open - text) + 1 : 0, to = t.end - (from - 2);
    if (!open || from >= t.end || text[from] != '\n' || to <= from || text[to - 1] != '\n') return false;
    if (from + 1 < to) lg_buffer_add(source, text + from + 1, to - from - 2);
    return true;
}

static bool is_commented(const char *text, size_t length)
{
    struct sh_line line;
    for (size_t at = 0; sh_next_line(text, length, &at, &line);)
        if (line.n < 2 || memcmp(line.s, "--", 2) != 0) return false;
    return true;
}

/* A cell that is a magic as a whole; the first line's dashes have no blank behind them. */
static void read_cell_magic(const char *text, size_t length, struct lg_buffer *source)
{
    struct sh_line line;
    size_t at = 0;
    sh_next_line(text, length, &at, &line);
    lg_buffer_add(source, line.s + 2, line.n - 2);
    if (at < length) lg_buffer_puts(source, "\n");
    read_comments(text + at, length - at, source);
}

static void read_code(const char *text, size_t length, struct lg_buffer *source)
{
    struct lg_lexer x;
    struct lg_token t;
    int dashes = dashes_before_cell_magic(text, length);
    size_t copied = 0;
    if (dashes == 1 && is_commented(text, length)) {
        read_cell_magic(text, length, source);
        return;
    }
    if (dashes > 1) copied = 2;
    lg_lexer_init(&x, text, length);
    while (lg_lexer_next(&x, &t)) {
        if (!hides_magic(text, length, &t)) continue;
        lg_buffer_add(source, text + copied, t.start - copied);
        copied = t.start + 2;
    }
    lg_buffer_add(source, text + copied, length - copied);
}

void sh_body_read(const char *type, const char *text, size_t length, struct lg_buffer *source)
{
    if (length && text[length - 1] == '\n') length--;
    if (strcmp(type, "code") == 0)
        read_code(text, length, source);
    else if (!read_long_comment(text, length, source))
        read_comments(text, length, source);
}

/* ---- writing */

static void put_comments(const char *source, size_t length, struct lg_buffer *text)
{
    struct sh_line line;
    size_t at = 0;
    while (sh_next_line(source, length, &at, &line)) put_comment(line, text);
    if (length && source[length - 1] == '\n') lg_buffer_puts(text, "--\n");
}

static void put_cell_magic(const char *source, size_t length, struct lg_buffer *text)
{
    struct sh_line line;
    size_t at = 0;
    sh_next_line(source, length, &at, &line);
    lg_buffer_puts(text, "--");
    lg_buffer_add(text, line.s, line.n);
    lg_buffer_puts(text, "\n");
    if (at == length && line.n < length) lg_buffer_puts(text, "--\n"); /* an empty second line */
    put_comments(source + at, length - at, text);
}

/* Follows a cell's tokens as the session does, which takes lines for magics at the top level alone. */
struct level {
    int depth, brackets;
    bool alone;
};

static bool begins_magic(struct level *v, const struct lg_lexer *x, const struct lg_token *t)
{
    if (t->kind == LG_TOKEN_COMMENT) return false;
    bool top = v->depth == 0 && v->brackets == 0;
    if (top && t->first && lg_magic_line(x->text, x->length, t->start, v->alone)) {
        v->alone = false;
        return true;
    }
    v->depth += lg_token_block(t);
    v->brackets += lg_token_bracket(x, t);
    if (v->depth < 0) v->depth = 0;
    if (v->brackets < 0) v->brackets = 0;
    v->alone = false;
    return false;
}

static void put_code(const char *source, size_t length, struct lg_buffer *text)
{
    struct lg_lexer x;
    struct lg_token t;
    struct level level = {.alone = true};
    size_t copied = 0;
    if (dashes_before_cell_magic(source, length) > 0) lg_buffer_puts(text, "--");
    lg_lexer_init(&x, source, length);
    while (lg_lexer_next(&x, &t)) {
        bool magic = begins_magic(&level, &x, &t);
        if (!magic && !hides_magic(source, length, &t)) continue;
        lg_buffer_add(text, source + copied, t.start - copied);
        lg_buffer_puts(text, "--");
        copied = t.start;
        if (!magic) continue;
        x.at = t.start;
        lg_lexer_skip_line(&x);
    }
    lg_buffer_add(text, source + copied, length - copied);
    if (length) lg_buffer_puts(text, "\n");
}

void sh_body_put(const char *type, const char *source, size_t length, struct lg_buffer *text)
{
    if (strcmp(type, "code") != 0)
        put_comments(source, length, text);
    else if (dashes_before_cell_magic(source, length) == 0)
        put_cell_magic(source, length, text);
    else
        put_code(source, length, text);
}
