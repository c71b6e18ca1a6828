#define _GNU_SOURCE /* dladdr, dlinfo */
#include "runtime/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/memory.h"

#define MAX_NAMES 6

static const struct row {
    const char *name, *variable, *advice;
    const char *sonames[MAX_NAMES];
    enum { FROM_DRIVER, FROM_CUDA, FROM_SYSTEM } origin; /* decides which places make sense */
} rows[RT_LIB_COUNT] = {
    [RT_LIB_CUDA] = {"the NVIDIA driver",
                     "LUNARRAY_CUDA",
                     "It comes with NVIDIA's driver for the machine's GPU; without a GPU use the device \"simt\".",
                     {"libcuda.so.1", NULL},
                     FROM_DRIVER},
    [RT_LIB_NVRTC] =
        {"NVRTC",
         "LUNARRAY_NVRTC",
         "Get it by `pip install nvidia-cuda-nvrtc` or with the CUDA toolkit, or set LUNARRAY_NVRTC to its "
         "file or folder.",
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL},
         FROM_CUDA},
    [RT_LIB_CUBLAS] = {"cuBLAS",
                       "LUNARRAY_CUBLAS",
                       "Get it by `pip install nvidia-cublas` or with the CUDA toolkit, or set LUNARRAY_CUBLAS to its "
                       "file or folder. GPUs multiply matrices without it, but slower.",
                       {"libcublas.so.13", "libcublas.so.12", NULL},
                       FROM_CUDA},
    [RT_LIB_OPENBLAS] =
        {"OpenBLAS",
         "LUNARRAY_OPENBLAS",
         "Get it by `apt install libopenblas0-pthread`, or set LUNARRAY_OPENBLAS to its file or folder.",
         {"libopenblas.so.0", "libopenblas.so", NULL},
         FROM_SYSTEM},
    [RT_LIB_ZMQ] = {"ZeroMQ",
                    "LUNARRAY_ZMQ",
                    "Get it by `apt install libzmq5`, or set LUNARRAY_ZMQ to its file or folder.",
                    {"libzmq.so.5", NULL},
                    FROM_SYSTEM},
    [RT_LIB_ZLIB] = {"zlib",
                     "LUNARRAY_ZLIB",
                     "Get it by `apt install zlib1g`, or set LUNARRAY_ZLIB to its file or folder.",
                     {"libz.so.1", NULL},
                     FROM_SYSTEM},
    [RT_LIB_PNG] = {"libpng",
                    "LUNARRAY_PNG",
                    "Get it by `apt install libpng16-16`, or set LUNARRAY_PNG to its file or folder.",
                    {"libpng16.so.16", NULL},
                    FROM_SYSTEM},
    [RT_LIB_CUFFT] =
        {"cuFFT",
         "LUNARRAY_CUFFT",
         "Get it by `pip install nvidia-cufft` or with the CUDA toolkit, or set LUNARRAY_CUFFT to its file or "
         "folder; without it the host computes a GPU's Fourier transforms.",
         {"libcufft.so.12", "libcufft.so.11", "libcufft.so", NULL},
         FROM_CUDA},
    [RT_LIB_CUSOLVER] =
        {"cuSOLVER",
         "LUNARRAY_CUSOLVER",
         "Get it by `pip install nvidia-cusolver` or with the CUDA toolkit, or set LUNARRAY_CUSOLVER to its file or "
         "folder; without it the host factors a GPU's matrices.",
         {"libcusolver.so.12", "libcusolver.so.11", NULL},
         FROM_CUDA},
    [RT_LIB_NVTX] =
        {"NVTX",
         "LUNARRAY_NVTX",
         "Get it by `pip install nvidia-nvtx` or with the CUDA toolkit, or set LUNARRAY_NVTX to its file or "
         "folder.",
         {"libnvtx3interop.so.1", "libnvToolsExt.so.1", NULL},
         FROM_CUDA},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_library libraries[RT_LIB_COUNT];
static bool searched[RT_LIB_COUNT], open_failed[RT_LIB_COUNT];

/* ---- A search: folders in order, in each of them file names in order ---- */

struct search {
    const char *const *names; /* NULL ends */
    const char *const *toolkit, *const *wheel;
    /* Takes a file that exists, or the bare name that the loader is to find; true ends the search. */
    bool (*accept)(struct search *s, const char *path);
    bool use_loader; /* `accept` can ask the loader by name */
    char *tried;     /* one place per line */
    char *found;
    void *handle;
};

static void note(struct search *s, const char *place, const char *why)
{
    size_t before = s->tried ? strlen(s->tried) : 0;
    size_t more = strlen(place) + strlen(why) + 4;
    char *text = rt_realloc(s->tried, before + more);
    if (!text) return; /* the list is a help, not a need */
    snprintf(text + before, more, "%s%s%s%s", before ? "\n" : "", place, *why ? ": " : "", why);
    s->tried = text;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool try_folder(struct search *s, const char *folder)
{
    note(s, folder, "");
    if (!is_folder(folder)) return false;
    for (int i = 0; s->names[i]; i++) {
        char path[PATH_MAX];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, s->names[i]) >= sizeof path) continue;
        if (is_file(path) && s->accept(s, path)) return true;
    }
    return false;
}

static bool try_below(struct search *s, const char *root, const char *const *folders)
{
    for (int i = 0; folders[i]; i++) {
        char path[PATH_MAX];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", root, folders[i]) >= sizeof path) continue;
        if (try_folder(s, path)) return true;
    }
    return false;
}

/* Roots that match a pattern, the last (newest version) first. */
static bool try_pattern(struct search *s, const char *pattern, const char *const *folders)
{
    glob_t g;
    bool done = false;
    if (glob(pattern, 0, NULL, &g) != 0) {
        note(s, pattern, "");
        return false;
    }
    for (size_t i = g.gl_pathc; i > 0 && !done; i--) done = try_below(s, g.gl_pathv[i - 1], folders);
    globfree(&g);
    return done;
}

/* ---- The places ---- */

static void parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
}

/* The folders of the executable and, inside a stock Lua, of this module's file. */
static int own_folders(char out[2][PATH_MAX])
{
    int n = 0;
    ssize_t length = readlink("/proc/self/exe", out[0], PATH_MAX - 1);
    if (length > 0) {
        out[0][length] = '\0';
        parent(out[0]);
        n = 1;
    }
    Dl_info info;
    char *real = dladdr((void *)rows, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    if (real && strlen(real) < PATH_MAX) {
        strcpy(out[n], real);
        parent(out[n]);
        if (n == 0 || strcmp(out[0], out[1]) != 0) n++;
    }
    free(real);
    return n;
}

/* A bundle has lib/ beside the binary; PREFIX/bin and PREFIX/lib/lua/5.4 have PREFIX/lib/lunarray/lib. The build folder
 * and those of its tests have cuda/, into which `make deps` unpacks wheels. */
static bool try_own(struct search *s)
{
    static const char *const shipped[] = {"lib", "../lib/lunarray/lib", "../../lunarray/lib", NULL};
    static const char *const unpacked[] = {
        "cuda", "../lib/lunarray/cuda", "../../lunarray/cuda", "../cuda", "../../cuda", "../../../cuda", NULL};
    char folders[2][PATH_MAX];
    int n = own_folders(folders);
    for (int i = 0; i < n; i++) {
        if (s->use_loader && try_below(s, folders[i], shipped)) return true;
        for (int k = 0; unpacked[k]; k++) {
            char root[PATH_MAX];
            if ((size_t)snprintf(root, sizeof root, "%s/%s", folders[i], unpacked[k]) >= sizeof root) continue;
            if (is_folder(root) && try_below(s, root, s->wheel)) return true;
        }
    }
    return false;
}

static bool try_toolkit(struct search *s)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", NULL};
    for (int i = 0; variables[i]; i++) {
        const char *root = getenv(variables[i]);
        if (root && *root && try_below(s, root, s->toolkit)) return true;
    }
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        char nvcc[PATH_MAX];
        int length = snprintf(nvcc, sizeof nvcc, "%.*s/nvcc", (int)n, path);
        if (n > 0 && n < PATH_MAX - 8 && length > 0 && access(nvcc, X_OK) == 0) {
            char *real = realpath(nvcc, NULL);
            bool done = false;
            if (real) {
                parent(real); /* bin */
                parent(real);
                done = try_below(s, real, s->toolkit);
            }
            free(real);
            if (done) return true;
        }
        path += n;
        if (*path == ':') path++;
    }
    return try_below(s, "/usr/local/cuda", s->toolkit) || try_pattern(s, "/usr/local/cuda-[0-9]*", s->toolkit) ||
           (is_folder("/opt/cuda") && try_below(s, "/opt/cuda", s->toolkit));
}

static bool try_wheels(struct search *s)
{
    static const char *const homes[] = {"VIRTUAL_ENV", "CONDA_PREFIX", NULL};
    char pattern[PATH_MAX];
    for (int i = 0; homes[i]; i++) {
        const char *root = getenv(homes[i]);
        if (!root || !*root) continue;
        snprintf(pattern, sizeof pattern, "%s/lib/python3*/site-packages", root);
        if (try_pattern(s, pattern, s->wheel)) return true;
    }
    const char *home = getenv("HOME");
    if (home && *home) {
        snprintf(pattern, sizeof pattern, "%s/.local/lib/python3*/site-packages", home);
        if (try_pattern(s, pattern, s->wheel)) return true;
    }
    return try_pattern(s, "/usr/local/lib/python3*/dist-packages", s->wheel) ||
           try_pattern(s, "/usr/local/lib/python3*/site-packages", s->wheel) ||
           try_pattern(s, "/usr/lib/python3*/dist-packages", s->wheel) ||
           try_pattern(s, "/usr/lib/python3*/site-packages", s->wheel);
}

static bool try_conda(struct search *s)
{
    const char *root = getenv("CONDA_PREFIX");
    return root && *root && try_below(s, root, s->toolkit);
}

/* ---- The loader's own path, without loading ---- */

/* The file that /etc/ld.so.cache has for a soname, of this machine's kind. The format is glibc's: a header of 48 bytes,
 * then 24 bytes for each library. */
static bool cached_path(const char *soname, char *out, size_t size)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    struct entry {
        int32_t flags;
        uint32_t key, value, osversion;
        uint64_t hwcap;
    };
#if defined(__aarch64__)
    const int32_t wanted = 0x0A03;
#else
    const int32_t wanted = 0x0303;
#endif
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    struct stat st;
    bool found = false;
    size_t length = fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
    char *map = length > 48 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED) return false;
    const char *base = memmem(map, length, magic, sizeof magic - 1);
    size_t rest = base ? length - (size_t)(base - map) : 0;
    uint32_t count = 0;
    if (rest > 48) memcpy(&count, base + 20, sizeof count);
    if (count > (rest - (rest > 48 ? 48 : rest)) / sizeof(struct entry)) count = 0;
    for (uint32_t i = 0; i < count && !found; i++) {
        struct entry x;
        memcpy(&x, base + 48 + i * sizeof x, sizeof x);
        if (x.flags != wanted || x.key >= rest || x.value >= rest) continue;
        if (!memchr(base + x.key, '\0', rest - x.key) || strcmp(base + x.key, soname) != 0) continue;
        if (!memchr(base + x.value, '\0', rest - x.value)) continue;
        found = (size_t)snprintf(out, size, "%s", base + x.value) < size;
    }
    munmap(map, length);
    return found;
}

static bool try_loader_files(struct search *s)
{
    const char *list = getenv("LD_LIBRARY_PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s", (int)(n < PATH_MAX ? n : PATH_MAX - 1), list);
        if (*folder && try_folder(s, folder)) return true;
        list += n;
        if (*list == ':') list++;
    }
    note(s, "/etc/ld.so.cache", "");
    for (int i = 0; s->names[i]; i++) {
        char path[PATH_MAX];
        if (cached_path(s->names[i], path, sizeof path) && is_file(path) && s->accept(s, path)) return true;
    }
    static const char *const defaults[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL};
    for (int i = 0; defaults[i]; i++) {
        if (try_folder(s, defaults[i])) return true;
    }
    return false;
}

static bool try_loader_open(struct search *s)
{
    note(s, "the loader's path", "");
    for (int i = 0; s->names[i]; i++) {
        if (s->accept(s, s->names[i])) return true;
    }
    return false;
}

/* ---- Libraries ---- */

static bool accept_file(struct search *s, const char *path)
{
    s->found = rt_strdup(path);
    return s->found != NULL;
}

static bool accept_open(struct search *s, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        if (path[0] == '/') note(s, path, why ? why : "cannot be loaded");
        return false;
    }
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) path = map->l_name;
    s->found = rt_strdup(path);
    if (!s->found) {
        dlclose(handle);
        return false;
    }
    s->handle = handle;
    return true;
}

/* The variable is the user's word: when it is set nothing else is tried. */
static bool try_variable(struct search *s, const char *variable, bool *set)
{
    const char *value = getenv(variable);
    *set = value && *value;
    if (!*set) return false;
    char real[PATH_MAX];
    if (!realpath(value, real)) {
        note(s, value, "no such file or folder (from the environment)");
        return false;
    }
    if (is_folder(real)) return try_folder(s, real);
    note(s, real, "");
    return s->accept(s, real);
}

static void run_search(struct search *s, const struct row *row)
{
    bool set;
    if (try_variable(s, row->variable, &set) || set) return;
    bool opening = s->accept == accept_open;
    if (row->origin != FROM_DRIVER && try_own(s)) return;
    if (opening ? try_loader_open(s) : try_loader_files(s)) return;
    if (row->origin == FROM_DRIVER) return;
    if (row->origin == FROM_CUDA && (try_toolkit(s) || try_wheels(s))) return;
    try_conda(s);
}

static const char *const toolkit_libraries[] = {"lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib",
                                                NULL};
static const char *const wheel_libraries[] = {"nvidia/cu13/lib",  "nvidia/cuda_nvrtc/lib", "nvidia/cublas/lib",
                                              "nvidia/cufft/lib", "nvidia/cusolver/lib",   NULL};
static const char *const toolkit_includes[] = {"include", "targets/x86_64-linux/include", "targets/sbsa-linux/include",
                                               NULL};
static const char *const wheel_includes[] = {"nvidia/cu13/include", "nvidia/cuda_runtime/include", NULL};

static void search_library(enum rt_library_id id, bool open)
{
    struct rt_library *l = &libraries[id];
    const struct row *row = &rows[id];
    struct search s = {.names = row->sonames,
                       .toolkit = toolkit_libraries,
                       .wheel = wheel_libraries,
                       .accept = open ? accept_open : accept_file,
                       .use_loader = true};
    run_search(&s, row);
    free(l->tried);
    l->tried = s.tried;
    if (l->path && s.found && strcmp(l->path, s.found) == 0) { /* keep what rt_library_find gave out */
        free(s.found);
    } else {
        free(l->path);
        l->path = s.found;
    }
    l->handle = s.handle;
}

static struct rt_library *named(enum rt_library_id id)
{
    struct rt_library *l = &libraries[id];
    l->name = rows[id].name;
    l->variable = rows[id].variable;
    l->advice = rows[id].advice;
    return l;
}

const struct rt_library *rt_library_find(enum rt_library_id id)
{
    pthread_mutex_lock(&lock);
    struct rt_library *l = named(id);
    if (!searched[id]) search_library(id, false);
    searched[id] = true;
    pthread_mutex_unlock(&lock);
    return l;
}

const struct rt_library *rt_library_open(enum rt_library_id id, struct rt_error *e)
{
    pthread_mutex_lock(&lock);
    struct rt_library *l = named(id);
    if (!l->handle && !open_failed[id]) {
        search_library(id, true);
        searched[id] = true;
        open_failed[id] = l->handle == NULL;
    }
    bool there = l->handle != NULL;
    if (!there) {
        char names[160] = "";
        for (int i = 0; rows[id].sonames[i]; i++) {
            size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", rows[id].sonames[i]);
        }
        rt_fail(e, RT_MISSING, "%s was not found (%s). %s\nLooked in:\n%s", l->name, names, l->advice,
                l->tried ? l->tried : "nothing");
    }
    pthread_mutex_unlock(&lock);
    return there ? l : NULL;
}

void *rt_library_symbol(const struct rt_library *l, const char *symbol, struct rt_error *e)
{
    void *p = dlsym(l->handle, symbol);
    if (!p) rt_fail(e, RT_MISSING, "%s (%s) has no function %s: its version does not fit", l->name, l->path, symbol);
    return p;
}

/* ---- Headers ---- */

static bool accept_include(struct search *s, const char *path)
{
    s->found = realpath(path, NULL);
    if (s->found) parent(s->found);
    return s->found != NULL;
}

/* The headers of the NVRTC that is used come first, so that both are of one version. */
static bool try_beside_nvrtc(struct search *s, const char *library)
{
    static const char *const beside[] = {"../include", "../../cuda_runtime/include", NULL};
    char folder[PATH_MAX];
    if (!library || (size_t)snprintf(folder, sizeof folder, "%s", library) >= sizeof folder) return false;
    parent(folder);
    return try_below(s, folder, beside);
}

const char *rt_cuda_include(void)
{
    static const char *const names[] = {"cuda_fp16.h", NULL};
    static char *answer;
    static bool known;
    const struct rt_library *nvrtc = rt_library_find(RT_LIB_NVRTC);
    pthread_mutex_lock(&lock);
    if (!known) {
        struct search s = {
            .names = names, .toolkit = toolkit_includes, .wheel = wheel_includes, .accept = accept_include};
        bool set;
        if (!try_variable(&s, "LUNARRAY_CUDA_INCLUDE", &set) && !set && !try_beside_nvrtc(&s, nvrtc->path) &&
            !try_own(&s) && !try_toolkit(&s) && !try_wheels(&s) && !try_conda(&s))
            try_folder(&s, "/usr/include");
        free(s.tried);
        answer = s.found;
        known = true;
    }
    pthread_mutex_unlock(&lock);
    return answer;
}
