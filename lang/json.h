/* JSON for the messages of comms: Lua values to text and back. Tables with the keys 1..n are lists, others objects with
 * string keys; an empty table is an object, unless lg_mark_list marked it. null is the light userdata NULL. */
#ifndef LG_JSON_H
#define LG_JSON_H

#include <lua.h>
#include "lang/buffer.h"

/* Adds the text of the value at idx; not a number becomes null. Raises for values that JSON lacks, `what` being what
 * the message calls the value. A failed allocation is left in the buffer. [raises] */
void lg_add_json(lua_State *L, struct lg_buffer *b, int idx, const char *what);
/* Adds a text as a string. Never raises. */
void lg_add_json_string(struct lg_buffer *b, const char *text, size_t length);
/* Pushes the value of a text; raises when it is not JSON. Lists are marked. [raises] */
void lg_push_json(lua_State *L, const char *text, size_t length);
/* Marks the table at idx as a list, so that it is one even when it is empty. [raises] */
void lg_mark_list(lua_State *L, int idx);

#endif
