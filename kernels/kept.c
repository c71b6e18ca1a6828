/* The table of kernels made from generated text. A kernel is made by whoever needs it first, or in the background for
 * those who can do without for now; nobody makes one that another thread is making. Where the background may make it,
 * who needs it waits for one that is compiled in a hurry only, which serves until then to the same bits. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/called.h"
#include "kernels/generate.h"
#include "runtime/background.h"
#include "runtime/environment.h"

enum state { ABSENT, QUEUED, MAKING, READY };

struct kept {
    struct kept *next;
    struct rt_device *device;
    struct rt_kernel kernel; /* when READY */
    struct rt_kernel serves; /* until then; no module: none */
    bool hurrying;           /* somebody makes that one */
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
static atomic_size_t launched, hurries;
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

size_t kn_hurried_count(void)
{
    return hurries;
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

static struct rt_module *compile(const struct kept *k, const struct kn_text *t, bool hurried, compiler *by,
                                 struct rt_error *e)
{
    /* Contracting a * b + c into one rounding would give other results than the host's. */
    static const char *const options[] = {"--fmad=false"};
    struct rt_source source = {.text = t->data,
                               .length = t->length,
                               .name = "generated.cu",
                               .first_line = 1,
                               .options = options,
                               .option_count = k->contract ? 0 : 1,
                               .hurried = hurried};
    struct rt_program *program = by(k->device, &source, e);
    return program ? rt_module_load(k->device, program, e) : NULL;
}

/* Makes a kernel that this thread has marked as MAKING; leaves the lock meanwhile. */
static enum rt_status make(struct kept *k, const struct kn_text *t, compiler *by, struct rt_error *e)
{
    struct rt_kernel kernel;
    pthread_mutex_unlock(&table_lock);
    /* A compiler in a hurry contracts nothing, so where that is allowed its kernel has other bits. */
    const bool may_hurry = !k->contract && !k->device->compiles_for;
    const bool hurried = may_hurry && rt_variable_word(RT_VAR_COMPILE) == RT_COMPILE_HURRY;
    struct rt_module *module = compile(k, t, hurried, by, e);
    enum rt_status status = module ? rt_module_kernel(module, "kn", &kernel, e) : e->status;
    rt_module_release(module);
    pthread_mutex_lock(&table_lock);
    if (status == RT_OK) k->kernel = kernel;
    kept_count += status == RT_OK;
    k->state = status == RT_OK ? READY : ABSENT;
    pthread_cond_broadcast(&made);
    return status;
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
    int word = rt_variable_word(RT_VAR_COMPILE);
    return word == RT_COMPILE_BACKGROUND || (d->kind == RT_CUDA && word < 0);
}

/* Whether launching waits for no compiler. */
static bool serves(const struct kept *k)
{
    return k->state == READY || k->serves.module;
}

/* Looks for a kernel that nobody makes on the disk, once; leaves the lock meanwhile. */
static void look(struct kept *k, const struct kn_launch *l)
{
    struct kn_text text;
    struct rt_error ignored = {0};
    if (!k || k->state != ABSENT || k->looked) return;
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
    look(k, l);
    bool ready = k && (serves(k) || k->failed);
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

/* False when there is no background. */
static bool queue(struct kept *k, const struct kn_launch *l)
{
    if (k->state != ABSENT || k->has_job) return true;
    if (write_text(l, &k->text, NULL) != RT_OK) return false;
    k->job.run = run_job;
    k->state = QUEUED;
    k->has_job = rt_background(&k->job);
    if (k->has_job) return true;
    k->state = ABSENT;
    kn_text_free(&k->text);
    return false;
}

bool kn_make_ready(struct rt_device *d, const struct kn_launch *l)
{
    pthread_mutex_lock(&table_lock);
    struct kept *k = table_get(d, l);
    bool taken = k && queue(k, l);
    pthread_mutex_unlock(&table_lock);
    return taken;
}

/* In a hurry */

/* Nobody waits for what is made for others. */
static bool can_hurry(const struct kept *k)
{
    return kn_in_background(k->device) && !k->device->compiles_for && !k->failed;
}

/* One source: each in a namespace of its own, its kernel kn0, kn1, ... */
static bool write_together(const struct kn_launch *const *l, int count, struct kn_text *t)
{
    memset(t, 0, sizeof *t);
    for (int i = 0; i < count; i++) {
        struct kn_text own;
        if (write_text(l[i], &own, NULL) != RT_OK) return false;
        const char *name = strstr(own.data, " kn(");
        kn_put(t, "namespace n%d {\n%.*s kn%d%s}\n", i, (int)(name - own.data), own.data, i, name + strlen(" kn"));
        kn_text_free(&own);
    }
    return !t->failed;
}

static bool compile_together(struct kept *const *k, const struct kn_text *t, int count, struct rt_kernel *out)
{
    char name[16];
    struct rt_error ignored = {0};
    struct rt_module *module = compile(k[0], t, true, rt_compile, &ignored);
    bool made_all = module != NULL;
    for (int i = 0; i < count && made_all; i++) {
        snprintf(name, sizeof name, "kn%d", i);
        made_all = rt_module_kernel(module, name, &out[i], &ignored) == RT_OK;
    }
    rt_module_release(module);
    rt_error_clear(&ignored);
    return made_all;
}

/* Makes kernels that serve until the background has made their own; leaves the lock meanwhile. */
static void hurry(struct kept *const *k, const struct kn_launch *const *l, int count)
{
    struct kn_text text;
    struct rt_kernel kernels[KN_MOST_TOGETHER];
    atomic_fetch_add(&hurries, 1);
    for (int i = 0; i < count; i++) k[i]->hurrying = true;
    pthread_mutex_unlock(&table_lock);
    const bool made_all = write_together(l, count, &text) && compile_together(k, &text, count, kernels);
    pthread_mutex_lock(&table_lock);
    for (int i = 0; i < count; i++) {
        k[i]->hurrying = false;
        if (!made_all) continue;
        k[i]->serves = kernels[i];
        queue(k[i], l[i]);
    }
    pthread_cond_broadcast(&made);
    kn_text_free(&text);
}

void kn_hurry_together(struct rt_device *d, const struct kn_launch *const *l, int count)
{
    struct kept *lack[KN_MOST_TOGETHER];
    const struct kn_launch *launches[KN_MOST_TOGETHER];
    int n = 0;
    if (!kn_in_background(d)) return;
    pthread_mutex_lock(&table_lock);
    for (int i = 0; i < count; i++) look(table_get(d, l[i]), l[i]);
    for (int i = 0; i < count; i++) { /* without leaving the lock */
        struct kept *k = table_get(d, l[i]);
        if (!k || serves(k) || k->hurrying || !can_hurry(k)) continue;
        lack[n] = k;
        launches[n++] = l[i];
    }
    if (n > 1) hurry(lack, launches, n);
    pthread_mutex_unlock(&table_lock);
}

/* The kernel, made now if need be. */
static enum rt_status obtain(struct rt_device *d, const struct kn_launch *l, const struct rt_kernel **out,
                             struct rt_error *e)
{
    struct kn_text text;
    struct kept *k = table_get(d, l);
    if (!k) return rt_fail(e, RT_NOMEM, "out of memory for a generated kernel");
    if (k->state != READY && can_hurry(k)) {
        look(k, l);
        while (k->hurrying) pthread_cond_wait(&made, &table_lock);
        if (!serves(k)) hurry(&k, &l, 1);
        *out = &k->serves;
        if (k->state != READY && k->serves.module) return RT_OK;
    }
    *out = &k->kernel;
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
    const struct rt_kernel *kernel = NULL;
    struct rt_error mine = {0};
    if (l->words->count == KN_MAX_WORDS)
        return rt_fail(e, RT_UNSUPPORTED, "an expression over so many axes cannot be evaluated at once");
    pthread_mutex_lock(&table_lock);
    enum rt_status status = obtain(d, l, &kernel, e ? e : &mine);
    pthread_mutex_unlock(&table_lock);
    rt_error_clear(&mine);
    if (status != RT_OK) return status;
    int64_t most = (int64_t)(d->multiprocessors > 0 ? d->multiprocessors : 1) * 32;
    struct rt_launch launch = {.grid = {(unsigned)(l->blocks < most ? l->blocks : most), 1, 1},
                               .block = {KN_THREADS, 1, 1}};
    struct rt_arg arg = {.kind = RT_ARG_BYTES,
                         .as.bytes = {.data = l->words->word, .size = l->words->count * sizeof *l->words->word}};
    atomic_fetch_add(&launched, 1);
    return rt_kernel_launch(kernel, &launch, &arg, 1, e);
}
