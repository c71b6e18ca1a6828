/* What a second core is worth on this machine: loops in plain C that do what six_kernels.h does, by one thread and by
 * several. Prints "NAME ONE SEVERAL": the best milliseconds of 15 runs each, in turn. Build by
 * `cc -O3 -march=native -pthread bench_plain.c`; the argument is the number of threads. With "read" behind it: what
 * they take to add up 2^24 floats, the least that anything takes which looks at all of them. */
#define _DEFAULT_SOURCE /* madvise */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define RUNS 15
#define SIDE 1024
#define MOST 64
static const size_t count = 4 << 20;
static float *a, *b, *c, sums[MOST][16];
static int *g, bins[MOST][256];
static volatile float seen; /* of results that nobody else looks at */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Each does part `part` of `parts`. */
static void saxpy(size_t part, size_t parts)
{
    for (size_t i = count * part / parts; i < count * (part + 1) / parts; i++) c[i] = 2 * a[i] + c[i];
}
static void matmul(size_t part, size_t parts)
{
    for (size_t i = SIDE * part / parts; i < SIDE * (part + 1) / parts; i++) {
        for (size_t j = 0; j < SIDE; j++) c[i * SIDE + j] = 0;
        for (size_t k = 0; k < SIDE; k++)
            for (size_t j = 0; j < SIDE; j++) c[i * SIDE + j] += a[i * SIDE + k] * b[k * SIDE + j];
    }
}
static void mandelbrot(size_t part, size_t parts)
{
    for (size_t y = part; y < SIDE; y += parts) /* rows in turn: some are longer than others */
        for (size_t x = 0; x < SIDE; x++) {
            float cr = -2 + 3.f * (float)x / SIDE, ci = -1 + 2.f * (float)y / SIDE, zr = 0, zi = 0;
            int i = 0;
            while (i < 200 && zr * zr + zi * zi < 4) {
                float t = zr * zr - zi * zi + cr;
                zi = 2 * zr * zi + ci;
                zr = t;
                i++;
            }
            c[y * SIDE + x] = (float)i;
        }
}
static void block_sum(size_t part, size_t parts)
{
    float v[16] = {0};
    for (size_t i = count * part / parts / 16 * 16; i < count * (part + 1) / parts / 16 * 16; i += 16)
        for (int l = 0; l < 16; l++) v[l] += a[i + (size_t)l];
    for (int l = 0; l < 16; l++) sums[part][l] = v[l];
    seen = sums[part][part % 16];
}
static void histogram(size_t part, size_t parts)
{
    for (size_t i = count * part / parts; i < count * (part + 1) / parts; i++) bins[part][g[i]]++;
    seen = (float)bins[part][part];
}
static void transpose(size_t part, size_t parts) /* rows of a tile in, rows out, as the kernel's blocks do */
{
    float tile[16][17];
    for (size_t y = SIDE / 16 * part / parts * 16; y < SIDE / 16 * (part + 1) / parts * 16; y += 16)
        for (size_t x = 0; x < SIDE; x += 16) {
            for (size_t i = 0; i < 16; i++)
                for (size_t j = 0; j < 16; j++) tile[i][j] = a[(y + i) * SIDE + x + j];
            for (size_t i = 0; i < 16; i++)
                for (size_t j = 0; j < 16; j++) c[(x + i) * SIDE + y + j] = tile[j][i];
        }
}

#define READ ((size_t)1 << 24)
static void read_all(size_t part, size_t parts)
{
    float v[64] = {0};
    for (size_t i = READ * part / parts / 64 * 64; i < READ * (part + 1) / parts / 64 * 64; i += 64)
        for (size_t l = 0; l < 64; l++) v[l] += a[i + l];
    for (size_t l = 0; l < 64; l++) sums[part][l % 16] += v[l];
    seen = sums[part][part % 16];
}

/* ---- threads, that wait for work at a barrier ---- */
static void (*work)(size_t, size_t); /* NULL: the end */
static pthread_barrier_t gate;
static size_t threads;

static void *run_parts(void *part)
{
    for (;;) {
        pthread_barrier_wait(&gate);
        if (!work) return NULL;
        work((size_t)part, threads);
        pthread_barrier_wait(&gate);
    }
}

static double once(void (*f)(size_t, size_t), int all)
{
    double start = now();
    work = f;
    if (all) pthread_barrier_wait(&gate);
    f(0, all ? threads : 1);
    if (all) pthread_barrier_wait(&gate);
    return now() - start;
}

/* The median of as many rounds as tests/bench has for arrays, of memory as they have it. */
static int by_time(const void *x, const void *y)
{
    return *(const double *)x > *(const double *)y ? 1 : -1;
}

static void print_read(void)
{
    double times[9];
    a = aligned_alloc((size_t)2 << 20, READ * sizeof *a);
    if (!a) return;
    madvise(a, READ * sizeof *a, MADV_HUGEPAGE);
    memset(a, 0, READ * sizeof *a);
    for (int run = 0; run < 11; run++) times[run < 2 ? 0 : run - 2] = once(read_all, 1);
    qsort(times, 9, sizeof *times, by_time);
    printf("read %.4f\n", times[4]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*f)(size_t, size_t);
    } cases[] = {{"saxpy", saxpy},         {"tiled_matmul", matmul}, {"mandelbrot", mandelbrot},
                 {"block_sum", block_sum}, {"histogram", histogram}, {"transpose", transpose}};
    pthread_t pool[MOST];
    threads = argc > 1 ? (size_t)atoi(argv[1]) : 2;
    if (threads < 1 || threads > MOST) return 1;
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    for (size_t t = 1; t < threads; t++) pthread_create(&pool[t], NULL, run_parts, (void *)t);
    if (argc > 2) {
        print_read();
        return 0;
    }
    a = malloc(count * sizeof *a), b = malloc(count * sizeof *b), c = malloc(count * sizeof *c);
    g = malloc(count * sizeof *g);
    if (!a || !b || !c || !g) return 1;
    for (size_t i = 0; i < count; i++) a[i] = (float)i, b[i] = 1, c[i] = 0, g[i] = rand() % 256;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double best[2] = {1e9, 1e9};
        for (int run = 0; run < 2 * (RUNS + 2); run++) {
            double t = once(cases[k].f, run & 1);
            if (run >= 4 && t < best[run & 1]) best[run & 1] = t;
        }
        printf("%s %.3f %.3f\n", cases[k].name, best[0], best[1]);
    }
    work = NULL;
    pthread_barrier_wait(&gate);
    for (size_t t = 1; t < threads; t++) pthread_join(pool[t], NULL);
    return 0;
}
