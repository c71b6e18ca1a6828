/* Filters with feedback as generated CUDA C: a thread for each piece of a row. */
#include <math.h>
#include <stdlib.h>
#include "kernels/filter.h"
#include "kernels/generate.h"

#define IN_REGISTERS 16    /* the order up to which states are; and up to which rows are parted */
#define PIECE        256   /* elements of a piece, at least */
#define ITEMS        32768 /* pieces of all rows, about */
#define GROWTH       1e6   /* of a state over a piece, beyond which its digits would be lost: rows stay whole */

struct filter_key {
    uint8_t what;           /* 'L' */
    uint8_t order, advance; /* order 0: any, states stay in memory */
};

static const char run_text[] =
    "for (long long item = (long long)blockIdx.x * 256 + threadIdx.x; item < p.items; item += (long long)gridDim.x * 256) {\n"
    "const long long row = item % p.rows, begin = item / p.rows * p.piece;\n"
    "const long long end = begin + p.piece < p.length ? begin + p.piece : p.length;\n"
    "long long at = row / p.inner * p.length * p.inner + row % p.inner + begin * p.inner;\n"
    "FETCH\n"
    "for (long long i = begin; i < end; i++, at += p.inner) {\n"
    "const double v = p.x[at], y = B(0) * v + Z(0);\n"
    "UNROLL for (int k = 1; k < N; k++) Z(k - 1) = B(k) * v + Z(k) - A(k) * y;\n"
    "Z(N - 1) = B(N) * v - A(N) * y;\n"
    "if (p.out) p.out[at] = y;\n"
    "}\n"
    "PUT\n}\n";

/* From the states that pieces leave when they begin with nothing to those that they begin with. */
static const char advance_text[] =
    "for (long long row = (long long)blockIdx.x * 256 + threadIdx.x; row < p.rows; row += (long long)gridDim.x * 256) {\n"
    "double z[N];\n"
    "UNROLL for (int k = 0; k < N; k++) z[k] = p.first[k * p.rows + row];\n"
    "for (long long item = row; item < p.items; item += p.rows) {\n"
    "double next[N];\n"
    "UNROLL for (int k = 0; k < N; k++) {\n"
    "double sum = STATE(k);\n"
    "UNROLL for (int j = 0; j < N; j++) sum += p.power[k * N + j] * z[j];\n"
    "next[k] = sum; }\n"
    "UNROLL for (int k = 0; k < N; k++) { STATE(k) = z[k]; z[k] = next[k]; }\n"
    "}\n}\n";

static void write_filter(const void *context, struct kn_text *t)
{
    const struct filter_key *k = context;
    kn_put(t, "struct Arguments {\nlong long order, rows, length, inner, piece, items;\n"
              "const double *x, *b, *a, *first, *power; double *out, *state;\n};\n"
              "#define STATE(k) p.state[(k) * p.items + item]\n");
    if (k->order)
        kn_put(
            t,
            "#define N %d\n#define UNROLL _Pragma(\"unroll\")\n#define Z(k) z[k]\n#define A(k) a[k]\n#define B(k) b[k]\n"
            "#define FETCH double z[N], a[N + 1], b[N + 1]; UNROLL for (int k = 0; k < N; k++) z[k] = STATE(k); "
            "UNROLL for (int k = 0; k <= N; k++) { a[k] = p.a[k]; b[k] = p.b[k]; }\n"
            "#define PUT UNROLL for (int k = 0; k < N; k++) STATE(k) = z[k];\n",
            k->order);
    else
        kn_put(t, "#define N p.order\n#define UNROLL\n#define Z(k) STATE(k)\n#define A(k) p.a[k]\n#define B(k) p.b[k]\n"
                  "#define FETCH\n#define PUT\n");
    kn_put(t, "extern \"C\" __global__ void __launch_bounds__(%d) kn(const Arguments p) {\n%s}\n", KN_THREADS,
           k->advance ? advance_text : run_text);
}

struct pieces {
    int64_t piece, count; /* elements of one; of a row */
};

/* What a launch reads and writes, as its arguments have it; NULL: none. */
struct operands {
    const struct rt_array *x, *b, *a;
    const struct rt_array *first, *power; /* of `advance`: the states that rows begin with, and what a piece does */
    const struct rt_array *out;           /* NULL: the states alone are wanted */
    const struct rt_array *state;         /* of pieces */
};

static uint64_t address_of(const struct rt_array *a)
{
    return a ? rt_array_address(a) : 0;
}

static enum rt_status launch(const struct kn_rows_filter *f, struct pieces s, bool advance, const struct operands *o,
                             struct rt_error *e)
{
    int64_t order = f->filter->order, items = f->rows * s.count, work = advance ? f->rows : items;
    struct filter_key k = {'L', order <= IN_REGISTERS ? (uint8_t)order : 0, advance};
    struct kn_words w = {0};
    const uint64_t words[] = {(uint64_t)order,     (uint64_t)f->rows,    (uint64_t)f->length,  (uint64_t)f->inner,
                              (uint64_t)s.piece,   (uint64_t)items,      address_of(o->x),     address_of(o->b),
                              address_of(o->a),    address_of(o->first), address_of(o->power), address_of(o->out),
                              address_of(o->state)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) kn_word(&w, words[i]);
    return kn_launch(rt_array_device(o->state),
                     &(struct kn_launch){.key = &k,
                                         .key_bytes = sizeof k,
                                         .write = write_filter,
                                         .context = &k,
                                         .words = &w,
                                         .blocks = (work + KN_THREADS - 1) / KN_THREADS},
                     e);
}

/* What a state becomes over a piece of zeros, as a matrix of order x order; false where it grows too much. */
static bool power_of(const struct kn_filter *f, int64_t piece, double *m)
{
    int64_t n = f->order;
    for (int64_t j = 0; j < n; j++) {
        double z[IN_REGISTERS + 1] = {0};
        z[j] = 1;
        for (int64_t i = 0; i < piece; i++) {
            double y = z[0];
            for (int64_t k = 0; k < n; k++) z[k] = z[k + 1] - f->a[k + 1] * y;
        }
        for (int64_t k = 0; k < n; k++) {
            if (!(fabs(z[k]) < GROWTH)) return false;
            m[k * n + j] = z[k];
        }
    }
    return true;
}

static struct pieces part(const struct kn_rows_filter *f, double *power)
{
    struct pieces whole = {f->length, 1}, s = whole;
    int64_t count = ITEMS / f->rows;
    if (count > f->length / PIECE) count = f->length / PIECE;
    if (count < 4 || f->filter->order > IN_REGISTERS) return whole;
    s.piece = (f->length + count - 1) / count;
    s.count = (f->length + s.piece - 1) / s.piece;
    return power_of(f->filter, s.piece, power) ? s : whole;
}

static enum rt_status to_device(const double *values, int64_t count, struct rt_device *d, struct rt_array *out,
                                struct rt_error *e)
{
    enum rt_status status = rt_array_new(d, RT_FLOAT64, 1, &count, out, e);
    return status == RT_OK ? rt_array_write(out, values, e) : status;
}

/* All pieces from nothing, the states from one to the next, and all pieces again. */
static enum rt_status run_pieces(const struct kn_rows_filter *f, struct pieces s, const double *power,
                                 const struct operands *rows, struct rt_error *e)
{
    int64_t order = f->filter->order, shape[3] = {order, s.count, f->rows};
    struct rt_device *d = rt_array_device(rows->state);
    struct rt_array states = {0}, matrix = {0}, last = {0};
    enum rt_status status = rt_array_new(d, RT_FLOAT64, 3, shape, &states, e);
    if (status == RT_OK) status = to_device(power, order * order, d, &matrix, e);
    if (status == RT_OK) status = kn_fill(&states, &(struct kn_operand){.i = 0}, e);
    const struct operands advance = {.first = rows->state, .power = &matrix, .state = &states};
    struct operands pieces = {.x = rows->x, .b = rows->b, .a = rows->a, .state = &states};
    if (status == RT_OK) status = launch(f, s, false, &pieces, e);
    if (status == RT_OK) status = launch(f, s, true, &advance, e);
    pieces.out = rows->out;
    if (status == RT_OK) status = launch(f, s, false, &pieces, e);
    if (status == RT_OK) status = rt_array_select(&states, 1, s.count - 1, &last, e);
    if (status == RT_OK) status = kn_copy(rows->state, &last, e);
    rt_array_release(&states);
    rt_array_release(&matrix);
    rt_array_release(&last);
    return status;
}

enum rt_status kn_filter_cuda(const struct kn_rows_filter *f, const struct rt_array *x, const struct rt_array *state,
                              const struct rt_array *out, struct rt_error *e)
{
    double power[IN_REGISTERS * IN_REGISTERS];
    struct pieces s = part(f, power);
    struct rt_array b = {0}, a = {0};
    enum rt_status status = to_device(f->filter->b, f->filter->order + 1, rt_array_device(x), &b, e);
    if (status == RT_OK) status = to_device(f->filter->a, f->filter->order + 1, rt_array_device(x), &a, e);
    const struct operands rows = {.x = x, .b = &b, .a = &a, .out = out, .state = state};
    if (status == RT_OK) status = s.count == 1 ? launch(f, s, false, &rows, e) : run_pieces(f, s, power, &rows, e);
    rt_array_release(&b);
    rt_array_release(&a);
    return status;
}
