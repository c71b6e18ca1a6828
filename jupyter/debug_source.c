/* The paths of cells. */
#include "jupyter/debug.h"

#include <string.h>
#include <unistd.h>

#include "jupyter/text.h"

/* Austin Appleby's MurmurHash2, which front ends compute as well. */
static uint32_t murmur2(const char *text, size_t length, uint32_t seed)
{
    const unsigned char *p = (const unsigned char *)text;
    const uint32_t m = 0x5bd1e995;
    uint32_t h = seed ^ (uint32_t)length;
    for (; length >= 4; p += 4, length -= 4) {
        uint32_t k = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        k *= m;
        k ^= k >> 24;
        h = h * m ^ k * m;
    }
    for (size_t i = length; i-- > 0;) h ^= (uint32_t)p[i] << 8 * i;
    if (length) h *= m;
    h ^= h >> 13;
    h *= m;
    return h ^ h >> 15;
}

json_t *jp_debug_prefix(void)
{
    return json_sprintf("/tmp/lunarray_%ld/", (long)getpid());
}

bool jp_debug_is_cell(const char *path)
{
    json_t *prefix = jp_debug_prefix();
    bool same = prefix && strncmp(path, json_string_value(prefix), json_string_length(prefix)) == 0;
    json_decref(prefix);
    return same;
}

/* Steals the reference to the path. */
static json_t *remember(struct jp_debug *d, json_t *path, const char *text, size_t length)
{
    if (!d->sources) d->sources = json_object();
    if (path && json_object_set_new(d->sources, json_string_value(path), jp_text_json(text, length)) == 0) return path;
    json_decref(path);
    return NULL;
}

json_t *jp_debug_cell(struct jp_debug *d, const char *text, size_t length)
{
    json_t *prefix = jp_debug_prefix();
    json_t *path = prefix ? json_sprintf("%s%lu" JP_DEBUG_SUFFIX, json_string_value(prefix),
                                         (unsigned long)murmur2(text, length, JP_DEBUG_SEED))
                          : NULL;
    json_decref(prefix);
    return remember(d, path, text, length);
}

json_t *jp_debug_file(struct jp_debug *d, const char *path, const char *text, size_t length)
{
    return remember(d, json_string(path), text, length);
}
