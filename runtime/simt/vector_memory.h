/* Loads and stores of the vector ops: part of vector_ops.h.
 *
 * A full warp's addresses are looked at in halves of 16 lanes: one address, neighbours, or anything. The first two are
 * one check and one copy. Any doubt, and every partial mask, goes lane by lane through simt_lane_address, which
 * also knows the other windows and reports faults. */

enum shape { SHAPE_ANY, SHAPE_UNIFORM, SHAPE_UNIT };
#define HALF 16

static inline __attribute__((always_inline)) enum shape shape64(const u64 *a, unsigned stride)
{
#ifdef __AVX512F__
    __m512i first = _mm512_set1_epi64((long long)a[0]);
    __m512i lo = _mm512_sub_epi64(_mm512_loadu_si512(a), first);
    __m512i hi = _mm512_sub_epi64(_mm512_loadu_si512(a + 8), first);
    __m512i step = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(stride));
    __m512i eight = _mm512_set1_epi64(8 * (long long)stride);
    if (!(_mm512_cmpneq_epi64_mask(lo, step) | _mm512_cmpneq_epi64_mask(_mm512_sub_epi64(hi, eight), step)))
        return SHAPE_UNIT;
    return _mm512_test_epi64_mask(lo, lo) | _mm512_test_epi64_mask(hi, hi) ? SHAPE_ANY : SHAPE_UNIFORM;
#elif defined(__AVX2__)
    long long s = stride;
    __m256i first = _mm256_set1_epi64x((long long)a[0]), step = _mm256_set_epi64x(3 * s, 2 * s, s, 0);
    __m256i differ = _mm256_setzero_si256(), skew = differ;
    for (int k = 0; k < HALF; k += 4) {
        __m256i d = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(a + k)), first);
        differ = _mm256_or_si256(differ, d);
        skew = _mm256_or_si256(skew, _mm256_xor_si256(d, _mm256_add_epi64(step, _mm256_set1_epi64x(k * s))));
    }
    return _mm256_testz_si256(skew, skew) ? SHAPE_UNIT : _mm256_testz_si256(differ, differ) ? SHAPE_UNIFORM : SHAPE_ANY;
#else
    uint64_t differ = 0, skew = 0;
    for (int l = 0; l < HALF; l++) {
        uint64_t d = a[l] - a[0];
        differ |= d;
        skew |= d ^ (uint64_t)(l * (int)stride);
    }
    return !skew ? SHAPE_UNIT : !differ ? SHAPE_UNIFORM : SHAPE_ANY;
#endif
}
static inline __attribute__((always_inline)) enum shape shape32(const u32 *a, unsigned stride)
{
#ifdef __AVX512F__
    __m512i d = _mm512_sub_epi32(_mm512_loadu_si512(a), _mm512_set1_epi32((int)a[0]));
    __m512i step = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                      _mm512_set1_epi32((int)stride));
    if (!_mm512_cmpneq_epi32_mask(d, step)) return SHAPE_UNIT;
    return _mm512_test_epi32_mask(d, d) ? SHAPE_ANY : SHAPE_UNIFORM;
#elif defined(__AVX2__)
    int s = (int)stride;
    __m256i first = _mm256_set1_epi32((int)a[0]);
    __m256i step = _mm256_set_epi32(7 * s, 6 * s, 5 * s, 4 * s, 3 * s, 2 * s, s, 0);
    __m256i low = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)(const void *)a), first);
    __m256i high = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(a + 8)), first);
    __m256i later = _mm256_xor_si256(high, _mm256_add_epi32(step, _mm256_set1_epi32(8 * s)));
    __m256i skew = _mm256_or_si256(_mm256_xor_si256(low, step), later), differ = _mm256_or_si256(low, high);
    return _mm256_testz_si256(skew, skew) ? SHAPE_UNIT : _mm256_testz_si256(differ, differ) ? SHAPE_UNIFORM : SHAPE_ANY;
#else
    uint32_t differ = 0, skew = 0;
    for (int l = 0; l < HALF; l++) {
        uint32_t d = a[l] - a[0];
        differ |= d;
        skew |= d ^ (uint32_t)(l * (int)stride);
    }
    return !skew ? SHAPE_UNIT : !differ ? SHAPE_UNIFORM : SHAPE_ANY;
#endif
}
static inline bool inside(const struct range *g, uint64_t address, uint64_t bytes)
{
    return address >= g->low && address <= g->high && g->high - address >= bytes;
}
/* A loop that strides over memory by more than a page, as one over a grid does, outruns the processor's own guesses. */
static inline __attribute__((always_inline)) void look_ahead(struct range *g, uint64_t first, unsigned bytes)
{
    uint64_t step = first - g->last, then = first + LOOK_AHEAD * step;
    g->last = first;
    if (step + 4096 <= 8192 || then < g->low || then >= g->high) return;
    for (unsigned k = 0; k < SIMT_WARP * bytes; k += 64) __builtin_prefetch((char *)then + g->bias + k);
}
/* Where 16 lanes' data lie, when that can be said at once: their shape. `begins`: they are the warp's first. */
static inline __attribute__((always_inline)) bool locate_global(const struct warp *w, const u64 *a, int64_t imm,
                                                                struct range *g, unsigned bytes, bool begins,
                                                                enum shape *shape)
{
    *shape = shape64(a, bytes);
    uint64_t first = a[0] + (uint64_t)imm;
    if (first & (bytes - 1)) return false;
    uint64_t span = *shape == SHAPE_UNIT ? HALF * (uint64_t)bytes : bytes;
    if (!inside(g, first, span) && !simt_range_find(w->worker, g, first, span)) return false;
    if (begins && *shape == SHAPE_UNIT) look_ahead(g, first, bytes);
    if (*shape == SHAPE_ANY) {
        /* an address is inside when neither it nor what is left behind it is below 0 */
        uint64_t bits = 0, out = 0, low = g->low - (uint64_t)imm, room = g->high - g->low - bytes;
        for (int l = 0; l < HALF; l++) {
            uint64_t d = a[l] - low;
            out |= d | (room - d);
            bits |= a[l] + (uint64_t)imm;
        }
        if (out >> 63 || (bits & (bytes - 1))) return false;
    }
    return true;
}
static inline __attribute__((always_inline)) bool locate_shared(const struct warp *w, const u32 *a, int64_t imm,
                                                                unsigned bytes, enum shape *shape)
{
    uint32_t limit = w->worker->shared_bytes, first = a[0] + (uint32_t)imm;
    *shape = shape32(a, bytes);
    if (first & (bytes - 1)) return false;
    uint32_t span = *shape == SHAPE_UNIT ? HALF * bytes : bytes;
    if (span > limit || first > limit - span) return false;
    if (*shape == SHAPE_ANY) {
        uint32_t bad = 0, last = limit - bytes;
        for (int l = 0; l < HALF; l++) {
            uint32_t x = a[l] + (uint32_t)imm;
            bad |= (uint32_t)(x > last) | (x & (bytes - 1));
        }
        if (bad) return false;
    }
    return true;
}

/* Moves 16 lanes of n elements between registers and memory. `at` is lane l's address there. The local copy tells the
 * compiler that registers and memory do not overlap. */
#define MOVE_LOAD(memory, DT, n, at)                                                                                   \
    for (unsigned k = 0; k < (n); k++) {                                                                               \
        DT t[HALF];                                                                                                    \
        for (int l = 0; l < HALF; l++) t[l] = (DT)((const memory *)(at))[k];                                           \
        memcpy((DT *)(R + slots[k]) + h, t, sizeof t);                                                                 \
    }
#define MOVE_STORE(memory, DT, n, at)                                                                                  \
    for (unsigned k = 0; k < (n); k++) {                                                                               \
        DT t[HALF];                                                                                                    \
        memcpy(t, (const DT *)(R + slots[k]) + h, sizeof t);                                                           \
        for (int l = 0; l < HALF; l++) ((memory *)(at))[k] = (memory)t[l];                                             \
    }
/* The same from neighbours of the registers' size, which the compiler would not see through. */
#define WHOLE_MOVE_LOAD(memory, DT, n)                                                                                 \
    if ((n) == 1 && sizeof(memory) == sizeof(DT))                                                                      \
        memcpy((DT *)(R + slots[0]) + h, host, HALF * sizeof(DT));                                                     \
    else
#define WHOLE_MOVE_STORE(memory, DT, n)                                                                                \
    if ((n) == 1 && sizeof(memory) == sizeof(DT))                                                                      \
        memcpy(host, (const DT *)(R + slots[0]) + h, HALF * sizeof(DT));                                               \
    else
/* Lane by lane is also how threads of different blocks pass each other data. */
#define MOVE_LANE_0(memory, DT)                                                                                        \
    for (unsigned k = 0; k < n; k++) ((DT *)(R + slots[k]))[l] = (DT)__atomic_load_n(&p[k], __ATOMIC_ACQUIRE);
#define MOVE_LANE_1(memory, DT)                                                                                        \
    for (unsigned k = 0; k < n; k++) __atomic_store_n(&p[k], (memory)((const DT *)(R + slots[k]))[l], __ATOMIC_RELEASE);

/* Several elements that others may look at are moved at once, as GPUs do: what CUB's scans tell the next tile is a
 * value beside the word that says it is there. Aligned moves of 16 bytes are whole on processors with AVX, or LSE2. */
static inline __attribute__((always_inline)) void move_whole(void *to, const void *from, unsigned bytes)
{
    typedef u64 pair __attribute__((vector_size(16), may_alias));
    switch (bytes) {
    case 16: *(volatile pair *)to = *(const volatile pair *)from; break;
    case 8: *(volatile u64 *)to = *(const volatile u64 *)from; break;
    case 4: *(volatile u32 *)to = *(const volatile u32 *)from; break;
    default: *(volatile u16 *)to = *(const volatile u16 *)from;
    }
}
#define MOVE_WHOLE_0(memory, DT)                                                                                       \
    move_whole(part, p, bytes);                                                                                        \
    for (unsigned k = 0; k < n; k++) ((DT *)(R + slots[k]))[l] = (DT)part[k];
#define MOVE_WHOLE_1(memory, DT)                                                                                       \
    for (unsigned k = 0; k < n; k++) part[k] = (memory)((const DT *)(R + slots[k]))[l];                                \
    __atomic_thread_fence(__ATOMIC_RELEASE);                                                                           \
    move_whole(p, part, bytes);

#define FULL_WARP(memory, name, lanes, N, DT, AT, MOVE, LOCATE, HOST)                                                  \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        const unsigned n = (N), bytes = n * (unsigned)sizeof(memory);                                                  \
        const AT *a = (const AT *)(R + i->a);                                                                          \
        const int64_t imm = i->imm;                                                                                    \
        const uint32_t *slots = (N) == 1 ? &i->d : w->worker->program->extra + i->extra;                               \
        uint32_t left = m;                                                                                             \
        if (__builtin_expect(m == FULL && !(i->flags & F_SPIN), 1))                                                    \
            for (int h = 0; h < SIMT_WARP; h += HALF) {                                                                \
                enum shape shape;                                                                                      \
                if (!LOCATE) break;                                                                                    \
                char *host = HOST(a[h]);                                                                               \
                if (shape == SHAPE_UNIT) {                                                                             \
                    WHOLE_##MOVE(memory, DT, n) MOVE(memory, DT, n, host + (unsigned)l * bytes)                        \
                } else if (shape == SHAPE_UNIFORM) {                                                                   \
                    MOVE(memory, DT, n, host)                                                                          \
                } else {                                                                                               \
                    MOVE(memory, DT, n, HOST(a[h + l]))                                                                \
                }                                                                                                      \
                left = h ? 0 : 0xffff0000u;                                                                            \
            }                                                                                                          \
        return left ? lanes(R, i, left, w) : EV_NEXT;                                                                  \
    }
#define EACH_ACCESS(memory, lanes, DT, AT, QUICK, STORE, SPACE)                                                        \
    static __attribute__((noinline)) enum event lanes(char *R, const struct insn *i, uint32_t m, struct warp *w)       \
    {                                                                                                                  \
        const unsigned n = i->count, bytes = n * (unsigned)sizeof(memory);                                             \
        const AT *a = (const AT *)(R + i->a);                                                                          \
        const uint32_t *slots = n == 1 ? &i->d : w->worker->program->extra + i->extra;                                 \
        const bool whole = (i->flags & F_SPIN) && n > 1 && bytes <= 16;                                                \
        if (i->flags & F_SPIN) simt_tally_settle(w->worker);                                                           \
        if (i->flags & F_SPIN) w->budget -= SPIN_COST;                                                                 \
        if ((i->flags & F_SPIN) && !STORE && SPACE == PTX_SHARED) w->looked += SPIN_COST, w->elsewhere = true;         \
        if ((i->flags & F_SPIN) && !STORE && SPACE != PTX_SHARED)                                                      \
            simt_looks_at(w, a[__builtin_ctz(m)] + (uint64_t)i->imm, SPIN_COST);                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint64_t address =                                                                                         \
                SPACE == PTX_SHARED ? simt_window_address((uint32_t)a[l], i->imm) : a[l] + (uint64_t)i->imm;           \
            memory *p = QUICK;                                                                                         \
            if (!p) p = simt_lane_address(w, i, (int)l, SPACE, address, bytes, STORE);                                 \
            if (!p) return EV_FAULT;                                                                                   \
            if (whole) {                                                                                               \
                _Alignas(16) memory part[16] = {0};                                                                    \
                MOVE_WHOLE_##STORE(memory, DT)                                                                         \
            } else {                                                                                                   \
                MOVE_LANE_##STORE(memory, DT)                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        if (whole && !STORE) __atomic_thread_fence(__ATOMIC_ACQUIRE);                                                  \
        return EV_NEXT;                                                                                                \
    }
/* Elements narrower than the register always go lane by lane. */
#define LANES_ONLY(memory, name, lanes, N, DT, AT, MOVE, LOCATE, HOST)                                                 \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        return lanes(R, i, m, w);                                                                                      \
    }
/* Where there is generated code, which does most accesses, only the usual ones are worth the time to compile the other.
 */
#ifdef __x86_64__
#define NARROW LANES_ONLY
#else
#define NARROW FULL_WARP
#endif
#define MEMORY_OP(name, FULL, MT, DT, AT, MOVE, LOCATE, HOST, QUICK, STORE, SPACE)                                     \
    typedef MT memory_##name __attribute__((may_alias));                                                               \
    MEMORY_OP_(name, FULL, memory_##name, DT, AT, MOVE, LOCATE, HOST, QUICK, STORE, SPACE)
#define MEMORY_OP_(name, FULL, memory, DT, AT, MOVE, LOCATE, HOST, QUICK, STORE, SPACE)                                \
    EACH_ACCESS(memory, name##_lanes, DT, AT, QUICK, STORE, SPACE)                                                     \
    FULL(memory, name, name##_lanes, 1, DT, AT, MOVE, LOCATE, HOST)                                                    \
    FULL(memory, name##_v, name##_lanes, i->count, DT, AT, MOVE, LOCATE, HOST)

static inline void *quick_global(const struct warp *w, const struct insn *i, uint64_t address, uint32_t bytes)
{
    const struct range *g = &w->worker->ranges[i->d2];
    return inside(g, address, bytes) && !(address & (bytes - 1)) ? (char *)address + g->bias : NULL;
}
static inline void *quick_shared(const struct warp *w, uint64_t address, uint32_t bytes)
{
    return address + bytes <= w->worker->shared_bytes && address < SIMT_SHARED_BASE && !(address & (bytes - 1))
               ? w->shared + address
               : NULL;
}
#define GLOBAL_AT    locate_global(w, a + h, imm, &w->worker->ranges[i->d2], bytes, !h, &shape)
#define SHARED_AT    locate_shared(w, a + h, imm, bytes, &shape)
#define ON_GLOBAL(x) ((char *)((x) + (uint64_t)imm) + w->worker->ranges[i->d2].bias)
#define ON_SHARED(x) (w->shared + (uint32_t)((x) + (uint32_t)imm))
#define PLACE_OF(i)  ((i)->flags & F_GENERIC ? PTX_GENERIC : PTX_GLOBAL)
#define ANY_GLOBAL   quick_global(w, i, address, bytes)
#define ANY_SHARED   quick_shared(w, address, bytes)
#define LOAD_PAIR(name, MT, DT, FULL)                                                                                  \
    MEMORY_OP(ld_global_##name, FULL, MT, DT, u64, MOVE_LOAD, GLOBAL_AT, ON_GLOBAL, ANY_GLOBAL, 0, PLACE_OF(i))        \
    MEMORY_OP(ld_shared_##name, FULL, MT, DT, u32, MOVE_LOAD, SHARED_AT, ON_SHARED, ANY_SHARED, 0, PTX_SHARED)
#define STORE_PAIR(name, MT, DT, FULL)                                                                                 \
    MEMORY_OP(st_global_##name, FULL, MT, DT, u64, MOVE_STORE, GLOBAL_AT, ON_GLOBAL, ANY_GLOBAL, 1, PLACE_OF(i))       \
    MEMORY_OP(st_shared_##name, FULL, MT, DT, u32, MOVE_STORE, SHARED_AT, ON_SHARED, ANY_SHARED, 1, PTX_SHARED)
LOAD_PAIR(u8_w, uint8_t, u32, NARROW)
LOAD_PAIR(s8_w, int8_t, s32, NARROW)
LOAD_PAIR(u16_w, uint16_t, u32, NARROW)
LOAD_PAIR(s16_w, int16_t, s32, NARROW)
LOAD_PAIR(u32_w, uint32_t, u32, FULL_WARP)
LOAD_PAIR(u8_q, uint8_t, u64, NARROW)
LOAD_PAIR(s8_q, int8_t, s64, NARROW)
LOAD_PAIR(u16_q, uint16_t, u64, NARROW)
LOAD_PAIR(s16_q, int16_t, s64, NARROW)
LOAD_PAIR(u32_q, uint32_t, u64, NARROW)
LOAD_PAIR(s32_q, int32_t, s64, NARROW)
LOAD_PAIR(u64_q, uint64_t, u64, FULL_WARP)
STORE_PAIR(u8_w, uint8_t, u32, NARROW)
STORE_PAIR(u16_w, uint16_t, u32, NARROW)
STORE_PAIR(u32_w, uint32_t, u32, FULL_WARP)
STORE_PAIR(u8_q, uint8_t, u64, NARROW)
STORE_PAIR(u16_q, uint16_t, u64, NARROW)
STORE_PAIR(u32_q, uint32_t, u64, NARROW)
STORE_PAIR(u64_q, uint64_t, u64, FULL_WARP)

#define MEM_ROW(op, space, name)                                                                                       \
    {"+" #op "." #space "." #name, "", op##_##space##_##name, NULL, 0},                                                \
    {                                                                                                                  \
        "+" #op "." #space "." #name "_v", "", op##_##space##_##name##_v, NULL, 0                                      \
    }
#define MEM_PAIR(op, name) MEM_ROW(op, global, name), MEM_ROW(op, shared, name)
#define MEMORY_ROWS                                                                                                    \
    MEM_PAIR(ld, u8_w), MEM_PAIR(ld, s8_w), MEM_PAIR(ld, u16_w), MEM_PAIR(ld, s16_w), MEM_PAIR(ld, u32_w),             \
        MEM_PAIR(ld, u8_q), MEM_PAIR(ld, s8_q), MEM_PAIR(ld, u16_q), MEM_PAIR(ld, s16_q), MEM_PAIR(ld, u32_q),         \
        MEM_PAIR(ld, s32_q), MEM_PAIR(ld, u64_q), MEM_PAIR(st, u8_w), MEM_PAIR(st, u16_w), MEM_PAIR(st, u32_w),        \
        MEM_PAIR(st, u8_q), MEM_PAIR(st, u16_q), MEM_PAIR(st, u32_q), MEM_PAIR(st, u64_q)
