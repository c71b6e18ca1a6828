#include "repl/frame.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

enum { TAB_COLUMNS = 4 };

static struct sh_row *last(struct sh_frame *f)
{
    return &f->rows[f->count - 1];
}

static bool add_row(struct sh_frame *f)
{
    if (f->count == f->capacity) {
        size_t capacity = f->capacity ? f->capacity * 2 : 16;
        struct sh_row *more = rt_realloc(f->rows, capacity * sizeof *more);
        if (!more) return !(f->failed = true);
        f->rows = more;
        f->capacity = capacity;
    }
    f->rows[f->count++] = (struct sh_row){.start = f->text.length, .end = f->text.length};
    return true;
}

void sh_frame_begin(struct sh_frame *f, int columns)
{
    f->columns = columns > 0 ? columns : 1;
    f->text.length = f->styles.length = 0;
    f->count = 0;
    f->cursor_row = 0;
    f->cursor_column = 0;
    f->failed = false;
    add_row(f);
}

void sh_frame_free(struct sh_frame *f)
{
    sh_text_free(&f->text);
    sh_text_free(&f->styles);
    free(f->rows);
    *f = (struct sh_frame){0};
}

void sh_frame_newline(struct sh_frame *f)
{
    if (!f->failed) add_row(f);
}

static void add(struct sh_frame *f, const char *bytes, size_t size, int width, enum sh_style style)
{
    if (f->failed) return;
    if (last(f)->width > 0 && last(f)->width + width > f->columns && !add_row(f)) return;
    size_t before = f->text.length;
    if (!sh_text_reserve(&f->styles, before + size) || !sh_text_append(&f->text, bytes, size)) {
        f->failed = true;
        return;
    }
    memset(f->styles.bytes + before, (char)style, size);
    f->styles.length = before + size;
    last(f)->end = f->text.length;
    last(f)->width += width;
}

void sh_frame_put(struct sh_frame *f, const char *grapheme, size_t size, enum sh_style style)
{
    unsigned char first = (unsigned char)grapheme[0];
    size_t n;
    if (first < 32 || first == 127) {
        add(f, (char[]){'^', (char)(first ^ 64)}, 2, 2, style);
        return;
    }
    int32_t c = sh_code_point(grapheme, size, 0, &n);
    if (c == 0xFFFD || (c >= 128 && c < 160)) /* C1 controls would be obeyed by some terminals */
        add(f, "\xEF\xBF\xBD", 3, 1, style);
    else
        add(f, grapheme, size, sh_grapheme_width(grapheme, size), style);
}

void sh_frame_text(struct sh_frame *f, const char *text, size_t length, enum sh_style style)
{
    for (size_t at = 0, next; at < length; at = next) {
        next = sh_next_grapheme(text, length, at);
        if (text[at] != '\t') {
            sh_frame_put(f, text + at, next - at, style);
            continue;
        }
        int spaces = TAB_COLUMNS - sh_frame_column(f) % TAB_COLUMNS;
        while (spaces-- > 0) add(f, " ", 1, 1, style);
    }
}

void sh_frame_clipped(struct sh_frame *f, const char *text, size_t length, int columns, enum sh_style style)
{
    if (f->failed) return;
    int room = f->columns - last(f)->width;
    if (columns > room) columns = room;
    size_t end = 0;
    while (end < length && (unsigned char)text[end] >= 32) end++;
    bool whole = end == length && sh_width(text, length) <= columns;
    int used = 0;
    for (size_t at = 0, next; at < end; at = next) {
        next = sh_next_grapheme(text, end, at);
        int width = sh_grapheme_width(text + at, next - at);
        if (used + width > columns - !whole) break;
        sh_frame_put(f, text + at, next - at, style);
        used += width;
    }
    if (!whole && columns > 0) add(f, "\xE2\x80\xA6", 3, 1, style);
}

void sh_frame_cursor(struct sh_frame *f)
{
    if (f->failed) return;
    if (last(f)->width >= f->columns && !add_row(f)) return;
    f->cursor_row = f->count - 1;
    f->cursor_column = last(f)->width;
}

void sh_frame_crop(struct sh_frame *f, size_t of, int rows)
{
    if (rows < 1 || f->count <= (size_t)rows) return;
    size_t most = (size_t)rows, behind = f->count - of, keep = most > behind ? most - behind : 1;
    size_t first = f->cursor_row > keep / 2 ? f->cursor_row - keep / 2 : 0;
    if (first + keep > of) first = of - keep;
    memmove(f->rows, f->rows + first, keep * sizeof *f->rows);
    memmove(f->rows + keep, f->rows + of, behind * sizeof *f->rows);
    f->count = keep + behind < most ? keep + behind : most;
    f->cursor_row -= first;
}

int sh_frame_column(const struct sh_frame *f)
{
    return f->count ? f->rows[f->count - 1].width : 0;
}
