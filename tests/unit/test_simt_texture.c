/* The software GPU's table of textures. */
#include "runtime/memory.h"
#include "runtime/simt/texture.h"
#include "tests/unit/test.h"

TEST(handles_find_their_objects)
{
    struct simt_texture t = {.kind = SIMT_TEXTURE_2D, .channels = 1};
    uint64_t handles[100], again;
    CHECK(!simt_texture_find(0) && !simt_texture_find(1) && !simt_texture_remove(1));
    for (unsigned i = 0; i < 100; i++) {
        t.width = i + 1;
        CHECK_INT(simt_texture_add(&t, &handles[i]), RT_OK);
        CHECK(handles[i] != 0);
    }
    for (unsigned i = 0; i < 100; i++) CHECK_INT(simt_texture_find(handles[i])->width, i + 1);
    CHECK(simt_texture_remove(handles[7]) && !simt_texture_remove(handles[7]) && !simt_texture_find(handles[7]));
    CHECK_INT(simt_texture_add(&t, &again), RT_OK);
    CHECK(again != handles[7] && simt_texture_find(again) && !simt_texture_find(handles[7]));
    for (unsigned i = 0; i < 100; i++) CHECK(simt_texture_remove(handles[i]) == (i != 7));
    for (unsigned i = 0; i < 100; i++) CHECK(!simt_texture_find(handles[i]));
}

TEST(no_memory_for_an_object)
{
    struct simt_texture t = {.kind = SIMT_TEXTURE_LINEAR, .channels = 4};
    uint64_t handle;
    int n = 0, objects = 0;
    while (objects < 20) {
        rt_fail_allocation(n = n == 3 ? 1 : n + 1);
        objects += simt_texture_add(&t, &handle) == RT_OK;
        rt_fail_allocation(0);
    }
    CHECK(simt_texture_find(handle)->channels == 4);
}

TEST(bytes_of_formats)
{
    CHECK_INT(simt_format_bytes(CU_AD_FORMAT_SIGNED_INT8), 1);
    CHECK_INT(simt_format_bytes(CU_AD_FORMAT_HALF), 2);
    CHECK_INT(simt_format_bytes(CU_AD_FORMAT_FLOAT), 4);
    CHECK_INT(simt_format_bytes(CU_AD_FORMAT_NV12), 0);
}
