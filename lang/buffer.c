#include "lang/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

/* Room for `more` bytes and a NUL. */
static bool reserve(struct lg_buffer *b, size_t more)
{
    if (b->failed) return false;
    if (b->capacity - b->length > more) return true;
    size_t wanted = b->capacity ? b->capacity * 2 : 64;
    while (wanted - b->length <= more) wanted *= 2;
    char *data = rt_realloc(b->data, wanted);
    if (!data) {
        lg_buffer_release(b);
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = wanted;
    return true;
}

void lg_buffer_add(struct lg_buffer *b, const char *text, size_t length)
{
    if (!reserve(b, length)) return;
    if (length) memcpy(b->data + b->length, text, length);
    b->length += length;
    b->data[b->length] = '\0';
}

void lg_buffer_puts(struct lg_buffer *b, const char *text)
{
    lg_buffer_add(b, text, strlen(text));
}

void lg_buffer_printf(struct lg_buffer *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->length, (size_t)n + 1, format, again);
        b->length += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void lg_buffer_release(struct lg_buffer *b)
{
    free(b->data);
    *b = (struct lg_buffer){0};
}

void lg_buffer_escape(struct lg_buffer *b, const char *text, size_t length)
{
    for (const char *end = text + length; text < end; text++) {
        const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : NULL;
        if (entity)
            lg_buffer_puts(b, entity);
        else
            lg_buffer_add(b, text, 1);
    }
}
