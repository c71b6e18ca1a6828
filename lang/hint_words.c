/* Words that other languages have, and what is written here instead. */
#include <string.h>
#include "lang/hint.h"

#define PLOT    "pictures are drawn by gpu.plot(x, y), gpu.scatter, gpu.bar, gpu.hist and gpu.imshow(x)"
#define FORMULA "a formula is written display.markdown(\"$x^2$\"); an array has x:latex()"
#define PICTURE "an array is shown by gpu.imshow(x); a picture in a file by gpu.imshow(gpu.load(\"x.png\"))"
#define PLACED  "arrays are on one device, with nothing to prefetch; x:to(\"cpu\") copies"
#define RAISED  "what goes wrong in a launch is an error of the line that launches; pcall catches it"
#define CUDA    "it is known in CUDA C only, in gpu.kernel [[ ... ]]"

/* Names that other languages have, where Lua's and gpu's tables have no such key. */
static const struct {
    const char *name, *text;
} names[] = {
    {"len", "the length of a string or table is #x; an array has x.size and x.shape"},
    {"range", "from 0 to 9 it is for i = 0, 9 do ... end; gpu.range(0, 9) is an array"},
    {"str", "it is written tostring(x)"},
    {"int", "it is written math.floor(x), or tonumber(text)"},
    {"float", "it is written tonumber(text); a whole number becomes floating by x + 0.0"},
    {"null", "it is written nil"},
    {"NULL", "it is written nil"},
    {"nullptr", "it is written nil"},
    {"None", "it is written nil"},
    {"True", "it is written true"},
    {"False", "it is written false"},
    {"quit", "it is written os.exit(); the shell is left by Ctrl-D, too"},
    {"exit", "it is written os.exit(); the shell is left by Ctrl-D, too"},
    {"printf", "it is written print(string.format(\"%d\", n)); in a kernel printf works"},
    {"cout", "it is written print(x)"},
    {"console", "it is written print(x)"},
    {"help", "?gpu.ones shows help; gpu.help() lists what there is"},
    {"dir", "gpu.help() lists what there is; a table's keys come by pairs(t)"},
    {"enumerate", "it is written for i, v in ipairs(t) do"},
    {"zip", "it is written for i = 1, #a do ... a[i] ... b[i] ... end"},
    {"#", "#x is the length of a string or table, and of an array's first axis; a comment begins with --"},
    {"append", "it is written t[#t + 1] = x, of arrays gpu.concatenate({x, y})"},
    {"isinstance", "it is written type(x) == \"number\""},
    {"input", "it is written io.read()"},
    {"sorted", "it is written table.sort(t), or of an array x:sort()"},
    {"system", "it is written !command, or os.execute(\"command\")"},
    {"try", "what may fail is called by pcall: local ok, e = pcall(f, x)"},
    {"throw", "it is written error(\"text\")"},
    {"pow", "it is written x ^ y"},
    {"power", "it is written x ^ y"},
    {"cudaMalloc", "memory is that of arrays: gpu.zeros(n), gpu.empty(n)"},
    {"cudaMallocManaged", "memory is that of arrays: gpu.zeros(n), gpu.empty(n)"},
    {"cudaFree", "an array's memory is freed with it, or at once by x:free()"},
    {"cudaMemcpy",
     "gpu.array(t) brings a table to the device, x:to(\"cpu\") copies an array, x:totable() makes a table"},
    {"cudaMallocPitch", "memory is that of arrays, whose rows follow each other: gpu.zeros(rows, columns)"},
    {"cudaMemGetInfo", "it is written gpu.memory()"},
    {"cudaMemset", "it is written x:fill(0)"},
    {"cudaMemcpyToSymbol", "it is written k:global(\"w\")[{}] = t"},
    {"cudaMemPrefetchAsync", PLACED},
    {"cudaGetLastError", RAISED},
    {"cudaPeekAtLastError", RAISED},
    {"cudaGetErrorString", RAISED},
    {"cudaGetDeviceProperties", "they are fields of gpu.device()"},
    {"cudaGetDeviceCount", "it is written #gpu.devices()"},
    {"cudaSetDevice", "it is written gpu.device(\"cuda:0\")"},
    {"cudaDeviceSynchronize", "it is written gpu.synchronize()"},
    {"cudaEventCreate", "it is written gpu.event(), or gpu.time(function() ... end) where only the time is wanted"},
    {"cudaEventRecord", "it is written e:record()"},
    {"cudaEventSynchronize", "it is written e:synchronize()"},
    {"cudaEventElapsedTime", "it is written e:elapsed(later), in milliseconds"},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", "it is written k:occupancy(block).blocks"},
    {"cudaOccupancyMaxPotentialBlockSize", "k:forall(n)(x) chooses the block; k:occupancy() is of all of them"},
    {"cudaLaunchCooperativeKernel", "it is written k(grid, block, {cooperative = true})(x)"},
    {"dim3", LG_HINT_GRID},
    {"ncu", "it is written gpu.profile(k, grid, block)(x)"},
    {"nsys", "it is written gpu.time(f), gpu.benchmark(f) or gpu.profile(k, grid, block)(x)"},
    {"cudaStreamCreate", "it is written gpu.stream()"},
    {"cudaMallocHost", "it is written gpu.pinned(n)"},
    {"cudaHostAlloc", "it is written gpu.pinned(n)"},
    {"cudaGraphLaunch", "it is written g:launch(), of g = gpu.graph(f)"},
    {"nvtxRangePush", "it is written gpu.nvtx.push(name)"},
    {"cudaStreamSynchronize", "it is written s:synchronize(), of s = gpu.stream()"},
    {"cudaStreamWaitEvent", "it is written s:wait(event)"},
    {"cudaMemcpyAsync", "it is written s:with(function() y:copy_(x) end), of s = gpu.stream()"},
    {"cuda", "it is written gpu; ?cuda tells what is where"},
    {"threadIdx", CUDA},
    {"blockIdx", CUDA},
    {"blockDim", CUDA},
    {"gridDim", CUDA},
    {"__syncthreads", CUDA},
    {"atomicAdd", CUDA ", of arrays x:scatter_add_ adds so"},
    {"ls", "a command is written !ls"},
    {"cat", "a command is written !cat file"},
    {"nvcc", "a command is written !nvcc; kernels are compiled by gpu.kernel [[ ... ]]"},
    {"nvidia", "a command is written !nvidia-smi; gpu.device() shows the device"},
    {"pip", "a command is written !pip"},
    {"pwd", "it is written %pwd"},
    {"cd", "it is written %cd folder"},
    {"who", "it is written %who"},
    {"whos", "it is written %whos"},
    {"timeit", "it is written %timeit f(x); gpu.benchmark has options"},
    {"clear", "Ctrl-L clears the screen; %reset forgets the variables"},
    {"plt", PLOT},
    {"pyplot", PLOT},
    {"matplotlib", PLOT},
    {"tqdm", "it is written for i in gpu.progress(n) do ... end"},
    {"trange", "it is written for i in gpu.progress(n) do ... end"},
    {"widgets", "sliders and menus are made by interact(f, {n = {1, 100}})"},
    {"ipywidgets", "sliders and menus are made by interact(f, {n = {1, 100}})"},
    {"HTML", "it is written display.html(text)"},
    {"Markdown", "it is written display.markdown(text)"},
    {"SVG", "it is written display.svg(text)"},
    {"Latex", FORMULA},
    {"Math", FORMULA},
    {"latex", FORMULA},
    {"Image", PICTURE},
    {"image", PICTURE},
    {"clear_output", "it is written display.clear()"},
    {"sleep", "it is written os.execute(\"sleep 1\")"},
    {"time", "os.time() and os.clock() tell the time, gpu.time(f) and %time measure it; os.execute(\"sleep 1\") waits"},
    {"random", "a number is math.random(), arrays are gpu.random.uniform(0, 1, n) and gpu.random.normal(0, 1, n)"},
    {"continue", "Lua has no continue: goto continue leaves the round where ::continue:: stands before its end"},
    {"getcwd", "it is written io.popen(\"pwd\"):read(), or %pwd"},
    {"chdir", "it is written %cd folder"},
    {"listdir", "it is written for name in io.popen(\"ls\"):lines() do, or !ls"},
    {"sys", "a script's arguments are in arg, _VERSION is Lua's; os.exit() leaves"},
    {"json", "a file of numbers is read by gpu.load(\"x.json\"), written by gpu.save(\"x.json\", x)"},
    {"re", "patterns are Lua's own, s:match(\"%d+\"), s:gmatch(\"%a+\"), s:gsub(\"a\", \"b\")"},
    {"pass", "an empty block has nothing in it: if x then end"},
    {"vars", "it is written %whos"},
    {"globals", "it is written %whos"},
    {"locals", "it is written %whos"},
    {"del", "a name is let go by x = nil, an array's memory by x:free()"},
    {"map",
     "it is written for i, v in ipairs(t) do t[i] = f(v) end; of arrays x:sqrt() and 2 * x work on all elements"},
    {"filter", "it is written for i, v in ipairs(t) do if f(v) then ... end end; of arrays x[x:gt(0)]"},
    {"any", "of arrays it is x:any()"},
    {"all", "of arrays it is x:all()"},
    {"shape", "it is a field of arrays, x.shape"},
    {"round", "it is written math.floor(x + 0.5), or of arrays gpu.round(x)"},
    {"clamp", "it is written math.max(low, math.min(x, high)), or of arrays x:clip(low, high)"},
    {"sign", "it is written x > 0 and 1 or x < 0 and -1 or 0, or of arrays x:sign()"},
    {"list", "a list is a table, {1, 2, 3}"},
    {"dict", "a table is made by {a = 1, b = 2}"},
};

/* Methods that strings and lists have elsewhere, and fields that are their lengths. */
static const struct {
    const char *name, *of_string, *of_table;
} methods[] = {
    {"split", "it is written for word in s:gmatch(\"[^,]+\") do", NULL},
    {"strip", "it is written s:match(\"^%s*(.-)%s*$\")", NULL},
    {"trim", "it is written s:match(\"^%s*(.-)%s*$\")", NULL},
    {"replace", "it is written s:gsub(\"a\", \"b\"), whose first argument is a pattern", NULL},
    {"startswith", "it is written s:sub(1, #t) == t", NULL},
    {"endswith", "it is written s:sub(-#t) == t", NULL},
    {"contains", "it is written s:find(t, 1, true)", NULL},
    {"index", "it is written s:find(t, 1, true)", NULL},
    {"join", "it is written table.concat(t, s)", "it is written table.concat(t, \", \")"},
    {"append", "strings are joined by .., s = s .. t", "it is written t[#t + 1] = x"},
    {"push", "strings are joined by .., s = s .. t", "it is written t[#t + 1] = x"},
    {"push_back", "strings are joined by .., s = s .. t", "it is written t[#t + 1] = x"},
    {"map", NULL, "it is written for i, v in ipairs(t) do t[i] = f(v) end"},
    {"filter", NULL, "it is written for _, v in ipairs(t) do if f(v) then u[#u + 1] = v end end"},
    {"forEach", NULL, "it is written for _, v in ipairs(t) do f(v) end"},
    {"extend", NULL, "it is written for _, x in ipairs(u) do t[#t + 1] = x end"},
    {"pop", NULL, "it is written table.remove(t)"},
    {"keys", NULL, "its keys come by for k in pairs(t) do"},
    {"values", NULL, "its values come by for _, v in pairs(t) do"},
    {"items", NULL, "keys and values come by for k, v in pairs(t) do"},
    {"get", NULL, "it is written t[k] or 0"},
    {"len", "its length is #s", "its length is #t"},
    {"length", "its length is #s", "its length is #t"},
    {"getn", NULL, "its length is #t"},
    {"size", "its length is #s", "its length is #t"},
};

/* A library's usual name: what it has is in gpu, mostly by the same name. */
static const char *const libraries[] = {"np",  "numpy", "cp",     "cupy", "torch", "numba",
                                        "jnp", "jax",   "pycuda", "tf",   "scipy"};

bool lg_is_library(const char *name)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(libraries[i], name) == 0) return true;
    return false;
}

const char *lg_hint_word(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) return names[i].text;
    return lg_is_library(name)
               ? "arrays and their functions are in gpu, as gpu.zeros(3); ?numpy and ?cuda tell what is otherwise"
               : NULL;
}

const char *lg_hint_member(const char *name, bool of_string)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0) return of_string ? methods[i].of_string : methods[i].of_table;
    return NULL;
}
