// Loops around a compare-and-swap: a sum of doubles and the largest float, of n numbers, into `count` cells that are
// looked up, in global memory, as an array and as a variable, and in a block's shared memory. What the checks of the software GPU are measured on besides
// (check_bench.lua).
__device__ double add_double(double *to, double x) {
  unsigned long long *cell = (unsigned long long *)to, old = *cell, seen;
  do {
    seen = old;
    old = atomicCAS(cell, seen, __double_as_longlong(x + __longlong_as_double(seen)));
  } while (seen != old);
  return __longlong_as_double(old);
}
__device__ float max_float(float *to, float x) {
  int *cell = (int *)to, old = *cell, seen;
  do {
    seen = old;
    old = atomicCAS(cell, seen, __float_as_int(fmaxf(x, __int_as_float(seen))));
  } while (seen != old);
  return __int_as_float(old);
}
__device__ double cells[1000];
__device__ unsigned kept;
extern "C" {
__global__ void sum_variable(const double *x, const int *p, int n) { // cells that are a variable
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) add_double(&cells[p[i] % 1000], x[i]);
}
__global__ void keep_variable(const double *x, double *y, int n) { // places that a variable counts
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0.9) y[atomicInc(&kept, n - 1)] = x[i];
}
__global__ void sum_cells(const double *x, const int *p, double *y, int count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) add_double(&y[p[i] % count], x[i]);
}
__global__ void max_cells(const float *x, const int *p, float *y, int count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) max_float(&y[p[i] % count], x[i]);
}
__global__ void sum_shared(const double *x, const int *p, double *y, int count, int n) { // count: 256 at most
  __shared__ double s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    add_double(&s[p[i] % count], x[i]);
  __syncthreads();
  if (threadIdx.x < count) atomicAdd(&y[threadIdx.x], s[threadIdx.x]);
}
__global__ void max_shared(const float *x, const int *p, float *y, int count, int n) {
  __shared__ float s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    max_float(&s[p[i] % count], x[i]);
  __syncthreads();
  if (threadIdx.x < count) max_float(&y[threadIdx.x], s[threadIdx.x]);
}
}
