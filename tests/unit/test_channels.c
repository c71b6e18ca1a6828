/* The sockets as they are opened: what no message shows. */
#include "jupyter/channels.h"
#include "tests/unit/test.h"

TEST(what_was_sent_at_the_end_is_waited_for_a_while_and_no_longer)
{
    struct jp_connection connection = {0};
    struct jp_channels c = {0};
    struct rt_error e = {0};
    CHECK_INT(jp_connection_local(&connection, &e), RT_OK);
    if (jp_channels_open(&c, &connection, &e) == RT_MISSING) SKIP("there is no ZeroMQ");
    for (int i = 0; i < JP_CHANNELS; i++) {
        int linger = 0, unread = 0;
        size_t size = sizeof linger;
        CHECK_INT(c.zmq.getsockopt_(c.sockets[i], ZMQ_LINGER, &linger, &size), 0);
        CHECK_INT(linger, 1000);
        CHECK_INT(c.zmq.getsockopt_(c.sockets[i], ZMQ_SNDHWM, &unread, &size), 0);
        /* Replies may wait ten times as long as what is published. */
        CHECK_INT(unread, i == JP_IOPUB ? 20000 : 200000);
        CHECK(connection.ports[i] > 0);
    }
    jp_channels_close(&c);
    jp_connection_free(&connection);
}
