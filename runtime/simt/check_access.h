/* Accesses: check_access.c, which looks at addresses lane by lane, and check_quick.c, which judges those of common
 * forms.
 */
#ifndef SIMT_CHECK_ACCESS_H
#define SIMT_CHECK_ACCESS_H

#include "runtime/simt/check_cells.h"

/* Offsets in shared memory that the instruction may touch: of the variable that its address is made of, if that is
 * known. A variable without a size is dynamic shared memory, and that of a launch reaches to the end. */
struct window {
    uint32_t low, high;
};
static inline struct window simt_check_window(const struct access *a)
{
    const struct worker *k = a->block->worker;
    int n = a->origin - SHARED_ORIGIN;
    if (n < 0) return (struct window){0, k->shared_bytes};
    const struct shared_variable *v = &k->program->shared[n];
    return (struct window){v->offset, v->bytes ? v->offset + v->bytes : k->shared_bytes};
}
/* Are lanes m within it, aligned? */
static inline bool inside_window(const struct access *a, uint32_t m, struct window w)
{
    uint64_t room = w.high - w.low;
    return room >= a->bytes && a->check->vectors->within(a->at, m, w.low, room - a->bytes, a->bytes - 1);
}

/* Does the instruction do what was right in another block? */
static inline bool is_steady(const struct block *b, uint32_t pc)
{
    return b->steady && !b->check->program->places[pc].loose;
}

static inline bool inside(const struct span *s, uint64_t address, uint32_t bytes)
{
    return address - s->low < s->high - s->low && s->high - address >= bytes;
}

/* ---- check_access.c ---- */
/* Lanes m touch a->bytes at a->at[lane], addresses of that space, which this may change. The lanes that may. */
uint32_t simt_check_lanes(struct access *a, uint32_t m, enum ptx_space space);
/* Fills all but addresses and bytes, for the site. */
void simt_check_begin(struct access *a, struct simt_check *c, struct warp *w, const struct insn *i, unsigned site);

/* Notes what is written; true when something that is read never was. */
bool simt_touch_bits(const struct access *a, const struct span *s, uint64_t address);

/* ---- check_quick.c ---- */
enum event simt_check_access(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t *m);
/* For generated code: struct simt_observer. */
bool simt_check_quick(struct warp *w, uint64_t pc, int64_t step, uint64_t first, uint64_t second, uint64_t more);

/* ---- check_unwritten.c ---- */
/* Are they written that lanes m touch, bytes of each from a word on: in the window, of which the words are counted? */
bool simt_words_written(const struct block *b, struct window w, const uint32_t *words, uint32_t m, uint32_t bytes);

#endif
