/* vi's visual mode: what is selected, and what is done with it. */
#include <string.h>
#include "repl/vi.h"

bool sh_vi_selection(const struct sh_editor *e, size_t *from, size_t *to)
{
    if (!e->use_vi || e->vi.mode < SH_VI_VISUAL) return false;
    size_t anchor = e->vi.anchor < e->text.length ? e->vi.anchor : e->text.length;
    *from = anchor < e->cursor ? anchor : e->cursor;
    *to = anchor < e->cursor ? e->cursor : anchor;
    if (e->vi.mode == SH_VI_LINES) {
        *from = sh_line_start(e, *from);
        *to = sh_line_end(e, *to);
    } else {
        *to = sh_forward(e, *to);
    }
    return true;
}

void sh_vi_join(struct sh_editor *e, int lines, bool plain)
{
    for (int i = 0; i < (lines > 1 ? lines - 1 : 1); i++) {
        size_t end = sh_line_end(e, e->cursor);
        if (end >= e->text.length) return;
        size_t next = plain ? end + 1 : sh_vi_first(e, end + 1);
        bool ends_blank = end > 0 && strchr(" \t\n", e->text.bytes[end - 1]);
        bool blank = !plain && end > 0 && !ends_blank && next < e->text.length && !strchr(")\n", e->text.bytes[next]);
        sh_edit(e, end, next, " ", blank);
        e->cursor = end;
    }
}

void sh_vi_select_again(struct sh_editor *e)
{
    size_t length = e->text.length, anchor = e->vi.selected.anchor, cursor = e->vi.selected.cursor;
    if (e->vi.selected.mode < SH_VI_VISUAL) return;
    e->vi.mode = e->vi.selected.mode;
    e->vi.anchor = anchor < length ? anchor : length;
    e->cursor = cursor < length ? cursor : length;
}

static void replace_selected(struct sh_editor *e, size_t from, size_t to, int32_t character)
{
    struct sh_text with = {0};
    char bytes[4];
    size_t n = sh_encode(character, bytes);
    bool good = true;
    for (size_t at = from; at < to && good; at = sh_forward(e, at)) {
        bool line_end = e->text.bytes[at] == '\n';
        good = sh_text_append(&with, line_end ? "\n" : bytes, line_end ? 1 : n);
    }
    if (good) sh_edit(e, from, to, with.bytes, with.length);
    e->cursor = from;
    sh_text_free(&with);
}

void sh_vi_leave_visual(struct sh_editor *e)
{
    struct sh_vi *vi = &e->vi;
    vi->selected.mode = vi->mode;
    vi->selected.anchor = vi->anchor;
    vi->selected.cursor = e->cursor;
    vi->mode = SH_VI_NORMAL;
}

void sh_vi_run_visual(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t from, to;
    bool lines = e->vi.mode == SH_VI_LINES;
    if (c->object) {
        bool extends = e->cursor > e->vi.anchor;
        if (extends) e->cursor = sh_forward(e, e->cursor);
        if (!sh_vi_object(e, c->object == 'a', c->character, c->count, &from, &to) || from == to) {
            if (extends) e->cursor = sh_backward(e, e->cursor);
            return;
        }
        e->vi.mode = sh_vi_object_is_lines(c->character) ? SH_VI_LINES : SH_VI_VISUAL;
        e->cursor = sh_backward(e, to);
        if (!extends) e->vi.anchor = from;
        return;
    }
    if (!sh_vi_selection(e, &from, &to)) return;
    int32_t key = c->key;
    if (key == 'o') {
        size_t anchor = e->vi.anchor;
        e->vi.anchor = e->cursor;
        e->cursor = anchor < e->text.length ? anchor : e->text.length;
        return;
    }
    sh_vi_leave_visual(e);
    if (strchr("XDYCSR", (int)key)) { /* the whole lines that are touched */
        lines = true;
        from = sh_line_start(e, from);
        to = sh_line_end(e, to > from ? sh_backward(e, to) : to);
    }
    if (strchr("xXD", (int)key)) key = 'd';
    if (strchr("sCSR", (int)key)) key = 'c';
    if (key == 'Y') key = 'y';
    if (key == 'J') {
        e->cursor = from;
        int rows = 1;
        for (size_t i = from; i < to; i++) rows += e->text.bytes[i] == '\n';
        sh_vi_join(e, rows, false);
    } else if (key == 'r') {
        replace_selected(e, from, to, c->character);
    } else if (key == 'p' || key == 'P') {
        sh_vi_put_selected(e, from, to, lines);
    } else {
        sh_vi_operate(e, key, from, to, lines);
    }
}
