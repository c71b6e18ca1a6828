/* The start-up handshake: a kernel that was given a registration file tells whoever started it on which ports it
 * listens, so that nobody else can have taken them in between. */
#ifndef JP_HANDSHAKE_H
#define JP_HANDSHAKE_H

#include "jupyter/connection.h"

/* The version of the protocol from which on kernelspecs promise it. */
#define JP_HANDSHAKE_VERSION "5.6"

/* Registers the ports of `c`, which are bound, and waits for the receipt. RT_IO when none comes. */
enum rt_status jp_register(const struct jp_connection *c, const struct jp_wire *w, struct rt_error *e);

#endif
