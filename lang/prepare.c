#define _GNU_SOURCE /* SCHED_IDLE */
#include "lang/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels/generate.h"
#include "lang/lang.h"
#include "lang/spawn.h"
#include "runtime/background.h"
#include "runtime/cache.h"
#include "runtime/guard.h"
#include "runtime/nvrtc.h"

#define SELF "/proc/self/exe"

/* prepare.lua as it is, without an end of text. */
__asm__(".pushsection .rodata\n"
        "prepare_lua: .incbin \"lang/prepare.lua\"\n"
        "prepare_lua_end:\n"
        ".popsection\n");
extern const char prepare_lua[], prepare_lua_end[];

/* ---- making them */

/* What is left in the cache when all are made. The program, which writes their texts, is known by its file. */
static bool done_key(int capability, const char *dtype, struct rt_cache_key *key, struct rt_error *e)
{
    struct rt_cache_hash h;
    struct rt_nvrtc_info info;
    struct stat s;
    if (rt_nvrtc_info(&info, e) != RT_OK) return false;
    if (stat(SELF, &s) != 0) memset(&s, 0, sizeof s);
    rt_cache_hash_start(&h);
    rt_cache_hash_add(&h, "prepared 1", 10);
    rt_cache_hash_add(&h, &capability, sizeof capability);
    if (dtype) rt_cache_hash_add(&h, dtype, strlen(dtype));
    rt_cache_hash_add(&h, &info, sizeof info);
    rt_cache_hash_add(&h, &s.st_size, sizeof s.st_size);
    rt_cache_hash_add(&h, &s.st_mtim, sizeof s.st_mtim);
    rt_cache_hash_end(&h, key);
    return true;
}

static bool was_done(const struct rt_cache_key *key)
{
    struct rt_cache_entry entry;
    bool done = rt_cache_load(key, &entry);
    if (done) free(entry.memory);
    return done;
}

static int say(lua_State *L)
{
    const char *what = luaL_checkstring(L, 1);
    rt_background_wait();
    if (lua_toboolean(L, lua_upvalueindex(1))) return 0;
    printf("%s: %zu kernels\n", what, kn_generated_count());
    fflush(stdout);
    return 0;
}

static void push_ops(lua_State *L)
{
    lua_createtable(L, KN_OP_COUNT, 0);
    for (int i = 0; i < KN_OP_COUNT; i++) {
        lua_createtable(L, 0, 2);
        lg_set_string(L, "name", kn_ops[i].name);
        lg_set_integer(L, "arity", kn_ops[i].arity);
        lua_rawseti(L, -2, i + 1);
    }
}

struct wanted {
    const char *dtype; /* NULL: all */
    bool quiet;
};

static int run(lua_State *L)
{
    const struct wanted *w = lua_touserdata(L, 1);
    luaL_openlibs(L);
    if (luaL_loadbufferx(L, prepare_lua, (size_t)(prepare_lua_end - prepare_lua), "=prepare.lua", "t") != LUA_OK)
        return lua_error(L);
    luaL_requiref(L, "lunarray", luaopen_lunarray, 0);
    push_ops(L);
    lua_pushboolean(L, w->quiet);
    lua_pushcclosure(L, say, 1);
    lua_pushstring(L, w->dtype); /* nil for NULL */
    lua_call(L, 4, 0);
    return 0;
}

static enum rt_status run_all(struct wanted *w, struct rt_error *e)
{
    lua_State *L = luaL_newstate();
    if (!L) return rt_fail(e, RT_NOMEM, "out of memory");
    lua_pushcfunction(L, run);
    lua_pushlightuserdata(L, w);
    enum rt_status status = RT_OK;
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) status = rt_fail(e, RT_INVALID, "%s", lua_tostring(L, -1));
    lua_close(L);
    return status;
}

enum rt_status lg_prepare(int capability, const char *dtype, bool quiet, size_t *count, struct rt_error *e)
{
    struct rt_cache_key key;
    char *folder = rt_cache_folder();
    free(folder);
    *count = 0;
    if (!folder) return rt_fail(e, RT_MISSING, "there is no folder for kernels; LUNARRAY_CACHE_DIR may name one");
    if (!done_key(capability, dtype, &key, e)) return e->status;
    if (was_done(&key)) return RT_OK;
    struct rt_device *d = rt_device_open("simt", e);
    if (!d) return e->status;
    rt_device_set_default(d);
    d->compiles_for = capability;
    kn_force_generated(true);
    kn_force_background(1); /* a program's own kernel, and those that serve programs that are new */
    enum rt_status status = run_all(&(struct wanted){dtype, quiet}, e);
    *count = kn_generated_count();
    if (status == RT_OK && *count) rt_cache_store(&key, &(struct rt_cache_entry){.count = 0});
    return status;
}

bool lg_prepare_aside(pid_t parent)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, "1000", 4) < 0) errno = 0; /* where memory is short this is what can be done without */
    if (file >= 0) close(file);
    setpriority(PRIO_PROCESS, 0, 19);
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent;
}

int lg_prepare_capability(void)
{
    for (struct rt_device *d = NULL; (d = rt_device_next_opened(d));)
        if (d->kind == RT_CUDA) return d->compute_major * 10 + d->compute_minor;
    return 0;
}

/* ---- having them made */

/* A thread, since the process ends with the thread that started it, and somebody has to await its end. */
static void *start_and_wait(void *unused)
{
    char capability[16], parent[32];
    char *argv[] = {"lunarray", "prepare", parent, capability, NULL};
    pid_t pid;
    (void)unused;
    snprintf(parent, sizeof parent, "--beside=%ld", (long)getpid());
    snprintf(capability, sizeof capability, "%d.%d", lg_prepare_capability() / 10, lg_prepare_capability() % 10);
    if (lg_spawn(SELF, argv, (const int[]){LG_NOTHING, LG_NOTHING, LG_NOTHING}, true, &pid) != 0) return NULL;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    return NULL;
}

void lg_prepare_beside(void)
{
    static atomic_bool begun;
    pthread_t thread;
    sigset_t former;
    struct rt_device *d = NULL;
    if (begun) return;
    while ((d = rt_device_next_opened(d)) && d->kind != RT_CUDA) continue;
    if (!d || !kn_in_background(d) || atomic_exchange(&begun, true)) return;
    rt_hold_signals(&former);
    if (pthread_create(&thread, NULL, start_and_wait, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
}
