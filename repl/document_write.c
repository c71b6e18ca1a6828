/* Notebooks as the nbformat package writes them: keys sorted, indented by one, texts of several lines as lists of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>
#include "repl/document.h"
#include "runtime/memory.h"

static void put_string(struct lg_buffer *b, const char *s, size_t n)
{
    static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    lg_buffer_puts(b, "\"");
    for (size_t i = 0, start = 0; i <= n; i++) {
        unsigned char c = i < n ? (unsigned char)s[i] : 0;
        if (i < n && c >= 0x20 && c != '"' && c != '\\') continue;
        lg_buffer_add(b, s + start, i - start);
        start = i + 1;
        if (i == n) break;
        const char *known;
        for (known = escapes; *known && (unsigned char)*known != c;) known += 2;
        if (*known)
            lg_buffer_printf(b, "\\%c", known[1]);
        else
            lg_buffer_printf(b, "\\u%04x", c);
    }
    lg_buffer_puts(b, "\"");
}

/* The shortest text that is this number, as Python's repr has it. */
static void put_real(struct lg_buffer *b, double value)
{
    char text[40];
    int precision = 1;
    do snprintf(text, sizeof text, "%.*e", precision - 1, value);
    while (strtod(text, NULL) != value && ++precision <= 17);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        int decimals = precision - 1 - exponent;
        lg_buffer_printf(b, "%.*f", decimals > 0 ? decimals : 1, value);
    } else {
        lg_buffer_puts(b, text);
    }
}

/* indent is the number of blanks before what is inside; -1 for one line. */
static void put_value(struct lg_buffer *b, const json_t *value, int indent);

static void put_break(struct lg_buffer *b, int indent)
{
    if (indent >= 0) lg_buffer_printf(b, "\n%*s", indent, "");
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_object(struct lg_buffer *b, const json_t *object, int indent)
{
    size_t n = 0, count = json_object_size(object);
    const char **keys = rt_calloc(count + 1, sizeof *keys), *key;
    json_t *item;
    if (!keys) {
        b->failed = true;
        return;
    }
    json_object_foreach((json_t *)object, key, item) keys[n++] = key;
    qsort(keys, n, sizeof *keys, compare_keys);
    lg_buffer_puts(b, "{");
    for (size_t i = 0; i < n; i++) {
        if (i) lg_buffer_puts(b, indent < 0 ? ", " : ",");
        put_break(b, indent);
        put_string(b, keys[i], strlen(keys[i]));
        lg_buffer_puts(b, ": ");
        put_value(b, json_object_get(object, keys[i]), indent < 0 ? indent : indent + 1);
    }
    if (n) put_break(b, indent < 0 ? indent : indent - 1);
    lg_buffer_puts(b, "}");
    free(keys);
}

static void put_array(struct lg_buffer *b, const json_t *array, int indent)
{
    size_t n = json_array_size(array);
    lg_buffer_puts(b, "[");
    for (size_t i = 0; i < n; i++) {
        if (i) lg_buffer_puts(b, indent < 0 ? ", " : ",");
        put_break(b, indent);
        put_value(b, json_array_get(array, i), indent < 0 ? indent : indent + 1);
    }
    if (n) put_break(b, indent < 0 ? indent : indent - 1);
    lg_buffer_puts(b, "]");
}

static void put_value(struct lg_buffer *b, const json_t *value, int indent)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: put_object(b, value, indent); return;
    case JSON_ARRAY: put_array(b, value, indent); return;
    case JSON_STRING: put_string(b, json_string_value(value), json_string_length(value)); return;
    case JSON_INTEGER: lg_buffer_printf(b, "%lld", (long long)json_integer_value(value)); return;
    case JSON_REAL: put_real(b, json_real_value(value)); return;
    case JSON_TRUE: lg_buffer_puts(b, "true"); return;
    case JSON_FALSE: lg_buffer_puts(b, "false"); return;
    case JSON_NULL: lg_buffer_puts(b, "null"); return;
    }
}

void sh_json_put(const json_t *value, struct lg_buffer *out)
{
    put_value(out, value, -1);
}

/* ---- texts of several lines become lists of lines */

/* Behind the line that begins at `at`, as Python's splitlines sees lines. */
static size_t line_end(const char *s, size_t n, size_t at)
{
    while (at < n) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s + at, (utf8proc_ssize_t)(n - at), &c);
        at += used > 0 ? (size_t)used : 1;
        if (c == '\r' && at < n && s[at] == '\n') return at + 1;
        if ((c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029) return at;
    }
    return n;
}

static void split_member(json_t *object, const char *key)
{
    const json_t *text = json_object_get(object, key);
    if (!json_is_string(text)) return;
    const char *s = json_string_value(text);
    size_t n = json_string_length(text);
    json_t *lines = json_array();
    for (size_t at = 0, end; lines && at < n; at = end) {
        end = line_end(s, n, at);
        json_array_append_new(lines, json_stringn_nocheck(s + at, end - at));
    }
    json_object_set_new(object, key, lines);
}

static void split_bundle(json_t *bundle)
{
    const char *key;
    json_t *item;
    void *next;
    json_object_foreach_safe(bundle, next, key, item)
    {
        bool text = strncmp(key, "text/", 5) == 0 || !strcmp(key, "application/javascript");
        if (text || !strcmp(key, "image/svg+xml")) split_member(bundle, key);
    }
}

static void split_cell(json_t *cell)
{
    size_t i;
    const char *name;
    json_t *output, *attachment;
    split_member(cell, "source");
    json_object_del(json_object_get(cell, "metadata"), "trusted");
    json_object_foreach(json_object_get(cell, "attachments"), name, attachment) split_bundle(attachment);
    json_array_foreach(json_object_get(cell, "outputs"), i, output)
    {
        const char *type = sh_json_text(output, "output_type");
        if (!strcmp(type, "stream")) split_member(output, "text");
        if (!strcmp(type, "execute_result") || !strcmp(type, "display_data"))
            split_bundle(json_object_get(output, "data"));
    }
}

void sh_document_put(const json_t *notebook, struct lg_buffer *out)
{
    static const char *const transient[] = {"orig_nbformat", "orig_nbformat_minor", "signature"};
    size_t i;
    json_t *cell, *copy = json_deep_copy(notebook);
    if (!copy) {
        out->failed = true;
        return;
    }
    for (i = 0; i < 3; i++) json_object_del(json_object_get(copy, "metadata"), transient[i]);
    json_array_foreach(json_object_get(copy, "cells"), i, cell) split_cell(cell);
    put_value(out, copy, 1);
    lg_buffer_puts(out, "\n");
    json_decref(copy);
    out->failed = out->failed || sh_json_failed();
}
