/* A loaded module inside: shared by kernel.c, which loads, launch.c, and what that consists of. */
#ifndef RT_MODULE_H
#define RT_MODULE_H

#include <stdatomic.h>
#include "runtime/kernel.h"

struct rt_module {
    atomic_int references;
    struct rt_device *device;
    struct rt_program *program;
    CUmodule handle;
    bool prints;         /* some of its kernels may call printf */
    unsigned generation; /* of the device when it was loaded: a fault on a GPU takes the modules with it */
    struct rt_function {
        CUfunction handle; /* NULL until asked for */
        int registers, shared_bytes, local_bytes, max_threads;
        int forall_block;    /* rt_kernel_forall's answer, 0 until asked for */
        unsigned cluster[3]; /* blocks of a cluster that it was compiled for; 0: none */
        bool large_clusters; /* the driver knows that it may have any */
        int shared_limit;    /* dynamic shared memory it may be launched with so far */
    } * functions;           /* one per entry of the program */
};

/* The kernel's function, loaded anew when the device lost it. NULL: error in e. */
struct rt_function *rt_module_function(const struct rt_kernel *k, struct rt_error *e);
/* arguments.c: the arguments' values into the parameter block, each at its offset, and where they are. RT_INVALID names
 * the parameter, what was expected and what came. */
enum rt_status rt_set_arguments(const struct rt_kernel *k, const struct rt_arg *args, unsigned char *block,
                                void **pointers, struct rt_error *e);
/* cluster.c: do the launch's clusters fit kernel, grid and device? */
enum rt_status rt_check_cluster(const struct rt_kernel *k, struct rt_function *f, const struct rt_launch *l,
                                struct rt_error *e);
/* Launches what was asked for with clusters. */
CUresult rt_launch_cluster(const struct rt_kernel *k, const struct rt_function *f, const struct rt_launch *l,
                           void **pointers);
/* "(int n, const float *x)": a kernel's parameters into the buffer. */
char *rt_entry_text(const struct rt_entry *entry, char *buffer, size_t size);

#endif
