/* A program in CUDA C made ready to launch: for which GPU, by which options, from the cache or by NVRTC, and loaded.
 * */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/kernel.h"
#include "runtime/library.h"
#include "runtime/memory.h"
#include "runtime/nvrtc.h"
#include "runtime/prelude.h"
#include "runtime/signature.h"

#define MAX_OPTIONS      256
#define MAX_INCLUDE_SIZE ((size_t)16 << 20)
#define MAX_INCLUDES     256

static enum rt_status no_memory(struct rt_error *e)
{
    return rt_fail(e, RT_NOMEM, "out of memory while compiling");
}

/* ---- target and options ---- */

static bool names_one(const struct rt_program *p, const char *const *words)
{
    for (; *words; words++)
        if (strstr(p->text, *words)) return true;
    return false;
}

/* What GPUs have in one generation only, as PTX for the architecture's "a" variant, which no later one takes. */
static bool names_specific(const struct rt_program *p)
{
    static const char *const words[] = {
        "wgmma.",     "setmaxnreg.",        "tensormap.replace",         "tcgen05",
        "tensormap_", "tensormap::generic", "__CUDA_ARCH_FEAT_SM90_ALL", "__CUDA_ARCH_FEAT_SM100_ALL",
        NULL};
    return names_one(p, words);
}

/* What came with 10.0. */
static bool names_tensor_memory(const struct rt_program *p)
{
    static const char *const words[] = {"tcgen05", "__CUDA_ARCH_FEAT_SM100_ALL", NULL};
    return names_one(p, words);
}

/* What only code for 9.0 and later may name. */
static bool names_newer(const struct rt_program *p)
{
    static const char *const words[] = {
        "__cluster",     "cluster_group", "this_cluster",      "__block_size__",    "CUtensorMap",
        "cp_async_bulk", "cp.async.bulk", "barrier_arrive_tx", "barrier_expect_tx", NULL};
    return names_one(p, words) || names_specific(p);
}

/* simt runs what is compiled for 8.0, and for 9.0 or 10.0 where the source asks for what came with them; a GPU gets its
 * own architecture or the newest that NVRTC knows below it. */
static enum rt_status choose_target(const struct rt_device *d, const struct rt_program *p,
                                    const struct rt_nvrtc_info *info, int *out, struct rt_error *e)
{
    int needs = names_tensor_memory(p) ? 100 : names_newer(p) ? 90 : 80;
    int simt = d->compiles_for ? d->compiles_for : needs;
    int wanted = d->kind == RT_SIMT ? simt : d->compute_major * 10 + d->compute_minor, best = 0;
    for (const int *a = info->architectures; *a; a++) {
        if (*a <= wanted && *a > best) best = *a;
    }
    *out = best;
    if (best) return RT_OK;
    return rt_fail(
        e, RT_UNSUPPORTED,
        "NVRTC %d.%d compiles for compute capability %d.%d and later, but %s (%s) has %d.%d; install an older "
        "NVRTC and set LUNARRAY_NVRTC to it",
        info->major, info->minor, info->architectures[0] / 10, info->architectures[0] % 10, d->name, d->model,
        wanted / 10, wanted % 10);
}

struct options {
    const char *list[MAX_OPTIONS + 1];
    size_t count;
    char target[64], include[4096], cccl[4096];
};

static bool has_option(const struct rt_program *p, const char *a, const char *b)
{
    for (size_t i = 0; i < p->option_count; i++) {
        if (strncmp(p->options[i], a, strlen(a)) == 0 || strncmp(p->options[i], b, strlen(b)) == 0) return true;
    }
    return false;
}

/* CUDA's headers, and since CUDA 13 the C++ library that some of them stand on, in a folder of its own. */
static void add_include_paths(struct options *o)
{
    const char *cuda = rt_cuda_include();
    if (!cuda || (size_t)snprintf(o->include, sizeof o->include, "-I%s", cuda) >= sizeof o->include) return;
    o->list[o->count++] = o->include;
    if ((size_t)snprintf(o->cccl, sizeof o->cccl, "-I%s/cccl", cuda) < sizeof o->cccl && access(o->cccl + 2, X_OK) == 0)
        o->list[o->count++] = o->cccl;
}

/* Ours come first, so that what the user gives is looked at later. */
static enum rt_status make_options(const struct rt_program *p, const struct rt_nvrtc_info *info,
                                   const char *architecture, struct options *o, struct rt_error *e)
{
    o->count = 0;
    snprintf(o->target, sizeof o->target, "--gpu-architecture=%s", architecture);
    o->list[o->count++] = o->target;
    o->list[o->count++] = "-lineinfo";
    o->list[o->count++] = "-default-device";
    o->list[o->count++] = "-diag-suppress=47"; /* the limits of <cuda/std/climits>, which the prelude has, too */
    o->list[o->count++] = "--pre-include=" RT_PRELUDE_NAME;
    if (p->names_std) o->list[o->count++] = "--pre-include=" RT_PRELUDE_STD_NAME;
    o->list[o->count++] = "-I.";
    if (!has_option(p, "--std", "-std")) o->list[o->count++] = "--std=c++17";
    if (p->hurried && info->major * 10 + info->minor >= 129) o->list[o->count++] = "--Ofast-compile=mid";
    add_include_paths(o);
    if (p->option_count > MAX_OPTIONS - o->count) return rt_fail(e, RT_INVALID, "more than %d options", MAX_OPTIONS);
    for (size_t i = 0; i < p->option_count; i++) {
        if (strstr(p->options[i], "gpu-architecture") || strncmp(p->options[i], "-arch", 5) == 0)
            return rt_fail(e, RT_INVALID,
                           "the option '%s' is not for users: kernels are compiled for the device that runs them",
                           p->options[i]);
        o->list[o->count++] = p->options[i];
    }
    return RT_OK;
}

/* ---- the key: everything that the result depends on ---- */

struct includes { /* the files that a source names and their files in turn */
    struct rt_cache_hash *hash;
    const struct rt_program *program;
    int count, depth;
    bool name_std;
};

static char *read_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "re");
    if (!f) return NULL;
    char *text = NULL;
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size >= 0 && (size_t)size <= MAX_INCLUDE_SIZE && fseek(f, 0, SEEK_SET) == 0) text = rt_alloc((size_t)size + 1);
    if (text) {
        *length = fread(text, 1, (size_t)size, f);
        text[*length] = 0;
    }
    fclose(f);
    return text;
}

static void hash_includes(struct includes *in, const char *text, const char *path);

static bool hash_file(struct includes *in, const char *folder, size_t folder_length, const char *name, size_t length)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%.*s/%.*s", (int)folder_length, folder, (int)length, name);
    if (n < 0 || (size_t)n >= sizeof path) return false;
    size_t size = 0;
    const char *whole = *name == '/' ? path + folder_length + 1 : path;
    char *text = read_file(whole, &size);
    if (!text) return false;
    in->count++;
    rt_cache_hash_add(in->hash, path, (size_t)n);
    rt_cache_hash_add(in->hash, text, size);
    in->depth++;
    if (in->depth < 16) hash_includes(in, text, whole);
    in->depth--;
    free(text);
    return true;
}

/* Looked for where NVRTC looks: the folder of the file at `path` that names it, the working directory, then the folders
 * that the user's options name. What is found in the toolkit belongs to its version. */
static void hash_include(struct includes *in, const char *path, const char *name, size_t length)
{
    const struct rt_program *p = in->program;
    const char *slash = strrchr(path, '/');
    if (in->count >= MAX_INCLUDES) return;
    if (slash && hash_file(in, path, (size_t)(slash - path), name, length)) return;
    if (hash_file(in, ".", 1, name, length)) return;
    for (size_t i = 0; i < p->option_count; i++) {
        const char *o = p->options[i];
        const char *folder = strncmp(o, "-I", 2) == 0 ? o + 2 : strncmp(o, "--include-path=", 15) == 0 ? o + 15 : NULL;
        if (folder && hash_file(in, folder, strlen(folder), name, length)) return;
    }
}

/* Those of a text, which is that of the file at `path`, "" for the source itself. */
static void hash_includes(struct includes *in, const char *text, const char *path)
{
    in->name_std |= rt_names_std(text);
    for (const char *s = text; (s = strstr(s, "include")); s += 7) {
        const char *before = s;
        while (before > text && (before[-1] == ' ' || before[-1] == '\t')) before--;
        if (before == text || before[-1] != '#') continue;
        const char *name = s + 7 + strspn(s + 7, " \t");
        if (*name != '"' && *name != '<') continue;
        size_t length = strcspn(name + 1, *name == '"' ? "\"\n" : ">\n");
        if (length && length < 1024 && name[1 + length] != '\n') hash_include(in, path, name + 1, length);
    }
}

/* Begins a key by the source and what it includes, in which std may be named. */
static void hash_source(struct rt_program *p, struct rt_cache_hash *h)
{
    struct includes in = {.hash = h, .program = p};
    rt_cache_hash_start(h);
    rt_cache_hash_add(h, "ptx 2", 5);
    rt_cache_hash_add(h, p->text, strlen(p->text));
    hash_includes(&in, p->text, "");
    p->names_std = in.name_std;
}

static void hash_rest(const struct rt_program *p, const struct options *o, const struct rt_nvrtc_info *info,
                      struct rt_cache_hash *h)
{
    rt_cache_hash_add(h, info, sizeof *info);
    for (const struct rt_header *s = rt_headers; s->name; s++) {
        rt_cache_hash_add(h, s->name, strlen(s->name));
        rt_cache_hash_add(h, s->text, strlen(s->text));
    }
    for (size_t i = 0; i < o->count; i++) rt_cache_hash_add(h, o->list[i], strlen(o->list[i]));
    for (size_t i = 0; i < p->instantiation_count; i++) {
        rt_cache_hash_add(h, "<>", 2);
        rt_cache_hash_add(h, p->instantiations[i], strlen(p->instantiations[i]));
    }
}

/* ---- the result, from the cache or from NVRTC ---- */

/* Fields of an entry: PTX, log, compile_ms, then the mangled name of each instantiation. */
static bool from_cache(const struct rt_cache_key *key, size_t expressions, struct rt_nvrtc_result *out)
{
    struct rt_cache_entry entry;
    if (!rt_cache_load(key, &entry)) return false;
    bool ok = entry.count == 3 + expressions && entry.fields[2].length == sizeof out->milliseconds;
    if (ok) {
        memcpy(&out->milliseconds, entry.fields[2].data, sizeof out->milliseconds);
        out->ptx = rt_strdup(entry.fields[0].data);
        out->log = rt_strdup(entry.fields[1].data);
        out->lowered = rt_calloc(expressions + 1, sizeof *out->lowered);
        ok = out->ptx && out->log && out->lowered;
        for (size_t i = 0; ok && i < expressions; i++) {
            ok = (out->lowered[i] = rt_strdup(entry.fields[3 + i].data)) != NULL;
            if (ok) out->lowered_count++;
        }
    }
    free(entry.memory);
    if (!ok) rt_nvrtc_result_clear(out);
    return ok;
}

static void to_cache(const struct rt_cache_key *key, const struct rt_nvrtc_result *r)
{
    struct rt_cache_entry entry = {.count = 3 + r->lowered_count};
    if (entry.count > RT_CACHE_FIELDS) return;
    entry.fields[0] = (struct rt_cache_field){r->ptx, strlen(r->ptx)};
    entry.fields[1] = (struct rt_cache_field){r->log, strlen(r->log)};
    entry.fields[2] = (struct rt_cache_field){(const char *)&r->milliseconds, sizeof r->milliseconds};
    for (size_t i = 0; i < r->lowered_count; i++)
        entry.fields[3 + i] = (struct rt_cache_field){r->lowered[i], strlen(r->lowered[i])};
    rt_cache_store(key, &entry);
}

/* Machine code lies under the PTX that a driver would make it of. */
static void cubin_key(const char *ptx, int capability, struct rt_cache_key *key)
{
    struct rt_cache_hash h;
    rt_cache_hash_start(&h);
    rt_cache_hash_add(&h, "cubin 1", 7);
    rt_cache_hash_add(&h, ptx, strlen(ptx));
    rt_cache_hash_add(&h, &capability, sizeof capability);
    rt_cache_hash_end(&h, key);
}

static void cubin_to_cache(int capability, const struct rt_nvrtc_result *r)
{
    struct rt_cache_key key;
    struct rt_cache_entry entry = {.fields = {{r->cubin, r->cubin_size}}, .count = 1};
    cubin_key(r->ptx, capability, &key);
    rt_cache_store(&key, &entry);
}

static enum rt_status compilation_failed(const struct rt_program *p, const char *log, struct rt_error *e)
{
    char *text = rt_map_errors(log, p->name, p->first_line);
    if (!text) return no_memory(e);
    char own[160];
    const char *hint = rt_compile_hint(log, p->text, own, sizeof own);
    rt_fail(e, RT_COMPILE, "%s%s%s", text, *hint ? "\n  hint: " : "", hint);
    free(text);
    return RT_COMPILE;
}

static enum rt_status compile(const struct rt_program *p, const struct options *o, bool cubin,
                              struct rt_nvrtc_result *out, struct rt_error *e)
{
    struct rt_nvrtc_job job = {.source = p->text,
                               .options = o->list,
                               .option_count = o->count,
                               .expressions = (const char *const *)p->instantiations,
                               .expression_count = p->instantiation_count,
                               .want_cubin = cubin};
    enum rt_status status = rt_nvrtc_compile(&job, out, e);
    if (status != RT_OK || out->compiled) return status;
    status = compilation_failed(p, out->log, e);
    rt_nvrtc_result_clear(out);
    return status;
}

/* Takes PTX and log out of the result. */
static enum rt_status take_result(struct rt_program *p, struct rt_nvrtc_result *r, struct rt_error *e)
{
    struct rt_lowered *lowered = rt_calloc(r->lowered_count + 1, sizeof *lowered);
    if (!lowered) return no_memory(e);
    for (size_t i = 0; i < r->lowered_count; i++)
        lowered[i] = (struct rt_lowered){.expression = p->instantiations[i], .mangled = r->lowered[i]};
    p->ptx = r->ptx;
    r->ptx = NULL;
    p->compile_ms = r->milliseconds;
    p->log = rt_map_positions(r->log, p->name, p->first_line);
    enum rt_status status = p->log ? rt_signatures(p, lowered, r->lowered_count, e) : no_memory(e);
    free(lowered);
    return status;
}

static enum rt_status fill(struct rt_device *d, struct rt_program *p, bool only_cached, struct rt_error *e)
{
    struct rt_nvrtc_info info;
    struct rt_nvrtc_result result = {0};
    struct rt_cache_hash hash;
    struct rt_cache_key key;
    struct options options;
    char target[32];
    int architecture;
    enum rt_status status = rt_nvrtc_info(&info, e);
    if (status == RT_OK) status = choose_target(d, p, &info, &architecture, e);
    if (status != RT_OK) return status;
    bool own = d->kind == RT_SIMT || architecture == d->compute_major * 10 + d->compute_minor;
    const char *variant = own && architecture >= 90 && names_specific(p) ? "a" : "";
    snprintf(target, sizeof target, "compute_%d%s", architecture, variant);
    p->target = rt_strdup(target);
    if (!p->target) return no_memory(e);
    hash_source(p, &hash);
    status = make_options(p, &info, target, &options, e);
    if (status != RT_OK) return status;
    hash_rest(p, &options, &info, &hash);
    rt_cache_hash_end(&hash, &key);
    /* The PTX is the same then. */
    const bool cubin = d->compiles_for == architecture;
    if (cubin) snprintf(options.target, sizeof options.target, "--gpu-architecture=sm_%d%s", architecture, variant);
    p->cached = from_cache(&key, p->instantiation_count, &result);
    if (!p->cached && only_cached) return rt_fail(e, RT_MISSING, "%s is not in the disk cache", p->name);
    if (!p->cached) {
        status = compile(p, &options, cubin, &result, e);
        if (status != RT_OK) return status;
        to_cache(&key, &result);
        if (cubin) cubin_to_cache(architecture, &result);
    }
    status = take_result(p, &result, e);
    rt_nvrtc_result_clear(&result);
    return status;
}

/* ---- programs ---- */

static char **copy_list(const char *const *list, size_t count)
{
    char **out = rt_calloc(count + 1, sizeof *out);
    for (size_t i = 0; out && i < count; i++) {
        out[i] = rt_strdup(list[i]);
        if (out[i]) continue;
        while (i-- > 0) free(out[i]);
        free(out);
        return NULL;
    }
    return out;
}

static void free_list(char **list, size_t count)
{
    for (size_t i = 0; list && i < count; i++) free(list[i]);
    free(list);
}

/* How many bytes of the text stand before the source: the mark by which some editors begin a file in UTF-8. NVRTC takes
 * it for a token that nobody sees. */
static size_t mark_of(const struct rt_source *source)
{
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t n = sizeof mark - 1;
    return source->length >= n && !memcmp(source->text, mark, n) ? n : 0;
}

static struct rt_program *new_program(const struct rt_source *source)
{
    const size_t mark = mark_of(source), length = source->length - mark;
    struct rt_program *p = rt_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->hurried = source->hurried;
    p->first_line = source->first_line > 0 ? source->first_line : 1;
    p->name = rt_strdup(source->name ? source->name : "kernel");
    p->text = rt_copy_bytes(source->text + mark, length);
    p->options = copy_list(source->options, source->option_count);
    p->option_count = p->options ? source->option_count : 0;
    p->instantiations = copy_list(source->instantiations, source->instantiation_count);
    p->instantiation_count = p->instantiations ? source->instantiation_count : 0;
    if (p->name && p->text && p->options && p->instantiations) return p;
    rt_program_free(p);
    return NULL;
}

void rt_program_free(struct rt_program *p)
{
    if (!p) return;
    rt_entries_free(p->entries, p->entry_count);
    free_list(p->options, p->option_count);
    free_list(p->instantiations, p->instantiation_count);
    free(p->ptx);
    free(p->name);
    free(p->text);
    free(p->target);
    free(p->log);
    free(p);
}

static struct rt_program *make_program(struct rt_device *d, const struct rt_source *source, bool only_cached,
                                       struct rt_error *e)
{
    double start = rt_now_ms();
    if (!rt_device_runs_kernels(d)) {
        rt_fail(e, RT_INVALID, "the device %s runs no kernels; use simt or a GPU", d->name);
        return NULL;
    }
    if (memchr(source->text, 0, source->length)) {
        rt_fail(e, RT_INVALID, "the kernel's source has a NUL byte in it");
        return NULL;
    }
    struct rt_program *p = new_program(source);
    if (!p) {
        no_memory(e);
        return NULL;
    }
    if (fill(d, p, only_cached, e) != RT_OK) {
        rt_program_free(p);
        return NULL;
    }
    p->load_ms = rt_now_ms() - start;
    return p;
}

struct rt_program *rt_compile(struct rt_device *d, const struct rt_source *source, struct rt_error *e)
{
    return make_program(d, source, false, e);
}

struct rt_program *rt_compile_cached(struct rt_device *d, const struct rt_source *source, struct rt_error *e)
{
    return make_program(d, source, true, e);
}

char *rt_cached_cubin(const struct rt_device *d, const struct rt_program *p)
{
    struct rt_cache_key key;
    struct rt_cache_entry entry;
    cubin_key(p->ptx, d->compute_major * 10 + d->compute_minor, &key);
    if (!rt_cache_load(&key, &entry)) return NULL;
    char *image = entry.count == 1 ? rt_alloc(entry.fields[0].length + 1) : NULL;
    if (image) memcpy(image, entry.fields[0].data, entry.fields[0].length + 1);
    free(entry.memory);
    return image;
}

enum rt_status rt_compile_cubin(struct rt_device *d, const struct rt_program *p, char **image, size_t *size,
                                struct rt_error *e)
{
    struct options options;
    struct rt_nvrtc_result result;
    struct rt_nvrtc_info info;
    char architecture[32];
    int own = d->compute_major * 10 + d->compute_minor;
    snprintf(architecture, sizeof architecture, "sm_%d%s", own, own >= 90 && names_specific(p) ? "a" : "");
    enum rt_status status = rt_nvrtc_info(&info, e);
    if (status == RT_OK) status = make_options(p, &info, architecture, &options, e);
    if (status != RT_OK) return status;
    status = compile(p, &options, true, &result, e);
    if (status != RT_OK) return status;
    *image = result.cubin;
    *size = result.cubin_size;
    result.cubin = NULL;
    rt_nvrtc_result_clear(&result);
    return status;
}
