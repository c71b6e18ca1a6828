/* The editor's commands by name, and the keys that run them. A key is written as Emacs writes it: "C-a", "M-f",
 * "C-x C-e" (one key after the other), "Up", "C-Left", "S-Tab", "M-Enter", "C-Space". The table of commands is where
 * their keys and their documentation stand; the user's bindings go before it. */
#ifndef SH_KEYMAP_H
#define SH_KEYMAP_H

#include "repl/editor.h"

struct sh_command {
    const char *name;
    const char *keys; /* that run it unless others are bound, with ", " between; "" for none */
    const char *doc;  /* one line */
    enum sh_action (*run)(struct sh_editor *e);
    bool repeats; /* M-3 before it has it run three times */
};
/* The commands in the order of the manual; NULL behind the last. */
const struct sh_command *sh_command_at(size_t i);
const struct sh_command *sh_command_find(const char *name);

/* What a negative number before a command has run in its place; the command itself where there is nothing. */
const struct sh_command *sh_command_opposite(const struct sh_command *c);

/* The user's bindings; starts as all zeros. One may serve many editors. */
struct sh_keymap {
    struct sh_binding *bindings;
    size_t count;
};

enum sh_bind_status {
    SH_BOUND,
    SH_NO_KEY,     /* the key's name means nothing, or it is a letter that would be typed */
    SH_NO_COMMAND, /* no command has that name */
    SH_NO_MEMORY,
};
void sh_keymap_free(struct sh_keymap *m);
/* Has `key` run the command of that name from now on; NULL: the key does nothing any more. "vi H" is the key H in vi's
 * normal and visual mode, which may also stand for others of its keys, "vi ^". */
enum sh_bind_status sh_bind(struct sh_keymap *m, const char *key, const char *command);
/* `m` may be NULL here. Writes the keys that run the command now, with ", " between; false when there are none. */
bool sh_keys_of(const struct sh_keymap *m, const struct sh_command *c, char *out, size_t size);
/* Appends the manual's list of commands: the keys that run each now, and what it does. */
void sh_keys_text(const struct sh_keymap *m, struct sh_text *out);

/* For the editor: what the user has bound a key of vi's normal mode to, or NULL. Its keys, its command: NULL where it
 * has none. */
const struct sh_binding *sh_vi_lookup(const struct sh_keymap *m, const struct sh_key *key);
const char *sh_binding_keys(const struct sh_binding *b);
const struct sh_command *sh_binding_command(const struct sh_binding *b);

/* For the editor: what the key means after e->prefix. *more: it begins bindings of two keys. NULL: nothing. */
const struct sh_command *sh_lookup(const struct sh_editor *e, const struct sh_key *key, bool *more);

#endif
