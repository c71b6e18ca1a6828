/* What mangled.c reads with: the place in a name, the texts made on the way, the types that were seen. Whatever does
 * not read sets `failed`, after which the name is at its end for all that read on. */
#ifndef RT_MANGLED_READER_H
#define RT_MANGLED_READER_H

#include <stdbool.h>
#include <stddef.h>
#include "runtime/signature.h"

#define MAX_DEPTH 48
#define MAX_TYPES 512

struct type { /* written as LEFT name RIGHT: "float *" "", "float (*" ")(int)" */
    const char *left, *right;
    enum rt_param_kind kind;
    enum rt_dtype dtype; /* of the value or what is pointed to */
    bool is_const;       /* the type itself; of a POINTER see target_const */
    bool target_const;
    bool wraps;           /* a function or array: a pointer to it needs parentheses */
    bool is_void;         /* the parameter list (v) */
    int pack, pack_count; /* a template argument pack: items of reader.pack_items */
};

struct block {
    struct block *next;
    char data[];
};

struct reader {
    const char *at, *end;
    int depth;
    bool failed, no_memory;
    struct block *blocks;
    size_t bytes;
    struct type subs[MAX_TYPES];
    int sub_count;
    struct type args[MAX_TYPES]; /* the template arguments that T_, T0_ name */
    int arg_count;
    struct type pack_items[MAX_TYPES];
    int pack_item_count;
    bool has_args; /* the name read last ended in template arguments: a return type follows */
};

static const struct type no_type = {.left = "", .right = "", .kind = RT_PARAM_STRUCT, .dtype = RT_DTYPE_COUNT};

static inline bool refuse(struct reader *r)
{
    r->failed = true;
    return false;
}

static inline char peek(const struct reader *r)
{
    return r->at < r->end && !r->failed ? *r->at : 0;
}
static inline char peek_next(const struct reader *r)
{
    return r->end - r->at > 1 && !r->failed ? r->at[1] : 0;
}
static inline bool accept(struct reader *r, char c)
{
    if (peek(r) != c) return false;
    r->at++;
    return true;
}
static inline bool expect(struct reader *r, char c)
{
    return accept(r, c) || refuse(r);
}
static inline bool accept2(struct reader *r, const char *word)
{
    if (peek(r) != word[0] || peek_next(r) != word[1]) return false;
    r->at += 2;
    return true;
}

/* Room for a text of this length and its NUL; NULL after a failure. It lives as long as the reader. */
char *rt_text_new(struct reader *r, size_t length);
/* The three parts in a row; "" after a failure, so that callers need not look. */
const char *rt_glue(struct reader *r, const char *a, const char *b, const char *c);
/* A decimal number of nine digits at most. */
bool rt_take_number(struct reader *r, size_t *out);
/* S_ is 0, S0_ is 1, in base 36; T_ likewise in base 10. */
bool rt_take_index(struct reader *r, int base, size_t *out);
/* Adds a type to those that S_, S0_ stand for. */
void rt_substitute(struct reader *r, const struct type *t);
/* The type that the source calls so: a number of CUDA's, or else a struct. */
struct type rt_named_type(const char *name);

#endif
