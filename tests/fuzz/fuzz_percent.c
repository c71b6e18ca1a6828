/* Any UTF-8 as a script with cell marks becomes a notebook that is written as the same bytes; and any cells become a
 * script that is read as the same cells. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "repl/percent.h"

static void check_script(const char *text, size_t size)
{
    char why[SH_WHY] = "";
    struct lg_buffer again = {0};
    json_t *notebook = sh_percent_read(text, size, why);
    if (!notebook) {
        assert(*why);
        return;
    }
    sh_percent_put(notebook, &again);
    assert(again.length == size && (!size || memcmp(again.data, text, size) == 0));
    lg_buffer_release(&again);
    json_decref(notebook);
}

/* A cell of each kind from each part of the text between bytes 1. */
static json_t *cells_of(const char *text, size_t size)
{
    static const char *const types[] = {"code", "markdown", "raw"};
    json_t *cells = json_array();
    for (size_t at = 0; at <= size;) {
        const char *stop = at < size ? memchr(text + at, 1, size - at) : NULL;
        size_t n = stop ? (size_t)(stop - text) - at : size - at;
        for (size_t k = 0; k < 3; k++) {
            json_t *source = json_stringn(text + at, n);
            json_t *cell =
                source ? json_pack("{s:s, s:{s:s}, s:o}", "cell_type", types[k], "metadata", "k", "v", "source", source)
                       : NULL;
            if (cell && k == 1) json_object_set(json_object_get(cell, "metadata"), "title", source);
            if (cell) json_array_append_new(cells, cell);
        }
        at += n + 1;
    }
    return cells;
}

static void check_cells(const char *text, size_t size)
{
    char why[SH_WHY] = "";
    struct lg_buffer script = {0};
    json_t *notebook = json_pack("{s:o, s:{}, s:i, s:i}", "cells", cells_of(text, size), "metadata", "nbformat", 4,
                                 "nbformat_minor", 4);
    sh_percent_put(notebook, &script);
    json_t *again = sh_percent_read(script.data, script.length, why);
    assert(again);
    const json_t *before = json_object_get(notebook, "cells"), *after = json_object_get(again, "cells");
    assert(json_array_size(before) == json_array_size(after));
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *a = json_array_get(before, i), *b = json_array_get(after, i);
        assert(json_equal(json_object_get(a, "source"), json_object_get(b, "source")));
        assert(json_equal(json_object_get(a, "cell_type"), json_object_get(b, "cell_type")));
        assert(json_equal(json_object_get(a, "metadata"), json_object_get(b, "metadata")));
    }
    lg_buffer_release(&script);
    json_decref(again);
    json_decref(notebook);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_script((const char *)data, size);
    check_cells((const char *)data, size);
    return 0;
}
