// NVIDIA's own algorithms over the runtime, which ask it which code there is; with checks, which have nothing to say of them.
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
#include "tests/cudart/program.h"

/* Calls f(scratch, bytes) for the size of its scratch memory, then with that. */
template <typename F> void with_scratch(F f)
{
    size_t bytes = 0;
    void *scratch = NULL;
    OK(f(scratch, bytes));
    OK(cudaMalloc(&scratch, bytes));
    OK(f(scratch, bytes));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(scratch));
}

TEST(a_reduction_of_the_device)
{
    const int n = 50000;
    int *x = managed<int>(n), *out = managed<int>(1);
    long long want = 0;
    for (int i = 0; i < n; i++) want += x[i] = i * 31 % 1000;
    with_scratch([&](void *scratch, size_t &bytes) { return cub::DeviceReduce::Sum(scratch, bytes, x, out, n); });
    CHECK_INT(*out, want);
    OK(cudaFree(x));
    OK(cudaFree(out));
}

struct flagged { /* with room between its members */
    bool odd;
    long long value;
};

struct later {
    __host__ __device__ flagged operator()(const flagged &a, const flagged &b) const
    {
        return a.odd != b.odd ? (a.odd ? a : b) : a.value < b.value ? b : a;
    }
};

struct by_value {
    __host__ __device__ bool operator()(const flagged &a, const flagged &b) const { return a.value < b.value; }
};

__global__ void fill(flagged *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i].odd = i & 1;
    x[i].value = i * 7919ll % n;
}

TEST(structures_are_reduced_and_sorted)
{
    const int n = 9001;
    flagged *x, *out = managed<flagged>(1);
    OK(cudaMalloc(&x, n * sizeof *x));
    fill<<<(n + 255) / 256, 256>>>(x, n);
    flagged most = {false, -1};
    with_scratch([&](void *s, size_t &bytes) { return cub::DeviceReduce::Reduce(s, bytes, x, out, n, later(), most); });
    for (int i = 0; i < n; i++) most = later()(most, flagged{(i & 1) != 0, i * 7919ll % n});
    CHECK_INT(out->value, most.value);
    with_scratch([&](void *s, size_t &bytes) { return cub::DeviceMergeSort::StableSortKeys(s, bytes, x, n, by_value()); });
    flagged *sorted = (flagged *)malloc(n * sizeof *sorted);
    OK(cudaMemcpy(sorted, x, n * sizeof *sorted, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (sorted[i].value != i) CHECK_INT(sorted[i].value, i);
    free(sorted);
    OK(cudaFree(x));
    OK(cudaFree(out));
}

TEST(runs_become_one_in_place_and_are_found)
{
    const int n = 40000;
    int *x = managed<int>(n), *starts = managed<int>(n), *lengths = managed<int>(n), *count = managed<int>(1);
    int runs = 0, long_runs = 0, before = 0;
    for (int i = 0; i < n; i++) x[i] = i * (i % 1000 + 7ll) / 1500 % 100000;
    for (int i = 0; i < n; i++) {
        if (i && x[i] != x[i - 1]) before = i;
        runs += i == before;
        long_runs += i == before + 1;
    }
    with_scratch([&](void *scratch, size_t &bytes) {
        return cub::DeviceRunLengthEncode::NonTrivialRuns(scratch, bytes, x, starts, lengths, count, n);
    });
    CHECK_INT(*count, long_runs);
    for (int k = 0; k < *count; k++) {
        int end = starts[k] + lengths[k], first = x[starts[k]];
        bool right = (!starts[k] || x[starts[k] - 1] != first) && (end == n || x[end] != first) && lengths[k] > 1;
        for (int i = starts[k]; i < end; i++) right &= x[i] == first;
        if (!right) CHECK_INT(k, -1);
    }
    with_scratch([&](void *s, size_t &bytes) { return cub::DeviceSelect::Unique(s, bytes, x, x, count, n); });
    CHECK_INT(*count, runs);
    for (int k = 1; k < *count; k++)
        if (x[k] == x[k - 1]) CHECK_INT(k, -1);
    OK(cudaFree(x));
    OK(cudaFree(starts));
    OK(cudaFree(lengths));
    OK(cudaFree(count));
}

TEST(checks_have_nothing_to_say_of_them)
{
    char path[1000], command[1200], line[2000];
    int processes = 0;
    if (getenv("LUNARRAY_CHECK")) return;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(length > 0);
    path[length] = 0;
    snprintf(command, sizeof command, "LUNARRAY_CHECK=1 %s 2>&1 | grep -a checked,", path);
    FILE *f = popen(command, "r");
    CHECK(f != NULL);
    for (; fgets(line, sizeof line, f); processes++) CHECK(strstr(line, " launches checked, 0 reports\n") != NULL);
    CHECK_INT(pclose(f), 0);
    CHECK_INT(processes, 3);
}
