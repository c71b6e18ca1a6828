/* The frame of a cell as it is edited: its lines with their colours, and what is shown below them. */
#include <stdlib.h>
#include <string.h>
#include "repl/editing.h"

static void cell_frame(const struct sh_editor *e, struct sh_frame *out, const unsigned char *styles)
{
    const char *s = e->text.bytes;
    sh_frame_text(out, e->prompt, strlen(e->prompt), SH_PROMPT);
    for (size_t at = 0, next; at < e->text.length; at = next) {
        next = sh_forward(e, at);
        if (at == e->cursor) sh_frame_cursor(out);
        enum sh_style style = styles ? (enum sh_style)styles[at] : SH_PLAIN;
        if (e->searching && e->found_any && at >= e->match_start && at < e->match_end) style = SH_MATCH;
        if (s[at] == '\n') {
            sh_frame_newline(out);
            sh_frame_text(out, e->more, strlen(e->more), SH_PROMPT);
        } else {
            sh_frame_text(out, s + at, next - at, style);
        }
    }
    if (e->cursor >= e->text.length) sh_frame_cursor(out);
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

void sh_editor_frame(const struct sh_editor *e, int columns, int rows, struct sh_frame *out)
{
    sh_frame_begin(out, columns);
    unsigned char *styles = NULL;
    if (e->host->highlight && e->text.length && (styles = calloc(e->text.length, 1)))
        e->host->highlight(e->host->context, e->text.bytes, e->text.length, styles);
    cell_frame(e, out, styles);
    free(styles);
    if (rows <= 0) return;
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
    }
    sh_frame_crop(out, rows);
}
