/* What kernels print, held back until the host waits for them, as CUDA does (CUDA C++ Programming Guide, "Formatted
 * Output"): so that it comes at the same place of a program's output on each run. While somebody waits it comes as it
 * is printed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/libcuda/libcuda.h"

#define MOST ((size_t)1 << 20) /* bytes that are held; CUDA drops the oldest, here none is lost */

static struct {
    pthread_mutex_t lock;
    char *text;
    size_t length, room;
    unsigned waiting;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. */
static void put_out(void)
{
    if (!held.length) return;
    fwrite(held.text, 1, held.length, stdout);
    fflush(stdout);
    held.length = 0;
}

static bool hold(const char *text, size_t bytes)
{
    if (held.waiting || held.length + bytes > MOST) return false;
    if (held.length + bytes > held.room) {
        size_t room = 2 * held.room + bytes + 4096;
        char *more = rt_realloc(held.text, room);
        if (!more) return false;
        held.text = more;
        held.room = room;
    }
    memcpy(held.text + held.length, text, bytes);
    held.length += bytes;
    return true;
}

static void print(const char *text, size_t bytes)
{
    pthread_mutex_lock(&held.lock);
    if (!hold(text, bytes)) {
        put_out();
        fwrite(text, 1, bytes, stdout);
        fflush(stdout);
    }
    pthread_mutex_unlock(&held.lock);
}

void libcuda_print_begin(void)
{
    pthread_mutex_lock(&held.lock);
    put_out();
    held.waiting++;
    pthread_mutex_unlock(&held.lock);
}

void libcuda_print_end(void)
{
    pthread_mutex_lock(&held.lock);
    put_out();
    held.waiting--;
    pthread_mutex_unlock(&held.lock);
}

void libcuda_print_held(void)
{
    pthread_mutex_lock(&held.lock);
    put_out();
    pthread_mutex_unlock(&held.lock);
}

__attribute__((constructor)) static void start(void)
{
    simt_print_by(print);
}

__attribute__((destructor(110))) static void finish(void)
{
    libcuda_print_held();
    free(held.text);
    held.text = NULL;
    held.room = 0;
}
