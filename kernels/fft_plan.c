/* Fourier transforms on the host: roots of unity, and the tables of passes, of which those used last are kept. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include "kernels/fft.h"

#define LARGEST 61 /* prime factor that a pass has */

/* ---- roots of unity ---- */

/* exp(-2 pi i k / n), of an angle within an eighth of the circle. */
static struct rt_complex exact_root(int64_t k, int64_t n)
{
    int64_t octant = 8 * k / n, quarter = (octant + 1) / 2;
    double angle = 2 * 3.14159265358979323846 * ((double)(4 * k - quarter * n) / (4 * (double)n));
    double c = cos(angle), s = -sin(angle);
    switch (quarter % 4) { /* times -i for each quarter */
    case 1: return (struct rt_complex){s, -c};
    case 2: return (struct rt_complex){-c, -s};
    case 3: return (struct rt_complex){-s, c};
    default: return (struct rt_complex){c, s};
    }
}

enum rt_status kn_roots_make(int64_t n, struct kn_roots *out, struct rt_error *e)
{
    int64_t step = (int64_t)ceil(sqrt((double)n)) + 1, coarse = n / step + 1;
    *out = (struct kn_roots){.n = n, .step = step};
    out->coarse = rt_alloc((size_t)(coarse + step) * sizeof *out->coarse);
    if (!out->coarse) return rt_fail(e, RT_NOMEM, "out of memory for the roots of a Fourier transform");
    out->fine = out->coarse + coarse;
    for (int64_t i = 0; i < coarse; i++) out->coarse[i] = exact_root(i * step, n);
    for (int64_t i = 0; i < step; i++) out->fine[i] = exact_root(i % n, n);
    return RT_OK;
}

void kn_roots_free(struct kn_roots *r)
{
    free(r->coarse);
    *r = (struct kn_roots){0};
}

enum rt_status kn_fft_turns(const struct kn_turns *turns, struct rt_complex by, enum rt_dtype t, void *to,
                            struct rt_error *e)
{
    struct kn_roots roots;
    enum rt_status status = kn_roots_make(turns->circle, &roots, e);
    if (status != RT_OK) return status;
    for (int64_t i = 0, fine = turns->first, coarse = 0; i < turns->count; i++, fine += turns->step) {
        for (; fine >= roots.step; coarse++) fine -= roots.step;
        const struct rt_complex a = roots.coarse[coarse], b = roots.fine[fine];
        const double re = a.re * b.re - a.im * b.im, im = (a.re * b.im + a.im * b.re) * (turns->back ? -1 : 1);
        kn_put_real(t, to, 2 * i, re * by.re - im * by.im);
        kn_put_real(t, to, 2 * i + 1, re * by.im + im * by.re);
    }
    kn_roots_free(&roots);
    return RT_OK;
}

/* ---- passes ---- */

/* The radix of the next pass, 0 when the greatest prime factor of n is too large. */
static int next_radix(int64_t n)
{
    static const int first[] = {4, 2, 3, 5};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (n % first[i] == 0) return first[i];
    for (int p = 7; p <= LARGEST; p += 2)
        if (n % p == 0) return p;
    return 0;
}

bool kn_fft_smooth(int64_t n)
{
    while (n > 1) {
        int r = next_radix(n);
        if (!r) return false;
        n /= r;
    }
    return true;
}

static int64_t find_passes(struct kn_fft_plan *p)
{
    int64_t numbers = 0;
    for (int64_t left = p->n; left > 1;) {
        int r = p->radix[p->passes++] = next_radix(left);
        left /= r;
        numbers += 2 * r * (left + 1);
    }
    return numbers;
}

static void put_root(const struct kn_fft_plan *p, const struct kn_roots *roots, int64_t k, int64_t re, int64_t im)
{
    struct rt_complex w = kn_root(roots, k);
    kn_put_real(p->dtype, p->roots, re, w.re);
    kn_put_real(p->dtype, p->roots, im, w.im);
}

static void fill_passes(const struct kn_fft_plan *p, const struct kn_roots *roots)
{
    int64_t n = p->n, left = n, at = 0;
    for (int pass = 0; pass < p->passes; pass++) {
        int r = p->radix[pass];
        int64_t unit = n / left; /* w of this pass is the n-th root to this power */
        for (int j = 0; j < r; j++, at += 2) put_root(p, roots, n / r * j, at, at + 1);
        left /= r;
        for (int64_t i = 0; i < left; i++, at += 2 * r)
            for (int k = 0; k < r; k++) put_root(p, roots, i * k * unit, at + k, at + r + k);
    }
}

static struct kn_fft_plan *plan_new(int64_t n, enum rt_dtype t, bool unpacks)
{
    struct kn_roots roots;
    struct kn_fft_plan *p = rt_alloc(sizeof *p);
    if (!p) return NULL;
    *p = (struct kn_fft_plan){.n = n, .dtype = t, .unpacks = unpacks};
    int64_t numbers = unpacks ? 2 * (n / 4 + 1) : find_passes(p);
    p->bytes = (size_t)(numbers + 1) * kn_real_size(t);
    p->roots = rt_alloc(p->bytes);
    if (!p->roots || kn_roots_make(n, &roots, NULL) != RT_OK) {
        free(p->roots);
        free(p);
        return NULL;
    }
    if (unpacks)
        for (int64_t k = 0; k <= n / 4; k++) put_root(p, &roots, k, 2 * k, 2 * k + 1);
    else
        fill_passes(p, &roots);
    kn_roots_free(&roots);
    return p;
}

/* ---- kept plans: their tables take as long as transforms of some thousand elements ---- */

#define KEPT      16
#define KEPT_EACH (1 << 18) /* bytes */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kn_fft_plan *kept[KEPT];
static uint64_t uses;

static void plan_free(struct kn_fft_plan *p)
{
    if (p) free(p->roots);
    free(p);
}

static struct kn_fft_plan *find(int64_t n, enum rt_dtype t, bool unpacks)
{
    for (int i = 0; i < KEPT; i++)
        if (kept[i] && kept[i]->n == n && kept[i]->dtype == t && kept[i]->unpacks == unpacks) return kept[i];
    return NULL;
}

/* Puts a new plan in the place of what nobody uses, and was not used for the longest time. */
static void keep(struct kn_fft_plan *p)
{
    struct kn_fft_plan **oldest = NULL;
    for (int i = 0; i < KEPT; i++) {
        if (kept[i] && kept[i]->users > 0) continue;
        if (!oldest || !kept[i] || (*oldest && kept[i]->used < (*oldest)->used)) oldest = &kept[i];
        if (!kept[i]) break;
    }
    if (!oldest || p->bytes > KEPT_EACH || find(p->n, p->dtype, p->unpacks)) return;
    plan_free(*oldest);
    *oldest = p;
    p->kept = true;
}

static struct kn_fft_plan *use(struct kn_fft_plan *p)
{
    if (!p) return NULL;
    p->users++;
    p->used = ++uses;
    return p;
}

enum rt_status kn_fft_plan_of(int64_t n, enum rt_dtype t, bool unpacks, const struct kn_fft_plan **out,
                              struct rt_error *e)
{
    pthread_mutex_lock(&lock);
    struct kn_fft_plan *p = use(find(n, t, unpacks));
    pthread_mutex_unlock(&lock);
    if (!p) {
        p = plan_new(n, t, unpacks);
        pthread_mutex_lock(&lock);
        if (use(p)) keep(p);
        pthread_mutex_unlock(&lock);
    }
    *out = p;
    return p ? RT_OK : rt_fail(e, RT_NOMEM, "out of memory for the roots of a Fourier transform");
}

void kn_fft_plan_done(const struct kn_fft_plan *plan)
{
    if (!plan) return;
    struct kn_fft_plan *p = (struct kn_fft_plan *)(uintptr_t)plan; /* ours, as kn_fft_plan_of made it */
    pthread_mutex_lock(&lock);
    const bool last = --p->users == 0 && !p->kept;
    pthread_mutex_unlock(&lock);
    if (last) plan_free(p);
}
