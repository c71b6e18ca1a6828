/* Random programs by the software GPU, with each instruction set and as generated code, and by the reference
 * interpreter: always the same ones. LUNARRAY_SEED=n[:statements] runs and prints one program; LUNARRAY_SECONDS=s goes
 * on for so long, from that seed or one of the clock. */
#include <time.h>
#include "tests/unit/simt_programs_run.h"
#include "tests/unit/test.h"

#ifdef __SANITIZE_ADDRESS__
enum { PROGRAMS = 40 };
#else
enum { PROGRAMS = 100 };
#endif

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The same program with ever fewer statements while it still fails: what is left is short enough to read. */
static void shrink(struct gen *g, struct gen_memory *m, uint64_t seed, int statements, bool blocks, char *why,
                   size_t size)
{
    for (int n = 1; n < statements; n++)
        if (!gen_check(g, m, seed, n, blocks, why, size)) return;
    gen_check(g, m, seed, statements, blocks, why, size);
}

static void search(bool blocks)
{
    static struct gen g;
    struct gen_memory *m = gen_memory_new();
    const char *one = getenv("LUNARRAY_SEED"), *longer = getenv("LUNARRAY_SECONDS");
    char why[1024] = "";
    CHECK(m != NULL);
    uint64_t seed = one ? strtoull(one, NULL, 0) : longer ? (uint64_t)time(NULL) * 1000 : 0;
    double end = seconds() + (longer ? atof(longer) : 0);
    if (longer) alarm(0);
    long programs = 0;
    do {
        const char *colon = one ? strchr(one, ':') : NULL;
        int statements = colon ? atoi(colon + 1) : 5 + (int)(seed % 60);
        if (!gen_check(&g, m, seed, statements, blocks, why, sizeof why)) {
            shrink(&g, m, seed, statements, blocks, why, sizeof why);
            FAIL("%s\n%s", why, one ? g.text : "");
        }
        seed++;
        programs++;
    } while (longer ? seconds() < end : !one && programs < PROGRAMS);
    if (one && !longer) printf("%s", g.text);
    printf("# %ld programs\n", programs);
    free(m);
}

TEST(random_programs_agree_with_the_reference)
{
    search(false);
}

TEST(random_blocks_in_any_order_agree_with_the_reference)
{
    search(true);
}
