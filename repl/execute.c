#define _GNU_SOURCE /* memfd_create */
#include "repl/execute.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "jupyter/kernel.h"
#include "jupyter/text.h"
#include "repl/output.h"

/* What C code and programs write to the process's own standard output and error: it goes to files meanwhile, which are
 * read whenever something else is put out, so that the order is kept. */
struct captured {
    int file, saved; /* -1: not captured */
    off_t at;
};

struct recorder {
    json_t *notebook, *outputs; /* of the cell that runs; borrowed */
    struct captured captured[2];
    struct lg_buffer text; /* of the stream that is being written */
    enum lg_stream stream;
    json_t *shown; /* from display ids to lists of outputs that show them */
    bool clear;    /* before the next output */
};

static void put_output(struct recorder *r, json_t *output)
{
    if (r->clear) json_array_clear(r->outputs);
    r->clear = false;
    if (!output) sh_json_fail();
    json_array_append_new(r->outputs, output);
}

static void end_stream(struct recorder *r)
{
    static const char *const names[] = {"stdout", "stderr"};
    if (r->text.failed) sh_json_fail();
    if (!r->text.length) return;
    put_output(r, json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name", names[r->stream], "text",
                            jp_text_json(r->text.data, r->text.length)));
    lg_buffer_release(&r->text);
}

static void add_text(struct recorder *r, enum lg_stream which, const char *text, size_t length)
{
    if (r->stream != which) end_stream(r);
    r->stream = which;
    lg_buffer_add(&r->text, text, length);
}

static void drain(struct recorder *r)
{
    char bytes[4096];
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        struct captured *c = &r->captured[i];
        for (ssize_t n; c->file >= 0 && (n = pread(c->file, bytes, sizeof bytes, c->at)) > 0; c->at += n)
            add_text(r, i ? LG_STDERR : LG_STDOUT, bytes, (size_t)n);
    }
}

static void begin_capture(struct captured *c, int fd)
{
    *c = (struct captured){.file = memfd_create("lunarray output", MFD_CLOEXEC), .saved = dup(fd)};
    if (c->file >= 0 && c->saved >= 0) dup2(c->file, fd);
}

static void end_capture(struct captured *c, int fd)
{
    if (c->file >= 0 && c->saved >= 0) dup2(c->saved, fd);
    if (c->file >= 0) close(c->file);
    if (c->saved >= 0) close(c->saved);
    c->file = c->saved = -1;
}

/* ---- the session's sink */

static void on_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    drain(context);
    add_text(context, which, text, length);
}

/* All that shows the display so far changes, in whichever cell it is. */
static void update_shown(struct recorder *r, const char *id, json_t *data)
{
    size_t i;
    json_t *output;
    json_array_foreach(json_object_get(r->shown, id), i, output) json_object_set(output, "data", data);
}

static void on_display(void *context, const struct lg_bundle *bundle, const char *display_id, bool update)
{
    struct recorder *r = context;
    json_t *data = jp_bundle_json(bundle);
    if (!data) sh_json_fail();
    drain(r);
    end_stream(r);
    if (update && display_id) {
        update_shown(r, display_id, data);
        json_decref(data);
        return;
    }
    json_t *output = json_pack("{s:s, s:o, s:{}}", "output_type", "display_data", "data", data, "metadata");
    if (display_id && !json_object_get(r->shown, display_id)) json_object_set_new(r->shown, display_id, json_array());
    if (display_id) json_array_append(json_object_get(r->shown, display_id), output);
    put_output(r, output);
}

static void on_result(void *context, int execution_count, const struct lg_bundle *bundle)
{
    struct recorder *r = context;
    drain(r);
    end_stream(r);
    put_output(r, json_pack("{s:s, s:i, s:o, s:{}}", "output_type", "execute_result", "execution_count",
                            execution_count, "data", jp_bundle_json(bundle), "metadata"));
}

static void on_clear(void *context, bool wait)
{
    struct recorder *r = context;
    drain(r);
    end_stream(r);
    r->clear = wait;
    if (!wait) json_array_clear(r->outputs);
}

static void put_error(struct recorder *r, const struct lg_error *error)
{
    json_t *output = jp_error_json(error);
    json_object_set_new(output, "output_type", json_string("error"));
    put_output(r, output);
}

/* ---- cells */

static void begin_cell(struct recorder *r, json_t *cell)
{
    json_object_set_new(cell, "execution_count", json_null());
    json_object_set_new(cell, "outputs", json_array());
    r->outputs = json_object_get(cell, "outputs");
    r->clear = false;
    for (int i = 0; i < 2; i++) begin_capture(&r->captured[i], i + 1);
}

static void end_cell(struct recorder *r)
{
    drain(r);
    end_stream(r);
    for (int i = 0; i < 2; i++) end_capture(&r->captured[i], i + 1);
}

static bool run_cell(struct lg_session *s, struct recorder *r, json_t *cell, struct sh_output *out)
{
    const json_t *source = json_object_get(cell, "source");
    const struct lg_error *error = NULL;
    struct lg_request request = {
        .code = json_string_value(source), .length = json_string_length(source), .store_history = true};
    begin_cell(r, cell);
    if (strspn(request.code, " \t\r\n") == request.length) return end_cell(r), true;
    enum lg_status status = lg_session_evaluate(s, &request, &error);
    end_cell(r);
    json_object_set_new(cell, "execution_count", json_integer(lg_session_count(s)));
    if (status == LG_DONE) return true;
    put_error(r, error);
    if (status == LG_ERROR && sh_cell_has_tag(cell, "raises-exception")) return true;
    sh_output_error(out, error);
    return false;
}

static bool run_cells(struct lg_session *s, struct recorder *r)
{
    struct sh_output out = {.color = sh_takes_color(STDERR_FILENO)};
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(r->notebook, "cells"), i, cell)
    {
        if (strcmp(sh_json_text(cell, "cell_type"), "code") == 0 && !run_cell(s, r, cell, &out)) return false;
    }
    return true;
}

/* What ran it: the kernel's name, unless it has one, and the language. */
static void set_metadata(json_t *notebook)
{
    json_t *usual = sh_document_metadata(), *metadata = json_object_get(notebook, "metadata");
    if (!json_is_object(metadata)) {
        json_object_set_new(notebook, "metadata", json_object());
        metadata = json_object_get(notebook, "metadata");
    }
    json_object_set(metadata, "language_info", json_object_get(usual, "language_info"));
    json_object_update_missing(metadata, usual);
    json_decref(usual);
}

bool sh_execute(json_t *notebook, const struct sh_options *o)
{
    struct recorder r = {.notebook = notebook, .shown = json_object(), .captured = {{-1, -1, 0}, {-1, -1, 0}}};
    struct lg_sink sink = {
        .context = &r, .stream = on_stream, .display = on_display, .result = on_result, .clear_output = on_clear};
    struct lg_session *s = sh_cells_session(o, sink);
    bool ok = s && r.shown;
    if (ok) {
        set_metadata(notebook);
        sh_interrupts(s, true);
        ok = run_cells(s, &r);
        sh_interrupts(NULL, false);
    }
    if (s && sh_json_failed()) {
        fprintf(stderr, "lunarray: out of memory\n");
        ok = false;
    }
    if (s) lg_session_free(s);
    json_decref(r.shown);
    lg_buffer_release(&r.text);
    return ok;
}
