/* Texts and numbers of mangled names, and the types that were seen in them. */
#include "runtime/mangled_reader.h"
#include <string.h>
#include "runtime/memory.h"

#define MAX_BYTES ((size_t)1 << 20) /* of text made while reading one name: substitutions could double it for ever */

char *rt_text_new(struct reader *r, size_t length)
{
    if (r->failed || length > MAX_BYTES - r->bytes) return refuse(r), NULL;
    struct block *b = rt_alloc(sizeof *b + length + 1);
    if (!b) return r->no_memory = true, refuse(r), NULL;
    b->next = r->blocks;
    r->blocks = b;
    r->bytes += length;
    return b->data;
}

const char *rt_glue(struct reader *r, const char *a, const char *b, const char *c)
{
    size_t na = strlen(a), nb = strlen(b), nc = strlen(c);
    char *out = rt_text_new(r, na + nb + nc);
    if (!out) return "";
    memcpy(out, a, na);
    memcpy(out + na, b, nb);
    memcpy(out + na + nb, c, nc + 1);
    return out;
}

bool rt_take_number(struct reader *r, size_t *out)
{
    size_t n = 0, digits = 0;
    for (; peek(r) >= '0' && peek(r) <= '9' && digits < 9; digits++) n = n * 10 + (size_t)(*r->at++ - '0');
    *out = n;
    return digits > 0 || refuse(r);
}

bool rt_take_index(struct reader *r, int base, size_t *out)
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

void rt_substitute(struct reader *r, const struct type *t)
{
    if (r->sub_count == MAX_TYPES)
        refuse(r);
    else if (!r->failed)
        r->subs[r->sub_count++] = *t;
}

struct type rt_named_type(const char *name)
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
