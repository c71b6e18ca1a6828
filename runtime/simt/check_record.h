/* Who touched what, as the checks keep it. A `record` says who touched something, in 64 bits: block, time, thread of
 * the block, site. Times count the synchronisations within a block: what was recorded before a time at which threads
 * met is ordered before what they do later. A site is a line of the source and what it does there. */
#ifndef SIMT_CHECK_RECORD_H
#define SIMT_CHECK_RECORD_H

#include <string.h>
#include "runtime/simt/check.h"
#include "runtime/simt/exec.h"

#define SITE_BITS   12
#define THREAD_BITS 10
#define TIME_BITS   24
#define BLOCK_BITS  17
#define THREAD_AT   SITE_BITS
#define TIME_AT     (THREAD_AT + THREAD_BITS)
#define BLOCK_AT    (TIME_AT + TIME_BITS)
#define MAX_SITES   (1u << SITE_BITS)
#define FIRST_TIME  1u
#define LAST_TIME   ((1u << TIME_BITS) - 1)
#define BLOCK_IDS   ((1u << BLOCK_BITS) - 2)   /* blocks are numbered from 1; larger grids use numbers again */
#define LISTED      (~UINT64_C(0) << BLOCK_AT) /* in place of a cell's last write: check_history.c */
#define BLOCK_SPAN  (UINT64_C(1) << BLOCK_AT)
/* The same of shared memory, behind a block's number; in place of the readers; where nobody has written. */
#define SHARED_LISTED  (BLOCK_SPAN - 1)
#define SHARED_READERS (SHARED_LISTED ^ (UINT64_C(1) << THREAD_AT))
#define SHARED_WRITTEN (UINT64_C(2) << THREAD_AT)
#define SHARED_ONLY    (SHARED_LISTED - SHARED_WRITTEN)
#define WHO_MASK       (~(BLOCK_SPAN - 1) | ((UINT64_C(1) << TIME_AT) - (UINT64_C(1) << THREAD_AT)))

#define LINE           QUIET_LINE /* bytes that share a lock in the shadow */

typedef uint64_t record;
static inline unsigned record_block(record r)
{
    return (unsigned)(r >> BLOCK_AT);
}
static inline uint32_t record_time(record r)
{
    return (uint32_t)(r >> TIME_AT) & LAST_TIME;
}
static inline unsigned record_thread(record r)
{
    return (unsigned)(r >> THREAD_AT) & ((1u << THREAD_BITS) - 1);
}
/* The upper half of the sites' numbers: atomics, stores that are kept beside readers, and, where memory is touched by
 * plain accesses, too, loads that race with less than those. */
static inline bool record_special(record r)
{
    return r & (MAX_SITES / 2);
}
static inline unsigned record_site(record r)
{
    return (unsigned)r & (MAX_SITES - 1);
}

/* A record in 32 bits: block and thread, and which of the launch's `moments` has time and site. */
typedef uint32_t short_record;
#define MOMENT_BITS (32 - BLOCK_BITS - THREAD_BITS)
#define MOMENTS     ((1u << MOMENT_BITS) - 1) /* one more stands for none */
/* A cell's records, when two will do: the last write, if there is one, in the lower half, then one or two readers. */
typedef _Atomic uint64_t pair;
#define PAIR_CLOSED UINT64_MAX       /* the line has cells now */
#define PAIR_BUSY   (UINT64_MAX - 1) /* a host thread is at it */
#define PAIR_LISTED (UINT64_MAX - 2) /* as LISTED */

/* Where the host has what kernels have at an address of global memory, or of host memory that they may use. */
static inline char *place_in_host(uint64_t address)
{
    return address < SIMT_GLOBAL_BASE ? (char *)(uintptr_t)address : simt_host(address);
}

/* What the checks themselves read and write of a kernel's memory: the kernel's threads may do so too at that time, and
 * whatever is found or left there is right. By these names, ThreadSanitizer lets them pass. */
static inline void load_of_kernel(void *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
static inline void store_of_kernel(char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* Has the processor fetch what is written soon, which another one may have. Many at once take not much longer than one.
 */
static inline void fetch_to_write(const void *p)
{
#if defined __x86_64__ /* for __builtin_prefetch, compilers want to know that there is such an instruction */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
    __builtin_prefetch(p, 1);
#endif
}

/* Spreads a place over the upper bits, which tables of places and their stripes go by. */
static inline uint64_t mixed(uint64_t key)
{
    return key * UINT64_C(0x9E3779B97F4A7C15);
}

struct table { /* check_table.h */
    char *items;
    size_t room, count;
};

struct check_vectors;

struct site {
    uint32_t pc; /* of the first instruction that is one */
    enum simt_access access;
    bool strong;      /* atomic, relaxed and the like, or volatile */
    bool is_volatile; /* the last */
    bool of_block;    /* strong, but only among threads of a block */
    bool guesses;     /* a plain read of what a compare-and-swap there then expects, which finds out if it is old */
    bool copies;      /* what cp.async writes */
    bool fetches;     /* what it reads */
    bool bulk;        /* what cp.async.bulk reads or writes */
    bool product;     /* what tcgen05.mma reads */
    bool fails;       /* a compare-and-swap that finds another value: it only reads */
    uint16_t reading; /* the site of compare-and-swaps that fail, or of a bulk copy's source; 0: it is none of these */
    /* Of stores, the sites that stand for them beside a cell's readers (check_cell.c): of the same value as the last
     * write, of any other; 0: there is none. Of these, the store's. */
    uint16_t kept[2], kept_of;
};
static inline enum simt_access access_of(const struct site *s)
{
    return s->fails ? ACCESS_READ : s->access;
}
/* Is it of an atomic, or of a store that is kept beside readers? */
static inline bool record_atomic(const struct site *sites, record r)
{
    const struct site *s = &sites[record_site(r)];
    return record_special(r) && (s->access == ACCESS_ATOMIC || s->kept_of);
}
/* A store's record beside a cell's readers; 0: there is none. */
static inline record kept_record(const struct site *sites, record r, bool same)
{
    const uint16_t *kept = sites[record_site(r)].kept;
    unsigned site = same ? kept[0] : kept[1];
    return site ? (r & ~(record)(MAX_SITES - 1)) | site : 0;
}
/* Is it of a store of another value than that of the last write? */
static inline bool is_kept_other(const struct site *sites, record r)
{
    unsigned of = sites[record_site(r)].kept_of;
    return of && sites[of].kept[1] == record_site(r);
}
/* As it was before it was kept. */
static inline record as_made(const struct site *sites, record r)
{
    unsigned of = sites[record_site(r)].kept_of;
    return of ? (r & ~(record)(MAX_SITES - 1)) | of : r;
}

/* ---- shadow memory ---- */
/* Three records for each cell of 1 << log bytes (check_race.c): of a line, or of all of a block's shared memory. */
#define RECORDS 3
struct cell_table {
    record *writes; /* of all cells, then as many first and second readers; NULL: not touched yet */
    uint8_t log;
};
/* Who touched LINE bytes of global memory. Memory is wide, and this is what every access to it looks at: a line that
 * the lanes of one warp touched as a whole needs no more; others have struct strips. */
#define ALL_WORDS 0xffffu
struct line {
    uint32_t launch;  /* whose records they are; others are as none */
    uint16_t settled; /* words that two blocks have read and nobody has written, by bits */
    uint8_t kind;
    _Atomic uint8_t lock; /* of this line and the next; that of the latter is 0 */
    record who;           /* of word 0 of a whole line */
};
enum { /* line.kind */
       LINE_CELLS,
       LINE_STRIPS,
       LINE_WHOLE = 4, /* touched as one strip, whose shift is added; nothing else is known of it */
       LINE_SHIFT = 3,
       LINE_WRITTEN = 8, /* added to LINE_WHOLE: and not read */
       LINE_PAIRS = 16,  /* cells of 1 << log bytes, log is added, have pairs: simt_shadow_pairs */
       LINE_HALF = 32
};
/* The first 8 bytes of a line, without its lock and what is settled. */
#define HEAD_MASK UINT64_C(0x00ff0000ffffffff) /* launch and kind */
_Static_assert(offsetof(struct line, kind) == 6 && offsetof(struct line, launch) == 0, "as the mask has them");
static inline __attribute__((no_sanitize_thread)) uint64_t head_of(const struct line *l)
{
    uint64_t head;
    memcpy(&head, l, sizeof head);
    return head & HEAD_MASK;
}
#define HALF_LANES (LINE / 4)
struct half_line {                /* what half a warp did to a line as a whole (check_half.c), */
    uint8_t words[2][HALF_LANES]; /* when it wrote last and when it read: the word that each lane has */
    record first[2];              /* of its first lane; 0: it did not */
};
#define STRIPS 4
struct strips { /* of a line (check_strips.c) */
    union {
        struct {
            uint16_t words[STRIPS]; /* by bits; 0: there is none */
            uint8_t shift[STRIPS];  /* as lanes_on() has it */
            uint8_t stores;         /* strips that are writes, by bits */
            record who[STRIPS];     /* for word 0, though the strip may not have it */
        };
        struct half_line half; /* of LINE_HALF */
    };
    struct cell_table cells;
};
/* How many lanes on is word k touched? By `shift`: k >> shift for 0 to 3, the others as named. */
enum { ONE_LANE = 4, SHIFT_THREES, SHIFT_HALVES, SHIFT_BYTES }; /* the last two: words of several lanes */
static inline uint32_t lanes_on(uint32_t word, unsigned shift)
{
    if (shift <= ONE_LANE) return word >> shift;
    return shift == SHIFT_THREES ? word / 3 : word << (shift - SHIFT_HALVES + 1);
}
struct stretch { /* words of a line that lanes of a warp touch, as a strip has them */
    record me;
    uint32_t words;
    unsigned shift;
};

struct simt_check;
struct block;
/* ---- check_shadow.c ---- */
_Static_assert(sizeof(struct line) == QUIET_RECORD, "generated code finds it by the address of what it is for");
#define SHADOW_CHUNK 24 /* log of the bytes of global memory that share an array of lines */
#define CHUNK_LINES  ((1u << SHADOW_CHUNK) / LINE)
#define PAIR_SIZES   4  /* cells of 1, 2, 4 and 8 bytes */
#define PAGE_LOG     12 /* of bytes whose lines get pairs together when lanes are far apart */
#define PAGE_LINES   ((1u << PAGE_LOG) / LINE)
#define CHUNK_PAGES  (1u << (SHADOW_CHUNK - PAGE_LOG))
struct chunk { /* begins at a multiple of the size of its lines */
    struct line lines[CHUNK_LINES];
    struct strips strips[CHUNK_LINES];
    _Atomic(void *) pairs[PAIR_SIZES]; /* of all cells of all lines, by log; NULL: no line has such pairs yet */
    _Atomic uint32_t pages[PAIR_SIZES][CHUNK_PAGES]; /* in which launch all lines of a page got such pairs */
};
static inline size_t line_index(const struct line *l)
{
    return (uintptr_t)l % sizeof(((struct chunk *)NULL)->lines) / sizeof *l;
}
static inline struct chunk *chunk_of(const struct line *l)
{
    return (struct chunk *)(void *)(uintptr_t)(l - line_index(l));
}
static inline struct strips *strips_of(const struct line *l)
{
    return &chunk_of(l)->strips[line_index(l)];
}
/* The pairs of a line's cells, of 1 << log bytes each; NULL: there are none in its chunk. */
static inline pair *pairs_of(const struct line *l, unsigned log)
{
    pair *all = atomic_load_explicit(&chunk_of(l)->pairs[log], memory_order_acquire);
    return all ? all + (line_index(l) * LINE >> log) : NULL;
}
/* The same, made if need be; NULL: no memory. */
pair *simt_shadow_pairs(const struct line *l, unsigned log);
/* The lines of a chunk, which is counted from the start of global memory, around which host memory lies that kernels
 * may use; NULL: no memory. */
struct line *simt_shadow_lines(uint64_t chunk);
/* Makes cells of at most 1 << log bytes: of a line of global memory; of `bytes` bytes of shared memory. */
bool simt_shadow_line(const struct simt_check *c, struct line *l, unsigned log);
bool simt_shadow_shared(struct cell_table *t, uint32_t bytes, unsigned log);
/* A block begins: nobody has touched its shared memory. */
void simt_shadow_start(struct block *b);
/* Was all written that `bytes` bytes of shared memory hold, by accesses that came to simt_race_touch? */
bool simt_shadow_written(const struct block *b, uint64_t at, uint32_t bytes);
/* Gives back the memory of shadows when there is much of it. */
void simt_shadow_trim(void);
void simt_shadow_free(struct block *b);

#endif
