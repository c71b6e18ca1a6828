/* NVRTC: which one there is, what it can compile for, and one compilation, which may crash without us. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "runtime/background.h"
#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/guard.h"
#include "runtime/interrupt.h"
#include "runtime/kernel.h"
#include "runtime/lend.h"
#include "runtime/memory.h"
#include "runtime/nvrtc.h"
#include "runtime/prelude.h"
#include "runtime/spelling.h"

#define ENTRIES(X)                                                                                                     \
    X(Version)                                                                                                         \
    X(GetErrorString)                                                                                                  \
    X(CreateProgram)                                                                                                   \
    X(DestroyProgram)                                                                                                  \
    X(AddNameExpression)                                                                                               \
    X(CompileProgram)                                                                                                  \
    X(GetLoweredName)                                                                                                  \
    X(GetProgramLogSize)                                                                                               \
    X(GetProgramLog)                                                                                                   \
    X(GetPTXSize)                                                                                                      \
    X(GetPTX)                                                                                                          \
    X(GetCUBINSize)                                                                                                    \
    X(GetCUBIN)                                                                                                        \
    X(GetNumSupportedArchs)                                                                                            \
    X(GetSupportedArchs)

static struct {
#define X(name) __typeof__(nvrtc##name) *name;
    ENTRIES(X)
#undef X
} nvrtc;
static __typeof__(nvrtcSetFlowCallback) *set_flow_callback; /* NULL before NVRTC 12.8 */
static bool opened;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* NVRTC opens the library of its built-in functions by name alone, which finds it only on the loader's path. The one
 * that lies beside it, as in Python's wheels, is found when it is open already. */
static void open_builtins(const struct rt_library *l)
{
    char path[PATH_MAX], builtins[PATH_MAX + 64];
    int major, minor;
    if (!l->path || !realpath(l->path, path) || nvrtc.Version(&major, &minor) != NVRTC_SUCCESS) return;
    *(strrchr(path, '/') + 1) = '\0';
    snprintf(builtins, sizeof builtins, "%slibnvrtc-builtins.so.%d.%d", path, major, minor);
    dlopen(builtins, RTLD_NOW | RTLD_LOCAL); /* where it is elsewhere NVRTC finds it, or says so */
}

/* When the first kernel is compiled, not before: NVRTC 13 takes 10 ms to open and to start where its file is in memory,
 * and 120 ms where all of its 104 MB come from a disk, which no order of reading makes much less; an open one holds
 * 30 MB, which sessions without kernels, or with those of the disk cache alone, need not pay.
 *
 * Of a compilation 8 ms are the front end, the rest is the optimiser: 1 to 5 ms a kernel. No option that leaves the
 * code as it is makes either shorter but --minimal (below): --split-compile takes a tenth from eleven kernels and adds
 * to one, precompiled headers add to the first; an older architecture is no faster, and 12.0 takes 1.6 times as long.
 * --Ofast-compile, by which code is slower, leaves 20 of 34 ms of a deviation's kernel with mid and 16 with max; but
 * what max makes calls all functions and keeps variables in memory, and took hundreds of times as long for a matrix
 * product.
 */
static enum rt_status open_entries(struct rt_error *e)
{
    const struct rt_library *l = rt_library_open(RT_LIB_NVRTC, e);
    if (!l) return RT_MISSING;
#define X(name)                                                                                                        \
    nvrtc.name = (__typeof__(nvrtc.name))rt_library_symbol(l, "nvrtc" #name, e);                                       \
    if (!nvrtc.name) return RT_MISSING;
    ENTRIES(X)
#undef X
    set_flow_callback = (__typeof__(set_flow_callback))rt_library_symbol(l, "nvrtcSetFlowCallback", NULL);
    open_builtins(l);
    opened = true;
    return RT_OK;
}

static enum rt_status open_nvrtc(struct rt_error *e)
{
    pthread_mutex_lock(&lock);
    enum rt_status status = opened ? RT_OK : open_entries(e);
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- version and architectures ---- */

/* The library is known by its file: the same path, size and time mean the same version. */
static bool identity_key(struct rt_cache_key *key)
{
    const struct rt_library *l = rt_library_find(RT_LIB_NVRTC);
    struct stat s;
    char path[PATH_MAX];
    if (!l || !l->path || !realpath(l->path, path) || stat(path, &s) != 0) return false;
    struct rt_cache_hash h;
    rt_cache_hash_start(&h);
    rt_cache_hash_add(&h, "nvrtc 1", 7);
    rt_cache_hash_add(&h, path, strlen(path));
    rt_cache_hash_add(&h, &s.st_size, sizeof s.st_size);
    rt_cache_hash_add(&h, &s.st_mtim, sizeof s.st_mtim);
    rt_cache_hash_end(&h, key);
    return true;
}

static enum rt_status ask_library(struct rt_nvrtc_info *out, struct rt_error *e)
{
    enum rt_status status = open_nvrtc(e);
    if (status != RT_OK) return status;
    int count = 0;
    memset(out, 0, sizeof *out);
    if (nvrtc.Version(&out->major, &out->minor) != NVRTC_SUCCESS ||
        nvrtc.GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count < 1 || count > 63 ||
        nvrtc.GetSupportedArchs(out->architectures) != NVRTC_SUCCESS)
        return rt_fail(e, RT_DEVICE, "NVRTC does not tell its version and architectures");
    return RT_OK;
}

static bool recall_info(const struct rt_cache_key *key, struct rt_nvrtc_info *out)
{
    struct rt_cache_entry entry;
    if (!rt_cache_load(key, &entry)) return false;
    const bool fits = entry.count == 1 && entry.fields[0].length == sizeof *out;
    if (fits) memcpy(out, entry.fields[0].data, sizeof *out);
    free(entry.memory);
    return fits;
}

enum rt_status rt_nvrtc_info(struct rt_nvrtc_info *out, struct rt_error *e)
{
    static struct rt_nvrtc_info known;
    struct rt_cache_key key;
    pthread_mutex_lock(&lock);
    *out = known;
    pthread_mutex_unlock(&lock);
    if (out->major) return RT_OK;
    const bool has_key = identity_key(&key), recalled = has_key && recall_info(&key, out);
    enum rt_status status = recalled ? RT_OK : ask_library(out, e);
    if (status == RT_OK && has_key && !recalled)
        rt_cache_store(&key, &(struct rt_cache_entry){.fields = {{(const char *)out, sizeof *out}}, .count = 1});
    pthread_mutex_lock(&lock);
    if (status == RT_OK) known = *out;
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- one compilation ---- */

void rt_nvrtc_result_clear(struct rt_nvrtc_result *r)
{
    for (size_t i = 0; i < r->lowered_count; i++) free(r->lowered[i]);
    free(r->lowered);
    free(r->ptx);
    free(r->cubin);
    free(r->log);
    *r = (struct rt_nvrtc_result){0};
}

static enum rt_status refused(nvrtcResult result, const char *what, struct rt_error *e)
{
    return rt_fail(e, result == NVRTC_ERROR_OUT_OF_MEMORY ? RT_NOMEM : RT_COMPILE, "%s: %s", what,
                   nvrtc.GetErrorString(result));
}

static int list_headers(const char **names, const char **texts)
{
    int count = 0;
    for (const struct rt_header *h = rt_headers; h->name; h++, count++) {
        names[count] = h->name;
        texts[count] = h->text;
    }
    return count;
}

static enum rt_status create(const struct rt_nvrtc_job *job, nvrtcProgram *program, struct rt_error *e)
{
    const char *names[RT_MOST_HEADERS], *texts[RT_MOST_HEADERS];
    int count = list_headers(names, texts);
    nvrtcResult result = nvrtc.CreateProgram(program, job->source, RT_SOURCE_NAME, count, texts, names);
    for (size_t i = 0; result == NVRTC_SUCCESS && i < job->expression_count; i++) {
        result = nvrtc.AddNameExpression(*program, job->expressions[i]);
        if (result == NVRTC_SUCCESS) continue;
        nvrtc.DestroyProgram(program);
        return refused(result, job->expressions[i], e);
    }
    return result == NVRTC_SUCCESS ? RT_OK : refused(result, "NVRTC", e);
}

static enum rt_status take_log(nvrtcProgram program, struct rt_nvrtc_result *out, struct rt_error *e)
{
    size_t size = 0;
    if (nvrtc.GetProgramLogSize(program, &size) != NVRTC_SUCCESS) size = 0;
    out->log = rt_calloc(size + 1, 1);
    if (!out->log) return rt_fail(e, RT_NOMEM, "out of memory");
    if (size) nvrtc.GetProgramLog(program, out->log);
    return RT_OK;
}

static enum rt_status take_ptx(nvrtcProgram program, struct rt_nvrtc_result *out, struct rt_error *e)
{
    size_t size;
    nvrtcResult result = nvrtc.GetPTXSize(program, &size);
    if (result != NVRTC_SUCCESS) return refused(result, "NVRTC", e);
    out->ptx = rt_calloc(size + 1, 1);
    if (!out->ptx) return rt_fail(e, RT_NOMEM, "out of memory");
    result = nvrtc.GetPTX(program, out->ptx);
    return result == NVRTC_SUCCESS ? RT_OK : refused(result, "NVRTC", e);
}

static enum rt_status take_cubin(nvrtcProgram program, struct rt_nvrtc_result *out, struct rt_error *e)
{
    nvrtcResult result = nvrtc.GetCUBINSize(program, &out->cubin_size);
    if (result != NVRTC_SUCCESS) return refused(result, "NVRTC", e);
    out->cubin = rt_calloc(out->cubin_size + 1, 1);
    if (!out->cubin) return rt_fail(e, RT_NOMEM, "out of memory");
    result = nvrtc.GetCUBIN(program, out->cubin);
    return result == NVRTC_SUCCESS ? RT_OK : refused(result, "NVRTC", e);
}

static enum rt_status take_lowered(nvrtcProgram program, const struct rt_nvrtc_job *job, struct rt_nvrtc_result *out,
                                   struct rt_error *e)
{
    if (!job->expression_count) return RT_OK;
    out->lowered = rt_calloc(job->expression_count, sizeof *out->lowered);
    if (!out->lowered) return rt_fail(e, RT_NOMEM, "out of memory");
    for (size_t i = 0; i < job->expression_count; i++) {
        const char *name = NULL;
        nvrtcResult result = nvrtc.GetLoweredName(program, job->expressions[i], &name);
        if (result != NVRTC_SUCCESS || !name) return refused(result, job->expressions[i], e);
        out->lowered[i] = rt_strdup(name);
        if (!out->lowered[i]) return rt_fail(e, RT_NOMEM, "out of memory");
        out->lowered_count++;
    }
    return RT_OK;
}

/* ---- Ctrl-C while NVRTC compiles ---- */

/* NVRTC's front end catches SIGINT and SIGTERM by signal() while it compiles a process's first source, which takes
 * seconds where headers are large, and ends the process by them. A library finds the program's functions before those
 * of libc: this one, which leaves all as it is while this thread compiles. */
static _Thread_local bool compiling;

typedef void signal_handler(int number);

static signal_handler *own_signal(int number, signal_handler *handler)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, former;
    if (compiling) return SIG_IGN;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, number);
    return sigaction(number, &action, &former) == 0 ? former.sa_handler : SIG_ERR;
}

extern __attribute__((visibility("default"), alias("own_signal"))) signal_handler *signal(int number,
                                                                                          signal_handler *handler);

/* In a Lua that is not ours the thread holds the signals instead: they come when the front end is done. */
static void hold_interrupts(sigset_t *before)
{
    sigset_t caught;
    sigemptyset(&caught);
    if ((uintptr_t)dlsym(RTLD_DEFAULT, "signal") != (uintptr_t)own_signal) {
        sigaddset(&caught, SIGINT);
        sigaddset(&caught, SIGTERM);
    }
    pthread_sigmask(SIG_BLOCK, &caught, before);
}

struct compiling {
    nvrtcProgram program;
    int count;
    const char *const *options;
    nvrtcResult result;
    bool waited_for; /* by the session, that an interrupt is for */
    atomic_bool stopped;
};

/* Whether to stop, which NVRTC asks for on threads of its own, too. Once it is told to, it is told so to its end. */
static int wants_end(void *context, void *unused)
{
    struct compiling *c = context;
    (void)unused;
    if (c->waited_for && rt_interrupted()) atomic_store(&c->stopped, true);
    return atomic_load(&c->stopped);
}

static void compile_program(void *context)
{
    struct compiling *c = context;
    if (set_flow_callback) set_flow_callback(c->program, wants_end, c);
    c->result = nvrtc.CompileProgram(c->program, c->count, c->options);
}

/* The signal by which NVRTC crashed, or 0. */
static int compile_guarded(struct compiling *c)
{
    sigset_t before;
    hold_interrupts(&before);
    compiling = true;
    int fault = rt_guarded(compile_program, c);
    compiling = false;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fault;
}

/* What a compilation gave: its log, and when it went well all that is wanted of the program. */
static enum rt_status take_result(nvrtcProgram program, const struct rt_nvrtc_job *job, nvrtcResult result,
                                  struct rt_nvrtc_result *out, struct rt_error *e)
{
    if (result == NVRTC_ERROR_CANCELLED) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    enum rt_status status = take_log(program, out, e);
    if (status != RT_OK) return status;
    out->compiled = result == NVRTC_SUCCESS;
    if (!out->compiled) return out->log && *out->log ? RT_OK : refused(result, "NVRTC", e);
    status = take_ptx(program, out, e);
    if (status == RT_OK && job->want_cubin) status = take_cubin(program, out, e);
    return status == RT_OK ? take_lowered(program, job, out, e) : status;
}

static enum rt_status compile_with(const struct rt_nvrtc_job *job, const char *const *options, size_t count,
                                   struct rt_nvrtc_result *out, struct rt_error *e)
{
    nvrtcProgram program = NULL;
    *out = (struct rt_nvrtc_result){0};
    enum rt_status status = create(job, &program, e);
    if (status != RT_OK) return status;
    double start = rt_now_ms();
    rt_lend();
    struct compiling c = {program, (int)count, options, NVRTC_ERROR_INTERNAL_ERROR, !rt_in_background(), false};
    out->fault = compile_guarded(&c);
    rt_lend_end();
    if (out->fault) return RT_COMPILE;
    out->milliseconds = rt_now_ms() - start;
    status = take_result(program, job, c.result, out, e);
    nvrtc.DestroyProgram(&program);
    if (status != RT_OK) rt_nvrtc_result_clear(out);
    return status;
}

/* Behind the comment that begins at s; s itself where none does. */
static const char *after_comment(const char *s)
{
    if (strncmp(s, "//", 2) == 0) return s + strcspn(s, "\n");
    if (strncmp(s, "/*", 2) != 0) return s;
    const char *end = strstr(s + 2, "*/");
    return end ? end + 2 : s + strlen(s);
}

/* Whether the source, its comments aside, names textures, surfaces or the CUDA runtime, launches kernels or includes.
 */
static bool names_more(const char *source)
{
    static const char *const signs[] = {"#include", "<<<"}, *const words[] = {"cuda", "CUDA", "tex", "surf"};
    for (const char *s = source; *s;) {
        const char *behind = after_comment(s);
        if (behind != s) {
            s = behind;
            continue;
        }
        for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
            if (strncmp(s, signs[i], strlen(signs[i])) == 0) return true;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(s, words[i], strlen(words[i])) == 0) return true;
        do s++;
        while (rt_in_name(s[-1]) && rt_in_name(*s));
    }
    return false;
}

/* Whether NVRTC has its option --minimal, which takes a third of the time from a short source by leaving out textures,
 * surfaces and the CUDA runtime's declarations, and the source names none of those. */
static bool can_be_minimal(const struct rt_nvrtc_job *job)
{
    struct rt_nvrtc_info info;
    if (rt_nvrtc_info(&info, NULL) != RT_OK || info.major * 10 + info.minor < 128) return false;
    return !names_more(job->source);
}

/* What does not compile so is compiled again as usual: it may have come by something else that is left out, and the log
 * is to be the usual one. */
static bool compile_minimal(const struct rt_nvrtc_job *job, struct rt_nvrtc_result *out)
{
    const char **options = rt_calloc(job->option_count + 1, sizeof *options);
    if (!options) return false;
    for (size_t i = 0; i < job->option_count; i++) options[i] = job->options[i];
    options[job->option_count] = "--minimal";
    struct rt_nvrtc_result r;
    const bool compiled = compile_with(job, options, job->option_count + 1, &r, NULL) == RT_OK && r.compiled;
    free(options);
    if (compiled) {
        *out = r;
    } else {
        out->fault = r.fault;
        rt_nvrtc_result_clear(&r);
    }
    return compiled;
}

/* What it holds of the program is lost. That others can be compiled afterwards is what NVRTC 13.0 was seen to do. */
static enum rt_status crashed(int fault, struct rt_error *e)
{
    int major = 0, minor = 0;
    nvrtc.Version(&major, &minor);
    return rt_fail(
        e, RT_COMPILE,
        "NVIDIA's compiler, NVRTC %d.%d, crashed on this source (%s), which is a fault of its own; written a "
        "little otherwise, the source may compile, or with another version, which LUNARRAY_NVRTC may name",
        major, minor, strsignal(fault));
}

enum rt_status rt_nvrtc_compile(const struct rt_nvrtc_job *job, struct rt_nvrtc_result *out, struct rt_error *e)
{
    *out = (struct rt_nvrtc_result){0};
    enum rt_status status = open_nvrtc(e);
    if (status != RT_OK) return status;
    if (can_be_minimal(job) && compile_minimal(job, out)) return RT_OK;
    if (!out->fault) status = compile_with(job, job->options, job->option_count, out, e);
    return out->fault ? crashed(out->fault, e) : status;
}
