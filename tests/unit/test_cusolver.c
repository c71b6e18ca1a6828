/* Matrices that cuSOLVER is asked to factor, with a stand-in for it (tests/driver/cusolver.c) over the software GPU's
 * libcuda: factors of every dtype, tall, wide, in batches, transposed, beside their host's; what cuSOLVER can't do, and
 * what fails there, is the host's. */
#include "kernels/linalg.h"
#include "runtime/library.h"
#include "tests/unit/built.h"
#include "tests/unit/reference.h"

#define STAND_IN "tests/driver/libcusolver.so.12"

static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_FLOAT64, RT_COMPLEX64, RT_COMPLEX128, RT_FLOAT16};
static int *factorings, *failure;

/* The GPU; what the stand-in was asked for, and is to fail with, is known from then on. */
static struct rt_device *start(void)
{
    if (!rt_library_find(RT_LIB_OPENBLAS)->path) SKIP("no OpenBLAS");
    setenv("LUNARRAY_CUDA", built("libcuda-simt.so"), 1);
    setenv("LUNARRAY_CUBLAS", "none", 1);
    setenv("LUNARRAY_CUSOLVER", built(STAND_IN), 1);
    struct rt_error e = {0};
    struct rt_device *d = rt_device_open("cuda", &e);
    if (!d) FAIL("%s", e.text);
    void *library = built_library(STAND_IN);
    factorings = dlsym(library, "stand_in_factorings");
    failure = dlsym(library, "stand_in_failure");
    if (!factorings || !failure) FAIL("%s", dlerror());
    return d;
}

/* On the host: random numbers, of which those of `positive` ones make Hermitian matrices that are positive definite. */
static struct rt_array matrices(enum rt_dtype t, int64_t count, int64_t rows, int64_t columns, bool positive)
{
    int64_t shape[] = {count, rows, columns};
    struct rt_array a = {0};
    uint32_t seed = 7;
    OK(rt_array_new(rt_device_open("cpu", e), t, 3, shape, &a, e));
    for (int64_t i = 0; i < rt_array_size(&a); i++) {
        int64_t row = i / columns % rows, column = i % columns;
        struct rt_complex v = {random_bits(&seed) % 1000 / 500.0 - 1, random_bits(&seed) % 1000 / 500.0 - 1};
        if (positive && column > row) v = (struct rt_complex){1.0 / (double)(1 + column - row), 0.5};
        if (positive && column < row) v = (struct rt_complex){1.0 / (double)(1 + row - column), -0.5};
        if (row == column) v = (struct rt_complex){v.re + (double)(rows + 2 * (row % 3)), 0};
        if (rt_is_complex(t))
            rt_store_complex(t, element(&a, i), v);
        else
            rt_store_double(t, element(&a, i), v.re);
    }
    return a;
}

/* Elements are of the size of the matrices' diagonals, a hundred and more. */
static void check_close(const struct rt_array *x, const struct rt_array *y, enum rt_dtype t, const char *what)
{
    ARRAYS difference = {0}, size = {0};
    double tolerance = t == RT_FLOAT16 ? 0.3 : rt_real_of(t) == RT_FLOAT64 ? 1e-10 : 1e-2;
    OK(kn_apply(KN_SUB, (struct kn_operand[]){of_array(x), of_array(y)}, &difference, e));
    OK(kn_apply(KN_ABS, (struct kn_operand[]){of_array(&difference)}, &size, e));
    for (int64_t i = 0; i < rt_array_size(&size); i++)
        if (!(get(&size, i) <= tolerance))
            FAIL("%s %s: [%lld] is off by %g", what, rt_dtypes[t].name, (long long)i, get(&size, i));
}

/* Factors on the GPU, with the results brought to the host; whether cuSOLVER was asked must be as expected. */
static void factor(enum kn_factoring what, const struct rt_array *a, const struct rt_array *b,
                   const struct kn_factor_options *options, struct rt_array *out, bool asked)
{
    struct rt_device *d = start();
    struct rt_array results[KN_FACTORS];
    ARRAYS x = {0}, y = {0};
    int before = *factorings;
    OK(kn_convert(a, a->dtype, d, &x, e));
    if (b) OK(kn_convert(b, b->dtype, d, &y, e));
    OK(kn_factor(what, &x, b ? &y : NULL, options, results, e));
    CHECK_INT(*factorings > before, asked);
    for (int i = 0; i < KN_FACTORS; i++) {
        out[i] = (struct rt_array){0};
        if (!results[i].storage) continue;
        CHECK(rt_array_device(&results[i]) == d && rt_array_contiguous(&results[i]));
        OK(kn_convert(&results[i], results[i].dtype, rt_array_device(a), &out[i], e));
        rt_array_release(&results[i]);
    }
}

static void release_all(struct rt_array *out)
{
    for (int i = 0; i < KN_FACTORS; i++) rt_array_release(&out[i]);
}

/* x y, or x y^H. */
static struct rt_array product(const struct rt_array *x, const struct rt_array *y, bool adjoint)
{
    ARRAYS right = {0};
    struct rt_array out = {0};
    if (adjoint) {
        ARRAYS conj = {0};
        OK(kn_apply(KN_CONJ, (struct kn_operand[]){of_array(y)}, &conj, e));
        OK(rt_array_permute(&conj, (int[]){0, 2, 1}, &right, e));
    } else {
        rt_array_share(y, &right);
    }
    OK(kn_matmul(x, &right, &out, e));
    return out;
}

/* x with its columns times the numbers w. */
static struct rt_array scaled(const struct rt_array *x, const struct rt_array *w)
{
    int64_t shape[] = {w->shape[0], 1, w->shape[1]};
    ARRAYS row = {0};
    struct rt_array out = {0};
    OK(rt_array_reshape(w, 3, shape, &row, e));
    OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(x), of_array(&row)}, &out, e));
    return out;
}

static void check_same_as_host(enum kn_factoring what, const struct rt_array *a, const struct rt_array *b, bool asked)
{
    struct rt_array got[KN_FACTORS], want[KN_FACTORS];
    factor(what, a, b, NULL, got, asked);
    OK(kn_factor(what, a, b, NULL, want, e));
    for (int i = what == KN_DET; i < KN_FACTORS; i++) { /* the determinants of such matrices may be infinite */
        CHECK((got[i].storage != NULL) == (want[i].storage != NULL));
        if (!want[i].storage) continue;
        CHECK_INT(got[i].dtype, want[i].dtype);
        check_close(&got[i], &want[i], a->dtype, "result");
    }
    release_all(got);
    release_all(want);
}

TEST(cusolver_systems)
{
    start();
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        enum rt_dtype t = dtypes[k];
        ARRAYS a = matrices(t, 2, 130, 130, false), b = matrices(t, 1, 130, 3, false), turned = {0};
        OK(rt_array_permute(&a, (int[]){0, 2, 1}, &turned, e));
        check_same_as_host(KN_SOLVE, &a, &b, true);
        check_same_as_host(KN_SOLVE, &turned, &b, true);
        check_same_as_host(KN_INV, &turned, NULL, true);
        check_same_as_host(KN_DET, &a, NULL, true);
        ARRAYS p = matrices(t, 2, 130, 130, true);
        check_same_as_host(KN_CHOLESKY, &p, NULL, true);
    }
    ARRAYS a = matrices(RT_FLOAT64, 1, 130, 130, false), one = {0}, b = matrices(RT_FLOAT64, 1, 1, 130, false), v = {0};
    int64_t square[] = {130, 130}, n = 130;
    OK(rt_array_reshape(&a, 2, square, &one, e));
    OK(rt_array_reshape(&b, 1, &n, &v, e));
    check_same_as_host(KN_SOLVE, &one, &v, true);
}

static void check_qr(enum rt_dtype t, int64_t rows, int64_t columns, bool full)
{
    struct rt_array out[KN_FACTORS];
    ARRAYS a = matrices(t, 2, rows, columns, false);
    factor(KN_QR, &a, NULL, &(struct kn_factor_options){.full = full}, out, true);
    int64_t wide = full ? rows : rows < columns ? rows : columns;
    CHECK_INT(out[0].shape[2], wide);
    CHECK_INT(out[1].shape[1], wide);
    ARRAYS back = product(&out[0], &out[1], false), right = {0}, turned = {0}, one = {0}, conj = {0};
    check_close(&back, &a, t, "Q R");
    for (int64_t i = 0; i < wide * columns; i++)
        if (i / columns > i % columns) CHECK(get(&out[1], i) == 0);
    OK(rt_array_permute(&out[0], (int[]){0, 2, 1}, &turned, e));
    OK(kn_apply(KN_CONJ, (struct kn_operand[]){of_array(&turned)}, &conj, e));
    one = product(&conj, &out[0], false);
    for (int64_t i = 0; i < wide * wide; i++) CHECK_NEAR(get(&one, i), i % (wide + 1) == 0, 1e-2);
    release_all(out);
}

TEST(cusolver_qr)
{
    start();
    for (size_t k = 0; k < 4; k++) {
        check_qr(dtypes[k], 140, 125, false);
        check_qr(dtypes[k], 140, 125, true);
        check_qr(dtypes[k], 125, 140, k % 2);
    }
}

static void check_svd(enum rt_dtype t, int64_t rows, int64_t columns, bool full)
{
    struct rt_array out[KN_FACTORS], values[KN_FACTORS];
    ARRAYS a = matrices(t, 2, rows, columns, false);
    int64_t least = rows < columns ? rows : columns;
    factor(KN_SVD, &a, NULL, &(struct kn_factor_options){.full = full}, out, true);
    CHECK_INT(out[0].shape[2], full ? rows : least);
    CHECK_INT(out[2].shape[1], full ? columns : least);
    CHECK_INT(out[1].dtype, rt_real_of(t));
    ARRAYS u = {0}, vt = {0}, us = {0};
    OK(rt_array_slice(&out[0], 2, 0, least, 1, &u, e));
    OK(rt_array_slice(&out[2], 1, 0, least, 1, &vt, e));
    us = scaled(&u, &out[1]);
    ARRAYS back = product(&us, &vt, false), one = product(&out[2], &out[2], true);
    check_close(&back, &a, t, "U S V^H");
    for (int64_t i = 0, n = one.shape[1]; i < n * n; i++) CHECK_NEAR(get(&one, i), i % (n + 1) == 0, 1e-2);
    factor(KN_SVD, &a, NULL, &(struct kn_factor_options){.values = true}, values, true);
    check_close(&values[0], &out[1], t, "singular values");
    release_all(out);
    release_all(values);
}

TEST(cusolver_svd)
{
    start();
    for (size_t k = 0; k < 4; k++)
        for (int full = 0; full < 2; full++) {
            check_svd(dtypes[k], 140, 125, full);
            check_svd(dtypes[k], 125, 140, full);
        }
}

TEST(cusolver_eigh)
{
    start();
    for (size_t k = 0; k < 4; k++) {
        struct rt_array out[KN_FACTORS], values[KN_FACTORS];
        ARRAYS a = matrices(dtypes[k], 2, 130, 130, true);
        factor(KN_EIGH, &a, NULL, NULL, out, true);
        ARRAYS left = product(&a, &out[1], false), right = scaled(&out[1], &out[0]);
        check_close(&left, &right, dtypes[k], "A v");
        OK(kn_factor(KN_EIGH, &a, NULL, &(struct kn_factor_options){.values = true}, values, e));
        check_close(&values[0], &out[0], dtypes[k], "eigenvalues");
        release_all(values);
        factor(KN_EIGH, &a, NULL, &(struct kn_factor_options){.values = true}, values, true);
        check_close(&values[0], &out[0], dtypes[k], "eigenvalues alone");
        release_all(values);
        release_all(out);
    }
}

TEST(cusolver_is_not_asked)
{
    start();
    ARRAYS small = matrices(RT_FLOAT32, 1, 20, 20, true), b = matrices(RT_FLOAT32, 1, 140, 2, false);
    check_same_as_host(KN_INV, &small, NULL, false);
    ARRAYS a = matrices(RT_FLOAT64, 1, 140, 130, false);
    check_same_as_host(KN_LSTSQ, &a, &b, false);
}

TEST(cusolver_failures_are_the_hosts)
{
    struct rt_device *d = start();
    ARRAYS a = matrices(RT_FLOAT64, 1, 130, 130, true), b = matrices(RT_FLOAT64, 1, 130, 2, false), zero = {0};
    for (int nth = 1; nth < 3; nth++) { /* of LU and of the solution */
        *failure = nth;
        check_same_as_host(KN_SOLVE, &a, &b, true);
        *failure = nth;
        check_same_as_host(KN_INV, &a, NULL, true);
    }
    *failure = 0;
    OK(rt_array_new(d, RT_FLOAT64, 3, a.shape, &zero, e));
    OK(kn_fill(&zero, &(struct kn_operand){.i = 0}, e));
    struct rt_array out[KN_FACTORS];
    FAILS(RT_INVALID, "the matrix is singular (pivot 1 of 130", kn_factor(KN_INV, &zero, NULL, NULL, out, e));
    FAILS(RT_INVALID, "not positive definite", kn_factor(KN_CHOLESKY, &zero, NULL, NULL, out, e));
    OK(kn_fill(&zero, &(struct kn_operand){.is_float = true, .f = NAN}, e));
    FAILS(RT_INVALID, "holds NaN", kn_factor(KN_SVD, &zero, NULL, NULL, out, e));
    FAILS(RT_INVALID, "holds NaN", kn_factor(KN_EIGH, &zero, NULL, NULL, out, e));
    OK(kn_fill(&zero, &(struct kn_operand){.i = 0}, e)); /* of singular matrices there are determinants */
    OK(kn_factor(KN_DET, &zero, NULL, NULL, out, e));
    release_all(out);
}

TEST(cusolver_allocations_fail)
{
    struct rt_device *d = start();
    static const enum kn_factoring of[] = {KN_SOLVE, KN_DET, KN_CHOLESKY, KN_QR, KN_EIGH};
    ARRAYS a = matrices(RT_FLOAT64, 1, 130, 130, true), x = {0}, b = {0};
    OK(kn_convert(&a, RT_FLOAT64, d, &x, e));
    OK(kn_convert(&a, RT_FLOAT64, d, &b, e));
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        struct rt_array out[KN_FACTORS];
        struct rt_error error = {0};
        for (long nth = 1;; nth++) {
            int before = *factorings;
            rt_fail_allocation(nth);
            enum rt_status status = kn_factor(of[k], &x, of[k] == KN_SOLVE ? &b : NULL, NULL, out, &error);
            rt_fail_allocation(0);
            if (status != RT_OK) CHECK_INT(status, RT_NOMEM);
            for (int i = 0; i < KN_FACTORS && status != RT_OK; i++) CHECK(out[i].storage == NULL);
            rt_error_clear(&error);
            if (status != RT_OK) continue;
            release_all(out);
            if (*factorings - before == 1 + (of[k] == KN_SOLVE || of[k] == KN_QR)) break; /* nothing failed */
            CHECK(nth < 500);
        }
    }
}

TEST(cusolver_is_missing)
{
    start();
    setenv("LUNARRAY_CUSOLVER", "none", 1);
    ARRAYS a = matrices(RT_FLOAT64, 1, 130, 130, true), back = {0}, x = {0};
    struct rt_array out[KN_FACTORS];
    OK(kn_convert(&a, RT_FLOAT64, rt_device_open("cuda", e), &x, e));
    int before = *factorings;
    OK(kn_factor(KN_INV, &x, NULL, NULL, out, e));
    CHECK_INT(*factorings, before);
    release_all(out);
}
