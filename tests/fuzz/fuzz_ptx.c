/* PTX of any bytes: an error, or a program whose kernels run or fault. */
#include "tests/fuzz/fuzz_kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kernel_load_and_run((const char *)data, size);
    return 0;
}
