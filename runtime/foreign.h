/* Characters that no code is written with, but that come with it from word processors, web pages, phones and keyboards
 * of other scripts: typographical quotes and dashes, spaces that are none, signs of mathematics. */
#ifndef RT_FOREIGN_H
#define RT_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

enum rt_language { RT_CUDA_C, RT_LUA };

/* The bytes of the character that the text begins with, 1 where it is no UTF-8. length > 0. */
size_t rt_character_length(const char *text, size_t length);

/* Writes what code has in place of the character that the text begins with, for a hint; false: it is one of ASCII's
 * that are seen. length > 0; cut where `size` bytes do not hold it. */
bool rt_foreign_hint(const char *text, size_t length, enum rt_language language, char *out, size_t size);

#endif
