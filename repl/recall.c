/* Earlier cells in the editor: walking through them, and searching. */
#include <string.h>
#include "repl/editor.h"

static size_t entries(const struct sh_editor *e)
{
    return e->host->history_count ? e->host->history_count(e->host->context) : 0;
}

static const char *entry(const struct sh_editor *e, size_t i)
{
    return e->host->history ? e->host->history(e->host->context, i) : NULL;
}

static void keep_draft(struct sh_editor *e)
{
    sh_text_set(&e->draft, e->text.bytes ? e->text.bytes : "", e->text.length);
    e->draft_cursor = e->cursor;
}

static void show_draft(struct sh_editor *e)
{
    sh_editor_replace(e, e->draft.bytes ? e->draft.bytes : "", e->draft.length, e->draft_cursor);
}

static bool is_shown(const struct sh_editor *e, const char *code)
{
    return strlen(code) == e->text.length && (e->text.length == 0 || memcmp(code, e->text.bytes, e->text.length) == 0);
}

void sh_recall(struct sh_editor *e, int direction, bool same_beginning)
{
    size_t count = entries(e);
    if (!e->in_history) {
        e->entry = count;
        e->draft_cursor = e->cursor;
    }
    size_t begin = same_beginning ? e->cursor : 0, at = e->entry;
    for (;;) {
        if (direction < 0 ? at == 0 : at >= count) return;
        at += direction < 0 ? (size_t)-1 : 1;
        if (at == count) break;
        const char *code = entry(e, at);
        if (!code || is_shown(e, code)) continue;
        if (!begin || strncmp(code, e->text.bytes, begin) == 0) break;
    }
    sh_editor_remember(e);
    if (!e->in_history) keep_draft(e);
    e->in_history = at < count;
    e->entry = at;
    if (at == count) {
        show_draft(e);
    } else {
        const char *code = entry(e, at);
        size_t length = strlen(code);
        sh_editor_replace(e, code, length, same_beginning && begin <= length ? begin : length);
    }
}

/* The newest entry below `before` that holds the query is shown; what was shown stays when there is none. */
static void search(struct sh_editor *e, size_t before, int direction)
{
    size_t count = entries(e);
    e->found_any = false;
    if (e->query.length == 0) return;
    for (size_t i = before; direction < 0 ? i-- > 0 : ++i < count;) {
        const char *code = entry(e, i), *place = code ? strstr(code, e->query.bytes) : NULL;
        if (!place || (e->found < count && i != e->found && is_shown(e, code))) continue;
        e->found = i;
        e->match_start = (size_t)(place - code);
        e->match_end = e->match_start + e->query.length;
        sh_editor_replace(e, code, strlen(code), e->match_start);
        e->found_any = true;
        return;
    }
}

void sh_search_start(struct sh_editor *e)
{
    if (!e->in_history) keep_draft(e);
    sh_editor_remember(e);
    e->searching = true;
    e->found_any = false;
    e->query.length = 0;
    e->found = entries(e);
}

static void search_again(struct sh_editor *e)
{
    size_t count = entries(e);
    e->found = count;
    show_draft(e);
    search(e, count, -1);
}

bool sh_search_key(struct sh_editor *e, const struct sh_key *key)
{
    if (key->kind == SH_KEY_TEXT && !key->ctrl && !key->alt) {
        char bytes[4];
        size_t n = sh_encode(key->c, bytes);
        sh_text_append(&e->query, bytes, n);
        search(e, e->found < entries(e) ? e->found + 1 : e->found, -1);
        return true;
    }
    if (key->kind == SH_KEY_BACKSPACE) {
        e->query.length = e->query.length ? sh_previous_grapheme(e->query.bytes, e->query.length, e->query.length) : 0;
        if (e->query.bytes) e->query.bytes[e->query.length] = '\0';
        search_again(e);
        return true;
    }
    if (key->kind == SH_KEY_TEXT && key->ctrl && (key->c == 'r' || key->c == 's')) {
        bool had = e->found_any;
        search(e, e->found, key->c == 'r' ? -1 : 1);
        if (had && !e->found_any) e->found_any = strstr(e->text.bytes, e->query.bytes) != NULL; /* the last one stays */
        return true;
    }
    e->searching = false;
    e->last = SH_DID_OTHER;
    if (key->kind == SH_KEY_TEXT && key->ctrl && (key->c == 'g' || key->c == 'c')) {
        show_draft(e);
        e->in_history = false;
        return true;
    }
    size_t count = entries(e);
    e->in_history = e->found < count;
    if (e->in_history) e->entry = e->found;
    return key->kind == SH_KEY_ESCAPE;
}
