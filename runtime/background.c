#include "runtime/background.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "runtime/guard.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct rt_job *first, **end;
    bool registered, started, stopping, busy;
} background = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local bool works;

bool rt_in_background(void)
{
    return works;
}

static void *work(void *unused)
{
    (void)unused;
    works = true;
    pthread_mutex_lock(&background.lock);
    while (!background.stopping) {
        struct rt_job *job = background.first;
        if (!job) {
            pthread_cond_wait(&background.changed, &background.lock);
            continue;
        }
        background.first = job->next;
        background.busy = true;
        pthread_mutex_unlock(&background.lock);
        job->run(job);
        pthread_mutex_lock(&background.lock);
        background.busy = false;
        pthread_cond_broadcast(&background.changed);
    }
    pthread_mutex_unlock(&background.lock);
    return NULL;
}

static void stop(void)
{
    pthread_mutex_lock(&background.lock);
    bool join = background.started;
    background.started = false;
    background.stopping = true;
    pthread_cond_broadcast(&background.changed);
    pthread_mutex_unlock(&background.lock);
    if (join) pthread_join(background.thread, NULL);
}

void rt_background_pause(void)
{
    stop();
    pthread_mutex_lock(&background.lock);
    background.stopping = false;
    pthread_mutex_unlock(&background.lock);
}

static void before_fork(void)
{
    pthread_mutex_lock(&background.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&background.lock);
}

static void forget(void)
{
    background.first = NULL;
    background.started = background.busy = false;
    pthread_mutex_unlock(&background.lock);
}

/* Signals are for the threads that run Lua. */
static bool start(void)
{
    sigset_t former;
    if (!background.registered) {
        if (atexit(stop) != 0 || pthread_atfork(before_fork, after_fork, forget) != 0) return false;
        background.registered = true;
    }
    rt_hold_signals(&former);
    background.started = pthread_create(&background.thread, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    return background.started;
}

bool rt_background(struct rt_job *job)
{
    pthread_mutex_lock(&background.lock);
    bool taken = !background.stopping && (background.started || start());
    if (taken) {
        if (!background.first) background.end = &background.first;
        job->next = NULL;
        *background.end = job;
        background.end = &job->next;
        pthread_cond_broadcast(&background.changed);
    }
    pthread_mutex_unlock(&background.lock);
    return taken;
}

void rt_background_wait(void)
{
    pthread_mutex_lock(&background.lock);
    while (background.started && (background.first || background.busy))
        pthread_cond_wait(&background.changed, &background.lock);
    pthread_mutex_unlock(&background.lock);
}
