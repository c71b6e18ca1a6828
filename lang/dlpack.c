/* x:dlpack() and gpu.from_dlpack(): arrays that other libraries see as DLPack tensors, and the other way round. */
#include "lang/dlpack.h"
#include <string.h>
#include "lang/array.h"
#include "runtime/exchange.h"

/* The form at argument 2: "versioned" unless told otherwise. */
static bool check_versioned(lua_State *L)
{
    const char *form = luaL_optstring(L, 2, "versioned");
    bool unversioned = !strcmp(form, "unversioned");
    luaL_argcheck(L, unversioned || !strcmp(form, "versioned"), 2, "expected \"versioned\" or \"unversioned\"");
    return !unversioned;
}

static int dlpack(lua_State *L)
{
    const struct rt_array *a = lg_check_target(L, 1); /* who gets the tensor may write to it */
    bool versioned = check_versioned(L);
    struct rt_dl_managed *m = lg_dlpack_new(L);
    lg_check_frame(L);
    lg_check(L, rt_dlpack_export(a, versioned, m, lg_error_box(L)));
    return 1;
}

/* A light userdata becomes a capsule, which owns its tensor from here on. */
static void own_pointer(lua_State *L)
{
    bool versioned = check_versioned(L);
    luaL_argcheck(L, lua_touserdata(L, 1), 1, "a null pointer");
    struct rt_dl_managed *m = lg_dlpack_new(L);
    m->pointer = lua_touserdata(L, 1);
    m->versioned = versioned;
    lua_replace(L, 1);
}

static bool is_read_only(const struct rt_dl_managed *m)
{
    return m->versioned && ((const struct rt_dl_versioned *)m->pointer)->flags & RT_DL_READ_ONLY;
}

static int from_dlpack(lua_State *L)
{
    if (lua_islightuserdata(L, 1)) own_pointer(L);
    bool copy = is_read_only(lg_dlpack_check(L, 1));
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_dlpack_import(lg_dlpack_check(L, 1), out, lg_error_box(L)));
    if (!copy) return 1;
    struct rt_array *own = lg_new_array(L);
    lg_check(L, kn_convert(out, out->dtype, rt_array_device(out), own, lg_error_box(L)));
    lg_array_drop(out);
    return 1;
}

const struct lg_function lg_dlpack_functions[] = {
    {"from_dlpack", from_dlpack, "gpu.from_dlpack(capsule [, form])",
     "An array over the memory of a DLPack tensor, without a copy; one that may only be read is copied.\n"
     "A capsule is what x:dlpack() makes, or another module's C code by lunarray's header lang/dlpack.h; a light userdata "
     "is the address of a DLManagedTensorVersioned or, with the form \"unversioned\", a DLManagedTensor. The array takes the "
     "tensor over and deletes it when nothing refers to it any more. On cuda the producer's work must be done.",
     "local x = gpu.ones(3, 'cpu')\nlocal y = gpu.from_dlpack(x:dlpack())\ny[2] = 5\nassert(x[2] == 5)"},
    {0}};

const struct lg_function lg_dlpack_methods[] = {
    {"dlpack", dlpack, "x:dlpack([form])",
     "A DLPack capsule over the array's memory, for gpu.from_dlpack or another module.\n"
     "Arrays on cpu and cuda; the memory stays until whoever takes the tensor deletes it. What is written through one is "
     "seen by the other; let gpu.evaluate() compute what still waits before somebody else writes. form is \"versioned\", "
     "DLPack's since 1.0, unless told otherwise, or \"unversioned\".",
     "local c <close> = gpu.ones(2, 3, 'cpu'):dlpack()\nassert(gpu.from_dlpack(c):sum() == 6)\n"
     "assert(not pcall(gpu.from_dlpack, c))"},
    {0}};
