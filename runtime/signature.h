/* What a kernel's parameters are: types from its mangled name, sizes and offsets from its PTX, names from its source.
 *
 * The readers take any bytes. rt_signatures joins what they found. Variables of the source are read likewise. */
#ifndef RT_SIGNATURE_H
#define RT_SIGNATURE_H

#include "runtime/compile.h"

struct rt_signature {
    char *name;              /* "scale<float>", "ns::foo"; of a plain C symbol the symbol */
    struct rt_param *params; /* name is NULL, size and offset 0 */
    size_t count;
    bool typed; /* false: the name is not a mangled function name, so nothing is known of the parameters */
};

/* Reads an Itanium-mangled function name. RT_INVALID when it starts with _Z and cannot be read; RT_NOMEM. */
enum rt_status rt_signature_read(const char *mangled, struct rt_signature *out, struct rt_error *e);
void rt_signature_clear(struct rt_signature *s);
/* A function's name out of its symbol, for messages: "ns::f<int>" of "_ZN2ns1fIiEEvPi", with its parameters behind it
 * if they are asked for. Of what can be read at its beginning alone, as where it was cut, the name is all that is left;
 * what cannot be read at all stays as it is. */
void rt_function_name(const char *symbol, bool parameters, char *out, size_t size);

/* A parameter that the source or the PTX tells about. */
struct rt_source_param {
    char *name; /* NULL: has none */
    char *type; /* its words: "const float *" */
};
struct rt_source_kernel { /* a __global__ function as the text has it */
    char *name;           /* without namespaces */
    size_t line;          /* of its name, from 1 */
    struct rt_source_param *params;
    size_t count;
};
/* The kernels of a source, in order. Comments, strings and preprocessor lines are not looked at. RT_NOMEM. */
enum rt_status rt_source_kernels(const char *text, size_t length, struct rt_source_kernel **out, size_t *count,
                                 struct rt_error *e);
void rt_source_kernels_free(struct rt_source_kernel *kernels, size_t count);

#define RT_SOURCE_AXES 8
struct rt_source_variable {         /* a __device__, __constant__ or __managed__ variable as the text has it */
    char *name;                     /* without namespaces */
    char *type;                     /* its words: "unsigned int", "float *" */
    int ndim;                       /* of an array */
    uint64_t shape[RT_SOURCE_AXES]; /* 0: not known */
};
/* The variables of a source, in order, likewise. */
enum rt_status rt_source_variables(const char *text, size_t length, struct rt_source_variable **out, size_t *count,
                                   struct rt_error *e);
void rt_source_variables_free(struct rt_source_variable *variables, size_t count);
/* The variables of that name in a source, those in shared memory, too: bytes of an element, 0: not known, or they
 * differ; and the sizes of the axes, of which there are 0 then. */
struct rt_source_layout {
    unsigned bytes;
    int ndim;
    uint64_t shape[RT_SOURCE_AXES]; /* 0: not known */
};
struct rt_source_layout rt_source_layout(const char *text, size_t length, const char *name);
/* The value of an integer expression of a source, as in "2 * R + 1": numbers, + - * / % << >> and brackets, and names
 * that #define, const or constexpr sets in the text. 0: not known, or below. */
uint64_t rt_source_constant(const char *text, const char *expression, size_t length);
/* The dtype that a type's words stand for, RT_DTYPE_COUNT when none. *lanes: 1, or of a vector type such as float4. */
enum rt_dtype rt_type_dtype(const char *type, int *lanes);

/* The entries of a PTX text with all that is known of their parameters. `program` gives ptx, text and the expressions
 * with their lowered names; fills entries and entry_count. */
struct rt_lowered {
    const char *expression, *mangled;
};
enum rt_status rt_signatures(struct rt_program *program, const struct rt_lowered *lowered, size_t lowered_count,
                             struct rt_error *e);

void rt_entries_free(struct rt_entry *entries, size_t count); /* NULL is fine */

#endif
