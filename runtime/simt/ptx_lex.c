/* PTX words: the arena that the tree lives in, interned names, tokens. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/ptx_read.h"

bool ptx_fail(struct ptx_parser *p, const char *format, ...)
{
    if (p->failed) return false;
    p->failed = true;
    va_list args;
    va_start(args, format);
    rt_failv(p->error, RT_COMPILE, format, args);
    va_end(args);
    rt_error_prefix(p->error, "line %d: ", p->token.line);
    return false;
}

bool ptx_fail_memory(struct ptx_parser *p)
{
    if (!p->failed) rt_fail(p->error, RT_NOMEM, "out of memory while reading PTX");
    p->failed = true;
    return false;
}

bool ptx_expected(struct ptx_parser *p, const char *what)
{
    if (p->token.kind == TOKEN_END) return ptx_fail(p, "expected %s, but the text ends", what);
    int shown = p->token.length > 40 ? 40 : (int)p->token.length;
    return ptx_fail(p, "expected %s, got '%s%.*s'", what, p->token.kind == TOKEN_DOT ? "." : "", shown, p->token.start);
}

/* ---- memory ---- */

#define CHUNK ((size_t)64 << 10)

void *ptx_new(struct ptx_parser *p, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size) return ptx_fail_memory(p), NULL;
    size_t bytes = (count * size + 15) & ~(size_t)15;
    struct ptx_chunk *chunk = p->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t room = bytes > CHUNK / 4 ? bytes : CHUNK;
        struct ptx_chunk *fresh = rt_calloc(1, sizeof *fresh + room);
        if (!fresh) return ptx_fail_memory(p), NULL;
        fresh->size = room;
        if (chunk && room == bytes) { /* a big one of its own leaves the current chunk in use */
            fresh->next = chunk->next;
            chunk->next = fresh;
        } else {
            fresh->next = chunk;
            p->chunks = fresh;
        }
        chunk = fresh;
    }
    void *result = chunk->data + chunk->used;
    chunk->used += bytes;
    return result;
}

void *ptx_grow(struct ptx_parser *p, void *array, size_t count, size_t *room, size_t size)
{
    if (array && count < *room) return array;
    size_t wanted = array ? *room * 2 : 8;
    void *fresh = ptx_new(p, wanted, size);
    if (!fresh) return NULL;
    if (array && count) memcpy(fresh, array, count * size);
    *room = wanted;
    return fresh;
}

bool ptx_grow_table(struct ptx_parser *p, void **array, size_t count, size_t *room, size_t size)
{
    if (count < *room) return true;
    size_t wanted = *room ? *room * 2 : 32;
    void *fresh = rt_realloc(*array, wanted * size);
    if (!fresh) return ptx_fail_memory(p);
    *array = fresh;
    *room = wanted;
    return true;
}

static bool grow_names(struct ptx_parser *p)
{
    size_t slots = p->name_slots ? p->name_slots * 2 : 1024;
    struct ptx_name **fresh = rt_calloc(slots, sizeof *fresh);
    if (!fresh) return ptx_fail_memory(p);
    for (size_t i = 0; i < p->name_slots; i++) {
        for (struct ptx_name *n = p->names[i], *next; n; n = next) {
            next = n->next;
            n->next = fresh[n->hash & (slots - 1)];
            fresh[n->hash & (slots - 1)] = n;
        }
    }
    free(p->names);
    p->names = fresh;
    p->name_slots = slots;
    return true;
}

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static struct ptx_name *find_name(const struct ptx_parser *p, uint64_t hash, const char *text, size_t length)
{
    for (struct ptx_name *n = p->names[hash & (p->name_slots - 1)]; n; n = n->next) {
        if (n->hash == hash && n->length == length && memcmp(n->text, text, length) == 0) return n;
    }
    return NULL;
}

const struct ptx_name *ptx_known(const struct ptx_parser *p, const char *text, size_t length)
{
    return p->name_slots ? find_name(p, hash_text(text, length), text, length) : NULL;
}

struct ptx_name *ptx_intern(struct ptx_parser *p, const char *text, size_t length)
{
    if (p->name_count >= p->name_slots && !grow_names(p)) return NULL;
    uint64_t hash = hash_text(text, length);
    struct ptx_name *n = find_name(p, hash, text, length);
    if (n) return n;
    struct ptx_name **slot = &p->names[hash & (p->name_slots - 1)];
    n = ptx_new(p, 1, sizeof *n + length + 1);
    if (!n) return NULL;
    memcpy(n->text, text, length);
    n->length = length;
    n->hash = hash;
    n->func = n->var = -1;
    n->next = *slot;
    *slot = n;
    p->name_count++;
    return n;
}

/* ---- tokens ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}
static int hex_digit(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/* The comment that starts here: the compiler's about inline PTX? */
static void note_inline(struct ptx_parser *p, size_t length)
{
    static const char begin[] = "// begin inline asm", end[] = "// end inline asm";
    if (length == sizeof begin - 1 && memcmp(p->at, begin, length) == 0) p->in_asm = true;
    if (length == sizeof end - 1 && memcmp(p->at, end, length) == 0) p->in_asm = false;
}

/* White space and both kinds of comments. */
static bool skip_space(struct ptx_parser *p)
{
    while (p->at < p->end) {
        char c = *p->at;
        if (c == '\n') p->line++;
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            p->at++;
        } else if (c == '/' && p->end - p->at > 1 && p->at[1] == '/') {
            const char *line_end = memchr(p->at, '\n', (size_t)(p->end - p->at));
            if (!line_end) line_end = p->end;
            note_inline(p, (size_t)(line_end - p->at));
            p->at = line_end;
        } else if (c == '/' && p->end - p->at > 1 && p->at[1] == '*') {
            p->token.line = p->line;
            for (p->at += 2;; p->at++) {
                if (p->end - p->at < 2) return ptx_fail(p, "a comment that starts here does not end");
                if (*p->at == '\n') p->line++;
                if (p->at[0] == '*' && p->at[1] == '/') break;
            }
            p->at += 2;
        } else {
            break;
        }
    }
    return true;
}

/* A decimal fraction such as 9.0 or 1.5e-3; the text is not NUL-terminated. */
static bool read_fraction(struct ptx_parser *p, struct token *t)
{
    char copy[64];
    const char *s = p->at;
    while (s < p->end && (is_digit(*s) || *s == '.')) s++;
    if (s < p->end && (*s == 'e' || *s == 'E')) {
        s++;
        if (s < p->end && (*s == '+' || *s == '-')) s++;
        while (s < p->end && is_digit(*s)) s++;
    }
    size_t length = (size_t)(s - p->at);
    if (length >= sizeof copy) return ptx_fail(p, "a number of %zu characters", length);
    memcpy(copy, p->at, length);
    copy[length] = 0;
    char *stop;
    double value = strtod(copy, &stop);
    if (*stop) return ptx_fail(p, "'%s' is not a number", copy);
    memcpy(&t->bits, &value, sizeof value);
    t->kind = TOKEN_F64;
    p->at = s;
    return true;
}

/* Exactly `digits` hexadecimal digits after 0f or 0d. */
static bool read_float_bits(struct ptx_parser *p, struct token *t, int digits)
{
    p->at += 2;
    for (int i = 0; i < digits; i++, p->at++) {
        int d = p->at < p->end ? hex_digit(*p->at) : 99;
        if (d > 15) return ptx_fail(p, "expected %d hexadecimal digits after 0%c", digits, digits == 8 ? 'f' : 'd');
        t->bits = t->bits << 4 | (unsigned)d;
    }
    t->kind = digits == 8 ? TOKEN_F32 : TOKEN_F64;
    return true;
}

static bool read_number(struct ptx_parser *p, struct token *t)
{
    char second = p->end - p->at > 1 ? (char)(p->at[1] | 32) : 0;
    int base = 10;
    if (*p->at == '0') {
        if (second == 'f') return read_float_bits(p, t, 8);
        if (second == 'd') return read_float_bits(p, t, 16);
        if (second == 'x') base = 16;
        if (second == 'b') base = 2;
        if (is_digit(second)) base = 8;
    }
    if (base == 10) {
        const char *s = p->at;
        while (s < p->end && is_digit(*s)) s++;
        if (p->end - s > 1 && *s == '.' && is_digit(s[1])) return read_fraction(p, t);
    }
    if (base == 16 || base == 2) p->at += 2;
    const char *first = p->at;
    for (; p->at < p->end && hex_digit(*p->at) < base; p->at++) {
        if (t->bits > (UINT64_MAX - (unsigned)hex_digit(*p->at)) / (unsigned)base)
            return ptx_fail(p, "a number that does not fit in 64 bits");
        t->bits = t->bits * (unsigned)base + (unsigned)hex_digit(*p->at);
    }
    if (p->at == first) return ptx_fail(p, "a number without digits");
    t->kind = TOKEN_INT;
    if (p->at < p->end && *p->at == 'U') {
        t->is_unsigned = true;
        p->at++;
    }
    if (p->at < p->end && is_word(*p->at)) return ptx_fail(p, "'%c' in a number", *p->at);
    return true;
}

/* Words after a dot may hold :: as in .shared::cta and L2::128B. */
static void read_dot_word(struct ptx_parser *p)
{
    for (p->at++; p->at < p->end; p->at++) {
        if (is_word(*p->at)) continue;
        if (*p->at != ':' || p->end - p->at < 3 || p->at[1] != ':' || !is_word(p->at[2])) break;
        p->at++;
    }
}

static bool read_string(struct ptx_parser *p, struct token *t)
{
    t->kind = TOKEN_STRING;
    for (p->at++; p->at < p->end && *p->at != '"' && *p->at != '\n'; p->at++) {
        if (*p->at == '\\' && p->end - p->at > 1 && p->at[1] != '\n') p->at++;
    }
    if (p->at >= p->end || *p->at != '"') return ptx_fail(p, "a string that does not end on its line");
    t->start++;
    t->length = (size_t)(p->at - t->start);
    p->at++;
    return true;
}

static bool read_token(struct ptx_parser *p)
{
    const char *before = p->at;
    if (!skip_space(p)) return false;
    struct token *t = &p->token;
    *t = (struct token){.line = p->line, .start = p->at, .space = p->at != before, .in_asm = p->in_asm};
    if (p->at >= p->end) return true;
    char c = *p->at;
    if (c == '"') return read_string(p, t);
    if (is_digit(c)) {
        if (!read_number(p, t)) return false;
    } else if (c == '.' && p->end - p->at > 1 && is_word(p->at[1])) {
        t->kind = TOKEN_DOT;
        t->start++;
        read_dot_word(p);
    } else if (is_word(c) || (c == '%' && p->end - p->at > 1 && is_word(p->at[1]))) {
        t->kind = TOKEN_NAME;
        for (p->at++; p->at < p->end && is_word(*p->at); p->at++) continue;
    } else {
        t->kind = TOKEN_CHAR;
        t->ch = c;
        p->at++;
        if (c < 32 || c > 126) return ptx_fail(p, "byte %d has no meaning in PTX", (unsigned char)c);
    }
    t->length = (size_t)(p->at - t->start);
    return true;
}

/* After an error the text counts as ended, so that no caller can go on. */
bool ptx_next(struct ptx_parser *p)
{
    if (!p->failed && read_token(p)) return true;
    p->at = p->end;
    p->token.kind = TOKEN_END;
    return false;
}

bool ptx_is_char(const struct ptx_parser *p, char c)
{
    return p->token.kind == TOKEN_CHAR && p->token.ch == c;
}

static bool is_text(const struct ptx_parser *p, const char *word)
{
    return strlen(word) == p->token.length && memcmp(word, p->token.start, p->token.length) == 0;
}

bool ptx_is_dot(const struct ptx_parser *p, const char *word)
{
    return p->token.kind == TOKEN_DOT && is_text(p, word);
}

bool ptx_is_name(const struct ptx_parser *p, const char *word)
{
    return p->token.kind == TOKEN_NAME && is_text(p, word);
}

bool ptx_accept(struct ptx_parser *p, char c)
{
    return ptx_is_char(p, c) && ptx_next(p);
}

bool ptx_expect(struct ptx_parser *p, char c)
{
    if (ptx_is_char(p, c)) return ptx_next(p);
    char what[4] = {'\'', c, '\'', 0};
    return ptx_expected(p, what);
}

bool ptx_take_int(struct ptx_parser *p, uint64_t max, uint64_t *out)
{
    if (p->token.kind != TOKEN_INT) return ptx_expected(p, "a number");
    if (p->token.bits > max)
        return ptx_fail(p, "%llu is more than %llu", (unsigned long long)p->token.bits, (unsigned long long)max);
    *out = p->token.bits;
    return ptx_next(p);
}
