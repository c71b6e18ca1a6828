/* Memory lane by lane: every address that the vector ops do not see through at a glance, the windows of generic
 * addresses, local memory and parameters, and the words for a wrong address. */
#include <stdio.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/heap.h"
#include "runtime/simt/tally.h"

#define NULL_PAGE 65536 /* what is below was reached from a null pointer */

/* ---- faults ---- */
/* "N bytes past the end of an allocation of M bytes". */
static void describe_neighbour(uint64_t address, char *text, size_t n)
{
    struct simt_block b;
    if (!simt_nearest(address, &b))
        snprintf(text, n, ", where nothing is allocated");
    else if (address < b.address)
        snprintf(text, n, ", %llu bytes before an allocation of %llu bytes", (unsigned long long)(b.address - address),
                 (unsigned long long)b.bytes);
    else
        snprintf(text, n, ", %llu bytes past the end of an allocation of %llu bytes",
                 (unsigned long long)(address - b.address - b.bytes), (unsigned long long)b.bytes);
}

static void *fault_address(struct warp *w, const struct insn *i, int lane, uint64_t address, uint32_t size,
                           const char *where)
{
    struct simt_fault *f = &w->worker->fault;
    simt_fault_set(w, lane, SIMT_FAULT_ADDRESS, "%s of %u bytes at 0x%llx", i->flags & F_STORE ? "write" : "read", size,
                   (unsigned long long)address);
    f->access_length = strlen(f->text);
    snprintf(f->text + f->access_length, sizeof f->text - f->access_length, "%s", where);
    f->address = address;
    return NULL;
}

static void *fault_global(struct warp *w, const struct insn *i, int lane, uint64_t address, uint32_t size)
{
    char where[128];
    struct simt_block b;
    bool live;
    if (address < SIMT_PARAM_BASE && address < NULL_PAGE)
        snprintf(where, sizeof where, address ? ", next to a null pointer" : ", a null pointer");
    else if (address < SIMT_GLOBAL_BASE)
        snprintf(where, sizeof where, ", which is no address of this device");
    else if (simt_heap_find(address, &b, &live) && !b.bytes)
        snprintf(where, sizeof where, ", in the heap of malloc, where nothing is allocated or no longer");
    else if (simt_find(address, &b))
        snprintf(where, sizeof where, ", reaching %llu bytes past the end of an allocation of %llu bytes",
                 (unsigned long long)(address + size - b.address - b.bytes), (unsigned long long)b.bytes);
    else
        describe_neighbour(address, where, sizeof where);
    fault_address(w, i, lane, address, size, where);
    w->worker->fault.null = address < NULL_PAGE;
    return NULL;
}

static void *fault_window(struct warp *w, const struct insn *i, int lane, uint64_t offset, uint32_t size,
                          const char *name, uint64_t limit)
{
    char where[192];
    const uint64_t before = offset < (uint64_t)1 << 31 ? 0 : ((uint64_t)1 << (offset >> 32 ? 48 : 32)) - offset;
    const bool begins = offset < limit;
    if (!limit && strcmp(name, "shared") == 0)
        snprintf(
            where, sizeof where,
            " of shared memory, of which the launch gave none: the bytes of an extern __shared__ array stand in its "
            "configuration, behind grid and block");
    else if (before && before < (uint64_t)1 << 31) /* a negative index */
        snprintf(where, sizeof where, " of %s memory, %llu bytes before the first of its %llu bytes", name,
                 (unsigned long long)before, (unsigned long long)limit);
    else
        snprintf(where, sizeof where, " of %s memory, %s%llu bytes past the end of its %llu bytes", name,
                 begins ? "reaching " : "", (unsigned long long)(begins ? offset + size - limit : offset - limit),
                 (unsigned long long)limit);
    return fault_address(w, i, lane, offset, size, where);
}

static void *fault_aligned(struct warp *w, const struct insn *i, int lane, uint64_t address, uint32_t size)
{
    simt_fault_set(w, lane, SIMT_FAULT_MISALIGNED, "%s of %u bytes at 0x%llx, which is not a multiple of %u",
                   i->flags & F_STORE ? "write" : "read", size, (unsigned long long)address, size);
    w->worker->fault.address = address;
    return NULL;
}

/* ---- addresses ---- */
static bool within(uint64_t offset, uint32_t size, uint64_t limit)
{
    return offset <= limit && limit - offset >= size;
}

bool simt_range_find(struct worker *k, struct range *g, uint64_t address, uint64_t bytes)
{
    struct simt_block b;
    struct simt_mapped m;
    bool mapped = address < SIMT_GLOBAL_BASE && simt_mapped_find(address, &m);
    if (mapped) b = (struct simt_block){m.start, m.bytes};
    if (!mapped && !simt_find(address, &b)) return false;
    if (address - b.address > b.bytes || b.bytes - (address - b.address) < bytes) return false;
    if (!mapped) simt_tally_found(k, &b);
    *g = (struct range){.low = b.address, .high = b.address + b.bytes, .bias = mapped ? 0 : k->bias};
    return true;
}

static void *global_address(struct warp *w, const struct insn *i, int lane, uint64_t address, uint32_t size)
{
    struct range *g = &w->worker->ranges[i->d2];
    bool there = address >= g->low && within(address - g->low, size, g->high - g->low);
    if (!there && !simt_range_find(w->worker, g, address, size)) return fault_global(w, i, lane, address, size);
    return (char *)address + g->bias;
}

/* Of the own block or of another one in its cluster. */
static void *shared_address(struct warp *w, const struct insn *i, int lane, uint64_t address, uint32_t size)
{
    struct worker *k = w->worker, *owner = simt_cluster_owner(k, &address);
    if (owner && within(address, size, owner->shared_bytes)) return owner->shared + address;
    if (!owner || owner == k) return fault_window(w, i, lane, address, size, "shared", k->shared_bytes);
    char where[192];
    snprintf(where, sizeof where,
             " of the shared memory of block %u of the cluster, %llu bytes past the end of its %u bytes", owner->rank,
             (unsigned long long)(address > owner->shared_bytes ? address - owner->shared_bytes : 0),
             owner->shared_bytes);
    return fault_address(w, i, lane, address, size, where);
}

void *simt_lane_address(struct warp *w, const struct insn *i, int lane, enum ptx_space space, uint64_t address,
                        uint32_t size, bool store)
{
    struct worker *k = w->worker;
    (void)store;
    if (address & (size - 1)) return fault_aligned(w, i, lane, address, size);
    if (space == PTX_GENERIC) {
        uint64_t window = address >> 48;
        space = window == 1 ? PTX_SHARED : window == 2 ? PTX_LOCAL : window == 3 ? PTX_PARAM : PTX_GLOBAL;
        if (window >= 1 && window <= 3) address &= 0xffffffffffffu;
    }
    switch (space) {
    case PTX_SHARED: return shared_address(w, i, lane, address & 0xffffffffffu, size);
    case PTX_LOCAL:
        if (!within(address, size, k->local_bytes))
            return fault_window(w, i, lane, address, size, "local", k->local_bytes);
        return w->local + (size_t)lane * k->local_bytes + address;
    case PTX_PARAM:
        if ((i->flags & F_STORE) || !within(address, size, k->param_bytes))
            return fault_window(w, i, lane, address, size, "parameter", k->param_bytes);
        return (char *)(uintptr_t)(k->params + address);
    default: return global_address(w, i, lane, address, size);
    }
}

bool simt_lane_string(struct warp *w, int lane, uint64_t address, char *out, size_t n)
{
    const struct insn byte = {.d2 = w->worker->program->cache_count};
    for (size_t k = 0; k < n; k++) {
        const char *p = simt_lane_address(w, &byte, lane, PTX_GENERIC, address + k, 1, false);
        if (!p) return false;
        out[k] = k + 1 < n ? *p : 0;
        if (!out[k]) break;
    }
    return true;
}

/* ---- local memory and parameters ---- */
static uint64_t extend(uint64_t v, const struct insn *i)
{
    if (i->type < PTX_S8 || i->type > PTX_S64) return v;
    int unused = 64 - 8 * i->size;
    return (uint64_t)((int64_t)(v << unused) >> unused);
}
static void put(char *R, uint32_t slot, bool wide, uint32_t lane, uint64_t v)
{
    if (wide)
        u64_at(R, slot)[lane] = v;
    else
        u32_at(R, slot)[lane] = (uint32_t)v;
}

static enum event access_lanes(char *R, const struct insn *i, uint32_t m, struct warp *w, enum ptx_space space,
                               bool wide)
{
    const uint32_t *slots = i->count == 1 ? &i->d : w->worker->program->extra + i->extra;
    const uint32_t *a = u32_at(R, i->a);
    int64_t imm = i->imm + (i->flags & F_FRAME ? w->local_base : 0);
    bool store = i->flags & F_STORE;
    EACH_LANE(l, m)
    {
        uint64_t address = simt_window_address(a[l], imm);
        char *p = simt_lane_address(w, i, (int)l, space, address, (uint32_t)i->size * i->count, store);
        if (!p) return EV_FAULT;
        for (uint32_t k = 0; k < i->count; k++, p += i->size) {
            uint64_t v = store ? (wide ? u64_at(R, slots[k])[l] : u32_at(R, slots[k])[l]) : 0;
            if (store)
                simt_set_bytes(p, i->size, v);
            else
                put(R, slots[k], wide, l, extend(simt_bytes_at(p, i->size), i));
        }
    }
    return EV_NEXT;
}
static enum event local_w(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return access_lanes(R, i, m, w, PTX_LOCAL, false);
}
static enum event local_q(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return access_lanes(R, i, m, w, PTX_LOCAL, true);
}
/* Nearly every kernel begins with these: one value for all lanes. */
static inline enum event load_param(char *R, const struct insn *i, uint32_t m, struct warp *w, bool wide)
{
    const struct worker *k = w->worker;
    if (!(i->flags & F_UNIFORM) || i->count != 1 || (i->imm & (i->size - 1)) ||
        !within((uint64_t)i->imm, i->size, k->param_bytes))
        return access_lanes(R, i, m, w, PTX_PARAM, wide);
    const char *p = k->params + i->imm;
    fill_lanes(R, i->d, wide, m, extend(simt_bytes_at(p, i->size), i));
    return EV_NEXT;
}
static enum event param_w(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return load_param(R, i, m, w, false);
}
static enum event param_q(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    return load_param(R, i, m, w, true);
}

static enum event in_window(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    (void)w;
    const uint64_t *a = u64_at(R, i->a);
    uint32_t p = 0, *d = u32_at(R, i->d);
    uint64_t want = (uint64_t)i->imm >> 48;
    EACH_LANE(l, m)
    {
        uint64_t window = a[l] >> 48;
        p |= (uint32_t)(want >= 4 ? window >= 4 : window == want) << l;
    }
    *d = (*d & ~m) | p;
    return EV_NEXT;
}

#define LOADS(space, sign, bits)                                                                                       \
    {"+ld." #space "." sign bits "_w", "", space##_w, NULL, 0},                                                        \
    {                                                                                                                  \
        "+ld." #space "." sign bits "_q", "", space##_q, NULL, 0                                                       \
    }
#define STORES(bits)                                                                                                   \
    {"+st.local.u" bits "_w", "", local_w, NULL, 0},                                                                   \
    {                                                                                                                  \
        "+st.local.u" bits "_q", "", local_q, NULL, 0                                                                  \
    }
static const struct op_row rows[] = {
    LOADS(local, "u", "8"),
    LOADS(local, "u", "16"),
    LOADS(local, "u", "32"),
    LOADS(local, "u", "64"),
    LOADS(local, "s", "8"),
    LOADS(local, "s", "16"),
    LOADS(local, "s", "32"),
    LOADS(param, "u", "8"),
    LOADS(param, "u", "16"),
    LOADS(param, "u", "32"),
    LOADS(param, "u", "64"),
    LOADS(param, "s", "8"),
    LOADS(param, "s", "16"),
    LOADS(param, "s", "32"),
    STORES("8"),
    STORES("16"),
    STORES("32"),
    STORES("64"),
    {"+isspacep", "", in_window, NULL, 0},
};
const struct op_table simt_ops_memory = {rows, sizeof rows / sizeof *rows};
