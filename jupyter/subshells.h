/* Subshells (JEP 91): a client makes one on the control channel, names it in the headers of shell requests, and those
 * do not wait for the cell that runs. Only the I/O thread comes here. */
#ifndef JP_SUBSHELLS_H
#define JP_SUBSHELLS_H

#include "jupyter/wire.h"

struct jp_subshells {
    json_t *ids; /* strings, in the order in which they were made; NULL before the first */
    unsigned long made;
};
void jp_subshells_close(struct jp_subshells *s);
bool jp_subshells_has(const struct jp_subshells *s, const char *id);
/* The reply to create_subshell_request, delete_subshell_request and list_subshell_request: its content, a new
 * reference, and its type. NULL for any other message. */
json_t *jp_subshells_answer(struct jp_subshells *s, const struct jp_message *m, const char **type);
/* The content of the reply to a request that names a subshell that is not there. */
json_t *jp_subshells_unknown(const char *id);

#endif
