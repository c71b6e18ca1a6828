/* What the checks of a launch found, in the words of the source: lines of the cell or file, names of parameters,
 * indices of elements. */
#ifndef RT_REPORT_H
#define RT_REPORT_H

#include "runtime/kernel.h"
#include "runtime/signature.h"

struct simt_check;

struct rt_party {       /* a thread that takes part */
    char file[160];     /* "cell 3" */
    int line, column;   /* 0 when they are not known */
    char source[512];   /* the line's text, shortened when it is very long; "" when it is not known */
    const char *access; /* "read", "write", "read and write", "atomic", "free"; NULL: it is not about memory */
    unsigned thread[3], block[3];
};

struct rt_report {
    const char *kind; /* "out of bounds", ...: simt/check.h has them */
    char message[400], hint[240];
    struct rt_party first, other;
    struct rt_party
        given; /* where malloc was called for the memory that it is about; line 0: it was not, or elsewhere */
    bool has_other, has_index;
    const char *space;     /* "global", "shared", "local"; NULL when memory is not what it is about */
    char name[96];         /* of the parameter or variable; "" when it is not known */
    int64_t index, length; /* in elements, from 0 */
    int ndim;              /* of a variable that is declared with several axes, whose sizes are known; else 0 */
    int64_t shape[RT_SOURCE_AXES];
    uint64_t count; /* how often it was seen */
};

struct rt_findings { /* of one launch; all zeros at first */
    struct rt_report *items;
    size_t count;
    uint64_t more; /* seen, but of groups beyond the limit */
    bool faulted;  /* the launch was ended by what its error tells, seen there: */
    struct rt_party fault;
};
void rt_findings_clear(struct rt_findings *f); /* leaves all zeros */

/* A launch as reports see it. */
struct rt_scene {
    const struct rt_entry *entry;
    const struct rt_place { /* what an argument is, one for each parameter */
        enum { RT_PLACE_OTHER, RT_PLACE_MEMORY, RT_PLACE_NULL } kind;
        uint64_t address, bytes;
        enum rt_dtype dtype; /* RT_DTYPE_COUNT: not known, what the parameter's type says counts */
    } * places;
    const unsigned *block;
    const struct rt_program *program;                    /* NULL: the source is the files that the PTX names */
    const char *(*read)(void *reader, const char *file); /* their texts, NULL when there is none; may be NULL */
    void *reader;
};

/* Translates what was found; what is told of a fault stays. RT_NOMEM leaves the list empty. */
enum rt_status rt_findings_read(const struct rt_scene *scene, struct simt_check *c, struct rt_findings *out,
                                struct rt_error *e);

/* The text of a line of a source, from 1, without white space around it, cut to the size; *indent: characters in front.
 */
void rt_copy_line(const char *text, int line, char *out, size_t size, int *indent);

/* A variable's own name out of its symbol: "tile" of "_ZZ6kernelPfE4tile"; never longer than that. */
void rt_variable_name(const char *symbol, char *out, size_t size);

/* A report as text of several lines: place and message, the source lines with carets, threads, hint. Returns what
 * snprintf would. */
int rt_report_text(const struct rt_report *r, const char *kernel, char *buffer, size_t size);

#endif
