#include "kernels/conv_volumes.h"
#include <string.h>

/* Makes `a` contiguous with these axes; what it was is released. */
static enum rt_status lay_out(struct rt_array *a, int ndim, const int64_t *shape, struct rt_error *e)
{
    struct rt_array whole = {0}, view = {0};
    enum rt_status status = kn_contiguous(a, &whole, e);
    if (status == RT_OK) status = rt_array_reshape(&whole, ndim, shape, &view, e);
    rt_array_release(&whole);
    rt_array_release(a);
    *a = view;
    return status;
}

static struct kn_window planes_of(const struct kn_volume *v)
{
    return (struct kn_window){.size = {v->size[1], v->size[2]},
                              .stride = {v->stride[1], v->stride[2]},
                              .before = {v->before[1], v->before[2]},
                              .dilation = {v->dilation[1], v->dilation[2]},
                              .places = {v->places[1], v->places[2]}};
}

/* `count` planes of zeros, in which those of x begin after `before` of them. */
static enum rt_status pad_depth(const struct rt_array *x, int64_t before, int64_t count, struct rt_array *out,
                                struct rt_error *e)
{
    int64_t shape[5] = {x->shape[0], x->shape[1], count, x->shape[3], x->shape[4]};
    int64_t some = x->shape[2] < count - before ? x->shape[2] : count - before;
    struct rt_array from = {0}, to = {0};
    enum rt_status status = rt_array_new(rt_array_device(x), x->dtype, 5, shape, out, e);
    if (status == RT_OK) status = kn_fill(out, &(struct kn_operand){.i = 0}, e);
    if (status == RT_OK && some > 0) status = rt_array_slice(x, 2, 0, some, 1, &from, e);
    if (status == RT_OK && some > 0) status = rt_array_slice(out, 2, before, some, 1, &to, e);
    if (status == RT_OK && some > 0) status = kn_copy(&to, &from, e);
    rt_array_release(&from);
    rt_array_release(&to);
    return status;
}

/* The planes that each window along the depth sees, as channels: (N * places, C * size, H, W). */
static enum rt_status unfold_depth(const struct rt_array *x, const struct kn_volume *v, struct rt_array *out,
                                   struct rt_error *e)
{
    int64_t count = v->stride[0] * (v->places[0] - 1) + v->dilation[0] * (v->size[0] - 1) + 1;
    struct rt_array padded = {0};
    enum rt_status status = RT_OK;
    if (v->before[0] > 0 || count > x->shape[2]) status = pad_depth(x, v->before[0], count, &padded, e);
    const struct rt_array *from = padded.storage ? &padded : x;
    if (status == RT_OK) {
        const int64_t *s = from->shape, *by = from->strides;
        struct rt_array view = {.storage = from->storage,
                                .dtype = from->dtype,
                                .ndim = 6,
                                .shape = {s[0], v->places[0], s[1], v->size[0], s[3], s[4]},
                                .strides = {by[0], v->stride[0] * by[2], by[1], v->dilation[0] * by[2], by[3], by[4]},
                                .offset = from->offset}; /* borrowed */
        rt_array_share(&view, out);
        status = lay_out(out, 4, (int64_t[]){s[0] * v->places[0], s[1] * v->size[0], s[3], s[4]}, e);
    }
    rt_array_release(&padded);
    return status;
}

/* The axes in another order, contiguous. */
static enum rt_status reorder(struct rt_array *a, int ndim, const int64_t *shape, const int *order, struct rt_error *e)
{
    struct rt_array apart = {0}, turned = {0};
    enum rt_status status = rt_array_reshape(a, ndim, shape, &apart, e);
    if (status == RT_OK) status = rt_array_permute(&apart, order, &turned, e);
    rt_array_release(a);
    if (status == RT_OK) status = kn_contiguous(&turned, a, e);
    rt_array_release(&apart);
    rt_array_release(&turned);
    return status;
}

enum rt_status kn_conv3d(const struct kn_filtered *f, const struct kn_volume *v, struct rt_array *out,
                         struct rt_error *e)
{
    const struct rt_array *x = f->x, *w = f->w;
    const struct kn_window planes = planes_of(v);
    const int64_t filters = w->shape[0];
    struct rt_array flat = {0}, filter = {0};
    const struct kn_filtered images = {f->what, &flat, &filter, f->bias, f->groups};
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(x, e);
    if (status == RT_OK) status = unfold_depth(x, v, &flat, e);
    if (status == RT_OK) rt_array_share(w, &filter);
    if (status == RT_OK)
        status = lay_out(&filter, 4, (int64_t[]){filters, w->shape[1] * w->shape[2], w->shape[3], w->shape[4]}, e);
    if (status == RT_OK) status = kn_conv(&images, &planes, out, e);
    if (status == RT_OK)
        status = reorder(out, 5, (int64_t[]){x->shape[0], v->places[0], filters, planes.places[0], planes.places[1]},
                         (const int[]){0, 2, 1, 3, 4}, e);
    if (status != RT_OK) rt_array_release(out);
    rt_array_release(&flat);
    rt_array_release(&filter);
    return status;
}

/* Within the planes, then along the depth: the greatest of the greatest, the mean of means. */
enum rt_status kn_pool3d(const char *what, enum kn_pooling which, const struct rt_array *x, const struct kn_volume *v,
                         struct rt_array *out, struct rt_error *e)
{
    const struct kn_window planes = planes_of(v);
    const int64_t n = x->shape[0], c = x->shape[1], d = x->shape[2], pixels = planes.places[0] * planes.places[1];
    const struct kn_window depth = {.size = {v->size[0], 1},
                                    .stride = {v->stride[0], 1},
                                    .before = {v->before[0], 0},
                                    .dilation = {v->dilation[0], 1},
                                    .places = {v->places[0], pixels}};
    struct rt_array whole = {0}, flat = {0};
    enum rt_dtype compute;
    memset(out, 0, sizeof *out);
    enum rt_status status = kn_conv_dtype(what, x->dtype, &compute, e);
    if (status == RT_OK) status = kn_conv_operand(x, compute, &whole, e);
    if (status == RT_OK) status = lay_out(&whole, 4, (int64_t[]){n, c * d, x->shape[3], x->shape[4]}, e);
    if (status == RT_OK) status = kn_pool(what, which, &whole, &planes, &flat, e);
    if (status == RT_OK) status = lay_out(&flat, 4, (int64_t[]){n, c, d, pixels}, e);
    if (status == RT_OK) status = kn_pool(what, which, &flat, &depth, out, e);
    if (status == RT_OK)
        status = lay_out(out, 5, (int64_t[]){n, c, v->places[0], planes.places[0], planes.places[1]}, e);
    if (status == RT_OK) status = kn_conv_result(out, x->dtype, e);
    if (status != RT_OK) rt_array_release(out);
    rt_array_release(&whole);
    rt_array_release(&flat);
    return status;
}

/* Which elements of an axis of n come to lie in a buffer of `room`, `stride` apart from `start` on: [first, last). */
static struct kn_span spread(int64_t n, int64_t stride, int64_t start, int64_t room)
{
    const int64_t last = room > start ? (room - 1 - start) / stride + 1 : 0;
    return (struct kn_span){start < 0 ? (-start + stride - 1) / stride : 0, last < n ? last : n};
}

/* x with stride - 1 zeros between its elements and `start` in front, along height and width. */
static enum rt_status spread_out(const struct rt_array *x, const struct kn_window *v, const int64_t *start,
                                 struct rt_array *out, struct rt_error *e)
{
    int64_t shape[4] = {x->shape[0], x->shape[1]};
    struct rt_array from[2] = {{0}}, to[2] = {{0}};
    const struct rt_array *read = x, *write = out;
    bool some = true;
    for (int i = 0; i < 2; i++) shape[2 + i] = v->places[i] + v->dilation[i] * (v->size[i] - 1);
    enum rt_status status = rt_array_new(rt_array_device(x), x->dtype, 4, shape, out, e);
    if (status == RT_OK) status = kn_fill(out, &(struct kn_operand){.i = 0}, e);
    for (int i = 0; i < 2 && status == RT_OK && some; i++) {
        const struct kn_span s = spread(x->shape[2 + i], v->stride[i], start[i], shape[2 + i]);
        const int64_t at = start[i] + s.first * v->stride[i], count = s.last - s.first;
        some = count > 0;
        if (!some) break;
        status = rt_array_slice(read, 2 + i, s.first, count, 1, &from[i], e);
        if (status == RT_OK) status = rt_array_slice(write, 2 + i, at, count, v->stride[i], &to[i], e);
        read = &from[i];
        write = &to[i];
    }
    if (status == RT_OK && some) status = kn_copy(write, read, e);
    for (int i = 0; i < 2; i++) {
        rt_array_release(&from[i]);
        rt_array_release(&to[i]);
    }
    return status;
}

/* w (C, O / groups, KH, KW) as the filters (O, C / groups, KH, KW) of a convolution, turned round. */
static enum rt_status turn_filters(const struct rt_array *w, int64_t groups, struct rt_array *out, struct rt_error *e)
{
    const int64_t c = w->shape[0] / groups, o = w->shape[1], h = w->shape[2], l = w->shape[3], *by = w->strides;
    struct rt_array view = {.storage = w->storage,
                            .dtype = w->dtype,
                            .ndim = 5,
                            .shape = {groups, o, c, h, l},
                            .strides = {c * by[0], by[1], by[0], -by[2], -by[3]},
                            .offset = w->offset + (h - 1) * by[2] + (l - 1) * by[3]}; /* borrowed */
    if (rt_array_size(w) == 0) view.offset = w->offset;
    rt_array_share(&view, out);
    return lay_out(out, 4, (int64_t[]){groups * o, c, h, l}, e);
}

enum rt_status kn_conv_transpose(const struct kn_filtered *f, const struct kn_window *window, struct rt_array *out,
                                 struct rt_error *e)
{
    struct kn_window plain = *window;
    struct rt_array wide = {0}, filter = {0};
    const struct kn_filtered turned = {f->what, &wide, &filter, f->bias, f->groups};
    int64_t start[2];
    for (int i = 0; i < 2; i++) {
        start[i] = window->dilation[i] * (window->size[i] - 1) - window->before[i];
        plain.stride[i] = 1;
        plain.before[i] = 0;
    }
    memset(out, 0, sizeof *out);
    enum rt_status status = rt_array_alive(f->x, e);
    if (status == RT_OK) status = spread_out(f->x, window, start, &wide, e);
    if (status == RT_OK) status = turn_filters(f->w, f->groups, &filter, e);
    if (status == RT_OK) status = kn_conv(&turned, &plain, out, e);
    rt_array_release(&wide);
    rt_array_release(&filter);
    return status;
}
