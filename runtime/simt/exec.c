/* A launch: the grid's blocks handed to the host threads, each with scratch memory of its own. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/memory.h"
#include "runtime/occupancy.h"
#include "runtime/threads.h"
#include "runtime/simt/exec.h"
#include "runtime/simt/jit.h"
#include "runtime/simt/heap.h"
#include "runtime/simt/tally.h"

#define MAX_BLOCK_THREADS 1024
#define MOST_TAKEN        1024              /* blocks at once */
#define MAX_DELAYS        64                /* times that a block may wait for others after one of them faulted */
#define MOST_BYTES        ((size_t)1 << 30) /* of blocks beyond those that are resident */
#define MOST_LOOKED_AT    64                /* blocks that wait, of which the lowest goes on */
#define VAIN_ROUNDS       4 /* that all blocks look in vain for what others do, until more are resident */

/* The code is for 32 lanes, and the kernel one that lets them repeat others. */
static void repeat_threads(struct warp *w, const unsigned block[3])
{
    w->exists = FULL;
    for (uint32_t l = 0; l < SIMT_WARP; l++)
        for (int d = 0; d < 3; d++) w->tid[d][l] = simt_jit_thread(block, d, l);
}

static void place_threads(struct warp *w, const unsigned block[3])
{
    uint32_t n = block[0] * block[1] * block[2], t = (uint32_t)w->index * SIMT_WARP;
    w->threads = n - t < SIMT_WARP ? (1u << (n - t)) - 1 : FULL;
    w->jit = n - t < SIMT_WARP ? w->worker->jit.last : w->worker->jit.full;
    if (w->jit && n - t < SIMT_WARP) {
        repeat_threads(w, block);
        return;
    }
    uint32_t x = t % block[0], y = t / block[0] % block[1], z = t / block[0] / block[1];
    w->exists = w->threads;
    for (uint32_t l = 0; l < SIMT_WARP; l++) {
        w->tid[0][l] = x;
        w->tid[1][l] = y;
        w->tid[2][l] = z;
        if (++x < block[0]) continue;
        x = 0;
        if (++y < block[1]) continue;
        y = 0;
        z++;
    }
}

/* ---- workers ---- */
/* Zeros, from a line's start on. */
static void *new_lines(size_t bytes)
{
    void *p = NULL;
    if (rt_allocation_fails() || posix_memalign(&p, LINE_BYTES, bytes)) return NULL;
    return memset(p, 0, bytes);
}

static void worker_free(struct worker *k)
{
    for (uint32_t r = 1; r < k->own.size; r++) /* of a cluster, by its first */
        if (k->own.members[r]) worker_free(k->own.members[r]);
    for (uint32_t j = 0; k->warps && j < k->warp_count; j++) simt_warp_free(&k->warps[j]);
    free(k->warps);
    simt_tally_free(k);
    free(k->ranges);
    free(k->shared);
    free(k->tensors);
    free(k->local);
    free(k);
}

static struct worker *one_worker(struct run *r)
{
    const struct simt_launch *l = r->launch;
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    uint32_t ranges = simt_jit_ranges(&r->jit) + 1;
    struct worker *k = new_lines(RANGES_AT + ranges * sizeof *k->jit_ranges);
    if (!k) return NULL;
    k->run = r;
    k->program = r->program;
    k->observer = l->observer;
    k->params = l->params;
    k->param_bytes = (uint32_t)l->function->info.param_bytes;
    k->bias = simt_bias();
    k->jit_bias = r->on_host ? 0 : k->bias;
    k->warp_count = (threads + SIMT_WARP - 1) / SIMT_WARP;
    k->shared_bytes = l->dynamic_shared ? r->program->dynamic_base + (uint32_t)l->dynamic_shared : r->entry->shared_end;
    k->local_bytes = (r->entry->stack_bytes + 15u) & ~15u;
    for (uint32_t t = 0; t < SIMT_WARP; t++) k->lane_local[t] = t * k->local_bytes;
    k->warps = new_lines(k->warp_count * sizeof *k->warps);
    k->ranges = rt_calloc(r->program->cache_count + 1, sizeof *k->ranges);
    k->shared = new_lines((size_t)k->shared_bytes + 64);
    k->local = rt_calloc((size_t)k->warp_count * SIMT_WARP, (size_t)k->local_bytes + 1);
    k->jit = r->jit;
    k->jit_ranges = (struct jit_range *)(void *)((char *)k + RANGES_AT);
    if (!k->warps || !k->ranges || !k->shared || !k->local) {
        worker_free(k);
        return NULL;
    }
    for (uint32_t j = 0; j < k->warp_count; j++) {
        struct warp *w = &k->warps[j];
        w->worker = k;
        w->code = r->program->code;
        w->index = (int)j;
        w->shared = k->shared;
        w->local = k->local + (size_t)j * SIMT_WARP * k->local_bytes;
        place_threads(w, l->block);
    }
    return k;
}

/* One for each block of a cluster: that of rank 0, which has the others. */
static struct worker *worker_new(struct run *r)
{
    struct worker *first = one_worker(r);
    if (!first) return NULL;
    struct cluster *c = first->cluster = &first->own;
    c->size = r->cluster[0] * r->cluster[1] * r->cluster[2];
    c->members[0] = first;
    for (uint32_t rank = 1; rank < c->size; rank++) {
        struct worker *k = c->members[rank] = one_worker(r);
        if (!k) {
            worker_free(first);
            return NULL;
        }
        k->cluster = c;
        k->rank = rank;
    }
    return first;
}

/* ---- faults ---- */
/* Keeps the fault of the lowest cluster. */
static void report(struct run *r, const struct simt_fault *f, uint64_t turn)
{
    if (f->kind == SIMT_FAULT_NONE) return;
    pthread_mutex_lock(r->lock);
    if (r->fault.kind == SIMT_FAULT_NONE || turn < r->fault_block) {
        r->fault = *f;
        r->fault_block = turn;
    }
    pthread_mutex_unlock(r->lock);
}

static void report_plain(struct run *r, uint64_t turn, enum simt_fault_kind kind, const char *text)
{
    struct simt_fault f = {.kind = kind};
    snprintf(f.kernel, sizeof f.kernel, "%s", r->entry->name);
    snprintf(f.text, sizeof f.text, "%s", text);
    report(r, &f, turn);
}

static bool faulted(struct run *r)
{
    return atomic_load_explicit(&r->fault_block, memory_order_relaxed) != UINT64_MAX;
}

/* ---- which block next ----
 * Blocks stand here for clusters, which start and end as one; mostly a cluster is one block.
 * Blocks may wait for each other, as far as a GPU lets them: for any that is resident, be it on a GPU that is larger
 * than this device, and, as chained scans do, for any with a lower number. So the block just before the lowest that has
 * not started always has a worker, and when it is done that worker goes to the lowest: a thread takes several blocks at
 * once, but gives back those it has not started before it runs anything other than them, and those given back start
 * first, one by one. */
struct thread { /* a host thread's part in a run */
    struct run *run;
    struct blocks mine; /* taken from the run and not yet started; none while it runs a block that was put aside */
    int vain;           /* times in a row that a block waited and none had ended since, and none could be started */
    int looks; /* the same, when all it did was to look for what others do; these times stay when all had one, and count
                * from anew when threads have ended: who waits for a lock needs no more to come for it */
    uint64_t ended; /* as the run had when this thread put one aside */
};

static bool none_left(struct run *r, struct blocks *b)
{
    if (atomic_load_explicit(&r->fault_block, memory_order_relaxed) < b->next) b->next = b->end; /* need not run */
    return b->next == b->end;
}

/* With the lock held: takes the blocks to start next, fewer from time to time: so no thread is left with many that take
 * long when the others have none. */
static bool take_blocks(struct run *r, struct blocks *out)
{
    while (r->returned_count) {
        struct blocks *low = &r->returned[0];
        for (int k = 1; k < r->returned_count; k++)
            if (r->returned[k].next < low->next) low = &r->returned[k];
        bool none = none_left(r, low);
        *out = (struct blocks){low->next, low->next + 1};
        if (none || ++low->next == low->end) *low = r->returned[--r->returned_count];
        if (!none) return true;
    }
    if (none_left(r, &r->left)) return false;
    uint64_t n = (r->left.end - r->left.next) / r->takes;
    n = n < 1 ? 1 : n > MOST_TAKEN ? MOST_TAKEN : n;
    *out = (struct blocks){r->left.next, r->left.next + n};
    r->left.next += n;
    return true;
}

static void give_back(struct thread *t)
{
    struct run *r = t->run;
    if (none_left(r, &t->mine)) return;
    pthread_mutex_lock(r->lock);
    r->returned[r->returned_count++] = t->mine;
    pthread_mutex_unlock(r->lock);
    t->mine.next = t->mine.end;
}

static struct worker *add_worker(struct thread *t, int n)
{
    struct run *r = t->run;
    struct worker *k = worker_new(r);
    if (!k) {
        report_plain(r, t->mine.next, SIMT_FAULT_NOMEM,
                     "out of host memory for the registers and shared memory of a block");
        return NULL;
    }
    for (uint32_t rank = 0; rank < k->own.size; rank++) k->own.members[rank]->multiprocessor = n % rt_thread_count();
    pthread_mutex_lock(r->lock);
    k->all = r->workers;
    r->workers = k;
    pthread_mutex_unlock(r->lock);
    return k;
}

/* Takes blocks, and a worker for the next of them when there is none (k). NULL, and k is idle, when there are no
 * blocks, when as many are resident as the device has room for, or without memory, which is a fault. */
static struct worker *take_work(struct thread *t, struct worker *k)
{
    struct run *r = t->run;
    int n = -1;
    pthread_mutex_lock(r->lock);
    bool room = k || r->idle || r->worker_count < r->worker_limit;
    bool found = room && take_blocks(r, &t->mine);
    if (!found && k && k->tallied) {
        pthread_mutex_unlock(r->lock);
        simt_tally_settle(k);
        pthread_mutex_lock(r->lock);
        found = take_blocks(r, &t->mine);
    }
    if (!found && k) {
        k->waiting = r->idle;
        r->idle = k;
        r->idle_count++;
    } else if (found && !k && r->idle) {
        k = r->idle;
        r->idle = k->waiting;
        r->idle_count--;
    } else if (found && !k) {
        n = r->worker_count++;
    }
    pthread_mutex_unlock(r->lock);
    if (!found) return NULL;
    return n < 0 ? k : add_worker(t, n);
}

/* The blocks of cluster `turn`, in the order of their ranks. */
static void place_cluster(struct worker *first, const unsigned grid[3], const unsigned size[3], uint64_t turn)
{
    const unsigned n[2] = {grid[0] / size[0], grid[1] / size[1]}; /* clusters along x and y */
    const uint64_t at[3] = {turn % n[0], turn / n[0] % n[1], turn / n[0] / n[1]};
    for (uint32_t rank = 0; rank < first->own.size; rank++) {
        struct worker *k = first->own.members[rank];
        k->block[0] = (unsigned)at[0] * size[0] + rank % size[0];
        k->block[1] = (unsigned)at[1] * size[1] + rank / size[0] % size[1];
        k->block[2] = (unsigned)at[2] * size[2] + rank / size[0] / size[1];
        k->block_index = k->block[0] + grid[0] * (k->block[1] + (uint64_t)grid[1] * k->block[2]);
        k->turn_index = turn;
    }
}

static void place_block(struct worker *k, const unsigned grid[3], uint64_t b)
{
    k->turn_index = b;
    bool near = b == k->block_index + 1 && k->block[0] + 1 < grid[0]; /* as nearly always: spares the divisions */
    k->block_index = b;
    if (near) {
        k->block[0]++;
        return;
    }
    k->block[0] = (unsigned)(b % grid[0]);
    k->block[1] = (unsigned)(b / grid[0] % grid[1]);
    k->block[2] = (unsigned)(b / grid[0] / grid[1]);
}

/* Mostly a cluster is one block, and short: that goes the direct way. */
static inline bool start_members(struct worker *k)
{
    if (k->own.size > 1) return simt_cluster_start(k);
    k->own.arrived = 0;
    k->ended = false;
    return simt_block_start(k);
}

static inline enum block_outcome run_members(struct worker *k)
{
    if (k->own.size > 1) return simt_cluster_run(k);
    enum block_outcome outcome = simt_block_run(k);
    if (outcome != BLOCK_DONE) simt_tally_settle(k);
    return outcome == BLOCK_STUCK ? simt_cluster_give_up(k) : outcome;
}

/* Starts the next block, with worker k when it is not NULL. NULL when none can be started now. */
static struct worker *start_block(struct thread *t, struct worker *k)
{
    struct run *r = t->run;
    const unsigned *grid = r->launch->grid;
    for (;;) {
        if ((!k || none_left(r, &t->mine)) && !(k = take_work(t, k))) return NULL;
        uint64_t b = t->mine.next++;
        if (k->own.size == 1)
            place_block(k, grid, b);
        else
            place_cluster(k, grid, r->cluster, b);
        if (rt_interrupted())
            report_plain(r, b, SIMT_FAULT_INTERRUPTED, "interrupted");
        else if (start_members(k))
            return k;
        else
            report(r, &k->fault, b);
    }
}

/* The lowest of those that have waited longest. */
static struct worker **find_lowest(struct run *r)
{
    struct worker **low = &r->first_waiting;
    int n = 0;
    for (struct worker **at = low; *at && n < MOST_LOOKED_AT; at = &(*at)->waiting, n++)
        if ((*at)->turn_index < (*low)->turn_index) low = at;
    return low;
}

/* The first of those that wait, or the lowest, and then this one is idle. NULL when there is none. */
static struct worker *take_waiting(struct run *r, struct worker *idle)
{
    pthread_mutex_lock(r->lock);
    struct worker **at = idle ? find_lowest(r) : &r->first_waiting, *k = *at;
    if (k) {
        *at = k->waiting;
        if (!*at) r->last_waiting = at;
        r->waiting_count--;
    }
    if (k && idle) {
        idle->waiting = r->idle;
        r->idle = idle;
        r->idle_count++;
    }
    pthread_mutex_unlock(r->lock);
    return k;
}

/* The block of k is done: what is to run now. Where blocks hand on to the next one what that waits for, the lowest of
 * those that wait can go on. */
static struct worker *go_on(struct thread *t, struct worker *k)
{
    struct worker *lowest = NULL;
    if (atomic_load_explicit(&t->run->waiting_count, memory_order_relaxed)) {
        simt_tally_settle(k); /* what it has added they may wait for */
        give_back(t);
        lowest = take_waiting(t->run, k);
    }
    return lowest ? lowest : start_block(t, k);
}

/* Returns how many wait. */
static int put_aside(struct thread *t, struct worker *k)
{
    struct run *r = t->run;
    pthread_mutex_lock(r->lock);
    simt_note_changes(k);
    r->ended += k->live != k->live_then;
    k->live_then = k->live;
    if (r->ended != t->ended) t->looks = 0;
    t->ended = r->ended;
    k->waiting = NULL;
    *r->last_waiting = k;
    r->last_waiting = &k->waiting;
    int n = ++r->waiting_count;
    pthread_mutex_unlock(r->lock);
    return n;
}

/* Lets more blocks be resident, when those that are may wait for one that has not started. */
static struct worker *start_beyond_limit(struct thread *t)
{
    struct run *r = t->run;
    pthread_mutex_lock(r->lock);
    bool more = r->worker_limit < r->most_workers && r->worker_count == r->worker_limit;
    if (more) r->worker_limit = r->worker_limit > r->most_workers / 2 ? r->most_workers : 2 * r->worker_limit;
    pthread_mutex_unlock(r->lock);
    t->looks = 0;
    return more ? start_block(t, NULL) : NULL;
}

/* The block of k waits: what is to run now, a block that has not started or the one that waits longest. */
static struct worker *switch_from(struct thread *t, struct worker *k)
{
    give_back(t);
    struct worker *other = start_block(t, NULL);
    t->looks = k->looks && !other ? t->looks + 1 : 0;
    int waiting = put_aside(t, k);
    bool all = waiting <= ++t->vain;
    if (!other && !all) return take_waiting(t->run, NULL);
    t->vain = 0;
    if (!other && t->looks > VAIN_ROUNDS * waiting) other = start_beyond_limit(t);
    if (!other) sched_yield(); /* what they wait for runs on another thread, which may want the core */
    return other ? other : take_waiting(t->run, NULL);
}

/* Generated code may go through blocks of this thread that follow along x, too, when there are no clusters. */
static enum block_outcome run_row(struct thread *t, struct worker *k)
{
    uint64_t mine = t->mine.end - t->mine.next, row = t->run->launch->grid[0] - 1 - k->block[0];
    bool alone = k->own.size == 1 && k->warps[k->warp_count - 1].jit == k->warps[0].jit; /* and one code for all */
    bool follow = alone && !k->observer && t->mine.next == k->turn_index + 1;
    uint32_t most = follow ? (uint32_t)(mine < row ? mine : row) : 0;
    k->row = most;
    enum block_outcome outcome = run_members(k);
    t->mine.next += most - k->row;
    return outcome;
}

/* Takes part in a run until nothing is left to start or to resume. */
static void run_blocks(void *context, size_t begin, size_t end, int index)
{
    struct thread t = {.run = context};
    struct run *r = t.run;
    (void)begin;
    (void)end;
    (void)index;
    for (struct worker *k = start_block(&t, NULL);;) {
        if (!k) k = take_waiting(r, NULL);
        if (!k) return;
        enum block_outcome outcome = run_row(&t, k);
        if (outcome == BLOCK_WAITS && (!faulted(r) || ++k->delays < MAX_DELAYS)) {
            k = switch_from(&t, k); /* NULL when another thread was faster */
            continue;
        }
        if (outcome == BLOCK_WAITS) simt_cluster_abandon(k);
        if (outcome == BLOCK_STOPPED) report(r, &k->fault, k->turn_index);
        t.vain = t.looks = 0;
        simt_note_end(r);
        k = go_on(&t, k);
    }
}

/* ---- launches ---- */
int simt_resident_blocks(const struct simt_function *f, int threads, size_t dynamic_shared)
{
    int warps = (threads + SIMT_WARP - 1) / SIMT_WARP;
    int blocks = 2 * SIMT_MAX_THREADS / (warps * SIMT_WARP);
    int by_registers = rt_warps_by_registers(SIMT_REGISTERS, f->info.registers, SIMT_WARP) / warps;
    size_t shared = f->info.shared_bytes + dynamic_shared;
    if (f->code->registers && blocks > by_registers) blocks = by_registers; /* else they are a guess */
    if (shared > 0 && (size_t)blocks > (SIMT_SHARED_OPTIN + 1024) / shared)
        blocks = (int)((SIMT_SHARED_OPTIN + 1024) / shared);
    return blocks < 1 ? 1 : blocks < SIMT_MAX_BLOCKS ? blocks : SIMT_MAX_BLOCKS;
}

int simt_waiting_blocks(const struct simt_function *f, int threads, size_t dynamic_shared)
{
    size_t warps = ((size_t)threads + SIMT_WARP - 1) / SIMT_WARP, lanes = warps * SIMT_WARP;
    size_t bytes = f->code->shared_end + dynamic_shared + lanes * f->code->stack_bytes +
                   warps * (sizeof(struct warp) + f->code->frame_bytes);
    int blocks = simt_resident_blocks(f, threads, dynamic_shared), most = blocks * SIMT_LARGE_GPU;
    if ((size_t)most > MOST_BYTES / bytes) most = (int)(MOST_BYTES / bytes);
    return most > blocks * rt_thread_count() ? most : blocks * rt_thread_count();
}

static bool refuse(struct simt_fault *fault, const struct function *f, const char *text)
{
    memset(fault, 0, sizeof *fault);
    fault->kind = SIMT_FAULT_NOMEM;
    snprintf(fault->kernel, sizeof fault->kernel, "%s", f->name);
    snprintf(fault->text, sizeof fault->text, "%s", text);
    return false;
}

/* False: it does not divide the grid. */
static bool take_cluster(struct run *r, const struct simt_launch *l)
{
    uint64_t size = 1;
    for (int d = 0; d < 3; d++) {
        r->cluster[d] = l->cluster[d] ? l->cluster[d] : 1;
        if (r->cluster[d] > MAX_CLUSTER || l->grid[d] % r->cluster[d]) return false;
        size *= r->cluster[d];
    }
    return size <= MAX_CLUSTER;
}

/* Do arguments point to host memory that kernels may use, and none to the device's? */
static bool has_host_memory(const struct simt_launch *l)
{
    const struct simt_function_info *f = &l->function->info;
    bool any = false;
    for (size_t k = 0; k < f->param_count; k++) {
        uint64_t value;
        struct simt_block b;
        struct simt_mapped m;
        if (f->params[k].size != sizeof value) continue;
        memcpy(&value, (const char *)l->params + f->params[k].offset, sizeof value);
        if (simt_find(value, &b)) return false;
        any |= value && value < SIMT_GLOBAL_BASE && simt_mapped_find(value, &m);
    }
    return any;
}

/* What a launch asks for that no GPU has, for refuse; NULL: nothing. */
static const char *find_excess(const struct simt_launch *l)
{
    for (int d = 0; d < 3; d++)
        if (!l->grid[d] || !l->block[d] || l->block[d] > MAX_BLOCK_THREADS)
            return "a launch needs at least one block of 1 to 1024 threads";
    if ((uint64_t)l->block[0] * l->block[1] * l->block[2] > MAX_BLOCK_THREADS)
        return "a block has at most 1024 threads";
    if (l->dynamic_shared > 1u << 28) return "a block has not that much shared memory";
    uint64_t plane = (uint64_t)l->grid[0] * l->grid[1];
    if (plane > UINT64_MAX / l->grid[2] || plane * l->grid[2] > SIZE_MAX / 2) return "the grid has too many blocks";
    return NULL;
}

/* How many clusters, of so many blocks, a host thread takes at once, and how many may have begun and not ended. */
static void plan_workers(struct run *r, int members)
{
    const struct simt_launch *l = r->launch;
    int threads = (int)(l->block[0] * l->block[1] * l->block[2]), host_threads = rt_thread_count();
    r->takes = (uint64_t)host_threads * 8;
    r->worker_limit = simt_resident_blocks(l->function, threads, l->dynamic_shared) * host_threads / members;
    if (r->worker_limit < host_threads) r->worker_limit = host_threads;
    r->most_workers = simt_waiting_blocks(l->function, threads, l->dynamic_shared) / members;
    if (r->most_workers < r->worker_limit) r->most_workers = r->worker_limit;
    if (l->cooperative) r->worker_limit = r->most_workers; /* all of its blocks wait for each other */
}

/* What a run holds until release_memory. Else what there is no memory for, for refuse. */
static const char *take_memory(struct run *r)
{
    if (r->program->uses_heap && !simt_heap_ready()) return "out of memory for the heap that the kernel's malloc uses";
    r->returned = rt_calloc((size_t)rt_thread_count(), sizeof *r->returned);
    if (!r->returned) return "out of host memory for a launch";
    if (!r->launch->cooperative) return NULL;
    if (simt_alloc(WORKSPACE, &r->workspace, NULL) != RT_OK)
        return "out of memory for the barrier of a cooperative grid";
    memset(simt_host(r->workspace), 0, WORKSPACE);
    simt_wrote(r->workspace, WORKSPACE);
    return NULL;
}

static void release_memory(struct run *r)
{
    while (r->workers) {
        struct worker *next = r->workers->all;
        worker_free(r->workers);
        r->workers = next;
    }
    if (r->workspace) simt_free(r->workspace);
    free(r->returned);
    free(r->output.text);
}

bool simt_run(const struct simt_launch *l, struct simt_fault *fault)
{
    const struct simt_function *f = l->function;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct run r = {.launch = l, .program = f->program, .entry = f->code, .lock = &lock, .fault_block = UINT64_MAX};
    r.last_waiting = &r.first_waiting;
    memset(fault, 0, sizeof *fault);
    const char *excess = find_excess(l);
    if (!excess && !take_cluster(&r, l)) excess = "the grid cannot be cut into clusters of that size";
    if (!excess) excess = take_memory(&r);
    if (excess) {
        release_memory(&r);
        return refuse(fault, f->code, excess);
    }
    unsigned members = r.cluster[0] * r.cluster[1] * r.cluster[2];
    uint64_t clusters = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] / members;
    r.left.end = clusters;
    plan_workers(&r, (int)members);
    struct simt_observer *o = l->observer;
    if (o && o->launch_start && !o->launch_start(o, l, &r.fault)) clusters = 0;
    /* What a cluster's blocks do to each other is seen where no code is generated. */
    bool closely = o && members > 1 && f->program->maps_shared;
    if (clusters && !closely) r.jit = simt_jit_codes(f->program, f->code, l->block, o);
    r.on_host = (r.jit.full || r.jit.last) && !o && has_host_memory(l);
    size_t host_threads = (size_t)rt_thread_count();
    rt_parallel_for(clusters < host_threads ? clusters : host_threads, 1, run_blocks, &r);
    if (o && o->launch_end) o->launch_end(o, &r.fault);
    simt_output_flush(&r.output);
    release_memory(&r);
    *fault = r.fault;
    return r.fault.kind == SIMT_FAULT_NONE;
}
