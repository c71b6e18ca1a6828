/* Handles of NVIDIA's libraries, which are opened at the first use: one for each GPU, made once for each life of its
 * context, computing in the order of the device's stream. */
#ifndef KN_HANDLES_H
#define KN_HANDLES_H

#include <pthread.h>
#include "runtime/device.h"
#include "runtime/library.h"

struct kn_handles {
    enum rt_library_id id;
    const char *create, *destroy, *set_stream; /* symbols */
    pthread_mutex_t lock;                      /* held by who uses a handle */
    const struct rt_library *library;          /* NULL until opened */
    struct kn_handle *first;
};

/* The handle that belongs to the device's context as it is now; NULL where the library is missing or does not work.
 * Called with the lock and the context held. */
void *kn_handle(struct kn_handles *all, const struct rt_device *d);

#endif
