/* Elements as text, in the form of C and JSON whatever the locale is: for files of numbers. */
#ifndef RT_NUMBER_H
#define RT_NUMBER_H

#include "runtime/dtype.h"

enum rt_number { RT_NUMBER_OK, RT_NUMBER_MISSING, RT_NUMBER_WRONG, RT_NUMBER_RANGE };

/* Stores the number that text[0..length) is (no blanks around it) as one element. Missing are the empty text, NA, N/A,
 * nan, null, None, <NA>, #N/A and #NA, in any case: NaN in floating and complex dtypes, which stores it and gives
 * RT_NUMBER_OK, else RT_NUMBER_MISSING. inf, infinity, true and false are numbers too; complex dtypes read 1+2j, (1+2j)
 * and 2j, with i as well. Integers are read exactly; RT_NUMBER_RANGE when the dtype does not hold
 * one, RT_NUMBER_WRONG for all other text. text[length] is readable. */
enum rt_number rt_number_parse(const char *text, size_t length, enum rt_dtype t, void *element);

/* The shortest decimal text that reads as the same element again; "nan", "inf", "-inf", "(1+2j)". Returns its length.
 */
#define RT_NUMBER_TEXT 64
int rt_number_text(enum rt_dtype t, const void *element, char out[RT_NUMBER_TEXT]);

#endif
