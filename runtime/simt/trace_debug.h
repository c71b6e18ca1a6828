/* What PTX compiled for debugging says of the source's variables: which PTX registers or bytes of memory hold them, and
 * where in the code that holds. The information is DWARF, written into the text as .section blocks of .b8 numbers and
 * labels; registers are named by their text, packed into a number.
 *
 * Only what a listing of values needs is read: names, scopes and locations of parameters and local variables of number,
 * boolean and pointer types. Members of structures and elements of short arrays become variables of their own ("p.x",
 * "a[2]"). Takes any bytes: what it cannot read it leaves out. */
#ifndef SIMT_TRACE_DEBUG_H
#define SIMT_TRACE_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/status.h"

/* ---- trace_section.c: a .section of the text as bytes ---- */
struct simt_section_name {
    uint32_t offset;
    char *symbol;
};
struct simt_section {
    uint8_t *bytes;
    uint32_t size;
    struct simt_section_name *links;  /* numbers that are addresses: of labels and variables; by rising offset */
    struct simt_section_name *labels; /* inside the section */
    uint32_t link_count, label_count;
};
/* Finds a section by its name (".debug_info") and reads it. Offsets from a section's start (.debug_loc+225) are
 * numbers, addresses by label are links. A text without the section gives an empty one. RT_NOMEM. Release with
 * simt_section_free, whatever came. */
enum rt_status simt_section_read(const char *ptx, size_t length, const char *name, struct simt_section *out,
                                 struct rt_error *e);
void simt_section_free(struct simt_section *s);
const char *simt_section_link(const struct simt_section *s, uint32_t offset); /* the symbol; NULL: no link is there */

/* ---- trace_debug.c ---- */
enum simt_value_kind { SIMT_VALUE_SIGNED, SIMT_VALUE_UNSIGNED, SIMT_VALUE_FLOAT, SIMT_VALUE_BOOL, SIMT_VALUE_POINTER };

struct simt_debug_place {
    char *from, *to; /* labels of the code between which it holds; both NULL: everywhere in the variable's scope */
    char name[16];   /* of a register, "%f10"; "" for memory */
    char *symbol;    /* memory: of this variable, at offset */
    uint64_t offset;
};

struct simt_debug_variable {
    char *name;
    char *from, *to; /* its scope: labels of the code of its function */
    int line;        /* of its declaration, 0 when not known */
    enum simt_value_kind kind;
    uint32_t size; /* bytes, 1 to 8 */
    struct simt_debug_place *places;
    uint32_t place_count;
};

struct simt_debug {
    struct simt_debug_variable *variables; /* in the order of the source, function by function */
    uint32_t count;
};
/* NULL: RT_NOMEM. A text without debug information gives no variables. */
struct simt_debug *simt_debug_read(const char *ptx, size_t length, struct rt_error *e);
void simt_debug_free(struct simt_debug *d);

#endif
