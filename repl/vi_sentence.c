/* vi's sentences: the motions ( and ), the objects is and as. */
#include <string.h>
#include "repl/vi.h"

static bool is_one_of(const struct sh_editor *e, size_t at, const char *which)
{
    return e->text.bytes[at] && strchr(which, e->text.bytes[at]);
}

/* The text begins one, an empty line behind one that is not is one, and what follows empty lines, or a full stop,
 * perhaps quotes or brackets that close, and blanks. */
static bool starts_sentence(const struct sh_editor *e, size_t at)
{
    if (at == 0) return true;
    if (sh_line_start(e, at) == sh_line_end(e, at)) return at > 1 && e->text.bytes[at - 2] != '\n';
    if (is_one_of(e, at, " \t\n")) return false;
    size_t before = at;
    for (; before > 0 && is_one_of(e, before - 1, " \t\n"); before--)
        if (e->text.bytes[before - 1] == '\n' && (before == 1 || e->text.bytes[before - 2] == '\n')) return true;
    if (before == at) return false;
    while (before > 0 && is_one_of(e, before - 1, ")]\"'")) before--;
    return before > 0 && is_one_of(e, before - 1, ".!?");
}

bool sh_vi_ends_sentence(const struct sh_editor *e)
{
    size_t at = e->text.length;
    if (at > 1 && e->text.bytes[at - 1] == '\n') return e->text.bytes[at - 2] != '\n';
    while (at > 0 && is_one_of(e, at - 1, " \t")) at--;
    while (at > 0 && is_one_of(e, at - 1, ")]\"'")) at--;
    return at > 0 && is_one_of(e, at - 1, ".!?");
}

size_t sh_vi_next_sentence(const struct sh_editor *e, size_t at, bool big)
{
    (void)big;
    do at = sh_forward(e, at);
    while (at < e->text.length && !starts_sentence(e, at));
    return at;
}

size_t sh_vi_previous_sentence(const struct sh_editor *e, size_t at, bool big)
{
    (void)big;
    do at = sh_backward(e, at);
    while (!starts_sentence(e, at));
    return at;
}

/* The blanks before a place begin there, those at the ends of lines, too; not before `least`. */
static size_t blanks_before(const struct sh_editor *e, size_t at, size_t least)
{
    for (;;) {
        size_t end = at > least && e->text.bytes[at - 1] == '\n' ? at - 1 : at;
        if (end <= least || !is_one_of(e, end - 1, " \t")) return at;
        at = end - 1;
    }
}

bool sh_vi_sentence(const struct sh_editor *e, bool around, int count, size_t *from, size_t *to)
{
    size_t at = e->cursor;
    if (at >= e->text.length) return false;
    size_t start = starts_sentence(e, at) ? at : sh_vi_previous_sentence(e, at, false);
    size_t next = sh_vi_next_sentence(e, start, false), gap = blanks_before(e, next, start);
    bool in_gap = at >= gap && gap < next, blanks = in_gap;
    *from = *to = in_gap ? gap : start;
    count = (count > 0 ? count : 1) * (around ? 2 : 1);
    for (; count > 0 && *to < e->text.length; count--) {
        if (blanks) {
            *to = next;
        } else {
            start = *to;
            next = sh_vi_next_sentence(e, start, false);
            *to = blanks_before(e, next, start);
        }
        blanks = !blanks;
    }
    /* Without blanks behind them those before. */
    if (around && !in_gap && blanks_before(e, *to, *from) == *to) *from = blanks_before(e, *from, 0);
    return true;
}
