/* Sorting long rows of elements of 1 and 2 bytes: there are so few different ones that they are counted. */
#include <stdlib.h>
#include <string.h>
#include "kernels/sort_records.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

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
        kn_sort_make(c->j, c->row + at * c->j->element_bytes, keys, 0, many);
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
        const uint64_t bits = kn_sort_bits_of(j, key);
        if (j->element_bytes == 1) {
            memset(c->to + first, (int)bits, n);
            continue;
        }
        uint16_t *to = (uint16_t *)(void *)c->to + first;
        for (size_t i = 0; i < n; i++) to[i] = (uint16_t)bits;
    }
}

bool kn_sort_is_counted(const struct job *j)
{
    const int64_t n = j->s->length;
    return j->element_bytes <= 2 && !j->indices && (!j->s->places || j->s->parts) && n >= KN_SORT_LONG &&
           n <= UINT32_MAX && n >= (int64_t)FEW_EACH << 8 * j->element_bytes;
}

enum rt_status kn_sort_counted(struct job *j, struct rt_error *e)
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
    return status == RT_OK ? rt_stopped(e) : status;
}
