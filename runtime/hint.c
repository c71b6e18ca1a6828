/* What to do about a source that does not compile. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "runtime/compile.h"
#include "runtime/spelling.h"

/* What to do about source that was written for nvcc, by what the compiler says of it; the first that fits. */
static const struct {
    const char *said, *also, *hint;
} hints[] = {
    {"explicitly marked as a __host__ function is not allowed", "/cub/",
     "of CUB, kernels take the headers of blocks and warps, as <cub/block/block_reduce.cuh>; what <cub/cub.cuh> and Thrust "
     "add to them is called from the host"},
    {"/thrust/", ": error",
     "Thrust is called from the host; kernels take CUB's headers of blocks and warps, and cuda::std"},
    {"identifier \"cuda", "is undefined",
     "the host's part of a program (main, cudaMalloc, cudaMemcpy, <<<...>>>) is not compiled: it is Lua's"},
    {"At end of source: error: expected a \"]\"", "",
     "in Lua ]] ends the string, in x[y[i]] too: write gpu.kernel [=[ ... ]=]"},
    {"identifier \"local\" is undefined", "", "kernels are CUDA C, not Lua: int i = threadIdx.x;"},
    {"namespace \"std\" has no member", "",
     "kernels are compiled without the host's C++ library; cuda::std, of <cuda/std/...>, has what devices can use"},
    {"device-side kernel launch", "",
     "kernels do not launch kernels (dynamic parallelism); launch the inner one from Lua"},
    {"annotation on lambda requires", "", "in a kernel a lambda takes no __device__: [](float v) { return v + 1; }"},
    {"cannot open source file", "",
     "kernels are compiled without the host's C++ library; <cuda/std/...> and <cub/block/...> have what devices can use, "
     "-I in the option options names folders"},
};

/* Whether the names are the same but for capitals and underscores. */
static bool is_alike(const char *a, const char *b)
{
    while (*a || *b) {
        if (*a == '_')
            a++;
        else if (*b == '_')
            b++;
        else if (tolower((unsigned char)*a) == tolower((unsigned char)*b))
            a++, b++;
        else
            return false;
    }
    return true;
}

static const char *const cuda_names[] = {"threadIdx",
                                         "blockIdx",
                                         "blockDim",
                                         "gridDim",
                                         "warpSize",
                                         "__syncthreads",
                                         "__syncwarp",
                                         "__threadfence",
                                         "__shared__",
                                         "__device__",
                                         "__constant__",
                                         "__restrict__",
                                         "__global__",
                                         "__forceinline__",
                                         "__shfl_sync",
                                         "__shfl_up_sync",
                                         "__shfl_down_sync",
                                         "__shfl_xor_sync",
                                         "__any_sync",
                                         "__all_sync",
                                         "__ballot_sync",
                                         "__match_any_sync",
                                         "__activemask",
                                         "atomicAdd",
                                         "atomicSub",
                                         "atomicMax",
                                         "atomicMin",
                                         "atomicCAS",
                                         "atomicExch",
                                         "atomicInc",
                                         "sqrtf",
                                         "rsqrtf",
                                         "expf",
                                         "logf",
                                         "powf",
                                         "fmaf",
                                         "fminf",
                                         "fmaxf",
                                         "fabsf",
                                         "printf",
                                         "unsigned",
                                         "make_float4"};

static bool is_keyword(const char *word)
{
    static const char *const keywords[] = {
        "auto", "bool",    "break",    "case",   "char",     "const",  "continue", "default",  "do",       "double",
        "else", "enum",    "extern",   "false",  "float",    "for",    "goto",     "if",       "inline",   "int",
        "long", "return",  "short",    "signed", "sizeof",   "static", "struct",   "switch",   "template", "this",
        "true", "typedef", "typename", "union",  "unsigned", "using",  "void",     "volatile", "while"};
    for (size_t k = 0; k < sizeof keywords / sizeof *keywords; k++)
        if (!strcmp(word, keywords[k])) return true;
    return false;
}

/* Whether one becomes the other when two neighbours change places. */
static bool is_swapped(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return a[0] && a[0] == b[1] && a[1] == b[0] && !strcmp(a + 2, b + 2);
}

/* The word of the text, nearest to `name`, that is spelt in `least` letters or fewer otherwise; "" when none is.
 * Keywords are near to many names, so that they are meant only where neighbours changed places. */
static void nearest_word(const char *text, const char *name, int least, char *out, size_t size)
{
    *out = '\0';
    for (size_t n; *text; text += n ? n : 1) {
        char word[64];
        n = rt_comment_or_literal(text);
        if (n) continue;
        for (n = 0; rt_in_name(text[n]);) n++;
        if (n == 0 || n >= sizeof word) continue;
        memcpy(word, text, n);
        word[n] = '\0';
        int distance = rt_spelling_distance(name, word);
        if (distance == 0 || distance > least || (is_keyword(word) && !is_swapped(name, word))) continue;
        snprintf(out, size, "%s", word);
        least = distance - 1;
    }
}

/* The name that was meant by one that nobody declared, of CUDA C's and of the text's; "" when none is near. */
static void find_meant(const char *name, const char *text, char *out, size_t size)
{
    size_t length = strlen(name);
    int least = length < 3 ? 0 : length < 6 ? 1 : 2;
    nearest_word(text, name, least, out, size);
    if (*out) least = rt_spelling_distance(name, out) - 1;
    for (size_t k = 0; k < sizeof cuda_names / sizeof *cuda_names; k++) {
        int distance = is_alike(name, cuda_names[k]) ? 0 : rt_spelling_distance(name, cuda_names[k]);
        if (distance > least) continue;
        snprintf(out, size, "%s", cuda_names[k]);
        least = distance - 1;
    }
}

const char *rt_compile_hint(const char *log, const char *source, char *text, size_t size)
{
    static const char undefined[] = ": error: identifier \"";
    char name[64], own[64];
    for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
        if (strstr(log, hints[k].said) && strstr(log, hints[k].also)) return hints[k].hint;
    const char *at = strstr(log, undefined);
    if (!at) return "";
    at += sizeof undefined - 1;
    size_t n = strcspn(at, "\"");
    if (n >= sizeof name) return "";
    memcpy(name, at, n);
    name[n] = '\0';
    find_meant(name, source, own, sizeof own);
    if (!*own) return "";
    snprintf(text, size, "did you mean %s?", own);
    return text;
}
