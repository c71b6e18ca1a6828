/* The client that started the kernel, which must not outlive it. */
#ifndef JP_PARENT_H
#define JP_PARENT_H

#include <stdbool.h>
#include <sys/types.h>

struct jp_parent {
    pid_t pid;   /* 0: nobody has named itself */
    bool direct; /* it is our parent process, so a new parent means that it died */
};

struct jp_parent jp_parent_find(void);
bool jp_parent_died(const struct jp_parent *p);

#endif
