#include "jupyter/parent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Clients that start kernels name themselves in JPY_PARENT_PID. */
struct jp_parent jp_parent_find(void)
{
    const char *text = getenv("JPY_PARENT_PID");
    long pid = text ? atol(text) : 0;
    if (pid <= 1) return (struct jp_parent){0};
    return (struct jp_parent){(pid_t)pid, getppid() == (pid_t)pid};
}

bool jp_parent_died(const struct jp_parent *p)
{
    if (p->pid == 0) return false;
    return p->direct ? getppid() != p->pid : kill(p->pid, 0) < 0 && errno == ESRCH;
}
