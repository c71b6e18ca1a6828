/* The pool's workers sleep on a futex and join a job while it is open. A worker that wakes up late finds the job closed
 * and goes back to sleep, so the caller waits only for workers that really took part. */
#include "runtime/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "runtime/environment.h"
#include "runtime/guard.h"
#include "runtime/host.h"
#include "runtime/lend.h"

#define MAX_THREADS 256
#define PIECE       ((size_t)1 << 20) /* bytes of a copy that a thread takes at a time */
#define SPINS       1000              /* turns before a thread sleeps: 10 to 50 microseconds */

static struct {
    atomic_flag busy;   /* a job is being run */
    atomic_int started; /* workers that exist */
    bool tried;         /* starting them was tried, whatever came of it; under `busy` */
    atomic_uint ticket; /* counts jobs; workers sleep on it */
    atomic_bool open;   /* the job below may be joined */
    atomic_int inside;  /* workers that are looking at the job; the caller sleeps on it */
    atomic_bool waiting;
    atomic_size_t next;
    size_t n, grain;
    void (*body)(void *context, size_t begin, size_t end, int worker);
    void *context;
} pool = {.busy = ATOMIC_FLAG_INIT};

static _Thread_local bool in_parallel;

/* ---- How many ---- */

static int count;
static void find_count(void)
{
    long long n = rt_variable_number(RT_VAR_THREADS);
    if (n == 0) n = rt_host_cpus();
    count = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

int rt_thread_count(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_count);
    return count;
}

/* ---- Waiting ---- */

static void sleep_while(void *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(void *word, int threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

/* ---- Work ---- */

static void take_pieces(int worker)
{
    for (;;) {
        size_t begin = atomic_fetch_add_explicit(&pool.next, pool.grain, memory_order_relaxed);
        if (begin >= pool.n) return;
        size_t end = pool.n - begin > pool.grain ? begin + pool.grain : pool.n;
        pool.body(pool.context, begin, end, worker);
    }
}

static unsigned next_ticket(unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned now = atomic_load(&pool.ticket);
        if (now != seen) return now;
        rt_pause_cpu();
    }
    unsigned now;
    while ((now = atomic_load(&pool.ticket)) == seen) sleep_while(&pool.ticket, seen);
    return now;
}

static void *work(void *argument)
{
    int worker = (int)(intptr_t)argument;
    in_parallel = true;
    for (unsigned seen = 0;;) {
        seen = next_ticket(seen);
        atomic_fetch_add(&pool.inside, 1);
        if (atomic_load(&pool.open)) take_pieces(worker);
        if (atomic_fetch_sub(&pool.inside, 1) == 1 && atomic_load(&pool.waiting)) wake(&pool.inside, 1);
    }
    return NULL;
}

/* A forked child has no workers; it starts its own when it needs them. */
static void forget_workers(void)
{
    atomic_flag_clear(&pool.busy);
    atomic_store(&pool.started, 0);
    pool.tried = false;
    atomic_store(&pool.open, false);
    atomic_store(&pool.inside, 0);
    atomic_store(&pool.waiting, false);
    in_parallel = false;
}

static void start_workers(void)
{
    static bool registered;
    pool.tried = true;
    if (!registered && pthread_atfork(NULL, NULL, forget_workers) == 0) registered = true;
    pthread_attr_t detached;
    if (pthread_attr_init(&detached) != 0) return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigset_t before; /* signals are for the threads that expect them */
    rt_hold_signals(&before);
    atomic_store(&pool.ticket, 0);
    int started = 0;
    for (int i = 1; i < rt_thread_count(); i++) {
        pthread_t thread;
        if (pthread_create(&thread, &detached, work, (void *)(intptr_t)i) != 0) break;
        started++;
    }
    atomic_store(&pool.started, started);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

/* Overflow of the shared counter: it passes n by at most one grain per thread. */
static bool counter_fits(size_t n, size_t grain)
{
    return grain <= (SIZE_MAX - n) / (MAX_THREADS + 1);
}

static void run_parallel(size_t n, size_t grain, void (*body)(void *context, size_t begin, size_t end, int worker),
                         void *context)
{
    if (n <= grain || in_parallel || rt_thread_count() == 1 || !counter_fits(n, grain) ||
        atomic_flag_test_and_set(&pool.busy)) {
        for (size_t begin = 0; begin < n; begin += grain) {
            body(context, begin, n - begin > grain ? begin + grain : n, 0);
            if (n - begin <= grain) break;
        }
        return;
    }
    if (!pool.tried) start_workers();
    pool.n = n;
    pool.grain = grain;
    pool.body = body;
    pool.context = context;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.waiting, false);
    atomic_store(&pool.open, true);
    atomic_fetch_add(&pool.ticket, 1);
    size_t helpers = (n - 1) / grain;
    int started = atomic_load(&pool.started);
    if (started > 0) wake(&pool.ticket, helpers < (size_t)started ? (int)helpers : started);

    in_parallel = true;
    take_pieces(0);
    in_parallel = false;

    atomic_store(&pool.open, false);
    for (int i = 0; i < SPINS && atomic_load(&pool.inside) != 0; i++) rt_pause_cpu();
    atomic_store(&pool.waiting, true);
    int inside;
    while ((inside = atomic_load(&pool.inside)) != 0) sleep_while(&pool.inside, (unsigned)inside);
    atomic_flag_clear(&pool.busy);
}

void rt_parallel_for(size_t n, size_t grain, void (*body)(void *context, size_t begin, size_t end, int worker),
                     void *context)
{
    if (n == 0) return;
    rt_lend();
    run_parallel(n, grain ? grain : 1, body, context);
    rt_lend_end();
}

struct copy {
    char *to;
    const char *from;
};

static void copy_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct copy *c = context;
    (void)worker;
    memcpy(c->to + begin, c->from + begin, end - begin);
}

void rt_parallel_copy(void *to, const void *from, size_t bytes)
{
    struct copy c = {to, from};
    if (bytes < 4 * PIECE || (c.to < c.from + bytes && c.from < c.to + bytes)) {
        memmove(to, from, bytes);
    } else {
        rt_parallel_for(bytes, PIECE, copy_piece, &c);
    }
}
