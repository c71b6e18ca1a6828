/* Sparse matrices in .npz files, laid out as SciPy's save_npz does. */
#include <string.h>
#include "lang/closest.h"
#include "lang/io.h"
#include "lang/sparse.h"

static const struct rt_zip_member *find_member(lua_State *L, const struct rt_zip *z, const char *path, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < z->count; i++)
        if (z->members[i].name_length == n && !memcmp(z->members[i].name, name, n)) return &z->members[i];
    luaL_error(L, "%s has no '%s': it holds no sparse matrix; gpu.load reads arrays", path, name);
    return NULL;
}

/* Pushes an array on the cpu device. */
static const struct rt_array *push_member(lua_State *L, const struct rt_zip *z, const char *path, const char *name,
                                          struct rt_device *cpu)
{
    const char *member = lua_pushfstring(L, "%s.npy", name);
    const char *title = lua_pushfstring(L, "'%s' of %s", name, path);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, lg_load_member(z, find_member(L, z, path, member), title, cpu, out, lg_error_box(L)));
    return out;
}

/* The word that an array of one string has, which NumPy writes with one byte or with four for each letter. */
static void read_format(lua_State *L, const struct rt_zip *z, const char *path, char word[8])
{
    const char *title = lua_pushfstring(L, "'format' of %s", path);
    struct rt_zip_input in;
    unsigned char text[512];
    size_t length = 0, n = 0;
    lg_check(L, rt_zip_member_open(z, find_member(L, z, path, "format.npy"), title, &in, lg_error_box(L)));
    enum rt_status status = RT_OK;
    if (in.input.left >= 10 && in.input.left <= sizeof text) {
        length = (size_t)in.input.left;
        status = rt_input_read(&in.input, text, length, lg_error_box(L));
    }
    enum rt_status closed = rt_zip_member_close(&in, status == RT_OK && length ? lg_error_box(L) : NULL);
    lg_check(L, status);
    if (length) lg_check(L, closed);
    for (size_t i = length ? 10u + text[8] + 256u * text[9] : 0; i < length && n < 7; i++)
        if (text[i] >= ' ' && text[i] < 127) word[n++] = (char)text[i];
    word[n] = '\0';
    lua_pop(L, 1);
}

static int load(lua_State *L)
{
    char format[8];
    struct rt_error *e = lg_error_box(L);
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    const char *path = luaL_checkstring(L, 1);
    lg_check_placement(L, 2, &p);
    struct lg_file *f = lg_push_file(L);
    lg_check(L, rt_zip_open(path, &f->zip, e));
    read_format(L, &f->zip, path, format);
    bool by_columns = !strcmp(format, "csc");
    if (!by_columns && strcmp(format, "csr") != 0)
        return luaL_error(L,
                          "%s holds a sparse matrix in the format '%s'; csr and csc can be read, and SciPy's "
                          "A.tocsr() makes one",
                          path, format);
    lua_pushliteral(L, "cpu");
    struct rt_device *cpu = lg_check_device(L, -1);
    const struct rt_array *shape = push_member(L, &f->zip, path, "shape", cpu);
    if (shape->ndim != 1 || shape->shape[0] != 2 || rt_dtypes[shape->dtype].kind != 'i')
        return luaL_error(L, "'shape' of %s is not two integers", path);
    size_t size = rt_dtypes[shape->dtype].size;
    const char *sizes = rt_array_host(shape);
    int64_t rows = rt_load_int(shape->dtype, sizes), columns = rt_load_int(shape->dtype, sizes + size);
    const struct rt_array *data = push_member(L, &f->zip, path, "data", cpu);
    const struct rt_array *indices = push_member(L, &f->zip, path, "indices", cpu);
    const struct rt_array *starts = push_member(L, &f->zip, path, "indptr", cpu);
    struct kn_csr *read = lg_new_sparse(L), *turned = lg_new_sparse(L), *out = lg_new_sparse(L);
    const int64_t lines = by_columns ? columns : rows, across = by_columns ? rows : columns;
    enum rt_status status = kn_csr_make(&(struct kn_csr_parts){lines, across, 0, data, indices, starts}, read, e);
    if (status == RT_INVALID) rt_error_prefix(e, "%s: ", path);
    lg_check(L, status);
    if (by_columns) lg_check(L, kn_csr_transpose(read, turned, e));
    enum rt_dtype dtype = read->data.dtype;
    if (p.dtype != RT_DTYPE_COUNT) lg_check(L, kn_csr_dtype(p.dtype, &dtype, e));
    lg_check(L, kn_csr_convert(by_columns ? turned : read, dtype, p.device, out, e));
    return 1;
}

static void add_member(lua_State *L, struct rt_zip_writer *w, const char *name, const struct rt_array *a)
{
    char header[RT_NPY_HEADER];
    const void *data = lg_push_host_copy(L, a);
    size_t n = rt_npy_write_header(a->dtype, a->ndim, a->shape, header);
    lg_check(
        L, rt_zip_add(w, name, header, n, data, (size_t)rt_array_size(a) * rt_dtypes[a->dtype].size, lg_error_box(L)));
    lua_pop(L, 1);
}

/* An array of no axes that holds the word as bytes: its header is that of 24 bytes with another dtype. */
static void add_format(lua_State *L, struct rt_zip_writer *w)
{
    static const char header[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '|S3', 'fortran_order': False, 'shape': (), }";
    char text[128];
    memset(text, ' ', sizeof text);
    memcpy(text, header, sizeof header - 1);
    text[sizeof text - 1] = '\n';
    lg_check(L, rt_zip_add(w, "format.npy", text, sizeof text, "csr", 3, lg_error_box(L)));
}

static int save(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    const char *path = luaL_checkstring(L, 1);
    const struct kn_csr *a = lg_check_sparse(L, 2);
    bool compress = false;
    lua_settop(L, 3);
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
            const char *key = lg_option_name(L);
            if (strcmp(key, "compress") != 0) luaL_error(L, "there is no option '%s'; there is compress", key);
            compress = lua_toboolean(L, -1);
        }
    }
    struct rt_array *shape = lg_new_array(L), *starts = lg_new_array(L);
    const int64_t sizes[2] = {a->rows, a->columns}, two = 2;
    lg_check(L, rt_array_new(kn_csr_device(a), RT_INT64, 1, &two, shape, e));
    lg_check(L, rt_array_write(shape, sizes, e));
    enum rt_dtype index = a->data.shape[0] < INT32_MAX ? RT_INT32 : RT_INT64; /* SciPy wants both lists alike */
    lg_check(L, kn_convert(&a->starts, index, kn_csr_device(a), starts, e));
    struct rt_array *indices = lg_new_array(L);
    lg_check(L, kn_convert(&a->indices, index, kn_csr_device(a), indices, e));
    struct lg_file *f = lg_push_file(L);
    lg_check(L, rt_zip_create(path, compress, &f->writer, e));
    add_member(L, &f->writer, "indices.npy", indices);
    add_member(L, &f->writer, "indptr.npy", starts);
    add_format(L, &f->writer);
    add_member(L, &f->writer, "shape.npy", shape);
    add_member(L, &f->writer, "data.npy", &a->data);
    lg_check(L, rt_zip_finish(&f->writer, true, e));
    return 0;
}

const struct lg_function lg_sparse_io_functions[] = {
    {"load", load, "gpu.sparse.load(path [, dtype] [, device])",
     "A sparse matrix from an .npz file, as gpu.sparse.save and SciPy's save_npz write it; csr and csc.",
     "local path = os.tmpname()\ngpu.sparse.save(path, gpu.eye(3):to_sparse())\n"
     "assert(gpu.sparse.load(path, 'cpu').nnz == 3)\nos.remove(path)"},
    {"save", save, "gpu.sparse.save(path, A [, {compress = true}])",
     "Writes a sparse matrix to an .npz file that gpu.sparse.load and SciPy's load_npz read.\n"
     "compress = true deflates it.",
     "local path = os.tmpname()\ngpu.sparse.save(path, gpu.eye(3):to_sparse(), {compress = true})\n"
     "assert(gpu.sparse.load(path):sum() == 3)\nos.remove(path)"},
    {0}};
