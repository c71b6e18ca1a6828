/* gpu.load and gpu.save: which format a file is in, and NumPy's .npy and bare bytes. */
#include "lang/closest.h"
#include "lang/io.h"
#include <stdlib.h>
#include <string.h>

#define LG_FILE "lunarray.file"

static int file_gc(lua_State *L)
{
    struct lg_file *f = lua_touserdata(L, 1);
    rt_zip_close(&f->zip);
    rt_zip_finish(&f->writer, false, NULL);
    free(f->text);
    f->text = NULL;
    return 0;
}

struct lg_file *lg_push_file(lua_State *L)
{
    struct lg_file *f = lua_newuserdatauv(L, sizeof *f, 0);
    memset(f, 0, sizeof *f);
    f->writer.file.handle = -1;
    if (luaL_newmetatable(L, LG_FILE)) {
        lua_pushcfunction(L, file_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return f;
}

void *lg_fill_start(lua_State *L, const struct rt_array *a)
{
    void *host = lg_array_host(a);
    if (host)
        lua_pushnil(L);
    else
        host = lua_newuserdatauv(L, (size_t)rt_array_size(a) * rt_dtypes[a->dtype].size + 1, 0);
    return host;
}

void lg_fill_done(lua_State *L, const struct rt_array *a, const void *elements)
{
    if (!lua_isnil(L, -1)) lg_check(L, rt_array_write(a, elements, lg_error_box(L)));
    lua_pop(L, 1);
}

void lg_to_wanted(lua_State *L, const struct lg_placement *p)
{
    const struct rt_array *a = lg_check_array(L, -1);
    if (p->dtype == RT_DTYPE_COUNT || p->dtype == a->dtype) return;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_convert(a, p->dtype, rt_array_device(a), out, lg_error_box(L)));
    lua_remove(L, -2);
}

void lg_check_map(lua_State *L, const struct lg_file_options *o)
{
    if (o->map && o->place.device->kind != RT_CPU)
        luaL_error(L, "a file is mapped into the host's memory: map = true needs device = \"cpu\", not \"%s\"",
                   o->place.device->name);
}

/* ---- NumPy's format ---- */
static int load_npy(lua_State *L, const char *path, const struct lg_file_options *o)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *out = lg_new_array(L);
    lg_check_map(L, o);
    if (o->map)
        lg_check(L, rt_npy_map(path, o->place.device, out, e));
    else
        lg_check(L, rt_npy_load(path, o->place.device, out, e));
    lg_to_wanted(L, &o->place);
    return 1;
}

static void save_npy(lua_State *L, const char *path, const struct lg_file_options *o)
{
    const struct rt_array a = *lg_check_array(L, 2);
    (void)o;
    const void *data = lg_push_host_copy(L, &a);
    lg_check(L, rt_npy_save(path, a.dtype, a.ndim, a.shape, data, lg_error_box(L)));
}

/* ---- bytes ---- */

/* Reads `count` elements, or as many as there are with -1, from the options' offset on; h has their dtype and shape. */
static enum rt_status read_raw(const char *path, const struct lg_file_options *o, int64_t count, struct rt_npy *h,
                               struct rt_array *out, struct rt_error *e)
{
    const int64_t offset = o->offset;
    struct rt_file f;
    struct rt_input in;
    size_t size = rt_dtypes[h->dtype].size;
    enum rt_status status = rt_file_open(path, &f, e);
    if (status != RT_OK) return status;
    rt_input_of_file(&f, &in);
    if ((uint64_t)offset > f.size)
        status = rt_fail(e, RT_INVALID, "%s ends at byte %llu, before the offset %lld", path,
                         (unsigned long long)f.size, (long long)offset);
    in.at = (uint64_t)offset;
    in.left = status == RT_OK ? f.size - in.at : 0;
    if (count < 0) {
        h->ndim = 1;
        count = h->shape[0] = (int64_t)(in.left / size);
        if (status == RT_OK && in.left % size)
            status = rt_fail(e, RT_INVALID, "%s: %llu bytes are no whole number of elements of %s, which have %zu",
                             path, (unsigned long long)in.left, rt_dtypes[h->dtype].name, size);
    }
    h->bytes = (uint64_t)count * size;
    if (status == RT_OK && h->bytes > in.left)
        status = rt_fail(e, RT_INVALID, "%s: %llu bytes follow byte %lld, but the shape needs %llu", path,
                         (unsigned long long)in.left, (long long)offset, (unsigned long long)h->bytes);
    if (status == RT_OK) status = rt_npy_elements(&in, h, o->place.device, out, e);
    rt_file_close(&f);
    return status;
}

static int load_raw(lua_State *L, const char *path, const struct lg_file_options *o)
{
    struct rt_npy h = {.dtype = o->place.dtype == RT_DTYPE_COUNT ? RT_UINT8 : o->place.dtype};
    int64_t count = -1;
    int next;
    if (o->shape) {
        h.ndim = lg_check_shape(L, o->shape, false, h.shape, &next);
        count = 1;
        for (int i = 0; i < h.ndim; i++)
            if (__builtin_mul_overflow(count, h.shape[i] ? h.shape[i] : 1, &count) || count > INT64_MAX / 16)
                return luaL_error(L, "so large a shape is in no file");
        for (int i = 0; i < h.ndim; i++) count = h.shape[i] ? count : 0;
    }
    struct rt_array *out = lg_new_array(L);
    lg_check(L, read_raw(path, o, count, &h, out, lg_error_box(L)));
    return 1;
}

static void save_raw(lua_State *L, const char *path, const struct lg_file_options *o)
{
    const struct rt_array a = *lg_check_array(L, 2);
    struct rt_error *e = lg_error_box(L);
    struct rt_writer w;
    (void)o;
    const void *data = lg_push_host_copy(L, &a);
    lg_check(L, rt_writer_open(path, &w, e));
    rt_writer_put(&w, data, (size_t)rt_array_size(&a) * rt_dtypes[a.dtype].size);
    lg_check(L, rt_writer_finish(&w, true, e));
}

/* ---- which format ---- */
static const struct lg_file_format formats[] = {
    {"npy", ".npy", "map", "", load_npy, save_npy},
    {"npz", ".npz", "map", "compress", lg_load_npz, lg_save_npz},
    {"csv", ".csv .tsv .txt", "delimiter decimal comment header columns skip", "delimiter header", lg_load_csv,
     lg_save_csv},
    {"json", ".json", "", "", lg_load_json, lg_save_json},
    {"png", ".png", "", "", lg_load_png, lg_save_png},
    {"raw", ".bin .raw", "shape offset", "", load_raw, save_raw},
};
#define FORMATS (sizeof formats / sizeof *formats)

/* Whether it is one of the words, which blanks part. */
static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

static const struct lg_file_format *find_format(lua_State *L, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; i < FORMATS; i++)
        if (name ? !strcmp(name, formats[i].name) : dot && dot[1] && has_word(formats[i].endings, dot))
            return &formats[i];
    if (name) luaL_error(L, "there is no file format '%s'; there are npy, npz, csv, json, png, raw", name);
    luaL_error(
        L,
        "the format of '%s' is not known by its end: .npy, .npz, .csv, .tsv, .txt, .json, .png, .bin or .raw; or "
        "name it, as in {format = \"npy\"}",
        path);
    return NULL;
}

/* ---- options ---- */
static const char *check_text(lua_State *L, const char *key)
{
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "option '%s': expected a string, got %s", key, lg_type_name(L, -1));
    return lua_tostring(L, -1);
}

static int64_t check_count(lua_State *L, const char *key)
{
    int is_integer;
    lua_Integer n = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || n < 0) luaL_error(L, "option '%s': expected an integer of 0 or more", key);
    return n;
}

/* The option on top of the stack. */
static void read_option(lua_State *L, const char *key, struct lg_file_options *o)
{
    if (!strcmp(key, "dtype"))
        o->place.dtype = lg_check_dtype(L, -1, RT_DTYPE_COUNT);
    else if (!strcmp(key, "device"))
        o->place.device = lg_check_device(L, -1);
    else if (!strcmp(key, "format"))
        o->format = check_text(L, key);
    else if (!strcmp(key, "map"))
        o->map = lua_toboolean(L, -1);
    else if (!strcmp(key, "compress"))
        o->compress = lua_toboolean(L, -1);
    else if (!strcmp(key, "delimiter"))
        o->delimiter = check_text(L, key);
    else if (!strcmp(key, "decimal"))
        o->decimal = check_text(L, key);
    else if (!strcmp(key, "comment"))
        o->comment = lua_toboolean(L, -1) ? check_text(L, key) : "";
    else if (!strcmp(key, "skip"))
        o->skip = check_count(L, key);
    else if (!strcmp(key, "offset"))
        o->offset = check_count(L, key);
    else if (strcmp(key, "header") != 0 && strcmp(key, "shape") != 0 && strcmp(key, "columns") != 0)
        luaL_error(L,
                   "there is no option '%s'; there are dtype, device, format, map, compress, delimiter, decimal, "
                   "comment, header, columns, skip, shape, offset",
                   key);
}

static void read_options(lua_State *L, int idx, struct lg_file_options *o)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) read_option(L, lg_option_name(L), o);
    lua_getfield(L, idx, "header");
    o->has_header = !lua_isnil(L, -1);
    o->header_value = lua_toboolean(L, -1);
    o->header = lua_istable(L, -1) ? lua_gettop(L) : 0;
    lua_getfield(L, idx, "shape");
    o->shape = lua_isnil(L, -1) ? 0 : lua_gettop(L);
    lua_getfield(L, idx, "columns");
    o->columns = lua_isnil(L, -1) ? 0 : lua_gettop(L);
}

/* Raises for an option that the format has no use for; what is false asks for nothing. */
static void check_options(lua_State *L, int idx, const char *function, const char *name, const char *takes)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        if (has_word("dtype device format", key) || has_word(takes, key) || !lua_toboolean(L, -1)) continue;
        luaL_error(L, "%s: the format %s has no option '%s'%s%s", function, name, key,
                   *takes ? "; of its own it has: " : " and no other of its own", takes);
    }
}

static const char *check_path(lua_State *L)
{
    size_t n;
    const char *path = luaL_checklstring(L, 1, &n);
    luaL_argcheck(L, n > 0 && strlen(path) == n, 1, "expected the path of a file");
    return path;
}

static int load(lua_State *L)
{
    struct lg_file_options o = {.place = {RT_DTYPE_COUNT, NULL}};
    const char *path = check_path(L);
    int options = 0, top = lua_gettop(L);
    for (int idx = 2; idx <= top; idx++) {
        if (lua_isnil(L, idx)) continue;
        if (!lua_istable(L, idx)) {
            lg_check_place(L, idx, &o.place);
            continue;
        }
        luaL_argcheck(L, !options, idx, "a second table; all options stand in one");
        luaL_argcheck(L, lua_rawlen(L, idx) == 0, idx,
                      "expected options by their names, such as {shape = {2, 3}}, got a list");
        options = idx;
    }
    if (options) read_options(L, options, &o);
    if (!o.place.device) o.place.device = lg_check_device(L, lua_gettop(L) + 1);
    const struct lg_file_format *format = find_format(L, path, o.format);
    if (options) check_options(L, options, "gpu.load", format->name, format->load_takes);
    return format->load(L, path, &o);
}

static int save(lua_State *L)
{
    struct lg_file_options o = {.place = {RT_DTYPE_COUNT, NULL}};
    luaL_argcheck(L, lua_type(L, 1) == LUA_TSTRING || lua_type(L, 2) != LUA_TSTRING, 1,
                  "the path comes first, gpu.save(\"x.npy\", x)");
    const char *path = check_path(L);
    luaL_checkany(L, 2);
    lua_settop(L, 3);
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        read_options(L, 3, &o);
        if (o.place.dtype != RT_DTYPE_COUNT || o.place.device || o.map || o.shape || o.columns)
            return luaL_error(L, "dtype, device, map, shape and columns are options of gpu.load; x:to(...) converts");
    }
    const struct lg_file_format *format = find_format(L, path, o.format);
    if (!lua_isnil(L, 3)) check_options(L, 3, "gpu.save", format->name, format->save_takes);
    format->save(L, path, &o);
    return 0;
}

const struct lg_function lg_io_functions[] = {
    {"load", load, "gpu.load(path [, dtype] [, device] [, {options}])",
     "An array, or a table of arrays, from a file; what it is in follows from the path's end, or from the option format.\n"
     ".npy: NumPy's, of versions 1 to 3, both byte orders and both element orders; bfloat16 is its \"<V2\". With map = "
     "true, on the cpu device, elements are read from the file when they are looked at, and writes stay in memory; those "
     "that a file has lost meanwhile are 0, and an error at the end of the cell.\n"
     ".npz: a table of arrays by name, each read when it is first asked for, from stored and deflated members; print "
     "lists them, #t counts them, and one that cannot be read raises when it is asked for, in pairs(t) behind all others. "
     "With map = true, on the cpu device, stored members are mapped where their elements lie at a multiple of their size, "
     "as in files of gpu.save.\n"
     ".csv, .tsv, .txt: an array of rows and columns, float32 unless told otherwise, and a list of the header's names. "
     "Fields are parted by commas (in .csv by ; | or tabs where the first line has these alone), tabs, blanks, or by delimiter; "
     "decimal = \",\" reads 1,5 as 1.5; header is true or false, or guessed; columns is a "
     "list of names or numbers of those to read, in the order wanted, where others hold text, say; lines that begin with comment (\"#\"), "
     "what follows it behind numbers and the first `skip` lines are left out; missing values (NA, #N/A, null, None, and no text) are NaN. Complex dtypes read 1+2j and (1+2j). "
     "With header = true the names may stand in a comment, where np.savetxt has them.\n"
     ".json: lists of lists of numbers, float32 unless told otherwise; null is NaN, and NaN and Infinity are as Python's json writes them.\n"
     ".png: rows, columns and, unless grey, channels, as uint8 or uint16.\n"
     ".bin, .raw: bytes; dtype, shape and offset say what they are.\n"
     "Options: dtype, device, format, map, delimiter, decimal, comment, header, columns, skip, shape and offset.",
     "local path = os.tmpname() .. '.npy'\ngpu.save(path, gpu.range(6):reshape(2, 3))\n"
     "assert(gpu.load(path):sum() == 21 and gpu.load(path, 'int32', 'cpu').dtype == 'int32')\nos.remove(path)"},
    {"save", save, "gpu.save(path, x [, {options}])",
     "Writes an array, or for .npz a table of arrays, to a file in the format of the path's end (see gpu.load).\n"
     "The file is written under another name and then renamed, so that nobody sees half of it. compress = true deflates "
     ".npz members. Text files take delimiter and header, a list of names; numbers are as short as they can be and still "
     "read as the same. PNG images are of bool, uint8, uint16, or of floats from 0 to 1, of shape (rows, columns) or "
     "(rows, columns, channels). JSON has NaN, Infinity and -Infinity where the elements are so, as Python's json writes and reads them. .bin and .raw hold the bare "
     "elements.\nOptions: format, compress, delimiter and header.",
     "local path = os.tmpname() .. '.npz'\ngpu.save(path, {x = gpu.ones(3), y = gpu.zeros(2)}, {compress = true})\n"
     "local t = gpu.load(path)\nassert(t.x:sum() == 3 and #t.y == 2)\nos.remove(path)"},
    {0}};
