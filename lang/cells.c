#include "lang/cells.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/array.h"

#define MOST_SHOWN      300 /* elements of an array that is not shown whole */
#define MOST_DECIMALS   6
#define SMALLEST_DIGITS 3 /* of the smallest number, if a column of so many digits has them */
#define WIDEST_COLUMN   10

/* Which elements. */

/* Shown at either end of a long axis: of the last two axes, which make a table, more than of the outer ones. */
static int64_t edge_of(const struct lg_print_options *o, int axis, int ndim)
{
    if (o->edgeitems > 0) return o->edgeitems;
    return axis >= ndim - 2 ? 3 : 1;
}

static int64_t product(int n, const int64_t *v)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++) p *= v[i];
    return p;
}

static void choose(const struct rt_array *a, int64_t threshold, const struct lg_print_options *o, struct lg_cells *c)
{
    int gaps = 0;
    bool all = rt_array_size(a) <= threshold;
    const int64_t asked = 4 * o->edgeitems * o->edgeitems,
                  most = o->edgeitems > 0 && asked > MOST_SHOWN ? asked : MOST_SHOWN;
    for (int i = 0; i < a->ndim; i++) {
        int64_t edge = edge_of(o, i, a->ndim);
        c->shape[i] = c->count[i] = c->front[i] = a->shape[i];
        /* Each gap makes two axes of one where the elements are fetched; an array has at most RT_MAX_DIMS. */
        if (all || a->shape[i] <= 2 * edge || a->ndim + gaps >= RT_MAX_DIMS) continue;
        c->count[i] = 2 * edge;
        c->front[i] = edge;
        gaps++;
    }
    /* Many axes: of the outer ones only the first index. */
    for (int i = 0; i < a->ndim && !all && product(a->ndim, c->count) > most; i++) {
        int64_t edge = edge_of(o, i, a->ndim);
        if (c->count[i] > edge) c->count[i] = c->front[i] = edge;
    }
    c->ndim = a->ndim;
    c->size = product(a->ndim, c->count);
}

/* A view of the shown elements: an axis with a gap becomes two, front or back and which of them. */
static void narrow(const struct rt_array *a, const struct lg_cells *c, struct rt_array *view)
{
    int n = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (c->front[i] < c->count[i]) {
            view->shape[n] = 2;
            view->strides[n++] = (a->shape[i] - c->front[i]) * a->strides[i];
        }
        view->shape[n] = c->front[i];
        view->strides[n++] = a->strides[i];
    }
    view->ndim = n;
}

int64_t lg_cell_index(const struct lg_cells *c, int axis, int64_t i)
{
    return i < c->front[axis] ? i + 1 : c->shape[axis] - c->count[axis] + i + 1;
}

/* How they are written. */

struct measure {
    double largest, smallest; /* of the absolute values; the smallest that is not 0 */
    int decimals;             /* that the numbers need behind the point */
    int mantissa;             /* and in scientific notation */
    bool fraction;            /* not all are whole */
};

/* Of the numbers themselves: more would show how binary rounds decimal. */
static int significant_digits(enum rt_dtype t, const struct lg_print_options *o)
{
    if (t == RT_FLOAT16 || t == RT_BFLOAT16) return 3;
    if (o->precision <= MOST_DECIMALS) return 6;
    return rt_real_of(t) == RT_FLOAT64 ? 16 : 8;
}

static void measure_number(double v, int digits, struct measure *m)
{
    char text[64];
    v = fabs(v);
    if (!isfinite(v) || v == 0) return;
    if (v > m->largest) m->largest = v;
    if (v < m->smallest) m->smallest = v;
    if (v != floor(v)) m->fraction = true;
    snprintf(text, sizeof text, "%.*e", digits - 1, v); /* d.ddddde+xx */
    int mantissa = digits - 1, exponent = atoi(strchr(text, 'e') + 1);
    while (mantissa > 0 && text[1 + mantissa] == '0') mantissa--;
    if (mantissa > m->mantissa) m->mantissa = mantissa;
    if (mantissa - exponent > m->decimals) m->decimals = mantissa - exponent;
}

/* Behind the point where there is room for so many digits only: a few more where the smallest number would lose all but
 * its first ones. */
static int decimals_for(double smallest, int wanted, int room, int leading)
{
    int needed = SMALLEST_DIGITS - 1 - (int)floor(log10(smallest)), most = WIDEST_COLUMN - leading;
    if (needed > wanted) needed = wanted;
    if (needed > most) needed = most;
    return needed > room ? needed : room;
}

static struct measure measure(const struct lg_cells *c, const struct lg_print_options *o)
{
    struct measure m = {.smallest = HUGE_VAL};
    size_t size = rt_dtypes[c->dtype].size;
    int digits = significant_digits(c->dtype, o);
    for (int64_t i = 0; i < c->size; i++) {
        struct rt_complex v = rt_load_complex(c->dtype, c->data + (size_t)i * size);
        measure_number(v.re, digits, &m);
        measure_number(v.im, digits, &m);
    }
    if (m.fraction && m.decimals < 1) m.decimals = 1; /* what the digits round away is not passed over in silence */
    return m;
}

/* Behind the point: what nobody asked for leaves a column narrow. */
static int fixed_decimals(enum rt_dtype t, const struct measure *m, const struct lg_print_options *o)
{
    if (o->precision >= 0) return m->decimals < o->precision ? m->decimals : (int)o->precision;
    int leading = m->largest >= 1 ? (int)floor(log10(m->largest)) + 1 : 1;
    int most = rt_real_of(t) == RT_FLOAT64 ? 9 : 7; /* digits of a column, before and after the point */
    int room = most - leading > 1 ? most - leading : 1;
    int decimals = m->decimals < MOST_DECIMALS ? m->decimals : MOST_DECIMALS;
    return decimals > room ? decimals_for(m->smallest, decimals, room, leading) : decimals;
}

static void choose_float_style(struct lg_cells *c, const struct lg_print_options *o)
{
    const struct measure m = measure(c, o);
    c->decimals = fixed_decimals(c->dtype, &m, o);
    bool fits = m.decimals == 0 ? m.largest < 1e10 : m.largest < 1e8;
    double least = c->decimals < 4 && o->precision < 0 ? pow(10, -c->decimals) : 1e-4;
    bool tiny = m.decimals > c->decimals && m.smallest < least;
    bool scientific = o->scientific == LG_AUTOMATIC ? !fits || tiny : o->scientific == LG_ALWAYS || m.largest >= 1e16;
    c->style = scientific ? LG_CELL_SCIENTIFIC : LG_CELL_FIXED;
    int most = o->precision >= 0 ? (int)o->precision : 4;
    if (scientific) c->decimals = m.mantissa < most ? m.mantissa : most;
}

/* A floating number; with its sign when it is an imaginary part. */
static int part_text(const struct lg_cells *c, double v, bool imaginary, char *out, size_t size)
{
    if (isnan(v)) return snprintf(out, size, imaginary ? "+nan" : "nan");
    if (c->style == LG_CELL_FIXED) return snprintf(out, size, imaginary ? "%+.*f" : "%.*f", c->decimals, v);
    return snprintf(out, size, imaginary ? "%+.*e" : "%.*e", c->decimals, v);
}

int lg_cell_text(const struct lg_cells *c, int64_t i, char text[LG_CELL_TEXT])
{
    const void *p = c->data + (size_t)i * rt_dtypes[c->dtype].size;
    if (c->style == LG_CELL_BOOL)
        return snprintf(text, LG_CELL_TEXT, "%s", rt_load_int(c->dtype, p) ? "true" : "false");
    if (c->dtype == RT_UINT64) return snprintf(text, LG_CELL_TEXT, "%" PRIu64, (uint64_t)rt_load_int(c->dtype, p));
    if (c->style == LG_CELL_INTEGER) return snprintf(text, LG_CELL_TEXT, "%" PRId64, rt_load_int(c->dtype, p));
    struct rt_complex v = rt_load_complex(c->dtype, p);
    int n = part_text(c, v.re, false, text, LG_CELL_TEXT);
    if (!rt_is_complex(c->dtype)) return n;
    char imaginary[LG_CELL_TEXT / 2];
    part_text(c, v.im, true, imaginary, sizeof imaginary);
    return n + snprintf(text + n, LG_CELL_TEXT - (size_t)n, "%*si", c->imaginary, imaginary);
}

static void choose_style(struct lg_cells *c, const struct lg_print_options *o)
{
    char text[LG_CELL_TEXT];
    char kind = rt_dtypes[c->dtype].kind;
    c->style = kind == 'b' ? LG_CELL_BOOL : LG_CELL_INTEGER;
    if (kind == 'f' || kind == 'c') choose_float_style(c, o);
    for (int64_t i = 0; kind == 'c' && i < c->size; i++) {
        struct rt_complex v = rt_load_complex(c->dtype, c->data + (size_t)i * rt_dtypes[c->dtype].size);
        int n = part_text(c, v.im, true, text, sizeof text);
        if (n > c->imaginary) c->imaginary = n;
    }
    for (int64_t i = 0; i < c->size; i++) {
        int n = lg_cell_text(c, i, text);
        if (n > c->width) c->width = n;
    }
}

void lg_push_cells(lua_State *L, const struct rt_array *a, int64_t threshold, struct lg_cells *c)
{
    const struct lg_print_options *o = lg_print_options(L);
    *c = (struct lg_cells){.dtype = a->dtype};
    choose(a, threshold && o->threshold >= 0 ? o->threshold : threshold, o, c);
    struct rt_array view = *a; /* borrowed */
    narrow(a, c, &view);
    c->data = lg_push_host_copy(L, &view);
    choose_style(c, o);
}

void lg_push_array_title(lua_State *L, const struct rt_array *a)
{
    char shape[RT_MAX_DIMS * 22];
    lua_pushfstring(L, "array %s %s on %s", rt_dtypes[a->dtype].name,
                    rt_shape_text(a->ndim, a->shape, shape, sizeof shape), rt_array_device(a)->name);
}
