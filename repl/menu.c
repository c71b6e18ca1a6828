/* Completion in the editor: the common beginning at once, a list below the line, and choosing from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/editing.h"

enum { NOTED_ROWS = 8 }; /* up to so many matches are shown one a row, with their notes */

void sh_menu_close(struct sh_editor *e)
{
    struct sh_menu *m = &e->menu;
    for (size_t i = 0; i < m->count; i++) {
        free(m->matches[i].text);
        free(m->matches[i].kind);
        free(m->matches[i].note);
    }
    free(m->matches);
    free(m->typed);
    *m = (struct sh_menu){.selected = -1};
}

static char *copy(const char *s)
{
    return strdup(s ? s : "");
}

/* The matches belong to the session until its next call, so they are copied. */
static bool open_menu(struct sh_editor *e, const struct lg_completion *c)
{
    struct sh_menu *m = &e->menu;
    m->matches = calloc(c->count, sizeof *m->matches);
    if (!m->matches) return false;
    bool ok = true;
    for (size_t i = 0; i < c->count; i++) {
        m->count = i + 1;
        m->matches[i] = (struct sh_match){copy(c->matches[i].text), copy(c->matches[i].kind), copy(c->matches[i].note)};
        ok = ok && m->matches[i].text && m->matches[i].kind && m->matches[i].note;
    }
    m->start = c->start;
    m->end = c->end;
    m->selected = -1;
    if (!ok) sh_menu_close(e);
    return ok;
}

/* Puts `text` in place of what the menu replaces. */
static void put(struct sh_editor *e, const char *text, size_t length)
{
    struct sh_menu *m = &e->menu;
    if (sh_edit(e, m->start, m->end, text, length)) m->end = m->start + length;
}

static size_t common_beginning(const struct sh_menu *m)
{
    const char *first = m->matches[0].text;
    size_t length = strlen(first);
    for (size_t i = 1; i < m->count; i++) {
        size_t n = 0;
        while (n < length && m->matches[i].text[n] == first[n]) n++;
        length = n;
    }
    while (length > 0 && ((unsigned char)first[length] & 0xC0) == 0x80) length--; /* not in the middle of a character */
    return length;
}

/* Opens the menu with what the host knows; false when it knows nothing. */
static bool ask(struct sh_editor *e)
{
    struct lg_completion c = {0};
    sh_menu_close(e);
    if (!e->host->complete) return false;
    e->host->complete(e->host->context, e->text.bytes ? e->text.bytes : "", e->text.length, e->cursor, &c);
    return c.count > 0 && c.start <= c.end && c.end <= e->text.length && open_menu(e, &c);
}

static bool is_typed_already(const struct sh_editor *e, const char *match)
{
    size_t typed = e->menu.end - e->menu.start;
    return strlen(match) == typed && (typed == 0 || memcmp(match, e->text.bytes + e->menu.start, typed) == 0);
}

void sh_complete(struct sh_editor *e)
{
    if (!ask(e)) return;
    struct sh_menu *m = &e->menu;
    size_t common = common_beginning(m), typed = m->end - m->start;
    const char *text = m->matches[0].text;
    const char *code = e->text.bytes ? e->text.bytes : "";
    bool extends = common >= typed && memcmp(text, code + m->start, typed) == 0;
    if (m->count == 1 || (extends && common > typed)) {
        put(e, text, m->count == 1 ? strlen(text) : common);
    }
    if (m->count == 1) sh_menu_close(e);
}

void sh_menu_narrow(struct sh_editor *e)
{
    if (ask(e) && e->menu.count == 1 && is_typed_already(e, e->menu.matches[0].text)) sh_menu_close(e);
}

static void select_match(struct sh_editor *e, int step)
{
    struct sh_menu *m = &e->menu;
    long count = (long)m->count;
    if (m->selected < 0) {
        m->typed = strndup(e->text.bytes + m->start, m->end - m->start);
        m->selected = step > 0 ? 0 : count - 1;
    } else {
        m->selected = (m->selected + step + count) % count;
    }
    put(e, m->matches[m->selected].text, strlen(m->matches[m->selected].text));
}

bool sh_menu_key(struct sh_editor *e, const struct sh_key *key)
{
    struct sh_menu *m = &e->menu;
    bool chosen = m->selected >= 0;
    switch (key->kind) {
    case SH_KEY_TAB: select_match(e, key->shift ? -1 : 1); return true;
    case SH_KEY_DOWN:
    case SH_KEY_UP:
        if (!chosen) break;
        select_match(e, key->kind == SH_KEY_DOWN ? 1 : -1);
        return true;
    case SH_KEY_ENTER:
        if (!chosen) break;
        sh_menu_close(e);
        return true;
    case SH_KEY_ESCAPE:
        if (chosen && m->typed) put(e, m->typed, strlen(m->typed));
        sh_menu_close(e);
        return true;
    case SH_KEY_TEXT:
        if (!key->ctrl || key->c != 'g') break;
        if (chosen && m->typed) put(e, m->typed, strlen(m->typed));
        sh_menu_close(e);
        return true;
    default: break;
    }
    sh_menu_close(e);
    return false;
}

static void noted_row(const struct sh_match *m, int name_width, enum sh_style style, struct sh_frame *out)
{
    sh_frame_newline(out);
    sh_frame_clipped(out, m->text, strlen(m->text), name_width, style);
    const char *note = *m->note ? m->note : m->kind;
    int gap = name_width - sh_frame_column(out) + 2;
    if (gap + name_width + 4 > out->columns) return;
    while (gap-- > 0) sh_frame_text(out, " ", 1, SH_PLAIN);
    sh_frame_clipped(out, note, strlen(note), out->columns, SH_DIM);
}

static int widest(const struct sh_menu *m, int limit)
{
    int width = 1;
    for (size_t i = 0; i < m->count; i++) {
        int w = sh_width(m->matches[i].text, strlen(m->matches[i].text));
        if (w > width) width = w;
    }
    return width < limit ? width : limit;
}

/* Columns of names, read downwards; the page with the selected one. */
static void grid(const struct sh_menu *m, int rows, struct sh_frame *out)
{
    int cell = widest(m, out->columns - 2 > 1 ? out->columns - 2 : 1) + 2;
    size_t across = out->columns / cell > 1 ? (size_t)(out->columns / cell) : 1;
    size_t down = (m->count + across - 1) / across;
    if (down > (size_t)rows) down = (size_t)rows;
    size_t page = down * across;
    size_t first = m->selected > 0 ? (size_t)m->selected / (page ? page : 1) * page : 0;
    for (size_t row = 0; row < down; row++) {
        sh_frame_newline(out);
        for (size_t column = 0; column < across; column++) {
            size_t i = first + column * down + row;
            if (i >= m->count || i >= first + page) break;
            while (sh_frame_column(out) < (int)column * cell) sh_frame_text(out, " ", 1, SH_PLAIN);
            sh_frame_clipped(out, m->matches[i].text, strlen(m->matches[i].text), cell - 1,
                             (long)i == m->selected ? SH_SELECTED : SH_PLAIN);
        }
    }
    char status[64] = "";
    sh_frame_newline(out);
    if (m->selected >= 0) {
        const char *note = m->matches[m->selected].note;
        sh_frame_clipped(out, note, strlen(note), out->columns, SH_DIM);
    } else if (page < m->count) {
        snprintf(status, sizeof status, "%zu more; Tab goes through them", m->count - page);
        sh_frame_clipped(out, status, strlen(status), out->columns, SH_DIM);
    }
}

void sh_menu_frame(const struct sh_editor *e, int rows, struct sh_frame *out)
{
    const struct sh_menu *m = &e->menu;
    if (m->count > NOTED_ROWS || m->count > (size_t)rows) {
        grid(m, rows > 2 ? (rows - 1 < NOTED_ROWS ? rows - 1 : NOTED_ROWS) : 1, out);
        return;
    }
    int limit = out->columns / 2 > 1 ? out->columns / 2 : 1, width = widest(m, limit);
    for (size_t i = 0; i < m->count; i++)
        noted_row(&m->matches[i], width, (long)i == m->selected ? SH_SELECTED : SH_PLAIN, out);
}
