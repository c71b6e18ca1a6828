#include "lang/cuda.h"

#include <string.h>
#include "lang/lang.h"

#define KEYWORD(name)                                                                                                  \
    {                                                                                                                  \
        name, "keyword", "", ""                                                                                        \
    }
#define QUALIFIER(name, does)                                                                                          \
    {                                                                                                                  \
        name, "keyword", does, ""                                                                                      \
    }
#define TYPE(name)                                                                                                     \
    {                                                                                                                  \
        name, "type", "", ""                                                                                           \
    }
#define VARIABLE(name, type)                                                                                           \
    {                                                                                                                  \
        name, "variable", type, ""                                                                                     \
    }
#define FUNCTION(name, text)                                                                                           \
    {                                                                                                                  \
        name, "function", text, ""                                                                                     \
    }

#define EXPLAINED(name, text, does)                                                                                    \
    {                                                                                                                  \
        name, "function", text, does                                                                                   \
    }

const struct lg_cuda_word lg_cuda_words[] = {
    /* qualifiers */
    QUALIFIER("__global__", "a kernel: launched from the host, run by the device's threads"),
    QUALIFIER("__device__", "a function that kernels call, or a variable in the device's memory"),
    QUALIFIER("__host__", "a function of the host, which kernels do not call"),
    QUALIFIER(
        "__shared__",
        "memory of a block, which its threads share; extern __shared__ float s[] has the size that the launch gives"),
    QUALIFIER("__constant__", "a variable that kernels only read, through a cache of its own; set by k:global(name)"),
    QUALIFIER("__managed__", "a variable for host and device"),
    QUALIFIER("__restrict__", "what is reached by this pointer is not reached by others"),
    KEYWORD("__forceinline__"),
    KEYWORD("__noinline__"),
    EXPLAINED("__launch_bounds__", "__launch_bounds__(max_threads, min_blocks)",
              "what the compiler may rely on: no launch has larger blocks, and so many fit at once"),
    KEYWORD("__grid_constant__"),
    /* C and C++ */
    KEYWORD("auto"),
    KEYWORD("bool"),
    KEYWORD("break"),
    KEYWORD("case"),
    KEYWORD("char"),
    KEYWORD("class"),
    KEYWORD("const"),
    KEYWORD("constexpr"),
    KEYWORD("continue"),
    KEYWORD("default"),
    KEYWORD("do"),
    KEYWORD("double"),
    KEYWORD("else"),
    KEYWORD("enum"),
    KEYWORD("extern"),
    KEYWORD("false"),
    KEYWORD("float"),
    KEYWORD("for"),
    KEYWORD("goto"),
    KEYWORD("if"),
    KEYWORD("inline"),
    KEYWORD("int"),
    KEYWORD("long"),
    KEYWORD("namespace"),
    KEYWORD("nullptr"),
    KEYWORD("operator"),
    KEYWORD("return"),
    KEYWORD("short"),
    KEYWORD("signed"),
    KEYWORD("sizeof"),
    KEYWORD("static"),
    KEYWORD("struct"),
    KEYWORD("switch"),
    KEYWORD("template"),
    KEYWORD("true"),
    KEYWORD("typedef"),
    KEYWORD("typename"),
    KEYWORD("union"),
    KEYWORD("unsigned"),
    KEYWORD("using"),
    KEYWORD("void"),
    KEYWORD("volatile"),
    KEYWORD("while"),
    /* types */
    TYPE("size_t"),
    TYPE("half"),
    TYPE("half2"),
    TYPE("dim3"),
    TYPE("char2"),
    TYPE("char4"),
    TYPE("uchar4"),
    TYPE("short2"),
    TYPE("int2"),
    TYPE("int3"),
    TYPE("int4"),
    TYPE("uint2"),
    TYPE("uint3"),
    TYPE("uint4"),
    TYPE("float2"),
    TYPE("float3"),
    TYPE("float4"),
    TYPE("double2"),
    TYPE("cudaTextureObject_t"),
    TYPE("cudaSurfaceObject_t"),
    /* where a thread is */
    VARIABLE("threadIdx", "uint3: the thread in its block"),
    VARIABLE("blockIdx", "uint3: the block in its grid"),
    VARIABLE("blockDim", "dim3: threads in a block"),
    VARIABLE("gridDim", "dim3: blocks in the grid"),
    VARIABLE("warpSize", "int: 32"),
    /* order and votes */
    EXPLAINED("__syncthreads", "void __syncthreads()",
              "waits for all threads of the block, which then see what the others wrote"),
    EXPLAINED("__syncthreads_count", "int __syncthreads_count(int)",
              "the same, and in how many threads the argument is not 0"),
    EXPLAINED("__syncthreads_and", "int __syncthreads_and(int)", "the same, and whether it is not 0 in all"),
    EXPLAINED("__syncthreads_or", "int __syncthreads_or(int)", "the same, and whether it is not 0 in any"),
    EXPLAINED("__syncwarp", "void __syncwarp(unsigned mask)",
              "waits for the lanes of the mask, all by default, which then see what the others wrote"),
    EXPLAINED("__threadfence", "void __threadfence()",
              "what was written before is seen on the whole device before what is written behind it; waits for nobody"),
    EXPLAINED("__threadfence_block", "void __threadfence_block()", "the same within the block"),
    EXPLAINED("__activemask", "unsigned __activemask()",
              "the lanes that happen to run this together; no mask to synchronise by"),
    EXPLAINED("__all_sync", "int __all_sync(unsigned mask, int predicate)",
              "whether it holds in all lanes of the mask"),
    EXPLAINED("__any_sync", "int __any_sync(unsigned mask, int predicate)", "whether it holds in any lane of the mask"),
    EXPLAINED("__ballot_sync", "unsigned __ballot_sync(unsigned mask, int predicate)",
              "the lanes in which it holds, as bits"),
    EXPLAINED("__match_any_sync", "unsigned __match_any_sync(unsigned mask, T value)",
              "the lanes with the same value, as bits"),
    EXPLAINED("__shfl_sync", "T __shfl_sync(unsigned mask, T value, int lane, int width)", "the value of that lane"),
    EXPLAINED("__shfl_up_sync", "T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width)",
              "the value of the lane that is delta below"),
    EXPLAINED("__shfl_down_sync", "T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width)",
              "the value of the lane that is delta above"),
    EXPLAINED("__shfl_xor_sync", "T __shfl_xor_sync(unsigned mask, T value, int lanes, int width)",
              "the value of the lane whose number differs in these bits"),
    EXPLAINED("__reduce_add_sync", "T __reduce_add_sync(unsigned mask, T value)",
              "the sum over the lanes of the mask, of integers"),
    /* atomics */
    EXPLAINED("atomicAdd", "T atomicAdd(T *address, T value)",
              "adds in one step that no thread comes between; gives what was there"),
    EXPLAINED("atomicSub", "T atomicSub(T *address, T value)", "subtracts in one step; gives what was there"),
    EXPLAINED("atomicExch", "T atomicExch(T *address, T value)", "stores; gives what was there"),
    EXPLAINED("atomicMin", "T atomicMin(T *address, T value)",
              "stores the lesser one, of integers; gives what was there"),
    EXPLAINED("atomicMax", "T atomicMax(T *address, T value)",
              "stores the greater one, of integers; gives what was there"),
    EXPLAINED("atomicAnd", "T atomicAnd(T *address, T value)", "stores old & value; gives what was there"),
    EXPLAINED("atomicOr", "T atomicOr(T *address, T value)", "stores old | value; gives what was there"),
    EXPLAINED("atomicXor", "T atomicXor(T *address, T value)", "stores old ^ value; gives what was there"),
    EXPLAINED("atomicInc", "unsigned atomicInc(unsigned *address, unsigned limit)",
              "counts up, behind the limit from 0; gives what was there"),
    EXPLAINED("atomicDec", "unsigned atomicDec(unsigned *address, unsigned limit)",
              "counts down, below 0 from the limit; gives what was there"),
    EXPLAINED("atomicCAS", "T atomicCAS(T *address, T compare, T value)",
              "stores value where compare is found; gives what was there"),
    /* bits, memory, clocks, messages */
    EXPLAINED("__popc", "int __popc(unsigned x)", "how many bits are set"),
    EXPLAINED("__clz", "int __clz(int x)", "how many bits above the highest one that is set"),
    EXPLAINED("__ffs", "int __ffs(int x)", "the lowest bit that is set, from 1; 0: none"),
    EXPLAINED("__brev", "unsigned __brev(unsigned x)", "the bits in reverse order"),
    EXPLAINED("__ldg", "T __ldg(const T *address)", "loads by way of the read-only cache"),
    EXPLAINED("__float_as_int", "int __float_as_int(float x)", "the same bits"),
    EXPLAINED("__int_as_float", "float __int_as_float(int x)", "the same bits"),
    FUNCTION("clock", "clock_t clock()"),
    EXPLAINED("clock64", "long long clock64()", "cycles of the multiprocessor"),
    FUNCTION("printf", "int printf(const char *format, ...)"),
    FUNCTION("assert", "void assert(int expression)"),
    FUNCTION("__trap", "void __trap()"),
    FUNCTION("malloc", "void *malloc(size_t size)"),
    FUNCTION("free", "void free(void *pointer)"),
    FUNCTION("make_float2", "float2 make_float2(float x, float y)"),
    FUNCTION("make_float3", "float3 make_float3(float x, float y, float z)"),
    FUNCTION("make_float4", "float4 make_float4(float x, float y, float z, float w)"),
    FUNCTION("make_int2", "int2 make_int2(int x, int y)"),
    FUNCTION("tex1D", "T tex1D<T>(cudaTextureObject_t, float x)"),
    FUNCTION("tex2D", "T tex2D<T>(cudaTextureObject_t, float x, float y)"),
    FUNCTION("surf2Dread", "T surf2Dread<T>(cudaSurfaceObject_t, int x_bytes, int y)"),
    FUNCTION("surf2Dwrite", "void surf2Dwrite(T value, cudaSurfaceObject_t, int x_bytes, int y)"),
    /* mathematics */
    FUNCTION("abs", "int abs(int x)"),
    FUNCTION("min", "T min(T a, T b)"),
    FUNCTION("max", "T max(T a, T b)"),
    FUNCTION("fabsf", "float fabsf(float x)"),
    FUNCTION("fminf", "float fminf(float a, float b)"),
    FUNCTION("fmaxf", "float fmaxf(float a, float b)"),
    FUNCTION("sqrtf", "float sqrtf(float x)"),
    FUNCTION("rsqrtf", "float rsqrtf(float x)"),
    FUNCTION("cbrtf", "float cbrtf(float x)"),
    FUNCTION("expf", "float expf(float x)"),
    FUNCTION("exp2f", "float exp2f(float x)"),
    FUNCTION("logf", "float logf(float x)"),
    FUNCTION("log2f", "float log2f(float x)"),
    FUNCTION("log10f", "float log10f(float x)"),
    FUNCTION("powf", "float powf(float x, float y)"),
    FUNCTION("sinf", "float sinf(float x)"),
    FUNCTION("cosf", "float cosf(float x)"),
    FUNCTION("sincosf", "void sincosf(float x, float *sin, float *cos)"),
    FUNCTION("tanf", "float tanf(float x)"),
    FUNCTION("asinf", "float asinf(float x)"),
    FUNCTION("acosf", "float acosf(float x)"),
    FUNCTION("atanf", "float atanf(float x)"),
    FUNCTION("atan2f", "float atan2f(float y, float x)"),
    FUNCTION("tanhf", "float tanhf(float x)"),
    FUNCTION("erff", "float erff(float x)"),
    FUNCTION("floorf", "float floorf(float x)"),
    FUNCTION("ceilf", "float ceilf(float x)"),
    FUNCTION("roundf", "float roundf(float x)"),
    FUNCTION("truncf", "float truncf(float x)"),
    FUNCTION("fmodf", "float fmodf(float x, float y)"),
    FUNCTION("fmaf", "float fmaf(float x, float y, float z)"),
    FUNCTION("hypotf", "float hypotf(float x, float y)"),
    FUNCTION("isnan", "bool isnan(T x)"),
    FUNCTION("isinf", "bool isinf(T x)"),
    EXPLAINED("__expf", "float __expf(float x)", "fast"),
    EXPLAINED("__logf", "float __logf(float x)", "fast"),
    EXPLAINED("__sinf", "float __sinf(float x)", "fast"),
    EXPLAINED("__cosf", "float __cosf(float x)", "fast"),
    EXPLAINED("__fdividef", "float __fdividef(float x, float y)", "fast"),
    {NULL, NULL, NULL, NULL}};

#define DIRECTIVE(name)                                                                                                \
    {                                                                                                                  \
        name, "directive", "", ""                                                                                      \
    }
const struct lg_cuda_word lg_cuda_directives[] = {DIRECTIVE("define"),
                                                  DIRECTIVE("undef"),
                                                  DIRECTIVE("include"),
                                                  DIRECTIVE("if"),
                                                  DIRECTIVE("ifdef"),
                                                  DIRECTIVE("ifndef"),
                                                  DIRECTIVE("elif"),
                                                  DIRECTIVE("else"),
                                                  DIRECTIVE("endif"),
                                                  DIRECTIVE("error"),
                                                  {"pragma", "directive", "#pragma unroll", ""},
                                                  {NULL, NULL, NULL, NULL}};

const struct lg_cuda_word *lg_cuda_find(const char *word, size_t length)
{
    for (const struct lg_cuda_word *w = lg_cuda_words; length && w->name; w++)
        if (*w->name == *word && strncmp(w->name, word, length) == 0 && !w->name[length]) return w;
    return NULL;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* Where the comment that begins at `at` ends; *unfinished when a block comment has no end. */
static size_t comment_end(const char *text, size_t length, size_t at, bool *unfinished)
{
    bool block = text[at + 1] == '*';
    for (at += 2; at < length; at++) {
        if (!block && text[at] == '\n') return at;
        if (block && text[at] == '*' && at + 1 < length && text[at + 1] == '/') return at + 2;
    }
    *unfinished = true;
    return length;
}

static size_t string_end(const char *text, size_t length, size_t at, bool *unfinished)
{
    char quote = text[at];
    for (at++; at < length && text[at] != '\n'; at++) {
        if (text[at] == quote) return at + 1;
        if (text[at] == '\\' && at + 1 < length) at++;
    }
    *unfinished = true;
    return at;
}

/* Only white space between a sign and its line's start makes a directive of it. */
static bool begins_line(const char *text, size_t at)
{
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
    return at == 0 || text[at - 1] == '\n';
}

bool lg_cuda_next(const char *text, size_t length, size_t at, struct lg_cuda_token *out)
{
    *out = (struct lg_cuda_token){.start = at};
    if (at >= length) return false;
    char c = text[at], next = at + 1 < length ? text[at + 1] : '\0';
    if (c == '/' && (next == '/' || next == '*')) {
        out->kind = LG_CUDA_COMMENT;
        out->end = comment_end(text, length, at, &out->unfinished);
    } else if (c == '"' || c == '\'') {
        out->kind = LG_CUDA_STRING;
        out->end = string_end(text, length, at, &out->unfinished);
    } else if (is_digit(c) || (c == '.' && is_digit(next))) {
        out->kind = LG_CUDA_NUMBER;
        for (at++; at < length && (is_word(text[at]) || text[at] == '.'); at++) continue;
        out->end = at;
    } else if (is_word(c)) {
        out->kind = LG_CUDA_WORD;
        while (at < length && is_word(text[at])) at++;
        out->end = at;
    } else if (c == '#' && begins_line(text, at)) {
        out->kind = LG_CUDA_DIRECTIVE;
        for (at++; at < length && (text[at] == ' ' || text[at] == '\t'); at++) continue;
        while (at < length && is_word(text[at])) at++;
        out->end = at;
    } else {
        out->end = at + 1;
    }
    return true;
}

bool lg_cuda_is_source(const char *text, size_t length)
{
    struct lg_cuda_token t;
    for (size_t at = 0; lg_cuda_next(text, length, at, &t); at = t.end)
        if (t.end - t.start == 10 && memcmp(text + t.start, "__global__", 10) == 0) return true;
    return false;
}

/* JupyterLab's editor has these colours as variables; the others are between the dark and the light of pages. */
static const char *style_of(const char *text, const struct lg_cuda_token *t)
{
    const struct lg_cuda_word *word = t->kind == LG_CUDA_WORD ? lg_cuda_find(text + t->start, t->end - t->start) : NULL;
    switch (t->kind) {
    case LG_CUDA_COMMENT: return "color:var(--jp-mirror-editor-comment-color,#7f8c8d)";
    case LG_CUDA_STRING: return "color:var(--jp-mirror-editor-string-color,#c0603a)";
    case LG_CUDA_NUMBER: return "color:var(--jp-mirror-editor-number-color,#2f8f6f)";
    case LG_CUDA_DIRECTIVE: return "color:var(--jp-mirror-editor-meta-color,#9a6fd0)";
    case LG_CUDA_WORD:
        if (!word) return NULL;
        return *word->kind == 'k' || *word->kind == 't'
                   ? "color:var(--jp-mirror-editor-keyword-color,#3c8f4f);font-weight:bold"
                   : "color:var(--jp-mirror-editor-builtin-color,#3b82c4)";
    default: return NULL;
    }
}

void lg_add_cuda_html(luaL_Buffer *b, const char *text, size_t length)
{
    struct lg_cuda_token t;
    for (size_t at = 0; lg_cuda_next(text, length, at, &t); at = t.end) {
        const char *style = style_of(text, &t);
        if (style) {
            luaL_addstring(b, "<span style=\"");
            luaL_addstring(b, style);
            luaL_addstring(b, "\">");
        }
        lg_add_html(b, text + t.start, t.end - t.start);
        if (style) luaL_addstring(b, "</span>");
    }
}
