/* Changes of the text, each kept so that it can be undone and done again. */
#include <stdlib.h>
#include <string.h>
#include "repl/editing.h"

static void release(struct sh_change *c)
{
    sh_text_free(&c->removed);
    sh_text_free(&c->inserted);
}

static void forget_undone(struct sh_undo *u)
{
    while (u->count > u->done) release(&u->changes[--u->count]);
}

void sh_undo_forget(struct sh_undo *u)
{
    u->done = 0;
    forget_undone(u);
    free(u->changes);
    *u = (struct sh_undo){0};
}

/* What is typed behind the last change of the same step belongs to that. */
static bool extends_last(const struct sh_undo *u, size_t from, size_t to)
{
    const struct sh_change *c = u->count ? &u->changes[u->count - 1] : NULL;
    return c && c->step == u->step && from == to && from == c->at + c->inserted.length;
}

static bool record(struct sh_editor *e, size_t from, size_t to, const char *bytes, size_t length)
{
    struct sh_undo *u = &e->undo;
    if (extends_last(u, from, to)) return sh_text_append(&u->changes[u->count - 1].inserted, bytes, length);
    if (u->count == u->capacity) {
        size_t capacity = u->capacity ? 2 * u->capacity : 32;
        struct sh_change *more = realloc(u->changes, capacity * sizeof *more);
        if (!more) return false;
        u->changes = more;
        u->capacity = capacity;
    }
    struct sh_change c = {.at = from, .before = e->cursor, .step = u->step};
    const char *text = e->text.bytes ? e->text.bytes : "";
    if (!sh_text_set(&c.removed, text + from, to - from) || !sh_text_set(&c.inserted, bytes, length)) {
        release(&c);
        return false;
    }
    u->changes[u->count++] = c;
    u->done = u->count;
    return true;
}

/* Where a place is after from..to has been replaced by that many bytes. */
static size_t moved(size_t place, size_t from, size_t to, size_t length)
{
    return place >= to ? place - (to - from) + length : place < from ? place : from;
}

static void changed(struct sh_editor *e, size_t from, size_t to, size_t length)
{
    e->version++;
    if (e->styled > from) e->styled = from;
    if (e->marked) e->mark = moved(e->mark, from, to, length);
    for (int i = 0; i < SH_VI_MARKS; i++)
        if (e->vi.marks[i]) e->vi.marks[i] = moved(e->vi.marks[i] - 1, from, to, length) + 1;
}

/* Needs no memory when the text has been that long before. */
static void replace(struct sh_editor *e, size_t from, size_t to, const struct sh_text *with)
{
    sh_text_delete(&e->text, from, to);
    sh_text_insert(&e->text, from, with->bytes, with->length);
    changed(e, from, to, with->length);
}

bool sh_edit(struct sh_editor *e, size_t from, size_t to, const char *bytes, size_t length)
{
    if (from == to && length == 0) return true;
    forget_undone(&e->undo);
    if (!sh_text_reserve(&e->text, e->text.length - (to - from) + length)) return false;
    if (!record(e, from, to, bytes, length)) return false;
    sh_text_delete(&e->text, from, to);
    sh_text_insert(&e->text, from, bytes, length);
    changed(e, from, to, length);
    e->cursor = from + length;
    return true;
}

bool sh_insert(struct sh_editor *e, const char *bytes, size_t length)
{
    return sh_edit(e, e->cursor, e->cursor, bytes, length);
}

void sh_erase(struct sh_editor *e, size_t from, size_t to)
{
    sh_edit(e, from, to, "", 0);
}

void sh_step(struct sh_editor *e)
{
    e->undo.step++;
}

bool sh_undo(struct sh_editor *e)
{
    struct sh_undo *u = &e->undo;
    if (u->done == 0) return false;
    unsigned long step = u->changes[u->done - 1].step;
    u->changes[u->done - 1].after = e->cursor;
    while (u->done > 0 && u->changes[u->done - 1].step == step) {
        const struct sh_change *c = &u->changes[--u->done];
        replace(e, c->at, c->at + c->inserted.length, &c->removed);
        e->cursor = c->before;
    }
    return true;
}

bool sh_redo(struct sh_editor *e)
{
    struct sh_undo *u = &e->undo;
    if (u->done == u->count) return false;
    unsigned long step = u->changes[u->done].step;
    while (u->done < u->count && u->changes[u->done].step == step) {
        const struct sh_change *c = &u->changes[u->done++];
        replace(e, c->at, c->at + c->removed.length, &c->inserted);
        e->cursor = c->after;
    }
    return true;
}
