/* Convolution and correlation of two arrays of as many axes: sums of products, or by Fourier transforms where that
 * takes far less. */
#include "lang/convolve.h"
#include <math.h>
#include "kernels/conv.h"
#include "kernels/fft.h"
#include "kernels/program.h"
#include "lang/closest.h"

enum mode { FULL, SAME, VALID };
enum method { AUTO, DIRECT, FFT };

/* What is wanted of the sums at all places: along each axis so many from `start` on. */
struct extent {
    int64_t start[RT_MAX_DIMS], count[RT_MAX_DIMS];
};

struct call {
    const char *what;
    bool turned; /* convolve */
    enum mode mode;
    enum method method;
};

/* ---- vectors, product by product ---- */

/* Sums of complex numbers, and of integers in generated code: products of the windows as a matrix that overlaps itself.
 * `before` and `places` as in kn_window. */
static void push_matrix_sums(lua_State *L, const struct rt_array *x, const struct rt_array *w, int64_t before,
                             int64_t places)
{
    struct rt_error *e = lg_error_box(L);
    int64_t n = places + w->shape[0] - 1;
    struct rt_array *padded = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(x), x->dtype, 1, &n, padded, e));
    lg_check(L, kn_fill(padded, &(struct kn_operand){.i = 0}, e));
    struct rt_array part = *padded, windows = *padded; /* borrowed */
    part.offset += before;
    part.shape[0] = x->shape[0];
    lg_check(L, kn_copy(&part, x, e));
    windows.ndim = 2;
    windows.shape[0] = places;
    windows.shape[1] = w->shape[0];
    windows.strides[1] = 1;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_matmul(&windows, w, out, e));
}

/* A vector as an image of one channel and one row; borrowed. */
static struct rt_array as_image(const struct rt_array *a)
{
    struct rt_array out = *a;
    out.ndim = 4;
    for (int i = 0; i < 4; i++) {
        out.shape[i] = i < 3 ? 1 : a->shape[0];
        out.strides[i] = i < 3 ? a->shape[0] * a->strides[0] : a->strides[0];
    }
    return out;
}

static void push_sums(lua_State *L, const char *what, const struct rt_array *x, const struct rt_array *w,
                      int64_t before, int64_t places)
{
    struct rt_error *e = lg_error_box(L);
    struct kn_operand both[2] = {{.array = x}, {.array = w}};
    struct rt_array *held[2];
    enum rt_dtype dtype;
    lg_check(L, kn_result_dtype(KN_MUL, both, &dtype, e));
    for (int i = 0; i < 2; i++) {
        held[i] = lg_new_array(L);
        lg_check(L, kn_conv_operand(both[i].array, dtype, held[i], e));
    }
    if (kn_correlates_whole(held[0])) {
        lg_check(L, kn_correlate_whole(held[0], held[1], before, places, lg_new_array(L), e));
        return;
    }
    if (rt_dtypes[dtype].kind != 'f') {
        push_matrix_sums(L, held[0], held[1], before, places);
        return;
    }
    struct kn_window v = {{1, w->shape[0]}, {1, 1}, {0, before}, {1, 1}, {1, places}};
    struct rt_array line = as_image(held[0]), filter = as_image(held[1]), *out = lg_new_array(L); /* borrowed */
    lg_check(L, kn_conv(&(struct kn_filtered){what, &line, &filter, NULL, 1}, &v, out, e));
    out->ndim = 1;
    out->shape[0] = out->shape[3];
    out->strides[0] = 1;
}

/* ---- arrays, product by product ---- */

int lg_push_window_sums(lua_State *L, int x, int w)
{
    const struct rt_array *a = lg_form(L, x), *b = lg_form(L, w);
    int64_t count = rt_array_size(b), place[RT_MAX_DIMS] = {0};
    int base = lua_gettop(L), sum = 0;
    if (a->ndim == 2 && a->dtype == b->dtype && rt_dtypes[a->dtype].kind == 'f') {
        int image = lg_step(L, "unsqueeze", "vi", x, (int64_t)1);
        int filter = lg_step(L, "unsqueeze", "vi", lg_step(L, "unsqueeze", "vi", w, (int64_t)1), (int64_t)1);
        lg_step(L, "squeeze", "vi", lg_step(L, "conv2d", "vv", image, filter), (int64_t)1);
        lua_replace(L, base + 1);
        lua_settop(L, base + 1);
        return base + 1;
    }
    int list = lg_step(L, "totable", "v", lg_step(L, "flatten", "v", w));
    for (int64_t i = 1; i <= count; i++) {
        int top = lua_gettop(L), part = x;
        for (int k = 0; k < a->ndim; k++)
            part = lg_step(L, "narrow", "viii", part, (int64_t)k + 1, place[k] + 1, a->shape[k] - b->shape[k] + 1);
        lua_rawgeti(L, list, i);
        int term = lg_step(L, "mul", "vv", part, lua_gettop(L));
        if (sum) term = lg_step(L, "add", "vv", sum, term);
        lua_copy(L, term, sum ? sum : top + 1);
        if (!sum) sum = top + 1;
        lua_settop(L, sum);
        for (int k = a->ndim - 1; k >= 0 && ++place[k] == b->shape[k]; k--) place[k] = 0;
    }
    lua_replace(L, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

/* Of the arrays at x and w, where w is turned round already. */
static int push_direct(lua_State *L, int x, int w, const struct extent *out)
{
    const struct rt_array *a = lg_form(L, x), *b = lg_form(L, w);
    lua_createtable(L, a->ndim, 0);
    int widths = lua_gettop(L);
    for (int i = 0; i < a->ndim; i++) {
        lg_push_shape(L, 2, (int64_t[]){b->shape[i] - 1, b->shape[i] - 1});
        lua_rawseti(L, widths, i + 1);
    }
    int padded = lg_step(L, "pad", "vv", x, widths);
    for (int i = 0; i < a->ndim; i++)
        padded =
            lg_step(L, "narrow", "viii", padded, (int64_t)i + 1, out->start[i] + 1, out->count[i] + b->shape[i] - 1);
    return lg_push_window_sums(L, padded, w);
}

/* ---- by Fourier transforms ---- */

/* A length that has a quick transform, n or a little more. */
static int64_t quick_length(int64_t n)
{
    while (!kn_fft_smooth(n)) n++;
    return n;
}

/* Of the arrays at x and w, which is not turned. */
static int push_by_fft(lua_State *L, int x, int w, const struct extent *out)
{
    const struct rt_array *a = lg_form(L, x), *b = lg_form(L, w);
    bool real = !rt_is_complex(a->dtype) && !rt_is_complex(b->dtype);
    int64_t lengths[RT_MAX_DIMS] = {0};
    for (int i = 0; i < a->ndim; i++) lengths[i] = quick_length(a->shape[i] + b->shape[i] - 1);
    lg_push_shape(L, a->ndim, lengths);
    int s = lua_gettop(L);
    const char *there = real ? "gpu.fft.rfftn" : "gpu.fft.fftn", *back = real ? "gpu.fft.irfftn" : "gpu.fft.ifftn";
    int product = lg_step(L, "mul", "vv", lg_step(L, there, "vv", x, s), lg_step(L, there, "vv", w, s));
    int at = lg_step(L, back, "vv", product, s);
    for (int i = 0; i < a->ndim; i++)
        at = lg_step(L, "narrow", "viii", at, (int64_t)i + 1, out->start[i] + 1, out->count[i]);
    return lg_step(L, "contiguous", "v", at);
}

/* Whether the sums take far more operations than the transforms. */
static bool is_long(const struct rt_array *x, const struct rt_array *w, const struct extent *out)
{
    double sums = 1, all = 1, a = (double)rt_array_size(x), b = (double)rt_array_size(w);
    for (int i = 0; i < x->ndim; i++) {
        sums *= (double)out->count[i];
        all *= (double)quick_length(x->shape[i] + w->shape[i] - 1);
    }
    return sums * fmin(a, b) > 250 * all * log2(all + 1) + 1e6;
}

/* ---- both ---- */

/* NumPy's middle of vectors, which exchanges them where the second is the longer, and SciPy's of the others, as large
 * as the first. */
static void place(lua_State *L, const struct call *c, const struct rt_array *x, const struct rt_array *w,
                  struct extent *out)
{
    bool shorter = false, longer = false;
    for (int i = 0; i < x->ndim; i++) {
        int64_t n = x->shape[i], m = w->shape[i], low = n < m ? n : m, high = n < m ? m : n;
        shorter = shorter || n < m;
        longer = longer || n > m;
        out->start[i] = 0;
        out->count[i] = n + m - 1;
        if (c->mode == VALID) {
            out->start[i] = low - 1;
            out->count[i] = high - low + 1;
        } else if (c->mode == SAME && x->ndim > 1) {
            out->start[i] = (m - 1) / 2;
            out->count[i] = n;
        } else if (c->mode == SAME) {
            out->start[i] = c->turned || n >= m ? low - 1 - low / 2 : low / 2;
            out->count[i] = high;
        }
    }
    char left[256], right[256];
    if (c->mode == VALID && shorter && longer)
        luaL_error(L,
                   "%s: of the shapes %s and %s neither fits into the other whole; mode \"valid\" needs one that does",
                   c->what, rt_shape_text(x->ndim, x->shape, left, sizeof left),
                   rt_shape_text(w->ndim, w->shape, right, sizeof right));
}

static void check_arrays(lua_State *L, const struct call *c)
{
    const struct rt_array *x = lg_check_array(L, 1), *y = lg_check_array(L, 2);
    char text[256];
    for (int i = 1; i <= 2; i++) {
        const struct rt_array *a = i == 1 ? x : y;
        if (a->ndim == 0 || rt_array_size(a) == 0 || (i == 2 && a->ndim != x->ndim))
            luaL_error(L, "%s: argument %d has the shape %s, expected %d %s with elements", c->what, i,
                       rt_shape_text(a->ndim, a->shape, text, sizeof text), i == 2 && x->ndim ? x->ndim : 1,
                       i == 2 && x->ndim > 1 ? "axes, as argument 1 has,"
                       : i == 1              ? "axis or more"
                                             : "axis");
    }
    lg_check(L, kn_check_devices((const struct rt_array *const[]){x, y}, 2, lg_error_box(L)));
}

/* Pushes the array at w turned round along all axes. */
static int push_reversed(lua_State *L, int w)
{
    return lg_step(L, "flip", "v", w);
}

/* The dtype of the products, in which x and w are then. */
static enum rt_dtype widen(lua_State *L, const struct call *c)
{
    struct kn_operand both[2] = {{.array = lg_form(L, 1)}, {.array = lg_form(L, 2)}};
    enum rt_dtype t;
    lg_check(L, kn_result_dtype(KN_MUL, both, &t, lg_error_box(L)));
    if (c->method == FFT && rt_dtypes[t].kind != 'f' && !rt_is_complex(t))
        luaL_error(L, "%s: Fourier transforms need floats, and these are %s; convert with :to(\"float64\")", c->what,
                   rt_dtypes[t].name);
    return t;
}

static int of_two(lua_State *L, const char *what, bool turned, enum mode fallback)
{
    static const char *const modes[] = {"full", "same", "valid", NULL}, *const methods[] = {"auto", "direct", "fft",
                                                                                            NULL};
    struct call c = {what, turned, FULL, AUTO};
    struct extent out = {{0}, {0}};
    check_arrays(L, &c);
    c.mode = (enum mode)lg_check_option(L, 3, modes[fallback], modes);
    c.method = (enum method)lg_check_option(L, 4, "auto", methods);
    lua_settop(L, 2);
    const struct rt_array *x = lg_form(L, 1), *y = lg_form(L, 2);
    place(L, &c, x, y, &out);
    enum rt_dtype t = widen(L, &c);
    bool floating = rt_dtypes[t].kind == 'f' || rt_is_complex(t);
    bool fft = c.method == FFT || (c.method == AUTO && floating && is_long(x, y, &out));
    int w = !turned && rt_is_complex(y->dtype) ? lg_step(L, "conj", "v", 2) : 2;
    if (fft || x->ndim > 1) {
        for (int i = 1; i <= 2; i++) {
            int at = i == 1 ? 1 : w;
            if (lg_form(L, at)->dtype == t) continue;
            lg_step(L, "to", "vs", at, rt_dtypes[t].name);
            lua_replace(L, at);
        }
        if (fft != turned) w = push_reversed(L, w);
        int at = fft ? push_by_fft(L, 1, w, &out) : push_direct(L, 1, w, &out);
        if (lg_form(L, at)->dtype != t) lg_step(L, "to", "vs", at, rt_dtypes[t].name);
        return 1;
    }
    struct rt_array filter = *lg_check_array(L, w); /* borrowed */
    if (turned) {
        filter.offset += (filter.shape[0] - 1) * filter.strides[0];
        filter.strides[0] = -filter.strides[0];
    }
    push_sums(L, what, x, &filter, filter.shape[0] - 1 - out.start[0], out.count[0]);
    return 1;
}

static int convolve(lua_State *L)
{
    return of_two(L, "convolve", true, FULL);
}
static int correlate(lua_State *L)
{
    return of_two(L, "correlate", false, lg_check_form(L, 1)->ndim > 1 ? FULL : VALID);
}

const struct lg_function lg_convolve_functions[] = {
    {"convolve", convolve, "x:convolve(y [, mode [, method]])   gpu.convolve(x, y [, mode [, method]])",
     "The convolution of two arrays of as many axes; of two vectors the coefficients of the product of two polynomials.\n"
     "mode \"full\", unless told otherwise, gives all sums, #x + #y - 1 along an axis; \"same\" so many from their middle as "
     "x has or, of two vectors, the longer; \"valid\" those where both overlap whole. The method is \"direct\", which adds "
     "products, \"fft\", or \"auto\": Fourier transforms where floats make far too many products. By them a NaN is "
     "everywhere, and all sums are as exact as the largest.",
     "assert(gpu.array({1, 2, 3}):convolve(gpu.array({0, 1, 0.5})):equal(gpu.array({0, 1, 2.5, 4, 1.5})))\n"
     "assert(gpu.convolve(gpu.ones(3, 3), gpu.ones(2, 2), 'same')[{2, 2}] == 4)"},
    {"correlate", correlate, "x:correlate(y [, mode [, method]])   gpu.correlate(x, y [, mode [, method]])",
     "Sums of products of x with y moved along it: convolve without turning y round.\n"
     "Modes and methods are those of convolve; of vectors \"valid\" unless told otherwise, as in NumPy, of others \"full\", "
     "as in SciPy. Of a complex y it takes the conjugate.",
     "assert(gpu.array({1, 2, 3}):correlate(gpu.array({0, 1, 0.5}))[1] == 3.5)"},
    {0}};
