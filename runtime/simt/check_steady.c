/* Blocks of a launch that do the same in shared memory (decode_steady.c): when one of them was right there, the others
 * need no look at it.
 *
 * Where that goes by conditions, such as `i < n`, a block has a pattern when each comes out the same for all of its
 * threads, which is seen when the block begins by how far the compared terms go there. Blocks of one pattern do the
 * same; one without a pattern, as at the end of an array, is looked at like any other. What is left of a choice, such
 * as `max(first - 1, 0)`, is part of the pattern, where it is one number for all of the block's threads.
 *
 * Loads that may differ all the same, since nobody stores to what they read meanwhile, are right in all blocks if they
 * stay within a variable that was all written by then. Stores of threads to words that only they read in that epoch are
 * right, too, whichever of them a block does: which words those are is seen where they are read. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_inside.h"
#include "runtime/simt/check_shared.h"

static const struct bounds any_narrow = {INT32_MIN, INT32_MAX}, any_wide = {INT64_MIN, INT64_MAX};

/* ---- ranges of terms: of 32 bits with a sign, or of 64 ---- */
static struct bounds any_of(bool wide)
{
    return wide ? any_wide : any_narrow;
}

/* What was computed, unless it overflowed. */
static struct bounds fitting(struct bounds r, bool wide, bool overflows)
{
    return overflows || (!wide && (r.low < INT32_MIN || r.high > INT32_MAX)) ? any_of(wide) : r;
}

static struct bounds added(struct bounds a, struct bounds b, bool wide)
{
    struct bounds r;
    bool over = __builtin_add_overflow(a.low, b.low, &r.low) | __builtin_add_overflow(a.high, b.high, &r.high);
    return fitting(r, wide, over);
}

static struct bounds subtracted(struct bounds a, struct bounds b, bool wide)
{
    struct bounds r;
    bool over = __builtin_sub_overflow(a.low, b.high, &r.low) | __builtin_sub_overflow(a.high, b.low, &r.high);
    return fitting(r, wide, over);
}

static struct bounds multiplied(struct bounds a, struct bounds b, bool wide)
{
    const int64_t x[2] = {a.low, a.high}, y[2] = {b.low, b.high};
    struct bounds r = {INT64_MAX, INT64_MIN};
    bool over = false;
    for (int k = 0; k < 4; k++) {
        int64_t product = 0;
        over |= __builtin_mul_overflow(x[k / 2], y[k % 2], &product);
        if (product < r.low) r.low = product;
        if (product > r.high) r.high = product;
    }
    return fitting(r, wide, over);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The bits of either, or of both. */
static struct bounds joined(struct bounds a, struct bounds b, bool wide)
{
    struct bounds r = added(a, b, wide);
    r.low = larger(a.low, b.low);
    if (a.low >= 0 && b.low >= 0) return r;
    return a.high < 0 || b.high < 0 ? (struct bounds){any_of(wide).low, -1} : any_of(wide);
}
static struct bounds common(struct bounds a, struct bounds b, bool wide)
{
    if (a.low < 0 && b.low < 0) return any_of(wide);
    if (b.low != b.high || a.low < 0)
        return (struct bounds){0, a.low < 0 ? b.high : b.low < 0 ? a.high : smaller(a.high, b.high)};
    bool all = (b.low & (b.low + 1)) == 0 && a.high <= b.low; /* none is cut off */
    return all ? a : (struct bounds){0, b.low < 0 ? a.high : smaller(a.high, b.low)};
}

static struct bounds shifted(struct bounds a, struct bounds by, bool wide, bool without_sign)
{
    if (a.low < 0 && without_sign) return any_of(wide);
    return (struct bounds){a.low >> by.low, a.high >> by.low};
}

/* As a number without a sign, in 64 bits. */
static struct bounds without_sign(struct bounds r)
{
    const int64_t round = INT64_C(1) << 32;
    if (r.low >= 0) return r;
    return r.high < 0 ? (struct bounds){r.low + round, r.high + round} : (struct bounds){0, UINT32_MAX};
}

static struct bounds of_parameter(const struct simt_check *c, const struct term *t)
{
    size_t bytes = t->wide ? 8 : 4;
    int32_t narrow;
    int64_t wide;
    if (t->value < 0 || (uint64_t)t->value + bytes > c->launch->function->info.param_bytes) return any_of(t->wide);
    const char *from = (const char *)c->launch->params + t->value;
    memcpy(&narrow, from, sizeof narrow);
    if (!t->wide) return (struct bounds){narrow, narrow};
    memcpy(&wide, from, sizeof wide);
    return (struct bounds){wide, wide};
}

/* In these blocks; in all of them where that is NULL. */
static struct bounds of_special(const struct simt_check *c, enum special r, const struct block_range *of)
{
    const unsigned *size = c->launch->block, *grid = c->launch->grid;
    if (r <= SR_TID_Z) return (struct bounds){0, (int64_t)size[r - SR_TID_X] - 1};
    if (r <= SR_NTID_Z) return (struct bounds){size[r - SR_NTID_X], size[r - SR_NTID_X]};
    if (r >= SR_NCTAID_X) return (struct bounds){grid[r - SR_NCTAID_X], grid[r - SR_NCTAID_X]};
    if (!of) return (struct bounds){0, (int64_t)grid[r - SR_CTAID_X] - 1};
    return (struct bounds){of->low[r - SR_CTAID_X], of->high[r - SR_CTAID_X]};
}

static struct bounds range_of(const struct simt_check *c, const struct bounds *ranges, const struct term *t,
                              const struct block_range *of)
{
    uint32_t first = c->launch->function->code->term_first;
    bool leaf = t->kind <= TERM_SPECIAL, unary = t->kind >= TERM_EXTEND_S && t->kind <= TERM_NARROW, wide = t->wide;
    struct bounds a = leaf ? any_narrow : ranges[(uint32_t)t->a - first],
                  b = leaf || unary ? any_narrow : ranges[(uint32_t)t->b - first];
    switch (t->kind) {
    case TERM_CONST: return (struct bounds){wide ? t->value : (int32_t)t->value, wide ? t->value : (int32_t)t->value};
    case TERM_PARAMETER: return of_parameter(c, t);
    case TERM_SPECIAL: return of_special(c, (enum special)t->value, of);
    case TERM_ADD: return added(a, b, wide);
    case TERM_SUB: return subtracted(a, b, wide);
    case TERM_MUL: return multiplied(a, b, wide);
    case TERM_OR: return joined(a, b, wide);
    case TERM_AND: return common(a, b, wide);
    case TERM_MIN: return (struct bounds){smaller(a.low, b.low), smaller(a.high, b.high)};
    case TERM_MAX: return (struct bounds){larger(a.low, b.low), larger(a.high, b.high)};
    case TERM_SHIFT: return shifted(a, b, wide, t->value != 0);
    case TERM_DIVIDE:
        if (a.low < 0 || b.low < 1) break;
        return (struct bounds){a.low / b.high, a.high / b.low};
    case TERM_EXTEND_S: return a;
    case TERM_EXTEND_U: return without_sign(a);
    case TERM_NARROW: return fitting(a, false, false);
    case TERM_XOR:
    case TERM_EITHER:
    case TERM_LOOP:
    case TERM_WAY:
    case TERM_PASS: break;
    }
    return any_of(wide);
}

/* ---- conditions ---- */
bool simt_steady_decide(const struct condition *c, struct bounds a, struct bounds b, bool wide, bool *held)
{
    if (c->equals) {
        bool apart = a.high < b.low || b.high < a.low;
        *held = !apart;
        return apart || (a.low == a.high && b.low == b.high && a.low == b.low);
    }
    if (!c->is_signed && wide && (a.low < 0 || b.low < 0)) return false;
    if (!c->is_signed && !wide) a = without_sign(a), b = without_sign(b);
    *held = a.high < b.low;
    return *held || a.low >= b.high;
}

/* Where terms have these ranges. */
static bool find_pattern(const struct simt_check *c, uint32_t first, uint32_t count, const struct bounds *ranges,
                         struct pattern *out)
{
    uint32_t term_first = c->launch->function->code->term_first;
    *out = (struct pattern){0};
    for (uint32_t k = 0; k < count; k++) {
        const struct condition *one = &c->program->conditions[first + k];
        bool held, wide = c->program->terms[one->a].wide;
        uint32_t a = (uint32_t)one->a - term_first, b = (uint32_t)one->b - term_first;
        if (!simt_steady_decide(one, ranges[a], ranges[b], wide, &held)) return false;
        out->held[k / 64] |= (uint64_t)held << k % 64;
    }
    return true;
}

bool simt_steady_all(const struct simt_check *c, uint32_t first, uint32_t count, struct pattern *out)
{
    return find_pattern(c, first, count, c->steady.ranges, out);
}

bool simt_steady_pattern(struct block *b, uint32_t first, uint32_t count, const struct block_range *of,
                         struct pattern *out)
{
    const struct simt_check *c = b->check;
    const struct steadiness *s = &c->steady;
    const struct function *f = c->launch->function->code;
    bool some = count || f->choice_count;
    for (uint32_t k = 0; some && k < s->varying_count; k++)
        b->ranges[s->varying[k]] = range_of(c, b->ranges, &c->program->terms[f->term_first + s->varying[k]], of);
    return find_pattern(c, first, count, b->ranges, out);
}

/* ---- choices ---- */
static const struct choice *choices_of(const struct simt_check *c)
{
    const struct choice *all = c->program->choices;
    return all ? &all[c->launch->function->code->choice_first] : NULL;
}

/* The one number that is left of a choice. False: there are several. */
static bool find_value(const struct simt_check *c, const struct bounds *ranges, const struct choice *of, int64_t *value)
{
    uint32_t first = c->launch->function->code->term_first;
    const struct condition *when = &of->when;
    bool held = true;
    if (when->a >= 0 && !simt_steady_decide(when, ranges[(uint32_t)when->a - first], ranges[(uint32_t)when->b - first],
                                            c->program->terms[when->a].wide, &held))
        return false;
    struct bounds left = ranges[(uint32_t)(held ? of->a : of->b) - first];
    *value = left.low;
    return left.low == left.high;
}

/* Of the pattern of a block in which terms have these ranges. */
static bool find_values(const struct simt_check *c, const struct bounds *ranges, struct pattern *out)
{
    for (uint32_t k = 0; k < c->launch->function->code->choice_count; k++)
        if (!find_value(c, ranges, &choices_of(c)[k], &out->values[k])) return false;
    return true;
}

/* May its blocks have patterns? */
static bool may_have_patterns(const struct simt_check *c)
{
    const struct function *f = c->launch->function->code;
    return f->steady && f->condition_count <= CONDITIONS && f->choice_count <= CHOICES && simt_inputs_fixed(c);
}

/* ---- a launch ---- */
enum { WANTED = 1, VARIES = 2 };

static void want_terms(const struct function *f, const struct condition *all, uint32_t count, uint8_t *marks)
{
    for (uint32_t k = 0; k < count; k++)
        marks[(uint32_t)all[k].a - f->term_first] = marks[(uint32_t)all[k].b - f->term_first] = WANTED;
}

static void want_choices(const struct function *f, const struct choice *all, uint8_t *marks)
{
    for (uint32_t k = 0; k < f->choice_count; k++) {
        marks[(uint32_t)all[k].a - f->term_first] = marks[(uint32_t)all[k].b - f->term_first] = WANTED;
        if (all[k].when.a >= 0) want_terms(f, &all[k].when, 1, marks);
    }
}

/* The terms that conditions and choices are made of and the block's index is part of, in order; ranges of all are
 * filled in. */
static void find_varying(const struct simt_check *c, struct steadiness *s, uint8_t *marks)
{
    const struct function *f = c->launch->function->code;
    const struct term *terms = &c->program->terms[f->term_first];
    uint32_t count = f->term_end - f->term_first;
    want_terms(f, &c->program->conditions[f->condition_first], f->condition_count, marks);
    want_choices(f, choices_of(c), marks);
    want_terms(f, &c->program->conditions[f->even_first], f->even_count, marks);
    for (uint32_t k = count; k-- > 0;) {
        const struct term *t = &terms[k];
        bool leaf = t->kind <= TERM_SPECIAL, unary = t->kind >= TERM_EXTEND_S && t->kind <= TERM_NARROW;
        if (!marks[k] || leaf || t->kind == TERM_LOOP) continue;
        marks[(uint32_t)t->a - f->term_first] = WANTED;
        if (!unary) marks[(uint32_t)t->b - f->term_first] = WANTED;
    }
    for (uint32_t k = 0; k < count; k++) {
        const struct term *t = &terms[k];
        bool leaf = t->kind <= TERM_SPECIAL, unary = t->kind >= TERM_EXTEND_S && t->kind <= TERM_NARROW;
        bool index = t->kind == TERM_SPECIAL && t->value >= SR_CTAID_X && t->value <= SR_CTAID_Z;
        if (!marks[k]) continue;
        s->ranges[k] = range_of(c, s->ranges, t, NULL);
        bool varies = index || (!leaf && marks[(uint32_t)t->a - f->term_first] & VARIES) ||
                      (!leaf && !unary && marks[(uint32_t)t->b - f->term_first] & VARIES);
        if (!varies || t->kind == TERM_LOOP) continue;
        marks[k] |= VARIES;
        s->varying[s->varying_count++] = k;
    }
}

bool simt_steady_begin(struct simt_check *c)
{
    const struct function *f = c->launch->function->code;
    struct steadiness *s = &c->steady;
    uint32_t count = f->term_end - f->term_first;
    s->possible = may_have_patterns(c);
    bool some = s->possible && (f->condition_count || f->choice_count);
    if (!some && !(c->even.count && f->even_count)) return true;
    s->ranges = rt_alloc(count * sizeof *s->ranges);
    s->varying = rt_alloc(count * sizeof *s->varying);
    uint8_t *marks = rt_calloc(count, 1);
    bool ok = s->ranges && s->varying && marks;
    if (ok) find_varying(c, s, marks);
    free(marks);
    return ok;
}

void simt_steady_free(struct simt_check *c)
{
    free(c->steady.ranges);
    free(c->steady.varying);
}

/* ---- blocks ---- */
bool simt_steady_new(struct block *b)
{
    const struct function *f = b->check->launch->function->code;
    const struct bounds *ranges = b->check->steady.ranges;
    if (!ranges) return true;
    size_t bytes = (f->term_end - f->term_first) * sizeof *ranges;
    b->ranges = rt_alloc(bytes);
    if (b->ranges) memcpy(b->ranges, ranges, bytes);
    return b->ranges != NULL;
}

void simt_steady_start(struct block *b)
{
    struct simt_check *c = b->check;
    const struct function *f = c->launch->function->code;
    struct block_range here;
    memcpy(here.low, b->worker->block, sizeof here.low);
    memcpy(here.high, b->worker->block, sizeof here.high);
    b->meetings = 0;
    b->patterned = c->steady.possible && !simt_reach_kept(b) &&
                   simt_steady_pattern(b, f->condition_first, f->condition_count, &here, &b->pattern) &&
                   find_values(c, b->ranges, &b->pattern);
    b->steady = b->patterned && simt_steady_knows(&c->steady.known, &b->pattern);
}

/* Some threads meet, and know more from then on: they may have stored to all words that they read. Or the block tells
 * nothing of others. */
void simt_steady_leave(struct block *b)
{
    const struct simt_program *p = b->check->program;
    uint64_t own = b->check->launch->function->code->own;
    if (!own || b->steady || !b->patterned) return;
    b->patterned = !b->tags.slow;
    for (; own && b->patterned; own &= own - 1) b->patterned = simt_shared_apart(b, &p->shared[__builtin_ctzll(own)]);
}

/* What unsteady loads read from here on is all written, or the block tells nothing of others. */
void simt_steady_met(struct block *b)
{
    const struct simt_program *p = b->check->program;
    const struct function *f = b->check->launch->function->code;
    b->meetings++;
    if (b->steady || !b->patterned) return;
    for (uint32_t k = f->still_first; k < f->still_first + f->still_count && b->patterned; k++)
        if (p->still[k].epoch == b->meetings) b->patterned = simt_shared_whole(b, &p->shared[p->still[k].variable]);
}

bool simt_steady_knows(const struct patterns *p, const struct pattern *one)
{
    uint32_t count = atomic_load_explicit(&p->count, memory_order_acquire);
    for (uint32_t k = 0; k < count; k++)
        if (!memcmp(&p->of[k], one, sizeof *one)) return true;
    return false;
}

void simt_steady_learn(struct block *b, struct patterns *p, const struct pattern *one)
{
    struct simt_check *c = b->check;
    if (b->worker->fault.kind || atomic_load(&b->worker->run->fault_block) != UINT64_MAX) return; /* it may not end */
    if (b->excused) return;
    pthread_mutex_lock(&c->lock);
    uint32_t count = atomic_load_explicit(&p->count, memory_order_relaxed);
    if (!c->report_count && !c->more && count < KNOWN_PATTERNS && !simt_steady_knows(p, one)) {
        p->of[count] = *one;
        atomic_store_explicit(&p->count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&c->lock);
}

void simt_steady_end(struct block *b)
{
    struct simt_check *c = b->check;
    simt_steady_leave(b);
    if (!b->steady && b->patterned && !(b->flushed && c->releases_some))
        simt_steady_learn(b, &c->steady.known, &b->pattern);
}
