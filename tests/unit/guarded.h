/* Ends of memory behind which none may be read, for code that goes over arrays in larger steps than elements. */
#ifndef TESTS_GUARDED_H
#define TESTS_GUARDED_H

#include <sys/mman.h>
#include "tests/unit/test.h"

#define GUARDED_BYTES 65536 /* that may be used before an end */

/* The k-th of such ends, of 16. */
static char *guarded_end(int k)
{
    static char *ends[16];
    if (!ends[k]) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *p = mmap(NULL, GUARDED_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(p != MAP_FAILED && mprotect(p + GUARDED_BYTES, page, PROT_NONE) == 0);
        ends[k] = p + GUARDED_BYTES;
    }
    return ends[k];
}

#endif
