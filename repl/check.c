/* --check: runs a demo's cells and compares what they put out with what is expected, so that a demo can be tested
 * before the talk. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "repl/demo.h"
#include "repl/diff.h"
#include "repl/output.h"
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

static enum verdict check_cell(struct lg_session *s, struct sh_transcript *transcript, const struct sh_demo *demo,
                               size_t i)
{
    const struct sh_demo_cell *cell = &demo->cells[i];
    struct lg_request request = {.code = cell->text.bytes, .length = cell->text.length, .store_history = true};
    const struct lg_error *error = NULL;
    struct sh_text got = {0}, report = {0};
    enum verdict verdict = AS_EXPECTED;
    enum lg_status status = lg_session_evaluate(s, &request, &error);
    if (status != LG_DONE) sh_transcript_error(transcript, error);
    bool compared = cell->expected.bytes && !cell->is_volatile;
    if (!sh_transcript_take(transcript, &got)) {
        sh_text_set(&got, "out of memory", 13);
        verdict = FAILED;
    } else if (status == LG_INTERRUPTED) {
        verdict = INTERRUPTED;
    } else if (compared) {
        verdict = sh_diff(&cell->expected, &got, &report) ? AS_EXPECTED : DIFFERS;
    } else {
        verdict = status == LG_ERROR && !cell->may_fail ? FAILED : NOT_COMPARED;
    }
    if (verdict == DIFFERS) print_report(demo, i, "differs", &report);
    if (verdict == FAILED) print_report(demo, i, "fails", &got);
    sh_text_free(&got);
    sh_text_free(&report);
    return verdict;
}

static int check(struct lg_session *s, struct sh_transcript *transcript, const struct sh_demo *demo, const char *path)
{
    size_t count[VERDICTS] = {0}, cells = 0;
    for (size_t i = 0; i < demo->count; i++) {
        if (demo->cells[i].markdown) continue;
        enum verdict v = check_cell(s, transcript, demo, i);
        if (v == INTERRUPTED) {
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

int sh_run_check(const struct sh_options *o)
{
    struct sh_demo demo;
    struct sh_transcript transcript = {0};
    struct sh_text rest = {0};
    char why[512];
    if (!sh_demo_load(o->argv[0], &demo, why, sizeof why)) {
        fprintf(stderr, "lunarray: %s: %s\n", o->argv[0], why);
        return 1;
    }
    struct lg_options options = {.sink = sh_transcript_sink(&transcript),
                                 .device = o->device,
                                 .interactive = true,
                                 .history = "",
                                 .argc = o->argc,
                                 .argv = o->argv,
                                 .before = o->before};
    struct lg_session *s = lg_session_new(&options);
    int status = 1;
    if (s) {
        sh_interrupts(s, true);
        status = check(s, &transcript, &demo, o->argv[0]);
        sh_interrupts(NULL, false);
        lg_session_free(s);
    } else {
        fprintf(stderr, "lunarray: out of memory\n");
    }
    sh_transcript_take(&transcript, &rest); /* what finalizers printed */
    sh_text_free(&rest);
    sh_demo_free(&demo);
    return sh_output_finish() ? status : 1;
}
