/* Code for random chains of operations, for the tests of each kind of numbers, which say what chains there are and what
 * comes of one. LUNARRAY_SEED=N begins with other chains. */
#ifndef TESTS_CHAINS_H
#define TESTS_CHAINS_H

#include "kernels/code.h"
#include "runtime/host.h"
#include "runtime/x86.h"
#include "tests/unit/random.h"
#include "tests/unit/reference.h"

static struct kn_chain any_chain(int most_inputs, int most_items);
/* Runs it over other numbers each time and compares with what they give one by one. */
static void check_chain(const struct kn_chain *c, kn_code_loop *run, int bits, uint64_t seed);

static void check_chains(int bits, int most_inputs, int most_items, int rounds, int least_compiled)
{
    int compiled = 0;
    for (int round = 0; round < rounds; round++) {
        const uint64_t seed = random_state;
        const struct kn_chain c = any_chain(most_inputs, most_items);
        size_t size;
        kn_code_loop *run = kn_chain_compile(&c, bits, &size);
        if (!run) continue;
        compiled++;
        for (int k = 0; k < 3; k++) check_chain(&c, run, bits, seed);
        uint8_t *code;
        memcpy(&code, &run, sizeof code);
        x86_uninstall(code, size);
    }
    if (compiled < least_compiled) FAIL("only %d of %d chains have code", compiled, rounds);
}

static void start(void)
{
    const char *seed = getenv("LUNARRAY_SEED");
    if (rt_host_level() < RT_V3) SKIP("a processor without AVX2");
    if (seed) random_state = strtoull(seed, NULL, 10);
}

/* Adds an operation to a program. */
static int node_of(struct kn_program *p, enum kn_op op, int a, int b, int c)
{
    int node;
    OK(kn_program_op(p, op, (int[]){a, b, c}, &node, e));
    return node;
}

#endif
