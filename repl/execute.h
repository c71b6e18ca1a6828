/* Executing a notebook as Jupyter does, its outputs put into its tree of JSON: streams merged, displays with all their
 * forms, errors, execution counts. */
#ifndef SH_EXECUTE_H
#define SH_EXECUTE_H

#include "repl/document.h"
#include "repl/repl.h"

/* Runs the cells in order, and stops after one that fails, unless that is tagged raises-exception; its report is
 * printed to standard error. False then, and when memory is lacking. */
bool sh_execute(json_t *notebook, const struct sh_options *o);

#endif
