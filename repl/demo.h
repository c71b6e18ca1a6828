/* A demo: the cells of a notebook or of a .lua file with cell marks, ready to be presented (present.h) or checked
 * (check.c).
 *
 * What a cell is expected to print stands in the notebook's outputs or, in either kind of file, as comments at the end
 * of the cell, which are not shown when it is presented:
 *
 *     print("one " .. 1 / 3)
 *     --> one 0.333...
 *
 * `...` there stands for anything (diff.h). A cell that is tagged volatile runs and is not compared. */
#ifndef SH_DEMO_H
#define SH_DEMO_H

#include "lang/session.h"
#include "repl/document.h"
#include "repl/text.h"

struct sh_notebook;

struct sh_demo_cell {
    size_t index; /* among the notebook's cells */
    bool markdown, may_fail, is_volatile;
    bool commented;          /* comments in its code say what is expected */
    struct sh_text text;     /* never without bytes */
    struct sh_text expected; /* its output; without bytes: nobody said */
    struct sh_text title;    /* one line for a list of cells; never without bytes */
};

struct sh_demo { /* released with sh_demo_free; starts as all zeros */
    struct sh_demo_cell *cells;
    size_t count;
};

/* Copies the cells, those that are blank left out. False when memory is lacking; there is nothing to release then. */
bool sh_demo_build(const struct sh_notebook *from, struct sh_demo *out);
/* The same for a file of either kind; `why` says in one line what is wrong with it. The notebook that was read goes to
 * *document for the caller to release, unless that is NULL. */
bool sh_demo_load(const char *path, struct sh_demo *out, json_t **document, char why[SH_WHY]);
/* The source of a cell that says to expect `output`; false when memory is lacking. */
bool sh_demo_source(const struct sh_demo_cell *cell, const struct sh_text *output, struct sh_text *source);
void sh_demo_free(struct sh_demo *d);

/* Where the comments with the expected output begin, at the start of a line or at `length`. */
size_t sh_demo_code_end(const char *code, size_t length);

#endif
