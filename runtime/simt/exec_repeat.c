/* Warps of fewer than 32 threads that run code made for 32: lanes without a thread repeat one that has (jit.c). What
 * must not be done twice is done for the threads alone, and those that repeat them are given what came out:
 *
 * - atomics, and accesses that wait for other threads;
 * - loads of memory that other blocks may change meanwhile: the two would see different things, and go different ways;
 * - stores there: another thread may have taken what the first of them gave away.
 *
 * Local memory is each lane's own. The block's shared memory belongs to one host thread: a plain access to it is one
 * for all lanes. Exchanges between lanes (ops_warp.c) know of lanes that repeat others by themselves. */
#include "runtime/simt/decode.h"
#include "runtime/simt/exec.h"

bool simt_runs_once(const struct insn *i)
{
    bool global = i->space == PTX_GLOBAL, shared = i->space == PTX_SHARED, spins = (i->flags & F_SPIN) != 0;
    switch ((enum memory_kind)i->memory) {
    case MEMORY_LOAD: return global || i->space == PTX_GENERIC || spins;
    case MEMORY_STORE: return global || (shared && spins);
    case MEMORY_ATOMIC: return (global || shared) && i->size <= 8;
    default: return false;
    }
}

void simt_repeat_result(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    bool several = i->memory == MEMORY_LOAD && i->count > 1;
    const uint32_t *slots = several ? w->worker->program->extra + i->extra : &i->d;
    if (i->memory == MEMORY_ATOMIC ? i->extra != 0 : i->memory != MEMORY_LOAD) return;
    for (int k = 0; k < (several ? i->count : 1); k++) {
        if (slots[k] == SLOT_SINK) continue;
        EACH_LANE(l, m & ~w->threads)
        {
            uint32_t from = simt_original(w, l);
            if (i->flags & F_WIDE)
                u64_at(R, slots[k])[l] = u64_at(R, slots[k])[from];
            else
                u32_at(R, slots[k])[l] = u32_at(R, slots[k])[from];
        }
    }
}

enum event simt_run_once(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    uint32_t real = m & w->threads;
    enum event ev = real ? i->run(R, i, real, w) : EV_NEXT;
    simt_repeat_result(R, i, m, w);
    return ev;
}
