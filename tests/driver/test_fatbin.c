/* Fat binaries: which of their texts is run, and what is wrong with them. */
#include "tests/driver/program.h"

/* A fat binary as nvcc makes it, with one entry, stored as it is or as LZ4 of literals only. */
static void *fatbin_of(const char *ptx, bool packed)
{
    size_t n = strlen(ptx), stored = n + (packed ? 2 + (n - 15) / 255 : 0), room = (stored + 7) / 8 * 8;
    unsigned char *image = calloc(1, 16 + 80 + room), *e = image + 16, *data = e + 80;
    uint64_t size = 80 + room, flags = packed ? 0x2011 : 0x11, length = n;
    uint32_t magic = 0xBA55ED50, header = 80, target = 80, used = packed ? (uint32_t)stored : 0;
    memcpy(image, &magic, 4);
    image[4] = 1, image[6] = 16;
    memcpy(image + 8, &size, 8);
    e[0] = 1, e[2] = 1, e[3] = 1;
    memcpy(e + 4, &header, 4);
    memcpy(e + 8, &room, 8);
    memcpy(e + 16, &used, 4);
    memcpy(e + 28, &target, 4);
    memcpy(e + 40, &flags, 8);
    memcpy(e + 56, &length, 8);
    if (packed) {
        *data++ = 0xF0;
        size_t left = n - 15;
        for (; left >= 255; left -= 255) *data++ = 255;
        *data++ = (unsigned char)left;
    }
    memcpy(data, ptx, n);
    return image;
}

TEST(fat_binaries)
{
    start();
    CUmodule m;
    char *ptx = compile("extern \"C\" __global__ void scaled(float *x) { x[threadIdx.x] *= 2; }", false),
         error[200] = "";
    for (int packed = 0; packed < 2; packed++) {
        unsigned char *image = fatbin_of(ptx, packed);
        struct {
            uint32_t magic, version;
            void *data, *name;
        } wrapper = {0x466243B1, 1, image, NULL};
        OK(cuModuleLoadFatBinary(&m, image));
        function_of(m, "scaled");
        OK(cuModuleLoadData(&m, &wrapper));
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {error, (void *)sizeof error};
        image[16] = 2; /* binary code */
        CHECK_INT(cuModuleLoadDataEx(&m, image, 2, options, values), CUDA_ERROR_NO_BINARY_FOR_GPU);
        CHECK_HAS(error, "compute_80");
        if (packed) {
            image[16] = 1, image[16 + 80 + 1] = 3; /* too few literals, and then what was text is lengths */
            CHECK_INT(cuModuleLoadData(&m, image), CUDA_ERROR_INVALID_PTX);
        }
        free(image);
    }
    free(ptx);
    stop();
}

/* nvcc puts a text for sm_100 beside that for sm_100a, in this order; either way the latter is what the program is. */
TEST(a_fat_binary_with_a_text_for_one_architecture_alone)
{
    static const char *const texts[] = {
        ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry any() { ret; }\n",
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry own() { ret; }\n"};
    start();
    for (int first = 0; first < 2; first++) {
        unsigned char *a = fatbin_of(texts[first], false), *b = fatbin_of(texts[!first], false), *both;
        uint64_t sizes[2], all;
        CUmodule m;
        CUfunction f;
        memcpy(&sizes[0], a + 8, 8);
        memcpy(&sizes[1], b + 8, 8);
        all = sizes[0] + sizes[1];
        both = calloc(1, 16 + all);
        memcpy(both, a, 16);
        memcpy(both + 8, &all, 8);
        memcpy(both + 16, a + 16, sizes[0]);
        memcpy(both + 16 + sizes[0], b + 16, sizes[1]);
        OK(cuModuleLoadData(&m, both));
        OK(cuModuleGetFunction(&f, m, "own"));
        free(both);
        free(b);
        free(a);
    }
    stop();
}
