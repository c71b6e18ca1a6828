/* What mangled.c reads with: the place in a name, the texts made on the way, the types that were seen. A part of it. */
#ifndef RT_MANGLED_READER_H
#define RT_MANGLED_READER_H

#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/signature.h"

#define MAX_DEPTH 48
#define MAX_TYPES 512
#define MAX_BYTES ((size_t)1 << 20) /* of text made while reading one name: substitutions could double it for ever */

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

static bool refuse(struct reader *r)
{
    r->failed = true;
    return false;
}

static char *text_new(struct reader *r, size_t length)
{
    if (r->failed || length > MAX_BYTES - r->bytes) return refuse(r), NULL;
    struct block *b = rt_alloc(sizeof *b + length + 1);
    if (!b) return r->no_memory = true, refuse(r), NULL;
    b->next = r->blocks;
    r->blocks = b;
    r->bytes += length;
    return b->data;
}

/* The three parts in a row; "" after a failure, so that callers need not look. */
static const char *glue(struct reader *r, const char *a, const char *b, const char *c)
{
    size_t na = strlen(a), nb = strlen(b), nc = strlen(c);
    char *out = text_new(r, na + nb + nc);
    if (!out) return "";
    memcpy(out, a, na);
    memcpy(out + na, b, nb);
    memcpy(out + na + nb, c, nc + 1);
    return out;
}

static char peek(const struct reader *r)
{
    return r->at < r->end && !r->failed ? *r->at : 0;
}
static char peek_next(const struct reader *r)
{
    return r->end - r->at > 1 && !r->failed ? r->at[1] : 0;
}
static bool accept(struct reader *r, char c)
{
    if (peek(r) != c) return false;
    r->at++;
    return true;
}
static bool expect(struct reader *r, char c)
{
    return accept(r, c) || refuse(r);
}
static bool accept2(struct reader *r, const char *word)
{
    if (peek(r) != word[0] || peek_next(r) != word[1]) return false;
    r->at += 2;
    return true;
}

static bool take_number(struct reader *r, size_t *out)
{
    size_t n = 0, digits = 0;
    for (; peek(r) >= '0' && peek(r) <= '9' && digits < 9; digits++) n = n * 10 + (size_t)(*r->at++ - '0');
    *out = n;
    return digits > 0 || refuse(r);
}

/* S_ is 0, S0_ is 1, in base 36; T_ likewise in base 10. */
static bool take_index(struct reader *r, int base, size_t *out)
{
    size_t n = 0;
    bool any = false;
    for (; peek(r) && peek(r) != '_'; any = true) {
        char c = *r->at++;
        int d = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
        if (d >= base || n > MAX_TYPES) return refuse(r);
        n = n * (size_t)base + (size_t)d;
    }
    *out = any ? n + 1 : 0;
    return expect(r, '_');
}

static void substitute(struct reader *r, const struct type *t)
{
    if (r->sub_count == MAX_TYPES)
        refuse(r);
    else if (!r->failed)
        r->subs[r->sub_count++] = *t;
}

static struct type named_type(const char *name)
{
    struct type t = no_type;
    t.left = name;
    if (strcmp(name, "__half") == 0) t.dtype = RT_FLOAT16;
    if (strcmp(name, "__nv_bfloat16") == 0) t.dtype = RT_BFLOAT16;
    if (t.dtype != RT_DTYPE_COUNT) t.kind = RT_PARAM_VALUE;
    if (strcmp(name, "float2") == 0) t.dtype = RT_COMPLEX64; /* cuComplex, too; by value it is a struct like others */
    if (strcmp(name, "double2") == 0) t.dtype = RT_COMPLEX128;
    return t;
}

#endif
