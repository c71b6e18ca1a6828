/* Textures and surfaces over arrays and plain memory: what is fetched, against what is computed here. */
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
    "}\n"
    "extern \"C\" __global__ void paint(cudaSurfaceObject_t s) {\n"
    "  surfCubemapLayeredwrite(100.f * blockIdx.x + 10 * threadIdx.y + threadIdx.x, s, threadIdx.x * 4, threadIdx.y,\n"
    "                          blockIdx.x);\n"
    "}\n"
    "extern \"C\" __global__ void around(cudaTextureObject_t t, const float3 *d, float *y, int layer) {\n"
    "  float3 v = d[threadIdx.x];\n"
    "  y[threadIdx.x] = layer < 0 ? texCubemap<float>(t, v.x, v.y, v.z) : texCubemapLayered<float>(t, v.x, v.y, v.z, layer);\n"
    "}\n"
    /* what CUDA C++ has no functions for */
    "extern \"C\" __global__ void by_hand(cudaTextureObject_t flat, cudaTextureObject_t layers, unsigned short *h,\n"
    "                                   unsigned *pairs, float *g, int *width) {\n"
    "  asm(\"tex.2d.v4.f16.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];\"\n"
    "      : \"=h\"(h[0]), \"=h\"(h[1]), \"=h\"(h[2]), \"=h\"(h[3]) : \"l\"(flat), \"f\"(3.5f), \"f\"(2.5f));\n"
    "  asm(\"tex.2d.v2.f16x2.f32 {%0, %1}, [%2, {%3, %4}];\"\n"
    "      : \"=r\"(pairs[0]), \"=r\"(pairs[1]) : \"l\"(flat), \"f\"(3.5f), \"f\"(2.5f));\n"
    "  asm(\"tld4.r.a2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %6, %6}];\"\n"
    "      : \"=f\"(g[0]), \"=f\"(g[1]), \"=f\"(g[2]), \"=f\"(g[3]) : \"l\"(layers), \"r\"(1), \"f\"(2.f));\n"
    "  asm(\"txq.level.width.b32 %0, [%1], %2;\" : \"=r\"(*width) : \"l\"(flat), \"r\"(0));\n"
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

/* Integers that stay integers are not filtered. */
TEST(a_filter_over_integers_changes_nothing)
{
    start();
    CUfunction f = function_of(load("extern \"C\" __global__ void bytes(cudaTextureObject_t t, int *y) {\n"
                                    "  y[threadIdx.x] = tex2D<unsigned char>(t, 0.45f * threadIdx.x, 0.5f);\n"
                                    "}\n"),
                               "bytes");
    CUdeviceptr p, y;
    CUtexObject t;
    unsigned char row[W] = {7, 90, 200, 3};
    int out[W];
    OK(cuMemAlloc(&p, 512));
    OK(cuMemsetD8(p, 0, 512));
    OK(cuMemcpyHtoD(p, row, sizeof row));
    OK(cuMemAlloc(&y, sizeof out));
    CUDA_TEXTURE_DESC d = {.filterMode = CU_TR_FILTER_MODE_LINEAR, .flags = CU_TRSF_READ_AS_INTEGER}, got;
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_PITCH2D,
                            .res.pitch2D = {.devPtr = p,
                                            .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                            .numChannels = 1,
                                            .width = W,
                                            .height = 1,
                                            .pitchInBytes = 512}};
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    OK(cuTexObjectGetTextureDesc(&got, t));
    CHECK_INT(got.filterMode, CU_TR_FILTER_MODE_LINEAR);
    OK(cuLaunchKernel(f, 1, 1, 1, W, 1, 1, 0, NULL, (void *[]){&t, &y}, NULL));
    OK(cuMemcpyDtoH(out, y, sizeof out));
    for (int i = 0; i < W; i++) CHECK_INT(out[i], row[(int)(0.45f * (float)i)]);
    OK(cuTexObjectDestroy(t));
    stop();
}

/* Texels in another format of their size: the bits of a float as bytes, the last of them first of all its exponent. */
TEST(textures_see_other_formats)
{
    start();
    CUfunction f = function_of(load("extern \"C\" __global__ void bytes(cudaTextureObject_t t, uchar4 *y) {\n"
                                    "  y[threadIdx.x] = tex2D<uchar4>(t, threadIdx.x, 1);\n"
                                    "}\n"),
                               "bytes");
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = image(0)};
    CUDA_TEXTURE_DESC d = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = W, .height = H}, got;
    CUtexObject same, t;
    CUdeviceptr y;
    float out[H][W], texels[W];
    OK(cuTexObjectCreate(&same, &r, &d, &view));
    sample(function_of(load(source), "sample2"), same, 0.5f, 1, out);
    CHECK_NEAR(out[1][3], 13, 0);
    view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
    OK(cuTexObjectCreate(&t, &r, &d, &view));
    OK(cuTexObjectGetResourceViewDesc(&got, t));
    CHECK_INT(got.format, CU_RES_VIEW_FORMAT_UINT_4X8);
    OK(cuMemAlloc(&y, sizeof texels));
    OK(cuLaunchKernel(f, 1, 1, 1, W, 1, 1, 0, NULL, (void *[]){&t, &y}, NULL));
    OK(cuMemcpyDtoH(texels, y, sizeof texels));
    for (int x = 0; x < W; x++) CHECK_NEAR(texels[x], 10 + x, 0);
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
    CUarray a = image(CUDA_ARRAY3D_SURFACE_LDST), b = image(0); /* the flag is for references */
    CUsurfObject from, to;
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
    stop();
}

/* The texel of a cube's face that a direction goes to: for each face the axis and its sign, and those of the columns
 * and the rows. */
static float cube_texel(const float v[3], int size, int cube)
{
    static const int faces[6][6] = {{0, 1, 2, -1, 1, -1}, {0, -1, 2, 1, 1, -1}, {1, 1, 0, 1, 2, 1},
                                    {1, -1, 0, 1, 2, -1}, {2, 1, 0, 1, 1, -1},  {2, -1, 0, -1, 1, -1}};
    for (int f = 0; f < 6; f++) {
        const int *g = faces[f];
        float main = v[g[0]] * (float)g[1], s = v[g[2]] * (float)g[3] / main, t = v[g[4]] * (float)g[5] / main;
        if (main <= 0 || s < -1 || s > 1 || t < -1 || t > 1) continue;
        int x = (int)((s + 1) / 2 * (float)size), y = (int)((t + 1) / 2 * (float)size);
        return (float)(100 * (6 * cube + f) + 10 * y + x);
    }
    return -1;
}

static void look_around(CUmodule m, CUarray a, int size, int cube, bool layered)
{
    enum { N = 256 };
    float d[N][3], got[N];
    unsigned random = 1;
    CUdeviceptr from, to;
    CUtexObject t;
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
    CUDA_TEXTURE_DESC s = {.filterMode = CU_TR_FILTER_MODE_POINT, .flags = CU_TRSF_NORMALIZED_COORDINATES};
    OK(cuMemAlloc(&from, sizeof d));
    OK(cuMemAlloc(&to, sizeof got));
    for (int k = 0; k < N * 3; k++)
        d[k / 3][k % 3] = (float)(int)((random = random * 1664525 + 1013904223) >> 8) - 0x1p23f;
    OK(cuMemcpyHtoD(from, d, sizeof d));
    OK(cuTexObjectCreate(&t, &r, &s, NULL));
    int layer = layered ? cube : -1;
    void *parameters[] = {&t, &from, &to, &layer};
    OK(cuLaunchKernel(function_of(m, "around"), 1, 1, 1, N, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(got, to, sizeof got));
    for (int k = 0; k < N; k++) CHECK_NEAR(got[k], cube_texel(d[k], size, cube), 0);
    OK(cuTexObjectDestroy(t));
    s.filterMode = CU_TR_FILTER_MODE_LINEAR; /* stays on the face: at its corner there is one texel */
    OK(cuTexObjectCreate(&t, &r, &s, NULL));
    d[0][0] = 1, d[0][1] = 0.9999f, d[0][2] = 0.9999f;
    d[1][0] = -4, d[1][1] = 0, d[1][2] = 0; /* amid four */
    OK(cuMemcpyHtoD(from, d, sizeof d));
    OK(cuLaunchKernel(function_of(m, "around"), 1, 1, 1, 2, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(got, to, sizeof got));
    CHECK_NEAR(got[0], 600 * cube, 0);
    CHECK_NEAR(got[1], 600 * cube + 100 + 11.0 * (size - 1) / 2, 0);
    s.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(cubes)
{
    start();
    enum { SIZE = 6 };
    CUmodule m = load(source);
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = SIZE,
                                 .Height = SIZE,
                                 .Depth = 12,
                                 .Format = CU_AD_FORMAT_FLOAT,
                                 .NumChannels = 1,
                                 .Flags = CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST};
    CUarray cubes, cube;
    CUsurfObject s;
    OK(cuArray3DCreate(&cubes, &d));
    d.Depth = 6, d.Flags = CUDA_ARRAY3D_CUBEMAP;
    OK(cuArray3DCreate(&cube, &d));
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = cubes};
    OK(cuSurfObjectCreate(&s, &r));
    void *parameters[] = {&s};
    OK(cuLaunchKernel(function_of(m, "paint"), 12, 1, 1, SIZE, SIZE, 1, 0, NULL, parameters, NULL));
    look_around(m, cubes, SIZE, 0, true);
    look_around(m, cubes, SIZE, 1, true);
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcArray = cubes,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = cube,
                       .WidthInBytes = SIZE * 4,
                       .Height = SIZE,
                       .Depth = 6};
    OK(cuMemcpy3D(&c));
    look_around(m, cube, SIZE, 0, false);
    d.Depth = 7;
    CHECK_INT(cuArray3DCreate(&cube, &d), CUDA_ERROR_INVALID_VALUE);
    d.Depth = 6, d.Height = 5;
    CHECK_INT(cuArray3DCreate(&cube, &d), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(fetches_by_hand)
{
    start();
    static const float around[] = {121, 122, 112, 111};
    float texels[2][H][W], got[4];
    uint16_t halves[8];
    int width;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = W,
                                 .Height = H,
                                 .Depth = 2,
                                 .Format = CU_AD_FORMAT_FLOAT,
                                 .NumChannels = 1,
                                 .Flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_TEXTURE_GATHER};
    CUarray layers;
    CUtexObject t[2];
    CUdeviceptr out;
    OK(cuArray3DCreate(&layers, &d));
    for (int k = 0; k < 2 * H * W; k++) (&texels[0][0][0])[k] = (float)(k / (H * W) * 100 + k / W % H * 10 + k % W);
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = texels,
                       .srcPitch = sizeof texels[0][0],
                       .srcHeight = H,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = layers,
                       .WidthInBytes = sizeof texels[0][0],
                       .Height = H,
                       .Depth = 2};
    OK(cuMemcpy3D(&c));
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = image(0)};
    CUDA_TEXTURE_DESC s = {.filterMode = CU_TR_FILTER_MODE_POINT};
    OK(cuTexObjectCreate(&t[0], &r, &s, NULL));
    r.res.array.hArray = layers;
    OK(cuTexObjectCreate(&t[1], &r, &s, NULL));
    OK(cuMemAlloc(&out, 64));
    CUdeviceptr pairs = out + 8, gathered = out + 16, size = out + 32;
    void *parameters[] = {&t[0], &t[1], &out, &pairs, &gathered, &size};
    OK(cuLaunchKernel(function_of(load(source), "by_hand"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(halves, out, sizeof halves));
    for (int k = 0; k < 8; k++) CHECK_INT(halves[k], k % 4 == 0 ? 0x4dc0 : k % 4 == 3 ? 0x3c00 : 0); /* 23, 0, 0, 1 */
    OK(cuMemcpyDtoH(got, gathered, sizeof got));
    for (int k = 0; k < 4; k++) CHECK_NEAR(got[k], around[k], 0);
    OK(cuMemcpyDtoH(&width, size, sizeof width));
    CHECK_INT(width, W);
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
    CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_UINT_1X8, .width = W, .height = H};
    CHECK_INT(cuTexObjectCreate(NULL, &r, &s, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, &view), CUDA_ERROR_INVALID_VALUE); /* other bytes of a texel */
    view.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, &view), CUDA_ERROR_NOT_SUPPORTED);
    view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, view.width = W / 2;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, &view), CUDA_ERROR_INVALID_VALUE);
    view.width = W, view.lastLayer = 1;
    CHECK_INT(cuTexObjectCreate(&t, &r, &s, &view), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuArrayCreate(&integers, &d));
    r.res.array.hArray = integers;
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
