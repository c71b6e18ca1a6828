/* Debug information of any bytes: variables or none. */
#include "runtime/simt/trace_debug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rt_error e = {0};
    simt_debug_free(simt_debug_read((const char *)data, size, &e));
    rt_error_clear(&e);
    return 0;
}
