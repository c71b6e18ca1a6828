/* Shared memory, as check_shared.c: reads of less than a word, by the word's tags. Those don't tell which bytes were
 * read, so all such reads are logged, and the log alone is to tell who read a word, where it comes to that: the
 * variable is one that nobody reads whole words of, since the log leaves out some of those. */
#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_shared.h"

#define DYNAMIC 63 /* the bit for all variables without a size, and for those beyond */

static unsigned bit_of(const struct simt_program *p, int origin)
{
    int n = origin - SHARED_ORIGIN;
    return n < DYNAMIC && p->shared[n].bytes ? (unsigned)n : DYNAMIC;
}

void simt_parts_watch(struct simt_check *c, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    int origin = c->program->places[pc].origin;
    bool shared = i->space == PTX_SHARED || i->space == PTX_GENERIC || i->flags & F_GENERIC;
    bool plain = i->memory == MEMORY_LOAD && c->watch[pc] == WATCH_ACCESS;
    if (!plain && c->watch[pc] != WATCH_PIECES) return;
    if (plain && (!shared || i->size * i->count < 4)) return;
    c->reads_words |= plain && i->space == PTX_SHARED && origin >= SHARED_ORIGIN
                          ? UINT64_C(1) << bit_of(c->program, origin)
                          : UINT64_MAX;
}

static bool may_be_read_whole(const struct access *a)
{
    if (a->origin < SHARED_ORIGIN) return a->check->reads_words;
    return a->check->reads_words >> bit_of(a->check->program, a->origin) & 1;
}

const struct unit *simt_parts_unit(const struct block *b, uint64_t at)
{
    const struct simt_function *f = b->check->launch->function;
    const struct simt_program *p = f->program;
    uint64_t some = f->code->byte_units | f->code->half_units;
    for (uint32_t n = 0; some && n < p->shared_count; n++) {
        const struct shared_variable *v = &p->shared[n];
        int bit = simt_unit_bit(p, (int)n);
        bool within = at >= v->offset && (!v->bytes || at - v->offset < v->bytes);
        if (within && bit >= 0 && some >> bit & 1) return simt_unit_of(b, SHARED_ORIGIN + (int)n);
    }
    return &b->tags.units[2];
}

bool simt_parts_meet(const struct access *a, uint32_t m)
{
    const struct function *f = a->check->launch->function->code;
    if (a->origin >= SHARED_ORIGIN || !(f->byte_units | f->half_units)) return false;
    EACH_LANE(l, m)
    for (uint64_t end = a->at[l] + a->bytes, at = a->at[l]; at < end; at++)
        if (simt_parts_unit(a->block, at)->log < 2) return true;
    return false;
}

/* Words of which bytes were written before all threads met, and others possibly not: *some has the lanes that read such
 * ones, which were. False: it can't be told. */
static bool settle(const struct access *a, uint32_t m, uint32_t *some)
{
    struct block *b = a->block;
    uint64_t last = UINT64_MAX;
    *some = 0;
    EACH_LANE(l, m)
    {
        uint32_t *written = &b->tags.written[a->at[l] / 4];
        if (*written != TAG_MIXED) continue;
        if (a->at[l] != last) {
            if (b->tags.now == b->tags.base || !simt_shadow_written(b, a->at[l], a->bytes)) return false;
            last = a->at[l];
        }
        if (simt_shadow_written(b, a->at[l] / 4 * 4, 4))
            *written = b->tags.base;
        else
            *some |= 1u << l;
    }
    return true;
}

/* The words of offsets of lanes m, as of those who read them. */
static unsigned judge(const struct access *a, const uint32_t *offsets, uint32_t m, const struct tag_rule *rule,
                      uint32_t me)
{
    struct tags *t = &a->block->tags;
    const struct check_vectors *v = a->check->vectors;
    const struct offsets all = {offsets, 0, 0, UINT32_MAX, 0, 2};
    uint32_t at[SIMT_WARP];
    unsigned flags = v->near(t->written, t->read, &all, m, rule, me, false);
    if (flags != CELLS_FAR) return flags;
    for (int l = 0; l < SIMT_WARP; l++) at[l] = m >> l & 1 ? offsets[l] / 4 : 0;
    return v->lanes(t->written, t->read, at, m, rule, me, false);
}

bool simt_parts_read(const struct access *a, uint32_t m)
{
    struct block *b = a->block;
    struct tags *t = &b->tags;
    const struct tag_rule rule = {t->base, t->now, t->warp_met ? t->warp[a->warp->index] : t->now};
    uint32_t me = rule.warp | (uint32_t)a->warp->index * SIMT_WARP, from[SIMT_WARP], some = 0;
    if (t->slow || t->parted || a->bytes >= 4 || a->kind != ACCESS_READ || a->site->strong || b->copies || b->bulks ||
        b->reach)
        return false;
    if (may_be_read_whole(a) || !simt_shared_room(b)) return false;
    for (int l = 0; l < SIMT_WARP; l++) from[l] = (uint32_t)a->at[l];
    if (judge(a, from, m, &rule, me) & CELLS_BAD) { /* once more, when what was written before is told apart */
        if (!settle(a, m, &some)) return false;
        EACH_LANE(l, some)
        {
            uint32_t *read = &t->read[from[l] / 4];
            *read = tag_reader(*read, me + l, &rule, rule.warp != rule.now);
        }
        if (m & ~some && judge(a, from, m & ~some, &rule, me) & CELLS_BAD) return false;
    }
    memcpy(simt_shared_log(b, a->warp, a->insn, record_site(a->me), a->bytes, m, 0)->at, from, sizeof from);
    return true;
}
