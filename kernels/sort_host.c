/* Sorting on the host threads, by keys (keys.h). Values are sorted as keys alone and made from the keys again; indices
 * as records of key and index, of 8 bytes where that can be (sort_records.h). Keys of 4 and 8 bytes, and records of 8,
 * are sorted in place by vectors where the processor can (quicksort.h), and so are elements of 2 bytes, and of 1 in
 * short rows, as keys of 4. The keys of long rows of elements of 1 and 2 bytes are counted. All else is sorted by a
 * radix sort, which looks at every byte of a key once. Short rows are sorted beside each other, a long row by all
 * threads. */
#include <stdlib.h>
#include <string.h>
#include "kernels/sort_records.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define LONG_BYTES 8192 /* elements of 1 byte of a row for which one round of a radix sort is as quick as vectors */

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

/* ---- rows beside each other ---- */

/* Writes what is wanted of row r. */
static void write_wanted(const struct job *j, int64_t r, const void *records)
{
    const struct kn_sorter *s = j->s;
    if (!s->places || s->parts) {
        kn_sort_write(j, r, records, 0, (size_t)s->length);
        return;
    }
    for (int64_t i = 0, last; i < s->wanted; i = last + 1) { /* as many neighbours at a time as there are */
        for (last = i; last + 1 < s->wanted && s->places[last + 1] <= s->places[last] + 1;) last++;
        kn_sort_write(j, r, records, (size_t)s->places[i], (size_t)s->places[last] + 1);
    }
}

static char *records_of(const struct job *j, int64_t r, int worker)
{
    if (j->in_values) return j->values + (size_t)(r * j->s->length) * j->element_bytes;
    if (j->in_indices) return (char *)(j->indices + r * j->s->length);
    return j->scratch + (size_t)worker * j->row_bytes;
}

/* Whether they are in order already, which costs next to nothing where they are not: then few are looked at. */
#define IS_ASCENDING(name, T)                                                                                          \
    static bool name(const T *records, size_t n)                                                                       \
    {                                                                                                                  \
        size_t i = 1;                                                                                                  \
        bool falls = false;                                                                                            \
        for (; i + 16 <= n && !falls; i += 16)                                                                         \
            for (size_t k = i; k < i + 16; k++) falls |= records[k - 1] > records[k];                                  \
        for (; i < n && !falls; i++) falls = records[i - 1] > records[i];                                              \
        return !falls;                                                                                                 \
    }
IS_ASCENDING(is_ascending_32, uint32_t)
IS_ASCENDING(is_ascending_64, uint64_t)

static void *sort_serial(const struct job *j, void *records, size_t n)
{
    void *other = (char *)records + n * j->record_bytes;
    int bytes = (int)j->element_bytes;
    if (j->quick) {
        if (!(j->record == KEY32 ? is_ascending_32(records, n) : is_ascending_64(records, n)))
            kn_sort_quick(j, records, 0, n);
        return records;
    }
    switch (j->record) {
    case KEY32: return serial_key32(records, other, n, bytes);
    case KEY64: return serial_key64(records, other, n, bytes);
    case PAIR32: return serial_pair32(records, other, n, bytes);
    default: return serial_pair64(records, other, n, bytes);
    }
}

/* Only a few of many records of 8 bytes are wanted, the first ones. */
static bool are_first_few(const struct job *j)
{
    const struct kn_sorter *s = j->s;
    return j->quick && j->record == PAIR32 && s->places && !s->parts && s->length >= KN_QUICK_MANY && s->wanted >= 1 &&
           s->wanted <= KN_QUICK_LEAST && s->places[s->wanted - 1] == s->wanted - 1;
}

static void rows_piece(void *context, size_t begin, size_t end, int worker)
{
    struct job j = *(const struct job *)context;
    const size_t n = (size_t)j.s->length, few = (size_t)j.s->wanted;
    for (size_t r = begin; r < end && !rt_interrupted(); r++) {
        const char *row = kn_sort_row(&j, (int64_t)r);
        void *records = records_of(&j, (int64_t)r, worker);
        if (j.ranked) {
            kn_sort_ranks(&j, (int64_t)r, records);
            continue;
        }
        if (j.record == SHORT64) j.span = kn_sort_span(kn_sort_survey(&j, row, 0, n));
        kn_sort_make(&j, row, records, 0, n);
        records = sort_serial(&j, records, are_first_few(&j) ? kn_quick_keep_least_64(records, n, few) : n);
        if (j.record == SHORT64) kn_sort_mend(&j, row, records, 0, n);
        write_wanted(&j, (int64_t)r, records);
    }
}

/* ---- one row by all threads ---- */

struct surveys {
    const struct job *j;
    struct survey parts[64];
};
#define PARTS (sizeof((struct surveys *)0)->parts / sizeof(struct survey))

static void survey_piece(void *context, size_t begin, size_t end, int worker)
{
    struct surveys *s = context;
    const size_t n = (size_t)s->j->s->length;
    (void)worker;
    for (size_t i = begin; i < end; i++)
        s->parts[i] = kn_sort_survey(s->j, s->j->row, n / PARTS * i, i + 1 == PARTS ? n : n / PARTS * (i + 1));
}

static struct span survey_row(const struct job *j)
{
    struct surveys s = {.j = j};
    rt_parallel_for(PARTS, 1, survey_piece, &s);
    struct survey all = s.parts[0];
    for (size_t i = 1; i < PARTS; i++) {
        all.differ |= s.parts[i].differ;
        all.least = s.parts[i].least < all.least ? s.parts[i].least : all.least;
        all.greatest = s.parts[i].greatest > all.greatest ? s.parts[i].greatest : all.greatest;
    }
    return kn_sort_span(all);
}

static void make_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    (void)worker;
    kn_sort_make(j, j->row, j->records + begin * j->record_bytes, begin, end);
}

static void write_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct job *j = context;
    (void)worker;
    kn_sort_write(j, j->row_number, j->records, begin, end);
}

static void *sort_slices(const struct job *j, struct slices *s)
{
    char *other = j->records + s->n * j->record_bytes;
    int bytes = (int)j->element_bytes;
    switch (j->record) {
    case KEY32: return parallel_key32((uint32_t *)j->records, (uint32_t *)other, s, bytes);
    case KEY64: return parallel_key64((uint64_t *)j->records, (uint64_t *)other, s, bytes);
    case PAIR32: return parallel_pair32((uint64_t *)j->records, (uint64_t *)other, s, bytes);
    default: return parallel_pair64((struct pair *)j->records, (struct pair *)other, s, bytes);
    }
}

static void sort_long(struct job *j, int64_t r, struct slices *s)
{
    j->row = j->in + (size_t)r * s->n * j->element_bytes;
    j->records = records_of(j, r, 0);
    j->row_number = r;
    if (j->record == SHORT64) j->span = survey_row(j);
    if (j->quick) {
        kn_sort_parts(j, s->n);
    } else {
        rt_parallel_for(s->n, PIECE, make_piece, j);
        j->records = sort_slices(j, s);
    }
    if (rt_interrupted()) return;
    if (j->s->places && !j->s->parts)
        write_wanted(j, r, j->records);
    else if (j->s->parts || !j->quick)
        rt_parallel_for(s->n, PIECE, write_piece, j);
}

static enum rt_status sort_all(struct job *j, struct rt_error *e)
{
    if (kn_sort_is_counted(j)) return kn_sort_counted(j, e);
    size_t n = (size_t)j->s->length, workers = (size_t)rt_thread_count();
    bool together = !j->ranked && n >= KN_SORT_LONG && j->s->rows < 2 * (int64_t)workers;
    size_t bytes = j->row_bytes * (together || j->s->rows == 1 ? 1 : workers);
    struct slices s = {.n = n, .count = workers};
    if (bytes > 0) j->scratch = rt_alloc(bytes);
    if (!j->quick) s.counts = rt_alloc(workers * sizeof *s.counts);
    enum rt_status status = RT_OK;
    if ((bytes > 0 && !j->scratch) || (!j->quick && !s.counts))
        status = rt_fail(e, RT_NOMEM, "out of memory: %zu bytes for sorting", bytes);
    else if (together)
        for (int64_t r = 0; r < j->s->rows && !rt_interrupted(); r++) sort_long(j, r, &s);
    else
        rt_parallel_for((size_t)j->s->rows, n < 4096 ? 4096 / n : 1, rows_piece, j);
    free(j->scratch);
    free(s.counts);
    return status == RT_OK ? rt_stopped(e) : status;
}

static struct job job_of(const struct kn_sorter *s, void *values, int64_t *indices)
{
    enum rt_dtype t = s->a->dtype;
    struct job j = {.s = s,
                    .loops = kn_host_loops(),
                    .element_bytes = rt_dtypes[t].size,
                    .kind = (int)kn_key_kind(t),
                    .inf = kn_key_infinity(t),
                    .flip = s->descending ? ~(uint64_t)0 : 0,
                    .top = (uint64_t)1 << (8 * rt_dtypes[t].size - 1),
                    .in = rt_array_host(s->a),
                    .values = values,
                    .indices = indices};
    const bool narrow = j.element_bytes <= 4, indexed = s->length <= UINT32_MAX;
    j.ranked = s->places && (s->parts || s->wanted == 1 || kn_sort_are_firsts(s)) && indices && j.element_bytes == 8 &&
               kn_quick_available();
    if (!indices || j.ranked)
        j.record = narrow ? KEY32 : KEY64;
    else if (narrow && indexed)
        j.record = PAIR32;
    else
        j.record = indexed && !s->places && kn_quick_available() ? SHORT64 : PAIR64;
    j.index_bits = j.record == SHORT64 ? kn_sort_index_bits(s->length) : 32;
    j.record_bytes = j.record == KEY32 ? 4 : j.record == PAIR64 ? sizeof(struct pair) : 8;
    const bool whole = j.record_bytes == j.element_bytes;
    const bool shared = j.record == PAIR32 || j.record == SHORT64;
    const bool by_one_byte = j.record == KEY32 && j.element_bytes == 1 && s->length >= LONG_BYTES;
    j.quick = (shared || (j.record == KEY32 && !by_one_byte) || j.record == KEY64) && kn_quick_available();
    j.in_values = j.quick && whole && !indices;
    j.in_indices = j.quick && shared && (!s->places || s->parts);
    j.row_bytes = j.in_values || j.in_indices ? 0 : (j.quick ? 1 : 2) * (size_t)s->length * j.record_bytes;
    if (j.ranked) j.row_bytes += (3 * (size_t)s->wanted + 1) * sizeof(uint64_t);
    if (j.kind == KN_KEY_FLOAT) j.nan = j.inf | (j.inf & -j.inf) >> 1; /* a quiet one */
    return j;
}

bool kn_sort_few(const struct kn_sorter *s, void *values)
{
    struct job j = job_of(s, values, NULL);
    if (!j.in_values) return false;
    kn_sort_make(&j, j.in, values, 0, (size_t)s->length);
    write_wanted(&j, 0, sort_serial(&j, values, (size_t)s->length));
    return true;
}

enum rt_status kn_sort_host(const struct kn_sorter *s, const struct rt_array *values, const struct rt_array *indices,
                            struct rt_error *e)
{
    struct job j = job_of(s, values ? rt_array_host(values) : NULL, indices ? rt_array_host(indices) : NULL);
    return sort_all(&j, e);
}
