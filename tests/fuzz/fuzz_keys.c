/* Any bytes at all go through the key decoder into the editor, and every state it gets into is drawn. Of every cell all
 * changes are undone and done again. The first byte chooses the size of the terminal, and the second whether the
 * keys are vi's. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include "repl/editing.h"
#include "repl/highlight.h"
#include "repl/render.h"

static const char *const entries[] = {"x = 1", "for i = 1, 3 do\n  print(i)\nend", "\xFF\xC3", ""};
static const struct lg_match matches[] = {
    {"mean", "function", "gpu.mean(a)"}, {"median", "function", ""}, {"m\xC3\xA9", "", ""}};

static size_t history_count(void *context)
{
    (void)context;
    return sizeof entries / sizeof *entries;
}

static const char *history(void *context, size_t i)
{
    (void)context;
    return entries[i];
}

static enum lg_completeness completeness(void *context, const char *code, size_t length, int *indent)
{
    (void)context;
    (void)code;
    *indent = (int)(length % 7);
    return length % 3 ? LG_INCOMPLETE : LG_COMPLETE;
}

static void complete(void *context, const char *code, size_t length, size_t cursor, struct lg_completion *out)
{
    (void)context;
    (void)code;
    assert(cursor <= length);
    *out = (struct lg_completion){.start = cursor, .end = cursor, .matches = matches, .count = length % 4};
    if (cursor > 0 && code[cursor - 1] == 'm') out->start--;
}

static void check(const struct sh_editor *e)
{
    assert(e->cursor <= e->text.length);
    assert(e->text.length == 0 || e->text.bytes[e->text.length] == '\0');
    assert(e->menu.start <= e->menu.end && (e->menu.count == 0 || e->menu.end <= e->text.length));
    assert(e->menu.selected < (long)e->menu.count || e->menu.count == 0);
    assert(!e->searching || !e->found_any || e->match_end <= e->text.length);
}

static void draw(struct sh_editor *e, struct sh_screen *screen, int columns, int rows)
{
    static struct sh_frame f;
    static struct sh_text bytes;
    bytes.length = 0;
    if (screen->drawn && screen->shown.columns != columns) sh_render_resize(screen, columns, &bytes);
    sh_editor_frame(e, columns, rows, &f);
    assert(rows == 0 || f.count <= (size_t)rows);
    assert(f.cursor_row < f.count && f.cursor_column <= columns);
    for (size_t i = 0; i < f.count; i++) assert(f.rows[i].width <= columns || columns < 2);
    sh_render(screen, &f, &bytes);
    for (size_t i = 0; i < f.text.length; i++) assert((unsigned char)f.text.bytes[i] >= 32);
}

static void highlight(void *context, const char *code, size_t length, size_t from, size_t to, unsigned char *styles)
{
    (void)context;
    sh_highlight_part(code, length, from, to, styles);
}

static enum lg_mistake mistake(void *context, const char *code, size_t length, size_t *from, size_t *to)
{
    (void)context;
    (void)code;
    *from = length / 2;
    *to = length / 2 + 1;
    return length % 3 == 2 ? LG_GIVEN_UP : length > 1 ? LG_MISTAKE : LG_NO_MISTAKE;
}

/* Undoing everything gives the empty cell that it began as, doing it all again the cell as it is. */
static void undo_and_redo(struct sh_editor *e)
{
    struct sh_text end = {0};
    size_t cursor = e->cursor;
    while (sh_redo(e)) cursor = e->cursor; /* what had been undone */
    assert(sh_text_set(&end, e->text.bytes ? e->text.bytes : "", e->text.length));
    while (sh_undo(e)) assert(e->cursor <= e->text.length);
    assert(e->text.length == 0 && e->cursor == 0);
    while (sh_redo(e)) assert(e->cursor <= e->text.length);
    assert(e->text.length == end.length && memcmp(e->text.bytes ? e->text.bytes : "", end.bytes, end.length) == 0);
    assert(e->cursor == cursor);
    sh_text_free(&end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sh_host host = {.history_count = history_count,
                                        .history = history,
                                        .completeness = completeness,
                                        .complete = complete,
                                        .highlight = highlight,
                                        .mistake = mistake};
    if (size < 2 || size > 4096) return 0;
    struct sh_editor e = {.host = &host, .prompt = ">> ", .more = ".. ", .use_vi = data[1] & 1};
    sh_editor_start(&e);
    struct sh_decoder decoder = {0};
    struct sh_screen screen = {0};
    struct sh_key key;
    int columns = data[0] % 16 + 1, rows = data[0] / 16 + 1;
    for (size_t i = 2; i < size; i++) {
        bool got = sh_decode(&decoder, data[i], &key);
        if (!got && data[i] == 27 && size % 2) got = sh_decoder_flush(&decoder, &key);
        if (!got) continue;
        enum sh_action action = sh_editor_key(&e, &key);
        check(&e);
        draw(&e, &screen, columns + (int)(i % 2), rows);
        if (i % 5 == 0) sh_editor_idle(&e);
        if (action != SH_ACCEPT && action != SH_CANCEL) continue;
        undo_and_redo(&e);
        sh_editor_start(&e);
    }
    undo_and_redo(&e);
    sh_editor_free(&e);
    sh_screen_free(&screen);
    return 0;
}
