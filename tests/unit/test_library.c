/* Where NVIDIA's and other libraries are found, in which order, and what is said of those that aren't. */
#include "runtime/driver.h"
#include "runtime/library.h"
#include "tests/unit/built.h"

#include <sys/stat.h>

static char folder[] = "/tmp/lunarray-library-XXXXXX";

static void make_folder(void)
{
    CHECK(mkdtemp(folder) != NULL);
    setenv("HOME", folder, 1); /* no wheels of the user who runs this */
}

static void write_file(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = strchr(path + strlen(folder) + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
}

static void remove_folder(void)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK_INT(system(command), 0);
}

TEST(a_variable_that_names_nothing_is_final)
{
    struct rt_error e = {0};
    setenv("LUNARRAY_NVRTC", "/nonexistent/libnvrtc.so", 1);
    const struct rt_library *l = rt_library_find(RT_LIB_NVRTC);
    CHECK(l->path == NULL && l->handle == NULL);
    CHECK_STR(l->name, "NVRTC");
    CHECK(rt_library_open(RT_LIB_NVRTC, &e) == NULL);
    CHECK_INT(e.status, RT_MISSING);
    CHECK_HAS(e.text, "/nonexistent/libnvrtc.so: no such file");
    CHECK_HAS(e.text, "pip install nvidia-cuda-nvrtc");
    rt_error_clear(&e);
}

TEST(a_variable_may_name_a_folder)
{
    make_folder();
    write_file("somewhere/libnvrtc.so.12", "");
    write_file("somewhere/libnvrtc.so.13", "");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/somewhere", folder);
    setenv("LUNARRAY_NVRTC", path, 1);
    const struct rt_library *l = rt_library_find(RT_LIB_NVRTC);
    snprintf(path, sizeof path, "%s/somewhere/libnvrtc.so.13", folder); /* the newest */
    CHECK_STR(l->path, path);
    CHECK(l->handle == NULL);
    remove_folder();
}

TEST(the_loaders_path_comes_before_wheels_and_toolkits)
{
    make_folder();
    char path[PATH_MAX];
    write_file("loader/libnvrtc.so.13", "");
    write_file("toolkit/lib64/libnvrtc.so.13", "");
    snprintf(path, sizeof path, "%s/loader", folder);
    setenv("LD_LIBRARY_PATH", path, 1);
    snprintf(path, sizeof path, "%s/toolkit", folder);
    setenv("CUDA_HOME", path, 1);
    snprintf(path, sizeof path, "%s/loader/libnvrtc.so.13", folder);
    const char *found = rt_library_find(RT_LIB_NVRTC)->path;
    if (found && strstr(found, "/cuda/nvidia/")) {
        remove_folder();
        SKIP("NVRTC stands in cuda/ beside the build, which comes before all of these");
    }
    CHECK_STR(found, path);
    remove_folder();
}

TEST(headers_are_those_of_the_nvrtc_found)
{
    make_folder();
    char path[PATH_MAX];
    write_file("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "");
    write_file("venv/lib/python3.11/site-packages/nvidia/cu13/include/cuda_fp16.h", "");
    snprintf(path, sizeof path, "%s/venv/lib/python3.11/site-packages/nvidia/cu13/lib", folder);
    setenv("LUNARRAY_NVRTC", path, 1);
    snprintf(path, sizeof path, "%s/venv/lib/python3.11/site-packages/nvidia/cu13/include", folder);
    CHECK_STR(rt_cuda_include(), path);
    remove_folder();
}

TEST(wheels_of_version_12_keep_their_headers_elsewhere)
{
    make_folder();
    char path[PATH_MAX];
    write_file("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "");
    write_file("venv/lib/python3.11/site-packages/nvidia/cuda_runtime/include/cuda_fp16.h", "");
    snprintf(path, sizeof path, "%s/venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", folder);
    setenv("LUNARRAY_NVRTC", path, 1);
    snprintf(path, sizeof path, "%s/venv/lib/python3.11/site-packages/nvidia/cuda_runtime/include", folder);
    CHECK_STR(rt_cuda_include(), path);
    remove_folder();
}

TEST(a_file_that_is_no_library)
{
    make_folder();
    struct rt_error e = {0};
    char path[PATH_MAX];
    write_file("libzmq.so.5", "not a library");
    snprintf(path, sizeof path, "%s/libzmq.so.5", folder);
    setenv("LUNARRAY_ZMQ", path, 1);
    CHECK(rt_library_open(RT_LIB_ZMQ, &e) == NULL);
    CHECK_HAS(e.text, path);
    CHECK_HAS(e.text, "too short");
    CHECK(rt_library_open(RT_LIB_ZMQ, &e) == NULL); /* remembered */
    rt_error_clear(&e);
    remove_folder();
}

TEST(open_a_real_library)
{
    struct rt_error e = {0};
    const struct rt_library *found = rt_library_find(RT_LIB_ZMQ);
    if (!found->path) SKIP("no ZeroMQ here");
    CHECK(found->handle == NULL);
    const struct rt_library *l = rt_library_open(RT_LIB_ZMQ, &e);
    if (!l) FAIL("%s", e.text);
    CHECK(l == rt_library_open(RT_LIB_ZMQ, &e) && l->path && l->path[0] == '/');
    CHECK(rt_library_symbol(l, "zmq_version", &e) != NULL);
    CHECK(rt_library_symbol(l, "zmq_nothing_of_the_kind", &e) == NULL);
    CHECK_HAS(e.text, "zmq_nothing_of_the_kind");
    CHECK_HAS(e.text, l->path);
    rt_error_clear(&e);
}

TEST(the_driver_without_a_gpu)
{
    struct rt_error e = {0};
    setenv("LUNARRAY_CUDA", "/nonexistent", 1);
    CHECK(driver_cuda(&e) == NULL);
    CHECK_INT(e.status, RT_MISSING);
    CHECK_HAS(e.text, "libcuda.so.1");
    CHECK_HAS(e.text, "simt");
    CHECK(driver_cuda(NULL) == NULL);
    rt_error_clear(&e);
}

/* The software GPU stands in for a GPU's driver: the same table, filled by dlopen. */
TEST(the_driver_from_a_file)
{
    const char *path = built("libcuda-simt.so");
    struct rt_error e = {0};
    setenv("LUNARRAY_CUDA", path, 1);
    const struct driver *d = driver_cuda(&e);
    if (!d) FAIL("%s", e.text);
    CHECK_STR(d->name, "cuda");
    CHECK_STR(d->path, path);
    int count = 0;
    CHECK_INT(d->DeviceGetCount(&count), CUDA_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(d->MemAlloc != driver_simt()->MemAlloc);
}
