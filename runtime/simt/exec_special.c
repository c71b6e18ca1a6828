/* Special registers: what a thread can ask about itself, its block and the time. */
#include <string.h>
#include "runtime/host.h"
#include "runtime/threads.h"
#include "runtime/simt/exec.h"

static uint64_t special_value(const struct warp *w, enum special r, uint32_t of)
{
    const struct worker *k = w->worker;
    const struct simt_launch *l = k->run->launch;
    const unsigned *size = k->run->cluster;
    uint32_t lane = simt_original(w, of), below = (1u << lane) - 1, bit = 1u << lane, axis;
    switch (r) {
    case SR_TID_X:
    case SR_TID_Y:
    case SR_TID_Z: return w->tid[r - SR_TID_X][lane];
    case SR_NTID_X:
    case SR_NTID_Y:
    case SR_NTID_Z: return l->block[r - SR_NTID_X];
    case SR_CTAID_X:
    case SR_CTAID_Y:
    case SR_CTAID_Z: return k->block[r - SR_CTAID_X];
    case SR_NCTAID_X:
    case SR_NCTAID_Y:
    case SR_NCTAID_Z: return l->grid[r - SR_NCTAID_X];
    case SR_LANEID: return lane;
    case SR_WARPID: return (uint64_t)w->index;
    case SR_NWARPID: return k->warp_count;
    case SR_SMID: return (uint64_t)k->multiprocessor;
    case SR_NSMID: return (uint64_t)rt_thread_count();
    case SR_GRIDID: return 1;
    case SR_LANEMASK_EQ: return bit;
    case SR_LANEMASK_LE: return bit | below;
    case SR_LANEMASK_LT: return below;
    case SR_LANEMASK_GE: return (uint32_t)~below;
    case SR_LANEMASK_GT: return (uint32_t) ~(below | bit);
    case SR_CLOCK:
    case SR_CLOCK64:
    case SR_GLOBALTIMER: return (uint64_t)rt_now_ns();
    case SR_GLOBALTIMER_LO: return (uint32_t)rt_now_ns();
    case SR_GLOBALTIMER_HI: return (uint64_t)rt_now_ns() >> 32;
    case SR_DYNAMIC_SMEM: return l->dynamic_shared;
    case SR_TOTAL_SMEM: return k->shared_bytes;
    case SR_ENVREG1: return k->run->workspace >> 32;
    case SR_ENVREG2: return (uint32_t)k->run->workspace;
    case SR_CLUSTERID_X:
    case SR_CLUSTERID_Y:
    case SR_CLUSTERID_Z: axis = r - SR_CLUSTERID_X; return k->block[axis] / size[axis];
    case SR_NCLUSTERID_X:
    case SR_NCLUSTERID_Y:
    case SR_NCLUSTERID_Z: axis = r - SR_NCLUSTERID_X; return l->grid[axis] / size[axis];
    case SR_CLUSTER_CTAID_X:
    case SR_CLUSTER_CTAID_Y:
    case SR_CLUSTER_CTAID_Z: axis = r - SR_CLUSTER_CTAID_X; return k->block[axis] % size[axis];
    case SR_CLUSTER_NCTAID_X:
    case SR_CLUSTER_NCTAID_Y:
    case SR_CLUSTER_NCTAID_Z: return size[r - SR_CLUSTER_NCTAID_X];
    case SR_CLUSTER_CTARANK: return k->rank;
    case SR_CLUSTER_NCTARANK: return k->cluster->size;
    case SR_RESERVED_MIDDLE: return RESERVED_SHARED / 2;
    case SR_RESERVED_END: return RESERVED_SHARED;
    case SR_ZERO:
    case SR_COUNT: break;
    }
    return 0;
}

enum event simt_op_special(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    enum special r = (enum special)i->mode;
    if (i->size == 4 && r <= SR_TID_Z && m == FULL) {
        memcpy(R + i->d, w->tid[r - SR_TID_X], sizeof w->tid[0]);
        return EV_NEXT;
    }
    if (r >= SR_CLOCK && r <= SR_GLOBALTIMER_HI) simt_waits(w, SPIN_COST); /* loops on the clock wait */
    bool same = r > SR_TID_Z && (r < SR_LANEID || r > SR_LANEMASK_GT);
    uint64_t value = special_value(w, r, (uint32_t)__builtin_ctz(m));
    if (same) {
        fill_lanes(R, i->d, i->size == 8, m, value);
        return EV_NEXT;
    }
    EACH_LANE(l, m)
    {
        value = special_value(w, r, l);
        if (i->size == 8)
            u64_at(R, i->d)[l] = value;
        else
            u32_at(R, i->d)[l] = (uint32_t)value;
    }
    return EV_NEXT;
}

enum event simt_op_local_address(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    fill_lanes(R, i->d, i->size == 8, m, (uint64_t)(w->local_base + i->imm));
    return EV_NEXT;
}
