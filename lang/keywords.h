/* Arguments by name: f(x, {side = "right"}) where the signature of f names side. */
#ifndef LG_KEYWORDS_H
#define LG_KEYWORDS_H

#include <stddef.h>
#include "lang/lang.h"

#define LG_PARAMETERS 12 /* that a form has at most */
struct lg_parameter_name {
    const char *name;
    size_t length;
    bool floats;   /* may stand in the place of one before it: dtype, device and endpoint of what makes arrays */
    bool optional; /* it stands in brackets */
};

/* The form of a signature that names all parameters. */
struct lg_keyword_form {
    int count, first; /* parameters; the argument that the first of them is: 2 behind a method's array */
    struct lg_parameter_name parameters[LG_PARAMETERS];
};

/* Reads it from the row. False without one, and where the function has options of its own. */
bool lg_keyword_form(const struct lg_function *row, struct lg_keyword_form *f);

/* Where the last argument, a table, has names, puts the values where the parameters of these names stand in the form;
 * `dtype` and `device` behind them, and `out`, stay in a table behind the arguments. Names that the form lacks, and
 * arguments that are given twice, are errors that say what there is. False: the last argument has no names. [raises] */
bool lg_take_keywords(lua_State *L, const struct lg_function *row, const struct lg_keyword_form *f);

#endif
