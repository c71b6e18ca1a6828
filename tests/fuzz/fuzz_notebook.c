/* Any bytes as a notebook: cells come out, or one line that says why not. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "repl/notebook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sh_notebook n;
    char why[512] = "";
    if (sh_notebook_parse((const char *)data, size, &n, why, sizeof why)) {
        for (size_t i = 0; i < n.count; i++) {
            assert(n.cells[i].source[n.cells[i].length] == '\0');
            assert(!n.cells[i].stored || !strchr(n.cells[i].stored, '\033'));
        }
    } else {
        assert(n.count == 0 && *why);
    }
    sh_notebook_free(&n);
    return 0;
}
