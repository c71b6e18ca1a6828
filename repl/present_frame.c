/* What the presenter shows: the cell, a row of state below it, and what lies over both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/highlight.h"
#include "repl/markdown_text.h"
#include "repl/present.h"
#include "runtime/memory.h"

static void put(struct sh_frame *out, const char *s, enum sh_style style)
{
    sh_frame_text(out, s, strlen(s), style);
}

/* The cell */

static void markdown_rows(const char *text, size_t length, struct sh_frame *out)
{
    struct sh_markdown m = {0};
    if (!sh_markdown_parse(text, length, &m)) {
        out->failed = true;
        return;
    }
    sh_markdown_frame(&m, out);
    sh_markdown_free(&m);
}

/* Code as the shell shows it, up to what is typed of it. */
static void code_rows(const char *text, size_t length, size_t typed, int number, struct sh_frame *out)
{
    char prompt[16], more[16];
    int width = snprintf(prompt, sizeof prompt, "%d> ", number) - 1;
    snprintf(more, sizeof more, "%.*s ", width, "............");
    unsigned char *styles = rt_calloc(length + 1, 1);
    if (styles) sh_highlight(text, length, styles);
    put(out, prompt, SH_PROMPT);
    for (size_t at = 0, next; at < typed && at < length; at = next) {
        next = sh_next_grapheme(text, length, at);
        if (text[at] != '\n') {
            sh_frame_text(out, text + at, next - at, styles ? (enum sh_style)styles[at] : SH_PLAIN);
            continue;
        }
        sh_frame_newline(out);
        put(out, more, SH_PROMPT);
    }
    free(styles);
}

static bool has_rows(const struct sh_presenter *p)
{
    return p->overlay == SH_OVER_LIST || p->overlay == SH_OVER_KEYS ||
           (p->phase != SH_AT_OUTPUT && p->phase != SH_AT_END);
}

/* The cell below a blank row. */
static void cell_rows(const struct sh_presenter *p, const struct sh_present_view *view, struct sh_frame *out)
{
    size_t length;
    const char *text = sh_present_text(p, &length);
    if (!has_rows(p)) return;
    sh_frame_newline(out);
    if (p->demo->cells[p->at].markdown)
        markdown_rows(text, length, out);
    else
        code_rows(text, length, p->typed, view->number, out);
    if (view->rows > 0) sh_frame_cursor(out);
}

/* Keeps the rows from p->scroll that fit above the row of state, and returns how many are left out below them. */
static size_t scrolled(struct sh_presenter *p, size_t rows, struct sh_frame *out)
{
    size_t hidden = out->count > rows ? out->count - rows : 0;
    if (p->scroll > hidden || p->phase == SH_AT_TYPING) p->scroll = hidden;
    if (hidden == 0) return 0;
    memmove(out->rows, out->rows + p->scroll, rows * sizeof *out->rows);
    out->count = rows;
    out->cursor_row = out->cursor_row >= p->scroll ? out->cursor_row - p->scroll : rows;
    return hidden - p->scroll;
}

/* The row of state */

static const char *question(enum sh_present_overlay overlay)
{
    switch (overlay) {
    case SH_OVER_LEAVE: return "leave? Enter or q does, other keys go on";
    case SH_OVER_RESTART: return "start again in a fresh session? Enter does, other keys go on";
    case SH_OVER_LIST: return "Enter goes there; r runs all up to it; Escape goes back";
    case SH_OVER_KEYS: return "other keys go back";
    case SH_NO_OVERLAY: break;
    }
    return NULL;
}

static const char *what_next(const struct sh_presenter *p)
{
    const char *asked = question(p->overlay);
    if (asked) return asked;
    if (p->note) return p->note;
    if (p->play && p->phase != SH_AT_END) return "plays; a stops it, ? keys";
    switch (p->phase) {
    case SH_AT_TYPING: return "Enter shows all, ? keys";
    case SH_AT_CELL: return p->demo->cells[p->at].markdown ? "Enter goes on, ? keys" : "Enter runs, ? keys";
    case SH_AT_OUTPUT: return "Enter goes on, ? keys";
    case SH_AT_END: return "the end; q leaves, ? keys";
    case SH_AT_RUNNING: break;
    }
    return "";
}

/* "14:05  3:20": the time of day, and how long it has been going on. */
static void clock_text(const struct sh_presenter *p, const struct sh_present_view *view, char *out, size_t size)
{
    long seconds = (view->now - p->started) / 1000;
    if (p->clock)
        snprintf(out, size, " %s  %ld:%02ld", view->time ? view->time : "", seconds / 60, seconds % 60);
    else
        *out = '\0';
}

static void state_row(const struct sh_presenter *p, const struct sh_present_view *view, size_t below,
                      struct sh_frame *out)
{
    char state[256], clock[64];
    size_t here = p->at < p->demo->count ? p->at + 1 : p->demo->count;
    clock_text(p, view, clock, sizeof clock);
    int width = out->columns - (int)strlen(clock);
    if (has_rows(p)) sh_frame_newline(out);
    int n = snprintf(state, sizeof state, "%zu/%zu  %s", here, p->demo->count, what_next(p));
    if (below) snprintf(state + n, sizeof state - (size_t)n, "; Down: %zu more row%s", below, below == 1 ? "" : "s");
    sh_frame_clipped(out, state, strlen(state), width, SH_DIM);
    if (!*clock || width < 0) return;
    while (sh_frame_column(out) < width) put(out, " ", SH_PLAIN);
    put(out, clock, SH_DIM);
}

/* What lies over the cell */

static void key_rows(struct sh_frame *out)
{
    static const struct {
        const char *key, *what;
    } keys[] = {
        {"Enter", "runs the cell, goes on; so do Space, n, Right, Page Down"},
        {"b", "goes back, without undoing anything; so do Left, Page Up"},
        {"s", "skips the cell"},
        {"e", "edits a cell of code; Enter then runs it, Ctrl-C leaves it as it was"},
        {"p", "a live prompt in the demo's session; Ctrl-D comes back"},
        {"g", "the list of cells, to jump; a number opens it, too"},
        {"R", "starts again in a fresh session"},
        {"a", "plays by itself, or stops that"},
        {"t", "types cells out, or shows them at once"},
        {"c", "the clock: time of day, and since the start"},
        {"Up Down", "the rest of a tall cell, or of this list"},
        {"Ctrl-L", "a clean screen"},
        {"Ctrl-C", "stops a cell that runs"},
        {"q", "leaves"},
    };
    enum { KEY_COLUMNS = 9 };
    int room = out->columns > 2 * KEY_COLUMNS ? out->columns - KEY_COLUMNS : KEY_COLUMNS;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        sh_frame_newline(out);
        sh_frame_clipped(out, keys[i].key, strlen(keys[i].key), KEY_COLUMNS, SH_FUNCTION);
        for (const char *what = keys[i].what; *what;) {
            size_t n = sh_fitting(what, strlen(what), room);
            while (sh_frame_column(out) < KEY_COLUMNS && out->columns > KEY_COLUMNS) put(out, " ", SH_PLAIN);
            sh_frame_clipped(out, what, n, out->columns, SH_PLAIN);
            what += n;
            if (*what) sh_frame_newline(out);
        }
    }
}

static void list_rows(const struct sh_presenter *p, struct sh_frame *out)
{
    for (size_t i = 0; i < p->demo->count; i++) {
        const struct sh_demo_cell *cell = &p->demo->cells[i];
        enum sh_style style = cell->markdown ? SH_HEADING : SH_PLAIN;
        char number[32];
        snprintf(number, sizeof number, "%s%3zu  %s", i == p->at ? ">" : " ", i + 1, cell->markdown ? "" : "  ");
        sh_frame_newline(out);
        if (i == p->selected) {
            style = SH_SELECTED;
            sh_frame_cursor(out);
        }
        sh_frame_clipped(out, number, strlen(number), out->columns, i == p->selected ? SH_SELECTED : SH_DIM);
        sh_frame_clipped(out, cell->title.bytes, cell->title.length, out->columns, style);
    }
}

void sh_present_frame(struct sh_presenter *p, const struct sh_present_view *view, struct sh_frame *out)
{
    size_t rows = view->rows > 1 ? (size_t)view->rows - 1 : 0, below = 0;
    sh_frame_begin(out, view->columns);
    if (p->overlay == SH_OVER_KEYS)
        key_rows(out);
    else if (p->overlay == SH_OVER_LIST)
        list_rows(p, out);
    else
        cell_rows(p, view, out);
    if (view->rows <= 0) return;
    if (p->overlay == SH_OVER_LIST && rows > 0)
        sh_frame_crop(out, out->count, (int)rows);
    else
        below = scrolled(p, rows, out);
    state_row(p, view, below, out);
    if (out->count && out->cursor_row >= out->count) { /* it was scrolled away */
        out->cursor_row = out->count - 1;
        out->cursor_column = 0;
    }
}
