/* A growing text in C memory, for code of the session that does not run under Lua or must not raise. A failed
 * allocation is remembered and makes the buffer empty; whoever fills it asks once, at the end. */
#ifndef LG_BUFFER_H
#define LG_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct lg_buffer {
    char *data; /* NUL-terminated once something was added; release with lg_buffer_release */
    size_t length, capacity;
    bool failed;
};

void lg_buffer_add(struct lg_buffer *b, const char *text, size_t length);
void lg_buffer_puts(struct lg_buffer *b, const char *text);
void lg_buffer_printf(struct lg_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lg_buffer_release(struct lg_buffer *b);

/* Adds text as HTML writes it. */
void lg_buffer_escape(struct lg_buffer *b, const char *text, size_t length);

#endif
