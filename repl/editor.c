#include "repl/editor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/editing.h"
#include "repl/keymap.h"
#include "repl/vi.h"

enum { MOST_TIMES = 9999 };

/* A list of matches that is only shown goes on with what these keys leave. */
static bool edits_name(const struct sh_key *key)
{
    if (key->ctrl || key->alt || key->pasted) return false;
    if (key->kind != SH_KEY_TEXT) return key->kind == SH_KEY_BACKSPACE;
    return key->c == '_' || (key->c >= '0' && key->c <= '9') || ((key->c | 32) >= 'a' && (key->c | 32) <= 'z');
}

/* The key as the text that it stands for. */
static size_t literal(const struct sh_key *key, char bytes[4])
{
    switch (key->kind) {
    case SH_KEY_TEXT:
        if (!key->ctrl) return sh_encode(key->c, bytes);
        bytes[0] = (char)(key->c & 31);
        return bytes[0] ? 1 : 0;
    case SH_KEY_ENTER: return bytes[0] = '\n', 1;
    case SH_KEY_TAB: return bytes[0] = '\t', 1;
    case SH_KEY_ESCAPE: return bytes[0] = 27, 1;
    case SH_KEY_BACKSPACE: return bytes[0] = 127, 1;
    default: return 0;
    }
}

static bool is_typed(const struct sh_key *key)
{
    return key->kind == SH_KEY_TEXT && (key->pasted || (!key->ctrl && !key->alt));
}

static bool is_digit(const struct sh_key *key)
{
    return key->kind == SH_KEY_TEXT && !key->ctrl && !key->pasted && key->c >= '0' && key->c <= '9';
}

/* M-3: the next command is to run three times; M--: its opposite. Further digits need no Alt. */
static void add_digit(struct sh_editor *e, const struct sh_key *key)
{
    char hint[32];
    int times = e->times * 10 + (int)(key->c - '0');
    if (key->c == '-')
        e->opposite = !e->opposite;
    else if (times <= MOST_TIMES)
        e->times = times;
    snprintf(hint, sizeof hint, "%s%d times", e->opposite ? "-" : "", e->times ? e->times : 1);
    if (e->times || e->opposite) e->hint = strdup(hint);
    e->last = e->before; /* kills in a row go on */
}

static int take_times(struct sh_editor *e)
{
    int times = e->times ? e->times : 1;
    e->times = 0;
    e->opposite = false;
    return times;
}

/* Again and again, until nothing changes any more. Only once it may do more than edit. */
static enum sh_action run(struct sh_editor *e, const struct sh_command *c, int times)
{
    e->finding_times = times;
    enum sh_action action = c->run(e);
    for (int i = 1; i < times && c->repeats && action == SH_CONTINUE; i++) {
        size_t cursor = e->cursor;
        unsigned long version = e->version;
        e->before = e->last;
        e->last = SH_DID_OTHER;
        if (c->run(e) != SH_CONTINUE || (cursor == e->cursor && version == e->version)) break;
    }
    return action;
}

/* To the place of the character, or nowhere. */
static void find_character(struct sh_editor *e, const struct sh_key *key)
{
    int times = e->finding_times, way = e->finding;
    size_t at = e->cursor, size, end = e->text.length;
    e->finding = 0;
    if (!is_typed(key)) return;
    while (times > 0 && (way > 0 ? at < end : at > 0)) {
        at = way > 0 ? sh_forward(e, at) : sh_backward(e, at);
        if (at < end && sh_code_point(e->text.bytes, end, at, &size) == key->c) times--;
    }
    if (times == 0) e->cursor = at;
}

/* A key of vi's normal mode that the user has bound: to a command, to other keys, or to nothing. */
static enum sh_action run_binding(struct sh_editor *e, const struct sh_binding *own, int count)
{
    const char *keys = sh_binding_keys(own);
    const struct sh_command *c = sh_binding_command(own);
    if (keys && !e->vi.mapped)
        sh_vi_give(e, keys);
    else
        e->vi.count = 0;
    return c ? run(e, c, count ? count : 1) : SH_CONTINUE;
}

static enum sh_action command(struct sh_editor *e, const struct sh_key *key)
{
    bool more;
    int count;
    char bytes[4];
    if (e->quoting) {
        e->quoting = false;
        sh_insert(e, bytes, literal(key, bytes));
        return SH_CONTINUE;
    }
    if (e->finding) {
        find_character(e, key);
        return SH_CONTINUE;
    }
    enum sh_action action;
    bool first = e->prefix.kind == SH_KEY_NONE;
    if (first && sh_vi_waits(e, &count)) {
        const struct sh_binding *own = sh_vi_lookup(e->keymap, key);
        if (own) return run_binding(e, own, count);
    }
    if (e->use_vi && first && sh_vi_key(e, key, &action)) return action;
    if (is_typed(key) && first && !((e->times || e->opposite) && is_digit(key))) {
        for (int times = take_times(e); times > 0; times--) sh_type(e, key);
        return SH_CONTINUE;
    }
    const struct sh_command *c = sh_lookup(e, key, &more);
    bool sign = key->kind == SH_KEY_TEXT && key->alt && !key->ctrl && key->c == '-';
    if (!c && !more && first && (is_digit(key) || sign) && !e->use_vi) {
        add_digit(e, key);
        return SH_CONTINUE;
    }
    e->prefix = c || !more ? (struct sh_key){0} : *key;
    if (!c && more) return SH_CONTINUE;
    if (c && e->opposite) c = sh_command_opposite(c);
    int times = take_times(e);
    return c ? run(e, c, times) : SH_CONTINUE;
}

enum sh_action sh_editor_key(struct sh_editor *e, const struct sh_key *key)
{
    if (key->kind == SH_KEY_NONE) return SH_CONTINUE;
    free(e->hint);
    e->hint = NULL;
    e->before = e->last;
    e->last = SH_DID_OTHER;
    /* What is typed is undone word by word, in vi as a whole. */
    bool goes_on = is_typed(key) && e->before == SH_DID_TYPE && (key->pasted || key->c != ' ');
    if (!goes_on && !(e->use_vi && e->vi.mode <= SH_VI_REPLACE)) sh_step(e);
    if (e->searching && sh_search_key(e, key)) return SH_CONTINUE;
    bool narrows = e->menu.count && e->menu.selected < 0 && edits_name(key);
    if (e->menu.count && sh_menu_key(e, key)) return SH_CONTINUE;
    enum sh_action action = command(e, key);
    if (narrows) sh_menu_narrow(e);
    return action;
}

bool sh_editor_set(struct sh_editor *e, const char *bytes, size_t length)
{
    sh_step(e);
    return sh_edit(e, 0, e->text.length, bytes, length);
}

bool sh_editor_waits(const struct sh_editor *e)
{
    return e->host->mistake && e->text.length && e->judged != e->version;
}

void sh_editor_idle(struct sh_editor *e)
{
    size_t from, to;
    if (!sh_editor_waits(e)) return;
    enum lg_mistake m = e->host->mistake(e->host->context, e->text.bytes, e->text.length, &from, &to);
    if (m == LG_GIVEN_UP) return;
    e->judged = e->version;
    e->wrong_start = m == LG_MISTAKE ? from : 0;
    e->wrong_end = m == LG_MISTAKE ? to : 0;
}

void sh_editor_start(struct sh_editor *e)
{
    e->text.length = e->draft.length = e->query.length = 0;
    if (e->text.bytes) e->text.bytes[0] = '\0';
    e->cursor = e->styled = 0;
    e->version++;
    e->last = e->before = SH_DID_OTHER;
    e->indented = 0;
    e->in_history = e->searching = e->found_any = e->marked = e->quoting = false;
    e->finding = 0;
    e->prefix = (struct sh_key){0};
    e->times = 0;
    e->opposite = false;
    sh_undo_forget(&e->undo);
    sh_vi_start(e);
    sh_menu_close(e);
    free(e->hint);
    e->hint = NULL;
}

void sh_editor_free(struct sh_editor *e)
{
    sh_editor_start(e);
    sh_text_free(&e->text);
    sh_text_free(&e->draft);
    sh_text_free(&e->styles);
    sh_text_free(&e->ghost);
    sh_text_free(&e->signature);
    sh_text_free(&e->query);
    sh_kills_free(&e->kills);
    sh_vi_free(e);
}
