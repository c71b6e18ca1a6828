/* Comms on the wire: what the session sends to front ends, and what comes for it from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/kernel.h"

static const char *const kinds[] = {
    [LG_COMM_OPEN] = "comm_open", [LG_COMM_MSG] = "comm_msg", [LG_COMM_CLOSE] = "comm_close"};

void jp_comm_send(void *kernel, const struct lg_comm_message *m)
{
    struct jp_kernel *k = kernel;
    struct jp_frame buffers[JP_MAX_FRAMES];
    size_t count = m->buffer_count < JP_MAX_FRAMES ? m->buffer_count : JP_MAX_FRAMES;
    for (size_t i = 0; i < count; i++) buffers[i] = (struct jp_frame){m->buffers[i].data, m->buffers[i].length};
    struct jp_outgoing o = {.type = kinds[m->kind], .metadata = m->metadata, .buffers = buffers, .buffer_count = count};
    json_t *data = json_loadb(m->data, m->data_length, JSON_ALLOW_NUL, NULL);
    json_t *content = json_pack("{s:s, s:o}", "comm_id", m->id, "data", data);
    if (m->kind == LG_COMM_OPEN) json_object_set_new(content, "target_name", json_string(m->target));
    jp_output_send(&k->output, &o, content);
}

void jp_comm_request(void *kernel, char id[LG_REQUEST_ID])
{
    const struct jp_kernel *k = kernel;
    json_t *header = k->output.parent.data ? json_loadb(k->output.parent.data, k->output.parent.size, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(header, "msg_id"));
    snprintf(id, LG_REQUEST_ID, "%s", text ? text : "");
    json_decref(header);
}

static void visit(void *context, const char *id, const char *target)
{
    json_object_set_new(context, id, json_pack("{s:s}", "target_name", target));
}

void jp_request_comm_info(struct jp_kernel *k, const struct jp_message *m)
{
    size_t length;
    const char *target = jp_content_string(m, "target_name", &length);
    json_t *comms = json_object();
    lg_session_comms(k->session, length ? target : NULL, visit, comms);
    jp_server_reply(k->server, m, "comm_info_reply", json_pack("{s:s, s:o}", "status", "ok", "comms", comms));
}

/* What the function that gets the message shows belongs to the message. */
static void receive(struct jp_kernel *k, const struct jp_message *m, const struct lg_comm_message *received)
{
    const struct lg_error *error = NULL;
    struct jp_running outer = k->running;
    k->running = (struct jp_running){NULL}; /* io.read has nobody to ask */
    struct jp_output_place place = jp_output_enter(&k->output, &m->header_text, false);
    if (lg_session_comm(k->session, received, &error) != LG_DONE)
        jp_output_publish(&k->output, "error", jp_error_json(error));
    jp_output_leave(&k->output, &place);
    k->running = outer;
}

void jp_comm_receive(struct jp_kernel *k, const struct jp_message *m)
{
    size_t length;
    struct lg_bytes buffers[JP_MAX_FRAMES];
    struct lg_comm_message received = {
        .kind = LG_COMM_OPEN, .metadata = "{}", .metadata_length = 2, .buffers = buffers};
    while (received.kind < LG_COMM_CLOSE && strcmp(m->type, kinds[received.kind]) != 0) received.kind++;
    received.id = jp_content_string(m, "comm_id", &length);
    received.target = jp_content_string(m, "target_name", &length);
    for (size_t i = 0; i < m->buffer_count; i++) buffers[i] = (struct lg_bytes){m->buffers[i].data, m->buffers[i].size};
    received.buffer_count = m->buffer_count;
    const json_t *data = json_object_get(m->content, "data");
    char *text = json_is_object(data) ? json_dumps(data, JSON_COMPACT) : NULL;
    received.data = text ? text : "{}";
    received.data_length = strlen(received.data);
    receive(k, m, &received);
    free(text);
}
