/* Convolutions: dtypes here; conv_host.c and conv_cuda.c compute. */
#include "kernels/conv.h"
#include <string.h>
#include "kernels/program.h"

enum rt_status kn_conv_dtype(const char *what, enum rt_dtype t, enum rt_dtype *compute, struct rt_error *e)
{
    if (rt_dtypes[t].kind != 'f')
        return rt_fail(e, RT_INVALID, "%s takes floats, not %s; %s", what, rt_dtypes[t].name,
                       rt_is_complex(t) ? "x.real and x.imag are its parts" : "convert with :to(\"float32\")");
    *compute = t == RT_FLOAT64 ? RT_FLOAT64 : RT_FLOAT32;
    return RT_OK;
}

enum rt_status kn_conv_operand(const struct rt_array *a, enum rt_dtype t, struct rt_array *out, struct rt_error *e)
{
    return a->dtype == t ? kn_contiguous(a, out, e) : kn_convert(a, t, rt_array_device(a), out, e);
}

enum rt_status kn_conv_result(struct rt_array *out, enum rt_dtype wanted, struct rt_error *e)
{
    struct rt_array same = {0};
    if (out->dtype == wanted) return RT_OK;
    enum rt_status status = kn_convert(out, wanted, rt_array_device(out), &same, e);
    rt_array_release(out);
    *out = same;
    return status;
}

static enum rt_status compute(struct kn_conv *c, const struct rt_array *x, const struct rt_array *w,
                              const struct rt_array *bias, const struct rt_array *out, struct rt_error *e)
{
    if (rt_array_size(out) == 0) return RT_OK;
    if (kn_runs_generated(rt_array_device(out))) return kn_conv_cuda(c, x, w, bias, out, e);
    c->x = rt_array_host(x);
    c->w = rt_array_host(w);
    c->bias = bias ? rt_array_host(bias) : NULL;
    c->out = rt_array_host(out);
    return kn_conv_host(c, e);
}

enum rt_status kn_conv(const struct kn_filtered *f, const struct kn_window *window, struct rt_array *out,
                       struct rt_error *e)
{
    const struct rt_array *x = f->x, *w = f->w;
    struct kn_operand operands[2] = {{.array = x}, {.array = w}};
    const struct rt_array *const arrays[3] = {x, w, f->bias};
    struct rt_array held[3] = {{0}};
    enum rt_dtype dtype = RT_FLOAT32;
    struct kn_conv c = {.batch = x->shape[0],
                        .channels = x->shape[1] / f->groups,
                        .filters = w->shape[0] / f->groups,
                        .groups = f->groups,
                        .in = {x->shape[2], x->shape[3]},
                        .window = *window,
                        .depth = w->shape[1] * w->shape[2] * w->shape[3],
                        .pixels = window->places[0] * window->places[1]};
    int64_t shape[4] = {c.batch, w->shape[0], window->places[0], window->places[1]};
    int count = f->bias ? 3 : 2;
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices(arrays, count, e);
    for (int i = 0; i < count && status == RT_OK; i++) status = kn_conv_dtype(f->what, arrays[i]->dtype, &c.dtype, e);
    if (status == RT_OK) status = kn_result_dtype(KN_MUL, operands, &dtype, e);
    if (status == RT_OK) status = kn_conv_dtype(f->what, dtype, &c.dtype, e);
    for (int i = 0; i < count && status == RT_OK; i++) status = kn_conv_operand(arrays[i], c.dtype, &held[i], e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(x), c.dtype, 4, shape, out, e);
    if (status == RT_OK) status = compute(&c, &held[0], &held[1], f->bias ? &held[2] : NULL, out, e);
    if (status == RT_OK) status = kn_conv_result(out, dtype, e);
    if (status != RT_OK) rt_array_release(out);
    for (int i = 0; i < 3; i++) rt_array_release(&held[i]);
    return status;
}

bool kn_correlates_whole(const struct rt_array *x)
{
    return strchr("iu", rt_dtypes[x->dtype].kind) && !kn_runs_generated(rt_array_device(x));
}

enum rt_status kn_correlate_whole(const struct rt_array *x, const struct rt_array *w, int64_t before, int64_t places,
                                  struct rt_array *out, struct rt_error *e)
{
    struct rt_array held[2] = {{0}};
    struct kn_conv c = {.dtype = rt_dtypes[x->dtype].size < 4 ? RT_INT32 : x->dtype,
                        .batch = 1,
                        .channels = 1,
                        .filters = 1,
                        .groups = 1,
                        .in = {1, x->shape[0]},
                        .window = {{1, w->shape[0]}, {1, 1}, {0, before}, {1, 1}, {1, places}},
                        .depth = w->shape[0],
                        .pixels = places};
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_check_devices((const struct rt_array *const[]){x, w}, 2, e);
    if (status == RT_OK) status = kn_conv_operand(x, c.dtype, &held[0], e);
    if (status == RT_OK) status = kn_conv_operand(w, c.dtype, &held[1], e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(x), c.dtype, 1, &places, out, e);
    if (status == RT_OK) status = compute(&c, &held[0], &held[1], NULL, out, e);
    if (status == RT_OK) status = kn_conv_result(out, x->dtype, e);
    if (status != RT_OK) rt_array_release(out);
    for (int i = 0; i < 2; i++) rt_array_release(&held[i]);
    return status;
}
