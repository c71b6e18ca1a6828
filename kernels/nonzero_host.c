/* Masks on the host threads, chunk by chunk; eight elements of a mask are looked at as one word. */
#include "kernels/nonzero.h"
#include <pthread.h>
#include <string.h>
#include "kernels/loops.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

#define ROOM           (KN_MASK_CHUNK + 8) /* for the places of a chunk, and what is written behind the last */
#define CHUNKS_AT_ONCE 8                   /* chunks that one piece of parallel work has */

struct masked {
    const struct kn_mask *m;
    const uint8_t *bits;
    int64_t *before;
    const char *from; /* where elements come from and go to; which of the two has all places depends on the direction */
    char *to;
    size_t size;
};

/* The highest bit of each byte that is not zero; the first element's byte is the lowest. */
static uint64_t true_bytes(const uint8_t *bits)
{
    uint64_t w;
    memcpy(&w, bits, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return (((w & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | w) & 0x8080808080808080u;
}

/* How many bytes true_bytes found: base x86-64 has no instruction that counts bits. */
static unsigned count_true(uint64_t bytes)
{
    return (unsigned)((bytes >> 7) * 0x0101010101010101u >> 56);
}

static int64_t chunk_end(const struct masked *w, int64_t chunk)
{
    int64_t end = (chunk + 1) * KN_MASK_CHUNK;
    return end < w->m->places ? end : w->m->places;
}

/* For each byte of eight flags the numbers of those that are set, in order. */
static kn_eight numbers_of[256];
static pthread_once_t numbers_once = PTHREAD_ONCE_INIT;

static void make_numbers(void)
{
    for (unsigned flags = 0; flags < 256; flags++) {
        unsigned n = 0;
        for (unsigned k = 0; k < 8; k++)
            if (flags >> k & 1) numbers_of[flags][n++] = (uint16_t)k;
    }
}

/* How many places of a chunk are true, once all of them are counted. */
static size_t chunk_count(const struct masked *w, int64_t chunk)
{
    bool last = chunk_end(w, chunk) == w->m->places;
    return (size_t)((last ? w->m->count : w->before[chunk + 1]) - w->before[chunk]);
}

/* By the processor's permutations; false where it has none, or of elements that they do not move. */
static bool pick(const struct masked *w, int64_t chunk, kn_pick_loop *loop, const char *from, char *to)
{
    int64_t begin = chunk * KN_MASK_CHUNK;
    if (!loop) return false;
    loop(to, chunk_count(w, chunk), from, w->bits + begin, (size_t)(chunk_end(w, chunk) - begin), numbers_of,
         begin + 1);
    return true;
}

static void count_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct masked *w = context;
    kn_count_true_loop *count = kn_host_loops()->narrow->count_true[RT_BOOL];
    (void)worker;
    for (int64_t chunk = (int64_t)begin; chunk < (int64_t)end && !rt_interrupted(); chunk++) {
        int64_t first = chunk * KN_MASK_CHUNK;
        w->before[chunk] = (int64_t)count(w->bits + first, (size_t)(chunk_end(w, chunk) - first));
    }
}

/* Of SKIPPED flags, whether all are 0. */
#define SKIPPED 32
static bool none_true(const uint8_t *bits)
{
    uint64_t w[SKIPPED / sizeof(uint64_t)];
    memcpy(w, bits, sizeof w);
    return !(w[0] | w[1] | w[2] | w[3]);
}

/* The places of a chunk's true elements, from its first; returns how many. Eight are written whether they are wanted or
 * not, and the next ones over those that are not: that costs less than guessing which. Where few are true, many are
 * passed by at once. */
static size_t find_places(const struct masked *w, int64_t chunk, uint16_t *places)
{
    const uint8_t *bits = w->bits + chunk * KN_MASK_CHUNK;
    int64_t n = chunk_end(w, chunk) - chunk * KN_MASK_CHUNK, i = 0;
    size_t count = 0;
    while (i + 8 <= n) {
        if (i % SKIPPED == 0 && i + SKIPPED <= n && none_true(bits + i)) {
            i += SKIPPED;
            continue;
        }
        /* One bit of each byte, gathered in the highest byte of a product. */
        uint64_t bytes = true_bytes(bits + i);
        unsigned flags = (unsigned)((bytes >> 7) * 0x0102040810204080u >> 56);
        kn_eight found = numbers_of[flags] + (uint16_t)i;
        memcpy(places + count, &found, sizeof found);
        count += count_true(bytes);
        i += 8;
    }
    for (; i < n; i++) {
        places[count] = (uint16_t)i;
        count += bits[i] != 0;
    }
    return count;
}

/* As far as a chunk of the mask has places. */
static void clear(uint16_t *places, const struct masked *w)
{
    int64_t n = w->m->places < KN_MASK_CHUNK ? w->m->places : KN_MASK_CHUNK;
    memset(places, 0, (size_t)(n + ROOM - KN_MASK_CHUNK) * sizeof *places);
}

static void places_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct masked *w = context;
    uint16_t places[ROOM];
    kn_pick_loop *loop = kn_host_loops()->pick_places;
    if (!loop) clear(places, w);
    (void)worker;
    for (int64_t chunk = (int64_t)begin; chunk < (int64_t)end && !rt_interrupted(); chunk++) {
        int64_t *to = (int64_t *)(void *)w->to + w->before[chunk], first = chunk * KN_MASK_CHUNK + 1;
        if (pick(w, chunk, loop, NULL, (char *)to)) continue;
        size_t n = find_places(w, chunk, places);
        for (size_t i = 0; i < n; i++) to[i] = first + places[i];
    }
}

#define MOVERS(bits)                                                                                                   \
    static void read_##bits(const void *from, void *to, const uint16_t *places, size_t n)                              \
    {                                                                                                                  \
        _Pragma("GCC unroll 8") for (size_t i = 0; i < n; i++)((uint##bits##_t *)to)[i] =                              \
            ((const uint##bits##_t *)from)[places[i]];                                                                 \
    }                                                                                                                  \
    static void write_##bits(const void *from, void *to, const uint16_t *places, size_t n)                             \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) ((uint##bits##_t *)to)[places[i]] = ((const uint##bits##_t *)from)[i];          \
    }
MOVERS(8)
MOVERS(16)
MOVERS(32)
MOVERS(64)

static void read_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct masked *w = context;
    uint16_t places[ROOM];
    size_t size = w->size;
    kn_pick_loop *loop =
        size == 1 || size == 2 || size == 4 || size == 8 ? kn_host_loops()->pick[__builtin_ctz((unsigned)size)] : NULL;
    if (!loop) clear(places, w);
    (void)worker;
    for (int64_t chunk = (int64_t)begin; chunk < (int64_t)end && !rt_interrupted(); chunk++) {
        const char *from = w->from + (size_t)chunk * KN_MASK_CHUNK * size;
        char *to = w->to + (size_t)w->before[chunk] * size;
        if (pick(w, chunk, loop, from, to)) continue;
        size_t n = find_places(w, chunk, places);
        switch (size) {
        case 1: read_8(from, to, places, n); break;
        case 2: read_16(from, to, places, n); break;
        case 4: read_32(from, to, places, n); break;
        case 8: read_64(from, to, places, n); break;
        default:
            for (size_t i = 0; i < n; i++) memcpy(to + i * size, from + places[i] * size, size);
        }
    }
}

static void write_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct masked *w = context;
    uint16_t places[ROOM];
    clear(places, w);
    size_t size = w->size;
    (void)worker;
    for (int64_t chunk = (int64_t)begin; chunk < (int64_t)end && !rt_interrupted(); chunk++) {
        char *to = w->to + (size_t)chunk * KN_MASK_CHUNK * size;
        const char *from = w->from + (size_t)w->before[chunk] * size;
        size_t n = find_places(w, chunk, places);
        switch (size) {
        case 1: write_8(from, to, places, n); break;
        case 2: write_16(from, to, places, n); break;
        case 4: write_32(from, to, places, n); break;
        case 8: write_64(from, to, places, n); break;
        default:
            for (size_t i = 0; i < n; i++) memcpy(to + places[i] * size, from + i * size, size);
        }
    }
}

static void run(const struct kn_mask *m, const char *from, char *to, size_t size,
                void (*piece)(void *context, size_t begin, size_t end, int worker))
{
    struct masked w = {m, rt_array_host(&m->bits), kn_mask_before(m), from, to, size};
    pthread_once(&numbers_once, make_numbers);
    size_t chunks = (size_t)((m->places + KN_MASK_CHUNK - 1) / KN_MASK_CHUNK);
    rt_parallel_for(chunks, CHUNKS_AT_ONCE, piece, &w);
}

void kn_mask_count_host(const struct kn_mask *m)
{
    run(m, NULL, NULL, 0, count_piece);
}

void kn_mask_places_host(const struct kn_mask *m, const struct rt_array *out)
{
    run(m, NULL, rt_array_host(out), sizeof(int64_t), places_piece);
}

void kn_mask_read_host(const struct kn_mask *m, const char *rows, char *picked, size_t size)
{
    run(m, rows, picked, size, read_piece);
}

void kn_mask_write_host(const struct kn_mask *m, char *rows, const char *picked, size_t size)
{
    run(m, picked, rows, size, write_piece);
}
