/* Positions in the cell: graphemes, words, lines. */
#include <string.h>
#include <utf8proc.h>
#include "repl/editing.h"

size_t sh_line_start(const struct sh_editor *e, size_t at)
{
    while (at > 0 && e->text.bytes && e->text.bytes[at - 1] != '\n') at--;
    return at;
}

size_t sh_line_end(const struct sh_editor *e, size_t at)
{
    while (at < e->text.length && e->text.bytes[at] != '\n') at++;
    return at;
}

static int line_column(const struct sh_editor *e, size_t at)
{
    size_t start = sh_line_start(e, at);
    return at > start ? sh_width(e->text.bytes + start, at - start) : 0;
}

size_t sh_at_column(const struct sh_editor *e, size_t start, int column)
{
    size_t at = start;
    for (int width = 0; at < e->text.length && e->text.bytes[at] != '\n';) {
        size_t next = sh_next_grapheme(e->text.bytes, e->text.length, at);
        width += sh_grapheme_width(e->text.bytes + at, next - at);
        if (width > column) break;
        at = next;
    }
    return at;
}

size_t sh_forward(const struct sh_editor *e, size_t at)
{
    return sh_next_grapheme(e->text.bytes, e->text.length, at);
}

size_t sh_backward(const struct sh_editor *e, size_t at)
{
    return sh_previous_grapheme(e->text.bytes, e->text.length, at);
}

bool sh_is_word(const struct sh_editor *e, size_t at)
{
    size_t size;
    int32_t c = sh_code_point(e->text.bytes, e->text.length, at, &size);
    if (c < 128) return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

size_t sh_word_forward(const struct sh_editor *e, size_t at)
{
    while (at < e->text.length && !sh_is_word(e, at)) at = sh_forward(e, at);
    while (at < e->text.length && sh_is_word(e, at)) at = sh_forward(e, at);
    return at;
}

size_t sh_word_backward(const struct sh_editor *e, size_t at)
{
    while (at > 0 && !sh_is_word(e, sh_backward(e, at))) at = sh_backward(e, at);
    while (at > 0 && sh_is_word(e, sh_backward(e, at))) at = sh_backward(e, at);
    return at;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

size_t sh_blank_backward(const struct sh_editor *e, size_t at)
{
    while (at > 0 && is_blank(e->text.bytes[at - 1])) at--;
    while (at > 0 && !is_blank(e->text.bytes[at - 1])) at--;
    return at;
}

bool sh_in_indent(const struct sh_editor *e)
{
    for (size_t i = sh_line_start(e, e->cursor); i < e->cursor; i++)
        if (e->text.bytes[i] != ' ') return false;
    return true;
}

bool sh_vertical(struct sh_editor *e, int direction)
{
    size_t start = sh_line_start(e, e->cursor), end = sh_line_end(e, e->cursor);
    if (direction < 0 ? start == 0 : end == e->text.length) return false;
    if (e->before != SH_DID_VERTICAL) e->goal = line_column(e, e->cursor);
    e->cursor = sh_at_column(e, direction < 0 ? sh_line_start(e, start - 1) : end + 1, e->goal);
    e->last = SH_DID_VERTICAL;
    return true;
}
