#include "jupyter/text.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "runtime/memory.h"

static int continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t jp_text_bytes(const char *text, size_t length, size_t points)
{
    size_t at = 0;
    for (; at < length && points > 0; points--) {
        at++;
        while (at < length && continues(text[at])) at++;
    }
    return at;
}

size_t jp_text_points(const char *text, size_t length, size_t bytes)
{
    size_t points = 0;
    for (size_t i = 0; i < length && i < bytes; i++)
        if (!continues(text[i])) points++;
    return points;
}

size_t jp_text_whole(const char *text, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)text[length - back];
        if (continues((char)c)) continue;
        size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return needs > back ? length - back : length;
    }
    return length;
}

json_t *jp_text_json(const char *text, size_t length)
{
    json_t *string = json_stringn(text, length);
    if (string) return string;
    char *clean = rt_alloc(3 * length + 1), *p = clean;
    if (!clean) return NULL;
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &point);
        if (used > 0 && point >= 0) {
            memcpy(p, text + at, (size_t)used);
            p += used;
            at += (size_t)used;
        } else {
            memcpy(p, "\xef\xbf\xbd", 3);
            p += 3;
            at++;
        }
    }
    string = json_stringn_nocheck(clean, (size_t)(p - clean));
    free(clean);
    return string;
}
