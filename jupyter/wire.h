/* The wire format of Jupyter messages: frames in, a message out, and back.
 *
 * Nothing here touches a socket. A message is a list of frames: identities (binary, any number), the delimiter
 * <IDS|MSG>, the signature in hex, then header, parent header, metadata and content as JSON, then buffers. The
 * signature is HMAC-SHA256 over the four JSON frames exactly as sent; an empty key means empty signatures. Whatever
 * comes from outside is limited, verified before it is parsed, and refused with a reason when it is not well-formed. */
#ifndef JP_WIRE_H
#define JP_WIRE_H

#include <jansson.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JP_PROTOCOL_VERSION "5.5"
#define JP_MAX_FRAMES       128
#define JP_MAX_IDENTITIES   16
#define JP_MAX_MESSAGE      ((size_t)128 << 20) /* bytes in all frames together */
#define JP_MAX_HEADER       ((size_t)64 << 10)  /* bytes of the header, which every answer repeats */

enum jp_channel { JP_SHELL, JP_CONTROL, JP_STDIN, JP_IOPUB, JP_HEARTBEAT, JP_CHANNELS };

/* What parsing can end with, and the words for the log. */
#define JP_WIRE_STATUSES(X)                                                                                            \
    X(JP_WIRE_OK, "ok")                                                                                                \
    X(JP_WIRE_FRAMES, "too many frames")                                                                               \
    X(JP_WIRE_SIZE, "the message is too large")                                                                        \
    X(JP_WIRE_DELIMITER, "there is no <IDS|MSG> delimiter among the first frames")                                     \
    X(JP_WIRE_SHORT, "frames are missing after the delimiter")                                                         \
    X(JP_WIRE_SIGNATURE, "the signature is wrong")                                                                     \
    X(JP_WIRE_REPLAY, "the signature was used before")                                                                 \
    X(JP_WIRE_HEADER, "the header is not a JSON object with the strings msg_id and msg_type")                          \
    X(JP_WIRE_CONTENT, "the content is not a JSON object")                                                             \
    X(JP_WIRE_MEMORY, "out of memory")

enum jp_wire_status {
#define X(name, text) name,
    JP_WIRE_STATUSES(X)
#undef X
};
const char *jp_wire_status_text(enum jp_wire_status status);

struct jp_frame {
    const void *data;
    size_t size;
};

/* A message from a client. Owns all that it points to. */
struct jp_message {
    struct jp_message *next;  /* for queues */
    struct jp_message *outer; /* the cell that runs around this one */
    enum jp_channel channel;
    struct jp_frame identities[JP_MAX_IDENTITIES];
    size_t identity_count;
    struct jp_frame header_text; /* the header as sent: the parent header of all answers */
    json_t *header;
    const char *type, *id, *session; /* strings of the header; session may be "" */
    const char *subshell;            /* likewise; NULL for the main one */
    json_t *content;
    const struct jp_frame *buffers;
    size_t buffer_count;
    size_t size;               /* bytes of all frames */
    int64_t arrived;           /* nanoseconds of the monotonic clock, set by the receiver */
    uint32_t number;           /* of a request for the main thread, by rising ones */
    bool passed;               /* on to the main thread, for another had no answer */
    bool begun;                /* its status "busy" was published */
    struct jp_frame storage[]; /* buffers, then the bytes of identities, header and buffers */
};
void jp_message_free(struct jp_message *m); /* NULL is fine */

/* A message to be sent: frames in one block, which is there as long as anybody holds it: whoever built it, and a socket
 * that has not sent it yet. */
struct jp_packet {
    struct jp_packet *next; /* for queues */
    enum jp_channel channel;
    atomic_uint holders;
    atomic_size_t
        *unread; /* what `size` was added to when a socket first held it, and is taken from at the end; or NULL */
    size_t size; /* bytes of all frames */
    size_t count;
    struct jp_frame frames[];
};

/* The signatures seen lately, in two generations of which the older is forgotten when the younger is full. */
struct jp_replay {
    uint64_t *slots[2];
    size_t used; /* slots in use in slots[0] */
};

struct jp_wire {
    bool has_key;                       /* else messages are not signed */
    crypto_auth_hmacsha256_state keyed; /* what each signature begins with */
    char session[40];                   /* this kernel's own id, in all headers */
    atomic_ulong sent;
    struct jp_replay replay;
};

/* Takes in the key, of any length (none: messages are not signed), and draws a session id. False when out of memory. */
bool jp_wire_open(struct jp_wire *w, const char *key, size_t key_length);
void jp_wire_close(struct jp_wire *w);

/* Verifies and parses one message. *out is set for JP_WIRE_OK only. One thread at a time. */
enum jp_wire_status jp_wire_parse(struct jp_wire *w, const struct jp_frame *frames, size_t count,
                                  struct jp_message **out);

/* The signature of some frames, in hex; empty when the key is. */
#define JP_SIGNATURE 64
void jp_wire_sign(const struct jp_wire *w, const struct jp_frame *frames, size_t count, char hex[JP_SIGNATURE + 1]);
/* Whether `signature` is that of the frames. */
bool jp_wire_signed(const struct jp_wire *w, const struct jp_frame *signature, const struct jp_frame *frames,
                    size_t count);

/* What stands in front of the signature of every message. */
#define JP_DELIMITER "<IDS|MSG>"

/* What to send. A NULL parent means {}. */
struct jp_outgoing {
    enum jp_channel channel;
    const char *type;                 /* "status" */
    const struct jp_frame *addresses; /* identities, or the topic */
    size_t address_count;
    const struct jp_frame *parent; /* a header's JSON text */
    const char *metadata;          /* JSON text; NULL means {} */
    const char *content;           /* JSON text */
    size_t content_length;
    const struct jp_frame *buffers; /* sent behind the content, not signed */
    size_t buffer_count;
};
/* Builds and signs. NULL when out of memory. id, when not NULL, gets the message id (at least JP_ID_SIZE bytes).
 * Any thread. */
#define JP_ID_SIZE 96
struct jp_packet *jp_wire_build(struct jp_wire *w, const struct jp_outgoing *o, char *id);
/* The header that it answers. */
const struct jp_frame *jp_packet_parent(const struct jp_packet *p);
/* One holds it less. NULL is fine. Any thread. */
void jp_packet_release(struct jp_packet *p);

/* Microseconds since 1970 of an ISO 8601 date with a zone ("2026-01-02T03:04:05.678901Z", "...+00:00"); false for
 * anything else. */
bool jp_wire_date(const char *text, int64_t *microseconds);

#endif
