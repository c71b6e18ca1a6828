/* Loads PTX of any kind and, where it loads, runs its kernels for a moment, without checks and with them: they may
 * fault, but not crash. */
#ifndef FUZZ_KERNEL_H
#define FUZZ_KERNEL_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "runtime/interrupt.h"
#include "runtime/simt/check.h"
#include "runtime/simt/simt.h"

enum { KERNEL_MILLISECONDS = 5, KERNEL_ARRAYS = 4, KERNEL_ARRAY_BYTES = 1 << 16, KERNEL_MEMORY = 1 << 20 };

static inline void kernel_alarm(int signal)
{
    (void)signal;
    rt_interrupt();
}

/* Device printf of kernels must not come between the lines that the test's runner reads. */
static inline int silence(void)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept < 0 || nowhere < 0) abort();
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
    return kept;
}
static inline void speak(int kept)
{
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
}

static inline void kernel_launch(const struct simt_function *f, const void *params, struct simt_observer *observer)
{
    struct simt_launch l = {
        .function = f, .grid = {2, 1, 1}, .block = {33, 2, 1}, .params = params, .observer = observer};
    struct simt_fault fault;
    struct itimerval soon = {.it_value = {0, KERNEL_MILLISECONDS * 1000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, kernel_alarm);
    int kept = silence();
    setitimer(ITIMER_REAL, &soon, NULL);
    simt_run(&l, &fault);
    setitimer(ITIMER_REAL, &never, NULL);
    speak(kept);
    rt_interrupt_clear();
}

static inline void kernel_run(const struct simt_function *f)
{
    static uint64_t arrays[KERNEL_ARRAYS];
    const struct simt_function_info *info = simt_function_info(f);
    if (info->shared_bytes > KERNEL_MEMORY || info->local_bytes > KERNEL_MEMORY || info->param_bytes > KERNEL_MEMORY)
        return;
    for (int k = 0; k < KERNEL_ARRAYS && !arrays[k]; k++) {
        struct rt_error e = {0};
        if (simt_alloc(KERNEL_ARRAY_BYTES, &arrays[k], &e) != RT_OK) abort();
        memset(simt_host(arrays[k]), 1, KERNEL_ARRAY_BYTES);
    }
    uint8_t *params = calloc(1, info->param_bytes + 8);
    if (!params) return;
    for (size_t k = 0, array = 0; k < info->param_count; k++) {
        uint64_t v = info->params[k].size == 8 ? arrays[array++ % KERNEL_ARRAYS] : 100;
        if (info->params[k].size <= 8) memcpy(params + info->params[k].offset, &v, info->params[k].size);
    }
    kernel_launch(f, params, NULL);
    struct rt_error e = {0};
    struct simt_check *c = simt_check_new(NULL, 0, &e);
    if (c) kernel_launch(f, params, simt_check_observer(c));
    simt_check_free(c);
    rt_error_clear(&e);
    free(params);
}

static inline void kernel_load_and_run(const char *text, size_t size)
{
    struct rt_error e = {0};
    struct ptx_module *m = ptx_parse(text, size, &e);
    struct simt_program *p = m && ptx_prepare(m, &e) ? simt_program_new(m, &e) : NULL;
    for (size_t k = 0; p && k < m->func_count; k++) {
        const struct simt_function *f = m->funcs[k].is_entry ? simt_program_function(p, m->funcs[k].name) : NULL;
        if (f && !simt_function_refused(f)) kernel_run(f);
    }
    if (p) simt_program_free(p);
    if (m) ptx_free(m);
    rt_error_clear(&e);
}

#endif
