/* The marks at which cells begin: `-- %% title [type] name=JSON ...`. */
#include <ctype.h>
#include <string.h>
#include "repl/percent_parts.h"

bool sh_next_line(const char *text, size_t length, size_t *at, struct sh_line *line)
{
    if (*at >= length) return false;
    const char *start = text + *at, *stop = memchr(start, '\n', length - *at);
    *line = (struct sh_line){start, stop ? (size_t)(stop - start) : length - *at};
    *at += line->n + (stop ? 1 : 0);
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static size_t skip_blanks(struct sh_line l, size_t at)
{
    while (at < l.n && is_blank(l.s[at])) at++;
    return at;
}

/* Behind `-- %%`, 0 when the line does not begin so; *depth counts percent signs beyond two. */
static size_t behind_sign(struct sh_line l, int *depth)
{
    if (l.n < 4 || memcmp(l.s, "--", 2) != 0) return 0;
    size_t at = skip_blanks(l, 2), signs = 0;
    while (at < l.n && l.s[at] == '%') at++, signs++;
    if (signs < 2 || (at < l.n && !is_blank(l.s[at]))) return 0;
    *depth = (int)signs - 2;
    return at;
}

bool sh_is_mark(struct sh_line line)
{
    int depth;
    return behind_sign(line, &depth) > 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-.:", c));
}

/* The JSON at *at, which goes behind it; NULL when there is none. */
static json_t *read_json(struct sh_line l, size_t *at)
{
    json_error_t e;
    json_t *value = json_loadb(l.s + *at, l.n - *at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &e);
    if (value) *at += (size_t)e.position;
    return value;
}

/* name=JSON at *at into the object. */
static bool read_pair(struct sh_line l, size_t *at, json_t *to)
{
    char name[128];
    size_t n = 0;
    while (*at + n < l.n && n < sizeof name - 1 && is_word(l.s[*at + n])) n++;
    if (n == 0 || *at + n >= l.n || l.s[*at + n] != '=') return false;
    memcpy(name, l.s + *at, n);
    name[n] = '\0';
    *at += n + 1;
    json_t *value = read_json(l, at);
    return value && json_object_set_new(to, name, value) == 0;
}

static const char *read_type(struct sh_line l, size_t *at)
{
    static const char *const types[][2] = {
        {"[markdown]", "markdown"}, {"[md]", "markdown"}, {"[raw]", "raw"}, {"[code]", "code"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t n = strlen(types[i][0]);
        if (l.n - *at < n || memcmp(l.s + *at, types[i][0], n) != 0) continue;
        *at += n;
        return types[i][1];
    }
    return NULL;
}

/* Everything behind the title, which must be all of the line from `at` on. */
static bool read_rest(struct sh_line l, size_t at, struct sh_mark *m)
{
    const char *type = read_type(l, &at);
    json_object_clear(m->metadata);
    m->type = type ? type : "code";
    at = skip_blanks(l, at);
    if (at < l.n && l.s[at] == '{') {
        json_t *object = read_json(l, &at);
        bool ok = json_is_object(object) && json_object_update(m->metadata, object) == 0;
        json_decref(object);
        return ok && skip_blanks(l, at) == l.n;
    }
    while (at < l.n) {
        if (!read_pair(l, &at, m->metadata)) return false;
        if (at < l.n && !is_blank(l.s[at])) return false;
        at = skip_blanks(l, at);
    }
    return true;
}

/* Names in marks that are of the cell and not of its metadata. */
static bool is_member(const char *name, const json_t *value, const char *type)
{
    if (!strcmp(name, "id")) return json_is_string(value);
    if (!strcmp(name, "lines")) return json_is_integer(value);
    if (!strcmp(name, "attachments")) return strcmp(type, "code") != 0 && sh_attachments_check(value);
    return !strcmp(name, "metadata") && json_is_object(value);
}

static bool take_members(struct sh_mark *m)
{
    const char *name;
    json_t *value;
    void *next;
    m->members = json_object();
    if (!m->members) return false;
    json_object_foreach_safe(m->metadata, next, name, value)
    {
        if (!is_member(name, value, m->type)) continue;
        json_object_set(m->members, name, value);
        json_object_del(m->metadata, name);
    }
    const json_t *lines = json_object_get(m->members, "lines");
    json_t *metadata = json_object_get(m->members, "metadata");
    m->id = json_string_value(json_object_get(m->members, "id"));
    m->attachments = json_object_get(m->members, "attachments");
    m->lines = lines && json_integer_value(lines) >= 0 ? (long)json_integer_value(lines) : -1;
    return !metadata || json_object_update(m->metadata, metadata) == 0;
}

bool sh_mark_read(struct sh_line line, struct sh_mark *m)
{
    int depth = 0;
    *m = (struct sh_mark){.type = "code", .metadata = json_object(), .lines = -1};
    if (!m->metadata) return false;
    size_t sign = behind_sign(line, &depth), start = skip_blanks(line, sign), at = start;
    while (line.n > start && is_blank(line.s[line.n - 1])) line.n--;
    /* The title is what stands before the first place from which all the rest can be read. */
    while (at < line.n && !read_rest(line, at, m)) {
        while (at < line.n && !is_blank(line.s[at])) at++;
        at = skip_blanks(line, at);
    }
    if (start >= line.n) at = line.n;
    if (at >= line.n && start < line.n) {
        json_object_clear(m->metadata);
        m->type = "code";
    }
    size_t end = at < line.n ? at : line.n;
    while (end > start && is_blank(line.s[end - 1])) end--;
    bool ok = take_members(m);
    if (end > start)
        ok = ok && json_object_set_new(m->metadata, "title", json_stringn(line.s + start, end - start)) == 0;
    if (depth > 0) ok = ok && json_object_set_new(m->metadata, "cell_depth", json_integer(depth)) == 0;
    return ok;
}

void sh_mark_release(struct sh_mark *m)
{
    json_decref(m->metadata);
    json_decref(m->members);
    *m = (struct sh_mark){0};
}

/* ---- writing */

/* Whether a title can stand as it is, and is read back as itself. */
static bool is_plain_title(const json_t *title)
{
    const char *s = json_string_value(title);
    size_t n = json_string_length(title);
    if (!s || !n || n != strlen(s) || is_blank(*s) || is_blank(s[n - 1])) return false;
    return !strpbrk(s, "\n\r[{=\"%");
}

/* Whether the name can stand before an equals sign, and is read back as one of metadata. */
static bool is_plain_name(const char *name)
{
    static const char *const taken[] = {"id", "attachments", "lines", "metadata"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0) return false;
    for (const char *c = name; *c; c++)
        if (!is_word(*c)) return false;
    return *name && strlen(name) < 128;
}

static void put_pair(const char *name, const json_t *value, struct lg_buffer *out)
{
    lg_buffer_printf(out, " %s=", name);
    sh_json_put(value, out);
}

/* The name that follows `last` in the order of bytes, or NULL. */
static const char *next_name(const json_t *object, const char *last)
{
    const char *name, *next = NULL;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        if (strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0)) next = name;
    }
    return next;
}

static void put_metadata(const json_t *metadata, struct lg_buffer *out)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)metadata, name, value)
    {
        if (is_plain_name(name)) continue;
        put_pair("metadata", metadata, out);
        return;
    }
    for (name = next_name(metadata, ""); name; name = next_name(metadata, name))
        put_pair(name, json_object_get(metadata, name), out);
}

static void put_count(const char *name, long value, struct lg_buffer *out)
{
    if (value >= 0) lg_buffer_printf(out, " %s=%ld", name, value);
}

void sh_mark_put(const json_t *cell, bool id, long lines, struct lg_buffer *out)
{
    const char *type = sh_json_text(cell, "cell_type");
    const json_t *given = json_object_get(cell, "metadata"), *attachments = json_object_get(cell, "attachments");
    json_t *metadata = given ? json_copy((json_t *)(size_t)given) : json_object();
    const json_t *title = json_object_get(metadata, "title"), *depth = json_object_get(metadata, "cell_depth");
    json_int_t signs = json_is_integer(depth) ? json_integer_value(depth) : 0;
    if (!metadata) out->failed = true;
    lg_buffer_puts(out, "-- %%");
    if (signs > 0 && signs < 10) {
        while (signs-- > 0) lg_buffer_puts(out, "%");
        json_object_del(metadata, "cell_depth");
    }
    if (is_plain_title(title)) {
        lg_buffer_printf(out, " %s", json_string_value(title));
        json_object_del(metadata, "title");
    }
    if (strcmp(type, "code") != 0) lg_buffer_printf(out, " [%s]", type);
    if (id) {
        lg_buffer_puts(out, " id=");
        sh_json_put(json_object_get(cell, "id"), out);
    }
    put_count("lines", lines, out);
    if (attachments) put_pair("attachments", attachments, out);
    json_object_del(metadata, SH_NOTES);
    json_object_del(metadata, SH_GAP);
    if (metadata) put_metadata(metadata, out);
    json_decref(metadata);
    lg_buffer_puts(out, "\n");
}
