/* The kill ring: what was cut, put back, and exchanged for what was cut before it; and words of earlier cells. */
#include <string.h>
#include "lang/lexer.h"
#include "repl/editing.h"

const struct sh_text *sh_killed(const struct sh_editor *e, int back)
{
    const struct sh_kills *k = &e->kills;
    return k->count ? &k->ring[(k->newest + SH_KILLS - back % k->count) % SH_KILLS] : NULL;
}

/* The place for a new kill, empty; the oldest one gives way. */
static struct sh_text *next_place(struct sh_kills *k)
{
    k->newest = k->count ? (k->newest + 1) % SH_KILLS : 0;
    if (k->count < SH_KILLS) k->count++;
    k->ring[k->newest].length = 0;
    return &k->ring[k->newest];
}

void sh_keep_text(struct sh_editor *e, const char *bytes, size_t length)
{
    sh_text_set(next_place(&e->kills), bytes, length);
}

void sh_keep(struct sh_editor *e, size_t from, size_t to)
{
    if (from < to) sh_keep_text(e, e->text.bytes + from, to - from);
}

void sh_kill(struct sh_editor *e, size_t from, size_t to)
{
    e->last = SH_DID_KILL; /* also where nothing is: a kill that follows goes on */
    if (from >= to) return;
    struct sh_kills *k = &e->kills;
    bool goes_on = e->before == SH_DID_KILL && k->count;
    struct sh_text *kept = goes_on ? &k->ring[k->newest] : next_place(k);
    sh_text_insert(kept, from < e->cursor ? 0 : kept->length, e->text.bytes + from, to - from);
    sh_erase(e, from, to);
}

static void put(struct sh_editor *e, const struct sh_text *t, enum sh_last what)
{
    struct sh_kills *k = &e->kills;
    if (!t || !sh_insert(e, t->bytes ? t->bytes : "", t->length)) return;
    k->start = e->cursor - t->length;
    k->end = e->cursor;
    e->last = what;
}

void sh_yank(struct sh_editor *e)
{
    e->kills.yanked = 0;
    put(e, sh_killed(e, 0), SH_DID_YANK);
}

void sh_yank_pop(struct sh_editor *e)
{
    struct sh_kills *k = &e->kills;
    if (e->before != SH_DID_YANK) return;
    sh_erase(e, k->start, k->end);
    e->cursor = k->start;
    put(e, sh_killed(e, ++k->yanked), SH_DID_YANK);
}

void sh_kills_free(struct sh_kills *k)
{
    for (int i = 0; i < SH_KILLS; i++) sh_text_free(&k->ring[i]);
    *k = (struct sh_kills){0};
}

/* The last operand of a cell: a name with the names before its dots, a number or a string. */
static bool last_operand(const char *code, size_t *from, size_t *to)
{
    struct lg_lexer x;
    struct lg_token t;
    bool found = false, joined = false; /* joined: a dot or colon follows an operand directly */
    lg_lexer_init(&x, code, strlen(code));
    while (lg_lexer_code(&x, &t)) {
        bool operand = t.kind == LG_TOKEN_NAME || t.kind == LG_TOKEN_NUMBER || t.kind == LG_TOKEN_STRING;
        if (operand) {
            if (!joined || t.kind != LG_TOKEN_NAME) *from = t.start;
            *to = t.end;
            found = true;
        }
        joined = found && *to == t.start && (lg_token_is(&x, &t, ".") || lg_token_is(&x, &t, ":"));
    }
    return found;
}

void sh_yank_argument(struct sh_editor *e)
{
    bool again = e->before == SH_DID_YANK_ARGUMENT;
    size_t from, to;
    for (size_t i = again ? e->argument : sh_entries(e); i-- > 0;) {
        const char *code = sh_entry(e, i);
        if (!code || !last_operand(code, &from, &to)) continue;
        if (again) sh_erase(e, e->kills.start, e->kills.end);
        e->argument = i;
        struct sh_text word = {0};
        if (sh_text_set(&word, code + from, to - from)) put(e, &word, SH_DID_YANK_ARGUMENT);
        sh_text_free(&word);
        return;
    }
    if (again) e->last = SH_DID_YANK_ARGUMENT; /* the oldest stays */
}
