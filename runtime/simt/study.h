/* A launch that is looked at: profiles and traces decode the kernel's program anew, in a form made for looking, and run
 * the launch on it, on the arrays and variables that it was made for. */
#ifndef SIMT_STUDY_H
#define SIMT_STUDY_H

#include "runtime/simt/simt.h"

struct simt_study {
    /* Runs the launch in place of simt_run, which says what it returns. Called under the driver's lock. */
    bool (*run)(struct simt_study *s, const struct simt_launch *l, struct simt_fault *fault);
};
/* The calling thread's launches on the software GPU are run by `s` from now on; NULL: as usual. (Not part of CUDA's
 * driver API.) */
void simt_study_launches(struct simt_study *s);

/* For studies: parses and decodes PTX of the source that the launch's kernel is from (simt_program_again), and finds
 * the kernel in it. False: the fault says why. *module and *program are to be released in any case. */
struct ptx_module;
struct simt_program;
bool simt_study_open(const char *ptx, const struct simt_launch *l, struct ptx_module **module,
                     struct simt_program **program, uint32_t ***slots, const struct simt_function **function,
                     struct simt_fault *fault);

#endif
