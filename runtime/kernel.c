/* Loading: programs to modules on a device, and their kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/module.h"
#include "runtime/simt/simt.h"

#define LOG_SIZE 8192

static CUresult load_image(struct rt_module *m, const void *image, char *log)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(LOG_SIZE - 1)};
    log[0] = log[LOG_SIZE - 1] = 0;
    return m->device->driver->ModuleLoadDataEx(&m->handle, image, 2, options, values);
}

/* The text with kernels called as in the source; takes the text. NULL: out of memory. */
static char *name_kernels(const struct rt_program *p, char *text)
{
    for (size_t i = 0; text && i < p->entry_count; i++) {
        const char *from = p->entries[i].mangled, *to = p->entries[i].name, *at = strstr(text, from);
        if (!at) continue;
        size_t before = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
        char *named = rt_alloc(size);
        if (named) snprintf(named, size, "%.*s%s%s", (int)before, text, to, at + strlen(from));
        free(text);
        text = named;
    }
    return text;
}

static enum rt_status load_failed(struct rt_module *m, CUresult result, const char *log, struct rt_error *e)
{
    enum rt_status status = rt_device_check(m->device, result, e, "loading the compiled kernels");
    if (!*log) return status;
    char *text = rt_map_positions(log, m->program->name, m->program->first_line);
    text = name_kernels(m->program, text);
    if (!text) return rt_fail(e, RT_NOMEM, "out of memory while loading kernels");
    status = rt_fail(e, status, "%s", text);
    free(text);
    return status;
}

/* Drivers older than NVRTC do not know its PTX; they do know machine code for their GPU. */
static enum rt_status load_cubin(struct rt_module *m, char *log, struct rt_error *e)
{
    char *image = NULL;
    size_t size;
    enum rt_status status = rt_compile_cubin(m->device, m->program, &image, &size, e);
    if (status != RT_OK) return status;
    CUresult result = load_image(m, image, log);
    free(image);
    return result == CUDA_SUCCESS ? RT_OK : load_failed(m, result, log, e);
}

/* What the driver does not take is made of PTX. */
static bool load_cached(struct rt_module *m, char *log)
{
    char *image = m->device->kind == RT_CUDA ? rt_cached_cubin(m->device, m->program) : NULL;
    const bool loaded = image && load_image(m, image, log) == CUDA_SUCCESS;
    free(image);
    return loaded;
}

static enum rt_status load(struct rt_module *m, struct rt_error *e)
{
    struct rt_device *d = m->device;
    enum rt_status status = rt_device_enter(d, e);
    if (status != RT_OK) return status;
    char *log = rt_alloc(LOG_SIZE);
    if (!log) return rt_fail(e, RT_NOMEM, "out of memory while loading kernels");
    CUresult result = load_cached(m, log) ? CUDA_SUCCESS : load_image(m, m->program->ptx, log);
    if (d->kind == RT_CUDA && (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_INVALID_PTX))
        status = load_cubin(m, log, e);
    else if (result != CUDA_SUCCESS)
        status = load_failed(m, result, log, e);
    free(log);
    m->generation = d->generation;
    return status;
}

struct rt_module *rt_module_load(struct rt_device *d, struct rt_program *program, struct rt_error *e)
{
    struct rt_module *m = rt_calloc(1, sizeof *m);
    struct rt_function *functions = rt_calloc(program->entry_count + 1, sizeof *functions);
    if (!m || !functions) {
        free(m);
        free(functions);
        rt_program_free(program);
        rt_fail(e, RT_NOMEM, "out of memory while loading kernels");
        return NULL;
    }
    atomic_init(&m->references, 1);
    m->device = d;
    m->program = program;
    m->functions = functions;
    m->prints = strstr(program->ptx, "vprintf") != NULL;
    if (load(m, e) == RT_OK) return m;
    rt_module_release(m);
    return NULL;
}

struct rt_module *rt_module_retain(struct rt_module *m)
{
    atomic_fetch_add(&m->references, 1);
    return m;
}

void rt_module_release(struct rt_module *m)
{
    if (!m || atomic_fetch_sub(&m->references, 1) != 1) return;
    if (m->handle && m->generation == m->device->generation && rt_device_enter(m->device, NULL) == RT_OK)
        m->device->driver->ModuleUnload(m->handle);
    rt_program_free(m->program);
    free(m->functions);
    free(m);
}

/* ---- kernels ---- */

static int attribute(const struct driver *d, CUfunction f, CUfunction_attribute which)
{
    int value = 0;
    return d->FuncGetAttribute(&value, which, f) == CUDA_SUCCESS ? value : 0;
}

static enum rt_status get_function(struct rt_module *m, const struct rt_entry *entry, struct rt_function *out,
                                   struct rt_error *e)
{
    const struct driver *d = m->device->driver;
    enum rt_status status = rt_device_enter(m->device, e);
    if (status != RT_OK) return status;
    CUfunction f;
    struct simt_fault why;
    CUresult r = d->ModuleGetFunction(&f, m->handle, entry->mangled);
    if (r == CUDA_ERROR_NOT_SUPPORTED && m->device->kind == RT_SIMT && simt_take_fault(&why))
        return load_failed(m, r, why.text, e);
    status = rt_device_check(m->device, r, e, entry->name);
    if (status != RT_OK) return status;
    *out = (struct rt_function){.handle = f,
                                .registers = attribute(d, f, CU_FUNC_ATTRIBUTE_NUM_REGS),
                                .shared_bytes = attribute(d, f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
                                .local_bytes = attribute(d, f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
                                .max_threads = attribute(d, f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)};
    for (int k = 0; k < 3; k++)
        out->cluster[k] = (unsigned)attribute(d, f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + k);
    return RT_OK;
}

struct rt_function *rt_module_function(const struct rt_kernel *k, struct rt_error *e)
{
    struct rt_module *m = k->module;
    struct rt_function *f = &m->functions[k->entry - m->program->entries];
    if (m->generation != m->device->generation) {
        memset(m->functions, 0, m->program->entry_count * sizeof *f);
        if (load(m, e) != RT_OK) return NULL;
    }
    if (!f->handle && get_function(m, k->entry, f, e) != RT_OK) return NULL;
    return f;
}

/* "saxpy, scale<float>" */
static void list_kernels(const struct rt_program *p, char *buffer, size_t size)
{
    size_t n = 0;
    *buffer = 0;
    for (size_t i = 0; i < p->entry_count && n < size; i++)
        n += (size_t)snprintf(buffer + n, size - n, "%s%s", i ? ", " : "", p->entries[i].name);
}

/* The entry of that name; without its template arguments or namespace when that says which one. */
static const struct rt_entry *find_entry(const struct rt_program *p, const char *name)
{
    const struct rt_entry *found = NULL;
    for (size_t i = 0; i < p->entry_count; i++) {
        if (strcmp(p->entries[i].name, name) == 0 || strcmp(p->entries[i].mangled, name) == 0) return &p->entries[i];
    }
    for (size_t i = 0; i < p->entry_count; i++) {
        const char *full = p->entries[i].name, *end = full + strcspn(full, "<"), *start = end;
        while (start > full && start[-1] != ':') start--;
        if (strlen(name) != (size_t)(end - start) || memcmp(start, name, (size_t)(end - start)) != 0) continue;
        if (found) return NULL;
        found = &p->entries[i];
    }
    return found;
}

/* Why there is no entry of that name, or no single one. */
static enum rt_status no_entry(const struct rt_program *p, const char *name, struct rt_error *e)
{
    char names[1024];
    list_kernels(p, names, sizeof names);
    if (p->entry_count == 0) {
        const char *template = strstr(p->text, "template");
        return rt_fail(e, RT_INVALID,
                       template ? "there is no kernel in the source but a template; say for which types it is "
                                  "wanted, as in gpu.kernel{source = text, instantiate = {\"scale<float>\"}}"
                                : "there is no kernel in the source: no function is marked __global__");
    }
    if (!name) return rt_fail(e, RT_INVALID, "there are several kernels in the source; name one of %s", names);
    return rt_fail(e, RT_INVALID, "there is no kernel '%s' in the source; there are %s", name, names);
}

enum rt_status rt_module_kernel(struct rt_module *m, const char *name, struct rt_kernel *out, struct rt_error *e)
{
    *out = (struct rt_kernel){0};
    const struct rt_program *p = m->program;
    const struct rt_entry *entry = name ? find_entry(p, name) : p->entry_count == 1 ? p->entries : NULL;
    if (!entry) return no_entry(p, name, e);
    struct rt_kernel k = {.module = m, .program = m->program, .entry = entry};
    const struct rt_function *f = rt_module_function(&k, e);
    /* One of several kernels that the device cannot run says so when it is launched. */
    if (!f && (!e || e->status != RT_UNSUPPORTED || p->entry_count == 1)) return e ? e->status : RT_DEVICE;
    if (f) {
        k.function = f->handle;
        k.registers = f->registers;
        k.shared_bytes = f->shared_bytes;
        k.local_bytes = f->local_bytes;
        k.max_threads = f->max_threads;
    } else {
        rt_error_clear(e);
    }
    rt_module_retain(m);
    *out = k;
    return RT_OK;
}

void rt_kernel_release(struct rt_kernel *k)
{
    rt_module_release(k->module);
    *k = (struct rt_kernel){0};
}

/* ---- signatures as text ---- */

/* "const float *x": a type with a name where C puts it (functions' pointers aside, whose name is left out). */
static void param_text(const struct rt_param *p, char *buffer, size_t size)
{
    size_t n = strlen(p->type);
    char last = n ? p->type[n - 1] : 0;
    if (!p->name || last == ')' || last == ']')
        snprintf(buffer, size, "%s", p->type);
    else
        snprintf(buffer, size, "%s%s%s", p->type, last == '*' || last == '&' ? "" : " ", p->name);
}

char *rt_entry_text(const struct rt_entry *entry, char *buffer, size_t size)
{
    char text[256];
    size_t n = (size_t)snprintf(buffer, size, "(");
    for (size_t i = 0; i < entry->param_count && n < size; i++) {
        param_text(&entry->params[i], text, sizeof text);
        n += (size_t)snprintf(buffer + n, size - n, "%s%s", i ? ", " : "", text);
    }
    if (n < size) snprintf(buffer + n, size - n, ")");
    return buffer;
}
