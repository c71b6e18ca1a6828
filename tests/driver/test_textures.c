#include "tests/driver/program.h"

static const char source[] =
    "extern \"C\" __global__ void fetch1(cudaTextureObject_t t, float *y, int n) {\n"
    "  for (int i = 0; i < n; i++) y[i] = tex1Dfetch<float>(t, i);\n"
    "}\n"
    "extern \"C\" __global__ void sample2(cudaTextureObject_t t, float *y, float step, float from) {\n"
    "  y[threadIdx.y * blockDim.x + threadIdx.x] = tex2D<float>(t, from + threadIdx.x * step, from + threadIdx.y * step);\n"
    "}\n"
    "extern \"C\" __global__ void copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {\n"
    "  float v;\n"
    "  surf2Dread(&v, from, threadIdx.x * 4, threadIdx.y);\n"
    "  surf2Dwrite(v + 1, to, threadIdx.x * 4, threadIdx.y);\n"
    "}\n";

enum { W = 8, H = 4 };

static CUarray image(unsigned flags)
{
    CUarray a;
    float texels[H][W];
    CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = W, .Height = H, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flags};
    OK(cuArray3DCreate(&a, &d));
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) texels[y][x] = (float)(10 * y + x);
    }
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = texels,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = a,
                       .WidthInBytes = sizeof texels[0],
                       .Height = H};
    OK(cuMemcpy2D(&c));
    return a;
}

static void sample(CUfunction f, CUtexObject t, float from, float step, float out[H][W])
{
    CUdeviceptr y;
    OK(cuMemAlloc(&y, W * H * sizeof(float)));
    void *parameters[] = {&t, &y, &step, &from};
    OK(cuLaunchKernel(f, 1, 1, 1, W, H, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(out, y, W * H * sizeof(float)));
    OK(cuMemFree(y));
}

TEST(textures_over_arrays)
{
    start();
    CUfunction f = function_of(load(source), "sample2");
    CUarray a = image(0);
    CUtexObject t;
    float out[H][W];
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a}, got;
    CUDA_TEXTURE_DESC d = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP},
                           .filterMode = CU_TR_FILTER_MODE_POINT},
                      was;
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    sample(f, t, 0.5f, 1, out);
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) CHECK_NEAR(out[y][x], 10 * y + x, 0);
    }
    sample(f, t, 0.5f, 100, out); /* clamped to the last texel */
    CHECK_NEAR(out[H - 1][W - 1], 37, 0);
    OK(cuTexObjectGetResourceDesc(&got, t));
    CHECK(got.resType == r.resType && got.res.array.hArray == a);
    OK(cuTexObjectGetTextureDesc(&was, t));
    CHECK_INT(was.addressMode[0], CU_TR_ADDRESS_MODE_CLAMP);
    OK(cuTexObjectDestroy(t));
    CHECK_INT(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_HANDLE);
    d.filterMode = CU_TR_FILTER_MODE_LINEAR;
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    sample(f, t, 1, 1, out); /* half way between four texels */
    CHECK_NEAR(out[0][0], 5.5, 0);
    CHECK_NEAR(out[2][3], 28.5, 0);
    stop();
}

TEST(textures_over_plain_memory)
{
    start();
    CUmodule m = load(source);
    CUtexObject t;
    CUdeviceptr p, y;
    size_t pitch;
    int n = W;
    float in[W] = {3, 1, 4, 1, 5, 9, 2, 6}, out[W], square[H][W];
    OK(cuMemAlloc(&p, sizeof in));
    OK(cuMemAlloc(&y, sizeof in));
    OK(cuMemcpyHtoD(p, in, sizeof in));
    CUDA_TEXTURE_DESC d = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CUDA_RESOURCE_DESC r = {
        .resType = CU_RESOURCE_TYPE_LINEAR,
        .res.linear = {.devPtr = p, .format = CU_AD_FORMAT_FLOAT, .numChannels = 1, .sizeInBytes = sizeof in}};
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    void *parameters[] = {&t, &y, &n};
    OK(cuLaunchKernel(function_of(m, "fetch1"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(out, y, sizeof out));
    CHECK(memcmp(in, out, sizeof in) == 0);
    r.res.linear.devPtr = p + 4;
    CHECK_INT(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE); /* not aligned */
    r.res.linear.devPtr = p, r.res.linear.sizeInBytes = 400;
    CHECK_INT(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE); /* past the end */
    OK(cuMemAllocPitch(&p, &pitch, sizeof in, H, 4));
    OK(cuMemsetD32(p, 0x40000000, pitch / 4 * H));
    CUDA_RESOURCE_DESC rows = {.resType = CU_RESOURCE_TYPE_PITCH2D,
                               .res.pitch2D = {.devPtr = p,
                                               .format = CU_AD_FORMAT_FLOAT,
                                               .numChannels = 1,
                                               .width = W,
                                               .height = H,
                                               .pitchInBytes = pitch}};
    OK(cuTexObjectCreate(&t, &rows, &d, NULL));
    sample(function_of(m, "sample2"), t, 0.5f, 1, square);
    CHECK_NEAR(square[H - 1][W - 1], 2, 0);
    rows.res.pitch2D.pitchInBytes = 16;
    CHECK_INT(cuTexObjectCreate(&t, &rows, &d, NULL), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(surfaces)
{
    start();
    CUarray a = image(CUDA_ARRAY3D_SURFACE_LDST), b = image(CUDA_ARRAY3D_SURFACE_LDST), plain = image(0);
    CUsurfObject from, to, none;
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a}, got;
    float out[H][W];
    OK(cuSurfObjectCreate(&from, &r));
    r.res.array.hArray = b;
    OK(cuSurfObjectCreate(&to, &r));
    void *parameters[] = {&from, &to};
    OK(cuLaunchKernel(function_of(load(source), "copy"), 1, 1, 1, W, H, 1, 0, NULL, parameters, NULL));
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcArray = b,
                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = out,
                       .WidthInBytes = sizeof out[0],
                       .Height = H};
    OK(cuMemcpy2D(&c));
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) CHECK_NEAR(out[y][x], 10 * y + x + 1, 0);
    }
    OK(cuSurfObjectGetResourceDesc(&got, to));
    CHECK(got.res.array.hArray == b);
    CHECK_INT(cuTexObjectDestroy(to), CUDA_ERROR_INVALID_HANDLE);
    OK(cuSurfObjectDestroy(to));
    r.res.array.hArray = plain;
    CHECK_INT(cuSurfObjectCreate(&none, &r), CUDA_ERROR_INVALID_VALUE); /* not made for it */
    stop();
}

TEST(what_textures_refuse)
{
    start();
    CUtexObject t;
    CUarray a = image(0), integers;
    CUDA_ARRAY_DESCRIPTOR d = {.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_SIGNED_INT32, .NumChannels = 1};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
    CUDA_TEXTURE_DESC s = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
    CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_UINT_1X8};
    CHECK_INT(cuTexObjectCreate(NULL, &r, &s, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, &view), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuArrayCreate(&integers, &d));
    r.res.array.hArray = integers;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, NULL), CUDA_ERROR_INVALID_VALUE); /* integers are not filtered */
    s.filterMode = (CUfilter_mode)7;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, NULL), CUDA_ERROR_INVALID_VALUE);
    s.filterMode = CU_TR_FILTER_MODE_POINT, s.flags = 0x8000;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, NULL), CUDA_ERROR_INVALID_VALUE);
    r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, s.flags = 0;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, NULL), CUDA_ERROR_NOT_SUPPORTED);
    r.resType = CU_RESOURCE_TYPE_ARRAY, r.res.array.hArray = (CUarray)&r;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuTexObjectDestroy(0), CUDA_ERROR_INVALID_HANDLE);
    stop();
}
