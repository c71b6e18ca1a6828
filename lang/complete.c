/* Completion: names and keywords, fields and methods, magics. What is inside strings is in complete_string.c. */
#include "lang/completing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/index.h"
#include "lang/load.h"
#include "lang/magic.h"
#include "runtime/memory.h"

#define MAX_MATCHES 1000

/* Whether there is no room for others. */
static bool is_full(const struct lg_completing *c)
{
    return c->count == MAX_MATCHES;
}

static void leave_out(struct lg_completing *c, const char *text)
{
    const char *first = c->matches[0].text;
    size_t n = 0, most = c->more ? c->common : strlen(first);
    while (n < most && text[n] == first[n]) n++;
    c->common = n;
    c->more = true;
}

void lg_add_match(struct lg_completing *c, const char *text, const char *kind, const char *note)
{
    if (strncmp(text, c->prefix, c->prefix_length) != 0) return;
    if (is_full(c)) {
        leave_out(c, text);
        return;
    }
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

void lg_set_prefix(struct lg_completing *c, size_t start)
{
    c->start = start;
    c->prefix = c->code + start;
    c->prefix_length = c->length - start;
}

/* Whether the key can stand as it is in a string between either quotes. */
static bool is_plain(const char *s)
{
    for (const char *p = s; *p; p++)
        if ((unsigned char)*p < ' ' || strchr("\"'\\\x7f", *p)) return false;
    return *s != '\0';
}

static bool is_name(const char *s)
{
    size_t n = strlen(s);
    if (!n || (*s >= '0' && *s <= '9')) return false;
    for (size_t i = 0; i < n; i++)
        if (!((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z') && !(s[i] >= '0' && s[i] <= '9') && s[i] != '_') return false;
    return lg_keyword_find(s, n) == LG_NO_KEYWORD;
}

void lg_visit_match(lua_State *L, const char *name, void *context)
{
    struct lg_completing *c = context;
    char note[256];
    if (strncmp(name, c->prefix, c->prefix_length) != 0) return;
    if (is_full(c)) {
        leave_out(c, name);
        return;
    }
    if (c->any_key ? !is_plain(name) : !is_name(name)) return;
    if (*name == '_' && (!c->prefix_length || strncmp(name, "__lunarray", 10) == 0)) return;
    if (c->functions_only && !lua_isfunction(L, -1)) return;
    const char *kind = lg_describe(L, -1, note, sizeof note);
    if (strcmp(kind, "nil") == 0) kind = "field";
    if (strcmp(kind, "function") == 0) kind = c->function_kind;
    lg_add_match(c, name, kind, note);
}

/* The others are not looked at any closer. */
static bool has_room(const char *name, void *context)
{
    struct lg_completing *c = context;
    if (!is_full(c)) return true;
    leave_out(c, name);
    return false;
}

void lg_complete_fields(lua_State *L, int idx, lg_visitor *visit, struct lg_completing *c)
{
    lg_each_field(L, idx, &(struct lg_wanted){c->prefix, c->prefix_length, has_room}, visit, c);
}

/* Names that the cell itself declares before the cursor: after local and for, and parameters. */
static void add_declared(struct lg_completing *c)
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
            lg_add_match(c, name, "local", "");
        } else if (k->kind == LG_TOKEN_OPERATOR && t->text[k->start] == '(' && state == FUNCTION) {
            state = PARAMETERS;
        } else if (k->kind != LG_TOKEN_OPERATOR || !strchr(",<>", t->text[k->start])) {
            if (state != FUNCTION || k->kind == LG_TOKEN_KEYWORD) state = OUTSIDE;
        }
    }
}

/* A variable or a global: what the session brings along is documented by name. */
static void visit_variable(lua_State *L, const char *name, void *context)
{
    struct lg_completing *c = context;
    const struct lg_function *row = NULL;
    bool plain = lua_type(L, -1) == LUA_TNUMBER || lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TBOOLEAN;
    if (!plain && strncmp(name, c->prefix, c->prefix_length) == 0 && !is_full(c)) {
        row = lg_doc_by_name(L, lua_pushfstring(L, "session.%s", name));
        lua_pop(L, 1);
    }
    if (row)
        lg_add_match(c, name, "function", row->signature);
    else
        lg_visit_match(L, name, context);
}

static void complete_name(lua_State *L, struct lg_completing *c)
{
    if (c->prefix_length)
        for (int k = 1; k < LG_KEYWORD_COUNT; k++) lg_add_match(c, lg_keyword_name((enum lg_keyword)k), "keyword", "");
    add_declared(c);
    lg_push_env(L);
    if (lua_istable(L, -1))
        lg_complete_fields(L, -1, visit_variable, c);
    else {
        lua_pushglobaltable(L);
        lg_complete_fields(L, -1, visit_variable, c);
    }
}

/* Methods that work in place, whose names end in an underscore, double the list: they come after all the others. */
static bool comes_last(const struct lg_match *m)
{
    return *m->kind == 'm' && strcmp(m->kind, "method") == 0 && m->text[strlen(m->text) - 1] == '_';
}

static int compare_matches(const void *a, const void *b)
{
    const struct lg_match *left = a, *right = b;
    int order = comes_last(left) - comes_last(right);
    return order ? order : strcmp(left->text, right->text);
}

/* Whether the call that ends before token `end` makes an array, whatever its arguments are. */
static bool makes_array(lua_State *L, const struct lg_tokens *t, size_t end)
{
    static const struct lg_function *const makers[] = {lg_create_functions, lg_spaced_functions, lg_join_functions,
                                                       lg_rearrange_functions, lg_shape_methods};
    if (!end || t->text[t->items[end - 1].start] != ')') return false;
    const struct lg_function *called = lg_callee(L, t, end - 1);
    static const char *const others[] = {"is_contiguous", "item", "totable", "tobytes"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!called || strcmp(called->name, others[i]) == 0) return false;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        for (const struct lg_function *f = makers[i]; f->name; f++)
            if (f == called) return true;
    return false;
}

/* Where the calls end that begin at the token: behind gpu.ones(3):reshape(3, 1). */
static size_t behind_calls(const struct lg_tokens *t, size_t i, size_t limit)
{
    for (int depth = 0; i < limit; i++) {
        depth += lg_is_sign(t, i, "([{") - lg_is_sign(t, i, ")]}");
        bool goes_on = i + 1 < limit && lg_is_sign(t, i + 1, ".:([");
        if (depth == 0 && lg_is_sign(t, i, ")]}") && !goes_on) return i + 1;
        if (depth < 0 || (depth == 0 && t->items[i].kind != LG_TOKEN_NAME && !lg_is_sign(t, i, ".:)]}"))) return 0;
    }
    return 0;
}

/* Whether the code, which has not run, sets the variable that is token `name` to a new array. */
static bool names_new_array(lua_State *L, const struct lg_tokens *t, size_t name)
{
    const struct lg_token *wanted = &t->items[name];
    size_t length = wanted->end - wanted->start;
    for (size_t i = name; i-- > 1;) {
        const struct lg_token *k = &t->items[i - 1];
        bool same = k->end - k->start == length && memcmp(t->text + k->start, t->text + wanted->start, length) == 0;
        if (!same || !lg_is_sign(t, i, "=") || (i > 1 && lg_is_sign(t, i - 2, ".:"))) continue;
        return makes_array(L, t, behind_calls(t, i + 1, name));
    }
    return false;
}

/* After a dot or colon, which is token `access`. */
static void complete_field(lua_State *L, struct lg_completing *c, size_t access)
{
    const struct lg_tokens *t = &c->tokens;
    size_t first = lg_chain_start(t, access);
    bool colon = t->text[t->items[access].start] == ':';
    if (colon && makes_array(L, t, access)) {
        c->function_kind = "method";
        lg_each_array_method(L, lg_visit_match, c);
        return;
    }
    bool known = first < access && lg_push_chain(L, t, first, access);
    if (!known && colon && first + 1 == access && names_new_array(L, t, first)) {
        c->function_kind = "method";
        lg_each_array_method(L, lg_visit_match, c);
    }
    if (!known) return;
    if (lua_type(L, -1) == LUA_TSTRING && !colon) return;
    c->functions_only = colon;
    if (colon) c->function_kind = "method";
    lg_complete_fields(L, -1, lg_visit_match, c);
}

/* Where the line of the cursor begins, behind its spaces. */
static size_t line_start(const struct lg_completing *c)
{
    size_t i = c->length;
    while (i > 0 && c->code[i - 1] != '\n') i--;
    while (i < c->length && (c->code[i] == ' ' || c->code[i] == '\t')) i++;
    return i;
}

/* Below the first line of a cell of another language: CUDA C has its words. True when the cell is one. */
static bool complete_foreign(struct lg_completing *c)
{
    const size_t blanks = lg_blanks_before_magic(c->code, c->length);
    const char *sign = c->code + blanks, *line_end = memchr(sign, '\n', c->length - blanks);
    if (!line_end || c->length - blanks < 2 || memcmp(sign, "%%", 2) != 0) return false;
    const char *name = sign + 2;
    const struct lg_magic *m = lg_magic_find(name, strcspn(name, " \t\r\n"));
    if (!m || m->argument == LG_TAKES_CODE) return false;
    if (strcmp(m->name, "cuda") == 0) lg_complete_cuda(c, (size_t)(line_end + 1 - c->code));
    return true;
}

/* Lines of magics: their names, and what those take that do not take Lua. True when the line was one. */
static bool complete_magic(struct lg_completing *c)
{
    size_t line = line_start(c), word = line;
    const char *p = c->code;
    while (word < c->length && p[word] == '%') word++;
    size_t signs = word - line, end = word;
    while (end < c->length && p[end] != ' ' && p[end] != '\t') end++;
    bool command = line < c->length && p[line] == '!';
    if (!command && !signs) return false;
    if (!command && end == c->length) {
        lg_set_prefix(c, line);
        for (const struct lg_magic *m = lg_magics; m->name; m++) {
            char text[64];
            snprintf(text, sizeof text, "%%%s", m->name);
            if (m->line && signs == 1) lg_add_match(c, text, "magic", m->usage);
            snprintf(text, sizeof text, "%%%%%s", m->name);
            if (m->cell && line == 0) lg_add_match(c, text, "magic", m->usage);
        }
        return true;
    }
    const struct lg_magic *m = lg_magic_find(p + word, end - word);
    if (!command && (!m || m->argument == LG_TAKES_CODE)) return false;
    size_t last = c->length;
    c->folders_only = !command && m->argument == LG_TAKES_FOLDER;
    /* In which a backslash stands before a space. */
    bool words = command || c->folders_only || strcmp(m->name, "run") == 0;
    while (last > end && (!strchr(" \t", p[last - 1]) || (words && last > 1 && p[last - 2] == '\\'))) last--;
    lg_set_prefix(c, last);
    if (command || c->folders_only || m->argument == LG_TAKES_FILE)
        lg_complete_path(c, command && last < line + 1 ? line + 1 : last, words);
    if (!command && m->argument == LG_TAKES_DEVICE) lg_complete_devices(c);
    if (!command && m->argument == LG_TAKES_ENVIRONMENT) lg_complete_environment(c);
    return true;
}

static int complete(lua_State *L)
{
    struct lg_completing *c = lua_touserdata(L, 1);
    const struct lg_tokens *t = &c->tokens;
    c->function_kind = "function";
    lg_set_prefix(c, c->length);
    if (complete_foreign(c)) return 0;
    if (t->failed || t->in_comment) return 0;
    const struct lg_token *last = t->count ? &t->items[t->count - 1] : NULL;
    if (last && last->kind == LG_TOKEN_STRING && last->unfinished && last->end == c->length) {
        lg_complete_string(L, c, last);
        return 0;
    }
    if (complete_magic(c)) return 0;
    bool word = last && last->end == c->length && (last->kind == LG_TOKEN_NAME || last->kind == LG_TOKEN_KEYWORD);
    size_t before = t->count - word; /* tokens in front of the word */
    if (word) lg_set_prefix(c, last->start);
    if (last && last->end == c->length && (last->kind == LG_TOKEN_NUMBER || last->kind == LG_TOKEN_ERROR) &&
        last->end - last->start > 1)
        return 0;
    const struct lg_token *previous = before ? &t->items[before - 1] : NULL;
    if (previous && previous->kind == LG_TOKEN_OPERATOR && previous->end - previous->start == 1 &&
        strchr(".:", t->text[previous->start])) {
        complete_field(L, c, before - 1);
    } else if (before && lg_complete_options(L, c, before) && !c->prefix_length) {
        return 0; /* names would hide them */
    } else if (previous && before > 2 && t->text[previous->start] == '<' &&
               t->items[before - 2].kind == LG_TOKEN_NAME && t->items[before - 3].keyword == LG_LOCAL) {
        lg_add_match(c, "close", "keyword", "closed at the end of its block");
        lg_add_match(c, "const", "keyword", "cannot be assigned to");
    } else if (previous && previous->keyword == LG_LOCAL) {
        lg_add_match(c, "function", "keyword", "");
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
    struct lg_completing c = {.session = s, .code = code, .length = cursor, .start = cursor};
    lg_tokens_fill(&c.tokens, code, cursor);
    lg_protect(s, complete, &c);
    if (c.count) qsort(c.matches, c.count, sizeof *c.matches, compare_matches);
    size_t n = 0;
    for (size_t i = 0; i < c.count; i++)
        if (!n || strcmp(c.matches[n - 1].text, c.matches[i].text) != 0) c.matches[n++] = c.matches[i];
    struct lg_match *kept = n ? lg_arena_get(&s->answers, n * sizeof *kept) : NULL;
    if (kept) memcpy(kept, c.matches, n * sizeof *kept);
    *out = (struct lg_completion){c.start, cursor, kept, kept ? n : 0, c.more, c.common};
    free(c.matches);
    free(c.tokens.items);
}
