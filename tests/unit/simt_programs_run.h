/* How a random program is run by the software GPU, in all its variants, and by the reference, whose memories must then
 * be the same. */
#ifndef SIMT_PROGRAMS_RUN_H
#define SIMT_PROGRAMS_RUN_H

#include "runtime/simt/check.h"
#include "tests/unit/isa.h"
#include "tests/unit/simt_programs.h"
#include "tests/unit/simt_reference.h"

/* ---- running ---- */
struct gen_shape {
    unsigned grid[3], block[3];
};
static const struct gen_shape gen_shapes[] = {
    {{2, 1, 1}, {32, 1, 1}},  {{1, 2, 1}, {16, 16, 1}}, {{3, 1, 1}, {33, 1, 1}},  {{1, 1, 1}, {64, 3, 1}},
    {{2, 2, 1}, {1, 1, 1}},   {{2, 1, 1}, {7, 5, 1}},   {{4, 1, 1}, {128, 1, 1}}, {{1, 1, 2}, {4, 4, 4}},
    {{2, 1, 1}, {8, 8, 1}},   {{2, 1, 1}, {16, 3, 1}},  {{1, 3, 1}, {32, 3, 1}},  {{2, 1, 1}, {2, 20, 1}},
    {{2, 1, 1}, {256, 1, 1}}, {{1, 1, 1}, {31, 2, 1}},  {{1, 1, 1}, {48, 1, 2}},
};
enum {
    GEN_IN_BYTES = 4 * (GEN_WORDS + GEN_MARGIN),
    GEN_THREADS = 512, /* of a grid at most */
    GEN_OUT_BYTES = GEN_THREADS * GEN_SLOT,
    GEN_ACC_BYTES = 8 * GEN_CELLS
};
struct gen_memory { /* the three arrays in the arena, and the same as host copies for the reference */
    uint64_t address[3];
    uint8_t start[3][GEN_OUT_BYTES], host[3][GEN_OUT_BYTES];
};
static const size_t gen_bytes[3] = {GEN_IN_BYTES, GEN_OUT_BYTES, GEN_ACC_BYTES};

static inline struct gen_memory *gen_memory_new(void)
{
    struct gen_memory *m = calloc(1, sizeof *m);
    struct gen g = {.seed = 12345};
    for (int k = 0; m && k < 3; k++) {
        struct rt_error e = {0};
        if (simt_alloc(gen_bytes[k], &m->address[k], &e) != RT_OK) return NULL;
        for (size_t j = 0; j < gen_bytes[k] && k != 1; j += 4) {
            uint32_t v = gen_random(&g, 3) ? gen_random(&g, 1u << 31) << 1 | gen_random(&g, 2) : gen_random(&g, 100);
            memcpy(m->start[k] + j, &v, 4);
        }
    }
    return m;
}

/* The reference's answer into m->host. False: it could not run the program, which is a fault of these tests. */
static inline bool gen_run_reference(struct gen_memory *m, const struct ptx_module *module, const struct gen_shape *s,
                                     const uint64_t *params, char *why, size_t size)
{
    struct ref_memory memory[3];
    struct ref_launch l = {
        .module = module, .params = (const uint8_t *)params, .memory = memory, .memory_count = 3, .budget = 30000000};
    for (size_t k = 0; k < module->func_count; k++)
        if (module->funcs[k].is_entry) l.entry = &module->funcs[k];
    for (int k = 0; k < 3; k++) {
        l.grid[k] = s->grid[k], l.block[k] = s->block[k];
        memcpy(m->host[k], m->start[k], gen_bytes[k]);
        memory[k] = (struct ref_memory){m->address[k], gen_bytes[k], m->host[k]};
    }
    return ref_run_grid(&l, why, size);
}
/* The software GPU's, compared with it; with checks, whatever they find. False: `why` tells. */
static inline bool gen_run_engine(struct gen_memory *m, const struct ptx_module *module, const struct gen_shape *s,
                                  const uint64_t *params, bool checked, char *why, size_t size)
{
    struct rt_error e = {0};
    struct simt_fault fault;
    struct simt_program *p = simt_program_new(module, &e);
    if (!p) return snprintf(why, size, "%s", e.text), false;
    struct simt_check *c = checked ? simt_check_new(NULL, 0, &e) : NULL;
    if (checked && !c) return simt_program_free(p), snprintf(why, size, "%s", e.text), false;
    struct simt_launch l = {
        .function = simt_program_function(p, "k"), .params = params, .observer = c ? simt_check_observer(c) : NULL};
    for (int k = 0; k < 3; k++) {
        l.grid[k] = s->grid[k], l.block[k] = s->block[k];
        memcpy(simt_host(m->address[k]), m->start[k], gen_bytes[k]);
    }
    bool good = simt_run(&l, &fault);
    if (!good) snprintf(why, size, "%s", fault.text);
    simt_check_free(c);
    simt_program_free(p);
    for (int k = 0; good && k < 3; k++) {
        const uint8_t *got = simt_host(m->address[k]), *want = m->host[k];
        for (size_t j = 0; good && j < gen_bytes[k]; j += 4) {
            uint32_t a, b;
            memcpy(&a, got + j, 4), memcpy(&b, want + j, 4);
            if (a == b) continue;
            good = false;
            snprintf(why, size, "%s of thread %zu at byte %zu is 0x%08x, expected 0x%08x",
                     k == 1   ? "output"
                     : k == 2 ? "cell"
                              : "input",
                     k == 1 ? j / GEN_SLOT : 0, k == 1 ? j % GEN_SLOT : j, a, b);
        }
    }
    return good;
}

/* The ways the software GPU runs programs. */
static const struct gen_variant {
    const char *name, *isa, *jit;
    bool checked;
} gen_variants[] = {{"base", "base", "0", false},
                    {"AVX2", "v3", "0", false},
                    {"AVX-512", "v4", "0", false},
                    {"code for AVX2", "v3", "1", false},
                    {"code for AVX-512", "v4", "1", false},
                    {"base with checks", "base", "0", true},
                    {"code for AVX2 with checks", "v3", "1", true},
                    {"code for AVX-512 with checks", "v4", "1", true}};

/* Runs the program of a seed both ways, in one of the shapes. False with the reason when the two differ. */
static inline bool gen_check(struct gen *g, struct gen_memory *m, uint64_t seed, int statements, bool blocks, char *why,
                             size_t size)
{
    struct rt_error e = {0};
    const struct gen_shape *s = &gen_shapes[seed % GEN_COUNT(gen_shapes)];
    gen_program(g, seed, statements, blocks);
    struct ptx_module *module = ptx_parse(g->text, g->length, &e);
    if (!module) return snprintf(why, size, "seed %llu: %s", (unsigned long long)seed, e.text), false;
    uint64_t params[] = {m->address[0], m->address[1], m->address[2], GEN_WORDS};
    char text[512] = "";
    bool good = gen_run_reference(m, module, s, params, text, sizeof text);
    if (!good) snprintf(why, size, "seed %llu: the reference fails: %s", (unsigned long long)seed, text);
    if (good && !ptx_prepare(module, &e)) return ptx_free(module), snprintf(why, size, "%s", e.text), false;
    for (uint32_t v = 0; good && v < GEN_COUNT(gen_variants); v++) {
        if (!take_isa(gen_variants[v].isa)) continue;
        setenv("LUNARRAY_JIT", gen_variants[v].jit, 1);
        good = gen_run_engine(m, module, s, params, gen_variants[v].checked, text, sizeof text);
        if (!good)
            snprintf(why, size, "seed %llu, %d statements, blocks of %ux%ux%u, %s: %s", (unsigned long long)seed,
                     statements, s->block[0], s->block[1], s->block[2], gen_variants[v].name, text);
    }
    ptx_free(module);
    return good;
}

#endif
