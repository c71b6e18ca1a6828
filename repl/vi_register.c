/* vi's registers: what is deleted and copied, with names if one likes, and how it is put in again. */
#include <string.h>
#include "repl/vi.h"

enum { COPIED = SH_VI_REGISTERS - 1 }; /* register 0: what was copied last */

static bool is_small(int32_t name)
{
    return name >= 'a' && name <= 'z';
}

bool sh_vi_is_register(int32_t name)
{
    return is_small(name) || (name >= 'A' && name <= 'Z') || name == '0' || name == '"' || name == '_';
}

static bool is_lines(const struct sh_text *t)
{
    return t->length && t->bytes[t->length - 1] == '\n';
}

/* Behind what is there; where one of the two is whole lines, both are. */
static void append(struct sh_text *t, const struct sh_text *more)
{
    if (is_lines(more) && t->length && !is_lines(t)) sh_text_append(t, "\n", 1);
    bool lines = is_lines(t);
    sh_text_append(t, more->bytes, more->length);
    if (lines && !is_lines(t)) sh_text_append(t, "\n", 1);
}

void sh_vi_keep(struct sh_editor *e, size_t from, size_t to, bool lines, bool copied)
{
    struct sh_text t = {0};
    int32_t name = e->vi.reg;
    const char *bytes = e->text.bytes ? e->text.bytes : "";
    bool good = sh_text_append(&t, bytes + from, to - from) && (!lines || sh_text_append(&t, "\n", 1));
    if (good && t.length && name != '_') {
        struct sh_text *named = is_small(name | 32) && name > '@' ? &e->vi.registers[(name | 32) - 'a'] : NULL;
        if (named && !is_small(name)) {
            append(named, &t);
            sh_text_set(&t, named->bytes, named->length);
        } else if (named) {
            sh_text_set(named, t.bytes, t.length);
        } else if (copied) {
            sh_text_set(&e->vi.registers[COPIED], t.bytes, t.length);
        }
        sh_keep_text(e, t.bytes, t.length);
    }
    sh_text_free(&t);
}

/* What p puts in; NULL for none. */
static const struct sh_text *kept_text(const struct sh_editor *e)
{
    int32_t name = e->vi.reg;
    if (name == 0 || name == '"') return sh_killed(e, 0);
    if (name == '_') return NULL;
    return &e->vi.registers[name == '0' ? COPIED : (name | 32) - 'a'];
}

void sh_vi_put(struct sh_editor *e, int count, bool behind)
{
    const struct sh_text *t = kept_text(e);
    if (!t || t->length == 0) return;
    bool lines = is_lines(t), good = true;
    struct sh_text whole = {0};
    for (int i = 0; i < count && good; i++) good = sh_text_append(&whole, t->bytes, t->length);
    size_t at = e->cursor, end = sh_line_end(e, at);
    bool last = lines && behind && end == e->text.length; /* behind the last line, which has no newline */
    if (lines && behind) {
        at = end + !last;
        if (last && good) {
            whole.length--;
            good = sh_text_insert(&whole, 0, "\n", 1);
        }
    } else if (lines) {
        at = sh_line_start(e, at);
    } else if (behind && at < end) {
        at = sh_forward(e, at);
    }
    bool rows = !lines && memchr(t->bytes, '\n', t->length);
    if (good && sh_edit(e, at, at, whole.bytes, whole.length))
        e->cursor = lines ? sh_vi_first(e, at + last) : rows ? at : sh_backward(e, e->cursor);
    sh_text_free(&whole);
}

void sh_vi_put_selected(struct sh_editor *e, size_t from, size_t to, bool lines)
{
    struct sh_text t = {0};
    const struct sh_text *kept = kept_text(e);
    bool good = kept && sh_text_set(&t, kept->bytes ? kept->bytes : "", kept->length), whole = is_lines(&t);
    e->vi.reg = 0;
    if (good && whole && lines) t.length--;
    if (good && whole && !lines) good = sh_text_insert(&t, 0, "\n", 1);
    if (good) {
        sh_vi_keep(e, from, to, lines, false);
        if (sh_edit(e, from, to, t.bytes ? t.bytes : "", t.length))
            e->cursor = whole || lines ? sh_vi_first(e, from + (whole && !lines)) : e->cursor;
        if (!whole && !lines && e->cursor > from) e->cursor = sh_backward(e, e->cursor);
    }
    sh_text_free(&t);
}
