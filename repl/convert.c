/* `lunarray convert FROM TO`: scripts with cell marks to notebooks and back, and either to what is only read. */
#include <stdio.h>
#include <string.h>
#include "repl/notebook_html.h"
#include "repl/notebook_markdown.h"
#include "repl/percent.h"
#include "repl/repl.h"

enum kind { SCRIPT, NOTEBOOK, PAGE, MARKDOWN, OTHER };

static enum kind kind_of(const char *path)
{
    static const char *const ends[] = {".lua", ".ipynb", ".html", ".md"};
    size_t n = strlen(path);
    for (int i = 0; i < OTHER; i++)
        if (n > strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0) return (enum kind)i;
    return OTHER;
}

static bool is_same(const json_t *a, const json_t *b, const char *key)
{
    const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
    return x && json_equal(x, y);
}

/* The numbers of the cells, in lists by their texts. */
static json_t *places_of(const json_t *cells)
{
    size_t i;
    json_t *cell, *places = json_object();
    json_array_foreach((json_t *)cells, i, cell)
    {
        const char *source = sh_json_text(cell, "source");
        if (!json_object_get(places, source)) json_object_set_new(places, source, json_array());
        json_array_append_new(json_object_get(places, source), json_integer((json_int_t)i));
    }
    return places;
}

/* The cell of the notebook that was there, from *from on, or before it, that has the same text; it is found once. */
static json_t *find_former(const json_t *cells, const json_t *places, const json_t *cell, size_t *from)
{
    json_t *list = json_object_get(places, sh_json_text(cell, "source")), *number, *found = NULL;
    size_t i, place = 0, at = 0;
    json_array_foreach(list, i, number)
    {
        size_t n = (size_t)json_integer_value(number);
        json_t *former = json_array_get(cells, n);
        if ((found && n < *from) || !is_same(former, cell, "source") || !is_same(former, cell, "cell_type")) continue;
        found = former;
        place = i;
        at = n;
        if (n >= *from) break;
    }
    if (!found) return NULL;
    *from = at + 1;
    json_array_remove(list, place);
    return found;
}

/* What a script has not comes from the notebook that is to be overwritten: outputs and counts of cells with the same
 * text. */
static void keep_former(json_t *notebook, const json_t *former)
{
    static const char *const kept[] = {"outputs", "execution_count"};
    size_t i, from = 0;
    json_t *cell, *cells = json_object_get(former, "cells"), *places = places_of(cells);
    json_array_foreach(json_object_get(notebook, "cells"), i, cell)
    {
        const json_t *same = find_former(cells, places, cell, &from);
        for (size_t k = 0; k < 2 && same; k++)
            if (json_object_get(same, kept[k])) json_object_set(cell, kept[k], json_object_get(same, kept[k]));
    }
    json_decref(places);
}

static size_t count_outputs(const json_t *notebook)
{
    size_t i, n = 0;
    json_t *cell;
    json_array_foreach(json_object_get(notebook, "cells"), i, cell) n +=
        json_array_size(json_object_get(cell, "outputs")) > 0;
    return n;
}

static int fail(const char *path, const char *why)
{
    fprintf(stderr, "lunarray convert: %s: %s\n", path, why);
    return 1;
}

static int store(const char *to, struct lg_buffer *text)
{
    char why[SH_WHY];
    bool ok = sh_document_store(to, text, why);
    lg_buffer_release(text);
    return ok ? 0 : fail(to, why);
}

static int to_notebook(json_t *notebook, const char *to)
{
    char why[SH_WHY];
    struct lg_buffer text = {0};
    json_t *former = sh_document_load(to, why);
    if (former) keep_former(notebook, former);
    json_decref(former);
    sh_document_complete(notebook);
    sh_document_put(notebook, &text);
    return store(to, &text);
}

static int to_script(const json_t *notebook, const char *to)
{
    struct lg_buffer text = {0};
    size_t lost = count_outputs(notebook);
    sh_percent_put(notebook, &text);
    if (store(to, &text) != 0) return 1;
    if (lost)
        fprintf(stderr, "lunarray convert: %s: a script has no outputs; those of %zu cell%s are left out\n", to, lost,
                lost == 1 ? "" : "s");
    return 0;
}

static int to_page(const json_t *notebook, const char *from, const char *to)
{
    struct lg_buffer page = {0};
    const char *slash = strrchr(from, '/');
    sh_notebook_html(notebook, slash ? slash + 1 : from, &page);
    return store(to, &page);
}

static int to_markdown(const json_t *notebook, const char *to)
{
    struct lg_buffer text = {0};
    sh_notebook_markdown(notebook, &text);
    return store(to, &text);
}

static int convert(const char *from, const char *to)
{
    char why[SH_WHY];
    sh_json_watch();
    json_t *notebook = sh_document_load(from, why);
    if (!notebook) return fail(from, why);
    int status = 1;
    switch (kind_of(to)) {
    case SCRIPT: status = to_script(notebook, to); break;
    case NOTEBOOK: status = to_notebook(notebook, to); break;
    case PAGE: status = to_page(notebook, from, to); break;
    case MARKDOWN: status = to_markdown(notebook, to); break;
    case OTHER: break;
    }
    json_decref(notebook);
    return status;
}

int sh_convert(int argc, char **argv)
{
    static const char ways[] = "FILE.lua, FILE.ipynb or FILE.md becomes FILE.lua, FILE.ipynb, FILE.html or FILE.md";
    if (argc != 2) {
        fprintf(stderr, "usage: lunarray convert FROM TO; %s\n", ways);
        return 1;
    }
    enum kind kind = kind_of(argv[0]);
    bool from = kind <= NOTEBOOK || kind == MARKDOWN, to = kind_of(argv[1]) != OTHER;
    if (!from || !to) {
        fprintf(stderr, "lunarray convert: %s: nothing is converted %s such a file; %s\n", from ? argv[1] : argv[0],
                from ? "to" : "from", ways);
        return 1;
    }
    return convert(argv[0], argv[1]);
}
