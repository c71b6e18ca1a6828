#include "runtime/mapped.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/memory.h"

struct rt_mapped {
    char *start;
    size_t bytes;
    struct rt_mapped *next;
    char path[];
};

/* A signal handler takes this lock, too: who holds it looks at no file's memory. */
static atomic_flag taken = ATOMIC_FLAG_INIT;
static struct rt_mapped *all;
static char missing[256]; /* the path of a file that lacked pages; empty: none did */
static atomic_bool survives, handled;
static struct sigaction former;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire)) {
    }
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&taken, memory_order_release);
}

/* All pages from that of the address on, of which the file has none. False where no file is. */
static bool fill(char *at)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    bool filled = false;
    lock();
    for (const struct rt_mapped *m = all; m && !filled; m = m->next) {
        if (at < m->start || at >= m->start + m->bytes) continue;
        char *from = m->start + (size_t)(at - m->start) / page * page;
        filled = mmap(from, (size_t)(m->start + m->bytes - from), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
        strncpy(missing, m->path, sizeof missing - 1);
    }
    unlock();
    return filled;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    if (fill(info->si_addr)) {
        errno = error;
    } else if (former.sa_flags & SA_SIGINFO) {
        former.sa_sigaction(number, info, context);
    } else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) {
        former.sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static void handle_faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (!atomic_exchange(&handled, true)) sigaction(SIGBUS, &action, &former);
}

enum rt_status rt_mapped_new(const struct rt_file *f, uint64_t offset, size_t bytes, struct rt_mapped **out,
                             void **data, struct rt_error *e)
{
    struct stat now;
    const size_t before = offset % (uint64_t)sysconf(_SC_PAGESIZE), path = strlen(f->path) + 1;
    if (fstat(f->handle, &now) == 0 && (uint64_t)now.st_size < offset + bytes)
        return rt_fail(e, RT_INVALID, "%s ends at byte %" PRIu64 "; %zu bytes were expected from byte %" PRIu64 " on",
                       f->path, (uint64_t)now.st_size, bytes, offset);
    struct rt_mapped *m = rt_alloc(sizeof *m + path);
    if (!m) return rt_fail(e, RT_NOMEM, "out of memory for mapping %s", f->path);
    void *start = mmap(NULL, before + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, f->handle,
                       (off_t)(offset - before));
    if (start == MAP_FAILED) {
        free(m);
        return rt_fail(e, RT_IO, "%s cannot be mapped into memory", f->path);
    }
    if (atomic_load(&survives)) handle_faults();
    *m = (struct rt_mapped){.start = start, .bytes = before + bytes};
    memcpy(m->path, f->path, path);
    lock();
    m->next = all;
    all = m;
    unlock();
    *out = m;
    *data = m->start + before;
    return RT_OK;
}

void rt_mapped_free(void *mapped)
{
    struct rt_mapped *m = mapped;
    lock();
    struct rt_mapped **link = &all;
    while (*link != m) link = &(*link)->next;
    *link = m->next;
    unlock();
    munmap(m->start, m->bytes);
    free(m);
}

void rt_mapped_survive(void)
{
    atomic_store(&survives, true);
}

enum rt_status rt_mapped_check(struct rt_error *e)
{
    char path[sizeof missing];
    if (!atomic_load_explicit(&handled, memory_order_relaxed)) return RT_OK;
    lock();
    memcpy(path, missing, sizeof path);
    missing[0] = '\0';
    unlock();
    if (!*path) return RT_OK;
    return rt_fail(
        e, RT_IO,
        "%s was cut shorter while its elements were mapped: those that are missing are 0 from here on; write "
        "to another file and rename it, or load without map",
        path);
}
