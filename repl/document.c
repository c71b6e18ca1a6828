#include "repl/document.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jupyter/jupyter.h"
#include "repl/markdown_notebook.h"
#include "repl/percent.h"
#include "repl/repl.h"
#include "runtime/file.h"
#include "runtime/memory.h"

static atomic_bool failed;

static void *allocate(size_t bytes)
{
    void *p = rt_alloc(bytes);
    if (!p) atomic_store(&failed, true);
    return p;
}

void sh_json_watch(void)
{
    json_set_alloc_funcs(allocate, free);
    atomic_store(&failed, false);
}

bool sh_json_failed(void)
{
    return atomic_load(&failed);
}

void sh_json_fail(void)
{
    atomic_store(&failed, true);
}

const char *sh_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool sh_cell_has_tag(const json_t *cell, const char *tag)
{
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(json_object_get(cell, "metadata"), "tags"), i, name)
    {
        if (json_is_string(name) && strcmp(json_string_value(name), tag) == 0) return true;
    }
    return false;
}

json_t *sh_document_metadata(void)
{
    json_t *info = jp_kernel_info();
    json_t *metadata = json_pack("{s:{s:s, s:s, s:s}, s:O}", "kernelspec", "display_name", JP_DISPLAY_NAME, "language",
                                 "lua", "name", "lunarray", "language_info", json_object_get(info, "language_info"));
    json_decref(info);
    return metadata;
}

/* ---- lists of lines become one text, as nbformat does it when it reads */

static void join_member(json_t *object, const char *key)
{
    size_t i;
    json_t *line;
    const json_t *lines = json_object_get(object, key);
    struct lg_buffer text = {0};
    if (!json_is_array(lines)) return;
    json_array_foreach((json_t *)lines, i, line)
    {
        if (!json_is_string(line)) {
            lg_buffer_release(&text);
            return;
        }
        lg_buffer_add(&text, json_string_value(line), json_string_length(line));
    }
    if (text.failed) sh_json_fail();
    json_object_set_new(object, key, json_stringn_nocheck(text.data ? text.data : "", text.length));
    lg_buffer_release(&text);
}

static void join_bundle(json_t *bundle)
{
    const char *key;
    json_t *item;
    void *next;
    json_object_foreach_safe(bundle, next, key, item)
    {
        size_t n = strlen(key);
        bool json = strncmp(key, "application/", 12) == 0 && n > 5 && !strcmp(key + n - 5, "+json");
        if (!json && strcmp(key, "application/json") != 0) join_member(bundle, key);
    }
}

static void join_cell(json_t *cell)
{
    size_t i;
    const char *name;
    json_t *output, *attachment;
    join_member(cell, "source");
    json_object_foreach(json_object_get(cell, "attachments"), name, attachment) join_bundle(attachment);
    json_array_foreach(json_object_get(cell, "outputs"), i, output)
    {
        join_member(output, "text");
        join_bundle(json_object_get(output, "data"));
    }
}

static bool fail(char why[SH_WHY], const char *what)
{
    snprintf(why, SH_WHY, "not a notebook: %s", what);
    return false;
}

static bool check_cell(json_t *cell, size_t number, char why[SH_WHY])
{
    const char *type = json_string_value(json_object_get(cell, "cell_type"));
    bool known = type && (!strcmp(type, "code") || !strcmp(type, "markdown") || !strcmp(type, "raw"));
    if (!type)
        snprintf(why, SH_WHY, "not a notebook: cell %zu has no cell_type", number);
    else if (!known)
        snprintf(why, SH_WHY, "not a notebook: cell %zu is of the type %.40s; there are code, markdown and raw", number,
                 type);
    if (!known) return false;
    join_cell(cell);
    if (json_is_string(json_object_get(cell, "source"))) return true;
    snprintf(why, SH_WHY, "not a notebook: cell %zu has no source text", number);
    return false;
}

static bool check_notebook(json_t *root, char why[SH_WHY])
{
    size_t i;
    json_t *cell;
    const json_t *major = json_object_get(root, "nbformat"), *cells = json_object_get(root, "cells");
    if (!json_is_object(root)) return fail(why, "the JSON is no object");
    if (!json_is_integer(major)) return fail(why, "it has no nbformat number");
    if (json_integer_value(major) != 4) {
        snprintf(why, SH_WHY,
                 "notebook format %lld, only 4 is understood; jupyter nbconvert --to notebook --nbformat 4 converts it",
                 (long long)json_integer_value(major));
        return false;
    }
    if (!json_is_array(cells)) return fail(why, "it has no list of cells");
    json_array_foreach((json_t *)cells, i, cell)
    {
        if (!check_cell(cell, i + 1, why)) return false;
    }
    return true;
}

json_t *sh_document_parse(const char *text, size_t length, char why[SH_WHY])
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_ALLOW_NUL, &error);
    bool ok = root && check_notebook(root, why);
    if (sh_json_failed()) {
        snprintf(why, SH_WHY, "out of memory");
        ok = false;
    } else if (!root) {
        snprintf(why, SH_WHY, "not a notebook: not JSON: line %d: %s", error.line, error.text);
    }
    if (!ok) json_decref(root);
    return ok ? root : NULL;
}

bool sh_is_id(const char *id)
{
    size_t n = strlen(id);
    bool good = n >= 1 && n <= 64;
    for (size_t i = 0; i < n && good; i++) {
        char c = id[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    }
    return good;
}

/* Names as the keys of an object. */
static void note_name(json_t *names, const char *name)
{
    json_object_set_new_nocheck(names, name, json_true());
}

static void complete_ids(json_t *cells)
{
    size_t i;
    json_t *cell, *all = json_object(), *seen = json_object();
    json_array_foreach(cells, i, cell) note_name(all, sh_json_text(cell, "id"));
    json_array_foreach(cells, i, cell)
    {
        const char *id = sh_json_text(cell, "id");
        char made[32];
        if (!sh_is_id(id) || json_object_get(seen, id)) {
            size_t number = i + 1;
            do snprintf(made, sizeof made, "cell-%zu", number++);
            while (json_object_get(all, made));
            json_object_set_new(cell, "id", json_string(made));
            note_name(all, made);
        }
        note_name(seen, sh_json_text(cell, "id"));
    }
    json_decref(all);
    json_decref(seen);
}

static void complete_member(json_t *object, const char *key, json_t *value)
{
    if (!json_object_get(object, key)) json_object_set(object, key, value);
    json_decref(value);
}

void sh_document_complete(json_t *notebook)
{
    size_t i;
    json_t *cell, *cells = json_object_get(notebook, "cells");
    complete_member(notebook, "metadata", json_object());
    complete_member(notebook, "nbformat_minor", json_integer(5));
    if (json_integer_value(json_object_get(notebook, "nbformat_minor")) >= 5) complete_ids(cells);
    json_array_foreach(cells, i, cell)
    {
        complete_member(cell, "metadata", json_object());
        if (strcmp(sh_json_text(cell, "cell_type"), "code") != 0) continue;
        complete_member(cell, "outputs", json_array());
        complete_member(cell, "execution_count", json_null());
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool sh_names_markdown(const char *path)
{
    return ends_with(path, ".md");
}

bool sh_names_notebook(const char *path)
{
    return ends_with(path, ".ipynb") || sh_names_markdown(path);
}

json_t *sh_document_load(const char *path, char why[SH_WHY])
{
    size_t length;
    char *text = sh_read_file(path, &length);
    if (!text) {
        snprintf(why, SH_WHY, "cannot open it: %s", strerror(errno));
        if (errno == ENOMEM) sh_json_fail();
        return NULL;
    }
    bool markdown = sh_names_markdown(path);
    json_t *notebook = markdown                  ? sh_markdown_notebook(text, length, why)
                       : sh_names_notebook(path) ? sh_document_parse(text, length, why)
                                                 : sh_percent_read(text, length, why);
    if (notebook && markdown) sh_document_complete(notebook);
    free(text);
    return notebook;
}

bool sh_document_store(const char *path, const struct lg_buffer *bytes, char why[SH_WHY])
{
    struct rt_writer w;
    struct rt_error e = {0};
    if (bytes->failed) {
        snprintf(why, SH_WHY, "out of memory");
        return false;
    }
    enum rt_status status = rt_writer_open(path, &w, &e);
    if (status == RT_OK) {
        rt_writer_put(&w, bytes->data, bytes->length);
        status = rt_writer_finish(&w, true, &e);
    }
    if (status != RT_OK) snprintf(why, SH_WHY, "%s", e.text);
    rt_error_clear(&e);
    return status == RT_OK;
}
