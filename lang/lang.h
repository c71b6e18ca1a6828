/* Shared by the files of lang/: how C functions become documented Lua functions, how errors are raised, how the
 * userdata types are reached. Functions marked [raises] may raise a Lua error. */
#ifndef LG_LANG_H
#define LG_LANG_H

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>
#include "kernels/kernels.h"
#include "runtime/kernel.h"
#include "runtime/lend.h"

#ifdef __clang_analyzer__ /* Lua's header does not tell it that these never return */
int luaL_error(lua_State *L, const char *format, ...) __attribute__((analyzer_noreturn));         // NOLINT
int luaL_argerror(lua_State *L, int arg, const char *message) __attribute__((analyzer_noreturn)); // NOLINT
#endif

/* One public Lua function and its documentation, in one row. Docs are data: ?name, inspect, completion and the printed
 * reference read them; a test runs every example. */
struct lg_function {
    const char *name; /* "linspace" */
    lua_CFunction call;
    const char *signature; /* "gpu.linspace(start, stop [, count [, dtype]])" */
    const char *doc;       /* first line is the summary; then shapes, units, errors */
    const char *example; /* Lua that raises when it is wrong: uses assert; `gpu` is in scope. NULL only with a reason */
};
/* Sets every function of the rows (ended by a NULL name) into the table at the top of the stack and documents them as
 * "scope.name" (scope "gpu", "array", "kernel", ...). More arguments than the signature names are an error, but for one
 * table behind them. The rows must stay. [raises] */
void lg_register(lua_State *L, const char *scope, const struct lg_function *rows);
/* Documents alone: rows, which may lack their texts where they are operations; one row; the function at idx. [raises]
 */
void lg_document_rows(lua_State *L, const char *scope, const struct lg_function *rows);
void lg_document(lua_State *L, const char *scope, const struct lg_function *row);
void lg_document_value(lua_State *L, int idx, const struct lg_function *row);
/* The row of every function that is made of the C function. [raises] */
void lg_document_call(lua_State *L, lua_CFunction call, const struct lg_function *row);
/* The function at the top of the stack, popped, as gpu.name and as a method, documented as both. [raises] */
void lg_set_both(lua_State *L, int gpu, int methods, const struct lg_function *row);
/* The text at the top of the stack, popped, and kept for ever. [raises] */
const char *lg_keep(lua_State *L);
/* lang/ops.c: gives the row of an operation, by its name, its texts. [raises] */
void lg_complete_op_row(lua_State *L, struct lg_function *row);
/* lang/dtypes.c: the same for that of gpu.dtypes. Never raises. */
void lg_complete_dtypes_row(void);
/* The row recorded for a name ("gpu.linspace", "array.sum") or for a function value at idx; NULL when none. [raises] */
const struct lg_function *lg_doc_by_name(lua_State *L, const char *name);
const struct lg_function *lg_doc_of_value(lua_State *L, int idx);
/* The same for a name as users write it: "sum", "svd", "k.ptx"'s "ptx", another library's "np.linalg.svd". [raises] */
const struct lg_function *lg_doc_by_word(lua_State *L, const char *word);
/* lang/help.c: pushes a list of the documented names that a word, which is none of them, may mean: a module's
 * functions, else those with the word in their name or text; false: there are none, and nothing is pushed. [raises] */
bool lg_push_found(lua_State *L, const char *word);
/* Pushes what a message says on a name that has no documentation: "did you mean ...?", or where names are listed. */
const char *lg_push_way_out(lua_State *L, const char *word);
void lg_push_doc_names(lua_State *L); /* an unsorted list of all recorded names. [raises] */
/* Lua's own functions by their whole names ("string.format", "file.read", "print"), ended by a NULL name. Sessions know
 * them by value; they are no recorded names. */
extern const struct lg_function lg_stdlib[];

/* lang/own.c: what a state has one of, each a userdata of the file that makes it; NULL as long as there is none. */
enum lg_own { LG_OWN_ERROR, LG_OWN_ACCOUNT, LG_OWN_WAITING, LG_OWN_COUNT };
void *lg_own(lua_State *L, enum lg_own what);
/* Takes the userdata at the top for it, which the registry holds under the key from then on, and pops it. [raises] */
void lg_set_own(lua_State *L, enum lg_own what, const void *key);

/* lang/error.c: gives the value at the top a metatable of its own, in which f is all there is: its "__gc", say.
 * [raises] */
void lg_set_event(lua_State *L, const char *event, lua_CFunction f);

/* The state's error struct for calls into runtime/ and kernels/. */
struct rt_error *lg_error_box(lua_State *L);
/* Raises the error in the box, with the position of the Lua caller in front. [raises] */
int lg_raise(lua_State *L, struct rt_error *e);
/* What messages call the type of the value at idx: the name that its metatable gives ("array"), or Lua's. */
const char *lg_type_name(lua_State *L, int idx);
/* "bad argument #1 to 'f' (EXPECTED, got array)" [raises] */
int lg_raise_expected(lua_State *L, int idx, const char *expected);
/* luaL_checkudata of a type of this library, whose message calls it as lg_type_name does. [raises] */
void *lg_check_object(lua_State *L, int idx, const char *type);
/* Notes the status that the message on top of the stack, about to be raised, stands for; and the status noted for the
 * error value at idx, RT_OK for others. A session names errors by it. [raises] */
void lg_note_status(lua_State *L, enum rt_status status);
enum rt_status lg_status_of(lua_State *L, int idx);
/* lg_check(L, status): raises unless RT_OK. */
static inline void lg_check(lua_State *L, enum rt_status status)
{
    if (status != RT_OK) lg_raise(L, lg_error_box(L));
}
/* The same for the status of a long call with rt_lend() before it. */
static inline void lg_check_lent(lua_State *L, enum rt_status status)
{
    rt_lend_end();
    lg_check(L, status);
}

/* A field of the table at the top of the stack. [raises] */
static inline void lg_set_integer(lua_State *L, const char *key, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}
static inline void lg_set_number(lua_State *L, const char *key, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, key);
}
static inline void lg_set_string(lua_State *L, const char *key, const char *value) /* nil for NULL */
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

/* Raises when the user wants to stop, and answers who waits for the interpreter; for loops over many Lua values.
 * [raises] */
void lg_poll(lua_State *L);

/* Userdata. The new_ functions push an empty object (all zeros, metatable set); fill it in place, so an error in
 * between leaks nothing. [raises] */
#define LG_ARRAY      "lunarray.array"
#define LG_KERNEL     "lunarray.kernel"
#define LG_DEVICE     "lunarray.device"
#define LG_TEXTURE    "lunarray.texture"
#define LG_TENSOR_MAP "lunarray.tensormap"
struct rt_array *lg_new_array(lua_State *L);
/* An array to read: its elements are there. Raises for other values and freed arrays. */
struct rt_array *lg_check_array(lua_State *L, int idx);
/* An array to write to: nothing waits to read its former elements either (lang/lazy.c). */
struct rt_array *lg_check_target(lua_State *L, int idx);
/* Only dtype, shape and device can be relied on. */
struct rt_array *lg_check_form(lua_State *L, int idx);
struct rt_array *lg_test_array(lua_State *L, int idx);      /* likewise; NULL for other values */
struct rt_texture *lg_check_texture(lua_State *L, int idx); /* a texture or surface; raises for others and freed ones */
struct rt_texture *lg_test_texture(lua_State *L, int idx);  /* NULL for other values */
struct rt_tensor_map *lg_check_tensor_map(lua_State *L, int idx); /* its array's elements are there, as for a target */
struct rt_tensor_map *lg_test_tensor_map(lua_State *L, int idx);
/* Pushes the list of names, which NULL ends: what an object's __fields answers. Returns 1. [raises] */
int lg_push_names(lua_State *L, const char *const *names);
void lg_push_device(lua_State *L, struct rt_device *d);
/* A device from a name, a device object, or nil (the default). [raises] */
struct rt_device *lg_check_device(lua_State *L, int idx);
bool lg_is_device_field(const char *name, size_t length);
enum rt_dtype lg_check_dtype(lua_State *L, int idx, enum rt_dtype fallback); /* nil or none gives fallback */
/* The dtype that was probably meant by a name that is none, as Float32, np.float32, f4; NULL: none is close. */
const char *lg_dtype_meant(const char *name);
/* A number or the form of an array at idx as an operand. [raises] */
void lg_check_operand(lua_State *L, int idx, struct kn_operand *out);

/* lang/print.c: the text form of an array, pushed as a Lua string; copies only what it shows. [raises] */
void lg_push_array_text(lua_State *L, const struct rt_array *a);
/* The HTML table, likewise. [raises] */
void lg_push_array_html(lua_State *L, const struct rt_array *a);
/* Adds text with <, >, & and " as HTML writes them. [raises] */
void lg_add_html(luaL_Buffer *b, const char *text, size_t length);
static inline void lg_add_html_text(luaL_Buffer *b, const char *text)
{
    lg_add_html(b, text, strlen(text));
}
/* Adds at most 511 bytes as printf makes them. [raises] */
void lg_add_format(luaL_Buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Pops an HTML text and, from below it, a plain one: the forms that the table at the top then shows itself in. [raises]
 */
void lg_set_forms(lua_State *L);

/* lang/pretty.c: has print write what the table at the top holds, as it is shown as a cell's result. [raises] */
void lg_make_record(lua_State *L);
/* The same with a text of f's making; `name` is that of the metatable. [raises] */
void lg_set_text(lua_State *L, const char *name, lua_CFunction f);

/* Opens the library: pushes the gpu table. `require "lunarray"` in a stock lua5.4 comes here. */
int luaopen_lunarray(lua_State *L);
/* Parts of it, each adding to the gpu table at the top of the stack. [raises] */
void lg_open_array(lua_State *L);
void lg_open_kernel(lua_State *L);
void lg_open_profile(lua_State *L);
void lg_open_trace(lua_State *L);
void lg_open_texture(lua_State *L);
void lg_open_tensor_map(lua_State *L);
void lg_open_progress(lua_State *L);
void lg_open_help(lua_State *L);
void lg_open_image(lua_State *L);
void lg_open_plot(lua_State *L);
void lg_open_handles(lua_State *L); /* what display and gpu.imshow return; adds nothing */
void lg_open_device(lua_State *L);

/* The text of a loaded chunk by its chunk name ("=cell 3", "@file.lua"), or NULL: the session's registry of cells, or
 * the file. Pushes the string that keeps it alive (or nil). */
const char *lg_chunk_source(lua_State *L, const char *chunkname, size_t *length);

#endif
