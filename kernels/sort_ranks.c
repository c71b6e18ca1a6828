/* Indices of a row of keys of 8 bytes, beside which an index has no room in a record: the keys alone are sorted as far
 * as need be, and elements are looked for among those. */
#include "kernels/sort_records.h"
#include <string.h>

/* Which of the classes between and at `count` ascending keys the key is in: 0 is below the first, 1 is that key. */
static size_t class_of(const uint64_t *bounds, size_t count, uint64_t key)
{
    const uint64_t *at = bounds;
    for (size_t n = count, half; n > 1; n -= half) {
        half = n / 2;
        at += at[half - 1] < key ? half : 0;
    }
    const size_t low = (size_t)(at - bounds) + (*at < key);
    return 2 * low + (low < count && bounds[low] == key);
}

/* Where the classes of the row's elements begin among its places. */
static void find_begins(const struct job *j, const char *row, const uint64_t *bounds, uint64_t *begins)
{
    const size_t n = (size_t)j->s->length, count = (size_t)j->s->wanted;
    uint64_t chunk[CHUNK];
    memset(begins, 0, (2 * count + 1) * sizeof *begins);
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t many = n - at < CHUNK ? n - at : CHUNK;
        kn_sort_make(j, row + at * j->element_bytes, chunk, 0, many);
        if (count > 1) {
            for (size_t i = 0; i < many; i++) begins[class_of(bounds, count, chunk[i])]++;
            continue;
        }
        uint64_t below = 0, equal = 0;
        for (size_t i = 0; i < many; i++) {
            below += chunk[i] < bounds[0];
            equal += chunk[i] == bounds[0];
        }
        begins[0] += below;
        begins[1] += equal;
    }
    for (size_t i = 0, sum = 0, many; i <= 2 * count; i++, sum += many) {
        many = begins[i];
        begins[i] = sum;
    }
}

/* The indices of elements from `at` on, by their keys, into both sides of a bound. */
static void part_indices(const uint64_t *keys, size_t at, size_t n, uint64_t bound, uint64_t *begins, int64_t *to)
{
    uint64_t below = begins[0], equal = begins[1], above = begins[2];
    for (size_t i = 0; i < n; i++) {
        const uint64_t less = keys[i] < bound, same = keys[i] == bound;
        const uint64_t other = same ? equal : above;
        to[less ? below : other] = (int64_t)(at + i) + 1;
        below += less;
        equal += same;
        above += !(less | same);
    }
    begins[0] = below;
    begins[1] = equal;
    begins[2] = above;
}

/* The indices of a row in parts, or that at one place, where records of key and index have no room in 8 bytes: the keys
 * alone are sorted as far as need be, and then each index goes behind the others of its class. */
static void rank_row(const struct job *j, int64_t r, uint64_t *keys)
{
    const struct kn_sorter *s = j->s;
    const size_t n = (size_t)s->length, count = (size_t)s->wanted;
    const char *row = kn_sort_row(j, r);
    uint64_t *bounds = keys + n, *begins = bounds + count, chunk[CHUNK];
    int64_t *to = j->indices + r * s->length;
    kn_sort_make(j, row, keys, 0, n);
    kn_sort_quick(j, (char *)keys, 0, n);
    for (size_t i = 0; i < count; i++) bounds[i] = keys[s->places[i]];
    find_begins(j, row, bounds, begins);
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t many = n - at < CHUNK ? n - at : CHUNK;
        kn_sort_make(j, row + at * j->element_bytes, chunk, 0, many);
        if (count == 1 && s->parts) {
            part_indices(chunk, at, many, bounds[0], begins, to);
            continue;
        }
        for (size_t i = 0; i < many; i++) {
            const uint64_t place = begins[class_of(bounds, count, chunk[i])]++;
            if (s->parts || place == (uint64_t)s->places[0]) to[place] = (int64_t)(at + i) + 1;
        }
    }
    if (!j->values) return;
    const uint64_t *from = (const uint64_t *)(const void *)row;
    uint64_t *values = (uint64_t *)(void *)j->values + (size_t)r * n;
    const size_t first = s->parts ? 0 : (size_t)s->places[0], last = s->parts ? n : first + 1;
    for (size_t i = first; i < last; i++) values[i] = from[to[i] - 1];
}

/* Where the first `count` of a row's sorted elements are, in their order, of which the last one has the key `bound`, as
 * `equal` of the wanted ones have. */
static void find_firsts(const struct job *j, const uint64_t *row, uint64_t bound, size_t equal, size_t count,
                        uint64_t *at)
{
    const size_t n = (size_t)j->s->length;
    uint64_t chunk[CHUNK];
    size_t found = 0;
    for (size_t first = 0; first < n && found < count; first += CHUNK) {
        const size_t many = n - first < CHUNK ? n - first : CHUNK;
        kn_sort_make(j, (const char *)(row + first), chunk, 0, many);
        for (size_t i = 0; i < many && found < count; i++) {
            const size_t less = chunk[i] < bound, same = chunk[i] == bound && equal > 0;
            at[found] = first + i;
            found += less | same;
            equal -= same;
        }
    }
}

/* The first ones of a row likewise: they are found by the key of the last of them, and then sorted by themselves. */
static void rank_firsts(const struct job *j, int64_t r, uint64_t *keys)
{
    const size_t n = (size_t)j->s->length, count = (size_t)j->s->wanted, begin = (size_t)r * n;
    const int64_t last = (int64_t)count - 1;
    const struct kn_sorter one = {.length = j->s->length, .places = &last, .wanted = 1};
    const struct kn_sorter all = {.rows = 1, .length = last + 1, .descending = j->s->descending};
    const uint64_t *row = (const uint64_t *)(const void *)kn_sort_row(j, r);
    uint64_t *elements = keys + n, *at = elements + count, *records = at + count;
    struct job few = *j;
    size_t equal = 0;
    few.s = &one;
    kn_sort_make(j, (const char *)row, keys, 0, n);
    kn_sort_quick(&few, (char *)keys, 0, n);
    for (size_t i = 0; i < count; i++) equal += keys[i] == keys[last];
    find_firsts(j, row, keys[last], equal, count, at);
    for (size_t i = 0; i < count; i++) elements[i] = row[at[i]];
    few.s = &all;
    few.record = SHORT64;
    few.index_bits = kn_sort_index_bits(all.length);
    few.span = kn_sort_span(kn_sort_survey(&few, (const char *)elements, 0, count));
    kn_sort_make(&few, (const char *)elements, records, 0, count);
    kn_sort_quick(&few, (char *)records, 0, count);
    kn_sort_mend(&few, (const char *)elements, records, 0, count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t place = records[i] & kn_sort_index_mask(&few);
        j->indices[begin + i] = (int64_t)at[place] + 1;
        if (j->values) memcpy(j->values + (begin + i) * sizeof *elements, elements + place, sizeof *elements);
    }
}

void kn_sort_ranks(const struct job *j, int64_t r, uint64_t *keys)
{
    (kn_sort_are_firsts(j->s) ? rank_firsts : rank_row)(j, r, keys);
}
