/* What stands at a position of a cell, and which value it names: shared by completion and inspection. Values are found
 * without running any code of the user's. */
#ifndef LG_LOOKUP_H
#define LG_LOOKUP_H

#include "lang/lexer.h"
#include "lang/session_state.h"

struct lg_tokens {
    const char *text;
    struct lg_token *items; /* without comments */
    size_t count, capacity;
    bool failed;     /* out of memory */
    bool in_comment; /* the text ends inside a comment */
};
/* Is the token an operator of one character, one of these? */
static inline bool lg_is_sign(const struct lg_tokens *t, size_t i, const char *signs)
{
    const struct lg_token *k = &t->items[i];
    return k->kind == LG_TOKEN_OPERATOR && k->end - k->start == 1 && strchr(signs, t->text[k->start]);
}

/* The tokens of text[0..length); release with free(items). */
void lg_tokens_fill(struct lg_tokens *t, const char *text, size_t length);

/* The first token of the name chain (a.b[1]:c) that ends before token `end`; `end` itself when there is none. */
size_t lg_chain_start(const struct lg_tokens *t, size_t end);

/* The innermost '(' that is open at token `end`, or `end` when none is. */
size_t lg_open_call(const struct lg_tokens *t, size_t end);

/* Pushes the value of the chain made of tokens first..end-1: true; or pushes nothing: false. [raises] */
bool lg_push_chain(lua_State *L, const struct lg_tokens *t, size_t first, size_t end);

/* Pushes what indexing the value at idx with the key on top gives without running the user's code, in place of the key;
 * false and nothing when that is not known or nil. [raises] */
bool lg_push_field(lua_State *L, int idx);

/* Gets a name, with its value on top of the stack. */
typedef void lg_visitor(lua_State *L, const char *name, void *context);
/* Which names are visited: those with this beginning that `take` says true of. */
struct lg_wanted {
    const char *prefix;
    size_t length;
    bool (*take)(const char *name, void *context);
};
/* The known names of the value's fields and methods: calls visit with each (the value is nil when only the name is
 * known). `wanted`, or NULL for all, but no more than anybody reads, holds for tables; visit may get others, too.
 * [raises] */
void lg_each_field(lua_State *L, int idx, const struct lg_wanted *wanted, lg_visitor *visit, void *context);
/* The same for the methods that all arrays have. [raises] */
void lg_each_array_method(lua_State *L, lg_visitor *visit, void *context);
/* lang/names.c: the same for the string keys of the table on top of the stack. [raises] */
void lg_each_key(lua_State *L, const struct lg_wanted *wanted, lg_visitor *visit, void *context);

/* One word for what the value at idx is, and one line on it (a signature, shape, or short value) in buffer. [raises] */
const char *lg_describe(lua_State *L, int idx, char *buffer, size_t size);

/* The signature of the Lua function at idx from its parameters' names: "f(a, b, ...)". */
void lg_lua_signature(lua_State *L, int idx, const char *name, char *buffer, size_t size);

#endif
