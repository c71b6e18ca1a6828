#include "runtime/study.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/module.h"
#include "runtime/report.h"

static uint64_t bytes_of(const struct rt_arg *args, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (args[i].kind != RT_ARG_ARRAY) continue;
        const struct rt_array *a = args[i].as.array;
        bytes += (uint64_t)rt_array_size(a) * (uint64_t)rt_dtypes[a->dtype].size;
    }
    return bytes;
}

static enum rt_status find_occupancy(const struct rt_kernel *k, const struct rt_launch *l, struct rt_occupancy *out,
                                     struct rt_error *e)
{
    struct rt_multiprocessor m;
    enum rt_status status = rt_device_enter(k->module->device, e);
    if (status == RT_OK) status = rt_multiprocessor_read(k->module->device, &m, e);
    if (status != RT_OK) return status;
    int threads = (int)(l->block[0] * l->block[1] * l->block[2]);
    *out = rt_occupancy_of(&m, threads, k->registers, (size_t)k->shared_bytes + l->shared);
    return RT_OK;
}

static enum rt_status count_launch(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                   size_t count, struct rt_profile *out, struct rt_error *e)
{
    out->counts = simt_profile_new(k->program->ptx);
    if (!out->counts) return rt_fail(e, RT_NOMEM, "out of memory for a profile of %s", k->entry->name);
    simt_study_launches(&out->counts->study);
    enum rt_status status = rt_kernel_launch(k, l, args, count, e);
    simt_study_launches(NULL);
    return status;
}

static enum rt_status time_launch(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                  size_t count, struct rt_profile *out, struct rt_error *e)
{
    struct rt_timer timer = {0};
    struct rt_device *d = k->module->device;
    enum rt_status status = rt_device_synchronize(d, e);
    if (status == RT_OK) status = rt_timer_start(d, &timer, e);
    if (status == RT_OK) status = rt_kernel_launch(k, l, args, count, e);
    if (status == RT_OK) status = rt_timer_stop(&timer, &out->milliseconds, e);
    rt_timer_release(&timer);
    return status;
}

enum rt_status rt_kernel_profile(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                 size_t count, struct rt_profile *out, struct rt_error *e)
{
    *out = (struct rt_profile){.array_bytes = bytes_of(args, count)};
    bool counted = k->module->device->kind == RT_SIMT;
    enum rt_status status = counted ? count_launch(k, l, args, count, out, e) : time_launch(k, l, args, count, out, e);
    if (status == RT_OK) status = find_occupancy(k, l, &out->occupancy, e); /* of a launch that was found right */
    if (status != RT_OK) rt_profile_clear(out);
    return status;
}

void rt_profile_clear(struct rt_profile *p)
{
    simt_profile_free(p->counts);
    *p = (struct rt_profile){0};
}

/* ---- traces ---- */

/* The kernel's source, compiled for debugging. */
static struct rt_program *compile_for_debugging(const struct rt_kernel *k, struct rt_error *e)
{
    const struct rt_program *p = k->program;
    const char **options = rt_alloc((p->option_count + 1) * sizeof *options);
    size_t count = 0;
    bool asked = false;
    if (!options) {
        rt_fail(e, RT_NOMEM, "out of memory for a trace of %s", k->entry->name);
        return NULL;
    }
    for (; count < p->option_count; count++) {
        options[count] = p->options[count];
        asked |= !strcmp(options[count], "-G") || !strcmp(options[count], "--device-debug");
    }
    if (!asked) options[count++] = "-G";
    struct rt_source source = {.text = p->text,
                               .length = strlen(p->text),
                               .name = p->name,
                               .first_line = p->first_line,
                               .options = options,
                               .option_count = count,
                               .instantiations = (const char *const *)p->instantiations,
                               .instantiation_count = p->instantiation_count};
    struct rt_program *out = rt_compile(k->module->device, &source, e);
    free(options);
    return out;
}

static enum rt_status check_place(const struct rt_kernel *k, const struct rt_launch *l,
                                  const struct rt_trace_request *r, struct rt_error *e)
{
    const char *name = k->entry->name;
    unsigned warps = (l->block[0] * l->block[1] * l->block[2] + 31) / 32;
    if (k->module->device->kind != RT_SIMT)
        return rt_fail(e, RT_UNSUPPORTED,
                       "%s: a GPU cannot be stepped through; move the arrays to the software GPU with x:to(\"simt\")",
                       name);
    for (int i = 0; i < 3; i++)
        if (r->block[i] >= l->grid[i])
            return rt_fail(e, RT_INVALID,
                           "%s: there is no block (%u, %u, %u) in a grid of (%u, %u, %u); blocks count from 0", name,
                           r->block[0], r->block[1], r->block[2], l->grid[0], l->grid[1], l->grid[2]);
    if (r->warp >= warps)
        return rt_fail(e, RT_INVALID, "%s: there is no warp %u in a block of %u; warps count from 0", name, r->warp,
                       warps);
    return RT_OK;
}

static void name_arrays(struct simt_trace *t)
{
    for (uint32_t k = 0; k < t->array_count; k++) {
        char name[96];
        rt_variable_name(t->arrays[k].name, name, sizeof name);
        memcpy(t->arrays[k].name, name, strlen(name) + 1);
    }
}

struct simt_trace *rt_kernel_trace(const struct rt_kernel *k, const struct rt_launch *l, const struct rt_arg *args,
                                   size_t count, const struct rt_trace_request *request, struct rt_error *e)
{
    if (check_place(k, l, request, e) != RT_OK) return NULL;
    struct rt_program *debug = compile_for_debugging(k, e);
    if (!debug) return NULL;
    struct simt_trace *t = simt_trace_new();
    enum rt_status status = t ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory for a trace of %s", k->entry->name);
    if (t) {
        t->ptx = debug->ptx;
        t->file = RT_SOURCE_NAME;
        memcpy(t->block, request->block, sizeof t->block);
        t->warp = request->warp;
        t->limit = request->limit;
        simt_study_launches(&t->study);
        status = rt_kernel_launch(k, l, args, count, e);
        simt_study_launches(NULL);
        t->ptx = NULL;
        name_arrays(t);
    }
    rt_program_free(debug);
    if (status == RT_OK) return t;
    simt_trace_free(t);
    return NULL;
}
