/* Notebooks as Lua scripts, in the percent format of Jupytext, VS Code and others: comments that begin with `-- %%`
 * mark where cells begin.
 *
 *   -- %% A title [markdown] tags=["intro"]
 *   -- # Text, each line behind `-- `
 *
 *   -- %%
 *   print "code, as it is"
 *   --%time f()         a magic line, which a script must not see: directly behind two dashes
 *
 * A mark may have a title, the cell's type ([markdown], [raw]; code where none stands) and its metadata as name=JSON
 * pairs or as one JSON object; `id`, `attachments` and `lines` (how many lines the cell has, where that would not be
 * clear) are among them. One blank line stands between cells. A notebook's own metadata, where it is not what a new
 * notebook has, is a header as Jupytext's, with JSON for the YAML.
 *
 * Nothing of a script is lost: what this would write differently (other blank lines, other marks) is noted in the
 * metadata, as lines_to_next_cell and lunarray, and comes back as it was while the cell stays as it was. Of a notebook,
 * outputs and execution counts are lost. */
#ifndef SH_PERCENT_H
#define SH_PERCENT_H

#include "repl/document.h"

/* The notebook in a script; one of a single cell when it has no marks. NULL with `why` when it cannot be one. */
json_t *sh_percent_read(const char *text, size_t length, char why[SH_WHY]);
/* The script of a notebook. */
void sh_percent_put(const json_t *notebook, struct lg_buffer *out);

#endif
