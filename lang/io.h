/* Arrays in files, shared by lang/io*.c. All functions here may raise a Lua error. */
#ifndef LG_IO_H
#define LG_IO_H

#include "lang/array.h"
#include "runtime/zip.h"

/* Everything that gpu.load and gpu.save may be told; strings and tables stay in the table of options. */
struct lg_file_options {
    struct lg_placement place; /* RT_DTYPE_COUNT: as in the file */
    const char *format;        /* NULL: by the path's end */
    bool map, compress;
    const char *delimiter, *decimal, *comment; /* NULL: not said */
    int header;                                /* stack index of a list of names; with has_header alone true or false */
    bool has_header, header_value;
    int shape, columns; /* stack indices, or 0 */
    int64_t skip, offset;
};

/* What a file needs while Lua may raise: released with it. */
struct lg_file {
    struct rt_zip zip;
    struct rt_zip_writer writer;
    char *text;
    size_t size;
};
struct lg_file *lg_push_file(lua_State *L);
/* The array of a member that messages call `name`, on a device. Never raises. */
enum rt_status lg_load_member(const struct rt_zip *z, const struct rt_zip_member *m, const char *name,
                              struct rt_device *d, struct rt_array *out, struct rt_error *e);

/* Of a table that gpu.load made from an .npz file pushes the list of the file's names, which has at a name the number
 * of the member as long as nobody asked for that; false, and nothing, for other values. */
bool lg_push_archive_names(lua_State *L, int idx);

/* Raises where files cannot be mapped. */
void lg_check_map(lua_State *L, const struct lg_file_options *o);

/* A format: each pushes what it loads and returns how many values that is, or saves the value at stack index 2. */
struct lg_file_format {
    const char *name, *endings;          /* ".csv .tsv" */
    const char *load_takes, *save_takes; /* options beside those of all formats: "delimiter header" */
    int (*load)(lua_State *L, const char *path, const struct lg_file_options *o);
    void (*save)(lua_State *L, const char *path, const struct lg_file_options *o);
};
/* lang/io_npz.c, lang/io_text.c, lang/io_image.c */
int lg_load_npz(lua_State *L, const char *path, const struct lg_file_options *o);
void lg_save_npz(lua_State *L, const char *path, const struct lg_file_options *o);
int lg_load_csv(lua_State *L, const char *path, const struct lg_file_options *o);
void lg_save_csv(lua_State *L, const char *path, const struct lg_file_options *o);
int lg_load_json(lua_State *L, const char *path, const struct lg_file_options *o);
void lg_save_json(lua_State *L, const char *path, const struct lg_file_options *o);
int lg_load_png(lua_State *L, const char *path, const struct lg_file_options *o);
void lg_save_png(lua_State *L, const char *path, const struct lg_file_options *o);

/* Where host code may write the elements of a new array: its memory, or a block that lg_fill_done sends there; one
 * value is pushed. */
void *lg_fill_start(lua_State *L, const struct rt_array *a);
void lg_fill_done(lua_State *L, const struct rt_array *a, const void *elements);
/* Replaces the array on top of the stack by one of the wanted dtype, when that is another. */
void lg_to_wanted(lua_State *L, const struct lg_placement *p);

#endif
