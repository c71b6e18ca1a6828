/* Tables of numbers as text: lines of fields, parted by a character or by blanks. As in RFC 4180 a field in quotes may
 * have delimiters, line breaks and, doubled, quotes in it. */
#ifndef RT_CSV_H
#define RT_CSV_H

#include "runtime/array.h"
#include "runtime/file.h"

enum rt_csv_header { RT_CSV_HEADER_GUESS, RT_CSV_HEADER_NO, RT_CSV_HEADER_YES };

struct rt_csv_form {
    char delimiter; /* ' ': any run of blanks; 0: a comma, or what of ; | and tabs the first line has in its place */
    char decimal;   /* what stands for the point of numbers; 0: a point */
    char comment;   /* lines that begin with it are left out; 0: none */
    enum rt_csv_header header;
    int64_t skip; /* lines to leave out at the start */
};

/* A text that was measured. It is borrowed and has a NUL behind it. */
struct rt_csv {
    const char *name, *text, *end; /* name: for messages */
    struct rt_csv_form form;
    int64_t rows, columns;
    const char *first; /* the first row's line */
    int64_t line;      /* its number, from 1 */
    const char *names; /* the header's line, or NULL */
};
/* Counts rows and columns; RT_INVALID where a row has another number of fields than the first. A header is guessed to
 * be there when a field of the first line is no number. */
enum rt_status rt_csv_measure(const char *name, const char *text, size_t size, const struct rt_csv_form *form,
                              struct rt_csv *out, struct rt_error *e);
/* Stores the rows as elements of a dtype, `width` of them each: a row's field i as element places[i], and not where
 * that is negative. Without places all fields are stored. RT_INVALID that tells line and column of what is no number.
 */
enum rt_status rt_csv_read(const struct rt_csv *c, const int64_t *places, int64_t width, enum rt_dtype t,
                           void *elements, struct rt_error *e);
/* The header's next field, from *at on (names at first): its text without quotes, in out; false behind the last. */
bool rt_csv_name(const struct rt_csv *c, const char **at, char *out, size_t size);

/* A table to be written. Borrowed. */
struct rt_csv_table {
    char delimiter;
    const char *header; /* the first line; NULL: none */
    enum rt_dtype dtype;
    int64_t rows, columns;
    const void *elements; /* contiguous */
};
enum rt_status rt_csv_save(const char *path, const struct rt_csv_table *t, struct rt_error *e);

#endif
