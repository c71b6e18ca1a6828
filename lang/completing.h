/* One completion on its way: what the files that find matches (complete.c, complete_string.c) share. */
#ifndef LG_COMPLETING_H
#define LG_COMPLETING_H

#include "lang/lookup.h"

struct lg_completing {
    struct lg_session *session;
    const char *code; /* up to the cursor */
    size_t length;
    struct lg_tokens tokens;
    size_t start; /* of what is replaced */
    const char *prefix;
    size_t prefix_length;
    struct lg_match *matches;
    size_t count, capacity;
    bool more;     /* there are others than the ones that were kept */
    size_t common; /* how many bytes of the first match these have, too */
    bool functions_only, folders_only;
    bool any_key;              /* not names alone: they stand in a string, t["two words"] */
    const char *function_kind; /* what functions are called: "function", after a colon "method" */
};

/* Adds a match when it begins with the prefix. What does not fit into memory is left out, as is what is beyond so many
 * that nobody reads them. */
void lg_add_match(struct lg_completing *c, const char *text, const char *kind, const char *note);
/* What stands from `start` up to the cursor is to be completed. */
void lg_set_prefix(struct lg_completing *c, size_t start);
/* Visits the fields of the value at idx that begin with the prefix, while there is room. */
void lg_complete_fields(lua_State *L, int idx, lg_visitor *visit, struct lg_completing *c);
/* As a visitor: adds a field or variable whose value is on top of the stack. Names with a leading underscore must
 * be asked for. */
void lg_visit_match(lua_State *L, const char *name, void *context);

/* Files whose path begins with what is written from `start` on; only the last part of it is replaced. In a word of a
 * command backslashes stand before spaces and the like. */
void lg_complete_path(struct lg_completing *c, size_t start, bool word);
void lg_complete_devices(struct lg_completing *c);
/* lang/magic_process.c: variables of the environment. */
void lg_complete_environment(struct lg_completing *c);
/* Inside a string, the last token: keys of a table after t[", names of dtypes, devices and colour maps where they are
 * asked for, CUDA C in the sources of kernels, files elsewhere. [raises] */
void lg_complete_string(lua_State *L, struct lg_completing *c, const struct lg_token *string);
/* What is known of the function that token `end` is an argument of: f("..."), f "...", f{; NULL for others. It may
 * leave a value on the stack. [raises] */
const struct lg_function *lg_callee(lua_State *L, const struct lg_tokens *t, size_t end);

/* lang/complete_options.c: names of options where a table for a function is open at token `before`; false when there is
 * none. [raises] */
bool lg_complete_options(lua_State *L, struct lg_completing *c, size_t before);
/* Modules, whose name so far is the prefix. [raises] */
void lg_complete_modules(lua_State *L, struct lg_completing *c);
/* The words of CUDA C whose source begins at `from`. */
void lg_complete_cuda(struct lg_completing *c, size_t from);

#endif
