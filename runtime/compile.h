/* CUDA C source to PTX by NVRTC, through a per-user disk cache, and what the result tells about its kernels.
 *
 * The cache key is the SHA-256 of source, options, the text of quoted includes, NVRTC's version and the target. NVRTC
 * is loaded only when the cache does not have the answer. Files are private to the user (folder 0700, files 0600), in
 * LUNARRAY_CACHE_DIR, else XDG_CACHE_HOME/lunarray, else ~/.cache/lunarray; written to a temporary name and renamed;
 * damaged ones are ignored and replaced. No folder, no cache: compiling still works. */
#ifndef RT_COMPILE_H
#define RT_COMPILE_H

#include "runtime/device.h"
#include "runtime/dtype.h"

struct rt_source {
    const char *text;
    size_t length;
    const char *name;           /* shown in messages, e.g. "cell 3" or "saxpy.lua" */
    int first_line;             /* line of `name` that the text's first line is on; messages use the lines of `name` */
    const char *const *options; /* more NVRTC options */
    size_t option_count;
    const char *const *instantiations; /* template kernels to instantiate, e.g. "scale<float>" */
    size_t instantiation_count;
    bool hurried; /* in a fraction of the time, to code that computes the same more slowly; where NVRTC can */
};

#define RT_TENSOR_BYTES 128 /* of a CUtensorMap */
enum rt_param_kind {
    RT_PARAM_POINTER,
    RT_PARAM_VALUE,
    RT_PARAM_STRUCT,
    RT_PARAM_TEXTURE,
    RT_PARAM_SURFACE,
    RT_PARAM_TENSOR_MAP
};

struct rt_param {
    enum rt_param_kind kind;
    char *name; /* as in the source; NULL when the source does not tell (macros, some templates) */
    char *type; /* as CUDA C writes it: "const float *" */
    enum rt_dtype
        dtype;     /* of the value or what is pointed to; RT_DTYPE_COUNT when it is none of ours (void *, struct) */
    bool is_const; /* a pointer to const */
    size_t size, offset; /* bytes in the parameter block */
};

struct rt_entry {
    char *mangled; /* the symbol in the PTX */
    char *name;    /* as in the source: "saxpy", "scale<float>" */
    struct rt_param *params;
    size_t param_count;
};

struct rt_program {
    char *ptx;
    char *name; /* of the source */
    char *text; /* the source */
    int first_line;
    char *target;      /* "compute_80" */
    char *log;         /* warnings, "" when none; lines mapped as in messages */
    double compile_ms; /* NVRTC's time (nvrtcCompileProgram), as measured when it was compiled */
    double load_ms;    /* this call's time, all in */
    bool cached;       /* the PTX came from the disk cache */
    struct rt_entry *entries;
    size_t entry_count;
    char **options; /* the caller's, kept for rt_compile_cubin */
    bool names_std; /* the source or a file that it includes, see runtime/prelude.h */
    bool hurried;   /* as in struct rt_source */
    size_t option_count;
    char **instantiations;
    size_t instantiation_count;
};

/* The file name that the compiler sees; PTX and messages carry it wherever the source stands, so that the cache does
 * not depend on that. */
#define RT_SOURCE_NAME "/lunarray-kernel.cu"

/* Compiles for a device. NULL: RT_COMPILE with the log as of rt_map_errors, lines mapped to the source's name and
 * lines; RT_MISSING without NVRTC. */
struct rt_program *rt_compile(struct rt_device *d, const struct rt_source *source, struct rt_error *e);
/* Only if the disk cache has it, else RT_MISSING: takes no longer than reading a file. */
struct rt_program *rt_compile_cached(struct rt_device *d, const struct rt_source *source, struct rt_error *e);
void rt_program_free(struct rt_program *p);

/* The same source as machine code for the device's own architecture, for drivers older than the compiler, whose PTX
 * they do not read. *image is released with free(). */
enum rt_status rt_compile_cubin(struct rt_device *d, const struct rt_program *p, char **image, size_t *size,
                                struct rt_error *e);

/* Its machine code for the device's own architecture where the disk cache has it: what was compiled for simt while that
 * compiles for such a GPU (struct rt_device) spares its driver to make it of PTX, which takes as long as NVRTC does.
 * NULL: it has not. Release with free(). */
char *rt_cached_cubin(const struct rt_device *d, const struct rt_program *p);

/* A copy of a text of the compiler's or the device's in which positions in RT_SOURCE_NAME, written NAME(12), NAME:12 or
 * "line 12 of NAME", are those of the source: "cell 3:14". NULL: out of memory. Release with free(). */
char *rt_map_positions(const char *text, const char *name, int first_line);
/* The same of what the compiler says of source that does not compile, without warnings about headers, and without
 * errors in headers after the first few, which are mostly consequences, and unknown names told once. */
char *rt_map_errors(const char *text, const char *name, int first_line);
/* What to do about what the compiler said of the source, which may be written to `text`; "" when nothing is known. */
const char *rt_compile_hint(const char *log, const char *source, char *text, size_t size);
/* True when a file of the PTX (with or without folders in front) is the source itself. */
bool rt_is_source_name(const char *file);

#endif
