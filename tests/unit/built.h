/* What the build folder holds beside this program, which lies two folders below it. */
#ifndef TESTS_BUILT_H
#define TESTS_BUILT_H

#include <dlfcn.h>
#include <limits.h>
#include "tests/unit/test.h"

/* The path of a file there, good until the next call. Skips the test where it is not built. */
static inline const char *built(const char *name)
{
    static char path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    CHECK(n > 0);
    path[n] = '\0';
    for (int up = 0; up < 3; up++) *strrchr(path, '/') = '\0';
    snprintf(strchr(path, '\0'), 64, "/%s", name);
    if (access(path, R_OK) != 0) SKIP("%s is not built", path);
    return path;
}

/* A library there, for dlsym. */
static inline void *built_library(const char *name)
{
    void *library = dlopen(built(name), RTLD_NOW | RTLD_LOCAL);
    if (!library) FAIL("%s", dlerror());
    return library;
}

#endif
