/* Stands in for NVRTC as a compiler with a fault: it refuses every source, and crashes over those that say so. */
#include <nvrtc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct _nvrtcProgram {
    const char *source;
};

static int deeper(long left, const volatile char *above)
{
    volatile char here[4096];
    here[0] = *above;
    return left ? deeper(left - 1, here) + here[0] : 0;
}

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    *count = 1;
    return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetSupportedArchs(int *archs)
{
    *archs = 75;
    return NVRTC_SUCCESS;
}
EXPORT const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result ? "failed" : "fine";
}
EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headers,
                                      const char *const *texts, const char *const *names)
{
    (void)name, (void)headers, (void)texts, (void)names;
    static struct _nvrtcProgram all[100]; /* of which those that are lost in a crash are no leak */
    static size_t count;
    if (count == sizeof all / sizeof *all) return NVRTC_ERROR_OUT_OF_MEMORY;
    *program = &all[count++];
    (*program)->source = source;
    return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    *program = NULL;
    return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    (void)count, (void)options;
    if (strstr(program->source, "reads nothing")) raise(SIGSEGV); /* which sanitizers do not look at before */
    if (strstr(program->source, "gives up")) abort();
    if (strstr(program->source, "goes too deep")) return (nvrtcResult)deeper(1 << 24, "");
    return NVRTC_ERROR_COMPILATION;
}

#define LOG "default_program(1): error: refused\n"
EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = sizeof LOG;
    return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    (void)program;
    memcpy(log, LOG, sizeof LOG);
    return NVRTC_SUCCESS;
}

#define NOT_HERE(name, ...)                                                                                            \
    EXPORT nvrtcResult name(__VA_ARGS__);                                                                              \
    nvrtcResult name(__VA_ARGS__)                                                                                      \
    {                                                                                                                  \
        return NVRTC_ERROR_INVALID_PROGRAM;                                                                            \
    }
NOT_HERE(nvrtcAddNameExpression, nvrtcProgram p __attribute__((unused)), const char *const e __attribute__((unused)))
NOT_HERE(nvrtcGetLoweredName, nvrtcProgram p __attribute__((unused)), const char *const e __attribute__((unused)),
         const char **n __attribute__((unused)))
NOT_HERE(nvrtcGetPTXSize, nvrtcProgram p __attribute__((unused)), size_t *s __attribute__((unused)))
NOT_HERE(nvrtcGetPTX, nvrtcProgram p __attribute__((unused)), char *s __attribute__((unused)))
NOT_HERE(nvrtcGetCUBINSize, nvrtcProgram p __attribute__((unused)), size_t *s __attribute__((unused)))
NOT_HERE(nvrtcGetCUBIN, nvrtcProgram p __attribute__((unused)), char *s __attribute__((unused)))
