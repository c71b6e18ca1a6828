/* How small the elements of shared variables are: where all that an entry does with a variable is plain loads and
 * stores, some of them of less than a word, checks keep tags of its bytes or halves instead of its words
 * (check_shared.c).
 *
 * Where it is under way asynchronously that is told by tags of words, which do not go with tags of less. Updates of
 * words are quick by those of words: these are kept where they do for loads of less, which is not where words are
 * loaded, too (check_parts.c), as of a table and counters in one array.
 *
 * That takes it that only these instructions come to it, so none of a function that is called may, nor one of which
 * it isn't known what its address in shared memory is made of. Generic addresses of which that isn't known are left
 * to the checks, which see where they point. */
#include <string.h>
#include "runtime/simt/async.h"
#include "runtime/simt/decode.h"
#include "runtime/simt/matrix.h"
#include "runtime/simt/tcgen05.h"

struct found {                                       /* variables by bits, as simt_unit_bit has them */
    uint64_t bytes, halves, loaded, updated, others; /* loaded: words; updated: the same, by atomics */
};

static bool is_plain(const struct insn *i)
{
    return (i->memory == MEMORY_LOAD || i->memory == MEMORY_STORE) && !simt_is_mbarrier(i);
}

/* False: any variable may be touched by it in another way. */
static bool add(const struct simt_program *p, uint32_t pc, struct found *x)
{
    const struct insn *i = &p->code[pc];
    if (i->run == simt_op_call) return p->calls[i->extra].function < -1;
    const char *opcode = p->places[pc].opcode;
    if (simt_is_bulk(i) || simt_is_tensor_product(i) || opcode_begins(opcode, "cp.async") || is_stored_async(opcode))
        return false;
    bool moves = simt_is_matrix_move(i) || simt_is_tensor_access(i);
    if ((!i->memory || i->memory == MEMORY_FENCE) && !moves) return true;
    int n = p->places[pc].origin - SHARED_ORIGIN, bit = n < 0 ? -1 : simt_unit_bit(p, n);
    if (n < 0) return i->space != PTX_SHARED;
    if (bit < 0) return true;
    uint32_t bytes = (uint32_t)i->size * i->count;
    uint64_t *as = &x->others, other = 0;
    if (i->memory == MEMORY_ATOMIC && bytes >= 4)
        as = &x->updated;
    else if (is_plain(i) && !moves)
        as = bytes == 1 ? &x->bytes : bytes < 4 ? &x->halves : i->memory == MEMORY_LOAD ? &x->loaded : &other;
    *as |= UINT64_C(1) << bit;
    return true;
}

void simt_find_units(struct simt_program *p)
{
    for (uint32_t k = 0; k < p->function_count && !p->maps_shared; k++) {
        struct function *f = &p->functions[k];
        struct found x = {0};
        bool known = f->is_entry;
        for (uint32_t pc = f->setup; pc < f->end && known; pc++) known = add(p, pc, &x);
        if (!known) continue;
        uint64_t fit = ~x.others & (x.loaded | ~x.updated);
        f->byte_units = x.bytes & fit;
        f->half_units = x.halves & fit;
    }
}
