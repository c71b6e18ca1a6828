/* Runs kernels given as PTX text on the software GPU. */
#ifndef TESTS_SIMT_TEXT_H
#define TESTS_SIMT_TEXT_H

#include "runtime/simt/simt.h"
#include "tests/unit/test.h"

#define HEAD ".version 8.8\n.target sm_90\n.address_size 64\n"

static inline struct simt_program *load(const char *text, struct rt_error *e)
{
    struct ptx_module *m = ptx_parse(text, strlen(text), e);
    if (!m) FAIL("%s", e->text);
    struct simt_program *p = simt_program_new(m, e);
    ptx_free(m);
    return p;
}

/* Runs entry `k` of the text; parameters are 8 bytes each. */
static inline bool run_text(const char *text, unsigned grid, unsigned block, const uint64_t *params,
                            struct simt_fault *fault)
{
    struct rt_error e = {0};
    struct simt_program *p = load(text, &e);
    if (!p) FAIL("%s", e.text);
    const struct simt_function *f = simt_program_function(p, "k");
    CHECK(f != NULL);
    struct simt_launch l = {.function = f, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .params = params};
    bool ok = simt_run(&l, fault);
    simt_program_free(p);
    return ok;
}
static inline void must_run(const char *text, unsigned grid, unsigned block, const uint64_t *params)
{
    struct simt_fault fault;
    if (!run_text(text, grid, block, params, &fault)) FAIL("%s\n%s", fault.text, text);
}

/* Zeroed memory of the software GPU. */
static inline uint64_t device(size_t bytes)
{
    uint64_t a;
    struct rt_error e = {0};
    if (simt_alloc(bytes, &a, &e) != RT_OK) FAIL("%s", e.text);
    memset(simt_host(a), 0, bytes);
    return a;
}

/* The text must be refused with words that hold `part`. */
static inline void must_refuse(const char *text, const char *part)
{
    struct rt_error e = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &e);
    if (!m) FAIL("%s", e.text);
    CHECK(simt_program_new(m, &e) == NULL);
    ptx_free(m);
    CHECK_INT(e.status, RT_UNSUPPORTED);
    CHECK_HAS(e.text, part);
    rt_error_clear(&e);
}

static inline uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return *seed * 0x2545f4914f6cdd1du;
}

#endif
