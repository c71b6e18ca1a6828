/* Tests of generated CUDA C on the software GPU. */
#ifndef TESTS_GENERATED_H
#define TESTS_GENERATED_H

#include "kernels/generate.h"
#include "runtime/library.h"
#include "tests/unit/reference.h"

static char generated_cache[] = "/tmp/lunarray-test-XXXXXX";

static void remove_cache(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", generated_cache);
    if (system(command) != 0) printf("# could not remove %s\n", generated_cache);
}

/* Arrays made from here on are the software GPU's; skips where nothing can be compiled. Who includes this may have no
 * such tests under the address sanitizer. */
static __attribute__((unused)) void start_generated(void)
{
    if (!rt_library_find(RT_LIB_NVRTC)->path) SKIP("no NVRTC");
    if (!getenv("LUNARRAY_CACHE_DIR")) { /* else another build's tests may have compiled the same */
        if (!mkdtemp(generated_cache)) FAIL("no temporary folder");
        setenv("LUNARRAY_CACHE_DIR", generated_cache, 1);
        atexit(remove_cache);
    }
    kn_force_generated(true);
    test_device();
}

#endif
