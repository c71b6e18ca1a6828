#include "repl/demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/document.h"
#include "repl/markdown.h"
#include "repl/notebook.h"
#include "runtime/memory.h"

static const char mark[] = "-->";
enum { MARK = sizeof mark - 1 };

/* Blanks around a text */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t without_blanks(const char *s, size_t length)
{
    while (length > 0 && is_blank(s[length - 1])) length--;
    return length;
}

static size_t line_start(const char *s, size_t at)
{
    while (at > 0 && s[at - 1] != '\n') at--;
    return at;
}

static size_t line_length(const char *s, size_t length)
{
    const char *end = memchr(s, '\n', length);
    return end ? (size_t)(end - s) : length;
}

/* Expected output in comments */

static bool is_marked(const char *line, size_t length)
{
    return length >= MARK && memcmp(line, mark, MARK) == 0;
}

size_t sh_demo_code_end(const char *code, size_t length)
{
    size_t end = length, last = without_blanks(code, length);
    while (last > 0) {
        size_t start = line_start(code, last);
        if (!is_marked(code + start, last - start)) break;
        end = start;
        if (start == 0) break;
        last = start - 1;
    }
    return end;
}

/* The comments' text, each line ended. */
static bool read_expected(const char *s, size_t length, struct sh_text *out)
{
    if (!sh_text_set(out, "", 0)) return false;
    while (length > 0) {
        size_t line = line_length(s, length), from = MARK + (line > MARK && s[MARK] == ' ');
        if (!is_marked(s, line)) break;
        if (!sh_text_append(out, s + from, line - from) || !sh_text_append(out, "\n", 1)) return false;
        if (line == length) break;
        s += line + 1;
        length -= line + 1;
    }
    return true;
}

/* Building */

/* The first heading, else the first line. */
static bool markdown_title(const struct sh_demo_cell *cell, struct sh_text *title)
{
    struct sh_markdown m = {0};
    if (!sh_markdown_parse(cell->text.bytes, cell->text.length, &m)) return false;
    const struct sh_md_node *node = m.root->first;
    while (node && node->kind != SH_MD_HEADING) node = node->next;
    if (!node) node = m.root->first;
    bool ok = !node || sh_markdown_words(node, title);
    sh_markdown_free(&m);
    return ok;
}

static bool make_title(struct sh_demo_cell *cell)
{
    struct sh_text *title = &cell->title;
    bool ok = sh_text_set(title, "", 0) && (!cell->markdown || markdown_title(cell, title));
    if (ok && title->length == 0) ok = sh_text_set(title, cell->text.bytes, cell->text.length);
    size_t line = ok ? strcspn(title->bytes, "\r\n") : 0;
    if (ok) sh_text_delete(title, line, title->length);
    return ok;
}

static bool build_cell(const struct sh_cell *from, struct sh_demo_cell *cell)
{
    const char *source = from->source;
    size_t length = without_blanks(source, from->length), end = length;
    *cell = (struct sh_demo_cell){
        .index = from->index, .markdown = from->markdown, .may_fail = from->may_fail, .is_volatile = from->is_volatile};
    if (!cell->markdown) end = sh_demo_code_end(source, length);
    cell->commented = end < length;
    if (end < length && !read_expected(source + end, length - end, &cell->expected)) return false;
    if (end == length && from->stored && !sh_text_set(&cell->expected, from->stored, strlen(from->stored)))
        return false;
    end = without_blanks(source, end);
    size_t start = 0, first;
    while (start < end && is_blank(source[start])) start++;
    first = line_start(source, start); /* the first line keeps its indent */
    return sh_text_set(&cell->text, source + first, end > first ? end - first : 0) && make_title(cell);
}

bool sh_demo_build(const struct sh_notebook *from, struct sh_demo *out)
{
    *out = (struct sh_demo){.cells = rt_calloc(from->count + 1, sizeof *out->cells)};
    bool ok = out->cells != NULL;
    for (size_t i = 0; i < from->count && ok; i++) {
        if (without_blanks(from->cells[i].source, from->cells[i].length) == 0) continue;
        ok = build_cell(&from->cells[i], &out->cells[out->count++]);
    }
    if (!ok) sh_demo_free(out);
    return ok;
}

bool sh_demo_load(const char *path, struct sh_demo *out, json_t **document, char why[SH_WHY])
{
    struct sh_notebook n = {0};
    sh_json_watch();
    json_t *read = sh_document_load(path, why);
    bool ok = read && sh_notebook_view(read, &n, why);
    if (ok && !sh_demo_build(&n, out)) ok = snprintf(why, SH_WHY, "out of memory") < 0;
    sh_notebook_free(&n);
    if (ok && document)
        *document = read;
    else
        json_decref(read);
    return ok;
}

bool sh_demo_source(const struct sh_demo_cell *cell, const struct sh_text *output, struct sh_text *source)
{
    size_t length = without_blanks(output->bytes, output->length);
    bool ok = sh_text_set(source, cell->text.bytes, cell->text.length);
    for (size_t at = 0, line; at < length && ok; at += line + 1) {
        line = line_length(output->bytes + at, length - at);
        ok = sh_text_append(source, source->length ? "\n" : "", source->length > 0) &&
             sh_text_append(source, mark, MARK) && sh_text_append(source, " ", line > 0) &&
             sh_text_append(source, output->bytes + at, line);
    }
    return ok;
}

void sh_demo_free(struct sh_demo *d)
{
    for (size_t i = 0; i < d->count; i++) {
        sh_text_free(&d->cells[i].text);
        sh_text_free(&d->cells[i].expected);
        sh_text_free(&d->cells[i].title);
    }
    free(d->cells);
    *d = (struct sh_demo){0};
}
