/* What ?word says of a word that has no documentation here because it is another library's or language's: NumPy's and
 * PyTorch's names, CUDA C's words, those of Python and C++. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/cuda.h"
#include "lang/foreign.h"
#include "lang/hint.h"

/* The word behind a library's name, as arange of np.arange, and without parentheses. */
static const char *push_bare(lua_State *L, const char *word)
{
    const char *end = word + strcspn(word, "("), *from = end;
    while (from > word && from[-1] != '.' && from[-1] != ':') from--;
    return lua_pushlstring(L, from, (size_t)(end - from));
}

static bool push_of_cuda(lua_State *L, const char *word)
{
    const struct lg_cuda_word *w = lg_cuda_find(word, strlen(word));
    if (!w || !*w->note) return false;
    lua_pushfstring(L, "%s is a %s of CUDA C: %s%s%s", word, *w->kind == 'f' ? "function" : "word", w->note,
                    *w->does ? ": " : "", w->does);
    return true;
}

/* Where subjects and pieces of syntax stand, and the words for them: in small letters, without hyphens, in the
 * singular; a star stands for any end. */
#define TUTORIAL(name) "the tutorial " name ".ipynb"
static const struct {
    const char *words, *where;
} subjects[] = {
    {"slice|slicing|newaxi|[]|:|mask|masking|boolean mask|boolean indexing|fancy indexing", "?indexing"},
    {"dtype", "?dtypes"},
    {"python|syntax|for|while|if|else|elif|elseif|end|function|local|lambda|def|class|import|try|except|loop|dictionary|"
     "string|and|or|not|nil|//|%|^|~=|==",
     "?lua"},
    {"thread|grid|block|launch|numba|pycuda|cupy", "?cuda"},
    {"torch|pytorch", "?numpy"},
    {"list comprehension|itertool|enumerate|zip", "?lua"},
    {"csv|npy|read csv|load csv|read file|write file|save file|save image|load image", "?files"},
    {"axi|axe",
     "axes count from 1, negative ones from the end: x:sum(1) adds up each column, x:sum(-1) each row; ?numpy"},
    {"matrix multiplication|matrix product|dot product|inner product", "?matmul, ?dot, ?einsum"},
    {"linear system|solve linear system|linear equation", "?gpu.linalg.solve"},
    {"sort descending|descending order", "x:sort{descending = true}: ?sort"},
    {"count value|value count", "?bincount, ?unique, ?histogram"},
    {"moving average|running mean|rolling mean|moving mean", "?avg_pool1d, ?convolve"},
    {"cumulative sum|running sum", "?cumsum"},
    {"fourier transform", "?gpu.fft.fft, ?gpu.fft.rfft"},
    {"join array|append row|concatenation", "?concatenate, ?stack"},
    {"copy to host|copy to device|copy to cpu|copy to gpu|copie", "?array.to, ?devices"},
    {"timing|benchmarking|measure time", "?gpu.time, ?gpu.benchmark, %time and %timeit"},
    {"jit|njit|ufunc|guvectorize|prange", "?gpu.vectorize, ?gpu.kernel"},
    {"grid stride|grid stride loop|forall", "?kernel.forall, " TUTORIAL("01-first-kernel")},
    {"coalescing|coalesced|coalesced acces|bank conflict|aos|soa", "?gpu.profile, " TUTORIAL("04-memory")},
    {"roofline|stencil|register|register pressure|spilling", TUTORIAL("04-memory")},
    {"tiling|tile|tiled|gemm|sgemm", "?gpu.matmul, as a kernel " TUTORIAL("02-matmul")},
    {"race|data race|race condition|racecheck|memcheck|cuda memcheck|synccheck|initcheck",
     "?gpu.check, " TUTORIAL("03-explain")},
    {"divergence|warp divergence|branch divergence", "?gpu.profile, ?gpu.trace, " TUTORIAL("03-explain")},
    {"nvprof|nvvp|profiling|profiler|hotspot", "?gpu.profile, ?gpu.time, " TUTORIAL("03-explain")},
    {"debug|debugger|debugging|breakpoint",
     "?gpu.trace follows a warp, ?gpu.check finds what is wrong; cells have JupyterLab's debugger"},
    {"prefix sum|inclusive scan|exclusive scan|compaction", "?cumsum, ?gpu.scan, " TUTORIAL("05-together")},
    {"warp|lane|atomic|atomic operation|barrier", "?kernels, " TUTORIAL("05-together")},
    {"block size|grid size|number of thread|launch configuration",
     "?kernel.forall, ?kernel.occupancy, " TUTORIAL("01-first-kernel")},
    {"convolution|blur|filter image|image filter", "?convolve, ?conv2d, ?gpu.ndimage.convolve"},
    {"1 based|0 based|one based|zero based|index from 0|index from 1|start at 0|start at 1",
     "Lua counts from 1, kernels from 0: ?indexing, ?cuda"},
    {"template|generic", "?gpu.kernel with instantiate, ?gpu.vectorize"},
    {"demo|workshop|talk|present|presentation|slide",
     "lunarray --present FILE shows a file of cells as a talk; one is tutorials/demo.lua"},
    {"tensor core", "?kernels, " TUTORIAL("08-tensor-cores")},
    {"parallel reduction|privatization|privatisation", TUTORIAL("05-together")},
    {"spmv|spmm|sparse matrix", "?to_sparse, ?sparse"},
    {"shared memory|dynamic shared memory|static shared memory", "?kernels, ?kernel, " TUTORIAL("04-memory")},
    {"constant memory", "?kernel.global, " TUTORIAL("04-memory")},
    {"cubla*|cufft*|cusolver*|cusparse*|curand*|thrust*|cub|cub::*", "?cuda, ?kernels"},
    {"unified memory|managed memory|prefetch|prefetching", "?devices, ?kernels"},
    {"concurrency|asynchronou|pinned memory|page locked memory|zero copy",
     "?gpu.stream, ?gpu.pinned, " TUTORIAL("07-streams")},
    {"cuda graph", "?gpu.graph, " TUTORIAL("07-streams")},
    {"monte carlo|heat equation", TUTORIAL("06-applications")},
    {"kmean|k mean|clustering|nearest neighbor|nearest neighbour|knn",
     "nearest = gpu.cdist(x, centres):argmin(2), and gpu.zeros_like(centres):index_add(1, nearest, x) adds rows up"},
    {"regression|linear regression|least square|curve fitting", "?gpu.linalg.lstsq, ?polyfit"},
    {"logistic regression|gradient descent|autograd|optimizer|adam|sgd|optim|backpropagation",
     "p = x:matmul(w):sigmoid() and w:sub_(rate * x.T:matmul(p - y) / #x): nothing takes gradients by itself"},
    {"pca|principal component", "?gpu.linalg.svd, ?gpu.linalg.eigh, ?cov"},
    {"panda|dataframe|groupby|group by|pivot",
     "columns are arrays: ?unique with inverse gives the group of each row, bincount(0, weights) their sums"},
    {"dropna|missing value", "x[x:isnan():logical_not()], ?nanmean, ?nan_to_num"},
};

/* Pushes the word as the subjects have it. */
static const char *push_plain(lua_State *L, const char *word)
{
    luaL_Buffer b;
    size_t n = strlen(word);
    if (n > 3 && (word[n - 1] | 0x20) == 's') n--;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < n; i++)
        luaL_addchar(&b, strchr("-_", word[i]) ? ' ' : (char)tolower((unsigned char)word[i]));
    luaL_pushresult(&b);
    return lua_tostring(L, -1);
}

static const char *subject(lua_State *L, const char *word)
{
    const char *plain = push_plain(L, word), *found = NULL;
    const size_t all = strlen(plain);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects && !found; i++)
        for (const char *p = subjects[i].words; *p && !found; p += strcspn(p, "|"), p += *p == '|') {
            size_t n = strcspn(p, "*|");
            if (n <= all && strncmp(p, plain, n) == 0 && (n == all || p[n] == '*')) found = subjects[i].where;
        }
    lua_pop(L, 1);
    return found;
}

/* On an operator of another language, as a cell with it would be told; NULL: it is none. */
static const char *sign(const char *word)
{
    char text[16];
    static const char letters[] = " _abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (!*word || word[strcspn(word, letters)] || strlen(word) + 5 > sizeof text) return NULL;
    snprintf(text, sizeof text, "x %s y", word);
    const struct lg_place place = {text, strlen(text), text + 2, text, strlen(text)};
    return lg_hint(&place, "", true);
}

bool lg_push_foreign(lua_State *L, const char *word)
{
    int top = lua_gettop(L);
    const char *whole = word;
    word = push_bare(L, word);
    const char *known = *word ? lg_push_synonym(L, word) : NULL;
    if (known)
        lua_pushfstring(L, "%s is written %s", word, known);
    else if ((known = subject(L, word)) != NULL || (known = subject(L, whole)) != NULL)
        lua_pushfstring(L, "on '%s': %s", whole, known);
    else if (!push_of_cuda(L, word)) {
        known = lg_hint_word(word);
        if (!known) known = sign(whole);
        lua_pushfstring(L, "%s: %s", *word ? word : whole, known ? known : "");
        if (!known) lua_pushnil(L);
    }
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    if (lua_isstring(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}
