/* Scripts to notebooks. What a script has besides its cells is noted where it is not what percent_write.c would write.
 */
#include "repl/percent.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include "repl/percent_parts.h"

static bool is_line(struct sh_line l, const char *text)
{
    return l.n == strlen(text) && memcmp(l.s, text, l.n) == 0;
}

/* ---- the header */

/* `-- name: value` of a header. */
static bool read_entry(struct sh_line l, const char *name, struct sh_line *value)
{
    size_t n = strlen(name);
    if (l.n <= n || memcmp(l.s, name, n) != 0) return false;
    *value = (struct sh_line){l.s + n, l.n - n};
    return true;
}

static void read_header_line(struct sh_line l, struct sh_header *h)
{
    struct sh_line value;
    if (read_entry(l, SH_HEADER_METADATA, &value)) {
        json_t *metadata = json_loadb(value.s, value.n, JSON_ALLOW_NUL, NULL);
        if (json_is_object(metadata)) {
            json_decref(h->metadata);
            h->metadata = json_incref(metadata);
        }
        json_decref(metadata);
    } else if (read_entry(l, SH_HEADER_FORMAT, &value)) {
        h->minor = 0;
        for (size_t i = 0; i < value.n && value.s[i] >= '0' && value.s[i] <= '9' && h->minor < 100; i++)
            h->minor = h->minor * 10 + (value.s[i] - '0');
    }
}

/* Lines of comments between two of `-- ---`. */
static void read_block(const char *text, size_t length, struct sh_header *h)
{
    struct sh_line line;
    size_t at = h->length;
    if (!sh_next_line(text, length, &at, &line) || !is_line(line, SH_HEADER_FENCE)) return;
    for (size_t start = at; sh_next_line(text, length, &at, &line);) {
        if (line.n < 2 || memcmp(line.s, "--", 2) != 0) return;
        if (!is_line(line, SH_HEADER_FENCE)) continue;
        h->length = at;
        for (at = start; at < h->length && sh_next_line(text, length, &at, &line);) read_header_line(line, h);
        return;
    }
}

bool sh_header_read(const char *text, size_t length, struct sh_header *h)
{
    struct sh_line line;
    *h = (struct sh_header){.metadata = sh_document_metadata(), .minor = 5};
    size_t at = 0;
    if (sh_next_line(text, length, &at, &line) && line.n && *line.s == '#') h->length = at;
    read_block(text, length, h);
    for (at = h->length; sh_next_line(text, length, &at, &line) && line.n == 0;) h->length = at;
    return h->metadata;
}

/* ---- cells */

/* The lines of a cell from `at` on, where its mark says how many; what follows must be blank up to the next mark. */
static bool count_lines(const char *text, size_t length, size_t at, long lines, size_t *end)
{
    struct sh_line line;
    for (; lines > 0; lines--)
        if (!sh_next_line(text, length, &at, &line)) return false;
    *end = at;
    while (sh_next_line(text, length, &at, &line) && !sh_is_mark(line))
        if (line.n) return false;
    return true;
}

/* Up to the last line before the next mark that is not blank. */
static size_t find_end(const char *text, size_t length, size_t at)
{
    struct sh_line line;
    size_t end = at;
    while (sh_next_line(text, length, &at, &line) && !sh_is_mark(line))
        if (line.n) end = at;
    return end;
}

static json_t *make_cell(const struct sh_mark *m, const char *body, size_t length)
{
    struct lg_buffer source = {0};
    sh_body_read(m->type, body, length, &source);
    json_t *cell = json_pack("{s:s, s:O, s:o}", "cell_type", m->type, "metadata", m->metadata, "source",
                             json_stringn_nocheck(source.data ? source.data : "", source.length));
    if (cell && strcmp(m->type, "code") == 0) {
        json_object_set_new(cell, "outputs", json_array());
        json_object_set_new(cell, "execution_count", json_null());
    }
    if (cell && m->id) json_object_set_new(cell, "id", json_string(m->id));
    if (cell && m->attachments) json_object_set(cell, "attachments", m->attachments);
    if (source.failed) sh_json_fail();
    lg_buffer_release(&source);
    return cell;
}

json_t *sh_piece_read(const char *text, size_t length, bool marked, struct sh_piece *piece)
{
    struct sh_mark m;
    struct sh_line line = {text, 0};
    *piece = (struct sh_piece){0};
    if (marked) sh_next_line(text, length, &piece->body, &line);
    if (!sh_mark_read(line, &m)) {
        sh_mark_release(&m);
        return NULL;
    }
    if (m.lines < 0 || !count_lines(text, length, piece->body, m.lines, &piece->end))
        piece->end = find_end(text, length, piece->body);
    json_t *cell = make_cell(&m, text + piece->body, piece->end - piece->body);
    sh_mark_release(&m);
    size_t at = piece->behind = piece->end;
    while (sh_next_line(text, length, &at, &line) && line.n == 0) {
        piece->behind = at;
        piece->gap++;
    }
    return cell;
}

/* ---- notes */

static void note(json_t *metadata, const char *name, const char *text, size_t length)
{
    json_t *notes = json_object_get(metadata, SH_NOTES);
    if (!notes) {
        json_object_set_new(metadata, SH_NOTES, json_object());
        notes = json_object_get(metadata, SH_NOTES);
    }
    json_object_set_new(notes, name, json_stringn_nocheck(text, length));
}

/* Notes what would be written otherwise of the cell that was read from the text. */
static void note_cell(json_t *cell, size_t number, const char *text, const struct sh_piece *piece, bool marked,
                      bool last)
{
    struct lg_buffer usual = {0};
    struct sh_line line = {text, 0};
    size_t at = 0, body = piece->end - piece->body;
    json_t *metadata = json_object_get(cell, "metadata");
    sh_piece_put(cell, sh_has_own_id(cell, number), &usual);
    sh_next_line(usual.data, usual.length, &at, &line);
    bool same_mark = marked && piece->body == at && memcmp(text, usual.data, at) == 0;
    bool same_body = usual.length - at == body && memcmp(text + piece->body, usual.data + at, body) == 0;
    if (!same_mark) note(metadata, "mark", text, marked ? piece->body - 1 : 0);
    if (!same_body) note(metadata, "text", text + piece->body, body);
    if (usual.failed) sh_json_fail();
    if (piece->gap != !last) json_object_set_new(metadata, SH_GAP, json_integer((json_int_t)piece->gap));
    lg_buffer_release(&usual);
}

/* The id that the mark names, unless it is taken: a copied mark has that of the other cell. */
static void drop_taken_id(const json_t *taken, json_t *cell)
{
    if (json_object_get(taken, sh_json_text(cell, "id"))) json_object_del(cell, "id");
}

static void give_id(const json_t *taken, json_t *cell, size_t number)
{
    char id[64];
    if (json_object_get(cell, "id")) return;
    for (int n = snprintf(id, sizeof id, SH_USUAL_ID, number); json_object_get(taken, id) && n < 60; id[n] = '\0')
        id[n++] = 'x';
    json_object_set_new(cell, "id", json_string(id));
}

static bool check_cell(const json_t *cell, size_t line, char why[SH_WHY])
{
    char what[SH_WHY - 40];
    const char *id = json_string_value(json_object_get(cell, "id"));
    bool allowed = !id || sh_is_id(id);
    if (!allowed) snprintf(what, sizeof what, "id must be 1 to 64 letters, digits, - and _");
    if (allowed &&
        sh_metadata_check(json_object_get(cell, "metadata"), sh_json_text(cell, "cell_type"), what, sizeof what))
        return true;
    snprintf(why, SH_WHY, "line %zu: %s", line, what);
    return false;
}

static size_t count_newlines(const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) n += text[i] == '\n';
    return n;
}

/* `line_number` is that of the text's first line. NULL with `why` where a mark says what no notebook can have. */
static json_t *read_cells(const char *text, size_t length, size_t line_number, int minor, char why[SH_WHY])
{
    json_t *cells = json_array(), *taken = json_object(); /* names of ids */
    for (size_t at = 0; cells && at < length;) {
        struct sh_piece piece;
        struct sh_line line;
        size_t behind = at;
        sh_next_line(text, length, &behind, &line);
        bool marked = sh_is_mark(line);
        json_t *cell = sh_piece_read(text + at, length - at, marked, &piece);
        if (!cell) break;
        if (!check_cell(cell, line_number, why)) {
            json_decref(cell);
            json_decref(cells);
            json_decref(taken);
            return NULL;
        }
        line_number += count_newlines(text + at, piece.behind);
        /* Names of our own notes say nothing in a mark. */
        json_object_del(json_object_get(cell, "metadata"), SH_NOTES);
        json_object_del(json_object_get(cell, "metadata"), SH_GAP);
        size_t number = json_array_size(cells) + 1;
        drop_taken_id(taken, cell);
        note_cell(cell, number, text + at, &piece, marked, at + piece.behind >= length);
        if (minor >= 5) give_id(taken, cell, number);
        if (json_object_get(cell, "id")) json_object_set_new(taken, sh_json_text(cell, "id"), json_true());
        json_array_append_new(cells, cell);
        at += piece.behind;
    }
    json_decref(taken);
    return cells;
}

/* ---- the whole */

/* Whether each line, and the last one, ends as on Windows. */
static bool has_returns(const char *text, size_t length)
{
    size_t returns = 0, lines = 0;
    for (size_t i = 0; i < length; i++) {
        returns += text[i] == '\r';
        lines += text[i] == '\n';
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) return false;
    }
    return lines && returns == lines;
}

static bool check_text(const char *text, size_t length, char why[SH_WHY])
{
    size_t line = 1;
    utf8proc_int32_t c;
    for (size_t at = 0; at < length;) {
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &c);
        if (n <= 0) {
            snprintf(why, SH_WHY, "line %zu is not UTF-8, which notebooks need", line);
            return false;
        }
        line += c == '\n';
        at += (size_t)n;
    }
    return true;
}

/* The text with lines that end in '\n', the last one, too. */
static void unify(const char *text, size_t length, bool returns, struct lg_buffer *out)
{
    lg_buffer_add(out, "", 0);
    for (size_t i = 0, start = 0; i < length; i++) {
        bool dropped = returns && text[i] == '\r';
        if (!dropped && i + 1 < length) continue;
        lg_buffer_add(out, text + start, i - start + !dropped);
        start = i + 1;
    }
    if (length && text[length - 1] != '\n') lg_buffer_puts(out, "\n");
}

static json_t *read_notebook(const struct lg_buffer *text, char why[SH_WHY])
{
    struct sh_header h;
    char what[SH_WHY - 40];
    snprintf(why, SH_WHY, "out of memory");
    if (text->failed || !sh_header_read(text->data, text->length, &h)) return NULL;
    size_t line = count_newlines(text->data, h.length) + 1;
    json_t *cells = NULL;
    if (sh_metadata_check(h.metadata, NULL, what, sizeof what))
        cells = read_cells(text->data + h.length, text->length - h.length, line, h.minor, why);
    else
        snprintf(why, SH_WHY, "the header: %s", what);
    if (!cells) {
        json_decref(h.metadata);
        return NULL;
    }
    struct lg_buffer usual = {0};
    sh_header_put(h.metadata, h.minor, &usual);
    bool same = h.length == usual.length && (!h.length || memcmp(text->data, usual.data, h.length) == 0);
    if (!same) note(h.metadata, "header", text->data, h.length);
    if (usual.failed) sh_json_fail();
    lg_buffer_release(&usual);
    return json_pack("{s:o, s:o, s:i, s:i}", "cells", cells, "metadata", h.metadata, "nbformat", 4, "nbformat_minor",
                     h.minor);
}

json_t *sh_percent_read(const char *text, size_t length, char why[SH_WHY])
{
    struct lg_buffer plain = {0};
    bool returns = has_returns(text, length);
    if (!check_text(text, length, why)) return NULL;
    unify(text, length, returns, &plain);
    json_t *notebook = read_notebook(&plain, why);
    json_t *metadata = json_object_get(notebook, "metadata");
    if (returns) note(metadata, "newline", "\r\n", 2);
    if (length && text[length - 1] != '\n') note(metadata, "end", "", 0);
    lg_buffer_release(&plain);
    if (notebook && !sh_json_failed()) return notebook;
    if (sh_json_failed()) snprintf(why, SH_WHY, "out of memory");
    json_decref(notebook);
    return NULL;
}
