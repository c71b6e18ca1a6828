/* Requests that wait for a server's main thread, and interrupts that are for them. */
#include "jupyter/connection.h"
#include "jupyter/server_state.h"
#include "tests/unit/test.h"

static struct jp_server *open_server(struct jp_connection *c)
{
    struct rt_error e = {0};
    const struct jp_server_hooks hooks = {.captured = {-1, -1}};
    CHECK_INT(jp_connection_local(c, &e), RT_OK);
    struct jp_server *s = jp_server_open(c, &hooks, &e);
    CHECK(s != NULL);
    return s;
}

static void close_server(struct jp_server *s, struct jp_connection *c)
{
    jp_server_close(s);
    jp_connection_free(c);
}

/* As the I/O thread does. */
static void queue(struct jp_server *s, struct jp_message *m)
{
    *m = (struct jp_message){.number = atomic_fetch_add(&s->numbered, 1) + 1};
    atomic_fetch_add(&s->requests, 1);
    *s->inbox_end = m;
    s->inbox_end = &m->next;
    s->queued++;
}

TEST(an_interrupt_is_for_requests_that_are_there)
{
    struct jp_connection c = {0};
    struct jp_server *s = open_server(&c);
    struct jp_message first, second;
    CHECK(!jp_server_want_interrupt(s));
    CHECK(!jp_server_interrupt_wanted(s));
    queue(s, &first);
    queue(s, &second);
    CHECK(!jp_server_interrupt_wanted(s));
    CHECK(jp_server_want_interrupt(s) && jp_server_want_interrupt(s));
    CHECK(jp_server_next(s) == &first);
    CHECK(jp_server_interrupt_wanted(s));
    CHECK_INT(jp_server_pending(s), 2);
    jp_server_done(s); /* what was done may have been but looked at: the cell behind it is what was meant */
    CHECK(jp_server_next(s) == &second);
    CHECK(jp_server_interrupt_wanted(s));
    CHECK_INT(jp_server_pending(s), 1);
    jp_server_interrupt_met(s);
    CHECK(!jp_server_interrupt_wanted(s));
    CHECK_INT(jp_server_pending(s), 1);
    jp_server_done(s);
    CHECK_INT(jp_server_pending(s), 0);
    close_server(s, &c);
}

/* The client has its reply while the request still counts, and may have sent the next one by the time it no longer
 * does. */
TEST(an_interrupt_behind_a_reply_does_not_wait_for_the_next_request)
{
    for (int early = 0; early < 2; early++) {
        struct jp_connection c = {0};
        struct jp_server *s = open_server(&c);
        struct jp_message first, second;
        queue(s, &first);
        CHECK(jp_server_next(s) == &first);
        CHECK(jp_server_want_interrupt(s));
        if (early) queue(s, &second);
        jp_server_done(s);
        if (!early) queue(s, &second);
        CHECK_INT(jp_server_pending(s), 1);
        CHECK(jp_server_next(s) == &second);
        CHECK(!jp_server_interrupt_wanted(s));
        CHECK(jp_server_want_interrupt(s));
        CHECK(jp_server_interrupt_wanted(s));
        jp_server_done(s);
        close_server(s, &c);
    }
}
