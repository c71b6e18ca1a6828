/* gpu.reduction and gpu.scan: a function in CUDA C of two numbers, which combines them, becomes one of whole arrays. */
#include <string.h>
#include "lang/head.h"
#include "lang/kernel.h"
#include "lang/reduce.h"
#include "lang/steps.h"

enum {
    BLOCK = 256,     /* threads */
    SHORT = 32,      /* rows of fewer elements are a thread's each */
    BLOCKS = 1024,   /* of a reduction, where there are that many parts */
    PART = 8 * BLOCK /* elements of a row at least for a block of its own */
};

static const char reductions[] =
    "\n__global__ void reduced_rows(long long rows_, long long n_, const T_ *x_, T_ *out_) { for (long long row_ = "
    "blockIdx.x * (long long)blockDim.x + threadIdx.x; row_ < rows_; row_ += gridDim.x * (long long)blockDim.x) { "
    "T_ sum_ = x_[row_ * n_]; for (long long i_ = 1; i_ < n_; i_++) sum_ = F_(sum_, x_[row_ * n_ + i_]); "
    "out_[row_] = sum_; } } "
    /* a block a part: each thread every so many elements, then the threads by halves */
    "__global__ void reduced_parts(long long parts_, long long size_, long long n_, const T_ *x_, T_ *out_) { "
    "__shared__ T_ part_[256]; long long row_ = blockIdx.x / parts_, from_ = blockIdx.x % parts_ * size_; "
    "long long to_ = from_ + size_ < n_ ? from_ + size_ : n_, i_ = from_ + threadIdx.x; x_ += row_ * n_; "
    "if (i_ < to_) { T_ sum_ = x_[i_]; while ((i_ += 256) < to_) sum_ = F_(sum_, x_[i_]); part_[threadIdx.x] = sum_; } "
    "__syncthreads(); for (int half_ = 128; half_; half_ /= 2) { if (threadIdx.x < half_ && threadIdx.x + half_ < to_ - "
    "from_) part_[threadIdx.x] = F_(part_[threadIdx.x], part_[threadIdx.x + half_]); __syncthreads(); } "
    "if (threadIdx.x == 0) out_[blockIdx.x] = part_[0]; }\n";

static const char scans[] =
    /* a block a chunk: what is before each element in it, by doubled distances, in their order */
    "\n__global__ void scanned_chunks(long long n_, long long chunks_, const T_ *x_, T_ *out_, T_ *totals_) { "
    "__shared__ T_ all_[256]; long long at_ = blockIdx.x % chunks_ * 256 + threadIdx.x; "
    "long long place_ = blockIdx.x / chunks_ * n_ + at_; bool in_ = at_ < n_; if (in_) all_[threadIdx.x] = x_[place_]; "
    "__syncthreads(); for (int far_ = 1; far_ < 256; far_ *= 2) { bool has_ = in_ && threadIdx.x >= far_; T_ sum_; "
    "if (has_) sum_ = F_(all_[threadIdx.x - far_], all_[threadIdx.x]); __syncthreads(); "
    "if (has_) all_[threadIdx.x] = sum_; __syncthreads(); } if (in_) out_[place_] = all_[threadIdx.x]; "
    "if (in_ && (threadIdx.x == 255 || at_ == n_ - 1)) totals_[blockIdx.x] = all_[threadIdx.x]; } "
    "__global__ void carried_chunks(long long n_, long long chunks_, const T_ *totals_, T_ *out_) { "
    "long long chunk_ = blockIdx.x % chunks_, at_ = chunk_ * 256 + threadIdx.x; if (chunk_ > 0 && at_ < n_) { "
    "long long place_ = blockIdx.x / chunks_ * n_ + at_; out_[place_] = F_(totals_[blockIdx.x - 1], out_[place_]); } }\n";

/* ---- calling: upvalue 1 is the table of kernels, 2 the function as it was written, 3 the identity or nil ---- */

static const struct lg_head *head_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(2));
}

/* The array at 1, which kernels can take. */
static const struct rt_array *check_elements(lua_State *L)
{
    const struct lg_parameter *p = &head_of(L)->result;
    const char *dtype = rt_dtypes[p->dtype].name;
    if (!lg_test_array(L, 1)) luaL_error(L, "%s: expects an array of %s, got %s", p->name, dtype, lg_type_name(L, 1));
    const struct rt_array *a = lg_check_array(L, 1);
    if (a->dtype != p->dtype)
        luaL_error(L, "%s: expects an array of %s, got %s; convert it with x:to(\"%s\")", p->name, dtype,
                   rt_dtypes[a->dtype].name, dtype);
    if (!rt_device_runs_kernels(rt_array_device(a)))
        luaL_error(L, "%s: the array is on %s, which runs no kernels; move it with x:to(\"simt\")", p->name,
                   rt_array_device(a)->name);
    return a;
}

/* Pushes the launcher of a kernel of the table in upvalue 1. */
static void push_launcher(lua_State *L, const char *name, int64_t blocks)
{
    if (blocks > INT32_MAX) luaL_error(L, "%s: the array has too many rows for one launch", head_of(L)->result.name);
    lua_getfield(L, lua_upvalueindex(1), name);
    lua_pushinteger(L, blocks);
    lua_pushinteger(L, BLOCK);
    lua_call(L, 2, 1);
}

/* Pushes a new array of rows by columns beside `a`. */
static int push_table(lua_State *L, const struct rt_array *a, int64_t rows, int64_t columns)
{
    const struct lg_placement place = {a->dtype, rt_array_device(a)};
    lg_push_empty(L, &place, 2, (int64_t[]){rows, columns});
    return lua_gettop(L);
}

static void launch_with(lua_State *L, int count, const int64_t *numbers, int arrays, const int *at)
{
    for (int i = 0; i < count; i++) lua_pushinteger(L, numbers[i]);
    for (int i = 0; i < arrays; i++) lua_pushvalue(L, at[i]);
    lua_call(L, count + arrays, 0);
}

/* Pushes the combination of each of the rows of the contiguous array at x. */
static int push_combined(lua_State *L, int x, int64_t rows, int64_t n)
{
    const struct rt_array *a = lg_form(L, x);
    if (n < SHORT) {
        int out = push_table(L, a, rows, 1);
        int64_t blocks = (rows + BLOCK - 1) / BLOCK;
        push_launcher(L, "reduced_rows", blocks < 65536 ? blocks : 65536);
        launch_with(L, 2, (int64_t[]){rows, n}, 2, (int[]){x, out});
        return out;
    }
    int64_t parts = BLOCKS / rows, most = (n + PART - 1) / PART;
    if (parts > most) parts = most;
    if (parts < 1) parts = 1;
    int64_t size = (n + parts - 1) / parts;
    parts = (n + size - 1) / size; /* so that none is empty */
    int out = push_table(L, a, rows, parts);
    push_launcher(L, "reduced_parts", rows * parts);
    launch_with(L, 3, (int64_t[]){parts, size, n}, 2, (int[]){x, out});
    return parts == 1 ? out : push_combined(L, out, rows, parts);
}

/* Pushes the array at 1, contiguous, with the axes of the set behind the others. */
static int push_rows(lua_State *L, const struct rt_array *a, unsigned axes)
{
    lua_createtable(L, a->ndim, 0);
    int order = lua_gettop(L), at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < a->ndim; i++) {
            if ((axes >> i & 1) != (unsigned)pass) continue;
            lua_pushinteger(L, i + 1);
            lua_rawseti(L, order, ++at);
        }
    int turned = a->ndim > 1 ? lg_step(L, "permute", "vv", 1, order) : 1;
    return lg_step(L, "contiguous", "v", turned);
}

static int call_reduction(lua_State *L)
{
    struct lg_reduction r = {0};
    const struct rt_array *a = check_elements(L);
    const char *name = head_of(L)->result.name;
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    lg_check_reduction(L, 2, a->ndim, NULL, &r);
    kn_reduced_shape(a, r.axes, r.keepdims, &ndim, shape);
    int64_t n = kn_reduced_length(a, r.axes), rows = 1;
    for (int i = 0; i < ndim; i++) rows *= shape[i];
    lg_push_shape(L, ndim, shape);
    int form = lua_gettop(L);
    if (n == 0 && rows > 0) {
        if (lua_isnil(L, lua_upvalueindex(3)))
            return luaL_error(L,
                              "%s of no elements; say what it is by {identity = 0}, or what there is for 0, behind the "
                              "source",
                              name);
        lg_step(L, "gpu.full", "vvss", form, lua_upvalueindex(3), rt_dtypes[a->dtype].name, rt_array_device(a)->name);
    } else if (rows == 0) {
        lg_step(L, "gpu.empty", "vss", form, rt_dtypes[a->dtype].name, rt_array_device(a)->name);
    } else {
        lg_step(L, "reshape", "vv", push_combined(L, push_rows(L, a, r.axes), rows, n), form);
    }
    if (r.value) lg_step(L, "item", "v", lua_gettop(L));
    return 1;
}

/* Pushes the scan of each of the rows of the contiguous array at x, in which totals are scanned likewise. */
static int push_scanned(lua_State *L, int x, int64_t rows, int64_t n)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t chunks = (n + BLOCK - 1) / BLOCK;
    luaL_checkstack(L, 16, NULL);
    int out = push_table(L, a, rows, n), totals = push_table(L, a, rows, chunks);
    push_launcher(L, "scanned_chunks", rows * chunks);
    launch_with(L, 2, (int64_t[]){n, chunks}, 3, (int[]){x, out, totals});
    if (chunks == 1) return out;
    totals = push_scanned(L, totals, rows, chunks);
    push_launcher(L, "carried_chunks", rows * chunks);
    launch_with(L, 2, (int64_t[]){n, chunks}, 2, (int[]){totals, out});
    return out;
}

static int call_scan(lua_State *L)
{
    const struct rt_array *a = check_elements(L);
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) { /* through all elements */
        lg_step(L, "flatten", "v", 1);
        lua_replace(L, 1);
        lua_pushinteger(L, 1);
        lua_replace(L, 2);
        a = lg_form(L, 1);
    }
    int axis = lg_check_axis(L, 2, a->ndim);
    int64_t n = a->shape[axis], size = rt_array_size(a);
    if (size == 0) {
        lg_step(L, "clone", "v", 1);
        return 1;
    }
    int last = lg_step(L, "moveaxis", "vii", 1, (int64_t)axis + 1, (int64_t)-1);
    lg_push_shape(L, a->ndim, lg_form(L, last)->shape);
    int form = lua_gettop(L), rows = lg_step(L, "contiguous", "v", last);
    int out = lg_step(L, "reshape", "vv", push_scanned(L, rows, size / n, n), form);
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", out, (int64_t)-1, (int64_t)axis + 1));
    return 1;
}

/* ---- making ---- */

/* Takes the option out of the options at 2, which are then a copy; pushes it. */
static void push_identity(lua_State *L, const char *what)
{
    lua_newtable(L);
    int others = lua_gettop(L);
    lua_pushnil(L);
    for (lua_pushnil(L); lua_istable(L, 2) && lua_next(L, 2); lua_settop(L, others + 2)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "identity") == 0) {
            if (!lg_is_scalar(L, -1)) luaL_error(L, "%s: identity is a number, not %s", what, lg_type_name(L, -1));
            lua_copy(L, -1, others + 1);
            continue;
        }
        lua_rawset(L, others);
    }
    lua_settop(L, others + 1);
    lua_pushvalue(L, others);
    lua_replace(L, 2);
    lua_remove(L, others);
}

static int make(lua_State *L, const char *what, const char *kernels, lua_CFunction call, lua_CFunction maker)
{
    const char *text = luaL_checkstring(L, 1);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    struct lg_head *f = lua_newuserdatauv(L, sizeof *f, 0);
    lg_read_head(L, what, text, f);
    if (*f->type) return lg_push_generic(L, f, maker);
    if (f->count != 2 || f->list[0].dtype != f->result.dtype || f->list[1].dtype != f->result.dtype)
        return luaL_error(
            L, "%s: %s must combine two numbers of one type into one of it, as in __device__ %s %s(%s a, %s b)", what,
            f->result.name, rt_dtypes[f->result.dtype].cuda, f->result.name, rt_dtypes[f->result.dtype].cuda,
            rt_dtypes[f->result.dtype].cuda);
    push_identity(L, what);
    const char *type = lua_pushfstring(L, "%s ", rt_dtypes[f->result.dtype].cuda);
    kernels = luaL_gsub(L, kernels, "F_", f->result.name);
    luaL_gsub(L, kernels, "T_ ", type);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_concat(L, 2);
    lg_make_around(L, 2, lua_tostring(L, -1));
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 4);
    lua_pushcclosure(L, call, 3);
    return 1;
}

static int reduction(lua_State *L)
{
    return make(L, "reduction", reductions, call_reduction, reduction);
}

static int scan(lua_State *L)
{
    return make(L, "scan", scans, call_scan, scan);
}

static const struct lg_function functions[] = {
    {"reduction", reduction, "gpu.reduction(source [, options])",
     "Makes a reduction of arrays out of a __device__ function in CUDA C that combines two numbers of one type.\n"
     "f(x [, axis [, keepdims]]), or f(x, {axis = ..., keepdims = ...}), combines all elements of x into a Lua number, or "
     "those along axes into an array, as x:sum does. In which order and grouping is not said, so that f(a, b) must be f(b, "
     "a) and f(f(a, b), c) be f(a, f(b, c)). The array has the dtype of the function. {identity = 0} says what there is of "
     "no elements, else an error; other options are those of gpu.kernel. What is to be done with the elements before goes "
     "into the call: f((x - y):abs()). Of a template <typename T> __device__ T f(T a, T b) one is made for each dtype that it "
     "meets.",
     "local longest = gpu.reduction([[__device__ float longest(float a, float b) {\n"
     "  return fabsf(b) > fabsf(a) || (fabsf(b) == fabsf(a) && b > a) ? b : a;\n"
     "}]], {identity = 0})\n"
     "local x = gpu.array({{1, -5, 2}, {3, 0, -1}})\n"
     "assert(longest(x) == -5 and longest(x, 2)[2] == 3 and longest(gpu.zeros(0)) == 0)"},
    {"scan", scan, "gpu.scan(source [, options])",
     "Makes a scan of arrays, as cumsum is one, out of a __device__ function in CUDA C that combines two numbers of one type."
     "\nf(x [, axis]) gives an array in which each element is combined with all before it along the axis or, without one, "
     "through all elements. Their order stays, so that only f(f(a, b), c) must be f(a, f(b, c)). The array has the dtype of "
     "the function; a template is one for each dtype that it meets. Options are those of gpu.kernel.",
     "local latest = gpu.scan [[__device__ int latest(int a, int b) { return b != 0 ? b : a; }]]\n"
     "assert(latest(gpu.array({4, 0, 0, 7, 0}, 'int32')):equal(gpu.array({4, 4, 4, 7, 7})))"},
    {0}};

void lg_open_combine(lua_State *L)
{
    lg_register(L, "gpu", functions);
}
