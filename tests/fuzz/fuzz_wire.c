/* Frames from the network. The input's first byte chooses whether messages are signed; then each frame is a length of
 * two bytes and its bytes. A frame "@" becomes the right signature, so that mutations reach what lies behind it. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/text.h"
#include "jupyter/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void sign(const struct jp_frame *body, char hex[65])
{
    unsigned char digest[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, (const unsigned char *)"key", 3);
    for (int i = 0; i < 4; i++) crypto_auth_hmacsha256_update(&state, body[i].data, body[i].size);
    crypto_auth_hmacsha256_final(&state, digest);
    sodium_bin2hex(hex, 65, digest, sizeof digest);
}

static void use(struct jp_wire *w, const struct jp_message *m)
{
    char *content = json_dumps(m->content, JSON_COMPACT);
    if (!content) __builtin_trap();
    const struct jp_outgoing o = {.channel = JP_SHELL,
                                  .type = "reply",
                                  .addresses = m->identities,
                                  .address_count = m->identity_count,
                                  .parent = &m->header_text,
                                  .content = content,
                                  .content_length = strlen(content)};
    struct jp_packet *packet = jp_wire_build(w, &o, NULL);
    struct jp_message *again = NULL;
    if (!packet || jp_wire_parse(w, packet->frames, packet->count, &again) != JP_WIRE_OK) __builtin_trap();
    jp_message_free(again);
    jp_packet_release(packet);
    free(content);
    const json_t *code = json_object_get(m->content, "code");
    if (!json_is_string(code)) return;
    size_t length = json_string_length(code);
    for (size_t points = 0; points < 20; points++) {
        size_t at = jp_text_bytes(json_string_value(code), length, points);
        if (at > length || jp_text_points(json_string_value(code), length, at) > points) __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    struct jp_wire w;
    if (!jp_wire_open(&w, "key", data[0] & 1 ? 3 : 0)) return 0;
    struct jp_frame frames[JP_MAX_FRAMES + 2];
    size_t count = 0, at = 1, signature = 0;
    char hex[65];
    while (at + 2 <= size && count < JP_MAX_FRAMES + 2) {
        size_t n = data[at] | (size_t)data[at + 1] << 8;
        at += 2;
        if (n > size - at) n = size - at;
        frames[count] = (struct jp_frame){data + at, n};
        if (n == 1 && data[at] == '@') signature = count;
        count++;
        at += n;
    }
    if (signature && signature + 5 <= count) {
        sign(frames + signature + 1, hex);
        frames[signature] = (struct jp_frame){hex, 64};
    }
    struct jp_message *m = NULL;
    enum jp_wire_status status = jp_wire_parse(&w, frames, count, &m);
    if ((status == JP_WIRE_OK) != (m != NULL)) __builtin_trap();
    if (m) use(&w, m);
    jp_message_free(m);
    json_decref(jp_text_json((const char *)data, size));
    jp_wire_close(&w);
    return 0;
}
