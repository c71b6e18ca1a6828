/* What a launch makes of terms (decode_terms.c): sums of a start and a multiple of each index of thread and block, and
 * in loops more. check_own.c compares those that are addresses. */
#ifndef SIMT_CHECK_SUMS_H
#define SIMT_CHECK_SUMS_H

#include "runtime/simt/check_inside.h"

#define AXES           3
#define THREAD_INDICES 6                                /* of thread and block */
#define QUOTIENTS      3                                /* of a number */
#define INDICES        (THREAD_INDICES + QUOTIENTS + 1) /* and quotients of a number, or the digits that it has by them */
#define FARTHEST       (INT64_C(1) << 46)
#define MOST_SEEN      64 /* instructions that touch an allocation */

/* Values of two threads whose indices are d[0], d[1], ... apart are by[0] * d[0] + by[1] * d[1] + ... apart, but for a
 * multiple of the modulus. */
struct congruence {
    uint32_t modulus; /* a power of 2; 1 or 0: nothing is known */
    uint32_t by[THREAD_INDICES];
};

/* Bits of a number that stand side by side, beside which all else of a sum is known: of >> from & most. */
struct rest {
    int of; /* 1 + the term of the number; 0: there are none */
    int from;
    int64_t most; /* all of the bits */
    int64_t by;   /* so many times the sum has them */
};

struct sum { /* of 32 bits: its parts are, too, with a sign */
    bool known;
    bool absent; /* no thread comes where it would be used */
    int64_t start, by[INDICES];
    int64_t step;     /* any multiple of it; 0: nothing */
    int64_t travel;   /* the farthest of them, 0: not known */
    int64_t down, up; /* of loops that are counted: from `down`, 0 or less, to `up`, 0 or more, */
    int64_t grain;    /* by multiples of this; 0: nothing */
    unsigned
        within; /* indices, by bits, whose multiples and those of the step come together to `least` or more above */
    int64_t least, most; /* the start, and to `most` or less; 0: not known */
    bool partly;         /* not known, but for the rest's sake alone; */
    bool natural;        /* then: 0 or more, whatever its parts may add up to */
    struct rest rest;
    struct congruence mod; /* also when nothing else is known */
    bool settled;          /* no loop or branch is part of it: it is what it is at first */
};

struct radix { /* a number of each thread that is taken apart (check_radix.c) */
    struct sum number;
    int64_t most;
    int64_t divisors[QUOTIENTS]; /* of index THREAD_INDICES on; each of two is a multiple of the other */
    int count;
};

struct passes { /* of a loop, each time that it is entered */
    bool known, exact;
    int64_t most;
};

struct simt_sums {
    const struct simt_check *check;
    const struct function *code;
    int64_t extents[INDICES];
    struct radix radix;
    struct sum *of; /* by term, from the entry's first on */
    uint32_t first;
    struct passes *passes; /* by loop of the entry */
    bool *live, *seen;     /* by block: can it be reached? was it, by a search? */
    uint32_t *stack;
};

/* Computes all of the launch. False: no memory. simt_sums_free is due in either case. */
bool simt_sums_find(struct simt_sums *l, const struct simt_check *c);
void simt_sums_free(struct simt_sums *l);
/* Can the launch come to an instruction of the entry? */
bool simt_sums_reach(const struct simt_sums *l, uint32_t pc);
bool simt_sums_number(const struct sum *s); /* is it the same in all threads, whenever? */
/* The least and the greatest, with what is known of the step. */
struct bounds simt_sums_bounds(const struct simt_sums *l, const struct sum *s);
const struct fact *simt_sums_fact(const struct simt_sums *l, int number);
/* The bound that a fact sets, the first number that is not below it. False: it is none of 31 bits. */
bool simt_sums_limit(const struct simt_sums *l, const struct fact *f, int64_t *limit);
int64_t simt_common(int64_t a, int64_t b); /* divisor, of numbers of any sign */
/* Are they the same bits of what is the same number in each thread, whenever? */
bool simt_sums_same_rest(const struct simt_sums *l, const struct rest *a, const struct rest *b);

/* check_congruence.c: what holds of a term whose sum is *s, but for the congruence, and its operands' are *a and *b. */
struct congruence simt_congruence_of(const struct term *t, const struct sum *s, const struct sum *a,
                                     const struct sum *b);

/* Of what is no number, the bits that a number has which stand side by side, or (xor) itself with these turned. */
struct sum simt_sums_bits(const struct simt_sums *l, const struct term *t);

/* check_radix.c: *a divided by a number, or by 2 to so many bits, rounded down, if it is 0 or more and at most `most`.
 */
struct sum simt_radix_quotient(struct simt_sums *l, const struct sum *a, int64_t by, int64_t most);
struct sum simt_radix_shift(struct simt_sums *l, const struct sum *a, int64_t bits);
bool simt_radix_parts(const struct sum *s); /* are there quotients in it? */
/* The sum by the number's digits, the lowest one first, in place of its quotients and the indices that it is made of,
 * and how many values each index has then. False: it isn't made of them. */
bool simt_radix_digits(const struct simt_sums *l, const struct sum *s, struct sum *out, int64_t count[INDICES]);
/* Do threads that differ in an index which the number is made of have different numbers? */
bool simt_radix_tells(const struct simt_sums *l);

/* check_lattice.c: are instructions of the entry unable to touch what another thread stores to by them? All must
 * address one allocation. False: it isn't known. */
bool simt_lattice_apart(const struct simt_sums *l, const uint32_t *pcs, size_t count);

static inline bool is_small(int64_t n)
{
    return n > -FARTHEST && n < FARTHEST;
}

#endif
