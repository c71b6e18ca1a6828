#include "jupyter/zmq.h"

#include <string.h>

#include "runtime/library.h"

enum rt_status jp_zmq_open(struct jp_zmq *z, struct rt_error *e)
{
    const struct rt_library *library = rt_library_open(RT_LIB_ZMQ, e);
    if (!library) return RT_MISSING;
        /* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the bits mean the same.
         */
#define X(name)                                                                                                        \
    {                                                                                                                  \
        void *symbol = rt_library_symbol(library, "zmq_" #name, e);                                                    \
        if (!symbol) return RT_MISSING;                                                                                \
        memcpy(&z->name##_, &symbol, sizeof symbol);                                                                   \
    }
    JP_ZMQ_FUNCTIONS(X)
#undef X
    return RT_OK;
}
