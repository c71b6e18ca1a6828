#include "repl/cast.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool append_value(json_t *value, struct sh_text *out)
{
    char *line = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    bool ok = line && sh_text_append(out, line, strlen(line));
    free(line);
    json_decref(value);
    return ok;
}

bool sh_cast_header(int columns, int rows, long timestamp, const char *title, const char *term, struct sh_text *out)
{
    json_t *header = json_pack("{s:i, s:i, s:i, s:I, s:s*, s:{s:s*}}", "version", 2, "width", columns, "height", rows,
                               "timestamp", (json_int_t)timestamp, "title", title, "env", "TERM", term);
    return append_value(header, out) && sh_text_append(out, "\n", 1);
}

/* [seconds, "kind", "data"] */
static bool event(long long time, char kind, const char *data, size_t length, struct sh_text *out)
{
    char head[64];
    int n = snprintf(head, sizeof head, "[%lld.%06lld, \"%c\", ", time / 1000000, time % 1000000, kind);
    return sh_text_append(out, head, (size_t)n) && append_value(json_stringn(data, length), out) &&
           sh_text_append(out, "]\n", 2);
}

/* How many bytes at the end are the beginning of a character. */
static size_t cut_at_end(const char *s, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)s[length - back];
        if ((c & 0xC0) == 0x80) continue;
        size_t size = c >= 0xF0 && c < 0xF5 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 1;
        return c < 0xF5 && size > back ? back : 0;
    }
    return 0;
}

/* Copies what is UTF-8 and puts U+FFFD for each byte that is not. */
static bool append_valid(const char *s, size_t length, struct sh_text *out)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    for (size_t at = 0, run = 0; at < length; run = at) {
        size_t size = 1;
        while (at < length && (sh_code_point(s, length, at, &size) != 0xFFFD || size > 1)) at += size;
        if (!sh_text_append(out, s + run, at - run)) return false;
        if (at == length) break;
        if (!sh_text_append(out, replacement, sizeof replacement - 1)) return false;
        at++;
    }
    return true;
}

bool sh_cast_output(struct sh_cast *c, long long time, const char *bytes, size_t length, struct sh_text *out)
{
    struct sh_text all = {0}, valid = {0};
    bool ok = sh_text_append(&all, c->tail, c->tail_length) && sh_text_append(&all, bytes, length);
    size_t cut = ok ? cut_at_end(all.bytes, all.length) : 0, whole = all.length - cut;
    if (ok) {
        memcpy(c->tail, all.bytes + whole, cut);
        c->tail_length = cut;
    }
    ok = ok && append_valid(all.bytes, whole, &valid) &&
         (valid.length == 0 || event(time, 'o', valid.bytes, valid.length, out));
    sh_text_free(&all);
    sh_text_free(&valid);
    return ok;
}

bool sh_cast_resize(long long time, int columns, int rows, struct sh_text *out)
{
    char size[32];
    int n = snprintf(size, sizeof size, "%dx%d", columns, rows);
    return event(time, 'r', size, (size_t)n, out);
}

bool sh_cast_end(struct sh_cast *c, long long time, struct sh_text *out)
{
    struct sh_text valid = {0};
    bool ok = append_valid(c->tail, c->tail_length, &valid) &&
              (valid.length == 0 || event(time, 'o', valid.bytes, valid.length, out));
    c->tail_length = 0;
    sh_text_free(&valid);
    return ok;
}
