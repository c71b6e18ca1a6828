/* Mangled names, CUDA sources and entries of any bytes. The first byte chooses the reader. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    struct rt_signature s;
    struct rt_source_kernel *kernels;
    struct rt_program p = {.ptx = text, .text = "__global__ void k(int a, float *b) {}"};
    size_t count;
    if (*data == 's') {
        if (rt_source_kernels(text, size - 1, &kernels, &count, NULL) == RT_OK) rt_source_kernels_free(kernels, count);
        struct rt_source_variable *variables;
        if (rt_source_variables(text, size - 1, &variables, &count, NULL) == RT_OK)
            rt_source_variables_free(variables, count);
    } else if (*data == 'p') {
        if (rt_signatures(&p, NULL, 0, NULL) == RT_OK) rt_entries_free(p.entries, p.entry_count);
    } else {
        if (rt_signature_read(text, &s, NULL) == RT_OK) rt_signature_clear(&s);
    }
    char *mapped = rt_map_positions(text, "cell 1", 7);
    free(mapped);
    free(text);
    return 0;
}
