/* vi's insertions and replacements, from the letter that begins one to the Escape that ends it and, after a count, puts
 * it in again. */
#include <string.h>
#include "repl/vi.h"

/* What the line has from here on: what R's Backspace puts back. */
static void begin_over(struct sh_editor *e)
{
    size_t end = sh_line_end(e, e->cursor);
    const char *bytes = e->text.bytes ? e->text.bytes : "";
    e->vi.over_typed = 0;
    e->vi.over_at = e->cursor;
    if (!sh_text_set(&e->vi.over, bytes + e->cursor, end - e->cursor)) e->vi.over.length = 0;
}

void sh_vi_insert(struct sh_editor *e, int32_t letter, int count)
{
    struct sh_vi *vi = &e->vi;
    vi->mode = letter == 'R' ? SH_VI_REPLACE : SH_VI_INSERT;
    vi->inserted_at = e->cursor;
    vi->inserted_by = letter;
    vi->insertions = count;
    if (letter == 'R') begin_over(e);
}

/* The bytes of the character at `at` of a text. */
static size_t size_at(const struct sh_text *t, size_t at)
{
    return at < t->length ? sh_next_grapheme(t->bytes, t->length, at) - at : 0;
}

static void backspace_over(struct sh_editor *e)
{
    struct sh_vi *vi = &e->vi;
    size_t at = 0, to = e->cursor, from = sh_backward(e, to);
    if (vi->over_typed == 0) {
        if (from >= sh_line_start(e, to)) e->cursor = vi->over_at = from;
        return;
    }
    vi->over_typed--;
    for (size_t i = 0; i < vi->over_typed; i++) at += size_at(&vi->over, at);
    sh_edit(e, from, to, vi->over.bytes ? vi->over.bytes + at : "", size_at(&vi->over, at));
    e->cursor = vi->over_at = from;
}

bool sh_vi_replace_key(struct sh_editor *e, const struct sh_key *key)
{
    char bytes[4];
    if (e->cursor != e->vi.over_at) begin_over(e);
    if (key->kind == SH_KEY_BACKSPACE && !key->alt && !key->ctrl) {
        backspace_over(e);
        return true;
    }
    bool typed = key->kind == SH_KEY_TEXT && !key->ctrl && !key->alt;
    if (!typed || key->c == '\n') return false;
    size_t end = sh_line_end(e, e->cursor), to = e->cursor < end ? sh_forward(e, e->cursor) : end;
    if (sh_edit(e, e->cursor, to, bytes, sh_encode(key->c, bytes))) e->vi.over_typed++;
    e->vi.over_at = e->cursor;
    return true;
}

/* The text of the insertion, once more; that of o and O is a line of its own. */
static bool put_again(struct sh_editor *e, const struct sh_text *piece)
{
    size_t to = e->cursor, end = sh_line_end(e, to);
    if (e->vi.inserted_by == 'R')
        for (size_t at = 0; at < piece->length && to < end; at += size_at(piece, at)) to = sh_forward(e, to);
    return sh_edit(e, e->cursor, to, piece->bytes, piece->length);
}

void sh_vi_insert_end(struct sh_editor *e)
{
    struct sh_vi *vi = &e->vi;
    struct sh_text piece = {0};
    bool line = vi->inserted_by == 'o' || vi->inserted_by == 'O';
    bool again = vi->insertions > 1 && vi->inserted_at <= e->cursor;
    size_t from = again && line ? sh_line_start(e, vi->inserted_at) : vi->inserted_at;
    bool good = again && (!line || sh_text_append(&piece, "\n", 1)) &&
                sh_text_append(&piece, e->text.bytes ? e->text.bytes + from : "", e->cursor - from);
    for (int i = 1; i < vi->insertions && good && piece.length; i++) good = put_again(e, &piece);
    sh_text_free(&piece);
    vi->insertions = 0;
    vi->inserted_by = 0;
}
