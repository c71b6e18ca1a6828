/* The code and Markdown cells of Jupyter notebooks (nbformat 4), in order. Pure: JSON in, cells out. */
#ifndef SH_NOTEBOOK_H
#define SH_NOTEBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include "repl/document.h"

struct sh_cell {
    bool markdown; /* else code */
    size_t index;  /* among the notebook's cells, those counted that are neither */
    char *source;
    size_t length;
    char *stored;     /* its outputs as text, without escape codes; NULL when it has not been executed */
    bool may_fail;    /* tagged raises-exception */
    bool is_volatile; /* tagged volatile: its outputs are others at each run */
};

struct sh_notebook { /* released with sh_notebook_free; starts as all zeros */
    struct sh_cell *cells;
    size_t count;
};

/* The cells of what document.h has read. False when that is no notebook that we can run; `why` then says so in one
 * line. */
bool sh_notebook_view(const json_t *notebook, struct sh_notebook *out, char why[SH_WHY]);
void sh_notebook_free(struct sh_notebook *n);

#endif
