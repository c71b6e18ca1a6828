/* The sections at the end of a PTX text: lines such as ".b8 12,34", ".b64 $L__tmp3", ".b32 .debug_loc+225" and labels.
 */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/trace_debug.h"

#define MAX_BYTES (64u << 20)

struct reader {
    const char *at, *end;
    struct simt_section *out;
    uint32_t room, link_room, label_room;
    bool failed;
};

static void *grow(struct reader *r, void *array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room) return array;
    uint32_t n = *room ? *room * 2 : 64;
    void *more = n <= MAX_BYTES ? rt_realloc(array, n * size) : NULL;
    if (!more) {
        r->failed = true;
        return NULL;
    }
    *room = n;
    return more;
}

static void add_number(struct reader *r, uint64_t v, uint32_t bytes)
{
    struct simt_section *s = r->out;
    for (uint32_t k = 0; k < bytes && !r->failed; k++) {
        void *more = grow(r, s->bytes, s->size, &r->room, 1);
        if (!more) return;
        s->bytes = more;
        s->bytes[s->size++] = (uint8_t)(v >> 8 * k);
    }
}

/* Notes that the symbol stands at the end of what was read so far. */
static void add_name(struct reader *r, struct simt_section_name **list, uint32_t *count, uint32_t *room,
                     const char *name, size_t length)
{
    void *more = grow(r, *list, *count, room, sizeof **list);
    if (!more) return;
    *list = more;
    char *symbol = rt_copy_bytes(name, length);
    if (symbol)
        (*list)[(*count)++] = (struct simt_section_name){r->out->size, symbol};
    else
        r->failed = true;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '.' || c == '%';
}

static size_t name_length(const struct reader *r)
{
    size_t n = 0;
    while (r->at + n < r->end && is_name(r->at[n])) n++;
    return n;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

static void skip_line(struct reader *r)
{
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = end ? end + 1 : r->end;
}

static uint64_t read_number(struct reader *r)
{
    uint64_t v = 0, base = 10;
    bool negative = r->at < r->end && *r->at == '-';
    r->at += negative;
    if (r->end - r->at > 2 && r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X')) {
        base = 16;
        r->at += 2;
    }
    for (; r->at < r->end; r->at++) {
        char c = *r->at;
        unsigned d = c >= '0' && c <= '9'                 ? (unsigned)(c - '0')
                     : base == 16 && c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : base == 16 && c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                          : 16;
        if (d >= base) break;
        v = v * base + d;
    }
    return negative ? 0 - v : v;
}

/* NUMBER, SYMBOL, SYMBOL+NUMBER, SYMBOL-SYMBOL: one element of a list. */
static void read_element(struct reader *r, uint32_t bytes)
{
    skip_blanks(r);
    char c = r->at < r->end ? *r->at : '\n';
    if ((c >= '0' && c <= '9') || c == '-') {
        add_number(r, read_number(r), bytes);
        return;
    }
    const char *name = r->at;
    size_t n = name_length(r);
    if (!n) return;
    r->at += n;
    skip_blanks(r);
    uint64_t v = 0;
    if (r->at < r->end && *r->at == '+') {
        r->at++;
        skip_blanks(r);
        v = read_number(r);
    }
    struct simt_section *s = r->out; /* a section's own name stands for its start: 0 */
    if (*name != '.') add_name(r, &s->links, &s->link_count, &r->link_room, name, n);
    add_number(r, v, bytes);
}

static void read_list(struct reader *r, uint32_t bytes)
{
    do {
        const char *before = r->at;
        read_element(r, bytes);
        skip_blanks(r);
        if (r->at == before || r->at >= r->end || *r->at != ',') break;
        r->at++;
    } while (!r->failed);
    skip_line(r);
}

static void read_lines(struct reader *r)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } sizes[] = {{".b8", 1}, {".b16", 2}, {".b32", 4}, {".b64", 8}};
    while (r->at < r->end && *r->at != '}' && !r->failed) {
        skip_blanks(r);
        size_t n = name_length(r), k = 0;
        while (n && k < 4 && (strlen(sizes[k].name) != n || memcmp(sizes[k].name, r->at, n))) k++;
        if (n && k < 4) {
            r->at += n;
            read_list(r, sizes[k].bytes);
        } else if (n && r->at + n < r->end && r->at[n] == ':') {
            struct simt_section *s = r->out;
            add_name(r, &s->labels, &s->label_count, &r->label_room, r->at, n);
            r->at += n + 1;
        } else if (r->at < r->end && *r->at != '}') {
            skip_line(r);
        }
    }
}

/* Finds ".section NAME" and stands behind the '{'. */
static bool find_section(struct reader *r, const char *name)
{
    size_t n = strlen(name);
    while (r->at < r->end) {
        skip_blanks(r);
        bool section = r->end - r->at > 9 && !memcmp(r->at, ".section", 8);
        if (section) {
            r->at += 8;
            skip_blanks(r);
            section = name_length(r) == n && !memcmp(r->at, name, n);
        }
        if (!section) {
            skip_line(r);
            continue;
        }
        const char *open = memchr(r->at, '{', (size_t)(r->end - r->at));
        if (!open) return false;
        r->at = open + 1;
        skip_line(r);
        return true;
    }
    return false;
}

enum rt_status simt_section_read(const char *ptx, size_t length, const char *name, struct simt_section *out,
                                 struct rt_error *e)
{
    *out = (struct simt_section){0};
    struct reader r = {.at = ptx, .end = ptx + length, .out = out};
    if (find_section(&r, name)) read_lines(&r);
    return r.failed ? rt_fail(e, RT_NOMEM, "out of memory while reading the section %s", name) : RT_OK;
}

void simt_section_free(struct simt_section *s)
{
    for (uint32_t k = 0; k < s->link_count; k++) free(s->links[k].symbol);
    for (uint32_t k = 0; k < s->label_count; k++) free(s->labels[k].symbol);
    free(s->links);
    free(s->labels);
    free(s->bytes);
    *s = (struct simt_section){0};
}

const char *simt_section_link(const struct simt_section *s, uint32_t offset)
{
    uint32_t low = 0, high = s->link_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->links[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->link_count && s->links[low].offset == offset ? s->links[low].symbol : NULL;
}
