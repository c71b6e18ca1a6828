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
/* Which of the launch's moments a record has; MOMENTS: there are too many. The same of what a block does now. */
uint32_t simt_find_moment(struct simt_check *c, record r);
uint32_t simt_moment_of(struct block *b, record me);
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

/* The same of a line with pairs for cells of 1 << log. */
static inline uint64_t pairs_head(const struct simt_check *c, unsigned log)
{
    return c->number | (uint64_t)((unsigned)LINE_PAIRS | log) << 48;
}

static inline pair *pair_at(struct line *l, unsigned log, uint64_t address)
{
    return pairs_of(l, log) + (address % LINE >> log);
}

#endif
