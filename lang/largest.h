/* The arrays that hold most memory of a device, by variable name. */
#ifndef LG_LARGEST_H
#define LG_LARGEST_H

#include "lang/array.h"

#define LG_LARGEST 10

struct lg_large {
    const struct rt_storage *storage; /* borrowed: to be looked at at once */
    char name[64];                    /* "x", "model.weights[2]", "f: x" */
    bool indirect;                    /* no variable or field itself leads to it */
    enum rt_dtype dtype;
    int ndim;
    int64_t shape[RT_MAX_DIMS];
};
struct lg_largest {
    int count;
    struct lg_large items[LG_LARGEST]; /* the largest first */
};
/* Arrays that share memory are one; those that wait for their elements hold what these are made of. [raises] */
void lg_find_largest(lua_State *L, const struct rt_device *d, struct lg_largest *out);

/* lang/memory_text.c: has print and sessions show the table at the top, which gpu.memory gives, as a list: a line for
 * each figure and array, in at most 40 columns where names are short; the tables of other devices behind it. [raises]
 */
void lg_set_memory_text(lua_State *L);

#endif
