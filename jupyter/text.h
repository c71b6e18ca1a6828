/* Texts between the session and the wire: UTF-8 bytes here, Unicode code points and valid JSON strings there. */
#ifndef JP_TEXT_H
#define JP_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* The byte offset of the given number of code points, at most `length`. */
size_t jp_text_bytes(const char *text, size_t length, size_t points);
/* How many code points the first `bytes` bytes begin. */
size_t jp_text_points(const char *text, size_t length, size_t bytes);
/* How many bytes of the text remain when a sequence that its end cuts short is left off (0 to 3 bytes). */
size_t jp_text_whole(const char *text, size_t length);
/* A JSON string; every byte that is not part of valid UTF-8 becomes U+FFFD. NULL when out of memory. */
json_t *jp_text_json(const char *text, size_t length);

#endif
