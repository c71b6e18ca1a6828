/* NVRTC, opened on first use: its entry points, its version, and one compilation. */
#ifndef RT_NVRTC_H
#define RT_NVRTC_H

#include <stdbool.h>
#include <nvrtc.h>
#include "runtime/status.h"
#include "runtime/library.h"

/* What decides the result besides source and options; known without loading the library when it was used before. */
struct rt_nvrtc_info {
    int major, minor;
    int architectures[64]; /* compute capabilities it compiles for, 80 for 8.0, rising; 0 ends */
};
/* RT_MISSING when there is no NVRTC. */
enum rt_status rt_nvrtc_info(struct rt_nvrtc_info *out, struct rt_error *e);

struct rt_nvrtc_job {
    const char *source;
    const char *const *options;
    size_t option_count;
    const char *const *expressions; /* kernels to instantiate */
    size_t expression_count;
    bool want_cubin; /* machine code, too: the options name the architecture of a GPU, such as sm_90 */
};
struct rt_nvrtc_result { /* release with rt_nvrtc_result_clear */
    char *ptx;
    char *cubin; /* NULL where it was not wanted */
    size_t cubin_size;
    char *log;      /* as NVRTC wrote it, "" when it wrote nothing */
    char **lowered; /* expression_count mangled names */
    size_t lowered_count;
    double milliseconds; /* of nvrtcCompileProgram */
    bool compiled;       /* false: the log says why not, and RT_OK was returned all the same */
    int fault;           /* the signal by which NVRTC crashed, with which there is nothing else; 0: it did not */
};
/* RT_OK whether or not the source compiles (out->compiled). RT_MISSING without NVRTC, RT_INTERRUPTED, RT_NOMEM;
 * RT_COMPILE when NVRTC itself crashed. */
enum rt_status rt_nvrtc_compile(const struct rt_nvrtc_job *job, struct rt_nvrtc_result *out, struct rt_error *e);
void rt_nvrtc_result_clear(struct rt_nvrtc_result *r); /* all zeros are fine, and left */

#endif
