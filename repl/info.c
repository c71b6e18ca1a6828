/* `lunarray --info`: what this machine offers, where it was found, and how to get what is missing. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/repl.h"
#include "runtime/device.h"
#include "runtime/library.h"
#include "runtime/memory.h"
#include "runtime/threads.h"

static void print_device(FILE *out, int i)
{
    struct rt_error e = {0};
    struct rt_device *d = rt_device_at(i, &e);
    if (!d) {
        fprintf(out, "  %s\n", e.text);
        rt_error_clear(&e);
        return;
    }
    fprintf(out, "  %-8s  %s\n", d->name, d->model);
    size_t free_bytes = 0, total = 0;
    const double gib = 1024.0 * 1024 * 1024;
    if (rt_device_memory(d, &free_bytes, &total, &e) == RT_OK)
        fprintf(out, "            memory %.1f GiB, %.1f GiB free\n", (double)total / gib, (double)free_bytes / gib);
    rt_error_clear(&e);
    if (d->kind == RT_CUDA)
        fprintf(out, "            compute capability %d.%d, %d multiprocessors\n", d->compute_major, d->compute_minor,
                d->multiprocessors);
    else
        fprintf(out, "            %d thread%s%s\n", rt_thread_count(), rt_thread_count() == 1 ? "" : "s",
                rt_device_runs_kernels(d) ? ", runs CUDA kernels in software" : ", arrays only, no kernels");
}

/* The version that a library's file name ends in, "13.0.88" of libnvrtc.so.13.0.88, behind links; "" when none. The
 * library isn't loaded for it. */
static const char *file_version(const char *path, char *buffer)
{
    const char *name = realpath(path, buffer) ? strrchr(buffer, '/') : NULL;
    const char *version = name ? strstr(name, ".so.") : NULL;
    return version && strchr(version + 4, '.') ? version + 4 : "";
}

static void print_library(FILE *out, enum rt_library_id id, int width)
{
    static char buffer[PATH_MAX];
    const struct rt_library *l = rt_library_find(id);
    if (l->path) {
        const char *version = file_version(l->path, buffer);
        fprintf(out, "  %-*s  %s%s%s%s\n", width, l->name, l->path, *version ? " (" : "", version, *version ? ")" : "");
    } else {
        fprintf(out, "  %-*s  missing. %s\n", width, l->name, l->advice);
        fprintf(out, "  %-*s  %s may name the file or its folder.\n", width, "", l->variable);
    }
}

static void print_libraries(FILE *out)
{
    int width = 0;
    fprintf(out, "\nLibraries\n");
    for (int id = 0; id < RT_LIB_COUNT; id++) {
        int n = (int)strlen(rt_library_find(id)->name);
        if (n > width) width = n;
    }
    for (int id = 0; id < RT_LIB_COUNT; id++) print_library(out, id, width);
}

static void print_cache(FILE *out)
{
    const char *own = getenv("LUNARRAY_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        fprintf(out, "  kernel cache  %s\n", own);
    else if (xdg && *xdg)
        fprintf(out, "  kernel cache  %s/lunarray\n", xdg);
    else if (home && *home)
        fprintf(out, "  kernel cache  %s/.cache/lunarray\n", home);
    else
        fprintf(out, "  kernel cache  none: HOME is not set (LUNARRAY_CACHE_DIR names a folder)\n");
}

int sh_print_info(FILE *out)
{
    struct rt_error e = {0};
    fprintf(out, "lunarray %s\n\nDevices\n", LUNARRAY_VERSION);
    for (int i = 0; i < rt_device_count(); i++) print_device(out, i);
    struct rt_device *d = rt_device_default(&e);
    fprintf(out, "  default: %s\n", d ? d->name : e.text);
    rt_error_clear(&e);
    print_libraries(out);
    fprintf(out, "\nFolders\n");
    print_cache(out);
    const char *include = rt_cuda_include();
    fprintf(out, "  CUDA headers  %s\n",
            include ? include : "none: kernels work, but cannot include cuda_fp16.h and the like");
    return ferror(out) ? 1 : 0;
}
