/* Sorting records in place by vectors (quicksort.h): as far as they are wanted, and long rows in parts by all threads.
 */
#include <string.h>
#include "kernels/sort_records.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

/* ---- what is wanted of a row ---- */

/* The first of the wanted places that is not before `place`; there are s->wanted. */
static int64_t next_wanted(const struct kn_sorter *s, size_t place)
{
    int64_t low = 0, high = s->wanted;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->places[middle] < (int64_t)place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_wanted(const struct kn_sorter *s, size_t begin, size_t end)
{
    if (!s->places) return true;
    int64_t i = next_wanted(s, begin);
    return i < s->wanted && s->places[i] < (int64_t)end;
}

/* ---- a row or some of it, by one thread ---- */

static size_t split(const struct job *j, char *records, size_t n)
{
    if (n <= KN_QUICK_FEW) return 0;
    return j->record == KEY32 ? kn_quick_split_32((uint32_t *)(void *)records, n)
                              : kn_quick_split_64((uint64_t *)(void *)records, n);
}

/* Sorts records from place `base` of their row on, as far as they are wanted. */
void kn_sort_quick(const struct job *j, char *records, size_t base, size_t n)
{
    while (is_wanted(j->s, base, base + n)) {
        size_t small = j->s->places ? split(j, records, n) : 0;
        if (small == 0 || small == n) {
            if (j->record == KEY32)
                kn_quick_sort_32((uint32_t *)(void *)records, n);
            else
                kn_quick_sort_64((uint64_t *)(void *)records, n);
            return;
        }
        kn_sort_quick(j, records, base, small);
        records += small * j->record_bytes;
        base += small;
        n -= small;
    }
}

/* ---- a long row, first ---- */

/* Its records go to KN_QUICK_PARTS parts as they are made: all threads take pieces of the row, and know from counts
 * where those of each piece go. */
#define MOST_PIECES 256
#define LEAST_PIECE (4 * CHUNK)
#define SAMPLE      256
struct dealing {
    const struct job *j;
    size_t n, pieces;
    uint64_t bounds[SAMPLE];                    /* as keys of 4 bytes or of 8 */
    size_t places[MOST_PIECES][KN_QUICK_PARTS]; /* how many go to each part; then where the next of them goes */
    size_t ends[MOST_PIECES][KN_QUICK_PARTS];   /* behind the last of them */
};

static void count_chunk(struct dealing *d, size_t piece, const void *records, size_t n)
{
    if (d->j->record == KEY32)
        kn_quick_count_32(records, n, (const uint32_t *)d->bounds, d->places[piece]);
    else
        kn_quick_count_64(records, n, d->bounds, d->places[piece]);
}

static void deal_chunk(struct dealing *d, size_t piece, const void *records, size_t n)
{
    size_t *places = d->places[piece], *ends = d->ends[piece];
    uint32_t *narrow = (uint32_t *)(void *)d->j->records, *to_32[KN_QUICK_PARTS], *ends_32[KN_QUICK_PARTS];
    uint64_t *wide = (uint64_t *)(void *)d->j->records, *to_64[KN_QUICK_PARTS], *ends_64[KN_QUICK_PARTS];
    for (int k = 0; k < KN_QUICK_PARTS; k++) {
        if (d->j->record == KEY32)
            to_32[k] = narrow + places[k], ends_32[k] = narrow + ends[k];
        else
            to_64[k] = wide + places[k], ends_64[k] = wide + ends[k];
    }
    if (d->j->record == KEY32)
        kn_quick_deal_32(records, n, (const uint32_t *)d->bounds, to_32, ends_32);
    else
        kn_quick_deal_64(records, n, d->bounds, to_64, ends_64);
    for (int k = 0; k < KN_QUICK_PARTS; k++)
        places[k] = (size_t)(d->j->record == KEY32 ? to_32[k] - narrow : to_64[k] - wide);
}

static void each_chunk(struct dealing *d, size_t piece, void (*use)(struct dealing *, size_t, const void *, size_t))
{
    const size_t begin = d->n / d->pieces * piece, end = piece + 1 == d->pieces ? d->n : begin + d->n / d->pieces;
    uint64_t records[CHUNK];
    for (size_t at = begin, many; at < end && !rt_interrupted(); at += many) {
        many = end - at < CHUNK ? end - at : CHUNK;
        kn_sort_make(d->j, d->j->row, records, at, at + many);
        use(d, piece, records, many);
    }
}

static void count_piece(void *context, size_t begin, size_t end, int worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++) each_chunk(context, i, count_chunk);
}

static void deal_piece(void *context, size_t begin, size_t end, int worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++) each_chunk(context, i, deal_chunk);
}

/* Bounds between parts that are about as long, by some records from all over. */
static void choose_bounds(struct dealing *d)
{
    char *const sample = (char *)d->bounds;
    const size_t bytes = d->j->record_bytes;
    for (size_t i = 0; i < SAMPLE; i++) {
        const size_t at = d->n / SAMPLE * i;
        kn_sort_make(d->j, d->j->row, sample + i * bytes, at, at + 1);
    }
    if (d->j->record == KEY32)
        kn_quick_sort_32((uint32_t *)(void *)sample, SAMPLE);
    else
        kn_quick_sort_64((uint64_t *)(void *)sample, SAMPLE);
    for (size_t k = 1; k < KN_QUICK_PARTS; k++)
        memcpy(sample + (k - 1) * bytes, sample + SAMPLE / KN_QUICK_PARTS * k * bytes, bytes);
}

/* Makes the records of the row in j, dealt; begins has KN_QUICK_PARTS + 1 elements, `step` apart. */
static void deal_row(const struct job *j, size_t n, size_t *begins, size_t step)
{
    struct dealing d = {.j = j, .n = n, .pieces = n / LEAST_PIECE < MOST_PIECES ? n / LEAST_PIECE : MOST_PIECES};
    choose_bounds(&d);
    rt_parallel_for(d.pieces, 1, count_piece, &d);
    size_t sum = 0;
    for (size_t k = 0; k < KN_QUICK_PARTS; k++) {
        begins[k * step] = sum;
        for (size_t i = 0; i < d.pieces; i++) {
            const size_t many = d.places[i][k];
            d.places[i][k] = sum;
            sum += many;
            d.ends[i][k] = sum;
        }
    }
    begins[KN_QUICK_PARTS * step] = sum;
    if (!rt_interrupted()) rt_parallel_for(d.pieces, 1, deal_piece, &d);
}

/* ---- then in parts ---- */

/* Parts of the row, each of which is sorted for itself: split again and again, all parts at a time. */
#define ROUNDS 9
struct parts {
    const struct job *j;
    size_t begins[(1 << ROUNDS) + 1]; /* part i is from begins[i * step] to begins[(i + 1) * step] */
    size_t step;
    bool short_of_room; /* records are, and have to be mended before they are written */
    bool at_once;       /* all of a part is sorted and written, which parts it further */
};

static void split_piece(void *context, size_t begin, size_t end, int worker)
{
    struct parts *p = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        size_t *at = p->begins + i * p->step, first = at[0], n = at[p->step] - first, small = 0;
        if (is_wanted(p->j->s, first, first + n)) small = split(p->j, p->j->records + first * p->j->record_bytes, n);
        at[p->step / 2] = first + small;
    }
}

/* Sorts records from place `first` of the row on, and writes them as soon as some are: those are in the cache still. A
 * row made to defeat the choice of pivots is left to what knows how to sort it. */
static void sort_and_write(const struct job *j, size_t first, size_t n)
{
    for (int left = 32; n > PIECE && left > 0 && !rt_interrupted(); left--) {
        const size_t small = split(j, j->records + first * j->record_bytes, n);
        if (small == 0 || small == n) break;
        if (small <= n - small) {
            sort_and_write(j, first, small);
            first += small;
            n -= small;
        } else {
            sort_and_write(j, first + small, n - small);
            n = small;
        }
    }
    if (rt_interrupted()) return;
    kn_sort_quick(j, j->records + first * j->record_bytes, first, n);
    kn_sort_write(j, j->row_number, j->records, first, first + n);
}

static void part_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct parts *p = context;
    (void)worker;
    for (size_t i = begin; i < end && !rt_interrupted(); i++) {
        size_t first = p->begins[i], last = p->begins[i + 1];
        if (p->at_once)
            sort_and_write(p->j, first, last - first);
        else
            kn_sort_quick(p->j, p->j->records + first * p->j->record_bytes, first, last - first);
    }
}

static void mend_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct parts *p = context;
    (void)worker;
    for (size_t i = begin; i < end && !rt_interrupted(); i++) {
        kn_sort_mend(p->j, p->j->row, (uint64_t *)(void *)p->j->records, p->begins[i], p->begins[i + 1]);
        kn_sort_write(p->j, p->j->row_number, p->j->records, p->begins[i], p->begins[i + 1]);
    }
}

/* Moves the ends of `count` parts to where groups of records that are to be mended end, too. */
static void part_groups(struct parts *p, size_t count)
{
    const uint64_t *records = (const uint64_t *)(const void *)p->j->records;
    const int bits = p->j->index_bits;
    for (size_t i = 1; i < count; i++) {
        size_t at = p->begins[i] > p->begins[i - 1] ? p->begins[i] : p->begins[i - 1];
        while (at > 0 && at < p->begins[count] && records[at] >> bits == records[at - 1] >> bits) at++;
        p->begins[i] = at;
    }
}

void kn_sort_parts(const struct job *j, size_t n)
{
    struct parts p = {.j = j, .short_of_room = j->record == SHORT64 && kn_sort_bits_over(j) > 0};
    p.at_once = !j->s->places && !p.short_of_room;
    size_t count = 1;
    while (count < 1 << ROUNDS && (count < 8 * (size_t)rt_thread_count() || (!p.at_once && n / count > PIECE)))
        count *= 2;
    deal_row(j, n, p.begins, count / KN_QUICK_PARTS);
    for (p.step = count / KN_QUICK_PARTS; p.step > 1 && !rt_interrupted(); p.step /= 2)
        rt_parallel_for(count / p.step, 1, split_piece, &p);
    rt_parallel_for(count, 1, part_piece, &p);
    if (!p.short_of_room || rt_interrupted()) return;
    part_groups(&p, count);
    rt_parallel_for(count, 1, mend_piece, &p);
}
