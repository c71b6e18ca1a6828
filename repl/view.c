/* The frame of a cell as it is edited: its lines with their colours, and what is shown below them. */
#include <stdlib.h>
#include <string.h>
#include "repl/editing.h"
#include "repl/highlight.h"
#include "repl/pair.h"
#include "repl/vi.h"

/* The cell's styles up to a byte, made anew from where the text has changed; NULL when there are none. */
static const unsigned char *cell_styles(struct sh_editor *e, size_t to)
{
    if (!e->host->highlight || e->text.length == 0) return NULL;
    if (!sh_text_reserve(&e->styles, e->text.length)) return NULL;
    unsigned char *styles = (unsigned char *)e->styles.bytes;
    if (e->styled < to) {
        e->host->highlight(e->host->context, e->text.bytes, e->text.length, e->styled, to, styles);
        e->styled = to;
    }
    return styles;
}

size_t sh_fresh_line(const struct sh_editor *e, size_t at)
{
    if (e->styled < at || !e->host->highlight) return 0;
    return sh_fresh_start(e->text.bytes, e->text.length, at, (const unsigned char *)e->styles.bytes);
}

/* Parts of the cell that are shown in another style than their own. */
struct marks {
    struct {
        size_t start, end;
        enum sh_style style;
    } parts[4];
    int count;
};

static void mark(struct marks *m, size_t start, size_t end, enum sh_style style)
{
    m->parts[m->count].start = start;
    m->parts[m->count].end = end;
    m->parts[m->count++].style = style;
}

/* The marks of what is shown, the bytes from one on and up to another. */
static void find_marks(const struct sh_editor *e, size_t shown, size_t end, struct marks *m)
{
    struct sh_pair pair;
    m->count = 0;
    if (e->searching) {
        if (e->found_any) mark(m, e->match_start, e->match_end, SH_MATCH);
        return;
    }
    size_t from, to;
    if (sh_vi_selection(e, &from, &to)) mark(m, from, to, SH_SELECTED);
    /* What is being written is not wrong yet. */
    bool writing = e->cursor >= e->wrong_start && e->cursor <= e->wrong_end;
    if (e->judged == e->version && !writing) mark(m, e->wrong_start, e->wrong_end, SH_WRONG);
    size_t begin = sh_fresh_line(e, shown);
    const unsigned char *styles = e->styled >= shown && e->styled ? (unsigned char *)e->styles.bytes + begin : NULL;
    if (e->text.length &&
        sh_find_pair(e->text.bytes + begin, end - begin, e->cursor - begin, styles, shown - begin, &pair)) {
        mark(m, begin + pair.start, begin + pair.end, SH_PAIR);
        mark(m, begin + pair.other, begin + pair.other_end, SH_PAIR);
    }
}

static enum sh_style style_at(const unsigned char *styles, const struct marks *m, size_t at)
{
    for (int i = 0; i < m->count; i++)
        if (at >= m->parts[i].start && at < m->parts[i].end) return m->parts[i].style;
    return styles ? (enum sh_style)styles[at] : SH_PLAIN;
}

/* The part of the cell that can be on a screen of that many rows: whole lines around the cursor; all for 0 rows. */
static void visible(const struct sh_editor *e, int rows, size_t *from, size_t *to)
{
    *from = 0;
    *to = e->text.length;
    if (rows <= 0) return;
    *from = sh_line_start(e, e->cursor);
    *to = sh_line_end(e, e->cursor);
    for (int i = 0; i < rows; i++) {
        if (*from > 0) *from = sh_line_start(e, *from - 1);
        if (*to < e->text.length) *to = sh_line_end(e, *to + 1);
    }
}

/* The prompt; outside of vi's insert mode its > is another sign, and it has another colour. */
static void prompt_frame(const struct sh_editor *e, struct sh_frame *out)
{
    enum sh_vi_mode mode = e->use_vi ? e->vi.mode : SH_VI_INSERT;
    static const char signs[] = {'>', 'R', ':', 'v', 'V'};
    const char *sign = mode == SH_VI_INSERT ? NULL : strrchr(e->prompt, '>');
    size_t length = strlen(e->prompt), before = sign ? (size_t)(sign - e->prompt) : length;
    enum sh_style style = mode == SH_VI_INSERT ? SH_PROMPT : SH_MODE;
    sh_frame_text(out, e->prompt, before, style);
    if (!sign) return;
    sh_frame_text(out, (const char[]){signs[mode], '\0'}, 1, style);
    sh_frame_text(out, sign + 1, length - before - 1, style);
}

static void cell_frame(struct sh_editor *e, int rows, struct sh_frame *out)
{
    const char *s = e->text.bytes;
    struct marks marks = {.count = 0};
    size_t from, to;
    visible(e, rows, &from, &to);
    const unsigned char *styles = cell_styles(e, to);
    if (rows > 0) find_marks(e, from, to, &marks);
    if (from)
        sh_frame_text(out, e->more, strlen(e->more), SH_PROMPT);
    else
        prompt_frame(e, out);
    for (size_t at = from, next; at < to; at = next) {
        next = sh_forward(e, at);
        if (at == e->cursor) sh_frame_cursor(out);
        if (s[at] == '\n') {
            sh_frame_newline(out);
            sh_frame_text(out, e->more, strlen(e->more), SH_PROMPT);
        } else {
            sh_frame_text(out, s + at, next - at, style_at(styles, &marks, at));
        }
    }
    if (e->cursor >= to) sh_frame_cursor(out);
    const char *ghost = rows > 0 ? sh_ghost(e) : NULL;
    if (ghost) sh_frame_clipped(out, ghost, strlen(ghost), out->columns, SH_GHOST);
}

/* Some rows of text below the cell. */
static void hint_frame(const char *hint, int rows, struct sh_frame *out)
{
    while (*hint && rows-- > 0) {
        size_t line = strcspn(hint, "\n"), n = sh_fitting(hint, line, out->columns);
        const char *rest = hint + n + (n == line && hint[n] == '\n');
        sh_frame_newline(out);
        if (rows == 0 && *rest)
            sh_frame_clipped(out, "\xE2\x80\xA6", 3, out->columns, SH_DIM);
        else
            sh_frame_clipped(out, hint, n, out->columns, SH_DIM);
        hint = rest;
    }
}

/* A row that says how the function is called whose arguments are written, the one at the cursor made to stand out.
 * Where it does not fit, it begins so that this one is seen. */
static void signature_frame(struct sh_editor *e, struct sh_frame *out)
{
    size_t from, to;
    const char *s = sh_signature(e, &from, &to);
    if (!s) return;
    sh_frame_newline(out);
    size_t length = strlen(s), skip = 0;
    if (sh_width(s, to) + 1 >= out->columns) skip = from;
    if (skip) sh_frame_clipped(out, "\xE2\x80\xA6", 3, out->columns, SH_DIM);
    sh_frame_clipped(out, s + skip, from - skip, out->columns, SH_DIM);
    sh_frame_clipped(out, s + from, to - from, out->columns, SH_STRONG);
    sh_frame_clipped(out, s + to, length - to, out->columns, SH_DIM);
}

void sh_editor_frame(struct sh_editor *e, int columns, int rows, struct sh_frame *out)
{
    sh_frame_begin(out, columns);
    cell_frame(e, rows, out);
    if (rows <= 0) return;
    size_t of_cell = out->count;
    int below = rows / 2 > 1 ? rows / 2 : 1;
    if (e->searching) {
        const char *label = e->found_any || e->query.length == 0 ? "search: " : "not found: ";
        sh_frame_newline(out);
        sh_frame_clipped(out, label, strlen(label), columns, SH_DIM);
        sh_frame_clipped(out, e->query.bytes ? e->query.bytes : "", e->query.length, columns, SH_PLAIN);
    } else if (e->menu.count) {
        sh_menu_frame(e, below, out);
    } else if (e->hint) {
        hint_frame(e->hint, below, out);
    } else {
        signature_frame(e, out);
    }
    sh_frame_crop(out, of_cell, rows);
}
