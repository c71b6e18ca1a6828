/* The names of libcudart-simt.so against those of NVIDIA's header. */
#define _GNU_SOURCE /* dlvsym */
#include <ctype.h>
#if __has_include(<cuda_profiler_api.h>)
#include <cuda_profiler_api.h>
#endif
#include <cuda_runtime_api.h>
#include "tests/unit/built.h"

static const struct row {
    const char *name, *twin;
    bool refused;
} rows[] = {
#define CALL(name, twin, parameters, call) {#name, #twin, false},
#define OWN(name, twin)                    {#name, #twin, false},
#define REFUSED(name, twin)                {#name, #twin, true},
#include "runtime/simt/libcudart/symbols.def"
};
#define ROWS (sizeof rows / sizeof rows[0])

static bool in_table(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0) return true;
    return false;
}

/* The next word that begins with "cuda" and a capital and has an argument list behind it; false at the end. */
static bool next_function(FILE *f, char *name, size_t size)
{
    size_t n = 0;
    for (int c = fgetc(f); c != EOF; c = fgetc(f)) {
        if (isalnum(c) || c == '_') {
            if (n + 1 < size) name[n++] = (char)c;
            continue;
        }
        name[n] = '\0';
        if (c == '(' && n > 4 && strncmp(name, "cuda", 4) == 0 && isupper((unsigned char)name[4])) return true;
        n = 0;
    }
    return false;
}

TEST(every_function_of_the_header_is_a_row)
{
    if (CUDART_VERSION != 13000) SKIP("the header is of CUDA %d", CUDART_VERSION);
    FILE *f = popen("echo '#include <cuda_runtime_api.h>' | cc $(make -s cuda-include) -E -P -x c -", "r");
    char name[256];
    int count = 0;
    CHECK(f != NULL);
    while (next_function(f, name, sizeof name)) {
        if (!in_table(name)) FAIL("no %s", name);
        count++;
    }
    if (pclose(f) != 0) SKIP("no compiler that finds cuda_runtime_api.h");
    CHECK(count > 300);
}

TEST(every_row_is_exported_with_its_twin)
{
    void *library = built_library("libcudart-simt.so");
    char twin[256];
    for (size_t i = 0; i < ROWS; i++) {
        void *f = dlvsym(library, rows[i].name, "libcudart.so.13"); /* the version that nvcc's programs ask for */
        if (!f) FAIL("no %s", rows[i].name);
        if (strcmp(rows[i].twin, "none") == 0) continue;
        snprintf(twin, sizeof twin, "%s_%s", rows[i].name, rows[i].twin);
        if (dlvsym(library, twin, "libcudart.so.13") != f) FAIL("%s is another function, or none", twin);
    }
}

TEST(what_is_refused_says_so)
{
    void *library = built_library("libcudart-simt.so");
    cudaError_t (*last)(void) = (cudaError_t(*)(void))dlsym(library, "cudaGetLastError");
    int count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i].refused) continue;
        cudaError_t (*f)(void) = (cudaError_t(*)(void))dlsym(library, rows[i].name);
        CHECK_INT(f(), cudaErrorNotSupported);
        CHECK_INT(last(), cudaErrorNotSupported);
        CHECK_INT(last(), cudaSuccess);
        count++;
    }
    CHECK(count > 40);
}

TEST(errors_have_names_and_meanings)
{
    void *library = built_library("libcudart-simt.so");
    const char *(*name)(cudaError_t) = (const char *(*)(cudaError_t))dlsym(library, "cudaGetErrorName");
    const char *(*text)(cudaError_t) = (const char *(*)(cudaError_t))dlsym(library, "cudaGetErrorString");
    static const char unknown[] = "unrecognized error code";
    int count = 0;
    CHECK_STR(name(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
    CHECK_STR(text(cudaErrorIllegalAddress), "a kernel used an address outside of its memory");
    CHECK_STR(name((cudaError_t)12345), unknown);
    for (int code = 0; code < 1000; code++) {
        if (strcmp(name((cudaError_t)code), unknown) == 0) continue;
        if (strcmp(text((cudaError_t)code), unknown) == 0) FAIL("%s has no meaning", name((cudaError_t)code));
        count++;
    }
    CHECK(count > 120);
}
