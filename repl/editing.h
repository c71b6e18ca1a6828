/* What the editor's files share: positions, changes with their undoing, the kill ring, history, the menu. */
#ifndef SH_EDITING_H
#define SH_EDITING_H

#include "repl/editor.h"

enum { SH_INDENT = 2 };

/* motion.c: positions. All are byte offsets, and stop at the ends of the text. */
size_t sh_line_start(const struct sh_editor *e, size_t at);
size_t sh_line_end(const struct sh_editor *e, size_t at);
size_t sh_at_column(const struct sh_editor *e, size_t start, int column); /* in the line that starts at `start` */
size_t sh_forward(const struct sh_editor *e, size_t at);
size_t sh_backward(const struct sh_editor *e, size_t at);
bool sh_is_word(const struct sh_editor *e, size_t at); /* a letter, digit or _ begins at `at` */
size_t sh_word_forward(const struct sh_editor *e, size_t at);
size_t sh_word_backward(const struct sh_editor *e, size_t at);
size_t sh_blank_backward(const struct sh_editor *e, size_t at); /* over what is not blank, as shells do */
bool sh_in_indent(const struct sh_editor *e);         /* only spaces between the line's start and the cursor */
bool sh_vertical(struct sh_editor *e, int direction); /* to the line above or below; false at the edge */

/* undo.c: every change of the text is one of these, so that each can be undone. False when memory is lacking; the text
 * is then unchanged. The cursor ends behind what was put in. `bytes` must not point into the text. */
bool sh_edit(struct sh_editor *e, size_t from, size_t to, const char *bytes, size_t length);
bool sh_insert(struct sh_editor *e, const char *bytes, size_t length); /* at the cursor */
void sh_erase(struct sh_editor *e, size_t from, size_t to);
void sh_step(struct sh_editor *e); /* what follows is undone by itself */
bool sh_undo(struct sh_editor *e); /* false: nothing is left */
bool sh_redo(struct sh_editor *e);
void sh_undo_forget(struct sh_undo *u);

/* kill.c */
void sh_kill(struct sh_editor *e, size_t from, size_t to); /* erases and keeps; kills in a row are one */
void sh_keep(struct sh_editor *e, size_t from, size_t to); /* only keeps */
void sh_keep_text(struct sh_editor *e, const char *bytes, size_t length);
const struct sh_text *sh_killed(const struct sh_editor *e, int back); /* the newest at 0; NULL when none */
void sh_yank(struct sh_editor *e);
void sh_yank_pop(struct sh_editor *e);
void sh_yank_argument(struct sh_editor *e);
void sh_kills_free(struct sh_kills *k);

/* change.c: words and characters changed where they stand. */
enum sh_case { SH_UPPER, SH_LOWER, SH_CAPITAL };
void sh_change_case(struct sh_editor *e, size_t from, size_t to, enum sh_case how);
void sh_swap_case(struct sh_editor *e, size_t from, size_t to); /* each letter the other way */
void sh_transpose_characters(struct sh_editor *e);
void sh_transpose_words(struct sh_editor *e);

/* Puts "-- " before the lines of the region, or the one of the cursor, or takes it away where all have it. */
void sh_comment(struct sh_editor *e);
/* The ends of the region; false when no mark is set. */
bool sh_region(const struct sh_editor *e, size_t *from, size_t *to);

/* indent.c: what typing and Enter do beside putting bytes in. */
void sh_type(struct sh_editor *e, const struct sh_key *key);
enum sh_action sh_enter(struct sh_editor *e);
void sh_open_line(struct sh_editor *e); /* always a line, as deep as this one */
void sh_backspace(struct sh_editor *e);

/* recall.c: history and its search */
/* The older (-1) or newer (1) entry that begins with what stands before the cursor; `stay`: the cursor stays there. */
void sh_recall(struct sh_editor *e, int direction, bool stay);
void sh_search_start(struct sh_editor *e);
/* False: the key is the editor's, the search ended. */
bool sh_search_key(struct sh_editor *e, const struct sh_key *key);
size_t sh_entries(const struct sh_editor *e);
const char *sh_entry(const struct sh_editor *e, size_t i); /* NULL when it can't be read */

/* view.c: the start of a line at or before `at` that is known to be in no string or comment; 0 where none is. */
size_t sh_fresh_line(const struct sh_editor *e, size_t at);

/* suggest.c: what is shown without being asked for. */
const char *sh_ghost(struct sh_editor *e);          /* what history has behind the text; NULL for nothing */
bool sh_take_ghost(struct sh_editor *e, bool word); /* puts it in, or its first word; false: there is none */
/* Of a signature of several forms, "a + b   a:add(b)   gpu.add(a, b)", that of a method or the other call. */
const char *sh_form(const char *signature, bool method, size_t *length);
/* How the function is called whose arguments the cursor is in, or NULL; the parameter it is at is [*from, *to). */
const char *sh_signature(struct sh_editor *e, size_t *from, size_t *to);

/* menu.c: completion */
void sh_complete(struct sh_editor *e);
void sh_menu_narrow(struct sh_editor *e); /* the list again, after something was typed or erased */
bool sh_menu_key(struct sh_editor *e, const struct sh_key *key); /* false: the key is the editor's, the menu closed */
void sh_menu_close(struct sh_editor *e);
void sh_menu_frame(struct sh_editor *e, int rows, struct sh_frame *out);

#endif
