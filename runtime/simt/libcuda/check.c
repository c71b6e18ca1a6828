/* LUNARRAY_CHECK=1, or =strict: checks of all launches of a program, without a change to it. What is found goes to the
 * standard error output, each group once, and at the end how many launches there were and what they had. Lines and
 * sources are known of what nvcc compiled with -lineinfo, as NVRTC does; names of parameters are, then, too. */
#include "runtime/simt/check.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/environment.h"
#include "runtime/memory.h"
#include "runtime/report.h"
#include "runtime/signature.h"
#include "runtime/simt/libcuda/libcuda.h"

#define MOST_PARAMS 256
#define MOST_GROUPS 1000 /* that are told apart; more are counted only */

/* All of it is used under the device's lock. */
static struct simt_check *checks; /* of the launch that runs */
static bool strict, openmp;       /* kernels of OpenMP were launched */
static uint64_t launches, found, seen[MOST_GROUPS];
static size_t groups;
static struct source {
    char *file, *text;
    struct source *next;
} * sources;

/* ---- Sources ---- */

static const char *read_source(void *unused, const char *file)
{
    (void)unused;
    for (struct source *s = sources; s; s = s->next)
        if (strcmp(s->file, file) == 0) return s->text;
    struct source *s = rt_calloc(1, sizeof *s);
    if (!s || !(s->file = rt_strdup(file))) {
        free(s);
        return NULL;
    }
    if (libcuda_read_file(file, &s->text, NULL) != CUDA_SUCCESS) s->text = NULL;
    s->next = sources;
    sources = s;
    return s->text;
}

/* The part of a mangled kernel's name that its source has: "scale" of "ns::scale<float>". */
static bool is_called(const char *whole, const char *name)
{
    size_t length = strcspn(whole, "<"), n = strlen(name);
    if (n > length || memcmp(whole + length - n, name, n) != 0) return false;
    return n == length || whole[length - n - 1] == ':';
}

static void name_params(struct rt_entry *entry, const char *text)
{
    struct rt_source_kernel *kernels;
    size_t count;
    if (!text || rt_source_kernels(text, strlen(text), &kernels, &count, NULL) != RT_OK) return;
    for (size_t k = 0; k < count; k++) {
        if (kernels[k].count != entry->param_count || !is_called(entry->name, kernels[k].name)) continue;
        for (size_t i = 0; i < entry->param_count; i++)
            if (!entry->params[i].name && kernels[k].params[i].name)
                entry->params[i].name = rt_strdup(kernels[k].params[i].name);
        break;
    }
    rt_source_kernels_free(kernels, count);
}

/* ---- Arguments ---- */

/* What lies at a parameter of eight bytes, when that is an address; false when it is not. */
static bool find_memory(const struct simt_launch *l, size_t i, uint64_t *value, struct simt_extent *whole)
{
    const struct simt_function_info *info = simt_function_info(l->function);
    struct simt_block b;
    struct simt_mapped m;
    if (info->params[i].size != sizeof *value) return false;
    memcpy(value, (const char *)l->params + info->params[i].offset, sizeof *value);
    if (simt_find(*value, &b)) {
        *whole = (struct simt_extent){b.address, b.bytes};
        return true;
    }
    if (!simt_mapped_find(*value, &m)) return false;
    *whole = (struct simt_extent){m.start, m.bytes};
    return true;
}

static size_t param_count(const struct simt_launch *l)
{
    size_t n = simt_function_info(l->function)->param_count;
    return n < MOST_PARAMS ? n : MOST_PARAMS;
}

static struct simt_observer *begin(const struct simt_launch *l)
{
    struct simt_extent extents[MOST_PARAMS];
    uint64_t value;
    size_t count = 0;
    for (size_t i = 0; i < param_count(l); i++) count += find_memory(l, i, &value, &extents[count]);
    checks = simt_check_new(extents, count, NULL);
    if (checks && strict) simt_check_set_strict(checks);
    launches += checks != NULL;
    openmp |= simt_function_info(l->function)->is_openmp;
    return checks ? simt_check_observer(checks) : NULL;
}

/* ---- Reports ---- */

static bool read_entry(const struct simt_launch *l, struct rt_signature *signature, struct rt_entry *entry)
{
    const struct simt_function_info *info = simt_function_info(l->function);
    *signature = (struct rt_signature){0};
    if (rt_signature_read(info->name, signature, NULL) != RT_OK) return false;
    *entry = (struct rt_entry){.mangled = (char *)(uintptr_t)info->name,
                               .name = signature->name,
                               .params = signature->params,
                               .param_count = signature->count};
    return true;
}

static void read_places(const struct simt_launch *l, const struct rt_entry *entry, struct rt_place *places)
{
    struct simt_extent whole;
    for (size_t i = 0; i < entry->param_count; i++) {
        uint64_t value = 1;
        places[i] = (struct rt_place){.dtype = RT_DTYPE_COUNT};
        if (i >= param_count(l) || entry->params[i].kind != RT_PARAM_POINTER) continue;
        if (find_memory(l, i, &value, &whole))
            places[i] = (struct rt_place){RT_PLACE_MEMORY, value, whole.address + whole.bytes - value, RT_DTYPE_COUNT};
        else if (value == 0)
            places[i].kind = RT_PLACE_NULL;
    }
}

/* The same but for its numbers is the same. */
static bool is_new(const struct rt_report *r, const char *kernel)
{
    char text[1024];
    uint64_t h = 1469598103934665603u;
    int n = snprintf(text, sizeof text, "%s", r->message);
    for (char *p = text; *p; p++)
        if (*p >= '0' && *p <= '9') *p = '0';
    snprintf(text + n, sizeof text - (size_t)n, " %s %s %s:%d %s:%d", kernel, r->kind, r->first.file, r->first.line,
             r->other.file, r->other.line);
    for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    for (size_t i = 0; i < groups; i++)
        if (seen[i] == h) return false;
    if (groups == MOST_GROUPS) return false;
    seen[groups++] = h;
    return true;
}

/* Files below the current folder are named from there. */
static void shorten(char *file)
{
    char here[PATH_MAX];
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (n > 1 && strncmp(file, here, n) == 0 && file[n] == '/') memmove(file, file + n + 1, strlen(file + n + 1) + 1);
}

static void tell(const struct simt_launch *l, const struct rt_findings *f, const char *kernel)
{
    char text[2048];
    const unsigned *g = l->grid, *b = l->block;
    for (size_t i = 0; i < f->count; i++) {
        struct rt_report r = f->items[i];
        if (!is_new(&r, kernel)) continue;
        shorten(r.first.file);
        shorten(r.other.file);
        rt_report_text(&r, kernel, text, sizeof text);
        fprintf(stderr, "%s\n  launch %llu: grid %u x %u x %u, block %u x %u x %u\n", text,
                (unsigned long long)launches, g[0], g[1], g[2], b[0], b[1], b[2]);
    }
}

static void tell_fault(const struct simt_fault *f, const char *kernel)
{
    char file[sizeof f->file];
    snprintf(file, sizeof file, "%s", f->file);
    shorten(file);
    if (f->line > 0) fprintf(stderr, "%s:%d: ", file, f->line);
    fprintf(stderr, "%s\n  in kernel %s, block (%u, %u, %u), thread (%u, %u, %u), which stopped\n", f->text, kernel,
            f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
}

static void read_and_tell(const struct simt_launch *l, const struct simt_fault *fault)
{
    struct rt_signature signature;
    struct rt_entry entry;
    struct rt_findings f = {0};
    size_t count;
    uint64_t more;
    const struct simt_report *reports = simt_check_reports(checks, &count, &more);
    found += count + more + (fault != NULL);
    if ((!count && !fault) || !read_entry(l, &signature, &entry)) return;
    for (size_t i = 0; i < count; i++)
        if (reports[i].first.file) name_params(&entry, read_source(NULL, reports[i].first.file));
    struct rt_place *places = rt_calloc(entry.param_count + 1, sizeof *places);
    if (places) {
        read_places(l, &entry, places);
        const struct rt_scene scene = {.entry = &entry, .places = places, .block = l->block, .read = read_source};
        if (rt_findings_read(&scene, checks, &f, NULL) == RT_OK) tell(l, &f, entry.name);
        rt_findings_clear(&f);
    }
    if (fault) tell_fault(fault, entry.name);
    free(places);
    rt_signature_clear(&signature);
}

static void end(const struct simt_launch *l, const struct simt_fault *fault)
{
    libcuda_print_held(); /* what the program and the kernel printed came before */
    fflush(stdout);
    read_and_tell(l, fault);
    simt_check_free(checks);
    checks = NULL;
}

static void refuse(const char *why, CUresult returned)
{
    (void)returned;
    fflush(stdout);
    fprintf(stderr, "%s\n", why);
}

__attribute__((constructor)) static void start(void)
{
    const int wish = rt_variable_word(RT_VAR_CHECK);
    char text[RT_VARIABLE_TEXT];
    _Atomic uint64_t *unused;
    if (wish < 0 && rt_variable_wrong(RT_VAR_CHECK, text, sizeof text)) fprintf(stderr, "%s\n", text);
    if (wish <= 0) return;
    strict = wish == RT_CHECK_STRICT;
    simt_watch.begin = begin;
    simt_watch.end = end;
    simt_watch.refuse = refuse;
    simt_written_bits(0, &unused); /* from here on what is written is kept by the byte */
}

__attribute__((destructor(120))) static void finish(void)
{
    if (!simt_watch.begin || !launches) return;
    fflush(stdout);
    fprintf(stderr, "LUNARRAY_CHECK: %llu launch%s checked, %llu report%s\n", (unsigned long long)launches,
            launches == 1 ? "" : "es", (unsigned long long)found, found == 1 ? "" : "s");
    if (openmp)
        fprintf(stderr,
                "LUNARRAY_CHECK: kernels of OpenMP are not checked for races and barriers: in gcc's the lanes of a "
                "warp share their variables (OpenACC's are checked)\n");
    if (libcuda_unwaited)
        fprintf(stderr, "LUNARRAY_CHECK: the program ended without waiting for its last work: on a GPU what kernels "
                        "print and write then may be lost (cudaDeviceSynchronize waits)\n");
    while (sources) {
        struct source *next = sources->next;
        free(sources->file);
        free(sources->text);
        free(sources);
        sources = next;
    }
}
