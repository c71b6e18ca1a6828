/* --check: runs a demo's cells and compares what they put out with what is expected, so that a demo can be tested
 * before the talk. With --update the file then expects what they put out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "repl/demo.h"
#include "repl/markdown_notebook.h"
#include "repl/diff.h"
#include "repl/output.h"
#include "repl/percent.h"
#include "repl/repl.h"
#include "repl/transcript.h"

enum verdict { AS_EXPECTED, NOT_COMPARED, DIFFERS, FAILED, INTERRUPTED, VERDICTS };

static void print_report(const struct sh_demo *demo, size_t i, const char *what, const struct sh_text *lines)
{
    bool color = sh_takes_color(STDOUT_FILENO);
    printf("cell %zu %s: %s\n", i + 1, what, demo->cells[i].title.bytes);
    for (const char *s = lines->bytes, *end = s + lines->length; s < end;) {
        size_t length = strcspn(s, "\n");
        const char *on = !color ? "" : *s == '-' ? "\033[31m" : *s == '+' ? "\033[32m" : "";
        printf("  %s%.*s%s\n", on, (int)length, s, *on ? "\033[0m" : "");
        s += length + (s[length] == '\n');
    }
    fflush(stdout);
}

struct checker {
    const struct sh_demo *demo;
    struct lg_session *session;
    struct sh_transcript transcript;
    json_t *document; /* what is to be written with the outputs of this run; NULL: nothing is */
    char *text;       /* of the file, where there is a document */
    size_t length;
    bool markdown, changed;
};

/* As Markdown has it: what is put out stands in a block of its own. */
static json_t *output_list(const struct sh_text *output)
{
    json_t *list = json_array();
    json_array_append_new(list, json_pack("{s:s, s:s, s:s%}", "output_type", "stream", "name", "stdout", "text",
                                          output->bytes ? output->bytes : "", output->length));
    return list;
}

/* Has the document expect this output of the cell. */
static void update(struct checker *c, const struct sh_demo_cell *cell, const struct sh_text *output)
{
    struct sh_text source = {0};
    json_t *to = json_array_get(json_object_get(c->document, "cells"), cell->index);
    c->changed = true;
    if (c->markdown && !cell->commented) {
        json_object_set_new(to, "outputs", output_list(output));
        return;
    }
    if (sh_demo_source(cell, output, &source))
        json_object_set_new(to, "source", json_stringn_nocheck(source.bytes, source.length));
    else
        sh_json_fail();
    sh_text_free(&source);
}

static enum verdict judge(const struct sh_demo_cell *cell, enum lg_status status, const struct sh_text *got,
                          struct sh_text *report)
{
    if (status == LG_INTERRUPTED) return INTERRUPTED;
    if (cell->expected.bytes && !cell->is_volatile)
        return sh_diff(&cell->expected, got, report) ? AS_EXPECTED : DIFFERS;
    return status == LG_ERROR && !cell->may_fail ? FAILED : NOT_COMPARED;
}

static enum verdict check_cell(struct checker *c, size_t i)
{
    const struct sh_demo_cell *cell = &c->demo->cells[i];
    struct lg_request request = {.code = cell->text.bytes, .length = cell->text.length, .store_history = true};
    const struct lg_error *error = NULL;
    struct sh_text got = {0}, report = {0};
    enum lg_status status = lg_session_evaluate(c->session, &request, &error);
    if (status != LG_DONE) sh_transcript_error(&c->transcript, error);
    bool all = sh_transcript_take(&c->transcript, &got);
    if (!all) sh_text_set(&got, "out of memory", 13);
    enum verdict verdict = all ? judge(cell, status, &got, &report) : FAILED;
    bool news = verdict == DIFFERS || (verdict == NOT_COMPARED && !cell->is_volatile && got.length > 0);
    bool failed =
        status == LG_ERROR && !cell->may_fail; /* an error that nobody meant is not to be expected next time */
    if (c->document && news && !failed) {
        update(c, cell, &got);
        verdict = AS_EXPECTED;
    }
    if (verdict == DIFFERS) print_report(c->demo, i, "differs", &report);
    if (verdict == FAILED) print_report(c->demo, i, "fails", &got);
    sh_text_free(&got);
    sh_text_free(&report);
    return verdict;
}

static int check(struct checker *c, const char *path)
{
    size_t count[VERDICTS] = {0}, cells = 0;
    for (size_t i = 0; i < c->demo->count; i++) {
        if (c->demo->cells[i].markdown) continue;
        enum verdict v = check_cell(c, i);
        if (v == INTERRUPTED) {
            c->changed = false;
            fprintf(stderr, "lunarray: interrupted in cell %zu\n", i + 1);
            return 130;
        }
        count[v]++;
        cells++;
    }
    printf("%s: %zu code cell%s: %zu as expected, %zu not compared, %zu different, %zu failed\n", path, cells,
           cells == 1 ? "" : "s", count[AS_EXPECTED], count[NOT_COMPARED], count[DIFFERS], count[FAILED]);
    return count[DIFFERS] + count[FAILED] > 0;
}

static int run(struct checker *c, const struct sh_options *o)
{
    struct sh_text rest = {0};
    c->session = sh_cells_session(o, sh_transcript_sink(&c->transcript));
    if (!c->session) return 1;
    sh_interrupts(c->session, true);
    int status = check(c, o->argv[0]);
    sh_interrupts(NULL, false);
    lg_session_free(c->session);
    sh_transcript_take(&c->transcript, &rest); /* what finalizers printed */
    sh_text_free(&rest);
    return status;
}

/* Somebody may have edited the file meanwhile. */
static bool is_unchanged(const struct checker *c, const char *path, char why[SH_WHY])
{
    size_t length;
    char *now = sh_read_file(path, &length);
    bool same = now && length == c->length && memcmp(now, c->text, length) == 0;
    snprintf(why, SH_WHY, "%s",
             now ? "it changed while its cells ran; nothing is written, check it again" : strerror(errno));
    free(now);
    return same;
}

static bool write_document(const struct checker *c, const char *path)
{
    char why[SH_WHY];
    struct lg_buffer text = {0};
    if (c->markdown)
        sh_markdown_change(c->text, c->length, c->document, &text);
    else
        sh_percent_put(c->document, &text);
    bool ok = is_unchanged(c, path, why) && sh_document_store(path, &text, why);
    if (!ok) fprintf(stderr, "lunarray: %s: %s\n", path, why);
    lg_buffer_release(&text);
    return ok;
}

int sh_run_check(const struct sh_options *o)
{
    struct sh_demo demo;
    const char *path = o->argv[0], *end = strrchr(path, '.');
    struct checker c = {.demo = &demo, .markdown = sh_names_markdown(path)};
    char why[SH_WHY];
    if (o->update && end && strcmp(end, ".ipynb") == 0) {
        fprintf(stderr,
                "lunarray: --update is for Lua and Markdown; lunarray %s --inplace stores a notebook's outputs\n",
                path);
        return 1;
    }
    if (o->update && !(c.text = sh_read_file(path, &c.length))) {
        fprintf(stderr, "lunarray: %s: cannot open it: %s\n", path, strerror(errno));
        return 1;
    }
    if (!sh_demo_load(path, &demo, o->update ? &c.document : NULL, why)) {
        fprintf(stderr, "lunarray: %s: %s\n", path, why);
        free(c.text);
        return 1;
    }
    int status = run(&c, o);
    if (c.changed && !write_document(&c, path)) status = 1;
    json_decref(c.document);
    free(c.text);
    sh_demo_free(&demo);
    return sh_output_finish() ? status : 1;
}
