/* A decoded program, once it is made: what is asked of it, and its end. */
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/jit.h"

static void drop_global(struct global *g)
{
    if (!g->address || g->borrowed) return;
    if (!g->managed) {
        simt_free(g->address);
        return;
    }
    simt_unmap(g->address);
    free((void *)(uintptr_t)g->address);
}

void simt_program_free(struct simt_program *p)
{
    if (!p) return;
    simt_jit_free(p);
    for (uint32_t k = 0; k < p->function_count; k++) {
        struct function *f = &p->functions[k];
        free(f->name);
        free(f->refused);
        free(f->slots);
        free(f->param_offset);
        free(f->param_size);
        free(f->return_offset);
        free(f->return_size);
    }
    for (uint32_t k = 0; k < p->entry_count; k++) free(p->entries[k].info.params);
    for (uint32_t k = 0; k < p->global_count; k++) {
        drop_global(&p->globals[k]);
        free(p->globals[k].name);
    }
    for (uint32_t k = 0; k < p->call_count; k++) {
        free(p->calls[k].arg_offset);
        free(p->calls[k].return_offset);
    }
    for (uint32_t k = 0; k < p->table_count; k++) free(p->tables[k].targets);
    for (size_t k = 0; k < p->file_count && p->files; k++) free(p->files[k]);
    while (p->strings) {
        struct string_list *next = p->strings->next;
        free(p->strings);
        p->strings = next;
    }
    free(p->files);
    free(p->functions);
    free(p->entries);
    for (uint32_t k = 0; k < p->shared_count; k++) free(p->shared[k].name);
    free(p->shared);
    free(p->globals);
    free(p->calls);
    free(p->tables);
    free(p->constants);
    free(p->extra);
    free(p->terms);
    free(p->facts);
    free(p->conditions);
    free(p->choices);
    free(p->still);
    free(p->fixed);
    free(p->blocks);
    free(p->ways);
    free(p->loops);
    free(p->uses);
    free(p->code);
    free(p->places);
    free(p);
}

const struct simt_function *simt_program_function(const struct simt_program *p, const char *name)
{
    for (uint32_t k = 0; k < p->entry_count; k++)
        if (!strcmp(p->entries[k].info.name, name)) return &p->entries[k];
    return NULL;
}

const struct simt_function *simt_program_entry(const struct simt_program *p, size_t index)
{
    return index < p->entry_count ? &p->entries[index] : NULL;
}

bool simt_program_global(const struct simt_program *p, const char *name, uint64_t *address, size_t *bytes)
{
    for (uint32_t k = 0; k < p->global_count; k++)
        if (!strcmp(p->globals[k].name, name)) {
            if (address) *address = p->globals[k].address;
            if (bytes) *bytes = p->globals[k].bytes;
            return true;
        }
    return false;
}

void simt_program_limit_registers(struct simt_program *p, int most)
{
    for (uint32_t k = 0; k < p->entry_count; k++)
        if (p->entries[k].info.registers > most) p->entries[k].info.registers = most;
}

const struct simt_function_info *simt_function_info(const struct simt_function *f)
{
    return &f->info;
}

const char *simt_function_refused(const struct simt_function *f)
{
    return f->code->refused;
}
