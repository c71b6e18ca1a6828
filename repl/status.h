/* The line below the cell, on request: the device, the memory in use on it, and the last cell's time on it. */
#ifndef SH_STATUS_H
#define SH_STATUS_H

#include "repl/frame.h"
#include "runtime/kernel.h"

struct sh_status { /* starts as all zeros */
    struct rt_timer timer;
    bool timing, timed;
    double milliseconds; /* of the last cell, by the device's clock */
};

/* Around a cell. No device is opened for it. */
void sh_status_begin(struct sh_status *s);
void sh_status_end(struct sh_status *s);

/* Adds the line below what the frame has. */
void sh_status_frame(const struct sh_status *s, struct sh_frame *f);

#endif
