/* Earlier cells in the editor: walking through them, and searching. Of equal ones only the newest is shown. */
#include <string.h>
#include "repl/editing.h"

size_t sh_entries(const struct sh_editor *e)
{
    return e->host->history_count ? e->host->history_count(e->host->context) : 0;
}

const char *sh_entry(const struct sh_editor *e, size_t i)
{
    return e->host->history ? e->host->history(e->host->context, i) : NULL;
}

static void show(struct sh_editor *e, const char *code, size_t length, size_t cursor)
{
    if (sh_edit(e, 0, e->text.length, code, length)) e->cursor = cursor;
}

static void keep_draft(struct sh_editor *e)
{
    sh_text_set(&e->draft, e->text.bytes ? e->text.bytes : "", e->text.length);
    e->draft_cursor = e->cursor;
}

static void show_draft(struct sh_editor *e)
{
    show(e, e->draft.bytes ? e->draft.bytes : "", e->draft.length, e->draft_cursor);
}

static bool is_shown(const struct sh_editor *e, const char *code)
{
    return strlen(code) == e->text.length && (e->text.length == 0 || memcmp(code, e->text.bytes, e->text.length) == 0);
}

/* Whether the same cell was entered again after entry i, whose code lasts only until the next one is asked for. */
static bool is_repeated(const struct sh_editor *e, size_t i, size_t count)
{
    struct sh_text code = {0};
    const char *own = sh_entry(e, i);
    bool repeated = false;
    if (!own || !sh_text_set(&code, own, strlen(own))) return false;
    for (size_t later = i + 1; later < count && !repeated; later++) {
        const char *other = sh_entry(e, later);
        repeated = other && strcmp(other, code.bytes) == 0;
    }
    sh_text_free(&code);
    return repeated;
}

/* The entry next to `at` that begins with the first `begin` bytes of the text and is not what is shown; `count` stands
 * for the draft. False when there is none. */
static bool next_alike(const struct sh_editor *e, int direction, size_t begin, size_t count, size_t *at)
{
    for (size_t i = *at; direction < 0 ? i > 0 : i < count;) {
        i += direction < 0 ? (size_t)-1 : 1;
        const char *code = i < count ? sh_entry(e, i) : "";
        if (i < count && (!code || is_shown(e, code))) continue;
        if (i < count && begin && strncmp(code, e->text.bytes, begin) != 0) continue;
        if (i < count && is_repeated(e, i, count)) continue;
        *at = i;
        return true;
    }
    return false;
}

void sh_recall(struct sh_editor *e, int direction, bool stay)
{
    if (!e->in_history && e->host->refresh) e->host->refresh(e->host->context);
    size_t count = sh_entries(e);
    if (!e->in_history) e->entry = count;
    /* What was recalled and not changed since is no new beginning to look for. */
    if (stay || !e->in_history || e->recalled != e->version) e->beginning = e->cursor;
    size_t at = e->entry < count ? e->entry : count;
    if (!next_alike(e, direction, e->beginning, count, &at)) return;
    if (!e->in_history) keep_draft(e);
    e->in_history = at < count;
    e->entry = at;
    if (at == count) {
        show_draft(e);
    } else {
        const char *code = sh_entry(e, at);
        size_t length = strlen(code);
        show(e, code, length, stay ? e->beginning : length);
    }
    e->recalled = e->version;
}

/* The newest entry below `before` that holds the query is shown; what was shown stays when there is none. */
static void search(struct sh_editor *e, size_t before, int direction)
{
    size_t count = sh_entries(e);
    e->found_any = false;
    if (e->query.length == 0) return;
    for (size_t i = before; direction < 0 ? i-- > 0 : ++i < count;) {
        const char *code = sh_entry(e, i), *place = code ? strstr(code, e->query.bytes) : NULL;
        if (!place || (e->found < count && i != e->found && is_shown(e, code)) || is_repeated(e, i, count)) continue;
        code = sh_entry(e, i);
        e->found = i;
        e->match_start = (size_t)(strstr(code, e->query.bytes) - code);
        e->match_end = e->match_start + e->query.length;
        show(e, code, strlen(code), e->match_start);
        e->found_any = true;
        return;
    }
}

void sh_search_start(struct sh_editor *e)
{
    if (!e->in_history) keep_draft(e);
    if (e->host->refresh) e->host->refresh(e->host->context);
    e->searching = true;
    e->found_any = false;
    e->query.length = 0;
    e->found = sh_entries(e);
}

static void search_again(struct sh_editor *e)
{
    size_t count = sh_entries(e);
    e->found = count;
    show_draft(e);
    search(e, count, -1);
}

/* Goes on to the entry before or after; the last one stays. */
static void search_on(struct sh_editor *e, int direction)
{
    bool had = e->found_any;
    search(e, e->found, direction);
    if (had && !e->found_any) e->found_any = strstr(e->text.bytes, e->query.bytes) != NULL;
}

static bool is_control(const struct sh_key *key, int32_t c)
{
    return key->kind == SH_KEY_TEXT && key->ctrl && key->c == c;
}

bool sh_search_key(struct sh_editor *e, const struct sh_key *key)
{
    if (key->kind == SH_KEY_TEXT && !key->ctrl && !key->alt) {
        char bytes[4];
        size_t n = sh_encode(key->c, bytes);
        sh_text_append(&e->query, bytes, n);
        search(e, e->found < sh_entries(e) ? e->found + 1 : e->found, -1);
        return true;
    }
    if (key->kind == SH_KEY_BACKSPACE) {
        e->query.length = e->query.length ? sh_previous_grapheme(e->query.bytes, e->query.length, e->query.length) : 0;
        if (e->query.bytes) e->query.bytes[e->query.length] = '\0';
        search_again(e);
        return true;
    }
    if (is_control(key, 'r') || is_control(key, 's')) {
        search_on(e, is_control(key, 'r') ? -1 : 1);
        return true;
    }
    e->searching = false;
    if (is_control(key, 'g') || is_control(key, 'c')) {
        show_draft(e);
        e->in_history = false;
        return true;
    }
    size_t count = sh_entries(e);
    e->in_history = e->found < count;
    if (e->in_history) e->entry = e->found;
    e->recalled = e->version;
    e->beginning = 0;
    return key->kind == SH_KEY_ESCAPE;
}
