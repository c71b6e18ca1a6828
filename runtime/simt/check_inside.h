/* Inside the checks: check.c is the observer and dispatches, check_quick.c and check_access.c look at addresses,
 * check_pieces.c at those of matrices and copies, check_race.c keeps who touched which bytes in the memory of
 * check_shadow.c, check_cell.c has the rule for what is a race, check_listed.c for a cell of which three records can't
 * tell, check_history.c keeps who touched that, check_readers.c who else may have read it, check_strips.c and
 * check_rows.c keep rows of global memory, check_half.c lines that half a warp hands words through, check_pairs.c and
 * check_words.c single cells, check_known.c sees where a cell needs no list since what was done to it is known to
 * whoever comes, check_mixed.c sees where one of a thread's is not to stand for others, check_inputs.c and check_own.c,
 * by what check_sums.c computes, know what needs no such record, check_once.c and check_recall.c what needs it later,
 * check_scope.c which atomics are of block scope, check_heap.c follows malloc and free, check_shared.c, check_near.c,
 * check_parts.c and check_groups.c see what needs no closer look in shared memory, check_steady.c which blocks need
 * none, and check_even.c which need none in global memory, check_cluster.c sees what blocks of a cluster do to each
 * other, check_copies.c and check_bulk.c follow copies that are under way, check_texels.c what is touched by textures
 * and surfaces, check_sync.c keeps when threads met, check_order.c, check_strong.c and check_seen.c who has seen what
 * through atomics, check_releases.c the same where that is too much, check_clocks.c who has waited for whom,
 * check_phases.c that at mbarriers, check_report.c collects what is found. */
#ifndef SIMT_CHECK_INSIDE_H
#define SIMT_CHECK_INSIDE_H

#include <sched.h>
#include "runtime/simt/check_block.h"
#include "runtime/threads.h"

#define MAX_REPORTS    256
#define OBJECTS        4096 /* what threads synchronise through, hashed */
#define ANY_OBJECT     OBJECTS
#define LOG_STRIPES    64
#define PAUSES         100
#define MOST_OWN_LOADS 64

struct release { /* check_releases.c */
    uint64_t number;
    uint32_t thread, time;
    uint32_t site, object; /* of the atomic that is it, and goes with it when it was read there; ANY_OBJECT: of any */
    struct fence fence;
    bool partly; /* threads of the block met in other ways than all together */
    /* The most that this and those before it in the log say: of the block, of it if `partly`, of the thread's warp. */
    uint32_t most_block, most_partly, most_warp;
    uint32_t before; /* the last of the warp's before it, counted from 1; 0: none */
};
struct release_log { /* of a block */
    unsigned block;
    struct release *items;
    uint32_t last[32]; /* by warp, as `before` */
    size_t count, capacity;
    struct release_log *next;
};

/* A host thread waits for what another one holds for a short time, and looked for it so often: without asking for it
 * again, which would keep that one from letting go. */
static inline void simt_check_pause(int tries)
{
    if (tries < PAUSES)
        rt_pause_cpu();
    else
        sched_yield();
}

struct own_loads { /* by d2, instructions that load from outputs what nobody but their thread stores to: check_own.c */
    uint32_t of[MOST_OWN_LOADS];
    size_t count;
};

enum runs { RUNS_NOT, RUNS_UNSEEN, RUNS_SEEN }; /* unseen: what it calls is not known yet */

struct simt_check {
    struct simt_observer observer; /* first */
    const struct simt_launch *launch;
    const struct simt_program *program;
    struct insn unseen; /* what copies are recorded by once they are there: its values are not known, and the block's
                           span beside those of instructions is its own */
    struct simt_extent *extents;
    size_t extent_count;
    uint8_t *runs;     /* by function: the launch may come to it; enum runs */
    uint8_t *watch;    /* enum watched, by pc */
    uint16_t *site_of; /* by pc */
    struct site *sites;
    unsigned site_count[2]; /* of others, of atomics */
    uint32_t number;        /* of the launch */
    bool parallel;
    const struct check_vectors *vectors; /* check_cells.h */
    bool releases_some;                  /* there are instructions that release */
    unsigned reaches;                    /* of fences that are told apart: check_block.h */
    bool hands_on;                       /* and such that write, but for mbarriers, by which a release is passed on */
    bool meets_some;                     /* or barriers of some of a block's threads, or of a cluster */
    bool warps_meet, waits;              /* there are barriers of whole warps; loads that may wait for others */
    bool groups_meet; /* barriers of some of a block's threads are others than those of some of a warp's lanes, too */
    bool by_warps;    /* all that orders some threads before others, where it does not order all, is within a warp */
    bool blocks_meet; /* there are barriers of blocks, or of their warps */
    bool by_lanes;    /* as by_warps, and there are none: whoever comes to a place of another warp's races */
    bool follows_texels;  /* textures and surfaces can race: check_texels.c */
    bool stores_texels;   /* there are stores to surfaces, or reductions */
    bool narrow;          /* there are accesses of less than 4 bytes that may be to shared memory */
    uint64_t reads_words; /* variables of shared memory of which words are read, by bits: check_parts.c */
    bool mixes;           /* there is memory that not all accesses race alike for: check_mixed.h */
    bool narrow_strong;   /* there are atomics, or volatile accesses, of less than 4 bytes */
    bool scoped;          /* there are accesses of block scope, and several blocks: check_scope.c */
    bool untracked;       /* there are instructions that write memory unseen */
    struct steadiness steady;
    struct evenness even;
    char *key; /* of the launch, for check_again.c; NULL: it is not kept */
    size_t key_bytes;
    bool knows_inputs; /* what is not in these allocations needs no records: check_inputs.c */
    uint64_t *outputs;
    size_t output_count;
    struct own_loads own_loads;
    struct once_array once[MOST_ONCE];
    unsigned once_count;
    _Atomic bool no_memory;
    _Atomic bool stores_follow; /* simt_store_follows was called */
    pthread_mutex_t lock;       /* of blocks, reports and new moments */
    record moments[1u << MOMENT_BITS];
    _Atomic uint32_t moment_count;
    struct block *blocks;
    struct simt_report *reports; /* MAX_REPORTS at most; NULL: there are none */
    uint64_t *keys;              /* of reports: what groups them */
    size_t report_count;
    uint64_t more;
    bool strict;            /* stores of one value race, too */
    bool exact;             /* some threads may come to be ordered where others are not: lists are kept */
    _Atomic uint32_t raced; /* cells in global memory */
    struct {
        pthread_mutex_t lock;
        struct table of;
    } listed[LOG_STRIPES]; /* cells of global memory, by address: check_history.c */
    struct {
        _Atomic bool locked; /* for an instruction */
        struct table places; /* of global memory */
    } order[LOG_STRIPES];
    pthread_mutex_t scoped_lock;
    struct table scoped_words; /* of global memory */
    _Atomic uint64_t *spots;   /* where something was released, by number: check_strong.c; NULL: nothing is */
    _Atomic uint32_t seen_work, seen_wide, seen_apart; /* check_seen.c */
    _Atomic(struct links_pool *) links;                /* check_pool.c; NULL: there are none yet */
    _Atomic bool coarse;                               /* order goes by numbers from now on */
    /* releases: by an atomic or volatile write behind a fence */
    _Atomic uint64_t releases;
    _Atomic uint64_t *objects;  /* by object: the last release there; NULL: nothing is released */
    _Atomic uint64_t *observed; /* and the last one that another thread has read there */
    struct release_stripe {     /* by block */
        pthread_mutex_t lock;
        struct release_log *logs;
    } * stripes;
};

/* ---- check_scope.c ---- */
/* Lanes m touch global memory by an atomic or volatile access. */
void simt_scope_touch(const struct access *a, uint32_t m);
void simt_scope_free(struct simt_check *c);

/* May some threads come to be ordered before what others do, where other threads are not? */
static inline bool orders_some(const struct simt_check *c)
{
    return c->releases_some || c->meets_some;
}

static inline short_record shortened(record r, uint32_t moment)
{
    return record_block(r) << (THREAD_BITS + MOMENT_BITS) | record_thread(r) << MOMENT_BITS | moment;
}
static inline record lengthened(const struct simt_check *c, short_record r)
{
    return (record)(r >> (THREAD_BITS + MOMENT_BITS)) << BLOCK_AT |
           (record)(r >> MOMENT_BITS & ((1u << THREAD_BITS) - 1)) << THREAD_AT | c->moments[r % (1u << MOMENT_BITS)];
}
static inline bool is_write(const struct simt_check *c, record r)
{
    return c->sites[record_site(r)].access == ACCESS_WRITE;
}

/* Nobody touches the memory in another way meanwhile: struct place. */
static inline bool simt_is_among_atomics(const struct simt_check *c, uint32_t pc)
{
    return c->program->places[pc].among_atomics && !c->program->maps_shared;
}

enum watched {
    WATCH_NOT,
    WATCH_ACCESS,
    WATCH_PIECES,
    WATCH_TEXELS,
    WATCH_COPIES,
    WATCH_FENCE,
    WATCH_BLOCK_FENCE,
    WATCH_BARRIER,
    WATCH_SYNC,
    WATCH_WARP_SYNC,
    WATCH_DIVISION,
    WATCH_EXIT,
    WATCH_FREE
};

/* ---- check_pieces.c ---- */
bool simt_check_in_pieces(const struct insn *i);
void simt_check_pieces(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t *m);
/* Are the values not known that the instruction loads or stores? */
static inline bool is_opaque(const struct access *a)
{
    return a->insn->memory == MEMORY_NONE || (a->insn->memory == MEMORY_ATOMIC && a->kind == ACCESS_WRITE);
}

/* ---- check_strips.c ---- */
/* False: the line's strips can't say it, or something is wrong; they are as they were. */
struct now;
bool simt_strips_touch(struct line *l, const struct stretch *s, const struct now *t, bool write);
/* Have those of a line of the launch touched the word in a way that neither barriers of the block or the warp nor the
 * thread's own order put before what it does, so that strips will not do? */
bool simt_strips_part(const struct line *l, unsigned word, record me, const struct now *t, bool write);
/* A whole line gets strips. */
void simt_strips_begin(struct line *l);
/* The log of the largest cells that can say which lanes touched what, at most `log`. */
unsigned simt_strips_log(const struct strips *d, unsigned log);
/* The records of all cells of 1 << log bytes, at most so many. */
void simt_strips_spread(const struct strips *d, unsigned log, record *cells);

/* ---- check_rows.c ---- */
/* The common cases: the lanes of each half touch neighbours, from at[0] and at[1] on, or all of them one place there,
 * if these are right. `halves`: 0 for both, 1 or 2 for one. False: look closer; nothing is lost. */
bool simt_race_rows(const struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                    unsigned halves);
/* Elements of lanes by equal steps, larger than they are, likewise, of both halves. */
bool simt_race_steps(const struct access *a, const uint64_t at[2], int64_t step);
/* Lanes m whose elements are equal steps apart in each half, up from lane to lane. Those that one must look closer at.
 */
uint32_t simt_race_some(const struct access *a, uint32_t m);
/* Lets generated code find the records around an address for itself, as the range of a load from there. */
void simt_race_window(const struct warp *w, const struct insn *i, uint32_t range, int64_t step, uint64_t at);
/* Lets it touch memory where nobody can race, if that is where the instruction was last. */
void simt_race_quiet(const struct warp *w, const struct insn *i, uint32_t range, int64_t step);

/* ---- check_race.c ---- */
/* Lanes m touch a->bytes at a->at[lane], which lies in memory that is there: offsets in shared memory, or global
 * addresses. */
void simt_race_touch(const struct access *a, uint32_t m, bool shared);
/* `lanes` neighbours from lane `first` on touch whole lines of global memory at the address. False: look closer, with
 * simt_race_touch. */
bool simt_race_row(const struct access *a, uint64_t address, unsigned first, unsigned lanes);
/* Of lanes m that read one address two stand for all before which the same is ordered. */
uint32_t simt_race_distinct(const struct access *a, uint32_t m);

/* One lane of an atomic on a cell that nothing but atomics touched, more of which change nothing; false, and nothing is
 * done, when it is none. */
bool simt_race_counter(const struct access *a, unsigned lane);
/* Do two atomics of a cell race with whatever any atomic races with? Those of two blocks, or of this one's threads. */
bool simt_race_stand_for_all(const struct access *a, record one, record other);
/* One lane, looked at closely, in a line that has no pairs from then on. */
void simt_race_lane(const struct access *a, unsigned lane);

/* ---- check_known.c ---- */
/* Has the warp, or a lane of it, met or seen others that not all threads of the block have? */
bool simt_knows_some(const struct block *b, unsigned warp);
/* Lanes m do a plain load or store of global memory. Those that one must look closer at, and note. */
uint32_t simt_race_known(const struct access *a, uint32_t m);
/* The same, where lanes met, or will: those of lines that this does not tell of. */
uint32_t simt_race_met(const struct access *a, uint32_t m);

/* ---- check_cell.c ---- */
bool simt_is_lacking(const struct access *a, uint32_t written); /* a load, of whose bytes these were written, by bits */
bool simt_looks_ahead(const struct access *a);                  /* struct ptx_insn's `ahead` */
/* The lane touches the cells of the table from `first` on; `all`: how many the table has. */
void simt_race_cells(const struct access *a, unsigned lane, bool shared, const struct cell_table *t, uint32_t first,
                     uint32_t all);
/* Stores `bytes` bytes at an address, those of the lanes from `lane` on, before the instruction does: who finds the
 * record of a write, on another host thread, finds its value too, and can tell that it would write the same. */
void simt_race_store(const struct access *a, uint64_t address, unsigned bytes, unsigned lane);
/* The same of lanes m, all in one line. */
void simt_race_store_lanes(const struct access *a, uint32_t m);

/* A race between these two: if one is a copy that goes on behind its instruction, this is the first. */
void simt_tell_copy(const struct simt_check *c, struct simt_report *r, record me, record other, bool shared);

/* Does the lane, `me`, store what stands at the place already, or what another lane of the instruction does? */
bool simt_race_same_value(const struct access *a, unsigned lane, record me, record other, const char *place);

/* ---- check_listed.c ---- */
/* Do accesses that do not race with atomics, of the site if that is not 0, change nothing of the list? */
bool simt_history_settled(const struct history *h, unsigned site);
/* The cell gets a list, as another one of those that the lane touched. */
void simt_race_list(const struct access *a, unsigned lane, const struct cell_table *t, uint32_t cell, uint32_t all);

/* ---- check_cluster.c ---- */
bool simt_reach_start(struct block *b); /* a block begins; false: no memory */
void simt_reach_free(struct block *b);
bool simt_reach_kept(const struct block *b); /* the kernel reaches into other blocks: all touches are to be told */
void simt_reach_end(const struct block *b);  /* it ends: nobody may touch its memory any more */
void simt_reach_met(struct block *b);        /* its cluster met */
/* Raises times, by block of the cluster, to those before which all is ordered by its barrier. */
void simt_reach_times(const struct block *b, uint32_t *met);
void simt_reach_seen(const struct block *b, struct seen_set **to); /* adds the same */
/* Is what a thread of another block of the cluster did ordered by the cluster's barrier? */
bool simt_reach_ordered(const struct block *b, record r);
/* Whose shared memory the lanes touch, where a->at has become the offset; the lanes for which it is not the own
 * block's.
 */
uint32_t simt_reach_owners(struct access *a, uint32_t m, struct worker **owners);
/* Lanes m touch a->bytes there, inside of it. */
void simt_reach_touch(const struct access *a, uint32_t m, struct worker *const *owners);
bool simt_reach_written(const struct block *b, uint64_t at, uint32_t bytes); /* all of them, by whomever */

/* ---- check_readers.c ---- */
/* Lanes m of the block read a->bytes at a->at[lane] of global memory; lanes 0 to 15 `step` bytes apart from at[0] on,
 * the others from at[1] on. */
void simt_readers_note(const struct access *a, uint32_t m);
void simt_readers_note_rows(struct block *b, const struct insn *i, record me, const uint64_t at[2], int64_t step,
                            uint32_t m);
/* Before some threads of the block come to be ordered before what others do. */
void simt_readers_part(struct block *b);
void simt_readers_meet(struct block *b); /* all its threads met */
void simt_readers_free(struct block *b);

/* All lanes m of an instruction that does not race with atomics go to cells of which one more of its kind says nothing
 * new, where `from` and the instruction say; in memory where it was last. False: look closer; nothing is lost. */
bool simt_swaps_again(const struct warp *w, const struct insn *i, const uint64_t *from, uint32_t m);

/* ---- check_words.c ---- */
/* Lanes m touch cells of global memory, each one or some of its own. */
void simt_race_words(const struct access *a, uint32_t m);
/* check_mine.c: judges those of lanes m that touch what nobody else has, where pairs say so. The others. */
uint32_t simt_race_own(const struct access *a, uint32_t m);
/* Lanes m touch what their registers say, by a plain load or store, where the instruction found but their own records
 * last. False: look closer; nothing is lost. */
bool simt_race_own_again(const struct warp *w, const struct insn *i, unsigned site, uint32_t m);

/* ---- check_pairs.c ---- */
/* Has the line pairs that say what a lane touches? */
bool simt_has_pairs(const struct simt_check *c, struct line *l, uint32_t bytes);
/* One lane in such a line. False, and nothing was done: pairs can't say it. */
bool simt_pairs_touch(const struct access *a, struct line *l, unsigned lane);
/* simt_race_counter in such a line. */
bool simt_pairs_count(const struct access *a, struct line *l, unsigned lane);
/* Nobody has touched these words, by bits, of a line with pairs. */
void simt_pairs_forget(const struct simt_check *c, struct line *l, uint32_t words);
/* The records of all cells of 1 << log bytes, no larger than those of the pairs, which are over. */
void simt_pairs_spread(const struct simt_check *c, struct line *l, unsigned log, record *cells);

/* ---- check_inputs.c ---- */
bool simt_inputs_find(struct simt_check *c); /* when a launch starts; false: no memory */
/* Can no two threads of the launch race in the allocation that begins at the address? */
bool simt_is_quiet(const struct simt_check *c, uint64_t allocation);
/* Does nobody store to what the launch's function is steady without stores to? */
bool simt_inputs_fixed(const struct simt_check *c);
/* What an address is made of, as struct place has it: the array that the parameter points to, or the variable. False:
 * it isn't known. */
bool simt_check_meant(const struct simt_check *c, int origin, struct simt_extent *to);
/* The allocation that the instruction touches; 0: not known. */
uint64_t simt_check_allocation(const struct simt_check *c, uint32_t pc);

/* ---- check_again.c: when a launch starts, and when it ends ---- */
/* Was there one like it? Then what is known of its memory is filled in, in the place of simt_inputs_find and
 * simt_even_begin. */
bool simt_again_find(struct simt_check *c);
/* Keeps it for the next one. */
void simt_again_keep(struct simt_check *c);

/* ---- check_own.c ---- */
/* Takes what each thread has bytes of its own in out of the outputs, and finds loads of what nobody else stores to.
 * False: no memory. */
bool simt_own_find(struct simt_check *c);
/* Is the instruction such a load? */
bool simt_loads_own(const struct simt_check *c, const struct insn *i);

/* ---- check_heap.c ---- */
bool simt_check_is_free(const struct simt_program *p, const struct insn *i);
/* Lanes m call free; it is done here. */
void simt_check_free_blocks(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t m);
/* For the observer. */
void simt_check_gave(struct simt_observer *o, struct warp *w, uint32_t lane, uint64_t address, uint64_t bytes);
/* Where malloc was called, by a block's mark. False: not in this launch. */
bool simt_check_given_at(const struct simt_check *c, uint64_t mark, uint32_t *pc);
/* The lane touches memory of the heap that was freed. */
void simt_check_freed(const struct access *a, unsigned lane);

/* ---- check_counters.c ---- */
/* Lanes m do an atomic on 4 bytes of global memory. Those that are to be looked at. */
uint32_t simt_counters_touch(const struct access *a, uint32_t m);
/* All lanes do, at what `from` holds and the instruction adds, on cells that its block touched by it before. False:
 * look closer; nothing is lost. */
bool simt_counters_again(const struct warp *w, const struct insn *i, const uint64_t *from);
/* Writes to the shadow what was kept from it. */
void simt_counters_pour(struct block *b);
/* Is anything kept from it of this memory? */
bool simt_counters_hold(const struct block *b, uint64_t low, uint64_t bytes);
void simt_counters_tick(struct block *b); /* the block's time goes on */
void simt_counters_free(struct block *b);

/* ---- check_steady.c ---- */
/* Blocks that do in shared memory what another did that was right need no look at it. */
bool simt_steady_begin(struct simt_check *c); /* when a launch starts; false: no memory */
/* Does a comparison come out the same wherever its terms are in these ranges? *held: how. */
bool simt_steady_decide(const struct condition *c, struct bounds a, struct bounds b, bool wide, bool *held);
/* The pattern of conditions in blocks of all these indices, or in all blocks. False: one differs among them, or among
 * their threads. */
struct block_range {
    unsigned low[3], high[3];
};
bool simt_steady_pattern(struct block *b, uint32_t first, uint32_t count, const struct block_range *of,
                         struct pattern *out);
bool simt_steady_all(const struct simt_check *c, uint32_t first, uint32_t count, struct pattern *out);
bool simt_steady_knows(const struct patterns *p, const struct pattern *one);
/* Unless something was said of any block, or would have been of this one for other values or another order. */
void simt_steady_learn(struct block *b, struct patterns *p, const struct pattern *one);
void simt_steady_free(struct simt_check *c);
bool simt_steady_new(struct block *b);   /* false: no memory */
void simt_steady_start(struct block *b); /* a block begins: fills b->steady */
void simt_steady_leave(struct block *b); /* some of its threads meet, or all, before the tags hear of it */
void simt_steady_met(struct block *b);   /* and behind that */
void simt_steady_end(struct block *b);

/* ---- check_sync.c ---- */
/* Is what the record says, which was done to the spot, ordered before what a thread of the block does now? */
bool simt_check_ordered(const struct block *b, record r, unsigned warp, unsigned lane, uint64_t spot);
/* The same, to be found out at once; false: it may be. */
bool simt_check_surely_ordered(const struct block *b, record r, unsigned warp, unsigned lane, uint64_t spot);
/* May threads of the warp differ in what is ordered before what they do now? Do the two lanes? */
bool simt_check_differ(const struct block *b, unsigned warp);
bool simt_check_lanes_differ(const struct block *b, unsigned warp, unsigned lane, unsigned other);
void simt_check_barrier(struct simt_observer *o, struct worker *k, uint32_t id);
void simt_check_met(struct simt_observer *o, struct worker *k);
void simt_check_warp_sync(struct simt_observer *o, struct warp *w, const uint32_t *masks, uint32_t m, bool orders);
bool simt_check_meets_again(struct warp *w, const uint32_t *masks);
void simt_check_arrive(struct block *b, struct warp *w, const struct insn *i, uint32_t m);
/* Nobody can go on: reports who waits for whom. False: it is nothing that is known here. */
bool simt_check_deadlock(struct simt_observer *o, struct worker *k);
void simt_check_fence(struct block *b, struct warp *w, uint32_t m, unsigned reach);
/* All threads have waited for a phase of an mbarrier that has all they did. */
void simt_check_phase_met(struct block *b);
/* Inline, and compared by members: as a value in memory it would be read before its parts have been written there. */
static inline struct fence simt_check_fence_of(const struct block *b, unsigned thread, unsigned reach)
{
    const struct fences *of = &b->fences[reach - 1];
    struct fence f = {0};
    if (of->some) f = of->last[thread];
    f.block_time = later(f.block_time, of->met);
    return f;
}
/* Was there any that releases something? */
static inline bool simt_check_fenced(const struct block *b)
{
    return b->fences[0].some || b->fences[0].met;
}
static inline bool simt_same_fence(const struct fence *f, const struct fence *g)
{
    return f->time == g->time && f->block_time == g->block_time && f->warp_time == g->warp_time;
}
void simt_sync_start(struct block *b);
void simt_sync_quiet(struct block *b); /* lets generated code meet, if warps that do matter to nobody else */
void simt_sync_free(struct block *b);
/* An array of the block, made when it is needed first; false: no memory. */
bool simt_check_want(struct block *b, void *array, size_t count, size_t size);

/* ---- check_clocks.c ---- */
/* Has the thread waited at mbarriers for what the record says? */
bool simt_clocks_ordered(const struct block *b, record r, unsigned thread);
bool simt_clocks_differ(const struct block *b, unsigned thread, unsigned other); /* have they waited for others? */
/* The lanes of the warp that have waited for what the lane has. */
uint32_t simt_clocks_alike(const struct block *b, unsigned warp, unsigned lane);
/* By warp: lanes `to` come to know what any of `from` has waited for; the same within a warp; all threads met. */
void simt_clocks_share(struct block *b, const uint32_t *from, const uint32_t *to);
void simt_clocks_share_lanes(struct block *b, const struct warp *w, uint32_t m);
void simt_clocks_meet(struct block *b);
/* Lanes m arrive at a barrier by number: what they did and had seen goes to lanes `to`, by warp, when it is over. */
void simt_clocks_arrive(struct block *b, uint32_t id, unsigned warp, uint32_t m);
void simt_clocks_wait(struct block *b, uint32_t id, const uint32_t *to);
void simt_clocks_seen(const struct block *b, unsigned thread, struct seen_set **to); /* adds what it has waited for */
/* For check_groups.c: by thread, before when all is ordered before what this one does, NULL: nothing is; its clock is
 * kept until all meet, and known again by that number; nobody knows any. In blocks without a cluster. */
const uint32_t *simt_clocks_times(const struct block *b, unsigned thread);
uint32_t simt_clocks_keep(struct block *b, unsigned thread);
void simt_clocks_know(struct block *b, unsigned thread, uint32_t kept);
/* Those that are kept are to be kept anew, by one number after the other, or, at the end, to be forgotten. */
void simt_clocks_keep_again(struct block *b, bool begins);
uint32_t simt_clocks_move(struct block *b, uint32_t kept); /* its new number */
void simt_clocks_forget(struct block *b);
/* Does a thread know anything? Nobody does for a while, or again. */
bool simt_clocks_known(const struct block *b);
void simt_clocks_aside(struct block *b, bool aside);
void simt_clocks_start(struct block *b); /* a block begins */
void simt_clocks_free(struct block *b);

/* ---- check_phases.c ---- */
/* Lanes m do something with the mbarriers at a->at[lane], or a bulk copy of theirs will count its bytes there. */
void simt_phases_touch(const struct access *a, uint32_t m);
/* Is what was done since all met, as far as that was by threads which arrived somewhere, known as a whole where any of
 * it is, or will be? */
bool simt_phases_cover(const struct block *b);
/* Lanes m of a warp that is watched closely touch memory, but for mbarriers. */
void simt_phases_accessed(struct block *b, const struct warp *w, uint32_t m);

/* ---- check_texels.c ---- */
/* When a launch starts: are there accesses through textures or surfaces that are to be looked at? */
void simt_texels_find(struct simt_check *c);
enum simt_access simt_texels_access(const struct insn *i); /* ACCESS_NONE: it is no such instruction */
/* Lanes m touch what the instruction says. */
void simt_texels_touch(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t m);
/* Has the launch such accesses to some of the allocation's bytes? */
bool simt_texels_over(const struct simt_check *c, uint64_t address, uint64_t bytes);
/* Says of a report which element it is about, when that is in an array. */
void simt_texels_name(const struct access *a, struct simt_report *r);

/* ---- check_report.c ---- */
void simt_check_report(struct simt_check *c, const struct simt_report *r);
struct simt_party simt_party_of(struct simt_check *c, const struct block *b, record r);
struct simt_party simt_party_at(const struct warp *w, uint32_t pc, unsigned lane, enum simt_access access);
/* Fills symbol, start and bytes for an address, or with those of a variable. */
void simt_check_name(struct simt_check *c, struct simt_report *r);
void simt_check_name_variable(const struct simt_check *c, struct simt_report *r, const struct shared_variable *v);

#endif
