#include "runtime/csv.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/number.h"

#define POLL_EVERY 4096 /* rows between looks at whether the user wants to stop */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_line_end(const struct rt_csv *c, const char *at)
{
    return at == c->end || *at == '\n' || *at == '\r';
}

static const char *skip_blanks(const struct rt_csv *c, const char *at)
{
    while (at < c->end && is_blank(*at) && *at != c->form.delimiter) at++;
    return at;
}

/* Behind the line's end. */
static const char *next_line(const struct rt_csv *c, const char *at)
{
    const char *newline = memchr(at, '\n', (size_t)(c->end - at)), *end = newline ? newline : c->end;
    const char *back = memchr(at, '\r', (size_t)(end - at));
    if (back && back + 1 < end) return back + 1; /* of old Macs */
    return newline ? newline + 1 : c->end;
}

/* A row that is being read. Quoted fields may have line breaks, so it ends where its last field does. */
struct row {
    const char *at;   /* its next field, NULL behind the last */
    const char *next; /* with that: where the next line begins */
    int64_t line;     /* of what is read next, from 1 */
};

/* Finds the first row from r->next on. */
static bool find_row(const struct rt_csv *c, struct row *r)
{
    for (r->at = r->next; r->at < c->end; r->at = next_line(c, r->at), r->line++) {
        const char *s = r->at;
        while (s < c->end && is_blank(*s)) s++;
        if (!is_line_end(c, s) && !(c->form.comment && *s == c->form.comment)) return true;
    }
    r->at = NULL;
    return false;
}

struct field {
    const char *start, *end; /* without blanks and quotes */
    int64_t line;
    bool quoted;
};

/* The quote that closes a field, or the end of the text; counts the lines in between. */
static const char *find_quote(const struct rt_csv *c, const char *s, int64_t *line)
{
    for (; s < c->end; s++) {
        if (*s == '"' && s + 1 < c->end && s[1] == '"')
            s++;
        else if (*s == '"')
            break;
        *line += *s == '\n' || (*s == '\r' && s + 1 < c->end && s[1] != '\n');
    }
    return s;
}

/* Reads a field as an element of the dtype. */
static enum rt_number parse(const struct rt_csv *c, const struct field *f, enum rt_dtype t, void *to)
{
    char number[128];
    const size_t n = (size_t)(f->end - f->start);
    if (!c->form.decimal || n >= sizeof number || !memchr(f->start, c->form.decimal, n))
        return rt_number_parse(f->start, n, t, to);
    for (size_t i = 0; i < n; i++) number[i] = f->start[i] == c->form.decimal ? '.' : f->start[i];
    return rt_number_parse(number, n, t, to);
}

/* Whether the comment's character, which is at `at`, ends the field and the row: behind numbers, while other text may
 * have it in it, such as #N/A. */
__attribute__((noinline)) static bool begins_comment(const struct rt_csv *c, const struct field *f, const char *at)
{
    double v[2];
    struct field before = {.start = f->start, .end = at};
    while (before.end > before.start && is_blank(before.end[-1])) before.end--;
    if (before.end == before.start) return c->form.delimiter == ' ';
    return parse(c, &before, RT_COMPLEX128, v) == RT_NUMBER_OK;
}

/* Takes a field of the row. False for a quote that is not closed, or closed too early. */
static bool take_field(const struct rt_csv *c, struct row *r, struct field *f)
{
    const char *s = r->at;
    const char comment = c->form.comment ? c->form.comment : '\n';
    const bool blanks = c->form.delimiter == ' ';
    s = blanks ? s + strspn(s, " \t") : skip_blanks(c, s);
    f->quoted = s < c->end && *s == '"';
    f->line = r->line;
    f->start = s += f->quoted;
    if (f->quoted) {
        s = find_quote(c, s, &r->line);
        if (s == c->end) return false;
        f->end = s++;
        s = blanks ? s : skip_blanks(c, s);
    } else {
        while (!is_line_end(c, s) && *s != c->form.delimiter && !(blanks && is_blank(*s)) &&
               !(*s == comment && begins_comment(c, f, s)))
            s++;
        for (f->end = s; f->end > f->start && is_blank(f->end[-1]);) f->end--;
    }
    if (blanks)
        while (s < c->end && is_blank(*s)) s++;
    if (is_line_end(c, s) || *s == comment) {
        r->at = NULL;
        r->next = next_line(c, s);
        r->line++;
        return true;
    }
    r->at = s + !blanks;
    return blanks || *s == c->form.delimiter;
}

static enum rt_status bad_quote(const struct rt_csv *c, int64_t line, struct rt_error *e)
{
    return rt_fail(e, RT_INVALID, "%s, line %" PRId64 ": a quote is not closed before the field ends", c->name, line);
}

static enum rt_status count_fields(const struct rt_csv *c, struct row *r, int64_t *count, struct rt_error *e)
{
    struct field f;
    for (*count = 0; r->at; (*count)++)
        if (!take_field(c, r, &f)) return bad_quote(c, f.line, e);
    return RT_OK;
}

/* The delimiter of a file whose first line begins here: a comma unless that line has none, and another one. */
static char guess_delimiter(const struct rt_csv *c, const char *line)
{
    char found = ',';
    bool quoted = false;
    for (const char *s = line; s && (quoted ? s < c->end : !is_line_end(c, s)); s++) {
        if (*s == '"') quoted = !quoted;
        if (quoted) continue;
        if (*s == ',' && c->form.decimal != ',') return ',';
        if (found == ',' && (*s == ';' || *s == '|' || *s == '\t')) found = *s;
    }
    return found;
}

/* Whether a field of the row is no number; numbers parted by what is not the delimiter are no names either. */
static bool looks_like_names(const struct rt_csv *c, struct row r)
{
    static const char numbers[] = "0123456789+-.eE,;|";
    struct field f;
    double v[2];
    while (r.at && take_field(c, &r, &f)) {
        if (parse(c, &f, RT_COMPLEX128, v) == RT_NUMBER_OK) continue;
        if (c->form.delimiter != ' ' || strspn(f.start, numbers) < (size_t)(f.end - f.start)) return true;
    }
    return false;
}

/* Takes the names from a comment in front of the first row, where np.savetxt writes them, when there are as many as
 * that has fields. */
static bool take_commented_names(struct rt_csv *c, const char *from, const struct row *first)
{
    const char *line = NULL;
    struct row names, row = *first;
    int64_t count = 0, fields = 0;
    for (const char *s = from; s < first->at; s = next_line(c, s)) {
        const char *text = s;
        while (text < c->end && is_blank(*text)) text++;
        if (!is_line_end(c, text)) line = text + 1;
    }
    names = (struct row){.at = line};
    if (!line || count_fields(c, &names, &count, NULL) != RT_OK || count_fields(c, &row, &fields, NULL) != RT_OK ||
        count != fields)
        return false;
    c->names = line;
    return true;
}

enum rt_status rt_csv_measure(const char *name, const char *text, size_t size, const struct rt_csv_form *form,
                              struct rt_csv *out, struct rt_error *e)
{
    *out = (struct rt_csv){.name = name, .text = text, .end = text + size, .form = *form};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    struct row r = {.next = text, .line = 1};
    for (int64_t i = 0; i < form->skip && r.next < out->end; i++, r.line++) r.next = next_line(out, r.next);
    const char *start = r.next;
    bool found = find_row(out, &r);
    if (!form->delimiter) out->form.delimiter = guess_delimiter(out, r.at);
    bool names = found && form->header != RT_CSV_HEADER_NO && looks_like_names(out, r);
    if (found && form->header == RT_CSV_HEADER_YES && !names) names = !take_commented_names(out, start, &r);
    if (names) {
        out->names = r.at;
        enum rt_status status = count_fields(out, &r, &out->columns, e);
        if (status != RT_OK) return status;
        found = find_row(out, &r);
    }
    out->first = found ? r.at : NULL;
    out->line = r.line;
    for (; found; found = find_row(out, &r)) {
        const int64_t line = r.line;
        int64_t count;
        enum rt_status status = count_fields(out, &r, &count, e);
        if (status != RT_OK) return status;
        if (out->rows++ == 0) out->columns = count;
        if (count != out->columns)
            return rt_fail(e, RT_INVALID,
                           "%s, line %" PRId64 ": %" PRId64 " field%s, expected %" PRId64 " as in line %" PRId64, name,
                           line, count, count == 1 ? "" : "s", out->columns, out->line);
        if (out->rows % POLL_EVERY == 0 && rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    }
    return RT_OK;
}

/* What may have been meant by a field that is no number. */
static const char *way_out(const struct rt_csv *c, const struct field *f, enum rt_dtype t)
{
    double v[2];
    const size_t n = (size_t)(f->end - f->start);
    const char *comma = memchr(f->start, ',', n);
    const bool blanks = c->form.delimiter == ' ', decimal = comma && !c->form.decimal && c->form.delimiter != ',';
    if (rt_dtypes[t].kind != 'c' && parse(c, f, RT_COMPLEX128, v) == RT_NUMBER_OK)
        return "complex64 and complex128 hold complex ones";
    if (blanks && (memchr(f->start, ';', n) || memchr(f->start, '|', n) || (comma && comma + 1 == f->end)))
        return "the option delimiter tells what parts the fields, where that is not blanks";
    if (decimal && comma + 1 < f->end && comma[1] >= '0' && comma[1] <= '9')
        return blanks
                   ? "a comma for the point is told by the option decimal = \",\", one between fields by delimiter = \",\""
                   : "a comma for the point is told by the option decimal = \",\"";
    return "the option columns names those that are to be read";
}

static enum rt_status bad_number(const struct rt_csv *c, int64_t column, const struct field *f, enum rt_number why,
                                 enum rt_dtype t, struct rt_error *e)
{
    const int64_t line = f->line;
    int n = 0; /* what of it is shown: its first line's start */
    while (n < 32 && f->start + n < f->end && !is_line_end(c, f->start + n)) n++;
    if (why == RT_NUMBER_MISSING)
        return rt_fail(e, RT_INVALID,
                       "%s, line %" PRId64 ", field %" PRId64 " is missing, and %s has no value for that; load a "
                       "floating dtype, which has NaN",
                       c->name, line, column, rt_dtypes[t].name);
    if (why == RT_NUMBER_RANGE)
        return rt_fail(e, RT_INVALID, "%s, line %" PRId64 ", field %" PRId64 " is %.*s, which %s does not hold",
                       c->name, line, column, n, f->start, rt_dtypes[t].name);
    return rt_fail(e, RT_INVALID, "%s, line %" PRId64 ", field %" PRId64 " is '%.*s', expected a number; %s", c->name,
                   line, column, n, f->start, way_out(c, f, t));
}

enum rt_status rt_csv_read(const struct rt_csv *c, const int64_t *places, int64_t width, enum rt_dtype t,
                           void *elements, struct rt_error *e)
{
    int64_t rows = 0, size = rt_dtypes[t].size;
    char *to = elements;
    struct row r = {.at = c->first, .line = c->line};
    for (bool found = c->first; found; found = find_row(c, &r), to += width * size) {
        for (int64_t i = 0; r.at; i++) {
            struct field f;
            if (!take_field(c, &r, &f)) return bad_quote(c, f.line, e);
            int64_t place = places ? places[i] : i;
            if (place < 0) continue;
            enum rt_number result = parse(c, &f, t, to + place * size);
            if (result != RT_NUMBER_OK) return bad_number(c, i + 1, &f, result, t, e);
        }
        if (++rows % POLL_EVERY == 0 && rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    }
    return RT_OK;
}

bool rt_csv_name(const struct rt_csv *c, const char **at, char *out, size_t size)
{
    struct field f;
    struct row r = {.at = *at};
    size_t n = 0;
    if (!r.at || !take_field(c, &r, &f)) return false;
    *at = r.at;
    for (const char *s = f.start; s < f.end && n + 1 < size; s++) {
        if (f.quoted && *s == '"' && s + 1 < f.end) s++; /* two quotes are one */
        out[n++] = *s;
    }
    out[n] = '\0';
    return true;
}

enum rt_status rt_csv_save(const char *path, const struct rt_csv_table *t, struct rt_error *e)
{
    struct rt_writer w;
    const char *from = t->elements;
    enum rt_status status = rt_writer_open(path, &w, e);
    if (status != RT_OK) return status;
    if (t->header) rt_writer_put(&w, t->header, strlen(t->header));
    if (t->header) rt_writer_put(&w, "\n", 1);
    for (int64_t i = 0; i < t->rows && !w.failure; i++) {
        for (int64_t j = 0; j < t->columns; j++, from += rt_dtypes[t->dtype].size) {
            char text[RT_NUMBER_TEXT];
            if (j) rt_writer_put(&w, &t->delimiter, 1);
            rt_writer_put(&w, text, (size_t)rt_number_text(t->dtype, from, text));
        }
        rt_writer_put(&w, "\n", 1);
    }
    return rt_writer_finish(&w, true, e);
}
