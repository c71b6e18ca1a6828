/* Memory that a function loads from and does not store to: a table that says where each thread of a block is to go.
 * What stands there is the same in all blocks, if a launch hands over no array twice, so that it is stored to by
 * another name (check_steady.c). */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define MOST 64 /* origins of stores */

/* Does an address in the instruction mean global memory, or possibly so? */
static bool is_elsewhere(const struct ptx_insn *in)
{
    static const char *const others[] = {"shared", "local", "param", "const"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (ptx_has_mod_like(in, others[k])) return false;
    return ptx_address(in);
}

static bool is_plain_load(const struct ptx_insn *in)
{
    static const char *const strong[] = {"volatile", "relaxed", "acquire", "mmio"};
    for (size_t k = 0; k < sizeof strong / sizeof *strong; k++)
        if (ptx_has_mod_like(in, strong[k])) return false;
    return !strcmp(in->opcode, "ld") && ptx_has_mod_like(in, "global");
}

static bool is_in(const int *origins, size_t count, int origin)
{
    for (size_t k = 0; k < count; k++)
        if (origins[k] == origin) return true;
    return false;
}

bool simt_find_fixed(struct decoder *d, bool *marks)
{
    static const char *const reads[] = {"ld", "ldu", "prefetch", "prefetchu"};
    const struct ptx_func *f = d->f;
    int stored[MOST];
    size_t count = 0;
    bool any = false;
    for (size_t k = 0; k < f->insn_count; k++) {
        if (!is_elsewhere(&f->insns[k]) || ONE_OF(f->insns[k].opcode, reads)) continue;
        int origin = simt_origin_of_first(d, &f->insns[k]);
        if (is_in(stored, count, origin)) continue;
        if (origin < 0 || count == MOST) return false;
        stored[count++] = origin;
    }
    for (size_t k = 0; k < f->insn_count; k++) {
        if (!is_plain_load(&f->insns[k])) continue;
        int origin = simt_origin_of_first(d, &f->insns[k]);
        marks[k] = origin >= 0 && !is_in(stored, count, origin);
        any |= marks[k];
    }
    return any;
}

bool simt_keep_fixed(struct decoder *d, const bool *marks, const bool *matters)
{
    struct simt_program *p = d->program;
    struct function *fn = d->fn;
    for (size_t k = 0; k < d->f->insn_count; k++) {
        int origin = marks[k] && matters[k] ? simt_origin_of_first(d, &d->f->insns[k]) : -1;
        if (origin < 0 || (fn->fixed_count && is_in(&p->fixed[fn->fixed_first], fn->fixed_count, origin))) continue;
        int *more = rt_realloc(p->fixed, (p->fixed_count + 1) * sizeof *more);
        if (!more) return false;
        p->fixed = more;
        more[p->fixed_count++] = origin;
        fn->fixed_count++;
    }
    return true;
}
