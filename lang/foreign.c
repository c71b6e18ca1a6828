/* What ?word says of a word that has no documentation here because it is another library's or language's: NumPy's and
 * PyTorch's names, CUDA C's words, those of Python and C++. */
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
    lua_pushfstring(L, *w->kind == 'f' ? "%s is a function of CUDA C: %s" : "%s is a word of CUDA C: %s", word,
                    w->note);
    return true;
}

/* Words that stand for a subject, or for a piece of syntax. */
static const char *const subjects[][2] = {
    {"slice", "?indexing"}, {"slicing", "?indexing"}, {"slices", "?indexing"}, {"dtype", "?dtypes"},
    {"python", "?lua"},     {"syntax", "?lua"},       {"for", "?lua"},         {"while", "?lua"},
    {"if", "?lua"},         {"else", "?lua"},         {"elif", "?lua"},        {"elseif", "?lua"},
    {"end", "?lua"},        {"function", "?lua"},     {"local", "?lua"},       {"lambda", "?lua"},
    {"def", "?lua"},        {"class", "?lua"},        {"import", "?lua"},      {"try", "?lua"},
    {"except", "?lua"},     {"loop", "?lua"},         {"loops", "?lua"},       {"dictionary", "?lua"},
    {"string", "?lua"},     {"and", "?lua"},          {"or", "?lua"},          {"not", "?lua"},
    {"nil", "?lua"},        {"thread", "?cuda"},      {"grid", "?cuda"},       {"block", "?cuda"},
    {"launch", "?cuda"},    {"torch", "?numpy"},      {"pytorch", "?numpy"},   {"numba", "?cuda"},
    {"pycuda", "?cuda"},    {"cupy", "?cuda"},        {"csv", "?files"},       {"npy", "?files"},
};

static const char *subject(const char *word)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (strcmp(word, subjects[i][0]) == 0) return subjects[i][1];
    return NULL;
}

bool lg_push_foreign(lua_State *L, const char *word)
{
    int top = lua_gettop(L);
    word = push_bare(L, word);
    const char *known = *word ? lg_push_synonym(L, word) : NULL;
    if (known)
        lua_pushfstring(L, "%s is written %s", word, known);
    else if ((known = subject(word)) != NULL)
        lua_pushfstring(L, "on '%s': %s", word, known);
    else if (!push_of_cuda(L, word)) {
        known = lg_hint_word(word);
        lua_pushfstring(L, "%s: %s", word, known ? known : "");
        if (!known) lua_pushnil(L);
    }
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    if (lua_isstring(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}
