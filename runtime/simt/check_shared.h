/* Shared memory by tags of its words, as the other files of the checks use it: check_shared.c, check_near.c,
 * check_parts.c, and check_groups.c behind a meeting of some of a block's threads. */
#ifndef SIMT_CHECK_SHARED_H
#define SIMT_CHECK_SHARED_H

#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_inside.h"

/* Of the variable that an access of the launch's entry means, as far as that is known, or of words. */
static inline const struct unit *simt_unit_of(const struct block *b, int origin)
{
    const struct simt_function *f = b->check->launch->function;
    return &b->tags.units[simt_unit_log(f->program, f->code, origin)];
}

/* ---- check_shared.c ---- */
/* Lanes m do an atomic on one place, whose words several threads' atomics touched in this epoch, and nobody else: no
 * tag changes. */
static inline bool simt_shared_joins(const struct access *a, uint32_t m)
{
    const struct tags *t = &a->block->tags;
    uint64_t at = a->at[__builtin_ctz(m)], others = 0;
    uint32_t word = (uint32_t)at / 4;
    if (a->kind != ACCESS_ATOMIC || t->written[word] != (t->now | TAG_ATOMS)) return false;
    EACH_LANE(l, m) others |= a->at[l] ^ at;
    for (uint32_t k = 0; k < a->bytes / 4; k++)
        others |= (t->written[word + k] ^ (t->now | TAG_ATOMS)) | (uint32_t)(t->read[word + k] >= t->now);
    return !others;
}
/* Lanes m touch a->bytes at a->at[lane] of shared memory, offsets in it. */
void simt_shared_touch(const struct access *a, uint32_t m);
/* All lanes do, at what `from` holds and the instruction adds. False: nothing was done, it is no simple case. */
bool simt_shared_rows(const struct access *a, const uint32_t *from);
/* The same of lanes m, from any place to any. */
bool simt_shared_lanes(const struct access *a, const uint32_t *from, uint32_t m);
/* All lanes do an atomic on 4 bytes, at what `from` holds and the instruction adds, on words that several threads'
 * atomics touched in this epoch, and nobody else. False: nothing was done, look closer. */
bool simt_shared_again(const struct warp *w, const struct insn *i, const uint32_t *from);
/* All lanes do, lanes 0 to 15 from at[0] on and the others from at[1] on, `step` bytes apart, and that `count` times,
 * `stride` bytes further on each time; inside of it, aligned. */
void simt_shared_series(struct access *a, int64_t step, const uint64_t at[2], uint32_t count, int32_t stride);
static inline size_t simt_shared_note_bytes(uint32_t rows)
{
    return sizeof(struct shared_note) + (rows ? 2 : SIMT_WARP) * sizeof(uint32_t);
}
/* Is there room for a note of any kind? An access of lanes m is noted, where there is: in rows (ROW_UNIT and the like
 * for each half), whose places are to be filled; 0: offsets of all lanes are. */
bool simt_shared_room(struct block *b);
bool simt_shared_more(struct block *b); /* makes room for as much again; false: there is to be none */
struct shared_note *simt_shared_log(struct block *b, struct warp *w, const struct insn *i, unsigned site,
                                    uint32_t bytes, uint32_t m, uint32_t rows);
/* check_near.c, for generated code: lanes m touch elements that have tags, most often near each other, by a plain load
 * or store, at what its address register holds. False: look closer; nothing is lost. */
bool simt_shared_near(struct block *b, struct warp *w, const struct insn *i, unsigned site, uint32_t m);
/* The same where the words of lanes m may have any form that is judged at once: by steps of 4 or 8 bytes, each other's
 * by a butterfly; `step`, `at` and `more` as simt_check_quick has them. Where they had none so often, as in a binary
 * search, that is not asked each time. */
bool simt_shared_form(struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                      uint32_t m, uint32_t more);
/* check_parts.c: when a launch starts, for each instruction that is watched. */
void simt_parts_watch(struct simt_check *c, uint32_t pc);
/* Lanes m read a->bytes at a->at[lane], where that is less than a word. False: look closer. */
bool simt_parts_read(const struct access *a, uint32_t m);
/* What has tags for the byte there. */
const struct unit *simt_parts_unit(const struct block *b, uint64_t at);
/* Is it not known what the access means, and does a lane of m come to what has tags for less than words? */
bool simt_parts_meet(const struct access *a, uint32_t m);
/* Has no word of a variable been read by several threads, none of them behind another? By the tags of this epoch. */
bool simt_shared_apart(const struct block *b, const struct shared_variable *v);
/* check_unwritten.c: reports what lanes m read, or update, that nobody has written; and notes what they write. Is all
 * written that a variable holds? */
void simt_unwritten_read(const struct access *a, uint32_t m);
void simt_unwritten_write(const struct access *a, uint32_t m);
bool simt_shared_whole(const struct block *b, const struct shared_variable *v);
/* Tells generated code which words all may read. */
void simt_shared_quiet(struct block *b);
bool simt_shared_new(struct block *b); /* false: no memory */
void simt_shared_free(struct block *b);
void simt_shared_start(struct block *b);                          /* a block begins */
void simt_shared_meet(struct block *b);                           /* all its threads met */
void simt_shared_warp_met(struct block *b, const struct warp *w); /* all lanes of a warp did */
/* Before some others than all met: what was put off is done, in the cells. */
void simt_shared_flush(struct block *b);

/* ---- check_groups.c ---- */
uint64_t simt_groups_epoch(const struct block *b, uint32_t time); /* that of a time since all met */
/* Some threads meet now, or arrive, and not all; so many notes of what they come to know will follow. */
void simt_groups_part(struct block *b, unsigned notes);
/* What they know: lanes m of a warp, or all of one, of those of their groups; warps, by bits, of others; lanes by warp,
 * of clocks. */
void simt_groups_note_lanes(struct block *b, unsigned warp, uint32_t m, const uint32_t *known);
void simt_groups_note_again(struct block *b, unsigned warp, const uint32_t *groups);
void simt_groups_note_warps(struct block *b, uint32_t warps, const uint32_t *known);
void simt_groups_note_clocks(struct block *b, const uint32_t *lanes);
/* Before the notes are gone through: nobody knows anything; then what one of them says. */
void simt_groups_forget(struct block *b);
void simt_groups_replay(struct block *b, const struct shared_note *n);
/* Lanes m touch a->bytes at a->at[lane] of shared memory. False: look closer. */
bool simt_groups_touch(const struct access *a, uint32_t m);
/* check_thin.c: leaves out notes that do not matter any more. False: too few for the next ones to be worth it. */
bool simt_groups_thin(struct block *b);

#endif
