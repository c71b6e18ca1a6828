/* The factors of sparse matrices: orders of elimination of all kinds of graphs, what solves, memory that fails. */
#include "kernels/sparse_lu.h"
#include "runtime/memory.h"
#include "tests/unit/reference.h"

/* A matrix with an inverse: its diagonal is greater than the rest of each row together. `places` says for each element
 * whether it is there. */
static struct kn_csr make_matrix(int32_t n, const bool *places, uint32_t seed)
{
    struct kn_csr a = {0};
    int64_t count = 0, at = 0;
    for (int32_t i = 0; i < n * n; i++) count += places[i] || i % (n + 1) == 0;
    OK(kn_csr_new(rt_device_open("cpu", e), RT_FLOAT64, n, n, count, &a, e));
    int64_t *starts = rt_array_host(&a.starts);
    int32_t *indices = rt_array_host(&a.indices);
    double *data = rt_array_host(&a.data);
    for (int32_t i = 0; i < n; i++) {
        starts[i] = at;
        for (int32_t j = 0; j < n; j++) {
            if (!places[i * n + j] && i != j) continue;
            indices[at] = j;
            data[at++] = i == j ? n + 1 : (random_bits(&seed) % 2001) / 1000.0 - 1;
        }
    }
    starts[n] = at;
    return a;
}

static void check_solution(const struct kn_csr *a, const struct kn_lu *lu)
{
    const int64_t n = a->rows, *starts = rt_array_host(&a->starts);
    const int32_t *indices = rt_array_host(&a->indices);
    const double *data = rt_array_host(&a->data);
    double x[64], work[64];
    for (int64_t i = 0; i < n; i++) x[i] = (double)(i + 1);
    kn_lu_solve(lu, x, work);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = starts[i]; k < starts[i + 1]; k++) sum += data[k] * x[indices[k]];
        CHECK_NEAR(sum, (double)(i + 1), 1e-10);
    }
}

static void check_order(int32_t n, const int32_t *order)
{
    bool seen[64] = {0};
    for (int32_t i = 0; i < n; i++) {
        CHECK(order[i] >= 0 && order[i] < n && !seen[order[i]]);
        seen[order[i]] = true;
    }
}

static void check_graph(int32_t n, const bool *places, uint32_t seed)
{
    struct kn_csr a = make_matrix(n, places, seed);
    struct kn_lu lu;
    OK(kn_lu_factor(&a, &lu, e));
    check_order(n, lu.rows);
    check_order(n, lu.columns);
    check_solution(&a, &lu);
    kn_lu_release(&lu);
    kn_csr_release(&a);
}

/* Sparse and dense, symmetric or not, with rows that most others are beside, and of several parts. */
TEST(orders_of_random_graphs)
{
    static bool places[64 * 64];
    uint32_t seed = 7;
    for (int round = 0; round < 600; round++) {
        int32_t n = 1 + (int32_t)(random_bits(&seed) % 60);
        uint32_t one_of = 2 + random_bits(&seed) % 30, part = 1 + random_bits(&seed) % 3, kind = random_bits(&seed) % 4;
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n; j++) {
                bool there = random_bits(&seed) % one_of == 0 && (uint32_t)(i % 3) % part == (uint32_t)(j % 3) % part;
                places[i * n + j] = there || (kind == 1 && (i < 2 || j < 2)) || (kind == 2 && i == n - 1);
                if (kind == 3 && j < i) places[i * n + j] = places[j * n + i];
            }
        check_graph(n, places, seed);
    }
}

/* Neighbours in a grid of 6 x 10, whose band is too wide to be eliminated as it is. */
static struct kn_csr make_grid(void)
{
    enum { N = 60 };
    static bool places[N * N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int across = abs(i % 10 - j % 10), down = abs(i / 10 - j / 10);
            places[i * N + j] = across + down <= 1;
        }
    return make_matrix(N, places, 3);
}

TEST(memory_of_the_factors)
{
    struct kn_csr a = make_grid();
    struct kn_lu lu;
    size_t before = rt_memory_held();
    OK(kn_lu_factor(&a, &lu, e));
    CHECK(rt_memory_held() >= before + 60 * sizeof(double) + (size_t)lu.lower.starts[60] * 12);
    kn_lu_release(&lu);
    CHECK_INT(rt_memory_held(), before);
    kn_lu_release(&lu);
    CHECK_INT(rt_memory_held(), before);
    long nth = 1;
    for (;; nth++) {
        struct rt_error error = {0};
        rt_fail_allocation(nth);
        enum rt_status status = kn_lu_factor(&a, &lu, &error);
        rt_fail_allocation(0);
        if (status == RT_OK) break;
        CHECK_INT(status, RT_NOMEM);
        kn_lu_release(&lu);
        CHECK_INT(rt_memory_held(), before);
        rt_error_clear(&error);
    }
    CHECK(nth > 20);
    check_solution(&a, &lu);
    kn_lu_release(&lu);
    kn_csr_release(&a);
}

TEST(what_is_no_number)
{
    static const bool places[9] = {[3] = true, [6] = true};
    struct kn_lu lu;
    for (int k = 0; k < 3; k++) { /* in front of the diagonal, in the part of U, and on it */
        struct kn_csr a = make_matrix(3, places, 1);
        ((double *)rt_array_host(&a.data))[(const int[]){1, 3, 4}[k]] = k == 1 ? INFINITY : NAN;
        FAILS(RT_INVALID, k == 0 ? "in row 2" : "in row 3", kn_lu_factor(&a, &lu, e));
        kn_lu_release(&lu);
        kn_csr_release(&a);
    }
}
