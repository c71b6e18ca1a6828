/* Completion in the editor: the common beginning at once, a list below the line, and choosing from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/editing.h"

enum {
    MENU_ROWS = 10, /* at most, one of them for how many there are */
    LEAST_DOC = 16, /* columns that documentation is worth showing in */
};

void sh_menu_close(struct sh_editor *e)
{
    struct sh_menu *m = &e->menu;
    for (size_t i = 0; i < m->count; i++) {
        free(m->matches[i].text);
        free(m->matches[i].doc);
    }
    free(m->matches);
    free(m->typed);
    *m = (struct sh_menu){.selected = -1};
}

/* In one piece: there may be a thousand of them, at each key. */
static bool copy_match(const struct lg_match *from, struct sh_match *to)
{
    const char *parts[] = {from->text, from->kind ? from->kind : "", from->note ? from->note : ""};
    size_t sizes[3], all = 0;
    for (int i = 0; i < 3; i++) all += sizes[i] = strlen(parts[i]) + 1;
    char *bytes = malloc(all);
    *to = (struct sh_match){.text = bytes};
    if (!bytes) return false;
    to->kind = bytes + sizes[0];
    to->note = to->kind + sizes[1];
    for (int i = 0; i < 3; bytes += sizes[i++]) memcpy(bytes, parts[i], sizes[i]);
    return true;
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
        ok = copy_match(&c->matches[i], &m->matches[i]) && ok;
    }
    m->start = c->start;
    m->end = c->end;
    m->selected = -1;
    m->more = c->more;
    m->common = c->common;
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
    if (m->more && m->common < length) length = m->common;
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
        if (!chosen && key->kind == SH_KEY_UP) break;
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

/* The documentation of a match, asked for once: the line below the signature that the session knows of it. */
static const char *doc_of(struct sh_editor *e, struct sh_match *m)
{
    if (m->doc) return m->doc;
    struct sh_text code = {0};
    bool called = strchr(m->note, '(') != NULL && e->host->inspect;
    size_t begin = sh_fresh_line(e, sh_line_start(e, e->menu.start));
    bool good = called && sh_text_append(&code, e->text.bytes + begin, e->menu.start - begin) &&
                sh_text_append(&code, m->text, strlen(m->text));
    char *known = good ? e->host->inspect(e->host->context, code.bytes, code.length, code.length) : NULL;
    const char *doc = known ? strstr(known, "\n\n") : NULL;
    m->doc = doc ? strndup(doc + 2, strcspn(doc + 2, "\n")) : strdup("");
    free(known);
    sh_text_free(&code);
    return m->doc ? m->doc : "";
}

/* A match's signature without its name, which stands before it; its type or shape; else what it is. */
static const char *note_of(const struct sh_editor *e, const struct sh_match *m, size_t *length)
{
    bool method = e->menu.start > 0 && e->text.bytes[e->menu.start - 1] == ':';
    const char *note = sh_form(*m->note ? m->note : m->kind, method, length);
    const char *paren = memchr(note, '(', *length);
    size_t n = strlen(m->text);
    if (!paren || (size_t)(paren - note) < n || memcmp(paren - n, m->text, n) != 0) return note;
    *length -= (size_t)(paren - note);
    return paren;
}

static void pad_to(struct sh_frame *out, int column)
{
    while (sh_frame_column(out) < column) sh_frame_text(out, " ", 1, SH_PLAIN);
}

/* One row: the name, its note, and the first line of its documentation as far as there is room. */
static void row(struct sh_editor *e, size_t i, int name_width, int note_width, struct sh_frame *out)
{
    struct sh_match *m = &e->menu.matches[i];
    size_t length;
    const char *note = note_of(e, m, &length);
    sh_frame_newline(out);
    sh_frame_clipped(out, m->text, strlen(m->text), name_width, (long)i == e->menu.selected ? SH_SELECTED : SH_PLAIN);
    if (name_width + 2 + 4 > out->columns) return;
    pad_to(out, name_width + 2);
    sh_frame_clipped(out, note, length, note_width, SH_DIM);
    const char *doc = name_width + note_width + 4 + LEAST_DOC <= out->columns ? doc_of(e, m) : "";
    if (!*doc) return;
    pad_to(out, name_width + note_width + 4);
    sh_frame_clipped(out, doc, strlen(doc), out->columns, SH_DIM);
}

void sh_menu_frame(struct sh_editor *e, int rows, struct sh_frame *out)
{
    const struct sh_menu *m = &e->menu;
    size_t shown = m->count < MENU_ROWS ? m->count : MENU_ROWS;
    if (shown > (size_t)rows) shown = (size_t)rows;
    bool more = shown < m->count && shown > 1;
    shown -= more; /* for the row that says so */
    size_t first = m->selected > (long)shown / 2 ? (size_t)m->selected - shown / 2 : 0;
    if (first + shown > m->count) first = m->count - shown;
    int name_width = 1, note_width = 0;
    for (size_t i = first; i < first + shown; i++) {
        size_t length;
        const char *text = m->matches[i].text, *about = note_of(e, &m->matches[i], &length);
        int name = sh_width(text, strlen(text)), note = sh_width(about, length);
        if (name > name_width) name_width = name;
        if (note > note_width) note_width = note;
    }
    if (name_width > out->columns - 8) name_width = out->columns > 9 ? out->columns - 8 : 1;
    int half = (out->columns - name_width - 4) / 2;
    if (half >= LEAST_DOC && note_width > half) note_width = half;
    for (size_t i = first; i < first + shown; i++) row(e, i, name_width, note_width, out);
    if (!more) return;
    char status[64];
    if (m->selected >= 0)
        snprintf(status, sizeof status, "%ld of %zu", m->selected + 1, m->count);
    else if (m->more)
        snprintf(status, sizeof status, "%zu and more; Tab goes through them", m->count);
    else
        snprintf(status, sizeof status, "%zu; Tab goes through them", m->count);
    sh_frame_newline(out);
    sh_frame_clipped(out, status, strlen(status), out->columns, SH_DIM);
}
