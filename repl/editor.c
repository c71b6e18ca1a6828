#include "repl/editor.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { INDENT = 2 };

/* Positions */

size_t sh_line_start(const struct sh_editor *e, size_t at)
{
    while (at > 0 && e->text.bytes && e->text.bytes[at - 1] != '\n') at--;
    return at;
}

size_t sh_line_end(const struct sh_editor *e, size_t at)
{
    while (at < e->text.length && e->text.bytes[at] != '\n') at++;
    return at;
}

int sh_line_column(const struct sh_editor *e, size_t at)
{
    size_t start = sh_line_start(e, at);
    return at > start ? sh_width(e->text.bytes + start, at - start) : 0;
}

size_t sh_at_column(const struct sh_editor *e, size_t start, int column)
{
    size_t at = start;
    for (int width = 0; at < e->text.length && e->text.bytes[at] != '\n';) {
        size_t next = sh_next_grapheme(e->text.bytes, e->text.length, at);
        width += sh_grapheme_width(e->text.bytes + at, next - at);
        if (width > column) break;
        at = next;
    }
    return at;
}

static size_t forward(const struct sh_editor *e, size_t at)
{
    return sh_next_grapheme(e->text.bytes, e->text.length, at);
}

static size_t backward(const struct sh_editor *e, size_t at)
{
    return sh_previous_grapheme(e->text.bytes, e->text.length, at);
}

static bool is_word(const struct sh_editor *e, size_t at)
{
    size_t size;
    int32_t c = sh_code_point(e->text.bytes, e->text.length, at, &size);
    if (c < 128) return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

static size_t word_forward(const struct sh_editor *e, size_t at)
{
    while (at < e->text.length && !is_word(e, at)) at = forward(e, at);
    while (at < e->text.length && is_word(e, at)) at = forward(e, at);
    return at;
}

static size_t word_backward(const struct sh_editor *e, size_t at)
{
    while (at > 0 && !is_word(e, backward(e, at))) at = backward(e, at);
    while (at > 0 && is_word(e, backward(e, at))) at = backward(e, at);
    return at;
}

/* Back over blanks and then over what is not blank, as shells do. */
static size_t blank_backward(const struct sh_editor *e, size_t at)
{
    while (at > 0 && strchr(" \t\n", e->text.bytes[at - 1])) at--;
    while (at > 0 && !strchr(" \t\n", e->text.bytes[at - 1])) at--;
    return at;
}

/* Changes */

void sh_editor_remember(struct sh_editor *e)
{
    if (e->undo_count == SH_UNDO_LEVELS) {
        sh_text_free(&e->undo[0].text);
        memmove(e->undo, e->undo + 1, (SH_UNDO_LEVELS - 1) * sizeof *e->undo);
        e->undo_count--;
    }
    struct sh_snapshot *s = &e->undo[e->undo_count];
    *s = (struct sh_snapshot){.cursor = e->cursor};
    if (sh_text_set(&s->text, e->text.bytes ? e->text.bytes : "", e->text.length)) e->undo_count++;
}

static void undo(struct sh_editor *e)
{
    if (e->undo_count == 0) return;
    struct sh_snapshot *s = &e->undo[--e->undo_count];
    sh_text_free(&e->text);
    e->text = s->text;
    e->cursor = s->cursor;
    *s = (struct sh_snapshot){0};
}

bool sh_editor_insert(struct sh_editor *e, const char *bytes, size_t length)
{
    if (!sh_text_insert(&e->text, e->cursor, bytes, length)) return false;
    e->cursor += length;
    return true;
}

void sh_editor_replace(struct sh_editor *e, const char *bytes, size_t length, size_t cursor)
{
    if (sh_text_set(&e->text, bytes, length)) e->cursor = cursor;
}

static void erase(struct sh_editor *e, size_t from, size_t to)
{
    if (from == to) return;
    sh_editor_remember(e);
    sh_text_delete(&e->text, from, to);
    e->cursor = from;
}

/* Deletes and keeps for Ctrl-Y. Kills that follow each other are put back as one. */
static void kill_text(struct sh_editor *e, size_t from, size_t to)
{
    if (from == to) return;
    if (e->last != SH_DID_KILL) e->killed.length = 0;
    if (from < e->cursor)
        sh_text_insert(&e->killed, 0, e->text.bytes + from, to - from);
    else
        sh_text_append(&e->killed, e->text.bytes + from, to - from);
    erase(e, from, to);
    e->last = SH_DID_KILL;
}

/* Only spaces between the line's start and the cursor. */
static bool in_indent(const struct sh_editor *e)
{
    for (size_t i = sh_line_start(e, e->cursor); i < e->cursor; i++)
        if (e->text.bytes[i] != ' ') return false;
    return true;
}

static void backspace(struct sh_editor *e)
{
    size_t from = backward(e, e->cursor), start = sh_line_start(e, e->cursor);
    if (e->cursor > start && in_indent(e)) from = start + (e->cursor - start - 1) / INDENT * INDENT;
    erase(e, from, e->cursor);
}

static void transpose(struct sh_editor *e)
{
    size_t middle = e->cursor;
    if (middle == sh_line_end(e, middle)) middle = backward(e, middle);
    size_t start = sh_line_start(e, e->cursor);
    if (middle <= start) return;
    size_t from = backward(e, middle), to = forward(e, middle);
    size_t n = middle - from;
    char *first = malloc(n);
    if (!first) return;
    sh_editor_remember(e);
    memcpy(first, e->text.bytes + from, n);
    memmove(e->text.bytes + from, e->text.bytes + middle, to - middle);
    memcpy(e->text.bytes + from + (to - middle), first, n);
    free(first);
    e->cursor = to;
}

/* A line that Enter indented moves back by one step once it reads "end" and the like. */
static void unindent_closer(struct sh_editor *e)
{
    static const char *const closers[] = {"end", "else", "elseif", "until", "}", ")"};
    size_t start = sh_line_start(e, e->cursor), word = start;
    if (e->indented != start + 1 || e->cursor != sh_line_end(e, e->cursor)) return;
    while (word < e->cursor && e->text.bytes[word] == ' ') word++;
    if (word - start < INDENT) return;
    for (size_t i = 0; i < sizeof closers / sizeof *closers; i++) {
        if (strlen(closers[i]) != e->cursor - word || memcmp(closers[i], e->text.bytes + word, e->cursor - word) != 0)
            continue;
        sh_text_delete(&e->text, start, start + INDENT);
        e->cursor -= INDENT;
        e->indented = 0;
        return;
    }
}

static void type(struct sh_editor *e, const struct sh_key *key)
{
    char bytes[4];
    size_t n = sh_encode(key->c, bytes);
    if (n == 0) return;
    if (e->last != SH_DID_TYPE || (!key->pasted && key->c == ' ')) sh_editor_remember(e);
    sh_editor_insert(e, bytes, n);
    if (!key->pasted) unindent_closer(e);
    e->last = SH_DID_TYPE;
}

static void newline(struct sh_editor *e, int indent)
{
    sh_editor_remember(e);
    if (!sh_editor_insert(e, "\n", 1)) return;
    e->indented = indent > 0 ? e->cursor + 1 : 0;
    for (; indent > 0; indent--) sh_editor_insert(e, " ", 1);
}

static enum sh_action enter(struct sh_editor *e, const struct sh_key *key)
{
    int indent = 0;
    enum lg_completeness c = LG_COMPLETE;
    const char *code = e->text.bytes ? e->text.bytes : "";
    if (key->alt || key->shift) {
        newline(e, 0);
        return SH_CONTINUE;
    }
    if (strspn(code, " \t\r\n") < e->text.length && e->host->completeness)
        c = e->host->completeness(e->host->context, code, e->text.length, &indent);
    if (c != LG_INCOMPLETE) return SH_ACCEPT;
    if (e->cursor < e->text.length) { /* in the middle: as deep as this line */
        size_t start = sh_line_start(e, e->cursor);
        indent = (int)strspn(code + start, " ");
    }
    newline(e, indent);
    return SH_CONTINUE;
}

/* Movement */

/* To the line above or below; false at the edge. */
static bool vertical(struct sh_editor *e, int direction)
{
    size_t start = sh_line_start(e, e->cursor), end = sh_line_end(e, e->cursor);
    if (direction < 0 ? start == 0 : end == e->text.length) return false;
    if (e->last != SH_DID_VERTICAL) e->goal = sh_line_column(e, e->cursor);
    e->cursor = sh_at_column(e, direction < 0 ? sh_line_start(e, start - 1) : end + 1, e->goal);
    e->last = SH_DID_VERTICAL;
    return true;
}

static void up_or_down(struct sh_editor *e, int direction, enum sh_last last)
{
    /* Who walks through history goes on doing so, also over cells of many lines. */
    e->last = last;
    if (last != SH_DID_RECALL && vertical(e, direction)) return;
    sh_recall(e, direction, false);
    e->last = SH_DID_RECALL;
}

static void show_hint(struct sh_editor *e)
{
    if (!e->host->inspect || e->text.length == 0) return;
    e->hint = e->host->inspect(e->host->context, e->text.bytes, e->text.length, e->cursor);
}

/* Keys */

static enum sh_action control_key(struct sh_editor *e, int32_t c)
{
    switch (c) {
    case 'a': e->cursor = sh_line_start(e, e->cursor); break;
    case 'b': e->cursor = backward(e, e->cursor); break;
    case 'c': return SH_CANCEL;
    case 'd':
        if (e->text.length == 0) return SH_LEAVE;
        erase(e, e->cursor, forward(e, e->cursor));
        break;
    case 'e': e->cursor = sh_line_end(e, e->cursor); break;
    case 'f': e->cursor = forward(e, e->cursor); break;
    case 'h': backspace(e); break;
    case 'k': {
        size_t end = sh_line_end(e, e->cursor);
        kill_text(e, e->cursor, end == e->cursor ? forward(e, end) : end);
        break;
    }
    case 'l': return SH_CLEAR;
    case 'r': sh_search_start(e); break;
    case 't': transpose(e); break;
    case 'u': kill_text(e, sh_line_start(e, e->cursor), e->cursor); break;
    case 'w': kill_text(e, blank_backward(e, e->cursor), e->cursor); break;
    case 'y':
        if (e->killed.length == 0) break;
        sh_editor_remember(e);
        sh_editor_insert(e, e->killed.bytes, e->killed.length);
        break;
    case 'z': return SH_SUSPEND;
    case '_': undo(e); break;
    }
    return SH_CONTINUE;
}

static void alt_key(struct sh_editor *e, int32_t c)
{
    switch (c) {
    case 'b': e->cursor = word_backward(e, e->cursor); break;
    case 'f': e->cursor = word_forward(e, e->cursor); break;
    case 'd': kill_text(e, e->cursor, word_forward(e, e->cursor)); break;
    case '<': e->cursor = 0; break;
    case '>': e->cursor = e->text.length; break;
    }
}

static enum sh_action command(struct sh_editor *e, const struct sh_key *key, enum sh_last last)
{
    bool word = key->ctrl || key->alt;
    switch (key->kind) {
    case SH_KEY_NONE:
    case SH_KEY_ESCAPE: break;
    case SH_KEY_TEXT:
        e->last = last;
        if (key->ctrl && (key->c == 'p' || key->c == 'n')) {
            up_or_down(e, key->c == 'p' ? -1 : 1, last);
        } else if (key->ctrl || key->alt) {
            enum sh_action action = SH_CONTINUE;
            if (key->ctrl)
                action = control_key(e, key->c);
            else
                alt_key(e, key->c);
            /* A kill said so itself; the rest is nothing that the next key continues. */
            if (e->last == last && !(key->ctrl && strchr("kuw", (int)key->c)) && !(key->alt && key->c == 'd'))
                e->last = SH_DID_OTHER;
            return action;
        } else {
            type(e, key);
        }
        break;
    case SH_KEY_ENTER: return enter(e, key);
    case SH_KEY_TAB:
        if (key->shift) {
            show_hint(e);
        } else if (in_indent(e)) {
            int column = (int)(e->cursor - sh_line_start(e, e->cursor));
            sh_editor_remember(e);
            sh_editor_insert(e, "  ", (size_t)(INDENT - column % INDENT));
        } else {
            sh_complete(e);
        }
        break;
    case SH_KEY_BACKSPACE:
        e->last = last;
        if (word)
            kill_text(e, word_backward(e, e->cursor), e->cursor);
        else
            backspace(e);
        if (!word) e->last = SH_DID_OTHER;
        break;
    case SH_KEY_DELETE: erase(e, e->cursor, forward(e, e->cursor)); break;
    case SH_KEY_UP: up_or_down(e, -1, last); break;
    case SH_KEY_DOWN: up_or_down(e, 1, last); break;
    case SH_KEY_LEFT: e->cursor = word ? word_backward(e, e->cursor) : backward(e, e->cursor); break;
    case SH_KEY_RIGHT: e->cursor = word ? word_forward(e, e->cursor) : forward(e, e->cursor); break;
    case SH_KEY_HOME: e->cursor = word ? 0 : sh_line_start(e, e->cursor); break;
    case SH_KEY_END: e->cursor = word ? e->text.length : sh_line_end(e, e->cursor); break;
    case SH_KEY_PAGE_UP: sh_recall(e, -1, true); break;
    case SH_KEY_PAGE_DOWN: sh_recall(e, 1, true); break;
    }
    return SH_CONTINUE;
}

/* A list of matches that is only shown goes on with what these keys leave. */
static bool edits_name(const struct sh_key *key)
{
    if (key->ctrl || key->alt || key->pasted) return false;
    if (key->kind != SH_KEY_TEXT) return key->kind == SH_KEY_BACKSPACE;
    return key->c == '_' || (key->c >= '0' && key->c <= '9') || ((key->c | 32) >= 'a' && (key->c | 32) <= 'z');
}

enum sh_action sh_editor_key(struct sh_editor *e, const struct sh_key *key)
{
    if (key->kind == SH_KEY_NONE) return SH_CONTINUE;
    free(e->hint);
    e->hint = NULL;
    if (e->searching && sh_search_key(e, key)) return SH_CONTINUE;
    bool narrows = e->menu.count && e->menu.selected < 0 && edits_name(key);
    if (e->menu.count && sh_menu_key(e, key)) return SH_CONTINUE;
    enum sh_last last = e->last;
    e->last = SH_DID_OTHER;
    enum sh_action action = command(e, key, last);
    if (narrows) sh_menu_narrow(e);
    return action;
}

void sh_editor_start(struct sh_editor *e)
{
    e->text.length = e->draft.length = e->query.length = 0;
    if (e->text.bytes) e->text.bytes[0] = '\0';
    e->cursor = 0;
    e->last = SH_DID_OTHER;
    e->indented = 0;
    e->in_history = e->searching = e->found_any = false;
    while (e->undo_count > 0) {
        sh_text_free(&e->undo[--e->undo_count].text);
        e->undo[e->undo_count] = (struct sh_snapshot){0};
    }
    sh_menu_close(e);
    free(e->hint);
    e->hint = NULL;
}

void sh_editor_free(struct sh_editor *e)
{
    sh_editor_start(e);
    sh_text_free(&e->text);
    sh_text_free(&e->draft);
    sh_text_free(&e->query);
    sh_text_free(&e->killed);
}

/* The frame */

static void cell_frame(const struct sh_editor *e, struct sh_frame *out, const unsigned char *styles)
{
    const char *s = e->text.bytes;
    sh_frame_text(out, e->prompt, strlen(e->prompt), SH_PROMPT);
    for (size_t at = 0, next; at < e->text.length; at = next) {
        next = forward(e, at);
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
