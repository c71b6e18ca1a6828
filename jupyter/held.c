#include "jupyter/held.h"

#include <string.h>

#define PAUSE_NS   ((int64_t)50000000)   /* between two pictures ... */
#define BYTE_NS    ((int64_t)1000)       /* ... and for each of their bytes, */
#define LONGEST_NS ((int64_t)1000000000) /* up to this */

static bool is(const char *type, const char *other)
{
    return strcmp(type, other) == 0;
}

static bool clears(const char *type)
{
    return is(type, "clear_output");
}

static bool updates(const char *type)
{
    return is(type, "update_display_data");
}

static bool shows(const char *type)
{
    return is(type, "display_data") || is(type, "stream");
}

static const char *id_of(const json_t *content)
{
    const char *id = json_string_value(json_object_get(json_object_get(content, "transient"), "display_id"));
    return id ? id : "";
}

static size_t bytes_of(const json_t *content)
{
    const char *name;
    json_t *form;
    size_t bytes = json_string_length(json_object_get(content, "text"));
    json_object_foreach(json_object_get(content, "data"), name, form) bytes += json_string_length(form);
    return bytes;
}

void jp_held_begin(struct jp_held *h)
{
    h->sent = 0;
    h->bytes = 0;
}

bool jp_held_due(const struct jp_held *h, int64_t now)
{
    int64_t pause = PAUSE_NS + (int64_t)h->bytes * BYTE_NS;
    return !h->sent || now - h->sent >= (pause < LONGEST_NS ? pause : LONGEST_NS);
}

void jp_held_sent(struct jp_held *h, const char *type, const json_t *content, int64_t now)
{
    if ((clears(type) || updates(type)) && jp_held_due(h, now)) {
        h->sent = now;
        h->bytes = 0;
    }
    h->bytes += bytes_of(content);
}

/* Whether the message is one for the display of the id. */
static bool is_of(const struct jp_held_message *m, const char *type, const char *id)
{
    return is(m->type, type) && strcmp(id_of(m->content), id) == 0;
}

static bool is_updated_again(const struct jp_held *h, size_t i)
{
    bool again = false;
    for (size_t k = i + 1; k < h->count; k++)
        again |= is_of(&h->messages[k], h->messages[i].type, id_of(h->messages[i].content));
    return again;
}

/* What is shown now takes the place of all that is held in front of the last clear_output, but for updates: they may be
 * of what other cells show. A clear_output itself does so only now: with `wait` it waits for this. */
static void drop_cleared(struct jp_held *h)
{
    size_t last = h->count, kept = 0;
    while (last > 0 && !clears(h->messages[last - 1].type)) last--;
    for (size_t i = 0; i < h->count; i++) {
        struct jp_held_message *m = &h->messages[i];
        if (i + 1 >= last || (updates(m->type) && !is_updated_again(h, i)))
            h->messages[kept++] = *m;
        else
            json_decref(m->content);
    }
    h->count = kept;
}

/* Puts an update in the place of one before it, unless what it is of was shown in between. */
static bool replace_update(struct jp_held *h, json_t *content)
{
    for (size_t i = h->count; i-- > 0;) {
        struct jp_held_message *m = &h->messages[i];
        if (is_of(m, "display_data", id_of(content))) return false;
        if (!is_of(m, "update_display_data", id_of(content))) continue;
        json_decref(m->content);
        m->content = content;
        return true;
    }
    return false;
}

static bool waits(const char *type, const json_t *content)
{
    return clears(type) && json_is_true(json_object_get(content, "wait"));
}

size_t jp_held_ready(const struct jp_held *h)
{
    const struct jp_held_message *last = h->count ? &h->messages[h->count - 1] : NULL;
    return last && waits(last->type, last->content) ? h->count - 1 : h->count;
}

void jp_held_keep_shown(struct jp_held *h)
{
    size_t ready = jp_held_ready(h);
    if (ready == h->count) return;
    json_decref(h->messages[ready].content);
    h->count = ready;
}

bool jp_held_take(struct jp_held *h, const char *type, json_t *content, int64_t now)
{
    bool picture = clears(type) || updates(type);
    if (!content || (!picture && !shows(type))) return false;
    if (!h->count && !waits(type, content) && (!picture || jp_held_due(h, now))) return false;
    if (updates(type) && replace_update(h, content)) return true;
    if (shows(type)) drop_cleared(h);
    if (h->count == JP_HELD_MOST) return false;
    h->messages[h->count++] = (struct jp_held_message){type, content};
    return true;
}
