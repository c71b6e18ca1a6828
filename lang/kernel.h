/* Kernel objects inside lang/: compile.c makes them, kernel.c launches them, kernel_fields.c answers for their fields,
 * occupancy.c tells how many fit. */
#ifndef LG_KERNEL_H
#define LG_KERNEL_H

#include "lang/lang.h"

#define LG_MAX_LOADED 16 /* devices that one source is loaded on */

/* The kernels of one source share what is compiled and loaded of it, one module per device. */
struct lg_family {
    int references;
    int count;
    struct rt_module *modules[LG_MAX_LOADED]; /* [0] is of the device that gpu.kernel compiled for */
    struct rt_device *devices[LG_MAX_LOADED];
};
void lg_family_release(struct lg_family *f); /* NULL is fine */

/* What was launched of a kernel by k(grid, block)(...) and k:forall(n)(...). */
struct lg_launches {
    uint64_t count;
    struct rt_launch last; /* its size */
    double ms;             /* that it took; negative on a GPU, which nobody waits for */
};

struct lg_kernel {
    struct lg_family *family;
    struct lg_launches launches;
    struct rt_kernel loaded[LG_MAX_LOADED]; /* beside family->modules; module is NULL until asked for */
};

/* A launch: <<<grid, block, shared>>>, or a number of threads. */
struct lg_launch {
    struct rt_launch launch;
    int64_t forall;                  /* threads wanted, -1 when `launch` says it all */
    struct rt_stream *const *stream; /* in the stream's object, which the launcher keeps; NULL: the current one */
};
/* Reads a launch from the arguments: a launcher at 1 (what k(grid, block) and k:forall(n) give), or a kernel at 1 and
 * grid, block and options (shared memory...) behind it. Leaves the kernel at 1 in place of the launcher, and pushes
 * nothing. `usage` tells how it is written. [raises] */
void lg_read_launch(lua_State *L, const char *usage, struct lg_launch *out);

/* Reads one of grid and block, which it is called: n, or {x}, {x, y}, {x, y, z}. [raises] */
void lg_read_size(lua_State *L, int idx, const char *what, unsigned out[3]);

/* A launch with its arguments. */
#define LG_ARGS_ON_STACK 32
struct lg_call {
    struct rt_device *device;   /* that the arguments are on */
    const struct rt_kernel *on; /* as the kernel is loaded there */
    struct rt_launch launch;
    struct rt_arg *args;
    size_t count;
    struct rt_arg small[LG_ARGS_ON_STACK];
};
/* Reads the arguments from 2 to the top for the kernel at 1. What *out points to lives as long as the stack frame.
 * [raises] */
void lg_read_call(lua_State *L, const struct lg_launch *l, struct lg_call *out);

/* Fills name and first_line from the calling function whose chunk has the text in it, the nearest first; the name lives
 * in *ar. A text that was put together or has escapes stands in no chunk: its lines are its own, and its name, which is
 * then pushed, tells where it was compiled. Where the chunk itself is not known, a text of several lines is taken for a
 * long string that begins behind the line of the call, as they are mostly written. */
void lg_find_source(lua_State *L, lua_Debug *ar, struct rt_source *source);
/* gpu.kernel: a Lua function, which pushes the kernel or kernels of the source in its arguments. [raises] */
int lg_make_kernel(lua_State *L);
void lg_open_vectorize(lua_State *L); /* gpu.vectorize. [raises] */
void lg_open_combine(lua_State *L);   /* gpu.reduction and gpu.scan. [raises] */
void lg_open_time(lua_State *L);      /* gpu.time, gpu.benchmark, gpu.synchronize. [raises] */
/* lang/occupancy.c: pushes a table of its figures; k:occupancy(...). [raises] */
struct rt_occupancy;
void lg_push_occupancy(lua_State *L, const struct rt_occupancy *o);
int lg_kernel_occupancy(lua_State *L);
int lg_kernel_forall(lua_State *L); /* k:forall(...) and k:global(...). [raises] */
int lg_kernel_global(lua_State *L);
/* Gives the metatable at the top what answers for a kernel's fields; documents these. [raises] */
void lg_open_kernel_fields(lua_State *L);
void lg_document_kernel_fields(lua_State *L);

/* Pushes a kernel object of the family's first module. name NULL: its only kernel. [raises] */
void lg_push_kernel(lua_State *L, struct lg_family *f, const char *name);
/* Raises a message that starts with a position of its own, or else like lg_raise. [raises] */
int lg_raise_kernel(lua_State *L, struct rt_error *e);
/* Makes the metatables of kernels and launchers. [raises] */
void lg_open_kernel_objects(lua_State *L);

#endif
