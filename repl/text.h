/* Growable UTF-8 text, and walking it as a reader sees it: by grapheme, with display widths. Bytes that are not UTF-8
 * are kept and count as one character each. Positions are byte offsets. */
#ifndef SH_TEXT_H
#define SH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sh_text { /* starts as all zeros */
    char *bytes; /* NUL-terminated once something was put in; NULL before */
    size_t length, capacity;
};

/* False when memory is lacking; the text is then unchanged. `bytes` must not point into the text itself. */
bool sh_text_reserve(struct sh_text *t, size_t length); /* no text up to that length needs memory any more */
bool sh_text_insert(struct sh_text *t, size_t at, const char *bytes, size_t length);
bool sh_text_append(struct sh_text *t, const char *bytes, size_t length);
bool sh_text_set(struct sh_text *t, const char *bytes, size_t length);
/* On rows of its own: a newline before it unless the text is at the start of one, and one behind it unless it has one.
 */
bool sh_text_append_block(struct sh_text *t, const char *bytes, size_t length);
/* Takes out escape codes: colours, moves of the cursor, titles. */
void sh_strip_escapes(struct sh_text *t);
void sh_text_delete(struct sh_text *t, size_t from, size_t to);
void sh_text_free(struct sh_text *t);

/* The code point at `at` (below length) and its bytes in *size; U+FFFD and 1 where the bytes are not UTF-8. */
int32_t sh_code_point(const char *s, size_t length, size_t at, size_t *size);
/* Writes a code point as UTF-8 into out[4]; returns the bytes. */
size_t sh_encode(int32_t c, char *out);

/* Ends of graphemes around a position; newlines are graphemes of their own. They stop at 0 and at length. */
size_t sh_next_grapheme(const char *s, size_t length, size_t at);
size_t sh_previous_grapheme(const char *s, size_t length, size_t at);
/* Columns that a grapheme takes: 0, 1 or 2; control characters are shown as ^X and take 2. Tabs depend on where they
 * are and are left to the caller. */
int sh_grapheme_width(const char *s, size_t size);
/* Columns of a line without tabs or newlines. */
int sh_width(const char *s, size_t length);
/* How many bytes of the line, which has no newline, fit into the columns: up to behind a blank where there is one. */
size_t sh_fitting(const char *line, size_t length, int columns);

#endif
