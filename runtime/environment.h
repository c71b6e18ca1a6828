/* The variables of the environment that say one of a few words, or a number: what they are called, what they may say
 * and what that does, once for all who read, document or check them. A variable that is empty counts as not set. Those
 * that name a file or a device are their readers' own: what is wrong with them shows when it is opened. */
#ifndef RT_ENVIRONMENT_H
#define RT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum rt_variable {
    RT_VAR_THREADS,
    RT_VAR_ISA,
    RT_VAR_JIT,
    RT_VAR_COMPILE,
    RT_VAR_LAZY,
    RT_VAR_GENERATED,
    RT_VAR_CHECK,
    RT_VAR_LOG_LEVEL,
    RT_VAR_OUTPUT_LIMIT,
    RT_VAR_UNREAD_LIMIT,
    RT_VAR_UNREAD_BYTES,
    RT_VARIABLES
};

/* Where a word's place in the list has a meaning of its own, its reader says so. */
enum { RT_ISA_BASE, RT_ISA_V3, RT_ISA_AVX2, RT_ISA_V4, RT_ISA_AVX512 };
enum { RT_COMPILE_WAIT, RT_COMPILE_BACKGROUND, RT_COMPILE_HURRY };
enum { RT_CHECK_STRICT = 2 };

struct rt_variable_row {
    const char *name, *doc;
    const char *words[6]; /* what it may say, up to a NULL; none: a whole number from 1 on */
};
extern const struct rt_variable_row rt_variables[RT_VARIABLES];

/* What a variable says, as a number of its words from 0 on; -1 where it is not set or says none of them. Asks the
 * environment each time. */
int rt_variable_word(enum rt_variable v);
/* The number that it says; 0 where it is not set or says none. */
long long rt_variable_number(enum rt_variable v);
/* "A, B or C" */
void rt_variable_expected(enum rt_variable v, char *text, size_t size);
/* Whether it is set to what nobody understands; the text is then "NAME is VALUE, expected A, B or C". */
enum { RT_VARIABLE_TEXT = 200 };
bool rt_variable_wrong(enum rt_variable v, char *text, size_t size);

#endif
