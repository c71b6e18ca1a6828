/* Arguments by name: f(x, {side = "right"}) where the signature of f names side. */
#ifndef LG_KEYWORDS_H
#define LG_KEYWORDS_H

#include <stddef.h>
#include "lang/lang.h"

/* The form of a signature that names all parameters, from behind its parenthesis; NULL without one, and where the
 * function has options of its own. */
const char *lg_keyword_form(const struct lg_function *row);

/* Where the last argument is a table of names, puts the values where the parameters of these names stand in the form;
 * `dtype` and `device` behind them, and `out`, stay in a table behind the arguments. Names that the form lacks, and
 * arguments that are given twice, are errors that say what there is. False: the last argument is none such. [raises] */
bool lg_take_keywords(lua_State *L, const struct lg_function *row, const char *form);

/* The parameters of a form of a signature, from behind its parenthesis; at most LG_PARAMETERS, -1 for more. Blanks,
 * brackets and dots are no part of a name. */
#define LG_PARAMETERS 12
struct lg_parameter_name {
    const char *name;
    size_t length;
    bool floats;   /* may stand in the place of one before it: dtype, device and endpoint of what makes arrays */
    bool optional; /* it stands in brackets */
};
int lg_read_parameters(const char *form, struct lg_parameter_name out[LG_PARAMETERS]);

#endif
