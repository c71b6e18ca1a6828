/* Indexed access as generated CUDA C: a thread for each place. A bad index leaves the smallest of their places in a
 * flag. Where several places may lead to one element, the check also notes the last of them as the element's owner, and
 * only the owner writes. */
#include <stdio.h>
#include <string.h>
#include "kernels/gather.h"
#include "kernels/generate.h"

/* What the text depends on. */
struct gather_key {
    uint8_t what; /* 'x' */
    uint8_t access, size, ndim, count, owned;
    uint16_t narrow; /* bit k: the indices of pick k are int32 */
};

static const char *element_type(const struct gather_key *k)
{
    switch (k->size) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    case 8: return "unsigned long long";
    default: return "ulonglong2";
    }
}

static void write_struct(const struct gather_key *k, struct kn_text *t)
{
    kn_put(t, "typedef %s E;\nstruct Arguments {\nlong long n;\nE *data; E *dense;\n", element_type(k));
    kn_put(t, "unsigned long long *flag; long long *owner; long long low;\n");
    kn_put(t, "long long shape[%d], data_stride[%d], dense_stride[%d];\n", k->ndim, k->ndim, k->ndim);
    for (int i = 0; i < k->count; i++)
        kn_put(t, "const %s *index%d; long long step%d, length%d, stride%d[%d];\n",
               k->narrow >> i & 1 ? "int" : "long long", i, i, i, i, k->ndim);
    kn_put(t, "};\n");
}

static void write_offset(const struct gather_key *k, struct kn_text *t, const char *name, const char *member)
{
    kn_put(t, "long long %s = ", name);
    for (int d = 0; d < k->ndim; d++) kn_put(t, "%sx%d * p.%s[%d]", d ? " + " : "", d, member, d);
    kn_put(t, ";\n");
}

static void write_place(const struct gather_key *k, struct kn_text *t)
{
    char member[32], name[32];
    kn_put(t, "long long rest = i;\n");
    for (int d = k->ndim - 1; d > 0; d--)
        kn_put(t, "const long long x%d = rest %% p.shape[%d]; rest /= p.shape[%d];\n", d, d, d);
    kn_put(t, "const long long x0 = rest;\nbool bad = false;\n");
    write_offset(k, t, "at", "data_stride");
    for (int j = 0; j < k->count; j++) {
        snprintf(member, sizeof member, "stride%d", j);
        snprintf(name, sizeof name, "at%d", j);
        write_offset(k, t, name, member);
        kn_put(t, "{ const long long v = p.index%d[at%d], from_zero = v > 0 ? v - 1 : v + p.length%d;\n", j, j, j);
        kn_put(t, "if (v == 0 || from_zero < 0 || from_zero >= p.length%d) bad = true;\n", j);
        kn_put(t, "at += from_zero * p.step%d; }\n", j);
    }
    if (k->access == KN_CHECK || k->access == KN_LOCATE) return;
    write_offset(k, t, "from", "dense_stride");
}

static void write_access(const struct gather_key *k, struct kn_text *t)
{
    if (k->access == KN_READ || k->access == KN_CHECK)
        kn_put(t, "if (bad) { atomicMin(p.flag, (unsigned long long)i); continue; }\n");
    switch (k->access) {
    case KN_READ: kn_put(t, "p.dense[from] = p.data[at];\n"); return;
    case KN_CHECK:
        if (k->owned) kn_put(t, "atomicMax(p.owner + (at - p.low), i);\n");
        return;
    case KN_LOCATE: kn_put(t, "p.owner[i] = at - p.low;\n"); return;
    case KN_WRITE:
        if (k->owned) kn_put(t, "if (p.owner[at - p.low] == i)\n");
        kn_put(t, "p.data[at] = p.dense[from];\n");
        return;
    default: kn_put(t, "atomicAdd(p.data + at, p.dense[from]);\n");
    }
}

static void write_gather(const void *context, struct kn_text *t)
{
    const struct gather_key *k = context;
    write_struct(k, t);
    kn_put(t, "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n", KN_THREADS);
    kn_put(t,
           "for (long long i = (long long)blockIdx.x * %d + threadIdx.x; i < p.n; i += (long long)gridDim.x * %d) {\n",
           KN_THREADS, KN_THREADS);
    write_place(k, t);
    write_access(k, t);
    kn_put(t, "}\n}\n");
}

static void put_axes(struct kn_words *w, const struct kn_space *s, const int64_t *values)
{
    for (int d = 0; d < s->ndim; d++) kn_word(w, (uint64_t)values[d]);
}

static enum rt_status launch(const struct kn_trip *t, enum kn_access access, const struct rt_array *flag,
                             const struct rt_array *owner, struct rt_error *e)
{
    const struct kn_space *s = &t->space;
    struct gather_key k;
    struct kn_words w;
    memset(&k, 0, sizeof k);
    k.what = 'x';
    k.access = (uint8_t)access;
    k.size = rt_dtypes[t->x->data->dtype].size;
    k.ndim = (uint8_t)s->ndim;
    k.count = (uint8_t)t->x->count;
    k.owned = owner != NULL;
    w.count = 0;
    kn_word(&w, (uint64_t)s->size);
    kn_word(&w, rt_array_address(t->x->data));
    kn_word(&w, t->dense ? rt_array_address(t->dense) : 0);
    kn_word(&w, flag ? rt_array_address(flag) : 0);
    kn_word(&w, owner ? rt_array_address(owner) : 0);
    kn_word(&w, (uint64_t)t->low);
    put_axes(&w, s, s->shape);
    put_axes(&w, s, s->strides[KN_TRIP_DATA]);
    put_axes(&w, s, s->strides[KN_TRIP_DENSE]);
    for (int i = 0; i < t->x->count; i++) {
        const struct rt_array *index = t->x->picks[i].index;
        if (index->dtype == RT_INT32) k.narrow |= (uint16_t)(1u << i);
        kn_word(&w, rt_array_address(index));
        kn_word(&w, (uint64_t)t->step[i]);
        kn_word(&w, (uint64_t)t->length[i]);
        put_axes(&w, s, s->strides[KN_TRIP_INDEX + i]);
    }
    return kn_launch(rt_array_device(t->x->data),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_gather,
                                         .context = &k,
                                         .words = &w,
                                         .blocks = (s->size + KN_THREADS - 1) / KN_THREADS},
                     e);
}

/* A new int64 array whose elements are all -1. */
static enum rt_status new_marks(struct rt_device *d, int64_t count, struct rt_array *out, struct rt_error *e)
{
    enum rt_status status = rt_array_new(d, RT_INT64, 1, &count, out, e);
    return status == RT_OK ? kn_fill(out, &(struct kn_operand){.i = -1}, e) : status;
}

/* Runs a pass that checks, and reads the flag. */
static enum rt_status checked(const struct kn_trip *t, enum kn_access access, const struct rt_array *owner,
                              int64_t *bad, struct rt_error *e)
{
    struct rt_array flag = {0};
    enum rt_status status = new_marks(rt_array_device(t->x->data), 1, &flag, e);
    if (status == RT_OK) status = launch(t, access, &flag, owner, e);
    if (status == RT_OK) status = rt_array_read(&flag, bad, e);
    rt_array_release(&flag);
    return status;
}

enum rt_status kn_gather_locate_cuda(const struct kn_trip *t, const struct rt_array *elements, struct rt_error *e)
{
    return launch(t, KN_LOCATE, NULL, elements, e);
}

enum rt_status kn_gather_cuda(const struct kn_trip *t, enum kn_access access, int64_t *bad, struct rt_error *e)
{
    struct rt_array owner = {0};
    *bad = -1;
    if (access == KN_READ || access == KN_CHECK) return checked(t, access, NULL, bad, e);
    const struct rt_dtype_info *d = &rt_dtypes[t->x->data->dtype];
    bool atomic =
        t->combine == KN_ADD && (d->kind == 'i' || d->kind == 'u') && d->size >= 4; /* and in any order the same */
    if (access == KN_ACCUMULATE && !atomic) return kn_gather_by_cuda(t, e);
    if (access == KN_ACCUMULATE || t->x->once) return launch(t, access, NULL, NULL, e);
    enum rt_status status = new_marks(rt_array_device(t->x->data), t->span, &owner, e);
    if (status == RT_OK) status = checked(t, KN_CHECK, &owner, bad, e);
    if (status == RT_OK && *bad < 0) status = launch(t, KN_WRITE, NULL, &owner, e);
    rt_array_release(&owner);
    return status;
}
