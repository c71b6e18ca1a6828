/* A notebook as one page that needs nothing else. */
#ifndef SH_NOTEBOOK_HTML_H
#define SH_NOTEBOOK_HTML_H

#include "repl/document.h"

/* The title is the first heading of the first level, or else `name`. */
void sh_notebook_html(const json_t *notebook, const char *name, struct lg_buffer *out);

#endif
