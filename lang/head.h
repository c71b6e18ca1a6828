/* Functions in CUDA C, of numbers, that kernels are made around: gpu.vectorize, gpu.reduction, gpu.scan. [raises] as in
 * lang.h. */
#ifndef LG_HEAD_H
#define LG_HEAD_H

#include "lang/array.h"

enum {
    LG_HEAD_MOST = 12, /* parameters */
    LG_HEAD_NAME = 64, /* bytes of a name or type */
};

struct lg_parameter {
    char name[LG_HEAD_NAME];
    enum rt_dtype dtype; /* RT_DTYPE_COUNT: the template's type */
};
struct lg_head {
    char type[LG_HEAD_NAME];    /* the template's, as T; "": it is none */
    struct lg_parameter result; /* the function's own name and type */
    struct lg_parameter list[LG_HEAD_MOST];
    int count;
};

/* Reads what stands before the body of the last __device__ function of the text; `what` is the caller in messages. */
void lg_read_head(lua_State *L, const char *what, const char *text, struct lg_head *f);

/* lang/generic.c: pushes the function of arrays that `make` makes of the text at 1 and the options at 2 for each dtype
 * that the template's type becomes: the one that the arrays there have in common. */
int lg_push_generic(lua_State *L, const struct lg_head *f, lua_CFunction make);

/* Pushes a copy of the options at an index, where these are a table, which says where the text at 1 stands unless they
 * say so already; returns where it is. */
int lg_push_placed(lua_State *L, int options);

/* Pushes what gpu.kernel makes of the text, which begins with the user's at 1, whose lines messages name, and of the
 * options of gpu.kernel in the table at `options`, if there is one. */
void lg_make_around(lua_State *L, int options, const char *text);

#endif
