/* What stands in x[...], between the files that read it (key.c), that follow it (index.c), and that have methods for
 * the same (mask.c, gather.c). All functions may raise. */
#ifndef LG_INDEX_H
#define LG_INDEX_H

#include "lang/array.h"

extern const struct lg_function lg_mask_methods[], lg_gather_methods[], lg_diagonal_methods[];
/* Functions and methods alike, and functions alone. */
extern const struct lg_function lg_view_functions[], lg_rearrange_functions[], lg_diagonal_functions[],
    lg_grid_functions[], lg_spaced_functions[];

#define LG_MAX_ITEMS (2 * RT_MAX_DIMS)

enum lg_item_kind {
    LG_INDEX,  /* one index, which drops the axis */
    LG_RANGE,  /* a stretch of the axis */
    LG_NEW,    /* an axis of size 1 that the array does not have */
    LG_PICKED, /* an array of indices */
    LG_NOTHING /* dots that stand for no axis: they part what stands on both sides */
};

struct lg_item {
    enum lg_item_kind kind;
    int axis;                     /* of the array, from 0; that behind it for LG_NEW */
    int64_t start, count, step;   /* start from 0; of a stretch, or the index */
    const struct rt_array *index; /* int32 or int64 */
};

struct lg_key {
    const struct rt_array *a;
    struct lg_item items[LG_MAX_ITEMS];
    int count, axes; /* of items; of the array's axes that they name: those behind are taken whole */
    bool has_arrays, had_dots;
};

/* Reads the key at idx. Index arrays that it needs are pushed. */
void lg_read_key(lua_State *L, int idx, const struct rt_array *a, struct lg_key *k);
/* A string that is a key and no name of a field or method. Never raises. */
bool lg_is_key_text(const char *s);

/* Pushes the indices at idx, an array or a table of whole numbers, as an int32 or int64 array on the device of `a`.
 * axis -1: they count through all elements. */
const struct rt_array *lg_push_indices(lua_State *L, int idx, const struct rt_array *a, int axis);

/* The mask is bool, on the array's device, and has the sizes of the array's axes from `axis` on. */
void lg_check_mask(lua_State *L, const struct rt_array *a, int axis, const struct rt_array *mask);
/* Pushes the places where an array, bool or not, is true: an int64 array of indices for each of its axes. */
int lg_push_nonzero(lua_State *L, const struct rt_array *a);
/* x[mask] and x[mask] = the value at idx, a number or an array of the target's device. */
int lg_read_masked(lua_State *L, const struct rt_array *a, const struct rt_array *mask);
void lg_write_masked(lua_State *L, const struct rt_array *a, const struct rt_array *mask, int value);

/* An integer at idx that elements of the dtype cannot hold is an error. */
void lg_check_assigned(lua_State *L, int value, enum rt_dtype dtype);
/* The value broadcasts to what `by`, such as "mask picks", gives it to fill. */
void lg_check_assignable(lua_State *L, const struct rt_array *value, int ndim, const int64_t *shape, const char *by);
/* Pushes what is to be assigned, the value at idx, as an array of the target's dtype and on its device. */
const struct rt_array *lg_push_value(lua_State *L, int idx, const struct rt_array *target);
/* `read` itself, or where it shares memory with `written` a copy of it, pushed: for what is read more than once. */
const struct rt_array *lg_push_apart(lua_State *L, const struct rt_array *read, const struct rt_array *written);

#endif
