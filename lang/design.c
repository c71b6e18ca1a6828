/* Filters by design: those with feedback, of Butterworth, Chebyshev and Cauer, as sections of second order, and those
 * without, by windows. */
#include <complex.h>
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/signal.h"
#include "lang/steps.h"

#define MOST_ORDER 64
#define PI         LG_PI

enum kind { LOWPASS, HIGHPASS, BANDPASS, BANDSTOP };
static const char *const kinds[] = {"lowpass", "highpass", "bandpass", "bandstop", NULL};

/* The kind at idx, and the one or two edges that it has at idx - 1, as parts of half the rate at idx + 1 (2 unless told
 * otherwise): between 0 and 1, rising. */
static enum kind check_band(lua_State *L, const char *what, int idx, double edges[2])
{
    enum kind kind = (enum kind)lg_check_option(L, idx, "lowpass", kinds);
    double half = lg_number_option(L, idx + 1, what, "fs", 2) / 2;
    int wanted = kind >= BANDPASS ? 2 : 1, given = lua_istable(L, idx - 1) ? (int)lua_rawlen(L, idx - 1) : 1;
    if (!(half > 0)) luaL_error(L, "%s: fs is %s, expected the sampling rate, above 0", what, lua_tostring(L, idx + 1));
    if (given != wanted)
        luaL_error(L, "%s: %s has %s, got %d", what, kinds[kind], wanted == 2 ? "two edges, {low, high}" : "one edge",
                   given);
    for (int i = 0; i < given; i++) {
        if (lua_istable(L, idx - 1))
            lua_rawgeti(L, idx - 1, i + 1);
        else
            lua_pushvalue(L, idx - 1);
        if (!lua_isnumber(L, -1)) luaL_error(L, "%s: an edge is %s, expected a number", what, lg_type_name(L, -1));
        edges[i] = lua_tonumber(L, -1) / half;
        lua_pop(L, 1);
        if (!(edges[i] > 0 && edges[i] < 1) || (i && !(edges[1] > edges[0])))
            luaL_error(L, "%s: edges are between 0 and half the sampling rate, %f, and rise", what, half);
    }
    return kind;
}

/* A new float64 array on the default device, or what the options say, of numbers on the host. */
static int push_numbers(lua_State *L, int count, const double *values)
{
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushnumber(L, values[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return lg_step(L, "gpu.array", "vs", lua_gettop(L), "float64");
}

/* ---- analog lowpass filters with the edge 1 ---- */

/* Poles and zeros stand for themselves and their conjugates, each pole beside a zero that is near it. */
struct prototype {
    int pairs;
    double complex pole[MOST_ORDER / 2 + 1], zero[MOST_ORDER / 2 + 1]; /* a zero of 0 is at infinity */
    bool odd;
    double real;  /* the pole of odd orders that is its own conjugate */
    double level; /* the logarithm of what passes at frequency 0 */
};

/* The angle of pole i of a filter of an order, from the imaginary axis. */
static double angle_of(int order, int i)
{
    return PI * (2 * i + 1) / (2.0 * order);
}

static struct prototype start(int order)
{
    return (struct prototype){.pairs = order / 2, .odd = order % 2 == 1, .real = -1};
}

static struct prototype butterworth(int order)
{
    struct prototype p = start(order);
    for (int i = 0; i < p.pairs; i++) p.pole[i] = -sin(angle_of(order, i)) + I * cos(angle_of(order, i));
    return p;
}

/* How far it swings for a loss in decibels. */
static double swing_of(double decibels)
{
    return sqrt(expm1(decibels * log(10) / 10));
}

/* The level of filters that swing between 1 and what a loss leaves: even orders begin below. */
static double level_of(int order, double ripple)
{
    return order % 2 ? 0 : -ripple * log(10) / 20;
}

/* Poles on an ellipse. */
static struct prototype chebyshev(int order, double ripple)
{
    struct prototype p = start(order);
    double mu = asinh(1 / swing_of(ripple)) / order;
    for (int i = 0; i < p.pairs; i++)
        p.pole[i] = -sinh(mu) * sin(angle_of(order, i)) + I * cosh(mu) * cos(angle_of(order, i));
    p.real = -sinh(mu);
    p.level = level_of(order, ripple);
    return p;
}

/* The other way about: its poles are one over those, and there are zeros where it swings. */
static struct prototype inverse_chebyshev(int order, double loss)
{
    struct prototype p = start(order);
    double mu = asinh(swing_of(loss)) / order;
    for (int i = 0; i < p.pairs; i++) {
        double angle = angle_of(order, i);
        p.pole[i] = conj(1 / (-sinh(mu) * sin(angle) + I * cosh(mu) * cos(angle)));
        p.zero[i] = I / cos(angle);
    }
    p.real = -1 / sinh(mu);
    return p;
}

/* Elliptic functions by Landen's transformation, of arguments in quarter periods, as Orfanidis has them (Lecture notes
 * on elliptic filter design, 2006). A modulus k comes with the other one, sqrt(1 - k^2), since each of them may be too
 * near to 1 to say what the other is. */
enum { STEPS = 8 };
struct modulus {
    double k, other, v[STEPS]; /* v: of the steps downwards, which end near 0 */
};

static struct modulus modulus_of(double k, double other)
{
    struct modulus m = {.k = k, .other = other};
    for (int i = 0; i < STEPS; i++) {
        double below = k / (1 + other);
        m.v[i] = k = below * below;
        other = 2 * sqrt(other) / (1 + other);
    }
    return m;
}

/* From the value at a modulus of 0, a sine or a cosine, upwards. */
static double complex ascend(const struct modulus *m, double complex w)
{
    for (int i = STEPS - 1; i >= 0; i--) w = (1 + m->v[i]) * w / (1 + m->v[i] * w * w);
    return w;
}
static double complex cd_of(const struct modulus *m, double complex u)
{
    return ascend(m, ccos(u * PI / 2));
}
static double complex sn_of(const struct modulus *m, double complex u)
{
    return ascend(m, csin(u * PI / 2));
}

/* The argument whose sn is i w, which is i times a number too: that number. */
static double inverse_sn(const struct modulus *m, double w)
{
    double k = m->k;
    for (int i = 0; i < STEPS; i++) {
        w = w / (1 + sqrt(1 + w * w * k * k)) * 2 / (1 + m->v[i]);
        k = m->v[i];
    }
    return 2 / PI * asinh(w);
}

static struct prototype cauer(int order, double ripple, double loss)
{
    struct prototype p = start(order);
    double swing = swing_of(ripple), k1 = swing / swing_of(loss);
    struct modulus one = modulus_of(k1, sqrt((1 - k1) * (1 + k1))), other = modulus_of(one.other, one.k);
    double least = pow(one.other, order); /* the other modulus of the filter's, by the equation of degree */
    for (int i = 0; i < p.pairs; i++) least *= pow(creal(sn_of(&other, (2 * i + 1.0) / order)), 4);
    struct modulus m = modulus_of(sqrt((1 - least) * (1 + least)), least);
    double v = inverse_sn(&one, 1 / swing) / order;
    for (int i = 0; i < p.pairs; i++) {
        double u = (2 * i + 1.0) / order;
        double complex pole = I * cd_of(&m, u - I * v);
        p.pole[i] = cimag(pole) < 0 ? conj(pole) : pole;
        p.zero[i] = I / (m.k * creal(cd_of(&m, u)));
    }
    p.real = creal(I * sn_of(&m, I * v));
    p.level = level_of(order, ripple);
    return p;
}

/* ---- digital filters ---- */

struct band {
    enum kind kind;
    double low, high; /* the analog frequencies of the edges */
};

static struct band band_of(enum kind kind, const double edges[2])
{
    return (struct band){kind, 2 * tan(PI * edges[0] / 2), kind >= BANDPASS ? 2 * tan(PI * edges[1] / 2) : 0};
}

/* Where a pole or zero of the prototype goes, or the two that it becomes: to the band, and by the bilinear transform z
 * = (2 + s) / (2 - s). Returns how many there are. */
static int move(const struct band *b, double complex s, double complex to[2])
{
    int n = 1;
    to[0] = b->kind == LOWPASS ? b->low * s : b->low / s;
    if (b->kind >= BANDPASS) {
        double width = b->high - b->low;
        double complex half = b->kind == BANDPASS ? width * s / 2 : width / s / 2;
        double complex root = csqrt(half * half - b->low * b->high);
        to[0] = half + root;
        to[1] = half - root;
        n = 2;
    }
    for (int i = 0; i < n; i++) to[i] = (2 + to[i]) / (2 - to[i]);
    return n;
}

/* The zeros of a section of two poles, or of one, whose prototype's are at infinity, as its b. */
static void write_far_zeros(const struct band *band, bool both, double b[3])
{
    double middle = 2 * atan(sqrt(band->low * band->high) / 2), sign = band->kind == HIGHPASS ? -1 : 1;
    b[0] = 1;
    b[1] = band->kind == BANDPASS ? 0 : band->kind == BANDSTOP ? -2 * cos(middle) : both ? 2 * sign : sign;
    b[2] = band->kind == BANDPASS ? -1 : band->kind == BANDSTOP || both ? 1 : 0;
}

static void write_pair(double complex z, double c[3])
{
    c[0] = 1;
    c[1] = -2 * creal(z);
    c[2] = creal(z * conj(z));
}

/* The sections of a pair of the prototype's poles and of zeros; returns how many there are. */
static int write_pairs(const struct band *band, double complex pole, double complex zero, double *sos)
{
    double complex poles[2], zeros[2] = {0};
    int n = move(band, pole, poles);
    if (zero != 0) move(band, zero, zeros);
    if (n == 2 && cabs(poles[0] - zeros[1]) < cabs(poles[0] - zeros[0])) {
        double complex first = zeros[0];
        zeros[0] = zeros[1];
        zeros[1] = first;
    }
    for (int i = 0; i < n; i++, sos += 6) {
        write_pair(poles[i], sos + 3);
        if (zero == 0)
            write_far_zeros(band, true, sos);
        else
            write_pair(zeros[i], sos);
    }
    return n;
}

/* The section of the prototype's real pole. */
static void write_real(const struct band *band, double pole, double *sos)
{
    double complex poles[2] = {0};
    int n = move(band, pole, poles);
    write_far_zeros(band, n == 2, sos);
    sos[3] = 1;
    sos[4] = -creal(poles[0] + poles[1]);
    sos[5] = n == 2 ? creal(poles[0] * poles[1]) : 0;
}

/* The logarithm of how much all sections together let through at the angle w: the product may leave the range. */
static double response(int count, const double *sos, double w)
{
    double complex z = cexp(-I * w);
    double sum = 0;
    for (int i = 0; i < count; i++, sos += 6)
        sum += log(cabs((sos[0] + z * (sos[1] + z * sos[2])) / (sos[3] + z * (sos[4] + z * sos[5]))));
    return sum;
}

/* Pushes the sections of the prototype with the edges, each with its part of what passes, so that none is very loud. */
static int push_sections(lua_State *L, const char *what, const struct prototype *p, enum kind kind,
                         const double edges[2])
{
    double sos[6 * (2 * MOST_ORDER + 1)];
    struct band band = band_of(kind, edges);
    int count = 0;
    for (int i = 0; i < p->pairs; i++) count += write_pairs(&band, p->pole[i], p->zero[i], sos + 6 * count);
    if (p->odd) write_real(&band, p->real, sos + 6 * count++);
    double middle = 2 * atan(sqrt(band.low * band.high) / 2);
    double gain = response(count, sos, kind == BANDPASS ? middle : kind == HIGHPASS ? PI : 0) - p->level;
    if (!isfinite(gain))
        luaL_error(L,
                   "%s: the edges are so near to each other, or to 0 or half the sampling rate, that float64 does not "
                   "hold the sections; take a wider band, or a signal of a lower rate",
                   what);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) sos[6 * i + k] *= exp(-gain / count);
    lg_step(L, "reshape", "vii", push_numbers(L, 6 * count, sos), (int64_t)count, (int64_t)6);
    return 1;
}

static int check_order(lua_State *L)
{
    lua_Integer order = luaL_checkinteger(L, 1);
    luaL_argcheck(L, order >= 1 && order <= MOST_ORDER, 1, "an order is from 1 to 64");
    return (int)order;
}

/* A loss in decibels at idx. */
static double check_loss(lua_State *L, const char *what, int idx, const char *name)
{
    double loss = luaL_checknumber(L, idx);
    if (!(loss > 0 && loss < 1000))
        luaL_error(L, "%s: %s is %s, expected decibels above 0", what, name, lua_tostring(L, idx));
    return loss;
}

/* gpu.butter(order, edge [, kind [, fs]]) */
static int butter(lua_State *L)
{
    double edges[2] = {0};
    struct prototype p = butterworth(check_order(L));
    lua_settop(L, 4);
    enum kind kind = check_band(L, "butter", 3, edges);
    return push_sections(L, "butter", &p, kind, edges);
}

/* gpu.cheby1(order, rp, edge [, kind [, fs]]) */
static int cheby1(lua_State *L)
{
    double edges[2] = {0};
    struct prototype p = chebyshev(check_order(L), check_loss(L, "cheby1", 2, "rp"));
    lua_settop(L, 5);
    enum kind kind = check_band(L, "cheby1", 4, edges);
    return push_sections(L, "cheby1", &p, kind, edges);
}

/* gpu.cheby2(order, rs, edge [, kind [, fs]]) */
static int cheby2(lua_State *L)
{
    double edges[2] = {0};
    struct prototype p = inverse_chebyshev(check_order(L), check_loss(L, "cheby2", 2, "rs"));
    lua_settop(L, 5);
    enum kind kind = check_band(L, "cheby2", 4, edges);
    return push_sections(L, "cheby2", &p, kind, edges);
}

/* gpu.ellip(order, rp, rs, edge [, kind [, fs]]) */
static int ellip(lua_State *L)
{
    double edges[2] = {0}, rp = check_loss(L, "ellip", 2, "rp"), rs = check_loss(L, "ellip", 3, "rs");
    if (!(rp < rs))
        return luaL_error(L, "ellip: rp is %s and rs %s, expected rs to be greater: less passes outside the band",
                          lua_tostring(L, 2), lua_tostring(L, 3));
    struct prototype p = cauer(check_order(L), rp, rs);
    lua_settop(L, 6);
    enum kind kind = check_band(L, "ellip", 5, edges);
    return push_sections(L, "ellip", &p, kind, edges);
}

/* A section that takes one frequency out, or lets it alone through: what is -3 dB is quality times narrower than the
 * frequency. */
static int push_resonance(lua_State *L, const char *what, bool notch)
{
    lua_settop(L, 3);
    double half = lg_number_option(L, 3, what, "fs", 2) / 2, at = luaL_checknumber(L, 1), q = luaL_checknumber(L, 2);
    if (!(half > 0))
        return luaL_error(L, "%s: fs is %s, expected the sampling rate, above 0", what, lua_tostring(L, 3));
    if (!(at > 0 && at < half))
        return luaL_error(L, "%s: the frequency is %f, expected it between 0 and half the sampling rate, %f", what, at,
                          half);
    if (!(q * half > at)) /* so that the band is less wide than all there is */
        return luaL_error(L, "%s: the quality is %f, expected more than %f, the frequency over half the sampling rate",
                          what, q, at / half);
    double w = PI * at / half, gain = 1 / (1 + tan(w / q / 2)), swing = -2 * gain * cos(w), rest = 1 - gain;
    push_numbers(L, 6,
                 notch ? (double[]){gain, swing, gain, 1, swing, 2 * gain - 1}
                       : (double[]){rest, 0, -rest, 1, swing, 2 * gain - 1});
    lg_step(L, "reshape", "vii", lua_gettop(L), (int64_t)1, (int64_t)6);
    return 1;
}

/* gpu.iirnotch(frequency, quality [, fs]) */
static int iirnotch(lua_State *L)
{
    return push_resonance(L, "iirnotch", true);
}

static int iirpeak(lua_State *L)
{
    return push_resonance(L, "iirpeak", false);
}

/* ---- filters without feedback ---- */

/* The sum of what the band lets through, shifted by `at` from its middle. */
static double ideal(enum kind kind, const double edges[2], double at)
{
    double low = at == 0 ? edges[0] : sin(PI * edges[0] * at) / (PI * at);
    double high = at == 0 ? edges[1] : sin(PI * edges[1] * at) / (PI * at),
           all = at == 0 ? 1 : sin(PI * at) / (PI * at);
    switch (kind) {
    case LOWPASS: return low;
    case HIGHPASS: return all - low;
    case BANDPASS: return high - low;
    default: return all - high + low;
    }
}

static int firwin(lua_State *L)
{
    double edges[2] = {0}, sum = 0;
    lua_Integer count = luaL_checkinteger(L, 1);
    luaL_argcheck(L, count >= 1 && count <= 1 << 20, 1, "a filter has from 1 to 2^20 coefficients");
    lua_settop(L, 5);
    enum kind kind = check_band(L, "firwin", 3, edges);
    enum lg_window window = (enum lg_window)lg_check_option(L, 5, "hamming", lg_windows);
    if ((kind == HIGHPASS || kind == BANDSTOP) && count % 2 == 0)
        return luaL_error(L,
                          "firwin: %s with %I coefficients lets nothing through at half the sampling rate; make it %I",
                          kinds[kind], (LUAI_UACINT)count, (LUAI_UACINT)(count + 1));
    double *h = lua_newuserdatauv(L, (size_t)count * sizeof *h, 0);
    double at = kind == BANDPASS   ? (edges[0] + edges[1]) / 2
                : kind == HIGHPASS ? 1
                                   : 0,
           middle = (double)(count - 1) / 2;
    for (lua_Integer i = 0; i < count; i++) {
        double k = (double)i - middle;
        h[i] = ideal(kind, edges, k) * lg_window_at(window, (double)i, (double)count - 1);
        sum += h[i] * cos(PI * k * at);
    }
    for (lua_Integer i = 0; i < count; i++) h[i] /= sum; /* one at the middle of what passes */
    push_numbers(L, (int)count, h);
    return 1;
}

#define BAND                                                                                                                    \
    "kind is \"lowpass\", the default, \"highpass\", or with {low, high} for the edge \"bandpass\" or \"bandstop\". Edges are " \
    "frequencies below half the sampling rate fs, which is 2 unless told otherwise, so that they are parts of it. "
#define RESONANCE                                                                                                      \
    "The frequency lies below half the sampling rate fs, which is 2 unless told otherwise. The quality is the "        \
    "frequency over the width of the band whose edges pass with half the power."
#define SECTIONS                                                                                                         \
    "As sections of second order, (sections, 6) in float64, for gpu.sosfilt. The order is from 1 to 64, and twice that " \
    "for bands."

const struct lg_function lg_design_functions[] = {
    {"butter", butter, "gpu.butter(order, edge [, kind [, fs]])",
     "A Butterworth filter as sections of second order, for gpu.sosfilt: (sections, 6) in float64.\n" BAND
     "A section's row is b[1] to b[3], then a[1] to a[3]. The order is from 1 to 64, and twice that for bands.",
     "local sos = gpu.butter(2, 0.5)\nassert(#sos == 1 and math.abs(sos[{1, 1}] - 0.2928932) < 1e-6)"},
    {"cheby1", cheby1, "gpu.cheby1(order, rp, edge [, kind [, fs]])",
     "A Chebyshev filter that loses up to rp decibels, by turns, of what passes, up to the edge.\n" BAND SECTIONS,
     "local f, h = gpu.sosfreqz(gpu.cheby1(4, 1, 0.3), {0.3}, {fs = 2})\n"
     "assert(math.abs(20 * math.log(h:abs()[1], 10) + 1) < 1e-9)"},
    {"cheby2", cheby2, "gpu.cheby2(order, rs, edge [, kind [, fs]])",
     "A Chebyshev filter that is flat where it passes, and loses rs decibels at least from the edge on.\n" BAND
         SECTIONS,
     "local f, h = gpu.sosfreqz(gpu.cheby2(4, 40, 0.3), {0.3}, {fs = 2})\n"
     "assert(math.abs(20 * math.log(h:abs()[1], 10) + 40) < 1e-9)"},
    {"ellip", ellip, "gpu.ellip(order, rp, rs, edge [, kind [, fs]])",
     "A Cauer filter, the steepest of its order: up to the edge it loses up to rp decibels, far from it rs at least.\n" BAND
         SECTIONS,
     "local f, h = gpu.sosfreqz(gpu.ellip(4, 1, 40, 0.3), {0.3}, {fs = 2})\n"
     "assert(math.abs(20 * math.log(h:abs()[1], 10) + 1) < 1e-9)"},
    {"iirnotch", iirnotch, "gpu.iirnotch(frequency, quality [, fs])",
     "A filter that takes one frequency out, as a section of second order for gpu.sosfilt: (1, 6) in float64.\n" RESONANCE,
     "local f, h = gpu.sosfreqz(gpu.iirnotch(50, 30, 1000), {50, 200}, {fs = 1000})\n"
     "assert(h:abs()[1] < 1e-12 and math.abs(h:abs()[2] - 1) < 1e-2)"},
    {"iirpeak", iirpeak, "gpu.iirpeak(frequency, quality [, fs])",
     "A filter that lets one frequency alone through, as a section of second order for gpu.sosfilt: (1, 6) in "
     "float64.\n" RESONANCE,
     "local f, h = gpu.sosfreqz(gpu.iirpeak(50, 30, 1000), {50, 200}, {fs = 1000})\n"
     "assert(math.abs(h:abs()[1] - 1) < 1e-12 and h:abs()[2] < 0.1)"},
    {"firwin", firwin, "gpu.firwin(count, edge [, kind [, fs [, window]]])",
     "A filter without feedback, as so many coefficients in float64, for x:convolve or gpu.lfilter.\n" BAND
     "The ideal one is cut off by the window, \"hamming\" unless told otherwise, \"hann\", \"blackman\" or \"boxcar\", and "
     "made 1 at the middle of what passes.",
     "local h = gpu.firwin(5, 0.5)\nassert(#h == 5 and math.abs(h:sum() - 1) < 1e-12)"},
    {0}};
