#include "jupyter/kernel.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jupyter/capture.h"
#include "jupyter/handshake.h"
#include "runtime/host.h"
#include "runtime/interrupt.h"

#define WORK_NS    ((int64_t)8000000)    /* of the session's thread, in which it does not come to a request */
#define LONGEST_NS ((int64_t)1000000000) /* that a request waits if that thread does nothing */

#define VAIN_TICKS 20 /* of 100 ms, after which an interrupt is in vain for now */

/* For signal handlers; set while a session exists. */
static struct jp_kernel *_Atomic current;

static void stop_session(struct jp_kernel *k)
{
    lg_session_interrupt(k->session);
    jp_server_cancel_input(k->server);
}

/* Every tick stops it again until the request has ended, so an interrupt that comes just before the session starts to
 * listen is late but not lost. An interrupt of an idle kernel does nothing. Async-signal-safe. */
static void interrupt_session(struct jp_kernel *k)
{
    if (k->session && jp_server_want_interrupt(k->server)) stop_session(k);
}

/* What hook_interrupt sends to the children comes here, too, and may come late. */
static void on_interrupt(int signal_number, siginfo_t *info, void *registers)
{
    (void)signal_number;
    (void)registers;
    int saved = errno;
    struct jp_kernel *k = atomic_load(&current);
    if (k && !(info->si_code == SI_USER && info->si_pid == getpid())) interrupt_session(k);
    errno = saved;
}

static void on_terminate(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    struct jp_kernel *k = atomic_load(&current);
    if (k)
        jp_server_quit(k->server);
    else
        _exit(128 + signal_number);
    errno = saved;
}

static void on_pipe(int signal_number)
{
    (void)signal_number; /* ignored by a handler and not by SIG_IGN, which child processes would inherit */
}

static void handle_signals(void)
{
    struct sigaction interrupt = {.sa_sigaction = on_interrupt, .sa_flags = SA_RESTART | SA_SIGINFO},
                     action = {.sa_handler = on_terminate, .sa_flags = SA_RESTART};
    sigemptyset(&interrupt.sa_mask);
    sigaction(SIGINT, &interrupt, NULL);
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction hangup;
    sigaction(SIGHUP, NULL, &hangup);
    if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
    action.sa_handler = on_pipe;
    sigaction(SIGPIPE, &action, NULL);
}

/* The server's hooks, on the I/O thread. The lock keeps the session from being freed under them. */

static void hook_interrupt(void *context)
{
    struct jp_kernel *k = context;
    pthread_mutex_lock(&k->session_lock);
    interrupt_session(k);
    pthread_mutex_unlock(&k->session_lock);
    /* Clients start a kernel as the leader of a process group; its children are to stop as well. */
    if (jp_server_pending(k->server) && getpgrp() == getpid()) kill(0, SIGINT);
}

/* An interrupt does not reach into one call of Lua's own library that is not of lang/: a collection, table.move over
 * 2^53 places; nor into a module in C. Those patterns that never end are lang/pattern.c's. Who waits is told. */
static void tell_of_vain_interrupt(struct jp_kernel *k)
{
    if (k->vain_ticks++ == VAIN_TICKS)
        jp_output_note(
            &k->output,
            "[the interrupt waits for the end of one call in C, of Lua's library or a module, that cannot be "
            "stopped; a restart of the kernel stops it, and loses the variables]\n");
}

static bool hook_tick(void *context)
{
    struct jp_kernel *k = context;
    bool waits = jp_output_tick(&k->output);
    pthread_mutex_lock(&k->session_lock);
    if (k->session && jp_server_interrupt_wanted(k->server)) {
        stop_session(k);
        tell_of_vain_interrupt(k);
    } else {
        k->vain_ticks = 0;
    }
    pthread_mutex_unlock(&k->session_lock);
    return waits;
}

static bool hook_readable(void *context)
{
    struct jp_kernel *k = context;
    return jp_output_readable(&k->output);
}

/* Requests. All but the first are answered while a cell runs, too; so is that on a subshell. Those that only look are
 * answered even while one call in C runs. */

static const struct handler {
    const char *type;
    void (*answer)(struct jp_kernel *k, const struct jp_message *m);
    bool looks;
} handlers[] = {
    {"execute_request", jp_execute, false},
    {"complete_request", jp_request_complete, true},
    {"inspect_request", jp_request_inspect, true},
    {"history_request", jp_request_history, true},
    {"comm_info_request", jp_request_comm_info, true},
    {"comm_open", jp_comm_receive, false},
    {"comm_msg", jp_comm_receive, false},
    {"comm_close", jp_comm_receive, false},
    {"debug_request", jp_debug_request, false}, /* on the control channel alone */
};

static const struct handler *find_handler(const struct jp_message *m)
{
    static const struct handler widgets = {"comm_*", jp_widgets_receive, true};
    if (jp_widgets_wants(m)) return &widgets;
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (strcmp(m->type, handlers[i].type) == 0)
            return handlers[i].answer == jp_debug_request && m->channel != JP_CONTROL ? NULL : &handlers[i];
    return NULL;
}

static bool urgent(const struct jp_message *m)
{
    const struct handler *h = find_handler(m);
    return m->subshell || (h && h->answer != jp_execute);
}

static bool looks(const struct jp_message *m)
{
    const struct handler *h = find_handler(m);
    return h && h->looks;
}

struct completing {
    struct jp_kernel *kernel;
    const struct jp_message *request;
    json_t *content;
};

static bool complete(void *completing)
{
    struct completing *c = completing;
    c->content = jp_complete(c->kernel, c->request);
    return c->content != NULL;
}

/* The main thread need not be woken for what only looks names up. */
static json_t *hook_complete(void *context, const struct jp_message *m)
{
    struct jp_kernel *k = context;
    struct completing c = {k, m, NULL};
    pthread_mutex_lock(&k->session_lock);
    bool good = k->session && lg_session_look(k->session, complete, &c);
    pthread_mutex_unlock(&k->session_lock);
    if (good) return c.content;
    json_decref(c.content);
    return NULL;
}

/* Of a front end that draws a control of interact: a page that was opened anew. */
static bool asks_state(const struct jp_message *m)
{
    if (m->passed || strcmp(m->type, "comm_msg") != 0) return false;
    const json_t *data = json_object_get(m->content, "data");
    const char *method = json_string_value(json_object_get(data, "method"));
    return method && strcmp(method, "request_state") == 0;
}

static void hook_attend(void *context)
{
    struct jp_kernel *k = context;
    pthread_mutex_lock(&k->session_lock);
    if (k->session) lg_session_attend(k->session);
    pthread_mutex_unlock(&k->session_lock);
}

static void answer(struct jp_kernel *k, struct jp_message *m)
{
    const struct handler *h = find_handler(m);
    jp_server_begin(k->server, m);
    if (h)
        h->answer(k, m);
    else
        jp_server_reply_unknown(k->server, m);
    jp_server_end(k->server, m);
    jp_message_free(m);
}

void jp_kernel_attend(void *kernel)
{
    struct jp_kernel *k = kernel;
    bool nested = k->nested;
    k->nested = true;
    for (struct jp_message *m; (m = jp_server_take(k->server, urgent)) != NULL;) {
        answer(k, m);
        jp_server_done(k->server);
    }
    k->nested = nested;
}

/* From what was known when the cell began; what was not waits for the main thread. */
static bool answer_states(struct lg_session *second, void *kernel)
{
    struct jp_kernel *k = kernel;
    for (struct jp_message *m; (m = jp_server_take(k->server, asks_state)) != NULL;) {
        size_t length;
        const char *id = jp_content_string(m, "comm_id", &length), *state = lg_session_comm_state(second, id);
        if (!state) {
            m->passed = true;
            jp_server_put_back(k->server, m);
            continue;
        }
        jp_server_begin(k->server, m);
        jp_server_publish(k->server, "comm_msg", &m->header_text,
                          json_pack("{s:s, s:o}", "comm_id", id, "data", json_loads(state, 0, NULL)));
        jp_server_end(k->server, m);
        jp_message_free(m);
        jp_server_done(k->server);
    }
    return true;
}

bool jp_kernel_attend_beside(void *kernel)
{
    struct jp_kernel *k = kernel;
    for (struct jp_message *m; (m = jp_server_take(k->server, looks)) != NULL;) {
        answer(k, m);
        jp_server_done(k->server);
    }
    if (jp_server_has(k->server, asks_state)) lg_session_apart(k->session, answer_states, k);
    return jp_server_has(k->server, urgent);
}

/* Whether the session's thread has had its time to come to what waits: it has worked all the while, or it is not a busy
 * machine that keeps it from working. */
static bool is_late(struct jp_kernel *k)
{
    clockid_t clock;
    struct jp_waited *w = &k->waited;
    int64_t time = rt_now_ns();
    int64_t worked = pthread_getcpuclockid(k->main_thread, &clock) == 0 ? rt_clock_ns(clock) : 0;
    if (!w->waits) *w = (struct jp_waited){true, time, worked};
    return worked - w->worked > WORK_NS || time - w->since > LONGEST_NS;
}

static bool has_waited(const struct jp_message *m)
{
    return looks(m) && rt_now_ns() - m->arrived > WORK_NS;
}

/* The session is in a call that it does not come out of. */
static bool answer_apart(struct lg_session *second, void *kernel)
{
    static struct jp_kernel apart; /* what the handlers of those that look use */
    struct jp_kernel *k = kernel;
    apart.server = k->server;
    apart.session = second;
    for (struct jp_message *m; (m = jp_server_take(k->server, has_waited)) != NULL;) {
        answer(&apart, m);
        jp_server_done(k->server);
    }
    return answer_states(second, kernel);
}

static bool waits_for_looks(struct jp_kernel *k)
{
    return jp_server_has(k->server, looks) || jp_server_has(k->server, asks_state);
}

static bool hook_late(void *context)
{
    struct jp_kernel *k = context;
    bool waits = waits_for_looks(k);
    if (waits && is_late(k)) {
        pthread_mutex_lock(&k->session_lock);
        if (k->session) lg_session_apart(k->session, answer_apart, k);
        pthread_mutex_unlock(&k->session_lock);
        waits = waits_for_looks(k);
        k->waited.waits = false;
    }
    if (!waits) k->waited.waits = false;
    return waits;
}

void jp_kernel_beside(void *kernel)
{
    struct jp_kernel *k = kernel;
    jp_server_attend(k->server);
}

static void serve(struct jp_kernel *k)
{
    for (struct jp_message *m; (m = jp_server_next(k->server)) != NULL;) {
        answer(k, m);
        jp_server_done(k->server);
    }
}

static bool open_session(struct jp_kernel *k, const char *device, struct rt_error *e)
{
    struct lg_options options = {.sink = jp_execute_sink(k), .device = device, .hosted = true, .interactive = true};
    k->session = lg_session_new(&options);
    if (!k->session) rt_fail(e, RT_NOMEM, "out of memory making a session");
    return k->session != NULL;
}

static bool start(struct jp_kernel *k, struct jp_connection *c, const char *path, const char *device,
                  struct rt_error *e)
{
    /* The session comes first: a client that finds the sockets open may ask at once. */
    if (jp_capture_begin(k->output.captured, e) != RT_OK) return false;
    jp_output_open(&k->output, (int[]){k->output.captured[0], k->output.captured[1]});
    if (!open_session(k, device, e)) return false;
    const struct jp_server_hooks hooks = {
        .context = k,
        .interrupt = hook_interrupt,
        .tick = hook_tick,
        .readable = hook_readable,
        .kernel_info = jp_kernel_info,
        .is_complete = jp_is_complete,
        .complete = hook_complete,
        .urgent = urgent,
        .attend = hook_attend,
        .late = hook_late,
        .captured = {k->output.captured[0], k->output.captured[1]},
    };
    k->server = k->output.server = jp_server_open(c, &hooks, e);
    if (!k->server) return false;
    if (c->registrar && jp_register(c, jp_server_wire(k->server), e) != RT_OK) return false;
    if (path && jp_connection_write(c, path, e) != RT_OK) return false;
    atomic_store(&current, k);
    handle_signals();
    return jp_server_start(k->server, e) == RT_OK;
}

int jp_kernel_run(struct jp_connection *c, const char *path, const char *device)
{
    static struct jp_kernel kernel = {.session_lock = PTHREAD_MUTEX_INITIALIZER};
    struct jp_kernel *k = &kernel;
    struct rt_error e = {0};
    k->main_thread = pthread_self();
    bool started = start(k, c, path, device, &e);
    if (started) {
        if (path) jp_log(JP_INFO, "to connect: jupyter console --existing %s", path);
        serve(k);
        if (path) unlink(path);
    } else {
        jp_log(JP_ERROR, "%s", e.text);
        rt_error_clear(&e);
    }
    /* While the session closes, the server still answers and ends the process if that takes too long. */
    if (k->server) jp_server_quit(k->server);
    signal(SIGINT, SIG_IGN);
    pthread_mutex_lock(&k->session_lock);
    struct lg_session *session = k->session;
    k->session = NULL;
    pthread_mutex_unlock(&k->session_lock);
    lg_session_free(session);
    atomic_store(&current, NULL);
    if (k->server) jp_server_close(k->server);
    jp_output_close(&k->output);
    jp_debug_close(&k->debug);
    jp_capture_end(k->output.captured);
    return started ? 0 : 1;
}
