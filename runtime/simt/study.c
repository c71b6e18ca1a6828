#include "runtime/simt/study.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/exec.h"

static bool refuse(struct simt_fault *fault, const struct simt_launch *l, const struct rt_error *e)
{
    *fault = (struct simt_fault){.kind = e->status == RT_UNSUPPORTED ? SIMT_FAULT_UNSUPPORTED : SIMT_FAULT_NOMEM};
    snprintf(fault->kernel, sizeof fault->kernel, "%s", simt_function_info(l->function)->name);
    snprintf(fault->text, sizeof fault->text, "%s", e->text ? e->text : "out of memory");
    return false;
}

/* Pointers to functions that lie in memory are the base's: they mean the same in a program of another compilation only
 * when its functions stand in the same places. */
static bool pointers_agree(const struct simt_program *p, const struct simt_program *base)
{
    bool through_pointers = false, agree = true;
    for (uint32_t k = 0; k < p->call_count; k++) through_pointers |= p->calls[k].function == -1;
    for (uint32_t a = 0; through_pointers && a < p->function_count; a++)
        for (uint32_t b = 0; b < base->function_count; b++)
            agree &= a == b || p->functions[a].is_entry || strcmp(p->functions[a].name, base->functions[b].name) != 0;
    return agree;
}

bool simt_study_open(const char *ptx, const struct simt_launch *l, struct ptx_module **module,
                     struct simt_program **program, uint32_t ***slots, const struct simt_function **function,
                     struct simt_fault *fault)
{
    struct rt_error e = {0};
    const char *name = simt_function_info(l->function)->name;
    *program = NULL;
    *module = ptx_parse(ptx, strlen(ptx), &e);
    if (*module && slots) {
        *slots = rt_calloc((*module)->func_count + 1, sizeof **slots);
        if (!*slots) rt_fail(&e, RT_NOMEM, "out of memory for the registers of %s", name);
    }
    if (*module && (!slots || *slots))
        *program = simt_program_again(*module, l->function->program, slots ? *slots : NULL, &e);
    *function = *program ? simt_program_function(*program, name) : NULL;
    if (*program && !*function)
        rt_fail(&e, RT_UNSUPPORTED, "the kernel %s is not in the program made to watch it", name);
    if (*function && !pointers_agree(*program, l->function->program)) {
        rt_fail(&e, RT_UNSUPPORTED, "%s calls functions through pointers, which differ in the program made to watch it",
                name);
        *function = NULL;
    }
    if (*function && simt_function_refused(*function)) {
        rt_fail(&e, RT_UNSUPPORTED, "%s", simt_function_refused(*function));
        *function = NULL;
    }
    if (!*function) refuse(fault, l, &e);
    rt_error_clear(&e);
    return *function != NULL;
}
