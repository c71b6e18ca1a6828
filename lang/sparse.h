/* What the files of sparse matrices in lang/ share. All functions may raise a Lua error. */
#ifndef LG_SPARSE_H
#define LG_SPARSE_H

#include "kernels/sparse.h"
#include "lang/array.h"

#define LG_SPARSE "lunarray.sparse"

/* Pushes an empty matrix, to be filled in place. */
struct kn_csr *lg_new_sparse(lua_State *L);
struct kn_csr *lg_check_sparse(lua_State *L, int idx);
/* Rows of the gpu.sparse table. */
extern const struct lg_function lg_sparse_make_functions[], lg_sparse_io_functions[], lg_sparse_part_functions[],
    lg_sparse_solvers[], lg_sparse_direct_functions[];
extern const struct lg_function lg_sparse_part_methods[], lg_sparse_element_methods[]; /* of the matrices */
/* A ^ n and A:pow(n). */
int lg_sparse_power(lua_State *L);
/* Pushes the stored elements, and their rows and columns from 1. */
int lg_push_coo(lua_State *L, const struct kn_csr *a);
/* Pushes another array of the same elements and returns where it is. */
int lg_sparse_share(lua_State *L, const struct rt_array *a);
/* The integer at place i, from 0, of an array of one axis. */
int64_t lg_sparse_integer(lua_State *L, const struct rt_array *a, int64_t i);
/* A[key] for the key at index 2: pushes the matrix of the rows and columns that it picks. False, with nothing pushed
 * that counts, where it names one element, whose row and column, from 0, are the place. */
bool lg_sparse_part(lua_State *L, const struct kn_csr *a, int64_t place[2]);

#endif
