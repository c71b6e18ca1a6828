#include "repl/keymap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/vi.h"

/* A key's name: one key, or two in a row. */
struct stroke {
    struct sh_key keys[2];
    int count;
};
struct sh_binding {
    struct stroke stroke;
    const struct sh_command *command; /* NULL: the key does nothing */
    char name[24];                    /* of the key, as it was given */
    bool vi;                          /* in vi's normal and visual mode */
    char vi_keys[24];                 /* that it stands for there, or "" */
};

static const struct {
    const char *name;
    enum sh_key_kind kind;
    int32_t c;
} key_names[] = {
    {"Enter", SH_KEY_ENTER, 0},   {"Tab", SH_KEY_TAB, 0},        {"Backspace", SH_KEY_BACKSPACE, 0},
    {"Delete", SH_KEY_DELETE, 0}, {"Up", SH_KEY_UP, 0},          {"Down", SH_KEY_DOWN, 0},
    {"Left", SH_KEY_LEFT, 0},     {"Right", SH_KEY_RIGHT, 0},    {"Home", SH_KEY_HOME, 0},
    {"End", SH_KEY_END, 0},       {"PageUp", SH_KEY_PAGE_UP, 0}, {"PageDown", SH_KEY_PAGE_DOWN, 0},
    {"Escape", SH_KEY_ESCAPE, 0}, {"Space", SH_KEY_TEXT, ' '},
};

/* One key from its name of `length` bytes. */
static bool parse_key(const char *name, size_t length, struct sh_key *key)
{
    *key = (struct sh_key){0};
    while (length > 2 && name[1] == '-') {
        switch (*name) {
        case 'C': key->ctrl = true; break;
        case 'M':
        case 'A': key->alt = true; break;
        case 'S': key->shift = true; break;
        default: return false;
        }
        name += 2;
        length -= 2;
    }
    for (size_t i = 0; i < sizeof key_names / sizeof *key_names; i++) {
        if (strlen(key_names[i].name) != length || memcmp(key_names[i].name, name, length) != 0) continue;
        key->kind = key_names[i].kind;
        key->c = key_names[i].c;
    }
    if (key->kind == SH_KEY_NONE) {
        size_t size;
        if (length == 0) return false;
        key->c = sh_code_point(name, length, 0, &size);
        if (size != length || key->c <= 32) return false;
        key->kind = SH_KEY_TEXT;
    }
    if (key->kind == SH_KEY_TEXT && key->ctrl) {
        if (key->c >= 'A' && key->c <= 'Z') key->c |= 32;
        if (key->c == ' ') key->c = '@'; /* what terminals send */
        if (key->c == '/') key->c = '_';
    }
    return true;
}

static bool parse_stroke(const char *name, size_t length, struct stroke *s)
{
    s->count = 0;
    for (size_t at = 0; at < length; s->count++) {
        const char *blank = memchr(name + at, ' ', length - at);
        size_t end = blank ? (size_t)(blank - name) : length;
        if (s->count == 2 || !parse_key(name + at, end - at, &s->keys[s->count])) return false;
        at = end + (blank != NULL);
    }
    return s->count > 0;
}

static bool same_key(const struct sh_key *a, const struct sh_key *b)
{
    if (a->kind != b->kind || a->ctrl != b->ctrl || a->alt != b->alt) return false;
    return a->kind == SH_KEY_TEXT ? a->c == b->c : a->shift == b->shift;
}

/* How a stroke meets the keys pressed: prefix, if any, and key. */
enum meeting { NOT_AT_ALL, BEGINS, WHOLE };
static enum meeting meets(const struct stroke *s, const struct sh_key *prefix, const struct sh_key *key)
{
    bool behind = prefix->kind != SH_KEY_NONE;
    if (s->count < 1 + behind || !same_key(&s->keys[0], behind ? prefix : key)) return NOT_AT_ALL;
    if (!behind) return s->count == 1 ? WHOLE : BEGINS;
    return same_key(&s->keys[1], key) ? WHOLE : NOT_AT_ALL;
}

/* The next name in a list with ", " between; false at its end. */
static bool next_name(const char **list, const char **name, size_t *length)
{
    if (!**list) return false;
    const char *end = strstr(*list, ", ");
    *name = *list;
    *length = end ? (size_t)(end - *list) : strlen(*list);
    *list += *length + (end ? 2 : 0);
    return true;
}

static const struct sh_binding *user_binding(const struct sh_keymap *m, const struct sh_key *prefix,
                                             const struct sh_key *key, bool *more)
{
    for (size_t i = m ? m->count : 0; i-- > 0;) {
        if (m->bindings[i].vi) continue;
        enum meeting how = meets(&m->bindings[i].stroke, prefix, key);
        if (how == WHOLE) return &m->bindings[i];
        if (how == BEGINS && m->bindings[i].command) *more = true;
    }
    return NULL;
}

static const struct sh_command *lookup(const struct sh_editor *e, const struct sh_key *key, bool *more)
{
    const struct sh_binding *own = user_binding(e->keymap, &e->prefix, key, more);
    if (own) return own->command;
    const struct sh_command *c, *found = NULL;
    for (size_t i = 0; (c = sh_command_at(i)); i++) {
        const char *list = c->keys, *name;
        for (size_t length; next_name(&list, &name, &length);) {
            struct stroke s;
            if (!parse_stroke(name, length, &s)) continue;
            enum meeting m = meets(&s, &e->prefix, key);
            if (m == WHOLE) found = c;
            if (m == BEGINS) *more = true;
        }
    }
    return found;
}

const struct sh_command *sh_lookup(const struct sh_editor *e, const struct sh_key *key, bool *more)
{
    *more = false;
    const struct sh_command *c = lookup(e, key, more);
    if (c || *more || key->kind == SH_KEY_TEXT || e->prefix.kind != SH_KEY_NONE) return c;
    if (user_binding(e->keymap, &e->prefix, key, more)) return NULL; /* bound to nothing */
    /* Shift-Up means Up where nothing else is said. */
    struct sh_key plain = {.kind = key->kind};
    return lookup(e, &plain, more);
}

const struct sh_binding *sh_vi_lookup(const struct sh_keymap *m, const struct sh_key *key)
{
    for (size_t i = m ? m->count : 0; i-- > 0;)
        if (m->bindings[i].vi && same_key(&m->bindings[i].stroke.keys[0], key)) return &m->bindings[i];
    return NULL;
}

const char *sh_binding_keys(const struct sh_binding *b)
{
    return *b->vi_keys ? b->vi_keys : NULL;
}

const struct sh_command *sh_binding_command(const struct sh_binding *b)
{
    return b->command;
}

const struct sh_command *sh_command_find(const char *name)
{
    const struct sh_command *c;
    for (size_t i = 0; (c = sh_command_at(i)); i++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

/* "vi H": what stands behind "vi ", or NULL. */
static const char *behind_vi(const char *name)
{
    return name && strncmp(name, "vi ", 3) == 0 ? name + 3 : NULL;
}

/* Keys that vi could be given: ASCII, without control characters. */
static bool take_vi_keys(struct sh_binding *b, const char *keys)
{
    size_t n = strlen(keys);
    if (n == 0 || n >= sizeof b->vi_keys) return false;
    for (size_t i = 0; i < n; i++)
        if (keys[i] < ' ' || keys[i] > '~') return false;
    memcpy(b->vi_keys, keys, n + 1);
    return true;
}

enum sh_bind_status sh_bind(struct sh_keymap *m, const char *key, const char *command)
{
    struct sh_binding b = {.command = command ? sh_command_find(command) : NULL};
    const char *in_vi = behind_vi(key), *keys = in_vi ? behind_vi(command) : NULL, *name = in_vi ? in_vi : key;
    bool good = strlen(key) < sizeof b.name && parse_stroke(name, strlen(name), &b.stroke);
    const struct sh_key *first = &b.stroke.keys[0];
    b.vi = in_vi != NULL;
    if (!good || (b.vi ? b.stroke.count > 1 : first->kind == SH_KEY_TEXT && !first->ctrl && !first->alt))
        return SH_NO_KEY;
    if (command && !b.command && !(keys && take_vi_keys(&b, keys))) return SH_NO_COMMAND;
    snprintf(b.name, sizeof b.name, "%s", key);
    struct sh_binding *more = realloc(m->bindings, (m->count + 1) * sizeof *more);
    if (!more) return SH_NO_MEMORY;
    m->bindings = more;
    m->bindings[m->count++] = b;
    return SH_BOUND;
}

/* Whether this key runs the command, as things stand. */
static bool runs(const struct sh_keymap *m, const struct stroke *s, const struct sh_command *c)
{
    static const struct sh_key none = {0};
    bool more = false;
    const struct sh_binding *own =
        user_binding(m, s->count == 2 ? &s->keys[0] : &none, &s->keys[s->count == 2 ? 1 : 0], &more);
    return !own || own->command == c;
}

static void add_name(char *out, size_t size, const char *name, size_t length)
{
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%.*s", used ? ", " : "", (int)length, name);
}

bool sh_keys_of(const struct sh_keymap *m, const struct sh_command *c, char *out, size_t size)
{
    const char *list = c->keys, *name;
    struct stroke s;
    *out = '\0';
    for (size_t length; next_name(&list, &name, &length);)
        if (parse_stroke(name, length, &s) && runs(m, &s, c)) add_name(out, size, name, length);
    for (size_t i = 0; i < (m ? m->count : 0); i++) {
        const struct sh_binding *b = &m->bindings[i];
        bool now = b->vi ? sh_vi_lookup(m, &b->stroke.keys[0]) == b : runs(m, &b->stroke, c);
        if (b->command == c && now) add_name(out, size, b->name, strlen(b->name));
    }
    return *out != '\0';
}

void sh_keys_text(const struct sh_keymap *m, struct sh_text *out)
{
    const struct sh_command *c;
    char keys[128], line[400];
    for (size_t i = 0; (c = sh_command_at(i)); i++) {
        sh_keys_of(m, c, keys, sizeof keys);
        int n = snprintf(line, sizeof line, "%-22s %-24s %s\n", c->name, keys, c->doc);
        sh_text_append(out, line, (size_t)n);
    }
    static const char times[] =
        "                       M-1 ... M-9, M--         how often the next key does what it does: M-1 2 M-f; M--: its opposite\n";
    sh_text_append(out, times, sizeof times - 1);
    sh_vi_keys_text(out);
}

void sh_keymap_free(struct sh_keymap *m)
{
    free(m->bindings);
    *m = (struct sh_keymap){0};
}
