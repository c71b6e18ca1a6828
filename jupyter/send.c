/* Building messages and handing them to the server, on any thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/capture.h"
#include "jupyter/server_state.h"

static void send_text(struct jp_server *s, struct jp_outgoing *o, const char *content)
{
    jp_log(JP_DEBUG, "%s: sending %s", jp_channel_name(o->channel), o->type);
    o->content = content;
    o->content_length = content ? strlen(content) : 0;
    jp_server_post(s, content ? jp_wire_build(jp_server_wire(s), o, NULL) : NULL);
}

void jp_server_send(struct jp_server *s, struct jp_outgoing *o, json_t *content)
{
    char *text = content ? json_dumps(content, JSON_COMPACT) : NULL;
    json_decref(content);
    send_text(s, o, text);
    free(text);
}

void jp_server_status(struct jp_server *s, const struct jp_frame *parent, const char *state)
{
    static const struct jp_frame topic = {"status", sizeof "status" - 1};
    char content[64];
    struct jp_outgoing o = {
        .channel = JP_IOPUB, .type = topic.data, .addresses = &topic, .address_count = 1, .parent = parent};
    snprintf(content, sizeof content, "{\"execution_state\":\"%s\"}", state);
    send_text(s, &o, content);
}

void jp_server_begin(struct jp_server *s, struct jp_message *m)
{
    if (m->begun) return;
    m->begun = true;
    pthread_mutex_lock(&s->states);
    if (strcmp(m->type, "execute_request") == 0) {
        m->outer = s->executing;
        s->executing = m;
    }
    jp_server_status(s, &m->header_text, "busy");
    pthread_mutex_unlock(&s->states);
}

void jp_server_end(struct jp_server *s, struct jp_message *m)
{
    pthread_mutex_lock(&s->states);
    struct jp_message **at = &s->executing;
    while (*at && *at != m) at = &(*at)->outer;
    if (*at) *at = m->outer;
    jp_server_status(s, &m->header_text, "idle");
    if (s->executing) jp_server_status(s, &s->executing->header_text, "busy");
    pthread_mutex_unlock(&s->states);
}

void jp_server_publish(struct jp_server *s, const char *type, const struct jp_frame *parent, json_t *content)
{
    const struct jp_frame topic = {type, strlen(type)};
    struct jp_outgoing o = {
        .channel = JP_IOPUB, .type = type, .addresses = &topic, .address_count = 1, .parent = parent};
    jp_server_send(s, &o, content);
}

void jp_server_reply(struct jp_server *s, const struct jp_message *request, const char *type, json_t *content)
{
    struct jp_outgoing o = {.channel = request->channel,
                            .type = type,
                            .addresses = request->identities,
                            .address_count = request->identity_count,
                            .parent = &request->header_text};
    jp_server_send(s, &o, content);
}

bool jp_reply_type(const struct jp_message *m, char *type, size_t size)
{
    const char *suffix = strstr(m->type, "_request");
    if (!suffix || suffix[8] || suffix - m->type > 100) return false;
    snprintf(type, size, "%.*s_reply", (int)(suffix - m->type), m->type);
    return true;
}

void jp_server_reply_unknown(struct jp_server *s, const struct jp_message *m)
{
    const char *channel = jp_channel_name(m->channel);
    char type[128];
    jp_log(JP_WARNING, "a message of unknown type on %s: %.100s", channel, m->type);
    if (!jp_reply_type(m, type, sizeof type)) return;
    json_t *text = json_sprintf("this kernel does not know the request %s on the %s channel", m->type, channel);
    jp_server_reply(
        s, m, type,
        json_pack("{s:s, s:s, s:o, s:[]}", "status", "error", "ename", "UnknownRequest", "evalue", text, "traceback"));
}
