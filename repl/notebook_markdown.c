#include "repl/notebook_markdown.h"

#include <string.h>
#include "repl/html.h"
#include "repl/text.h"

/* The longest run of backticks in a text. */
static size_t longest_ticks(const char *text, size_t length)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < length; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

static void put_ticks(struct lg_buffer *b, size_t count)
{
    while (count-- > 0) lg_buffer_puts(b, "`");
}

void sh_markdown_fenced(struct lg_buffer *b, const char *language, const char *text, size_t length)
{
    size_t ticks = longest_ticks(text, length);
    ticks = ticks < 3 ? 3 : ticks + 1;
    put_ticks(b, ticks);
    lg_buffer_puts(b, language);
    lg_buffer_puts(b, "\n");
    lg_buffer_add(b, text, length);
    if (length && text[length - 1] != '\n') lg_buffer_puts(b, "\n");
    put_ticks(b, ticks);
    lg_buffer_puts(b, "\n");
}

/* Text for a terminal, without its colours. */
static void put_plain(struct lg_buffer *b, const char *text, size_t length)
{
    struct sh_text plain = {0};
    if (!sh_text_append(&plain, text, length)) b->failed = true;
    sh_strip_escapes(&plain);
    if (plain.length) sh_markdown_fenced(b, "", plain.bytes, plain.length);
    sh_text_free(&plain);
}

/* With the plain text's first line in place of it for who does not see it. */
static void put_image(struct lg_buffer *b, const json_t *bundle, const char *mime, const char *data, size_t length)
{
    const char *text = sh_json_text(bundle, "text/plain");
    lg_buffer_puts(b, "![");
    for (; *text && *text != '\n'; text++) {
        if (strchr("[]\\`*_<", *text)) lg_buffer_puts(b, "\\");
        lg_buffer_add(b, text, 1);
    }
    lg_buffer_puts(b, "](");
    sh_html_data_address(b, mime, data, length);
    lg_buffer_puts(b, ")\n");
}

static void put_bundle(struct lg_buffer *b, const json_t *data)
{
    static const char *const forms[] = {"image/svg+xml", "image/png",  "image/jpeg", "image/gif",
                                        "text/markdown", "text/plain", "text/html"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const json_t *form = json_object_get(data, forms[i]);
        const char *text = json_string_value(form);
        size_t length = json_string_length(form);
        if (!text) continue;
        if (i < 4) {
            put_image(b, data, forms[i], text, length);
        } else if (i == 5) {
            put_plain(b, text, length);
        } else {
            lg_buffer_add(b, text, length);
            lg_buffer_puts(b, "\n");
        }
        return;
    }
}

static void put_error(struct lg_buffer *b, const json_t *output)
{
    struct lg_buffer text = {0};
    size_t i;
    json_t *line;
    json_array_foreach(json_object_get(output, "traceback"), i, line)
    {
        lg_buffer_add(&text, json_string_value(line), json_string_length(line));
        lg_buffer_puts(&text, "\n");
    }
    if (text.length) put_plain(b, text.data, text.length);
    b->failed = b->failed || text.failed;
    lg_buffer_release(&text);
}

static void put_output(struct lg_buffer *b, const json_t *output)
{
    const json_t *text = json_object_get(output, "text");
    lg_buffer_puts(b, "\n");
    if (strcmp(sh_json_text(output, "output_type"), "error") == 0)
        put_error(b, output);
    else if (json_is_string(text))
        put_plain(b, json_string_value(text), json_string_length(text));
    else
        put_bundle(b, json_object_get(output, "data"));
}

/* The text, in which attachment:NAME becomes the picture itself. */
static void put_text(struct lg_buffer *b, const char *text, const json_t *attachments)
{
    static const char scheme[] = "(attachment:";
    for (const char *at; (at = strstr(text, scheme));) {
        const char *mime = NULL, *name;
        json_t *attachment, *data = NULL;
        size_t n = strcspn(at + strlen(scheme), ")");
        json_object_foreach((json_t *)attachments, name, attachment)
        {
            if (strlen(name) != n || memcmp(name, at + strlen(scheme), n) != 0) continue;
            void *first = json_object_iter(attachment);
            mime = first ? json_object_iter_key(first) : NULL;
            data = first ? json_object_iter_value(first) : NULL;
        }
        lg_buffer_add(b, text, (size_t)(at + 1 - text));
        text = at + 1;
        if (!json_is_string(data)) continue;
        sh_html_data_address(b, mime, json_string_value(data), json_string_length(data));
        text = at + strlen(scheme) + n;
    }
    lg_buffer_puts(b, text);
}

static bool is_empty(const json_t *cell)
{
    const json_t *source = json_object_get(cell, "source");
    bool blank = strspn(json_string_value(source), " \t\r\n") == json_string_length(source);
    return blank && json_array_size(json_object_get(cell, "outputs")) == 0;
}

static void put_cell(struct lg_buffer *b, const json_t *cell, const char *language)
{
    const json_t *source = json_object_get(cell, "source"), *outputs = json_object_get(cell, "outputs");
    const char *text = json_string_value(source);
    size_t i, length = json_string_length(source);
    json_t *output;
    if (strcmp(sh_json_text(cell, "cell_type"), "code") == 0) {
        bool cuda = strncmp(text, "%%cuda", 6) == 0;
        sh_markdown_fenced(b, cuda ? "cuda" : language, text, length);
        json_array_foreach((json_t *)outputs, i, output) put_output(b, output);
    } else {
        put_text(b, text, json_object_get(cell, "attachments"));
        if (length && text[length - 1] != '\n') lg_buffer_puts(b, "\n");
    }
}

void sh_notebook_markdown(const json_t *notebook, struct lg_buffer *out)
{
    size_t i;
    json_t *cell;
    const json_t *info = json_object_get(json_object_get(notebook, "metadata"), "language_info");
    const char *language = sh_json_text(info, "name");
    lg_buffer_puts(out, "");
    json_array_foreach(json_object_get(notebook, "cells"), i, cell)
    {
        if (is_empty(cell)) continue;
        if (out->length) lg_buffer_puts(out, "\n");
        put_cell(out, cell, *language ? language : "lua");
    }
    out->failed = out->failed || sh_json_failed();
}
