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
extern const struct lg_function lg_sparse_part_methods[]; /* of the matrices */
/* Pushes the stored elements, and their rows and columns from 1. */
int lg_push_coo(lua_State *L, const struct kn_csr *a);
/* A[key] where the key has a range: the matrix of these rows and columns. */
int lg_sparse_range(lua_State *L);

#endif
