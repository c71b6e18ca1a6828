/* Words and characters changed where they stand: their case, their order. */
#include <string.h>
#include <utf8proc.h>
#include "repl/editing.h"

/* Puts `with` in place of a part of the text, and releases it. */
static void exchange(struct sh_editor *e, size_t from, size_t to, struct sh_text *with, bool good)
{
    if (good) sh_edit(e, from, to, with->bytes ? with->bytes : "", with->length);
    sh_text_free(with);
}

enum way { UPPER, LOWER, OTHER };

/* Adds the character at `at`, its case changed; what is no character as it is. */
static bool add(const struct sh_editor *e, size_t at, enum way way, struct sh_text *out, size_t *size)
{
    char bytes[4];
    int32_t c = sh_code_point(e->text.bytes, e->text.length, at, size);
    if (c == 0xFFFD && *size == 1) return sh_text_append(out, e->text.bytes + at, 1);
    int32_t upper = utf8proc_toupper(c), lower = utf8proc_tolower(c);
    bool up = way == UPPER || (way == OTHER && upper != c);
    return sh_text_append(out, bytes, sh_encode(up ? upper : lower, bytes));
}

void sh_change_case(struct sh_editor *e, size_t from, size_t to, enum sh_case how)
{
    struct sh_text changed = {0};
    bool good = true, inside = false; /* inside: behind the first letter of a word */
    for (size_t at = from, size; at < to && good; at += size) {
        good = add(e, at, how == SH_UPPER || (how == SH_CAPITAL && !inside) ? UPPER : LOWER, &changed, &size);
        inside = sh_is_word(e, at);
    }
    exchange(e, from, to, &changed, good);
}

void sh_swap_case(struct sh_editor *e, size_t from, size_t to)
{
    struct sh_text changed = {0};
    bool good = true;
    for (size_t at = from, size; at < to && good; at += size) good = add(e, at, OTHER, &changed, &size);
    exchange(e, from, to, &changed, good);
}

bool sh_region(const struct sh_editor *e, size_t *from, size_t *to)
{
    size_t mark = e->mark < e->text.length ? e->mark : e->text.length;
    *from = mark < e->cursor ? mark : e->cursor;
    *to = mark < e->cursor ? e->cursor : mark;
    return e->marked;
}

/* Where the line's text begins; its end where it has none. */
static size_t first_letter(const struct sh_editor *e, size_t start)
{
    size_t end = sh_line_end(e, start);
    while (start < end && strchr(" \t", e->text.bytes[start])) start++;
    return start;
}

/* The lines from..to that have text: how far in the leftmost of them begins, and whether all are comments. */
static bool lines_to_comment(const struct sh_editor *e, size_t from, size_t to, size_t *column)
{
    bool all = true;
    *column = SIZE_MAX;
    for (size_t at = from; at <= to; at = sh_line_end(e, at) + 1) {
        size_t first = first_letter(e, at), end = sh_line_end(e, at);
        if (first == end) continue;
        if (first - at < *column) *column = first - at;
        all = all && end - first > 1 && memcmp(e->text.bytes + first, "--", 2) == 0;
    }
    return all;
}

void sh_comment(struct sh_editor *e)
{
    size_t from, to, column, cursor = e->cursor;
    if (!sh_region(e, &from, &to)) from = to = e->cursor;
    from = sh_line_start(e, from);
    bool all = lines_to_comment(e, from, to, &column);
    for (size_t at = from; at <= to; at = sh_line_end(e, at) + 1) {
        size_t before = e->text.length, first = first_letter(e, at), end = sh_line_end(e, at);
        if (first == end) continue;
        size_t place = all ? first : at + column,
               removed = all ? 2 + (first + 2 < end && e->text.bytes[first + 2] == ' ') : 0;
        sh_edit(e, place, place + removed, "-- ", all ? 0 : 3);
        if (cursor > place + removed || (cursor == place && !all)) cursor += e->text.length - before;
        to += e->text.length - before;
    }
    e->cursor = cursor < e->text.length ? cursor : e->text.length;
    e->marked = false;
}

/* The text from[0..a) and [b..c) in each other's places. */
static void swap(struct sh_editor *e, size_t from, size_t a, size_t b, size_t c)
{
    struct sh_text swapped = {0};
    const char *s = e->text.bytes;
    bool good = sh_text_append(&swapped, s + b, c - b) && sh_text_append(&swapped, s + a, b - a) &&
                sh_text_append(&swapped, s + from, a - from);
    exchange(e, from, c, &swapped, good);
}

void sh_transpose_characters(struct sh_editor *e)
{
    size_t middle = e->cursor, start = sh_line_start(e, e->cursor);
    if (middle == sh_line_end(e, middle)) middle = sh_backward(e, middle);
    if (middle <= start) return;
    swap(e, sh_backward(e, middle), middle, middle, sh_forward(e, middle));
}

void sh_transpose_words(struct sh_editor *e)
{
    size_t end = sh_word_forward(e, e->cursor), start = sh_word_backward(e, end);
    size_t first = sh_word_backward(e, start), first_end = sh_word_forward(e, first);
    end = sh_word_forward(e, start);
    if (first < start && first_end <= start) swap(e, first, first_end, start, end);
}
