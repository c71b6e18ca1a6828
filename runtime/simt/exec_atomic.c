/* Atomics. On global memory they are the host's own, as blocks run at once, but for additions that are put off
 * (tally.h); a block's shared memory belongs to one host thread, so there plain ones do. */
#include <math.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/rounded.h"
#include "runtime/simt/tally.h"

enum { AT_ADD, AT_EXCH, AT_CAS, AT_MIN, AT_MAX, AT_AND, AT_OR, AT_XOR, AT_INC, AT_DEC };
static const char *const names[] = {"add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec"};

static double as_double(uint64_t v)
{
    double x;
    memcpy(&x, &v, 8);
    return x;
}
static uint64_t double_bits(double x)
{
    uint64_t v;
    memcpy(&v, &x, 8);
    return v;
}

static uint16_t half_op(int mode, bool brain, uint16_t x, uint16_t y)
{
    double a = (double)(brain ? simt_bfloat_to(x) : simt_half_to(x));
    double b = (double)(brain ? simt_bfloat_to(y) : simt_half_to(y));
    double r = mode == AT_ADD ? a + b : mode == AT_MIN ? fmin(a, b) : fmax(a, b);
    return brain ? simt_bfloat_from(r, 0) : simt_half_from(r, 0);
}

/* add, min and max of floats, or of two halves. */
static uint64_t apply_to_reals(const struct insn *i, uint64_t old, uint64_t b)
{
    enum ptx_type t = (enum ptx_type)i->type;
    if (t == PTX_F32) return simt_float_bits(simt_as_float((uint32_t)old) + simt_as_float((uint32_t)b));
    if (t == PTX_F64) return double_bits(as_double(old) + as_double(b));
    bool brain = t == PTX_BF16 || t == PTX_BF16X2, two = t == PTX_F16X2 || t == PTX_BF16X2;
    uint32_t low = half_op(i->mode, brain, (uint16_t)old, (uint16_t)b);
    return two ? low | (uint32_t)half_op(i->mode, brain, (uint16_t)(old >> 16), (uint16_t)(b >> 16)) << 16 : low;
}
static inline bool is_real(const struct insn *i)
{
    return i->type >= PTX_F16 && i->type <= PTX_F64;
}
static inline bool is_less(const struct insn *i, uint64_t x, uint64_t y)
{
    if (i->type == PTX_S32) return (int32_t)x < (int32_t)y;
    return i->type == PTX_S64 ? (int64_t)x < (int64_t)y : x < y;
}

/* The new value of a cell of up to 8 bytes. */
static inline uint64_t apply(const struct insn *i, uint64_t old, uint64_t b, uint64_t c)
{
    switch (i->mode) {
    case AT_CAS: return old == b ? c : old;
    case AT_EXCH: return b;
    case AT_ADD: return is_real(i) ? apply_to_reals(i, old, b) : old + b;
    case AT_MIN: return is_real(i) ? apply_to_reals(i, old, b) : is_less(i, old, b) ? old : b;
    case AT_MAX: return is_real(i) ? apply_to_reals(i, old, b) : is_less(i, old, b) ? b : old;
    case AT_AND: return old & b;
    case AT_OR: return old | b;
    case AT_XOR: return old ^ b;
    case AT_INC: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
    }
}

static uint64_t operand(char *R, uint32_t slot, uint32_t lane, uint32_t size)
{
    return size == 8 ? u64_at(R, slot)[lane] : u32_at(R, slot)[lane];
}
static void set_result(char *R, const struct insn *i, uint32_t lane, uint64_t old)
{
    if (i->size == 8)
        u64_at(R, i->d)[lane] = old;
    else
        u32_at(R, i->d)[lane] = (uint32_t)old;
}
/* The new value that a lane gives a cell which has this one. */
static uint64_t next_value(char *R, const struct insn *i, uint32_t lane, uint64_t old)
{
    uint64_t b = operand(R, i->b, lane, i->size), c = i->mode == AT_CAS ? operand(R, i->c, lane, i->size) : 0;
    if (i->size == 2) b = (uint16_t)b, c = (uint16_t)c;
    return apply(i, old, b, c);
}

/* An update that changes nothing only reads: those who wait for a lock leave its line to who holds it. A release is
 * written in any case: whoever reads it is to see what stands before it. */
static bool is_written(const struct insn *i, bool changes)
{
    return changes || i->flags & F_RELEASE;
}
#define CELL(bits)                                                                                                     \
    static uint64_t update##bits(const struct insn *i, void *p, uint64_t b, uint64_t c, bool *changed)                 \
    {                                                                                                                  \
        uint##bits##_t *cell = p, old = __atomic_load_n(cell, __ATOMIC_ACQUIRE), now;                                  \
        do now = (uint##bits##_t)apply(i, old, (uint##bits##_t)b, (uint##bits##_t)c);                                  \
        while (is_written(i, now != old) &&                                                                            \
               !__atomic_compare_exchange_n(cell, &old, now, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));              \
        *changed |= now != old;                                                                                        \
        return old;                                                                                                    \
    }                                                                                                                  \
    /* All lanes of m at one cell, one after the other. */                                                             \
    static bool together##bits(char *R, const struct insn *i, uint32_t m, void *p)                                     \
    {                                                                                                                  \
        uint##bits##_t *cell = p, first = __atomic_load_n(cell, __ATOMIC_ACQUIRE), now, old[SIMT_WARP];                \
        bool changed;                                                                                                  \
        do {                                                                                                           \
            now = first;                                                                                               \
            changed = false;                                                                                           \
            EACH_LANE(l, m)                                                                                            \
            {                                                                                                          \
                old[l] = now;                                                                                          \
                now = (uint##bits##_t)next_value(R, i, l, now);                                                        \
                changed |= old[l] != now;                                                                              \
            }                                                                                                          \
        } while (is_written(i, now != first) &&                                                                        \
                 !__atomic_compare_exchange_n(cell, &first, now, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));          \
        if (!i->extra) EACH_LANE(l, m) set_result(R, i, l, old[l]);                                                    \
        return changed;                                                                                                \
    }
CELL(16)
CELL(32)
CELL(64)

void simt_atomic_update(const struct insn *i, void *cell, const void *operand)
{
    uint64_t b = simt_bytes_at(operand, i->size);
    bool changed = false;
    if (i->size == 8)
        update64(i, cell, b, 0, &changed);
    else if (i->size == 4)
        update32(i, cell, b, 0, &changed);
    else
        update16(i, cell, b, 0, &changed);
}

/* An atomic that changes nothing, as the attempt to take a lock that is held, may be what a loop waits with. */
static enum event finish(struct warp *w, const struct insn *i, bool changed)
{
    if (!changed && !i->extra) simt_looks(w, SPIN_COST);
    return EV_NEXT;
}

static inline bool is_own(const struct insn *i, uint64_t address)
{
    return i->flags & F_GENERIC && address >> 48 == SIMT_LOCAL_BASE >> 48;
}
/* Where a lane's cell lies in host memory; NULL with the fault filled. */
static inline __attribute__((always_inline)) void *find_cell(struct warp *w, const struct insn *i, uint32_t lane,
                                                             uint64_t address)
{
    const struct range *g = &w->worker->ranges[i->d2];
    if (address >= g->low && address < g->high && g->high - address >= i->size && !(address & (i->size - 1u)))
        return (char *)address + g->bias;
    enum ptx_space space = i->flags & F_GENERIC ? PTX_GENERIC : PTX_GLOBAL;
    if (is_own(i, address)) {
        simt_fault_set(w, (int)lane, SIMT_FAULT_SPACE, SIMT_OWN_ATOMIC);
        return NULL;
    }
    return simt_lane_address(w, i, (int)lane, space, address, i->size, true);
}

static bool at_one_address(const uint64_t *a, uint32_t m)
{
    const uint64_t first = a[__builtin_ctz(m)];
    EACH_LANE(l, m) if (a[l] != first) return false;
    return true;
}
static bool update_together(char *R, const struct insn *i, uint32_t m, void *p)
{
    return i->size == 8 ? together64(R, i, m, p) : i->size == 4 ? together32(R, i, m, p) : together16(R, i, m, p);
}

static enum event op_global(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint64_t *a = u64_at(R, i->a);
    bool changed = false, together = at_one_address(a, m);
    w->budget -= SPIN_COST;
    simt_tally_settle(w->worker);
    EACH_LANE(l, m)
    {
        void *p = find_cell(w, i, l, a[l] + (uint64_t)i->imm);
        if (!p) return EV_FAULT;
        if (together) return finish(w, i, update_together(R, i, m, p));
        uint64_t b = operand(R, i->b, l, i->size), c = i->mode == AT_CAS ? operand(R, i->c, l, i->size) : 0;
        uint64_t old = i->size == 8   ? update64(i, p, b, c, &changed)
                       : i->size == 4 ? update32(i, p, b, c, &changed)
                                      : update16(i, p, b, c, &changed);
        if (!i->extra) set_result(R, i, l, old);
    }
    return finish(w, i, changed);
}

/* What counters and histograms live on: integer addition. All lanes at one address, as those of a counter, make one
 * addition; each gets the old value that the order of the lanes gives it. */
#define ADD_OP(name, CELL)                                                                                             \
    static void name##_together(char *R, const struct insn *i, uint32_t m, CELL *p)                                    \
    {                                                                                                                  \
        typedef CELL cell __attribute__((may_alias));                                                                  \
        const cell *b = (const cell *)(const void *)(R + i->b);                                                        \
        cell *d = (cell *)(void *)(R + i->d);                                                                          \
        CELL sum = 0;                                                                                                  \
        EACH_LANE(l, m) sum += b[l];                                                                                   \
        CELL old = is_written(i, sum != 0) ? __atomic_fetch_add(p, sum, __ATOMIC_ACQ_REL)                              \
                                           : __atomic_load_n(p, __ATOMIC_ACQUIRE);                                     \
        if (i->extra) return;                                                                                          \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            CELL more = b[l];                                                                                          \
            d[l] = old;                                                                                                \
            old += more;                                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)                                         \
    {                                                                                                                  \
        typedef CELL cell __attribute__((may_alias));                                                                  \
        const uint64_t *a = u64_at(R, i->a);                                                                           \
        const cell *b = (const cell *)(const void *)(R + i->b);                                                        \
        cell *d = (cell *)(void *)(R + i->d);                                                                          \
        bool changed = false;                                                                                          \
        uint64_t differ = 0, first = a[__builtin_ctz(m)];                                                              \
        if (!i->extra) w->budget -= SPIN_COST;                                                                         \
        if (!i->extra || (i->flags & (F_ACQUIRE | F_RELEASE))) simt_tally_settle(w->worker);                           \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            differ |= a[l] ^ first;                                                                                    \
            changed |= b[l] != 0;                                                                                      \
        }                                                                                                              \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            cell *p = find_cell(w, i, l, a[l] + (uint64_t)i->imm);                                                     \
            if (!p) return EV_FAULT;                                                                                   \
            if (!differ) {                                                                                             \
                name##_together(R, i, m, p);                                                                           \
                break;                                                                                                 \
            }                                                                                                          \
            CELL old = __atomic_fetch_add(p, b[l], __ATOMIC_ACQ_REL);                                                  \
            if (!i->extra) d[l] = old;                                                                                 \
        }                                                                                                              \
        simt_tally_try(w, i, first + (uint64_t)i->imm);                                                                \
        return finish(w, i, changed);                                                                                  \
    }
ADD_OP(simt_op_add_32, uint32_t)
ADD_OP(simt_op_add_64, uint64_t)

/* Floating point addition, which the host has no instruction for. */
#define REAL_OP(name, CELL, as_real, real_bits)                                                                        \
    static bool name##_together(char *R, const struct insn *i, uint32_t m, CELL *p)                                    \
    {                                                                                                                  \
        typedef CELL cell __attribute__((may_alias));                                                                  \
        const cell *b = (const cell *)(const void *)(R + i->b);                                                        \
        cell *d = (cell *)(void *)(R + i->d);                                                                          \
        CELL old = __atomic_load_n(p, __ATOMIC_RELAXED), now;                                                          \
        do {                                                                                                           \
            now = old;                                                                                                 \
            EACH_LANE(l, m) now = real_bits(as_real(now) + as_real(b[l]));                                             \
        } while (!__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));               \
        bool changed = now != old;                                                                                     \
        if (i->extra) return changed;                                                                                  \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            now = real_bits(as_real(old) + as_real(b[l]));                                                             \
            d[l] = old;                                                                                                \
            old = now;                                                                                                 \
        }                                                                                                              \
        return changed;                                                                                                \
    }                                                                                                                  \
    static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)                                  \
    {                                                                                                                  \
        typedef CELL cell __attribute__((may_alias));                                                                  \
        const uint64_t *a = u64_at(R, i->a);                                                                           \
        const cell *b = (const cell *)(const void *)(R + i->b);                                                        \
        cell *d = (cell *)(void *)(R + i->d);                                                                          \
        bool changed = false, together = at_one_address(a, m);                                                         \
        if (!i->extra) w->budget -= SPIN_COST;                                                                         \
        if (!i->extra || (i->flags & (F_ACQUIRE | F_RELEASE))) simt_tally_settle(w->worker);                           \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            cell *p = find_cell(w, i, l, a[l] + (uint64_t)i->imm);                                                     \
            if (!p) return EV_FAULT;                                                                                   \
            if (together) return finish(w, i, name##_together(R, i, m, p));                                            \
            CELL old = __atomic_load_n(p, __ATOMIC_RELAXED), now;                                                      \
            do now = real_bits(as_real(old) + as_real(b[l]));                                                          \
            while (!__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));             \
            changed |= now != old;                                                                                     \
            if (!i->extra) d[l] = old;                                                                                 \
        }                                                                                                              \
        return finish(w, i, changed);                                                                                  \
    }
REAL_OP(op_add_f32, uint32_t, simt_as_float, simt_float_bits)
REAL_OP(op_add_f64, uint64_t, as_double, double_bits)

enum event simt_op_atomic_shared(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *a = u32_at(R, i->a);
    w->budget -= SPIN_COST;
    EACH_LANE(l, m)
    {
        void *p = simt_lane_address(w, i, (int)l, PTX_SHARED, simt_window_address(a[l], i->imm), i->size, true);
        if (!p) return EV_FAULT;
        uint64_t old = simt_bytes_at(p, i->size);
        simt_set_bytes(p, i->size, next_value(R, i, l, old));
        if (!i->extra) set_result(R, i, l, old);
    }
    return EV_NEXT;
}

/* ---- 128 bits: exch and cas ---- */
typedef unsigned __int128 wide;

#ifdef __x86_64__ /* built with -mcx16 */
static wide swap_wide(wide *p, wide expected, wide b)
{
    return __sync_val_compare_and_swap(p, expected, b);
}
#else
#include <pthread.h>
static wide swap_wide(wide *p, wide expected, wide b)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    wide old = *p;
    if (old == expected) *p = b;
    pthread_mutex_unlock(&lock);
    return old;
}
#endif

static wide wide_at(char *R, const uint32_t *slots, uint32_t lane)
{
    return (wide)u64_at(R, slots[1])[lane] << 64 | u64_at(R, slots[0])[lane];
}

static enum event op_wide(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const uint32_t *slots = w->worker->program->extra + i->c; /* of the result, b and c */
    enum ptx_space space = i->flags & F_GENERIC ? PTX_GENERIC : (enum ptx_space)i->space;
    w->budget -= SPIN_COST;
    simt_tally_settle(w->worker);
    EACH_LANE(l, m)
    {
        uint64_t address = space == PTX_SHARED ? simt_window_address(u32_at(R, i->a)[l], i->imm)
                                               : u64_at(R, i->a)[l] + (uint64_t)i->imm;
        if (is_own(i, address)) return simt_fault_set(w, (int)l, SIMT_FAULT_SPACE, SIMT_OWN_ATOMIC);
        wide *p = simt_lane_address(w, i, (int)l, space, address, 16, true), old = 0, seen;
        if (!p) return EV_FAULT;
        wide b = wide_at(R, slots + 2, l);
        if (i->mode == AT_CAS) {
            old = swap_wide(p, b, wide_at(R, slots + 4, l));
        } else {
            while ((seen = swap_wide(p, old, b)) != old) old = seen;
        }
        u64_at(R, slots[0])[l] = (uint64_t)old;
        u64_at(R, slots[1])[l] = (uint64_t)(old >> 64);
    }
    return EV_NEXT;
}

bool simt_is_swap(const struct insn *i)
{
    return i->mode == AT_CAS && (i->run == op_global || i->run == simt_op_atomic_shared || i->run == op_wide);
}

bool simt_overwrites(const struct insn *i)
{
    return i->mode == AT_EXCH && i->extra && (i->run == op_global || i->run == simt_op_atomic_shared);
}

bool simt_swap_fails(const struct insn *i, char *R, unsigned lane, const void *p)
{
    if (i->run == op_wide) return false;
    uint64_t expected = operand(R, i->b, lane, i->size);
    return i->size == 8   ? __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED) != expected
           : i->size == 4 ? __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED) != (uint32_t)expected
                          : __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED) != (uint16_t)expected;
}

op_function simt_op_atomic(const char *operation, enum ptx_type type, bool shared, uint8_t *mode)
{
    size_t size = ptx_type_size(type);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strcmp(names[k], operation)) continue;
        *mode = (uint8_t)k;
        bool real = type >= PTX_F16 && type <= PTX_F64;
        bool halves = type >= PTX_F16 && type <= PTX_BF16X2;
        if (size == 16) return k == AT_CAS || k == AT_EXCH ? op_wide : NULL;
        if (size != 2 && size != 4 && size != 8) return NULL;
        if (real && k != AT_ADD && !(halves && (k == AT_MIN || k == AT_MAX))) return NULL;
        if (size == 2 && !(real || k == AT_CAS || k == AT_EXCH)) return NULL;
        if (k != AT_ADD || halves || shared) return shared ? simt_op_atomic_shared : op_global;
        if (real) return size == 4 ? op_add_f32 : op_add_f64;
        return size == 4 ? simt_op_add_32 : simt_op_add_64;
    }
    return NULL;
}
