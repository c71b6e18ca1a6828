#include "repl/render.h"

#include <stdio.h>
#include <string.h>
#include "repl/theme.h"

static void put(struct sh_text *out, const char *s)
{
    sh_text_append(out, s, strlen(s));
}

static void put_number(struct sh_text *out, const char *format, int n)
{
    char s[24];
    snprintf(s, sizeof s, format, n);
    put(out, s);
}

/* What the font of the Linux console lacks of what this program and texts have often, and what is as wide. */
static const struct {
    char lacking[4], instead;
} stand_ins[] = {{"\u2026", '~'}, {"\u2018", '\''}, {"\u2019", '\''}, {"\u201c", '"'}, {"\u201d", '"'},
                 {"\u2013", '-'}, {"\u2014", '-'},  {"\u2611", 'x'},  {"\u2610", 'o'}};

static void put_text(const struct sh_screen *s, const char *text, size_t length, struct sh_text *out)
{
    size_t from = 0;
    for (size_t at = 0; s->few_glyphs && at + 3 <= length; at++) {
        if (text[at] != stand_ins[0].lacking[0]) continue;
        for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
            if (memcmp(text + at, stand_ins[i].lacking, 3) != 0) continue;
            sh_text_append(out, text + from, at - from);
            sh_text_append(out, &stand_ins[i].instead, 1);
            from = at + 3;
        }
    }
    sh_text_append(out, text + from, length - from);
}

static void put_row(const struct sh_screen *s, const struct sh_frame *f, const struct sh_row *row, struct sh_text *out)
{
    const char *current = "";
    for (size_t at = row->start; at < row->end;) {
        unsigned char style = (unsigned char)f->styles.bytes[at];
        size_t end = at;
        while (end < row->end && (unsigned char)f->styles.bytes[end] == style) end++;
        const char *wanted = sh_style_code(style, s->color);
        if (wanted != current) {
            if (*current) put(out, "\033[0m");
            put(out, wanted);
            current = wanted;
        }
        put_text(s, f->text.bytes + at, end - at, out);
        at = end;
    }
    if (*current) put(out, "\033[0m");
}

static bool same_row(const struct sh_frame *a, const struct sh_frame *b, size_t i)
{
    const struct sh_row *x = &a->rows[i], *y = &b->rows[i];
    size_t n = x->end - x->start;
    return n == y->end - y->start &&
           (n == 0 || (memcmp(a->text.bytes + x->start, b->text.bytes + y->start, n) == 0 &&
                       memcmp(a->styles.bytes + x->start, b->styles.bytes + y->start, n) == 0));
}

static void remember(struct sh_screen *s, const struct sh_frame *f)
{
    struct sh_frame *to = &s->shown;
    sh_frame_begin(to, f->columns);
    to->count = 0;
    bool ok = sh_text_set(&to->text, f->text.bytes ? f->text.bytes : "", f->text.length) &&
              sh_text_set(&to->styles, f->styles.bytes ? f->styles.bytes : "", f->styles.length);
    for (size_t i = 0; i < f->count && ok && !to->failed; i++) {
        sh_frame_newline(to);
        if (!to->failed) to->rows[i] = f->rows[i];
    }
    if (!ok || to->failed) to->count = 0; /* no memory for a copy: nothing compares equal, all is drawn again */
    to->cursor_row = f->cursor_row;
    to->cursor_column = f->cursor_column;
}

void sh_render(struct sh_screen *s, const struct sh_frame *f, struct sh_text *out)
{
    size_t shown = s->drawn ? s->shown.count : 0;
    put(out, "\033[?25l\r");
    if (s->drawn && s->shown.cursor_row) put_number(out, "\033[%dA", (int)s->shown.cursor_row);
    for (size_t i = 0; i < f->count; i++) {
        if (i) put(out, "\r\n");
        if (i < shown && same_row(f, &s->shown, i)) continue;
        put_row(s, f, &f->rows[i], out);
        /* A full row leaves the cursor on its last column, where erasing would take the last character. */
        if (f->rows[i].width < f->columns) put(out, "\033[K");
    }
    if (f->count < shown) {
        put(out, "\r\n\033[J\033[A");
    }
    if (f->count && f->cursor_row + 1 < f->count) put_number(out, "\033[%dA", (int)(f->count - 1 - f->cursor_row));
    put(out, "\r");
    if (f->cursor_column) put_number(out, "\033[%dC", f->cursor_column);
    put(out, "\033[?25h");
    remember(s, f);
    s->drawn = true;
}

void sh_render_resize(struct sh_screen *s, int columns, struct sh_text *out)
{
    if (!s->drawn) return;
    int above = 0;
    if (columns < 1) columns = 1;
    for (size_t i = 0; i < s->shown.cursor_row && i < s->shown.count; i++) {
        int width = s->shown.rows[i].width;
        above += width > columns ? (width + columns - 1) / columns : 1;
    }
    /* Behind the last character of its row the cursor stays in the row that this one ends in. */
    size_t row = s->shown.cursor_row;
    int at = s->shown.cursor_column;
    bool behind = row < s->shown.count && at == s->shown.rows[row].width;
    above += at ? (at - behind) / columns : 0;
    put(out, "\r");
    if (above) put_number(out, "\033[%dA", above);
    /* Erasing from the screen's first character on would have tmux keep what is erased, as history. */
    put(out, "\033[K\033[C\033[J\r");
    s->drawn = false;
}

void sh_render_leave(struct sh_screen *s, struct sh_text *out)
{
    if (!s->drawn) return;
    size_t below = s->shown.count ? s->shown.count - 1 - s->shown.cursor_row : 0;
    if (below) put_number(out, "\033[%dB", (int)below);
    put(out, "\r\n");
    s->drawn = false;
}

void sh_screen_free(struct sh_screen *s)
{
    sh_frame_free(&s->shown);
}
