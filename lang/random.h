/* What the files of gpu.random share. [raises] as in lang.h. */
#ifndef LG_RANDOM_H
#define LG_RANDOM_H

#include "kernels/random.h"
#include "lang/array.h"

/* Functions of gpu.random and methods of generators: the distributions that are made of others (lang/distributions.c),
 * and rarer ones that are drawn as they are (lang/rare.c). */
extern const struct lg_function lg_distributions[], lg_rare_distributions[];

struct lg_generator;
/* The generator that a call is a method of, else the session's own; *first is where the arguments begin. */
struct lg_generator *lg_check_generator(lua_State *L, int *first);
/* What the generator draws next, but for the parameters. */
struct kn_draw lg_next_draw(const struct lg_generator *g, enum kn_distribution distribution);
/* Pushes a new array of random numbers, of the shape and placement in the arguments from `first` on, `dtype` where they
 * name none; `kinds` has those of the dtypes that may be. Returns 1. [raises] */
int lg_fill_random(lua_State *L, struct lg_generator *g, int first, const struct kn_draw *d, enum rt_dtype dtype,
                   const char *kinds);

/* Pushes such an array that is not yet filled, which has one more axis of *last elements where that is not NULL. */
struct rt_array *lg_push_shaped(lua_State *L, int first, enum rt_dtype dtype, const char *kinds, const int64_t *last);
/* Fills an array that is there, contiguous, with what the generator draws. [raises, as the one before] */
void lg_draw(lua_State *L, struct lg_generator *g, const struct kn_draw *d, const struct rt_array *to);

/* Whether the value at idx is a generator: the session's own stands for one that is not there. Never raises. */
bool lg_is_generator(lua_State *L, int idx);
/* A parameter of a distribution, called `what`: a finite number. */
double lg_check_parameter(lua_State *L, int idx, const char *what);
/* The same, above 0 or not below it; the function's name is told, too. [raises] */
double lg_check_positive(lua_State *L, int idx, const char *function, const char *what);
double lg_check_not_negative(lua_State *L, int idx, const char *function, const char *what);

/* Pushes the weights at idx, a list or an array of *n numbers, as float64 on the host: each 0 or more, and their sum
 * finite and above 0. `what` is the function in messages. [raises] */
const double *lg_push_weights(lua_State *L, int idx, const char *what, int64_t *n);

#define LG_SHAPED "Then comes the shape, as for gpu.zeros, with dtype and device behind it."

#endif
