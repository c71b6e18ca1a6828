/* Typing, Enter and Backspace, with the indentation that they see to. */
#include <string.h>
#include "repl/editing.h"

/* Whether the line that Enter indented reads, up to the cursor at its end, one of the words that close a block. */
static bool reads_closer(const struct sh_editor *e, size_t start)
{
    static const char *const closers[] = {"end", "else", "elseif", "until", "}", ")"};
    size_t word = start;
    while (word < e->cursor && e->text.bytes[word] == ' ') word++;
    for (size_t i = 0; i < sizeof closers / sizeof *closers; i++)
        if (strlen(closers[i]) == e->cursor - word && !memcmp(closers[i], e->text.bytes + word, e->cursor - word))
            return true;
    return false;
}

static void change_indent(struct sh_editor *e, size_t start, size_t from, size_t to)
{
    size_t cursor = e->cursor + to - from;
    if (sh_edit(e, start, start + from, "  ", to)) e->cursor = cursor;
}

/* A line that Enter indented moves back by one step once it reads "end" and the like, and forth again when that was the
 * beginning of another word. */
static void fit_closer(struct sh_editor *e)
{
    size_t start = sh_line_start(e, e->cursor);
    if (e->indented != start + 1 || e->cursor != sh_line_end(e, e->cursor)) return;
    bool closer = reads_closer(e, start);
    bool deep = e->cursor - start >= SH_INDENT && memcmp(e->text.bytes + start, "  ", SH_INDENT) == 0;
    if (closer && !e->dedented && deep) {
        change_indent(e, start, SH_INDENT, 0);
        e->dedented = true;
    } else if (!closer && e->dedented && sh_is_word(e, sh_backward(e, e->cursor))) {
        change_indent(e, start, 0, SH_INDENT);
        e->dedented = false;
    } else if (!closer) {
        e->dedented = false;
    }
}

void sh_type(struct sh_editor *e, const struct sh_key *key)
{
    char bytes[4];
    size_t n = sh_encode(key->c, bytes);
    e->last = SH_DID_TYPE;
    if (n == 0 || !sh_insert(e, bytes, n)) return;
    if (!key->pasted) fit_closer(e);
}

static void newline(struct sh_editor *e, int indent)
{
    struct sh_text line = {0};
    bool good = sh_text_append(&line, "\n", 1);
    for (int i = 0; i < indent && good; i++) good = sh_text_append(&line, " ", 1);
    if (good && sh_insert(e, line.bytes, line.length)) {
        e->indented = indent > 0 ? sh_line_start(e, e->cursor) + 1 : 0;
        e->dedented = false;
    }
    sh_text_free(&line);
}

/* The spaces at the start of the cursor's line, up to the cursor. */
static int line_indent(const struct sh_editor *e)
{
    size_t start = sh_line_start(e, e->cursor), at = start;
    while (at < e->cursor && e->text.bytes[at] == ' ') at++;
    return (int)(at - start);
}

void sh_open_line(struct sh_editor *e)
{
    newline(e, line_indent(e));
}

static enum lg_completeness ask(const struct sh_editor *e, size_t length, int *indent)
{
    *indent = 0;
    if (!e->host->completeness) return LG_COMPLETE;
    return e->host->completeness(e->host->context, e->text.bytes, length, indent);
}

enum sh_action sh_enter(struct sh_editor *e)
{
    int indent = 0;
    bool blank = !e->text.bytes || strspn(e->text.bytes, " \t\r\n") >= e->text.length;
    if (blank || ask(e, e->text.length, &indent) != LG_INCOMPLETE) return SH_ACCEPT;
    /* In the middle: as deep as what stands before asks for. */
    if (e->cursor < e->text.length && ask(e, e->cursor, &indent) != LG_INCOMPLETE) indent = line_indent(e);
    newline(e, indent);
    return SH_CONTINUE;
}

void sh_backspace(struct sh_editor *e)
{
    size_t from = sh_backward(e, e->cursor), start = sh_line_start(e, e->cursor);
    if (e->cursor > start && sh_in_indent(e)) from = start + (e->cursor - start - 1) / SH_INDENT * SH_INDENT;
    sh_erase(e, from, e->cursor);
}
