/* Variables of a module as arrays: where they are, the driver says; what they are, the source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/module.h"
#include "runtime/signature.h"

/* "ns::table" as its symbol: "_ZN2ns5tableE"; a plain name is one already. False when it is too long. */
static bool symbol_of(const char *name, char *out, size_t size)
{
    if (!strstr(name, "::")) return (size_t)snprintf(out, size, "%s", name) < size;
    size_t n = (size_t)snprintf(out, size, "_ZN");
    while (n < size) {
        size_t length = strcspn(name, ":");
        n += (size_t)snprintf(out + n, size - n, "%zu%.*s", length, (int)length, name);
        if (!name[length]) break;
        name += length + strspn(name + length, ":");
    }
    if (n < size) n += (size_t)snprintf(out + n, size - n, "E");
    return n < size;
}

static const struct rt_source_variable *find(const struct rt_source_variable *list, size_t count, const char *name)
{
    const char *colon = strrchr(name, ':');
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, colon ? colon + 1 : name) == 0) return &list[i];
    return NULL;
}

static enum rt_status not_there(const struct rt_source_variable *list, size_t count, const char *name,
                                struct rt_error *e)
{
    char names[512] = "";
    size_t n = 0;
    if (find(list, count, name))
        return rt_fail(e, RT_INVALID,
                       "the variable '%s' is not in the compiled module: no kernel uses it, or it stands in a "
                       "namespace, as in \"ns::%s\"",
                       name, name);
    for (size_t i = 0; i < count && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "; there are ", list[i].name);
    return rt_fail(e, RT_INVALID, "there is no __device__ or __constant__ variable '%s' in the source%s", name, names);
}

/* Fills in the one size that the source does not tell; false when the sizes do not make the elements. */
static bool axes_of(const struct rt_source_variable *v, uint64_t elements, int64_t *shape)
{
    uint64_t known = 1;
    int unknown = -1;
    for (int i = 0; i < v->ndim; i++) {
        if (v->shape[i] > elements || (v->shape[i] == 0 && unknown >= 0)) return false;
        if (v->shape[i] == 0) unknown = i;
        if (v->shape[i] != 0 && __builtin_mul_overflow(known, v->shape[i], &known)) return false;
        shape[i] = (int64_t)v->shape[i];
    }
    if (unknown >= 0) shape[unknown] = (int64_t)(elements / known);
    return unknown >= 0 ? elements % known == 0 : elements == known;
}

/* The variable's shape: what the source says, or one axis where its sizes are not told there. False when elements do
 * not make the bytes. */
static bool shape_of(const struct rt_source_variable *v, enum rt_dtype t, int lanes, size_t bytes, int *ndim,
                     int64_t *shape)
{
    size_t element = (size_t)rt_dtypes[t].size * (unsigned)lanes;
    int n = v->ndim;
    if (bytes % element != 0) return false;
    if (!axes_of(v, bytes / element, shape)) {
        if (n == 0) return false;
        shape[0] = (int64_t)(bytes / element);
        n = 1;
    }
    if (lanes > 1) shape[n++] = lanes;
    if (n == 0) shape[n++] = 1;
    *ndim = n;
    return true;
}

static enum rt_status untyped(const struct rt_source_variable *v, const char *name, size_t bytes, struct rt_error *e)
{
    return rt_fail(e, RT_INVALID,
                   "the variable '%s' has %zu bytes of the type %s, which no dtype is; say how to see it, as in "
                   "k:global(\"%s\", \"uint8\")",
                   name, bytes, v ? v->type : "that the source does not tell", name);
}

static void release_module(void *module)
{
    rt_module_release(module);
}

static enum rt_status make_array(const struct rt_kernel *k, const char *name, const struct rt_source_variable *v,
                                 enum rt_dtype dtype, uint64_t address, size_t bytes, struct rt_array *out,
                                 struct rt_error *e)
{
    int lanes = 1, ndim = 1;
    enum rt_dtype t = dtype != RT_DTYPE_COUNT ? dtype : v ? rt_type_dtype(v->type, &lanes) : RT_DTYPE_COUNT;
    if (t == RT_DTYPE_COUNT) return untyped(v, name, bytes, e);
    int64_t shape[RT_SOURCE_AXES + 1] = {(int64_t)(bytes / rt_dtypes[t].size)};
    if (dtype != RT_DTYPE_COUNT && bytes % rt_dtypes[t].size != 0)
        return rt_fail(e, RT_INVALID, "the variable '%s' has %zu bytes, which are no whole number of %s", name, bytes,
                       rt_dtypes[t].name);
    if (dtype == RT_DTYPE_COUNT && !shape_of(v, t, lanes, bytes, &ndim, shape)) return untyped(v, name, bytes, e);
    struct rt_module *m = rt_module_retain(k->module);
    struct rt_storage *s = rt_storage_over(m->device, address, bytes, m, release_module, e);
    if (!s) {
        rt_module_release(m);
        return RT_NOMEM;
    }
    rt_array_over(s, t, ndim, shape, out);
    return RT_OK;
}

enum rt_status rt_kernel_global(const struct rt_kernel *k, const char *name, enum rt_dtype dtype, struct rt_array *out,
                                struct rt_error *e)
{
    struct rt_module *m = k->module;
    struct rt_source_variable *list = NULL;
    size_t count = 0, bytes = 0;
    CUdeviceptr address = 0;
    char symbol[1024];
    *out = (struct rt_array){0};
    enum rt_status status = rt_device_enter(m->device, e);
    if (status == RT_OK && !rt_module_function(k, e)) status = e ? e->status : RT_DEVICE; /* loads what was lost */
    if (status == RT_OK) status = rt_source_variables(m->program->text, strlen(m->program->text), &list, &count, e);
    if (status != RT_OK) return status;
    CUresult r = symbol_of(name, symbol, sizeof symbol)
                     ? m->device->driver->ModuleGetGlobal(&address, &bytes, m->handle, symbol)
                     : CUDA_ERROR_NOT_FOUND;
    if (r == CUDA_ERROR_NOT_FOUND)
        status = not_there(list, count, name, e);
    else if (r != CUDA_SUCCESS)
        status = rt_device_check(m->device, r, e, name);
    else
        status = make_array(k, name, find(list, count, name), dtype, address, bytes, out, e);
    rt_source_variables_free(list, count);
    return status;
}
