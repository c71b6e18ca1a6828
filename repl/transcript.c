#include "repl/transcript.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

static struct sh_output_item *add(struct sh_transcript *t, const char *id, bool block)
{
    struct sh_output_item *more = rt_realloc(t->items, (t->count + 1) * sizeof *more);
    char *copy = id ? rt_strdup(id) : NULL;
    if (more) t->items = more;
    if (!more || (id && !copy)) {
        free(copy);
        t->failed = true;
        return NULL;
    }
    t->items[t->count] = (struct sh_output_item){.id = copy, .block = block};
    return &t->items[t->count++];
}

static void append(struct sh_transcript *t, struct sh_output_item *item, const char *s, size_t length)
{
    if (item && !sh_text_append(&item->text, s, length)) t->failed = true;
}

static void clear(struct sh_transcript *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->items[i].id);
        sh_text_free(&t->items[i].text);
    }
    t->count = 0;
}

static void on_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    struct sh_transcript *t = context;
    struct sh_output_item *last = t->count ? &t->items[t->count - 1] : NULL;
    (void)which;
    append(t, last && !last->block ? last : add(t, NULL, false), text, length);
}

static const struct lg_mime *plain(const struct lg_bundle *bundle)
{
    for (size_t i = 0; i < bundle->count; i++)
        if (strcmp(bundle->items[i].type, "text/plain") == 0) return &bundle->items[i];
    return NULL;
}

static void on_display(void *context, const struct lg_bundle *bundle, const char *id, bool update)
{
    struct sh_transcript *t = context;
    const struct lg_mime *text = plain(bundle);
    bool known = false;
    if (!text) return;
    for (size_t i = 0; i < t->count && update && id; i++) {
        struct sh_output_item *item = &t->items[i];
        if (!item->id || strcmp(item->id, id) != 0) continue;
        known = true;
        if (!sh_text_set(&item->text, text->data, text->length)) t->failed = true;
    }
    if (!known && !update) append(t, add(t, id, true), text->data, text->length);
}

static void on_result(void *context, int count, const struct lg_bundle *bundle)
{
    (void)count;
    on_display(context, bundle, NULL, false);
}

static void on_clear(void *context, bool wait)
{
    (void)wait;
    clear(context);
}

struct lg_sink sh_transcript_sink(struct sh_transcript *t)
{
    return (struct lg_sink){
        .context = t, .stream = on_stream, .display = on_display, .result = on_result, .clear_output = on_clear};
}

void sh_transcript_error(struct sh_transcript *t, const struct lg_error *error)
{
    struct sh_output_item *item = add(t, NULL, true);
    for (size_t i = 0; i < error->traceback_count; i++) {
        append(t, item, error->traceback[i], strlen(error->traceback[i]));
        append(t, item, "\n", 1);
    }
    if (error->traceback_count == 0) append(t, item, error->value, strlen(error->value));
}

bool sh_transcript_take(struct sh_transcript *t, struct sh_text *out)
{
    bool ok = sh_text_set(out, "", 0) && !t->failed;
    for (size_t i = 0; i < t->count; i++) {
        const struct sh_output_item *item = &t->items[i];
        if (item->text.length == 0) continue;
        ok = ok && (item->block ? sh_text_append_block : sh_text_append)(out, item->text.bytes, item->text.length);
    }
    sh_strip_escapes(out);
    clear(t);
    free(t->items);
    *t = (struct sh_transcript){0};
    return ok;
}
