/* The wire format: what is accepted, what is refused and why, and what is sent. */
#include <dlfcn.h>
#include <sodium.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jupyter/connection.h"
#include "jupyter/text.h"
#include "jupyter/wire.h"
#include "runtime/memory.h"
#include "tests/unit/test.h"

#define HEADER  "{\"msg_id\":\"m1\",\"msg_type\":\"execute_request\",\"session\":\"s1\",\"date\":\"\"}"
#define CONTENT "{\"code\":\"return 1\"}"

static struct jp_wire wire;

static void open_wire(const char *key)
{
    CHECK(jp_wire_open(&wire, key, strlen(key)));
}

struct frames {
    struct jp_frame list[JP_MAX_FRAMES + 10];
    size_t count;
    char signature[65];
};

static void add(struct frames *f, const void *data, size_t size)
{
    f->list[f->count++] = (struct jp_frame){data, size};
}

static void add_text(struct frames *f, const char *text)
{
    add(f, text, strlen(text));
}

/* An own computation of the signature, from the definition. */
static void hmac(const char *key, const char *text, char hex[65])
{
    unsigned char block[64] = {0}, inner[32], outer[32];
    crypto_hash_sha256_state state;
    memcpy(block, key, strlen(key));
    for (int i = 0; i < 64; i++) block[i] ^= 0x36;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, block, 64);
    crypto_hash_sha256_update(&state, (const unsigned char *)text, strlen(text));
    crypto_hash_sha256_final(&state, inner);
    for (int i = 0; i < 64; i++) block[i] ^= 0x36 ^ 0x5c;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, block, 64);
    crypto_hash_sha256_update(&state, inner, 32);
    crypto_hash_sha256_final(&state, outer);
    sodium_bin2hex(hex, 65, outer, 32);
}

/* A request after the identities given; a NULL key leaves the signature empty. */
static void add_request(struct frames *f, const char *key, const char *header, const char *content)
{
    char all[1000];
    snprintf(all, sizeof all, "%s{}{}%s", header, content);
    f->signature[0] = '\0';
    if (key) hmac(key, all, f->signature);
    add_text(f, "<IDS|MSG>");
    add_text(f, f->signature);
    add_text(f, header);
    add_text(f, "{}");
    add_text(f, "{}");
    add_text(f, content);
}

static enum jp_wire_status parse(const struct frames *f, struct jp_message **m)
{
    return jp_wire_parse(&wire, f->list, f->count, m);
}

static enum jp_wire_status refused(const struct frames *f)
{
    struct jp_message *m = (struct jp_message *)&wire;
    enum jp_wire_status status = parse(f, &m);
    CHECK(m == NULL);
    return status;
}

TEST(a_signed_request_is_parsed)
{
    open_wire("key");
    struct frames f = {0};
    struct jp_message *m;
    add(&f, "id\0with zero", 12);
    add(&f, "", 0);
    add(&f, "\xff\x00\x01", 3);
    add_request(&f, "key", HEADER, CONTENT);
    add_text(&f, "a buffer");
    CHECK_STR(jp_wire_status_text(parse(&f, &m)), "ok");
    CHECK_INT(m->identity_count, 3);
    CHECK_INT(m->identities[0].size, 12);
    CHECK(memcmp(m->identities[0].data, "id\0with zero", 12) == 0);
    CHECK_INT(m->identities[1].size, 0);
    CHECK(memcmp(m->identities[2].data, "\xff\x00\x01", 3) == 0);
    CHECK_STR(m->type, "execute_request");
    CHECK_STR(m->id, "m1");
    CHECK_STR(m->session, "s1");
    CHECK_STR(m->header_text.data, HEADER);
    CHECK_STR(json_string_value(json_object_get(m->content, "code")), "return 1");
    jp_message_free(m);
    jp_wire_close(&wire);
}

TEST(no_identities_and_no_session_are_fine)
{
    open_wire("");
    struct frames f = {0};
    struct jp_message *m;
    add_request(&f, NULL, "{\"msg_id\":\"1\",\"msg_type\":\"x\"}", "{}");
    CHECK_INT(parse(&f, &m), JP_WIRE_OK);
    CHECK_INT(m->identity_count, 0);
    CHECK_STR(m->session, "");
    jp_message_free(m);
    /* Without signatures nothing tells a repetition. */
    CHECK_INT(parse(&f, &m), JP_WIRE_OK);
    jp_message_free(m);
    jp_wire_close(&wire);
}

TEST(an_empty_key_takes_empty_signatures_only)
{
    open_wire("");
    struct frames f = {0};
    add_request(&f, "", HEADER, CONTENT);
    CHECK_INT(refused(&f), JP_WIRE_SIGNATURE);
    jp_wire_close(&wire);
}

/* libsodium's comparison, whose time does not depend on the bytes: here it counts, and may say that all is equal. */
static struct {
    int calls;
    size_t length;
    bool lies;
} compared;

int sodium_memcmp(const void *a, const void *b, size_t n)
{
    static int (*real)(const void *, const void *, size_t);
    void *symbol = dlsym(RTLD_NEXT, "sodium_memcmp");
    memcpy(&real, &symbol, sizeof symbol);
    compared.calls++;
    compared.length = n;
    return compared.lies ? 0 : real(a, b, n);
}

TEST(signatures_are_compared_in_constant_time)
{
    for (int i = -1; i < 64; i++) { /* right, and wrong in one digit */
        struct frames f = {0};
        struct jp_message *m;
        open_wire("key");
        add_request(&f, "key", HEADER, CONTENT);
        if (i >= 0) f.signature[i] = f.signature[i] == '0' ? '1' : '0';
        for (int lies = i >= 0; lies >= 0; lies--) { /* nothing else decides */
            compared.calls = 0;
            compared.lies = lies;
            CHECK_INT(parse(&f, &m), lies ? JP_WIRE_OK : i < 0 ? JP_WIRE_OK : JP_WIRE_SIGNATURE);
            CHECK_INT(compared.calls, 1);
            CHECK_INT(compared.length, 32);
            jp_message_free(m);
        }
        jp_wire_close(&wire);
    }
}

TEST(wrong_signatures_are_refused)
{
    open_wire("key");
    struct frames f = {0};
    add_request(&f, "another key", HEADER, CONTENT);
    CHECK_INT(refused(&f), JP_WIRE_SIGNATURE);
    f.count = 0;
    add_request(&f, NULL, HEADER, CONTENT);
    CHECK_INT(refused(&f), JP_WIRE_SIGNATURE);
    static const char *const bad[] = {"00", "zz", "", "<IDS|MSG>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        f.count = 0;
        add_request(&f, "key", HEADER, CONTENT);
        f.list[1] = (struct jp_frame){bad[i], strlen(bad[i])};
        CHECK_INT(refused(&f), JP_WIRE_SIGNATURE);
    }
    for (int i = 0; i < 64; i++) { /* whatever compares them looks at all of them */
        f.count = 0;
        add_request(&f, "key", HEADER, CONTENT);
        f.signature[i] = f.signature[i] == '0' ? '1' : '0';
        CHECK_INT(refused(&f), JP_WIRE_SIGNATURE);
    }
    f.count = 0;
    add_request(&f, "key", HEADER, CONTENT);
    memset(f.signature, 'g', 64);
    CHECK_INT(refused(&f), JP_WIRE_SIGNATURE);
    jp_wire_close(&wire);
}

TEST(every_signed_frame_counts)
{
    open_wire("key");
    for (int changed = 2; changed <= 5; changed++) {
        struct frames f = {0};
        add_request(&f, "key", HEADER, CONTENT);
        f.list[changed] = (struct jp_frame){"{\"a\":1}", 7};
        CHECK_INT(refused(&f), JP_WIRE_SIGNATURE);
    }
    jp_wire_close(&wire);
}

TEST(a_replayed_signature_is_refused)
{
    open_wire("key");
    struct frames f = {0};
    struct jp_message *m;
    add_request(&f, "key", HEADER, CONTENT);
    CHECK_INT(parse(&f, &m), JP_WIRE_OK);
    jp_message_free(m);
    CHECK_INT(refused(&f), JP_WIRE_REPLAY);
    /* Thousands of messages later it is still known, in the older generation. */
    for (int i = 0; i < 9000; i++) {
        struct frames g = {0};
        char header[100];
        snprintf(header, sizeof header, "{\"msg_id\":\"n%d\",\"msg_type\":\"x\"}", i);
        add_request(&g, "key", header, CONTENT);
        CHECK_INT(parse(&g, &m), JP_WIRE_OK);
        jp_message_free(m);
    }
    CHECK_INT(refused(&f), JP_WIRE_REPLAY);
    jp_wire_close(&wire);
}

TEST(truncated_messages_are_refused)
{
    open_wire("key");
    struct frames f = {0};
    add_text(&f, "identity");
    add_request(&f, "key", HEADER, CONTENT);
    for (size_t count = 0; count < f.count; count++) {
        struct jp_message *m;
        enum jp_wire_status status = jp_wire_parse(&wire, f.list, count, &m);
        CHECK_INT(status, count <= 1 ? JP_WIRE_DELIMITER : JP_WIRE_SHORT);
        CHECK(!m);
    }
    jp_wire_close(&wire);
}

TEST(a_message_without_delimiter_is_refused)
{
    open_wire("");
    struct frames f = {0};
    for (int i = 0; i < 10; i++) add_text(&f, "<IDS|MSG> ");
    CHECK_INT(refused(&f), JP_WIRE_DELIMITER);
    f.count = 0;
    for (int i = 0; i <= JP_MAX_IDENTITIES; i++) add_text(&f, "i");
    add_request(&f, NULL, HEADER, CONTENT);
    CHECK_INT(refused(&f), JP_WIRE_DELIMITER);
    jp_wire_close(&wire);
}

TEST(huge_messages_are_refused)
{
    open_wire("");
    struct frames f = {0};
    add_request(&f, NULL, HEADER, CONTENT);
    while (f.count <= JP_MAX_FRAMES) add_text(&f, "");
    CHECK_INT(refused(&f), JP_WIRE_FRAMES);
    /* Sizes are looked at before bytes. */
    f.count = 0;
    add_request(&f, NULL, HEADER, CONTENT);
    f.list[5].size = SIZE_MAX;
    CHECK_INT(refused(&f), JP_WIRE_SIZE);
    f.list[5].size = JP_MAX_MESSAGE;
    CHECK_INT(refused(&f), JP_WIRE_SIZE);
    f.list[5].size = strlen(CONTENT);
    f.list[2].size = JP_MAX_HEADER + 1;
    CHECK_INT(refused(&f), JP_WIRE_SIZE);
    jp_wire_close(&wire);
}

TEST(headers_and_contents_must_be_objects)
{
    open_wire("");
    static const char *const headers[] = {"",
                                          "{",
                                          "[]",
                                          "null",
                                          "1",
                                          "{}",
                                          "{\"msg_id\":1,\"msg_type\":\"x\"}",
                                          "{\"msg_id\":\"1\"}",
                                          "{\"msg_id\":\"1\",\"msg_type\":null}",
                                          "\xff",
                                          "{\"msg_id\":\"1\",\"msg_type\":\"\xff\"}"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct frames f = {0};
        add_request(&f, NULL, headers[i], CONTENT);
        CHECK_INT(refused(&f), JP_WIRE_HEADER);
    }
    static const char *const contents[] = {"", "{", "[]", "null", "\"x\"", "{\"a\":\"\xff\"}", "{} {}"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        struct frames f = {0};
        add_request(&f, NULL, HEADER, contents[i]);
        CHECK_INT(refused(&f), JP_WIRE_CONTENT);
    }
    jp_wire_close(&wire);
}

TEST(half_a_surrogate_pair_becomes_the_replacement_character)
{
    open_wire("");
    struct frames f = {0};
    struct jp_message *m;
    add_request(&f, NULL, HEADER, "{\"code\":\"\\ud83d x \\ude00 \\ud83d\\ude00 \\\\ud83d\"}");
    CHECK_INT(parse(&f, &m), JP_WIRE_OK);
    CHECK_STR(json_string_value(json_object_get(m->content, "code")),
              "\xef\xbf\xbd x \xef\xbf\xbd \xf0\x9f\x98\x80 \\ud83d");
    jp_message_free(m);
    jp_wire_close(&wire);
}

TEST(what_is_built_is_parsed_again)
{
    open_wire("secret");
    char id[JP_ID_SIZE], other[JP_ID_SIZE];
    const struct jp_frame addresses[] = {{"a\0b", 3}, {"", 0}}, parent = {HEADER, strlen(HEADER)};
    const struct jp_outgoing o = {.channel = JP_STDIN,
                                  .type = "input_request",
                                  .addresses = addresses,
                                  .address_count = 2,
                                  .parent = &parent,
                                  .content = CONTENT,
                                  .content_length = strlen(CONTENT)};
    struct jp_packet *packet = jp_wire_build(&wire, &o, id);
    CHECK(packet);
    CHECK_INT(packet->channel, JP_STDIN);
    CHECK_INT(packet->count, 8);
    CHECK(memcmp(packet->frames[0].data, "a\0b", 3) == 0);
    CHECK_INT(packet->frames[5].size, strlen(HEADER));
    CHECK(memcmp(packet->frames[5].data, HEADER, strlen(HEADER)) == 0);
    CHECK(memcmp(packet->frames[6].data, "{}", 2) == 0);
    struct jp_message *m;
    CHECK_STR(jp_wire_status_text(jp_wire_parse(&wire, packet->frames, packet->count, &m)), "ok");
    CHECK_STR(m->type, "input_request");
    CHECK_STR(m->id, id);
    CHECK_STR(m->session, wire.session);
    CHECK_STR(json_string_value(json_object_get(m->header, "version")), JP_PROTOCOL_VERSION);
    const char *date = json_string_value(json_object_get(m->header, "date"));
    int64_t sent;
    CHECK(jp_wire_date(date, &sent));
    CHECK_INT(strlen(date), strlen("2026-01-02T03:04:05.678901Z"));
    jp_message_free(m);
    jp_packet_release(packet);
    packet = jp_wire_build(&wire, &o, other);
    CHECK(strcmp(id, other) != 0);
    jp_packet_release(packet);
    jp_wire_close(&wire);
}

TEST(ids_differ_after_a_fork)
{
    open_wire("key");
    char id[JP_ID_SIZE] = "", other[JP_ID_SIZE] = "";
    const struct jp_outgoing o = {.channel = JP_SHELL, .type = "x", .content = "{}", .content_length = 2};
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct jp_packet *packet = jp_wire_build(&wire, &o, id);
        jp_packet_release(packet);
        _exit(write(ends[1], id, sizeof id) != sizeof id);
    }
    free(jp_wire_build(&wire, &o, other));
    CHECK_INT(read(ends[0], id, sizeof id), sizeof id);
    CHECK_INT(waitpid(child, NULL, 0), child);
    CHECK(*id && *other && strcmp(id, other) != 0);
    jp_wire_close(&wire);
}

TEST(without_a_parent_there_is_an_empty_object)
{
    open_wire("");
    const struct jp_outgoing o = {.channel = JP_IOPUB, .type = "status", .content = "{}", .content_length = 2};
    struct jp_packet *packet = jp_wire_build(&wire, &o, NULL);
    CHECK_INT(packet->count, 6);
    CHECK_INT(packet->frames[1].size, 0);
    CHECK(memcmp(packet->frames[3].data, "{}", 2) == 0);
    jp_packet_release(packet);
    jp_wire_close(&wire);
}

TEST(dates_are_understood_in_every_zone)
{
    int64_t t, u;
    CHECK(jp_wire_date("1970-01-01T00:00:01.5Z", &t));
    CHECK_INT(t, 1500000);
    CHECK(jp_wire_date("2026-01-02T03:04:05.678901Z", &t));
    CHECK(jp_wire_date("2026-01-02T05:34:05.678901+02:30", &u));
    CHECK_INT(t, u);
    CHECK(jp_wire_date("2026-01-01T20:04:05.678901234-07:00", &u));
    CHECK_INT(t, u);
    static const char *const bad[] = {"",
                                      "now",
                                      "2026-01-02",
                                      "2026-01-02T03:04:05",
                                      "2026-01-02T03:04:05.1",
                                      "2026-01-02T03:04:05ZZ",
                                      "2026-01-02T03:04:05+1",
                                      "2026-01-02T03:04:05+01:00x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!jp_wire_date(bad[i], &t));
}

TEST(each_failing_allocation_is_survived)
{
    for (long nth = 1;; nth++) {
        rt_fail_allocation(nth);
        struct frames f = {0};
        add_text(&f, "identity");
        add_request(&f, "key", HEADER, CONTENT);
        struct jp_message *m = NULL;
        enum jp_wire_status status = JP_WIRE_MEMORY;
        struct jp_packet *packet = NULL;
        const struct jp_outgoing o = {.channel = JP_IOPUB, .type = "status", .content = "{}", .content_length = 2};
        if (jp_wire_open(&wire, "key", 3)) {
            status = parse(&f, &m);
            packet = jp_wire_build(&wire, &o, NULL);
        }
        rt_fail_allocation(0);
        bool whole = status == JP_WIRE_OK && packet;
        CHECK(status == JP_WIRE_OK || status == JP_WIRE_MEMORY);
        jp_message_free(m);
        jp_packet_release(packet);
        jp_wire_close(&wire);
        if (whole) break;
        CHECK(nth < 20);
    }
}

/* Texts. */

TEST(code_points_and_bytes)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"; /* aä€😀z */
    const size_t length = sizeof text - 1;
    static const size_t offsets[] = {0, 1, 3, 6, 10, 11};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        CHECK_INT(jp_text_bytes(text, length, i), offsets[i]);
        CHECK_INT(jp_text_points(text, length, offsets[i]), i);
    }
    CHECK_INT(jp_text_bytes(text, length, 1000), length);
    CHECK_INT(jp_text_points(text, length, 1000), 5);
    CHECK_INT(jp_text_bytes("", 0, 3), 0);
}

TEST(cut_sequences_are_held_back)
{
    static const char smile[] = "x\xf0\x9f\x98\x80";
    CHECK_INT(jp_text_whole(smile, 5), 5);
    for (size_t n = 1; n < 5; n++) CHECK_INT(jp_text_whole(smile, n), 1);
    CHECK_INT(jp_text_whole("\x80\x80\x80\x80", 4), 4); /* nonsense is not waited for */
    CHECK_INT(jp_text_whole("abc", 3), 3);
    CHECK_INT(jp_text_whole("", 0), 0);
}

static void check_json(const char *bytes, size_t length, const char *want)
{
    json_t *s = jp_text_json(bytes, length);
    CHECK_STR(json_string_value(s), want);
    char *dumped = json_dumps(s, JSON_ENCODE_ANY);
    CHECK(dumped);
    free(dumped);
    json_decref(s);
}

TEST(invalid_bytes_become_replacement_characters)
{
    check_json("plain", 5, "plain");
    check_json("a\xff\xc3z", 4, "a\xef\xbf\xbd\xef\xbf\xbdz");
    check_json("\xe2\x82", 2, "\xef\xbf\xbd\xef\xbf\xbd");
    check_json("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    check_json("\xf0\x9f\x98\x80\xf8", 5, "\xf0\x9f\x98\x80\xef\xbf\xbd");
    json_t *s = jp_text_json("a\0b", 3);
    CHECK_INT(json_string_length(s), 3);
    json_decref(s);
}

/* Connection files. */

static const char *write_file(const char *text)
{
    static char path[] = "/tmp/lunarray-connection-XXXXXX";
    strcpy(path, "/tmp/lunarray-connection-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void check_refused(const char *text, const char *why)
{
    const char *path = write_file(text);
    struct jp_connection c;
    struct rt_error e = {0};
    CHECK(jp_connection_read(&c, path, &e) != RT_OK);
    CHECK_HAS(e.text, why);
    CHECK_HAS(e.text, path);
    rt_error_clear(&e);
    unlink(path);
}

#define PORTS "\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4,\"hb_port\":65535"

TEST(connection_files_are_read)
{
    const char *path = write_file("{" PORTS ",\"ip\":\"::1\",\"key\":\"k\",\"transport\":\"tcp\","
                                  "\"signature_scheme\":\"hmac-sha256\",\"kernel_name\":\"x\"}");
    struct jp_connection c;
    struct rt_error e = {0};
    CHECK_INT(jp_connection_read(&c, path, &e), RT_OK);
    unlink(path);
    char endpoint[100];
    jp_connection_endpoint(&c, JP_HEARTBEAT, endpoint, sizeof endpoint);
    CHECK_STR(endpoint, "tcp://[::1]:65535");
    CHECK_STR(c.key, "k");
    CHECK_INT(c.ports[JP_CONTROL], 4);
    jp_connection_free(&c);
    path = write_file("{" PORTS ",\"ip\":\"/tmp/k\",\"transport\":\"ipc\"}");
    CHECK_INT(jp_connection_read(&c, path, &e), RT_OK);
    unlink(path);
    jp_connection_endpoint(&c, JP_SHELL, endpoint, sizeof endpoint);
    CHECK_STR(endpoint, "ipc:///tmp/k-1");
    CHECK_INT(c.key_length, 0);
    jp_connection_free(&c);
}

TEST(bad_connection_files_say_what_is_wrong)
{
    check_refused("", "not a connection file");
    check_refused("[1]", "expected a JSON object");
    check_refused("{}", "there is no integer shell_port");
    check_refused("{" PORTS ",\"shell_port\":0}", "shell_port is 0, expected 1 to 65535");
    check_refused("{" PORTS ",\"ip\":7}", "ip is not a string");
    check_refused("{" PORTS ",\"transport\":\"udp\"}", "expected tcp or ipc");
    check_refused("{" PORTS ",\"key\":\"k\",\"signature_scheme\":\"hmac-md5\"}", "hmac-sha256 only");
    struct jp_connection c;
    struct rt_error e = {0};
    CHECK_INT(jp_connection_read(&c, "/nonexistent/kernel.json", &e), RT_IO);
    CHECK_HAS(e.text, "/nonexistent/kernel.json");
    rt_error_clear(&e);
}
