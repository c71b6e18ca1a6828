/* A stable radix sort, expanded for each type of record: byte by byte of the key, from the lowest. The host's sorting
 * includes it (sort_host.c). Before expanding, RADIX_T is the record's type, RADIX_KEY(r) its key as uint64_t, and
 * RADIX(name) gives the functions their names. */

/* Few records: each is put where it belongs among those before it. */
static void RADIX(insertion)(RADIX_T *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        RADIX_T r = a[i];
        size_t j = i;
        for (; j > 0 && RADIX_KEY(a[j - 1]) > RADIX_KEY(r); j--) a[j] = a[j - 1];
        a[j] = r;
    }
}

static void RADIX(count)(const RADIX_T *a, size_t n, int shift, size_t *counts)
{
    size_t second[256] = {0}; /* so that equal neighbours need not wait for each other */
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        counts[RADIX_KEY(a[i]) >> shift & 255]++;
        second[RADIX_KEY(a[i + 1]) >> shift & 255]++;
    }
    if (i < n) counts[RADIX_KEY(a[i]) >> shift & 255]++;
    for (int d = 0; d < 256; d++) counts[d] += second[d];
}

/* Moves each record to the place that its digit has next. Records are gathered by the cache line first: memory takes
 * whole lines well, and single records in 256 places badly. */
static void RADIX(scatter)(const RADIX_T *from, RADIX_T *to, size_t n, int shift, size_t *places)
{
    enum { LINE = 64 / sizeof(RADIX_T) };
    RADIX_T lines[256][LINE];
    uint8_t filled[256] = {0};
    for (size_t i = 0; i < n; i++) {
        size_t d = RADIX_KEY(from[i]) >> shift & 255;
        lines[d][filled[d]++] = from[i];
        if (filled[d] < LINE) continue;
        memcpy(to + places[d], lines[d], sizeof lines[d]);
        places[d] += LINE;
        filled[d] = 0;
    }
    for (int d = 0; d < 256; d++) memcpy(to + places[d], lines[d], filled[d] * sizeof(RADIX_T));
}

/* Sorts by the key's lowest `bytes` bytes; the sorted records are where it returns: a or other. */
static RADIX_T *RADIX(serial)(RADIX_T *a, RADIX_T *other, size_t n, int bytes)
{
    if (n <= 48) {
        RADIX(insertion)(a, n);
        return a;
    }
    for (int byte = 0; byte < bytes; byte++) {
        size_t counts[256] = {0}, sum = 0;
        RADIX(count)(a, n, 8 * byte, counts);
        if (counts[RADIX_KEY(a[0]) >> (8 * byte) & 255] == n) continue;
        for (int d = 0; d < 256; d++) {
            size_t next = sum + counts[d];
            counts[d] = sum;
            sum = next;
        }
        RADIX(scatter)(a, other, n, 8 * byte, counts);
        RADIX_T *t = a;
        a = other;
        other = t;
    }
    return a;
}

static void RADIX(count_piece)(void *context, size_t begin, size_t end, int worker)
{
    struct slices *s = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        memset(s->counts[i], 0, sizeof s->counts[i]);
        RADIX(count)
        ((const RADIX_T *)s->from + slice_begin(s, i), slice_begin(s, i + 1) - slice_begin(s, i), s->shift,
         s->counts[i]);
    }
}

static void RADIX(scatter_piece)(void *context, size_t begin, size_t end, int worker)
{
    struct slices *s = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) RADIX(scatter)
    ((const RADIX_T *)s->from + slice_begin(s, i), s->to, slice_begin(s, i + 1) - slice_begin(s, i), s->shift,
     s->counts[i]);
}

/* The same by all threads. Interrupted, it returns at once with the records in some order. */
static RADIX_T *RADIX(parallel)(RADIX_T *a, RADIX_T *other, struct slices *s, int bytes)
{
    for (int byte = 0; byte < bytes && !rt_interrupted(); byte++) {
        s->from = a;
        s->to = other;
        s->shift = 8 * byte;
        rt_parallel_for(s->count, 1, RADIX(count_piece), s);
        if (!slices_places(s)) continue;
        rt_parallel_for(s->count, 1, RADIX(scatter_piece), s);
        RADIX_T *t = a;
        a = other;
        other = t;
    }
    return a;
}

#undef RADIX_T
#undef RADIX_KEY
#undef RADIX
