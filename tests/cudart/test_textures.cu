// Arrays, textures and surfaces.
#include "tests/cudart/program.h"

__global__ void sample(cudaTextureObject_t t, float *out, int width, int height)
{
    int x = threadIdx.x, y = threadIdx.y;
    out[y * width + x] = tex2D<float>(t, (x + 1.0f) / width, (y + 1.0f) / height);
}

static cudaTextureDesc description(cudaTextureFilterMode filter, bool normalized)
{
    cudaTextureDesc d = {};
    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = cudaAddressModeClamp;
    d.filterMode = filter;
    d.readMode = cudaReadModeElementType;
    d.normalizedCoords = normalized;
    return d;
}

TEST(a_texture_of_an_array)
{
    const int w = 8, h = 4;
    float v[w * h], *out = managed<float>(w * h);
    for (int i = 0; i < w * h; i++) v[i] = (float)i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), got_format;
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, w, h));
    OK(cudaMemcpy2DToArray(array, 0, 0, v, w * 4, w * 4, h, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {}, got_r;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    cudaTextureDesc d = description(cudaFilterModeLinear, true), got_d;
    cudaTextureObject_t t;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    sample<<<1, dim3(w, h)>>>(t, out, w, h);
    OK(cudaDeviceSynchronize());
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) // between four elements, those at the border twice
            CHECK_NEAR(out[y * w + x], x + 0.5 * (x < w - 1) + 8 * (y + 0.5 * (y < h - 1)), 1e-5);
    OK(cudaGetTextureObjectResourceDesc(&got_r, t));
    CHECK(got_r.resType == cudaResourceTypeArray && got_r.res.array.array == array);
    OK(cudaGetTextureObjectTextureDesc(&got_d, t));
    CHECK(got_d.normalizedCoords && got_d.filterMode == cudaFilterModeLinear &&
          got_d.readMode == cudaReadModeElementType);
    cudaExtent extent;
    unsigned flags;
    OK(cudaArrayGetInfo(&got_format, &extent, &flags, array));
    CHECK(got_format.x == 32 && got_format.y == 0 && got_format.f == cudaChannelFormatKindFloat);
    CHECK(extent.width == w && extent.height == h && extent.depth == 0 && flags == 0);
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
    OK(cudaFree(out));
    format = cudaCreateChannelDesc<unsigned char>();
    OK(cudaMallocArray(&array, &format, w, h));
    r.res.array.array = array;
    REFUSES(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidFilterSetting); // integers stay integers
    d.readMode = cudaReadModeNormalizedFloat;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
    format.x = 24;
    REFUSES(cudaMallocArray(&array, &format, w, h), cudaErrorInvalidChannelDescriptor);
}

__global__ void invert(cudaSurfaceObject_t s)
{
    uchar4 v;
    surf2Dread(&v, s, threadIdx.x * 4, threadIdx.y);
    v.x = (unsigned char)(255 - v.x);
    surf2Dwrite(v, s, threadIdx.x * 4, threadIdx.y);
}

TEST(a_surface_and_rows_that_go_on)
{
    unsigned char v[64], back[64];
    for (int i = 0; i < 64; i++) v[i] = (unsigned char)i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array, other;
    OK(cudaMallocArray(&array, &format, 4, 4, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&other, &format, 8, 2));
    OK(cudaMemcpy2DToArray(array, 0, 0, v, 16, 16, 4, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    cudaSurfaceObject_t s;
    OK(cudaCreateSurfaceObject(&s, &r));
    invert<<<1, dim3(4, 4)>>>(s);
    OK(cudaMemcpyArrayToArray(other, 0, 0, array, 0, 0, 64));
    OK(cudaMemcpyFromArray(back, other, 0, 0, 64, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) CHECK_INT(back[i], i % 4 ? i : 255 - i);
    OK(cudaMemcpyToArray(array, 12, 1, v, 8, cudaMemcpyHostToDevice)); // the last of row 1, the first of row 2
    OK(cudaMemcpy2DFromArray(back, 16, array, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
    CHECK_INT(back[28], 0);
    CHECK_INT(back[35], 7);
    CHECK_INT(back[36], 255 - 36);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));
}

__global__ void fetch(cudaTextureObject_t t, float *out)
{
    float4 v = tex1Dfetch<float4>(t, threadIdx.x);
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

__global__ void volume(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex3D<float>(t, threadIdx.x + 0.5f, 1.5f, 2.5f);
}

TEST(textures_of_memory_and_of_boxes)
{
    float4 *v = managed<float4>(32);
    float *out = managed<float>(32), box[64];
    for (int i = 0; i < 32; i++) v[i] = make_float4((float)i, 1, 2, 3);
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = v;
    r.res.linear.desc = cudaCreateChannelDesc<float4>();
    r.res.linear.sizeInBytes = 32 * sizeof *v;
    cudaTextureDesc d = {};
    cudaTextureObject_t t;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    fetch<<<1, 32>>>(t, out);
    OK(cudaDeviceSynchronize());
    CHECK_NEAR(out[31], 37, 0);
    OK(cudaDestroyTextureObject(t));

    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    for (int i = 0; i < 64; i++) box[i] = (float)i;
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(4, 4, 4)));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(box, 16, 4, 4);
    p.dstArray = array;
    p.extent = make_cudaExtent(4, 4, 4);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    d = description(cudaFilterModePoint, false);
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    volume<<<1, 4>>>(t, out);
    OK(cudaDeviceSynchronize());
    CHECK_NEAR(out[3], 3 + 4 * 1 + 16 * 2, 0);
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
    OK(cudaFree(v));
    OK(cudaFree(out));
}

__global__ void along(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex1D<float4>(t, threadIdx.x / 8.0f).z; // many lanes together, and two of another warp alone
}

TEST(an_array_of_one_row_is_a_line)
{
    float4 v[4], back[4];
    float *out = managed<float>(34);
    for (int i = 0; i < 4; i++) v[i] = make_float4(0, 1, (float)i, 3);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, 4, 1));
    OK(cudaMemcpy2DToArray(array, 0, 0, v, 0, sizeof v, 1, cudaMemcpyHostToDevice)); // a single row needs no pitch
    OK(cudaMemcpy2DFromArray(back, 0, array, 0, 0, sizeof v, 1, cudaMemcpyDeviceToHost));
    CHECK_NEAR(back[3].z, 3, 0);
    CHECK_INT(cudaMemcpy2DToArray(array, 0, 0, v, 16, sizeof v, 1, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    cudaTextureDesc d = description(cudaFilterModeLinear, true);
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeBorder; // above and below the row there is nothing to mix in
    cudaTextureObject_t t;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    along<<<1, 34>>>(t, out);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 34; i++) {
        float x = i / 2.0f - 0.5f; // between elements, with zeros beside the first and the last
        float want = x < 0 || x >= 4 ? 0 : x <= 3 ? x : 3 * (4 - x);
        CHECK_NEAR(out[i], want, 0);
    }
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
    OK(cudaFree(out));
}
