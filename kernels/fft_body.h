/* Fourier transforms of up to LANES rows of T at once; loops_fft.c includes this text for each type. FN makes a name of
 * a function of this type. Elements lie as re[i][lane] and im[i][lane], so that every loop runs over lanes. */

/* One step of a pass: element j of the input is at j * apart, k of the output at k * run, where it is multiplied by
 * the root of unity k. */
static void FN(radix_2)(const T *restrict re, const T *restrict im, T *restrict to_re, T *restrict to_im, int64_t apart,
                        int64_t run, const T *wr, const T *wi)
{
    INDEPENDENT for (int64_t q = 0; q < run; q++)
    {
        T ar = IN(re, 0), ai = IN(im, 0), br = IN(re, 1), bi = IN(im, 1);
        OUT_PART(re, 0) = ar + br;
        OUT_PART(im, 0) = ai + bi;
        PUT(1, ar - br, ai - bi);
    }
}
static void FN(radix_3)(const T *restrict re, const T *restrict im, T *restrict to_re, T *restrict to_im, int64_t apart,
                        int64_t run, const T *wr, const T *wi)
{
    const T half = (T)0.5, s = (T)0.86602540378443864676;
    INDEPENDENT for (int64_t q = 0; q < run; q++)
    {
        T ar = IN(re, 0), ai = IN(im, 0), br = IN(re, 1), bi = IN(im, 1), cr = IN(re, 2), ci = IN(im, 2);
        T tr = br + cr, ti = bi + ci, ur = (bi - ci) * s, ui = (cr - br) * s;
        T vr = ar - half * tr, vi = ai - half * ti;
        OUT_PART(re, 0) = ar + tr;
        OUT_PART(im, 0) = ai + ti;
        PUT(1, vr + ur, vi + ui);
        PUT(2, vr - ur, vi - ui);
    }
}
static void FN(radix_4)(const T *restrict re, const T *restrict im, T *restrict to_re, T *restrict to_im, int64_t apart,
                        int64_t run, const T *wr, const T *wi)
{
    INDEPENDENT for (int64_t q = 0; q < run; q++)
    {
        T ar = IN(re, 0), ai = IN(im, 0), br = IN(re, 1), bi = IN(im, 1);
        T cr = IN(re, 2), ci = IN(im, 2), dr = IN(re, 3), di = IN(im, 3);
        T sr = ar + cr, si = ai + ci, tr = ar - cr, ti = ai - ci;
        T ur = br + dr, ui = bi + di, vr = bi - di, vi = dr - br;
        OUT_PART(re, 0) = sr + ur;
        OUT_PART(im, 0) = si + ui;
        PUT(1, tr + vr, ti + vi);
        PUT(2, sr - ur, si - ui);
        PUT(3, tr - vr, ti - vi);
    }
}
static void FN(radix_5)(const T *restrict re, const T *restrict im, T *restrict to_re, T *restrict to_im, int64_t apart,
                        int64_t run, const T *wr, const T *wi)
{
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410;
    const T s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;
    INDEPENDENT for (int64_t q = 0; q < run; q++)
    {
        T ar = IN(re, 0), ai = IN(im, 0);
        T br = IN(re, 1) + IN(re, 4), bi = IN(im, 1) + IN(im, 4), cr = IN(re, 2) + IN(re, 3);
        T ci = IN(im, 2) + IN(im, 3), dr = IN(im, 1) - IN(im, 4), di = IN(re, 4) - IN(re, 1);
        T er = IN(im, 2) - IN(im, 3), ei = IN(re, 3) - IN(re, 2);
        T fr = ar + c1 * br + c2 * cr, fi = ai + c1 * bi + c2 * ci;
        T gr = ar + c2 * br + c1 * cr, gi = ai + c2 * bi + c1 * ci;
        T hr = s1 * dr + s2 * er, hi = s1 * di + s2 * ei, kr = s2 * dr - s1 * er, ki = s2 * di - s1 * ei;
        OUT_PART(re, 0) = ar + br + cr;
        OUT_PART(im, 0) = ai + bi + ci;
        PUT(1, fr + hr, fi + hi);
        PUT(2, gr + kr, gi + ki);
        PUT(3, gr - kr, gi - ki);
        PUT(4, fr - hr, fi - hi);
    }
}
/* Any odd radix, by its definition; cosines and sines of 2 pi j / r are given. Elements j and r - j have one cosine and
 * opposite sines, and so have results k and r - k: those are what the cosines give of sums and the sines of
 * differences, added and subtracted. */
static void FN(radix_odd)(const T *restrict re, const T *restrict im, T *restrict to_re, T *restrict to_im,
                          int64_t apart, int64_t run, const T *wr, const T *wi, int r, const T *root)
{
    memcpy(to_re, re, (size_t)run * sizeof *re);
    memcpy(to_im, im, (size_t)run * sizeof *im);
    for (int j = 1; j < r; j++) INDEPENDENT for (int64_t q = 0; q < run; q++)
        {
            OUT_PART(re, 0) += IN(re, j);
            OUT_PART(im, 0) += IN(im, j);
        }
    for (int k = 1; k <= r / 2; k++) {
        T *restrict xr = to_re + k * run, *restrict xi = to_im + k * run;
        T *restrict yr = to_re + (r - k) * run, *restrict yi = to_im + (r - k) * run;
        memcpy(xr, re, (size_t)run * sizeof *xr);
        memcpy(xi, im, (size_t)run * sizeof *xi);
        memset(yr, 0, (size_t)run * sizeof *yr);
        memset(yi, 0, (size_t)run * sizeof *yi);
        for (int j = 1; j <= r / 2; j++) {
            const T c = root[j * k % r * 2], s = root[j * k % r * 2 + 1];
            INDEPENDENT for (int64_t q = 0; q < run; q++)
            {
                xr[q] += (IN(re, j) + IN(re, r - j)) * c;
                xi[q] += (IN(im, j) + IN(im, r - j)) * c;
                yr[q] += (IN(im, r - j) - IN(im, j)) * s;
                yi[q] += (IN(re, j) - IN(re, r - j)) * s;
            }
        }
        INDEPENDENT for (int64_t q = 0; q < run; q++)
        {
            const T ar = xr[q], ai = xi[q], br = yr[q], bi = yi[q];
            PUT(k, ar + br, ai + bi);
            PUT(r - k, ar - br, ai - bi);
        }
    }
}

/* All passes; which of the two pairs of buffers has the result. */
static int FN(passes)(const struct kn_fft_plan *p, T *const re[2], T *const im[2])
{
    int64_t left = p->n, run = LANES;
    const T *w = p->roots;
    int here = 0;
    for (int pass = 0; pass < p->passes; pass++, here = !here) {
        int r = p->radix[pass];
        const T *root = w;
        w += 2 * r;
        left /= r;
        for (int64_t i = 0; i < left; i++, w += 2 * r) {
            const T *x = re[here] + i * run, *y = im[here] + i * run, *wr = w, *wi = w + r;
            T *u = re[!here] + i * run * r, *v = im[!here] + i * run * r;
            switch (r) {
            case 2: FN(radix_2)(x, y, u, v, left * run, run, wr, wi); break;
            case 3: FN(radix_3)(x, y, u, v, left * run, run, wr, wi); break;
            case 4: FN(radix_4)(x, y, u, v, left * run, run, wr, wi); break;
            case 5: FN(radix_5)(x, y, u, v, left * run, run, wr, wi); break;
            default: FN(radix_odd)(x, y, u, v, left * run, run, wr, wi, r, root); break;
            }
        }
        run *= r;
    }
    return here;
}

static bool FN(together)(const int64_t *at, int lanes)
{
    for (int l = 1; l < lanes; l++)
        if (at[l] != at[0] + l) return false;
    return lanes == LANES;
}
static void FN(load)(const struct kn_fft_group *g, T *restrict re, T *restrict im)
{
    const T *in = g->in;
    if (g->lanes < LANES) {
        memset(re, 0, (size_t)g->plan->n * LANES * sizeof *re);
        memset(im, 0, (size_t)g->plan->n * LANES * sizeof *im);
    }
    if (FN(together)(g->in_at, g->lanes)) {
        for (int64_t i = 0; i < g->plan->n; i++) {
            const T *from = in + 2 * (g->in_at[0] + i * g->in_step);
            INDEPENDENT for (int l = 0; l < LANES; l++)
            {
                re[i * LANES + l] = from[2 * l];
                im[i * LANES + l] = from[2 * l + 1];
            }
        }
        return;
    }
    for (int64_t first = 0; first < g->plan->n; first += 16) {
        int64_t last = first + 16 < g->plan->n ? first + 16 : g->plan->n;
        for (int l = 0; l < g->lanes; l++) {
            const T *from = in + 2 * g->in_at[l];
            for (int64_t i = first; i < last; i++) {
                re[i * LANES + l] = from[2 * i * g->in_step];
                im[i * LANES + l] = from[2 * i * g->in_step + 1];
            }
        }
    }
}
static void FN(store)(const struct kn_fft_group *g, const T *restrict re, const T *restrict im)
{
    T *out = g->out;
    int64_t n = g->plan->n;
    if (FN(together)(g->out_at, g->lanes)) {
        for (int64_t i = 0; i < n; i++) {
            T *to = out + 2 * (g->out_at[0] + i * g->out_step);
            INDEPENDENT for (int l = 0; l < LANES; l++)
            {
                to[2 * l] = re[i * LANES + l];
                to[2 * l + 1] = im[i * LANES + l];
            }
        }
        return;
    }
    for (int64_t first = 0; first < n; first += 16) {
        int64_t last = first + 16 < n ? first + 16 : n;
        for (int l = 0; l < g->lanes; l++) {
            T *to = out + 2 * g->out_at[l];
            for (int64_t i = first; i < last; i++) {
                to[2 * i * g->out_step] = re[i * LANES + l];
                to[2 * i * g->out_step + 1] = im[i * LANES + l];
            }
        }
    }
}
static void FN(turn)(const struct kn_fft_group *g, T *restrict re, T *restrict im)
{
    for (int64_t i = 0; i < g->plan->n; i++) {
        const T *c = (const T *)g->turn_coarse + i / g->fine * 2 * LANES;
        const T *f = (const T *)g->turn_fine + i % g->fine * 2 * LANES;
        INDEPENDENT for (int l = 0; l < LANES; l++)
        {
            const T wr = c[l] * f[l] - c[LANES + l] * f[LANES + l], wi = c[l] * f[LANES + l] + c[LANES + l] * f[l];
            const T x = re[i * LANES + l], y = im[i * LANES + l];
            re[i * LANES + l] = x * wr - y * wi;
            im[i * LANES + l] = x * wi + y * wr;
        }
    }
}

static void FN(group)(const struct kn_fft_group *g)
{
    size_t size = (size_t)g->plan->n * LANES;
    T *s = g->scratch, *const re[2] = {s, s + 2 * size}, *const im[2] = {s + size, s + 3 * size};
    FN(load)(g, g->swap_in ? im[0] : re[0], g->swap_in ? re[0] : im[0]);
    int here = FN(passes)(g->plan, re, im);
    if (g->turn_fine) FN(turn)(g, re[here], im[here]);
    if (g->scale != 1)
        for (size_t i = 0; i < size; i++) re[here][i] *= (T)g->scale, im[here][i] *= (T)g->scale;
    FN(store)(g, g->swap_out ? im[here] : re[here], g->swap_out ? re[here] : im[here]);
}

/* With even elements E and odd ones O: X[k] = E[k] + w^k O[k] and conj(X[h - k]) = E[k] - w^k O[k], where the transform
 * of the packed ones is Z[k] = E[k] + i O[k] and conj(Z[h - k]) = E[k] - i O[k]. */
static void FN(unpack)(const struct kn_fft_unpacking *u)
{
    const int64_t h = u->h, from_row = u->forward ? h : h + 1, to_row = u->forward ? h + 1 : h;
    const T *w = u->roots, half = (T)(u->forward ? 0.5 * u->scale : u->scale), sign = u->forward ? 1 : -1;
    for (int64_t row = u->first; row < u->last; row++) {
        const T *from = (const T *)u->from + 2 * row * from_row;
        T *to = (T *)u->to + 2 * row * to_row;
        for (int64_t k = 0; k <= h / 2; k++) {
            const int64_t mirror = h - k;
            const T *x = from + 2 * k, *y = from + 2 * (u->forward && k == 0 ? 0 : mirror), wr = w[2 * k],
                    wi = w[2 * k + 1];
            const bool ends = !u->forward && k == 0; /* whose imaginary parts are 0, whatever is there */
            const T xi = ends ? 0 : x[1], yi = ends ? 0 : y[1];
            const T er = half * (x[0] + y[0]), ei = half * (xi - yi), dr = half * (x[0] - y[0]), di = half * (xi + yi);
            const T ur = KN_ROUNDED(dr * wi) + sign * (di * wr),
                    ui = KN_ROUNDED(di * wi) - sign * (dr * wr); /* w^k O, or i O */
            to[2 * k] = er + ur;
            to[2 * k + 1] = ei + ui;
            if (ends) continue;
            to[2 * mirror] = er - ur;
            to[2 * mirror + 1] = ui - ei;
        }
    }
}
