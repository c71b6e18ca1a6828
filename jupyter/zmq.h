/* ZeroMQ, opened when the notebook kernel starts: loading it costs more than the shell's whole start-up, so the binary
 * is not linked to it. The functions stand in a table under their names without zmq_. */
#ifndef JP_ZMQ_H
#define JP_ZMQ_H

#include <zmq.h>
#include "runtime/status.h"

#define JP_ZMQ_FUNCTIONS(X)                                                                                            \
    X(ctx_new)                                                                                                         \
    X(ctx_set)                                                                                                         \
    X(ctx_term)                                                                                                        \
    X(socket)                                                                                                          \
    X(close)                                                                                                           \
    X(setsockopt)                                                                                                      \
    X(getsockopt)                                                                                                      \
    X(bind)                                                                                                            \
    X(connect)                                                                                                         \
    X(poll)                                                                                                            \
    X(send)                                                                                                            \
    X(msg_init_data)                                                                                                   \
    X(msg_send)                                                                                                        \
    X(msg_init)                                                                                                        \
    X(msg_recv)                                                                                                        \
    X(msg_close)                                                                                                       \
    X(msg_data)                                                                                                        \
    X(msg_size)                                                                                                        \
    X(msg_more)                                                                                                        \
    X(strerror)                                                                                                        \
    X(errno)

struct jp_zmq {
#define X(name) __typeof__(zmq_##name) *name##_;
    JP_ZMQ_FUNCTIONS(X)
#undef X
};

/* Opens the library and fills the table. RT_MISSING with what was tried and how to get it. */
enum rt_status jp_zmq_open(struct jp_zmq *z, struct rt_error *e);

#endif
