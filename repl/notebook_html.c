#include "repl/notebook_html.h"

#include <string.h>
#include "repl/html.h"

static const char style_sheet[] =
    "<style>.cell{margin:1rem 0}.in{display:flex;gap:.6rem}.in .count{color:var(--dim);min-width:2.6rem;text-align:right;"
    "font:12px/1.45 ui-monospace,monospace;padding-top:1.25rem}.in pre{flex:1;min-width:0}.out{margin:.4rem 0 .4rem 3.2rem;"
    "overflow-x:auto}.out .lunarray{font-size:13px;line-height:1.45}.out .lunarray :is(th,td){border:0}"
    ".out pre{padding:.1rem .8rem;white-space:pre-wrap}.err pre{border-left:4px solid var(--c1)}"
    ".stderr pre{background:var(--box)}"
    "@media(max-width:40rem){.in .count{display:none}.out{margin-left:0}}</style>\n";

/* With the plain text in place of it for who does not see it. */
static void put_image(struct lg_buffer *b, const json_t *bundle, const char *mime, const char *data, size_t length)
{
    const char *text = sh_json_text(bundle, "text/plain");
    lg_buffer_puts(b, "<img alt=\"");
    sh_html_attribute(b, text, strlen(text));
    lg_buffer_puts(b, "\" src=\"");
    sh_html_data_address(b, mime, data, length);
    lg_buffer_puts(b, "\">\n");
}

static void put_text(struct lg_buffer *b, const char *text, size_t length)
{
    lg_buffer_puts(b, "<pre>");
    sh_html_ansi(b, text, length);
    lg_buffer_puts(b, "</pre>\n");
}

/* The richest form that a page without scripts can show. */
static void put_bundle(struct lg_buffer *b, const json_t *data)
{
    static const char *const forms[] = {"text/html", "image/svg+xml", "image/png", "image/jpeg",
                                        "image/gif", "text/markdown", "text/plain"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const json_t *form = json_object_get(data, forms[i]);
        const char *text = json_string_value(form);
        size_t length = json_string_length(form);
        if (!text) continue;
        if (i == 0)
            lg_buffer_add(b, text, length);
        else if (i < 5)
            put_image(b, data, forms[i], text, length);
        else if (i == 5)
            sh_html_markdown_text(b, text, length, NULL);
        else
            put_text(b, text, length);
        return;
    }
}

static void put_error(struct lg_buffer *b, const json_t *output)
{
    size_t i;
    json_t *line;
    lg_buffer_puts(b, "<pre>");
    json_array_foreach(json_object_get(output, "traceback"), i, line)
    {
        if (i) lg_buffer_puts(b, "\n");
        if (json_is_string(line)) sh_html_ansi(b, json_string_value(line), json_string_length(line));
    }
    lg_buffer_puts(b, "</pre>\n");
}

static void put_output(struct lg_buffer *b, const json_t *output)
{
    const char *type = sh_json_text(output, "output_type");
    const json_t *text = json_object_get(output, "text");
    bool error = strcmp(type, "error") == 0, stderr_ = strcmp(sh_json_text(output, "name"), "stderr") == 0;
    lg_buffer_printf(b, "<div class=\"out%s\">\n", error ? " err" : stderr_ ? " stderr" : "");
    if (error)
        put_error(b, output);
    else if (json_is_string(text))
        put_text(b, json_string_value(text), json_string_length(text));
    else
        put_bundle(b, json_object_get(output, "data"));
    lg_buffer_puts(b, "</div>\n");
}

static void put_code_cell(struct lg_buffer *b, const json_t *cell, const char *language)
{
    size_t i;
    json_t *output;
    const json_t *source = json_object_get(cell, "source"), *count = json_object_get(cell, "execution_count");
    lg_buffer_puts(b, "<div class=\"in\"><span class=\"count\">");
    if (json_is_integer(count)) lg_buffer_printf(b, "[%lld]", (long long)json_integer_value(count));
    lg_buffer_puts(b, "</span>");
    sh_html_code(b, language, json_string_value(source), json_string_length(source));
    lg_buffer_puts(b, "</div>\n");
    json_array_foreach(json_object_get(cell, "outputs"), i, output) put_output(b, output);
}

static void put_cell(struct lg_buffer *b, const json_t *cell, const char *language)
{
    const char *type = sh_json_text(cell, "cell_type");
    const json_t *source = json_object_get(cell, "source");
    lg_buffer_puts(b, "<div class=\"cell\">\n");
    if (strcmp(type, "code") == 0)
        put_code_cell(b, cell, language);
    else if (strcmp(type, "markdown") == 0)
        sh_html_markdown_text(b, json_string_value(source), json_string_length(source),
                              json_object_get(cell, "attachments"));
    lg_buffer_puts(b, "</div>\n");
}

/* The first heading of the first level in a cell of Markdown. */
static bool find_title(struct lg_buffer *b, const json_t *cell, struct sh_text *title)
{
    struct sh_markdown m;
    const json_t *source = json_object_get(cell, "source");
    if (strcmp(sh_json_text(cell, "cell_type"), "markdown") != 0) return false;
    if (!sh_markdown_parse(json_string_value(source), json_string_length(source), &m)) {
        b->failed = true;
        return false;
    }
    bool found = false;
    for (const struct sh_md_node *n = m.root->first; n && !found; n = n->next) {
        if (n->kind != SH_MD_HEADING || n->number != 1) continue;
        if (!sh_markdown_words(n, title)) b->failed = true;
        found = title->length > 0;
    }
    sh_markdown_free(&m);
    return found;
}

void sh_notebook_html(const json_t *notebook, const char *name, struct lg_buffer *out)
{
    size_t i;
    json_t *cell;
    struct sh_text title = {0};
    const json_t *metadata = json_object_get(notebook, "metadata"), *cells = json_object_get(notebook, "cells");
    const char *language = sh_json_text(json_object_get(metadata, "language_info"), "name");
    bool found = false;
    json_array_foreach((json_t *)cells, i, cell) found = found || find_title(out, cell, &title);
    sh_html_head(out, found ? title.bytes : name, false);
    sh_text_free(&title);
    lg_buffer_puts(out, style_sheet);
    json_array_foreach((json_t *)cells, i, cell) put_cell(out, cell, *language ? language : "lua");
    lg_buffer_puts(out, "</body>\n</html>\n");
    out->failed = out->failed || sh_json_failed();
}
