/* The software GPU's driver: modules and their functions, attributes and occupancy. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"
#include "runtime/simt/fatbin.h"
#include "runtime/threads.h"

static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Modules ---- */

CUresult simt_jit_options(unsigned count, const CUjit_option *options, void **values, struct simt_jit *out)
{
    *out = (struct simt_jit){0};
    clock_gettime(CLOCK_MONOTONIC, &out->start);
    if (count > 0 && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        switch (options[i]) {
        case CU_JIT_ERROR_LOG_BUFFER: out->error = values[i]; break;
        case CU_JIT_INFO_LOG_BUFFER: out->info = values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            out->error_size = (unsigned)(uintptr_t)values[i];
            out->error_written = &values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            out->info_size = (unsigned)(uintptr_t)values[i];
            out->info_written = &values[i];
            break;
        case CU_JIT_WALL_TIME: out->time = &values[i]; break;
        case CU_JIT_MAX_REGISTERS: out->registers = (int)(unsigned)(uintptr_t)values[i]; break;
        default: /* options for a compiler that is not here */
            if (options[i] >= CU_JIT_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
            break;
        }
    }
    return CUDA_SUCCESS;
}

static void write_log(char *buffer, size_t size, void **written, const char *text)
{
    size_t n = 0;
    if (buffer && size > 0) {
        snprintf(buffer, size, "%s", text);
        n = strlen(buffer);
    }
    if (written) *written = (void *)(uintptr_t)n;
}

void simt_jit_result(const struct simt_jit *jit, const char *error, const char *info)
{
    struct timespec now;
    write_log(jit->error, jit->error_size, jit->error_written, error);
    write_log(jit->info, jit->info_size, jit->info_written, info);
    if (!jit->time) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    float ms = (float)(now.tv_sec - jit->start.tv_sec) * 1e3f + (float)(now.tv_nsec - jit->start.tv_nsec) * 1e-6f;
    memcpy(jit->time, &ms, sizeof ms); /* in the value's first bytes, as the driver API says */
}

static CUresult result_of(enum rt_status status)
{
    switch (status) {
    case RT_OK: return CUDA_SUCCESS;
    case RT_NOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
    case RT_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    case RT_MISSING: return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
    default: return CUDA_ERROR_INVALID_PTX;
    }
}

CUresult simt_read_ptx(const char *text, size_t length, struct ptx_module **out, struct rt_error *e)
{
    *out = ptx_parse(text, length, e);
    if (*out) return CUDA_SUCCESS;
    return e->status == RT_UNSUPPORTED ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : result_of(e->status);
}

static CUresult load_text(const char *text, struct simt_program **out, struct rt_error *e)
{
    struct ptx_module *ptx;
    TRY(simt_read_ptx(text, strlen(text), &ptx, e));
    if (ptx_prepare(ptx, e)) {
        simt_lock();
        *out = simt_program_new(ptx, e);
        simt_unlock();
    }
    ptx_free(ptx);
    return *out ? CUDA_SUCCESS : result_of(e->status);
}

static CUresult load_image(const void *image, struct simt_program **out, struct rt_error *e)
{
    switch (simt_image_kind(image)) {
    case SIMT_IMAGE_TEXT: return load_text(image, out, e);
    case SIMT_IMAGE_ELF:
        rt_fail(e, RT_UNSUPPORTED, "the software GPU runs PTX; this image is binary code for a GPU");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case SIMT_IMAGE_FATBIN: break;
    }
    char *text = simt_fatbin_ptx(image, e);
    if (!text) return e->status == RT_UNSUPPORTED ? CUDA_ERROR_NO_BINARY_FOR_GPU : result_of(e->status);
    CUresult r = load_text(text, out, e);
    free(text);
    return r;
}

void simt_drop_module(CUmodule m)
{
    struct CUfunc_st *f = m->functions;
    while (f) {
        struct CUfunc_st *next = f->next;
        simt_handle_remove(f, SIMT_FUNCTION);
        free(f->staged);
        free(f);
        f = next;
    }
    simt_lock();
    if (m->program) simt_program_free(m->program);
    simt_unlock();
    free(m);
}

/* Why the first kernel that cannot run cannot; "" when all can. The others can be had. */
static const char *refusal_in(const struct simt_program *p)
{
    const struct simt_function *f;
    for (size_t k = 0; p && (f = simt_program_entry(p, k)); k++)
        if (simt_function_refused(f)) return simt_function_refused(f);
    return "";
}

CUresult simt_ModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                               void **values)
{
    struct simt_jit jit;
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    r = simt_jit_options(count, options, values, &jit);
    if (r != CUDA_SUCCESS) return r;
    struct rt_error e = {0};
    CUmodule m = rt_calloc(1, sizeof *m);
    if (m) m->context = simt_current();
    r = m ? load_image(image, &m->program, &e) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS && jit.registers > 0) simt_program_limit_registers(m->program, jit.registers);
    if (r == CUDA_SUCCESS && !simt_handle_add(m, SIMT_MODULE)) r = CUDA_ERROR_OUT_OF_MEMORY;
    simt_jit_result(&jit, r != CUDA_SUCCESS && e.text ? e.text : "", r == CUDA_SUCCESS ? refusal_in(m->program) : "");
    if (r != CUDA_SUCCESS && e.text && simt_watch.refuse) simt_watch.refuse(e.text, r);
    rt_error_clear(&e);
    if (r == CUDA_SUCCESS) {
        *module = m;
    } else if (m) {
        simt_drop_module(m);
    }
    return r;
}

CUresult simt_ModuleUnload(CUmodule module)
{
    CUresult r = simt_check_device(0);
    if (r != CUDA_SUCCESS) return r;
    simt_settle(false);
    if (!simt_handle_remove(module, SIMT_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    simt_drop_module(module);
    return CUDA_SUCCESS;
}

static struct CUfunc_st *new_function(CUmodule m, const struct simt_function *function)
{
    struct CUfunc_st *f = rt_calloc(1, sizeof *f);
    if (!f) return NULL;
    const struct simt_function_info *info = simt_function_info(function);
    f->function = function;
    f->name = info->name;
    f->module = m;
    f->carveout = -1;
    memcpy(f->cluster, info->cluster, sizeof f->cluster);
    f->max_dynamic = info->shared_bytes < SIMT_SHARED ? (int)(SIMT_SHARED - info->shared_bytes) : 0;
    if (!simt_handle_add(f, SIMT_FUNCTION)) {
        free(f);
        return NULL;
    }
    f->next = m->functions;
    m->functions = f;
    return f;
}

CUresult simt_function_of(CUfunction *function, CUmodule module, const struct simt_function *found)
{
    if (!found) return CUDA_ERROR_NOT_FOUND;
    if (simt_function_refused(found)) {
        simt_report_refused(found);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    pthread_mutex_lock(&module_lock);
    struct CUfunc_st *f = module->functions;
    while (f && f->function != found) f = f->next;
    if (!f) f = new_function(module, found);
    pthread_mutex_unlock(&module_lock);
    if (!f) return CUDA_ERROR_OUT_OF_MEMORY;
    *function = f;
    return CUDA_SUCCESS;
}

CUresult simt_ModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!simt_handle_is(module, SIMT_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    return simt_function_of(function, module, simt_program_function(module->program, name));
}

CUresult simt_ModuleGetGlobal(CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    if (!name || (!pointer && !bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (!simt_handle_is(module, SIMT_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    uint64_t address;
    size_t size;
    if (!simt_program_global(module->program, name, &address, &size)) return CUDA_ERROR_NOT_FOUND;
    if (pointer) *pointer = address;
    if (bytes) *bytes = size;
    return CUDA_SUCCESS;
}

/* ---- Functions ---- */

CUresult simt_check_function(CUfunction function)
{
    CUresult r = simt_ready();
    if (r != CUDA_SUCCESS) return r;
    return simt_handle_is(function, SIMT_FUNCTION) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult simt_get_attribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    const struct simt_function_info *info = simt_function_info(function->function);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = info->max_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)info->shared_bytes; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)info->const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)info->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = info->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = info->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 80; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->max_dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = info->must_cluster; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = (int)function->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = function->large_clusters; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = function->cluster_policy; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult simt_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    CUresult r = simt_check_function(function);
    return r == CUDA_SUCCESS ? simt_get_attribute(value, attribute, function) : r;
}

CUresult simt_set_attribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    size_t fixed = simt_function_info(function->function)->shared_bytes;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || (size_t)value + fixed > SIMT_SHARED_OPTIN) return CUDA_ERROR_INVALID_VALUE;
        function->max_dynamic = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (simt_function_info(function->function)->cluster[0]) return CUDA_ERROR_NOT_PERMITTED;
        if (value < 0) return CUDA_ERROR_INVALID_VALUE;
        function->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (unsigned)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        if (value < 0 || value > 1) return CUDA_ERROR_INVALID_VALUE;
        function->large_clusters = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < 0 || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) return CUDA_ERROR_INVALID_VALUE;
        function->cluster_policy = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult simt_FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    CUresult r = simt_check_function(function);
    return r == CUDA_SUCCESS ? simt_set_attribute(function, attribute, value) : r;
}

int simt_active_blocks(CUfunction function, int block_size, size_t dynamic_shared)
{
    const struct simt_function_info *info = simt_function_info(function->function);
    if (block_size > info->max_threads || dynamic_shared > (size_t)function->max_dynamic) return 0;
    return simt_resident_blocks(function->function, block_size, dynamic_shared);
}

CUresult simt_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_size,
                                                        size_t dynamic_shared)
{
    CUresult r = simt_check_function(function);
    if (r != CUDA_SUCCESS) return r;
    if (!blocks || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = simt_active_blocks(function, block_size, dynamic_shared);
    return CUDA_SUCCESS;
}

/* Blocks of 256 threads: eight warps share what a block costs to set up, and small grids still have enough blocks for
 * all host threads. */
CUresult simt_OccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                             CUoccupancyB2DSize shared_of_block, size_t dynamic_shared, int block_limit)
{
    CUresult r = simt_check_function(function);
    if (r != CUDA_SUCCESS) return r;
    if (!grid || !block || block_limit < 0) return CUDA_ERROR_INVALID_VALUE;
    int size = 256, most = simt_function_info(function->function)->max_threads;
    if (size > most) size = most;
    if (block_limit > 0 && size > block_limit) size = block_limit;
    int blocks = 0;
    for (; size > 0; size = size > SIMT_WARP ? size - SIMT_WARP : 0) {
        blocks = simt_active_blocks(function, size, shared_of_block ? shared_of_block(size) : dynamic_shared);
        if (blocks > 0) break;
    }
    if (blocks == 0) return CUDA_ERROR_INVALID_VALUE;
    *block = size;
    *grid = blocks * rt_thread_count();
    return CUDA_SUCCESS;
}
