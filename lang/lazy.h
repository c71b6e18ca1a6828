/* Arrays that wait for their evaluation: see lazy.c. [raises] as in lang.h. */
#ifndef LG_LAZY_H
#define LG_LAZY_H

#include "kernels/expression.h"
#include "lang/array.h"

/* The userdata behind every struct rt_array * of lang/. While it waits, `array` has dtype, shape and device, over a
 * storage without elements. */
struct lg_array {
    struct rt_array array;
    struct kn_expression *expression; /* NULL: it does not wait */
    bool reduces;                     /* and holds what is much larger than itself */
    unsigned stream;                  /* that was current when it was made: its number, 0 the default one */
    struct lg_array *next, **link;    /* in the list of those that wait */
    uintptr_t mark;                   /* of this array here, and of nothing else: life.c */
};

enum lg_laziness { LG_LAZY_NEVER, LG_LAZY_LARGE, LG_LAZY_ALWAYS };

/* Makes the list of those that wait, before there is any array: life.c says why. [raises] */
void lg_open_lazy(lua_State *L);
/* Evaluates what waits for another stream than the current one: it must be part of no work there. [raises] */
void lg_bring_over(lua_State *L, struct rt_array *a);
bool lg_waits(const struct rt_array *a);
/* While gpu.explain runs a function, every operation in it waits, and reductions, whose axes are of size 1 then. */
bool lg_explains(lua_State *L);
void lg_set_explains(lua_State *L, bool on);
/* An operation on these arrays is to wait, by the mode and their sizes. */
bool lg_worth_waiting(lua_State *L, const struct rt_array *const *arrays, int count);
/* Operations on arrays of fewer elements on the device do not wait; 0: all do, or none. */
int lg_computed_below(lua_State *L, const struct rt_device *d);
/* Gives a new, empty array the expression, whose reference it takes. Never raises. */
void lg_wait(lua_State *L, struct rt_array *a, struct kn_expression *x);
/* The same for a reduction, which holds much more than it will be itself: only the newest few wait on. [raises] */
void lg_wait_for_reduction(lua_State *L, struct rt_array *a, struct kn_expression *x);
/* Takes it off the list and gives up its expression. Never raises. */
void lg_wait_no_more(struct rt_array *a);
/* Makes its elements be there, in the stream that it was made in if that is current, else before everything that the
 * device is given later. lg_check_array does it. [raises] */
void lg_evaluate(lua_State *L, struct rt_array *a);
/* The array's elements as a program, for reductions: of one that waits its expression, which need not be stored then.
 * Good until Lua runs again, so it comes last. [raises] */
void lg_elements(lua_State *L, const struct rt_array *a, struct kn_program *p);
/* Before anything writes to the array's storage: evaluates what reads it. [raises] */
void lg_before_write(lua_State *L, const struct rt_array *a);
/* Everything that waits. [raises] */
void lg_evaluate_all(lua_State *L);

#endif
