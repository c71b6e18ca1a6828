/* Machine code for kernels, generated when an entry is first launched with blocks of some shape.
 *
 * Why a generator of our own. Interpreted, each instruction costs about 5 ns for a warp, and a streaming kernel has ten
 * for every three that move data: that was 6 to 10 times slower than compiled code. LLVM would close the gap too, but
 * building six small kernels with it takes 69 ms (PoCL, on the machine where this code generates them in well under a
 * millisecond each), loading it 100 MB of library, and its results would depend on its version. Most of what an
 * optimising compiler does has been done by NVRTC; what is left to win is to keep values in registers, and to see that
 * most of a kernel's integers are the same for all lanes, or grow by a constant from lane to lane. That is what
 * jit_analyse.c finds out: such values are one number in a general register, an address among them needs one check for
 * the warp, and its access is a vector move.
 *
 * Lanes that part don't leave: what they may run before they meet again is generated once more, for the lanes of a mask
 * (jit_masked.c). Calls of ops for each round would cost more than what they do, and loops whose rounds differ by lane
 * (rows of sparse matrices, escape times, searches, lists of neighbours) are what kernels are written for.
 *
 * Code is generated once, on the launching thread, before the launch: a launch is as deterministic as before. It is for
 * AVX-512 where the processor has it, else for AVX2: a slot then has twice as many parts of half the size in half as
 * many registers, and what AVX2 has no instruction for takes a few (jit_avx2.c, jit_avx2_memory.c). LUNARRAY_ISA=avx2
 * asks for the latter; LUNARRAY_JIT=0, or LUNARRAY_ISA=base, turns it off. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/environment.h"
#include "runtime/memory.h"
#include "runtime/simt/jit_build.h"

/* What a piece of code takes for granted of a slot. */
struct claim {
    uint32_t offset;
    char class;
    struct jit_form form;
};
struct entry {
    uint32_t pc;
    size_t at;
    uint32_t first, count; /* claims */
};
struct waits {             /* where lanes wait that have parted */
    uint32_t first, count; /* of code->waiting */
};
struct jit_code {
    struct jit_code *next;
    const struct function *function;
    unsigned watched; /* as watched_by has it */
    struct jit_form special[SR_TID_Z + 1];
    unsigned block[3]; /* the shape of those it was last asked for, */
    bool part;         /* and whether for their last warp, which has not 32 threads */
    uint32_t last;     /* threads of the last warps that it is for, 0: for full ones; others may run it, too, */
    bool once;         /* unless it does what is to be done once a thread */
    uint8_t *bytes;    /* NULL: there is none for this shape */
    size_t size;
    struct entry *entries;
    struct claim *claims;
    uint32_t entry_count, claim_count, fixed_claims;
    uint32_t first_range, end_range; /* its ranges among the worker's */
    struct waits *zones;
    uint32_t *waiting;       /* their pc's */
    const void *start, *all; /* the kernel's start; the way in for all warps of a block */
    bool repeats;            /* it does no more where lanes repeat what another one does */
};

#define MAX_FRAME 262144
#define MAX_CODE  20000

/* ---- what thread indices look like ---- */
static uint32_t thread_index(const unsigned block[3], int dimension, uint32_t t)
{
    return dimension == 0 ? t % block[0] : dimension == 1 ? t / block[0] % block[1] : t / block[0] / block[1];
}

/* The last lane stands for the last thread: of what several threads store in one place, its value stays. */
uint32_t simt_jit_thread(const unsigned block[3], int dimension, uint32_t lane)
{
    uint32_t all = block[0] * block[1] * block[2], n = all % SIMT_WARP;
    return thread_index(block, dimension, all - n + simt_repeated_lane(n, lane));
}

/* The form of a thread index in the full warps of a block, or in its last one. */
static struct jit_form thread_form(const unsigned block[3], int dimension, bool part)
{
    uint32_t warps = part ? 1 : block[0] * block[1] * block[2] / SIMT_WARP, firsts = 0;
    struct jit_form f = {FORM_LINEAR, 0, 0, 0};
    for (uint32_t w = 0; w < warps; w++) {
        uint32_t t[SIMT_WARP];
        for (uint32_t l = 0; l < SIMT_WARP; l++)
            t[l] = part ? simt_jit_thread(block, dimension, l) : thread_index(block, dimension, w * SIMT_WARP + l);
        if (w == 0) f = (struct jit_form){FORM_LINEAR, (int32_t)(t[1] - t[0]), (int32_t)(t[16] - t[0]), 0};
        firsts |= t[0];
        for (uint32_t l = 0; l < SIMT_WARP; l++)
            if ((int64_t)(int32_t)(t[l] - t[l & 16]) != f.step * (l & 15)) return (struct jit_form){FORM_ANY, 0, 0, 0};
        if ((int32_t)(t[16] - t[0]) != f.skip) f.kind = FORM_PAIR;
    }
    if (f.kind == FORM_PAIR)
        f.skip = 0;
    else
        f.zeros = firsts ? __builtin_ctz(firsts) : MOST_ZEROS;
    return f;
}

/* ---- making ---- */
static void free_build(struct jit *j)
{
    x86_free(&j->x);
    free(j->code);
    free(j->slots);
    free(j->slot_of);
    free(j->blocks);
    free(j->sets);
    free(j->forms);
    free(j->places);
    for (int k = 0; k < 2; k++) free(j->kept[k].places);
    simt_jit_free_zones(j);
    simt_jit_free_words(j);
}

static void free_code(struct jit_code *c)
{
    x86_uninstall(c->bytes, c->size);
    free(c->entries);
    free(c->claims);
    free(c->zones);
    free(c->waiting);
    free(c);
}

static void add_claim(struct jit_code *c, const struct jit *j, uint32_t slot, struct jit_form f)
{
    if (f.kind == FORM_ANY || f.kind == FORM_NONE || !j->slots[slot].class) return;
    c->claims[c->claim_count++] = (struct claim){j->slots[slot].offset, j->slots[slot].class, f};
}

static bool list_entries(struct jit_code *c, const struct jit *j)
{
    size_t claims = j->slot_count;
    for (uint32_t b = 0; b < j->block_count; b++)
        for (uint32_t s = 0; s < j->slot_count; s++) claims += in_set(j->blocks[b].in, s);
    c->entries = rt_calloc(j->block_count + 1, sizeof *c->entries);
    c->claims = rt_calloc(claims + 1, sizeof *c->claims);
    if (!c->entries || !c->claims) return false;
    for (uint32_t s = 0; s < j->slot_count; s++)
        if (j->slots[s].fixed) add_claim(c, j, s, j->slots[s].form);
    c->fixed_claims = c->claim_count;
    for (uint32_t b = 0; b < j->block_count; b++) {
        const struct jit_block *block = &j->blocks[b];
        if (!block->reached) continue;
        struct entry *e = &c->entries[c->entry_count++];
        *e = (struct entry){block->start + j->first, x86_offset(&j->x, block->label), c->claim_count, 0};
        for (uint32_t s = 0; s < j->slot_count; s++)
            if (in_set(block->in, s) && !j->slots[s].fixed) add_claim(c, j, s, block->forms[s]);
        e->count = c->claim_count - e->first;
    }
    return true;
}

static bool list_zones(struct jit_code *c, const struct jit *j)
{
    uint32_t n = 0;
    for (uint32_t z = 0; z < j->zone_count; z++) n += j->zones[z].join - j->zones[z].first + 1;
    c->zones = rt_calloc(j->zone_count + 1, sizeof *c->zones);
    c->waiting = rt_calloc(n + 1, sizeof *c->waiting);
    if (!c->zones || !c->waiting) return false;
    n = 0;
    for (uint32_t z = 0; z < j->zone_count; z++) {
        c->zones[z] = (struct waits){n, j->zones[z].join - j->zones[z].first + 1};
        for (uint32_t b = j->zones[z].first; b <= j->zones[z].join; b++)
            c->waiting[n++] = j->first + j->blocks[b].start;
    }
    return true;
}

/* Atomics, fences, what waits for other threads or looks across lanes: such a thing is done once, or knows of lanes
 * that repeat others (exec_repeat.c). */
static bool may_repeat_once(const struct jit *j, const struct jit_insn *n)
{
    static const char *const known[] = {"atom.", "red.", "ld.", "st."};
    const char *opcode = j->program->places[n->i - j->program->code].opcode;
    if (simt_is_exchange(n->i->run)) return true;
    if (n->i->memory == MEMORY_FENCE) return opcode_begins(opcode, "membar.");
    if (!simt_runs_once(n->i) || strstr(opcode, "async")) return false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (opcode_begins(opcode, known[k])) return true;
    return false;
}

/* A block's last warp runs this code as a whole one, however few threads it has: lanes without a thread do once more
 * what another lane does. That is nothing more where it computes, loads, and stores the same number in the same place.
 * It would be in calls, and where threads wait in other ways than by looking. The barrier is that of all threads, who
 * need not be counted. An observer is told of those lanes alone that have threads (warp->threads). */
static bool may_repeat(const struct jit *j)
{
    for (uint32_t k = 0; k < j->count; k++) {
        const struct jit_insn *n = &j->code[k];
        const struct insn *i = n->i;
        if (j->once && i->memory == MEMORY_STORE && i->space == PTX_GENERIC) return false; /* whose memory is it? */
        op_function run = i->run;
        bool control = run == simt_op_bra || run == simt_op_brx || run == simt_op_exit || run == simt_op_ret;
        bool special = i->mode < SR_SMID || i->mode > SR_GLOBALTIMER_HI ||
                       (i->mode >= SR_LANEMASK_EQ && i->mode <= SR_LANEMASK_GT);
        bool barrier = n->kind == JK_BARRIER && j->slots[n->reads[0]].form.kind == FORM_CONST &&
                       j->slots[n->reads[0]].form.step == 0;
        if (run == simt_op_special ? !special
                                   : !control && n->kind != JK_NOP && !barrier && !n->plain && !may_repeat_once(j, n))
            return false;
    }
    return true;
}

static void build(struct jit_code *c, const struct simt_program *p, int bits, const struct simt_observer *o)
{
    struct jit j = {
        .bits = bits, .program = p, .function = c->function, .range_count = c->first_range, .last = c->last};
    const struct function *f = c->function;
#ifdef __x86_64__
    j.permutes_bytes = bits == 512 && __builtin_cpu_supports("avx512vbmi");
    j.multiplies_bytes = bits == 512 && __builtin_cpu_supports("avx512vnni");
    j.gathers_slowly = __builtin_cpu_is("amd");
#endif
    if (o) j.watch = o->watch, j.quick = o->quick, j.times = o->times, j.repeats = c->last != 0;
    memcpy(j.special, c->special, sizeof j.special);
    if (f->frame_bytes <= MAX_FRAME && f->end - f->setup <= MAX_CODE && simt_jit_describe(&j) && simt_jit_analyse(&j) &&
        simt_jit_write(&j) && list_entries(c, &j) && list_zones(c, &j)) {
        c->bytes = x86_install(&j.x, &c->size);
        c->end_range = j.range_count;
        c->repeats = may_repeat(&j);
        c->once = j.once;
        const struct entry *first = c->entries; /* of the function's start */
        if (c->bytes && !j.impure && !first->count) c->start = c->bytes + first->at;
        if (c->bytes) c->all = c->bytes + x86_offset(&j.x, j.all_label);
    }
    free_build(&j);
}

/* The bits of the vectors that code is generated for; 0: none is. */
static int vector_bits(void)
{
    if (rt_variable_word(RT_VAR_JIT) == 0) return 0;
#ifdef __x86_64__
    const struct op_table *ops = simt_vector_ops();
    return ops == &simt_ops_avx512 ? 512 : ops == &simt_ops_avx2 ? 256 : 0;
#else
    return 0;
#endif
}

static bool same_forms(const struct jit_form *a, const struct jit_form *b)
{
    for (int d = 0; d <= SR_TID_Z; d++)
        if (a[d].kind != b[d].kind || a[d].step != b[d].step || a[d].skip != b[d].skip || a[d].zeros != b[d].zeros)
            return false;
    return true;
}

/* What code is wanted for: a block's full warps, or its last one, whose ranges must not be those of `full`. */
struct wish {
    const struct simt_program *program;
    const struct function *function;
    const struct simt_observer *observer;
    const unsigned *block;
    bool part;
    const struct jit_code *full;
};

/* 0: for no observer, else by its way of watching. */
static unsigned watched_by(const struct wish *w)
{
    return w->observer ? 1 + w->observer->way : 0;
}

static uint32_t last_of(const struct wish *w)
{
    return w->part ? w->block[0] * w->block[1] * w->block[2] % SIMT_WARP : 0;
}

static bool is_of(const struct jit_code *c, const struct wish *w)
{
    return c->function == w->function && c->watched == watched_by(w) &&
           (c->last == last_of(w) || (c->last && w->part && !c->once)) &&
           (!w->full || c == w->full || c->first_range >= w->full->end_range);
}

/* The code for blocks of another shape: that of one whose indices look alike, or new code. NULL without memory. */
static struct jit_code *code_of_forms(struct jit_code **list, const struct wish *w)
{
    struct jit_form special[SR_TID_Z + 1];
    struct jit_code *c = *list;
    for (int d = 0; d <= SR_TID_Z; d++) special[d] = thread_form(w->block, d, w->part);
    while (c && !(is_of(c, w) && same_forms(c->special, special))) c = c->next;
    if (!c && (c = rt_calloc(1, sizeof *c))) {
        c->function = w->function;
        c->watched = watched_by(w);
        c->last = last_of(w);
        c->first_range = w->full ? w->full->end_range : 0;
        memcpy(c->special, special, sizeof special);
        build(c, w->program, vector_bits(), w->observer);
        c->next = *list;
        *list = c;
    }
    if (c && c != w->full) {
        memcpy(c->block, w->block, sizeof c->block);
        c->part = w->part;
    }
    return c;
}

static const struct jit_code *find_code(struct jit_code **list, const struct wish *w)
{
    struct jit_code *c = *list;
    while (c && !(is_of(c, w) && c->part == w->part && !memcmp(c->block, w->block, sizeof c->block))) c = c->next;
    if (!c) c = code_of_forms(list, w);
    return c && c->bytes ? c : NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct jit_codes simt_jit_codes(const struct simt_program *p, const struct function *f, const unsigned block[3],
                                const struct simt_observer *o)
{
    struct jit_codes codes = {NULL, NULL};
    uint32_t threads = block[0] * block[1] * block[2];
    if ((o && !o->quick) || !vector_bits()) return codes;
    struct jit_code **list = &((struct simt_program *)(uintptr_t)p)->jit;
    struct wish w = {p, f, o, block, false, NULL};
    pthread_mutex_lock(&lock);
    if (threads >= SIMT_WARP) codes.full = find_code(list, &w);
    if (threads % SIMT_WARP && (threads < SIMT_WARP || (codes.full && codes.full->repeats))) {
        w.part = true;
        w.full = codes.full;
        codes.last = find_code(list, &w);
        if (codes.last && !codes.last->repeats) codes.last = NULL;
    }
    pthread_mutex_unlock(&lock);
    return codes;
}

void simt_jit_free(struct simt_program *p)
{
    while (p->jit) {
        struct jit_code *next = p->jit->next;
        free_code(p->jit);
        p->jit = next;
    }
}

uint32_t simt_jit_ranges(const struct jit_codes *c)
{
    uint32_t full = c->full ? c->full->end_range : 0, last = c->last ? c->last->end_range : 0;
    return full > last ? full : last;
}
const void *simt_jit_start(const struct jit_code *c)
{
    return c->start;
}
/* ---- running ---- */
static bool holds_narrow(const uint32_t *v, struct jit_form f)
{
    uint32_t differ = v[0] & ((1u << f.zeros) - 1), first = f.kind == FORM_CONST ? (uint32_t)f.step : v[0];
    uint32_t step = f.kind == FORM_CONST ? 0 : (uint32_t)f.step, skip = f.kind == FORM_CONST ? 0 : (uint32_t)f.skip;
    differ |= (v[0] ^ first) | (f.kind == FORM_PAIR ? 0 : v[16] ^ (first + skip));
    for (uint32_t l = 1; l < 16; l++) differ |= (v[l] - v[l - 1]) ^ step;
    for (uint32_t l = 17; l < SIMT_WARP; l++) differ |= (v[l] - v[l - 1]) ^ step;
    return !differ;
}

static bool holds_wide(const uint64_t *v, struct jit_form f)
{
    uint64_t differ = v[0] & ((1u << f.zeros) - 1), first = f.kind == FORM_CONST ? (uint64_t)f.step : v[0];
    uint64_t step = f.kind == FORM_CONST ? 0 : (uint64_t)f.step, skip = f.kind == FORM_CONST ? 0 : (uint64_t)f.skip;
    differ |= (v[0] ^ first) | (f.kind == FORM_PAIR ? 0 : v[16] ^ (first + skip));
    for (uint64_t l = 1; l < 16; l++) differ |= (v[l] - v[l - 1]) ^ step;
    for (uint64_t l = 17; l < SIMT_WARP; l++) differ |= (v[l] - v[l - 1]) ^ step;
    return !differ;
}

static bool holds(char *R, const struct claim *c)
{
    if (c->class == 'p') {
        uint32_t p = *u32_at(R, c->offset);
        return c->form.kind == FORM_CONST ? p == (uint32_t)c->form.step : p == 0 || p == FULL;
    }
    return c->class == 'q' ? holds_wide(u64_at(R, c->offset), c->form) : holds_narrow(u32_at(R, c->offset), c->form);
}

bool simt_jit_frame_fits(const struct jit_code *c, const struct frame *f)
{
    for (uint32_t k = 0; k < c->fixed_claims; k++)
        if (!holds(f->regs, &c->claims[k])) return false;
    return true;
}

const void *simt_jit_entry(const struct jit_code *c, const struct frame *f, uint32_t pc)
{
    uint32_t low = 0, high = c->entry_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->entries[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == c->entry_count || c->entries[low].pc != pc) return NULL;
    const struct entry *e = &c->entries[low];
    for (uint32_t k = 0; k < e->count; k++)
        if (!holds(f->regs, &c->claims[e->first + k])) return NULL;
    return c->bytes + e->at;
}

void simt_jit_part_splits(const struct jit_code *c, struct warp *w)
{
    const struct waits *z = &c->zones[w->zone];
    struct split s = w->splits[w->current];
    w->current = 0;
    w->split_count = 1;
    w->splits[0] = s;
    w->splits[0].mask = w->parted;
    w->splits[0].pc = w->pc;
    for (uint32_t k = 0; k < z->count; k++) {
        if (!w->waits[k]) continue;
        s.mask = w->waits[k];
        s.pc = c->waiting[z->first + k];
        w->splits[w->split_count++] = s;
        w->waits[k] = 0;
    }
}

void simt_jit_forget(struct worker *k)
{
    for (uint32_t j = 0; j < k->warp_count; j++) memset(k->warps[j].waits, 0, sizeof k->warps[j].waits);
}

void simt_jit_take_controls(struct worker *k)
{
#ifdef __x86_64__
    for (uint32_t r = 0, now = __builtin_ia32_stmxcsr() & ~UINT32_C(0x6000); r < 4; r++) k->controls[r] = now | r << 13;
#else
    (void)k;
#endif
}

enum jit_exit simt_jit_run(const struct jit_code *c, struct warp *w, char *R, const void *at)
{
    enum jit_exit (*enter)(char *R, struct warp *w, const void *at);
    const void *start = c->bytes;
    memcpy(&enter, &start, sizeof enter);
    return enter(R, w, at);
}

enum jit_exit simt_jit_run_all(const struct jit_code *c, struct worker *k, struct warp *first, uint32_t count)
{
    enum jit_exit (*enter)(struct worker * k, struct warp * first, uint32_t count);
    memcpy(&enter, &c->all, sizeof enter);
    return enter(k, first, count);
}
