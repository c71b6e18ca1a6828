/* Sorting on the host threads: a radix sort of keys (keys.h), which looks at every byte of a key once and so needs no
 * comparisons. Values are sorted as keys alone and made from the keys again; indices as records of key and index. Short
 * rows are sorted beside each other, a long row by all threads. */
#include "kernels/sort.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define LONG  65536 /* elements of a row that all threads sort together */
#define PIECE 65536 /* elements that are turned into keys, or keys into elements, at a time */

/* A long row cut into slices, one for each thread. */
struct slices {
    size_t n, count;
    const void *from;
    void *to;
    int shift;
    size_t (*counts)[256]; /* of each slice, how many records have a digit; then where the next of them goes */
};

static size_t slice_begin(const struct slices *s, size_t i)
{
    return s->n / s->count * i + (i < s->n % s->count ? i : s->n % s->count);
}

/* Counts to places; false when all records have the same digit, and so stay where they are. */
static bool slices_places(struct slices *s)
{
    size_t sum = 0;
    bool one = false;
    for (int d = 0; d < 256; d++) {
        size_t before = sum;
        for (size_t i = 0; i < s->count; i++) {
            size_t n = s->counts[i][d];
            s->counts[i][d] = sum;
            sum += n;
        }
        one |= sum - before == s->n;
    }
    return !one;
}

/* Keys of 8 bytes with their index. */
struct pair {
    uint64_t key, index;
};

#define RADIX_T      uint32_t
#define RADIX_KEY(r) ((uint64_t)(r))
#define RADIX(name)  name##_key32
#include "kernels/radix.h"
#define RADIX_T      uint64_t
#define RADIX_KEY(r) (r)
#define RADIX(name)  name##_key64
#include "kernels/radix.h"
/* A key of up to 4 bytes above an index of 4. */
#define RADIX_T      uint64_t
#define RADIX_KEY(r) ((r) >> 32)
#define RADIX(name)  name##_pair32
#include "kernels/radix.h"
#define RADIX_T      struct pair
#define RADIX_KEY(r) ((r).key)
#define RADIX(name)  name##_pair64
#include "kernels/radix.h"

enum record { KEY32, KEY64, PAIR32, PAIR64 };

struct job {
    const struct kn_sorter *s;
    enum record record;
    size_t record_bytes, element_bytes;
    int kind;
    uint64_t inf, flip, top, nan;
    const char *in;
    char *values;
    int64_t *indices;
    char *scratch; /* two rows of records; for each worker where rows are sorted beside each other */
    /* Of the long row that is sorted now: */
    const char *row;
    char *records;
    int64_t row_number;
};

#define KN_FN static inline
KN_KEY_FUNCTIONS(uint8_t, 0x80, key_8, same_8)
KN_KEY_FUNCTIONS(uint16_t, 0x8000, key_16, same_16)
KN_KEY_FUNCTIONS(uint32_t, 0x80000000, key_32, same_32)
KN_KEY_FUNCTIONS(uint64_t, 0x8000000000000000, key_64, same_64)

/* What follows is expanded for each size of elements and record, so that the inner loops have nothing to decide. */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t key_of(const struct job *j, const char *at, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, at, bytes); /* the low bytes come first on all machines that this runs on */
    switch (bytes) {
    case 1: return key_8((uint8_t)bits, j->kind, (uint8_t)j->inf, (uint8_t)j->flip);
    case 2: return key_16((uint16_t)bits, j->kind, (uint16_t)j->inf, (uint16_t)j->flip);
    case 4: return key_32((uint32_t)bits, j->kind, (uint32_t)j->inf, (uint32_t)j->flip);
    default: return key_64(bits, j->kind, j->inf, j->flip);
    }
}

/* Records for elements begin..end of a row. */
INLINE void make_sized(const struct job *j, const char *row, void *records, size_t begin, size_t end, size_t bytes,
                       enum record record)
{
    for (size_t i = begin; i < end; i++) {
        uint64_t key = key_of(j, row + i * bytes, bytes);
        switch (record) {
        case KEY32: ((uint32_t *)records)[i] = (uint32_t)key; break;
        case KEY64: ((uint64_t *)records)[i] = key; break;
        case PAIR32: ((uint64_t *)records)[i] = key << 32 | i; break;
        default: ((struct pair *)records)[i] = (struct pair){key, i};
        }
    }
}

static inline uint64_t bits_of(const struct job *j, uint64_t key)
{
    uint64_t all = j->top | (j->top - 1);
    if (j->kind == KN_KEY_FLOAT && key == all) return j->nan;
    key ^= j->flip & all;
    if (j->kind == KN_KEY_UNSIGNED) return key;
    if (j->kind == KN_KEY_SIGNED) return key ^ j->top;
    return key & j->top ? key ^ j->top : ~key & all;
}

/* The results of row number r from its sorted records. */
INLINE void write_sized(const struct job *j, int64_t r, const void *records, size_t begin, size_t end, size_t bytes,
                        enum record record)
{
    size_t first = (size_t)(r * j->s->length);
    const char *row = j->in + first * bytes;
    for (size_t i = begin; i < end; i++) {
        char *to = j->values + (first + i) * bytes;
        if (record == KEY32 || record == KEY64) {
            uint64_t bits =
                bits_of(j, record == KEY32 ? ((const uint32_t *)records)[i] : ((const uint64_t *)records)[i]);
            memcpy(to, &bits, bytes);
            continue;
        }
        uint64_t index =
            record == PAIR32 ? (uint32_t)((const uint64_t *)records)[i] : ((const struct pair *)records)[i].index;
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
        else if (size == 8)                                                                                            \
            function(__VA_ARGS__, 8, PAIR64);                                                                          \
        else                                                                                                           \
            function(__VA_ARGS__, size, PAIR64);                                                                       \
    } while (0)

static void make_records(const struct job *j, const char *row, void *records, size_t begin, size_t end)
{
    SIZES(make_sized, j, row, records, begin, end);
}

static void write_results(const struct job *j, int64_t r, const void *records, size_t begin, size_t end)
{
    SIZES(write_sized, j, r, records, begin, end);
}

/* ---- rows beside each other ---- */
static const void *sort_serial(const struct job *j, void *records, size_t n)
{
    void *other = (char *)records + n * j->record_bytes;
    int bytes = (int)j->element_bytes;
    switch (j->record) {
    case KEY32: return serial_key32(records, other, n, bytes);
    case KEY64: return serial_key64(records, other, n, bytes);
    case PAIR32: return serial_pair32(records, other, n, bytes);
    default: return serial_pair64(records, other, n, bytes);
    }
}

static void rows_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    size_t n = (size_t)j->s->length;
    char *records = j->scratch + (size_t)worker * 2 * n * j->record_bytes;
    for (size_t r = begin; r < end && !rt_interrupted(); r++) {
        make_records(j, j->in + r * n * j->element_bytes, records, 0, n);
        write_results(j, (int64_t)r, sort_serial(j, records, n), 0, n);
    }
}

/* ---- one row by all threads ---- */
static void make_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    (void)worker;
    make_records(j, j->row, j->records, begin, end);
}

static void write_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    (void)worker;
    write_results(j, j->row_number, j->records, begin, end);
}

static void sort_long(struct job *j, int64_t r, struct slices *s)
{
    char *other = j->scratch + s->n * j->record_bytes;
    int bytes = (int)j->element_bytes;
    j->row = j->in + (size_t)r * s->n * j->element_bytes;
    j->records = j->scratch;
    j->row_number = r;
    rt_parallel_for(s->n, PIECE, make_piece, j);
    void *sorted;
    switch (j->record) {
    case KEY32: sorted = parallel_key32((uint32_t *)j->scratch, (uint32_t *)other, s, bytes); break;
    case KEY64: sorted = parallel_key64((uint64_t *)j->scratch, (uint64_t *)other, s, bytes); break;
    case PAIR32: sorted = parallel_pair32((uint64_t *)j->scratch, (uint64_t *)other, s, bytes); break;
    default: sorted = parallel_pair64((struct pair *)j->scratch, (struct pair *)other, s, bytes);
    }
    j->records = sorted;
    if (!rt_interrupted()) rt_parallel_for(s->n, PIECE, write_piece, j);
}

static enum rt_status sort_all(struct job *j, struct rt_error *e)
{
    size_t n = (size_t)j->s->length, workers = (size_t)rt_thread_count();
    bool together = n >= LONG && j->s->rows < 2 * (int64_t)workers;
    size_t bytes = 2 * n * j->record_bytes * (together ? 1 : workers);
    struct slices s = {.n = n, .count = workers};
    j->scratch = rt_alloc(bytes);
    s.counts = rt_alloc(workers * sizeof *s.counts);
    enum rt_status status = RT_OK;
    if (!j->scratch || !s.counts)
        status = rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for sorting", bytes);
    else if (together)
        for (int64_t r = 0; r < j->s->rows && !rt_interrupted(); r++) sort_long(j, r, &s);
    else
        rt_parallel_for((size_t)j->s->rows, n < 4096 ? 4096 / n : 1, rows_piece, j);
    free(j->scratch);
    free(s.counts);
    if (status == RT_OK && rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    return status;
}

enum rt_status kn_sort_host(const struct kn_sorter *s, const struct rt_array *values, const struct rt_array *indices,
                            struct rt_error *e)
{
    enum rt_dtype t = s->a->dtype;
    struct job j = {.s = s,
                    .element_bytes = rt_dtypes[t].size,
                    .kind = (int)kn_key_kind(t),
                    .inf = kn_key_infinity(t),
                    .flip = s->descending ? ~(uint64_t)0 : 0,
                    .top = (uint64_t)1 << (8 * rt_dtypes[t].size - 1),
                    .in = rt_array_host(s->a),
                    .values = values ? rt_array_host(values) : NULL,
                    .indices = indices ? rt_array_host(indices) : NULL};
    bool narrow = j.element_bytes <= 4;
    if (!indices)
        j.record = narrow ? KEY32 : KEY64;
    else
        j.record = narrow && s->length <= UINT32_MAX ? PAIR32 : PAIR64;
    j.record_bytes = j.record == KEY32 ? 4 : j.record == PAIR64 ? sizeof(struct pair) : 8;
    if (j.kind == KN_KEY_FLOAT) j.nan = j.inf | (j.inf & -j.inf) >> 1; /* a quiet one */
    return sort_all(&j, e);
}
