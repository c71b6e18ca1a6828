#include "repl/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "repl/terminal.h"
#include "repl/text.h"

static void write_out(struct sh_output *o, FILE *file, const char *text, size_t length)
{
    if (length == 0) return;
    /* The two streams have buffers of their own; what was printed first must be seen first. */
    if (file == stderr) fflush(stdout);
    fwrite(text, 1, length, file);
    o->open_line = text[length - 1] != '\n';
    if (o->flush && o->open_line) fflush(file);
}

static void on_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    write_out(context, which == LG_STDERR ? stderr : stdout, text, length);
}

static void write_plain(struct sh_output *o, const struct lg_bundle *bundle)
{
    for (size_t i = 0; i < bundle->count; i++) {
        const struct lg_mime *item = &bundle->items[i];
        if (strcmp(item->type, "text/plain") != 0) continue;
        sh_output_newline(o);
        write_out(o, stdout, item->data, item->length);
        sh_output_newline(o);
        return;
    }
}

static void on_display(void *context, const struct lg_bundle *bundle, const char *display_id, bool update)
{
    (void)display_id;
    (void)update; /* a terminal cannot go back to what has scrolled away: an update is printed below */
    write_plain(context, bundle);
}

static void on_result(void *context, int execution_count, const struct lg_bundle *bundle)
{
    (void)execution_count;
    write_plain(context, bundle);
}

/* A page of documentation: lines are paragraphs, broken at words to fit the terminal; indented ones are code and stay
 * as they are. */
static void write_page(struct sh_output *o, const char *text, size_t length, int columns)
{
    for (const char *end = text + length; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((stop ? stop : end) - text);
        bool whole = *text == ' ' || *text == '\t';
        size_t n = whole ? line : sh_fitting(text, line, columns), shown = n;
        while (n < line && shown > 0 && text[shown - 1] == ' ') shown--;
        write_out(o, stdout, text, shown);
        write_out(o, stdout, "\n", 1);
        text += n;
        if (n == line && stop) text++;
    }
}

static void on_page(void *context, const struct lg_bundle *bundle)
{
    int columns, rows;
    if (!isatty(STDOUT_FILENO)) {
        write_plain(context, bundle);
        return;
    }
    sh_terminal_size(&columns, &rows);
    for (size_t i = 0; i < bundle->count; i++) {
        const struct lg_mime *item = &bundle->items[i];
        if (strcmp(item->type, "text/plain") != 0) continue;
        sh_output_newline(context);
        write_page(context, item->data, item->length, columns);
        return;
    }
}

struct lg_sink sh_output_sink(struct sh_output *o)
{
    return (struct lg_sink){
        .context = o,
        .stream = on_stream,
        .display = on_display,
        .result = on_result,
        .page = on_page,
    };
}

void sh_output_newline(struct sh_output *o)
{
    if (!o->open_line) return;
    fputc('\n', stdout);
    o->open_line = false;
}

void sh_output_error(struct sh_output *o, const struct lg_error *error)
{
    FILE *file = o->errors_out ? stdout : stderr;
    const char *off = o->color ? "\033[0m" : "";
    size_t message_lines = 1; /* the traceback begins with the message, the calls follow */
    for (const char *p = error->value; *p; p++) message_lines += *p == '\n';
    sh_output_newline(o);
    fflush(stdout);
    if (o->program) fprintf(file, "%s: ", o->program);
    for (size_t i = 0; i < error->traceback_count; i++) {
        const char *on = !o->color ? "" : i < message_lines ? "\033[31m" : "\033[2m";
        fprintf(file, "%s%s%s\n", on, error->traceback[i], off);
    }
    if (error->traceback_count == 0) fprintf(file, "%s\n", error->value);
    fflush(file);
}

bool sh_takes_color(int fd)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    if (no_color && *no_color) return false;
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool sh_output_finish(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    fprintf(stderr, "lunarray: standard output: %s\n", errno ? strerror(errno) : "write error");
    return false;
}
