/* Reading Jupyter notebooks (nbformat 4): code and Markdown cells, in order. Pure: bytes in, cells out. */
#ifndef SH_NOTEBOOK_H
#define SH_NOTEBOOK_H

#include <stdbool.h>
#include <stddef.h>

struct sh_cell {
    bool markdown; /* else code */
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

/* False when the text is no notebook that we can run; `why` then says so in one line. */
bool sh_notebook_parse(const char *text, size_t length, struct sh_notebook *out, char *why, size_t why_size);
void sh_notebook_free(struct sh_notebook *n);

#endif
