/* Completion inside strings: names that functions of this library take, files, and CUDA C in the sources of kernels. */
#include "lang/completing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lang/colormap.h"
#include "lang/cuda.h"
#include "runtime/prelude.h"

static void complete_dtypes(struct lg_completing *c)
{
    for (int t = 0; t < RT_DTYPE_COUNT; t++) {
        char note[32];
        snprintf(note, sizeof note, "%d byte%s", (int)rt_dtypes[t].size, rt_dtypes[t].size == 1 ? "" : "s");
        lg_add_match(c, rt_dtypes[t].name, "dtype", note);
    }
}

void lg_complete_devices(struct lg_completing *c)
{
    lg_add_match(c, "cpu", "device", "host memory");
    lg_add_match(c, "simt", "device", "the software GPU");
    lg_add_match(c, "cuda", "device", "the first GPU");
    lg_add_match(c, "gpu", "device", "cuda:0 where one works, else simt");
}

/* The entry says so by itself in most file systems; where a link leads must be asked. */
static bool is_folder(const char *folder, const struct dirent *e)
{
    char path[8192];
    struct stat st;
    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK) return e->d_type == DT_DIR;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Copies a text with a backslash before each character that ends or changes a word of a command; or without those. */
static void copy_word(char *out, size_t size, const char *text, size_t length, bool escape)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 2 < size; i++) {
        if (escape && strchr(" \t'\"\\$&()*;<>?[]`|", text[i])) out[n++] = '\\';
        if (!escape && text[i] == '\\' && i + 1 < length) i++;
        out[n++] = text[i];
    }
    out[n] = '\0';
}

void lg_complete_path(struct lg_completing *c, size_t start, bool word)
{
    char folder[4096], path[1024];
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
    if (word) copy_word(folder, sizeof folder, folder, strlen(folder), false);
    lg_set_prefix(c, (size_t)(last - c->code));
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        if (*e->d_name == '.' && (!c->prefix_length || *c->prefix != '.')) continue;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        copy_word(path, sizeof path - 1, e->d_name, strlen(e->d_name), word);
        if (strncmp(path, c->prefix, c->prefix_length) != 0) continue;
        bool leads_on = is_folder(folder, e);
        if (!leads_on && c->folders_only) continue;
        if (leads_on) strcat(path, "/");
        lg_add_match(c, path, "path", "");
    }
    closedir(d);
}

/* ---- CUDA C ---- */

static void add_words(struct lg_completing *c, const struct lg_cuda_word *words)
{
    for (; words->name; words++) lg_add_match(c, words->name, words->kind, words->note);
}

/* The macros and types of the header that every kernel has before its source. */
static void add_prelude(struct lg_completing *c)
{
    char name[64], value[96], note[160];
    for (const char *line = rt_prelude; *line;) {
        size_t n = strcspn(line, "\n");
        if (sscanf(line, "#define %63s %95[^\n]", name, value) == 2) {
            lg_add_match(c, name, "macro", value);
        } else if (sscanf(line, "typedef %95[^;];", value) == 1) {
            char *last = strrchr(value, ' ');
            snprintf(note, sizeof note, "%.*s", last ? (int)(last - value) : 0, value);
            if (last) lg_add_match(c, last + 1, "type", note);
        }
        line += n + (line[n] == '\n');
    }
}

/* What the source itself names, up to the word at the cursor. */
static void add_own_names(struct lg_completing *c, size_t from)
{
    struct lg_cuda_token t;
    for (size_t at = from; lg_cuda_next(c->code, c->start, at, &t); at = t.end) {
        char name[128];
        size_t n = t.end - t.start;
        if (t.kind != LG_CUDA_WORD || n < 2 || n >= sizeof name || lg_cuda_find(c->code + t.start, n)) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, c->code + t.start);
        lg_add_match(c, name, "name", "");
    }
}

/* After a dot: the parts of what says where a thread is, and of vectors. */
static void add_members(struct lg_completing *c)
{
    static const char *const places[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
    size_t dot = c->start - 1;
    bool vector = true;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t n = strlen(places[i]);
        vector &= dot < n || memcmp(c->code + dot - n, places[i], n) != 0;
    }
    lg_add_match(c, "x", "field", "");
    lg_add_match(c, "y", "field", "");
    lg_add_match(c, "z", "field", "");
    if (vector) lg_add_match(c, "w", "field", "");
}

static void add_headers(struct lg_completing *c)
{
    static const char *const cuda[] = {"cooperative_groups.h", "cooperative_groups/reduce.h",
                                       "cuda/atomic",          "cuda/barrier",
                                       "cuda/pipeline",        "cuda_bf16.h",
                                       "cuda_fp16.h",          "mma.h"};
    for (const struct rt_header *h = rt_headers; h->name; h++)
        if (h->about) lg_add_match(c, h->name, "header", h->about);
    for (size_t i = 0; i < sizeof cuda / sizeof *cuda; i++) lg_add_match(c, cuda[i], "header", "of CUDA");
}

/* On a line that begins with '#', whose text behind that is at `at`. False where any word may stand. */
static bool complete_directive(struct lg_completing *c, size_t at)
{
    const char *p = c->code + at, *end = c->code + c->length;
    size_t word = strcspn(p, " \t<\"");
    if (word >= (size_t)(end - p)) {
        lg_set_prefix(c, at);
        add_words(c, lg_cuda_directives);
        return true;
    }
    if (word != strlen("include") || memcmp(p, "include", word) != 0) return false;
    size_t name = at + word + strspn(p + word, " \t");
    if (name >= c->length || !strchr("<\"", c->code[name])) return true;
    lg_set_prefix(c, name + 1);
    add_headers(c);
    return true;
}

void lg_complete_cuda(struct lg_completing *c, size_t from)
{
    struct lg_cuda_token t, last = {.end = from};
    for (size_t at = from; lg_cuda_next(c->code, c->length, at, &t); at = t.end) last = t;
    size_t line = c->length;
    while (line > from && c->code[line - 1] != '\n') line--;
    while (line < c->length && strchr(" \t", c->code[line])) line++;
    if (line < c->length && c->code[line] == '#' && last.kind != LG_CUDA_COMMENT) {
        for (line++; line < c->length && strchr(" \t", c->code[line]);) line++;
        if (complete_directive(c, line)) return;
    }
    if (last.unfinished || (last.kind == LG_CUDA_NUMBER && last.end == c->length)) return;
    lg_set_prefix(c, last.kind == LG_CUDA_WORD ? last.start : c->length);
    if (c->start > from && c->code[c->start - 1] == '.') {
        add_members(c);
        return;
    }
    add_words(c, lg_cuda_words);
    add_prelude(c);
    add_own_names(c, from);
}

/* ---- strings of Lua ---- */

/* What f(...):name is likely to be: the method of arrays of that name. */
static const struct lg_function *method_called(lua_State *L, const struct lg_tokens *t, size_t open)
{
    char name[128];
    if (open < 2 || t->items[open - 1].kind != LG_TOKEN_NAME || !lg_is_sign(t, open - 2, ":")) return NULL;
    const struct lg_token *k = &t->items[open - 1];
    snprintf(name, sizeof name, "array.%.*s", (int)(k->end - k->start), t->text + k->start);
    return lg_doc_by_name(L, name);
}

const struct lg_function *lg_callee(lua_State *L, const struct lg_tokens *t, size_t end)
{
    size_t open = lg_open_call(t, end);
    if (open == end && end > 0 && t->items[end - 1].kind != LG_TOKEN_NAME) return NULL;
    size_t first = lg_chain_start(t, open);
    if (first == open) return method_called(L, t, open);
    return lg_push_chain(L, t, first, open) ? lg_doc_of_value(L, -1) : NULL;
}

/* {dtype = "...": what the name says. False for other names. */
static bool complete_option(struct lg_completing *c, size_t string)
{
    const struct lg_tokens *t = &c->tokens;
    if (string < 2 || !lg_is_sign(t, string - 1, "=")) return false;
    const struct lg_token *name = &t->items[string - 2];
    const char *text = t->text + name->start;
    size_t n = name->end - name->start;
    if (n == 5 && memcmp(text, "dtype", n) == 0)
        complete_dtypes(c);
    else if (n == 6 && memcmp(text, "device", n) == 0)
        lg_complete_devices(c);
    else if (n == 4 && memcmp(text, "cmap", n) == 0)
        for (int i = 0; lg_colormap_name(i); i++) lg_add_match(c, lg_colormap_name(i), "colour map", "");
    else
        return false;
    return true;
}

/* Whether the string is the name of a file: the first argument where that is one, or {file = "saxpy.cu"}. */
static bool takes_path(const struct lg_tokens *t, size_t string, const struct lg_function *callee)
{
    if (string > 1 && lg_is_sign(t, string - 1, "=")) {
        const struct lg_token *name = &t->items[string - 2];
        return name->end - name->start == 4 && memcmp(t->text + name->start, "file", 4) == 0;
    }
    bool first = string > 0 && (lg_is_sign(t, string - 1, "(") || t->items[string - 1].kind == LG_TOKEN_NAME);
    return first && strstr(callee->signature, "(path") != NULL;
}

void lg_complete_string(lua_State *L, struct lg_completing *c, const struct lg_token *string)
{
    const struct lg_tokens *t = &c->tokens;
    size_t last = t->count - 1, opening = 1;
    const struct lg_function *callee = lg_callee(L, t, last);
    if (string->is_long) {
        while (string->start + opening < c->length && c->code[string->start + opening] == '=') opening++;
        opening++;
    }
    size_t from = string->start + opening;
    /* A kernel's source: by the function that gets it, or by what it says. */
    bool path = callee && takes_path(t, last, callee), kernel = callee && !path && strcmp(callee->name, "kernel") == 0;
    if (from <= c->length && (kernel || lg_cuda_is_source(c->code + from, c->length - from))) {
        lg_complete_cuda(c, from);
        return;
    }
    if (string->is_long) return;
    lg_set_prefix(c, from);
    if (last > 0 && lg_is_sign(t, last - 1, "[")) {
        size_t first = lg_chain_start(t, last - 1);
        if (first < last - 1 && lg_push_chain(L, t, first, last - 1)) {
            c->any_key = true;
            if (lua_istable(L, -1)) lg_complete_fields(L, -1, lg_visit_match, c);
            return;
        }
    }
    if (complete_option(c, last)) return;
    if (callee && strcmp(callee->signature, "require(modname)") == 0) {
        lg_complete_modules(L, c);
        return;
    }
    bool ours = callee && !lg_is_stdlib(callee) && !path;
    if (ours) {
        complete_dtypes(c);
        lg_complete_devices(c);
    }
    if (!ours || !c->count) lg_complete_path(c, from, false);
}
