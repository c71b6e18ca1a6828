/* Reductions as generated CUDA C: a block reduces one chunk of one row in shared memory, and a second launch of the
 * same text reduces the chunks' partial results; or, where rows are short or far apart, a thread reduces one row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/generate.h"
#include "kernels/reduce.h"

#define CHUNK   16384  /* elements of a row that one block reduces: 64 for each thread */
#define GROUP   32     /* elements that a thread combines one after the other before those of the next group */
#define THREADS 131072 /* that a device has work for: where there are fewer rows, each is cut for several of them */
#define LEAST   128    /* elements of such a part */
#define AHEAD   4      /* elements that a thread has on their way at once; of stored ones twice as many */

/* What the text depends on, and nothing else; its bytes are the key. */
struct reduce_key {
    uint8_t what; /* 'r' */
    uint8_t per_thread, combine, indices, accumulate, out, row_ndim, rows_ndim;
    uint8_t with_places; /* the places of partial results are an array of their own */
    uint8_t count, leaves;
    struct kn_node_key nodes[KN_MAX_NODES];
};

struct generated {
    const struct kn_program *program;
    struct reduce_key key;
};

/* Declares where each leaf has element `number` of an iteration space, as <name>0, <name>1, ... beyond <from>0, ... */
static void write_offsets(const struct generated *g, struct kn_text *t, const char *name, const char *from,
                          const char *number, const char *space, int ndim)
{
    int leaves = g->program->leaves;
    if (ndim > 1) kn_put(t, "long long rest_%s = %s;\n", name, number);
    for (int d = ndim - 1; d > 0; d--)
        kn_put(t, "const long long %s_x%d = rest_%s %% p.%s_shape[%d]; rest_%s /= p.%s_shape[%d];\n", name, d, name,
               space, d, name, space, d);
    for (int k = 0; k < leaves; k++) {
        kn_put(t, "const long long %s%d = ", name, k);
        if (from) kn_put(t, "%s%d + ", from, k);
        if (ndim > 1)
            kn_put(t, "rest_%s * p.%s_stride%d[0]", name, space, k);
        else
            kn_put(t, "%s * p.%s_stride%d[0]", number, space, k);
        for (int d = 1; d < ndim; d++) kn_put(t, " + %s_x%d * p.%s_stride%d[%d]", name, d, space, k, d);
        kn_put(t, ";\n");
    }
}

/* `value` combined with `next`; with indices the better one and its place, the first of equals. */
static void write_combine(const struct reduce_key *k, struct kn_text *t, const char *value, const char *place,
                          const char *next, const char *next_place)
{
    const char *args[3] = {value, next, next};
    const char *order = k->combine == KN_MINIMUM ? "<" : ">";
    if (!k->indices) {
        kn_put_op(t, (enum kn_op)k->combine, kn_class_of((enum rt_dtype)k->accumulate), (enum rt_dtype)k->accumulate,
                  value, args);
        return;
    }
    kn_put(t, "if (%s < 0 || (%s >= 0 && (%s %s %s || (%s != %s && %s == %s) ||\n", place, next_place, next, order,
           value, next, next, value, value);
    kn_put(t, "((%s == %s || (%s != %s && %s != %s)) && %s < %s)))) { %s = %s; %s = %s; }\n", next, value, next, next,
           value, value, next_place, place, value, next, place, next_place);
}

static void write_element(const struct generated *g, struct kn_text *t)
{
    const struct kn_program *p = g->program;
    char pointer[16], index[16];
    write_offsets(g, t, "at", "first_at", "e", "row", g->key.row_ndim);
    for (int i = 0; i < p->count; i++) {
        snprintf(pointer, sizeof pointer, "p.a%d", p->nodes[i].leaf);
        snprintf(index, sizeof index, "at%d", p->nodes[i].leaf);
        kn_put_node(t, p, i, pointer, index);
    }
    kn_put(t, "const V next = r%d;\n", p->count - 1);
    if (g->key.indices) kn_put(t, "const long long next_place = %s;\n", g->key.with_places ? "p.places[at0]" : "e");
}

/* Combines elements first, first + step, ... below last into value and place. Some are loaded before the first of them
 * is combined, so that memory is kept busy; the order stays. */
static void write_loop(const struct generated *g, struct kn_text *t, const char *first, const char *step)
{
    const struct reduce_key *k = &g->key;
    int ahead = g->program->count > 2 ? AHEAD : 2 * AHEAD;
    kn_put(t, "#pragma unroll 1\nfor (long long begin = %s; begin < last; begin += %s * %d) {\nV ahead[%d];\n", first,
           step, ahead, ahead);
    if (k->indices) kn_put(t, "long long place_ahead[%d];\n", ahead);
    kn_put(t, "#pragma unroll\nfor (int k = 0; k < %d; k++) {\nconst long long e = begin + k * %s;\nif (e < last) {\n",
           ahead, step);
    write_element(g, t);
    kn_put(t, "ahead[k] = next;%s\n}\n}\n", k->indices ? " place_ahead[k] = next_place;" : "");
    kn_put(t, "#pragma unroll\nfor (int k = 0; k < %d; k++) {\nif (begin + k * %s >= last) break;\n", ahead, step);
    kn_put(t, "const V next = ahead[k];%s\n", k->indices ? " const long long next_place = place_ahead[k];" : "");
    kn_put(t, "if (!filled) { value = next; filled = true; %s}\nelse {\n", k->indices ? "place = next_place; " : "");
    write_combine(k, t, "value", "place", "next", "next_place");
    kn_put(t, "}\n}\n}\n");
}

static void write_result(const struct reduce_key *k, struct kn_text *t)
{
    enum rt_dtype out = (enum rt_dtype)k->out;
    if (k->indices) {
        kn_put(t, "if (p.partial) { p.partial[item] = value; p.places_out[item] = place; }\n");
        kn_put(t, "else p.out[item] = place + 1;\n");
        return;
    }
    kn_put(t, "if (p.partial) p.partial[item] = value;\nelse { const %s result = ", kn_classes[kn_class_of(out)].cuda);
    kn_put_convert(t, kn_class_of((enum rt_dtype)k->accumulate), out, "value");
    kn_put(t, ";\n");
    kn_put_store(t, out, "p.out", "item", "result");
    kn_put(t, "}\n");
}

static void write_per_block(const struct generated *g, struct kn_text *t)
{
    const struct reduce_key *k = &g->key;
    kn_put(t, "__shared__ V values[%d]; __shared__ int holds[%d];\n", KN_THREADS, KN_THREADS);
    if (k->indices) kn_put(t, "__shared__ long long places[%d];\n", KN_THREADS);
    kn_put(t, "const int lane = threadIdx.x;\n");
    kn_put(t, "for (long long item = blockIdx.x; item < p.rows * p.chunks; item += gridDim.x) {\n");
    kn_put(t, "const long long row = item / p.chunks, start = item %% p.chunks * %d;\n", CHUNK);
    kn_put(t, "const long long last = start + %d < p.length ? start + %d : p.length;\n", CHUNK, CHUNK);
    write_offsets(g, t, "first_at", NULL, "row", "rows", k->rows_ndim);
    kn_put(t, "V value = 0; long long place = -1; bool filled = false;\n");
    write_loop(g, t, "start + lane", "256");
    kn_put(t, "values[lane] = value; holds[lane] = filled;\n");
    if (k->indices) kn_put(t, "places[lane] = place;\n");
    kn_put(t, "__syncthreads();\nfor (int half = %d; half > 0; half /= 2) {\n", KN_THREADS / 2);
    kn_put(t,
           "if (lane < half && holds[lane + half]) {\nV value = values[lane]; const V next = values[lane + half];\n");
    if (k->indices) kn_put(t, "long long place = places[lane]; const long long next_place = places[lane + half];\n");
    write_combine(k, t, "value", "place", "next", "next_place");
    kn_put(t, "values[lane] = value;%s\n}\n__syncthreads();\n}\n", k->indices ? " places[lane] = place;" : "");
    kn_put(t, "if (lane == 0) {\nconst V value = values[0];\n");
    if (k->indices) kn_put(t, "const long long place = places[0];\n");
    write_result(k, t);
    kn_put(t, "}\n__syncthreads();\n}\n");
}

static void write_per_thread(const struct generated *g, struct kn_text *t)
{
    const struct reduce_key *k = &g->key;
    kn_put(t, "const long long items = p.rows * p.chunks, each = p.part;\n");
    kn_put(
        t,
        "for (long long item = (long long)blockIdx.x * %d + threadIdx.x; item < items; item += (long long)gridDim.x * %d) {\n",
        KN_THREADS, KN_THREADS);
    kn_put(t, "const long long row = item %% p.rows, from = item / p.rows * each;\n");
    kn_put(t, "const long long until = from + each < p.length ? from + each : p.length;\n");
    write_offsets(g, t, "first_at", NULL, "row", "rows", k->rows_ndim);
    kn_put(t, "V value = 0; long long place = -1; bool filled = false;\n");
    if (k->indices) {
        kn_put(t, "const long long last = until;\n");
        write_loop(g, t, "from", "1");
    } else {
        /* Groups first, so that a long row's sum has fewer roundings one after the other. */
        kn_put(t, "V all = 0;\nfor (long long start = from; start < until; start += %d) {\n", GROUP);
        kn_put(t, "const long long last = start + %d < until ? start + %d : until;\nfilled = false;\n", GROUP, GROUP);
        write_loop(g, t, "start", "1");
        kn_put(t, "if (start == from) all = value;\nelse {\n");
        write_combine(k, t, "all", "", "value", "");
        kn_put(t, "}\n}\nvalue = all;\n");
    }
    write_result(k, t);
    kn_put(t, "}\n");
}

static void write_strides(const struct generated *g, struct kn_text *t, const char *space, int ndim)
{
    kn_put(t, "long long %s_shape[%d];\n", space, ndim);
    for (int k = 0; k < g->program->leaves; k++) kn_put(t, "long long %s_stride%d[%d];\n", space, k, ndim);
}

/* The members of the struct are in the order in which launch_one fills the words. */
static void write_reduction(const void *context, struct kn_text *t)
{
    const struct generated *g = context;
    kn_put(t, "typedef %s V;\nstruct Arguments {\nlong long rows, chunks, length, part;\n",
           kn_classes[kn_class_of((enum rt_dtype)g->key.accumulate)].cuda);
    kn_put_members(t, g->program);
    kn_put(t, "const long long *places; V *partial; long long *places_out; %s *out;\n",
           kn_memory_type((enum rt_dtype)g->key.out));
    write_strides(g, t, "row", g->key.row_ndim);
    write_strides(g, t, "rows", g->key.rows_ndim);
    kn_put(t, "};\nextern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n", KN_THREADS);
    if (g->key.per_thread)
        write_per_thread(g, t);
    else
        write_per_block(g, t);
    kn_put(t, "}\n");
}

struct launch {
    struct rt_device *device;
    struct kn_reducer *r; /* the program and the axes change from launch to launch */
    bool per_thread;
    enum rt_dtype out;
    uint64_t places, partial, places_out, to;
    int64_t chunks, part; /* that each row is cut into, and the elements of each but the last */
};

/* Threads take parts by a thread's row, else a block takes CHUNK elements. */
static void cut_rows(struct launch *l)
{
    const struct kn_reducer *r = l->r;
    int64_t wanted = 1;
    l->part = CHUNK;
    if (l->per_thread) {
        wanted = r->count > 0 ? THREADS / r->count : 1;
        if (wanted > r->length / LEAST) wanted = r->length / LEAST;
        if (wanted < 1) wanted = 1;
        l->part = ((r->length + wanted - 1) / wanted + GROUP - 1) / GROUP * GROUP;
        if (l->part < 1) l->part = GROUP;
    }
    l->chunks = r->length > 0 ? (r->length + l->part - 1) / l->part : 1;
}

/* The leaves' strides over the axes of rows, or of a row, as few as can be. */
static void make_space(const struct kn_reducer *r, bool of_row, struct kn_space *s)
{
    const struct rt_array *leaves[KN_MAX_LEAVES];
    struct rt_array order = of_row ? r->row : r->rows;
    if (!of_row || r->indices) /* the output's order, else whatever order the memory has */
        for (int64_t i = order.ndim - 1, stride = 1; i >= 0; stride *= order.shape[i--]) order.strides[i] = stride;
    for (int i = 0; i < r->program.leaves; i++) leaves[i] = of_row ? &r->leaves[i].row : &r->leaves[i].rows;
    kn_space_make(leaves, r->program.leaves, &order, s);
}

static void word_space(struct kn_words *w, const struct kn_space *s)
{
    for (int d = 0; d < s->ndim; d++) kn_word(w, (uint64_t)s->shape[d]);
    for (int k = 0; k < s->leaves; k++)
        for (int d = 0; d < s->ndim; d++) kn_word(w, (uint64_t)s->strides[k][d]);
}

/* One launch of a text: all that says which, then the words. */
struct one {
    struct kn_space row, rows;
    struct generated g;
    struct kn_words words;
    struct kn_launch launch;
};

static void prepare(const struct launch *l, struct one *o)
{
    const struct kn_reducer *r = l->r;
    const struct kn_program *p = &r->program;
    make_space(r, true, &o->row);
    make_space(r, false, &o->rows);
    o->g = (struct generated){.program = p};
    o->g.key = (struct reduce_key){.what = 'r',
                                   .per_thread = l->per_thread,
                                   .combine = (uint8_t)r->combine,
                                   .indices = r->indices,
                                   .accumulate = (uint8_t)r->accumulate,
                                   .out = (uint8_t)l->out,
                                   .row_ndim = (uint8_t)o->row.ndim,
                                   .rows_ndim = (uint8_t)o->rows.ndim,
                                   .with_places = l->places != 0,
                                   .count = (uint8_t)p->count,
                                   .leaves = (uint8_t)p->leaves};
    kn_node_keys(p, o->g.key.nodes);
    o->launch = (struct kn_launch){
        .key = &o->g.key,
        .key_bytes = offsetof(struct reduce_key, nodes) + (size_t)p->count * sizeof *o->g.key.nodes,
        .write = write_reduction,
        .context = &o->g,
        .words = &o->words,
        .blocks = l->per_thread ? (r->count * l->chunks + KN_THREADS - 1) / KN_THREADS : r->count * l->chunks};
}

/* Who asks for the least asks for the largest next, and the other way round. */
static void hurry(const struct launch *l, const struct one *o)
{
    struct generated other = o->g;
    struct kn_launch next = o->launch;
    if (l->r->combine != KN_MINIMUM && l->r->combine != KN_MAXIMUM) return;
    other.key.combine = l->r->combine == KN_MINIMUM ? KN_MAXIMUM : KN_MINIMUM;
    next.key = &other.key;
    next.context = &other;
    kn_hurry_together(l->device, (const struct kn_launch *const[]){&o->launch, &next}, 2);
}

static enum rt_status launch_one(const struct launch *l, struct rt_error *e)
{
    struct one o;
    struct kn_words *w = &o.words;
    prepare(l, &o);
    w->count = 0;
    kn_word(w, (uint64_t)l->r->count);
    kn_word(w, (uint64_t)l->chunks);
    kn_word(w, (uint64_t)l->r->length);
    kn_word(w, (uint64_t)l->part);
    kn_word_program(w, &l->r->program);
    const uint64_t outputs[] = {l->places, l->partial, l->places_out, l->to};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) kn_word(w, outputs[i]);
    word_space(w, &o.row);
    word_space(w, &o.rows);
    hurry(l, &o);
    return kn_launch(l->device, &o.launch, e);
}

/* Room for the results of all chunks, and with indices where they were: rows by chunks, but of threads, which take
 * neighbouring rows, chunks by rows. */
static enum rt_status partial_new(const struct launch *l, struct rt_array *partial, struct rt_array *places,
                                  struct rt_error *e)
{
    int64_t shape[] = {l->per_thread ? l->chunks : l->r->count, l->per_thread ? l->r->count : l->chunks};
    enum rt_dtype values = kn_classes[kn_class_of(l->r->accumulate)].dtype;
    enum rt_status status = rt_array_new(l->device, values, 2, shape, partial, e);
    if (status == RT_OK && l->r->indices) status = rt_array_new(l->device, RT_INT64, 2, shape, places, e);
    return status;
}

/* Makes the chunks' results what is to be reduced next. */
static enum rt_status go_on_with(struct launch *l, const struct rt_array *partial, const struct rt_array *places,
                                 struct rt_error *e)
{
    struct kn_reducer *r = l->r;
    int node;
    r->accumulate = partial->dtype;
    r->length = l->chunks;
    r->row = r->rows = *partial;
    r->row.ndim = r->rows.ndim = 1;
    const int rows = l->per_thread, along = 1 - rows;
    r->row.shape[0] = partial->shape[along];
    r->row.strides[0] = partial->strides[along];
    r->rows.shape[0] = partial->shape[rows];
    r->rows.strides[0] = partial->strides[rows];
    r->leaves[0].row = r->row;
    r->leaves[0].rows = r->rows;
    l->places = r->indices ? rt_array_address(places) : 0;
    cut_rows(l);
    kn_program_start(&r->program);
    return kn_program_array(&r->program, partial, &node, e);
}

/* Launches until each row is one value: every launch makes its chunks' results the next one's rows. */
static enum rt_status launch_all(struct launch *l, uint64_t to, struct rt_error *e)
{
    struct rt_array from = {0}, from_places = {0}, partial = {0}, places = {0};
    enum rt_status status = RT_OK;
    for (bool last = false; status == RT_OK && !last;) {
        last = l->chunks == 1;
        if (!last) status = partial_new(l, &partial, &places, e);
        l->partial = last || status != RT_OK ? 0 : rt_array_address(&partial);
        l->places_out = last || !l->r->indices || status != RT_OK ? 0 : rt_array_address(&places);
        l->to = to;
        if (status == RT_OK) status = launch_one(l, e);
        rt_array_release(&from);
        rt_array_release(&from_places);
        if (last || status != RT_OK) break;
        from = partial;
        from_places = places;
        memset(&partial, 0, sizeof partial);
        memset(&places, 0, sizeof places);
        status = go_on_with(l, &from, &from_places, e);
    }
    rt_array_release(&from);
    rt_array_release(&from_places);
    rt_array_release(&partial);
    rt_array_release(&places);
    return status;
}

/* ---- while the kernel is being compiled ---- */

/* Strides of an array that is as full as can be, its axes in the memory's order as they were. */
static void close_up(struct rt_array *a)
{
    bool done[RT_MAX_DIMS] = {false};
    int64_t stride = 1;
    for (int k = 0; k < a->ndim; k++) {
        int next = -1;
        for (int i = a->ndim - 1; i >= 0; i--)
            if (!done[i] && (next < 0 || llabs(a->strides[i]) < llabs(a->strides[next]))) next = i;
        done[next] = true;
        a->strides[next] = stride;
        stride *= a->shape[next];
    }
}

/* The program's values as an array, rows' axes first; the reducer's strides may be those of a leaf, with gaps. */
static struct rt_array values_of(const struct kn_reducer *r, struct rt_storage *storage)
{
    struct rt_array v = {.storage = storage, .dtype = r->accumulate};
    const struct rt_array *parts[] = {&r->rows, &r->row};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < parts[k]->ndim; i++, v.ndim++) {
            v.shape[v.ndim] = parts[k]->shape[i];
            v.strides[v.ndim] = parts[k]->strides[i];
        }
    close_up(&v);
    return v;
}

/* The program, over the axes of values_of. */
static void spread(const struct kn_reducer *r, struct rt_array *arrays, struct kn_program *p)
{
    *p = r->program;
    for (int k = 0; k < p->leaves; k++) {
        const struct rt_array *parts[] = {&r->leaves[k].rows, &r->leaves[k].row};
        arrays[k] = *r->program.arrays[k];
        arrays[k].ndim = 0;
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < parts[j]->ndim; i++, arrays[k].ndim++) {
                arrays[k].shape[arrays[k].ndim] = parts[j]->shape[i];
                arrays[k].strides[arrays[k].ndim] = parts[j]->strides[i];
            }
        p->arrays[k] = &arrays[k];
    }
}

/* Makes the reducer one of the stored values, in the same order. */
static void reduce_stored(struct kn_reducer *r, const struct rt_array *values)
{
    r->row.dtype = r->rows.dtype = values->dtype;
    for (int i = 0; i < r->rows.ndim; i++) r->rows.strides[i] = values->strides[i];
    for (int i = 0; i < r->row.ndim; i++) r->row.strides[i] = values->strides[r->rows.ndim + i];
    r->leaves[0].row = r->row;
    r->leaves[0].rows = r->rows;
    kn_program_start(&r->program);
    r->program.nodes[r->program.count++] = (struct kn_node){.kind = KN_NODE_ARRAY, .dtype = values->dtype};
    r->program.arrays[r->program.leaves++] = values;
}

/* Where the kernel is new, but not those that store the values and reduce them, these serve: then `values` gets what is
 * stored and the reducer is one of it. */
static enum rt_status serve(struct launch *l, struct rt_array *values, struct rt_error *e)
{
    struct kn_reducer *r = l->r, stored = *r;
    struct launch plain = *l;
    struct one fused, simple;
    struct rt_array arrays[KN_MAX_LEAVES], form = values_of(r, r->program.arrays[0]->storage);
    struct kn_program p;
    prepare(l, &fused);
    if (kn_is_ready(l->device, &fused.launch)) return RT_OK;
    spread(r, arrays, &p);
    plain.r = &stored;
    reduce_stored(&stored, &form);
    prepare(&plain, &simple);
    if (!kn_is_ready(l->device, &simple.launch) || !kn_apart_is_ready(&p, &form) ||
        !kn_make_ready(l->device, &fused.launch)) {
        kn_make_ready(l->device, &simple.launch);
        kn_apart_make_ready(&p, &form);
        return RT_OK;
    }
    struct rt_array whole;
    int64_t size = r->count * r->length;
    if (rt_array_new(l->device, r->accumulate, 1, &size, &whole, NULL) != RT_OK) return RT_OK; /* no room: wait */
    *values = values_of(r, whole.storage);
    enum rt_status status = kn_program_evaluate(&p, values, e);
    if (status == RT_OK) reduce_stored(r, values);
    return status;
}

enum rt_status kn_reduce_cuda(struct kn_reducer *r, const struct rt_array *out, struct rt_error *e)
{
    bool threads = r->count >= KN_THREADS && kn_rows_are_near(r);
    struct rt_array values = {0};
    enum rt_status status = RT_OK;
    struct launch l = {.device = rt_array_device(out), .r = r, .per_thread = threads, .out = out->dtype};
    cut_rows(&l);
    if (r->program.count > 1 && r->rows.ndim + r->row.ndim <= RT_MAX_DIMS && kn_in_background(l.device))
        status = serve(&l, &values, e);
    if (status == RT_OK) status = launch_all(&l, rt_array_address(out), e);
    rt_array_release(&values);
    return status;
}

void kn_reduce_cuda_source(struct kn_reducer *r, enum rt_dtype out, struct kn_text *t)
{
    bool threads = r->count >= KN_THREADS && kn_rows_are_near(r);
    struct launch l = {.r = r, .per_thread = threads, .out = out};
    struct one o;
    cut_rows(&l);
    prepare(&l, &o);
    write_reduction(&o.g, t);
}
