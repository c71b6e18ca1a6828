#include "lang/rewrite.h"

#include <stdlib.h>
#include <string.h>
#include "lang/magic.h"
#include "runtime/memory.h"
#include "runtime/spelling.h"

struct rewriter {
    struct lg_cell *out;
    struct lg_lexer x;
    struct lg_token previous; /* the last token that is no comment; LG_TOKEN_END before the first */
    size_t copied;            /* the input up to here is in the output */
    int depth, brackets;
    struct lg_buffer fixed; /* names that are true locals of this cell, each ended by a NUL */
};

static bool has_name(const struct lg_buffer *names, const char *name, size_t length)
{
    for (size_t i = 0; i < names->length; i += strlen(names->data + i) + 1)
        if (strlen(names->data + i) == length && memcmp(names->data + i, name, length) == 0) return true;
    return false;
}

static void add_name(struct lg_buffer *names, const char *name, size_t length)
{
    lg_buffer_add(names, name, length);
    lg_buffer_add(names, "", 1);
}

/* Copies the input up to `until`. */
static void copy(struct rewriter *r, size_t until)
{
    if (until <= r->copied) return;
    lg_buffer_add(&r->out->text, r->x.text + r->copied, until - r->copied);
    r->copied = until;
}

/* Puts spaces for the input up to `until`, keeping line breaks. */
static void blank(struct rewriter *r, size_t until)
{
    for (; r->copied < until; r->copied++) {
        char c = r->x.text[r->copied];
        lg_buffer_add(&r->out->text, c == '\n' || c == '\r' ? &c : " ", 1);
    }
}

static void add_start(struct rewriter *r, size_t at, enum lg_start_kind kind)
{
    struct lg_cell *c = r->out;
    if (c->start_count == c->start_capacity) {
        size_t wanted = c->start_capacity ? 2 * c->start_capacity : 32;
        struct lg_start *starts = rt_realloc(c->starts, wanted * sizeof *starts);
        if (!starts) {
            c->failed = true;
            return;
        }
        c->starts = starts;
        c->start_capacity = wanted;
    }
    c->starts[c->start_count++] = (struct lg_start){at, kind};
}

/* Whether a statement may begin after this token: `a, local x = 1` must stay the error it is. */
static bool ends_statement(const struct rewriter *r)
{
    const struct lg_token *t = &r->previous;
    switch (t->kind) {
    case LG_TOKEN_END:
    case LG_TOKEN_NAME:
    case LG_TOKEN_NUMBER:
    case LG_TOKEN_STRING: return true;
    case LG_TOKEN_KEYWORD:
        return t->keyword == LG_END || t->keyword == LG_BREAK || t->keyword == LG_NIL || t->keyword == LG_TRUE ||
               t->keyword == LG_FALSE;
    case LG_TOKEN_OPERATOR:
        return strchr(";)]}", r->x.text[t->start]) || lg_token_is(&r->x, t, "::") || lg_token_is(&r->x, t, "...");
    default: return false;
    }
}

/* A list of names with attributes, as it follows `local`. */
struct name_list {
    struct lg_lexer after; /* the lexer behind its last token */
    size_t end;            /* of its last token */
    bool good, stays, constant, has_value;
};

/* Reads "<attribute>" when it is there. False when it is malformed or unknown. */
static bool read_attribute(struct lg_lexer *x, struct name_list *l)
{
    struct lg_lexer y = *x;
    struct lg_token t;
    if (!lg_lexer_code(&y, &t) || !lg_token_is(&y, &t, "<")) return true;
    if (!lg_lexer_code(&y, &t) || t.kind != LG_TOKEN_NAME) return false;
    if (lg_token_is(&y, &t, "close")) {
        l->stays = true;
    } else if (lg_token_is(&y, &t, "const")) {
        l->constant = true;
    } else {
        return false;
    }
    if (!lg_lexer_code(&y, &t) || !lg_token_is(&y, &t, ">")) return false;
    l->end = t.end;
    *x = y;
    return true;
}

/* Reads the list after `local`; adds its names to `names` when that is given. */
static struct name_list read_names(const struct rewriter *r, struct lg_buffer *names)
{
    struct name_list l = {.after = r->x};
    struct lg_token t;
    for (;;) {
        if (!lg_lexer_code(&l.after, &t) || t.kind != LG_TOKEN_NAME) return l;
        const char *name = r->x.text + t.start;
        size_t n = t.end - t.start;
        /* A cell's own _ENV, and what is a true local already, stay true locals. */
        if (lg_token_is(&r->x, &t, "_ENV") || has_name(&r->fixed, name, n)) l.stays = true;
        if (names) add_name(names, name, n);
        l.end = t.end;
        if (!read_attribute(&l.after, &l)) return l;
        struct lg_lexer y = l.after;
        bool more = lg_lexer_code(&y, &t);
        if (!more || !lg_token_is(&y, &t, ",")) {
            l.has_value = more && lg_token_is(&y, &t, "=");
            l.good = true;
            return l;
        }
        l.after = y;
    }
}

/* Copies a list of names whose attributes become spaces. */
static void copy_names(struct rewriter *r, const struct name_list *l)
{
    struct lg_token t;
    while (r->x.at < l->end && lg_lexer_code(&r->x, &t)) {
        if (!lg_token_is(&r->x, &t, "<")) continue;
        copy(r, t.start);
        for (int i = 0; i < 2; i++) lg_lexer_code(&r->x, &t);
        blank(r, t.end);
    }
    copy(r, l->end);
    if (!l->has_value) lg_buffer_puts(&r->out->text, "=nil");
}

/* At a top-level `local` (the lexer stands behind it). */
static void rewrite_local(struct rewriter *r, const struct lg_token *local)
{
    struct lg_lexer y = r->x;
    struct lg_token t, name;
    if (lg_lexer_code(&y, &t) && t.keyword == LG_FUNCTION) {
        if (!lg_lexer_code(&y, &name) || name.kind != LG_TOKEN_NAME) return;
        const char *word = y.text + name.start;
        size_t n = name.end - name.start;
        if (!lg_lexer_code(&y, &t) || !lg_token_is(&y, &t, "(")) return;
        if (has_name(&r->fixed, word, n) || lg_token_is(&y, &name, "_ENV")) return;
        add_name(&r->out->names, word, n);
        copy(r, local->start);
        blank(r, local->end);
        return;
    }
    struct name_list l = read_names(r, NULL);
    if (!l.good) return;
    read_names(r, l.stays ? &r->fixed : &r->out->names);
    if (l.stays) return;
    r->out->constants |= l.constant;
    copy(r, local->start);
    blank(r, local->end);
    copy_names(r, &l);
    /* What precedes a value or a statement now is a name. */
    r->previous = (struct lg_token){.kind = LG_TOKEN_NAME};
}

static enum lg_start_kind start_kind(const struct rewriter *r, const struct lg_token *t)
{
    struct lg_lexer y = r->x;
    struct lg_token next;
    switch (t->kind) {
    case LG_TOKEN_NAME: return LG_START_CERTAIN;
    case LG_TOKEN_KEYWORD:
        if (t->keyword == LG_NIL || t->keyword == LG_TRUE || t->keyword == LG_FALSE || t->keyword == LG_NOT ||
            t->keyword == LG_AND || t->keyword == LG_OR)
            return LG_START_POSSIBLE;
        if (t->keyword != LG_FUNCTION) return LG_START_STATEMENT;
        return lg_lexer_code(&y, &next) && lg_token_is(&y, &next, "(") ? LG_START_POSSIBLE : LG_START_STATEMENT;
    default: return lg_token_is(&r->x, t, "::") || lg_token_is(&r->x, t, ";") ? LG_START_STATEMENT : LG_START_POSSIBLE;
    }
}

/* name? and name??, the whole line. */
static bool asks_about_name(const char *p, const char *end)
{
    if (p == end || !rt_in_name(*p) || (*p >= '0' && *p <= '9')) return false;
    while (p < end && (rt_in_name(*p) || *p == '.' || *p == ':')) p++;
    if (p == end || *p != '?') return false;
    while (p < end && *p == '?') p++;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p == end;
}

bool lg_magic_line(const char *text, size_t length, size_t at, bool alone)
{
    const char *p = text + at, *end = text + length;
    const char *stop = p;
    while (stop < end && *stop != '\n' && *stop != '\r') stop++;
    if (p == stop) return false;
    if (*p == '!' || *p == '?') return true;
    if (*p != '%') return asks_about_name(p, stop);
    /* A line may continue an expression by `% name`; where that is possible only a magic's own name counts. */
    const char *name = ++p;
    while (p < stop && rt_in_name(*p)) p++;
    if (p == name) return false;
    return alone || lg_magic_find(name, (size_t)(p - name)) != NULL;
}

static void quote(struct lg_buffer *b, const char *text, size_t length)
{
    lg_buffer_puts(b, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c == '"' || c == '\\' || c == 127) {
            lg_buffer_printf(b, "\\%03d", c);
        } else {
            lg_buffer_add(b, text + i, 1);
        }
    }
    lg_buffer_puts(b, "\"");
}

/* A magic line becomes a call of the magic function with its text and its line number. */
static void rewrite_magic(struct rewriter *r, const struct lg_token *t)
{
    struct lg_buffer *b = &r->out->text;
    copy(r, t->start);
    add_start(r, b->length, LG_START_CERTAIN);
    r->x.at = t->start;
    lg_lexer_skip_line(&r->x);
    size_t end = r->x.at;
    while (end > t->start && (r->x.text[end - 1] == ' ' || r->x.text[end - 1] == '\t')) end--;
    lg_buffer_puts(b, LG_MAGIC_FUNCTION "(");
    quote(b, r->x.text + t->start, end - t->start);
    lg_buffer_printf(b, ",%d)", t->line);
    r->copied = r->x.at;
    r->out->magic = true;
    r->out->end = b->length;
    r->out->silenced = false;
    r->previous = (struct lg_token){.kind = LG_TOKEN_STRING};
}

/* Whether no expression can go on here: at the cell's start and after a semicolon. */
static bool after_end(const struct rewriter *r)
{
    return r->previous.kind == LG_TOKEN_END || lg_token_is(&r->x, &r->previous, ";");
}

/* Whether a statement certainly begins at `t`, though it is not the first of its line: no expression holds two values
 * side by side, but for a string, table or parenthesis, which may be a call's arguments. */
static bool begins_statement(const struct rewriter *r, const struct lg_token *t)
{
    if (after_end(r)) return true;
    return ends_statement(r) && (t->kind == LG_TOKEN_NAME || t->kind == LG_TOKEN_NUMBER || t->keyword == LG_NOT ||
                                 t->keyword == LG_FUNCTION || t->keyword == LG_LOCAL);
}

static void rewrite_token(struct rewriter *r, const struct lg_token *t)
{
    bool top = r->depth == 0 && r->brackets == 0;
    if (top && t->first && lg_magic_line(r->x.text, r->x.length, t->start, r->previous.kind == LG_TOKEN_END)) {
        rewrite_magic(r, t);
        return;
    }
    bool starts = top && (t->first || begins_statement(r, t));
    copy(r, t->start);
    if (top && t->keyword == LG_RETURN && ends_statement(r)) lg_buffer_puts(&r->out->text, LG_RETURN_GUARD);
    if (starts) {
        enum lg_start_kind kind = start_kind(r, t);
        if (kind == LG_START_POSSIBLE && after_end(r)) kind = LG_START_CERTAIN;
        add_start(r, r->out->text.length, kind);
    }
    bool local = top && t->keyword == LG_LOCAL && ends_statement(r);
    r->depth += lg_token_block(t);
    if (r->depth < 0) r->depth = 0;
    r->brackets += lg_token_bracket(&r->x, t);
    if (r->brackets < 0) r->brackets = 0;
    r->previous = *t;
    if (local) rewrite_local(r, t);
    copy(r, t->end);
    if (lg_token_is(&r->x, t, ";")) {
        r->out->silenced = true;
    } else {
        r->out->silenced = false;
        r->out->end = r->out->text.length;
    }
}

bool lg_rewrite(const char *text, size_t length, struct lg_cell *out)
{
    struct rewriter r = {.out = out};
    struct lg_token t;
    lg_lexer_init(&r.x, text, length);
    while (lg_lexer_code(&r.x, &t)) rewrite_token(&r, &t);
    copy(&r, length);
    out->failed = out->failed || out->text.failed || out->names.failed || r.fixed.failed;
    lg_buffer_release(&r.fixed);
    return !out->failed;
}

void lg_cell_release(struct lg_cell *c)
{
    lg_buffer_release(&c->text);
    lg_buffer_release(&c->names);
    free(c->starts);
    *c = (struct lg_cell){0};
}
