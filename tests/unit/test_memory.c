/* Memory of devices: storage that is cached and counted, full devices, allocations that fail in turn, and the
 * addresses of the software GPU. */
#include "runtime/memory.h"
#include "runtime/simt/simt.h"
#include "tests/unit/test.h"

static struct rt_device *open_device(const char *name)
{
    struct rt_error e = {0};
    struct rt_device *d = rt_device_open(name, &e);
    if (!d) FAIL("%s: %s", name, e.text);
    return d;
}

static const char *const names[] = {"cpu", "simt"};
#define EACH_DEVICE(d)                                                                                                 \
    for (size_t each_ = 0; each_ < 2; each_++)                                                                         \
        for (struct rt_device *d = open_device(names[each_]); d; d = NULL)

TEST(storage_is_cached_and_counted)
{
    EACH_DEVICE(d)
    {
        struct rt_memory_stats s;
        struct rt_storage *a = rt_storage_new(d, 5000, NULL);
        CHECK(a && a->bytes == 5000 && a->capacity >= 5000 && a->capacity <= 5000 + 5000 / 8);
        CHECK_INT(a->address % (d->kind == RT_CPU ? 64 : 256), 0);
        memset(rt_storage_host(a, 0, a->bytes), 7, 5000);
        rt_memory_stats(d, &s);
        CHECK_INT(s.in_use, 5000);
        CHECK_INT(s.driver_allocations, 1);
        uint64_t address = a->address;
        rt_storage_retain(a);
        rt_storage_release(a);
        CHECK_INT(a->references, 1);
        rt_storage_release(a);
        rt_memory_stats(d, &s);
        CHECK_INT(s.in_use, 0);
        CHECK_INT(s.peak, 5000);
        CHECK(s.cached >= 5000);
        struct rt_storage *b = rt_storage_new(d, 5001, NULL); /* of the same class */
        CHECK(b->address == address && b->bytes == 5001);
        rt_memory_stats(d, &s);
        CHECK_INT(s.driver_allocations, 1);
        CHECK_INT(s.allocations, 2);
        CHECK_INT(s.cached, 0);
        rt_storage_release(b);
        rt_memory_trim(d);
        rt_memory_stats(d, &s);
        CHECK_INT(s.cached, 0);
    }
}

TEST(storage_of_every_size_holds_its_bytes)
{
    EACH_DEVICE(d)
    {
        struct rt_storage *all[200] = {0};
        size_t n = 0, bytes = 1;
        for (; bytes < (size_t)64 << 20 && n < 200; bytes = bytes * 9 / 8 + 1, n++) {
            all[n] = rt_storage_new(d, bytes, NULL);
            CHECK(all[n] && all[n]->capacity >= bytes);
            unsigned char *p = rt_storage_host(all[n], 0, all[n]->bytes);
            p[0] = (unsigned char)n;
            p[bytes - 1] = (unsigned char)n;
        }
        for (size_t i = 0; i < n; i++) {
            unsigned char *p = rt_storage_host(all[i], 0, all[i]->bytes);
            CHECK_INT(p[all[i]->bytes - 1], (unsigned char)i);
            rt_storage_release(all[i]);
        }
        rt_memory_trim(d);
    }
}

TEST(empty_storage)
{
    EACH_DEVICE(d)
    {
        struct rt_storage *s = rt_storage_new(d, 0, NULL);
        CHECK(s && s->address == 0 && rt_storage_host(s, 0, s->bytes) == NULL);
        rt_storage_release(s);
        rt_storage_release(NULL);
    }
}

TEST(kernels_see_the_exact_size_on_simt)
{
    struct rt_device *d = open_device("simt");
    struct simt_block block;
    struct rt_storage *a = rt_storage_new(d, 1000, NULL);
    CHECK(simt_find(a->address, &block) && block.bytes == 1000 && block.address == a->address);
    CHECK(simt_find(a->address + 999, &block));
    CHECK(!simt_find(a->address + 1000, &block));
    uint64_t address = a->address;
    rt_storage_release(a);
    CHECK(!simt_find(address, &block));
    a = rt_storage_new(d, 990, NULL);
    CHECK_INT(a->address, address);
    CHECK(simt_find(address, &block) && block.bytes == 990);
    rt_storage_release(a);
}

TEST(too_much_is_refused_with_the_sizes)
{
    EACH_DEVICE(d)
    {
        struct rt_error e = {0};
        CHECK(rt_storage_new(d, (size_t)1 << 46, &e) == NULL);
        CHECK_INT(e.status, RT_NOMEM);
        CHECK_HAS(e.text, d->name);
        CHECK_HAS(e.text, "70368744177664 bytes");
        CHECK(rt_storage_new(d, (size_t)1 << 60, &e) == NULL);
        CHECK_INT(e.status, RT_INVALID);
        rt_error_clear(&e);
    }
}

static struct rt_storage *garbage[64];
static int collections;
static void collect(void *context, size_t bytes)
{
    CHECK(context == garbage && bytes > 0);
    collections++;
    for (int i = 0; i < 64; i++) {
        rt_storage_release(garbage[i]);
        garbage[i] = NULL;
    }
}

/* The pages are never touched, so this costs address space alone. */
TEST(a_full_device_collects_garbage_and_tries_again)
{
    EACH_DEVICE(d)
    {
        size_t free_bytes, total;
        CHECK_INT(rt_device_memory(d, &free_bytes, &total, NULL), RT_OK);
        size_t piece = total / 16;
        rt_memory_set_collector(collect, garbage);
        collections = 0;
        for (int i = 0; i < 60; i++) {
            struct rt_error e = {0};
            struct rt_storage *s = rt_storage_new(d, piece, &e);
            if (!s) FAIL("allocation %d: %s", i, e.text);
            garbage[i] = s;
        }
        CHECK(collections > 0);
        collect(garbage, 1);
        rt_memory_set_collector(NULL, NULL);
        rt_memory_trim(d);
    }
}

TEST(a_cache_full_of_other_sizes_makes_room)
{
    EACH_DEVICE(d)
    {
        for (size_t part = 4; part < 14; part++) {
            struct rt_error e = {0};
            struct rt_storage *s = rt_storage_new(d, d->total_memory / part / 2, &e);
            if (!s) FAIL("part %zu: %s", part, e.text);
            rt_storage_release(s);
        }
        rt_memory_trim(d);
    }
}

TEST(lost_memory_is_not_given_back)
{
    struct rt_device *d = open_device("cpu");
    struct rt_memory_stats s;
    struct rt_storage *a = rt_storage_new(d, 100, NULL);
    void *block = rt_storage_host(a, 0, a->bytes);
    rt_memory_lost(d);
    CHECK(a->generation != d->generation);
    rt_storage_release(a);
    rt_memory_stats(d, &s);
    CHECK_INT(s.in_use, 0);
    CHECK_INT(s.cached, 0);
    free(block);
}

/* Fails the first allocation, then the second and so on, until `attempt` comes through; returns how many failed. */
static int fail_in_turn(bool (*attempt)(const char *name, struct rt_error *e), const char *name)
{
    for (int n = 1; n < 100; n++) {
        struct rt_error e = {0};
        rt_fail_allocation(n);
        bool done = attempt(name, &e);
        rt_fail_allocation(0);
        if (done) return n - 1;
        CHECK_INT(e.status, RT_NOMEM);
        CHECK(e.text && *e.text);
        rt_error_clear(&e);
    }
    FAIL("never comes through");
}

static bool attempt_open(const char *name, struct rt_error *e)
{
    return rt_device_open(name, e) != NULL;
}

static bool attempt_storage(const char *name, struct rt_error *e)
{
    struct rt_device *d = rt_device_open(name, e);
    struct rt_storage *s = rt_storage_new(d, 100000, e);
    bool done = s != NULL;
    rt_storage_release(s);
    rt_memory_trim(d);
    return done;
}

TEST(each_allocation_failing_in_turn)
{
    CHECK(fail_in_turn(attempt_open, "cpu") >= 2);
    CHECK(fail_in_turn(attempt_open, "simt") >= 3);
    CHECK_INT(fail_in_turn(attempt_storage, "cpu"), 2);
    CHECK_INT(fail_in_turn(attempt_storage, "simt"), 2);
}

enum { N = 300 };

/* Does a block with its guard lie clear of all others but one? */
static bool is_clear(const uint64_t *address, const size_t *size, int but, uint64_t from, size_t bytes)
{
    for (int k = 0; k < N; k++)
        if (k != but && address[k] && from < address[k] + (size[k] + 511) / 256 * 256 &&
            address[k] < from + bytes + 256)
            return false;
    return true;
}

/* Is there a place before block i where it had fitted? All of them begin behind a block, or first of all. */
static bool fits_before(const uint64_t *address, const size_t *size, int i)
{
    const uint64_t align = size[i] < 1u << 20 ? 256 : 4096;
    bool any = is_clear(address, size, i, SIMT_GLOBAL_BASE, size[i]) && address[i] > SIMT_GLOBAL_BASE;
    for (int k = 0; k < N; k++) {
        const uint64_t at = (address[k] + (size[k] + 511) / 256 * 256 + align - 1) / align * align;
        if (k != i && address[k] && at < address[i]) any |= is_clear(address, size, i, at, size[i]);
    }
    return any;
}

TEST(simt_arena_keeps_its_blocks_apart)
{
    uint64_t address[N];
    size_t size[N];
    struct simt_block block;
    unsigned seed = 1;
    memset(address, 0, sizeof address);
    for (int step = 0; step < 5000; step++) {
        seed = seed * 1103515245u + 12345u;
        int i = (int)(seed >> 16) % N;
        if (address[i]) {
            CHECK(simt_find(address[i] + size[i] - 1, &block));
            CHECK(block.address == address[i] && block.bytes == size[i]);
            CHECK(!simt_find(address[i] + size[i], &block) || block.address != address[i]);
            CHECK_INT(*(unsigned char *)simt_host(address[i]), i & 255);
            CHECK(simt_free(address[i]));
            CHECK(!simt_free(address[i]));
            address[i] = 0;
        } else {
            size[i] = 1 + (seed >> 8) % 5000 + (step % 50 == 0 ? 1u << 20 : 0);
            CHECK_INT(simt_alloc(size[i], &address[i], NULL), RT_OK);
            CHECK_INT(address[i] % (size[i] > 1u << 20 ? 4096 : 256), 0);
            for (int k = 0; k < N; k++) { /* a guard of 256 bytes on both sides */
                if (k == i || !address[k]) continue;
                CHECK(address[k] + size[k] + 256 <= address[i] || address[i] + size[i] + 256 <= address[k]);
            }
            CHECK(step % 8 || !fits_before(address, size, i));
            memset(simt_host(address[i]), i & 255, size[i]);
        }
    }
    size_t free_bytes, total;
    for (int i = 0; i < N; i++) {
        if (address[i]) simt_free(address[i]);
    }
    simt_memory_info(&free_bytes, &total);
    CHECK_INT(free_bytes, total);
    CHECK(!simt_find(SIMT_GLOBAL_BASE, &block));
    CHECK(!simt_nearest(SIMT_GLOBAL_BASE, &block));
}

TEST(simt_nearest_for_reports)
{
    uint64_t a, b;
    struct simt_block block;
    CHECK_INT(simt_alloc(1000, &a, NULL), RT_OK);
    CHECK_INT(simt_alloc(1000, &b, NULL), RT_OK);
    CHECK(b > a);
    CHECK(simt_nearest(a + 1004, &block) && block.address == a);
    CHECK(simt_nearest(b - 4, &block) && block.address == b);
    CHECK(simt_nearest(b + 500, &block) && block.address == b);
    CHECK(simt_nearest(0, &block) && block.address == a);
    CHECK(simt_nearest(UINT64_MAX, &block) && block.address == b);
    CHECK(!simt_resize(a, 100000));
    CHECK(simt_resize(a, 0));
    CHECK(simt_nearest(a, &block) && block.address == b);
    CHECK(simt_free(a) && simt_free(b));
}
