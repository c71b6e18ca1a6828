/* Completion: names and keywords, fields and methods, strings that name dtypes, devices and files, magics. */
#include "lang/session_state.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lang/lookup.h"
#include "lang/magic.h"
#include "runtime/memory.h"

#define MAX_MATCHES 1000

struct completing {
    struct lg_session *session;
    const char *code; /* up to the cursor */
    size_t length;
    struct lg_tokens tokens;
    size_t start; /* of what is replaced */
    const char *prefix;
    size_t prefix_length;
    struct lg_match *matches;
    size_t count, capacity;
    bool functions_only;
    const char *function_kind; /* what functions are called: "function", after a colon "method" */
};

/* Adds a match when it begins with the prefix. What does not fit into memory is left out. */
static void add(struct completing *c, const char *text, const char *kind, const char *note)
{
    if (strncmp(text, c->prefix, c->prefix_length) != 0 || c->count == MAX_MATCHES) return;
    if (c->count == c->capacity) {
        size_t wanted = c->capacity ? 2 * c->capacity : 32;
        struct lg_match *matches = rt_realloc(c->matches, wanted * sizeof *matches);
        if (!matches) return;
        c->matches = matches;
        c->capacity = wanted;
    }
    struct lg_arena *arena = &c->session->answers;
    const char *kept = lg_arena_text(arena, text, strlen(text));
    const char *said = *note ? lg_arena_text(arena, note, strlen(note)) : "";
    if (kept && said) c->matches[c->count++] = (struct lg_match){kept, kind, said};
}

static void set_prefix(struct completing *c, size_t start)
{
    c->start = start;
    c->prefix = c->code + start;
    c->prefix_length = c->length - start;
}

static bool is_name(const char *s)
{
    size_t n = strlen(s);
    if (!n || (*s >= '0' && *s <= '9')) return false;
    for (size_t i = 0; i < n; i++)
        if (!((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z') && !(s[i] >= '0' && s[i] <= '9') && s[i] != '_') return false;
    return lg_keyword_find(s, n) == LG_NO_KEYWORD;
}

/* A visited field or variable, its value on top of the stack. Names with a leading underscore must be asked for. */
static void visit(lua_State *L, const char *name, void *context)
{
    struct completing *c = context;
    char note[256];
    if (strncmp(name, c->prefix, c->prefix_length) != 0 || !is_name(name)) return;
    if (*name == '_' && (!c->prefix_length || strncmp(name, "__lunarray", 10) == 0)) return;
    if (c->functions_only && !lua_isfunction(L, -1)) return;
    const char *kind = lg_describe(L, -1, note, sizeof note);
    if (strcmp(kind, "nil") == 0) kind = "field";
    if (strcmp(kind, "function") == 0) kind = c->function_kind;
    add(c, name, kind, note);
}

/* Names that the cell itself declares before the cursor: after local and for, and parameters. */
static void add_declared(struct completing *c)
{
    const struct lg_tokens *t = &c->tokens;
    enum { OUTSIDE, NAMES, FUNCTION, PARAMETERS } state = OUTSIDE;
    for (size_t i = 0; t->items && i + 1 < t->count; i++) {
        const struct lg_token *k = &t->items[i];
        if (k->keyword == LG_LOCAL || k->keyword == LG_FOR) {
            state = NAMES;
        } else if (k->keyword == LG_FUNCTION) {
            state = FUNCTION;
        } else if (k->kind == LG_TOKEN_NAME && (state == NAMES || state == PARAMETERS)) {
            char name[128];
            snprintf(name, sizeof name, "%.*s", (int)(k->end - k->start), t->text + k->start);
            add(c, name, "local", "");
        } else if (k->kind == LG_TOKEN_OPERATOR && t->text[k->start] == '(' && state == FUNCTION) {
            state = PARAMETERS;
        } else if (k->kind != LG_TOKEN_OPERATOR || !strchr(",<>", t->text[k->start])) {
            if (state != FUNCTION || k->kind == LG_TOKEN_KEYWORD) state = OUTSIDE;
        }
    }
}

static void complete_name(lua_State *L, struct completing *c)
{
    if (c->prefix_length)
        for (int k = 1; k < LG_KEYWORD_COUNT; k++) add(c, lg_keyword_name((enum lg_keyword)k), "keyword", "");
    add_declared(c);
    lg_push_env(L);
    if (lua_istable(L, -1))
        lg_each_field(L, -1, visit, c);
    else {
        lua_pushglobaltable(L);
        lg_each_field(L, -1, visit, c);
    }
}

static void complete_dtypes_and_devices(struct completing *c)
{
    for (int t = 0; t < RT_DTYPE_COUNT; t++) add(c, rt_dtypes[t].name, "dtype", "");
    add(c, "cpu", "device", "host memory");
    add(c, "simt", "device", "the software GPU");
    add(c, "cuda", "device", "the first GPU");
    add(c, "gpu", "device", "cuda:0 where one works, else simt");
}

/* Methods that work in place, whose names end in an underscore, double the list: they come after all the others. */
static bool comes_last(const struct lg_match *m)
{
    return strcmp(m->kind, "method") == 0 && m->text[strlen(m->text) - 1] == '_';
}

static int compare_matches(const void *a, const void *b)
{
    const struct lg_match *left = a, *right = b;
    int order = comes_last(left) - comes_last(right);
    return order ? order : strcmp(left->text, right->text);
}

/* Files whose path begins with what is written from `start` on; only the last part of it is replaced. */
static void complete_path(struct completing *c, size_t start)
{
    char folder[4096], path[8192];
    const char *typed = c->code + start, *end = c->code + c->length;
    const char *last = end;
    while (last > typed && last[-1] != '/') last--;
    const char *home = getenv("HOME");
    if (last == typed) {
        snprintf(folder, sizeof folder, ".");
    } else if (typed[0] == '~' && typed[1] == '/' && home) {
        snprintf(folder, sizeof folder, "%s%.*s", home, (int)(last - typed - 1), typed + 1);
    } else {
        snprintf(folder, sizeof folder, "%.*s", (int)(last - typed), typed);
    }
    set_prefix(c, (size_t)(last - c->code));
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (*e->d_name == '.' && (!c->prefix_length || *c->prefix != '.')) continue;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
        snprintf(path, sizeof path, "%s%s", e->d_name, is_folder ? "/" : "");
        add(c, path, "path", "");
    }
    closedir(d);
}

/* Pushes the function whose arguments the last token is among. */
static bool push_callee(lua_State *L, const struct lg_tokens *t, size_t end)
{
    size_t open = lg_open_call(t, end);
    if (open == end) return false;
    size_t first = lg_chain_start(t, open);
    return first < open && lg_push_chain(L, t, first, open);
}

/* Inside a string: keys of a table after t[", dtypes and devices among the arguments of this library's functions, files
 * elsewhere. */
static void complete_string(lua_State *L, struct completing *c, const struct lg_token *string)
{
    const struct lg_tokens *t = &c->tokens;
    size_t last = t->count - 1;
    if (string->is_long) return;
    set_prefix(c, string->start + 1);
    if (last > 0 && t->text[t->items[last - 1].start] == '[' && t->items[last - 1].kind == LG_TOKEN_OPERATOR) {
        size_t first = lg_chain_start(t, last - 1);
        if (first < last - 1 && lg_push_chain(L, t, first, last - 1)) {
            if (lua_istable(L, -1)) lg_each_field(L, -1, visit, c);
            return;
        }
    }
    bool ours = false;
    if (push_callee(L, t, last)) {
        const struct lg_function *row = lg_doc_of_value(L, -1);
        ours = row && !lg_is_stdlib(row);
    }
    if (ours) complete_dtypes_and_devices(c);
    if (!ours || !c->count) complete_path(c, string->start + 1);
}

/* After a dot or colon, which is token `access`. */
static void complete_field(lua_State *L, struct completing *c, size_t access)
{
    const struct lg_tokens *t = &c->tokens;
    size_t first = lg_chain_start(t, access);
    if (first == access || !lg_push_chain(L, t, first, access)) return;
    bool colon = t->text[t->items[access].start] == ':';
    if (lua_type(L, -1) == LUA_TSTRING && !colon) return;
    c->functions_only = colon;
    if (colon) c->function_kind = "method";
    lg_each_field(L, -1, visit, c);
}

/* Where the line of the cursor begins, behind its spaces. */
static size_t line_start(const struct completing *c)
{
    size_t i = c->length;
    while (i > 0 && c->code[i - 1] != '\n') i--;
    while (i < c->length && (c->code[i] == ' ' || c->code[i] == '\t')) i++;
    return i;
}

/* Lines of magics: their names, and files after those that take files. True when the line was one. */
static bool complete_magic(struct completing *c)
{
    size_t line = line_start(c), word = line;
    const char *p = c->code;
    while (word < c->length && p[word] == '%') word++;
    size_t signs = word - line, end = word;
    while (end < c->length && p[end] != ' ' && p[end] != '\t') end++;
    bool command = line < c->length && p[line] == '!';
    if (!command && !signs) return false;
    if (!command && end == c->length) {
        set_prefix(c, line);
        for (const struct lg_magic *m = lg_magics; m->name; m++) {
            char text[64];
            snprintf(text, sizeof text, "%%%s", m->name);
            if (m->line && signs == 1) add(c, text, "magic", m->usage);
            snprintf(text, sizeof text, "%%%%%s", m->name);
            if (m->cell && line == 0) add(c, text, "magic", m->usage);
        }
        return true;
    }
    const struct lg_magic *m = lg_magic_find(p + word, end - word);
    if (!command && !(m && m->takes_file)) return false;
    size_t last = c->length;
    while (last > end && p[last - 1] != ' ' && p[last - 1] != '\t') last--;
    complete_path(c, command && last < line + 1 ? line + 1 : last);
    return true;
}

static int complete(lua_State *L)
{
    struct completing *c = lua_touserdata(L, 1);
    const struct lg_tokens *t = &c->tokens;
    c->function_kind = "function";
    set_prefix(c, c->length);
    if (t->failed || t->in_comment) return 0;
    const struct lg_token *last = t->count ? &t->items[t->count - 1] : NULL;
    if (last && last->kind == LG_TOKEN_STRING && last->unfinished && last->end == c->length) {
        complete_string(L, c, last);
        return 0;
    }
    if (complete_magic(c)) return 0;
    bool word = last && last->end == c->length && (last->kind == LG_TOKEN_NAME || last->kind == LG_TOKEN_KEYWORD);
    size_t before = t->count - word; /* tokens in front of the word */
    if (word) set_prefix(c, last->start);
    if (last && last->end == c->length && (last->kind == LG_TOKEN_NUMBER || last->kind == LG_TOKEN_ERROR) &&
        last->end - last->start > 1)
        return 0;
    const struct lg_token *previous = before ? &t->items[before - 1] : NULL;
    if (previous && previous->kind == LG_TOKEN_OPERATOR && previous->end - previous->start == 1 &&
        strchr(".:", t->text[previous->start])) {
        complete_field(L, c, before - 1);
    } else if (previous && previous->keyword == LG_LOCAL) {
        add(c, "function", "keyword", "");
    } else {
        complete_name(L, c);
    }
    return 0;
}

void lg_session_complete(struct lg_session *s, const char *code, size_t length, size_t cursor,
                         struct lg_completion *out)
{
    if (cursor > length) cursor = length;
    lg_arena_reset(&s->answers);
    struct completing c = {.session = s, .code = code, .length = cursor, .start = cursor};
    lg_tokens_fill(&c.tokens, code, cursor);
    lg_protect(s, complete, &c);
    if (c.count) qsort(c.matches, c.count, sizeof *c.matches, compare_matches);
    size_t n = 0;
    for (size_t i = 0; i < c.count; i++)
        if (!n || strcmp(c.matches[n - 1].text, c.matches[i].text) != 0) c.matches[n++] = c.matches[i];
    struct lg_match *kept = n ? lg_arena_get(&s->answers, n * sizeof *kept) : NULL;
    if (kept) memcpy(kept, c.matches, n * sizeof *kept);
    *out = (struct lg_completion){c.start, cursor, kept, kept ? n : 0};
    free(c.matches);
    free(c.tokens.items);
}
