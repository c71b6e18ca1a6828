/* The queue of work that streams were given and that is not done. Threads of its own do it, beside those that issue it,
 * each piece when it comes after nothing that is left: work of a stream is in the order of the calls, and the default
 * stream comes after all streams that were not made non-blocking, as those come after it (CUDA C++ Programming Guide,
 * "Implicit Synchronization"). One kernel or graph runs at a time; copies, fills and host functions go on beside it.
 *
 * Who waits for a stream helps with that stream's work instead of sleeping, and a worker that had work looks for more
 * by itself for a while: where the host waits for each launch, no thread has to wake another. With
 * CUDA_LAUNCH_BLOCKING=1 a launch waits for its end. */
#define _GNU_SOURCE /* pthread_cond_clockwait */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/guard.h"
#include "runtime/interrupt.h"
#include "runtime/memory.h"
#include "runtime/simt/libcuda/libcuda.h"

#define MOST_WORKERS 4    /* more than one may be inside a function of the host's */
#define MOST_ITEMS   1024 /* who issues more waits */
#define LOOK_AGAIN   50   /* microseconds between looks at a word of memory that a stream waits for, or for work */
#define DOZES        20   /* so many looks after its last work a worker goes to sleep */
#define PATIENCE     2    /* seconds that the end of the program waits for work that nobody waited for */

struct item {
    struct item *next;
    uint64_t number;
    CUstream stream; /* whose work it is; NULL: the default one's */
    bool blocking;   /* the default stream's, or of a stream that is ordered with it */
    bool running;
    CUcontext context; /* that was current */
    CUresult *result;  /* where who waits for it wants to have it */
    struct simt_work work;
    _Alignas(16) char params[]; /* a kernel's */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t issued, done;
    struct item *first, **end; /* in the order of their numbers */
    size_t count, words;       /* of them; of those that wait for a word of memory */
    uint64_t last;
    bool on_device; /* a kernel or graph runs */
    struct {
        uint64_t number; /* 0: the host has waited for it, or seen that it is done */
        CUstream stream;
        bool blocking;
    } newest;                       /* of what the device was given */
    unsigned workers, idle, dozing; /* in all, asleep, and those that look by themselves soon */
    bool over;                      /* the program ends */
    bool blocking_launches;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .issued = PTHREAD_COND_INITIALIZER,
           .done = PTHREAD_COND_INITIALIZER,
           .end = &queue.first};
bool libcuda_unwaited;
static _Thread_local bool inside; /* of a function of the host's: waiting there would never end */

/* Which stream it is, NULL for the default one, which all threads' own are, too: more order than they must have, and
 * the twins of functions for them are the same functions. */
static CUstream key_of(CUstream s)
{
    return s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD ? NULL : s;
}

/* ---- Order; all under the lock ---- */

static bool in_order(const struct item *a, const struct item *b)
{
    return a->stream == b->stream || (a->blocking && b->blocking && (!a->stream || !b->stream));
}

static bool is_done(uint64_t number)
{
    const struct item *i = queue.first;
    while (i && i->number < number) i = i->next;
    return !i || i->number != number;
}

static bool needs_device(const struct item *i)
{
    return i->work.kind == SIMT_WORK_KERNEL || (i->work.kind == SIMT_WORK_CALL && i->work.call.on_device);
}

static bool is_ready(const struct item *i)
{
    if (i->running || (queue.on_device && needs_device(i))) return false;
    for (const struct item *before = queue.first; before != i; before = before->next)
        if (in_order(before, i)) return false;
    if (i->work.kind != SIMT_WORK_WAIT) return true;
    return i->work.call.over ? i->work.call.over(i->work.call.with) : is_done(i->work.call.with[0]);
}

/* ---- What is waited for ---- */

struct target {
    bool all;
    CUstream stream;
    uint64_t upto; /* the last that counts */
    uint64_t one;  /* nothing but this counts, unless 0 */
    bool untold;   /* CUDA would not wait, or no program can rely on it */
};

static bool concerns(const struct target *t, const struct item *i)
{
    if (i->number > t->upto) return false;
    if (t->one) return i->number == t->one;
    return t->all || i->stream == t->stream || (!t->stream && i->blocking);
}

static bool is_reached(const struct target *t)
{
    for (const struct item *i = queue.first; i && i->number <= t->upto; i = i->next)
        if (concerns(t, i)) return false;
    return true;
}

/* Who waits takes only what it waits for, as another stream's kernel may wait for what that thread does next; and no
 * functions of the host's, which have a thread to themselves in CUDA. Where no thread could be started it takes all. */
static bool helps_with(const struct target *t, const struct item *i)
{
    if (!queue.workers) return true;
    return i->number <= t->upto && i->work.kind != SIMT_WORK_HOST && (t->all || i->stream == t->stream);
}

/* The first that can be done now, by a worker (NULL) or by who waits for a target. */
static struct item *pick(const struct target *t)
{
    for (struct item *i = queue.first; i; i = i->next)
        if ((!t || helps_with(t, i)) && is_ready(i)) return i;
    return NULL;
}

/* ---- Doing ---- */

static void remove_item(struct item *gone)
{
    struct item **link = &queue.first;
    while (*link != gone) link = &(*link)->next;
    *link = gone->next;
    if (queue.end == &gone->next) queue.end = link;
    queue.count--;
    queue.words -= gone->work.kind == SIMT_WORK_WAIT && gone->work.call.over;
    free(gone);
}

static void *work(void *unused);

static void start_worker(void)
{
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t before; /* signals are for the program's threads */
    if (queue.workers == MOST_WORKERS || pthread_attr_init(&detached) != 0) return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    rt_hold_signals(&before);
    queue.workers += pthread_create(&thread, &detached, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

/* Has some worker look for work. */
static void call_worker(void)
{
    if (queue.dozing > 0) return;
    if (queue.idle > 0)
        pthread_cond_signal(&queue.issued);
    else
        start_worker();
}

/* Under the lock, which it lets go meanwhile. */
static void run(struct item *i)
{
    bool device = needs_device(i), host = i->work.kind == SIMT_WORK_HOST;
    i->running = true;
    queue.on_device |= device;
    if (queue.count > 1) call_worker(); /* what else is there may not have to wait for this */
    pthread_mutex_unlock(&queue.lock);
    CUcontext before = simt_current();
    simt_CtxSetCurrent(i->context);
    if (host) libcuda_print_held();
    inside = host;
    CUresult r = simt_perform(&i->work);
    inside = false;
    simt_CtxSetCurrent(before);
    if (r != CUDA_SUCCESS && !i->result) simt_keep_error(r);
    pthread_mutex_lock(&queue.lock);
    if (device) queue.on_device = false;
    if (i->result) *i->result = r;
    remove_item(i);
    pthread_cond_broadcast(&queue.done);
    if (queue.first) call_worker();
}

static struct timespec later(long microseconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += microseconds % 1000000 * 1000;
    t.tv_sec += microseconds / 1000000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *work(void *unused)
{
    pthread_mutex_lock(&queue.lock);
    for (int looks = 0;; looks++) {
        struct item *i = pick(NULL);
        if (i) {
            run(i);
            looks = 0;
            continue;
        }
        if (queue.words > 0 || (looks < DOZES && !queue.dozing)) {
            struct timespec again = later(LOOK_AGAIN);
            queue.dozing++;
            pthread_cond_clockwait(&queue.issued, &queue.lock, CLOCK_MONOTONIC, &again);
            queue.dozing--;
        } else {
            queue.idle++;
            pthread_cond_wait(&queue.issued, &queue.lock);
            queue.idle--;
            looks = 0;
        }
    }
    return unused;
}

/* The target was reached, and the host knows. */
static void note_waited(const struct target *t)
{
    if (t->untold) return;
    bool same = queue.newest.stream == t->stream, later = t->upto >= queue.newest.number;
    if (t->all || (later && (same || (!t->one && !t->stream && queue.newest.blocking)))) queue.newest.number = 0;
}

/* Waits under the lock. */
static void wait_for(const struct target *t)
{
    libcuda_print_begin();
    while (!inside && !is_reached(t)) {
        struct item *i = pick(t);
        if (i)
            run(i);
        else
            pthread_cond_wait(&queue.done, &queue.lock);
    }
    if (!inside) note_waited(t);
    libcuda_print_end();
}

/* ---- Issuing ---- */

/* Refuses what could not be done, and tells whether the call must wait for its end: copies of memory that the driver
 * does not know, and fills of what the host sees. */
static CUresult look_at(const struct simt_work *w, bool *wait)
{
    bool host = false;
    CUresult r = CUDA_SUCCESS;
    if (w->kind == SIMT_WORK_COPY) r = simt_look_at_copy(&w->copy, &host);
    if (w->kind == SIMT_WORK_FILL) r = simt_look_at_fill(&w->fill, &host);
    *wait |= host || (w->kind == SIMT_WORK_KERNEL && queue.blocking_launches);
    return r;
}

static struct item *new_item(CUstream stream, const struct simt_work *w)
{
    size_t bytes = w->kind == SIMT_WORK_KERNEL ? simt_function_info(w->kernel.function->function)->param_bytes : 0;
    struct item *i = rt_alloc(sizeof *i + bytes);
    if (!i) return NULL;
    *i = (struct item){.stream = key_of(stream), .context = simt_current(), .work = *w};
    i->blocking = !i->stream || !(i->stream->flags & CU_STREAM_NON_BLOCKING);
    if (bytes) memcpy(i->params, w->kernel.params, bytes);
    if (w->kind == SIMT_WORK_KERNEL) i->work.kernel.params = i->params;
    return i;
}

/* Under the lock. */
static void append(struct item *i)
{
    while (queue.count >= MOST_ITEMS && !inside) pthread_cond_wait(&queue.done, &queue.lock);
    i->number = ++queue.last;
    *queue.end = i;
    queue.end = &i->next;
    queue.count++;
    queue.words += i->work.kind == SIMT_WORK_WAIT && i->work.call.over;
    if (i->work.kind == SIMT_WORK_RECORD) {
        i->work.event->number = i->number;
        i->work.event->stream = i->stream;
    }
    if (needs_device(i)) {
        queue.newest.number = i->number;
        queue.newest.stream = i->stream;
        queue.newest.blocking = i->blocking;
    }
    call_worker();
}

static CUresult issue(CUstream stream, const struct simt_work *w, bool wait)
{
    CUresult r = look_at(w, &wait);
    if (r != CUDA_SUCCESS) return r;
    pthread_mutex_lock(&queue.lock);
    bool alone = queue.over || (wait && !queue.first);
    pthread_mutex_unlock(&queue.lock);
    if (alone) return simt_perform(w);
    struct item *i = new_item(stream, w);
    if (!i) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&queue.lock);
    if (wait) i->result = &r;
    append(i);
    struct target t = {.stream = i->stream, .upto = i->number, .one = i->number};
    if (wait || !queue.workers) wait_for(&t);
    pthread_mutex_unlock(&queue.lock);
    return r;
}

CUresult libcuda_enqueue(CUstream stream, const struct simt_work *w)
{
    return issue(stream, w, false);
}

void libcuda_take_event(CUevent event, CUstream stream)
{
    pthread_mutex_lock(&queue.lock);
    event->number = queue.last;
    event->stream = key_of(stream);
    event->recorded = true;
    pthread_mutex_unlock(&queue.lock);
}

static CUresult after(CUstream stream, CUevent event)
{
    pthread_mutex_lock(&queue.lock);
    uint64_t number = is_done(event->number) ? 0 : event->number;
    pthread_mutex_unlock(&queue.lock);
    if (!number) return CUDA_SUCCESS;
    return issue(stream, &(struct simt_work){.kind = SIMT_WORK_WAIT, .call.with = {number}}, false);
}

/* ---- Waiting ---- */

static bool reach(struct target *t, bool wait)
{
    pthread_mutex_lock(&queue.lock);
    t->upto = t->one ? t->one : queue.last;
    if (wait) wait_for(t);
    bool reached = is_reached(t);
    if (reached && !wait) note_waited(t);
    if (!reached && !wait && queue.dozing > 0) pthread_cond_signal(&queue.issued); /* who asks is in a hurry */
    pthread_mutex_unlock(&queue.lock);
    return reached;
}

static bool idle(CUstream stream, bool wait)
{
    struct target t = {.stream = key_of(stream)};
    return reach(&t, wait);
}

static bool happened(CUevent event, bool wait)
{
    struct target t = {.stream = event->stream, .one = event->number};
    return !t.one || reach(&t, wait);
}

static void settle(bool told)
{
    struct target t = {.all = true, .untold = !told};
    reach(&t, true);
}

/* ---- Start and end ---- */

/* A forked child has none of the threads, and nothing to wait for. */
static void forget(void)
{
    queue.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    queue.issued = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    queue.done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    queue.first = NULL;
    queue.end = &queue.first;
    queue.count = queue.words = 0;
    queue.workers = queue.idle = queue.dozing = 0;
    queue.on_device = false;
}

/* Nobody can hear of it any more: what waits is dropped, and what runs is stopped. */
static void abandon(void)
{
    for (struct item *i = queue.first, *next; i; i = next) {
        next = i->next;
        if (!i->running) remove_item(i);
    }
    rt_interrupt();
    struct timespec limit = later(PATIENCE * 1000000l);
    while (queue.first && pthread_cond_clockwait(&queue.done, &queue.lock, CLOCK_MONOTONIC, &limit) == 0) {
    }
    rt_interrupt_clear();
}

/* A program that ends without waiting has its work done all the same, if that comes to an end. On a GPU what its
 * kernels would print then is lost; the checks say so. */
__attribute__((destructor)) static void finish(void) /* before those of print.c and check.c, which have priorities */
{
    pthread_mutex_lock(&queue.lock);
    libcuda_unwaited = queue.newest.number > 0;
    struct timespec limit = later(PATIENCE * 1000000l);
    while (queue.first && pthread_cond_clockwait(&queue.done, &queue.lock, CLOCK_MONOTONIC, &limit) == 0) {
    }
    queue.over = true;
    if (queue.first) abandon();
    pthread_mutex_unlock(&queue.lock);
    libcuda_print_held();
}

__attribute__((constructor)) static void start(void)
{
    const char *wish = getenv("CUDA_LAUNCH_BLOCKING");
    queue.blocking_launches = wish && strcmp(wish, "1") == 0;
    if (pthread_atfork(NULL, NULL, forget) != 0) return; /* work is done when it is issued */
    simt_queue = (struct simt_queue){issue, after, idle, happened, settle};
}
