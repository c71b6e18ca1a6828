/* Plain Lua from a file, from -e, from standard input: what a stock lua does with them, with the same exit statuses. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "repl/output.h"
#include "repl/repl.h"

char *sh_read_file(const char *path, size_t *length)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) return NULL;
    size_t size = 0, capacity = 16384;
    char *text = malloc(capacity);
    while (text) {
        size_t got = fread(text + size, 1, capacity - size - 1, file);
        size += got;
        if (got == 0) break;
        if (size + 1 < capacity) continue;
        char *more = realloc(text, capacity *= 2);
        if (!more) free(text);
        text = more;
    }
    int error = text ? (ferror(file) ? errno : 0) : ENOMEM;
    if (file != stdin) fclose(file);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    text[size] = '\0';
    *length = size;
    return text;
}

static bool evaluate(struct lg_session *s, struct sh_output *out, const char *code, size_t length, const char *name)
{
    struct lg_request request = {.code = code, .length = length, .name = name, .silent = true};
    const struct lg_error *error = NULL;
    enum lg_status status = lg_session_evaluate(s, &request, &error);
    if (status != LG_DONE) sh_output_error(out, error);
    return status == LG_DONE;
}

static bool evaluate_file(struct lg_session *s, struct sh_output *out, const char *path)
{
    size_t length;
    char *text = sh_read_file(path, &length);
    if (!text) {
        fprintf(stderr, "lunarray: cannot open %s: %s\n", path, strerror(errno));
        return false;
    }
    bool is_stdin = strcmp(path, "-") == 0;
    char name[4096];
    snprintf(name, sizeof name, "@%s", path);
    bool ok = evaluate(s, out, text, length, is_stdin ? "=stdin" : name);
    free(text);
    return ok;
}

bool sh_evaluate_given(struct lg_session *s, const struct sh_options *o)
{
    struct sh_output out = {.color = sh_takes_color(STDERR_FILENO), .program = "lunarray"};
    for (int i = 0; i < o->code_count; i++)
        if (!evaluate(s, &out, o->codes[i], strlen(o->codes[i]), "=(command line)")) return false;
    return o->argc == 0 || evaluate_file(s, &out, o->argv[0]);
}

int sh_run_script(const struct sh_options *o)
{
    struct sh_output out = {.flush = true};
    struct lg_options options = {
        .sink = sh_output_sink(&out), .device = o->device, .argc = o->argc, .argv = o->argv, .before = o->before};
    struct lg_session *s = lg_session_new(&options);
    if (!s) {
        fprintf(stderr, "lunarray: out of memory\n");
        return 1;
    }
    sh_interrupts(s, true);
    bool ok = sh_evaluate_given(s, o);
    sh_interrupts(NULL, false);
    lg_session_free(s);
    return sh_output_finish() && ok ? 0 : 1;
}
