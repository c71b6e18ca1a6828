/* Drives the editor as a terminal would: bytes go through the decoder, frames come back as text. */
#ifndef EDITOR_DRIVER_H
#define EDITOR_DRIVER_H

#include "repl/editor.h"
#include "tests/unit/test.h"

#define UP    "\033[A"
#define DOWN  "\033[B"
#define RIGHT "\033[C"
#define LEFT  "\033[D"

static const char *driver_history[64];
static size_t driver_history_used;
static struct lg_match driver_matches[64];
static size_t driver_match_count;
static const char *driver_doc;

static size_t driver_history_count(void *context)
{
    (void)context;
    return driver_history_used;
}

static const char *driver_history_get(void *context, size_t i)
{
    (void)context;
    return driver_history[i];
}

/* A cell is complete when it has as many "end" as "do". */
static enum lg_completeness driver_completeness(void *context, const char *code, size_t length, int *indent)
{
    int depth = 0;
    (void)context;
    for (size_t i = 0; i < length; i++) {
        if (length - i >= 2 && memcmp(code + i, "do", 2) == 0) depth++;
        if (length - i >= 3 && memcmp(code + i, "end", 3) == 0) depth--;
    }
    *indent = depth * 2;
    return depth > 0 ? LG_INCOMPLETE : depth < 0 ? LG_INVALID : LG_COMPLETE;
}

/* All of driver_matches that begin with the letters before the cursor. */
static void driver_complete(void *context, const char *code, size_t length, size_t cursor, struct lg_completion *out)
{
    static struct lg_match found[64];
    size_t start = cursor;
    (void)context;
    (void)length;
    while (start > 0 && ((code[start - 1] >= 'a' && code[start - 1] <= 'z') || (code[start - 1] & 0x80))) start--;
    *out = (struct lg_completion){.start = start, .end = cursor, .matches = found};
    for (size_t i = 0; i < driver_match_count; i++)
        if (strncmp(driver_matches[i].text, code + start, cursor - start) == 0) found[out->count++] = driver_matches[i];
}

static char *driver_inspect(void *context, const char *code, size_t length, size_t cursor)
{
    (void)context;
    (void)code;
    (void)length;
    (void)cursor;
    return driver_doc ? strdup(driver_doc) : NULL;
}

static bool driver_hurried; /* the look for a mistake is given up */

/* "==" is wrong behind "=". */
static enum lg_mistake driver_mistake(void *context, const char *code, size_t length, size_t *from, size_t *to)
{
    const char *wrong = strstr(code, "= ==");
    (void)context;
    (void)length;
    if (driver_hurried) return LG_GIVEN_UP;
    if (!wrong) return LG_NO_MISTAKE;
    *from = (size_t)(wrong + 2 - code);
    *to = *from + 2;
    return LG_MISTAKE;
}

static const struct sh_host driver_host = {
    .history_count = driver_history_count,
    .history = driver_history_get,
    .completeness = driver_completeness,
    .complete = driver_complete,
    .inspect = driver_inspect,
    .mistake = driver_mistake,
};

static struct sh_editor driver_editor = {.host = &driver_host, .prompt = ">> ", .more = ".. "};
static struct sh_decoder driver_decoder;

/* Feeds bytes; the first action that is more than "go on", the rest of the bytes is then not read. */
static enum sh_action driver_type_bytes(const char *bytes, size_t length)
{
    struct sh_key key;
    for (size_t i = 0; i < length; i++) {
        if (!sh_decode(&driver_decoder, (unsigned char)bytes[i], &key)) continue;
        enum sh_action action = sh_editor_key(&driver_editor, &key);
        if (action != SH_CONTINUE) return action;
    }
    if (sh_decoder_flush(&driver_decoder, &key)) return sh_editor_key(&driver_editor, &key);
    return SH_CONTINUE;
}
#define TYPE(s) driver_type_bytes(s, sizeof(s) - 1)

__attribute__((unused)) static void driver_remember(const char *a, const char *b, const char *c)
{
    driver_history[0] = a;
    driver_history[1] = b;
    driver_history[2] = c;
    driver_history_used = 3;
}

__attribute__((unused)) static void driver_offer(const char *const *names)
{
    for (; *names; names++) driver_matches[driver_match_count++] = (struct lg_match){*names, "function", "a note"};
}

/* The cell with | where the cursor is. */
__attribute__((unused)) static const char *driver_cell(void)
{
    static char out[8192];
    const struct sh_editor *e = &driver_editor;
    snprintf(out, sizeof out, "%.*s|%s", (int)e->cursor, e->text.bytes ? e->text.bytes : "",
             e->text.bytes ? e->text.bytes + e->cursor : "");
    return out;
}

/* What keys make of a cell: | is the cursor, before and after. */
struct driver_row {
    const char *before, *keys, *after;
};

/* Starts with the row's cell, in vi's normal mode or without vi. */
__attribute__((unused)) static void driver_begin(const struct driver_row *row, bool vi)
{
    char text[128];
    size_t at = strcspn(row->before, "|");
    snprintf(text, sizeof text, "%.*s%s", (int)at, row->before, row->before + at + 1);
    sh_editor_free(&driver_editor);
    driver_editor.use_vi = vi;
    sh_editor_start(&driver_editor);
    sh_editor_set(&driver_editor, text, strlen(text));
    if (vi) TYPE("\033");
    driver_editor.cursor = at;
}

__attribute__((unused)) static void driver_end(const struct driver_row *row, size_t number)
{
    if (strcmp(driver_cell(), row->after) != 0)
        FAIL("row %zu: \"%s\" with %s became \"%s\", expected \"%s\"", number, row->before, row->keys, driver_cell(),
             row->after);
}

/* The frame's rows, each ended by a newline, with | where the cursor is. */
__attribute__((unused)) static const char *driver_screen(int columns, int rows)
{
    static char out[16384];
    static struct sh_frame f;
    size_t n = 0;
    sh_editor_frame(&driver_editor, columns, rows, &f);
    for (size_t i = 0; i < f.count; i++) {
        int column = 0;
        bool cursor_row = i == f.cursor_row, placed = false;
        for (size_t at = f.rows[i].start, next; at < f.rows[i].end; at = next) {
            next = sh_next_grapheme(f.text.bytes, f.rows[i].end, at);
            if (cursor_row && column == f.cursor_column && !placed) {
                out[n++] = '|';
                placed = true;
            }
            memcpy(out + n, f.text.bytes + at, next - at);
            n += next - at;
            column += sh_grapheme_width(f.text.bytes + at, next - at);
        }
        if (cursor_row && !placed) out[n++] = '|';
        out[n++] = '\n';
    }
    out[n] = '\0';
    return out;
}

/* The same without the cursor, what has the style in brackets. */
__attribute__((unused)) static const char *driver_styled(enum sh_style style)
{
    static char out[8192];
    static struct sh_frame f;
    size_t n = 0;
    sh_editor_frame(&driver_editor, 60, 20, &f);
    for (size_t i = 0; i < f.count; i++) {
        bool inside = false;
        for (size_t at = f.rows[i].start; at < f.rows[i].end; at++) {
            bool in = f.styles.bytes[at] == (char)style;
            if (in != inside) out[n++] = in ? '[' : ']';
            inside = in;
            out[n++] = f.text.bytes[at];
        }
        if (inside) out[n++] = ']';
        out[n++] = '\n';
    }
    out[n] = '\0';
    return out;
}

#endif
