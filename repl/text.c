#include "repl/text.h"
#include "runtime/memory.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

bool sh_text_reserve(struct sh_text *t, size_t length)
{
    if (length + 1 <= t->capacity) return true;
    size_t capacity = t->capacity ? t->capacity : 64;
    while (capacity < length + 1) capacity *= 2;
    char *more = rt_realloc(t->bytes, capacity);
    if (!more) return false;
    t->bytes = more;
    t->capacity = capacity;
    return true;
}

bool sh_text_insert(struct sh_text *t, size_t at, const char *bytes, size_t length)
{
    if (!sh_text_reserve(t, t->length + length)) return false;
    memmove(t->bytes + at + length, t->bytes + at, t->length - at);
    if (length) memcpy(t->bytes + at, bytes, length);
    t->length += length;
    t->bytes[t->length] = '\0';
    return true;
}

bool sh_text_append(struct sh_text *t, const char *bytes, size_t length)
{
    return sh_text_insert(t, t->length, bytes, length);
}

bool sh_text_set(struct sh_text *t, const char *bytes, size_t length)
{
    if (!sh_text_reserve(t, length)) return false;
    t->length = 0;
    return sh_text_insert(t, 0, bytes, length);
}

bool sh_text_append_block(struct sh_text *t, const char *bytes, size_t length)
{
    if (length == 0) return true;
    if (t->length && t->bytes[t->length - 1] != '\n' && !sh_text_append(t, "\n", 1)) return false;
    return sh_text_append(t, bytes, length) && (bytes[length - 1] == '\n' || sh_text_append(t, "\n", 1));
}

/* Where the escape sequence at `at` ends. */
static size_t escape_end(const struct sh_text *t, size_t at)
{
    const char *s = t->bytes;
    if (at + 1 >= t->length) return t->length;
    at += 2;
    if (s[at - 1] == '[') {
        while (at < t->length && (s[at] < '@' || s[at] > '~')) at++;
        return at < t->length ? at + 1 : at;
    }
    if (s[at - 1] != ']') return at;
    while (at < t->length && s[at] != '\a' && s[at] != '\033') at++;
    if (at < t->length && s[at] == '\033') at++;
    return at < t->length ? at + 1 : at;
}

void sh_strip_escapes(struct sh_text *t)
{
    size_t to = 0;
    for (size_t at = 0; at < t->length;) {
        if (t->bytes[at] == '\033')
            at = escape_end(t, at);
        else
            t->bytes[to++] = t->bytes[at++];
    }
    t->length = to;
    if (t->bytes) t->bytes[to] = '\0';
}

void sh_text_delete(struct sh_text *t, size_t from, size_t to)
{
    if (from >= to) return;
    memmove(t->bytes + from, t->bytes + to, t->length - to);
    t->length -= to - from;
    t->bytes[t->length] = '\0';
}

void sh_text_free(struct sh_text *t)
{
    free(t->bytes);
    *t = (struct sh_text){0};
}

int32_t sh_code_point(const char *s, size_t length, size_t at, size_t *size)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s + at, (utf8proc_ssize_t)(length - at), &c);
    if (n <= 0) {
        *size = 1;
        return 0xFFFD;
    }
    *size = (size_t)n;
    return c;
}

size_t sh_encode(int32_t c, char *out)
{
    return (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)out);
}

size_t sh_next_grapheme(const char *s, size_t length, size_t at)
{
    if (at >= length) return length;
    /* Between two characters of ASCII there is a boundary, but in "\r\n". */
    bool ascii = !(s[at] & 0x80) && (at + 1 == length || !(s[at + 1] & 0x80));
    if (ascii && s[at] != '\r') return at + 1;
    size_t size;
    int32_t c = sh_code_point(s, length, at, &size);
    bool broken = c == 0xFFFD && size == 1;
    at += size;
    utf8proc_int32_t state = 0;
    while (at < length && !broken) {
        int32_t next = sh_code_point(s, length, at, &size);
        broken = next == 0xFFFD && size == 1;
        if (broken || utf8proc_grapheme_break_stateful(c, next, &state)) break;
        at += size;
        c = next;
    }
    return at;
}

size_t sh_previous_grapheme(const char *s, size_t length, size_t at)
{
    if (at == 0) return 0;
    if (s[at - 1] == '\n') return at - 1;
    size_t p = at; /* graphemes are found forwards, so from the start of the line */
    while (p > 0 && s[p - 1] != '\n') p--;
    for (;;) {
        size_t next = sh_next_grapheme(s, length, p);
        if (next >= at) return p;
        p = next;
    }
}

int sh_grapheme_width(const char *s, size_t size)
{
    if (size == 1 && *s >= 32 && *s < 127) return 1;
    for (size_t at = 0, n; at < size; at += n) {
        int32_t c = sh_code_point(s, size, at, &n);
        if (c < 32 || c == 127) return 2;
        if (c >= 128 && c < 160) return 1;
        int width = utf8proc_charwidth(c);
        if (width > 0) return width;
    }
    return 0;
}

int sh_width(const char *s, size_t length)
{
    int width = 0;
    for (size_t at = 0, next; at < length; at = next) {
        next = sh_next_grapheme(s, length, at);
        width += sh_grapheme_width(s + at, next - at);
    }
    return width;
}

size_t sh_fitting(const char *line, size_t length, int columns)
{
    size_t at = 0, blank = 0;
    for (int width = 0; at < length;) {
        size_t next = sh_next_grapheme(line, length, at);
        width += sh_grapheme_width(line + at, next - at);
        if (width > columns) return blank ? blank : at ? at : next;
        at = next;
        if (line[at - 1] == ' ') blank = at;
    }
    return length;
}
