/* The table of kernels made from generated text. A kernel is made by whoever needs it first, or in the background for
 * those who can do without for now; nobody makes one that another thread is making. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/called.h"
#include "kernels/generate.h"
#include "runtime/background.h"

enum state { ABSENT, QUEUED, MAKING, READY };

struct kept {
    struct kept *next;
    struct rt_device *device;
    struct rt_kernel kernel; /* when READY */
    enum state state;
    bool looked; /* for it on the disk */
    bool failed; /* to be made in the background: who launches it makes it again and gets the error */
    struct rt_job job;
    bool has_job; /* the background has the job, which has the text */
    struct kn_text text;
    bool contract;
    uint64_t hash;
    size_t bytes;
    char key[];
};

#define BUCKETS 256
static struct kept *table[BUCKETS];
static size_t kept_count;
static atomic_size_t launched;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;

size_t kn_generated_count(void)
{
    pthread_mutex_lock(&table_lock);
    size_t count = kept_count;
    pthread_mutex_unlock(&table_lock);
    return count;
}

size_t kn_launched_count(void)
{
    return launched;
}

static uint64_t hash_bytes(const unsigned char *p, size_t n)
{
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h ^ h >> 29;
}

/* Under the lock, as all that follows and takes a struct kept. NULL: out of memory. */
static struct kept *table_get(struct rt_device *d, const struct kn_launch *l)
{
    uint64_t hash = hash_bytes(l->key, l->key_bytes);
    struct kept **bucket = &table[hash % BUCKETS];
    for (struct kept *k = *bucket; k; k = k->next)
        if (k->hash == hash && k->device == d && k->bytes == l->key_bytes && memcmp(k->key, l->key, k->bytes) == 0)
            return k;
    struct kept *k = rt_calloc(1, sizeof *k + l->key_bytes);
    if (!k) return NULL;
    k->device = d;
    k->hash = hash;
    k->bytes = l->key_bytes;
    k->contract = l->contract;
    memcpy(k->key, l->key, l->key_bytes);
    k->next = *bucket;
    return *bucket = k;
}

static enum rt_status write_text(const struct kn_launch *l, struct kn_text *t, struct rt_error *e)
{
    struct kn_text body = {0};
    memset(t, 0, sizeof *t);
    l->write(l->context, &body);
    if (!body.failed) kn_put_with_called(t, body.data);
    const bool failed = body.failed || t->failed;
    kn_text_free(&body);
    if (!failed) return RT_OK;
    kn_text_free(t);
    return rt_fail(e, RT_NOMEM, "out of memory for the text of a generated kernel");
}

typedef struct rt_program *compiler(struct rt_device *d, const struct rt_source *source, struct rt_error *e);

static enum rt_status compile(struct rt_device *d, const struct kn_text *t, bool contract, compiler *by,
                              struct rt_kernel *out, struct rt_error *e)
{
    /* Contracting a * b + c into one rounding would give other results than the host's. */
    static const char *const options[] = {"--fmad=false"};
    struct rt_source source = {.text = t->data,
                               .length = t->length,
                               .name = "generated.cu",
                               .first_line = 1,
                               .options = options,
                               .option_count = contract ? 0 : 1};
    struct rt_program *program = by(d, &source, e);
    if (!program) return e->status;
    struct rt_module *module = rt_module_load(d, program, e);
    if (!module) return e->status;
    enum rt_status status = rt_module_kernel(module, "kn", out, e);
    rt_module_release(module);
    return status;
}

/* Makes a kernel that this thread has marked as MAKING; leaves the lock meanwhile. */
static enum rt_status make(struct kept *k, const struct kn_text *t, compiler *by, struct rt_error *e)
{
    struct rt_kernel kernel;
    pthread_mutex_unlock(&table_lock);
    enum rt_status status = compile(k->device, t, k->contract, by, &kernel, e);
    pthread_mutex_lock(&table_lock);
    if (status == RT_OK) k->kernel = kernel;
    kept_count += status == RT_OK;
    k->state = status == RT_OK ? READY : ABSENT;
    pthread_cond_broadcast(&made);
    return status;
}

/* The kernel, made now if need be. */
static enum rt_status obtain(struct rt_device *d, const struct kn_launch *l, struct kept **out, struct rt_error *e)
{
    struct kn_text text;
    struct kept *k = *out = table_get(d, l);
    if (!k) return rt_fail(e, RT_NOMEM, "out of memory for a generated kernel");
    while (k->state == MAKING) pthread_cond_wait(&made, &table_lock);
    if (k->state == READY) return RT_OK;
    enum rt_status status = write_text(l, &text, e);
    if (status != RT_OK) return status;
    k->state = MAKING;
    status = make(k, &text, rt_compile, e);
    kn_text_free(&text);
    return status;
}

enum rt_status kn_launch(struct rt_device *d, const struct kn_launch *l, struct rt_error *e)
{
    struct kept *k;
    struct rt_error mine = {0};
    if (l->words->count == KN_MAX_WORDS)
        return rt_fail(e, RT_UNSUPPORTED, "an expression over so many axes cannot be evaluated at once");
    pthread_mutex_lock(&table_lock);
    enum rt_status status = obtain(d, l, &k, e ? e : &mine);
    pthread_mutex_unlock(&table_lock);
    rt_error_clear(&mine);
    if (status != RT_OK) return status;
    int64_t most = (int64_t)(d->multiprocessors > 0 ? d->multiprocessors : 1) * 32;
    struct rt_launch launch = {.grid = {(unsigned)(l->blocks < most ? l->blocks : most), 1, 1},
                               .block = {KN_THREADS, 1, 1}};
    struct rt_arg arg = {.kind = RT_ARG_BYTES,
                         .as.bytes = {.data = l->words->word, .size = l->words->count * sizeof *l->words->word}};
    atomic_fetch_add(&launched, 1);
    return rt_kernel_launch(&k->kernel, &launch, &arg, 1, e);
}

/* In the background */

static _Atomic int forced_background = -1; /* -1: ask the environment */

void kn_force_background(int on)
{
    forced_background = on;
}

bool kn_in_background(const struct rt_device *d)
{
    if (d->recording) return false; /* what is slower is not what is to be repeated */
    if (forced_background >= 0) return forced_background;
    const char *v = getenv("LUNARRAY_COMPILE");
    if (v && strcmp(v, "background") == 0) return true;
    return d->kind == RT_CUDA && !(v && strcmp(v, "wait") == 0);
}

/* Looks on the disk, once. */
static void look(struct kept *k, const struct kn_launch *l)
{
    struct kn_text text;
    struct rt_error ignored = {0};
    k->looked = true;
    if (write_text(l, &text, NULL) != RT_OK) return;
    k->state = MAKING;
    make(k, &text, rt_compile_cached, &ignored);
    kn_text_free(&text);
    rt_error_clear(&ignored);
}

bool kn_is_ready(struct rt_device *d, const struct kn_launch *l)
{
    pthread_mutex_lock(&table_lock);
    struct kept *k = table_get(d, l);
    if (k && k->state == ABSENT && !k->looked) look(k, l);
    bool ready = k && (k->state == READY || k->failed);
    pthread_mutex_unlock(&table_lock);
    return ready;
}

static void run_job(struct rt_job *job)
{
    struct kept *k = (struct kept *)((char *)job - offsetof(struct kept, job));
    struct rt_error ignored = {0};
    pthread_mutex_lock(&table_lock);
    if (k->state == QUEUED) { /* and nobody could not wait */
        k->state = MAKING;
        k->failed = make(k, &k->text, rt_compile, &ignored) != RT_OK;
    }
    kn_text_free(&k->text);
    k->has_job = false;
    pthread_mutex_unlock(&table_lock);
    rt_error_clear(&ignored);
}

bool kn_make_ready(struct rt_device *d, const struct kn_launch *l)
{
    pthread_mutex_lock(&table_lock);
    struct kept *k = table_get(d, l);
    bool taken = k && (k->state != ABSENT || k->has_job);
    if (k && !taken && write_text(l, &k->text, NULL) == RT_OK) {
        k->job.run = run_job;
        k->state = QUEUED;
        k->has_job = taken = rt_background(&k->job);
        if (!taken) {
            k->state = ABSENT;
            kn_text_free(&k->text);
        }
    }
    pthread_mutex_unlock(&table_lock);
    return taken;
}
