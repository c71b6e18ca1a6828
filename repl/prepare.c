/* lunarray prepare: the kernels that are needed first, made ahead of the sessions that need them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/prepare.h"
#include "repl/repl.h"
#include "runtime/background.h"
#include "runtime/device.h"
#include "runtime/dtype.h"
#include "runtime/kernel.h"

/* 90 of "9.0"; 0 when the word is something else. */
static int read_capability(const char *word)
{
    int major, minor, end = 0;
    if (sscanf(word, "%2d.%1d%n", &major, &minor, &end) != 2 || word[end] || major < 1 || minor < 0) return 0;
    return major * 10 + minor;
}

/* That of the machine's GPU. */
static int find_capability(void)
{
    struct rt_error e = {0};
    rt_device_open("cuda", &e);
    rt_error_clear(&e);
    return lg_prepare_capability();
}

int sh_prepare(int argc, char **argv)
{
    static const char beside[] = "--beside=";
    struct rt_error e = {0};
    const bool quiet = argc > 0 && strncmp(argv[0], beside, sizeof beside - 1) == 0;
    if (quiet && !lg_prepare_aside((pid_t)atol(argv[0] + sizeof beside - 1))) return 0;
    argc -= quiet, argv += quiet;
    int capability = argc == 1 || argc == 2 ? read_capability(argv[0]) : argc == 0 ? find_capability() : 0;
    if (!capability) {
        fprintf(stderr, argc == 0 ? "lunarray: there is no GPU here; lunarray prepare 9.0 makes kernels for those of "
                                    "compute capability 9.0\n"
                                  : "usage: lunarray prepare [CAPABILITY [DTYPE]], such as lunarray prepare 9.0\n");
        return 1;
    }
    const enum rt_dtype t = argc == 2 ? rt_dtype_find(argv[1]) : RT_DTYPE_COUNT;
    if (argc == 2 && t == RT_DTYPE_COUNT) {
        fprintf(stderr,
                "lunarray: there is no dtype %s; lunarray prepare %s float32 makes kernels for arrays of float32\n",
                argv[1], argv[0]);
        return 1;
    }
    size_t count;
    double start = rt_now_ms();
    enum rt_status status = lg_prepare(capability, argc == 2 ? rt_dtypes[t].name : NULL, quiet, &count, &e);
    rt_background_pause();
    if (status != RT_OK) fprintf(stderr, "lunarray: %s\n", e.text);
    if (status == RT_OK && !quiet && count)
        printf("%zu kernels for compute capability %d.%d, made in %.0f s\n", count, capability / 10, capability % 10,
               (rt_now_ms() - start) / 1e3);
    if (status == RT_OK && !quiet && !count)
        printf("the kernels for compute capability %d.%d are there already\n", capability / 10, capability % 10);
    rt_error_clear(&e);
    return status == RT_OK ? 0 : 1;
}
