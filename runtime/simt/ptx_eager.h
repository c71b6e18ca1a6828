/* Inside ptx_eager.c, ptx_chosen.c and ptx_later.c: early loads, and who wants what they load. */
#ifndef SIMT_PTX_EAGER_H
#define SIMT_PTX_EAGER_H

#include "runtime/simt/ptx_walk.h"

#define MOST_ADDED    128 /* instructions that are added to a function's, each with a register */
#define MOST_WAYS     8
#define MOST_LITERALS 8
#define MOST_COPIES   16
#define MOST_BRANCHES 16  /* behind a load that are looked at */
#define MOST_ENDS     16  /* places where a load's value is looked at */
#define MOST_SEEN     100 /* registers that a load's value comes to */
#define DEEPEST       60  /* from a load to what is chosen, and of what makes a predicate */
#define NOWHERE       SIZE_MAX
#define SEVERAL       (SIZE_MAX - 1)

struct literal {
    int reg;
    bool negate;
    size_t apart; /* so far behind the load stands who asks */
};
struct way {
    struct literal all[MOST_LITERALS];
    size_t count;
};
struct ways { /* a value is wanted where all of one of them holds; nobody wants it where there is none */
    struct way any[MOST_WAYS];
    size_t count;
    bool always;
};

struct end { /* where a value is looked at, by a predicate, or (-1) always */
    size_t at;
    int guard;
    bool negate;
};

struct eager {
    struct ptx_parser *p;
    struct ptx_func *f;
    struct ptx_walk walk;
    size_t added;
    bool no_memory;

    size_t *makers;        /* by register: the instruction that alone sets it, NOWHERE, or SEVERAL */
    size_t *first, *users; /* by register: where its instructions begin in those that read one */

    size_t load; /* the one at hand */
    size_t branches[MOST_BRANCHES], branch_count;
    uint32_t *by_target, *by_next; /* by instruction: bits of branches that the thread may take to come there so */
    struct ways wanted;
    struct {
        int reg;
        size_t from;
        struct ways ways;
    } seen[MOST_SEEN];
    size_t seen_count;
    bool exact; /* ways are followed in time, too */
    struct {
        int reg, copy;
        size_t made; /* so far behind the load */
    } copies[MOST_COPIES];
    size_t copy_count;
    bool dropped; /* not all of who wants it is known at the load */
    struct end ends[MOST_ENDS];
    size_t end_count;
};

/* ---- ptx_eager.c ---- */
/* Is it a load that the compiler may make though nobody wants it: of a variable, at a place that it has, or of one that
 * others of the block want? */
bool ptx_may_be_early(const struct eager *e, const struct ptx_insn *in);
/* Puts an instruction before the one at `at`, with a register of its own for what it makes: -1, no room or memory. The
 * load stays at hand. */
int ptx_insert(struct eager *e, size_t at, struct ptx_insn in, enum ptx_type type);

/* ---- ptx_chosen.c ---- */
/* Does the instruction mention the register where it writes? */
bool ptx_writes(const struct ptx_insn *in, int reg);
bool ptx_reads(const struct ptx_insn *in, int reg); /* of those that compute, or load plainly */
/* Does it nothing but compute its results, of its operands alone? Divisions, which are looked at, too, are none. */
bool ptx_computes(const struct ptx_insn *in);
bool ptx_is_plain_load(const struct ptx_insn *in); /* of shared or global memory, by nobody who waits */
/* Room for a function's e->makers and the like, and a walk through it. False without memory. */
bool ptx_make_room(struct eager *e);
/* Fills them in, where instructions have moved once more. */
void ptx_enter_all(struct eager *e);
/* Can one instruction follow behind another, before the load is made again, or a register (if >= 0) set? */
bool ptx_leads(struct eager *e, size_t behind, size_t to, int reg);
/* Is a register made of what a load loads that may be early itself? */
bool ptx_comes_of_early(const struct eager *e, int reg);
/* By which operand does an instruction that computes choose a register among its operands? NULL: it does not. */
const struct ptx_operand *ptx_chosen_by(const struct eager *e, const struct ptx_insn *in, int reg, bool *negate);
/* One more way. What is wanted if a predicate holds and if it does not does not depend on it. */
void ptx_want(struct ways *to, struct way w);
/* Fills in who wants what is loaded; false: all do, or nobody is seen to. */
bool ptx_find_ways(struct eager *e);

/* ---- ptx_later.c ---- */
/* Puts loads that stand for the one at hand where its value is used, if it is not on all ways; false: it must be looked
 * at where it stands. */
bool ptx_look_later(struct eager *e);
/* May a plain load behind the one at hand be made before it, too, and loads the same, but for races? */
bool ptx_loads_same(struct eager *e, size_t behind);

#endif
