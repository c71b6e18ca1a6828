/* What the files of the array type in lang/ share with each other. All functions here may raise a Lua error unless they
 * say otherwise. */
#ifndef LG_ARRAY_H
#define LG_ARRAY_H

#include "lang/lang.h"

/* Rows for the gpu table (functions) and for the methods of arrays, by file. Ended by a NULL name. */
extern const struct lg_function lg_create_functions[], lg_reduce_functions[], lg_memory_functions[],
    lg_random_functions[], lg_join_functions[], lg_lazy_functions[], lg_einsum_functions[], lg_io_functions[],
    lg_dlpack_functions[], lg_choose_functions[], lg_assemble_functions[], lg_polynomial_functions[],
    lg_filter_functions[], lg_normalize_functions[], lg_signal_functions[], lg_spectrum_functions[],
    lg_sample_functions[], lg_attention_functions[], lg_peaks_functions[], lg_smooth_functions[],
    lg_resample_functions[], lg_response_functions[], lg_waves_functions[], lg_design_functions[],
    lg_distance_functions[], lg_printoptions_functions[], lg_elliptic_functions[], lg_harmonic_functions[];
extern const struct lg_function lg_topics[], lg_numpy_topic[]; /* documentation alone */
extern const struct lg_function lg_array_methods[], lg_shape_methods[], lg_reduce_methods[], lg_describe_methods[],
    lg_sparse_array_methods[], lg_dlpack_methods[], lg_latex_methods[], lg_compose_methods[];
/* Rows that are both functions of the gpu table and methods. */
extern const struct lg_function lg_statistics_functions[], lg_contract_functions[], lg_compose_functions[],
    lg_sort_functions[], lg_unique_functions[], lg_explain_functions[], lg_histogram_functions[], lg_conv_functions[],
    lg_convolve_functions[], lg_calculus_functions[], lg_nan_functions[], lg_covariance_functions[],
    lg_quantile_functions[], lg_set_functions[], lg_softmax_functions[], lg_rotate_functions[],
    lg_conv_volume_functions[], lg_adaptive_functions[], lg_bits_functions[], lg_overlap_functions[];

/* Of arrays this is a field, as x.size is. */
bool lg_is_array_field(const char *name, size_t length);
/* Pushes the array of the option `out`, which is all that the table of options at idx may have; `name` is the function.
 */
void lg_push_out(lua_State *L, int idx, const char *name);
/* Adds the functions, methods and metamethods of ops.def: the gpu table, the methods and the metatable are at the top
 * of the stack, in this order from below. */
void lg_open_ops(lua_State *L);
/* The reductions, likewise: the gpu table and the methods are at the top. */
void lg_open_reductions(lua_State *L);
/* The scans, likewise. */
void lg_open_scans(lua_State *L);

/* gpu.random and its generators: the gpu table is at the top. */
void lg_open_random(lua_State *L);
/* gpu.linalg, likewise. */
void lg_open_linalg(lua_State *L);
void lg_open_fft(lua_State *L);     /* gpu.fft, likewise */
void lg_open_ndimage(lua_State *L); /* gpu.ndimage, likewise */
void lg_open_dtypes(lua_State *L);  /* gpu.dtypes */
/* gpu.sparse, likewise; whether the value at idx is a sparse matrix; the product where argument 1 or 2 is one. */
void lg_open_sparse(lua_State *L);
bool lg_is_sparse(lua_State *L, int idx);
int lg_sparse_matmul(lua_State *L);

/* Where a new array goes and what it is made of: trailing arguments of creation functions. Strings and device objects
 * in any order, nil, or one table {dtype = ..., device = ...}. Reads arguments first..top. */
struct lg_placement {
    enum rt_dtype dtype; /* RT_DTYPE_COUNT: not said */
    struct rt_device *device;
};
void lg_check_placement(lua_State *L, int first, struct lg_placement *p);

/* The last of the numbers at `first` to `most`, first - 1 without any. nil before a number is one that is not given, as
 * where the one behind it was named. */
int lg_last_number(lua_State *L, int first, int most);
/* The argument idx alone. A string is a dtype when it names one, else a device; an unknown word is told as both. */
void lg_check_place(lua_State *L, int idx, struct lg_placement *p);
/* The fields dtype and device of the table at idx, checked; other named fields are errors, a list part is not. */
void lg_placement_fields(lua_State *L, int idx, struct lg_placement *p);

/* Pushes another array of the same elements, which views may be made of. [raises] */
struct rt_array *lg_push_shared(lua_State *L, const struct rt_array *a);
/* Pushes an array that is not set; float32 when no dtype is said. */
struct rt_array *lg_push_empty(lua_State *L, const struct lg_placement *p, int ndim, const int64_t *shape);

/* A shape from integers in the arguments from `first` on, or from one table of them. Returns ndim; *next is the first
 * argument behind it. */
int lg_check_shape(lua_State *L, int first, bool allow_any, int64_t *shape, int *next);
/* lang/view.c: distinct axes from the arguments from idx on, or from one table of them. Returns how many. */
int lg_check_axes(lua_State *L, int idx, int ndim, int *axes);
/* Makes a borrowed array or view its own diagonal, which becomes the last axis. Never raises. */
void lg_diagonal(struct rt_array *a, int64_t offset, int row, int column);
/* Whether the switch at idx, which may be nil, is on: a boolean, called `name` in messages. lang/reduce.c */
bool lg_check_flag(lua_State *L, int idx, const char *name);
/* An axis from 0 for the user's axis (from 1, negative from the end) at idx, which may be {axis = n}. */
int lg_check_axis(lua_State *L, int idx, int ndim);
/* The same, of a new axis beside ndim others. */
int lg_check_new_axis(lua_State *L, int idx, int ndim);

/* lang/memory.c: makes this state the one whose garbage is collected when a device is full while it allocates. */
void lg_memory_enter(lua_State *L);
/* Collects garbage when that costs less than computing or copying so many bytes; returns whether it did. */
bool lg_memory_collect(lua_State *L, size_t bytes);
/* lang/life.c */
/* Gives up what the array refers to. Never raises. */
void lg_array_drop(struct rt_array *a);
int lg_array_free(lua_State *L); /* x:free() */
/* Makes arrays release what they refer to when Lua frees them: the methods and the metatable are at the top of the
 * stack, in this order from below. */
void lg_open_lives(lua_State *L);
/* Raises when an array in the stack frame was freed. Making any object may run Lua's collector, and a finalizer written
 * in Lua may free an array that the function running now has checked already: lg_new_array and lg_push_host_copy look
 * at the frame again when they have made theirs. [raises] */
void lg_check_frame(lua_State *L);
/* Pushes the table of the methods that arrays have. */
void lg_push_methods(lua_State *L);

/* Where host code reads and writes the elements of `a` in place, NULL where they must be transferred. The test switch
 * that treats the software GPU as a GPU makes its memory unreachable, too. Never raises. */
static inline void *lg_array_host(const struct rt_array *a)
{
    const struct rt_device *d = rt_array_device(a);
    return d->kind == RT_SIMT && kn_runs_generated(d) ? NULL : rt_array_host(a);
}

/* The element at `p` as a Lua boolean, integer or float. */
void lg_push_scalar(lua_State *L, enum rt_dtype dtype, const void *p);
/* The only element of `a` (any shape of one element). */
void lg_push_element(lua_State *L, const struct rt_array *a);
/* Stores the number or boolean at idx, already checked, as one element at p. Never raises. */
void lg_store_scalar(lua_State *L, int idx, enum rt_dtype dtype, void *p);
bool lg_is_scalar(lua_State *L, int idx); /* a number or a boolean */
/* Whether an integer at idx is in the dtype's range, which is then not left in *low and *high; floats, which are cut to
 * the range, and booleans always are, and so are integers for uint64, where Lua writes the upper half as negative. */
bool lg_scalar_fits(lua_State *L, int idx, enum rt_dtype dtype, lua_Integer *low, lua_Integer *high);

/* Pushes a new array from the nested table at idx; dtype RT_DTYPE_COUNT: bool for booleans, else float32. */
struct rt_array *lg_push_from_table(lua_State *L, int idx, enum rt_dtype dtype, struct rt_device *device);
/* The array at idx or, in its place, what the table there makes on the default device. */
const struct rt_array *lg_check_elements(lua_State *L, int idx);
/* Pushes an object that keeps the elements of `a`, contiguous, where host code reads them; NULL when there are none. */
const void *lg_push_host_copy(lua_State *L, const struct rt_array *a);
/* Pushes a table with the sizes that prints as a shape. */
void lg_push_shape(lua_State *L, int ndim, const int64_t *shape);

/* lang/histogram.c: pushes how many elements lie in each of the bins at idx, a number or edges, 10 when nil; and the
 * edges. */
void lg_push_histogram(lua_State *L, const struct rt_array *a, int bins);

/* lang/index.c */
int lg_array_index(lua_State *L);    /* x[key] for keys that are not names */
int lg_array_newindex(lua_State *L); /* x[key] = value */
/* Adds the functions that index, view and rearrange: the gpu table and the methods are at the top. */
void lg_open_indexing(lua_State *L);
int lg_where_true(lua_State *L); /* gpu.where(x): lang/mask.c */

#endif
