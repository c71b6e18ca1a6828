/* The rival of the software GPU: the same kernels on the first OpenCL device (PoCL, on a machine without a GPU).
 * Prints "build MS" (of six_kernels.h), "build_course MS" (then of course_kernels.h), then "NAME BEST MEDIAN" in
 * milliseconds, of 9 runs after 2 to warm up. Build by `cc -O2 bench_opencl.c -lOpenCL`; run in the top folder. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUNS 9

static const char prelude[] = "#define KERNEL __kernel\n#define GLOBAL __global\n#define LOCAL __local\n"
                              "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n#define ATOMIC_ADD atomic_add\n"
                              "#define THREAD_X (int)get_local_id(0)\n#define THREAD_Y (int)get_local_id(1)\n"
                              "#define BLOCK_X (int)get_group_id(0)\n#define BLOCK_Y (int)get_group_id(1)\n"
                              "#define BLOCK_DIM_X (int)get_local_size(0)\n#define BLOCK_DIM_Y (int)get_local_size(1)\n"
                              "#define GRID_DIM_X (int)get_num_groups(0)\n#define EXP exp\n";
static cl_command_queue queue;
static cl_program six, course;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

struct argument {
    size_t size;
    const void *value;
};

static cl_program build(cl_context context, cl_device_id device, const char *text)
{
    const char *source[] = {prelude, text};
    cl_program program = clCreateProgramWithSource(context, 2, source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS) return program;
    fprintf(stderr, "the kernels cannot be built\n");
    exit(1);
}

static void measure(cl_program program, const char *kernel, const struct argument *arguments, cl_uint count,
                    const size_t global[2], const size_t local[2])
{
    double times[RUNS];
    cl_kernel k = clCreateKernel(program, kernel, NULL);
    for (cl_uint j = 0; j < count; j++) clSetKernelArg(k, j, arguments[j].size, arguments[j].value);
    for (int run = -2; run < RUNS; run++) {
        double start = now();
        if (clEnqueueNDRangeKernel(queue, k, 2, NULL, global, local, 0, NULL, NULL) != CL_SUCCESS) {
            fprintf(stderr, "%s cannot be launched\n", kernel);
            exit(1);
        }
        clFinish(queue);
        if (run >= 0) times[run] = now() - start;
    }
    qsort(times, RUNS, sizeof *times, compare);
    printf("%s %.3f %.3f\n", kernel, times[0], times[RUNS / 2]);
    clReleaseKernel(k);
}

static bool read_text(const char *path, char text[16384])
{
    FILE *f = fopen(path, "r");
    if (!f) return false;
    text[fread(text, 1, 16383, f)] = 0;
    fclose(f);
    return true;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    static char text[2][16384];
    if (!read_text("tests/bench/six_kernels.h", text[0]) || !read_text("tests/bench/course_kernels.h", text[1]))
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    double start = now();
    six = build(context, device, text[0]);
    printf("build %.3f\n", now() - start);
    start = now();
    course = build(context, device, text[1]);
    printf("build_course %.3f\n", now() - start);

    int side = 1024, wide = 2048, n = 4 << 20, rounds = 16, small = 256;
    float two = 2;
    size_t bytes = (size_t)n * 4;
    float *floats = malloc(bytes);
    int *bins = malloc(bytes);
    if (!floats || !bins) return 1;
    for (int i = 0; i < n; i++) {
        floats[i] = (float)rand() / (float)RAND_MAX;
        bins[i] = rand() & 255;
    }
    cl_mem a = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, floats, NULL);
    cl_mem b = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, floats, NULL);
    cl_mem c = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, floats, NULL);
    cl_mem g = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, bins, NULL);
    const struct argument A = {sizeof a, &a}, B = {sizeof b, &b}, C = {sizeof c, &c}, G = {sizeof g, &g},
                          COUNT = {4, &n}, SIDE = {4, &side}, TWO = {4, &two}, WIDE = {4, &wide}, ROUNDS = {4, &rounds},
                          SMALL = {4, &small};
    const size_t all[2] = {(size_t)n, 1}, some[2] = {65536, 1}, line[2] = {256, 1}, square[2] = {1024, 1024},
                 tile[2] = {16, 16}, million[2] = {1 << 20, 1}, quarter[2] = {1 << 18, 1}, plane[2] = {2048, 2048},
                 pairs[2] = {1 << 18, 1}, quad[2] = {256, 256};
    measure(six, "saxpy", (struct argument[]){COUNT, TWO, A, C}, 4, all, line);
    measure(six, "tiled_matmul", (struct argument[]){A, B, C, SIDE}, 4, square, tile);
    measure(six, "mandelbrot", (struct argument[]){C, SIDE, SIDE}, 3, square, tile);
    measure(six, "block_sum", (struct argument[]){A, C, COUNT}, 3, some, line);
    measure(six, "histogram", (struct argument[]){G, C, COUNT}, 3, some, line);
    measure(six, "transpose", (struct argument[]){A, C, SIDE}, 3, square, tile);
    measure(course, "stencil", (struct argument[]){A, C, WIDE}, 3, plane, tile);
    measure(course, "scan", (struct argument[]){A, C}, 2, million, line);
    measure(course, "softmax", (struct argument[]){A, C, SIDE}, 3, million, line);
    measure(course, "spmv", (struct argument[]){G, A, B, C}, 4, quarter, line);
    measure(course, "gray", (struct argument[]){G, C}, 2, million, line);
    measure(course, "sobel", (struct argument[]){G, C, SIDE}, 3, square, tile);
    measure(course, "sigmoid", (struct argument[]){A, C}, 2, million, line);
    measure(course, "structs", (struct argument[]){A, C}, 2, million, line);
    measure(course, "bitonic", (struct argument[]){A, C}, 2, pairs, line);
    measure(course, "hash", (struct argument[]){G, C, ROUNDS}, 3, million, line);
    measure(course, "matmul_bytes", (struct argument[]){G, G, C, SMALL}, 4, quad, tile);
    return 0;
}
