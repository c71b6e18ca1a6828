#include "jupyter/handshake.h"

#include <stdlib.h>
#include <string.h>

#include "jupyter/zmq.h"
#include "runtime/host.h"

#define WAIT_SECONDS 20

struct registration {
    struct jp_zmq zmq;
    void *context, *socket;
    const struct jp_connection *to;
    const struct jp_wire *wire;
};

static enum rt_status fail(const struct registration *r, struct rt_error *e)
{
    return rt_fail(e, RT_IO, "cannot register at %s: %s", r->to->registrar, r->zmq.strerror_(r->zmq.errno_()));
}

static enum rt_status connect_registrar(struct registration *r, struct rt_error *e)
{
    const int linger = 0, ipv6 = strchr(r->to->ip, ':') != NULL;
    r->context = r->zmq.ctx_new_();
    r->socket = r->context ? r->zmq.socket_(r->context, ZMQ_DEALER) : NULL;
    if (!r->socket || r->zmq.setsockopt_(r->socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        r->zmq.setsockopt_(r->socket, ZMQ_IPV6, &ipv6, sizeof ipv6) != 0 ||
        r->zmq.connect_(r->socket, r->to->registrar) != 0)
        return fail(r, e);
    return RT_OK;
}

/* Not a whole message: the delimiter, the signature, and the content. The ports are strings there. */
static enum rt_status send_ports(const struct registration *r, struct rt_error *e)
{
    json_t *content = json_pack("{s:s}", "kernel_id", r->to->kernel_id);
    for (int i = 0; i < JP_CHANNELS; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_port", jp_channel_name(i));
        json_object_set_new(content, name, json_sprintf("%d", r->to->ports[i]));
    }
    char *text = content ? json_dumps(content, JSON_COMPACT) : NULL;
    json_decref(content);
    if (!text) return rt_fail(e, RT_NOMEM, "out of memory registering the kernel");
    char hex[JP_SIGNATURE + 1];
    const struct jp_frame body = {text, strlen(text)};
    jp_wire_sign(r->wire, &body, 1, hex);
    bool sent = r->zmq.send_(r->socket, JP_DELIMITER, strlen(JP_DELIMITER), ZMQ_SNDMORE) >= 0 &&
                r->zmq.send_(r->socket, hex, strlen(hex), ZMQ_SNDMORE) >= 0 &&
                r->zmq.send_(r->socket, body.data, body.size, 0) >= 0;
    free(text);
    return sent ? RT_OK : fail(r, e);
}

/* Reads one message; whether it is a receipt: three frames like our own, of any content. */
static bool read_receipt(const struct registration *r)
{
    enum { FRAMES = 3 };
    zmq_msg_t parts[FRAMES];
    struct jp_frame frames[FRAMES];
    int count = 0, read = 0;
    for (bool more = true; more; count++) {
        zmq_msg_t spare, *part = count < FRAMES ? &parts[read++] : &spare;
        r->zmq.msg_init_(part);
        more = r->zmq.msg_recv_(part, r->socket, ZMQ_DONTWAIT) >= 0 && r->zmq.msg_more_(part);
        if (part == &spare)
            r->zmq.msg_close_(part);
        else
            frames[count] = (struct jp_frame){r->zmq.msg_data_(part), r->zmq.msg_size_(part)};
    }
    bool receipt = count == FRAMES && frames[0].size == strlen(JP_DELIMITER) &&
                   memcmp(frames[0].data, JP_DELIMITER, frames[0].size) == 0 &&
                   jp_wire_signed(r->wire, &frames[1], &frames[2], 1);
    for (int i = 0; i < read; i++) r->zmq.msg_close_(&parts[i]);
    return receipt;
}

static enum rt_status wait_for_receipt(const struct registration *r, struct rt_error *e)
{
    zmq_pollitem_t item = {.socket = r->socket, .events = ZMQ_POLLIN};
    for (long end = rt_now_ns() / 1000000 + WAIT_SECONDS * 1000L, left; (left = end - rt_now_ns() / 1000000) > 0;) {
        item.revents = 0;
        r->zmq.poll_(&item, 1, left);
        if (item.revents && read_receipt(r)) return RT_OK;
    }
    return rt_fail(e, RT_IO, "%s did not confirm the registration of this kernel within %d seconds", r->to->registrar,
                   WAIT_SECONDS);
}

enum rt_status jp_register(const struct jp_connection *c, const struct jp_wire *w, struct rt_error *e)
{
    struct registration r = {.to = c, .wire = w};
    enum rt_status status = jp_zmq_open(&r.zmq, e);
    if (status == RT_OK) status = connect_registrar(&r, e);
    if (status == RT_OK) status = send_ports(&r, e);
    if (status == RT_OK) status = wait_for_receipt(&r, e);
    if (r.socket) r.zmq.close_(r.socket);
    if (r.context) r.zmq.ctx_term_(r.context);
    return status;
}
