#include "lang/lexer.h"

#include <string.h>

static const char *const keywords[LG_KEYWORD_COUNT] = {
    "",   "and",   "break", "do",  "else", "elseif", "end",    "false", "for",  "function", "goto",  "if",
    "in", "local", "nil",   "not", "or",   "repeat", "return", "then",  "true", "until",    "while",
};

/* The C library's ctype functions depend on the locale; Lua's own do not. */
static inline bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_alpha(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_hex(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

const char *lg_keyword_name(enum lg_keyword k)
{
    return keywords[k];
}

enum lg_keyword lg_keyword_find(const char *word, size_t length)
{
    if (length < 2 || length > 8) return LG_NO_KEYWORD;
    for (int k = 1; k < LG_KEYWORD_COUNT && *keywords[k] <= *word; k++) /* they are sorted */
        if (*keywords[k] == *word && strncmp(keywords[k], word, length) == 0 && !keywords[k][length])
            return (enum lg_keyword)k;
    return LG_NO_KEYWORD;
}

bool lg_is_name(const char *s, size_t n)
{
    if (!n || (*s >= '0' && *s <= '9')) return false;
    for (size_t i = 0; i < n; i++)
        if (!((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z') && !(s[i] >= '0' && s[i] <= '9') && s[i] != '_') return false;
    return lg_keyword_find(s, n) == LG_NO_KEYWORD;
}

void lg_lexer_init(struct lg_lexer *x, const char *text, size_t length)
{
    *x = (struct lg_lexer){.text = text, .length = length, .line = 1, .fresh = true};
}

/* The byte `ahead` of the position, or -1 past the end. */
static inline int peek(const struct lg_lexer *x, size_t ahead)
{
    return x->length - x->at > ahead ? (unsigned char)x->text[x->at + ahead] : -1;
}

/* Steps over one line break; "\r\n" and "\n\r" count as one, as in Lua. */
static void newline(struct lg_lexer *x)
{
    int c = peek(x, 0), next = peek(x, 1);
    x->at += (next == '\n' || next == '\r') && next != c ? 2 : 1;
    x->line++;
    x->fresh = true;
}

static void skip_space(struct lg_lexer *x)
{
    for (int c = peek(x, 0); c >= 0 && is_space(c); c = peek(x, 0)) {
        if (c == '\n' || c == '\r') {
            newline(x);
        } else {
            x->at++;
        }
    }
}

/* At '[': the level of the long bracket that opens here, or -1. */
static int long_level(const struct lg_lexer *x)
{
    int level = 0;
    while (peek(x, (size_t)level + 1) == '=') level++;
    return peek(x, (size_t)level + 1) == '[' ? level : -1;
}

/* Steps to a place before which no line break is cut in two. Kernels are long, so this is quick. */
static void step_to(struct lg_lexer *x, size_t end)
{
    bool unusual = memchr(x->text + x->at, '\r', end - x->at);
    while (x->at < end) {
        const char *at = x->text + x->at, *line = unusual ? at : memchr(at, '\n', end - x->at);
        x->at = line ? (size_t)(line - x->text) : end;
        if (line && (*line == '\n' || *line == '\r'))
            newline(x);
        else if (line)
            x->at++;
    }
}

/* Steps over a long bracket; false when it is not closed. */
static bool long_bracket(struct lg_lexer *x, int level)
{
    const char *bracket;
    x->at += (size_t)level + 2;
    while (x->at < x->length && (bracket = memchr(x->text + x->at, ']', x->length - x->at))) {
        int n = 0;
        step_to(x, (size_t)(bracket - x->text));
        while (peek(x, (size_t)n + 1) == '=') n++;
        if (n == level && peek(x, (size_t)n + 1) == ']') {
            x->at += (size_t)level + 2;
            return true;
        }
        x->at += (size_t)n + 1;
    }
    step_to(x, x->length);
    return false;
}

/* Steps over a quoted string; false when its line or the text ends first. */
static bool short_string(struct lg_lexer *x)
{
    int quote = peek(x, 0);
    x->at++;
    for (int c = peek(x, 0); c >= 0 && c != '\n' && c != '\r'; c = peek(x, 0)) {
        x->at++;
        if (c == quote) return true;
        if (c != '\\') continue;
        c = peek(x, 0);
        if (c == '\n' || c == '\r') {
            newline(x);
        } else if (c == 'z') {
            x->at++;
            skip_space(x);
        } else if (c >= 0) {
            x->at++;
        }
    }
    return false;
}

/* Steps over a numeral the way Lua reads one: greedily, then judged. False when it is malformed. */
static bool number(struct lg_lexer *x)
{
    bool hex = peek(x, 0) == '0' && (peek(x, 1) | 32) == 'x';
    size_t digits = 0, exponent = 0, points = 0;
    bool good = true, in_exponent = false;
    if (hex) x->at += 2;
    for (int c = peek(x, 0);; c = peek(x, 0)) {
        if (!in_exponent && c >= 0 && (c | 32) == (hex ? 'p' : 'e')) {
            in_exponent = true;
            x->at++;
            if (peek(x, 0) == '+' || peek(x, 0) == '-') x->at++;
        } else if (c == '.') {
            if (in_exponent || points++) good = false;
            x->at++;
        } else if (is_hex(c)) {
            bool decimal = is_digit(c);
            if (in_exponent ? !decimal : !hex && !decimal) good = false;
            if (in_exponent) exponent++;
            if (!in_exponent) digits++;
            x->at++;
        } else if (is_alpha(c)) {
            good = false;
            x->at++;
        } else {
            break;
        }
    }
    return good && digits && (!in_exponent || exponent);
}

static size_t operator_length(const struct lg_lexer *x)
{
    int c = peek(x, 0), next = peek(x, 1);
    switch (c) {
    case '.': return next != '.' ? 1 : peek(x, 2) == '.' ? 3 : 2;
    case '=':
    case '/':
    case ':': return next == c ? 2 : 1;
    case '~': return next == '=' ? 2 : 1;
    case '<':
    case '>': return next == '=' || next == c ? 2 : 1;
    }
    return c > 0 && strchr("+-*%^#&|(){}[];,", c) ? 1 : 0;
}

static void comment(struct lg_lexer *x, struct lg_token *t)
{
    t->kind = LG_TOKEN_COMMENT;
    x->at += 2;
    int level = peek(x, 0) == '[' ? long_level(x) : -1;
    if (level >= 0) {
        t->is_long = true;
        t->unfinished = !long_bracket(x, level);
    } else {
        lg_lexer_skip_line(x);
    }
}

bool lg_lexer_next(struct lg_lexer *x, struct lg_token *out)
{
    skip_space(x);
    *out = (struct lg_token){.start = x->at, .end = x->at, .line = x->line, .first = x->fresh};
    int c = peek(x, 0);
    if (c < 0) return false;
    x->fresh = false;
    if (is_alpha(c)) {
        while (is_alpha(peek(x, 0)) || is_digit(peek(x, 0))) x->at++;
        out->keyword = lg_keyword_find(x->text + out->start, x->at - out->start);
        out->kind = out->keyword ? LG_TOKEN_KEYWORD : LG_TOKEN_NAME;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(x, 1)))) {
        out->kind = number(x) ? LG_TOKEN_NUMBER : LG_TOKEN_ERROR;
    } else if (c == '-' && peek(x, 1) == '-') {
        comment(x, out);
    } else if (c == '"' || c == '\'') {
        out->kind = LG_TOKEN_STRING;
        out->unfinished = !short_string(x);
    } else if (c == '[' && long_level(x) >= 0) {
        out->kind = LG_TOKEN_STRING;
        out->is_long = true;
        out->unfinished = !long_bracket(x, long_level(x));
    } else {
        size_t n = operator_length(x);
        out->kind = n ? LG_TOKEN_OPERATOR : LG_TOKEN_ERROR;
        x->at += n ? n : 1;
    }
    out->end = x->at;
    /* A string or comment over several lines leaves text before what follows it on its last line. */
    x->fresh = false;
    return true;
}

bool lg_lexer_code(struct lg_lexer *x, struct lg_token *out)
{
    bool more;
    bool first = false;
    do {
        more = lg_lexer_next(x, out);
        /* A comment in front does not stop a token from being its line's first. */
        if (out->kind == LG_TOKEN_COMMENT && out->first && out->line == x->line)
            first = true;
        else if (more && first && out->kind != LG_TOKEN_COMMENT)
            out->first = true;
    } while (more && out->kind == LG_TOKEN_COMMENT);
    return more;
}

void lg_lexer_skip_line(struct lg_lexer *x)
{
    while (x->at < x->length && x->text[x->at] != '\n' && x->text[x->at] != '\r') x->at++;
}

bool lg_token_is(const struct lg_lexer *x, const struct lg_token *t, const char *text)
{
    size_t n = strlen(text);
    return t->end - t->start == n && memcmp(x->text + t->start, text, n) == 0;
}

int lg_token_block(const struct lg_token *t)
{
    switch (t->keyword) {
    case LG_DO:
    case LG_FUNCTION:
    case LG_IF:
    case LG_REPEAT: return 1;
    case LG_END:
    case LG_UNTIL: return -1;
    default: return 0;
    }
}

int lg_token_bracket(const struct lg_lexer *x, const struct lg_token *t)
{
    if (t->kind != LG_TOKEN_OPERATOR || t->end - t->start != 1) return 0;
    switch (x->text[t->start]) {
    case '(':
    case '[':
    case '{': return 1;
    case ')':
    case ']':
    case '}': return -1;
    default: return 0;
    }
}
