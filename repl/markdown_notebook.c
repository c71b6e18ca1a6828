#include "repl/markdown_notebook.h"

#include <stdio.h>
#include <string.h>
#include "repl/notebook_markdown.h"

struct part {
    const char *s;
    size_t n;
};

struct reader {
    const char *text, *end;
    const char *loose; /* from here on nothing is in a cell yet */
    json_t *cells;
    json_t *code; /* the cell of code that nothing but blanks stands behind; NULL */
    bool bad;     /* a text is no UTF-8 */
    /* For a change of the text: */
    const json_t *before, *after; /* the notebooks' cells; NULL: it is only read */
    struct lg_buffer *out;
    const char *put;  /* up to here it is in `out` */
    bool new_outputs; /* of the cell `code` are there already */
};

static struct part line_at(const struct reader *r, const char *at)
{
    const char *stop = memchr(at, '\n', (size_t)(r->end - at));
    return (struct part){at, (size_t)((stop ? stop : r->end) - at)};
}

static const char *behind(const struct reader *r, struct part line)
{
    return line.s + line.n < r->end ? line.s + line.n + 1 : r->end;
}

/* How many backticks or tildes begin the line: 0 unless they are a fence. */
static size_t fence_length(struct part line)
{
    size_t n = 0;
    while (n < line.n && (*line.s == '`' || *line.s == '~') && line.s[n] == *line.s) n++;
    return n >= 3 ? n : 0;
}

/* The first word behind a fence. */
static struct part language_of(struct part line, size_t fence)
{
    struct part word = {line.s + fence, 0};
    const char *end = line.s + line.n;
    while (word.s < end && (*word.s == ' ' || *word.s == '\t')) word.s++;
    while (word.s + word.n < end && !strchr(" \t\r{", word.s[word.n])) word.n++;
    return word;
}

static bool is_word(struct part p, const char *word)
{
    return p.n == strlen(word) && memcmp(p.s, word, p.n) == 0;
}

static bool closes(struct part line, struct part fence)
{
    size_t n = fence_length(line);
    if (n < fence_length(fence) || *line.s != *fence.s) return false;
    while (n < line.n && strchr(" \t\r", line.s[n])) n++;
    return n == line.n;
}

static struct part trimmed(struct part p)
{
    for (struct part rest = p; rest.n; rest.n--, rest.s++) { /* whole blank lines */
        if (!strchr(" \t\r\n", *rest.s)) break;
        if (*rest.s == '\n') p = (struct part){rest.s + 1, rest.n - 1};
    }
    while (p.n && strchr(" \t\r\n", p.s[p.n - 1])) p.n--;
    return p;
}

static json_t *text_of(struct reader *r, struct part p)
{
    json_t *text = json_stringn(p.s, p.n);
    if (!text) r->bad = true;
    return text;
}

static json_t *add_cell(struct reader *r, const char *type, struct part source)
{
    json_t *cell = json_pack("{s:s, s:{}, s:o}", "cell_type", type, "metadata", "source", text_of(r, source));
    json_array_append_new(r->cells, cell);
    return cell;
}

/* What stands before `to` and is in no cell yet is text. */
static void end_text(struct reader *r, const char *to)
{
    struct part p = trimmed((struct part){r->loose, (size_t)(to - r->loose)});
    if (p.n == 0) return;
    add_cell(r, "markdown", p);
    r->code = NULL;
}

static bool is_code(struct part language, struct part body)
{
    return is_word(language, "lua") || (is_word(language, "cuda") && body.n >= 6 && memcmp(body.s, "%%cuda", 6) == 0);
}

static void put_until(struct reader *r, const char *at)
{
    lg_buffer_add(r->out, r->put, (size_t)(at - r->put));
    r->put = at;
}

static void put_outputs(struct reader *r, const json_t *outputs)
{
    struct lg_buffer text = {0};
    size_t i;
    json_t *output;
    json_array_foreach((json_t *)outputs, i, output) lg_buffer_puts(&text, sh_json_text(output, "text"));
    if (r->out->length && r->out->data[r->out->length - 1] != '\n') lg_buffer_puts(r->out, "\n");
    if (text.length) {
        lg_buffer_puts(r->out, "\n");
        sh_markdown_fenced(r->out, "", text.data, text.length);
    }
    if (text.failed) r->out->failed = true;
    lg_buffer_release(&text);
}

/* Puts the cell that was just added as it is to be. */
static void put_change(struct reader *r, struct part body, const char *next)
{
    size_t i = json_array_size(r->cells) - 1;
    const json_t *was = json_array_get(r->before, i), *now = json_array_get(r->after, i);
    const json_t *source = json_object_get(now, "source"), *outputs = json_object_get(now, "outputs");
    if (!json_equal(json_object_get(was, "source"), source)) {
        put_until(r, body.s);
        lg_buffer_add(r->out, json_string_value(source), json_string_length(source));
        if (json_string_length(source) && body.n == 0) lg_buffer_puts(r->out, "\n");
        r->put = body.s + body.n;
    }
    r->new_outputs = !json_equal(json_object_get(was, "outputs"), outputs);
    if (!r->new_outputs) return;
    put_until(r, next);
    put_outputs(r, outputs);
}

static void take_block(struct reader *r, struct part fence, struct part body, const char *next)
{
    struct part language = language_of(fence, fence_length(fence));
    bool code = is_code(language, body);
    struct part between = trimmed((struct part){r->loose, (size_t)(fence.s - r->loose)});
    if (code) {
        end_text(r, fence.s);
        if (body.n && body.s[body.n - 1] == '\n') body.n--;
        r->code = add_cell(r, "code", body);
        json_object_set_new(r->code, "outputs", json_array());
        json_object_set_new(r->code, "execution_count", json_null());
        if (r->out) put_change(r, body, next);
    } else if (r->code && language.n == 0 && between.n == 0) {
        json_array_append_new(
            json_object_get(r->code, "outputs"),
            json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name", "stdout", "text", text_of(r, body)));
        if (r->out && r->new_outputs) r->put = next;
    } else {
        return; /* text as any other */
    }
    r->loose = next;
}

/* From its first line on to behind its last one, or the text's end. */
static const char *read_block(struct reader *r, struct part fence)
{
    const char *start = behind(r, fence), *at = start;
    while (at < r->end) {
        struct part line = line_at(r, at);
        if (closes(line, fence)) {
            take_block(r, fence, (struct part){start, (size_t)(at - start)}, behind(r, line));
            return behind(r, line);
        }
        at = behind(r, line);
    }
    return at;
}

static void read_text(struct reader *r)
{
    for (const char *at = r->text; at < r->end;) {
        struct part line = line_at(r, at);
        at = fence_length(line) ? read_block(r, line) : behind(r, line);
    }
    end_text(r, r->end);
}

void sh_markdown_change(const char *text, size_t length, const json_t *notebook, struct lg_buffer *out)
{
    char why[SH_WHY];
    json_t *before = sh_markdown_notebook(text, length, why);
    struct reader r = {.text = text,
                       .end = text + length,
                       .loose = text,
                       .cells = json_array(),
                       .before = json_object_get(before, "cells"),
                       .after = json_object_get(notebook, "cells"),
                       .out = out,
                       .put = text};
    read_text(&r);
    put_until(&r, r.end);
    if (!before || sh_json_failed()) out->failed = true;
    json_decref(r.cells);
    json_decref(before);
}

json_t *sh_markdown_notebook(const char *text, size_t length, char why[SH_WHY])
{
    struct reader r = {.text = text, .end = text + length, .loose = text, .cells = json_array()};
    read_text(&r);
    if (!r.bad && !sh_json_failed())
        return json_pack("{s:o, s:o, s:i, s:i}", "cells", r.cells, "metadata", sh_document_metadata(), "nbformat", 4,
                         "nbformat_minor", 5);
    snprintf(why, SH_WHY, sh_json_failed() ? "out of memory" : "it is not UTF-8, which notebooks need");
    json_decref(r.cells);
    return NULL;
}
