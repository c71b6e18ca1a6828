/* What the main thread and signal handlers say to a server, and what they take from it. */
#include <stdlib.h>
#include <unistd.h>

#include "jupyter/capture.h"
#include "jupyter/server_state.h"

void jp_server_wake(struct jp_server *s)
{
    uint64_t one = 1;
    ssize_t written = write(s->wake, &one, sizeof one);
    (void)written; /* it fails only when the counter is full, and then the thread is awake */
}

bool jp_server_has_room(const struct jp_server *s)
{
    return s->queued < JP_MAX_QUEUED && s->queued_bytes < JP_MAX_QUEUED_BYTES;
}

/* Takes the message out of the queue, with the lock. True when there is room again. */
static bool take_out(struct jp_server *s, struct jp_message **at)
{
    const struct jp_message *m = *at;
    bool full = !jp_server_has_room(s);
    if (!m->next) s->inbox_end = at;
    *at = m->next;
    s->queued--;
    s->queued_bytes -= m->size;
    return full && jp_server_has_room(s);
}

struct jp_message *jp_server_take(struct jp_server *s, bool (*wanted)(const struct jp_message *m))
{
    pthread_mutex_lock(&s->lock);
    struct jp_message **at = &s->inbox;
    while (*at && !wanted(*at)) at = &(*at)->next;
    struct jp_message *m = *at;
    bool room = m && take_out(s, at);
    pthread_mutex_unlock(&s->lock);
    if (room) jp_server_wake(s);
    return m;
}

void jp_server_put_back(struct jp_server *s, struct jp_message *m)
{
    pthread_mutex_lock(&s->lock);
    m->next = s->inbox;
    s->inbox = m;
    if (!m->next) s->inbox_end = &m->next;
    s->queued++;
    s->queued_bytes += m->size;
    pthread_mutex_unlock(&s->lock);
}

bool jp_server_has(struct jp_server *s, bool (*wanted)(const struct jp_message *m))
{
    pthread_mutex_lock(&s->lock);
    const struct jp_message *m = s->inbox;
    while (m && !wanted(m)) m = m->next;
    pthread_mutex_unlock(&s->lock);
    return m != NULL;
}

void jp_server_attend(struct jp_server *s)
{
    atomic_store(&s->attend_wanted, true);
    jp_server_wake(s);
}

void jp_server_done(struct jp_server *s)
{
    jp_server_flush_all(s);
    uint64_t was = atomic_load(&s->requests), left;
    do left = JP_PENDING(was) == 1 ? 0 : was - 1;
    while (!atomic_compare_exchange_weak(&s->requests, &was, left));
}

unsigned jp_server_pending(const struct jp_server *s)
{
    return JP_PENDING(atomic_load(&s->requests));
}

bool jp_server_want_interrupt(struct jp_server *s)
{
    uint64_t was = atomic_load(&s->requests), with;
    do with = (uint64_t)atomic_load(&s->numbered) << 32 | JP_PENDING(was);
    while (JP_PENDING(was) && !atomic_compare_exchange_weak(&s->requests, &was, with));
    return JP_PENDING(was) > 0;
}

bool jp_server_interrupt_wanted(const struct jp_server *s)
{
    return JP_LAST_FOR(atomic_load(&s->requests)) != 0;
}

void jp_server_interrupt_met(struct jp_server *s)
{
    atomic_fetch_and(&s->requests, UINT32_MAX);
}

/* One that came behind the reply to the request before, which still counted then, is not for this one. */
static void forget_old_interrupt(struct jp_server *s, const struct jp_message *m)
{
    uint64_t was = atomic_load(&s->requests);
    while (JP_LAST_FOR(was) && (int32_t)(JP_LAST_FOR(was) - m->number) < 0 &&
           !atomic_compare_exchange_weak(&s->requests, &was, JP_PENDING(was)))
        continue;
}

struct jp_message *jp_server_next(struct jp_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->resting = true;
    while (!s->inbox && !s->quitting) pthread_cond_wait(&s->changed, &s->lock);
    s->resting = false;
    struct jp_message *m = s->quitting ? NULL : s->inbox;
    bool room = m && take_out(s, &s->inbox);
    pthread_mutex_unlock(&s->lock);
    if (room) jp_server_wake(s);
    if (m) forget_old_interrupt(s, m);
    return m;
}

void jp_server_post(struct jp_server *s, struct jp_packet *packet)
{
    if (!packet) {
        jp_log(JP_ERROR, "out of memory: a message is lost");
        return;
    }
    pthread_mutex_lock(&s->lock);
    packet->next = NULL;
    *s->outbox_end = packet;
    s->outbox_end = &packet->next;
    bool gathers = s->gathers;
    pthread_mutex_unlock(&s->lock);
    if (!gathers && !pthread_equal(pthread_self(), s->thread)) jp_server_flush(s);
}

void jp_free_messages(struct jp_message *m)
{
    while (m) {
        struct jp_message *next = m->next;
        jp_message_free(m);
        m = next;
    }
}

struct jp_message *jp_server_input(struct jp_server *s, struct jp_packet *packet, void (*meanwhile)(void *context))
{
    pthread_mutex_lock(&s->lock);
    jp_free_messages(s->inputs);
    s->inputs = NULL;
    s->inputs_end = &s->inputs;
    s->cancelled = false;
    pthread_mutex_unlock(&s->lock);
    jp_server_post(s, packet);
    jp_server_flush_all(s);
    pthread_mutex_lock(&s->lock);
    while (!s->inputs && !s->cancelled && !s->quitting) {
        if (s->arrived) {
            s->arrived = false;
            pthread_mutex_unlock(&s->lock);
            meanwhile(s->hooks.context);
            pthread_mutex_lock(&s->lock);
        } else {
            pthread_cond_wait(&s->changed, &s->lock);
        }
    }
    struct jp_message *m = s->inputs;
    if (m) {
        s->inputs = m->next;
        if (!s->inputs) s->inputs_end = &s->inputs;
    }
    pthread_mutex_unlock(&s->lock);
    return m;
}

void jp_server_listen(struct jp_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->cancelled = false;
    pthread_mutex_unlock(&s->lock);
}

bool jp_server_wait(struct jp_server *s)
{
    jp_server_flush_all(s);
    pthread_mutex_lock(&s->lock);
    while (!s->arrived && !s->cancelled && !s->quitting) pthread_cond_wait(&s->changed, &s->lock);
    bool goes_on = !s->cancelled && !s->quitting;
    s->arrived = false;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

void jp_server_cancel_input(struct jp_server *s)
{
    atomic_store(&s->cancel_wanted, true);
    jp_server_wake(s);
}

void jp_server_quit(struct jp_server *s)
{
    atomic_store(&s->quit_wanted, true);
    jp_server_wake(s);
}
