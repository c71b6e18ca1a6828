/* The names of libcuda-simt.so against those of NVIDIA's header. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <ctype.h>
#if __has_include(<cudaTypedefs.h>)
#include <cudaTypedefs.h>
#include <cudaProfilerTypedefs.h>
#endif
#include "tests/unit/built.h"

static const struct row {
    const char *name, *symbol;
    int since;
    bool refused, graphics;
} rows[] = {
#define HAVE(name, suffix, since, twin)       {#name, #name #suffix, since, false, false},
#define SAME(name, suffix, since, twin, same) HAVE(name, suffix, since, twin)
#define REFUSED(name, suffix, since, twin)    {#name, #name #suffix, since, true, false},
#define GRAPHICS(name, suffix, since, twin)   {#name, #name #suffix, since, true, true},
#include "runtime/simt/libcuda/symbols.def"
#undef HAVE
#undef SAME
#undef REFUSED
#undef GRAPHICS
};
#define ROWS (sizeof rows / sizeof rows[0])

#if __has_include(<cudaTypedefs.h>) && CUDA_VERSION == 13000
/* That the versions are NVIDIA's is checked by the compiler: there is a type for each function and version. Those of
 * graphics are in headers that want OpenGL's and others'. */
#define GRAPHICS(name, suffix, since, twin)
#define HAVE(name, suffix, since, twin)       _Static_assert(sizeof(PFN_##name##_v##since) == sizeof(void *), #name);
#define SAME(name, suffix, since, twin, same) HAVE(name, suffix, since, twin)
#define REFUSED(name, suffix, since, twin)    HAVE(name, suffix, since, twin)
#include "runtime/simt/libcuda/symbols.def"
#endif

static bool in_table(const char *symbol)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].symbol, symbol) == 0) return true;
    }
    return false;
}

/* The next function that is declared, "CUresult cuName(", as the preprocessor gives the header; false at the end. */
static bool next_function(FILE *f, char *name, size_t size)
{
    char word[256] = "", before[256] = "";
    size_t n = 0;
    for (int c = fgetc(f); c != EOF; c = fgetc(f)) {
        if (isalnum(c) || c == '_') {
            if (n + 1 < sizeof word) word[n++] = (char)c;
            continue;
        }
        word[n] = '\0';
        if (c == '(' && n > 2 && strcmp(before, "CUresult") == 0 && strncmp(word, "cu", 2) == 0) {
            snprintf(name, size, "%s", word);
            return true;
        }
        if (n > 0) strcpy(before, word);
        if (c == '(' || c == ')' || c == ';' || c == ',') before[0] = '\0';
        n = 0;
    }
    return false;
}

TEST(every_function_of_the_header_is_exported)
{
    if (CUDA_VERSION != 13000) SKIP("the header is of CUDA %d", CUDA_VERSION);
    void *library = built_library("libcuda-simt.so");
    FILE *f =
        popen("echo '#include <cuda.h>' | cc $(make -s cuda-include) -D__CUDA_API_VERSION_INTERNAL -E -P -x c -", "r");
    char name[256];
    int count = 0, listed = 0, others = 3; /* the profiler's, which are in another header */
    for (size_t i = 0; i < ROWS; i++) others += rows[i].graphics;
    CHECK(f != NULL);
    while (next_function(f, name, sizeof name)) {
        if (!dlsym(library, name)) FAIL("no %s", name);
        listed += in_table(name);
        count++;
    }
    if (pclose(f) != 0) SKIP("no compiler that finds cuda.h");
    CHECK(count > 600);
    CHECK(listed >= (int)ROWS - others);
}

TEST(every_row_is_found_by_name)
{
    void *library = built_library("libcuda-simt.so"), *f;
    CUresult (*look)(const char *, void **, int, cuuint64_t, int *) = dlsym(library, "cuGetProcAddress_v2");
    CHECK(look != NULL);
    for (size_t i = 0; i < ROWS; i++) {
        CHECK_INT(look(rows[i].name, &f, rows[i].since, 0, NULL), CUDA_SUCCESS);
        if (f != dlsym(library, rows[i].symbol)) FAIL("%s of %d is another function", rows[i].name, rows[i].since);
        CHECK_INT(look(rows[i].name, &f, rows[i].since, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL),
                  CUDA_SUCCESS);
    }
}

TEST(what_is_refused_says_so)
{
    void *library = built_library("libcuda-simt.so");
    int count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i].refused) continue;
        CUresult (*f)(void) = dlsym(library, rows[i].symbol);
        CHECK_INT(f(), CUDA_ERROR_NOT_SUPPORTED);
        count++;
    }
    CHECK(count > 100);
}

TEST(twins_are_the_same_functions)
{
    void *library = built_library("libcuda-simt.so");
    CHECK(dlsym(library, "cuMemcpyHtoD_v2_ptds") == dlsym(library, "cuMemcpyHtoD_v2"));
    CHECK(dlsym(library, "cuLaunchKernel_ptsz") == dlsym(library, "cuLaunchKernel"));
    CHECK(dlsym(library, "cuCtxDestroy") == dlsym(library, "cuCtxDestroy_v2"));
}
