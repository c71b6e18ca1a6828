#include "jupyter/subshells.h"

#include <string.h>

void jp_subshells_close(struct jp_subshells *s)
{
    json_decref(s->ids);
    s->ids = NULL;
}

/* Where it stands in the list; the list's length when it does not. */
static size_t find(const struct jp_subshells *s, const char *id)
{
    size_t i = 0, count = json_array_size(s->ids);
    while (i < count && strcmp(json_string_value(json_array_get(s->ids, i)), id) != 0) i++;
    return i;
}

bool jp_subshells_has(const struct jp_subshells *s, const char *id)
{
    return find(s, id) < json_array_size(s->ids);
}

json_t *jp_subshells_unknown(const char *id)
{
    return json_pack("{s:s, s:s, s:o, s:[]}", "status", "error", "ename", "UnknownSubshell", "evalue",
                     json_sprintf("there is no subshell %s", id), "traceback");
}

static json_t *create(struct jp_subshells *s)
{
    if (!s->ids) s->ids = json_array();
    json_t *id = json_sprintf("subshell-%lu", ++s->made);
    if (json_array_append(s->ids, id) != 0) {
        json_decref(id);
        return json_pack("{s:s, s:s, s:s, s:[]}", "status", "error", "ename", "OutOfMemory", "evalue",
                         "not enough memory for a subshell", "traceback");
    }
    return json_pack("{s:s, s:o}", "status", "ok", "subshell_id", id);
}

static json_t *remove_one(struct jp_subshells *s, const struct jp_message *m)
{
    const char *id = json_string_value(json_object_get(m->content, "subshell_id"));
    if (!id || !jp_subshells_has(s, id)) return jp_subshells_unknown(id ? id : "without a name");
    json_array_remove(s->ids, find(s, id));
    return json_pack("{s:s}", "status", "ok");
}

json_t *jp_subshells_answer(struct jp_subshells *s, const struct jp_message *m, const char **type)
{
    if (strcmp(m->type, "create_subshell_request") == 0) {
        *type = "create_subshell_reply";
        return create(s);
    }
    if (strcmp(m->type, "delete_subshell_request") == 0) {
        *type = "delete_subshell_reply";
        return remove_one(s, m);
    }
    if (strcmp(m->type, "list_subshell_request") == 0) {
        *type = "list_subshell_reply";
        return json_pack("{s:s, s:o}", "status", "ok", "subshell_id", s->ids ? json_deep_copy(s->ids) : json_array());
    }
    return NULL;
}
