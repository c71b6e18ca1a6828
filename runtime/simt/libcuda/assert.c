/* An assertion that fails in a kernel is told on the standard error output, in the words of CUDA's driver, which
 * programs and their tests look for. */
#include <stdio.h>
#include "runtime/simt/libcuda/libcuda.h"

static void tell(const struct simt_launch *l, const struct simt_fault *f)
{
    const unsigned *size = l->block, *at = f->block;
    libcuda_print_held(); /* what the kernel printed came before */
    fflush(stdout);
    for (unsigned lane = 0; lane < SIMT_WARP; lane++) {
        unsigned t = f->first + lane;
        if (!(f->lanes >> lane & 1)) continue;
        fprintf(stderr, "%s:%d: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", f->file, f->line,
                f->function, at[0], at[1], at[2], t % size[0], t / size[0] % size[1], t / size[0] / size[1],
                f->assertion);
    }
}

__attribute__((constructor)) static void start(void)
{
    simt_watch.asserted = tell;
}
