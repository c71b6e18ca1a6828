/* Messages of a cell that others may soon take the place of: in a loop that clears what it has shown and shows it anew,
 * or updates it, thousands of times a second. Jupyter's server drops whatever comes above about 1000 messages or 1 MB a
 * second, errors and results too, and a page could not draw them; so such pictures are sent at that pace, and those
 * that nobody would have seen are left out. The last one is always sent.
 *
 * The caller has the lock, and sends. */
#ifndef JP_HELD_H
#define JP_HELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JP_HELD_MOST 64

struct jp_held_message {
    const char *type;
    json_t *content;
};

struct jp_held {
    struct jp_held_message messages[JP_HELD_MOST];
    size_t count;
    int64_t sent; /* when the last picture was, nanoseconds; 0: none in this cell */
    size_t bytes; /* that were sent since */
};

/* A cell begins. */
void jp_held_begin(struct jp_held *h);
/* Whether the message waits, with its reference, for the next picture; else what is held is to be sent, then it. */
bool jp_held_take(struct jp_held *h, const char *type, json_t *content, int64_t now);
/* How many of the first ones can be sent: a last clear_output with `wait` changes nothing before more is shown. */
size_t jp_held_ready(const struct jp_held *h);
/* Forgets such a one: the cell ends by an error, of which what was shown last, and no longer is, may tell more. */
void jp_held_keep_shown(struct jp_held *h);
/* Whether it is time for what is held. */
bool jp_held_due(const struct jp_held *h, int64_t now);
/* The caller is about to send this one. */
void jp_held_sent(struct jp_held *h, const char *type, const json_t *content, int64_t now);

#endif
