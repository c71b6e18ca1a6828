/* Combining by index arrays on a GPU where the order decides the result, or no atomic operation does it: places are
 * sorted by the element that they lead to, which keeps their order within one, and a thread for each element takes its
 * values one after the other. */
#include <string.h>
#include "kernels/gather.h"
#include "kernels/generate.h"
#include "kernels/sort.h"

struct by_key {
    uint8_t what; /* 'a' */
    uint8_t dtype, combine;
};

/* Bools have no sums and products of their own. */
static enum kn_op op_of(enum kn_op combine, enum rt_dtype dtype)
{
    if (dtype != RT_BOOL) return combine;
    return combine == KN_ADD || combine == KN_MAXIMUM ? KN_LOGICAL_OR : KN_LOGICAL_AND;
}

static void write_by(const void *context, struct kn_text *t)
{
    const struct by_key *k = context;
    enum rt_dtype dtype = (enum rt_dtype)k->dtype;
    enum kn_class class = kn_class_of(dtype);
    static const char *const args[] = {"all", "value"};
    kn_put(t, "struct Arguments { long long n, low; const long long *element, *place; const %s *values; %s *data; };\n",
           kn_memory_type(dtype), kn_memory_type(dtype));
    kn_put(t, "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n", KN_THREADS);
    kn_put(t,
           "for (long long i = (long long)blockIdx.x * %d + threadIdx.x; i < p.n; i += (long long)gridDim.x * %d) {\n",
           KN_THREADS, KN_THREADS);
    kn_put(t, "const long long own = p.element[i];\nif (i > 0 && p.element[i - 1] == own) continue;\n");
    kn_put(t, "%s all = ", kn_classes[class].cuda);
    kn_put_load(t, dtype, "p.data", "own + p.low");
    kn_put(t, ";\nfor (long long k = i; k < p.n && p.element[k] == own; k++) {\nconst %s value = ",
           kn_classes[class].cuda);
    kn_put_load(t, dtype, "p.values", "p.place[k] - 1");
    kn_put(t, ";\n");
    kn_put_op(t, op_of((enum kn_op)k->combine, dtype), class, dtype, "all", args);
    kn_put(t, "}\n");
    kn_put_store(t, dtype, "p.data", "own + p.low", "all");
    kn_put(t, "}\n}\n");
}

static enum rt_status launch(const struct kn_trip *t, const struct rt_array *element, const struct rt_array *place,
                             const struct rt_array *values, struct rt_error *e)
{
    struct by_key k;
    struct kn_words w = {.count = 0};
    memset(&k, 0, sizeof k);
    k.what = 'a';
    k.dtype = (uint8_t)t->x->data->dtype;
    k.combine = (uint8_t)t->combine;
    kn_word(&w, (uint64_t)t->space.size);
    kn_word(&w, (uint64_t)t->low);
    kn_word(&w, rt_array_address(element));
    kn_word(&w, rt_array_address(place));
    kn_word(&w, rt_array_address(values));
    kn_word(&w, rt_array_address(t->x->data));
    return kn_launch(rt_array_device(t->x->data),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_by,
                                         .context = &k,
                                         .words = &w,
                                         .blocks = (t->space.size + KN_THREADS - 1) / KN_THREADS},
                     e);
}

enum rt_status kn_gather_by_cuda(const struct kn_trip *t, struct rt_error *e)
{
    struct rt_array element = {0}, sorted = {0}, place = {0}, values = {0};
    struct rt_device *d = rt_array_device(t->x->data);
    const int64_t n = t->space.size;
    struct kn_sorter sorter = {.a = &element, .rows = 1, .length = n};
    enum rt_status status = rt_array_new(d, RT_INT64, 1, &n, &element, e);
    if (status == RT_OK) status = rt_array_new(d, RT_INT64, 1, &n, &sorted, e);
    if (status == RT_OK) status = rt_array_new(d, RT_INT64, 1, &n, &place, e);
    if (status == RT_OK) status = kn_contiguous(t->dense, &values, e);
    if (status == RT_OK) status = kn_gather_locate_cuda(t, &element, e);
    if (status == RT_OK) status = kn_sort_cuda(&sorter, &sorted, &place, e);
    if (status == RT_OK) status = launch(t, &sorted, &place, &values, e);
    rt_array_release(&element);
    rt_array_release(&sorted);
    rt_array_release(&place);
    rt_array_release(&values);
    return status;
}
