/* Runs a fuzzer without libFuzzer, as a test: every file of tests/fuzz/corpus/NAME, then a fixed number of mutations of
 * them from a fixed seed, so that each run tries the same bytes. `fuzz_NAME [MUTATIONS]`, from the repository's root.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SEEDS = 256, MAX_BYTES = 1 << 16 };
struct seed {
    uint8_t *data;
    size_t size;
};
static struct seed seeds[MAX_SEEDS];
static size_t seed_count;
static uint64_t state = 0x9E3779B97F4A7C15u;

static uint32_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static void read_seed(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || seed_count == MAX_SEEDS) {
        if (f) fclose(f);
        return;
    }
    struct seed *s = &seeds[seed_count++];
    s->data = malloc(MAX_BYTES);
    s->size = s->data ? fread(s->data, 1, MAX_BYTES, f) : 0;
    fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* In the order of their names: that of the folder differs between file systems. */
static void read_seeds(const char *folder)
{
    struct dirent **entries;
    char path[1024];
    int n = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') read_seed(path);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* The parser gets an exact-size heap copy, so that a sanitizer sees one byte too many. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return;
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One edit of the `size` bytes in `to`; returns the new size. */
static size_t edit(uint8_t *to, size_t size)
{
    if (size == 0) return 0;
    size_t at = next_random() % size, n = 1 + next_random() % 32;
    switch (next_random() % 5) {
    case 0: to[at] ^= (uint8_t)(1u << next_random() % 8); return size;
    case 1: to[at] = (uint8_t)next_random(); return size;
    case 2: return at;
    case 3: /* repeat a piece */
        n = least(n, least(size - at, MAX_BYTES - size));
        memmove(to + at + n, to + at, size - at);
        return size + n;
    default: { /* a piece of another seed */
        const struct seed *o = &seeds[next_random() % seed_count];
        size_t from = o->size ? next_random() % o->size : 0;
        n = least(n, least(o->size - from, size - at));
        memcpy(to + at, o->data + from, n);
        return size;
    }
    }
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    name = strncmp(name, "fuzz_", 5) == 0 ? name + 5 : name;
    char folder[512];
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name);
    read_seeds(folder);
    if (seed_count == 0) {
        printf("# no seeds in %s\nnot ok fuzz_%s\n", folder, name);
        return 1;
    }
    for (size_t i = 0; i < seed_count; i++) run(seeds[i].data, seeds[i].size);
    static uint8_t buffer[MAX_BYTES + 64];
    long mutations = argc > 1 ? atol(argv[1]) : 3000;
    for (long i = 0; i < mutations; i++) {
        const struct seed *s = &seeds[next_random() % seed_count];
        size_t size = s->size;
        memcpy(buffer, s->data, size);
        for (uint32_t edits = 1 + next_random() % 6; edits > 0; edits--) size = edit(buffer, size);
        run(buffer, size);
    }
    for (size_t i = 0; i < seed_count; i++) free(seeds[i].data);
    printf("ok fuzz_%s\n", name);
    return 0;
}
