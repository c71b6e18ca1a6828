#include "jupyter/missed.h"

#include <stdlib.h>
#include <string.h>

#define MOST       200
#define FIRST_NS   ((int64_t)500000000) /* the first pause; the next ones are twice as long each */
#define LONGEST_NS ((int64_t)3600000000000)

/* The frames of a message on iopub, as jp_wire_build lays them out. */
enum { TOPIC, CONTENT = 6, FRAMES };

static bool is_idle(const struct jp_packet *p)
{
    static const char idle[] = "{\"execution_state\":\"idle\"}";
    return p->channel == JP_IOPUB && p->count == FRAMES && p->frames[CONTENT].size == sizeof idle - 1 &&
           memcmp(p->frames[CONTENT].data, idle, sizeof idle - 1) == 0;
}

static void forget_first(struct jp_missed *m)
{
    struct jp_packet *p = m->first;
    if (!p) return;
    m->first = p->next;
    m->count--;
    jp_packet_release(p);
}

void jp_missed_begin(struct jp_missed *m, int64_t now)
{
    if (!m->pause || m->next > now + FIRST_NS) m->next = now + FIRST_NS;
    m->pause = FIRST_NS;
}

bool jp_missed_take(struct jp_missed *m, struct jp_packet *p)
{
    if (!m->pause || !is_idle(p)) return false;
    p->next = NULL;
    if (m->first)
        m->last->next = p;
    else
        m->first = p;
    m->last = p;
    if (m->count++ == MOST) forget_first(m);
    return true;
}

/* As a new message, for no signature may come twice. */
static struct jp_packet *again(const struct jp_packet *p, struct jp_wire *w)
{
    const struct jp_outgoing o = {.channel = JP_IOPUB,
                                  .type = "status",
                                  .addresses = &p->frames[TOPIC],
                                  .address_count = 1,
                                  .parent = jp_packet_parent(p),
                                  .content = p->frames[CONTENT].data,
                                  .content_length = p->frames[CONTENT].size};
    return jp_wire_build(w, &o, NULL);
}

void jp_missed_send(struct jp_missed *m, int64_t now, struct jp_channels *c, struct jp_wire *w)
{
    if (!m->count || now < m->next) return;
    m->next = now + m->pause;
    for (const struct jp_packet *p = m->first; p; p = p->next) {
        struct jp_packet *packet = again(p, w);
        bool sent = packet && jp_channels_send(c, packet) == JP_SENT;
        jp_packet_release(packet);
        if (!sent) return;
    }
    m->pause *= 2;
    m->next = now + m->pause;
    if (m->pause > LONGEST_NS) jp_missed_close(m);
}

void jp_missed_close(struct jp_missed *m)
{
    while (m->first) forget_first(m);
    m->pause = 0;
}
