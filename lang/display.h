/* Showing things: for functions of the gpu table that draw. They work in a session and in a stock Lua interpreter,
 * which counts as a pipe. All functions raise. */
#ifndef LG_DISPLAY_H
#define LG_DISPLAY_H

#include "lang/lang.h"
#include "lang/session.h"

/* Where displays go: true for a front end that shows pictures and HTML. Else *out says what text may look like. */
bool lg_shows_pictures(lua_State *L, struct lg_terminal *out);
/* Where it does not: what a picture is to be shown as. */
enum lg_pictures lg_pictures_as(lua_State *L, const struct lg_terminal *t);
/* Shows a bundle, as new or in place of what has that id. Without pictures its plain text is printed. */
void lg_show(lua_State *L, const struct lg_bundle *b, const char *id, bool update);
/* Shows it as new, or in place of what the handle at `into` (0: none) shows, and pushes the handle. */
void lg_show_with_handle(lua_State *L, const struct lg_bundle *b, int into);
/* Whether the value at idx is such a handle. */
bool lg_is_handle(lua_State *L, int idx);
/* Prints text as it is; unfinished lines are seen at once. */
void lg_show_text(lua_State *L, const char *text, size_t length);
/* Pushes an id that no other display has, and returns it. */
const char *lg_push_display_id(lua_State *L);

/* lang/html_text.c: pushes the text of a piece of HTML: without tags, styles and scripts, blocks and rows on lines of
 * their own, the cells of a row apart. */
void lg_push_html_text(lua_State *L, const char *html, size_t length);

#endif
