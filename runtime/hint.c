/* What to do about a source that does not compile. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "runtime/compile.h"
#include "runtime/foreign.h"
#include "runtime/spelling.h"

#define HOST_PART                                                                                                      \
    "the host's part of a program (main, cudaMalloc, cudaMemcpy, <<<...>>>) is not compiled: it is Lua's, see ?cuda"
#define LIBRARIES "CUDA's libraries are called from the host, in Lua as gpu.matmul, gpu.linalg, gpu.sparse, gpu.fft"
#define PRINTF    "a kernel prints by printf(\"%f\\n\", x)"
#define PARTS     "they have parts: threadIdx.x, blockIdx.x, blockDim.x"
#define INDEX     "a thread's index is blockIdx.x * blockDim.x + threadIdx.x"
#define RANDOM    "kernels have curand_uniform(&state), of <curand_kernel.h>, or get an array of gpu.random.uniform"
#define SYNC      "it has _sync in its name, and the lanes that come here first: __shfl_down_sync(0xffffffff, x, 16)"
#define VECTOR    "vectors have no operators: write them for .x, .y, ..."
#define MAKE      "a vector is made of its parts, make_float4(x, y, z, w), or in a declaration float4 v = {x, y, z, w};"
#define ELEMENT   "an array is a pointer here; its elements are x[i]"
#define FOR       "a loop is for (int i = 0; i < n; i++) { ... }"
#define C_KERNEL  "kernels are CUDA C: __global__ void f(int n, float *x) { ... }"
#define COMPLEX   "complex numbers are cuda::std::complex<float>, of #include <cuda/std/complex>"
#define WHOLE     "atomic functions are of 4 and 8 bytes: let what is updated be an array of int"
#define RETURNS   "a kernel returns nothing: its results go into arrays"
#define OUTSIDE                                                                                                        \
    "outside of functions there are declarations only: is there a } too many? Lua's lines go into a cell of their own"
#define TEXTURE                                                                                                        \
    "a texture is a parameter, cudaTextureObject_t t, that gpu.texture(x) makes; an element is tex2D<float>(t, x, y)"

/* What to do about source that was written for nvcc, by what the compiler says of it; the first that fits. */
static const struct {
    const char *said, *also, *hint;
} hints[] = {
    {"explicitly marked as a __host__ function is not allowed", "/cub/",
     "of CUB, kernels take <cub/cub.cuh>, which has its algorithms of blocks and warps; what it and Thrust add to them is "
     "called from the host"},
    {"name followed by \"::\"", "cub::Device",
     "what CUB has for whole arrays is called from the host, in Lua as x:sum(), x:cumsum(), x:sort(); kernels have its "
     "algorithms of blocks and warps"},
    {"/thrust/complex.h", ": error", COMPLEX},
    {"open source file \"cupy/complex", "", COMPLEX},
    {"/thrust/", ": error",
     "Thrust is called from the host; kernels take CUB's headers of blocks and warps, and cuda::std"},
    {"identifier \"cuda\" is undefined", "cuda.", INDEX},
    {"identifier \"get_global_id\" is undefined", "", INDEX},
    {"identifier \"cuComplex\"", "",
     "it needs #include <cuComplex.h>; cuda::std::complex<float>, of <cuda/std/complex>, has operators"},
    {"identifier \"cuDoubleComplex\"", "",
     "it needs #include <cuComplex.h>; cuda::std::complex<double>, of <cuda/std/complex>, has operators"},
    {"identifier \"complex\" is undefined", "", COMPLEX},
    {"identifier \"cuda", "is undefined", HOST_PART},
    {"identifier \"cublas", "is undefined", LIBRARIES},
    {"identifier \"cusparse", "is undefined", LIBRARIES},
    {"At end of source: error: expected a \"]\"", "",
     "in Lua ]] ends the string, in x[y[i]] too: write gpu.kernel [=[ ... ]=]"},
    {"identifier \"def\" is undefined", "", C_KERNEL},
    {"identifier \"local\" is undefined", "", "kernels are CUDA C, not Lua: int i = threadIdx.x;"},
    {"identifier \"then\" is undefined", "", "kernels are CUDA C, not Lua: if (i < n) { ... }"},
    {"error: expected a \")\"", "~=", "'not equal' is written !="},
    {"must have pointer-to-object type but it has type", "][",
     "an array of any shape is one pointer: the element in row r and column c is x[r * columns + c]"},
    {"must have pointer-to-object type but it has type", "", "a parameter that is an array is a pointer, float *x"},
    {"namespace \"std\" has no member \"cout\"", "", PRINTF},
    {"namespace \"std\" has no member", "",
     "of std, kernels have what cuda::std has; vectors, strings and streams are the host's"},
    {"device-side kernel launch", "",
     "kernels do not launch kernels (dynamic parallelism); launch the inner one from Lua"},
    {"annotation on lambda requires", "", "in a kernel a lambda takes no __device__: [](float v) { return v + 1; }"},
    {"unrecognized token", "@cuda", C_KERNEL},
    {"storage class or type specifier", "kernel void", C_KERNEL},
    {"storage class or type specifier", " global void", C_KERNEL},
    {"explicit type is missing", "__global__", C_KERNEL},
    {"error: expected a \")\"", "[] ", "a parameter that is an array is a pointer, float *x"},
    {"must be a modifiable lvalue", "if (", "'equal' is written =="},
    {"must be a modifiable lvalue", "", "what is const is not written, nor are threadIdx and the like; 'equal' is =="},
    {"value of type \"float *\" cannot be", "", ELEMENT},
    {"value of type \"const float *\" cannot be", "", ELEMENT},
    {"value of type \"int *\" cannot be", "", ELEMENT},
    {"value of type \"const int *\" cannot be", "", ELEMENT},
    {"value of type \"double *\" cannot be", "", ELEMENT},
    {"value of type \"const double *\" cannot be", "", ELEMENT},
    {"initializer not allowed for __shared__", "",
     "threads set shared memory: if (threadIdx.x < 32) s[threadIdx.x] = 0; __syncthreads();"},
    {"has already been declared", "for (", FOR},
    {"\"void *\" cannot be used to initialize", "", "malloc's result is cast: (float *)malloc(n * sizeof(float))"},
    {"variable without memory space annotations", "extern",
     "shared memory whose size the launch gives is extern __shared__ float s[]; and k(grid, block, bytes)"},
    {"identifier \"float32\" is undefined", "", "the type is called float"},
    {"identifier \"float64\" is undefined", "", "the type is called double"},
    {"identifier \"int32\" is undefined", "", "the type is called int"},
    {"identifier \"int64\" is undefined", "", "the type is called long long"},
    {"identifier \"uint8\" is undefined", "", "the type is called unsigned char"},
    {"identifier \"math\" is undefined", "", "functions stand alone: sqrtf(x), expf(x)"},
    {"identifier \"np\" is undefined", "", "functions stand alone: sqrtf(x), expf(x)"},
    {"storage class or type specifier", "<<<", HOST_PART},
    {"storage class or type specifier", "", OUTSIDE},
    {"error: expected a declaration", "", OUTSIDE},
    {"identifier \"half\" is undefined", "", "half needs #include <cuda_fp16.h>"},
    {"identifier \"__half", "is undefined", "half needs #include <cuda_fp16.h>"},
    {"identifier \"half2\" is undefined", "", "half2 needs #include <cuda_fp16.h>"},
    {"identifier \"__nv_bfloat16", "is undefined", "it needs #include <cuda_bf16.h>"},
    {"identifier \"curand", "is undefined", "it needs #include <curand_kernel.h>"},
    {"name must be a namespace name", "cooperative_groups", "it needs #include <cooperative_groups.h>"},
    {"identifier \"cooperative_groups\" is undefined", "", "it needs #include <cooperative_groups.h>"},
    {"name followed by \"::\"", "cooperative_groups", "it needs #include <cooperative_groups.h>"},
    {"name followed by \"::\"", "cuda::std", "it needs the header of that name, as #include <cuda/std/array>"},
    {"name followed by \"::\"", "nvcuda", "it needs #include <mma.h>"},
    {"name followed by \"::\"", "cub", "it needs #include <cub/cub.cuh>"},
    {"identifier \"__shfl", "is undefined", SYNC},
    {"identifier \"cout\" is undefined", "", PRINTF},
    {"identifier \"True\" is undefined", "", "it is written true"},
    {"identifier \"False\" is undefined", "", "it is written false"},
    {"identifier \"None\" is undefined", "", "it is written nullptr"},
    {"identifier \"nil\" is undefined", "", "it is written nullptr"},
    {"multicharacter character literal", "", "a text stands in double quotes, \"...\""},
    {"expression must have a constant value", "",
     "an array's size, a case and a template's argument are constants, as by #define N 64; shared memory whose size the "
     "launch gives is extern __shared__ float s[]; and k(grid, block, bytes)"},
    {"identifier \"rand\" is undefined", "", RANDOM},
    {"identifier \"drand48\" is undefined", "", RANDOM},
    {"identifier \"len\" is undefined", "", "an array is a pointer here: its length comes as a parameter of its own"},
    {"must have class type but it has type \"", " *\"",
     "an array is a pointer here, without methods: its length comes as a parameter of its own, and a member is x[i].m or "
     "p->m"},
    {"no operator \"", "operand types are: float4", VECTOR},
    {"no operator \"", "operand types are: float3", VECTOR},
    {"no operator \"", "operand types are: float2", VECTOR},
    {"no suitable constructor exists to convert from", "to \"float", MAKE},
    {"no suitable constructor exists to convert from", "to \"int", MAKE},
    {"no suitable conversion function from \"const ", "3\"", PARTS},
    {"__host__ function is not allowed", "", "it is __device__, or without a word before it"},
    {"no operator \"", "const uint3", PARTS},
    {"operand of \"*\" must be a pointer", " ** ", "a power is powf(x, y), or of doubles pow(x, y)"},
    {"must have integral or unscoped enum type", "",
     "an index, and what ^, %, & and << are of, is an integer, (int)x: a power is powf(x, y), a remainder fmodf(x, y)"},
    {"return value type does not match", "__global__", RETURNS},
    {"must have a void return type", "__global__", RETURNS},
    {"overloaded function \"tex", "matches the argument list", TEXTURE},
    {"error: texture is not a template", "", TEXTURE},
    {"template \"cooperative_groups::__v1::reduce\"", "",
     "what it does comes behind the value: cg::reduce(tile, x, cg::plus<float>())"},
    {"overloaded function \"atomic", "argument types are: (float, ", "the first argument is an address, &x[i]"},
    {"overloaded function \"atomic", "argument types are: (int, ", "the first argument is an address, &x[i]"},
    {"overloaded function \"atomicM", "argument types are: (float *, ",
     "atomicMax and atomicMin are of integers; floats of 0 and more are in the order of their bits: "
     "atomicMax((int *)p, __float_as_int(x))"},
    {"overloaded function \"atomicM", "argument types are: (double *, ",
     "atomicMax and atomicMin are of integers; doubles of 0 and more are in the order of their bits: "
     "atomicMax((long long *)p, __double_as_longlong(x))"},
    {"overloaded function \"atomic", "argument types are: (const ",
     "what is const is not updated: the parameter is int *x"},
    {"overloaded function \"atomic", "char *, ", WHOLE},
    {"overloaded function \"atomic", "short *, ", WHOLE},
    {"overloaded function \"atomic", "bool *, ", WHOLE},
    {"overloaded function \"min\"", "", "both arguments are of one type: fminf(x, 1.0f), min(i, 1)"},
    {"overloaded function \"max\"", "", "both arguments are of one type: fmaxf(x, 1.0f), max(i, 1)"},
    {"more than one instance of overloaded function", "(float, double)",
     "both arguments are of one type: powf(x, 2.5f), atan2f(y, x), fmodf(x, 0.1f)"},
    {"error: expected a \"(\"", " if ", "what an if, for or while asks stands in parentheses: if (i < n) { ... }"},
    {"error: expected a \"(\"", "for ", FOR},
    {"error: expected a \"(\"", "while ", "what an if, for or while asks stands in parentheses: while (i < n) { ... }"},
    {"is undefined", " -- ", "a comment begins with //"},
    {"cannot open source file", "",
     "a header of your own is looked for here and in the folders that options = {\"-IFOLDER\"} names; of CUDA's, kernels "
     "take <cuda/std/...>, <cub/cub.cuh> and those that come with the compiler"},
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

static const char *find_row(const char *log)
{
    for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
        if (strstr(log, hints[k].said) && strstr(log, hints[k].also)) return hints[k].hint;
    return "";
}

/* What the log says of its first error: up to the next one. */
static void first_error(const char *log, char *out, size_t size)
{
    static const char mark[] = ": error: ";
    const char *from = strstr(log, mark), *to = from ? strstr(from + 1, mark) : NULL;
    size_t n = to ? (size_t)(to - log) : strlen(log);
    while (to && n && log[n - 1] != '\n') n--;
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), log);
}

/* Whether the line of source in the log has a value given to the name in it. */
static bool is_set(const char *log, const char *name)
{
    const char *line = strchr(log, '\n'), *at = line;
    size_t n = strlen(name);
    while (at && (at = strstr(at, name)) != NULL && (rt_in_name(at[-1]) || rt_in_name(at[n]))) at++;
    if (!at || memchr(line + 1, '\n', (size_t)(at - line - 1))) return false;
    at += n + strspn(at + n, " ");
    return at[0] == '=' && at[1] != '=';
}

/* Whether the line of source in the log begins a kernel, and the name stands in front of its body. */
static bool is_parameter(const char *log, const char *name)
{
    const char *line = strchr(log, '\n'), *word = line ? strstr(line, "__global__") : NULL;
    if (!word || memchr(line + 1, '\n', (size_t)(word - line - 1))) return false;
    const char *at = word;
    while (*at && *at != '\n' && *at != '{') {
        size_t n = 0;
        while (rt_in_name(at[n])) n++;
        if (n && n == strlen(name) && memcmp(at, name, n) == 0) return true;
        at += n ? n : 1;
    }
    return false;
}

/* Whether a function of that name is in the source: a type, or the end of one, stands in front, a parenthesis behind.
 */
static bool is_function(const char *source, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = source; (at = strstr(at, name)) != NULL; at += n) {
        if (at == source || rt_in_name(at[-1]) || rt_in_name(at[n]) || at[n + strspn(at + n, " ")] != '(') continue;
        const char *before = at - 1, *word;
        while (before > source && strchr(" \t\n", *before)) before--;
        for (word = before; word > source && rt_in_name(word[-1]);) word--;
        if (*before == '*' || (rt_in_name(*before) && before + 1 < at && strncmp(word, "return", 6) != 0 &&
                               strncmp(word, "else", 4) != 0))
            return true;
    }
    return false;
}

/* On the first name in the log that nobody declared. */
static const char *find_undefined(const char *log, const char *source, char *text, size_t size)
{
    static const char undefined[] = ": error: identifier \"";
    char name[64], own[64];
    const char *at = strstr(log, undefined);
    if (!at) return "";
    at += sizeof undefined - 1;
    size_t n = strcspn(at, "\"");
    if (n >= sizeof name) return "";
    memcpy(name, at, n);
    name[n] = '\0';
    find_meant(name, source, own, sizeof own);
    if (is_function(source, name))
        snprintf(text, size, "a function stands before the code that calls it: %s comes too late", name);
    else if (*own)
        snprintf(text, size, "did you mean %s?", own);
    else if (is_set(at, name))
        snprintf(text, size, "a variable is declared with its type, int %s = ...", name);
    else if (is_parameter(at, name))
        snprintf(text, size, "a parameter has its type, int %s", name);
    else
        return "";
    return text;
}

/* Whether the log's first error is a ; that is missed where a line begins: it belongs at the end of the one before. */
static bool lacks_semicolon(const char *log)
{
    static const char missed[] = ": error: expected a \";\"\n";
    const char *at = strstr(log, missed), *first = strstr(log, ": error: ");
    if (!at || at != first) return false;
    const char *line = at + sizeof missed - 1, *caret = strchr(line, '\n');
    if (!caret++) return false;
    return strspn(line, " \t") == strspn(caret, " \t") && caret[strspn(caret, " \t")] == '^';
}

/* On a character that begins no token, which the log's first error is about: the one that its caret is below. */
static const char *of_character(const char *log, char *text, size_t size)
{
    static const char unknown[] = ": error: unrecognized token\n";
    const char *at = strstr(log, unknown);
    if (!at || at != strstr(log, ": error: ")) return "";
    const char *line = at + sizeof unknown - 1, *end = line + strcspn(line, "\n"), *below = *end ? end + 1 : end;
    const char *where = line + strspn(below, " ");
    return where < end && rt_foreign_hint(where, (size_t)(end - where), RT_CUDA_C, text, size) ? text : "";
}

const char *rt_compile_hint(const char *log, const char *source, char *text, size_t size)
{
    char first[2000];
    first_error(log, first, sizeof first);
    const char *hint = lacks_semicolon(first) ? "the line before ends without a ;"
                       : strstr(first, "device-side kernel launch") && is_function(source, "main") ? HOST_PART
                                                                                                   : find_row(first);
    if (!*hint) hint = of_character(first, text, size);
    if (!*hint) hint = find_undefined(first, source, text, size);
    if (!*hint) hint = find_row(log);
    return *hint ? hint : find_undefined(log, source, text, size);
}
