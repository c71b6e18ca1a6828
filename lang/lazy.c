/* Arrays whose elements are computed when somebody looks. Elementwise operations on large arrays, and on arrays of a
 * GPU, make an expression (kernels/expression.h); whatever needs elements evaluates it, the whole chain in one pass.
 * All arrays that wait are in a list, so that who writes to an array can first evaluate those that still read it:
 * nothing but time and memory tells a waiting array from another. */
#include <string.h>
#include "lang/closest.h"
#include "lang/lazy.h"
#include "lang/stream.h"
#include "runtime/environment.h"

#define MOST_REDUCTIONS 8          /* that wait at a time */
#define LARGE           4096       /* elements from which a pass over memory costs more than an expression */
#define REPEATED        (4u << 20) /* bytes at least that a piece of a graph stands for, since it runs at each launch */

struct waiting {
    struct lg_array *first;
    enum lg_laziness mode;
    bool explains;
};

static const char waiting_key;
/* enum lg_laziness's names */
#define MODES (rt_variables[RT_VAR_LAZY].words)

static struct waiting *find_waiting(lua_State *L)
{
    struct waiting *w = lg_own(L, LG_OWN_WAITING);
    if (w) return w;
    int mode = rt_variable_word(RT_VAR_LAZY);
    w = lua_newuserdatauv(L, sizeof *w, 0);
    *w = (struct waiting){.mode = mode < 0 ? LG_LAZY_LARGE : (enum lg_laziness)mode};
    lg_set_own(L, LG_OWN_WAITING, &waiting_key);
    return w;
}

void lg_open_lazy(lua_State *L)
{
    find_waiting(L);
}

bool lg_explains(lua_State *L)
{
    return find_waiting(L)->explains;
}

void lg_set_explains(lua_State *L, bool on)
{
    find_waiting(L)->explains = on;
}

bool lg_waits(const struct rt_array *a)
{
    return ((const struct lg_array *)a)->expression != NULL;
}

/* ---- the list ---- */
void lg_wait(lua_State *L, struct rt_array *a, struct kn_expression *x)
{
    struct waiting *w = find_waiting(L);
    struct lg_array *l = (struct lg_array *)a;
    rt_array_share(kn_expression_form(x), &l->array);
    l->expression = x;
    l->stream = lg_stream_number(rt_array_device(a));
    l->next = w->first;
    l->link = &w->first;
    if (l->next) l->next->link = &l->next;
    w->first = l;
}

static bool is_elsewhere(const struct lg_array *l)
{
    return l->stream != lg_stream_number(rt_array_device(&l->array));
}

/* All streams of the device come to one point around what was to run in another one than the current. */
static enum rt_status evaluate_here(const struct lg_array *l, struct kn_expression *x, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(&l->array);
    bool elsewhere = is_elsewhere(l);
    enum rt_status status = elsewhere ? rt_device_synchronize(d, e) : RT_OK;
    if (status == RT_OK) status = kn_expression_evaluate(x, e);
    return status == RT_OK && elsewhere ? rt_device_synchronize(d, e) : status;
}

void lg_wait_for_reduction(lua_State *L, struct rt_array *a, struct kn_expression *x)
{
    lg_wait(L, a, x);
    struct lg_array *l = (struct lg_array *)a;
    l->reduces = true;
    for (int waiting = 0; l; l = l->next) /* a is the first in the list */
        if (l->reduces && !kn_expression_value(l->expression) && ++waiting > MOST_REDUCTIONS) break;
    if (!l) return;
    struct kn_expression *oldest = kn_expression_retain(l->expression);
    enum rt_status status = evaluate_here(l, oldest, lg_error_box(L));
    kn_expression_release(oldest);
    lg_check(L, status);
}

void lg_wait_no_more(struct rt_array *a)
{
    struct lg_array *l = (struct lg_array *)a;
    if (!l->expression) return;
    *l->link = l->next;
    if (l->next) l->next->link = l->link;
    kn_expression_release(l->expression);
    l->expression = NULL;
    l->reduces = false;
}

/* ---- evaluating ---- */
void lg_bring_over(lua_State *L, struct rt_array *a)
{
    const struct lg_array *l = (const struct lg_array *)a;
    if (l->expression && is_elsewhere(l)) lg_evaluate(L, a);
}

void lg_evaluate(lua_State *L, struct rt_array *a)
{
    struct lg_array *l = (struct lg_array *)a;
    if (!l->expression) return;
    lg_memory_enter(L);
    lg_check(L, evaluate_here(l, l->expression, lg_error_box(L)));
    struct rt_array value;
    rt_array_share(kn_expression_value(l->expression), &value);
    lg_wait_no_more(a);
    rt_array_release(a);
    *a = value;
}

void lg_elements(lua_State *L, const struct rt_array *a, struct kn_program *p)
{
    const struct lg_array *l = (const struct lg_array *)a;
    struct rt_error *e = lg_error_box(L);
    int node;
    lg_memory_enter(L);
    lg_bring_over(L, (struct rt_array *)(uintptr_t)a);
    if (l->expression && kn_expression_room(l->expression) < 1) /* a conversion may come */
        lg_evaluate(L, (struct rt_array *)(uintptr_t)a);
    if (l->expression) {
        lg_check(L, kn_expression_program(l->expression, p, e));
    } else {
        kn_program_start(p);
        lg_check(L, kn_program_array(p, a, &node, e));
    }
}

/* The next of the list whose elements are wanted: those that read s or, when that is NULL, all that nobody has computed
 * yet. The newest come first, so the parts of a chain are seen when the whole of it is done. */
static struct lg_array *next_wanted(const struct waiting *w, const struct rt_storage *s)
{
    for (struct lg_array *l = w->first; l; l = l->next) {
        if (kn_expression_value(l->expression)) continue;
        if (s ? kn_expression_reads(l->expression, s) : !kn_expression_inlined(l->expression)) return l;
    }
    return NULL;
}

/* Lua's compiler hands out registers as a stack, so while a Lua function runs u[k] = v, nothing is in use above the
 * register of v unless v is a variable: what is there are operands of v, which the collector takes for alive. Gives
 * them up where the running C function is an array's __newindex, whose third argument is v. */
static void clear_registers(lua_State *L)
{
    lua_Debug here, caller;
    if (!lua_getstack(L, 0, &here) || !lua_getinfo(L, "n", &here) || strcmp(here.namewhat, "metamethod") != 0) return;
    if (strcmp(here.name, "newindex") != 0 || !lua_getstack(L, 1, &caller)) return;
    if (!lua_getinfo(L, "l", &caller) || caller.currentline < 0) return; /* C, or a function stripped of its names */
    int value = 0;
    const char *name;
    for (int n = 1; (name = lua_getlocal(L, &caller, n)); n++) {
        bool found = lua_rawequal(L, -1, 3);
        lua_pop(L, 1);
        if (found && *name != '(') return; /* a variable */
        if (found) value = n;
    }
    if (!value) return;
    lua_pushnil(L);
    while (lua_setlocal(L, &caller, ++value)) lua_pushnil(L);
    lua_pop(L, 1);
}

/* Evaluating may run Lua's collector, whose finalizers take arrays off the list: so it is searched from its start each
 * time, and what is evaluated is held here. A part of a chain is most often garbage that is not collected yet. */
static void evaluate_list(lua_State *L, const struct rt_storage *s)
{
    struct waiting *w = find_waiting(L);
    bool cleared = false, collected = false;
    for (;;) {
        if (w->first) lg_memory_enter(L);
        const struct lg_array *l = next_wanted(w, s);
        if (!l) return;
        const struct rt_array *form = kn_expression_form(l->expression);
        size_t bytes = (size_t)rt_array_size(form) * rt_dtypes[form->dtype].size;
        if (rt_array_device(form)->recording && bytes < REPEATED) bytes = REPEATED;
        if (is_elsewhere(l)) bytes = SIZE_MAX; /* evaluated, garbage would bring streams together and hide a race */
        if (!collected && kn_expression_inlined(l->expression)) {
            if (!cleared) clear_registers(L);
            cleared = true;
            if ((collected = lg_memory_collect(L, bytes))) continue;
        }
        struct kn_expression *x = kn_expression_retain(l->expression);
        enum rt_status status = evaluate_here(l, x, lg_error_box(L));
        kn_expression_release(x);
        lg_check(L, status);
    }
}

void lg_before_write(lua_State *L, const struct rt_array *a)
{
    evaluate_list(L, a->storage);
}

void lg_evaluate_all(lua_State *L)
{
    evaluate_list(L, NULL);
}

/* ---- gpu.lazy ---- */
static int lazy(lua_State *L)
{
    struct waiting *w = find_waiting(L);
    enum lg_laziness former = w->mode;
    if (!lua_isnoneornil(L, 1)) w->mode = (enum lg_laziness)lg_check_option(L, 1, NULL, MODES);
    if (w->mode == LG_LAZY_NEVER) lg_evaluate_all(L);
    lua_pushstring(L, MODES[former]);
    return 1;
}

static int evaluate(lua_State *L)
{
    int n = lua_gettop(L);
    for (int i = 1; i <= n; i++) lg_check_array(L, i);
    if (n == 0) lg_evaluate_all(L);
    return n;
}

bool lg_worth_waiting(lua_State *L, const struct rt_array *const *arrays, int count)
{
    const struct waiting *w = find_waiting(L);
    if (w->explains || w->mode != LG_LAZY_LARGE) return w->explains || w->mode == LG_LAZY_ALWAYS;
    for (int i = 0; i < count; i++)
        if (rt_array_size(arrays[i]) >= LARGE || kn_runs_generated(rt_array_device(arrays[i]))) return true;
    return false;
}

int lg_computed_below(lua_State *L, const struct rt_device *d)
{
    enum lg_laziness mode = find_waiting(L)->mode;
    return mode == LG_LAZY_LARGE && !kn_runs_generated(d) ? LARGE : 0;
}

const struct lg_function lg_lazy_functions[] = {
    {"lazy", lazy, "gpu.lazy([mode])",
     "Which elementwise operations, and reductions with keepdims, wait until their elements are needed, so that a chain of "
     "them is one pass.\n"
     "\"large\", the default: those on large arrays, and all on a GPU; \"always\"; \"never\": each operation is computed "
     "at once. Sets the mode when one is given and returns the former. Results are the same bits in every mode.",
     "local former = gpu.lazy('never')\nassert(gpu.lazy(former) == 'never')"},
    {"evaluate", evaluate, "gpu.evaluate([array...])",
     "Computes arrays that wait for somebody to look at their elements, and returns them; without arguments, all.\n"
     "Never needed for a right result: printing, indexing, reductions, kernels and copies do it by themselves. "
     "gpu.time, gpu.synchronize, %time and %timeit count what waits as work to be done.",
     "local x = gpu.ones(100000)\nlocal y = gpu.evaluate(2 * x + 1)\nassert(y[1] == 3)"},
    {0}};
