/* Names of magics that there are not: what was meant by them. */
#include <string.h>
#include "lang/magic.h"
#include "runtime/spelling.h"

/* What IPython has as a magic, and how it is done here. */
static const char *const others[][2] = {
    {"ls", "it is written !ls"},
    {"cat", "it is written !cat file"},
    {"pip", "it is written !pip"},
    {"conda", "it is written !conda"},
    {"mkdir", "it is written !mkdir folder"},
    {"system", "it is written !command"},
    {"sx", "it is written !command"},
    {"nvidia", "it is written !nvidia-smi"},
    {"cu", "it is written %%cuda, a cell of CUDA C"},
    {"clear", "Ctrl-L clears the screen, %reset forgets the variables"},
    {"cls", "Ctrl-L clears the screen, %reset forgets the variables"},
    {"del", "it is written x = nil"},
    {"xdel", "it is written x = nil"},
    {"matplotlib", "gpu.plot and gpu.imshow show what they draw at once"},
    {"pylab", "gpu.plot and gpu.imshow show what they draw at once"},
    {"load_ext", "it is written require \"name\""},
    {"autoreload", "a module is loaded again by package.loaded[\"name\"] = nil and require \"name\""},
    {"prun", "gpu.profile is for kernels, %time and %timeit for Lua"},
    {"lprun", "gpu.profile is for kernels, %time and %timeit for Lua"},
    {"memit", "it is written %memory"},
    {"paste", "pasted lines are one cell"},
    {"cpaste", "pasted lines are one cell"},
    {"recall", "it is written In[n], and Up"},
    {"rerun", "it is written %load and In[n]"},
    {"notebook", "it is written %save, and lunarray convert file.lua file.ipynb"},
    {"debug", "JupyterLab has a debugger; gpu.trace follows a warp"},
    {"pdb", "JupyterLab has a debugger; gpu.trace follows a warp"},
    {"config", "settings are in the table shell; ?shell"},
    {"colors", "it is written shell.theme; ?shell"},
    {"latex", "it is written display.markdown [[ $x^2$ ]]; x:latex() sets an array"},
    {"markdown", "it is written display.markdown [[ text ]]"},
    {"svg", "it is written display.svg [[ text ]]"},
    {"file", "it is written %%writefile name"},
    {"precision", "it is written gpu.printoptions{precision = 3}"},
    {"nvcc", "it is written %%cuda, a cell of CUDA C; the compiler's command is !nvcc"},
    {"python", "cells are Lua; other programs are run by !python3 file.py, and %%writefile makes the file"},
    {"lua", "cells are Lua as they stand"},
    {"sh", "it is written %%bash"},
    {"script", "it is written %%bash"},
    {"store", "arrays are stored by gpu.save(\"x.npy\", x), and read by gpu.load"},
    {"help", "it is written ?name"},
    {"pdoc", "it is written ?name"},
    {"pinfo", "it is written ?name"},
    {"psource", "it is written ??name"},
    {"quickref", "it is written ?, and %lsmagic"},
    {"magic", "it is written %lsmagic"},
};

/* The magic that a name stands for which is none: the one that it begins, or that is spelt nearly so. */
static const struct lg_magic *nearest_magic(const char *name, bool cell)
{
    const struct lg_magic *best = NULL;
    for (const struct lg_magic *m = lg_magics; m->name; m++)
        if ((cell ? m->cell : m->line) && strlen(name) > 2 && strncmp(m->name, name, strlen(name)) == 0) return m;
    for (const struct lg_magic *m = lg_magics; m->name; m++)
        if ((cell ? m->cell : m->line) && rt_spelling_distance(name, m->name) <= (strlen(name) < 4 ? 1 : 2) &&
            (!best || rt_spelling_distance(name, m->name) < rt_spelling_distance(name, best->name)))
            best = m;
    return best;
}

int lg_raise_magic(lua_State *L, const char *name, bool cell)
{
    const char *sign = cell ? "%%" : "%";
    const struct lg_magic *other = lg_magic_find(name, strlen(name)), *best = nearest_magic(name, cell);
    if (other)
        return luaL_error(L, cell ? "%s%s works on a line: %s" : "%s%s takes a cell, from its first line on: %s", sign,
                          name, other->usage);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i][0], name) == 0)
            return luaL_error(L, "there is no magic %s%s; %s", sign, name, others[i][1]);
    if (best) return luaL_error(L, "there is no magic %s%s; did you mean %s%s?", sign, name, sign, best->name);
    return luaL_error(L, "there is no magic %s%s; %%lsmagic lists them", sign, name);
}
