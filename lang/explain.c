/* gpu.explain: what evaluating an array that waits would do, without doing it. */
#include <stdio.h>
#include <string.h>
#include "kernels/generate.h"
#include "lang/lazy.h"

/* Making texts runs Lua's collector, and a finalizer may evaluate or free what is explained: so this holds the shapes
 * of arrays, and nothing looks at their storages. */
struct explained {
    struct rt_device *device;
    struct rt_array form, leaves[KN_MAX_LEAVES];
    struct rt_array work;       /* the shape that is gone over: that of what is reduced, too */
    int below;                  /* so many elements operations do not wait */
    struct kn_explanation what; /* all zeros when nothing waits */
    const char *source;
};

static void add_bytes(luaL_Buffer *b, int64_t n)
{
    char text[32];
    luaL_addstring(b, rt_size_text((double)n, text));
}

/* dtype and shape, as tostring begins. */
static void add_form(luaL_Buffer *b, const struct rt_array *a)
{
    char shape[256];
    luaL_addstring(b, rt_dtypes[a->dtype].name);
    luaL_addchar(b, ' ');
    luaL_addstring(b, rt_shape_text(a->ndim, a->shape, shape, sizeof shape));
}

static void add_summary(luaL_Buffer *b, const struct explained *x)
{
    char text[160];
    const struct kn_explanation *w = &x->what;
    int64_t moved = w->read + w->written, eager = w->eager_read + w->eager_written;
    add_form(b, &x->form);
    luaL_addstring(b, " on ");
    luaL_addstring(b, x->device->name);
    if (w->operations == 0) {
        luaL_addstring(b, ": nothing waits, its elements are there");
        if (rt_array_size(&x->form) < x->below) {
            lua_pushfstring(b->L,
                            "; arrays of fewer than %d are computed at once, but not in "
                            "gpu.explain(function() return ... end)",
                            x->below);
            luaL_addvalue(b);
        }
        return;
    }
    const char *unit = kn_runs_generated(x->device) ? "kernel" : "pass", *plural = *unit == 'k' ? "s" : "es";
    snprintf(text, sizeof text, ": %d operation%s in ", w->operations, w->operations == 1 ? "" : "s");
    luaL_addstring(b, text);
    snprintf(text, sizeof text, "%d %s%s\nmoves ", w->passes, unit, plural);
    if (w->passes == 1) snprintf(text, sizeof text, "one %s%s\nmoves ", unit, w->rows ? " over rows" : "");
    luaL_addstring(b, text);
    add_bytes(b, moved);
    luaL_addstring(b, ": ");
    add_bytes(b, w->read);
    luaL_addstring(b, " read, ");
    add_bytes(b, w->written);
    luaL_addstring(b, " written; one operation after the other ");
    add_bytes(b, eager);
    snprintf(text, sizeof text, " (%.1f times as much)", moved > 0 ? (double)eager / (double)moved : 1);
    luaL_addstring(b, text);
}

static const char *layout_of(const struct rt_array *a, const struct rt_array *form)
{
    bool spread = a->ndim < form->ndim;
    for (int i = 0; i < a->ndim; i++)
        spread |= a->shape[i] != form->shape[i + form->ndim - a->ndim] || (a->strides[i] == 0 && a->shape[i] > 1);
    return spread ? "broadcast" : rt_array_contiguous(a) ? "contiguous" : "strided";
}

static void add_leaf(luaL_Buffer *b, const struct explained *x, int i)
{
    static const char *const why[] = {
        [KN_CUT_NONE] = "",
        [KN_CUT_AGAIN] =
            ", cut off here: computed on the way before and needed again, so it is evaluated first and kept",
        [KN_CUT_FULL] = ", cut off here: the expression had become too large for one kernel, so it was evaluated",
        [KN_CUT_ROLLED] = ", rolled: read where the array has them"};
    const struct rt_array *a = x->what.program.arrays[i];
    char name[16];
    snprintf(name, sizeof name, "a%d = ", i);
    luaL_addstring(b, name);
    add_form(b, a);
    luaL_addstring(b, ", ");
    luaL_addstring(b, layout_of(a, &x->work));
    luaL_addstring(b, why[x->what.cuts[i]]);
}

static void add_operand(luaL_Buffer *b, const struct kn_program *p, int i)
{
    const struct kn_node *n = &p->nodes[i];
    char text[96];
    if (n->kind == KN_NODE_ARRAY)
        snprintf(text, sizeof text, "a%d", n->leaf);
    else if (n->kind != KN_NODE_NUMBER)
        snprintf(text, sizeof text, "r%d", i);
    else if (n->number.is_complex)
        snprintf(text, sizeof text, "%.14g%+.14gi", n->number.f, n->number.im);
    else if (n->number.is_float)
        snprintf(text, sizeof text, "%.14g", n->number.f);
    else
        snprintf(text, sizeof text, "%lld", (long long)n->number.i);
    luaL_addstring(b, text);
}

static bool is_step(const struct kn_node *n)
{
    return n->kind == KN_NODE_OP || n->kind == KN_NODE_CONVERT || n->kind == KN_NODE_REDUCE;
}

/* "r3 = add(r1, a0)", with the names that the kernel's source has. */
static void add_step(luaL_Buffer *b, const struct kn_program *p, int i)
{
    const struct kn_node *n = &p->nodes[i];
    int arity = n->kind == KN_NODE_OP ? kn_ops[n->op].arity : 1;
    add_operand(b, p, i);
    luaL_addstring(b, " = ");
    luaL_addstring(b, n->kind == KN_NODE_OP       ? kn_ops[n->op].name
                      : n->kind == KN_NODE_REDUCE ? kn_reductions[n->reduction].name
                                                  : rt_dtypes[n->dtype].name);
    for (int k = 0; k < arity; k++) {
        luaL_addstring(b, k ? ", " : "(");
        add_operand(b, p, n->args[k]);
    }
    luaL_addchar(b, ')');
}

/* What is read, and what is made of it, each on a line. */
static void add_steps(luaL_Buffer *b, const struct explained *x)
{
    const struct kn_program *p = &x->what.program;
    for (int i = 0; i < p->leaves; i++) {
        luaL_addstring(b, "\n  ");
        add_leaf(b, x, i);
    }
    for (int i = 0; i < p->count; i++) {
        if (!is_step(&p->nodes[i])) continue;
        luaL_addstring(b, "\n  ");
        add_step(b, p, i);
    }
}

static void push_text(lua_State *L, const struct explained *x)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    add_summary(&b, x);
    add_steps(&b, x);
    if (x->source) {
        luaL_addstring(&b, "\n\n");
        luaL_addstring(&b, x->source);
    }
    luaL_pushresult(&b);
}

/* Nothing but the source has letters that HTML minds. */
static void push_html(lua_State *L, const struct explained *x)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "<pre style=\"color:inherit;background:none;margin:0;padding:0\">");
    add_summary(&b, x);
    add_steps(&b, x);
    luaL_addstring(&b, "</pre>");
    if (x->source) {
        luaL_addstring(&b, "<details><summary>the kernel in CUDA C</summary>"
                           "<pre style=\"color:inherit;background:none;margin:0;padding:0\">");
        lg_add_html(&b, x->source, strlen(x->source));
        luaL_addstring(&b, "</pre></details>");
    }
    luaL_pushresult(&b);
}

/* Pushes a generated text, indented by its braces. */
static int copy_text(lua_State *L)
{
    const struct kn_text *t = lua_touserdata(L, 1);
    int depth = 0;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (const char *line = t->data, *end = t->data + t->length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline + 1 : end) - line);
        for (int i = *line == '}'; i < depth && *line != '#'; i++) luaL_addstring(&b, "  ");
        luaL_addlstring(&b, line, length);
        for (; length > 0; length--, line++) depth += (*line == '{') - (*line == '}');
    }
    luaL_pushresult(&b);
    return 1;
}

/* The text is freed whether or not Lua has room for it. */
static const char *push_source(lua_State *L, struct kn_expression *x, const struct kn_explanation *what)
{
    struct kn_text t = {0};
    lua_pushcfunction(L, copy_text);
    enum rt_status status = kn_expression_source(x, what, &t, lg_error_box(L));
    if (status != RT_OK) {
        kn_text_free(&t);
        lg_check(L, status);
    }
    lua_pushlightuserdata(L, &t);
    int failed = lua_pcall(L, 1, 1, 0);
    kn_text_free(&t);
    if (failed) lua_error(L);
    return lua_tostring(L, -1);
}

static void set_fields(lua_State *L, const struct explained *x)
{
    const struct kn_explanation *w = &x->what;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"operations", w->operations}, {"passes", w->passes},
                   {"arrays", w->program.leaves}, {"read", w->read},
                   {"written", w->written},       {"eager", w->eager_read + w->eager_written}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        lg_set_integer(L, numbers[i].name, numbers[i].value);
    }
    lg_set_string(L, "source", x->source);
}

/* Puts what the function at 1 returns in its place. Nothing is left to wait for a Lua value that is reduced in it. */
static void call_function(lua_State *L)
{
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    lg_set_explains(L, true);
    int failed = lua_pcall(L, 0, 1, 0);
    lg_set_explains(L, false);
    if (failed) lua_error(L);
    if (!lg_test_array(L, -1))
        luaL_error(L,
                   "the function returned %s, expected an array or what sum, prod, min, max, mean, any, all, var, std, "
                   "norm, logsumexp or count_nonzero make of one: other results are computed at once",
                   lg_type_name(L, -1));
    lua_replace(L, 1);
}

static int explain(lua_State *L)
{
    if (lua_isfunction(L, 1)) call_function(L);
    luaL_argcheck(L, lua_type(L, 1) != LUA_TNUMBER, 1,
                  "expected an array, got a number, which is computed already; for sums and the like "
                  "gpu.explain(function() return x:sum() end)");
    struct explained *x = lua_newuserdatauv(L, sizeof *x, 0);
    const struct lg_array *l = (const struct lg_array *)lg_check_form(L, 1);
    memset(x, 0, sizeof *x);
    lua_newtable(L);
    lg_check_frame(L);
    x->form = l->array;
    x->device = rt_array_device(&l->array);
    x->below = lg_computed_below(L, x->device);
    if (l->expression && !kn_expression_value(l->expression)) {
        lg_check(L, kn_expression_explain(l->expression, &x->what, lg_error_box(L)));
        x->source = push_source(L, l->expression, &x->what);
        lua_insert(L, -2);
        lg_check(L, kn_program_shape(&x->what.program, &x->work.ndim, x->work.shape, lg_error_box(L)));
        for (int i = 0; i < x->what.program.leaves; i++) {
            x->leaves[i] = *x->what.program.arrays[i];
            x->what.program.arrays[i] = &x->leaves[i];
        }
    }
    set_fields(L, x);
    push_text(L, x);
    push_html(L, x);
    lg_set_forms(L);
    return 1;
}

const struct lg_function lg_explain_functions[] = {
    {"explain", explain, "gpu.explain(x)   x:explain()   gpu.explain(f)",
     "What evaluating an array that waits would do: which operations are one pass, what they read and write.\n"
     "Of a function it is what the function returns. In it reductions wait, too, those to one number among them, and "
     "keep the axes that they reduce, with size 1: gpu.explain(function() return x:sum() end).\n"
     "It prints as the arrays that are read (a0, a1, ...) with their layouts, the steps, the bytes that are moved and those "
     "that one operation after the other would have moved, where the expression was cut off from others and why, and the "
     "kernel in CUDA C that a GPU runs, without the functions that all kernels have; a host computes the same steps block "
     "by block, arithmetic and comparisons with AVX2 in machine code that keeps what lies between in registers. Numbers are arguments of a kernel, and so are sizes and strides: it is compiled once for all shapes. On a "
     "GPU that happens in the background: until the kernel is ready, each step is a kernel of its own that serves all "
     "layouts, to the same bits (LUNARRAY_COMPILE=wait in the environment waits instead, hurry waits for code that is compiled sooner and is slower). Those kernels are made once, in "
     "the background of the first session that uses a GPU, or by `lunarray prepare`; where they are not there yet, one "
     "that is compiled in a hurry serves.\n"
     "Reductions with keepdims wait, too: a host takes some rows at a time through all of a softmax or a standardisation, "
     "a GPU has one kernel for all of it where a row fits a block.\n"
     "Fields: operations, passes, arrays, read, written and eager (bytes), source. Nothing is evaluated. An array whose "
     "elements are there has no operations.",
     "local x = gpu.ones(100000)\nassert(gpu.explain(function() return (x * x):sum() end).operations == 2)\n"
     "local e = gpu.explain((2 * x + 1):sqrt())\nprint(e)\n"
     "assert(e.operations == 3 and e.read + e.written == 2 * x.bytes and e.eager == 6 * x.bytes)"},
    {0}};
