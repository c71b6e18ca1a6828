/* What notebooks (nbformat 4.5) want of metadata, so that no script becomes one that Jupyter finds wrong. */
#include <stdio.h>
#include <string.h>
#include "repl/percent_parts.h"

static bool is_name(const json_t *v)
{
    return json_string_length(v) > 0;
}

static bool is_text(const json_t *v)
{
    return json_is_string(v);
}

static bool is_flag(const json_t *v)
{
    return json_is_boolean(v);
}

static bool is_scrolled(const json_t *v)
{
    return json_is_boolean(v) || (json_is_string(v) && strcmp(json_string_value(v), "auto") == 0);
}

static bool is_object(const json_t *v)
{
    return json_is_object(v);
}

static bool is_list(const json_t *v)
{
    return json_is_array(v);
}

static bool is_object_of_texts(const json_t *v)
{
    const char *key;
    json_t *item;
    bool all = json_is_object(v);
    json_object_foreach((json_t *)v, key, item) all = all && json_is_string(item);
    return all;
}

static bool is_tags(const json_t *v)
{
    bool all = json_is_array(v);
    for (size_t i = 0; i < json_array_size(v) && all; i++) {
        const json_t *tag = json_array_get(v, i);
        all = is_name(tag) && !strchr(json_string_value(tag), ',');
        for (size_t j = 0; j < i && all; j++) all = !json_equal(tag, json_array_get(v, j));
    }
    return all;
}

static bool is_kernelspec(const json_t *v)
{
    return json_is_string(json_object_get(v, "name")) && json_is_string(json_object_get(v, "display_name"));
}

static bool is_language(const json_t *v)
{
    return json_is_string(json_object_get(v, "name"));
}

static const struct rule {
    const char *type; /* of the cell; "" for all cells, NULL for the notebook */
    const char *name;
    bool (*holds)(const json_t *value);
    const char *what;
} rules[] = {
    {"", "tags", is_tags, "a list of different texts without commas, as in tags=[\"intro\"]"},
    {"", "name", is_name, "a text that is not empty"},
    {"", "jupyter", is_object, "an object, as in jupyter={\"source_hidden\": true}"},
    {"code", "collapsed", is_flag, "true or false"},
    {"code", "scrolled", is_scrolled, "true, false or \"auto\""},
    {"code", "execution", is_object_of_texts, "an object of texts"},
    {"raw", "format", is_text, "a text, as in format=\"text/html\""},
    {NULL, "kernelspec", is_kernelspec, "an object with name and display_name"},
    {NULL, "language_info", is_language, "an object with a name"},
    {NULL, "title", is_text, "a text"},
    {NULL, "authors", is_list, "a list"},
};

static bool concerns(const struct rule *r, const char *type)
{
    if (!type || !r->type) return !type && !r->type;
    return !*r->type || strcmp(r->type, type) == 0;
}

bool sh_metadata_check(const json_t *metadata, const char *type, char *why, size_t size)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const json_t *value = json_object_get(metadata, rules[i].name);
        if (!value || !concerns(&rules[i], type) || rules[i].holds(value)) continue;
        snprintf(why, size, "%s must be %s", rules[i].name, rules[i].what);
        return false;
    }
    return true;
}

bool sh_attachments_check(const json_t *attachments)
{
    const char *name, *mime;
    json_t *bundle, *data;
    bool all = json_is_object(attachments);
    json_object_foreach((json_t *)attachments, name, bundle)
    {
        all = all && json_is_object(bundle);
        json_object_foreach(bundle, mime, data) all = all && json_is_string(data);
    }
    return all;
}
