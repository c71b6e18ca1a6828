/* Pairs: a cell's records where two will do, and lanes that touch such cells. */
#ifndef SIMT_CHECK_PAIRS_H
#define SIMT_CHECK_PAIRS_H

#include "runtime/simt/check_lines.h"

struct toucher { /* lanes of an access */
    const struct access *access;
    struct now now;
    uint32_t moment; /* which the access has */
    short_record me; /* lane 0's */
};

struct toucher simt_toucher_of(const struct access *a);
/* Which of the launch's moments a record has; MOMENTS: there are too many. */
uint32_t simt_find_moment(struct simt_check *c, record r);
/* The lane touches what the pairs from `p` on stand for, of cells of 1 << log bytes. False, and nothing was done: they
 * can't say it. */
bool simt_pair_touch(const struct toucher *t, pair *p, unsigned log, unsigned lane);

static inline void give(pair *p, uint64_t v)
{
    atomic_store_explicit(p, v, memory_order_release);
}

static inline const char *stored_at(const struct access *a, unsigned lane)
{
    return a->regs + a->insn->d + (size_t)lane * (a->insn->flags & F_WIDE ? 8 : 4);
}

static inline void store(const struct access *a, unsigned lane)
{
    if (a->kind == ACCESS_WRITE && a->check->parallel) simt_race_store(a, a->at[lane], a->bytes, lane);
}

static inline unsigned log_of(const struct access *a)
{
    return a->bytes >= 8 ? 3 : (unsigned)__builtin_ctz(a->bytes);
}

/* The log of the cells that the line's pairs are for; PAIR_SIZES: it has none. Others may close them meanwhile, who
 * touches one will see. */
static inline __attribute__((no_sanitize_thread)) unsigned pairs_log(const struct simt_check *c, const struct line *l)
{
    if (*(const volatile uint32_t *)&l->launch != c->number) return PAIR_SIZES;
    atomic_signal_fence(memory_order_seq_cst);
    unsigned kind = *(const volatile uint8_t *)&l->kind;
    return kind & LINE_PAIRS ? kind & ~(unsigned)LINE_PAIRS : PAIR_SIZES;
}

/* The first 8 bytes of a line, without its lock and what is settled; those of one with pairs for cells of 1 << log. */
#define HEAD_MASK UINT64_C(0x00ff0000ffffffff) /* launch and kind */
_Static_assert(offsetof(struct line, kind) == 6 && offsetof(struct line, launch) == 0, "as the mask has them");
static inline __attribute__((no_sanitize_thread)) uint64_t head_of(const struct line *l)
{
    uint64_t head;
    memcpy(&head, l, sizeof head);
    return head & HEAD_MASK;
}
static inline uint64_t pairs_head(const struct simt_check *c, unsigned log)
{
    return c->number | (uint64_t)((unsigned)LINE_PAIRS | log) << 48;
}

static inline pair *pair_at(struct line *l, unsigned log, uint64_t address)
{
    return pairs_of(l, log) + (address % LINE >> log);
}

#endif
