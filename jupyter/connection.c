#include "jupyter/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/memory.h"

const char *jp_channel_name(enum jp_channel channel)
{
    static const char *const names[JP_CHANNELS] = {
        [JP_SHELL] = "shell", [JP_CONTROL] = "control", [JP_STDIN] = "stdin",
        [JP_IOPUB] = "iopub", [JP_HEARTBEAT] = "hb",
    };
    return names[channel];
}

static enum rt_status copy_string(const json_t *file, const char *path, const char *name, const char *fallback,
                                  char **out, struct rt_error *e)
{
    const json_t *value = json_object_get(file, name);
    if (value && !json_is_string(value)) return rt_fail(e, RT_INVALID, "%s: %s is not a string", path, name);
    *out = rt_strdup(value ? json_string_value(value) : fallback);
    return *out ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory reading %s", path);
}

static enum rt_status read_port(const json_t *file, const char *path, const char *name, int *out, struct rt_error *e)
{
    const json_t *port = json_object_get(file, name);
    if (!json_is_integer(port)) return rt_fail(e, RT_INVALID, "%s: there is no integer %s", path, name);
    json_int_t value = json_integer_value(port);
    if (value < 1 || value > 65535)
        return rt_fail(e, RT_INVALID, "%s: %s is %lld, expected 1 to 65535", path, name, (long long)value);
    *out = (int)value;
    return RT_OK;
}

static enum rt_status read_ports(struct jp_connection *c, const json_t *file, const char *path, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    for (int i = 0; i < JP_CHANNELS && status == RT_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_port", jp_channel_name(i));
        status = read_port(file, path, name, &c->ports[i], e);
    }
    return status;
}

static void format_endpoint(char *out, size_t size, const char *ip, const char *port)
{
    bool bare = strchr(ip, ':') && ip[0] != '[';
    snprintf(out, size, bare ? "tcp://[%s]:%s" : "tcp://%s:%s", ip, port);
}

/* c->ip is registration_ip: whoever started the kernel can reach it there. */
static enum rt_status read_registrar(struct jp_connection *c, const json_t *file, const char *path, struct rt_error *e)
{
    int port = 0;
    char text[16], endpoint[300];
    if (strcmp(c->transport, "tcp") != 0)
        return rt_fail(e, RT_UNSUPPORTED, "%s: transport is \"%s\", registration goes over tcp", path, c->transport);
    enum rt_status status = read_port(file, path, "registration_port", &port, e);
    if (status == RT_OK) status = copy_string(file, path, "kernel_id", "", &c->kernel_id, e);
    if (status != RT_OK) return status;
    snprintf(text, sizeof text, "%d", port);
    format_endpoint(endpoint, sizeof endpoint, c->ip, text);
    c->registrar = rt_strdup(endpoint);
    return c->registrar ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory reading %s", path);
}

static enum rt_status check(const struct jp_connection *c, const json_t *file, const char *path, struct rt_error *e)
{
    const char *scheme = json_string_value(json_object_get(file, "signature_scheme"));
    if (c->key_length && scheme && strcmp(scheme, "hmac-sha256") != 0)
        return rt_fail(e, RT_UNSUPPORTED, "%s: signature_scheme is \"%s\", this kernel signs with hmac-sha256 only",
                       path, scheme);
    if (c->curve_secret && strlen(c->curve_secret) != JP_CURVE_KEY)
        return rt_fail(e, RT_INVALID, "%s: curve_secretkey has %zu characters, expected %d", path,
                       strlen(c->curve_secret), JP_CURVE_KEY);
    if (strcmp(c->transport, "tcp") != 0 && strcmp(c->transport, "ipc") != 0)
        return rt_fail(e, RT_UNSUPPORTED, "%s: transport is \"%s\", expected tcp or ipc", path, c->transport);
    /* Room for "-65535" and the NUL. */
    size_t longest = strcmp(c->transport, "ipc") == 0 ? sizeof(((struct sockaddr_un *)0)->sun_path) - 7 : 200;
    if (strlen(c->ip) > longest)
        return rt_fail(e, RT_INVALID, "%s: ip is longer than the %zu bytes that %s addresses may have", path, longest,
                       c->transport);
    return RT_OK;
}

enum rt_status jp_connection_read(struct jp_connection *c, const char *path, struct rt_error *e)
{
    memset(c, 0, sizeof *c);
    FILE *stream = fopen(path, "re");
    if (!stream) return rt_fail(e, RT_IO, "cannot read the connection file %s: %s", path, strerror(errno));
    json_error_t parse;
    json_t *file = json_loadf(stream, 0, &parse);
    fclose(stream);
    if (!json_is_object(file)) {
        json_decref(file);
        return rt_fail(e, RT_INVALID, "%s is not a connection file: %s", path,
                       file ? "expected a JSON object" : parse.text);
    }
    bool registers = json_object_get(file, "registration_port") != NULL;
    enum rt_status status = copy_string(file, path, "transport", "tcp", &c->transport, e);
    if (status == RT_OK) status = copy_string(file, path, registers ? "registration_ip" : "ip", "127.0.0.1", &c->ip, e);
    if (status == RT_OK) status = copy_string(file, path, "key", "", &c->key, e);
    if (status == RT_OK && json_object_get(file, "curve_secretkey"))
        status = copy_string(file, path, "curve_secretkey", "", &c->curve_secret, e);
    if (status == RT_OK) {
        c->key_length = strlen(c->key);
        status = check(c, file, path, e);
    }
    if (status == RT_OK) status = (registers ? read_registrar : read_ports)(c, file, path, e);
    json_decref(file);
    if (status != RT_OK) jp_connection_free(c);
    return status;
}

enum rt_status jp_connection_local(struct jp_connection *c, struct rt_error *e)
{
    unsigned char random[32];
    memset(c, 0, sizeof *c);
    c->transport = rt_strdup("tcp");
    c->ip = rt_strdup("127.0.0.1");
    c->key = rt_alloc(2 * sizeof random + 1);
    if (!c->transport || !c->ip || !c->key || sodium_init() < 0) {
        jp_connection_free(c);
        return rt_fail(e, RT_NOMEM, "out of memory");
    }
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(c->key, 2 * sizeof random + 1, random, sizeof random);
    c->key_length = 2 * sizeof random;
    return RT_OK;
}

enum rt_status jp_connection_write(const struct jp_connection *c, const char *path, struct rt_error *e)
{
    json_t *file = json_pack("{s:s, s:s, s:s, s:s, s:s}", "transport", c->transport, "ip", c->ip, "key", c->key,
                             "signature_scheme", "hmac-sha256", "kernel_name", "lunarray");
    for (int i = 0; i < JP_CHANNELS; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_port", jp_channel_name(i));
        json_object_set_new(file, name, json_integer(c->ports[i]));
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int failed = fd < 0 || !file || json_dumpfd(file, fd, JSON_INDENT(1)) != 0;
    int cause = errno;
    if (fd >= 0 && close(fd) != 0) failed = 1;
    json_decref(file);
    if (failed) return rt_fail(e, RT_IO, "cannot write the connection file %s: %s", path, strerror(cause));
    return RT_OK;
}

void jp_connection_free(struct jp_connection *c)
{
    free(c->transport);
    free(c->ip);
    if (c->key) sodium_memzero(c->key, c->key_length);
    free(c->key);
    if (c->curve_secret) sodium_memzero(c->curve_secret, strlen(c->curve_secret));
    free(c->curve_secret);
    free(c->registrar);
    free(c->kernel_id);
    memset(c, 0, sizeof *c);
}

void jp_connection_endpoint(const struct jp_connection *c, enum jp_channel channel, char *out, size_t size)
{
    char port[16] = "*";
    if (c->ports[channel]) snprintf(port, sizeof port, "%d", c->ports[channel]);
    if (strcmp(c->transport, "ipc") == 0)
        snprintf(out, size, "ipc://%s-%s", c->ip, port);
    else
        format_endpoint(out, size, c->ip, port);
}
