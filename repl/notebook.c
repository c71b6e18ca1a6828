#include "repl/notebook.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "repl/output.h"
#include "repl/repl.h"
#include "repl/text.h"
#include "runtime/memory.h"

/* A text of several lines: one string, or a list of strings that are joined; nothing of what is none. False when memory
 * is lacking. */
static bool append_lines(struct sh_text *to, const json_t *text)
{
    size_t i;
    json_t *line;
    bool ok = true;
    if (json_is_string(text)) ok = sh_text_append(to, json_string_value(text), json_string_length(text));
    json_array_foreach((json_t *)text, i, line)
    {
        if (json_is_string(line)) ok = ok && sh_text_append(to, json_string_value(line), json_string_length(line));
    }
    return ok;
}

static bool read_source(const json_t *source, struct sh_cell *cell)
{
    struct sh_text text = {0};
    bool ok = sh_text_set(&text, "", 0) && append_lines(&text, source);
    cell->source = text.bytes;
    cell->length = text.length;
    return ok;
}

/* An error's lines, each ended. */
static bool append_error(struct sh_text *to, const json_t *error)
{
    size_t i;
    json_t *line;
    json_array_foreach(json_object_get(error, "traceback"), i, line)
    {
        if (!append_lines(to, line) || !sh_text_append(to, "\n", 1)) return false;
    }
    return true;
}

/* What a terminal would show of a cell's outputs. Those without text are left out. */
static bool read_outputs(const json_t *outputs, struct sh_cell *cell)
{
    struct sh_text text = {0};
    bool ok = sh_text_set(&text, "", 0);
    size_t i;
    json_t *output;
    json_array_foreach((json_t *)outputs, i, output)
    {
        const char *type = json_string_value(json_object_get(output, "output_type"));
        const json_t *stream = json_object_get(output, "text");
        const json_t *plain = json_object_get(json_object_get(output, "data"), "text/plain");
        struct sh_text one = {0};
        if (type && strcmp(type, "error") == 0)
            ok = ok && append_error(&one, output);
        else
            ok = ok && append_lines(&one, stream ? stream : plain);
        sh_strip_escapes(&one);
        ok = ok && (stream ? sh_text_append(&text, one.bytes ? one.bytes : "", one.length)
                           : one.length == 0 || sh_text_append_block(&text, one.bytes, one.length));
        sh_text_free(&one);
    }
    cell->stored = text.bytes;
    return ok;
}

static bool read_cells(const json_t *cells, struct sh_notebook *out, char why[SH_WHY])
{
    out->cells = rt_calloc(json_array_size(cells) + 1, sizeof *out->cells);
    if (!out->cells) return snprintf(why, SH_WHY, "out of memory") < 0;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        const char *type = sh_json_text(cell, "cell_type");
        bool code = strcmp(type, "code") == 0;
        if (!code && strcmp(type, "markdown") != 0) continue;
        struct sh_cell *c = &out->cells[out->count++];
        c->markdown = !code;
        c->index = i;
        c->may_fail = sh_cell_has_tag(cell, "raises-exception");
        c->is_volatile = sh_cell_has_tag(cell, "volatile");
        if (!read_source(json_object_get(cell, "source"), c)) return snprintf(why, SH_WHY, "out of memory") < 0;
        const json_t *outputs = json_object_get(cell, "outputs");
        bool executed = json_array_size(outputs) > 0 || json_is_integer(json_object_get(cell, "execution_count"));
        if (executed && !read_outputs(outputs, c)) return snprintf(why, SH_WHY, "out of memory") < 0;
    }
    return true;
}

bool sh_notebook_view(const json_t *notebook, struct sh_notebook *out, char why[SH_WHY])
{
    *out = (struct sh_notebook){0};
    bool ok = read_cells(json_object_get(notebook, "cells"), out, why);
    if (!ok) sh_notebook_free(out);
    return ok;
}

void sh_notebook_free(struct sh_notebook *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->cells[i].source);
        free(n->cells[i].stored);
    }
    free(n->cells);
    *n = (struct sh_notebook){0};
}

/* Somebody who watches sees which cell the output below belongs to. */
static void print_heading(struct sh_output *out, int number)
{
    if (!sh_takes_color(STDOUT_FILENO)) return;
    sh_output_newline(out);
    printf("\033[2mIn [%d]\033[0m\n", number);
}

static bool run_cells(struct lg_session *s, struct sh_output *out, const struct sh_notebook *n)
{
    for (size_t i = 0; i < n->count; i++) {
        const struct sh_cell *cell = &n->cells[i];
        if (cell->markdown || strspn(cell->source, " \t\r\n") == cell->length)
            continue; /* Jupyter doesn't run empty cells either */
        struct lg_request request = {.code = cell->source, .length = cell->length, .store_history = true};
        const struct lg_error *error = NULL;
        print_heading(out, lg_session_count(s) + 1);
        enum lg_status status = lg_session_evaluate(s, &request, &error);
        if (status != LG_DONE) {
            out->errors_out = cell->may_fail && status == LG_ERROR;
            sh_output_error(out, error);
            if (!out->errors_out) return false;
        }
        sh_output_end(out);
    }
    return true;
}

struct lg_session *sh_cells_session(const struct sh_options *o, struct lg_sink sink)
{
    struct lg_options options = {.sink = sink,
                                 .device = o->device,
                                 .interactive = true,
                                 .history = "",
                                 .argc = o->argc,
                                 .before = o->before,
                                 .argv = o->argv};
    struct lg_session *s = lg_session_new(&options);
    if (!s) fprintf(stderr, "lunarray: out of memory\n");
    return s;
}

int sh_run_notebook(const struct sh_options *o)
{
    struct sh_notebook notebook;
    char why[SH_WHY];
    sh_json_watch();
    json_t *read = sh_document_load(o->argv[0], why);
    bool ok = read && sh_notebook_view(read, &notebook, why);
    json_decref(read);
    if (!ok) {
        fprintf(stderr, "lunarray: %s: %s\n", o->argv[0], why);
        return 1;
    }
    struct sh_output out = {.color = sh_takes_color(STDERR_FILENO), .flush = true};
    struct lg_session *s = sh_cells_session(o, sh_output_sink(&out));
    if (s) {
        sh_interrupts(s, true);
        ok = run_cells(s, &out, &notebook);
        sh_interrupts(NULL, false);
        lg_session_free(s);
    }
    ok = ok && s;
    sh_notebook_free(&notebook);
    return sh_output_finish() && ok ? 0 : 1;
}
