/* What the checks keep of a block while it runs, and of an access that they look at. */
#ifndef SIMT_CHECK_BLOCK_H
#define SIMT_CHECK_BLOCK_H

#include "runtime/simt/check_history.h"
#include "runtime/simt/check_once.h"
#include "runtime/simt/check_record.h"
#include "runtime/simt/exec.h"

struct fence { /* what a thread's last fence ordered */
    uint32_t time, block_time, warp_time;
};
struct fences {          /* of a block, with one reach */
    bool some;           /* there was one */
    bool before_barrier; /* since all met last */
    uint32_t met;        /* a barrier with one before it: what all threads have released by it, as time */
    struct fence *last;  /* by thread; NULL until there is one */
};
/* Reaches: 1, the threads of the block; 2, those of others too, told apart where a launch has both (`reaches`). Of
 * those of reach 1 all fences are, so they come first. */
#define MOST_REACHES 2
struct span { /* a stretch of global memory that may be touched */
    uint64_t low, high;
    uint64_t start;            /* of its allocation */
    _Atomic uint64_t *written; /* a bit for each byte of the allocation; NULL: all of it was written */
    bool quiet;                /* nobody can race there: check_inputs.c */
    uint64_t chunk;            /* what was touched last: check_race.c */
    struct line *lines;        /* of it; NULL: none yet */
    bool mine;                 /* lanes found but their own records there last: check_mine.c */
    struct once *once;         /* instead of them; NULL: it is no such memory, or no longer */
    uint64_t last[32];         /* where each warp was last */
};
struct moments_of { /* the launch's first `count` moments, by bits: check_mine.c */
    uint32_t count, reads, writes;
    uint32_t stores; /* of the writes, plain ones of this time */
    record seen;     /* the reads are none from before */
    uint32_t now;
};
struct released { /* a thread's last release: one like it, with the same fence, needs no other entry in the log */
    struct fence fence;
    uint32_t time, site, object, alike; /* alike: entries with this fence and time */
    uint64_t number;
};
struct unit { /* tags of 1 << log bytes each of a block's shared memory; they begin where lines do */
    uint32_t *written, *read, count, log;
};
struct tags {                        /* of a block's shared memory: check_shared.c */
    uint32_t *written, *read, words; /* of words */
    struct unit units[3];            /* by log; those of bytes and halves are there where a variable has them */
    void *memory[3];
    uint32_t base, now;      /* epochs, as in tags: the block's first, and this */
    bool slow;               /* the cells are kept until all threads meet */
    bool all;                /* accesses are noted though they change no tag: order may part the threads */
    bool warp_met;           /* since all threads met: */
    uint32_t warp[32];       /* the epoch of each warp, which begins where all its lanes met; `now` if they have not */
    uint32_t last;           /* of them */
    bool parted;             /* some threads met since all did: check_groups.c */
    uint32_t since;          /* the epoch then */
    uint32_t version;        /* of what whole warps know; one of 0 is none */
    struct known *known[32]; /* by warp */
    uint32_t *readers;       /* by word: of several that read it since then, their warps or lanes, by bits */
    char *log;               /* of struct shared_note, up to the worker's quiet.note */
    size_t room;
};
/* Is an access noted though it changes no tag? */
static inline bool notes_all(const struct tags *t)
{
    return t->warp_met || t->all;
}
/* A set of lanes at a memory instruction. */
struct access {
    struct simt_check *check;
    struct block *block;
    struct warp *warp;
    const struct insn *insn;
    char *regs;
    enum simt_access kind;
    const struct site *site;
    record me;      /* lane 0's */
    int origin;     /* as struct place has it */
    uint32_t bytes; /* of one lane */
    uint32_t alike; /* lanes for which the one at hand stands, which read the same place; none is to be lost */
    uint64_t at[SIMT_WARP];
    const struct simt_texture *texture; /* that it goes through; NULL: a plain access */
};
#define MOMENT_PLACES  16
#define COUNTER_TURNS  256
#define COUNTERS       4   /* sets of a block's, each of an instruction */
#define CONDITIONS     256 /* of a function, at most */
#define CHOICES        16  /* likewise */
#define KNOWN_PATTERNS 8
struct pattern {
    uint64_t held[CONDITIONS / 64]; /* which conditions hold, by bits */
    int64_t values[CHOICES];        /* what its choices are */
};
struct patterns { /* of blocks that were right */
    struct pattern of[KNOWN_PATTERNS];
    _Atomic uint32_t count;
};
struct bounds { /* of the values of a term, both ends in it */
    int64_t low, high;
};
struct steadiness {        /* check_steady.c */
    bool possible;         /* blocks may have patterns */
    struct bounds *ranges; /* by term of the function, in all blocks */
    uint32_t *varying;     /* the terms that differ by block and are wanted */
    uint32_t varying_count;
    struct patterns known; /* in shared memory */
};
#define MOST_EVEN 4
struct even_array { /* check_even.c */
    uint64_t allocation;
    int64_t low, bytes; /* block 0's stretch of it, */
    int64_t by[3];      /* and how far a block's is from there, by its indices */
    int64_t least, end; /* what block 0 may touch, whichever way its threads go */
};
struct evenness { /* of a launch's blocks */
    struct even_array of[MOST_EVEN];
    unsigned count;
    bool alike;            /* all go the same way; else where each condition is the same for a block and, */
    int64_t beside;        /* on either side of it, the blocks that may touch its stretch */
    struct patterns known; /* these stayed in theirs, too */
};
struct counters {         /* check_counters.c */
    uint32_t *last, room; /* by cell: the turn, and the thread that touched it last */
    uint32_t *touched, used;
    uint32_t first, turn; /* since the records were written, and now */
    uint32_t cells;
    uint64_t start, low;      /* of the memory, and where the cells begin */
    record me[COUNTER_TURNS]; /* in each turn, from the first on, without a thread */
    struct access access;     /* an atomic that touched them */
};
struct readers { /* check_readers.c */
    char *notes;
    size_t used, room;
    uint32_t since; /* reads from this time on are noted: nothing orders some of them */
    bool parting;   /* the notes are gone through */
    bool unnoted;   /* the read at hand is by an instruction that is not there later: no note can have it; or: */
    bool at_once;   /* all readers are kept as they come, since the notes were gone through before all met last, */
    bool parted;    /* as they were since then */
};
struct moving { /* where copies read or write global memory, as long as they are kept in mind; high 0: nowhere */
    uint64_t low, high;
    bool stores; /* some write */
};
struct seen_set; /* check_order.h */
struct glance {  /* a strong load, and what the first of its lanes read */
    const struct insn *insn;
    uint64_t at, value;
    record me; /* lane 0's: another one in each block */
    uint32_t lanes;
};
#define PASSED 4
struct passed { /* blocks, each with a time, of which all threads of a block have seen all that they did until then */
    uint64_t moments[PASSED];
    unsigned turn;
};
#define FORMLESS  64
#define LAST_MET  SIMT_WARP
#define MET_TIME  (LAST_MET + 1)
#define LANE_ROWS (MET_TIME + 1)
struct block {
    struct block *next; /* of the check */
    struct simt_check *check;
    struct worker *worker;
    record id, shared_id; /* the block's number where a record has it; that for shared memory, which is used again */
    uint32_t now, met;    /* time; all threads met last at */
    uint32_t warp_met[32];
    uint32_t warp_seen[32];    /* when the warp took part in any synchronisation last */
    uint32_t (*warps)[32];     /* [w][v]: warp w has seen what v did before; NULL until a barrier of some warps */
    uint32_t (*lanes[32])[32]; /* by warp, for simt_lane_seen; NULL until some lanes of a warp meet */
    uint32_t lanes_parted;     /* warps, by bits, in which lanes have met others than those that they met before */
    struct cell_table shared;  /* of the block's shared memory */
    uint32_t shared_turn;
    bool steady;    /* the block does in shared memory what another did that was right */
    bool patterned; /* its conditions come out the same for all threads, as here: check_steady.c */
    struct pattern pattern;
    bool even;             /* likewise to arrays of global memory: check_even.c */
    bool even_known, left; /* so do the conditions for those, as here; it touched what is not of its stretch */
    struct pattern even_pattern;
    struct bounds *ranges; /* of the terms that conditions are made of; NULL: there are no conditions */
    uint32_t meetings;     /* of all its threads */
    bool flushed, excused; /* the cells were asked; what they say depends on values or on other blocks */
    uint32_t judged;       /* lanes of the store at hand that have left their records */
    struct tags tags;
    uint8_t formless[FORMLESS];     /* by instruction, and some more: how often its words had no form */
    uint8_t unread[FORMLESS];       /* likewise: how often some of them were not read before */
    struct copies *copies;          /* NULL until there is one */
    struct bulks *bulks;            /* likewise */
    struct clocks *clocks;          /* NULL until there is an mbarrier */
    struct moving moving, fetching; /* of bulk copies, and of others */
    struct reach *reach;            /* of other blocks of its cluster into its shared memory; NULL: there are none */
    struct counters counters[COUNTERS];
    bool counting;                 /* some of them are used */
    struct once once[MOST_ONCE];   /* as the check has arrays */
    struct span *spans;            /* by an instruction's d2 */
    struct own_cells *own;         /* likewise, where that is `mine` */
    struct span given;             /* by malloc: the block that was touched last */
    uint64_t given_turn;           /* of the heap, then */
    record moments[MOMENT_PLACES]; /* that the block was in last, by site, and which they are */
    uint32_t moment_index[MOMENT_PLACES];
    struct moments_of moments_of;
    struct fences fences[MOST_REACHES];
    bool acquires;             /* threads have seen releases by numbers */
    struct released *released; /* by thread; NULL until there is one */
    uint64_t *acquired;        /* by thread: has seen the releases up to this number */
    struct release_log *log;   /* NULL: the block began before order went by numbers */
    struct order *order;       /* by thread; NULL until one releases something or reads what was released */
    bool learned;              /* one has seen something by that */
    bool order_apart;          /* its threads may have seen different things; */
    bool fences_apart;         /* and stand behind other fences than those that came after what they know */
    struct passed passed;      /* if they have not, what was found */
    struct glance glances[32]; /* the last, by warp */
    struct table places;       /* what comes with values in its shared memory: check_strong.c */
    struct table histories;    /* the lists of its cells: check_history.c */
    struct readers readers;    /* of global memory */
    bool meets_partly;         /* there were barriers of some warps or lanes, or waits at mbarriers */
    uint32_t *exit_pc;         /* by thread */
};

static inline uint32_t later(uint32_t a, uint32_t b) /* of two times */
{
    return a > b ? a : b;
}

/* Has lane l seen what lane `other` of its warp did before the time that comes? By [l][other], or since they met, where
 * [LAST_MET][l] has those that l met last, by bits, and [MET_TIME][l] when: lanes that meet the same ones over and over
 * need no more. */
static inline uint32_t simt_lane_seen(const uint32_t (*lanes)[SIMT_WARP], unsigned l, unsigned other)
{
    uint32_t met = lanes[LAST_MET][l] >> other & 1 ? lanes[MET_TIME][l] : 0;
    return later(lanes[l][other], met);
}

/* Of all others. */
static inline void simt_lane_row(const uint32_t (*lanes)[SIMT_WARP], unsigned l, uint32_t *restrict row)
{
    const uint32_t last = lanes[LAST_MET][l], met = lanes[MET_TIME][l], *restrict times = lanes[l];
    for (unsigned k = 0; k < SIMT_WARP; k++) row[k] = later(times[k], met & -(last >> k & 1));
}

/* Of lane 0, as records of shared or of global memory have it. */
static inline record record_of(const struct access *a, bool shared)
{
    return shared ? (a->me & (BLOCK_SPAN - 1)) | a->block->shared_id : a->me;
}

/* What lane 0 of a warp does now. */
static inline record lane_0_of(const struct block *b, const struct warp *w, unsigned site)
{
    return b->id | (record)b->now << TIME_AT | (record)w->index * SIMT_WARP << THREAD_AT | site;
}

/* May accesses to global memory meet a copy under way? Loads may be read beside. */
static inline bool may_meet_copies(const struct block *b, enum simt_access kind)
{
    return (b->moving.high | b->fetching.high) && (b->moving.stores || kind != ACCESS_READ);
}

/* Is it one that does not race with atomics, nor they with it, and stores nothing else? */
static inline bool simt_spares_atomics(const struct access *a)
{
    return a->kind == ACCESS_ATOMIC || (a->kind == ACCESS_READ && (a->site->strong || a->site->guesses));
}

#endif
