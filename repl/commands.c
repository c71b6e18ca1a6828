/* What keys do: the editor's commands, with their names, their keys and what the manual says of them. */
#include <string.h>
#include "repl/editing.h"
#include "repl/keymap.h"

/* A command that goes on editing. */
#define COMMAND(id, what)                                                                                              \
    static enum sh_action id(struct sh_editor *e)                                                                      \
    {                                                                                                                  \
        what;                                                                                                          \
        return SH_CONTINUE;                                                                                            \
    }

COMMAND(line_start, e->cursor = sh_line_start(e, e->cursor))
COMMAND(cell_start, e->cursor = 0)
COMMAND(cell_end, e->cursor = e->text.length)
COMMAND(left, e->cursor = sh_backward(e, e->cursor))
COMMAND(word_left, e->cursor = sh_word_backward(e, e->cursor))

/* At the end of the cell these take what history suggests. */
COMMAND(line_end, if (!sh_take_ghost(e, false)) e->cursor = sh_line_end(e, e->cursor))
COMMAND(right, if (!sh_take_ghost(e, false)) e->cursor = sh_forward(e, e->cursor))
COMMAND(word_right, if (!sh_take_ghost(e, true)) e->cursor = sh_word_forward(e, e->cursor))

COMMAND(delete_right, sh_erase(e, e->cursor, sh_forward(e, e->cursor)))
COMMAND(delete_left, sh_backspace(e))
COMMAND(kill_word_right, sh_kill(e, e->cursor, sh_word_forward(e, e->cursor)))
COMMAND(kill_word_left, sh_kill(e, sh_word_backward(e, e->cursor), e->cursor))
COMMAND(kill_line_start, sh_kill(e, sh_line_start(e, e->cursor), e->cursor))
COMMAND(kill_cell, e->cursor = 0; sh_kill(e, 0, e->text.length))
COMMAND(yank, sh_yank(e))
COMMAND(yank_pop, sh_yank_pop(e))
COMMAND(yank_argument, sh_yank_argument(e))
COMMAND(undo, sh_undo(e))
COMMAND(redo, sh_redo(e))
COMMAND(transpose_characters, sh_transpose_characters(e))
COMMAND(transpose_words, sh_transpose_words(e))
COMMAND(upper_word, sh_change_case(e, e->cursor, sh_word_forward(e, e->cursor), SH_UPPER))
COMMAND(lower_word, sh_change_case(e, e->cursor, sh_word_forward(e, e->cursor), SH_LOWER))
COMMAND(capital_word, sh_change_case(e, e->cursor, sh_word_forward(e, e->cursor), SH_CAPITAL))
COMMAND(quote, e->quoting = true)
COMMAND(open_line, sh_open_line(e))
COMMAND(set_mark, e->mark = e->cursor; e->marked = true)
COMMAND(older_alike, sh_recall(e, -1, true))
COMMAND(newer_alike, sh_recall(e, 1, true))
COMMAND(search, sh_search_start(e))
COMMAND(find_character, e->finding = 1)
COMMAND(find_character_left, e->finding = -1)
COMMAND(abort_command, e->marked = false)
COMMAND(revert, while (sh_undo(e)) continue)
COMMAND(comment, sh_comment(e))

/* Blanks and tabs on both sides of the cursor. */
static enum sh_action delete_blanks(struct sh_editor *e)
{
    size_t from = e->cursor, to = from;
    while (from > 0 && strchr(" \t", e->text.bytes[from - 1])) from--;
    while (to < e->text.length && strchr(" \t", e->text.bytes[to])) to++;
    sh_erase(e, from, to);
    return SH_CONTINUE;
}

static enum sh_action open_behind(struct sh_editor *e)
{
    size_t at = e->cursor;
    sh_open_line(e);
    e->cursor = at;
    return SH_CONTINUE;
}

static enum sh_action kill_line_end(struct sh_editor *e)
{
    size_t end = sh_line_end(e, e->cursor);
    sh_kill(e, e->cursor, end == e->cursor ? sh_forward(e, end) : end);
    return SH_CONTINUE;
}

static enum sh_action delete_or_leave(struct sh_editor *e)
{
    return e->text.length == 0 ? SH_LEAVE : delete_right(e);
}

static enum sh_action kill_region_or_blank_word(struct sh_editor *e)
{
    size_t from, to;
    if (sh_region(e, &from, &to))
        sh_kill(e, from, to);
    else
        sh_kill(e, sh_blank_backward(e, e->cursor), e->cursor);
    e->marked = false;
    return SH_CONTINUE;
}

static enum sh_action copy_region(struct sh_editor *e)
{
    size_t from, to;
    if (sh_region(e, &from, &to)) sh_keep(e, from, to);
    e->marked = false;
    return SH_CONTINUE;
}

static enum sh_action exchange_mark(struct sh_editor *e)
{
    size_t mark = e->mark < e->text.length ? e->mark : e->text.length;
    if (!e->marked) return SH_CONTINUE;
    e->mark = e->cursor;
    e->cursor = mark;
    return SH_CONTINUE;
}

static void up_or_down(struct sh_editor *e, int direction)
{
    /* Who walks through history goes on doing so, also over cells of many lines. */
    if (e->before != SH_DID_RECALL && sh_vertical(e, direction)) return;
    sh_recall(e, direction, false);
    e->last = SH_DID_RECALL;
}
COMMAND(up, up_or_down(e, -1))
COMMAND(down, up_or_down(e, 1))

static enum sh_action indent_or_complete(struct sh_editor *e)
{
    int column = (int)(e->cursor - sh_line_start(e, e->cursor));
    if (sh_in_indent(e))
        sh_insert(e, "  ", (size_t)(SH_INDENT - column % SH_INDENT));
    else
        sh_complete(e);
    return SH_CONTINUE;
}

static enum sh_action show_hint(struct sh_editor *e)
{
    if (e->host->inspect && e->text.length)
        e->hint = e->host->inspect(e->host->context, e->text.bytes, e->text.length, e->cursor);
    return SH_CONTINUE;
}

#define RESULT(id, result)                                                                                             \
    static enum sh_action id(struct sh_editor *e)                                                                      \
    {                                                                                                                  \
        (void)e;                                                                                                       \
        return result;                                                                                                 \
    }
RESULT(run, SH_ACCEPT)
RESULT(cancel, SH_CANCEL)
RESULT(suspend, SH_SUSPEND)
RESULT(clear, SH_CLEAR)
RESULT(edit, SH_EDIT)

static const struct sh_command commands[] = {
    {"enter", "Enter", "runs the cell when it is complete, else opens an indented line", sh_enter, false},
    {"open-line", "M-Enter, S-Enter", "opens a line", open_line, true},
    {"open-line-behind", "C-o", "opens a line, the cursor stays", open_behind, true},
    {"run", "C-x Enter", "runs the cell as it is", run, false},
    {"complete", "Tab", "completes the name; again and again goes through the list, Escape leaves it",
     indent_or_complete, false},
    {"show-doc", "S-Tab", "shows what is known of the name or the call at the cursor", show_hint, false},
    {"edit", "C-x C-e", "opens the cell in $EDITOR", edit, false},
    {"cancel", "C-c", "gives the cell up", cancel, false},
    {"delete-or-leave", "C-d", "deletes the character at the cursor; leaves on an empty cell", delete_or_leave, true},
    {"suspend", "C-z", "suspends the shell", suspend, false},
    {"clear-screen", "C-l", "clears the screen", clear, false},

    {"up", "Up, C-p", "the line above, then earlier cells", up, true},
    {"down", "Down, C-n", "the line below, then later cells", down, true},
    {"older-alike", "PageUp, M-p", "the earlier cell that begins as this one does up to the cursor", older_alike, true},
    {"newer-alike", "PageDown, M-n", "the later cell that begins so", newer_alike, true},
    {"search", "C-r, C-s", "searches earlier cells; C-r and C-s go on, Enter runs, Escape edits, C-g gives up", search,
     false},

    {"left", "Left, C-b", "one character back", left, true},
    {"right", "Right, C-f", "one character on; at the end takes what is suggested in grey", right, true},
    {"word-left", "M-b, C-Left, M-Left", "one word back", word_left, true},
    {"word-right", "M-f, C-Right, M-Right", "one word on; at the end takes a word of the suggestion", word_right, true},
    {"line-start", "Home, C-a", "to the start of the line", line_start, false},
    {"line-end", "End, C-e", "to the end of the line; at the end of the cell takes the suggestion", line_end, false},
    {"cell-start", "M-<, C-Home", "to the start of the cell", cell_start, false},
    {"cell-end", "M->, C-End", "to the end of the cell", cell_end, false},
    {"find-character", "C-]", "to the next place of the character that is typed then", find_character, false},
    {"find-character-left", "C-M-]", "back to it", find_character_left, false},
    {"set-mark", "C-Space", "marks one end of the region, the cursor is the other", set_mark, false},
    {"exchange-mark", "C-x C-x", "the cursor and the mark change places", exchange_mark, false},

    {"delete-left", "Backspace", "deletes the character before the cursor", delete_left, true},
    {"delete-right", "Delete", "deletes the character at the cursor", delete_right, true},
    {"kill-line", "C-k", "cuts to the end of the line", kill_line_end, true},
    {"kill-line-start", "C-u, C-x Backspace", "cuts to the start of the line", kill_line_start, false},
    {"kill-cell", "C-x C-k", "cuts the whole cell", kill_cell, false},
    {"kill-word", "M-d, C-Delete, M-Delete", "cuts to the end of the word", kill_word_right, true},
    {"kill-word-left", "M-Backspace, C-Backspace", "cuts to the start of the word", kill_word_left, true},
    {"delete-blanks", "M-\\", "deletes the blanks around the cursor", delete_blanks, false},
    {"kill-region", "C-w", "cuts the region; without a mark back to a blank", kill_region_or_blank_word, false},
    {"copy-region", "M-w", "copies the region", copy_region, false},
    {"yank", "C-y", "puts in what was cut last", yank, false},
    {"yank-pop", "M-y", "after that: what was cut before, in its place", yank_pop, true},
    {"yank-argument", "M-., M-_", "puts in the last operand of the cell before; again: of the one before that",
     yank_argument, true},
    {"undo", "C-_, C-x C-u", "undoes the last change", undo, true},
    {"redo", "M-/, C-M-_, C-x C-r", "does again what was undone", redo, true},
    {"revert", "M-r", "undoes everything", revert, false},
    {"comment", "M-;, M-#", "puts -- before the line, or the lines of the region, or takes it away", comment, false},
    {"transpose-characters", "C-t", "exchanges the characters around the cursor", transpose_characters, true},
    {"transpose-words", "M-t", "exchanges the words around the cursor", transpose_words, true},
    {"upper-word", "M-u", "puts the word in capitals", upper_word, true},
    {"lower-word", "M-l", "puts the word in small letters", lower_word, true},
    {"capital-word", "M-c", "begins the word with a capital", capital_word, true},
    {"abort", "C-g, C-x C-g", "forgets the mark and what was begun", abort_command, false},
    {"quote", "C-v, C-q", "puts the next key in as it is", quote, false},
};

const struct sh_command *sh_command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? &commands[i] : NULL;
}

const struct sh_command *sh_command_opposite(const struct sh_command *c)
{
    static const char *const pairs[][2] = {
        {"left", "right"},
        {"word-left", "word-right"},
        {"up", "down"},
        {"line-start", "line-end"},
        {"cell-start", "cell-end"},
        {"delete-left", "delete-right"},
        {"delete-left", "delete-or-leave"},
        {"kill-word-left", "kill-word"},
        {"kill-line-start", "kill-line"},
        {"undo", "redo"},
        {"older-alike", "newer-alike"},
        {"find-character-left", "find-character"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int side = 0; side < 2; side++)
            if (strcmp(c->name, pairs[i][side]) == 0) return sh_command_find(pairs[i][1 - side]);
    return c;
}
