/* gpu.help and gpu.docs: what is known of a name, lists of names, and where a word occurs. */
#define _GNU_SOURCE /* strcasestr */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/display.h"
#include "lang/foreign.h"
#include "lang/lang.h"
#include "runtime/spelling.h"

#define HELP_COLUMNS   80
#define SUMMARY_COLUMN 25 /* where a list of names says what they are */
#define FOUND_LINES    40 /* of a list of names with a word in them; of a module's all */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names that documentation has, in order. */
struct names {
    const char **list;
    size_t count;
};

/* Pushes two values: a table that keeps the names alive and a block with them in order. */
static struct names push_sorted_names(lua_State *L)
{
    lg_push_doc_names(L);
    struct names names = {.count = (size_t)lua_rawlen(L, -1)};
    names.list = lua_newuserdatauv(L, (names.count + 1) * sizeof *names.list, 0);
    for (size_t i = 0; i < names.count; i++) {
        lua_rawgeti(L, -2, (lua_Integer)i + 1);
        names.list[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    qsort(names.list, names.count, sizeof *names.list, compare_names);
    return names;
}

/* Adds a text with its lines broken at blanks to fit a terminal; it begins in a column, and goes on in the one at
 * `indent`, items of a list ("- ...") behind their mark. */
static void add_wrapped(luaL_Buffer *b, const char *text, size_t length, size_t column, size_t indent)
{
    bool first = true; /* on its line */
    size_t margin = indent;
    for (const char *end = text + length; text < end;) {
        if (first) margin = indent + (end - text > 2 && strncmp(text, "- ", 2) == 0 ? 2 : 0);
        size_t word = strcspn(text, " \n");
        if (word > (size_t)(end - text)) word = (size_t)(end - text);
        if (!first && column + 1 + word > HELP_COLUMNS) {
            luaL_addchar(b, '\n');
            for (column = 0; column < margin; column++) luaL_addchar(b, ' ');
        } else if (!first) {
            luaL_addchar(b, ' ');
            column++;
        }
        luaL_addlstring(b, text, word);
        column += word;
        text += word;
        first = text < end && *text == '\n';
        if (first) {
            luaL_addchar(b, '\n');
            column = 0;
        }
        if (text < end) text++;
    }
}

/* A name and the first line of what is known of it. */
static void add_summary(luaL_Buffer *b, const char *name, const struct lg_function *row)
{
    char head[64];
    snprintf(head, sizeof head, "%-*s ", SUMMARY_COLUMN - 1, name);
    luaL_addstring(b, head);
    add_wrapped(b, row->doc, strcspn(row->doc, "\n"), strlen(head), SUMMARY_COLUMN);
    luaL_addchar(b, '\n');
}

/* What the names with a prefix are, in the order of the overview; a library without a session has none of the last. */
static const struct {
    const char *prefix, *title;
} parts[] = {
    {"topic.", "topics, as ?indexing"},
    {"gpu.", "functions, as gpu.zeros(3, 4)"},
    {"array.", "methods and fields of arrays beside those functions, most of which are methods, too: x:sum(), x.shape; "
               "x:add_(y) is x:add(y) written into x, and so with others"},
    {"gpu.linalg.", "matrices, as gpu.linalg.inv(A)"},
    {"gpu.random.", "random numbers, as gpu.random.normal(0, 1, 3)"},
    {"gpu.fft.", "Fourier transforms, as gpu.fft.rfft(x)"},
    {"gpu.ndimage.", "images, as gpu.ndimage.gaussian_filter(x, 2)"},
    {"gpu.sparse.", "making sparse matrices, as gpu.sparse.csr(...)"},
    {"sparse.", "methods and fields of sparse matrices"},
    {"kernel.", "methods and fields of kernels, as k:forall(n)(x) and k.ptx"},
    {"stream.", "of streams"},
    {"event.", "of events"},
    {"graph.", "of graphs"},
    {"texture.", "of textures and surfaces"},
    {"displayed.", "of what display() gives"},
    {"gpu.nvtx.", "ranges for NVIDIA's profilers"},
    {"session.", "in shells and notebooks"},
    {"session.io.", "of io there"},
    {"session.shell.", "settings, as shell.vi = true"},
    {"display.", "what a cell shows, as display.html(text)"},
    {"comm.", "messages of widgets, as comm.open(name)"},
    {"comm.comm.", "of what comm.open gives"},
};

/* Whether the name is the prefix and one word, and no other method written in place, nor one that is a function, too.
 */
static bool is_part(lua_State *L, const char *name, const char *prefix)
{
    char function[80];
    size_t n = strlen(prefix), length = strlen(name);
    if (strncmp(name, prefix, n) != 0 || strchr(name + n, '.') || name[length - 1] == '_') return false;
    snprintf(function, sizeof function, "gpu.%s", name + n);
    return strcmp(prefix, "array.") != 0 || !lg_doc_by_name(L, function);
}

/* Which names there are, by what they belong to. */
static void push_overview(lua_State *L)
{
    luaL_Buffer b;
    const struct names names = push_sorted_names(L);
    luaL_buffinit(L, &b);
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
        size_t column = 0, title = strlen(parts[part].title), whole = title + 1;
        for (size_t i = 0; i < names.count; i++)
            if (is_part(L, names.list[i], parts[part].prefix))
                whole += 1 + strlen(names.list[i]) - strlen(parts[part].prefix);
        if (whole == title + 1) continue;
        add_wrapped(&b, parts[part].title, title, 0, 0);
        if (whole <= HELP_COLUMNS) { /* few names stand beside their title */
            luaL_addchar(&b, ':');
            column = title + 1;
        }
        for (size_t i = 0; i < names.count; i++) {
            if (!is_part(L, names.list[i], parts[part].prefix)) continue;
            const char *name = names.list[i] + strlen(parts[part].prefix);
            bool breaks = column == 0 || column + 1 + strlen(name) > HELP_COLUMNS;
            luaL_addstring(&b, breaks ? "\n  " : " ");
            luaL_addstring(&b, name);
            column = (breaks ? 2 : column + 1) + strlen(name);
        }
        luaL_addstring(&b, "\n\n");
    }
    static const char end[] =
        "gpu.help \"linspace\" tells more about one of them, gpu.help \"fft\" in a line what each of a module does; any other word "
        "is searched for.";
    add_wrapped(&b, end, sizeof end - 1, 0, 0);
    luaL_pushresult(&b);
}

static void push_help(lua_State *L, const struct lg_function *row)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, row->signature);
    luaL_addstring(&b, "\n\n");
    add_wrapped(&b, row->doc, strlen(row->doc), 0, 0);
    if (row->example) {
        luaL_addstring(&b, "\n\nExample:\n    ");
        luaL_addgsub(&b, row->example, "\n", "\n    ");
    }
    luaL_pushresult(&b);
}

static const struct lg_function *check_topic(lua_State *L, int idx)
{
    const struct lg_function *row = lg_doc_of_value(L, idx);
    return row || lua_type(L, idx) != LUA_TSTRING ? row : lg_doc_by_word(L, lua_tostring(L, idx));
}

/* ---- words that are no name ---- */

/* Whether the text has the word, or, with `begins`, one that begins so: "rms" is in "terms". */
static bool has_word(const char *text, const char *word, bool begins)
{
    const char *at = text;
    while ((at = strcasestr(at, word)) && begins && at > text && isalnum((unsigned char)at[-1])) at++;
    return at != NULL;
}

/* Whether all of the words are in the text; they are parted by blanks. */
static bool has_words(const char *text, const char *words, bool begin)
{
    while (*words) {
        char word[64];
        size_t n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (!has_word(text, word, begin)) return false;
        words += n + strspn(words + n, " ");
    }
    return true;
}

/* How a documented name goes with the words, the best first; NOWHERE: not at all. */
enum rank { OF_MODULE = 1, IN_NAME, BEGIN_WORDS, INSIDE_WORDS, NOWHERE };

static enum rank goes_with(const char *name, const struct lg_function *row, const char *words)
{
    size_t length = strlen(words);
    bool prose = length > 2 && !strchr(words, '.');
    const char *inside = strncmp(name, "gpu.", 4) == 0 ? name + 4 : name;
    if (strncmp(words, "gpu.", 4) == 0) words += 4, length -= 4;
    if (strncmp(inside, words, length) == 0 && inside[length] == '.') return OF_MODULE;
    if (length == 1) return NOWHERE; /* a variable's name that has no value: most names have the letter */
    if (has_words(name, words, false)) return IN_NAME;
    if (!prose || !row->doc || !has_words(row->doc, words, false)) return NOWHERE;
    return has_words(row->doc, words, true) ? BEGIN_WORDS : INSIDE_WORDS;
}

/* Of what a topic lists, the lines that have the words. */
static void add_items(luaL_Buffer *b, const struct lg_function *row, const char *words)
{
    for (const char *item = row->doc; (item = strstr(item, "\n- "));) {
        char line[512];
        size_t length = strcspn(++item, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, item);
        if (!has_words(line, words, false)) continue;
        luaL_addstring(b, "  ");
        add_wrapped(b, line, strlen(line), 2, 2);
        luaL_addchar(b, '\n');
    }
}

/* How the name that goes best with the word does. */
static enum rank best_rank(lua_State *L, const struct names *names, const char *word)
{
    enum rank best = NOWHERE;
    for (size_t i = 0; i < names->count && *word; i++) {
        const enum rank rank = goes_with(names->list[i], lg_doc_by_name(L, names->list[i]), word);
        if (rank < best) best = rank;
    }
    return best;
}

static bool is_module(lua_State *L, const char *word)
{
    int top = lua_gettop(L);
    const struct names names = push_sorted_names(L);
    bool found = best_rank(L, &names, word) == OF_MODULE;
    lua_settop(L, top);
    return found;
}

/* Pushes the word without what may follow it in a name: "gpu.fft" of "gpu.fft."; "" for gpu, which has everything. */
static const char *push_trimmed(lua_State *L, const char *word)
{
    size_t length = strlen(word);
    while (length > 0 && word[length - 1] == '.') length--;
    return lua_pushlstring(L, word, length == 3 && strncmp(word, "gpu", 3) == 0 ? 0 : length);
}

/* Adds the names of this rank to `listed` of them, as long as there is room; returns how many there are by then. */
static int add_found(lua_State *L, luaL_Buffer *b, const struct names *names, const char *word, enum rank rank,
                     int listed)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct lg_function *row = lg_doc_by_name(L, names->list[i]);
        if (goes_with(names->list[i], row, word) != rank) continue;
        if (rank == OF_MODULE || listed < FOUND_LINES) add_summary(b, names->list[i], row);
        if (rank >= BEGIN_WORDS && listed < FOUND_LINES) add_items(b, row, word);
        listed++;
    }
    return listed;
}

/* The summary of the function that a text begins with: gpu.range(0, n - 1), x:to. */
static bool add_written(lua_State *L, luaL_Buffer *b, const char *text)
{
    char name[80];
    bool method = strncmp(text, "x:", 2) == 0 || strncmp(text, "x.", 2) == 0;
    if (method) text += 2;
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.:");
    snprintf(name, sizeof name, "%s%.*s", method ? "array." : "", (int)n, text);
    char *colon = strchr(name, ':'); /* event:elapsed */
    if (colon) *colon = '.';
    const struct lg_function *row = lg_doc_by_name(L, name);
    if (row) add_summary(b, name, row);
    return row != NULL;
}

/* Adds what is known of a word of another library, and what has that name in a module here; whether summaries are in
 * it. */
static bool add_foreign(lua_State *L, luaL_Buffer *b, const struct names *names, const char *word, const char *line)
{
    const char *written = strstr(line, " is written ");
    bool listed = false;
    luaL_addstring(b, line);
    luaL_addchar(b, '\n');
    if (written) listed = add_written(L, b, written + strlen(" is written "));
    for (size_t i = 0; i < names->count; i++) {
        const char *dot = strrchr(names->list[i], '.');
        if (!dot || strcmp(dot + 1, word) != 0) continue;
        add_summary(b, names->list[i], lg_doc_by_name(L, names->list[i]));
        listed = true;
    }
    return listed;
}

/* Adds the names that go best with the words, some of what was asked for. */
static void add_best(lua_State *L, luaL_Buffer *b, const struct names *names, const char *asked, const char *words,
                     enum rank best)
{
    int listed = 0;
    if (best == OF_MODULE)
        lua_pushfstring(L, "functions of %s:\n", words);
    else if (strcmp(asked, words) == 0)
        lua_pushfstring(L, "nothing is called '%s'; it occurs in\n", asked);
    else
        lua_pushfstring(L, "nothing is called '%s'; '%s' occurs in\n", asked, words);
    luaL_addvalue(b);
    const enum rank last = best == IN_NAME ? BEGIN_WORDS : best;
    for (enum rank rank = best; rank <= last; rank++) listed = add_found(L, b, names, words, rank, listed);
    if (best == OF_MODULE || listed <= FOUND_LINES) return;
    lua_pushfstring(L, "... and %d more\n", listed - FOUND_LINES);
    luaL_addvalue(b);
}

/* Pushes the words of a name or a phrase that occur anywhere, one after the other as long as something has all of them.
 */
static const char *push_occurring(lua_State *L, const struct names *names, const char *phrase)
{
    static const char between[] = " -_";
    lua_pushliteral(L, "");
    for (const char *p = phrase + strspn(phrase, between); *p; p += strspn(p, between)) {
        const size_t n = strcspn(p, between);
        const char *before = lua_tostring(L, -1);
        lua_pushlstring(L, p, n);
        lua_pushfstring(L, *before ? "%s %s" : "%s%s", before, lua_tostring(L, -1));
        lua_remove(L, -2);
        p += n;
        lua_remove(L, n > 2 && best_rank(L, names, lua_tostring(L, -1)) < NOWHERE ? -2 : -1);
    }
    return lua_tostring(L, -1);
}

/* "how do I slice an array": what is asked for begins behind the words that ask. */
static const char *behind_question(const char *phrase)
{
    static const char asking[] = " how what which where is are do does can should i we you to a an the my ";
    for (size_t n; phrase[n = strcspn(phrase, " ")] == ' '; phrase += n + 1) {
        char word[16];
        if (n + 3 > sizeof word) break;
        snprintf(word, sizeof word, " %.*s ", (int)n, phrase);
        if (!strcasestr(asking, word)) break;
    }
    return phrase;
}

bool lg_push_found(lua_State *L, const char *word)
{
    luaL_Buffer b;
    int top = lua_gettop(L);
    word = push_trimmed(L, behind_question(word));
    if (!*word) {
        push_overview(L);
        lua_replace(L, top + 1);
        lua_settop(L, top + 1);
        return true;
    }
    const struct names names = push_sorted_names(L);
    enum rank best = best_rank(L, &names, word);
    const char *foreign = best > OF_MODULE && lg_push_foreign(L, word) ? lua_tostring(L, -1) : NULL;
    const char *words = word;
    if (best == NOWHERE && !foreign) {
        words = push_occurring(L, &names, word);
        best = best_rank(L, &names, words);
    }
    bool found = best < NOWHERE || foreign, more = found;
    luaL_buffinit(L, &b);
    if (foreign)
        more = add_foreign(L, &b, &names, word, foreign);
    else
        add_best(L, &b, &names, word, words, best);
    if (more)
        luaL_addstring(&b, "gpu.help \"name\" tells more about one of them.");
    else
        luaL_buffsub(&b, 1);
    luaL_pushresult(&b);
    lua_replace(L, top + 1);
    lua_settop(L, found ? top + 1 : top);
    return found;
}

const char *lg_push_way_out(lua_State *L, const char *word)
{
    size_t length = strlen(word);
    int top = lua_gettop(L), least = length < 3 ? 0 : length < 6 ? 1 : 2;
    const struct names names = push_sorted_names(L);
    const char *best = NULL;
    for (size_t i = 0; i < names.count; i++) {
        const char *dot = strrchr(names.list[i], '.'), *spelt = strchr(word, '.') || !dot ? names.list[i] : dot + 1;
        int distance = rt_spelling_distance(word, spelt);
        if (distance > least || (distance == least && best)) continue;
        least = distance;
        best = names.list[i];
    }
    if (best)
        lua_pushfstring(L, "did you mean '%s'?", best);
    else
        lua_pushliteral(L, "gpu.help() lists what there is");
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return lua_tostring(L, -1);
}

/* ---- the functions ---- */

/* What is known of "array" is a function, of "array." the methods. */
static const struct lg_function *check_trimmed(lua_State *L, int idx)
{
    if (lua_type(L, idx) != LUA_TSTRING) return check_topic(L, idx);
    bool dot = lua_rawlen(L, idx) > 0 && lua_tostring(L, idx)[lua_rawlen(L, idx) - 1] == '.';
    push_trimmed(L, lua_tostring(L, idx));
    lua_replace(L, idx);
    return dot && is_module(L, lua_tostring(L, idx)) ? NULL : check_topic(L, idx);
}

/* Shows the help at the top. A notebook breaks what is printed anywhere when it is narrow, a text of HTML at words. */
static void show_help(lua_State *L)
{
    struct lg_terminal terminal;
    if (!lg_shows_pictures(L, &terminal)) {
        lua_getglobal(L, "print");
        lua_insert(L, -2);
        lua_call(L, 1, 0);
        return;
    }
    struct lg_mime items[2] = {{.type = "text/html"}, {.type = "text/plain"}};
    const char *text = items[1].data = lua_tolstring(L, -1, &items[1].length);
    text = luaL_gsub(L, luaL_gsub(L, luaL_gsub(L, text, "&", "&amp;"), "<", "&lt;"), ">", "&gt;");
    lua_pushfstring(
        L, "<pre style=\"margin:0;padding:0;white-space:pre-wrap;word-break:normal;overflow-wrap:break-word\">%s</pre>",
        text);
    items[0].data = lua_tolstring(L, -1, &items[0].length);
    lg_show(L, &(struct lg_bundle){items, 2}, NULL, false);
}

static int help(lua_State *L)
{
    lua_settop(L, 1); /* so that a missing argument is nil, and not what comes next */
    if (lua_isnil(L, 1)) {
        push_overview(L);
    } else {
        const struct lg_function *row = check_trimmed(L, 1);
        if (row)
            push_help(L, row);
        else if (lua_type(L, 1) != LUA_TSTRING)
            return luaL_error(L, "there is no help on %s; in a session ?name shows what it is", lg_type_name(L, 1));
        else if (!lg_push_found(L, lua_tostring(L, 1)))
            return luaL_error(L, "there is no help on '%s'; %s", lua_tostring(L, 1),
                              lg_push_way_out(L, lua_tostring(L, 1)));
    }
    show_help(L);
    return 0;
}

static int docs(lua_State *L)
{
    lua_settop(L, 0);
    lua_newtable(L);
    const struct names names = push_sorted_names(L);
    for (size_t i = 0; i < names.count; i++) {
        const struct lg_function *row = lg_doc_by_name(L, names.list[i]);
        const char *const fields[][2] = {
            {"name", names.list[i]}, {"signature", row->signature}, {"doc", row->doc}, {"example", row->example}};
        lua_createtable(L, 0, 4);
        for (int f = 0; f < 4; f++) {
            lg_set_string(L, fields[f][0], fields[f][1]);
        }
        lua_rawseti(L, 1, (lua_Integer)i + 1);
    }
    lua_settop(L, 1);
    return 1;
}

static const struct lg_function functions[] = {
    {"help", help, "gpu.help([name])",
     "Shows what is known of a function, or the names of all of them.\n"
     "`name` is a string such as \"linspace\" or \"array.sum\", a module's such as \"fft\", the function itself, or one of the topics \"lua\", \"cuda\", \"indexing\", "
     "\"dtypes\", \"broadcasting\", \"devices\", \"memory\", \"numpy\", \"random\", \"accuracy\" and \"files\". Of another library's name, as \"arange\", it says what it is here; any other word is searched for in names and texts, as \"eigenvalue\" or \"standard deviation\".",
     "gpu.help('linspace')\ngpu.help(gpu.zeros)\ngpu.help 'eigenvalue'"},
    {"docs", docs, "gpu.docs()",
     "The documentation as data: a list, sorted by name, of tables with name, signature, doc and example.",
     "assert(#gpu.docs() > 50 and gpu.docs()[1].doc)"},
    {0}};

void lg_open_help(lua_State *L)
{
    lg_register(L, "gpu", functions);
}
