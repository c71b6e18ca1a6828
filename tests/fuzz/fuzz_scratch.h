/* A file in a folder of the process's own, for readers that take a path. The folder goes when the process ends. */
#ifndef FUZZ_SCRATCH_H
#define FUZZ_SCRATCH_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch_folder[] = "/tmp/lunarray-fuzz-XXXXXX", scratch_path[sizeof scratch_folder + 80];

static void scratch_remove(void)
{
    unlink(scratch_path);
    rmdir(scratch_folder);
}

/* Makes the folder and says what its only file is called. */
static void scratch_open(const char *name)
{
    if (!mkdtemp(scratch_folder)) abort();
    snprintf(scratch_path, sizeof scratch_path, "%s/%s", scratch_folder, name);
    atexit(scratch_remove);
}

static void scratch_write(const void *data, size_t size)
{
    int file = open(scratch_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size || close(file) != 0) abort();
}

#endif
