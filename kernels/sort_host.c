/* Sorting on the host threads, by keys (keys.h). Values are sorted as keys alone and made from the keys again; indices
 * as records of key and index, of 8 bytes where that can be (sort_records.h). Keys of 4 and 8 bytes, and records of 8,
 * are sorted in place by vectors where the processor can (quicksort.h), and so are elements of 2 bytes as keys of 4.
 * The keys of long rows of elements of 1 and 2 bytes are counted. All else is sorted by a radix sort, which looks at
 * every byte of a key once. Short rows are sorted beside each other, a long row by all threads. */
#include "kernels/sort_records.h"
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

/* Writes what is wanted of row r. */
static void write_wanted(const struct job *j, int64_t r, const void *records)
{
    const struct kn_sorter *s = j->s;
    if (!s->places || s->parts) {
        write_results(j, r, records, 0, (size_t)s->length);
        return;
    }
    for (int64_t i = 0, last; i < s->wanted; i = last + 1) { /* as many neighbours at a time as there are */
        for (last = i; last + 1 < s->wanted && s->places[last + 1] <= s->places[last] + 1;) last++;
        write_results(j, r, records, (size_t)s->places[i], (size_t)s->places[last] + 1);
    }
}

static size_t split(const struct job *j, char *records, size_t n)
{
    if (n <= KN_QUICK_FEW) return 0;
    return j->record == KEY32 ? kn_quick_split_32((uint32_t *)(void *)records, n)
                              : kn_quick_split_64((uint64_t *)(void *)records, n);
}

/* Sorts records from place `base` of their row on, as far as they are wanted. */
static void quick_sort(const struct job *j, char *records, size_t base, size_t n)
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
        quick_sort(j, records, base, small);
        records += small * j->record_bytes;
        base += small;
        n -= small;
    }
}

/* ---- rows beside each other ---- */

/* What of row r is in j->in. */
static const char *row_of(const struct job *j, int64_t r)
{
    return j->in + (size_t)(r * j->s->length) * j->element_bytes;
}

static char *records_of(const struct job *j, int64_t r, int worker)
{
    if (j->in_values) return j->values + (size_t)(r * j->s->length) * j->element_bytes;
    if (j->in_indices) return (char *)(j->indices + r * j->s->length);
    return j->scratch + (size_t)worker * j->row_bytes;
}

static void *sort_serial(const struct job *j, void *records, size_t base, size_t n)
{
    void *other = (char *)records + n * j->record_bytes;
    int bytes = (int)j->element_bytes;
    if (j->quick) {
        quick_sort(j, records, base, n);
        return records;
    }
    switch (j->record) {
    case KEY32: return serial_key32(records, other, n, bytes);
    case KEY64: return serial_key64(records, other, n, bytes);
    case PAIR32: return serial_pair32(records, other, n, bytes);
    default: return serial_pair64(records, other, n, bytes);
    }
}

#include "kernels/sort_ranks.h"

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
        const char *row = row_of(&j, (int64_t)r);
        void *records = records_of(&j, (int64_t)r, worker);
        if (j.ranked) {
            (are_firsts(j.s) ? rank_firsts : rank_row)(&j, (int64_t)r, records);
            continue;
        }
        if (j.record == SHORT64) j.span = span_of(survey(&j, row, 0, n));
        make_records(&j, row, records, 0, n);
        records = sort_serial(&j, records, 0, are_first_few(&j) ? kn_quick_keep_least_64(records, n, few) : n);
        if (j.record == SHORT64) mend(&j, row, records, 0, n);
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
        s->parts[i] = survey(s->j, s->j->row, n / PARTS * i, i + 1 == PARTS ? n : n / PARTS * (i + 1));
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
    return span_of(all);
}

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

/* Parts of the row, each of which is sorted for itself: split again and again, all parts at a time. */
#define ROUNDS 9
struct parts {
    const struct job *j;
    size_t begins[(1 << ROUNDS) + 1]; /* part i is from begins[i * step] to begins[(i + 1) * step] */
    size_t step;
    bool short_of_room; /* records are, and have to be mended before they are written */
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

static void part_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct parts *p = context;
    (void)worker;
    for (size_t i = begin; i < end && !rt_interrupted(); i++) {
        size_t first = p->begins[i], last = p->begins[i + 1];
        quick_sort(p->j, p->j->records + first * p->j->record_bytes, first, last - first);
        if (!p->j->s->places && !p->short_of_room) write_results(p->j, p->j->row_number, p->j->records, first, last);
    }
}

static void mend_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct parts *p = context;
    (void)worker;
    for (size_t i = begin; i < end && !rt_interrupted(); i++) {
        mend(p->j, p->j->row, (uint64_t *)(void *)p->j->records, p->begins[i], p->begins[i + 1]);
        write_results(p->j, p->j->row_number, p->j->records, p->begins[i], p->begins[i + 1]);
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

/* Sorts the row and, where all of it is wanted, writes it: a part is small enough to be in the cache still. */
static void sort_parts(const struct job *j, size_t n)
{
    struct parts p = {.j = j, .short_of_room = j->record == SHORT64 && bits_over(j) > 0};
    size_t count = 1;
    while (count < 1 << ROUNDS && (n / count > PIECE || count < 8 * (size_t)rt_thread_count())) count *= 2;
    p.begins[count] = n;
    for (p.step = count; p.step > 1 && !rt_interrupted(); p.step /= 2)
        rt_parallel_for(count / p.step, 1, split_piece, &p);
    rt_parallel_for(count, 1, part_piece, &p);
    if (!p.short_of_room || rt_interrupted()) return;
    part_groups(&p, count);
    rt_parallel_for(count, 1, mend_piece, &p);
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
    rt_parallel_for(s->n, PIECE, make_piece, j);
    if (j->quick)
        sort_parts(j, s->n);
    else
        j->records = sort_slices(j, s);
    if (rt_interrupted()) return;
    if (j->s->places && !j->s->parts)
        write_wanted(j, r, j->records);
    else if (j->s->parts || !j->quick)
        rt_parallel_for(s->n, PIECE, write_piece, j);
}

/* ---- long rows of elements of 1 and 2 bytes: there are so few different ones that they are counted ---- */
#define FEW_EACH    6    /* elements of a row for each key below which a radix sort is as quick */
#define EACH_KEY    2    /* elements of a slice for each key, or its tables would take longer than they save */
#define KEYS_SUMMED 4096 /* at a time, by one thread */
struct census {
    struct job *j;
    size_t slices, keys;
    uint32_t *counts; /* two tables for each slice, by turns, so that equal neighbours need not wait for each other */
    size_t *begins;   /* how many elements have a key; then where they begin in the result, and the end */
    const char *row;
    char *to;
};

static void count_slice(const struct census *c, size_t slice)
{
    const size_t n = (size_t)c->j->s->length, begin = n / c->slices * slice;
    const size_t end = slice + 1 == c->slices ? n : begin + n / c->slices;
    uint32_t keys[CHUNK], *first = c->counts + 2 * slice * c->keys, *second = first + c->keys;
    memset(first, 0, 2 * c->keys * sizeof *first);
    for (size_t at = begin, many; at < end; at += many) {
        many = end - at < CHUNK ? end - at : CHUNK;
        make_records(c->j, c->row + at * c->j->element_bytes, keys, 0, many);
        for (size_t i = 0; i + 2 <= many; i += 2) {
            first[keys[i]]++;
            second[keys[i + 1]]++;
        }
        if (many % 2 > 0) first[keys[many - 1]]++;
    }
}

static void count_piece(void *context, size_t begin, size_t end, int worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++) count_slice(context, i);
}

static void sum_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct census *c = context;
    (void)worker;
    memset(c->begins + begin, 0, (end - begin) * sizeof *c->begins);
    for (size_t i = 0; i < 2 * c->slices; i++) {
        const uint32_t *counts = c->counts + i * c->keys;
        for (size_t key = begin; key < end; key++) c->begins[key] += counts[key];
    }
}

static void sum_counts(struct census *c)
{
    size_t sum = 0;
    rt_parallel_for(c->keys, KEYS_SUMMED, sum_piece, c);
    for (size_t key = 0; key <= c->keys; key++) {
        const size_t n = key < c->keys ? c->begins[key] : 0;
        c->begins[key] = sum;
        sum += n;
    }
}

static void fill_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct census *c = context;
    const struct job *j = c->j;
    (void)worker;
    for (size_t key = begin; key < end; key++) {
        const size_t first = c->begins[key], n = c->begins[key + 1] - first;
        const uint64_t bits = bits_of(j->kind, j->top, j->nan, j->flip, key);
        if (j->element_bytes == 1) {
            memset(c->to + first, (int)bits, n);
            continue;
        }
        uint16_t *to = (uint16_t *)(void *)c->to + first;
        for (size_t i = 0; i < n; i++) to[i] = (uint16_t)bits;
    }
}

static bool is_counted(const struct job *j)
{
    const int64_t n = j->s->length;
    return j->element_bytes <= 2 && !j->indices && (!j->s->places || j->s->parts) && n >= LONG && n <= UINT32_MAX &&
           n >= (int64_t)FEW_EACH << 8 * j->element_bytes;
}

static enum rt_status sort_counted(struct job *j, struct rt_error *e)
{
    const size_t n = (size_t)j->s->length, bytes = n * j->element_bytes, keys = (size_t)1 << 8 * j->element_bytes;
    const size_t most = n < 2 * EACH_KEY * keys ? 1 : n / (EACH_KEY * keys), workers = (size_t)rt_thread_count();
    const size_t slices = workers < most ? workers : most;
    struct census c = {.j = j, .slices = slices, .keys = keys};
    c.counts = rt_alloc(2 * slices * keys * sizeof *c.counts);
    c.begins = rt_alloc((keys + 1) * sizeof *c.begins);
    enum rt_status status = RT_OK;
    if (!c.counts || !c.begins) status = rt_fail(e, RT_NOMEM, "out of memory: no room for counts of %zu values", keys);
    for (int64_t r = 0; r < j->s->rows && status == RT_OK && !rt_interrupted(); r++) {
        c.row = j->in + (size_t)r * bytes;
        c.to = j->values + (size_t)r * bytes;
        rt_parallel_for(slices, 1, count_piece, &c);
        sum_counts(&c);
        rt_parallel_for(keys, keys / 256, fill_piece, &c);
    }
    free(c.counts);
    free(c.begins);
    if (status == RT_OK && rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    return status;
}

static enum rt_status sort_all(struct job *j, struct rt_error *e)
{
    if (is_counted(j)) return sort_counted(j, e);
    size_t n = (size_t)j->s->length, workers = (size_t)rt_thread_count();
    bool together = !j->ranked && n >= LONG && j->s->rows < 2 * (int64_t)workers;
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
    if (status == RT_OK && rt_interrupted()) return rt_fail(e, RT_INTERRUPTED, "interrupted");
    return status;
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
    j.ranked = s->places && (s->parts || s->wanted == 1 || are_firsts(s)) && indices && j.element_bytes == 8 &&
               kn_quick_available();
    if (!indices || j.ranked)
        j.record = narrow ? KEY32 : KEY64;
    else if (narrow && indexed)
        j.record = PAIR32;
    else
        j.record = indexed && !s->places && kn_quick_available() ? SHORT64 : PAIR64;
    j.index_bits = j.record == SHORT64 ? index_bits_of(s->length) : 32;
    j.record_bytes = j.record == KEY32 ? 4 : j.record == PAIR64 ? sizeof(struct pair) : 8;
    const bool whole = j.record_bytes == j.element_bytes;
    const bool shared = j.record == PAIR32 || j.record == SHORT64;
    j.quick = (shared || (j.record == KEY32 && j.element_bytes > 1) || j.record == KEY64) && kn_quick_available();
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
    make_records(&j, j.in, values, 0, (size_t)s->length);
    write_wanted(&j, 0, sort_serial(&j, values, 0, (size_t)s->length));
    return true;
}

enum rt_status kn_sort_host(const struct kn_sorter *s, const struct rt_array *values, const struct rt_array *indices,
                            struct rt_error *e)
{
    struct job j = job_of(s, values ? rt_array_host(values) : NULL, indices ? rt_array_host(indices) : NULL);
    return sort_all(&j, e);
}
