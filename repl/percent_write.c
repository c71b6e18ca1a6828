/* Notebooks to scripts. A note of how something was written in the script that the notebook came from is taken when it
 * still means what the notebook has. */
#include <stdio.h>
#include <string.h>
#include "repl/percent_parts.h"

static const char *note_of(const json_t *metadata, const char *name, size_t *length)
{
    const json_t *note = json_object_get(json_object_get(metadata, SH_NOTES), name);
    *length = json_string_length(note);
    return json_string_value(note);
}

/* Whether a text would end earlier or later than it should, were it to stand between marks. */
static bool needs_lines(const char *body, size_t length, long *lines)
{
    struct sh_line line = {body, 1};
    bool needs = false;
    *lines = 0;
    for (size_t at = 0; sh_next_line(body, length, &at, &line); ++*lines) needs = needs || sh_is_mark(line);
    return needs || !line.n;
}

void sh_piece_put(const json_t *cell, bool id, struct lg_buffer *out)
{
    const json_t *source = json_object_get(cell, "source");
    struct lg_buffer body = {0};
    long lines;
    sh_body_put(sh_json_text(cell, "cell_type"), json_string_value(source), json_string_length(source), &body);
    bool counted = needs_lines(body.data ? body.data : "", body.length, &lines);
    sh_mark_put(cell, id, counted ? lines : -1, out);
    lg_buffer_add(out, body.data ? body.data : "", body.length);
    out->failed = out->failed || body.failed;
    lg_buffer_release(&body);
}

/* What a script keeps of a cell. */
static json_t *essence(const json_t *cell, bool id)
{
    static const char *const lost[] = {"outputs", "execution_count", "metadata"};
    json_t *copy = json_copy((json_t *)(size_t)cell), *metadata = json_copy(json_object_get(cell, "metadata"));
    for (size_t i = 0; i < 3; i++) json_object_del(copy, lost[i]);
    json_object_del(metadata, SH_NOTES);
    json_object_del(metadata, SH_GAP);
    if (!id) json_object_del(copy, "id");
    json_object_set_new(copy, "metadata", metadata ? metadata : json_object());
    return copy;
}

static bool means(const struct lg_buffer *text, bool marked, const json_t *cell, bool id)
{
    struct sh_piece piece;
    struct sh_line line = {0};
    size_t at = 0;
    bool is_mark = sh_next_line(text->data, text->length, &at, &line) && sh_is_mark(line);
    if (text->failed || !text->length || is_mark != marked) return false;
    json_t *got = sh_piece_read(text->data, text->length, marked, &piece);
    json_t *wanted = essence(cell, id), *found = essence(got, id);
    bool same = piece.end == text->length && json_equal(wanted, found);
    json_decref(got);
    json_decref(wanted);
    json_decref(found);
    return same;
}

/* A first cell without a mark must not look like more of the header. */
static bool can_be_first(struct lg_buffer *header, const struct lg_buffer *cell)
{
    struct sh_header h;
    struct lg_buffer both = {0};
    lg_buffer_add(&both, header->data, header->length);
    lg_buffer_add(&both, cell->data, cell->length);
    bool whole = both.length && sh_header_read(both.data, both.length, &h) && h.length == header->length;
    if (both.length) json_decref(h.metadata);
    header->failed = header->failed || both.failed;
    lg_buffer_release(&both);
    return whole;
}

/* The piece by its notes; false when they do not hold any more. */
static bool put_noted(const json_t *cell, bool id, bool first, struct lg_buffer *out)
{
    const json_t *metadata = json_object_get(cell, "metadata");
    size_t mark_length, text_length, at = 0;
    const char *mark = note_of(metadata, "mark", &mark_length), *text = note_of(metadata, "text", &text_length);
    struct lg_buffer usual = {0}, piece = {0};
    struct sh_line line;
    if (!mark && !text) return false;
    sh_piece_put(cell, id, &usual);
    sh_next_line(usual.data, usual.length, &at, &line);
    bool marked = !mark || mark_length;
    if (!mark) lg_buffer_add(&piece, usual.data, at);
    if (mark && marked) {
        lg_buffer_add(&piece, mark, mark_length);
        lg_buffer_puts(&piece, "\n");
    }
    lg_buffer_add(&piece, text ? text : usual.data + at, text ? text_length : usual.length - at);
    bool good = means(&piece, marked, cell, id) && (marked || (first && can_be_first(out, &piece)));
    if (good) lg_buffer_add(out, piece.data, piece.length);
    out->failed = out->failed || usual.failed || piece.failed;
    lg_buffer_release(&usual);
    lg_buffer_release(&piece);
    return good;
}

bool sh_has_own_id(const json_t *cell, size_t number)
{
    char usual[64];
    const char *id = sh_json_text(cell, "id");
    size_t n = (size_t)snprintf(usual, sizeof usual, SH_USUAL_ID, number);
    if (!*id || strncmp(id, usual, n) != 0) return *id;
    return id[n + strspn(id + n, "x")];
}

void sh_header_put(const json_t *metadata, int minor, struct lg_buffer *out)
{
    json_t *usual = sh_document_metadata(), *own = json_copy((json_t *)(size_t)metadata);
    json_object_del(own, SH_NOTES);
    if (!json_equal(own, usual) || minor != 5) {
        lg_buffer_puts(out, SH_HEADER_FENCE "\n" SH_HEADER_METADATA);
        if (own) sh_json_put(own, out);
        if (minor != 5) lg_buffer_printf(out, "\n" SH_HEADER_FORMAT "%d", minor);
        lg_buffer_puts(out, "\n" SH_HEADER_FENCE "\n\n");
    }
    json_decref(usual);
    json_decref(own);
}

/* The header as it was noted, when it says the same; else a new one behind what starts the script (#!). */
static void put_header(const json_t *metadata, int minor, struct lg_buffer *out)
{
    size_t length;
    struct sh_line first = {0};
    const char *noted = note_of(metadata, "header", &length);
    if (noted) {
        struct sh_header h;
        size_t at = 0;
        json_t *own = json_copy((json_t *)(size_t)metadata);
        json_object_del(own, SH_NOTES);
        bool good = sh_header_read(noted, length, &h) && h.length == length && h.minor == minor;
        good = good && json_equal(own, h.metadata);
        json_decref(h.metadata);
        json_decref(own);
        if (good) {
            lg_buffer_add(out, noted, length);
            return;
        }
        if (sh_next_line(noted, length, &at, &first) && first.n && *first.s == '#') lg_buffer_add(out, noted, at);
    }
    sh_header_put(metadata, minor, out);
}

static void put_gap(const json_t *cell, bool last, struct lg_buffer *out)
{
    const json_t *noted = json_object_get(json_object_get(cell, "metadata"), SH_GAP);
    json_int_t gap = json_is_integer(noted) ? json_integer_value(noted) : !last;
    for (; gap > 0; gap--) lg_buffer_puts(out, "\n");
}

static void put_cells(const json_t *cells, struct lg_buffer *out)
{
    size_t count = json_array_size(cells);
    for (size_t i = 0; i < count; i++) {
        const json_t *cell = json_array_get(cells, i);
        bool id = sh_has_own_id(cell, i + 1);
        if (!put_noted(cell, id, i == 0, out)) sh_piece_put(cell, id, out);
        put_gap(cell, i + 1 == count, out);
    }
}

/* Adds the text with the ends of lines that it had. */
static void put_lines(const struct lg_buffer *text, const json_t *metadata, struct lg_buffer *out)
{
    size_t n, length = text->length, start = 0;
    bool returns = note_of(metadata, "newline", &n), unended = note_of(metadata, "end", &n);
    if (unended && length) length--;
    for (size_t i = 0; i < length && returns; i++) {
        if (text->data[i] != '\n') continue;
        lg_buffer_add(out, text->data + start, i - start);
        lg_buffer_puts(out, "\r\n");
        start = i + 1;
    }
    if (length > start) lg_buffer_add(out, text->data + start, length - start);
}

void sh_percent_put(const json_t *notebook, struct lg_buffer *out)
{
    const json_t *metadata = json_object_get(notebook, "metadata");
    int minor = (int)json_integer_value(json_object_get(notebook, "nbformat_minor"));
    struct lg_buffer text = {0};
    put_header(metadata, minor, &text);
    put_cells(json_object_get(notebook, "cells"), &text);
    put_lines(&text, metadata, out);
    out->failed = out->failed || text.failed || sh_json_failed();
    lg_buffer_release(&text);
}
