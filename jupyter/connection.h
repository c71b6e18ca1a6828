/* The connection file: where the kernel listens, and the key that messages are signed with. In its place a kernel may
 * be given a registration file: it listens on free ports and says so at an address named there (jupyter/handshake.h).
 */
#ifndef JP_CONNECTION_H
#define JP_CONNECTION_H

#include "jupyter/wire.h"
#include "runtime/status.h"

#define JP_CURVE_KEY 40
struct jp_connection {
    char *transport; /* "tcp" or "ipc" */
    char *ip;        /* an address, or the path in front of -PORT for ipc */
    char *key;
    size_t key_length;
    char *curve_secret;     /* the kernel's key for CurveZMQ in Z85, of JP_CURVE_KEY characters; NULL: no encryption */
    int ports[JP_CHANNELS]; /* 0: any free one, filled in by binding */
    /* Of a registration file, else NULL: the endpoint to register at, and the name to do it by. */
    char *registrar, *kernel_id;
};

/* Reads and checks a file of either kind. RT_IO when it can't be read, RT_INVALID when it says something that can't be.
 */
enum rt_status jp_connection_read(struct jp_connection *c, const char *path, struct rt_error *e);
/* Writes a connection file for its owner's eyes only. */
enum rt_status jp_connection_write(const struct jp_connection *c, const char *path, struct rt_error *e);
/* Fills in a local connection with a fresh key and no ports. */
enum rt_status jp_connection_local(struct jp_connection *c, struct rt_error *e);
void jp_connection_free(struct jp_connection *c);

/* The name of a channel's port in the file, without "_port". */
const char *jp_channel_name(enum jp_channel channel);
/* The endpoint to bind a channel to; a port of 0 asks for any free one. */
void jp_connection_endpoint(const struct jp_connection *c, enum jp_channel channel, char *out, size_t size);

#endif
