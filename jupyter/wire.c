#include "jupyter/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/memory.h"

static const char delimiter[] = JP_DELIMITER;
#define DIGEST       crypto_auth_hmacsha256_BYTES
#define SIGNED       4 /* header, parent header, metadata, content */
#define REPLAY_SLOTS ((size_t)1 << 14)

const char *jp_wire_status_text(enum jp_wire_status status)
{
    static const char *const texts[] = {
#define X(name, text) [name] = text,
        JP_WIRE_STATUSES(X)
#undef X
    };
    return texts[status];
}

static void uuid(char text[40])
{
    unsigned char b[16];
    randombytes_buf(b, sizeof b);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    char *p = text;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
        p += snprintf(p, 3, "%02x", b[i]);
    }
}

bool jp_wire_open(struct jp_wire *w, const char *key, size_t key_length)
{
    memset(w, 0, sizeof *w);
    if (sodium_init() < 0) return false;
    w->has_key = key_length > 0;
    if (w->has_key) crypto_auth_hmacsha256_init(&w->keyed, (const unsigned char *)key, key_length);
    uuid(w->session);
    return true;
}

void jp_wire_close(struct jp_wire *w)
{
    free(w->replay.slots[0]);
    free(w->replay.slots[1]);
    sodium_memzero(w, sizeof *w);
}

static void digest_of(const struct jp_wire *w, const struct jp_frame *frames, size_t count,
                      unsigned char digest[DIGEST])
{
    crypto_auth_hmacsha256_state state = w->keyed;
    for (size_t i = 0; i < count; i++) crypto_auth_hmacsha256_update(&state, frames[i].data, frames[i].size);
    crypto_auth_hmacsha256_final(&state, digest);
}

void jp_wire_sign(const struct jp_wire *w, const struct jp_frame *frames, size_t count, char hex[JP_SIGNATURE + 1])
{
    unsigned char digest[DIGEST];
    hex[0] = '\0';
    if (!w->has_key) return;
    digest_of(w, frames, count, digest);
    sodium_bin2hex(hex, JP_SIGNATURE + 1, digest, DIGEST);
}

/* *digest is filled in when there is a key. */
static bool authentic(const struct jp_wire *w, const struct jp_frame *signature, const struct jp_frame *frames,
                      size_t count, unsigned char digest[DIGEST])
{
    if (!w->has_key) return signature->size == 0;
    unsigned char given[DIGEST];
    size_t length = 0;
    if (signature->size != JP_SIGNATURE ||
        sodium_hex2bin(given, sizeof given, signature->data, signature->size, NULL, &length, NULL) != 0 ||
        length != DIGEST)
        return false;
    digest_of(w, frames, count, digest);
    return sodium_memcmp(given, digest, DIGEST) == 0;
}

bool jp_wire_signed(const struct jp_wire *w, const struct jp_frame *signature, const struct jp_frame *frames,
                    size_t count)
{
    unsigned char digest[DIGEST];
    return authentic(w, signature, frames, count, digest);
}

/* Digests are uniformly distributed, so of each its first bytes are kept, and serve as the hash: two of so few messages
 * do not agree in them. Zero marks a free slot. */
static uint64_t *replay_slot(uint64_t *slots, uint64_t mark)
{
    for (uint64_t i = mark;; i++) {
        uint64_t *slot = &slots[i & (REPLAY_SLOTS - 1)];
        if (*slot == 0 || *slot == mark) return slot;
    }
}

static enum jp_wire_status replay_check(struct jp_replay *r, const unsigned char digest[DIGEST])
{
    uint64_t mark;
    memcpy(&mark, digest, sizeof mark);
    if (!r->slots[0] || r->used > REPLAY_SLOTS / 2) {
        uint64_t *fresh = rt_calloc(REPLAY_SLOTS, sizeof *fresh);
        if (!fresh) return JP_WIRE_MEMORY;
        free(r->slots[1]);
        r->slots[1] = r->slots[0];
        r->slots[0] = fresh;
        r->used = 0;
    }
    if (r->slots[1] && *replay_slot(r->slots[1], mark)) return JP_WIRE_REPLAY;
    uint64_t *slot = replay_slot(r->slots[0], mark);
    if (*slot) return JP_WIRE_REPLAY;
    *slot = mark;
    r->used++;
    return JP_WIRE_OK;
}

static enum jp_wire_status verify(struct jp_wire *w, const struct jp_frame *signature,
                                  const struct jp_frame frames[SIGNED])
{
    unsigned char digest[DIGEST];
    if (!authentic(w, signature, frames, SIGNED, digest)) return JP_WIRE_SIGNATURE;
    return w->has_key ? replay_check(&w->replay, digest) : JP_WIRE_OK;
}

static const char *header_string(const json_t *header, const char *name)
{
    return json_string_value(json_object_get(header, name));
}

/* Copies frames behind each other to p; where the next bytes go. */
static char *copy_frames(struct jp_frame *out, const struct jp_frame *frames, size_t count, char *p)
{
    for (size_t i = 0; i < count; i++) {
        if (frames[i].size) memcpy(p, frames[i].data, frames[i].size);
        out[i] = (struct jp_frame){p, frames[i].size};
        p += frames[i].size;
    }
    return p;
}

static struct jp_message *message_new(const struct jp_frame *identities, size_t count, const struct jp_frame *header,
                                      const struct jp_frame *buffers, size_t buffer_count)
{
    size_t size = header->size + 1 + buffer_count * sizeof *buffers;
    for (size_t i = 0; i < count; i++) size += identities[i].size;
    for (size_t i = 0; i < buffer_count; i++) size += buffers[i].size;
    struct jp_message *m = rt_alloc(sizeof *m + size);
    if (!m) return NULL;
    memset(m, 0, sizeof *m);
    char *p = (char *)(m->storage + buffer_count);
    p = copy_frames(m->identities, identities, count, p);
    m->identity_count = count;
    p = copy_frames(m->storage, buffers, buffer_count, p);
    m->buffers = m->storage;
    m->buffer_count = buffer_count;
    memcpy(p, header->data, header->size);
    p[header->size] = '\0';
    m->header_text = (struct jp_frame){p, header->size};
    return m;
}

void jp_message_free(struct jp_message *m)
{
    if (!m) return;
    json_decref(m->header);
    json_decref(m->content);
    free(m);
}

/* The code unit of an escape "\\uXXXX" at text[at], or -1. */
static long escaped_unit(const char *text, size_t length, size_t at)
{
    char digits[5] = "";
    if (length - at < 6 || text[at] != '\\' || text[at + 1] != 'u') return -1;
    memcpy(digits, text + at + 2, 4);
    char *end;
    long unit = strtol(digits, &end, 16);
    return *end ? -1 : unit;
}

/* JavaScript's strings may hold half a surrogate pair, which its JSON passes on as an escape and which is no text to
 * anyone else. Rather than leaving such a cell unanswered, the half becomes U+FFFD. */
static void mend_surrogates(char *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        if (text[at] != '\\') continue;
        long unit = escaped_unit(text, length, at);
        if (unit >= 0xd800 && unit <= 0xdfff) {
            long next = at + 6 < length ? escaped_unit(text, length, at + 6) : -1;
            bool pair = unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff;
            if (!pair) memcpy(text + at + 2, "fffd", 4);
            at += pair ? 11 : 5;
        } else {
            at++; /* the escaped character */
        }
    }
}

static json_t *parse_content(const struct jp_frame *content)
{
    json_t *parsed = json_loadb(content->data, content->size, JSON_ALLOW_NUL, NULL);
    if (parsed || content->size == 0) return parsed;
    char *copy = rt_alloc(content->size);
    if (!copy) return NULL;
    memcpy(copy, content->data, content->size);
    mend_surrogates(copy, content->size);
    parsed = json_loadb(copy, content->size, JSON_ALLOW_NUL, NULL);
    free(copy);
    return parsed;
}

static enum jp_wire_status parse_json(struct jp_message *m, const struct jp_frame *content)
{
    m->header = json_loadb(m->header_text.data, m->header_text.size, 0, NULL);
    m->type = header_string(m->header, "msg_type");
    m->id = header_string(m->header, "msg_id");
    m->session = header_string(m->header, "session");
    m->subshell = header_string(m->header, "subshell_id");
    if (!m->type || !m->id) return JP_WIRE_HEADER;
    if (!m->session) m->session = "";
    m->content = parse_content(content);
    return json_is_object(m->content) ? JP_WIRE_OK : JP_WIRE_CONTENT;
}

enum jp_wire_status jp_wire_parse(struct jp_wire *w, const struct jp_frame *frames, size_t count,
                                  struct jp_message **out)
{
    *out = NULL;
    if (count > JP_MAX_FRAMES) return JP_WIRE_FRAMES;
    size_t total = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        if (frames[i].size > JP_MAX_MESSAGE - total) return JP_WIRE_SIZE;
        total += frames[i].size;
    }
    while (at < count &&
           !(frames[at].size == sizeof delimiter - 1 && memcmp(frames[at].data, delimiter, sizeof delimiter - 1) == 0))
        at++;
    if (at == count || at > JP_MAX_IDENTITIES) return JP_WIRE_DELIMITER;
    if (count - at < 2 + SIGNED) return JP_WIRE_SHORT;
    const struct jp_frame *body = frames + at + 2;
    if (body[0].size > JP_MAX_HEADER) return JP_WIRE_SIZE;
    enum jp_wire_status status = verify(w, &frames[at + 1], body);
    if (status != JP_WIRE_OK) return status;
    struct jp_message *m = message_new(frames, at, &body[0], body + SIGNED, count - at - 2 - SIGNED);
    if (!m) return JP_WIRE_MEMORY;
    m->size = total;
    status = parse_json(m, &body[3]);
    if (status == JP_WIRE_OK)
        *out = m;
    else
        jp_message_free(m);
    return status;
}

static int format_header(struct jp_wire *w, const char *type, char *id, char *text, size_t size)
{
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    char date[40];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    /* The process id keeps ids unique after a fork. */
    snprintf(id, JP_ID_SIZE, "%s_%ld_%lu", w->session, (long)getpid(), atomic_fetch_add(&w->sent, 1));
    return snprintf(text, size,
                    "{\"msg_id\":\"%s\",\"msg_type\":\"%s\",\"session\":\"%s\",\"username\":\"kernel\","
                    "\"date\":\"%s.%06ldZ\",\"version\":\"" JP_PROTOCOL_VERSION "\"}",
                    id, type, w->session, date, now.tv_nsec / 1000);
}

struct jp_packet *jp_wire_build(struct jp_wire *w, const struct jp_outgoing *o, char *id)
{
    char header[512], own_id[JP_ID_SIZE], hex[JP_SIGNATURE + 1];
    int header_length = format_header(w, o->type, id ? id : own_id, header, sizeof header);
    if (header_length < 0 || (size_t)header_length >= sizeof header) return NULL;
    const char *metadata = o->metadata ? o->metadata : "{}";
    const struct jp_frame body[SIGNED] = {{header, (size_t)header_length},
                                          o->parent ? *o->parent : (struct jp_frame){"{}", 2},
                                          {metadata, strlen(metadata)},
                                          {o->content, o->content_length}};
    jp_wire_sign(w, body, SIGNED, hex);
    size_t count = o->address_count + 2 + SIGNED + o->buffer_count, size = sizeof delimiter + sizeof hex;
    for (size_t i = 0; i < o->address_count; i++) size += o->addresses[i].size;
    for (int i = 0; i < SIGNED; i++) size += body[i].size;
    for (size_t i = 0; i < o->buffer_count; i++) size += o->buffers[i].size;
    struct jp_packet *packet = rt_alloc(sizeof *packet + count * sizeof *packet->frames + size);
    if (!packet) return NULL;
    *packet = (struct jp_packet){.channel = o->channel, .holders = 1};
    char *p = (char *)(packet->frames + count);
#define ADD(bytes, length)                                                                                             \
    do {                                                                                                               \
        size_t length_ = (length);                                                                                     \
        if (length_) memcpy(p, (bytes), length_);                                                                      \
        packet->frames[packet->count++] = (struct jp_frame){p, length_};                                               \
        packet->size += length_;                                                                                       \
        p += length_;                                                                                                  \
    } while (0)
    for (size_t i = 0; i < o->address_count; i++) ADD(o->addresses[i].data, o->addresses[i].size);
    ADD(delimiter, sizeof delimiter - 1);
    ADD(hex, strlen(hex));
    for (int i = 0; i < SIGNED; i++) ADD(body[i].data, body[i].size);
    for (size_t i = 0; i < o->buffer_count; i++) ADD(o->buffers[i].data, o->buffers[i].size);
#undef ADD
    return packet;
}

const struct jp_frame *jp_packet_parent(const struct jp_packet *p)
{
    size_t i = 0;
    while (p->frames[i].size != sizeof delimiter - 1 || memcmp(p->frames[i].data, delimiter, sizeof delimiter - 1) != 0)
        i++;
    return &p->frames[i + 3];
}

void jp_packet_release(struct jp_packet *p)
{
    if (!p || atomic_fetch_sub(&p->holders, 1) > 1) return;
    if (p->unread) atomic_fetch_sub(p->unread, p->size);
    free(p);
}

bool jp_wire_date(const char *text, int64_t *microseconds)
{
    struct tm tm = {0};
    int used = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec, &used) != 6)
        return false;
    text += used;
    int64_t fraction = 0;
    if (*text == '.' || *text == ',') {
        int64_t unit = 100000;
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10) fraction += (*text - '0') * unit;
    }
    int zone = 0;
    if (*text == '+' || *text == '-') {
        int hours = 0, minutes = 0;
        if (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || text[1 + used]) return false;
        zone = (hours * 60 + minutes) * (*text == '-' ? -60 : 60);
    } else if (strcmp(text, "Z") != 0) {
        return false;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *microseconds = ((int64_t)timegm(&tm) - zone) * 1000000 + fraction;
    return true;
}
