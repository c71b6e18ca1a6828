/* The states of all controls of interact in one message, for a page that is opened anew: the control channel 1.0 of the
 * Jupyter widgets' messaging protocol. Its comm needs nothing of the interpreter but a look at the models, so that it
 * is answered while one call in C runs, too. A page that is refused asks for each model by itself. */
#include <string.h>

#include "jupyter/kernel.h"

#define TARGET  "jupyter.widget.control"
#define MODELS  "jupyter.widget"
#define MAX_ID  64 /* bytes, with the end; front ends draw 32 or 36 */
#define MAX_IDS 16 /* pages open theirs for one request; older ones are forgotten */

static struct {
    pthread_mutex_t lock;
    char ids[MAX_IDS][MAX_ID]; /* of open comms, or "" */
    int next;
} channels = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock: its place, or NULL. */
static char *find(const char *id)
{
    for (int i = 0; i < MAX_IDS; i++)
        if (*id && strcmp(channels.ids[i], id) == 0) return channels.ids[i];
    return NULL;
}

bool jp_widgets_wants(const struct jp_message *m)
{
    size_t length;
    if (strncmp(m->type, "comm_", 5) != 0) return false;
    if (strcmp(m->type, "comm_open") == 0) return strcmp(jp_content_string(m, "target_name", &length), TARGET) == 0;
    const char *id = jp_content_string(m, "comm_id", &length);
    pthread_mutex_lock(&channels.lock);
    bool ours = find(id) != NULL;
    pthread_mutex_unlock(&channels.lock);
    return ours;
}

static void set_open(const char *id, bool open)
{
    pthread_mutex_lock(&channels.lock);
    char *at = find(id);
    if (open && !at) at = channels.ids[channels.next++ % MAX_IDS];
    if (at) strcpy(at, open ? id : "");
    pthread_mutex_unlock(&channels.lock);
}

static void add_state(void *states, const char *id, const char *answer)
{
    json_t *data = json_loads(answer, 0, NULL), *state = json_object_get(data, "state");
    json_object_set_new(states, id,
                        json_pack("{s:O, s:O, s:O, s:O}", "model_name", json_object_get(state, "_model_name"),
                                  "model_module", json_object_get(state, "_model_module"), "model_module_version",
                                  json_object_get(state, "_model_module_version"), "state", state));
    json_decref(data);
}

static void count_model(void *count, const char *id, const char *target)
{
    (void)id, (void)target;
    ++*(size_t *)count;
}

/* The states by the models' ids; NULL where a model's is a user's function to tell. */
static json_t *all_states(struct jp_kernel *k)
{
    size_t count = 0;
    json_t *states = json_object();
    lg_session_comms(k->session, MODELS, count_model, &count);
    lg_session_comm_states(k->session, add_state, states);
    if (json_object_size(states) == count) return states;
    json_decref(states);
    return NULL;
}

static void send(struct jp_kernel *k, const struct jp_message *m, const char *type, const char *id, json_t *data)
{
    jp_server_publish(k->server, type, &m->header_text, json_pack("{s:s, s:o}", "comm_id", id, "data", data));
}

void jp_widgets_receive(struct jp_kernel *k, const struct jp_message *m)
{
    size_t length;
    const char *id = jp_content_string(m, "comm_id", &length);
    if (strcmp(m->type, "comm_close") == 0) {
        set_open(id, false);
        return;
    }
    bool opens = strcmp(m->type, "comm_open") == 0;
    const char *method = json_string_value(json_object_get(json_object_get(m->content, "data"), "method"));
    if (!opens && (!method || strcmp(method, "request_states") != 0)) return;
    json_t *states = *id && length < MAX_ID ? all_states(k) : NULL;
    set_open(id, states != NULL);
    if (!states)
        send(k, m, "comm_close", id, json_object());
    else if (!opens)
        send(k, m, "comm_msg", id,
             json_pack("{s:s, s:O, s:[]}", "method", "update_states", "states", states, "buffer_paths"));
    json_decref(states);
}
