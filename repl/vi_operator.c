/* vi's operators: what d, c, y, < and > do with what a motion or an object says. */
#include <string.h>
#include "repl/vi.h"

static void delete_lines(struct sh_editor *e, size_t from, size_t to)
{
    if (to < e->text.length)
        to++;
    else if (from > 0)
        from--;
    sh_erase(e, from, to);
    e->cursor = sh_vi_first(e, from < e->text.length ? from : e->text.length);
}

static void shift_lines(struct sh_editor *e, size_t from, size_t to, int direction)
{
    size_t at = sh_line_start(e, from);
    size_t first = at;
    for (;;) {
        size_t blanks = 0;
        while (blanks < SH_INDENT && at + blanks < e->text.length && e->text.bytes[at + blanks] == ' ') blanks++;
        bool empty = sh_line_end(e, at) == at;
        if (direction < 0) {
            sh_erase(e, at, at + blanks);
            to -= blanks < to ? blanks : to;
        } else if (!empty) {
            sh_edit(e, at, at, "  ", SH_INDENT);
            to += SH_INDENT;
        }
        size_t end = sh_line_end(e, at);
        if (end >= to || end >= e->text.length) break;
        at = end + 1;
    }
    e->cursor = sh_vi_first(e, first);
}

void sh_vi_operate(struct sh_editor *e, int32_t op, size_t from, size_t to, bool lines)
{
    size_t at = from;
    if (lines) {
        from = sh_line_start(e, from);
        to = sh_line_end(e, to);
    }
    switch (op) {
    case 'y':
        sh_vi_keep(e, from, to, lines, true);
        e->cursor = lines ? at : from;
        e->vi.no_repeat = true;
        break;
    case 'd':
        sh_vi_keep(e, from, to, lines, false);
        if (lines)
            delete_lines(e, from, to);
        else
            sh_erase(e, from, to);
        break;
    case 'c':
        sh_vi_keep(e, from, to, lines, false);
        sh_erase(e, lines ? sh_vi_first(e, from) : from, to);
        e->cursor = lines ? sh_vi_first(e, from) : from;
        sh_vi_insert(e, 'c', 1);
        break;
    case '<': shift_lines(e, from, to, -1); break;
    case '>': shift_lines(e, from, to, 1); break;
    case '~': sh_swap_case(e, from, to); break;
    case 'u': sh_change_case(e, from, to, SH_LOWER); break;
    case 'U': sh_change_case(e, from, to, SH_UPPER); break;
    }
    if (strchr("~uU", (int)op)) e->cursor = at;
}

static size_t motion_end(struct sh_editor *e, int32_t key, int count)
{
    const struct sh_vi_motion *m = sh_vi_motions;
    while (m->key != key) m++;
    return sh_forward(e, m->find(e, count, 0));
}

/* cw: to the end of the word, or of several, and not to the start of the next one. */
static void change_words(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t at = e->cursor, from, to = at;
    sh_vi_object(e, false, c->key, 1, &from, &to);
    if (c->count > 1) {
        e->cursor = sh_backward(e, to);
        to = motion_end(e, c->key == 'w' ? 'e' : 'E', c->count - 1);
        e->cursor = at;
    }
    sh_vi_operate(e, 'c', at, to, false);
}

static bool is_blank(const struct sh_editor *e, size_t from, size_t to)
{
    while (from < to && strchr(" \t", e->text.bytes[from])) from++;
    return from >= to;
}

/* What leads up to the start of another line ends behind the line before that. If nothing stands before it in its first
 * line, whole lines are meant; when deleting, also if nothing is left of the last one. */
static bool becomes_lines(const struct sh_editor *e, int32_t op, bool before, size_t from, size_t *to)
{
    if (from == *to || !memchr(e->text.bytes + from, '\n', *to - from)) return false;
    bool first = is_blank(e, sh_line_start(e, from), from);
    if (before && *to == sh_line_start(e, *to)) {
        --*to;
        return first;
    }
    bool several = from < *to && memchr(e->text.bytes + from, '\n', *to - from) != NULL;
    return op == 'd' && several && first && is_blank(e, *to, sh_line_end(e, *to));
}

/* An operator with a motion: from the cursor to where that leads. */
static void operate_motion(struct sh_editor *e, const struct sh_vi_command *c)
{
    const struct sh_vi_motion *m = c->motion;
    size_t at = e->cursor;
    bool word = m->key == 'w' || m->key == 'W';
    bool blank = at >= e->text.length || strchr(" \t\n", e->text.bytes[at]);
    if (c->op == 'c' && word && !blank) {
        change_words(e, c);
        return;
    }
    size_t target = m->find(e, c->count, c->character);
    if (target == SH_NOWHERE) return;
    size_t from = target < at ? target : at, to = target < at ? at : target;
    bool searched = m->key == ';' || m->key == ',';
    if (m->reach == SH_VI_AT && !(searched && target < at)) {
        if (to < e->text.length && e->text.bytes[to] != '\n') to = sh_forward(e, to);
    }
    if (word) { /* the last word of a line does not take the next line along */
        size_t end = to;
        while (end > at && strchr(" \t\n", e->text.bytes[end - 1])) end--;
        if (end < to && memchr(e->text.bytes + end, '\n', to - end)) to = end > at ? end : sh_line_end(e, at);
    }
    bool whole = m->reach == SH_VI_WHOLE || (m->key == '%' && c->count);
    if (c->op == 'y' && m->key == '_') from = at; /* as yy */
    whole = whole || becomes_lines(e, c->op, m->reach == SH_VI_BEFORE, from, &to);
    sh_vi_operate(e, c->op, from, to, whole);
}

/* What is between brackets that stand at the ends of other lines is whole lines. */
static bool fills_lines(const struct sh_editor *e, int32_t letter, size_t from, size_t to)
{
    return letter < 128 && strchr("()[]{}<>bB", (int)letter) && from > 0 && to < e->text.length &&
           e->text.bytes[from - 1] == '\n' && e->text.bytes[to] == '\n';
}

void sh_vi_run_operator(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t from = e->cursor, to = e->cursor;
    if (c->lines) {
        if (c->count > 1 && sh_line_end(e, to) == e->text.length) return;
        for (int i = 1; i < c->count && sh_line_end(e, to) < e->text.length; i++) to = sh_line_end(e, to) + 1;
        size_t first = sh_vi_first(e, from);
        bool moves = strchr("~uU", (int)c->op) && c->count < 2 && first < from;
        sh_vi_operate(e, c->op, moves ? first : from, to, true);
    } else if (c->object) {
        if (!sh_vi_object(e, c->object == 'a', c->character, c->count, &from, &to)) return;
        bool lines = sh_vi_object_is_lines(c->character) || fills_lines(e, c->character, from, to) ||
                     (c->character == 's' && becomes_lines(e, c->op, true, from, &to));
        sh_vi_operate(e, c->op, from, to, lines);
    } else if (c->motion) {
        operate_motion(e, c);
    }
}
