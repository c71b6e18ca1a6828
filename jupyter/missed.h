/* Idle statuses that a client missed because it did not read what was sent before. Front ends wait for them, so they
 * are said again: ZeroMQ tells when a client's queue is full and not when it reads again, so to all, and after pauses
 * that grow. Those that heard them lose nothing by it. Only the I/O thread comes here. */
#ifndef JP_MISSED_H
#define JP_MISSED_H

#include "jupyter/channels.h"

struct jp_missed {
    struct jp_packet *first, *last;
    size_t count;
    int64_t pause, next; /* ns; pause 0: nobody has missed anything */
};
/* From now on somebody may miss what is sent. Times are of CLOCK_MONOTONIC. */
void jp_missed_begin(struct jp_missed *m, int64_t now);
/* Takes the packet if it is an idle status that somebody may have missed; the oldest of too many is forgotten. */
bool jp_missed_take(struct jp_missed *m, struct jp_packet *p);
/* Says them again when it is time. */
void jp_missed_send(struct jp_missed *m, int64_t now, struct jp_channels *c, struct jp_wire *w);
void jp_missed_close(struct jp_missed *m);

#endif
