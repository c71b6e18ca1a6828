/* Records of a row's elements, and results from sorted ones. */
#include "kernels/sort_records.h"
#include <string.h>

#define KN_FN static inline
KN_KEY_FUNCTIONS(uint8_t, 0x80, key_8, same_8)
KN_KEY_FUNCTIONS(uint16_t, 0x8000, key_16, same_16)
KN_KEY_FUNCTIONS(uint32_t, 0x80000000, key_32, same_32)
KN_KEY_FUNCTIONS(uint64_t, 0x8000000000000000, key_64, same_64)

/* What follows is expanded for each size of elements and record, so that the inner loops have nothing to decide. */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t key_of(int kind, uint64_t inf, uint64_t flip, const char *at, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, at, bytes); /* the low bytes come first on all machines that this runs on */
    switch (bytes) {
    case 1: return key_8((uint8_t)bits, kind, (uint8_t)inf, (uint8_t)flip);
    case 2: return key_16((uint16_t)bits, kind, (uint16_t)inf, (uint16_t)flip);
    case 4: return key_32((uint32_t)bits, kind, (uint32_t)inf, (uint32_t)flip);
    default: return key_64(bits, kind, inf, flip);
    }
}

/* Records of elements begin..end of a row. */
INLINE void make_sized(const struct job *j, const char *row, void *records, size_t begin, size_t end, size_t bytes,
                       enum record record)
{
    const int kind = j->kind; /* no store can change these copies */
    const uint64_t inf = j->inf, flip = j->flip;
    for (size_t i = begin; i < end; i++) {
        const uint64_t key = key_of(kind, inf, flip, row + i * bytes, bytes);
        const size_t at = i - begin;
        switch (record) {
        case KEY32: ((uint32_t *)records)[at] = (uint32_t)key; break;
        case KEY64: ((uint64_t *)records)[at] = key; break;
        case PAIR32: ((uint64_t *)records)[at] = key << 32 | i; break;
        default: ((struct pair *)records)[at] = (struct pair){key, i};
        }
    }
}

INLINE uint64_t bits_of(int kind, uint64_t top, uint64_t nan, uint64_t flip, uint64_t key)
{
    uint64_t all = top | (top - 1);
    if (kind == KN_KEY_FLOAT && key == all) return nan;
    key ^= flip & all;
    if (kind == KN_KEY_UNSIGNED) return key;
    return kind == KN_KEY_SIGNED || key & top ? key ^ top : ~key & all;
}

uint64_t kn_sort_bits_of(const struct job *j, uint64_t key)
{
    return bits_of(j->kind, j->top, j->nan, j->flip, key);
}

/* The results of row number r from its sorted records. */
INLINE void write_sized(const struct job *j, int64_t r, const void *records, size_t begin, size_t end, size_t bytes,
                        enum record record)
{
    size_t first = (size_t)(r * j->s->length);
    const char *row = j->in + first * bytes;
    const int kind = j->kind;
    const uint64_t top = j->top, nan = j->nan, flip = j->flip, mask = kn_sort_index_mask(j);
    for (size_t i = begin; i < end; i++) {
        char *to = j->values + (first + i) * bytes;
        if (record == KEY32 || record == KEY64) {
            uint64_t bits = bits_of(kind, top, nan, flip,
                                    record == KEY32 ? ((const uint32_t *)records)[i] : ((const uint64_t *)records)[i]);
            memcpy(to, &bits, bytes);
            continue;
        }
        uint64_t index =
            record == PAIR32 ? ((const uint64_t *)records)[i] & mask : ((const struct pair *)records)[i].index;
        if (j->indices) j->indices[first + i] = (int64_t)index + 1;
        if (j->values) memcpy(to, row + index * bytes, bytes);
    }
}

#define SIZES(function, ...)                                                                                           \
    do {                                                                                                               \
        size_t size = j->element_bytes;                                                                                \
        if (j->record == KEY64)                                                                                        \
            function(__VA_ARGS__, 8, KEY64);                                                                           \
        else if (j->record == KEY32 && size == 4)                                                                      \
            function(__VA_ARGS__, 4, KEY32);                                                                           \
        else if (j->record == KEY32 && size == 2)                                                                      \
            function(__VA_ARGS__, 2, KEY32);                                                                           \
        else if (j->record == KEY32)                                                                                   \
            function(__VA_ARGS__, 1, KEY32);                                                                           \
        else if (j->record == PAIR32 && size == 4)                                                                     \
            function(__VA_ARGS__, 4, PAIR32);                                                                          \
        else if (j->record == PAIR32 && size == 2)                                                                     \
            function(__VA_ARGS__, 2, PAIR32);                                                                          \
        else if (j->record == PAIR32)                                                                                  \
            function(__VA_ARGS__, 1, PAIR32);                                                                          \
        else if (j->record == SHORT64)                                                                                 \
            function(__VA_ARGS__, 8, PAIR32);                                                                          \
        else if (size == 8)                                                                                            \
            function(__VA_ARGS__, 8, PAIR64);                                                                          \
        else                                                                                                           \
            function(__VA_ARGS__, size, PAIR64);                                                                       \
    } while (0)

static void write_indices(const uint64_t *records, int64_t *to, size_t n, uint64_t mask)
{
    for (size_t i = 0; i < n; i++) to[i] = (int64_t)(records[i] & mask) + 1;
}

/* ---- keys of 8 bytes, of which a record has what there is room for beside an index ---- */

static void make_keys_64(const struct job *j, const char *from, uint64_t *keys, size_t n)
{
    if (j->kind == KN_KEY_FLOAT)
        j->loops->sorted_64(keys, from, j->flip != 0, n);
    else
        make_sized(j, from, keys, 0, n, 8, KEY64);
}

struct survey kn_sort_survey(const struct job *j, const char *row, size_t begin, size_t end)
{
    uint64_t keys[CHUNK];
    make_keys_64(j, row, keys, 1);
    const uint64_t first = keys[0];
    uint64_t least = first, greatest = first, differ = 0;
    for (size_t at = begin, n; at < end; at += n) {
        n = end - at < CHUNK ? end - at : CHUNK;
        make_keys_64(j, row + at * sizeof *keys, keys, n);
        for (size_t i = 0; i < n; i++) {
            differ |= keys[i] ^ first;
            least = keys[i] < least ? keys[i] : least;
            greatest = keys[i] > greatest ? keys[i] : greatest;
        }
    }
    return (struct survey){least, greatest, differ};
}

struct span kn_sort_span(struct survey s)
{
    const int zeros = s.differ ? __builtin_ctzll(s.differ) : 0;
    return (struct span){s.least, zeros, 64 - __builtin_clzll((s.greatest - s.least) >> zeros | 1)};
}

static void make_short(const struct job *j, const char *row, uint64_t *records, size_t begin, size_t end)
{
    uint64_t keys[CHUNK];
    const uint64_t least = j->span.least;
    const int off = j->span.zeros + kn_sort_bits_over(j), bits = j->index_bits;
    for (size_t at = begin, n; at < end; at += n) {
        n = end - at < CHUNK ? end - at : CHUNK;
        make_keys_64(j, row + at * sizeof *keys, keys, n);
        for (size_t i = 0; i < n; i++) records[at - begin + i] = (keys[i] - least) >> off << bits | (at + i);
    }
}

/* Sorts records that have no difference but in what there was no room for. */
static void mend_group(const struct job *j, const char *row, uint64_t *records, size_t n)
{
    const uint64_t over = ((uint64_t)1 << kn_sort_bits_over(j)) - 1, mask = kn_sort_index_mask(j),
                   least = j->span.least;
    const int zeros = j->span.zeros, bits = j->index_bits;
    uint64_t elements[CHUNK], keys[CHUNK];
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < CHUNK ? n - at : CHUNK;
        for (size_t i = 0; i < some; i++) elements[i] = ((const uint64_t *)(const void *)row)[records[at + i] & mask];
        make_keys_64(j, (const char *)elements, keys, some);
        for (size_t i = 0; i < some; i++)
            records[at + i] = ((keys[i] - least) >> zeros & over) << bits | (records[at + i] & mask);
    }
    kn_quick_sort_64(records, n);
}

void kn_sort_mend(const struct job *j, const char *row, uint64_t *records, size_t begin, size_t end)
{
    if (kn_sort_bits_over(j) == 0) return;
    for (size_t i = begin, next; i < end; i = next) {
        const uint64_t same = records[i] >> j->index_bits;
        for (next = i + 1; next < end && records[next] >> j->index_bits == same;) next++;
        if (next - i > 1) mend_group(j, row, records + i, next - i);
    }
}

/* ---- keys of integers, and elements of such keys ---- */

static bool are_turned(const struct job *j)
{
    return j->kind != KN_KEY_FLOAT && (j->record == KEY32 || j->record == KEY64);
}

#define TURN(name, TO, FROM)                                                                                           \
    static void name(TO *to, const FROM *from, uint64_t turned, size_t n)                                              \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) to[i] = (TO)(from[i] ^ turned);                                                 \
    }
TURN(turn_8, uint32_t, uint8_t)
TURN(turn_16, uint32_t, uint16_t)
TURN(turn_32, uint32_t, uint32_t)
TURN(turn_64, uint64_t, uint64_t)
TURN(turn_back_8, uint8_t, uint32_t)
TURN(turn_back_16, uint16_t, uint32_t)

/* Elements to keys, or back. */
static void turn(const struct job *j, void *to, const void *from, bool back, size_t n)
{
    const uint64_t turned = ((j->kind == KN_KEY_SIGNED ? j->top : 0) ^ j->flip) & (j->top | (j->top - 1));
    switch (j->element_bytes) {
    case 1: back ? turn_back_8(to, from, turned, n) : turn_8(to, from, turned, n); break;
    case 2: back ? turn_back_16(to, from, turned, n) : turn_16(to, from, turned, n); break;
    case 4: turn_32(to, from, turned, n); break;
    default: turn_64(to, from, turned, n);
    }
}

/* Such keys above the index of each element. */
static void pair(const struct job *j, const char *row, uint64_t *records, size_t begin, size_t end)
{
    uint32_t keys[CHUNK];
    for (size_t at = begin, n; at < end; at += n) {
        n = end - at < CHUNK ? end - at : CHUNK;
        turn(j, keys, row + at * j->element_bytes, false, n);
        for (size_t i = 0; i < n; i++) records[at - begin + i] = (uint64_t)keys[i] << 32 | (uint32_t)(at + i);
    }
}

/* ---- all of them ---- */

void kn_sort_make(const struct job *j, const char *row, void *records, size_t begin, size_t end)
{
    const void *from = row + begin * j->element_bytes;
    if (j->record == SHORT64)
        make_short(j, row, records, begin, end);
    else if (are_turned(j))
        turn(j, records, from, false, end - begin);
    else if (j->kind != KN_KEY_FLOAT && j->record == PAIR32)
        pair(j, row, records, begin, end);
    else if (j->quick && j->kind == KN_KEY_FLOAT && j->record == KEY32 && j->element_bytes == 4)
        j->loops->sorted_32(records, from, j->flip != 0, end - begin);
    else if (j->quick && j->kind == KN_KEY_FLOAT && j->record == KEY64)
        j->loops->sorted_64(records, from, j->flip != 0, end - begin);
    else if (j->kind == KN_KEY_FLOAT && j->record == PAIR32 && j->element_bytes == 4)
        j->loops->paired_32(records, from, j->flip != 0, (uint32_t)begin, end - begin);
    else
        SIZES(make_sized, j, row, records, begin, end);
}

void kn_sort_write(const struct job *j, int64_t r, const void *records, size_t begin, size_t end)
{
    const size_t first = (size_t)(r * j->s->length) + begin;
    void *to = j->values + first * j->element_bytes;
    if ((j->record == PAIR32 || j->record == SHORT64) && !j->values)
        write_indices((const uint64_t *)records + begin, j->indices + first, end - begin, kn_sort_index_mask(j));
    else if (are_turned(j))
        turn(j, to, (const char *)records + begin * j->record_bytes, true, end - begin);
    else if (j->quick && j->kind == KN_KEY_FLOAT && j->record == KEY32 && j->element_bytes == 4)
        j->loops->unsorted_32(to, (const uint32_t *)records + begin, j->flip != 0, end - begin);
    else if (j->quick && j->kind == KN_KEY_FLOAT && j->record == KEY64)
        j->loops->unsorted_64(to, (const uint64_t *)records + begin, j->flip != 0, end - begin);
    else
        SIZES(write_sized, j, r, records, begin, end);
}
