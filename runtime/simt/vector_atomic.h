/* Additions in memory: part of vector_ops.h. All lanes' addresses are checked at once, as distances from the start of a
 * tally or of the block's shared memory, which belongs to one host thread. Lanes that are not in the mask count 0 bytes
 * from there. Any doubt goes to the atomics of exec_atomic.c. */

/* Adds to a tally. */
#define TALLY_ADD(name, CELL, DIRECT)                                                                                  \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        struct tally *t = &w->worker->tallies[i->extra - 2];                                                           \
        if (t->owner != i) return DIRECT(R, i, m, w);                                                                  \
        const u64 *a = (const u64 *)(R + i->a);                                                                        \
        const CELL *b = (const CELL *)(R + i->b);                                                                      \
        const uint64_t from = t->low - (uint64_t)i->imm, bytes = t->bytes;                                             \
        uint64_t bits = 0, within = UINT64_MAX, differ = 0, first = a[0] - from;                                       \
        uint32_t at[SIMT_WARP];                                                                                        \
        LANES(m, uint64_t d = a[l] - from; at[l] = (uint32_t)d; bits |= d; within &= d - bytes; differ |= d ^ first)   \
        if ((bits | ~within) >> 63 || (bits & (sizeof(CELL) - 1))) return DIRECT(R, i, m, w);                          \
        char *cells = t->cells;                                                                                        \
        if (m == FULL && !differ) {                                                                                    \
            CELL sum = 0;                                                                                              \
            for (int l = 0; l < SIMT_WARP; l++) sum += b[l];                                                           \
            *(CELL *)(cells + first) += sum;                                                                           \
        } else if (m == FULL) {                                                                                        \
            for (int l = 0; l < SIMT_WARP; l++) *(CELL *)(cells + at[l]) += b[l];                                      \
        } else {                                                                                                       \
            EACH_LANE(l, m) * (CELL *)(cells + at[l]) += b[l];                                                         \
        }                                                                                                              \
        t->added++;                                                                                                    \
        w->worker->tallied |= (uint8_t)(1u << (i->extra - 2));                                                         \
        return EV_NEXT;                                                                                                \
    }
TALLY_ADD(tally_32, u32, simt_op_add_32)
TALLY_ADD(tally_64, u64, simt_op_add_64)

/* Adds in shared memory; lane by lane, as the old values are wanted in some order. */
#define SHARED_ADD(name, CELL)                                                                                         \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        const u32 *a = (const u32 *)(R + i->a);                                                                        \
        const CELL *b = (const CELL *)(R + i->b);                                                                      \
        CELL *d = (CELL *)(R + i->d);                                                                                  \
        const uint32_t imm = (uint32_t)i->imm, limit = w->worker->shared_bytes;                                        \
        uint32_t bits = 0, at[SIMT_WARP];                                                                              \
        uint32_t most = 0;                                                                                             \
        if (i->imm != (int64_t)imm || limit < sizeof(CELL)) return simt_op_atomic_shared(R, i, m, w);                  \
        LANES(m, uint32_t x = a[l] + imm; uint32_t over = x < imm ? UINT32_MAX : x; at[l] = x; bits |= x;              \
              most = over > most ? over : most)                                                                        \
        if (most > limit - sizeof(CELL) || (bits & (sizeof(CELL) - 1))) return simt_op_atomic_shared(R, i, m, w);      \
        if (!i->extra) w->budget -= SPIN_COST;                                                                         \
        if (i->extra && m == FULL) {                                                                                   \
            for (int l = 0; l < SIMT_WARP; l++) *(CELL *)(w->shared + at[l]) += b[l];                                  \
            return EV_NEXT;                                                                                            \
        }                                                                                                              \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            CELL old = *(CELL *)(w->shared + at[l]);                                                                   \
            *(CELL *)(w->shared + at[l]) = old + b[l];                                                                 \
            if (!i->extra) d[l] = old;                                                                                 \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
SHARED_ADD(shared_add_32, u32)
SHARED_ADD(shared_add_64, u64)
SHARED_ADD(shared_add_f32, f32)
SHARED_ADD(shared_add_f64, f64)

#define ATOMIC_ROWS                                                                                                    \
    {"+tally.32", "", tally_32, NULL, 0}, {"+tally.64", "", tally_64, NULL, 0},                                        \
        {"+shared.add.32", "", shared_add_32, NULL, 0}, {"+shared.add.64", "", shared_add_64, NULL, 0},                \
        {"+shared.add.f32", "", shared_add_f32, NULL, 0},                                                              \
    {                                                                                                                  \
        "+shared.add.f64", "", shared_add_f64, NULL, 0                                                                 \
    }
